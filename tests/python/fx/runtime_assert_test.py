"""Conditions that a trace left for run time, records of what a ShapeEnv was asked, and other modules of symbolic shapes that libraries import."""

import unittest

from cresset.fx.experimental import recording, validator
from cresset.fx.experimental.proxy_tensor import _SymNodeDict, make_fx
from cresset.fx.experimental.symbolic_shapes import ShapeEnv
from cresset.fx.passes.runtime_assert import insert_deferred_runtime_asserts

import cresset as torch


def inserted(function, *args, **options):
    traced = make_fx(function, tracing_mode="symbolic")(*args)
    insert_deferred_runtime_asserts(traced, traced.shape_env, "graph", **options)
    traced.graph.lint()
    traced.recompile()
    return traced


def targets(traced):
    return [getattr(n.target, "__name__", str(n.target)) for n in traced.graph.nodes if n.op == "call_function"]


class RuntimeAsserts(unittest.TestCase):
    def test_ranges_and_conditions_of_sizes_that_the_data_tells(self):
        def f(x):
            y = x.nonzero()
            torch._check(y.shape[0] > 1)
            torch._check(y.shape[0] % 2 == 0)
            return y.sum(0)

        traced = inserted(f, torch.ones(4), export=True)
        self.assertEqual(traced(torch.ones(2)).tolist(), [1])
        for wrong in (torch.tensor([1.0]), torch.ones(3)):
            with self.assertRaisesRegex(RuntimeError, "the graph relies on"):
                traced(wrong)
        names = targets(traced)
        self.assertEqual(names[0], "nonzero.default")
        self.assertEqual(names.count("_assert_scalar.default"), len([n for n in names if n in ("ge", "gt", "eq", "le")]))

    def test_an_item_that_becomes_a_size(self):
        def f(x):
            n = x.item()
            torch._check(n >= 2)
            torch._check(n <= 7)
            return torch.zeros(n)

        traced = inserted(f, torch.tensor(4))
        self.assertEqual(traced(torch.tensor(3)).shape, (3,))
        for wrong in (1, 8):
            with self.assertRaisesRegex(RuntimeError, "the graph relies on u0"):
                traced(torch.tensor(wrong))

    def test_twice_is_once(self):
        def f(x):
            return x.nonzero() + 1

        traced = inserted(f, torch.ones(4))
        before = targets(traced)
        insert_deferred_runtime_asserts(traced, traced.shape_env, "graph")
        self.assertLessEqual(len(set(before)), len(targets(traced)))

    def test_sizes_of_intermediate_results_are_computed_from_those_of_inputs(self):
        def f(x, y):
            z = torch.cat([x, y]).view(-1, 2)
            return z.shape[0] * 2 + x.shape[0], x.shape[0]

        traced = inserted(f, torch.ones(4), torch.ones(6))
        self.assertNotIn(
            "cat.default",
            {
                n.target.__name__
                for n in traced.graph.nodes
                if n.op == "call_function" and "sym_size" not in str(n.target) and n.users and any(u.target is torch.ops.aten.sym_size.int for u in n.users)
            },
        )
        self.assertEqual(traced(torch.ones(2), torch.ones(4)), (8, 2))

    def test_no_graph_module(self):
        with self.assertRaisesRegex(TypeError, "GraphModule"):
            insert_deferred_runtime_asserts(torch.nn.Linear(1, 1), ShapeEnv(), "graph")


class Recording(unittest.TestCase):
    def asked(self):
        env = ShapeEnv(should_record_events=True)
        mode = torch._subclasses.FakeTensorMode(shape_env=env)
        x = mode.from_tensor(torch.ones(4, 6), static_shapes=False)
        self.assertTrue(x.shape[0] > 3)
        u = env.create_unbacked_symint()
        torch._check(u >= 2)
        return env

    def test_events(self):
        env = self.asked()
        names = [event.name for event in env.events]
        self.assertEqual(names[:2], [None, "create_symbolic_sizes_strides_storage_offset"])
        for name in ("evaluate_expr", "create_unbacked_symint", "guard_or_defer_runtime_assert"):
            self.assertIn(name, names)
        self.assertEqual([event.is_evaluate_expr() for event in env.events], [name == "evaluate_expr" for name in names])
        self.assertEqual((ShapeEnv().events, ShapeEnv().should_record_events), ([], False))

    def test_replayed_they_make_an_equal_environment(self):
        env = self.asked()
        again = recording.replay_shape_env_events(env.events)
        env.check_equal(again)
        self.assertEqual(again.events, [])
        with self.assertRaisesRegex(recording.NotEqualError, "guards: values don't match"):
            env.check_equal(ShapeEnv())
        with self.assertRaises(ValueError):
            recording.replay_shape_env_events([])

    def test_an_event_needs_its_environment(self):
        event = self.asked().events[1]
        with self.assertRaises(AssertionError):
            event.run()

    def test_a_call_that_fails_is_no_event(self):
        env = ShapeEnv(should_record_events=True)

        @recording.record_shapeenv_event(name="mine")
        def ask(env, fail):
            env.create_unbacked_symint()
            if fail:
                raise ValueError

        ask(env, False)
        with self.assertRaises(ValueError):
            ask(env, True)
        self.assertEqual([event.name for event in env.events], [None, "mine"])

    def test_states_of_any_objects(self):
        class State:
            def __init__(self, v):
                self.v, self.w = v, 1

        recording.shape_env_check_state_equal(State(1), State(2), ("v",), lambda name, value: value)
        with self.assertRaisesRegex(recording.NotEqualError, "==> v: values don't match.\n  >  Left: 1\n  > Right: 2"):
            recording.shape_env_check_state_equal(State(1), State(2), (), lambda name, value: value)

    def test_geometry_of_a_fake_tensor(self):
        with torch._subclasses.FakeTensorMode():
            meta = recording.FakeTensorMeta.from_fake(torch.ones(2, 3))
        self.assertEqual((meta.size(), meta.stride(), meta.stride(0), meta.storage_offset(), meta.dim(), meta.is_nested), ((2, 3), (3, 1), 3, 0, 2, False))


class Others(unittest.TestCase):
    def test_validation_is_off_and_cannot_be_on(self):
        self.assertEqual((validator.translation_validation_enabled(), validator.translation_validation_timeout()), (False, 600000))
        config = torch.fx.experimental._config
        config.translation_validation = True
        try:
            with self.assertRaisesRegex(AssertionError, "Z3"):
                validator.translation_validation_enabled()
        finally:
            config.translation_validation = False

    def test_values_by_symbolic_number(self):
        env, known = ShapeEnv(), _SymNodeDict()
        u = env.create_unbacked_symint()
        known[u + 1] = "more"
        self.assertEqual((known[u + 1], u in known, len(known), known.get(u, 0)), ("more", False, 1, 0))
        with self.assertRaises(AssertionError):
            known[3] = 1

    def test_meta_tensors_share_what_tensors_share(self):
        convert = torch._subclasses.meta_utils.MetaConverter()
        x = torch.ones(2, 3)
        weight = torch.nn.Parameter(torch.ones(2))
        whole, row = convert(x), convert(x[1])
        self.assertEqual((row.device.type, row.storage_offset(), whole.stride(), convert(3)), ("meta", 3, (3, 1), 3))
        self.assertEqual(whole.untyped_storage()._cdata, row.untyped_storage()._cdata)
        self.assertIs(convert(x), whole)
        self.assertIs(type(convert(weight)), torch.nn.Parameter)
        self.assertTrue(convert((weight * 2)).requires_grad and convert.successful())
        with self.assertRaises(NotImplementedError):
            convert(torch.ones(2).to_sparse())

    def test_dimensions_from_the_front(self):
        from cresset._prims_common import canonicalize_dims

        self.assertEqual([canonicalize_dims(3, (-1, 0)), canonicalize_dims(3, -1), canonicalize_dims(0, -1)], [(2, 0), 2, 0])
        for rank, dim in ((3, 5), (0, 1), (-1, 0)):
            with self.assertRaises(IndexError):
                canonicalize_dims(rank, dim)

    def test_infinite_ends_of_ranges(self):
        from cresset.utils._sympy import numbers, value_ranges

        env = ShapeEnv()
        open_end = env.bound_sympy(env.create_unbacked_symint().node.expr)
        self.assertIsInstance(open_end, value_ranges.ValueRanges)
        self.assertTrue(isinstance(value_ranges.ValueRanges(2, numbers.int_oo).upper, numbers.IntInfinity))
        self.assertTrue(isinstance(value_ranges.ValueRanges(-numbers.int_oo, 2).lower, numbers.NegativeIntInfinity))
        self.assertFalse(isinstance(value_ranges.ValueRanges(2, 8).upper, numbers.IntInfinity))

    def test_the_dtype_of_sums(self):
        from cresset._prims_common import get_computation_dtype

        self.assertEqual([get_computation_dtype(d) for d in (torch.float16, torch.float32, torch.int64)], [torch.float32, torch.float32, torch.int64])

    def test_indexing_by_numbers_of_a_batch(self):
        from cresset._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

        x = torch.arange(6).view(2, 3)
        with TransformGetItemToIndex():
            self.assertEqual(torch.vmap(lambda i: x[i])(torch.arange(2)).tolist(), x.tolist())
            self.assertEqual(torch.vmap(lambda i, j: x[i, j])(torch.arange(2), torch.arange(2)).tolist(), [0, 4])
            self.assertEqual((x[1].tolist(), x[0, 1].item()), ([3, 4, 5], 1))

    def test_names_of_capture(self):
        from cresset._export import config, error, utils

        self.assertEqual([utils._is_cia_op(op) for op in (torch.ops.aten.linear.default, torch.ops.aten.add.Tensor)], [True, False])
        self.assertEqual(str(error.InternalError("why")), "why")
        self.assertEqual(str(error.ExportError(error.ExportErrorType.NOT_SUPPORTED, "why")), "[ExportErrorType.NOT_SUPPORTED]: why")
        with self.assertWarnsRegex(UserWarning, "changes nothing"), config.patch(use_new_tracer_experimental=False):
            pass

        class Cast(torch.nn.Module):
            def forward(self, x):
                return x.double()

        with utils._disable_aten_to_metadata_assertions():
            program = torch.export.export(Cast(), (torch.ones(2),))
        self.assertEqual([n.name for n in program.graph.nodes], ["x", "to", "output"])


if __name__ == "__main__":
    unittest.main()
