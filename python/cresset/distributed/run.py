"""torchrun: starts the processes of a job on this machine, each with its rank in its environment, and ends all when one fails.

    python -m cresset -m torch.distributed.run --nproc-per-node 2 train.py --epochs 3

Scripts see `torch` bound to Cresset. With several machines it is started on each, with `--nnodes`, `--node-rank`, `--master-addr` and
`--master-port`. The number of processes is fixed: there is no elastic rendezvous.

    >>> from cresset.distributed.run import parse_args
    >>> parse_args(["--nproc-per-node", "2", "train.py", "--epochs", "3"]).training_script_args
    ['--epochs', '3']
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time

__all__ = ["get_args_parser", "main", "parse_args", "run"]

_GRACE = 5.0  # seconds that processes have to end before they are killed


def get_args_parser():
    """The parser of the command line.

    >>> from cresset.distributed.run import get_args_parser
    >>> get_args_parser().parse_args(["a.py"]).nnodes
    '1'
    """
    parser = argparse.ArgumentParser(prog="torch.distributed.run", description="Starts the processes of a job on this machine.")

    def option(name, *more, **kwargs):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", *more, **kwargs)

    option("nproc-per-node", default="1", help="processes on this machine: a number, 'cpu' for one a core, or 'auto'")
    option("nnodes", default="1", help="machines")
    option("node-rank", type=int, default=0, help="which of them this one is")
    option("master-addr", default="127.0.0.1", help="where rank 0 runs")
    option("master-port", type=int, default=29500, help="a free port there")
    option("standalone", action="store_true", help="one machine; takes a free port")
    option("rdzv-backend", default="static", help="'static', or 'c10d' for one machine")
    option("rdzv-endpoint", default="", help="host:port, in place of --master-addr and --master-port")
    option("rdzv-id", default="none", help="name of the job")
    option("rdzv-conf", default="", help="kept for command lines that give it")
    option("max-restarts", type=int, default=0, help="how often all processes are started again after a failure")
    option("monitor-interval", type=float, default=0.1, help="seconds between looks at the processes")
    option("start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="kept for command lines that give it")
    option("role", default="default", help="name of the processes")
    option("log-dir", default=None, help="a folder for what processes print, rather than here")
    option("module", "-m", action="store_true", help="training_script is a module")
    option("no-python", action="store_true", help="training_script is a program of its own")
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


def _count(text):
    if text in ("cpu", "auto", "gpu"):
        if text == "gpu":
            raise ValueError("torch.distributed.run: --nproc-per-node gpu: Cresset has no GPU backend yet")
        return os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"torch.distributed.run: expected --nproc-per-node of at least 1, got {text!r}")
    return int(text)


def _nodes(text):
    least, _, most = text.partition(":")
    if not least.isdigit() or (most and most != least) or int(least) < 1:
        raise ValueError(f"torch.distributed.run: expected --nnodes to be one fixed number (there is no elastic rendezvous), got {text!r}")
    return int(least)


def _address(args, nodes):
    """Host and port where the processes meet."""
    if args.rdzv_backend not in ("static", "c10d") or (args.rdzv_backend == "c10d" and nodes > 1):
        raise ValueError(f"torch.distributed.run: expected --rdzv-backend static, or c10d for one machine, got {args.rdzv_backend!r} for {nodes}")
    host, _, port = args.rdzv_endpoint.rpartition(":")
    if args.rdzv_endpoint and not args.standalone:
        host, port = (host, int(port)) if host and port.isdigit() else (args.rdzv_endpoint, args.master_port)
    else:
        host, port = args.master_addr, args.master_port
    if args.standalone or (args.rdzv_backend == "c10d" and (port == 0 or not args.rdzv_endpoint)):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            host, port = "127.0.0.1", found.getsockname()[1]
    return host, port


def _command(args):
    if args.no_python:
        return [args.training_script, *args.training_script_args]
    return [sys.executable, "-u", "-m", "cresset", *(["-m"] if args.module else []), args.training_script, *args.training_script_args]


def _environment(args, local, count, nodes, host, port, restarts):
    facts = {"RANK": args.node_rank * count + local, "LOCAL_RANK": local, "WORLD_SIZE": nodes * count, "LOCAL_WORLD_SIZE": count, "GROUP_RANK": args.node_rank,
             "GROUP_WORLD_SIZE": nodes, "ROLE_NAME": args.role, "ROLE_RANK": args.node_rank * count + local, "ROLE_WORLD_SIZE": nodes * count, "MASTER_ADDR": host,
             "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": args.rdzv_id, "TORCHELASTIC_RESTART_COUNT": restarts, "TORCHELASTIC_MAX_RESTARTS": args.max_restarts,
             "TORCHELASTIC_USE_AGENT_STORE": "False"}  # fmt: skip
    threads = {} if count == 1 or "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": "1"}
    return {**os.environ, **threads, **{name: str(value) for name, value in facts.items()}}


def _start(args, local, environment):
    if args.log_dir is None:
        return subprocess.Popen(_command(args), env=environment)
    folder = os.path.join(args.log_dir, environment["TORCHELASTIC_RUN_ID"], environment["TORCHELASTIC_RESTART_COUNT"], str(local))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "stdout.log"), "wb") as out, open(os.path.join(folder, "stderr.log"), "wb") as err:
        return subprocess.Popen(_command(args), env=environment, stdout=out, stderr=err)


def _end(processes):
    for process in processes:
        if process.poll() is None:
            process.terminate()
    latest = time.monotonic() + _GRACE
    for process in processes:
        try:
            process.wait(max(0.0, latest - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _group(args, restarts):
    """Runs all processes once: (local rank, exit code) of the one that failed, or None."""
    count, nodes = _count(args.nproc_per_node), 1 if args.standalone else _nodes(args.nnodes)
    host, port = _address(args, nodes)
    processes = []
    try:
        for local in range(count):
            processes.append(_start(args, local, _environment(args, local, count, nodes, host, port, restarts)))
        while True:
            codes = [process.poll() for process in processes]
            failed = next(((local, code) for local, code in enumerate(codes) if code), None)
            if failed is not None or all(code == 0 for code in codes):
                return failed
            time.sleep(args.monitor_interval)
    finally:
        _end(processes)


def run(args):
    """Runs the job that parsed arguments describe. Errors: SystemExit(1) when a process failed, ValueError for arguments that do not fit.

    >>> from cresset.distributed.run import parse_args, run
    >>> run(parse_args(["--standalone", "--no-python", "true"]))
    """
    for restarts in range(args.max_restarts + 1):
        failed = _group(args, restarts)
        if failed is None:
            return
        how = f"signal {signal.Signals(-failed[1]).name}" if failed[1] < 0 else f"exit code {failed[1]}"
        print(f"torch.distributed.run: {args.training_script}: local rank {failed[0]} failed with {how}; the others were ended", file=sys.stderr)
    raise SystemExit(1)


def main(args=None):
    """The command: parses `args`, or those of the process, and runs the job.

    >>> from cresset.distributed.run import main
    >>> main(["--standalone", "--no-python", "true"])
    """
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        run(parse_args(args))
    except ValueError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    main()
