#!/usr/bin/env python3
"""Files on Cresset and on PyTorch, in turns: one `name<TAB>value<TAB>unit` a row, ours, the peer's and the ratio.

Rows: save and load of a state dict of 256 MiB beside a plain copy of the file, the same mapped, a mapped load of 1 GiB and what it makes
resident, 64 small tensors saved and loaded as a file and in memory. Files lie in --folder, memory by default, so that no disk is measured.
A ratio is the median over the pairs; above 1 is ours better. The peer is found as bench/python_peer.py finds it. Each side reads the other's files,
and what both load is compared: a row where it differs is named, and the program then ends with 1.
"""

from __future__ import annotations

import argparse
import os

from peer import report
from programs.results import Comparison
from python_peer import Worker, interpreter

ROWS = (
    "copy_256MiB",
    "save_256MiB",
    "load_256MiB",
    "load_256MiB_mmap",
    "load_1GiB_mmap",
    "load_1GiB_mmap_resident",
    "save_and_load_64_small",
    "save_and_load_64_small_in_memory",
)


def loaded(name: str, workers: list[Worker]) -> list[object]:
    """The values that each side loaded, or for a row that saves, those that the other one reads from the file."""
    found = [worker.result for worker in workers]
    if name.startswith("save_256"):
        for reader, file in zip(reversed(workers), found, strict=True):
            reader.measure(f"read {file}")
        found = [worker.result for worker in workers]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="turns of ours and the peer's (5)")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--folder", default="/dev/shm", help="where files are written (/dev/shm)")
    parser.add_argument("--threads", type=int, default=1, help="of each (1)")
    options = parser.parse_args()
    os.environ["CRESSET_BENCH_FOLDER"] = options.folder
    print(f"# load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, files in {options.folder}")
    python, has_torch = interpreter()
    workers = [Worker(python, module, options.threads, "io_worker.py") for module in ("cresset", *(["torch"] if has_torch else []))]
    results = Comparison("io_peer.py")
    for name in (row for row in ROWS if options.only in row):
        turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in workers]
        for _ in range(options.pairs):
            for turn, worker in zip(turns, workers, strict=True):
                if value := worker.measure(name):
                    turn.append({f"io_{name}": value})
        report(turns)
        found = loaded(name, workers)
        results.check(f"io_{name}", found[0], found[-1])
    for worker in workers:
        worker.close()
    results.finish()


if __name__ == "__main__":
    main()
