"""torch.func: derivatives of functions of trees of tensors, nested in each other, against formulas; modules as functions."""

import unittest

from cresset.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
)
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch


def vec(*values):
    return torch.tensor(values, dtype=torch.float64)


X = vec(1.0, 2.0)


class Gradients(unittest.TestCase):
    def test_of_arguments_by_number(self):
        f = lambda x, y: (x * y).sum()  # noqa: E731
        self.assertEqual(grad(f)(X, X * 3).tolist(), [3, 6])
        self.assertEqual(grad(f, argnums=-1)(X, X * 3).tolist(), [1, 2])
        self.assertEqual([g.tolist() for g in grad(f, argnums=(1, 0))(X, X * 3)], [[1, 2], [3, 6]])
        self.assertEqual(grad(lambda x: torch.ones(()))(X).tolist(), [0, 0])

    def test_of_trees_with_values_and_more(self):
        gradient, (value, aux) = grad_and_value(lambda d: ((d["a"] * d["b"][0]).sum(), {"twice": d["a"] * 2}), has_aux=True)({"a": X, "b": [X]})
        self.assertEqual((gradient["a"].tolist(), gradient["b"][0].tolist(), value.item()), ([1, 2], [1, 2], 5))
        self.assertEqual(aux["twice"].tolist(), [2, 4])
        self.assertFalse(aux["twice"].requires_grad or value.requires_grad)

    def test_nested(self):
        f = lambda x: x**4  # noqa: E731
        self.assertEqual(grad(grad(grad(f)))(vec(2.0).sum()).item(), 48)

    def test_work_without_grad_mode_and_leave_no_history(self):
        w = vec(3.0).requires_grad_()
        f = lambda x: (w * x * x).sum()  # noqa: E731
        self.assertEqual(torch.autograd.grad(grad(f)(X).sum(), w)[0].item(), 6)
        self.assertFalse(grad(lambda x: (x * x).sum())(X).requires_grad)
        with torch.no_grad():
            self.assertFalse(grad(f)(X).requires_grad)
        self.assertIsNone(X.grad)

    def test_mistakes(self):
        for f, message in (
            (lambda: grad(lambda x: x)(X), "scalar tensor, got one with 1 dims"),
            (lambda: grad(lambda x: 1.0)(X), "expected the function to return a tensor"),
            (lambda: grad(lambda x: x.sum(), argnums=1)(X), "got argnum=1, but only 1 positional inputs"),
            (lambda: grad(lambda x: x.sum(), argnums=())(X), "must not be empty"),
            (lambda: grad(lambda x, y: x.sum(), argnums=(0, 0))(X, X), "each of argnums once"),
            (lambda: grad(lambda x: x.sum(), argnums="a")(X), "must be an int or a tuple of ints"),
            (lambda: grad(lambda x: x.sum(), has_aux=True)(X), r"returns \(output, aux\)"),
        ):
            with self.assertRaisesRegex(RuntimeError, message):
                f()
        with self.assertRaisesRegex(ValueError, "expected tensors, got float"):
            grad(lambda x: x.sum())(1.0)


class Products(unittest.TestCase):
    def test_vjp(self):
        output, product = vjp(lambda x, y: {"product": x * y, "x": x}, X, X * 3)
        self.assertEqual(output["product"].tolist(), [3, 12])
        cotangent = {"product": torch.ones_like(X), "x": X}
        for _ in range(2):
            self.assertEqual([g.tolist() for g in product(cotangent)], [[4, 8], [1, 2]])
        with self.assertRaisesRegex(RuntimeError, "expected a vector of the output's structure"):
            product(X)
        with self.assertRaisesRegex(RuntimeError, "only tensors"):
            vjp(lambda x: (x, 1), X)

    def test_jvp(self):
        value, tangent, aux = jvp(lambda x, y: ([x * y, y], x + 1), (X, X * 3), (torch.ones_like(X), torch.zeros_like(X)), has_aux=True)
        self.assertEqual((value[0].tolist(), tangent[0].tolist(), tangent[1].tolist(), aux.tolist()), ([3, 12], [3, 6], [0, 0], [2, 3]))
        for f, message in (
            (lambda: jvp(torch.sin, X, X), "primals to be a tuple"),
            (lambda: jvp(torch.sin, (X,), X), "tangents of the primals' structure"),
            (lambda: jvp(torch.sin, (X,), (torch.ones(3, dtype=torch.float64),)), "the primal's shape"),
            (lambda: jvp(torch.sin, (), ()), "at least one tensor"),
            (lambda: jvp(lambda x: torch.ones(2), (X,), (X,), strict=True), "independent of the inputs"),
        ):
            with self.assertRaisesRegex(RuntimeError, message):
                f()

    def test_jvp_is_differentiable_by_what_requires_grad(self):
        x, t = X.clone().requires_grad_(), vec(0.5, -1.0).requires_grad_()
        _, tangent = jvp(lambda v: v**3, (x,), (t,))
        by_x, by_t = torch.autograd.grad(tangent.sum(), (x, t))
        self.assertTrue(torch.allclose(by_x, 6 * X * t) and torch.allclose(by_t, 3 * X**2))

    def test_linearize_runs_the_function_once(self):
        calls = []

        def f(x):
            calls.append(1)
            return x.sin(), x.sum()

        output, derivative = linearize(f, X)
        for _ in range(2):
            along, of_sum = derivative(vec(3.0, 4.0))
            self.assertTrue(torch.allclose(along, X.cos() * vec(3.0, 4.0)))
            self.assertEqual(of_sum.item(), 7)
        self.assertEqual((len(calls), output[1].item()), (1, 3))
        with self.assertRaisesRegex(RuntimeError, "tangent 0 of the primal's shape"):
            derivative(torch.ones(3))
        with self.assertRaisesRegex(RuntimeError, "tangents of the primals' structure"):
            derivative(X, X)


class Matrices(unittest.TestCase):
    def test_jacrev_in_chunks_written_into_the_result(self):
        f = lambda x, y: (x.sin() * y, (x * y).sum())  # noqa: E731
        x, y = torch.randn(5), torch.randn(5)
        whole = jacrev(f, argnums=(0, 1))(x, y)
        for size in (1, 2, 6, 9):
            for preallocate in (False, True):
                parts = jacrev(f, argnums=(0, 1), chunk_size=size, _preallocate_and_copy=preallocate)(x, y)
                for a, b in zip(torch.utils._pytree.tree_leaves(whole), torch.utils._pytree.tree_leaves(parts), strict=True):
                    self.assertTrue(torch.allclose(a, b))

    def test_jacobians_in_both_modes(self):
        f = lambda x, y: {"outer": x.unsqueeze(1) * y.exp(), "sum": y.sum()}  # noqa: E731
        x, y = vec(1.0, 2.0, 3.0), vec(0.1, 0.2)
        for transform in (jacrev, jacfwd):
            jacobian = transform(f, argnums=(0, 1))(x, y)
            outer = jacobian["outer"]
            self.assertTrue(torch.allclose(outer[0], torch.eye(3, dtype=torch.float64).unsqueeze(1) * y.exp().view(1, 2, 1)))
            self.assertTrue(torch.allclose(outer[1], x.view(3, 1, 1) * torch.diag(y.exp())))
            self.assertEqual([part.tolist() for part in jacobian["sum"]], [[0, 0, 0], [1, 1]])
            value, aux = transform(lambda x: (x * x, x + 1), has_aux=True)(X)
            self.assertEqual((value.tolist(), aux.tolist()), ([[2, 0], [0, 4]], [2, 3]))
            self.assertEqual(transform(lambda x: x * 2)(torch.ones(0)).shape, (0, 0))

    def test_second_derivatives_in_all_four_ways(self):
        f = lambda x: (x**3).sum() + x.prod()  # noqa: E731
        expected = torch.tensor([[6.0, 1.0], [1.0, 12.0]], dtype=torch.float64)
        for outer in (jacrev, jacfwd):
            for inner in (jacrev, jacfwd):
                self.assertTrue(torch.allclose(outer(inner(f))(X), expected), (outer, inner))
        self.assertTrue(torch.allclose(hessian(f)(X), expected))

    def test_hessian_by_several_arguments(self):
        h = hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(X, X * 3)
        self.assertEqual([[part.diagonal().tolist() for part in row] for row in h], [[[6, 12], [2, 4]], [[2, 4], [0, 0]]])

    def test_hessian_of_a_network(self):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1)).double()
        f = lambda x: net(x).sum()  # noqa: E731
        h, eps = hessian(f)(X), 1e-5
        for i in range(2):
            step = torch.zeros_like(X)
            step[i] = eps
            column = (grad(f)(X + step) - grad(f)(X - step)) / (2 * eps)
            self.assertTrue(torch.allclose(h[i], column, rtol=1e-6, atol=1e-8))


class ValuesThatRulesLookAt(unittest.TestCase):
    """Rules that look at numbers, such as whether a loss depends on the free phase of vectors, look at all elements of a batch."""

    def test_vectors_of_complex_matrices(self):
        x = torch.randn(4, 4, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
        grads = torch.randn(3, 4, 4, dtype=torch.float64)
        for vectors in (lambda a: torch.linalg.eigh(a + a.mH)[1], lambda a: torch.linalg.eig(a)[1], lambda a: torch.linalg.svd(a)[0]):
            _, product = torch.func.vjp(lambda a, vectors=vectors: vectors(a).abs(), x)
            torch.testing.assert_close(torch.func.vmap(lambda g, product=product: product(g)[0])(grads), torch.stack([product(g)[0] for g in grads]))
            _, product = torch.func.vjp(vectors, x)
            with self.assertRaisesRegex(RuntimeError, "ill-defined"):
                torch.func.vmap(lambda g, product=product: product(g)[0])(grads + 0j)

    def test_tangents_of_logcumsumexp(self):
        x = torch.randn(5, 4, dtype=torch.float64)
        x[2, 1] = 2000

        def tangent(a):
            return torch.func.jvp(lambda t: t.logcumsumexp(0), (a,), (a.sin(),))[1]

        torch.testing.assert_close(torch.func.vmap(tangent)(x), torch.stack([tangent(a) for a in x]))


class NotMatrices(unittest.TestCase):
    def test_vectors_are_no_matrices_under_vmap(self):
        # Rows of a batch must not be taken for one matrix.
        batch, linalg = torch.eye(3) + 0.1, torch.linalg
        for function in (
            linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals, linalg.svd, linalg.svdvals, linalg.qr, linalg.cholesky, linalg.lu_factor,
            linalg.ldl_factor, linalg.matrix_exp, linalg.inv, linalg.det, torch.geqrf, lambda a: linalg.solve_triangular(a, a, upper=True),
        ):  # fmt: skip
            for in_dims in (0, 1):
                with self.assertRaises(RuntimeError):
                    torch.func.vmap(function, in_dims=in_dims)(batch)
            with self.assertRaises(RuntimeError):
                torch.func.vmap(torch.func.vmap(function))(batch.expand(2, 3, 3))
        values = torch.func.vmap(linalg.eigvalsh)(batch.expand(2, 3, 3))
        torch.testing.assert_close(values, linalg.eigvalsh(batch).expand(2, 3))


class ChangesInPlace(unittest.TestCase):
    """Functions that overwrite their arguments, forward mode turned off, and Jacobians row by row."""

    def test_parts_of_the_input_that_are_overwritten(self):
        def f(a, b):
            a[:2] = b
            return torch.stack([(a * a).sum(), (b * b).sum()])

        a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0])
        self.assertEqual(torch.func.jacfwd(f)(a.clone(), b).tolist(), [[0, 0, 6], [0, 0, 0]])

    def test_forward_mode_runs_where_it_is_turned_off_around(self):
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            self.assertEqual(torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))[1].item(), 2)

    def test_one_row_at_a_time_needs_no_batch(self):
        class Counts(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g * 2 * (len(g.nonzero()) > 0)

        x = torch.ones(2)
        self.assertEqual(torch.func.jacrev(Counts.apply, chunk_size=1)(x).tolist(), [[2, 0], [0, 2]])
        with self.assertRaises(RuntimeError):
            torch.func.jacrev(Counts.apply, chunk_size=2)(x)


class Modules(unittest.TestCase):
    def test_functional_call_under_grad(self):
        layer = torch.nn.Linear(2, 1).double()
        parameters = {name: p.detach() for name, p in layer.named_parameters()}
        gradient = grad(lambda p: functional_call(layer, p, X).sum())(parameters)
        self.assertEqual((gradient["weight"].tolist(), gradient["bias"].tolist()), ([[1, 2]], [1]))
        self.assertIsNone(layer.weight.grad)
        with self.assertRaises(ValueError):
            functional_call(layer, [{"weight": X}, {"weight": X}], X)
        with self.assertRaises(ValueError):
            functional_call(layer, 3, X)

    def test_stack_module_state(self):
        layers = [torch.nn.BatchNorm1d(2) for _ in range(3)]
        parameters, buffers = stack_module_state(layers)
        self.assertEqual((parameters["weight"].shape, buffers["running_mean"].shape), ((3, 2), (3, 2)))
        self.assertTrue(parameters["weight"].requires_grad and parameters["weight"].is_leaf and not buffers["running_mean"].requires_grad)
        for models, message in (
            ([], "at least one model"),
            ([layers[0], torch.nn.ReLU()], "of one class"),
            ([layers[0], torch.nn.BatchNorm1d(2).eval()], "same mode"),
        ):
            with self.assertRaisesRegex(RuntimeError, message):
                stack_module_state(models)

    def test_batch_norms_without_memory(self):
        net = replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.ReLU()))
        self.assertIsNone(net[0].running_mean)
        self.assertFalse(net[0].track_running_stats)


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(1)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.factor * getattr(self, "extra", 1)


class ModulesAsFunctions(unittest.TestCase):
    def test_a_tensor_that_is_a_plain_attribute_is_replaced(self):
        module = Plain()
        self.assertEqual(functional_call(module, {"factor": torch.zeros(1)}, torch.ones(1)).item(), 0)
        self.assertEqual(module.factor.item(), 1)

    def test_a_tensor_that_is_not_there_appears_for_the_call(self):
        module = Plain()
        self.assertEqual(functional_call(module, {"extra": torch.full((1,), 5.0)}, torch.ones(1)).item(), 5)
        self.assertFalse(hasattr(module, "extra"))

    def test_an_assigned_buffer_goes_to_the_dictionary(self):
        module, given = Plain(), {"calls": torch.tensor(2.0)}
        functional_call(module, given, torch.ones(1))
        self.assertEqual((given["calls"].item(), module.calls.item()), (3, 0))

    def test_what_is_no_tensor_is_refused(self):
        with self.assertRaises(TypeError):
            functional_call(Plain(), {"factor": 3}, torch.ones(1))
        with self.assertRaises(TypeError):
            functional_call(Plain(), {"training": torch.ones(1)}, torch.ones(1))

    def test_everything_comes_back_after_an_error(self):
        module = Plain()
        with self.assertRaises(TypeError):
            functional_call(module, {"factor": torch.zeros(1)}, object())
        self.assertEqual(module.factor.item(), 1)


class TiedNames(unittest.TestCase):
    def test_two_values_for_one_tensor_are_refused(self):
        net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
        net[1].weight = net[0].weight
        two = {"0.weight": torch.zeros(1, 1), "1.weight": torch.ones(1, 1)}
        with self.assertRaisesRegex(ValueError, "tied"):
            torch.func.functional_call(net, two, torch.ones(1))
        torch.func.functional_call(net, two, torch.ones(1), tie_weights=False)
        torch.func.functional_call(net, dict.fromkeys(two, torch.ones(1, 1)), torch.ones(1))


class RealOnly(unittest.TestCase):
    def test_jacobians_of_complex_arguments_and_results_are_refused(self):
        for jacobian in (jacrev, jacfwd):
            with self.assertRaises(RuntimeError):
                jacobian(lambda x: x * 2)(torch.ones(2, dtype=torch.complex64))
            with self.assertRaises(RuntimeError):
                jacobian(lambda x: x * 2j)(torch.ones(2))


class Rearranged(unittest.TestCase):
    def test_patterns(self):
        x = torch.arange(24).reshape(2, 3, 4)
        for pattern, expected, sizes in (
            ("a b c -> c a b", x.permute(2, 0, 1), {}),
            ("a b c -> (a b) c", x.reshape(6, 4), {}),
            ("(x y) b c -> y x b c", x.reshape(1, 2, 3, 4).transpose(0, 1), {"x": 1}),
            ("a b (c d) -> d a b c", x.reshape(2, 3, 2, 2).permute(3, 0, 1, 2), {"d": 2}),
            ("a ... -> ... a", x.permute(1, 2, 0), {}),
            ("a ... -> (...) a", x.permute(1, 2, 0).reshape(12, 2), {}),
            ("a b c -> () a b c 1", x[None, ..., None], {}),
        ):
            self.assertTrue(torch.equal(torch.func.rearrange(x, pattern, **sizes), expected), pattern)
        self.assertEqual(torch.func.rearrange([x, x], "n a b c -> a n b c").shape, (2, 2, 3, 4))

    def test_patterns_that_do_not_fit(self):
        x = torch.arange(24).reshape(2, 3, 4)
        for pattern, sizes in (
            ("a b c -> a b", {}), ("a b -> b a", {}), ("a b c", {}), ("(a b) c d -> a b c d", {}), ("a a b -> a b", {}), ("a (b c) d -> a b c d", {"b": 5}),
            ("a b c -> ((a) b) c", {}), ("a b c -> a b c", {"z": 3}), ("a b c -> a b 2", {}), ("a b (c -> a b c", {}),
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "rearrange: "):
                torch.func.rearrange(x, pattern, **sizes)


class Modes(unittest.TestCase):
    def test_a_product_is_recorded_where_it_is_asked_for(self):
        x, y = torch.rand(3), torch.randn(3, requires_grad=True)
        with torch.no_grad():
            output, product = torch.func.vjp(lambda a: a * y, x)
        self.assertFalse(output.requires_grad)
        torch.testing.assert_close(torch.autograd.grad(product(x)[0].sum(), y)[0], x)
        output, product = torch.func.vjp(lambda a: a * y, x)
        with torch.no_grad():
            self.assertFalse(product(x)[0].requires_grad)
        self.assertTrue(output.requires_grad)

    def test_functions_without_results_and_inputs_that_are_no_tensors(self):
        x = torch.rand(3)
        for transform in (torch.func.jacrev, torch.func.jacfwd):
            with self.assertRaisesRegex(RuntimeError, "at least one tensor"):
                transform(lambda a: ())(x)
        with self.assertRaisesRegex(RuntimeError, "at least one tensor"):
            torch.func.vjp(lambda a: [], x)
        for primals, tangents in (((1.0,), (x,)), ((x,), (1.0,)), (((x, 1),), ((x, x),))):
            with self.assertRaisesRegex(RuntimeError, "expected tensors, got"):
                torch.func.jvp(lambda a: a, primals, tangents)


class UnderDispatchModes(unittest.TestCase):
    """Where a mode hears of operators, transforms call PyTorch's, and give the same."""

    def same(self, function, *args):
        class Hearing(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                heard.append(func)
                return func(*args, **(kwargs or {}))

        heard = []
        torch.manual_seed(0)
        expected = function(*args)
        torch.manual_seed(0)
        with Hearing():
            found = function(*args)
        self.assertTrue(heard)
        torch.testing.assert_close(found, expected)

    def test_chunks_draw_the_same_numbers(self):
        for randomness in ("same", "different"):
            self.same(torch.vmap(lambda row: row + torch.rand(3), randomness=randomness, chunk_size=2), torch.zeros(6, 3))

    def test_jacobians(self):
        x, y = torch.randn(3), torch.randn(3, 2)
        for options in ({}, {"chunk_size": 1}, {"chunk_size": 2}, {"_preallocate_and_copy": True, "chunk_size": 2}):
            self.same(torch.func.jacrev(lambda a, b: {"product": a @ b, "sum": a.sum()}, argnums=(0, 1), **options), x, y)
        self.same(torch.func.jacfwd(lambda a, b: (a @ b, a.exp()), argnums=(0, 1)), x, y)
        self.same(torch.func.jacfwd(lambda a: (a * 2, {"next": a + 1}), has_aux=True), x)
        for empty in (lambda a: a[:0], lambda a: a.new_zeros(0) * a.sum()):
            self.same(torch.func.jacrev(empty), x)

    def test_one_row_at_a_time_needs_no_batch(self):
        class Plain(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g * 2 * (len(g.nonzero()) > 0)

        self.same(torch.func.jacrev(Plain.apply, chunk_size=1), torch.ones(2))

    def test_complex_numbers_are_refused(self):
        from cresset.fx.experimental.proxy_tensor import make_fx

        for transform in (torch.func.jacrev, torch.func.jacfwd):
            with self.assertRaisesRegex(RuntimeError, "expected all outputs to be real"):
                make_fx(transform(lambda a: torch.complex(a, a)))(torch.ones(2))


if __name__ == "__main__":
    unittest.main()
