"""Transforms: inverses, determinants against autograd, shapes, caches; and the registries of constraints."""

import copy
import pickle
import unittest

import cresset as torch
from cresset import distributions as D
from cresset.distributions import constraints

X = torch.linspace(-1.3, 1.7, 4, dtype=torch.float64)
SQUARE = torch.linspace(-1, 1, 9, dtype=torch.float64).view(3, 3)

#: Bijective transforms of numbers, then of events, with arguments.
NUMBERS = [(D.ExpTransform(), X), (D.PowerTransform(torch.tensor(2.5)), X.abs() + 0.2), (D.SigmoidTransform(), X), (D.SoftplusTransform(), X), (D.TanhTransform(), X),
           (D.AffineTransform(0.5, -2.0), X), (D.ComposeTransform([D.TanhTransform(), D.AffineTransform(1.0, 3.0)]), X), (D.ExpTransform().inv, X.abs() + 0.2),
           (D.CumulativeDistributionTransform(D.Normal(torch.tensor(0.2).double(), 1.5)), X)]  # fmt: skip
EVENTS = [(D.StickBreakingTransform(), X), (D.CorrCholeskyTransform(), X[:3]), (D.IndependentTransform(D.ExpTransform(), 1), X), (D.ReshapeTransform((4,), (2, 2)), X),
          (D.AffineTransform(0.5, X + 3, event_dim=1), X)]  # fmt: skip
OTHERS = [(D.AbsTransform(), X.abs()), (D.SoftmaxTransform(), X), (D.LowerCholeskyTransform(), SQUARE), (D.PositiveDefiniteTransform(), SQUARE)]


def free(transform, y):
    """The numbers of a result that determine it."""
    if isinstance(transform, D.StickBreakingTransform):
        return y[:-1]
    if isinstance(transform, D.CorrCholeskyTransform):
        return torch.stack([y[1, 0], y[2, 0], y[2, 1]])
    return y.flatten()


class Functions(unittest.TestCase):
    def test_inverses(self):
        for transform, x in NUMBERS + EVENTS:
            with self.subTest(transform):
                y = transform(x)
                self.assertTrue(torch.allclose(transform.inv(y), x))
                self.assertIs(transform.inv.inv, transform)
                self.assertTrue(transform.bijective)
                self.assertTrue(transform.codomain.check(y).all())
                self.assertTrue(transform.domain.check(x).all())

    def test_pseudo_inverses(self):
        for transform, x in OTHERS:
            with self.subTest(transform):
                y = transform(x)
                self.assertTrue(torch.allclose(transform(transform.inv(y)), y))
                self.assertTrue(transform.codomain.check(y).all())
                self.assertFalse(transform.bijective)
                self.assertRaises(NotImplementedError, transform.log_abs_det_jacobian, x, y)

    def test_determinants_against_autograd(self):
        for transform, x in NUMBERS:
            with self.subTest(transform):
                x = x.clone().requires_grad_()
                y = transform(x)
                (slope,) = torch.autograd.grad(y.sum(), x)
                self.assertTrue(torch.allclose(transform.log_abs_det_jacobian(x, y), slope.abs().log()))
                self.assertTrue((slope.sign() == transform.sign).all())
        for transform, x in EVENTS:
            with self.subTest(transform):
                jacobian = torch.autograd.functional.jacobian(lambda v, f=transform: free(f, f(v)), x)
                got = transform.log_abs_det_jacobian(x, transform(x))
                self.assertEqual(got.shape, ())
                self.assertAlmostEqual(float(got), float(torch.linalg.slogdet(jacobian).logabsdet), 9)
                self.assertAlmostEqual(float(transform.inv.log_abs_det_jacobian(transform(x), x)), -float(got), 9)

    def test_cat_and_stack(self):
        cat = D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], 0, [1, 3])
        self.assertTrue(torch.allclose(cat(X), torch.cat([X[:1].exp(), 1 + 2 * X[1:]])))
        self.assertTrue(torch.allclose(cat.inv(cat(X)), X))
        self.assertTrue(torch.allclose(cat.log_abs_det_jacobian(X, cat(X)), torch.cat([X[:1], torch.full_like(X[1:], 2).log()])))
        stack = D.StackTransform([D.ExpTransform(), D.TanhTransform()], 1)
        x = X.view(2, 2)
        self.assertTrue(torch.allclose(stack(x), torch.stack([x[:, 0].exp(), x[:, 1].tanh()], 1)))
        self.assertTrue(torch.allclose(stack.inv(stack(x)), x))
        self.assertRaises(AssertionError, D.CatTransform, [D.ExpTransform()], 0, [1, 2])
        self.assertRaises(AssertionError, D.StackTransform, [3])

    def test_shapes(self):
        for transform, x in NUMBERS + EVENTS + OTHERS:
            with self.subTest(transform):
                batch = x.expand(5, *x.shape)
                y = transform(batch)
                self.assertEqual(torch.Size(transform.forward_shape(batch.shape)), y.shape)
                self.assertEqual(torch.Size(transform.inverse_shape(y.shape)), batch.shape)
        self.assertRaises(ValueError, D.ReshapeTransform, (2, 3), (5,))
        self.assertRaises(ValueError, D.CorrCholeskyTransform().forward_shape, (5,))
        self.assertRaises(ValueError, D.StickBreakingTransform().forward_shape, ())

    def test_caches(self):
        for transform, x in NUMBERS + EVENTS:
            if isinstance(transform, D.ComposeTransform) or type(transform).__name__ == "_InverseTransform":
                continue
            with self.subTest(transform):
                cached = transform.with_cache(1)
                y = cached(x)
                self.assertIs(cached(x), y)
                self.assertIs(cached.inv(y), x)
                self.assertIsNot(transform(x), transform(x))
        self.assertRaises(ValueError, D.ExpTransform, 2)

    def test_equality_text_and_copies(self):
        self.assertEqual(D.ExpTransform(), D.ExpTransform())
        self.assertNotEqual(D.ExpTransform(), D.TanhTransform())
        self.assertEqual(D.AffineTransform(1.0, torch.tensor(2.0)), D.AffineTransform(1.0, 2.0))
        self.assertNotEqual(D.AffineTransform(1.0, 3.0), D.AffineTransform(1.0, 2.0))
        self.assertEqual(D.ExpTransform().inv, D.ExpTransform().inv)
        self.assertEqual(
            repr(D.ComposeTransform([D.ExpTransform(), D.ExpTransform().inv])),
            "ComposeTransform(\n    ExpTransform(),\n    _InverseTransform(ExpTransform())\n)",
        )
        transform = D.ComposeTransform([D.ExpTransform()])
        transform.inv
        for other in (pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform)):
            self.assertTrue(torch.allclose(other(X), X.exp()))

    def test_signs(self):
        self.assertEqual(D.AffineTransform(0, -2.0).sign, -1)
        self.assertEqual(D.ComposeTransform([D.AffineTransform(0, -2.0), D.AffineTransform(0, -1.0)]).sign, 1)
        self.assertRaises(NotImplementedError, lambda: D.AbsTransform().sign)


class Registries(unittest.TestCase):
    def test_results_are_inside(self):
        c = constraints
        both = [c.real, c.positive, c.nonnegative, c.greater_than(0.5), c.greater_than_eq(-0.5), c.less_than(0.25), c.unit_interval, c.interval(-1.0, 2.0),
                c.half_open_interval(-1.0, 2.0), c.simplex, c.real_vector, c.independent(c.positive, 1), c.cat([c.positive, c.real], -1, [1, 3]),
                c.stack([c.positive, c.unit_interval, c.real, c.less_than(0.0)], -1)]  # fmt: skip
        for constraint in both:
            for registry in (D.biject_to, D.transform_to):
                with self.subTest(constraint):
                    self.assertTrue(constraint.check(registry(constraint)(X)).all())
            self.assertTrue(D.biject_to(constraint).bijective)
        for constraint in (c.lower_cholesky, c.positive_definite, c.positive_semidefinite):
            self.assertTrue(constraint.check(D.transform_to(constraint)(SQUARE)))
            self.assertRaises(NotImplementedError, D.biject_to, constraint)
        self.assertTrue(c.corr_cholesky.check(D.biject_to(c.corr_cholesky)(X[:3])))

    def test_unknown_and_own_constraints(self):
        self.assertRaises(NotImplementedError, D.biject_to, constraints.boolean)
        self.assertRaises(TypeError, D.biject_to.register, 3, lambda c: c)

        class Even(constraints.Constraint):
            pass

        @D.transform_to.register(Even)
        def rule(constraint):
            return D.ExpTransform()

        self.assertEqual(D.transform_to(Even()), D.ExpTransform())


class Constraints(unittest.TestCase):
    def test_checks(self):
        c, nan = constraints, float("nan")
        x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0, nan])
        for constraint, inside in {
            c.boolean: [0, 1, 0, 1, 0, 0], c.real: [1, 1, 1, 1, 1, 0], c.positive: [0, 0, 1, 1, 1, 0], c.nonnegative: [0, 1, 1, 1, 1, 0],
            c.unit_interval: [0, 1, 1, 1, 0, 0], c.half_open_interval(0.0, 1.0): [0, 1, 1, 0, 0, 0], c.less_than(0.5): [1, 1, 0, 0, 0, 0],
            c.nonnegative_integer: [0, 1, 0, 1, 1, 0], c.positive_integer: [0, 0, 0, 1, 1, 0], c.integer_interval(-1, 1): [1, 1, 0, 1, 0, 0],
            c.greater_than(0.5): [0, 0, 0, 1, 1, 0], c.greater_than_eq(0.5): [0, 0, 1, 1, 1, 0],
        }.items():  # fmt: skip
            self.assertEqual(constraint.check(x).int().tolist(), inside, constraint)

    def test_events(self):
        c = constraints
        rows = torch.tensor([[0.2, 0.8], [0.2, 0.9], [-0.2, 1.2], [0.0, 1.0]])
        self.assertEqual(c.simplex.check(rows).tolist(), [True, False, False, True])
        self.assertEqual(c.one_hot.check(rows).tolist(), [False, False, False, True])
        self.assertEqual(c.multinomial(1).check(rows).tolist(), [True, False, False, True])
        matrices = torch.tensor([[[1.0, 0.0], [0.6, 0.8]], [[0.8, 0.6], [0.6, 0.8]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]])
        each = {
            c.lower_triangular: [1, 0, 0, 0],
            c.lower_cholesky: [1, 0, 0, 0],
            c.corr_cholesky: [1, 0, 0, 0],
            c.square: [1, 1, 1, 1],
            c.symmetric: [0, 1, 1, 1],
        }
        for constraint, inside in each.items():
            self.assertEqual(constraint.check(matrices).int().tolist(), inside, constraint)
        self.assertEqual(c.positive_definite.check(matrices[1:]).tolist(), [True, False, False])
        self.assertEqual(c.positive_semidefinite.check(matrices[1:3]).tolist(), [True, False])

    def test_dependent_ones(self):
        c = constraints
        self.assertTrue(c.is_dependent(D.Uniform.support))
        self.assertFalse(c.is_dependent(D.Normal.support))
        self.assertEqual(D.Uniform.support.event_dim, 0)
        self.assertRaises(NotImplementedError, lambda: D.Independent.support.event_dim)
        self.assertRaises(ValueError, c.dependent.check, X)


if __name__ == "__main__":
    unittest.main()
