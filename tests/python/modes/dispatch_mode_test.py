"""`TorchDispatchMode`: the stack, nesting, what a mode sees and returns, and the functions over the stack."""

import math
import unittest

from cresset.utils import _python_dispatch as dispatch
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

F = torch.nn.functional
X = torch.tensor([1.0, 2.0])


class Log(TorchDispatchMode):
    def __init__(self, name="", log=None):
        super().__init__()
        self.name, self.log = name, [] if log is None else log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append(f"{self.name}{func.overloadpacket.__name__}")
        return func(*args, **(kwargs or {}))


class Modes(unittest.TestCase):
    def test_inner_modes_first_and_each_sees_what_the_inner_one_calls(self):
        log = []
        with Log("outer ", log), Log("inner ", log):
            X.exp()
        self.assertEqual(log, ["inner exp", "outer exp"])
        X.exp()
        self.assertEqual(len(log), 2)

    def test_replaced_operators_go_to_outer_modes(self):
        class Swap(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return torch.cos(*args) if func is torch.ops.aten.sin.default else func(*args, **(kwargs or {}))

        log = []
        with Log("", log), Swap():
            y = X.sin()
        torch.testing.assert_close(y, X.cos())
        self.assertEqual(log, ["cos"])

    def test_backward_is_seen(self):
        x = X.clone().requires_grad_()
        y = x.tanh().sum()
        with Log() as mode:
            y.backward()
        self.assertIn("tanh_backward", mode.log)

    def test_a_mode_may_be_entered_again_and_within_itself(self):
        mode = Log()
        with mode, mode:
            X.neg()
        self.assertEqual(mode.log, ["neg", "neg"])

    def test_errors_leave_the_stack_as_it_was(self):
        class Fails(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                raise ValueError("no")

        with Log() as mode:
            with self.assertRaises(ValueError), Fails():
                X.neg()
            X.neg()
        self.assertEqual(mode.log, ["neg"])
        self.assertEqual(dispatch._get_current_dispatch_mode_stack(), [])

    def test_functions_over_the_stack(self):
        self.assertIsNone(dispatch._get_current_dispatch_mode())
        with Log() as outer, Log() as inner:
            self.assertIs(dispatch._get_current_dispatch_mode(), inner)
            self.assertEqual(dispatch._get_current_dispatch_mode_stack(), [outer, inner])
            with dispatch._pop_mode_temporarily() as mode:
                self.assertIs(mode, inner)
                X.neg()
            with dispatch._disable_current_modes() as modes:
                self.assertEqual(modes, [outer, inner])
                self.assertFalse(dispatch.is_in_torch_dispatch_mode())
                X.neg()
            self.assertTrue(dispatch.is_in_torch_dispatch_mode())
        self.assertEqual((outer.log, inner.log), (["neg"], []))
        with self.assertRaisesRegex(RuntimeError, "no dispatch mode is active"):
            dispatch._pop_mode()

    def test_pre_dispatch_modes_see_composites_whole(self):
        class Above(Log):
            _dispatch_key = "PreDispatch"

        w = torch.ones(3, 2)
        with Above() as mode:
            torch.nn.functional.linear(X, w)
        self.assertEqual(mode.log, ["linear"])

    def test_return_and_correct_aliasing_returns_what_was_written(self):
        x = X.clone()
        self.assertIs(dispatch.return_and_correct_aliasing(torch.ops.aten.add_.Tensor, (x, 1), {}, X.clone()), x)


class Libraries(unittest.TestCase):
    def test_numbers_that_a_library_takes_for_tensors(self):
        x = torch.linspace(0.1, 0.9, 3)
        for transform in (torch.distributions.AffineTransform(1, 2.5), torch.distributions.PowerTransform(2)):
            with Log() as mode:
                result = transform(x)
            self.assertTrue(torch.equal(result, transform(x)))
            self.assertTrue(mode.log)


class Names(unittest.TestCase):
    """Operators have PyTorch's names where our rows have others, and the same results."""

    def check(self, f, *shapes, names):
        xs = [torch.linspace(0.1, 0.9, math.prod(shape)).reshape(shape).requires_grad_() for shape in shapes]
        with Log() as mode:
            got = torch.autograd.grad(f(*xs).sum(), xs)
        torch.testing.assert_close(got, torch.autograd.grad(f(*xs).sum(), xs))
        for name in names.split():
            self.assertIn(name, mode.log)
        private = {"_attention", "_avg_pool", "_cross_entropy", "_pad_mode", "_resize_images", "convolution_grad_input", "narrow"}
        self.assertFalse(private & set(mode.log))

    def test_layers(self):
        self.check(F.conv2d, (1, 2, 5, 5), (3, 2, 3, 3), names="convolution convolution_backward")
        self.check(lambda x: F.max_pool2d(x, 2), (1, 2, 4, 4), names="max_pool2d_with_indices max_pool2d_with_indices_backward")
        self.check(lambda x: F.avg_pool2d(x, 2), (1, 2, 4, 4), names="avg_pool2d avg_pool2d_backward")
        self.check(lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (1, 2, 4, 4), names="_adaptive_avg_pool2d _adaptive_avg_pool2d_backward")
        self.check(lambda x, w: F.layer_norm(x, (3,), w), (2, 3), (3,), names="native_layer_norm native_layer_norm_backward")
        self.check(lambda x: F.softmax(x, 1) * x, (2, 3), names="_softmax _softmax_backward_data")
        attention = "_scaled_dot_product_flash_attention_for_cpu"
        self.check(F.scaled_dot_product_attention, *[(1, 2, 4, 8)] * 3, names=f"{attention} {attention}_backward")

    def test_norms_ask_for_the_gradients_that_are_wanted(self):
        masks = []

        class Masks(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if func._schema.name.endswith("norm_backward"):
                    masks.append(args[-1])
                return func(*args, **(kwargs or {}))

        def norm(kind, *parts):
            rest = (x.shape[1:],) if kind is F.layer_norm else (1,) if kind is F.group_norm else (None, None)
            return kind(x, *rest, *parts, **({"training": True} if kind is F.batch_norm else {})).square().sum()

        x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        w, b = (torch.tensor([2.0, 3.0], requires_grad=True) for _ in range(2))
        for kind in (F.layer_norm, F.group_norm, F.batch_norm):
            for parts, wanted, mask in (
                ((None, None), (x,), [True, False, False]),
                ((w.detach(), None), (x,), [True, False, False]),
                ((w, b), (w,), [False, True, False]),
                ((w, b), (x, w, b), [True, True, True]),
                ((None, b), (x, b), [True, False, True]),
            ):
                expected = torch.autograd.grad(norm(kind, *parts), wanted)
                masks.clear()
                with self.subTest(kind=kind.__name__, mask=mask), Masks():
                    torch.testing.assert_close(torch.autograd.grad(norm(kind, *parts), wanted), expected)
                    self.assertEqual(masks, [mask])

    def test_losses(self):
        target = torch.tensor([1, 2])
        self.check(lambda x: F.cross_entropy(x, target), (2, 3), names="_log_softmax nll_loss_forward nll_loss_backward _log_softmax_backward_data")
        for options in ({"label_smoothing": 0.1}, {"weight": torch.ones(3), "reduction": "sum"}, {"reduction": "none", "ignore_index": 1}):
            self.check(lambda x: F.cross_entropy(x, target, **options), (2, 3), names="nll_loss_forward")  # noqa: B023  called at once
        self.check(lambda x, t: F.cross_entropy(x, t.softmax(1)), (2, 3), (2, 3), names="_log_softmax")
        self.check(F.binary_cross_entropy, (2, 3), (2, 3), names="binary_cross_entropy binary_cross_entropy_backward")

    def test_views_padding_and_sizes(self):
        self.check(lambda x: x[0, 1:3], (2, 4), names="select slice slice_backward select_backward")
        self.check(lambda x: x.narrow(1, 1, 2), (2, 4), names="slice slice_backward")
        self.check(lambda x: F.pad(x, (1, 2), mode="reflect"), (1, 2, 5), names="reflection_pad1d reflection_pad1d_backward")
        for pad in ((1, 2, 0, 1), (-1, 2, 1, 0), (0, 2, -1, 1)):
            self.check(lambda x: F.pad(x, pad, mode="circular").square(), (1, 2, 3, 4), names="slice cat new_zeros")  # noqa: B023  called at once
        self.check(lambda x: F.interpolate(x, size=(5, 6), mode="bilinear"), (1, 2, 3, 3), names="upsample_bilinear2d upsample_bilinear2d_backward")

    def test_whole_reductions_and_numbers(self):
        self.check(lambda x: (x * 2 + 1).mean(), (2, 3), names="mul add mean ones_like expand div")
        with Log() as mode:
            torch.tensor([1.0])
        self.assertEqual(mode.log, ["lift_fresh"])

    def test_second_derivatives(self):
        x, w = torch.ones(1, 2, 5, 5, requires_grad=True), torch.ones(3, 2, 3, 3, requires_grad=True)

        def second():
            first = torch.autograd.grad(F.conv2d(x, w).pow(3).sum(), (x, w), create_graph=True)
            return torch.autograd.grad(sum(g.square().sum() for g in first), (x, w))

        with Log():
            got = second()
        torch.testing.assert_close(got, second())


if __name__ == "__main__":
    unittest.main()
