"""Checkpoints: the same values and gradients, recomputed as often as needed, and functions that are not the same twice."""

import unittest
from functools import partial

from cresset.utils._python_dispatch import TorchDispatchMode
from cresset.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    get_device_states,
    set_checkpoint_early_stop,
    set_device_states,
)

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


def leaf(seed=0):
    torch.manual_seed(seed)
    return torch.rand(4, dtype=torch.float64).requires_grad_(True)


class Checkpoints(unittest.TestCase):
    def test_values_and_gradients(self):
        def function(x, y=None, scale=2.0):
            return (x.sin() * scale).exp().cos() * (1 if y is None else y.exp())

        for reentrant in (False, True):
            for second in (False, True):
                with self.subTest(reentrant=reentrant, second=second):
                    args = [leaf(1), leaf(2)] if second else [leaf(1)]
                    expected = function(*args)
                    gradients = torch.autograd.grad(expected.sum(), args)
                    got = checkpoint(function, *args, use_reentrant=reentrant)
                    self.assertTrue(torch.equal(got, expected))
                    got.sum().backward()
                    for x, gradient in zip(args, gradients):
                        self.assertTrue(torch.equal(x.grad, gradient))

    def test_the_reentrant_form_refuses_passes_for_some_tensors(self):
        weight = leaf()
        for ask in (lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])):
            x = leaf()
            y = checkpoint(lambda x: x * weight, x, use_reentrant=True).sum()
            with self.assertRaisesRegex(RuntimeError, "use_reentrant=False takes both"):
                ask(y, x)
            self.assertIsNone(weight.grad)

    def test_random_numbers_are_drawn_again(self):
        for reentrant in (False, True):
            x = leaf()
            torch.manual_seed(3)
            y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5) * x, x, use_reentrant=reentrant)
            after = torch.rand(1)
            (y / x.detach()).sum().backward()
            self.assertTrue(torch.equal(x.grad, 2 * y.detach() / x.detach() ** 2))
            torch.manual_seed(3)
            torch.nn.functional.dropout(x, 0.5)
            self.assertTrue(torch.equal(torch.rand(1), after))

    def test_recomputed_once_each_backward_and_stopped_early(self):
        for early in (True, False):
            calls = []

            def function(x, calls=calls):
                calls.append("begin")
                y = x.exp().sin()
                y = y + 1
                calls.append("end")
                return y

            x = leaf()
            with set_checkpoint_early_stop(early):
                y = checkpoint(function, x, use_reentrant=False)
            y.sum().backward(retain_graph=True)
            self.assertEqual(calls[2:], ["begin"] if early else ["begin", "end"])
            y.sum().backward()
            self.assertEqual(calls.count("begin"), 3)

    def test_nested(self):
        x = leaf()

        def inner(x):
            return x.exp().sin()

        def outer(x):
            return checkpoint(inner, x.cos(), use_reentrant=False).exp()

        expected = torch.autograd.grad(inner(x.cos()).exp().sum(), x)[0]
        self.assertTrue(torch.equal(torch.autograd.grad(checkpoint(outer, x, use_reentrant=False).sum(), x)[0], expected))

    def test_nothing_is_kept(self):
        kept = []

        class Watch(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                kept.append(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        x = leaf()
        checkpoint(lambda x: Watch.apply(x.exp()), x, use_reentrant=False).sum().backward()
        self.assertEqual(len(kept), 2)
        self.assertTrue(torch.equal(x.grad, x.detach().exp() ** 2))

    def test_functions_that_change(self):
        calls = []

        def fewer(x):
            calls.append(1)
            return x.sin() if len(calls) > 1 else x.sin().exp().cos()

        with self.assertRaisesRegex(CheckpointError, "(?s)another number.*forward pass: 3.*recomputation: 1"):
            checkpoint(fewer, leaf(), use_reentrant=False).sum().backward()
        calls.clear()

        def wider(x):
            calls.append(1)
            y = x.sin()
            return (torch.cat([y, y]) if len(calls) > 1 else y).cos()

        with self.assertRaisesRegex(CheckpointError, "(?s)another shape, dtype or device.*position 1.*checkpoint_test.py"):
            checkpoint(wider, leaf(), use_reentrant=False, debug=True).sum().backward()

    def test_inputs_that_change_in_place_are_noticed(self):
        for change in (lambda t: t.fill_(0.5), lambda t: t.unsqueeze_(0)):
            x = leaf() * 1
            y = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
            change(x)
            with self.assertRaisesRegex(RuntimeError, "modified"):
                y.sum().backward()
        with torch.inference_mode():
            x = torch.ones(2)
        with self.assertRaisesRegex(RuntimeError, "inference"):
            checkpoint(torch.exp, x, use_reentrant=False)

    def test_sequences(self):
        x = leaf()
        layers = [torch.sin, torch.exp, torch.cos, torch.tanh, torch.sigmoid]
        y = x
        for layer in layers:
            y = layer(y)
        expected = torch.autograd.grad(y.sum(), x)[0]
        for segments in (1, 2, 3):
            got = checkpoint_sequential(layers, segments, x, use_reentrant=False)
            self.assertTrue(torch.equal(torch.autograd.grad(got.sum(), x)[0], expected))

    def test_mistakes(self):
        with self.assertRaises(ValueError):
            checkpoint(torch.sin, leaf(), use_reentrant=True, other=1)
        with self.assertRaises(ValueError):
            checkpoint(torch.sin, leaf(), use_reentrant=True, debug=True)
        with self.assertWarnsRegex(UserWarning, "use_reentrant"):
            checkpoint(torch.sin, leaf())
        with self.assertWarnsRegex(UserWarning, "no input requires grad"):
            checkpoint(torch.sin, torch.ones(2), use_reentrant=True)


class Nested(unittest.TestCase):
    """A function that differentiates another checkpoint while it runs: what it saves later is not known yet where that one recomputes."""

    def test_derivatives_within_a_checkpoint(self):
        def gradient(function):
            def derivative(x):
                return torch.autograd.grad(function(x).sum(), x, create_graph=True)[0]

            return derivative

        def inner(x):
            return x.sin().exp().sin()

        x = torch.tensor([0.3, 0.7], requires_grad=True)
        expected = gradient(gradient(inner))(x)
        for early_stop in (True, False):
            with set_checkpoint_early_stop(early_stop):
                nested = partial(checkpoint, gradient(partial(checkpoint, inner, use_reentrant=False)), use_reentrant=False)
                torch.testing.assert_close(gradient(nested)(x), expected)


class Counts(TorchDispatchMode):
    """How often each operator runs."""

    def __init__(self):
        super().__init__()
        self.calls = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls[function] = self.calls.get(function, 0) + 1
        return function(*args, **(kwargs or {}))


class Selective(unittest.TestCase):
    def gradients(self, function, args, policy, mode=None, **named):
        made = partial(create_selective_checkpoint_contexts, policy, **named)
        out = checkpoint(function, *args, use_reentrant=False, context_fn=made)
        with mode or Counts():
            return torch.autograd.grad(out.sum(), args)

    def test_what_is_kept_is_not_computed_again(self):
        def function(x, w):
            return ((x @ w).sin() @ w).exp().sum(0)

        args = [torch.rand(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        plain, product = Counts(), torch.ops.aten.mm.default
        out = function(*args).sum()
        with plain:
            expected = torch.autograd.grad(out, args)
        for policy, products in (
            ([product], 0),
            ([], 2),
            (lambda context, op, *a: CheckpointPolicy.MUST_SAVE, 0),
            (lambda context, op, *a: "mm" in str(op), 0),
        ):
            counts = Counts()
            got = self.gradients(function, args, policy, counts)
            self.assertEqual(counts.calls[product] - plain.calls[product], products)
            for a, b in zip(got, expected):
                self.assertTrue(torch.equal(a, b))

    def test_modules(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4), nn.LayerNorm(4), nn.ReLU(inplace=True)).double()
        x = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
        expected = torch.autograd.grad(net(x).sum(), [x, *net.parameters()])
        for policy in ([torch.ops.aten.addmm.default], [torch.ops.aten.native_layer_norm.default]):
            made = partial(create_selective_checkpoint_contexts, policy, allow_cache_entry_mutation=True)
            got = torch.autograd.grad(checkpoint(net, x, use_reentrant=False, context_fn=made).sum(), [x, *net.parameters()])
            for a, b in zip(got, expected):
                self.assertTrue(torch.allclose(a, b, rtol=1e-12))

    def test_twice(self):
        x = leaf()
        made = partial(create_selective_checkpoint_contexts, lambda context, op, *a: CheckpointPolicy.PREFER_SAVE)
        y = checkpoint(lambda x: (x * x).sin(), x, use_reentrant=False, context_fn=made)
        first, second = (torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for _ in range(2))
        self.assertTrue(torch.equal(first, second))

    def test_what_was_changed_in_place_is_noticed(self):
        def function(x):
            y = x * 2
            y.add_(1)
            return y.sin()

        def all_of_it(context, op, *args, **kwargs):
            return CheckpointPolicy.MUST_SAVE

        with self.assertRaisesRegex(RuntimeError, "written since"):
            self.gradients(function, [leaf()], all_of_it)

    def test_policies_are_told_where_they_are(self):
        seen = []

        def policy(context, op, *args, **kwargs):
            seen.append((str(op), context.is_recompute, context.op_output is not None))
            return CheckpointPolicy.PREFER_RECOMPUTE

        self.gradients(lambda x: x.sin().exp(), [leaf()], policy)
        self.assertEqual(seen, [("aten.sin.default", False, True), ("aten.exp.default", False, True)])  # asked once, in the first run

    def test_policies_are_asked_of_the_operators_that_modes_see(self):
        w, bias, seen = torch.rand(3, 3, requires_grad=True), torch.zeros(3, requires_grad=True), []

        def function(x):
            y = F.layer_norm(F.linear(x, w, bias).relu(), (3,))
            y = F.gelu(y @ w)
            y = y + 1
            return F.cross_entropy(y, torch.tensor([0, 1, 2]))

        def policy(context, op, *args, **kwargs):
            seen.append(str(op).removeprefix("aten."))
            return CheckpointPolicy.MUST_SAVE

        x = torch.rand(3, 3, requires_grad=True)
        expected = torch.autograd.grad(function(x), (x, w, bias))
        out = checkpoint(function, x, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, policy))
        names = "t addmm relu native_layer_norm mm gelu add.Tensor lift_fresh _log_softmax nll_loss_forward"
        self.assertEqual(seen, [name if "." in name else f"{name}.default" for name in names.split()])
        counts = Counts()
        with counts:
            got = torch.autograd.grad(out, (x, w, bias))
        for a, b in zip(got, expected):
            self.assertTrue(torch.allclose(a, b, rtol=1e-5, atol=1e-7))  # the row is one pass over the scores, its parts are several
        self.assertEqual([op for op in counts.calls if op._opname in ("addmm", "relu", "native_layer_norm", "gelu", "nll_loss_forward")], [])

    def test_mistakes(self):
        self.assertRaises(ValueError, create_selective_checkpoint_contexts, ["mm"])
        self.assertRaises(TypeError, create_selective_checkpoint_contexts, 3)
        self.assertRaises(TypeError, self.gradients, torch.sin, [leaf()], lambda context, op, *a: "save")
        turns = iter([1, 2])
        with set_checkpoint_early_stop(False), self.assertRaisesRegex(RuntimeError, "runs .* 2 times, the first run 1 times: its results are kept"):
            self.gradients(lambda x: [x := x.sin() for _ in range(next(turns))][-1].exp(), [leaf()], lambda context, op, *a: CheckpointPolicy.MUST_SAVE)


class Groups(unittest.TestCase):
    def test_one_recomputation_for_all_of_a_group(self):
        runs = []

        def function(x):
            runs.append(1)
            return x.sin().exp()

        x = leaf()
        y = checkpoint(function, x, use_reentrant=False)
        with GraphExecGroup():
            first = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
            second = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
        self.assertEqual(len(runs), 2)
        self.assertTrue(torch.equal(first, second))
        torch.autograd.grad(y.sum(), x)
        self.assertEqual(len(runs), 3)
        with self.assertRaises(RuntimeError), GraphExecGroup():
            GraphExecGroup().__enter__()
        self.assertIsNone(GraphExecGroup._get_current_group())

    def test_states_of_devices(self):
        self.assertEqual(get_device_states(torch.ones(1), [torch.ones(1)]), ([], []))
        set_device_states([], [])
        self.assertRaises(RuntimeError, set_device_states, [0], [torch.get_rng_state()])


if __name__ == "__main__":
    unittest.main()
