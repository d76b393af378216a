"""The base of passes."""

import abc
from collections import namedtuple

from ..._compatibility import compatibility

__all__ = ["PassResult", "PassBase"]


@compatibility(is_backward_compatible=False)
class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """The module that a pass gives, and whether it differs from the one that the pass was given.

    >>> torch.fx.passes.infra.pass_base.PassResult(nn.Identity(), False).modified
    False
    """

    __slots__ = ()

    def __new__(cls, graph_module, modified):
        return super().__new__(cls, graph_module, modified)


@compatibility(is_backward_compatible=False)
class PassBase(abc.ABC):
    """A pass: subclasses define `call`, which takes a module and returns a PassResult or None; `requires` and `ensures` are its checks.

    >>> infra = torch.fx.passes.infra.pass_base
    >>> class Nothing(infra.PassBase):
    ...     def call(self, graph_module):
    ...         return infra.PassResult(graph_module, False)
    >>> Nothing()(torch.fx.symbolic_trace(lambda x: x)).modified
    False
    """

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """The work of the pass."""

    def requires(self, graph_module):  # noqa: B027
        """Raises where a module is not as the pass needs it."""

    def ensures(self, graph_module):  # noqa: B027
        """Raises where the pass has not done as it should."""
