"""Which sizes of a program's arguments may change: `Dim`, and collections of them.

>>> from torch.export import Dim
>>> batch = Dim("batch", max=64)
>>> batch
Dim('batch', min=0, max=64)
>>> 2 * batch + 1
2*batch + 1
"""

import cresset as torch

from ..utils import _pytree as pytree

__all__ = ["AdditionalInputs", "Constraint", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]


class _DimHint:
    """Kind of a size without a name: AUTO (decided by the program), DYNAMIC (any), STATIC (the example's); with bounds."""

    def __init__(self, kind, min=None, max=None):
        self.type, self.min, self.max = kind, min, max

    def __call__(self, min=None, max=None):
        for name, bound in (("min", min), ("max", max)):
            if bound is not None and (not isinstance(bound, int) or bound < 0):
                raise AssertionError(f"{self}: expected {name} to be an int of at least 0, got {bound!r}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"{self}: expected min of at most max, got min={min}, max={max}")
        return _DimHint(self.type, min, max)

    def __eq__(self, other):
        return isinstance(other, _DimHint) and (self.type, self.min, self.max) == (other.type, other.min, other.max)

    def __hash__(self):
        return hash((self.type, self.min, self.max))

    def __repr__(self):
        bounds = "".join(f", {name}={bound}" for name, bound in (("min", self.min), ("max", self.max)) if bound is not None)
        return f"DimHint({self.type}{bounds})"


class Dim:
    """A size that may change, by its name; sizes of the same Dim are equal. `Dim.AUTO`, `Dim.DYNAMIC` and `Dim.STATIC` are sizes without a name.

    Args:
        name: an identifier.
        min, max: bounds, included.

    Errors: AssertionError for a name that is none and for bounds that contradict each other.

    >>> batch = torch.export.Dim("batch", max=64)
    >>> program = torch.export.export(nn.ReLU(), (torch.ones(4, 2),), dynamic_shapes=({0: batch},))
    >>> program.module()(torch.ones(9, 2)).shape
    torch.Size([9, 2])
    """

    AUTO, DYNAMIC, STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")
    root, factor, offset = None, 1, 0

    def __init__(self, name, *, min=None, max=None):
        if not name.isidentifier():
            raise AssertionError(f"Dim: expected a name that is an identifier, got {name}")
        low, high = 0 if min is None else min, _NO_BOUND if max is None else max
        if not low <= high:
            raise AssertionError(f"Dim: expected min of at most max, got min={min}, max={max}")
        self.__name__, self.min, self.max = name, low, high

    def __add__(self, other):
        return self._derived(other, "add", "an integer", lambda n: (1, n))

    __radd__ = __add__

    def __sub__(self, other):
        return self._derived(other, "subtract", "an integer", lambda n: (1, -n))

    def __rsub__(self, other):
        raise NotImplementedError(f"Dim: cannot negate {self.__name__}: only increasing linear functions with integers describe a size")

    def __mul__(self, other):
        return self._derived(other, "multiply", "a positive integer", lambda n: (n, 0), positive=True)

    __rmul__ = __mul__

    def _derived(self, other, verb, wanted, step, positive=False):
        if type(other) is not int or (positive and other <= 0):
            raise NotImplementedError(f"Dim: cannot {verb} {other} and {self.__name__}: expected {wanted}; only increasing linear functions describe a size")
        factor, offset = step(other)
        return _DerivedDim(self.root or self, self.factor * factor, self.offset * factor + offset)

    def __repr__(self):
        bounds = "" if self.min == 2 else f", min={self.min}"  # as PyTorch prints it
        return f"Dim('{self.__name__}'{bounds}{f', max={self.max}' if self.max is not _NO_BOUND else ''})"


class _NoBound(int):
    def __repr__(self):
        return "int_oo"

    __str__ = __repr__


_NO_BOUND = _NoBound(2**63 - 1)


class _DerivedDim(Dim):
    """An increasing linear function of a Dim."""

    def __init__(self, root, factor, offset):
        self.root, self.factor, self.offset = root, factor, offset
        head = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = head + (f" + {offset}" if offset > 0 else f" - {-offset}" if offset < 0 else "")

    def __repr__(self):
        return self.__name__

    def fn(self, size):
        """The size where the root has a size."""
        return self.factor * size + self.offset

    @property
    def min(self):
        """The least value."""
        return self.fn(self.root.min)

    @property
    def max(self):
        """The largest value."""
        return _NO_BOUND if self.root.max is _NO_BOUND else self.fn(self.root.max)


Constraint = Dim | _DimHint


def dims(*names, min=None, max=None):
    """Several Dims with the same bounds.

    >>> torch.export.dims("a", "b", min=3)
    (Dim('a', min=3), Dim('b', min=3))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Sizes by tensor rather than by place: assign to tensors of the example arguments, then give the collection as `dynamic_shapes`.

    >>> x = torch.ones(4, 3)
    >>> shapes = torch.export.ShapesCollection()
    >>> shapes[x] = {0: torch.export.Dim.DYNAMIC}
    >>> shapes.dynamic_shapes(nn.ReLU(), (x,))
    {'input': {0: DimHint(DYNAMIC)}}
    """

    def __init__(self):
        self._shapes, self._kept = {}, []

    def __setitem__(self, tensor, shape):
        known = self._shapes.setdefault(id(tensor), {})
        for dim, size in (enumerate(shape) if isinstance(shape, (list, tuple)) else shape.items()) if isinstance(tensor, torch.Tensor) else [("self", shape)]:
            if dim in known and known[dim] != size:
                raise AssertionError(f"ShapesCollection: the size of dimension {dim} is {known[dim]} already, got {size}")
            known[dim] = size
        self._kept.append(tensor)

    def __getitem__(self, tensor):
        return self._shapes.setdefault(id(tensor), {})

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """The sizes by place, for a module and its arguments. Errors: ValueError for a tensor that is none of them."""
        found = set()

        def shape_of(leaf):
            if id(leaf) not in self._shapes:
                return None
            found.add(id(leaf))
            shape = self._shapes[id(leaf)]
            return shape.get("self", shape) if shape else None

        shapes = pytree.tree_map(shape_of, combined(m, args, kwargs))
        if missing := set(self._shapes) - found:
            raise ValueError(f"ShapesCollection: {len(missing)} of its tensors are no arguments of the program")
        return shapes


class AdditionalInputs:
    """Further example arguments: sizes in which they differ from the others are dynamic.

    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(5, 3),))
    >>> more.dynamic_shapes(nn.ReLU(), (torch.ones(4, 3),))
    {'input': (DimHint(DYNAMIC), None)}
    """

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """Adds arguments. Errors: AssertionError for args that are no tuple."""
        if type(args) is not tuple or (kwargs is not None and type(kwargs) is not dict):
            raise AssertionError(f"AdditionalInputs.add: expected a tuple and a dict, got {type(args).__name__} and {type(kwargs).__name__}")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """The sizes by place. Errors: ValueError for examples that are nested otherwise."""
        trees = [combined(m, a, k) for a, k in [(args, kwargs), *self._examples]]
        flat = [pytree.tree_flatten(tree) for tree in trees]
        if any(spec != flat[0][1] for _, spec in flat):
            raise ValueError("AdditionalInputs: expected examples that are nested alike")
        return pytree.tree_unflatten([_differing(values) for values in zip(*[leaves for leaves, _ in flat], strict=True)], flat[0][1])

    def verify(self, ep):
        """Calls the program with each of the arguments. Errors: RuntimeError where the program was not exported for them."""
        module = ep.module()
        for args, kwargs in self._examples:
            try:
                module(*args, **(kwargs or {}))
            except AssertionError as error:
                raise RuntimeError(f"AdditionalInputs.verify: the program does not take an example: {error}") from error


def _differing(values):
    if not isinstance(values[0], torch.Tensor):
        return None if all(v == values[0] for v in values) else Dim.DYNAMIC
    if len({v.dim() for v in values}) > 1:
        raise ValueError(f"AdditionalInputs: expected tensors of as many dimensions, got {[tuple(v.shape) for v in values]}")
    return tuple(None if len(set(sizes)) == 1 else Dim.DYNAMIC for sizes in zip(*[v.shape for v in values], strict=True))


def combined(module, args, kwargs=None):
    """The arguments of a module by the names of its parameters."""
    import inspect

    forward = module.forward if isinstance(module, torch.nn.Module) else module
    return dict(inspect.signature(forward).bind(*args, **(kwargs or {})).arguments)


def refine_dynamic_shapes_from_suggested_fixes(msg, dynamic_shapes):
    """Shapes changed as the message of a failed export suggests.

    Args:
        msg: the message, with lines such as ``b = 4`` or ``b = 2*_b`` behind "Suggested fixes:".
        dynamic_shapes: those that were given.

    >>> b = torch.export.Dim("b")
    >>> refine = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes
    >>> refine("Suggested fixes:\\n  b = 4", {"x": {0: b}})
    {'x': {0: 4}}
    """
    fixes = _fixes(msg)

    def fixed(leaf):
        if not isinstance(leaf, Dim) or (leaf.__name__ not in fixes and getattr(leaf.root, "__name__", None) not in fixes):
            return leaf
        if leaf.__name__ in fixes:
            return fixes[leaf.__name__]
        root = fixes[leaf.root.__name__]
        return leaf.fn(root) if isinstance(root, int) else leaf.factor * root + leaf.offset

    return pytree.tree_map(fixed, dynamic_shapes, is_leaf=lambda v: isinstance(v, (Dim, _DimHint)))


def _fixes(message):
    import re

    found, roots = {}, {}
    for name, value in re.findall(r"^\s*(\w+) = (.+?)\s*$", message.partition("Suggested fixes:")[2], re.MULTILINE):
        made = re.fullmatch(r"Dim\(['\"](\w+)['\"](?:, min=(\d+))?(?:, max=(\d+|oo))?\)", value)
        linear = re.fullmatch(r"(?:(\d+)\*)?(\w+)(?: ([+-]) (\d+))?", value)
        if value.lstrip("-").isdigit():
            found[name] = int(value)
        elif made:
            found[name] = roots[name] = Dim(made[1], min=made[2] and int(made[2]), max=int(made[3]) if (made[3] or "oo") != "oo" else None)
        elif linear:
            factor, root, sign, offset = linear.groups()
            base = roots.setdefault(root, Dim(root))
            found[name] = base * int(factor or 1) + int((sign or "") + (offset or "0")) if factor or offset else base
    return found
