"""Copies that compiled graphs do without, and sums of scattered parts that become one tensor."""

import copy
import re

import pytest
from cresset._inductor.fusion import fuse
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def fused(function, *args):
    with torch.no_grad():
        return fuse(make_fx(function)(*args)).graph


def operators(graph):
    return re.findall(r"^  .* = (?!ir::)([\w.:]+)\(", graph._graph.text(), re.MULTILINE)


def checked(function, *args):
    """The operators that are left, after the results have been compared with eager mode's."""
    graph = fused(function, *args)
    found, expected = graph(*args), function(*args)
    for one, other in zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]:
        assert torch.equal(one, other)
        assert one.stride() == other.stride()
    return operators(graph)


X = (2, 3, 4, 5)


class TestCopies:
    def test_a_copy_of_a_copy_is_one(self):
        def twice(x):
            y = x.sin().transpose(1, 2).contiguous()
            return y.permute(0, 3, 1, 2).contiguous()

        assert checked(twice, torch.randn(X)).count("clone") == 1

    def test_turned_there_and_back_is_none(self):
        back = lambda x: x.sin().transpose(1, 2).contiguous().transpose(1, 2).contiguous() + 1  # noqa: E731
        assert "clone" not in checked(back, torch.randn(X))

    def test_a_join_reads_any_strides(self):
        def joined(x):
            parts = [x.sin().transpose(1, 2).contiguous().transpose(1, 2), x.cos()]
            return torch.cat([torch.stack([part.transpose(1, 2).contiguous() for part in parts]).flatten(), x.flatten()])

        assert "clone" not in checked(joined, torch.randn(X))

    @pytest.mark.parametrize(("dim", "order"), [(0, (1, 3, 0, 2)), (-1, (3, 2, 1, 0)), (2, (0, 1, 2, 3)), (1, (1, 2, 3, 0))])
    def test_parts_are_stacked_in_the_order_that_is_wanted(self, dim, order):
        stacked = lambda x, y: torch.stack([x.sin(), y.cos()], dim).permute(order).contiguous()  # noqa: E731
        left = checked(stacked, torch.randn(3, 4, 5), torch.randn(3, 4, 5))
        assert (left.count("clone"), left.count("stack")) == (0, 1)

    def test_a_stack_of_equal_sizes(self):
        assert "clone" not in checked(lambda x: torch.stack([x, x.exp(), -x], 1).transpose(0, 2).unsqueeze(1).squeeze(1).contiguous(), torch.randn(3, 3))

    def test_a_stack_that_is_read_elsewhere_stays(self):
        def both(x):
            y = torch.stack([x, x.exp()])
            return [y.transpose(0, 1).contiguous(), y + 1]

        assert checked(both, torch.randn(4, 5)).count("clone") == 1

    def test_one_that_an_operator_reads_stays(self):
        assert checked(lambda x: x.sin().transpose(1, 2).contiguous().transpose(1, 2) * 2, torch.randn(X)).count("clone") == 1

    def test_views_that_need_the_copy_keep_it(self):
        assert checked(lambda x: x.sin().transpose(1, 2).contiguous().view(6, 4, 5).transpose(0, 1).contiguous(), torch.randn(X)).count("clone") == 2

    def test_parts_and_repeats_of_a_copy(self):
        def parts(x):
            y = x.sin().transpose(1, 2).contiguous()
            return [y[:, 1:3].contiguous(), y.select(2, 1).contiguous(), y.unsqueeze(0).expand(2, *y.shape).contiguous()]

        assert checked(parts, torch.randn(X)).count("clone") >= 3

    def test_results_have_memory_of_their_own(self):
        def copies(x):
            y = x.sin()
            return [y, y.clone(), x.clone(), y.view(6, 20).clone()]

        graph = fused(copies, torch.randn(X))
        x = torch.randn(X)
        results = [x, *graph(x)]
        assert len({t.data_ptr() for t in results}) == len(results)

    def test_graphs_with_writes_are_left_alone(self):
        def written(x):
            y = x.sin()
            z = y.clone(memory_format=torch.contiguous_format)
            y.add_(1)
            return [y, z.exp()]

        assert "clone" in checked(written, torch.randn(X))


class TestSums:
    def test_selected_parts(self):
        x = torch.randn(3, 4, 5, requires_grad=True)

        def gradient(x):
            parts = x.unbind(1)
            return torch.autograd.grad(sum(p * (i + 1) for i, p in enumerate(parts)).square().sum(), x)[0]

        graph = fuse(make_fx(gradient)(x)).graph
        assert "select_scatter" not in operators(graph)
        assert torch.equal(graph(x), gradient(x))

    @pytest.mark.parametrize(
        ("order", "dim", "joined"), [((0, 1, 2), 1, True), ((2, 0, 1), 0, True), ((2, 1, 0), -1, True), ((0, 1), 1, False), ((0, 1, 1, 2), 0, False)]
    )
    def test_selected_parts_in_any_order(self, order, dim, joined):
        def scattered(x):
            return sum(
                (torch.select_scatter(torch.zeros(3, 3, 3), x * (k + 1), dim, k) for k in order[1:]),
                torch.select_scatter(torch.zeros(3, 3, 3), x, dim, order[0]),
            )

        assert ("stack" in checked(scattered, torch.randn(3, 3))) == joined

    @pytest.mark.parametrize(
        ("bounds", "joined"), [(((0, 2), (2, 6)), True), (((2, None), (None, 2)), True), (((0, 3), (2, 6)), False), (((1, 3), (3, 6)), False)]
    )
    def test_slices(self, bounds, joined):
        def scattered(x):
            parts = [torch.slice_scatter(torch.zeros(4, 6), x[:, slice(*b)] * 2, 1, *b) for b in bounds]
            return parts[0] + parts[1]

        assert ("cat" in checked(scattered, torch.randn(4, 6))) == joined

    def test_sums_that_are_read_twice_stay(self):
        def scattered(x):
            parts = [torch.select_scatter(torch.zeros(3, 4), x, 0, k) for k in range(3)]
            some = parts[0] + parts[1]
            return [some.exp(), some + parts[2]]

        assert "stack" not in checked(scattered, torch.randn(4))


@pytest.mark.parametrize("model", [
    lambda: nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True),
    lambda: nn.GRU(16, 16, batch_first=True),
    lambda: nn.MultiheadAttention(16, 4, batch_first=True),
], ids=["encoder", "gru", "attention"])  # fmt: skip
def test_steps_have_the_gradients_of_eager_mode(model):
    net, x = model(), torch.randn(3, 5, 16)
    other = copy.deepcopy(net)

    def loss(net):
        out = net(x, x, x) if isinstance(net, nn.MultiheadAttention) else net(x)
        return F.mse_loss(out[0] if isinstance(out, tuple) else out, x)

    for _ in range(2):
        torch.compile(loss)(net).backward()
        loss(other).backward()
    for got, expected in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(got.grad, expected.grad)
