"""Layers against loops written out, NumPy and numbers that PyTorch 2.13 gave."""

import copy
import unittest
import warnings

import numpy as np

import cresset as torch
from cresset import nn
from cresset.nn import functional as F
from cresset.nn.utils import parametrizations, parametrize, prune, rnn

NAN, INF = float("nan"), float("inf")


def close(test, got, expected, tolerance=1e-5):
    np.testing.assert_allclose(got.detach().numpy() if isinstance(got, torch.Tensor) else got, expected, rtol=tolerance, atol=tolerance)


class Initialisation(unittest.TestCase):
    def test_the_same_seed_gives_pytorchs_numbers(self):
        torch.manual_seed(0)
        layer = nn.Linear(2, 2)
        close(self, layer.weight, [[-0.00529, 0.379323], [-0.58198, -0.520388]], 1e-5)
        torch.manual_seed(0)
        close(self, nn.init.trunc_normal_(torch.empty(4)), [1.5410, -0.2934, 0.4033, 0.5684], 1e-4)

    def test_fans_of_kernels(self):
        self.assertEqual(nn.init._calculate_fan_in_and_fan_out(torch.empty(6, 3, 3, 2)), (18, 36))
        with self.assertRaises(ValueError):
            nn.init.kaiming_normal_(torch.ones(3))

    def test_orthogonal_columns(self):
        w = nn.init.orthogonal_(torch.empty(3, 7, dtype=torch.float64), gain=2.0)
        close(self, w @ w.t(), 4 * np.eye(3), 1e-10)

    def test_old_names_warn(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nn.init.uniform(torch.empty(2))
        self.assertTrue(any(w.category is FutureWarning for w in caught))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Recurrent(unittest.TestCase):
    def test_lstm_is_its_equations(self):
        layer = nn.LSTM(3, 4, dtype=torch.float64)
        x = np.random.default_rng(0).normal(size=(5, 2, 3))
        wi, wh, bi, bh = (p.detach().numpy() for p in layer.parameters())
        h, c, outputs = np.zeros((2, 4)), np.zeros((2, 4)), []
        for step in x:
            i, f, g, o = np.split(step @ wi.T + bi + h @ wh.T + bh, 4, 1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
            outputs.append(h)
        out, (hn, cn) = layer(torch.from_numpy(x))
        close(self, out, np.stack(outputs), 1e-12)
        close(self, hn[0], h, 1e-12)
        close(self, cn[0], c, 1e-12)

    def test_gru_cell_is_its_equations(self):
        cell = nn.GRUCell(3, 4, dtype=torch.float64)
        r = np.random.default_rng(1)
        x, h = r.normal(size=(2, 3)), r.normal(size=(2, 4))
        wi, wh, bi, bh = (p.detach().numpy() for p in cell.parameters())
        ir, iz, inn = np.split(x @ wi.T + bi, 3, 1)
        hr, hz, hn = np.split(h @ wh.T + bh, 3, 1)
        z = _sigmoid(iz + hz)
        expected = (1 - z) * np.tanh(inn + _sigmoid(ir + hr) * hn) + z * h
        close(self, cell(torch.from_numpy(x), torch.from_numpy(h)), expected, 1e-12)

    def test_packed_sequences_are_each_sequence_alone(self):
        layer = nn.GRU(3, 4, num_layers=2, bidirectional=True, dtype=torch.float64)
        rows = [torch.randn(n, 3, dtype=torch.float64) for n in (2, 5, 1)]
        output, last = layer(rnn.pack_sequence(rows, enforce_sorted=False))
        padded, lengths = rnn.pad_packed_sequence(output)
        self.assertEqual(lengths.tolist(), [2, 5, 1])
        for i, row in enumerate(rows):
            alone, state = layer(row)
            close(self, padded[: len(row), i], alone.detach().numpy(), 1e-12)
            close(self, last[:, i], state.detach().numpy(), 1e-12)

    def test_mistakes(self):
        for error, call in (
            (ValueError, lambda: nn.LSTM(3, 0)),
            (TypeError, lambda: nn.LSTM(3.0, 4)),
            (ValueError, lambda: nn.GRU(3, 4, proj_size=2)),
            (ValueError, lambda: nn.RNN(3, 4, nonlinearity="sine")),
            (RuntimeError, lambda: nn.LSTM(3, 4)(torch.ones(2, 2, 5))),
            (RuntimeError, lambda: nn.LSTM(3, 4)(torch.ones(2, 2, 3), (torch.zeros(1, 3, 4),) * 2)),
            (RuntimeError, lambda: rnn.pack_padded_sequence(torch.ones(4, 3, 2), [2, 4, 1])),
            (RuntimeError, lambda: nn.RNNCell(3, 4)(torch.ones(2, 5))),
        ):
            with self.assertRaises(error):
                call()


class Gates(unittest.TestCase):
    def test_a_gated_linear_unit_has_the_same_bits_with_and_without_a_record(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            x = torch.cat((torch.randn(33, 40) * 20, torch.tensor([[INF, -INF, NAN, 0.0] * 10])), 0).to(dtype)
            for dim, narrow in ((1, x), (0, x[:, ::2])):
                narrow = narrow[:32] if dim == 0 else narrow
                a, b = narrow.chunk(2, dim)
                expected = (a * b.sigmoid()).float().numpy()
                np.testing.assert_array_equal(F.glu(narrow, dim).float().numpy(), expected)
                np.testing.assert_array_equal(F.glu(narrow.clone().requires_grad_(), dim).detach().float().numpy(), expected)


class Attention(unittest.TestCase):
    def test_masks_weights_and_the_fast_way_agree(self):
        attention = nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64)
        x = torch.randn(2, 4, 6, dtype=torch.float64)
        causal = torch.ones(4, 4, dtype=torch.bool).triu(1)
        padding = torch.tensor([[False, False, False, True], [False] * 4])
        slow, weights = attention(x, x, x, key_padding_mask=padding, attn_mask=causal)
        fast, none = attention(x, x, x, key_padding_mask=padding, attn_mask=causal, need_weights=False)
        self.assertIsNone(none)
        close(self, fast, slow.detach().numpy(), 1e-10)
        close(self, weights.sum(-1), np.ones((2, 4)), 1e-10)
        self.assertEqual(weights[0, :, 3].tolist(), [0] * 4)
        self.assertEqual(weights[1, 0, 1:].tolist(), [0] * 3)

    def test_attention_is_its_equation(self):
        attention = nn.MultiheadAttention(4, 1, bias=False, dtype=torch.float64)
        x = torch.randn(3, 4, dtype=torch.float64)
        q, k, v = (x.numpy() @ w.T for w in np.split(attention.in_proj_weight.detach().numpy(), 3))
        scores = np.exp(q @ k.T / 2)
        expected = scores / scores.sum(1, keepdims=True) @ v @ attention.out_proj.weight.detach().numpy().T
        close(self, attention(x, x, x)[0], expected, 1e-12)

    def test_layers_of_an_encoder_are_separate_copies(self):
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
        encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4))
        a, b = encoder.layers
        self.assertIsNot(a.linear1.weight, b.linear1.weight)
        self.assertEqual(a.linear1.weight.tolist(), b.linear1.weight.tolist())
        x = torch.randn(3, 2, 4)
        close(self, encoder(x), encoder.norm(b(a(x))).detach().numpy())


class Texts(unittest.TestCase):
    def test_lists_of_one_parameter_take_one_line(self):
        one, two = torch.ones(2), torch.ones(1)
        self.assertEqual(repr(nn.ParameterList([one])), "ParameterList(  (0): Parameter containing: [torch.float32 of size 2])")
        self.assertEqual(repr(nn.ParameterDict({"a": one})), "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])")
        lines = "    (0): Parameter containing: [torch.float32 of size 2]\n    (1): Parameter containing: [torch.float32 of size 1]"
        self.assertEqual(repr(nn.ParameterList([one, two])), f"ParameterList(\n{lines}\n)")
        self.assertEqual(repr(nn.ParameterList()), "ParameterList()")

    def test_encoder_layers_tell_their_activation(self):
        F = nn.functional
        for activation, code in (("relu", 1), (F.relu, 1), (nn.ReLU(), 1), ("gelu", 2), (F.gelu, 2), (nn.GELU(), 2), (torch.tanh, 0)):
            self.assertEqual(nn.TransformerEncoderLayer(4, 2, 8, activation=activation).activation_relu_or_gelu, code)


class Losses(unittest.TestCase):
    def test_ctc_sums_over_alignments(self):
        scores = torch.randn(4, 1, 3, dtype=torch.float64).log_softmax(2)
        p, total = scores.exp()[:, 0].numpy(), 0.0
        for path in np.ndindex(3, 3, 3, 3):
            merged = [s for i, s in enumerate(path) if i == 0 or s != path[i - 1]]
            if [s for s in merged if s != 0] == [1, 2]:
                total += np.prod([p[t, s] for t, s in enumerate(path)])
        loss = F.ctc_loss(scores, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]), reduction="sum")
        close(self, loss, -np.log(total), 1e-10)

    def test_ctc_of_what_cannot_fit(self):
        scores = torch.zeros(1, 1, 3).log_softmax(2)
        arguments = scores, torch.tensor([[1, 2]]), torch.tensor([1]), torch.tensor([2])
        self.assertEqual(F.ctc_loss(*arguments).item(), float("inf"))
        self.assertEqual(F.ctc_loss(*arguments, zero_infinity=True).item(), 0)
        with self.assertRaisesRegex(RuntimeError, "input_lengths must be integral"):
            F.ctc_loss(scores, torch.tensor([[1, 2]]), torch.tensor([4.0]), torch.tensor([2]))
        with self.assertRaisesRegex(RuntimeError, "target_lengths must be integral"):
            F.ctc_loss(scores, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2.0]))

    def test_margins(self):
        x, y = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
        close(self, nn.MultiLabelMarginLoss()(x, y), 0.25 * ((1 - (0.1 - 0.2)) + (1 - (0.1 - 0.4)) + (1 - (0.8 - 0.2)) + (1 - (0.8 - 0.4))))
        close(self, nn.MultiMarginLoss(p=2)(x, torch.tensor([3])), (0.3**2 + 0.4**2 + 0.6**2) / 4)

    def test_reductions(self):
        with self.assertRaises(ValueError):
            nn.MSELoss(reduction="average")(torch.ones(1), torch.ones(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(nn.MSELoss(size_average=False).reduction, "sum")


class Unpooling(unittest.TestCase):
    def test_values_return_to_where_they_were_the_largest(self):
        for dims in (1, 2, 3):
            x = torch.rand(2, 3, *[4, 6, 8][:dims], dtype=torch.float64, requires_grad=True)
            pool, unpool = (getattr(F, f"{name}{dims}d") for name in ("max_pool", "max_unpool"))
            top, places = pool(x, 2, return_indices=True)
            spread = unpool(top, places, 2)
            largest = np.kron(top.detach().numpy(), np.ones([1, 1] + [2] * dims))
            close(self, spread, np.where(x.detach().numpy() == largest, largest, 0))
            spread.sum().backward()
            close(self, x.grad, x.detach().numpy() == largest)


class Bags(unittest.TestCase):
    def test_bags_are_rows_together(self):
        table = torch.randn(10, 3, dtype=torch.float64)
        numbers, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 7]), torch.tensor([0, 2, 2, 6])
        bags = [[1, 2], [], [4, 5, 4, 3], [7]]
        for mode, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
            got = F.embedding_bag(numbers, table, offsets, mode=mode)
            expected = [reduce(table.numpy()[b], axis=0) if b else np.zeros(3) for b in bags]
            close(self, got, expected, 1e-12)
        left_out = F.embedding_bag(numbers, table, offsets, mode="mean", padding_idx=4)
        close(self, left_out[2], table.numpy()[[5, 3]].mean(0), 1e-12)

    def test_numbers_of_32_bits_shorten_rows_and_have_gradients(self):
        results = []
        for dtype in (torch.int32, torch.int64):
            table = torch.arange(12, dtype=torch.float64).reshape(4, 3)
            numbers, offsets = torch.tensor([1, 3, 3], dtype=dtype), torch.tensor([0, 2], dtype=dtype)
            weight = table.requires_grad_()
            F.embedding_bag(numbers, weight, offsets, max_norm=2.0, mode="sum").sum().backward()
            results.append((weight.detach().numpy(), weight.grad.numpy()))
        for got, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(got, expected)


class Utilities(unittest.TestCase):
    def test_weight_norm_keeps_the_weight(self):
        layer = nn.Linear(4, 3)
        before = layer.weight.detach().clone()
        for wrap, unwrap in ((parametrizations.weight_norm, parametrize.remove_parametrizations), (nn.utils.weight_norm, nn.utils.remove_weight_norm)):
            layer = wrap(layer)
            close(self, layer.weight, before.numpy())
            layer(torch.ones(1, 4)).sum().backward()
            args = ("weight",)
            layer = unwrap(layer, *args)
            close(self, layer.weight, before.numpy())
            self.assertIsInstance(layer.weight, nn.Parameter)
            self.assertIs(type(layer), nn.Linear)

    def test_norms_of_a_weight_without_a_shape_are_refused(self):
        for wrap in (nn.utils.weight_norm, nn.utils.spectral_norm):
            with self.assertRaisesRegex(ValueError, "no shape yet"):
                wrap(nn.LazyLinear(3))

    def test_spectral_norm_divides_by_the_largest_singular_value(self):
        for wrap in (parametrizations.spectral_norm, nn.utils.spectral_norm):
            layer = nn.Linear(4, 3, dtype=torch.float64)
            largest = np.linalg.svd(layer.weight.detach().numpy())[1][0]
            before = layer.weight.detach().numpy().copy()
            layer = wrap(layer, n_power_iterations=200)
            layer(torch.ones(1, 4, dtype=torch.float64))
            close(self, layer.weight, before / largest, 1e-6)

    def test_spectral_norm_reads_files_of_one_vector(self):
        layer = nn.utils.spectral_norm(nn.Linear(5, 7))
        layer(torch.ones(3, 5))
        state = layer.state_dict()
        self.assertEqual(state._metadata[""]["spectral_norm"], {"weight.version": 1})
        older = copy.deepcopy(state)
        del older._metadata[""]["spectral_norm"], older["weight_v"]
        again = nn.utils.spectral_norm(nn.Linear(5, 7))
        with self.assertRaisesRegex(RuntimeError, 'Missing key.*"weight"'):
            again.load_state_dict(older)
        older["weight"] = layer.weight.detach().clone()
        again.load_state_dict(older)
        close(self, again.weight_v, layer.weight_v.numpy(), 1e-4)
        plain = nn.utils.remove_spectral_norm(copy.deepcopy(again))
        self.assertNotIn("spectral_norm", plain.state_dict()._metadata[""])
        self.assertRaises(RuntimeError, plain.load_state_dict, state)

    def test_a_parametrized_tensor_is_computed_assigned_and_cached(self):
        class Doubled(nn.Module):
            calls = 0

            def forward(self, x):
                Doubled.calls += 1
                return 2 * x

            def right_inverse(self, x):
                return x / 2

        layer = nn.Linear(2, 2)
        before = layer.weight.detach().clone()
        parametrize.register_parametrization(layer, "weight", Doubled())
        self.assertEqual(layer.weight.tolist(), before.tolist())
        layer.weight = torch.ones(2, 2)
        self.assertEqual(layer.parametrizations.weight.original.tolist(), [[0.5, 0.5], [0.5, 0.5]])
        Doubled.calls = 0
        with parametrize.cached():
            self.assertIs(layer.weight, layer.weight)
        self.assertEqual(Doubled.calls, 1)
        with self.assertRaises(ValueError):
            parametrize.register_parametrization(layer, "nothing", Doubled())

    def test_clipping(self):
        params = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
        params[0].grad, params[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
        self.assertEqual(nn.utils.clip_grad_norm_(params, 1.0).item(), 5.0)
        close(self, params[0].grad, [0.6, 0.0])
        params[0].grad = torch.tensor([float("nan"), 1.0])
        with self.assertRaises(RuntimeError):
            nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)

    def test_transferred_parametrizations_give_the_same_value(self):
        for kind in (parametrizations.orthogonal, parametrizations.spectral_norm, parametrizations.weight_norm):
            source, target = kind(nn.Linear(3, 2, bias=False)).eval(), nn.Linear(3, 2, bias=False).eval()
            before = source.weight.detach().clone()
            parametrize.transfer_parametrizations_and_params(source, target)
            self.assertTrue(torch.equal(target.weight, before), kind.__name__)
            self.assertTrue(torch.equal(source.weight, before), kind.__name__)

    def test_pruning_at_random_draws_pytorchs_numbers(self):
        layer = nn.Linear(4, 3)
        torch.manual_seed(4)
        prune.random_unstructured(layer, "weight", 5)
        self.assertEqual("".join(str(int(v)) for v in layer.weight_mask.flatten().tolist()), "011111000011")

    def test_pruning_combines_and_ends(self):
        layer = nn.Linear(3, 2, bias=False)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]))
        prune.l1_unstructured(layer, "weight", 1)
        prune.ln_structured(layer, "weight", 1, n=2, dim=0)
        self.assertEqual(layer.weight.tolist(), [[0, 0, 0], [-4, 5, -6]])
        layer(torch.ones(1, 3)).sum().backward()
        self.assertEqual(layer.weight_orig.grad.tolist(), [[0, 0, 0], [1, 1, 1]])
        prune.l1_unstructured(layer, "weight", 1)
        self.assertEqual(layer.weight.tolist(), [[0, 0, 0], [0, 5, -6]])
        prune.remove(layer, "weight")
        self.assertEqual(list(layer.state_dict()), ["weight"])
        self.assertFalse(prune.is_pruned(layer))

    def test_fusion_computes_the_same(self):
        conv, norm = nn.Conv2d(2, 3, 3, bias=False).double().eval(), nn.BatchNorm2d(3).double().eval()
        with torch.no_grad():
            for t in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
                t.uniform_(0.5, 1.5)
        x = torch.randn(1, 2, 5, 5, dtype=torch.float64)
        close(self, nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)).detach().numpy(), 1e-10)

    def test_functional_call_of_a_module_within_itself(self):
        outer = nn.Sequential(nn.Linear(1, 1, bias=False))
        outer[0].back = outer
        call = torch.func.functional_call
        inner = outer[0]
        inner.forward = lambda x: x * outer[0].weight
        self.assertEqual(call(outer, {"0.back.0.weight": torch.tensor([[3.0]])}, torch.ones(1, 1), tie_weights=False).item(), 3.0)

    def test_functional_call_of_compiled_code_is_refused(self):
        layer = torch.jit.script(nn.Linear(1, 1))
        with self.assertRaisesRegex(RuntimeError, "keeps its own tensors"):
            torch.func.functional_call(layer, {"weight": torch.ones(1, 1)}, torch.ones(1, 1))

    def test_a_further_parametrization_inverts_its_own_result(self):
        class Shifted(nn.Module):
            def forward(self, x):
                return x + 10

            def right_inverse(self, y):
                if (y < 5).any():
                    raise ValueError("below 5")
                return y - 10

        class Nothing(nn.Module):
            def forward(self, x):
                return x

            def right_inverse(self, y):
                return None

        layer = nn.Linear(1, 1)
        nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
        before = layer.weight.item()
        nn.utils.parametrize.register_parametrization(layer, "weight", Shifted())
        self.assertAlmostEqual(layer.weight.item(), before + 10, 5)
        with self.assertRaisesRegex(ValueError, "got NoneType"):
            nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "weight", Nothing())

    def test_functional_call_leaves_the_module_alone(self):
        layer = nn.Linear(2, 1)
        weight = layer.weight
        other = torch.ones(1, 2).requires_grad_()
        out = nn.utils.stateless.functional_call(layer, {"weight": other, "bias": torch.zeros(1)}, torch.ones(1, 2))
        out.sum().backward()
        self.assertEqual((out.item(), other.grad.tolist()), (2.0, [[1, 1]]))
        self.assertIs(layer.weight, weight)
        with self.assertRaises(RuntimeError):
            nn.utils.stateless.functional_call(layer, {"weight": other}, torch.ones(1, 2), strict=True)

    def test_dropout_in_place_leaves_what_it_does_not_drop(self):
        kinds = [(kind, shape) for kind, shape in ((nn.Dropout, (2, 3)), (nn.AlphaDropout, (2, 3)), (nn.FeatureAlphaDropout, (2, 3, 4)), (nn.Dropout1d, (2, 3, 4)),
                                                   (nn.Dropout2d, (2, 3, 4, 4)), (nn.Dropout3d, (2, 3, 2, 2, 2)))]  # fmt: skip
        for kind, shape in kinds:
            for p, training in ((0.0, True), (0.5, False), (1.0, False)):
                x = torch.ones(shape, requires_grad=True)
                kept = x.softmax(-1)  # its gradient reads its value
                out = kind(p, inplace=True).train(training)(kept)
                self.assertIs(out, kept)
                self.assertEqual(kept._version, 0)
                out.square().sum().backward()
                self.assertIs(kind(p, inplace=True).train(training)(x), x)  # a leaf, which nothing changes
            kept = x.softmax(-1)
            dropped_in_place = kind(0.5, inplace=True)(kept) is kept
            self.assertEqual((dropped_in_place, kept._version), (False, 0) if "Alpha" in kind.__name__ else (True, 1))

    def test_modules_are_pruned_together_again(self):
        prune = nn.utils.prune
        net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
        with torch.no_grad():
            net[0].weight.copy_(torch.tensor([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]))
            net[1].weight.copy_(torch.tensor([[0.15, 0.25], [-0.35, 0.45]]))
        parameters = [(net[0], "weight"), (net[1], "weight")]
        masks = lambda: [[int(v) for v in layer.weight_mask.flatten()] for layer in net]
        prune.global_unstructured(parameters, prune.L1Unstructured, amount=0.3)
        self.assertEqual(masks(), [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1]])
        prune.global_unstructured(parameters, prune.L1Unstructured, amount=0.3)  # of those that are left
        self.assertEqual(masks(), [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1]])
        prune.custom_from_mask(net[1], "weight", torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        self.assertEqual(masks()[1], [0, 0, 0, 1])


if __name__ == "__main__":
    unittest.main()
