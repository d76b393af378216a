"""Graphs: nodes made, moved, replaced and removed, names, text, code, and checks."""

import copy
import enum
import operator
import unittest

import cresset as torch
from cresset import fx

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Colour(enum.Enum):
    RED = 1


def names(graph):
    return [n.name for n in graph.nodes]


class Making(unittest.TestCase):
    def test_by_hand(self):
        graph = fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y", default_value=2.0)
        total = graph.call_function(torch.add, (x, y), {"alpha": 2})
        graph.output((total, graph.call_method("relu", (total,))))
        graph.lint()
        module = fx.GraphModule({}, graph)
        self.assertTrue(torch.equal(module(X)[0], X + 4))
        self.assertEqual(
            module.code,
            "\n\n\ndef forward(self, x, y = 2.0):\n    add = torch.add(x, y, alpha = 2);  x = y = None\n    relu = add.relu()\n    return (add, relu)\n    ",
        )
        self.assertEqual(
            str(graph),
            "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=1] = placeholder[target=y](default=2.0)\n"
            "    %add : [num_users=2] = call_function[target=torch.add](args = (%x, %y), kwargs = {alpha: 2})\n"
            "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})\n    return (add, relu)",
        )

    def test_names(self):
        graph = fx.Graph()
        for proposed, expected in (
            ("relu", "relu"), ("relu", "relu_1"), ("relu_1", "relu_2"), ("relu_5", "relu_5"), ("relu_5", "relu_6"), ("sum", "sum_1"), ("3x", "_3x"),
            ("a.b", "a_b"), ("x_3", "x_3"), ("x", "x"), ("x", "x_4"), ("inf", "inf_1"), ("lambda", "lambda_1"),
        ):  # fmt: skip
            self.assertEqual(graph.create_node("placeholder", proposed, name=proposed).name, expected)
        self.assertEqual(graph.call_method("__getitem__", (graph._root.next, 0)).name, "getitem")

    def test_values_in_code(self):
        graph = fx.Graph()
        x = graph.placeholder("x")
        values = (
            float("inf"),
            -float("inf"),
            1e-5,
            2j,
            "q'\"\n",
            None,
            ...,
            True,
            torch.float32,
            torch.device("cpu"),
            slice(x, None, 2),
            Colour.RED,
            [x],
            {"k": x},
            (x,),
        )
        graph.output(graph.call_function(fx.node.map_arg, (values, len)))
        code = graph.python_code("self")
        self.assertIn(
            "(inf, -inf, 1e-05, 2j, 'q\\'\"\\n', None, Ellipsis, True, torch.float32, device(type='cpu'), slice(x, None, 2), Colour.RED, [x], {'k': x}, (x,))",
            code.src,
        )
        self.assertIs(code.globals["Colour"], Colour)

    def test_operators_in_place_and_paths(self):
        graph = fx.Graph()
        x = graph.placeholder("x")
        for target, args in ((operator.iadd, (x, 2)), (operator.setitem, (x, 1, 2)), (getattr, (x, "shape")), (getattr, (x, "a b"))):
            graph.call_function(target, args)
        graph.call_module("m.1.part", (x,))
        source = graph.python_code("self").src
        for line in ("x += 2;  iadd = x", "x[1] = 2;  setitem = x", "getattr_1 = x.shape", "getattr(x, 'a b')", 'getattr(self.m, "1").part(x)'):
            self.assertIn(line, source)

    def test_bad_input(self):
        graph = fx.Graph()
        for error, call in (
            (AssertionError, lambda: graph.create_node("bogus", "x")),
            (AssertionError, lambda: graph.create_node("call_method", "relu", [1])),
            (ValueError, lambda: graph.call_function("relu")),
            (AssertionError, lambda: graph.get_attr(3)),
            (AssertionError, lambda: graph.call_method(3)),
        ):
            self.assertRaises(error, call)
        with self.assertWarns(UserWarning):
            fx.symbolic_trace(lambda x: x).graph.get_attr("nothing")
        self.assertRaises(AttributeError, fx.symbolic_trace(lambda x: x).graph.call_module, "nothing")


class Changing(unittest.TestCase):
    def test_insertion(self):
        traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        relu = next(n for n in traced.graph.nodes if n.target is torch.relu)
        with traced.graph.inserting_after(relu):
            new = traced.graph.call_function(torch.tanh, (relu,))
        relu.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
        traced.graph.lint()
        traced.recompile()
        self.assertEqual(names(traced.graph), ["x", "relu", "tanh", "add", "output"])
        self.assertTrue(torch.equal(traced(X), X.relu().tanh() + 1))

    def test_removal(self):
        traced = fx.symbolic_trace(lambda x: x.relu().sum())
        x, relu, total, _ = traced.graph.nodes
        with self.assertRaisesRegex(RuntimeError, "relu.*1 users"):
            traced.graph.erase_node(relu)
        self.assertEqual(relu.replace_all_uses_with(x), [total])
        traced.graph.erase_node(relu)
        self.assertEqual((names(traced.graph), len(traced.graph.nodes), list(x.users)), (["x", "sum_1", "output"], 3, [total]))
        other = fx.Graph().placeholder("y")
        self.assertRaises(RuntimeError, traced.graph.erase_node, other)
        self.assertRaises(AssertionError, x.prepend, other)
        self.assertRaises(AssertionError, traced.graph.inserting_before, other)

    def test_removal_during_iteration(self):
        traced = fx.symbolic_trace(lambda x: x + 1)
        for node in reversed(traced.graph.nodes):
            traced.graph.erase_node(node)
        self.assertEqual(len(traced.graph.nodes), 0)

    def test_dead_code(self):
        def f(x):
            x.add(2).mul(3)
            torch._assert(x.sum() > -100, "small")
            return x + 1

        graph = fx.symbolic_trace(f).graph
        self.assertTrue(graph.eliminate_dead_code())
        self.assertEqual(names(graph), ["x", "sum_1", "gt", "_assert", "add_1", "output"])
        self.assertFalse(graph.eliminate_dead_code())
        self.assertTrue(graph.eliminate_dead_code(is_impure_node=lambda node: node.op in ("placeholder", "output")))
        self.assertEqual(names(graph), ["x", "add_1", "output"])

    def test_users_follow_arguments(self):
        x, y, mul, add, _ = fx.symbolic_trace(lambda x, y: x + x * y).graph.nodes
        add.args = (mul, mul)
        self.assertEqual((list(x.users), list(mul.users)), ([mul], [add]))
        add.update_arg(1, y)
        add.update_kwarg("k", [{"a": x}])
        self.assertEqual((list(x.users), list(y.users)), ([mul, add], [mul, add]))
        add.insert_arg(0, x)
        self.assertEqual(add.args, (x, mul, y))
        add.replace_input_with(x, y)
        self.assertEqual((add.all_input_nodes, dict(add.kwargs)), ([y, mul], {"k": [{"a": y}]}))
        self.assertRaises(AssertionError, add.insert_arg, 9, x)
        self.assertRaises(TypeError, add.kwargs.update, k=1)
        self.assertRaises(TypeError, add.kwargs["k"].append, 1)

    def test_order(self):
        graph = fx.symbolic_trace(lambda x: (x + 1, x * 2)).graph
        x, add, mul, output = graph.nodes
        self.assertTrue(x < add < mul < output and mul > add and add <= add)
        for _ in range(60):  # more often than places between two neighbours can be halved
            add.append(mul) if add > mul else add.prepend(mul)
            self.assertEqual(list(graph.nodes), sorted(graph.nodes))
        for _ in range(60):
            with graph.inserting_before(add):
                graph.call_function(torch.relu, (x,))
            self.assertEqual(list(graph.nodes), sorted(graph.nodes))

    def test_lint_names_the_node(self):
        graph = fx.symbolic_trace(lambda x: x.relu() + 1).graph
        x, relu, _, _ = graph.nodes
        relu.append(x)
        with self.assertRaisesRegex(RuntimeError, "relu.* x, which was used before it has been defined"):
            graph.lint()
        traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        next(n for n in traced.graph.nodes if n.op == "call_module").target = "nothing"
        with self.assertRaisesRegex(RuntimeError, "nothing"):
            traced.graph.lint()

    def test_lint_finds_every_kind_of_nonsense(self):
        def deleted(module, first, second):
            del module._modules["0"]

        def foreign(module, first, second):
            second.args = (fx.Graph().placeholder("z"),)

        def own_result(module, first, second):
            second.args = (second,)

        for change, error, words in (
            (deleted, RuntimeError, "Node _0 target 0 references nonexistent attribute 0"),
            (foreign, RuntimeError, "Node _1 has the argument z, which does not belong"),
            (own_result, RuntimeError, "Node _1 has the argument _1, which was used before"),
            (lambda m, a, b: setattr(a, "op", "nonsense"), RuntimeError, "Node _0 had unknown opcode nonsense"),
            (lambda m, a, b: setattr(b, "name", a.name), RuntimeError, "redefined name _0"),
            (lambda m, a, b: setattr(a, "target", "1.no.weight"), RuntimeError, "Node _0 target 1.no.weight references nonexistent attribute no of 1"),
            (lambda m, a, b: setattr(a, "target", 3), ValueError, "Node _0 target 3 has type int, expected a str"),
            (lambda m, a, b: setattr(a, "op", "call_function"), ValueError, "Node _0 target 0 has type str, expected a callable"),
        ):
            traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()))
            _, first, second, _ = traced.graph.nodes
            change(traced, first, second)
            with self.assertRaisesRegex(error, words):
                traced.graph.lint()


class Copies(unittest.TestCase):
    def test_nodes_and_graphs(self):
        traced = fx.symbolic_trace(lambda x, y: torch.add(x, y, alpha=3))
        for i, node in enumerate(traced.graph.nodes):
            node.meta["i"] = i
        graph, made = fx.Graph(), {}
        for node in traced.graph.nodes:
            made[node] = graph.node_copy(node, made.__getitem__)
        other = fx.Graph()
        other.output(other.graph_copy(traced.graph, {}))
        for copied in (graph, other, copy.deepcopy(traced.graph)):
            copied.lint()
            self.assertEqual(names(copied), names(traced.graph))
            self.assertTrue(torch.equal(fx.GraphModule({}, copied)(X, X), 4 * X))
            self.assertEqual([n.meta["i"] for n in copied.nodes if n.op != "output"], [0, 1, 2])

    def test_find_nodes(self):
        graph = fx.symbolic_trace(lambda x: torch.relu(x).relu() + torch.relu(x)).graph
        self.assertEqual([n.name for n in graph.find_nodes(op="call_function", target=torch.relu)], ["relu", "relu_2"])
        self.assertEqual([n.name for n in graph.find_nodes(op="placeholder")], ["x"])
        self.assertEqual(graph.output_node().op, "output")

    def test_lines_of_code_can_be_changed(self):
        traced = fx.symbolic_trace(lambda x: x + 1)
        with traced.graph.on_generate_code(lambda old: lambda lines: ["x = x * 10\n", *(old(lines) if old else lines)]):
            traced.recompile()
            self.assertEqual(traced(1), 11)
        traced.recompile()
        self.assertEqual(traced(1), 2)


if __name__ == "__main__":
    unittest.main()
