"""Ranks in network namespaces of their own, between which packets are lost, late or cut off; and a store on a disk that is full. Namespaces and mounts want the rights of root."""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

_HEAD = """
import datetime, os, sys
import cresset as torch
import cresset.distributed as dist
rank, address = int(sys.argv[1]), sys.argv[2]
def second(n): return datetime.timedelta(seconds=n)
def cut():
    import subprocess
    subprocess.run(["ip", "link", "set", sys.argv[3], "down"], check=True)
"""


def _run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def _tunnel(namespace, name):
    """A network device in a namespace, whose packets this process reads and writes."""
    found = []

    def open_there():
        try:
            place = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(place, 0x40000000):  # CLONE_NEWNET, of this thread
                raise OSError(ctypes.get_errno(), "setns")
            os.close(place)
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
            found.append(device)
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=open_there)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def _relay(tunnels, loss, delay, ended):
    chance, under_way, count = random.Random(0), [], 0
    while not ended.is_set():
        wait = min(0.05, max(0.0, under_way[0][0] - time.monotonic())) if under_way else 0.05
        for tunnel in select.select(tunnels, [], [], wait)[0]:
            packet = os.read(tunnel, 65536)
            if chance.random() >= loss:
                heapq.heappush(under_way, (time.monotonic() + delay * (0.5 + chance.random()), count, tunnels[1 - tunnels.index(tunnel)], packet))
                count += 1
        while under_way and under_way[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(under_way)
            try:
                os.write(target, packet)
            except OSError:  # the other side is not up yet
                pass


class Namespaces(unittest.TestCase):
    """Two hosts and a cable between them, or a relay that loses packets and holds them back."""

    def setUp(self):
        self.names = [f"cresset_{os.getpid()}_{side}" for side in "ab"]
        self.ends = [f"c{os.getpid()}{side}"[-14:] for side in "ab"]
        for name in self.names:
            self.addCleanup(_run, "ip", "netns", "delete", name)
        steps = [["ip", "netns", "add", name] for name in self.names]
        self.take(steps)

    def take(self, steps):
        for step in steps:
            try:
                done = _run(*step)
            except FileNotFoundError as error:
                self.skipTest(f"network namespaces: {error}")
            if done.returncode:
                self.skipTest(f"network namespaces are not permitted here: {' '.join(step[:5])}: {done.stderr.strip()}")

    def take_addresses(self):
        for place, (name, end) in enumerate(zip(self.names, self.ends)):
            within = ["ip", "-n", name]
            self.take(
                [[*within, "address", "add", f"10.213.7.{place + 1}/24", "dev", end], [*within, "link", "set", end, "up"], [*within, "link", "set", "lo", "up"]]
            )

    def connect_by_cable(self):
        self.take([["ip", "link", "add", self.ends[0], "netns", self.names[0], "type", "veth", "peer", "name", self.ends[1], "netns", self.names[1]]])
        self.take_addresses()

    def connect_by_relay(self, loss, delay):
        """Packets go through a thread of this process: a share of them is lost, the others are late."""
        try:
            tunnels = [_tunnel(name, end) for name, end in zip(self.names, self.ends)]
        except OSError as error:
            self.skipTest(f"tunnels are not permitted here: {error}")
        self.take_addresses()
        ended = threading.Event()
        relay = threading.Thread(target=_relay, args=(tunnels, loss, delay, ended), daemon=True)
        relay.start()

        def end():
            ended.set()
            relay.join()
            for tunnel in tunnels:
                os.close(tunnel)

        self.addCleanup(end)

    def run_ranks(self, script):
        """The output of each rank, with its exit status."""
        command = [sys.executable, "-c", _HEAD + textwrap.dedent(script)]
        ranks = []
        for rank, (name, end) in enumerate(zip(self.names, self.ends)):
            environment = {**os.environ, "CRESSET_DIST_TRANSPORT": "gloo", "GLOO_SOCKET_IFNAME": end, "CRESSET_DIST_SECRET": "of the test"}
            ranks.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", name, *command, str(rank), "10.213.7.1", end],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )
        try:
            said = [process.communicate(timeout=240) for process in ranks]
        except subprocess.TimeoutExpired:
            for process in ranks:
                process.kill()
            raise AssertionError(f"a rank hangs: {[process.communicate() for process in ranks]}") from None
        return [(process.returncode, out, error) for process, (out, error) in zip(ranks, said)]

    def test_lost_and_late_packets_change_no_result(self):
        self.connect_by_relay(loss=0.02, delay=0.004)
        for status, out, error in self.run_ranks("""
            dist.init_process_group("gloo", init_method=f"tcp://{address}:29777", rank=rank, world_size=2, timeout=second(120))
            for size in (1, 1000, 200000):
                t = torch.arange(float(size)) + rank
                dist.all_reduce(t)
                assert torch.equal(t, 2 * torch.arange(float(size)) + 1)
            parts = [None, None]
            dist.all_gather_object(parts, {"rank": rank})
            print(parts)
            dist.destroy_process_group()
        """):  # fmt: skip
            self.assertEqual((status, out), (0, "[{'rank': 0}, {'rank': 1}]\n"), error)

    def test_a_cut_cable_ends_calls_within_their_timeout(self):
        self.connect_by_cable()
        for status, out, error in self.run_ranks("""
            dist.init_process_group("gloo", init_method=f"tcp://{address}:29777", rank=rank, world_size=2, timeout=second(60))
            dist.all_reduce(torch.ones(2))
            dist.group.WORLD.set_timeout(second(3))
            if rank == 1:
                cut()
            try:
                for _ in range(3):
                    dist.all_reduce(torch.ones(100000))
            except RuntimeError as error:
                print("ended", f"rank {1 - rank}" in str(error), flush=True)
                print(error, file=sys.stderr, flush=True)
            os._exit(0)
        """):  # fmt: skip
            self.assertEqual((status, out), (0, "ended True\n"), error)

    def test_a_client_that_is_cut_off_from_its_store_is_told(self):
        self.connect_by_cable()
        (status, out, error), (_, out_1, error_1) = self.run_ranks("""
            store = dist.TCPStore(address, 29777, 2, rank == 0, second(60))
            store.set(f"here {rank}", "1")
            store.wait(["here 0", "here 1"])
            if rank == 0:
                try:
                    store.wait(["never"], second(4))
                except dist.DistStoreError:
                    store.set("alive", "1")
                    print(store.get("alive"))
            else:
                cut()
                store.set_timeout(second(1))
                try:
                    store.set("key", "value")
                except dist.DistError as error:
                    print(type(error).__name__, address in str(error))
            sys.stdout.flush()
            os._exit(0)
        """)  # fmt: skip
        self.assertEqual(out, "b'1'\n", error)
        self.assertEqual(out_1, "DistNetworkError True\n", error_1)

    def test_a_lock_goes_on_where_its_holder_is_cut_off(self):
        self.connect_by_cable()
        (status, out, error), (_, out_1, error_1) = self.run_ranks("""
            import time
            from cresset.distributed.lock import Lock, LockLost
            from cresset.distributed.queue import Queue
            store = dist.TCPStore(address, 29777, 2, rank == 0, second(60))
            lock, queue = Lock(store, "one at a time", lease=3), Queue(store, "work")
            if rank == 1:
                lock.acquire()
                queue.put("of the first")
                store.set("token", str(lock.token))
                cut()
                store.set_timeout(second(1))
                for call in (lock.renew, lock.release, lambda: queue.put("never")):
                    try:
                        call()
                    except (dist.DistError, LockLost) as error:
                        print(type(error).__name__)
            else:
                token, began = int(store.get("token")), time.monotonic()
                print(lock.acquire(timeout=0), lock.acquire(timeout=30), lock.token > token, time.monotonic() - began < 15)
                print(queue.get(), queue.qsize())
            sys.stdout.flush()
            os._exit(0)
        """)  # fmt: skip
        self.assertEqual(out, "False True True True\nof the first 0\n", error)
        self.assertEqual(out_1, "DistNetworkError\n" * 3, error_1)


class FullDisk(unittest.TestCase):
    def test_a_store_keeps_its_content_and_says_why(self):
        script = """
            import errno, os, sys
            import cresset.distributed as dist
            store = dist.FileStore(sys.argv[1] + "/store", 1)
            store.set("key", "old")
            filler = open(sys.argv[1] + "/filler", "wb", buffering=0)
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
            try:
                store.set("other", "x" * 30000)
            except dist.DistError as error:
                print(os.strerror(errno.ENOSPC) in str(error), "/store" in str(error))
            print(store.get("key"), store.check(["other"]), sorted(os.listdir(sys.argv[1])))
            filler.close()
            os.remove(sys.argv[1] + "/filler")
            store.set("other", "y")
            print(store.get("other"))
        """
        with tempfile.TemporaryDirectory() as folder:
            mount = f'mount -t tmpfs -o size=128k tmpfs {folder} || exit 77; exec "$@"'
            try:
                done = _run("unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", textwrap.dedent(script), folder)
            except FileNotFoundError as error:
                self.skipTest(str(error))
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest(f"mounts are not permitted here: {done.stderr.strip()}")
        self.assertEqual(done.stdout, "True True\nb'old' False ['filler', 'store']\nb'y'\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
