"""Operators that programs define: schemas, functions by kind of device, gradients, refusals. Texts are PyTorch 2.13's."""

import copy
import unittest
from typing import List, Optional, Sequence, Tuple, Union

import cresset as torch
from cresset import Tensor, library


class Schemas(unittest.TestCase):
    def test_schemas_print_sizes_that_may_be_symbols(self):
        for name, text in (
            ("view.default", "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"),
            ("split.Tensor", "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"),
            ("conv2d.default", "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
             "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
            ("exponential_.default", "aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)"),
            ("isclose.default", "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"),
            ("mse_loss.default", "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
            ("any.all_out", "aten::any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
            ("sum.dim_IntList", "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
        ):  # fmt: skip
            packet, _, overload = name.partition(".")
            self.assertEqual(str(getattr(getattr(torch.ops.aten, packet), overload)._schema), text)

    def test_overloads_without_rows_compute(self):
        aten, x = torch.ops.aten, torch.arange(6.0).view(2, 3)
        double = torch.empty(0, dtype=torch.float64)
        self.assertEqual(aten.sum.out(x, out=torch.empty(0)), 15)
        self.assertEqual(aten.norm.Scalar_out(x, out=torch.empty(0)), x.norm())
        self.assertEqual(aten.norm.ScalarOpt_dtype(x, 1, dtype=torch.float64).dtype, torch.float64)
        self.assertTrue(torch.equal(aten.norm.dtype_out(x, 1, [1], False, dtype=torch.float64, out=double), torch.tensor([3.0, 12.0], dtype=torch.float64)))
        self.assertEqual(aten.index_put_.hacked_twin(torch.zeros(3), [torch.tensor([1])], torch.tensor(2.0)).tolist(), [0, 2, 0])
        self.assertEqual(aten.normal.out(x, 1.0, 0.0, out=torch.empty(0)).tolist(), [[1.0] * 3] * 2)
        self.assertTrue(aten.eq.Tensor_list([x], [x.clone()]))
        self.assertFalse(aten.eq.Tensor_list([x], [x + 1]))
        self.assertEqual((aten.__lshift__(torch.arange(3), 1).tolist(), aten.__rshift__(torch.arange(3), torch.ones(3, dtype=torch.int64)).tolist()),
                         ([0, 2, 4], [0, 0, 1]))  # fmt: skip

    def test_annotations(self):
        def a(x: Tensor, y: Optional[Tensor], n: int, l: Sequence[int], b: bool, d: torch.dtype, ts: List[Tensor], s: str = "q", f: float = 1e-5, m: int = -1, *,
              kw: float = 2.0, o: Optional[int] = None, ob: Optional[bool] = True, dd: torch.dtype = torch.float32) -> Tuple[Tensor, int]: ...  # fmt: skip

        def b(
            x: Tensor, u: Union[int, float, bool], dev: torch.device, sl: List[float], oo: Optional[List[float]], ot: List[Optional[Tensor]]
        ) -> List[Tensor]: ...

        def c(x: Tensor | None, n: list[int], m: int | None = 3) -> None: ...

        self.assertEqual(library.infer_schema(a, mutates_args=()),
                         '(Tensor x, Tensor? y, SymInt n, SymInt[] l, bool b, ScalarType d, Tensor[] ts, str s="q", float f=1e-05, SymInt m=-1, *, '
                         "float kw=2.0, SymInt? o=None, bool? ob=True, ScalarType dd=float32) -> (Tensor, SymInt)")  # fmt: skip
        self.assertEqual(
            library.infer_schema(b, mutates_args={"x", "ot"}), "(Tensor(a0!) x, Scalar u, Device dev, float[] sl, float[]? oo, Tensor(a5!)?[] ot) -> Tensor[]"
        )
        self.assertEqual(library.infer_schema(b, mutates_args="unknown"), library.infer_schema(b, mutates_args={"x", "ot"}))
        self.assertEqual(library.infer_schema(c, mutates_args=(), op_name="q"), "q(Tensor? x, SymInt[] n, SymInt? m=3) -> ()")

        def no_return(x: Tensor): ...
        def no_type(x) -> Tensor: ...
        def other_type(x: dict) -> Tensor: ...
        def many(x: Tensor, *rest: int) -> Tensor: ...
        def endless(x: Tensor) -> Tuple[Tensor, ...]: ...
        def default(x: Tensor, n: Sequence[int] = (1,)) -> Tensor: ...

        for function in (no_return, no_type, other_type, many, endless, default):
            self.assertRaises(ValueError, library.infer_schema, function, mutates_args=())
        self.assertRaises(ValueError, library.infer_schema, c, mutates_args={"n"})
        self.assertRaises(ValueError, library.infer_schema, c, mutates_args={"z"})

    def test_tags_say_what_is_returned(self):
        def inplace(x: Tensor, n: int = 2) -> Tensor: ...
        def out(x: Tensor, *, result: Tensor) -> Tensor: ...

        self.assertEqual(library.infer_schema(inplace, mutates_args=("x",), tags=("inplace",)), "(Tensor(a0!) x, SymInt n=2) -> Tensor(a0!)")
        self.assertEqual(library.infer_schema(out, mutates_args=("result",), tags=("out",)), "(Tensor x, *, Tensor(a1!) result) -> Tensor(a1!)")
        self.assertEqual(library.infer_schema(inplace, mutates_args=(), tags=("pointwise",)), "(Tensor x, SymInt n=2) -> Tensor")
        for function, changed, tag in ((inplace, (), "inplace"), (inplace, "unknown", "inplace"), (inplace, (), "out"), (inplace, ("x",), "out")):
            self.assertRaises(ValueError, library.infer_schema, function, mutates_args=changed, tags=(tag,))

    def test_texts(self):
        from cresset._core.schema import parse

        schema = parse('ns::f.over(Tensor(a!) x, Tensor?[] y, int[2] n=[1, 2], str s="a,b", *, float? e=1e-3, ScalarType t=int64) -> (Tensor, Tensor)', "ns")
        self.assertEqual((schema.name, schema.overload, schema.returns), ("f", "over", ["Tensor", "Tensor"]))
        self.assertEqual([a.type for a in schema.arguments], ["Tensor", "Tensor?[]", "int[]", "str", "float?", "ScalarType"])
        self.assertEqual([a.default for a in schema.arguments[2:]], [[1, 2], "a,b", 1e-3, torch.int64])
        self.assertEqual(([a.mutated for a in schema.arguments][:2], [a.keyword for a in schema.arguments][3:]), ([True, False], [False, True, True]))
        for text in ("bad(", "f(Tensor) -> Tensor", "f(Thing x) -> Tensor"):
            self.assertRaises(RuntimeError, parse, text, "ns")


class Custom(unittest.TestCase):
    def test_calls(self):
        @library.custom_op("test_custom::scaled", mutates_args=())
        def scaled(x: Tensor, k: float = 1.0) -> Tensor:
            return (x * k).sin()

        x = torch.ones(2)
        for call in (scaled, torch.ops.test_custom.scaled, torch.ops.test_custom.scaled.default):
            self.assertTrue(torch.equal(call(x, 2.0), (x * 2).sin()))
            self.assertTrue(torch.equal(call(x, k=2), (x * 2).sin()))
        self.assertEqual(
            (repr(scaled), str(scaled._opoverload), scaled._opoverload.name()),
            ("<CustomOpDef(test_custom::scaled)>", "test_custom.scaled.default", "test_custom::scaled"),
        )
        for args, named in (((3,), {}), ((), {}), ((x,), {"z": 1}), ((x, 1.0, 2), {}), ((x, "a"), {}), ((x,), {"x": x})):
            self.assertRaises(RuntimeError, scaled, *args, **named)
        self.assertRaises(RuntimeError, scaled, x.to("meta"))
        scaled.register_fake(lambda x, k=1.0: torch.empty_like(x))
        self.assertEqual(scaled(x.to("meta")).shape, (2,))

    def test_gradients(self):
        @library.custom_op("test_custom::sine", mutates_args=())
        def sine(x: Tensor, k: float) -> Tensor:
            return (x * k).sin()

        x = torch.rand(3, dtype=torch.float64, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "there is no formula for its gradients"):
            sine(x, 2.0).sum().backward()

        def keep(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.k, ctx.needs = inputs[1], ctx.needs_input_grad

        seen = []

        def formula(ctx, grad):
            seen.append(ctx.needs)
            return grad * (ctx.saved_tensors[0] * ctx.k).cos() * ctx.k, None

        sine.register_autograd(formula, setup_context=keep)
        self.assertTrue(torch.autograd.gradcheck(lambda t: sine(t, 2.0), x))
        self.assertEqual(set(seen), {(True, False)})
        with torch.no_grad():
            self.assertFalse(sine(x, 2.0).requires_grad)

    def test_lists_and_named_arguments(self):
        @library.custom_op("test_custom::both", mutates_args=(), schema="(Tensor x, Tensor[] ys, *, int n=2) -> (Tensor, Tensor)")
        def both(x, ys, *, n=2):
            return x * n + sum(ys), x * 2

        def keep(ctx, inputs, keyword_only_inputs, output):
            ctx.count, ctx.n = len(inputs[1]), keyword_only_inputs["n"]

        both.register_autograd(lambda ctx, a, b: (ctx.n * a + 2 * b, [a] * ctx.count), setup_context=keep)
        x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
        sum(both(x, [y, y], n=5)).backward()
        self.assertEqual((x.grad.item(), y.grad.item()), (7, 2))

    def test_changes_in_place(self):
        @library.custom_op("test_custom::add_in", mutates_args={"x"})
        def add_in(x: Tensor, y: Tensor) -> None:
            x.add_(y)

        x = torch.zeros(2)
        before = x._version
        self.assertIsNone(add_in(x, torch.ones(2)))
        self.assertEqual(x.tolist(), [1, 1])
        self.assertGreater(x._version, before)
        self.assertEqual(str(torch.ops.test_custom.add_in.default._schema), "test_custom::add_in(Tensor(a0!) x, Tensor y) -> ()")

    def test_results_are_new(self):
        same = library.custom_op("test_custom::same", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
        part = library.custom_op("test_custom::part", lambda x: x[:1], mutates_args=(), schema="(Tensor x) -> Tensor")
        self.assertRaises(RuntimeError, same, torch.ones(2))
        self.assertRaises(RuntimeError, part, torch.ones(2))
        self.assertRaises(ValueError, library.custom_op, "noname", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")

    def test_modes_and_classes_take_calls_over(self):
        op = library.custom_op("test_custom::seen", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
        calls = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                calls.append(function)
                return function(*args, **(kwargs or {}))

        with Mode():
            op(torch.ones(1))
        self.assertIn(torch.ops.test_custom.seen.default, calls)


class Libraries(unittest.TestCase):
    def test_pieces(self):
        lib = library.Library("test_lib", "DEF")
        self.addCleanup(lib._destroy)
        self.assertEqual(lib.define("foo(Tensor x, int n=2) -> Tensor"), "foo")
        x = torch.ones(2)
        with self.assertRaisesRegex(NotImplementedError, "Could not run 'test_lib::foo'"):
            torch.ops.test_lib.foo(x)
        lib.impl("foo", lambda x, n=2: x * n, "CPU")
        self.assertEqual(torch.ops.test_lib.foo(x, 3).tolist(), [3, 3])
        self.assertEqual(lib.define("foo.two(Tensor x, Tensor y) -> Tensor"), "foo")
        second = library.Library("test_lib", "IMPL", "CPU")
        second.impl("foo.two", lambda x, y: x + y)
        self.assertEqual((torch.ops.test_lib.foo(x, x).tolist(), torch.ops.test_lib.foo.overloads()), ([2, 2], ["default", "two"]))
        for kind, call in ((RuntimeError, lambda: lib.define("foo(Tensor x) -> Tensor")), (RuntimeError, lambda: lib.define("bad(")), (RuntimeError, lambda: library.Library("test_lib", "DEF")),
                           (RuntimeError, lambda: library.Library("aten", "DEF")), (ValueError, lambda: library.Library("a", "b")), (AttributeError, lambda: torch.ops.test_lib.none),
                           (RuntimeError, lambda: lib.impl("foo", abs, "Abacus")), (TypeError, lambda: lib.impl("foo", 3))):  # fmt: skip
            self.assertRaises(kind, call)

    def test_composites_are_recorded(self):
        lib = library.Library("test_lib2", "FRAGMENT")
        self.addCleanup(lib._destroy)
        lib.define("cube(Tensor x) -> Tensor")
        lib.impl("cube", lambda x: x * x * x, "CompositeImplicitAutograd")
        x = torch.tensor([2.0], requires_grad=True)
        torch.ops.test_lib2.cube(x).backward()
        self.assertEqual(x.grad.item(), 12)

    def test_by_names(self):
        library.define("test_named::bar", "(Tensor x) -> Tensor")

        @library.impl("test_named::bar", ["cpu", "cuda"])
        def bar(x):
            return x + 1

        library.register_fake("test_named::bar", lambda x: torch.empty_like(x))
        library.register_autograd("test_named::bar", lambda ctx, grad: grad * 7)
        x = torch.ones(2, requires_grad=True)
        torch.ops.test_named.bar(x).sum().backward()
        self.assertEqual((x.grad.tolist(), torch.ops.test_named.bar(x.detach().to("meta")).shape), ([7, 7], (2,)))
        self.assertRaises(RuntimeError, library.register_fake, "test_named::none", abs)
        self.assertRaises(ValueError, library.define, "test_named::other", "Tensor x")


class Checks(unittest.TestCase):
    def test_what_is_wrong_is_found(self):
        def make(name, function, **named):
            return library.custom_op(f"test_check::{name}", function, mutates_args=(), schema="(Tensor x) -> Tensor", **named)

        good = make("good", lambda x: x * 2)
        good.register_fake(lambda x: torch.empty_like(x))
        good.register_autograd(lambda ctx, grad: grad * 2)
        x = torch.ones(2, requires_grad=True)
        self.assertEqual(
            library.opcheck(good, (x,)), dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"), "SUCCESS")
        )
        sneaky = make("sneaky", lambda x: x.add_(1) * 1)
        with self.assertRaisesRegex(library.OpCheckError, "x was written, which the schema does not say"):
            library.opcheck(sneaky, (torch.ones(2),))
        wrong = make("wrong", lambda x: x.sum(0))
        wrong.register_fake(lambda x: torch.empty_like(x))
        found = library.opcheck(wrong, (x,), raise_exception=False)
        self.assertEqual(found["test_autograd_registration"], "SUCCESS")  # a custom operator always has a function for the key Autograd
        self.assertIsInstance(found["test_faketensor"], AssertionError)
        self.assertRaises(ValueError, library.opcheck, good, (x,), test_utils="test_luck")


class Vmap(unittest.TestCase):
    def setUp(self):
        self.op = library.custom_op(
            "test_vmap::scaled", lambda x, by=2.0: torch.tensor(x.numpy() * by), mutates_args=(), schema="(Tensor x, float by=2.0) -> Tensor"
        )
        self.seen = []

        @library.register_vmap(self.op)
        def rule(info, in_dims, x, by):
            self.seen.append((info.batch_size, info.randomness, in_dims))
            return self.op(x, by), in_dims[0]

    def test_the_rule_gets_whole_batches_and_their_dimensions(self):
        x = torch.arange(6.0).reshape(2, 3)
        self.assertTrue(torch.equal(torch.vmap(self.op, in_dims=1)(x), 2 * x.t()))
        self.assertEqual(self.seen, [(3, "error", (1, None))])

    def test_a_call_outside_of_vmap_does_without_it(self):
        self.assertEqual(self.op(torch.ones(1), 3.0).item(), 3)
        self.assertEqual(self.seen, [])

    def test_levels_nest(self):
        x = torch.arange(4.0).reshape(2, 2)
        self.assertTrue(torch.equal(torch.vmap(torch.vmap(self.op))(x), 2 * x))

    def test_the_method_is_a_decorator_too(self):
        self.op.register_vmap(lambda info, in_dims, x, by: (x + 1, in_dims[0]))
        self.assertEqual(torch.vmap(self.op)(torch.zeros(2)).tolist(), [1, 1])

    def test_lists_have_lists_of_dimensions(self):
        op = library.custom_op("test_vmap::joined", lambda xs: torch.cat(xs), mutates_args=(), schema="(Tensor[] xs) -> Tensor")
        seen = []
        op.register_vmap(lambda info, in_dims, xs: (seen.append(in_dims), (torch.cat([x.movedim(d, 0) for x, d in zip(xs, in_dims[0])], 1), 0))[1])
        self.assertTrue(
            torch.equal(
                torch.vmap(lambda a, b: op([a, b]), in_dims=(0, 1))(torch.zeros(2, 3), torch.ones(3, 2)), torch.cat([torch.zeros(2, 3), torch.ones(2, 3)], 1)
            )
        )
        self.assertEqual(seen, [([0, 1],)])

    def test_a_rule_that_returns_one_thing_is_refused(self):
        self.op.register_vmap(lambda info, in_dims, x, by: x)
        self.assertRaisesRegex(RuntimeError, "test_vmap::scaled: the rule for vmap has to return two things", torch.vmap(self.op), torch.ones(2))


class UnderFakeTensors(unittest.TestCase):
    def test_a_clone_of_a_part_is_no_alias(self):
        from cresset._subclasses.fake_tensor import FakeTensorMode

        op = library.custom_op("test_fake::head", lambda x, n: x[:n].clone(), mutates_args=(), schema="(Tensor x, int n) -> Tensor")
        with FakeTensorMode() as mode, self.assertRaisesRegex(RuntimeError, "register_fake"):
            op(mode.from_tensor(torch.ones(5)), 2)
        op.register_fake(lambda x, n: x[:n].clone())
        with FakeTensorMode() as mode:
            self.assertEqual(op(mode.from_tensor(torch.ones(5)), 2).shape, (2,))
        alias = library.custom_op("test_fake::part", lambda x: x[:2], mutates_args=(), schema="(Tensor x) -> Tensor")
        self.assertRaisesRegex(RuntimeError, "share no memory", alias, torch.ones(5))


class Objects(unittest.TestCase):
    def test_operators_are_copied_as_themselves(self):
        op = library.custom_op("test_copy::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
        for found in (torch.ops.aten.add, torch.ops.aten.add.Tensor, torch.ops.test_copy.f, op._opoverload):
            self.assertIs(copy.deepcopy(found), found)

    def test_tags(self):
        self.assertEqual(torch.Tag.pointwise.name, "pointwise")
        op = library.custom_op("test_tags::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
        self.assertEqual(op._opoverload.tags, [torch.Tag.pt2_compliant_tag])
        library.define("test_tags::g", "(Tensor x) -> Tensor", tags=torch.Tag.pointwise)
        self.assertEqual(torch.ops.test_tags.g.default.tags, [torch.Tag.pointwise])


class Rules(unittest.TestCase):
    """Rules of operators beside their functions: casts, modes, keys, and the end of a library."""

    def define(self, name, function):
        return library.custom_op(f"test_rules::{name}", function, mutates_args=(), schema="(Tensor x) -> Tensor")

    def test_autocast_casts_inputs(self):
        op = self.define("kind", lambda x: x * 1)
        library.register_autocast(op, "cpu", torch.bfloat16)
        with torch.autocast("cpu"):
            self.assertIs(op(torch.ones(1)).dtype, torch.bfloat16)
        self.assertIs(op(torch.ones(1)).dtype, torch.float32)
        self.assertRaises(ValueError, library.register_autocast, op, "tpu", torch.bfloat16)

    def test_a_function_may_be_turned_off_for_a_scope(self):
        op = self.define("five", lambda x: x * 2)
        op.register_kernel("cpu")(lambda x: x * 5)
        with op.set_kernel_enabled("cpu", enabled=False):
            self.assertEqual(op(torch.ones(1)).item(), 2)
        self.assertEqual(op(torch.ones(1)).item(), 5)
        with self.assertLogs("cresset.library"), op.set_kernel_enabled("gpu", enabled=False):
            self.assertEqual(op(torch.ones(1)).item(), 5)

    def test_what_is_registered_for_a_library_goes_with_it(self):
        lib = torch.library.Library("registered_for", "FRAGMENT")
        torch.library.define("registered_for::twice", "(Tensor x) -> Tensor", lib=lib)
        torch.library.impl("registered_for::twice", "cpu", lambda x: x * 2, lib=lib)
        torch.library.register_fake("registered_for::twice", lambda x: x.new_empty(7), lib=lib)
        torch.library.register_autograd("registered_for::twice", lambda ctx, grad: grad * 2, lib=lib)
        torch.library.register_vmap("registered_for::twice", lambda info, dims, x: (x * 2, dims[0]), lib=lib)
        x = torch.ones(2, requires_grad=True)
        torch.ops.registered_for.twice(x).sum().backward()
        self.assertEqual((x.grad.tolist(), torch.ops.registered_for.twice(x.to("meta")).shape), ([2, 2], (7,)))
        self.assertEqual(torch.vmap(torch.ops.registered_for.twice)(torch.ones(2, 1)).tolist(), [[2], [2]])
        lib._destroy()
        with self.assertRaises(AttributeError):
            torch.ops.registered_for.twice(x)
        torch.library.define("registered_for::twice", "(Tensor x) -> Tensor", lib=torch.library.Library("registered_for", "FRAGMENT"))

    def test_rules_for_a_library_leave_the_operator_of_another(self):
        op = torch.library.custom_op("registered_on::thrice", lambda x: x * 3, mutates_args=(), schema="(Tensor x) -> Tensor")
        own = torch.library.register_fake(op, lambda x: x.new_empty(1))
        with torch.library._scoped_library("registered_on", "FRAGMENT") as lib:
            torch.library.register_kernel(op, "cpu", lambda x: x * 30, lib=lib)
            torch.library.register_fake(op, lambda x: x.new_empty(2), lib=lib)
            torch.library.register_autocast(op, "cpu", torch.bfloat16, lib=lib)
            torch.library.register_autograd(op, lambda ctx, grad: grad * 5, lib=lib)
            self.assertEqual((op(torch.ones(1)).item(), op(torch.ones(1, device="meta")).shape), (30, (2,)))
            with torch.autocast("cpu"):
                self.assertEqual(op(torch.ones(1)).dtype, torch.bfloat16)
        self.assertEqual((op(torch.ones(1)).item(), op(torch.ones(1, device="meta")).shape, own(torch.ones(1)).shape), (3, (1,), (1,)))
        with torch.autocast("cpu"):
            self.assertEqual(op(torch.ones(1)).dtype, torch.float32)
        with self.assertRaises((RuntimeError, NotImplementedError)):
            op(torch.ones(1, requires_grad=True)).backward()

    def test_libraries_are_asked_for_by_their_kind_and_namespace(self):
        with torch.library._scoped_library("asked_for", "FRAGMENT") as lib:
            with self.assertRaisesRegex(ValueError, "namespace 'asked_for', got 'another::f'"):
                torch.library.define("another::f", "(Tensor x) -> Tensor", lib=lib)
            with self.assertRaisesRegex(TypeError, "register_fake: expected a torch.library.Library for lib, got str"):
                torch.library.register_fake("aten::sin", lambda x: x, lib="asked_for")

            @torch.library.define(lib, "f.of_one(Tensor x) -> Tensor")
            def f(x):
                return x * 4

            self.assertEqual((torch.ops.asked_for.f(torch.ones(1)).item(), f(torch.ones(1)).item()), (4, 4))
        with self.assertRaises(AttributeError):
            torch.ops.asked_for.f(torch.ones(1))

    def test_what_a_library_defines_goes_with_it(self):
        with library._scoped_library("test_scope", "FRAGMENT") as lib:
            lib.define("inner(Tensor x) -> Tensor")
            lib.impl("inner", lambda x: x * 3, "CPU")
            self.assertEqual(torch.ops.test_scope.inner(torch.ones(1)).item(), 3)
        self.assertFalse(hasattr(torch.ops.test_scope, "inner"))
        lib = library.Library("test_gone", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        del lib
        self.assertFalse(hasattr(torch.ops.test_gone, "f"))

    def test_functions_may_come_before_the_definition(self):
        lib = library.Library("test_later", "FRAGMENT")
        lib.impl("f", lambda x: x + 1, "CPU")
        lib.define("f(Tensor x) -> Tensor")
        self.assertEqual(torch.ops.test_later.f(torch.ones(1)).item(), 2)

    def test_functions_may_take_the_keys_of_the_call(self):
        lib = library.Library("test_keys", "FRAGMENT")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda keys, x: x + keys.has(torch._C.DispatchKey.CPU), "CPU", with_keyset=True)
        self.assertEqual(torch.ops.test_keys.f(torch.ones(1)).item(), 2)
        self.assertTrue(torch._C._dispatch_has_kernel_for_dispatch_key("test_keys::f", "CPU"))
        self.assertFalse(torch._C._dispatch_has_kernel_for_dispatch_key("test_keys::f", "CUDA"))

    def test_results_that_do_not_fit_the_schema_are_errors(self):
        lib = library.Library("test_results", "FRAGMENT")
        lib.define("one(Tensor x) -> Tensor")
        lib.define("two(Tensor x) -> (Tensor, Tensor)")
        lib.impl("one", lambda x: "text", "CPU")
        lib.impl("two", lambda x: x, "CPU")
        self.assertRaises(RuntimeError, torch.ops.test_results.one, torch.ones(1))
        self.assertRaises(TypeError, torch.ops.test_results.two, torch.ones(1))

    def test_errors_of_schemas_mark_the_place(self):
        lib = library.Library("test_text", "FRAGMENT")
        with self.assertRaisesRegex(RuntimeError, r"(?s)unknown type `Blob`.*column 7.*\^"):
            lib.define("f(Blob x) -> Tensor")

    def test_schemas_are_data(self):
        schema = torch._C.parse_schema("ns::f.over(Tensor(a!) x, int[2] n=3, *, str s='a') -> (Tensor y, int)")
        self.assertEqual(str(schema), 'ns::f.over(Tensor(a!) x, int[2] n=3, *, str s="a") -> (Tensor y, int)')
        self.assertEqual(
            [(a.name, str(a.type), a.default_value, a.kwarg_only) for a in schema.arguments],
            [("x", "Tensor", None, False), ("n", "List[int]", [3, 3], False), ("s", "str", "a", True)],
        )
        self.assertTrue(schema.is_mutable)
        newer, older = (torch._C.parse_schema(f"f(Tensor x{more}) -> Tensor") for more in (", int m=1", ""))
        self.assertTrue(newer.is_backward_compatible_with(older))
        self.assertFalse(older.is_backward_compatible_with(newer))

    def test_schemas_are_compatible_with_older_ones(self):
        pairs = {  # older, newer: backward, forward
            ("f(Tensor x, *, int c) -> Tensor", "f(Tensor x, int? c) -> Tensor"): (True, False),
            ("f(Tensor x, int c) -> Tensor", "f(Tensor x, *, int c) -> Tensor"): (False, False),
            ("f(Tensor x) -> Tensor?", "f(Tensor x) -> Tensor"): (True, True),
            ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor?"): (False, True),
            ("f(Tensor x, int a=1) -> Tensor", "f(Tensor x, int a=2) -> Tensor"): (False, False),
            ("f(Tensor x, int a) -> Tensor", "f(Tensor x, int a=2) -> Tensor"): (True, False),
            ("f(Tensor x) -> Tensor", "f(Tensor x, int[2] a=0) -> Tensor"): (True, False),
            ("f(Tensor x, int a=1) -> Tensor", "f(Tensor x) -> Tensor"): (False, True),
            ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor x, *, int n=1, Tensor(a!) out) -> Tensor(a!)"): (True, True),
            ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor x, *, Tensor(a!) out, Tensor(b!) b) -> Tensor(a!)"): (True, False),
            ("f(Tensor x) -> Tensor", "f(Tensor x, ...) -> Tensor"): (False, False),
        }
        for texts, expected in pairs.items():
            older, newer = map(torch._C.parse_schema, texts)
            fits, reason = newer.check_forward_compatible_with(older)
            self.assertEqual((newer.is_backward_compatible_with(older), fits), expected, texts)
            self.assertEqual(reason == "", fits)

    def test_types_of_schemas_have_their_text(self):
        schema = torch._C.parse_schema("f(Tensor? x, int[] n, Scalar s, ScalarType? dtype=None, Device? device=None) -> ()")
        self.assertEqual([a.type.str() for a in schema.arguments], ["Tensor?", "int[]", "Scalar", "int?", "Device?"])
        self.assertRaises(RuntimeError, torch._C.parse_schema, "f(int a, int b=0, ...) -> ()")

    def test_a_key_may_be_passed_by(self):
        library = torch.library.Library("aten", "IMPL")
        library.impl("mm", torch.library.fallthrough_kernel, "AutocastCPU")
        a = torch.ones(2, 2)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual((torch.mm(a, a).dtype, torch.matmul(a, a).dtype), (torch.float32, torch.bfloat16))
            library._destroy()
            self.assertEqual(torch.mm(a, a).dtype, torch.bfloat16)

    def test_arguments_of_libraries_are_checked(self):
        library = torch.library.Library("library_test_checks", "DEF")
        self.addCleanup(library._destroy)
        with self.assertRaisesRegex(RuntimeError, "alias analysis FROM_SCHEMA or CONSERVATIVE, got PURE"):
            library.define("f(Tensor x) -> Tensor", "PURE")
        library.define("f(Tensor x) -> Tensor", "CONSERVATIVE")
        of_cpu = torch.library.Library("aten", "IMPL", "CPU")
        with self.assertRaisesRegex(RuntimeError, "inconsistent"):
            of_cpu.impl("sum", lambda x: x, "Conjugate")

    def test_operators_take_symbols_as_numbers(self):
        from cresset._subclasses.fake_tensor import FakeTensorMode
        from cresset.fx.experimental.symbolic_shapes import ShapeEnv

        library = torch.library.Library("library_test_symbols", "DEF")
        self.addCleanup(library._destroy)
        library.define("squares(SymInt a, SymInt b) -> SymInt")
        library.impl("squares", lambda a, b: a * a + b * b, "CompositeExplicitAutograd")
        a, b = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.rand(2, 3)).shape
        self.assertEqual(int(torch.ops.library_test_symbols.squares(a, b)), 13)


if __name__ == "__main__":
    unittest.main()
