"""Graphs of operators that PyTorch's table has and ours has not run as programs of C++, with eager's bits."""

import gc
import operator

import pytest
from cresset._inductor.lowering import lowered
from cresset._subclasses.fake_tensor import FakeTensorMode

import cresset as torch
from cresset import fx, nn
from cresset.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def image(*sizes):
    return torch.randn(*sizes, requires_grad=True)


CASES = {
    "layer_norm": lambda: (nn.LayerNorm(8), (image(4, 8),)),
    "group_norm": lambda: (nn.GroupNorm(2, 4), (image(3, 4, 5),)),
    "batch_norm": lambda: (nn.BatchNorm2d(3), (image(2, 3, 4, 4),)),
    "convolution": lambda: (nn.Conv2d(3, 4, 3), (image(2, 3, 6, 6),)),
    "attention": lambda: (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (image(2, 2, 5, 8),)),
    "select": lambda: (lambda x: x[:, -1] * 2, (image(3, 4),)),
    "slice": lambda: (lambda x: x[:, 1:3].sin(), (image(3, 4),)),
    "diagonal": lambda: (lambda x: x.diagonal() * 2, (image(3, 4),)),
    "softmax": lambda: (lambda x: x.softmax(-1), (image(3, 4),)),
    "binary_cross_entropy": lambda: (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y, reduction="sum"), (image(3, 4), torch.rand(3, 4))),
    "mse_loss": lambda: (F.mse_loss, (image(3, 4), torch.rand(3, 4))),
    "mse_loss_of_sums": lambda: (lambda x, y: F.mse_loss(x, y, reduction="sum"), (image(3, 4), image(3, 4))),
    "mse_loss_of_elements": lambda: (lambda x, y: F.mse_loss(x, y, reduction="none"), (image(3, 4), torch.rand(3, 4))),
    "glu": lambda: (lambda x: F.glu(x, 0), (image(4, 3),)),
    "prelu": lambda: (F.prelu, (image(2, 3, 4), image(3))),
    "log_sigmoid": lambda: (F.logsigmoid, (image(3, 4),)),
    "average_pool": lambda: (nn.AvgPool2d(2), (image(1, 2, 4, 4),)),
    "adaptive_pool": lambda: (nn.AdaptiveAvgPool2d(2), (image(1, 2, 5, 5),)),
    "max_pool": lambda: (nn.MaxPool2d(2), (image(1, 2, 4, 4),)),
    "reflection": lambda: (nn.ReflectionPad2d(1), (image(1, 2, 4, 4),)),
    "interpolate": lambda: (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), (image(1, 2, 4, 4),)),
}


def gradients(function, args):
    leaves = [a for a in args if a.requires_grad] + list(function.parameters() if isinstance(function, nn.Module) else ())
    out = function(*args)
    return [out, *torch.autograd.grad(out, leaves, torch.ones_like(out))]


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_programs(name):
    function, args = CASES[name]()
    compiled = torch.compile(function)
    for got, expected in zip(gradients(compiled, args), gradients(function, args), strict=True):
        assert torch.equal(got, expected)
    ((_, made),) = compiled._compiler.made
    assert [type(part).__name__ for part in made.parts] == ["Compiled", "Compiled"]


def test_dropout_is_a_program_with_the_random_numbers_of_eager_mode():
    net = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.3), nn.Linear(64, 4))
    compiled, x = torch.compile(net), torch.randn(16, 8, requires_grad=True)
    for seed in range(3):
        torch.manual_seed(seed)
        found = gradients(compiled, (x,))
        torch.manual_seed(seed)
        assert all(torch.equal(a, b) for a, b in zip(found, gradients(net, (x,)), strict=True))
    ((_, made),) = compiled._compiler.made
    assert [type(part).__name__ for part in made.parts] == ["Compiled", "Compiled"]


class Last(nn.Module):
    """The last output of a recurrent network."""

    def __init__(self, **options):
        super().__init__()
        self.rnn = nn.LSTM(8, 16, batch_first=True, **options)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"bidirectional": True}, {"bias": False}, {"dtype": torch.float64}], ids=str)
def test_recurrent_layers_are_programs_that_run_forward_once(options):
    net = Last(**options)
    compiled, x = torch.compile(net), image(4, 5, 8).to(options.get("dtype", torch.float32)).detach().requires_grad_()
    leaves = [x, *net.parameters()]
    found, expected = ([out := call(x), *torch.autograd.grad(out.square().sum(), leaves)] for call in (compiled, net))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    ((_, made),) = compiled._compiler.made
    assert [type(part).__name__ for part in made.parts] == ["Compiled", "Compiled"]
    targets = [[str(node.target) for node in part.source.graph.nodes] for part in made.parts]
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    assert [t.count("aten._rnn_layer.default") for t in targets] == [layers, 0]
    assert [t.count("aten._rnn_layer_backward.default") for t in targets] == [0, layers]
    with torch.no_grad():
        assert torch.equal(compiled(x), net(x))


def test_gates_of_recurrent_layers_are_not_kept():
    net, x = Last(), torch.randn(64, 50, 8)

    def held(function):
        gc.collect()
        before = torch.cpu.memory_stats()["allocated_bytes"]
        loss = function(x)
        return torch.cpu.memory_stats()["allocated_bytes"] - before, loss

    compiled = torch.compile(net)
    compiled(x).sum().backward()
    gates = x.shape[0] * x.shape[1] * 4 * 16 * x.element_size()
    assert held(compiled)[0] <= held(net)[0] - 0.9 * gates


def test_backward_runs_again_only_where_the_graph_is_retained():
    compiled = torch.compile(lambda x: (x.exp() * x.sin()).exp())
    x = torch.randn(64, requires_grad=True)
    for _ in range(2):  # the first time a program runs it may be replaced, and keeps its inputs
        out = compiled(x)
        first = torch.autograd.grad(out.sum(), x, retain_graph=True)[0]
        assert torch.equal(torch.autograd.grad(out.sum(), x)[0], first)
        with pytest.raises(RuntimeError, match="freed"):
            torch.autograd.grad(out.sum(), x)


def test_a_write_to_a_kept_value_is_noticed():
    compiled = torch.compile(lambda x, y: (x * y).sum())
    x, y = torch.randn(64, requires_grad=True), torch.randn(64)
    out = compiled(x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


@pytest.mark.parametrize("calls", [("xx", "xy"), ("xy", "xx"), ("xy", "yx")])
def test_arguments_keep_their_places_where_one_stands_twice(calls):
    layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default
    graph, mode = fx.Graph(), FakeTensorMode()
    of = {name: graph.placeholder(name) for name in ("x", "y", "mean", "rstd", "weight", "bias")}
    for (name, node), sizes in zip(of.items(), ((3, 4), (3, 4), (3, 1), (3, 1), (4,), (4,)), strict=True):
        node.meta["val"] = mode.from_tensor(torch.zeros(sizes))
    results = []
    for grad, input in calls:
        made = graph.call_function(layer_norm_backward, (of[grad], of[input], [4], of["mean"], of["rstd"], of["weight"], of["bias"], [True] * 3))
        results.append(graph.call_function(operator.getitem, (made, 0)))
    graph.output(tuple(results))
    found = lowered(fx.GraphModule(torch.nn.Module(), graph))
    rows = [n for n in found.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    assert [[a.name for a in row.args if isinstance(a, fx.Node)] for row in rows] == [[*call, "mean", "rstd", "weight"] for call in calls]


def test_a_graph_with_an_operator_that_stays_runs_whole():
    norm, grid = nn.LayerNorm(5), torch.rand(1, 5, 5, 2) * 2 - 1
    function = lambda x: F.grid_sample(norm(x), grid, align_corners=False).square()  # noqa: E731
    compiled, x = torch.compile(function), image(1, 2, 5, 5)
    for got, expected in zip(gradients(compiled, (x,)), gradients(function, (x,)), strict=True):
        assert torch.equal(got, expected)
    ((_, made),) = compiled._compiler.made
    assert "Interpreted" in [type(part).__name__ for part in made.parts]
