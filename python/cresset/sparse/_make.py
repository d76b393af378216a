"""Sparse tensors from positions and values: the functions that `torch` has at its top."""

import _cresset
from _cresset import Tensor

import cresset as torch

from . import _invariants

_ops = torch._operators


def _as_tensor(data, dtype, device):
    if isinstance(data, Tensor):
        return data if (dtype is None or data.dtype is dtype) and device is None else data.to(dtype=dtype or data.dtype, device=device)
    return torch.as_tensor(data, dtype=dtype, device=device)


def _as_positions(data, device):
    return _as_tensor(data, data.dtype if isinstance(data, Tensor) else torch.int64, device)


def _checks(check_invariants):
    return _invariants.enabled() if check_invariants is None else check_invariants


def _finish(out, requires_grad):
    return out.requires_grad_(True) if requires_grad else out


_FORMS = "sparse_coo_tensor: expected (size), (indices, values) or (indices, values, size), sizes as ints"


def _is_size(data):
    return isinstance(data, (tuple, list, torch.Size)) and all(isinstance(n, (int, torch.SymInt)) for n in data)


def sparse_coo_tensor(*args, indices=None, values=None, size=None, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None,
                      is_coalesced=None):  # fmt: skip
    """A sparse tensor in coordinate layout: `values` of shape (nnz, dense sizes...) at the positions `indices` of shape (sparse dimensions,
    nnz), or an empty one of the given sizes. A position may occur several times, which counts as the sum. RuntimeError for positions out of
    range where invariants are checked.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if len(args) == 1 and indices is None and values is None and size is None and _is_size(args[0]):
        size, args = args[0], ()
    for name, value in zip(("indices", "values", "size"), args):
        if {"indices": indices, "values": values, "size": size}[name] is not None:
            raise TypeError(f"sparse_coo_tensor() got multiple values for argument '{name}'")
        if name == "indices":
            indices = value
        elif name == "values":
            values = value
        else:
            size = value
    if len(args) > 3 or (indices is None) != (values is None) or (indices is None and size is None) or (size is not None and not _is_size(size)):
        raise TypeError(_FORMS)
    if indices is None:
        return _finish(_ops["sparse_coo_tensor"](tuple(size), dtype=dtype, device=device), requires_grad)
    values = _as_tensor(values, dtype, device)
    indices = _as_tensor(indices, torch.int64, device)
    if size is None:
        out = _ops["sparse_coo_tensor"](indices, values, is_coalesced=is_coalesced) if _checks(check_invariants) else _unchecked(indices, values, is_coalesced)
    elif _checks(check_invariants):
        out = _ops["sparse_coo_tensor"](indices, values, tuple(size), is_coalesced=is_coalesced)
    else:
        out = _ops["_sparse_coo_tensor_unsafe"](indices, values, tuple(size), is_coalesced=is_coalesced)
    return _finish(out, requires_grad)


def _unchecked(indices, values, is_coalesced):
    # Sizes are counted from the positions, which finds negative ones in any case.
    return (
        _ops["sparse_coo_tensor"](indices, values, is_coalesced=None)
        if not is_coalesced
        else _ops["_sparse_coo_tensor_unsafe"](indices, values, tuple(_ops["sparse_coo_tensor"](indices, values).shape), is_coalesced=True)
    )


_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _sizes_of(compressed, plain, values, layout):
    """The least sizes for these parts."""
    batch, block = plain.dim() - 1, 2 if layout in (torch.sparse_bsr, torch.sparse_bsc) else 0
    if values.dim() <= batch + block or compressed.dim() < 1:
        return None
    rows, columns = tuple(values.shape[batch + 1 : batch + 3]) if block else (1, 1)
    major = compressed.shape[-1] - 1
    minor = int(plain.max()) + 1 if plain.numel() else 0
    by_rows = layout in (torch.sparse_csr, torch.sparse_bsr)
    lead = tuple(plain.shape[:batch])
    return (*lead, (major if by_rows else minor) * rows, (minor if by_rows else major) * columns, *values.shape[batch + 1 + block :])


def _compressed(name, compressed, plain, values, size, dtype, layout, device, requires_grad, check_invariants):
    values = _as_tensor(values, dtype, device)
    compressed, plain = _as_positions(compressed, device), _as_positions(plain, device)
    if layout not in _COMPRESSED:
        got = "none" if layout is None else {"strided": "Strided", "sparse_coo": "Sparse"}.get(str(layout).rpartition(".")[2], str(layout))
        raise RuntimeError(f"sparse_compressed_tensor: expected a compressed sparse layout, got {got}")
    if _checks(check_invariants):
        sizes = () if size is None else (tuple(size),)
        out = _ops["sparse_compressed_tensor"](compressed, plain, values, *sizes, layout=layout)
    else:
        size = _sizes_of(compressed, plain, values, layout) if size is None else tuple(size)
        if size is None:
            return _ops["sparse_compressed_tensor"](compressed, plain, values, layout=layout)
        out = _ops["_sparse_compressed_tensor_unsafe"](compressed, plain, values, size, layout=layout)
    return _finish(out, requires_grad)


def _of_layout(name, given, wanted):
    if given is not None and given is not wanted:
        title = {"csr": "SparseCsr", "csc": "SparseCsc", "bsr": "SparseBsr", "bsc": "SparseBsc", "coo": "Sparse", "strided": "Strided"}
        names = [title.get(str(layout).rpartition(".")[2].removeprefix("sparse_"), str(layout)) for layout in (wanted, given)]
        raise RuntimeError(f"{name}: layout must be {names[0]} but got {names[1]}")
    return wanted


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                             check_invariants=None):  # fmt: skip
    """A sparse tensor in the compressed layout `layout`: pointers to the beginnings of rows or columns, the other positions, and values or
    blocks of values. RuntimeError for a layout that is not compressed and, where invariants are checked, for parts that do not fit.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    return _compressed("sparse_compressed_tensor", compressed_indices, plain_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):  # fmt: skip
    """A sparse tensor by rows: the values of row i and their columns stand at `crow_indices[i]` up to `crow_indices[i + 1]`.

    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    layout = _of_layout("sparse_csr_tensor", layout, torch.sparse_csr)
    return _compressed("sparse_csr_tensor", crow_indices, col_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):  # fmt: skip
    """A sparse tensor by columns: the values of column i and their rows stand at `ccol_indices[i]` up to `ccol_indices[i + 1]`.

    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    layout = _of_layout("sparse_csc_tensor", layout, torch.sparse_csc)
    return _compressed("sparse_csc_tensor", ccol_indices, row_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):  # fmt: skip
    """A sparse tensor of dense blocks by rows of blocks; `values` has the shape (blocks, rows of a block, columns of a block).

    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 1., 2.]])
    """
    layout = _of_layout("sparse_bsr_tensor", layout, torch.sparse_bsr)
    return _compressed("sparse_bsr_tensor", crow_indices, col_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):  # fmt: skip
    """A sparse tensor of dense blocks by columns of blocks; `values` has the shape (blocks, rows of a block, columns of a block).

    >>> torch.sparse_bsc_tensor([0, 1, 1], [0], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[1., 2., 0., 0.]])
    """
    layout = _of_layout("sparse_bsc_tensor", layout, torch.sparse_bsc)
    return _compressed("sparse_bsc_tensor", ccol_indices, row_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def spmm(input, mat2):
    """The same as `mm`: the product of two matrices, of which any may be sparse.

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _ops["mm"](input, mat2)


def dsmm(input, mat2):
    """The same as `mm`.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _ops["mm"](input, mat2)


def hsmm(input, mat2):
    """The same as `hspmm`: the product of a sparse and a dense matrix, with sparse rows.

    >>> torch.hsmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return _ops["hspmm"](input, mat2)


def saddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """The same as `addmm`.

    >>> torch.saddmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    return _ops["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)


def _rebuild_sparse_tensor(layout, data):
    """Functions that rebuild pickled sparse tensors."""
    if layout is torch.sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=coalesced[0] if coalesced else None)
    compressed, plain, values, size = data
    return sparse_compressed_tensor(compressed, plain, values, size, layout=layout, check_invariants=True)


del _cresset
