"""Functional tensors and plain ones: from one to the other, and what was written."""

import dataclasses

import _cresset

import cresset as torch

from ..._subclasses.functional_tensor import FunctionalTensor

_aten = torch.ops.aten


def to_fun(t):
    """A tensor as a FunctionalTensor of the mode in force; anything else as it is. AssertionError outside of a mode.

    >>> x = torch.ones(1)
    >>> with torch._subclasses.functional_tensor.FunctionalTensorMode():
    ...     torch._functorch._aot_autograd.functional_utils.to_fun(x).add_(1)
    FunctionalTensor(_to_functional_tensor(tensor([2.])))
    """
    return FunctionalTensor.to_functional(t) if isinstance(t, torch.Tensor) else t


def from_fun(t):
    """The value of a FunctionalTensor; anything else as it is.

    >>> torch._functorch._aot_autograd.functional_utils.from_fun(3)
    3
    """
    return t.from_functional() if isinstance(t, FunctionalTensor) else t


def is_fun(t):
    """Whether `t` is a FunctionalTensor."""
    return isinstance(t, FunctionalTensor)


def sync_functional_tensor(t):
    """Makes a view see the changes of its base."""
    t.sync()


def _changes(t):
    return _cresset.functional_changes(t.elem) if is_fun(t) else (0, 0, 0, False)


def has_data_mutation(t):
    """Whether a FunctionalTensor, or what it is a view of, has been written."""
    return _changes(t)[0] > 0


def are_all_mutations_hidden_from_autograd(t):
    """Whether each of the changes of a FunctionalTensor was marked as one that gradients need not know of."""
    changes, hidden, _, _ = _changes(t)
    return hidden >= changes


def are_all_mutations_under_no_grad_or_inference_mode(t):
    """Whether a FunctionalTensor was written with gradients off alone."""
    changes, _, unrecorded, _ = _changes(t)
    return unrecorded == changes


def _geometry(t):
    return tuple(t.shape), t.stride(), t.storage_offset()


def has_metadata_mutation(f_arg, arg, *, check_only_storage_mutation):
    """Whether a FunctionalTensor has other sizes, strides or offset than the tensor that it was made of, as after `t_()`.

    With `check_only_storage_mutation` the question is whether it was given other memory, by `set_`, which functional tensors refuse: never.
    """
    if not is_fun(f_arg):
        raise AssertionError(f"has_metadata_mutation: expected a FunctionalTensor, got a {type(f_arg).__name__}")
    return not check_only_storage_mutation and _geometry(f_arg.elem) != _geometry(arg)


def has_same_metadata(t1, t2):
    """Whether two tensors agree in sizes, strides, offset, layout and lazy conjugation and negation.

    >>> x = torch.ones(2, 3)
    >>> same = torch._functorch._aot_autograd.functional_utils.has_same_metadata
    >>> same(x, x.clone()), same(x, x.t())
    (True, False)
    """
    return MetadataKey.make(t1) == MetadataKey.make(t2)


@dataclasses.dataclass(frozen=True)
class MetadataKey:
    """The facts that `has_same_metadata` compares."""

    size: tuple
    layout: object
    is_sparse: bool
    stride: tuple | None
    storage_offset: int | None
    is_conj: bool
    is_neg: bool

    @staticmethod
    def make(t):
        """That of a tensor."""
        strided = t.layout is torch.strided
        return MetadataKey(tuple(t.shape), t.layout, t.is_sparse, t.stride() if strided else None, t.storage_offset() if strided else None, t.is_conj(), t.is_neg())  # fmt: skip


def was_tensor_updated(arg, new_arg):
    """Whether a tensor that a function left in place of its argument is another one."""
    return arg is not new_arg


def was_tensor_metadata_updated(arg, new_arg):
    """Whether that one is of the same memory and other sizes or strides."""
    return arg is not new_arg and arg.untyped_storage()._cdata == new_arg.untyped_storage()._cdata and not has_same_metadata(arg, new_arg)


def gen_alias_from_base(aliased_base_tensor, target_meta_tensor, target_requires_grad, target_view_meta_sequence=None, *, replay_views):
    """A view of a tensor, with the sizes, strides and offset that another one has.

    Args:
        aliased_base_tensor: the tensor to look at.
        target_meta_tensor: the tensor that says how.
        target_requires_grad: of the result.
        replay_views: make it by the views that `target_meta_tensor` was made by, where its base has the sizes of the tensor.

    Errors: NotImplementedError for a `target_view_meta_sequence`.
    """
    if target_view_meta_sequence is not None:
        raise NotImplementedError("gen_alias_from_base: target_view_meta_sequence is not supported; views are those of target_meta_tensor")
    base = target_meta_tensor._base
    if replay_views and base is not None and has_same_metadata(base, aliased_base_tensor):
        out = target_meta_tensor._view_func(aliased_base_tensor)
    elif has_same_metadata(aliased_base_tensor, target_meta_tensor):
        out = aliased_base_tensor.view(target_meta_tensor.shape)
    else:
        out = aliased_base_tensor.as_strided(*_geometry(target_meta_tensor))
    if aliased_base_tensor.requires_grad and not target_requires_grad:
        return out.detach()
    return out.requires_grad_(True) if target_requires_grad and not aliased_base_tensor.requires_grad else out


def _writes(node):
    return node.op == "call_function" and getattr(getattr(node.target, "_schema", None), "is_mutable", False)


def assert_functional_graph(fx_g):
    """The number of `copy_` nodes of a graph, which write its inputs. AssertionError for any other node that writes.

    >>> traced = torch.fx.experimental.proxy_tensor.make_fx(torch.sin)(torch.ones(1))
    >>> torch._functorch._aot_autograd.functional_utils.assert_functional_graph(traced.graph)
    0
    """
    count = 0
    for node in filter(_writes, fx_g.nodes):
        if node.target is not _aten.copy_.default or node.args[0].op != "placeholder":
            raise AssertionError(f"assert_functional_graph: expected no writes but those to inputs at the end, got {node.format_node()}")
        count += 1
    return count


def propagate_input_mutation_stacktraces(fx_g):
    """Lets the `copy_` nodes that write inputs say where in the program these were written: where the value that they copy was made."""
    for node in fx_g.nodes:
        if node.target is _aten.copy_.default and "stack_trace" in getattr(node.args[1], "meta", {}):
            node.meta["stack_trace"] = node.args[1].meta["stack_trace"]
