"""Modules whose parameters get their shapes from the first input."""

from ..parameter import UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Base of lazy layers. A subclass holds uninitialized parameters and defines `initialize_parameters`, which the first call runs.

    Afterwards the module becomes one of the class `cls_to_become`.

    >>> issubclass(nn.LazyLinear, nn.modules.lazy.LazyModuleMixin)
    True
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_adopt_shapes, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """Give every parameter its shape and values, from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is missing in {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether a parameter or buffer still has no shape."""
        return any(is_lazy(value) for value in (*self._parameters.values(), *self._buffers.values()))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        values = {n: v for n, v in self._buffers.items() if n not in self._non_persistent_buffers_set}
        for name, value in (*self._parameters.items(), *values.items()):
            if value is not None:
                destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()


class _LazyLayer(LazyModuleMixin):
    """Base of the lazy layers here: attribute `_wanted` and the shapes of the parameters and buffers follow from the first input."""

    def _start_lazy(self, bias, device, dtype, **options):
        """Sets attributes, and puts tensors without shapes in place of weight and bias."""
        self.__dict__.update(options)
        for name in ("weight", "bias")[: 1 + bool(bias)]:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))

    def reset_parameters(self):
        if getattr(self, self._wanted) and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        waiting = [(name, t) for name, t in (*self._parameters.items(), *self._buffers.items()) if is_lazy(t)]
        if not waiting:
            return
        setattr(self, self._wanted, self._found_in(input))
        shapes = self._shapes()
        for name, tensor in waiting:
            tensor.materialize(shapes[name])
        self.reset_parameters()


def _adopt_shapes(module, state_dict, prefix, *_):
    """Loading gives waiting tensors the shapes in the file."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        saved = state_dict.get(prefix + name)
        if is_lazy(value) and saved is not None and not is_lazy(saved):
            value.materialize(saved.shape)


def _infer_parameters(module, args, kwargs=None):
    module.initialize_parameters(*args, **(kwargs or {}))
    if waiting := [name for name, value in (*module._parameters.items(), *module._buffers.items()) if is_lazy(value)]:
        raise RuntimeError(f"{type(module).__name__}: expected initialize_parameters to materialize all tensors, got none of {waiting}")
    for name in ("_initialize_hook", "_load_hook"):
        module.__dict__.pop(name).remove()
    module.__class__ = module.cls_to_become or type(module)
