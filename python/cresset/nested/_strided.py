"""Nested tensors in the strided layout: components of any sizes in one buffer, each with sizes, strides and an offset of its own."""

import cresset as torch
from cresset._utils import _rebuild_nested_tensor

from ._internal import calls


class StridedNestedTensor(torch.Tensor):
    """A batch of tensors of one number of dimensions, whose sizes may differ in each.

    Operators run on the components, or on the buffer where all have the same order in it; `torch.nested.nested_tensor` makes one.
    """

    is_nested = True
    layout = torch.strided

    @staticmethod
    def __new__(cls, parts, dim=1):
        # Each column of sizes that differ is a number of its own, so that equal numbers are equal sizes.
        columns = tuple(zip(*(tuple(t.shape) for t in parts), strict=True)) or ((0,),) * dim
        sizes = [column[0] if len(set(column)) == 1 else _number_of(column) for column in columns]
        first = parts[0] if parts else torch.empty(0)
        made = torch.Tensor._make_wrapper_subclass(cls, (len(parts), *sizes), dtype=first.dtype, device=first.device, storage_size=0)
        made._parts, made._columns = parts, columns
        return made

    def __init__(self, parts, dim=1):
        pass

    def dim(self):
        """The number of dimensions, that of the batch included."""
        return len(self._columns) + 1

    ndimension = dim
    ndim = property(dim)

    def size(self, dim=None):
        """The size of a dimension. RuntimeError for all, and for one in which components differ."""
        if dim is None:
            raise RuntimeError("size: the components of a nested tensor differ in size; name a dimension, or see unbind()")
        n = self.dim()
        if not -n <= dim < n:
            raise IndexError(f"size: expected a dimension within {-n}..{n - 1}, got {dim}")
        if dim % n == 0:
            return len(self._parts)
        column = self._columns[dim % n - 1]
        if len(set(column)) > 1:
            raise RuntimeError(f"size: the components of the nested tensor differ in dimension {dim % n}: {', '.join(map(str, column))}")
        return column[0]

    shape = property(size)

    def stride(self, dim=None):
        """RuntimeError always: components have strides of their own."""
        raise RuntimeError("stride: the components of a nested tensor have strides of their own; see unbind()")

    def numel(self):
        """The number of elements of all components together."""
        return sum(t.numel() for t in self._parts)

    nelement = numel

    def is_contiguous(self, memory_format=None):
        """Whether the components lie in one buffer, one after the other, each contiguous."""
        return not self._parts or _buffer(self) is not None

    def values(self):
        """All elements, one component after the other; gradients pass through."""
        return _values(self)

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor with `padding` where components end."""
        return _to_padded_tensor(self, padding, output_size)

    def _nested_tensor_size(self):
        return torch.tensor([list(t.shape) for t in self._parts], dtype=torch.int64)

    def _nested_tensor_strides(self):
        return torch.tensor([list(t.stride()) for t in self._parts], dtype=torch.int64)

    def _nested_tensor_storage_offsets(self):
        return torch.tensor([t.storage_offset() for t in self._parts], dtype=torch.int64)

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(_unbind(self))

    def __repr__(self, *, tensor_contents=None):
        text = ",\n".join("  " + repr(t.detach()).replace("\n", "\n  ") for t in self._parts)
        grad = f", grad_fn={self.grad_fn}" if self.grad_fn is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"nested_tensor([\n{text}\n]{grad})"

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol):
        whole = self if _buffer(self) is not None else from_list(list(self._parts))
        offsets = whole._nested_tensor_storage_offsets()
        parts = (_buffer(whole), whole._nested_tensor_size(), whole._nested_tensor_strides(), offsets - offsets[:1])
        return _rebuild_nested_tensor, parts if len(self) else (torch.empty(0), *(torch.empty(0, dtype=torch.int64),) * 3)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("deepcopy: only tensors that the program made itself can be copied; this one is a result that autograd knows, detach it first")
        memo[id(self)] = made = from_list([t.detach() for t in self._parts])
        return made.requires_grad_(self.requires_grad)

    def tolist(self):
        """The components as nested lists."""
        return [t.tolist() for t in self._parts]

    def numpy(self, *, force=False):
        """RuntimeError always: a nested tensor is no NumPy array."""
        raise RuntimeError("numpy: not possible for a nested tensor; take the components from unbind()")

    def __bool__(self):
        raise RuntimeError("bool: a nested tensor is neither true nor false; reduce its components")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _called(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _dispatched(func, args, kwargs or {})


_numbers = {}  # from the sizes of a column to the number that stands for them


def _number_of(column):
    if column not in _numbers:
        if len(_numbers) > 4096:
            _numbers.clear()
        _numbers[column] = (1 << 14) + len(_numbers)  # small enough for the product of four of them
    return _numbers[column]


# ---- components and buffer ------------------------------------------------------------------------------------------------


class _Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.count = len(x._parts)
        return tuple(t.detach() for t in x._parts)

    @staticmethod
    def backward(ctx, *grads):
        return _nested(list(grads))


class _Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *parts):
        return StridedNestedTensor([t.detach() for t in parts], parts[0].dim())

    @staticmethod
    def backward(ctx, grad):
        return tuple(_unbind(grad)) if isinstance(grad, StridedNestedTensor) else tuple(grad.unbind())


def _unbind(x):
    return _Parts.apply(x) if x.requires_grad and torch.is_grad_enabled() else tuple(x._parts)


def _nested(parts):
    if torch.is_grad_enabled() and any(t.requires_grad for t in parts):
        return _Nested.apply(*parts)
    return StridedNestedTensor(parts, parts[0].dim() if parts else 1)


def from_list(tensors, dtype=None, device=None):
    """The nested tensor of a list, in a buffer of its own; gradients pass to the list.

    >>> from_list([torch.ones(2), torch.zeros(1)]).numel()
    3
    """
    if not tensors:
        return StridedNestedTensor([], 1)
    for what in ("dtype", "device", "ndim"):
        if len({getattr(t, what) for t in tensors}) != 1:
            raise RuntimeError(f"nested_tensor: expected components of one {what}, got {', '.join(str(getattr(t, what)) for t in tensors)}")
    flat = torch.cat([t.reshape(-1) for t in tensors])
    return _nested([part.view(t.shape) for part, t in zip(flat.split([t.numel() for t in tensors]), tensors, strict=True)])


def over_buffer(buffer, sizes, strides, storage_offsets):
    """The nested tensor whose components lie in a buffer at the given places.

    >>> one = torch.tensor([[1], [2]])
    >>> over_buffer(torch.arange(3), one, torch.ones_like(one), torch.tensor([0, 1])).unbind()
    (tensor([0]), tensor([1, 2]))
    """
    geometry = zip(sizes.tolist(), strides.tolist(), storage_offsets.tolist(), strict=True)
    return StridedNestedTensor([buffer.as_strided(size, stride, offset) for size, stride, offset in geometry], sizes.shape[-1] if sizes.dim() > 1 else 1)


def _buffer(x):
    """The elements of all components in one row, where they lie so in memory, else None."""
    parts, at = x._parts, None
    for t in parts:
        if not t.is_contiguous() or t.untyped_storage().data_ptr() != parts[0].untyped_storage().data_ptr() or (at is not None and t.storage_offset() != at):
            return None
        at = t.storage_offset() + t.numel()
    return parts[0].as_strided((x.numel(),), (1,), parts[0].storage_offset()) if parts else None


def _over(x, flat):
    """The nested tensor of `x`'s sizes over a new buffer."""
    return StridedNestedTensor([part.view(t.shape) for part, t in zip(flat.split([t.numel() for t in x._parts]), x._parts, strict=True)], x.dim() - 1)


# ---- operators ------------------------------------------------------------------------------------------------------------

_TABLE = {}
_function = calls.registrar(_TABLE)


def _each(name, function, x, *args, **kwargs):
    """Of each component; other nested arguments go along component by component."""
    rows = [_unbind(a) if isinstance(a, StridedNestedTensor) else None for a in (x, *args)]
    lengths = {len(row) for row in rows if row is not None}
    if len(lengths) > 1:
        raise RuntimeError(f"{name}: expected nested tensors of as many components, got {' and '.join(map(str, sorted(lengths)))}")
    return [function(*(a if row is None else row[i] for a, row in zip((x, *args), rows, strict=True)), **kwargs) for i in range(lengths.pop())]


def _component_dim(name, x, dim):
    n = x.dim()
    if not -n <= dim < n:
        raise IndexError(f"{name}: expected a dimension within {-n}..{n - 1}, got {dim}")
    if dim % n == 0:
        raise RuntimeError(f"{name}: not possible along dimension 0 of a nested tensor, the batch")
    return dim % n - 1


@_function("unbind")
def _unbind_function(x, dim=0):
    if dim not in (0, -x.dim()):
        raise RuntimeError(f"unbind: a nested tensor comes apart along dimension 0, the batch, alone, got {dim}")
    return _unbind(x)


@_function("values")
def _values(x):
    return torch.cat([t.reshape(-1) for t in _unbind(x)])


@_function("select")
def _select(x, dim, index):
    if dim % x.dim() == 0:
        if not -len(x) <= index < len(x):
            raise IndexError(f"select: expected a component within {-len(x)}..{len(x) - 1}, got {index}")
        return _unbind(x)[index]
    at = _component_dim("select", x, dim)
    return _nested([t.select(at, index) for t in _unbind(x)])


@_function("__getitem__")
def _getitem(x, index):
    first, *rest = index if isinstance(index, tuple) else (index,)
    if isinstance(first, int):
        part = _select(x, 0, first)
        return part[tuple(rest)] if rest else part
    if first is Ellipsis or first == slice(None):
        return _nested([t[(first, *rest) if first is Ellipsis else tuple(rest)] for t in _unbind(x)]) if rest else x
    raise RuntimeError("indexing: the batch of a nested tensor takes an int, or ':' for all")


@_function("to_padded_tensor")
def _to_padded_tensor(x, padding, output_size=None):
    if not len(x) and output_size is None:
        return torch.empty(0, dtype=x.dtype, device=x.device)
    longest = [max(column) for column in x._columns]
    size = [len(x), *longest] if output_size is None else list(output_size)
    if len(size) != x.dim() or any(a < b for a, b in zip(size, [len(x), *longest], strict=True)):
        raise RuntimeError(f"to_padded_tensor: expected an output_size of at least {(len(x), *longest)}, got {tuple(size)}")
    pad = torch.nn.functional.pad
    parts = [pad(t, [n for a, b in zip(reversed(size[1:]), reversed(t.shape), strict=True) for n in (0, a - b)], value=padding) for t in _unbind(x)]
    parts += [torch.full_like(parts[0], padding)] * (size[0] - len(parts))
    return torch.stack(parts)


@_function("transpose", "swapaxes", "swapdims")
def _transpose(x, dim0, dim1):
    a, b = _component_dim("transpose", x, dim0), _component_dim("transpose", x, dim1)
    return _nested([t.transpose(a, b) for t in _unbind(x)])


@_function("contiguous")
def _contiguous(x, memory_format=None):
    return x if _buffer(x) is not None else from_list(list(_unbind(x)))


@_function("matmul", "__matmul__", "bmm")
def _matmul(a, b):
    nested = [isinstance(t, StridedNestedTensor) for t in (a, b)]
    if all(nested):
        return _nested(_each("matmul", torch.matmul, a, b))
    x, dense = (a, b) if nested[0] else (b, a)
    if dense.dim() > 2:
        if dense.shape[0] != len(x):
            raise RuntimeError(f"matmul: a dense tensor of batch {dense.shape[0]} does not fit a nested one of batch {len(x)}")
        rows = zip(_unbind(x), dense.unbind(), strict=True)
        return _nested([torch.matmul(p, q) if nested[0] else torch.matmul(q, p) for p, q in rows])
    return _nested(_each("matmul", torch.matmul, a, b) if nested[0] else [torch.matmul(a, t) for t in _unbind(b)])


def _by_component(name):
    def run(x, *args, **kwargs):
        return _nested(_each(name, getattr(torch.nn.functional, name), x, *args, **kwargs))

    return run


for _name in ("linear", "layer_norm", "rms_norm", "embedding", "dropout"):
    _TABLE[_name] = _by_component(_name)


@_function("softmax", "log_softmax")
def _softmax(func, x, dim, _stacklevel=3, dtype=None):
    at = _component_dim("softmax", x, dim)
    return _nested([func(t, at, dtype=dtype) for t in _unbind(x)])


_softmax.takes_function = True


@_function("chunk")
def _chunk(x, chunks, dim=0):
    at = _component_dim("chunk", x, dim)
    if at != x.dim() - 2:
        raise RuntimeError(f"chunk: a nested tensor comes apart along its last dimension, {x.dim() - 1}, got {dim}")
    if not x.is_contiguous():
        raise RuntimeError("chunk: expected a contiguous nested tensor; call contiguous() first")
    if chunks > 0 and any(t.size(at) % chunks for t in _unbind(x)):
        raise RuntimeError(f"chunk: expected a last dimension that {chunks} divides in every part, got {[t.size(at) for t in _unbind(x)]}")
    return tuple(_nested(list(row)) for row in zip(*(t.chunk(chunks, at) for t in _unbind(x)), strict=True))


@_function("sum", "mean")
def _reduced(func, x, dim=None, keepdim=False, **kwargs):
    if dim is None:
        return func(_values(x), **kwargs)
    at = [_component_dim(func.__name__, x, d) for d in ((dim,) if isinstance(dim, int) else dim)]
    if at != [x.dim() - 2] or not keepdim:
        raise RuntimeError(
            f"{func.__name__}: a nested tensor in the strided layout is reduced along its last dimension, with keepdim=True; the jagged layout takes others"
        )
    return _nested([func(t, at, True, **kwargs) for t in _unbind(x)])


_reduced.takes_function = True


@_function("view", "reshape")
def _view(func, x, *sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if len(sizes) < 2 or sizes[0] not in (len(x), -1):
        raise RuntimeError(f"{func.__name__}: a nested tensor keeps its batch, {len(x)}, as the first size, got {tuple(sizes)}")
    rest = list(sizes[1:])
    shapes = []
    for i in range(len(x)):  # -1 keeps a size of the component where there is one at its place
        kept = [x._columns[d][i] if size == -1 and d < len(x._columns) and rest.count(-1) > 1 else size for d, size in enumerate(rest)]
        shapes.append(kept)
    return _nested([getattr(t, func.__name__)(shape) for t, shape in zip(_unbind(x), shapes, strict=True)])


_view.takes_function = True


@_function("unsqueeze", "squeeze", "unflatten", "flatten")
def _moved(func, x, *dims):
    name = func.__name__
    n = x.dim() + (name == "unsqueeze")
    if not dims or dims[0] % n == 0:
        raise RuntimeError(f"{name}: not possible along dimension 0 of a nested tensor, the batch")
    rest = (dims[1] % n - 1, *dims[2:]) if name == "flatten" and len(dims) > 1 else dims[1:]
    return _nested([getattr(t, name)(dims[0] % n - 1, *rest) for t in _unbind(x)])


_moved.takes_function = True


@_function(
    "to",
    "double",
    "float",
    "half",
    "bfloat16",
    "int",
    "long",
    "bool",
    "clone",
    "ones_like",
    "zeros_like",
    "empty_like",
    "rand_like",
    "randn_like",
    "pin_memory",
)
def _on_buffer(func, x, *args, **kwargs):
    flat = _values(x)
    result = func(flat, *args, **kwargs)
    return x if result is flat else _nested([part.view(t.shape) for part, t in zip(result.split([t.numel() for t in x._parts]), x._parts, strict=True)])


_on_buffer.takes_function = True


@_function("scaled_dot_product_attention")
def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: nested tensors take no attn_mask; is_causal=True is possible")
    attend = torch.nn.functional.scaled_dot_product_attention
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    return _nested(_each("scaled_dot_product_attention", lambda *parts: attend(*(t[None] for t in parts), **options)[0], query, key, value))


@_function("size", "stride")
def _geometry(func, x, *args):
    return getattr(x, func.__name__)(*args)


_geometry.takes_function = True


def _called(func, types, args, kwargs):
    run = _TABLE.get(func.__name__)
    return calls.as_usual(func, types, args, kwargs) if run is None else calls.run(run, func, args, kwargs)


def _dispatched(func, args, kwargs):
    with torch.no_grad(), torch.DisableTorchFunctionSubclass():
        if func._opname in ("detach", "alias"):
            return StridedNestedTensor([t.detach() for t in args[0]._parts], args[0].dim() - 1)
        if func._opname in ("clone", "_to_copy", "ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like"):
            kwargs.pop("memory_format", None)
            return _over(args[0], func(_values(args[0]), *args[1:], **kwargs))
        if torch.Tag.pointwise in func.tags or func._opname in ("masked_fill", "copy_", "fill_", "zero_", "where"):
            return _pointwise(func, args, kwargs)
    raise NotImplementedError(f"{func} is not there for nested tensors in the strided layout; the jagged layout has more, or compute on the components")


def _pointwise(func, args, kwargs):
    nested = [a for a in args if isinstance(a, StridedNestedTensor)]
    if any(a._columns != nested[0]._columns for a in nested):
        raise RuntimeError(f"{func}: expected nested tensors of the same sizes, component by component")
    x, writes = nested[0], func._opname.endswith("_") and not func._opname.endswith("__")
    flat = [_buffer(a) if isinstance(a, StridedNestedTensor) else a for a in args]
    if all(
        f is not None and not (isinstance(f, torch.Tensor) and f.dim() and not isinstance(a, StridedNestedTensor))
        for f, a in zip(flat, args, strict=True)
        if a is not None
    ):
        result = func(*flat, **kwargs)
        return args[0] if writes else _over(x, result)
    rows = [a._parts if isinstance(a, StridedNestedTensor) else _rows(x, a) for a in args]
    results = [func(*row, **kwargs) for row in zip(*rows, strict=True)]
    return args[0] if writes else StridedNestedTensor(results, x.dim() - 1)


def _rows(x, value):
    """One argument for each component of `x`: of a dense tensor with a batch its rows."""
    if isinstance(value, torch.Tensor) and value.dim() == x.dim() and value.shape[0] in (1, len(x)):
        return value.expand(len(x), *value.shape[1:]).unbind()
    return [value] * len(x)
