"""Symbols have the names that PyTorch gives them: they follow from what a symbol stands for, not from how many there are."""

from cresset._subclasses.fake_tensor import FakeTensorMode
from cresset.fx.experimental import symbolic_shapes as shapes
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch


def test_of_tensors_without_a_source():
    mode = FakeTensorMode(shape_env=shapes.ShapeEnv())
    x, y = (mode.from_tensor(torch.ones(s), static_shapes=False) for s in ((5, 3), (5, 7)))
    assert repr([x.shape, y.shape]) == "[torch.Size([s26, s49]), torch.Size([s26, s70])]"


def test_of_a_source():
    env = shapes.ShapeEnv()
    assert str(env.create_symbol(9, "L['x'].size()[0]")) == "s77"
    assert str(env.create_symbol(9, "zz")) == "s77"  # equal sizes are one symbol


def test_a_name_that_is_taken_gives_way_to_the_next():
    env = shapes.ShapeEnv(duck_shape=False)
    assert [str(env.create_symbol(5, f"t{i}.size()[0]")) for i in (9, 11)] == ["s95", "s96"]


def test_of_exported_programs():
    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    program = torch.export.export(Double(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim("batch")}})
    assert [str(symbol) for symbol in program.range_constraints] == ["s77"]


def test_of_traced_functions():
    graph = make_fx(lambda a, b: a @ b, tracing_mode="symbolic")(torch.ones(3, 4), torch.ones(4, 5)).graph
    found = [node.meta["val"].shape for node in graph.nodes if "val" in node.meta]
    assert repr(found[-1]) == "torch.Size([s75, s9])"
