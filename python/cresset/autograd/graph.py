"""The recorded graph: its nodes and edges."""

from __future__ import annotations

import abc
import typing

import _cresset

from . import _handles


class Node(abc.ABC):
    """A step of the graph, as `tensor.grad_fn` gives it: takes the gradients of an operator's results, gives those of its arguments.

    >>> y = torch.ones(2, requires_grad=True).sin()
    >>> y.grad_fn.name()
    'SinBackward0'
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the operator's gradient."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A node and the number of its input for each argument; (None, 0) for an argument that needs no gradient."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict:
        """A dict for the user's own use, which lives as long as the node."""

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple:
        """Shape, dtype and device of each result of the operator."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; a tuple it returns takes the place of `grad_inputs`.

        >>> y = torch.ones(2, requires_grad=True).sin()
        >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 0,))
        """

    @abc.abstractmethod
    def register_prehook(self, fn):
        """Call `fn(grad_outputs)` before the node runs; a tuple it returns takes the place of `grad_outputs`."""

    @classmethod
    def __subclasshook__(cls, other):
        return issubclass(other, (_cresset._Node, _cresset._FunctionBase)) if cls is Node else NotImplemented


def _register_hook(self, fn):
    return _handles.add(self._hook_table(False), fn)


def _register_prehook(self, fn):
    return _handles.add(self._hook_table(True), fn)


_cresset._Node.register_hook = _register_hook
_cresset._Node.register_prehook = _register_prehook
_register_hook.__doc__, _register_prehook.__doc__ = Node.register_hook.__doc__, Node.register_prehook.__doc__


class GradientEdge(typing.NamedTuple):
    """A place in the graph where a gradient arrives: a node and the number of its input. `backward` and `grad` take it for a tensor."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor):
    """Return the edge that the gradient of `tensor` goes along.

    Errors: RuntimeError for a tensor that does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x.sin())
    >>> torch.autograd.grad(edge, x, torch.ones(2))[0].shape
    torch.Size([2])
    """
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge: it is not possible to get the gradient edge of a tensor that does not require gradients")
    node, nr = _cresset.gradient_edge(tensor)
    return GradientEdge(node, nr, node)


def increment_version(tensor):
    """Count a change in place of `tensor`, or of each of several, that happened behind autograd's back.

    Errors: RuntimeError for an inference tensor.

    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, _cresset.Tensor) else tensor:
        _cresset.increment_version(t)
