"""Whether operators record the graph: the contexts of `torch.no_grad` and its like."""

from .. import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
