"""Archives keep more of a compiled program than its code: defaults, names and their order."""

import io
import math
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
