"""Workers as processes or threads: requests go to one, results come from any.

Tensors, and messages too long for a pipe, cross processes through files in shared memory: a worker makes one in a directory of its
loader, and the loader maps and unlinks it, so that nothing is copied there and nothing stays behind. A worker uses its files again.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import itertools
import mmap
import multiprocessing
import os
import pickle
import queue
import select
import shutil
import signal
import tempfile
import threading
import time
import weakref

import _cresset

import cresset as torch

from .worker import Failure, seed_process, work

# A pipe holds 64 KiB: short messages never wait for the other side.
_INLINE = 4096
_ALIGN = 64
_ROUND = 1 << 16
_SHARED = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)  # all pages at once: each by a fault of its own costs more than its bytes
_CHECK = 5.0  # seconds between looks whether the parent lives
_PLAIN = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
)
_DTYPES = {getattr(torch, name): name for name in _PLAIN}


class _Packer(pickle.Pickler):
    def __init__(self, file, there=None, used=0):
        super().__init__(file, protocol=5)
        self.there = there or {}  # address -> place and size of tensors that are in the memory already
        self.parts, self.size, self.found = [], used, False

    def persistent_id(self, value):
        if type(value) is not torch.Tensor or value.dtype not in _DTYPES or not _is_plain(value):
            return None
        size = value.numel() * value.element_size()
        at, known = self.there.get(value.data_ptr(), (None, None)) if self.there else (None, None)
        if known == size and value.is_contiguous():
            self.found = True
        else:
            at = self.reserve(size)
            self.parts.append((at, value))
        return at, _DTYPES[value.dtype], tuple(value.shape)

    def reserve(self, size):
        at = self.size
        self.size = _aligned(at + size)
        return at


def _aligned(size):
    return -(-size // _ALIGN) * _ALIGN


def _is_plain(t):
    if t.requires_grad or t.device.type != "cpu" or t.layout != torch.strided or t.is_conj() or t.is_neg():
        return False
    return t.numel() > 0


class _Unpacker(pickle.Unpickler):
    def __init__(self, file, memory):
        super().__init__(file)
        self.memory = memory

    def persistent_load(self, place):
        at, dtype, shape = place
        count = 1
        for n in shape:
            count *= n
        return _cresset.from_buffer(self.memory, getattr(torch, dtype), count, at, True).reshape(shape)


def pack(message, allocate, begun=None):
    """Bytes for a pipe; tensors and what is large go into memory of `allocate(size)`, which also says where that is.

    `begun` is memory that holds tensors of the message: (memory, where, tensors by address, bytes used).
    """
    file = io.BytesIO()
    packer = _Packer(file, *(begun[2:] if begun else ()))
    packer.dump(message)
    body = file.getbuffer()
    if begun and not packer.found:
        return pack(message, allocate)
    if not begun and not packer.parts and len(body) <= _INLINE:
        return b"=" + body
    at = packer.reserve(len(body)) if len(body) > _INLINE else None
    if begun and packer.size > len(begun[0]):
        return pack(message, allocate)
    try:
        memory, where = begun[:2] if begun else allocate(packer.size)
    except OSError:  # no space in shared memory: all through the pipe
        return b"=" + pickle.dumps(message, protocol=5)
    for start, value in packer.parts:
        torch.frombuffer(memory, dtype=value.dtype, count=value.numel(), offset=start).view(value.shape).copy_(value)
    if at is not None:
        memory[at : at + len(body)] = body
    header = (where, None if at is None else (at, len(body)), body.tobytes() if at is None else None)
    return b"@" + pickle.dumps(header)


_STOP = b"=" + pickle.dumps(None)


def unpack(data, find):
    """The message of `pack`'s bytes; `find` gives the memory of a place. The message's tensors share it, and keep it."""
    if data[:1] == b"=":
        return pickle.loads(memoryview(data)[1:])
    where, place, body = pickle.loads(memoryview(data)[1:])
    memory = find(where)
    return _Unpacker(io.BytesIO(body if place is None else memory[place[0] : place[0] + place[1]]), memory).load()


def _make_file(path, size):
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)
        return mmap.mmap(fd, size, _SHARED)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def _take_file(path):
    fd = os.open(path, os.O_RDWR)
    try:
        return mmap.mmap(fd, 0, _SHARED)
    finally:
        os.close(fd)
        os.unlink(path)


class _Lent:
    """Memory that a worker writes batches into, again and again: fresh pages cost more than copying into them. A slot is lent with a batch and
    comes back, with a request, when the last tensor of the batch is gone.

    A batch may be made in it at once: `take` gives its tensors, `pack` hands on what was taken.
    """

    def __init__(self, directory, worker_id):
        self.path = os.path.join(directory, f"{worker_id}-")
        self.slots, self.free, self.count = {}, [], itertools.count()
        self.paths, self.dropped = {}, []  # of new slots, and numbers of old ones: what the loader does not know yet
        self.begun, self.there, self.used, self.usual = None, {}, 0, 0

    def come_back(self, numbers):
        self.free += numbers

    def take(self, dtype, shape):
        """A tensor in the memory of the batch that is being made, None where it is empty or has no room there."""
        count = 1
        for n in shape:
            count *= n
        size = count * dtype.itemsize
        if size == 0 or dtype not in _DTYPES:
            return None
        if self.begun is None:
            try:
                self.begun = self._slot(max(size, self.usual))
            except OSError:
                return None
        memory = self.slots[self.begun]
        if self.used + size > len(memory):
            return None
        tensor = torch.frombuffer(memory, dtype=dtype, count=count, offset=self.used).view(shape)
        self.there[tensor.data_ptr()] = self.used, size
        self.used = _aligned(self.used + size)
        return tensor

    def pack(self, message):
        """The bytes that tell of a message, whose tensors are in a slot."""
        begun, sent = self.begun, []

        def announced(number):
            sent.append(number)
            dropped, self.dropped = self.dropped, []
            return number, self.paths.pop(number, None), dropped

        def allocate(size):
            self.usual = max(self.usual, size)
            number = self._slot(size)
            return self.slots[number], announced(number)

        try:
            if begun is None:
                return pack(message, allocate)
            where = begun, self.paths.get(begun), list(self.dropped)
            data = pack(message, allocate, (self.slots[begun], where, self.there, self.used))
            if not sent and data[:1] == b"@":
                announced(begun)
                begun = None
            return data
        finally:
            self.begun, self.there, self.used = None, {}, 0
            if begun is not None:
                self.free.append(begun)

    def _slot(self, size):
        fitting = [n for n in self.free if len(self.slots[n]) >= size]
        if fitting:
            number = min(fitting, key=lambda n: len(self.slots[n]))
            self.free.remove(number)
            return number
        number = next(self.count)
        path = f"{self.path}{number}"
        self.slots[number] = _make_file(path, -(-size // _ROUND) * _ROUND)
        self.paths[number] = path
        if self.free:  # too small by now
            old = self.free.pop(0)
            del self.slots[old]
            if self.paths.pop(old, None) is None:
                self.dropped.append(old)
            else:
                os.unlink(f"{self.path}{old}")
        return number


class _Borrowed:
    """The same memory on the loader's side."""

    def __init__(self):
        self.slots, self.returned = {}, []

    def find(self, where):
        number, path, dropped = where
        if path is not None:
            self.slots[number] = _take_file(path)
        for old in dropped:
            self.slots.pop(old, None)
        slot = self.slots[number]
        memory = (ctypes.c_char * len(slot)).from_buffer(slot)  # one for each batch, whose tensors hold it
        weakref.finalize(memory, self.returned.append, number).atexit = False
        return memory

    def take_returned(self):
        numbers = []
        while self.returned:
            numbers.append(self.returned.pop())
        return numbers


def _shared_directory():
    return tempfile.mkdtemp(prefix="cresset-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def _process_main(task, worker_id, requests, results, others, directory, parent):
    for connection in others:  # inherited ends, by which a dead parent would seem alive
        connection.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    gc.freeze()  # what the parent made is not searched for garbage: that would copy the pages it lies in
    torch.set_num_threads(1)
    seed_process(task.base_seed, worker_id)
    lent = _Lent(directory, worker_id)

    def receive():
        try:
            while not requests.poll(_CHECK):
                if os.getppid() != parent:
                    return None
            got = unpack(requests.recv_bytes(), _take_file)
        except (EOFError, OSError):
            return None
        if got is None:
            return None
        returned, message = got
        lent.come_back(returned)
        return message

    def send(message):
        try:
            data = lent.pack(message)
        except Exception:  # the result cannot be pickled
            data = lent.pack((message[0], Failure(f"in DataLoader worker process {worker_id}"), None))
        results.send_bytes(data)

    try:
        work(task, worker_id, receive, send, False, _Position(directory, worker_id, write=True).set, lent)
    except (BrokenPipeError, ConnectionResetError, FileNotFoundError):  # the parent is gone, or does not wait any more
        pass


class _Position:
    """How far in its list of indices a worker is, in memory that the loader can read when the worker is dead."""

    def __init__(self, directory, worker_id, write=False):
        path = os.path.join(directory, f"position-{worker_id}")
        fd = os.open(path, os.O_RDWR | (os.O_CREAT if write else 0), 0o600)
        try:
            if write:
                os.ftruncate(fd, 8)
            self._memory = memoryview(mmap.mmap(fd, 8)).cast("q")
            if write:
                self.set(-1)
        finally:
            os.close(fd)
        if not write:
            self.value = self._memory[0]

    def set(self, number):
        self._memory[0] = number


class WorkerDied(RuntimeError):
    """A worker process ended without being told: `worker_id`, after `position` indices of its batch."""

    worker_id = position = None


class Processes:
    """Worker processes."""

    def __init__(self, task, context):
        self.directory = _shared_directory()
        self.requests, self.results, self.processes = [], [], []
        self._numbers = itertools.count()
        self._borrowed = [_Borrowed() for _ in range(task.num_workers)]
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self.requests, self.results, self.processes, self.directory)
        for worker_id in range(task.num_workers):
            their_requests, our_requests = context.Pipe(duplex=False)
            our_results, their_results = context.Pipe(duplex=False)
            forked = context.get_start_method() == "fork"
            others = [*self.requests, *self.results, our_requests, our_results] if forked else []
            process = context.Process(
                target=_process_main, args=(task, worker_id, their_requests, their_results, others, self.directory, os.getpid()), daemon=True
            )
            process.start()
            their_requests.close()
            their_results.close()
            self.requests.append(our_requests)
            self.results.append(our_results)
            self.processes.append(process)
        self._of_number, self._ready = {c.fileno(): i for i, c in enumerate(self.results)}, []
        waiting = select.poll()
        for number in self._of_number:
            waiting.register(number, select.POLLIN)
        self._poll = waiting.poll

    def send(self, worker_id, message):
        def allocate(size):
            path = os.path.join(self.directory, f"r{next(self._numbers)}")
            return _make_file(path, size), path

        try:
            request = (self._borrowed[worker_id].take_returned(), message)
            data = b"=" + pickle.dumps(request, protocol=5)  # indices, as a rule, which are quicker pickled without looking for tensors
            self.requests[worker_id].send_bytes(data if len(data) <= _INLINE else pack(request, allocate))
        except (BrokenPipeError, ConnectionResetError):
            raise self._died(worker_id) from None

    def receive(self, timeout):
        """A result of any worker; None after `timeout` seconds. Raises `WorkerDied`."""
        if not self._ready:
            self._ready = [self._of_number[number] for number, _ in self._poll(None if timeout is None else timeout * 1000)]
        if not self._ready:
            return None
        worker_id = self._ready.pop()
        try:
            data = self.results[worker_id].recv_bytes()
        except (EOFError, ConnectionResetError):
            raise self._died(worker_id) from None
        return unpack(data, self._borrowed[worker_id].find)

    def _died(self, worker_id):
        process = self.processes[worker_id]
        process.join(1)
        code = process.exitcode
        how = f"by signal: {signal.Signals(-code).name}" if code is not None and code < 0 else f"with exit code {code}"
        error = WorkerDied(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly {how}")
        error.worker_id = worker_id
        with contextlib.suppress(OSError, ValueError):  # it died before it began
            error.position = _Position(self.directory, worker_id).value
        return error

    def shutdown(self):
        self._finalizer()


def _end(owner, requests, results, processes, directory):
    if os.getpid() != owner:  # a forked copy: not ours to end
        return
    for connection in requests:
        try:
            connection.send_bytes(_STOP)  # closing does not do where a process forked meanwhile holds the other end, too
        except OSError:
            pass
    for connection in (*requests, *results):
        connection.close()  # which ends the workers' waiting and writing
    deadline = time.monotonic() + 5
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.terminate()
            process.join()
    shutil.rmtree(directory, ignore_errors=True)


class Threads:
    """Worker threads: they share the dataset and pass results as they are."""

    def __init__(self, task):
        self.requests = [queue.SimpleQueue() for _ in range(task.num_workers)]
        self.results = queue.SimpleQueue()
        self.threads = [
            threading.Thread(target=work, args=(task, i, requests.get, self.results.put, True), name=f"loader-{i}", daemon=True)
            for i, requests in enumerate(self.requests)
        ]
        self._finalizer = weakref.finalize(self, _stop, self.requests)
        for thread in self.threads:
            thread.start()

    def send(self, worker_id, message):
        self.requests[worker_id].put(message)

    def receive(self, timeout):
        try:
            return self.results.get(timeout=timeout)
        except queue.Empty:
            return None

    def shutdown(self):
        self._finalizer()


def _stop(requests):
    for each in requests:
        while not each.empty():
            try:
                each.get_nowait()
            except queue.Empty:
                break
        each.put(None)
