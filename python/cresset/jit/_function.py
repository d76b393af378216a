"""Functions that are compiled: `ScriptFunction`, and what makes one of a function of Python."""

import functools
import inspect

import _cresset_graph as _graph

from . import _marks, _resolve


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
        from . import _trace

        if _trace.state is not None:
            return _trace.state.call_function(self._handle, args, kwargs)
        return _graph.script_function_run(self._handle, None, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    @property
    def schema(self):
        from ._views import Schema

        return Schema(self._handle)

    @property
    def graph(self):
        from ._views import Graph

        return Graph(_graph.script_function_graph(self._handle, False))

    @property
    def inlined_graph(self):
        from ._views import Graph

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
        raise RuntimeError("ScriptFunction cannot be pickled; save it with torch.jit.save")


_compiled = {}


def script_function(fn):
    """The compiled form of a function of Python, made once."""
    if isinstance(fn, ScriptFunction):
        return fn
    key = fn
    if key not in _compiled:
        _compiled[key] = ScriptFunction(_compile(fn), fn)
    return _compiled[key]


def function_of_graph(name, graph):
    """A function of a graph alone, which no function of Python stands behind."""
    return ScriptFunction(_graph.script_graph_function(_resolve.unit, name, graph._handle))


def defaults_of(fn):
    signature = inspect.signature(fn)
    return {name: p.default for name, p in signature.parameters.items() if p.default is not inspect.Parameter.empty}


def native(fn, name, skip_self=False):
    """A function that Python runs: its annotations are its types."""
    hints, resolver = {}, _resolve.Resolver(fn)
    for key, annotation in getattr(inspect.unwrap(fn), "__annotations__", {}).items():
        hints[key] = resolver.type(annotation) if isinstance(annotation, str) else _resolve.type_text(annotation)
    rows = []
    for index, (key, p) in enumerate(inspect.signature(fn).parameters.items()):
        if skip_self and index == 0:
            continue
        has_default = p.default is not inspect.Parameter.empty
        rows.append((key, hints.get(key) or "Tensor", has_default, p.default if has_default else None))
    return rows, hints.get("return") or ("None" if "return" in hints else "Tensor")


def _compile(fn):
    if (use := _marks.use_of(fn)) is not None and use[0] != _marks.Use.EXPORT:
        return dropped(fn, use[0])
    source, file, line = _resolve.source_of(fn)
    return _graph.script_unit_define(_resolve.unit, _resolve.qualified_name(fn), source, file, line, _resolve.Resolver(fn), None, defaults_of(fn))


def dropped(fn, use):
    name = _resolve.qualified_name(fn)
    rows, result = native(fn, name)
    if use == _marks.Use.IGNORE:
        return _graph.script_unit_native(_resolve.unit, name, rows, result, fn)
    arguments = ", ".join(f"{key}: {type_}" + (f" = {value!r}" if has else "") for key, type_, has, value in rows)
    text = f'def {fn.__name__}({arguments}) -> {result}:\n    raise NotImplementedError("{fn.__name__} is marked as unused: it was not compiled")\n'
    return _graph.script_unit_define(_resolve.unit, name, text, "<unused>", 1, _resolve.Resolver(fn), None, {})
