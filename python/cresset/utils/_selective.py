"""Which operators a checkpointed function keeps the results of."""

from __future__ import annotations

import enum
from collections import defaultdict
from functools import partial

import _cresset
import cresset as torch
from cresset.overrides import TorchFunctionMode, redispatch_function

from ._pytree import tree_flatten, tree_unflatten


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

_SLOTS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_",
          "conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "conv_transpose1d": "convolution", "conv_transpose2d": "convolution",
          "conv_transpose3d": "convolution", "scaled_dot_product_attention": "_scaled_dot_product_flash_attention_for_cpu"}  # fmt: skip
_PRODUCTS = {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (3, 3): "bmm"}


def _is_leaf(function):
    return type(function).__name__ in ("Op", "OpMethod", "wrapper_descriptor", "method_descriptor", "method-wrapper", "builtin_function_or_method")


def _operator(function, args):
    """The operator of the table that a call comes down to; the function itself where there is none."""
    name = function.__name__.strip("_") if function.__name__.startswith("__") else function.__name__
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if name in ("matmul", "rmatmul") and len(tensors) == 2:
        name = _PRODUCTS.get((tensors[0].dim(), tensors[1].dim()), "matmul")
    elif name == "linear":
        name = "addmm" if len(tensors) > 2 else "mm"
    packet = getattr(torch.ops.aten, _SLOTS.get(name, name), None)
    if packet is None:
        return function
    overloads = packet.overloads()
    for wanted in ("default", "Tensor" if len(tensors) > 1 else "Scalar", overloads[0]):
        if wanted in overloads:
            return getattr(packet, wanted)
    raise AssertionError("an operator has an overload")


class _NotALeaf(torch.autograd.Function):
    """Stands for a computation that is not done again: what comes after it may change its result in place."""

    @staticmethod
    def forward(ctx, anchor, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        raise AssertionError("no gradient comes here")


def _place(tensor):
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def _tensors(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


class _Selective(TorchFunctionMode):
    recorder = None  # that of the checkpoint, from when the context begins

    def __init__(self, policy, storage, allow_mutation):
        super().__init__()
        self.policy, self.storage, self.allow_mutation = policy, storage, allow_mutation

    def __enter__(self):
        self.recorder = self.recorder or _cresset.current_recorder()
        return super().__enter__()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not _is_leaf(function):
            with self:
                return redispatch_function(function, types, args, kwargs)
        op = _operator(function, args)
        if function.__name__ in _ASKING or op in SAC_IGNORED_OPS or not _tensors((args, kwargs)):
            return function(*args, **kwargs)
        return self.run(function, op, args, kwargs)

    def keeps(self, op, args, kwargs, context):
        policy = self.policy(context, op, *args, **kwargs)
        if isinstance(policy, bool):
            return policy
        if not isinstance(policy, CheckpointPolicy):
            raise TypeError(f"selective checkpoint: the policy returned {policy!r}, expected a CheckpointPolicy")
        return policy in _KEPT


class _First(_Selective):
    """Runs the function and keeps what the policy wants kept."""

    def run(self, function, op, args, kwargs):
        packed = []
        if self.recorder is None:
            out = function(*args, **kwargs)
        else:
            pack, unpack = (partial(hook, _cresset.kept_recorder(self.recorder)) for hook in (_cresset.recorder_pack, _cresset.recorder_unpack))
            with torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(_place(t)), pack(t))[1], unpack):
                out = function(*args, **kwargs)
        if not _tensors(out) or not self.keeps(op, args, kwargs, SelectiveCheckpointContext(is_recompute=False, op_output=out)):
            self.storage[op].append(None)
            return out
        given, made = [_place(t) for t in _tensors((args, kwargs))], [_place(t) for t in _tensors(out)]
        roles = [("out", made.index(p)) if p in made else ("in", given.index(p)) if p in given else None for p in packed]
        flat, spec = tree_flatten(out)
        kept = [(leaf.detach(), leaf._version, leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf for leaf in flat]
        self.storage[op].append((kept, spec, roles))
        return out


class _Again(_Selective):
    """Runs the function, and takes what was kept instead of computing it: the policy is asked once, in the first run."""

    def __enter__(self):
        self.turns = defaultdict(int)
        return super().__enter__()

    def run(self, function, op, args, kwargs):
        turn, known = self.turns[op], self.storage[op]
        self.turns[op] += 1
        if turn >= len(known) and any(entry is not None for entry in known):
            raise RuntimeError(f"checkpoint: backward runs {op} {turn + 1} times, the first run {len(known)} times: its results are kept for those only")
        if turn >= len(known) or known[turn] is None:
            return function(*args, **kwargs)
        kept, spec, roles = known[turn]
        for entry in kept:
            if isinstance(entry, tuple) and entry[0]._version != entry[1] and not self.allow_mutation:
                raise RuntimeError("checkpoint: a result that was kept has been written since; allow_cache_entry_mutation=True accepts its new value")
        if any(role is None for role in roles):  # something that only the computation gives is needed for the gradient
            return function(*args, **kwargs)
        given, made = _tensors((args, kwargs)), [entry[0] for entry in kept if isinstance(entry, tuple)]
        for kind, place in roles:
            _cresset.recorder_keep(self.recorder, (made if kind == "out" else given)[place])
        return tree_unflatten([self.again(entry) if isinstance(entry, tuple) else entry for entry in kept], spec)

    @staticmethod
    def again(entry):
        tensor, _, requires_grad = entry
        return _NotALeaf.apply(torch.empty(0, requires_grad=True), tensor) if requires_grad else tensor.clone()


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The contexts of a checkpoint that keeps the results of some operators: `checkpoint(..., context_fn=partial(this, policy))`.

    Args:
        policy_fn_or_list: a function (context, operator, *args, **kwargs) -> `CheckpointPolicy` (or whether to keep), or a list of the operators
            to keep, as ``torch.ops.aten.mm.default``. Products by ``@``, `linear` and convolutions count as ``mm``, ``addmm``, ``bmm`` and
            ``convolution``; other calls as the operator of their name.
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
    return _First(policy, storage, allow_cache_entry_mutation), _Again(policy, storage, allow_cache_entry_mutation)
