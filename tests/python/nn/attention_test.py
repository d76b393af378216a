"""torch.nn.attention: allowed kernels, causal masks, functions of scores and masks in blocks. Numbers come from PyTorch 2.13."""

import itertools
import unittest
import warnings

from cresset.nn.attention import SDPBackend, bias, sdpa_kernel
from cresset.nn.attention import flex_attention as flex

import cresset as torch
from cresset.nn import functional as F


def waves(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7).sin().view(shape)


Q, K, V = waves(1, 2, 3, 4), waves(1, 2, 5, 4).mul(0.5), waves(1, 2, 5, 2).add(1)


def causal(b, h, q, k):
    return q >= k


class Kernels(unittest.TestCase):
    def test_the_cpu_serves_two_kinds(self):
        wanted = F.scaled_dot_product_attention(Q, K, V)
        for backends in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
            with sdpa_kernel(backends):
                self.assertTrue(torch.equal(F.scaled_dot_product_attention(Q, K, V), wanted))

    def test_without_them_attention_says_so(self):
        for backends in (SDPBackend.EFFICIENT_ATTENTION, [], [SDPBackend.CUDNN_ATTENTION]):
            with sdpa_kernel(backends), self.assertRaisesRegex(RuntimeError, "at least one of its kernels"):
                F.scaled_dot_product_attention(Q, K, V)
        layer = torch.nn.MultiheadAttention(4, 2, dtype=torch.float64)
        with sdpa_kernel([]), self.assertRaisesRegex(RuntimeError, "at least one of its kernels"):
            layer(Q[0], Q[0], Q[0], need_weights=False)
        F.scaled_dot_product_attention(Q, K, V)

    def test_heads_are_read_in_place(self):
        """Without weights no head is copied: values and gradients are those of the way with weights."""
        hidden = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
        for batch_first, one, mask, with_bias in itertools.product((False, True), (False, True), (None, hidden), (False, True)):
            torch.manual_seed(1)
            layer = torch.nn.MultiheadAttention(6, 3, bias=with_bias, batch_first=batch_first, dtype=torch.float64)
            query, other = waves(3, 3, 6).requires_grad_(), waves(3, 3, 6).cos().requires_grad_()
            key = query if one else other
            results = []
            for weights in (False, True):
                out, _ = layer(query, key, key, need_weights=weights, attn_mask=mask)
                leaves = [query, *([] if one else [other]), *layer.parameters()]
                results.append([out, *torch.autograd.grad(out.sin().sum(), leaves)])
            self.assertEqual(results[0][0].stride(), results[1][0].stride())
            for a, b in zip(*results, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)

    def test_switches_are_set_and_put_back(self):
        cuda = torch.backends.cuda
        try:
            with sdpa_kernel([SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION], set_priority=True):
                self.assertEqual(
                    [cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled()], [False, True, False, True]
                )
                raise KeyError
        except KeyError:
            pass
        self.assertTrue(cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled())
        with self.assertRaises(AssertionError):
            sdpa_kernel("math").__enter__()

    def test_registered_implementations(self):
        calls = []

        class Handle:
            def remove(self):
                calls.append("out")

        torch.nn.attention.register_flash_attention_impl("test", register_fn=lambda: calls.append("in") or Handle())
        torch.nn.attention.activate_flash_attention_impl("test")
        torch.nn.attention.activate_flash_attention_impl("test")
        self.assertEqual(torch.nn.attention.current_flash_attention_impl(), "test")
        torch.nn.attention.restore_flash_attention_impl()
        self.assertEqual(calls, ["in", "out"])
        self.assertIsNone(torch.nn.attention.current_flash_attention_impl())
        self.assertRaises(ValueError, torch.nn.attention.activate_flash_attention_impl, "nobody")
        self.assertRaises(ModuleNotFoundError, torch.nn.attention.activate_flash_attention_impl, "FA3")
        with self.assertWarns(UserWarning):
            torch.nn.attention.restore_flash_attention_impl()


class CausalBias(unittest.TestCase):
    def test_attention_takes_both_kinds(self):
        upper, lower = bias.causal_upper_left(3, 5), bias.causal_lower_right(3, 5)
        for mask in (upper, lower):
            plain = F.scaled_dot_product_attention(Q, K, V, mask.as_subclass(torch.Tensor))
            self.assertTrue(torch.allclose(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), plain))
        self.assertEqual(tuple(lower.shape), (3, 5))
        self.assertEqual(lower.sum().item(), 12)
        self.assertEqual((upper.variant, lower.seq_len_q, lower.seq_len_kv), (bias.CausalVariant.UPPER_LEFT, 3, 5))
        self.assertRaises(ValueError, F.scaled_dot_product_attention, Q, K, V, upper, is_causal=True)
        self.assertRaises(RuntimeError, F.scaled_dot_product_attention, Q, K, V, bias.causal_lower_right(4, 5))

    def test_refusals(self):
        self.assertRaises(AssertionError, bias.causal_lower_right, 3)
        self.assertRaises(AssertionError, bias.causal_upper_left, 3, 3, 3)
        self.assertRaises(AssertionError, bias.CausalBias, 1, 3, 3)
        with self.assertWarns(UserWarning):
            bias.causal_lower_right(5, 3)

    def test_it_counts_as_a_tensor_of_bool(self):
        self.assertEqual((bias.causal_upper_left(2, 2) + 1).tolist(), [[2, 1], [2, 2]])
        self.assertEqual(repr(bias.causal_upper_left(1, 2)), "tensor([[ True, False]])")


class Flex(unittest.TestCase):
    def check(self, got, wanted):
        self.assertEqual([round(x, 5) for x in got.flatten().tolist()], wanted)

    def test_plain(self):
        self.assertTrue(torch.allclose(flex.flex_attention(Q, K, V), F.scaled_dot_product_attention(Q, K, V)))
        self.assertTrue(torch.allclose(flex.flex_attention(Q, K, V, scale=0.3), F.scaled_dot_product_attention(Q, K, V, scale=0.3)))

    def test_scores_changed(self):
        table = waves(3, 5)
        mods = {
            "relative": lambda s, b, h, q, k: s + (q - k) * (h + 1),
            "table": lambda s, b, h, q, k: s + table[q, k],
            "cut": lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")),
            "soft": lambda s, b, h, q, k: (s / 2).tanh() * 2,
        }
        for name, mod in mods.items():
            self.check(flex.flex_attention(Q, K, V, score_mod=mod), GOLDEN[name])

    def test_queries_that_see_nothing_give_zeros(self):
        mask = flex.create_block_mask(lambda b, h, q, k: (q < 2) & (q >= k), None, None, 3, 5, device="cpu")
        q = Q.clone().requires_grad_()
        out, aux = flex.flex_attention(q, K, V, block_mask=mask, return_aux=flex.AuxRequest(lse=True, max_scores=True))
        self.check(out[:, 0], GOLDEN["blind"])
        self.check(aux.lse[:, 0], GOLDEN["lse"])
        self.assertEqual(aux.max_scores[0, 0, 2].item(), -float("inf"))
        (out.sum() + aux.lse[..., :2].sum()).backward()
        self.check(q.grad[:, 0], GOLDEN["gradient"])

    def test_shared_heads(self):
        q = waves(1, 4, 3, 4)
        wanted = F.scaled_dot_product_attention(q, K.repeat_interleave(2, 1), V.repeat_interleave(2, 1))
        self.assertTrue(torch.allclose(flex.flex_attention(q, K, V, enable_gqa=True), wanted))

    def test_one_batch_of_keys_for_masks_of_many(self):
        mask = flex.create_block_mask(lambda b, h, q, k: k > b, 2, None, 3, 5, device="cpu")
        got = flex.flex_attention(Q.expand(2, -1, -1, -1), K, V, block_mask=mask)
        for b in range(2):
            seen = torch.arange(5).gt(b).expand(3, 5)
            self.assertTrue(torch.allclose(got[b], F.scaled_dot_product_attention(Q, K, V, seen)[0]))

    def test_blocks_that_are_not_listed_are_hidden(self):
        mask = flex.BlockMask.from_kv_blocks(torch.tensor([[[1, 1]]], dtype=torch.int32), torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32), BLOCK_SIZE=2)
        x = waves(1, 1, 4, 2)
        seen = torch.block_diag(torch.ones(2, 2), torch.ones(2, 2)).bool()
        self.assertTrue(torch.allclose(flex.flex_attention(x, x, x, block_mask=mask), F.scaled_dot_product_attention(x, x, x, seen)))

    def test_half_computes_in_float(self):
        out, aux = flex.flex_attention(Q.half(), K.half(), V.half(), return_aux=flex.AuxRequest(lse=True))
        self.assertEqual((out.dtype, aux.lse.dtype), (torch.float16, torch.float32))

    def test_old_spelling_of_sums(self):
        with self.assertWarns(FutureWarning):
            _, lse = flex.flex_attention(Q, K, V, return_lse=True)
        self.assertTrue(torch.allclose(lse, torch.logsumexp(Q @ K.mT / 2, -1)))

    def test_refusals(self):
        mask = flex.create_block_mask(causal, None, None, 3, 5, device="cpu")
        cases = [
            (ValueError, dict(key=K[:, :1], value=V[:, :1])),
            (ValueError, dict(key=K[..., :3])),
            (ValueError, dict(value=V[:, :, :3])),
            (ValueError, dict(query=Q.expand(2, -1, -1, -1))),
            (ValueError, dict(key=K[:, :, :4], value=V[:, :, :4], block_mask=mask)),
            (ValueError, dict(query=torch.cat([Q, Q], 2), block_mask=mask)),
            (ValueError, dict(query=Q.expand(2, -1, -1, -1), block_mask=mask)),
            (ValueError, dict(score_mod=lambda s, b, h, q, k: 0)),
            (ValueError, dict(kernel_options={"BLOCK": 3})),
            (ValueError, dict(return_lse=True, return_aux=flex.AuxRequest())),
            (ValueError, dict(key=K.to("meta"))),
            (RuntimeError, dict(block_mask=mask[0])),
            (RuntimeError, dict(score_mod=lambda s, b, h, q, k: s if q > k else -s)),
            (TypeError, dict(block_mask=torch.ones(3, 5))),
            (NotImplementedError, dict(query=Q[0])),
        ]
        for kind, changed in cases:
            with self.subTest(changed), self.assertRaises(kind), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                flex.flex_attention(**{"query": Q, "key": K, "value": V, **changed})


class Blocks(unittest.TestCase):
    def test_lists(self):
        mask = flex.create_block_mask(causal, 1, 1, 3, 3, device="cpu", BLOCK_SIZE=1)
        self.assertEqual(mask.kv_num_blocks.tolist(), [[[0, 0, 0]]])
        self.assertEqual(mask.full_kv_num_blocks.tolist(), [[[1, 2, 3]]])
        self.assertEqual(mask.full_q_indices.tolist(), [[[[0, 1, 2], [1, 2, 0], [2, 0, 1]]]])
        mask = flex.create_block_mask(causal, None, None, 256, 256, device="cpu")
        self.assertEqual(mask.kv_indices.tolist(), [[[[0, 1], [1, 0]]]])
        self.assertEqual(mask.full_kv_indices.tolist(), [[[[0, 1], [0, 1]]]])
        self.assertEqual(mask.kv_indices.dtype, torch.int32)
        together = flex.create_block_mask(causal, None, None, 256, 256, device="cpu", separate_full_blocks=False)
        self.assertIsNone(together.full_kv_indices)
        self.assertEqual(together.q_num_blocks.tolist(), [[[2, 1]]])

    def test_turns(self):
        def turns(order):
            mask = flex.create_block_mask(causal, 1, 1, 3, 3, device="cpu", BLOCK_SIZE=1, compute_dq_write_order=True, dq_kv_order=order)
            return mask.dq_write_order[0, 0].tolist(), mask.dq_write_order_full[0, 0].tolist(), mask.dq_kv_order_spt

        self.assertEqual(turns(True), ([[0, 1, 2], [-1, 0, 1], [-1, -1, 0]], [[0, 1, 2], [0, 1, -1], [0, -1, -1]], True))
        self.assertEqual(turns(False), ([[0, 0, 0], [1, 1, 1], [1, 2, 2]], [[0, 0, 0], [1, 1, 1], [2, 1, 2]], False))

    def test_facts(self):
        mask = flex.create_block_mask(causal, 2, 3, 300, 500, device="cpu", BLOCK_SIZE=(32, 64))
        self.assertEqual((mask.shape, mask.numel(), mask.BLOCK_SIZE), ((2, 3, 300, 500), 900000, (32, 64)))
        self.assertEqual(round(mask.sparsity(), 2), 59.04)
        self.assertEqual(mask[0].shape, (1, 3, 300, 500))
        self.assertEqual(mask[1, -1].shape, (1, 1, 300, 500))
        self.assertEqual(mask[:, [0, 2]].shape, (2, 2, 300, 500))
        self.assertRaises(IndexError, lambda: mask[5])
        self.assertEqual(len(mask.as_tuple()), 17)
        self.assertEqual(mask.as_tuple(flatten=False)[0], (300, 500))
        self.assertEqual(mask._adjust(100, 200).kv_num_blocks.shape, (2, 3, 4))
        self.assertEqual(mask.to("cpu").to_dense().sum(), mask.to_dense().sum())

    def test_pictures(self):
        mask = flex.create_block_mask(causal, 2, 3, 300, 500, device="cpu", BLOCK_SIZE=(32, 64))
        self.assertEqual(mask.to_string((5, 5), 1).split("\n")[:7], ["(0, 0)", "░░      ", "██      ", "██░░    ", "████    ", "████░░  ", ""])
        self.assertTrue(mask.to_string(3, 1).startswith("(0, 0)\n░░    \n██░░  \n██░░  \n\n...\n(limit=N"))
        small = flex.create_block_mask(causal, None, None, 256, 256, device="cpu")
        self.assertEqual(str(small), "BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%, \n(0, 0)\n██  \n████\n)")
        self.assertIn(
            "    full_q_indices=torch.Size([1, 1, 2, 2]),\n    BLOCK_SIZE=(128, 128),\n    shape=(1, 1, 256, 256),\n    sparsity=25.00%,\n    mask_mod=causal\n)",
            repr(small),
        )

    def test_functions(self):
        first = flex.create_mask(flex.or_masks(causal, lambda b, h, q, k: k == 3), 2, None, 3, 4)
        self.assertEqual(first.shape, (2, 1, 3, 4))
        self.assertEqual(first[1, 0].int().tolist(), [[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]])
        both = flex.create_mask(flex.and_masks(causal, flex.noop_mask), None, None, 2, 2)
        self.assertEqual(both[0, 0].int().tolist(), [[1, 0], [1, 1]])
        scores = flex.create_mask(lambda s, b, h, q, k: torch.where(q == k, s, -float("inf")), None, None, 2, 2)
        self.assertEqual(scores[0, 0].int().tolist(), [[1, 0], [0, 1]])
        self.assertRaises(RuntimeError, flex.and_masks, 3)
        self.assertRaises(AssertionError, flex.create_mask, lambda a, b, c: a, 1, 1, 2, 2)
        self.assertRaises(AssertionError, flex.create_block_mask, lambda s, b, h, q, k: s, 1, 1, 2, 2)
        self.assertRaises(AssertionError, flex.create_block_mask, lambda b, h, q, k: (q >= k).float(), 1, 1, 2, 2)
        self.assertRaises(ValueError, flex.create_block_mask, lambda b, h, q, k: True, 1, 1, 2, 2)
        self.assertRaises(AssertionError, flex.BlockMask.from_kv_blocks, torch.tensor([[[1]]]), torch.tensor([[[[0]]]]), torch.tensor([[[1]]]))


GOLDEN = {
    "relative": [1.11113, 1.5421, 1.39627, 1.58783, 1.13215, 1.52767, 1.6547, 1.91363, 1.67972, 1.79983, 1.64834, 1.92418],
    "table": [0.98941, 0.8928, 0.85596, 1.02205, 1.1526, 1.11191, 0.86516, 0.84274, 1.05185, 1.23853, 1.11889, 1.04034],
    "cut": [1.0, 1.64422, 1.71521, 1.80316, 1.31595, 1.25713, 1.65699, 1.98817, 1.79359, 1.52567, 1.27717, 1.12483],
    "soft": [0.95368, 1.06192, 1.01432, 1.04069, 0.9493, 1.05552, 1.03603, 1.10919, 1.06005, 1.08191, 1.06288, 1.14022],
    "blind": [1.0, 1.64422, 1.71521, 1.80316, 0.0, 0.0],
    "lse": [0.53281, 0.81055, -float("inf")],
    "gradient": [0.0, 0.16105, 0.24636, 0.2158, 0.08086, -0.07911, -0.20187, -0.22969, 0.0, 0.0, 0.0, 0.0],
    "volume": [-1.2775, 0.76388, -0.16198],
}


class Products(unittest.TestCase):
    def test_grouped(self):
        a, b = waves(4, 3).float(), waves(2, 3, 2).float()
        ends = torch.tensor([1, 4], dtype=torch.int32)
        self.assertTrue(torch.equal(F.grouped_mm(a, b, offs=ends), torch.cat([a[:1] @ b[0], a[1:] @ b[1]])))
        self.assertTrue(torch.equal(F.grouped_mm(b, b.mT), b @ b.mT))
        ends = torch.tensor([1, 3], dtype=torch.int32)
        self.assertTrue(torch.equal(F.grouped_mm(a.mT, a[:, :2], offs=ends)[1], a.mT[:, 1:3] @ a[1:3, :2]))
        self.assertTrue(torch.equal(F.grouped_mm(b.mT, a[:3], offs=ends), torch.cat([b[0].T @ a[:3, :1], b[1].T @ a[:3, 1:]], 1)))
        self.assertEqual(F.grouped_mm(a, b, offs=ends)[3].tolist(), [0, 0])
        a.requires_grad_()
        F.grouped_mm(a, b, offs=ends).sum().backward()
        self.assertTrue(torch.allclose(a.grad[2], b[1].sum(-1)))

    def test_grouped_refusals(self):
        a, b = torch.ones(4, 3), torch.ones(2, 3, 2)
        for named in (dict(), dict(offs=torch.tensor([1, 4])), dict(offs=torch.tensor([3, 1], dtype=torch.int32)), dict(offs=torch.tensor([1, 5], dtype=torch.int32)),
                      dict(offs=torch.tensor([4], dtype=torch.int32)), dict(offs=torch.tensor([1, 4], dtype=torch.int32), out_dtype=torch.float64)):  # fmt: skip
            self.assertRaises(RuntimeError, F.grouped_mm, a, b, **named)
        self.assertRaises(RuntimeError, F.grouped_mm, a.double(), b.double(), offs=torch.tensor([1, 4], dtype=torch.int32))
        self.assertRaises(RuntimeError, F.grouped_mm, b, b.mT, bias=torch.ones(2))

    def test_scaled(self):
        eye = torch.eye(16).to(torch.float8_e4m3fn)
        rows = torch.arange(1.0, 17.0)
        out = F.scaled_mm(eye, eye.t(), rows[:, None], F.ScalingType.RowWise, rows[None], F.ScalingType.RowWise, output_dtype=torch.float32)
        self.assertTrue(torch.equal(out, (rows * rows).diag()))
        self.assertEqual((int(F.ScalingType.BlockWise1x32), int(F.SwizzleType.SWIZZLE_32_4_4)), (3, 1))
        self.assertRaises(ValueError, F.scaled_mm, eye, eye.t(), rows, F.ScalingType.BlockWise1x32, rows, F.ScalingType.BlockWise1x32)
        both = torch.stack([eye.float(), eye.float() * 2]).to(torch.float8_e4m3fn)
        out = F.scaled_grouped_mm(
            eye, both, rows, F.ScalingType.RowWise, torch.ones(2, 16), F.ScalingType.RowWise, offs=torch.tensor([8, 16], dtype=torch.int32)
        )
        self.assertTrue(torch.equal(out.float(), (rows * torch.tensor([1.0, 2.0]).repeat_interleave(8)).diag()))
        self.assertRaises(RuntimeError, F.scaled_grouped_mm, both, both, rows, F.ScalingType.RowWise, rows, F.ScalingType.RowWise)


class Tiles(unittest.TestCase):
    """Lengths and widths around those that the kernels work in, beside the plain operators in double."""

    def compare(self, q, k, v, mask=None, is_causal=False, tolerance=1e-5):
        inputs = [x.requires_grad_() for x in (q, k, v)]
        out = F.scaled_dot_product_attention(*inputs, attn_mask=mask, is_causal=is_causal)
        gradient = waves(*out.shape).to(out.dtype)
        got = (out, *torch.autograd.grad(out, inputs, gradient))
        wide = [x.detach().double().requires_grad_() for x in inputs]
        scores = wide[0] @ wide[1].transpose(-2, -1) / q.shape[-1] ** 0.5
        if is_causal:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        plain = scores.softmax(-1) @ wide[2]
        for name, a, b in zip(("out", "dq", "dk", "dv"), got, (plain, *torch.autograd.grad(plain, wide, gradient.double())), strict=True):
            self.assertTrue(torch.allclose(a.double(), b, rtol=tolerance, atol=tolerance), f"{name} of {tuple(q.shape)} and {tuple(k.shape)}")

    def inputs(self, queries, keys, width, v_width, dtype=torch.float32):
        # In the order of (batch, length, heads, width), as layers have them.
        return [waves(2, n, 3, w).to(dtype).transpose(1, 2) for n, w in ((queries, width), (keys, width), (keys, v_width))]

    def test_lengths(self):
        for queries, keys in ((1, 40), (8, 8), (9, 31), (16, 33), (17, 255), (33, 257), (70, 520)):
            self.compare(*self.inputs(queries, keys, 16, 16))

    def test_widths(self):
        for width, v_width in ((1, 1), (3, 20), (33, 15), (64, 80)):
            for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12), (torch.bfloat16, 3e-2)):
                self.compare(*self.inputs(34, 43, width, v_width, dtype), tolerance=tolerance)

    def test_causal(self):
        for queries, keys in ((5, 5), (33, 33), (40, 20), (40, 300), (300, 300)):
            self.compare(*self.inputs(queries, keys, 8, 8), is_causal=True)

    def test_masks(self):
        for queries, keys in ((4, 20), (37, 270)):
            whole = waves(2, 3, queries, keys)
            for mask in (
                whole > 0,
                whole[:, :1, :1] > -0.9,
                whole.float(),
                whole[0, 0].float(),
                whole[:, :, :1].float(),
                waves(2, 3, keys, queries).float().mT,
            ):
                self.compare(*self.inputs(queries, keys, 8, 8), mask)

    def test_hidden_keys_may_be_nan(self):
        q, k, v = self.inputs(20, 30, 8, 8)
        broken, mask = k.clone(), torch.ones(20, 30, dtype=torch.bool)
        broken[:, :, 7] = torch.nan
        mask[:, 7] = False
        for hidden in (mask, mask[:1]):
            self.assertTrue(torch.equal(F.scaled_dot_product_attention(q, broken, v, hidden), F.scaled_dot_product_attention(q, k, v, hidden)))
        self.assertTrue(F.scaled_dot_product_attention(q, broken, v).isnan().all())

    def test_queries_that_see_no_key_give_zeros(self):
        q, k, v = [x.requires_grad_() for x in self.inputs(20, 30, 8, 8)]
        mask = torch.ones(20, 30, dtype=torch.bool)
        mask[11] = False
        out = F.scaled_dot_product_attention(q, k, v, mask)
        out.sum().backward()
        self.assertTrue(torch.equal(out[:, :, 11], torch.zeros(2, 3, 8)))
        self.assertTrue(torch.equal(q.grad[:, :, 11], torch.zeros(2, 3, 8)))

    def test_threads_change_nothing(self):
        results = []
        threads = torch.get_num_threads()
        for count in (1, 2):
            torch.set_num_threads(count)
            q, k, v = [x.requires_grad_() for x in self.inputs(100, 100, 16, 16)]
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            results.append((out, *torch.autograd.grad(out, (q, k, v), waves(*out.shape).float())))
        torch.set_num_threads(threads)
        for a, b in zip(*results, strict=True):
            self.assertTrue(torch.equal(a, b))


class Nested(unittest.TestCase):
    """MultiheadAttention of nested tensors."""

    def setUp(self):
        torch.manual_seed(0)
        self.layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval().requires_grad_(False)
        self.parts = torch.randn(3, 4), torch.randn(2, 4)
        self.x = torch.nested.nested_tensor(list(self.parts))

    def test_components_attend_to_themselves(self):
        out, weights = self.layer(self.x, self.x, self.x)
        self.assertTrue(out.is_nested)
        self.assertEqual(weights.shape, (2, 3, 3))
        for part, got, weight in zip(self.parts, out.unbind(), weights, strict=True):
            n = len(part)
            expected, expected_weight = self.layer(part, part, part)
            torch.testing.assert_close(got, expected)
            torch.testing.assert_close(weight[:n, :n], expected_weight)
            self.assertEqual((weight[n:].abs().sum() + weight[:, n:].abs().sum()).item(), 0)

    def test_weights_of_each_head_or_none(self):
        self.assertEqual(self.layer(self.x, self.x, self.x, average_attn_weights=False)[1].shape, (2, 2, 3, 3))
        self.assertIsNone(self.layer(self.x, self.x, self.x, need_weights=False)[1])

    def test_the_reasons_of_a_refusal_are_named(self):
        other = torch.nested.nested_tensor(list(self.parts))
        with self.assertRaisesRegex(AssertionError, "not one tensor"):
            self.layer(self.x, other, other)
        with self.assertRaisesRegex(AssertionError, "attn_mask"):
            self.layer(self.x, self.x, self.x, attn_mask=torch.zeros(3, 3))
        with self.assertRaisesRegex(AssertionError, "training"):
            self.layer.train()(self.x, self.x, self.x)
        self.layer.eval().requires_grad_(True)
        with self.assertRaisesRegex(AssertionError, "gradients"):
            self.layer(self.x, self.x, self.x)
        with torch.no_grad():
            self.layer(self.x, self.x, self.x)


class AffineGrid(unittest.TestCase):
    def test_values(self):
        theta = torch.tensor([[[1.0, 0.5, 0.1], [0.0, 2.0, 0.3]]])
        got = F.affine_grid(theta, (1, 1, 2, 3))
        self.assertEqual([round(x, 4) for x in got.flatten().tolist()], [-0.8167, -0.7, -0.15, -0.7, 0.5167, -0.7, -0.3167, 1.3, 0.35, 1.3, 1.0167, 1.3])
        got = F.affine_grid(theta, (1, 1, 2, 3), align_corners=True)
        self.assertEqual([round(x, 4) for x in got.flatten().tolist()], [-1.4, -1.7, -0.4, -1.7, 0.6, -1.7, -0.4, 2.3, 0.6, 2.3, 1.6, 2.3])
        self.assertEqual([round(x, 4) for x in F.affine_grid(theta, (1, 1, 1, 1), align_corners=True).flatten().tolist()], [0.1, 0.3])
        volume = F.affine_grid(waves(2, 3, 4), (2, 1, 2, 3, 2))
        self.assertEqual(volume.shape, (2, 2, 3, 2, 3))
        self.assertEqual([round(x, 5) for x in volume[1, 1, 2, 0].tolist()], GOLDEN["volume"])

    def test_gradient(self):
        theta = waves(2, 2, 3).requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(lambda t: F.affine_grid(t, (2, 1, 3, 2)), theta))
        self.assertTrue(torch.autograd.gradgradcheck(lambda t: F.affine_grid(t, (2, 1, 3, 2)), theta))
        self.assertTrue(torch.autograd.gradcheck(lambda t: F.affine_grid(t, (2, 1, 3, 2), align_corners=True), theta, check_forward_ad=True))
        volume = waves(2, 3, 4).double().requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(lambda t: F.affine_grid(t, (2, 1, 3, 2, 4)), volume))

    def test_refusals(self):
        theta = torch.ones(1, 2, 3)
        self.assertRaises(ValueError, F.affine_grid, theta.int(), (1, 1, 2, 3))
        self.assertRaises(NotImplementedError, F.affine_grid, theta, (1, 1, 2))
        self.assertRaises(ValueError, F.affine_grid, theta, (1, 1, 2, 3, 4))
        self.assertRaises(ValueError, F.affine_grid, theta[0], (1, 1, 2, 3))
        self.assertRaises(ValueError, F.affine_grid, theta, (1, 1, 2, 0))
        self.assertRaises(RuntimeError, F.affine_grid, theta, (2, 1, 2, 2))


if __name__ == "__main__":
    unittest.main()
