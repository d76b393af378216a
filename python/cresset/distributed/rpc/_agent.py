"""Requests between workers. A worker listens at its address and lets in those that know the job's secret; messages are data (`_wire.py`).

A request names a function by "module:name", which the receiver looks up among the modules that it has loaded and lets in: those of the program, those
that `allow` names, and operators and modules of this package.
"""

import atexit
import traceback

import _cresset_dist
import cresset as torch
from cresset.distributed import _wire

_functions = {}  # those that travel under a name of their own


class WorkerInfo:
    """A worker's `name` and `id`.

    >>> from cresset.distributed.rpc import WorkerInfo
    >>> WorkerInfo("worker1", 1)
    WorkerInfo(id=1, name=worker1)
    """

    def __init__(self, name, id):  # noqa: A002
        self.name, self.id = name, id

    def __eq__(self, other):
        return isinstance(other, WorkerInfo) and (self.name, self.id) == (other.name, other.id)

    def __hash__(self):
        return hash((self.name, self.id))

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, name={self.name})"


_wire.register_type(WorkerInfo, lambda w: [w.name, w.id], lambda f: WorkerInfo(*f))


def register_function(name, function):
    """Lets workers call a function as `rpc_sync(to, name)`: those of C++ too, which know no modules.

    >>> from cresset.distributed import rpc
    >>> rpc.register_function("half", lambda x: x / 2)
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> rpc.rpc_sync("doc", "half", args=(3,))
    1.5
    >>> rpc.shutdown()
    """
    if not name or ":" in name:
        raise ValueError(f"rpc: expected a name without a colon for a function, got {name!r}")
    _functions[name] = function


def path_of(function):
    """The name under which a function travels, "@name" for a registered one. Errors: WireError for one that has none."""
    if isinstance(function, str):
        return f"@{function}"
    name = getattr(function, "__name__", None)
    if name and getattr(torch, name, None) is function:
        return f"{torch.__name__}:{name}"
    if isinstance(getattr(function, "__self__", None), type):  # a class method
        return f"{function.__module__}:{function.__qualname__}"
    path = _wire.path_of(function)
    if path.startswith("cresset"):
        return path
    found = _wire.find(path)
    if found != function and getattr(found, "__wrapped__", None) is not function:
        raise _wire.WireError(f"rpc: {function!r} is not what {path!r} names")
    return path


def function_of(path):
    """The function of a name. Errors: WireError for one that is not let in."""
    if path.startswith("@"):
        if path[1:] not in _functions:
            raise _wire.WireError(f"rpc: no function is registered as {path!r}")
        return _functions[path[1:]]
    module, _, name = path.partition(":")
    if module == torch.__name__ and "." not in name and not name.startswith("_"):
        found = getattr(torch, name, None)
        if type(found).__name__ == "Op":
            return found
    found = _wire.find(path)
    if _wire.is_program(module) or isinstance(found, type) and issubclass(found, torch.nn.Module) or getattr(found, "_is_rpc_function", False):
        return found
    raise _wire.WireError(f"rpc: {path!r} is not let in; distributed.rpc.allow({module!r}) does so")


def _milliseconds(seconds):
    return max(1, round(seconds * 1000)) if seconds > 0 else 0


class Agent:
    """The worker that this process is: connections and counts of references are in C++ (`cresset/dist/rpc`), functions and objects here."""

    def __init__(self, store, name, rank, world_size, options, handlers):
        self.store, self.info, self.world_size, self.options, self._handlers = store, WorkerInfo(name, rank), world_size, options, handlers
        self.default_timeout = options.rpc_timeout
        self._impl = _cresset_dist.rpc_worker(store._native(), name, rank, world_size, self._serve)
        self.workers = [WorkerInfo(label, number) for number, label in enumerate(self._impl.names())]
        self._known = {w.name: w for w in self.workers} | {w.id: w for w in self.workers}
        atexit.register(self._impl.close)

    def worker(self, to):
        """The `WorkerInfo` of a name, a number or itself. Errors: RuntimeError."""
        found = self._known.get(to.id if isinstance(to, WorkerInfo) else to)
        if found is None:
            raise RuntimeError(f"rpc: no worker is {to!r}; there are {', '.join(sorted(w.name for w in self.workers))}")
        return found

    def ask(self, to, kind, content, timeout, receive=_wire.loads):
        """A future of the answer to a request; `receive(data)` reads it. Errors come with it."""
        info, future = self.worker(to), torch.futures.Future()
        data = content if isinstance(content, bytes) else _wire.dumps([kind, content])

        def done(answer, reason):
            try:
                if reason is not None:
                    raise RuntimeError(reason)
                value = receive(answer)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(value)

        self._impl.ask(info.id, data, _milliseconds(timeout), done)
        return future

    def _serve(self, ticket, data):
        def reply(answer):
            self._impl.reply(ticket, answer)

        try:
            kind, content = _wire.loads(data)
            self._handlers[kind](content, reply)
        except BaseException as error:
            reply(failure(self.info, error))

    def wait_idle(self, timeout):
        """Waits until no request of this worker is open."""
        self._impl.wait_idle(_milliseconds(timeout))

    def meet(self, point, timeout=0.0):
        """Blocks until every worker has come to the point of this name."""
        self._impl.meet(point, _milliseconds(timeout))

    # References: an `id` is (the worker that made it, its number there).

    def new_id(self):
        return self.info.id, self._impl.new_number()

    def keep(self, id, value, holder):  # noqa: A002
        """Owns a value, for the first reference to it, which is the worker `holder`'s."""
        self._impl.keep(*id, holder, value)

    def value(self, id):  # noqa: A002
        """A value that is kept. Errors: RuntimeError where the last reference is gone."""
        return self._impl.value(*id)

    def share(self, owner, id):  # noqa: A002
        """One more reference at the owner, to be sent."""
        self._impl.share(owner.id, *id, _milliseconds(self.default_timeout))

    def adopt(self, owner, id, sender):  # noqa: A002
        """A reference has come from `sender`."""
        self._impl.adopt(owner.id, *id, sender)

    def release(self, owner, id):  # noqa: A002
        """A reference of this worker is gone."""
        self._impl.release(owner.id, *id)

    @property
    def reference_count(self):
        return self._impl.reference_count()

    def close(self):
        """Takes no requests any more."""
        atexit.unregister(self._impl.close)
        self._impl.close()


class _RemoteKeyError(KeyError, RuntimeError):
    """A KeyError of another worker, whose text is read as it stands; a RuntimeError for programs that know PyTorch's."""

    def __str__(self):
        return str(self.args[0])


def failure(info, error):
    """The answer that carries an error."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    name = f"{type(error).__module__}:{type(error).__qualname__}"
    return _wire.dumps(["error", name, f"On {info}:\n{type(error).__name__}: {error}\n{text}"])


def raise_failure(name, text):
    """Raises an error that came with an answer: of the same class, where it is one of Python's own or of the program."""
    cls, (module, _, label) = RuntimeError, name.partition(":")
    try:
        found = _wire.find(name)
        if isinstance(found, type) and issubclass(found, Exception) and (module == "builtins" or _wire.is_program(module)):
            cls = found
    except _wire.WireError:
        pass
    try:
        made = _RemoteKeyError(text) if cls is KeyError else cls(text)
    except Exception:
        made = RuntimeError(f"{label}: {text}")
    raise made
