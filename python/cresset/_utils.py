"""Functions that rebuild pickled tensors; the names and arguments are PyTorch's."""

import copyreg as _copyreg
from collections import OrderedDict as _OrderedDict

import _cresset
from _cresset import Tensor, UntypedStorage


def _rebuild_storage(data):
    storage = UntypedStorage(len(data))
    memoryview(storage)[:] = data
    return storage


def _rebuild_tensor(storage, storage_offset, size, stride, dtype=None):
    import cresset

    if hasattr(storage, "_untyped_storage"):
        storage_offset += getattr(storage, "_start", 0)
        storage, dtype = storage._untyped_storage, dtype or storage.dtype
    out = cresset.empty(0, dtype=dtype or cresset.get_default_dtype(), device=storage.device)
    return out.set_(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    out = _rebuild_tensor(storage if hasattr(storage, "_untyped_storage") else storage[0], storage_offset, size, stride, *storage_and_dtype(storage)[1:])
    return _finish(out, requires_grad, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    return _finish(_rebuild_tensor(storage_and_dtype(storage)[0], storage_offset, size, stride, dtype), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    import cresset

    return cresset.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """A tensor without memory, of a class that holds others."""
    from ._modes.subclasses import make_wrapper_subclass

    return make_wrapper_subclass(
        cls, size, strides=stride, storage_offset=storage_offset, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def _finish(out, requires_grad, metadata):
    if metadata and metadata.get("conj"):
        out = out.conj()
    if metadata and metadata.get("neg"):
        from cresset import _operators

        out = _operators["_neg_view"](out)
    out = out.detach() if metadata else out
    return out.requires_grad_(True) if requires_grad else out


def _element_size(dtype):
    """The bytes of an element."""
    return dtype.itemsize


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device that is given as a number, text or device; -1 for the CPU where that is allowed."""
    import cresset as torch

    if isinstance(device, int) and not isinstance(device, bool):
        return device
    device = torch.device(device) if isinstance(device, str) else device
    if isinstance(device, torch.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"_get_device_index: expected a device that is not the CPU, got {device}")
        if device.index is not None or device.type == "cpu":
            return -1 if device.type == "cpu" else device.index
    if optional:
        return 0
    raise ValueError(f"_get_device_index: expected a device with a number, got {device!r}")


def _flatten_dense_tensors(tensors):
    """One vector of all elements, one tensor after another."""
    import cresset as torch

    return torch.ops.aten.flatten_dense_tensors(list(tensors))


def _unflatten_dense_tensors(flat, tensors):
    """Views of a vector with the shapes of tensors, as `_flatten_dense_tensors` laid them."""
    import cresset as torch

    return tuple(torch.ops.aten.unflatten_dense_tensors(flat, list(tensors)))


def storage_and_dtype(storage):
    """A pair of a storage and a dtype, or an object that has both."""
    return storage if isinstance(storage, tuple) else (storage._untyped_storage, storage.dtype)


def _rebuild_from_type_v2(function, cls, args, state):
    out = function(*args)
    if type(out) is not cls:
        out = out.as_subclass(cls)
    if hasattr(cls, "__setstate__") and cls.__setstate__ is not getattr(Tensor, "__setstate__", None):
        out.__setstate__(state)
        return out
    return _set_obj_state(out, state)


# Files find it under this name, in PyTorch too.
_rebuild_from_type_v2.__module__ = "cresset._tensor"


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from cresset import nn

    return nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _attributes(tensor):
    """Attributes that a subclass keeps in objects: what its `__getstate__` tells, else a dict, or a pair of it and of what is in slots."""
    if type(tensor).__getstate__ is not object.__getstate__:
        return tensor.__getstate__()
    named = {name: getattr(tensor, name) for name in _copyreg._slotnames(type(tensor)) if hasattr(tensor, name)} if type(tensor) is not Tensor else {}
    return (dict(tensor.__dict__), named) if named else dict(tensor.__dict__)


def _set_obj_state(tensor, state):
    """Puts back what `_attributes` gave. Errors: RuntimeError for a tuple that is no pair."""
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"expected a pair of the attributes in the dictionary and those in slots, got {len(state)} values")
        state, slots = state
        for name, value in slots.items():
            setattr(tensor, name, value)
    if state:
        tensor.__dict__.update(state)
    return tensor


def cresset_layouts():
    import cresset

    return cresset


def _sparse_data(self):
    """The parts of a sparse tensor as they are written."""
    layouts = cresset_layouts()
    if self.layout is layouts.sparse_coo:
        return self._indices(), self._values(), self.size(), self.is_coalesced()
    if self.layout in (layouts.sparse_csr, layouts.sparse_bsr):
        return self.crow_indices(), self.col_indices(), self.values(), self.size()
    return self.ccol_indices(), self.row_indices(), self.values(), self.size()


def _rebuild_sparse_tensor(layout, data):
    from cresset.sparse import _make

    return _make._rebuild_sparse_tensor(layout, data)


def _rebuild_njt(parts):
    from cresset.nested._internal.nested_tensor import NestedTensor

    return NestedTensor(**parts)


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    from cresset.nested._strided import over_buffer

    return over_buffer(buffer, sizes, strides, storage_offsets)


_rebuild_njt.__module__ = "cresset.nested._internal.nested_tensor"  # its name in files


def reduce_tensor(self):
    """The callable and arguments that rebuild a tensor, its class and its attributes."""
    if self.device.type == "meta":
        args = (self.dtype, tuple(self.size()), self.stride(), self.requires_grad)
        if type(self) is Tensor and not self.__dict__:
            return _rebuild_meta_tensor_no_storage, args
        return _rebuild_from_type_v2, (_rebuild_meta_tensor_no_storage, type(self), args, _attributes(self))
    attributes = _attributes(self)
    if _is_wrapper(self):
        args = (type(self), self.dtype, tuple(self.size()), self.stride(), self.storage_offset(), self.layout, self.device, self.requires_grad)
        return _rebuild_from_type_v2, (_rebuild_wrapper_subclass, type(self), args, attributes)
    if self.layout is not cresset_layouts().strided:
        args = (self.layout, _sparse_data(self))
        return _rebuild_sparse_tensor, args
    if self.is_conj() or self.is_neg():
        self = self.resolve_conj().resolve_neg()
    storage = (self.untyped_storage(), self.dtype)
    args = (storage, self.storage_offset(), tuple(self.size()), self.stride(), self.requires_grad, _OrderedDict())
    if type(self) is Tensor and not attributes:
        return _rebuild_tensor_v2, args
    return _rebuild_from_type_v2, (_rebuild_tensor_v2, type(self), args, attributes)


def deepcopy_tensor(self, memo):
    """A copy that shares with other copies of the same `memo` what the originals share."""
    import copy

    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("deepcopy: only tensors created by the user (leaves of the graph) can be copied deeply; use clone() or detach()")
    if _is_wrapper(self):
        return _deepcopy_wrapper(self, memo)
    if self._lacks_data or self.is_conj() or self.is_neg() or self.layout is not cresset_layouts().strided:
        out = self.detach().clone()
    else:
        storage = copy.deepcopy(self.untyped_storage(), memo)
        out = _rebuild_tensor(storage, self.storage_offset(), self.size(), self.stride(), self.dtype)
    if type(self) is not Tensor:
        out = Tensor.as_subclass(out, type(self))
    return _filled_copy(out, self, memo)


def _is_wrapper(tensor):
    """Whether the tensor is of a class that holds others and has no memory."""
    if not _cresset._takes_calls_over(type(tensor)):
        return False
    try:
        return tensor.untyped_storage().data_ptr() == 0
    except RuntimeError:
        return True


def _deepcopy_wrapper(self, memo):
    out = self.detach().clone()
    if type(out) is not type(self):
        raise RuntimeError(f"deepcopy: clone() of a {type(self).__name__} gave a {type(out).__name__}, expected the same class")
    return _filled_copy(out, self, memo)


def _filled_copy(out, original, memo):
    """`out` with copies of the attributes and the gradient of the tensor that it is a copy of."""
    import copy

    memo[id(original)] = out
    _set_obj_state(out, copy.deepcopy(_attributes(original), memo))
    if original.requires_grad:
        out.requires_grad_(True)
    if original.grad is not None:
        out.grad = copy.deepcopy(original.grad, memo)
    return out


def _get_available_device_type():
    """The type of the accelerator that this process has; None where there is none.

    >>> torch._utils._get_available_device_type() is None
    True
    """
    import cresset as torch

    return torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else None


def _get_device_module(device_type):
    """The module of a type of device: `torch.cpu` of "cpu". RuntimeError where there is none.

    >>> torch._utils._get_device_module("cpu") is torch.cpu
    True
    """
    import cresset as torch

    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(f"expected a type of device with a module torch.{device_type}, found none")
    return module


class ExceptionWrapper:
    """An exception on its way from another thread or process, with the text of its traceback and where it was.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     caught = torch._utils.ExceptionWrapper(where="in worker 3")
    >>> try:
    ...     caught.reraise()
    ... except ZeroDivisionError as error:
    ...     print(str(error).splitlines()[0])
    Caught ZeroDivisionError in worker 3.
    """

    def __init__(self, exc_info=None, where="in background"):
        import sys
        import traceback

        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self._has_message = hasattr(value, "message")

    def reraise(self):
        """Raises an exception of the same type whose message holds the traceback, or RuntimeError where the type refuses."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if issubclass(self.exc_type, KeyError):
            message = _Verbatim(message)  # a KeyError shows its message by repr
        try:
            error = self.exc_type(message=message) if self._has_message else self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    __slots__ = ()

    def __repr__(self):
        return str(self)
