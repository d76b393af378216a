"""Drawings of graphs, as text for Graphviz and, where its program `dot` is installed, as pictures."""

import hashlib
import shutil
import subprocess

from .._compatibility import compatibility
from ..graph import _parse_stack_trace
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name

__all__ = ["FxGraphDrawer"]

_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey", "output": "PowderBlue"}
_HASHED = ("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1", "LightSkyBlue", "MistyRose1", "MistyRose2",
           "PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1", "Thistle3", "Wheat1")  # fmt: skip


class Drawing:
    """A graph in the language of Graphviz."""

    def __init__(self, name):
        self.name, self.lines = name, []

    def add_node(self, name, label, **attributes):
        """Add a box."""
        told = "".join(f', {key}="{value}"' for key, value in attributes.items())
        self.lines.append(f'{_quoted(name)} [label="{label}"{told}];')

    def add_edge(self, source, target):
        """Add an arrow."""
        self.lines.append(f"{_quoted(source)} -> {_quoted(target)};")

    def to_string(self):
        """The text."""
        return "\n".join([f"digraph {_quoted(self.name)} {{", "rankdir=TB;", *self.lines, "}"]) + "\n"

    __str__ = to_string

    def create(self, prog="dot", format="svg", encoding=None):  # noqa: A002
        """The picture as bytes. Errors: RuntimeError where Graphviz is not installed or fails."""
        if shutil.which(prog) is None:
            raise RuntimeError(f"FxGraphDrawer: needs the program {prog!r} of Graphviz, which is not installed; write_raw gives its input without it")
        done = subprocess.run([prog, f"-T{format}"], input=self.to_string().encode(), capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"FxGraphDrawer: {prog} ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def create_svg(self):
        """The picture in SVG, as bytes."""
        return self.create(format="svg")

    def create_png(self):
        """The picture in PNG, as bytes."""
        return self.create(format="png")

    def write(self, path, format="svg", prog="dot"):  # noqa: A002
        """Write the picture, or with the format "raw" the text, to a file."""
        content = self.to_string().encode() if format in ("raw", "dot") else self.create(prog, format)
        with open(path, "wb") as file:
            file.write(content)

    def write_raw(self, path, prog=None, encoding=None):
        """Write the text to a file."""
        self.write(path, "raw")

    def write_svg(self, path):
        """Write the picture in SVG to a file."""
        self.write(path, "svg")

    def write_png(self, path):
        """Write the picture in PNG to a file."""
        self.write(path, "png")


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escaped(text):
    """Text within a label of fields."""
    return "".join("\\" + c if c in '{}<>|"\\' else c for c in str(text)).replace("\n", "\\n")


@compatibility(is_backward_compatible=False)
class FxGraphDrawer:
    """Draws a module's graph: a box for each node, with op, target, arguments and the shape of its value where ShapeProp has noted it.

    Args:
        graph_module: the module.
        name: the title.
        ignore_getattr: leave out nodes that get attributes.
        ignore_parameters_and_buffers: leave out the shapes of modules' parameters.
        skip_node_names_in_args: show arguments that are no nodes alone.
        parse_stack_trace: show the line of the program.
        dot_graph_shape: the shape of boxes.
        normalize_args: show arguments by name.

    >>> drawer = torch.fx.passes.graph_drawer.FxGraphDrawer(torch.fx.symbolic_trace(lambda x: x + 1), "mine")
    >>> print(drawer.get_dot_graph().to_string().split("\\n")[0])
    digraph "mine" {
    """

    def __init__(
        self, graph_module, name, ignore_getattr=False, ignore_parameters_and_buffers=False, skip_node_names_in_args=True, parse_stack_trace=False,
        dot_graph_shape=None, normalize_args=False,
    ):  # fmt: skip
        self._name, self.normalize_args = name, normalize_args
        self.dot_graph_shape = "record" if dot_graph_shape is None else dot_graph_shape
        self.ignore_getattr, self.ignore_parameters_and_buffers = ignore_getattr, ignore_parameters_and_buffers
        self.skip_node_names_in_args, self.parse_stack_trace = skip_node_names_in_args, parse_stack_trace
        self._dot_graphs = {name: self._drawn(graph_module, name)}
        for child_name, child in graph_module.named_children():
            if isinstance(child, GraphModule):
                self._dot_graphs[f"{name}_{child_name}"] = self._drawn(child, f"{name}_{child_name}")

    def get_dot_graph(self, submod_name=None):
        """The drawing of the module, or of one of its submodules: `to_string`, `create_svg`, `write_svg` and the like."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self):
        """The drawing of the module."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name):
        """The drawing of a submodule."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self):
        """{name: drawing} of the module and its submodules."""
        return self._dot_graphs

    def _drawn(self, graph_module, name):
        drawing = Drawing(name)
        shown = [n for n in graph_module.graph.nodes if not (self.ignore_getattr and n.op == "get_attr")]
        for node in shown:
            drawing.add_node(node.name, self._label(graph_module, node), shape=self.dot_graph_shape, style="filled", fillcolor=self._color(node))
        for node in shown:
            for user in node.users:
                drawing.add_edge(node.name, user.name)
        return drawing

    def _color(self, node):
        if node.op in _COLORS:
            return _COLORS[node.op]
        target = self._typename(node.target)
        return _HASHED[int(hashlib.md5(target.encode(), usedforsecurity=False).hexdigest()[:8], 16) % len(_HASHED)]

    def _typename(self, target):
        return target if isinstance(target, str) else _get_qualified_name(target)

    def _label(self, graph_module, node):
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            module = graph_module.get_submodule(node.target)
            rows.append(f"{type(module).__module__}.{type(module).__name__}")
            if not self.ignore_parameters_and_buffers:
                rows += [f"{name}: {list(p.shape)}" for name, p in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))]
        rows.append(f"target={self._typename(node.target)}")
        rows += self._arguments(graph_module, node)
        rows.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta", node.meta.get("val"))
        if hasattr(meta, "dtype") and hasattr(meta, "shape"):
            rows += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
        if self.parse_stack_trace and (found := _parse_stack_trace(node.stack_trace)):
            rows.append(f"file={found.file}:{found.lineno} {found.code}")
        return "{" + "|".join(_escaped(row) for row in rows) + "}"

    def _arguments(self, graph_module, node):
        args, kwargs = node.args, node.kwargs
        if self.normalize_args:
            try:
                found = node.normalized_arguments(graph_module, normalize_to_only_use_kwargs=True)
            except RuntimeError:
                found = None
            args, kwargs = (args, kwargs) if found is None else found
        rows = []
        if args and not (self.skip_node_names_in_args and all(isinstance(a, Node) for a in args)):
            rows.append(f"args={tuple(a for a in args if not (self.skip_node_names_in_args and isinstance(a, Node)))}")
        if kwargs:
            rows.append(f"kwargs={dict(kwargs)}")
        return rows
