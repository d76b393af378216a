"""Functions of programs in place of those that operators of the tree have, fallbacks for keys, and types with parts in schemas."""

import enum
import gc
import unittest
import weakref

import cresset as torch
from cresset import library

aten = torch.ops.aten


class Colour(enum.Enum):
    RED = 1


class InPlaceOfBuiltIn(unittest.TestCase):
    def setUp(self):
        self.x = torch.arange(3.0)

    def test_a_kernel_of_the_cpu(self):
        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("neg", lambda x: torch.full_like(x, 7), "CPU")
            for found in (torch.neg(self.x), -self.x, self.x.neg(), aten.neg(self.x), aten.neg.default(self.x)):
                self.assertEqual(found.tolist(), [7, 7, 7])
            lib.impl("sin", lambda x: x * 3, "CPU")
            leaf = self.x.clone().requires_grad_()
            out = torch.sin(leaf)  # whose gradient is the operator's
            self.assertEqual((out.tolist(), torch.autograd.grad(out.sum(), leaf)[0].tolist()), ([0, 3, 6], self.x.cos().tolist()))
            self.assertEqual(torch.vmap(torch.neg)(self.x).tolist(), [7, 7, 7])
            self.assertEqual(torch.neg(torch.empty(4, device="meta")).shape, (4,))
        self.assertEqual(torch.neg(self.x).tolist(), [0, -1, -2])

    def test_overloads_and_forms_are_operators_of_their_own(self):
        seen = []

        def add_(self, other, *, alpha=1):
            seen.append((float(other), alpha))
            return self.fill_(5)

        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("sum.dim_IntList", lambda *args, **kwargs: torch.full((2,), 5.0), "CPU")
            lib.impl("add_.Tensor", add_, "CPU")
            self.assertEqual((torch.ones(2, 3).sum(1).tolist(), torch.ones(2, 3).mean(1).tolist()), ([5, 5], [1, 1]))
            y = torch.ones(2)
            version = y._version
            y += torch.tensor(3.0)
            self.assertEqual((y.tolist(), seen, (self.x + self.x).tolist()), ([5, 5], [(3, 1)], [0, 2, 4]))
            self.assertGreater(y._version, version)
        self.assertEqual(y.add_(torch.ones(2)).tolist(), [6, 6])

    def test_the_last_one_counts_and_each_goes_with_its_library(self):
        first, second = library.Library("aten", "IMPL"), library.Library("aten", "IMPL")
        first.impl("neg", lambda x: x, "CPU")
        second.impl("neg", lambda x: x * 2, "CPU", allow_override=True)
        self.assertEqual(torch.neg(self.x).tolist(), [0, 2, 4])
        second._destroy()
        self.assertEqual(torch.neg(self.x).tolist(), [0, 1, 2])
        first._destroy()
        self.assertEqual(torch.neg(self.x).tolist(), [0, -1, -2])

    def test_an_error_of_the_function_reaches_the_caller(self):
        def refuse(x):
            raise ValueError("not today")

        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("neg", refuse, "CPU")
            with self.assertRaisesRegex(ValueError, "not today"):
                torch.neg(self.x)
            lib.impl("neg", lambda x: "text", "CPU")
            with self.assertRaises((RuntimeError, TypeError)):
                torch.neg(self.x)

    def test_the_body_of_a_composite(self):
        square = torch.ones(2, 2, requires_grad=True)
        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("mT", lambda x: x * 2, "CompositeImplicitAutograd")
            self.assertEqual(square.mT.tolist(), [[2, 2], [2, 2]])
            square.mT.sum().backward()
            self.assertEqual(square.grad.tolist(), [[2, 2], [2, 2]])
        self.assertEqual(square.mT.tolist(), [[1, 1], [1, 1]])

    def test_the_body_of_a_composite_under_fake_tensors_and_capture(self):
        from cresset._subclasses import FakeTensorMode
        from cresset.fx.experimental.proxy_tensor import make_fx

        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("mT", lambda x: x * 2, "CompositeImplicitAutograd")
            with FakeTensorMode():
                self.assertEqual(torch.empty(3, 4).mT.shape, (3, 4))
            graph = make_fx(lambda x: x.mT, tracing_mode="symbolic")(torch.ones(3, 4))
            self.assertEqual([str(n.target) for n in graph.graph.nodes if n.op == "call_function"], ["aten.mul.Tensor"])
            self.assertEqual(torch.compile(lambda x: x.mT + 1, backend="aot_eager")(torch.ones(3, 4)).shape, (3, 4))

    def test_a_kernel_goes_before_a_body(self):
        x = torch.full((2, 2), 3.0)
        for body in (False, True):
            with library._scoped_library("aten", "IMPL") as lib:
                lib.impl("mT", lambda x: x * 10, "CPU")
                if body:
                    lib.impl("mT", lambda x: x * 2, "CompositeImplicitAutograd")
                self.assertEqual([t.mT[0, 0].item() for t in (x, x.clone().requires_grad_())], [30, 30], body)
                self.assertEqual(torch.ops.aten.mT.default(x)[0, 0].item(), 30)

    def test_redispatch_past_autograd(self):
        def scaled(keys, x):
            return aten.neg.default.redispatch(keys & torch._C._after_autograd_keyset, x) * 3

        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("neg", scaled, "AutogradCPU", with_keyset=True)
            self.assertEqual(torch.neg(self.x.requires_grad_()).tolist(), [0, -3, -6])

    def test_programs_that_were_prepared_before(self):
        program = torch.jit.script(lambda_free_neg)
        traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.neg())(self.x)
        for _ in range(3):
            program(self.x)
        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("neg", lambda x: torch.full_like(x, 7), "CPU")
            self.assertEqual((program(self.x).tolist(), traced(self.x).tolist()), ([7, 7, 7], [7, 7, 7]))
        self.assertEqual(program(self.x).tolist(), [0, -1, -2])


def lambda_free_neg(x: torch.Tensor) -> torch.Tensor:
    return torch.neg(x)


class Fallbacks(unittest.TestCase):
    def test_of_a_key_are_called_with_the_operator(self):
        seen, sparse = [], torch.eye(2).to_sparse()

        def run(op, x, *rest):
            seen.append((op.name(), x.layout, rest))
            return torch.full((2,), 5.0)

        def run_with_keys(keys, op, x, *rest):
            self.assertTrue(keys.has(torch._C.DispatchKey.CPU))
            return run(op, x, *rest)

        for function, with_keyset in ((run, False), (run_with_keys, True)):
            seen.clear()
            with library._scoped_library("fallback_test", "DEF") as lib, library._scoped_library("_", "IMPL") as shared:
                lib.define("f(Tensor x, int k=3) -> Tensor")
                shared.fallback(function, "SparseCPU", with_keyset=with_keyset)
                self.assertEqual(torch.lgamma(sparse).tolist(), [5, 5])
                self.assertEqual(seen, [("aten::lgamma", torch.sparse_coo, ())])
                with self.assertRaisesRegex(RuntimeError, "already set"):
                    shared.fallback(run, "SparseCPU")
            with self.assertRaises((RuntimeError, NotImplementedError)):
                torch.lgamma(sparse)

    def test_serve_operators_of_programs(self):
        seen = []
        with library._scoped_library("fallback_test", "DEF") as lib, library._scoped_library("_", "IMPL") as shared:
            lib.define("f(Tensor x, int k=3) -> Tensor")
            shared.fallback(lambda op, *args: seen.append((op.name(), len(args))) or args[0] + 1, "CPU")
            self.assertEqual(torch.ops.fallback_test.f(torch.ones(1), 5).item(), 2)
            self.assertEqual(seen, [("fallback_test::f", 2)])

    def test_what_does_not_fit_is_refused(self):
        shared = library.Library("_", "IMPL")
        self.assertRaises(RuntimeError, shared.fallback, abs)
        self.assertRaises(TypeError, shared.fallback, 5, "CPU")
        self.assertRaises(RuntimeError, library.Library("fallback_test", "FRAGMENT").fallback, abs, "CPU")

    def test_functions_go_with_their_library(self):
        def function(x):
            return x

        kept = weakref.ref(function)
        with library._scoped_library("aten", "IMPL") as lib:
            lib.impl("neg", function, "CPU")
            del function
            self.assertIsNotNone(kept())
        del lib
        gc.collect()
        self.assertIsNone(kept())


class TypesWithParts(unittest.TestCase):
    def operator(self, schema, function, name="f"):
        lib = library.Library("parts_test", "FRAGMENT")
        self.addCleanup(lib._destroy)
        lib.define(name + schema)
        lib.impl(name, function, "CompositeExplicitAutograd")
        op = getattr(torch.ops.parts_test, name)
        self.assertEqual(str(op.default._schema), f"parts_test::{name}{schema}")
        return op

    def test_dictionaries(self):
        op = self.operator("(Dict(str, Tensor) d, int k) -> Dict(str, Tensor)", lambda d, k: {name: x * k for name, x in d.items()})
        self.assertEqual({name: x.tolist() for name, x in op({"a": torch.ones(2)}, 3).items()}, {"a": [3, 3]})
        for wrong in ([1], {"a": 1}, {1: torch.ones(1)}):
            with self.assertRaisesRegex(RuntimeError, "value of type 'Dict\\(str, Tensor\\)' for argument 'd'"):
                op(wrong, 3)
        self.assertEqual(self.operator("(Dict(int, float[]) d) -> float", lambda d: sum(d[2]), "g")({2: [1, 2.5]}), 3.5)

    def test_tuples(self):
        op = self.operator("((Tensor, int) pair, (int, int)? other=None) -> (Tensor, int)", lambda pair, other=None: (pair[0] + 1, pair[1]))
        out, number = op((torch.zeros(2), 4))
        self.assertEqual((out.tolist(), number), ([1, 1], 4))
        for wrong in ((torch.zeros(2),), (1, 2), torch.zeros(2)):
            with self.assertRaisesRegex(RuntimeError, "argument 'pair'"):
                op(wrong)

    def test_futures(self):
        op = self.operator("(Future(Tensor) f) -> Tensor", lambda f: f.wait() + 1)
        future = torch.futures.Future()
        future.set_result(torch.zeros(1))
        self.assertEqual(op(future).item(), 1)
        with self.assertRaisesRegex(RuntimeError, "Future"):
            op(torch.zeros(1))

    def test_enumerations(self):
        op = self.operator("(AnyEnumType e) -> int", lambda e: e.value)
        self.assertEqual(op(Colour.RED), 1)
        self.assertRaises(RuntimeError, op, 1)

    def test_others_are_refused_at_the_definition(self):
        with library._scoped_library("parts_test", "FRAGMENT") as lib:
            for schema in ("g(Dict(str, Abacus) d) -> int", "g(Dict(str) d) -> int", "g(Future(int f) -> int"):
                with self.assertRaises(RuntimeError, msg=schema):
                    lib.define(schema)
