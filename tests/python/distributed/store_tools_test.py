"""Locks and queues on stores, and the flight recorder."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import cresset.distributed as dist
from cresset.distributed.flight_recorder import analyse
from cresset.distributed.lock import Lock, LockLost
from cresset.distributed.queue import Empty, Queue

import cresset as torch


class Locks(unittest.TestCase):
    def setUp(self):
        self.store = dist.TCPStore("127.0.0.1", 0, is_master=True)

    def test_one_holder_at_a_time(self):
        inside, most = [0], [0]

        def work():
            for _ in range(5):
                with Lock(self.store, "a", lease=5):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    time.sleep(0.002)
                    inside[0] -= 1

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(most[0], 1)

    def test_a_lease_that_runs_out_is_told_and_the_next_token_is_larger(self):
        first, second = Lock(self.store, "a", lease=0.05), Lock(self.store, "a", lease=5)
        self.assertTrue(first.acquire())
        self.assertFalse(second.acquire(timeout=0))
        self.assertTrue(second.acquire(timeout=2))
        self.assertGreater(second.token, first.token)
        for call in (first.renew, first.release):
            with self.assertRaises(LockLost):
                call()
        second.renew()
        second.release()

    def test_processes_share_a_file(self):
        """Four processes add to a number that only the lock protects, and take values that each comes once."""
        script = """
import sys, cresset.distributed as dist
from cresset.distributed.lock import Lock
from cresset.distributed.queue import Queue
store = dist.FileStore(sys.argv[1], -1)
got = []
for _ in range(20):
    with Lock(store, "a", lease=30):
        store.set("n", str(int(store.get("n")) + 1))
    got.append(Queue(store, "q").get(timeout=30))
print(*got)
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "store")
            store = dist.FileStore(path, -1)
            store.set("n", "0")
            workers = [subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True) for _ in range(4)]
            for i in range(80):
                Queue(store, "q").put(i)
            got = [int(word) for worker in workers for word in worker.communicate(timeout=120)[0].split()]
            self.assertEqual((sorted(got), store.get("n")), (list(range(80)), b"80"))


class Queues(unittest.TestCase):
    def test_each_value_goes_to_one_taker_in_order(self):
        store = dist.TCPStore("127.0.0.1", 0, is_master=True)
        queue, got = Queue(store, "q"), []
        threads = [threading.Thread(target=lambda: got.append(Queue(store, "q").get())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(3):
            queue.put({"i": i, "t": torch.tensor([i])})
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(v["i"] for v in got), [0, 1, 2])
        with self.assertRaises(Empty):
            queue.get(block=False)
        with self.assertRaises(Empty):
            queue.get(timeout=0.05)


class FlightRecorder(unittest.TestCase):
    def said(self, *ranks):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for rank, calls in enumerate(ranks):
                paths.append(os.path.join(folder, f"{rank}.json"))
                records = [
                    {"sequence": i + 1, "operation": op, "state": state, "dtype": "float32", "sizes": sizes} for i, (op, sizes, state) in enumerate(calls)
                ]
                with open(paths[-1], "w") as file:
                    json.dump({"rank": rank, "records": records}, file)
            return analyse(paths)

    def test_first_mismatch_is_named(self):
        same = ("all_reduce", [4], "completed")
        self.assertEqual(self.said([same], [same]), "all ranks made the same calls")
        self.assertEqual(self.said([same, ("broadcast", [2], "started")], [same, ("all_reduce", [2], "started")]),
                         "call 2: ranks 0: broadcast of float32 with shape [2]; ranks 1: all_reduce of float32 with shape [2]")  # fmt: skip
        self.assertEqual(self.said([same, same], [same]), "call 2: all_reduce of float32 with shape [4] was not made by ranks 1")
        self.assertEqual(self.said([("barrier", [], "started")], [("barrier", [], "completed")]), "call 1: barrier has not ended on ranks 0")


if __name__ == "__main__":
    unittest.main()
