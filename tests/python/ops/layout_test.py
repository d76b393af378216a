"""Strides of results, memory shared between what is read and written, and what indices raise: goldens from PyTorch 2.13."""

import unittest
import warnings

import numpy as np

import cresset as torch

# Positions of equal values.
TIES = [2, 1, 2, 0, 1, 2, 0, 2, 1]
KTH = [1, [6, 3, 4, 8, 1, 2, 5, 7, 0], [3, 5, 1, 0, 4, 2], [0, 0, 1, 3, 6]]
TOP = [[[7], [7, 5, 0, 2], [2, 7, 0, 5, 4, 8, 1, 6, 3]], [6, 3, 4], [4], [14, 9, 4]]


class ResultStrides(unittest.TestCase):
    def test_indexing_keeps_the_memory_order_of_what_is_indexed(self):
        square = torch.arange(4).reshape(2, 2).t()
        self.assertEqual(square[True,].stride(), (4, 1, 2))
        cube = torch.arange(8.0).reshape(2, 1, 2, 2).transpose(0, -1)
        self.assertEqual(cube[torch.tensor([1]), range(1)].stride(), (4, 1, 2))
        deep = torch.arange(8).reshape(2, 2, 2, 1).transpose(0, -1)
        self.assertEqual(deep[None, torch.tensor([0, 0, 0]), 0:, 1].stride(), (12, 4, 1, 2))

    def test_dimensions_of_size_one_leave_the_order_to_the_indices(self):
        row = torch.arange(2.0).reshape(2, 1).transpose(0, -1)
        self.assertEqual(row[None, torch.tensor([[0, 0]])].stride(), (4, 4, 2, 1))
        halves = torch.arange(8.0).reshape(2, 2, 2).transpose(0, -1)
        self.assertEqual(halves[None, torch.tensor([1, -1]), torch.tensor([1, 0])].stride(), (4, 2, 1))

    def test_a_roll_that_moves_nothing_is_contiguous(self):
        x = torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
        kept, plain = (60, 1, 15, 3), (60, 20, 5, 1)
        for shifts, dims, strides in (
            (1, 0, kept), (1, 3, kept), (-1, 2, kept), ((1, 1), (0, 1), kept),
            (0, 0, plain), (2, 0, plain), (-5, 3, plain), ((1, 3), (0, 1), plain), (1, None, plain),
        ):  # fmt: skip
            with self.subTest(shifts=shifts, dims=dims):
                self.assertEqual(x.roll(shifts, dims).stride(), strides)

    def test_an_out_without_elements_takes_the_strides_of_a_new_result(self):
        permuted = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        row = torch.ones(3)
        for call in (
            lambda **out: torch.exp(permuted, **out),
            lambda **out: torch.add(permuted, permuted, **out),
            lambda **out: torch.eq(row, permuted, **out),
        ):
            result = call()
            out = call(out=torch.empty(0, dtype=result.dtype))
            self.assertEqual(out.stride(), (1, 12, 4))
            self.assertTrue(torch.equal(out, result))
        sliced = torch.arange(48.0).reshape(2, 3, 8)[:, :, ::2].transpose(0, 1)
        self.assertEqual(torch.exp(sliced, out=torch.empty(0)).stride(), (4, 12, 1))
        self.assertEqual(torch.exp(permuted, out=torch.empty(4, 2, 3)).stride(), (6, 3, 1))

    def test_an_input_of_another_dtype_counts_as_its_dense_copy(self):
        expanded = torch.ones(1, 1, 1, dtype=torch.uint8).expand(4, 1, 4)
        permuted = torch.arange(16.0).reshape(1, 4, 4).permute(2, 0, 1)
        self.assertEqual((expanded - permuted).stride(), (4, 16, 1))
        self.assertEqual((expanded.float() - permuted).stride(), (4, 16, 1))
        self.assertEqual((permuted - expanded).stride(), (1, 16, 4))

    def test_a_cast_to_channels_last_restrides_what_could_be_either(self):
        x = torch.ones(3, 1, 3, 3)
        self.assertEqual(x.to(memory_format=torch.channels_last).stride(), (9, 1, 3, 1))
        self.assertEqual(x.contiguous(memory_format=torch.channels_last).stride(), (9, 9, 3, 1))

    def test_batch_norm_does_not_count_strides_of_size_one(self):
        zeros, ones = torch.zeros(3), torch.ones(3)
        for x, strides in (
            (torch.ones(2, 3, 1, 1).to(memory_format=torch.channels_last), (3, 1, 1, 1)),
            (torch.ones(1, 3, 3, 1).permute(0, 2, 1, 3), (9, 1, 3, 3)),
            (torch.ones(2, 2, 1, 3).permute(2, 3, 0, 1), (12, 1, 6, 3)),
            (torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last), (12, 1, 6, 3)),
            (torch.ones(2, 3, 1, 1, 1).permute(0, 2, 1, 3, 4).reshape(2, 1, 3, 1, 1).transpose(1, 2), (3, 1, 1, 1, 1)),
        ):
            with self.subTest(strides=x.stride()):
                self.assertEqual(torch.nn.functional.batch_norm(x, None, None, training=True).stride(), strides)
                self.assertEqual(torch.nn.functional.batch_norm(x, zeros, ones).stride(), strides)

    def test_a_contraction_over_one_element_is_a_product_of_elements(self):
        x = torch.ones(27).reshape(3, 1, 3, 3).permute(3, 0, 2, 1)
        self.assertEqual(torch.einsum("...ij,...kj->...ik", x, x).stride(), (1, 27, 9, 3))
        a, b = torch.tensor([[2.0], [3.0]]), torch.tensor([[5.0, 7.0]])
        self.assertEqual(torch.einsum("ij,jk->ik", a, b).tolist(), [[10, 14], [15, 21]])
        self.assertEqual(torch.einsum("ij,kj->ik", a, torch.ones(1, 4)).tolist(), [[8], [12]])

    def test_shuffled_pixels_are_a_dense_copy(self):
        x = torch.arange(4.0).reshape(1, 4, 1).expand(1, 4, 2)
        for shuffle in (torch.nn.functional.pixel_shuffle, torch.nn.functional.pixel_unshuffle):
            with self.subTest(shuffle):
                self.assertEqual(shuffle(x, 1).stride(), (8, 2, 1))
                self.assertEqual(shuffle(x, 1).tolist(), x.tolist())
                self.assertNotEqual(shuffle(x, 1).data_ptr(), x.data_ptr())

    def test_pooling_to_one_pixel_takes_any_number_of_dimensions(self):
        pool = torch.nn.functional.adaptive_avg_pool2d
        self.assertEqual(pool(torch.ones(3, 4), 1).shape, (1, 1))
        self.assertEqual(pool(torch.ones(2, 2, 2, 2, 2), 1).shape, (2, 2, 2, 1, 1))
        self.assertEqual(pool(torch.ones(2, 0, 2, 2), 1).shape, (2, 0, 1, 1))
        last = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
        self.assertEqual(pool(last, 1).stride(), (3, 1, 3, 3))


class SharedMemory(unittest.TestCase):
    def setUp(self):
        self.m = torch.arange(6.0)
        self.square = self.m[:4].view(2, 2)

    def test_writing_over_a_part_of_an_input_is_refused(self):
        m, square = self.m, self.square
        calls = {
            "copy_": lambda: m[1:4].copy_(m[:3]),
            "assignment": lambda: m[:4].__setitem__(..., m[2:]),
            "clamp_": lambda: square.clamp_(min=square.t()),
            "clamp": lambda: torch.clamp(square, 1, 2, out=square.t()),
            "scatter_": lambda: m[:3].scatter_(0, torch.zeros(1, dtype=torch.int64), m[:3]),
            "index_add_": lambda: m[:3].index_add_(0, torch.tensor([0]), m[:1]),
            "cumsum": lambda: torch.cumsum(m[:3], 0, out=m[1:4]),
            "sort": lambda: torch.sort(m[:3], out=(m[1:4], torch.empty(0, dtype=torch.int64))),
            "before resizing": lambda: torch.exp(m[:2], out=square),
        }
        for name, call in calls.items():
            with self.subTest(name), self.assertRaises(RuntimeError):
                call()
        self.assertEqual(m.tolist(), [0, 1, 2, 3, 4, 5])

    def test_an_input_of_another_shape_is_no_output(self):
        with self.assertRaises(RuntimeError):
            scalar = torch.tensor(1.0)
            torch.where(torch.tensor([True, False]), scalar, scalar, out=scalar)

    def test_an_input_is_not_resized_as_the_output(self):
        y = torch.ones(4, 6)
        for x in (torch.zeros(0), torch.zeros(0, 6), torch.zeros(2, 6)):
            before = x.clone()
            with self.assertRaisesRegex(RuntimeError, "shares no memory|memory of their own"):
                torch.cat([x, y], out=x)
            self.assertTrue(torch.equal(x, before))
        x = torch.zeros(0, 6)
        self.assertIs(torch.cat([torch.zeros(0, 6), x], out=x), x)

    def test_some_outputs_are_resized_without_a_word(self):
        weights, whole = torch.tensor([0.5, 0.5, 0.5]), torch.int64
        stacked = torch.ones(2, 1, 5)
        quiet = {
            "linspace": lambda out: torch.linspace(0, 1, 5, out=out),
            "logspace": lambda out: torch.logspace(0, 1, 5, out=out),
            "range": lambda out: torch.range(0, 4, out=out),
            "addbmm": lambda out: torch.addbmm(torch.zeros(5, 5), stacked.mT, stacked, out=out),
            "narrow_copy": lambda out: torch.narrow_copy(torch.ones(9), 0, 2, 5, out=out),
            "multinomial": lambda out: torch.multinomial(weights, 5, replacement=True, out=out),
        }
        loud = {"arange": lambda out: torch.arange(5, out=out), "cumsum": lambda out: torch.cumsum(torch.ones(5), 0, out=out)}
        for name, call in {**quiet, **loud}.items():
            out = torch.zeros(2, dtype=whole if name == "multinomial" else torch.float32)
            with self.subTest(name), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                self.assertIs(call(out), out)
                self.assertEqual(out.shape[-1], 5)
                self.assertEqual(any("was resized" in str(warning.message) for warning in told), name in loud)

    def test_an_output_does_not_grow_over_what_is_read(self):
        index = torch.tensor([0, 1, 0])
        with self.assertRaisesRegex(RuntimeError, "shares no memory|memory of their own"):
            torch.gather(index.clone(), 0, index[1:], out=index[:1])
        self.assertEqual(index.tolist(), [0, 1, 0])

    def test_adaptive_pools_want_a_size_for_each_dimension(self):
        for pool in (torch.nn.functional.adaptive_avg_pool2d, torch.nn.functional.adaptive_avg_pool3d):
            with self.assertRaises(RuntimeError):
                pool(torch.ones(1, 2, 3, 4), [])

    def test_an_output_is_compared_with_its_inputs_in_its_new_shape(self):
        self.assertEqual(torch.cumsum(self.m[1:4], 0, out=self.m[1:2]).tolist(), [1, 3, 6])
        with self.assertRaises(RuntimeError):
            torch.cumsum(self.m[1:4], 0, out=self.m[2:4])
        torch.sort(self.m[1:4], out=(self.m[1:2], torch.empty(0, dtype=torch.int64)))
        self.assertEqual(self.m.tolist(), [0, 1, 3, 6, 4, 5])

    def test_a_product_is_not_written_over_its_factors(self):
        a = self.m[:3]
        with self.assertRaises(RuntimeError):
            torch.matmul(a, self.m[3:], out=a)
        nothing = self.m[:0]
        with self.assertRaises(RuntimeError):
            torch.matmul(nothing, self.m[:0], out=nothing)
        self.assertEqual(self.m.tolist(), [0, 1, 2, 3, 4, 5])

    def test_assigning_a_part_of_a_tensor_to_all_of_it_repeats_it(self):
        square = self.m[2:].view(2, 2)
        square[...] = self.m[2:4]
        self.assertEqual(square.tolist(), [[2, 3], [2, 3]])
        square[:] = self.m[3]
        self.assertEqual(square.tolist(), [[3, 3], [3, 3]])

    def test_filling_may_write_a_place_twice_and_reductions_anywhere(self):
        m = self.m
        self.assertEqual(m[:1].expand(3).fill_(3).tolist(), [3, 3, 3])
        self.assertEqual(m[:1].expand(3).masked_fill_(torch.tensor([True, False, True]), 4).tolist(), [4, 4, 4])
        self.assertEqual(m[1:2].expand(3).zero_().tolist(), [0, 0, 0])
        self.assertEqual(torch.sum(m[:3], 0, keepdim=True, out=m[:0]).tolist(), [2])  # m[0], 4 before, counts as zero

    def test_a_copy_of_the_very_same_memory_does_nothing(self):
        x = torch.arange(2).reshape(1, 2).transpose(1, 0)
        wide = x.expand(1, -1, 2)
        wide[...] = torch.atleast_2d(x)
        self.assertEqual(x.flatten().tolist(), [0, 1])
        with self.assertRaisesRegex(RuntimeError, "memory of their own"):
            wide.copy_(torch.ones(1, 2, 2, dtype=torch.int64))

    def test_places_written_twice_are_written_in_order(self):
        def after(size, source):
            m = torch.arange(6.0)
            m.as_strided(size, (1, 1)).copy_(source(m))
            return m.tolist()

        self.assertEqual(after((2, 2), lambda m: m[:2]), [0, 0, 0, 3, 4, 5])
        self.assertEqual(after((2, 3), lambda m: m[:3]), [0, 0, 0, 0, 4, 5])
        self.assertEqual(after((2, 3), lambda m: m.view(2, 3)), [0, 3, 4, 5, 4, 5])
        self.assertEqual(after((2, 2), lambda m: m[2:].double().view(2, 2)), [2, 4, 5, 3, 4, 5])

    def test_segments_are_reduced_without_gaps(self):
        for reduce in ("sum", "prod", "max", "min"):
            y = torch.segment_reduce(torch.ones(5, 5), reduce, lengths=torch.ones(5, 4, dtype=torch.int64), axis=1, unsafe=True)
            self.assertEqual(y.stride(), (4, 1))

    def test_pixels_are_shuffled_in_planes_only(self):
        volume = torch.ones(1, 4, 4, 2, 2).to(memory_format=torch.channels_last_3d)
        for shuffle in (torch.pixel_shuffle, torch.pixel_unshuffle):
            with self.assertRaisesRegex(RuntimeError, "channels_last_3d"):
                shuffle(volume, 2)
            self.assertEqual(shuffle(volume.contiguous(), 2).numel(), 64)

    def test_sparse_tensors_have_no_other_shape(self):
        for sparse in (torch.ones(2, 3).to_sparse(), torch.ones(2, 3).to_sparse_csr()):
            for call in (lambda x: x.reshape(6), lambda x: x.flatten(), lambda x: x.ravel()):
                with self.assertRaisesRegex(RuntimeError, "reshape: not implemented for sparse tensors") as caught:
                    call(sparse)
                self.assertIs(type(caught.exception), RuntimeError)


class EqualValues(unittest.TestCase):
    def test_which_of_them_is_the_kth(self):
        nan = float("nan")
        for dtype in (torch.uint8, torch.int64, torch.float32, torch.float64, torch.bfloat16):
            with self.subTest(dtype):
                self.assertEqual(torch.zeros(3, dtype=dtype).kthvalue(1).indices.item(), KTH[0])
                self.assertEqual([torch.tensor(TIES, dtype=dtype).kthvalue(k).indices.item() for k in range(1, 10)], KTH[1])
        self.assertEqual([torch.tensor([nan, 1, nan, 0, nan, 1]).kthvalue(k).indices.item() for k in range(1, 7)], KTH[2])
        values = torch.arange(1000).remainder(7)
        self.assertEqual([values.kthvalue(k).values.item() for k in (1, 143, 144, 500, 1000)], KTH[3])

    def test_which_of_them_are_the_largest(self):
        nan = float("nan")
        for dtype in (torch.uint8, torch.int64, torch.float32, torch.float64, torch.bfloat16):
            with self.subTest(dtype):
                x = torch.tensor(TIES, dtype=dtype)
                self.assertEqual([x.topk(k).indices.tolist() for k in (1, 4, 9)], TOP[0])
                self.assertEqual(x.topk(3, largest=False).indices.tolist(), TOP[1])
        self.assertEqual(torch.tensor([-0.0, 1, 1, nan, nan, 1.5, 1.5, 9, nan]).topk(1).indices.tolist(), TOP[2])
        self.assertEqual(torch.arange(200).remainder(5).topk(3).indices.tolist(), TOP[3])


class Indices(unittest.TestCase):
    def test_what_comes_first_is_said_first(self):
        x = torch.zeros(3, 3)
        mask = torch.tensor([True, False])
        with self.assertRaises(ValueError):
            x[::-1, 1.0]
        with self.assertRaises(ValueError):
            x[mask, ::-1]
        with self.assertRaises(IndexError):
            x[0, 0, "a"]
        with self.assertRaises(TypeError):
            x[0, "a"]
        with self.assertRaises(IndexError):
            torch.tensor(1.0)["a"]

    def test_a_boolean_alone_is_a_view_and_in_a_tuple_an_index(self):
        x = torch.zeros(3)
        x[True] = torch.tensor(1)
        self.assertEqual(x.tolist(), [1, 1, 1])
        with self.assertRaises(RuntimeError):
            x[True,] = torch.tensor(1)
        x[False] = torch.ones(5, 7)
        self.assertEqual(x.tolist(), [1, 1, 1])

    def test_index_put_with_one_value_and_a_mask_fills(self):
        x = torch.zeros(3)
        x.index_put_((torch.tensor([True, False, True]),), torch.tensor(5))
        self.assertEqual(x.tolist(), [5, 0, 5])
        with self.assertRaises(RuntimeError):
            x.index_put_((torch.tensor([1, 0, 1], dtype=torch.uint8),), torch.tensor(5.0))
        x.index_put_((torch.tensor(False),), torch.tensor(7.0))
        self.assertEqual(x.tolist(), [5, 0, 5])
        with self.assertRaises(IndexError):
            torch.tensor(2.0).index_put_((torch.tensor([0]),), torch.tensor(2))

    def test_places_are_not_looked_up_where_nothing_is_read(self):
        self.assertEqual(torch.zeros(2, 0)[torch.tensor([5])].shape, (1, 0))
        with self.assertRaises(IndexError):
            torch.zeros(3, 0)[:, torch.tensor([0])]

    def test_shapes_of_index_add_and_index_select(self):
        with self.assertRaises(IndexError):
            torch.ones(2).index_add_(0, torch.tensor([0, 1]), torch.tensor(1.0))
        with self.assertRaises(RuntimeError):
            torch.ones(2).index_add_(0, torch.tensor([0]), torch.tensor(1.0))
        with self.assertRaises(RuntimeError):
            torch.tensor(1.0).index_select(0, torch.tensor([0, 0]))


class ChannelsLast(unittest.TestCase):
    """Results of PyTorch 2.13, with (L) for channels last and (C) for contiguous memory."""

    def format_of(self, t):
        last = t.dim() > 3 and t.is_contiguous(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d)
        return ("C" if t.is_contiguous() else "") + ("L" if last else "")

    def last(self, t, wanted):
        return t.to(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d) if wanted else t

    def test_convolutions(self):
        F = torch.nn.functional
        plain, kept, mixed = ("C", "C", "C"), ("L", "L", "L"), ("L", "C", "C")
        cases = [(torch.float32, F.conv2d, (2, 4, 8, 8), (6, 4, 3, 3), kept), (torch.float64, F.conv2d, (2, 4, 8, 8), (6, 4, 3, 3), kept), (torch.bfloat16, F.conv2d, (1, 4, 8, 8), (6, 4, 3, 3), kept),
                 (torch.complex64, F.conv2d, (2, 4, 8, 8), (6, 4, 3, 3), mixed), (torch.float32, F.conv_transpose2d, (2, 4, 8, 8), (4, 6, 3, 3), kept),
                 (torch.float32, F.conv3d, (2, 4, 5, 5, 5), (6, 4, 2, 2, 2), kept), (torch.float32, F.conv3d, (1, 4, 5, 5, 5), (6, 4, 2, 2, 2), plain),
                 (torch.float64, F.conv3d, (2, 4, 5, 5, 5), (6, 4, 2, 2, 2), plain), (torch.bfloat16, F.conv3d, (1, 4, 5, 5, 5), (6, 4, 2, 2, 2), kept)]  # fmt: skip
        for dtype, function, shape, weight_shape, expected in cases:
            x, w = torch.randn(shape).to(dtype), torch.randn(weight_shape).to(dtype)
            reference = None
            for x_last, w_last in ((False, False), (True, False), (False, True), (True, True)):
                for grad_last in (False, True):
                    with self.subTest(dtype=dtype, function=function.__name__, shape=shape, x_last=x_last, w_last=w_last, grad_last=grad_last):
                        a, b = self.last(x, x_last).requires_grad_(), self.last(w, w_last).requires_grad_()
                        y = function(a, b)
                        results = (y, *torch.autograd.grad(y, (a, b), self.last(torch.ones(y.shape, dtype=dtype), grad_last)))
                        self.assertEqual(tuple(map(self.format_of, results)), expected if x_last or w_last else plain)
                        reference = reference or [r.detach().clone() for r in results]
                        for result, value in zip(results, reference):
                            self.assertTrue(torch.equal(result.detach(), value))

    def test_gradients_of_norms_and_pools(self):
        F, nn = torch.nn.functional, torch.nn
        bn, gn = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        for name, function in {
            "batch_norm": bn, "evaluated": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)), "group_norm": gn, "max": lambda x: F.max_pool2d(x, 2),
            "avg": lambda x: F.avg_pool2d(x, 2), "adaptive_max": lambda x: F.adaptive_max_pool2d(x, 4), "adaptive_avg": lambda x: F.adaptive_avg_pool2d(x, 4),
        }.items():  # fmt: skip
            with self.subTest(name):
                x = torch.randn(2, 4, 8, 8)
                plain, kept = x.clone().requires_grad_(), self.last(x, True).requires_grad_()
                weights = torch.randn(function(plain).shape)
                gradients = [torch.autograd.grad((function(t) * weights).sum(), t)[0] for t in (plain, kept)]
                self.assertEqual([self.format_of(g) for g in gradients], ["C", "L"])
                self.assertTrue(torch.equal(*gradients))

    def test_a_network_keeps_it_from_end_to_end(self):
        nn = torch.nn
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.GELU(), nn.AdaptiveAvgPool2d(2)
        )
        x = torch.randn(2, 3, 16, 16)
        expected = net(x)
        net.to(memory_format=torch.channels_last)
        seen = []
        for layer in net:
            layer.register_forward_hook(lambda layer, args, result: seen.append(self.format_of(result)))
        torch.testing.assert_close(net(self.last(x, True)), expected)
        self.assertEqual(seen, ["L"] * 7)


class FillDiagonal(unittest.TestCase):
    def test_shapes_strides_and_wraps(self):
        layouts = {
            "dense": lambda x: x,
            "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
            "narrowed": lambda x: torch.cat([x, x], 1)[:, x.shape[1] :],
        }
        for shape in ((3, 3), (2, 5), (7, 2), (8, 3), (4, 1), (1, 4), (3, 0), (0, 3), (2, 2, 2), (3, 3, 3, 3)):
            for layout, strided in layouts.items():
                for wrap in (False, True):
                    with self.subTest(shape=shape, layout=layout, wrap=wrap):
                        x = strided(torch.arange(float(np.prod(shape))).reshape(shape))
                        expected = x.numpy().copy()
                        if expected.size:
                            np.fill_diagonal(expected, -5, wrap=wrap)
                        self.assertIs(x.fill_diagonal_(-5, wrap), x)
                        np.testing.assert_array_equal(x.numpy(), expected)

    def test_what_it_sets_has_no_gradient(self):
        for wrap in (False, True):
            x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(lambda x, wrap=wrap: (x * 2).fill_diagonal_(3, wrap), x))

    def test_mistakes(self):
        for shape, text in (((3,), "at least 2 dimensions, got 1"), ((2, 3, 2), r"equal length, got \[2, 3, 2\]")):
            with self.assertRaisesRegex(RuntimeError, text):
                torch.zeros(shape).fill_diagonal_(1)


if __name__ == "__main__":
    unittest.main()
