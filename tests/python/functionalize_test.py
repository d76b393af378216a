"""torch.functionalize: the same results, without changes in place."""

import random
import unittest

import pytest
from cresset.func import functionalize, grad, hessian, jacfwd, jvp, vmap
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.utils._pytree import tree_leaves

import cresset as torch

X = torch.arange(8.0).view(4, 2)
REMOVE = ("mutations", "mutations_and_views")


class Case(unittest.TestCase):
    def same(self, got, expected):
        for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            self.assertTrue(torch.allclose(a, b), f"{a} is not {b}")

    def check(self, f, *args):
        for remove in REMOVE:
            one, other = [a.clone() for a in args], [a.clone() for a in args]
            self.same(functionalize(f, remove=remove)(*one), f(*other))
            self.same(one, other)


class Functionalize(Case):
    def test_views_see_changes_of_their_base_and_the_other_way_round(self):
        def f(x):
            y = x.clone()
            row, flat = y[1], y.view(-1)
            row.add_(10)
            flat[0] = 9
            a, b = y.chunk(2)
            a.mul_(b)
            y.diagonal().zero_()
            parts = y.unbind(1)
            parts[1].sub_(1)
            return y, row, flat, a, b, parts[0]

        self.check(f, X)

    def test_strides_with_gaps_stay(self):
        def f(x):
            y = torch.empty_strided((2, 2), (5, 1))
            y.copy_(x)
            z = torch.empty_strided((2, 2), (1, 7))
            z.copy_(x)
            return y, z

        self.check(f, X[:2])
        self.assertEqual([t.stride() for t in functionalize(f)(X[:2])], [(5, 1), (1, 7)])

    def test_geometry_in_place_and_out(self):
        def f(x):
            y = x.clone()
            y.t_()
            y.unsqueeze_(0)
            out = torch.empty(2)
            torch.sum(y[0], 1, out=out)
            z = torch.zeros(3)
            z[:2].copy_(out)
            z.fill_(2).add_(1)
            return y, out, z

        self.check(f, X)

    def test_arguments_get_the_sizes_and_strides_that_the_function_has_left(self):
        def longer(x):
            x.resize_(3).fill_(2)
            return x

        def turned(x):
            return x.t_()

        x = torch.zeros(0)
        self.same(functionalize(longer)(x), torch.full((3,), 2.0))
        self.same(x, torch.full((3,), 2.0))
        for y in (torch.arange(6.0).view(2, 3), torch.arange(4.0).view(2, 2)):
            expected = y.t().clone()
            self.same(functionalize(turned)(y), expected)
            self.same(y, expected)
            self.assertEqual(y.stride(), (1, y.shape[0]))

    def test_arguments_are_written_once_and_returned_as_what_is_written(self):
        def f(x, y):
            x.add_(1)
            y[0].mul_(x[0])
            return x, y.sum()

        self.check(f, X, X * 2)
        x = X.clone()
        out = functionalize(lambda x: x.add_(1))(x)
        self.assertFalse(out is x or out.data_ptr() == x.data_ptr())
        self.same(out, X + 1)
        self.assertIs(functionalize(lambda x: x)(x), x)
        self.same(x, X + 1)
        # The same tensor twice is one tensor.
        x = X.clone()
        self.same(functionalize(lambda a, b: a.add_(1) + b)(x, x), (X + 1) * 2)

    def test_values_are_there(self):
        def f(x):
            x = x * 2
            x.add_(1)
            self.assertEqual((x[0, 0].item(), x.tolist()[0], bool(x[0, 0] > 0), x.numpy()[0, 1]), (1.0, [1.0, 3.0], True, 3.0))
            self.assertTrue(repr(x).startswith("tensor([[ 1.,  3.],"))
            return x

        self.check(f, X)

    def test_with_other_transforms(self):
        def f(x):
            y = torch.zeros(2)
            y.copy_(x.sin())
            y[0] *= x[1]
            return y.sum()

        x = torch.tensor([1.0, 2.0])
        expected = grad(f)(x)
        for got in (grad(functionalize(f))(x), functionalize(grad(f))(x)):
            self.same(got, expected)
            self.assertFalse(got.requires_grad)
        self.same(jvp(functionalize(f), (x,), (x,)), jvp(f, (x,), (x,)))
        # Into a tensor that is the same for the whole batch.
        self.same(vmap(functionalize(f))(X), torch.stack([f(row) for row in X]))
        self.same(vmap(grad(functionalize(f)))(X), torch.stack([grad(f)(row) for row in X]))
        self.same(functionalize(vmap(lambda a: a.clone().mul_(2)))(X), X * 2)
        with self.assertRaisesRegex(RuntimeError, "vmap: inplace arithmetic"):
            vmap(f)(X)

    def test_mistakes(self):
        with self.assertRaisesRegex(RuntimeError, "valid options for remove"):
            functionalize(lambda x: x, remove="all")

    def test_random_programs(self):
        views = (
            lambda t, r: t[r.randrange(t.shape[0])] if t.dim() > 1 else t[:],
            lambda t, r: t.transpose(0, -1),
            lambda t, r: t.narrow(0, 0, max(t.shape[0] - 1, 1)),
            lambda t, r: t.unsqueeze(r.randrange(t.dim() + 1)),
            lambda t, r: t.chunk(2, -1)[0],
            lambda t, r: t.reshape(-1),
            lambda t, r: t.flip(0),
            lambda t, r: t.expand(t.shape),
        )
        changes = (
            lambda t, o, r: t.add_(o.sum()),
            lambda t, o, r: t.mul_(0.5),
            lambda t, o, r: t.copy_(o.sum()),
            lambda t, o, r: t.clamp_(-3, 3),
            lambda t, o, r: t.__setitem__(0, 2.0),
            lambda t, o, r: t.sub_(t.mean()),
            lambda t, o, r: t.masked_fill_(t > 1, 1.5),
            lambda t, o, r: torch.neg(t.clone(), out=t),
        )

        def program(seed):
            def run(x, y):
                r = random.Random(seed)
                tensors = [x, y, x.clone(), torch.ones(3, dtype=x.dtype)]
                for _ in range(12):
                    t = r.choice(tensors)
                    if r.random() < 0.5:
                        tensors.append(r.choice(views)(t, r))
                    else:
                        r.choice(changes)(t, r.choice(tensors), r)
                return tensors

            return run

        for seed in range(300):
            with self.subTest(seed=seed):
                self.check(program(seed), X.double(), torch.linspace(-2, 2, 12, dtype=torch.float64).view(2, 3, 2))

    def test_graphs_hold_neither_changes_nor_views(self):
        def f(x):
            y = x.clone()
            y.fill_(3)
            y.t()[0].add_(1)
            y.transpose(0, 1).mul_(2)
            y.permute(1, 0).unsqueeze(0).add_(x.t())
            first, second = y.split(2)
            first.add_(second)
            y.unbind(0)[1].sub_(first[0])
            y.view(-1)[3:].squeeze().add_(1)
            z = y.clone()
            z.zero_()
            return y, z, second + 1

        for remove in REMOVE:
            graph = make_fx(functionalize(f, remove=remove))(X)
            self.same(graph(X), f(X))
            names = [n.target.__name__.partition(".")[0] for n in graph.graph.nodes if n.op == "call_function" and hasattr(n.target, "_schema")]
            self.assertFalse([name for name in names if name.endswith("_")])
            if remove == "mutations_and_views":
                self.assertFalse({"view", "t", "transpose", "permute", "unsqueeze", "squeeze", "split", "unbind", "select", "slice"} & set(names))


class Parts(Case):
    """The parts of functionalize, under PyTorch's names."""

    def test_a_function_by_hand(self):
        for reapply_views in (True, False):
            x = X.clone()
            wrapper = torch._to_functional_tensor(x)
            torch._enable_functionalization(reapply_views=reapply_views)
            try:
                part = wrapper[0]
                wrapper.add_(1)
                self.assertTrue(torch._is_functional_tensor(torch.zeros(2)))
            finally:
                torch._disable_functionalization()
            torch._sync(part)
            self.same([torch._from_functional_tensor(t) for t in (wrapper, part)], [X + 1, X[0] + 1])
            self.same(x, X)
            self.assertIs(torch._from_functional_tensor(torch._to_functional_tensor(x)), x)

    def test_a_wrapper_works_outside_of_the_scope(self):
        wrapper = torch._to_functional_tensor(X)
        self.assertTrue(torch._is_functional_tensor(wrapper + 1))
        self.same(torch._from_functional_tensor(wrapper + 1), X + 1)

    def test_mistakes(self):
        torch._enable_functionalization()
        try:
            self.assertRaisesRegex(RuntimeError, "enabled already", torch._enable_functionalization)
        finally:
            torch._disable_functionalization()
        for function in (torch._from_functional_tensor, torch._sync):
            self.assertRaisesRegex(RuntimeError, "expected a wrapper", function, X)
        self.assertRaisesRegex(RuntimeError, "no wrapper already", torch._to_functional_tensor, torch._to_functional_tensor(X))
        self.assertRaises(TypeError, torch._to_functional_tensor, 3)


if __name__ == "__main__":
    unittest.main()


@pytest.mark.parametrize("inner", [hessian, lambda f: jacfwd(grad(f)), lambda f: jacfwd(jacfwd(f))])
def test_second_derivatives_along_tangents_of_changed_values(inner):
    def cube(x):
        return (x.clone().mul_(x) * x).sum()

    x = torch.tensor([1.0, 2.0])
    assert functionalize(inner(cube))(x).tolist() == [[6, 0], [0, 12]]


@pytest.mark.parametrize("change", [lambda y: y.sin_(), lambda y: y.mul_(y), lambda y: y.add_(1), lambda y: y[:1].exp_() + y.sum()])
def test_changes_in_place_take_tangents_along(change):
    def derived(x):
        return jvp(lambda y: change(y.clone()) * 1, (x,), (x,))[1]

    def inside(x):
        return jvp(functionalize(lambda y: change(y.clone()) * 1), (x,), (x,))[1]

    x = torch.tensor([[0.5, 1.5], [2.0, 3.0]])
    expected = torch.stack([derived(row) for row in x])
    assert expected.abs().sum() > 0
    assert torch.equal(torch.stack([functionalize(derived)(row) for row in x]), expected)
    assert torch.equal(torch.stack([inside(row) for row in x]), expected)
    assert torch.equal(vmap(functionalize(derived))(x), expected)
    assert torch.equal(functionalize(vmap(derived))(x), expected)
