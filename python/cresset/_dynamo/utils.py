"""Counters of the compiler.

>>> torch._dynamo.utils.counters["stats"]["no_such_count"]
0
"""

import collections
import contextlib
import functools
import math
import sys
import types
import warnings

from . import config

#: Kind -> Counter: "graph_break" by reason, "stats" ("unique_graphs", "calls_captured", "recompiles").
counters = collections.defaultdict(collections.Counter)


@functools.cache
def warn_once(msg, stacklevel=1):
    """Warns, but never twice with the same message.

    >>> torch._dynamo.utils.warn_once("told once")
    >>> torch._dynamo.utils.warn_once("told once")
    """
    warnings.warn(msg, stacklevel=stacklevel + 1)


def is_compile_supported(device_type):
    """Whether `torch.compile` makes code for tensors of a device here.

    >>> torch._dynamo.utils.is_compile_supported("cpu"), torch._dynamo.utils.is_compile_supported("meta")
    (True, False)
    """
    import cresset as torch

    from .eval_frame import is_dynamo_supported

    return torch.device(device_type).type == "cpu" and is_dynamo_supported()


@contextlib.contextmanager
def disable_cache_limit():
    """Within it functions are captured anew as often as their arguments ask for it.

    >>> with torch._dynamo.utils.disable_cache_limit():
    ...     torch._dynamo.config.recompile_limit > 1000
    True
    """
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


class CompileProfiler:
    """A backend that counts graphs and their calls.

    >>> counted = torch._dynamo.utils.CompileProfiler()
    >>> _ = torch.compile(lambda x: x + 1, backend=counted)(torch.ones(2))
    >>> counted.frame_count
    1
    """

    def __init__(self):
        self.frame_count = self.op_count = 0

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += count_calls(gm.graph)
        return gm.forward

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def count_calls(g):
    """How many nodes of a graph call something."""
    return sum(node.op.startswith("call_") for node in g.nodes)


# ---- values -----------------------------------------------------------------------------------------------------------------


def identity(x):
    """`x`."""
    return x


def hashable(x):
    """Whether a value has a hash.

    >>> torch._dynamo.utils.hashable((1, 2)), torch._dynamo.utils.hashable([])
    (True, False)
    """
    try:
        hash(x)
    except TypeError:
        return False
    return True


def istype(obj, allowed_types):
    """Whether an object is of a class, or one of several, and of none derived from it.

    >>> torch._dynamo.utils.istype(True, int), torch._dynamo.utils.istype(1, (int, str))
    (False, True)
    """
    return type(obj) in allowed_types if isinstance(allowed_types, (tuple, list, set)) else type(obj) is allowed_types


def is_namedtuple(obj):
    """Whether an object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(type(obj), "_fields") and hasattr(type(obj), "_make")


def is_numpy_ndarray(value):
    """Whether a value is an array of NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def make_cell(val=None):
    """A cell that holds a value."""
    return types.CellType(val)


def clone_input(x, *, dtype=None):
    """A copy of a tensor that wants gradients where it does, and has a copy of its gradient."""
    import cresset as torch

    with torch.no_grad():
        made = x.detach().clone(memory_format=torch.preserve_format)
    made = (made if dtype is None else made.to(dtype)).requires_grad_(x.requires_grad)
    if x.is_leaf and x.grad is not None:
        made.grad = clone_input(x.grad, dtype=dtype)
    return made


def clone_inputs(example_inputs):
    """Copies of tensors in a list, tuple or dict; other values stay."""
    from ..utils._pytree import tree_map_only

    import cresset as torch

    return tree_map_only(torch.Tensor, clone_input, list(example_inputs) if isinstance(example_inputs, tuple) else example_inputs)


@contextlib.contextmanager
def preserve_rng_state():
    """Leaves the state of random numbers as it was.

    >>> before = torch.get_rng_state()
    >>> with torch._dynamo.utils.preserve_rng_state():
    ...     _ = torch.rand(3)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    import cresset as torch

    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def ifdynstaticdefault(count1, count2):
    """`count1` where sizes are numbers at first, `count2` where they are symbols from the first capture on."""
    return count1 if config.assume_static_by_default else count2


# ---- results ----------------------------------------------------------------------------------------------------------------


def rmse(ref, res):
    """The root of the mean of squared differences."""
    return (ref - res).pow(2).mean().sqrt()


def same(
    ref, res, fp64_ref=None, cos_similarity=False, tol=1e-4, equal_nan=False, exact_dtype=True, relax_numpy_equality=False, ignore_non_fp=False, log_error=None
):
    """Whether two results are equal, floating point values within a tolerance: tensors, numbers, and lists, tuples, dicts, sets and objects that hold them.

    With `fp64_ref`, a result in double precision, `res` is also right if it is about as near to it as `ref` is. `log_error` is told of a difference.

    >>> torch._dynamo.utils.same([torch.ones(2), 1], [torch.ones(2), 1]), torch._dynamo.utils.same(torch.ones(2), torch.zeros(2))
    (True, False)
    """
    options = (cos_similarity, tol, equal_nan, exact_dtype, relax_numpy_equality, ignore_non_fp, log_error or (lambda *args: None))
    return _same(ref, res, fp64_ref, *options)


def _same(ref, res, exact, *options):
    import cresset as torch

    equal_nan, relaxed, ignore_non_fp, tell = options[2], *options[4:]
    if isinstance(ref, (list, tuple, collections.deque, torch.nn.ParameterList, torch.Size)):
        if not isinstance(res, (list, tuple, collections.deque, torch.nn.ParameterList)) or len(ref) != len(res):
            return False
        return all(_same(a, b, c, *options) for a, b, c in zip(ref, res, [None] * len(ref) if exact is None else exact, strict=True))
    if isinstance(ref, dict):
        if not isinstance(res, dict) or ref.keys() != res.keys():
            return False
        return all(_same(ref[key], res[key], None if exact is None else exact[key], *options) for key in ref)
    if isinstance(ref, (set, frozenset)):
        return isinstance(res, (set, frozenset)) and ref == res
    if isinstance(ref, torch.Tensor):
        if isinstance(res, (bool, int, float, complex)):  # each element is this number
            res = torch.tensor(res, device=ref.device).expand_as(ref)
        return isinstance(res, torch.Tensor) and _same_tensors(ref, res, exact, *options)
    if is_numpy_ndarray(ref) and (is_numpy_ndarray(res) or relaxed):
        as_tensor = lambda value: None if value is None else torch.as_tensor(value)  # noqa: E731
        return _same(as_tensor(ref), as_tensor(res), as_tensor(exact), *options)
    if isinstance(ref, float):
        return isinstance(res, (float, int)) and (math.isclose(ref, res, rel_tol=options[1], abs_tol=options[1]) or (equal_nan and ref != ref and res != res))
    if ref is None or isinstance(ref, (str, int, bool, type, complex)) or type(ref).__eq__ is not object.__eq__:
        same_value = bool(ref == res)
        if not same_value:
            tell("values differ: %s and %s", ref, res)
        return same_value or ignore_non_fp
    if type(ref) is type(res) and hasattr(ref, "__dict__"):
        return _same(vars(ref), vars(res), None if exact is None else vars(exact), *options)
    return ref is res


def _same_tensors(ref, res, exact, cos_similarity, tol, equal_nan, exact_dtype, relaxed, ignore_non_fp, tell):
    import cresset as torch

    if ref.layout is not torch.strided:
        ref, res = ref.to_dense(), res.to_dense()
    if ref.shape != res.shape or (exact_dtype and ref.dtype != res.dtype):
        tell("a tensor of %s and %s, another of %s and %s", ref.dtype, tuple(ref.shape), res.dtype, tuple(res.shape))
        return False
    if not (ref.dtype.is_floating_point or ref.dtype.is_complex):
        return ignore_non_fp or torch.equal(ref, res.to(ref.dtype))
    res = res.to(ref.dtype)
    if cos_similarity:
        score = torch.nn.functional.cosine_similarity(ref.flatten().to(torch.float32), res.flatten().to(torch.float32), dim=0, eps=1e-6)
        return bool((score >= 0.99) | torch.equal(ref, res))
    if torch.allclose(ref, res, rtol=tol, atol=tol, equal_nan=equal_nan):
        return True
    if exact is not None and exact.dtype == torch.float64:
        limit = max(2.0 * rmse(exact, ref).item(), tol / 10)
        return rmse(exact, res).item() <= limit
    tell("tensors differ by up to %s", (ref - res).abs().max())
    return False
