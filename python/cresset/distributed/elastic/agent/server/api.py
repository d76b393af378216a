"""The life of the processes of a job on one machine."""

import abc
import dataclasses
import enum
import json
import logging
import signal
import time

import _cresset_dist
from cresset.distributed._stores import Store, _milliseconds
from cresset.distributed.elastic.multiprocessing import SignalException
from cresset.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousError, RendezvousGracefulExitError

__all__ = ["ElasticAgent", "RunResult", "SimpleElasticAgent", "Worker", "WorkerGroup", "WorkerSpec", "WorkerState"]

_log = logging.getLogger("torchelastic.agent")
_LIFE = 15  # seconds that a launcher may give no sign of life, of a rendezvous that says nothing else


@dataclasses.dataclass
class WorkerSpec:
    """The processes of one role on one machine: a program or function, how many, how they meet, how often they begin again.

    >>> from cresset.distributed.elastic.agent.server import WorkerSpec
    >>> WorkerSpec(role="trainer", local_world_size=2, rdzv_handler=None, entrypoint="/bin/true").get_entrypoint_name()
    'true'
    """

    role: str
    local_world_size: int
    rdzv_handler: object
    fn: object = None
    entrypoint: object = None
    args: tuple = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: object = None
    virtual_local_rank: bool = False

    def __post_init__(self):
        if self.local_world_size < 1:
            raise AssertionError(f"WorkerSpec: expected at least one process, got {self.local_world_size}")
        if self.fn is not None:
            self.entrypoint = self.fn
        if self.entrypoint is None:
            raise AssertionError("WorkerSpec: expected a program or a function, got none")

    def get_entrypoint_name(self):
        """The name of the function or program."""
        return self.entrypoint.rpartition("/")[2] if isinstance(self.entrypoint, str) else self.entrypoint.__qualname__


class Worker:
    """One process: its number and its ranks.

    >>> from cresset.distributed.elastic.agent.server import Worker
    >>> Worker(local_rank=1, global_rank=3).global_rank
    3
    """

    __slots__ = ("global_rank", "id", "local_rank", "role_rank", "role_world_size", "world_size")

    def __init__(self, local_rank, global_rank=-1, role_rank=-1, world_size=-1, role_world_size=-1):
        self.id, self.local_rank, self.global_rank, self.role_rank = None, local_rank, global_rank, role_rank
        self.world_size, self.role_world_size = world_size, role_world_size

    def __repr__(self):
        return f"Worker(local_rank={self.local_rank}, global_rank={self.global_rank})"


class WorkerState(str, enum.Enum):
    """State of the processes of a group.

    >>> from cresset.distributed.elastic.agent.server import WorkerState
    >>> WorkerState.is_running(WorkerState.HEALTHY)
    True
    """

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state):
        """Whether processes run in this state."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


class WorkerGroup:
    """The processes of a `WorkerSpec` that run together.

    >>> from cresset.distributed.elastic.agent.server import WorkerGroup, WorkerSpec
    >>> WorkerGroup(WorkerSpec('trainer', 2, None, entrypoint='/bin/true')).state.name
    'INIT'
    """

    __slots__ = ("attempt", "group_rank", "group_world_size", "master_addr", "master_port", "spec", "state", "store", "workers")

    def __init__(self, spec):
        self.spec, self.workers = spec, [Worker(i) for i in range(spec.local_world_size)]
        self.store = self.group_rank = self.group_world_size = self.master_addr = self.master_port = None
        self.state, self.attempt = WorkerState.INIT, 0


@dataclasses.dataclass
class RunResult:
    """How a group ended: values by global rank, or failures.

    >>> from cresset.distributed.elastic.agent.server import RunResult, WorkerState
    >>> RunResult(WorkerState.SUCCEEDED).is_failed()
    False
    """

    state: WorkerState
    return_values: dict = dataclasses.field(default_factory=dict)
    failures: dict = dataclasses.field(default_factory=dict)

    def is_failed(self):
        """Whether it failed."""
        return self.state == WorkerState.FAILED


class ElasticAgent(abc.ABC):
    """Runs a group of processes: `run()` gives a `RunResult`."""

    @abc.abstractmethod
    def run(self, role="default"):
        """Runs the processes, again after failures."""

    @abc.abstractmethod
    def get_worker_group(self, role="default"):
        """The group of a role."""


class SimpleElasticAgent(ElasticAgent):
    """An agent of one role; how processes start, end and are watched is that of a derived class."""

    def __init__(self, spec, exit_barrier_timeout=300):
        self._worker_group, self._remaining_restarts, self._store = WorkerGroup(spec), spec.max_restarts, None
        self._exit_barrier_timeout = exit_barrier_timeout

    def get_worker_group(self, role="default"):
        """The group of processes."""
        return self._worker_group

    @abc.abstractmethod
    def _start_workers(self, worker_group):
        """Starts the processes; their numbers by local rank."""

    @abc.abstractmethod
    def _stop_workers(self, worker_group):
        """Ends the processes."""

    @abc.abstractmethod
    def _monitor_workers(self, worker_group):
        """A `RunResult` of what they do now."""

    @abc.abstractmethod
    def _shutdown(self, death_sig=signal.SIGTERM):
        """Ends the processes and frees what is held."""

    def _rendezvous(self, group):
        """Meets the other agents; gives each process its ranks."""
        spec = group.spec
        info = spec.rdzv_handler.next_rendezvous()
        group.store, group.group_rank, group.group_world_size = info.store, info.rank, info.world_size
        self._store = info.store
        where = info.bootstrap_store_info
        group.master_addr, group.master_port = spec.master_addr or where.master_addr, spec.master_port or where.master_port
        group.workers = self._ranked(info.store, info.rank, info.world_size, spec)

    def _ranked(self, store, group_rank, group_size, spec):
        """Workers with their ranks among all, and among those of their role, in the order of the nodes. Nodes agree on the attempt in which processes meet."""
        own = spec.max_restarts - self._remaining_restarts
        store.set(f"worker info {group_rank}", json.dumps([spec.role, spec.local_world_size, own]))
        infos = [json.loads(store.get(f"worker info {rank}")) for rank in range(group_size)]
        before = sum(count for _, count, _ in infos[:group_rank])
        before_role = sum(count for role, count, _ in infos[:group_rank] if role == spec.role)
        size, role_size = sum(count for _, count, _ in infos), sum(count for role, count, _ in infos if role == spec.role)
        self._worker_group.attempt = max(restarts for _, _, restarts in infos)
        return [Worker(i, before + i, before_role + i, size, role_size) for i in range(spec.local_world_size)]

    def _initialize_workers(self, group):
        self._rendezvous(group)
        for local_rank, number in self._start_workers(group).items():
            group.workers[local_rank].id = number
        group.state = WorkerState.HEALTHY

    def _restart_workers(self, group):
        self._stop_workers(group)
        group.state = WorkerState.STOPPED
        self._initialize_workers(group)

    def run(self, role="default"):
        """Runs the processes, again after failures, until all have ended well or no restart is left."""
        shut = False
        try:
            return self._run()
        except RendezvousGracefulExitError as error:
            _log.info("the rendezvous has let this node go: %s", error)
            return RunResult(WorkerState.SUCCEEDED)
        except SignalException as error:
            _log.warning("got %s: the processes are ended", error.sigval)
            self._shutdown(error.sigval)
            shut = True
            raise
        finally:
            if not shut:
                self._shutdown()

    def _run(self):
        group, spec = self._worker_group, self._worker_group.spec
        self._initialize_workers(group)
        while True:
            time.sleep(spec.monitor_interval)
            result = self._monitor_workers(group)
            group.state = result.state
            if result.state == WorkerState.SUCCEEDED:
                self._exit_barrier()
                return result
            if result.state in (WorkerState.UNHEALTHY, WorkerState.FAILED):
                if self._remaining_restarts > 0:
                    self._remaining_restarts -= 1
                    self._restart_workers(group)
                    continue
                self._stop_workers(group)
                group.state = WorkerState.FAILED
                return result
            if self._waiting(spec) > 0:
                _log.info("nodes wait to be let in: the processes begin again")
                self._restart_workers(group)

    def _waiting(self, spec):
        try:
            return spec.rdzv_handler.num_nodes_waiting()
        except RendezvousConnectionError as error:
            _log.warning("the rendezvous is out of reach: %s", error)  # the processes may well end without it
            return 0

    def _exit_barrier(self):
        """Waits for the other nodes, so that the one with the store leaves last: up to `exit_barrier_timeout` seconds for those that live, and for one whose
        launcher has been stopped or killed as long as the rendezvous does (`keep_alive_interval` times `keep_alive_max_attempt`); a warning names it.
        """
        group, handler = self._worker_group, self._worker_group.spec.rdzv_handler
        try:
            _cresset_dist.end_together(
                group.group_rank, group.group_world_size, _native(self._store), _milliseconds(getattr(handler, "_life", _LIFE)),
                _milliseconds(self._exit_barrier_timeout), _log.warning, handler.is_closed,
            )  # fmt: skip
        except RendezvousError as error:
            _log.warning("the rendezvous has failed after the processes of this node have ended: %s", error)


def _native(store):
    """The store as C++ sees it; any object with the methods of stores is one."""
    return store._native() if isinstance(store, Store) else _cresset_dist.python_store(store)
