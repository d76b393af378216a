#!/usr/bin/env python3
"""From the start of a C++ process to the first output of ResNet-18 in a `.pt2` file, besides reading its weights: `name`, wall, processors, in
milliseconds: the least of several runs, then their medians.

    bench/graph_start.py [--build build/release] [--runs 9] [--size 224]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAKE = """
import sys
import cresset as torch
from cresset import vision
from cresset.io.safetensors import save_file

folder, size = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
x = torch.randn(1, 3, size, size)
with torch.no_grad():
    torch.export.save(torch.export.export(vision.models.resnet18().eval(), (x,)), f"{folder}/m.pt2")
save_file({"input0": x}, f"{folder}/m.safetensors")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--size", type=int, default=224)
    options = parser.parse_args()
    build = options.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", MAKE, folder, str(options.size)], check=True, env={**os.environ, "PYTHONPATH": str(build / "python")})
        flags = ["-std=c++20", "-O2", f"-I{ROOT}", f"-I{build / 'generated'}", f"-L{build}", "-lcresset_graph", "-lcresset", f"-Wl,-rpath,{build}"]
        subprocess.run(["c++", str(ROOT / "bench/programs/graph_start.cpp"), "-o", f"{folder}/graph_start", *flags], check=True)
        seen: dict[str, list[list[float]]] = {}
        for _ in range(options.runs):
            said = subprocess.run([f"{folder}/graph_start", f"{folder}/m.pt2", f"{folder}/m.safetensors"], check=True, capture_output=True, text=True).stdout
            for name, *figures in (line.split("\t") for line in said.splitlines() if not line.startswith("weights")):
                seen.setdefault(name, []).append([float(f) for f in figures])
    figures = {name: [pick(column) for pick in (min, statistics.median) for column in zip(*runs, strict=True)] for name, runs in seen.items()}
    # Of the parts, not of the runs: a run whose reading was slow would look fast.
    parts = [figures[name] for name in ("start", "load", "first_run", "reading_weights")]
    figures["start_to_first_output_besides_reading"] = [a + b + c - d for a, b, c, d in zip(*parts, strict=True)]
    for name, row in figures.items():
        print(name, *(f"{f:.1f}" for f in row), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
