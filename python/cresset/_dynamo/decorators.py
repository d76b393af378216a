"""Marks of functions and tensors for the compiler.

>>> x = torch.ones(4, 3)
>>> torch._dynamo.mark_dynamic(x, 0)
>>> x._dynamo_dynamic_indices
{0}
"""

import dataclasses
import functools

from _cresset import Tensor

import cresset as torch

from . import config

__all__ = ["allow_in_graph", "assume_constant_result", "disallow_in_graph", "dont_skip_tracing", "error_on_graph_break", "forbid_in_graph", "graph_break",
           "is_compiling", "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace",
           "patch_dynamo_config", "skip_frame", "substitute_in_graph"]  # fmt: skip


def is_compiling():
    """Whether a frame is being captured.

    >>> torch._dynamo.is_compiling()
    False
    """
    from ._capture import frames

    return frames.is_capturing()


# ---- functions --------------------------------------------------------------------------------------------------------------


def _checked(fn, what):
    if not callable(fn):
        raise AssertionError(f"{what}: expected a callable, got {type(fn).__name__}")
    return fn


def _marked(fn, what, mark):
    try:
        setattr(_checked(fn, what), mark, True)
    except AttributeError:  # written in C
        _marks.setdefault(mark, []).append(fn)
    return fn


_marks = {}  # mark -> functions written in C


def is_marked(fn, mark):
    """Whether a function has been marked.

    >>> from cresset._dynamo import decorators
    >>> decorators.is_marked(abs, "_torchdynamo_constant")
    False
    """
    return bool(getattr(fn, mark, False)) or any(known is fn for known in _marks.get(mark, ()))


def allow_in_graph(fn):
    """`fn`, or each of a list or tuple of functions, which becomes one node of graphs, whatever it does.

    >>> @torch.compiler.allow_in_graph
    ... def helper(x):
    ...     return x * 2
    >>> torch.compile(lambda x: helper(x) + 1, backend="eager")(torch.ones(1))
    tensor([3.])
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if any(known is fn for known in _disallowed):
        return _allow_again(fn)
    return _marked(fn, "allow_in_graph", "_torchdynamo_in_graph")


def nonstrict_trace(traceable_fn):
    """A function that becomes one node of graphs, though it has side effects that are not seen."""

    @functools.wraps(traceable_fn)
    def wrapped(*args, **kwargs):
        return traceable_fn(*args, **kwargs)

    return allow_in_graph(wrapped)


def assume_constant_result(fn):
    """`fn`, whose result is taken for a constant: the call is run once, when the frame is captured.

    >>> @torch.compiler.assume_constant_result
    ... def answer():
    ...     return 42
    >>> torch.compile(lambda x: x * answer(), backend="eager")(torch.ones(1))
    tensor([42.])
    """
    return _marked(fn, "assume_constant_result", "_torchdynamo_constant")


def disallow_in_graph(fn):
    """`fn`, a function of the package, or each of a list or tuple of them, which is called between graphs until `allow_in_graph` has it back.

    Errors: RuntimeError for a function of the program, for which there is `torch.compiler.disable`.

    >>> _ = torch._dynamo.disallow_in_graph(torch.logit)
    >>> torch._dynamo.explain(lambda x: torch.logit(x.sin()).cos())(torch.ones(1)).graph_count
    2
    >>> _ = torch._dynamo.allow_in_graph(torch.logit)
    """
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(one) for one in fn]
    from ._capture import calls, objects

    if isinstance(_checked(fn, "disallow_in_graph"), type) or not objects.is_of_package(fn):
        raise RuntimeError(f"disallow_in_graph: expected a function of the package, got {fn!r}; torch.compiler.disable is for those of programs")
    if fn not in _disallowed:
        _disallowed[fn] = calls.HANDLERS.get(fn)
        calls.HANDLERS[fn] = _breaking(fn)
    return fn


_disallowed = {}  # function -> how captures called it before


def _breaking(fn):
    from ._capture.signals import Break

    def handler(machine, *args, **kwargs):
        raise Break(f"{getattr(fn, '__name__', fn)} is not to be in graphs (torch._dynamo.disallow_in_graph)")

    return handler


def _allow_again(fn):
    from ._capture import calls

    before = _disallowed.pop(fn)
    if before is None:
        del calls.HANDLERS[fn]
    else:
        calls.HANDLERS[fn] = before
    return fn


def forbid_in_graph(fn):
    """`fn`, whose call from a captured frame is an error."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(one) for one in fn]
    return _marked(fn, "forbid_in_graph", "_torchdynamo_forbidden")


def graph_break(msg=""):
    """Ends the graph here. Outside of a captured frame it does nothing."""


def skip_frame(msg=""):
    """The frame runs as it is. Outside of a captured frame it does nothing."""


def error_on_graph_break(error_on_graph_break):
    """A context and decorator in which a graph break is an error, or is none."""
    return config.patch(error_on_graph_break=error_on_graph_break)


def patch_dynamo_config(arg1=None, arg2=None, **kwargs):
    """`config.patch` as a context and decorator."""
    return config.patch(arg1, arg2, **kwargs)


def dont_skip_tracing(fn=None):
    """`fn`, whose frames are captured wherever its file lies."""
    return fn if fn is not None else (lambda one: one)


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False):
    """A decorator: the Python function stands for `original_fn` in captured frames.

    >>> import operator
    >>> @torch.compiler.substitute_in_graph(operator.countOf, skip_signature_check=True)
    ... def count_of(a, b, /):
    ...     return sum(x == b for x in a)
    >>> torch.compile(lambda x: x + operator.countOf([1, 1], 1), backend="eager", fullgraph=True)(torch.ones(1))
    tensor([3.])
    """
    _checked(original_fn, "substitute_in_graph")

    def wrapper(traceable_fn):
        from ._capture import calls

        def stand_in(machine, *args, **kwargs):
            return calls.inline(machine, traceable_fn, args, kwargs)

        calls.HANDLERS[original_fn] = stand_in
        return traceable_fn

    return wrapper


# ---- tensors ----------------------------------------------------------------------------------------------------------------


def _indices(index):
    return set(index) if isinstance(index, (list, tuple, set)) else {index}


def _mark(t, name, index):
    if not isinstance(t, Tensor):
        raise AssertionError(f"mark: expected a tensor, got {type(t).__name__}")
    setattr(t, name, getattr(t, name, set()) | {i % t.dim() if t.dim() else i for i in _indices(index)})


@dataclasses.dataclass(frozen=True, slots=True)
class _DimRange:
    """The bounds of a dimension's size, as PyTorch's files keep them on the tensors that remember lengths."""

    dim: int
    min: int | None
    max: int | None


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """A dimension of a tensor has another size at other calls, from `min` to `max`. An error where code needs it to be one size, or where a size is out
    of this range, which conditions of the program rely on.

    Sizes for which a function of the list `specialize_on` is true get a graph of their own. `hint_override` is a typical size, noted on the tensor for
    backends; nothing here depends on it.

    >>> x = torch.ones(4, 3)
    >>> torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
    >>> torch.compile(lambda x: x * 2 if x.size(0) <= 8 else x)(x).sum()
    tensor(24.)
    """
    if min is not None and max is not None and min > max:
        raise ValueError(f"mark_dynamic: expected min to be at most max, got min={min} and max={max}")
    _mark(t, "_dynamo_dynamic_indices", index)
    if min is not None or max is not None:
        marked = {i % t.dim() for i in _indices(index)}
        kept = {known for known in getattr(t, "_dynamo_dynamic_range", ()) if known.dim not in marked}
        t._dynamo_dynamic_range = kept | {_DimRange(i, min, max) for i in marked}
    for name, value in (("_specialize_on", specialize_on), ("_dynamo_hint_overrides", hint_override)):
        if value is not None:
            setattr(t, name, {**getattr(t, name, {}), **dict.fromkeys((i % t.dim() for i in _indices(index)), value)})


def maybe_mark_dynamic(t, index):
    """A dimension of a tensor may have another size at other calls."""
    _mark(t, "_dynamo_weak_dynamic_indices", index)


def mark_unbacked(t, index, hint_override=None, strict=False, specialize_on=None):
    """Nothing may depend on the size of a dimension."""
    _mark(t, "_dynamo_unbacked_indices", index)


def mark_static(t, index=None):
    """Dimensions of a tensor (all without `index`) have one size for each graph. A class of modules, whose numbers are constants of graphs anyway, is given back."""
    if isinstance(t, type) and issubclass(t, torch.nn.Module):
        return t
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static: expected a tensor or a class of modules, got {type(t).__name__}")
    _mark(t, "_dynamo_static_indices", list(range(t.dim())) if index is None else index)


def mark_static_address(t, guard=True):
    """A tensor stays where it is in memory."""
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address: expected a tensor, got {type(t).__name__}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"
