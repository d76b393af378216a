"""Types of values in graphs: what is known of tensors, from traces, from examples, and from what operators do."""

import io

import pytest

import cresset as torch
from cresset import nn

ROWS = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
TensorType = torch._C.TensorType


def kinds(graph):
    """The text of the type of each output, by the kind of the node."""
    return {node.kind(): value.type().str() for node in graph.nodes() for value in node.outputs()}


def test_types_of_tensors_say_what_is_known_of_them():
    t = TensorType.create_from_tensor(torch.ones(2, 3, requires_grad=True))
    assert t.str() == "Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu)" and str(t) == t.annotation_str == "Tensor"
    assert (t.sizes(), t.strides(), t.dim(), t.scalarType(), t.dtype(), t.requires_grad()) == ([2, 3], [3, 1], 2, "Float", torch.float32, True)
    assert t.device() == torch.device("cpu") and t.kind() == "TensorType" and not t.undefined()
    assert t == TensorType.create_from_tensor(torch.zeros(2, 3, requires_grad=True)) and t != TensorType.create_from_tensor(torch.zeros(2, 4))
    assert t.isSubtypeOf(TensorType.get()) and t.with_sizes([None, 3]).sizes() == [None, 3]
    assert t.with_dtype(torch.int64).str() == "Long(2, 3, strides=[3, 1], requires_grad=1, device=cpu)"
    assert t.with_sizes([None, 3]).symbolic_sizes()[0] < 0 and t.with_sizes([4, 5]).contiguous().strides() == [5, 1]


def test_examples_record_gradients_where_they_are_asked_to():
    def double(x):
        return x * 2

    for with_grad in (False, True):
        graph = torch.jit.script(double).graph.copy()
        torch._C._jit_pass_complete_shape_analysis(graph, (torch.ones(2, 3, requires_grad=True),), with_grad)
        assert [value.requires_grad() for value in (*graph.inputs(), *graph.outputs())] == [with_grad] * 2


@pytest.mark.parametrize(
    "tensor, text",
    [
        (torch.ones(()), "Float(requires_grad=0, device=cpu)"),
        (torch.ones(2, dtype=torch.complex64), "ComplexFloat(2, strides=[1], requires_grad=0, device=cpu)"),
        (torch.ones(2, 3).expand(4, 2, 3), "Float(4, 2, 3, strides=[0, 3, 1], requires_grad=0, device=cpu)"),
        (torch.empty(2, 2, device="meta", dtype=torch.bool), "Bool(2, 2, strides=[2, 1], requires_grad=0, device=meta)"),
    ],
)
def test_texts_of_types_are_pytorchs(tensor, text):
    assert TensorType.create_from_tensor(tensor).str() == text


def test_values_take_types():
    graph = torch._C.parse_ir(f"graph(%x : {ROWS}, %y : Tensor):\n  %z : Double(*, *) = aten::mul(%x, %y)\n  return (%z)")
    x, y = graph.inputs()
    z = next(iter(graph.outputs()))
    assert (x.type().str(), y.type().sizes(), z.type().sizes(), z.type().scalarType()) == (ROWS, None, [None, None], "Double")
    assert x.isCompleteTensor() and not z.isCompleteTensor() and not x.requires_grad()
    y.setType(TensorType.create_from_tensor(torch.ones(3)))
    assert y.type().strides() == [1]
    y.setTypeAs(x)
    assert y.type() == x.type() and f"%y : {ROWS}" in str(graph)
    y.inferTypeFrom(torch.ones(4, dtype=torch.int32))
    assert y.type().str() == "Int(4, strides=[1], requires_grad=0, device=cpu)"
    y.setType(TensorType.get())
    assert y.type() == TensorType.get() and TensorType.get() == y.type() and y.type().str() == "Tensor"


@torch.jit.script
def branches(x, y, n: int):
    z = x + y
    if n > 0:
        w = z.relu()
    else:
        w = z.sum(0, keepdim=True)
    for _ in range(n):
        w = torch.cat([w, w])
    a, b = z.chunk(2, 0)
    return w, (a, z.t())


def test_types_follow_from_those_of_the_inputs():
    graph = branches.graph.copy()
    torch._C._jit_pass_complete_shape_analysis(graph, (torch.ones(2, 3), torch.ones(3)), False)
    known = kinds(graph)
    assert known["aten::add"] == ROWS
    assert known["prim::If"] == known["prim::Loop"] == "Float(*, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert known["prim::ListUnpack"] == "Float(1, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert known["aten::t"] == "Float(3, 2, strides=[1, 3], requires_grad=0, device=cpu)"
    assert next(graph.outputs()).type().elements()[1].elements()[0].sizes() == [1, 3]
    torch._C._jit_erase_non_input_shape_information(graph)
    assert next(graph.inputs()).type().str() == ROWS and kinds(graph)["aten::add"] == "Tensor"
    torch._C._jit_pass_erase_shape_information(graph)
    assert next(graph.inputs()).type().str() == "Tensor"
    assert branches(torch.ones(2, 1), torch.ones(4), 1)[0].shape == (4, 4)


def test_devices_and_dtypes_follow_alone():
    graph = torch.jit.CompilationUnit("def f(x, y):\n    return x.relu() > y\n").f.graph
    for value in graph.inputs():
        value.setType(TensorType.get().with_device(torch.device("cpu")))
    torch._C._jit_pass_propagate_device(graph)
    assert next(graph.outputs()).type().device() == torch.device("cpu")
    torch.jit._passes._property_propagation.apply_input_props_using_example(graph, [torch.ones(2, dtype=torch.float16), torch.ones(1)])
    torch._C._jit_pass_propagate_dtype(graph)
    assert kinds(graph)["aten::relu"].startswith("Half(2,") and next(graph.outputs()).type().scalarType() == "Bool"


def test_types_of_inputs_may_be_set_one_by_one():
    graph = torch.jit.CompilationUnit("def f(x, i: int):\n    return x[i].relu()\n").f.graph
    next(graph.inputs()).setType(TensorType.create_from_tensor(torch.ones(5, 2)))
    torch._C._jit_pass_propagate_shapes_on_graph(graph)
    assert next(graph.outputs()).type().sizes() == [2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        self.last = nn.Linear(4 * 6 * 6, 5)

    def forward(self, x):
        return self.last(self.layers(x))


def test_traces_know_their_tensors():
    traced = torch.jit.trace(Net().eval(), torch.ones(2, 3, 8, 8))
    known = kinds(traced.inlined_graph)
    assert known["aten::batch_norm"] == known["aten::relu"] == "Float(2, 4, 6, 6, strides=[144, 36, 6, 1], requires_grad=1, device=cpu)"
    assert known["aten::flatten"] == "Float(2, 144, strides=[144, 1], requires_grad=1, device=cpu)"
    assert known["aten::linear"] == "Float(2, 5, strides=[5, 1], requires_grad=1, device=cpu)"
    assert " : Float(2, 3, 8, 8, strides=[192, 64, 8, 1], requires_grad=0, device=cpu)):" in str(traced.graph)
    assert "Float" not in traced.code
    # They are those of the example, and no conditions.
    file = io.BytesIO()
    torch.jit.save(traced, file)
    x = torch.rand(5, 3, 8, 8)
    for program in (traced, torch.jit.load(io.BytesIO(file.getvalue())), torch.jit.freeze(traced)):
        assert torch.allclose(program(x), traced(x), atol=1e-6) and program(x).shape == (5, 5)
    assert traced.double()(x.double()).dtype == torch.float64


def test_traces_of_functions_print_types():
    def f(x, y):
        a = x @ y
        b = a.view(a.shape[0], -1)
        return b.sum(), b.t(), b * 2

    text = str(torch.jit.trace(f, (torch.ones(2, 3), torch.ones(3, 4, requires_grad=True))).graph)
    for line in (
        f"graph(%x : {ROWS},",
        "%y : Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu)):",
        " : Float(2, 4, strides=[4, 1], requires_grad=1, device=cpu) = aten::matmul(%x, %y)",
        " : Float(4, 2, strides=[1, 4], requires_grad=1, device=cpu) = aten::t(",
        " : Float(requires_grad=1, device=cpu) = aten::sum(",
        " : (Float(requires_grad=1, device=cpu), Float(4, 2, strides=[1, 4], requires_grad=1, device=cpu), Float(2, 4, strides=[4, 1], requires_grad=1, device=cpu)) = prim::TupleConstruct(",
    ):
        assert line in text


def test_graphs_with_types_read_back():
    text = str(torch.jit.trace(lambda x: x.relu().sum(0), torch.ones(2, 3)).graph)
    again = torch._C.parse_ir(text)
    assert kinds(again) == kinds(torch._C.parse_ir(str(again)))
    assert torch._C._create_function_from_graph("again", again)(torch.ones(5, 2)).tolist() == [5.0, 5.0]


def test_forked_calls_of_traces_are_graphs_of_their_own():
    def f(x):
        future = torch.jit.fork(lambda a: a * 3, x)
        return torch.jit.wait(future) + 1

    traced = torch.jit.trace(f, torch.ones(2, 3))
    assert f" : Future[{ROWS}] = prim::fork_0(%x)" in str(traced.graph)
    head, _, forked = str(traced.graph).partition("with prim::fork_0 = graph(")
    assert "aten::mul" not in head and f" : {ROWS} = aten::mul(" in forked
    assert kinds(traced.graph)["aten::wait"] == ROWS
    assert traced(torch.ones(1)).item() == 4


def test_each_forked_call_of_a_script_shows_what_it_does():
    unit = torch.jit.CompilationUnit(
        "def g(x, n: int):\n    return x + n\ndef f(x):\n    a = torch.jit.fork(g, x, 2)\n    b = torch.jit.fork(g, x, n=3)\n    return torch.jit.wait(a) + torch.jit.wait(b)\n"
    )
    text = str(unit.f.graph)
    assert [f"prim::fork_{i}(" in text and f"with prim::fork_{i} = graph(" in text for i in range(3)] == [True, True, False]
    assert unit.f.graph.findNode("prim::fork") is not None
    # Twice as many at every level: not all of them are shown.
    levels = "".join(
        f"def f{i}(x):\n    a = torch.jit.fork(f{i - 1}, x)\n    b = torch.jit.fork(f{i - 1}, x)\n    return torch.jit.wait(a) + torch.jit.wait(b)\n"
        for i in range(1, 20)
    )
    assert len(str(torch.jit.CompilationUnit("def f0(x):\n    return x\n" + levels).f19.graph)) < 1 << 20


def test_tensors_of_numbers_have_types():
    graph = torch.jit.CompilationUnit("def f():\n    return torch.tensor([1, 2], dtype=torch.int32) * torch.tensor(1.5)\n").f.graph.copy()
    torch._C._jit_pass_complete_shape_analysis(graph, (), False)
    assert next(graph.outputs()).type().str() == "Float(2, strides=[1], requires_grad=0, device=cpu)"


def test_programs_make_tensors_of_numbers_under_fake_modes():
    program = torch.jit.CompilationUnit("def f(x):\n    return torch.tensor([1, 2]) + torch.as_tensor([3.0]) + x\n").f
    with torch._subclasses.fake_tensor.FakeTensorMode():
        made = program(torch.ones(2))
    assert type(made).__name__ == "FakeTensor" and made.shape == (2,)
