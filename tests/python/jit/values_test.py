"""Values as programs write them: literals of several types, slices that are variables, variables of loops, types that are asked for."""

import cmath
import io
import math
import warnings
import zipfile
from typing import Any, Dict, List, Tuple, Union

import pytest
from language_test import again

import cresset as torch


def last_of(n: int):
    i = 10
    for i in range(n):
        if i == 2:
            break
    return i


def last_pair(xs: List[int]):
    a, b = 0, 0
    for a, b in enumerate(xs):
        pass
    return a, b


def test_variables_of_loops_keep_the_value_of_the_last_trip():
    for compiled in (torch.jit.script(last_of), again(torch.jit.script(last_of))):
        assert [compiled(n) for n in (5, 2, 0)] == [2, 1, 10]
    compiled = torch.jit.script(last_pair)
    assert compiled([5, 6]) == (1, 6) and compiled([]) == (0, 0)


def sliced(x: List[int], y: torch.Tensor, n: int):
    s = slice(n, None, 2)
    row = slice(2)
    y[row] = 0
    return x[s], x[row], y[:, s], (1, 2, 3)[row]


def test_slices_are_values():
    compiled = torch.jit.script(sliced)
    for f in (compiled, again(compiled)):
        x, first, y, three = f([1, 2, 3, 4], torch.arange(9).view(3, 3), 1)
        assert (x, first, y.tolist(), three) == ([2, 4], [1, 2], [[0], [0], [7]], (1, 2))


def of_both():
    return [1, 2.5, "a"], {"a": 1, "b": "c"}


def test_literals_of_several_types_are_unions():
    compiled = torch.jit.script(of_both)
    assert "Union[float, int, str]" in compiled.code
    for f in (compiled, again(compiled)):
        assert f() == ([1, 2.5, "a"], {"a": 1, "b": "c"})


def kinds(x: Any) -> int:
    if isinstance(x, tuple):
        return 1
    if isinstance(x, list):
        return 2
    if isinstance(x, dict):
        return 3
    if isinstance(x, (int, str)):
        return 4
    return 5


def test_any_tuple_list_or_dict_is_told_from_others():
    compiled = torch.jit.script(kinds)
    for f in (compiled, again(compiled)):
        assert [f(x) for x in ((1, "a"), [1], {1: 2}, 3, "s", 1.5)] == [1, 2, 3, 4, 4, 5]


def anything(x: int) -> Any:
    if x > 0:
        return x
    return "a"


def one_of_two(x: int) -> Union[int, str]:
    if x > 0:
        return x
    return "a"


@pytest.mark.parametrize("function", [anything, one_of_two])
def test_branches_with_values_of_different_types_are_saved(function):
    compiled = again(torch.jit.script(function))
    assert compiled(3) == 3 and compiled(-1) == "a"


def whole(x: torch.Tensor) -> int:
    return x


def listed(x: Tuple[int, int]) -> List[int]:
    return x


def sized(x: torch.Tensor):
    return torch.zeros(x)


def test_results_become_what_the_annotation_says():
    assert torch.jit.script(whole)(torch.tensor(3)) == 3
    assert torch.jit.script(listed)((1, 2)) == [1, 2]


def test_only_tensors_of_one_integer_stand_for_an_int():
    compiled = torch.jit.script(sized)
    assert compiled(torch.tensor(2)).shape == (2,)
    for refused in (torch.tensor(2.0), torch.tensor([2])):
        with pytest.raises(RuntimeError, match="where (a number|an int) is to stand"):
            compiled(refused)


def twice(x: List[int]):
    y = x
    x *= 2
    return y


def of_letters(s: str):
    return sorted(s)


def keys_of(d: Dict[str, int]):
    return list(d)


def empty(x: List[int]):
    return torch.tensor(x).dtype == torch.int64


def test_lists_and_texts_as_in_python():
    for function, argument, expected in (
        (twice, [1], [1, 1]),
        (of_letters, "bca", ["a", "b", "c"]),
        (keys_of, {"a": 1, "b": 2}, ["a", "b"]),
        (empty, [], True),
    ):
        compiled = torch.jit.script(function)
        assert compiled(argument) == again(compiled)(argument) == expected


def polar(r: float, phi: float):
    return cmath.rect(r, phi)


def test_complex_numbers_from_polar_coordinates():
    assert abs(torch.jit.script(polar)(2.0, math.pi / 2) - 2j) < 1e-15


def laid_out(x: torch.Tensor):
    return x.layout, torch.Size([1, 2])


def test_layouts_are_ints_and_sizes_are_lists():
    assert torch.jit.script(laid_out)(torch.ones(1)) == (0, [1, 2])


def keyword(x: int):
    print(x, end="")
    return x


def test_print_takes_no_keywords():
    with pytest.raises(RuntimeError, match="print: keyword arguments, such as end"):
        torch.jit.script(keyword)


def warned(x: int):
    warnings.warn("careful")
    return x


def test_warnings_are_given():
    compiled = torch.jit.script(warned)
    with pytest.warns(UserWarning, match="careful"):
        assert compiled(3) == 3


def delayed(x: torch.Tensor):
    a = torch.jit._awaitable_nowait(x)
    return torch.jit._awaitable_wait(a)


def of_an_operator(x: torch.Tensor):
    return torch.jit.wait(torch.jit.fork(torch.add, x, x))


@pytest.mark.parametrize("function", [delayed, of_an_operator])
def test_results_that_are_there_already_are_waited_for(function):
    compiled = torch.jit.script(function)
    expected = compiled(torch.ones(2)).tolist()
    assert again(compiled)(torch.ones(2)).tolist() == expected


class Number:
    def __init__(self, x: int):
        self.x = x

    def __imod__(self, n: int) -> "Number":
        self.x %= n
        return self

    def __lshift__(self, n: int) -> "Number":
        return Number(self.x << n)

    def __complex__(self) -> complex:
        return complex(self.x, 1)


def changed(x: int):
    n = Number(x)
    n %= 4
    n <<= 1
    return n.x, complex(n)


def test_objects_change_by_all_operators():
    assert torch.jit.script(changed)(7) == (6, 6 + 1j)


TEXT = """
def bits(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    return (torch.__and__(x, 1), torch.__or__(x, 1), torch.__ilshift__(torch.clone(x), 1))
def doubled(x: List[int]) -> List[int]:
    return torch.mul_(x, 2)
def reversed_dims(x: Tensor) -> Tensor:
    return torch.numpy_T(x)
def spectrum(x: Tensor) -> Tensor:
    return torch.stft(x, 4, None, None, torch.ones(4), False, None, True, None)
def backward_(x: Tensor) -> None:
    torch.autograd.backward(x)
def size() -> List[int]:
    return torch.Size([1, 2])
def filled(x: Tensor) -> Tensor:
    return torch._no_grad_fill_(x, 2.)
"""


def test_archives_of_pytorch_name_operators_as_it_does():
    unit = torch.jit.CompilationUnit(TEXT)
    assert [t.tolist() for t in unit.bits(torch.tensor([2, 3]))] == [[0, 1], [3, 3], [4, 6]]
    assert unit.doubled([1]) == [1, 1] and unit.size() == [1, 2]
    assert unit.reversed_dims(torch.ones(2, 3)).shape == (3, 2)
    assert torch.equal(unit.spectrum(torch.arange(8.0)), torch.stft(torch.arange(8.0), 4, window=torch.ones(4), center=False, return_complex=True))
    x = torch.ones((), requires_grad=True)
    unit.backward_(x * 3)
    assert x.grad == 3
    assert unit.filled(torch.ones(2, requires_grad=True)).tolist() == [2, 2]


RECORDED = """def forward(self, x: Tensor) -> Tensor:
    _0 = __torch__.torch.autograd.profiler.record_function.__new__(__torch__.torch.autograd.profiler.record_function)
    _1 = (_0).__init__("a", None, )
    with _0:
      _2 = torch.add(x, 1)
    return _2
"""
PROFILER = """class record_function:
  record : Optional[__torch__.torch.classes.profiler._RecordFunction]
  def __enter__(self: __torch__.torch.autograd.profiler.record_function) -> NoneType:
    self.record = ops.profiler._record_function_enter_new("a", None)
"""


def plus_one(x: torch.Tensor):
    return x + 1


def test_archives_with_named_parts_of_a_profile_are_read():
    file, out = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(plus_one), file)
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(out, "w") as changed:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".py") and b"def forward(self" in data:
                data = data[: data.index(b"def forward")] + RECORDED.encode()
            if not name.endswith(".debug_pkl"):
                changed.writestr(name, data)
        home = name.partition("/")[0]
        changed.writestr(f"{home}/code/__torch__/torch/autograd/profiler.py", PROFILER)
    loaded = torch.jit.load(io.BytesIO(out.getvalue()))
    x = torch.ones(1)
    with torch.profiler.profile() as profile:
        y = loaded(x)
    assert y.tolist() == [2]
    assert {event.name for event in profile.events()} >= {"forward", "a", "aten::add"}


def uniques(x: torch.Tensor):
    a = torch.unique(x)
    b, c = torch.unique(x, return_inverse=True)
    d, e = torch.unique(x, True, False, True, 0)
    f = torch.unique(x, return_inverse=True, return_counts=True)
    g = torch.unique_consecutive(x)
    h, i = torch.unique_consecutive(x, return_counts=True)
    return [a, b, c, d, e, f[0], f[1], f[2], g, h, i]


def chosen(x: torch.Tensor, inverse: bool):
    return torch.unique(x, return_inverse=inverse)


def test_flags_choose_what_unique_returns():
    compiled, x = torch.jit.script(uniques), torch.tensor([3, 1, 1])
    expected = [t.tolist() for t in uniques(x)]
    for f in (compiled, again(compiled)):
        assert [t.tolist() for t in f(x)] == expected
    with pytest.raises(RuntimeError, match="return_inverse decides what type the result has"):
        torch.jit.script(chosen)


def in_place(x: torch.Tensor):
    y = torch.zeros(5, 2)
    return x.fill_diagonal_(3), y.fill_diagonal_(1.5, wrap=True), x.double().float_power_(2), torch.where(x > 0), torch.lu(x)[1]


def test_operators_of_pytorch_that_are_written_over_rows():
    compiled = torch.jit.script(in_place)
    for f in (compiled, again(compiled)):
        x, y, powers, places, pivots = f(torch.zeros(3, 3))
        assert x.tolist() == [[3, 0, 0], [0, 3, 0], [0, 0, 3]]
        assert y.tolist() == torch.zeros(5, 2).fill_diagonal_(1.5, wrap=True).tolist()
        assert powers.diag().tolist() == [9, 9, 9] and [p.tolist() for p in places] == [[0, 1, 2]] * 2 and pivots.tolist() == [1, 2, 3]


def initialized(x: torch.Tensor):
    torch.nn.init.xavier_uniform_(torch.nn.init.uniform_(x))
    return torch.nn.init.constant_(x, 2.5), torch.nn.init.ones_(x.clone()), torch.nn.init.zeros_(x.clone())


def test_functions_of_init_compile():
    compiled = torch.jit.script(initialized)
    for f in (compiled, again(compiled)):
        assert [t.tolist() for t in f(torch.zeros(1, 2, requires_grad=True))] == [[[2.5, 2.5]], [[1, 1]], [[0, 0]]]


def passed(x: float, n: int, xs: List[int]):
    return x, n, xs


def test_true_is_a_number_where_one_is_asked_for():
    assert torch.jit.script(passed)(True, True, [True]) == (1.0, 1, [1])


def of_dtypes(x: torch.Tensor):
    known = [torch.float32, torch.int64]
    return x.dtype in known, x.dtype is torch.float32, known.index(x.dtype)


def test_dtypes_of_archives_are_those_of_tensors():
    compiled = torch.jit.script(of_dtypes)
    assert compiled(torch.ones(1)) == again(compiled)(torch.ones(1)) == (True, True, 0)


def mixed(x: torch.Tensor, fails: bool):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = x @ x
        if fails:
            raise ValueError("within")
    return y.dtype == torch.bfloat16, z.dtype == torch.float32, (x @ x).dtype == torch.float32


def test_mixed_precision_begins_and_ends_with_its_block():
    compiled = torch.jit.script(mixed)
    for f in (compiled, again(compiled)):
        assert f(torch.ones(2, 2), False) == (True, True, True)
        with pytest.raises(torch.jit.Error, match="within"):
            f(torch.ones(2, 2), True)
        assert not torch.is_autocast_enabled("cpu")
