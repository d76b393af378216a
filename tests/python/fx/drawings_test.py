"""Drawings of graphs: their options, the files that they are written to, and Graphviz, whose place a program of the test takes."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cresset.functorch.compile import draw_graph
from cresset.fx.passes import graph_drawer
from cresset.fx.passes.shape_prop import ShapeProp

import cresset as torch
from cresset import fx, nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)
DATA = Path(__file__).parents[2] / "graph/data"
# Says what it was asked for and how many lines it got; refuses drawings with the word "refuse".
DOT = """#!/bin/sh
text=$(cat)
case "$text" in *refuse*) echo "syntax error in line 1" >&2; exit 3 ;; esac
printf '<svg of %s, %s lines>' "$1" "$(printf '%s\\n' "$text" | wc -l)"
"""


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(3, 2), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return torch.add(self.layer(x), self.scale, alpha=2)


def drawer(module=None, name="net", **options):
    return graph_drawer.FxGraphDrawer(module or fx.symbolic_trace(Net()), name, **options)


def text(**options):
    return drawer(**options).get_dot_graph().to_string()


class Options(unittest.TestCase):
    def test_nodes_that_get_attributes(self):
        self.assertIn('"scale" -> "add"', text())
        self.assertNotIn("scale", text(ignore_getattr=True))

    def test_shapes_of_parameters(self):
        for shown in ("weight: [2, 3]", "bias: [2]"):
            self.assertIn(shown, text())
            self.assertNotIn(shown, text(ignore_parameters_and_buffers=True))

    def test_arguments(self):
        self.assertIn(r"kwargs=\{'alpha': 2\}", text())
        self.assertNotIn("args=(layer", text())
        self.assertIn("args=(layer, scale)", text(skip_node_names_in_args=False))
        self.assertIn(r"kwargs=\{'input': x\}", text(normalize_args=True))
        self.assertNotIn("'input'", text())

    def test_boxes_and_colours(self):
        self.assertIn('shape="record"', text())
        self.assertIn('shape="box"', text(dot_graph_shape="box"))
        for node, colour in (("x", "AliceBlue"), ("layer", "LemonChiffon1"), ("scale", "LightGrey"), ("output", "PowderBlue")):
            (line,) = [line for line in text().splitlines() if line.startswith(f'"{node}" [')]
            self.assertIn(f'fillcolor="{colour}"', line)

    def test_lines_of_the_program(self):
        tracer = fx.Tracer()
        tracer.record_stack_traces = True
        module = fx.GraphModule(Net(), tracer.trace(Net()))
        self.assertIn("drawings_test.py:", text(module=module, parse_stack_trace=True))
        self.assertNotIn("drawings_test.py:", text(module=module))

    def test_values_of_a_run(self):
        module = fx.symbolic_trace(Net())
        self.assertNotIn("shape=(", text(module=module))
        ShapeProp(module).propagate(X)
        self.assertIn("dtype=torch.float32|shape=(2, 2)", text(module=module))

    def test_submodules_are_drawings_of_their_own(self):
        inner = fx.symbolic_trace(lambda x: torch.relu(x))
        graph = fx.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        drawn = drawer(fx.GraphModule({"inner": inner}, graph))
        self.assertEqual(list(drawn.get_all_dot_graphs()), ["net", "net_inner"])
        self.assertIs(drawn.get_dot_graph("inner"), drawn.get_submod_dot_graph("inner"))
        self.assertIn("torch.relu", drawn.get_dot_graph("inner").to_string())
        self.assertNotIn("torch.relu", drawn.get_main_dot_graph().to_string())


class Pictures(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = self.folder / "bin/dot"
        program.parent.mkdir()
        program.write_text(DOT)
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        self.enterContext(mock.patch.dict(os.environ, {"PATH": f"{program.parent}:{os.environ['PATH']}"}))

    def test_kinds_of_files(self):
        drawing = drawer().get_dot_graph()
        lines = drawing.to_string().count("\n")
        self.assertEqual(drawing.create_svg(), f"<svg of -Tsvg, {lines} lines>".encode())
        self.assertEqual(drawing.create_png(), f"<svg of -Tpng, {lines} lines>".encode())
        for write, kind in ((drawing.write_svg, "svg"), (drawing.write_png, "png"), (lambda path: drawing.write(path, "pdf"), "pdf")):
            write(self.folder / "picture")
            self.assertEqual((self.folder / "picture").read_text(), f"<svg of -T{kind}, {lines} lines>")
        drawing.write_raw(self.folder / "raw")
        self.assertEqual((self.folder / "raw").read_text(), str(drawing))

    def test_what_graphviz_refuses(self):
        with self.assertRaisesRegex(RuntimeError, "dot ended with 3: syntax error in line 1"):
            drawer(name="refuse").get_dot_graph().create_svg()

    def test_programs_that_are_not_there(self):
        with self.assertRaisesRegex(RuntimeError, "needs the program 'no-such-program' of Graphviz"):
            drawer().get_dot_graph().create(prog="no-such-program")

    def test_joint_graphs_are_written_by_the_ending_of_the_name(self):
        module = fx.symbolic_trace(lambda x: x + 1)
        for name, wanted in (("a.png", "-Tpng"), ("b", "-Tsvg")):
            draw_graph(module, str(self.folder / name))
            self.assertIn(wanted, (self.folder / (name if "." in name else f"{name}.svg")).read_text())

    def test_the_command_line_shows_files_of_all_kinds_as_pictures(self):
        for file in (DATA / "block.pt2", DATA / "counter.pt2"):
            done = subprocess.run([sys.executable, "-m", "cresset.graph", "show", str(file), "--as", "svg"], capture_output=True, text=True, check=True)
            self.assertRegex(done.stdout, r"^<svg of -Tsvg, [0-9]+ lines>$")

    def test_the_command_line_without_graphviz(self):
        done = subprocess.run(
            [sys.executable, "-m", "cresset.graph", "show", str(DATA / "block.pt2"), "--as", "svg"],
            capture_output=True, text=True, check=False, env={**os.environ, "PATH": "/nonexistent"},
        )  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs Graphviz, whose program 'dot' is not installed", done.stderr)


if __name__ == "__main__":
    unittest.main()
