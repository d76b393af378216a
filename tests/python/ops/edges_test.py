"""Gradients at the edges of functions: saturated probabilities, NaN, zeros among factors, points without a derivative. Values are PyTorch's."""

import math
import unittest

import _cresset
import cresset.nn.functional as F

import cresset as torch
from cresset.autograd import forward_ad

nan, inf = math.nan, math.inf


def slope(function, *values):
    inputs = [torch.tensor(v, requires_grad=True) for v in values]
    gradients = torch.autograd.grad(function(*inputs).sum(), inputs)
    return [g.tolist() for g in gradients] if len(gradients) > 1 else gradients[0].tolist()


class Edges(unittest.TestCase):
    def same(self, got, expected):
        torch.testing.assert_close(torch.tensor(got), torch.tensor(expected), equal_nan=True)

    def test_cross_entropy_of_certain_probabilities(self):
        logit = torch.tensor([20.0, -40.0, 200.0, -200.0], requires_grad=True)
        F.binary_cross_entropy(logit.sigmoid(), torch.tensor([1.0, 1.0, 0.0, 1.0]), reduction="sum").backward()
        self.same(logit.grad.tolist(), [0.0, -4.248354e-06, 0.0, 0.0])
        p = torch.ones(3, 1, requires_grad=True)
        F.binary_cross_entropy(p, torch.tensor([[0.0], [1.0], [1.0]])).backward()
        self.same(p.grad.tolist(), [[3.3333333e11], [0.0], [0.0]])

    def test_cross_entropy_counts_weights_in_its_gradient(self):
        x, y, w = torch.tensor([0.25, 0.5], requires_grad=True), torch.tensor([1.0, 0.0]), torch.tensor([2.0, 3.0])
        F.binary_cross_entropy(x, y, w, reduction="none").sum().backward()
        self.same(x.grad.tolist(), [-8.0, 6.0])

    def test_cross_entropy_differentiates_twice(self):
        x = torch.tensor([0.2, 0.7], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(F.binary_cross_entropy, (x, y)))
        self.assertTrue(torch.autograd.gradgradcheck(F.binary_cross_entropy, (x, y)))

    def test_cross_entropy_of_a_column_and_a_vector_of_one_length(self):
        op = _cresset.make_op("binary_cross_entropy", ["binary_cross_entropy"])
        self.assertAlmostEqual(op(torch.tensor([[0.9], [0.1]]), torch.tensor([1.0, 0.0])).item(), 0.10536, places=4)

    def test_margins_pass_nothing_where_they_are_met_exactly(self):
        x = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
        self.same(slope(lambda x: F.multi_margin_loss(x, torch.tensor([0, 1]), reduction="none"), x), [[0, 0, 0], [1 / 3, -1 / 3, 0]])
        self.same(slope(lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, -1, -1], [1, 0, -1]])), x), [[0.0] * 3] * 2)

    def test_nan_takes_no_part_in_limits(self):
        for limit in (lambda x: x.clamp(-1, 1), lambda x: x.clamp_min(0), lambda x: x.clamp_max(0), F.hardtanh, F.relu6, F.hardshrink, F.softshrink):
            self.assertEqual(slope(limit, nan), 0)
        bound = torch.zeros(())
        self.assertEqual(slope(lambda x: torch.clamp(x, bound, bound + 1), nan), 0)
        self.assertEqual(slope(torch.clamp_min, nan, 0.0), [0, 0])
        self.assertEqual(slope(lambda x: x.clamp(-1, 1), [-1.0, 1.0, 2.0]), [1, 1, 0])

    def test_logit_at_and_beyond_its_ends(self):
        self.same(slope(torch.logit, [0.0, 1.0, -1.0, 0.5]), [inf, inf, nan, 4.0])
        self.same(slope(lambda x: torch.logit(x, 0.25), [0.0, 0.25, 0.5, 1.0]), [0.0, 16 / 3, 4.0, 0.0])

    def test_the_angle_of_nothing_has_no_slope(self):
        self.same(slope(torch.atan2, [0.0, 1.0], [0.0, 0.0]), [[0.0, 0.0], [0.0, -1.0]])

    def test_entropy_of_nan_and_negatives(self):
        self.same(slope(torch.special.entr, [0.0, 1.0, -1.0, nan]), [inf, -1.0, nan, nan])

    def test_elu_bends_below_zero_alone(self):
        x = torch.tensor([0.0, -1.0], requires_grad=True)
        (g,) = torch.autograd.grad(F.elu(x).sum(), x, create_graph=True)
        self.same(torch.autograd.grad(g.sum(), x)[0].tolist(), [0.0, 0.36787945])

    def test_a_negative_number_to_a_complex_power(self):
        z = torch.tensor([0.5 + 0.3j], requires_grad=True)
        torch.pow(torch.tensor([-1.7]), z).abs().sum().backward()
        torch.testing.assert_close(z.grad, torch.tensor([0.2696 - 1.5961j]), rtol=1e-3, atol=1e-3)

    def test_second_derivatives_of_products_with_zeros(self):
        index = torch.tensor([0, 0, 1])
        for zeros, expected in (([0.0, 0.0, 3.0], [1.0, 1.0, 0.0]), ([0.0, 2.0, 3.0], [1.0, 1.0, 0.0]), ([0.0, 0.0, 0.0], [1.0, 1.0, 0.0])):
            for reduce in (lambda s: torch.ones(2).index_reduce(0, index, s, "prod"), lambda s: torch.ones(2).scatter_reduce(0, index, s, "prod")):
                s = torch.tensor(zeros, requires_grad=True)
                (g,) = torch.autograd.grad(reduce(s).sum(), s, create_graph=True)
                self.assertEqual(torch.autograd.grad(g.sum(), s)[0].tolist(), expected)
        s = torch.tensor([0.0, 0.0, 3.0], requires_grad=True)
        for function, expected in ((torch.prod, [3.0, 3.0, 0.0]), (lambda s: s.cumprod(0).sum(), [4.0, 4.0, 0.0])):
            (g,) = torch.autograd.grad(function(s), s, create_graph=True)
            self.assertEqual(torch.autograd.grad(g.sum(), s)[0].tolist(), expected)

    def test_segments_with_nan(self):
        lengths = torch.tensor([1, 2])
        for reduce, initial, expected in (("prod", 2, [2.0, 6.0, nan]), ("max", 0, [1.0, 1.0, 0.0]), ("min", 2, [1.0, 1.0, 0.0]), ("sum", 0, [1.0, 1.0, 1.0])):
            with self.subTest(reduce=reduce):
                self.same(slope(lambda x: torch.segment_reduce(x, reduce, lengths=lengths, axis=0, initial=initial), [1.0, nan, 3.0]), expected)  # noqa: B023

    def test_samples_have_tangents_of_zero(self):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.full((2,), 0.5), torch.ones(2))
            for draw in (torch.bernoulli, torch.poisson, lambda x: torch.normal(x, 1.0), lambda x: torch.normal(0.0, x), torch.floor):
                self.assertEqual(forward_ad.unpack_dual(draw(x)).tangent.tolist(), [0, 0])

    def test_shortening_rows_leaves_the_tangent(self):
        with forward_ad.dual_level():
            w = forward_ad.make_dual(torch.full((2, 2), 9.0), torch.ones(2, 2))
            self.assertEqual(forward_ad.unpack_dual(F.embedding(torch.tensor([0]), w, max_norm=1.0)).tangent.tolist(), [[1, 1]])
            w = forward_ad.make_dual(torch.full((2, 2), 9.0), torch.ones(2, 2))
            torch.embedding_renorm_(w, torch.tensor([0]), 1.0, 2.0)
            self.assertEqual(forward_ad.unpack_dual(w).tangent.tolist(), [[1, 1], [1, 1]])

    def test_rrelu_in_place_outside_training(self):
        x = torch.tensor([-1.0, 2.0], requires_grad=True)
        F.rrelu(x.clone(), training=False, inplace=True).sum().backward()
        self.same(x.grad.tolist(), [0.22916667, 1.0])


class Lengths(unittest.TestCase):
    def test_ctc_refuses_broken_lengths(self):
        scores, targets, whole = torch.zeros(5, 1, 4).log_softmax(-1), torch.tensor([[1, 2]]), torch.tensor([2])
        for lengths in ((torch.tensor([5.0]), whole), (torch.tensor([5]), whole.float())):
            with self.assertRaisesRegex(RuntimeError, "must be integ"):
                F.ctc_loss(scores, targets, *lengths)

    def test_bags_of_numbers_out_of_range(self):
        for numbers in ([[-1]], [[3]]):
            with self.assertRaisesRegex(RuntimeError, "embedding_bag"):
                F.embedding_bag(torch.tensor(numbers), torch.ones(3, 2), padding_idx=0)

    def test_empty_bags_have_gradients(self):
        weight, scale = torch.ones(3, 4, requires_grad=True), torch.ones(0, requires_grad=True)
        F.embedding_bag(torch.zeros(0, dtype=torch.int64), weight, torch.tensor([0, 0]), mode="sum", per_sample_weights=scale).sum().backward()
        self.assertEqual((scale.grad.shape, weight.grad.sum().item()), ((0,), 0))


class NoChannels(unittest.TestCase):
    def test_parameters_of_a_convolution_without_channels_get_zeros(self):
        for dims in (1, 2, 3):
            conv = getattr(torch.nn, f"Conv{dims}d")(0, 3, 2)
            out = conv(torch.zeros(2, 0, *(5,) * dims))
            out.backward(torch.ones_like(out))
            self.assertEqual(conv.bias.grad.tolist(), [0, 0, 0])

    def test_a_weight_without_a_first_dimension(self):
        for dims in (1, 2, 3):
            size = (5,) * dims
            with self.assertRaisesRegex(RuntimeError, "at least 1 at dimension 0"):
                getattr(torch.nn, f"Conv{dims}d")(3, 0, 2)(torch.zeros(2, 3, *size))
            with self.assertRaisesRegex(RuntimeError, "at least 1 at dimension 0"):
                getattr(torch.nn, f"ConvTranspose{dims}d")(0, 3, 2)(torch.zeros(2, 0, *size))

    def test_margins_and_sizes_of_images_without_channels(self):
        for pad in (torch.nn.ReflectionPad1d(1), torch.nn.ReplicationPad1d(1)):
            with self.assertRaisesRegex(RuntimeError, "channels"):
                pad(torch.ones(2, 0, 10))
        with self.assertRaisesRegex(RuntimeError, "channels"):
            F.interpolate(torch.ones(2, 0, 4), scale_factor=2)

    def test_attention_over_no_examples(self):
        e = torch.zeros(0, 3, 4)
        for first in (True, False):
            for weights in (True, False):
                x = e if first else e.transpose(0, 1)
                out, _ = torch.nn.MultiheadAttention(4, 2, batch_first=first)(x, x, x, need_weights=weights)
                self.assertEqual(out.shape, x.shape)

    def test_adaptive_pools_of_no_channels(self):
        self.assertEqual(torch.nn.AdaptiveAvgPool1d(2)(torch.zeros(0, 5)).shape, (0, 2))
        self.assertEqual(torch.nn.AdaptiveMaxPool2d(2)(torch.zeros(0, 5, 5)).shape, (0, 2, 2))


if __name__ == "__main__":
    unittest.main()
