"""Sequences of different lengths: padded to one length, or packed one time step after the other."""

from collections import namedtuple

import cresset as torch
from cresset import _operators
from cresset._core import overridable as _overridable


def invert_permutation(permutation):
    """The permutation that undoes one, None for None.

    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    if permutation is None:
        return None
    return torch.empty_like(permutation).scatter_(0, permutation, torch.arange(permutation.numel(), device=permutation.device))


class PackedSequence(namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """The elements of sequences in order of time, longest sequence first, and how many sequences each step has.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 3, 2], [2, 1])
    """

    __slots__ = ()
    __annotations__ = {"data": torch.Tensor, "batch_sizes": torch.Tensor, "sorted_indices": torch.Tensor | None, "unsorted_indices": torch.Tensor | None}

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None and isinstance(data, (list, tuple)) and len(data) == 2:
            data, batch_sizes = data
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes are needed beside the data")
        if (device := batch_sizes.device.type) != "cpu":
            raise ValueError(f"PackedSequence: expected batch_sizes on the CPU, got them on {device}")
        back = invert_permutation(sorted_indices) if unsorted_indices is None else unsorted_indices
        return super().__new__(cls, data, batch_sizes, sorted_indices, back)

    def to(self, *args, **kwargs):
        """The same sequences with data of another device or dtype."""
        if (data := self.data.to(*args, **kwargs)) is self.data:
            return self
        where = {key: kwargs[key] for key in ("non_blocking", "copy") if key in kwargs}
        order = [None if t is None else t.to(data.device, **where) for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *order)

    def cpu(self, *args, **kwargs):
        """On the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args, **kwargs):
        """On a CUDA device."""
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self):
        """With pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    @property
    def is_cuda(self):
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data is pinned."""
        return self.data.is_pinned()


def _converter(name):
    dtype = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8"}[
        name
    ]

    def convert(self):
        return self.to(dtype=getattr(torch, dtype))

    convert.__name__ = name
    convert.__doc__ = f"With data of dtype {dtype}."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _converter(_name))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack (T, B, *), or (B, T, *) with batch_first, of which sequence i has `lengths[i]` steps.

    RuntimeError for lengths that are not positive, too long, of another number, or not sorted while `enforce_sorted`.

    >>> packed = nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data.tolist()
    [1, 3, 2]
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64).cpu()
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The padded sequences of a PackedSequence, in their first order, and their lengths. ValueError for too small a total_length.

    >>> padded, lengths = nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    >>> padded.tolist(), lengths.tolist()
    ([[1, 3], [2, 0]], [2, 1])
    """
    steps = sequence.batch_sizes.numel()
    if total_length is not None and total_length < steps:
        raise ValueError(f"pad_packed_sequence: expected total_length of at least the longest sequence, got {total_length} and {steps}")
    out, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or steps)
    if sequence.unsorted_indices is not None:
        out = out.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return out, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors (L, *) of different lengths as one (T, B, *), or (B, T, *) with batch_first. RuntimeError for what is no sequence.

    >>> nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if not isinstance(sequences, (list, tuple)) and not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: expected an iterable of sequences, got {type(sequences)}")
    sequences = list(sequences.unbind(0) if isinstance(sequences, torch.Tensor) else sequences)
    return _operators["pad_sequence"](sequences, batch_first, padding_value, padding_side)


pad_sequence._for_hooks = _overridable.all_placed(pad_sequence)
pad_sequence = _overridable.overridable(pad_sequence, __name__)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The tensors that `pad_sequence` joined.

    >>> [s.tolist() for s in nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)]
    [[1, 2], [3]]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack tensors (L, *) of different lengths.

    >>> nn.utils.rnn.pack_sequence([torch.tensor([1]), torch.tensor([2, 3])], enforce_sorted=False).data.tolist()
    [2, 1, 3]
    """
    lengths = torch.tensor([s.size(0) for s in sequences], dtype=torch.int64)
    padded = pad_sequence(sequences)
    return pack_padded_sequence(padded, lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences):
    """The tensors that `pack_sequence` joined.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> [s.tolist() for s in nn.utils.rnn.unpack_sequence(packed)]
    [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
