#!/usr/bin/env python3
"""TorchScript on Cresset and on PyTorch, in turns: `name<TAB>ours<TAB>peer's<TAB>ours / peer's`, in milliseconds; the last is the median over the turns,
after which its least and greatest stand.

Each side runs in a process of its own, with one thread or with `--threads`; archives are PyTorch's. One thread is timed by its CPU time, more by wall
time, as in bench/peer.py. Rows of C++ (bench/programs/jit.cpp) run on one thread
and on two; `cpp_start` is the wall time of a program that links `torch::jit::load` and ends.

    bench/jit_peer.py [--only REGEX] [--pairs N] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peer as cpp

ROOT = Path(__file__).resolve().parent.parent
PEER = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")

MODELS = """
import sys, time
from typing import List, Tuple
{imports}
torch.set_num_threads({threads})
clock = time.thread_time if {threads} == 1 else time.perf_counter
nn = torch.nn
class Block(nn.Module):
    def __init__(self, i: int, o: int, s: int):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o)) if s != 1 or i != o else None
    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.downsample is not None:
            x = self.downsample(x)
        out = out + x
        return self.relu(out)
def resnet18():
    widths, parts, i = (64, 128, 256, 512), [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for k, w in enumerate(widths):
        parts += [Block(i, w, 1 if k == 0 else 2), Block(w, w, 1)]
        i = w
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).eval()
class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.h = nn.Linear(64, 256), nn.Linear(64, 256)
    def step(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        i, f, g, o = (self.i(x) + self.h(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.size(1), 64)
        c = torch.zeros(x.size(1), 64)
        out: List[torch.Tensor] = []
        for t in range(x.size(0)):
            h, c = self.step(x[t], h, c)
            out.append(h)
        return torch.stack(out)
def loop(n: int) -> int:
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s += i
        else:
            s -= 1
    return s
def timed(f, least=0.2):
    f()
    best, spent = 1e9, 0.0
    while spent < least:
        start = clock(); f(); took = clock() - start
        best, spent = min(best, took), spent + took
    return best * 1e3
"""
ROWS = {
    "resnet18_load_and_first": "def run():\n    m = torch.jit.load(FOLDER + '/resnet18.pt'); m(torch.ones(1, 3, 224, 224))\nstart = clock(); run(); ms = (clock() - start) * 1e3",
    "resnet18_steady": "m = torch.jit.load(FOLDER + '/resnet18.pt'); x = torch.randn(1, 3, 224, 224)\nwith torch.no_grad():\n    m(x); m(x); ms = timed(lambda: m(x), 1.0)",
    "resnet18_frozen": "m = torch.jit.optimize_for_inference(torch.jit.load(FOLDER + '/resnet18.pt')); x = torch.randn(1, 3, 224, 224)\nwith torch.no_grad():\n    m(x); m(x); ms = timed(lambda: m(x), 1.0)",
    "scalar_loop_1e6": "f = torch.jit.load(FOLDER + '/loop.pt'); f(1000); f(1000); ms = timed(lambda: f(1000000))",
    "cells_128": "m = torch.jit.load(FOLDER + '/cells.pt'); x = torch.randn(128, 1, 64)\nwith torch.no_grad():\n    m(x); m(x); m(x); ms = timed(lambda: m(x))",
}  # fmt: skip


# Threads and arguments of the C++ program; "{}" is the folder of the archives.
CPP_ROWS = {
    "cpp_load_and_first_1": (1, "load", "{}/resnet18.pt"),
    "cpp_load_and_first_2": (2, "load", "{}/resnet18.pt"),
    "cpp_steady_1": (1, "steady", "{}/resnet18.pt"),
    "cpp_steady_2": (2, "steady", "{}/resnet18.pt"),
    "cpp_scalar_loop_1e6": (1, "loop", "{}/loop.pt"),
    "cpp_start": (1, "start"),
}


def run_cpp(binary: Path, threads: int, arguments: tuple[str, ...], folder: str) -> float:
    command = [str(binary), *(a.replace("{}", folder) for a in arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return float(output.split("\t")[1]) if output else (time.perf_counter() - start) * 1e3


def report(name: str, pairs: list[tuple[float, float]]) -> None:
    mine, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    ratios = sorted(a / b for a, b in pairs)
    print(f"{name}\t{mine:.3f}\t{theirs:.3f}\t{statistics.median(ratios):.3f}\t{ratios[0]:.3f}\t{ratios[-1]:.3f}", flush=True)


def program(imports: str, threads: int, folder: str, body: str, file: Path) -> Path:
    file.write_text(MODELS.replace("{imports}", imports).replace("{threads}", str(threads)) + f"FOLDER = {folder!r}\n" + body)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if not Path(PEER).exists():
        sys.exit(f"jit_peer.py: {PEER} has no torch (scripts/parity makes build/venv; or set PEER)")
    ours = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "python")}
    ours.pop("PYTHONDONTWRITEBYTECODE", None)
    peers = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # Installed packages have their bytecode, as the peer has.
        ours["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
        subprocess.run(["/usr/bin/python3", "-c", "import cresset; cresset.jit.load"], check=True, env=ours)
        save = "torch.manual_seed(0)\nfor n, m in (('resnet18', resnet18()), ('cells', Cells()), ('loop', loop)): torch.jit.script(m).save(FOLDER + '/' + n + '.pt')\n"
        subprocess.run([PEER, "-W", "ignore", program("import torch", 1, folder, save, place / "save.py")], check=True, env=peers)
        for name, body in ROWS.items():
            if not re.search(options.only, name):
                continue
            body += "\nimport json; print(json.dumps(ms))\n"
            left = program("import cresset as torch", options.threads, folder, body, place / f"ours_{name}.py")
            right = program("import torch", options.threads, folder, body, place / f"peer_{name}.py")
            pairs = []
            for _ in range(options.pairs):
                a = json.loads(subprocess.run(["/usr/bin/python3", left], check=True, env=ours, capture_output=True, text=True).stdout)
                b = json.loads(subprocess.run([PEER, "-W", "ignore", right], check=True, env=peers, capture_output=True, text=True).stdout)
                pairs.append((a, b))
            report(name, pairs)
        wanted = [name for name in CPP_ROWS if re.search(options.only, name)]
        if not wanted:
            return
        os.environ["PEER"] = PEER
        sides = [cpp.ours(), cpp.peer()]
        sides[0].link += ["-lcresset_graph"]
        sides[1].link[2:2] = ["-ltorch"]
        binaries = [side.program("jit") for side in sides]
        for name in wanted:
            report(name, [tuple(run_cpp(b, CPP_ROWS[name][0], CPP_ROWS[name][1:], folder) for b in binaries) for _ in range(options.pairs)])


if __name__ == "__main__":
    main()
