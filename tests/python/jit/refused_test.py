"""Refusals of TorchScript, each of which says why."""

from typing import List, NamedTuple, Optional, Tuple

import pytest
from language_test import again

import cresset as torch
from cresset import Tensor, nn


def unit(text):
    return torch.jit.CompilationUnit(text)


TAKERS = """
def takes(x: List[Optional[int]]):
    return len(x)
def counts(x: Dict[str, Optional[int]]):
    return len(x)
def reads(x: List[Any]):
    return len(x)
def grows(x: List[int]):
    x.append(3)
    return x
"""


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: List[int]):\n    y: List[Optional[int]] = x\n    return y\n",
        "def f(x: List[int]) -> List[Optional[int]]:\n    return x\n",
        "def f(x: List[List[int]]):\n    y: List[List[Optional[int]]] = x\n    return y\n",
        "def f(x: Dict[str, int]) -> Dict[str, Optional[int]]:\n    return x\n",
        "def f(x: Tuple[List[int], int]) -> Tuple[List[Optional[int]], int]:\n    return x\n",
        "def f(x: List[int]):\n    return takes(x)\n",
        "def f(x: int):\n    return takes([x])\n",
        'def f(x: int):\n    return counts({"a": x})\n',
        "def f(x: List[int]):\n    return reads(x)\n",
        "def f(x: List[int]):\n    y: List[List[Optional[int]]] = []\n    y.append(x)\n    return y\n",
        "def f(x: List[int]):\n    y: List[Optional[int]] = []\n    y.extend(x)\n    return y\n",
        "def f(x: List[int]):\n    y: Optional[List[Optional[int]]] = None\n    if len(x) > 1:\n        y = x\n    return y\n",
        "def f():\n    a = []\n    return grows(a)\n",
        "def f():\n    a = []\n    b: List[int] = a\n    return b\n",
        "def f() -> Dict[int, int]:\n    a = {}\n    return a\n",
    ],
)
def test_lists_and_dicts_are_of_their_own_type_alone(text):
    with pytest.raises(RuntimeError, match=r"(List|Dict)\[|Tuple\[List"):
        unit(TAKERS + text)


def test_literals_are_of_the_type_that_is_asked_for():
    made = unit("def f(x: int):\n    y: List[Optional[int]] = [x]\n    z: List[Optional[int]] = [i for i in range(x)]\n    y.append(None)\n    return y, z\n")
    assert made.f(2) == ([2, None], [0, 1])


def test_operators_read_lists_of_narrower_elements():
    assert unit("def f(x: Tensor, i: List[Tensor]):\n    return torch.ops.aten.index(x, i)\n").f(torch.arange(4), [torch.tensor([1])]).tolist() == [1]


def test_objects_are_told_apart():
    made = unit(
        "def f():\n    a = [1]\n    b = a\n    return [1, 1] is [1, 1], [1] is not [1], a is b, a is not b\n"
        "def g(x: Dict[int, int], y: Dict[int, int]):\n    return x is y, x is x\n"
    )
    assert made.f() == (False, True, True, False)
    assert made.g({1: 1}, {1: 1}) == (False, True)


def test_lists_of_tensors_are_compared_by_values_that_are_single():
    made = unit("def f(x: List[Tensor], y: List[Tensor]):\n    return x == y, x != y\n")
    assert made.f([torch.ones(1)], [torch.ones(1)]) == (True, False)
    two = torch.ones(2)
    with pytest.raises(RuntimeError, match="ambiguous"):
        made.f([two], [two])


@pytest.mark.parametrize(
    "text, message",
    [
        ("def f(c: int):\n    if c > 1:\n        raise ArbitraryError('a')\n    return c\n", "undefined value ArbitraryError"),
        ("def f(x: Any):\n    return isinstance(x, List)\n", "List stands for no type without those that it contains"),
        ("def f(x: Any):\n    return torch.jit.isinstance(x, Dict)\n", r"Dict stands for no type .* as in Dict\[str, int\]"),
        ("def f():\n    y: Union[List[int], List[str]] = []\n    return y\n", "without elements it may be of several of the types"),
        ("def f():\n    y: Union[List[Tensor], int] = ['a']\n    return y\n", "expected elements of type Tensor as annotated, got str"),
        ("def f():\n    y: Union[Dict[str, Tensor], Dict[str, int]] = {}\n    return y\n", "without elements it may be of several of the types"),
        (
            "def f(l: List[int], t: Tuple[int, int]):\n    k = 0\n    for a, b in zip(l, t):\n        k += a\n    return k\n",
            "together with what has a length that is known",
        ),
        ("def f(a): #type: (int) -> int\n    return a\n", "begins with '# type:'"),
        ("def f(a):\n    # type : (int) -> int\n    return a\n", "begins with '# type:'"),
        ("def f(a,  # type: int\n      b\n      ):\n    # type: (...) -> int\n    return a\n", "'b' has no comment with its type"),
        ("def f(x: int = 2.5):\n    return x\n", "the default of 'x' is not of type int"),
        ("def f(c: bool) -> Optional[int]:\n    if c:\n        return 1\n", "does not return along all paths"),
    ],
)
def test_texts_that_say_too_little_or_two_things(text, message):
    with pytest.raises(RuntimeError, match=message):
        unit(text)


def test_of_several_types_a_literal_has_that_of_its_kind():
    made = unit("def f():\n    y: Union[List[int], Dict[str, int]] = []\n    z: Union[List[int], Dict[str, int]] = {}\n    return y, z\n")
    assert made.f() == ([], {})


def declares_a_body(x: str) -> str:
    return x


class Held(NamedTuple):
    x: Tensor = torch.ones(1)


class TakesHeld(nn.Module):
    def forward(self, p: Held):
        return p


class HasNoSelf(nn.Module):
    def forward():
        return torch.zeros(1)


class IgnoresNoSelf(nn.Module):
    @torch.jit.ignore
    def g():
        # type: () -> int
        return 1

    def forward(self):
        return self.g()


class AnnotatesLate(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 1

    def forward(self, v: int):
        self.x: int = v
        return self.x


class HasAConstant(torch.jit.ScriptModule):
    __constants__ = ["a"]

    def __init__(self, a):
        super().__init__()
        self.a = a


class HoldsItself:
    def __init__(self):
        self.parent = torch.jit.annotate(Optional[HoldsItself], None)


def holds_a_list(x: Tuple[int, List[int]] = (1, [2])):
    return x[0]


@pytest.mark.parametrize(
    "made, error, message",
    [
        (lambda: torch.jit._overload(declares_a_body), RuntimeError, "declares_a_body.* declares a signature"),
        (lambda: torch.jit._overload(lambda x: x), RuntimeError, "declares a signature"),
        (lambda: torch.jit.script(TakesHeld()), RuntimeError, "default of Held.x is a tensor"),
        (lambda: torch.jit.script(HasNoSelf()), RuntimeError, "a method has a parameter for its object"),
        (lambda: torch.jit.script(IgnoresNoSelf()), RuntimeError, "a method has a parameter for its object"),
        (lambda: torch.jit.script(AnnotatesLate()), ValueError, "annotated where they are made, in __init__"),
        (lambda: HasAConstant([nn.Linear(1, 1)]), TypeError, "'.*Linear' object in attribute 'HasAConstant.a' is no constant"),
        (lambda: HasAConstant([1, {}]), TypeError, "'dict' object in attribute 'HasAConstant.a' is no constant"),
        (lambda: torch.jit.script(HoldsItself), RuntimeError, "'parent' would hold an object of the class that is being defined"),
        (lambda: torch.jit.script(holds_a_list), RuntimeError, "the default of x holds a list, which Python makes once"),
    ],
)
def test_definitions_that_have_no_meaning(made, error, message):
    with pytest.raises(error, match=message):
        made()


class HasUnused(nn.Module):
    __jit_unused_properties__ = ["p"]

    @property
    def p(self):
        return 1

    @torch.jit.unused
    @property
    def q(self):
        return 2

    @property
    def r(self):
        return 3

    def forward(self, x):
        return x


def test_unused_properties_are_not_there():
    compiled = torch.jit.script(HasUnused())
    assert compiled.r == 3
    for name in "pq":
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(compiled, name)


@pytest.mark.parametrize("ask", [lambda s: "a" in s, lambda s: s.count("a"), lambda s: s.index("a"), lambda s: s.remove("a")])
def test_values_of_other_types_are_not_looked_for_in_lists(ask):
    with pytest.raises(TypeError, match="int"):
        ask(torch.jit.script([1]))


TEXTS = [
    ("torch.nn.init.ones_(x)", lambda x: torch.ones(2, 2)),
    ("torch.nn.init.constant_(x, 2.0)", lambda x: torch.full((2, 2), 2.0)),
    ("torch.nn.init.xavier_uniform_(x) > 9", lambda x: x > 9),
    ("torch.sparse.mm(x.to_sparse(), x)", lambda x: x @ x),
    ("torch.sparse.softmax(x.to_sparse(), 1).to_dense()", lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense()),
    ("torch.tensordot(x, x, dims=1)", lambda x: x @ x),
    ("torch.tensordot(x, x, dims=([1], [0]))", lambda x: x @ x),
    ("torch.functional.tensordot(x, x, 1)", lambda x: x @ x),
    ("torch.norm(x, dim=1)", lambda x: torch.norm(x, dim=1)),
    ("torch.nn.functional.cross_entropy(x, x)", lambda x: nn.functional.cross_entropy(x, x)),
    ("torch.unique_consecutive(x)", torch.unique_consecutive),
]


@pytest.mark.parametrize("expression, expected", TEXTS, ids=[t for t, _ in TEXTS])
def test_texts_name_what_torch_has_in_python(expression, expected):
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    made = unit(f"def f(x: Tensor):\n    return {expression}\n")
    assert torch.equal(made.f(x.clone()), expected(x.clone()))

    class Within(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.define(f"def forward(self, x: Tensor):\n    return {expression}\n")

    assert torch.equal(again(Within())(x.clone()), expected(x.clone()))
