"""Demands on the dimensions of an input: static, dynamic, of a range."""

import math
from dataclasses import dataclass, field
from enum import Enum


class DimDynamic(Enum):
    """How a dimension is treated: a symbol of its own, one shared with equal sizes, a number, a symbol without a hint.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.DimDynamic.DYNAMIC
    <DimDynamic.DYNAMIC: 0>
    """

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    INFER_STRIDE = 4
    UNBACKED = 5


@dataclass(frozen=True)
class Constraint:
    """A demand that the program may not break.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.Constraint(warn_only=False)
    Constraint(warn_only=False)
    """

    warn_only: bool


@dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """The dimension is any of a range.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.StrictMinMaxConstraint(False, shapes.ValueRanges(2, 8)).render("x.size(0)")
    '2 <= x.size(0) <= 8'
    """

    vr: object

    def bounds(self):
        """The least and the largest size; None where there is no limit."""
        low, high = self.vr.lower, self.vr.upper
        return (None if low == -math.inf else low), (None if high == math.inf else high)

    def render(self, source):
        """The constraint in words."""
        return f"{self.vr.lower} <= {source_name(source)} <= {self.vr.upper}"


@dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """The dimension is no single number.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.RelaxedUnspecConstraint(False).render("x.size(0)")
    'x.size(0) is dynamic'
    """

    def render(self, source):
        """The constraint in words."""
        return f"{source_name(source)} is dynamic"


@dataclass(frozen=True)
class EqualityConstraint(Constraint):
    """Pairs of dimensions that are equal.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.EqualityConstraint(False, [("x.size(0)", "y.size(0)")]).is_equal("y.size(0)", "x.size(0)")
    True
    """

    source_pairs: list = field(default_factory=list)
    derived_equalities: list = field(default_factory=list)
    phantom_symbols: list = field(default_factory=list)
    relaxed_sources: set = field(default_factory=set)

    def is_equal(self, source1, source2):
        """Whether the two are stated to be equal."""
        return source_name(source1) == source_name(source2) or any(
            {source_name(source1), source_name(source2)} == {source_name(a), source_name(b)} for a, b in self.source_pairs)  # fmt: skip

    def is_derived(self, src, symbol_src, fn):
        """Whether `src` is stated to be that function of `symbol_src`."""
        return any(source_name(a) == source_name(src) and source_name(b) == source_name(symbol_src) for a, b, _ in self.derived_equalities)


DimConstraint = StrictMinMaxConstraint | RelaxedUnspecConstraint | None


class SymbolicContext:
    """How an input becomes symbolic.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> isinstance(shapes.SymIntSymbolicContext(None), shapes.SymbolicContext)
    True
    """


@dataclass
class StatelessSymbolicContext(SymbolicContext):
    """A `DimDynamic` and a constraint for each dimension.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> kinds = [shapes.DimDynamic.DYNAMIC, shapes.DimDynamic.STATIC]
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), symbolic_context=shapes.StatelessSymbolicContext(kinds))
    >>> [isinstance(size, torch.SymInt) for size in x.shape]
    [True, False]
    """

    dynamic_sizes: list
    dynamic_strides: list = None
    constraint_sizes: list = None
    constraint_strides: list = None
    specialize_on: list = None
    view_base_context: object = None
    shape_ids: dict = None
    unbacked_bounds: dict = None

    def __post_init__(self):
        n = len(self.dynamic_sizes)
        self.dynamic_strides = self.dynamic_strides or [DimDynamic.INFER_STRIDE] * n
        self.constraint_sizes = self.constraint_sizes or [None] * n
        self.constraint_strides = self.constraint_strides or [None] * n
        self.specialize_on = self.specialize_on or [[] for _ in range(n)]
        for kind in self.dynamic_sizes:
            if not isinstance(kind, DimDynamic):
                raise TypeError(f"SymbolicContext: expected a DimDynamic for each dimension, got {kind!r}")


@dataclass
class StatefulSymbolicContext(StatelessSymbolicContext):
    """The same, for several traces of one input: sizes keep the symbols that they had.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.StatefulSymbolicContext([shapes.DimDynamic.DYNAMIC], tensor_source="x").tensor_source
    'x'
    """

    tensor_source: object = field(kw_only=True, default=None)
    shape_env_to_source_to_symbol_cache: dict = field(kw_only=True, default_factory=dict)
    excluded_sizes: tuple = field(kw_only=True, default=None)

    def remembered(self, shape_env):
        """The symbols of earlier traces in this environment, by source."""
        return self.shape_env_to_source_to_symbol_cache.setdefault(id(shape_env), {})


@dataclass
class SubclassSymbolicContext(StatefulSymbolicContext):
    """The same, for subclasses that hold tensors.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.SubclassSymbolicContext([shapes.DimDynamic.STATIC], tensor_source="x").inner_contexts
    {}
    """

    inner_contexts: dict = field(default_factory=dict)
    track_outer_size_stride: bool = True


@dataclass
class SymIntSymbolicContext(SymbolicContext):
    """How an int that is an input becomes symbolic.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.SymIntSymbolicContext(None)
    SymIntSymbolicContext(constraint=None)
    """

    constraint: object


def source_name(source):
    """The text of a source: `L['x']`; sources are texts, or objects with a `name`."""
    if source is None or isinstance(source, str):
        return source or ""
    name = source.name
    return name() if callable(name) else name
