"""Files of the lite interpreter: the bytecode that modules become, and what running it gives."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import pytest
from cresset.jit import mobile

import cresset as torch
from cresset import nn

DATA = Path(__file__).parents[2] / "graph" / "data" / "lite"


def written(module):
    return module._save_to_buffer_for_lite_interpreter()


def again(module):
    return mobile._load_for_lite_interpreter(io.BytesIO(written(module)))


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


class Pair(NamedTuple):
    first: torch.Tensor
    count: int


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.count = 0

    def forward(self, x, n: int = 2):
        self.count += 1
        y = self.linear(x)
        for i in range(n):
            if i > 1:
                y = y + i
            else:
                y = torch.relu(y)
        return {"a": [y, y]}, (y.size(0), [1.0, 2.0], self.count)

    @torch.jit.export
    def other(self, k: int) -> int:
        return self.count + k


class Loops(nn.Module):
    def forward(self, n: int):
        i = 0
        total = 0.0
        while i < n:
            i += 1
            if i == 3:
                continue
            if i == 7:
                break
            total += i / 2
        return i, total, [j for j in range(2, n, 3)], [[a * b for a in range(b)] for b in range(3)]


class Optionals(nn.Module):
    def forward(self, x: Optional[torch.Tensor], k: Any = None):
        y = -1
        if x is not None and x.size(0) > 1:
            y = x.size(0)
        if isinstance(k, int):
            return y + k
        elif isinstance(k, (float, str)):
            return y * 10
        return y


class Containers(nn.Module):
    def forward(self, xs: List[int], d: Dict[str, int]):
        xs.append(3)
        d["z"] = 2
        xs[1] = 4
        d.pop("a")
        first, second = d.popitem(), 0
        pairs = {str(k): v for k, v in zip(xs, xs)}
        return ("a" in d, xs.pop(), len(d), sorted(xs), xs[1:], xs[-1], min(xs), max(2, 3), sum(xs), xs + xs, list(d.keys()), first, second, pairs,
                d.get("q"), d.get("q", 7), xs.index(4), xs.count(4), 4 in xs)  # fmt: skip


class Texts(nn.Module):
    def forward(self, s: str, n: int):
        return f"{s} and {n + 1}", s.partition("a"), ",".join(s.split("b")), divmod(n, 2), s.upper()[1:], str(n), int("3"), s == "x", "a" < s


class Tensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.arange(3.0))

    def forward(self, x):
        out = torch.empty(3)
        torch.add(x, 1, out=out)
        values, places = torch.max(x, dim=0)
        y: List[float] = x.tolist()
        return (out, values, places, torch.zeros([2], dtype=torch.int64), x.to(torch.float64), torch.cat([x, x]), x[0:2, None], x.device, x.dim(), x.shape,
                torch.tensor([1, 2]), self.held, y, float(x[0]), torch.sum(x, 0, out=torch.empty([])), x + torch.tensor(2.0))  # fmt: skip


class Tuples(nn.Module):
    def forward(self, x, i: int):
        t = Pair(x, 3)
        a, b = t
        whole = (1, 2, 3)
        return t, a + b, t.first, (x, 2, 3)[1:], whole[i]


CASES = [
    (Step, lambda: (torch.ones(1, 2), 3)),
    (Step, lambda: (torch.ones(1, 2),)),
    (Loops, lambda: (10,)),
    (Loops, lambda: (0,)),
    (Optionals, lambda: (torch.ones(3), 2)),
    (Optionals, lambda: (None, "x")),
    (Containers, lambda: ([5, 6, 7], {"a": 1, "b": 2})),
    (Texts, lambda: ("xab", 4)),
    (Tensors, lambda: (torch.tensor([3.0, 1.0, 2.0]),)),
    (Tuples, lambda: (torch.ones(2), 1)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_bytecode_gives_what_the_module_gives(number):
    make, arguments = CASES[number]
    scripted = torch.jit.script(make().eval())
    expected = scripted(*arguments())
    assert same(again(torch.jit.script(make().eval()) if make is not Step else restarted(scripted))(*arguments()), expected)


def restarted(scripted):
    scripted.count = 0
    return scripted


def test_methods_are_found_by_name():
    lite = again(torch.jit.script(Step()))
    assert lite.find_method("other") and not lite.find_method("nope")
    assert lite.run_method("other", 4) == 4
    lite(torch.ones(1, 2))
    assert lite.run_method("other", k=4) == 5
    with pytest.raises(AttributeError, match="'nope' is not defined"):
        lite.run_method("nope")


def test_the_archive_holds_the_program_as_text_too():
    scripted = torch.jit.script(Step().eval())
    names = zipfile.ZipFile(io.BytesIO(written(scripted))).namelist()
    assert {"archive/bytecode.pkl", "archive/data.pkl", "archive/code/__torch__.py"} <= {name.replace("__torch__/lite_test", "__torch__") for name in names}
    loaded = torch.jit.load(io.BytesIO(written(scripted)))
    assert same(loaded(torch.ones(1, 2)), restarted(scripted)(torch.ones(1, 2)))


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Doubles(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Holder(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Doubles()

    def forward(self, x):
        return self.layer.forward(x)


def test_methods_of_interfaces_are_bytecode_of_the_modules_that_have_them():
    assert same(again(torch.jit.script(Holder()))(torch.ones(2)), torch.full((2,), 2.0))


class Forks(nn.Module):
    def forward(self, x):
        return torch.jit.wait(torch.jit.fork(torch.relu, x))


@torch.jit.script
class Region:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.depth -= 1


class With(nn.Module):
    def __init__(self):
        super().__init__()
        self.region = Region()

    def forward(self, x):
        with self.region:
            y = x + 1
        return y


@torch.jit.script
class Point:
    def __init__(self, x: float):
        self.x = x


class Objects(nn.Module):
    def forward(self, x: float):
        return Point(x).x


@pytest.mark.parametrize(("make", "what"), [(Forks, "FORK"), (With, "ENTER"), (Objects, "CREATE_OBJECT")])
def test_what_the_lite_interpreter_lacks_is_refused(make, what):
    with pytest.raises(RuntimeError, match=f"{what} is not supported in mobile module"):
        written(torch.jit.script(make()))


class Raises(nn.Module):
    def forward(self, x: int):
        if x > 0:
            raise ValueError(f"bad {x}")
        assert x != -1, "minus one"
        return x


def test_exceptions_and_wrong_arguments_are_errors():
    lite = again(torch.jit.script(Raises()))
    assert lite(0) == 0
    for given, message in ((1, "bad 1"), (-1, "AssertionError: minus one")):
        with pytest.raises(torch.jit.Error, match=message):
            lite(given)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        lite()
    with pytest.raises(RuntimeError):
        lite("text")


class Quiet(nn.Module):
    def forward(self, x, fails: bool):
        with torch.no_grad():
            y = x * 2
            if fails:
                raise ValueError("within")
        return y, x * 2


def test_an_exception_leaves_the_recording_of_gradients_as_it_was():
    lite, x = again(torch.jit.script(Quiet())), torch.ones(1, requires_grad=True)
    assert [y.requires_grad for y in lite(x, False)] == [False, True]
    with pytest.raises(torch.jit.Error, match="within"):
        lite(x, True)
    assert torch.is_grad_enabled()


def test_files_without_bytecode_are_refused():
    plain = io.BytesIO(torch.jit.script(nn.ReLU()).save_to_buffer())
    for file in (plain, io.BytesIO(b"nothing of the kind")):
        with pytest.raises(RuntimeError, match=r"has no bytecode \(bytecode.pkl\)"):
            mobile._load_for_lite_interpreter(file)
    with pytest.raises(ValueError, match="there is no file"):
        mobile._load_for_lite_interpreter("nowhere.ptl")


def test_facts_about_a_file():
    data = written(torch.jit.script(Step()))
    assert mobile._get_model_bytecode_version(io.BytesIO(data)) == 8
    operators = mobile._get_model_ops_and_info(io.BytesIO(data))
    assert {"aten::linear", "aten::relu", "aten::add.Scalar", "aten::gt.int", "aten::size.int"} <= set(operators)
    assert operators["aten::add.Scalar"].num_schema_args == 2
    assert {"List", "Dict", "str", "Tensor", "float"} <= mobile._get_mobile_model_contained_types(io.BytesIO(data))


# Written by PyTorch 2.13: the module Step above in the versions of the format that it can write.
@pytest.mark.parametrize("version", range(4, 9))
def test_files_of_pytorch_run(version):
    path = DATA / f"step_v{version}.ptl"
    assert mobile._get_model_bytecode_version(path) == version
    lite = mobile._load_for_lite_interpreter(path)
    expected = torch.load(DATA / "step_expected.pt")
    assert same(lite(torch.ones(1, 2), 3), expected)


def test_programs_of_pytorch_run():
    expected = torch.load(DATA / "programs_expected.pt")
    for name, (arguments, results) in expected.items():
        assert same(mobile._load_for_lite_interpreter(DATA / f"{name}.ptl")(*arguments), results), name


class Endless(nn.Module):
    def forward(self, n: int):
        xs = [0]
        while True:
            xs.append(n)
        return xs


def test_limits_of_the_thread_hold_for_bytecode():
    lite = again(torch.jit.script(Endless()))
    with torch.jit.limits(trips=100), pytest.raises(RuntimeError, match="at most 100 trips"):
        lite(1)
    with torch.jit.limits(instructions=1000), pytest.raises(RuntimeError, match="at most 1000 instructions"):
        lite(1)
    with torch.jit.limits(memory=1 << 16), pytest.raises(RuntimeError, match="at most 65536 bytes"):
        lite(1)


def damaged(data, old, new):
    """The archive with other bytecode."""
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("bytecode.pkl"):
                assert old in content
                content = content.replace(old, new, 1)
            target.writestr(name, content)
    return io.BytesIO(out.getvalue())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"aten::relu", b"aten::rely", "operators that are not there: aten::rely"),
        (b"LOOP", b"LOOK", "the instruction LOOK, which is not known"),
        (b"STOREN", b"MOVEEE", "the instruction MOVEEE"),
        (b"register_size", b"register_sizf", "there is no table of register_size"),
    ],
)
def test_damaged_bytecode_is_an_error(old, new, message):
    with pytest.raises(RuntimeError, match=message):
        mobile._load_for_lite_interpreter(damaged(written(torch.jit.script(Step())), old, new))


def as_version(data, version, old=b"", new=b""):
    """The file, as if it were written in another version of the operators, with another text in its bytecode."""
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            is_version = name.endswith("/version") and "/.data/" not in name
            target.writestr(name, f"{version}\n" if is_version else source.read(name).replace(old, new) if name.endswith("bytecode.pkl") else source.read(name))
    return mobile._load_for_lite_interpreter(io.BytesIO(out.getvalue()))


class Divides(nn.Module):
    def forward(self, x, y, n: int, r: float):
        out = torch.zeros_like(x)
        by_tensor, by_number = x.clone(), x.clone()
        by_tensor.div_(y)
        by_number.div_(n)
        return [x / y, x / n, torch.div(x, y, out=out), by_tensor, by_number, x / r]


def test_integers_of_old_files_divide_to_integers():
    x, y = torch.tensor([7, -7]), torch.tensor([2, 2])
    data = written(torch.jit.script(Divides()))
    *whole, exact = as_version(data, 3)(x, y, 2, 2.0)
    assert [(q.tolist(), q.dtype) for q in whole] == [([3, -3], torch.int64)] * 5 and exact.tolist() == [3.5, -3.5]
    for quotient in as_version(data, 3)(x.double(), y, 2, 2.0):
        assert quotient.tolist() == [3.5, -3.5]

    class Quotient(nn.Module):
        def forward(self, x, y):
            return x / y

    assert as_version(written(torch.jit.script(Quotient())), 4)(x, y).tolist() == [3.5, -3.5]


def test_whole_numbers_of_old_files_fill_with_floats():
    class Fills(nn.Module):
        def forward(self, n: int):
            return [torch.full([1], n), torch.full([1], True), torch.full([1], 2j), torch.full([1], n, dtype=torch.int32)]

    data = written(torch.jit.script(Fills()))
    assert [t.dtype for t in as_version(data, 4)(3)] == [torch.float32, torch.float32, torch.complex64, torch.int32]
    assert [t.dtype for t in as_version(data, 5)(3)] == [torch.int64, torch.bool, torch.complex64, torch.int32]


def test_steps_of_old_files_may_be_none():
    class Lines(nn.Module):
        def forward(self):
            lines = torch.linspace(0, 1, 77), torch.linspace(0, 1, 77, out=torch.empty(0))
            return [lines[0], lines[1], torch.logspace(0, 1, 77), torch.logspace(0, 1, 77, out=torch.empty(0))]

    data, steps, none = written(torch.jit.script(Lines())), b"K\x4d", b"N"  # a number of a pickle, and None
    assert [t.numel() for t in as_version(data, 7, steps, none)()] == [100] * 4
    assert [t.numel() for t in as_version(data, 7)()] == [77] * 4
    with pytest.raises(TypeError, match="expected int, got None"):
        as_version(data, 8, steps, none)()


def test_functions_without_a_schema_have_the_arguments_that_they_store():
    class Scaled(nn.Module):
        def forward(self, x, n: int, r: float):
            return x * n, n / r

    source, out = zipfile.ZipFile(io.BytesIO(written(torch.jit.script(Scaled())))), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("bytecode.pkl"):
                _, (function, body, _) = pickle.loads(content)
                content = pickle.dumps((4, (function, body)), 2)
            target.writestr(name, content)
    loaded = mobile._load_for_lite_interpreter(io.BytesIO(out.getvalue()))
    assert same(loaded(torch.ones(2), 3, 2.0), (torch.full((2,), 3.0), 1.5))
    with pytest.raises(RuntimeError, match="forward"):
        loaded(torch.ones(2), 3)
