"""gradcheck and gradgradcheck: what they accept and what they must refuse."""

import sys
import unittest
import warnings

from cresset.autograd.gradcheck import GradcheckError

import cresset as torch

matrices = sys.modules["cresset.autograd.gradcheck"]

gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def rand(*shape, dtype=torch.float64):
    return torch.rand(*shape, dtype=dtype).add(0.1).requires_grad_()


def made(forward, backward):
    return type("Made", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


wrong = made(lambda ctx, x: x * 2, lambda ctx, g: g * 3)
COMPLEX = {"dtype": torch.complex128}


class Gradcheck(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_right_gradients_pass(self):
        for fast in (False, True):
            for function, inputs in (
                (torch.sin, rand(3)),
                (torch.sin, (rand(3, 2).t(),)),
                (torch.sin, (rand(0),)),
                (lambda x, y: x @ y, (rand(2, 3), rand(3, 2))),
                (lambda x, y: (x * y, x.exp()), (rand(2), rand(2))),
                (lambda x, k: x * k, (rand(3), 2)),
                (lambda x: x * x.conj(), (rand(2, **COMPLEX),)),
                (lambda x: x.abs(), (rand(2, **COMPLEX),)),
                (torch.view_as_real, (rand(2, **COMPLEX),)),
                (torch.view_as_complex, (rand(3, 2),)),
            ):
                self.assertTrue(gradcheck(function, inputs, fast_mode=fast, check_batched_grad=True, check_grad_dtypes=True))
                self.assertTrue(gradgradcheck(function, inputs, fast_mode=fast))

    def test_sparse_inputs(self):
        dense = torch.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0]], dtype=torch.float64)
        sparse = [dense.to_sparse(), dense.to_sparse(1), dense.to_sparse_csr(), dense.to_sparse_csc(), dense.to_sparse_bsr((1, 2)), dense.to_sparse_bsc((2, 1))]
        sparse.append(torch.sparse_coo_tensor([[1, 1], [2, 2]], torch.ones(2, dtype=torch.float64), (2, 4)))
        sparse.append((dense * (1 + 1j)).to_sparse_csr())
        for x in sparse:
            x.requires_grad_()
            for fast in (False, True):
                self.assertTrue(gradcheck(lambda x: x.to_dense() * 3, x, masked=True, fast_mode=fast))
                with self.assertRaises(GradcheckError):
                    gradcheck(lambda x: wrong(x.to_dense()), x, masked=True, fast_mode=fast)
        with self.assertRaisesRegex(ValueError, "to_dense"):
            gradcheck(lambda x: x * 2, sparse[0], masked=True)

    def test_opaque_inputs(self):
        x, y = torch.rand(5, requires_grad=True), torch.rand(5).to_mkldnn().requires_grad_()
        for fast in (True, False):
            self.assertTrue(torch.autograd.gradcheck(lambda x, y: x + y.to_dense(), (x, y), atol=1e-1, fast_mode=fast))

    def test_wrong_gradients_fail(self):
        detached = made(lambda ctx, x: x * x.conj(), lambda ctx, g: g)
        for fast in (False, True):
            for function, x in ((wrong, rand(3)), (detached, rand(2, **COMPLEX))):
                with self.assertRaises(GradcheckError):
                    gradcheck(function, x, fast_mode=fast)
                self.assertFalse(gradcheck(function, x, fast_mode=fast, raise_exception=False))
        with self.assertRaisesRegex(GradcheckError, "(?s)output 0 with respect to input 1.*numerical.*analytical"):
            gradcheck(lambda x, y: x + wrong(y), (rand(2), rand(2)))

    def test_wrong_second_derivatives_fail(self):
        once = made(lambda ctx, x: (ctx.save_for_backward(x), x**3)[1], lambda ctx, g: g * 3 * ctx.saved_tensors[0].detach() ** 2)
        self.assertTrue(gradcheck(once, rand(2)))
        with self.assertRaises(GradcheckError):
            gradgradcheck(once, rand(2))

    def test_undefined_gradients(self):
        function = made(lambda ctx, x: (ctx.set_materialize_grads(False), x * 2)[1], lambda ctx, g: torch.ones(3) if g is None else g * 2)
        with self.assertRaisesRegex(GradcheckError, "undefined"):
            gradcheck(function, rand(3))
        self.assertTrue(gradcheck(function, rand(3), check_undefined_grad=False))

    def test_gradients_that_change_between_passes(self):
        calls = []
        function = made(lambda ctx, x: x * 2, lambda ctx, g: (calls.append(0), g * (2 + 1e-7 * len(calls)))[1])
        with self.assertRaisesRegex(GradcheckError, "reentrant"):
            gradcheck(function, rand(3))
        self.assertTrue(gradcheck(function, rand(3), nondet_tol=1e-3))

    def test_outputs_without_gradients_must_be_constant(self):
        self.assertTrue(gradcheck(lambda x: torch.ones(3, dtype=torch.float64), rand(3)))
        with self.assertRaises(GradcheckError):
            gradcheck(lambda x: x.detach() * 2, rand(3))

    def test_inputs(self):
        with self.assertRaises(ValueError):
            gradcheck(torch.sin, torch.ones(3))
        with self.assertRaisesRegex(RuntimeError, "stride 0"):
            gradcheck(torch.sin, (rand(1).expand(3),))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            gradcheck(torch.sin, rand(3, dtype=torch.float32), raise_exception=False)
        self.assertIn("double precision", str(seen[0].message))
        x = rand(3)
        before = x.tolist()
        gradcheck(torch.sin, x)
        gradcheck(torch.sin, x, fast_mode=True)
        self.assertEqual(x.tolist(), before)

    def test_given_gradients_of_outputs(self):
        g = torch.ones(3, dtype=torch.float64, requires_grad=True)
        self.assertTrue(gradgradcheck(torch.sin, rand(3), g))
        self.assertTrue(gradgradcheck(lambda x, y: x * y, (rand(2), rand(2)), gen_non_contig_grad_outputs=True))


class Promises(unittest.TestCase):
    """Promises of backward beside the numbers."""

    def refuses(self, function, x, error=GradcheckError, **options):
        for fast in (False, True):
            with self.assertRaises(error):
                gradcheck(function, (x,), fast_mode=fast, **options)
            if error is GradcheckError:
                self.assertFalse(gradcheck(function, (x,), fast_mode=fast, raise_exception=False, **options))

    def hooked(self, hook):
        def function(x):
            y = x.clone()
            y.register_hook(hook)
            return y

        return function

    def test_gradients_are_zero_where_those_of_outputs_are(self):
        self.refuses(self.hooked(lambda g: g + 1e-2), rand(1), atol=1e-1)

    def test_gradients_have_the_layout_of_their_inputs(self):
        self.refuses(made(lambda ctx, x: x.clone(), lambda ctx, g: g.to_sparse()), rand(1))

    def test_an_exception_of_a_hook_that_gets_no_gradient_is_a_problem(self):
        def hook(g):
            if g is None:
                raise LookupError("no gradient")

        self.refuses(self.hooked(hook), rand(1))

    def test_a_backward_that_cannot_run_on_a_batch_is_a_problem(self):
        self.refuses(made(lambda ctx, x: x * 2, lambda ctx, g: g * 2 if g.sum() > -1e9 else g), rand(2), check_batched_grad=True)

    def test_outputs_keep_their_shapes_and_dtypes(self):
        x = torch.ones(1, dtype=torch.float64, requires_grad=True)
        self.refuses(lambda x: torch.cat((x, x)) if bool((x >= 1).all()) else x, x, AssertionError)
        self.refuses(lambda x: x.float() if bool((x >= 1).all()) else x, x, AssertionError)


class LazyConjugates(unittest.TestCase):
    def test_inputs_that_are_conjugated_lazily(self):
        for x in (torch.randn(2, 3, dtype=torch.cdouble).conj(), torch.randn(3, 2, dtype=torch.cdouble).t().conj()):
            x = x.detach().requires_grad_()
            self.assertTrue(x.is_conj())
            for fast in (False, True):
                self.assertTrue(torch.autograd.gradcheck(lambda x: x * x, (x,), fast_mode=fast))
                self.assertTrue(torch.autograd.gradgradcheck(lambda x: x * x, (x,), fast_mode=fast))


class Jacobians(unittest.TestCase):
    """Matrices that PyTorch 2.13 gives."""

    def setUp(self):
        self.x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        self.y = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
        self.z = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def check(self, got, *wanted):
        self.assertEqual(len(got), len(wanted))
        for matrix, numbers in zip(got, wanted):
            self.assertTrue(torch.allclose(matrix, torch.tensor(numbers, dtype=matrix.dtype), rtol=1e-5), matrix)

    def test_by_differences_and_by_backward(self):
        def f(inputs):
            return inputs[0].sum() * inputs[1]

        of_x, of_y = [[3.0, 4.0, 5.0]] * 2, [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]
        self.check(matrices.get_numerical_jacobian(f, (self.x, self.y), eps=1e-6), of_x, of_y)
        self.check(matrices.get_numerical_jacobian(f, (self.x, self.y), target=self.y, eps=1e-6), of_y)
        found, *facts = matrices.get_analytical_jacobian((self.x, 3, self.y), f((self.x, self.y)))
        self.check(found, of_x, of_y)
        self.assertEqual(facts, [True] * 3)

    def test_of_one_input(self):
        def f(x, y):
            return x.sum() * y, 2 * x.sum()

        one = matrices.get_numerical_jacobian_wrt_specific_input
        self.check(one(f, 0, (self.x, self.y), f(self.x, self.y), 1e-6), [[3.0, 4.0, 5.0]] * 2, [[2.0]] * 2)
        self.check(one(torch.abs, 0, (self.z,), (self.z.abs(),), 1e-6), [[0.4472136 + 0.8944272j]])
        self.check(matrices.get_analytical_jacobian((self.z,), self.z.abs())[0], [[0.4472136 + 0.8944272j]])
        g = self.z.detach() ** 2 * self.x.sum()
        self.check(one(lambda x: self.z.detach() ** 2 * x.sum(), 0, (self.x,), (g,), 1e-6, is_forward_ad=True), [[-3 + 4j]] * 2)
        self.assertRaises(AssertionError, one, lambda x: self.z * x.sum(), 0, (self.x,), (g,), 1e-6)

    def test_mistakes(self):
        for function in (matrices.get_numerical_jacobian, matrices.get_analytical_jacobian):
            with self.assertRaisesRegex(ValueError, "grad_out of 1.0"):
                function(*((torch.sin, self.x) if "numerical" in function.__name__ else (self.x, self.x * 2)), grad_out=2.0)
        self.assertRaises(ValueError, matrices.get_numerical_jacobian, lambda i: i[0] * i[0], (self.z,))
        with self.assertWarns(FutureWarning):
            matrices.get_analytical_jacobian(self.x, self.x * 2)


if __name__ == "__main__":
    unittest.main()
