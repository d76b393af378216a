"""Collectives under their names in `torch.ops`: values, gradients, shapes without data, and the objects that they take."""

import sys
import unittest

import cresset.distributed as dist
from distributed_test import run_ranks

import cresset as torch

OPERATORS = torch.ops._c10d_functional


class OfTwoRanks(unittest.TestCase):
    def test_values(self):
        run_ranks(2, """
            o = torch.ops._c10d_functional
            def check(got, expected):
                assert torch.equal(o.wait_tensor(got), torch.as_tensor(expected, dtype=got.dtype)), (rank, got, expected)
            own = torch.tensor([1.0, 2.0]) * (rank + 1)
            check(o.all_reduce(own, "sum", "0"), [3.0, 6.0]); check(own, [1.0 * (rank + 1), 2.0 * (rank + 1)])
            check(o.all_reduce(own, "max", dist.group.WORLD), [2.0, 4.0])
            check(o.all_gather_into_tensor(own, 2, "0"), [1.0, 2.0, 2.0, 4.0])
            check(o.reduce_scatter_tensor(own, "avg", 2, "0"), [1.5 * (rank + 1)])
            check(o.all_to_all_single(own, [1, 1], [1, 1], "0"), [[1.0, 2.0], [2.0, 4.0]][rank] if rank == 0 else [2.0, 4.0])
            check(o.broadcast(own, 1, "0"), [2.0, 4.0])
            check(o.all_reduce_coalesced([own, own + 1], "sum", "0")[1], [5.0, 8.0])
            check(torch.ops._dtensor.shard_dim_alltoall(torch.full((1, 2), float(rank)), 0, 1, "0"), [[0.0], [1.0]])
            out = torch.empty(4); assert o.all_gather_into_tensor_out(own, 2, "0", out=out) is out; check(out, [1.0, 2.0, 2.0, 4.0])
            here = own.clone(); assert o.all_reduce_(here, "sum", "0") is here; check(here, [3.0, 6.0])
            older = torch.ops.c10d_functional
            check(older.wait_tensor(older.all_reduce(own, "sum", "", [0, 1], 2)), [3.0, 6.0])
            check(older.all_gather_into_tensor(own, "", [0, 1], 2), [1.0, 2.0, 2.0, 4.0])
            far = torch.empty(2)
            messages = o.batch_p2p_ops(["isend", "irecv"], [1 - rank] * 2, [3, 3], [own, far], "0")
            check(messages[1], torch.tensor([1.0, 2.0]) * (2 - rank))
            g = dist.group.WORLD
            tensors, work = torch.ops.c10d.allreduce_([here], g, dist.ReduceOp.SUM, None)
            work.wait(); check(tensors[0], [6.0, 12.0]); assert tensors[0] is here
            parts = [[torch.empty(2), torch.empty(2)]]
            torch.ops.c10d.allgather_(parts, [own], g, False); check(torch.cat(parts[0]), [1.0, 2.0, 2.0, 4.0])
            given = torch.empty(1)
            torch.ops.c10d.scatter_([given], [[torch.tensor([7.0]), torch.tensor([8.0])]] if rank == 0 else [], g, 0, False); check(given, [7.0 + rank])
            torch.ops.c10d.broadcast_([here], g, 1, 0, timeout=20000)[1].wait(); check(here, [6.0, 12.0])
            torch.ops.c10d.barrier(torch.empty(0), g, []).wait()
        """)  # fmt: skip

    def test_gradients(self):
        run_ranks(2, """
            import cresset.distributed._functional_collectives as functional
            def gradient(call):
                x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64) * (rank + 1)
                x.requires_grad_()
                out = functional.wait_tensor(call(x))
                (out * (torch.arange(float(out.numel())).view_as(out) + rank)).sum().backward()
                return x.grad.tolist()
            o, w = torch.ops._c10d_functional, [[0.0 + rank, 1.0 + rank], [2.0 + rank, 3.0 + rank]]
            assert gradient(lambda x: o.all_reduce(x, "sum", "0")) == [[1.0, 3.0], [5.0, 7.0]]
            assert gradient(lambda x: o.all_reduce(x, "avg", "0")) == [[0.5, 1.5], [2.5, 3.5]]
            assert gradient(lambda x: o.all_gather_into_tensor(x, 2, "0")) == ([[1.0, 3.0], [5.0, 7.0]] if rank == 0 else [[9.0, 11.0], [13.0, 15.0]])
            assert gradient(lambda x: o.reduce_scatter_tensor(x, "sum", 2, "0")) == [[0.0, 1.0], [1.0, 2.0]]
            assert gradient(lambda x: o.all_to_all_single(x, [1, 1], [1, 1], "0")) == ([[0.0, 1.0], [1.0, 2.0]] if rank == 0 else [[2.0, 3.0], [3.0, 4.0]])
            assert gradient(lambda x: functional.all_gather_tensor(x, 1, dist.group.WORLD)) == ([[1.0, 3.0], [9.0, 11.0]] if rank == 0 else [[5.0, 7.0], [13.0, 15.0]])
            try:
                gradient(lambda x: o.all_reduce(x, "max", "0"))
            except RuntimeError as error:
                assert "'max' has none" in str(error), error
            else:
                raise AssertionError("a maximum has no gradient")
        """)  # fmt: skip


class WithoutData(unittest.TestCase):
    def test_meta_tensors_get_the_shapes_of_results(self):
        x = torch.empty(4, 3, device="meta")
        self.assertEqual(OPERATORS.all_gather_into_tensor(x, 8, "any").shape, (32, 3))
        self.assertEqual(OPERATORS.reduce_scatter_tensor(x, "sum", 2, "any").shape, (2, 3))
        self.assertEqual(OPERATORS.all_to_all_single(x, [1, 4], [2, 2], "any").shape, (5, 3))
        self.assertEqual([t.device.type for t in OPERATORS.all_reduce_coalesced([x, x], "sum", "any")], ["meta", "meta"])
        with self.assertRaisesRegex(RuntimeError, "that 3 ranks divide, got 4"):
            OPERATORS.reduce_scatter_tensor(x, "sum", 3, "any")

    def test_fake_tensors_reach_no_group(self):
        with torch._subclasses.FakeTensorMode():
            x = torch.empty(4, 3)
            self.assertEqual(OPERATORS.wait_tensor(OPERATORS.all_gather_into_tensor(x, 8, "none is open")).shape, (32, 3))


class Names(unittest.TestCase):
    def test_schemas(self):
        self.assertEqual(str(OPERATORS.all_reduce.default._schema), "_c10d_functional::all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor")
        scatter = torch.ops.c10d.scatter_.default._schema
        self.assertEqual([str(a.type) for a in scatter.arguments[:3]], ["List[Tensor]", "List[List[Tensor]]", "__torch__.torch.classes.c10d.ProcessGroup"])
        self.assertEqual(scatter.arguments[2].type.kind(), "ClassType")

    def test_wrong_arguments(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            for group, text in ((3, "a group or its name, got int"), ("7", "no open group has the name '7'")):
                with self.assertRaisesRegex(RuntimeError, text):
                    OPERATORS.all_reduce(torch.ones(1), "sum", group)
            with self.assertRaisesRegex(RuntimeError, "got 'SUM'"):
                OPERATORS.all_reduce(torch.ones(1), "SUM", "0")
            with self.assertRaisesRegex(RuntimeError, "for argument 'process_group'"):
                torch.ops.c10d.allreduce_([torch.ones(1)], "0", dist.ReduceOp.SUM, None)
            with self.assertRaisesRegex(RuntimeError, "for argument 'input_tensors'"):
                torch.ops.c10d.scatter_([torch.ones(1)], [torch.ones(1)], dist.group.WORLD, 0)
        finally:
            dist.destroy_process_group()

    def test_a_class_with_dispatch_sees_the_operator(self):
        seen = []

        class Seeing(torch.Tensor):
            @staticmethod
            def __new__(cls, data):
                return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

            def __init__(self, data):
                self.data_ = data

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return cls(func(args[0].data_, *args[1:]))

        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            out = dist._functional_collectives.all_reduce(Seeing(torch.ones(2)), "sum", dist.group.WORLD)
        finally:
            dist.destroy_process_group()
        self.assertIsInstance(out, Seeing)
        self.assertEqual(seen, ["_c10d_functional.all_reduce.default"])

    def test_programs_that_ask_for_other_operators_do_not_load_groups(self):
        import subprocess

        code = "import sys, cresset as torch; torch.ops.aten.add; print('cresset.distributed._operators' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, "False\n")


if __name__ == "__main__":
    unittest.main()
