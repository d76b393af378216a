"""Calls, references, and the life of a worker."""

import itertools
import functools
import threading
import weakref

import cresset as torch
from cresset.autograd._recording import is_recording
from cresset.autograd.profiler import record_function
from cresset.distributed import _wire
from cresset.distributed.autograd import _contexts

from cresset.distributed._stores import _RangeError

from . import _agent, backend_registry, constants
from ._agent import Agent
from .options import RpcBackendOptions, TensorPipeRpcBackendOptions

__all__ = [
    "AllGatherStates",
    "RRef",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "method_factory",
    "new_method",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_current = None  # the agent of this process
_UNSET = constants.UNSET_RPC_TIMEOUT


class AllGatherStates:
    """Objects that workers have given for a round of `_all_gather`.

    >>> from cresset.distributed.rpc import AllGatherStates
    >>> AllGatherStates().gathered_objects
    {}
    """

    def __init__(self):
        self.gathered_objects, self.proceed_signal = {}, threading.Event()


def is_available():
    """Whether this build has RPC: always.

    >>> from cresset.distributed import rpc
    >>> rpc.is_available()
    True
    """
    return True


def _here():
    if _current is None:
        raise RuntimeError("rpc: this process is no worker; call init_rpc first")
    return _current


def _require_initialized(func):
    """Decorator: a function that is RuntimeError where this process is no worker."""

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        _here()
        return func(*args, **kwargs)

    return wrapped


def _is_current_rpc_agent_set():
    return _current is not None


def init_rpc(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None):
    """Makes this process the worker of a name; all `world_size` workers call this and meet at the `init_method` of the options.

    Errors: RuntimeError where it is one already, ValueError for no name.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.rpc_sync("doc", torch.add, args=(torch.ones(1), 1))
    tensor([2.])
    >>> rpc.shutdown()
    """
    global _current
    from cresset.distributed.rendezvous import rendezvous

    if _current is not None:
        raise _RangeError("init_rpc: this process is a worker already")
    if not name or not all(c.isalnum() or c in "-_:." for c in name) or len(name) > 128:
        raise RuntimeError(f"init_rpc: expected a name of letters, digits and -_:. , got {name!r}")
    if backend is not None and not isinstance(backend, backend_registry.BackendType):
        raise TypeError(f"init_rpc: expected a BackendType, got {backend!r}")
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    if not isinstance(options, RpcBackendOptions):
        raise TypeError(f"init_rpc: expected RpcBackendOptions, got {type(options).__name__}")
    store, rank, world_size = next(iter(rendezvous(options.init_method, rank, -1 if world_size is None else world_size)))
    from cresset.distributed._stores import PrefixStore

    handlers = {"call": _serve_call, "remote": _serve_remote, "fetch": _serve_fetch, "backward": _contexts.serve_backward, "release": _contexts.serve_release}
    _current = agent = Agent(PrefixStore("rpc_prefix_0", store), name, rank, world_size, options, handlers)
    _contexts.begin(agent)
    agent.meet("ready")


_rounds = itertools.count(1)


def shutdown(graceful=True, timeout=constants.DEFAULT_SHUTDOWN_TIMEOUT):
    """Ends this worker: with `graceful`, when all workers have come here and no call is open anywhere.

    >>> from cresset.distributed import rpc
    >>> callable(rpc.shutdown)
    True
    """
    global _current
    agent = _here()
    try:
        if graceful:
            for phase in ("first", "second"):  # a call that was served may have made calls of its own
                agent.wait_idle(timeout)
                agent.meet(f"end {phase}", timeout)
    finally:
        _current = None
        agent.close()
        _contexts.end()


def get_worker_info(worker_name=None):
    """The `WorkerInfo` of a name, or of this worker. Errors: RuntimeError for an unknown one.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.get_worker_info().name
    'doc'
    >>> rpc.shutdown()
    """
    return _here().info if worker_name is None else _here().worker(worker_name)


# ---- Calls ----


def _time(agent, timeout):
    return agent.default_timeout if timeout == _UNSET else timeout


def _request(kind, to, content):
    """The bytes of a request, and what reads its answer: tensors of a graph are noted in the context of this thread."""
    info = _here().worker(to)
    context = _contexts.current()
    with _contexts.sending(context, info.id) as note:
        body = _wire.dumps(content)
    data = _wire.dumps([kind, [context, note.number if note else 0, body]])

    def receive(answer):
        state, *rest = _wire.loads(answer)
        if state == "error":
            _agent.raise_failure(*rest)
        number, body = rest
        with _contexts.receiving(context, info.id, number):
            return _wire.loads(body)

    return info, data, receive


def _sent(kind, to, content, timeout):
    agent = _here()
    info, data, receive = _request(kind, to, content)
    return agent.ask(info, kind, data, _time(agent, timeout), receive)


def _answer(context, caller, value):
    with _contexts.sending(context, caller) as note:
        body = _wire.dumps(value)
    return _wire.dumps(["ok", note.number if note else 0, body])


def _run(content, reply, take):
    """Runs a call that came: `take(value)` gives what is answered."""
    agent = _here()
    context, number, body = content
    caller = None

    def answered(value):
        reply(_answer(context, caller, take(value)))

    with _contexts.entered(context):
        with _contexts.receiving_call(context, number) as note:
            path, args, kwargs, caller = _wire.loads(body)
            note(caller)
        function = _agent.function_of(path) if isinstance(path, str) else path
        value = function(*args, **kwargs)
        if hasattr(function, "_wrapped_async_rpc_function"):
            if not isinstance(value, torch.futures.Future):
                raise RuntimeError(f"rpc: async_execution: expected a future from {path!r}, got {type(value).__name__}")

            def done(future):
                try:
                    answered(future.value())
                except BaseException as error:
                    reply(_agent.failure(agent.info, error))

            value.add_done_callback(done)
            return
        answered(value)


def _serve_call(content, reply):
    _run(content, reply, lambda value: value)


def _noted(kind, func, to, begin):
    """The future that `begin` gives. In a profile the call is a part that ends with it: `rpc_sync#aten::add(worker0 -> worker1)`."""
    if not is_recording():
        return begin()
    module, _, name = _agent.path_of(func).rpartition(":")
    called = f"aten::{name}" if module == torch.__name__ and hasattr(torch.ops.aten, name) else ".".join(filter(None, (module, name)))
    with record_function(f"rpc_{kind}#{called}({_here().info.name} -> {_here().worker(to).name})") as part:
        future, ended = begin(), torch.futures.Future()  # of the same value, or error
        part._call_end_callbacks_on_future(future).add_done_callback(lambda _: _chain(future, ended))
        return ended


def _called(kind, to, func, args, kwargs, timeout):
    content = [_agent.path_of(func), tuple(args or ()), dict(kwargs or {}), _here().info.id]
    return _noted(kind, func, to, lambda: _sent("call", to, content, timeout))


def rpc_async(to, func, args=None, kwargs=None, timeout=_UNSET):
    """Begins a call of a function in a worker, by name, number or `WorkerInfo`; a future of its value. The error of a call comes with the future.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.rpc_async("doc", torch.mul, args=(torch.ones(1), 3)).wait()
    tensor([3.])
    >>> rpc.shutdown()
    """
    return _called("async", to, func, args, kwargs, timeout)


def rpc_sync(to, func, args=None, kwargs=None, timeout=_UNSET):
    """Value of a call of a function in a worker. Errors: those of the function, which name the worker; RuntimeError after `timeout` seconds.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.rpc_sync("doc", torch.mul, args=(torch.ones(1), 3))
    tensor([3.])
    >>> rpc.shutdown()
    """
    return _called("sync", to, func, args, kwargs, timeout).wait()


# ---- References ----


class PyRRef:
    """A reference to a value that lives in one worker: what `remote` gives, and what a reference that has travelled is."""

    __class_getitem__ = classmethod(lambda cls, item: cls)

    def _begin(self, agent, owner, number, created):
        self._owner, self._id, self._created = owner, number, created
        weakref.finalize(self, _gone, weakref.ref(agent), owner, number).atexit = False

    @staticmethod
    def _of(agent, owner, number, created=None):
        made = object.__new__(PyRRef)
        made._begin(agent, owner, number, created)
        return made

    def owner(self):
        """The `WorkerInfo` of the owner."""
        return self._owner

    def owner_name(self):
        """The owner's name."""
        return self._owner.name

    def is_owner(self):
        """Whether the value is here."""
        return self._owner == _here().info

    def confirmed_by_owner(self):
        """Whether the owner has it."""
        return self._created is None or self._created.done()

    def local_value(self):
        """The value itself. Errors: RuntimeError where it is elsewhere."""
        if not self.is_owner():
            raise RuntimeError(f"RRef: local_value: the value is on {self._owner}; to_here() copies it")
        return _value_of(_here(), self._id)

    def to_here(self, timeout=_UNSET):
        """The value, or a copy of it. Errors: those of the call that made it; RuntimeError after `timeout` seconds."""
        if self._created is not None:
            self._created.wait()
        if self.is_owner():
            return _value_of(_here(), self._id)
        with record_function(f"to_here#({_here().info.name})->({self._owner.name})"):
            return _sent("fetch", self._owner, [None, (list(self._id),), {}, _here().info.id], timeout).wait()

    def rpc_sync(self, timeout=_UNSET):
        """The value's methods, called at the owner: `rref.rpc_sync().method(x)`."""
        return _Methods(self, rpc_sync, timeout)

    def rpc_async(self, timeout=_UNSET):
        """As `rpc_sync`; futures."""
        return _Methods(self, rpc_async, timeout)

    def remote(self, timeout=_UNSET):
        """As `rpc_sync`; references to the results."""
        return _Methods(self, remote, timeout)

    def backward(self, dist_autograd_ctx_id=-1, retain_graph=False):
        """Runs backward from the value, in a context of distributed autograd where one is given."""
        value = self.local_value()
        if dist_autograd_ctx_id == -1:
            value.backward(retain_graph=retain_graph)
        else:
            from cresset.distributed import autograd

            autograd.backward(dist_autograd_ctx_id, [value], retain_graph)

    def __repr__(self):
        return f"RRef(owner={self._owner}, id={self._id})"


class RRef(PyRRef):
    """A reference to a value that lives in one worker, its owner: `RRef(value)` here, `remote(...)` there. It may travel; the owner keeps the value as
    long as a reference to it exists.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.RRef(3).to_here(), rpc.remote("doc", torch.add, args=(torch.ones(1), 1)).to_here()
    (3, tensor([2.]))
    >>> rpc.shutdown()
    """

    def __init__(self, value, type_hint=None):
        agent = _here()
        future = torch.futures.Future()
        future.set_result(value)
        self._begin(agent, agent.info, agent.new_id(), None)
        agent.keep(self._id, future, agent.info.id)


def _fields(reference):
    agent = _here()
    if reference._created is not None:
        reference._created.wait()
    agent.share(reference._owner, reference._id)
    return [reference._owner.id, list(reference._id), agent.info.id]


def _from_fields(fields):
    agent = _here()
    owner, (creator, number), sender = fields
    owner = agent.worker(owner)
    agent.adopt(owner, (creator, number), sender)
    return PyRRef._of(agent, owner, (creator, number))


_wire.register_type(PyRRef, _fields, _from_fields, "rpc.PyRRef")
_wire.register_type(RRef, _fields, _from_fields, "rpc.RRef")


class _Methods:
    """Calls of the methods of a reference's value."""

    def __init__(self, reference, begin, timeout):
        self._parts = (reference, begin, timeout)

    def __getattr__(self, name):
        reference, begin, timeout = self._parts

        def call(*args, **kwargs):
            return begin(reference.owner(), _call_method, (reference, name, *args), kwargs, timeout)

        return call


def _call_method(reference, name, *args, **kwargs):
    if name.startswith("__") and name != "__call__":
        raise AttributeError(f"rpc: {name!r} is not called through a reference")
    return getattr(reference.local_value(), name)(*args, **kwargs)


_call_method._is_rpc_function = True


def _value_of(agent, number):
    return agent.value(tuple(number)).wait()


def _gone(agent, owner, number):
    """A reference of this worker is gone."""
    agent = agent()
    if agent is not None and agent is _current:
        agent.release(owner, number)


def _serve_fetch(content, reply):
    context, _, body = content
    _, (number,), _, caller = _wire.loads(body)
    reply(_answer(context, caller, _value_of(_here(), number)))


def _serve_remote(content, reply):
    agent = _here()
    context, sent, body = content
    number, future = None, torch.futures.Future()

    def failed(error):
        if not future.done():
            future.set_exception(error if isinstance(error, Exception) else RuntimeError(str(error)))

    try:
        with _contexts.entered(context), _contexts.receiving_call(context, sent) as note:
            path, args, kwargs, caller, number = _wire.loads(body)
            note(caller)
        agent.keep(tuple(number), future, caller)
        reply(_wire.dumps(["ok", 0, _wire.dumps(True)]))
        function = _agent.function_of(path)
        with _contexts.entered(context):
            value = function(*args, **kwargs)
        if hasattr(function, "_wrapped_async_rpc_function"):
            value.add_done_callback(lambda done: _chain(done, future))
        else:
            future.set_result(value)
    except Exception as error:
        if number is None:
            raise
        failed(error)


def _chain(done, future):
    try:
        future.set_result(done.value())
    except Exception as error:
        future.set_exception(error)


def remote(to, func, args=None, kwargs=None, timeout=_UNSET):
    """A reference to the value of a call in a worker, which stays there.

    >>> from cresset.distributed import rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.remote("doc", torch.mul, args=(torch.ones(1), 3)).to_here()
    tensor([3.])
    >>> rpc.shutdown()
    """
    agent = _here()
    info = agent.worker(to)
    number = agent.new_id()
    content = [_agent.path_of(func), tuple(args or ()), dict(kwargs or {}), agent.info.id, list(number)]
    return PyRRef._of(agent, info, number, _noted("remote", func, info, lambda: _sent("remote", info, content, timeout)))


def _all_gather(obj, worker_names=None, timeout=_UNSET):
    """The objects of all workers by name."""
    agent = _here()
    key = f"gather/{next(_rounds)}"
    agent.store.set(f"{key}/{agent.info.id}", _wire.dumps(obj))
    names = {agent.worker(n).id: n for n in (worker_names or [w.name for w in agent.workers])}
    return {name: _wire.loads(agent.store.get(f"{key}/{number}")) for number, name in names.items()}


def new_method(func_name, method):
    """The name and the function of a method: used by `method_factory`.

    >>> from cresset.distributed.rpc import new_method
    >>> new_method("f", len).__name__
    'len'
    """
    return method


def method_factory(method_name, docstring):
    """A method that calls the one of a name at the owner of a reference.

    >>> from cresset.distributed.rpc import method_factory
    >>> method_factory("to_here", "The value.").__doc__
    'The value.'
    """

    def method(self, *args, **kwargs):
        return getattr(super(RRef, self), method_name)(*args, **kwargs)

    method.__doc__ = docstring
    return method
