"""cond, while_loop, map, scan and associative_scan run as they are."""

import unittest

from cresset._dynamo.exc import UncapturedHigherOrderOpError
from cresset._higher_order_ops import associative_scan, map, scan, while_loop
from cresset.func import grad, jvp, vmap
from cresset.utils._pytree import tree_leaves

import cresset as torch

X = torch.linspace(-1, 1, 6).reshape(2, 3)
TRUE, FALSE = torch.tensor(True), torch.tensor(False)


class Case(unittest.TestCase):
    def same(self, got, expected):
        for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
            self.assertTrue(torch.allclose(torch.as_tensor(a), torch.as_tensor(b)), f"{a} is not {b}")

    def refused(self, says, call, error=UncapturedHigherOrderOpError):
        with self.assertRaisesRegex(error, says):
            call()


class Cond(Case):
    def test_a_branch_runs_by_the_value_of_the_predicate(self):
        for predicate, expected in ((TRUE, X + 1), (FALSE, X - 1), (torch.tensor([True]), X + 1), (torch.tensor(0), X - 1)):
            self.same(torch.cond(predicate, lambda x: x + 1, lambda x: x - 1, (X,)), expected)

    def test_operands_and_results_are_trees(self):
        got = torch.cond(TRUE, lambda d: {"o": (d["a"] * 2, 3)}, lambda d: {"o": (d["b"] * 1, 3)}, ({"a": X, "b": X},))
        self.same(got["o"][0], X * 2)
        self.assertEqual(got["o"][1], 3)

    def test_a_number_as_predicate_warns(self):
        with self.assertWarns(UserWarning):
            self.same(torch.cond(True, lambda x: x + 1, lambda x: x - 1, (X,)), X + 1)

    def test_gradients_reach_operands_and_closures(self):
        x, w = X.clone().requires_grad_(), torch.ones(3, requires_grad=True)
        self.same(torch.autograd.grad(torch.cond(TRUE, lambda x: x * x * w, lambda x: x.sin(), (x,)).sum(), (x, w)), (2 * X, (X * X).sum(0)))
        self.same(grad(lambda x: torch.cond(x.sum() > 9, lambda x: x + 1, lambda x: x.sin(), (x,)).sum())(X), X.cos())
        self.same(jvp(lambda x: torch.cond(TRUE, lambda x: x * x, lambda x: x * 1, (x,)), (X,), (X,))[1], 2 * X * X)

    def test_each_element_of_a_batch_has_its_own_branch(self):
        got = vmap(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)))(X)
        self.same(got, torch.stack([X[0] - 1, X[1] + 1]))
        self.same(vmap(lambda x: torch.cond(TRUE, lambda x: x + 1, lambda x: x - 1, (x,)))(X), X + 1)

    def test_branches_that_differ_are_errors(self):
        for other in (lambda x: (x + 1, x + 2), lambda x: x.sum(), lambda x: x.double(), lambda x: "a"):
            self.refused("cond: ", lambda other=other: torch.cond(TRUE, lambda x: x + 1, other, (X,)))
        self.refused("same structure", lambda: torch.cond(TRUE, lambda x: (x + 1,), lambda x: [x + 1], (X,)))

    def test_inputs_are_not_written_or_returned(self):
        self.refused("true_fn writes its input 0", lambda: torch.cond(FALSE, lambda x: x.add_(1), lambda x: x - 1, (X.clone(),)))
        self.refused("result 0 of false_fn shares memory", lambda: torch.cond(TRUE, lambda x: x + 1, lambda x: x, (X,)))

    def test_what_is_no_predicate_or_operand_is_an_error(self):
        for predicate in (torch.tensor([True, False]), "yes", None):
            self.refused("expected pred to be", lambda predicate=predicate: torch.cond(predicate, torch.sin, torch.cos, (X,)), RuntimeError)
        for operands in (X, (3,), (X, "a")):
            self.refused("expected operands", lambda operands=operands: torch.cond(TRUE, torch.sin, torch.cos, operands), RuntimeError)
        self.refused("expected true_fn to be callable", lambda: torch.cond(TRUE, 3, torch.cos, (X,)), RuntimeError)

    def test_random_numbers_are_drawn_once(self):
        torch.manual_seed(1)
        got = torch.cond(TRUE, lambda x: x + torch.rand_like(x), lambda x: x - 1, (X,))
        torch.manual_seed(1)
        self.same(got, X + torch.rand_like(X))

    def test_a_branch_may_ask_for_a_value(self):
        self.same(torch.cond(TRUE, lambda x: x + x.sum().item(), lambda x: x + 1, (torch.ones(2),)), torch.full((2,), 3.0))


class WhileLoop(Case):
    def test_it_goes_on_while_the_condition_holds(self):
        self.same(while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), X)), (torch.tensor(3), X * 8))
        self.same(while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (torch.tensor(0), X)), (torch.tensor(0), X))

    def test_a_loop_without_steps_copies_what_it_carries(self):
        (same,) = while_loop(lambda x: x.sum() > 100, lambda x: (x * 2,), (X,))
        self.assertNotEqual(same.data_ptr(), X.data_ptr())
        # so that a loop may be the body of another
        outer = lambda i, x: (i + 1, while_loop(lambda x: x.sum() > 100, lambda x: (x * 2,), (x,))[0])  # noqa: E731
        self.same(while_loop(lambda i, x: i < 2, outer, (torch.tensor(0), X)), (torch.tensor(2), X))

    def test_ints_and_trees_are_carried(self):
        got = while_loop(lambda i, d: i < 3, lambda i, d: (i + 1, {"a": d["a"] * 2}), (0, {"a": X}))
        self.assertEqual(got[0], 3)
        self.same(got[1]["a"], X * 8)

    def test_gradients_go_through_the_steps(self):
        x = X.clone().requires_grad_()
        self.same(torch.autograd.grad(while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * x), (torch.tensor(0), x))[1].sum(), x), (4 * X**3,))

    def test_each_element_takes_its_own_number_of_steps(self):
        got = vmap(lambda x: while_loop(lambda x: x.sum() < 10, lambda x: (x * 2,), (x,))[0])(torch.tensor([[1.0], [3.0], [20.0]]))
        self.same(got, torch.tensor([[16.0], [12.0], [20.0]]))

    def test_functions_that_do_not_fit_are_errors(self):
        carried = (torch.tensor(0), X)
        for body in (lambda i, x: (i + 1, torch.cat([x, x])), lambda i, x: (i + 1, x.double()), lambda i, x: (i + 1,), lambda i, x: (i + 1, x)):
            self.refused("while_loop: ", lambda body=body: while_loop(lambda i, x: i < 3, body, carried))
        for condition in (lambda i, x: i + 1, lambda i, x: x > 0, lambda i, x: True, lambda i, x: "a"):
            self.refused("while_loop: .*cond_fn", lambda condition=condition: while_loop(condition, lambda i, x: (i + 1, x + 1), carried))
        self.refused("tensors and ints", lambda: while_loop(lambda x: x < 3, lambda x: x, (2.0,)), AssertionError)


class Map(Case):
    def test_it_stacks_the_results_of_slices(self):
        self.same(map(lambda x, y: x.sin() + y, X, torch.ones(3)), X.sin() + 1)
        got = map(lambda x, y: {"o": x[0] * y, "p": (x[1].sum(),)}, (X, X * 2), 2.0)
        self.same(got["o"], X * 2)
        self.same(got["p"][0], X.sum(1) * 2)

    def test_none_stays_none(self):
        self.assertIsNone(map(lambda x: None, X))
        found, nothing = map(lambda x: (x + 1, None), X)
        self.same(found, X + 1)
        self.assertIsNone(nothing)

    def test_gradients_and_vmap(self):
        x, w = X.clone().requires_grad_(), torch.ones(3, requires_grad=True)
        self.same(torch.autograd.grad(map(lambda x, y: x * y * w, x, torch.ones(3)).sum(), (x, w)), (torch.ones(2, 3), X.sum(0)))
        self.same(vmap(lambda x: map(lambda y: y + 1, x))(torch.zeros(2, 4, 3)), torch.ones(2, 4, 3))

    def test_what_cannot_be_sliced_is_an_error(self):
        for xs in (torch.ones(0, 3), torch.tensor(1.0), (X, torch.ones(3)), 3, ()):
            self.refused("map: expected xs", lambda xs=xs: map(lambda x: x, xs), RuntimeError)
        for f in (lambda x: 3, lambda x: x, lambda x: x.add_(1)):
            self.refused("map: ", lambda f=f: map(f, X.clone()))


class Scan(Case):
    def test_it_carries_from_slice_to_slice(self):
        step = lambda c, x: (c + x, c * x)  # noqa: E731
        init = torch.ones(3)
        self.same(scan(step, init, X), (1 + X.sum(0), torch.stack([X[0], (1 + X[0]) * X[1]])))
        self.same(scan(step, init, X, reverse=True), (1 + X.sum(0), torch.stack([(1 + X[1]) * X[0], X[1]])))
        self.assertEqual(scan(step, torch.ones(2), X, dim=-1)[1].shape, (3, 2))
        carry, (a, b) = scan(lambda c, x: ({"a": c["a"] + x[0]}, (x[1] * 2, c["a"].sum())), {"a": init}, (X, X))
        self.same((carry["a"], a, b), (1 + X.sum(0), X * 2, torch.stack([init.sum(), (init + X[0]).sum()])))
        self.same(scan(lambda c, x: (c + x, []), init, X)[0], 1 + X.sum(0))

    def test_gradients_are_those_of_a_loop(self):
        x, c, w = X.double().requires_grad_(), torch.ones(3, dtype=torch.double).requires_grad_(), torch.ones(3, dtype=torch.double).requires_grad_()

        def f(c, x, w):
            return scan(lambda c, x: (c * x * w, c + x.sin()), c, x)

        self.assertTrue(torch.autograd.gradcheck(f, (c, x, w)))
        self.assertTrue(torch.autograd.gradgradcheck(f, (c, x, w)))

    def test_functions_that_do_not_fit_are_errors(self):
        init = torch.ones(3)
        for f in (
            lambda c, x: (c.sum(), x * 1),
            lambda c, x: (c.double(), x * 1),
            lambda c, x: c + x,
            lambda c, x: ((c + x, c + x), x * 1),
            lambda c, x: (c, x),
        ):
            self.refused("scan: ", lambda f=f: scan(f, init, X))
        self.refused("expected init", lambda: scan(lambda c, x: (c, x), [], X), RuntimeError)
        self.refused("expected dim from -2 to 1", lambda: scan(lambda c, x: (c, x), init, X, dim=5), IndexError)
        self.refused("expected reverse", lambda: scan(lambda c, x: (c, x), init, X, reverse=1), RuntimeError)


class AssociativeScan(Case):
    def test_prefixes_of_any_length(self):
        for n in (1, 2, 3, 4, 5, 8, 13):
            x = torch.rand(n, 2) + 0.5
            self.same(associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic"), x.cumprod(0))
            self.same(associative_scan(lambda a, b: a + b, x.t(), -1, reverse=True, combine_mode="generic"), x.t().flip(1).cumsum(1).flip(1))

    def test_functions_of_trees_that_do_not_commute(self):
        m = torch.rand(7, 2, 2)
        expected = [m[0]]
        for k in range(1, 7):
            expected.append(expected[-1] @ m[k])
        self.same(associative_scan(lambda a, b: {"m": a["m"] @ b["m"]}, {"m": m}, 0, combine_mode="generic")["m"], torch.stack(expected))

    def test_gradients_and_vmap(self):
        x = (torch.rand(5, dtype=torch.double) + 0.5).requires_grad_()
        w = torch.ones((), dtype=torch.double).requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(lambda x, w: associative_scan(lambda a, b: a * b * w, x, 0, combine_mode="generic"), (x, w)))
        self.same(vmap(lambda x: associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic"))(X), X.cumsum(1))

    def test_about_two_log_n_calls(self):
        calls = []
        associative_scan(lambda a, b: calls.append(1) or a + b, torch.ones(1024), 0, combine_mode="generic")
        self.assertLessEqual(len(calls), 20)

    def test_arguments_that_do_not_fit_are_errors(self):
        for error, options in ((ValueError, {}), (ValueError, {"combine_mode": "x"}), (IndexError, {"dim": 5, "combine_mode": "generic"})):
            self.refused("associative_scan: ", lambda options=options: associative_scan(lambda a, b: a + b, X, **{"dim": 0, **options}), error)
        for f in (lambda a, b: (a, b), lambda a, b: (a + b).sum()):
            self.refused("associative_scan: ", lambda f=f: associative_scan(f, X, 0, combine_mode="generic"))


class Names(unittest.TestCase):
    def test_operators_are_found_under_their_names(self):
        from cresset.functorch.experimental import control_flow

        for name in ("cond", "while_loop", "map_impl", "scan", "associative_scan"):
            self.assertEqual(str(getattr(torch.ops.higher_order, name)), name)
        self.assertIs(control_flow.map, map)
        self.assertIs(torch._higher_order_ops.while_loop, while_loop)


class InlineAssembly(unittest.TestCase):
    def test_shapes_without_values_and_errors(self):
        from cresset._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise as call

        meta = [torch.empty(3, 1, device="meta"), torch.empty(2, device="meta")]
        out = call(*meta, asm_str="add.f32 $0, $1, $2;", constraints="=f,f,f", dtype=torch.float16)
        self.assertEqual((out.shape, out.dtype, out.device.type), ((3, 2), torch.float16, "meta"))
        with self.assertRaisesRegex(RuntimeError, "CUDA tensors, got one on cpu"):
            call(torch.ones(2), asm_str="", constraints="=f,f", dtype=torch.float32)
        with self.assertRaisesRegex(ValueError, "1 outputs and 2 inputs, got 1 and 1"):
            call(*meta, asm_str="", constraints="=f,f", dtype=torch.float32)
        with self.assertRaisesRegex(ValueError, "one input tensor or more"):
            call(asm_str="", constraints="=f", dtype=torch.float32)


if __name__ == "__main__":
    unittest.main()
