"""Weights of several models, and which of them share memory."""

import warnings

import cresset as torch

from ..._subclasses.fake_tensor import FakeTensor


class TensorProperties:
    """The place of a tensor in its memory: where it starts and ends, its shape, strides and offset.

    >>> torch.export.pt2_archive._package_weights.TensorProperties(torch.arange(6)[2:4]).offset
    2
    """

    def __init__(self, tensor):
        self.is_fake = isinstance(tensor, FakeTensor)
        self.is_contiguous = tensor.is_contiguous()
        self.storage_ptr = self.storage_size = self.start = self.end = None
        self.shape, self.stride, self.offset = tensor.shape, tensor.stride(), tensor.storage_offset()
        if not self.is_fake:
            storage = tensor.untyped_storage()
            self.storage_ptr, self.storage_size = storage.data_ptr(), storage.nbytes()
            self.start, self.end = tensor.data_ptr(), _end(tensor)

    def is_complete(self):
        """Whether the tensor is contiguous and covers all of its memory; one without data does."""
        return self.is_fake or self.is_contiguous and self.start == self.storage_ptr and self.end == self.storage_ptr + self.storage_size


def _end(tensor):
    """The address behind the last element."""
    if tensor.numel() == 0:
        return tensor.data_ptr()
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr() + (last + 1) * tensor.element_size()


class Weights(dict):
    """Name to a tensor and the properties that it has in its own model: the tensor may be a copy, which lies elsewhere.

    >>> x = torch.ones(2)
    >>> weights = torch.export.pt2_archive._package_weights.Weights({"w": (x, torch.export.pt2_archive._package_weights.TensorProperties(x))})
    >>> weights.get_weight_properties("w").shape
    torch.Size([2])
    """

    def get_weight(self, name):
        """The tensor of a name, with its properties. Errors: KeyError."""
        return self[name]

    def get_weight_properties(self, name):
        """The properties of a name. Errors: KeyError."""
        return self[name][1]


def group_weights(all_weights):
    """Groups of (model, name), in order, whose tensors are of one dtype and share memory; `all_weights`: model -> `Weights`.

    >>> from cresset.export.pt2_archive._package_weights import TensorProperties, Weights, group_weights
    >>> x = torch.arange(4.0)
    >>> halves = Weights({name: (part, TensorProperties(part)) for name, part in (("a", x[:2]), ("b", x[2:]))})
    >>> group_weights({"m": halves})
    [[('m', 'a'), ('m', 'b')]]
    """
    groups = {}
    for model, weights in all_weights.items():
        for name, (tensor, facts) in weights.items():
            groups.setdefault((facts.storage_ptr, tensor.dtype), []).append((model, name))
    return list(groups.values())


def get_complete_tensor(group, models_weights):
    """A tensor of the memory that a group shares: the one that covers it, or else one from its start to the group's last element. Where the group has
    a tensor that is not contiguous, it is the first one, with a warning.

    >>> from cresset.export.pt2_archive._package_weights import TensorProperties, Weights, get_complete_tensor
    >>> x = torch.arange(4.0)
    >>> part = Weights({"a": (x[1:3], TensorProperties(x[1:3]))})
    >>> get_complete_tensor([("m", "a")], {"m": part})
    tensor([0., 1., 2.])
    """
    members = [models_weights[model].get_weight(name) for model, name in group]
    for tensor, facts in members:
        if facts.is_complete():
            return tensor
    first = members[0][0]
    if not all(facts.is_contiguous for _, facts in members):
        warnings.warn(f"get_complete_tensor: no tensor of {list(group)} covers their memory, and some are not contiguous: took the first one", stacklevel=2)
        return first
    length = max(facts.end - facts.storage_ptr for _, facts in members) // first.element_size()
    return torch.as_strided(first.detach(), (length,), (1,), 0)
