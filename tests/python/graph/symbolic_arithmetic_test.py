"""Random programs over symbolic numbers, against the same programs over the numbers of Python at other sizes."""

import math
import operator
import random

import pytest
from cresset._subclasses.fake_tensor import FakeTensorMode
from cresset.fx.experimental import symbolic_shapes as shapes

import cresset as torch

TWO = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, torch.sym_max, torch.sym_min]
ONE = [operator.neg, abs, lambda a: a * a, lambda a: a + 1, lambda a: 2 * a]
FLOATS = [operator.truediv, lambda a, b: torch.sym_float(a) * b, lambda a, b: math.floor(a / b) if b else b, lambda a, b: math.ceil(torch.sym_float(a) / 2)]
CONDITIONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


class Plan:
    """A program: each step takes values of earlier ones. Run on numbers or on symbols, it gives its values."""

    def __init__(self, seed, conditions=0):
        chance = random.Random(seed)
        self.steps = []
        for i in range(chance.randint(2, 7)):
            known = 4 + i
            if chance.random() < 0.7:
                self.steps.append((chance.choice(TWO), chance.randrange(known), chance.randrange(known)))
            else:
                self.steps.append((chance.choice(ONE), chance.randrange(known)))
        self.floating = (chance.choice(FLOATS), chance.randrange(4), chance.randrange(known))
        self.conditions = [(chance.choice(CONDITIONS), chance.randrange(known), chance.randrange(known)) for _ in range(conditions)]

    def values(self, a, b):
        values = [a, b, 3, 2]
        for function, *places in self.steps:
            values.append(function(*(values[i] for i in places)))
        return values

    def run(self, a, b):
        """The integers, a float or integer beyond them, and the truth values."""
        values = self.values(a, b)
        function, *places = self.floating
        return values, function(*(values[i] for i in places)), [bool(c(values[i], values[j])) for c, i, j in self.conditions]


def symbols(a, b):
    mode = FakeTensorMode(shape_env=shapes.ShapeEnv())
    x = mode.from_tensor(torch.empty(a, b, device="meta"))
    return mode.shape_env, x.shape


def at(value, point):
    """A value of the program where the sizes are these."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.expr.evaluate(point)
    return value


def points(chance, count):
    return [(chance.randint(2, 60), chance.randint(2, 60)) for _ in range(count)]


def example_of(chance):
    """Two sizes that differ: equal ones would be one symbol."""
    return tuple(chance.sample(range(2, 61), 2))


@pytest.mark.parametrize("seed", range(60))
def test_expressions_have_the_values_of_python_at_all_sizes(seed):
    chance = random.Random(1000 + seed)
    compared = 0
    for number in range(20):
        plan = Plan(seed * 100 + number)
        example = example_of(chance)
        env, sizes = symbols(*example)
        try:
            found, real, _ = plan.run(*sizes)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                plan.run(*example)
            continue
        for a, b in [example, *points(chance, 12)]:
            point = {"s0": a, "s1": b}
            if not all(g.expr.evaluate(point) for g in env.guards):
                continue
            try:
                wanted, wanted_real, _ = plan.run(a, b)
            except ZeroDivisionError:
                continue
            for value, expected in zip(found, wanted, strict=True):
                assert at(value, point) == expected, (value, point)
                compared += 1
            assert at(real, point) == pytest.approx(wanted_real, rel=1e-12), (real, point)
    assert compared > 300


@pytest.mark.parametrize("seed", range(40))
def test_sizes_that_keep_the_guards_take_the_same_way(seed):
    chance = random.Random(2000 + seed)
    kept = 0
    for number in range(25):
        plan = Plan(seed * 100 + number, conditions=3)
        example = example_of(chance)
        try:
            expected = plan.run(*example)[2]
        except ZeroDivisionError:
            continue
        env, sizes = symbols(*example)
        assert plan.run(*sizes)[2] == expected
        assert all(g.expr.evaluate({"s0": example[0], "s1": example[1]}) for g in env.guards)
        for a, b in points(chance, 40):
            if not all(g.expr.evaluate({"s0": a, "s1": b}) for g in env.guards):
                continue
            try:
                way = plan.run(a, b)[2]
            except ZeroDivisionError:
                continue
            assert way == expected, ([str(g.expr) for g in env.guards], (a, b))
            kept += 1
    assert kept > 100


def test_conditions_without_a_question_are_expressions():
    _, (s, t) = symbols(4, 6)
    for condition in CONDITIONS:
        for a in range(2, 9):
            for b in range(2, 9):
                assert condition(2 * s, t + 2).node.expr.evaluate({"s0": a, "s1": b}) is condition(2 * a, b + 2)
    assert torch.sym_not(s == t).node.expr.evaluate({"s0": 3, "s1": 3}) is False
    chosen = torch.sym_ite(s > t, s, t)
    assert [chosen.node.expr.evaluate({"s0": a, "s1": b}) for a, b in ((5, 3), (3, 5))] == [5, 5]


def test_functions_of_floats_are_those_of_math():
    _, (s, _) = symbols(4, 6)
    for name in ("sqrt", "cos", "sin", "tan", "cosh", "sinh", "tanh", "atan", "log2"):
        value = getattr(torch, f"_sym_{name}")(torch.sym_float(s) / 7)
        for a in range(2, 12):
            assert at(value, {"s0": a}) == pytest.approx(getattr(math, name)(a / 7), rel=1e-14), name
    for name in ("asin", "acos"):
        value = getattr(torch, f"_sym_{name}")(torch.sym_float(s) / 100)
        assert at(value, {"s0": 9}) == pytest.approx(getattr(math, name)(0.09), rel=1e-14), name


def test_divisors_that_are_zero_in_the_example():
    env, (s, t) = symbols(4, 6)
    divisions = {operator.floordiv: "integer division or modulo by zero", operator.mod: "integer modulo by zero", operator.truediv: "division by zero"}
    for divide, message in divisions.items():
        for left, right, told in (
            (s, 0, "0"),
            (s, s - 4, r"s0 - 4 is in the example"),
            (s, t - 6, r"s1 - 6 is in the example"),
            (7, s - 4, r"s0 - 4 is in the example"),
        ):
            with pytest.raises(ZeroDivisionError, match=f"{message}, which {told}"):
                divide(left, right)
    assert not env.guards


def test_numbers_of_numpy_have_extremes():
    np = pytest.importorskip("numpy")
    s = symbols(4, 6)[1][0]
    for got, expected in (
        (torch.sym_max(np.int64(10), 12), 12),
        (torch.sym_max(np.int64(14), 12.5), 14.0),
        (torch.sym_min(np.float32(3), 2), 2.0),
        (torch.sym_min(s, np.int64(3)), 3),
    ):
        assert got == expected
        assert isinstance(got, torch.SymInt) or type(got) is type(expected)
    with pytest.raises(AssertionError, match="expected a number"):
        torch.sym_max(np.ones(1), 1)
