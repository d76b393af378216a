"""Forward and backward of functions and modules are captured as graphs, which compute the same."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cresset._functorch.aot_autograd import aot_export_joint_simple, aot_export_module, aot_module_simplified
from cresset.functorch import compile as fc
from cresset.functorch.compile import aot_function, aot_module, default_partition, min_cut_rematerialization_partition, nop
from cresset.utils._pytree import tree_leaves

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Graphs:
    def __init__(self):
        self.forward_graphs, self.backward_graphs = [], []

    def forward(self, graph, inputs):
        self.forward_graphs.append(graph)
        return graph.forward

    def backward(self, graph, inputs):
        self.backward_graphs.append(graph)
        return graph.forward


def targets(graph):
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


def gradients(function, *inputs):
    inputs = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    outs = [out for out in tree_leaves(function(*inputs)) if out.requires_grad]
    owners = list(function.parameters()) if isinstance(function, nn.Module) else []
    found = torch.autograd.grad(sum((out**2).sum() for out in outs), [x for x in inputs if x.requires_grad] + owners)
    return [*outs, *found]


class Case(unittest.TestCase):
    def same(self, got, expected):
        for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
            self.assertTrue(torch.allclose(a, b, atol=1e-6), f"{a} is not {b}")

    def check(self, function, *inputs, **options):
        graphs = Graphs()
        compiled = aot_function(function, graphs.forward, graphs.backward, **options)
        self.same(gradients(compiled, *inputs), gradients(function, *inputs))
        return graphs


class Functions(Case):
    def test_gradients_are_those_of_the_function(self):
        x = X.clone().requires_grad_()
        w = torch.ones(3, 4, requires_grad=True)
        for partition in (default_partition, min_cut_rematerialization_partition):
            self.check(lambda x: x.sin().cos().exp().sum(1), x, partition_fn=partition)
            self.check(lambda x, w: torch.softmax(x @ w, -1), x, w, partition_fn=partition)
            self.check(lambda x, w: F.layer_norm(x @ w, (4,)).relu(), x, w, partition_fn=partition)

    def test_without_gradients_there_is_forward_alone(self):
        graphs = Graphs()
        self.same(aot_function(lambda x: x.sin() + 1, graphs.forward, graphs.backward)(X), X.sin() + 1)
        self.assertEqual((len(graphs.forward_graphs), len(graphs.backward_graphs)), (1, 0))

    def test_graphs_are_made_once_for_a_kind_of_inputs(self):
        graphs = Graphs()
        f = aot_function(lambda x, n: x * n, graphs.forward)
        for n, x in ((2, X), (2, X + 1), (3, X), (2, torch.ones(4))):
            self.same(f(x, n), x * n)
        self.assertEqual(len(graphs.forward_graphs), 3)

    def test_results_keep_their_structure(self):
        f = aot_function(lambda d: {"s": d["a"] * d["b"], "t": (d["a"].sum(), 3, None)}, nop)
        got = f({"a": X, "b": X})
        self.same(got["s"], X * X)
        self.assertEqual(got["t"][1:], (3, None))

    def test_results_that_are_detached_in_place_after_a_view(self):
        def f(x):
            out = x * 3
            out.t_()
            return out.detach_(), x + 1

        x = torch.ones(2, 4, requires_grad=True)
        detached, other = aot_function(f, nop)(x)
        self.assertEqual((detached.requires_grad, tuple(detached.shape), other.requires_grad), (False, (4, 2), True))
        other.sum().backward()
        self.assertEqual(x.grad.sum().item(), 8)

    def test_inputs_that_are_written_are_written(self):
        graphs = Graphs()
        x = X.clone()
        self.same(aot_function(lambda x: x.mul_(2) + 1, graphs.forward)(x), X * 2 + 1)
        self.same(x, X * 2)

        def scaled(x):
            y = x * 1
            y.mul_(3)
            return y

        self.check(scaled, X.clone().requires_grad_())

    def test_writes_of_inputs_stay_in_graphs_without_gradients(self):
        graphs = Graphs()

        def f(x, y):
            x.add_(y)
            return x * 2, x, x[0]

        x, y = torch.ones(2, 3), torch.ones(2, 3)
        compiled = aot_function(f, graphs.forward, keep_inference_input_mutations=True)
        for n in (2.0, 3.0):
            doubled, same, row = compiled(x, y)
            self.assertIs(same, x)
            self.assertEqual((x[0, 0].item(), doubled[0, 0].item(), row[0].item()), (n, 2 * n, n))
            self.assertEqual(row.untyped_storage().data_ptr(), x.untyped_storage().data_ptr())
        self.assertEqual([n.name for n in graphs.forward_graphs[0].graph.nodes if n.op == "call_function"], ["add", "mul", "copy_"])
        x.requires_grad_()
        compiled(x.clone(), y)[0].sum().backward()
        self.assertEqual(x.grad.tolist(), [[2.0] * 3] * 2)

    def test_results_that_are_views_of_inputs_are_views(self):
        x = X.clone()
        flat, turned, same, other = aot_function(lambda x: (x.view(-1), x.t(), x, x + 1), nop)(x)
        self.assertIs(same, x)
        self.assertEqual((flat.data_ptr(), turned.data_ptr(), turned.stride()), (x.data_ptr(), x.data_ptr(), (1, 3)))
        self.same(other, X + 1)

    def test_random_numbers_are_drawn_when_the_graph_runs(self):
        torch.manual_seed(4)
        before = torch.get_rng_state()
        f = aot_function(lambda x: x + torch.rand_like(x), nop)
        first = f(X)
        torch.set_rng_state(before)
        self.same(first, X + torch.rand_like(X))
        self.assertFalse(torch.equal(f(X), first))

    def test_gradients_of_formulas_that_look_at_data(self):
        def bounded(x):
            return torch.pinverse(x) + torch.linalg.lstsq(x, torch.ones(3, 1)).solution

        full = torch.tensor([[2.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]])
        low = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
        self.check(bounded, full.clone().requires_grad_())
        self.check(torch.linalg.pinv, low.requires_grad_())
        self.check(torch.pinverse, full[:2].clone().requires_grad_())
        self.check(lambda x: torch.linalg.pinv(x, hermitian=True), (full + full.T).requires_grad_())
        for scale in (0.1, 3.0, 9.0):
            with torch.no_grad():
                large = full.double().sub(2) * scale
            self.check(lambda x: torch.matrix_exp(x) / torch.matrix_exp(x.detach()).abs().amax(), large.requires_grad_())

    def test_writes_with_gradients_off_leave_the_history(self):
        def clamped(x):
            y = x * 2
            with torch.no_grad():
                y.clamp_min_(0.5)
                y[0].mul_(3)
            return y.sin()

        self.check(clamped, X.clone().requires_grad_())
        self.check(F.cosine_similarity, X.clone().requires_grad_(), X.flip(0).cos().requires_grad_())

    def test_checkpoints_of_what_was_written(self):
        from cresset.utils.checkpoint import checkpoint

        def function(x, b):
            b.add_(1)
            return checkpoint(lambda a, c: (a * c * 2).sin(), x * 1, b, use_reentrant=False)

        found = []
        for f in (function, aot_function(function, nop)):
            x, b = X.clone().requires_grad_(), torch.ones(3)
            out = f(x, b)
            found.append([*torch.autograd.grad(out.sum(), x), out.detach(), b])
        self.same(*found)

    def test_writes_of_inputs_keep_or_end_their_history(self):
        def halved(p, x):
            with torch.no_grad():
                p.mul_(0.5)
            return (x * p).sin()

        found = []
        for function in (halved, aot_function(halved, nop)):
            p, x = torch.full((2,), 3.0, requires_grad=True), torch.ones(2, requires_grad=True)
            found.append([*torch.autograd.grad(function(p, x).sum(), (p, x)), p.detach()])
        self.same(*found)
        for write in (lambda y: y.zero_(), lambda y: y.fill_(2.0), lambda y: y.mul_(2)):
            found = []
            for function in (write, aot_function(write, nop)):
                x = X.clone().requires_grad_()
                y = x * 3
                out = function(y)
                found.append([*torch.autograd.grad((out + y).sum(), x), out.detach(), y.detach()])
            self.same(*found)

    def test_inputs_that_lie_apart_in_memory(self):
        x = torch.arange(20.0).reshape(4, 5)
        for part in (x[:, ::2], x[1:], x.t()):
            for function in (torch.ravel, lambda x: x.flatten() * 1, lambda x: x[:1], torch.rot90):
                self.check(function, part.detach().requires_grad_())

    def test_the_cut_hands_over_what_backward_returns(self):
        self.check(torch.angle, X.clone().requires_grad_(), partition_fn=min_cut_rematerialization_partition)
        self.check(lambda x: torch.linalg.norm(x, 0), X[0].clone().requires_grad_(), partition_fn=min_cut_rematerialization_partition)

    def test_inputs_that_are_read_by_backward_and_written(self):
        x, mean, var = torch.linspace(-1, 1, 24).reshape(2, 3, 4).sin().requires_grad_(), torch.ones(3), torch.ones(3)
        aot_function(lambda x, m, v: F.instance_norm(x, m, v), nop)(x, mean, var).square().sum().backward()
        y, m, v = x.detach().clone().requires_grad_(), torch.ones(3), torch.ones(3)
        F.instance_norm(y, m, v).square().sum().backward()
        self.same([x.grad, mean, var], [y.grad, m, v])
        scale, z = torch.full((3, 1), 3.0), x.detach().clone().requires_grad_()
        out = aot_function(lambda x, s: (x * s, s.mul_(2))[0], nop)(z, scale)
        out.sum().backward()
        self.same([z.grad, scale], [torch.full_like(z, 3.0), torch.full((3, 1), 6.0)])

    def test_views_of_another_dtype(self):
        self.same(aot_function(torch.view_as_complex, nop)(X[:, :2].contiguous()), torch.view_as_complex(X[:, :2].contiguous()))

    def test_permutations_follow_the_data(self):
        a, b = torch.tensor([[0.0, 2.0], [3.0, 1.0]]), torch.tensor([[4.0, 2.0], [1.0, 5.0]])
        compiled = aot_function(lambda x: torch.linalg.lu(x), nop)
        for matrix in (a, b, a):
            self.same(compiled(matrix), torch.linalg.lu(matrix))
        self.check(lambda x: torch.linalg.lu(x)[1:], a.clone().requires_grad_())

    def test_gradients_of_circular_pads(self):
        for shape, pad in (((1, 2, 5), (2, -1)), ((1, 2, 5), (-1, -2)), ((1, 2, 4, 5), (1, 2, 3, 0)), ((1, 1, 3, 4, 5), (1, 1, 2, 2, 3, 3))):
            x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
            self.check(lambda x: F.pad(x, pad, mode="circular"), x.requires_grad_())

    def test_a_norm_with_a_bias_alone_has_its_gradient(self):
        x, four, three = torch.linspace(-1, 9, 24, dtype=torch.double).reshape(2, 4, 3).sin(), torch.ones(4).double(), torch.ones(3).double()
        norms = (lambda x, b: F.layer_norm(x, (3,), None, b), three), (lambda x, b: F.group_norm(x, 2, None, b), four), (lambda x, b: F.batch_norm(x, None, None, None, b, True), four)  # fmt: skip
        for norm, bias in norms:
            for table in (None, torch._decomp.core_aten_decompositions()):
                self.check(norm, x.clone().requires_grad_(), bias.clone().requires_grad_(), decompositions=table)

    def test_second_derivatives_are_refused(self):
        x = X.clone().requires_grad_()
        (d,) = torch.autograd.grad(aot_function(lambda x: x.sin(), nop)(x).sum(), x, create_graph=True)
        self.assertRaises(RuntimeError, torch.autograd.grad, d.sum(), x)

    def test_decompositions_apply_to_both_halves(self):
        from cresset._decomp import get_decompositions

        aten = torch.ops.aten
        table = get_decompositions([aten.gelu, aten.gelu_backward])
        graphs = self.check(lambda x: F.gelu(x), X.clone().requires_grad_(), decompositions=table)
        self.assertFalse([t for g in (*graphs.forward_graphs, *graphs.backward_graphs) for t in targets(g) if "gelu" in t])

    def test_boxed_functions_get_a_list(self):
        seen = []

        def compiler(graph, inputs):
            def run(args):
                seen.append(type(args))
                return graph(*args)

            run._boxed_call = True
            return run

        self.same(gradients(aot_function(lambda x: x.exp(), compiler), X.clone().requires_grad_())[0], X.exp())
        self.assertEqual(seen, [list, list])


class WritesStay(Case):
    """`disable_functionalization`: graphs write where the function does."""

    @staticmethod
    def by_views(x):
        y = x * 2
        y.add_(1)
        z = y.view(-1)
        z.mul_(3)
        x.add_(5)
        return y, z

    def both(self, function, x):
        graphs, found = Graphs(), []
        for run in (aot_function(function, graphs.forward, graphs.backward, disable_functionalization=True), function):
            leaf = x.detach().clone().requires_grad_(x.requires_grad)
            given = leaf.clone() if x.requires_grad else leaf
            results = tree_leaves(run(given))
            found.append([given, *results])
            if x.requires_grad:
                found[-1] += torch.autograd.grad(sum(r.sum() for r in results), leaf)
        self.same(*found)
        return graphs

    def test_without_gradients(self):
        graphs = self.both(self.by_views, X)
        self.assertEqual(
            targets(graphs.forward_graphs[0]), ["aten.mul.Tensor", "aten.add_.Tensor", "aten.view.default", "aten.mul_.Tensor", "aten.add_.Tensor"]
        )

    def test_with_gradients(self):
        graphs = self.both(self.by_views, X.clone().requires_grad_())
        self.assertEqual(targets(graphs.forward_graphs[0])[:3], ["aten.clone.default", "aten.mul.Tensor", "aten.add_.Tensor"])
        self.both(lambda x: (x.mul_(2).sin(), x.view(-1)), X.clone().requires_grad_())
        self.both(lambda x: x.sin().mul_(2), X.clone().requires_grad_())

    def test_nothing_runs_again_that_sees_writes(self):
        def function(x):
            y = x.sin()
            z = y * 3
            y.mul_(2)
            return z.exp() * y

        x = X.clone().requires_grad_()
        run = aot_function(function, nop, partition_fn=min_cut_rematerialization_partition, disable_functionalization=True)
        self.same(gradients(run, x), gradients(function, x))


class KeptBytes(Case):
    def kept(self, function, x, partition):
        graphs = self.check(function, x, partition_fn=partition)
        (output,) = graphs.forward_graphs[0].graph.find_nodes(op="output")
        return sum(n.meta["val"].numel() * n.meta["val"].element_size() for n in set(output.args[0][1:]))

    def test_the_cut_keeps_less(self):
        x = torch.randn(64, 64, requires_grad=True)

        def block(x):
            return F.gelu((x.sin() * 2).exp().tanh() + x.relu()).sum()

        least, most = self.kept(block, x, min_cut_rematerialization_partition), self.kept(block, x, default_partition)
        self.assertEqual(least, 64 * 64 * 4)
        self.assertGreaterEqual(most, 4 * least)


class Modules(Case):
    def test_parameters_get_gradients(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        compiled = aot_module(net, nop)
        self.same(gradients(compiled, X.clone().requires_grad_()), gradients(net, X.clone().requires_grad_()))
        self.assertEqual(len(list(compiled.parameters())), 4)

    def test_buffers_are_written(self):
        net, other = (nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(2))
        other.load_state_dict(net.state_dict())
        self.same(aot_module(net, nop)(X), other(X))
        self.same(list(net.buffers()), list(other.buffers()))

    def test_convolutions_and_pools(self):
        net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2))
        image = torch.randn(2, 2, 6, 6)
        self.same(gradients(aot_module(net, nop), image), gradients(net, image))

    def test_flat_modules_are_captured_at_once(self):
        net, graphs = nn.Linear(3, 2), Graphs()
        f = aot_module_simplified(net, [X], graphs.forward, graphs.backward)
        self.assertEqual(len(graphs.forward_graphs), 1)
        self.same(f(X), net(X))


class Export(Case):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

        def forward(self, x):
            return (self.norm(self.linear(x)).pow(2).sum(),)

    def test_the_signature_names_inputs_and_results(self):
        net = self.Net()
        graph, signature = aot_export_module(net, [X], trace_joint=False)
        self.assertEqual(signature.parameters, ["linear.weight", "linear.bias", "norm.weight", "norm.bias"])
        self.assertEqual(signature.user_inputs, ["arg7_1"])
        self.assertEqual(sorted(signature.buffers_to_mutate.values()), ["norm.num_batches_tracked"])
        results = graph(*net.parameters(), *net.buffers(), X)
        self.same(results[1], net(X)[0])

    def test_the_joint_graph_has_the_gradients_of_the_loss(self):
        net = self.Net()
        graph, signature = aot_export_module(net, [X], trace_joint=True, output_loss_index=0)
        results = dict(zip([n.name for n in graph.graph.output_node().args[0] if n is not None],
                           [r for r in graph(*net.parameters(), *net.buffers(), X) if r is not None]))  # fmt: skip
        net(X)[0].backward()
        parameters = dict(net.named_parameters())
        for name, parameter in signature.backward_signature.gradients_to_parameters.items():
            self.same(results[name], parameters[parameter].grad)

    def test_sizes_stay_open(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 2)
                self.register_buffer("seen", torch.zeros(2))

            def forward(self, x, y):
                self.seen.add_(1)
                return (self.linear(x) * y.sum() + x.shape[0] + self.seen,)

        net, y = Two(), torch.ones(5)
        for whole in (False, True):
            graph, signature = aot_export_module(net, [X, y], trace_joint=False, dynamic_shapes=True, pre_dispatch=whole)
            shapes = [tuple(n.meta["val"].shape) for n in graph.graph.find_nodes(op="placeholder")]
            self.assertEqual(shapes[:3], [(2, 3), (2,), (2,)])
            self.assertTrue(all(isinstance(n, torch.SymInt) for n in (shapes[3][0], shapes[4][0])))
            self.assertEqual(list(signature.buffers_to_mutate.values()), ["seen"])
            more = torch.ones(7, 3)
            results = graph(*net.parameters(), net.seen, more, y)
            self.same(results[1], net.linear(more) * 5 + 7 + 1)
        (fixed, _), (joint, _) = (
            aot_export_module(net, [X, y], trace_joint=False),
            aot_export_module(self.Net(), [X], trace_joint=True, output_loss_index=0, dynamic_shapes=True),
        )
        for graph in (fixed, joint):
            self.assertTrue(all(type(n) is int for node in graph.graph.find_nodes(op="placeholder") for n in node.meta["val"].shape))

    def test_fake_inputs_bring_their_sizes(self):
        from cresset._subclasses import FakeTensorMode
        from cresset.fx.experimental.symbolic_shapes import ShapeEnv

        mode = FakeTensorMode(shape_env=ShapeEnv())
        graph, _ = aot_export_module(self.Net(), [mode.from_tensor(X)], trace_joint=False)
        weight, *_, x = [n.meta["val"] for n in graph.graph.find_nodes(op="placeholder")]
        self.assertEqual((tuple(weight.shape), type(x.shape[0])), ((2, 3), torch.SymInt))

    def test_modules_return_tuples(self):
        with self.assertRaisesRegex(RuntimeError, "expected the module to return a tuple, got FakeTensor"):
            aot_export_module(nn.Linear(3, 2), [X], trace_joint=False)
        with self.assertRaisesRegex(RuntimeError, "needs output_loss_index"):
            aot_export_module(self.Net(), [X], trace_joint=True)

    def test_joint_graphs_of_functions(self):
        y = X.clone().requires_grad_()
        graph = aot_export_joint_simple(lambda x, y: (x * y,), (X, y), trace_joint=True)
        product, by_x, by_y = graph([X, X], [X])
        self.same((product, by_y), (X * X, X * X))
        self.assertIsNone(by_x)
        with self.assertRaisesRegex(RuntimeError, "writes no input"):
            aot_export_joint_simple(lambda x: (x.add_(1),), (X.clone(),), trace_joint=False)


class Tools(Case):
    def test_compilers_that_do_little(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            aot_function(lambda x: x.sin(), fc.print_compile)(X)
        self.assertIn("aten.sin", out.getvalue())
        x = X.clone().requires_grad_()
        self.same(gradients(fc.memory_efficient_fusion(lambda x: F.gelu(x) * 2), x), gradients(lambda x: F.gelu(x) * 2, x))

    def test_compilers_to_torchscript(self):
        def function(x):
            y, z = (x @ x.t()).tanh().split(1)[:2]
            return torch.relu(y * z.sum()).square().sum(), {"more": x.cos()}

        given = []

        def compiler(graph, inputs):
            given.append(compile_graph(graph, inputs))
            return given[-1]

        for compile_graph in (fc.ts_compile, torch._functorch.compilers.simple_ts_compile):
            ours, eager = X.clone().requires_grad_(), X.clone().requires_grad_()
            for of, x in ((aot_function(function, compiler), ours), (function, eager)):
                loss, others = of(x)
                (loss + others["more"].sum()).backward()
            self.same(ours.grad, eager.grad)
        self.assertEqual(len(given), 4)
        self.assertEqual(aot_function(torch.cos, fc.ts_compile)(X).tolist(), X.cos().tolist())
        self.same(gradients(fc.nnc_jit(lambda x: x.sin() * x), X.clone().requires_grad_()), gradients(lambda x: x.sin() * x, X.clone().requires_grad_()))

    def test_a_program_that_finds_a_smaller_graph(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(out):
            self.same(aot_function(lambda x: x.sin(), fc.debug_compile)(X), X.sin())
            text = out.getvalue().replace("    ...  # whether what you look for happens", "    return any('sin' in n.name for n in module.graph.nodes)")
            path = Path(folder) / "run.py"
            path.write_text(text + "\n")
            subprocess.run(
                [sys.executable, "-m", "cresset", str(path)], check=True, cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
            )

    def test_the_graph_that_is_compiled_has_a_name(self):
        names = []

        def compiler(graph, inputs):
            names.append(fc.get_graph_being_compiled())
            return graph

        aot_function(lambda x: x.sin(), compiler)(X.clone().requires_grad_())
        self.assertRegex(names[0], r"^model__\d+_forward_\d+$")
        self.assertRegex(names[1], r"^model__\d+_backward_\d+$")


class Sparse(unittest.TestCase):
    def test_graphs_of_sparse_inputs_have_the_operators_of_the_function_alone(self):
        graphs = Graphs()
        for sparse in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
            dense = torch.ones(3, 3, requires_grad=True)
            aot_function(torch.mm, graphs.forward, graphs.backward)(sparse.requires_grad_(), dense).sum().backward()
            self.assertTrue(torch.equal(dense.grad, torch.ones(3, 3)))
        self.assertEqual([targets(graph) for graph in graphs.forward_graphs], [["aten.mm.default"]] * 2)
        self.assertNotIn("aten.detach.default", [target for graph in graphs.backward_graphs for target in targets(graph)])


class Writes(unittest.TestCase):
    def test_writes_to_views_of_new_tensors(self):
        def f(x):
            y = x * 2
            y[0].add_(x[1])
            y[:, 1:].mul_(3)
            y.t()[0] = 7.0
            return y.sin()

        for options in ({}, {"partition_fn": min_cut_rematerialization_partition}):
            ours, plain = (X.clone().requires_grad_() for _ in range(2))
            out = aot_function(f, nop, **options)(ours)
            self.assertTrue(torch.equal(out, f(plain)))
            out.sum().backward()
            f(plain).sum().backward()
            self.assertTrue(torch.allclose(ours.grad, plain.grad))


if __name__ == "__main__":
    unittest.main()
