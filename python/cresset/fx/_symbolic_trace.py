"""Tracing: a function or module is run with proxies for its arguments, and what it does with them becomes a graph.

>>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
>>> traced(torch.tensor([-1.0, 2.0])).tolist()
[1.0, 3.0]
"""

import copy
import functools
import inspect
import itertools
import math
import warnings
from types import FunctionType

import cresset as torch

from ..utils import _pytree as pytree
from ._compatibility import compatibility
from ._patching import (  # noqa: F401  names of this module in PyTorch
    _autowrap_check,
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _patch_all,
    _Patcher,
)
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import base_types  # noqa: F401
from .proxy import ParameterProxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

_STARS = {inspect.CO_VARARGS: "*", inspect.CO_VARKEYWORDS: "**"}
HAS_VARSTUFF = sum(_STARS)

_orig_module_call, _orig_module_getattr = torch.nn.Module.__call__, torch.nn.Module.__getattr__

_proxyable_classes = set()
_wrapped_fns_to_patch = {}
_wrapped_methods_to_patch = []
_is_fx_tracing_flag = False


def _patch_wrapped_functions(patcher):
    _patch_all(patcher, _wrapped_fns_to_patch, _wrapped_methods_to_patch)


def is_fx_tracing():
    """Whether a function is being traced.

    >>> torch.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing():
    """Whether a function is being traced by `symbolic_trace` or a Tracer."""
    return _is_fx_tracing_flag


@compatibility(is_backward_compatible=True)
class ProxyableClassMeta(type):
    """The metaclass of classes whose making from proxies is to become a node.

    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> torch.fx.symbolic_trace(lambda x: Pair(x, 2 * x))(1).b
    2
    """

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        _proxyable_classes.add(cls)

    def __call__(cls, *args, **kwargs):
        found = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if found is not None:
            return found.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _patch_function(fn, nargs):
    """The function with as many ordinary parameters: `*args` and `**kwargs` become parameters like the others, so that they can be proxies."""
    code = fn.__code__
    made = code.replace(co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~HAS_VARSTUFF)
    return FunctionType(made, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


@compatibility(is_backward_compatible=False)
class PHBase:
    """The mark of an argument, within `concrete_args`, that is to be a placeholder."""

    def __repr__(self):
        return "PH"


PH = PHBase()


@compatibility(is_backward_compatible=False)
class PHWithMeta(PHBase):
    """A placeholder whose node gets the attributes of this object that it lacks."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr, to):
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


@compatibility(is_backward_compatible=True)
class Tracer(TracerBase):
    """Makes a graph of a function or module. Subclasses change which modules are left whole, and what becomes of arguments and calls.

    Args:
        autowrap_modules: modules of Python whose functions become nodes when they are called with proxies.
        autowrap_functions: further such functions.
        param_shapes_constant: take the shapes of parameters for constants, so that control flow may depend on them.

    >>> class Flat(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> [node.op for node in Flat().trace(torch.nn.Sequential(torch.nn.ReLU())).nodes]
    ['placeholder', 'call_function', 'output']
    """

    @compatibility(is_backward_compatible=True)
    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        public = (value for module in autowrap_modules for name, value in vars(module).items() if not name.startswith("_"))
        self._autowrap_function_ids = set(map(id, (*filter(callable, public), *autowrap_functions)))
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths, self.root_module_name = None, ""
        self._begin()

    def __deepcopy__(self, memo):
        memo.update((id(module), module) for module in self._autowrap_search)  # modules of Python are never copied
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(vars(self), memo))
        return made

    def get_fresh_qualname(self, prefix):
        """An attribute's name that the root does not have: the prefix with a number."""
        return next(name for i in itertools.count() if not hasattr(self.root, name := f"{prefix}{i}"))

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a):
        """A value as an argument of a node: also parameters, buffers and other tensors, which become attributes of the module.

        Errors: NameError for a parameter of another module, NotImplementedError for a value that nodes cannot hold.
        """
        if isinstance(a, torch.Tensor):
            return self.create_node("get_attr", self._path_of_tensor(a), (), {})
        return self._instance_arg(a) if type(a) in _proxyable_classes else super().create_arg(a)

    def _path_of_tensor(self, a):
        is_parameter = isinstance(a, torch.nn.Parameter)
        members = self.root.named_parameters() if is_parameter else self.root.named_buffers()
        path = next((path for path, member in members if member is a), None)
        if path is None and is_parameter:
            raise NameError(f"create_arg: a parameter of shape {tuple(a.shape)} is not a member of the traced module")
        path = path or self.tensor_attrs.get(a)
        if path is None:
            path = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, path, a)
        return path

    def _instance_arg(self, a):
        fields = {name: self.create_arg(value) for name, value in vars(a).items()}
        name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
        if not any(isinstance(value, torch.fx.Node) for value in fields.values()):
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return self.create_node("call_function", type(a), tuple(fields.values()), {})

    @compatibility(is_backward_compatible=True)
    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module stays one node: those of torch.nn, but for Sequential."""
        home = m.__module__
        own = home.startswith(("cresset.nn", "torch.nn", "cresset.ao.nn", "torch.ao.nn"))
        return own and not isinstance(m, torch.nn.Sequential)

    @compatibility(is_backward_compatible=True)
    def path_of_module(self, mod):
        """The path of a module in the root. Errors: NameError for one that is not in it."""
        paths = self.submodule_paths or {module: path for path, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError(f"module is not installed as a submodule: {type(mod).__name__}")
        return paths[mod]

    @compatibility(is_backward_compatible=True)
    def call_module(self, m, forward, args, kwargs):
        """The result of a call of a module: a node for a leaf, else what its `forward` does.

        Args:
            m: the module.
            forward: calls the module.
            args, kwargs: the arguments of the call.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{path}@{calls}" if calls > 0 else path
            self.module_stack[key] = (scope.module_path, scope.module_type)
            self.num_calls[path] = calls + 1
            try:
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                self.module_stack.pop(key, None)

    @compatibility(is_backward_compatible=False)
    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The value of an attribute of a module: a proxy for a parameter, and for a buffer under `proxy_buffer_attributes`, else its value."""
        if not isinstance(attr_val, torch.Tensor):
            return attr_val
        members, made = (), None
        if isinstance(attr_val, torch.nn.Parameter):
            members = self.root.named_parameters()
            if self.param_shapes_constant:
                made = lambda node: ParameterProxy(self, node, path, attr_val)  # noqa: E731
        elif self.proxy_buffer_attributes:
            members = self.root.named_buffers()
        path = next((path for path, member in members if member is attr_val), None)
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=made)
        return parameter_proxy_cache[path]

    # ---- arguments of the root ------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """The function to run, and the proxies to run it with.

        Args:
            root_fn: the function, or the `forward` of a module's class.
            is_module: whether its first argument is the root.
            concrete_args: {name: value} of arguments that are to be constants; values may hold `PH` for parts that are not.

        A tuple may go on with what `*args` gets.

        Errors: RuntimeError for a tuple of another length than the function has parameters, and for a module's forward without self.
        """
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        own = 1 if is_module else 0
        if count < own:
            raise RuntimeError("create_args_for_root: forward takes self within *args, expected a parameter of its own for it")
        names = code.co_varnames[own:count]
        rest = {}  # what *args gets
        if isinstance(concrete_args, tuple):
            if code.co_flags & inspect.CO_VARARGS and not code.co_kwonlyargcount:
                rest = {f"{code.co_varnames[count]}_{i}": value for i, value in enumerate(concrete_args[len(names) :])}
                concrete_args = concrete_args[: len(names)]
            if len(concrete_args) != len(names):
                raise RuntimeError(f"create_args_for_root: expected {len(names)} arguments but got {len(concrete_args)} in concrete_args")
            concrete_args = dict(zip(names, concrete_args))
        # The variables of *args and **kwargs follow those of the other parameters.
        starred = [star for flag, star in _STARS.items() if code.co_flags & flag and not rest]
        names += tuple(star + name for star, name in zip(starred, code.co_varnames[count:]))
        parameters = inspect.signature(analysed).parameters
        args = [self.root] if is_module else []
        args += [self._proxy_placeholder(name, concrete_args or {}, parameters, analysed) for name in names]
        args += [self._concrete(name, value, ()) for name, value in rest.items()]
        if starred or code.co_kwonlyargcount:
            root_fn = _patch_function(root_fn, len(args))
        leaves, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children()):
            return root_fn, args
        return self._flat(root_fn, [*code.co_varnames[:count], *rest], leaves, in_spec)

    def _flat(self, root_fn, names, leaves, in_spec):
        """The function of the leaves of its arguments, which returns the leaves of its result."""
        codegen = self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

        def flattened(*args):
            result = root_fn(*pytree.tree_unflatten(list(args), in_spec))
            outs, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return outs

        return flattened, leaves

    def _proxy_placeholder(self, name, concrete_args, parameters, analysed):
        declared = inspect.Parameter.empty if name[0] == "*" else parameters[name].default
        default = () if declared is inspect.Parameter.empty else (declared,)
        if name in concrete_args:
            return self._concrete(name, concrete_args[name], default)
        return self.create_proxy("placeholder", name, default, {}, type_expr=analysed.__annotations__.get(name))

    def _concrete(self, name, value, default):
        """A value whose parts marked PH are placeholders; the others are checked when the graph runs."""
        count = 0

        def replaced(x):
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _transfer_attrs(fr=x, to=made.node)
                return made
            self._check_constant(name, made, x)
            return x

        return pytree.tree_map(replaced, value)

    def _check_constant(self, name, proxy, x):
        text = f"{name} has been specialized to have value {x} but got another value"
        if x is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        elif isinstance(x, (bool, int, float, str, complex, torch.dtype, torch.device, torch.layout, torch.memory_format)) and type(x) is not torch.Tensor:
            torch._assert(proxy == x, text)
        else:
            warnings.warn(
                f"cannot check at run time that {name} is {x!r}, for which the function has been specialized: it is up to the caller to pass no other",
                stacklevel=2,
            )

    # ---- the trace --------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def trace(self, root, concrete_args=None):
        """The graph of a function or module.

        Args:
            root: the function or module.
            concrete_args: {name: value} of arguments that are to be constants.

        Errors: TraceError for control flow that depends on a value, and whatever the function raises.
        """
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_fx_tracing_flag = before
            self.submodule_paths = None

    def _trace(self, root, concrete_args):
        is_module = isinstance(root, torch.nn.Module)
        if is_module:
            function = self._function_of(root)
        else:
            self.root, function = torch.nn.Module(), root
        tracer_cls = type(self)
        self.graph = Graph(tracer_cls=None if "<locals>" in tracer_cls.__qualname__ else tracer_cls)
        self.tensor_attrs = self._plain_tensors()
        if not isinstance(function, FunctionType):
            raise AssertionError(f"trace: expected a function or a module, got {type(root).__name__}")
        globals_ = function.__globals__
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with _Patcher() as patcher:
            self._patch(patcher, globals_)
            result = function(*args)
            annotations = getattr(function, "__annotations__", {})
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotations.get("return"))
        return self.graph

    def _function_of(self, root):
        self.root = root
        name = self.traced_func_name
        if not hasattr(type(root), name):
            raise AssertionError(f"traced_func_name={name} doesn't exist in {type(root).__name__}")
        self.root_module_name, self.submodule_paths = root._get_name(), {module: path for path, module in root.named_modules()}
        return getattr(type(root), name)

    def _plain_tensors(self):
        """{tensor: its path} of the tensors that modules hold as ordinary attributes."""
        paths = self.submodule_paths or {self.root: ""}
        holders = [(f"{path}." if path else "", vars(module)) for module, path in paths.items()]
        return {value: prefix + name for prefix, held in holders for name, value in held.items() if isinstance(value, torch.Tensor)}

    def _patch(self, patcher, globals_):
        proxies, module_class = {}, torch.nn.Module
        get, ids, called = self.getattr, self._autowrap_function_ids, module_class.__call__

        def attribute(mod, attr):
            return get(attr, _orig_module_getattr(mod, attr), proxies)

        def call(mod, *args, **kwargs):
            _autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), ids)
            return self.call_module(mod, functools.partial(called, mod), args, kwargs)

        for name, wrapper in (("__getattr__", attribute), ("__call__", call)):
            patcher.patch_method(module_class, name, wrapper, deduplicate=False)
        _patch_wrapped_functions(patcher)
        for space in (globals_, *map(vars, self._autowrap_search)):
            _autowrap_check(patcher, space, ids)


@compatibility(is_backward_compatible=True)
def wrap(fn_or_name):
    """Let calls of a function with proxies become nodes: the tracer does not look into it.

    Called at the top level of a module, with a function of it or with a name, also of a builtin. Returns its argument, so that it is a decorator too.

    Errors: RuntimeError for what is neither, NotImplementedError within a function.

    >>> @torch.fx.wrap
    ... def opaque(x):
    ...     return len(x)
    """
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None:
        raise RuntimeError(f"torch.fx.wrap: expected a function or the name of one, got {type(fn_or_name).__name__}")
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(f"torch.fx.wrap: call it at the top level of a module, got a call within {frame.f_code.co_name}")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


@compatibility(is_backward_compatible=True)
def symbolic_trace(root, concrete_args=None):
    """Run a function or module with proxies, and return a GraphModule that computes the same.

    Args:
        root: the function or module.
        concrete_args: {name: value} of arguments that are to be constants; a value may be a tree that holds `torch.fx.PH` for parts that are not.

    Errors: TraceError for control flow that depends on a value.

    >>> traced = torch.fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True})
    >>> traced(torch.zeros(1), True)
    tensor([1.])
    """
    return _traced_by(Tracer(), root, concrete_args)


def _traced_by(tracer, root, *how):
    """The GraphModule of what a tracer traces."""
    graph = tracer.trace(root, *how)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__)
