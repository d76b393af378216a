"""Backends for tests.

>>> counter = torch._dynamo.testing.CompileCounter()
>>> _ = torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2))
>>> counter.frame_count, counter.op_count
(1, 2)
"""

from .utils import counters

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "rand_strided", "reset_rng_state", "same"]


class CompileCounter:
    """Counts graphs and their calls; runs graphs as they are."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call_") for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        """Starts from zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """Counts graphs and hands them to a backend; `graphs` keeps them."""

    def __init__(self, backend):
        super().__init__()
        self.backend = backend

    def __call__(self, gm, example_inputs):
        from .backends.registry import lookup_backend

        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        """Starts from zero."""
        super().clear()
        self.graphs = []


class EagerAndRecordGraphs:
    """Keeps graphs in `graphs`; runs them as they are."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


def reset_rng_state(use_xla=False):
    """Seeds the random generators of PyTorch, Python and NumPy with 1337."""
    import random

    import cresset as torch

    torch.manual_seed(1337)
    random.seed(1337)


def rand_strided(size, stride, dtype=None, device="cpu", extra_size=0):
    """A random tensor of a size and strides."""
    import cresset as torch

    needed = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 + extra_size
    dtype = dtype or torch.float32
    whole = torch.randn(needed, device=device).to(dtype) if dtype.is_floating_point else torch.randint(0, 5, (needed,), device=device).to(dtype)
    return torch.as_strided(whole, size, stride)


def same(a, b, tol=1e-4):
    """Whether two results are equal within a tolerance."""
    import cresset as torch

    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], tol) for k in a)
    return torch.allclose(a, b, tol, tol, equal_nan=True) if isinstance(a, torch.Tensor) else a == b


del counters
