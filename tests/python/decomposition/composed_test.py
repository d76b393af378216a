"""Operators of PyTorch's table that are made of others: names, schemas and values, against PyTorch where it is installed."""

import importlib.util
import math
import unittest

import numpy as np
from cresset._decomp import core_aten_decompositions, decomposition_table
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

HAS_TORCH = importlib.util.find_spec("torch") is not None
aten = torch.ops.aten
rng = np.random.default_rng(5)
X, Y = rng.standard_normal((4, 6)).astype("float32"), rng.standard_normal((4, 6)).astype("float32")
Z, SQUARE = rng.uniform(0.1, 0.9, (4, 6)).astype("float32"), (rng.standard_normal((3, 3)) / 3).astype("float32")
IMAGE, CLASSES = rng.standard_normal((2, 3, 2, 2)).astype("float32"), np.array([[[0, 2], [1, 1]], [[2, -100], [0, 1]]])
WEIGHT, BIAS = rng.standard_normal((12, 6)).astype("float32"), rng.standard_normal(12).astype("float32")
PLACES, LABELS = rng.integers(0, 6, (4, 6)), np.array([[1, 2, -1, 0, 0, 0], [0, -1, 0, 0, 0, 0], [5, 4, 3, 2, 1, 0], [-1, 3, 0, 0, 0, 0]])
MEAN, RSTD = X.mean(0), 1 / np.sqrt(X.var(0) + 1e-5)
# Calls that PyTorch computes on the CPU, too. Lists of arrays are lists of tensors.
CALLS = {
    "absolute": (X,), "arctan2": (X, Y), "clip": (X, -0.5, 0.5), "concatenate": ([X, Y], 1), "divide.Tensor": (X, Y), "fix": (X,), "ger": (X[0], Y[0]),
    "greater_equal.Scalar": (X, 0.1), "linalg_matmul": (X, Y.T), "linalg_matrix_power": (SQUARE, 3), "subtract.Tensor": (X, Y), "special_xlogy.self_scalar": (2.0, Z),
    "special_softmax": (X, 1), "special_log_softmax": (X, 0), "special_logsumexp": (X, [1]), "special_round": (X,), "special_polygamma": (1, Z),
    "row_stack": ([X, Y],), "negative": (X,), "true_divide.Scalar": (X, 3), "special_expit": (X,),
    "trace_backward": (np.float32(2), [2, 3]), "index_select_backward": (X, [6, 6], 0, np.array([5, 1, 1, 0])), "gather_backward": (X, Y, 1, PLACES, False),
    "value_selecting_reduction_backward": (X[0], 0, PLACES[0] % 4, [4, 6], False), "masked_select_backward": (X[X > 0], X, X > 0),
    "cummaxmin_backward": (X, Y, PLACES, 1), "cumprod_backward": (X, Y, 1, Y.cumprod(1)), "matrix_exp_backward": (SQUARE, SQUARE.T.copy()),
    "infinitely_differentiable_gelu_backward": (X, Y), "affine_grid_generator_backward": (IMAGE.transpose(0, 2, 3, 1)[..., :2].copy(), [2, 3, 2, 2], False),
    "conv_tbc_backward": (rng.standard_normal((5, 2, 4)).astype("float32"), rng.standard_normal((5, 2, 3)).astype("float32"),
                          rng.standard_normal((3, 3, 4)).astype("float32"), BIAS[:4], 1),
    "mse_loss_backward": (np.float32(2), X, Y, 1), "soft_margin_loss_backward": (X, Y, Z, 0), "logit_backward": (X, Z, 0.3), "glu_backward": (X[:, :3], Y, 1),
    "unfold_backward": (rng.standard_normal((4, 3, 2)).astype("float32"), [4, 6], 1, 2, 2), "multilabel_margin_loss_forward": (X, LABELS, 1),
    "nll_loss2d_forward": (IMAGE, CLASSES, None, 1, -100), "nll_loss2d_backward": (np.float32(1.5), IMAGE, CLASSES, None, 1, -100, np.float32(7)),
    "thnn_conv2d": (IMAGE, rng.standard_normal((4, 3, 2, 2)).astype("float32"), [2, 2], BIAS[:4], [1, 1], [1, 1]),
    "slow_conv3d": (IMAGE[None], rng.standard_normal((4, 2, 2, 1, 1)).astype("float32"), [2, 1, 1]), "norm_except_dim": (X, 2, 1), "vander": (X[0], 3),
    "pad_sequence": ([X, Y[:2]], True, 7.0), "flatten_dense_tensors": ([X, SQUARE],), "unflatten_dense_tensors": (np.arange(33, dtype="float32"), [X, SQUARE]),
    "nonzero_numpy": (X > 0,), "resize_as": (X, SQUARE), "zero": (X,), "linalg_matrix_exp": (SQUARE,), "to_mkldnn_backward": (X, Y), "data": (X,),
    "is_complex": (X,), "is_signed": (PLACES,), "size.int": (X, 1), "stride.int": (X, 0), "get_device": (X,), "output_nr": (X,), "cudnn_is_acceptable": (X,),
    "is_distributed": (X,), "is_leaf": (X,), "sym_size.int": (X, -1), "fake_quantize_per_tensor_affine": (X, 0.3, 1, -3, 3),
    "fake_quantize_per_channel_affine": (X, np.full(6, 0.3, "float32"), np.arange(6, dtype="int32"), 1, -3, 7), "fbgemm_linear_quantize_weight": (WEIGHT,),
    "choose_qparams_optimized": (X, 24, 200, 0.16, 4), "add.int": (2, 3), "add.int_float": (2, 0.5), "div.int": (1, 0), "floordiv.int": (-7, 2),
    "log.int": (0,), "sqrt.float": (-1.0,), "eq.str": ("a", "b"), "floor.float": (-1.5,), "round.float": (2.5,), "remainder.int": (-7, 3),
}  # fmt: skip


def given(library, value):
    if isinstance(value, (np.ndarray, np.generic)):
        return library.from_numpy(np.array(value))
    return [given(library, v) for v in value] if isinstance(value, list) and value and isinstance(value[0], np.ndarray) else value


def call(library, name, arguments):
    operator, _, overload = name.partition(".")
    return getattr(getattr(library.ops.aten, operator), overload or "default")(*(given(library, a) for a in arguments))


def shown(value):
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    return value.detach().numpy() if hasattr(value, "detach") else value


def same(one, other, name):
    if isinstance(one, list):
        assert len(one) == len(other), (name, one, other)
        for a, b in zip(one, other, strict=True):
            same(a, b, name)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, (name, one.dtype, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5, err_msg=name)
    else:
        assert type(one) is type(other), (name, one, other)
        assert one == other or (one != one and other != other) or math.isclose(one, other, rel_tol=1e-6), (name, one, other)


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class BesidePyTorch(unittest.TestCase):
    def test_values(self):
        import torch as peer

        for name, arguments in CALLS.items():
            with self.subTest(name):
                same(shown(call(torch, name, arguments)), shown(call(peer, name, arguments)), name)

    def test_schemas(self):
        import torch as peer

        for name in [*CALLS, "add.t", "add.default", "absolute.out", "clip.Tensor_out", "swapaxes_", "multiply_.Scalar", "special_xlogy.other_scalar_out"]:
            operator, _, overload = name.partition(".")
            ours, theirs = (getattr(getattr(library.ops.aten, operator), overload or "default")._schema for library in (torch, peer))
            self.assertEqual(str(ours).replace("SymInt", "int"), str(theirs).replace("SymInt", "int"))

    def test_the_core_table_has_pytorchs_names(self):
        from torch._decomp import core_aten_decompositions as theirs

        def names(table):
            return {str(op).split(".")[1] for op in table if str(op).startswith("aten.")}

        ours, peers = names(core_aten_decompositions()), names(theirs())
        public = lambda found: sorted(name for name in found if not name.startswith("_"))  # noqa: E731
        self.assertEqual((public(peers - ours), public(ours - peers)), ([], []))

    def test_quantised_layers_and_cells(self):
        import torch as peer

        found = []
        for library in (torch, peer):
            ops, x, bias = library.ops.aten, given(library, X), given(library, BIAS)
            values, offsets, scale, zero = ops.fbgemm_linear_quantize_weight(given(library, WEIGHT))
            of_state, h = weights_of(library, WEIGHT[:, :3].copy()), given(library, Y[:, :3].copy())
            square, wide = weights_of(library, (WEIGHT @ WEIGHT.T).astype("float32")), given(library, np.tanh(X @ WEIGHT.T).astype("float32"))
            found.append([
                ops.fbgemm_linear_int8_weight(x, values, ops.fbgemm_pack_quantized_matrix(values), offsets, scale, zero, bias),
                ops.fbgemm_linear_fp16_weight(x, ops.fbgemm_pack_gemm_matrix_fp16(given(library, WEIGHT)), bias),
                *ops.quantized_lstm_cell(x, [h, h], *of_state), ops.quantized_gru_cell(x, given(library, Y[:, :4].copy()), *weights_of(library, WEIGHT[:, :4].copy())),
                ops.quantized_rnn_tanh_cell(x, wide, *square), ops.quantized_rnn_relu_cell(x, wide, *square),
            ])  # fmt: skip
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=1e-3)


def weights_of(library, of_state):
    """The arguments of a quantised cell behind its states: WEIGHT for the input, and a weight for the state."""
    ops, bias = library.ops.aten, given(library, BIAS)
    (a, a_offsets, a_scale, a_zero), (b, b_offsets, b_scale, b_zero) = (ops.fbgemm_linear_quantize_weight(given(library, w)) for w in (WEIGHT, of_state))
    return [a, b, bias, bias, *map(ops.fbgemm_pack_quantized_matrix, (a, b)), a_offsets, b_offsets, a_scale, b_scale, a_zero, b_zero]


class Composed(unittest.TestCase):
    def test_modes_see_what_they_are_made_of(self):
        x = torch.from_numpy(X)
        with Log() as log:
            aten.absolute(x)
            aten.linalg_matmul.default(x, x.t())
            aten.trace_backward.default(x[0, 0], [2, 2])
        self.assertEqual(log.names[:3], ["aten.abs.default", "aten.t.default", "aten.mm.default"])
        self.assertNotIn("aten.trace_backward.default", log.names)

    def test_gradients_pass_a_grid_between_its_ends_alone(self):
        x = torch.tensor([-9.0, 0.26, 9.0], requires_grad=True)
        out = aten.fake_quantize_per_tensor_affine.default(x, 0.1, 0, -8, 7)
        out.sum().backward()
        self.assertTrue(torch.allclose(out, torch.tensor([-0.8, 0.3, 0.7])))
        self.assertEqual(x.grad.tolist(), [0, 1, 0])

    def test_mistakes_are_named(self):
        x = torch.from_numpy(X)
        with self.assertRaisesRegex(NotImplementedError, "cuDNN, got cpu"):
            aten.cudnn_batch_norm.default(x, x[0], x[0], None, None, True, 0.1, 1e-5)
        with self.assertRaisesRegex(RuntimeError, "add.int.*got str, int"):
            aten.add.int("a", 1)
        with self.assertRaisesRegex(RuntimeError, "quant_min to be at most quant_max, got 3 and -3"):
            aten.fake_quantize_per_tensor_affine.default(x, 0.1, 0, 3, -3)
        with self.assertRaisesRegex(RuntimeError, "the kernel size"):
            aten.thnn_conv2d.default(torch.from_numpy(IMAGE), torch.ones(4, 3, 2, 2), [3, 3])

    def test_batch_norms_of_other_devices_are_decomposed(self):
        x, grad = torch.from_numpy(X), torch.from_numpy(Y)
        weight, bias, mean, rstd = torch.ones(6), torch.zeros(6), torch.from_numpy(MEAN), torch.from_numpy(RSTD)
        out, saved, *_ = decomposition_table[aten.cudnn_batch_norm.default](x, weight, bias, None, None, True, 0.1, 1e-5)
        self.assertTrue(torch.allclose(out, (x - mean) * rstd, atol=1e-5) and torch.allclose(saved, mean, atol=1e-6))
        expected = aten.native_batch_norm_backward.default(grad, x, weight, None, None, mean, rstd, True, 1e-5, [True] * 3)
        for name, more in (("cudnn_batch_norm_backward", [x]), ("miopen_batch_norm_backward", [])):
            found = decomposition_table[getattr(aten, name).default](x, grad, weight, None, None, mean, rstd, 1e-5, *more)
            self.assertTrue(all(map(torch.equal, found, expected)), name)

    def test_numbers_of_packets(self):
        self.assertEqual((aten.floordiv(-7, 2), aten.sqrt(4), aten.add("a", "b"), aten.neg(3)), (-4, 2.0, "ab", -3))
        self.assertEqual(aten.add.overloads()[:8], ["Tensor", "Scalar", "out", "Scalar_out", "t", "str", "int", "complex"])
        self.assertEqual(aten.mul.int_complex(2, 1j), 2j)
        self.assertEqual((aten.div.int(1, 0), aten.log.float(0.0)), (math.inf, -math.inf))


if __name__ == "__main__":
    unittest.main()
