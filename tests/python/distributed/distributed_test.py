"""torch.distributed between processes: each rank runs the same script, and what goes wrong in one is shown."""

import datetime
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import cresset.distributed as dist

import cresset as torch

HEAD = """
import datetime, os, sys
import cresset as torch
import cresset.distributed as dist
rank, size, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
"""


def run_ranks(size, script, environment=None):
    """Runs the script on every rank; the outputs. Raises where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", HEAD + textwrap.dedent(script) if environment is None else textwrap.dedent(script)]
        ranks = [subprocess.Popen([*command, str(r), str(size), os.path.join(folder, "store")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=None if environment is None else {**os.environ, **environment(r)}) for r in range(size)]  # fmt: skip
        results = [r.communicate(timeout=120) for r in ranks]
    for rank, process in enumerate(ranks):
        if process.returncode:
            raise AssertionError(f"rank {rank}: {results[rank][1]}")
    return [out for out, _ in results]


class SmallParts(unittest.TestCase):
    def test_barrier_of_a_store(self):
        store, order = dist.HashStore(), []

        def come(name):
            store.barrier("all", 2, datetime.timedelta(seconds=20))
            order.append(name)

        other = threading.Thread(target=come, args=("first",))
        other.start()
        self.assertEqual(order, [])
        come("second")
        other.join()
        self.assertEqual(sorted(order), ["first", "second"])
        with self.assertRaises(dist.DistStoreError):
            store.barrier("alone", 2, datetime.timedelta(seconds=0.05))

    def test_operations_have_the_name_of_record_comm_in_profiles(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            with torch.profiler.profile() as profile, dist.record_comm("mine"):
                dist.all_reduce(torch.ones(1))
            dist.all_reduce(torch.ones(1))
        finally:
            dist.destroy_process_group()
        self.assertEqual(sum(event.name == "mine" for event in profile.events()), 1)

    def test_only_premul_sums_have_a_factor(self):
        self.assertEqual(dist._make_nccl_premul_sum(2.0).factor, 2.0)
        with self.assertRaisesRegex(RuntimeError, "PREMUL_SUM, not to MAX"):
            dist.ReduceOp(dist.ReduceOp.MAX).factor  # noqa: B018


class Collectives(unittest.TestCase):
    def test_all(self):
        run_ranks(3, """
            def check(got, expected):
                assert torch.equal(got, torch.as_tensor(expected, dtype=got.dtype)), (rank, got, expected)
            assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, 3, "gloo")
            t = torch.full((4,), float(rank)); dist.all_reduce(t); check(t, [3.0] * 4)
            t = torch.arange(40000.0) + rank; work = dist.all_reduce(t, dist.ReduceOp.AVG, async_op=True)
            assert work.wait() and work.is_success(); check(t, torch.arange(40000.0) + 1)
            t = torch.tensor([rank + 1]); dist.reduce(t, 1, dist.ReduceOp.PRODUCT); check(t, [6]) if rank == 1 else None
            t = torch.tensor([rank]); dist.broadcast(t, 2); check(t, [2])
            p = torch.nn.Parameter(torch.full((2,), float(rank))); dist.broadcast(p, 0); check(p.detach(), [0.0, 0.0])
            parts = [torch.empty(2) for _ in range(3)]; dist.all_gather(parts, torch.full((2,), float(rank)))
            check(torch.stack(parts), [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
            t = torch.empty(3, 2); dist.all_gather_into_tensor(t, torch.full((2,), float(rank))); check(t, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
            dist.gather(torch.tensor([rank]), parts := [torch.empty(1, dtype=torch.int64) for _ in range(3)] if rank == 2 else None, dst=2)
            check(torch.cat(parts), [0, 1, 2]) if rank == 2 else None
            t = torch.empty(1); dist.scatter(t, [torch.tensor([float(i)]) for i in range(3)] if rank == 0 else None); check(t, [float(rank)])
            t = torch.empty(2); dist.reduce_scatter(t, [torch.full((2,), float(i)) for i in range(3)]); check(t, [3.0 * rank] * 2)
            t = torch.empty(2); dist.reduce_scatter_tensor(t, torch.arange(6.0)); check(t, [6.0 * rank, 6.0 * rank + 3])
            t = torch.empty(3, dtype=torch.int64); dist.all_to_all_single(t, torch.arange(3) + 10 * rank); check(t, [rank, 10 + rank, 20 + rank])
            out = torch.empty(sum(range(1, 4)), dtype=torch.int64)
            dist.all_to_all_single(out, torch.full(((rank + 1) * 3,), rank), [1, 2, 3], [rank + 1] * 3); check(out, [0, 1, 1, 2, 2, 2])
            objects = [None] * 3; dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
            assert objects == [{"rank": r, "text": "x" * r} for r in range(3)]
            objects = ["a", rank] if rank == 1 else [None, None]; dist.broadcast_object_list(objects, src=1); assert objects == ["a", 1]
            objects = [None]; dist.scatter_object_list(objects, [(i, i) for i in range(3)] if rank == 0 else None); assert objects == [(rank, rank)]
            objects = [None] * 3 if rank == 0 else None; dist.gather_object(rank, objects); assert rank or objects == [0, 1, 2]
            dist.barrier(); dist.monitored_barrier()
            dist.destroy_process_group(); assert not dist.is_initialized()
        """)  # fmt: skip

    def test_messages(self):
        run_ranks(2, """
            other = 1 - rank
            t = torch.empty(3)
            works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((3,), float(rank)), other), dist.P2POp(dist.irecv, t, other)])
            [w.wait() for w in works]
            assert t.tolist() == [float(other)] * 3
            if rank == 0:
                dist.send(torch.tensor([5]), 1, tag=3); dist.send_object_list(["hello", 7], 1)
            else:
                t = torch.empty(1, dtype=torch.int64); assert dist.recv(t, tag=3) == 0 and t.item() == 5
                objects = [None, None]; assert dist.recv_object_list(objects, 0) == 0 and objects == ["hello", 7]
        """)  # fmt: skip

    def test_groups(self):
        run_ranks(4, """
            even, odd = dist.new_group([0, 2]), dist.new_group([3, 1])
            own, other = (even, odd) if rank % 2 == 0 else (odd, even)
            assert other == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(other) == -1 and dist.all_reduce(torch.ones(1), group=other) is None
            assert dist.get_process_group_ranks(own) == [rank % 2, rank % 2 + 2] and dist.get_group_rank(own, rank) == rank // 2
            t = torch.tensor([rank]); dist.all_reduce(t, group=own); assert t.item() == 2 + 2 * (rank % 2)
            t = torch.tensor([rank]); dist.broadcast(t, rank % 2 + 2, group=own); assert t.item() == rank % 2 + 2
            mine, every = dist.new_subgroups(2)
            t = torch.tensor([rank]); dist.all_reduce(t, group=mine); assert t.item() == (1 if rank < 2 else 5) and len(every) == 2
        """)  # fmt: skip

    def test_models_train_alike(self):
        lines = run_ranks(2, """
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 1); optimizer = torch.optim.SGD(model.parameters(), 0.1)
            data = torch.randn(8, 4)
            for _ in range(3):
                optimizer.zero_grad(); model(data[rank::2]).square().mean().backward()
                for p in model.parameters(): dist.all_reduce(p.grad, dist.ReduceOp.AVG)
                optimizer.step()
            print(model.weight.tolist())
        """)  # fmt: skip
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        data = torch.randn(8, 4)
        for _ in range(3):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
        self.assertEqual(lines[0], lines[1])
        torch.testing.assert_close(torch.tensor(eval(lines[0])), model.weight.detach())


class Meeting(unittest.TestCase):
    def test_env_and_tcp(self):
        import socket

        for method in ("env://", "tcp://localhost:{port}"):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            script = f"""
                import os, sys, cresset as torch, cresset.distributed as dist
                rank = {{}} if {method == "env://"} else dict(rank=int(sys.argv[1]), world_size=2)
                dist.init_process_group(init_method="{method.format(port=port)}", **rank)
                t = torch.ones(1); dist.all_reduce(t); assert t.item() == 2
            """
            run_ranks(2, script, lambda r: {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(r), "WORLD_SIZE": "2"})

    def test_mistakes(self):
        store = dist.HashStore()
        for error, text, arguments in [
            (RuntimeError, "backend 'nccl'", dict(backend="nccl", store=store, rank=0, world_size=1)),
            (ValueError, "environment variable RANK", dict(backend="gloo")),
            (ValueError, "lacks a port", dict(init_method="tcp://localhost", rank=0, world_size=1)),
            (ValueError, "lacks a rank", dict(init_method="file:///tmp/x")),
            (RuntimeError, "no handler for pigeon", dict(init_method="pigeon://", rank=0, world_size=1)),
            (ValueError, "got both", dict(init_method="env://", store=store)),
            (ValueError, "a world_size above 0", dict(store=store, rank=0)),
            (ValueError, "a rank of 0 or more", dict(store=store, world_size=1)),
        ]:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                dist.init_process_group(**arguments)
            self.assertFalse(dist.is_initialized())
        with self.assertRaisesRegex(ValueError, "there is no default process group"):
            dist.all_reduce(torch.ones(1))
        dist.init_process_group(store=store, rank=0, world_size=1)
        self.addCleanup(lambda: dist.is_initialized() and dist.destroy_process_group())
        with self.assertRaisesRegex(ValueError, "exists; it is not made twice"):
            dist.init_process_group(store=store, rank=0, world_size=1)
        with self.assertRaisesRegex(TypeError, "torch.Tensor"):
            dist.all_reduce([1.0])
        with self.assertRaisesRegex(TypeError, "ReduceOp"):
            dist.all_reduce(torch.ones(1), op="sum")
        with self.assertRaisesRegex(ValueError, "is not part of"):
            dist.broadcast(torch.ones(1), 3)
        with self.assertRaisesRegex(ValueError, "expected at most 1 ranks"):
            dist.new_group([0, 1])
        group = dist.new_group([0])
        dist.destroy_process_group(group)
        with self.assertRaisesRegex(ValueError, "does not exist"):
            dist.barrier(group)
        dist.destroy_process_group()

    def test_a_rank_that_dies_is_named(self):
        out = run_ranks(2, """
            if rank == 1:
                os._exit(0)
            try:
                dist.all_reduce(torch.ones(100000))
            except dist.DistBackendError as error:
                print(error)
        """)  # fmt: skip
        self.assertIn("rank 1", out[0])

    def test_a_barrier_gives_up_in_time(self):
        out = run_ranks(2, """
            store = dist.distributed_c10d._get_default_store()
            if rank == 1:
                store.get("given up")
            for _ in range(2):  # the group is of no use from then on
                try:
                    dist.barrier(timeout=datetime.timedelta(milliseconds=50) if rank == 0 else None)
                except dist.DistBackendError as error:
                    print(error)
                    store.set("given up", "")
        """)  # fmt: skip
        first = out[0].splitlines()
        self.assertIn("barrier: the time is up while waiting for rank 1", first[0])
        self.assertIn("of no use since an operation failed", first[1])
        self.assertIn("rank 0 has given up", out[1])

    def test_stores_wait_and_give_up(self):
        import datetime

        store = dist.TCPStore("localhost", 0, is_master=True, timeout=datetime.timedelta(seconds=0.05))
        begin = time.monotonic()
        with self.assertRaisesRegex(dist.DistStoreError, "waited 50 ms for 'k'"):
            store.get("k")
        self.assertLess(time.monotonic() - begin, 10)
        with self.assertRaisesRegex(TypeError, "timedelta"):
            store.wait(["k"], "soon")
        other = dist.TCPStore("localhost", store.port)
        other.set("k", b"v\x00")
        self.assertEqual(store.get("k"), b"v\x00")
        self.assertEqual(store.host, "localhost")
        with self.assertRaises(dist.DistNetworkError):
            dist.TCPStore("localhost", 1, timeout=datetime.timedelta(seconds=0.05))


if __name__ == "__main__":
    unittest.main()
