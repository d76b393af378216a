"""Settings of fully sharded parallelism, which is not there itself: programs choose among them, compare, print and keep them."""

import dataclasses
import enum

import cresset as torch
from cresset import nn

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "DataParallelMeshDims", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
           "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig",
           "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType"]  # fmt: skip


class ShardingStrategy(enum.Enum):
    """The parts that are spread over the ranks: parameters, gradients and states of optimizers; the last two; nothing; all of it within a host.

    >>> from cresset.distributed.fsdp import ShardingStrategy
    >>> ShardingStrategy(1), ShardingStrategy["NO_SHARD"].value
    (<ShardingStrategy.FULL_SHARD: 1>, 3)
    """

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When the next parameters are gathered in a backward pass: before or after the gradients of the present ones.

    >>> torch.distributed.fsdp.BackwardPrefetch.BACKWARD_PRE.value
    1
    """

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """Which parameters a state has: whole ones, this rank's flat ones, this rank's shards.

    >>> torch.distributed.fsdp.StateDictType.FULL_STATE_DICT.value
    1
    """

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class OptimStateKeyType(enum.Enum):
    """How the state of an optimizer calls parameters: by name or by number.

    >>> torch.distributed.fsdp.OptimStateKeyType.PARAM_ID.value
    2
    """

    PARAM_NAME = 1
    PARAM_ID = 2


@dataclasses.dataclass
class MixedPrecision:
    """Dtypes of parameters, of gradients that are reduced and of buffers; None: as they are.

    >>> torch.distributed.fsdp.MixedPrecision(param_dtype=torch.bfloat16).param_dtype
    torch.bfloat16
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: tuple[type, ...] = (nn.modules.batchnorm._BatchNorm,)


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of parameters, of gradients that are reduced and of results; None: as they are.

    >>> torch.distributed.fsdp.MixedPrecisionPolicy(output_dtype=torch.float32).cast_forward_inputs
    True
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class CPUOffload:
    """Whether parameters that are not in use are kept in the CPU's memory.

    >>> torch.distributed.fsdp.CPUOffload(offload_params=True)
    CPUOffload(offload_params=True)
    """

    offload_params: bool = False


@dataclasses.dataclass
class OffloadPolicy:
    """Parameters stay where they are.

    >>> torch.distributed.fsdp.OffloadPolicy()
    OffloadPolicy()
    """


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters that are not in use are kept in the CPU's memory, pinned or not.

    >>> torch.distributed.fsdp.CPUOffloadPolicy()
    CPUOffloadPolicy(pin_memory=True)
    """

    pin_memory: bool = True


def _as_names(names):
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


@dataclasses.dataclass
class DataParallelMeshDims:
    """Names of the dimensions of a mesh that parameters are spread over, and that they are copied over. ValueError where neither is given.

    >>> torch.distributed.fsdp.DataParallelMeshDims(shard='a', replicate=('b', 'c')).replicate_names
    ('b', 'c')
    """

    shard: str | tuple[str, ...] | None = None
    replicate: str | tuple[str, ...] | None = None

    def __post_init__(self):
        if self.shard is None and self.replicate is None:
            raise ValueError("DataParallelMeshDims: expected names for shard or replicate, got neither")

    @property
    def shard_names(self):
        """The names of `shard` as a tuple."""
        return _as_names(self.shard)

    @property
    def replicate_names(self):
        """The names of `replicate` as a tuple."""
        return _as_names(self.replicate)


def _config(name, base, doc, **defaults):
    """A class of settings of states: `offload_to_cpu`, and what else `defaults` has."""
    example = f"\n\n    >>> torch.distributed.fsdp.{name}(offload_to_cpu=True).offload_to_cpu\n    True\n    "
    fields = [(field, bool, value) for field, value in defaults.items()]
    return dataclasses.make_dataclass(name, fields, bases=(base,) if base else (), namespace={"__doc__": doc + example, "__module__": __name__})


StateDictConfig = _config("StateDictConfig", None, "Whether the tensors of a state are the CPU's.", offload_to_cpu=False)
FullStateDictConfig = _config(
    "FullStateDictConfig", StateDictConfig, "For whole parameters, on the first rank alone or on all.", offload_to_cpu=False, rank0_only=False
)
LocalStateDictConfig = _config("LocalStateDictConfig", StateDictConfig, "For this rank's flat parameters.", offload_to_cpu=False)
ShardedStateDictConfig = _config("ShardedStateDictConfig", StateDictConfig, "For this rank's shards.", offload_to_cpu=False, _use_dtensor=False)
OptimStateDictConfig = _config("OptimStateDictConfig", None, "Whether the tensors of an optimizer's state are the CPU's.", offload_to_cpu=True)
FullOptimStateDictConfig = _config("FullOptimStateDictConfig", OptimStateDictConfig, "For whole states, on the first rank alone or on all.", offload_to_cpu=True,
                                   rank0_only=False)  # fmt: skip
LocalOptimStateDictConfig = _config("LocalOptimStateDictConfig", OptimStateDictConfig, "For states of this rank's flat parameters.", offload_to_cpu=False)
ShardedOptimStateDictConfig = _config(
    "ShardedOptimStateDictConfig", OptimStateDictConfig, "For states of this rank's shards.", offload_to_cpu=True, _use_dtensor=False
)


@dataclasses.dataclass
class StateDictSettings:
    """The kind of states, and their settings for modules and optimizers.

    >>> from cresset.distributed.fsdp import *
    >>> StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()).state_dict_config.rank0_only
    False
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
