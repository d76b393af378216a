"""Parameters of tensor classes as the plain tensors that they hold, from which the class is built when a module reads them."""

from ... import nn
from ...nn.utils import parametrize
from ...utils._python_dispatch import is_traceable_wrapper_subclass

__all__ = ["UnwrapTensorSubclass", "unwrap_tensor_subclass_parameters"]


class UnwrapTensorSubclass(nn.Module):
    """A parametrization that builds a tensor of a class from the plain tensors in it, also those of classes within."""

    def forward(self, *tensors):
        """The tensor. `right_inverse` has been called before."""
        given = iter(tensors)
        return self._built(self.plan, given)

    def _built(self, plan, given):
        if plan is None:
            return next(given)
        kind, names, context, size, stride = plan
        inner = {name: self._built(part, given) for name, part in names}
        return kind.__tensor_unflatten__(inner, context, size, stride)

    def right_inverse(self, tensor):
        """The plain tensors of a tensor."""
        plain = []
        self.plan = self._planned(tensor, plain)
        return plain

    def _planned(self, tensor, plain):
        if not is_traceable_wrapper_subclass(tensor):
            plain.append(tensor)
            return None
        names, context = tensor.__tensor_flatten__()
        return type(tensor), [(name, self._planned(getattr(tensor, name), plain)) for name in names], context, tensor.size(), tensor.stride()


def unwrap_tensor_subclass_parameters(module):
    """Parametrizes the parameters of a module, and of all within, that are tensors of classes; returns the module. A parameter `w` becomes
    `parametrizations.w.original0` and so on in its state.

    >>> module = nn.Linear(2, 1)
    >>> module is torch._functorch._aot_autograd.subclass_parametrization.unwrap_tensor_subclass_parameters(module)
    True
    """
    for name, parameter in list(module.named_parameters(recurse=False)):
        if is_traceable_wrapper_subclass(parameter):
            parametrize.register_parametrization(module, name, UnwrapTensorSubclass())
    for child in module.children():
        unwrap_tensor_subclass_parameters(child)
    return module
