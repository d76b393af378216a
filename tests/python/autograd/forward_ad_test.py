"""Forward mode in Python: dual tensors, their levels, custom functions, gradcheck, and mistakes."""

import unittest

import cresset.autograd.forward_ad as forward_ad

import cresset as torch
from cresset.autograd import gradcheck, gradgradcheck


def vec(*values):
    return torch.tensor(values, dtype=torch.float64)


class Duals(unittest.TestCase):
    def test_values_and_tangents_travel_together(self):
        with forward_ad.dual_level() as level:
            self.assertEqual(level, 0)
            t = vec(1.0, 2.0)
            x = forward_ad.make_dual(vec(3.0, 4.0), t)
            primal, tangent = forward_ad.unpack_dual(x)
            self.assertEqual(primal.tolist(), [3, 4])
            self.assertIs(tangent, t)
            self.assertEqual(forward_ad.unpack_dual(x * x).tangent.tolist(), [6, 16])
            self.assertIsNone(forward_ad.unpack_dual(x.detach()).tangent)
            self.assertIsNone(forward_ad.unpack_dual(x.to(torch.int64)).tangent)
            self.assertIsNone(forward_ad.unpack_dual(primal).tangent)
        self.assertIsNone(forward_ad.unpack_dual(x).tangent)

    def test_detaching_in_place_drops_the_tangent(self):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(vec(1.0), vec(1.0)).clone()
            self.assertIsNone(forward_ad.unpack_dual(x.detach_()).tangent)

    def test_values_that_are_filled_in_have_tangents_too(self):
        with forward_ad.dual_level():
            value = forward_ad.make_dual(vec(2.0).sum(), vec(3.0).sum())
            filled = vec(0.0, 0.0, 0.0).index_fill(0, torch.tensor([1, 1]), value)
            self.assertEqual(forward_ad.unpack_dual(filled).tangent.tolist(), [0, 3, 0])

    def test_beyond_a_part_of_memory_there_are_zeros(self):
        with forward_ad.dual_level():
            part = forward_ad.make_dual(vec(0.0, 1.0, 2.0, 3.0)[1:3], vec(5.0, 7.0))
            value, tangent = forward_ad.unpack_dual(part.as_strided((4,), (1,), 0))
            self.assertEqual((value.tolist(), tangent.tolist()), ([0, 1, 2, 3], [0, 5, 7, 0]))

    def test_in_place_methods_give_the_tangents_of_their_functions(self):
        x, t, y = vec(0.3, 0.6), vec(1.0, -2.0), vec(0.5, 1.5)
        count = 0
        for name in sorted(name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith(("_", "resize"))):
            for arguments in ((), (y,), (0.5,)):
                with forward_ad.dual_level():
                    try:
                        dual = forward_ad.make_dual(x, t)
                        expected = getattr(dual, name[:-1])(*arguments)
                        changed = getattr(dual.clone(), name)(*arguments)
                    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
                        continue  # no function of that name, or other arguments
                    if not isinstance(expected, torch.Tensor) or expected.dtype is not torch.float64 or expected.tolist() != changed.tolist():
                        continue  # no numbers, or random ones
                    sides = [forward_ad.unpack_dual(v).tangent for v in (expected, changed)]
                    zeros = torch.zeros(changed.shape, dtype=torch.float64)
                    self.assertTrue(torch.allclose(*(zeros if v is None else v for v in sides), rtol=1e-14), (name, arguments, sides))
                    count += 1
        self.assertGreater(count, 100)

    def test_they_show_their_tangent(self):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.ones(2), torch.zeros(2))
            self.assertEqual(repr(x), "tensor([1., 1.], tangent=tensor([0., 0.]))")
        self.assertEqual(repr(x), "tensor([1., 1.])")

    def test_writing_into_a_part_gives_the_whole_a_tangent(self):
        with forward_ad.dual_level():
            z = torch.zeros(2, 2, dtype=torch.float64)
            z[0] = forward_ad.make_dual(vec(1.0, 2.0), vec(3.0, 4.0))
            z *= 2
            self.assertEqual(forward_ad.unpack_dual(z).tangent.tolist(), [[6, 8], [0, 0]])

    def test_tangents_may_be_switched_off(self):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(vec(1.0), vec(1.0))
            with forward_ad._set_fwd_grad_enabled(False):
                self.assertIsNone(forward_ad.unpack_dual(x * x).tangent)
            self.assertEqual(forward_ad.unpack_dual(x * x).tangent.item(), 2)

    def test_random_numbers_are_drawn_once(self):
        x, ones = torch.ones(1000, dtype=torch.float64), torch.ones(1000, dtype=torch.float64)
        torch.manual_seed(3)
        expected = torch.nn.functional.dropout(x, 0.5)
        with forward_ad.dual_level():
            torch.manual_seed(3)
            y = torch.nn.functional.dropout(forward_ad.make_dual(x, ones), 0.5)
            value, tangent = forward_ad.unpack_dual(y)
            self.assertTrue(value.equal(expected) and tangent.equal(expected))

    def test_mistakes(self):
        x = torch.ones(2)
        with self.assertRaisesRegex(RuntimeError, "no dual level is open"):
            forward_ad.make_dual(x, x)
        with self.assertRaisesRegex(RuntimeError, "expected the level that is open, got -1"):
            forward_ad.exit_dual_level()
        with forward_ad.dual_level():
            with self.assertRaisesRegex(RuntimeError, "do not nest"):
                forward_ad.enter_dual_level()
            with self.assertRaisesRegex(ValueError, "`tensor` to be of floating point or complex dtype, got torch.int64"):
                forward_ad.make_dual(torch.ones(2, dtype=torch.int64), x)
            with self.assertRaisesRegex(RuntimeError, r"expected a tangent of the primal's shape \[2\], got \[3\]"):
                forward_ad.make_dual(x, torch.ones(3))
            dual = forward_ad.make_dual(x, x)
            with self.assertRaisesRegex(RuntimeError, "has a tangent at this level already"):
                forward_ad.make_dual(dual, x)
            with self.assertRaisesRegex(NotImplementedError, "out=... arguments don't support automatic differentiation"):
                torch.mul(dual, dual, out=torch.empty(2))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * x * x * g, None

    @staticmethod
    def jvp(ctx, t, scale):
        assert scale is None
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * x * x * t


class CustomFunctions(unittest.TestCase):
    def test_jvp_gives_the_tangent(self):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(vec(2.0), vec(0.5)).requires_grad_()
            y = Cube.apply(x, 10.0)
            self.assertEqual(forward_ad.unpack_dual(y).tangent.item(), 60)
            self.assertEqual(torch.autograd.grad(y, x)[0].item(), 120)

    def test_an_argument_changed_in_place_has_its_tangent_changed_in_place(self):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, other):
                ctx.mark_dirty(x)
                ctx.other = other
                return x.mul_(2)

            @staticmethod
            def jvp(ctx, t, _):
                return t * 2 if ctx.other else t.mul_(2)

        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
            self.assertEqual(forward_ad.unpack_dual(Doubled.apply(x, False)).tangent.tolist(), [6, 6])
            with self.assertRaisesRegex(RuntimeError, "change its tangent in place"):
                Doubled.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)), True)
            self.assertEqual(Doubled.apply(torch.ones(2), True).tolist(), [2, 2])

    def test_without_jvp_it_is_an_error(self):
        class Plain(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        with forward_ad.dual_level(), self.assertRaisesRegex(NotImplementedError, "must implement the jvp function"):
            Plain.apply(forward_ad.make_dual(vec(2.0), vec(0.5)))

    def test_a_wrong_shape_is_an_error(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, t):
                return t[:1]

        with forward_ad.dual_level(), self.assertRaisesRegex(RuntimeError, r"tangent 0 has shape \[1\]"):
            Wrong.apply(forward_ad.make_dual(vec(2.0, 1.0), vec(0.5, 1.0)))


class FunctionsThatView(unittest.TestCase):
    """Where forward returns an argument or a view of it, jvp returns a view of the tangent."""

    def tangent_of(self, forward, jvp, dirty=False):
        class Made(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = forward(x)
                if dirty:
                    ctx.mark_dirty(y)
                return y

            @staticmethod
            def jvp(ctx, t):
                return jvp(t)

        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))
            return forward_ad.unpack_dual(Made.apply(dual)).tangent.tolist()

    def test_views_of_the_tangent_pass(self):
        self.assertEqual(self.tangent_of(lambda x: x[:2], lambda t: t[:2]), [1, 2])
        self.assertEqual(self.tangent_of(lambda x: x, lambda t: t.view_as(t)), [1, 2, 3])

    def test_other_tensors_are_refused(self):
        for forward, jvp in (
            (lambda x: x[:2], lambda t: t[:2].clone()),
            (lambda x: x[:2], lambda t: t.clone()[:2]),
            (lambda x: x, lambda t: t),
            (lambda x: x, lambda t: t * 2),
        ):
            with self.assertRaisesRegex(RuntimeError, "view"):
                self.tangent_of(forward, jvp)

    def test_a_tangent_left_as_it_was_is_refused_where_forward_changed_its_argument(self):
        self.assertEqual(self.tangent_of(lambda x: x.mul_(2), lambda t: t.mul_(2), True), [2, 4, 6])
        with self.assertRaisesRegex(RuntimeError, "in place"):
            self.tangent_of(lambda x: x.mul_(2), lambda t: t, True)


class Gradcheck(unittest.TestCase):
    def test_forward_mode_is_checked(self):
        x = vec(0.3, 1.2).requires_grad_()
        self.assertTrue(gradcheck(lambda x: (x.sin() * x).cumsum(0), (x,), check_forward_ad=True))
        self.assertTrue(gradcheck(lambda x: (x.sin() * x).cumsum(0), (x,), check_forward_ad=True, check_batched_forward_grad=True))
        self.assertTrue(gradgradcheck(lambda x: x.sin() * x, (x,), check_fwd_over_rev=True))

    def test_functions_that_write_in_place_are_checked_in_batches(self):
        x, y = vec(0.3, 1.2).requires_grad_(), vec(0.7, 0.4).requires_grad_()
        for function in (lambda x, y: x.clone().mul_(y), lambda x, y: x.clone().copy_(y), lambda x, y: x.clone()[:1].add_(y[:1])):
            self.assertTrue(gradcheck(function, (x, y), check_forward_ad=True, check_batched_forward_grad=True))

        class Wrong(Cube):
            @staticmethod
            def jvp(ctx, t, scale):
                return t

        with self.assertRaisesRegex(RuntimeError, "forward mode mismatch for output 0"):
            gradcheck(lambda x: Wrong.apply(x, 1.0), (x,), check_forward_ad=True, check_backward_ad=False)


class Layout(unittest.TestCase):
    def test_a_tangent_in_another_place_of_its_storage_is_copied(self):
        forward_ad = torch.autograd.forward_ad
        for primal, tangent, shared in (
            (torch.randn(4), torch.ones(4), True), (torch.randn(5)[:4], torch.ones(4), False), (torch.randn(5)[1:4], torch.ones(5)[1:4], True),
            (torch.randn(4)[::2], torch.ones(2), False), (torch.randn(4)[::2], torch.ones(4)[::2], True), (torch.randn(3), torch.ones(5)[:3], False),
            (torch.randn(2, 3).t(), torch.ones(3, 2), False), (torch.randn(()), torch.ones(()), True),
        ):  # fmt: skip
            with forward_ad.dual_level():
                found = forward_ad.unpack_dual(forward_ad.make_dual(primal, tangent)).tangent
                self.assertEqual(found.data_ptr() == tangent.data_ptr(), shared)
                self.assertEqual((found.stride(), found.tolist()), (primal.stride(), tangent.tolist()))


class ViewsBeforeTangents(unittest.TestCase):
    def test_a_view_has_a_part_of_the_tangent_that_its_base_gets_later(self):
        def through(change):
            def function(y):
                x = torch.zeros_like(y)
                row, column = x[0], x.t()[1]
                change(x, y)
                return row, column, x[0]

            return function

        y, direction = torch.rand(2, 3), torch.rand(2, 3)
        for change in (lambda x, y: x.copy_(y), lambda x, y: x.add_(y), lambda x, y: x[0].copy_(y[0]), lambda x, y: x.index_put_((torch.tensor([0]),), y[:1])):
            _, (row, column, again) = torch.func.jvp(through(change), (y,), (direction,))
            self.assertEqual(row.tolist(), again.tolist())
            self.assertEqual(row.tolist(), direction[0].tolist())
            self.assertEqual(column[0].item(), direction[0, 1].item())
            _, (rows, *_) = torch.vmap(lambda y, d, change=change: torch.func.jvp(through(change), (y,), (d,)))(
                torch.stack([y, y]), torch.stack([direction] * 2)
            )
            self.assertEqual(rows[1].tolist(), direction[0].tolist())


if __name__ == "__main__":
    unittest.main()
