"""Names of PyTorch's private module of transforms: tensors as elements of the batches of `vmap`, for classes that bring their own."""

import threading

import _cresset

_levels = threading.local()


def _open():
    """The levels that `_vmap_increment_nesting` opened on this thread, innermost last."""
    return _levels.__dict__.setdefault("numbers", [])


def _vmap_increment_nesting(batch_size, randomness):
    """Opens a level of `vmap` on this thread; its number. RuntimeError for another mode than error, different, same."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"vmap: expected randomness to be 'error', 'different' or 'same', got {randomness}")
    _open().append(_cresset.enter_vmap(int(batch_size), randomness))
    return _open()[-1]


def _vmap_decrement_nesting():
    """Ends the innermost level that `_vmap_increment_nesting` opened; its number. RuntimeError where none is open."""
    if not _open():
        raise RuntimeError("vmap: no level is open on this thread")
    _cresset.exit_vmap(_open()[-1])
    return _open().pop()


def _add_batch_dim(tensor, dim, level):
    """One element of a batch along `dim`, at an open level."""
    return _cresset.wrap_batched(tensor, dim, level)


def _unwrap_batched(tensor, level):
    """The value below an element of a batch at `level`, and its dimension; the tensor itself and None where it is none."""
    depth, dim, value, at = _cresset.batched_parts(tensor) or (0, None, tensor, level)
    return (value, dim) if at == level else (tensor, None)


def _remove_batch_dim(tensor, level, batch_size, out_dim):
    """The batch along `out_dim`, repeated where the tensor is no element of one at `level`."""
    value, dim = _unwrap_batched(tensor, level)
    if dim is not None:
        return value.movedim(dim, out_dim) if dim != out_dim else value
    value = tensor.unsqueeze(out_dim)
    sizes = list(value.shape)
    sizes[out_dim] = batch_size
    return value.expand(sizes)


def is_batchedtensor(tensor):
    """Whether the tensor stands for one element of a batch."""
    return tensor._is_batched


def is_legacy_batchedtensor(tensor):
    """Whether the tensor is one of the batches before `torch.func`, of which there are none here."""
    return False


def is_functionaltensor(tensor):
    """Whether the tensor is one of `functionalize`."""
    return _cresset.is_functional(tensor)


def is_functorch_wrapped_tensor(tensor):
    """Whether the tensor stands for another one under `vmap` or `functionalize`."""
    return tensor._is_batched or _cresset.is_functional(tensor)


def maybe_get_bdim(tensor):
    """The dimension of the batch that the tensor is an element of; -1 where it is none."""
    parts = _cresset.batched_parts(tensor)
    return parts[1] if parts else -1


def maybe_get_level(tensor):
    """The level of `vmap` at which the tensor is an element; -1 where it is none."""
    parts = _cresset.batched_parts(tensor)
    return parts[3] if parts else -1


def maybe_current_level():
    """The innermost level of `vmap` on this thread, or None."""
    return _cresset.vmap_level()


def get_unwrapped(tensor):
    """The value below the outermost wrapper of the tensor. RuntimeError for a tensor that stands for no other one."""
    if parts := _cresset.batched_parts(tensor):
        return parts[2]
    if _cresset.is_functional(tensor):
        return _cresset.from_functional(tensor)
    raise RuntimeError("get_unwrapped: expected a tensor under vmap or functionalize, got a plain one")
