#!/usr/bin/env python3
"""Exports calls of PyTorch's operator database as programs of one operator, and takes their `.pt2` files both ways between PyTorch and Cresset.

    build/venv/bin/python tools/operator_files.py --path build/release/python [--op REGEX] [--samples N] [--stage captured|functional|core] [--list]

Needs an interpreter with PyTorch, and ../shared/parity. Prints for how many entries every sample went each way: PyTorch's files in Python and in C++ here, and
files of ours in PyTorch, Python and C++.
"""

import argparse
import collections
import re
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "parity"))
WAYS = ("pytorch to python", "pytorch to c++", "ours to pytorch", "ours to python", "ours to c++")


class Call:
    """One sample of an entry on one side: a module of the tensors among its arguments."""

    def __init__(self, run, side, sample):
        self.side, self.module = side, side.module
        function = side.variants.function(run.op)
        flat, spec = self.module.utils._pytree.tree_flatten(side.load(sample))
        places = [i for i, leaf in enumerate(flat) if side.bridge.is_tensor(leaf)]
        self.tensors = [flat[i].detach() for i in places]
        unflatten = self.module.utils._pytree.tree_unflatten

        class Operator(self.module.nn.Module):
            def forward(self, *tensors):
                leaves = list(flat)
                for i, t in zip(places, tensors, strict=True):
                    leaves[i] = t
                args, kwargs = unflatten(leaves, spec)
                return side.tensors(function(*args, **kwargs))

        self.operator = Operator()

    def run(self, function):
        """Results as leaves of PyTorch, with the same random numbers each time."""
        self.module.manual_seed(0)
        results = function(*[t.clone() for t in self.tensors])
        return [self.side.bridge.export(t) for t in results]

    def saved(self, path, stage):
        """Writes the file, and returns the results of the program."""
        made = self.module.export.export(self.operator, tuple(t.clone() for t in self.tensors))
        if stage != "captured":
            made = made.run_decompositions({}) if stage == "functional" else made.run_decompositions()
        self.module.export.save(made, path)
        return self.run(made.module())

    def loaded(self, path):
        """The results of a file."""
        return self.run(self.module.export.load(path).module())

    def in_cpp(self, path):
        """The results of a file that C++ runs."""
        return self.run(self.module.graph.load_program(path))


class Matrix:
    """Counts of entries, and the first thing that is wrong with each, by way."""

    def __init__(self, torch, stage):
        self.torch, self.stage = torch, stage
        self.good, self.total = collections.Counter(), collections.Counter()

    def samples(self, run, folder):
        """way -> what is wrong, for one entry; ways that no sample could go are left out."""
        wrong = {}
        for dtype in run.first_dtype()[:1]:
            for sample in run.samples(dtype, False):
                for way, text in self.sample(run, sample, folder).items():
                    wrong[way] = wrong.get(way) or text
        return wrong

    def sample(self, run, sample, folder):
        """way -> what is wrong with one sample."""
        found = {}
        theirs, ours = folder / "theirs.pt2", folder / "ours.pt2"
        try:
            peer = Call(run, run.torch, sample)
            expected = peer.saved(theirs, self.stage)
        except Exception:
            return found
        call = Call(run, run.test, sample)
        found["pytorch to python"] = self.compared(run, sample, lambda: call.loaded(theirs), expected, False)
        found["pytorch to c++"] = self.compared(run, sample, lambda: call.in_cpp(theirs), expected, False)
        try:
            written = call.saved(ours, self.stage)
        except Exception as error:
            return {**found, **dict.fromkeys(WAYS[2:], self.said(error, "save: "))}
        found["ours to python"] = self.compared(run, sample, lambda: call.loaded(ours), written, True)
        found["ours to c++"] = self.compared(run, sample, lambda: call.in_cpp(ours), written, True)
        found["ours to pytorch"] = self.compared(run, sample, lambda: peer.loaded(ours), written, False)
        return found

    def said(self, error, before=""):
        return f"{before}{type(error).__name__}: {' '.join(str(error).split())[:300]}"

    def compared(self, run, sample, function, expected, exact):
        """ "" or what is wrong with the results that a function gives; files of one side run there with equal bits."""
        from opparity.compare import Mismatch, compare, unique_part

        try:
            got = function()
        except Exception as error:
            return self.said(error)
        try:
            compare(run.op, tuple(expected), tuple(got), values=False)
            if exact:
                same = all(self.torch.allclose(self.wide(a), self.wide(b), 0, 0, equal_nan=True) for a, b in zip(got, expected, strict=True))
                return "" if same or run.uninitialised else "other bits"
            if not run.uninitialised:
                least = 0.0 if any(leaf.value.dtype.itemsize == 1 for leaf in got) else 1e-4
                compare(run.op, *(unique_part(run.name, sample, part[0] if len(part) == 1 else tuple(part)) for part in (expected, got)), at_least=least)
        except Mismatch as wrong:
            return f"other values: {wrong}"
        return ""

    def wide(self, leaf):
        return leaf.value.to(self.torch.complex128 if leaf.value.dtype.is_complex else self.torch.float64)

    def add(self, wrong):
        for way, text in wrong.items():
            self.total[way] += 1
            self.good[way] += not text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--op", default="")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--stage", choices=("captured", "functional", "core"), default="captured")
    parser.add_argument("--list", action="store_true", help="name every entry that goes wrong, with the first reason of each way")
    arguments = parser.parse_args()
    sys.path[:0] = arguments.path
    import logging

    import torch
    from opparity.entries import database
    from opparity.run import Options, Run, Side

    import cresset

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    under_test, reference, matrix = Side(cresset), Side(torch), Matrix(torch, arguments.stage)
    with tempfile.TemporaryDirectory() as folder:
        for name, op in database().items():
            if not re.search(arguments.op, name):
                continue
            run = Run(name, op, under_test, reference, Options("cresset", max_samples=arguments.samples))
            try:
                wrong = matrix.samples(run, Path(folder))
            except Exception as error:
                wrong = dict.fromkeys(WAYS, matrix.said(error, "samples: "))
            matrix.add(wrong)
            if arguments.list:
                for way, text in wrong.items():
                    if text:
                        print(f"{name} | {way} | {text}", flush=True)
    print("; ".join(f"{way}: {matrix.good[way]} of {matrix.total[way]} entries" for way in WAYS))


if __name__ == "__main__":
    main()
