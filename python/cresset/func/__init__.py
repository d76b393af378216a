"""torch.func: transforms of functions of tensors. They take a function and return one that computes its derivatives; they nest."""

from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._functionalize import functionalize
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._rearrange import rearrange
from ._vmap import debug_unwrap, vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]  # fmt: skip
