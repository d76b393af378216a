"""Where calls of operators of programs go: by device, by key, past gradients, and what becomes of the arguments that they write."""

import unittest
import weakref
from typing import List, Optional

import cresset as torch
from cresset import Tensor, library

Key = torch._C.DispatchKey


def add_one(x):
    x.add_(1)


class Devices(unittest.TestCase):
    def test_operators_without_tensors_go_by_their_device(self):
        @library.custom_op("dispatch_test::ones", mutates_args=(), device_types="cpu")
        def ones(n: int, *, device: torch.device) -> Tensor:
            return torch.ones(n, device=device)

        self.assertEqual((ones(2, device="cpu").tolist(), ones(2, device=torch.device("cpu")).tolist()), ([1, 1], [1, 1]))
        self.assertRaises(NotImplementedError, ones, 2, device="cuda")
        ones.register_fake(lambda n, *, device: torch.empty(n, device=device))
        self.assertTrue(ones(2, device="meta").is_meta)

    def test_operators_without_tensors_and_device_have_one_function(self):
        def make(n: int) -> Tensor:
            return torch.ones(n)

        def maybe(n: int, device: Optional[torch.device] = None) -> Tensor:
            return torch.ones(n)

        for function in (make, maybe):
            with self.assertRaisesRegex(ValueError, "needs an argument `device: torch.device`"):
                library.custom_op(f"dispatch_test::{function.__name__}", function, mutates_args=(), device_types="cpu")
        op = library.custom_op("dispatch_test::make", make, mutates_args=())
        self.assertEqual(op(2).tolist(), [1, 1])
        self.assertRaises(ValueError, library.register_kernel, op, "cpu", make)

    def test_operators_of_libraries_without_tensors_need_a_composite_function(self):
        with library._scoped_library("dispatch_test2", "FRAGMENT") as lib:
            lib.define("next(int n) -> int")
            lib.define("total(Tensor[] x) -> int")
            lib.impl("next", lambda n: n + 1, "CPU")
            lib.impl("total", len, "CPU")
            self.assertRaises(NotImplementedError, torch.ops.dispatch_test2.next, 3)
            self.assertRaises(NotImplementedError, torch.ops.dispatch_test2.total, [])
            self.assertEqual(torch.ops.dispatch_test2.total([torch.ones(1)]), 1)
            lib.impl("next", lambda n: n + 2, "BackendSelect")
            self.assertEqual(torch.ops.dispatch_test2.next(3), 5)

    def test_kinds_of_devices_are_known(self):
        op = library.custom_op("dispatch_test::kinds", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda")
        self.assertRaises(NotImplementedError, op, torch.ones(1))
        for kind in ("abacus", "CPU", "default"):
            self.assertRaises(RuntimeError, op.register_kernel, kind, lambda x: x)
        library.register_kernel(op, ["cpu", "meta"], lambda x: x + 2)
        self.assertEqual(op(torch.ones(1)).item(), 3)

    def test_kernels_of_defined_operators_take_names_of_all_devices_and_keys(self):
        for name, kinds in (("all", "default"), ("any", None), ("key", "CompositeExplicitAutograd")):
            library.define(f"dispatch_test3::{name}", "(Tensor x) -> Tensor")
            library.register_kernel(f"dispatch_test3::{name}", kinds)(lambda x: x + 2)
            self.assertEqual(getattr(torch.ops.dispatch_test3, name)(torch.ones(1)).item(), 3)

    def test_tensors_elsewhere_go_before_those_of_the_cpu(self):
        with library._scoped_library("dispatch_test3", "FRAGMENT") as lib:
            lib.define("f(Tensor x, Tensor y) -> str")
            lib.define("g(Tensor x) -> str")
            for key in ("CPU", "Meta", "SparseCPU"):
                lib.impl("f", lambda x, y, key=key: key, key)
            lib.impl("g", lambda x: "sparse", "SparseCPU")
            x, meta = torch.ones(2, 2), torch.ones(1, device="meta")
            f = torch.ops.dispatch_test3.f
            self.assertEqual([f(x, x), f(x, meta), f(meta, x), f(x.to_sparse(), x)], ["CPU", "Meta", "Meta", "SparseCPU"])
            self.assertRaises(NotImplementedError, torch.ops.dispatch_test3.g, x)


class Keys(unittest.TestCase):
    def library(self, schema, **functions):
        lib = library.Library("keys_test", "FRAGMENT")
        self.addCleanup(lib._destroy)
        lib.define(f"f{schema}")
        for key, function in functions.items():
            lib.impl("f", function, key)
        return lib, torch.ops.keys_test.f.default

    def test_a_function_for_gradients_calls_the_one_below(self):
        class Times(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with torch._C._AutoDispatchBelowAutograd():
                    return torch.ops.keys_test.f(x)

            @staticmethod
            def backward(ctx, grad):
                return grad * 5

        _, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x * 2, Autograd=Times.apply)
        x = torch.ones(1, requires_grad=True)
        op(x).backward()
        self.assertEqual((op(x).item(), x.grad.item()), (2, 5))

    def test_without_one_gradients_go_through_the_function(self):
        _, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x * 2)
        x = torch.ones(1, requires_grad=True)
        op(x).backward()
        self.assertEqual(x.grad.item(), 2)

    def test_keys_are_redispatched_to(self):
        def above(keys, x):
            self.assertTrue(keys.has(Key.CPU) and keys.has(Key.AutogradCPU))
            return torch.ops.keys_test.f.default.redispatch(keys & torch._C._after_autograd_keyset, x) * 10

        lib, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x + 1)
        lib.impl("f", above, "AutogradCPU", with_keyset=True)
        self.assertEqual(op(torch.ones(1)).item(), 20)
        self.assertTrue(op(torch.ones(1, requires_grad=True)).requires_grad)

    def test_keys_are_left_out_in_a_scope(self):
        def without(key, function):
            def call(x):
                with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(Key[key])):
                    return function(torch.ops.keys_test.f(x))

            return call

        lib, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x + 1)
        lib.impl("f", without("AutogradCPU", lambda x: x * 10), "AutogradCPU")
        lib.impl("f", without("AutocastCPU", lambda x: x.bfloat16()), "AutocastCPU")
        self.assertEqual(op(torch.ones(1)).dtype, torch.float32)
        with torch.autocast("cpu"):
            self.assertEqual((op(torch.ones(1)).dtype, op(torch.ones(1)).item()), (torch.bfloat16, 20))

    def test_what_has_a_function_is_asked(self):
        _, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x, AutogradCPU=lambda x: x)
        self.assertEqual([op.has_kernel_for_dispatch_key(key) for key in ("CPU", "Meta", "Autograd", "AutogradCPU")], [True, False, False, True])
        self.assertTrue(op.has_kernel_for_any_dispatch_key(torch._C.DispatchKeySet(Key.CPU, Key.CUDA)))
        linear, sin = torch.ops.aten.linear.default, torch.ops.aten.sin.default
        self.assertEqual([o.has_kernel_for_dispatch_key(k) for o in (linear, sin) for k in (Key.CPU, Key.Meta, Key.CompositeImplicitAutograd, Key.Autograd, Key.AutogradCPU)],
                         [False, False, True, True, False, True, True, False, True, False])  # fmt: skip
        self.assertTrue(torch._C._dispatch_keys(torch.ones(1)).has(Key.CPU))
        self.assertTrue(torch._C._dispatch_has_kernel_for_any_dispatch_key("aten::sin", torch._C.DispatchKeySet(Key.CPU)))
        self.assertEqual(
            (torch._C._parse_dispatch_key("CPU"), torch._C._parse_dispatch_key("Abacus"), torch._C._dispatch_key_name(Key.CPU)), (Key.CPU, None, "CPU")
        )
        self.assertRaises(RuntimeError, torch._C._dispatch_find_schema_or_throw, "aten::sinnn", "")

    def test_the_earlier_function_comes_back(self):
        _, op = self.library("(Tensor x) -> Tensor", CPU=lambda x: x + 1)
        with library._scoped_library("keys_test", "IMPL") as other:
            other.impl("f", lambda x: x + 2, "CPU", allow_override=True)
            self.assertEqual(op(torch.zeros(1)).item(), 2)
        self.assertEqual(op(torch.zeros(1)).item(), 1)

    def test_names_of_keys_and_operators_are_checked(self):
        lib, _ = self.library("(Tensor x) -> Tensor")
        for call in (lambda: library.Library("keys_test", "IMPL", "Abacus"), lambda: library.Library("keys_test", "FRAGMENT", "CPU"), lambda: lib.impl("another::f", abs, "CPU"),
                     lambda: lib.impl("f.default", abs, "CPU"), lambda: lib.impl("f.over", abs, "CPU"), lambda: lib.impl(torch.ops.keys_test.f, abs, "CPU"), lambda: lib.define("g.default(Tensor x) -> Tensor"),
                     lambda: lib.fallback(library.fallthrough_kernel, "CPU"), lambda: library.register_fake("aten::sin.default", abs)):  # fmt: skip
            self.assertRaises(RuntimeError, call)
        shared = library.Library("_", "IMPL")
        self.assertIsNone(shared.fallback(library.fallthrough_kernel, "AutocastCPU"))
        self.assertRaises(RuntimeError, shared.fallback, library.fallthrough_kernel, "Abacus")
        self.assertRaises(ValueError, library.Library, "_", "DEF")
        self.assertRaises(TypeError, lib.define, "g(Tensor x) -> Tensor", tags=("pointwise",))


class Written(unittest.TestCase):
    def operator(self, name, function, schema="(Tensor(a!) x) -> ()"):
        return library.custom_op(f"written_test::{name}", function, mutates_args={"x"}, schema=schema)

    def test_leaves_that_require_gradients_may_be_written(self):
        op = self.operator("leaf", add_one)
        x = torch.zeros(2, requires_grad=True)
        self.assertIsNone(op(x))
        self.assertEqual((x.tolist(), x.requires_grad, x.is_leaf), ([1, 1], True, True))

    def test_changes_are_counted(self):
        with_result = self.operator("result", lambda x: x.add_(1) * 2, "(Tensor(a!) x) -> Tensor")
        without = self.operator("none", lambda x: None)
        x = torch.zeros(2)
        with_result(x)
        before = x._version
        without(x)
        self.assertEqual((before, x._version), (2, 3))
        leaf = torch.ones(2, requires_grad=True)
        middle = leaf * 2
        root = middle.sin()
        without(middle)
        with self.assertRaisesRegex(RuntimeError, "inplace|in place"):
            root.sum().backward()

    def test_results_have_no_gradient_and_formulas_are_refused(self):
        op = self.operator("formula", lambda x: x.add_(1) * 2, "(Tensor(a!) x) -> Tensor")
        out = op(torch.ones(1, requires_grad=True) * 1)
        self.assertTrue(out.requires_grad)
        self.assertRaises(RuntimeError, out.backward)
        self.assertRaises(RuntimeError, op.register_autograd, lambda ctx, grad: grad)

    def test_schema_and_names_of_what_is_written_agree(self):
        for names, schema in (({"x"}, "(Tensor x) -> Tensor"), ((), "(Tensor(a!) x) -> Tensor"), ("unknown", "(Tensor x) -> Tensor")):
            with self.assertRaisesRegex(ValueError, "they have to agree"):
                library.custom_op("written_test::agree", lambda x: x, mutates_args=names, schema=schema)

    def test_results_share_no_memory_with_one_another(self):
        def twice(x):
            y = x + 1
            return y, y[:1]

        op = library.custom_op("written_test::twice", twice, mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
        empty = library.custom_op("written_test::empty", lambda x: x[:0], mutates_args=(), schema="(Tensor x) -> Tensor")
        self.assertRaises(RuntimeError, op, torch.ones(2))
        self.assertRaises(RuntimeError, empty, torch.ones(2))

    def test_under_transforms(self):
        op = self.operator("transformed", add_one)

        def f(x):
            y = x * 1
            op(y)
            return (y * y).sum()

        x = torch.ones(3)
        self.assertEqual(torch.func.functionalize(f)(x).item(), 12)
        self.assertEqual(torch.func.grad(f)(x).tolist(), [4, 4, 4])
        torch.func.functionalize(lambda x: op(x))(x)
        self.assertEqual(x.tolist(), [2, 2, 2])
        with self.assertRaisesRegex(RuntimeError, "has no rule"):
            torch.vmap(lambda x: op(x) or x)(x)

    def test_the_tags_inplace_and_out_return_what_is_written(self):
        def add_one_(x: Tensor) -> Tensor:
            return x.add_(1)

        def copied(x: Tensor, *, out: Tensor) -> Tensor:
            return out.copy_(x)

        x = torch.zeros(2)
        self.assertIs(library.custom_op("written_test::add_one_", add_one_, mutates_args={"x"}, tags=(torch.Tag.inplace,))(x), x)
        op = library.custom_op("written_test::copied", copied, mutates_args={"out"}, tags=(torch.Tag.out,))
        self.assertEqual(op(torch.ones(2), out=x).tolist(), [1, 1])


class Definitions(unittest.TestCase):
    def make(self, name, function=lambda x: x + 1, schema="(Tensor x) -> Tensor", **named):
        return library.custom_op(name, function, mutates_args=(), schema=schema, **named)

    def test_names(self):
        for name, kind in (
            ("one", ValueError),
            ("a::b::c", ValueError),
            ("a::", RuntimeError),
            ("::f", RuntimeError),
            ("a::f-g", RuntimeError),
            ("a::1f", RuntimeError),
            ("prim::f", ValueError),
        ):
            with self.subTest(name=name):
                self.assertRaises(kind, self.make, name)
        self.assertRaises(RuntimeError, self.make, "names_test::f", schema="f(Tensor x) -> Tensor")

    def test_written_memory_needs_no_name(self):
        library.define("marks_test::fill", "(Tensor x, Tensor! out, Tensor![] more) -> ()")
        library.impl("marks_test::fill", "cpu", lambda x, out, more: out.copy_(x) and None)
        out = torch.zeros(1)
        torch.ops.marks_test.fill(torch.ones(1), out, [])
        schema = torch.ops.marks_test.fill.default._schema
        self.assertEqual((out.item(), [a.is_write for a in schema.arguments]), (1, [False, True, True]))
        self.assertFalse(schema.arguments[1].alias_info.before_set & schema.arguments[2].alias_info.before_set)

    def test_an_operator_may_be_made_anew(self):
        first = self.make("anew_test::f")
        second = self.make("anew_test::f", lambda x: x + 2)
        self.assertEqual((first(torch.zeros(1)).item(), second(torch.zeros(1)).item()), (2, 2))
        library.define("anew_test::g", "(Tensor x) -> Tensor")
        self.assertRaises(RuntimeError, self.make, "anew_test::g")

    def test_tags(self):
        tag = torch.Tag.pt2_compliant_tag
        self.assertEqual(self.make("tags_of_test::f")._opoverload.tags, [tag])
        self.assertEqual(self.make("tags_of_test::g", tags=torch.Tag.pointwise)._opoverload.tags, [tag, torch.Tag.pointwise])
        for tags in (("pointwise",), 3):
            self.assertRaises(TypeError, self.make, "tags_of_test::h", tags=tags)

    def test_tensors_by_keyword_alone_are_refused(self):
        schema = "(Tensor x, *, Tensor y) -> Tensor"
        self.assertRaises(NotImplementedError, self.make, "keyword_test::f", schema=schema)
        library.define("keyword_test::g", schema)
        self.assertRaises(NotImplementedError, library.register_autograd, "keyword_test::g", lambda ctx, grad: grad)
        self.assertRaises(NotImplementedError, library.register_vmap, "keyword_test::g", lambda info, dims, x, *, y: (x, 0))

    def test_functions_may_come_before_the_definition(self):
        self.assertIsNotNone(library.impl("before_test::f", "cpu", lambda x: x + 1))
        library.define("before_test::f", "(Tensor x) -> Tensor")
        self.assertEqual(torch.ops.before_test.f(torch.ones(1)).item(), 2)
        self.assertRaises(ValueError, library.impl, "before", "cpu", lambda x: x)

    def test_formulas_are_for_operators_with_results_of_their_own(self):
        for name, schema in (("view", "(Tensor(a) x) -> Tensor(a)"), ("none", "(Tensor x) -> ()"), ("write", "(Tensor(a!) x) -> Tensor(a!)")):
            library.define(f"formula_test::{name}", schema)
            self.assertRaises(RuntimeError, library.register_autograd, f"formula_test::{name}", lambda ctx, grad: grad)


class Gradients(unittest.TestCase):
    def test_results_may_be_lists_beside_tensors(self):
        @library.custom_op("nested_test::f", mutates_args=())
        def f(x: Tensor, n: int = 2) -> tuple[List[Tensor], Tensor, int]:
            return [x * 2, x * 3], x * 4, n

        seen = []
        f.register_autograd(lambda ctx, several, one, n: (seen.append((several, n)), several[0] * 2 + several[1] * 3 + one * 4, None)[1:])
        x = torch.ones(1, requires_grad=True)
        several, one, n = f(x)
        self.assertEqual((several[0].requires_grad, one.requires_grad, n), (True, True, 2))
        self.assertEqual(torch.autograd.grad(several[1] + one, x)[0].item(), 7)
        self.assertEqual((type(seen[0][0]), seen[0][1]), (list, None))

    def test_which_gradients_are_wanted(self):
        op = library.custom_op("wanted_test::f", lambda xs, y, n: sum(xs) * y, mutates_args=(), schema="(Tensor[] xs, Tensor y, int n) -> Tensor")
        seen = []
        op.register_autograd(
            lambda ctx, grad: (seen.append(ctx.needs_input_grad), [grad, grad], grad, None)[1:],
            setup_context=lambda ctx, inputs, output: seen.append(ctx.needs_input_grad),
        )
        x = torch.ones(1, requires_grad=True)
        op([x, torch.ones(1)], x, 1).sum().backward()
        self.assertEqual(seen, [(True, False, True, False), ([True, False], True, False)])

    def test_formulas_that_do_not_fit_are_errors(self):
        x = torch.ones(2, requires_grad=True)
        for number, (schema, formula) in enumerate((
            ("(Tensor x, int n) -> Tensor", lambda ctx, grad: grad), ("(Tensor x, int n) -> Tensor", lambda ctx, grad: (grad, grad)),
            ("(Tensor x, int n) -> Tensor", lambda ctx, grad: (grad, None, grad)), ("(Tensor[] x, int n) -> Tensor", lambda ctx, grad: (grad, None)),
            ("(Tensor[] x, int n) -> Tensor", lambda ctx, grad: ([grad, grad], None)),
        )):  # fmt: skip
            op = library.custom_op(f"misfit_test::f{number}", lambda x, n: (x[0] if isinstance(x, list) else x) * n, mutates_args=(), schema=schema)
            op.register_autograd(formula)
            with self.subTest(schema=schema):
                self.assertRaises(RuntimeError, op([x] if "[]" in schema else x, 2).sum().backward)
        op.register_autograd(lambda ctx, grad: ([grad], None, None))  # gradients of nothing more are let pass
        op([x], 2).sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 1])

    def test_graphs_hold_no_inputs_that_formulas_do_not_keep(self):
        op = library.custom_op("held_test::f", lambda xs, y: xs[0] * y, mutates_args=(), schema="(Tensor[] xs, Tensor y) -> Tensor")
        op.register_autograd(lambda ctx, grad: ([grad], grad))
        leaf, x = torch.ones(1, requires_grad=True), torch.ones(1)
        kept = weakref.ref(x)
        out = op([x], leaf)
        del x
        self.assertIsNone(kept())
        out.backward()
        self.assertEqual(leaf.grad.item(), 1)

    def test_functions_see_the_mode_of_the_caller(self):
        seen = []
        op = library.custom_op("mode_test::f", lambda x: seen.append(torch.is_grad_enabled()) or x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
        op(torch.ones(1))
        op(torch.ones(1, requires_grad=True))
        self.assertEqual(seen, [True, False])


if __name__ == "__main__":
    unittest.main()
