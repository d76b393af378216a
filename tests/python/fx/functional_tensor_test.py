"""torch._subclasses.functional_tensor: functional tensors below autograd, and what libraries ask of them."""

import unittest

from cresset._functorch._aot_autograd import functional_utils
from cresset._higher_order_ops.cond import cond
from cresset._subclasses.functional_tensor import (
    CppFunctionalizeAPI,
    FunctionalTensor,
    FunctionalTensorMode,
    PythonFunctionalizeAPI,
    disable_functional_mode,
    dispatch_functionalize,
    mb_unwrap_functional_tensor,
)
from cresset.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer, make_fx

import cresset as torch

X = torch.arange(6.0).view(2, 3)


def streams(graph):
    return " ".join(str(n.target).removeprefix("aten.").removesuffix(".default") for n in graph.nodes if n.op not in ("placeholder", "output"))


class FunctionalTensors(unittest.TestCase):
    def test_a_write_gives_the_tensor_another_value_and_its_views_see_it(self):
        x = X.clone()
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(x)
            f.add_(1)
            row = f.view(-1)
            row[0] = 7
            self.assertEqual((type(f), type(row), f.is_base_tensor(), row.is_base_tensor()), (FunctionalTensor, FunctionalTensor, True, False))
            self.assertEqual(f.from_functional().tolist(), [[7, 2, 3], [4, 5, 6]])
        self.assertEqual(x.tolist(), X.tolist())

    def test_parts_of_one_tensor(self):
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(X.clone())
            a, b = f.unbind(0)
            a.mul_(3)
            both = torch.cat([a, b])
        self.assertEqual((f.from_functional().tolist(), both.from_functional().tolist()), ([[0, 3, 6], [3, 4, 5]], [0, 3, 6, 3, 4, 5]))

    def test_geometry_is_that_of_the_value_also_after_it_changes_in_place(self):
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(X.clone())
            f.t_()
            f.unsqueeze_(0)
            self.assertEqual((f.shape, f.stride(), f.from_functional().shape), ((1, 3, 2), f.elem.stride(), (1, 3, 2)))
        self.assertEqual((f.size(1), f.numel(), f.dim(), f.dtype), (3, 6, 3, torch.float32))  # asked outside of the mode, too

    def test_an_operator_outside_of_the_mode_is_an_error(self):
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(X)
        with self.assertRaisesRegex(RuntimeError, "scope of its FunctionalTensorMode"):
            f + 1
        with self.assertRaises(AssertionError):
            FunctionalTensor.to_functional(X)
        with self.assertRaisesRegex(AssertionError, "_to_functional_tensor"):
            FunctionalTensor(X, FunctionalTensorMode())

    def test_text(self):
        with FunctionalTensorMode():
            text = repr(torch.ones(2))
        self.assertEqual(text, "FunctionalTensor(_to_functional_tensor(tensor([1., 1.])))")

    def test_factories_are_functional_and_plain_tensors_mix_in(self):
        with FunctionalTensorMode():
            made, mixed = torch.ones(2, 3), FunctionalTensor.to_functional(X) + X
            with disable_functional_mode() as mode:
                plain = torch.ones(2)
        self.assertEqual([type(t) for t in (made, mixed, plain)], [FunctionalTensor, FunctionalTensor, torch.Tensor])
        self.assertIsInstance(mode, FunctionalTensorMode)

    def test_gradients_are_recorded(self):
        x = X.clone().requires_grad_()
        with FunctionalTensorMode():
            f = functional_utils.to_fun(x)
            self.assertEqual((f.requires_grad, f.is_leaf), (True, False))
            (grad,) = torch.autograd.grad((f * f).sum(), f)
        self.assertEqual(grad.from_functional().tolist(), (2 * X).tolist())

    def test_replace(self):
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(X.clone())
            f.replace_(torch.zeros(2, 3))
            f.commit_update()
            f.sync()
            self.assertEqual(f.from_functional().tolist(), [[0] * 3] * 2)
            with self.assertRaisesRegex(ValueError, "shape"):
                f.replace_(torch.zeros(3))

    def test_another_class_takes_its_calls_first(self):
        class Tagged(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape)

            def __init__(self, inner):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return cls(func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {})))

        one = Tagged(torch.ones(3))
        x = torch.ones(3)
        with FunctionalTensorMode():
            out = one + functional_utils.to_fun(x)
        self.assertEqual((type(out), type(out.inner)), (Tagged, FunctionalTensor))

    def test_unwrapping_any_tensor(self):
        with FunctionalTensorMode():
            f = FunctionalTensor.to_functional(X)
            self.assertIs(type(mb_unwrap_functional_tensor(f)), torch.Tensor)
        self.assertIs(mb_unwrap_functional_tensor(X), X)


class Traces(unittest.TestCase):
    """Node streams are PyTorch's."""

    def check(self, function, expected, **options):
        self.assertEqual(streams(make_fx(dispatch_functionalize(function), **options)(X.clone()).graph), expected)

    def test_writes_are_values(self):
        self.check(lambda x: (x.clone().add_(1), x[0].mul_(2)), "clone add.Tensor select.int mul.Tensor select_scatter select.int")
        self.check(lambda x: x.add_(1), "add.Tensor")

    def test_gradients(self):
        def f(y):
            y = y.detach().requires_grad_()
            return torch.autograd.grad((y.sin() * y).sum(), y)[0].add_(1)

        names = streams(make_fx(dispatch_functionalize(f))(X.clone()).graph).split()
        self.assertEqual(sorted(names), sorted("detach sin mul.Tensor sum ones_like expand mul.Tensor mul.Tensor cos mul.Tensor add.Tensor add.Tensor".split()))
        self.assertFalse([name for name in names if name.endswith("_")])

    def test_before_dispatch_composites_are_parts_or_with_export_whole(self):
        def f(x):
            return torch.nn.functional.layer_norm(x, (3,)).add_(1)

        for export, expected in ((False, "native_layer_norm"), (True, "layer_norm")):
            traced = make_fx(dispatch_functionalize(f, FunctionalTensorMode(pre_dispatch=True, export=export)), pre_dispatch=True)(X.clone())
            names = [name for name in streams(traced.graph).split() if "getitem" not in name and not name[0] == "<" and name not in ("built-in", "function")]
            self.assertEqual(names, [expected, "add.Tensor"])

    def test_arguments_stay_as_they_are(self):
        x = X.clone()
        out = dispatch_functionalize(lambda x: x.add_(1))(x)
        self.assertEqual((out.tolist(), x.tolist()), ((X + 1).tolist(), X.tolist()))

    def test_within_another_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "scope of its FunctionalTensorMode"):
            dispatch_functionalize(dispatch_functionalize(torch.sin))(X)

    def test_the_tracing_mode_hears_values_whichever_is_entered_first(self):
        for first in (True, False):
            tracer = PythonKeyTracer()
            modes = [FunctionalTensorMode(), ProxyTorchDispatchMode(tracer)]
            with modes[not first], modes[first]:
                torch.ones(2).add_(1)
            self.assertEqual(streams(tracer.graph), "ones add.Tensor")

    def test_fake_tensors(self):
        with torch._subclasses.FakeTensorMode():
            x = torch.ones(3)
            with FunctionalTensorMode():
                out = functional_utils.to_fun(x).add_(2)
                self.assertIsInstance(out.from_functional(), torch._subclasses.FakeTensor)

    def test_branches(self):
        traced = make_fx(dispatch_functionalize(lambda x: cond(x.sum() > 0, lambda x: x.clone().add_(1), lambda x: x * 2, (x,))))(X.clone())
        self.assertEqual(streams(traced.true_graph_0.graph), "clone add.Tensor")
        self.assertEqual(traced(X.clone()).tolist(), (X + 1).tolist())
        with self.assertRaisesRegex(RuntimeError, "writes one of its inputs"):
            dispatch_functionalize(lambda x: cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x * 2, (x,)))(X.clone())


class Rules(unittest.TestCase):
    def test_a_rule_runs_in_place_of_an_operator_over_functions(self):
        class Twice(torch._ops.HigherOrderOperator):
            def __call__(self, function, x):
                return super().__call__(function, x)

        twice = Twice("twice_of_functional_tensors")
        twice.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)(lambda function, x: function(function(x)))
        seen = []

        @twice.py_functionalize_impl
        def rule(api, function, x):
            seen.append(type(x))
            with api.redispatch_to_next():
                return api.wrap_tensors(twice(api.functionalize(function), api.unwrap_tensors(x)))

        self.assertEqual(dispatch_functionalize(lambda x: twice(lambda t: t.clone().add_(1), x))(X).tolist(), (X + 2).tolist())
        self.assertEqual(seen, [FunctionalTensor])

    def test_both_kinds_of_api(self):
        python, cpp = PythonFunctionalizeAPI(), CppFunctionalizeAPI()
        with python.mode:
            (f,) = python.wrap_tensors((X.clone(),))
            python.replace(f, X + 1)
            python.commit_update(f)
            python.sync(f)
            self.assertEqual(python.unwrap_tensors(f).tolist(), (X + 1).tolist())
        with self.assertRaisesRegex(AssertionError, "expected a FunctionalTensor"):
            python.sync(X)
        (f,) = cpp.wrap_tensors((X.clone(),))
        cpp.replace(f, X + 1)
        self.assertEqual((torch._is_functional_tensor(f), cpp.unwrap_tensors(f).tolist()), (True, (X + 1).tolist()))
        self.assertEqual(cpp.functionalize(lambda x: x.clone().add_(1))(X)[0].tolist(), (X + 1)[0].tolist())


class Questions(unittest.TestCase):
    """torch._functorch._aot_autograd.functional_utils."""

    def test_from_and_to(self):
        with FunctionalTensorMode():
            f = functional_utils.to_fun(X)
            self.assertEqual((functional_utils.is_fun(f), functional_utils.is_fun(X), functional_utils.to_fun(3)), (True, False, 3))
            self.assertEqual(functional_utils.from_fun(f).tolist(), X.tolist())
        self.assertIs(functional_utils.from_fun(X), X)

    def test_what_was_written_and_how(self):
        asks = (
            functional_utils.has_data_mutation,
            functional_utils.are_all_mutations_hidden_from_autograd,
            functional_utils.are_all_mutations_under_no_grad_or_inference_mode,
        )
        with FunctionalTensorMode():
            f = functional_utils.to_fun(X.clone())
            self.assertEqual([ask(f) for ask in asks], [False, True, True])
            with torch.no_grad():
                f.add_(1)
            self.assertEqual([ask(f) for ask in asks], [True, False, True])
            f.mark_mutation_hidden_from_autograd()
            self.assertEqual([ask(f) for ask in asks], [True, True, True])
            f.view(-1).add_(1)
            functional_utils.sync_functional_tensor(f)
            self.assertEqual([ask(f) for ask in asks], [True, False, False])

    def test_geometry(self):
        with FunctionalTensorMode():
            f = functional_utils.to_fun(X.clone())
            before = functional_utils.has_metadata_mutation(f, X, check_only_storage_mutation=False)
            f.t_()
            after = [functional_utils.has_metadata_mutation(f, X, check_only_storage_mutation=storage) for storage in (False, True)]
        self.assertEqual((before, after), (False, [True, False]))
        same, updated = functional_utils.has_same_metadata, functional_utils.was_tensor_metadata_updated
        self.assertEqual([same(X, X.clone()), same(X, X.t()), updated(X, X), updated(X, X.t()), updated(X, X.clone())], [True, False, False, True, False])
        self.assertEqual([functional_utils.was_tensor_updated(X, other) for other in (X, X.clone())], [False, True])

    def test_an_alias_from_its_base(self):
        alias = functional_utils.gen_alias_from_base
        base = X.clone()
        for replay in (False, True):
            out = alias(base, X.t(), False, replay_views=replay)
            self.assertEqual((out.tolist(), out.data_ptr(), out.stride()), (X.t().tolist(), base.data_ptr(), (1, 3)))
        self.assertTrue(alias(base, X[0], True, replay_views=False).requires_grad)
        self.assertFalse(alias(base.clone().requires_grad_(), X[0], False, replay_views=False).requires_grad)

    def test_functional_graphs(self):
        ask = functional_utils.assert_functional_graph
        self.assertEqual(ask(make_fx(lambda x: x + 1)(X).graph), 0)
        self.assertEqual(ask(make_fx(lambda x: x.copy_(x + 1))(X.clone()).graph), 1)
        for function in (lambda x: x.clone().add_(1), lambda x: x.add_(1)):
            with self.assertRaisesRegex(AssertionError, "expected no writes but those to inputs"):
                ask(make_fx(function)(X.clone()).graph)


if __name__ == "__main__":
    unittest.main()
