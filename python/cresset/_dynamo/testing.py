"""Backends and checks for tests.

>>> counter = torch._dynamo.testing.CompileCounter()
>>> _ = torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2))
>>> counter.frame_count, counter.op_count
(1, 2)
"""

import random
import re
import sys
import unittest

import cresset as torch

from .._functorch._boxed import make_boxed_func
from ..utils._pytree import tree_flatten
from . import config
from .backends.common import aot_autograd
from .backends.registry import lookup_backend
from .decorators import graph_break
from .eval_frame import optimize_assert
from .utils import clone_input as clone_me
from .utils import count_calls, same

__all__ = ["AotEagerAndRecordGraphs", "CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "check_dynamic_shape_capture", "clone_me",
           "collect_results", "empty_line_normalizer", "expectedFailureCodegenDynamic", "expectedFailureDynamic", "expectedFailureDynamicWrapper",
           "make_test_cls_with_patches", "normalize_gm", "rand_strided", "reduce_to_scalar_loss", "remove_optimized_module_prefix", "remove_trailing_space",
           "requires_bwd_pass", "reset_rng_state", "same", "skipIfNotPy311", "skipIfNotPy312", "skipIfOnlyNotPy312", "skipIfPy312", "standard_test",
           "strip_comment", "three", "unsupported"]  # fmt: skip


class CompileCounter:
    """Counts graphs and their calls; runs graphs as they are."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += count_calls(gm.graph)
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


class AotEagerAndRecordGraphs:
    """Keeps graphs in `graphs`, those of forward and backward in `fw_graphs` and `bw_graphs`; runs the operators of these."""

    def __init__(self):
        self.graphs, self.fw_graphs, self.bw_graphs = [], [], []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        kept = lambda graphs: lambda made, inputs: graphs.append(made) or make_boxed_func(made.forward)  # noqa: E731
        return aot_autograd(fw_compiler=kept(self.fw_graphs), bw_compiler=kept(self.bw_graphs))(gm, example_inputs)


def standard_test(self, fn, nargs, expected_ops=None, expected_ops_dynamic=None, expected_frame_count=1):
    """Checks in the test case `self` that `fn` of `nargs` tensors gives the same compiled, in a number of graphs and of operators.

    >>> import unittest
    >>> torch._dynamo.testing.standard_test(unittest.TestCase(), lambda a, b: a + b * 2, 2, expected_ops=2)
    """
    wanted = expected_ops_dynamic if expected_ops_dynamic is not None and not config.assume_static_by_default else expected_ops
    first, second = ([torch.randn(10, 10) for _ in range(nargs)] for _ in range(2))
    counter = CompileCounter()
    compiled = optimize_assert(counter)(fn)
    for args in (first, second, first):
        self.assertTrue(same(fn(*args), compiled(*args)))
    self.assertEqual(counter.frame_count, expected_frame_count)
    if wanted is not None:
        self.assertEqual(counter.op_count, wanted)


def unsupported(a, b):
    """`b`, after a graph break."""
    graph_break()
    return b


def reset_rng_state(use_xla=False):
    """Seeds the random generators of PyTorch, Python and NumPy with 1337."""
    torch.manual_seed(1337)
    random.seed(1337)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1337)


def rand_strided(size, stride, dtype=torch.float32, device="cpu", extra_size=0):
    """A random tensor of a size and strides."""
    needed = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 + extra_size
    whole = torch.randn(needed, device=device).to(dtype) if dtype.is_floating_point else torch.randint(0, 5, (needed,), device=device).to(dtype)
    return torch.as_strided(whole, size, stride)


def reduce_to_scalar_loss(out):
    """The mean of what is in a result: a tensor, a list, tuple or dict of them. TypeError for others.

    >>> torch._dynamo.testing.reduce_to_scalar_loss([torch.ones(2), torch.zeros(2)])
    tensor(0.5000)
    """
    if isinstance(out, torch.Tensor):
        return out.sum() / out.numel()
    if isinstance(out, (list, tuple)):
        return sum(map(reduce_to_scalar_loss, out)) / len(out)
    if isinstance(out, dict):
        return reduce_to_scalar_loss(list(out.values()))
    raise TypeError(f"reduce_to_scalar_loss: expected tensors, got {type(out).__name__}")


def requires_bwd_pass(out):
    """Whether a tensor in a result wants gradients."""
    return any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in tree_flatten(out)[0])


def collect_results(model, prediction, loss, example_inputs):
    """Results of a training step: prediction, loss, gradients and values of parameters, buffers, gradients of inputs."""
    gradients = {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    seen = [prediction, loss.item() if isinstance(loss, torch.Tensor) else loss, gradients, dict(model.named_parameters()), dict(model.named_buffers())]
    seen += [leaf.grad for leaf in tree_flatten(example_inputs)[0] if isinstance(leaf, torch.Tensor) and leaf.grad is not None]
    return seen


def remove_optimized_module_prefix(name):
    """The name of a parameter without the parts that `torch.compile` adds."""
    return name.replace("_orig_mod.", "")


def strip_comment(code):
    """Code without the comments at the ends of its lines."""
    return re.sub(r"(?m)[ \t]*#.*$", "", str(code))


def remove_trailing_space(code):
    """Code without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in str(code).split("\n"))


def empty_line_normalizer(code):
    """Code without empty lines."""
    return re.sub(r"\n{2,}", "\n", str(code))


def normalize_gm(gm_str):
    """Text of a graph's code without comments, blanks at the ends of lines, and empty lines."""
    return remove_trailing_space(empty_line_normalizer(strip_comment(gm_str)))


def check_dynamic_shape_capture():
    """Whether sizes are symbols from the first capture on."""
    return not config.assume_static_by_default


def make_test_cls_with_patches(cls, cls_prefix, fn_suffix, *patches, xfail_prop=None, decorator=lambda fn: fn):
    """A copy of a class of tests, each of which runs with settings changed: `patches` are tuples (module of settings, name, value)."""
    names = {name: getattr(cls, name) for name in dir(cls) if name.startswith("test_") and callable(getattr(cls, name))}
    own = {name: value for name, value in vars(cls).items() if name not in names}
    inherited = dict.fromkeys(name for name in names if name not in vars(cls))  # which the bases would bring in unchanged
    made = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {**own, **inherited})
    made.__qualname__ = made.__name__
    for name, test in names.items():
        if xfail_prop is not None and hasattr(test, xfail_prop):
            setattr(made, f"{name}{fn_suffix}", unittest.expectedFailure(test))
            continue
        for settings, key, value in patches:
            test = settings.patch(key, value)(test)
        setattr(made, f"{name}{fn_suffix}", decorator(test))
    return made


def _fails_where(mark):
    def marked(fn):
        setattr(fn, mark, True)
        return fn

    return marked


expectedFailureDynamic = _fails_where("_expected_failure_dynamic")  # noqa: N816  PyTorch's names
expectedFailureCodegenDynamic = _fails_where("_expected_failure_codegen_dynamic")  # noqa: N816
expectedFailureDynamicWrapper = _fails_where("_expected_failure_dynamic_wrapper")  # noqa: N816


def _skips(condition, reason):
    return lambda fn: unittest.skipIf(condition, reason)(fn)


skipIfNotPy311 = _skips(sys.version_info < (3, 11), "for Python 3.11 and later")  # noqa: N816
skipIfNotPy312 = _skips(sys.version_info < (3, 12), "for Python 3.12 and later")  # noqa: N816
skipIfPy312 = _skips(sys.version_info >= (3, 12), "not for Python 3.12 and later")  # noqa: N816
skipIfOnlyNotPy312 = _skips(sys.version_info[:2] != (3, 12), "for Python 3.12")  # noqa: N816

three = 3
