"""Partitions of nodes whose values are all on a CUDA device."""

import operator

from ...node import Node
from ..fake_tensor_prop import FakeTensorProp
from ..infra.partitioner import CapabilityBasedPartitioner
from ..operator_support import OperatorSupport
from ..tools_common import CALLABLE_NODE_OPS

__all__ = ["CudaGraphsSupport", "partition_cudagraphs"]


class CudaGraphsSupport(OperatorSupport):
    """Support of nodes whose inputs and value are on a CUDA device, by their `meta["val"]`.

    >>> torch.fx.passes.backends.cudagraphs.CudaGraphsSupport().is_node_supported({}, torch.fx.Graph().placeholder("x"))
    False
    """

    def is_node_supported(self, submodules, node):
        """Whether the node's values are all on a CUDA device."""
        if node.op not in CALLABLE_NODE_OPS:
            return False
        if node.target is operator.getitem:
            return True

        def on_device(value):
            tensors = value if isinstance(value, (tuple, list)) else (value,)
            return all(t.device.type == "cuda" for t in tensors if hasattr(t, "device"))

        return all(on_device(n.meta.get("val")) for n in (*node.all_input_nodes, node) if isinstance(n, Node))


def partition_cudagraphs(gm, inputs):
    """Make submodules of the parts of a module that run on a CUDA device; returns the module.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> list(torch.fx.passes.backends.cudagraphs.partition_cudagraphs(traced, [torch.ones(1)]).children())
    []
    """
    FakeTensorProp(gm).propagate(*inputs)
    return CapabilityBasedPartitioner(gm, CudaGraphsSupport(), allows_single_node_partition=True).partition_and_fuse()
