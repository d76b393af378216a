"""The opaque layout of to_mkldnn: results are those of dense tensors; what PyTorch refuses on it is refused."""

import copy
import pickle
import unittest

import cresset.nn.functional as F
from cresset.utils import mkldnn

import cresset as torch
from cresset import nn


class Base(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(2, 3, 8, 8)
        self.m = self.x.to_mkldnn()

    def same(self, opaque, dense):
        self.assertTrue(opaque.is_mkldnn)
        self.assertIs(opaque.layout, torch._mkldnn)
        self.assertIs(opaque.dtype, dense.dtype)
        self.assertEqual(opaque.shape, dense.shape)
        torch.testing.assert_close(opaque.to_dense(), dense)


class Layout(Base):
    def test_the_old_constructor_makes_none(self):
        opaque = torch.ones(2).to_mkldnn()
        for make in (opaque.new, lambda: opaque.new(2, 3), lambda: opaque.new([6.0]), lambda: opaque.new(torch.ones(2)), lambda: opaque.new(device="cpu")):
            with self.assertRaises(RuntimeError):
                make()

    def test_there_and_back(self):
        self.same(self.m, self.x)
        self.assertFalse(self.x.is_mkldnn)
        self.assertTrue(self.m.to_dense().is_contiguous())
        self.same(self.x.transpose(0, 1).to_mkldnn(), self.x.transpose(0, 1))
        self.same(self.x.to_mkldnn(torch.bfloat16), self.x.bfloat16())
        self.assertIs(self.m.to_dense(torch.float64).dtype, torch.float64)
        self.same(torch.zeros(0, 2).to_mkldnn(), torch.zeros(0, 2))
        self.same(torch.zeros(2, 3, layout=torch._mkldnn), torch.zeros(2, 3))

    def test_it_is_a_copy_and_dense_gives_another(self):
        dense = self.m.to_dense()
        dense.zero_()
        self.x.zero_()
        self.assertGreater(self.m.to_dense().abs().sum().item(), 0)

    def test_text(self):
        self.assertEqual(repr(torch.ones(2).to_mkldnn()), "tensor([1., 1.], layout=torch._mkldnn)")
        self.assertEqual(repr(torch.ones(1).bfloat16().to_mkldnn()), "tensor([1.], dtype=torch.bfloat16, layout=torch._mkldnn)")

    def test_what_cannot_be_in_it(self):
        for bad in (self.x.double(), self.x.int(), self.x.bool(), torch.tensor(1.0)):
            with self.assertRaises(RuntimeError):
                bad.to_mkldnn()
        with self.assertRaises(NotImplementedError):
            self.m.to_mkldnn()
        with self.assertRaises(NotImplementedError):
            torch.eye(2).to_sparse().to_mkldnn()
        with torch.no_grad():
            self.same(self.x.clone().requires_grad_().to_mkldnn(), self.x)

    def test_memory_is_not_to_be_seen(self):
        for look in ("data_ptr", "stride", "tolist", "item", "numpy", "untyped_storage"):
            with self.assertRaises((RuntimeError, TypeError), msg=look):
                getattr(self.m, look)()


class Operators(Base):
    def test_of_one_tensor(self):
        for f in (
            torch.relu, torch.sigmoid, torch.tanh, F.gelu, lambda t: F.softmax(t, 1), lambda t: t.softmax(-1), lambda t: F.max_pool2d(t, 2),
            lambda t: F.max_pool2d(t, 3, 2, 1, ceil_mode=True), lambda t: F.avg_pool2d(t, 3, 2, 1), lambda t: F.adaptive_avg_pool2d(t, (1, 2)),
            lambda t: t * 2, lambda t: t.reshape(2, -1), lambda t: t.flatten(1), lambda t: t.transpose(0, 1), torch.clone,
            lambda t: t.detach(), lambda t: t.contiguous(), lambda t: F.dropout(t, 0.5, False), lambda t: t.float(),
            lambda t: t.to("cpu"), lambda t: F.prelu(t, torch.full((1,), 0.1)),
        ):  # fmt: skip
            self.same(f(self.m), f(self.x))
        self.same(F.max_pool3d(self.x[None].to_mkldnn(), 2), F.max_pool3d(self.x[None], 2))
        self.same(F.avg_pool3d(self.x[None].to_mkldnn(), 2), F.avg_pool3d(self.x[None], 2))

    def test_of_two(self):
        y = torch.randn(2, 3, 8, 8)
        n = y.to_mkldnn()
        self.same(self.m + n, self.x + y)
        self.same(self.m * n, self.x * y)
        self.same(torch.add(self.m, n, alpha=2), torch.add(self.x, y, alpha=2))
        out = torch.zeros(2, 3, 8, 8).to_mkldnn()
        self.assertIs(torch.mul(self.m, n, out=out), out)
        self.same(out, self.x * y)
        for mixed in (lambda: self.m + y, lambda: y + self.m, lambda: self.m * y, lambda: y.copy_(self.m), lambda: self.m.copy_(y), lambda: self.m + 1):
            with self.assertRaises(RuntimeError):
                mixed()

    def test_in_place(self):
        for f in ("relu_", "sigmoid_", "tanh_", "zero_"):
            m, x, before = self.x.to_mkldnn(), self.x.clone(), self.m._version
            self.assertIs(getattr(m, f)(), m)
            self.same(m, getattr(x, f)())
        self.assertEqual(self.m._version, before)
        alias = self.m.detach()
        self.m.mul_(2).add_(self.x.to_mkldnn())
        self.same(self.m, self.x * 3)
        self.same(alias, self.x * 3)

    def test_transposed_convolutions(self):
        for d in (1, 2, 3):
            x, w = torch.rand(1, 4, *[5] * d), torch.rand(4, 2, *[3] * d)
            convolve = getattr(torch, f"conv_transpose{d}d")
            for weight in (w, w.to_mkldnn(), w.clone().requires_grad_()):
                y = convolve(x.to_mkldnn(), weight, torch.ones(2), stride=2)
                self.assertTrue(y.is_mkldnn)
                torch.testing.assert_close(y.to_dense(), convolve(x, w, torch.ones(2), stride=2), check_stride=False)
                self.assertEqual(y.requires_grad, weight.requires_grad)

    def test_weights_may_be_dense(self):
        for dims in (1, 2, 3):
            x, w, b = torch.randn(2, 4, *[5] * dims), torch.randn(6, 2, *[3] * dims), torch.randn(6)
            convolve = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
            expected = convolve(x, w, b, 2, 1, 1, 2)
            for weight, bias in ((w, b), (w.to_mkldnn(), b), (w.to_mkldnn(), b.to_mkldnn())):
                self.same(convolve(x.to_mkldnn(), weight, bias, 2, 1, 1, 2), expected)
            with self.assertRaises(RuntimeError):
                convolve(x, w.to_mkldnn(), b, 2, 1, 1, 2)
        # A view wakes the layer of gradients, which must not look into the values.
        weight = torch.randn(3, 8, 8)[1]
        self.same(F.linear(self.m, weight, weight[0]), F.linear(self.x, weight, weight[0]))

    def test_batch_norm_has_weights(self):
        statistics = [torch.rand(3) + 1 for _ in range(4)]
        self.same(F.batch_norm(self.m, *(s.to_mkldnn() for s in statistics)), F.batch_norm(self.x, *statistics))
        with self.assertRaises(RuntimeError):
            F.batch_norm(self.m, *statistics[:2])

    def test_everything_else_is_refused(self):
        x = self.m
        for f in (
            torch.exp, torch.sum, torch.zeros_like, F.silu, lambda t: t - t, lambda t: t / t, lambda t: t == t, lambda t: torch.equal(t, t),
            lambda t: t[0], lambda t: t.permute(1, 0, 2, 3), lambda t: t.unsqueeze(0), lambda t: t.squeeze(), lambda t: t.expand(2, 3, 8, 8),
            lambda t: t.view(2, -1), lambda t: t.view(torch.int32), lambda t: t.as_strided((2,), (1,)), lambda t: t.unfold(0, 1, 1),
            lambda t: t.split(1), lambda t: torch.cat([t, t]), lambda t: t.fill_(1), lambda t: t.resize_(1), lambda t: t.double(),
            lambda t: t.matmul(t), lambda t: F.pad(t, (1, 1)), lambda t: F.layer_norm(t, (8,)), lambda t: t.to_sparse(),
        ):  # fmt: skip
            with self.assertRaises(RuntimeError):
                f(x)
        self.same(x, self.x)


class Gradients(Base):
    def compare(self, run, *inputs, opaque=1):
        """Results and gradients of both orders, with the first inputs opaque, against those of dense tensors."""
        dense, other = ([t.detach().clone().requires_grad_() for t in inputs] for _ in range(2))
        expected = run(*dense)
        got = run(*(t.to_mkldnn() for t in other[:opaque]), *other[opaque:])
        self.assertTrue(got.is_mkldnn and got.requires_grad)
        got = got.to_dense()
        torch.testing.assert_close(got, expected)
        weights = torch.rand_like(expected)
        first = torch.autograd.grad((expected**2 * weights).sum(), dense, create_graph=True)
        second = torch.autograd.grad((got**2 * weights).sum(), other, create_graph=True)
        torch.testing.assert_close(second, first)
        first, second = (torch.autograd.grad(sum((g**2).sum() for g in grads), tensors) for grads, tensors in ((first, dense), (second, other)))
        torch.testing.assert_close(second, first, rtol=1e-4, atol=1e-4)

    def test_of_every_kind_of_operator(self):
        x, v = self.x, torch.rand(3)
        for run in (torch.relu, torch.sigmoid, torch.tanh, F.gelu, lambda t: t + t, lambda t: t * t, lambda t: F.softmax(t, 1), lambda t: t.reshape(2, -1),
                    lambda t: t.transpose(0, 1), lambda t: F.max_pool2d(t, 2), lambda t: F.avg_pool2d(t, 2), lambda t: F.adaptive_avg_pool2d(t, 2),
                    lambda t: t.clone(), lambda t: F.dropout(t, 0.5, False)):  # fmt: skip
            self.compare(run, x)
        self.compare(lambda t, w, b: F.batch_norm(t, None, None, w, b, training=True), x, v, v)
        for opaque in (1, 3):
            self.compare(F.linear, torch.randn(4, 5), torch.randn(2, 5), torch.randn(2), opaque=opaque)
            for dims in (1, 2, 3):
                x, w, b = torch.randn(2, 4, *[5] * dims), torch.randn(6, 4, *[3] * dims), torch.randn(6)
                self.compare((F.conv1d, F.conv2d, F.conv3d)[dims - 1], x, w, b, opaque=opaque)

    def test_of_opaque_leaves_are_opaque(self):
        leaf = torch.randn(2, 3).to_mkldnn().requires_grad_()
        for times in (1, 2):  # the second is added
            (leaf.to_dense() ** 2).sum().backward()
            self.same(leaf.grad, 2 * times * leaf.detach().to_dense())

    def test_of_another_dtype(self):
        x = torch.randn(2, 3, requires_grad=True)
        y = x.to_mkldnn(torch.bfloat16)
        self.assertIs(y.dtype, torch.bfloat16)
        y.to_dense(torch.float32).sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.ones(2, 3)))

    def test_refusals_stay(self):
        x = self.x.clone().requires_grad_()
        with self.assertRaises(RuntimeError):
            x.to_mkldnn() + self.x
        with self.assertRaises(RuntimeError):
            F.conv2d(x, torch.randn(2, 3, 3, 3).to_mkldnn())
        with self.assertRaisesRegex(RuntimeError, "not recorded"):
            x.to_mkldnn().relu_()
        with torch.no_grad():
            self.same(x.to_mkldnn().relu_(), x.relu())


class Modules(Base):
    def net(self):
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1, groups=2), nn.PReLU(),
            nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5),
        )  # fmt: skip
        net(self.x)
        return net.eval()

    def test_a_network(self):
        net = self.net()
        expected = net(self.x).detach()
        fast = mkldnn.to_mkldnn(net)
        self.same(fast(self.m), expected)
        self.assertEqual([type(m).__name__ for m in fast][:2] + [type(fast[8]).__name__], ["MkldnnConv2d", "MkldnnBatchNorm", "MkldnnLinear"])
        self.assertEqual(list(fast.parameters()), [])
        self.assertTrue(all(b.is_mkldnn for b in fast.buffers()))
        self.assertEqual([type(m) for m in net][0], nn.Conv2d)
        for copied in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            self.same(copied(self.m), expected)

    def test_gradients_go_through_to_the_input(self):
        for layer, shape in ((nn.PReLU(), (2, 3)), (nn.Linear(4, 2), (3, 4)), (nn.Conv2d(3, 2, 2), (1, 3, 4, 4)), (nn.BatchNorm2d(3).eval(), (1, 3, 4, 4))):
            x = torch.randn(shape)
            opaque, dense = x.to_mkldnn().requires_grad_(), x.clone().requires_grad_()
            mkldnn.to_mkldnn(layer)(opaque).to_dense().sum().backward()
            layer(dense).sum().backward()
            torch.testing.assert_close(opaque.grad.to_dense(), dense.grad)

    def test_dense_inputs_give_dense_results(self):
        linear = nn.Linear(8, 4)
        fast = mkldnn.to_mkldnn(linear)
        self.assertIs(fast(self.x).layout, torch.strided)
        torch.testing.assert_close(fast(self.x), linear(self.x).detach())
        low = mkldnn.to_mkldnn(linear, torch.bfloat16)
        self.assertIs(low.weight.dtype, torch.bfloat16)
        self.assertIs(low.bias.dtype, torch.float32)
        torch.testing.assert_close(low(self.x), linear(self.x).detach(), rtol=2e-2, atol=2e-2)
        with self.assertRaises(RuntimeError):
            mkldnn.to_mkldnn(nn.BatchNorm2d(3).eval())(self.x)

    def test_what_cannot_be_converted(self):
        for bad in (nn.BatchNorm2d(2), nn.BatchNorm2d(2, affine=False).eval(), nn.BatchNorm2d(2, track_running_stats=False).eval()):
            with self.assertRaises(AssertionError):
                mkldnn.to_mkldnn(bad)
        with self.assertRaises(AssertionError):
            mkldnn.to_mkldnn(nn.Linear(2, 2), torch.int32)
        with self.assertRaises(TypeError):
            mkldnn.to_mkldnn(nn.Conv2d(1, 2, 1, padding="same"))
        self.assertIs(type(mkldnn.to_mkldnn(nn.BatchNorm1d(2).eval())), nn.BatchNorm1d)


if __name__ == "__main__":
    unittest.main()
