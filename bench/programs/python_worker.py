"""Measures one module that stands for torch: reads names of rows from standard input, answers `name<TAB>value<TAB>unit` each.

Arguments: MODULE THREADS. One thread is timed by its CPU time, more by wall time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "python"
# Steps of each example and what keeps it from writing files.
STEPS = {"linear_regression": (2000, ["--plot", ""]), "mnist": (24, ["--save", ""]), "char_gpt": (60, ["--characters", "0"]),
         "vae": (120, ["--plot", ""]), "names_lstm": (120, ["--names"])}  # fmt: skip
# Sequences and the arguments of LSTM(64, 128) over 32 steps: forward and backward.
NETWORKS = {"lstm_b1": (1, {}), "lstm_b32": (32, {}), "lstm_b32_2layers_bidirectional": (32, {"num_layers": 2, "bidirectional": True})}
WINDOW = 10  # steps timed together: their batches differ in length

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
    x, y = torch.ones(1), torch.ones(1)
    linear, row = torch.nn.Linear(4, 4), torch.ones(1, 4)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    optimizer, batch = torch.optim.AdamW(model.parameters()), torch.randn(32, 64)

    def step():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    found = {"add": (lambda: x + y, 20000), "linear4_grad": (lambda: linear(row), 3000), "mlp64_step_adamw": (step, 100)}
    for name, (sequences, arguments) in NETWORKS.items():
        network, sequence = nn.LSTM(64, 128, **arguments), torch.randn(32, sequences, 64)
        found[name] = (lambda network=network, sequence=sequence: network(sequence)[0].sum().backward(), 10)
    with contextlib.suppress(ImportError):
        import numpy

        a, b = numpy.ones(1, numpy.float32), numpy.ones(1, numpy.float32)
        found["numpy_add"] = (lambda: a + b, 20000)
    return found


def small_optimizer(kind: str) -> float:
    """Nanoseconds of a training step of a 64-64-64-64 MLP, 32 rows, with the optimizer's defaults."""
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

    return nanoseconds(step, 10 if kind == "LBFGS" else 100)


def large_adamw(options: dict) -> float:
    """Nanoseconds of a step of AdamW with 100 M parameters in one tensor."""
    parameter = torch.nn.Parameter(torch.randn(100_000_000))
    parameter.grad = torch.randn(100_000_000)
    optimizer = torch.optim.AdamW([parameter], **options)
    optimizer.step()
    return nanoseconds(optimizer.step, 1, 5)


def linear_algebra(op: str, shape: str) -> float:
    """Nanoseconds of torch.linalg's `op` of a positive-definite matrix, or of several, as "512" or "1000x4" say."""
    *batch, n = (int(size) for size in shape.split("x"))
    torch.manual_seed(0)
    x = torch.randn(*batch, n, n)
    a, b = x @ x.mT / n + torch.eye(n), torch.randn(*batch, n, 8)
    function = getattr(torch.linalg, op)
    call = {"solve": lambda: function(a, b), "svd": lambda: function(x, full_matrices=False), "qr": lambda: function(x)}.get(op, lambda: function(a))
    start = time.perf_counter()
    call()
    return nanoseconds(call, max(3, min(1000, int(0.02 / (time.perf_counter() - start)))), 5)


def step_time(name: str) -> float:
    """Seconds from one optimizer step of the example to the next, everything between included; the best window."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    steps, arguments = STEPS[name]
    sys.argv = [f"{name}.py", "--steps", str(steps), *arguments]
    stamps: list[float] = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.ExitStack() as restore:
        for kind, step in [(kind, kind.step) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)]:  # AdamW may inherit Adam's

            def timed(self, *args, _step=step, **keywords):
                result = _step(self, *args, **keywords)
                stamps.append(clock())
                return result

            restore.callback(*((setattr, kind, "step", step) if "step" in vars(kind) else (delattr, kind, "step")))
            kind.step = timed
        example.main()
    if len(stamps) != steps:
        raise RuntimeError(f"{name}: {len(stamps)} steps of {steps} were seen")
    return min(b - a for a, b in zip(stamps[WINDOW:-WINDOW], stamps[2 * WINDOW :], strict=True)) / WINDOW


def main() -> None:
    small = calls()
    for line in sys.stdin:
        name = line.strip()
        if name in small:
            value, unit = nanoseconds(*small[name]), "ns"
        elif name.startswith("linalg_"):
            value, unit = linear_algebra(*name.split("_")[1:]) / 1e3, "us"
        elif name.startswith("optim_100M_adamw"):
            value, unit = large_adamw({"fused": True} if name.endswith("fused") else {}) / 1e6, "ms"
        elif name.startswith("optim_mlp64_"):
            value, unit = small_optimizer(name.removeprefix("optim_mlp64_")) / 1e3, "us"
        elif name in STEPS:
            value, unit = step_time(name) * 1e3, "ms"
        else:
            value, unit = float("nan"), "absent"
        print(name, value, unit, sep="\t", file=answers, flush=True)


if __name__ == "__main__":
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    main()
