#!/usr/bin/env python3
"""Runs the samples of PyTorch's operator database through a mode in both packages, and compares what the modes see.

    build/venv/bin/python tools/op_streams.py --path build/release/python              names of operators, forward and backward
    build/venv/bin/python tools/op_streams.py --path build/release/python --capture    make_fx of each entry, its graph against eager

Entries that ask for values of their arguments (item, equal, allclose, checks of one_hot) are captured with _error_on_data_dependent_ops=False, as
programs for these values, and counted apart.

Needs an interpreter with PyTorch, and ../shared/parity. Prints what is equal, and the differences by frequency.
"""

import argparse
import collections
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "parity"))


def logging_mode(module):
    """A mode of the module's that lists the operators it sees."""
    base = module.utils._python_dispatch.TorchDispatchMode

    class Log(base):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Log()


def streams(run, side, sample):
    """The operators of a call, and of its gradient."""
    args, kwargs = side.load(sample)
    function = side.variants.function(run.op)
    forward = logging_mode(side.module)
    with forward:
        out = function(*args, **kwargs)
    outputs = [t for t in side.tensors(out) if t.requires_grad]
    inputs = [t for t in side.tensors([args, kwargs]) if t.requires_grad]
    if not outputs or not inputs:
        return forward.seen, []
    cotangents = [side.module.ones_like(t.detach()) for t in outputs]
    backward = logging_mode(side.module)
    with backward:
        side.gradients(outputs, inputs, cotangents)
    return forward.seen, backward.seen


_NOISE = {"aten.detach.default"}


def compared(run, sample, arguments):
    """Forward and backward: None where they agree, else (PyTorch's list, ours)."""
    theirs, ours = streams(run, run.torch, sample), streams(run, run.test, sample)
    for a, b in zip(theirs, ours):
        bags = [collections.Counter(name for name in names if arguments.detach or name not in _NOISE) for names in (a, b)]
        yield None if bags[0] == bags[1] else (a, b, bags[0] - bags[1], bags[1] - bags[0])


def captured(run, sample, arguments):
    """Runs the graph of the call on the arguments; raises where results differ."""
    from opparity.compare import compare

    side = run.test
    make_fx = side.module.fx.experimental.proxy_tensor.make_fx
    function = side.variants.function(run.op)
    tree_flatten, tree_unflatten = side.module.utils._pytree.tree_flatten, side.module.utils._pytree.tree_unflatten

    def leaves():
        args, kwargs = side.load(sample)
        return tree_flatten((args, kwargs))

    flat, spec = leaves()
    tensors = [i for i, leaf in enumerate(flat) if side.bridge.is_tensor(leaf)]

    def of_tensors(*given):
        values = list(flat)
        for i, t in zip(tensors, given):
            values[i] = t
        args, kwargs = tree_unflatten(values, spec)
        return side.tensors(function(*args, **kwargs))

    side.module.manual_seed(0)
    inputs, asks = [flat[i] for i in tensors], False
    try:
        graph = make_fx(of_tensors, tracing_mode=arguments.mode)(*inputs)
    except RuntimeError as error:
        if "depends on the values" not in str(error) and "get value out of a tracing tensor" not in str(error):
            raise
        asks = True
        side.module.manual_seed(0)
        graph = make_fx(of_tensors, tracing_mode=arguments.mode, _error_on_data_dependent_ops=False)(*inputs)
    fresh, again = leaves()[0], leaves()[0]
    side.module.manual_seed(0)
    got = side.bridge.export([t.detach() for t in graph(*[fresh[i] for i in tensors])])
    flat[:] = again
    side.module.manual_seed(0)
    want = side.bridge.export([t.detach() for t in of_tensors(*[again[i] for i in tensors])])
    compare(run.op, want, got, values=not run.uninitialised)
    return asks


def runs(arguments):
    import importlib

    import torch
    from opparity.entries import database
    from opparity.run import Options, Run, Side

    for path in arguments.path:
        sys.path.insert(0, path)
    module = importlib.import_module(arguments.module)
    importlib.import_module(f"{arguments.module}.utils._python_dispatch")
    importlib.import_module(f"{arguments.module}.fx.experimental.proxy_tensor")
    import torch.utils._python_dispatch  # noqa: F401

    test, reference = Side(module), Side(torch)
    for name, op in database().items():
        if re.search(arguments.only, name):
            yield Run(name, op, test, reference, Options(arguments.module, max_samples=arguments.samples))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", default="cresset")
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--only", default="", metavar="REGEX", help="entries whose names match")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--detach", action="store_true", help="count detach() too")
    parser.add_argument("--capture", action="store_true")
    parser.add_argument("--mode", default="real", help="tracing mode of make_fx")
    parser.add_argument("--list", action="store_true", help="print each difference")
    parser.add_argument("--json", help="write the differences")
    arguments = parser.parse_args()
    counts, missing, extra, errors, found = collections.Counter(), collections.Counter(), collections.Counter(), {}, {}
    for run in runs(arguments):
        try:
            dtypes = run.first_dtype()
            differentiable = bool(run.op.supports_autograd and dtypes and dtypes[0].is_floating_point)
            samples = run.samples(dtypes[0], differentiable and not arguments.capture) if dtypes else []
        except Exception as error:
            errors[run.name] = f"samples: {error}"
            continue
        entry = collections.Counter()
        for sample in samples:
            try:
                if arguments.capture:
                    entry["asks"] += captured(run, sample, arguments)
                    entry["equal"] += 1
                    continue
                for direction, difference in zip(("forward", "backward"), compared(run, sample, arguments)):
                    entry[direction] += 1
                    if difference is None:
                        entry[f"{direction} equal"] += 1
                        continue
                    missing.update(f"{direction} {n}" for n in set(difference[2]))
                    extra.update(f"{direction} {n}" for n in set(difference[3]))
                    found.setdefault(run.name, []).append((direction, difference[0], difference[1]))
            except Exception as error:
                entry["errors"] += 1
                errors.setdefault(run.name, f"{type(error).__name__}: {str(error)[:300]}")
        kinds = ("equal",) if arguments.capture else ("forward", "backward")
        counts["entries"] += bool(samples)
        for kind in kinds:
            good = entry["equal"] == len(samples) if arguments.capture else entry[f"{kind} equal"] == entry[kind] and not entry["errors"]
            counts[f"{kind} entries"] += bool(samples) and good
        if entry["asks"]:
            counts["equal entries that ask for values"] += bool(good)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"differences": found, "errors": errors}))
    if arguments.list:
        for name, differences in found.items():
            for direction, theirs, ours in differences[:1]:
                print(f"{name} {direction}\n    theirs {theirs}\n    ours   {ours}")
    for name, error in errors.items():
        print(f"error {name}: {error}")
    for title, table in (("PyTorch's alone", missing), ("ours alone", extra)):
        for name, count in table.most_common(60):
            print(f"{title}: {count:4} {name}")
    print(dict(counts), "errors in", len(errors), "entries")


if __name__ == "__main__":
    main()
