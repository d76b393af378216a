"""Tensors with a mask of the elements that count: operators keep it, reductions look at nothing else."""

import warnings

import cresset as torch
from cresset.overrides import redispatch_function

UNARY_NAMES = """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip conj_physical cos
    cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 isnan lgamma log log10 log1p log2 logit nan_to_num neg negative positive
    pow rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc""".split()
BINARY_NAMES = """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide eq floor_divide fmax fmin fmod ge greater
    greater_equal gt le less less_equal logaddexp logaddexp2 lt maximum minimum mul multiply ne nextafter not_equal remainder sub subtract
    true_divide""".split()
#: Methods behind Python's operators that are no operators themselves.
_METHODS = {
    **{f"__{name}__": getattr(torch.Tensor, f"bitwise_{name}") for name in ("and", "or", "xor")},
    **{f"__i{name}__": getattr(torch.Tensor, f"bitwise_{name}_") for name in ("and", "or", "xor")},
    "__lshift__": torch.Tensor.bitwise_left_shift, "__ilshift__": torch.Tensor.bitwise_left_shift_, "__rshift__": torch.Tensor.bitwise_right_shift,
    "__irshift__": torch.Tensor.bitwise_right_shift_, "__invert__": torch.Tensor.bitwise_not, "__eq__": torch.Tensor.eq,
    "__floordiv__": torch.Tensor.floor_divide, "__rsub__": torch.rsub, "__rdiv__": lambda x, number: x.reciprocal() * number,
    "__rpow__": lambda x, number: torch.pow(number, x), "__rfloordiv__": lambda x, number: torch.floor_divide(number, x),
    "__rmod__": lambda x, number: torch.remainder(number, x), "__rlshift__": lambda x, number: torch.bitwise_left_shift(number, x),
    "__rrshift__": lambda x, number: torch.bitwise_right_shift(number, x),
}  # fmt: skip
REDUCE_NAMES = "all amax amin argmax argmin mean norm prod std sum var".split()
#: Operators that move elements without reading them: the mask moves the same way.
_MOVES = frozenset(
    """__getitem__ broadcast_to cat chunk expand expand_as flatten flip index_select movedim narrow permute repeat reshape roll select split squeeze
    stack swapaxes swapdims t transpose unbind unflatten unfold unsqueeze view""".split()
)
#: Operators on the data alone.
_ALONE = frozenset("bfloat16 clone contiguous cpu detach double float half int long ones_like short to type_as".split())
_DTYPES = (torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)
_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)
_HELP = ""


class MaskedTensor(torch.Tensor):
    """A tensor whose elements count where a mask of its shape is true; made by `masked_tensor` or, sharing data and history, `as_masked_tensor`.

    Unary operators, binary ones of masked tensors with the same mask (or a masked and a plain one), reductions, indexing, views, `cat`, `stack`,
    `where` and `softmax` give masked tensors; so does ``grad``. Data and mask may be sparse, with the same places. Errors: TypeError for other
    operators, other dtypes, and a mask that is not bool; ValueError for masks that do not match.

    >>> from cresset.masked import MaskedTensor
    >>> MaskedTensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True])) + 1
    MaskedTensor(
      [  2.0000,       --,   4.0000]
    )
    """

    @staticmethod
    def __new__(cls, data, mask, requires_grad=False):
        _check(data, mask)
        if data.requires_grad:
            warnings.warn("MaskedTensor: data requires gradients, which do not reach it through its copy; use as_masked_tensor", UserWarning, stacklevel=2)
        return _wrapped(data.detach().clone(), mask.clone()).requires_grad_(requires_grad)

    def numpy(self, *_, **__):
        """Not there: RuntimeError. `to_tensor` makes a plain tensor."""
        raise RuntimeError("numpy: a masked tensor has no array")

    def tolist(self):
        """Not there: RuntimeError. `to_tensor` makes a plain tensor."""
        raise RuntimeError(f"tolist: expected a tensor without a mask, got {type(self).__name__}")

    def get_data(self):
        """The tensor under the mask, with its history."""
        return _data(self)

    def get_mask(self):
        """The mask."""
        return self._mask

    def to_tensor(self, value):
        """A plain tensor, with `value` where the mask is false."""
        dense = self.to_dense() if self.layout != torch.strided else self
        return _data(dense).masked_fill(~dense._mask, value)

    def is_sparse_coo(self):
        """Whether the data is a sparse COO tensor."""
        return self.layout is torch.sparse_coo

    def is_sparse_csr(self):
        """Whether the data is a sparse CSR tensor."""
        return self.layout is torch.sparse_csr

    def to_dense(self):
        """The same with a dense tensor and a dense mask."""
        return _wrapped(_data(self).to_dense(), self._mask.to_dense()) if self.layout != torch.strided else self

    def to_sparse_coo(self):
        """The same with sparse COO tensors that hold what the mask selects."""
        dense = self.to_dense()
        places, values = dense._mask.nonzero().t(), _data(dense)[dense._mask]
        parts = (torch.sparse_coo_tensor(places, v, dense.shape, is_coalesced=True) for v in (values, torch.ones_like(values, dtype=torch.bool)))
        return _wrapped(*parts)

    def to_sparse(self, *, layout=torch.sparse_coo):
        """The same with sparse tensors that hold what the mask selects, COO or CSR."""
        return self.to_sparse_csr() if layout == torch.sparse_csr else self.to_sparse_coo()

    def to_sparse_csr(self):
        """The same with sparse CSR tensors that hold what the mask selects."""
        dense = self.to_dense()
        rows = torch.cat([torch.zeros(1, dtype=torch.int64), dense._mask.sum(1).cumsum(0)])
        columns, values = dense._mask.nonzero()[:, 1], _data(dense)[dense._mask]
        parts = (torch.sparse_csr_tensor(rows, columns, v, dense.shape) for v in (values, torch.ones_like(values, dtype=torch.bool)))
        return _wrapped(*parts)

    @property
    def grad(self):
        """The gradient, under the same mask; None before there is one."""
        with torch.DisableTorchFunctionSubclass():
            gradient = torch.Tensor.grad.__get__(self)
        return gradient if gradient is None else _wrapped(gradient, self._mask)

    @grad.setter
    def grad(self, value):
        with torch.DisableTorchFunctionSubclass():
            torch.Tensor.grad.__set__(self, _data(value) if isinstance(value, MaskedTensor) else value)

    @grad.deleter
    def grad(self):
        self.grad = None

    def __repr__(self, **_):
        dense = self.to_dense()
        form = "{0:8.4f}" if self.dtype.is_floating_point else "{0}"
        if dense.dim() == 0:
            shown = form.format(_data(dense).item()) if dense._mask.item() else "--"
            return f"MaskedTensor({shown}, {dense._mask.item()})"
        return f"MaskedTensor(\n{_indented(_text(_data(dense).tolist(), dense._mask.tolist(), dense.dim(), form))}\n)"

    __str__ = __repr__

    def __deepcopy__(self, memo):
        import copy

        return _wrapped(copy.deepcopy(_data(self), memo), self._mask.clone())

    def __iter__(self):
        return iter(self.unbind(0))

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not all(issubclass(t, MaskedTensor) or t in (torch.Tensor, torch.nn.Parameter) for t in types):
            return NotImplemented
        name = function.__name__
        if name == "__get__":
            return _attribute(function, *args)
        if name in _METHODS:
            return _METHODS[name](*args)
        in_place = name.endswith("_") and not name.startswith("_")
        base = name.rstrip("_") if in_place and name not in _ALONE else name
        if base in BINARY_NAMES or base == "rsub" or (base == "pow" and len(args) > 1):
            return _binary(function, in_place, args, kwargs)
        if base in UNARY_NAMES:
            return _unary(function, in_place, args, kwargs)
        if name in REDUCE_NAMES:
            return _reduced(name, *args, **kwargs)
        if name in _MOVES:
            return _moved(function, args, kwargs)
        if name in _ALONE:
            return _wrapped(_plain(function, args, kwargs), args[0]._mask.clone() if name == "clone" else args[0]._mask)
        if name in _OTHERS:
            return _OTHERS[name](*args, **kwargs)
        if type(function).__name__ == "function":
            return redispatch_function(function, types, args, kwargs)
        return NotImplemented if type(function).__name__ in ("Op", "OpMethod") or name == "__setitem__" else _plain(function, args, kwargs)


def _check(data, mask):
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, torch.Tensor) or isinstance(value, MaskedTensor):
            raise TypeError(f"masked_tensor: expected {name} to be a plain tensor, got {type(value).__name__}")
    for name, got, expected in (("layout of data", data.layout, _LAYOUTS), ("layout of mask", mask.layout, (data.layout,)),
                                ("dtype of mask", mask.dtype, (torch.bool,)), ("dtype of data", data.dtype, _DTYPES)):  # fmt: skip
        if got not in expected:
            raise TypeError(f"masked_tensor: expected the {name} to be {' or '.join(map(str, expected))}, got {got}")
    if mask.shape != data.shape:
        raise ValueError(f"masked_tensor: expected a mask of the shape of data, {tuple(data.shape)}, got {tuple(mask.shape)}")


def _wrapped(data, mask):
    with torch.DisableTorchFunctionSubclass():
        made = data if isinstance(data, MaskedTensor) else data.as_subclass(MaskedTensor)
    made._mask = mask
    return made


def _data(value):
    """The tensor without its mask; anything else as it is."""
    if not isinstance(value, MaskedTensor):
        return type(value)(map(_data, value)) if type(value) in (list, tuple) else value
    with torch.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def _masks(value):
    if isinstance(value, MaskedTensor):
        return value._mask
    return type(value)(map(_masks, value)) if type(value) in (list, tuple) else value


def _plain(function, args, kwargs):
    with torch.DisableTorchFunctionSubclass():
        return function(*args, **kwargs)


def _attribute(get, self, *owner):
    with torch.DisableTorchFunctionSubclass():
        found = get(self, *owner)
        if not isinstance(found, torch.Tensor) or found.shape == self.shape == ():
            return found
        return _wrapped(found.as_subclass(torch.Tensor), get(self._mask, *owner))


def _values(data):
    return data.coalesce().values() if data.layout == torch.sparse_coo else data.values()


def _like(sparse, values):
    if sparse.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(sparse.coalesce().indices(), values, sparse.shape, is_coalesced=True)
    return torch.sparse_csr_tensor(sparse.crow_indices(), sparse.col_indices(), values, sparse.shape)


def _same(a, b):
    if a.layout != b.layout:
        raise ValueError(f"masked tensors: the layouts differ, got {a.layout} and {b.layout}")
    if a.shape != b.shape:
        return False
    if a.layout == torch.strided:
        return a is b or torch.equal(a, b)
    return _values(a).shape == _values(b).shape and torch.equal(a.to_dense(), b.to_dense())


def _masks_match(a, b):
    """Whether two masked tensors have the same mask; true unless both are masked."""
    return not (isinstance(a, MaskedTensor) and isinstance(b, MaskedTensor)) or _same(a._mask, b._mask)


def _tensors_match(a, b, exact=True, rtol=1e-05, atol=1e-08):
    """Whether two plain tensors have the same elements, or close ones unless `exact`. ValueError for masked ones and where the layouts differ."""
    if isinstance(a, MaskedTensor) or isinstance(b, MaskedTensor):
        raise ValueError("tensors to compare: expected plain tensors, got a masked one")
    if exact or a.layout != b.layout or a.shape != b.shape:
        return _same(a, b)
    wanted = torch.promote_types(a.dtype, b.dtype)
    a, b = (t.to(wanted) if t.layout == torch.strided else t.to_dense().to(wanted) for t in (a, b))
    return torch.allclose(a, b, rtol=rtol, atol=atol)


def _unary(function, in_place, args, kwargs):
    self = args[0]
    if kwargs.get("out") is not None or (kwargs and function.__name__ == "round"):
        raise ValueError(f"a masked tensor's op of one argument takes no keywords. {_HELP}")
    if self.layout != torch.strided:
        data = _data(self)
        return _wrapped(_like(data, function(_values(data), *args[1:], **kwargs)), self._mask)
    result = _plain(function, args, kwargs)
    return self if in_place else _wrapped(result, self._mask)


def _binary(function, in_place, args, kwargs):
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if len(args) != 2:
        return _plain(function, args, kwargs)  # which says what is missing
    a, b = args
    masked = [x for x in (a, b) if isinstance(x, MaskedTensor)]
    if len(masked) == 2 and not _same(a._mask, b._mask):
        raise ValueError(f"Input masks must match. {_HELP}")
    mask = masked[0]._mask
    if mask.layout != torch.strided:
        if any(isinstance(x, torch.Tensor) and not isinstance(x, MaskedTensor) and x.dim() for x in args):
            raise ValueError("`a` and `b` must have the same layout: a sparse masked tensor goes with sparse masked tensors and numbers")
        values = [_values(_data(x)) if isinstance(x, MaskedTensor) else x for x in args]
        return _wrapped(_like(_data(masked[0]), function(*values)), mask)
    result = _plain(function, args, {})
    return a if in_place else _wrapped(result, mask.expand(result.shape))


def _reduced(name, self, dim=None, *args, **kwargs):
    if self.layout != torch.strided:
        self = self.to_dense()
    if name == "norm":
        order, dim = (2.0 if dim is None else dim), (args[0] if args else kwargs.pop("dim", None))
        before, args = (kwargs.pop("p", order),), args[1:]
    else:
        before = ()
    data, mask = _data(self), self._mask
    if args:
        kwargs["keepdim"] = args[0]
    dims = tuple(range(data.dim())) if dim is None else dim
    there = mask.any(dims, keepdim=kwargs.get("keepdim", False)) if mask.dim() else mask
    if name == "all":
        kept = torch.where(mask, data.to(torch.bool), True)
        return _wrapped(kept.all(dims, keepdim=kwargs.get("keepdim", False)) if data.dim() else kept, there)
    result = getattr(torch.masked, name)(data, *before, dim, mask=mask, **kwargs)
    return _wrapped(result.to(data.dtype) if name.startswith("arg") else result, there)


def _moved(function, args, kwargs):
    parts = args[0] if type(args[0]) in (list, tuple) else args[:1]
    if not all(isinstance(x, MaskedTensor) for x in parts):
        raise TypeError(f"{function.__name__}: expected masked tensors only")
    data, mask = _plain(function, args, kwargs), function(*map(_masks, args), **kwargs)
    return tuple(map(_wrapped, data, mask)) if isinstance(data, (tuple, list)) else _wrapped(data, mask)


def _where(condition, a, b):
    if isinstance(condition, MaskedTensor):
        raise ValueError("where: expected a condition without a mask; use get_data()")
    masks = [x._mask if isinstance(x, MaskedTensor) else True for x in (a, b)]
    with torch.DisableTorchFunctionSubclass():
        data = torch.where(condition, _data(a), _data(b))
        return _wrapped(data, torch.where(condition, *masks).expand(data.shape))


def _softmax(self, dim, dtype=None, **_):
    data = _data(self).to(dtype or self.dtype).masked_fill(~self._mask, float("-inf"))
    return _wrapped(data.softmax(dim), self._mask)


def _copied(self, other, non_blocking=False):
    _data(self).copy_(_data(other), non_blocking)
    if isinstance(other, MaskedTensor):
        self._mask = other._mask.expand(self.shape).clone()
    return self


_OTHERS = {"where": _where, "softmax": _softmax, "copy_": _copied}


def masked_tensor(data, mask, requires_grad=False):
    """A masked tensor of copies of `data` and `mask`, a leaf. See `MaskedTensor`.

    >>> from cresset.masked import masked_tensor
    >>> x = masked_tensor(torch.tensor([4.0, -1.0]), torch.tensor([True, False]), requires_grad=True)
    >>> x.sqrt().sum().backward()
    >>> x.grad
    MaskedTensor(
      [  0.2500,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """`data` under a mask, with its memory and its history: gradients reach it where the mask is true.

    >>> from cresset.masked import as_masked_tensor
    >>> x = torch.tensor([3.0, 2.0], requires_grad=True)
    >>> as_masked_tensor(x, torch.tensor([True, False])).sum().backward()
    >>> x.grad
    tensor([1., 0.])
    """
    _check(data, mask)
    if data.requires_grad and torch.is_grad_enabled() and data.layout == torch.strided:
        data = torch.where(mask, data, data.detach())  # stops gradients that are NaN, too
    return _wrapped(data, mask)


def is_masked_tensor(obj, /):
    """Whether an object is a `MaskedTensor`.

    >>> from cresset.masked import is_masked_tensor, masked_tensor
    >>> is_masked_tensor(masked_tensor(torch.ones(1), torch.tensor([True]))), is_masked_tensor(torch.ones(1))
    (True, False)
    """
    return isinstance(obj, MaskedTensor)


def _indented(text):
    return "\n".join("  " + line for line in text.split("\n"))


def _text(data, mask, dims, form):
    if dims > 1:
        return "[\n" + ",\n".join(_indented(_text(d, m, dims - 1, form)) for d, m in zip(data, mask, strict=True)) + "\n]"
    shown = [form.format(d) if m else None for d, m in zip(data, mask, strict=True)]
    width = max((8 if text is None else len(text) for text in shown), default=0)
    return "[" + ", ".join("--".rjust(width) if text is None else text for text in shown) + "]"
