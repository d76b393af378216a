"""Functions of the module that have no row, or whose Python spelling differs from the row's."""

import warnings as _warnings

import cresset as _torch
from _cresset import einsum_equation as _einsum_equation

from .. import Size as _Size
from . import modes as _modes
from .. import Tensor as _Tensor
from .. import _operators as _ops


def _tensors(args):
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


def broadcast_tensors(*tensors):
    """Views of the tensors, broadcast together. RuntimeError where their shapes do not fit.

    >>> [t.shape for t in torch.broadcast_tensors(torch.ones(3), torch.ones(2, 1))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    return _ops["broadcast_tensors"](_tensors(tensors))


def broadcast_shapes(*shapes):
    """The shape that these shapes broadcast to. RuntimeError where they do not fit, ValueError for negative sizes.

    >>> torch.broadcast_shapes((3, 1), (4,))
    torch.Size([3, 4])
    """
    shapes = [(s,) if isinstance(s, (int, _torch.SymInt)) else tuple(s) for s in shapes]
    if any(n < 0 for s in shapes for n in s):
        raise ValueError(f"broadcast_shapes: expected sizes of at least 0, got {shapes}")
    metas = [_torch.empty_strided(s, (0,) * len(s), device="meta") for s in shapes]
    return broadcast_tensors(*metas)[0].shape if metas else _Size()


def meshgrid(*tensors, indexing=None):
    """The coordinates of the grid that 1-d tensors span, one tensor each; `indexing` "ij" or "xy" tells which comes first.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if indexing is None:
        _modes._warn_once("meshgrid: say which order of the coordinates is meant, indexing='ij' or 'xy'; it will be required")
    return _ops["meshgrid"](_tensors(tensors), indexing="ij" if indexing is None else indexing)


def einsum(equation, *operands):
    """Sums of products by Einstein's notation: letters name dimensions, and those not in the result are summed over. RuntimeError for an
    equation that does not fit the tensors.

    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not operands:
        raise ValueError(f"einsum: expected an equation and at least one tensor, got {equation!r} alone")
    equation, *operands = _einsum_operands(equation, *operands)
    if len(operands) < 3:
        return _ops["einsum"](equation, operands)
    from ..backends.opt_einsum import _path_of

    return _ops["einsum"](equation, operands, path=_path_of(equation, operands))


def _einsum_operands(equation, *operands):
    """An equation of letters and the tensors, whichever form they were given in."""
    if isinstance(equation, _torch.Tensor):
        arguments = (equation, *operands)
        operands = arguments[0 : len(arguments) // 2 * 2 : 2]
        equation = _einsum_equation(arguments[1::2] + arguments[len(arguments) // 2 * 2 :], len(operands))
    return equation, *_tensors(operands)


def _einsum_for_hooks(*args, **kwargs):
    return _einsum_operands(*args), kwargs


einsum._for_hooks = _einsum_for_hooks


def chain_matmul(*matrices, out=None):
    """The product of several matrices, in the order of fewest multiplications. RuntimeError for sizes that do not fit.

    >>> torch.chain_matmul(torch.eye(2), torch.ones(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    _modes._warn_once("chain_matmul is deprecated; use torch.linalg.multi_dot, which takes a list")
    return _ops["chain_matmul"](list(matrices), out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """The LU factors and the pivots of `linalg.lu_factor_ex`, and with `get_infos` its `info`. An old function.

    >>> torch.lu(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    _warnings.warn("lu is deprecated; use torch.linalg.lu_factor or lu_factor_ex", UserWarning, stacklevel=3)
    return _lu(A, pivot, get_infos, out)


def _lu(A, pivot, get_infos, out=None):
    results = _ops["_lu_with_info"](A, pivot, False)
    results = results if get_infos else tuple(results)[:2]
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"lu: expected out of {len(results)} tensors, got {len(out)}")
    return type(out)(to.resize_(result.shape).copy_(result) for to, result in zip(out, results, strict=True))


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The `p`-norm of the elements along `dim`, an int or several, or of all: "fro" is 2; "nuc" is the sum of the singular values of a matrix,
    or of the matrices in two dimensions.

    >>> torch.norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
    dims = [dim] if isinstance(dim, int) else dim
    named = {} if out is None else {"out": out}
    if isinstance(p, str) and p != "fro":
        return _ops["linalg_matrix_norm"](input, p, list(range(input.dim())) if dims is None else dims, keepdim, dtype=dtype, **named)
    return _ops["linalg_vector_norm"](input, 2 if p in (None, "fro") else p, dims, keepdim, dtype=dtype, **named)


def where(condition, *branches, **named):
    """Elements of the second argument where `condition` is true and of the third elsewhere, all broadcast together; with the condition alone
    the positions at which it is true, a tensor for each dimension.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), 10)
    tensor([ 1, 10])
    >>> torch.where(torch.tensor([0, 3, 4]))
    (tensor([1, 2]),)
    """
    if not branches and not named:
        return tuple(_ops["nonzero_numpy"](condition))
    return _ops["where"](condition, *branches, **named)


def nonzero(input, *, out=None, as_tuple=False):
    """The positions of the elements that are not zero, one row each; with `as_tuple` a tensor for each dimension.

    >>> torch.nonzero(torch.tensor([[0, 5], [6, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if not as_tuple:
        return _ops["nonzero"](input) if out is None else _ops["nonzero"](input, out=out)
    if out is not None:
        raise RuntimeError("nonzero: out= takes one tensor, but as_tuple=True makes one for each dimension")
    return tuple(_ops["nonzero_numpy"](input))


def split(tensor, split_size_or_sections, dim=0):
    """Views of parts of the given size along `dim`, the last maybe smaller, or of the sizes of a list. RuntimeError where these do not add up.

    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _ops["split"](tensor, split_size_or_sections, dim)


def stft(
    input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
    return_complex=None, align_to_window=None,
):  # fmt: skip
    """The short-time Fourier transform of (time) or (batch, time): (frequency, frames) of windowed pieces of `n_fft` samples, `hop_length`
    (n_fft / 4) apart; `center` pads so that frame t is about sample t hop_length.
    RuntimeError for lengths that do not fit, for real input without `return_complex`.

    >>> torch.stft(torch.arange(8.0), 4, center=False, return_complex=True).shape
    torch.Size([3, 5])
    """
    return _ops["stft"](input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window)


def tensor_split(input, indices_or_sections=None, dim=0, *, sections=None, indices=None, tensor_indices_or_sections=None):
    """Views of exactly so many parts along `dim`, or cut at the positions given by a list or a tensor.

    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    given = [value for value in (indices_or_sections, sections, indices, tensor_indices_or_sections) if value is not None]
    if len(given) != 1:
        raise TypeError(f"tensor_split: expected one of sections, indices and tensor_indices_or_sections, got {len(given)} of them")
    (places,) = given
    if isinstance(places, _Tensor):
        if places.dtype is not _torch.int64 or places.dim() > 1:
            raise RuntimeError(f"tensor_split: expected positions of dtype int64 in at most 1 dimension, got {places.dtype} of shape {list(places.shape)}")
        places = [place.item() for place in places.unbind()] if places.dim() else places.item()  # numbers that tracers hear of
    return _ops["tensor_split"](input, places, dim)


def is_nonzero(input):
    """Whether the only element is not zero. RuntimeError for more or fewer elements.

    >>> torch.is_nonzero(torch.tensor([0.5]))
    True
    """
    return _ops["is_nonzero"](input)


def numel(input):
    """The number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input):
    """Whether the dtype is one of real floating-point numbers.

    >>> torch.is_floating_point(torch.ones(1)), torch.is_floating_point(torch.tensor([1]))
    (True, False)
    """
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is one of complex numbers.

    >>> torch.is_complex(torch.tensor([1j]))
    True
    """
    return input.is_complex()


def is_conj(input):
    """Whether the tensor is marked as the conjugate of what its memory holds.

    >>> torch.is_conj(torch.tensor([1j]).conj())
    True
    """
    return input.is_conj()


def get_device(input):
    """The number of the device that the tensor lies on; -1 for the CPU.

    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


def is_inference(input):
    """Whether the tensor was made in inference mode.

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return input.is_inference()


def is_neg(input):
    """Whether the tensor is a lazy negative.

    >>> torch.is_neg(torch.ones(1))
    False
    """
    return input.is_neg()


def is_signed(input):
    """Whether the dtype has negative numbers.

    >>> torch.is_signed(torch.ones(1, dtype=torch.uint8))
    False
    """
    return input.is_signed()


def is_same_size(input, other):
    """Whether two tensors have the same shape.

    >>> torch.is_same_size(torch.ones(2), torch.ones(2, 1))
    False
    """
    return input.shape == other.shape


def is_distributed(input):
    """Whether the tensor lies on several machines: never.

    >>> torch.is_distributed(torch.ones(1))
    False
    """
    return False


def compiled_with_cxx11_abi():
    """Whether the library's C++ strings are those of C++11: always.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available():
    """Whether there is a Vulkan device: never.

    >>> torch.is_vulkan_available()
    False
    """
    return False


def init_num_threads():
    """Does nothing: threads are counted once, when the library loads.

    >>> torch.init_num_threads()
    """


def detach_(input):
    """Cuts the tensor itself off from its history.

    >>> torch.detach_(torch.ones(1, requires_grad=True) * 2).requires_grad
    False
    """
    return input.detach_()


def detach(input):
    """A view that takes no part in recorded computations.

    >>> torch.detach(torch.ones(2, requires_grad=True) * 2)
    tensor([2., 2.])
    """
    return input.detach()


def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` at the places `input[indices]`; with `accumulate` added to what is there. IndexError for positions out
    of range.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    return _ops["index_put"](input, list(indices), values, accumulate)


_sum_to_size = _Tensor.sum_to_size


def _size(sizes):
    return list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], (int, _torch.SymInt)) else list(sizes)


def _named(function, name):
    """A function that stands for an operator, with its name and text."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _ops[name].__doc__
    return function


def _each(name):
    def function(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], _Tensor):
            return _ops[name](tensors[0])
        return tuple(_ops[name](_tensors(tensors)))

    return _named(function, name)


atleast_1d, atleast_2d, atleast_3d = _each("atleast_1d"), _each("atleast_2d"), _each("atleast_3d")


def block_diag(*tensors):
    """The matrix with the given matrices along its diagonal and zeros elsewhere.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return _ops["block_diag"](_tensors(tensors))


def cartesian_prod(*tensors):
    """All combinations of one element of each of the 1-d tensors, a row each.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    return _ops["cartesian_prod"](_tensors(tensors))


def tensordot(a, b, dims=2, out=None):
    """The sums of products over pairs of dimensions: so many at the end of `a` and the front of `b`, or those of two lists. RuntimeError where
    sizes differ.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, _Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot: expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return _ops["tensordot"](a, b, first, second, **({} if out is None else {"out": out}))


_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The `p`-norm distances of each row of x1 (..., n, k) to each row of x2 (..., m, k), of shape (..., n, m). RuntimeError where k differs.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is no compute_mode")
    return _ops["cdist"](x1, x2, p, _MODES[compute_mode])


def _found(results, return_inverse, return_counts):
    values, inverse, counts = results
    extra = ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return (values, *extra) if extra else values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order, or the different slices along `dim`; with the place of each element among them, and their counts, where
    asked for.

    >>> torch.unique(torch.tensor([3, 1, 3, 2]))
    tensor([1, 2, 3])
    >>> torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True)[1]
    tensor([1, 1, 2])
    """
    if dim is None:
        return _found(_ops["_unique2"](input, sorted, return_inverse, return_counts), return_inverse, return_counts)
    return _found(_ops["unique_dim"](input, dim, sorted, return_inverse, return_counts), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along `dim`, without those that equal the one before; with inverse positions and counts where asked for.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _found(_ops["unique_consecutive"](input, return_inverse, return_counts, dim), return_inverse, return_counts)


def unravel_index(indices, shape):
    """The coordinates of positions in an array of this shape, a tensor for each dimension. TypeError for indices that are not integers,
    ValueError for negative sizes.

    >>> torch.unravel_index(torch.tensor([5]), (2, 3))
    (tensor([1]), tensor([2]))
    """
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == _torch.bool:
        raise TypeError(f"unravel_index: expected integer indices, got {indices.dtype}")
    if not isinstance(shape, (int, _torch.SymInt, tuple, list)):
        raise TypeError(f"unravel_index: expected a shape of integers, got {type(shape).__name__}")
    shape = (shape,) if isinstance(shape, (int, _torch.SymInt)) else tuple(shape)
    if any(not isinstance(n, (int, _torch.SymInt)) for n in shape):
        raise TypeError("unravel_index: expected a shape of integers")
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index: expected a shape without negative sizes, got {shape}")
    found, rest = [], indices.to(_torch.int64)
    for n in reversed(shape):
        found.append(rest % n)
        rest = rest // n
    return tuple(_ops["stack"](found[::-1], -1).unbind(-1)) if found else ()


def _parts(name):
    """A list of copies, or into the tensors of `out`."""

    def function(*args, out=None, **kwargs):
        parts = _ops[name](*args, **kwargs)
        if out is None:
            return parts
        if len(out) != len(parts):
            raise RuntimeError(f"{name}: expected {len(parts)} tensors in out, got {len(out)}")
        for target, part in zip(out, parts, strict=True):
            _ops["alias_copy"](part, out=target)
        return None

    return _named(function, name)


unbind_copy, split_copy, split_with_sizes_copy = (_parts(name) for name in ("unbind_copy", "split_copy", "split_with_sizes_copy"))


for _name in ("tensor_split", "index_put", "nonzero"):
    setattr(_Tensor, _name, globals()[_name])
_Tensor.__rdiv__ = _Tensor.__rtruediv__
_Tensor.sum_to_size = lambda self, *size: _sum_to_size(self, _size(size))
_Tensor.polygamma = lambda self, n: _ops["polygamma"](n, self)
_Tensor.where = lambda self, condition, other: _ops["where"](condition, self, other)
_Tensor.index_put_ = lambda self, indices, values, accumulate=False: _ops["index_put_"](self, list(indices), values, accumulate)


def _has_compatible_shallow_copy_type(input, from_):
    """Whether `input.data = from_` can give `input` the memory of the other: both are of the same kind of layout. Subclasses answer by `__torch_function__`.

    >>> torch._has_compatible_shallow_copy_type(torch.ones(1), torch.zeros(2)), torch._has_compatible_shallow_copy_type(torch.ones(1), torch.eye(1).to_sparse())
    (True, False)
    """
    overloaded = _torch.overrides.has_torch_function((input, from_))
    if overloaded:
        return _torch.overrides.handle_torch_function(_has_compatible_shallow_copy_type, (input, from_), input, from_)
    return input.layout == from_.layout
