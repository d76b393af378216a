"""Launches functions and programs as jobs of several processes."""

import dataclasses
import os
import sys
import uuid

from cresset.distributed.elastic.agent.server import LocalElasticAgent, WorkerSpec, WorkerState
from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from cresset.distributed.elastic.multiprocessing.errors import ChildFailedError
from cresset.distributed.elastic.rendezvous import RendezvousParameters
from cresset.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from cresset.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclasses.dataclass
class LaunchConfig:
    """A job: nodes, processes, rendezvous, restarts, logs.

    >>> from cresset.distributed.launcher.api import LaunchConfig
    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2).rdzv_backend
    'etcd'
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: object = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict = dataclasses.field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict = dataclasses.field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: object = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list | None = None
    duplicate_stderr_filters: list | None = None
    virtual_local_rank: bool = False

    def __post_init__(self):
        known = self.rdzv_configs.get("timeout", 900)
        self.rdzv_configs["timeout"] = known if self.rdzv_timeout == -1 else self.rdzv_timeout
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:
    """Runs a function, or a program, as a job: called with its arguments it gives values by global rank. Errors: ChildFailedError.

    >>> from cresset.distributed.launcher.api import LaunchConfig, elastic_launch
    >>> config = LaunchConfig(1, 1, 1, run_id="doc", rdzv_backend="c10d", rdzv_endpoint="localhost:0")
    >>> elastic_launch(config, "/bin/true")()
    {0: None}
    """

    def __init__(self, config, entrypoint):
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args):
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config, entrypoint, args):
    """Runs a job on this node: values by global rank. Errors: ChildFailedError where a process failed, SignalException.

    >>> from cresset.distributed.launcher.api import LaunchConfig, launch_agent
    >>> config = LaunchConfig(1, 1, 1, run_id="doc", rdzv_backend="c10d", rdzv_endpoint="localhost:0")
    >>> launch_agent(config, "/bin/true", [])
    {0: None}
    """
    if not config.run_id:
        config.run_id = str(uuid.uuid4().int)
    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = config.signals_to_handle
    if config.max_nodes == 1:  # processes of one machine have the secret from here
        os.environ.setdefault("CRESSET_DIST_SECRET", uuid.uuid4().hex)
    parameters = RendezvousParameters(
        backend=config.rdzv_backend, endpoint=config.rdzv_endpoint, run_id=config.run_id, min_nodes=config.min_nodes, max_nodes=config.max_nodes,
        local_addr=config.local_addr, **config.rdzv_configs,
    )  # fmt: skip
    address, port = None, None
    if config.rdzv_backend == "static":
        address, port = parse_rendezvous_endpoint(config.rdzv_endpoint, -1)
    handler = get_rendezvous_handler(parameters)
    spec = WorkerSpec(
        role=config.role, local_world_size=config.nproc_per_node, entrypoint=entrypoint, args=tuple(args), rdzv_handler=handler, max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval, master_addr=address, master_port=port, local_addr=config.local_addr, virtual_local_rank=config.virtual_local_rank,
    )  # fmt: skip
    agent = LocalElasticAgent(spec, config.logs_specs, config.start_method, log_line_prefix_template=config.log_line_prefix_template)
    shut = True
    try:
        result = agent.run()
        if result.is_failed():
            raise ChildFailedError(_name(entrypoint, args), result.failures)
        return result.return_values if result.state == WorkerState.SUCCEEDED else {}
    except SignalException:
        shut = False  # others of the job may begin again without this node
        raise
    finally:
        if shut:
            handler.shutdown()


def _name(entrypoint, args):
    """The script of a Python program, else the program or function."""
    if not isinstance(entrypoint, str):
        return entrypoint.__qualname__
    if entrypoint != os.getenv("PYTHON_EXEC", sys.executable):
        return entrypoint
    rest = [a for a in args if a != "-u"]
    return next((a for a in rest if not a.startswith("-")), entrypoint)
