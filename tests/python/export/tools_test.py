"""Questions of libraries on exported programs: the weight behind a node, structures of arguments, parts of a module that can be exported."""

import dataclasses
import unittest

from cresset._export import tools, utils
from cresset._export.verifier import TrainingIRVerifier, Verifier, load_verifier
from cresset.export import _tree_utils, custom_obj, export
from cresset.utils import _pytree

import cresset as torch
from cresset import nn

X = torch.ones(2, 3)


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("kept", torch.ones(3))
        self.register_buffer("left", torch.ones(3), persistent=False)
        self.constant = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        return self.layer(x) + self.kept + self.left + self.constant


class Branch(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


class Nodes(unittest.TestCase):
    def test_weights_behind_nodes(self):
        module = Weights()
        program = export(module, (X,))
        found = {}
        for node in program.graph.nodes:
            for kind in ("param", "buffer", "lifted_tensor_constant"):
                tensor = getattr(utils, f"get_{kind}")(program, node)
                self.assertEqual(getattr(utils, f"is_{kind}")(program, node), tensor is not None)
                if tensor is not None:
                    found[node.name] = kind, tensor.data_ptr()
        expected = {
            "p_layer_weight": ("param", module.layer.weight), "p_layer_bias": ("param", module.layer.bias), "b_kept": ("buffer", module.kept),
            "b_left": ("buffer", module.left), "c_constant": ("lifted_tensor_constant", module.constant),
        }  # fmt: skip
        self.assertEqual({name: kind for name, (kind, _) in found.items()}, {name: kind for name, (kind, _) in expected.items()})
        self.assertEqual(found["p_layer_weight"][1], module.layer.weight.data_ptr())

    def test_lists_of_nodes(self):
        nodes = list(torch.fx.symbolic_trace(lambda x: (x + 1) * 2).graph.nodes)
        is_call = lambda node: node.op == "call_function"  # noqa: E731
        self.assertEqual([n.name for n in utils.nodes_filter(nodes, is_call)], ["add", "mul"])
        self.assertEqual((utils.nodes_first(nodes, is_call).name, utils.nodes_first(nodes).name, utils.nodes_first([], is_call)), ("add", "x", None))
        self.assertEqual(utils.nodes_count(nodes, is_call), 2)
        seen = []
        self.assertIs(utils.nodes_map(nodes, seen.append), nodes)
        self.assertEqual(seen, nodes)

    def test_a_node_in_the_place_of_another(self):
        graph = torch.fx.symbolic_trace(lambda x: (x + 1) * 2).graph
        x, add, *_ = graph.nodes
        utils.node_replace_(add, x)
        self.assertEqual([n.name for n in graph.nodes], ["x", "mul", "output"])

    def test_the_mode_and_symbols_of_a_graph(self):
        program = export(nn.ReLU(), (X,), dynamic_shapes=({0: torch.export.Dim("n")},))
        self.assertIsNotNone(utils._detect_fake_mode_from_gm(program.graph_module))
        self.assertIs(utils._get_shape_env_from_gm(program.graph_module), utils._detect_fake_mode_from_gm(program.graph_module).shape_env)
        self.assertIsNone(utils._detect_fake_mode_from_gm(torch.fx.symbolic_trace(lambda x: x + 1)))

    def test_states_without_what_tracing_leaves(self):
        tensor = torch.ones(1)
        tensor.proxy = "p"
        self.assertFalse(hasattr(utils.remove_proxy_from_state_dict({"a": tensor}, in_place=False)["a"], "proxy"))
        self.assertTrue(hasattr(tensor, "proxy"))
        utils.remove_proxy_from_state_dict({"a": tensor}, in_place=True)
        self.assertFalse(hasattr(tensor, "proxy"))


class Structures(unittest.TestCase):
    def test_dataclasses_without_fields_that_are_none(self):
        utils.register_dataclass_as_pytree_node(Pair)
        for pair, leaves in ((Pair(1), [1]), (Pair(1, 2), [1, 2])):
            found, spec = _pytree.tree_flatten(pair)
            self.assertEqual((found, _pytree.tree_unflatten(found, spec)), (leaves, pair))
        with self.assertRaisesRegex(ValueError, "expected a dataclass"):
            utils.register_dataclass_as_pytree_node(int)

    def test_keyword_arguments_in_order(self):
        spec = _pytree.tree_structure(((), {"a": 1, "b": 2}))
        self.assertEqual(list(_tree_utils.reorder_kwargs({"b": 2, "a": 1}, spec)), ["a", "b"])
        with self.assertRaisesRegex(ValueError, "expected the keyword arguments .'a', 'b'., got .'a'."):
            _tree_utils.reorder_kwargs({"a": 1}, spec)

    def test_structures_by_a_rule(self):
        first, second = _pytree.tree_structure([1, (2, 3)]), _pytree.tree_structure((1, [2, 3]))
        self.assertTrue(_tree_utils.is_equivalent(first, second, lambda *facts: True))
        self.assertFalse(_tree_utils.is_equivalent(first, second, lambda a, _, b, __: a is b))
        self.assertFalse(_tree_utils.is_equivalent(first, _pytree.tree_structure([1, (2,)]), lambda *facts: True))

    def test_names(self):
        self.assertEqual(custom_obj.ScriptObjectMeta("a", "b::C"), custom_obj.ScriptObjectMeta("a", "b::C"))
        self.assertEqual([load_verifier(name) for name in ("ATEN", "TRAINING")], [Verifier, TrainingIRVerifier])
        with self.assertRaisesRegex(ValueError, "expected one of the dialects"):
            load_verifier("OTHER")


class Exportability(unittest.TestCase):
    def report(self, module):
        return {path: error is None for path, error in tools.report_exportability(module, (X,), strict=False).items()}

    def test_a_module_that_can_be_exported(self):
        self.assertEqual(self.report(nn.Sequential(nn.ReLU())), {"": True})

    def test_parts_that_cannot_and_are_called(self):
        module = nn.Sequential(nn.ReLU(), nn.Sequential(Branch(), nn.Tanh()))
        module[0].unused = Branch()
        self.assertEqual(self.report(module), {"": False, "0": True, "1": False, "1.0": False, "1.1": True})

    def test_pre_dispatch(self):
        with self.assertRaises(NotImplementedError):
            tools.report_exportability(nn.ReLU(), (X,), pre_dispatch=True)


if __name__ == "__main__":
    unittest.main()
