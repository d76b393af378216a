"""Exported programs that call modules, custom operators and fake tensors: unflattened trees, functional forms, files."""

import io
import unittest

from cresset.export import Dim, export, unflatten

import cresset as torch
from cresset import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x, twice):
        return self.inner(x) * (2 if twice else 1)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled()

    def forward(self, x):
        return self.scaled(x, True) + self.scaled(x, False) + self.scaled(x + 1, True)


class Unflattened(unittest.TestCase):
    def test_trees_are_traced_with_a_placeholder_for_each_leaf(self):
        class Nested(nn.Module):
            def forward(self, x, y):
                return x[0] + x[1] * y["k"]

        x = torch.ones(2)
        tree = unflatten(export(Nested(), ((x, x), {"k": x})))
        traced = torch.fx.symbolic_trace(tree, concrete_args=(torch.fx.PH,) * 3)
        self.assertEqual(traced(x, 2 * x, 3 * x).tolist(), [7, 7])

    def test_modules_of_two_names_are_listed_under_both(self):
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.again, self.last = self.first, nn.Linear(4, 4)

            def forward(self, x):
                return self.again(self.first(self.last(x)))

        program = export(Shared(), (torch.randn(2, 4),))
        self.assertEqual([entry.fqn for entry in program.module_call_graph], ["", "first", "again", "last"])
        self.assertEqual([path for path, _ in unflatten(program).named_modules(remove_duplicate=False)], ["", "first", "again", "last"])

    def test_attributes_by_their_path(self):
        from cresset.export.unflatten import _assign_attr, _AttrKind

        tree = nn.Module()
        tree.layer = nn.Linear(1, 1)
        _assign_attr(nn.Parameter(torch.ones(1)), tree, "layer.weight", _AttrKind.PARAMETER)
        _assign_attr(torch.zeros(1), tree, "new.inner.count", _AttrKind.BUFFER, persistent=False)
        _assign_attr(nn.ReLU(), tree, "new.last", _AttrKind.MODULE)
        self.assertEqual((tree.layer.weight.tolist(), [name for name, _ in tree.named_buffers()]), ([1], ["new.inner.count"]))
        self.assertEqual((sorted(tree.state_dict()), type(tree.new.last)), (["layer.bias", "layer.weight"], nn.ReLU))

    def test_calls_that_do_the_same_share_a_module(self):
        model, x = Outer(), torch.randn(2, 4)
        tree = unflatten(export(model, (x,)))
        self.assertEqual([n for n, _ in tree.named_modules()], ["", "scaled", "scaled.inner", "scaled@1"])
        self.assertEqual([n.target for n in tree.graph.nodes if n.op == "call_module"], ["scaled", "scaled@1", "scaled"])
        self.assertTrue(torch.equal(tree(x), model(x)))

    def test_each_call_keeps_its_signature(self):
        model, x = Outer(), torch.randn(2, 4)
        program = export(model, (x,), preserve_module_call_signature=("scaled",))
        entries = {e.fqn: e.signature for e in program.module_call_graph}
        self.assertEqual([a.value for a in (entries["scaled"].inputs[1], entries["scaled@1"].inputs[1], entries["scaled@2"].inputs[1])], [True, False, True])
        tree = unflatten(program)
        self.assertEqual(type(tree.scaled).__name__, "InterpreterModuleDispatcher")
        for _ in range(2):
            self.assertTrue(torch.equal(tree(x), model(x)))
        tree.set_submodule("scaled", model.scaled)
        self.assertTrue(torch.equal(tree(x), model(x)))

    def test_a_buffer_that_another_module_wrote(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = nn.Buffer(torch.zeros(1))

            def forward(self, x):
                return x + self.seen

        class Program(nn.Module):
            def __init__(self):
                super().__init__()
                self.counter = Counter()

            def forward(self, x):
                self.counter.seen.add_(1)
                return self.counter(x)

        program = export(Program(), (torch.zeros(1),), preserve_module_call_signature=("counter",))
        tree = unflatten(program)
        self.assertEqual([tree(torch.zeros(1)).item() for _ in range(2)], [1.0, 2.0])

    def test_functional_programs_keep_modules_signatures_and_lines(self):
        class State(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen, self.layer = nn.Buffer(torch.ones(1)), nn.Linear(1, 1)

            def forward(self, x, write):
                if write:
                    self.seen.add_(1)
                return self.layer(x) + self.seen

        class Program(nn.Module):
            def __init__(self):
                super().__init__()
                self.state = State()

            def forward(self, x):
                return self.state(self.state(x, True) + 1, False)

        model, x = Program(), torch.ones(1, 1)
        want = [model(x).item() for _ in range(2)]
        model.state.seen.fill_(1)
        program = export(model, (x,), preserve_module_call_signature=("state",)).run_decompositions()
        product = next(n for n in program.graph.nodes if "addmm" in n.name)
        self.assertEqual([path for path, _ in product.meta["nn_module_stack"].values()], ["", "state", "state.layer"])
        self.assertIn("return self.layer(x) + self.seen", product.meta["stack_trace"])
        self.assertEqual(product.meta["torch_fn"][0], "linear_1")
        names = {n.name for n in program.graph.nodes}
        for entry in program.module_call_graph[1:]:
            for argument in (*entry.signature.inputs, *entry.signature.outputs) if entry.signature else ():
                self.assertTrue(not argument.name or argument.name in names)
        tree = unflatten(program)
        self.assertEqual([tree(x).item() for _ in range(2)], want)

    def test_modules_get_containers_of_the_program(self):
        class Inner(nn.Module):
            def forward(self, pair, *, named):
                assert type(named) is dict and type(pair) is tuple
                return {"sum": pair[0] + named["x"], "difference": pair[1] - named["x"]}

        class Program(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x, y):
                made = self.inner((x, y), named={"x": y})
                return made["sum"] * made["difference"]

        x, y = torch.randn(3), torch.randn(3)
        tree = unflatten(export(Program(), (x, y), preserve_module_call_signature=("inner",)))
        self.assertTrue(torch.equal(tree(x, y), Program()(x, y)))
        tree.inner = Inner()
        self.assertTrue(torch.equal(tree(x, y), Program()(x, y)))
        self.assertTrue(all("val" in n.meta for n in tree.graph.nodes if n.op in ("placeholder", "call_module")))
        with self.assertRaisesRegex(TypeError, "flat_args_adapter"):
            tree((x, y))

    def test_what_is_noted_on_nodes_stays_in_a_second_export(self):
        program = export(nn.Linear(2, 2), (torch.ones(1, 2),))
        program.graph_module.meta["custom"] = {"made": "here"}
        call = next(n for n in program.graph.nodes if n.op == "call_function")
        call.meta["custom"] = {"tag": 1}
        again = export(program.module(), (torch.ones(1, 2),))
        second = next(n for n in again.graph.nodes if n.op == "call_function")
        self.assertEqual(again.graph_module.meta["custom"], {"made": "here"})
        self.assertEqual([n.name for n in again.graph.nodes if "custom" in n.meta], [second.name])
        for key in ("custom", "stack_trace", "nn_module_stack", "torch_fn"):
            self.assertEqual(second.meta[key], call.meta[key])

    def test_example_inputs_fit_the_program(self):
        class Program(nn.Module):
            def forward(self, a, *, x, y):
                return a + x - y

        one = torch.ones(1)
        program = export(Program(), (one,), {"y": one, "x": one})
        program.example_inputs = ((one,), {"x": one, "y": one})
        for wrong in ((one,), ((one,), {}), ((), {"x": one, "y": one}), ((one,), {"x": one, "y": (one,)})):
            with self.assertRaises(ValueError):
                program.example_inputs = wrong

    def test_the_check_of_arguments_stays_and_inputs_keep_their_order(self):
        module = export(nn.Linear(2, 2), (torch.ones(1, 2),)).module()
        self.assertEqual([n.name for n in module.graph.nodes][:4], ["weight", "bias", "input_1", "_guards_fn"])
        self.assertFalse(module.graph.eliminate_dead_code())


class FakeOnes(unittest.TestCase):
    def test_weights_and_arguments_of_another_mode(self):
        mode = torch._subclasses.fake_tensor.FakeTensorMode()
        with mode:
            large, x = nn.Linear(4, 3), torch.randn(2, 4)
        for model, argument in ((large, torch.randn(2, 4)), (nn.Linear(4, 3), x), (large, x)):
            program = export(model, (argument,), dynamic_shapes={"input": {0: Dim.DYNAMIC}})
            values = [n.meta["val"] for n in program.graph.nodes if n.op != "output"]
            self.assertEqual(len({id(v.fake_mode) for v in values}), 1)
            self.assertFalse(isinstance(values[2].shape[0], int))
        self.assertEqual(export(nn.Linear(4, 3), (x,)).module()(torch.ones(2, 4)).shape, (2, 3))


class Ranges(unittest.TestCase):
    def range_of(self, program, place):
        node = next(n for n in program.graph.nodes if n.name == place[0])
        return program.range_constraints[node.meta["val"].shape[place[1]].node.expr]

    def test_equal_examples_make_no_equal_sizes(self):
        for op in (lambda x, y: x - y, lambda x, y: torch.cat([x, y, x], 1), lambda x, y: torch.where(x > 0, x, y)):

            class Program(nn.Module):
                def forward(self, x, y):
                    return op(x, y)

            auto = (Dim.AUTO, Dim.AUTO)
            x = next(iter(export(Program(), (torch.ones(4, 4), torch.ones(4, 4)), dynamic_shapes={"x": auto, "y": auto}).graph.nodes))
            self.assertNotEqual(*[str(s) for s in x.meta["val"].shape])

    def test_a_named_dim_meets_an_automatic_one(self):
        class Program(nn.Module):
            def forward(self, x, y):
                return x - y

        shapes = {"x": (Dim.AUTO, Dim("d1", min=3)), "y": (Dim("d0", max=8), Dim.DYNAMIC)}
        program = export(Program(), (torch.ones(4, 4), torch.ones(4, 4)), dynamic_shapes=shapes)
        self.assertEqual([self.range_of(program, ("x", 0)).upper, self.range_of(program, ("x", 1)).lower], [8, 3])

    def test_one_name_for_two_ranges_is_refused(self):
        shapes = {"x": (Dim("d", min=3),), "y": (Dim("d", max=9),)}

        class Program(nn.Module):
            def forward(self, x, y):
                return x.sum() + y.sum()

        with self.assertRaisesRegex(torch._dynamo.exc.UserError, "the same name stands for"):
            export(Program(), (torch.ones(4), torch.ones(4)), dynamic_shapes=shapes)

    def test_no_more_can_be_selected_than_there_is(self):
        class Program(nn.Module):
            def forward(self, x):
                return x.masked_select(x > 0), x.nonzero()

        program = export(Program(), (torch.ones(3, 4, 5),), dynamic_shapes={"x": {0: Dim("a", max=100), 1: Dim("b", max=7)}})
        counts = [r.upper for s, r in program.range_constraints.items() if str(s).startswith("u")]
        self.assertEqual(counts, [3500, 3500])

    def test_a_fix_with_a_new_root_holds(self):
        class Program(nn.Module):
            def forward(self, x):
                return x.reshape(-1, 3) if x.shape[0] >= 9 else x

        shapes = ({0: Dim("d")},)
        with self.assertRaises(torch._dynamo.exc.UserError) as caught:
            export(Program(), (torch.ones(15),), dynamic_shapes=shapes)
        fixed = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(str(caught.exception), shapes)
        self.assertEqual((fixed[0][0].root.min, fixed[0][0].fn(2)), (3, 6))
        export(Program(), (torch.ones(15),), dynamic_shapes=fixed)


class Functions(unittest.TestCase):
    def test_a_root_that_is_no_size_itself(self):
        class Program(nn.Module):
            def forward(self, x, y):
                return y[: (x.size(0) - 3) // 2]

        size = 2 * Dim("half", max=100) + 3
        program = export(Program(), (torch.ones(11), torch.ones(11)), dynamic_shapes=((size,), (size,)))
        self.assertEqual([n.name for n in program.graph.nodes if n.op == "call_function"], ["sym_size_int_1", "sub", "floordiv", "slice_1"])
        self.assertEqual(program.module()(torch.ones(15), torch.arange(15.0)).tolist(), [0, 1, 2, 3, 4, 5])


class CustomOperators(unittest.TestCase):
    def setUp(self):
        self.lib = torch.library._scoped_library("calls_test", "DEF")
        lib = self.lib.__enter__()
        self.addCleanup(self.lib.__exit__, None, None, None)
        lib.define("add_both(Tensor(a!) x, Tensor(b!) y, float s=5.0) -> Tensor")
        lib.define("fill(Tensor x, Tensor(a!)[] outs) -> ()")
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("add_both", lambda x, y, s=5.0: x.add_(s) + y.add_(s), "CPU")
        lib.impl("fill", lambda x, outs: [o.copy_(x) for o in outs] and None, "CPU")
        lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
        torch.library.register_fake("calls_test::add_both", lambda x, y, s=5.0: torch.empty_like(x), lib=lib)
        torch.library.register_fake("calls_test::fill", lambda x, outs: None, lib=lib)

        class Program(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = nn.Buffer(torch.zeros(3))

            def forward(self, x):
                ops, y = torch.ops.calls_test, x.cos()
                outs = torch.zeros(2, 3)
                ops.fill(x, [outs[0], torch.empty_like(x)])
                return ops.add_both(y, self.seen), y, outs, ops.twice(x)

        self.program = Program

    def test_functional_programs_have_their_functional_forms(self):
        x = torch.tensor([1.0, 2.0, 3.0])
        want = self.program()(x)
        for table in ({}, None):
            program = export(self.program(), (x,)).run_decompositions(table)
            named = [n for n in program.graph.nodes if n.target is torch.ops.higher_order.auto_functionalized_v2]
            self.assertEqual([n.args[0].name() for n in named], ["calls_test::fill", "calls_test::add_both"])
            self.assertFalse(any(getattr(n.target, "_schema", None) is not None and n.target._schema.is_mutable for n in program.graph.nodes))
            self.assertEqual([s.target for s in program.graph_signature.output_specs][:1], ["seen"])
            for found, expected in zip(program.module()(x), want, strict=True):
                self.assertTrue(torch.equal(found, expected))

    def test_files_hold_them(self):
        x, file = torch.tensor([1.0, 2.0, 3.0]), io.BytesIO()
        torch.export.save(export(self.program(), (x,)).run_decompositions(), file)
        file.seek(0)
        for found, expected in zip(torch.export.load(file).module()(x), self.program()(x), strict=True):
            self.assertTrue(torch.equal(found, expected))

    def test_written_arguments_that_share_memory_are_refused(self):
        class Program(nn.Module):
            def forward(self, x):
                y = x.cos()
                return torch.ops.calls_test.add_both(y, y.view(3, 1).view(3)), y

        with self.assertRaisesRegex(NotImplementedError, "share memory"):
            export(Program(), (torch.ones(3),)).run_decompositions()

    def test_tables_know_composites_of_libraries(self):
        table, op = torch.export.default_decompositions(), torch.ops.calls_test.twice.default
        self.assertIn(op, table)
        table[op] = lambda x: x * 7
        program = export(self.program(), (torch.ones(3),)).run_decompositions(table)
        self.assertEqual(program.module()(torch.ones(3))[3].tolist(), [7.0] * 3)

    def test_tables_say_whether_they_were_listed(self):
        for ask in (lambda table: table.items(), lambda table: table.keys(), lambda table: table.materialize()):
            table = torch.export.default_decompositions()
            before = table.copy()
            self.assertFalse(table.has_materialized)
            self.assertEqual(len(ask(table)), len(before))
            self.assertEqual((table.has_materialized, table.copy().has_materialized, before.has_materialized), (True, True, False))

    def test_a_rule_of_shapes_stands_before_kernels(self):
        class Program(nn.Module):
            def forward(self, x):
                return torch.ops.calls_test.add_both(x, x + 1)

        program = export(Program(), (torch.ones(3),), dynamic_shapes={"x": {0: Dim.DYNAMIC}})
        self.assertEqual(program.module()(torch.ones(5)).shape, (5,))

    def test_a_composite_in_the_table_of_the_user(self):
        program = export(nn.Linear(2, 2), (torch.ones(1, 2),))
        table = torch.export.default_decompositions()
        table[torch.ops.aten.linear.default] = lambda x, weight, bias: x + bias
        self.assertEqual([str(n.target) for n in program.run_decompositions(table).graph.nodes if n.op == "call_function"], ["aten.add.Tensor"])

    def test_sums_over_everything_name_no_dimension(self):
        class Program(nn.Module):
            def forward(self, x):
                return x.sum()

        node = next(n for n in export(Program(), (torch.ones(2, 2),)).run_decompositions().graph.nodes if n.op == "call_function")
        self.assertEqual((str(node.target), node.args[1]), ("aten.sum.dim_IntList", []))


if __name__ == "__main__":
    unittest.main()
