"""Graphs as plain data, in pickles: a pickle that is read makes nodes, and runs nothing."""

import math
import operator
import pickle
import types

import cresset as torch

from .._functorch.predispatch import STEPS, is_step
from ..overrides import resolve_name
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .immutable_collections import immutable_dict, immutable_list
from .node import Node, _all_places, _is_operator_of_torch, _place

_OPS = ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output")
_BUILTINS = frozenset((abs, bool, divmod, float, getattr, int, isinstance, len, max, min, range, round, slice, sum))


def steps_of(graph):
    """The nodes of a graph as tuples of plain values, and how its code takes arguments."""
    places = {node: i for i, node in enumerate(graph.nodes)}
    steps = [(n.op, n.name, _target_text(n), _packed(n.args, places), _packed(n.kwargs, places), n.type) for n in graph.nodes]
    info = getattr(graph._codegen, "pytree_info", None)
    return [steps, None if info is None else (list(info.orig_args), info.in_spec, info.out_spec)]


def _target_text(node):
    """The target; operators by their names, since they are no globals of a module."""
    target = node.target
    if _is_operator_of_torch(target):
        return ["ops", *str(target).split(".")]
    if isinstance(target, types.BuiltinFunctionType) and getattr(target, "__module__", None) in ("_operator", "builtins", "math"):
        return [target.__module__, target.__name__]
    if is_step(target):
        return ["step", target.__name__]
    path = _place(target) if callable(target) else None
    return target if path is None else ["torch", path]


def _packed(value, places):
    if isinstance(value, Node):
        return ["node", places[value]]
    if isinstance(value, tuple) and not hasattr(value, "_fields") and type(value) is not torch.Size:
        return ["tuple", [_packed(v, places) for v in value]]
    if isinstance(value, list):
        return ["list", [_packed(v, places) for v in value]]
    if isinstance(value, dict):
        return ["dict", [[key, _packed(v, places)] for key, v in value.items()]]
    if isinstance(value, slice):
        return ["slice", [_packed(v, places) for v in (value.start, value.stop, value.step)]]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ["named", type(value), [_packed(v, places) for v in value]]
    if _is_operator_of_torch(value):
        return ["ops", *str(value).split(".")]
    return ["value", value]


def _bad(text):
    return pickle.UnpicklingError(f"graph of a file: {text}")


def graph_of(steps):
    """The graph that `steps_of` wrote. Errors: UnpicklingError for an op, name or target that no graph has, and for functions that graphs may not call."""
    try:
        nodes, trees = steps
        graph, made = Graph(), []
        for op, name, target, args, kwargs, kind in nodes:
            made.append(_node(graph, made, op, name, target, args, kwargs, kind))
        if trees is not None:
            names, in_spec, out_spec = trees
            for text in names:
                _identifier("a parameter", text)
            graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(list(names), in_spec, out_spec)))
    except (TypeError, ValueError, IndexError, AssertionError) as error:
        raise _bad(f"its nodes are damaged ({error})") from error
    return graph


def _node(graph, made, op, name, target, args, kwargs, kind):
    if op not in _OPS:
        raise _bad(f"op {op!r} of node {name!r} is none of {', '.join(_OPS)}")
    _identifier("a node", name)
    args, kwargs = _unpacked(args, made), _unpacked(kwargs, made)
    if type(args) is not tuple or not isinstance(kwargs, dict):
        raise _bad(f"the arguments of node {name!r} are no tuple and dictionary")
    for key in kwargs:
        _identifier("an argument", key)
    if op == "call_function":
        target = _function(target)
    else:
        _check_path(op, target)
    if kind is not None and not isinstance(kind, (type, str)) and type(kind).__module__ not in ("typing", "types"):
        raise _bad(f"the type of node {name!r} is {kind!r}, which is no type")
    return graph.create_node(op, target, args, dict(kwargs), name, kind)


def _identifier(what, text):
    if type(text) is not str or not text.isidentifier():
        raise _bad(f"the name of {what}, {text!r}, is no identifier")


def _check_path(op, target):
    if type(target) is not str:
        raise _bad(f"the target of {op} is {target!r}, expected text")
    if op == "placeholder":
        _identifier("a parameter", target.removeprefix("*").removeprefix("*"))
    elif op == "call_method":
        _identifier("a method", target)


def _function(target):
    if type(target) is list:
        space, *names = target
        if space == "ops":
            return _operator_named(names)
        if space == "torch":
            return _public_function(names)
        if space == "step" and len(names) == 1 and names[0] in STEPS:
            return STEPS[names[0]]
        home = {"_operator": operator, "math": math, "builtins": types.SimpleNamespace(**{f.__name__: f for f in _BUILTINS})}.get(space)
        found = getattr(home, names[0], None) if home is not None and len(names) == 1 and not names[0].startswith("__") else None
        if found is None or found in (operator.attrgetter, operator.methodcaller):
            raise _bad(f"a node calls {'.'.join(map(str, target))}, which graphs in files may not")
        return found
    home = str(getattr(target, "__module__", None) or "")
    computes = resolve_name(target) is not None and not home.endswith((".serialization", ".hub"))
    if home.partition(".")[0] in ("cresset", "torch", "_cresset") and not computes and not _is_known(target):
        raise _bad(f"a node calls {home}.{getattr(target, '__name__', target)}, which graphs in files may not")
    if not callable(target):
        raise _bad(f"a node calls {target!r}, which is no function")
    return target


def _is_known(target):
    from ._symbolic_trace import _assert_is_none

    return target is _assert_is_none or (isinstance(target, types.FunctionType) and target.__name__.startswith(("sym_", "_assert", "_check")))


def _public_function(names):
    """The function of a path, of those that tensors may take over: they compute, and touch no files."""
    found = next((function for function, path in _all_places() if [path] == names), None)
    if found is None or (resolve_name(found) is None and not _is_known(found)):
        raise _bad(f"a node calls {names}, which graphs in files may not")
    return found


def _operator_named(names):
    for name in names:
        _identifier("an operator", name)
    found = torch.ops
    for name in names:
        found = getattr(found, name)
    if not _is_operator_of_torch(found):
        raise _bad(f"torch.ops.{'.'.join(names)} is no operator")
    return found


def _unpacked(packed, made):
    kind, *content = packed
    if kind == "node":
        if not 0 <= content[0] < len(made):
            raise _bad(f"a node uses the value of node {content[0]}, which comes later")
        return made[content[0]]
    if kind == "tuple":
        return tuple([_unpacked(v, made) for v in content[0]])
    if kind == "list":
        return immutable_list([_unpacked(v, made) for v in content[0]])
    if kind == "dict":
        return immutable_dict([(_key(key), _unpacked(v, made)) for key, v in content[0]])
    if kind == "slice":
        return slice(*[_unpacked(v, made) for v in content[0]])
    if kind == "named":
        if not (isinstance(content[0], type) and issubclass(content[0], tuple) and hasattr(content[0], "_fields")):
            raise _bad(f"{content[0]!r} is no class of named tuples")
        return content[0](*[_unpacked(v, made) for v in content[1]])
    if kind == "ops":
        return _operator_named(content)
    if kind != "value":
        raise _bad(f"an argument is of the kind {kind!r}")
    return _constant(content[0])


def _constant(value):
    import enum

    plain = (str, int, float, bool, complex, bytes, type(None), type(...), range, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
    if type(value) in plain or isinstance(value, enum.Enum):
        return value
    raise _bad(f"an argument is a {type(value).__name__}, which nodes do not hold")


def _key(key):
    if type(key) in (str, int, float, bool):
        return key
    raise _bad(f"a dictionary among the arguments has the key {key!r}")
