"""The operators of jagged tensors.

Two entries. `called` (above autograd) has those that change the geometry: they work on `values_of`, so that autograd sees dense operators alone.
All others go their way through autograd, and come back as `dispatched` (below it), where pointwise operators run on the values.
"""

import math

import cresset as torch

from . import calls, nested_int
from .nested_tensor import NestedTensor

# ---- between a nested tensor and its values -------------------------------------------------------------------------------


class _Values(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.parts = x._offsets, x._lengths, x._ragged_idx
        return x._values.detach()

    @staticmethod
    def backward(ctx, grad):
        return wrapped(grad, *ctx.parts)


class _Wrapped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, offsets, lengths, ragged_idx):
        ctx.shape = values.shape
        return _made(values.detach(), offsets, lengths, ragged_idx)

    @staticmethod
    def backward(ctx, grad):
        return values_of(grad), None, None, None


def _made(values, offsets, lengths, ragged_idx):
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged_idx)


def values_of(x):
    """The dense tensor of all components; gradients pass through."""
    return _Values.apply(x) if x.requires_grad and torch.is_grad_enabled() else x._values


def wrapped(values, offsets, lengths=None, ragged_idx=1):
    """The nested tensor of values; gradients pass through."""
    if values.requires_grad and torch.is_grad_enabled():
        return _Wrapped.apply(values, offsets, lengths, ragged_idx)
    return _made(values, offsets, lengths, ragged_idx)


def _like(x, values, ragged_idx=None):
    made = wrapped(values, x._offsets, x._lengths, x._ragged_idx if ragged_idx is None else ragged_idx)
    if made.requires_grad and values.untyped_storage().data_ptr() == x._values.untyped_storage().data_ptr():
        made._is_shared = x._is_shared = True
    return made


def components(x):
    """The components, as views of the values."""
    at, (starts, lengths), values = x._ragged_idx - 1, x._starts_and_lengths, values_of(x)
    if x._lengths is None and (not starts or starts[0] == 0) and sum(lengths) == values.shape[at]:
        return values.split(lengths, at) if lengths else ()
    return tuple(values.narrow(at, start, length) for start, length in zip(starts, lengths, strict=True))


def _places(x):
    """For each row of the ragged dimension, in the order of the components: the component, its position there, and its row of the values."""
    ragged = x._ragged
    if ragged.places is None:
        starts, lengths = (torch.tensor(part, dtype=torch.int64, device=x._values.device) for part in x._starts_and_lengths)
        component = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
        position = torch.arange(component.shape[0], device=lengths.device) - (lengths.cumsum(0) - lengths)[component]
        ragged.places = component, position, starts[component] + position
    return ragged.places


def _fills(x):
    """Whether every row of the values belongs to a component, in order."""
    starts, lengths = x._starts_and_lengths
    return x._lengths is None and (not starts or starts[0] == 0) and sum(lengths) == x._values.shape[x._ragged_idx - 1]


def _compact(x):
    """The same components with nothing between them."""
    if _fills(x):
        return x
    values = values_of(x).index_select(x._ragged_idx - 1, _places(x)[2])
    return wrapped(values, torch.tensor([0, *x._starts_and_lengths[1]], device=values.device).cumsum(0), None, x._ragged_idx)


def padded(x, fill, length=None):
    """A dense tensor of all components, each filled up to the longest or to `length`; its dimensions are those of `x`."""
    component, position, row = _places(x)
    at = x._ragged_idx - 1
    rows = values_of(x).movedim(at, 0)
    rows = rows if _fills(x) else rows[row]
    blank = rows.new_full((len(x), x._max_seqlen if length is None else length, *rows.shape[1:]), fill)
    return blank.index_put((component, position), rows).movedim(1, at + 1)


def _from_padded(x, dense):
    """The components of `x`'s lengths, out of a padded tensor."""
    at = x._ragged_idx
    component, position, _ = _places(x)
    return _like(x, dense.movedim(at, 1)[component, position].movedim(0, at - 1).contiguous())


# ---- dimensions -----------------------------------------------------------------------------------------------------------


def _dim(name, x, dim, more=0):
    n = x.dim() + more
    if not -n <= dim < n:
        raise IndexError(f"{name}: expected a dimension within {-n}..{n - 1}, got {dim}")
    return dim % n


def _inner(name, x, dim, more=0, ragged=True):
    """The dimension of the values. RuntimeError for that of the batch, and for the ragged one unless `ragged`."""
    at = _dim(name, x, dim, more)
    if at == 0:
        raise RuntimeError(f"{name}: not possible along dimension 0 of a nested tensor, the batch")
    if not ragged and at == x._ragged_idx:
        raise RuntimeError(f"{name}: not possible along the ragged dimension of a nested tensor, {at}")
    return at - 1


def _same(name, *tensors):
    """The first nested tensor. RuntimeError where another has a different raggedness."""
    nested = [t for t in tensors if isinstance(t, NestedTensor)]
    for other in nested[1:]:
        if other._ragged is not nested[0]._ragged:
            raise RuntimeError(
                f"{name}: expected nested tensors of one raggedness, got the shapes {_text(nested[0])} and {_text(other)}; make one from the other's offsets() to let them fit"
            )
    return nested[0]


def _text(x):
    return f"({', '.join(map(str, x.shape))})"


# ---- above autograd: a table by the names of functions and methods --------------------------------------------------------

_TABLE = {}
_function = calls.registrar(_TABLE)


def _on_values(name, *aliases):
    """A function of the elements, or one that makes a tensor like another."""

    def run(func, x, *args, **kwargs):
        values = values_of(x)
        result = func(values, *args, **kwargs)
        if result is values:
            return x
        if result.device != values.device:
            lengths = None if x._lengths is None else x._lengths.to(result.device)
            return wrapped(result, x._offsets.to(result.device), lengths, x._ragged_idx)
        return _like(x, result)

    for each in (name, *aliases):
        _TABLE[each] = run
    run.takes_function = True


_on_values("dropout", "alpha_dropout", "to", "type", "double", "float", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat", "cdouble",
           "cpu", "cuda", "ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "pin_memory")  # fmt: skip


@_function("contiguous")
def _contiguous(x, memory_format=None):
    if x.is_contiguous():
        return x
    x = _compact(x)
    return _like(x, values_of(x).contiguous())


@_function("unbind")
def _unbind(x, dim=0):
    if _dim("unbind", x, dim) != 0:
        raise RuntimeError(f"unbind: a nested tensor comes apart along dimension 0, the batch, alone, got {dim}")
    return components(x)


@_function("is_same_size")
def _is_same_size(x, other):
    return isinstance(x, NestedTensor) and isinstance(other, NestedTensor) and x._sizes == other._sizes


@_function("to_padded_tensor")
def to_padded_tensor(x, padding, output_size=None):
    """A dense tensor with `padding` where components end."""
    if output_size is None:
        return padded(x, padding)
    lengths = list(x._sizes)
    lengths[x._ragged_idx] = x._max_seqlen
    if len(output_size) != len(lengths) or any(a < b for a, b in zip(output_size, lengths, strict=True)):
        raise RuntimeError(f"to_padded_tensor: expected an output_size of at least {tuple(lengths)}, got {tuple(output_size)}")
    dense = padded(x, padding)
    ends = [amount for a, b in zip(reversed(output_size), reversed(lengths), strict=True) for amount in (0, a - b)]
    return torch.nn.functional.pad(dense, ends, value=padding)


@_function("select")
def _select(x, dim, index):
    at = _dim("select", x, dim)
    if at == 0:
        n = len(x)
        if not -n <= index < n:
            raise IndexError(f"select: expected a component within {-n}..{n - 1}, got {index}")
        starts, lengths = x._starts_and_lengths
        return values_of(x).narrow(x._ragged_idx - 1, starts[index], lengths[index])
    return _like(x, values_of(x).select(_inner("select", x, dim, ragged=False), index), x._ragged_idx - (at < x._ragged_idx))


@_function("slice", "slice_method")
def _slice(x, dim=0, start=None, end=None, step=1):
    if start in (None, 0) and (end is None or (_dim("slice", x, dim) == 0 and end >= len(x)) or end >= 2**62) and step == 1:
        return x
    at = _inner("slice", x, dim, ragged=False)
    return _like(x, values_of(x)[(slice(None),) * at + (slice(start, end, step),)])


@_function("narrow")
def _narrow(x, dim, start, length):
    return _like(x, values_of(x).narrow(_inner("narrow", x, dim, ragged=False), start, length))


@_function("__getitem__")
def _getitem(x, index):
    steps = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(step, (torch.Tensor, list)) for step in steps):
        raise NotImplementedError("indexing: tensors and lists are no indices of a nested tensor; index its components, or values()")
    if sum(step is Ellipsis for step in steps) > 1:
        raise IndexError("indexing: expected one '...' at most")
    if Ellipsis in steps:
        at = steps.index(Ellipsis)
        steps[at : at + 1] = [slice(None)] * (x.dim() - sum(step is not None for step in steps) + 1)
    dim = 0
    for place, step in enumerate(steps):
        if step is None:
            x, dim = x.unsqueeze(dim), dim + 1
        elif isinstance(step, slice):
            x, dim = _slice(x, dim, step.start, step.stop, 1 if step.step is None else step.step), dim + 1
        elif dim == 0:
            rest = tuple(steps[place + 1 :])
            return _select(x, 0, step)[rest] if rest else _select(x, 0, step)
        else:
            x = _select(x, dim, step)
    return x


@_function("transpose", "swapaxes", "swapdims")
def _transpose(x, dim0, dim1):
    a, b = _dim("transpose", x, dim0), _dim("transpose", x, dim1)
    if a == b:
        return x
    if 0 in (a, b):
        raise ValueError("transpose: dimension 0 of a nested tensor, the batch, stays where it is")
    ragged = {a: b, b: a}.get(x._ragged_idx, x._ragged_idx)
    return _like(x, values_of(x).transpose(a - 1, b - 1), ragged)


@_function("permute")
def _permute(x, *dims):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    dims = [_dim("permute", x, d) for d in dims]
    if sorted(dims) != list(range(x.dim())):
        raise ValueError(f"permute: expected all of the {x.dim()} dimensions once, got {tuple(dims)}")
    if dims[0] != 0:
        raise ValueError("permute: dimension 0 of a nested tensor, the batch, stays where it is")
    return _like(x, values_of(x).permute([d - 1 for d in dims[1:]]), dims.index(x._ragged_idx))


@_function("t", "t_")
def _t(x):
    raise NotImplementedError("t: not there for nested tensors; transpose() takes two dimensions")


@_function("unsqueeze")
def _unsqueeze(x, dim):
    at = _inner("unsqueeze", x, dim, more=1)
    return _like(x, values_of(x).unsqueeze(at), x._ragged_idx + (at + 1 <= x._ragged_idx))


@_function("squeeze")
def _squeeze(x, dim=None):
    if dim is None:
        raise RuntimeError("squeeze: name the dimensions of a nested tensor that shall go")
    for at in sorted({_inner("squeeze", x, d) for d in ((dim,) if isinstance(dim, int) else dim)}, reverse=True):
        if at != x._ragged_idx - 1 and x._values.shape[at] == 1:
            x = _like(x, values_of(x).squeeze(at), x._ragged_idx - (at + 1 < x._ragged_idx))
    return x


@_function("unflatten")
def _unflatten(x, dim, sizes):
    at = _inner("unflatten", x, dim, ragged=False)
    return _like(x, values_of(x).unflatten(at, sizes), x._ragged_idx + (len(sizes) - 1 if at + 1 < x._ragged_idx else 0))


@_function("flatten")
def _flatten(x, start_dim=0, end_dim=-1):
    first, last = _dim("flatten", x, start_dim), _dim("flatten", x, end_dim)
    if first == last:
        return x
    if first == 0 or first <= x._ragged_idx <= last:
        raise RuntimeError(f"flatten: dimensions {first}..{last} of a nested tensor hold the batch or the ragged dimension, {x._ragged_idx}")
    return _like(x, values_of(x).flatten(first - 1, last - 1), x._ragged_idx - (last - first if last < x._ragged_idx else 0))


def _shaped(name):
    def run(x, *sizes):
        sizes = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
        number, at, values = x._ragged.number, x._ragged_idx - 1, values_of(x)
        refused = RuntimeError(
            f"{name}: a nested tensor of shape {_text(x)} cannot have the shape ({', '.join(map(str, map(nested_int.lifted, sizes)))}), whose parts before the ragged dimension or behind it differ"
        )
        if not sizes or sizes[0] not in (len(x), -1) or sizes.count(-1) > 1:
            raise refused
        rest = sizes[1:]
        before, after = math.prod(values.shape[:at]), math.prod(values.shape[at + 1 :])
        if number not in rest:  # -1 stands for the ragged dimension
            if -1 not in rest:
                raise refused
            place = rest.index(-1)
        else:
            place = rest.index(number)
            if -1 in rest:
                gap = rest.index(-1)
                part, known = (rest[:place], before) if gap < place else (rest[place + 1 :], after)
                others = math.prod(size for size in part if size != -1)
                if others == 0 or known % others:
                    raise refused
                rest[gap] = known // others
        if math.prod(rest[:place]) != before or math.prod(rest[place + 1 :]) != after:
            raise refused
        rest[place] = values.shape[at]
        return _like(x, getattr(values, name)(rest), place + 1)

    return run


_TABLE["reshape"], _shaped_view = _shaped("reshape"), _shaped("view")


@_function("view")
def _view(x, *sizes):
    if len(sizes) == 1 and isinstance(sizes[0], torch.dtype):
        return _like(x, values_of(x).view(sizes[0]))
    return _shaped_view(x, *sizes)


_function("view_as")(lambda x, other: _view(x, other._sizes))
_function("reshape_as")(lambda x, other: _TABLE["reshape"](x, other._sizes))


@_function("expand", "broadcast_to")
def _expand(x, *sizes, size=None, implicit=False):
    sizes = size if size is not None else sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if isinstance(x, NestedTensor):
        own = x._sizes
        if len(sizes) != len(own) or sizes[0] not in (-1, own[0]) or sizes[x._ragged_idx] not in (-1, x._ragged.number):
            raise RuntimeError(
                f"expand: a nested tensor of shape {_text(x)} keeps its number of dimensions, its batch and its ragged dimension, got {tuple(map(nested_int.lifted, sizes))}"
            )
        rest = list(sizes[1:])
        rest[x._ragged_idx - 1] = -1
        return x if list(map(int, sizes)) == list(own) else _like(x, values_of(x).expand(rest))
    raise RuntimeError("expand: a dense tensor does not take the shape of a nested one")


_function("expand_as")(lambda x, other: _expand(x, other._sizes))


def _pieces_of_batch(x, counts):
    starts, lengths = x._starts_and_lengths
    found, at = [], 0
    for count in counts:
        parts = [values_of(x).narrow(x._ragged_idx - 1, s, n) for s, n in zip(starts[at : at + count], lengths[at : at + count], strict=True)]
        offsets = torch.tensor([0, *lengths[at : at + count]], device=x._values.device).cumsum(0)
        found.append(wrapped(torch.cat(parts, x._ragged_idx - 1), offsets, None, x._ragged_idx))
        at += count
    return tuple(found)


@_function("chunk")
def _chunk(x, chunks, dim=0):
    if _dim("chunk", x, dim) == 0:
        each = -(-len(x) // chunks)
        return _pieces_of_batch(x, [min(each, len(x) - at) for at in range(0, len(x), each)])
    return tuple(_like(x, part) for part in values_of(x).chunk(chunks, _inner("chunk", x, dim, ragged=False)))


@_function("split", "split_with_sizes")
def _split(x, split_size_or_sections, dim=0):
    return tuple(_like(x, part) for part in values_of(x).split(split_size_or_sections, _inner("split", x, dim, ragged=False)))


@_function("cat", "concat", "concatenate")
def _cat(tensors, dim=0):
    return _joined("cat", torch.cat, tensors, dim, 0)


@_function("stack")
def _stack(tensors, dim=0):
    return _joined("stack", torch.stack, tensors, dim, 1)


def _joined(name, join, tensors, dim, more):
    if not all(isinstance(t, NestedTensor) for t in tensors):
        raise RuntimeError(f"{name}: expected nested tensors alone, got a dense one among them")
    x = _same(name, *tensors)
    at = _inner(name, x, dim, more, ragged=bool(more))
    return _like(x, join([values_of(t) for t in tensors], at), x._ragged_idx + (at + 1 <= x._ragged_idx if more else 0))


# ---- reductions -----------------------------------------------------------------------------------------------------------


def _least(dtype):
    return -math.inf if dtype.is_floating_point else False if dtype is torch.bool else torch.iinfo(dtype).min


def _most(dtype):
    return math.inf if dtype.is_floating_point else True if dtype is torch.bool else torch.iinfo(dtype).max


_FILLS = {"sum": lambda _: 0, "mean": lambda _: 0, "prod": lambda _: 1, "any": lambda _: False, "all": lambda _: True, "amax": _least, "max": _least, "argmax": _least,
          "amin": _most, "min": _most, "argmin": _most, "logsumexp": _least}  # fmt: skip
_ONE_DIM = {"prod", "max", "min", "argmax", "argmin"}


def _reduction(name):
    reduce = getattr(torch, name)

    def run(x, dim=None, keepdim=False, **kwargs):
        if isinstance(dim, torch.Tensor):
            raise RuntimeError(f"{name}: of two tensors is `{name}imum`; a nested tensor is reduced along a dimension")
        x = _compact(x)
        values, ragged = values_of(x), x._ragged_idx
        if dim is None or dim == ():
            whole = reduce(values, **kwargs)
            return whole.reshape((1,) * x.dim()) if keepdim else whole
        dims = sorted({_dim(name, x, d) for d in ((dim,) if isinstance(dim, int) else dim)})
        given = (dims[0] if isinstance(dim, int) else dims) if name in _ONE_DIM else dims
        if name in _ONE_DIM and len(dims) > 1:
            raise RuntimeError(f"{name}: expected one dimension, got {tuple(dims)}")
        if 0 in dims and ragged not in dims:
            raise RuntimeError(f"{name}: not possible along dimension 0 of a nested tensor, the batch, without the ragged one, {ragged}")
        if 0 in dims:
            dense = reduce(values, [d - 1 for d in dims if d], keepdim, **kwargs)
            return dense.unsqueeze(0) if keepdim else dense
        if ragged in dims:
            dense = padded(x, _FILLS[name](x.dtype))
            if name != "mean":
                return reduce(dense, given, keepdim, **kwargs)
            counts = torch.tensor(x._starts_and_lengths[1], device=values.device) * math.prod(values.shape[d - 1] for d in dims if d != ragged)
            total = dense.sum(dims, keepdim, **kwargs)
            return total / counts.reshape(-1, *(1,) * (total.dim() - 1))
        given = given - 1 if isinstance(given, int) else [d - 1 for d in dims]
        result = reduce(values, given, keepdim, **kwargs)
        place = ragged if keepdim else ragged - sum(d < ragged for d in dims)
        return type(result)([_like(x, part, place) for part in result]) if isinstance(result, tuple) else _like(x, result, place)

    return run


for _name in _FILLS:
    _TABLE[_name] = _reduction(_name)


def _along(name):
    """A function along one dimension which keeps the shape."""
    compute = getattr(torch, name)

    def run(x, dim, _stacklevel=3, dtype=None, **kwargs):
        at = _dim(name, x, dim)
        if at == 0:
            raise RuntimeError(f"{name}: not possible along dimension 0 of a nested tensor, the batch")
        if at == x._ragged_idx:
            return _from_padded(x, compute(padded(x, -math.inf), at, dtype=dtype))
        return _like(x, compute(values_of(x), at - 1, dtype=dtype))

    return run


for _name in ("softmax", "log_softmax"):
    _TABLE[_name] = _along(_name)


# ---- products, normalisation, tables --------------------------------------------------------------------------------------


def _last_is_dense(name, x, count=1):
    if x._ragged_idx >= x.dim() + 1 - count:
        raise RuntimeError(
            f"{name}: the last {count} dimensions must be dense, but dimension {x._ragged_idx} of the nested tensor of shape {_text(x)} is the ragged one"
        )


@_function("linear")
def _linear(x, weight, bias=None):
    if not isinstance(x, NestedTensor) or isinstance(weight, NestedTensor):
        raise RuntimeError("linear: expected a nested input and dense weights")
    _last_is_dense("linear", x)
    return _like(x, torch.nn.functional.linear(values_of(x), weight, bias))


@_function("matmul", "__matmul__", "bmm")
def matmul(a, b):
    """The product: of each row with one matrix, or of each component with its own."""
    if isinstance(a, NestedTensor) and not isinstance(b, NestedTensor) and b.dim() <= 2:
        _last_is_dense("matmul", a)
        return _like(a, torch.matmul(values_of(a), b))
    return _products(a, b)


_function("__rmatmul__")(lambda a, b: matmul(b, a))


def _products(a, b):
    x = _same("matmul", a, b)
    shapes = [t._sizes if isinstance(t, NestedTensor) else tuple(t.shape) for t in (a, b)]
    texts = " and ".join(f"({', '.join(map(str, map(nested_int.lifted, s)))})" for s in shapes)
    if len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 3 or shapes[0][0] != shapes[1][0]:
        raise RuntimeError(f"matmul: expected a matrix, or the same batch and number of dimensions, got the shapes {texts}")
    if shapes[0][-1] != shapes[1][-2]:
        raise RuntimeError(f"matmul: the shapes {texts} do not fit")
    number, rows = x._ragged.number, [components(t) if isinstance(t, NestedTensor) else t.unbind() for t in (a, b)]
    result = [p @ q for p, q in zip(*rows, strict=True)]
    sizes = [*(max(p, q) for p, q in zip(shapes[0][1:-2], shapes[1][1:-2], strict=True)), shapes[0][-2], shapes[1][-1]]
    if number not in sizes:
        return torch.stack(result)
    if sizes.count(number) > 1:
        raise RuntimeError(f"matmul: the product of the shapes {texts} would be ragged in two dimensions")
    at = sizes.index(number)
    owner = x if x._lengths is None else _compact(x)
    return wrapped(torch.cat(result, at), owner._offsets, None, at + 1)


def _normalisation(name):
    def run(x, normalized_shape, *args, **kwargs):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        if x._ragged.number in shape:  # each component as a whole, which takes no weights
            eps = kwargs.pop("eps", None)
            if tuple(x._sizes[-len(shape) :]) != shape or any(given is not None for given in (*args, *kwargs.values())):
                raise RuntimeError(f"{name}: along the ragged dimension expected normalized_shape to end the shape {tuple(x.shape)}, and no weight")
            named = {} if eps is None else {"eps": eps}
            whole = [getattr(torch.nn.functional, name)(part, part.shape[-len(shape) :], **named) for part in components(x)]
            owner = x if x._lengths is None else _compact(x)
            return wrapped(torch.cat(whole, x._ragged_idx - 1), owner._offsets, None, x._ragged_idx)
        _last_is_dense(name, x, len(shape))
        return _like(x, getattr(torch.nn.functional, name)(values_of(x), shape, *args, **kwargs))

    return run


_TABLE["layer_norm"], _TABLE["rms_norm"] = _normalisation("layer_norm"), _normalisation("rms_norm")


@_function("embedding")
def _embedding(x, weight, *args, **kwargs):
    if not isinstance(x, NestedTensor) or isinstance(weight, NestedTensor):
        raise RuntimeError("embedding: expected nested indices and a dense table")
    return _like(x, torch.nn.functional.embedding(values_of(x), weight, *args, **kwargs))


@_function("scaled_dot_product_attention")
def jagged_scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention within each component; shapes are (batch, heads, ragged length, features), nothing is padded."""
    given = (query, key, value)
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: nested tensors take no attn_mask; is_causal=True is possible")
    if not all(isinstance(t, NestedTensor) for t in given):
        raise ValueError(f"scaled_dot_product_attention: expected query, key and value to be nested, got {', '.join(type(t).__name__ for t in given)}")
    if any(t.dim() not in (3, 4) or t._ragged_idx != t.dim() - 2 for t in given):
        raise ValueError(f"scaled_dot_product_attention: expected the ragged dimension to be the last but one, got {', '.join(map(_text, given))}")
    _same("scaled_dot_product_attention of key and value", key, value)
    attend = torch.nn.functional.scaled_dot_product_attention
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    results = [attend(*(part.unsqueeze(0) for part in parts), **options).squeeze(0) for parts in zip(*map(components, given), strict=True)]
    query = query if query._lengths is None else _compact(query)
    return wrapped(torch.cat(results, query._ragged_idx - 1), query._offsets, None, query._ragged_idx)


# ---- the two entries ------------------------------------------------------------------------------------------------------


def _any_nested(values):
    return any(isinstance(v, NestedTensor) or (type(v) in (tuple, list) and _any_nested(v)) for v in values)


def called(func, types, args, kwargs):
    """A call above autograd, by the name of the function or method."""
    run = _TABLE.get(func.__name__)
    if run is not None and (_any_nested(args) or _any_nested(kwargs.values())):
        return calls.run(run, func, nested_int.lowered(tuple(args)), {name: nested_int.lowered(value) for name, value in kwargs.items()})
    return calls.as_usual(func, types, args, kwargs)


def dispatched(func, args, kwargs):
    """A call below autograd, by operator."""
    name = func._opname
    if name.endswith("_") and isinstance(args[0], NestedTensor) and torch.is_grad_enabled() and args[0].requires_grad and args[0]._is_shared:
        raise RuntimeError(
            f"{func}: another nested tensor looks at the memory that is to be written, and its gradient would be that of the old values; write into a clone()"
        )
    with torch.no_grad(), torch.DisableTorchFunctionSubclass():
        if name in _BELOW:
            return _BELOW[name](func, *args, **kwargs)
        if torch.Tag.pointwise in func.tags:
            return _pointwise(func, args, kwargs)
        run = _TABLE.get(name)
        if run is None or hasattr(run, "takes_function"):
            raise NotImplementedError(f"{func} is not there for nested tensors in the jagged layout; compute on values() or on the components")
    with torch.no_grad():
        return run(*args, **kwargs)


def _fitted(x, t, name):
    """A dense tensor that broadcasts against `x` as one that broadcasts against the values of `x`."""
    if t.dim() == 0:
        return t
    at, n = x._ragged_idx, x.dim()
    if t.dim() > n:
        raise RuntimeError(f"{name}: a dense tensor of {t.dim()} dimensions does not fit a nested one of shape {_text(x)}")
    t = t.reshape((1,) * (n - t.dim()) + tuple(t.shape)) if t.dim() < n else t
    if t.shape[at] == x._ragged.number and t.stride(at) == 0:
        t = t.narrow(at, 0, 1)
    if t.shape[at] != 1:
        if t.shape[0] == len(x) and t.shape[at] == x._max_seqlen:  # padded like the nested one
            component, position, _ = _places(_compact_only(x, name))
            return t.movedim(at, 1)[component, position].movedim(0, at - 1)
        raise RuntimeError(
            f"{name}: a dense tensor of shape {tuple(t.shape)} does not fit a nested one of shape {_text(x)}; its size along the ragged dimension must be 1"
        )
    if t.shape[0] == 1:
        return t.squeeze(0)
    if t.shape[0] != len(x):
        raise RuntimeError(f"{name}: a dense tensor of batch {t.shape[0]} does not fit a nested one of batch {len(x)}")
    return t.squeeze(at).index_select(0, _places(_compact_only(x, name))[0]).movedim(0, at - 1)


def _compact_only(x, name):
    if not _fills(x):
        raise RuntimeError(f"{name}: a dense tensor with a batch does not fit a nested one with gaps between its components; take its contiguous()")
    return x


def _pointwise(func, args, kwargs):
    flat = (*args, *kwargs.values())
    x = _same(str(func), *flat)
    if any(isinstance(t, NestedTensor) and (t.dim() != x.dim() or t._ragged_idx != x._ragged_idx) for t in flat):
        raise RuntimeError(f"{func}: expected nested tensors of one shape, got {' and '.join(_text(t) for t in flat if isinstance(t, NestedTensor))}")

    def plain(value):
        if isinstance(value, NestedTensor):
            return value._values
        return _fitted(x, value, str(func)) if isinstance(value, torch.Tensor) else value

    result = func(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
    if func._opname.endswith("_") and not func._opname.endswith("__"):
        if not isinstance(args[0], NestedTensor):
            raise RuntimeError(f"{func}: a dense tensor cannot take the elements of a nested one")
        return args[0]
    if "out" in kwargs:
        return kwargs["out"]
    return tuple(_like(x, part) for part in result) if isinstance(result, (tuple, list)) else _like(x, result)


_BELOW = {}
_below = calls.registrar(_BELOW)


def _same_shape(func, x, *args, **kwargs):
    return _like(x, func(x._values, *args, **kwargs))


for _name in ("detach", "alias", "clone", "ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "native_dropout_backward",
              "lift_fresh"):  # fmt: skip
    _BELOW[_name] = _same_shape


_below("masked_fill", "masked_fill_", "where", "bernoulli_", "uniform_", "normal_", "fill_", "zero_", "clamp", "copy_", "nan_to_num")(
    lambda func, *args, **kwargs: _pointwise(func, args, kwargs)
)


@_below("_to_copy", "to")
def _to_copy(func, x, *args, **kwargs):
    kwargs.pop("layout", None)
    return _TABLE["to"](func, x, *args, **kwargs)


@_below("new_zeros", "new_empty", "new_ones", "new_full")
def _new(func, x, size, *args, **kwargs):
    if tuple(size) == x._sizes:
        size = x._values.shape
        return _like(x, func(x._values, size, *args, **kwargs))
    if any(s > nested_int.FIRST for s in size):
        raise RuntimeError(f"{func}: a dense tensor has no nested size, got {tuple(map(nested_int.lifted, size))}")
    return func(x._values, size, *args, **kwargs)


@_below("_local_scalar_dense", "item")
def _item(func, x):
    raise RuntimeError(f"item: a nested tensor of {x.numel()} elements is no single number")


@_below("equal")
def _equal(func, a, b):
    return isinstance(a, NestedTensor) and isinstance(b, NestedTensor) and len(a) == len(b) and all(map(torch.equal, components(a), components(b)))


@_below("is_pinned")
def _is_pinned(func, x, *args, **kwargs):
    return x._values.is_pinned()
