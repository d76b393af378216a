"""Sizes and integers that differ from call to call: symbols of a capture, the conditions that it relies on, and where their numbers are found."""

import math

import _cresset_graph
from _cresset import Tensor

import cresset as torch

from ...fx.experimental import symbolic_shapes
from ...fx.experimental._guards import _outer, code, relied_on
from ...fx.experimental._proxy_symbols import _FUNCTIONS
from .. import config
from .signals import Break

SIZE, STRIDE, OFFSET, NUMBER = range(4)
_Dim = symbolic_shapes.DimDynamic


def is_symbol(value):
    """Whether a value is a symbolic number."""
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


class Shapes:
    """The symbols of one frame. It outlives captures that start again, with what they have learnt; `begin` forgets only where numbers are found."""

    def __init__(self, scalars, dynamic_outputs, equal_sizes_share=True):
        self.env = symbolic_shapes.ShapeEnv(
            allow_scalar_outputs=scalars,
            allow_dynamic_output_shape_ops=dynamic_outputs,
            assume_static_by_default=True,
            specialize_zero_one=True,
            duck_shape=equal_sizes_share,
        )
        self._contexts, self._integers = {}, {}
        self.begin()

    def begin(self):
        """Starts a capture."""
        self.bound = {}  # name of a symbol -> (place, what, dimension)
        self.inputs = []  # (place, fake tensor or symbol)
        self.strict = []  # (name of the place, dimension, size) that the program has marked

    # ---- inputs -----------------------------------------------------------------------------------------------------------

    def context(self, name, tensor, open_sizes, strict):
        """How a tensor becomes symbolic: with symbols for these dimensions. Errors: ConstraintViolationError for a size out of the range that is marked."""
        known = self._contexts.get(name)
        if known is None:
            limits = [None] * tensor.dim()
            for marked in getattr(tensor, "_dynamo_dynamic_range", ()):
                size, low, high = tensor.shape[marked.dim], marked.min, marked.max
                low, high = -math.inf if low is None else low, math.inf if high is None else high
                if not low <= size <= high:
                    raise symbolic_shapes.ConstraintViolationError(
                        f"torch.compile: dimension {marked.dim} of {name} is marked dynamic from {marked.min} to {marked.max}, and its size is {size}"
                    )
                limits[marked.dim] = symbolic_shapes.StrictMinMaxConstraint(False, symbolic_shapes.ValueRanges(low, high))
            unbacked = getattr(tensor, "_dynamo_unbacked_indices", ())
            of_open = lambda d: _Dim.UNBACKED if d in unbacked else _Dim.DYNAMIC if d in strict else _Dim.DUCK  # noqa: E731
            kinds = [of_open(d) if d in open_sizes else _Dim.STATIC for d in range(tensor.dim())]
            known = self._contexts[name] = symbolic_shapes.StatefulSymbolicContext(kinds, constraint_sizes=limits, tensor_source=name)
        return known

    def saw_tensor(self, fake, place):
        """Notes where the symbols of a tensor are found."""
        self.inputs.append((place, fake))
        for what, numbers in ((SIZE, fake.size()), (STRIDE, fake.stride()), (OFFSET, (fake.storage_offset(),))):
            for d, number in enumerate(numbers):
                if isinstance(number, torch.SymInt) and number.node.expr.is_symbol:
                    self.bound.setdefault(str(number.node.expr), (place, what, d))

    def tensor_of_size(self, value):
        """The input, a fake tensor, one of whose sizes a symbol is; None where there is none."""
        place, what, _ = self.bound.get(str(value.node.expr), (None, None, None))
        return next((v for p, v in self.inputs if p == place), None) if what == SIZE else None

    @staticmethod
    def specialized(tensor, fake):
        """Dimensions for whose size the program wants a graph of its own, by a condition of `mark_dynamic`; the graph relies on how each of these comes out."""
        chosen = set()
        for d, conditions in getattr(tensor, "_specialize_on", {}).items():
            for condition in conditions:
                if condition(fake.size(d)):
                    chosen.add(d)
                    break
        return chosen

    def integer(self, value, place, name):
        """A symbol for an integer."""
        known = self._integers.get(name)
        if known is None:
            known = self._integers[name] = self.env.create_unspecified_symint_and_symbol(value, name)
        if is_symbol(known) and known.node.expr.is_symbol:
            self.bound.setdefault(str(known.node.expr), (place, NUMBER, 0))
        self.inputs.append((place, known))
        return known

    # ---- guards -----------------------------------------------------------------------------------------------------------

    def add_guards(self, world):
        """Adds the conditions of the capture to its guards. Errors: ConstraintViolationError for a marked dimension that the program makes one size."""
        for name, tensor, d, size in self.strict:
            if isinstance(tensor.size()[d], int) and not config.allow_ignore_mark_dynamic:
                raise symbolic_shapes.ConstraintViolationError(
                    f"torch.compile: dimension {d} of {name} is marked dynamic, and the program makes it {size}. Use maybe_mark_dynamic, or change what needs that size"
                )
        for place, value in self.inputs:
            if isinstance(value, Tensor):
                for what, numbers in ((SIZE, value.size()), (STRIDE, value.stride()), (OFFSET, (value.storage_offset(),))):
                    for d, number in enumerate(numbers):
                        self._must_equal(world, (place, what, d), number, what)
            else:
                self._must_equal(world, (place, NUMBER, 0), value, NUMBER)
        for known in relied_on(self.env):
            if set(known.symbols) <= set(self.bound):
                self._condition(world, known.tree())
        for name, _, low, high, replaced, _ in self.env._env.symbols:
            if name not in self.bound or replaced is not None:
                continue
            if isinstance(low, int) and low > 0:
                self._condition(world, ("ge", name, low))
            if isinstance(high, int) and high < 2**62:
                self._condition(world, ("le", name, high))

    def _must_equal(self, world, where, number, what):
        tree = number.node.expr.tree() if is_symbol(number) else number
        if isinstance(tree, str) and self.bound.get(tree) == where:
            return
        if what == OFFSET and not is_symbol(number):
            return
        self._hold(world, ("eq", ("$", *where), self._placed(tree)), f"{self._text_of(world, where)} == {_outer(code(tree, self._names(world)))}")

    def _condition(self, world, tree):
        self._hold(world, self._placed(tree), _outer(code(tree, self._names(world))))

    @staticmethod
    def _hold(world, condition, text):
        try:
            world.guards.formula(condition, text)
        except ValueError:
            raise Break("a condition on sizes that guards cannot hold") from None

    def _placed(self, tree):
        if isinstance(tree, str):
            if tree not in self.bound:
                raise Break(f"a condition on {tree}, which only the data tells")
            return ("$", *self.bound[tree])
        if not isinstance(tree, tuple):
            return tree
        if tree[0] == "pow" and isinstance(tree[2], int) and 1 < tree[2] < 64:
            return ("mul", *[self._placed(tree[1])] * tree[2])
        return (tree[0], *map(self._placed, tree[1:]))

    def _names(self, world):
        return {name: self._text_of(world, where) for name, where in self.bound.items()}

    @staticmethod
    def _text_of(world, where):
        place, what, d = where
        name = world.name_of(place)
        return name if what == NUMBER else f"{name}.{('size', 'stride', 'storage_offset')[what]}({d if what != OFFSET else ''})"

    # ---- numbers when code runs -------------------------------------------------------------------------------------------

    def expression(self, value, source, constant):
        """Python text of a symbolic number; `source(place)` gives the text of what is at a place."""
        expr = value.node.expr
        names = {}
        for name in expr.symbols:
            if name not in self.bound:
                return None
            place, what, d = self.bound[name]
            where = source(place)
            names[name] = where if what == NUMBER else f"{where}.{('size', 'stride', 'storage_offset')[what]}({d if what != OFFSET else ''})"
        return _outer(code(expr.tree(), names)).replace("math.", f"{constant(__import__('math'))}.")

    def node(self, tracer, value):
        """The node of a symbolic number."""
        return self._node(tracer, value.node.expr.tree())

    def _node(self, tracer, tree):
        if not isinstance(tree, (str, tuple)):
            return tree
        expr = str(_cresset_graph.expr_from_tree(tree))
        known = tracer.symbols.get(expr)
        if known is not None:
            return known
        if isinstance(tree, str):
            made = self._asked(tracer, tree)
        else:
            function = _FUNCTIONS.get(tree[0]) or getattr(torch, f"_sym_{tree[0]}")
            parts = tuple([self._node(tracer, part) for part in tree[1:]])
            made = tracer.graph.call_function(function, parts)
        made.meta["example_value"] = made.meta["val"] = self.env.wrap(_cresset_graph.expr_from_tree(tree))
        tracer.symbols[expr] = made
        return made

    def _asked(self, tracer, name):
        aten = torch.ops.aten
        if name not in self.bound:
            return self._of_result(tracer, name)
        place, what, d = self.bound[name]
        value = next(v for p, v in self.inputs if p == place)
        if what == NUMBER:
            return tracer.number_input(value, place)
        target, args = ((aten.sym_size.int, (d,)), (aten.sym_stride.int, (d,)), (aten.sym_storage_offset.default, ()))[what]
        return tracer.graph.call_function(target, (tracer.node_of(value), *args))

    def _of_result(self, tracer, name):
        """A size that an operator has made, as `nonzero` does."""
        for tensor, node in list(tracer.nodes.values()):
            if isinstance(tensor, Tensor) and tensor.layout is torch.strided:
                for d, number in enumerate(tensor.size()):
                    if isinstance(number, torch.SymInt) and str(number.node.expr) == name:
                        return tracer.graph.call_function(torch.ops.aten.sym_size.int, (node, d))
        raise Break(f"the number {name}, which only the data tells, is not in the graph")
