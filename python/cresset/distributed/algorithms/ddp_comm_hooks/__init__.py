"""Ways to average gradients: `register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model)`, or a hook of a module here by `register_comm_hook`."""

import enum
import functools

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook, quantization_hooks

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """The hooks by name; the value of each is the function.

    >>> from cresset.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
    >>> DDPCommHookType.NOOP.name
    'NOOP'
    """

    ALLREDUCE = enum.member(functools.partial(default_hooks.allreduce_hook))
    FP16_COMPRESS = enum.member(functools.partial(default_hooks.fp16_compress_hook))
    BF16_COMPRESS = enum.member(functools.partial(default_hooks.bf16_compress_hook))
    QUANTIZE_PER_TENSOR = enum.member(functools.partial(quantization_hooks.quantization_pertensor_hook))
    QUANTIZE_PER_CHANNEL = enum.member(functools.partial(quantization_hooks.quantization_perchannel_hook))
    POWER_SGD = enum.member(functools.partial(powerSGD_hook.powerSGD_hook))
    POWER_SGD_RANK2 = enum.member(functools.partial(powerSGD_hook.powerSGD_hook, rank=2))
    BATCHED_POWER_SGD = enum.member(functools.partial(powerSGD_hook.batched_powerSGD_hook))
    BATCHED_POWER_SGD_RANK2 = enum.member(functools.partial(powerSGD_hook.batched_powerSGD_hook, rank=2))
    NOOP = enum.member(functools.partial(debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Registers the hook of a type with a model. PowerSGD makes its state where none is given.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, net)
    >>> net(torch.ones(1, 2)).sum().backward(); net.module.bias.grad
    tensor([1.])
    """
    hook = comm_hook_type.value
    if "POWER_SGD" in comm_hook_type.name and state is None:
        state = powerSGD_hook.PowerSGDState(process_group=None, matrix_approximation_rank=hook.keywords.get("rank", 1))
    group_or_state = state
    model.register_comm_hook(group_or_state, functools.partial(hook.func) if hook.keywords else hook)
