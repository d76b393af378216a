"""Rules of operators of programs: under vmap, functionalize and autocast, for modes, and without data."""

import unittest

from cresset._subclasses import fake_tensor
from cresset.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch
from cresset import library, nn


def operator(name, function, schema="(Tensor x) -> Tensor"):
    return library.custom_op(f"rules_of_test::{name}", function, mutates_args=(), schema=schema)


class Vmap(unittest.TestCase):
    def test_without_a_rule_elements_come_in_turn(self):
        op = operator("numpy", lambda x, y, n: torch.tensor(x.numpy() + y.numpy() * n), "(Tensor x, Tensor y, int n) -> Tensor")
        x = torch.arange(6.0).view(2, 3)
        self.assertEqual(torch.vmap(op, in_dims=(0, None, None))(x, torch.ones(3), 2).tolist(), (x + 2).tolist())
        self.assertEqual(torch.vmap(lambda x: op(x, x, 1), in_dims=1)(x).tolist(), (2 * x.t()).tolist())
        self.assertEqual(torch.vmap(torch.vmap(lambda x: op(x, torch.ones(()), 1)))(x).tolist(), (x + 1).tolist())
        several = operator("several", lambda xs: [torch.from_numpy(x.numpy() + 1) for x in xs], "(Tensor[] xs) -> Tensor[]")
        self.assertEqual(torch.vmap(lambda x: several([x, x])[1])(x).tolist(), (x + 1).tolist())
        number = operator("number", lambda x: 3, "(Tensor x) -> int")
        self.assertRaisesRegex(RuntimeError, "has results that are no tensors", torch.vmap(lambda x: x * number(x)), x)

    def test_dimensions_of_results_are_looked_at(self):
        x = torch.arange(6.0).view(2, 3)
        last, several = operator("last", lambda x: x + 1), operator("many", lambda x: x + 1)
        last.register_vmap(lambda info, dims, x: (x.movedim(dims[0], -1), -1))
        several.register_vmap(lambda info, dims, x: (x, (0,)))
        self.assertEqual(torch.vmap(last)(x).tolist(), x.tolist())
        self.assertRaisesRegex(RuntimeError, "it takes one dimension", torch.vmap(several), x)


class Functions(unittest.TestCase):
    def test_functionalize_sees_no_memory_of_operators(self):
        op = operator("opaque", lambda x: torch.from_numpy(x.numpy() * 2))
        self.assertEqual(torch.func.functionalize(lambda x: op(x.add_(1)))(torch.ones(2)).tolist(), [4, 4])

    def test_autocast_of_operators_of_the_table_and_without_tensors(self):
        with library._scoped_library("rules_of_test", "FRAGMENT") as lib:
            library.register_autocast("aten::cosh", "cpu", torch.bfloat16, lib=lib)
            with torch.autocast("cpu"):
                self.assertEqual(torch.cosh(torch.ones(1)).dtype, torch.bfloat16)
        make = operator("make", torch.ones, "(int n) -> Tensor")
        make.register_autocast("cpu", torch.bfloat16)
        with torch.autocast("cpu"):
            self.assertEqual(make(1).dtype, torch.float32)

    def test_functions_for_modes_of_operators_of_the_table(self):
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        library.register_torch_dispatch("aten::erfinv", Mode, lambda mode, func, types, args, kwargs: "taken")
        library.register_torch_dispatch("aten::erfinv", Mode, lambda mode, func, types, args, kwargs: torch.full((1,), 9.0))
        x = torch.zeros(1)
        with Mode():
            self.assertEqual(torch.erfinv(x).item(), 9)
        self.assertEqual(torch.erfinv(x).item(), 0)


class WithoutData(unittest.TestCase):
    def test_operators_need_a_rule(self):
        with library._scoped_library("rules_of_test", "FRAGMENT") as lib:
            lib.define("real(Tensor x) -> Tensor")
            lib.define("composed(Tensor x) -> Tensor")
            lib.impl("real", lambda x: x.sin(), "CPU")
            lib.impl("composed", lambda x: x.sin(), "CompositeImplicitAutograd")
            with fake_tensor.FakeTensorMode():
                self.assertRaises(fake_tensor.UnsupportedOperatorException, torch.ops.rules_of_test.real, torch.ones(2))
                self.assertEqual(torch.ops.rules_of_test.composed(torch.ones(2)).shape, (2,))
            self.assertRaises(RuntimeError, library.register_fake, "rules_of_test::composed", lambda x: x)

    def test_what_gives_nothing_needs_none(self):
        op = library.custom_op("rules_of_test::write", lambda x: None, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
        with fake_tensor.FakeTensorMode():
            self.assertIsNone(op(torch.ones(2)))
        self.assertIsNone(op(torch.ones(2, device="meta")))

    def test_sizes_that_depend_on_data(self):
        def sized(name, **bounds):
            op = operator(name, lambda x: x.nonzero())
            op.register_fake(lambda x: x.new_empty([library.get_ctx().new_dynamic_size(**bounds), 1], dtype=torch.int64))
            return op

        self.assertIsNone(library.get_ctx())
        with fake_tensor.FakeTensorMode():
            self.assertRaises(fake_tensor.DynamicOutputShapeException, sized("alone"), torch.ones(3))
        with fake_tensor.FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=False)):
            self.assertRaises(fake_tensor.DynamicOutputShapeException, sized("forbidden"), torch.ones(3))
        with fake_tensor.FakeTensorMode(shape_env=ShapeEnv()):
            self.assertIsInstance(sized("free")(torch.ones(3)).shape[0], torch.SymInt)
            within = sized("within", min=2, max=9)(torch.ones(20)).shape[0]
            self.assertEqual((bool(within >= 2), bool(within > 9)), (True, False))
            self.assertRaises(GuardOnDataDependentSymNode, lambda: bool(within > 5))
            for number, bounds in enumerate(({"min": -1}, {"min": 5, "max": 2})):
                self.assertRaises(ValueError, sized(f"bounds{number}", **bounds), torch.ones(3))

    def test_triton_operators_are_their_own_rule(self):
        op = library.triton_op("rules_of_test::twofold", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
        self.assertTrue(op(torch.ones(1, device="meta")).is_meta)
        self.assertRaisesRegex(RuntimeError, "write the operator in C\\+\\+", library.wrap_triton, lambda x: x)


class Checks(unittest.TestCase):
    """`opcheck`: each of its tests fails where it has to."""

    def check(self, op, *args, test):
        return library.opcheck(op, args, test_utils=test, raise_exception=False)[test]

    def passes(self, *given, test):
        self.assertEqual(self.check(*given, test=test), "SUCCESS")

    def fails(self, *given, test, text=""):
        self.assertRegex(str(self.check(*given, test=test)), text or ".")
        self.assertNotEqual(self.check(*given, test=test), "SUCCESS")
        self.assertRaises(library.OpCheckError, library.opcheck, given[0], given[1:], test_utils=test)

    def library(self, schema, **functions):
        lib = library.Library("checks_test", "FRAGMENT")
        self.addCleanup(lib._destroy)
        name = f"f{len(torch.ops._defined.get('checks_test', {}))}"
        lib.define(f"{name}{schema}")
        for key, function in functions.items():
            lib.impl(name, function, key)
        return getattr(torch.ops.checks_test, name).default

    def test_memory(self):
        x, composite = torch.ones(3), "CompositeExplicitAutograd"
        for schema, function, says in (
            ("(Tensor x) -> Tensor", lambda x: x[:2], "Argument x shares memory"),
            ("(Tensor x) -> Tensor", lambda x: x.detach(), "Argument x shares memory"),
            ("(Tensor x) -> Tensor", lambda x: x.add_(1).clone(), "Argument x was written"),
            ("(Tensor x) -> Tensor", lambda x: x.unsqueeze_(0) * 1, "Argument x was written"),
            ("(Tensor(a!) x) -> Tensor", lambda x: x.add_(1), "Argument x shares memory"),
            ("(Tensor(a) x) -> Tensor(a)", lambda x: x, "Argument x is a result"),
            ("(Tensor x) -> (Tensor, Tensor)", lambda x: (lambda y: (y, y[:1]))(x + 1), "Results 0 and 1 share memory"),
            ("(Tensor x) -> Tensor[]", lambda x: [x, x + 1], "Argument x shares memory"),
        ):
            self.fails(self.library(schema, **{composite: function}), x.clone(), test="test_schema", text=says)
        for schema, function in (
            ("(Tensor(a) x) -> Tensor(a)", lambda x: x[:2]),
            ("(Tensor(a!) x) -> Tensor(a!)", lambda x: x.add_(1)),
            ("(Tensor x) -> Tensor", lambda x: x + 1),
        ):
            self.passes(self.library(schema, **{composite: function}), x.clone(), test="test_schema")

    def test_gradients(self):
        x, test = torch.ones(2, requires_grad=True), "test_autograd_registration"
        for key in ("CPU", "CompositeExplicitAutograd"):
            self.fails(self.library("(Tensor x) -> Tensor", **{key: lambda x: x * 2}), x, test=test)
        self.passes(self.library("(Tensor x) -> Tensor", CPU=lambda x: x * 2, AutogradCPU=lambda x: x * 2), x, test=test)
        self.passes(self.library("(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x * 2), x, test=test)
        self.passes(self.library("(Tensor x) -> Tensor", CPU=lambda x: x * 2), x.detach(), test=test)

    def test_results_without_data(self):
        def with_rule(name, rule, function=lambda x: x * 2, schema="(Tensor x) -> Tensor"):
            op = operator(name, function, schema)
            op.register_fake(rule) if rule else None
            return op

        x, test = torch.ones(2, 3), "test_faketensor"
        for number, (rule, says) in enumerate((
            (None, "register_fake"), (lambda x: x.new_empty(2), "shape"), (lambda x: torch.empty_like(x, dtype=torch.float64), "dtype"), (lambda x: x.new_empty(3, 2).t(), "strides"),
            (lambda x: torch.empty_like(x, device="meta"), "device"), (lambda x: x, "is an argument"), (lambda x: x.new_empty(7)[1:].view(2, 3), "begins at"),
            (lambda x: x.new_empty(2, 3, requires_grad=True), "requires_grad"), (lambda x: 1 / 0, "division"),
        )):  # fmt: skip
            self.fails(with_rule(f"bad{number}", rule), x, test=test, text=says)
        self.fails(with_rule("few", lambda x: [x.new_empty(2, 3)], lambda x: [x * 2, x * 3], "(Tensor x) -> Tensor[]"), x, test=test, text="2 results, and 1")
        self.fails(self.library("(Tensor x) -> Tensor", CPU=lambda x: x * 2), x, test=test)
        self.passes(with_rule("good", lambda x: torch.empty_like(x)), x, test=test)
        self.passes(
            with_rule("sized", lambda x: x.new_empty(library.get_ctx().new_dynamic_size(), 2, dtype=torch.int64), lambda x: x.nonzero().contiguous()),
            x,
            test=test,
        )

    def test_programs(self):
        def with_formula(name, formula):
            op = operator(name, lambda x: x * 2)
            op.register_fake(lambda x: torch.empty_like(x))
            op.register_autograd(formula) if formula else None
            return op

        x = torch.ones(2, requires_grad=True)
        dynamic, static = "test_aot_dispatch_dynamic", "test_aot_dispatch_static"
        for number, formula in enumerate(
            (None, lambda ctx, g: torch.from_numpy(g.numpy()), lambda ctx, g: g * 2 if g.sum() > 0 else g, lambda ctx, g: (g, g), lambda ctx, g: g[:1])
        ):
            for test in (dynamic, static):
                self.fails(with_formula(f"formula{number}", formula), x, test=test)
        by_data = with_formula("by_data", lambda ctx, g: g * g.sum().item())
        self.passes(by_data, x, test=dynamic)
        self.fails(by_data, x, test=static)
        for test in (dynamic, static):
            self.passes(with_formula("good_formula", lambda ctx, g: g * 2), x, test=test)
        view = self.library("(Tensor(a) x) -> Tensor(a)", CPU=lambda x: x[:1], Meta=lambda x: x[:1])
        self.fails(view, x.detach(), test=dynamic, text="share memory")

    def test_arguments(self):
        op = operator("arguments", lambda x: x * 2)
        for call in (
            lambda: library.opcheck(op, (torch.ones(1),), rtol=1e-3),
            lambda: library.opcheck("rules_of_test::arguments", (torch.ones(1),)),
            lambda: library.opcheck(torch.sin, (torch.ones(1),)),
        ):
            self.assertRaises(ValueError, call)
        self.assertEqual(library.opcheck(op, (torch.ones(1),), test_utils=()), {})

    def test_a_mode_checks_every_call(self):
        from cresset._subclasses.schema_check_mode import SchemaCheckMode

        op = operator("sneaky", lambda x: x.add_(1) * 1)
        with SchemaCheckMode():
            torch.ones(2).add_(1)
            self.assertRaisesRegex(RuntimeError, "Argument x was written", op, torch.ones(2))

    def test_a_mode_accepts_the_operators_of_pytorch(self):
        from cresset._subclasses.schema_check_mode import SchemaCheckMode

        x, mean, variance = torch.rand(4, 3), torch.zeros(3), torch.ones(3)
        with SchemaCheckMode():
            torch.unsafe_split(x, 2)
            torch.matmul(torch.rand(2, 4, 3), torch.rand(3, 2))
            nn.functional.batch_norm(x, mean, variance, training=True)
            for mode in ("sum", "mean", "max"):
                nn.functional.embedding_bag(torch.tensor([0, 1, 2]), x, torch.tensor([0, 2]), mode=mode)
            x.to_sparse_csr() * 2
            x.to_sparse_csc() * 2
            torch.empty(2, device="meta") + 1
        self.assertNotEqual(mean.tolist(), [0, 0, 0])


if __name__ == "__main__":
    unittest.main()
