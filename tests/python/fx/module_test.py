"""Graph modules: compiled, copied, pickled, written to folders; interpreters and transformers."""

import copy
import io
import operator
import os
import pickle
import sys
import tempfile
import unittest

import cresset as torch
from cresset import fx, nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.tensor([0.5, 2.0]))
        self.register_buffer("shift", torch.tensor([1.0, -1.0]))

    def forward(self, x):
        return self.b(torch.relu(self.a(x))) * self.scale + self.shift


def listing(module):
    return [(n.op, n.name, str(n.target), str(n.args)) for n in module.graph.nodes]


class Modules(unittest.TestCase):
    def test_changes_take_effect_when_compiled(self):
        traced = fx.symbolic_trace(lambda x: x + 1)
        node = list(traced.graph.nodes)[1]
        node.args = (node.args[0], 5)
        self.assertTrue(torch.equal(traced(X), X + 1))
        traced.recompile()
        self.assertTrue(torch.equal(traced(X), X + 5))

    def test_copies_share_nothing(self):
        traced = fx.symbolic_trace(Net())
        copied = copy.deepcopy(traced)
        with torch.no_grad():
            copied.a.weight.zero_()
        self.assertTrue(torch.equal(traced(X), Net()(X)))
        self.assertFalse(torch.equal(copied(X), traced(X)))
        self.assertEqual(listing(copied), listing(traced))
        self.assertTrue(torch.equal(copy.copy(traced)(X), traced(X)))

    def test_copies_take_marked_attributes_along(self):
        traced = fx.symbolic_trace(Net())
        traced.meta[fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY] = {"origin": "a net"}
        self.assertEqual(copy.deepcopy(traced).origin, "a net")

    def test_a_module_of_a_dictionary_is_a_root(self):
        traced = fx.symbolic_trace(Net())
        root = fx.graph_module._CodeOnlyModule(dict(vars(traced)))
        self.assertEqual(set(vars(root)), set(vars(traced)))
        self.assertTrue(torch.equal(fx.GraphModule(root, copy.deepcopy(traced.graph))(X), traced(X)))

    def test_state_and_training(self):
        traced = fx.symbolic_trace(Net().eval())
        self.assertFalse(traced.training)
        self.assertEqual(sorted(traced.state_dict()), sorted(Net().state_dict()))
        self.assertEqual(str(traced.load_state_dict(Net().state_dict())), "<All keys matched successfully>")
        self.assertEqual((type(traced).__name__, type(traced).__mro__[1]), ("Net", fx.GraphModule))

    def test_submodules(self):
        traced = fx.symbolic_trace(Net())
        self.assertTrue(traced.add_submodule("extra.deep", nn.Tanh()))
        self.assertTrue(traced.delete_submodule("extra.deep"))
        self.assertFalse(traced.delete_submodule("extra.deep"))
        traced.delete_all_unused_submodules()
        self.assertEqual([name for name, _ in traced.named_modules()], ["", "a", "b"])

    def test_roots(self):
        graph = fx.Graph()
        graph.output(graph.call_module("deep.act", (graph.placeholder("x"),)))
        self.assertTrue(torch.equal(fx.GraphModule({"deep.act": nn.ReLU()}, graph)(X), X.relu()))
        with self.assertRaisesRegex(RuntimeError, "deep.act"):
            fx.GraphModule({}, graph)
        with self.assertRaisesRegex(RuntimeError, "Unsupported type"):
            fx.GraphModule(3, graph)

    def test_folders_are_importable(self):
        traced = fx.symbolic_trace(Net())
        with tempfile.TemporaryDirectory() as folder:
            traced.to_folder(os.path.join(folder, "written_net"), "Written")
            sys.path.insert(0, folder)
            try:
                from written_net import Written

                self.assertTrue(torch.equal(Written()(X), traced(X)))
            finally:
                sys.path.remove(folder)

    def test_readable_code(self):
        traced = fx.symbolic_trace(Net())
        fx.passes.shape_prop.ShapeProp(traced).propagate(X)
        text = traced.print_readable(print_output=False)
        self.assertTrue(text.startswith('class Net(torch.nn.Module):\n    def forward(self, x: "f32[2, 3]"):\n'))
        self.assertIn('        relu: "f32[2, 4]" = torch.relu(a);  a = None\n', text)

    def test_errors_show_the_line(self):
        traced = fx.symbolic_trace(lambda x, y: x @ y)
        printed, sys.stderr = sys.stderr, io.StringIO()
        try:
            self.assertRaises(RuntimeError, traced, X, X)
            said = sys.stderr.getvalue()
        finally:
            sys.stderr = printed
        self.assertIn("generated forward function", said)
        self.assertIn("matmul = x @ y", said)

    def test_traced_again(self):
        traced = fx.symbolic_trace(fx.symbolic_trace(Net()))
        self.assertTrue(torch.equal(traced(X), Net()(X)))

    def test_hooks_of_nodes(self):
        traced, seen = fx.symbolic_trace(lambda x: x.relu() + 1), []
        traced._register_create_node_hook(lambda node: seen.append(f"new {node}"))
        traced._register_erase_node_hook(lambda node: seen.append(f"gone {node}"))
        x, relu, _, _ = traced.graph.nodes
        with traced._set_replace_hook(lambda old, new, user: seen.append(f"{old}->{new} in {user}")):
            relu.replace_all_uses_with(x)
        traced.graph.erase_node(relu)
        traced.graph.call_method("exp", (x,))
        self.assertEqual(seen, ["relu->x in add", "gone relu", "new exp"])


class Pickles(unittest.TestCase):
    def test_modules_come_back(self):
        def f(x, pair):
            return {"r": x[..., 1:] * torch.nn.functional.relu(pair[0]) - torch.ops.aten.mul.Tensor(pair[1], 2.0), "n": max(1, 2)}

        for traced, args in (
            (fx.symbolic_trace(Net()), (X,)),
            (fx.symbolic_trace(f, concrete_args={"pair": (fx.PH, fx.PH)}), (X, (X[:, 1:], X[:, :2]))),
        ):
            buffer = io.BytesIO()
            torch.save(traced, buffer)
            buffer.seek(0)
            for back in (pickle.loads(pickle.dumps(traced)), torch.load(buffer, weights_only=False)):
                self.assertEqual(listing(back), listing(traced))
                self.assertEqual(back.code, traced.code)
                for one, other in zip(torch.utils._pytree.tree_leaves(back(*args)), torch.utils._pytree.tree_leaves(traced(*args)), strict=True):
                    self.assertTrue(torch.equal(torch.as_tensor(one), torch.as_tensor(other)))

    def test_no_node_of_a_file_is_code(self):
        traced = fx.symbolic_trace(lambda x: x.relu())
        build, (body, (steps, trees)) = traced.__reduce__()
        good = [list(step) for step in steps]

        def changed(node, place, value):
            copied = [list(step) for step in good]
            copied[node][place] = value
            return [[tuple(step) for step in copied], trees]

        self.assertTrue(torch.equal(build(body, changed(1, 2, "neg"))(X), -X))
        for bad in (
            changed(0, 2, "x=__import__('os').getcwd()"),
            changed(1, 2, "relu() or print"),
            changed(1, 1, "a\nb"),
            changed(1, 0, "exec"),
            changed(1, 3, ["tuple", [["node", 7]]]),
            changed(1, 3, ["value", object()]),
            changed(1, 4, ["dict", [["a=1, b", ["value", 1]]]]),
        ):
            with self.assertRaisesRegex(pickle.UnpicklingError, "graph of a file"):
                build(body, bad)
        for target in (["builtins", "eval"], ["torch", "torch.load"], ["ops", "aten", "__class__"], ["_operator", "methodcaller"], torch.load):
            steps = changed(1, 2, target)
            steps[0][1] = ("call_function", *steps[0][1][1:])
            with self.assertRaisesRegex(pickle.UnpicklingError, "graph of a file"):
                build(body, steps)


class Interpreters(unittest.TestCase):
    def test_runs_as_the_module_does(self):
        traced = fx.symbolic_trace(Net())
        self.assertTrue(torch.equal(fx.Interpreter(traced).run(X), traced(X)))
        args = [X]
        self.assertTrue(torch.equal(fx.Interpreter(traced).boxed_run(args), traced(X)))
        self.assertEqual(args, [])

    def test_values_are_kept_on_request(self):
        traced = fx.symbolic_trace(lambda x: (x + 1) * 2)
        interpreter = fx.Interpreter(traced, garbage_collect_values=False)
        interpreter.run(X)
        self.assertEqual([n.name for n in interpreter.env], ["x", "add", "mul", "output"])
        add = list(traced.graph.nodes)[1]
        x = next(iter(traced.graph.nodes))
        self.assertTrue(torch.equal(fx.Interpreter(traced).run(initial_env={x: X, add: X}), X * 2))

    def test_subclasses_change_kinds_of_nodes(self):
        class Changed(fx.Interpreter):
            def call_function(self, target, args, kwargs):
                return super().call_function(operator.sub if target is operator.add else target, args, kwargs)

            def output(self, target, args, kwargs):
                return [super().output(target, args, kwargs)]

        self.assertTrue(torch.equal(Changed(fx.symbolic_trace(lambda x: x + 1)).run(X)[0], X - 1))

    def test_errors_name_the_node(self):
        traced = fx.symbolic_trace(lambda x, y: x @ y)
        with self.assertRaisesRegex(RuntimeError, "While executing %matmul"):
            fx.Interpreter(traced).run(X, X)
        with self.assertRaisesRegex(RuntimeError, "parameter y"):
            fx.Interpreter(traced).run(X)

    def test_transformers_make_modules(self):
        class Smooth(fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

            def call_method(self, target, args, kwargs):
                return args[0].mul(2) if target == "neg" else super().call_method(target, args, kwargs)

        made = Smooth(fx.symbolic_trace(lambda x: torch.relu(x).neg())).transform()
        self.assertTrue(torch.equal(made(X), X.sigmoid() * 2))
        net = Net()
        self.assertTrue(torch.equal(fx.Transformer(fx.symbolic_trace(net)).transform()(X), net(X)))


if __name__ == "__main__":
    unittest.main()
