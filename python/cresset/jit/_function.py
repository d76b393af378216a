"""Functions that are compiled."""

import functools
import pickle

import _cresset_graph as _graph

from . import _tracing


class ScriptFunction:
    """A compiled function: it runs without Python. `code` is its TorchScript, `graph` what that became, `schema` its signature.

    >>> @torch.jit.script
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, handle, original=None):
        self.__dict__["_handle"] = handle
        if original is not None:
            functools.update_wrapper(self, original, updated=())
            self.__dict__.pop("__wrapped__", None)
            self.__dict__["__name__"] = "ScriptFunction"

    @property
    def name(self):
        return _graph.script_function_info(self._handle)["name"].rpartition(".")[2]

    @property
    def qualified_name(self):
        return _graph.script_function_info(self._handle)["name"]

    def __call__(self, *args, **kwargs):
        if _tracing.tracer is not None:
            return _tracing.tracer.call_function(self._handle, args, kwargs)
        return _graph.script_function_run(self._handle, None, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    @property
    def schema(self):
        from ._views import Schema

        return Schema(self._handle)

    @property
    def graph(self):
        from ._ir import Graph

        return Graph(_graph.script_function_graph(self._handle, False), self._handle)

    @property
    def inlined_graph(self):
        from ._ir import Graph

        return Graph(_graph.script_function_graph(self._handle, True))

    def graph_for(self, *args, **kwargs):
        """Calls it, and returns the graph that ran."""
        self(*args, **kwargs)
        return self.get_debug_state().execution_plans[()].graph

    def get_debug_state(self):
        """The program that the last call ran. Errors: RuntimeError before the first call."""
        from ._views import DebugState

        return DebugState(self._handle, self.inlined_graph)

    @property
    def code(self):
        return _graph.script_function_code(self._handle)[0]

    @property
    def code_with_constants(self):
        from ._views import Constants

        code, constants = _graph.script_function_code(self._handle)
        return code, Constants(constants)

    def save(self, f, _extra_files=None):
        from ._files import save

        save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        from ._files import to_bytes

        return to_bytes(self, _extra_files)

    def __repr__(self):
        return f"<torch.jit.ScriptFunction {self.name}>"

    def __reduce__(self):
        raise pickle.PickleError("ScriptFunction cannot be pickled; save it with torch.jit.save")
