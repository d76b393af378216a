"""Callables that a capture runs in its own way: built-in functions that look into objects, module calls, and what talks to the compiler."""

import builtins
import functools
import operator
import os
import sys
import types
import weakref

import _cresset
from _cresset import Tensor

import cresset as torch
import cresset.utils.checkpoint

from ..._core import modes as _modes
from ...fx.experimental.symbolic_shapes import hint_int
from ...nn.modules import module as _module
from ...nn.modules.lazy import LazyModuleMixin, _infer_parameters
from ...optim import _elementwise
from ...utils._pytree import tree_map
from .. import config
from . import arrays, attributes, calls, native, objects, operators, places as P
from .attributes import get_attribute
from .calls import HANDLERS, call
from .objects import python_method
from .record import LEAVES, is_array
from .signals import Break, Uninitialized
from .world import NULL

_Module = torch.nn.Module
_missing = object()


def _handles(*functions):
    def register(handler):
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


# ---- attributes -------------------------------------------------------------------------------------------------------------


@_handles(getattr)
def _getattr(machine, owner, name, *default):
    if not default:
        return get_attribute(machine, owner, name)
    try:
        return get_attribute(machine, owner, name)
    except AttributeError:
        return default[0]


@_handles(hasattr)
def _hasattr(machine, owner, name):
    return attributes.has_attribute(machine, owner, name)


@_handles(setattr)
def _setattr(machine, owner, name, value):
    attributes.set_attribute(machine, owner, name, value)


@_handles(delattr)
def _delattr(machine, owner, name):
    attributes.delete_attribute(machine, owner, name)


@_handles(object.__setattr__)
def _object_setattr(machine, owner, name, value):
    attributes.set_plainly(machine, owner, name, value)


@_handles(object.__getattribute__)
def _object_getattribute(machine, owner, name):
    if isinstance(owner, (Tensor, type, types.ModuleType)) or type(owner) in objects._CONTAINERS:
        return object.__getattribute__(owner, name)
    return attributes._object_attribute(machine, owner, type(owner), name, plain=True)


@_handles(operator.attrgetter)
def _attrgetter(machine, *names):
    def get(owner):
        found = []
        for name in names:
            value = owner
            for part in name.split("."):
                value = get_attribute(machine, value, part)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    return machine.world.stands_for(get, operator.attrgetter(*names))


@_handles(operator.methodcaller)
def _methodcaller(machine, name, *args, **kwargs):
    return machine.world.stands_for(
        lambda owner: call(machine, get_attribute(machine, owner, name), args, kwargs), operator.methodcaller(name, *args, **kwargs)
    )


# ---- classes ----------------------------------------------------------------------------------------------------------------


@_handles(isinstance)
def _isinstance(machine, value, kinds):
    if isinstance(value, Tensor):
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        cls = objects.type_of(machine, value)
        return any(isinstance(value, k) if k in (torch.nn.Parameter, torch.nn.Buffer) else _is_subclass(cls, k, value) for k in kinds)
    if is_array(value):
        return issubclass(objects.type_of(machine, value), kinds)
    return isinstance(value, kinds)


def _is_subclass(cls, kind, value):
    if isinstance(kind, tuple):
        return any(_is_subclass(cls, k, value) for k in kind)
    return issubclass(cls, kind) if type(kind) is type else isinstance(value, kind)


@_handles(callable)
def _callable(machine, value):
    return callable(value)


# ---- containers and iteration -----------------------------------------------------------------------------------------------


@_handles(len)
def _len(machine, value):
    own = python_method(value, "__len__")
    if own is not None:
        return call(machine, own, (value,), {})
    objects.must_be_known(machine, value, "the length")
    return len(value)


@_handles(iter)
def _iter(machine, value, *sentinel):
    return operators.iterator(machine, value) if not sentinel else iter(objects.callback(machine, value), *sentinel)


@_handles(next)
def _next(machine, value, *default):
    try:
        return operators.advance(machine, value)
    except StopIteration:
        if default:
            return default[0]
        raise


@_handles(builtins.sum)
def _sum(machine, items, /, start=0):
    for item in operators.items_of(machine, items):
        start = operators.binary(machine, operator.add, start, item)
    return start


@_handles(any)
def _any(machine, items):
    return any(operators.truth(machine, item) for item in _lazily(machine, items))


@_handles(all)
def _all(machine, items):
    return all(operators.truth(machine, item) for item in _lazily(machine, items))


def _lazily(machine, items):
    steps = operators.iterator(machine, items)
    while True:
        try:
            item = operators.advance(machine, steps)
        except StopIteration:
            return
        yield item


def _ordered(function):
    def handler(machine, *args, key=None, **kwargs):
        items = [operators.items_of(machine, args[0])] if len(args) == 1 else list(args)
        values = items[0] if len(args) == 1 else items
        if any(objects._own_code(value) for value in values) and key is None:
            key = functools.cmp_to_key(lambda a, b: -1 if operators.truth(machine, operators.binary(machine, operator.lt, a, b)) else 1)
        elif key is not None:
            key = objects.callback(machine, key)
        return function(*items, **kwargs) if key is None else function(*items, key=key, **kwargs)

    return handler


for _function in (sorted, min, max):
    HANDLERS[_function] = _ordered(_function)


@_handles(list.sort)
def _sort(machine, owner, *, key=None, reverse=False):
    owner.sort(key=None if key is None else objects.callback(machine, key), reverse=reverse)


@_handles(functools.reduce)
def _reduce(machine, function, items, *start):
    return functools.reduce(lambda a, b: call(machine, function, (a, b), {}), operators.items_of(machine, items), *start)


@_handles(functools.cmp_to_key)
def _cmp_to_key(machine, function):
    return functools.cmp_to_key(objects.callback(machine, function))


@_handles(repr, str.__repr__)
def _repr(machine, value):
    value = objects.as_key(value)
    own = python_method(value, "__repr__")
    if own is not None:
        return call(machine, own, (value,), {})
    if machine.world.origin(value) is not None and type(value) not in objects._CONTAINERS or type(value) is object:
        raise Break("the text of an object")
    return repr(value)


@_handles(format)
def _format(machine, value, spec=""):
    value = objects.as_key(value)
    own = python_method(value, "__format__")
    if own is not None:
        return call(machine, own, (value, spec), {})
    if not spec:
        return call(machine, str, (value,), {})
    return format(value, spec)


@_handles(builtins.hash)
def _hash(machine, value):
    own = python_method(value, "__hash__")
    if own is not None:
        return call(machine, own, (value,), {})
    if machine.world.origin(value) is not None:
        raise Break("the hash of an object from outside of the frame")
    return hash(objects.as_key(value))


@_handles(id)
def _id(machine, value):
    return id(value)


@_handles(vars)
def _vars(machine, *owner):
    if not owner:
        raise Break("vars()")
    return get_attribute(machine, owner[0], "__dict__")


@_handles(sys.exc_info)
def _exc_info(machine):
    error = machine.world.handled[-1] if machine.world.handled else None
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


def _of_paths(function):
    return lambda machine, *names: function(*map(objects.as_key, names))


# Functions of text alone.
for _function in (os.path.join, os.path.basename, os.path.dirname, os.path.split, os.path.splitext, os.path.isabs, os.path.normpath):
    HANDLERS[_function] = _of_paths(_function)


@_handles(globals)
def _globals(machine):
    raise Break("globals()")


# ---- the environment ------------------------------------------------------------------------------------------------------


@_handles(os._Environ.__getitem__)
def _environment(machine, environ, key):
    world, encoded = machine.world, os.fsencode(key)
    place = world.place(P.ITEM, world.place(P.ATTR, world.constant(os.environ), "_data"), encoded)
    if environ is not os.environ:
        raise Break("an environment that is not the process's")
    if encoded in os.environ._data:
        return os.fsdecode(world.bring(os.environ._data[encoded], place))
    if place not in world.seen:
        world.seen[place] = NULL
        world.check(P.MISSING, place)
    raise KeyError(key)


@_handles(os.getenv)
def _getenv(machine, key, default=None):
    try:
        return _environment(machine, os.environ, key)
    except KeyError:
        return default


# ---- modules ----------------------------------------------------------------------------------------------------------------

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = ("_global_forward_pre_hooks", "_global_forward_hooks", "_global_backward_hooks", "_global_backward_pre_hooks")


@_handles(_Module.__call__)
def _module_call(machine, module, *args, **kwargs):
    world = machine.world
    if isinstance(module, LazyModuleMixin) and module.has_uninitialized_params():
        with world.unwatched():
            given, named = tree_map(_like, (args, kwargs))
        raise Uninitialized(lambda: _infer_parameters(module, given, named))
    hooked = [name for name in _HOOKS if get_attribute(machine, module, name)]
    space = _module.__dict__
    anywhere = [name for name in _GLOBAL_HOOKS if world.bring(space[name], world.place(P.ITEM, world.constant(space), name))]
    if any("backward" in name for name in (*hooked, *anywhere)):
        raise Break("a module has backward hooks")
    if hooked or anywhere:
        return calls.inline(machine, _Module._call_with_hooks, (module, args, kwargs), {})
    return call(machine, get_attribute(machine, module, "forward"), args, kwargs)


def _like(value):
    """A tensor with memory of the sizes that a fake one has in the example; any other value as it is."""
    return torch.zeros([hint_int(size) for size in value.shape], dtype=value.dtype) if isinstance(value, Tensor) else value


@_handles(_Module.__getattr__)
def _module_getattr(machine, module, name):
    own, place = objects.instance_dict(module), machine.world.origin(module)
    value = objects._missing
    if place is not None:
        value = attributes._module_attribute(machine, module, place, own, name)
        if value is objects._missing:  # it may be there at another call
            for table in ("_parameters", "_buffers", "_modules"):
                machine.world.bring(own[table], machine.world.place(P.ATTR, place, table))
    return _Module.__getattr__(module, name) if value is objects._missing else value


# ---- weak references ------------------------------------------------------------------------------------------------------


@_handles(weakref.ref)
def _weak_reference(machine, value, callback=None):
    if callback is not None:
        raise Break("a weak reference with a function that is called at the end")
    return weakref.ref(value)


# ---- modes ----------------------------------------------------------------------------------------------------------------


@_handles(_modes._Context._again)
def _context_again(machine, context):
    return call(machine, type(context), (), {})


@_handles(_modes.set_grad_enabled._again, _modes.inference_mode._again)
def _mode_again(machine, context):
    return call(machine, type(context), (get_attribute(machine, context, "mode"),), {})


# ---- arrays ---------------------------------------------------------------------------------------------------------------


@_handles(Tensor.numpy)
def _numpy(machine, tensor, *, force=False):
    if not config.trace_numpy:
        raise Break(LEAVES["numpy"])
    return arrays.of_tensor(tensor, force=force)


def _of_array(function):
    def handler(machine, *args, **kwargs):
        made = arrays.made_tensor(machine, function, *args, **kwargs) if args else None
        return native.call_native(machine, function, args, kwargs) if made is None else made

    return handler


for _function in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy):
    HANDLERS[_function] = _of_array(_function)


# ---- gradients ------------------------------------------------------------------------------------------------------------


@_handles(torch.autograd.grad)
def _grad(machine, *args, **kwargs):
    # The history of a tensor from outside is not in the graph.
    raise Break("torch.autograd.grad()")


@_handles(torch.autograd.backward)
def _backward(machine, *args, **kwargs):
    raise Break("torch.autograd.backward()")


@_handles(torch.utils.checkpoint.checkpoint)
def _checkpoint(
    machine, function, *args, use_reentrant=None, context_fn=None, determinism_check=None, debug=False, early_stop=True, preserve_rng_state=True, **kwargs
):
    return call(machine, function, args, kwargs)


# ---- optimizers -------------------------------------------------------------------------------------------------------------


@_handles(_elementwise._number)
def _number(machine, value):
    """An option of an optimizer: tensors stay tensors, and the operator takes them."""
    return value


@_handles(_cresset.list_step)
def _list_step(machine, rule, params, states, keys, numbers, takes_sparse):
    """As `list_step` of the extension, with the operator as a node."""
    world, lists, grads, kept, steps, unready = machine.world, [], [], [[] for _ in keys], [], []
    stateless = all(key is None for key in keys)
    for p in params:
        grad = world.grad_of(p)
        if grad is None:
            continue
        state = states.get(p)
        values = [state.get(key) if state is not None and key is not None else None for key in keys]
        if not stateless and any(key is not None and not isinstance(value, Tensor) for key, value in zip(keys, values, strict=True)):
            unready.append(p)
            continue
        lists.append(p)
        grads.append(grad)
        for into, value in zip(kept, values, strict=True):
            if value is not None:
                into.append(value)
        if state is not None and isinstance(state.get("step"), Tensor):
            steps.append(state["step"])
    if unready or rule is None or not lists:
        return unready or None
    if "." in rule:
        raise Break("a differentiable step of an optimizer")
    packet, tensors = getattr(torch.ops.aten, rule), [name for name, value in numbers.items() if isinstance(value, Tensor)]
    if tensors and (tensors != ["lr"] or "tensor_lr" not in packet.overloads()):
        raise Break(f"options of an optimizer that are tensors: {', '.join(tensors)}")
    operator_ = packet.tensor_lr if tensors else packet.default
    given, rest = [lists, grads], iter(kept)
    named = {}
    for argument in operator_._schema.arguments[2:]:
        if argument.name in numbers:
            value = numbers[argument.name]
            as_tensor = str(argument.type) == "Tensor" and not isinstance(value, Tensor)
            named[argument.name] = torch.tensor(value, dtype=torch.float64) if as_tensor else value
        elif argument.name == "state_steps":
            given.append(steps)
        elif str(argument.type) == "List[Tensor]":
            given.append(next(rest))
    if steps:
        native.as_node(machine, torch.ops.aten._foreach_add_.Scalar, (steps, 1), {})
    native.as_node(machine, operator_, tuple(given), named)
    for t in (*lists, *grads, *steps, *(t for some in kept for t in some)):
        machine.world.tracer.written.add(id(t))
    return None


# ---- the compiler -----------------------------------------------------------------------------------------------------------


def install():
    """Adds what the package says of itself; called once it is loaded."""
    from ... import _dynamo, compiler

    def is_compiling(machine):
        machine.world.told = True
        return True

    HANDLERS[compiler.is_compiling] = HANDLERS[compiler.is_dynamo_compiling] = HANDLERS[_dynamo.is_compiling] = is_compiling
    HANDLERS[compiler.is_exporting] = lambda machine: False
    HANDLERS[compiler._numpy_functions._arrays] = lambda machine, tree: arrays.of_tensors(tree)
    HANDLERS[compiler._numpy_functions._tensors] = lambda machine, tree: arrays.to_tensors(tree)

    def graph_break(machine, msg=""):
        raise Break(msg or "torch._dynamo.graph_break()")

    HANDLERS[_dynamo.graph_break] = graph_break
