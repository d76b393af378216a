"""Hooks on tensors: those of a tensor from outside are registered there behind the graph, those of a tensor of the graph are part of it."""

import types

import cresset as torch

from . import calls
from .signals import Break
from .world import is_constant


class Handle:
    """Stands within a capture for the handle of a hook that is registered behind the graph."""

    def __init__(self, tensor, name, hook):
        self.tensor, self.name, self.hook = tensor, name, hook
        self.removed = False

    def remove(self):
        """The hook is not registered."""
        self.removed = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class _InGraph(Handle):
    def remove(self):
        raise Break("a hook on a tensor of the graph is removed")


def register(machine, tensor, name, hook):
    """`tensor.register_hook(hook)` and the like."""
    world = machine.world
    if world.tensor_places.get(id(tensor)) is not None:
        if not tensor.requires_grad:
            raise RuntimeError(f"{name}: expected a tensor that requires gradients")
        handle = Handle(tensor, name, hook)
        world.hooks.append(handle)
        return handle
    if name != "register_hook" or type(hook) is not types.FunctionType or not all(map(_is_plain, hook.__closure__ or ())):
        raise Break(f"Tensor.{name}() of a tensor of the graph", "use a function of the gradient alone")
    _must_be_pure(machine, tensor, hook)
    with world.tracer.silence():
        tensor.register_hook(hook)
    world.tracer.node("register_hook", (tensor, hook), {}, None, op="call_method")
    return _InGraph(tensor, name, hook)


def _is_plain(cell):
    try:
        value = cell.cell_contents
    except ValueError:
        return False
    return is_constant(value) or isinstance(value, types.ModuleType)


def _must_be_pure(machine, tensor, hook):
    """Executes a hook on a gradient. Errors: Break where it changes anything, which would happen when the graph is traced."""
    world, tracer = machine.world, machine.world.tracer
    before, known, within = _state(world), len(world.snapshots), tracer.in_region
    with tracer.silence():
        tracer.in_region = True
        try:
            calls.call(machine, hook, (torch.empty_like(tensor),), {})
        finally:
            tracer.in_region = within
    brought = all(_ids(twin) == _ids(was) for twin, was, *_ in world.snapshots[known:])
    if _state(world, known) != before or not brought:
        raise Break("a hook on a tensor of the graph has effects")


def _state(world, known=None):
    """The changes of the frame so far, by identity."""
    tables = [{key: _ids(entry[1]) for key, entry in table.items()} for table in (world.attributes, world.global_writes)]
    return tables, _ids(world.cell_writes), len(world.hooks), [_ids(twin) for twin, *_ in world.snapshots[:known]]


def _ids(values):
    if isinstance(values, dict):
        return {key: id(value) for key, value in dict.items(values)}
    return list(map(id, values)) if not isinstance(values, set) else set(values)
