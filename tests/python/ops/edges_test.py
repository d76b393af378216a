"""Gradients at the edges of functions: saturated probabilities, NaN, zeros among factors, points without a derivative. Values are PyTorch's."""

import math
import unittest
import warnings

import _cresset
import cresset.nn.functional as F
import pytest

import cresset as torch
from cresset import nn
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

    def test_cross_entropy_differentiates_twice_at_certain_probabilities(self):
        p, y = torch.tensor([0.0, 0.5, 1.0], requires_grad=True), torch.tensor([1.0, 0.5, 0.0], requires_grad=True)
        by_p, by_y = torch.autograd.grad(F.binary_cross_entropy(p, y, reduction="sum"), (p, y), create_graph=True)
        self.same(torch.autograd.grad(by_y.sum(), p, retain_graph=True)[0].tolist(), [-1e12, -4.0, -1e12])
        self.same(torch.autograd.grad(by_p.sum(), y)[0].tolist(), [-1e12, -4.0, -1e12])

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


def long(values):
    return torch.tensor(values, dtype=torch.int64)


def expanded():
    return torch.rand(1).expand(6)


def test_writes_into_an_expanded_tensor_are_told_or_refused():
    where, mask = long([0, 1]), torch.ones(6, dtype=torch.bool)
    for fill in (lambda x: x.index_fill_(0, where, 1.0), lambda x: x.masked_fill_(mask, 0.0)):
        with pytest.warns(UserWarning, match="expanded"):
            fill(expanded())
    with pytest.warns(UserWarning, match="expanded"):
        assert expanded().masked_fill_(mask, torch.tensor(2.0)).tolist() == [2.0] * 6
    for write in (lambda x: x.__setitem__(slice(None), 0), lambda x: x.__setitem__(slice(0, 2), torch.ones(2)), lambda x: x.put_(where, torch.rand(2))):
        with pytest.raises(RuntimeError):
            write(expanded())
    one = expanded()
    one[0] = 5.0
    assert one.tolist() == [5.0] * 6


def test_writes_at_indices_that_share_the_memory_are_refused():
    where, values = long([0, 1, 2]), torch.rand(6)
    for write in (
        lambda: where.index_fill_(0, where, 0), lambda: where.put_(where, where), lambda: values.put_(long([0]), values[0]), lambda: values.put_(long(0), values[0]),
    ):  # fmt: skip
        before = where.tolist(), values.tolist()
        with pytest.raises(RuntimeError, match="shares no memory"):
            write()
        assert (where.tolist(), values.tolist()) == before


def test_errors_of_indices_out_of_range():
    for size, dim, kind in (((3,), 0, IndexError), ((2, 3), 0, IndexError), ((2, 3), 1, RuntimeError)):
        with pytest.raises(kind, match="out of bounds"):
            torch.zeros(size).index_select(dim, long([5]))
    for size, dim, kind in (((3,), 0, IndexError), ((2, 3), 0, RuntimeError), ((2, 3), 1, RuntimeError)):
        source = torch.ones([1 if d == dim else n for d, n in enumerate(size)])
        with pytest.raises(kind, match="out of bounds"):
            torch.zeros(size).index_add_(dim, long([5]), source)


def test_sums_of_many_slices_of_16_bits():
    # Where each sum were rounded to 16 bits, terms would vanish beside it.
    for dtype in (torch.bfloat16, torch.float16):
        source, where = torch.ones(3000, 2, dtype=dtype), torch.arange(3000) % 2
        for added in (
            torch.zeros(2, 2, dtype=dtype).index_add(0, where, source), torch.zeros(2, 2, dtype=dtype).index_add_(0, where, source * 2, alpha=0.5),
            torch.zeros(2, 2, dtype=dtype).index_add(1, where, source.mT).mT, torch.zeros(2, dtype=dtype).index_add(0, where, source[:, 0]).unsqueeze(1),
            torch.sparse_coo_tensor(where.unsqueeze(0), source, (2, 2)).to_dense(),
        ):  # fmt: skip
            assert added.dtype is dtype
            torch.testing.assert_close(added, torch.full_like(added, 1500.0))
        table = torch.zeros(100, 2, dtype=dtype).index_add(0, long([3, 3]), source[:2])
        assert table[3].tolist() == [2, 2]
        assert table.sum().item() == 4


def test_empty_vectors_join_along_any_dimension():
    empty = torch.empty(0, requires_grad=True)
    joined = torch.cat([empty, empty], 3)
    assert joined.shape == (0,)
    joined.sum().backward()
    assert empty.grad.shape == (0,)
    with pytest.raises(IndexError):
        torch.cat([empty, torch.ones(2)], 3)


def test_out_may_begin_to_require_a_gradient():
    for make in (torch.zeros, torch.empty, torch.rand):
        out = torch.empty(0)
        assert make(2, out=out, requires_grad=True) is out and out.requires_grad
    assert not torch.zeros(2, out=torch.empty(0)).requires_grad


def test_complex_bounds_need_a_complex_dtype():
    for make in (torch.linspace, torch.logspace):
        for options in ({"dtype": torch.float32}, {"dtype": torch.int32}, {"out": torch.empty(0)}):
            with pytest.raises(RuntimeError, match="complex"):
                make(1j, 2, 3, **options)
        assert make(1j, 2, 3).dtype == torch.complex64


def test_memory_formats_are_for_strided_tensors():
    sparse = torch.eye(2).to_sparse()
    for form in (torch.preserve_format, torch.contiguous_format, torch.channels_last):
        with pytest.raises(RuntimeError, match="strided"):
            torch.empty_like(sparse, memory_format=form)
    assert torch.empty_like(sparse).layout is torch.sparse_coo


def test_pools_without_elements_have_no_gradient():
    x = torch.rand(1, 2, 4, 4, requires_grad=True)
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        assert pool(x, 0).shape == (1, 2, 0, 0)
        with pytest.raises(RuntimeError, match="with elements"):
            pool(x, 0).sum().backward()


def test_bags_take_weights_of_the_tables_dtype_and_a_row_of_the_table():
    bag = nn.EmbeddingBag(5, 2, mode="sum")
    with pytest.raises(RuntimeError, match="float32 as the table, got float64"):
        bag(long([3, 1]), long([0]), torch.rand(2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="padding_idx"):
        F.embedding_bag(long([[1, 2]]), torch.rand(4, 3), padding_idx=-6)


def test_losses_of_a_number_are_refused():
    with pytest.raises(ValueError, match="at least 1 dimension"):
        F.nll_loss(torch.tensor(1.0), torch.tensor(1), reduction="none")


def test_storages_on_meta_have_no_elements_to_look_at():
    for size in ([], [0], [8]):
        with pytest.raises(NotImplementedError):
            torch.UntypedStorage(*size, device="meta")[0]


def test_the_storage_class_is_that_of_the_default_dtype():
    assert torch.Storage is torch.FloatStorage
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(torch.float32)


def test_dimensions_of_size_one_have_no_order():
    with pytest.raises(RuntimeError, match="dim_order"):
        torch.empty(1, 2, 3).dim_order(ambiguity_check=True)
    assert torch.empty(2, 3).t().dim_order(ambiguity_check=True) == (1, 0)


def test_sizes_of_nested_tensors_compare_by_component():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = (torch.nested.nested_tensor([torch.ones(n, 2), torch.ones(2, 2)]) for n in (1, 3))
    assert a.is_same_size(a) and not a.is_same_size(b) and not torch.ones(2).is_same_size(torch.ones(3))


def test_a_gradient_edge_of_one_element_begins_with_one():
    edge = torch.autograd.graph.get_gradient_edge
    x = torch.rand(2, requires_grad=True)
    assert torch.autograd.grad(edge((x * 2).sum()), (x,))[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="one element"):
        torch.autograd.grad(edge(x * 2), (x,))
    with pytest.raises(RuntimeError, match="shape"):
        torch.autograd.grad(edge(x * 2), (x,), grad_outputs=(torch.ones(3),))


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_elements_that_equal_the_chosen_one_share_its_gradient(name):
    nan = float("nan")
    for values, shares in (
        ([1.0, 1.0, 1.0], [1 / 3] * 3),
        ([nan, nan], [0.5, 0.5]),
        ([[1.0, nan], [1.0, nan]], [[0.5, 0.0], [0.5, 0.0]] if name == "nanmedian" else [[0.0, 0.5], [0.0, 0.5]]),
    ):
        x = torch.tensor(values, requires_grad=True)
        getattr(x, name)().backward()
        torch.testing.assert_close(x.grad, torch.tensor(shares))


def test_the_middle_of_several_equal_elements():
    for name in ("median", "nanmedian"):
        x = torch.tensor([5.0, 2.0, 2.0, 1.0, 9.0], requires_grad=True)
        y = getattr(x, name)()
        y.backward()
        assert y.item() == 2 and x.grad.tolist() == [0, 0.5, 0.5, 0, 0]
        batch = torch.func.vmap(getattr(torch, name))(torch.tensor([[1.0, 3.0, 2.0], [5.0, 4.0, 4.0]]))
        assert batch.tolist() == [2, 4]
        grads = torch.func.vmap(torch.func.grad(getattr(torch, name)))(torch.tensor([[1.0, 3.0, 2.0], [5.0, 4.0, 4.0]]))
        assert grads.tolist() == [[0, 0, 1], [0, 0.5, 0.5]]


def test_inference_tensors_count_no_versions():
    with torch.inference_mode():
        x = torch.ones(2)
    torch.autograd.graph.increment_version(x)


if __name__ == "__main__":
    unittest.main()
