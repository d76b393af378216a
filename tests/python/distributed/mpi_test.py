"""The backend "mpi" under mpirun: every collective against what the ranks hold, groups, faults, training."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
import unittest

import _cresset_dist

HEAD = """
import datetime, os, signal, sys, time
import cresset as torch
import cresset.distributed as dist
dist.init_process_group("mpi", timeout=datetime.timedelta(seconds=float(sys.argv[1])))
rank, size = dist.get_rank(), dist.get_world_size()
def of(r, n=5):
    return torch.arange(n, dtype=torch.float32) * (r + 1) + r
"""


def run_under_mpi(size, script, seconds=20, limit=90):
    """(output, errors, exit code) of a script of all ranks."""
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1"}
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(size), sys.executable, "-c", HEAD + textwrap.dedent(script), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit)
    return done.stdout, done.stderr, done.returncode


@unittest.skipUnless(_cresset_dist.engine_available("mpi") and shutil.which("mpirun"), "the MPI engine is not built (libopenmpi-dev), or there is no mpirun")
class UnderMpirun(unittest.TestCase):
    def check(self, size, script, **options):
        out, err, code = run_under_mpi(size, script, **options)
        self.assertEqual((code, out.count("ok")), (0, size), f"{out}\n{err}")
        return out

    def test_every_collective(self):
        for size in (1, 3):
            self.check(size, """
                assert dist.get_backend() == "mpi" and dist.is_mpi_available()
                total = sum((of(r) for r in range(size)), torch.zeros(5))
                x = of(rank); dist.all_reduce(x); assert x.equal(total)
                x = of(rank); dist.all_reduce(x, op=dist.ReduceOp.AVG); assert x.allclose(total / size)
                x = of(rank); dist.reduce(x, size - 1, op=dist.ReduceOp.MAX); assert rank != size - 1 or x.equal(of(size - 1))
                big = torch.full((300001,), float(rank)); dist.all_reduce(big); assert big.eq(size * (size - 1) / 2).all()
                x = of(rank); dist.broadcast(x, size - 1); assert x.equal(of(size - 1))
                parts = [torch.empty(5) for _ in range(size)]; dist.all_gather(parts, of(rank)); assert all(p.equal(of(r)) for r, p in enumerate(parts))
                row = torch.empty(5 * size); dist.all_gather_into_tensor(row, of(rank)); assert row.equal(torch.cat([of(r) for r in range(size)]))
                parts = [torch.empty(5) for _ in range(size)] if rank == 0 else None
                dist.gather(of(rank), parts, dst=0); assert rank or all(p.equal(of(r)) for r, p in enumerate(parts))
                one = torch.empty(5); dist.scatter(one, [of(10 + r) for r in range(size)] if rank == 0 else None, src=0); assert one.equal(of(10 + rank))
                one = torch.empty(5); dist.reduce_scatter(one, [of(r) for r in range(size)]); assert one.equal(of(rank) * size)
                one = torch.empty(5); dist.reduce_scatter_tensor(one, torch.cat([of(r) for r in range(size)])); assert one.equal(of(rank) * size)
                into = [torch.empty(5) for _ in range(size)]
                dist.all_to_all(into, [of(rank * 10 + r) for r in range(size)]); assert all(p.equal(of(r * 10 + rank)) for r, p in enumerate(into))
                into = torch.empty(size); dist.all_to_all_single(into, torch.full((size,), float(rank))); assert into.equal(torch.arange(float(size)))
                things = [None] * size; dist.all_gather_object(things, {"rank": rank}); assert things[-1] == {"rank": size - 1}
                work = dist.all_reduce(torch.ones(3), async_op=True); work.wait()
                dist.barrier(); dist.monitored_barrier()
                dist.destroy_process_group()
                print("ok")
            """)  # fmt: skip

    def test_messages(self):
        self.check(2, """
            if rank == 0:
                first, second = dist.isend(torch.ones(2000000), 1, tag=1), dist.isend(torch.full((3,), 2.0), 1, tag=2)
                first.wait(); second.wait()
                x = torch.empty(1); dist.recv(x); assert x.item() == 7
            else:
                small, big = torch.empty(3), torch.empty(2000000)
                dist.recv(small, 0, tag=2); assert dist.recv(big, tag=1) == 0
                assert small.eq(2).all() and big.eq(1).all()
                dist.send(torch.tensor([7.0]), 0)
            dist.barrier()
            if rank == 0:
                dist.send(torch.ones(3), 1, tag=4)
            else:
                try:
                    dist.recv(torch.empty(4), 0, tag=4)
                except RuntimeError as error:
                    assert "expected 16 bytes from rank 0 with tag 4, got 12" in str(error), error
                else:
                    raise AssertionError
            print("ok")
        """)  # fmt: skip

    def test_groups_of_some_ranks_in_their_own_order(self):
        self.check(3, """
            group = dist.new_group([2, 0], sort_ranks=False)
            pair = dist.new_group([1, 2])
            if rank != 1:
                assert dist.get_rank(group) == (0 if rank == 2 else 1)
                x = torch.tensor([float(rank)]); dist.broadcast(x, 2, group=group); assert x.item() == 2
            if rank:
                x = torch.ones(1); dist.all_reduce(x, group=pair); assert x.item() == 2
            dist.destroy_process_group()
            print("ok")
        """)  # fmt: skip

    def test_data_parallel_training_as_one_process_on_the_joined_batch(self):
        self.check(2, """
            def model():
                torch.manual_seed(3)
                return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
            x, y = torch.randn(8, 6, generator=torch.Generator().manual_seed(1)), torch.randn(8, 1, generator=torch.Generator().manual_seed(2))
            alone, shared = model(), model()
            ddp = torch.nn.parallel.DistributedDataParallel(shared)
            for net, a, b in ((alone, x, y), (ddp, x[rank * 4 : rank * 4 + 4], y[rank * 4 : rank * 4 + 4])):
                optimizer = torch.optim.SGD(net.parameters(), 0.1)
                for _ in range(3):
                    optimizer.zero_grad(); torch.nn.functional.mse_loss(net(a), b).backward(); optimizer.step()
            assert all(p.allclose(q, atol=1e-6) for p, q in zip(alone.parameters(), shared.parameters()))
            print("ok")
        """)  # fmt: skip

    def test_ranks_that_call_different_things_are_told_with_detail(self):
        out, err, code = run_under_mpi(2, """
            dist.set_debug_level(dist.DebugLevel.DETAIL)
            group = dist.new_group([0, 1])
            try:
                dist.all_reduce(torch.ones(4), group=group) if rank == 0 else dist.broadcast(torch.ones(4), 0, group)
            except RuntimeError as error:
                print(error, flush=True)
        """)  # fmt: skip
        self.assertIn("rank 1 at broadcast", out, err)

    def test_a_late_rank_is_an_error_within_the_timeout(self):
        began = time.monotonic()
        out, err, code = run_under_mpi(2, """
            dist.barrier()
            if rank == 1:
                time.sleep(4)
            try:
                dist.all_to_all([torch.empty(1), torch.empty(1)], [torch.ones(1), torch.ones(1)])
                dist.barrier()
            except RuntimeError as error:
                print(rank, error, flush=True)
                time.sleep(4 * (1 - rank))  # mpirun ends all when this rank is gone
        """, seconds=1.5)  # fmt: skip
        self.assertRegex(out, r"0 .*the time is up \(waiting for rank 1\)")
        self.assertRegex(out, r"1 .*rank 0 has failed")
        self.assertLess(time.monotonic() - began, 30)

    def test_a_late_rank_is_named_by_the_calls_that_mpi_makes_itself(self):
        calls = {"barrier": "dist.barrier()", "broadcast": "dist.broadcast(torch.ones(4), 1)", "all_reduce": "dist.all_reduce(torch.ones(4))"}
        for name, call in calls.items():
            out, err, code = run_under_mpi(3, f"""
                dist.barrier()
                if rank == 1:
                    time.sleep(5)
                try:
                    {call}
                except RuntimeError as error:
                    if rank != 1:
                        print(error, flush=True)
                time.sleep(5 * (rank != 1))
            """, seconds=1.5)  # fmt: skip
            # Of both that wait, whose lines mpirun may mix.
            self.assertEqual(out.count(f"{name}: the time is up (waiting for rank 1)"), 2, out + err)

    def test_ranks_in_different_calls_are_told_how_to_compare_them(self):
        out, err, code = run_under_mpi(2, """
            dist.barrier()
            try:
                dist.barrier() if rank == 0 else dist.recv(torch.ones(1), 0)
            except RuntimeError as error:
                print(rank, error, flush=True)
                time.sleep(2)
        """, seconds=1.5)  # fmt: skip
        self.assertRegex(out, r"barrier: the time is up \(all ranks wait: TORCH_DISTRIBUTED_DEBUG=DETAIL")

    def test_a_rank_that_leaves_early_is_named(self):
        out, err, code = run_under_mpi(2, """
            dist.barrier()
            if rank == 0:
                try:
                    dist.recv(torch.empty(1), 1)
                except RuntimeError as error:
                    print(error, flush=True)
        """)  # fmt: skip
        self.assertIn("rank 1 has left the group", out, err)

    def test_a_killed_rank_ends_the_job(self):
        out, err, code = run_under_mpi(2, """
            dist.barrier()
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            dist.barrier()
        """)  # fmt: skip
        self.assertNotEqual(code, 0)
        self.assertIn("signal 9", err)


if __name__ == "__main__":
    unittest.main()
