"""Graphs of C++: in files (`.pt2` programs, as ``torch.export.save`` writes them, and text), and as objects that are changed and run without Python.

``python -m cresset.graph show FILE`` prints one from the command line, ``python -m cresset.graph mlir FILE`` as MLIR.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import _cresset_graph

if TYPE_CHECKING:
    from ..export import ExportedProgram
    from ..fx import GraphModule

__all__ = ["Graph", "Program", "describe", "dot", "from_fx", "load_program", "mlir", "text"]


def describe(path: str | os.PathLike[str]) -> str:
    """A table of the nodes of a graph file: name, operator, type, multiply-adds, and bytes read and written.

    Sizes that are symbols give expressions. Errors: ``RuntimeError`` for a file that cannot be read, ``ValueError`` for one that is no
    graph, with the place.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.txt"
    >>> _ = file.write_text("graph @f(%x: float32[3]) {\\n  %y: float32[3] = relu(%x)\\n  return %y\\n}\\n")
    >>> print(torch.graph.describe(file), end="")
    graph f
      input %x: float32[3]
      0 weights, 0 bytes
    node  operator  result      MACs  bytes
    %y    relu      float32[3]           24
    results: %y
    total: 1 nodes, 0 MACs, 24 bytes
    """
    return _cresset_graph.describe(os.fspath(path))


def dot(path: str | os.PathLike[str]) -> str:
    """A drawing of a graph file in the language of Graphviz. Errors: as ``describe``.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.txt"
    >>> _ = file.write_text("graph @f(%x: float32[3]) {\\n  %y: float32[3] = relu(%x)\\n  return %y\\n}\\n")
    >>> print(torch.graph.dot(file), end="")
    digraph "f" {
      node [shape=box];
      "%x" [shape=ellipse, label="x
    float32[3]"];
      "%y" [label="relu\\nfloat32[3]"];
      "%x" -> "%y";
      "return" [label="return"];
      "%y" -> "return";
    }
    """
    return _cresset_graph.dot(os.fspath(path))


def text(path: str | os.PathLike[str]) -> str:
    """The text of a graph file, which reads back as the same graph. Errors: as ``describe``.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.txt"
    >>> _ = file.write_text("graph @f(%x: float32[3]) {\\n  %y: float32[3] = relu(%x)\\n  return %y\\n}\\n")
    >>> print(torch.graph.text(file), end="")
    graph @f(%x: float32[3]) {
      %y: float32[3] = relu(%x)
      return %y
    }
    """
    return _cresset_graph.text(os.fspath(path))


class Graph:
    """A graph of C++ (``cresset::graph``), with the graphs that it calls: what TorchScript, export and compilers have in common.

    Made from text, a file or a graph of `torch.fx`; passes change it in place. Errors: ``ValueError`` for text that is no graph, with line and column.

    >>> graph = torch.graph.Graph("graph @f(%x: float32[2]) { %y: Tensor = mul.Scalar(%x, 2) %z: Tensor = mul.Scalar(%x, 2) %s: Tensor = add.Tensor(%y, %z, 1) return %s }")
    >>> graph.run_pass("common"), graph.run_pass("shapes")
    (1, 2)
    >>> print(graph, end="")
    graph @f(%x: float32[2]) {
      %y: float32[2] = mul.Scalar(%x, 2)
      %s: float32[2] = add.Tensor(%y, %y, 1)
      return %s
    }
    >>> graph(torch.tensor([1.0, 2.0]))
    tensor([4., 8.])
    """

    def __init__(self, text: str) -> None:
        self._graph = _cresset_graph.Graph.parse(text)

    @classmethod
    def _of(cls, graph: _cresset_graph.Graph) -> Graph:
        made = cls.__new__(cls)
        made._graph = graph
        return made

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Graph:
        """The graph in a `.pt2` file, or in a file of text. Operators that this library lacks are kept; such a graph does not run."""
        return cls._of(_cresset_graph.Graph.open(os.fspath(path)))

    def __call__(self, *inputs: Any) -> Any:
        """Runs the graph on flat inputs, without Python: one result, or a tuple of several. Errors: what operators raise, with the node."""
        found = self._graph.run(inputs)
        return found[0] if len(found) == 1 else tuple(found)

    def __str__(self) -> str:
        return self._graph.text()

    def describe(self) -> str:
        """A table of the nodes: type, multiply-adds, bytes read and written."""
        return self._graph.describe()

    def dot(self) -> str:
        """A drawing in the language of Graphviz."""
        return self._graph.dot()

    def constants(self) -> dict[str, Any]:
        """The tensors that the graph names with @; None where one has no data yet."""
        return self._graph.constants()

    def bind(self, name: str, tensor: Any) -> None:
        """Gives the tensor @name its data."""
        self._graph.bind(name, tensor)

    def run_pass(self, name: str) -> int:
        """Runs a pass: "dead" code, "common" subexpressions, "constants" folded, "shapes" propagated, or "functional" instead of writes. Returns how much
        it changed."""
        return self._graph.run_pass(name)

    def rewrite(self, pattern: str, replacement: str) -> int:
        """Replaces each match of a pattern by a replacement, both texts of graphs with the same parameters and results. Returns the number of matches."""
        return self._graph.rewrite(pattern, replacement)

    def decompose(self, table: dict[str, str]) -> int:
        """Replaces operators by graphs, given as texts by the operator's name. Returns how many were replaced."""
        return self._graph.decompose(table)

    def partition(self, operators: Any, min_nodes: int = 1) -> Graph:
        """The same program with groups of these operators, by name, as graphs of their own, which the first one calls."""
        return Graph._of(self._graph.partition(operators, min_nodes))

    def memory(self) -> dict[str, Any]:
        """Figures of the plan of memory of the last run: the number of intermediate blocks with a place, their bytes together, the bytes of the arena that
        they share, and whether the run found them all there, as all but the first with inputs of these sizes do."""
        return self._graph.memory()

    def to_fx(self) -> GraphModule:
        """The graph as a module of `torch.fx`, operator for operator. Errors: ``NotImplementedError`` for branches, loops and calls.

        >>> graph = torch.graph.Graph("graph @f(%x: float32[2]) { %y: Tensor = relu(%x) return %y }")
        >>> print(graph.to_fx().graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
            return y
        """
        from ._convert import module_of

        return module_of(self._graph)


def from_fx(module: GraphModule) -> Graph:
    """The graph of a module of operators, as ``make_fx`` and ``torch.export`` make them; its nodes have ``meta["val"]``.

    Attributes become named constants, nested results a flat list. Errors: ``ValueError`` for calls that are no operators, with the node.

    >>> from cresset.fx.experimental.proxy_tensor import make_fx
    >>> graph = torch.graph.from_fx(make_fx(lambda x: torch.relu(x) + 1)(torch.ones(2)))
    >>> print(graph, end="")
    graph @graph(%x_1: float32[2]) {
      %relu: float32[2] = relu(%x_1)
      %add: float32[2] = add.Scalar(%relu, 1, 1)
      return %add
    }
    >>> graph(torch.tensor([-1.0, 1.0]))
    tensor([1., 2.])
    """
    from ._convert import document_of

    return Graph._of(document_of(module))


class Program:
    """A `.pt2` file that runs in C++, on the library of graphs alone: ``load_program`` makes it.

    Arguments and results are nested as those of the module that was exported. Errors: ``ValueError`` for arguments of other sizes or dtypes than the
    program was exported for; what operators raise, with the node.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "m.pt2"
    >>> torch.export.save(torch.export.export(nn.Linear(2, 1), (torch.zeros(3, 2),)), file)
    >>> program = torch.graph.load_program(file)
    >>> program(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(self, program: _cresset_graph.Program) -> None:
        from ..utils import _pytree

        self._program = program
        inputs, outputs = program.trees()
        self._inputs = _pytree.treespec_loads(inputs) if inputs else None
        self._outputs = _pytree.treespec_loads(outputs) if outputs else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..utils import _pytree

        if self._inputs is not None:  # names in any order
            names = self._inputs.child(1).context
            kwargs = {name: kwargs[name] for name in names} if set(names) == set(kwargs) else kwargs
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        if self._inputs is not None and spec != self._inputs:
            raise ValueError(f"load_program: expected arguments nested as {self._inputs}, got {spec}")
        found = self._program.run(leaves)
        return _pytree.tree_unflatten(found, self._outputs) if self._outputs is not None else found

    def __str__(self) -> str:
        return self._program.text()

    def memory(self) -> dict[str, Any]:
        """As ``Graph.memory``."""
        return self._program.memory()


def load_program(path: str | os.PathLike[str], model: str | None = None) -> Program:
    """A program from a `.pt2` file, ready to run in C++.

    Args:
        path: of the file.
        model: the name of the program in a file that has several; by default the only one, or "model".

    Nothing in the file can run code. Errors: ``ValueError`` for a file that is damaged or of another version, with the node and the field, and for a
    model that is not there, with the names of those that are; ``NotImplementedError`` for operators that this library lacks, all named.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "m.pt2"
    >>> torch.export.save(torch.export.export(nn.ReLU(), (torch.zeros(2),)), file)
    >>> torch.graph.load_program(file)(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    return Program(_cresset_graph.Program.load(os.fspath(path), model or ""))


def mlir(program: str | os.PathLike[str] | ExportedProgram) -> str:
    """A `.pt2` file, or an exported program, as textual MLIR in the dialects `func`, `tensor`, `linalg`, `arith`, `math` and `scf`.

    The text is one function `main` of the program's inputs. Parameters and buffers are constants in it; buffers that the program writes are results before
    its own. Errors: ``NotImplementedError`` for operators and dtypes without a rule, all named, and for sizes that are symbols.

    >>> print(torch.graph.mlir(torch.export.export(nn.ReLU(), (torch.zeros(2),))), end="")
    module {
      func.func @main(%input: tensor<2xf32>) -> (tensor<2xf32>) attributes {llvm.emit_c_interface} {
        %1 = tensor.empty() : tensor<2xf32>
        %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%input : tensor<2xf32>) outs(%1 : tensor<2xf32>) {
        ^bb0(%2: f32, %3: f32):
          %4 = arith.constant 0.0 : f32
          %5 = arith.cmpf olt, %2, %4 : f32
          %6 = arith.select %5, %4, %2 : f32
          linalg.yield %6 : f32
        } -> tensor<2xf32>
        return %7 : tensor<2xf32>
      }
    }
    """
    from .. import export
    from ._mlir import text_of

    return text_of(program if isinstance(program, export.ExportedProgram) else export.load(program))
