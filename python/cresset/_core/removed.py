"""Methods of Tensor under old names: those that still work, and those that say what has taken their place."""

import warnings as _warnings

import cresset as torch

from .. import Tensor as _Tensor
from .. import _operators as _ops

_GONE = {
    "eig": "torch.linalg.eig, which returns complex tensors: L, V = torch.linalg.eig(A)",
    "symeig": "torch.linalg.eigh, which reads the lower triangle unless UPLO='U': L, V = torch.linalg.eigh(A)",
    "lstsq": "torch.linalg.lstsq, whose arguments come in the other order: X = torch.linalg.lstsq(A, B).solution",
    "solve": "torch.linalg.solve, whose arguments come in the other order: X = torch.linalg.solve(A, B)",
}


def _gone(name, argument):
    text = f"{name}: PyTorch removed it after 1.9; use {_GONE[name]}"
    if argument == "other":

        def method(self, other):
            raise RuntimeError(text)

    else:

        def method(self, eigenvectors=False):
            raise RuntimeError(text)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", f"Removed: use {_GONE[name]}. Raises RuntimeError."
    return method


def _gone_function(name, use):
    def function(*args, **named):
        raise RuntimeError(f"{name}: PyTorch removed it after 1.9; use {use}")

    function.__name__, function.__qualname__, function.__module__ = name, name, torch.__name__
    function.__doc__ = f"""Removed: use {use}. Raises RuntimeError.

    >>> torch.{name}(torch.eye(2))
    Traceback (most recent call last):
    RuntimeError: {name}: PyTorch removed it after 1.9; use {use}
    """
    return function


for _name, _use in {**_GONE, "matrix_rank": "torch.linalg.matrix_rank"}.items():
    setattr(torch, _name, _gone_function(_name, _use))
for _name in _GONE:
    setattr(_Tensor, _name, _gone(_name, "eigenvectors" if "eig" in _name else "other"))


def reinforce(self, reward):
    """Removed: use `torch.distributions`. Raises RuntimeError."""
    raise RuntimeError("reinforce() was removed: use torch.distributions, as in (-Categorical(probs).log_prob(action) * reward).backward()")


def resize(self, *sizes):
    """The elements in another shape of as many; an old spelling of `reshape`. RuntimeError for another number of elements."""
    _warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    sizes = torch.Size(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if sizes.numel() != self.numel():
        raise RuntimeError(f"resize: expected sizes of {self.numel()} elements, as {list(self.shape)} has, got {list(sizes)}")
    return self.contiguous().view(sizes)


def resize_as(self, tensor):
    """The elements in the shape of another tensor with as many; an old spelling of `reshape_as`. RuntimeError for another number of elements."""
    return resize(self, tensor.shape)


def _elementwise(name, self, others, function):
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(f"{name}: expected tensors that need no gradient, got one that does; call it on detach()")
    for other in others:
        if other.dtype != self.dtype:
            raise TypeError(f"{name}: expected {self.dtype} for 'other', got {other.dtype}")
    columns = [t.expand(self.shape).reshape(-1).tolist() for t in (self, *others)]
    numbers, kinds = [function(*row) for row in zip(*columns)], (int, float, complex) if self.is_complex() else (int, float)
    for number in numbers:
        if not (isinstance(number, kinds) or (hasattr(number, "__index__") and not hasattr(number, "__len__"))):
            raise TypeError(f"{name}: expected the function to return a number for {self.dtype}, got {type(number).__name__}")
    return self.copy_(torch.tensor(numbers, dtype=self.dtype).view(self.shape))


def apply_(self, callable):
    """Replaces each element by a Python function of it. For tests: it is slow.

    Errors: RuntimeError for a tensor that requires gradients, TypeError for a function that returns no number of the dtype.
    """
    return _elementwise("apply_", self, (), callable)


def map_(self, tensor, callable):
    """Replaces each element by a Python function of it and another tensor's, which is broadcast. For tests: it is slow.

    Errors: RuntimeError for tensors that require gradients, TypeError for another dtype.
    """
    return _elementwise("map_", self, (tensor,), callable)


def map2_(self, x, y, callable):
    """Replaces each element by a Python function of it and two other tensors'."""
    return _elementwise("map2_", self, (x, y), callable)


def module_load(self, other, assign=False):
    """Value of a parameter when `load_state_dict` swaps it: `other` itself with `assign`, else this tensor with its values."""
    return other.detach() if assign else self.copy_(other).detach()


def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the one with the largest stride to that with the smallest.

    `ambiguity_check`: True refuses tensors with more than one such order; a list of memory formats, those that have several of them.
    Errors: RuntimeError for those, TypeError for other kinds of values.

    >>> torch.ones(2, 3).t().dim_order()
    (1, 0)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, torch.memory_format) for f in formats):
        raise TypeError(f"dim_order: expected ambiguity_check to be a bool or a list of memory formats, got {ambiguity_check!r}")
    strides, sizes = self.stride(), self.shape
    if ambiguity_check is not False:
        large = [stride for stride, size in zip(strides, sizes) if size > 1]
        unclear = len(set(strides)) < len(strides) or 0 in large or 1 in sizes
        if unclear and (not formats or sum(self.is_contiguous(memory_format=f) for f in formats) != 1):
            raise RuntimeError("dim_order: expected strides of one order, or of one of the given memory formats, got strides of several")
    order = list(range(self.dim()))
    for i in range(1, len(order)):  # a stride of 0 says nothing about its place
        at = i
        for left in range(i - 1, -1, -1):
            a, b = strides[order[left]], strides[order[at]]
            if a and b and a > b:
                break
            if a and b and a < b:
                order[left], order[at] = order[at], order[left]
                at = left
    return tuple(order)


def split(self, split_size, dim=0):
    """Views of parts of the given size along `dim`, or of the sizes of a list; see `torch.split`."""
    return _ops["split"](self, split_size, dim)


def stft(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
    return_complex=None, align_to_window=None,
):  # fmt: skip
    """The short-time Fourier transform; see `torch.stft`."""
    return _ops["stft"](self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window)


def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The `p`-norm of the elements along `dim`, or of all; see `torch.norm`."""
    return torch._core.functions.norm(self, p, dim, keepdim, dtype=dtype)


def lu(self, pivot=True, get_infos=False):
    """The LU factors and the pivots, and with `get_infos` where a factor is singular; see `torch.lu`."""
    return torch._core.functions._lu(self, pivot, get_infos)


def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order; see `torch.unique`."""
    return torch._core.functions.unique(self, sorted, return_inverse, return_counts, dim)


def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """The elements without those that equal the one before; see `torch.unique_consecutive`."""
    return torch._core.functions.unique_consecutive(self, return_inverse, return_counts, dim)


def is_distributed(self):
    """Whether the tensor lies on several machines: never."""
    return False


def _refused(name):
    def move(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
        from .devices import refuse

        refuse(name)

    move.__name__, move.__qualname__ = name.lower(), f"Tensor.{name.lower()}"
    move.__doc__ = f"The tensor on a device of the kind {name}. Raises while none is built in."
    return move


for _function in (reinforce, resize, resize_as, apply_, map_, map2_, module_load, dim_order, split, stft, norm, lu, unique, unique_consecutive,
                  is_distributed, _refused("IPU"), _refused("XPU"), _refused("MTIA")):  # fmt: skip
    setattr(_Tensor, _function.__name__, _function)
for _name in ("ipu", "maia", "mtia", "vulkan", "xla"):
    _read = property(lambda self, _kind=_name: self.device.type == _kind)
    _read.__doc__ = f"Whether the tensor lies on a device of the kind {_name}."
    setattr(_Tensor, f"is_{_name}", _read)


def _interface(self):
    raise AttributeError(f"__cuda_array_interface__: expected a tensor of a CUDA device, got one of {self.device}")


def _dir(self):
    """The names of what this tensor has: `__cuda_array_interface__` is none of a tensor in the memory of the CPU."""
    return [name for name in object.__dir__(self) if name != "__cuda_array_interface__"]


_Tensor.__dir__ = _dir
_Tensor.__cuda_array_interface__ = property(_interface, doc="How CUDA libraries read the memory. AttributeError for other devices.")
_Tensor.__div__, _Tensor.__idiv__ = _Tensor.__truediv__, _Tensor.__itruediv__
_Tensor.__long__, _Tensor.__nonzero__ = _Tensor.__int__, _Tensor.__bool__
_Tensor.const_data_ptr = _Tensor.data_ptr
