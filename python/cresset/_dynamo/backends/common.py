"""Backends of compilers of forward and backward.

>>> from torch._dynamo.backends.common import aot_autograd
>>> def show(gm, inputs):
...     print([str(node.target) for node in gm.graph.nodes if node.op == "call_function"])
...     return gm.forward
>>> torch.compile(lambda x: x.sin(), backend=aot_autograd(fw_compiler=show))(torch.zeros(1))
['aten.sin.default']
tensor([0.])
"""

from _cresset import Tensor

import cresset as torch

from ..._functorch.aot_autograd import aot_function, aot_module_simplified

__all__ = ["AotAutograd", "aot_autograd"]


def makes_leaves(gm):
    """Whether a graph makes a tensor that requires a gradient of its own, as `requires_grad_()` does: there is no joint graph of such."""
    values = (node.meta.get("val") for node in gm.graph.nodes if node.op != "placeholder")
    return any(isinstance(value, Tensor) and value.requires_grad and _is_leaf(value) for value in values)


def _is_leaf(value):
    try:
        return value.is_leaf
    except RuntimeError:  # a view without gradients, of what has been written since
        return False


def updates_list(node):
    """Whether a node writes a whole list of tensors, as a step of an optimizer does, by rules that read counts of steps. Its parts would be made for one count."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable and str(schema.arguments[0].type) == "List[Tensor]"


def writes_detached(gm):
    """Whether a graph writes to what `detach()` or `data` gives, or views of it: the tensor itself has then other values at the same version."""
    detached = set()
    for node in gm.graph.nodes:
        if node.target in ("detach", torch.detach) or (node.target is getattr and node.args[1] == "data"):
            detached.add(node)
        elif not detached.isdisjoint(node.all_input_nodes):
            detached.add(node)
            name = getattr(node.target, "__name__", str(node.target))
            if name in _WRITING or (name.endswith("_") and not name.endswith("__")) or "out" in node.kwargs:
                return True
    return False


def stays_whole(gm):
    """Whether a graph runs as it was captured: what it does is none of a functional graph of operators, or none whose sizes are open."""
    told = gm.meta.get("whole") or (gm.meta.get("open") and gm.meta.get("shares_memory"))
    return told or makes_leaves(gm) or writes_detached(gm) or any(map(updates_list, gm.graph.nodes))


_WRITING = frozenset(("setitem", "delitem", *(f"i{name}" for name in "add and floordiv lshift matmul mul mod or pow rshift sub truediv xor".split())))


class AotAutograd:
    """A backend that takes graphs apart to operators, forward and backward, and hands both to compilers."""

    __name__ = "compiler_fn"

    def __init__(self, **kwargs):
        self.kwargs = kwargs

    def __call__(self, gm, example_inputs, **kwargs):
        if stays_whole(gm):
            return gm.forward
        if gm.meta.get("open"):
            return aot_function(gm.forward, **self.kwargs)  # captured once for each kind of sizes
        return aot_module_simplified(gm, example_inputs, **self.kwargs)


def aot_autograd(**kwargs):
    """A backend of `fw_compiler`, `bw_compiler`, `inference_compiler`, `partition_fn` and `decompositions`: the arguments of `aot_module_simplified`."""
    return AotAutograd(**kwargs)
