"""Hooks before forward that compute one tensor of their module: finding them by the tensor's name, taking them off."""


class Recomputed:
    """Base of hooks that set attribute `name` of the module from `compute_weight` before every call."""

    def __call__(self, module, inputs):
        self._set(module, do_power_iteration=module.training)

    def _set(self, module, **_):
        setattr(module, self.name, self.compute_weight(module))


def number_of(module, kind, name, attribute="name"):
    """The number of the hook of this kind for tensor `name`, or None."""
    numbers = (n for n, hook in module._forward_pre_hooks.items() if isinstance(hook, kind) and getattr(hook, attribute) == name)
    return next(numbers, None)


def refuse_second(module, kind, name, function):
    if number_of(module, kind, name) is not None:
        raise RuntimeError(f"{function}: expected a tensor that it was not yet applied to, got '{name}'")


def refuse_lazy(tensor, name, function):
    from ..parameter import is_lazy

    if is_lazy(tensor):
        raise ValueError(f"{function}: '{name}' has no shape yet; call the module once before")


def take_off(module, kind, name, function, attribute="name"):
    """Removes the hook for tensor `name`, which becomes an ordinary parameter; returns the module. ValueError without such a hook."""
    number = number_of(module, kind, name, attribute)
    if number is None:
        raise ValueError(f"{function}: expected a tensor with a {kind.__name__} hook, got '{name}' of {module}")
    module._forward_pre_hooks.pop(number).remove(module)
    return module
