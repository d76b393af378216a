"""torchrun: starts the processes of a job on this machine, each with its rank in its environment; begins again after failures and with other nodes.

    python -m cresset.distributed.run --standalone --nproc-per-node 2 train.py --epochs 3
    python -m cresset.distributed.run --nnodes 1:4 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint first:29400 --rdzv-id job --max-restarts 3 train.py

Scripts see `torch` bound to Cresset. Options may stand in the environment as PET_NPROC_PER_NODE and so on.

    >>> from cresset.distributed.run import parse_args
    >>> parse_args(["--nproc-per-node", "2", "train.py", "--epochs", "3"]).training_script_args
    ['--epochs', '3']
"""

import argparse
import os
import runpy
import sys
import uuid

from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from cresset.distributed.elastic.multiprocessing.errors import record
from cresset.distributed.elastic.rendezvous.utils import _parse_rendezvous_config
from cresset.distributed.launcher.api import LaunchConfig, elastic_launch

__all__ = ["config_from_args", "determine_local_world_size", "get_args_parser", "get_rdzv_endpoint", "get_use_env", "main", "parse_args", "parse_min_max_nnodes",
           "run", "run_script_path"]  # fmt: skip


def get_args_parser():
    """The parser of the command line.

    >>> from cresset.distributed.run import get_args_parser
    >>> get_args_parser().parse_args(["a.py"]).nnodes
    '1:1'
    """
    parser = argparse.ArgumentParser(prog="torch.distributed.run", description="Starts the processes of a job on this machine.")

    def option(name, *more, default=None, flag=False, **kwargs):
        set_ = os.environ.get("PET_" + name.replace("-", "_").upper())
        names = dict.fromkeys([*more, f"--{name}", f"--{name.replace('-', '_')}"])
        if flag:
            parser.add_argument(*names, action="store_true", default=set_ is not None and set_.lower() not in ("", "0", "false"), **kwargs)
            return
        kind = kwargs.get("type")
        parser.add_argument(*names, default=default if set_ is None else kind(set_) if kind else set_, **kwargs)

    option("nnodes", default="1:1", help="machines: a number, or the least and the largest number, as 1:4")
    option("nproc-per-node", default="1", help="processes on this machine: a number, 'cpu', 'gpu' or 'auto'")
    option("rdzv-backend", default="static", help="how nodes meet: static, c10d")
    option("rdzv-endpoint", default="", help="host:port where nodes meet")
    option("rdzv-id", default="none", help="name of the job")
    option("rdzv-conf", default="", help="options of the rendezvous: key=value,other=value")
    option("standalone", flag=True, help="one machine; nodes meet at a free port of it")
    option("max-restarts", default=0, type=int, help="how often all processes begin again after a failure")
    option("monitor-interval", default=0.1, type=float, help="seconds between looks at the processes")
    option("start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="how processes of a function start")
    option("event-log-handler", default="null", help="where events go")
    option("role", default="default", help="name of the processes")
    option("module", "-m", flag=True, help="training_script is a module")
    option("no-python", flag=True, help="training_script is a program of its own")
    option("run-path", flag=True, help="training_script is run by runpy in processes of a function")
    option("log-dir", default=None, help="a folder for what processes print")
    option("redirects", "-r", default="0", help="streams that go to files: 1 output, 2 errors, 3 both; or by local rank, as 0:1,1:3")
    option("tee", "-t", default="0", help="streams that go to files and here, in the same form")
    option("local-ranks-filter", default="", help="local ranks whose output is shown, as 0,2")
    option("duplicate-stdout-filters", default="", help="kept for command lines that give it")
    option("duplicate-stderr-filters", default="", help="kept for command lines that give it")
    option("node-rank", default=0, type=int, help="this machine's number in a static job")
    option("master-addr", default="127.0.0.1", help="where rank 0 runs, in a static job")
    option("master-port", default=29500, type=int, help="a free port there")
    option("local-addr", default=None, help="an address of this machine")
    option("logs-specs", default=None, help="kept for command lines that give it")
    option("numa-binding", default=None, help="kept for command lines that give it")
    option("signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="signals that end the job")
    option("virtual-local-rank", flag=True, help="every process sees the local rank 0")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args=None):
    """Arguments of the command line.

    >>> from cresset.distributed.run import parse_args
    >>> parse_args(["--standalone", "a.py"]).standalone
    True
    """
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes):
    """(least, largest) of "2" or "1:4". Errors: RuntimeError, ValueError.

    >>> from cresset.distributed.run import parse_min_max_nnodes
    >>> parse_min_max_nnodes("1:4")
    (1, 4)
    """
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f"torch.distributed.run: expected --nnodes like 2 or 1:4, got {nnodes!r}")
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node):
    """The number of processes that "2", "cpu", "gpu" or "auto" means here. Errors: ValueError.

    >>> from cresset.distributed.run import determine_local_world_size
    >>> determine_local_world_size("3")
    3
    """
    try:
        return int(nproc_per_node)
    except ValueError:
        pass
    if nproc_per_node in ("cpu", "auto"):
        return os.cpu_count() or 1
    if nproc_per_node == "gpu":
        raise ValueError("torch.distributed.run: --nproc-per-node gpu: there is no GPU backend")
    raise ValueError(f"torch.distributed.run: expected --nproc-per-node to be a number, cpu, gpu or auto, got {nproc_per_node!r}")


def get_rdzv_endpoint(args):
    """Where nodes meet: --rdzv-endpoint, or in a static job the master's address.

    >>> from cresset.distributed.run import get_rdzv_endpoint, parse_args
    >>> get_rdzv_endpoint(parse_args(["a.py"]))
    '127.0.0.1:29500'
    """
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        host = f"[{args.master_addr}]" if ":" in args.master_addr else args.master_addr
        return f"{host}:{args.master_port}"
    return args.rdzv_endpoint


def get_use_env(args):
    """Whether processes learn their local rank from the environment: always, unless the older launcher says otherwise.

    >>> from cresset.distributed.run import get_use_env, parse_args
    >>> get_use_env(parse_args(["a.py"]))
    True
    """
    return getattr(args, "use_env", True)


def _ranks(text):
    try:
        return {int(part) for part in text.split(",") if part} if text else None
    except ValueError:
        raise ValueError(f"torch.distributed.run: expected --local-ranks-filter like 0,2, got {text!r}") from None


def config_from_args(args):
    """(configuration, program or function, its arguments) of parsed arguments. Errors: ValueError, AssertionError.

    >>> from cresset.distributed.run import config_from_args, parse_args
    >>> config_from_args(parse_args(["--nproc-per-node=2", "a.py"]))[0].nproc_per_node
    2
    """
    least, most = parse_min_max_nnodes(args.nnodes)
    if not 0 < least <= most:
        raise AssertionError(f"torch.distributed.run: expected a positive number of nodes, got {args.nnodes!r}")
    if args.max_restarts < 0:
        raise AssertionError(f"torch.distributed.run: expected --max-restarts that is not negative, got {args.max_restarts}")
    if args.rdzv_backend == "static" and least != most:
        raise ValueError(
            f"torch.distributed.run: a static job has a fixed number of nodes, got --nnodes {args.nnodes}; --rdzv-backend c10d takes more and fewer"
        )
    count = determine_local_world_size(args.nproc_per_node)
    if "OMP_NUM_THREADS" not in os.environ and count > 1:
        os.environ["OMP_NUM_THREADS"] = "1"  # processes share the processors
    options = _parse_rendezvous_config(args.rdzv_conf)
    if args.rdzv_backend == "static":
        options["rank"] = args.node_rank
    config = LaunchConfig(
        min_nodes=least, max_nodes=most, nproc_per_node=count, run_id=args.rdzv_id, role=args.role, rdzv_endpoint=get_rdzv_endpoint(args),
        rdzv_backend=args.rdzv_backend, rdzv_configs=options, max_restarts=args.max_restarts, monitor_interval=args.monitor_interval, start_method=args.start_method,
        log_line_prefix_template=os.getenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"), local_addr=args.local_addr, signals_to_handle=args.signals_to_handle,
        virtual_local_rank=args.virtual_local_rank,
        logs_specs=DefaultLogsSpecs(args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), _ranks(args.local_ranks_filter)),
    )  # fmt: skip
    if args.run_path:
        return config, run_script_path, [args.training_script, *args.training_script_args]
    if args.no_python:
        if args.module:
            raise ValueError("torch.distributed.run: --module and --no-python exclude each other")
        return config, args.training_script, list(args.training_script_args)
    program = os.getenv("PYTHON_EXEC", sys.executable)
    return config, program, ["-u", *(["-m"] if args.module else []), args.training_script, *_local_rank(args), *args.training_script_args]


def _local_rank(args):
    return [] if get_use_env(args) else ["--local-rank=${local_rank}"]


def run_script_path(training_script, *training_script_args):
    """Runs a script in this process, as its main program.

    >>> from cresset.distributed.run import run_script_path
    >>> callable(run_script_path)
    True
    """
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def run(args):
    """Runs the job that parsed arguments describe. Errors: ChildFailedError where a process failed, ValueError for arguments that do not fit.

    >>> from cresset.distributed.run import parse_args, run
    >>> run(parse_args(["--standalone", "--no-python", "true"]))
    """
    if args.standalone:
        args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id = "c10d", "localhost:0", args.rdzv_id if args.rdzv_id != "none" else str(uuid.uuid4())
    config, entrypoint, arguments = config_from_args(args)
    elastic_launch(config, entrypoint)(*arguments)


@record
def main(args=None):
    """The command: parses `args`, or those of the process, and runs the job.

    >>> from cresset.distributed.run import main
    >>> main(["--standalone", "--no-python", "true"])
    """
    run(parse_args(args))


if __name__ == "__main__":
    main()
