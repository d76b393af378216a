"""Exported programs: their graphs and signatures, their modules, the trees of modules that they were."""

import unittest
import warnings

from cresset.export import Dim, draft_export, export

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def targets(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Graphs(unittest.TestCase):
    def test_weights_are_inputs_and_composites_stay_whole(self):
        program = export(mlp(), (X,))
        self.assertEqual([n.name for n in program.graph.nodes][:5], ["p_0_weight", "p_0_bias", "p_2_weight", "p_2_bias", "input"])
        self.assertEqual(targets(program), ["aten.linear.default", "aten.relu.default", "aten.linear.default"])

    def test_nodes_know_the_modules_that_they_ran_in(self):
        program = export(mlp(), (X,))
        paths = [list(n.meta["nn_module_stack"].values())[-1] for n in program.graph.nodes if n.op == "call_function"]
        self.assertEqual([path for path, _ in paths], ["0", "1", "2"])
        self.assertEqual(paths[0][1], "torch.nn.modules.linear.Linear")

    def test_results_equal_the_module(self):
        module = mlp()
        torch.testing.assert_close(export(module, (X,)).module()(X), module(X), rtol=0, atol=0)

    def test_tensors_from_elsewhere_are_constants(self):
        held = torch.ones(3)
        program = export(Function(lambda x: x + held + torch.tensor([1.0, 2.0, 3.0])), (X,))
        self.assertEqual(program.graph_signature.lifted_tensor_constants, ("lifted_tensor_0", "lifted_tensor_1"))
        torch.testing.assert_close(program.module()(X), X + 1 + torch.tensor([1.0, 2.0, 3.0]))

    def test_buffers_are_written(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("n", torch.zeros(1))

            def forward(self, x):
                self.n.add_(1)
                return x + self.n

        module = export(Counter(), (X,)).module()
        module(X)
        self.assertEqual(module(X)[0, 0].item(), 1.0)
        self.assertEqual(module.n.item(), 2.0)

    def test_stretches_without_gradients_are_graphs_of_their_own(self):
        def f(x):
            with torch.no_grad():
                y = x.sin()
            return y + x

        program = export(Function(f), (X,))
        self.assertEqual(targets(program)[0], "wrap_with_set_grad_enabled")
        x = X.clone().requires_grad_()
        program.module()(x).sum().backward()
        torch.testing.assert_close(x.grad, torch.ones(2, 3))

    def test_stretches_under_autocast_are_graphs_of_their_own(self):
        def f(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x.t()
            return y + 1

        program = export(Function(f), (X,))
        self.assertEqual(targets(program)[0], "wrap_with_autocast")
        torch.testing.assert_close(program.module()(X), f(X), rtol=0, atol=0)

    def test_a_branch_on_data_is_refused_with_its_line(self):
        from cresset.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

        with self.assertRaisesRegex(GuardOnDataDependentSymNode, r"export_test.py.*[Tt]wo ways out"):
            export(Function(lambda x: x if x.sum() > 0 else -x), (X,))


class Calls(unittest.TestCase):
    def test_other_sizes_are_refused(self):
        with self.assertRaisesRegex(AssertionError, r"input.size\(\)\[0\] == 2, got 3"):
            export(mlp(), (X,)).module()(torch.ones(3, 3))

    def test_other_nesting_is_refused(self):
        module = export(Function(lambda d: d["a"] + d["b"]), ({"a": X, "b": X},)).module()
        with self.assertRaisesRegex(ValueError, "nested as"):
            module({"a": X})
        torch.testing.assert_close(module({"b": X, "a": 2 * X}), 3 * X)

    def test_constants_are_part_of_the_program(self):
        module = export(Function(lambda x, n: x * n), (X, 3)).module()
        with self.assertRaisesRegex(AssertionError, "args_1 == 3, got 4"):
            module(X, 4)

    def test_the_mode_cannot_change(self):
        with self.assertRaises(NotImplementedError):
            export(mlp(), (X,)).module().eval()

    def test_what_is_no_module_is_refused(self):
        with self.assertRaisesRegex(ValueError, "expected an nn.Module"):
            export(lambda x: x, (X,))


class Trees(unittest.TestCase):
    def test_modules_come_back(self):
        module = mlp()
        tree = torch.export.unflatten(export(module, (X,)))
        torch.testing.assert_close(tree(X), module(X))
        setattr(tree, "1", nn.Sigmoid())
        torch.testing.assert_close(tree(X), module[2](module[0](X).sigmoid()))

    def test_calls_keep_their_signature(self):
        class Inner(nn.Module):
            def forward(self, x, *, k):
                return x * k, {"y": x + 1}

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                a, d = self.inner(x, k=2.0)
                return a + d["y"]

        tree = torch.export.unflatten(export(Outer(), (X,), preserve_module_call_signature=("inner",)))
        torch.testing.assert_close(tree(X), 3 * X + 1)
        torch.testing.assert_close(tree.inner(X, k=2.0)[1]["y"], X + 1)


class Dims(unittest.TestCase):
    def test_dims_are_linear_functions(self):
        self.assertEqual(str(2 * Dim("b") + 1), "2*b + 1")
        with self.assertRaisesRegex(NotImplementedError, "increasing linear"):
            Dim("b") * -1

    def test_bounds_that_contradict_each_other_are_refused(self):
        with self.assertRaisesRegex(AssertionError, "min=5, max=2"):
            Dim("b", min=5, max=2)


class Sizes(unittest.TestCase):
    def test_a_dim_may_have_any_size(self):
        program = export(mlp(), (X,), dynamic_shapes=({0: Dim("b")},))
        self.assertEqual(program.module()(torch.ones(7, 3)).shape, (7, 2))
        with self.assertRaisesRegex(AssertionError, "Guard failed"):
            program.module()(torch.ones(7, 4))

    def test_ranges_are_checked(self):
        module = export(nn.ReLU(), (X,), dynamic_shapes=({0: Dim("b", min=2, max=8)},)).module()
        with self.assertRaisesRegex(AssertionError, "got 9"):
            module(torch.ones(9, 3))

    def test_equal_and_derived_dims_are_checked(self):
        b = Dim("b")
        module = export(Pair(lambda x, y: x + y[1:]), (X, torch.ones(3, 3)), dynamic_shapes=({0: b}, {0: b + 1})).module()
        self.assertEqual(module(torch.ones(4, 3), torch.ones(5, 3)).shape, (4, 3))
        with self.assertRaisesRegex(AssertionError, "expected 5, got 6"):
            module(torch.ones(4, 3), torch.ones(6, 3))

    def test_ranges_of_derived_dims_are_part_of_the_program(self):
        d = Dim("d", min=2, max=10)
        program = export(Pair(lambda x, y: x + y[1:]), (X, torch.ones(3, 3)), dynamic_shapes=({0: d}, {0: d + 1}))
        self.assertEqual({str(k): (r.lower, r.upper) for k, r in program.range_constraints.items()}, {"s77": (2, 10), "s77 + 1": (3, 11)})

    def test_arithmetic_of_sizes_is_in_the_graph(self):
        program = export(Pair(lambda x, y: x.reshape(x.shape[0] * x.shape[1]) + y), (X, torch.ones(1)), dynamic_shapes=({0: Dim("a"), 1: Dim("c")}, None))
        self.assertEqual(program.module()(torch.ones(4, 5), torch.ones(1)).shape, (20,))

    def test_a_program_that_fixes_a_dim_suggests_how_to_say_so(self):
        with self.assertRaisesRegex(RuntimeError, r"(?s)makes it 2.*Suggested fixes:\n  b = 2"):
            export(Pair(lambda x, y: x.reshape(2, 3) + y), (X, X), dynamic_shapes=({0: Dim("b")}, None))

    def test_detached_tensors_are_aliases_of_decomposed_programs(self):
        def calls(program):
            return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]

        class Detached(nn.Module):
            def forward(self, x):
                return x.detach(), x.detach() * 2

        class Written(nn.Module):
            def forward(self, x):
                y = x.clone()
                y.detach().add_(1)
                return y * 2

        program = export(Detached(), (torch.ones(2),)).run_decompositions()
        self.assertEqual(calls(program), ["aten.alias.default", "aten.alias.default", "aten.mul.Tensor"])
        self.assertEqual([t.tolist() for t in program.module()(torch.tensor([3.0, 4.0]))], [[3, 4], [6, 8]])
        self.assertEqual(export(Written(), (torch.ones(2),)).run_decompositions().module()(torch.ones(2)).tolist(), [4, 4])

    def test_numbers_written_into_a_copy_stay_when_it_is_taken_apart(self):
        class Written(nn.Module):
            def forward(self, x):
                y = x.clone()
                y[0] = 5.0
                return y

        program = export(Written(), (torch.ones(2),))
        for taken_apart in (program.run_decompositions({}), program.run_decompositions()):
            self.assertEqual(taken_apart.module()(torch.ones(2)).tolist(), [5, 1])

    def test_a_branch_on_a_size_narrows_its_range(self):
        def f(x, y):
            return x + y if x.shape[0] > 4 else x - y

        with self.assertRaisesRegex(RuntimeError, r"Dim\('b', min=5\)"):
            export(Pair(f), (torch.ones(6, 3), torch.ones(1)), dynamic_shapes=({0: Dim("b")}, None))

    def test_relations_between_dims_are_told_with_a_fix(self):
        a, b = Dim("a"), Dim("b")
        for function, sizes, fix in (
            (lambda x, y: x + y, (5, 5), "b = a"),
            (lambda x, y: x + y[1:], (5, 6), r"b = a \+ 1"),
            (lambda x, y: x.reshape(4, -1) + y.sum(), (8, 3), r"a = 4\*_a"),
            (lambda x, y: x.repeat(3).reshape(2, -1) + y.sum(), (6, 3), r"a = 2\*_a"),
        ):
            examples = tuple(torch.ones(n) for n in sizes)
            with self.assertRaisesRegex(RuntimeError, f"Suggested fixes:\n  {fix}\n"):
                export(Pair(function), examples, dynamic_shapes=({0: a}, {0: b}))
        x = torch.ones(5)
        export(Pair(lambda x, y: x + y), (x, torch.ones(5)), dynamic_shapes=({0: a}, {0: a}))
        export(Pair(lambda x, y: x + y), (x, x), dynamic_shapes=({0: a}, {0: b}))

    def test_a_draft_goes_on_where_the_data_decides_and_reports_it(self):
        def f(x, k):
            y = x + 1 if x.sum() > 0 else x - 1
            return y[: int(k.item())]

        x = torch.ones(5, 3)
        with self.assertWarnsRegex(UserWarning, "2 assumptions"):
            program = draft_export(Pair(f), (x, torch.tensor(3)))
        report = program._report
        self.assertEqual(([f.failure_type.name for f in report.failures], report.successful()), (["DATA_DEPENDENT_ERROR"] * 2, False))
        self.assertTrue(torch.equal(program.module()(x, torch.tensor(3)), f(x, torch.tensor(3))))
        for other in ((-x, torch.tensor(3)), (x, torch.tensor(4))):
            with self.assertRaisesRegex(RuntimeError, "expected (u|Eq)|expression (u|Eq)"):
                program.module()(*other)
        self.assertTrue(draft_export(Pair(lambda x, y: x + y), (x, x))._report.successful())

    def test_a_draft_takes_a_truth_value_of_the_data_either_way(self):
        for function in (lambda x: x + 1 if x.sum() > 0 else x - 1, lambda x: x + 1 if (x > 0).all() else x, lambda x: x if not bool((x > 0).any()) else -x):
            for x in (torch.ones(3), -torch.ones(3)):
                with self.assertWarnsRegex(UserWarning, "1 assumption"):
                    program = draft_export(Function(function), (x,))
                self.assertTrue(torch.equal(program.module()(x), function(x)))
                with self.assertRaisesRegex(RuntimeError, "relies on (Ne|Eq)|expected Eq"):
                    program.module()(-x)

    def test_a_draft_goes_on_where_an_operator_has_no_kernel_for_fake_tensors(self):
        with torch.library._scoped_library("drafted", "DEF") as lib:
            lib.define("half(Tensor x) -> Tensor")
            lib.impl("half", lambda x: x[: x.shape[0] // 2] * 2, "CPU")
            function = Function(lambda x: torch.ops.drafted.half(x + 1) * 3)
            with self.assertRaises(RuntimeError):
                export(function, (torch.ones(4),))
            with self.assertWarnsRegex(UserWarning, "1 assumption"):
                program = draft_export(function, (torch.ones(4),))
            self.assertEqual([f.failure_type.name for f in program._report.failures], ["MISSING_FAKE_KERNEL"])
            self.assertEqual(program.module()(torch.ones(4)).tolist(), [12, 12])

    def test_a_draft_finds_a_kernel_for_fake_tensors_that_is_wrong(self):
        with torch.library._scoped_library("drafted", "DEF") as lib:
            for name, kernel in (("right", lambda x: torch.empty_like(x, dtype=torch.double)), ("wrong", torch.empty_like)):
                lib.define(f"{name}(Tensor x) -> Tensor")
                lib.impl(name, lambda x: x.double(), "CPU")
                lib.impl(name, kernel, "Meta")
            program = draft_export(Function(torch.ops.drafted.right), (torch.ones(4),))
            self.assertTrue(program._report.successful())
            with self.assertWarnsRegex(UserWarning, "1 assumption"):
                program = draft_export(Function(torch.ops.drafted.wrong), (torch.ones(4),))
            self.assertEqual([f.failure_type.name for f in program._report.failures], ["MISMATCHED_FAKE_KERNEL"])
            self.assertEqual(program.module()(torch.ones(4)).dtype, torch.double)

    def test_a_draft_knows_the_lengths_that_the_data_gives(self):
        def f(x):
            found = x[x > 0]
            return found.sum() * x.nonzero().shape[0] if found.shape[0] > 3 else x.sum()

        x = torch.linspace(-1, 1, 12).reshape(4, 3)
        with self.assertWarnsRegex(UserWarning, "1 assumption"):
            program = draft_export(Function(f), (x,))
        self.assertEqual(program._report.failures[0].data["assumed"], "u0 > 3")
        for other in (x, x + 5):
            self.assertTrue(torch.equal(program.module()(other), f(other)))
        with self.assertRaisesRegex(RuntimeError, "relies on u0 >= 4"):
            program.module()(-x - 5)

    def test_operators_that_a_table_leaves_out_stay_whole(self):
        program = export(Pair(lambda x, y: torch.einsum("ij,kj->ik", nn.functional.linear(x, y), x).reshape(-1)), (torch.ones(2, 3), torch.ones(3, 3)))
        names = lambda p: [str(n.target) for n in p.graph.nodes if n.op == "call_function"]  # noqa: E731
        self.assertEqual(names(program.run_decompositions({})), ["aten.linear.default", "aten.einsum.default", "aten.view.default"])
        self.assertNotIn("aten.linear.default", names(program.run_decompositions()))

    def test_numbers_from_data_are_checked_when_the_program_runs(self):
        def f(n, x):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k <= 4)
            return torch.zeros(k, 3).sum() + x

        module = export(Pair(f), (torch.tensor(2), X)).module()
        torch.testing.assert_close(module(torch.tensor(3), X), X)
        with self.assertRaisesRegex(RuntimeError, "u0 <= 4"):
            module(torch.tensor(9), X)

    def test_shapes_that_do_not_fit_the_arguments_are_refused(self):
        with self.assertRaisesRegex(RuntimeError, r"names of the arguments, \['x', 'y'\], got \['z'\]"):
            export(Pair(lambda x, y: x + y), (X, X), dynamic_shapes={"z": None})


class Decomposed(unittest.TestCase):
    def test_writes_become_outputs(self):
        module = nn.BatchNorm1d(3)
        program = export(module, (X,)).run_decompositions()
        self.assertEqual(sorted(program.graph_signature.buffers_to_mutate.values()), ["num_batches_tracked", "running_mean", "running_var"])
        run = program.module()
        expected = module(X)
        torch.testing.assert_close(run(X), expected)
        torch.testing.assert_close(run.running_mean, module.running_mean)

    def test_a_table_replaces_operators(self):
        def silu(x):
            return x * torch.sigmoid(x)

        program = export(nn.SiLU(), (X,))
        self.assertEqual(targets(program.run_decompositions({})), ["aten.silu.default"])
        self.assertEqual(targets(program.run_decompositions({torch.ops.aten.silu.default: silu})), ["aten.sigmoid.default", "aten.mul.Tensor"])

    def test_results_keep_their_dtypes(self):
        kinds = (torch.bool, torch.int32, torch.float16, torch.float64)
        function = Function(lambda x: tuple(f(x.to(kind)) for kind in kinds for f in (torch.tril, lambda y: y.triu(1))))
        for program in (export(function, (X,)).run_decompositions(), export(function, (X,)).run_decompositions({})):
            for a, b in zip(program.module()(X), function(X), strict=True):
                self.assertEqual(a.dtype, b.dtype)
                self.assertTrue(torch.equal(a, b))

    def test_composites_have_the_parts_that_pytorch_gives_them(self):
        """By name of the operator, in order; factors of 1 are left out, and tensors that fit each other already are not expanded."""
        functional = nn.functional
        parts = {
            "exp log1p gt where": functional.softplus,
            "mul gt exp log1p div where": lambda x: functional.softplus(x, beta=2),
            "full abs ge sub where where sub mul add": lambda x: x.lerp(W, 0.3),
            "abs ge sub where where sub mul add": lambda x: x.lerp(W, W),
            "mul mul add": lambda x: torch.addcmul(x, x, W, value=3),
            "sub abs lt mul mul sub mul where mean": lambda x: functional.huber_loss(x, W),
            "slice expand sub abs lt mul mul sub mul where sum": lambda x: functional.huber_loss(x, W[:1], reduction="sum", delta=0.3),
        }
        x, W = torch.linspace(-2, 25, 6).reshape(2, 3), torch.linspace(1, 0, 6).reshape(2, 3)  # noqa: N806
        for names, function in parts.items():
            with self.subTest(names), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a target of another shape
                program = export(Function(function), (x,)).run_decompositions()
                targets = [n.target.__name__.split(".")[0] for n in program.graph.nodes if n.op == "call_function"]
                self.assertEqual(sorted(targets), sorted(names.split()))
                torch.testing.assert_close(program.module()(x), function(x))
        for weight in (0.0, 1.0):
            program = export(Function(lambda x, weight=weight: x.lerp(W, weight)), (x,)).run_decompositions()
            self.assertTrue(torch.equal(program.module()(x), W if weight else x))

    def test_sums_within_bodies_keep_their_form(self):
        program = export(nn.RMSNorm(3), (X,)).run_decompositions()
        self.assertIn("aten.add.Scalar", targets(program))
        self.assertNotIn("aten.add.Tensor", targets(program))

    def test_branches_keep_their_graphs(self):
        function = Function(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,)))
        run = export(function, (X,)).run_decompositions().module()
        for x in (X + 1, X - 1):
            torch.testing.assert_close(run(x), function(x))


class Pair(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


class Parts(unittest.TestCase):
    """Parts of tables, as long as an argument."""

    def check(self, module, dims, *sizes):
        dims = {d: torch.export.Dim(f"d{d}", min=2, max=most) for d, most in dims.items()}
        program = torch.export.export(module, (torch.randn(sizes[0]),), dynamic_shapes=(dims,))
        for size in sizes:
            x = torch.randn(size)
            torch.testing.assert_close(program.module()(x), module(x), rtol=0, atol=0)
        return program

    def test_positions_of_a_buffer(self):
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Buffer(torch.randn(1, 16, 4))

            def forward(self, x):
                return x + self.table[:, : x.size(1)]

        program = self.check(Positions(), {1: 16}, (2, 3, 4), (2, 9, 4), (2, 16, 4))
        self.assertIn("slice", str(program.graph))
        with self.assertRaises(AssertionError):
            program.module()(torch.randn(2, 17, 4))

    def test_a_triangle_of_a_mask(self):
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.mask = nn.Buffer(torch.ones(32, 32).tril().bool())

            def forward(self, x):
                n = x.shape[1]
                return (x @ x.mT).masked_fill(~self.mask[:n, :n], float("-inf")).softmax(-1)

        self.check(Masked(), {0: 8, 1: 32}, (2, 3, 4), (5, 7, 4), (8, 32, 4))

    def test_a_triangle_of_bools_stays_one(self):
        x = torch.ones(3, 3, dtype=torch.bool)
        triangle = export(Function(lambda x: x.tril()), (x,)).run_decompositions().module()(x)
        self.assertEqual((triangle.dtype, triangle.tolist()), (torch.bool, x.tril().tolist()))

    def test_lists_as_indices_are_constants_with_their_numbers(self):
        def f(x):
            return x[:, [0, 2]], x[[1, 0], [0, 2]], x[[True, False]], x[:, [[0], [1]]]

        program = export(Pair(lambda x, y: f(x)), (X, X))
        for a, b in zip(program.module()(X, X), f(X), strict=True):
            self.assertIs(type(a), torch.Tensor)
            self.assertTrue(torch.equal(a, b))
        self.assertEqual([tuple(c.tolist()) for c in list(program.constants.values())[:3]], [(0, 2), (1, 0), (0, 2)])

    def test_constants_give_their_numbers(self):
        shape = torch.tensor([3, 2])
        program = export(Function(lambda x: x.reshape(shape.tolist())), (torch.zeros(2, 3),))
        self.assertEqual(program.module()(torch.ones(2, 3)).shape, (3, 2))

    def test_what_follows_from_constants_is_known(self):
        index, x = torch.tensor([1]), torch.arange(6.0).reshape(2, 3)
        for function in (
            lambda x: x.reshape(torch.tensor(x.shape).tolist()[::-1]),
            lambda x: x.reshape(torch.tensor(x.shape).index_select(0, index).item(), -1),
            lambda x: x.reshape(torch.cat([torch.tensor([3]), torch.tensor([1]) + index]).tolist()),
            lambda x: x + 1 if bool((index == 1).all()) else x,
            lambda x: x.reshape(index.add(2).to(torch.int32).item(), -1),
        ):
            program = export(Function(function), (x,))
            self.assertTrue(torch.equal(program.module()(2 * x), function(2 * x)))
            self.assertNotIn("item", str(program.graph))

    def test_what_is_written_to_a_constant_is_known_and_stays_in_the_program(self):
        count = torch.tensor([1])
        program = export(Function(lambda x: x * count.clone().add_(2).item()), (torch.ones(2),))
        self.assertEqual((count.item(), program.module()(torch.ones(2)).tolist()), (1, [3, 3]))


class Scripts(unittest.TestCase):
    def test_the_converter_of_torchscript(self):
        from cresset._export.converter import TS2EPConverter

        net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        x = torch.randn(4, 3)
        program = TS2EPConverter(torch.jit.script(net), (x,)).convert()
        self.assertTrue(torch.equal(program.module()(x), net(x)))
        self.assertEqual(program.graph_signature.parameters, ("0.weight", "0.bias"))
        double = torch.jit.CompilationUnit("def double(x):\n    return x * 2\n").double
        self.assertTrue(torch.equal(TS2EPConverter(double, (x,)).convert().module()(x), 2 * x))
        with self.assertRaises(TypeError):
            TS2EPConverter(net, (x,))
        with self.assertRaisesRegex(ValueError, "TS2EPConverter"):
            export(torch.jit.script(net), (x,))


if __name__ == "__main__":
    unittest.main()


def test_losses_of_classes_have_the_operators_of_the_core_set():
    class Loss(nn.Module):
        def forward(self, x, target):
            return nn.functional.cross_entropy(x, target)

    program = torch.export.export(Loss(), (torch.ones(2, 3), torch.tensor([0, -100]))).run_decompositions()
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert [names.count(f"aten.{name}") for name in ("ne.Scalar", "where.self", "gather.default")] == [3, 2, 1]
    assert program.module()(torch.ones(2, 3), torch.tensor([0, -100])) == Loss()(torch.ones(2, 3), torch.tensor([0, -100]))
