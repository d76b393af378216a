"""Settings of parallelism that is not there: enumerations, configurations and placements, which programs choose among and keep."""

import copy
import pickle
import unittest

import cresset.distributed as dist
import cresset.distributed.fsdp as fsdp
from cresset.distributed.tensor import Partial, Replicate, Shard

import cresset as torch


class Settings(unittest.TestCase):
    def test_enumerations(self):
        for cls, names in (
            (fsdp.ShardingStrategy, "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2"), (fsdp.BackwardPrefetch, "BACKWARD_PRE BACKWARD_POST"),
            (fsdp.StateDictType, "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT"), (fsdp.OptimStateKeyType, "PARAM_NAME PARAM_ID"),
        ):  # fmt: skip
            self.assertEqual([(m.name, m.value) for m in cls], [(n, i) for i, n in enumerate(names.split(), 1)])

    def test_configurations_compare_and_travel(self):
        for made in (
            fsdp.MixedPrecision(torch.bfloat16), fsdp.MixedPrecisionPolicy(torch.bfloat16), fsdp.CPUOffload(True), fsdp.CPUOffloadPolicy(), fsdp.OffloadPolicy(),
            fsdp.FullStateDictConfig(True, True), fsdp.ShardedStateDictConfig(), fsdp.LocalStateDictConfig(), fsdp.FullOptimStateDictConfig(), fsdp.LocalOptimStateDictConfig(),
            fsdp.ShardedOptimStateDictConfig(), fsdp.DataParallelMeshDims("a"),
        ):  # fmt: skip
            with self.subTest(made):
                self.assertEqual((copy.deepcopy(made), pickle.loads(pickle.dumps(made))), (made, made))
        self.assertNotEqual(fsdp.MixedPrecision(), fsdp.MixedPrecision(torch.half))
        self.assertEqual((fsdp.FullOptimStateDictConfig().offload_to_cpu, fsdp.LocalOptimStateDictConfig().offload_to_cpu), (True, False))
        self.assertIsInstance(fsdp.FullStateDictConfig(), fsdp.StateDictConfig)
        self.assertEqual(repr(fsdp.FullStateDictConfig()), "FullStateDictConfig(offload_to_cpu=False, rank0_only=False)")
        with self.assertRaises(AttributeError):
            fsdp.MixedPrecisionPolicy().param_dtype = torch.half
        with self.assertRaisesRegex(ValueError, "got neither"):
            fsdp.DataParallelMeshDims()

    def test_placements(self):
        self.assertEqual(
            {Shard(1), Shard(1), Shard(0), Replicate(), Replicate(), Partial(), Partial("sum"), Partial("avg")},
            {Shard(0), Shard(1), Replicate(), Partial(), Partial("avg")},
        )
        self.assertEqual([str(p) for p in (Shard(1), Replicate(), Partial("avg"))], ["S(1)", "R", "P(avg)"])
        self.assertEqual((Shard(1).is_shard(), Shard(1).is_shard(0), Partial().is_partial("avg"), Replicate().is_replicate()), (True, False, False, True))
        pieces = [Shard.local_shard_size_and_offset(size, n, rank) for size in (10, 2, 0) for n in (3, 4) for rank in range(n)]
        whole = [(4, 0), (4, 4), (2, 8), (3, 0), (3, 3), (3, 6), (1, 9), (1, 0), (1, 1), (0, 2), (1, 0), (1, 1), (0, 2), (0, 2)] + [(0, 0)] * 7
        self.assertEqual(pieces, whole)
        with self.assertRaisesRegex(TypeError, "expected dim as an integer, got str"):
            Shard("a")

    def test_groups_of_nccl_say_what_is_missing(self):
        with self.assertRaisesRegex(RuntimeError, "CUDA devices are not there.*'gloo'"):
            dist.ProcessGroupNCCL(dist.HashStore(), 0, 1)
        self.assertFalse(dist.is_nccl_available())

    def test_the_parallelism_is_not_there(self):
        from cresset.distributed._composable.fsdp import MixedPrecisionPolicy
        from cresset.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel, ShardingStrategy

        self.assertIs(ShardingStrategy, fsdp.ShardingStrategy)
        self.assertIs(MixedPrecisionPolicy, fsdp.MixedPrecisionPolicy)
        with self.assertRaisesRegex(NotImplementedError, "no fully sharded parallelism"):
            FullyShardedDataParallel(torch.nn.Linear(1, 1), sharding_strategy=ShardingStrategy.FULL_SHARD)
        with self.assertRaisesRegex(NotImplementedError, "no fully sharded parallelism"):
            fsdp.fully_shard(torch.nn.Linear(1, 1))


if __name__ == "__main__":
    unittest.main()
