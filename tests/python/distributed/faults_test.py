"""A rank that is killed, stopped, or does something else: the others end within their timeout and name it, over either engine."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import _cresset_dist

HEAD = """
import datetime, os, signal, sys, time
import cresset as torch
import cresset.distributed as dist
rank, size, path, seconds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=seconds))
def told(run):
    began = time.monotonic()
    try:
        run()
    except RuntimeError as error:
        print(f"{time.monotonic() - began:.1f} {error}", flush=True)
"""


def run_ranks(size, script, engine, seconds=3):
    """(output, exit code) of every rank."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", HEAD + textwrap.dedent(script)]
        environment = {**os.environ, "CRESSET_DIST_TRANSPORT": engine, "GLOO_SOCKET_IFNAME": "lo"}
        ranks = [subprocess.Popen([*command, str(r), str(size), os.path.join(folder, "store"), str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
                 for r in range(size)]  # fmt: skip
        end, found = time.monotonic() + 60, []
        for process in ranks:
            try:
                out, err = process.communicate(timeout=max(1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                for other in ranks:
                    other.kill()
                raise AssertionError("a rank hangs") from None
            found.append((out, process.returncode, err))
        return found


class Faults(unittest.TestCase):
    engine = "shm"

    def setUp(self):
        if not _cresset_dist.engine_available(self.engine):
            self.skipTest(f"the engine {self.engine} is not built")

    def run_ranks(self, size, script, **options):
        return run_ranks(size, script, self.engine, **options)

    def test_a_killed_rank(self):
        found = self.run_ranks(3, """
            x = torch.ones(1000)
            for step in range(1000):
                if rank == 1 and step == 5:
                    os.kill(os.getpid(), signal.SIGKILL)
                told(lambda: dist.all_reduce(x))
                if rank == 0 and step == 6: break
                if rank == 2 and step == 6: break
        """)  # fmt: skip
        self.assertEqual(found[1][1], -signal.SIGKILL)
        for rank in (0, 2):
            self.assertTrue(found[rank][0], found[rank])
            self.assertLess(float(found[rank][0].split()[0]), 4)

    def test_a_stopped_rank(self):
        found = self.run_ranks(2, """
            dist.barrier()
            if rank == 1:
                if os.fork() == 0:
                    time.sleep(6)
                    os.kill(os.getppid(), signal.SIGKILL)
                    os._exit(0)
                os.kill(os.getpid(), signal.SIGSTOP)
            told(dist.barrier)
        """, seconds=2)  # fmt: skip
        self.assertRegex(found[0][0], r"^[12]\.\d .*rank 1")

    def test_the_rank_that_a_broadcast_lacks_is_named(self):
        """A stopped root by all that wait for it, and for a rank whose data come by way of a stopped one, that one."""
        for root, stopped, waiting in ((1, 1, (0, 2, 3)), (0, 2, (3,))):
            found = self.run_ranks(4, f"""
                dist.barrier()
                if rank == {stopped}:
                    if os.fork() == 0:
                        time.sleep(5)
                        os.kill(os.getppid(), signal.SIGKILL)
                        os._exit(0)
                    os.kill(os.getpid(), signal.SIGSTOP)
                told(lambda: dist.broadcast(torch.ones(100000), {root}))
            """, seconds=2)  # fmt: skip
            for rank in waiting:
                self.assertRegex(found[rank][0], rf"^[12]\.\d .*rank {stopped}\b")

    def test_a_rank_that_ends_while_another_receives(self):
        found = self.run_ranks(2, """
            dist.barrier()
            if rank == 0:
                told(lambda: dist.recv(torch.empty(1), 1))
        """)  # fmt: skip
        self.assertTrue(found[0][0], found[0])

    def test_ranks_that_call_different_things(self):
        found = self.run_ranks(2, """
            dist.set_debug_level(dist.DebugLevel.DETAIL)
            group = dist.new_group([0, 1])
            told(lambda: dist.all_reduce(torch.ones(4), group=group) if rank == 0 else dist.broadcast(torch.ones(4), 0, group))
        """)  # fmt: skip
        self.assertIn("rank 1 at broadcast", found[0][0])
        self.assertIn("rank 0 at all_reduce", found[1][0])

    def test_ranks_with_different_shapes(self):
        found = self.run_ranks(2, """
            dist.set_debug_level(dist.DebugLevel.DETAIL)
            group = dist.new_group([0, 1])
            told(lambda: dist.all_reduce(torch.ones(4 + rank), group=group))
        """)  # fmt: skip
        self.assertIn("rank 1 at all_reduce of float32 with 20 bytes", found[0][0])

    def test_no_segment_is_left(self):
        before = set(os.listdir("/dev/shm"))
        self.run_ranks(2, """
            dist.all_reduce(torch.ones(100000))
            os.kill(os.getpid(), signal.SIGKILL)
        """)  # fmt: skip
        self.assertEqual({name for name in os.listdir("/dev/shm") if "cresset" in name} - before, set())


class FaultsOverGloo(Faults):
    engine = "gloo"


class Secrets(unittest.TestCase):
    def test_a_worker_without_the_secret_is_refused(self):
        import cresset.distributed as dist

        os.environ["CRESSET_DIST_SECRET"] = "right"
        try:
            store = dist.TCPStore("127.0.0.1", 0, is_master=True)
            script = f"import cresset.distributed as dist; dist.TCPStore('127.0.0.1', {store.port})"
            done = subprocess.run(
                [sys.executable, "-c", script], env={**os.environ, "CRESSET_DIST_SECRET": "wrong"}, capture_output=True, text=True, timeout=60
            )
        finally:
            del os.environ["CRESSET_DIST_SECRET"]
        self.assertIn("does not know the secret of this job", done.stderr)


if __name__ == "__main__":
    unittest.main()
