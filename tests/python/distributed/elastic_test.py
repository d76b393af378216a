"""The rendezvous of launchers in Python: its rounds, its errors, the loss of the node with the store, nodes that come later."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import cresset.distributed as dist
from cresset.distributed.elastic.agent.server import LocalElasticAgent, WorkerSpec
from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs
from cresset.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousTimeoutError,
)
from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend, C10dRendezvousHandler, create_backend, create_rdzv_handler
from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler, RendezvousTimeout, create_handler


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def parameters(port=0, least=1, most=1, **options):
    options = {"join_timeout": 60, "last_call_timeout": 0.1, "keep_alive_interval": 0.2, "keep_alive_max_attempt": 20, "read_timeout": 5, **options}
    return RendezvousParameters("c10d", f"127.0.0.1:{port}", "job", least, most, **options)


class Rounds(unittest.TestCase):
    def nodes(self, least, most, count):
        store = dist.HashStore()
        return [C10dRendezvousHandler(store, parameters(least=least, most=most)) for _ in range(count)]

    def met(self, handlers):
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda handler: handler.next_rendezvous(), handlers))

    def test_ranks_and_those_who_come_later(self):
        a, b, c = self.nodes(2, 3, 3)
        self.assertEqual(a.num_nodes_waiting(), 0)
        found = self.met([a, b])
        self.assertEqual((sorted(f.rank for f in found), {f.world_size for f in found}), ([0, 1], {2}))
        found[0].store.set("key", "value")
        self.assertEqual(found[1].store.get("key"), b"value")
        self.assertEqual((a.num_nodes_waiting(), a.is_closed()), (0, False))
        with ThreadPoolExecutor() as pool:
            third = pool.submit(c.next_rendezvous)
            while not a.num_nodes_waiting():
                time.sleep(0.01)
            others = [pool.submit(handler.next_rendezvous) for handler in (a, b)]
            self.assertEqual(sorted(f.result().rank for f in (*others, third)), [0, 1, 2])
            late = pool.submit(c.next_rendezvous)
            while not a.num_nodes_waiting():
                time.sleep(0.01)
            a.set_closed()
            self.assertRaisesRegex(RendezvousClosedError, "the job 'job' has ended", late.result)
        self.assertTrue(b.is_closed())

    def test_processes_of_a_round_meet_in_a_store_of_its_own(self):
        handlers = self.nodes(2, 2, 2)
        places = []
        for _ in range(2):
            (place,) = {(f.bootstrap_store_info.master_addr, f.bootstrap_store_info.master_port) for f in self.met(handlers)}
            store = dist.TCPStore(*place, None, False)
            self.assertFalse(store.check(["key"]))
            store.set("key", "of this round")
            places.append(place)
        with self.assertRaises(dist.DistNetworkError):
            dist.TCPStore(*places[0], None, False, timedelta(seconds=0.2))

    def test_too_few_nodes(self):
        handler = create_rdzv_handler(parameters(least=2, most=2, join_timeout=0.2))
        self.assertRaisesRegex(RendezvousTimeoutError, "1 nodes of at least 2 have come within 200 ms", handler.next_rendezvous)

    def test_no_store(self):
        with self.assertRaisesRegex(RendezvousConnectionError, r"127\.0\.0\.1:\d+, has a store in charge after 300 ms"):
            create_rdzv_handler(parameters(free_port(), is_host=False, read_timeout=0.3))

    def test_a_port_that_is_taken(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            with self.assertRaisesRegex(RendezvousConnectionError, "this node is to serve and cannot: "):
                create_rdzv_handler(parameters(other.getsockname()[1], is_host=True))

    def test_a_store_with_something_else(self):
        store = dist.HashStore()
        store.set("cresset.rendezvous.torchrun.job/round", "no number")
        self.assertRaises(RendezvousStateError, C10dRendezvousHandler(store, parameters()).next_rendezvous)

    def test_an_address_of_another_machine(self):
        handler = C10dRendezvousHandler(dist.HashStore(), parameters(), "192.0.2.1")
        self.assertRaisesRegex(dist.DistBackendError, "cannot serve a store for the processes at 192.0.2.1", handler.next_rendezvous)

    def test_a_lost_store(self):
        host = dist.TCPStore("127.0.0.1", 0, None, True)
        handler = C10dRendezvousHandler(dist.TCPStore("127.0.0.1", host.port, None, False), parameters())
        handler.next_rendezvous()
        del host
        self.assertEqual(handler.num_nodes_waiting(), 0)
        self.assertRaises(RendezvousConnectionError, handler.next_rendezvous)
        self.assertRaises(RendezvousConnectionError, handler.set_closed)
        self.assertFalse(handler.shutdown())


PROGRAM = """
import datetime, os, sys, time
import cresset as torch, cresset.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
size, restarts = dist.get_world_size(), os.environ["TORCHELASTIC_RESTART_COUNT"]
open(os.path.join(sys.argv[1], f"{size} processes, restart {restarts}"), "w").close()
"""


class Launches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.agents = folder.name, []
        self.endpoints = f"127.0.0.1:{free_port()},127.0.0.1:{free_port()}"

    def tearDown(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.kill()
            agent.communicate()

    def node(self, nodes, program, restarts=3):
        path = os.path.join(self.folder, "train.py")
        with open(path, "w") as file:
            file.write(PROGRAM + program)
        command = [sys.executable, "-m", "cresset.distributed.run", "--nnodes", nodes, "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                   self.endpoints, "--rdzv-id", "job", "--max-restarts", str(restarts), "--rdzv-conf", "last_call_timeout=2,keep_alive_interval=0.5",
                   path, self.folder]  # fmt: skip
        environment = {**os.environ, "CRESSET_DIST_SECRET": "of the test", "OMP_NUM_THREADS": "1"}
        self.agents.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
        return self.agents[-1]

    def wait_for(self, name):
        end = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.folder, name)):
            if time.monotonic() > end or any(agent.poll() for agent in self.agents):
                self.fail(f"{name!r} has not come; there are {os.listdir(self.folder)}, {[a.communicate() for a in self.agents if a.poll() is not None]}")
            time.sleep(0.02)

    def listening(self, endpoint):
        host, port = endpoint.split(":")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as tried:
                if tried.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.02)
        self.fail(f"nothing listens at {endpoint}")

    def test_the_loss_of_the_node_with_the_store_is_survived(self):
        steps = "for step in range(1200 if size == 3 else 20):\n    dist.all_reduce(torch.ones(1)); time.sleep(0.05)\nprint('done with', size, flush=True)\n"
        host = self.node("2:3", steps)
        self.listening(self.endpoints.split(",")[0])
        others = [self.node("2:3", steps) for _ in range(2)]
        self.wait_for("3 processes, restart 0")
        host.kill()
        for other in others:
            out, err = other.communicate(timeout=120)
            self.assertEqual((other.returncode, out), (0, "done with 2\n"), err)

    def test_a_node_that_comes_after_a_failure_joins(self):
        wait = "if size == 1 and restarts == '0': sys.exit(3)\nwhile size == 1: time.sleep(0.05)\n"
        first = self.node("1:2", wait)
        self.wait_for("1 processes, restart 1")
        second = self.node("1:2", wait)
        for agent in (first, second):
            self.assertEqual(agent.wait(timeout=120), 0, agent.communicate()[1])
        self.assertLessEqual({"2 processes, restart 1", "2 processes, restart 0"}, set(os.listdir(self.folder)))  # as often as each node has

    def test_a_launcher_that_waits_ends_by_a_signal(self):
        agent = self.node("2", "")
        self.listening(self.endpoints.split(",")[0])
        time.sleep(0.5)
        agent.send_signal(signal.SIGTERM)
        began = time.monotonic()
        self.assertNotEqual(agent.wait(timeout=30), 0)
        self.assertLess(time.monotonic() - began, 15)


class EndsOfRounds(unittest.TestCase):
    """A node whose processes have ended waits for the others; one whose launcher is lost then, it names and does not wait for."""

    def agents(self, timeout, **options):
        store = dist.HashStore()
        made = []
        for _ in range(2):
            handler = C10dRendezvousHandler(store, parameters(least=2, most=2, **options))
            made.append(LocalElasticAgent(WorkerSpec("role", 1, handler, entrypoint="/bin/true"), DefaultLogsSpecs(), exit_barrier_timeout=timeout))
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda agent: agent._rendezvous(agent._worker_group), made))
        return made

    def waited(self, agent):
        began = time.monotonic()
        agent._exit_barrier()
        return time.monotonic() - began

    def test_nodes_end_together(self):
        one, other = self.agents(60)
        with ThreadPoolExecutor() as pool, self.assertNoLogs("torchelastic.agent", "WARNING"):
            first = pool.submit(self.waited, one)
            time.sleep(0.5)
            self.assertFalse(first.done())
            self.assertLess(self.waited(other) + first.result(), 30)

    def test_a_lost_launcher_is_named(self):
        one, other = self.agents(60, keep_alive_interval=0.1, keep_alive_max_attempt=5)
        rank = other.get_worker_group().group_rank
        other.get_worker_group().spec.rdzv_handler._launcher = None  # its heart ends with it
        with self.assertLogs("torchelastic.agent", "WARNING") as logs:
            self.assertLess(self.waited(one), 30)
        self.assertRegex(logs.output[0], rf"no sign of life for 500 ms from node {rank} \(127\.0\.0\.1, process {os.getpid()}\)")

    def test_one_that_lives_is_waited_for_up_to_the_timeout(self):
        one, _other = self.agents(2, keep_alive_interval=0.05, keep_alive_max_attempt=20)
        with self.assertLogs("torchelastic.agent", "WARNING") as logs:
            self.assertGreaterEqual(self.waited(one), 2)
        self.assertRegex(logs.output[0], "still running after 2000 ms: node [01] ")

    def test_a_job_that_is_closed_is_not_waited_for(self):
        one, other = self.agents(60)
        other.get_worker_group().spec.rdzv_handler.shutdown()
        with self.assertNoLogs("torchelastic.agent", "WARNING"):
            self.assertLess(self.waited(one), 30)

    def test_a_store_that_fails_is_warned_about(self):
        class Fails(dist.Store):
            def set(self, key, value):
                raise OSError("no space")

        one, _other = self.agents(60)
        one._store = Fails()
        with self.assertLogs("torchelastic.agent", "WARNING") as logs:
            self.assertLess(self.waited(one), 30)
        self.assertRegex(logs.output[0], "the store of the job has failed; .*no space")


LAST_ACT = """
import os, signal, sys, time
rank = os.environ["GROUP_RANK"]
open(os.path.join(sys.argv[1], f"node {rank}"), "w").close()
while len([name for name in os.listdir(sys.argv[1]) if name.startswith("node")]) < 2: time.sleep(0.01)
if rank == sys.argv[2]:
    os.kill(os.getppid(), getattr(signal, sys.argv[3]))
"""


class LaunchersLostAtTheEnd(unittest.TestCase):
    """The last act of a process is to stop or kill its launcher."""

    def ended(self, kind, lost, how):
        """The lines of the other launcher."""
        with tempfile.TemporaryDirectory() as folder:
            path, port = os.path.join(folder, "train.py"), free_port()
            with open(path, "w") as file:
                file.write(LAST_ACT)
            agents = []
            for node in range(2):
                place = {"c10d": ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "job"],
                         "static": ["--node-rank", str(node), "--master-addr", "127.0.0.1", "--master-port", str(port)]}[kind]  # fmt: skip
                command = [sys.executable, "-m", "cresset.distributed.run", "--nnodes", "2", *place, "--rdzv-conf", "keep_alive_interval=0.2,read_timeout=20",
                           path, folder, str(lost), how]  # fmt: skip
                environment = {**os.environ, "CRESSET_DIST_SECRET": "of the test", "OMP_NUM_THREADS": "1"}
                agents.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment))
            try:
                end = time.monotonic() + 90
                while all(agent.poll() in (None, -signal.SIGKILL) for agent in agents):
                    self.assertLess(time.monotonic(), end, "the other launcher still waits")
                    time.sleep(0.02)
                (left,) = [agent for agent in agents if agent.poll() not in (None, -signal.SIGKILL)]
                said = left.communicate()[1]
                self.assertEqual(left.returncode, 0, said)
                return said
            finally:
                for agent in agents:
                    agent.kill()
                    agent.wait()
                    agent.stderr.close()

    def test_a_node_that_is_stopped_is_named(self):
        for kind in ("c10d", "static"):
            with self.subTest(kind):
                self.assertRegex(self.ended(kind, 1, "SIGSTOP"), r"no sign of life for 600 ms from node 1 \(127\.0\.0\.1, process \d+\)|no answer for \d+ ms")

    def test_a_node_with_the_store_that_is_stopped_is_named(self):
        self.assertRegex(self.ended("static", 0, "SIGSTOP"), r"no answer for \d+ ms from the node with the store.*the store at 127\.0\.0\.1:\d+")

    def test_a_node_that_is_killed_is_named(self):
        self.assertRegex(self.ended("static", 1, "SIGKILL"), r"no sign of life for 600 ms from node 1 ")


def _meet(handlers):
    with ThreadPoolExecutor(len(handlers)) as pool:
        return list(pool.map(lambda handler: handler.next_rendezvous(), handlers))


class Backends(unittest.TestCase):
    """PyTorch's objects below its handler: a backend with one state, and a store."""

    def test_a_state_is_replaced_by_who_knows_the_last_one(self):
        store = dist.HashStore()
        one, other = (C10dRendezvousBackend(store, "job") for _ in range(2))
        self.assertIsNone(one.get_state())
        self.assertEqual(one.set_state(b"abc"), (b"abc", b"YWJj", True))
        self.assertEqual(other.get_state(), (b"abc", b"YWJj"))
        self.assertEqual(other.set_state(b"xyz", b"bad"), (b"abc", b"YWJj", False))
        _, token, replaced = other.set_state(b"new", b"YWJj")
        self.assertTrue(replaced)
        self.assertEqual(one.set_state(b"late", b"YWJj"), (b"new", token, False))
        self.assertEqual(one.set_state(b"first"), (b"new", token, False))
        self.assertIsNone(C10dRendezvousBackend(store, "another job").get_state())
        store.set("torch.rendezvous.job", "no base64!")
        self.assertRaises(RendezvousStateError, one.get_state)

    def test_stores_of_both_kinds(self):
        backend, store = create_backend(parameters(port=0, is_host=True))
        self.assertIsInstance(store, dist.TCPStore)
        second, client = create_backend(parameters(port=store.port))  # on the same machine, where the port is taken
        backend.set_state(b"seen")
        self.assertEqual(second.get_state()[0], b"seen")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "store")
            (one, store), (other, _) = (create_backend(RendezvousParameters("c10d", path, "job", 1, 1, store_type="file")) for _ in range(2))
            one.set_state(b"in a file")
            self.assertEqual((other.get_state()[0], type(store)), (b"in a file", dist.FileStore))
        with self.assertRaisesRegex(ValueError, "tcp or file, got 'sun'"):
            create_backend(parameters(store_type="sun"))
        with self.assertRaisesRegex(RendezvousConnectionError, "no store at"):
            create_backend(parameters(port=1, is_host=False, read_timeout=0.3))

    def test_nodes_meet_over_the_store(self):
        store = dist.HashStore()
        params = parameters(least=2, most=2, join_timeout=20, keep_alive_interval=1)
        handlers = [create_handler(store, C10dRendezvousBackend(store, "job"), params) for _ in range(2)]
        self.assertEqual(sorted(info.rank for info in _meet(handlers)), [0, 1])
        settings = handlers[0].settings
        self.assertEqual((settings.run_id, settings.min_nodes, settings.timeout.join.seconds, settings.keep_alive_interval.seconds), ("job", 2, 20, 1))
        self.assertEqual((settings.timeout.last_call.total_seconds(), settings.keep_alive_max_attempt), (0.1, 20))
        self.assertTrue(handlers[0].shutdown() and handlers[1].is_closed())

    def test_times_and_numbers_are_checked(self):
        store = dist.HashStore()
        with self.assertRaisesRegex(ValueError, "positive time for join, got 0:00:00"):
            RendezvousTimeout(join=timedelta(0))
        with self.assertRaisesRegex(ValueError, "got 2 and 1"):
            DynamicRendezvousHandler.from_backend("job", store, C10dRendezvousBackend(store, "job"), 2, 1)
        with self.assertRaisesRegex(ValueError, "the name of the job"):
            C10dRendezvousBackend(store, "")


if __name__ == "__main__":
    unittest.main()
