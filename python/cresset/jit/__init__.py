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

from typing import Final

from ..futures import Future
from . import _state  # noqa: F401
from ._api import _awaitable, _awaitable_nowait, _awaitable_wait  # noqa: F401
from ._api import (
    CompilationUnit, Error, TracerWarning, annotate, enable_onednn_fusion, export, export_opnames, fork, freeze, fuser, ignore, is_scripting, is_tracing, isinstance,
    last_executed_optimized_graph, limits, onednn_fusion_enabled, optimize_for_inference, optimized_execution, run_frozen_optimizations, script, script_if_tracing,
    script_method, set_fusion_strategy, strict_fusion, unused, wait,
)  # fmt: skip
from ._classes import interface
from ._files import jit_module_from_flatbuffer, load, save, save_jit_module_to_flatbuffer
from ._function import ScriptFunction
from ._marks import Attribute
from ._module import RecursiveScriptModule, ScriptModule
from ._trace import TopLevelTracedModule, TracedModule, TracingCheckError, trace, trace_module

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TopLevelTracedModule", "TracedModule",
    "TracerWarning", "TracingCheckError", "annotate", "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze", "fuser", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "jit_module_from_flatbuffer", "last_executed_optimized_graph", "limits", "load", "onednn_fusion_enabled",
    "optimize_for_inference", "optimized_execution", "run_frozen_optimizations", "save", "save_jit_module_to_flatbuffer", "script", "script_if_tracing",
    "script_method", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
