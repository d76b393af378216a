"""torch.nn.cpp: modules written in C++ as modules of Python. Extensions bind them by `torch::python::bind_module`."""

from . import Module

__all__ = ["ModuleWrapper"]


class _Named(dict):
    """The C++ object's present entries under their names; entries that are written reach tensors only through their data."""


class ModuleWrapper(Module):
    """A module over a C++ one: its parameters, buffers, children and mode are that object's. See `torch.utils.cpp_extension`, by which extensions are
    built; they bind modules by `torch::python::bind_module`.

    >>> issubclass(torch.nn.cpp.ModuleWrapper, torch.nn.Module)
    True
    """

    def __init__(self, cpp_module):
        self.__dict__["cpp_module"] = cpp_module
        super().__init__()

    @property
    def _parameters(self):
        return _Named(self.cpp_module.named_parameters(recurse=False))

    @_parameters.setter
    def _parameters(self, value):
        pass  # the C++ object holds them

    @property
    def _buffers(self):
        return _Named(self.cpp_module.named_buffers(recurse=False))

    @_buffers.setter
    def _buffers(self, value):
        pass

    @property
    def _modules(self):
        return {name: ModuleWrapper(child) for name, child in self.cpp_module.named_children()}

    @_modules.setter
    def _modules(self, value):
        pass

    @property
    def training(self):
        return self.cpp_module.is_training()

    @training.setter
    def training(self, mode):
        self.cpp_module.train(mode)

    def _apply(self, fn, recurse=True):
        for tensors in (self.cpp_module.named_parameters(recurse), self.cpp_module.named_buffers(recurse)):
            for _, tensor in tensors:
                tensor.data = fn(tensor.data)
                if tensor.grad is not None:
                    tensor.grad.data = fn(tensor.grad.data)
        return self

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return getattr(self.__dict__["cpp_module"], name)

    def forward(self, *args, **kwargs):
        """The C++ object's, where it is bound."""
        return self.cpp_module.forward(*args, **kwargs)

    def __repr__(self):
        return repr(self.cpp_module)


def _wrapper_class(name, cpp_class):
    """The class that makes C++ objects of `cpp_class` and wraps them."""

    def __init__(self, *args, **kwargs):
        ModuleWrapper.__init__(self, cpp_class(*args, **kwargs))

    return type(name, (ModuleWrapper,), {"__init__": __init__, "__doc__": cpp_class.__doc__})
