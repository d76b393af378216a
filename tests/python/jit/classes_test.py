"""Classes: methods of all kinds, dataclasses, with statements; modules that are chosen when the program runs, and packed sequences."""

import dataclasses
import enum
import io
import math
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest
from language_test import again

import cresset as torch
from cresset import nn


class Bound:
    def __init__(self, x: int):
        self.x = x

    @classmethod
    def double(cls, x: int) -> int:
        return x * 2

    @classmethod
    def made(cls, x: int):
        return cls(x)

    @torch.jit.unused
    def left_out(self, q, n: int = 3) -> int:
        return q.nothing

    def go(self) -> int:
        return self.double(self.x)


def bound(x: int):
    return Bound(x).go()


def left_out(x: int):
    if x > 0:
        return Bound(x).x
    return Bound(x).left_out("a")


def test_class_methods_are_bound_to_the_object():
    compiled = torch.jit.script(bound)
    assert compiled(4) == again(compiled)(4) == 8


def test_unused_methods_keep_their_arguments():
    compiled = torch.jit.script(left_out)
    assert compiled(1) == 1
    with pytest.raises(torch.jit.Error, match="left to Python"):
        compiled(-1)


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.apply_ = torch.relu
        self.resize = nn.functional.interpolate

    @staticmethod
    def plus(x: int) -> int:
        return x + 1

    @classmethod
    def times(cls, x: int) -> int:
        return x * 3

    def forward(self, x: torch.Tensor, n: int):
        return self.apply_(x), self.plus(n), Methods.plus(n), self.times(n), self.resize(x, scale_factor=2.0).shape


def test_modules_have_static_and_class_methods_and_operators():
    compiled = torch.jit.script(Methods())
    for f in (compiled, again(compiled)):
        x, *rest = f(torch.tensor([[[-1.0, 2.0]]]), 4)
        assert x.tolist() == [[[0, 2]]] and rest == [5, 5, 12, [1, 1, 4]]


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = [1, 2]

    @torch.jit.export
    def __len__(self) -> int:
        return len(self.items)

    @torch.jit.export
    def __contains__(self, k: int) -> bool:
        return k in self.items

    @torch.jit.export
    def __getitem__(self, k: int) -> int:
        return self.items[k]

    @torch.jit.export
    def __setitem__(self, k: int, v: int) -> None:
        self.items[k] = v

    def forward(self, x: int):
        self[0] = x
        return len(self), 2 in self, self[0]


class Plain(nn.Module):
    def forward(self, x: int):
        return x


def test_exported_methods_of_python_are_those_of_the_compiled_module():
    compiled = torch.jit.script(Sized())
    assert compiled(7) == (2, True, 7)
    assert len(compiled) == 2 and 2 in compiled and 5 not in compiled and compiled[0] == 7
    compiled.__setitem__(1, 9)
    assert compiled[1] == 9
    plain = torch.jit.script(Plain())
    for refused in (lambda: len(plain), lambda: 1 in plain, lambda: plain[0]):
        with pytest.raises(NotImplementedError):
            refused()


@dataclasses.dataclass
class Fields:
    x: torch.Tensor
    n: Optional[torch.Tensor] = None
    start: dataclasses.InitVar[int] = 2

    def __post_init__(self, start: int):
        self.x = self.x + start


def fields(x: torch.Tensor):
    f = Fields(x, start=3)
    return f.x, f.n is None


def test_dataclasses_need_no_comparison_and_take_initial_values():
    x, is_none = torch.jit.script(fields)(torch.ones(1))
    assert x.tolist() == [4] and is_none


@dataclasses.dataclass
class OwnComparison:
    a: int
    b: int

    def __eq__(self, other: "OwnComparison") -> bool:
        return self.a == other.a


@dataclasses.dataclass
class OwnStart:
    def __init__(self, a: int = 2):
        self.a = a * 10


@dataclasses.dataclass(order=True)
class Ordered:
    x: float
    norm: Optional[torch.Tensor] = None


@dataclasses.dataclass
class Factories:
    x: List[int] = dataclasses.field(default_factory=list)


def own_methods(b: int):
    return OwnComparison(1, b) == OwnComparison(1, 2), OwnComparison(1, 2) == OwnComparison(b, 2), OwnStart().a, OwnStart(b).a


def compared(x: float, n: Optional[torch.Tensor]):
    one, other = Ordered(x, n), Ordered(1.0, n)
    return one == other, one < other, one <= other, one > other, one >= other


def test_methods_of_a_dataclass_itself_are_not_written_over():
    for b in (1, 2, 5):
        assert torch.jit.script(own_methods)(b) == own_methods(b)


@pytest.mark.parametrize("norm", [None, torch.tensor(2.0)])
@pytest.mark.parametrize("x", [0.5, 1.0, 2.0])
def test_dataclasses_compare_fields_that_may_be_none(x, norm):
    assert torch.jit.script(compared)(x, norm) == compared(x, norm)


def test_fields_made_by_functions_are_refused():
    with pytest.raises(NotImplementedError, match="default_factory"):
        torch.jit.script(Factories)


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Tensors(enum.Enum):
    ONE = torch.tensor(1)


def mixed(x: Mixed):
    return x


def tensors(x: Tensors):
    return x.name


@pytest.mark.parametrize("program", [mixed, tensors])
def test_enums_have_values_of_one_kind(program):
    with pytest.raises(RuntimeError, match="all int, all float or all str"):
        torch.jit.script(program)


class Context:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 5

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.log.append("out")


def entered(x: int, log: List[str]):
    with Context(log) as k:
        with Context(log):
            if x < 0:
                raise ValueError("negative")
            x += k
    return x


@pytest.mark.parametrize("change", [lambda f: f, again])
def test_exceptions_leave_with_statements_by_their_exit(change):
    compiled = change(torch.jit.script(entered))
    log = torch.jit.script(["start"])
    assert compiled(1, log) == 6 and list(log) == ["start", "in", "in", "out", "out"]
    log = torch.jit.script(["start"])
    with pytest.raises(torch.jit.Error, match="negative"):
        compiled(-1, log)
    assert list(log) == ["start", "in", "in", "out", "out"]
    assert "with" in torch.jit.script(entered).code


@torch.jit.interface
class Adds(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class One(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Words(nn.Module):
    def forward(self, x: int) -> int:
        return x + 1


class HoldsAdds(nn.Module):
    part: Adds

    def __init__(self):
        super().__init__()
        self.part = One()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part.forward(x)


@torch.jit.script
class NoModule:
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def through(x: Adds) -> Adds:
    return x


def test_interfaces_are_checked_where_values_come_in():
    holder, passed = torch.jit.script(HoldsAdds()), torch.jit.script(through)
    other = torch.jit.script(Many())
    holder.part = other
    assert holder(torch.zeros(2)).tolist() == Many()(torch.zeros(2)).tolist()
    for wrong, why in ((torch.jit.script(Words()), "interface"), (Many(), "not compiled")):
        with pytest.raises(RuntimeError, match=why):
            holder.part = wrong
    assert holder.part is other
    passed(other)
    for wrong in (torch.jit.script(Words()), NoModule()):
        with pytest.raises(RuntimeError):
            passed(wrong)
    with pytest.raises(RuntimeError, match="derived from"):

        @torch.jit.interface
        class Derived(nn.ReLU):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                pass


class Many(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 10

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.n


class Other(nn.Module):
    def forward(self, x: int) -> int:
        return x


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([One(), Many()])
        self.named = nn.ModuleDict({"one": One(), "many": Many()})

    def forward(self, x: torch.Tensor, i: int, k: str):
        part: Adds = self.parts[i]
        named: Adds = self.named[k]
        x = part.forward(x) + named.forward(x)
        for j in range(2):
            each: Adds = self.parts[j]
            x = each.forward(x)
        return x + torch.jit.annotate(Adds, self.parts[0]).forward(x), k in self.named


class ChoosesOther(Chooses):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([One(), Other()])


def test_modules_of_one_interface_are_chosen_while_the_program_runs():
    compiled = torch.jit.script(Chooses())
    for f in (compiled, again(compiled)):
        assert f(torch.zeros(1), 0, "many")[0].tolist() == [45] and f(torch.zeros(1), 1, "one")[1] is True
        for refused in ((5, "one"), (0, "none")):
            with pytest.raises(RuntimeError):
                f(torch.zeros(1), *refused)
    with pytest.raises(RuntimeError, match="module '1' of ModuleList is not of the annotated type"):
        torch.jit.script(ChoosesOther())


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

    def forward(self, x: torch.Tensor):
        found = {k: m(x) for k, m in self.named.items()}
        for part in self.parts:
            if x.sum() > 100:
                return found, x
            x = part(x)
        return found, x


def test_loops_over_modules_of_several_classes_may_return():
    found, x = torch.jit.script(Loops())(torch.zeros(1))
    assert x.tolist() == [0] and {k: v.tolist() for k, v in found.items()} == {"a": [0], "b": [0]}


class Packs(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, lengths: torch.Tensor):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, state = self.layer(packed)
        padded, n = nn.utils.rnn.pad_packed_sequence(y, batch_first=True, padding_value=-1.0, total_length=4)
        return padded, n, state


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_take_packed_sequences(layer):
    torch.manual_seed(0)
    module = Packs(layer(2, 3, num_layers=2, bidirectional=True, batch_first=True))
    compiled, arguments = torch.jit.script(module), (torch.randn(3, 3, 2), torch.tensor([1, 3, 2]))
    flat = lambda r: [r[0], r[1], *(r[2] if isinstance(r[2], tuple) else (r[2],))]  # noqa: E731
    for f in (compiled, again(compiled)):
        for got, expected in zip(flat(f(*arguments)), flat(module(*arguments)), strict=True):
            torch.testing.assert_close(got, expected)


def padded(xs: List[torch.Tensor]):
    a = nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=2.0)
    b = nn.utils.rnn.pad_sequence(xs, padding_side="left")
    c = nn.utils.rnn.unpad_sequence(a, torch.tensor([2, 1]), batch_first=True)
    d = nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence(xs))
    return a, b, c, d


def test_sequences_are_padded_and_packed():
    xs = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    compiled = torch.jit.script(padded)
    for f in (compiled, again(compiled)):
        a, b, c, d = f(xs)
        assert a.tolist() == [[1, 2], [3, 2]] and b.tolist() == [[1, 0], [2, 3]]
        assert [x.tolist() for x in c] == [x.tolist() for x in d] == [[1, 2], [3]]


class Point(NamedTuple):
    x: int
    y: int


def point(x: int) -> Point:
    return Point(x, 2)


def test_an_archive_alone_gives_values_of_python(tmp_path):
    torch.jit.script(point).save(str(tmp_path / "point.pt"))
    program = f"import cresset as torch; p = torch.jit.load({str(tmp_path / 'point.pt')!r})(3); print(p.x, p.y)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert done.stdout == "3 2\n", done.stderr


class Narrows(nn.Module):
    def __init__(self):
        super().__init__()
        self.n: Optional[int] = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.n is None:
            return x
        for _ in range(2):
            x = x + self.n
        if self.n is not None and self.n > 2:
            self.n = None
        return x


class Forgets(Narrows):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.n is not None:
            self.n = None
            return x + self.n
        return x


def test_conditions_narrow_attributes_until_they_are_assigned():
    compiled = torch.jit.script(Narrows())
    assert compiled(torch.zeros(1)).tolist() == [6] and compiled(torch.zeros(1)).tolist() == [0]
    with pytest.raises(RuntimeError, match="Optional"):
        torch.jit.script(Forgets())


class Overloaded(nn.Module):
    @torch.jit._overload_method
    def forward(self, x: int) -> int: ...  # noqa: F811

    @torch.jit._overload_method
    def forward(self, x: List[int]) -> int: ...  # noqa: F811

    def forward(self, x):  # noqa: F811
        return x + 1 if isinstance(x, int) else x[0]


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Overloaded()

    def forward(self, x: int):
        return self.part(x), self.part([x])


def test_modules_are_called_by_the_signatures_above_forward():
    compiled = torch.jit.script(Calls())
    assert compiled(3) == again(compiled)(3) == (4, 3)


def adds_one(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (input[0] + 1,)


def doubles(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output * 2


class Within(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x: torch.Tensor):
        return self.part(x)


def test_hooks_are_saved():
    module = One()
    module.register_forward_pre_hook(adds_one)
    module.register_forward_hook(doubles)
    for f in (again(torch.jit.script(module)), again(torch.jit.script(Within(module))), again(again(torch.jit.script(module)))):
        assert f(torch.ones(1)).tolist() == [6]
    assert again(torch.jit.script(module)).forward(torch.ones(1)).tolist() == [2]


class MyPackedSequence(NamedTuple):
    data: torch.Tensor
    batch_sizes: torch.Tensor


class TakesItsOwn(nn.Module):
    def forward(self, x: MyPackedSequence):
        return x.data

    @torch.jit.export
    def forward__packed(self, x: MyPackedSequence):
        return x.batch_sizes


class CallsIt(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = TakesItsOwn()

    def forward(self, x: MyPackedSequence):
        return self.part(x)


def test_only_torchs_packed_sequence_is_taken_for_one():
    assert torch.jit.script(CallsIt())(MyPackedSequence(torch.ones(1), torch.zeros(1))).item() == 1


class Made:
    def __init__(self, x: int):
        self.x = x

    @classmethod
    def of(cls, x: int):
        return cls(x + 1)

    def twice(self) -> int:
        return 2 * self.x


@torch.jit.script
def made(x: int):
    return Made.of(x).twice() + Made(x).of(x).x


class Holds(nn.Module):
    def __init__(self, held):
        super().__init__()
        self.held = held

    def forward(self):
        return self.held.twice()


def test_class_methods_make_objects_and_modules_hold_them():
    assert made(3) == 12
    assert torch.jit.script(Holds(Made(4)))() == 8


class Odd:
    def __init__(self):
        self.x = 1

    def __bool__(self):
        return (1, 2)


def asks():
    return 1 if Odd() else 2


def test_truth_is_a_bool():
    with pytest.raises(RuntimeError, match="__bool__ must return a bool"):
        torch.jit.script(asks)


class WithConstants(nn.Module):
    __constants__ = ["w"]

    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self):
        return self.w


@pytest.mark.parametrize("w", [-2, None, (2, 3), [5.5, -7.25], torch.device("cpu"), (1, "a", None, (True,)), -math.inf, 1 - 2j, 'x"y'])
def test_constants_of_modules_are_in_archives(w):
    compiled = torch.jit.script(WithConstants(w))
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    expected = tuple(w) if isinstance(w, list) else w
    for m in (compiled, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert (m.w, m()) == (expected, expected)


class Swapped(nn.SELU):
    def __prepare_scriptable__(self):
        return nn.ReLU()


class HoldsSwapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Swapped(), nn.Identity())

    def forward(self, x):
        return self.inner(x)


def test_modules_say_what_is_compiled_for_them():
    x = torch.tensor([-1.0, 2.0])
    for m in (Swapped(), HoldsSwapped()):
        assert torch.jit.script(m)(x).tolist() == [0.0, 2.0]
    assert torch.jit.trace(HoldsSwapped(), (x,))(x).tolist() == nn.SELU()(x).tolist()


class CountsItself(nn.Sequential):
    @torch.jit.export
    def __len__(self):
        return 10


class SavesItself(nn.Module):
    def __init__(self):
        super().__init__()
        self.saved: bool = False

    def forward(self, x):
        return x

    @torch.jit.export
    def _save_to_state_dict(self, destination: Dict[str, torch.Tensor], prefix: str, keep_vars: bool):
        self.saved = True


def test_exported_methods_stand_for_those_of_modules():
    assert len(torch.jit.script(CountsItself())) == 10
    m = torch.jit.script(SavesItself())
    m.state_dict()
    assert m.saved


class Scripted(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.n = torch.jit.Attribute(3, int)

    @torch.jit.script_method
    def forward(self, x):
        """Adds n."""
        return x + self.n


def test_a_script_module_has_what_was_compiled():
    m = Scripted()
    assert (m.n, m.forward.name, m.forward.__doc__) == (3, "forward", "Adds n.")
    m.n = 5
    assert (m.n, m(torch.ones(1)).item()) == (5, 6)


class Leaves(nn.Module):
    @torch.jit.unused
    def pair(self, x):
        # type: (Tensor) -> Tuple[Tensor, Tensor]
        return x, x

    def forward(self, x, use: bool):
        if use:
            return self.pair(x)
        return x, x


def test_comments_are_the_types_of_functions_that_are_not_compiled():
    assert len(torch.jit.script(Leaves())(torch.ones(1), False)) == 2


class WithStatic:
    def __init__(self, x: int):
        self.x = x

    @staticmethod
    def half(x: int) -> float:
        return x / 2


def halves(x: int):
    return WithStatic(x).half(x) + WithStatic.half(3)


def test_static_methods_are_in_archives():
    compiled = torch.jit.script(halves)
    assert compiled(4) == again(compiled)(4) == 3.5


class HoldsHook(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen: Optional[torch.Tensor] = None

    @torch.jit.ignore
    def keep(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x + 1
        return x

    def forward(self, x):
        return self.keep(x)


def test_an_ignored_method_changes_the_compiled_module():
    m = torch.jit.script(HoldsHook())
    m(torch.ones(1))
    assert m.seen.item() == 2


class Training(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.part = nn.Dropout(1.0)

    @torch.jit.script_method
    def forward(self, x):
        return self.part(x)


def test_eval_reaches_the_parts_of_a_script_module():
    m = Training()
    assert m(torch.ones(1)).item() == 0
    assert m.eval()(torch.ones(1)).item() == 1


def test_hooks_have_names_of_their_own():
    def add(module, inputs: Tuple[torch.Tensor]):
        return (inputs[0] + 1,)

    def named(value):
        value.__name__ = "add"
        return value

    def double(module, inputs: Tuple[torch.Tensor]):
        return (inputs[0] * 2,)

    m = nn.Sequential(nn.ReLU())
    m.register_forward_pre_hook(add)
    m.register_forward_pre_hook(named(double))
    with pytest.raises(RuntimeError, match="two of the name 'add'"):
        torch.jit.script(m)


class KeepsState(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        return x + self.b

    @torch.jit.export
    def __getstate__(self):
        return (self.b, 74, self.training)

    @torch.jit.export
    def __setstate__(self, state):
        self.b = state[0] + 10
        self.training = state[2]


def test_the_state_that_is_set_is_of_the_type_that_was_given():
    assert again(torch.jit.script(KeepsState()))(torch.zeros(2)).tolist() == [11.0, 11.0]


class Recipe:
    def __init__(self, n: int, axes: List[int]):
        self.n, self.axes = n, axes

    def total(self, x: int) -> int:
        return self.n + x


class Opaque:
    def __init__(self, path):
        self.path = open(path, "rb") if path else None


def apply_recipe(recipe: Recipe, x):
    return x * recipe.total(len(recipe.axes))


class HoldsObjects(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.last, self.opaque = {1: Recipe(3, [1]), 2: Recipe(4, [1, 2])}, Recipe(1, [0]), Opaque(None)

    def forward(self, x):
        return apply_recipe(self.table[x.dim()], x) + self.last.total(0)


def test_objects_of_classes_that_nothing_compiled_before_are_attributes():
    made = torch.jit.script(HoldsObjects())
    for module in (made, again(made)):
        assert (module(torch.ones(1)).item(), module(torch.ones(1, 1)).item()) == (5, 7)


def asks_for_a_compiler(x):
    if torch.compiler.is_compiling() or torch.compiler.is_dynamo_compiling():
        return x + 1
    return x + 2


def test_scripts_are_not_being_captured():
    assert torch.jit.script(asks_for_a_compiler)(torch.ones(1)).item() == 3


class Checked:
    def __init__(self, x: torch.Tensor, limit: int):
        if x.dim() != 1:
            raise ValueError(f"expected one dimension, got {x.dim()}")
        if limit < 0:
            if limit < -5:
                raise ValueError("limit is too small")
            limit = 0
        self.x = x
        self.limit = limit


class EarlyLeft:
    def __init__(self, early: bool):
        self.kind = 0
        if early:
            return
        self.kind = 1


def check(x, limit: int):
    made = Checked(x, limit)
    return made.x.sum() + made.limit


def kind_of(early: bool):
    return EarlyLeft(early).kind


def test_attributes_are_first_assigned_after_branches_that_leave():
    run, kind = torch.jit.script(check), torch.jit.script(kind_of)
    assert [run(torch.ones(2), limit).item() for limit in (3, -1)] == [5, 2]
    assert [kind(early) for early in (False, True)] == [1, 0]
    for x, limit, said in ((torch.ones(1, 1), 3, "expected one dimension"), (torch.ones(2), -9, "limit is too small")):
        with pytest.raises(torch.jit.Error, match=said):
            run(x, limit)


class InOneBranch:
    def __init__(self, n: int):
        if n > 3:
            raise ValueError("n")
        else:
            self.n = n


class AfterOneInABranch:
    def __init__(self, x: torch.Tensor, n: int):
        if n > 0:
            if n > 3:
                raise ValueError("n")
            self.n = n
        else:
            self.n = 0


class InALoop:
    def __init__(self, n: int):
        for i in range(n):
            self.n = i


@pytest.mark.parametrize("kind", [InOneBranch, AfterOneInABranch, InALoop])
def test_attributes_are_not_first_assigned_within_branches_and_loops(kind):
    with pytest.raises(RuntimeError, match="first assigned outside of branches and loops: 'n'"):
        torch.jit.script(kind)
