"""Which operators a checkpointed function keeps the results of."""

from __future__ import annotations

import enum
from collections import defaultdict

import cresset as torch

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map_only


class CheckpointPolicy(enum.Enum):
    """Treatment of the results of an operator: kept (SAVE) or computed again (RECOMPUTE); MUST forbids a compiler to decide otherwise.

    With CPU_OFFLOAD they are kept in the memory of the CPU.

    >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """Argument of a policy: whether the function runs again, and, the first time, the operator's result.

    >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


_ASKING = "detach dim is_contiguous numel size storage_offset stride".split()  # these compute nothing
SAC_IGNORED_OPS = {
    getattr(packet, overload)
    for packet in (getattr(torch.ops.aten, name, None) for name in _ASKING) if packet
    for overload in packet.overloads() if not overload.endswith("out")
}  # fmt: skip


def _is_keepable(op):
    """Whether a copy of the results can stand for a call: it writes nothing, and gives no view."""
    return op._schema is not None and not op._schema.is_mutable and all(value.alias_info is None for value in op._schema.returns)


class _Kept:
    def __init__(self, tensor):
        self.tensor, self.version = tensor.detach(), tensor._version

    def copy(self, allow_mutation):
        """One that operators which come after may change in place."""
        if self.tensor._version != self.version and not allow_mutation:
            raise RuntimeError("checkpoint: a result that was kept has been written since; allow_cache_entry_mutation=True accepts its new value")
        return self.tensor.clone()


class _First(TorchDispatchMode):
    """Runs the function and keeps what the policy wants kept."""

    def __init__(self, policy, storage):
        super().__init__()
        self.policy, self.storage = policy, storage

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = op(*args, **kwargs)
        if op not in SAC_IGNORED_OPS:
            wanted = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), op, *args, **kwargs)
            if not isinstance(wanted, (bool, CheckpointPolicy)):
                raise TypeError(f"selective checkpoint: the policy returned {wanted!r}, expected a CheckpointPolicy")
            is_kept = (wanted is True or wanted in _KEPT) and _is_keepable(op)
            self.storage[op].append((tree_map_only(torch.Tensor, _Kept, out),) if is_kept else None)
        return out


class _Again(TorchDispatchMode):
    """Runs the function, and takes what was kept instead of computing it."""

    def __init__(self, storage, allow_mutation):
        super().__init__()
        self.storage, self.allow_mutation = storage, allow_mutation

    def __enter__(self):
        self.turns = defaultdict(int)
        return super().__enter__()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op in SAC_IGNORED_OPS:
            return op(*args, **kwargs)
        turn, known = self.turns[op], self.storage[op]
        self.turns[op] += 1
        if turn >= len(known) and any(known):
            raise RuntimeError(f"checkpoint: backward runs {op} {turn + 1} times, the first run {len(known)} times: its results are kept for those only")
        if turn >= len(known) or known[turn] is None:
            return op(*args, **kwargs)
        return tree_map_only(_Kept, lambda kept: kept.copy(self.allow_mutation), known[turn][0])


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The contexts of a checkpoint that keeps the results of some operators: `checkpoint(..., context_fn=partial(this, policy))`.

    Args:
        policy_fn_or_list: a function (context, operator, *args, **kwargs) -> `CheckpointPolicy` (or whether to keep), or a list of the operators
            to keep, as ``torch.ops.aten.mm.default``: those that a `TorchDispatchMode` sees. Of operators that write, or give views, nothing is kept.
        allow_cache_entry_mutation: whether what was kept may be changed in place before it is used.

    Errors: ValueError for a list of something else, TypeError for neither; RuntimeError, in backward, for what was changed in place.

    >>> from functools import partial
    >>> from cresset.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.eye(2, requires_grad=True)
    >>> keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> checkpoint(lambda x: (x @ x).sin().sum(), x, use_reentrant=False, context_fn=keep).backward()
    >>> x.grad.diagonal()
    tensor([1.0806, 1.0806])
    """
    if isinstance(policy_fn_or_list, list):
        from cresset.ops import _Overload

        for op in policy_fn_or_list:
            if not isinstance(op, _Overload):
                raise ValueError(f"expected OpOverloads in op_list, got {op} of type {type(op)}.")
        chosen = list(policy_fn_or_list)

        def policy(context, op, *args, **kwargs):
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(f"checkpoint: expected policy_fn_or_list to be a function or a list of operators, got {type(policy_fn_or_list).__name__}")
    storage = defaultdict(list)
    return _First(policy, storage), _Again(storage, allow_cache_entry_mutation)
