"""How tensors go to other processes: their memory moves to where both can map it, and what is sent is how to find it."""

import multiprocessing
import os
import threading
import time
import weakref
from multiprocessing import reduction, resource_sharer, util
from multiprocessing.reduction import ForkingPickler

import cresset as torch
from cresset import UntypedStorage
from cresset.storage import TypedStorage

__all__ = ["StorageWeakRef", "init_reductions"]


class StorageWeakRef:
    """A reference to a storage that does not keep it: two are equal where their storages are one. `expired()` tells whether it is gone.

    >>> from cresset.multiprocessing.reductions import StorageWeakRef
    >>> x = torch.ones(2)
    >>> whole, part = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x[1:].untyped_storage())
    >>> whole == part, whole.expired()
    (True, False)
    >>> del x
    >>> whole.expired()
    True
    """

    __slots__ = ("_kept", "cdata")

    def __init__(self, storage):
        storage = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
        self.cdata, self._kept = storage._cdata, weakref.ref(storage)

    def expired(self):
        """Whether nothing holds the storage any more."""
        return self._kept() is None

    def __hash__(self):
        return self.cdata

    def __eq__(self, other):
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata


# Storages from other processes by the memory they map, so that one that comes twice is the same.
_opened = weakref.WeakValueDictionary()


# How long a process that ends waits until the descriptors it has sent are received, in seconds: only it can hand them out.
_PATIENCE = 10


def _until_received():
    if multiprocessing.parent_process() is None:
        return
    end, sharer = time.monotonic() + _PATIENCE, resource_sharer._resource_sharer
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":  # queues are closed by now: it ends when all is sent
            thread.join(_PATIENCE)
    if sharer._listener is None:
        return
    while sharer._cache and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)  # the last one may be on its way


def _wait_at_exit(*_):
    util.Finalize(None, _until_received, exitpriority=5)  # after queues are closed (10) and before the address is gone (0)


def _open(at, size, key):
    storage = _opened.get(key)
    if storage is None:
        storage = UntypedStorage._open_shared(at, size)
        _opened[key] = storage
    elif isinstance(at, int):
        os.close(at)
    return storage


def _identity(fd):
    facts = os.fstat(fd)
    return facts.st_dev, facts.st_ino


def rebuild_storage_empty():
    """A storage without bytes."""
    return UntypedStorage(0)


def rebuild_storage_fd(handle, size):
    """The storage over the memory behind a descriptor that was sent along."""
    fd = handle.detach()
    return _open(fd, size, _identity(fd))


def rebuild_storage_filename(name, size):
    """The storage over the memory that has a name."""
    return _open(name, size, name)


def reduce_storage(storage):
    """Handle that finds the storage's memory from another process, to which it moves first. Errors: RuntimeError for other devices than the CPU."""
    from . import get_sharing_strategy

    if storage.device.type != "cpu":
        raise RuntimeError(f"cannot send a storage on {storage.device} to another process; move it to the CPU")
    if storage.nbytes() == 0:
        return rebuild_storage_empty, ()
    fd, name = storage._share(get_sharing_strategy() == "file_system")
    if name is not None:
        storage._add_use()  # the receiver's
        _opened[name] = storage
        return rebuild_storage_filename, (name, storage.nbytes())
    _opened[_identity(fd)] = storage
    return rebuild_storage_fd, (reduction.DupFd(fd), storage.nbytes())


def reduce_typed_storage(storage):
    """As `reduce_storage`, with the dtype."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def rebuild_typed_storage(storage, dtype):
    """A storage with a dtype."""
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def rebuild_tensor(cls, storage, metadata):
    """The tensor over a storage that was sent along."""
    dtype, offset, size, stride, requires_grad = metadata
    out = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    if issubclass(cls, torch.nn.Parameter):
        return torch.nn.Parameter(out, requires_grad=requires_grad)
    if cls is not torch.Tensor:
        out = out.as_subclass(cls)
    return out.requires_grad_() if requires_grad else out


def reduce_tensor(tensor):
    """Function and arguments that rebuild a tensor in another process over the same memory. RuntimeError for results of recorded computations."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "cannot send a non-leaf tensor with requires_grad to another process: the graph that it is the result of stays here; detach() it first"
        )
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor._lacks_data or tensor.is_conj() or tensor.is_neg():
        return tensor.__reduce_ex__(2)
    metadata = (tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), tensor.requires_grad)
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), metadata)


def init_reductions():
    """Makes queues and pipes of `multiprocessing` send tensors and storages by their memory.

    >>> torch.multiprocessing.reductions.init_reductions()
    """
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reduce_tensor)
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    _wait_at_exit()
    util.register_after_fork(_wait_at_exit, _wait_at_exit)
