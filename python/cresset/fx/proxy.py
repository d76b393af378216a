"""Proxies, which stand for values while a function is traced, and the tracer that turns what happens to them into nodes."""

import collections
import contextlib
import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback

import cresset as torch

from ..overrides import is_tensor_method_or_property
from . import _settings
from . import traceback as fx_traceback
from ._calls import as_recorded
from ._compatibility import compatibility
from .graph import Graph, magic_methods, reflectable_magic_methods
from .immutable_collections import immutable_dict, immutable_list
from .node import Node, _is_operator_of_torch, base_types, map_arg

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "MetaProxy", "Attribute", "ParameterProxy", "Scope", "ScopeContextManager"]


@dataclasses.dataclass
class Scope:
    """The module whose `forward` runs: its path in the root, and its class.

    >>> torch.fx.proxy.Scope("encoder", nn.Linear).module_path
    'encoder'
    """

    module_path: str
    module_type: object


class ScopeContextManager:
    """Makes another scope current within a `with` block.

    >>> Scope = torch.fx.proxy.Scope
    >>> scope = Scope("", None)
    >>> with torch.fx.proxy.ScopeContextManager(scope, Scope("encoder", nn.Linear)):
    ...     print(scope.module_path)
    encoder
    """

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *args):
        self._scope.module_path, self._scope.module_type = self._before


_KEPT_META = (
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id has_backward_hook from_node quantization_tag _numeric_debug_handle "
    "custom partitioner_tag"
).split()


def _meta_of_the_moment():
    """The entries of the present meta that new nodes get."""
    present = fx_traceback.get_current_meta()
    kept = {name: copy.copy(present[name]) for name in _KEPT_META if name in present}
    return {**kept, "stack_trace": present["stack_trace"]} if present.get("stack_trace") else kept


@compatibility(is_backward_compatible=True)
class TraceError(ValueError):
    """A function did with a proxy what needs its value."""


_CONSTANTS = frozenset((int, float, bool, str, complex, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format))


@compatibility(is_backward_compatible=True)
class TracerBase:
    """The base of tracers: it makes nodes and proxies, and turns arguments into those of nodes.

    >>> issubclass(torch.fx.Tracer, torch.fx.proxy.TracerBase)
    True
    """

    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: collections.OrderedDict
    node_name_to_scope: dict

    def _begin(self):
        """The tracer is in no module, and has called none."""
        self.scope, self.module_stack = Scope("", None), collections.OrderedDict()
        self.num_calls, self.node_name_to_scope = {}, {}

    @compatibility(is_backward_compatible=True)
    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Add a node to the graph. Its arguments are those of nodes already, as `create_arg` makes them."""
        if self.check_mutable_operations and kind == "call_function":
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        made = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = self.scope
        self.node_name_to_scope[made.name] = (scope.module_path, scope.module_type)
        if fx_traceback._state.preserving:
            made.meta.update(_meta_of_the_moment())
        if self.module_stack:
            made.meta.update(nn_module_stack=self.module_stack.copy())
        return made

    @compatibility(is_backward_compatible=True)
    def proxy(self, node):
        """The proxy of a node; subclasses make proxies of their own class."""
        return Proxy(node, self)

    @compatibility(is_backward_compatible=True)
    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Add a node whose arguments may be proxies, and return its proxy."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple) or not isinstance(kwargs_, dict):
            raise AssertionError(f"create_proxy: expected a tuple and a dict of arguments, got {type(args).__name__} and {type(kwargs).__name__}")
        proxy = (proxy_factory_fn or self.proxy)(self.create_node(kind, target, args_, kwargs_, name, type_expr))
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = "".join(traceback.format_list(self._user_stack()))
        return proxy

    def _user_stack(self):
        """The calls that led here, without those of the tracer itself."""
        return [frame for frame in traceback.extract_stack() if not _settings.is_own_file(frame.filename)]

    def _asked_at(self):
        """The user's line, for errors."""
        frame = next(reversed(self._user_stack()), None)
        return f" at {frame.filename}:{frame.lineno} in {frame.name}" + (f" (`{frame.line}`)" if frame.line else "") if frame else ""

    def _filter_traceback_frames(self, user_stack_summary):
        return traceback.StackSummary.from_list([f for f in user_stack_summary if not _settings.is_own_file(f.filename)])

    def _find_user_frame(self):
        """The frame of the program that called into the tracer."""
        outwards = traceback.walk_stack(sys._getframe())
        return next((frame for frame, _ in outwards if not _settings.is_own_file(frame.f_code.co_filename)), None)

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a):
        """A value as an argument of a node: proxies become nodes, containers are copied.

        Errors: NotImplementedError for a value that nodes cannot hold, RuntimeError for keys of dictionaries that are not known.
        """
        kind = type(a)
        if kind in _CONSTANTS:
            return a
        if isinstance(a, Proxy):
            return a.node
        if kind is tuple:
            return tuple([self.create_arg(item) for item in a])
        if kind is dict or kind is immutable_dict:
            return self._dictionary(a)
        if isinstance(a, (tuple, list)):
            items = [self.create_arg(item) for item in a]
            if isinstance(a, list):
                return items
            if hasattr(a, "_fields"):
                return kind(*items)
            return kind(items) if kind is torch.Size and all(isinstance(i, int) for i in items) else tuple(items)
        return self._other_arg(a)

    def _other_arg(self, a):
        if isinstance(a, dict):
            return self._dictionary(a)
        if isinstance(a, (slice, range)):
            return type(a)(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, (Node, enum.Enum, *base_types)) or _is_operator_of_torch(a):
            return a
        own = getattr(a, "__fx_create_arg__", None)
        if own is not None:
            return own(self)
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", a.__class__, (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}, which nodes cannot hold")

    def _dictionary(self, a):
        return {key if type(key) is str else self._key(key): self.create_arg(value) for key, value in a.items()}

    def _key(self, key):
        def refuse(node):
            raise RuntimeError(f"a dictionary among the arguments has a key that contains a Node, which is not known while tracing: {node}")

        key = self.create_arg(key)
        map_arg(key, refuse)
        return key

    @compatibility(is_backward_compatible=True)
    def to_bool(self, obj):
        """The truth of a proxy, of which there is none: TraceError."""
        raise TraceError(
            f"a branch or loop{self._asked_at()} depends on {obj!r}: symbolically traced variables have no values that control flow could ask for. Two ways out: "
            "keep both branches in the graph with torch.cond or torch.where, or settle the branch by concrete_args, or in a leaf function by torch.fx.wrap"
        )

    @compatibility(is_backward_compatible=True)
    def iter(self, obj):
        """The items of a proxy where they are unpacked into a number of variables that is known, else TraceError."""
        asking = sys._getframe(2)
        count = _unpacked(asking.f_code, asking.f_lasti)
        if count is None:
            raise TraceError(
                f"Proxy object cannot be iterated: {obj!r} stands in a loop, or behind a star in a call{self._asked_at()}, and how many items it has is not known while tracing. "
                "Loop over a constant, or make the function a leaf by torch.fx.wrap"
            )
        return map(obj.__getitem__, range(count))

    @compatibility(is_backward_compatible=True)
    def keys(self, obj):
        """The keys of a proxy, as another proxy."""
        return self.create_proxy("call_method", "keys", (obj,), {})


def _unpacked(code, at):
    """Into how many variables the instruction at an offset unpacks; None for another instruction."""
    if dis.opname[code.co_code[at]] != "UNPACK_SEQUENCE":
        return None
    count, shift = code.co_code[at + 1], 8
    while at >= 2 and dis.opname[code.co_code[at - 2]] == "EXTENDED_ARG":
        at -= 2
        count += code.co_code[at + 1] << shift
        shift += 8
    return count


@compatibility(is_backward_compatible=True)
class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that add to an existing graph.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"), torch.fx.proxy.GraphAppendingTracer(graph))
    >>> (x + 1).node.target.__name__
    'add'
    """

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self._begin()


@compatibility(is_backward_compatible=False)
def assert_fn(x):
    """AssertionError where a value is false."""
    if not x:
        raise AssertionError(f"expected a true value, got {x!r}")


@compatibility(is_backward_compatible=True)
class Proxy:
    """A value that is not known yet: operators, functions of torch, methods and attributes on it become nodes of the graph.

    A proxy has no truth, no length and no items to iterate over, since these would need the value: TraceError and RuntimeError.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x).sum()
    Proxy(sum_1)
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = dict(self.__dict__)
        return made

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __bool__(self):
        tracer, asking = self.tracer, sys._getframe(1)
        message = _asserted(asking.f_code, asking.f_lasti) if tracer.trace_asserts else None
        if message is None:
            return tracer.to_bool(self)
        check, args = (torch._assert, (self, message)) if message else (assert_fn, (self,))
        tracer.create_proxy("call_function", check, args, {})
        return True

    @compatibility(is_backward_compatible=True)
    def keys(self):
        """The keys of a mapping, as a proxy."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            f"'len' is not supported in symbolic tracing by default: to have it in the graph call torch.fx.wrap('len') at module scope ({self!r})"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracer = _tracer_of(args, kwargs)
        if is_tensor_method_or_property(orig_method):
            if orig_method.__name__ == "__get__":
                return tracer.create_proxy("call_function", getattr, (args[0], _property_name(orig_method)), {})
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        args, kwargs = as_recorded(orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method))


def _property_name(getter):
    owner = getattr(getter, "__self__", None)
    return getattr(owner, "__name__", None) or str(owner)


def _asserted(code, at):
    """The message of the assertion whose condition the instruction at an offset tests, "" for none; None where it tests no assertion."""
    found = [i for i in dis.get_instructions(code) if i.offset >= at][:5]
    if found and (found[0].opname in ("TO_BOOL", "COMPARE_OP") and len(found) > 1 and "IF_TRUE" in found[1].opname):
        del found[0]  # from Python 3.13 on these ask for the truth, before the jump
    if len(found) < 3 or "IF_TRUE" not in found[0].opname or found[1].opname != "LOAD_ASSERTION_ERROR":
        return None
    return str(found[2].argval) if found[2].opname == "LOAD_CONST" else ""


def _tracer_of(args, kwargs):
    """The tracer of the proxies among the arguments. Errors: AssertionError for proxies of several tracers."""
    found = None
    stack = [*args, *kwargs.values()]
    while stack:
        value = stack.pop()
        if isinstance(value, Proxy):
            if found is not None and value.tracer is not found:
                raise AssertionError(f"found proxies of two tracers in one call: {found} and {value.tracer}")
            found = value.tracer
        elif isinstance(value, (tuple, list)):
            stack += value
        elif isinstance(value, dict):
            stack += value.values()
    if found is None:
        raise AssertionError("Proxy.__torch_function__: no proxy among the arguments")
    return found


@compatibility(is_backward_compatible=False)
class MetaProxy(Proxy):
    """A proxy that carries a value of the fake mode beside its node.

    >>> graph = torch.fx.Graph()
    >>> torch.fx.proxy.MetaProxy(graph.placeholder("x"))
    MetaProxy(x)
    """

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self):
        return f"MetaProxy({self.node.name})"


@compatibility(is_backward_compatible=True)
class Attribute(Proxy):
    """An attribute of a proxy: a method when it is called, else a node that gets it.

    >>> x = torch.fx.Proxy(torch.fx.Graph().placeholder("x"))
    >>> type(x.shape).__name__, x.sum()
    ('Attribute', Proxy(sum_1))
    """

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that gets the attribute, made when it is asked for, since most attributes are methods that are called."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


@compatibility(is_backward_compatible=False)
class ParameterProxy(Proxy):
    """The proxy of a parameter whose shape is taken for constant: it answers questions about it with the parameter's values.

    >>> graph = torch.fx.Graph()
    >>> weight = nn.Parameter(torch.ones(3))
    >>> torch.fx.proxy.ParameterProxy(torch.fx.proxy.GraphAppendingTracer(graph), graph.get_attr("weight"), "weight", weight).shape
    torch.Size([3])
    """

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"ParameterProxy: expected a Parameter, got {type(param).__name__}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape, doc="The parameter's shape.")
    ndim = property(lambda self: self.param.ndim, doc="The parameter's number of dimensions.")

    def size(self, dim=None):
        """The parameter's size, or that of a dimension."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        """The parameter's number of dimensions."""
        return len(self.shape)

    def numel(self):
        """The parameter's number of elements."""
        return self.shape.numel()

    nelement = numel


def _add_operator(cls, name, target, reflected):
    if reflected:

        def method(self, other):
            return self.tracer.create_proxy("call_function", target, (other, self), {})

    else:

        def method(*args, **kwargs):
            return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = method.__qualname__ = name
    setattr(cls, name, method)


for _names, _prefix in (((*magic_methods, "abs"), "__"), (reflectable_magic_methods, "__r")):
    for _name in _names:
        _add_operator(Proxy, f"{_prefix}{_name.strip('_')}__", getattr(operator, _name, None) or operator.truediv, _prefix == "__r")
