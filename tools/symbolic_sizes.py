#!/usr/bin/env python3
"""Runs the samples of PyTorch's operator database on fake tensors with symbolic sizes, and compares the sizes of the results with those of plain runs,
at the sample's sizes and at two others.

    build/venv/bin/python tools/symbolic_sizes.py --path build/release/python [--op REGEX] [--list]
    build/venv/bin/python tools/symbolic_sizes.py --path build/release/python --graphs     make_fx(tracing_mode="symbolic"), run at these sizes

Needs an interpreter with PyTorch, and ../shared/parity. Prints for how many entries every sample ran and no size was wrong, and how many symbols became numbers.
"""

import argparse
import collections
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "parity"))


class Samples:
    """Symbolic, plain and resized runs of one entry's samples."""

    def __init__(self, run):
        self.run, self.side, self.module = run, run.test, run.test.module
        self.function = self.side.variants.function(run.op)
        self.flatten, self.unflatten = self.module.utils._pytree.tree_flatten, self.module.utils._pytree.tree_unflatten
        self.shapes = self.module.fx.experimental.symbolic_shapes

    def sizes(self, out):
        return [tuple(t.shape) for t in self.side.tensors(out)]

    def plain(self, sample, resize=None):
        args, kwargs = self.side.load(sample)
        flat, spec = self.flatten((args, kwargs))
        if resize is not None:
            flat = [
                self.module.empty(resize(i, leaf), dtype=leaf.dtype, device="meta") if self.side.bridge.is_tensor(leaf) else leaf for i, leaf in enumerate(flat)
            ]
        args, kwargs = self.unflatten(flat, spec)
        return self.sizes(self.function(*args, **kwargs))

    def symbolic(self, sample):
        args, kwargs = self.side.load(sample)
        flat, spec = self.flatten((args, kwargs))
        env = self.shapes.ShapeEnv(duck_shape=False)
        mode = self.module._subclasses.fake_tensor.FakeTensorMode(shape_env=env)
        fakes = [mode.from_tensor(leaf.detach()) if self.side.bridge.is_tensor(leaf) else leaf for leaf in flat]
        args, kwargs = self.unflatten(fakes, spec)
        with mode:
            out = self.function(*args, **kwargs)
        return env, fakes, self.sizes(out)

    def graph(self, sample):
        """None, or what is wrong with the graph of a call at its own sizes, or twice as large; the same numbers are drawn each time."""
        module = self.module
        args, kwargs = self.side.load(sample)
        flat, spec = self.flatten((args, kwargs))
        places = [i for i, leaf in enumerate(flat) if self.side.bridge.is_tensor(leaf)]

        def call(*tensors):
            leaves = list(flat)
            for i, t in zip(places, tensors, strict=True):
                leaves[i] = t
            inner, named = self.unflatten(leaves, spec)
            return self.side.tensors(self.function(*inner, **named))

        inputs = [flat[i].detach() for i in places]
        try:
            self.seeded(call, inputs)
        except Exception:
            return None
        traced = module.fx.experimental.proxy_tensor.make_fx(call, tracing_mode="symbolic")(*(t.clone() for t in inputs))
        for larger in (False, True):
            given = [module.cat([t, t], 0) if larger and t.layout is module.strided and t.dim() and t.shape[0] > 1 else t for t in inputs]
            if not traced.shape_env.evaluate_guards_for_args(self.shapes.fx_placeholder_vals(traced), given, ignore_static=False):
                continue
            try:
                expected = self.seeded(call, given)
            except Exception:
                continue
            got = self.seeded(traced, given)
            unset = self.run.uninitialised
            for a, b in zip(got, expected, strict=True):
                if a.layout is not b.layout:
                    return f"the graph gives a tensor of layout {a.layout}, eager of {b.layout}"
                a, b = a.to_dense(), b.to_dense()
                if a.shape != b.shape or not (unset or module.equal(a, b) or module.allclose(a.double(), b.double(), 1e-4, 1e-4, equal_nan=True)):
                    return f"{'larger' if larger else 'same'} sizes: the graph gives {tuple(a.shape)}, eager {tuple(b.shape)}, other values"
        return None

    def seeded(self, function, tensors):
        self.module.manual_seed(0)
        return function(*(t.clone() for t in tensors))

    def evaluated(self, sizes, point):
        return [tuple(s if isinstance(s, int) else s.node.expr.evaluate(point) for s in one) for one in sizes]

    def check(self, sample):
        """None, or what is wrong; and how many symbols became numbers, of how many."""
        try:
            real = self.plain(sample)
        except Exception:
            return None, 0, 0
        env, fakes, sizes = self.symbolic(sample)
        hints = {name: hint for name, hint, *_ in env._env.symbols if hint is not None}
        fixed = sum(by is not None and by.constant is not None for *_, by, _ in env._env.symbols)
        if any(n.startswith("u") for one in sizes for s in one if not isinstance(s, int) for n in s.node.expr.symbols):
            return None, fixed, len(hints)
        got = self.evaluated(sizes, hints)
        if got != real:
            return f"sizes {got} of {sizes}, expected {real}", fixed, len(hints)
        for shift in (lambda h, i: h + 1 + i % 2, lambda h, i: 2 * h):
            point = {name: shift(hint, i) for i, (name, hint) in enumerate(hints.items())}
            for name, *_, by, _ in env._env.symbols:
                if by is not None:
                    point[name] = by.evaluate(point) if by.symbols else by.constant
            if not all(g.expr.evaluate(point) for g in env.guards):
                continue
            place = {id(f): self.evaluated([tuple(f.shape)], point)[0] for f in fakes if self.side.bridge.is_tensor(f)}
            try:
                expected = self.plain(sample, lambda i, leaf, place=place: place[id(fakes[i])])
            except Exception:
                continue
            got = self.evaluated(sizes, point)
            if got != expected:
                return f"at {point}: sizes {got} of {sizes}, expected {expected}", fixed, len(hints)
        return None, fixed, len(hints)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--op", default="")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    sys.path[:0] = arguments.path
    import torch
    from opparity.entries import database
    from opparity.run import Options, Run, Side

    import cresset

    under_test, reference = Side(cresset), Side(torch)
    good, bad, reasons, fixed, symbols = 0, [], collections.Counter(), 0, 0
    for name, op in database().items():
        if not re.search(arguments.op, name):
            continue
        run = Run(name, op, under_test, reference, Options("cresset", max_samples=arguments.samples))
        wrong = None
        for dtype in run.first_dtype()[:1]:
            for sample in run.samples(dtype, False):
                try:
                    problem, few, all_of = (Samples(run).graph(sample), 0, 0) if arguments.graphs else Samples(run).check(sample)
                except Exception as error:
                    problem, few, all_of = f"{type(error).__name__}: {str(error)[:160]}", 0, 0
                fixed, symbols = fixed + few, symbols + all_of
                wrong = wrong or problem
        if wrong is None:
            good += 1
        else:
            bad.append(name)
            if arguments.list:
                print(f"{name}: {' '.join(wrong.split())[:300]}", flush=True)
            reasons[wrong.split(":")[0][:40]] += 1
    print(f"{good} of {good + len(bad)} entries; {fixed} of {symbols} symbols became numbers; {dict(reasons.most_common(6))}")


if __name__ == "__main__":
    main()
