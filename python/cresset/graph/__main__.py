"""Prints a graph: ``python -m cresset.graph show FILE [--as table|text|dot|svg]``, or ``python -m cresset.graph mlir FILE``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from cresset import graph


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 1 for a file that cannot be read, with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m cresset.graph", description="Prints graphs of programs.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="print a .pt2 program or the text of a graph")
    show.add_argument("file")
    show.add_argument(
        "--as", dest="form", choices=["table", "text", "dot", "svg"], default="table", help="table with costs (the default), text that reads back, a drawing"
    )
    mlir = commands.add_parser("mlir", help="print a .pt2 program as MLIR: func, tensor, linalg, arith, math and scf")
    mlir.add_argument("file")
    options = parser.parse_args(arguments)
    try:
        if options.command == "mlir":
            print(graph.mlir(options.file), end="")
            return 0
        if options.form == "svg":
            return draw(graph.dot(options.file))
        print({"table": graph.describe, "text": graph.text, "dot": graph.dot}[options.form](options.file), end="")
    except (RuntimeError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def draw(drawing: str) -> int:
    """Prints a drawing as SVG, through Graphviz."""
    program = shutil.which("dot")
    if not program:
        print("--as svg needs Graphviz, whose program 'dot' is not installed (Debian: graphviz); --as dot prints its input", file=sys.stderr)
        return 1
    return subprocess.run([program, "-Tsvg"], input=drawing, text=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
