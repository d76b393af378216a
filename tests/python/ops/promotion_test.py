"""Dtypes that operators take, and the order in which they complain: goldens from PyTorch 2.13."""

import math
import unittest

import cresset as torch


class Outputs(unittest.TestCase):
    def test_reductions_compute_in_the_dtype_of_out(self):
        x = torch.tensor([1.7, 2.6])
        self.assertEqual(torch.sum(x, 0, out=torch.empty(0, dtype=torch.int32)).item(), 3)
        self.assertIs(torch.sum(torch.tensor([1, 2]), 0, out=torch.empty(0, dtype=torch.bool)).item(), True)
        self.assertEqual(torch.cumsum(x.double(), 0, out=torch.empty(0, dtype=torch.int32)).tolist(), [1, 3])
        self.assertEqual(torch.mean(torch.ones(2, dtype=torch.complex64), 0, out=torch.empty(0)).item(), 1)
        with self.assertRaises(RuntimeError):
            torch.mean(x, 0, out=torch.empty(0, dtype=torch.int32))

    def test_abs_of_complex_numbers_writes_their_dtype_or_real_ones(self):
        for kind in (torch.complex32, torch.complex64, torch.complex128):
            x = torch.tensor([3 + 4j]).to(kind)
            for out in (kind, torch.float16, torch.float32, torch.float64):
                self.assertEqual(torch.abs(x, out=torch.empty(1, dtype=out)).item(), 5)
            for out in {torch.complex32, torch.complex64, torch.complex128, torch.int64} - {kind}:
                with self.assertRaises(RuntimeError):
                    torch.abs(x, out=torch.empty(1, dtype=out))
            with self.assertRaisesRegex(RuntimeError, "not supported for complex"):
                x.abs_()

    def test_where_writes_the_promoted_dtype_only(self):
        kinds = (torch.complex32, torch.complex64, torch.complex128, torch.float32)
        chosen = torch.tensor([True, False])
        for a in kinds:
            for b in kinds:
                x, y = torch.tensor([1, 2]).to(a), torch.tensor([3, 4]).to(b)
                for out in kinds:
                    if out == torch.promote_types(a, b):
                        self.assertEqual(torch.where(chosen, x, y, out=torch.empty(2, dtype=out)).tolist(), [1, 4])
                        continue
                    with self.assertRaisesRegex(RuntimeError, "expected an out of dtype"):
                        torch.where(chosen, x, y, out=torch.empty(2, dtype=out))

    def test_in_place_a_result_that_does_not_fit_is_refused_before_a_missing_kernel(self):
        def kind(call):
            with self.assertRaises(RuntimeError) as caught:
                call()
            return type(caught.exception)

        real, pair = torch.tensor([1.0, 2.0]), torch.tensor([1j, 2j])
        self.assertIs(kind(lambda: real.div_(pair, rounding_mode="trunc")), RuntimeError)
        self.assertIs(kind(lambda: real.clamp_(min=pair)), RuntimeError)
        self.assertIs(kind(lambda: torch.tensor(1j).div_(real, rounding_mode="floor")), RuntimeError)
        self.assertIs(kind(lambda: pair.div_(real, rounding_mode="floor")), NotImplementedError)
        self.assertEqual(torch.tensor([7, 8]).div_(torch.tensor([2, 3]), rounding_mode="trunc").tolist(), [3, 2])

    def test_joining_into_a_dtype_that_does_not_fit_is_a_type_error(self):
        for join in (torch.cat, torch.stack):
            with self.assertRaises(TypeError):
                join([torch.ones(2), torch.ones(2)], out=torch.empty(0, dtype=torch.int32))

    def test_abs_writes_its_own_dtype_only(self):
        with self.assertRaises(RuntimeError):
            torch.abs(torch.ones(2, dtype=torch.int32), out=torch.empty(0, dtype=torch.int16))
        self.assertEqual(torch.abs(torch.tensor([3 + 4j]), out=torch.empty(0, dtype=torch.float64)).tolist(), [5])


class Numbers(unittest.TestCase):
    def test_a_complex_number_is_stored_where_it_is_real(self):
        self.assertEqual(torch.zeros(1, dtype=torch.int32).fill_(1 + 0j).item(), 1)
        self.assertIs(torch.zeros(1, dtype=torch.bool).fill_(1 + 2j).item(), True)
        self.assertEqual(torch.zeros(1).fill_(torch.tensor(1 + 2j)).item(), 1)
        with self.assertRaises(RuntimeError):
            torch.zeros(1).fill_(1 + 2j)
        with self.assertRaises(RuntimeError):
            torch.ones(2, dtype=torch.int8).scatter_(0, torch.tensor([0, 1]), 1 + 2j)

    def test_masks_are_filled_with_what_fits(self):
        mask = torch.tensor([True, False])
        for dtype, value in ((torch.uint8, 300), (torch.int8, math.inf), (torch.float16, 1e9), (torch.float32, 1e300)):
            for given in (value, torch.tensor(value)):
                if given is not value and dtype in (torch.float32,):
                    continue
                with self.subTest(dtype=dtype, value=given), self.assertRaises(RuntimeError):
                    torch.zeros(2, dtype=dtype).masked_fill(mask, given)
        self.assertEqual(torch.zeros(2, dtype=torch.uint8).masked_fill(mask, -1).tolist(), [255, 0])

    def test_numbers_in_complex32(self):
        mask = torch.tensor([True, False])
        self.assertEqual(torch.zeros(2, dtype=torch.complex32).masked_fill_(mask, 1 + 2j).tolist(), [1 + 2j, 0])
        self.assertEqual(torch.ones(1).chalf().fill_(3).tolist(), [3])
        self.assertIs(torch.chalf, torch.complex32)

    def test_lists_of_uint64_hold_integers(self):
        self.assertEqual(torch.tensor([2**64 - 1], dtype=torch.uint64).item(), 2**64 - 1)
        for values in ([1.0], 1.5, [1j]):
            with self.subTest(values), self.assertRaises(TypeError):
                torch.tensor(values, dtype=torch.uint64)

    def test_float_power_in_place_has_gradients(self):
        x, e = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.5, 1.5], [2.0, 3.0]))
        for exponent in (e, 2.5, torch.tensor(3)):
            grads = [torch.autograd.grad(power(exponent).sum(), x)[0] for power in (x.float_power, x.clone().float_power_)]
            self.assertEqual(grads[0].tolist(), grads[1].tolist())

    def test_float_power_in_place_keeps_its_dtype(self):
        base = torch.tensor([2.0, 3.0], dtype=torch.float64)
        self.assertIs(base.float_power_(torch.tensor([2, 3])), base)
        self.assertEqual(base.tolist(), [4, 27])
        for values, exponent in ((torch.ones(2), 2), (base, 1j), (torch.ones(2, dtype=torch.int64), 2)):
            with self.subTest(values.dtype), self.assertRaises(RuntimeError):
                values.float_power_(exponent)

    def test_powers_of_bool(self):
        self.assertEqual((torch.tensor([True, False]) ** True).tolist(), [True, False])
        self.assertEqual((torch.tensor([True, False]) ** False).tolist(), [True, True])

    def test_zeros_of_two_signs(self):
        plus, minus = torch.tensor([0.0]), torch.tensor([-0.0])
        for function in (torch.maximum, torch.minimum, lambda a, b: torch.clamp(a, min=b), lambda a, b: torch.clamp(a, max=b)):
            self.assertEqual(torch.signbit(function(plus, minus)).item(), False)
            self.assertEqual(torch.signbit(function(minus, plus)).item(), True)
        self.assertEqual(torch.signbit(torch.clamp(minus, 0, 1)).item(), True)


class Results(unittest.TestCase):
    def test_boundaries_and_values_meet_in_their_common_dtype(self):
        self.assertEqual(torch.bucketize(1.5, torch.tensor([1, 2], dtype=torch.uint8)).item(), 1)
        self.assertEqual(torch.bucketize(2, torch.tensor([True, True])).item(), 2)
        self.assertEqual(torch.bucketize(torch.tensor([0, 2]), torch.tensor([True, True])).tolist(), [0, 2])
        self.assertEqual(torch.searchsorted(torch.tensor([1, 2, 3]), torch.tensor([1.5, 2.0])).tolist(), [1, 1])
        self.assertEqual(torch.searchsorted(torch.tensor([0.5, 1.5]), torch.tensor([1, 2])).tolist(), [1, 2])

    def test_sums_of_wide_unsigned_integers_are_refused(self):
        """As in PyTorch; products are not."""
        for dtype in (torch.uint16, torch.uint32, torch.uint64):
            x = torch.tensor([1, 2], dtype=dtype)
            for call in (lambda: x + 1, lambda: x - x, lambda: x.add_(1), lambda: 3 - x, lambda: x.diff()):
                with self.assertRaises(NotImplementedError):
                    call()
            self.assertEqual((x * 2).tolist(), [2, 4])
            self.assertEqual((x + 0.5).tolist(), [1.5, 2.5])

    def test_ldexp_keeps_the_precision_of_what_is_scaled(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            scaled = torch.ldexp(torch.tensor([1, 2], dtype=dtype), torch.tensor([1, 3]))
            self.assertIs(scaled.dtype, dtype)
            self.assertEqual(scaled.tolist(), [2, 16])
        self.assertIs(torch.ldexp(torch.tensor([1, 2]), torch.tensor([1, 3])).dtype, torch.float32)
        self.assertIs(torch.ldexp(torch.tensor([1, 2]), torch.ones(2, dtype=torch.float16)).dtype, torch.float16)
        with self.assertRaises(RuntimeError):
            torch.ldexp(torch.tensor([1j]), torch.tensor(2, dtype=torch.uint16))

    def test_reductions_into_complex32_which_pytorch_lacks(self):
        for values in (torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([1.0, 2.0])):
            for result in (values.sum(dtype=torch.complex32), values.prod(dtype=torch.complex32) + 1, values.cumsum(0, dtype=torch.complex32)[1]):
                self.assertIs(result.dtype, torch.complex32)
                self.assertEqual(result.item(), 3)
            self.assertEqual(values.mean(dtype=torch.complex32).item(), 1.5)

    def test_complex32_beside_complex64_promotes(self):
        half, single = torch.tensor([1 + 2j, 3], dtype=torch.complex32), torch.tensor([1 + 1j, 2])
        self.assertIs((half * single).dtype, torch.complex64)
        self.assertEqual((half * single).tolist(), [-1 + 3j, 6])
        self.assertIs((half * single[0]).dtype, torch.complex32)
        self.assertIs(torch.cat([half, single]).dtype, torch.complex64)
        single += half
        self.assertEqual(single.tolist(), [2 + 3j, 5])


class Refusals(unittest.TestCase):
    def refused(self, error, *calls):
        for number, call in enumerate(calls):
            with self.subTest(number):
                with self.assertRaises(error) as raised:
                    call()
                self.assertIs(type(raised.exception), error)

    def test_dtypes(self):
        ones, integers, flags, complexes = torch.ones(2), torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.bool), torch.ones(2) * 1j
        self.refused(
            RuntimeError,
            lambda: torch.polar(ones, ones.double()),
            lambda: torch.polar(integers, integers),
            lambda: torch.lerp(ones, ones, 1 + 2j),
            lambda: torch.lerp(ones, ones, torch.ones(2, dtype=torch.float64)),
            lambda: flags.argmax(),
            lambda: flags.argmin(),
            lambda: flags.topk(1),
            lambda: torch.nanmean(integers),
            lambda: torch.relu(flags),
            lambda: torch.maximum(complexes, ones),
            lambda: torch.fmax(complexes, ones),
            lambda: torch.linalg.vector_norm(integers, dtype=torch.float32),
            lambda: torch.linalg.vector_norm(ones.double(), dtype=torch.float32),
            lambda: torch.linalg.vector_norm(ones, dtype=torch.complex64),
            lambda: torch.ones(2, 2).logsumexp(()),
        )
        self.refused(TypeError, lambda: ~ones, lambda: ~complexes)
        self.refused(NotImplementedError, lambda: torch.arange(0.0, dtype=torch.complex64))

    def test_in_place_forms_look_at_shapes_and_dtypes_before_kernels(self):
        flags = torch.ones(2, dtype=torch.bool)
        self.refused(
            RuntimeError,
            lambda: torch.tensor(True).__ilshift__(flags),
            lambda: flags.bitwise_and_(torch.ones(2)),
            lambda: torch.ones(2).fmod_(torch.ones(2) * 1j),
        )

    def test_dimensions(self):
        functional, square = torch.nn.functional, torch.ones(2, 2)
        self.refused(
            IndexError,
            lambda: functional.avg_pool2d(square, 0),
            lambda: square.baddbmm(square, square),
            lambda: torch.max(torch.ones(2) * 1j, 1),
            lambda: functional.batch_norm(torch.tensor(1.0), None, None, training=True),
            lambda: functional.batch_norm(torch.ones(2), None, None, training=True),
            lambda: functional.adaptive_avg_pool2d(torch.ones(2), 1),
        )
        self.refused(RuntimeError, lambda: torch.tensor(1.0).tensor_split(2, 0), lambda: functional.adaptive_max_pool2d(square, 1))
        self.assertEqual(functional.batch_norm(torch.ones(4, 0), None, None, training=True).shape, (4, 0))

    def test_what_is_looked_up_has_no_truth_values_and_no_complex_numbers(self):
        ones, flags, complexes = torch.ones(2), torch.ones(2, dtype=torch.bool), torch.ones(2) * 1j
        self.refused(
            RuntimeError,
            lambda: torch.isin(flags, flags),
            lambda: torch.isin(ones, flags),
            lambda: torch.isin(complexes, ones),
            lambda: torch.isin(ones, True),
            lambda: torch.isin(1j, ones),
            lambda: torch.bucketize(ones.to(torch.int64), torch.tensor([1, 2], dtype=torch.uint16)),
        )

    def test_complex32_beside_complex64_is_two_dtypes(self):
        half, single = torch.tensor([1 + 2j, 3], dtype=torch.complex32), torch.tensor([1 + 1j, 2])
        first = torch.tensor([0, 1])
        self.refused(
            RuntimeError,
            lambda: torch.lerp(half, single, 0.5),
            lambda: torch.dot(single, half),
            lambda: half.reshape(1, 2) @ single.reshape(2, 1),
            lambda: half.index_put((first,), single),
            lambda: single.index_add(0, first, half),
            lambda: single.scatter(0, first, half),
            lambda: half.masked_scatter(torch.tensor([True, False]), single),
        )

    def test_sizes(self):
        number, empty = torch.tensor(1.0), torch.ones(2, 0)
        self.refused(
            IndexError,
            lambda: number.repeat_interleave(2, 0),
            lambda: number.repeat_interleave(torch.tensor([2]), 0),
            lambda: empty.kthvalue(1, 1),
        )

    def test_a_weight_without_dimensions_may_have_another_dtype(self):
        self.assertEqual(torch.lerp(torch.tensor([1, 2]), torch.tensor([1, 4]), torch.tensor(0.5)).tolist(), [1, 3])
        self.assertIs(torch.lerp(torch.ones(2), torch.ones(2), torch.tensor(0.5, dtype=torch.float64)).dtype, torch.float32)


if __name__ == "__main__":
    unittest.main()
