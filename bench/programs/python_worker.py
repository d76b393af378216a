"""Measures one module that stands for torch: reads names of rows from standard input, answers `name<TAB>value<TAB>unit<TAB>result` each, the result
as JSON of results.py.

Arguments: MODULE THREADS. One thread is timed by its CPU time, more by wall time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import sys
import time
from pathlib import Path

from results import digest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES, SUITE = ROOT / "examples" / "python", ROOT.parent / "shared" / "bench"
# Steps of each example and what keeps it from writing files.
STEPS = {"linear_regression": (2000, ["--plot", ""]), "mnist": (24, ["--save", ""]), "char_gpt": (60, ["--characters", "0"]),
         "vae": (120, ["--plot", ""]), "names_lstm": (120, ["--names"])}  # fmt: skip
# Sequences and the arguments of LSTM(64, 128) over 32 steps: forward and backward.
NETWORKS = {"lstm_b1": (1, {}), "lstm_b32": (32, {}), "lstm_b32_2layers_bidirectional": (32, {"num_layers": 2, "bidirectional": True})}
WINDOW = 10  # steps timed together: their batches differ in length
COMPARED = 3  # steps after which the numbers of a training program are compared; roundings grow with every one

module, threads = sys.argv[1], int(sys.argv[2])
answers, sys.stdout = sys.stdout, sys.stderr  # what a program prints is no answer
if module == "cresset":
    import cresset.compat

    cresset.compat.install()
import torch

torch.set_num_threads(threads)
clock = time.thread_time if threads == 1 else time.perf_counter


def nanoseconds(call, loops: int, repeats: int = 7) -> float:
    best = float("inf")
    for _ in range(repeats):
        numbers = range(loops)
        start = clock()
        for _ in numbers:
            call()
        best = min(best, (clock() - start) / loops)
    return best * 1e9


def calls() -> dict:
    """Of each row the call, how often it is timed together, and its result."""
    torch.manual_seed(0)
    x, y = torch.ones(1), torch.ones(1)
    linear, row = torch.nn.Linear(4, 4), torch.ones(1, 4)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    optimizer, batch = torch.optim.AdamW(model.parameters()), torch.randn(32, 64)

    def step():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    found = {
        "add": (lambda: x + y, 20000, digest(x + y)),
        "linear4_grad": (lambda: linear(row), 3000, digest(linear(row))),
        "mlp64_step_adamw": (step, 100, after_steps(step, model.parameters())),
    }
    for name, (sequences, arguments) in NETWORKS.items():
        network, sequence = nn.LSTM(64, 128, **arguments), torch.randn(32, sequences, 64)
        call = lambda network=network, sequence=sequence: network(sequence)[0].sum().backward()  # noqa: E731
        call()
        found[name] = (call, 10, digest([p.grad for p in network.parameters()]))
    with contextlib.suppress(ImportError):
        import numpy

        a, b = numpy.ones(1, numpy.float32), numpy.ones(1, numpy.float32)
        found["numpy_add"] = (lambda: a + b, 20000, (a + b).tolist())
    return found


def after_steps(step, parameters) -> list:
    """The parameters after the first steps."""
    for _ in range(COMPARED):
        step()
    return digest(list(parameters))


def small_optimizer(kind: str) -> tuple[float, list]:
    """Nanoseconds of a training step of a 64-64-64-64 MLP, 32 rows, with the optimizer's defaults; the parameters after the first steps."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    parameters = [p for p in model.parameters() if p.dim() == 2 or kind != "Muon"]
    optimizer, batch = getattr(torch.optim, kind)(parameters), torch.randn(32, 64)

    def loss():
        optimizer.zero_grad()
        value = model(batch).square().mean()
        value.backward()
        return value

    def step():
        if kind == "LBFGS":
            optimizer.step(loss)
        else:
            loss()
            optimizer.step()

    result = after_steps(step, parameters)
    return nanoseconds(step, 10 if kind == "LBFGS" else 100), result


def large_adamw(options: dict) -> tuple[float, list]:
    """Nanoseconds of a step of AdamW with 100 M parameters in one tensor; the parameters after the first."""
    torch.manual_seed(0)
    parameter = torch.nn.Parameter(torch.randn(100_000_000))
    parameter.grad = torch.randn(100_000_000)
    optimizer = torch.optim.AdamW([parameter], **options)
    optimizer.step()
    result = digest(parameter)
    return nanoseconds(optimizer.step, 1, 5), result


def product(op: str, parts):
    """The product of factors that are not determined themselves."""
    if op == "svd":
        return parts[0] * parts[1].unsqueeze(-2) @ parts[2]
    if op == "eigh":
        return parts[1] * parts[0].unsqueeze(-2) @ parts[1].mT
    return parts


def linear_algebra(op: str, shape: str) -> tuple[float, list]:
    """Nanoseconds of torch.linalg's `op` of a positive-definite matrix, or of several, as "512" or "1000x4" say, and its result."""
    *batch, n = (int(size) for size in shape.split("x"))
    torch.manual_seed(0)
    x = torch.randn(*batch, n, n)
    a, b = x @ x.mT / n + torch.eye(n), torch.randn(*batch, n, 8)
    function = getattr(torch.linalg, op)
    call = {"solve": lambda: function(a, b), "svd": lambda: function(x, full_matrices=False), "qr": lambda: function(x)}.get(op, lambda: function(a))
    start = time.perf_counter()
    result = call()
    loops = max(3, min(1000, int(0.02 / (time.perf_counter() - start))))
    return nanoseconds(call, loops, 5), digest([product(op, result), result[1] if op == "svd" else result[0] if op == "eigh" else []])


def step_time(name: str) -> tuple[float, list]:
    """Seconds from one optimizer step of the example to the next, everything between included; the best window. And the parameters after the first steps."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    steps, arguments = STEPS[name]
    sys.argv = [f"{name}.py", "--steps", str(steps), *arguments]
    stamps: list[float] = []
    results: list = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.ExitStack() as restore:
        for kind, step in [(kind, kind.step) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)]:  # AdamW may inherit Adam's

            def timed(self, *args, _step=step, **keywords):
                result = _step(self, *args, **keywords)
                stamps.append(clock())
                if len(stamps) == COMPARED:
                    results.extend(digest([p for group in self.param_groups for p in group["params"]]))
                return result

            restore.callback(*((setattr, kind, "step", step) if "step" in vars(kind) else (delattr, kind, "step")))
            kind.step = timed
        example.main()
    if len(stamps) != steps:
        raise RuntimeError(f"{name}: {len(stamps)} steps of {steps} were seen")
    return min(b - a for a, b in zip(stamps[WINDOW:-WINDOW], stamps[2 * WINDOW :], strict=True)) / WINDOW, results


def suite_step(name: str) -> tuple[float, list]:
    """Seconds of the first step of a model of ../shared/bench; the losses of the first steps, or the output."""
    sys.path.insert(0, str(SUITE))
    from models import suite

    torch.manual_seed(0)
    step = suite(torch)[name]()[0]
    start = clock()
    first = digest(step())
    spent = clock() - start
    return spent, [first, *(digest(step()) for _ in range(COMPARED - 1))]


def main() -> None:
    small = calls()
    for line in sys.stdin:
        name = line.strip()
        if name in small:
            call, loops, result = small[name]
            value, unit, factor = nanoseconds(call, loops), "ns", 1
        elif name.startswith("linalg_"):
            (value, result), unit, factor = linear_algebra(*name.split("_")[1:]), "us", 1e-3
        elif name.startswith("optim_100M_adamw"):
            (value, result), unit, factor = large_adamw({"fused": True} if name.endswith("fused") else {}), "ms", 1e-6
        elif name.startswith("optim_mlp64_"):
            (value, result), unit, factor = small_optimizer(name.removeprefix("optim_mlp64_")), "us", 1e-3
        elif name.startswith("suite_"):
            (value, result), unit, factor = suite_step(name.removeprefix("suite_")), "ms", 1e3
        elif name in STEPS:
            (value, result), unit, factor = step_time(name), "ms", 1e3
        else:
            value, unit, factor, result = float("nan"), "absent", 1, None
        print(name, value * factor, unit, json.dumps(result), sep="\t", file=answers, flush=True)


if __name__ == "__main__":
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    main()
