"""Archives keep more of a compiled program than its code: defaults, names and their order."""

import io
import math
import zipfile
from typing import Optional, Tuple

import pytest

import cresset as torch
from cresset import nn


def again(compiled):
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


class Shifts(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        by: int = -4,
        pair: Tuple[int, float] = (1, -2.5),
        flag: bool = True,
        name: str = 'a"\n',
        none: Optional[int] = None,
        most: float = math.inf,
        least: float = -math.inf,
        device: torch.device = torch.device("cpu"),
    ):
        return x + by + pair[0] * pair[1] if flag and most > least else x


def test_parameters_of_methods_keep_their_defaults():
    compiled = torch.jit.script(Shifts())
    loaded = again(again(compiled))
    x = torch.ones(2)
    assert loaded(x).equal(compiled(x))
    assert loaded(x, by=3).equal(compiled(x, 3))
    kept = [(a.name, a.default_value) for a in compiled.forward.schema.arguments][2:]
    assert [(a.name, a.default_value) for a in loaded.forward.schema.arguments][2:] == kept


@torch.jit.script
def shifted(x: torch.Tensor, by: int = 4) -> torch.Tensor:
    return x + by


def test_those_of_functions_are_lost_as_in_pytorch():
    assert again(shifted)(torch.ones(1), 4).item() == 5
    with pytest.raises(RuntimeError, match="missing value for argument 'by'"):
        again(shifted)(torch.ones(1))


class Named(nn.Module):
    """Parts and parameters whose names are no identifiers of the text, among others."""

    names = ("b", "lambda", "0", "in", "self", "x-y", "class", "print", 'q"t', "a", "None", "if", "torch")

    def __init__(self):
        super().__init__()
        for i, name in enumerate(self.names):
            self.add_module(name, nn.Linear(1, 1))
            self.register_parameter("p" + name, nn.Parameter(torch.full((1,), float(i))))
            self.register_buffer(name + "_of", torch.full((1,), float(i)))
        self.register_parameter("while", nn.Parameter(torch.full((1,), 7.0)))

    def forward(self, x):
        return x + getattr(self, "while") + self.a_of + getattr(self, "in")(x) * 0


def test_names_of_any_kind_keep_their_order():
    module = Named()
    compiled = torch.jit.script(module)
    loaded = again(again(compiled))
    for members in ("named_modules", "named_parameters", "named_buffers"):
        assert [name for name, _ in getattr(loaded, members)()] == [name for name, _ in getattr(compiled, members)()]
    assert [name for name, _ in loaded.named_modules()] == ["", *Named.names]
    assert loaded(torch.ones(1)).equal(torch.full((1,), 1.0 + 7.0 + Named.names.index("a")))


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.number, self.weight = nn.ReLU(), 3, nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.ones(1))

    def forward(self, x):
        return self.part(x) * self.number


def test_parts_of_a_compiled_module_cannot_be_deleted():
    compiled = torch.jit.script(Parts())
    for name in ("part", "weight", "mean"):
        with pytest.raises(RuntimeError, match=f"cannot delete '{name}'"):
            delattr(compiled, name)
        assert hasattr(compiled, name)
    for name in ("number", "training", "nothing"):
        with pytest.raises(AttributeError, match=name):
            delattr(compiled, name)
    compiled.note = 3
    del compiled.note
    assert not hasattr(compiled, "note")


def test_modules_are_not_added_to_a_compiled_module():
    compiled = torch.jit.script(Parts())
    for add in (lambda: compiled.add_module("more", nn.ReLU()), lambda: setattr(compiled, "more", nn.ReLU())):
        with pytest.raises(RuntimeError, match="cannot add 'more', a ReLU"):
            add()
    assert [name for name, _ in compiled.named_modules()] == ["", "part"]


def test_a_state_that_does_not_fit_leaves_a_compiled_module_as_it_was():
    compiled = torch.jit.script(nn.Linear(2, 1))
    before = {name: t.clone() for name, t in compiled.state_dict().items()}
    for state, message in (({"weight": torch.ones(1, 2)}, "bias"), ({"weight": torch.ones(1, 2), "bias": torch.ones(3)}, "bias")):
        with pytest.raises(RuntimeError, match=message):
            compiled.load_state_dict(state)
        assert all(t.equal(before[name]) for name, t in compiled.state_dict().items())


class Placed(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = torch.device("cpu")

    def forward(self, x):
        return x.to(self.place)


def test_devices_are_attributes():
    compiled = torch.jit.script(Placed())
    for program in (compiled, again(compiled)):
        assert program.place == torch.device("cpu")
        assert program(torch.ones(1)).item() == 1


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1500, 96)

    def forward(self, x):
        return self.inner(x)


def test_a_packed_linear_map_rounds_as_the_operator():
    torch.manual_seed(0)
    module = Wide().eval()
    x = torch.randn(64, 1500)
    with torch.no_grad():
        packed = torch.jit.optimize_for_inference(torch.jit.script(module))
        for _ in range(2):
            assert packed(x).equal(module(x))


class Holds(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.register_buffer("value", value)

    def forward(self, x: torch.Tensor):
        return self.value


EYE = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
UNUSUAL = {"meta": torch.empty(2, 3, device="meta"), "coo": EYE.to_sparse(), "csr": EYE.to_sparse_csr(), "complex": EYE.to(torch.complex64).to_sparse()}


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("frozen", [False, True])
def test_meta_and_sparse_tensors_are_saved(kind, frozen):
    value = UNUSUAL[kind]
    compiled = torch.jit.script(Holds(value).eval())
    got = again(torch.jit.freeze(compiled) if frozen else compiled)(torch.ones(1))
    assert (got.layout, got.device, got.dtype, got.shape) == (value.layout, value.device, value.dtype, value.shape)
    assert kind == "meta" or torch.equal(got.to_dense(), value.to_dense())


def test_meta_views_keep_where_they_begin():
    view = torch.empty(4, 4, device="meta")[1:, ::2]
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Holds(view)), file)
    for location in (None, "cpu"):
        file.seek(0)
        got = torch.jit.load(file, map_location=location).value
        assert (got.device.type, got.shape, got.stride(), got.storage_offset()) == ("meta", view.shape, view.stride(), 4)


def test_sparse_parameters_keep_that_they_require_gradients():
    module = nn.Module()
    module.weight = nn.Parameter(EYE.to_sparse())
    weight = again(torch.jit.script(module)).weight
    assert (weight.layout, weight.requires_grad) == (torch.sparse_coo, True)


@pytest.mark.parametrize("value", [EYE.to_sparse_csc(), EYE.to_sparse_bsr((1, 1))])
def test_other_sparse_layouts_have_no_place_in_archives(value):
    with pytest.raises(RuntimeError, match="save: archives hold strided tensors and those of sparse_coo and sparse_csr, got one of layout sparse_"):
        again(torch.jit.script(Holds(value)))


@pytest.mark.parametrize("kind", ["meta", "coo", "csr"])
def test_pytorch_and_this_exchange_meta_and_sparse_tensors(kind, tmp_path):
    peer = pytest.importorskip("torch")
    torch.jit.save(torch.jit.script(Holds(UNUSUAL[kind])), tmp_path / "ours.pt")
    got = peer.jit.load(str(tmp_path / "ours.pt")).value
    assert (str(got.layout), got.device.type) == (str(UNUSUAL[kind].layout), UNUSUAL[kind].device.type)
    peer.jit.save(peer.jit.load(str(tmp_path / "ours.pt")), str(tmp_path / "theirs.pt"))
    back = torch.jit.load(str(tmp_path / "theirs.pt")).value
    assert (back.layout, back.device) == (UNUSUAL[kind].layout, UNUSUAL[kind].device)
    if kind != "meta":
        assert got.to_dense().tolist() == back.to_dense().tolist() == EYE.tolist()


def changed(module, *changes):
    """The archive of a module with other texts in its code."""
    now, then = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(module), now)
    with zipfile.ZipFile(now) as source, zipfile.ZipFile(then, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.endswith(".py"):
                for old, new in changes:
                    assert old in content
                    content = content.replace(old, new)
            target.writestr(entry.filename, content)
    return io.BytesIO(then.getvalue())


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.number, self.names = 3, ["a"]

    def forward(self, x):
        y = torch.neg(torch.sigmoid(x)) * self.number
        if len(self.names) > 1:
            y = torch.tanh(y)
        return torch.relu(y)


def test_all_operators_that_an_archive_lacks_are_named_at_once():
    archive = changed(Chain(), (b"torch.sigmoid(", b"torch.sigmoide("), (b"torch.tanh(", b"ops.mine.tanh("), (b"torch.relu(", b"torch._C._nn.rectified("))
    with pytest.raises(RuntimeError, match="calls 3 operators that are lacking here") as error:
        torch.jit.load(archive)
    for name in ("torch.sigmoide", "ops.mine.tanh", "torch._C._nn.rectified"):
        assert f"{name}:\n" in str(error.value)
    assert str(error.value).count("<--- HERE") == 3 and "code/__torch__" in str(error.value)
    with pytest.raises(RuntimeError, match="module torch has no attribute 'sigmoide'"):
        torch.jit.load(changed(Chain(), (b"torch.sigmoid(", b"torch.sigmoide(")))


@pytest.mark.parametrize(
    "annotation, message",
    [(b"number : str", "'number' of .*Chain is of type str, got int"), (b"number : Tensor", "'number' of .*Chain is of type Tensor, got int")],
)
def test_attributes_of_another_type_than_the_class_says_are_refused(annotation, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.load(changed(Chain(), (b"number : int", annotation)))


@pytest.mark.parametrize("name", ["number", "names"])
def test_attributes_of_another_type_are_not_assigned(name):
    compiled = torch.jit.script(Chain())
    with pytest.raises((RuntimeError, TypeError), match="expected a value of type"):
        setattr(compiled, name, 1.5)
    assert (compiled.number, list(compiled.names)) == (3, ["a"])


def test_cut_archives_are_errors():
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Chain()), file)
    whole = file.getvalue()
    for size in range(0, len(whole), 97):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(whole[:size]))


@pytest.mark.parametrize("version", [b"0", b"-3", b"11", b"x", b"99999999999999999999"])
def test_archives_of_unknown_versions_are_refused(version):
    now, then = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(Chain()), now)
    with zipfile.ZipFile(now) as source, zipfile.ZipFile(then, "w") as target:
        for entry in source.infolist():
            is_version = entry.filename.endswith("/version") and "/.data/" not in entry.filename
            target.writestr(entry.filename, version if is_version else source.read(entry))
    with pytest.raises(RuntimeError, match="of version .*, expected 1 to 10"):
        torch.jit.load(io.BytesIO(then.getvalue()))


RECURSIVE = {
    "a function": "def f(n: int) -> int:\n    return f(n - 1)\n",
    "two functions": "def f(n: int) -> int:\n    return g(n)\ndef g(n: int) -> int:\n    return f(n)\n",
    "a forked function": "def f(n: int) -> int:\n    a = torch.jit.fork(f, n)\n    return torch.jit.wait(a)\n",
}


@pytest.mark.parametrize("kind", RECURSIVE)
def test_recursion_without_end_is_an_error(kind):
    with pytest.raises(RuntimeError, match="recursive|calls of methods within each other"):
        torch.jit.CompilationUnit(RECURSIVE[kind]).f(1)


def test_exceptions_pass_through_forked_calls():
    unit = torch.jit.CompilationUnit(
        "def bad(x):\n    if bool(x.sum() > 0):\n        raise ValueError('boom')\n    return x\n"
        "def middle(x):\n    return torch.jit.wait(torch.jit.fork(bad, x))\n"
        "def f(x):\n    return torch.jit.wait(torch.jit.fork(middle, x))\n"
    )
    assert unit.f(torch.zeros(1)).item() == 0
    for _ in range(3):
        with pytest.raises(RuntimeError, match="builtins.ValueError: boom"):
            unit.f(torch.ones(1))
