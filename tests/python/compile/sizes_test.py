"""Numbers of a program that come from sizes: a graph captured at one size gives eager mode's results at others, or says that it does not hold there."""

import io
import math
import unittest

from cresset.export import _conditions
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.utils._pytree import tree_leaves

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


def _row_of_size(x):
    y = x.clone()
    y[0] = x.shape[0]
    y[x.shape[0] // 2] -= x.shape[1]
    return y


def _heads(x):
    b, s, d = x.shape
    q = x.view(b, s, 2, d // 2).transpose(1, 2)
    return ((q @ q.mT / math.sqrt(d // 2)).softmax(-1) @ q).transpose(1, 2).reshape(b, s, d)


PROGRAMS = {
    "split": lambda x: torch.split(x, x.shape[0] // 2), "chunk": lambda x: x.chunk(x.shape[0] // 2), "tensor_split": lambda x: torch.tensor_split(x, 3),
    "narrow": lambda x: x.narrow(0, 1, x.shape[0] - 2), "view": lambda x: x.view(x.shape[0] // 2, 2, -1), "unflatten": lambda x: x.unflatten(0, (2, -1)),
    "expand": lambda x: x[:1].expand(2 * x.shape[0], -1, -1), "repeat": lambda x: x.repeat(2, 1, x.shape[0] // 2), "arange": lambda x: torch.arange(0, x.size(0), 2),
    "interleave": lambda x: x.repeat_interleave(x.shape[0] // 2, 1), "linspace": lambda x: torch.linspace(0, 1, x.shape[0]), "eye": lambda x: torch.eye(x.shape[0]),
    "ones": lambda x: torch.ones(x.shape), "full": lambda x: torch.full((2,), x.shape[0] / 2), "indices": lambda x: torch.tril_indices(x.shape[0], x.shape[1]),
    "tensor": lambda x: torch.tensor([[1, x.shape[0]], [x.shape[1], 2]]), "tensor of a mean": lambda x: torch.tensor([x.shape[0] / 4, 1]),
    "scale": lambda x: F.interpolate(x[None], scale_factor=1.5), "size": lambda x: F.interpolate(x[None], size=(x.shape[1] * 2, x.shape[2] + 1), mode="bilinear"),
    "adaptive": lambda x: F.adaptive_max_pool1d(x, x.shape[2] // 2), "pool": lambda x: F.avg_pool2d(x, x.shape[1:]), "unfold": lambda x: x.unfold(1, x.shape[1] // 2, 1),
    "pad": lambda x: F.pad(x, (0, -x.shape[2] % 8)), "reflect": lambda x: F.pad(x, (x.shape[2] - 1, 1), mode="reflect"), "roll": lambda x: x.roll(x.shape[0] // 2, 0),
    "select": lambda x: x[x.shape[0] // 2], "slice": lambda x: x[: x.shape[0] // 2], "steps": lambda x: x.flatten()[:: x.shape[0]], "cap": lambda x: x[:7],
    "strides": lambda x: x.as_strided((x.shape[0], x.shape[2]), (x.shape[1] * x.shape[2], 1)), "diagonal": lambda x: x.diagonal(x.shape[0] // 2 - 2, 0, 1),
    "tril": lambda x: x.tril(x.shape[0] // 2), "topk": lambda x: x.topk(x.shape[2] // 2)[0], "mean": lambda x: x.sum() / x.numel(), "power": lambda x: x.abs() ** (1 / x.shape[0]),
    "root": lambda x: x * x.shape[2] ** -0.5, "sqrt": lambda x: x / math.sqrt(x.shape[2]), "len": lambda x: x / len(x), "alpha": lambda x: torch.add(x, x, alpha=x.shape[0]),
    "norm": lambda x: F.layer_norm(x, x.shape[1:]), "groups": lambda x: F.group_norm(x[None], x.shape[0] // 2), "attention": _heads, "row": _row_of_size,
    "window": lambda x: torch.hann_window(x.shape[0]), "frequencies": lambda x: torch.fft.fftfreq(x.shape[0]), "rows": lambda x: torch.stack([r.sum() for r in x]),
    "loop": lambda x: sum(x[i].sum() * (i + 1) for i in range(x.shape[0])), "histogram": lambda x: torch.histc(x, x.shape[0]), "one hot": lambda x: F.one_hot(torch.arange(x.shape[0])),
    "size of the result": lambda x: (x.sin(), x.shape[0], x.shape[0] / 3), "shape of the result": lambda x: x.sin().shape, "branch": lambda x: x * 2 if x.shape[0] > 8 else x,
    "remainder": lambda x: torch.ones(x.shape[0] % 4 + 1), "equal": lambda x: x * (1 if x.shape[0] == x.shape[1] else 2), "not": lambda x: x if x.shape[0] != 8 else -x,
    "int": lambda x: torch.ones(int(x.shape[0] * 0.75)), "ceil": lambda x: torch.ones(math.ceil(x.shape[0] / 4)), "round": lambda x: torch.ones(round(x.shape[0] / 4)),
    "least": lambda x: x[: min(x.shape[0], x.shape[1])], "most": lambda x: torch.zeros(max(x.shape[0], x.shape[1])), "root of a size": lambda x: torch.ones(math.isqrt(x.shape[0])),
    "list": lambda x: [x.sum()] * x.shape[0], "among": lambda x: x * (2 if x.shape[0] in (6, 7) else 3), "shape": lambda x: x * (1 if tuple(x.shape) == (6, 8, 4) else 2),
}  # fmt: skip
#: Programs that take sizes as keys and texts, which only frames can capture.
TEXTS = {
    "key": lambda x: x * {6: 1.0}.get(x.shape[0], 5.0), "set": lambda x: x * len({x.shape[0], x.shape[1]}), "text": lambda x: x * float(f"{x.shape[0]}"),
    "percent": lambda x: x * float("%d" % x.shape[0]), "words": lambda x: x * len(str(x.shape) + repr(x.shape[1]) + "{}".format(x.shape[0])),
    "names": lambda x: [x, f"n{x.shape[0]}", f"{x.shape}"],
}  # fmt: skip

EXAMPLE, OTHERS = torch.linspace(-1, 1, 192).view(6, 8, 4), [torch.linspace(-1, 2, a * b * c).view(a, b, c) for a, b, c in ((10, 12, 6), (8, 8, 8), (4, 6, 10))]


class _Module(nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program

    def forward(self, x):
        return self.program(x)


def _exported(program):
    auto = torch.export.Dim.AUTO
    return torch.export.export(_Module(program), (EXAMPLE,), dynamic_shapes=({0: auto, 1: auto, 2: auto},))


class Sizes(unittest.TestCase):
    def assertSame(self, found, wanted):
        found, wanted = tree_leaves(found), tree_leaves(wanted)
        self.assertEqual([type(f) for f in found], [type(w) for w in wanted])
        for f, w in zip(found, wanted, strict=True):
            if isinstance(w, torch.Tensor):
                torch.testing.assert_close(f, w, equal_nan=True)
            else:
                self.assertEqual(f, w)

    def check(self, capture, programs=PROGRAMS, refusals=(AssertionError,)):
        """Graphs give eager mode's results; `refusals` are what they may raise at other sizes. Counts those that serve other sizes."""
        serve = 0
        for name, program in programs.items():
            torch._dynamo.reset()
            with self.subTest(name):
                run = capture(program)
                self.assertSame(run(EXAMPLE), program(EXAMPLE))
                refused = False
                for x in OTHERS:
                    try:
                        found = run(x)
                    except refusals:
                        refused = True
                        continue
                    self.assertSame(found, program(x))
                serve += not refused
        return serve

    def test_compiled(self):
        self.assertEqual(self.check(lambda program: torch.compile(program, dynamic=True), refusals=()), len(PROGRAMS))
        self.assertEqual(self.check(lambda program: torch.compile(program, dynamic=True, fullgraph=True), TEXTS, refusals=()), len(TEXTS))

    def test_traced(self):
        def capture(program):
            graph = make_fx(program, tracing_mode="symbolic")(EXAMPLE)
            inputs = [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")]

            def run(x):
                if not graph.shape_env.evaluate_guards_for_args(inputs, [x], ignore_static=False):
                    raise AssertionError
                return graph(x)

            return run

        self.assertGreater(self.check(capture), len(PROGRAMS) // 2)

    def test_exported(self):
        self.assertGreater(self.check(lambda program: _exported(program).module()), len(PROGRAMS) // 2)

    def test_exported_frames(self):
        for operators in (False, True):
            capture = lambda program, operators=operators: torch._dynamo.export(program, aten_graph=operators)(EXAMPLE)[0]  # noqa: E731
            self.assertGreater(self.check(capture), len(PROGRAMS) // 2)
            self.check(capture, TEXTS)

    def test_saved(self):
        for name in ("remainder", "equal", "not", "int", "most", "least", "branch"):
            with self.subTest(name):
                file = io.BytesIO()
                torch.export.save(_exported(PROGRAMS[name]), file)
                file.seek(0)
                loaded = torch.export.load(file)
                self.check(lambda program, loaded=loaded: loaded.module(), {name: PROGRAMS[name]})
                self.assertEqual(list(map(str, loaded._guards)), list(map(str, _exported(PROGRAMS[name])._guards)))

    def test_conditions_of_files_that_cannot_be_read_are_told(self):
        with self.assertWarnsRegex(UserWarning, "not checked"):
            self.assertEqual(_conditions.read(_exported(PROGRAMS["remainder"]), ["L['x'].stride()[0] == 3"]), [])


class ExportedFrames(unittest.TestCase):
    def test_the_graph_has_the_arguments_and_results_of_the_function(self):
        def program(x, scale=2.0, *, rest):
            return {"sum": x * scale + rest[0], "sizes": (x.shape[0], None), "own": x}

        x, y = torch.ones(3, 4), torch.ones(4)
        graph, _ = torch._dynamo.export(program)(x, scale=3.0, rest=[y, 7])
        inputs = list(graph.graph.find_nodes(op="placeholder"))
        self.assertEqual(len(inputs), 4)
        self.assertEqual(tree_leaves(graph(torch.ones(5, 4), scale=3.0, rest=[y, 7])["sizes"]), [5, None])
        self.assertTrue(torch.equal(graph(x, scale=3.0, rest=[y, 7])["sum"], x * 3 + y))
        with self.assertRaisesRegex(AssertionError, "3.0, got 4.0"):
            graph(x, scale=4.0, rest=[y, 7])

    def test_functions_without_operators(self):
        graph, _ = torch._dynamo.export(lambda x: (x, x.shape[0] + 1))(torch.ones(3))
        x = torch.ones(5)
        self.assertIs(graph(x)[0], x)
        self.assertEqual(graph(x)[1], 6)

    def test_edited_graphs(self):
        graph, _ = torch._dynamo.export(lambda x: x.sin() + 1)(torch.ones(3))
        next(iter(graph.graph.find_nodes(op="call_method", target="sin"))).target = "cos"
        graph.recompile()
        self.assertTrue(torch.equal(graph(torch.zeros(2)), torch.full((2,), 2.0)))

    def test_weights_are_attributes(self):
        layer = nn.BatchNorm1d(3).eval()
        graph, _ = torch._dynamo.export(layer)(torch.ones(2, 3))
        self.assertEqual({id(p) for p in graph.parameters()}, {id(p) for p in layer.parameters()})
        with torch.no_grad():
            layer.bias.fill_(5)
        self.assertTrue(torch.equal(graph(torch.zeros(4, 3)), layer(torch.zeros(4, 3))))

    def test_dimensions_that_are_open(self):
        batch = torch.export.Dim("batch", max=16)
        export = torch._dynamo.export(lambda x: x * 2, dynamic_shapes=({0: batch},), assume_static_by_default=True)
        x = torch.ones(3, 4)
        graph, guards = export(x)
        self.assertEqual(graph(torch.ones(9, 4)).shape, (9, 4))
        self.assertTrue(any("16" in str(guard) for guard in guards), guards)
        self.assertFalse(hasattr(x, "_dynamo_dynamic_indices"))
        with self.assertRaisesRegex(RuntimeError, "dynamic"):
            torch._dynamo.export(lambda x: x * 2 if x.shape[0] == 3 else x, dynamic_shapes=({0: batch},), assume_static_by_default=True)(x)

    def test_leaves_alone(self):
        graph, _ = torch._dynamo.export(lambda x: {"a": x[0] + x[1]}, same_signature=False, aten_graph=True)([torch.ones(2), torch.ones(2)])
        (found,) = graph(torch.ones(3), torch.ones(3))
        self.assertEqual(found.tolist(), [2.0] * 3)

    def test_sizes_that_are_equal_in_the_example(self):
        for operators in (False, True):
            graph, _ = torch._dynamo.export(lambda x: x.sin() * x.shape[0] + x.shape[1], aten_graph=operators)(torch.ones(4, 4))
            x = torch.ones(6, 3)
            self.assertTrue(torch.equal(graph(x), x.sin() * 6 + 3))
            graph, _ = torch._dynamo.export(lambda x: x @ x, aten_graph=operators)(torch.ones(4, 4))
            self.assertRaises(AssertionError, graph, x)

    def test_names_of_arguments(self):
        graph, _ = torch._dynamo.export(lambda x, *rest, last: x + rest[1] + last)(torch.ones(2), torch.ones(2), torch.ones(2), last=torch.ones(2))
        self.assertIn("forward(self, x, rest_0, rest_1, last)", graph.code)
        self.assertEqual([node.target for node in graph.graph.find_nodes(op="placeholder")], ["arg0", "arg1", "arg2", "arg3"])

    def test_graphs_are_compiled_whole(self):
        graph, _ = torch._dynamo.export(lambda x: {"sin": x["a"].sin()})({"a": torch.ones(3)})
        program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),)).module()
        self.assertTrue(torch.equal(torch.compile(graph.forward, fullgraph=True)({"a": torch.zeros(3)})["sin"], torch.zeros(3)))
        self.assertEqual(torch.compile(program, fullgraph=True)(torch.ones(4, 3)).shape, (4, 2))

    def test_functions_whose_result_is_constant(self):
        @torch._dynamo.assume_constant_result
        def rows(x):
            return x.nonzero()

        graph, _ = torch._dynamo.export(lambda x: x + rows(x).sum())(torch.tensor([0.0, 1.0, 2.0]))
        self.assertEqual(graph(torch.tensor([0.0, 0.0, 5.0])).tolist(), [3.0, 3.0, 8.0])

    def test_options_that_do_not_exist(self):
        self.assertRaises(TypeError, lambda: torch._dynamo.export(lambda x: x, no_such_option=True)(torch.ones(1)))


if __name__ == "__main__":
    unittest.main()
