"""An agent that starts processes on this machine."""

import os
import signal
import string
import sys
import time
import uuid

from cresset.distributed.elastic.multiprocessing import start_processes

from .api import RunResult, SimpleElasticAgent, WorkerState

__all__ = ["LocalElasticAgent"]


class LocalElasticAgent(SimpleElasticAgent):
    """Runs the processes of a `WorkerSpec` on this machine: a program in new processes, a function by `multiprocessing`.

    Python programs see `torch` bound to Cresset.

    >>> from cresset.distributed.elastic.agent.server import LocalElasticAgent, SimpleElasticAgent
    >>> issubclass(LocalElasticAgent, SimpleElasticAgent)
    True
    """

    def __init__(self, spec, logs_specs, start_method="spawn", exit_barrier_timeout=300, log_line_prefix_template=None):
        super().__init__(spec, exit_barrier_timeout)
        self._start_method, self._logs_specs, self._context = start_method, logs_specs, None
        self._prefix = log_line_prefix_template
        self._secret = os.environ.get("CRESSET_DIST_SECRET")
        self._stopped = {}  # local rank -> since when its process stands still

    def _environment(self, group, worker):
        spec = group.spec
        facts = {
            "LOCAL_RANK": 0 if spec.virtual_local_rank else worker.local_rank, "RANK": worker.global_rank, "GROUP_RANK": group.group_rank,
            "ROLE_RANK": worker.role_rank, "ROLE_NAME": spec.role, "LOCAL_WORLD_SIZE": spec.local_world_size, "WORLD_SIZE": worker.world_size,
            "GROUP_WORLD_SIZE": group.group_world_size, "ROLE_WORLD_SIZE": worker.role_world_size, "MASTER_ADDR": group.master_addr,
            "MASTER_PORT": group.master_port, "TORCHELASTIC_RESTART_COUNT": spec.max_restarts - self._remaining_restarts, "TORCHELASTIC_MAX_RESTARTS": spec.max_restarts,
            "CRESSET_JOB_ATTEMPT": group.attempt, "TORCHELASTIC_RUN_ID": spec.rdzv_handler.get_run_id(), "TORCHELASTIC_USE_AGENT_STORE": spec.rdzv_handler.use_agent_store,
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.getenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
        }  # fmt: skip
        if "OMP_NUM_THREADS" in os.environ:
            facts["OMP_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"]
        if self._secret:
            facts["CRESSET_DIST_SECRET"] = self._secret
        return {name: str(value) for name, value in facts.items()}

    def _start_workers(self, group):
        spec = group.spec
        args, envs, prefixes = {}, {}, {}
        for worker in group.workers:
            args[worker.local_rank] = _bound(spec, tuple(_filled(a, worker.local_rank) for a in spec.args))
            envs[worker.local_rank] = self._environment(group, worker)
            if self._prefix:
                prefixes[worker.local_rank] = string.Template(self._prefix).safe_substitute(
                    role_name=spec.role, rank=worker.global_rank, local_rank=worker.local_rank
                )
        self._stopped = {}
        self._context = start_processes(spec.role, spec.entrypoint, args, envs, self._logs_specs, prefixes or None, self._start_method)
        return self._context.pids()

    def _stop_workers(self, group):
        self._shutdown()

    def _monitor_workers(self, group):
        result = self._context.wait(0) or self._stood_still()
        if result is None:
            return RunResult(WorkerState.HEALTHY)
        ranks = {worker.local_rank: worker.global_rank for worker in group.workers}
        if result.is_failed():
            return RunResult(WorkerState.FAILED, failures={ranks[rank]: failure for rank, failure in result.failures.items()})
        return RunResult(WorkerState.SUCCEEDED, {ranks[rank]: value for rank, value in result.return_values.items()})

    def _stood_still(self):
        """The failure of a process that has stood still for longer than CRESSET_STOPPED_TIMEOUT seconds (300; 0: never)."""
        limit, now = float(os.environ.get("CRESSET_STOPPED_TIMEOUT", 300)), time.monotonic()
        pids = self._context.pids()
        self._stopped = {rank: self._stopped.get(rank, now) for rank, pid in pids.items() if _stands_still(pid)}
        late = [rank for rank, since in self._stopped.items() if 0 < limit < now - since]
        return self._context._counted_as_failed(late[0], -signal.SIGSTOP) if late else None

    def _shutdown(self, death_sig=signal.SIGTERM):
        if self._context is not None:
            self._context.close(death_sig)


def _stands_still(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except OSError:  # it has ended
        return False


def _filled(argument, local_rank):
    """An argument in which ${local_rank} stands for the local rank."""
    return string.Template(argument).safe_substitute(local_rank=str(local_rank)) if isinstance(argument, str) and "$" in argument else argument


def _bound(spec, args):
    """The arguments of a Python program, which sees `torch` bound to this package."""
    if spec.entrypoint != os.getenv("PYTHON_EXEC", sys.executable) or args[:2] == ("-u", "-m") and args[2:3] == ("cresset",):
        return args
    switches = [a for a in args[:1] if a == "-u"]
    return (*switches, "-m", "cresset", *args[len(switches) :])


def _job_secret():
    """A secret for a job of one machine."""
    return uuid.uuid4().hex
