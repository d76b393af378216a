"""Views of compiled programs: units, types, the graphs that run, and the lines that errors show."""

import io
import math
import typing
import unittest
import warnings
from typing import List, NamedTuple, Tuple

import pytest

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def product(x):
    return torch.mm(x, x)


def through(x):
    y = product(x)
    return y


def small(n: int) -> int:
    assert n < 3, "n is " + str(n)
    return n


class Inner(nn.Module):
    def forward(self, x):
        return through(x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        for _ in range(2):
            x = self.inner(x)
        return x


@torch.jit.script
class Held:
    def __init__(self, n: int):
        self.n = n

    def twice(self) -> int:
        return 2 * self.n


@torch.jit.interface
class Twice:
    def twice(self) -> int:
        pass


def use(t: Twice) -> int:
    return t.twice()


class Doubles(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return 2 * x + (1 + 1)


class Units(unittest.TestCase):
    def test_functions_are_made_of_graphs(self):
        unit = torch.jit.CompilationUnit("def f(x):\n    return x * 3\n")
        made = unit.create_function("g", unit.f.graph)
        self.assertTrue(torch.equal(made(X), X * 3) and torch.equal(unit.g(X), X * 3))
        with self.assertRaisesRegex(RuntimeError, "function 'g' already"):
            unit.create_function("g", unit.f.graph)
        other = unit.create_function("g", unit.f.graph, should_mangle=True)
        self.assertEqual(sorted(f.name for f in unit.get_functions()), ["f", "g", "g"])
        self.assertNotEqual(other.qualified_name, made.qualified_name)

    def test_functions_are_found_and_dropped(self):
        unit = torch.jit.CompilationUnit("def f(x):\n    return x * 3\ndef g(x):\n    return f(x) + 1\n")
        g = unit.find_function("g")
        self.assertIsNone(unit.find_function("h"))
        unit.drop_all_functions()
        self.assertEqual(unit.get_functions(), [])
        self.assertIsNone(unit.find_function("g"))
        self.assertTrue(torch.equal(g(X), X * 3 + 1))  # who holds one may still call it
        unit.define("def g(x):\n    return x - 1\n")
        self.assertTrue(torch.equal(unit.g(X), X - 1))

    def test_a_graph_keeps_the_functions_that_it_calls(self):
        there = torch.jit.CompilationUnit()
        here = torch.jit.CompilationUnit("def f(x):\n    return x * 3\ndef g(x):\n    return f(x) + 1\n")
        there.create_function("h", here.g.graph)
        del here
        self.assertTrue(torch.equal(there.h(X), X * 3 + 1))

    def test_types_of_classes_and_interfaces(self):
        unit = torch.jit._state._python_cu
        self.assertEqual(torch.jit.script(use)(Held(4)), 8)
        name = "__torch__." + ("" if __name__ == "__main__" else __name__ + ".")
        cls, interface = unit.get_class(name + "Held"), unit.get_interface(name + "Twice")
        self.assertEqual((cls.name(), cls.kind(), cls.method_names()), ("Held", "ClassType", ["__init__", "twice"]))
        self.assertEqual((interface.kind(), interface.getMethodNames(), interface.is_interface_type()), ("InterfaceType", ["twice"], True))
        self.assertIn("-> int", interface.getMethod("twice"))
        self.assertIsNone(unit.get_class(name + "Twice"))
        self.assertIsNone(unit.get_interface(name + "Held"))
        self.assertIsNone(unit.get_class("__torch__.Nothing"))

    def test_setting_optimized_only_warns(self):
        with self.assertWarnsRegex(UserWarning, "no effect"):
            torch.jit.CompilationUnit().set_optimized(True)


class Programs(unittest.TestCase):
    def test_the_graph_that_runs_is_the_optimized_one(self):
        f = torch.jit.CompilationUnit("def f(x, n: int):\n    return x * (n + (2 + 3))\n").f
        with self.assertRaisesRegex(RuntimeError, "has not run yet"):
            f.get_debug_state()
        f(X, 1)
        (plan,) = f.get_debug_state().execution_plans.values()
        self.assertEqual([n.kind() for n in plan.graph.nodes()].count("aten::add"), 1)
        self.assertEqual(str(plan.graph), str(torch.jit.last_executed_optimized_graph()))
        self.assertIn("registers", plan.code)
        self.assertEqual(str(f.graph_for(X, 1)), str(plan.graph))

    def test_programs_run_without_optimizations(self):
        f = torch.jit.CompilationUnit("def f(n: int) -> int:\n    return n + (2 + 3)\n").f
        with torch.jit.optimized_execution(False):
            self.assertEqual(f(1), 6)
            plain = f.get_debug_state().fallback.graph
        self.assertEqual(f(1), 6)
        adds = [[n.kind() for n in g.nodes()].count("aten::add") for g in (plain, f.get_debug_state().fallback.graph)]
        self.assertEqual(adds, [2, 1])

    def test_modules_of_subclasses_show_what_they_were_compiled_to(self):
        m = Doubles()
        self.assertTrue(m.code.startswith("def forward(self,\n"))
        self.assertEqual(m.original_name, "Doubles")
        self.assertEqual(len(list(m.graph.findAllNodes("aten::add"))), 2)
        self.assertEqual(len(list(m.graph_for(X).findAllNodes("aten::add"))), 1)
        self.assertEqual(m.code_with_constants[0], m.code)
        self.assertEqual(str(m.inlined_graph), str(m.graph))
        self.assertTrue(torch.equal(torch.jit.load(io.BytesIO(m.save_to_buffer()))(X), 2 * X + 2))
        file = io.BytesIO()
        m.save(file)
        self.assertEqual(file.getvalue()[:4], b"PK\3\4")
        with self.assertRaises(AttributeError):
            torch.jit.ScriptModule().code

    def test_magic_methods_are_those_of_forward_or_of_containers(self):
        m = torch.jit.script(nn.Sequential(nn.ReLU(), nn.ReLU()))
        self.assertEqual(m.forward_magic_method("__len__"), 2)
        with self.assertRaises(NotImplementedError):
            Doubles().forward_magic_method("__len__")

    def test_operators_of_python_have_their_names_and_are_saved(self):
        @torch.library.custom_op("script_views::tripled", mutates_args=())
        def tripled(x: torch.Tensor, *, bias: float = 0.0) -> torch.Tensor:
            return x * 3 + bias

        def f(x: torch.Tensor):
            return torch.ops.script_views.tripled(x, bias=1.0)

        scripted = torch.jit.script(f)
        self.assertIn("script_views::tripled(%x", str(scripted.graph))
        self.assertNotIn("PythonOp", str(scripted.graph))
        self.assertIn("ops.script_views.tripled(x", scripted.code)
        loaded = torch.jit.load(io.BytesIO(scripted.save_to_buffer()))
        self.assertTrue(torch.equal(loaded(X), X * 3 + 1))

    def test_warnings_of_the_library_are_hidden(self):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            torch.jit.TracerWarning.ignore_lib_warnings()
            self.assertTrue(any(w[2] is torch.jit.TracerWarning and w[3].match("cresset.nn") and not w[3].match("cresset.jit") for w in warnings.filters))


class Errors(unittest.TestCase):
    def lines(self, function, *args):
        with self.assertRaises(Exception) as raised:
            function(*args)
        return [line.strip() for line in str(raised.exception).splitlines()]

    def test_all_calls_that_led_to_an_error_are_shown(self):
        lines = self.lines(torch.jit.script(Outer()), X)
        places = [line.rpartition(" in ")[2] for line in lines if line.startswith("File")]
        self.assertEqual(places, ["forward", "forward", "through", "product"])
        marked = [lines[i - 1] for i, line in enumerate(lines) if "HERE" in line]
        self.assertEqual(marked, ["x = self.inner(x)", "return through(x)", "y = product(x)", "return torch.mm(x, x)"])

    def test_calls_are_shown_after_loading_and_freezing(self):
        m = torch.jit.load(io.BytesIO(torch.jit.script(Outer().eval()).save_to_buffer()))
        for made in (m, torch.jit.freeze(m)):
            text = "\n".join(self.lines(made, X))
            for part in ("x = self.inner(x)", "y = product(x)", "return torch.mm(x, x)"):
                self.assertIn(part, text)

    def test_an_assertion_is_named_once(self):
        self.assertEqual(self.lines(torch.jit.script(small), 5)[-1], "RuntimeError: AssertionError: n is 5")


@torch.jit.script
def called(x):
    return torch.neg(x)


@torch.jit.script
def calls(x, flag: bool):
    n = 2 + 3
    y, z = torch.relu(x), torch.relu(x)
    unused = torch.exp(x)  # noqa: F841
    if 1 == 2:
        y = y + 1
    return called(y) * z + n


def kinds(graph):
    return [n.kind() for n in graph.nodes()]


def test_passes_change_the_graph_they_are_given():
    graph = calls.graph
    assert "prim::CallFunction" in kinds(graph) and "aten::neg" not in kinds(graph)
    kept = graph.copy()
    torch._C._jit_pass_inline(graph)
    assert "prim::CallFunction" not in kinds(graph) and "aten::neg" in kinds(graph)
    torch._C._jit_pass_cse(graph)
    graph.appendNode(graph.create("aten::exp", [next(iter(graph.inputs()))]))
    assert "aten::exp" in kinds(graph)
    torch._C._jit_pass_dce(graph)
    assert (kinds(graph).count("aten::relu"), kinds(graph).count("aten::exp")) == (1, 0)
    torch._C._jit_pass_constant_propagation(graph)
    torch._C._jit_pass_peephole(graph)
    torch._C._jit_pass_lint(graph)
    assert "prim::If" not in kinds(graph) and "aten::add.int" not in kinds(graph)
    assert (kinds(kept).count("aten::relu"), "aten::exp" in kinds(kept)) == (2, False)  # what nothing uses is not compiled


def test_classes_of_the_compiler_are_those_of_its_objects():
    graph = calls.graph
    node = next(iter(graph.nodes()))
    assert isinstance(graph, torch._C.Graph) and isinstance(node, torch._C.Node) and isinstance(node.output(), torch._C.Value)
    assert isinstance(calls, torch._C.ScriptFunction) and isinstance(torch.jit.script(nn.ReLU()).forward, torch._C.ScriptMethod)
    assert torch._C.CompilationUnit is torch.jit.CompilationUnit


def test_settings_of_executors_are_kept_for_those_who_ask():
    former = torch._C._jit_set_profiling_mode(False)
    assert torch._C._jit_set_profiling_mode(former) is False
    assert torch._C._jit_set_profiling_executor(True) in (True, False)
    size = torch._C._jit_set_bailout_depth(20)
    assert torch._C._jit_set_bailout_depth(size) == 20
    torch._C._jit_override_can_fuse_on_cpu(False)
    assert torch._C._jit_can_fuse_on_cpu() is False
    torch._C._set_graph_executor_optimize(False)
    assert torch._C._get_graph_executor_optimize() is False
    torch._C._set_graph_executor_optimize(True)
    assert torch._C._get_graph_executor_optimize() is True


if __name__ == "__main__":
    unittest.main()


def steps(graph):
    return [kind for kind in kinds(graph) if kind != "prim::Constant"]


@torch.jit.script
def writes_lists(xs: List[int], n: int):
    xs.insert(0, n)
    if n > 3:
        print(n)
    for _ in range(n):
        xs.clear()
    return xs


@torch.jit.script
def later(n: int) -> int:
    return n


@torch.jit.script
def starts(n: int) -> torch.jit.Future[int]:
    return torch.jit.fork(later, n)


@torch.jit.script
def asserts(n: int, unused: torch.Tensor):
    assert n > 0, "small"
    unused.exp()
    if n > 9:
        raise ValueError("large")
    return n


def test_nodes_without_results_are_printed_as_such():
    text = str(writes_lists.graph)
    for line in ("   = aten::insert(", "   = prim::If(", "       = prim::Print(", "   = prim::Loop(", "       = aten::clear("):
        assert f"\n{line}" in text, line
    parsed = torch._C.parse_ir(text)
    assert steps(parsed) == steps(writes_lists.graph)
    assert "Future[int] = prim::fork" in str(starts.graph)


def test_exceptions_have_the_names_of_their_classes():
    text = str(asserts.graph)
    assert '"AssertionError: small"' in text and '"builtins.ValueError"' in text
    assert "aten::exp" not in text
    with pytest.raises(torch.jit.Error, match="builtins.ValueError: large"):
        asserts(10, torch.ones(1))
    with pytest.raises(torch.jit.Error, match="RuntimeError: AssertionError: small"):
        asserts(0, torch.ones(1))


class OwnError(Exception):
    pass


@torch.jit.script
def raises_its_own(n: int):
    if n > 0:
        raise OwnError("own")
    return n


def test_exceptions_of_programs_are_named_with_their_module():
    with pytest.raises(torch.jit.Error, match=r"script_views_test\.OwnError: own"):
        raises_its_own(1)


def test_optimizing_for_inference_ends_training():
    module = torch.jit.script(nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    assert steps(torch.jit.optimize_for_inference(module).graph) == ["aten::linear"]
    assert not module.training
    with pytest.raises(RuntimeError, match="expected a ScriptModule, got Dropout"):
        torch.jit.optimize_for_inference(nn.Dropout())


class Scaled(nn.Module):
    def __init__(self, conv, change):
        super().__init__()
        self.conv, self.change = conv, change

    def forward(self, x):
        y = self.conv(x)
        if self.change == "add":
            return y + 2.0
        elif self.change == "sub":
            return y - 0.5
        elif self.change == "mul":
            return y * 3
        elif self.change == "div":
            return y / 4.0
        return y


class OfChannels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, bias=False)
        self.register_buffer("shift", torch.tensor([1.0, -2.0]).reshape(2, 1, 1))
        self.register_buffer("scale", torch.tensor([3.0, 0.5]).reshape(1, 2, 1, 1))
        self.register_buffer("map", torch.ones(3, 3))

    def forward(self, x):
        return (self.conv(x) + self.shift) * self.scale, self.conv(x) + self.map


def test_constants_over_convolutions_go_into_their_weights():
    for change in ("add", "sub", "mul", "div"):
        for conv, shape in ((nn.Conv1d(1, 2, 2), (1, 1, 5)), (nn.Conv2d(1, 2, 3, bias=False), (1, 1, 5, 5))):
            scripted = torch.jit.script(Scaled(conv, change).eval())
            frozen, x = torch.jit.freeze(scripted), torch.arange(float(math.prod(shape))).reshape(shape)
            assert f"aten::{change}" not in steps(frozen.graph)
            assert torch.allclose(frozen(x), scripted(x), atol=1e-5)
            plain = torch.jit.freeze(scripted, optimize_numerics=False)
            assert f"aten::{change}" in steps(plain.graph)
            folding = "fold_frozen_conv_add_or_sub" if change in ("add", "sub") else "fold_frozen_conv_mul_or_div"
            getattr(torch._C, f"_jit_pass_{folding}")(plain.graph)
            assert f"aten::{change}" not in steps(plain.graph)


def test_what_is_not_of_channels_stays():
    scripted, x = torch.jit.script(OfChannels().eval()), torch.arange(25.0).reshape(1, 1, 5, 5)
    frozen = torch.jit.freeze(scripted)
    assert (steps(frozen.graph).count("aten::add"), "aten::mul" in steps(frozen.graph)) == (1, False)
    for got, expected in zip(frozen(x), scripted(x), strict=True):
        assert torch.allclose(got, expected, atol=1e-5)


class Repeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.times = 3
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        for i in range(self.times):
            x = x + i
        return self.drop(x).sum([0, 1])


def test_freezing_unrolls_loops_of_constant_length_and_drops_dropout():
    frozen = torch.jit.freeze(torch.jit.script(Repeats().eval()), optimize_numerics=False)
    assert steps(frozen.graph) == ["aten::add"] * 3 + ["aten::sum"]
    assert frozen(torch.ones(2, 2)).item() == 16


@torch.jit.script
def changes_its_own(x):
    y = x + 1
    y.add_(2)
    z = y.relu_()
    return z, y


@torch.jit.script
def changes_what_it_is_given(x):
    x.add_(2)
    return x


@torch.jit.script
def changes_through_a_view(x):
    y = x + 1
    first = y[0]
    y.add_(2)
    return first


def test_writes_in_place_become_new_values_where_nothing_else_sees_them():
    graph = changes_its_own.graph.copy()
    torch._C._jit_pass_remove_mutation(graph)
    assert steps(graph) == ["aten::add", "aten::add", "aten::relu", "prim::TupleConstruct"]
    x = torch.tensor([-5.0, 1.0])
    got, expected = torch._C._jit_interpret_graph(graph, (x,)), changes_its_own(x)
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
    for kept in (changes_what_it_is_given, changes_through_a_view):
        graph = kept.graph.copy()
        torch._C._jit_pass_remove_mutation(graph)
        assert "aten::add_" in steps(graph)
    graph = changes_what_it_is_given.graph.copy()
    torch._C._jit_pass_remove_inplace_ops(graph)
    assert steps(graph) == ["aten::add"]


@torch.jit.script
def activates(x):
    y = x + 1
    return torch.relu(y), torch.tanh(x)


def test_activations_run_in_place_on_values_that_nothing_else_reads():
    graph = activates.graph.copy()
    torch._C._jit_pass_functional_to_inplace_activation(graph)
    assert {"aten::relu_", "aten::tanh"} <= set(steps(graph))
    torch._C._jit_pass_remove_mutation(graph)
    assert {"aten::relu", "aten::tanh"} <= set(steps(graph))


@torch.jit.script
def maps(x, w, b):
    return torch.addmm(b, x, w.t()), torch.matmul(x, w.t())


def test_linear_maps_are_found_and_taken_apart():
    graph, (x, w, b) = maps.graph.copy(), (torch.ones(2, 3), torch.arange(12.0).reshape(4, 3), torch.ones(4))
    torch._C._jit_pass_fuse_linear(graph)
    assert steps(graph).count("aten::linear") == 2 and "aten::addmm" not in steps(graph)
    parts = maps.graph.copy()
    torch._C._jit_pass_decompose_ops(parts)
    assert {"aten::mm", "aten::add"} <= set(steps(parts)) and "aten::addmm" not in steps(parts)
    torch._C._jit_pass_erase_shape_information(parts)
    for changed in (graph, parts):
        for got, expected in zip(torch._C._jit_interpret_graph(changed, (x, w, b)), maps(x, w, b), strict=True):
            assert torch.equal(got, expected)


@torch.jit.script
def forks(x):
    return torch.jit.wait(torch.jit.fork(called, x))


def test_forked_calls_become_what_they_do():
    graph = forks.graph.copy()
    torch._C._jit_pass_inline_fork_wait(graph)
    assert steps(graph) == ["aten::neg"]


class Activates(nn.Module):
    def forward(self, x):
        return torch.relu(x)

    @torch.jit.export
    def twice(self, x):
        return torch.relu(x) * 2


def test_a_pattern_is_replaced_in_all_methods_of_a_module():
    module = torch.jit.script(Activates())
    pattern, replacement = (f"graph(%x):\n  %y = aten::{name}(%x)\n  return (%y)" for name in ("relu", "neg"))
    torch._C._jit_pass_custom_pattern_based_rewrite(pattern, replacement, module._c)
    assert steps(module.forward.graph) == ["aten::neg"]
    assert steps(module.twice.graph) == ["aten::neg", "aten::mul"]


class Weighs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x + (self.weight * 2 + 1), self.weight + 1


def test_freezing_computes_what_weights_alone_give_but_for_results():
    frozen = torch.jit.freeze(torch.jit.script(Weighs().eval()))
    assert steps(frozen.graph) == ["aten::add", "aten::add", "prim::TupleConstruct"]
    result = frozen(torch.ones(2))[1]
    result.add_(5)  # is the caller's
    assert [t.tolist() for t in frozen(torch.ones(2))] == [[4, 4], [2, 2]]


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Multiplies(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


class Delegates(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Multiplies()

    def forward(self, x):
        return self.layer.forward(x)


def test_freezing_puts_methods_of_interfaces_in_place():
    frozen = torch.jit.freeze(torch.jit.script(Delegates().eval()))
    assert steps(frozen.graph) == ["aten::mul"]
    assert frozen(torch.ones(2)).tolist() == [2, 2]
    assert list(frozen.named_modules()) == [("", frozen)]


class Beside(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.times = nn.Parameter(torch.tensor([2.0, 3.0])), 2

    @torch.jit.export
    def part(self, x, n: int):
        for _ in range(n):
            x = x * self.weight + 1
        return x

    def forward(self, x):
        beside = torch.jit.fork(self.part, x, self.times)
        return torch.jit.wait(beside) + self.part(x, 1)


def test_freezing_takes_methods_that_run_beside():
    scripted = torch.jit.script(Beside().eval())
    for changed in (torch.jit.freeze(scripted), torch.jit.optimize_for_inference(scripted)):
        assert not hasattr(changed, "weight")
        assert changed(torch.ones(2)).tolist() == [10, 17]
        file = io.BytesIO()
        changed.save(file)
        assert torch.jit.load(io.BytesIO(file.getvalue()))(torch.ones(2)).tolist() == [10, 17]


def named_parts(x: torch.Tensor, fails: bool) -> torch.Tensor:
    with torch.autograd.profiler.record_function("outer"):
        if fails:
            raise RuntimeError("it does")
        with torch.profiler.record_function(name="inner", args="more"):
            y = x + 1
    return y


def recorded_names(*calls):
    with torch.profiler.profile() as profile:
        for call in calls:
            call()
    return [event.name for event in profile.events() if not event.name.startswith("aten::")]


def test_named_parts_of_programs_are_recorded():
    scripted = torch.jit.script(named_parts)
    file = io.BytesIO()
    scripted.save(file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    x = torch.ones(2)

    def failing():
        with pytest.raises(torch.jit.Error, match="it does"):
            scripted(x, True)

    assert recorded_names(lambda: scripted(x, False)) == ["named_parts", "outer", "inner"]
    assert recorded_names(lambda: loaded(x, False)) == ["forward", "outer", "inner"]
    assert recorded_names(failing, lambda: scripted(x, False)) == ["named_parts", "outer", "named_parts", "outer", "inner"]
    assert scripted(x, False).tolist() == [2, 2]


def test_passes_over_graphs_give_nothing():
    graph = torch.jit.script(named_parts).graph
    assert torch._C._jit_pass_dce(graph) is None


def test_modules_say_their_qualified_name():
    assert torch.jit.script(Beside()).qualified_name.startswith("__torch__.")


def test_isinstance_refuses_types_without_arguments_and_lists_of_types():
    for target in (list, typing.List, typing.Dict, typing.Tuple, typing.Optional):
        with pytest.raises(RuntimeError, match="expected a type with its arguments"):
            torch.jit.isinstance([1], target)
    for target in ([int, List[str]], {int, str}):
        with pytest.raises(RuntimeError, match="must be a type or a tuple of types"):
            torch.jit.isinstance(2, target)


class Unscriptable:
    def __call__(self, *values):
        return sum(values)

    def __prepare_scriptable__(self):
        def two(a: int, b: int) -> int:
            return a + b

        return two


def test_objects_name_what_is_compiled_in_their_place():
    assert torch.jit.script(Unscriptable())(1, 2) == 3


class Pair(NamedTuple):
    x: torch.Tensor
    n: int = 3


@torch.jit.script
def paired(x: torch.Tensor, at: Tuple[int, str] = (1, "a")) -> Pair:
    return Pair(x, at[0])


def test_schemas_name_tuples_and_write_defaults_out():
    assert str(paired.schema) == 'paired(Tensor x, (int, str) at=(1, "a")) -> __torch__.script_views_test.Pair'
