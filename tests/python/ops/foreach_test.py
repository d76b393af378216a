"""Ops on lists: each does to every element what the op of its name does, and refuses lists that do not fit."""

import math
import unittest

from cresset.utils import _foreach_utils

import cresset as torch

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid
           sign sin sinh sqrt tan tanh trunc""".split()
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)


def foreach(name):
    return getattr(torch, f"_foreach_{name}")


def lists(dtype, seed=0):
    """Tensors of several shapes, one of them strided and one empty."""
    torch.manual_seed(seed)
    tensors = [torch.rand(3) + 0.5, torch.rand(2, 4).t() + 0.5, torch.rand(0), torch.rand(()) + 0.5]
    return [(t * 3).to(dtype) for t in tensors]


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        return type(error)


class Case(unittest.TestCase):
    def same(self, got, wanted, message=""):
        self.assertEqual(type(got), type(wanted), message)
        if isinstance(wanted, torch.Tensor):
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape), message)
            self.assertTrue(torch.equal(got.nan_to_num(), wanted.nan_to_num()), message)

    def agree(self, name, one, args, single, kwargs=None):
        """`_foreach_name(*args)` and in place, against `one` with the arguments of each element."""
        kwargs = kwargs or {}
        wanted = [outcome(one, *single(i), **kwargs) for i in range(len(args[0]))]
        got = outcome(foreach(name), *args, **kwargs)
        if any(isinstance(w, type) for w in wanted):
            self.assertIsInstance(got, type, name)
            return
        self.assertIsInstance(got, tuple, name)
        for g, w in zip(got, wanted, strict=True):
            self.same(g, w, name)
        fits = all(w.dtype == t.dtype and w.shape == t.shape for w, t in zip(wanted, args[0]))
        if hasattr(torch, f"_foreach_{name}_") and fits:
            target = [t.clone() for t in args[0]]
            self.assertIs(foreach(name + "_")(target, *args[1:], **kwargs), target)
            for g, w in zip(target, wanted, strict=True):
                self.same(g, w, name + "_")


class Values(Case):
    def test_unary_ops_in_every_dtype(self):
        for dtype in DTYPES:
            for name in UNARY:
                with self.subTest(name=name, dtype=dtype):
                    x = lists(dtype)
                    self.agree(name, getattr(torch, name), (x,), lambda i, x=x: (x[i],))

    def test_binary_ops_of_lists_numbers_and_lists_of_numbers(self):
        ones = {name: getattr(torch, name) for name in ("add", "sub", "mul", "div", "pow")}
        ones.update(maximum=torch.maximum, minimum=torch.minimum, clamp_min=torch.clamp_min, clamp_max=torch.clamp_max)
        with_number = {**ones, "maximum": torch.clamp_min, "minimum": torch.clamp_max}
        for dtype in DTYPES:
            x, y, numbers = lists(dtype), lists(dtype, 1), [2, 1, 3, 2]
            for name in ones:
                with self.subTest(name=name, dtype=dtype):
                    self.agree(name, ones[name], (x, y), lambda i, x=x, y=y: (x[i], y[i]))
                    self.agree(name, with_number[name], (x, 2), lambda i, x=x: (x[i], 2))
                    self.agree(name, with_number[name], (x, 1.5), lambda i, x=x: (x[i], 1.5))
                    self.agree(name, with_number[name], (x, numbers), lambda i, x=x: (x[i], numbers[i]))

    def test_one_tensor_for_all_elements(self):
        for name in ("add", "mul", "div"):
            for dtype in (torch.float32, torch.float64, torch.int64):
                x, one = lists(torch.float32), torch.tensor(2, dtype=dtype)
                self.agree(name, getattr(torch, name), (x, one), lambda i, x=x, one=one: (x[i], one))

    def test_alpha(self):
        x, y = lists(torch.float32), lists(torch.float64, 1)
        for name in ("add", "sub"):
            self.agree(name, getattr(torch, name), (x, y), lambda i: (x[i], y[i]), {"alpha": 3})
        self.agree("add", torch.add, (x, torch.tensor(2.0)), lambda i: (x[i], torch.tensor(2.0)), {"alpha": 3})

    def test_a_number_to_the_power_of_each(self):
        x = lists(torch.float32)
        for got, t in zip(torch._foreach_pow(2, x), x, strict=True):
            self.same(got, torch.pow(2, t))

    def test_ternary_ops(self):
        x, y, z = (lists(torch.float32, seed) for seed in range(3))
        numbers = [0.5, 2, -1, 3]
        for name in ("addcmul", "addcdiv"):
            one = getattr(torch, name)
            for args, value in (((), 1), ((2,), 2), ((2.5,), 2.5)):
                self.agree(name, lambda a, b, c, one=one, value=value: one(a, b, c, value=value), (x, y, z, *args), lambda i: (x[i], y[i], z[i]))
            for given in (numbers, torch.tensor(numbers)):
                self.agree(name, lambda a, b, c, v, one=one: one(a, b, c, value=v), (x, y, z, given), lambda i: (x[i], y[i], z[i], numbers[i]))
        self.agree("lerp", torch.lerp, (x, y, 0.25), lambda i: (x[i], y[i], 0.25))
        self.agree("lerp", torch.lerp, (x, y, z), lambda i: (x[i], y[i], z[i]))
        self.agree("lerp", torch.lerp, (x, y, numbers), lambda i: (x[i], y[i], numbers[i]))

    def test_keywords_of_pytorch(self):
        x = lists(torch.float32)
        self.same(torch._foreach_add(self=x, scalar=2)[0], x[0] + 2)
        self.same(torch._foreach_addcmul(x, x, x, value=2)[0], torch.addcmul(x[0], x[0], x[0], value=2))
        self.same(torch._foreach_addcmul(x, x, x, scalars=[2, 1, 1, 1])[0], torch.addcmul(x[0], x[0], x[0], value=2))

    def test_norms_and_sums_of_powers(self):
        x = [t for t in lists(torch.float32) if t.numel()]
        for order in (1, 2, 0, 3.5, math.inf):
            for got, t in zip(torch._foreach_norm(x, order), x, strict=True):
                self.same(got, torch.linalg.vector_norm(t, order))
            for got, t in zip(torch._foreach_powsum(x, order), x, strict=True):
                self.same(got, t.abs().pow(order).sum())
        self.same(torch._foreach_norm(x, 2, torch.float64)[0], torch.linalg.vector_norm(x[0], 2, dtype=torch.float64))
        self.same(torch._foreach_norm([torch.ones(0)])[0], torch.tensor(0.0))
        self.same(torch._foreach_powsum([torch.tensor([3 + 4j])], 1)[0], torch.tensor(5.0))

    def test_maximum_of_each_products_copies_and_zeros(self):
        x = [torch.tensor([[1.0, 5.0], [2.0, 3.0]]), torch.tensor([[7, 8], [9, 4]])]
        self.assertEqual([t.item() for t in torch._foreach_max(x)], [5.0, 9])
        for got, t in zip(torch._foreach_mm(x, x), x, strict=True):
            self.same(got, t @ t)
        copies = torch._foreach_clone(x)
        self.assertNotEqual(copies[0].data_ptr(), x[0].data_ptr())
        target = [torch.empty(2, 2), torch.empty(2, 2)]
        self.assertIs(torch._foreach_copy_(target, x), target)
        self.same(target[1], x[1].float())
        self.assertIs(torch._foreach_zero_(target), target)
        self.assertEqual(sum(t.abs().sum().item() for t in target), 0)

    def test_overloads_by_name(self):
        x = [torch.ones(2), torch.ones(3)]
        self.same(torch.ops.aten._foreach_add.Scalar(x, 1)[1], torch.full((3,), 2.0))
        self.same(torch.ops.aten._foreach_mul.List(x, x)[0], x[0])

    def test_non_finite_gradients_are_found_and_all_unscaled(self):
        grads, found = [torch.tensor([2.0, 4.0]), torch.tensor([1.0], dtype=torch.float16)], torch.zeros(())
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
        self.assertEqual((grads[0].tolist(), grads[1].tolist(), found.item()), ([1.0, 2.0], [0.5], 0.0))
        torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(1), torch.tensor([math.inf])], found, torch.tensor(1.0))
        self.assertEqual(found.item(), 1.0)

    def test_scales_grow_after_steps_without_overflow_and_shrink_after_one_with(self):
        scale, tracker = torch.tensor(8.0), torch.tensor(0, dtype=torch.int32)
        seen = []
        for found in (0, 0, 1, 0, 0, 0):
            self.assertIs(torch._amp_update_scale_(scale, tracker, torch.tensor(float(found)), 4.0, 0.5, 2), scale)
            seen.append((scale.item(), tracker.item()))
        self.assertEqual(seen, [(8, 1), (32, 0), (16, 0), (16, 1), (64, 0), (64, 1)])
        huge = torch.tensor(3e38)
        torch._amp_update_scale_(huge, torch.tensor(0, dtype=torch.int32), torch.tensor(0.0), 2.0, 0.5, 1)
        self.assertAlmostEqual(huge.item() / 3e38, 1, places=6)


class Derivatives(Case):
    def test_of_each_element(self):
        x = [torch.tensor([0.5, 0.25], requires_grad=True), torch.tensor([0.75], requires_grad=True)]
        sum((t * t).sum() for t in torch._foreach_exp(torch._foreach_mul(x, 2))).backward()
        for t in x:
            self.same(t.grad, torch.autograd.grad(((t * 2).exp() ** 2).sum(), t)[0])

    def test_of_a_list_changed_in_place(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = [x * 1, x * 2]
        torch._foreach_mul_(y, [x, x])
        sum(t.sum() for t in y).backward()
        self.assertEqual(x.grad.tolist(), [6.0, 12.0])

    def test_a_leaf_is_not_changed_in_place(self):
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            torch._foreach_add_([torch.ones(1, requires_grad=True)], 1)

    def test_forward_mode(self):
        _, tangent = torch.func.jvp(lambda t: torch._foreach_sin([t])[0], (torch.tensor(0.5),), (torch.tensor(1.0),))
        self.assertAlmostEqual(tangent.item(), math.cos(0.5), places=6)


class Transforms(Case):
    def test_meta_and_fake_tensors(self):
        got = torch._foreach_add([torch.empty(2, 3, device="meta")], 1.5)
        self.assertEqual((got[0].device.type, got[0].shape), ("meta", (2, 3)))

    def test_batched(self):
        x = torch.arange(6.0).reshape(2, 3)
        self.same(torch.func.vmap(lambda t: torch._foreach_add([t, t * 2], 1)[1])(x), x * 2 + 1)


class Mistakes(Case):
    def refused(self, pattern, function, *args, error=RuntimeError):
        with self.assertRaisesRegex(error, pattern):
            function(*args)

    def test_empty_lists(self):
        for call in (lambda: torch._foreach_add([], 1), lambda: torch._foreach_abs_([]), lambda: torch._foreach_zero_([]),
                     lambda: torch._foreach_norm([]), lambda: torch._foreach_pow(2, []), lambda: torch._foreach_mm([], [])):  # fmt: skip
            self.refused("expected at least one tensor, got an empty list", call)

    def test_lists_of_other_lengths(self):
        x = [torch.ones(2), torch.ones(3)]
        for name, rest in (("add", ([x[0]],)), ("add", ([1.0],)), ("mul_", ([x[0]],)), ("lerp", (x, [0.1])), ("addcmul", (x, [x[0]], 2)), ("copy_", ([x[0]],))):
            self.refused("of the same length, got 2 and 1", foreach(name), x, *rest)

    def test_tensors_of_numbers_have_a_fixed_shape(self):
        x = [torch.ones(2), torch.ones(3)]
        self.refused(r"without dimensions .* got shape \[2\]", torch._foreach_add, x, torch.ones(2))
        self.refused(r"one number for each of 2 tensors, got shape \[\]", torch._foreach_addcmul, x, x, x, torch.tensor(1.0))
        self.refused(r"one number for each of 2 tensors, got shape \[3\]", torch._foreach_addcdiv, x, x, x, torch.ones(3))

    def test_what_is_no_list_of_tensors(self):
        for args in ((1, 2), (torch.ones(2), 1), ([1], 1), ([torch.ones(1)],)):
            self.refused("", torch._foreach_add, *args, error=TypeError)

    def test_dtypes_that_cannot_hold_the_result(self):
        x = [torch.tensor([3, 4])]
        self.refused("Long|int64", torch._foreach_add_, x, 2.5)
        self.refused("Long|int64", torch._foreach_sqrt_, x)
        self.refused("", torch._foreach_powsum, x, error=NotImplementedError)


class Helpers(unittest.TestCase):
    def test_groups_by_device_and_dtype(self):
        a, b = torch.ones(1), torch.ones(2, dtype=torch.float64)
        groups = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, a], [None, b, a]], with_indices=True)
        self.assertEqual(list(groups), [(a.device, a.dtype), (b.device, b.dtype)])
        (first, second), places = groups[(a.device, a.dtype)]
        self.assertTrue(first[0] is a and second == [None, a] and places == [0, 2])

    def test_supported_devices(self):
        self.assertTrue(_foreach_utils._has_foreach_support([torch.ones(1)], torch.device("cpu")))
        self.assertIn("cpu", _foreach_utils._get_fused_kernels_supported_devices())


if __name__ == "__main__":
    unittest.main()
