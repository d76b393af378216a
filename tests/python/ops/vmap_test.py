"""torch.vmap: every element of a batch on its own, against a loop over the elements."""

import unittest

import cresset.nn.functional as F
from cresset.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap
from cresset.utils._pytree import tree_leaves, tree_map

import cresset as torch


def looped(f, *batches, in_dims=None):
    """Results of vmap, computed one element after another."""
    dims = in_dims or (0,) * len(batches)
    count = next(b.shape[d] for b, d in zip(batches, dims, strict=True) if d is not None)
    each = [f(*(b if d is None else b.select(d, i) for b, d in zip(batches, dims, strict=True))) for i in range(count)]
    return tree_map(lambda *parts: torch.stack(parts), each[0], *each[1:])


class Case(unittest.TestCase):
    def same(self, got, expected):
        got, expected = tree_leaves(got), tree_leaves(expected)
        self.assertEqual(len(got), len(expected))
        for a, b in zip(got, expected, strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True), f"differ by {(a - b).abs().max() if a.numel() else 0}")

    def mapped(self, f, *batches, in_dims=None):
        dims = in_dims or (0,) * len(batches)
        self.same(vmap(f, in_dims=dims)(*batches), looped(f, *batches, in_dims=dims))


X = torch.arange(12.0).view(3, 4) / 7 - 0.6


class Structure(Case):
    def test_dims(self):
        self.mapped(lambda a: a * 2, X, in_dims=(1,))
        self.mapped(lambda a, b: a @ b, X, torch.ones(4), in_dims=(0, None))
        self.same(vmap(lambda a: a, in_dims=-1, out_dims=-1)(X), X)
        self.same(vmap(lambda a: a, out_dims=1)(X), X.t())
        self.assertEqual(vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(X)[0].shape, (4, 3))

    def test_trees(self):
        f = vmap(lambda d, pair: {"sum": d["a"] + pair[0], "same": pair[1]}, in_dims=({"a": 0}, (1, None)), out_dims={"sum": 0, "same": None})
        got = f({"a": X}, (X.t(), torch.ones(2)))
        self.same(got, {"sum": X + X, "same": torch.ones(2)})
        self.same(vmap(lambda a, n: a * n, in_dims=(0, None))(X, 3), X * 3)
        self.same(vmap(lambda a, n=1: a * n)(X, n=3), X * 3)

    def test_nested(self):
        self.same(vmap(vmap(lambda a: a.exp()))(X), X.exp())
        self.same(vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(X[:, 0], X[0]), torch.outer(X[:, 0], X[0]))

    def test_chunks_are_the_same(self):
        for size in (1, 2, 3, 5):
            self.same(vmap(lambda a: a.cumsum(0), out_dims=1, chunk_size=size)(X), X.cumsum(1).t())

    def test_what_a_function_sees(self):
        def look(a):
            self.assertEqual((a.shape, a.dim(), a.numel(), a.dtype, len(a), a.device.type), ((4,), 1, 4, torch.float32, 4, "cpu"))
            self.assertTrue(repr(a).startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor("))
            return sum(a)

        self.same(vmap(look)(X), X.sum(1))

    def test_mistakes(self):
        for f, kind, message in (
            (lambda: vmap(lambda: 1)(), ValueError, "got no inputs"),
            (lambda: vmap(lambda a: a, in_dims=2)(X), ValueError, "expected -2 <= in_dim < 2"),
            (lambda: vmap(lambda a: a, in_dims="x")(X), ValueError, "expected `in_dims` to be an int"),
            (lambda: vmap(lambda a, b: a, in_dims=(0,))(X, X), ValueError, "in_dims and the inputs differ in structure"),
            (lambda: vmap(lambda a, b: a, in_dims=(None, None))(X, X), ValueError, "no tensor to map over"),
            (lambda: vmap(lambda a, b: a)(X, X.t()), ValueError, r"differ in size, got \[3, 4\]"),
            (lambda: vmap(lambda a: 3)(X), ValueError, "has to return tensors"),
            (lambda: vmap(lambda a: a, out_dims="a")(X), ValueError, "expected `out_dims` to be an int"),
            (lambda: vmap(lambda a: (a, a), out_dims=(0,))(X), ValueError, "out_dims and the outputs differ in structure"),
            (lambda: vmap(lambda a: a, out_dims=None)(X), ValueError, "returned a mapped tensor where out_dims is None"),
            (lambda: vmap(lambda a: a, out_dims=3)(X), IndexError, "out of range"),
            (lambda: vmap(lambda a: a, chunk_size=0)(X), ValueError, "chunk_size"),
            (lambda: vmap(lambda a: a, randomness="x"), RuntimeError, "expected randomness to be"),
            (lambda: vmap(lambda a: a.sum().item())(X), RuntimeError, r"item\(\) cannot give one number"),
            (lambda: vmap(lambda a: a if a.sum() else a)(X), RuntimeError, "no single truth value"),
            (lambda: vmap(lambda a: a.nonzero())(X), RuntimeError, "dynamic shape"),
            (lambda: vmap(lambda a: a.tolist())(X), RuntimeError, "has no storage"),
            (lambda: vmap(lambda a: torch.zeros(4).add_(a))(X), RuntimeError, "vmap: inplace arithmetic"),
            (lambda: vmap(lambda a: torch.rand(2))(X), RuntimeError, "under randomness='error'"),
        ):
            with self.assertRaisesRegex(kind, message):
                f()
        # The failed calls have left no level behind.
        self.same(vmap(lambda a: a + 1)(X), X + 1)
        torch.rand(2)


class Examples(Case):
    """Functions that read numbers run one example after another."""

    def same(self, f, *batch):
        expected = torch.stack([f(*(x[i] for x in batch)) for i in range(len(batch[0]))])
        torch.testing.assert_close(vmap(f)(*batch), expected)

    def test_ctc_loss_of_labels_and_lengths_of_their_own(self):
        torch.manual_seed(0)
        scores = torch.randn(3, 6, 2, 4).log_softmax(-1)
        labels = torch.randint(1, 4, (3, 2, 3))
        steps, lengths = torch.tensor([[6, 5], [6, 6], [4, 6]]), torch.tensor([[3, 1], [2, 2], [1, 3]])
        for reduction in ("none", "mean", "sum"):
            self.same(lambda s, l, n, m, reduction=reduction: F.ctc_loss(s, l, n, m, reduction=reduction), scores, labels, steps, lengths)

    def test_bags_with_padding(self):
        table, bags = torch.arange(10.0).reshape(5, 2), torch.tensor([[[0, 2, 2], [4, 1, 2]], [[2, 2, 2], [3, 2, 0]]])
        for mode in ("sum", "mean", "max"):
            self.same(lambda b, mode=mode: F.embedding_bag(b, table, padding_idx=2, mode=mode), bags)


class Looks(Case):
    def test_what_lies_under_an_element(self):
        seen = []

        def look(x):
            seen.append((tuple(torch.func.debug_unwrap(x).shape), tuple(torch.func.debug_unwrap(x, recurse=False).shape)))
            return x

        vmap(vmap(look))(torch.ones(2, 3))
        grad(lambda x: look(x).sum())(torch.ones(2))
        self.assertEqual(seen, [((2, 3), (3,)), ((2,), (2,))])
        self.assertRaises(TypeError, torch.func.debug_unwrap, 3)


class InPlace(Case):
    def test_of_batched_tensors(self):
        def f(a):
            b = a.clone()
            b[1:].mul_(a[0])
            b[0] = 5
            b += 1
            b.t_()
            b.unsqueeze_(0)
            return b

        self.mapped(f, X)
        self.mapped(f, X, in_dims=(1,))
        self.mapped(lambda a: torch.zeros_like(a).copy_(a), X)
        self.mapped(lambda a: a.new_zeros(2, 2).fill_(a.sum()), X)

    def test_changes_what_was_passed(self):
        x = X.clone()
        vmap(lambda a: a.mul_(2))(x)
        self.same(x, X * 2)


class Promotion(Case):
    def test_a_batch_of_numbers_promotes_like_a_number(self):
        numbers = torch.arange(3, dtype=torch.float64)
        self.mapped(lambda n, a: n * a, numbers, X)
        self.mapped(lambda n, a: n + a, numbers, torch.ones(2), in_dims=(0, None))
        self.mapped(lambda n: torch.tensor(1, dtype=torch.float64) + n, torch.ones(3))
        self.mapped(lambda n, a: a.add_(n), numbers, X.clone())


class Randomness(Case):
    def test_different_and_same(self):
        for f in (lambda a: torch.randn(5), lambda a: torch.rand_like(a), lambda a: a.clone().uniform_(), lambda a: torch.randperm(40)):
            different = vmap(f, randomness="different")(X)
            self.assertFalse(torch.equal(different[0], different[1]))
            same = vmap(f, randomness="same")(X)
            self.assertTrue(torch.equal(same[0], same[1]))
        torch.manual_seed(3)
        expected = torch.randn(3, 5)
        torch.manual_seed(3)
        self.same(vmap(lambda a: torch.randn(5), randomness="different")(X), expected)

    def test_dropout(self):
        ones = torch.ones(4, 64)
        same = vmap(lambda a: F.dropout(a, 0.5), randomness="same")(ones)
        self.assertTrue(torch.equal(same[0], same[3]) and 0 < same.sum() < 512)
        different = vmap(lambda a: F.dropout(a, 0.5), randomness="different")(ones)
        self.assertFalse(torch.equal(different[0], different[3]))
        self.same(vmap(lambda a: F.dropout(a, 0.5, training=False))(ones), ones)

    def test_dropout_of_channels(self):
        for f in (F.dropout1d, F.alpha_dropout, F.feature_alpha_dropout):
            for x in (torch.ones(4, 1, 40, 2), torch.ones(1, 40, 2)):
                batched = x.dim() == 4
                call = lambda a, b: f(a if batched else x, 0.5, True)  # noqa: E731, B023
                different = vmap(call, randomness="different")(torch.ones(4, 1, 40, 2), torch.ones(4))
                self.assertFalse(torch.equal(different[0], different[3]))
                same = vmap(call, randomness="same")(torch.ones(4, 1, 40, 2), torch.ones(4))
                self.assertTrue(torch.equal(same[0], same[3]))

    def test_nested(self):
        inner = vmap(lambda a: torch.randn(()), randomness="different")
        got = vmap(inner, randomness="same")(X)
        self.assertTrue(torch.equal(got[0], got[1]))
        self.assertFalse(torch.equal(got[0, 0], got[0, 1]))
        with self.assertRaisesRegex(RuntimeError, "under randomness='error'"):
            vmap(inner)(X)
        with self.assertRaisesRegex(RuntimeError, "that is not batched"):
            vmap(lambda a: torch.zeros(2).normal_(), randomness="different")(X)


class Derivatives(Case):
    def test_gradients_of_each_example(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
        weights = {name: p.detach() for name, p in net.named_parameters()}
        target = torch.tensor([0, 2, 1])

        def loss(values, x, y):
            return F.cross_entropy(functional_call(net, values, (x.unsqueeze(0),)), y.unsqueeze(0))

        got = vmap(grad(loss), in_dims=(None, 0, 0))(weights, X, target)
        self.same(got, looped(lambda x, y: grad(loss)(weights, x, y), X, target))

    def test_ensembles(self):
        models = [torch.nn.Linear(4, 2) for _ in range(3)]
        weights, buffers = stack_module_state(models)

        def call(w, b, x):
            return functional_call(models[0], (w, b), (x,))

        self.same(vmap(call, in_dims=(0, 0, None))(weights, buffers, X), torch.stack([m(X) for m in models]))
        got = torch.autograd.grad(vmap(call, in_dims=(0, 0, None))(weights, buffers, X).square().sum(), weights["weight"])[0]
        self.same(got, torch.stack([torch.autograd.grad(m(X).square().sum(), m.weight)[0] for m in models]))

    def test_nests_with_derivatives(self):
        f = lambda a: (a.sin() * a.cumsum(0)).sum()  # noqa: E731
        self.mapped(grad(f), X)
        self.mapped(grad(lambda a: grad(f)(a).square().sum()), X)
        self.mapped(hessian(f), X)
        self.mapped(jacfwd(jacrev(f)), X)
        self.mapped(jacrev(jacfwd(lambda a: a.sin() * a[0])), X)
        self.mapped(lambda a: jvp(grad(f), (a,), (a * 2,))[1], X)
        self.same(jvp(vmap(f), (X,), (X * 2,))[1], vmap(lambda a: jvp(f, (a,), (a * 2,))[1])(X))
        self.same(grad(lambda x: vmap(f)(x).sum())(X), vmap(grad(f))(X))
        self.same(grad(lambda w: vmap(lambda a: (a * w).sin().sum())(X).sum())(X[0]), (X * (X * X[0]).cos()).sum(0))
        w = X[0].clone().requires_grad_()
        self.same(torch.autograd.grad(vmap(grad(lambda a: (a * w).sin().sum()))(X).sum(), w)[0], ((X * w).cos() - X * w * (X * w).sin()).sum(0).detach())

    def test_vectors_times_one_jacobian(self):
        _, product = vjp(lambda a: a.sin() * a[1], X[0])
        self.same(vmap(product)(torch.eye(4)), looped(product, torch.eye(4)))
        self.mapped(lambda t: jvp(lambda a: a.sin() * a[1], (X[0],), (t,))[1], torch.eye(4))
        self.same(
            vmap(vmap(lambda a, t: jvp(torch.exp, (a,), (t,))[1], in_dims=(None, 0)), in_dims=(0, None))(X, X[0:2]), torch.einsum("ik,jk->ijk", X.exp(), X[0:2])
        )

    def test_mistakes(self):
        w = torch.ones(4, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "cannot be called inside of a function under vmap"):
            vmap(lambda a: (a * w).sum().backward())(X)
        with self.assertRaisesRegex(RuntimeError, "the same for the whole batch under vmap"):
            vmap(lambda a: torch.autograd.grad((a * w).sum(), w))(X)


class Doubled(torch.autograd.Function):
    """A gradient that is not the derivative, so that the two cannot be mixed up."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return 2 * grad * w, 2 * grad * x

    @staticmethod
    def jvp(ctx, x_t, w_t):
        return 3 * x_t


class Checkpoints(Case):
    def test_recomputation(self):
        from cresset.utils.checkpoint import checkpoint

        w = X[0] + 1
        f = lambda a, b: checkpoint(lambda a, b: (a * b).sin() * a, a, b, use_reentrant=False).sum()  # noqa: E731
        g = lambda a, b: ((a * b).sin() * a).sum()  # noqa: E731
        self.same(vmap(grad(f, argnums=(0, 1)), in_dims=(0, None))(X, w), vmap(grad(g, argnums=(0, 1)), in_dims=(0, None))(X, w))


class CustomFunctions(Case):
    def test_a_rule_made_of_the_methods(self):
        w = X[0] + 2
        self.same(vmap(Doubled.apply, in_dims=(0, None))(X, w), X * w)
        f = lambda a, b: Doubled.apply(a, b).sum()  # noqa: E731
        self.same(vmap(grad(f, argnums=(0, 1)), in_dims=(0, None))(X, w), (2 * w.expand(3, 4), 2 * X))
        self.same(vmap(vmap(grad(f)))(X.view(3, 4, 1), X.view(3, 4, 1)), 2 * X.view(3, 4, 1))
        self.same(grad(lambda a: vmap(lambda b: Doubled.apply(a, b))(X).sum())(w), 2 * X.sum(0))
        self.same(jacrev(lambda a: Doubled.apply(a, w))(X[0]), torch.diag(2 * w))

    def test_a_rule_of_its_own(self):
        seen = []

        class Sorted(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.sort().values

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                seen.append((info.batch_size, info.randomness, in_dims, x.shape))
                return x.sort(dim=1 - in_dims[0]).values, in_dims[0]

        self.same(vmap(Sorted.apply, in_dims=1)(X.flip(0)), X.t())
        self.assertEqual(seen, [(4, "error", (1,), (3, 4))])

    def test_mistakes(self):
        class Without(Doubled):
            generate_vmap_rule = False

        with self.assertRaisesRegex(RuntimeError, "has no rule for it"):
            vmap(Without.apply)(X, X)

        class Old(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

        with self.assertRaisesRegex(RuntimeError, "needs a setup_context of its own"):
            vmap(Old.apply)(X)


class Operators(Case):
    """Rules with several ways through them."""

    def each(self, f, *tensors):
        """With each choice of tensors that are batched, along the first and the last dimension."""
        for chosen in range(1, 2 ** len(tensors)):
            for last in (False, True):
                batches, dims = [], []
                for k, t in enumerate(tensors):
                    if chosen >> k & 1:
                        whole = torch.stack([t, t.flip(0) if t.dim() else t + 1, t * 2 if t.is_floating_point() else t], -1 if last else 0)
                        batches.append(whole)
                        dims.append(whole.dim() - 1 if last else 0)
                    else:
                        batches.append(t)
                        dims.append(None)
                self.mapped(f, *batches, in_dims=tuple(dims))
                if all(t.is_floating_point() for t in tensors):
                    g = grad(lambda *a: f(*a).sin().sum(), argnums=tuple(range(len(tensors))))
                    self.mapped(g, *batches, in_dims=tuple(dims))

    def test_products(self):
        m, n, v = torch.randn(2, 4), torch.randn(4, 3), torch.randn(4)
        for f, args in (
            (torch.mm, (m, n)),
            (torch.mv, (m, v)),
            (torch.dot, (v, v + 1)),
            (torch.bmm, (torch.randn(2, 3, 4), torch.randn(2, 4, 2))),
            (lambda b, a, c: torch.addmm(b, a, c, beta=0.5, alpha=2), (torch.randn(3), m, n)),
            (torch.addmv, (torch.randn(2), m, v)),
            (torch.baddbmm, (torch.randn(2, 3, 2), torch.randn(2, 3, 4), torch.randn(2, 4, 2))),
            (F.linear, (m, n.t(), torch.randn(3))),
            (torch.matmul, (torch.randn(2, 3, 4), n)),
            (lambda a, b: torch.einsum("ij,jk->ki", a, b), (m, n)),
        ):
            self.each(f, *args)

    def test_convolutions(self):
        torch.manual_seed(0)
        x, b = torch.randn(2, 4, 5), torch.randn(6)
        for groups in (1, 2):
            self.each(lambda x, w, b, g=groups: F.conv1d(x, w, b, padding=1, stride=2, groups=g), x, torch.randn(6, 4 // groups, 3), b)
            self.each(lambda x, w, b, g=groups: F.conv_transpose1d(x, w, b, groups=g), x, torch.randn(4, 6 // groups, 3), b)
        self.each(lambda x, w: F.conv2d(x, w), torch.randn(3, 5, 5), torch.randn(2, 3, 2, 2))

    def test_normalisation(self):
        torch.manual_seed(0)
        x, w, b = torch.randn(3, 4, 5), torch.randn(4), torch.randn(4)
        self.each(lambda x, w, b: F.layer_norm(x, (4,), w, b), torch.randn(3, 4), w, b)
        self.each(lambda x, w, b: F.group_norm(x, 2, w, b), x, w, b)
        self.each(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b)
        self.each(lambda x, m, v: F.batch_norm(x, m, v.abs() + 1, training=False), x, w, b)
        self.each(lambda x: F.instance_norm(x), x)
        with self.assertRaisesRegex(RuntimeError, "are not batched"):
            vmap(lambda a: F.batch_norm(a, torch.zeros(4), torch.ones(4), training=True))(x[None])

    def test_pooling_and_images(self):
        x = torch.randn(2, 3, 6, 6)
        for f in (
            lambda t: F.max_pool2d(t, 2),
            lambda t: F.avg_pool2d(t, 3, 2, 1),
            lambda t: F.adaptive_avg_pool2d(t, 2),
            lambda t: F.adaptive_max_pool2d(t, (3, 2)),
            lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"),
            lambda t: F.unfold(t, 2),
            lambda t: F.pad(t, (1, 2), value=3),
            lambda t: F.pad(t, (1, 2, 0, 1), mode="reflect"),
        ):
            self.each(f, x)
        self.each(lambda t: F.avg_pool2d(t, 2), x[0])

    def test_losses(self):
        x, target, weight = torch.randn(4, 5), torch.tensor([1, 0, 4, 2]), torch.rand(5)
        for reduction in ("none", "mean", "sum"):
            for f in (
                lambda x, y, w, r=reduction: F.nll_loss(x, y, w, ignore_index=0, reduction=r),
                lambda x, y, w, r=reduction: F.cross_entropy(x, y, w, reduction=r, label_smoothing=0.1),
            ):
                self.each(f, x, target, weight)
            self.each(lambda x, y, r=reduction: F.mse_loss(x, y, reduction=r), x, x * 0.5)
            f = lambda x, y, r=reduction: F.cross_entropy(x, y, reduction=r).sum()  # noqa: E731
            self.mapped(grad(f), torch.stack([x, x * 2]), torch.stack([target, target.flip(0)]))
        self.each(lambda x, y: F.cross_entropy(x, y), x[0], target[0])
        self.each(lambda x: F.binary_cross_entropy(x.sigmoid(), torch.ones(4, 5)), x)

    def test_reductions(self):
        torch.manual_seed(0)
        x = torch.rand(2, 3, 4) + 0.5
        for f in (
            lambda t: t.sum(),
            lambda t: t.sum((0, -1), keepdim=True),
            lambda t: t.mean(1),
            lambda t: (t / 2).prod(),
            lambda t: t.var(0),
            lambda t: t.max(),
            lambda t: t.amin((0, 1)),
            lambda t: t.norm(),
            lambda t: t.cumsum(-1),
            lambda t: t.logsumexp(1),
            lambda t: t.softmax(1),
            lambda t: t.sort(-1).values,
            lambda t: t.topk(2, 1).values,
            lambda t: t.median(),
            lambda t: t.std(),
            lambda t: t.roll(1),
            lambda t: t.roll((1, 2), (0, -1)),
            lambda t: t.flip(1, 2),
            lambda t: t.tril(),
            lambda t: t.repeat(2, 1, 1, 3),
            lambda t: t.unfold(2, 2, 1),
            lambda t: t.diagonal(0, 1, 2),
            lambda t: torch.fft.rfft(t, dim=1).abs(),
        ):
            self.each(f, x)
        for f in (
            lambda t: t.argmax(),
            lambda t: t.argmin(1, keepdim=True),
            lambda t: t.all(1).int(),
            lambda t: t.any().int(),
            lambda t: t.count_nonzero(),
            lambda t: t.argmax(keepdim=True),
        ):
            self.mapped(f, torch.stack([x, -x]))
        numbers = torch.arange(3.0)
        for f in (
            lambda t: t.sum(0),
            lambda t: t.cumsum(-1),
            lambda t: t.softmax(0),
            lambda t: t.max(0).values,
            lambda t: t.sum(0, keepdim=True),
            lambda t: t.sort().values,
        ):
            self.mapped(f, numbers)

    def test_indices(self):
        torch.manual_seed(0)
        x, i = torch.randn(4, 3, 4), torch.tensor([2, 0, 1])
        for f in (
            lambda t, i: t[i],
            lambda t, i: t[:, i],
            lambda t, i: t[i, :, i],
            lambda t, i: t[:, i, i],
            lambda t, i: t[None, i, ..., 0],
            lambda t, i: t[i[:, None], i],
            lambda t, i: t.index_select(2, i),
            lambda t, i: t.index_select(0, i[0]),
            lambda t, i: t.take(i),
            lambda t, i: t.gather(1, i.view(1, 3, 1).expand(4, 3, 4)),
            lambda t, i: t.scatter(1, i.view(1, 3, 1).expand(4, 3, 4), 5.0),
            lambda t, i: t.index_add(1, i, torch.ones(4, 3, 4), alpha=2),
            lambda t, i: t.index_copy(1, i, torch.ones(4, 3, 4)),
            lambda t, i: t.index_fill(1, i, 2.0),
            lambda t, i: t.index_put((i,), torch.ones(3, 4)),
            lambda t, i: t.index_put((i, i), torch.arange(4.0), accumulate=True),
            lambda t, i: F.embedding(i, t[0, :, :2]),
        ):
            self.each(f, x, i)

        def put(t, i, v):
            t = t.clone()
            t[:, i] = v
            t[i, :, i] += 1
            return t

        # One that is not batched cannot be written to.
        for dims in ((0, None, None), (0, 0, None), (0, None, 0), (0, 0, 0)):
            whole = [torch.stack([t, t.flip(0)]) if d == 0 else t for t, d in zip((x, i, torch.randn(3, 4)), dims, strict=True)]
            self.mapped(put, *whole, in_dims=dims)
        self.mapped(lambda k: x[k], i)
        self.mapped(lambda t, k: t[1, k], torch.stack([x, -x, x]), i)
        mask = torch.tensor([True, False, True])
        self.mapped(lambda t: t[:, mask], torch.stack([x, -x]))
        self.mapped(lambda t: t.masked_fill(t > 0, 1.0), x)
        self.mapped(lambda t: torch.where(t > 0, t, 0.0), x)

        def fill(t):
            t = t.clone()
            t[t > 0] = 7
            return t

        self.mapped(fill, x)
        self.each(lambda a, b: torch.cat([a, b, a], -1), x, x * 2)
        self.each(lambda a, b: torch.stack([a, b], 1), x, x * 2)
        self.each(lambda s, v: torch.searchsorted(s.sort().values, v), torch.randn(5), torch.randn(2, 3))

    def test_matrices(self):
        torch.manual_seed(0)
        a, b = torch.randn(3, 3, dtype=torch.float64) + 3 * torch.eye(3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
        for f in (torch.linalg.solve, lambda a, b: torch.linalg.solve_triangular(a.triu(), b, upper=True)):
            self.each(f, a, b)
        for f in (
            torch.linalg.inv,
            torch.linalg.det,
            lambda a: torch.linalg.svdvals(a),
            lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(3)),
            torch.linalg.matrix_exp,
        ):
            self.each(f, a)


class Batched(Case):
    """Several passes backwards at once."""

    def test_grads_batched(self):
        x = X.clone().requires_grad_()
        y, v = (x.sin() * x[0]).cumsum(1), torch.randn(5, 3, 4)
        (got,) = torch.autograd.grad(y, x, v, is_grads_batched=True, retain_graph=True)
        self.same(got, torch.stack([torch.autograd.grad(y, x, one, retain_graph=True)[0] for one in v]))

    def test_jacobians(self):
        f = lambda a, b: {"x": a.sin() * b.sum(), "y": (a[0] * b).view(2, 1)}  # noqa: E731
        a, b = X[0], X[1, :2]
        expected = jacrev(f, argnums=(0, 1))(a, b)
        self.assertEqual(expected["y"][1].shape, (2, 1, 2))
        self.same(jacfwd(f, argnums=(0, 1))(a, b), expected)
        for size in (1, 4, 100):
            self.same(jacrev(f, argnums=(0, 1), chunk_size=size)(a, b), expected)
        got, aux = jacfwd(lambda a: (a * 2, {"a": a.sum(), "n": [a.max()]}), has_aux=True)(a)
        self.same(got, 2 * torch.eye(4))
        self.assertEqual((aux["a"].item(), aux["n"][0].item()), (a.sum().item(), a.max().item()))

    def test_functional(self):
        f = lambda a, b: (a.exp() * b.sum(), a.sum())  # noqa: E731
        plain = torch.autograd.functional.jacobian(f, (X[0], X[1]))
        for strategy in ("reverse-mode", "forward-mode"):
            self.same(torch.autograd.functional.jacobian(f, (X[0], X[1]), vectorize=True, strategy=strategy), plain)
            g = lambda a: (a**3).sum()  # noqa: E731
            self.same(torch.autograd.functional.hessian(g, X[0], vectorize=True, outer_jacobian_strategy=strategy), torch.diag(6 * X[0]))

    def test_every_step_backwards_of_a_net(self):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 2),
            torch.nn.BatchNorm2d(2),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(8, 3),
            torch.nn.LayerNorm(3),
        )
        x = torch.randn(2, 1, 5, 5, requires_grad=True)
        y = F.log_softmax(net(x), -1)
        inputs, v = [x, *net.parameters()], torch.randn(3, 2, 3)
        got = torch.autograd.grad(y, inputs, v, is_grads_batched=True, retain_graph=True)
        each = [torch.autograd.grad(y, inputs, one, retain_graph=True) for one in v]
        for g, parts in zip(got, zip(*each, strict=True), strict=True):
            self.assertTrue(torch.allclose(g, torch.stack(parts), atol=1e-5))


class ChunksOfRandomNumbers(unittest.TestCase):
    def test_the_same_number_in_every_chunk(self):
        numbers = torch.vmap(lambda x: x + torch.rand(1), chunk_size=2, randomness="same")(torch.zeros(5))
        self.assertEqual(len(set(numbers.flatten().tolist())), 1)

    def test_different_numbers_in_every_chunk(self):
        numbers = torch.vmap(lambda x: x + torch.rand(1), chunk_size=2, randomness="different")(torch.zeros(5))
        self.assertEqual(len(set(numbers.flatten().tolist())), 5)


class PartsThatDiffer(unittest.TestCase):
    def test_of_a_whole_that_is_the_same(self):
        row, whole = torch.rand(4, 3), torch.zeros(3, 3)
        for scatter in (
            lambda s: torch.select_scatter(whole, s, 0, 1),
            lambda s: torch.diagonal_scatter(whole, s),
            lambda s: torch.slice_scatter(whole, s[None], 0, 1, 2),
        ):
            self.assertTrue(torch.equal(torch.vmap(scatter)(row), torch.stack([scatter(s) for s in row])))
            twice = torch.vmap(torch.vmap(scatter))(row[None].expand(2, 4, 3))
            self.assertTrue(torch.equal(twice[1], torch.vmap(scatter)(row)))

    def test_rows_of_weights(self):
        weights = torch.eye(6)[torch.tensor([[0, 3], [5, 1]])]  # each draws the one place that has a weight
        for in_dims, x in ((0, weights), (1, weights.movedim(0, 1))):
            drawn = torch.vmap(lambda w: torch.multinomial(w, 2, replacement=True), in_dims, randomness="different")(x)
            self.assertEqual(drawn.tolist(), [[[0, 0], [3, 3]], [[5, 5], [1, 1]]])
        with self.assertRaisesRegex(RuntimeError, "randomness='same'"):
            torch.vmap(lambda w: torch.multinomial(w, 1), randomness="same")(weights)


if __name__ == "__main__":
    unittest.main()
