"""Measures one module's files: reads names of rows from standard input, answers `name<TAB>value<TAB>unit<TAB>result` each. The result
is JSON: shapes and checksums of what was loaded, for a row that saves the name of its file. `read FILE` answers with what is in a file. Arguments: MODULE THREADS.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
import zlib

torch = importlib.import_module(sys.argv[1])
torch.set_num_threads(int(sys.argv[2]))


def seconds(call, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def contents(loaded) -> list:
    """Names, types, shapes and checksums of tensors."""
    named = loaded.items() if isinstance(loaded, dict) else [("", loaded)]
    return [[name, str(t.dtype).rpartition(".")[2], list(t.shape), zlib.crc32(t.numpy())] for name, t in named]


class Rows:
    def __init__(self, folder: str) -> None:
        self.large, self.huge, self.small, self.copy = (os.path.join(folder, name) for name in ("large.pt", "huge.pt", "small.pt", "copy"))
        torch.manual_seed(0)
        self.state = {f"layer{i}.weight": torch.randn(1024, 1024) for i in range(64)}
        self.few = {f"layer{i}.weight": torch.randn(8) for i in range(64)}
        self.size = 64 * 4 * 1024 * 1024 / 1e9
        torch.save(self.state, self.large)

    def rate(self, call) -> tuple[float, str]:
        return self.size / seconds(call, 3), "GB/s"

    def loaded(self, file, **options) -> list:
        return contents(torch.load(file, **options))

    def copy_256MiB(self):
        return *self.rate(lambda: shutil.copyfile(self.large, self.copy)), self.loaded(self.copy)

    def save_256MiB(self):
        return *self.rate(lambda: torch.save(self.state, self.large)), self.large

    def load_256MiB(self):
        return *self.rate(lambda: torch.load(self.large)), self.loaded(self.large)

    def load_256MiB_mmap(self):
        return seconds(lambda: torch.load(self.large, mmap=True), 5) * 1e3, "ms", self.loaded(self.large, mmap=True)

    def make_huge(self):
        if not os.path.exists(self.huge):
            torch.save(torch.ones(1 << 28), self.huge)

    def load_1GiB_mmap(self):
        self.make_huge()
        return seconds(lambda: torch.load(self.huge, mmap=True), 5) * 1e3, "ms", self.loaded(self.huge, mmap=True)

    def load_1GiB_mmap_resident(self):
        self.make_huge()
        before = resident()
        tensor = torch.load(self.huge, mmap=True)
        grown = (resident() - before) / (1 << 20)
        result = contents(tensor)
        del tensor
        os.remove(self.huge)
        return max(grown, 0.01), "MiB", result

    def save_and_load_64_small(self):
        def both():
            torch.save(self.few, self.small)
            return torch.load(self.small)

        return seconds(both, 50) * 1e6, "us", contents(both())

    def save_and_load_64_small_in_memory(self):
        def both():
            buffer = io.BytesIO()
            torch.save(self.few, buffer)
            buffer.seek(0)
            return torch.load(buffer)

        return seconds(both, 50) * 1e6, "us", contents(both())

    def read(self, file):
        return 0, "file", self.loaded(file)


with tempfile.TemporaryDirectory(dir=os.environ["CRESSET_BENCH_FOLDER"]) as place:
    rows = Rows(place)
    for line in sys.stdin:
        name, *arguments = line.split()
        value, unit, result = getattr(rows, name)(*arguments)
        print(name, value, unit, json.dumps(result), sep="\t", flush=True)
