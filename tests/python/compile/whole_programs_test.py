"""Programs of one graph: what Python and its library offer, within a captured function."""

import collections
import contextlib
import os
import sys
import unittest

import cresset as torch
from cresset import nn


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T


class Entered:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self.log

    def __exit__(self, *error):
        self.log.append(error[0])
        return error[0] is KeyError


def made_on_demand(x):
    known = collections.defaultdict(lambda: x * 2)
    known["new"] += 1
    return known["new"] + known["other"], len(known)


def lists_without_operators(x):
    known = {"b": x, "a": x}
    return [known[key] for key in sorted(known)] + [t for t in reversed([x, x])] + list({k: v for k, v in known.items()}.values())


def contexts_of_errors(x):
    try:
        try:
            raise ValueError("first")
        except ValueError as error:
            raise KeyError("second") from error
    except KeyError as error:
        return x * (error.__context__ is error.__cause__) * len(error.__context__.args)


def context_without_a_cause(x):
    try:
        try:
            raise ValueError("first")
        except ValueError:
            raise KeyError("second")  # noqa: B904  the point
    except KeyError as error:
        return x * isinstance(error.__context__, ValueError) * (error.__cause__ is None)


def stack_of_contexts(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Entered(log))
        stack.callback(log.append, 3)
        x = x * 2
        raise KeyError("taken by the context")
    return x * len(log), log


def error_at_hand(x):
    try:
        raise ValueError("here")
    except ValueError:
        kind, error, _ = sys.exc_info()
    return x * (kind is ValueError) * len(error.args) * (sys.exc_info()[0] is None)


PROGRAMS = [
    made_on_demand, lists_without_operators, contexts_of_errors, context_without_a_cause, stack_of_contexts, error_at_hand,
    lambda x: vars(Pair(2, 3))["b"] * x, lambda x: x * torch.Size([2, 3]).numel(), lambda x: x * len(os.path.join("a", os.path.basename("b/c.d"))),
    lambda x: x * (os.path.splitext("a.b") == ("a", ".b")) * os.path.isabs("/a"),
]  # fmt: skip


class Programs(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def same(self, a, b):
        self.assertIs(type(a), type(b))
        if isinstance(a, (list, tuple)):
            self.assertEqual(len(a), len(b))
            for one, other in zip(a, b, strict=True):
                self.same(one, other)
        else:
            self.assertTrue(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, (a, b))

    def test_one_graph(self):
        x = torch.arange(4.0)
        for program in PROGRAMS:
            with self.subTest(program.__name__):
                torch._dynamo.reset()
                compiled = torch.compile(program, backend="eager", fullgraph=True)
                for _ in range(2):
                    self.same(compiled(x), program(x))

    def test_parametrized_layers_compute_their_weights_in_the_graph(self):
        for make in (lambda m: nn.utils.parametrize.register_parametrization(m, "weight", Symmetric()), nn.utils.parametrizations.weight_norm,
                     nn.utils.parametrizations.orthogonal):  # fmt: skip
            torch.manual_seed(0)
            layer, x = make(nn.Linear(4, 4)), torch.linspace(-1, 1, 8).reshape(2, 4)
            compiled = torch.compile(layer, backend="eager", fullgraph=True)
            torch.testing.assert_close(compiled(x), layer(x))
            found, wanted = (torch.autograd.grad(call(x).square().sum(), list(layer.parameters())) for call in (compiled, layer))
            torch.testing.assert_close(found, wanted)

    def test_weights_that_are_computed_once(self):
        layer, x = nn.utils.parametrize.register_parametrization(nn.Linear(4, 4), "weight", Symmetric()), torch.ones(2, 4)
        compiled = torch.compile(lambda x: layer(x) + layer(x), backend="eager")
        first = compiled(x)
        with nn.utils.parametrize.cached():
            torch.testing.assert_close(compiled(x), first)
            torch.testing.assert_close(compiled(x), first)
        with torch.no_grad():
            layer.parametrizations.weight.original.mul_(2)
        torch.testing.assert_close(compiled(x), layer(x) + layer(x))


if __name__ == "__main__":
    unittest.main()
