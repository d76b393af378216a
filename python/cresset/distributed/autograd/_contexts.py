"""Contexts: which tensors of graphs a worker has sent to and got from others in a pass, and the gradients of its leaves.

A tensor that needs a gradient arrives as a leaf. When backward reaches it, its gradient goes to the worker that sent it, which runs its own part of the
graph from there and passes on what reaches tensors that it got itself. Gradients of several paths add up, since backward is linear.
"""

import contextlib
import itertools
import threading

import cresset as torch
from cresset.distributed import _wire

_SHIFT = 48
_state = threading.local()
_contexts = {}
_agent = None
_numbers = itertools.count(1)
_lock = threading.RLock()


class _Context:
    def __init__(self, number):
        self.number, self.sent, self.got, self.gradients, self.workers = number, {}, {}, {}, set()


def begin(agent):
    """Contexts of a worker that has begun."""
    global _agent, _numbers
    _agent, _numbers = agent, itertools.count(1)
    _contexts.clear()


def end():
    """Forgets all contexts."""
    global _agent
    _agent = None
    _contexts.clear()


def current():
    """The number of this thread's context, 0 outside of one."""
    return getattr(_state, "number", 0)


def _of(number):
    with _lock:
        return _contexts.setdefault(number, _Context(number))


def _known(number):
    if number not in _contexts:
        raise RuntimeError(f"distributed.autograd: there is no context {number}; it has ended, or was never begun")
    return _contexts[number]


class context:
    """A pass: `with context() as context_id`. Its gradients go with it, on all workers.

    >>> from cresset.distributed import autograd, rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> with autograd.context() as context_id:
    ...     x = torch.ones(2, requires_grad=True)
    ...     autograd.backward(context_id, [rpc.rpc_sync("doc", torch.mul, args=(x, 3)).sum()])
    ...     autograd.get_gradients(context_id)[x]
    tensor([3., 3.])
    >>> rpc.shutdown()
    """

    def __enter__(self):
        if _agent is None:
            raise RuntimeError("distributed.autograd: this process is no worker; call init_rpc first")
        if current():
            raise RuntimeError("distributed.autograd: this thread is in a context already")
        self._number = (_agent.info.id << _SHIFT) + next(_numbers)
        _of(self._number)
        _state.number = self._number
        return self._number

    def __exit__(self, kind, value, traceback):
        _state.number = 0
        _release(self._number)


def _release(number):
    with _lock:
        held = _contexts.pop(number, None)
    if held is None or _agent is None:
        return
    for worker in held.workers:
        with contextlib.suppress(Exception):
            _agent.ask(worker, "release", number, _agent.default_timeout)


def serve_release(number, reply):
    """Another worker's context has ended."""
    _release(number)
    reply(_wire.dumps(True))


@contextlib.contextmanager
def entered(number):
    """Runs a call of a context in this thread."""
    before, _state.number = current(), number
    try:
        yield
    finally:
        _state.number = before


class _Note:
    number = 0


@contextlib.contextmanager
def sending(number, worker):
    """Notes the tensors of graphs among the values that are written."""
    if not number:
        yield None
        return
    held, note, tensors = _of(number), _Note(), []

    def sent(tensor):
        tensors.append(tensor)
        return len(tensors) - 1

    before, _wire.graphs.sending = getattr(_wire.graphs, "sending", None), sent
    try:
        yield note
    finally:
        _wire.graphs.sending = before
    if tensors:
        with _lock:
            note.number = next(_numbers)
            held.sent[note.number] = tensors
    if worker is not None:
        held.workers.add(worker)


@contextlib.contextmanager
def receiving(number, worker, message):
    """Notes the tensors of graphs among the values that are read: they came from a worker's message."""
    if not number:
        yield
        return
    held = _of(number)
    before, _wire.graphs.receiving = (
        getattr(_wire.graphs, "receiving", None),
        lambda index, tensor: held.got.__setitem__(id(tensor), (tensor, worker, message, index)),
    )
    try:
        yield
    finally:
        _wire.graphs.receiving = before


@contextlib.contextmanager
def receiving_call(number, message):
    """As `receiving`, where the values themselves say which worker they come from: the function that it gives is told."""
    if not number:
        yield lambda worker: None
        return
    held, found = _of(number), []
    before, _wire.graphs.receiving = getattr(_wire.graphs, "receiving", None), lambda index, tensor: found.append((index, tensor))

    def told(worker):
        held.workers.add(worker)
        for index, tensor in found:
            held.got[id(tensor)] = (tensor, worker, message, index)

    try:
        yield told
    finally:
        _wire.graphs.receiving = before


def _leaves(roots):
    """The leaves that tensors were computed from."""
    seen, open_, found = set(), [], {}
    for root in roots:
        if root.grad_fn is None:
            found[id(root)] = root
        else:
            open_.append(root.grad_fn)
    while open_:
        node = open_.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
            continue
        open_ += [following for following, _ in node.next_functions if following is not None]
    return list(found.values())


def _through(held, roots, gradients, retain_graph):
    """Runs backward here; gradients of tensors that others have sent go back to them."""
    leaves = _leaves(roots)
    own = torch.autograd.grad(roots, leaves, gradients, retain_graph=retain_graph, allow_unused=True)
    back = {}
    for leaf, gradient in zip(leaves, own):
        if gradient is None:
            continue
        if id(leaf) in held.got:
            _, worker, message, index = held.got[id(leaf)]
            back.setdefault((worker, message), {})[index] = gradient
            continue
        with _lock:
            before = held.gradients.get(id(leaf))
            held.gradients[id(leaf)] = (leaf, gradient if before is None else before[1] + gradient)
    waits = [_agent.ask(worker, "backward", [held.number, message, parts], 0.0, _checked) for (worker, message), parts in back.items()]
    for future in waits:
        future.wait()


def _checked(answer):
    from cresset.distributed.rpc import _agent as agents

    value = _wire.loads(answer)
    if isinstance(value, list) and value and value[0] == "error":
        agents.raise_failure(*value[1:])
    return value


def serve_backward(content, reply):
    """Gradients of tensors that this worker has sent."""
    number, message, parts = content
    held = _known(number)
    tensors = [held.sent[message][index] for index in parts]
    _through(held, tensors, list(parts.values()), True)
    reply(_wire.dumps(True))


def backward(context_id, roots, retain_graph=False):
    """Runs backward from scalars through all workers that took part in a context. Errors: RuntimeError for other roots or an unknown context.

    >>> from cresset.distributed import autograd
    >>> callable(autograd.backward)
    True
    """
    if not isinstance(roots, (list, tuple)):
        raise TypeError(f"distributed.autograd: backward: expected a list of tensors, got {type(roots).__name__}")
    held = _known(context_id)
    if not roots:
        raise RuntimeError("distributed.autograd: backward: expected roots, got none")
    for root in roots:
        if not root.requires_grad:
            raise RuntimeError("distributed.autograd: backward: expected roots that need gradients")
        if root.numel() != 1:
            raise RuntimeError(f"distributed.autograd: backward: expected scalars as roots, got shape {tuple(root.shape)}")
    _through(held, list(roots), [torch.ones_like(root) for root in roots], True)


def get_gradients(context_id):
    """The gradients of this worker's leaves in a context, by tensor. Errors: RuntimeError for an unknown context.

    >>> from cresset.distributed import autograd
    >>> callable(autograd.get_gradients)
    True
    """
    return {leaf: gradient for leaf, gradient in _known(context_id).gradients.values()}
