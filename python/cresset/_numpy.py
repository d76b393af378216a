"""NumPy by tensors: what NumPy's functions do, as operators on tensors. Compiled functions run these where arrays are made of tensors or come as arguments.

>>> import numpy as np
>>> from cresset._numpy import Array, call
>>> call(np.sin, (Array(torch.zeros(2)),), {}).tensor
tensor([0., 0.])
"""

import functools
import operator

import numpy as np

import cresset as torch
from cresset import Tensor

_DTYPES = {
    np.dtype(name): getattr(torch, name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class Unsupported(NotImplementedError):
    """NumPy has it, tensors do not."""


def takes(value):
    """Whether an array of NumPy's can be a tensor over the same memory."""
    kinds = type(value) is np.ndarray and value.dtype in _DTYPES and value.dtype.isnative and value.flags.writeable
    return kinds and all(stride >= 0 and stride % value.itemsize == 0 for stride in value.strides)


def shared(value):
    """An array of NumPy's as a tensor over the same memory. Errors: TypeError for one that cannot be."""
    if not takes(value):
        raise TypeError(f"expected an array of numbers that can be written, without negative strides, got {type(value).__name__}")
    return torch.from_numpy(value)


class Array:
    """An array, or with `scalar` a number of NumPy's, whose values are those of `tensor`."""

    __slots__ = ("scalar", "tensor")
    __array_ufunc__ = None  # operators with NumPy's arrays and numbers are ours
    __hash__ = None

    def __init__(self, tensor, scalar=False):
        self.tensor, self.scalar = tensor.detach() if tensor.requires_grad and not torch.is_grad_enabled() else tensor, scalar

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.dim())
    size = property(lambda self: self.tensor.numel())
    dtype = property(lambda self: _NAMES[self.tensor.dtype])
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    T = property(lambda self: self.transpose())
    real = property(lambda self: call(np.real, (self,), {}))
    imag = property(lambda self: call(np.imag, (self,), {}))
    flat = property(lambda self: iter(self.ravel()))

    def __len__(self):
        if self.tensor.dim() == 0:
            raise TypeError("len() of unsized object")
        return self.tensor.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.tensor)

    def __int__(self):
        return int(self.tensor)

    def __float__(self):
        return float(self.tensor)

    def __complex__(self):
        return complex(self.tensor)

    def __index__(self):
        return operator.index(self.tensor)

    def __getitem__(self, key):
        found = _item(self.tensor, key)
        keys = key if isinstance(key, tuple) else (key,)
        return Array(found, found.dim() == 0 and not any(one is Ellipsis for one in keys))

    def __setitem__(self, key, value):
        self.tensor[_key(key)] = _tensor(value, self.tensor.dtype)

    def __array__(self, *args, **kwargs):
        return self.tensor.numpy()

    def item(self, *args):
        """The number at a place, or the only one."""
        return (self.tensor if not args else self[args[0] if len(args) == 1 else args].tensor).item()

    def tolist(self):
        """All numbers, in lists."""
        return self.tensor.tolist()

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """A copy of another dtype."""
        made = _cast(self.tensor, _dtype(dtype))
        return Array(made.clone() if made is self.tensor and copy else made, self.scalar)

    def copy(self, order="C"):
        """A copy."""
        return Array(self.tensor.clone(), self.scalar)

    def fill(self, value):
        """Sets all elements."""
        self.tensor.fill_(_tensor(value, self.tensor.dtype))

    def reshape(self, *shape, order="C"):
        """The elements in another shape."""
        return call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), {} if order == "C" else {"order": order})

    def transpose(self, *axes):
        """The axes in another order."""
        return call(np.transpose, (self, (axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes) or None), {})

    def flatten(self, order="C"):
        """A copy in one dimension."""
        return Array(self.ravel(order).tensor.clone())

    def view(self, dtype):
        """The bytes as numbers of another dtype."""
        return Array(self.tensor.view(_dtype(dtype)))


def _forwarded(function):
    def method(self, *args, **kwargs):
        return call(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As `numpy.{function.__name__}`."
    return method


for _name in ("sum prod mean std var max min any all argmax argmin cumsum cumprod ravel squeeze swapaxes clip dot repeat take diagonal trace round nonzero argsort conj "
              "searchsorted ptp").split():  # fmt: skip
    if hasattr(np, _name):
        setattr(Array, _name, _forwarded(getattr(np, _name)))

_OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power,
              "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}  # fmt: skip
_COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


def _binary(function, swapped=False):
    def method(self, other):
        if isinstance(other, Tensor):
            return NotImplemented
        return call(function, (other, self) if swapped else (self, other), {})

    return method


def _inplace(function):
    def method(self, other):
        made = call(function, (self, other), {})
        if self.scalar:
            return made
        if not np.can_cast(made.dtype, self.dtype, "same_kind"):
            raise TypeError(f"Cannot cast ufunc '{function.__name__}' output from {made.dtype!r} to {self.dtype!r} with casting rule 'same_kind'")
        self.tensor.copy_(made.tensor)
        return self

    return method


for _name, _function in _OPERATORS.items():
    setattr(Array, f"__{_name}__", _binary(_function))
    setattr(Array, f"__r{_name}__", _binary(_function, True))
    setattr(Array, f"__i{_name}__", _inplace(_function))
for _name, _function in _COMPARISONS.items():
    setattr(Array, f"__{_name}__", _binary(_function))
for _name, _function in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Array, f"__{_name}__", _forwarded(_function))


# ---- values -----------------------------------------------------------------------------------------------------------------


def _dtype(dtype):
    found = _DTYPES.get(np.dtype(dtype))
    if found is None:
        raise Unsupported(f"arrays of {np.dtype(dtype)}")
    return found


def _cast(tensor, dtype):
    if tensor.is_complex() and not dtype.is_complex:
        tensor = tensor.real
    return tensor.to(dtype)


def _tensor(value, dtype=None):
    """A value as a tensor, of `dtype` where it is given."""
    if isinstance(value, Array):
        return value.tensor if dtype is None else _cast(value.tensor, dtype)
    if isinstance(value, Tensor):
        return value if dtype is None else _cast(value, dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(leaf, (Array, Tensor)) for leaf in value):
        parts = [_tensor(leaf) for leaf in value]
        wide = _dtype(np.result_type(*(_example(leaf) for leaf in value))) if dtype is None else dtype
        return torch.stack([_cast(part, wide) for part in parts])
    known = np.asarray(value)
    return torch.tensor(known.tolist(), dtype=_dtype(known.dtype) if dtype is None else dtype).reshape(known.shape)


def _example(value):
    """A small value of the same kind, on which NumPy tells what it makes of such."""
    if isinstance(value, Array):
        return value.dtype.type(1) if value.scalar else np.ones((1,) * value.ndim, value.dtype)
    if isinstance(value, Tensor):
        return np.ones((1,) * value.dim(), _NAMES[value.dtype])
    if type(value) is np.ndarray:
        return np.ones((1,) * value.ndim, value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_example, value))
    return value


def _result(function, *args, **kwargs):
    """The dtype of what a function of NumPy's gives for such arguments."""
    with np.errstate(all="ignore"):
        return _dtype(np.asarray(function(*map(_example, args), **kwargs)).dtype)


def _key(key):
    if isinstance(key, tuple):
        return tuple(map(_key, key))
    if isinstance(key, Array):
        return key.tensor
    if type(key) is np.ndarray:
        return _tensor(key)
    return [_key(one) for one in key] if isinstance(key, list) else key


def _item(tensor, key):
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(one, slice) and one.step is not None and one.step < 0 for one in keys):
        return tensor[_key(key)]
    if not all(isinstance(one, (slice, int)) for one in keys):
        raise Unsupported("a negative step beside other indices than numbers and slices")
    flipped, plain = [], []
    for d, one in enumerate(keys):
        if isinstance(one, slice) and one.step is not None and one.step < 0:
            size = tensor.shape[d]
            start, stop, step = one.indices(size)
            flipped.append(d)
            one = slice(size - 1 - start, size - 1 - stop, -step)
        plain.append(one)
    return tensor.flip(flipped)[tuple(plain)]


def _made(tensor):
    """The result of a computation: a number of NumPy's where it has no dimensions."""
    return Array(tensor, tensor.dim() == 0)


def _axes(axis, tensor):
    return tuple(range(tensor.dim())) if axis is None else axis if isinstance(axis, tuple) else (axis,)


# ---- the table --------------------------------------------------------------------------------------------------------------

_TABLE = {}


def call(function, args, kwargs):
    """`function(*args, **kwargs)` of NumPy's, for arguments some of which are `Array` or tensors. Errors: Unsupported where tensors lack it."""
    found = _TABLE.get(function)
    if found is None:
        raise Unsupported(f"numpy.{getattr(function, '__name__', function)}")
    if kwargs.get("out") is not None or kwargs.get("where", True) is not True or kwargs.get("order", "C") not in ("C", "K", None):
        raise Unsupported(f"numpy.{function.__name__} with {', '.join(kwargs)}")
    kwargs = {
        name: value for name, value in kwargs.items() if name not in ("out", "where", "order", "subok", "casting") and not (name == "dtype" and value is None)
    }
    return found(*args, **kwargs)


def knows(function):
    """Whether a function of NumPy's is among those that tensors do."""
    try:
        return function in _TABLE
    except TypeError:
        return False


def _is(*names):
    """A decorator: the function does what those of these names in NumPy do."""

    def register(function):
        for name in names:
            owner = np
            for part in name.split("."):
                owner = getattr(owner, part, None)
            if owner is not None:
                _TABLE[owner] = function
        return function

    return register


def _unary(name, function):
    known = getattr(np, name)

    def run(x, dtype=None):
        wide = _result(known, x) if dtype is None else _dtype(dtype)
        given = _tensor(x)
        return _made(_cast(function(given if wide == torch.bool or (given.is_complex() and not wide.is_complex) else _cast(given, wide)), wide))

    _TABLE[known] = run


for _name, _function in {
    **{name: getattr(torch, name) for name in "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt square floor ceil trunc reciprocal isnan isinf isfinite "
       "logical_not negative positive absolute deg2rad rad2deg signbit".split()},
    "arcsin": torch.asin, "arccos": torch.acos, "arctan": torch.atan, "arcsinh": torch.asinh, "arccosh": torch.acosh, "arctanh": torch.atanh, "rint": torch.round,
    "fabs": torch.abs, "invert": torch.bitwise_not, "conjugate": lambda x: x.conj().resolve_conj(), "degrees": torch.rad2deg, "radians": torch.deg2rad,
    "sign": lambda x: torch.where(x.isnan(), x, x.sign()) if x.is_floating_point() else x.sign(), "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
}.items():  # fmt: skip
    _unary(_name, _function)


def _pair(name, function, common=False):
    known = getattr(np, name)

    def run(a, b, dtype=None):
        wide = _result(known, a, b) if dtype is None else _dtype(dtype)
        inner = _result(np.add, a, b) if common else wide
        return _made(function(_tensor(a, inner), _tensor(b, inner)).to(wide))

    _TABLE[known] = run


def _power(a, b):
    return a**b


def _divided(function):
    """A division that gives 0 where integers are divided by 0, as NumPy's do."""

    def run(a, b):
        if a.is_floating_point():
            return function(a, b)
        return torch.where(b == 0, 0, function(a, torch.where(b == 0, 1, b)))

    return run


for _name, _function in {
    **{name: getattr(torch, name) for name in "add multiply true_divide maximum minimum fmax fmin hypot logaddexp logaddexp2 copysign nextafter heaviside "
       "bitwise_and bitwise_or bitwise_xor gcd lcm".split()},
    **{name: _divided(getattr(torch, name)) for name in ("floor_divide", "remainder", "fmod")}, "subtract": torch.sub, "power": _power, "float_power": _power, "arctan2": torch.atan2, "left_shift": torch.bitwise_left_shift, "right_shift": torch.bitwise_right_shift,
}.items():  # fmt: skip
    _pair(_name, _function)
for _name in "less less_equal greater greater_equal not_equal logical_and logical_or logical_xor".split():
    _pair(_name, getattr(torch, _name), common=True)
_pair("equal", torch.eq, common=True)


def _reduction(name, function):
    """A function of a tensor, dimensions and whether they stay."""
    known = getattr(np, name)

    def run(a, axis=None, dtype=None, *, keepdims=False, **others):
        given = _tensor(a)
        told = {} if dtype is None else {"dtype": dtype}
        wide = _result(known, a, axis=axis, **told)
        inner = given if wide == torch.bool or (given.is_complex() and not wide.is_complex) else _cast(given, wide)
        return _made(
            function(inner, _axes(axis, inner), keepdims, **others).to(wide) if inner.dim() else function(inner.reshape(1), (0,), False, **others).to(wide)
        )

    _TABLE[known] = run


def _product(x, axes, keep):
    for d in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.prod(d, keepdim=keep)
    return x


def _spread(how):
    return lambda x, axes, keep, ddof=0, correction=None, mean=None: getattr(torch, how)(
        x, axes, correction=ddof if correction is None else correction, keepdim=keep
    )


for _names, _function in {
    "sum": lambda x, axes, keep: x.sum(axes, keepdim=keep), "prod": _product, "mean": lambda x, axes, keep: x.mean(axes, keepdim=keep),
    "max amax": lambda x, axes, keep: x.amax(axes, keepdim=keep), "min amin": lambda x, axes, keep: x.amin(axes, keepdim=keep),
    "any": lambda x, axes, keep: (x != 0).any(axes, keepdim=keep), "all": lambda x, axes, keep: (x != 0).all(axes, keepdim=keep),
    "std": _spread("std"), "var": _spread("var"), "ptp": lambda x, axes, keep: x.amax(axes, keepdim=keep) - x.amin(axes, keepdim=keep),
    "nansum": lambda x, axes, keep: x.nansum(axes, keepdim=keep), "nanmean": lambda x, axes, keep: x.nanmean(axes, keepdim=keep),
}.items():  # fmt: skip
    for _name in _names.split():
        _reduction(_name, _function)


@_is("count_nonzero")
def _count_nonzero(a, axis=None, *, keepdims=False):
    given = _tensor(a)
    return _made((given != 0).sum(_axes(axis, given), keepdim=keepdims))


def _along(name):
    def run(a, axis=None, *, keepdims=False):
        given = _tensor(a)
        given = given.to(torch.uint8) if given.dtype == torch.bool else given
        return _made(
            getattr(torch, name)(given, axis, keepdims) if axis is not None or not keepdims else getattr(torch, name)(given).reshape((1,) * given.dim())
        )

    _TABLE[getattr(np, name)] = run


def _running(name):
    def run(a, axis=None, dtype=None):
        told = {} if dtype is None else {"dtype": dtype}
        given = _cast(_tensor(a), _result(getattr(np, name), a, axis=axis, **told))
        flat = axis is None or given.dim() == 0
        return Array(getattr(torch, name)(given.reshape(-1) if flat else given, 0 if flat else axis))

    _TABLE[getattr(np, name)] = run


_along("argmax"), _along("argmin"), _running("cumsum"), _running("cumprod")


@_is("median")
def _median(a, axis=None, *, keepdims=False):
    given = _cast(_tensor(a), _result(np.median, a, axis=axis))
    return _made(torch.quantile(given, 0.5, axis, keepdim=keepdims, interpolation="midpoint"))


# ---- shapes -----------------------------------------------------------------------------------------------------------------


@_is("reshape")
def _reshape(a, shape=None, newshape=None):
    shape = newshape if shape is None else shape
    return Array(_tensor(a).reshape(shape if isinstance(shape, (tuple, list)) else (shape,)))


@_is("transpose", "permute_dims")
def _transpose(a, axes=None):
    given = _tensor(a)
    return Array(given.permute(tuple(axes) if axes is not None else tuple(range(given.dim()))[::-1]))


@_is("squeeze")
def _squeeze(a, axis=None):
    given = _tensor(a)
    return Array(given.squeeze() if axis is None else given.squeeze(_axes(axis, given)))


@_is("concatenate", "concat")
def _concatenate(arrays, axis=0, dtype=None):
    wide = _dtype(np.result_type(*map(_example, arrays)) if dtype is None else dtype)
    parts = [_tensor(part, wide) for part in arrays]
    return Array(torch.cat([part.reshape(-1) for part in parts] if axis is None else parts, 0 if axis is None else axis))


def _joined(function):
    def run(arrays, *args, **kwargs):
        wide = _dtype(np.result_type(*map(_example, arrays)))
        return Array(function([_tensor(part, wide) for part in arrays], *args, **kwargs))

    return run


for _name, _function in {"stack": lambda parts, axis=0: torch.stack(parts, axis), "vstack": torch.vstack, "hstack": torch.hstack, "dstack": torch.dstack,
                         "column_stack": torch.column_stack}.items():  # fmt: skip
    _TABLE[getattr(np, _name)] = _joined(_function)


def _shaped(name, function):
    """A function that moves elements and keeps their dtype."""
    if hasattr(np, name):
        _TABLE[getattr(np, name)] = lambda a, *args, **kwargs: Array(function(_tensor(a), *args, **kwargs))


def _repeat(x, repeats, axis=None):
    repeats = repeats if isinstance(repeats, int) else _tensor(repeats)
    return x.reshape(-1).repeat_interleave(repeats) if axis is None else x.repeat_interleave(repeats, axis)


def _roll(x, shift, axis=None):
    return torch.roll(x, shift, axis) if axis is not None else torch.roll(x.reshape(-1), shift, 0).reshape(x.shape)


def _take(x, indices, axis=None, mode="raise"):
    indices = _tensor(indices)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.dim())
    return x.index_select(axis, indices.reshape(-1)).reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _pad(x, pad_width, mode="constant", constant_values=0):
    if mode != "constant" or not isinstance(constant_values, (int, float)):
        raise Unsupported(f"numpy.pad with mode {mode!r}")
    widths = np.broadcast_to(np.asarray(pad_width), (x.dim(), 2)).tolist()
    return torch.nn.functional.pad(x, [n for pair in reversed(widths) for n in pair], value=constant_values)


def _diff(x, n=1, axis=-1):
    return torch.diff(x, n, axis)


for _name, _function in {
    "ravel": lambda x: x.reshape(-1), "swapaxes": lambda x, axis1, axis2: x.transpose(axis1, axis2), "moveaxis": lambda x, source, destination: x.movedim(source, destination),
    "expand_dims": lambda x, axis: functools.reduce(lambda y, d: y.unsqueeze(d), sorted(axis) if isinstance(axis, tuple) else (axis,), x),
    "broadcast_to": lambda x, shape: x.broadcast_to(shape if isinstance(shape, tuple) else (shape,)), "flip": lambda x, axis=None: x.flip(_axes(axis, x)),
    "fliplr": lambda x: x.flip(1), "flipud": lambda x: x.flip(0), "roll": _roll, "tile": lambda x, reps: x.tile(reps if isinstance(reps, tuple) else (reps,)),
    "repeat": _repeat, "take": _take, "diag": lambda v, k=0: torch.diag(v, k), "diagonal": lambda x, offset=0, axis1=0, axis2=1: x.diagonal(offset, axis1, axis2),
    "tril": lambda m, k=0: torch.tril(m, k), "triu": lambda m, k=0: torch.triu(m, k), "rot90": lambda m, k=1, axes=(0, 1): torch.rot90(m, k, axes),
    "sort": lambda x, axis=-1, kind=None: x.reshape(-1).sort().values if axis is None else x.sort(axis).values,
    "argsort": lambda x, axis=-1, kind=None: x.reshape(-1).argsort(stable=True) if axis is None else x.argsort(axis, stable=True),
    "pad": _pad, "diff": _diff, "atleast_1d": torch.atleast_1d, "atleast_2d": torch.atleast_2d, "atleast_3d": torch.atleast_3d,
    "copy": torch.clone, "unique": lambda x: torch.unique(x.reshape(-1)), "flatnonzero": lambda x: x.reshape(-1).nonzero().reshape(-1),
    "argwhere": lambda x: x.nonzero(), "ascontiguousarray": lambda x: x.contiguous(), "real": lambda x: x.real if x.is_complex() else x,
    "imag": lambda x: x.imag if x.is_complex() else torch.zeros_like(x), "take_along_axis": lambda x, indices, axis=-1: x.take_along_dim(_tensor(indices), axis),
}.items():  # fmt: skip
    _shaped(_name, _function)


@_is("split", "array_split")
def _split(a, indices_or_sections, axis=0):
    where = indices_or_sections
    return [Array(part) for part in torch.tensor_split(_tensor(a), where if isinstance(where, int) else tuple(where), axis)]


@_is("nonzero")
def _nonzero(a):
    return tuple(Array(part) for part in _tensor(a).nonzero(as_tuple=True))


@_is("meshgrid")
def _meshgrid(*arrays, indexing="xy", sparse=False, copy=True):
    if sparse:
        raise Unsupported("numpy.meshgrid with sparse=True")
    made = [Array(part) for part in torch.meshgrid(*map(_tensor, arrays), indexing=indexing)]
    return made if np.lib.NumpyVersion(np.__version__) < "2.0.0" else tuple(made)


@_is("trace")
def _trace(a, offset=0, axis1=0, axis2=1):
    return call(np.sum, (Array(_tensor(a).diagonal(offset, axis1, axis2)),), {"axis": -1})


@_is("shape")
def _shape(a):
    return tuple(_tensor(a).shape)


@_is("ndim")
def _ndim(a):
    return _tensor(a).dim()


@_is("size")
def _size(a, axis=None):
    return _tensor(a).numel() if axis is None else _tensor(a).shape[axis]


# ---- new arrays -------------------------------------------------------------------------------------------------------------


@_is("array", "asarray", "asanyarray")
def _array(a, dtype=None, *, copy=None, ndmin=0, like=None):
    given = _tensor(a)
    made = given if dtype is None else _cast(given, _dtype(dtype))
    made = made.clone() if copy and isinstance(a, Array) and made is given else made
    return Array(made.reshape((1,) * (ndmin - made.dim()) + tuple(made.shape)) if made.dim() < ndmin else made)


def _like(name):
    function = getattr(torch, name)

    def run(a, *args, dtype=None, shape=None):
        given = _tensor(a)
        shape = given.shape if shape is None else shape
        return Array(
            function(
                shape,
                *[arg if isinstance(arg, (int, float, bool, complex)) else arg.tensor.item() for arg in args],
                dtype=given.dtype if dtype is None else _dtype(dtype),
            )
        )

    return run


for _name in ("zeros", "ones", "empty", "full"):
    _TABLE[getattr(np, f"{_name}_like")] = _like(_name)


@_is("where")
def _where(condition, *choices):
    if not choices:
        return _nonzero(condition)
    wide = _result(np.where, True, *choices)
    return Array(torch.where(_tensor(condition).to(torch.bool), *(_tensor(choice, wide) for choice in choices)))


@_is("clip")
def _clip(a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    wide = _result(np.clip, a, low, high)
    bounds = [bound if bound is None else _tensor(bound, wide) for bound in (low, high)]
    return _made(torch.clamp(_tensor(a, wide), *bounds))


@_is("round", "around")
def _round(a, decimals=0):
    given = _tensor(a)
    return _made(torch.round(given, decimals=decimals) if given.is_floating_point() else given.clone())


@_is("angle")
def _angle(z):
    return _made(torch.angle(_tensor(z)))


@_is("isclose")
def _isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    wide = _result(np.add, a, b)
    return _made(torch.isclose(_tensor(a, wide), _tensor(b, wide), rtol, atol, equal_nan))


@_is("nan_to_num")
def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return _made(torch.nan_to_num(_tensor(x), nan, posinf, neginf))


@_is("searchsorted")
def _searchsorted(a, v, side="left"):
    return _made(torch.searchsorted(_tensor(a), _tensor(v), side=side))


# ---- products ---------------------------------------------------------------------------------------------------------------


def _multiplied(name, function):
    known = getattr(np, name)

    def run(a, b, *args, **kwargs):
        wide = _dtype(np.result_type(_example(a), _example(b)))
        inner = torch.int32 if wide == torch.bool else wide  # of which there are products
        return _made(_cast(function(_tensor(a, inner), _tensor(b, inner), *args, **kwargs), wide))

    _TABLE[known] = run


def _dot(a, b):
    if a.dim() == 0 or b.dim() == 0:
        return a * b
    return a @ b if b.dim() < 3 else torch.tensordot(a, b, ([-1], [-2]))


for _name, _function in {
    "matmul": torch.matmul, "dot": _dot, "inner": torch.inner, "outer": lambda a, b: torch.outer(a.reshape(-1), b.reshape(-1)), "kron": torch.kron,
    "vdot": lambda a, b: torch.vdot(a.reshape(-1), b.reshape(-1)), "cross": lambda a, b, axis=-1: torch.linalg.cross(a, b, dim=axis),
    "tensordot": lambda a, b, axes=2: torch.tensordot(a, b, axes),
}.items():  # fmt: skip
    _multiplied(_name, _function)


@_is("einsum")
def _einsum(subscripts, *operands, optimize=False):
    wide = _dtype(np.result_type(*map(_example, operands)))
    inner = torch.int32 if wide == torch.bool else wide
    return _made(_cast(torch.einsum(subscripts, *(_tensor(one, inner) for one in operands)), wide))


def _float(value):
    given = _tensor(value)
    return given if given.is_floating_point() or given.is_complex() else given.to(torch.float64)


@_is("linalg.norm")
def _norm(x, ord=None, axis=None, keepdims=False):
    return _made(torch.linalg.norm(_float(x), ord, axis, keepdims))


for _name in "inv det cholesky pinv matrix_power solve eigvalsh".split():
    _TABLE[getattr(np.linalg, _name)] = functools.partial(
        lambda function, a, *args: _made(function(_float(a), *(_float(b) if isinstance(b, (Array, np.ndarray)) else b for b in args))),
        getattr(torch.linalg, _name),
    )

for _name in "fft ifft rfft irfft fft2 ifft2 fftn ifftn rfftn irfftn".split():
    _TABLE[getattr(np.fft, _name)] = functools.partial(
        lambda function, a, n=None, axis=None, norm=None: Array(
            function(_wide(a), n, *(() if axis is None else (axis,)), **({} if norm is None else {"norm": norm}))
        ),
        getattr(torch.fft, _name),
    )


def _wide(value):
    """As NumPy's transforms compute: in double precision."""
    given = _tensor(value)
    return given.to(torch.complex128 if given.is_complex() else torch.float64)
