"""Graphs in files: `.pt2` programs, as ``torch.export.save`` writes them, and the text of graphs.

``python -m cresset.graph show FILE`` prints one from the command line.
"""

from __future__ import annotations

import os

import _cresset_graph

__all__ = ["describe", "dot", "text"]


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
