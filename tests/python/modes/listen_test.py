"""Listening above all layers and below autograd: what arrives, how, and what a listener's result does."""

import unittest

import _cresset
from cresset._modes.stack import ABOVE_LAYERS, BELOW_AUTOGRAD, listening_at

import cresset as torch
from cresset import nn


def heard(place, run):
    names = []

    def note(func, args, kwargs):
        names.append(str(func))
        return func(*args, **kwargs)

    with listening_at(place, note):
        run()
    return names


class Listening(unittest.TestCase):
    def test_above_layers_composites_arrive_whole(self):
        x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
        self.assertEqual(heard(ABOVE_LAYERS, lambda: nn.functional.linear(x, w)), ["aten.linear.default"])

    def test_below_autograd_their_parts_arrive_and_those_of_gradients(self):
        x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
        self.assertEqual(heard(BELOW_AUTOGRAD, lambda: nn.functional.linear(x, w)), ["aten.t.default", "aten.mm.default"])
        out = nn.functional.linear(x, w)
        self.assertIn("aten.mm.default", heard(BELOW_AUTOGRAD, lambda: torch.autograd.grad(out, w, torch.ones(2, 4))))

    def test_history_is_recorded_around_a_listener_below_autograd(self):
        x = torch.ones(2, requires_grad=True)
        with listening_at(BELOW_AUTOGRAD, lambda func, args, kwargs: func(*args, **kwargs)):
            y = x.sin() * 2
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * torch.ones(2).cos())

    def test_arguments_are_as_given_without_defaults_at_the_end(self):
        calls = []

        def note(func, args, kwargs):
            calls.append((args[1:], kwargs))
            return func(*args, **kwargs)

        x = torch.ones(2, 3)
        with listening_at(BELOW_AUTOGRAD, note):
            x.add(x, alpha=2)
            x.argmax(1, True)
            x.argmax(1)
            x.transpose(0, 1)
            torch.empty((2,), dtype=torch.int64)
        self.assertEqual(calls[0][1], {"alpha": 2})
        self.assertEqual([c[0] for c in calls[1:4]], [(1, True), (1,), (0, 1)])
        self.assertEqual(calls[4][1]["dtype"], torch.int64)

    def test_what_the_listener_returns_is_the_result(self):
        with listening_at(BELOW_AUTOGRAD, lambda func, args, kwargs: torch.full((2,), 7.0)):
            y = torch.ones(2).sin()
        self.assertEqual(y.tolist(), [7.0, 7.0])

    def test_a_result_that_does_not_fit_the_schema_is_refused(self):
        with listening_at(BELOW_AUTOGRAD, lambda func, args, kwargs: "nothing"):
            with self.assertRaisesRegex(RuntimeError, "sin: __torch_dispatch__ returned str where the schema has Tensor"):
                torch.sin(X)

    def test_errors_of_the_listener_come_out_of_the_call(self):
        def fail(func, args, kwargs):
            raise KeyError("mine")

        with listening_at(BELOW_AUTOGRAD, fail), self.assertRaisesRegex(KeyError, "mine"):
            X.sin()
        self.assertEqual(X.sum().item(), 3.0)

    def test_methods_without_rows_are_heard(self):
        self.assertEqual(heard(BELOW_AUTOGRAD, lambda: X.detach()), ["aten.detach.default"])
        self.assertEqual(heard(BELOW_AUTOGRAD, lambda: X[0].item()), ["aten.select.int", "aten._local_scalar_dense.default"])

    def test_a_listener_does_not_hear_itself(self):
        names = heard(BELOW_AUTOGRAD, lambda: X + 1)
        self.assertEqual(len(names), 1)

    def test_the_place_is_named_in_an_error(self):
        with self.assertRaisesRegex(ValueError, "expected the place 0 or 1, got 2"):
            _cresset._listen(2, None)


X = torch.tensor([1.0, 2.0])

if __name__ == "__main__":
    unittest.main()
