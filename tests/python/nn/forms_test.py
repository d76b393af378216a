"""Forms of layers and functions that are one computation: modules beside functions, in-place beside plain, one dimension beside two, old names beside new."""

import inspect
import unittest
import warnings

import numpy as np

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


class Same(unittest.TestCase):
    def same(self, got, expected):
        np.testing.assert_allclose(got.numpy(), np.asarray(expected), rtol=2e-5, atol=2e-6)


class Padding(Same):
    LAYERS = {
        "wrap": (nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d),
        "reflect": (nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d),
        "edge": (nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d),
    }

    def test_layers_pad_as_numpy_does(self):
        for mode, layers in self.LAYERS.items():
            for dims, layer in enumerate(layers, 1):
                x = numbers(2, 3, *range(4, 4 + dims))
                widths = [(0, 0), (0, 0), *((1, 2),) * dims]
                with self.subTest(mode=mode, dims=dims):
                    self.same(layer((1, 2) * dims)(x), np.pad(x.numpy(), widths, mode=mode))
                    self.same(layer(1)(x), np.pad(x.numpy(), [(0, 0), (0, 0), *((1, 1),) * dims], mode=mode))

    def test_constants_and_zeros(self):
        layers = ((nn.ConstantPad1d, nn.ZeroPad1d), (nn.ConstantPad2d, nn.ZeroPad2d), (nn.ConstantPad3d, nn.ZeroPad3d))
        for dims, (constant, zero) in enumerate(layers, 1):
            x = numbers(2, 3, *range(4, 4 + dims))
            widths = [(0, 0), (0, 0), *((2, 1),) * dims]
            self.same(constant((2, 1) * dims, 3.5)(x), np.pad(x.numpy(), widths, constant_values=3.5))
            self.same(zero((2, 1) * dims)(x), np.pad(x.numpy(), widths))

    def test_a_negative_width_cuts(self):
        x = numbers(1, 2, 6)
        self.same(nn.ZeroPad1d((-1, -2))(x), x.numpy()[..., 1:-2])


class Activations(Same):
    def test_functions_have_their_formulas(self):
        x = numbers(50) * 3
        a = x.numpy().astype(np.float64)
        self.same(F.hardshrink(x, 0.7), np.where(abs(a) > 0.7, a, 0))
        self.same(F.softshrink(x, 0.7), np.sign(a) * np.maximum(abs(a) - 0.7, 0))
        self.same(F.tanhshrink(x), a - np.tanh(a))
        self.same(F.softsign(x), a / (1 + abs(a)))
        self.same(F.softplus(x, beta=2, threshold=5), np.where(2 * a > 5, a, np.log1p(np.exp(2 * a)) / 2))
        self.same(F.logsigmoid(x), -np.log1p(np.exp(-a)))

    def test_inplace_functions_change_their_input_and_return_it(self):
        for name, arguments in (
            ("celu_", (1.5,)),
            ("elu_", (1.5,)),
            ("hardtanh_", (-0.5, 0.5)),
            ("leaky_relu_", (0.1,)),
            ("selu_", ()),
            ("threshold_", (0.2, 7.0)),
        ):
            function = {"celu_": F.celu_, "elu_": F.elu_, "hardtanh_": F.hardtanh_, "leaky_relu_": F.leaky_relu_, "selu_": F.selu_, "threshold_": F.threshold_}[
                name
            ]
            x = numbers(20)
            expected = getattr(F, name[:-1])(x.clone(), *arguments)
            with self.subTest(name):
                self.assertIs(function(x, *arguments), x)
                self.same(x, expected.numpy())


class Pooling(Same):
    def test_one_dimension_is_a_row_of_two(self):
        x = numbers(2, 3, 12)
        plane = x.unsqueeze(2)
        self.same(F.max_pool1d(x, 3, 2), F.max_pool2d(plane, (1, 3), (1, 2)).squeeze(2).numpy())
        self.same(F.avg_pool1d(x, 3, 2), F.avg_pool2d(plane, (1, 3), (1, 2)).squeeze(2).numpy())
        self.same(F.adaptive_avg_pool1d(x, 5), F.adaptive_avg_pool2d(plane, (1, 5)).squeeze(2).numpy())
        self.same(F.adaptive_max_pool1d(x, 5), F.adaptive_max_pool2d(plane, (1, 5)).squeeze(2).numpy())

    def test_indices_name_the_largest_values(self):
        for dims, (plain, indexed) in enumerate(((F.max_pool1d, F.max_pool1d_with_indices), (F.max_pool2d, F.max_pool2d_with_indices),
                                                 (F.max_pool3d, F.max_pool3d_with_indices)), 1):  # fmt: skip
            x = numbers(2, 2, *(6,) * dims)
            values, indices = indexed(x, 2)
            self.same(values, plain(x, 2).numpy())
            self.same(x.flatten(2).gather(2, indices.flatten(2)), values.flatten(2).numpy())

    def test_adaptive_maximum_in_three_dimensions(self):
        x = numbers(1, 2, 4, 4, 4)
        self.same(F.adaptive_max_pool3d(x, 2), F.max_pool3d(x, 2).numpy())

    def test_power_averages(self):
        for dims, function in enumerate((F.lp_pool1d, F.lp_pool2d, F.lp_pool3d), 1):
            x = numbers(1, 2, *(4,) * dims).abs()
            blocks = x
            for d in range(dims):
                blocks = blocks.unfold(2 + d, 2, 2)
            self.same(function(x, 3.0, 2), (blocks.flatten(2 + dims) ** 3).sum(-1).numpy() ** (1 / 3))

    def test_fractional_windows_take_a_number_or_one_for_each_dimension(self):
        for n, function in ((2, F.fractional_max_pool2d), (3, F.fractional_max_pool3d)):
            x = torch.ones(1, 2, *(7,) * n)
            for wrong in ((), (2,), (2,) * (n + 2)):
                with self.assertRaisesRegex(RuntimeError, "kernel_size"):
                    function(x, wrong, 3)
                with self.assertRaisesRegex(RuntimeError, "output_size"):
                    function(x, 2, wrong)
            self.assertEqual(function(x, (2,) * n, (3,) * n).shape, function(x, 2, 3).shape)

    def test_fractional_windows_hold_what_they_return(self):
        for dims, function in ((2, F.fractional_max_pool2d_with_indices), (3, F.fractional_max_pool3d_with_indices)):
            x = numbers(1, 2, *(8,) * dims)
            values, indices = function(x, 2, output_size=(4,) * dims)
            self.assertEqual(tuple(values.shape), (1, 2, *(4,) * dims))
            self.same(x.flatten(2).gather(2, indices.flatten(2)), values.flatten(2).numpy())


class Others(Same):
    def test_distances_and_products(self):
        a, b = numbers(5, 7), numbers(5, 7) + 1
        x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
        self.same(F.cosine_similarity(a, b), (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1))
        self.same(F.pairwise_distance(a, b, eps=0), np.linalg.norm(x - y, axis=1))
        weight, bias = numbers(3, 7, 7), numbers(3)
        self.same(F.bilinear(a, b, weight, bias), np.einsum("ni,kij,nj->nk", x, weight.numpy(), y) + bias.numpy())
        self.same(F.rms_norm(a, (7,), eps=1e-6), x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6))

    def test_a_transposed_convolution_is_the_gradient_of_a_convolution(self):
        weight, g = numbers(2, 3, 2, 2, 2), numbers(1, 2, 2, 2, 2)
        x = torch.zeros(1, 3, 4, 4, 4, requires_grad=True)
        F.conv3d(x, weight, stride=2).backward(g)
        self.same(F.conv_transpose3d(g, weight, stride=2), x.grad.numpy())

    def test_channels_are_shuffled_in_groups(self):
        x = torch.arange(6.0).reshape(1, 6, 1, 1)
        self.assertEqual(F.native_channel_shuffle(x, 2).flatten().tolist(), [0, 3, 1, 4, 2, 5])

    def test_old_names_of_interpolation(self):
        x = numbers(1, 2, 3, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.same(F.upsample(x, scale_factor=2), F.interpolate(x, scale_factor=2).numpy())
            self.same(F.upsample_nearest(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="nearest").numpy())
            self.same(F.upsample_bilinear(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True).numpy())

    def test_old_names_of_initialisers_warn_and_do_the_same(self):
        pairs = ((nn.init.kaiming_normal, nn.init.kaiming_normal_), (nn.init.kaiming_uniform, nn.init.kaiming_uniform_), (nn.init.xavier_normal, nn.init.xavier_normal_),
                 (nn.init.xavier_uniform, nn.init.xavier_uniform_), (nn.init.dirac, nn.init.dirac_))  # fmt: skip
        for old, new in pairs:
            results = []
            for function in (old, new):
                torch.manual_seed(3)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    results.append(function(torch.empty(4, 4, 3)))
                self.assertEqual([w.category for w in said], [FutureWarning] if function is old else [], function)
            self.same(results[0], results[1].numpy())

    def test_the_old_name_of_clipping_warns_and_clips(self):
        weight = nn.Parameter(torch.ones(4))
        weight.grad = torch.full((4,), 3.0)
        with self.assertWarns(FutureWarning):
            self.assertAlmostEqual(nn.utils.clip_grad_norm([weight], 1.0).item(), 6.0, places=5)
        self.assertAlmostEqual(weight.grad.norm().item(), 1.0, places=4)

    def test_the_old_container_warns_and_holds_what_it_is_given(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            box = nn.Container(first=nn.Linear(1, 1))
        self.assertEqual(len(said), 1)
        self.assertEqual([name for name, _ in box.named_children()], ["first"])

    def test_a_packed_sequence_is_a_tuple_of_its_parts(self):
        packed = nn.utils.rnn.pack_sequence([torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0])])
        again = nn.utils.rnn.PackedSequence(packed.data, packed.batch_sizes)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(again, batch_first=True)
        self.assertEqual((padded.tolist(), lengths.tolist()), ([[1, 2, 3], [4, 0, 0]], [3, 1]))

    def test_a_parametrization_list_holds_the_original_and_the_steps(self):
        steps = nn.utils.parametrize.ParametrizationList([nn.Softplus(), nn.Identity()], nn.Parameter(torch.zeros(2)), unsafe=True)
        self.same(steps().detach(), np.full(2, np.log(2)))
        self.same(steps.original.detach(), np.zeros(2))

    def test_refused_kernels_of_attention_warn_on_request(self):
        from cresset.nn import attention

        x = torch.ones(1, 1, 2, 4)
        self.addCleanup(setattr, attention, "WARN_FOR_UNFUSED_KERNELS", attention.WARN_FOR_UNFUSED_KERNELS)
        attention.WARN_FOR_UNFUSED_KERNELS = True
        with attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION), self.assertWarns(UserWarning), self.assertRaises(RuntimeError):
            F.scaled_dot_product_attention(x, x, x)

    def test_products_are_never_ignored_by_selective_checkpoints(self):
        from cresset.utils import checkpoint

        self.assertNotIn(torch.ops.aten.mm.default, set(checkpoint.SAC_IGNORED_OPS))
        self.assertTrue(issubclass(checkpoint.CheckpointFunction, torch.autograd.Function))

    def test_abstract_bases(self):
        self.assertTrue(issubclass(nn.utils.prune.L1Unstructured, nn.utils.prune.BasePruningMethod))
        self.assertTrue(issubclass(torch.distributions.transforms.ExpTransform, torch.distributions.Transform))
        self.assertTrue(inspect.isabstract(nn.utils.prune.BasePruningMethod))


if __name__ == "__main__":
    unittest.main()
