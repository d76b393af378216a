"""Makes a compiled function of a function of Python."""

import ast
import inspect
import re

import _cresset_graph as _graph

from . import _infer, _marks, _resolve
from ._function import ScriptFunction

_compiled, _overloaded = {}, {}


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


def _changing(value):
    """A list or dict that a default is or holds; None where there is none."""
    if isinstance(value, (list, dict)):
        return value
    return next((found for part in value if (found := _changing(part)) is not None), None) if isinstance(value, tuple) else None


def defaults_of(fn):
    """The defaults of a function's parameters by name. Errors: RuntimeError for lists and dicts, which Python keeps from call to call."""
    defaults = {name: p.default for name, p in inspect.signature(fn).parameters.items() if p.default is not inspect.Parameter.empty}
    for name, value in defaults.items():
        if (changing := _changing(value)) is not None:
            raise RuntimeError(
                f"the default of {name} {'is' if changing is value else 'holds'} a {type(changing).__name__}, which Python makes once for all calls; take None as the default, and make the value within "
                "the function"
            )
    return defaults


def _comment_types(fn, names):
    """The types by name that a comment such as `# type: (Tensor, int) -> Tensor` gives a function; empty where there is none."""
    try:
        source = _resolve.source_of(fn)[0]
    except OSError:
        return {}
    found = re.search(r"^\s*#\s*type:\s*\((.*)\)\s*->\s*([^#\n]+)", source, re.MULTILINE)
    if found is None:
        return {}
    given = ast.parse(f"({found[1]},)" if found[1].strip() else "()", mode="eval").body.elts
    texts = [ast.unparse(t) for t in given]
    return {**dict(zip(names, texts)), "return": found[2].strip()}


def takes_more(fn):
    """Whether a function has `*args`."""
    return any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(fn).parameters.values())


def native(fn, name, skip_self=False, otherwise="Tensor"):
    """A function that Python runs: its annotations are its types, and `otherwise` that of arguments without one. Arguments by keyword alone keep their defaults."""
    resolver, names = _resolve.Resolver(fn), list(inspect.signature(fn).parameters)
    if skip_self and not names:
        raise RuntimeError(f"{name}: a method has a parameter for its object, self, and {fn.__name__}() has none")
    hints = {} if getattr(inspect.unwrap(fn), "__annotations__", {}) else _comment_types(fn, names[1:] if skip_self else names)
    for key, annotation in getattr(inspect.unwrap(fn), "__annotations__", {}).items():
        hints[key] = resolver.type(annotation) if isinstance(annotation, str) else _resolve.type_text(annotation)
    rows = []
    for index, (key, p) in enumerate(inspect.signature(fn).parameters.items()):
        if (skip_self and index == 0) or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY, p.VAR_KEYWORD):
            continue
        has_default = p.default is not inspect.Parameter.empty
        rows.append((key, hints.get(key) or otherwise, has_default, p.default if has_default else None))
    return rows, hints.get("return") or ("None" if "return" in hints else "Tensor")


def _compile(fn):
    if (use := _marks.use_of(fn)) is not None and use[0] != _marks.Use.EXPORT:
        return dropped(fn, use[0])
    source, file, line = _resolve.source_of(fn)
    # Static methods of a class are functions of its module: in archives no function stands below a class.
    outer = fn.__qualname__.rpartition(".")[0]
    name = _resolve.qualified_name(fn, fn.__name__ if outer and not outer.endswith("<locals>") else None)
    return _graph.script_unit_define(_resolve.unit, name, source, file, line, _resolve.Resolver(fn), None, defaults_of(fn))


def dropped(fn, use):
    name = _resolve.qualified_name(fn)
    rows, result = native(fn, name)
    if use == _marks.Use.IGNORE:
        return _graph.script_unit_native(_resolve.unit, name, rows, result, fn, takes_more(fn))
    arguments = ", ".join(f"{key}: {type_}" + (f" = {value!r}" if has else "") for key, type_, has, value in rows)
    text = f'def {fn.__name__}({arguments}) -> {result}:\n    raise NotImplementedError("{fn.__name__} is marked as unused: it was not compiled")\n'
    return _graph.script_function_takes_more(
        _graph.script_unit_define(_resolve.unit, name, text, "<unused>", 1, _resolve.Resolver(fn), None, {}), takes_more(fn)
    )


def with_signature(source, signature):
    """The text of a function with the head of another."""
    head = ast.parse(_resolve.source_of(signature)[0]).body[0]
    tree = ast.parse(source).body[0]
    parameters = [*head.args.posonlyargs, *head.args.args, *head.args.kwonlyargs]
    if head.returns is None and not any(p.annotation for p in parameters):
        told = _comment_types(signature, [p.arg for p in parameters if p.arg != "self"])
        for p in parameters:
            p.annotation = ast.parse(told[p.arg], mode="eval").body if p.arg in told else None
        head.returns = ast.parse(told["return"], mode="eval").body if told else None
    tree.args, tree.returns, tree.decorator_list = head.args, head.returns, []
    return ast.unparse(tree) + "\n"


def _fitting_defaults(fn, signature):
    """The defaults of a function whose types are those that a signature gives the parameters."""
    types = {key: text for key, text, _, _ in native(signature, signature.__name__)[0]}
    return {key: value for key, value in defaults_of(fn).items() if key in types and _infer.type_text(value) == types[key]}


def script_overloads(fn):
    """The compiled forms of a function with the signatures that stand above it, made once; none: it has none."""
    if fn not in _overloaded:
        forms = []
        for index, signature in enumerate(_marks.overloads_of(fn)):
            source, file, line = _resolve.source_of(fn)
            name = f"{_resolve.qualified_name(fn)}__{index}"
            text, defaults = with_signature(source, signature), {**_fitting_defaults(fn, signature), **defaults_of(signature)}
            forms.append(_graph.script_unit_define(_resolve.unit, name, text, file, line, _resolve.Resolver(fn), None, defaults))
        _overloaded[fn] = tuple(forms)
    return _overloaded[fn]
