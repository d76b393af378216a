"""Processes that begin together: results, errors and exits of theirs."""

import os
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

import cresset.multiprocessing as mp

import cresset as torch


def put(i, queue):
    queue.put((i, torch.full((3,), float(i))))


def name(i, queue):
    queue.put(i)


def fail(i, which):
    if i == which:
        raise ValueError(f"number {i} does not want to")
    time.sleep(30)


def leave(i, how):
    if i == 1:
        os.kill(os.getpid(), signal.SIGTERM) if how == "signal" else os._exit(how)
    time.sleep(30)


LEAK = """
import os, signal, sys
import cresset.multiprocessing as mp, cresset as torch
mp.set_sharing_strategy("file_system")
kept, left = torch.ones(3).share_memory_(), torch.ones(4).share_memory_()
print(kept.untyped_storage()._share(True)[1], left.untyped_storage()._share(True)[1], os.getpid(), flush=True)
if sys.argv[1:] == ["killed"]:
    kept.untyped_storage()._add_use()  # of the receiver
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Leaks(unittest.TestCase):
    def test_memory_of_killed_processes_goes_unless_it_is_in_use(self):
        files = lambda: set(os.listdir("/dev/shm"))  # noqa: E731
        with subprocess.Popen([sys.executable, "-c", LEAK, "killed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:
            kept, left, _ = (name.lstrip("/") for name in maker.stdout.readline().split())
            held = mp.reductions.rebuild_storage_filename("/" + kept, 12)
            self.assertLessEqual({kept, left}, files())
            maker.stdin.write("\n")
            maker.stdin.flush()
            maker.wait()
        self.assertLessEqual({kept, left}, files())
        subprocess.run([sys.executable, "-c", LEAK], check=True, stdout=subprocess.DEVNULL)
        self.assertIn(kept, files())
        self.assertNotIn(left, files())
        del held
        self.assertIn(kept, files())
        subprocess.run([sys.executable, "-c", LEAK], check=True, stdout=subprocess.DEVNULL)
        self.assertNotIn(kept, files())


class Processes(unittest.TestCase):
    def test_processes_of_a_fork_server_begin_at_once_where_the_environment_says_so(self):
        with unittest.mock.patch.dict(os.environ, {mp.ENV_VAR_PARALLEL_START: "1"}):
            queue = mp.get_context("forkserver").SimpleQueue()
            mp.start_processes(name, (queue,), nprocs=2, start_method="forkserver")
        self.assertEqual({queue.get(), queue.get()}, {0, 1})

    def test_tensors_come_back(self):
        for method in ("spawn", "fork"):
            queue = mp.get_context(method).Queue()
            running = mp.start_processes(put, (queue,), nprocs=2, join=False, start_method=method)
            found = dict(queue.get(timeout=60) for _ in range(2))
            self.assertEqual({i: t.tolist() for i, t in found.items()}, {0: [0, 0, 0], 1: [1, 1, 1]})
            while not running.join():
                pass
            self.assertEqual(len(running.pids()), 2)

    def test_an_exception_ends_all(self):
        begun = time.monotonic()
        with self.assertRaisesRegex(mp.ProcessRaisedException, r"(?s)Process 1 ended with this error:.*ValueError: number 1 does not") as caught:
            mp.start_processes(fail, (1,), nprocs=2, start_method="fork")
        self.assertEqual(caught.exception.error_index, 1)
        self.assertLess(time.monotonic() - begun, 25)

    def test_exits(self):
        with self.assertRaisesRegex(mp.ProcessExitedException, "signal SIGTERM") as caught:
            mp.start_processes(leave, ("signal",), nprocs=2, start_method="fork")
        self.assertEqual((caught.exception.signal_name, caught.exception.exit_code), ("SIGTERM", -signal.SIGTERM))
        with self.assertRaisesRegex(mp.ProcessExitedException, "exit code 7"):
            mp.start_processes(leave, (7,), nprocs=2, start_method="fork")

    def test_names(self):
        self.assertIs(mp.Process, __import__("multiprocessing").Process)
        mp.set_sharing_strategy("file_system")
        self.assertEqual(mp.get_sharing_strategy(), "file_system")
        mp.set_sharing_strategy("file_descriptor")
        self.assertRaises(AssertionError, mp.set_sharing_strategy, "telepathy")
        with self.assertWarns(FutureWarning):
            mp.spawn(print, nprocs=0, start_method="fork")


if __name__ == "__main__":
    unittest.main()
