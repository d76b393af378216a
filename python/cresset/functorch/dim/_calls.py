"""Operators over tensors with first-class dimensions: each runs for every place of the dimensions of its arguments."""

import functools
import inspect

import cresset as _torch
from cresset.utils import _pytree

from ._dims import DimensionBindError, DimList, bind
from ._index import get_item, index, set_item
from ._values import Dim, Tensor, _Tensor, aligned, made, order, ordered, parts, place, place_of, union

_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_POINTWISE = {f"__{side}{name}__" for side in ("", "r") for name in _OPERATORS} | {
    f"__{n}__" for n in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert")
}
_PRODUCTS = {"mul", "multiply", "__mul__", "__rmul__"}


def _tensors_in(o):
    return [leaf for leaf in _pytree.tree_leaves(o, is_leaf=_is_leaf) if isinstance(leaf, (_Tensor, _torch.Tensor))]


def _is_leaf(o):
    return isinstance(o, (_Tensor, DimList))


@functools.lru_cache(None)
def _schemas(name):
    packet = getattr(_torch.ops.aten, name.removesuffix("_"), None)
    return [getattr(packet, overload)._schema for overload in packet.overloads()] if packet is not None else []


@functools.lru_cache(None)
def _is_pointwise(name):
    if name in _POINTWISE:
        return True
    packet = getattr(_torch.ops.aten, name.removesuffix("_"), None) if not name.startswith("_") else None
    forms = [getattr(packet, overload) for overload in packet.overloads() if not overload.endswith("out")] if packet is not None else []
    tensors = [form for form in forms if str(form._schema.arguments[0].type) == "Tensor"]
    return bool(tensors) and all(_torch.Tag.pointwise in form.tags for form in tensors)


@functools.lru_cache(None)
def _dim_places(function, name):
    """Where the function takes numbers of dimensions, pairs of position and name, and the position of `keepdim` or None."""
    if inspect.isfunction(function):
        names = [list(inspect.signature(function).parameters)]
    else:
        names = [[a.name for a in schema.arguments] for schema in _schemas(name)]
    found = {(row.index(word), word) for row in names for word in ("dim", "dims") if word in row}
    return sorted(found), next((row.index("keepdim") for row in names if "keepdim" in row), None)


def _holds_dim(o):
    return isinstance(o, Dim) or (isinstance(o, (tuple, list, DimList)) and any(isinstance(item, Dim) for item in o))


def _dim_argument(function, name, args, kwargs):
    """(key of the argument that names dimensions by Dim objects, position of `keepdim`), or None."""
    if not any(map(_holds_dim, args[1:])) and not any(map(_holds_dim, kwargs.values())):
        return None
    places, keeps = _dim_places(function, name)
    for position, word in places:
        for key, source in ((word, kwargs), (position, args)):
            if (key in source if source is kwargs else key < len(source)) and _holds_dim(source[key]):
                return key, keeps
    return None


def _batched(function, args, kwargs, levels, moved=()):
    """The call for each place of the dimensions `levels` (and with those of `moved` as the first positional ones): the structure of
    its results, and these with `levels` first."""
    leaves, spec = _pytree.tree_flatten((args, kwargs), is_leaf=_is_leaf)
    which = [at for at, leaf in enumerate(leaves) if isinstance(leaf, (_Tensor, _torch.Tensor))]
    inputs, axes = [], []
    for at in which:
        value, own = parts(leaves[at])
        inputs.append(ordered(value, own, [*levels, *moved]))
        axes.append([0 if place(own, level) >= 0 else None for level in levels])
    results = []

    def plain(*values):
        for at, value in zip(which, values, strict=True):
            leaves[at] = value
        call_args, call_kwargs = _pytree.tree_unflatten(leaves, spec)
        out, shape = _pytree.tree_flatten(function(*call_args, **call_kwargs))
        results[:] = out, shape
        return tuple(o for o in out if isinstance(o, _torch.Tensor))

    batched = plain
    for at in reversed(range(len(levels))):
        batched = _torch.vmap(batched, in_dims=tuple(axis[at] for axis in axes), randomness="different")
    tensors = iter(batched(*inputs))
    out, shape = results
    return shape, [next(tensors) if isinstance(o, _torch.Tensor) else o for o in out]


def _pointwise(function, name, args, kwargs):
    tensors = _tensors_in((args, kwargs))
    levels = union(parts(t)[1] for t in tensors)
    in_place = name.endswith("_") and not name.endswith("__")
    if in_place:
        _, own = parts(args[0])
        if len(own) < len(levels):
            raise DimensionBindError(f"{name}: an operand has dimensions {tuple(levels)}, the tensor that is written {tuple(own)}")
        levels = list(own)
    if name in _PRODUCTS and len(args) == 2 and not kwargs and all(isinstance(t, _Tensor) and t.ndim == 0 and t._tensor.is_floating_point() for t in args):
        factors = [(value.clone(), own) for value, own in map(parts, args)]  # the product is made later, of the values of now
        return Tensor(None, tuple(levels), tuple(factors))
    positional = max(t.ndim for t in tensors)

    def plain(o):
        return aligned(*parts(o), levels, positional) if isinstance(o, (_Tensor, _torch.Tensor)) and parts(o)[0].dim() + positional > 0 else o

    # Plain numbers of no dimensions stay so: they do not decide about types.
    def scalar_or_plain(o):
        return o if isinstance(o, _torch.Tensor) and o.dim() == 0 else plain(o)

    result = function(*[scalar_or_plain(a) for a in args], **{k: scalar_or_plain(v) for k, v in kwargs.items()})
    if in_place:
        return args[0]
    return _pytree.tree_map(lambda o: made(o, levels) if isinstance(o, _torch.Tensor) else o, result)


def _over_dims(function, args, kwargs, key, keeps):
    """A call that names dimensions to work along by Dim objects."""
    if keeps is not None and (kwargs.get("keepdim") or args[keeps : keeps + 1] == (True,)):
        raise ValueError(f"{function.__name__}: keepdim=True keeps no first-class dimension")
    given = args[key] if isinstance(key, int) else kwargs[key]
    along = [given] if isinstance(given, Dim) else [d for d in given if isinstance(d, Dim)]
    numbers = [place(along, d) if isinstance(d, Dim) else d if d < 0 else d + len(along) for d in ([given] if isinstance(given, Dim) else given)]
    number = numbers[0] if isinstance(given, Dim) else tuple(numbers)
    if isinstance(key, int):
        args = (*args[:key], number, *args[key + 1 :])
    else:
        kwargs = {**kwargs, key: number}
    tensors = _tensors_in((args, kwargs))
    levels = union(parts(t)[1] for t in tensors)
    for dim in along:
        if place(levels, dim) < 0:
            raise ValueError(f"{function.__name__}: no tensor has dimension {dim!r}, got {tuple(levels)}")
    rest = [level for level in levels if place(along, level) < 0]
    shape, out = _batched(function, args, kwargs, rest, along)
    if keeps is not None:
        return _pytree.tree_unflatten([made(o, rest) if isinstance(o, _torch.Tensor) else o for o in out], shape)
    before = max(t.ndim + sum(place(along, level) >= 0 for level in parts(t)[1]) for t in tensors)
    return _pytree.tree_unflatten([_bound_again(o, rest, along, before, function) if isinstance(o, _torch.Tensor) else o for o in out], shape)


def _bound_again(value, rest, along, before, function):
    """A result that still has the dimensions worked along has them as such."""
    if value.dim() - len(rest) != before:
        return made(value, rest)
    for at, dim in enumerate(along):
        if value.shape[len(rest) + at] != dim.size:
            raise DimensionBindError(f"{function.__name__}: the result has {value.shape[len(rest) + at]} places along {dim!r}, which has size {dim.size}")
    return made(value, [*rest, *along])


def _product_sum(product, dims):
    """The sum of a product along dimensions, as a matrix product where it is one."""
    letters = [chr(ord("a") + at) if at < 26 else chr(ord("A") + at - 26) for at in range(len(product._levels))]
    names = ["".join(letters[place(product._levels, level)] for level in levels) for _, levels in product._factors]
    left = [level for level in product._levels if place(dims, level) < 0]
    out = "".join(letters[place(product._levels, level)] for level in left)
    return made(_torch.einsum(f"{names[0]},{names[1]}->{out}", *(value for value, _ in product._factors)), left)


def _sums_product(name, args, kwargs, key):
    return name == "sum" and len(args) + len(kwargs) == 2 and isinstance(args[0], Tensor) and args[0]._value is None and args[0]._factors is not None


def _expanded(self, sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    value, levels = parts(self)
    new = [s for s in sizes if isinstance(s, Dim)]
    for dim in new:
        if place(levels, dim) >= 0:
            raise DimensionBindError(f"expand: the tensor has dimension {dim!r} already")
    plain = [s for s in sizes if not isinstance(s, Dim)]
    value = value.expand(*[d.size for d in new], *value.shape)
    if plain:
        value = _batched(_torch.Tensor.expand, (made(value, [*new, *levels]), *plain), {}, [*new, *levels])[1][0]
    return made(value, [*new, *levels])


def call(function, args, kwargs):
    """An operator's call with first-class dimensions among its arguments."""
    name = function.__name__
    special = _SPECIAL.get(name)
    if special is not None and special[0](args, kwargs):
        return special[1](*args, **kwargs)
    found = _dim_argument(function, name, args, kwargs)
    if found is not None:
        if _sums_product(name, args, kwargs, found[0]):
            given = args[1] if len(args) > 1 else kwargs["dim"]
            along = [given] if isinstance(given, Dim) else list(given)
            if all(isinstance(d, Dim) and place(args[0]._levels, d) >= 0 for d in along):
                return _product_sum(args[0], along)
        return _over_dims(function, args, kwargs, *found)
    if _is_pointwise(name):
        return _pointwise(function, name, args, kwargs)
    levels = union(parts(t)[1] for t in _tensors_in((args, kwargs)))
    shape, out = _batched(function, args, kwargs, levels)
    if name.endswith("_") and not name.endswith("__") or name in _IN_PLACE:
        return args[0]
    return _pytree.tree_unflatten([made(o, levels) if isinstance(o, _torch.Tensor) else o for o in out], shape)


def split(self, split_size_or_sections, dim=0):
    """Parts of a tensor along a dimension. Parts named by Dim objects get those dimensions, sizes that are not set share the rest.

    >>> from cresset.functorch.dim import dims, split
    >>> left, right = dims()
    >>> [part.dims for part in split(torch.ones(4), (left, right))], right.size
    ([(left,), (right,)], 2)
    """
    value, levels = parts(self)
    sections = split_size_or_sections
    named = _holds_dim(sections) and not isinstance(sections, Dim)
    if not named:
        if isinstance(dim, Dim):
            raise TypeError("split: along a first-class dimension the parts are dimensions too")
        return call(_torch.Tensor.split, (self, sections, dim), {})
    at = place_of(dim, levels, value.dim() - len(levels))
    left = value.shape[at] - sum(d._size or 0 for d in sections if d.is_bound)
    open_ = [d for d in sections if not d.is_bound]
    share = -(-left // len(open_)) if open_ else 0
    for d in open_:
        bind(d, max(min(share, left), 0))
        left -= d.size
    if left != 0:
        raise DimensionBindError(f"split: sizes {[d.size for d in sections]} do not sum to {value.shape[at]}")
    kept = [level for level in levels if level is not dim]
    pieces = (piece.movedim(at, len(kept)) for piece in value.split([d.size for d in sections], at))
    return tuple(Tensor(piece, (*kept, d)) for piece, d in zip(pieces, sections, strict=True))


def _joined(join, tensors, dim, new_dim):
    tensors = list(tensors)
    levels = [level for level in union(parts(t)[1] for t in tensors) if level is not dim]
    positional = max(parts(t)[0].dim() - len(parts(t)[1]) for t in tensors)
    values = []
    for t in tensors:
        value, own = parts(t)
        if isinstance(dim, Dim):
            if place(own, dim) < 0:
                raise ValueError(f"cat: a tensor does not have dimension {dim!r}, got {tuple(own)}")
            value, own = order(made(value, own), (dim,)), [level for level in own if level is not dim]
            value = value._tensor if isinstance(value, _Tensor) else value
        count = positional + isinstance(dim, Dim)
        values.append(aligned(value, own, levels, count).expand(*[level.size for level in levels], *value.shape[len(own) :]))
    at = len(levels) + (0 if isinstance(dim, Dim) else dim % max(positional + (join is _torch.stack), 1))
    result = join(values, at).movedim(at, len(levels))
    bind(new_dim, result.shape[len(levels)])
    return Tensor(result, (*levels, new_dim))


def cat(tensors, dim, new_dim):
    """Tensors one after another along a dimension; the result has `new_dim` for it.

    >>> from cresset.functorch.dim import cat, dims
    >>> i, both = dims()
    >>> cat([torch.ones(2)[i], torch.zeros(2)[i]], i, both).order(both)
    tensor([1., 1., 0., 0.])
    """
    return _joined(_torch.cat, tensors, dim, new_dim)


def stack(tensors, new_dim, dim=0):
    """Tensors along `new_dim`, which stands before the dimension `dim` in memory.

    >>> from cresset.functorch.dim import dims, stack
    >>> new = dims()
    >>> stack([torch.ones(2), torch.zeros(2)], new).order(new).shape
    torch.Size([2, 2])
    """
    return _joined(_torch.stack, tensors, 0 if isinstance(dim, Dim) else dim, new_dim)


def softmax(input, dim):
    """The softmax along a dimension, a number or a Dim.

    >>> from cresset.functorch.dim import dims, softmax
    >>> i = dims()
    >>> softmax(torch.zeros(2)[i], i).order(i)
    tensor([0.5000, 0.5000])
    """
    return _torch.softmax(input, dim)


def _any_dim(args, kwargs):
    return any(map(_holds_dim, args[1:])) or any(map(_holds_dim, kwargs.values()))


def _always(args, kwargs):
    return True


_SPECIAL = {"__getitem__": (_always, get_item), "__setitem__": (_always, set_item), "expand": (_any_dim, lambda self, *sizes: _expanded(self, sizes)), "split": (_any_dim, split)}  # fmt: skip
_IN_PLACE = {f"__i{name}__" for name in (*_OPERATORS, "matmul")}
_NOT_METHODS = {"__array__", "__array_wrap__", "__deepcopy__", "__dlpack__", "__dlpack_device__", "__format__", "__reduce_ex__", "__setstate__", "__torch_dispatch__",
                "__torch_function__", "as_subclass", "__new__", "__init__", "__init_subclass__", "__class_getitem__", "__del__"}  # fmt: skip


def _method(function, name):
    @functools.wraps(function)
    def method(self, *args, **kwargs):
        return call(function, (self, *args), kwargs)

    method.__name__ = name
    return method


def _property(descriptor, name):
    def read(o):
        return getattr(o, name)

    return property(lambda self: call(read, (self,), {}), doc=descriptor.__doc__)


def _fill():
    for name in dir(_torch.Tensor):
        attribute = getattr(_torch.Tensor, name)
        own = name in vars(_Tensor) or name in _NOT_METHODS or name == "__class__"
        if own or (attribute is getattr(object, name, None)) or (name.startswith("__") and not callable(attribute)):
            continue
        if callable(attribute) and not isinstance(attribute, type):
            setattr(_Tensor, name, _method(attribute, name))
        elif hasattr(attribute, "__get__"):
            setattr(_Tensor, name, _property(attribute, name))


def _torch_function(cls, function, types, args=(), kwargs=None):
    return call(function, args, kwargs or {})


_Tensor.__getitem__, _Tensor.__setitem__, _Tensor.index = get_item, set_item, index
_Tensor.__torch_function__ = DimList.__torch_function__ = classmethod(_torch_function)
_fill()
