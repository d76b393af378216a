"""torch.jit: TorchScript, a language of typed Python functions and modules that run, and are saved, without Python.

`script` compiles a function, class or module; `trace` writes down what a call does; `save` and `load` go through files that PyTorch reads and writes.

    >>> @torch.jit.script
    ... def total(xs: list[torch.Tensor]) -> torch.Tensor:
    ...     sum = torch.zeros(2)
    ...     for x in xs:
    ...         sum = sum + x
    ...     return sum
    >>> total([torch.ones(2), torch.ones(2)])
    tensor([2., 2.])
"""

import importlib
from typing import Final

_SUBMODULES = ...
_HOMES = {
    "._api": """CompilationUnit Error TracerWarning _awaitable _awaitable_nowait _awaitable_wait _fork _unwrap_optional _wait annotate enable_onednn_fusion export export_opnames fork freeze
        fuser ignore is_scripting is_tracing isinstance last_executed_optimized_graph limits onednn_fusion_enabled optimize_for_inference optimized_execution
        run_frozen_optimizations script script_if_tracing script_method set_fusion_strategy strict_fusion unused wait""",
    "._classes": "interface",
    "._files": "jit_module_from_flatbuffer load save save_jit_module_to_flatbuffer",
    "._function": "ScriptFunction",
    "._marks": "Attribute _Await",
    "._module": "RecursiveScriptModule ScriptModule",
    "._trace": "TopLevelTracedModule TracedModule TracingCheckError trace trace_module",
    "..futures": "Future",
}
_home_of = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TopLevelTracedModule", "TracedModule",
    "TracerWarning", "TracingCheckError", "annotate", "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze", "fuser", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "jit_module_from_flatbuffer", "last_executed_optimized_graph", "limits", "load", "onednn_fusion_enabled",
    "optimize_for_inference", "optimized_execution", "run_frozen_optimizations", "save", "save_jit_module_to_flatbuffer", "script", "script_if_tracing",
    "script_method", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


def __getattr__(name):
    """The parts are imported when one of their names is asked for: a program that loads an archive has no use for the compiler of Python."""
    if name in _home_of:
        home = importlib.import_module(_home_of[name], __name__)
        globals()[name] = found = getattr(home, name)
        return found
    from .._core import missing

    return missing.found(__name__, name)


def __dir__():
    return sorted({*globals(), *_home_of})
