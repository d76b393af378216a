"""FakeTensorProp, which runs a module without values and notes the fake value of every node."""

import cresset as torch

from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["FakeTensorProp"]


@compatibility(is_backward_compatible=False)
class FakeTensorProp(Interpreter):
    """Runs a module with fake tensors, and puts the value of every node into `meta["val"]`.

    Args:
        module: the module.
        mode: the FakeTensorMode; a new one by default.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(1))
    >>> _ = torch.fx.passes.fake_tensor_prop.FakeTensorProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["val"].shape) for node in traced.graph.nodes]
    [(2, 3), (2,), (2,)]
    """

    def __init__(self, module, mode=None):
        super().__init__(module)
        if mode is None:
            from cresset._subclasses.fake_tensor import FakeTensorMode

            mode = FakeTensorMode()
        self._mode = mode

    def run_node(self, n):
        """The value of a node, which is noted."""
        result = super().run_node(n)
        found = False

        def extract(value):
            nonlocal found
            found = found or isinstance(value, (torch.Tensor, int, float))
            return value

        meta = map_aggregate(result, extract)
        if found:
            n.meta["val"] = meta
        return result

    def propagate(self, *args):
        """Run the module with fake tensors of the arguments; returns its result."""
        return self.propagate_dont_convert_inputs(*[self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args])

    def propagate_dont_convert_inputs(self, *args):
        """Run the module with arguments that are fake already."""
        with self._mode:
            return super().run(*args)
