"""Fake tensors held against real ones."""

from _cresset import Tensor

import cresset as torch

from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map
from .fake_tensor import FakeTensorMode, UnsupportedFakeTensorException, is_fake

__all__ = ["CrossRefFakeMode", "MetadataMismatchError", "output_alias_each_other", "outputs_alias_inputs", "outputs_are_inputs"]


class MetadataMismatchError(RuntimeError):
    """A fake tensor that is not like the real one."""


def _memory(value):
    return value.untyped_storage()._cdata if value.layout is torch.strided else id(value)


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


def outputs_alias_inputs(outputs, inputs):
    """Whether a tensor among the results lies in memory of one among the arguments.

    >>> x = torch.ones(2)
    >>> torch._subclasses.fake_utils.outputs_alias_inputs(x[1:], [x])
    True
    """
    held = {_memory(t) for t in _tensors(inputs)}
    return any(_memory(t) in held for t in _tensors(outputs))


def outputs_are_inputs(outputs, inputs):
    """Whether a tensor among the results is one of the arguments itself.

    >>> x = torch.ones(2)
    >>> torch._subclasses.fake_utils.outputs_are_inputs(x[1:], [x])
    False
    """
    held = {id(t) for t in _tensors(inputs)}
    return any(id(t) in held for t in _tensors(outputs))


def output_alias_each_other(outputs):
    """Whether two tensors among the results share memory.

    >>> torch._subclasses.fake_utils.output_alias_each_other(torch.ones(4).chunk(2))
    True
    """
    held = list(map(_memory, _tensors(outputs)))
    return len(set(held)) < len(held)


class CrossRefFakeMode(TorchDispatchMode):
    """Runs each operator on fake tensors too, and compares the results: their number, shapes, strides, dtypes, devices and shared memory.
    Operators whose results only the data tells, and layouts without fake tensors, are left alone.

    Args:
        ignore_op_fn: a function of an operator; True for those that are left alone.
        check_strides, check_aliasing: compare strides, and which memory is shared.
        only_check_ops_with_meta: False is refused: there are no operators without rules for fake tensors that could be checked too.

    Errors: MetadataMismatchError with the operator and the first fact that differs.

    >>> with torch._subclasses.CrossRefFakeMode():
    ...     _ = torch.ones(2, 3).t() @ torch.ones(2, 4)
    """

    def __init__(self, ignore_op_fn=None, *, check_strides=True, check_aliasing=True, only_check_ops_with_meta=True):
        super().__init__()
        if not only_check_ops_with_meta:
            raise NotImplementedError("CrossRefFakeMode: only_check_ops_with_meta=False asks for operators without rules for fake tensors, and there are none")
        self.ignore_op_fn = ignore_op_fn if ignore_op_fn is not None else lambda op: False
        self.check_strides, self.check_aliasing, self.only_check_ops_with_meta = check_strides, check_aliasing, only_check_ops_with_meta

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = (args, kwargs)
        # How many elements a sparse tensor stores is not known of a fake one.
        if self.ignore_op_fn(func) or any(is_fake(tensor) or tensor.layout is not torch.strided for tensor in _tensors(given)):
            return func(*args, **kwargs)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        try:
            fakes = tree_map(lambda leaf: mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf, given)
            with mode:
                expected = func(*fakes[0], **fakes[1])
        except (UnsupportedFakeTensorException, NotImplementedError):  # only data tells
            return func(*args, **kwargs)
        found = func(*args, **kwargs)
        self._compare(func, _tensors(expected), fakes, _tensors(found), given)
        return found

    def _compare(self, func, expected, fakes, found, given):
        facts = [("number of results", len(expected), len(found))]
        if self.check_aliasing:
            pairs = ((expected, fakes), (found, given))
            facts.append(("memory shared with arguments", *(outputs_alias_inputs(*pair) for pair in pairs)))
            facts.append(("arguments among the results", *(outputs_are_inputs(*pair) for pair in pairs)))
            facts.append(("memory shared by results", output_alias_each_other(expected), output_alias_each_other(found)))
        for fake, real in zip(expected, found, strict=False):
            names = ["shape", "dtype", "device", "layout"]
            facts += [(name, getattr(fake, name), getattr(real, name)) for name in names]
            if self.check_strides and real.layout is torch.strided and fake.shape == real.shape:
                facts.append(("strides", _strides_that_count(fake), _strides_that_count(real)))
                facts.append(("storage offset", fake.storage_offset(), real.storage_offset()))
        for name, one, other in facts:
            if one != other:
                raise MetadataMismatchError(f"{func}: the fake result has {name} {one}, the real one {other}")


def _strides_that_count(tensor):
    """Strides of dimensions of more than one element."""
    return tuple(stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1) if tensor.numel() else ()
