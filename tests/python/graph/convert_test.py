"""Graphs of C++ as objects of Python: from `torch.fx` and back, passes, programs from files."""

import operator

import pytest
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import graph as graphs
from cresset import nn

X = torch.linspace(-1, 1, 12).reshape(3, 4)


def targets(module):
    return [n.target for n in module.graph.nodes if n.op == "call_function"]


def check_both_ways(function, *inputs):
    """The function's graph, run in C++ and after the way back, gives what the function gives."""
    traced = make_fx(function)(*inputs)
    graph = graphs.from_fx(traced)
    again = graph.to_fx()
    again.graph.lint()
    expected = torch.utils._pytree.tree_leaves(function(*inputs))
    for got in (graph(*inputs), again(*inputs)):
        for a, b in zip(torch.utils._pytree.tree_leaves(got), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    return traced, graph, again


def test_operators_keep_their_names_both_ways():
    traced, _, again = check_both_ways(lambda x: torch.relu(x).add(x, alpha=2).sum(1, keepdim=True), X)
    assert targets(again) == targets(traced)
    assert [n.name for n in again.graph.nodes] == [n.name for n in traced.graph.nodes]


def test_numbers_lists_and_several_results():
    def f(x, y):
        values, places = x.topk(2)
        parts = torch.cat([x, y]).split(2)
        return {"a": values, "b": [places, parts[1]]}, x.softmax(1), torch.full((2,), 3.0, dtype=torch.float64)

    traced, _, again = check_both_ways(f, X, X + 1)
    assert targets(again).count(operator.getitem) == targets(traced).count(operator.getitem)


def test_attributes_are_named_constants():
    layer = nn.Linear(4, 2)
    _, graph, again = check_both_ways(lambda x: layer(x), X)
    assert all(t.shape in ((2, 4), (2,)) for t in graph.constants().values()) and len(graph.constants()) == 2
    assert {n.target for n in again.graph.nodes if n.op == "get_attr"} == set(graph.constants())


def test_symbolic_sizes_come_along():
    traced = make_fx(lambda x: x.view(x.shape[0] * 2, 2) + x.shape[0], tracing_mode="symbolic")(X)
    graph = graphs.from_fx(traced)
    x = torch.randn(5, 4)
    torch.testing.assert_close(graph(x), x.view(10, 2) + 5, rtol=0, atol=0)
    torch.testing.assert_close(graph.to_fx()(x), x.view(10, 2) + 5, rtol=0, atol=0)


def test_what_has_no_form_on_the_other_side_is_named():
    traced = make_fx(torch.relu)(X)
    traced.graph.find_nodes(op="call_function", target=torch.ops.aten.relu.default)[0].target = check_both_ways
    with pytest.raises(ValueError, match="'relu' calls"):
        graphs.from_fx(traced)
    branch = graphs.Graph("graph @f(%c: bool, %x: Tensor) { %r: Tensor = ir::if(%c) { return %x } { return %x } return %r }")
    with pytest.raises(NotImplementedError, match="node %r"):
        branch.to_fx()
    with pytest.raises(ValueError, match="@w is not bound"):
        graphs.Graph("graph @f(%x: Tensor) { tensor @w: float32[2] %y: Tensor = mul.Tensor(%x, @w) return %y }").to_fx()


def test_passes_change_the_graph():
    graph = graphs.Graph("graph @f(%x: float32[3]) { %a: Tensor = neg(%x) %b: Tensor = neg(%a) %u: Tensor = exp(%x) return %b }")
    assert graph.run_pass("dead") == 1
    assert graph.rewrite("graph @p(%x: Tensor) { %a: Tensor = neg(%x) %b: Tensor = neg(%a) return %b }", "graph @r(%x: Tensor) { return %x }") == 1
    assert str(graph) == "graph @f(%x: float32[3]) {\n  return %x\n}\n"
    with pytest.raises(ValueError, match="no such pass|nothing"):
        graph.run_pass("nothing")


def test_operators_are_decomposed_and_partitioned_by_name():
    graph = graphs.Graph("graph @f(%x: float32[3]) { %a: Tensor = square(%x) %b: Tensor = exp(%a) return %b }")
    assert graph.decompose({"square": "graph @d(%x: Tensor) { %y: Tensor = mul.Tensor(%x, %x) return %y }"}) == 1
    parts = graph.partition(["mul.Tensor"])
    assert "ir::call" in str(parts)
    x = torch.tensor([0.0, 1.0, 2.0])
    torch.testing.assert_close(parts(x), (x * x).exp())


def test_constants_are_bound_by_name():
    graph = graphs.Graph("graph @f(%x: Tensor) { tensor @w: float32[2] %y: Tensor = mul.Tensor(%x, @w) return %y }")
    assert graph.constants() == {"w": None}
    with pytest.raises(NotImplementedError, match="@w is not bound"):
        graph(torch.ones(2))
    graph.bind("w", torch.tensor([2.0, 3.0]))
    assert graph(torch.ones(2)).tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="no tensor @v"):
        graph.bind("v", torch.ones(2))


def test_runs_after_the_first_find_their_memory():
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.Tanh())
    x = torch.randn(8, 64)
    with torch.no_grad():
        graph = graphs.from_fx(make_fx(net)(x))
        graph(x)
        first = graph.memory()
        torch.testing.assert_close(graph(x), net(x))
        assert not first["planned"] and graph.memory()["planned"]
    assert 0 < graph.memory()["arena_bytes"] < 2 * graph.memory()["block_bytes"]


def test_programs_take_and_give_trees(tmp_path):
    class Net(nn.Module):
        def forward(self, x, *, more):
            return {"sum": x + more["a"], "both": [x, more["a"] * 2]}

    inputs = {"a": torch.ones(3, 4)}
    torch.export.save(torch.export.export(Net(), (X,), {"more": inputs}), tmp_path / "m.pt2")
    program = graphs.load_program(tmp_path / "m.pt2")
    found = program(X, more=inputs)
    torch.testing.assert_close(found["sum"], X + 1)
    torch.testing.assert_close(found["both"][1], torch.full((3, 4), 2.0))
    with pytest.raises(ValueError, match="nested as"):
        program(X, inputs)
    with pytest.raises(ValueError, match="dimensions"):
        program(X[0], more=inputs)
