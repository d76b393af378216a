"""C++ that is compiled against Cresset and loaded into the program. One extension is built for all tests here."""

import ctypes
import fcntl
import os
import shutil
import subprocess
import time

import pytest
from cresset.utils import cpp_extension

import cresset as torch

needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None or not any(os.path.exists(f"{p}/pybind11/pybind11.h") for p in ("/usr/include", *cpp_extension._paths.python_includes())),
    reason="a C++ compiler or pybind11 is not installed",
)

SOURCE = """
#include <torch/extension.h>

torch::Tensor scaled(torch::Tensor x, double by) { return x * by; }
torch::Tensor same(torch::Tensor x) { return x; }
std::vector<torch::Tensor> rows(torch::Tensor x) { return x.unbind(0); }
std::optional<int64_t> first(std::vector<int64_t> xs) { return xs.empty() ? std::nullopt : std::optional<int64_t>(xs[0]); }
torch::ScalarType wider(torch::ScalarType a, torch::ScalarType b) { return c10::promoteTypes(a, b); }
torch::Device device_of(torch::Tensor x) { return x.device(); }
void fail(int64_t kind) {
  if (kind == 0) TORCH_CHECK(false, "plain");
  if (kind == 1) TORCH_CHECK_INDEX(false, "index");
  if (kind == 2) TORCH_CHECK_TYPE(false, "type");
  if (kind == 3) throw std::invalid_argument("standard");
  if (kind == 4) torch::ones({2}).view({3});
}
torch::Tensor called(py::function f, torch::Tensor x) { return f(x).cast<torch::Tensor>(); }

struct NetImpl : torch::nn::Module {
  explicit NetImpl(int64_t n) : linear(register_module("linear", torch::nn::Linear(n, 1))) { scale = register_parameter("scale", torch::ones({1})); }
  torch::Tensor forward(torch::Tensor x) { return linear(x) * scale; }
  torch::nn::Linear linear;
  torch::Tensor scale;
};

struct Counter : torch::CustomClassHolder {
  int64_t n;
  explicit Counter(int64_t n) : n(n) {}
  int64_t next() { return ++n; }
};

TORCH_LIBRARY(ext_test, m) {
  m.def("muladd(Tensor a, Tensor b, float c=1.0) -> Tensor", {at::Tag::pointwise});
  m.def("plus", [](torch::Tensor x, int64_t n) { return x + n; });
  m.def("pair", [](torch::Tensor x) { return std::make_tuple(x, x + 1); });
  m.def("names(str[] xs) -> str[]", [](const c10::List<std::string>& xs) { return xs; });
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("next", &Counter::next)
      .def_readwrite("n", &Counter::n)
      .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->n; }, [](int64_t n) { return c10::make_intrusive<Counter>(n); });
  m.def("advance(__torch__.torch.classes.ext_test.Counter c) -> int", [](const c10::intrusive_ptr<Counter>& c) { return c->next(); });
}
TORCH_LIBRARY_IMPL(ext_test, CPU, m) {
  m.impl("muladd", [](const torch::Tensor& a, const torch::Tensor& b, double c) { return a * b + c; });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scaled", &scaled, py::arg("x"), py::arg("by") = 2.0);
  m.def("same", &same);
  m.def("rows", &rows);
  m.def("first", &first);
  m.def("wider", &wider);
  m.def("device_of", &device_of);
  m.def("fail", &fail);
  m.def("called", &called);
  m.def("saved", [](std::vector<torch::Tensor> tensors, const std::string& path) { torch::save(tensors, path); });
  torch::python::bind_module<NetImpl>(m, "Net").def(py::init<int64_t>()).def("forward", &NetImpl::forward);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extension")
    module = cpp_extension.load_inline("ext_test", SOURCE, no_implicit_headers=True, extra_cflags=["-O0"], build_directory=str(folder))
    module.folder = folder
    return module


@needs_compiler
def test_functions_take_and_give_tensors_and_plain_values(built):
    x = torch.arange(4.0).view(2, 2)
    assert built.scaled(x, by=3).tolist() == [[0, 3], [6, 9]]
    assert [row.tolist() for row in built.rows(x)] == [[0, 1], [2, 3]]
    assert (built.first([7, 8]), built.first([])) == (7, None)
    assert built.wider(torch.int64, torch.float16) is torch.float16
    assert built.device_of(x) == torch.device("cpu")


@needs_compiler
def test_a_tensor_keeps_its_object_and_class(built):
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Sub)
    x.note = "kept"
    assert built.same(x) is x


@needs_compiler
def test_arguments_that_do_not_fit_are_type_errors(built):
    with pytest.raises(TypeError, match="torch.Tensor"):
        built.scaled(3)


@needs_compiler
@pytest.mark.parametrize(("kind", "error"), [(0, RuntimeError), (1, IndexError), (2, TypeError), (3, ValueError), (4, RuntimeError)])
def test_errors_of_cpp_are_pythons(built, kind, error):
    with pytest.raises(error):
        built.fail(kind)


@needs_compiler
def test_errors_of_python_pass_through_cpp(built):
    with pytest.raises(ZeroDivisionError):
        built.called(lambda x: 1 / 0, torch.ones(1))


@needs_compiler
def test_gradients_go_through(built):
    x = torch.ones(2, requires_grad=True)
    built.scaled(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]


@needs_compiler
def test_a_cpp_module_is_a_module_of_python(built):
    net = built.Net(2)
    assert isinstance(net, torch.nn.Module)
    assert sorted(name for name, _ in net.named_parameters()) == ["linear.bias", "linear.weight", "scale"]
    net(torch.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.to(torch.float64)
    assert {p.dtype for p in net.parameters()} == {torch.float64}
    assert not net.eval().training


@needs_compiler
def test_operators_are_in_torch_ops(built):
    op = torch.ops.ext_test.muladd
    assert op(torch.ones(2), torch.ones(2), c=2.0).tolist() == [3, 3]
    assert str(op.default._schema) == "ext_test::muladd(Tensor a, Tensor b, float c=1.) -> Tensor"
    assert (op.default.tags, torch.ops.ext_test.names.default.tags) == ([torch.Tag.pointwise], [])
    assert torch.ops.ext_test.names(["a", "b"]) == ["a", "b"]
    with pytest.raises(AttributeError):
        torch.ops.ext_test.nothing


@needs_compiler
def test_classes_are_in_torch_classes(built):
    import copy

    counter = torch.classes.ext_test.Counter(3)
    assert (counter.next(), counter.n, torch.ops.ext_test.advance(counter)) == (4, 4, 5)
    twin = copy.deepcopy(counter)
    twin.n = 0
    assert counter.n == 5
    with pytest.raises(AttributeError):
        counter.m = 1
    with pytest.raises(RuntimeError, match="expected int for the argument"):
        torch.classes.ext_test.Counter("text")
    with pytest.raises(RuntimeError, match="not registered"):
        torch.classes.ext_test.Absent


@needs_compiler
def test_a_schema_of_types_alone_numbers_arguments_and_results(built):
    assert str(torch.ops.ext_test.plus.default._schema) == "ext_test::plus(Tensor _0, int _1) -> Tensor _0"
    assert str(torch.ops.ext_test.pair.default._schema) == "ext_test::pair(Tensor _0) -> (Tensor _0, Tensor _1)"
    assert type(torch.ops.ext_test.pair(torch.ones(1))) is tuple


@needs_compiler
def test_an_operator_of_cpp_gets_its_gradient_from_python(built):
    torch.library.register_autograd("ext_test::muladd", lambda ctx, grad: (grad * 2, grad * 3, None))
    x = torch.ones(2, requires_grad=True)
    torch.ops.ext_test.muladd(x, x).sum().backward()
    assert x.grad.tolist() == [5, 5]
    assert torch.ops.ext_test.muladd(torch.ones(2), torch.ones(2)).requires_grad is False


@needs_compiler
def test_objects_of_classes_are_in_files(built):
    import io

    file = io.BytesIO()
    torch.save({"counter": torch.classes.ext_test.Counter(7)}, file)
    file.seek(0)
    assert torch.load(file, weights_only=False)["counter"].next() == 8


@needs_compiler
def test_tensors_that_cpp_saved_are_parameters_of_what_script_loads(built, tmp_path):
    path = str(tmp_path / "tensors.pt")
    built.saved([torch.ones(2), torch.arange(3)], path)
    loaded = torch.jit.load(path)
    assert [(name, value.tolist()) for name, value in loaded.named_parameters()] == [("0", [1, 1]), ("1", [0, 1, 2])]
    torch.save({"a": torch.ones(1)}, path)
    with pytest.raises(RuntimeError, match="checkpoint"):
        torch.jit.load(path)


def counted(n: int) -> int:
    counter = torch.classes.ext_test.Counter(n)
    return counter.next() + counter.next()


@needs_compiler
def test_classes_are_in_script(built):
    assert torch.jit.script(counted)(3) == 9


@needs_compiler
def test_the_same_sources_are_not_compiled_again(built, monkeypatch):
    def refuse(*args):
        raise AssertionError("compiled")

    monkeypatch.setattr(cpp_extension._jit._Extension, "_build", refuse)
    options = {"no_implicit_headers": True, "build_directory": str(built.folder)}
    again = cpp_extension.load_inline("ext_test", SOURCE, extra_cflags=["-O0"], **options)
    assert again.scaled(torch.ones(1)).tolist() == [2]
    with pytest.raises(AssertionError, match="compiled"):
        cpp_extension.load_inline("ext_test", SOURCE, extra_cflags=["-O1"], **options)


@needs_compiler
def test_what_the_compiler_says_is_in_the_error(tmp_path):
    with pytest.raises(RuntimeError, match="Error building extension 'broken'"):
        cpp_extension.load_inline("broken", "int f( { }", functions=[], no_implicit_headers=True, build_directory=str(tmp_path))


def test_mistakes_are_found_before_the_compiler_runs(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.cpp"):
        cpp_extension.load("a", ["absent.cpp"], build_directory=str(tmp_path))
    with pytest.raises(ValueError, match="a list of names or a dict"):
        cpp_extension.load_inline("a", "", functions=3, build_directory=str(tmp_path))
    with pytest.raises(ValueError, match="no sources"):
        cpp_extension.load("a", [], build_directory=str(tmp_path))
    with pytest.raises(NotImplementedError, match="CUDA sources"):
        cpp_extension.load("a", ["a.cu"], build_directory=str(tmp_path))


def test_a_compiler_that_does_not_fit_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(RuntimeError, match="/nowhere/c"):
        cpp_extension._compiler.about(cpp_extension.get_cxx_compiler())
    assert cpp_extension.get_compiler_abi_compatibility_and_version("/nowhere/c++")[0] is False


def test_setuptools_extensions_name_headers_and_libraries():
    pytest.importorskip("setuptools")
    extension = cpp_extension.CppExtension("x", ["x.cpp"], extra_compile_args=["-g"])
    assert (extension.language, extension.extra_compile_args) == ("c++", ["-g"])
    assert any(os.path.exists(os.path.join(folder, "torch", "extension.h")) for folder in extension.include_dirs)
    command = cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True)
    assert issubclass(command, cpp_extension.BuildExtension)
    with pytest.raises(NotImplementedError, match="kernel.cu"):
        cpp_extension.CUDAExtension("x", ["kernel.cu"])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own; `settled` waits for a header that is made in the background."""
    from cresset.utils.cpp_extension import _compiler

    if not _compiler.check_compiler_is_gcc(_compiler.get_cxx_compiler()):
        pytest.skip("precompiled headers are GCC's")
    root = tmp_path / "cache"
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(root))
    return root


def settled(cache):
    for lock in cache.rglob("*.gch.lock"):
        deadline = time.monotonic() + 300
        with open(lock, "w") as file:
            while lock.with_suffix("").exists() is False and time.monotonic() < deadline:
                time.sleep(0.05)
            fcntl.flock(file, fcntl.LOCK_EX)
    return list(cache.rglob("*.gch"))


@needs_compiler
def test_the_header_that_sources_begin_with_is_precompiled_for_later_builds(cache, tmp_path, monkeypatch):
    from cresset.utils.cpp_extension import _paths

    header = tmp_path / "include" / "ATen" / "ATen.h"
    header.parent.mkdir(parents=True)
    monkeypatch.setattr(_paths, "include_paths", lambda *args: [str(tmp_path / "include")])

    def answer(name, *flags):
        source = tmp_path / f"{name}.cpp"
        source.write_text('// The answer.\n#include <ATen/ATen.h>\nextern "C" __attribute__((visibility("default"))) int answer() { return ANSWER; }\n')
        library = cpp_extension.load(name, [source], is_python_module=False, extra_cflags=list(flags))
        with open(os.path.join(os.path.dirname(library), "build.ninja")) as file:
            return ctypes.CDLL(library).answer(), "-fpch-deps" in file.read()

    header.write_text("#define ANSWER 1\n")
    assert answer("first") == (1, False)
    assert settled(cache)
    assert [answer(name) for name in ("second", "third")] == [(1, True), (1, True)]
    header.write_text("#define ANSWER 2\n")
    os.utime(header, ns=(1, 1))
    assert answer("fourth") == (2, False)
    assert settled(cache)
    assert answer("fifth") == (2, True)
    # Flags that may be asked for once only: at the second time.
    assert [answer(name, "-O1") for name in ("sixth", "seventh")] == [(2, False), (2, False)]
    assert len(settled(cache)) == 2
    assert answer("eighth", "-O1", f"-I{tmp_path}") == (2, True)
    monkeypatch.setenv("CRESSET_PRECOMPILED", "0")
    assert answer("ninth") == (2, False)
    cpp_extension.remove_extension_h_precompiler_headers()
    assert not list(cache.rglob("*.gch"))


@needs_compiler
def test_functions_of_pybind11_are_compiled_once_for_all_extensions(cache):
    options = {"no_implicit_headers": True, "use_pch": True, "extra_cflags": ["-O0"]}
    source = SOURCE.replace("ext_test", "ext_apart").replace("Net", "Apart")  # pybind11 knows a class once in a process
    module = cpp_extension.load_inline("ext_apart", source, **options)
    assert module.scaled(torch.ones(2), by=3).tolist() == [3, 3]
    assert module.called(lambda x: x + 1, torch.ones(1)).tolist() == [2]
    assert dict(module.Apart(2).named_parameters()).keys() == {"scale", "linear.weight", "linear.bias"}
    for kind, error in ((1, IndexError), (3, ValueError)):
        with pytest.raises(error):
            module.fail(kind)
    with pytest.raises(TypeError, match="torch.Tensor"):
        module.scaled(3)
    (unit,) = cache.rglob("ext_apart/*.o")
    defined = subprocess.run(["nm", "-C", "--defined-only", unit], capture_output=True, text=True, check=True).stdout
    assert "cpp_function::dispatcher" not in defined
    # The extension compiles functions that only other headers of pybind11 have.
    more = "#include <torch/extension.h>\n#include <pybind11/functional.h>\nstd::function<int(int)> same(std::function<int(int)> f) { return f; }"
    assert cpp_extension.load_inline("ext_more", more, functions="same", **options).same(abs)(-2) == 2


def test_only_what_a_source_begins_with_can_be_precompiled(tmp_path):
    from cresset.utils.cpp_extension._precompiled import first_header

    source = tmp_path / "source.cpp"
    for text, expected in {
        "/* a\n * b */\n#pragma once\n # include <torch/library.h>\n": "torch/library.h",
        '#include "torch/extension.h"\n': "torch/extension.h",
        "#include <vector>\n#include <torch/extension.h>\n": None,
        "#define X 1\n#include <torch/extension.h>\n": None,
        "int x;\n": None,
    }.items():
        source.write_text(text)
        assert first_header(str(source)) == expected, text
