"""Functions against PyTorch's numbers where a formula alone does not tell: rounding, random order, saved statistics, what `out` may be."""

import unittest

import cresset.nn.functional as F
import numpy as np

import cresset as torch


def close(test, tensor, expected, tolerance=1e-6):
    np.testing.assert_allclose(np.array(tensor.detach().tolist()), np.array(expected), rtol=tolerance, atol=tolerance)


class Images(unittest.TestCase):
    BYTES = {
        ("bilinear", False): [46, 67, 76, 56, 82, 109, 130, 132, 153, 161, 142, 168, 112, 24, 89, 74, 73, 99, 125, 152, 173, 175, 159, 159, 185, 74, 46, 67],
        ("bilinear", True): [0, 25, 49, 74, 99, 123, 148, 114, 139, 163, 188, 213, 152, 6, 43, 68, 92, 117, 142, 166, 191, 157, 182, 206, 231, 85, 24, 49],
        ("bicubic", False): [44, 69, 76, 51, 73, 111, 138, 133, 161, 168, 144, 187, 117, 16, 90, 66, 64, 94, 126, 160, 180, 182, 159, 165, 187, 65, 24, 66],
        ("bicubic", True): [0, 21, 51, 74, 97, 127, 148, 114, 135, 165, 188, 240, 160, 6, 43, 64, 94, 117, 140, 170, 191, 157, 178, 222, 231, 79, 0, 49],
    }
    SMOOTH = {
        "bilinear": [85, 69, 105, 157, 140, 85, 87, 90, 148, 158, 126, 60],
        "bicubic": [84, 62, 106, 162, 148, 81, 82, 83, 156, 166, 124, 53],
        "lanczos": [87, 57, 103, 167, 153, 77, 79, 75, 163, 172, 120, 49],
    }

    def setUp(self):
        self.image = (torch.arange(30) * 37 % 256).reshape(1, 2, 3, 5).to(torch.uint8)

    def test_bytes_are_resized_in_fixed_point(self):
        for (mode, corners), expected in self.BYTES.items():
            self.assertEqual(F.interpolate(self.image, (2, 7), mode=mode, align_corners=corners).flatten().tolist(), expected)
        for mode, expected in self.SMOOTH.items():
            self.assertEqual(F.interpolate(self.image, (2, 3), mode=mode, antialias=True).flatten().tolist(), expected)

    def test_lanczos_smooths_images_and_has_a_gradient(self):
        x = torch.linspace(0, 1, 30, dtype=torch.float64).square().reshape(1, 1, 5, 6).requires_grad_()
        y = F.interpolate(x, scale_factor=(0.6, 1.5), mode="lanczos", antialias=True)
        self.assertEqual(y.shape, (1, 1, 3, 9))
        self.assertTrue(torch.autograd.gradcheck(lambda t: F.interpolate(t, (3, 9), mode="lanczos", antialias=True), x))
        self.assertTrue(torch.autograd.gradgradcheck(lambda t: F.interpolate(t, (3, 9), mode="lanczos", antialias=True).square(), x))
        flat = torch.ones(2, 3, 4, 4)
        torch.testing.assert_close(F.interpolate(flat, (7, 3), mode="lanczos", antialias=True), torch.ones(2, 3, 7, 3))
        for call in (
            lambda: F.interpolate(flat, (3, 3), mode="lanczos"),
            lambda: F.interpolate(flat, (3, 3), mode="lanczos", antialias=True, align_corners=True),
            lambda: F.interpolate(flat[0], 3, mode="lanczos", antialias=True),
        ):
            with self.assertRaisesRegex(ValueError, "antialias"):
                call()
        with self.assertRaisesRegex(NotImplementedError, "lanczos"):
            F.interpolate(flat[0], 3, mode="lanczos")

    def test_a_side_that_stays_is_copied(self):
        wide = F.interpolate(self.image, (3, 7), mode="bilinear", align_corners=True)
        self.assertEqual(wide[0, 0, 0].tolist(), [0, 25, 49, 74, 99, 123, 148])
        self.assertEqual(F.interpolate(self.image, (3, 5), mode="bicubic").tolist(), self.image.tolist())

    def test_memory_formats_are_kept(self):
        x = torch.arange(2 * 4 * 6 * 6, dtype=torch.float32).reshape(2, 6, 6, 4).permute(0, 3, 1, 2)
        plain = x.contiguous()
        for function in (
            lambda t: F.interpolate(t, scale_factor=2.0),
            lambda t: F.interpolate(t, size=(3, 4), mode="bilinear"),
            lambda t: F.max_pool2d(t, 2),
            lambda t: F.avg_pool2d(t, 2),
            lambda t: F.adaptive_avg_pool2d(t, 3),
            lambda t: F.pad(t, (1, 2)),
            lambda t: F.batch_norm(t, None, None, training=True),
            lambda t: F.group_norm(t, 2),
            lambda t: F.pixel_unshuffle(t, 2),
            lambda t: torch.cat([t, t], 1),
            lambda t: t.flip(1),
            lambda t: t.sort(1)[0],
            lambda t: torch.roll(t, 1, 2),
        ):
            got, expected = function(x), function(plain)
            self.assertEqual(got.stride(1), 1)
            self.assertTrue(expected.is_contiguous())
            self.assertTrue(torch.equal(got, expected))
        strides = [(288, 144, 1, 24, 4), (288, 4, 1, 48, 8), (288, 1, 144, 24, 4), (288, 1, 48, 24, 4), (288, 72, 12, 2, 1)]
        self.assertEqual([torch.stack([x, x], d).stride() for d in range(5)], strides)
        self.assertTrue(torch.equal(torch.stack([x, x], 1)[:, 1], x))
        self.assertTrue(torch.cat([x, plain]).is_contiguous())

    def test_coordinates_are_contiguous_one_by_one(self):
        x = torch.tensor([[0, 1, 2], [3, 0, 0]])
        for found in (x.nonzero(), torch.argwhere(x)):
            self.assertEqual(found.tolist(), [[0, 1], [0, 2], [1, 0]])
            self.assertEqual(found.stride(), (1, 3))
        self.assertEqual([i.stride() for i in torch.nonzero(x, as_tuple=True)], [(1,), (1,)])


class Random(unittest.TestCase):
    def test_adaptive_maxima_come_with_their_places(self):
        for n, function in ((1, F.adaptive_max_pool1d_with_indices), (2, F.adaptive_max_pool2d_with_indices), (3, F.adaptive_max_pool3d_with_indices)):
            x = torch.randperm(2 * 6**n).to(torch.float32).reshape(1, 2, *[6] * n)
            values, places = function(x, 3)
            self.assertTrue(torch.equal(values, x.unfold(2, 2, 2).amax(-1) if n == 1 else getattr(F, f"max_pool{n}d")(x, 2)))
            self.assertTrue(torch.equal(x.flatten(2).gather(2, places.flatten(2)), values.flatten(2)))

    def test_dropout_of_channels_knows_unbatched_inputs(self):
        expected = [2, 2, 2, 2, 0, 0, 2, 2, 0, 0, 0, 0]
        torch.manual_seed(3)
        self.assertEqual(F.dropout3d(torch.ones(6, 2, 1, 1), 0.5).flatten().tolist(), expected)
        torch.manual_seed(3)
        self.assertEqual(F.dropout1d(torch.ones(6, 2), 0.5).flatten().tolist(), expected)
        x = torch.ones(6, 2, 1, 1)
        torch.manual_seed(3)
        self.assertIs(F.dropout3d(x, 0.5, inplace=True), x)
        self.assertEqual(x.flatten().tolist(), expected)
        with self.assertRaises(RuntimeError):
            F.dropout1d(torch.ones(2, 2, 2, 2))

    def test_dropout_draws_in_the_order_of_memory(self):
        torch.manual_seed(3)
        out = F.dropout(torch.arange(1.0, 7.0).view(2, 3).t(), 0.5)
        self.assertEqual(out.tolist(), [[2, 8], [4, 0], [0, 0]])
        self.assertEqual(out.stride(), (1, 3))


class Norms(unittest.TestCase):
    def test_saved_statistics_have_the_dtype_of_the_parameters(self):
        x, half, single = torch.ones(2, 4, 3, dtype=torch.float16), torch.ones(4, dtype=torch.float16), torch.ones(4)
        for weight, dtype in ((None, torch.float16), (half, torch.float16), (single, torch.float32)):
            self.assertEqual([t.dtype for t in torch.native_batch_norm(x, weight, weight, None, None, True, 0.1, 1e-5)], [torch.float16, dtype, dtype])
            self.assertEqual([t.dtype for t in torch.native_group_norm(x, weight, weight, 2, 4, 3, 2, 1e-5)], [torch.float16, dtype, dtype])
            y = x.transpose(1, 2)
            self.assertEqual([t.dtype for t in torch.native_layer_norm(y, [4], weight, weight, 1e-5)], [torch.float16, dtype, dtype])

    def test_group_norm_differentiates_its_statistics(self):
        x = torch.tensor([[[0.5, 1.0, -2.0], [3.0, 0.25, 1.0]]], requires_grad=True)
        y, mean, rstd = torch.native_group_norm(x, None, None, 1, 2, 3, 2, 1e-5)
        close(self, mean, [[-0.1666666865348816, 1.4166666269302368]])
        close(self, rstd, [[0.7619985342025757, 0.8615465760231018]])
        total = (y * torch.arange(6.0).view(1, 2, 3)).sum() + (mean * torch.tensor([[1.0, 2.0]])).sum() + (rstd * torch.tensor([[3.0, -1.0]])).sum()
        total.backward()
        close(self, x.grad, [[[-0.4778261, 0.2473017, 1.2305243], [0.8176517, -0.0794094, 1.2617576]]], 1e-5)

    def test_batch_norm_of_nothing(self):
        x, statistics = torch.empty(0, requires_grad=True), torch.empty(0)
        y = F.batch_norm(x, statistics, statistics, training=True)
        y.sum().backward()
        self.assertEqual((y.shape, x.grad.shape), ((0,), (0,)))
        with self.assertRaises(ValueError):
            F.batch_norm(torch.empty(1), None, None, training=True)


# mode, padding, align_corners: what PyTorch 2.13 reads.
SAMPLED = {  # fmt: skip
    ("bilinear", "zeros", False): [0.52, 2.63, 1.035],
    ("bilinear", "zeros", True): [1.84, 3.16, 7.48],
    ("bilinear", "border", False): [2.6, 2.63, 9.0],
    ("bilinear", "border", True): [2.3, 3.16, 8.8],
    ("bilinear", "reflection", False): [2.6, 2.63, 9.0],
    ("bilinear", "reflection", True): [2.63, 3.16, 8.065],
    ("nearest", "zeros", False): [0.0, 2.0, 0.0],
    ("nearest", "zeros", True): [3.0, 2.0, 9.0],
    ("nearest", "border", False): [3.0, 2.0, 9.0],
    ("nearest", "border", True): [3.0, 2.0, 9.0],
    ("nearest", "reflection", False): [3.0, 2.0, 9.0],
    ("nearest", "reflection", True): [3.0, 2.0, 9.0],
    ("bicubic", "zeros", False): [0.472, 2.858121641, 1.074666375],
    ("bicubic", "zeros", True): [2.0596225, 3.66948625, 8.396364514],
    ("bicubic", "border", False): [2.604224, 2.610262063, 9.546605437],
    ("bicubic", "border", True): [2.174087, 3.12445525, 9.246472794],
    ("bicubic", "reflection", False): [2.42912, 2.610262063, 10.3771125],
    ("bicubic", "reflection", True): [2.491484, 2.937712, 8.678493742],
}


class Grids(unittest.TestCase):
    def test_images(self):
        image = torch.tensor([[[[1.0, 2, 4], [3, 5, 9]]]], dtype=torch.float64)
        grid = torch.tensor([[[[-1.2, 0.3], [0.1, -0.4], [0.95, 1.3]]]], dtype=torch.float64)
        for call, expected in SAMPLED.items():
            with self.subTest(call=call):
                np.testing.assert_allclose(F.grid_sample(image, grid, *call).flatten().tolist(), expected, atol=1e-8)
                if call[0] != "nearest":
                    self.assertTrue(
                        torch.autograd.gradcheck(
                            lambda x, g, call=call: F.grid_sample(x, g, *call), (image.clone().requires_grad_(), grid.clone().requires_grad_())
                        )
                    )

    def test_volumes(self):
        volume = torch.arange(8.0).reshape(1, 1, 2, 2, 2)
        grid = torch.tensor([[[[[0.2, -0.3, 0.4], [1.4, -1.2, 0.1]]]]])
        for mode, padding, expected in (
            ("bilinear", "zeros", [4.1, 2.304]),
            ("bilinear", "border", [4.1, 3.2]),
            ("bilinear", "reflection", [4.1, 3.2]),
            ("nearest", "border", [5, 5]),
        ):
            np.testing.assert_allclose(F.grid_sample(volume, grid, mode, padding, True).flatten().tolist(), expected, atol=1e-5)

    def test_mistakes(self):
        image, grid = torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2)
        for args in (
            (image, grid[..., :1]),
            (image, torch.zeros(2, 1, 1, 2)),
            (image, torch.zeros(1, 1, 1, 1, 3)),
            (image, grid.double()),
            (image[:, :, :0], grid),
        ):
            with self.assertRaises(RuntimeError):
                F.grid_sample(*args, align_corners=False)
        for args in ((image, grid, "linear"), (image, grid, "nearest", "wrap")):
            with self.assertRaises(ValueError):
                F.grid_sample(*args, align_corners=False)

    def test_statistics_of_a_batch_move_the_running_ones(self):
        x, mean, var = torch.arange(6.0).reshape(3, 2), torch.zeros(2), torch.ones(2)
        got = torch.batch_norm_update_stats(x, mean, var, 0.1)
        for values, expected in zip((*got, mean, var), ([2, 3], [8 / 3, 8 / 3], [0.2, 0.3], [1.3, 1.3]), strict=True):
            torch.testing.assert_close(values, torch.tensor(expected, dtype=torch.float32))
        for error, *args in (
            (RuntimeError, x[:0], None, None),
            (RuntimeError, x.double(), mean, var),
            (IndexError, x[0], None, None),
            (NotImplementedError, x.long(), None, None),
        ):
            with self.assertRaises(error):
                torch.batch_norm_update_stats(*args, 0.1)

    def test_the_gradient_of_dropout(self):
        self.assertEqual(torch.native_dropout_backward(torch.ones(2), torch.tensor([True, False]), 4.0).tolist(), [4, 0])


class Losses(unittest.TestCase):
    def test_a_mean_of_weighted_losses_is_by_the_sum_of_the_weights(self):
        x, y, w = torch.tensor([1.0, 4.0]), torch.zeros(2), torch.tensor([3.0, 1.0])
        for loss, each, divisor in ((F.l1_loss, [1.0, 4.0], 4), (F.mse_loss, [1.0, 16.0], 4), (F.huber_loss, [0.5, 3.5], 2)):
            sums = 3 * each[0] + each[1]
            want = [[3 * each[0], each[1]], sums, sums / divisor]
            self.assertEqual([loss(x, y, reduction=r, weight=w).tolist() for r in ("none", "sum", "mean")], want)

    def test_linear_cross_entropy_in_pieces_is_that_of_the_whole(self):
        torch.manual_seed(0)
        x, w = torch.randn(5, 3, dtype=torch.float64), torch.randn(4, 2, 3, dtype=torch.float64)
        classes, chances = torch.randint(0, 4, (5, 2)), torch.rand(5, 4, 2, dtype=torch.float64)
        weight = torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64)
        for target, more in ((classes, {}), (classes, {"weight": weight, "ignore_index": 1, "label_smoothing": 0.1}), (chances, {"weight": weight})):
            for reduction in ("mean", "sum", "none"):
                found = []
                for options in (None, torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
                    inputs = [v.clone().requires_grad_() for v in (x, w)]
                    loss = F.linear_cross_entropy(*inputs, target, reduction=reduction, options=options, **more)
                    loss.sum().backward()
                    found.append([loss.detach(), *(v.grad for v in inputs)])
                scores = torch.einsum("ni,cki->nck", x, w)
                plain = F.cross_entropy(scores, target, more.get("weight"), ignore_index=more.get("ignore_index", -100), reduction=reduction,
                                        label_smoothing=more.get("label_smoothing", 0.0))  # fmt: skip
                for a, b in zip(*found, strict=True):
                    self.assertLess((a - b).abs().max().item(), 1e-12)
                self.assertLess((found[0][0] - plain).abs().max().item(), 1e-12)

    def test_linear_cross_entropy_says_what_does_not_fit(self):
        x, w = torch.ones(2, 3), torch.ones(2, 3)
        for args, more in (((torch.ones(2, 3, 3), w, torch.ones(3, 2)), {}), ((x, torch.ones(2), torch.ones(2, 2)), {}), ((x, torch.ones(2, 4), torch.ones(2, 2)), {}),
                           ((x, w, torch.ones(2, 2)), {"ignore_index": 0}), ((x[0], torch.ones(2, 4, 3), torch.ones(2, 4)), {}),
                           ((x, w, torch.ones(2)), {"linear_bias": torch.ones(3)})):  # fmt: skip
            with self.assertRaises(RuntimeError):
                F.linear_cross_entropy(*args, **more)

    def test_multilabel_margin_loss_needs_classes(self):
        with self.assertRaises(RuntimeError):
            F.multilabel_margin_loss(torch.ones(0), torch.ones(0))

    def test_max_unpool_keeps_channels_last(self):
        x = torch.rand(1, 2, 4, 4).contiguous(memory_format=torch.channels_last)
        y = F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
        self.assertTrue(y.is_contiguous(memory_format=torch.channels_last))
        self.assertEqual(F.max_pool2d(y, 2).tolist(), F.max_pool2d(x, 2).tolist())


class Numbers(unittest.TestCase):
    def test_logcumsumexp_of_large_complex_numbers_differentiates(self):
        x = torch.tensor([800 + 1j, 2 - 1j, 799 + 3j], dtype=torch.complex128, requires_grad=True)
        x.logcumsumexp(0).backward(torch.tensor([1 + 1j, 2, 3j], dtype=torch.complex128))
        close(self, x.grad, [1.7896838817551617 + 4.064246092516618j, 0, 1.2103161182446711 - 0.06424609251654395j], 1e-12)

    def test_attention_in_half_rounds_once(self):
        q, k, v = (((torch.arange(12.0).view(1, 3, 4) * s) % 7 / 3).to(torch.float16) for s in (1, 3, 5))
        expected = [[0.0, 1.6669921875, 1.0, 0.333251953125], [0.9443359375, 1.509765625, 0.8427734375, 0.1759033203125],
                    [1.1865234375, 1.2646484375, 0.59765625, 1.158203125]]  # fmt: skip
        close(self, F.scaled_dot_product_attention(q, k, v, is_causal=True), [expected], 1e-3)

    def test_orders_and_places_given_as_pytorch_takes_them(self):
        x = torch.tensor([1.0, 2.0])
        close(self, x.polygamma(1), [1.6449340668482264, 0.6449340668482264])
        y = torch.arange(6)
        self.assertEqual(y.narrow(0, torch.tensor(2), 3).tolist(), [2, 3, 4])
        with self.assertRaises(RuntimeError):
            y.narrow(0, torch.tensor([2]), 3)

    def test_products_of_many_matrices(self):
        a, b, c = torch.ones(2, 50), torch.ones(50, 3), torch.ones(3, 4)
        out = torch.empty(0)
        self.assertIs(torch.linalg.multi_dot([a, b, c], out=out), out)
        self.assertEqual(out.tolist(), [[150] * 4] * 2)
        self.assertEqual(torch.linalg.multi_dot([a[0], b, c[:, 0]]).item(), 150)
        with self.assertRaises(RuntimeError):
            torch.linalg.multi_dot([a])

    def test_gradient_of_softmax_takes_the_dtype(self):
        y = torch.softmax(torch.tensor([1.0, 2.0]), 0)
        grad = torch.tensor([1.0, 0.0])
        close(self, torch._softmax_backward_data(grad, y, 0, torch.float32), [0.19661193, -0.19661193])


class Out(unittest.TestCase):
    def test_dtype_of_out_where_it_must_be_the_results(self):
        x, wide, index = torch.ones(2, 2), torch.empty(2, 2, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.int64)
        for call in (
            lambda: torch.gather(x, 1, index, out=wide),
            lambda: torch.index_select(x, 0, index[0], out=wide),
            lambda: torch.mm(x, x, out=wide),
            lambda: torch.floor(x, out=wide),
            lambda: torch.softmax(x, 0, out=wide),
            lambda: torch.matmul(x, x, out=wide),
            lambda: torch.masked_select(x, x > 0, out=wide),
            lambda: torch.tril(x, out=wide),
            lambda: torch.complex(x, x, out=wide),
            lambda: torch.aminmax(x, dim=0, out=(torch.empty(2), wide[0])),
            lambda: torch.sort(x, out=(x.clone(), wide)),
            lambda: torch.multinomial(x, 1, out=wide),
            lambda: torch.nonzero(x, out=wide),
        ):
            with self.assertRaises(RuntimeError):
                call()
        for call in (
            lambda: torch.add(x, x, out=wide),
            lambda: torch.cat([x[:1], x[:1]], out=wide),
            lambda: torch.cumsum(x, 0, out=wide),
            lambda: torch.exp(x, out=wide),
        ):
            self.assertIs(call(), wide)
        self.assertEqual(torch.all(x, 0, out=torch.empty(2, dtype=torch.uint8)).tolist(), [1, 1])

    def test_memory_of_out_apart_from_the_inputs(self):
        x, index = torch.ones(3), torch.zeros(3, dtype=torch.int64)
        for call in (
            lambda: torch.gather(x, 0, index, out=x),
            lambda: torch.index_select(x, 0, index, out=x),
            lambda: torch.cat([x], out=x),
            lambda: torch.masked_select(x, x > 0, out=x),
            lambda: torch.take_along_dim(x, index, 0, out=x),
            lambda: torch.cumsum(x[:2], 0, out=x[1:]),
            lambda: torch.add(x[:2], 1, out=x[1:]),
            lambda: torch.index_select(torch.ones(3, 6), 1, index[:2], out=torch.empty(6).expand(2, 6)),
        ):
            with self.assertRaises(RuntimeError):
                call()
        self.assertEqual(torch.cumsum(x, 0, out=x).tolist(), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
