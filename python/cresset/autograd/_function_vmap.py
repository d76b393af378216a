"""Custom functions under vmap: by the rule that they bring, or by one made of their methods."""

from collections import namedtuple

import _cresset
import cresset as torch
from _cresset import Tensor

from ..utils import _pytree as pytree

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])


def _level_of(args):
    """The innermost level at which an argument is batched, and how many elements it has."""
    found = [(parts[3], parts[2].shape[parts[1]]) for parts in (_cresset.batched_parts(a) for a in args if isinstance(a, Tensor)) if parts]
    return max(found)


def _values(args, level):
    """The arguments without their wrappers of the level, and the dimensions of the batch."""
    values, dims = [], []
    for a in args:
        parts = _cresset.batched_parts(a) if isinstance(a, Tensor) else None
        batched = parts is not None and parts[3] == level
        values.append(parts[2] if batched else a)
        dims.append(parts[1] if batched else None)
    return tuple(values), tuple(dims)


def one_by_one(func, args):
    """`func`, which gives one tensor, of each element of the batch in turn."""
    level, size = _level_of(args)
    values, dims = _values(args, level)
    with _Outside(level):
        results = [func(*(v if d is None else v.select(d, i) for v, d in zip(values, dims, strict=True))) for i in range(size)]
        whole = torch.stack(results)
    return _wrapped(whole, 0, level)


def by_rule(rule, name, args, declared):
    """The results of an operator's rule for vmap; lists of tensors have lists of dimensions."""
    leaves = [a for value in args for a in (value if isinstance(value, (list, tuple)) else (value,))]
    level, size = _level_of(leaves)
    values, dims = [], []
    for value in args:
        listed = isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value)
        inner, where = _values(value if listed else (value,), level)
        values.append(list(inner) if listed else inner[0])
        dims.append(list(where) if listed else where[0])
    plain = [(v, d) for v, d, a in zip(values, dims, declared, strict=True) if not a.keyword]
    named = {a.name: v for v, a in zip(values, declared, strict=True) if a.keyword}
    info = VmapInfo(size, _cresset.vmap_randomness(level))
    with _Outside(level):
        result = rule(info, tuple(d for _, d in plain), *(v for v, _ in plain), **named)
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: the rule for vmap has to return two things, the results and the dimensions of their batch, got {type(result).__name__}")
    output, out_dims = result
    if not isinstance(output, (list, tuple)):
        if isinstance(out_dims, (list, tuple)):
            raise RuntimeError(f"{name}: the rule for vmap returned the dimensions {out_dims} for one result; it takes one dimension")
        return _wrapped(output, out_dims, level)
    several = out_dims if isinstance(out_dims, (list, tuple)) else [out_dims] * len(output)
    return type(output)(_wrapped(o, d, level) for o, d in zip(output, several, strict=True))


def each_element(op, info, in_dims, *args, **kwargs):
    """A rule for operators that have none: the operator of each element of the batch in turn."""

    def element(value, dim, i):
        if isinstance(value, list):
            return [element(v, d, i) for v, d in zip(value, dim, strict=True)] if isinstance(dim, list) else value
        return value if dim is None else value.select(dim, i)

    results = [op(*(element(v, d, i) for v, d in zip(args, in_dims, strict=True)), **kwargs) for i in range(info.batch_size)]
    if isinstance(results[0], Tensor):
        return torch.stack(results), 0
    if not isinstance(results[0], (list, tuple)) or not all(isinstance(r, Tensor) for r in results[0]):
        raise RuntimeError(f"vmap: {op} has results that are no tensors, and no rule; give it one by register_vmap")
    return type(results[0])(torch.stack(several) for several in zip(*results, strict=True)), 0


def takes(cls, args):
    """Whether a batch concerns the function itself: an argument is one, or holds one, for which the function has a rule of its own. A function without such a
    rule computes with what its arguments hold as it would by itself."""
    from .function import Function

    return cls.vmap is not Function.vmap or any(isinstance(a, Tensor) and _cresset.batched_parts(a) for a in args)


def apply(cls, args):
    """`cls.apply` with batched arguments."""
    from .function import Function

    leaves, nesting = pytree.tree_flatten(args)
    level, size = _level_of(leaves)
    has_rule = cls.vmap is not Function.vmap
    name = cls.__name__
    if cls.generate_vmap_rule and has_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overriden vmap staticmethod. Please set "
            f"generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid ambiguity."
        )
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(f"{name}: an autograd.Function under vmap, grad, jvp and the like needs a setup_context of its own")
    if not cls.generate_vmap_rule and not has_rule:
        raise RuntimeError(f"vmap: {name} has no rule for it; define its static method vmap, or set generate_vmap_rule=True")
    randomness = _cresset.vmap_randomness(level)
    if has_rule:
        values, dims = (pytree.tree_unflatten(part, nesting) for part in _values(leaves, level))
        with _Outside(level):
            result = cls.vmap(VmapInfo(size, randomness), dims, *values)
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(f"Expected the vmap staticmethod of {name} to return a pair: the output, and out_dims of the same structure.")
        return _placed(*result, level, name)
    values, dims = _values(args, level)
    with _Outside(level):
        output = _derived(cls, dims, size, randomness).apply(*values)
    return tuple(_wrapped(o, 0, level) for o in output) if isinstance(output, tuple) else _wrapped(output, 0, level)


def _placed(output, out_dims, level, name):
    """The results of a static method vmap: `out_dims` has the structure of `output`, or is one dimension for all of it."""
    if not isinstance(out_dims, (list, tuple)):
        return type(output)(_placed(o, out_dims, level, name) for o in output) if isinstance(output, (list, tuple)) else _wrapped(output, out_dims, level)
    if type(out_dims) is not type(output) or len(out_dims) != len(output):
        raise RuntimeError(f"{name}: the static method vmap returned out_dims {out_dims!r} for an output of another structure, {type(output).__name__}")
    return type(output)(_placed(o, d, level, name) for o, d in zip(output, out_dims, strict=True))


def _wrapped(value, dim, level):
    if dim is None or not isinstance(value, Tensor):
        return value
    return _cresset.wrap_batched(value, dim % value.dim() if dim < 0 else dim, level)


class _Outside:
    """The scope in which a level and those within it are not there."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        self.saved = _cresset.leave_vmap(self.level)

    def __exit__(self, *_):
        _cresset.return_to_vmap(self.saved)


class _Inside:
    """A level of its own for one run of a method."""

    def __init__(self, size, randomness):
        self.size, self.randomness = size, randomness

    def __enter__(self):
        from .._functorch import predispatch

        self.steps = predispatch
        self.level = self.steps._vmap_increment_nesting(self.size, self.randomness)
        self.number = _cresset.vmap_level()
        return self

    def __exit__(self, *_):
        self.steps._vmap_decrement_nesting()

    def wrap(self, values, dims):
        return tuple(v if d is None else self.steps._add_batch_dim(v, d, self.level) for v, d in zip(values, dims, strict=True))

    def unwrap(self, value):
        """The batch first; what is no tensor as it is."""
        return self.steps._remove_batch_dim(value, self.level, self.size, 0) if isinstance(value, Tensor) else value


class _Context:
    """The `ctx` that a method sees: tensors go in and out as elements of the batch."""

    def __init__(self, ctx, inside):
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_inside", inside)
        object.__setattr__(self, "_marks", {})
        # One inside of another leaves its notes on the same object.
        object.__setattr__(self, "_depth", ctx._depth + 1 if isinstance(ctx, _Context) else 1)

    def __getattr__(self, name):
        return getattr(self._ctx, name)

    def __setattr__(self, name, value):
        setattr(self._ctx, name, value)

    def _split(self, tensors):
        values, dims = [], []
        for t in tensors:
            parts = _cresset.batched_parts(t) if t is not None else None
            batched = parts is not None and parts[3] == self._inside.number
            values.append(parts[2] if batched else t)
            dims.append(parts[1] if batched else None)
        return values, dims

    def save_for_backward(self, *tensors):
        values, dims = self._split(tensors)
        setattr(self, f"_saved_dims_{self._depth}", dims)
        self._ctx.save_for_backward(*values)

    def save_for_forward(self, *tensors):
        values, dims = self._split(tensors)
        setattr(self, f"_saved_dims_{self._depth}", dims)
        self._ctx.save_for_forward(*values)

    @property
    def saved_tensors(self):
        return self._inside.wrap(self._ctx.saved_tensors, getattr(self, f"_saved_dims_{self._depth}"))

    def mark_dirty(self, *tensors):
        raise RuntimeError("mark_dirty: a function that changes its inputs in place cannot have a generated vmap rule")

    def mark_non_differentiable(self, *tensors):
        self._marks["non_differentiable"] = [id(t) for t in tensors]


def _derived(cls, dims, size, randomness):
    """A function on whole batches whose methods run those of `cls` under vmap."""
    from .function import Function

    def inside():
        return _Inside(size, randomness)

    class Batched(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*values):
            with inside() as level:
                output = cls.forward(*level.wrap(values, dims))
                return tuple(map(level.unwrap, output)) if isinstance(output, tuple) else level.unwrap(output)

        @staticmethod
        def setup_context(ctx, inputs, output):
            with inside() as level:
                several = isinstance(output, tuple)
                outputs = output if several else (output,)
                elements = tuple(_cresset.wrap_batched(o, 0) if isinstance(o, Tensor) else o for o in outputs)
                seen = _Context(ctx, level)
                cls.setup_context(seen, level.wrap(inputs, dims), elements if several else elements[0])
                chosen = [o for o, e in zip(outputs, elements, strict=True) if id(e) in seen._marks.get("non_differentiable", ())]
            if chosen:
                ctx.mark_non_differentiable(*chosen)

        @staticmethod
        def backward(ctx, *grads):
            with inside() as level:
                elements = tuple(g if g is None else _cresset.wrap_batched(g, 0) for g in grads)
                seen = _Context(ctx, level)
                found = cls.backward(seen, *elements) if cls.vjp is Function.vjp else cls.vjp(seen, *elements)
                results = []
                for g, d in zip(found if isinstance(found, tuple) else (found,), dims, strict=True):
                    if g is None:
                        results.append(None)
                    elif d is None:
                        results.append(_cresset.unwrap_batched(g, 0).sum(0))
                    else:
                        results.append(_cresset.unwrap_batched(g, d))
            return tuple(results)

        @staticmethod
        def jvp(ctx, *tangents):
            with inside() as level:
                elements = tuple(t if t is None or d is None else _cresset.wrap_batched(t, d) for t, d in zip(tangents, dims, strict=True))
                found = cls.jvp(_Context(ctx, level), *elements)
                return tuple(map(level.unwrap, found)) if isinstance(found, tuple) else level.unwrap(found)

    Batched.__name__ = Batched.__qualname__ = f"Vmapped{cls.__name__}"
    return Batched
