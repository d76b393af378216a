"""Which nodes of a graph bind the symbols that only the data tells: goldens from PyTorch 2.13."""

import io
import unittest

import pytest
from cresset._subclasses.fake_tensor import FakeTensorMode
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv, compute_unbacked_bindings

import cresset as torch
from cresset import nn

_SIZE = "(CallMethodKey(name='size'), SequenceKey(idx=0))"
_LISTED = "{u0: (SequenceKey(idx=0), CallMethodKey(name='size'), SequenceKey(idx=0))}"
_INTS = torch.tensor([3, 4])

# Function, its argument, and what each node binds in a graph of make_fx.
_CASES = {
    "item": (lambda x: x.sum().item(), _INTS, {"_local_scalar_dense": "{u0: ()}"}),
    "item of floats": (lambda x: x.sum().item() * 2, torch.ones(2), {"_local_scalar_dense": "{zuf0: ()}"}),
    "item of truth values": (lambda x: (x.sum() > 1).item(), torch.ones(2), {"_local_scalar_dense": "{u0: (ConvertIntKey(),)}"}),
    "nonzero": (lambda x: x.nonzero() * 2, _INTS, {"nonzero": f"{{u0: {_SIZE}}}"}),
    "where": (lambda x: torch.where(x)[0], _INTS, {"nonzero": f"{{u0: {_SIZE}}}"}),
    "a mask": (lambda x: x[x > 3], _INTS, {"index": f"{{u0: {_SIZE}}}"}),
    "masked_select": (lambda x: torch.masked_select(x, x > 0), _INTS, {"masked_select": f"{{u0: {_SIZE}}}"}),
    "repeat_interleave": (torch.repeat_interleave, _INTS, {"repeat_interleave": f"{{u0: {_SIZE}}}"}),
    "bincount": (torch.bincount, _INTS, {"bincount": f"{{u0: {_SIZE}}}"}),
    "among several results": (
        lambda x: torch.unique(x, return_inverse=True)[0],
        _INTS,
        {"_unique2": _LISTED},
    ),
    "numbers one by one": (lambda x: sum(x.tolist()), _INTS, {"_local_scalar_dense": "{u0: ()}", "_local_scalar_dense_1": "{u1: ()}"}),
}
_EXPORTED = {"where": {"where": _LISTED}}  # composites are nodes there


def bound(graph):
    return {n.name: str(n.meta["unbacked_bindings"]) for n in graph.nodes if "unbacked_bindings" in n.meta}


class Bindings(unittest.TestCase):
    def test_in_graphs_of_operators(self):
        for name, (function, argument, expected) in _CASES.items():
            with self.subTest(name):
                self.assertEqual(bound(make_fx(function, tracing_mode="symbolic")(argument).graph), expected)

    def test_in_exported_programs_and_those_read_from_files(self):
        for name, (function, argument, expected) in _CASES.items():
            model = nn.Module()
            model.forward = lambda x, function=function: function(x)
            program = torch.export.export(model, (argument,))
            file = io.BytesIO()
            torch.export.save(program, file)
            file.seek(0)
            with self.subTest(name):
                self.assertEqual(list(bound(program.graph).values()), list(_EXPORTED.get(name, expected).values()))
                for other in (program.module().graph, torch.export.load(file).graph):
                    self.assertEqual(bound(other), bound(program.graph))
                self.assertEqual(len(bound(program.run_decompositions().graph)), len(expected))

    def test_nothing_is_bound_twice_or_by_inputs(self):
        def f(x):
            y = x.nonzero()
            return y + y.shape[0], x.new_zeros(y.shape[0])

        self.assertEqual(bound(make_fx(f, tracing_mode="symbolic")(_INTS).graph), {"nonzero": f"{{u0: {_SIZE}}}"})
        mode = FakeTensorMode(shape_env=ShapeEnv())
        with mode:
            y = torch.ones(3).nonzero()
        self.assertEqual(bound(make_fx(lambda y: y.view(-1, 1) + 1)(y).graph), {})

    def test_a_fake_tensors_symbols_are_pending(self):
        env = ShapeEnv()
        with FakeTensorMode(shape_env=env):
            x, truth = torch.ones(3), (torch.ones(3).sum() > 1)
            y = x.nonzero()
            self.assertEqual(list(map(str, env.pending_fresh_unbacked_symbols)), ["u0"])
            self.assertEqual(str(compute_unbacked_bindings(env, [0, y], peek=True)), f"{{u0: (SequenceKey(idx=1), {_SIZE[1:]}}}")
            with env.ignore_fresh_unbacked_symbols():
                x.nonzero()
            self.assertEqual(
                str(compute_unbacked_bindings(env, (truth.item(), y))),
                "{u2: (SequenceKey(idx=0), ConvertIntKey()), u0: (SequenceKey(idx=1), " + _SIZE[1:] + "}",
            )
            self.assertEqual(env.pending_fresh_unbacked_symbols, [])
            self.assertIsNone(compute_unbacked_bindings(env, y))


def test_a_list_has_a_length():
    def f(x):
        return torch.stack([x, x]).tolist()

    assert make_fx(f, tracing_mode="symbolic")(_INTS)(torch.tensor([5, 6])) == [[5, 6], [5, 6]]
    with pytest.raises(GuardOnDataDependentSymNode, match="u0"):
        make_fx(lambda x: x.nonzero().tolist(), tracing_mode="symbolic")(_INTS)


def test_a_truth_value_of_the_data_decides_nothing():
    traced = make_fx(lambda x: (x.sum() > 3).item(), tracing_mode="symbolic")(torch.ones(2))
    assert traced(torch.ones(2)) is False and traced(torch.full((2,), 2.0)) is True
    with pytest.raises(GuardOnDataDependentSymNode, match="u0"):
        make_fx(lambda x: x * 2 if (x.sum() > 3).item() else x, tracing_mode="symbolic")(torch.ones(2))


def test_fakes_have_the_places_and_counts_that_are_asked_for():
    aten, x = torch.ops.aten, torch.tensor([[3, 4], [3, 4]])
    for call in (
        *(lambda x, a=a, b=b: aten._unique2(x, True, a, b) for a in (True, False) for b in (True, False)),
        *(lambda x, a=a, b=b: aten.unique_dim(x, 1, True, a, b) for a in (True, False) for b in (True, False)),
        *(lambda x, a=a, b=b: aten.unique_consecutive(x, a, b) for a in (True, False) for b in (True, False)),
        *(lambda x, a=a, b=b: aten.unique_consecutive(x, a, b, 0) for a in (True, False) for b in (True, False)),
        *(lambda x, a=a: aten._unique(x, True, a) for a in (True, False)),
    ):
        real, mode = call(x), FakeTensorMode(shape_env=ShapeEnv())
        with mode:
            fake = call(mode.from_tensor(x))
        for i, (r, f) in enumerate(zip(real, fake, strict=True)):
            assert r.dim() == f.dim() and (str(r.shape) == "torch.Size([0])") == (str(f.shape) == "torch.Size([0])"), (i, r.shape, f.shape)


if __name__ == "__main__":
    unittest.main()
