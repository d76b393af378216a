"""Groups of processes, and the operations that were begun in them."""

import datetime
import enum

import _cresset

from ._stores import DistBackendError, _milliseconds

default_pg_timeout = datetime.timedelta(minutes=30)


class ReduceOp:
    """How the values of all ranks become one: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR.

    >>> torch.distributed.ReduceOp.MAX
    <RedOpType.MAX: 4>
    """

    class RedOpType(enum.IntEnum):
        """The reductions."""

        SUM = 0
        AVG = 1
        PRODUCT = 2
        MIN = 3
        MAX = 4
        BAND = 5
        BOR = 6
        BXOR = 7

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = RedOpType


class Backend(str):
    """The name of a backend in lower case: "gloo" is here.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string, got {name!r}")
        return super().__new__(cls, name.lower())


def _checked_backend(name):
    """The backend of a name that `init_process_group` was given. Errors: one that is not here."""
    parts = dict(part.split(":", 1) if ":" in part else ("cpu", part) for part in str(name or "gloo").lower().split(","))
    wanted = parts.get("cpu", "gloo")
    if wanted not in ("gloo", "undefined"):
        known = "" if wanted in ("nccl", "mpi", "ucc", "xccl") else "is no backend's name; it "
        raise RuntimeError(f"distributed: the backend {wanted!r} {known}is not built in; this build has 'gloo', for tensors on the CPU")
    return Backend("gloo")


class Work:
    """An operation that was begun with `async_op=True`, or a message.

    >>> work = dist.barrier(async_op=True); work.wait(), work.is_completed()
    (True, True)
    """

    def __init__(self, impl, finish=None):
        self._impl = impl
        self._finish = finish

    def is_completed(self):
        """Whether it has ended."""
        return self._impl.is_completed()

    def is_success(self):
        """Whether it has ended without an error."""
        return self.is_completed() and self.exception() is None

    def exception(self):
        """Error of an operation that has ended, or None."""
        if not self.is_completed():
            return None
        try:
            self._impl.wait(0)
        except RuntimeError as error:
            return error
        return None

    def wait(self, timeout=None):
        """Waits for the end; True. Errors: those of the operation; it has not ended within the timeout."""
        try:
            self._impl.wait(0 if not timeout else _milliseconds(timeout))
        except (ValueError, TypeError):
            raise
        except RuntimeError as error:
            raise DistBackendError(str(error)) from None
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    synchronize = wait

    def source_rank(self):
        """The rank from which a message came, in its group."""
        return self._impl.source_rank()


class ProcessGroup:
    """The processes that call an operation together. Ranks are those of the group, from 0.

    >>> dist.group.WORLD
    <ProcessGroup gloo, rank 0 of 1>
    """

    def __init__(self, store, rank, size, timeout=default_pg_timeout, ranks=None, name=""):
        try:
            self._impl = _cresset.process_group(store._impl, rank, size, _milliseconds(timeout))
        except (ValueError, TypeError):
            raise
        except RuntimeError as error:
            raise DistBackendError(str(error)) from None
        self._ranks = list(range(size)) if ranks is None else list(ranks)
        self._store = store
        self.group_name = name

    def rank(self):
        """This process's rank in the group."""
        return self._impl.rank()

    def size(self):
        """How many processes the group has."""
        return self._impl.size()

    def name(self):
        """The backend's name."""
        return "gloo"

    def _set_default_timeout(self, timeout):
        self._impl.set_timeout(_milliseconds(timeout))

    def __repr__(self):
        return f"<ProcessGroup gloo, rank {self.rank()} of {self.size()}>"


class _World(type):
    """`WORLD` of `GroupMember` and `group` is one thing."""

    _world = None

    @property
    def WORLD(cls):
        return _World._world

    @WORLD.setter
    def WORLD(cls, value):
        _World._world = value


class GroupMember(metaclass=_World):
    """`WORLD` is the group of all processes; `NON_GROUP_MEMBER` what `new_group` returns to processes outside.

    >>> dist.GroupMember.WORLD is dist.group.WORLD
    True
    """

    NON_GROUP_MEMBER = -100


class group(metaclass=_World):
    """`group.WORLD` is the group of all processes, None before `init_process_group`.

    >>> dist.group.WORLD.size()
    1
    """


class P2POp:
    """A message for `batch_isend_irecv`: `isend` or `irecv`, the tensor and the other side's rank.

    >>> message = dist.P2POp(dist.isend, torch.ones(2), 1); message.peer
    1
    """

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        from .distributed_c10d import irecv, isend

        if op not in (isend, irecv):
            raise ValueError(f"P2POp: expected torch.distributed.isend or irecv as op, got {op!r}")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer
