"""Logs of the compiler: `TORCH_LOGS=graph_breaks,recompiles,guards,graph_code` prints it; what concerns everyone is a warning, once."""

import os
import sys
import traceback
import warnings

_told = set()


def _wanted():
    return {name.strip().lstrip("+") for name in os.environ.get("TORCH_LOGS", "").split(",") if name.strip()}


def is_on(artifact):
    """Whether a kind of log is asked for: by its name, or by "dynamo" or "all"."""
    wanted = _wanted()
    return bool(wanted) and not wanted.isdisjoint((artifact, "dynamo", "all"))


def _say(artifact, text):
    if is_on(artifact):
        print(f"[torch.compile {artifact}] {text}", file=sys.stderr)


def graph_break(text):
    """A graph has ended early."""
    _say("graph_breaks", text)


def graph(module):
    """A graph goes to the backend."""
    if is_on("graph_code"):
        _say("graph_code", module.code)


def recompile(compiler, function, code):
    """A function is compiled once more."""
    _say("recompiles", f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno}) is compiled again: no known graph fits its arguments")


def guards(entry):
    """A new entry has these guards."""
    if is_on("guards"):
        _say("guards", entry.guards.text())


def debug_error(error):
    """A capture has ended with an error."""
    if os.environ.get("CRESSET_COMPILE_DEBUG"):
        traceback.print_exception(error)


def once(text):
    """A warning that is given once."""
    if text not in _told:
        _told.add(text)
        warnings.warn(text, stacklevel=2)


def reset():
    """Forgets what was told."""
    _told.clear()
