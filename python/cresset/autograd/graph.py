"""The recorded graph: its nodes and edges."""

from __future__ import annotations

import abc
import collections
import contextlib
import threading
import weakref

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


class GradientEdge(collections.namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])):
    """A place in the graph where a gradient arrives: a node and the number of its input. `backward` and `grad` take it for a tensor.

    >>> x = torch.ones(2, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.output_nr
    0
    """

    __slots__ = ()


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
    """Count a change in place of `tensor`, or of each of several, that happened behind autograd's back. Inference tensors count none.

    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, _cresset.Tensor) else tensor:
        if not t.is_inference():
            _cresset.increment_version(t)


class saved_tensors_hooks:
    """A context in which every tensor that operators save for backward goes through `pack_hook`, and through `unpack_hook` when needed.

    `pack_hook(tensor)` may return anything, `unpack_hook(packed)` must give a tensor of the same content. Contexts nest, the innermost
    counts; only this thread is concerned. Errors: RuntimeError for a pack hook that changes its argument in place; TypeError for an
    unpack hook that returns no tensor.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = x.exp()
    >>> y.sum().backward(); x.grad.shape
    torch.Size([2])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _cresset.push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_):
        _cresset.pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A context in which operators keep what they save for backward in the memory of the CPU.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x.exp()
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            copy = tensor.cpu()
            return tensor.device, copy.pin_memory() if pin_memory and copy is not tensor else copy

        super().__init__(pack, lambda packed: packed[1].to(packed[0], non_blocking=pin_memory))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """A context, or decorator, in which installing hooks on saved tensors raises RuntimeError with this message.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     torch.ones(1).exp().item() > 2
    True
    """
    before = _cresset.disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _cresset.disable_saved_tensors_hooks(before)


class _MutationContext:
    """The copies that `allow_mutation_on_saved_tensors` has made."""

    def __init__(self):
        self.copies = weakref.WeakKeyDictionary()

    def clear(self):
        """Drop the copies: backward through what was recorded is not possible any more."""
        self.copies.clear()


_mutation = threading.local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """A context in which tensors that backward needs may be changed in place: operators save copies. Run backward within it.

    Errors: RuntimeError for a context within a context; AssertionError for backward after its end.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = y * y
    ...     y.zero_() is y
    ...     z.sum().backward(); x.grad.tolist()
    True
    [2.0, 2.0]
    """
    if getattr(_mutation, "context", None) is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors: contexts cannot be nested")
    context = _mutation.context = _MutationContext()

    def pack(tensor):
        key = _Key()
        context.copies[key] = tensor.clone()
        return key

    def unpack(key):
        if key not in context.copies:
            raise AssertionError("allow_mutation_on_saved_tensors: backward ran outside of the context in which the graph was recorded, or after clear()")
        return context.copies[key]

    try:
        with saved_tensors_hooks(pack, unpack):
            yield context
    finally:
        context.clear()
        _mutation.context = None


class _Key:
    """Names a copy; when the graph lets go of it, the copy is dropped."""


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call `fn` once in each backward pass that computes gradients of `tensors`.

    mode "all": `fn(grads)` when the last of those that take part is known, a list with None for the others. mode "any": `fn(grad)` with
    the first. Errors: ValueError for another mode; RuntimeError for a tensor that does not require grad.

    >>> a, b = (torch.ones(1, requires_grad=True) for _ in "ab")
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print([g.item() for g in grads]))
    >>> (a * 2 + b * 3).backward()
    [2.0, 3.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: expected mode to be 'all' or 'any', got {mode!r}")
    tensors = tuple(tensors)
    nodes = [get_gradient_edge(t)[0] for t in tensors]
    lock = threading.Lock()
    passes = {}  # of a running pass: gradients so far, how many are still to come

    def arrived(i):
        def hook(grad):
            number = _cresset.current_pass()
            with lock:
                if number not in passes:
                    passes[number] = [[None] * len(tensors), sum(map(_cresset.will_execute, nodes))]
                    _cresset.queue_callback(lambda: passes.pop(number, None))
                    first = True
                else:
                    first = False
                state = passes[number]
                state[0][i] = grad
                state[1] -= 1
                last = state[1] == 0
            if mode == "any" and first:
                fn(grad)
            elif mode == "all" and last:
                fn(state[0])

        return hook

    return _Handles([t.register_hook(arrived(i)) for i, t in enumerate(tensors)])


class _Handles:
    """Several handles as one."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
