"""torch.vmap: every element of a batch on its own, against a loop over the elements."""

import unittest

import cresset as torch
import cresset.nn.functional as F
from cresset.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap
from cresset.utils._pytree import tree_leaves, tree_map


def looped(f, *batches, in_dims=None):
    """What vmap gives, one element after another."""
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
            self.assertTrue(torch.allclose(a, b, equal_nan=True), f"{a} is not {b}")

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
            (lambda: vmap(lambda a: a, in_dims=2)(X), ValueError, "in_dim to satisfy -2 <= in_dim < 2"),
            (lambda: vmap(lambda a: a, in_dims="x")(X), ValueError, "expected `in_dims` to be int"),
            (lambda: vmap(lambda a, b: a, in_dims=(0,))(X, X), ValueError, "not compatible with the structure of `inputs`"),
            (lambda: vmap(lambda a, b: a, in_dims=(None, None))(X, X), ValueError, "at least one Tensor"),
            (lambda: vmap(lambda a, b: a)(X, X.t()), ValueError, r"got sizes \[3, 4\]"),
            (lambda: vmap(lambda a: 3)(X), ValueError, "must only return Tensors"),
            (lambda: vmap(lambda a: a, out_dims="a")(X), ValueError, "`out_dims` must be an int"),
            (lambda: vmap(lambda a: (a, a), out_dims=(0,))(X), ValueError, "not compatible with the structure of `outputs`"),
            (lambda: vmap(lambda a: a, out_dims=None)(X), ValueError, "can not return a BatchedTensor when out_dim is None"),
            (lambda: vmap(lambda a: a, out_dims=3)(X), IndexError, "Dimension out of range"),
            (lambda: vmap(lambda a: a, chunk_size=0)(X), ValueError, "chunk_size"),
            (lambda: vmap(lambda a: a, randomness="x"), RuntimeError, "Only allowed values for randomness"),
            (lambda: vmap(lambda a: a.sum().item())(X), RuntimeError, r"calling .item\(\) on a Tensor"),
            (lambda: vmap(lambda a: a if a.sum() else a)(X), RuntimeError, "data-dependent control flow"),
            (lambda: vmap(lambda a: a.nonzero())(X), RuntimeError, "dynamic shape"),
            (lambda: vmap(lambda a: a.tolist())(X), RuntimeError, "doesn't have storage"),
            (lambda: vmap(lambda a: torch.zeros(4).add_(a))(X), RuntimeError, "vmap: inplace arithmetic"),
            (lambda: vmap(lambda a: torch.rand(2))(X), RuntimeError, "randomness error mode"),
        ):
            with self.assertRaisesRegex(kind, message):
                f()
        # The failed calls have left no level behind.
        self.same(vmap(lambda a: a + 1)(X), X + 1)
        torch.rand(2)


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

    def test_nested(self):
        inner = vmap(lambda a: torch.randn(()), randomness="different")
        got = vmap(inner, randomness="same")(X)
        self.assertTrue(torch.equal(got[0], got[1]))
        self.assertFalse(torch.equal(got[0, 0], got[0, 1]))
        with self.assertRaisesRegex(RuntimeError, "randomness error mode"):
            vmap(inner)(X)
        with self.assertRaisesRegex(RuntimeError, "on an unbatched tensor"):
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
        self.same(vmap(vmap(lambda a, t: jvp(torch.exp, (a,), (t,))[1], in_dims=(None, 0)), in_dims=(0, None))(X, X[0:2]), torch.einsum("ik,jk->ijk", X.exp(), X[0:2]))

    def test_mistakes(self):
        w = torch.ones(4, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "cannot be called inside of a function under vmap"):
            vmap(lambda a: (a * w).sum().backward())(X)
        with self.assertRaisesRegex(RuntimeError, "the same for the whole batch under vmap"):
            vmap(lambda a: torch.autograd.grad((a * w).sum(), w))(X)


if __name__ == "__main__":
    unittest.main()
