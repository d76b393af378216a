"""Values that backward computes again: which, and where."""

import copy

import pytest
from cresset._functorch import _capture
from cresset._inductor.fusion import recomputed
from cresset._inductor.steps import _partitioned

import cresset as torch
from cresset import nn


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


class Net(nn.Module):
    """Squares of large values with layer norms between, whose gradients are no rows of the table."""

    def __init__(self, size=512):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(3))
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        for layer in self.layers:
            x = layer(self.norm(x))
            x = x * x
        return x.sum()


def joint_of(function, *flat):
    facts = _capture.look(function, list(flat))
    return _capture.trace_joint(function, facts, list(flat), None), facts


def targets(module):
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def halves():
    net = Net()
    x = torch.randn(512, 512)
    joint, facts = joint_of(lambda *flat: (torch.func.functional_call(net, dict(zip(dict(net.named_parameters()), flat)), (x,)),), *net.parameters())
    return joint, _partitioned(joint, len(facts.differentiable))


def test_squares_are_cheap_beside_operators_that_are_no_rows():
    joint, _ = halves()
    assert "aten.native_layer_norm_backward.default" in targets(joint)
    names = [str(node.target) for node in recomputed(joint)]
    assert names.count("aten.mul.Tensor") >= 3
    assert not [name for name in names if "mm" in name or "norm" in name]


def test_they_stand_before_their_first_reader():
    _, (forward, backward) = halves()
    assert targets(forward).count("aten.mul.Tensor") == 3
    again = [node for node in backward.graph.nodes if node.target == torch.ops.aten.mul.Tensor and all(i.op == "placeholder" for i in node.all_input_nodes)]
    assert len(again) == 2
    order = list(backward.graph.nodes)
    for node in again:
        between = order[order.index(node) + 1 : min(map(order.index, node.users))]
        assert all(getattr(other.target, "is_view", False) or other in again for other in between)
    assert order.index(again[1]) > order.index(next(iter(again[0].users)))


def test_gradients_are_those_of_eager_mode():
    net, x = Net(64), torch.randn(32, 64)
    other = copy.deepcopy(net)
    for _ in range(2):
        torch.compile(net)(x).backward()
        other(x).backward()
    for got, expected in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(got.grad, expected.grad)
