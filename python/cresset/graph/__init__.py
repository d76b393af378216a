"""Graphs in files: `.pt2` programs, as ``torch.export.save`` writes them, and the text of graphs.

``python -m cresset.graph show FILE`` prints one from the command line.
"""

from __future__ import annotations

import os

import _cresset_graph

__all__ = ["describe", "dot", "text"]


def describe(path: str | os.PathLike[str]) -> str:
    """A table of the nodes of a graph file: name, operator, type, multiply-adds, and bytes read and written.

    Sizes that are symbols give expressions. Errors: ``ValueError`` for a file that is no graph, with the place.
    """
    return _cresset_graph.describe(os.fspath(path))


def dot(path: str | os.PathLike[str]) -> str:
    """A drawing of a graph file in the language of Graphviz. Errors: as ``describe``."""
    return _cresset_graph.dot(os.fspath(path))


def text(path: str | os.PathLike[str]) -> str:
    """The text of a graph file, which reads back as the same graph. Errors: as ``describe``."""
    return _cresset_graph.text(os.fspath(path))
