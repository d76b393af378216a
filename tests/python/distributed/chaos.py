"""Jobs in which a process is killed (SIGKILL) or stopped (SIGSTOP) at a random moment: chaos.py --seeds 20 [--first 0] [--limit 120].

A seed chooses the launcher, the engine, the process and the moment. Each job must go on, begin again or end, within `limit` seconds, and leave no process and
no shared memory behind; where it fails it must say so. Prints a line for each seed, and succeeds where all did.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

TRAIN = """
import datetime, os, sys, time
import cresset as torch, cresset.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=4))
rank, size = dist.get_rank(), dist.get_world_size()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
end = time.monotonic() + 2
for step in range(100000):
    x = torch.full((1000,), float(rank + 1)); dist.all_reduce(x)
    assert x[0].item() == size * (size + 1) / 2
    net(torch.ones(2, 8)).sum().backward()
    more = torch.tensor([float(time.monotonic() < end)]); dist.broadcast(more, 0)
    if not more.item(): break
print("done", rank, flush=True)
"""


def family(mark):
    """Numbers and command lines of the processes that have the mark in their environment."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                if mark in file.read():
                    with open(f"/proc/{number}/cmdline", "rb") as words:
                        found[int(number)] = words.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            pass
    return found


def state(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def said(logs):
    """All that launchers and their workers have printed."""
    texts = []
    for log in logs:
        with open(log.name) as file:
            texts.append(file.read())
    return "".join(texts)


def launched(rng, folder, environment):
    """The launchers of a job: (name, processes)."""
    script = os.path.join(folder, "train.py")
    with open(script, "w") as file:
        file.write(TRAIN)
    kind = rng.choice(["agents", "agents", "agents", "cresset-run"])
    program = os.environ.get("CRESSET_RUN")
    if kind == "cresset-run" and program:
        commands = [[program, "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", sys.executable, script]]
    else:
        kind, port = "agents", rng.randrange(20000, 30000)
        commands = [
            [sys.executable, "-m", "cresset.distributed.run", "--nnodes", "1:2", "--nproc-per-node", "2", "--max-restarts", "2", "--rdzv-backend", "c10d",
             "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "chaos", "--rdzv-conf", f"is_host={int(node == 0)},join_timeout=30,last_call_timeout=2,"
             "keep_alive_interval=0.5,keep_alive_max_attempt=4,read_timeout=4", "--local-addr", "127.0.0.1", script]
            for node in range(2)
        ]  # fmt: skip
    logs = [open(os.path.join(folder, f"launcher_{i}"), "w+") for i in range(len(commands))]
    return kind, [subprocess.Popen(c, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder) for c, log in zip(commands, logs)], logs


def one(seed, limit):
    """(what was done, the fault or None) of a seed."""
    rng = random.Random(seed)
    engine = rng.choice(["", "gloo"])
    mark = f"CRESSET_CHAOS={os.getpid()}.{seed}"
    environment = {**os.environ, "CRESSET_CHAOS": mark.partition("=")[2], "CRESSET_DIST_TRANSPORT": engine, "GLOO_SOCKET_IFNAME": "lo",
                   "CRESSET_DIST_SECRET": "chaos", "OMP_NUM_THREADS": "1"}  # fmt: skip
    if not engine:
        del environment["CRESSET_DIST_TRANSPORT"]
    mark, segments = mark.encode(), set(os.listdir("/dev/shm"))
    with tempfile.TemporaryDirectory() as folder:
        kind, launchers, logs = launched(rng, folder, environment)
        number = rng.choice([signal.SIGKILL, signal.SIGSTOP])
        wait, role = rng.uniform(0.2, 6), rng.random()
        time.sleep(wait)
        agents = {p.pid for p in launchers}
        workers = [n for n in sorted(family(mark)) if n not in agents]
        victim = rng.choice(sorted(agents)) if role < 0.4 or not workers else rng.choice(workers)
        what = f"{kind} {engine or 'shm'}: {signal.Signals(number).name} to {'launcher' if victim in agents else 'worker'} after {wait:.1f} s"
        try:
            os.kill(victim, number)
        except ProcessLookupError:
            what += " (it had ended)"
        fault, end = None, time.monotonic() + limit
        waited = [p for p in launchers if p.pid != victim]
        while time.monotonic() < end and any(p.poll() is None for p in waited):
            time.sleep(0.1)
            if victim not in agents and said(logs).count("done") >= 2 * len(launchers):
                # It was stopped after its last call: no timeout runs any more, and a launcher waits for a process that takes long to end.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGCONT)
        hanging = [p.pid for p in waited if p.poll() is None]
        if hanging:
            fault = f"launchers {hanging} have not ended after {limit} s"
        if victim in agents:  # a stopped launcher ends here, and its workers with it
            (launcher,) = [p for p in launchers if p.pid == victim]
            launcher.kill()
            launcher.wait()
        patience = time.monotonic() + 10
        while not fault and family(mark) and time.monotonic() < patience:
            time.sleep(0.1)
        left = family(mark)
        if left and not fault:
            fault = "processes are left: " + "; ".join(f"{n} ({state(n)}) {words[:80]}" for n, words in left.items())
        for n in left:
            try:
                os.kill(n, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for p in launchers:
            p.wait()
        texts = []
        for log in logs:
            log.flush()
            log.seek(0)
            texts.append(log.read())
            log.close()
        codes = [p.returncode for p in launchers]
        for p, text in zip(launchers, texts):
            if p.pid != victim and p.returncode and not text.strip():
                fault = fault or f"a launcher ended with {p.returncode} and said nothing"
        new = {name for name in os.listdir("/dev/shm") if name.startswith("cresset_")} - segments
        if new:
            fault = fault or f"shared memory is left: {sorted(new)}"
        if fault:
            fault += "\n" + "\n".join(f"--- launcher {i}, {codes[i]}\n{text[-3000:]}" for i, text in enumerate(texts))
        return f"{what} -> {codes}", fault


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    faults = 0
    for seed in range(options.first, options.first + options.seeds):
        began = time.monotonic()
        done, fault = one(seed, options.limit)
        faults += fault is not None
        print(f"seed {seed}: {done}, {time.monotonic() - began:.0f} s{'' if fault is None else ': FAULT: ' + fault}", flush=True)
    print(f"{options.seeds} seeds, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
