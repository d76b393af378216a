"""Passes: shapes, splitting, partitions, fusion, managers, normal forms, folding."""

import operator
import unittest

from cresset.fx.experimental.const_fold import split_const_subgraphs
from cresset.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from cresset.fx.experimental.optimization import fuse, optimize_for_inference
from cresset.fx.operator_schemas import check_for_mutable_operation, normalize_function, normalize_module, type_matches
from cresset.fx.passes import graph_manipulation, param_fetch
from cresset.fx.passes.dialect.common.cse_pass import CSEPass
from cresset.fx.passes.fake_tensor_prop import FakeTensorProp
from cresset.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from cresset.fx.passes.infra.pass_base import PassBase, PassResult
from cresset.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from cresset.fx.passes.operator_support import OperatorSupport, create_op_support
from cresset.fx.passes.shape_prop import ShapeProp
from cresset.fx.passes.split_module import split_module
from cresset.fx.passes.split_utils import split_by_tags
from cresset.fx.passes.tools_common import legalize_graph
from cresset.fx.passes.utils.fuser_utils import fuse_as_graphmodule, validate_partition

import cresset as torch
from cresset import fx, nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 2))
        self.scale = nn.Parameter(torch.tensor([0.5, 2.0]))

    def forward(self, x):
        return self.b(torch.relu(self.a(x))) * self.scale


def calls(module):
    return [n.target if isinstance(n.target, str) else n.target.__name__ for n in module.graph.nodes if n.op.startswith("call")]


class Shapes(unittest.TestCase):
    def test_values_of_a_run(self):
        traced = fx.symbolic_trace(Net())
        result = ShapeProp(traced).propagate(X)
        self.assertTrue(torch.equal(result, traced(X)))
        metas = {n.name: n.meta["tensor_meta"] for n in traced.graph.nodes}
        self.assertEqual((metas["a"].shape, metas["a"].stride, metas["a"].requires_grad, metas["x"].dtype), ((2, 4), (4, 1), True, torch.float32))
        with self.assertRaisesRegex(RuntimeError, "ShapeProp error for: node=%a"):
            ShapeProp(traced).propagate(X[:, :2])

    def test_values_of_the_fake_mode(self):
        traced = fx.symbolic_trace(lambda x: torch.topk(x, 2))
        FakeTensorProp(traced).propagate(torch.empty(2, 3, device="meta"))
        self.assertEqual([tuple(t.shape) for t in list(traced.graph.nodes)[1].meta["val"]], [(2, 2), (2, 2)])

    def test_modules_with_other_targets_run_them(self):
        traced = fx.symbolic_trace(lambda a, b: a + b)
        graph_manipulation.replace_target_nodes_with(traced, "call_function", operator.add, "call_function", operator.mul)
        self.assertEqual(traced(3, 4), 12)

    def test_attributes_of_layers_name_them_as_programs_do(self):
        self.assertEqual(param_fetch.extract_attrs_for_lowering(nn.Conv2d(1, 1, 1))["name"], "torch.nn.modules.conv.Conv2d")

    def test_bytes(self):
        traced = fx.symbolic_trace(Net())
        graph_manipulation.get_size_of_all_nodes(traced, [X])
        self.assertEqual(list(traced.graph.nodes)[1].size_bytes, (32, 32 + 64))


class Symbols(unittest.TestCase):
    def test_asserted_conditions_hold_from_then_on_in_the_fake_mode(self):
        class Module(nn.Module):
            def forward(self, x, y):
                n = x.item()
                torch._check_is_size(n)
                torch._check(n + 1 < y.size(0))
                return y[: n + 1]

        program = torch.export.export(Module(), (torch.tensor(4), torch.randn(10)))
        fakes = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
        with fakes[0].fake_mode:
            (found,) = (fx.Interpreter(program.module()).run(*fakes),)
        self.assertEqual(found.dim(), 1)


class Splitting(unittest.TestCase):
    def test_by_number(self):
        net, paths = Net(), {}
        traced = fx.symbolic_trace(net)
        split = split_module(traced, net, lambda n: 0 if n.name in ("a", "relu") else 1, paths)
        self.assertEqual([name for name, _ in split.named_children()], ["submod_0", "submod_1"])
        self.assertEqual([n.name for n in split.graph.nodes], ["x", "scale", "submod_0", "submod_1", "output"])
        self.assertEqual(paths, {"submod_0.a": "a", "submod_1.b_0": "b.0"})
        self.assertTrue(torch.equal(split(X), net(X)))

    def test_parts_with_several_results_and_circles(self):
        def f(x):
            a, b = x.split(1)
            return a + b, a

        traced = fx.symbolic_trace(f)
        split = split_module(traced, None, lambda n: n.name == "add")
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(split(X), f(X), strict=True)))
        traced = fx.symbolic_trace(lambda x: x.sin().cos().tan())
        with self.assertRaisesRegex(RuntimeError, "cycle"):
            split_module(traced, None, lambda n: n.name == "cos")

    def test_parts_of_exported_programs_return_what_the_program_does(self):
        program = torch.export.export(nn.ReLU(), (X,)).module()
        for node in program.graph.nodes:
            node.tag = "only"
        self.assertIsInstance(split_by_tags(program, ["only"])(X), torch.Tensor)

    def test_by_tag(self):
        traced = fx.symbolic_trace(Net())
        for node in traced.graph.nodes:
            node.tag = "left" if node.name in ("a", "relu") else "right"
        split, paths = split_by_tags(traced, ["left", "right"], return_fqn_mapping=True)
        self.assertEqual(paths, {"a": "left.a", "b.0": "right.b.0", "scale": "right.scale"})
        self.assertTrue(torch.equal(split(X), traced(X)))
        with self.assertRaisesRegex(AssertionError, "later"):
            split_by_tags(traced, ["right", "left"])
        with self.assertRaisesRegex(AssertionError, "tag"):
            split_by_tags(traced, ["left"])


class Partitions(unittest.TestCase):
    support = create_op_support(lambda modules, node: node.target in (operator.add, torch.relu))

    @staticmethod
    def names(partitions):
        return sorted(sorted(n.name for n in p.nodes) for p in partitions)

    def test_no_partition_depends_on_itself(self):
        def f(x, y):
            a = torch.relu(x + y)
            return torch.relu(a.exp() + a)

        partitioner = CapabilityBasedPartitioner(fx.symbolic_trace(f), self.support)
        found = partitioner.propose_partitions()
        self.assertEqual(self.names(found), [["add", "relu"], ["add_1", "relu_1"]])
        fused = partitioner.fuse_partitions(found)
        self.assertEqual(len(list(fused.named_children())), 2)
        self.assertIn("self.fused_1(", fused.code)
        self.assertTrue(torch.equal(fused(X, X), f(X, X)))

    def test_two_partitions_do_not_need_each_other(self):
        def f(x, y):
            a, b = torch.relu(x), torch.relu(y)
            return a.exp() + b, b.exp() + a

        traced = fx.symbolic_trace(f)
        fused = CapabilityBasedPartitioner(traced, self.support, allows_single_node_partition=True).partition_and_fuse()
        fused.graph.lint()
        fused.recompile()
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(fused(X, X), f(X, X), strict=True)))

    def test_single_nodes(self):
        traced = fx.symbolic_trace(lambda x: (x + 1).sin() + 2)
        for allowed, count in ((False, 0), (True, 2)):
            self.assertEqual(len(CapabilityBasedPartitioner(traced, self.support, allows_single_node_partition=allowed).propose_partitions()), count)

    def test_random_graphs_keep_their_values(self):
        import random

        for seed in range(30):
            chance = random.Random(seed)
            graph = fx.Graph()
            values = [graph.placeholder("x"), graph.placeholder("y")]
            for _ in range(14):
                target = chance.choice([operator.add, torch.relu, torch.neg])
                values.append(graph.call_function(target, tuple(chance.choices(values, k=2 if target is operator.add else 1))))
            graph.output(tuple(values[-3:]))
            module = fx.GraphModule({}, graph)
            expected = module(X, -X)
            fused = CapabilityBasedPartitioner(module, self.support, allows_single_node_partition=chance.random() < 0.5).partition_and_fuse()
            fused.recompile()
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(fused(X, -X), expected, strict=True)), seed)

    def test_support_by_table(self):
        traced = fx.symbolic_trace(Net())
        ShapeProp(traced).propagate(X)
        modules, nodes = dict(traced.named_modules()), {n.name: n for n in traced.graph.nodes}
        support = OperatorSupport({"torch.relu": (((torch.float32,),), {}), "torch.nn.modules.linear.Linear": (((torch.float64,),), {})})
        self.assertEqual([support.is_node_supported(modules, nodes[name]) for name in ("relu", "a", "mul")], [True, False, False])

    def test_pieces(self):
        traced = fx.symbolic_trace(lambda x: (x + 1).relu() + 2)
        x, add, relu, add_1, output = traced.graph.nodes
        self.assertTrue(validate_partition([add, relu]))
        self.assertRaises(AssertionError, fuse_as_graphmodule, traced, [add, add_1], "Bad")
        self.assertRaises(AssertionError, fuse_as_graphmodule, traced, [x, add], "Bad")
        x.append(add_1)
        legalize_graph(traced).graph.lint()


class Managers(unittest.TestCase):
    def test_order_and_results(self):
        class Sines(PassBase):
            def call(self, gm):
                for node in gm.graph.find_nodes(op="call_function", target=torch.cos):
                    node.target = torch.sin
                return PassResult(gm, True)

        def negatives(gm):
            for node in gm.graph.find_nodes(op="call_function", target=torch.sin):
                node.target = torch.neg
            return PassResult(gm, True)

        sines = Sines()
        manager = PassManager([negatives, sines], constraints=[this_before_that_pass_constraint(sines, negatives)])
        result = manager(fx.symbolic_trace(lambda x: torch.cos(x)))
        self.assertEqual((result.modified, calls(result.graph_module)), (True, ["neg"]))
        with self.assertRaisesRegex(Exception, "'nothing' pass"):

            def nothing(gm):
                pass

            PassManager([nothing])(fx.symbolic_trace(lambda x: x))
        circle = [this_before_that_pass_constraint(sines, negatives), this_before_that_pass_constraint(negatives, sines)]
        self.assertRaises(RuntimeError, PassManager([negatives, sines], constraints=circle).solve_constraints)

    def test_common_subexpressions(self):
        result = CSEPass()(fx.symbolic_trace(lambda x: torch.sin(x) * torch.sin(x) + torch.rand_like(x) * torch.rand_like(x)))
        self.assertEqual((result.modified, calls(result.graph_module).count("sin"), calls(result.graph_module).count("rand_like")), (True, 1, 2))

    def test_common_subexpressions_of_a_list_of_operators_stay(self):
        aten = torch.ops.aten
        for banned in ([aten.sin], [aten.sin.default]):
            traced = fx.symbolic_trace(lambda x: aten.sin.default(x) + aten.sin.default(x))
            self.assertFalse(CSEPass(banned_ops=banned)(traced).modified)

    def test_passes_in_a_circle_are_named(self):
        def first(gm):
            return gm

        def second(gm):
            return gm

        circle = [this_before_that_pass_constraint(first, second), this_before_that_pass_constraint(second, first)]
        with self.assertRaisesRegex(RuntimeError, "in a circle.*first.*second"):
            PassManager([first, second], constraints=circle).solve_constraints()

    def test_checks_of_exported_programs_are_no_dead_code(self):
        program = torch.export.export(nn.ReLU(), (X,)).module()
        self.assertTrue(all(n.is_impure() for n in program.graph.find_nodes(op="call_module", target="_guards_fn")))


class Forms(unittest.TestCase):
    def test_dtypes_are_numbers_of_schemas(self):
        self.assertTrue(type_matches(int, torch.dtype))
        self.assertFalse(type_matches(int, float))

    def test_arguments_of_functions(self):
        kinds = {"arg_types": (torch.Tensor, torch.Tensor), "kwarg_types": {"alpha": int}}
        found = normalize_function(torch.add, (X, X), {"alpha": 2}, normalize_to_only_use_kwargs=True, **kinds)
        self.assertEqual(list(found.kwargs), ["input", "other", "alpha"])
        with self.assertRaisesRegex(RuntimeError, "ambiguous"):
            normalize_function(torch.add, (X, X))
        self.assertEqual(normalize_function(torch.sum, (X, 1)).kwargs, {"keepdim": False, "dtype": None})
        self.assertEqual(normalize_function(torch.nn.functional.relu, (X,)).kwargs, {"inplace": False})
        for unknown in ((len, (X,)), (torch.add, (X,), {"bogus": 1})):
            self.assertIsNone(normalize_function(*unknown))
        self.assertEqual(list(normalize_module(nn.Sequential(nn.ReLU()), "0", (X,), normalize_to_only_use_kwargs=True).kwargs), ["input"])
        self.assertRaises(RuntimeError, normalize_module, nn.Sequential(), "0", (X,))
        self.assertRaises(RuntimeError, check_for_mutable_operation, torch.relu_, (X,), {})

    def test_graphs(self):
        traced = fx.symbolic_trace(lambda x: torch.add(nn.functional.max_pool2d(x, 2), 1))
        value = torch.arange(16.0).reshape(1, 1, 4, 4)
        for normal in (NormalizeArgs(traced).transform(), NormalizeOperators(traced).transform()):
            self.assertTrue(torch.equal(normal(value), traced(value)))
        self.assertIs([n for n in normal.graph.nodes if n.op == "call_function"][1].target, operator.add)


class Folding(unittest.TestCase):
    def test_normalisation_into_convolution(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(18, 2), nn.BatchNorm1d(2))
        model(torch.rand(8, 1, 5, 5))
        value = torch.rand(2, 1, 5, 5)
        self.assertRaises(NotImplementedError, fuse, model)
        model.eval()
        fused = fuse(model)
        self.assertEqual([type(m).__name__ for m in fused.children()], ["Conv2d", "ReLU", "Dropout", "Flatten", "Linear"])
        self.assertTrue(torch.allclose(fused(value), model(value), atol=1e-5))
        self.assertEqual(len(list(optimize_for_inference(model).children())), 4)
        self.assertEqual(len(list(model.children())), 7)

    def test_nodes_keep_their_notes(self):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))

            def forward(self, x):
                return x - (self.weight + self.weight)

        traced = fx.symbolic_trace(Module())
        for i, node in enumerate(traced.graph.nodes):
            node.meta["place"] = i
        folded = split_const_subgraphs(traced)
        self.assertEqual([n.meta["place"] for n in folded.graph.nodes if n.op != "output"], [0, 2, 3])

    def test_constants(self):
        class Constant(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))

            def forward(self, x):
                c = self.a + self.b
                return x * c, c.exp() * x + self.a

        model = Constant()
        folded = split_const_subgraphs(model)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(folded(X), model(X), strict=True)))
        self.assertNotIn("exp", calls(folded))
        self.assertTrue(torch.equal(split_const_subgraphs(fx.symbolic_trace(lambda x: x + 1))(X), X + 1))


if __name__ == "__main__":
    unittest.main()
