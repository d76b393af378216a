"""torch.sparse: products, sums and softmax of sparse tensors."""

import cresset as torch

from ._invariants import check_sparse_tensor_invariants

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum", "as_sparse_gradcheck"]

_ops = torch._operators


def mm(mat1, mat2, reduce=None):
    """The product of two matrices of which one at least is sparse: dense if one is dense. The gradient of a sparse factor has its
    positions. `reduce` joins the products of one place otherwise than by their "sum": "mean", "amax", "amin" (CSR times dense).

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _ops["_sparse_mm"](mat1, mat2) if reduce is None else _ops["_sparse_mm"](mat1, mat2, reduce)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """`beta` * `mat` + `alpha` * the product of the sparse `mat1` and the dense `mat2`.

    >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    return _ops["_sparse_addmm"](mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """`beta` * `input` + `alpha` * the product of the dense `mat1` and `mat2` at the positions of the CSR matrix `input` alone.

    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    result = _ops["sparse_sampled_addmm"](input, mat1, mat2, beta=beta, alpha=alpha)
    return result if out is None else out.copy_(result)


def sum(input, dim=None, dtype=None):
    """The sum of a COO tensor's elements, or along `dim`: sparse, unless all sparse dimensions are gone.

    >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0)
    tensor(indices=tensor([[0, 1]]),
           values=tensor([1., 1.]),
           size=(2,), nnz=2, layout=torch.sparse_coo)
    """
    if dim is None:
        return _ops["_sparse_sum"](input) if dtype is None else _ops["_sparse_sum"](input, dtype=dtype)
    return _ops["_sparse_sum"](input, dim) if dtype is None else _ops["_sparse_sum"](input, dim, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """Softmax of the stored values along `dim`: what is not stored counts as minus infinity.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).values()
    tensor([1., 1.])
    """
    return _ops["_sparse_softmax"](input, dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`.

    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), 1).values()
    tensor([0., 0.])
    """
    return _ops["_sparse_log_softmax"](input, dim, dtype=dtype)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of `diagonals` on the diagonals `offsets`: column j takes element j. RuntimeError for offsets that
    occur twice and for block layouts.

    >>> torch.sparse.spdiags(torch.tensor([[1, 2, 3]]), torch.tensor([1]), (3, 3)).to_dense()
    tensor([[0, 2, 0],
            [0, 0, 3],
            [0, 0, 0]])
    """
    return _ops["_spdiags"](diagonals, offsets, shape, layout)


def as_sparse_gradcheck(gradcheck):
    """`gradcheck` for functions of sparse tensors: each is taken apart into its values and put together again inside the function, so that
    differences are taken of stored values alone (with `masked=True`), or of all elements.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_(True)
    >>> check(lambda t: t.to_dense(), x, masked=True)
    True
    """

    def checked(func, inputs, **kwargs):
        masked = kwargs.pop("masked", False)
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        plans, flat = [], []
        for t in given:
            if not isinstance(t, torch.Tensor) or t.layout is torch.strided or not t.requires_grad:
                plans.append(None)
                flat.append(t)
                continue
            pattern = t.detach()
            if t.layout is torch.sparse_coo:
                pattern = pattern.coalesce()
            if not masked:
                positions = torch.ones(t.shape, dtype=t.dtype)
                block = pattern.values().shape[pattern.dim() - 1 - pattern.dense_dim() : pattern.dim() + 1 - pattern.dense_dim()]
                blocked = t.layout in (torch.sparse_bsr, torch.sparse_bsc)
                full = positions.to_sparse(layout=t.layout, blocksize=tuple(block) if blocked else None, dense_dim=pattern.dense_dim())
                pattern = pattern.to_dense().sparse_mask(full)
            plans.append(pattern)
            flat.append(pattern.values().detach().clone().requires_grad_(True))

        def together(*parts):
            whole = []
            for plan, part in zip(plans, parts):
                if plan is None:
                    whole.append(part)
                elif plan.layout is torch.sparse_coo:
                    whole.append(torch.sparse_coo_tensor(plan.indices(), part, plan.shape, is_coalesced=True))
                else:
                    rows = plan.layout in (torch.sparse_csr, torch.sparse_bsr)
                    pointers, plain = (plan.crow_indices(), plan.col_indices()) if rows else (plan.ccol_indices(), plan.row_indices())
                    whole.append(torch.sparse_compressed_tensor(pointers, plain, part, plan.shape, layout=plan.layout))
            out = func(*whole)
            several = isinstance(out, (list, tuple))
            dense = [t.to_dense() if isinstance(t, torch.Tensor) and t.layout is not torch.strided else t for t in (out if several else [out])]
            return tuple(dense) if several else dense[0]

        return gradcheck(together, tuple(flat), **kwargs)

    return checked


class _SparseType(type):
    """The class of PyTorch's old types: COO tensors of one dtype."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, torch.Tensor) and instance.is_sparse and instance.dtype is cls.dtype

    def __call__(cls, *args):
        if not args:
            return torch.sparse_coo_tensor((0,), dtype=cls.dtype)
        if all(isinstance(n, int) for n in args):
            return torch.sparse_coo_tensor(args, dtype=cls.dtype)
        if len(args) == 1 and isinstance(args[0], torch.Size):
            return torch.sparse_coo_tensor(args[0], dtype=cls.dtype)
        if len(args) not in (2, 3) or not all(isinstance(a, torch.Tensor) for a in args[:2]):
            given = ", ".join(type(a).__name__ for a in args)
            raise TypeError(f"torch.sparse.{cls.__name__}: expected sizes as ints, or tensors of positions and values and maybe sizes, got ({given})")
        return torch.sparse_coo_tensor(*args, dtype=cls.dtype)


for _name, _dtype in {
    "BFloat16": torch.bfloat16, "Byte": torch.uint8, "Char": torch.int8, "Double": torch.float64, "Float": torch.float32, "Half": torch.float16,
    "Int": torch.int32, "Long": torch.int64, "Short": torch.int16,
}.items():  # fmt: skip
    _text = f"""PyTorch's old type of {_dtype} COO tensors: calling it makes one, of sizes or of positions, values and sizes.

    >>> isinstance(torch.sparse.{_name}Tensor(2, 3), torch.sparse.{_name}Tensor)
    True
    """
    globals()[_name + "Tensor"] = _SparseType(
        _name + "Tensor", (), {"dtype": _dtype, "is_cuda": False, "is_sparse": True, "__module__": __name__, "__doc__": _text}
    )


torch._core.overridable.replace(globals(), __name__, but=("as_sparse_gradcheck",))


def _semi_structured():
    from .._core.devices import refusing, refusing_class

    text = "A matrix with two zeros in every four numbers of a row, which CUDA devices multiply faster."
    made = {name: refusing_class("CUDA", name, __name__, text) for name in (f"SparseSemiStructuredTensor{kind}" for kind in ("", "CUTLASS", "CUSPARSELT"))}
    # Settings of the class that programs read where they are imported.
    for name, value in (("_DEFAULT_ALG_ID", 0), ("_FORCE_CUTLASS", False), ("_FUSE_TRANSPOSE", False)):
        setattr(made["SparseSemiStructuredTensor"], name, value)
    return made | {"to_sparse_semi_structured": refusing("CUDA", "to_sparse_semi_structured", "The semi-structured form of a dense matrix.")}


globals().update(_semi_structured())
