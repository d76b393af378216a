"""A first look at where a script spends its time: ``python -m cresset.utils.bottleneck script.py arguments``.

The script runs twice, under Python's profiler and under Cresset's, and each one's dearest rows are printed below a line about the machine.
"""

import contextlib
import cProfile
import io
import os
import pstats
import runpy
import sys

import cresset as torch

__all__ = ["report"]

_RULE = "-" * 80


@contextlib.contextmanager
def _as_main(script, arguments):
    """In its scope the interpreter looks as if it had been started with the script."""
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:] = [script, *arguments], [os.path.dirname(os.path.abspath(script)), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


def _run(script, arguments):
    with _as_main(script, arguments), contextlib.suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")


def report(script, arguments=(), rows=15):
    """Runs a script twice and says where its time went: in Python, and in operators.

    Args:
        script: the file.
        arguments: of its command line.
        rows: of each table.

    Errors: FileNotFoundError for a file that is not there; what the script raises.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "small.py")
    ...     _ = open(path, "w").write("import cresset; cresset.ones(2).cos()")
    ...     "aten::cos" in torch.utils.bottleneck.report(path)
    True
    """
    if not os.path.isfile(script):
        raise FileNotFoundError(f"bottleneck: there is no script {script!r}")
    from ...profiler import profile

    python = cProfile.Profile()
    python.enable()
    try:
        _run(script, arguments)
    finally:
        python.disable()
    functions = io.StringIO()
    pstats.Stats(python, stream=functions).sort_stats("tottime").print_stats(rows)
    with profile() as operators:
        _run(script, arguments)
    sections = {
        "Machine": f"cresset {torch.__version__}, Python {sys.version.split()[0]}, {torch.get_num_threads()} threads of {os.cpu_count()} processors",
        "Python functions, by their own time": functions.getvalue().strip(),
        "Operators, by their own time": operators.key_averages().table(sort_by="self_cpu_time_total", row_limit=rows),
    }
    return "\n".join(f"{_RULE}\n{title}\n{_RULE}\n{text}\n" for title, text in sections.items())
