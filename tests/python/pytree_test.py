"""Trees of containers: structures in files, broadcasting, classes as containers."""

import collections
import dataclasses
import enum
import gc
import json
import os
import pickle
import subprocess
import sys
import unittest
import weakref

import pytest

import cresset as torch

pytree = torch.utils._pytree


@dataclasses.dataclass
class Point:
    x: int
    y: int
    label: str = "none"


class Tag(str):
    pass


class Label(str):
    pass


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Memory(unittest.TestCase):
    def test_a_registered_class_may_be_a_leaf_for_a_while(self):
        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        pytree = torch.utils._pytree
        pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda values, context: Pair(*values))
        self.addCleanup(pytree._deregister_pytree_node, Pair)
        node = pytree.SUPPORTED_NODES.pop(Pair)
        self.assertEqual(len(pytree.tree_leaves([Pair(1, 2)])), 1)
        pytree.SUPPORTED_NODES[Pair] = node
        self.assertEqual(pytree.tree_leaves([Pair(1, 2)]), [1, 2])
        self.assertIsNone(pytree.SUPPORTED_NODES.pop(int, None))
        with self.assertRaises(KeyError):
            pytree.SUPPORTED_NODES.pop(int)

    def test_fields_of_a_dataclass_that_are_none_are_no_children(self):
        import dataclasses

        @dataclasses.dataclass
        class Both:
            a: object
            b: object = None

        torch.utils._pytree.register_dataclass(Both)
        self.addCleanup(torch.utils._pytree._deregister_pytree_node, Both)
        leaves, spec = torch.utils._pytree.tree_flatten(Both(1))
        self.assertEqual((leaves, torch.utils._pytree.tree_unflatten([3], spec)), ([1], Both(3)))

    def test_leaves_are_let_go_of_at_once(self):
        gc.disable()
        self.addCleanup(gc.enable)
        for use in (pytree.tree_flatten, lambda tree: pytree.tree_map(lambda x: x, tree), pytree.tree_leaves_with_path):
            x = torch.ones(1)
            there = weakref.ref(x)
            use({"a": [x, 1]})
            del x
            self.assertIsNone(there())


class Kinds(unittest.TestCase):
    def test_tuples_with_names(self):
        pair = collections.namedtuple("pair", "a b")
        named, struct = pair(1, 2), torch.ones(2, 2).max(0)
        values = (named, pair, struct, type(struct), (1,), tuple)
        for ask, expected in (
            (pytree.is_namedtuple, [True, True, False, False, False, False]),
            (pytree.is_namedtuple_class, [False, True, False, False, False, False]),
            (pytree.is_namedtuple_instance, [True, False, False, False, False, False]),
            (pytree.is_structseq, [False, False, True, True, False, False]),
            (pytree.is_structseq_class, [False, False, False, True, False, False]),
            (pytree.is_structseq_instance, [False, False, True, False, False, False]),
        ):
            self.assertEqual([ask(value) for value in values], expected)

    def test_specs_with_lists_of_keys_have_a_hash(self):
        make = lambda: pytree.tree_structure({"a": [1, 2], "b": (3,)})  # noqa: E731
        self.assertEqual(hash(make()), hash(make()))

    def test_paths_and_specs(self):
        tree = {"a": [1, (2, 3)]}
        for path, leaf in pytree.tree_leaves_with_path(tree):
            self.assertEqual(pytree.key_get(tree, path), leaf)
        self.assertRaises(NotImplementedError, pytree.key_get, tree, ("a",))
        leaf = pytree.treespec_leaf()
        self.assertEqual(pytree.treespec_dict({"a": pytree.treespec_tuple([leaf, leaf])}), pytree.tree_structure({"a": (1, 2)}))
        self.assertEqual(pytree.treespec_pprint(pytree.tree_structure(tree)), "{'a': [*, (*, *)]}")


class Files(unittest.TestCase):
    def test_structures_come_back(self):
        plain = collections.defaultdict(list, a=1)
        for tree in (1, [1, (2,)], {"a": [1], "b": {}}, collections.OrderedDict(z=1), collections.deque([1, 2], maxlen=3), plain, torch.Size([1])):
            spec = pytree.tree_structure(tree)
            self.assertEqual(pytree.treespec_loads(pytree.treespec_dumps(spec)), spec)

    def test_what_has_no_name_is_refused(self):
        class Own(list):
            pass

        pytree.register_pytree_node(Own, lambda tree: (list(tree), None), lambda children, _: Own(children))
        with self.assertRaisesRegex(NotImplementedError, "serialized_type_name"):
            pytree.treespec_dumps(pytree.tree_structure(Own([1])))
        with self.assertRaises(ValueError):
            pytree.treespec_loads("[7, {}]")
        with self.assertRaises(TypeError):
            pytree.treespec_dumps(3)


Pair = collections.namedtuple("Pair", "a b")


class NamedTuples(unittest.TestCase):
    def test_the_class_is_the_context(self):
        spec = pytree.tree_structure(Pair(1, 2))
        self.assertEqual((spec.type, spec.context), (collections.namedtuple, Pair))
        self.assertEqual(spec, pytree.TreeSpec(collections.namedtuple, Pair, [pytree.treespec_leaf()] * 2))
        self.assertEqual(pytree.tree_unflatten([1, 2], spec), Pair(1, 2))
        self.assertEqual(pytree.treespec_pprint(spec), "Pair(a=*, b=*)")
        self.assertEqual(torch.fx._pytree.tree_flatten_spec((Pair(1, 2),), pytree.tree_structure((Pair(0, 0),))), [1, 2])

    def test_a_name_lets_files_have_them(self):
        spec = pytree.tree_structure([Pair(1, 2)])
        with self.assertRaisesRegex(NotImplementedError, "_register_namedtuple"):
            pytree.treespec_dumps(spec)
        self.addCleanup(pytree._deregister_pytree_node, Pair)
        pytree._register_namedtuple(Pair, serialized_type_name="pytree_test.Pair")
        self.assertIn('{"type": "collections.namedtuple", "context": "pytree_test.Pair"', pytree.treespec_dumps(spec))
        self.assertEqual(pytree.treespec_loads(pytree.treespec_dumps(spec)), spec)

    def test_structures_are_leaves_and_pickles(self):
        spec = pytree.tree_structure({"a": Pair(1, [2])})
        self.assertEqual(pytree.tree_leaves([spec]), [spec])
        self.assertEqual(pickle.loads(pickle.dumps(spec)), spec)


class SeveralTrees(unittest.TestCase):
    def test_keys_may_have_another_order(self):
        self.assertEqual(pytree.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": [20], "a": 10}), {"a": (1, 10), "b": (2, [20])})
        ordered = collections.OrderedDict(b=20, a=10)
        self.assertEqual(pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, ordered), {"a": 11, "b": 22})
        self.assertEqual(pytree.tree_map_with_path(lambda path, x, y: x + y, {"a": 1, "b": 2}, ordered), {"a": 11, "b": 22})
        self.assertEqual(pytree._broadcast_to_and_flatten({"a": 1, "b": 2}, pytree.tree_structure({"b": [0, 0], "a": 0})), [2, 2, 1])

    def test_other_containers_do_not_fit(self):
        for first, second in (((1, 2), [1, 2]), ((1, 2), Pair(1, 2)), (Pair(1, 2), (1, 2)), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ([1], 1), ({"a": 1}, 1)):
            with self.assertRaises(ValueError):
                pytree.tree_map(lambda x, y: x, first, second)
        self.assertEqual(pytree.tree_map_(lambda x, y: None, [1], [[1, 2]]), [1])


class Deprecated(unittest.TestCase):
    def test_old_names_warn(self):
        class Own:
            pass

        functions = (lambda own: ([], None), lambda children, context: Own())
        self.addCleanup(pytree._deregister_pytree_node, Own)
        with self.assertWarns(FutureWarning):
            pytree._register_pytree_node(Own, *functions)
        with self.assertWarns(UserWarning):
            pytree._private_register_pytree_node(Own, *functions)
        with self.assertRaises(ValueError):
            pytree.register_pytree_node(Own, *functions)
        with self.assertWarns(FutureWarning):
            self.assertEqual(pytree.tree_structure([1]).children_specs, pytree.tree_structure([1]).children())


class Optree(unittest.TestCase):
    def test_without_optree_there_is_no_such_module(self):
        code = (
            "import sys; sys.modules['optree'] = None; import cresset.utils._pytree\ntry: import cresset.utils._cxx_pytree\nexcept ImportError: print('none')"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
        self.assertEqual(found.stdout, "none\n")

    def test_the_same_functions_over_optree(self):
        pytest.importorskip("optree")
        from cresset.utils import _cxx_pytree as cxx

        self.assertEqual(cxx.__all__, pytree.__all__)
        self.assertEqual(cxx.tree_leaves({"b": 1, "a": [2, None]}), [1, 2, None])
        self.assertEqual(cxx.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": [1], "a": 2}), {"a": (1, 2), "b": (2, [1])})
        spec = cxx.tree_structure({"a": Pair(1, torch.Size([2]))})
        self.assertIsInstance(spec, cxx.PyTreeSpec)
        self.assertEqual(pytree.tree_unflatten([1, 2], spec), {"a": Pair(1, torch.Size([2]))})
        plain = cxx.tree_structure({"a": [1]})
        self.assertEqual(cxx.treespec_loads(cxx.treespec_dumps(plain)), plain)
        self.assertEqual(cxx._broadcast_to_and_flatten((1, 2), cxx.tree_structure(([0, 0], 0))), [1, 1, 2])

        class Own:
            def __init__(self, value):
                self.value = value

        pytree.register_pytree_node(Own, lambda own: ([own.value], None), lambda children, _: Own(*children))
        self.addCleanup(pytree._deregister_pytree_node, Own)
        self.assertEqual(cxx.tree_map(lambda x: x + 1, Own(1)).value, 2)
        self.assertRaises(NotImplementedError, cxx.tree_flatten_with_path, [1])


class Structures(unittest.TestCase):
    def test_leaves_are_chosen_by_types_and_conditions(self):
        tree = [1, "a", (2.5, None)]
        for kind in ((int, float), int | float, lambda leaf: isinstance(leaf, (int, float))):
            self.assertEqual(pytree.tree_map_only(kind, lambda x: -x, tree), [-1, "a", (-2.5, None)])
            self.assertTrue(pytree.tree_all_only(kind, lambda x: x > 0, tree))
            self.assertFalse(pytree.tree_any_only(kind, lambda x: x < 0, tree))
        with self.assertRaisesRegex(TypeError, "got int"):
            pytree.tree_map_only(3, str, tree)

    def test_structures_of_dictionaries(self):
        leaf = pytree.treespec_leaf()
        self.assertEqual(pytree.treespec_dict({"a": leaf}, b=leaf), pytree.tree_structure({"a": 1, "b": 2}))

    def test_registered_classes_are_told_and_forgotten(self):
        class Own:
            pass

        pytree.register_constant(Own)
        self.assertTrue(pytree.is_constant_class(Own))
        self.assertEqual(pytree.SUPPORTED_NODES[Own].type, Own)
        pytree._deregister_pytree_node(Own)
        self.assertEqual((pytree.is_constant_class(Own), Own in pytree.SUPPORTED_NODES), (False, False))
        own = Own()
        self.assertEqual(pytree.tree_leaves([own]), [own])

    def test_deques_keep_their_bound(self):
        doubled = pytree.tree_map(lambda x: 2 * x, collections.deque([1, 2], maxlen=5))
        self.assertEqual((doubled, doubled.maxlen), (collections.deque([2, 4]), 5))

    def test_leaves_are_repeated_to_a_structure(self):
        spec = pytree.tree_structure([0, (0, 0)])
        self.assertEqual(pytree._broadcast_to_and_flatten([1, 2], spec), [1, 2, 2])
        self.assertIsNone(pytree._broadcast_to_and_flatten((1, 2), spec))

    def test_parts_up_to_a_structure(self):
        spec = pytree.tree_structure({"a": 0, "b": [0]})
        self.assertEqual(spec.flatten_up_to({"b": [(2, 3)], "a": [1]}), [[1], (2, 3)])
        with self.assertRaises(ValueError):
            spec.flatten_up_to({"a": 1, "b": (2,)})

    def test_structures_with_enumerations_are_files(self):
        spec = pytree.tree_structure({Side.LEFT: 1, "x": [Side.RIGHT]})
        self.assertIn('\\"name\\": \\"LEFT\\"', pytree.treespec_dumps(spec))
        self.assertEqual(pytree.treespec_loads(pytree.treespec_dumps(spec)), spec)
        self.assertEqual(json.loads(json.dumps([Side.LEFT], cls=pytree.EnumEncoder), object_hook=pytree.enum_object_hook), [Side.LEFT])
        self.assertEqual(pytree.enum_object_hook({"x": 1}), {"x": 1})

    def test_a_file_names_members_of_imported_enumerations_alone(self):
        for name, member, error in (("antigravity:x", "y", ModuleNotFoundError), ("os:getcwd", "x", TypeError), (f"{__name__}:Side", "UP", KeyError)):
            with self.assertRaises(error):
                pytree.enum_object_hook({"__enum__": True, "fqn": name, "name": member})
        self.assertNotIn("antigravity", sys.modules)

    def test_sizes_hold_what_stands_for_numbers(self):
        size = torch.Size([1, 2])
        leaves, spec = pytree.tree_flatten((size,))
        self.assertEqual((leaves, type(pytree.tree_unflatten(leaves, spec)[0])), ([1, 2], torch.Size))
        self.assertEqual(pytree.tree_map(lambda n: None, (size,)), ((None, None),))
        self.assertEqual(torch.fx._pytree.tree_flatten_spec((size,), spec), [1, 2])
        found = torch.max(torch.ones(2), 0)
        self.assertEqual(len(torch.fx._pytree.tree_flatten_spec(found, pytree.tree_structure(found))), 2)
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda s: torch.randint(3, s))(torch.Size([2, 2]))
        self.assertEqual(graph(torch.Size([2, 2])).shape, (2, 2))

    def test_the_context_of_constants(self):
        pytree.register_constant(Label)
        context = pytree.tree_structure(Label("a")).context
        self.assertEqual(context, pytree.ConstantNode(Label("a")))
        self.assertEqual(pytree.tree_unflatten([], pytree.tree_structure(Label("a"))), "a")

    def test_names_for_annotations(self):
        self.assertTrue(issubclass(pytree.LeafSpec, pytree.TreeSpec))
        self.assertEqual(pytree.LeafSpec().num_leaves, 1)
        with self.assertRaises(NotImplementedError):
            pytree.structseq((1, 2))
        with self.assertRaises(TypeError):
            type("Mine", (pytree.structseq,), {})

    def test_dataclasses_and_constants(self):
        pytree.register_dataclass(Point, drop_field_names=["label"])
        self.assertEqual(pytree.tree_map(lambda x: x + 1, Point(1, 2, "p")), Point(2, 3))
        pytree.register_constant(Tag)
        self.assertEqual(pytree.tree_leaves([Tag("a"), 1]), [1])
        with self.assertRaises(ValueError):
            pytree.register_dataclass(int)
        with self.assertWarns(FutureWarning):
            self.assertIsInstance(pytree.tree_structure(1), pytree.LeafSpec)
