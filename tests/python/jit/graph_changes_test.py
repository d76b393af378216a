"""Graphs of TorchScript that programs look at and change, and programs of strangers that would compile without end."""

import cresset.utils.bundled_inputs
import pytest

import cresset as torch


def lines(*rows):
    return "\n".join(rows) + "\n"


@pytest.fixture
def added():
    return torch.jit.CompilationUnit("def f(x, y):\n    return x + y * 2\n").f


def test_a_changed_graph_is_what_the_function_runs(added):
    x = torch.tensor([3.0])
    assert added(x, x).item() == 9
    node = added.graph.findNode("aten::mul")
    node.output().replaceAllUsesWith(node.inputsAt(0))
    node.destroy()
    added.graph.lint()
    assert added.graph.findNode("aten::mul") is None
    assert added(x, x).item() == 6
    with pytest.raises(RuntimeError, match="no longer part"):
        node.kind()


def test_nodes_values_and_their_facts(added):
    graph = added.graph
    x, y = graph.inputs()
    assert [v.debugName() for v in (x, y)] == ["x", "y"]
    assert x.type().kind() == "TensorType" and x.type().str() == "Tensor"
    (use,) = y.uses()
    assert use.user.kind() == "aten::mul" and use.offset == 0
    mul = use.user
    assert mul.inputsAt(1).toIValue() == 2 and mul.inputsAt(1).node().kind() == "prim::Constant"
    assert mul.inputsAt(1).node().i("value") == 2
    assert mul.output().node() == mul and mul.next().kind() == "aten::add"
    assert list(graph.outputs())[0].node().kind() == "aten::add"
    mul.output().setDebugName("product")
    assert "%product : Tensor = aten::mul(%y, " in str(graph)


def test_graphs_are_built_node_by_node():
    graph = torch._C.Graph()
    x = graph.addInput("x")
    relu = graph.insertNode(graph.create("aten::relu", [x]))
    graph.registerOutput(graph.insert("aten::add", [relu.output(), 2]))
    graph.lint()
    f = torch._C._create_function_from_graph("built", graph)
    assert f(torch.tensor([-1.0, 3.0])).tolist() == [2.0, 5.0]
    with pytest.raises(RuntimeError, match="is used"):
        relu.destroy()


def test_graphs_print_and_read_back(added):
    text = str(added.graph)
    assert " : int = prim::Constant[value=2]()" in text

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            return x * self.weight

    assert ' : Tensor = prim::GetAttr[name="weight"](%self)' in str(torch.jit.script(Net()).graph)


def test_passes_change_the_graph():
    unit = torch.jit.CompilationUnit("def g(x):\n    return (x, x + 1)\ndef f(x):\n    a, b = g(x)\n    return a * b\n")
    graph = unit.f.graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_lower_all_tuples(graph)
    assert [n.kind() for n in graph.nodes() if n.kind() != "prim::Constant"] == ["aten::add", "aten::mul"]
    pattern = "graph(%a, %b):\n  %c = aten::mul(%a, %b)\n  return (%c)"
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, pattern.replace("mul", "div"), graph) == 1
    assert torch._C._jit_interpret_graph(graph, (torch.tensor(3.0),)).item() == 0.75


def test_frozen_handles_tell_what_is_left():
    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.ones(1), torch.ones(2)

        def forward(self, x):
            return x + self.a + self.b

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part, self.scale = Part(), torch.nn.Parameter(torch.full((1,), 3.0))

        def forward(self, x):
            return self.part(x) * self.scale

    net = torch.jit.script(Net().eval())
    x = torch.ones(2)
    frozen = torch._C._freeze_module(net._c)
    assert not frozen.hasattr("part") and not frozen.hasattr("scale")
    assert frozen.forward(x).equal(net(x))
    assert torch._C._freeze_module(net._c, preserveParameters=True).hasattr("scale")
    kept = torch.jit.freeze(net, preserved_attrs=["part.a"])
    assert kept.part.a.equal(torch.ones(1)) and kept(x).equal(net(x))
    with pytest.raises(RuntimeError, match="part.c"):
        torch.jit.freeze(net, preserved_attrs=["part.c"])


HOSTILE = {
    "a tuple of many elements": lines("def f(x):", "    t = (" + "x," * 30000 + ")", "    for a in t:", "        x = x + a", "    return x"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_compilation_without_end_is_refused(name):
    with pytest.raises(RuntimeError, match="expected at most|nested deeper"):
        torch.jit.CompilationUnit(HOSTILE[name]).f(torch.ones(1))


def test_schemas_compare_with_older_ones():
    parse = torch._C.parse_schema
    old = parse("f(Tensor self, *, int a, Tensor(a!) out) -> Tensor(a!)")
    assert parse("f(Tensor self, *, int a, int b=1, Tensor(a!) out) -> Tensor(a!)").is_backward_compatible_with(old)
    assert parse("f(Tensor self, int? a, *, Tensor(a!) out) -> Tensor(a!)").is_backward_compatible_with(old)
    assert not parse("f(Tensor self, *, int b, Tensor(a!) out) -> Tensor(a!)").is_backward_compatible_with(old)
    plain = parse("f(Tensor self, int a, int b=1) -> Tensor")
    assert parse("f(Tensor self, int a, int b=1, int c=2) -> Tensor").check_forward_compatible_with(plain) == (True, "")
    fits, reason = parse("f(Tensor self, int a, int b=4) -> Tensor").check_forward_compatible_with(plain)
    assert not fits and "'b'" in reason
    assert parse("f(int[]? x=None) -> ()").arguments[0].type.str() == "int[]?"


def test_models_carry_sample_inputs():
    class Scaled(torch.nn.Module):
        def forward(self, x, by: int):
            return x * by

    bundled = torch.utils.bundled_inputs
    model = torch.jit.script(Scaled())
    rows = [(torch.ones(2), 3), (torch.zeros(1 << 16), 1), (bundled.bundle_randn(100), 2)]
    made = bundled.bundle_inputs(model, rows, ["three", "zeros", "random"])
    inputs = made.get_all_bundled_inputs()
    assert made.get_num_bundled_inputs() == 3 and inputs[1][0].shape == (1 << 16,) and inputs[2][0].std() > 0
    assert made(*inputs[0]).tolist() == [3.0, 3.0]
    assert made.get_bundled_inputs_functions_and_info()["forward"]["info"] == ["three", "zeros", "random"]
    assert not hasattr(model, "get_all_bundled_inputs")
    again = bundled.bundle_inputs(made, [(torch.ones(1), 5)])
    assert again.get_num_bundled_inputs() == 1
    with pytest.raises(RuntimeError, match="small tensors"):
        bundled.augment_model_with_bundled_inputs(model, [(torch.randn(1 << 16), 1)])


def test_equations_by_numbers_take_ellipses():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.einsum(x, [0, ...], [...]).equal(x.sum(0))
    with pytest.raises(ValueError, match="0 to 51"):
        torch.einsum(x, [0, 52])


def test_settings_without_effect_say_so():
    with pytest.warns(UserWarning, match="no fuser"), torch.jit.fuser("fuser1"):
        pass


def test_nodes_match_schemas(added):
    mul = added.graph.findNode("aten::mul")
    assert mul.matches(mul.schema()) and mul.matches("aten::mul(Tensor self, Scalar other) -> Tensor")
    assert not mul.matches("aten::mul(Tensor self, Tensor other) -> Tensor") and not mul.matches("aten::div(Tensor self, Scalar other) -> Tensor")
    with pytest.raises(ValueError, match="expected values of the graph"):
        added.graph.create("aten::relu", [None])


def test_inputs_change_places(added):
    added.graph.permuteInputs([1, 0])
    assert [v.debugName() for v in added.graph.inputs()] == ["y", "x"] and [v.offset() for v in added.graph.inputs()] == [0, 1]
    with pytest.raises(ValueError, match="in an order"):
        added.graph.permuteInputs([0, 0])


def test_products_and_sums_of_traces_become_linear_maps():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = torch.rand(5, 3), torch.rand(5)

        def forward(self, x):
            return torch.matmul(x, self.weight.t()) + self.bias

    x = torch.rand(3)
    traced = torch.jit.trace(Layer(), x)
    wanted = traced(x)
    torch._C._jit_pass_fuse_linear(traced.graph)
    kinds = [n.kind() for n in traced.graph.nodes()]
    assert "aten::linear" in kinds and not {"aten::t", "aten::matmul", "aten::add"} & set(kinds)
    assert torch.allclose(traced(x), wanted)


def test_code_of_a_node_whose_name_is_no_constant_is_an_error():
    @torch.jit.script
    def f(x, name: str):
        return x + 1

    x, name = f.graph.inputs()
    f.graph.appendNode(f.graph.create("prim::GetAttr", [x, name], 1))
    with pytest.raises(RuntimeError, match="expected a name that is constant, got a value of type str"):
        _ = f.code


def test_patterns_match_nodes_of_all_overloads():
    graph = torch.jit.CompilationUnit("def f(x, y):\n    return (x + 1) + y\n").f.graph
    pattern = "graph(%x, %y, %alpha):\n  %z = aten::add(%x, %y, %alpha)\n  return (%z)"
    changed = graph.copy()
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, pattern.replace("add", "sub"), changed) == 2
    assert torch._C._jit_interpret_graph(changed, (torch.tensor(3.0), torch.tensor(5.0))).item() == -3
    # Arguments that the pattern does not name have their defaults.
    short = pattern.replace(", %alpha", "")
    changed = graph.copy()
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(short, short.replace("add", "mul"), changed) == 2
    assert torch._C._jit_interpret_graph(changed, (torch.tensor(3.0), torch.tensor(5.0))).item() == 15
    doubled = torch.jit.CompilationUnit("def f(x, y):\n    return torch.add(x, y, alpha=2)\n").f.graph.copy()
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(short, short.replace("add", "mul"), doubled) == 0
    # Types that the pattern names are those of the values.
    typed = pattern.replace("%y,", "%y : Tensor,", 1)
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(typed, typed.replace("aten::add", "my::add"), graph) == 1
    assert [n.kind() for n in graph.nodes() if n.kind() != "prim::Constant"] == ["aten::add", "my::add"]


def test_a_chain_of_calls_of_modules_is_one_pattern():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)

        def forward(self, x):
            x = self.conv(x)
            return self.norm(x)

    graph = torch.jit.script(Net()).graph
    pattern = """graph(%self, %x):
        %conv = match::module[name="Conv2d"](%self)
        %y = prim::CallMethod[name="forward"](%conv, %x)
        %norm = match::module[name="BatchNorm2d"](%self)
        %z = prim::CallMethod[name="forward"](%norm, %y)
        return (%z)"""
    replacement = "graph(%self, %x):\n  %z = my::both(%self, %x)\n  return (%z)"
    other = pattern.replace("Conv2d", "Conv1d")
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(other, replacement, graph) == 0
    assert torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, graph) == 1
    assert [n.kind() for n in graph.nodes() if n.kind() != "prim::Constant"] == ["my::both"]


def test_what_is_rewritten_has_the_place_of_a_value_of_the_pattern():
    graph = torch.jit.CompilationUnit("def f(x, y):\n    z = x + y\n    return z * y\n").f.graph
    places = {n.kind(): n.sourceRange() for n in graph.nodes()}
    pattern = "graph(%x, %y, %one):\n  %t = aten::add(%x, %y, %one)\n  %o = aten::mul(%t, %y)\n  return (%o)"
    replacement = "graph(%x, %y, %one):\n  %o = my::both(%x, %y)\n  return (%o)"
    for pairs, kind in (([("o", "t")], "aten::add"), ([("o", "o")], "aten::mul"), ([], "aten::mul")):
        changed = graph.copy()
        torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, changed, value_name_pairs=pairs)
        assert [n.sourceRange() for n in changed.nodes() if n.kind() == "my::both"] == [places[kind]]


def test_calls_on_the_side_are_inlined_with_what_they_call():
    def body(x):
        return x + 1, x + 2

    traced = torch.jit.trace(lambda x: torch.jit._wait(torch.jit._fork(body, x))[1], (torch.ones(2),))
    torch._C._jit_pass_inline_fork_wait(traced.graph)
    kinds = [n.kind() for n in traced.graph.nodes()]
    assert kinds.count("aten::add") == 2 and not {"prim::fork", "aten::wait", "prim::CallFunction"} & set(kinds)


def halved(x):
    return x / 2


def test_compiled_graphs_hold_what_they_call_where_all_is_inlined():
    class Part(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return torch.jit._wait(torch.jit._fork(halved, x)) + 1

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(x) * 2

    def kinds():
        return [n.kind() for n in torch.jit.trace(Net(), (torch.ones(2),)).graph.nodes()]

    assert not torch._C._jit_get_inline_everything_mode() and "prim::CallMethod" in kinds()
    torch._C._jit_set_inline_everything_mode(True)
    try:
        assert torch._C._jit_get_inline_everything_mode() and "prim::CallMethod" not in kinds() and "prim::fork" in kinds()
    finally:
        torch._C._jit_set_inline_everything_mode(False)


def test_constants_of_texts_may_have_a_type():
    graph = torch._C.parse_ir("graph():\n  %1 : int[] = prim::Constant[value=annotate(List[int], [])]()\n  return (%1)")
    assert torch._C._jit_interpret_graph(graph, ()) == []


@pytest.mark.parametrize(
    "kind",
    ["Union(float, int)", "Union(NoneType, float, int)[]", "Dict(str, Union(int, str))?", "(Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), int)", "Long(*)[]",
     "(Tensor, (int[][], Dict(str, Tensor))?)"],
)  # fmt: skip
def test_types_of_texts_are_read_as_they_are_printed(kind):
    graph = torch._C.parse_ir(f"graph(%a : {kind}):\n  return (%a)")
    assert next(graph.inputs()).type().str() == kind
