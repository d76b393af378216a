"""Hooks of modules: which run, in which order, and what their results replace."""

import warnings

import pytest
from cresset.nn.modules import module as hooks

import cresset as torch
from cresset import nn


@pytest.fixture
def handles():
    kept = []
    yield kept.append
    for handle in kept:
        handle.remove()


def test_registration_hooks_of_all_modules_replace_what_is_registered(handles):
    other = nn.Parameter(torch.full((2,), 7.0))
    handles(hooks.register_module_parameter_registration_hook(lambda m, name, p: other if name == "weight" else None))
    handles(hooks.register_module_buffer_registration_hook(lambda m, name, b: b + 1 if name == "mean" else None))
    handles(hooks.register_module_module_registration_hook(lambda m, name, child: nn.Identity() if name == "replaced" else None))
    net = nn.Module()
    net.register_parameter("weight", nn.Parameter(torch.zeros(2)))
    net.register_parameter("bias", nn.Parameter(torch.zeros(2)))
    net.register_buffer("mean", torch.zeros(1))
    net.register_buffer("var", torch.zeros(1))
    net.add_module("replaced", nn.ReLU())
    net.add_module("kept", nn.ReLU())
    assert net.weight is other and net.bias.tolist() == [0, 0]
    assert (net.mean.item(), net.var.item()) == (1, 0)
    assert [type(child).__name__ for child in net.children()] == ["Identity", "ReLU"]


def test_what_is_assigned_is_registered_too(handles):
    other = nn.Parameter(torch.full((2,), 7.0))
    handles(hooks.register_module_parameter_registration_hook(lambda m, name, p: other))
    handles(hooks.register_module_module_registration_hook(lambda m, name, child: nn.Identity()))
    net = nn.Module()
    net.weight, net.child = nn.Parameter(torch.zeros(2)), nn.ReLU()
    assert net.weight is other and isinstance(net.child, nn.Identity)


def test_hooks_of_all_modules_run_before_those_of_one(handles):
    seen, net = [], nn.Linear(1, 1)
    note = lambda text: lambda *args: seen.append(text)  # noqa: E731
    net.register_forward_pre_hook(note("own before"))
    net.register_full_backward_pre_hook(note("own before gradients"))
    net.register_full_backward_hook(note("own after gradients"))
    handles(hooks.register_module_forward_pre_hook(note("all before")))
    handles(hooks.register_module_full_backward_pre_hook(note("all before gradients")))
    handles(hooks.register_module_full_backward_hook(note("all after gradients")))
    net(torch.ones(1, 1, requires_grad=True)).sum().backward()
    assert seen == ["all before", "own before", "all before gradients", "own before gradients", "all after gradients", "own after gradients"]


def test_one_argument_need_not_be_in_a_tuple():
    net = nn.Identity()
    net.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert net(torch.zeros(2)).tolist() == [1, 1]


def test_a_hook_that_always_runs_and_raises_runs_once():
    calls, net = [], nn.Identity()

    def failing(*args):
        calls.append(1)
        raise ValueError("mine")

    net.register_forward_hook(failing, always_call=True)
    with pytest.raises(ValueError, match="mine"):
        net(torch.ones(1))
    assert calls == [1]


@pytest.mark.parametrize("first", ["register_backward_hook", "register_full_backward_hook"])
def test_both_kinds_of_backward_hooks_do_not_mix(first):
    second = {"register_backward_hook": "register_full_backward_hook"}.get(first, "register_backward_hook")
    net = nn.Identity()
    getattr(net, first)(lambda *args: None)
    with pytest.raises(RuntimeError):
        getattr(net, second)(lambda *args: None)


@pytest.mark.parametrize(
    ("function", "is_warned"),
    [(lambda x: (x * 2).sin(), True), (lambda x: [x * 2], True), (lambda x: (x * 2, x + 1), True), (torch.sin, False)],
    ids=["two operators", "a list", "two results", "one operator"],
)
def test_the_old_kind_warns_where_it_does_not_see_the_gradients_of_inputs(function, is_warned):
    class Net(nn.Module):
        def forward(self, x):
            return function(x)

    net = Net()
    net.register_backward_hook(lambda *args: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net(torch.ones(2, requires_grad=True) * 1)
    assert [w.category for w in caught] == [FutureWarning] * is_warned
