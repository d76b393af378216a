"""The language as programs for PyTorch use it: numbers, texts, conditions, arguments from Python, functions of several signatures."""

import cmath
import contextlib
import inspect
import io
import math
import os
from collections import OrderedDict
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import pytest

import cresset as torch
from cresset import nn

inf, nan = math.inf, math.nan


def again(compiled):
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


def same(a, b):
    return a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


@torch.jit.script
def quotients(a: float, b: float, n: int) -> List[float]:
    return [a / b, a // b, a % b, n / 0, a / 0, n / b, n // b, a % 0]


@torch.jit.script
def roots(x: float, n: int) -> List[float]:
    return [math.log(x), math.sqrt(x), math.log(n), math.log1p(x), math.acos(x)]


@torch.jit.script
def floor_of_ints(a: int, b: int) -> int:
    return a // b


@torch.jit.script
def both_parts(a: float, b: float) -> Tuple[float, float]:
    return divmod(a, b)


@torch.jit.script
def power(a: float, b: float) -> float:
    return math.pow(a, b) + a**b


def test_floats_divide_by_zero_as_the_machine_does():
    for got, expected in zip(quotients(3.0, 0.0, -3), [inf, inf, nan, -inf, inf, -inf, -inf, nan], strict=True):
        assert same(got, expected)
    assert all(math.isnan(v) for v in roots(-2.0, -2))
    assert roots(0.0, 0)[0] == -inf
    for refused in (lambda: floor_of_ints(1, 0), lambda: both_parts(1.0, 0.0)):
        with pytest.raises(RuntimeError, match="division by zero"):
            refused()
    with pytest.raises(RuntimeError, match="0.0 cannot be raised to a negative power"):
        power(0.0, -1.0)
    assert power(0.0, 0.0) == 2.0


@torch.jit.script
def functions(x: float, z: complex) -> Tuple[Tuple[float, float], Tuple[float, int], float, float, float, float, bool, bool, bool]:
    return (
        math.modf(x),
        math.frexp(x),
        math.ldexp(x, 3),
        math.log(x, 2),
        math.log(8, 2.0),
        math.remainder(x, 1.5),
        cmath.isnan(z),
        cmath.isinf(z),
        cmath.isfinite(z),
    )


def test_functions_of_math_are_those_of_python():
    z = complex(inf, 1)
    for program in (functions, again(functions)):
        x = 2.25
        assert program(x, z) == (
            math.modf(x),
            math.frexp(x),
            math.ldexp(x, 3),
            math.log(x, 2),
            3.0,
            math.remainder(x, 1.5),
            False,
            True,
            False,
        )
    assert math.ldexp(1.0, 3) == 8 and functions(1e300, z)[2] == 8e300
    assert functions(2.25, z)[5] == -0.75  # of the nearest quotient, not of the floor


@torch.jit.script
def texts(x: float) -> List[str]:
    return [str(x), f"{x}", "{}".format(x), "%s" % x, str([x])]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2."),
        (-0.0, "-0."),
        (0.1, "0.10000000000000001"),
        (123456.789, "123456.789"),
        (1e16, "10000000000000000."),
        (1e20, "1e+20"),
        (inf, "inf"),
        (2.5, "2.5"),
    ],
)
def test_texts_of_floats_have_all_their_digits(value, text):
    assert texts(value) == [text, text, text, text, f"[{text}]"]


@torch.jit.script
def truths(a: List[int], b: Dict[str, int], c: str) -> List[bool]:
    out = [bool(a), not b, True if c else False]
    if a and c:
        out.append(True)
    while a:
        a.pop()
    return out


def test_lists_dicts_and_strings_are_true_unless_they_are_empty():
    for program in (truths, again(truths)):
        assert program([1, 2], {"a": 1}, "x") == [True, False, True, True]
        assert program([], {}, "") == [False, True, False]


def test_letters_that_print():
    @torch.jit.script
    def printable(s: str) -> bool:
        return s.isprintable()

    assert [printable(s) for s in ("a b", "", "a\n")] == [True, True, False]


@torch.jit.script
def told(flag: bool, z: complex, pair: Tuple[int, float]) -> Tuple[bool, complex, Tuple[int, float]]:
    return flag, z, pair


@torch.jit.script
def either(x: Union[bool, int, complex]) -> str:
    if isinstance(x, bool):
        return "bool"
    elif isinstance(x, int):
        return "int"
    else:
        return "complex"


@torch.jit.script
def passed(x: torch.Tensor, y: Optional[torch.Tensor] = None) -> torch.Tensor:
    return x


def test_arguments_take_what_stands_for_their_type():
    assert told(1, 2, [3, 4]) == (True, 2 + 0j, (3, 4.0))
    assert told(0, 2.5, (3, 4.5)) == (False, 2.5 + 0j, (3, 4.5))
    assert [either(x) for x in (True, 1, 1j)] == ["bool", "int", "complex"]
    assert passed(None) is None
    for arguments in ((True, "a", (1, 2.0)), (True, 1j, [1]), ("a", 1j, (1, 2.0)), (torch.ones(2), 1j, (1, 2.0))):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            told(*arguments)


def sums(x, dims: List[int] = (-2, -1), kept: Optional[List[int]] = (0,), scales: List[float] = (1, 2.5), pairs: List[Tuple[int, int]] = ((1, 2),)):
    return x.sum(dims), x.sum(kept), [s * 2 for s in scales], pairs[0][1]


def test_defaults_become_what_their_annotations_say():
    compiled = torch.jit.script(sums)
    total, kept, scales, second = compiled(torch.ones(2, 3))
    assert (total.item(), kept.tolist(), scales, second) == (6, [2, 2, 2], [2.0, 5.0], 2)
    assert all(isinstance(s, float) for s in scales)
    assert "int[] dims=[-2, -1], int[]? kept=[0], float[] scales=[1., 2.5]" in str(compiled.schema)
    assert compiled(torch.ones(2, 3), (0,))[0].tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match=r"the default of 'names' is not of type List\[str\]"):
        torch.jit.script(first_name)


def first_name(x, names: List[str] = (1,)):
    return names[0]


class Static(nn.Module):
    @staticmethod
    def scaled(x: torch.Tensor, by: int = 2):
        return x * by

    def forward(self, x: torch.Tensor):
        return self.scaled(x) + self.scaled(x, by=3) + self.scaled(x, 5)


def test_static_methods_of_modules_take_no_module():
    compiled = torch.jit.script(Static())
    for program in (compiled, again(compiled)):
        assert program(torch.ones(1)).item() == 10
    assert compiled.scaled(torch.ones(1), 4).item() == 4


@torch.jit._overload  # noqa: F811
def doubled(x: int) -> int: ...  # noqa: F811
@torch.jit._overload
def doubled(x: str, times: int = 2) -> str: ...  # noqa: F811
def doubled(x, times=2):  # noqa: F811
    return x * 2


@torch.jit.script
def several() -> Tuple[int, str]:
    return doubled(3), doubled("ab")


def test_functions_have_the_signatures_that_stand_above_them():
    for program in (several, again(several)):
        assert program() == (6, "abab")


@torch.jit.script
def checked(x: torch.Tensor, n: int) -> torch.Tensor:
    torch._assert(x.sum() > 0, "a sum above zero")
    torch._assert(n > 0, "a number above zero")
    return torch.tensordot(x, x, 1) + torch.tensordot(x, x, dims=([0], [0]))


def test_asserted_conditions_may_be_tensors():
    assert checked(torch.ones(2), 1).item() == 4
    with pytest.raises(torch.jit.Error, match="a sum above zero"):
        checked(torch.zeros(2), 1)
    with pytest.raises(torch.jit.Error, match="a number above zero"):
        checked(torch.ones(2), 0)


def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@torch.jit.script
def forked(x: torch.Tensor, y: Optional[int]) -> torch.Tensor:
    return torch.jit._wait(torch.jit._fork(half, x)) + torch.jit._unwrap_optional(y)


def test_names_of_older_programs():
    assert forked(torch.ones(1), 3).item() == 3.5
    with pytest.raises(RuntimeError):
        forked(torch.ones(1), None)
    assert torch.jit._wait(torch.jit._fork(half, torch.ones(1))).item() == 0.5
    assert torch.jit._unwrap_optional(3) == 3


@torch.jit.script
def typed(n: int, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    return torch.zeros(n, dtype=dtype)


def test_an_optional_dtype_of_an_archive_is_the_int_that_it_is_there():
    for program in (typed, again(typed)):
        assert program(1, None).dtype == torch.float32
        assert program(1, torch.int32).dtype == torch.int32


@torch.jit.script
def renamed(x: torch.Tensor) -> List[torch.Tensor]:
    y = x.clone()
    y.multiply_(2)
    return [
        y,
        x.multiply(2),
        torch.divide(x, 2, rounding_mode="floor"),
        x.clip(0, 1),
        torch.concatenate([x, x]),
        x.swapaxes(0, 1),
        x.absolute(),
        torch.special.expit(x),
        torch.special.erf(x),
        torch.linalg.matrix_power(x, 2),
        x.H,
        x.mH,
        torch.vander(x[0]),
        torch.arctan2(x, x),
        x.greater_equal(0),
    ]


@torch.jit.script
def facts(x: torch.Tensor) -> Tuple[bool, bool, bool, bool, int, bool, bool]:
    return x.is_signed(), x.is_conj(), x.is_neg(), x.is_inference(), x.get_device(), x.is_same_size(x), x.is_nested


def test_operators_are_known_by_their_aliases():
    x = torch.arange(-2.0, 2.0).reshape(2, 2)
    expected = [
        x * 2, x * 2, (x / 2).floor(), x.clamp(0, 1), torch.cat([x, x]), x.t(), x.abs(), x.sigmoid(), x.erf(), x @ x, x.t(), x.t(),
        torch.vander(x[0]), torch.atan2(x, x), x >= 0,
    ]  # fmt: skip
    for program in (renamed, again(renamed)):
        for got, wanted in zip(program(x), expected, strict=True):
            assert torch.allclose(got.to(torch.float32), wanted.to(torch.float32))
    assert facts(x) == (True, False, False, False, -1, True, False)
    z = torch.tensor([[1 + 2j]])
    assert torch.jit.script(_adjoint)(z).equal(z.t().conj())


def _adjoint(x: torch.Tensor):
    return x.H


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x: int):\n  return x" + " + x" * 20000 + "\n", "at most 1000 operations upon each other"),
        ("def f(x: int):\n  return x" + " < x" * 20000 + "\n", "at most 1000 operations upon each other"),
        ("def f(x: bool):\n  return x" + " and x" * 20000 + "\n", "at most 1000 operations upon each other"),
        ("def f(x: Tensor):\n  return x" + "[0]" * 20000 + "\n", "at most 1000 operations upon each other"),
        ("def f(x: Tensor):\n  return x" + ".relu()" * 20000 + "\n", "at most 1000 operations upon each other"),
        ("def f(x: int):\n  return " + ("(" + "x + " * 900) * 40 + "x" + ")" * 40 + "\n", "at most 1000 operations upon each other|at most 200 expressions"),
        ("def f(x: int):\n  if x == 0:\n    return 1\n" + "  elif x == 1:\n    return 2\n" * 20000 + "  return x\n", "at most 1000 branches of one condition"),
    ],
    ids=["sum", "comparisons", "conditions", "indices", "calls", "sums of sums", "branches"],
)
def test_trees_that_would_overflow_the_stack_are_refused(text, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.CompilationUnit(text)


def test_long_sums_and_conditions_compile():
    unit = torch.jit.CompilationUnit("def f(x: int) -> int:\n  return x" + " + x" * 900 + "\n")
    assert unit.f(2) == 1802


@torch.jit.script
def padded(width: int, x: float) -> Tuple[str, str, str]:
    return "%0999d" % width, "%.600f" % x, "%12.3f|" % x


@torch.jit.script
def wide(x: int) -> str:
    return "%1000000000d" % x


@torch.jit.script
def span(lo: int, hi: int) -> int:
    return len(range(lo, hi))


def test_widths_of_formats_are_whole_and_bounded():
    digits, places, plain = padded(7, 3.0)
    assert digits == "%0999d" % 7 and places == "%.600f" % 3.0 and plain == "%12.3f|" % 3.0
    with pytest.raises(RuntimeError, match="a width and a precision of at most 100000, got 1000000000"):
        wide(3)


def test_lengths_of_ranges_fit_an_int():
    assert span(-(1 << 62), (1 << 62) - 1) == (1 << 63) - 1
    with pytest.raises(RuntimeError, match="expected a length that an int can hold"):
        span(-(1 << 62), 1 << 62)


class Noted:
    def __init__(self, notes: List[str]):
        self.notes = notes

    def __enter__(self) -> int:
        self.notes.append("enter")
        return 4

    def __exit__(self, kind, value, trace):
        # type: (Optional[int], Optional[int], Optional[int]) -> None
        self.notes.append("exit")


@torch.jit.script
def next_of_either(x: Union[int, str]) -> Union[str, int]:
    if isinstance(x, int):
        return x + 1
    return x + "s"


@torch.jit.script
def leaves_from_with(x: int) -> int:
    with torch.no_grad():
        if x > 3:
            return x
    return 0


@torch.jit.script
def leaves_after_assert(x: int):
    if x == 3:
        assert False, "three"
    elif x == 5:
        return 8
    return x


def test_values_of_several_types_are_returned_from_both_branches():
    assert [next_of_either(1), next_of_either("a"), next_of_either(2)] == [2, "as", 3]
    assert again(next_of_either)(1) == 2


def test_a_return_in_one_branch_of_a_block_gives_its_value():
    assert [leaves_from_with(1), leaves_from_with(5)] == [0, 5]
    assert [leaves_after_assert(5), leaves_after_assert(4)] == [8, 4]


def test_with_of_a_class_is_left_by_return():
    noted = torch.jit.script(Noted)

    @torch.jit.script
    def f(notes: List[str], x: int) -> int:
        with noted(notes) as a:
            if x > 3:
                return a + x
        return 0

    @torch.jit.script
    def both(x: int):
        notes: List[str] = []
        return f(notes, x), notes

    assert both(5) == (9, ["enter", "exit"])
    assert both(1) == (0, ["enter", "exit"])


class Count:
    def __init__(self, x: int):
        self.x = x

    def rise(self) -> int:
        self.x += 1
        return self.x


def test_lists_and_dicts_are_shared_with_compiled_functions():
    values, table = torch.jit.script([1, 2]), torch.jit.script({"a": 1})

    @torch.jit.script
    def change(values: List[int], table: Dict[str, int]):
        values.append(5)
        table["b"] = len(values)

    change(values, table)
    assert list(values) == [1, 2, 5]
    assert values[-1] == 5
    assert list(values[::2]) == [1, 5]
    assert dict(table) == {"a": 1, "b": 3}
    values.extend([7, 8])
    del values[0]
    values[0] = 9
    assert (values.pop(), values.count(9), 7 in values, len(values)) == (8, 1, True, 3)
    assert (table.pop("a"), table.get("zz"), list(table)) == (1, None, ["b"])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda values, table: values[9], IndexError),
        (lambda values, table: values.append("s"), TypeError),
        (lambda values, table: values.remove(9), ValueError),
        (lambda values, table: table["zz"], KeyError),
        (lambda values, table: table.update({3: 3}), TypeError),
    ],
)
def test_shared_lists_and_dicts_fail_as_those_of_python(change, error):
    with pytest.raises(error):
        change(torch.jit.script([1, 2]), torch.jit.script({"a": 1}))


def test_objects_become_those_of_the_compiled_class():
    counted = torch.jit.script(Count(3))

    @torch.jit.script
    def rise(c: Count) -> int:
        return c.rise()

    assert (counted.rise(), rise(counted), counted.x) == (4, 5, 5)


def test_texts_have_the_names_of_the_frame_around():
    def plus_two(x: int) -> int:
        return x + 2

    unit = torch.jit.CompilationUnit("def f(x: int, c: Count) -> Tuple[int, int]:\n    return plus_two(x), Count(x).rise() + c.x")
    assert unit.f(3, Count(10)) == (5, 14)
    unit.define("def g(x: int) -> int:\n    return other(x)", rcb=lambda name: plus_two if name == "other" else None)
    assert unit.g(1) == 3


def test_dict_takes_names_besides_a_table():
    @torch.jit.script
    def f():
        return dict({"a": 1}, b=2), dict([("x", 2)], y=3)

    assert f() == ({"a": 1, "b": 2}, {"x": 2, "y": 3})


class Watched(nn.Module):
    def forward(self, x: torch.Tensor, y: int = 2) -> torch.Tensor:
        return x * y


class Silent(nn.Module):
    def forward(self) -> int:
        return 7


def test_hooks_that_give_nothing_leave_values_as_they_are():
    def before(self, given: Tuple[torch.Tensor, int]) -> None:
        assert given[1] > 0

    def after(self, given: Tuple[torch.Tensor, int], result: torch.Tensor) -> None:
        assert result.dim() == 1

    module = Watched()
    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
    compiled = torch.jit.script(module)
    assert compiled(torch.ones(2), 3).tolist() == [3, 3]


def test_hooks_of_modules_without_inputs():
    def after(self, given: Tuple[()], result: int) -> int:
        return result + 1

    module = Silent()
    module.register_forward_hook(after)
    assert torch.jit.script(module)() == 8


def test_classes_see_the_names_of_the_function_that_defines_them():
    @torch.jit.script
    class Leaf:
        def __init__(self, value: int):
            self.value = value

    @torch.jit.script
    class Tree:
        def __init__(self):
            self.leaf: Optional[Leaf] = None

        def put(self, leaf: Leaf) -> None:
            self.leaf = leaf

        @torch.jit.unused
        def walk(self, *visitors):
            return [visit(self) for visit in visitors]

        @property
        def height(self) -> int:
            return 2

        def __len__(self) -> int:
            return 5

        def __eq__(self, other: "Tree") -> bool:
            return self.height == other.height

    @torch.jit.script
    def grown(value: int):
        tree = Tree()
        tree.put(Leaf(value))
        leaf = tree.leaf
        assert leaf is not None
        return leaf.value, tree

    value, tree = grown(3)
    assert (value, tree.height, len(tree)) == (3, 2, 5)
    assert tree == grown(4)[1]


def test_operators_are_forked():
    @torch.jit.script
    def f(x: torch.Tensor):
        return torch.jit.wait(torch.jit.fork(torch.neg, x))

    assert f(torch.ones(1)).tolist() == [-1]


def test_dtypes_are_promoted():
    @torch.jit.script
    def f(x: torch.Tensor):
        return torch.promote_types(x.dtype, torch.int32), torch.can_cast(torch.float32, torch.int32), torch.can_cast(torch.int8, x.dtype)

    promoted, *casts = f(torch.ones(1, dtype=torch.float16))
    assert promoted == torch.jit.script(half_dtype)()
    assert casts == [False, True]


def half_dtype():
    return torch.float16


def test_ranges_are_lists_of_ints():
    @torch.jit.script
    def f(x: List[int]):
        return x[1:3]

    assert f(range(8)) == [1, 2]


def test_type_comments_may_leave_out_the_result():
    class Named(nn.Module):
        def forward(self, x, name):
            # type: (Tensor, str)
            return x + 1 if name == "one" else x

    assert torch.jit.script(Named())(torch.ones(1), "one").tolist() == [2]


def test_keys_of_other_types_are_not_in_a_dict():
    table = torch.jit.script({"a": 1})
    assert 3 not in table
    with pytest.raises(KeyError):
        table[3]
    with pytest.raises(TypeError):
        "a" in torch.jit.script([1])  # noqa: B015


def test_bits_of_tensors_and_numbers():
    @torch.jit.script
    def f(x: torch.Tensor, n: int):
        masked, shifted = x.clone(), x.clone()
        masked &= 6
        shifted <<= 1
        return [x & 1, 1 | x, x ^ n, x << 2, x >> n, x & x, masked, shifted], n & 2

    tensors, number = f(torch.tensor([1, 2, 5]), 1)
    assert [t.tolist() for t in tensors] == [[1, 0, 1], [1, 3, 5], [0, 3, 4], [4, 8, 20], [0, 1, 2], [1, 2, 5], [0, 2, 4], [2, 4, 10]]
    assert number == 0


def norms_of(x):
    return torch.norm(x), torch.norm(x, dim=1), torch.norm(x, 1.0, [0, 1]), torch.norm(x, "fro", dim=0, keepdim=True), torch.norm(x, p="nuc")


def test_norms_along_dimensions():
    x = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    for got, wanted in zip(torch.jit.script(norms_of)(x), norms_of(x), strict=True):
        torch.testing.assert_close(got, wanted)


def test_type_of_a_tensor_is_changed_by_its_method():
    @torch.jit.script
    def f(x: torch.Tensor):
        return x.type(torch.int32)

    assert f(torch.ones(1)).dtype == torch.int32


def test_print_goes_where_the_output_of_python_goes():
    @torch.jit.script
    def f(x: int):
        print("number", x)

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(3)
    assert out.getvalue() == "number 3\n"


@torch.jit.script
def looks_at(x: torch.Tensor, y: torch.Tensor):
    x.set_(y)
    return x.sum(), x.is_pinned()


@torch.jit.script
def looks_at_part(x: torch.Tensor, y: torch.Tensor):
    before = x + 1
    x.set_(y, 1, [2], [2])
    return before, x + 1


def test_a_tensor_is_set_to_other_memory():
    x, y = torch.ones(2), torch.arange(4.0)
    total, pinned = looks_at(x, y)
    assert (total.item(), pinned, x.data_ptr()) == (6.0, False, y.data_ptr())
    before, after = looks_at_part(torch.ones(2), y)
    assert (before.tolist(), after.tolist()) == ([2.0, 2.0], [2.0, 4.0])


@torch.jit.script
def shapes(a: List[int], b: List[int]):
    return torch.broadcast_shapes(a, b), torch.broadcast_shapes(a, 3, [1]), torch.broadcast_shapes()


def test_shapes_broadcast():
    assert shapes([2, 1], [3]) == ([2, 3], [2, 3], [])
    with pytest.raises(RuntimeError, match="broadcast"):
        shapes([2], [3])


@torch.jit.script
def drawn(n: int):
    g = torch.Generator()
    g.manual_seed(7)
    first = torch.rand([n], generator=g)
    kept = torch.Generator(device="cpu", seed=5).initial_seed()
    g.manual_seed(7)
    return first, torch.rand([n], generator=g), kept, g.initial_seed()


def test_programs_make_generators():
    expected = torch.rand(3, generator=torch.Generator().manual_seed(7))
    for _ in range(2):
        for f in (drawn, again(drawn)):
            first, second, kept, seed = f(3)
            assert torch.equal(first, expected) and torch.equal(second, expected) and (kept, seed) == (5, 7)


class Named(NamedTuple):
    a: int
    b: str


@torch.jit.script
def attributes_of(x: Named):
    return getattr(x, "a", "none"), getattr(x, "c", 2.5), hasattr(x, "b"), hasattr(x, "c")


def of_a_tuple(x: Tuple[int, int]):
    return getattr(x, "a", 3)


def of_a_tensor(x: torch.Tensor):
    return hasattr(x, "ndim")


def test_named_tuples_have_attributes_and_other_values_none():
    assert attributes_of(Named(4, "x")) == (4, 2.5, True, False)
    for f in (of_a_tuple, of_a_tensor):
        with pytest.raises(RuntimeError, match="expected an object or a named tuple"):
            torch.jit.script(f)


def of_a_number(n: int):
    return n.add(1)


def changes_a_tuple(x: Tuple[int, int]):
    x[0] += x[1]
    return x


def read_after(flag: bool):
    if flag:
        y = "a"
    else:
        y = 1
    return y


def not_read_after(flag: bool):
    if flag:
        y = "a"
        n = len(y)
    else:
        y = 1
        n = y + 1
    return n


def test_types_are_checked_where_they_matter():
    for f, text, place in (
        (of_a_number, "'int' has no attribute", "n.add"),
        (changes_a_tuple, "elements of a tuple", r"x\[0\] \+= x\[1\]"),
        (read_after, "Type mismatch: y is set to type str", "return y"),
    ):
        with pytest.raises(RuntimeError, match=f"(?s){text}.*{place}"):
            torch.jit.script(f)
    assert [torch.jit.script(not_read_after)(flag) for flag in (True, False)] == [1, 2]


@torch.jit.script
def by_keyword(x: torch.Tensor):
    return torch.ceil(input=x), torch.sum(input=x, dim=[0])


@torch.jit.script
def from_tensors(x: torch.Tensor, b: float, n: int):
    return complex(x, b), complex(n, x), complex(x, True)


@torch.jit.script
def in_order():
    d = OrderedDict([("b", 1), ("a", 2)])
    d["c"] = 3
    return list(d.keys())


def test_calls_that_python_takes_too():
    ceiling, total = by_keyword(torch.tensor([0.5, 1.5]))
    assert (ceiling.tolist(), total.item()) == ([1.0, 2.0], 2.0)
    assert from_tensors(torch.tensor([2]), 1.5, 3) == (2 + 1.5j, 3 + 2j, 2 + 1j)
    assert in_order() == ["b", "a", "c"]
    pooled = torch.jit.script(lp_pools)(torch.ones(1, 1, 4))
    assert torch.equal(pooled[0], pooled[1])


def lp_pools(x: torch.Tensor):
    return torch.nn.functional.lp_pool1d(x, 2, 2), torch.nn.functional.lp_pool1d(x, 2.0, 2)


@torch.jit.script
def asks_for_autocast(x: torch.Tensor):
    before = torch.is_autocast_cpu_enabled()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        within = torch.is_autocast_cpu_enabled()
    return before, within, torch.is_autocast_cpu_enabled()


def test_programs_ask_whether_precision_is_mixed():
    assert asks_for_autocast(torch.ones(1)) == (False, True, False)
    with torch.autocast("cpu"):
        assert asks_for_autocast(torch.ones(1)) == (True, True, True)


@torch.jit.script
def casts(x: torch.Tensor):
    y = x.to(torch.bfloat16)
    return y, x.to(torch.uint16), str(torch.bfloat16), y.dtype == torch.bfloat16


def test_dtypes_have_the_numbers_of_pytorch():
    assert "torch.to(x, 15)" in casts.code and "torch.to(x, 27)" in casts.code
    for f in (casts, again(casts)):
        y, z, text, same_dtype = f(torch.ones(2))
        assert (y.dtype, z.dtype, text, same_dtype) == (torch.bfloat16, torch.uint16, "15", True)
    cu = torch.jit.CompilationUnit("def f(x):\n    return x.to(15), x.to(6)\ndef g(x):\n    return x.dtype")
    assert [t.dtype for t in cu.f(torch.ones(1))] == [torch.bfloat16, torch.float32]
    assert cu.g(torch.ones(1, dtype=torch.bfloat16)) == 15
    with pytest.raises(RuntimeError, match="none of number 12"):
        torch.jit.CompilationUnit("def f(x):\n    return x.to(12)").f(torch.ones(1))


def test_texts_are_indented_by_their_first_line():
    cu = torch.jit.CompilationUnit("""
        def f(x):
            return x + torch.tensor([1.0,
    2.0])

        def _g(x):
            return f(x)
    """)
    assert cu._g(torch.zeros(2)).tolist() == [1.0, 2.0]


def contractions(x: torch.Tensor, y: torch.Tensor):
    by_lists = torch.einsum(x, [0, 1], y, [1, 2], [2, 0]), torch.einsum(x, (0, 51), y, (51, 2)), torch.einsum(x, [0, 0])
    return by_lists, torch.tensordot(x, y, torch.tensor([[1], [0]])), torch.tensordot(x, y, torch.tensor(1))


def test_einsum_takes_subscripts_and_tensordot_a_tensor_of_them():
    x, y = torch.randn(3, 3), torch.randn(3, 2)
    f = torch.jit.script(contractions)
    expected = ((x @ y).T, x @ y, x.diagonal().sum()), x @ y, x @ y
    torch.testing.assert_close((f(x, y), again(f)(x, y)), (expected, expected))
    with pytest.raises(RuntimeError, match="expected a tensor here, got int"):
        torch.jit.CompilationUnit("def f(x):\n    return torch.einsum(x, [0, 1], 2, [1])")
    with pytest.raises(RuntimeError, match="expected subscripts from 0 to 51, got 52"):
        torch.jit.CompilationUnit("def f(x):\n    return torch.einsum(x, [0, 52])").f(x)
    with pytest.raises(RuntimeError, match="einsum\\(\\) has no keyword argument 'other'"):
        torch.jit.CompilationUnit("def f(x):\n    return torch.einsum(x, [0, 1], other=2)")


def test_shapes_that_broadcast_are_tuples_or_lists():
    f = torch.jit.CompilationUnit("def f(x):\n    return torch.broadcast_shapes(x.shape, (4, 1), [1, 3], 1)").f
    assert f(torch.ones(3)) == [4, 3]


@torch.jit.ignore
def counted(x, *args, scale=10):
    return torch.tensor(scale * len(args))


@torch.jit.unused
def left_out(x, *args, **kwargs):
    return x


class Counts(nn.Module):
    @torch.jit.ignore
    def count(self, *args):
        return torch.tensor(len(args))

    @torch.jit.unused
    def rest(self, *args):
        return args

    def forward(self, x: torch.Tensor):
        if x.dim() > 5:
            return self.rest(x, 1), left_out(x, x, x)
        return self.count(x, 2, "three"), self.count() + counted(x) + counted(x, x, None)


def test_ignored_functions_take_any_number_of_values():
    assert [t.item() for t in torch.jit.script(Counts())(torch.ones(1))] == [3, 20]
    with pytest.raises(torch.jit.Error, match="marked as unused"):
        torch.jit.script(Counts())(torch.ones(1, 1, 1, 1, 1, 1))


def sums_of_numbers(x: torch.Tensor):
    total, product, floor = 0, 2.0, 7
    total += x
    total += x
    product *= x
    floor //= x
    return total, product, floor


def test_a_number_becomes_a_tensor_by_an_augmented_assignment():
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    torch.testing.assert_close(torch.jit.script(sums_of_numbers)(x), (2 * x, 2 * x, 7 // x))


def test_lists_of_floats_are_indices_without_their_fractions():
    f = torch.jit.CompilationUnit("def f(x):\n    places = [0.5, 2.9]\n    return x[places]").f
    assert f(torch.arange(4)).tolist() == [0, 2]


@pytest.mark.parametrize("value", [torch.tensor(1.5, requires_grad=True), torch.tensor([2.0])])
def test_a_tensor_with_a_gradient_or_dimensions_stands_for_no_number(value):
    f = torch.jit.CompilationUnit("def f(x, t):\n    return x.addcmul(x, x, value=t)").f
    with pytest.raises(RuntimeError, match="requires grad stands for no number|expected a tensor of no dimensions"):
        f(torch.ones(2), value)


def test_a_remainder_of_zero_has_the_sign_of_the_divisor():
    f = torch.jit.CompilationUnit("def f(a: float, b: float) -> float:\n    return a % b").f
    for a, b in ((0.0, -1.5), (-0.0, 1.5), (3.0, -1.5), (-3.0, 1.5)):
        assert math.copysign(1, f(a, b)) == math.copysign(1, a % b)


class Plain(nn.Module):
    def forward(self, x: torch.Tensor):
        return x


class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.plain, self.none, self.number = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), Plain(), None, 3

    def forward(self, x: torch.Tensor):
        linear = [isinstance(layer, nn.Linear) for layer in self.layers]
        others = isinstance(self.plain, nn.Module), isinstance(self.plain, (nn.Linear, Plain)), isinstance(self, Plain)
        return linear, others, isinstance(x, nn.Linear), isinstance(self.none, nn.Linear), isinstance(self.number, nn.ReLU)


def test_instances_of_classes_of_modules():
    f = torch.jit.script(Asks())
    for made in (f, again(f)):
        assert made(torch.ones(2)) == ([True, False], (True, True, False), False, False, False)
    with pytest.raises(RuntimeError, match="Unknown type name 'nn.Linear'"):
        torch.jit.CompilationUnit("def f(x: nn.Linear):\n    return 1")


def test_a_starred_name_stands_beside_others():
    with pytest.raises(RuntimeError, match="there are none"):
        torch.jit.CompilationUnit("def f(x):\n    *b, = (x, x)\n    return b")


@torch.jit.script
def literals_of_kept_types(n: int, given: Optional[List[int]], rows: Optional[Dict[str, List[int]]] = None):
    plain = [1]
    if n > 0:
        plain = []
        plain.append(2)
    if given is None:
        given = []
    if rows is None:
        rows = {"a": []}
    given.append(3)
    rows["a"].append(4)
    return plain, given, rows


def test_a_literal_has_the_type_that_its_variable_keeps():
    assert literals_of_kept_types(1, None) == ([2], [3], {"a": [4]})
    assert literals_of_kept_types(0, [0], {"a": [1]}) == ([1], [0, 3], {"a": [1, 4]})


@torch.jit.script
def sums_what_stays(given: Optional[int], n: int):
    total = 0
    for k in range(n):
        if k > 1:
            if k == 2:
                given = None
                continue
            if k == 6:
                break
            given = 3
        else:
            given = k
        total += given
    return given, total


def test_behind_a_continue_a_variable_has_the_type_that_it_has_there():
    assert [sums_what_stays(5, n) for n in (0, 2, 3, 4, 8)] == [(5, 0), (1, 1), (None, 1), (3, 4), (3, 10)]
    assert again(sums_what_stays)(5, 8) == (3, 10)


@pytest.mark.parametrize("annotation", ["Foo", "Tuple[Foo, Tensor]", "Tuple[Tensor, Tensor][Tensor]"])
def test_types_that_are_not_there_are_refused(annotation):
    with pytest.raises(RuntimeError):
        torch.jit.CompilationUnit(f"def f(x: {annotation}) -> int:\n    return 1")


@torch.jit.script
def as_int(n: int) -> int:
    return n


@torch.jit.script
def as_bool(b: bool) -> bool:
    return b


@torch.jit.script
def as_complex(z: complex) -> complex:
    return z


def test_tensors_of_one_element_are_numbers():
    assert [as_int(torch.tensor(v)) for v in (3, 1.5, True, [4])] == [3, 1, 1, 4]
    assert [as_bool(v) for v in (torch.tensor(0.0), torch.tensor([2]), None)] == [False, True, False]
    assert [as_complex(torch.tensor(v)) for v in (2, 1j)] == [2 + 0j, 1j]
    for refused in (lambda: as_int(torch.tensor([1, 2])), lambda: as_int(torch.tensor(1j)), lambda: as_bool(torch.ones(2)), lambda: as_bool("a")):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            refused()


@torch.jit.script
def positive_or_nothing(x: int):
    if x > 0:
        return x


def test_a_result_without_annotation_is_none_where_no_return_is_met():
    assert (positive_or_nothing(3), positive_or_nothing(-3)) == (3, None)
    assert str(positive_or_nothing.schema) == "positive_or_nothing(int x) -> int?"


def unpacks_a_dict(d: Dict[str, int]):
    return {**d, "z": 1}


def only_annotates(x: int):
    y: int
    y = x
    return y


def chooses(x: int):
    match x:
        case 1:
            return 1
    return 2


def test_syntax_that_the_language_lacks_is_not_supported():
    for fn in (unpacks_a_dict, only_annotates, chooses):
        with pytest.raises(torch.jit.frontend.NotSupportedError, match="not part of TorchScript"):
            torch.jit.script(fn)


def raises_text(x: int):
    raise "text"


def with_a_list(x: List[int] = [1]):  # noqa: B006
    return x


def test_what_python_would_not_do_is_refused():
    with pytest.raises(RuntimeError, match="raise: expected an exception"):
        torch.jit.script(raises_text)
    with pytest.raises(RuntimeError, match="the default of .* is a .*, which Python makes once"):
        torch.jit.script(with_a_list)


def goes_on_for_ever(n: int) -> int:
    return goes_on_for_ever(n - 1)


def asks_the_system(n: int):
    return os.getcwd()


def asks_for_a_default():
    return torch.get_default_dtype()


def adds_a_text(a: int):
    return a + "text"


def calls_one_that_does_not_compile(n: int):
    return adds_a_text(n)


def test_errors_stand_under_the_line_that_they_are_in():
    for fn, marked in (
        (goes_on_for_ever, "return goes_on_for_ever(n - 1)\n           ~~~~~~"),
        (asks_the_system, "return os.getcwd()\n           ~~~~~~"),
        (asks_for_a_default, "return torch.get_default_dtype()\n           ~~~~~~"),
        (calls_one_that_does_not_compile, 'return a + "text"\n           ~~~~~~'),
        (calls_one_that_does_not_compile, "return adds_a_text(n)\n           ~~~~~~"),
    ):
        with pytest.raises(RuntimeError) as error:
            torch.jit.script(fn)
        assert marked in str(error.value), fn.__name__
    with pytest.raises(RuntimeError, match="'adds_a_text', which 'calls_one_that_does_not_compile' calls here"):
        torch.jit.script(calls_one_that_does_not_compile)


class HoldsComplex(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 1 + 2j

    def forward(self, x):
        return x * self.factor


def test_attributes_that_are_complex_are_of_the_class_that_python_3_has():
    data = torch.jit.script(HoldsComplex()).save_to_buffer()
    assert b"builtins\ncomplex" in data
    assert b"__builtin__" not in data
    assert torch.jit.load(io.BytesIO(data))(torch.ones(1)).tolist() == [1 + 2j]


def test_numbers_are_no_truth_values():
    unit = torch.jit.CompilationUnit("def f(a: bool, b: int):\n    return a is b, a is not b, True is 1, 1 is True, True is True, True is False\n")
    assert unit.f(True, 1) == (False, True, False, False, True, False)


def test_only_the_negative_of_two_to_the_63_is_an_int():
    assert torch.jit.CompilationUnit("def f():\n    return -9223372036854775808\n").f() == -(2**63)
    for text in ("9223372036854775808", "1 - 9223372036854775808", "-9223372036854775809"):
        with pytest.raises(RuntimeError, match="no int of 64 bits"):
            torch.jit.CompilationUnit(f"def f():\n    return {text}\n")


def test_characters_of_formats_are_single():
    unit = torch.jit.CompilationUnit("def f(a: str, b: int):\n    return '%c%c' % (a, b)\n")
    assert unit.f("x", 65) == "xA"
    with pytest.raises(RuntimeError, match="one character"):
        unit.f("xy", 65)


def test_complex_numbers_of_truth_values_and_floats():
    unit = torch.jit.CompilationUnit("def f(a: bool, b: float):\n    return complex(a, b), complex(b, a)\n")
    assert unit.f(True, 2.5) == (1 + 2.5j, 2.5 + 1j)


def test_devices_are_named_by_keyword():
    unit = torch.jit.CompilationUnit("def f():\n    return torch.device(type='cpu'), torch.device(type='cuda', index=1)\n")
    assert unit.f() == (torch.device("cpu"), torch.device("cuda:1"))


@torch.jit._overload  # noqa: F811
def commented(x):
    # type: (int) -> int
    pass


@torch.jit._overload  # noqa: F811
def commented(x):  # noqa: F811
    # type: (float) -> float
    pass


def commented(x):  # noqa: F811
    return x + x


def test_overloads_may_have_their_types_in_comments():
    def both():
        return commented(1), commented(0.5)

    assert torch.jit.script(both)() == (2, 1.0)


def test_types_within_tuples_are_tested_for():
    def f(a: Optional[List[int]]) -> int:
        return int(isinstance(a, (int, (float, (list,)), str))) + 2 * int(isinstance(a, (int, (str,))))

    assert (torch.jit.script(f)([3]), torch.jit.script(f)(None)) == (1, 0)


@torch.jit._overload  # noqa: F811
def defaulted(x: float, y: str) -> float:
    pass


@torch.jit._overload  # noqa: F811
def defaulted(x: float, y: float) -> float:  # noqa: F811
    pass


def defaulted(x, y=2.0):  # noqa: F811
    if isinstance(y, str):
        return x if y == "hi" else x * 2
    return x + y


def test_overloads_have_the_defaults_that_fit():
    def uses():
        return defaulted(1.5), defaulted(1.5, "hi"), defaulted(1.5, 5.0)

    assert torch.jit.script(uses)() == (3.5, 1.5, 6.5)


def test_one_number_stands_for_a_list_of_them():
    unit = torch.jit.CompilationUnit("def f(x: BroadcastingList2[int], y: BroadcastingList3[float]):\n    return x, y\n")
    assert unit.f(1, 2.0) == unit.f([1, 1], (2.0, 2.0, 2.0)) == ([1, 1], [2.0, 2.0, 2.0])
    unit.define("def g(x, y):\n    # type: (float, BroadcastingList3[float]) -> List[float]\n    return y\ndef h():\n    return g(1.0, 2.0)\n")
    assert unit.g(1.0, 2.0) == unit.h() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="argument 'x'"):
        unit.f("1", 2.0)


def test_outputs_without_flush_are_printed_to(monkeypatch):
    class Output:
        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

    output = Output()
    monkeypatch.setattr("sys.stdout", output)
    torch.jit.CompilationUnit("def f(x: int):\n    print(x)\n").f(3)
    monkeypatch.undo()
    assert output.text == "3\n"


def test_numbers_are_repeated_for_each_dimension():
    from cresset.nn.modules.utils import _pair, _quadruple, _single, _triple

    def f(a: int, b: List[int], c: float, d: Tuple[int, int]):
        return _pair(a), _pair(b), _triple(c), _pair(d), _single(1), _quadruple(2), _pair((1, 2))

    assert torch.jit.script(f)(3, [1, 2], 0.5, (4, 5)) == ([3, 3], [1, 2], [0.5] * 3, [4, 5], [1], [2] * 4, [1, 2])


def test_old_types_make_tensors():
    def f(x: List[int], n: int):
        return torch.LongTensor(x), torch.BoolTensor([2]), torch.FloatTensor([[1, 2]]), torch.HalfTensor(2, n).shape, torch.DoubleTensor()

    for made in (torch.jit.script(f), again(torch.jit.script(f))):
        a, b, c, shape, e = made([1, 2], 3)
        assert (a.tolist(), b.tolist(), c.tolist(), shape, e.tolist()) == ([1, 2], [True], [[1.0, 2.0]], [2, 3], [])
        assert [t.dtype for t in (a, b, c, e)] == [torch.int64, torch.bool, torch.float32, torch.float64]
    assert torch.jit.CompilationUnit("def f():\n    return torch.IntTensor(2).shape\n").f() == [2]
    with pytest.raises(RuntimeError, match="not all are int"):
        torch.jit.CompilationUnit("def f():\n    return torch.LongTensor(1, [2])\n")


class Product(nn.Module):
    def forward(self, x, by: int = 2):
        return x * by


class Names:
    @torch.jit.ignore
    def __call__(self, *args) -> str:
        return type(args[0]).__name__


product, names = Product(), Names()


def test_modules_and_callables_that_are_not_compiled_run_in_python():
    def f(x):
        return product(x) + product(x, 3), names(x)

    assert torch.jit.script(f)(torch.ones(1)) == (torch.tensor([5.0]), "Tensor")


def test_names_of_annotations_are_those_where_the_function_was_defined():
    kind, place = torch.Tensor, torch.device

    class Moves:
        def __init__(self):
            pass

        def moved(self, x: kind, to: place) -> kind:
            return x.to(device=to)

        def first(self, places: List[place]) -> place:
            return places[0]

    def f():
        m = Moves()
        return m.moved(torch.ones(1), torch.device("cpu")), m.first([torch.device("cpu")])

    assert torch.jit.script(f)() == (torch.ones(1), torch.device("cpu"))


def later(x: int) -> int:
    return x + 1


def test_calls_that_are_put_off_are_arguments():
    def waits(a: torch.jit._Await[int]) -> int:
        return torch.jit._awaitable_wait(a)

    def f(x: int):
        return waits(torch.jit._awaitable(later, x))

    assert torch.jit.script(f)(1) == f(1) == 2


def holds_a_function(x: int):
    def g():
        pass


def expands(x: Dict[str, int]):
    later(**x)


def test_syntax_that_the_language_lacks_is_a_runtime_error_in_texts():
    for fn in (holds_a_function, expands):
        with pytest.raises(torch.jit.frontend.NotSupportedError, match="not part of TorchScript"):
            torch.jit.script(fn)
        with pytest.raises(RuntimeError, match="not part of TorchScript"):
            torch.jit.CompilationUnit(inspect.getsource(fn))


def test_a_unit_has_one_function_of_a_name():
    unit = torch.jit.CompilationUnit("def f(x: int):\n    return x\n")
    for text in ("def f(x: int):\n    return x\n", "def g(x: int):\n    return x\ndef g(x: int):\n    return x\n"):
        with pytest.raises(RuntimeError, match="there is a function '[fg]' already"):
            unit.define(text)


def test_a_module_has_one_method_of_a_name():
    module = torch.jit.script(nn.ReLU())
    module.define("def more(self, x):\n    return self.forward(x) + 2\n")
    assert module.more(torch.ones(1)).tolist() == [3]
    for text in ("def forward(self, x):\n    return x\n", "def g(self, x):\n    return x\ndef g(self, x):\n    return x\n"):
        with pytest.raises(RuntimeError, match="'ReLU' has a method '(forward|g)' already"):
            module.define(text)


def test_examples_of_inputs_are_no_annotations():
    with pytest.warns(UserWarning, match="example_inputs are not used"):
        made = torch.jit.script(later, example_inputs=[(1,)])
    assert made(1) == 2


def test_comments_behind_a_signature_are_those_of_statements():
    # fmt: off
    def f(a,  # type: int
          b,  # type: int
          ):
        # type: (...) -> int
        # type: int
        return a + b
    # fmt: on

    assert torch.jit.script(f)(1, 2) == 3


def test_tensordot_takes_a_tensor_of_one_number():
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    assert torch.equal(torch.tensordot(a, b, dims=torch.tensor([1])), a @ b)
