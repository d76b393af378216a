"""Operators of programs in programs that are traced, exported, compiled, transformed or run again."""

import io
import unittest
import warnings

from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import library


def add_one(x):
    x.add_(1)


def add_to(x, y):
    x.add_(y)
    return y * 2


written = library.custom_op("programs_test::written", add_one, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
both = library.custom_op("programs_test::both", add_to, mutates_args={"x"}, schema="(Tensor(a!) x, Tensor y) -> Tensor")
both.register_fake(lambda x, y: torch.empty_like(y))
plus = library.custom_op(
    "programs_test::plus", lambda x, n=1.0: torch.from_numpy(x.detach().numpy() + n).to(x.dtype), mutates_args=(), schema="(Tensor x, float n=1.0) -> Tensor"
)
plus.register_fake(lambda x, n=1.0: torch.empty_like(x))
plus.register_autograd(lambda ctx, grad: (grad, None))


def targets(graph_module):
    return [str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def exported(function, x=None):
    return torch.export.export(Model(function), (torch.zeros(3) if x is None else x,))


class Writing(unittest.TestCase):
    """Operators that write to their arguments."""

    def test_in_traces(self):
        for mode in ("real", "fake", "symbolic"):
            traced = make_fx(lambda x: (written(x), x + 1)[1], tracing_mode=mode)(torch.zeros(3))
            self.assertEqual(targets(traced), ["programs_test.written.default", "aten.add.Tensor"])
            x = torch.zeros(3)
            self.assertEqual((traced(x).tolist(), x.tolist()), ([2, 2, 2], [1, 1, 1]))

    def test_in_exported_programs(self):
        program = exported(lambda x: (written(x), x + 1)[1])
        self.assertEqual(targets(program.graph_module), ["programs_test.written.default", "aten.add.Tensor"])
        for module in (program.module(), program.run_decompositions().module()):
            x = torch.zeros(3)
            self.assertEqual((module(x).tolist(), x.tolist()), ([2, 2, 2], [1, 1, 1]))
        x = torch.ones(3)
        self.assertEqual(exported(lambda x: both(x.clone(), x)).run_decompositions().module()(x).tolist(), [2, 2, 2])

    def test_in_compiled_programs(self):
        for backend in ("eager", "aot_eager", "inductor"):
            with self.subTest(backend=backend):
                torch._dynamo.reset()
                compiled = torch.compile(lambda x: (written(x), both(x, x * 1), x * 2)[1:], fullgraph=True, backend=backend)
                x = torch.zeros(3)
                first, second = compiled(x)
                self.assertEqual((first.tolist(), second.tolist(), x.tolist()), ([2, 2, 2], [4, 4, 4], [2, 2, 2]))

    def test_gradients_pass_by_what_is_written(self):
        def f(x):
            y = x * 1
            written(y)
            return (y * y.sin()).sum()

        x = torch.ones(2, requires_grad=True)
        expected = torch.autograd.grad(f(x), x)[0].tolist()
        for backend in ("eager", "aot_eager", "inductor"):
            torch._dynamo.reset()
            self.assertEqual(torch.autograd.grad(torch.compile(f, fullgraph=True, backend=backend)(x), x)[0].tolist(), expected)

    def test_graphs_without_writes_hold_calls_that_return_what_is_written(self):
        several = library.custom_op(
            "programs_test::several",
            lambda x, ys, n=1: (x.add_(n), ys[0].add_(n), x * 2)[2],
            mutates_args={"x", "ys"},
            schema="(Tensor(a!) x, Tensor(b!)[] ys, int n=1) -> Tensor",
        )
        several.register_fake(lambda x, ys, n=1: torch.empty_like(x))
        same = library.custom_op("programs_test::same", lambda x: x.add_(1), mutates_args={"x"}, schema="(Tensor(a!) x) -> Tensor(a!)")
        same.register_fake(lambda x: x)

        def f(x):
            y = same(x * 1)
            return several(y, [y * 1, y * 2], 3).sum() + y.sum()

        x = torch.ones(2)
        self.assertEqual(make_fx(torch.func.functionalize(f))(x)(x).item(), f(x).item())
        program = exported(f, x).run_decompositions()
        calls = [n for n in program.graph.nodes if n.target is torch.ops.higher_order.auto_functionalized_v2]
        self.assertEqual([str(n.args[0]) for n in calls], ["programs_test.same.default", "programs_test.several.default"])
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        buffer.seek(0)
        self.assertEqual(torch.export.load(buffer).module()(x).item(), f(x).item())

    def test_unused_calls_stay(self):
        traced = make_fx(lambda x: (written(x), plus(x), x + 1)[2])(torch.zeros(3))
        traced.graph.eliminate_dead_code()
        self.assertEqual(targets(traced), ["programs_test.written.default", "aten.add.Tensor"])


class Effects(unittest.TestCase):
    """Operators whose calls do something beside their results."""

    def setUp(self):
        self.seen = seen = []
        self.op = library.custom_op("programs_test::told", lambda x: seen.append(x.tolist()), mutates_args=(), schema="(Tensor x) -> ()")
        self.op.register_fake(lambda x: None)

    def run_all(self, *backends, requires_grad=False):
        self.seen.clear()
        for backend in backends:
            torch._dynamo.reset()
            torch.compile(lambda x: (self.op(x), x + 1)[1], fullgraph=True, backend=backend)(torch.ones(1, requires_grad=requires_grad))
        return len(self.seen)

    def test_graphs_keep_calls_that_are_told_of(self):
        self.assertEqual(self.run_all("eager"), 1)
        self.assertEqual(targets(exported(lambda x: (self.op(x), x + 1)[1]).run_decompositions().graph_module), ["aten.add.Tensor"])
        self.op.register_effect(library.EffectType.ORDERED)
        for requires_grad in (False, True):
            self.assertEqual(self.run_all("eager", "aot_eager", "inductor", requires_grad=requires_grad), 3)
        program = exported(lambda x: (self.op(x), x + 1)[1]).run_decompositions()
        self.assertEqual(targets(program.graph_module), ["with_effects", "<built-in function getitem>", "aten.add.Tensor"])
        self.op.register_effect(None)
        self.assertEqual(self.run_all("aot_eager"), 0)

    def test_effects_are_members_of_their_class(self):
        self.assertRaises(ValueError, self.op.register_effect, "ordered")
        with library._scoped_library("programs_test", "FRAGMENT") as lib:
            library._register_effectful_op(torch.ops.aten.erf.default, library.EffectType.ORDERED, lib=lib)
            self.assertIs(torch.ops.aten.erf.default._effect, library.EffectType.ORDERED)
        self.assertIsNone(torch.ops.aten.erf.default._effect)


class Reading(unittest.TestCase):
    def test_files_of_exported_programs(self):
        buffer = io.BytesIO()
        torch.export.save(exported(lambda x: plus(x, 3.0).sin()), buffer)
        buffer.seek(0)
        self.assertEqual(torch.export.load(buffer).module()(torch.ones(3)).tolist(), torch.full((3,), 4.0).sin().tolist())

    def test_decompositions_keep_operators(self):
        program = exported(lambda x: plus(x).sin()).run_decompositions()
        self.assertEqual(targets(program.graph_module), ["programs_test.plus.default", "aten.sin.default"])
        with library._scoped_library("programs_test", "FRAGMENT") as lib:
            lib.define("explicit(Tensor x) -> Tensor")
            lib.impl("explicit", lambda x: x.sin() + 1, "CompositeExplicitAutograd")
            program = exported(lambda x: torch.ops.programs_test.explicit(x)).run_decompositions()
            self.assertEqual(targets(program.graph_module), ["programs_test.explicit.default"])

    def test_gradients_of_compiled_and_repeated_programs(self):
        def f(x):
            return plus(x.sin()).cos().sum()

        x = torch.ones(3, requires_grad=True)
        expected = torch.autograd.grad(f(x), x)[0].tolist()
        for backend in ("eager", "aot_eager", "inductor"):
            torch._dynamo.reset()
            self.assertEqual(torch.autograd.grad(torch.compile(f, fullgraph=True, backend=backend)(x), x)[0].tolist(), expected)
        found = torch.autograd.grad(torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False), x)[0]
        self.assertEqual(found.tolist(), expected)
        self.assertEqual(torch.func.grad(f)(x.detach()).tolist(), expected)

    def test_sizes_that_depend_on_data(self):
        op = library.custom_op("programs_test::places", lambda x: x.nonzero().contiguous(), mutates_args=(), schema="(Tensor x) -> Tensor")
        op.register_fake(lambda x: x.new_empty([library.get_ctx().new_dynamic_size(), x.dim()], dtype=torch.int64))
        number = library.custom_op("programs_test::number", lambda x: int(x.sum()), mutates_args=(), schema="(Tensor x) -> SymInt")
        number.register_fake(lambda x: library.get_ctx().new_dynamic_size())
        x = torch.tensor([1.0, 0.0, 2.0])
        for backend in ("eager", "aot_eager", "inductor"):
            with self.subTest(backend=backend), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch._dynamo.reset()
                self.assertEqual(torch.compile(lambda x: op(x) + 1, fullgraph=True, backend=backend)(x).tolist(), [[1], [3]])
                self.assertEqual(torch.compile(lambda x: torch.zeros(number(x)), fullgraph=True, backend=backend)(x).tolist(), [0, 0, 0])
        self.assertEqual(exported(lambda x: op(x) + 1, x).module()(torch.ones(3)).tolist(), [[1], [2], [3]])

    def test_batched_calls_are_exported_by_their_rule(self):
        op = library.custom_op("programs_test::times", lambda x, y: x * y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
        op.register_fake(lambda x, y: torch.empty_like(x))
        op.register_vmap(lambda info, dims, x, y: (op(x, y), 0))
        program = exported(lambda x: torch.vmap(op)(x, x), torch.ones(2, 3))
        elements = [node.name for node in program.graph.nodes if node.target is torch.ops.programs_test.times.default for node in node.all_input_nodes]
        self.assertEqual((elements, program.module()(torch.full((2, 3), 2.0)).tolist()), (["_add_batch_dim", "_add_batch_dim_1"], [[4] * 3] * 2))
        program = program.run_decompositions({})
        self.assertEqual((targets(program.graph_module), program.module()(torch.full((2, 3), 2.0)).tolist()), (["programs_test.times.default"], [[4] * 3] * 2))

    def test_in_scripts(self):
        import linecache

        text = "def f(x: torch.Tensor):\n    return torch.ops.programs_test.plus(x, 3.0)\n"
        linecache.cache["<programs_test>"] = (len(text), None, text.splitlines(True), "<programs_test>")
        space = {"torch": torch}
        exec(compile(text, "<programs_test>", "exec"), space)
        self.assertEqual(torch.jit.script(space["f"])(torch.ones(1)).item(), 4)


class Objects(unittest.TestCase):
    """Names and facts of overloads and packets."""

    def test_overloads(self):
        overload, packet = torch.ops.programs_test.plus.default, torch.ops.programs_test.plus
        self.assertEqual(
            (
                overload.name(),
                overload.__name__,
                overload.__qualname__,
                overload._name,
                overload.__module__,
                overload.namespace,
                overload._opname,
                overload._overloadname,
            ),
            (
                "programs_test::plus",
                "plus.default",
                "programs_test::plus",
                "programs_test::plus",
                "torch._ops.programs_test",
                "programs_test",
                "plus",
                "default",
            ),
        )
        self.assertEqual((torch.ops.aten.add.Tensor.__qualname__, torch.ops.aten.sin.default.__qualname__), ("aten::add.Tensor", "aten::sin"))
        self.assertEqual(
            (type(packet).__name__, packet.__module__, packet._qualified_op_name), ("OpOverloadPacket", "torch._ops.programs_test", "programs_test::plus")
        )
        self.assertEqual([str(s) for s in packet._schemas.values()], ["programs_test::plus(Tensor x, float n=1.) -> Tensor"])
        for function in (packet.op, packet._op, overload.op, overload._op):
            self.assertEqual(function(torch.ones(1)).item(), 2)
        self.assertRaises(AttributeError, lambda: overload.default)

    def test_signatures(self):
        from cresset.fx.operator_schemas import get_signature_for_torch_op

        for op in (torch.ops.programs_test.plus, torch.ops.programs_test.plus.default):
            (found,) = get_signature_for_torch_op(op)
            self.assertEqual([(p.name, p.annotation, p.default) for p in found.parameters.values()][1:], [("n", float, 1.0)])
            self.assertIs(found.return_annotation, torch.Tensor)

    def test_profiles_have_calls(self):
        with torch.profiler.profile() as profile:
            plus(torch.ones(1))
        self.assertIn("programs_test::plus", [event.key for event in profile.key_averages()])

    def test_the_default_device_is_that_of_the_caller_alone(self):
        op = library.custom_op("programs_test::ones", lambda x: torch.ones(2), mutates_args=(), schema="(Tensor x) -> Tensor")
        x = torch.ones(1)
        with torch.device("meta"):
            self.assertEqual((op(x).tolist(), torch.ones(1).is_meta), ([1, 1], True))

    def test_views_and_composites(self):
        with library._scoped_library("programs_test", "FRAGMENT") as lib:
            lib.define("view(Tensor(a) x) -> Tensor(a)")
            lib.define("two(Tensor x) -> Tensor")
            lib.impl("two", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
            self.assertTrue(torch.ops.programs_test.view.default.is_view)
            two = torch.ops.programs_test.two.default
            self.assertEqual((two._can_decompose(), two.decompose(torch.zeros(1)).item()), (True, 1))
            self.assertIs(torch.ops.programs_test.view.default.decompose(torch.zeros(1)), NotImplemented)

    def test_functions_of_modes_are_registered_once(self):
        class Mode(torch.utils._python_dispatch.TorchDispatchMode):
            pass

        op = library.custom_op("programs_test::once", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")._opoverload
        op.py_impl(Mode)(lambda *given: 1)
        self.assertRaises(AssertionError, op.py_impl, Mode)


if __name__ == "__main__":
    unittest.main()
