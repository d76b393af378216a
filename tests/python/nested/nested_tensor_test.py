"""torch.nested: jagged and strided nested tensors, against the same computation on each component."""

import copy
import gc
import io
import pickle
import unittest

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

LENGTHS = (2, 3, 1)


def parts(width=4, grad=False):
    return [torch.sin(torch.arange(n * width, dtype=torch.float64) * 1.7 + n).reshape(n, width).requires_grad_(grad) for n in LENGTHS]


def jagged(grad=False):
    return torch.nested.nested_tensor(parts(), layout=torch.jagged, requires_grad=grad)


class Nested(unittest.TestCase):
    def assert_components(self, x, expected):
        self.assertTrue(x.is_nested)
        self.assertEqual(len(x.unbind()), len(expected))
        for got, want in zip(x.unbind(), expected, strict=True):
            torch.testing.assert_close(got, want)


class SizesTest(Nested):
    def test_the_ragged_size_is_a_nested_integer(self):
        x = jagged()
        size = x.shape[1]
        self.assertIsInstance(size, torch.SymInt)
        self.assertRegex(str(size), r"^j\d+$")
        self.assertTrue(size == x.shape[1] and size >= 2 and not size == 3)
        self.assertEqual(hash(size), hash(x.shape[1]))
        self.assertEqual(str(size * 4), f"4*{size}")
        self.assertTrue(torch.fx.experimental.symbolic_shapes.is_nested_int(size))

    def test_a_nested_integer_is_no_number(self):
        size = jagged().shape[1]
        for refused in (lambda: int(size), lambda: torch.zeros(size), lambda: size + 1, lambda: torch.zeros(3, 4).view(jagged().shape)):
            with self.assertRaises(RuntimeError):
                refused()
        with self.assertRaises(ValueError):
            size > 3  # noqa: B015

    def test_equal_offsets_are_equal_sizes(self):
        x, y = jagged(), jagged()
        z = torch.nested.nested_tensor_from_jagged(y.values(), x.offsets())
        self.assertEqual(x.shape, z.shape)
        self.assertEqual(x.shape, (x * 2).shape)
        self.assertNotEqual(x.shape, y.shape)
        self.assert_components(x + z, [2 * t for t in parts()])
        with self.assertRaisesRegex(RuntimeError, "offsets"):
            x + y

    def test_geometry(self):
        x = jagged()
        self.assertEqual((x.dim(), x.size(0), x.size(-1), x.numel(), len(x), x.layout, x.is_contiguous()), (3, 3, 4, 24, 3, torch.jagged, True))
        self.assertFalse(x.transpose(1, 2).is_contiguous())
        self.assertEqual(x.stride()[1:], (4, 1))


class MakingTest(Nested):
    def test_from_parts(self):
        values, offsets = torch.arange(6.0), torch.tensor([0, 2, 5, 6])
        expected = [values[:2], values[2:5], values[5:]]
        self.assert_components(torch.nested.nested_tensor_from_jagged(values, offsets), expected)
        self.assert_components(torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor(LENGTHS)), expected)
        with self.assertRaises(RuntimeError):
            torch.nested.nested_tensor_from_jagged(values)

    def test_gaps_between_components(self):
        x = torch.nested.nested_tensor_from_jagged(torch.arange(6.0), torch.tensor([0, 2, 5, 6]), torch.tensor([1, 2, 0]))
        expected = [torch.tensor([0.0]), torch.tensor([2.0, 3.0]), torch.tensor([])]
        self.assert_components(x, expected)
        self.assertEqual((x.numel(), x.is_contiguous(), x.contiguous().is_contiguous()), (3, False, True))
        self.assert_components(x.contiguous(), expected)
        self.assert_components(x * 2, [2 * t for t in expected])
        self.assertEqual(x.sum().item(), 5.0)
        self.assertEqual(x.sum(1).tolist(), [0.0, 5.0, 0.0])

    def test_narrow(self):
        dense = torch.arange(15.0).reshape(3, 5)
        x = torch.nested.narrow(dense, 1, torch.tensor([1, 0, 2]), torch.tensor([1, 2, 3]), layout=torch.jagged)
        self.assert_components(x, [dense[0, 1:2], dense[1, :2], dense[2, 2:]])
        with self.assertRaisesRegex(RuntimeError, "within"):
            torch.nested.narrow(dense, 1, 3, torch.tensor([1, 2, 3]), layout=torch.jagged)

    def test_another_dimension_may_be_ragged(self):
        x = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(2, 4)], layout=torch.jagged)
        self.assertEqual((x.shape[1], [tuple(t.shape) for t in x.unbind()]), (2, [(2, 3), (2, 4)]))

    def test_masked_select(self):
        x = torch.arange(6.0).reshape(2, 3)
        self.assert_components(torch.nested.masked_select(x, x > 1), [torch.tensor([2.0]), torch.tensor([3.0, 4.0, 5.0])])

    def test_refusals(self):
        make = torch.nested.nested_tensor
        for error, given in ((TypeError, 3), (RuntimeError, [3, torch.ones(2)]), (RuntimeError, []), (RuntimeError, [torch.ones(2), torch.ones(2, dtype=torch.int64)]),
                             (RuntimeError, [torch.ones(2, 3), torch.ones(3, 2)]), (RuntimeError, [torch.ones(2), torch.ones(2, 2)])):  # fmt: skip
            with self.subTest(given), self.assertRaises(error):
                make(given, layout=torch.jagged)
        with self.assertRaises(RuntimeError):
            make(parts(), layout=torch.sparse_coo)
        with self.assertRaises(RuntimeError):
            torch.nested.as_nested_tensor(jagged(), layout=torch.strided)


class OperatorsTest(Nested):
    """Each operator on a nested tensor gives what it gives on the components, and so do gradients."""

    def check(self, f, of_component=None, ragged=True):
        given = parts(grad=True)
        x = torch.nested.as_nested_tensor(given, layout=torch.jagged)
        y = f(x)
        expected = [(of_component or f)(t) for t in given]
        if ragged:
            self.assert_components(y, expected)
            rows = zip(y.unbind(), expected, strict=True)
        else:
            torch.testing.assert_close(y, torch.stack(expected))
            rows = zip(y, expected, strict=True)
        got_loss, want_loss = (sum((t.double() * (i + 1)).square().sum() for i, t in enumerate(row)) for row in zip(*rows, strict=True))
        got = torch.autograd.grad(got_loss, given, retain_graph=True)
        for a, b in zip(got, torch.autograd.grad(want_loss, given), strict=True):
            torch.testing.assert_close(a, b)

    def test_permute_takes_all_dimensions_once_and_leaves_the_batch(self):
        x = torch.nested.nested_tensor([torch.ones(2, 3, 4), torch.ones(1, 3, 4)], layout=torch.jagged)
        self.assertEqual(x.permute(0, 3, 2, 1).shape[1:3], (4, 3))
        for wrong in ((0, 2, 1), (0, 2, -2, 3), (1, 0, 2, 3)):
            self.assertRaises(ValueError, x.permute, wrong)
        self.assertRaises(IndexError, x.permute, (0, 5, 1, 2))

    def test_pointwise(self):
        row = torch.arange(4.0, dtype=torch.float64)
        for name, f in {
            "unary": lambda t: t.sin().exp(),
            "numbers": lambda t: 2 * t + 1 - t / 3,
            "products": lambda t: t * t - t.neg(),
            "row": lambda t: t * row + row,
            "where": lambda t: torch.where(t > 0, t, t * 3),
            "activations": lambda t: F.gelu(F.relu(t) + F.silu(t)),
            "mask": lambda t: t.masked_fill(t > 0, 7.0) + t,
            "in place": lambda t: (t * 1).mul_(t).add_(1),
            "powers": lambda t: t.pow(2).clamp(0.1, 0.5),
        }.items():
            with self.subTest(name):
                self.check(f)

    def test_one_number_for_each_component(self):
        x, each = jagged(True), torch.arange(3.0, dtype=torch.float64).reshape(3, 1, 1).requires_grad_()
        self.assert_components(x * each, [t * i for i, t in enumerate(parts())])
        (x * each).values().sum().backward()
        torch.testing.assert_close(each.grad.flatten(), torch.stack([t.sum() for t in parts()]))
        with self.assertRaisesRegex(RuntimeError, "batch"):
            x * torch.ones(2, 1, 1)

    def test_products_and_norms(self):
        weight, bias = torch.arange(8.0, dtype=torch.float64).reshape(2, 4) / 8, torch.ones(2, dtype=torch.float64)
        for name, f in {
            "linear": lambda t: F.linear(t, weight, bias),
            "matmul": lambda t: torch.matmul(t, weight.t()),
            "operator": lambda t: t @ weight.t(),
            "layer_norm": lambda t: F.layer_norm(t, (4,)),
            "rms_norm": lambda t: F.rms_norm(t, (4,)),
            "softmax": lambda t: F.softmax(t, -1),
            "log_softmax": lambda t: F.log_softmax(t, -1),
        }.items():
            with self.subTest(name):
                self.check(f)

    def test_each_component_with_its_own_matrix(self):
        x, w = jagged(), torch.arange(24.0, dtype=torch.float64).reshape(3, 4, 2)
        self.assert_components(torch.bmm(x, w), [t @ w[i] for i, t in enumerate(parts())])
        torch.testing.assert_close(torch.matmul(x.transpose(1, 2), x), torch.stack([t.t() @ t for t in parts()]))
        with self.assertRaisesRegex(RuntimeError, "two dimensions"):
            torch.matmul(x, x.transpose(1, 2))

    def test_shapes(self):
        for name, f, g in (
            ("transpose", lambda x: x.transpose(1, 2) * 1, lambda t: t.t()),
            ("heads", lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2), lambda t: t.unflatten(-1, (2, 2)).transpose(0, 1)),
            ("back", lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2).transpose(1, 2).flatten(2), lambda t: t),
            ("view", lambda x: x.view(3, -1, 2, 2), lambda t: t.view(-1, 2, 2)),
            ("view by size", lambda x: x.view(3, x.shape[1], 2, -1), lambda t: t.view(-1, 2, 2)),
            ("unsqueeze", lambda x: x.unsqueeze(1), lambda t: t.unsqueeze(0)),
            ("squeeze", lambda x: x.unsqueeze(1).squeeze(1), lambda t: t),
            ("chunk", lambda x: x.chunk(2, -1)[1], lambda t: t.chunk(2, -1)[1]),
            ("split", lambda x: x.split([1, 3], -1)[1], lambda t: t[:, 1:]),
            ("slice", lambda x: x[..., 1:3], lambda t: t[:, 1:3]),
            ("select", lambda x: x.select(2, 1), lambda t: t[:, 1]),
            ("cat", lambda x: torch.cat([x, x * 2], -1), lambda t: torch.cat([t, t * 2], -1)),
            ("stack", lambda x: torch.stack([x, x * 2], 1), lambda t: torch.stack([t, t * 2])),
            ("expand", lambda x: x.unsqueeze(-1).expand(3, x.shape[1], 4, 2), lambda t: t.unsqueeze(-1).expand(-1, 4, 2)),
        ):
            with self.subTest(name):
                self.check(f, g)

    def test_reductions(self):
        for name in ("sum", "mean", "amax", "amin", "logsumexp"):
            with self.subTest(name):
                reduce = getattr(torch, name)
                self.check(lambda x: reduce(x, 1), lambda t: reduce(t, 0), ragged=False)
                self.check(lambda x: reduce(x, -1), lambda t: reduce(t, -1))
                self.check(lambda x: reduce(x, -1, keepdim=True), lambda t: reduce(t, -1, keepdim=True))
        self.check(lambda x: torch.mean(x, (1, 2)), lambda t: t.mean(), ragged=False)
        self.check(lambda x: x.max(1).values, lambda t: t.max(0).values, ragged=False)
        self.check(lambda x: torch.softmax(x, 1), lambda t: torch.softmax(t, 0))

    def test_reductions_of_all(self):
        x, whole = jagged(True), torch.cat(parts())
        for name in ("sum", "mean", "max", "argmax", "prod"):
            torch.testing.assert_close(getattr(x, name)(), getattr(whole, name)(), msg=name)
        torch.testing.assert_close(x.sum((0, 1)), whole.sum(0))
        x.sum().backward()
        self.assertEqual((x.grad.layout, x.grad.values().unique().tolist()), (torch.jagged, [1.0]))
        with self.assertRaisesRegex(RuntimeError, "batch"):
            x.sum(0)

    def test_padding(self):
        x = jagged(True)
        padded = torch.nested.to_padded_tensor(x, -1.0)
        torch.testing.assert_close(padded, nn.utils.rnn.pad_sequence(parts(), batch_first=True, padding_value=-1.0))
        self.assertEqual(x.to_padded_tensor(9.0, (3, 5, 6))[2, 4, 5].item(), 9.0)
        padded.sum().backward()
        self.assertEqual(x.grad.values().unique().tolist(), [1.0])
        with self.assertRaisesRegex(RuntimeError, "at least"):
            x.to_padded_tensor(0.0, (3, 2, 4))

    def test_attention_is_within_components(self):
        offsets = torch.tensor([0, 2, 5, 6])
        given = [torch.sin(torch.arange(48.0, dtype=torch.float64) * 1.3 + i).reshape(6, 8).requires_grad_() for i in range(3)]
        heads = lambda t: t.unflatten(-1, (2, 4)).transpose(-3, -2)  # noqa: E731
        for causal in (False, True):
            x = F.scaled_dot_product_attention(*(heads(torch.nested.nested_tensor_from_jagged(t, offsets)) for t in given), is_causal=causal)
            dense = [F.scaled_dot_product_attention(*(heads(t[a:b])[None] for t in given), is_causal=causal)[0] for a, b in ((0, 2), (2, 5), (5, 6))]
            self.assert_components(x, dense)
            got = torch.autograd.grad(x.values().square().sum(), given)
            want = torch.autograd.grad(sum(t.square().sum() for t in dense), given)
            for a, b in zip(got, want, strict=True):
                torch.testing.assert_close(a, b)

    def test_refusals(self):
        x = jagged()
        for error, call in ((NotImplementedError, lambda: x.t()), (NotImplementedError, lambda: x.cumsum(1)), (RuntimeError, lambda: x[0:2]), (RuntimeError, lambda: x.item()),
                            (ValueError, lambda: x.transpose(0, 1)), (RuntimeError, lambda: x.view(-1, 7)), (RuntimeError, lambda: x.flatten(1)), (IndexError, lambda: x[7]),
                            (RuntimeError, lambda: torch.cat([x, x], 1)), (RuntimeError, lambda: x.tolist()), (RuntimeError, lambda: x.numpy()), (RuntimeError, lambda: x.squeeze()),
                            (RuntimeError, lambda: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(1)))):  # fmt: skip
            with self.subTest(call.__code__.co_names), self.assertRaises(error):
                call()


class AutogradTest(Nested):
    def test_gradients_are_nested(self):
        x = jagged(True)
        (x.sin() * 2).values().sum().backward()
        self.assertIs(type(x.grad), type(x))
        self.assertEqual(x.grad.shape, x.shape)
        first = x.grad.values().clone()
        (x.sin() * 2).values().sum().backward()
        torch.testing.assert_close(x.grad.values(), 2 * first)

    def test_missing_gradients_of_functions_are_nested_zeros(self):
        seen = []

        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x + 1, x * 2

            @staticmethod
            def backward(ctx, first, second):
                seen.append(second)
                return first + second

        x = jagged(True)
        out, _ = Two.apply(x)
        out.backward(torch.ones_like(out))
        self.assertEqual((seen[0].is_nested, seen[0].shape, seen[0].values().abs().sum().item()), (True, x.shape, 0))
        torch.testing.assert_close(x.grad.values(), torch.ones_like(x.values()))

    def test_second_derivatives(self):
        x = jagged(True)
        (grad,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x)
        torch.testing.assert_close(second.values(), 6 * torch.cat(parts()))

    def test_objects_come_back_each_time(self):
        # An object that is dropped while C++ keeps its tensor is the same one at each return, not only the first.
        x = jagged(True)
        x.sum().backward()
        for _ in range(4):
            gc.collect()
            self.assertIs(type(x.grad), type(x))
            self.assertEqual(x.grad.values().shape, (6, 4))

    def test_writes_into_shared_memory_are_refused_where_gradients_are_recorded(self):
        x = jagged(True) * 1
        view = x.transpose(1, 2)
        for written in (x, view):
            with self.assertRaisesRegex(RuntimeError, "clone"):
                written.mul_(2)
        view.clone().mul_(2)
        with torch.no_grad():
            y = jagged()
            y.transpose(1, 2).mul_(2)
        self.assert_components(y, [2 * t for t in parts()])

    def test_modes(self):
        x = jagged(True)
        with torch.no_grad():
            self.assertFalse((x * 2).requires_grad)
            self.assertFalse(x.values().requires_grad)
        with torch.inference_mode():
            self.assertTrue((x * 2).is_inference())
        with torch.autocast("cpu", torch.bfloat16):
            self.assertIs(F.linear(x.float(), torch.ones(2, 4)).dtype, torch.bfloat16)

    def test_training(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 1)).double()
        optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.1), []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (net(jagged()).values() - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 2)


class CopiesTest(Nested):
    def test_casts_and_likes(self):
        x = jagged()
        self.assert_components(x.float(), [t.float() for t in parts()])
        self.assert_components(x.to(torch.float16), [t.half() for t in parts()])
        self.assert_components(torch.ones_like(x), [torch.ones_like(t) for t in parts()])
        self.assertIs(x.to(torch.float64), x)
        self.assertEqual(torch.zeros_like(x, dtype=torch.int64).shape, x.shape)

    def test_files_and_copies(self):
        for x in (jagged(True), torch.nested.nested_tensor(parts())):
            file = io.BytesIO()
            torch.save(x, file)
            if x.layout == torch.jagged:
                self.assertIn(b"ctorch._tensor\n_rebuild_from_type_v2\n", file.getvalue())
                self.assertNotIn(b"_Raggedness", file.getvalue())
            for weights_only in (True, False):
                file.seek(0)
                loaded = torch.load(file, weights_only=weights_only)
                self.assertEqual((loaded.layout, loaded.requires_grad), (x.layout, x.requires_grad))
                self.assert_components(loaded.detach(), parts())
            for y in (loaded, pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), x.detach()):
                self.assert_components(y.detach(), parts())

    def test_a_damaged_file_is_refused(self):
        from cresset._utils import _rebuild_nested_tensor, _rebuild_njt

        def numbers(*values):
            return torch.tensor(values)

        sound = {"values": torch.zeros(4, 2), "offsets": numbers(0, 1, 4), "requires_grad": False}
        damages = [{"values": [1], "offsets": 2}] + [
            {**sound, **change}
            for change in (
                {"offsets": numbers(0, 1, 400)}, {"offsets": numbers(0, -1, 4)}, {"offsets": numbers(3, 1, 4)}, {"offsets": torch.zeros(3)}, {"lengths": numbers(1)},
                {"lengths": numbers(1, 1000)}, {"lengths": numbers(-1, 2)}, {"_ragged_idx": 7}, {"more": 1},
            )
        ]  # fmt: skip
        calls = [(_rebuild_njt, (damage,)) for damage in damages]
        buffer = torch.zeros(4)
        for sizes, strides, offset in (([5, 2], [2, 1], 0), ([2, 2], [1000, 1], 0), ([2, 2], [2, 1], 10**9), ([2, 2], [2, 1], -5), ([2**62, 4], [4, 1], 0)):
            calls.append((_rebuild_nested_tensor, (buffer, numbers(sizes), numbers(strides), numbers(offset))))

        class Damaged:
            def __init__(self, call):
                self.call = call

            def __reduce__(self):
                return self.call

        for call in calls:
            file = io.BytesIO()
            torch.save(Damaged(call), file)
            for weights_only in (True, False) if call[0] is _rebuild_njt else (True,):
                file.seek(0)
                with self.assertRaisesRegex((pickle.UnpicklingError, RuntimeError), "nested|NestedTensor"):
                    torch.load(file, weights_only=weights_only)

    def test_edges(self):
        for layout in (torch.strided, torch.jagged):
            with self.assertRaisesRegex(RuntimeError, "two dimensions at least, got 0"):
                torch.nested.as_nested_tensor(torch.tensor(3.0), layout=layout)
        empty = torch.nested.nested_tensor([])
        self.assertTrue(empty.is_contiguous())
        self.assertEqual(torch.nested.to_padded_tensor(empty, 0).tolist(), [])

    def test_a_component_is_normalised_as_a_whole(self):
        x = jagged()
        self.assertEqual(x.dim(), 3)
        norm = torch.nn.functional.layer_norm
        self.assert_components(norm(x, (x.size(1), x.size(2))), [norm(t, t.shape) for t in parts()])
        with self.assertRaisesRegex(RuntimeError, "no weight"):
            norm(x, (x.size(1), x.size(2)), torch.ones(3))

    def test_contiguous_closes_gaps(self):
        dense = torch.arange(24.0).reshape(2, 4, 3)
        x = torch.nested.narrow(dense, 1, torch.tensor([1, 0]), torch.tensor([2, 3]), layout=torch.jagged)
        for y in (x, x.transpose(1, 2)):
            z = y.contiguous()
            self.assertTrue(z.is_contiguous())
            self.assertEqual([t.tolist() for t in z.unbind()], [t.tolist() for t in y.unbind()])

    def test_printing(self):
        x = jagged(True)
        self.assertEqual(repr(x), f"NestedTensor(size=(3, {x.shape[1]}, 4), offsets=tensor([0, 2, 5, 6]), requires_grad=True, contiguous=True)")
        self.assertEqual(str(torch.nested.nested_tensor([[1, 2], [3]])), "nested_tensor([\n  tensor([1, 2]),\n  tensor([3])\n])")


class StridedTest(Nested):
    def test_facts(self):
        x = torch.nested.nested_tensor(parts())
        self.assertEqual((x.layout, x.dim(), x.size(0), x.size(2), x.numel(), x.is_contiguous()), (torch.strided, 3, 3, 4, 24, True))
        self.assertEqual(x._nested_tensor_size().tolist(), [[2, 4], [3, 4], [1, 4]])
        self.assertEqual(x._nested_tensor_storage_offsets().tolist(), [0, 8, 20])
        with self.assertRaises(RuntimeError):
            x.size(1)

    def test_operators_and_gradients(self):
        weight = torch.arange(8.0, dtype=torch.float64).reshape(2, 4)
        for name, f in {
            "pointwise": lambda t: F.relu(t) * t + 1 - t.tanh(),
            "linear": lambda t: F.linear(t, weight),
            "product": lambda t: torch.matmul(t, t.transpose(-1, -2)),
            "softmax": lambda t: F.softmax(t, -1),
            "layer_norm": lambda t: F.layer_norm(t, (4,)),
        }.items():
            with self.subTest(name):
                given = parts(grad=True)
                y = f(torch.nested.as_nested_tensor(given))
                expected = [f(t) for t in given]
                self.assert_components(y, expected)
                got = torch.autograd.grad(y.to_padded_tensor(0.0).square().sum(), given)
                for a, b in zip(got, torch.autograd.grad(sum(t.square().sum() for t in expected), given), strict=True):
                    torch.testing.assert_close(a, b)

    def test_any_dimension_may_differ(self):
        x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 4)])
        self.assertEqual((x * 2).to_padded_tensor(0.0).sum().item(), 20.0)
        self.assertEqual(x.to_padded_tensor(0.0).shape, (2, 2, 4))

    def test_chunks_are_of_the_last_dimension_and_even(self):
        x = torch.nested.nested_tensor([torch.ones(3, 12), torch.ones(2, 12)])
        self.assertEqual([tuple(t.shape) for t in x.chunk(3, -1)[2].unbind()], [(3, 4), (2, 4)])
        for call in (lambda: x.chunk(2, 1), lambda: x.chunk(2, 0), lambda: x.chunk(5, -1), lambda: x.chunk(3, -1)[0].chunk(2, -1), lambda: x.chunk(0, -1)):
            self.assertRaises(RuntimeError, call)

    def test_refusals(self):
        x = torch.nested.nested_tensor(parts())
        for error, call in ((RuntimeError, lambda: x.sum(1)), (RuntimeError, lambda: x + torch.nested.nested_tensor(parts()[:2])), (TypeError, lambda: torch.nested.nested_tensor(3)),
                            (RuntimeError, lambda: x.view(-1)), (RuntimeError, lambda: x.numpy()), (NotImplementedError, lambda: x.cumsum(1))):  # fmt: skip
            with self.subTest(call.__code__.co_names), self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
