"""torch.ops: operators by the names of the table, one overload at a time; and those that have no other name."""

import unittest

import numpy as np

import cresset as torch
from cresset.nn import functional as F

aten = torch.ops.aten


class Names(unittest.TestCase):
    def test_packets_know_their_overloads(self):
        self.assertEqual(aten.add.overloads()[:4], ["Tensor", "Scalar", "out", "Scalar_out"])
        self.assertEqual(str(aten.add.Tensor), "aten.add.Tensor")
        self.assertEqual(str(aten.relu.default), "aten.relu.default")
        self.assertIs(aten.add, aten.add)
        self.assertIs(aten.add.Tensor, aten.add.Tensor)
        self.assertIs(aten.add.Tensor.overloadpacket, aten.add)
        self.assertIn("Tensor", dir(aten.add))
        self.assertIn("add", dir(aten))

    def test_an_overload_takes_what_its_schema_lists_alone(self):
        x = torch.tensor([1.0, 2.0])
        self.assertEqual(aten.add(x, 1).tolist(), [2, 3])
        self.assertEqual(aten.add.Scalar(x, 1).tolist(), [2, 3])
        self.assertEqual(aten.sum.dim_IntList(x, [0]).item(), 3)
        with self.assertRaises(RuntimeError):
            aten.sum.default(x, [0])
        self.assertEqual(aten.add_.Tensor(x, x).tolist(), [2, 4])
        self.assertEqual(x.tolist(), [2, 4])
        out = torch.empty(2)
        self.assertIs(aten.add.out(x, x, out=out), out)

    def test_names_that_are_not_there(self):
        for look in (lambda: aten.no_such_op, lambda: aten.add.no_such_overload, lambda: torch.ops.no_such_library.op):
            with self.assertRaises(AttributeError):
                look()


class Private(unittest.TestCase):
    def test_gradient_of_max_pool(self):
        x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
        y, places = F.max_pool2d(x, 2, return_indices=True)
        up = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        y.backward(up)
        there = aten.max_pool2d_with_indices_backward(up, x.detach(), [2, 2], [2, 2], [0, 0], [1, 1], False, places)
        self.assertEqual(there.tolist(), x.grad.tolist())
        into = torch.empty(0)
        aten.max_pool2d_with_indices_backward(up, x.detach(), [2, 2], [2, 2], [0, 0], [1, 1], False, places, grad_input=into)
        self.assertEqual(into.tolist(), x.grad.tolist())
        with self.assertRaises(RuntimeError):
            aten.max_pool2d_with_indices_backward(up, x.detach(), [3, 3], [3, 3], [0, 0], [1, 1], False, places)

    def test_smooth_resizing(self):
        x = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 2, 6, 8)))
        for name, mode in (("_upsample_bilinear2d_aa", "bilinear"), ("_upsample_bicubic2d_aa", "bicubic"), ("_upsample_lanczos2d_aa", "lanczos")):
            expected = F.interpolate(x, (3, 5), mode=mode, antialias=True)
            self.assertEqual(getattr(aten, name)(x, [3, 5], False).tolist(), expected.tolist())
            self.assertEqual(getattr(aten, name)(x, [3, 5], False, None).tolist(), expected.tolist())
            scaled = F.interpolate(x, scale_factor=(0.5, 0.75), mode=mode, antialias=True)
            self.assertEqual(getattr(aten, name)(x, None, False, [0.5, 0.75]).tolist(), scaled.tolist())

    def test_batch_norm_by_its_other_names(self):
        x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
        mean, var = torch.zeros(2), torch.ones(2)
        out, saved, invstd, reserve = aten._batch_norm_with_update(x, None, None, mean, var, 0.5, 0.0)
        self.assertEqual((out.tolist(), saved.tolist(), invstd.tolist(), reserve.dtype), ([[-1, -1], [1, 1]], [2, 4], [1, 0.5], torch.uint8))
        self.assertEqual((mean.tolist(), var.tolist()), ([1, 2], [1.5, 4.5]))
        legit = torch._native_batch_norm_legit(x, None, None, torch.zeros(2), torch.ones(2), False, 0.5, 0.0)
        self.assertEqual((legit[0].tolist(), legit[1].shape), (x.tolist(), (0,)))
        self.assertEqual(torch._native_batch_norm_legit(x, None, None, True, 0.5, 0.0)[1].tolist(), [2, 4])

    def test_scaled_products_of_8_bit_numbers(self):
        a, b = torch.tensor([[1.0, 2.0], [0.5, -3.0]]).to(torch.float8_e4m3fn), torch.tensor([[2.0], [4.0]]).to(torch.float8_e5m2)
        one, two = torch.tensor(1.0), torch.tensor(2.0)
        self.assertEqual(torch._scaled_mm(a, b, two, one, out_dtype=torch.float32).tolist(), [[20], [-22]])
        self.assertEqual(torch._scaled_mm(a, b, two, one, bias=torch.tensor([1.0]), out_dtype=torch.float32).tolist(), [[21], [-21]])
        self.assertEqual(torch._scaled_mm(a, b, one, one).dtype, torch.float8_e4m3fn)
        rows, columns = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0]])
        self.assertEqual(torch._scaled_mm(a, b, two, columns.reshape(()), out_dtype=torch.bfloat16).tolist(), [[60], [-66]])
        self.assertEqual(torch._scaled_mm_v2(a, b, [rows], [1], [0], [columns], [1], [0], None, torch.float32).tolist(), [[30], [-66]])
        for scales in ((rows, one), (two.double(), one), (torch.ones(3, 1), columns)):
            with self.assertRaises(ValueError):
                torch._scaled_mm(a, b, *scales)
        with self.assertRaises(RuntimeError):
            torch._scaled_mm(a, a[:1], one, one)
        with self.assertRaises(ValueError):
            torch._scaled_mm_v2(a, b, [one], [4], [0], [one], [0], [0], None, torch.float32)

    def test_products_of_bytes_are_exact(self):
        a, b = torch.arange(-128, 128).to(torch.int8).reshape(2, 128), torch.full((128, 3), -128, dtype=torch.int8)
        expected = a.long() @ b.long()
        for left in (a, a.t().contiguous().t()):
            product = torch._int_mm(left, b)
            self.assertEqual((product.dtype, product.tolist()), (torch.int32, expected.tolist()))
        self.assertEqual(aten._int_mm(a.view(torch.uint8), b).tolist(), (a.view(torch.uint8).long() @ b.long()).tolist())
        self.assertEqual(torch._int_mm(a[:, :0], b[:0]).tolist(), [[0, 0, 0], [0, 0, 0]])
        self.assertEqual(torch._int_mm(a.to("meta"), b.to("meta")).shape, (2, 3))
        out = torch.empty(2, 3, dtype=torch.int32)
        self.assertIs(torch._int_mm(a, b, out=out), out)
        self.assertEqual(out.tolist(), expected.tolist())
        for left, right in ((a, b.view(torch.uint8)), (a.int(), b.int()), (a, a), (a[0], b)):
            with self.assertRaisesRegex(RuntimeError, "_int_mm: (expected int8 or uint8|shapes cannot)"):
                torch._int_mm(left, right)


class SharedMemory(unittest.TestCase):
    """The tensor written may not be a part of one read, as it is when the writing begins."""

    def test_an_output_that_is_resized_is_looked_at_afterwards(self):
        m = torch.arange(6.0)
        torch.gather(m[1:], 0, torch.tensor([2]), out=m[:2])
        self.assertEqual(m.tolist(), [3, 1, 2, 3, 4, 5])
        with self.assertRaises(RuntimeError):
            torch.gather(m[1:], 0, torch.tensor([2, 3]), out=m[:2])

    def test_an_output_without_elements_shares_nothing(self):
        m = torch.arange(6.0)
        torch.index_select(m[1:2], 0, torch.tensor([0]), out=m[:0])
        self.assertEqual(m.tolist(), [1, 1, 2, 3, 4, 5])
        with self.assertRaises(RuntimeError):
            torch.index_select(m[1:], 0, torch.tensor([0]), out=m[:2])

    def test_a_source_that_is_what_is_written(self):
        m = torch.arange(6.0)
        with self.assertRaises(RuntimeError):
            m[:1].index_copy_(0, torch.tensor([0]), m[0:][:1])

    def test_a_repeated_element_may_be_copied_to_itself_only(self):
        x = torch.ones(1).expand(3)
        self.assertIs(x.copy_(x), x)
        with self.assertRaises(RuntimeError):
            x.copy_(torch.ones(3))

    def test_an_element_assigned_to_a_view_of_itself(self):
        m = torch.arange(3.0)
        element = m[1]
        element.unsqueeze(0)[...] = element
        m[:2] = m[2]
        self.assertEqual(m.tolist(), [2, 2, 2])


class Nothing(unittest.TestCase):
    def test_indices_into_nothing_are_out_of_range(self):
        for call in (lambda: torch.empty(0).index_select(0, torch.tensor([0])), lambda: torch.empty(0).index_fill_(0, torch.tensor([0]), 1)):
            with self.assertRaises(IndexError):
                call()
        self.assertEqual(torch.empty(0).index_fill_(0, torch.tensor([], dtype=torch.int64), 1).shape, (0,))


class StridesOfResults(unittest.TestCase):
    """Of dimensions without extent, as PyTorch 2.13 leaves them."""

    def test_beside_a_number(self):
        self.assertEqual((torch.empty(0, 1) * 1).stride(), (1, 0))
        self.assertEqual((torch.empty(1, 0) * 1).stride(), (1, 1))
        self.assertEqual((torch.empty(0, 1) * torch.empty(0, 1)).stride(), (1, 1))
        x = torch.arange(2).reshape(1, 2, 1).permute(2, 0, 1)
        self.assertEqual(torch.where(x == 1, x, 0).stride(), (1, 2, 1))
        self.assertEqual((torch.empty(3, 1, 4) + 1).stride(), (4, 4, 1))

    def test_of_contiguous_tensors(self):
        x = torch.ones(4, 1, 4).unfold(1, 1, 1)
        self.assertEqual((x * torch.ones(4, 1, 4, 1, dtype=torch.float64)).stride(), (4, 4, 1, 1))


class GradientsOfWhatDoesNotChange(unittest.TestCase):
    def test_the_nearest_point_and_its_place(self):
        grid = torch.zeros(1, 1, 1, 2, requires_grad=True)
        out = torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), grid, mode="nearest", align_corners=False)
        self.assertEqual(torch.autograd.grad(out.sum(), grid)[0].flatten().tolist(), [0, 0])
        x = torch.rand(1, 1, 4, 4, requires_grad=True)
        y, places = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        back = torch.ops.aten.max_pool2d_with_indices_backward(y.detach(), x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)
        self.assertEqual(torch.autograd.grad(back.sum(), x)[0].abs().sum().item(), 0)

    def test_the_largest_of_complex_numbers_is_found_again(self):
        x = torch.view_as_complex(torch.rand(200, 5, 2, dtype=torch.float64) + 0.1).requires_grad_()
        self.assertFalse(torch.autograd.grad(torch.linalg.vector_norm(x, float("inf"), 1).sum(), x)[0].isnan().any().item())


class Integers(unittest.TestCase):
    def test_whatever_has_an_index_is_one(self):
        class One:
            def __index__(self):
                return 1

        self.assertEqual(torch.ones(2, 3).sum([One()]).tolist(), [3, 3])
        with self.assertRaises(TypeError):
            torch.ones(2, 3).sum([1.0])


class SampledGrids(unittest.TestCase):
    def test_the_kernel_and_the_recorded_ops_agree(self):
        rng = np.random.default_rng(0)
        for sizes, places in (((5, 6), (37, 9)), ((4, 5, 6), (3, 7, 5))):
            for mode in ("bilinear", "nearest", "bicubic")[: 5 - len(sizes)]:
                for padding in ("zeros", "border", "reflection"):
                    x = torch.tensor(rng.normal(size=(2, 3, *sizes)))
                    grid = torch.tensor(rng.uniform(-1.5, 1.5, size=(2, *places, len(sizes))))
                    plain = F.grid_sample(x, grid, mode, padding, align_corners=False)
                    recorded = F.grid_sample(x.clone().requires_grad_(), grid, mode, padding, align_corners=False)
                    np.testing.assert_allclose(plain.numpy(), recorded.detach().numpy(), rtol=1e-12, atol=1e-12)

    def test_points_outside_are_zero_whatever_the_image_holds(self):
        image = torch.full((1, 1, 2, 2), float("inf"))
        self.assertEqual(F.grid_sample(image, torch.full((1, 1, 3, 2), 5.0), align_corners=False).flatten().tolist(), [0, 0, 0])

    def test_no_images(self):
        for recorded in (False, True):
            out = F.grid_sample(torch.ones(0, 3, 2, 2, requires_grad=recorded), torch.zeros(0, 4, 5, 2), align_corners=False)
            self.assertEqual(out.shape, (0, 3, 4, 5))


if __name__ == "__main__":
    unittest.main()
