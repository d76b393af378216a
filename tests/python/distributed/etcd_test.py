"""The store and the rendezvous in etcd, against the real server."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from datetime import timedelta

import _cresset_dist
import cresset.distributed as dist
from cresset.distributed.elastic.rendezvous.etcd_server import EtcdServer
from cresset.distributed.elastic.rendezvous.etcd_store import EtcdStore
from cresset.distributed.lock import Lock, LockLost
from cresset.distributed.queue import Empty, Queue

needs_etcd = unittest.skipUnless(
    _cresset_dist.etcd_available() and shutil.which("etcd"), "the etcd store is not built (libcurl4-openssl-dev), or there is no etcd"
)


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = EtcdServer()
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    def store(self, timeout=10, **options):
        return EtcdStore(self.server.get_endpoint(), f"/test/{self.id()}", timedelta(seconds=timeout), **options)


@needs_etcd
class Stores(WithServer):
    def test_as_other_stores_do(self):
        for store in (self.store(), dist.HashStore()):
            store.set("a", "1")
            store.set("bytes", bytes(range(256)))
            self.assertEqual((store.get("a"), store.get("bytes")), (b"1", bytes(range(256))))
            self.assertEqual([store.add("n", 2), store.add("n", 3), store.get("n")], [2, 5, b"5"])
            with self.assertRaises(ValueError):
                store.add("bytes", 1)
            answers = [store.compare_set("c", "", "x"), store.compare_set("c", "y", "z"), store.compare_set("c", "x", "z"), store.compare_set("d", "x", "z")]
            self.assertEqual(answers, [b"x", b"x", b"z", b"x"])
            self.assertEqual([store.check(["a", "c"]), store.check(["a", "d"])], [True, False])
            store.append("a", "23")
            store.append("new", "0")
            store.multi_set(["k1", "k2"], ["v1", "v2"])
            self.assertEqual(store.multi_get(["a", "new", "k2"]), [b"123", b"0", b"v2"])
            for text in ("first", "second"):
                store.queue_push("q", text)
            store.queue_push("q/r", "other")
            self.assertEqual((store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q"), store.queue_len("q")), (2, b"first", b"second", 0))
            with self.assertRaises(dist.DistQueueEmptyError):
                store.queue_pop("q", False)
            self.assertEqual([store.delete_key("k1"), store.delete_key("k1")], [True, False])
            self.assertEqual(sorted(store.list_keys()), ["a", "bytes", "c", "k2", "n", "new", "q/r"])
            self.assertEqual(store.num_keys(), 7)

    def test_waits_end_with_the_key_or_the_time(self):
        store, began = self.store(), time.monotonic()
        threading.Timer(0.3, lambda: self.store().set("late", "1")).start()
        self.assertEqual(store.get("late"), b"1")
        self.assertGreater(time.monotonic() - began, 0.25)
        began = time.monotonic()
        with self.assertRaisesRegex(dist.DistStoreError, "'never', which no process has set"):
            store.wait(["late", "never"], timedelta(seconds=0.4))
        self.assertLess(time.monotonic() - began, 3)
        threading.Timer(0.3, lambda: self.store().queue_push("q", "x")).start()
        self.assertEqual(store.queue_pop("q"), b"x")

    def test_counts_of_several_threads_add_up(self):
        def count():
            store = self.store()
            for _ in range(20):
                store.add("n", 1)

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.store().get("n"), b"80")

    def test_keys_end_with_their_life(self):
        self.store(life=2).set("short", "1")
        self.store().set("long", "1")
        end = time.monotonic() + 20
        while self.store().check(["short"]) and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(self.store().list_keys(), ["long"])

    def test_groups_meet_in_it(self):
        script = """
            import sys, cresset, cresset.distributed as dist
            from cresset.distributed.elastic.rendezvous.etcd_store import EtcdStore
            dist.init_process_group("gloo", store=EtcdStore(sys.argv[1], "/group"), rank=int(sys.argv[2]), world_size=2)
            x = cresset.ones(1); dist.all_reduce(x); print(x.item())
        """
        ranks = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), self.server.get_endpoint(), str(r)], stdout=subprocess.PIPE, text=True) for r in range(2)]  # fmt: skip
        self.assertEqual([r.communicate(timeout=60)[0] for r in ranks], ["2.0\n", "2.0\n"])

    def test_no_server_is_an_error(self):
        with self.assertRaisesRegex(dist.DistNetworkError, "http://127.0.0.1:1/.*connect"):
            EtcdStore("127.0.0.1:1")

    def test_another_endpoint_is_tried(self):
        store = EtcdStore("127.0.0.1:1," + self.server.get_endpoint(), "/second")
        store.set("a", "1")
        self.assertEqual(store.get("a"), b"1")


@needs_etcd
class LocksAndQueues(WithServer):
    def test_one_holder_at_a_time_and_tokens_grow(self):
        inside, most, tokens = [0], [0], []

        def work():
            store = self.store()
            for _ in range(3):
                with Lock(store, "a", lease=5) as lock:
                    tokens.append(lock.token)
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    time.sleep(0.002)
                    inside[0] -= 1

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(most[0], 1)
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_a_lease_that_runs_out_is_told(self):
        first, second = Lock(self.store(), "a", lease=1), Lock(self.store(), "a", lease=5)
        self.assertTrue(first.acquire())
        token = first.token
        first.renew()
        self.assertEqual(first.token, token)
        self.assertFalse(second.acquire(timeout=0))
        self.assertTrue(second.acquire(timeout=20))
        self.assertGreater(second.token, token)
        for call in (first.renew, first.release):
            with self.assertRaises(LockLost):
                call()
        second.release()

    def test_a_killed_holder_loses_its_lock(self):
        script = f"""
            import os, signal
            from cresset.distributed.elastic.rendezvous.etcd_store import EtcdStore
            from cresset.distributed.lock import Lock
            Lock(EtcdStore({self.server.get_endpoint()!r}, {f"/test/{self.id()}"!r}), "a", lease=2).acquire()
            os.kill(os.getpid(), signal.SIGKILL)
        """
        self.assertEqual(subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=60).returncode, -signal.SIGKILL)
        lock = Lock(self.store(), "a")
        self.assertFalse(lock.acquire(timeout=0))
        self.assertTrue(lock.acquire(timeout=20))

    def test_each_value_goes_to_one_taker(self):
        queue, got = Queue(self.store(), "work"), []
        threads = [threading.Thread(target=lambda: got.append(Queue(self.store(), "work").get())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(4):
            queue.put({"number": i})
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(v["number"] for v in got), [0, 1, 2, 3])
        with self.assertRaises(Empty):
            queue.get(block=False)

    def test_calls_while_the_server_is_stopped_end_in_time_and_go_on_after_it(self):
        server = EtcdServer()
        server.start()
        self.addCleanup(server.stop)
        store, began = EtcdStore(server.get_endpoint(), "/stopped", timedelta(seconds=2)), time.monotonic()
        store.set("a", "1")
        os.kill(server._process.pid, signal.SIGSTOP)
        with self.assertRaises(dist.DistNetworkError):
            store.set("a", "2")
        self.assertLess(time.monotonic() - began, 10)
        os.kill(server._process.pid, signal.SIGCONT)
        store.set("b", "3")
        self.assertEqual(store.get("b"), b"3")


TRAIN = """
import os, sys, time, cresset as torch, cresset.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(1); dist.all_reduce(x)
mark = os.path.join(sys.argv[1], "failed")
if len(sys.argv) > 2 and dist.get_rank() == 0 and not os.path.exists(mark):
    open(mark, "w").close(); sys.exit(3)
dist.all_reduce(torch.ones(1))
print("sum", x.item(), flush=True)
"""


STEPS = """
import datetime, os, sys, time, cresset as torch, cresset.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
size = dist.get_world_size()
open(os.path.join(sys.argv[1], f"{size} processes"), "w").close()
for step in range(1200 if size == 2 else 20):
    dist.all_reduce(torch.ones(1)); time.sleep(0.05)
print("done with", size, flush=True)
"""


@needs_etcd
class Launches(WithServer):
    def test_the_loss_of_either_node_is_survived(self):
        for lost in range(2):
            with tempfile.TemporaryDirectory() as folder:
                script = os.path.join(folder, "train.py")
                with open(script, "w") as file:
                    file.write(STEPS)
                command = [sys.executable, "-m", "cresset.distributed.run", "--nnodes", "1:2", "--nproc-per-node", "1", "--rdzv-backend", "etcd-v2", "--rdzv-endpoint",
                           self.server.get_endpoint(), "--rdzv-id", f"{self.id()}{lost}", "--rdzv-conf", "last_call_timeout=3,keep_alive_interval=0.5", "--local-addr",
                           "127.0.0.1", "--max-restarts", "3", script, folder]  # fmt: skip
                environment = {**os.environ, "CRESSET_DIST_SECRET": "of this job"}
                agents = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
                end = time.monotonic() + 60
                while not os.path.exists(os.path.join(folder, "2 processes")) and time.monotonic() < end:
                    time.sleep(0.05)
                agents[lost].kill()
                agents[lost].communicate()
                out, err = agents[1 - lost].communicate(timeout=90)
                self.assertEqual((agents[1 - lost].returncode, out), (0, "done with 1\n"), err)

    def nodes(self, kind, *arguments, restarts=0):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "train.py")
            with open(script, "w") as file:
                file.write(TRAIN)
            command = [sys.executable, "-m", "cresset.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", kind, "--rdzv-endpoint",
                       self.server.get_endpoint(), "--rdzv-id", self.id() + kind, "--local-addr", "127.0.0.1", "--max-restarts", str(restarts), script, folder, *arguments]  # fmt: skip
            environment = {**os.environ, "CRESSET_DIST_SECRET": "of this job"}
            agents = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
            return [(*agent.communicate(timeout=90), agent.returncode) for agent in agents]

    def test_two_nodes_meet_by_either_name(self):
        for kind in ("etcd", "etcd-v2"):
            for out, err, code in self.nodes(kind):
                self.assertEqual((code, out.count("sum 2.0")), (0, 1), err)

    def test_the_job_begins_again_after_a_failure(self):
        found = self.nodes("etcd-v2", "fail once", restarts=2)
        for out, err, code in found:
            self.assertEqual((code, out.count("sum 2.0")), (0, 1), err)


CRESSET_RUN = os.path.join(os.path.dirname(os.path.dirname(_cresset_dist.__file__)), "cresset-run")  # of the same build


@needs_etcd
@unittest.skipUnless(os.path.exists(CRESSET_RUN), "cresset-run is not built")
class LaunchesOfPrograms(WithServer):
    """cresset-run, whose nodes meet in the real etcd."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.said, self.gone = os.path.join(folder.name, "said"), os.path.join(folder.name, "gone")

    def node(self, nodes, script, restarts=1):
        command = [CRESSET_RUN, "--nnodes", nodes, "--rdzv-backend", "etcd", "--rdzv-endpoint", self.server.get_endpoint(), "--rdzv-id", self.id() + os.path.dirname(self.said), "--max-restarts",
                   str(restarts), "--rdzv-conf", "last_call_timeout=1,keep_alive_interval=1,join_timeout=60", "/bin/sh", "-c", script]  # fmt: skip
        node = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "CRESSET_DIST_SECRET": "of this job"})
        self.addCleanup(lambda: (node.kill(), node.communicate()) if node.poll() is None else node.stderr.close())
        return node

    def lines(self):
        try:
            with open(self.said) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_for(self, line):
        end = time.monotonic() + 60
        while line not in self.lines():
            self.assertLess(time.monotonic(), end, f"{line!r} has not come, there is {self.lines()}")
            time.sleep(0.02)

    def test_two_nodes_meet(self):
        script = f"echo $RANK of $WORLD_SIZE at $GROUP_RANK, $MASTER_ADDR >> {self.said}"
        for node in [self.node("2", script) for _ in range(2)]:
            self.assertEqual(node.wait(timeout=90), 0, node.stderr.read())
        self.assertEqual(sorted(self.lines()), ["0 of 2 at 0, 127.0.0.1", "1 of 2 at 1, 127.0.0.1"])

    def test_the_loss_of_either_node_is_survived(self):
        for lost in range(2):
            with self.subTest(lost=lost):
                self.setUp()
                script = f"echo $RANK of $WORLD_SIZE >> {self.said}; while [ ! -e {self.gone} ]; do sleep 0.05; done; [ $WORLD_SIZE = 1 ]"
                nodes = [self.node("1:2", script, restarts=3) for _ in range(2)]
                self.wait_for("1 of 2")
                nodes[lost].kill()
                nodes[lost].wait()
                with open(self.gone, "w"):
                    pass
                self.assertEqual(nodes[1 - lost].wait(timeout=90), 0, nodes[1 - lost].stderr.read())
                self.assertIn("0 of 1", self.lines())

    def test_a_node_that_comes_later_is_let_in(self):
        script = f"echo $RANK of $WORLD_SIZE >> {self.said}; while [ $WORLD_SIZE = 1 ]; do sleep 0.05; done"
        first = self.node("1:2", script)
        self.wait_for("0 of 1")
        second = self.node("1:2", script)
        for node in (first, second):
            self.assertEqual(node.wait(timeout=90), 0, node.stderr.read())
        self.assertIn("1 of 2", self.lines())

    def test_without_a_server_it_says_so(self):
        done = subprocess.run([CRESSET_RUN, "--rdzv-backend", "etcd", "--rdzv-endpoint", "127.0.0.1:1", "true"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("http://127.0.0.1:1", done.stderr)


if __name__ == "__main__":
    unittest.main()
