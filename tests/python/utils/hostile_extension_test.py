"""Libraries that do what they must not: each is an error with a text, and the process goes on."""

import os
import shutil
from pathlib import Path

import pytest
from cresset.utils import cpp_extension
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

SOURCE = Path(__file__).resolve().parents[2] / "dispatch" / "extension" / "hostile.cpp"
needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None or not any(os.path.exists(f"{p}/pybind11/pybind11.h") for p in ("/usr/include", *cpp_extension._paths.python_includes())),
    reason="a C++ compiler or pybind11 is not installed",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    cpp_extension.load("hostile_cpp", [str(SOURCE)], is_python_module=False, build_directory=str(folder), extra_cflags=["-O0"])
    return torch.ops.hostile


def calls(name, *rest, grad=False):
    def run(ops):
        out = getattr(ops, name)(torch.ones(3, requires_grad=grad), *rest)
        if grad:
            out.sum().backward()

    return run


@needs_compiler
@pytest.mark.parametrize("run,error,text", [
    (calls("throws"), RuntimeError, "the kernel is out of paper"),
    (calls("throws_int"), RuntimeError, "C\\+\\+ threw an object that is no std::exception"),
    (calls("drops"), RuntimeError, "hostile::drops: the kernel at .*hostile.cpp.* left 0 results on the stack, expected 1"),
    (calls("leaves", 1), RuntimeError, "left 2 results on the stack, expected 1 in place of the 2 arguments"),
    (calls("wrong_kind"), TypeError, "result 0 of the kernel at .* is no tensor"),
    (calls("wrong_grad", grad=True), RuntimeError, r"returned an invalid gradient for input 0, got shape \[7\], expected shape compatible with \[3\]"),
    (calls("few_grads", grad=True), RuntimeError, "incorrect number of gradients, got 1, expected 2"),
])  # fmt: skip
def test_kernels_that_misbehave_are_errors(hostile, run, error, text):
    with pytest.raises(error, match=text):
        run(hostile)
    assert torch.ones(2).sum().item() == 2


@needs_compiler
def test_memory_of_a_program_is_freed_once(hostile):
    freed = hostile.freed_so_far()
    t = hostile.freed(torch.ones(1))
    view = t[1:]
    del t
    assert view.tolist() == [2, 3, 4] and hostile.freed_so_far() == freed
    del view
    assert hostile.freed_so_far() == freed + 1


# ---- in Python ------------------------------------------------------------------------------------------------------------


class Again(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        with self:
            return func(*args, **(kwargs or {}))


class AgainAbove(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        with self:
            return func(*args, **(kwargs or {}))


class Leaves(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.__exit__(None, None, None)
        return func(*args, **(kwargs or {}))


class LeavesAbove(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.__exit__(None, None, None)
        return func(*args, **(kwargs or {}))


class Enters(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Quiet().__enter__()
        return func(*args, **(kwargs or {}))


class EntersAbove(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        QuietAbove().__enter__()
        return func(*args, **(kwargs or {}))


class QuietAbove(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Quiet(TorchDispatchMode):
    heard = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Quiet.heard += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Again, AgainAbove])
def test_a_mode_that_calls_itself_without_end_is_a_recursion_error(mode):
    with pytest.raises(RecursionError), mode():
        torch.ones(2) + 1
    assert (torch.ones(2) + 1).tolist() == [2, 2]


@pytest.mark.parametrize("mode", [Leaves, LeavesAbove])
def test_a_mode_that_leaves_itself_is_an_error_and_stays_until_its_end(mode):
    x = torch.ones(2)
    with mode():
        for _ in range(2):
            with pytest.raises(RuntimeError, match=f"{mode.__name__}: cannot be left here, where it is not the innermost mode"):
                x + 1
    assert (x + 1).tolist() == [2, 2]


@pytest.mark.parametrize("mode", [Enters, EntersAbove])
def test_modes_that_a_mode_enters_and_does_not_leave_end_with_the_call(mode):
    x = torch.ones(2)
    with mode():
        assert (x + 1).tolist() == [2, 2]
    Quiet.heard = 0
    assert (x + 1).tolist() == [2, 2] and Quiet.heard == 0 and not torch.overrides._get_current_function_mode_stack()


class Wrong(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.ones(5)


class Endless(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_a_subclass_that_returns_another_shape_is_found_in_backward():
    x = torch.Tensor._make_wrapper_subclass(Wrong, (2,), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"MulBackward0: returned an invalid gradient for input 0, got shape \[5\]"):
        (x * 2).sum().backward()


def test_a_subclass_that_calls_itself_without_end_is_a_recursion_error():
    with pytest.raises(RecursionError):
        torch.Tensor._make_wrapper_subclass(Endless, (2,)) + 1


def test_definitions_that_are_there_name_both_places():
    library = torch.library.Library("hostile_twice", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    here = f"{__file__}:"
    with pytest.raises(RuntimeError) as error:
        library.define("f(Tensor x) -> Tensor")
    assert str(error.value).count(here) == 2


@pytest.mark.parametrize("schema,marked", [
    ("f(Tensor x -> Tensor", "f(Tensor x -> Tensor\n             ^"), ("f(Tenso x) -> Tensor", "f(Tenso x) -> Tensor\n         ^"),
    ("f(Tensor x=3) -> Tensor", "f(Tensor x=3) -> Tensor\n              ^"), ("f(Tensor x,) -> Tensor", "f(Tensor x,) -> Tensor\n             ^"),
])  # fmt: skip
def test_wrong_schemas_are_marked_where_they_are_wrong(schema, marked):
    with pytest.raises(RuntimeError) as error:
        torch.library.Library("hostile_schema", "FRAGMENT").define(schema)
    assert marked in str(error.value)


@pytest.mark.parametrize("function,text", [
    (lambda x: 3, "expected a Tensor as result, got int"), (lambda x: 1 / 0, "division by zero"), (lambda: 1, "takes 0 positional arguments but 1 was given"),
    (lambda x: torch.ops.hostile_python.f(x), "maximum recursion depth exceeded"),
])  # fmt: skip
def test_functions_that_misbehave_are_errors(function, text):
    with torch.library._scoped_library("hostile_python", "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", function, "CPU")
        with pytest.raises(Exception, match=text):
            torch.ops.hostile_python.f(torch.ones(2))
    assert (torch.ones(2) + 1).tolist() == [2, 2]
