"""Operators that programs define over functions, and `out_dtype`: one node of a graph each."""

import io
import unittest

from cresset._higher_order_ops.out_dtype import out_dtype
from cresset._subclasses import FakeTensorMode
from cresset.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx, track_tensor_tree
from cresset.utils._pytree import tree_map

import cresset as torch

aten, DispatchKey = torch.ops.aten, torch._C.DispatchKey
BYTES = torch.arange(-8, 8, dtype=torch.int8).reshape(4, 4)


class Times(torch._ops.HigherOrderOperator):
    def __call__(self, x, *, by=2):
        return super().__call__(x, by=by)


times = Times("times_of_a_test")


@times.py_impl(DispatchKey.CompositeExplicitAutograd)
def compute(x, *, by=2):
    return x * by


@times.py_impl(FakeTensorMode)
def shape(mode, x, *, by=2):
    with mode:
        return torch.empty_like(x)


@times.py_impl(ProxyTorchDispatchMode)
def write(mode, x, *, by=2):
    node = mode.tracer.create_proxy("call_function", times, tree_map(mode.tracer.unwrap_proxy, (x,)), {"by": by}, name="times")
    return track_tensor_tree(times(x, by=by), node, constant=None, tracer=mode.tracer)


class OwnOperators(unittest.TestCase):
    def test_rules_for_values_fake_tensors_and_tracers(self):
        self.assertTrue(torch.equal(times(torch.ones(2)), torch.full((2,), 2.0)))
        for mode in ("real", "fake", "symbolic"):
            graph = make_fx(lambda x: times(x.sin(), by=3).cos(), tracing_mode=mode)(torch.zeros(2))
            node = next(n for n in graph.graph.nodes if n.target is times)
            self.assertIsInstance(node.target, torch._ops.HigherOrderOperator)
            self.assertEqual((node.meta["val"].shape, node.kwargs), ((2,), {"by": 3}))
            self.assertTrue(torch.allclose(graph(torch.ones(2)), (torch.ones(2).sin() * 3).cos()))

    def test_export_keeps_the_node(self):
        class Module(torch.nn.Module):
            def forward(self, x):
                return times(x, by=3) + 1

        program = torch.export.export(Module(), (torch.ones(2),))
        self.assertIn(times, [n.target for n in program.graph.nodes])
        self.assertTrue(torch.equal(program.module()(torch.ones(2)), torch.full((2,), 4.0)))

    def test_the_first_of_a_name_is_found_under_it(self):
        Times("times_of_a_test")
        self.assertIs(torch.ops.higher_order.times_of_a_test, times)

    def test_nothing_runs_without_a_rule(self):
        with self.assertRaisesRegex(NotImplementedError, "no_rule_of_a_test: has no rule"):
            Times("no_rule_of_a_test")(torch.ones(2))


class OutDtype(unittest.TestCase):
    def test_it_computes_in_the_dtype_of_the_result(self):
        got = out_dtype(aten.mm.default, torch.int32, BYTES * 9, BYTES * 9)
        self.assertTrue(torch.equal(got, (BYTES * 9).int() @ (BYTES * 9).int()))
        self.assertTrue(torch.equal(out_dtype(aten.mul.Scalar, torch.int32, BYTES, 3.7), (BYTES.int() * 3.7).int()))

    def test_graphs_and_files_keep_the_node(self):
        class Module(torch.nn.Module):
            def forward(self, x):
                return out_dtype(aten.mm.default, torch.int32, x, x) * 2

        graph = make_fx(Module())(BYTES)
        self.assertIn("torch.ops.higher_order.out_dtype(torch.ops.aten.mm.default, torch.int32, ", graph.code)
        program, file = torch.export.export(Module(), (BYTES,)), io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        for run in (graph, program.module(), torch.export.load(file).module()):
            self.assertTrue(torch.equal(run(BYTES), Module()(BYTES)))
        self.assertIs(list(program.graph.nodes)[1].target, out_dtype)
        self.assertIn("higher_order.out_dtype", make_fx(torch.func.functionalize(Module()))(BYTES).code)

    def test_backward_is_an_error(self):
        x = torch.ones(2, 2, requires_grad=True)
        result = out_dtype(aten.mm.default, torch.float64, x, x)
        with self.assertRaisesRegex(NotImplementedError, "out_dtype: has no gradient"):
            result.sum().backward()
        self.assertFalse(out_dtype(aten.mm.default, torch.int32, x, x).requires_grad)

    def test_operators_that_do_not_fit_are_errors(self):
        for op in (torch.add, aten.add_.Tensor, aten.topk.default, aten.split_copy.Tensor):
            with self.assertRaisesRegex(ValueError, "out_dtype: expected"):
                out_dtype(op, torch.int32, BYTES, BYTES)


if __name__ == "__main__":
    unittest.main()
