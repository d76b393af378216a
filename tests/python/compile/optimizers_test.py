"""Steps of optimizers that are compiled: parameters and states are those of eager mode, by one graph for all steps after the first."""

import copy
import functools

import pytest
from cresset._dynamo.testing import CompileCounterWithBackend

import cresset as torch
from cresset import nn

OPTIMIZERS = {
    "SGD": ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "Adam": ({}, {"amsgrad": True, "weight_decay": 0.1}),
    "AdamW": ({}, {"maximize": True}),
    "Adamax": ({},),
    "NAdam": ({}, {"decoupled_weight_decay": True}),
    "RAdam": ({},),
    "Adagrad": ({}, {"lr_decay": 0.1}),
    "Adadelta": ({},),
    "RMSprop": ({}, {"centered": True, "momentum": 0.5}),
    "ASGD": ({},),
    "Rprop": ({},),
    "Adafactor": ({},),
}
CASES = [(name, options) for name, several in OPTIMIZERS.items() for options in several]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def pair(name, **options):
    """Two equal networks, each with an optimizer of its own."""
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    nets = [net, copy.deepcopy(net)]
    return nets, [getattr(torch.optim, name)(n.parameters(), **options) for n in nets]


def states(optimizer):
    return [v for state in optimizer.state_dict()["state"].values() for _, v in sorted(state.items()) if isinstance(v, torch.Tensor)]


def run(nets, optimizers, steps, count, between=lambda i: None, exact=True):
    x, same = torch.randn(5, 6), functools.partial(torch.testing.assert_close, **({"rtol": 0, "atol": 0} if exact else {}))
    for i in range(count):
        for net, optimizer, step in zip(nets, optimizers, steps, strict=True):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            step()
        between(i)
    for ours, theirs in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        same(ours, theirs)
    for ours, theirs in zip(states(optimizers[0]), states(optimizers[1]), strict=True):
        same(ours, theirs)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_steps_are_those_of_eager_mode(name, options):
    nets, optimizers = pair(name, **options)
    counter, counts = CompileCounterWithBackend("inductor"), []
    run(nets, optimizers, [torch.compile(optimizers[0].step, backend=counter), optimizers[1].step], 5, lambda i: counts.append(counter.frame_count))
    assert counts[-1] == counts[1] > 0 or name == "Adafactor"  # whose rule is no operator on lists


def test_a_rate_that_is_a_tensor_may_change():
    nets, optimizers = pair("AdamW", lr=0.1)
    for optimizer in optimizers:
        optimizer.param_groups[0]["lr"] = torch.tensor(0.1)
    counter, counts = CompileCounterWithBackend("inductor"), []

    def between(i):
        counts.append(counter.frame_count)
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"].mul_(0.5)

    run(nets, optimizers, [torch.compile(optimizers[0].step, backend=counter), optimizers[1].step], 5, between, exact=False)
    assert counts[-1] == counts[1] > 0


def test_a_scheduler_changes_the_rate():
    nets, optimizers = pair("SGD", lr=0.1, momentum=0.9)
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9) for optimizer in optimizers]
    run(nets, optimizers, [torch.compile(optimizers[0].step), optimizers[1].step], 4, lambda i: [scheduler.step() for scheduler in schedulers])


def test_forward_backward_and_step_in_one_function():
    nets, optimizers = pair("AdamW")
    x = torch.randn(5, 6)

    def whole(net, optimizer):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(whole)
    for _ in range(4):
        assert torch.equal(compiled(nets[0], optimizers[0]).detach(), whole(nets[1], optimizers[1]).detach())
    for ours, theirs in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_step_alone_runs_as_it_is(monkeypatch):
    # In a process that has taken a profile, which other tests do, a step calls itself under its name.
    monkeypatch.setattr(torch.optim.optimizer, "_are_named", lambda: False)
    nets, optimizers = pair("SGD", lr=0.1)
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9) for optimizer in optimizers]
    method = torch.compile(optimizers[0].step)

    @torch.compile
    def function():
        optimizers[0].step()

    for step in (method, function):
        run(nets, optimizers, [step, optimizers[1].step], 4, lambda i: [scheduler.step() for scheduler in schedulers])
        assert len(step._compiler.graphs) == 1  # no rate is guarded
        assert not step._compiler.region.entries()


def test_a_function_that_may_do_more_than_a_step_is_compiled():
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def either(x=None):
        if x is None:
            optimizer.step()
        else:
            return net(x).sin() * 2

    x = torch.randn(2, 4)
    either(x).sum().backward()
    either()
    assert torch.equal(either(x), net(x).sin() * 2)
    assert len(either._compiler.region.entries()) >= 2


def test_counts_of_steps_are_one_operator():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    optimizer = torch.optim.Adam(net.parameters())
    counter = CompileCounterWithBackend("eager")
    step = torch.compile(optimizer.step, backend=counter)
    for _ in range(3):
        net(torch.randn(2, 4)).sum().backward()
        step()
    calls = [str(node.target) for node in counter.graphs[-1].graph.nodes if node.op == "call_function" and node.all_input_nodes]
    assert calls == ["aten._foreach_add_.Scalar", "aten._fused_adam_.default"]
    assert all(state["step"] == 3 for state in optimizer.state.values())
