"""Requests between workers. A worker listens at its address and lets in those that know the job's secret; messages are data (`_wire.py`).

A request names a function by "module:name", which the receiver looks up among the modules that it has loaded and lets in: those of the program, those
that `allow` names, and operators and modules of this package.
"""

import heapq
import itertools
import socket
import struct
import sys
import threading
import time
import traceback

import _cresset_dist
import cresset as torch
from cresset.distributed import _wire

_HEAD = struct.Struct("<Q")
_LARGEST = 1 << 34
SERVICE = "rpc"


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


def path_of(function):
    """The name under which a function travels. Errors: WireError for one that has none."""
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
    module, _, name = path.partition(":")
    if module == torch.__name__ and "." not in name and not name.startswith("_"):
        found = getattr(torch, name, None)
        if type(found).__name__ == "Op":
            return found
    found = _wire.find(path)
    if _wire.is_program(module) or isinstance(found, type) and issubclass(found, torch.nn.Module) or getattr(found, "_is_rpc_function", False):
        return found
    raise _wire.WireError(f"rpc: {path!r} is not let in; distributed.rpc.allow({module!r}) does so")


def _received(connection, count):
    parts = bytearray()
    while len(parts) < count:
        got = connection.recv(min(count - len(parts), 1 << 20))
        if not got:
            raise ConnectionError("the connection was closed")
        parts += got
    return parts


class _Connection:
    """A connection on which this worker asks another, and a thread that takes the answers."""

    def __init__(self, agent, info, address):
        self._socket = socket.create_connection(address, timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._agent, self._info = agent, info
        _cresset_dist.authenticate(self._socket.fileno(), False, SERVICE, 10000)
        self._socket.settimeout(None)
        self._lock, self._waiting, self.lost = threading.Lock(), {}, None
        threading.Thread(target=self._take, daemon=True).start()

    def ask(self, number, data, done):
        """Sends a request; `done(data, error)` gets the answer."""
        with self._lock:
            if self.lost is not None:
                raise RuntimeError(f"rpc: {self._info} cannot be reached: {self.lost}")
            self._waiting[number] = done
            self._socket.sendall(_HEAD.pack(len(data) + 8) + _HEAD.pack(number) + data)

    def forget(self, number):
        with self._lock:
            self._waiting.pop(number, None)

    def _take(self):
        try:
            while True:
                size = _HEAD.unpack(_received(self._socket, 8))[0]
                body = _received(self._socket, min(size, _LARGEST))
                number = _HEAD.unpack(body[:8])[0]
                with self._lock:
                    done = self._waiting.pop(number, None)
                if done is not None:
                    done(bytes(body[8:]), None)
        except Exception as error:
            with self._lock:
                self.lost, waiting, self._waiting = error, list(self._waiting.values()), {}
            for done in waiting:
                done(None, RuntimeError(f"rpc: {self._info} is gone: {error}"))

    def close(self):
        with self._lock:
            self.lost = self.lost or ConnectionError("this worker has shut down")
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


class Agent:
    """The worker that this process is."""

    def __init__(self, store, name, rank, world_size, options):
        self.store, self.info, self.world_size, self.options = store, WorkerInfo(name, rank), world_size, options
        self.default_timeout = options.rpc_timeout
        self._numbers = itertools.count(1)
        self._lock, self._connections = threading.Lock(), {}
        self._active, self._idle = 0, threading.Condition()
        self._timers, self._timer_changed, self._closed = [], threading.Condition(), False
        host = store._impl.own_host() if store._impl is not None else "127.0.0.1"
        self._listening = socket.create_server((host, 0), backlog=256)
        store.set(f"rpc/{rank}", f"{name} {host} {self._listening.getsockname()[1]}")
        self.handlers = {}
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._time_out, daemon=True).start()
        self._workers, self._addresses = {}, {}
        for other in range(world_size):
            text, where, port = store.get(f"rpc/{other}").decode().rsplit(" ", 2)
            info = WorkerInfo(text, other)
            if text in self._workers:
                raise RuntimeError(f"init_rpc: two workers have the name {text!r}")
            self._workers[text] = self._workers[other] = info
            self._addresses[other] = (where, int(port))

    def worker(self, to):
        """The `WorkerInfo` of a name, a number or itself. Errors: RuntimeError."""
        if isinstance(to, WorkerInfo):
            to = to.id
        if to not in self._workers:
            raise RuntimeError(f"rpc: no worker is {to!r}; there are {', '.join(sorted(k for k in self._workers if isinstance(k, str)))}")
        return self._workers[to]

    # Requests that this worker makes.

    def _connection(self, info):
        with self._lock:
            if self._closed:
                raise RuntimeError("rpc: this worker has shut down")
            known = self._connections.get(info.id)
            if known is None or known.lost is not None:
                known = self._connections[info.id] = _Connection(self, info, self._addresses[info.id])
            return known

    def ask(self, to, kind, content, timeout, receive=_wire.loads):
        """A future of the answer to a request; `receive(data)` reads it. Errors come with it."""
        info, future, number = self.worker(to), torch.futures.Future(), next(self._numbers)
        data = _wire.dumps([kind, content]) if not isinstance(content, bytes) else content
        self._begin()

        def done(answer, error):
            if future.done():
                return
            try:
                if error is None:
                    future.set_result(receive(answer))
                else:
                    future.set_exception(error)
            except Exception as failed:
                if not future.done():
                    future.set_exception(failed)
            finally:
                self._end()

        try:
            connection = self._connection(info)
            connection.ask(number, data, done)
        except BaseException:
            self._end()
            raise
        if timeout > 0:

            def late():
                if not future.done():
                    connection.forget(number)
                    done(None, RuntimeError(f"rpc: {info} has not answered within the timeout of {timeout:g} s"))

            with self._timer_changed:
                heapq.heappush(self._timers, (time.monotonic() + timeout, number, late))
                self._timer_changed.notify()
        return future

    def _time_out(self):
        with self._timer_changed:
            while not self._closed:
                now = time.monotonic()
                if self._timers and self._timers[0][0] <= now:
                    late = heapq.heappop(self._timers)[2]
                    self._timer_changed.release()
                    try:
                        late()
                    finally:
                        self._timer_changed.acquire()
                else:
                    self._timer_changed.wait(self._timers[0][0] - now if self._timers else None)

    def _begin(self):
        with self._idle:
            self._active += 1

    def _end(self):
        with self._idle:
            self._active -= 1
            self._idle.notify_all()

    def wait_idle(self, timeout):
        """Waits until no request of this worker is open."""
        with self._idle:
            self._idle.wait_for(lambda: self._active == 0, timeout if timeout > 0 else None)

    # Requests of others.

    def _accept(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _cresset_dist.authenticate(connection.fileno(), True, SERVICE, 10000)
            connection.settimeout(None)
            lock = threading.Lock()
            while True:
                size = _HEAD.unpack(_received(connection, 8))[0]
                if not 8 <= size <= _LARGEST:
                    return
                body = _received(connection, size)
                threading.Thread(target=self._answer, args=(connection, lock, bytes(body[:8]), bytes(body[8:])), daemon=True).start()
        except Exception:
            return  # it has gone, or is none of ours
        finally:
            if sys is not None:
                connection.close()

    def _answer(self, connection, lock, number, data):
        def reply(answer):
            with lock:
                try:
                    connection.sendall(_HEAD.pack(len(answer) + 8) + number + answer)
                except OSError:
                    pass  # the one who asked has gone

        try:
            kind, content = self.handlers["decode"](data)
            self.handlers[kind](content, reply)
        except BaseException as error:
            reply(failure(self.info, error))

    def close(self):
        """Takes no requests any more."""
        with self._lock:
            self._closed, connections = True, list(self._connections.values())
        with self._timer_changed:
            self._timer_changed.notify()
        try:
            self._listening.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listening.close()
        for connection in connections:
            connection.close()


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
