"""Node, one step of a graph: an operation, its target, its arguments, and the nodes that use its value."""

import builtins
import keyword
import inspect
import operator
import types
import typing

import cresset as torch

from ..overrides import resolve_name
from ._compatibility import compatibility
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

BaseArgumentTypes = typing.Union[str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout]
base_types = BaseArgumentTypes.__args__
Target = typing.Union[typing.Callable[..., typing.Any], str]
Argument = typing.Optional[typing.Any]

_legal_ops = dict.fromkeys(["call_function", "call_method", "get_attr", "call_module", "placeholder", "output", "root"])
_PLAIN = frozenset((str, int, float, bool, complex, type(None), type(Ellipsis), torch.dtype, torch.device))

_side_effectful_functions = set()
_side_effects_of_torch_added = False


def _side_effects():
    """The functions that are kept in a graph though nothing uses their value."""
    global _side_effects_of_torch_added
    if not _side_effects_of_torch_added:
        _side_effects_of_torch_added = True
        from .._functorch import predispatch

        aten = torch.ops.aten
        found = [
            *predispatch.STEPS.values(),  # levels of transforms are opened and closed
            operator.setitem,
            torch._assert,
            torch._check,
            torch._check_is_size,
            torch._check_value,
            torch.sym_constrain_range,
            torch.sym_constrain_range_for_size,
            torch.amp._enter_autocast,
            torch.amp._exit_autocast,
            torch._C._set_grad_enabled,
        ]
        for name in (
            "_assert_async",
            "_assert_scalar",
            "_assert_tensor_metadata",
            "sym_constrain_range",
            "sym_constrain_range_for_size",
            "_functional_assert_async",
        ):
            packet = getattr(aten, name, None)
            found += [packet, *(getattr(packet, overload) for overload in packet.overloads())] if packet is not None else []
        _side_effectful_functions.update(found)
    return _side_effectful_functions


@compatibility(is_backward_compatible=False)
def has_side_effect(fn):
    """Keep calls of a function in graphs whose value nothing uses; returns the function.

    >>> @torch.fx.has_side_effect
    ... def note(x):
    ...     print(x)
    """
    _side_effects().add(fn)
    return fn


def _public(module):
    """The name of a module as programs write it: they import Cresset as torch."""
    return "torch" + module[7:] if module == "cresset" or module.startswith("cresset.") else module


_homes = {}  # {public function: its path}, since modules of the Python front end hold functions of other ones
_PREFIXES = ("fft_", "linalg_", "special_")


def _add_homes():
    names = [
        name
        for name, value in vars(torch).items()
        if callable(value) and not isinstance(value, type) and (name[0] != "_" or name.startswith(("_assert", "_check")))
    ]
    spaces = [("torch", torch, [name for name in names if not name.startswith(_PREFIXES)])]
    spaces += [(f"torch.{inner}", getattr(torch, inner), vars(getattr(torch, inner))) for inner in ("linalg", "fft", "special")]
    spaces += [("torch.nn.functional", torch.nn.functional, vars(torch.nn.functional)), ("torch", torch, names)]
    for title, space, found in spaces:
        for name in list(found):
            value = vars(space)[name]
            if callable(value) and not isinstance(value, type) and (title == "torch" or name[0] != "_"):
                _homes.setdefault(value, f"{title}.{name}")
    functional = getattr(torch, "functional", None)
    for name in getattr(functional, "__all__", ()):
        _homes[getattr(functional, name)] = f"torch.functional.{name}"


def _place(func):
    """The public path of a function of Cresset; None of others."""
    if not _homes:
        _add_homes()
    try:
        return _homes.get(func)
    except TypeError:
        return None


def _all_places():
    """All public functions of Cresset with their paths."""
    if not _homes:
        _add_homes()
    return _homes.items()


def _get_qualified_name(func):
    """The path by which generated code names a function. RuntimeError for one that has none."""
    name = getattr(func, "__name__", None) or type(func).__name__
    if vars(builtins).get(name) is func:
        return name
    if _is_operator_of_torch(func):
        owner, _, last = str(func).rpartition(".")
        return f'getattr(torch.ops.{owner}, "{last}")' if keyword.iskeyword(last) else f"torch.ops.{func}"  # random_.from
    if (known := _place(func)) is not None:
        return known
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)) or getattr(torch.Tensor, name, None) is func:
        return "torch.Tensor." + name
    home = getattr(func, "__module__", None)
    if home is None:
        spaces = {"torch": torch, "torch.nn.functional": torch.nn.functional}
        home = next((path for path, space in spaces.items() if vars(space).get(name) is func), None)
        if home is None:
            raise RuntimeError(f"code of a graph: {func!r} has no module by which the code could name it")
    elif home.startswith("cresset._core") and vars(torch).get(name) is func:
        home = "torch"
    return f"{_public(home)}.{_assigned_name(func) if name == '<lambda>' else name}"


def _assigned_name(function):
    """The variable to which a source assigns a lambda."""
    try:
        source = inspect.getsource(function)
    except OSError:
        raise RuntimeError(f"code of a graph: the lambda {function!r} has no name, and its source is not there to find one") from None
    return source.partition("=")[0].strip()


def _is_operator_of_torch(func):
    return type(func).__name__ in ("_Overload", "_MethodOverload", "_MethodPacket", "OpOverload", "OpOverloadPacket")


def _type_repr(obj):
    """The text of a type, as annotations have it."""
    if isinstance(obj, type) and type(obj) is not types.GenericAlias:
        home = _public(obj.__module__)
        return obj.__qualname__ if home == "builtins" else f"{home}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("cresset.", "torch.")


def _format_arg(arg, max_list_len=float("inf")):
    if isinstance(arg, Node):
        return f"%{arg}"
    if (own_text := getattr(arg, "_custom_fx_repr_fn", None)) is not None:
        return own_text()
    if isinstance(arg, (list, tuple)):
        parts = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        more = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
        text = ", ".join(parts) + more
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return str(arg)


_GAP = 1 << 20  # between the places of neighbours, so that a node put between them seldom moves the others


class Node:
    """One step of a `Graph`. Graphs make nodes, by `create_node` and what stands on it.

    `op` is one of placeholder, get_attr, call_function, call_module, call_method and output. `args` and `kwargs` hold nodes, plain values,
    and lists, tuples, dictionaries and slices of them; `users` are the nodes that have this one among their arguments. `meta` is for passes.

    >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> [(node.op, node.name) for node in graph.nodes]
    [('placeholder', 'x'), ('call_function', 'add'), ('output', 'output')]
    """

    _args: tuple
    _kwargs: dict

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node {name!r}: the target of call_function is a function, got {target!r} of type {_type_repr(type(target))}")
        elif not isinstance(target, str) and op in _legal_ops:
            raise ValueError(f"Node {name!r}: the target of {op} is a str, got {target!r} of type {_type_repr(type(target))}")
        elif op not in _legal_ops:
            raise AssertionError(f"Node {name!r}: expected an op of {', '.join(_legal_ops)}, got {op!r}")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._input_nodes = {}
        self.users = {}
        self._repr_fn = None
        self.meta = {}
        self._prev = self._next = self
        self._erased = False
        self._sort_key = 0
        self._hold(args, kwargs)

    # ---- arguments ------------------------------------------------------------------------------------------------------

    def _hold(self, args, kwargs):
        """Takes other arguments: the nodes among them know their user."""
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}
        self._args = tuple([self._held(a) for a in args])
        self._kwargs = immutable_dict([(key, self._held(value)) for key, value in kwargs.items()] if kwargs else ())

    def _held(self, a):
        """An argument as the node keeps it, once its nodes know their user."""
        if isinstance(a, Node):
            self._input_nodes[a] = None
            a.users[self] = None
            return a
        if type(a) in _PLAIN:
            return a
        return map_aggregate(a, self._held) if isinstance(a, (tuple, list, dict, slice)) else a

    @property
    def args(self):
        """The positional arguments; assign another tuple to change them."""
        return self._args

    @args.setter
    def args(self, a):
        self._hold(a, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments; assign another dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._hold(self._args, k)

    @property
    def all_input_nodes(self):
        """All nodes among the arguments, each once."""
        return list(self._input_nodes)

    @compatibility(is_backward_compatible=True)
    def update_arg(self, idx, arg):
        """Replace the positional argument at a place."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    @compatibility(is_backward_compatible=True)
    def insert_arg(self, idx, arg):
        """Put a positional argument before the one at a place. Errors: AssertionError for a place that is not among 0..len(args)."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_arg: expected a place between 0 and {len(self._args)}, got {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    @compatibility(is_backward_compatible=True)
    def update_kwarg(self, key, arg):
        """Replace or add a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    # ---- users ----------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Let the users of this node use another one.

        Args:
            replace_with: the other node.
            delete_user_cb: says of a user whether it is to change.
            propagate_meta: give this node's `meta` to the other, which has to have none.

        Returns the nodes that have changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(f"replace_all_uses_with: propagate_meta, but {replace_with} has a meta already: {list(replace_with.meta)}")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    @compatibility(is_backward_compatible=False)
    def replace_input_with(self, old_input, new_input):
        """Put one node in the place of another among the arguments."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)

        def swapped(n):
            return new_input if n is old_input else n

        self._hold(map_arg(self._args, swapped), map_arg(self._kwargs, swapped))

    # ---- place in the graph ---------------------------------------------------------------------------------------------

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    @compatibility(is_backward_compatible=True)
    def prepend(self, x):
        """Move a node of the same graph to the place before this one. Errors: AssertionError for a node of another graph."""
        if self.graph is not x.graph:
            raise AssertionError(f"cannot move {x} before {self}: it is a node of a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        low = before._sort_key
        if self.op == "root":
            x._sort_key = low + _GAP if before is not self else 0
            return
        high = self._sort_key
        if before.op == "root":
            x._sort_key = high - _GAP
            return
        x._sort_key = (low + high) // 2
        if x._sort_key == low:
            self.graph._number()

    @compatibility(is_backward_compatible=True)
    def append(self, x):
        """Move a node of the same graph to the place after this one."""
        self._next.prepend(x)

    def _leave(self):
        """Takes the node out of its graph: it uses no other any more."""
        self._remove_from_list()
        self._erased = True
        self._hold(*(map_arg(given, lambda _: None) for given in (self._args, self._kwargs)))

    def _remove_from_list(self):
        p, n = self._prev, self._next
        p._next, n._prev = n, p

    def __lt__(self, other):
        return self._sort_key < other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other

    # ---- what it is -----------------------------------------------------------------------------------------------------

    @property
    def stack_trace(self):
        """The lines of the program that led to this node, if the tracer noted them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta.update(stack_trace=trace)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        shown = {"builtins": "builtins", "_operator": "operator"}.get(getattr(target, "__module__", None))
        return f"{shown}.{target.__name__}" if shown and hasattr(target, "__name__") else _get_qualified_name(target)

    @compatibility(is_backward_compatible=True)
    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The node as a line of text.

        Args:
            placeholder_names: unused list, to which the names of placeholders used to be added.
            maybe_return_typename: a list of one text, which becomes the type of an output.
            include_tensor_metadata: tell dtype and shape of the value where `meta` has them.
        """
        op, kind = self.op, None if self.type is None else _type_repr(self.type)
        if op == "output":
            if kind and maybe_return_typename:
                maybe_return_typename[:1] = [f" -> {kind}"]
            return f"return {self._args[0]}"
        if op == "placeholder":
            given = f"(default={self._args[0]})" if self._args else ""
        else:
            given = "" if op == "get_attr" else f"(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"
        shown = self._shown_value() if include_tensor_metadata else ""
        told = f"{shown}{kind} " if kind else shown
        return f"%{self.name} : {told}[num_users={len(self.users)}] = {op}[target={self._pretty_print_target(self.target)}]{given}"

    def _shown_value(self):
        value = self.meta.get("val", self.meta.get("tensor_meta"))
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            return ""
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)} "

    @compatibility(is_backward_compatible=False)
    def is_impure(self, impure_random=True):
        """Whether the node does something beyond giving its value, so that it stays though nothing uses it.

        Args:
            impure_random: count operators that draw random numbers.
        """
        op, target = self.op, self.target
        if op == "call_function":
            has_effect = _reaches_outside(target) or getattr(target, "_effect", None) is not None
            return has_effect or _changes_arguments(target) or target in _side_effects() or (impure_random and _draws(target))
        if op != "call_module":
            return op in ("placeholder", "output")
        owner = self.graph.owning_module
        if owner is None:
            raise AssertionError(f"is_impure of {self}: the graph has no owning module to look {target!r} up in")
        return getattr(owner.get_submodule(target), "_is_impure", False)

    @compatibility(is_backward_compatible=False)
    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments by the signature of the target, as a pair of args and kwargs; None where there is no single one that fits.

        Args:
            root: the module in which to look targets of call_module up.
            arg_types, kwarg_types: the types of the arguments, which choose among overloads.
            normalize_to_only_use_kwargs: name all arguments.
        """
        from . import operator_schemas as schemas

        call = (self.target, self._args, self._kwargs)
        match self.op:
            case "call_function":
                return schemas.normalize_function(*call, arg_types, kwarg_types, normalize_to_only_use_kwargs)
            case "call_module":
                return schemas.normalize_module(root, *call, normalize_to_only_use_kwargs)
        return None


def _changes_arguments(target):
    """Whether an operator of the table writes into an argument."""
    if not _is_operator_of_torch(target):
        return False
    packet = getattr(target, "overloadpacket", target)
    if packet is target and getattr(packet, "overloads", list)() == ["default"]:
        target = packet.default
    if getattr(getattr(target, "_schema", None), "is_mutable", False):
        return True
    return packet.__name__.endswith("_") and not packet.__name__.endswith("__")


def _reaches_outside(target):
    """Whether an operator of the table sends values, waits for them, or notes a time."""
    return _is_operator_of_torch(target) and str(getattr(target, "overloadpacket", target)) in _REACHING_OUTSIDE


_REACHING_OUTSIDE = frozenset(
    [f"_c10d_functional.{name}" for name in ("wait_tensor", "isend", "irecv", "batch_p2p_ops")]
    + [f"profiler.{name}" for name in ("_record_function_enter", "_record_function_enter_new", "_record_function_exit")]
)


def _draws(target):
    """Whether a function draws random numbers."""
    name = resolve_name(target) if type(target) is not types.BuiltinFunctionType else None
    if _is_operator_of_torch(target):
        name = f"torch.{getattr(target, 'overloadpacket', target).__name__}"
    return name in _RANDOM


_RANDOM = frozenset(
    f"torch.{name}"
    for name in "rand randn randint randperm normal bernoulli multinomial poisson rand_like randn_like randint_like dropout alpha_dropout feature_dropout "
    "feature_alpha_dropout rrelu binomial native_dropout".split()
)


@compatibility(is_backward_compatible=True)
def map_arg(a, fn):
    """A tree of arguments with a function applied to its nodes.

    >>> node = next(iter(torch.fx.symbolic_trace(lambda x: x).graph.nodes))
    >>> torch.fx.map_arg((node, [1]), lambda n: n.name)
    ('x', [1])
    """
    if not callable(fn):
        raise AssertionError(f"map_arg: expected a function, got {type(fn).__name__}")

    def at_node(leaf):
        return fn(leaf) if isinstance(leaf, Node) else leaf

    return map_aggregate(a, at_node)


@compatibility(is_backward_compatible=True)
def map_aggregate(a, fn):
    """A tree of tuples, lists, dictionaries and slices with a function applied to its leaves; its lists and dictionaries are immutable.

    >>> torch.fx.node.map_aggregate((1, [2, {"a": 3}]), lambda x: 10 * x)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return tuple(items) if not hasattr(a, "_fields") else type(a)(*items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(value, fn)) for key, value in a.items()])
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)
