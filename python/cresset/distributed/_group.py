"""Groups of processes, the options of their operations, and the operations that were begun in them."""

import contextlib
import datetime
import enum
import threading

import _cresset_dist
import cresset as torch

from ._stores import _milliseconds

default_pg_timeout = datetime.timedelta(minutes=30)
_UNSET = datetime.timedelta(milliseconds=-1)


class _RedOpType(enum.IntEnum):
    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __str__(self):
        return f"RedOpType.{self.name}"


_RedOpType.__qualname__ = _RedOpType.__name__ = "RedOpType"


class ReduceOp:
    """How the values of all ranks become one: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, or PREMUL_SUM, which is NCCL's alone.

    >>> torch.distributed.ReduceOp.MAX
    <RedOpType.MAX: 4>
    """

    RedOpType = _RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = _RedOpType

    def __init__(self, op):
        self._op, self._factor = _RedOpType(int(op)), None

    @property
    def op(self):
        """The kind of reduction."""
        return self._op

    @property
    def factor(self):
        """The factor of a PREMUL_SUM. Errors: RuntimeError for other reductions."""
        if self._op != _RedOpType.PREMUL_SUM:
            raise RuntimeError(f"ReduceOp: a factor belongs to PREMUL_SUM, not to {self._op.name}")
        return self._factor

    def __int__(self):
        return int(self.op)

    def __eq__(self, other):
        return int(self) == int(other) if isinstance(other, (ReduceOp, _RedOpType)) else NotImplemented

    def __hash__(self):
        return hash(int(self))

    def __repr__(self):
        return repr(self.op)


class reduce_op(metaclass=type("_Older", (type,), {"__getattr__": lambda cls, name: getattr(ReduceOp, name)})):
    """The name that older programs use for `ReduceOp`.

    >>> dist.reduce_op.SUM
    <RedOpType.SUM: 0>
    """


class _Options:
    timeout, asyncOp = _UNSET, True  # of the group; whether the caller goes on

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class AllreduceOptions(_Options):
    """`reduceOp`, `timeout`, `asyncOp` of an `allreduce`.

    >>> dist.AllreduceOptions().reduceOp
    <RedOpType.SUM: 0>
    """

    reduceOp = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Those of an `allreduce_coalesced`.

    >>> dist.AllreduceCoalescedOptions().asyncOp
    True
    """


class BroadcastOptions(_Options):
    """`rootRank`, `rootTensor`, `timeout`, `asyncOp` of a `broadcast`.

    >>> dist.BroadcastOptions().rootRank
    0
    """

    rootRank = rootTensor = 0


class ReduceOptions(AllreduceOptions):
    """`reduceOp`, `rootRank`, `rootTensor`, `timeout`, `asyncOp` of a `reduce`.

    >>> dist.ReduceOptions().rootRank
    0
    """

    rootRank = rootTensor = 0


class AllgatherOptions(_Options):
    """`timeout` and `asyncOp` of an `allgather`.

    >>> dist.AllgatherOptions().asyncOp
    True
    """


class GatherOptions(_Options):
    """`rootRank`, `timeout`, `asyncOp` of a `gather`.

    >>> dist.GatherOptions().rootRank
    0
    """

    rootRank = 0


class ScatterOptions(GatherOptions):
    """`rootRank`, `timeout`, `asyncOp` of a `scatter`.

    >>> dist.ScatterOptions().rootRank
    0
    """


class ReduceScatterOptions(AllreduceOptions):
    """`reduceOp`, `timeout`, `asyncOp` of a `reduce_scatter`.

    >>> dist.ReduceScatterOptions().asyncOp
    True
    """


class AllToAllOptions(_Options):
    """`timeout` and `asyncOp` of an `alltoall`.

    >>> dist.AllToAllOptions().asyncOp
    True
    """


class BarrierOptions(_Options):
    """`device_ids`, `timeout`, `asyncOp` of a `barrier`.

    >>> dist.BarrierOptions().device_ids
    ()
    """

    device_ids, device = (), None


class DebugLevel(enum.IntEnum):
    """How much groups look at what their ranks do (TORCH_DISTRIBUTED_DEBUG).

    >>> dist.DebugLevel.OFF.name
    'OFF'
    """

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __str__(self):
        return f"DebugLevel.{self.name}"


def get_debug_level():
    """The level in force.

    >>> dist.get_debug_level().name
    'OFF'
    """
    return DebugLevel(_cresset_dist.debug_level())


def set_debug_level(level):
    """Sets the level, for groups made from now on.

    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level: expected a DebugLevel, got {level!r}")
    _cresset_dist.set_debug_level(int(level))


def set_debug_level_from_env():
    """Sets the level that TORCH_DISTRIBUTED_DEBUG names. Errors: ValueError for another text than OFF, INFO and DETAIL.

    >>> dist.set_debug_level_from_env()
    """
    _cresset_dist.set_debug_level(None)


class Backend(str):
    """The name of a backend in lower case: "gloo" is here, "mpi" where its library is, and those that programs register.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"
    FAKE = "fake"

    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    backend_capability = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"], XCCL: ["xpu"], UCC: ["cpu", "cuda"], MPI: ["cpu", "cuda"], FAKE: ["cpu", "cuda", "hpu", "xpu"]}
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    _plugins = {}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend: expected a name, got {name!r} of type {type(name).__name__}")
        return super().__new__(cls, getattr(cls, name.upper(), name.lower()) if name.isidentifier() and name.upper() in cls.__dict__ else name.lower())

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """Makes a backend known: `func(store, rank, size, timeout)` gives a `ProcessGroup`, or with `extended_api` `func(opts, backend_options)`.

        Errors: RuntimeError for a name that is known.
        """
        if name.lower() in cls._plugins or name.lower() in cls.backend_list and name.upper() in cls.__dict__:
            raise RuntimeError(f"Backend: register_backend: {name!r} is a backend already")
        setattr(cls, name.upper(), name.lower())
        cls.backend_list.append(name.lower())
        devices = ["cpu", "cuda"] if devices is None else [devices] if isinstance(devices, str) else list(devices)
        cls.backend_capability[name.lower()] = devices
        for device in devices:
            cls.default_device_backend_map.setdefault(device, name.lower())
        cls._plugins[name.lower()] = (func, extended_api)
        cls.backend_type_map[name.lower()] = _BackendKind.CUSTOM


class BackendConfig:
    """Which backend each type of device has.

    >>> str(dist.BackendConfig(dist.Backend("gloo")))
    'cpu:gloo,cuda:gloo'
    """

    def __init__(self, backend):
        text = str(backend)
        self.device_backend_map = {}
        if ":" in text:
            for part in text.lower().split(","):
                device, _, name = part.partition(":")
                if not device or not name or ":" in name:
                    raise ValueError(f"BackendConfig: expected a text like 'cpu:gloo,cuda:nccl', got {text!r}")
                if device in self.device_backend_map:
                    raise ValueError(f"BackendConfig: the device {device!r} stands twice in {text!r}")
                self.device_backend_map[device] = Backend(name)
        elif text == Backend.UNDEFINED:
            self.device_backend_map = {device: Backend(name) for device, name in Backend.default_device_backend_map.items() if device == "cpu"}
        else:
            name = Backend(text)
            self.device_backend_map = {device: name for device in Backend.backend_capability.get(name, ["cpu", "cuda"])}

    def get_device_backend_map(self):
        """The backend of each type of device."""
        return self.device_backend_map

    def __repr__(self):
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


class Work:
    """An operation that was begun with `async_op=True`, or a message.

    >>> work = dist.barrier(async_op=True); work.wait(), work.is_completed()
    (True, True)
    """

    def __init__(self, impl=None, finish=None):
        self._impl, self._finish, self._future = impl, finish, None

    def is_completed(self):
        """Whether it has ended."""
        return self._impl is None or self._impl.is_completed()

    def is_success(self):
        """Whether it has ended without an error."""
        return self._impl is None or self._impl.is_success()

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
        if self._impl is not None:
            self._impl.wait(0 if not timeout else _milliseconds(timeout))
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    def synchronize(self):
        """As `wait`."""
        self.wait()

    def source_rank(self):
        """The rank from which a message came, in its group."""
        return self._impl.source_rank()

    def result(self):
        """The tensors that the operation writes."""
        return self._impl.result()

    def get_future(self):
        """A future of the list of tensors that the operation writes."""
        if self._future is None:
            self._future = future = torch.futures.Future()

            def ended():
                try:
                    self.wait()
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(self._impl.result() if self._impl is not None else [])

            if self._impl is None:
                ended()
            else:
                self._impl.on_end(ended)
        return self._future

    def boxed(self):
        """The work itself."""
        return self


def _time(options):
    """The timeout of options in milliseconds, 0 for the group's."""
    timeout = options.timeout if options is not None else _UNSET
    return 0 if timeout == _UNSET else _milliseconds(timeout)


def _alone(tensors):
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"ProcessGroup: expected one tensor of this rank's device, got {len(tensors)}")
    return tensors[0]


def _op(options):
    return int(ReduceOp.SUM if options is None else options if isinstance(options, (ReduceOp, _RedOpType)) else options.reduceOp)


_titles = threading.local()


@contextlib.contextmanager
def record_comm(name):
    """Operations of groups that are begun within it have this name in profiles.

    >>> with dist.record_comm("gradients of layer 1"):
    ...     dist.all_reduce(torch.ones(1))
    """
    before, _titles.title = getattr(_titles, "title", None), name
    try:
        yield
    finally:
        _titles.title = before


class _BackendKind(enum.IntEnum):
    UNDEFINED = 0
    GLOO = 1
    NCCL = 2
    UCC = 3
    MPI = 4
    XCCL = 5
    CUSTOM = 6


Backend.backend_type_map = {name: _BackendKind.__members__.get(name.upper(), _BackendKind.CUSTOM) for name in Backend.backend_list}


class ProcessGroup:
    """The processes that call an operation together. Ranks are those of the group, from 0. Backends written in Python derive from it.

    >>> dist.group.WORLD
    <ProcessGroup gloo, rank 0 of 1>
    """

    BackendType = _BackendKind
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = _BackendKind
    group_name, bound_device_id = "", None

    def __init__(self, *arguments):
        """`ProcessGroup(rank, size)` for a class of one's own, `ProcessGroup(store, rank, size, timeout)` for one that communicates."""
        self._impl, self._store, self.group_name, self._description, self.bound_device_id = None, None, "", "undefined", None
        self._timeout = default_pg_timeout
        if len(arguments) == 2:
            self._rank, self._size = arguments
        else:
            store, self._rank, self._size, *rest = arguments
            self._connect(store, self._rank, self._size, *rest)
        self._ranks = list(range(self._size))

    def _connect(self, store, rank, size, timeout=default_pg_timeout, backend="gloo"):
        engine = backend if backend == "mpi" else ""
        self._impl = _cresset_dist.process_group(store._native(), rank, size, _milliseconds(timeout), engine)
        self._store, self._backend, self._timeout = store, Backend(backend), timeout

    def rank(self):
        """This process's rank in the group."""
        return self._rank

    def size(self):
        """How many processes the group has."""
        return self._size

    def name(self):
        """The backend's name."""
        return self.getBackendName()

    def getBackendName(self):
        """The backend's name."""
        return str(self._backend) if self._impl is not None else "undefined"

    def _get_backend_name(self):
        return self.getBackendName()

    @property
    def group_desc(self):
        """Description that `new_group` was given."""
        return self._description

    @property
    def _device_types(self):
        return [torch.device("cpu")]

    def _set_group_name(self, name):
        self.group_name = name

    def boxed(self):
        """The group itself, as operators take it."""
        return self

    @staticmethod
    def unbox(group):
        """The group itself."""
        return group

    def _set_group_desc(self, description):
        self._description = description

    def get_group_store(self):
        """The store through which the ranks met."""
        return self._store

    def set_timeout(self, timeout):
        """How long operations from now on may take: a timedelta."""
        self._set_default_timeout(timeout)

    def _set_default_timeout(self, timeout):
        self._timeout = timeout
        if self._impl is not None:
            self._impl.set_timeout(_milliseconds(timeout))

    def _get_backend(self, device=None):
        return self

    @property
    def options(self):
        """The group's timeout and backend."""
        made = ProcessGroup.Options(self.name())
        made._timeout = self._timeout
        return made

    class Options:
        """Options of a backend: its name and its timeout."""

        def __init__(self, backend="undefined", timeout=default_pg_timeout):
            self.backend, self._timeout, self.global_ranks_in_group, self.group_name = backend, timeout, [], ""

    def _native(self, method):
        if self._impl is None:
            raise NotImplementedError(f"{type(self).__name__}: this backend has no {method}")
        call, title = getattr(self._impl, method), getattr(_titles, "title", None)
        if title is None:
            return call

        def titled(*arguments):
            with torch.profiler.record_function(title):
                return call(*arguments)

        return titled

    def allreduce(self, tensors, opts=None, timeout=None):
        """Reduces the tensor of all ranks; each has the same bits afterwards."""
        time = _milliseconds(timeout) if timeout is not None else _time(opts if isinstance(opts, _Options) else None)
        tensor = _alone(tensors)
        return Work(self._native("allreduce")(tensor if tensor.is_sparse else tensor.detach(), _op(opts), True, time))

    def allreduce_coalesced(self, tensors, opts=None):
        """`allreduce` of several tensors at once."""
        return Work(self._native("allreduce_coalesced")([t.detach() for t in tensors], _op(opts), True, _time(opts)))

    def broadcast(self, tensors, opts=None, timeout=None):
        """Gives all ranks the tensor of the root, a rank or `BroadcastOptions`."""
        root = opts.rootRank if isinstance(opts, BroadcastOptions) else opts or 0
        return Work(self._native("broadcast")(_alone(tensors).detach(), root, True, _time(opts if isinstance(opts, _Options) else None)))

    def reduce(self, tensors, opts=None, op=ReduceOp.SUM, timeout=None):
        """Reduces the tensor of all ranks into that of the root, a rank or `ReduceOptions`."""
        whole = isinstance(opts, ReduceOptions)
        root = opts.rootRank if whole else opts or 0
        return Work(self._native("reduce")(_alone(tensors).detach(), root, _op(opts if whole else op), True, _time(opts if whole else None)))

    def allgather(self, output_tensors, input_tensors, opts=None, timeout=None):
        """Writes the tensors of all ranks to a list."""
        outputs = output_tensors[0] if output_tensors and isinstance(output_tensors[0], (list, tuple)) else output_tensors
        return Work(self._native("allgather")(list(outputs), _alone(input_tensors).detach(), True, _time(opts)))

    def _allgather_base(self, output, input, opts=None):  # noqa: A002
        return Work(self._native("allgather_base")(output.detach(), input.detach(), True, _time(opts)))

    def allgather_coalesced(self, output_lists, input_list, opts=None):
        """`allgather` of several tensors at once: `output_lists[rank][i]`."""
        return Work(self._native("allgather_coalesced")(output_lists, input_list, True, _time(opts)))

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        """`_allgather_base` of several tensors."""
        return Work(self._native("allgather_into_tensor_coalesced")(outputs, inputs, True, _time(opts)))

    def gather(self, output_tensors, input_tensors, opts=None, timeout=None):
        """Writes the tensors of all ranks to the list of the root."""
        outputs = output_tensors[0] if output_tensors and isinstance(output_tensors[0], (list, tuple)) else output_tensors
        root = opts.rootRank if isinstance(opts, GatherOptions) else opts or 0
        return Work(self._native("gather")(list(outputs), _alone(input_tensors).detach(), root, True, _time(opts if isinstance(opts, _Options) else None)))

    def scatter(self, output_tensors, input_tensors, opts=None, timeout=None):
        """Gives each rank its tensor of the root's list."""
        inputs = input_tensors[0] if input_tensors and isinstance(input_tensors[0], (list, tuple)) else input_tensors
        root = opts.rootRank if isinstance(opts, GatherOptions) else opts or 0
        return Work(self._native("scatter")(_alone(output_tensors).detach(), list(inputs), root, True, _time(opts if isinstance(opts, _Options) else None)))

    def reduce_scatter(self, output_tensors, input_tensors, opts=None, timeout=None):
        """Reduces the lists of all ranks tensor by tensor; rank i has the i-th."""
        inputs = input_tensors[0] if isinstance(input_tensors[0], (list, tuple)) else input_tensors
        return Work(
            self._native("reduce_scatter")(_alone(output_tensors).detach(), list(inputs), _op(opts), True, _time(opts if isinstance(opts, _Options) else None))
        )

    def _reduce_scatter_base(self, output, input, opts=None):  # noqa: A002
        return Work(self._native("reduce_scatter_base")(output.detach(), input.detach(), _op(opts), True, _time(opts)))

    def all_gather_single(self, output, input, opts=None):  # noqa: A002
        """The tensors of all ranks one after another."""
        return self._allgather_base(output, input, opts)

    def reduce_scatter_single(self, output, input, opts=None):  # noqa: A002
        """This rank's part of the reduction of a tensor with a part for each rank."""
        return self._reduce_scatter_base(output, input, opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        """`all_gather_single` of several tensors."""
        return self.allgather_into_tensor_coalesced(outputs, inputs, opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        """`reduce_scatter_single` of several tensors."""
        return self.reduce_scatter_tensor_coalesced(outputs, inputs, opts)

    def all_to_all_single(self, output, input, output_split_sizes=(), input_split_sizes=(), opts=None):  # noqa: A002
        """`alltoall` of parts along dimension 0."""
        return self.alltoall_base(output, input, output_split_sizes, input_split_sizes, opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        """`_reduce_scatter_base` of several tensors."""
        return Work(self._native("reduce_scatter_tensor_coalesced")(outputs, inputs, _op(opts), True, _time(opts)))

    def alltoall(self, output_tensors, input_tensors, opts=None):
        """Sends the i-th input to rank i, and writes what comes from there to the i-th output."""
        return Work(self._native("alltoall")(list(output_tensors), list(input_tensors), True, _time(opts)))

    def alltoall_base(self, output, input, output_split_sizes=(), input_split_sizes=(), opts=None):  # noqa: A002
        """`alltoall` of parts along dimension 0."""
        return Work(self._native("alltoall_base")(output.detach(), input.detach(), list(output_split_sizes), list(input_split_sizes), True, _time(opts)))

    def barrier(self, opts=None, timeout=None):
        """Blocks until every rank reaches it."""
        return Work(self._native("barrier")(True, _milliseconds(timeout) if timeout is not None else _time(opts)))

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """As `barrier`; rank 0 names the ranks that do not come in time."""
        self._native("monitored_barrier")(0 if timeout is None else _milliseconds(timeout), wait_all_ranks)

    def send(self, tensors, dst, tag=0):
        """Sends a tensor to a rank."""
        return Work(self._native("send")(_alone(tensors).detach(), dst, tag))

    def recv(self, tensors, src, tag=0):
        """Receives a tensor from a rank."""
        return Work(self._native("recv")(_alone(tensors).detach(), src, tag))

    def recv_anysource(self, tensors, tag=0):
        """Receives a tensor from the rank that sends first."""
        return Work(self._native("recv")(_alone(tensors).detach(), -1, tag))

    def abort(self):
        """Ends all that is under way with an error, here and on the ranks that wait for this one."""
        if self._impl is not None:
            self._impl.abort()

    def shutdown(self):
        """Leaves the group: operations from now on are errors."""
        if self._impl is not None:
            self._impl.shutdown()

    def __repr__(self):
        return f"<ProcessGroup {self.name()}, rank {self._rank} of {self._size}>"


class ProcessGroupGloo(ProcessGroup):
    """A group of the backend "gloo", made by hand: each rank calls this with the same store.

    >>> from datetime import timedelta
    >>> dist.ProcessGroupGloo(dist.HashStore(), 0, 1, timedelta(seconds=10)).name()
    'gloo'
    """

    def __init__(self, store, rank, size, timeout=default_pg_timeout):
        super().__init__(store, rank, size, timeout)


class ProcessGroupNCCL(ProcessGroup):
    """A group of the backend "nccl", which needs tensors in the memory of CUDA devices: there are none here (`is_nccl_available()`).

    Errors: RuntimeError, always.

    >>> dist.is_nccl_available(), issubclass(dist.ProcessGroupNCCL, dist.ProcessGroup)
    (False, True)
    """

    def __init__(self, store, rank, size, options=None):
        raise RuntimeError(
            "ProcessGroupNCCL: tensors on CUDA devices are not there in this build, got a group of NCCL; use the backend 'gloo' or 'mpi' for tensors on the CPU"
        )


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
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"P2POp: expected a tensor, got {type(tensor).__name__}")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer

    def __repr__(self):
        return f"P2POp({self.op.__name__}, peer={self.peer}, tag={self.tag})"
