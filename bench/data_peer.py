#!/usr/bin/env python3
"""Loaders over data in memory, on Cresset and on PyTorch in turns: one `name<TAB>value<TAB>unit` a row, ours, the peer's and the ratio.

Usage: bench/data_peer.py [--pairs N] [--items N] [--list-mb N]

The interpreter that needs torch and NumPy is $PEER, $CRESSET_PARITY_PYTHON or build/venv/bin/python. Pictures of CIFAR's shape, as bytes, are read one by one
and made floats; batches of 128, shuffled. CPU time is that of all threads and processes; `critical` is the larger of the loading process's and one
worker's, to which the wall time comes down where there is a processor for each. The ratio is the median over the pairs, above 1 is ours better.
`memory` is what eight workers over a list need besides what none need, in the proportional share of all processes (ours only).
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BATCH = 128


def cpu():
    """Seconds of this process and of children that ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


def rows(torch, items):
    """Samples a second of CPU time by row."""
    data = torch.utils.data

    class Images(data.Dataset):
        def __init__(self):
            self.x = torch.randint(0, 255, (items, 3, 32, 32), dtype=torch.uint8)

        def __len__(self):
            return items

        def __getitem__(self, index):
            return self.x[index].float().div_(255), index % 10

    def epoch(dataset, workers):
        loader = data.DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers)
        assert sum(len(batch[0]) for batch in loader) == items

    def measured(run, workers=0):
        """CPU time of all, and the critical one: the least of two rounds."""
        best = (float("inf"), float("inf"))
        for _ in range(2):
            start = cpu()
            run()
            own, children = (b - a for a, b in zip(start, cpu()))
            best = min(best, (own + children, max(own, children / max(workers, 1))))
        return [items / seconds for seconds in best]

    images, pairs = Images(), data.TensorDataset(torch.rand(items, 784), torch.randint(0, 10, (items,)))

    def gather():
        order = torch.randperm(items)
        for i in range(0, items, BATCH):
            images.x[order[i : i + BATCH]].float().div_(255)

    def gather_pairs():
        order = torch.randperm(items)
        for i in range(0, items, BATCH):
            for tensor in pairs.tensors:
                tensor[order[i : i + BATCH]]

    yield "images, vectorised gather", measured(gather)[0]
    yield "tensors, vectorised gather", measured(gather_pairs)[0]
    for name, dataset in (("images", images), ("tensors", pairs)):
        yield f"{name}, 0 workers", measured(lambda: epoch(dataset, 0))[0]
        total, critical = measured(lambda: epoch(dataset, 2), 2)
        yield f"{name}, 2 workers", total
        yield f"{name}, 2 workers, critical", critical


def proportional_memory(processes):
    """MB of all, shared pages divided among those that share them."""
    total = 0
    for pid in processes:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def memory(torch, megabytes):
    """Most memory in an epoch over a list, without workers and with eight: by threads, the default, and by processes."""
    data = [torch.zeros(25000) for _ in range(megabytes * 10)]
    for name, options in (("none", {}), ("8 workers", {"num_workers": 8}), ("8 processes", {"num_workers": 8, "multiprocessing_context": "fork"})):
        loader, most = iter(torch.utils.data.DataLoader(data, 16, shuffle=True, **options)), 0
        children = [p.pid for p in getattr(getattr(loader, "_pool", None), "processes", [])]
        for number, _ in enumerate(loader):
            if number % (megabytes // 16) == megabytes // 32:
                most = max(most, proportional_memory([os.getpid(), *children]))
        yield name, most


def worker(side, items):
    if side == "peer":
        import torch
    else:
        import cresset as torch
    torch.set_num_threads(1)
    for name, value in rows(torch, items):
        print(f"{name}\t{value}")


def run(python, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "build" / "release" / "python"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([python, __file__, *arguments], env=environment, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--items", type=int, default=8000, help="pictures in an epoch")
    parser.add_argument("--list-mb", type=int, default=2000)
    parser.add_argument("--worker", choices=("ours", "peer", "memory"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker == "memory":
        import cresset

        for name, value in memory(cresset, arguments.list_mb):
            print(f"{name}\t{value}")
        return
    if arguments.worker:
        worker(arguments.worker, arguments.items)
        return
    python = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")
    has_peer = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0 if os.path.exists(python) else False
    if not has_peer:
        print(f"# no peer: {python} has no torch (scripts/parity makes build/venv; or set PEER)")
    print(f"# load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {arguments.pairs} pairs")
    ours, theirs = [], []
    for _ in range(arguments.pairs):
        ours.append(run(sys.executable, "--worker", "ours", "--items", str(arguments.items)))
        if has_peer:
            theirs.append(run(python, "--worker", "peer", "--items", str(arguments.items)))
    for name in ours[0]:
        print(f"{name}\t{statistics.median(each[name] for each in ours):.0f}\tsamples/s (CPU time)")
        if has_peer:
            print(f"{name}, peer\t{statistics.median(each[name] for each in theirs):.0f}\tsamples/s (CPU time)")
            print(f"{name}, ratio\t{statistics.median(a[name] / b[name] for a, b in zip(ours, theirs)):.2f}\tx")
    if arguments.list_mb:
        used = run(sys.executable, "--worker", "memory", "--list-mb", str(arguments.list_mb))
        for name, value in used.items():
            print(f"memory, {name}\t{value:.0f}\tMB")
        for name in ("8 workers", "8 processes"):
            print(f"memory, {name} against none\t{used[name] / used['none']:.3f}\tx")


if __name__ == "__main__":
    main()
