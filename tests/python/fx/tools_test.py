"""Splitters, minimizers, drawings, sources of nodes, in-place operators, tracing with shapes, unification."""

import copy
import io
import operator
import shutil
import unittest
from contextlib import redirect_stdout

from cresset.fx.experimental import meta_tracer
from cresset.fx.experimental.unification import Var, reify, unify
from cresset.fx.passes import annotate_getitem_nodes, graph_drawer, net_min_base, param_fetch, reinplace, splitter_base
from cresset.fx.passes.graph_transform_observer import GraphTransformObserver
from cresset.fx.passes.operator_support import OperatorSupport
from cresset.fx.passes.shape_prop import ShapeProp
from cresset.fx.passes.split_module import split_module_simple
from cresset.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from cresset.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from cresset.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise

import cresset as torch
from cresset import fx, nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Splitters(unittest.TestCase):
    support = OperatorSupport({"torch.relu": None, "_operator.add": None})

    def split(self, function, *args, **settings):
        traced = fx.symbolic_trace(function)
        ShapeProp(traced).propagate(*args)
        splitter = splitter_base._SplitterBase(traced, args, self.support, splitter_base._SplitterSettingBase(**settings))
        return splitter, splitter()

    def test_parts(self):
        def f(x):
            return torch.relu(x + 1).sin() + torch.relu(x)

        _, split = self.split(f, X)
        self.assertEqual([name for name, _ in split.named_children()], ["_run_on_acc_0", "_run_on_cpu_1", "_run_on_acc_2"])
        self.assertTrue(torch.equal(split(X), f(X)))
        splitter, split = self.split(f, X, min_acc_module_size=2)
        self.assertTrue(torch.equal(split(X), f(X)))
        self.assertEqual([name for name, _ in split.named_children()], ["_run_on_acc_0", "_run_on_cpu_1"])
        self.assertEqual(splitter.get_node_submodule_map()["relu"], "_run_on_acc_0")
        with self.assertRaisesRegex(ValueError, "2 parts"):
            self.split(f, X, max_acc_splits=1)

    def test_values_that_are_no_tensors_stay_on_the_host(self):
        def f(x):
            return torch.relu(x).reshape(x.size()[0] + 1 - 1, -1)

        _, split = self.split(f, X)
        self.assertTrue(torch.equal(split(X), f(X)))

    def test_values_that_are_no_tensors_go_where_they_are_used(self):
        def f(x):
            return torch.relu(x).reshape(x.size(1) * 2, -1)

        support = OperatorSupport({"torch.relu": None, "size": None, "_operator.mul": None})
        traced = fx.symbolic_trace(f)
        ShapeProp(traced).propagate(X)
        parts = {}
        for move in (False, True):
            for node in traced.graph.nodes:
                vars(node).pop("tag", None)
            settings = splitter_base._SplitterSettingBase(allow_non_tensor=True, skip_fusion=True, move_non_tensor_nodes_on_boundary=move)
            splitter = splitter_base._SplitterBase(traced, (X,), support, settings)
            self.assertTrue(torch.equal(splitter()(X), f(X)))
            parts[move] = splitter.get_node_submodule_map()
        self.assertEqual({parts[False][name] for name in ("size", "mul", "relu")}, {"_run_on_acc_0"})
        self.assertEqual((parts[True]["size"], parts[True]["mul"], parts[True]["relu"]), (parts[True]["reshape"],) * 2 + ("_run_on_acc_0",))

    def test_parts_by_a_table(self):
        traced = fx.symbolic_trace(lambda x: torch.relu(x + 1).sum())
        numbers = {node: i // 2 for i, node in enumerate(n for n in traced.graph.nodes if n.op.startswith("call"))}
        split = split_module_simple(traced, numbers, partition_affix="a")
        self.assertEqual([name for name, _ in split.named_children()], ["submod_a_0", "submod_a_1"])
        self.assertEqual(split(X), traced(X))

    def test_inputs_of_parts(self):
        _, split = self.split(lambda x: torch.relu(x).sin(), X)
        found = splitter_base.generate_inputs_for_submodules(split, (X,), ["_run_on_cpu_1"])
        self.assertTrue(torch.equal(found["_run_on_cpu_1"][0], X.relu()))


class Minimizer(net_min_base._MinimizerBase):
    def run_a(self, mod, inputs, report_idx=-1):
        return mod(*inputs)

    def run_b(self, mod, inputs, report_idx=-1):
        changed = copy.deepcopy(mod)
        for node in changed.graph.nodes:
            if node.target is torch.sigmoid:
                node.target = torch.tanh
        changed.recompile()
        return changed(*inputs)


class Minimizers(unittest.TestCase):
    def test_each_method_finds_the_node(self):
        traced = fx.symbolic_trace(lambda x: torch.relu(torch.sigmoid(torch.neg(torch.sin(x) + 1)) * 2))
        for method in ("sequential", "binary", "accumulate", "block"):
            settings = net_min_base._MinimizerSettingBase(traverse_method=method)
            search = Minimizer(traced, (X,), lambda a, b, names: (float((a - b).abs().max()), torch.equal(a, b)), settings)
            self.assertEqual([n.name for n in search.minimize()], ["sigmoid"], method)
        settings = net_min_base._MinimizerSettingBase(traverse_method="random")
        with self.assertRaisesRegex(RuntimeError, "random"):
            Minimizer(traced, (X,), lambda a, b, names: (0, True), settings).minimize()


class Drawings(unittest.TestCase):
    def test_text(self):
        traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
        ShapeProp(traced).propagate(X)
        text = graph_drawer.FxGraphDrawer(traced, 'a "net"').get_dot_graph().to_string()
        self.assertTrue(text.startswith('digraph "a \\"net\\"" {'))
        for part in ('"input_1" -> "_0";', "weight: [2, 3]", "shape=(2, 2)", 'fillcolor="AliceBlue"'):
            self.assertIn(part, text)

    def test_pictures_need_graphviz(self):
        drawing = graph_drawer.FxGraphDrawer(fx.symbolic_trace(lambda x: x + 1), "net").get_dot_graph()
        if shutil.which("dot"):
            self.assertIn(b"<svg", drawing.create_svg())
        else:
            with self.assertRaisesRegex(RuntimeError, "Graphviz"):
                drawing.create_svg()


class Facts(unittest.TestCase):
    def test_sources(self):
        graph = fx.symbolic_trace(lambda x: (x + 1).relu().neg()).graph
        x, add, relu, neg, _ = graph.nodes
        add.meta["source_fn_stack"] = relu.meta["source_fn_stack"] = [("first", nn.Linear)]
        neg.meta["source_fn_stack"] = [("second", torch.neg)]
        found = get_source_partitions(graph, [nn.Linear, torch.neg])
        self.assertEqual((found[nn.Linear][0].input_nodes, found[nn.Linear][0].output_nodes), ([x], [relu]))
        self.assertTrue(check_subgraphs_connected(found[nn.Linear][0], found[torch.neg][0]))
        self.assertEqual(get_source_partitions(graph, [nn.Linear], lambda node: node is add), {})

    def test_named_nodes_of_patterns(self):
        def pattern(a):
            b = torch.relu(a)
            return b.neg(), {"act": b}

        matches = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern)).match(fx.symbolic_trace(lambda x: torch.relu(x + 1).neg()).graph)
        self.assertEqual([m.name_node_map["act"].name for m in matches], ["relu"])

    def test_items_and_layers(self):
        def f(pair: tuple[int, str]):
            return pair[1]

        graph = fx.symbolic_trace(f).graph
        annotate_getitem_nodes.annotate_getitem_nodes(graph)
        self.assertIs(list(graph.nodes)[1].type, str)
        self.assertEqual(param_fetch.extract_attrs_for_lowering(nn.Conv2d(1, 2, 3))["kernel_size"], (3, 3))
        self.assertRaises(RuntimeError, param_fetch.extract_attrs_for_lowering, nn.Tanh())

    def test_observer(self):
        traced = fx.symbolic_trace(lambda x: x.relu())
        with GraphTransformObserver(traced, "mine") as observer:
            fx.replace_pattern(traced, lambda v: v.relu(), lambda v: v.exp())
        self.assertEqual((observer.created_nodes, observer.erased_nodes), ({"exp"}, {"relu"}))

    def test_readable_partition_of_support(self):
        traced = fx.symbolic_trace(lambda x: torch.relu(x).sin())
        splitter = splitter_base._SplitterBase(traced, (X,), Splitters.support, splitter_base._SplitterSettingBase())
        with redirect_stdout(io.StringIO()):
            self.assertIn("torch.relu: 1", splitter.node_support_preview())
            self.assertIn("_run_on_acc_0: 1 node(s)", splitter.split_preview())

    def test_types_of_tensors(self):
        self.assertTrue(is_consistent(TensorType((1, Dyn)), TensorType((1, 2))))
        self.assertTrue(is_more_precise(TensorType((1, 2)), TensorType((1, Dyn))))
        self.assertFalse(is_consistent(TensorType((1,)), TensorType((1, 2))))
        self.assertFalse(is_more_precise(Dyn, TensorType((1,))))


class InPlace(unittest.TestCase):
    def check(self, function, expected, *args):
        traced = fx.symbolic_trace(function)
        before = [a.clone() for a in args]
        wanted = function(*before)
        made = reinplace.reinplace(traced, *[a.clone() for a in args])
        self.assertEqual([str(n.target).removeprefix("aten.") for n in made.graph.nodes if n.op == "call_function"], expected)
        got = made(*args)
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, wanted)), strict=True):
            self.assertTrue(torch.equal(one, other))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(args, before, strict=True)))

    def test_memory_that_is_copied_later_stays(self):
        aten = torch.ops.aten

        def function(x):
            y = aten.add.Tensor(x, 1)
            z = aten.add.Tensor(y, y)
            aten.copy_.default(x, y)
            return z

        traced, x = fx.symbolic_trace(function), torch.ones(2)
        made = reinplace.reinplace(traced, torch.ones(2))
        self.assertEqual((made(x).tolist(), x.tolist()), ([4.0, 4.0], [2.0, 2.0]))

    def test_memory_that_is_free_is_used(self):
        aten = torch.ops.aten
        self.check(lambda x: aten.add.Tensor(aten.mul.Tensor(x, x), x), ["mul.Tensor", "add_.Tensor"], X)
        self.check(lambda x: aten.relu.default(x), ["relu.default"], X)

        def views(x):
            y = aten.mul.Tensor(x, x)
            z = aten.t.default(y)
            return aten.add.Tensor(y, 1), z

        self.check(views, ["mul.Tensor", "t.default", "add.Tensor"], X)

        def later(x):
            y = aten.mul.Tensor(x, x)
            return aten.add.Tensor(aten.neg.default(y), y)

        self.check(later, ["mul.Tensor", "neg.default", "add_.Tensor"], X)

    def test_scatters_become_copies_into_views(self):
        aten = torch.ops.aten

        def put(x):
            return aten.select_scatter.default(aten.mul.Tensor(x, x), aten.neg.default(x).select(0, 1), 0, 0)

        self.check(put, ["mul.Tensor", "neg.default", "select.int", "copy_.default"], X)

        def there_already(x):
            y = aten.mul.Tensor(x, x)
            return aten.select_scatter.default(y, aten.add.Tensor(aten.select.int(y, 0, 1), 1), 0, 1)

        self.check(there_already, ["mul.Tensor", "select.int", "add_.Tensor"], X)

        def elsewhere(x):
            y = aten.mul.Tensor(x, x)
            return aten.select_scatter.default(y, aten.select.int(y, 0, 1), 0, 0)

        self.check(elsewhere, ["mul.Tensor", "select.int", "select_scatter.default"], X)

    def test_memory_that_is_read_or_overlaps_stays(self):
        aten = torch.ops.aten

        def transposed(x):
            y = aten.mul.Tensor(x, x)
            return aten.add.Tensor(y, aten.t.default(y))

        self.check(transposed, ["mul.Tensor", "t.default", "add.Tensor"], X[:, :2])
        windows = lambda x: aten.add.Tensor(aten.as_strided.default(aten.mul.Tensor(x, x), [2, 2], [1, 1]), 1)  # noqa: E731
        self.check(windows, ["mul.Tensor", "as_strided.default", "add.Tensor"], X)

        def same(x):
            y = aten.mul.Tensor(x, x)
            return aten.add.Tensor(y, aten.view.default(y, [2, 3]))

        self.check(same, ["mul.Tensor", "view.default", "add_.Tensor"], X)


class MetaTracing(unittest.TestCase):
    def test_shapes_decide(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.weight = nn.Linear(3, 4), nn.Parameter(torch.ones(4))

            def forward(self, x):
                y = self.layer(x) * self.weight
                if y.shape[-1] == 4 and y.dim() == 2 and y.dtype == torch.float32 and len(y) == 2:
                    return y.reshape(y.size(0) * y.size(1))
                return x

        net = Net()
        traced = meta_tracer.symbolic_trace(net, {"x": X})
        self.assertTrue(torch.equal(traced(X), net(X)))
        self.assertEqual(tuple(traced(X).shape), (8,))
        with self.assertRaises(fx.proxy.TraceError):
            meta_tracer.symbolic_trace(lambda x: x if x.sum() > 0 else -x, {"x": X})


class Unification(unittest.TestCase):
    def test_terms(self):
        x, y = Var("x"), Var("y")
        self.assertEqual(unify((1, x, [y]), (1, 2, [x])), {x: 2, y: 2})
        self.assertIs(unify((x, x), (1, 2)), False)
        self.assertIs(unify((1,), (1, 2)), False)
        self.assertEqual(reify({"a": (x, slice(y, None))}, {x: 1, y: x}), {"a": (1, slice(1, None))})
        self.assertEqual(operator.truth(unify(1, 1)), False)  # no variable has a value: an empty dictionary


if __name__ == "__main__":
    unittest.main()
