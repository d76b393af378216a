"""Lists of items to batches."""

from __future__ import annotations

import collections.abc
import copy
import re
import sys
import threading

from _cresset import _put_all, _uniform

import cresset as torch

_MESSAGE = "default_collate: expected tensors, arrays, numbers, dicts or lists in a batch, got {}"

np_str_obj_array_pattern = re.compile("[SaUO]")  # codes of NumPy's dtypes of texts and objects


def _is_numpy(value):
    return type(value).__module__ == "numpy"


class _Target(threading.local):
    memory = None  # where the batch goes that this thread makes: `take(dtype, shape)` gives a tensor of it, or None


_target = _Target()


def _stack(batch, *, collate_fn_map=None):
    if _target.memory is not None and (kind := _uniform(batch)) is not None:
        out = _target.memory.take(kind[0], (len(batch), *kind[1]))
        if out is not None:
            _put_all(out, batch)
            return out
    return torch.stack(batch, 0)


def _stack_arrays(batch, *, collate_fn_map=None):
    if np_str_obj_array_pattern.match(batch[0].dtype.kind):
        raise TypeError(_MESSAGE.format(batch[0].dtype))
    return _stack([torch.as_tensor(array) for array in batch])


def _scalars(batch, *, collate_fn_map=None):
    return torch.as_tensor(batch)


def _floats(batch, *, collate_fn_map=None):
    return torch.tensor(batch, dtype=torch.float64)


def _numbers(batch, *, collate_fn_map=None):
    return torch.tensor(batch)


def _unchanged(batch, *, collate_fn_map=None):
    return batch


#: Type, or tuple of types, of the first item -> function(batch, *, collate_fn_map) of the batch. May be extended.
default_collate_fn_map = {torch.Tensor: _stack, float: _floats, int: _numbers, str: _unchanged, bytes: _unchanged}


def _add_numpy():
    numpy = sys.modules.get("numpy")
    if numpy is not None and numpy.ndarray not in default_collate_fn_map:
        default_collate_fn_map[numpy.ndarray] = _stack_arrays
        default_collate_fn_map[(numpy.bool_, numpy.number, numpy.object_)] = _scalars


_add_numpy()
_OWN = {torch.Tensor, float, int, str, bytes}


def _like(first, values):
    """A mapping of the first one's type."""
    if isinstance(first, collections.abc.MutableMapping):
        result = copy.copy(first)
        result.update(values)
        return result
    return type(first)(values)


def collate(batch, *, collate_fn_map=None):
    """A batch from a list of items of one structure.

    Args:
        batch: the items; those that are mappings, named tuples or sequences are collated element by element.
        collate_fn_map: type, or tuple of types -> function(batch, *, collate_fn_map). An exact type wins over a base class.

    Errors: RuntimeError for sequences of different lengths, TypeError for items of no known type.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if _is_numpy(first) and collate_fn_map is default_collate_fn_map:
            _add_numpy()
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(first, known):
                return function(batch, collate_fn_map=collate_fn_map)

    def inner(values):
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, collections.abc.Mapping):
        values = {key: inner([item[key] for item in batch]) for key in first}
        try:
            return _like(first, values)
        except TypeError:  # the type cannot be made from a dictionary
            return values
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(inner(values) for values in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        batch = list(batch)
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("default_collate: the lists of a batch differ in length")
        columns = [inner(values) for values in zip(*batch)]
        if isinstance(first, tuple):
            return columns
        try:
            if isinstance(first, collections.abc.MutableSequence):
                result = copy.copy(first)
                result[:] = columns
                return result
            return kind(columns)
        except TypeError:
            return columns
    raise TypeError(_MESSAGE.format(kind))


def default_collate(batch):
    """Batches of items as a `DataLoader` makes them: tensors, arrays and numbers are stacked in a new first dimension, text is kept as
    a list, mappings and sequences keep their structure (tuples become lists).

    Args:
        batch: a list of items of one structure.

    Errors: RuntimeError for tensors or sequences of different sizes, TypeError for items of no known type.

    Example::

        >>> from cresset.utils.data import default_collate
        >>> batch = default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
        >>> batch["x"].tolist(), batch["name"]
        ([1, 2], ['a', 'b'])
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def stacks_tensors(collate_fn):
    """Whether a function is `default_collate`, and its treatment of types was not changed."""
    if collate_fn is not default_collate or default_collate_fn_map[torch.Tensor] is not _stack:
        return False
    return all(kind in _OWN or getattr(kind[0] if type(kind) is tuple else kind, "__module__", None) == "numpy" for kind in default_collate_fn_map)


def collate_into(memory, batch):
    """`default_collate` of items whose tensors go to where `memory.take` says."""
    _target.memory = memory
    try:
        return default_collate(batch)
    finally:
        _target.memory = None


def default_convert(data):
    """Arrays and NumPy numbers to tensors, within mappings and sequences; all else as it is.

    Example::

        >>> from cresset.utils.data import default_convert
        >>> default_convert([1, "text"])
        [1, 'text']
    """
    if isinstance(data, torch.Tensor):
        return data
    if _is_numpy(data):
        return data if getattr(data, "dtype", None) is None or data.dtype.kind in "SUO" else torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        values = {key: default_convert(value) for key, value in data.items()}
        try:
            return _like(data, values)
        except TypeError:
            return values
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        try:
            return type(data)([default_convert(value) for value in data])
        except TypeError:
            return [default_convert(value) for value in data]
    return data
