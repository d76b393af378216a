"""Decompositions compute what their operators compute, and tables hold them by overload."""

import math
import unittest

from cresset._decomp import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
    remove_decompositions,
)
from cresset._decomp.decompositions import FORMULAS
from cresset.utils._pytree import tree_leaves

import cresset as torch

aten = torch.ops.aten
torch.manual_seed(3)
X, Y, Z = torch.randn(4, 6), torch.randn(4, 6), torch.rand(4, 6) * 0.8 + 0.1
T, I = torch.tensor([0, 5, 2, 3]), torch.tensor([2, 0, 2])
S = X.softmax(1)
B = torch.randn(2, 4, 3)
MASK = [True, True, True]
INFINITE = torch.tensor([1.0, math.inf, -math.inf, math.nan])


PADS = [1, 2, 2, 1, 1, 0]


def batch(n):
    """A batch of n dimensions and channels."""
    return B.reshape([1] * (n - 1) + [2, 4, 3])


FACTORS = [1.5, 2.0, 2.4]


def grown(n):
    """The n sizes by their factors."""
    return [int(size * factor) for size, factor in zip(batch(n).shape[2:], FACTORS)]


def padded(n):
    """Its shape when the n dimensions are padded."""
    return [1] * (n - 1) + [2, 4, 6] if n == 1 else [1] * (n - 1) + ([2, 7, 6] if n == 2 else [3, 7, 6])


SAMPLES = {
    "silu": [(X,)], "silu_backward": [(X, Y)], "gelu": [(X,), (X, {"approximate": "tanh"})], "gelu_backward": [(X, Y), (X, Y, {"approximate": "tanh"})],
    "hardswish": [(X * 4,)], "hardswish_backward": [(X, Y * 4)], "hardsigmoid": [(X * 4,)], "hardsigmoid_backward": [(X, Y * 4)],
    "hardtanh_backward": [(X, Y, -1, 1)], "leaky_relu": [(X,), (X, 0.3)], "leaky_relu_backward": [(X, Y, 0.3, False)], "elu": [(X,), (X, 2, 1.5, 0.5)],
    "elu_backward": [(X, 2, 1.5, 0.5, False, Y), (X, 2, 1.5, 0.5, True, Y)], "softplus": [(X * 30,), (X, 2, 1)], "softplus_backward": [(X, Y * 9, 2, 5)],
    "mish": [(X,)], "log_sigmoid_backward": [(X, Y, torch.empty(0))], "hardshrink": [(X,)], "softshrink": [(X,)], "threshold": [(X, 0.1, 9)],
    "threshold_backward": [(X, Y, 0)], "sigmoid_backward": [(X, Z)], "tanh_backward": [(X, Z)], "glu": [(X,), (X, 0)], "_softmax": [(X, 1, False)],
    "_log_softmax": [(X, 0, False)], "_softmax_backward_data": [(X, S, 1, torch.float32)], "_log_softmax_backward_data": [(X, S.log(), 1, torch.float32)],
    "native_layer_norm": [(X, [6], Y[0], Y[1], 1e-5), (X, [4, 6], None, None, 1e-5)],
    "native_layer_norm_backward": [(X, Y, [6], Y.mean(1, keepdim=True), (Y.var(1, correction=0, keepdim=True) + 1e-5).rsqrt(), X[0], X[1], MASK)],
    "native_group_norm_backward": [(B, B + 1, B[:, :2, 0], B[:, :2, 1].abs(), torch.randn(4), 2, 4, 3, 2, MASK)],
    "native_batch_norm_backward": [
        (B, B * 2, Z[0, :4], Z[1, :4], Z[2, :4], (B * 2).mean((0, 2)), ((B * 2).var((0, 2), correction=0) + 1e-5).rsqrt(), True, 1e-5, MASK),
        (B, B * 2, Z[0, :4], Z[1, :4], Z[2, :4], Z[0, :4], Z[1, :4], False, 1e-5, MASK),
    ],
    "nll_loss_forward": [(X, T, None, 1, -100), (X, T, Z[0], 1, 5), (X, T, Z[0], 2, -100), (X, T, None, 0, 3)],
    "nll_loss_backward": [(torch.tensor(2.0), X, T, Z[0], 1, 5, torch.tensor(3.0)), (X[:, 0], X, T, None, 0, -100, torch.tensor(0.0))],
    "addcdiv": [(X, Y, Z), (X, Y, Z, {"value": 3})], "addcmul": [(X, Y, Z), (X, Y, Z, {"value": 3})],
    "addmm": [(X[0, :4], X, Y.t()), (X[0, :4], X, Y.t(), {"beta": 2, "alpha": 3})], "baddbmm": [(torch.ones(2, 4, 4), B, B.mT, {"alpha": 2})],
    "addmv": [(X[:, 0], Y, X[0], {"beta": 2})], "mv": [(X, Y[0])], "dot": [(X[0], Y[0])], "lerp.Scalar": [(X, Y, 0.3)], "lerp.Tensor": [(X, Y, Z)],
    "rsub.Tensor": [(X, Y), (X, Y, {"alpha": 2})], "rsub.Scalar": [(X, 2), (X, 2, 3)], "frac": [(X * 5,)],
    "logaddexp": [(X, Y), (torch.tensor([math.inf, -math.inf]), torch.tensor([math.inf, -math.inf]))], "logaddexp2": [(X, Y)],
    "logit": [(Z,), (Z, 0.3)], "xlogy.Tensor": [(X * 0, Z), (X, Z)], "xlogy.Scalar_Self": [(0, Z), (2, Z)], "xlogy.Scalar_Other": [(X, 3)],
    "sgn": [(X,), (torch.complex(X, Y) * torch.tensor([0, 1, 1, 1, 1, 1]),)], "heaviside": [(torch.tensor([-1.0, 0.0, 2.0]), X[0, :3])],
    "clamp_min": [(X, 0.2)], "clamp_min.Tensor": [(X, Y)], "clamp_max": [(X, 0.2)], "clamp_max.Tensor": [(X, Y)],
    "std.correction": [(X, [1], {"correction": 1}), (X, None, {"correction": 0, "keepdim": True})],
    "ones_like": [(X,), (X, {"dtype": torch.int64})], "zeros_like": [(X,)], "new_ones": [(X, [2, 3])], "new_zeros": [(X, [2], {"dtype": torch.int32})],
    "new_full": [(X, [2], 7)],
    "sum": [(X,), (X.int(), {"dtype": torch.float64})], "nansum": [(torch.where(X > 0, math.nan, X),), (X, [1], True)],
    "nan_to_num": [(torch.tensor([math.nan, math.inf, -math.inf, 1.0]),), (torch.tensor([math.nan, math.inf, -math.inf]), 1.0, 2.0, 3.0)],
    "masked_fill.Scalar": [(X, X > 0, 3)], "tril": [(X,), (X, 1)], "triu": [(X,), (X, -1)], "t": [(X,)], "transpose.int": [(B, 0, -1)],
    "take": [(X, I)], "squeeze": [(X[None, :, None],)], "squeeze.dim": [(X[None], 0), (X, 0)], "roll": [(X, [1], [1]), (X, [2, -1], [0, 1]), (X, [3])],
    "select_scatter": [(X, Y[:, 0], 1, -2)], "floor_divide": [(X, Z)], "floor_divide.Scalar": [(X, 0.3)], "mish_backward": [(X, Y)], "log_sigmoid": [(X * 9,)],
    "isfinite": [(INFINITE,), (I,)], "isposinf": [(INFINITE,), (I,)], "isneginf": [(INFINITE,), (I,)], "special_entr": [(Z,), (INFINITE,), (X * 0,)],
    "special_ndtr": [(X * 3,)], "special_log_ndtr": [(X * 5,)], "special_xlog1py": [(X * 0, Z), (X, Z)], "special_xlog1py.self_scalar": [(2, Z)],
    "special_xlog1py.other_scalar": [(X, 3)], "matrix_exp": [(X[:, :4] / 3,)], "multilabel_margin_loss": [(X, torch.tensor([[2, 0, -1, 1, 1, 1]] * 4))],
    **{name: [(batch(n), PADS[: 2 * n])] for n in (1, 2, 3) for name in (f"reflection_pad{n}d", f"replication_pad{n}d")},
    **{f"reflection_pad{n}d_backward": [(torch.randn(padded(n)), batch(n), PADS[: 2 * n])] for n in (1, 2, 3)},
    "select_backward": [(X, [4, 3, 6], 1, -1)], "slice_backward": [(X, [9, 6], 0, 1, 9, 2)], "diagonal_backward": [(X[0], [6, 7], 1, 0, 1)],
    "unfold_backward": [(torch.randn(4, 5, 2), [4, 6], 1, 2, 1), (torch.randn(3, 2), [6], 0, 2, 2)], "zero": [(X,)], "resize_as": [(X, B)],
    "mse_loss_backward": [(X, Y, Z, 0), (torch.tensor(2.0), Y, Z, 1)], "soft_margin_loss_backward": [(X, Y, Z, 0), (torch.tensor(2.0), Y, Z, 1)],
    "binary_cross_entropy": [(X.sigmoid(), Y.sigmoid()), (X.sigmoid(), Y.sigmoid(), Y, 2), (X.sigmoid().round(), Y.sigmoid(), None, 0)],
    "binary_cross_entropy_backward": [(X, Z, S), (torch.tensor(2.0), Z, S, Y, 1), (X, Z, S, None, 0)], "logit_backward": [(X, Z), (X, Z, 0.3)],
    "multilabel_margin_loss_forward": [(X, torch.tensor([[2, 0, -1, 1, 1, 1]] * 4), 1)],
    "nll_loss2d_forward": [(torch.randn(2, 3, 1, 2), I[:2].view(1, 1, 2).expand(2, 1, 2), None, 1, -100)],
    "nll_loss2d_backward": [(torch.tensor(2.0), torch.randn(2, 3, 1, 2), I[:2].view(1, 1, 2).expand(2, 1, 2), None, 1, 0, torch.tensor(2.0))],
    **{f"upsample_nearest{n}d": [(batch(n), [5, 7, 4][:n]), (batch(n), grown(n), *FACTORS[:n])] for n in (1, 2, 3)},
    **{f"upsample_nearest{n}d.vec": [(batch(n), [5, 7, 4][:n], None), (batch(n), None, [1.5, 2.0, 2.0][:n])] for n in (1, 3)},
    **{name: [(batch(n), [5, 7, 4][:n], corners) for corners in (True, False)] + [(batch(n), grown(n), False, *FACTORS[:n])]
       for n, name in enumerate(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), 1)}, "hardtanh": [(X,), (X, -0.3, 0.2)],
    "upsample_linear1d.vec": [(batch(1), [5], True, None), (batch(1), None, False, [1.5])],
    "upsample_bicubic2d.vec": [(B[None], [5, 5], True, None), (B[None], None, False, [2.0, 1.5])],
    "upsample_trilinear3d.vec": [(B[None, None], [3, 5, 5], True, None)],
    "unbind.int": [(X, 1)], "index_add": [(X, 1, I, torch.ones(4, 3)), (X, -2, I, torch.ones(3, 6), {"alpha": 2})],
    "index_copy": [(X, 1, torch.tensor([2, 0]), torch.ones(4, 2))], "embedding_dense_backward": [(torch.randn(3, 6), I, 5, -1, False), (torch.randn(3, 6), I, 5, 0, True)],
}  # fmt: skip


def overload_of(name):
    base, _, kind = name.partition(".")
    return getattr(getattr(aten, base), kind or "default")


class Values(unittest.TestCase):
    def same(self, name, got, expected, **tolerance):
        for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
            if isinstance(b, torch.Tensor) and isinstance(a, torch.Tensor):
                self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype), name)
                self.assertTrue(torch.allclose(a, b, equal_nan=True, **tolerance), f"{name}: {a} is not {b}")

    def test_formulas_compute_what_their_operators_do(self):
        for name, samples in SAMPLES.items():
            for sample in samples:
                args, kwargs = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
                overload = overload_of(name)  # whose row may go without PyTorch's last arguments
                self.same(name, FORMULAS[name](*args, **kwargs), overload(*args[: len(overload._schema.arguments)], **kwargs), atol=1e-5)

    def test_every_formula_of_an_operator_that_is_there_has_samples(self):
        there = {name for name in FORMULAS if name.partition(".")[0] in aten._entries}
        self.assertEqual(there - set(SAMPLES), set())

    def test_sixteen_bits_are_computed_in_single_precision(self):
        x, y = X.bfloat16(), Y.bfloat16()
        for name in ("silu", "gelu", "elu", "softplus", "mish", "hardswish"):
            self.same(name, FORMULAS[name](x), overload_of(name)(x), atol=1e-2, rtol=1e-2)
        for name in ("silu_backward", "gelu_backward"):
            self.same(name, FORMULAS[name](x, y), overload_of(name)(x, y), atol=1e-2, rtol=1e-2)

    def test_bodies_of_rows_are_decompositions(self):
        table = decomposition_table
        for overload, args in (
            (aten.mse_loss.default, (X, Y)),
            (aten.huber_loss.default, (X, Y)),
            (aten.logsumexp.default, (X, [1])),
            (aten.std_mean.correction, (X,)),
        ):
            self.assertIn("body", repr(table[overload]))
            self.same(str(overload), table[overload](*args), overload(*args), atol=1e-5)

    def test_forms_that_write_follow(self):
        out = torch.empty(0)
        self.assertIs(decomposition_table[aten.silu.out](X, out=out), out)
        self.same("silu.out", out, aten.silu.default(X))
        x = X.clone()
        self.assertIs(decomposition_table[aten.silu_.default](x), x)
        self.same("silu_", x, aten.silu.default(X))


class Names(unittest.TestCase):
    def test_references_and_primitives_are_the_operators(self):
        self.assertIs(torch._refs.var_mean, torch.var_mean)
        import cresset._refs._conversions as conversions
        import cresset._refs.nn.functional as functional
        import cresset._refs.special as special

        self.assertIs(special.i0e, torch.special.i0e)
        self.assertIs(functional.relu, torch.nn.functional.relu)
        self.assertIs(conversions.cfloat(torch.ones(1)).dtype, torch.complex64)
        self.assertIs(torch._refs.nn.functional.gelu, torch.nn.functional.gelu)
        self.assertIs(torch._prims.add, torch.ops.prims.add)
        self.assertEqual(torch._prims.broadcast_in_dim(torch.ones(3), (2, 3, 4), (1,)).shape, (2, 3, 4))
        with self.assertRaises(AttributeError):
            torch._refs.no_such_operator


class Tables(unittest.TestCase):
    def test_operators_give_all_their_overloads(self):
        self.assertEqual(sorted(map(str, get_decompositions([aten.silu, aten.addmm.default]))), ["aten.addmm.default", "aten.silu.default", "aten.silu.out"])
        self.assertEqual(get_decompositions([]), {})
        with self.assertRaises(AssertionError):
            get_decompositions([aten.silu], type="other")

    def test_core_operators_are_not_decomposed(self):
        names = {str(op) for op in core_aten_decompositions()}
        self.assertGreater(len(names), 500)
        for name in ("add.Tensor", "mm.default", "convolution.default", "relu.default", "native_layer_norm.default", "gelu.default", "_softmax.default"):
            self.assertFalse(f"aten.{name}" in names, name)
        for name in ("silu.default", "mse_loss.default", "std.correction", "native_layer_norm_backward.default", "rsub.Tensor", "stack.default"):
            self.assertTrue(f"aten.{name}" in names, name)

    def test_programs_register_and_remove_their_own(self):
        registry = {}

        @register_decomposition([aten.relu.default], registry=registry)
        def relu(x):
            return x.clamp(min=0)

        self.assertEqual(registry, {aten.relu.default: relu})
        with self.assertRaisesRegex(RuntimeError, "has aten.relu.default already"):
            register_decomposition(aten.relu.default, registry=registry)(relu)
        remove_decompositions(registry, [aten.relu])
        self.assertEqual(registry, {})


if __name__ == "__main__":
    unittest.main()
