#!/usr/bin/env python3
"""JPEG decode + resize to 224 x 224 + normalise, on Cresset and on Pillow with NumPy, one thread: one `name<TAB>value<TAB>unit` a row.

Usage: bench/images_peer.py [--pairs N]

The two run in turns, timed by CPU time; a ratio is the median over the pairs, above 1 is ours better. PEER names the Python of an environment
with pillow and numpy (default: build/venv/bin/python). `scaled` rows let the decoder shrink a JPEG to no less than twice the size that is wanted,
as Pillow's `draft` does for it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEAN, STD, SIZE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 224
SHAPES = ((375, 500), (427, 640), (1200, 1600))


def ours():
    from cresset.vision import io, transforms

    import cresset as torch

    torch.set_num_threads(1)
    rest = transforms.Compose([transforms.Resize((SIZE, SIZE)), transforms.ConvertImageDtype(torch.float), transforms.Normalize(MEAN, STD)])
    return {"whole": lambda data: rest(io.decode_image(data, "RGB")), "scaled": lambda data: rest(io.decode_image(data, "RGB", min_size=2 * SIZE))}


def pillow():
    import io

    import numpy as np
    from PIL import Image

    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)

    def run(data, scaled):
        image = Image.open(io.BytesIO(data))
        if scaled:
            image.draft("RGB", (2 * SIZE, 2 * SIZE))
        pixels = np.asarray(image.convert("RGB").resize((SIZE, SIZE), Image.BILINEAR), dtype=np.float32) / 255
        return ((pixels - mean) / std).transpose(2, 0, 1).copy()

    return {"whole": lambda data: run(data, False), "scaled": lambda data: run(data, True)}


def worker(side, files):
    """Prints milliseconds of CPU time an image for each way and file: the least of five rounds."""
    for way, run in (ours() if side == "ours" else pillow()).items():
        for file in files:
            data = Path(file).read_bytes()
            best, count = float("inf"), 4
            run(data)
            for _ in range(5):
                start = time.process_time()
                for _ in range(count):
                    run(data)
                best = min(best, (time.process_time() - start) / count)
            print(f"{way} {Path(file).stem}\t{best * 1e3}")


def picture(torch, height, width):
    """Smooth shapes with some grain, the same at every run: about what a photo takes to code."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(1, 3, height // 16, width // 16, generator=generator)
    fine = torch.rand(1, 3, height, width, generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=(height, width), mode="bicubic")
    return (smooth * 0.9 + fine * 0.1).clamp(0, 1).mul(255).to(torch.uint8)[0]


def rows_of(python, side, files):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if side == "ours":
        environment["PYTHONPATH"] = str(ROOT / "build" / "release" / "python")
    else:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run([python, __file__, "--worker", side, *files], env=environment, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--worker", nargs="+")
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.worker[0], arguments.worker[1:])
    sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
    import cresset as torch

    peer = os.environ.get("PEER", str(ROOT / "build" / "venv" / "bin" / "python"))
    try:
        subprocess.run([peer, "-c", "import PIL, numpy"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print(f"# no peer: {peer} has no pillow and numpy; set PEER")
        peer = None
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for height, width in SHAPES:
            files.append(f"{folder}/{width}x{height}.jpg")
            torch.vision.io.write_jpeg(picture(torch, height, width), files[-1], quality=85)
        mine, theirs = [], []
        for _ in range(arguments.pairs):
            mine.append(rows_of(sys.executable, "ours", files))
            if peer:
                theirs.append(rows_of(peer, "pillow", files))
        for name in mine[0]:
            print(f"jpeg {name} ours\t{statistics.median(row[name] for row in mine):.3f}\tms")
            if peer:
                print(f"jpeg {name} pillow\t{statistics.median(row[name] for row in theirs):.3f}\tms")
                print(f"jpeg {name} ratio\t{statistics.median(b[name] / a[name] for a, b in zip(mine, theirs)):.2f}\tx")
    return None


if __name__ == "__main__":
    sys.exit(main())
