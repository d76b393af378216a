"""Symbolic tracing: which nodes a program becomes, and what it cannot do with values that are not known."""

import math
import unittest

import cresset as torch
from cresset import fx, nn
from cresset.nn import functional as F

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = nn.Parameter(torch.tensor([0.5, 2.0]))
        self.register_buffer("shift", torch.tensor([1.0, -1.0]))
        self.blocks = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))

    def forward(self, x):
        return self.blocks(self.linear(x)) * self.scale + self.shift


@fx.wrap
def opaque(x, n):
    return x * n if n > 1 else x


fx.wrap("len")


def steps(traced):
    return [(n.op, n.name, n.target if isinstance(n.target, str) else n.target.__name__) for n in traced.graph.nodes]


class Values(unittest.TestCase):
    def assertSame(self, function, *args):
        traced = fx.symbolic_trace(function)
        traced.graph.lint()
        expected, got = function(*args), traced(*args)
        for want, have in zip(*(r if isinstance(r, (tuple, list)) else (r,) for r in (expected, got)), strict=True):
            self.assertTrue(torch.equal(want, have))
        return traced

    def test_modules_parameters_and_buffers(self):
        torch.manual_seed(0)
        traced = self.assertSame(Net(), X)
        self.assertEqual(
            steps(traced),
            [("placeholder", "x", "x"), ("call_module", "linear", "linear"), ("call_module", "blocks_0", "blocks.0"), ("call_module", "blocks_1", "blocks.1"),
             ("get_attr", "scale", "scale"), ("call_function", "mul", "mul"), ("get_attr", "shift", "shift"), ("call_function", "add", "add"),
             ("output", "output", "output")],
        )  # fmt: skip
        self.assertEqual([name for name, _ in traced.named_parameters()], ["scale", "linear.weight", "linear.bias", "blocks.1.weight", "blocks.1.bias"])

    def test_operators(self):
        def f(x, y):
            c = (-(x + y - 1) * y / 2 // 1 % 3) ** 2 @ y.t()
            return [c > 0, c <= 1, c == c, c != 0, ~(c < 0), (c > 0) & (c > 1), (c > 0) | (c > 1), (c > 0) ^ (c > 1), abs(c), +c, 1 - c, 2 / (c + 9), 3**c]

        self.assertSame(f, X, X + 0.3)

    def test_indices_attributes_and_unpacking(self):
        def f(x):
            a, b = x.split(1)
            return x[:, 1:, None], a + b, x.reshape(x.shape[1], x.size(0)), x.T

        self.assertSame(f, X)

    def test_arguments_of_functions_are_named(self):
        traced = self.assertSame(lambda x: F.layer_norm(F.softmax(F.relu(x), dim=-1), (3,)), X)
        relu, softmax, norm = [n for n in traced.graph.nodes if n.op == "call_function"]
        self.assertEqual((len(relu.args), dict(relu.kwargs)), (1, {"inplace": False}))
        self.assertEqual(dict(softmax.kwargs), {"dim": -1, "_stacklevel": 3, "dtype": None})
        self.assertEqual(dict(norm.kwargs), {"weight": None, "bias": None, "eps": 1e-05})

    def test_constants_become_attributes(self):
        traced = self.assertSame(lambda x: x + torch.ones(3), X)
        self.assertEqual(steps(traced)[1], ("get_attr", "_tensor_constant0", "_tensor_constant0"))

    def test_keywords_and_defaults(self):
        def f(x, *, dim=1, keep=True):
            return torch.sum(x, dim=dim, keepdim=keep)

        self.assertTrue(torch.equal(fx.symbolic_trace(f)(X, dim=0, keep=False), X.sum(0)))

    def test_starred_arguments(self):
        def f(x, *ys, **named):
            return x + ys[0] + named["z"]

        traced = fx.symbolic_trace(f)
        self.assertEqual([n.target for n in traced.graph.nodes if n.op == "placeholder"], ["x", "*ys", "**named"])
        self.assertTrue(torch.equal(traced(X, X, z=X), 3 * X))

    def test_wrapped_functions(self):
        traced = fx.symbolic_trace(lambda x: opaque(x, 3) + len(x) + math.sqrt(4))
        self.assertEqual([n.name for n in traced.graph.nodes], ["x", "opaque", "len_1", "add", "add_1", "output"])
        self.assertTrue(torch.equal(traced(X), X * 3 + 4))
        self.assertIn('torch.fx._symbolic_trace.wrap("', traced.code)
        self.assertEqual(len([1]), 1)

    def test_wrap_is_called_in_modules(self):
        self.assertRaises(NotImplementedError, fx.wrap, "f")
        self.assertRaises(RuntimeError, fx.wrap, 3)


class Constants(unittest.TestCase):
    def test_flags(self):
        def f(x, flag):
            return x + 1 if flag else x - 1

        for flag in (True, False):
            traced = fx.symbolic_trace(f, concrete_args={"flag": flag})
            self.assertTrue(torch.equal(traced(X, flag), f(X, flag)))
            with self.assertRaisesRegex(AssertionError, "flag has been specialized to have value"):
                traced(X, not flag)

    def test_trees_with_open_parts(self):
        traced = fx.symbolic_trace(lambda x, pair: {"sum": x + pair[0], "product": pair[1]["k"] * x}, concrete_args={"pair": (fx.PH, {"k": fx.PH})})
        result = traced(X, (X, {"k": 2.0}))
        self.assertTrue(torch.equal(result["sum"], 2 * X))
        self.assertTrue(torch.equal(result["product"], 2 * X))
        self.assertTrue(torch.equal(fx.Interpreter(traced).run(X, (X, {"k": 2.0}))["sum"], 2 * X))

    def test_a_tuple_goes_on_with_the_rest(self):
        class Sum(torch.nn.Module):
            def forward(self, *args):
                return args[0] + args[1]["k"]

        traced = fx.symbolic_trace(Sum(), concrete_args=(fx.PH, {"k": fx.PH}))
        self.assertTrue(torch.equal(traced(X, {"k": X}), 2 * X))
        traced = fx.symbolic_trace(lambda x, *rest: x + rest[0], concrete_args=(fx.PH, fx.PH))
        self.assertTrue(torch.equal(traced(X, X), 2 * X))

    def test_numbers_of_arguments_have_to_fit(self):
        with self.assertRaisesRegex(RuntimeError, "expected 2 arguments but got 1"):
            fx.symbolic_trace(lambda x, y: x, concrete_args=(1,))


class Refusals(unittest.TestCase):
    def test_values_that_are_not_known(self):
        def loop(x):
            for row in x:
                x = x + row
            return x

        trace_error = fx.proxy.TraceError
        for function, error, words in (
            (lambda x: x if x.sum() > 0 else -x, trace_error, "control flow"),
            (loop, trace_error, "iterated"),
            (lambda x: x in [1], trace_error, "control flow"),
            (lambda x: int(x), TypeError, "Proxy"),
            (lambda x: range(x), TypeError, "Proxy"),
            (lambda x: x.foo(object()), NotImplementedError, "argument of type"),
        ):
            with self.assertRaisesRegex(error, words):
                fx.symbolic_trace(function)
        self.assertTrue(issubclass(trace_error, ValueError))

    def test_items_cannot_be_assigned(self):
        def f(x):
            x[0] = 1.0
            return x

        with self.assertRaisesRegex(TypeError, "item assignment"):
            fx.symbolic_trace(f)

    def test_patches_are_taken_back_after_an_error(self):
        before = (nn.Module.__call__, nn.Module.__getattr__)
        with self.assertRaisesRegex(fx.proxy.TraceError, r"trace_test.py:\d+ in <lambda> \(`fx.symbolic_trace\(lambda x: bool\(x\)\)`\).*Two ways out: .*cond"):
            fx.symbolic_trace(lambda x: bool(x))
        self.assertEqual((nn.Module.__call__, nn.Module.__getattr__), before)
        self.assertFalse(fx._symbolic_trace.is_fx_tracing())


class Tracers(unittest.TestCase):
    def test_leaves(self):
        class Flat(fx.Tracer):
            def is_leaf_module(self, m, module_qualified_name):
                return False

        net = Net()
        graph = Flat().trace(net)
        self.assertEqual([n.name for n in graph.nodes][:4], ["x", "linear_weight", "linear_bias", "linear"])
        self.assertTrue(torch.equal(fx.GraphModule(net, graph)(X), net(X)))

    def test_paths_and_scopes(self):
        class Noting(fx.Tracer):
            paths = []

            def call_module(self, m, forward, args, kwargs):
                self.paths.append(self.path_of_module(m))
                return super().call_module(m, forward, args, kwargs)

        tracer = Noting()
        graph = tracer.trace(Net())
        self.assertEqual(tracer.paths, ["linear", "blocks", "blocks.0", "blocks.1"])
        node = next(n for n in graph.nodes if n.name == "blocks_1")
        self.assertEqual(list(node.meta["nn_module_stack"]), ["blocks", "blocks.1"])
        with self.assertRaisesRegex(NameError, "not installed"):
            tracer.path_of_module(nn.ReLU())

    def test_shapes_of_parameters_as_constants(self):
        class Sized(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))

            def forward(self, x):
                return x * self.weight if self.weight.shape[0] == 3 and self.weight.dim() == 1 else x

        with self.assertRaises(fx.proxy.TraceError):
            fx.Tracer().trace(Sized())
        self.assertEqual(len(fx.Tracer(param_shapes_constant=True).trace(Sized()).nodes), 4)

    def test_own_proxies(self):
        class Doubling(fx.Proxy):
            def double(self):
                return self * 2

        class Own(fx.Tracer):
            def proxy(self, node):
                return Doubling(node, self)

        graph = Own().trace(lambda x: x.double())
        self.assertTrue(torch.equal(fx.GraphModule(nn.Module(), graph)(X), 2 * X))

    def test_assertions_become_nodes(self):
        class Asserting(fx.Tracer):
            trace_asserts = True

        space = {}  # compiled here, since pytest writes assert statements anew
        exec('def f(x):\n    assert x.sum() > 0, "positive"\n    return x + 1', space)
        module = fx.GraphModule(nn.Module(), Asserting().trace(space["f"]))
        self.assertTrue(torch.equal(module(X.abs()), X.abs() + 1))
        with self.assertRaisesRegex(AssertionError, "positive"):
            module(-X.abs())

    def test_stack_traces_lead_to_the_program(self):
        class Noting(fx.Tracer):
            record_stack_traces = True

        nodes = list(Noting().trace(lambda x: x + 1).nodes)
        self.assertIn("trace_test.py", nodes[1].stack_trace.rsplit("File", 1)[1])

    def test_libraries_write_their_own_trace(self):
        from cresset.fx import _symbolic_trace as parts

        class Own(fx.Tracer):
            def trace(self, root, concrete_args=None):
                self.root, self.graph, self.tensor_attrs = root, fx.Graph(), {}
                self.submodule_paths = {module: path for path, module in root.named_modules()}
                self.assertion(isinstance(type(root).forward, parts.FunctionType) and not isinstance(X, parts.ScriptObject))
                function, arguments = self.create_args_for_root(type(root).forward, True, concrete_args)

                def call(module, *args, **kwargs):
                    parts._autowrap_check(patcher, type(module).forward.__globals__, self._autowrap_function_ids)
                    return self.call_module(module, lambda *a, **k: parts._orig_module_call(module, *a, **k), args, kwargs)

                with parts._Patcher() as patcher:
                    patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
                    parts._patch_wrapped_functions(patcher)
                    for module in self._autowrap_search:
                        parts._autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                    self.create_node("output", "output", (self.create_arg(function(*arguments)),), {})
                return self.graph

        Own.assertion = staticmethod(self.assertTrue)
        root = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        made = fx.GraphModule(root, Own().trace(root))
        self.assertEqual([node.op for node in made.graph.nodes], ["placeholder", "call_module", "call_module", "output"])
        self.assertTrue(torch.equal(made(X), root(X)))


if __name__ == "__main__":
    unittest.main()
