"""Convolutions and linear maps that compiled graphs run together with what follows them, and weights that are kept packed."""

import copy
import gc

import pytest
from cresset._inductor.fusion import fuse
from cresset._inductor.steps import compiled_step
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


class Residual(nn.Module):
    def __init__(self, channels=32, bias=False, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride, 1, bias=bias)
        self.norm = nn.BatchNorm2d(channels)
        with torch.no_grad():
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.5, 2)
            self.norm.weight.normal_()
            self.norm.bias.normal_()

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x)


def joined(function, *args):
    with torch.no_grad():
        return fuse(make_fx(function)(*args)).operators


def compiled(function, *args, **options):
    with torch.no_grad():
        return torch.compile(function, fullgraph=True, **options)(*args)


class TestConvolutions:
    def test_norm_sum_and_relu_run_with_the_convolution(self):
        net, x = Residual().eval(), torch.randn(2, 32, 16, 16)
        assert joined(net, x) == [["convolution", "native_batch_norm", "add.Tensor", "relu"]]
        assert torch.equal(compiled(net, x), net(x).detach())

    @pytest.mark.parametrize("net", [Residual(8, True), Residual(6, stride=1), Residual(64)], ids=["bias", "few", "many"])
    @pytest.mark.parametrize("size", [(1, 3, 3), (3, 7, 9)])
    def test_results_have_the_bits_of_eager_mode(self, net, size):
        net.eval()
        x = torch.randn(size[0], net.conv.in_channels, *size[1:])
        x[0, 0, 0, 0] = float("nan")
        got, expected = compiled(net, x), net(x).detach()
        assert torch.equal(got.isnan(), expected.isnan())
        assert torch.equal(got.nan_to_num(), expected.nan_to_num())

    def test_relu_alone(self):
        conv, x = nn.Conv1d(4, 6, 3), torch.randn(2, 4, 12)
        assert joined(lambda x: conv(x).relu(), x) == [["convolution", "relu"]]
        assert torch.equal(compiled(lambda x: conv(x).relu(), x), conv(x).relu().detach())

    def test_a_value_that_something_else_reads_stays(self):
        net, x = Residual().eval(), torch.randn(2, 32, 8, 8)

        def both(x):
            y = net.conv(x)
            return y, net.norm(y)

        def twice(x):
            y = net.norm(net.conv(x))
            return y, y.relu()

        assert joined(both, x) == []
        assert joined(twice, x) == [["convolution", "native_batch_norm"]]
        for function in (both, twice):
            for got, expected in zip(compiled(function, x), function(x), strict=True):
                assert torch.equal(got, expected)

    def test_a_sum_with_itself(self):
        net, x = Residual().eval(), torch.randn(2, 32, 8, 8)
        double = lambda x: (lambda y: (y + y).relu())(net.norm(net.conv(x)))  # noqa: E731
        assert torch.equal(compiled(double, x), double(x))

    def test_statistics_of_the_batch_are_no_part_of_it(self):
        net, x = Residual(), torch.randn(2, 32, 8, 8)
        other = copy.deepcopy(net)
        assert torch.equal(compiled(net, x), other(x).detach())
        assert torch.equal(net.norm.running_mean, other.norm.running_mean)

    @pytest.mark.parametrize("change", [lambda x: x.double(), lambda x: x.to(memory_format=torch.channels_last), lambda x: x[:, :, ::2]])
    def test_other_dtypes_and_strides(self, change):
        x = change(torch.randn(2, 32, 8, 8))
        net = Residual().eval().to(x.dtype)
        torch.testing.assert_close(compiled(net, x), net(x).detach())

    def test_open_sizes(self):
        net = Residual().eval()
        function = torch.compile(net, dynamic=True)
        with torch.no_grad():
            for n in (2, 3, 5):
                x = torch.randn(n, 32, 4 + n, 8)
                assert torch.equal(function(x), net(x))


class TestLinear:
    def test_relu_runs_with_the_product(self):
        net, x = nn.Sequential(nn.Linear(40, 30), nn.ReLU()), torch.randn(2, 5, 40)
        assert joined(net, x) == [["addmm", "relu"]]
        assert torch.equal(compiled(net, x), net(x).detach())

    def test_gradients_are_those_of_eager_mode(self):
        net = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 20, bias=False), nn.ReLU())
        other, x = copy.deepcopy(net), torch.randn(7, 40)
        torch.compile(net)(x).square().sum().backward()
        other(x).square().sum().backward()
        for got, expected in zip(net.parameters(), other.parameters(), strict=True):
            assert torch.equal(got.grad, expected.grad)

    def test_nan_and_negative_zero_pass(self):
        layer, x = nn.Linear(2, 3), torch.tensor([[0.0, float("nan")], [-0.0, 0.0]])
        with torch.no_grad():
            layer.bias.fill_(-0.0)
        function = lambda x: layer(x).relu()  # noqa: E731
        got, expected = compiled(function, x), function(x).detach()
        assert torch.equal(got.isnan(), expected.isnan())
        assert torch.equal(got[1].signbit(), expected[1].signbit())


class TestFreezing:
    def frozen(self, net, **options):
        function = torch.compile(net, fullgraph=True, **(options or {"options": {"freezing": True}}))

        def run(x):
            with torch.no_grad():
                return function(x)

        return run

    NETS = [
        (lambda: Residual(64).eval(), (1, 64, 16, 16)),
        (lambda: nn.Sequential(nn.Linear(256, 192), nn.ReLU(), nn.Linear(192, 128)), (96, 256)),
        pytest.param(
            lambda: nn.Sequential(nn.Conv2d(32, 48, 3, 2, 1), nn.ReLU()), (2, 32, 17, 17),
            marks=pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="the order of the weights is oneDNN's"),
        ),
    ]  # fmt: skip

    @pytest.mark.parametrize(("make", "size"), NETS, ids=["conv", "linear", "strided"])
    def test_weights_that_change_are_seen(self, make, size):
        net, x = make(), torch.randn(size)
        run = self.frozen(net)
        for _ in range(2):
            torch.testing.assert_close(run(x), net(x).detach())
        with torch.no_grad():
            next(net.parameters()).mul_(2)
        torch.testing.assert_close(run(x), net(x).detach())
        net.load_state_dict({k: v + 1 if v.is_floating_point() else v for k, v in net.state_dict().items()})
        torch.testing.assert_close(run(x), net(x).detach(), rtol=1e-4, atol=1e-3)
        layer = net.conv if hasattr(net, "conv") else net[0]
        layer.weight = nn.Parameter(torch.randn_like(layer.weight) / 10)
        torch.testing.assert_close(run(x), net(x).detach(), rtol=1e-4, atol=1e-3)

    @pytest.mark.parametrize(("make", "size"), NETS, ids=["conv", "linear", "strided"])
    @pytest.mark.parametrize("setting", ["option", "config", "none", "gradients"])
    def test_packed_weights_are_read_where_asked_for(self, make, size, setting):
        net, x = make(), torch.randn(size)
        run = self.frozen(net, **({} if setting == "option" else {"backend": "inductor"}))
        with torch._inductor.config.patch(freezing=setting in ("config", "gradients")):
            before = run(x) if setting != "gradients" else torch.compile(net)(x).detach()
            # A write that counts as no version: only packed weights do not see it.
            layer = net.conv if hasattr(net, "conv") else net[0]
            layer.weight.data.zero_()
            after = run(x) if setting != "gradients" else torch.compile(net)(x).detach()
        assert torch.equal(before, after) == (setting in ("option", "config"))

    @pytest.mark.parametrize("options", [{"stride": 2}, {"stride": 2, "bias": False}, {"groups": 32}, {"padding": 1}], ids=str)
    def test_convolutions_have_the_bits_of_eager_mode(self, options):
        net = nn.Sequential(nn.Conv2d(32, 64, 3, **options), nn.ReLU(), nn.BatchNorm2d(64)).eval()
        run = self.frozen(net, options={"freezing": True}, dynamic=True)
        for size in ((2, 32, 17, 17), (2, 32, 17, 17), (3, 32, 20, 20), (2, 32, 17, 17), (40, 32, 9, 9)):
            x = torch.randn(size)
            assert torch.equal(run(x), net(x).detach()), size

    @pytest.mark.parametrize("size", [(100, 1100, 70), (33, 400, 200), (17, 64, 33)], ids=str)
    def test_linear_maps_have_the_bits_of_eager_mode(self, size):
        rows, columns, features = size
        net, x = nn.Sequential(nn.Linear(columns, features), nn.ReLU(), nn.Linear(features, columns)), torch.randn(rows, columns)
        run = self.frozen(net)
        for _ in range(2):
            assert torch.equal(run(x), net(x).detach())

    def test_settings_are_put_back(self):
        self.frozen(nn.Linear(2, 2))(torch.ones(1, 2))
        assert not torch._inductor.config.freezing

    def test_tensors_without_versions(self):
        with torch.inference_mode():
            net, x = nn.Linear(256, 192), torch.randn(96, 256)
            function = torch.compile(net, options={"freezing": True})
            for _ in range(2):
                torch.testing.assert_close(function(x), net(x))
                net.weight.mul_(2)


class Blocks(nn.Module):
    """Convolutions with batch norms and relu between, and a sum."""

    def __init__(self, affine=True, tracked=True):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(16, 16, 3, 1, 1, bias=False) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm2d(16, affine=affine, track_running_stats=tracked) for _ in range(3))

    def forward(self, x):
        y = x
        for conv, norm in zip(self.convs, self.norms):
            y = norm(conv(y)).relu()
        return (y + x).square().mean()


def halves(net, x):
    """The operators of each kernel of forward and of backward."""
    state = {**dict(net.named_parameters()), **dict(net.named_buffers())}
    names = list(state)
    step = compiled_step(lambda *flat: (torch.func.functional_call(net, dict(zip(names, flat[:-1], strict=True)), (flat[-1],)),), [*state.values(), x])
    return [part.fused.operators for part in step.parts]


class TestTrainedNorms:
    @pytest.mark.parametrize("high", [3.0, 1e30])
    @pytest.mark.parametrize("size", [(4, 32, 12, 12), (2, 32, 1, 3)], ids=str)
    def test_a_sum_between_norm_and_relu(self, size, high):
        net = Residual()
        other, x = copy.deepcopy(net), torch.randn(size)
        x[0, 0, 0, 0] = high
        function = torch.compile(net)
        for _ in range(2):
            for call in (function, other):
                call(x).square().mean().backward()
        for got, expected in zip((*net.parameters(), *net.buffers()), (*other.parameters(), *other.buffers()), strict=True):
            for a, b in ((got, expected), (got.grad, expected.grad)):
                assert a is b is None or bool(((a == b) | (a.isnan() & b.isnan())).all())
        forward, _ = halves(net, x)
        assert [name for name in forward if "native_batch_norm" in name] == [["native_batch_norm", "add.Tensor", "relu"]]

    @pytest.mark.parametrize("options", [{}, {"affine": False}, {"tracked": False}], ids=str)
    @pytest.mark.parametrize("size", [(4, 16, 12, 12), (2, 16, 1, 1), (3, 16, 5, 7)], ids=str)
    def test_gradients_and_statistics_have_the_bits_of_eager_mode(self, options, size):
        net = Blocks(**options)
        other, x = copy.deepcopy(net), torch.randn(size)
        function = torch.compile(net)
        for _ in range(3):
            for call in (function, other):
                call(x).backward()
        for (name, got), expected in zip(net.named_parameters(), other.parameters(), strict=True):
            assert torch.equal(got.grad, expected.grad), name
        for (name, got), expected in zip(net.named_buffers(), other.buffers(), strict=True):
            assert torch.equal(got, expected), name

    def test_relu_runs_with_the_norm(self):
        forward, backward = halves(Blocks(), torch.randn(4, 16, 12, 12))
        assert forward.count(["native_batch_norm", "relu"]) == 3
        assert backward.count(["native_batch_norm", "relu"]) == 3
        assert backward.count(["threshold_backward", "native_batch_norm_backward"]) == 3

    def test_relu_of_a_norm_is_not_kept(self):
        net, x = Blocks(), torch.randn(8, 16, 32, 32)

        def held(function):
            gc.collect()
            before = torch.cpu.memory_stats()["allocated_bytes"]
            loss = function(x)
            return torch.cpu.memory_stats()["allocated_bytes"] - before, loss

        function = torch.compile(net)
        function(x).backward()
        one = x.numel() * x.element_size()
        assert held(net)[0] >= 6 * one
        assert held(function)[0] <= 4.2 * one
