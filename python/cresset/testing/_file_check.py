"""Checks of a text by patterns in their order."""

import functools

import _cresset_graph as _graph


def _check(name, doc):
    def method(self, pattern):
        _graph.file_check_add(self._checks, name, pattern)
        return self

    method.__name__, method.__qualname__, method.__doc__ = name, f"FileCheck.{name}", doc
    return method


class FileCheck:
    """Checks of a text, for instance of a printed graph: a list of patterns, each of which is searched for behind the match of the one before.
    The methods return the object itself. An object that goes without `run` having been called prints its checks: it has tested nothing.

    >>> torch.testing.FileCheck().check("mul").check_not("mul").check("return").run("%3 = mul(%1, %2)\\nreturn %3")
    """

    __module__ = "torch"

    def __init__(self):
        self._checks = _graph.file_check()

    check = _check("check", "The text comes later.")
    check_not = _check("check_not", "The text stands nowhere between the match before and the one after, or the end.")
    check_same = _check("check_same", "The text comes later in the same line.")
    check_next = _check("check_next", "The text comes in the next line.")
    check_dag = _check("check_dag", "Neighbours of this kind come in any order.")
    check_source_highlighted = _check("check_source_highlighted", "The text comes later, with as many `~` below it and no others beside those.")
    check_regex = _check("check_regex", "A match of the regular expression, in the syntax of ECMAScript, comes later.")

    def check_count(self, str, count, exactly=False):
        """The text comes `count` times and, with `exactly`, not once more before the match of the next check.

        Raises:
            RuntimeError: a count of 0 without `exactly`, or below 0.
        """
        _graph.file_check_count(self._checks, str, count, exactly)
        return self

    def run(self, checks_file, test_file=None):
        """Runs the checks.

        Args:
            checks_file: the text or graph, if it is the only argument; else a text whose lines `# CHECK: pattern`, `# CHECK-NEXT: pattern`,
                `-SAME`, `-NOT`, `-DAG`, `-COUNT-3`, `-COUNT-EXACTLY-3`, `-SOURCE-HIGHLIGHTED` and `-REGEX` are more checks.
            test_file: the text or graph.
        Raises:
            RuntimeError: the first check that fails, no checks, or a line of checks that cannot be read.
            TypeError: something else than a text or a graph.
        """
        checks, tested = (None, checks_file) if test_file is None else (checks_file, test_file)
        _graph.file_check_run(self._checks, checks, _text_of(tested))


@functools.lru_cache(None)
def _graph_type():
    from ..jit._ir import Graph

    return Graph


def _text_of(tested):
    if isinstance(tested, str):
        return tested
    if isinstance(tested, _graph_type()):
        return str(tested)
    raise TypeError(f"FileCheck.run: expected a text or a graph of TorchScript, got {type(tested).__name__}")
