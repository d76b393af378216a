"""Sparse tensors without data, fake and on the meta device, against the same calls with data."""

import copy
import tomllib
import unittest
from pathlib import Path

from cresset._functorch.aot_autograd import aot_function
from cresset._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.fx.experimental.symbolic_shapes import ShapeEnv

import cresset as torch
from cresset import nn

DENSE = torch.tensor([[1.0, 0, 2, 0], [0, 0, 3, 4]])
COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
LAYOUTS = (torch.sparse_coo, *COMPRESSED)
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool)


def to(x, layout):
    return x.to_sparse(layout=layout, blocksize=(1, 2) if layout in COMPRESSED[2:] else None)


def cases(dtype=torch.float32):
    """Every layout, and COO with repeated positions and with a dense dimension."""
    x = DENSE.to(dtype)
    for layout in LAYOUTS:
        yield str(layout), to(x, layout)
    yield "repeated", torch.sparse_coo_tensor([[0, 0], [1, 1]], torch.ones(2, dtype=dtype), (2, 4))
    yield "hybrid", x.to_sparse(1)


def described(out):
    """All facts that do not depend on data."""
    if isinstance(out, torch.Tensor):
        parts = (out.sparse_dim(), out.dense_dim(), out.is_sparse and out.is_coalesced()) if out.layout is not torch.strided else ()
        return tuple(out.shape), out.dtype, out.layout, parts, out.requires_grad
    return tuple(map(described, out)) if isinstance(out, (tuple, list)) else out


# Calls of a matrix of shape (2, 4), with what `make(*shape, dtype=)` makes.
CALLS = {
    "to_dense": lambda s, make: s.to_dense(),
    "to_dense dtype": lambda s, make: s.to_dense(torch.float64),
    "coalesce": lambda s, make: s.coalesce(),
    "is_coalesced": lambda s, make: s.is_coalesced(),
    "dims": lambda s, make: (s.sparse_dim(), s.dense_dim(), s.numel(), s.dim(), s.is_sparse, s.is_sparse_csr),
    "to_sparse": lambda s, make: s.to_sparse(),
    "to_sparse 1": lambda s, make: s.to_sparse(1),
    "to_sparse_csr": lambda s, make: s.to_sparse_csr(),
    "to_sparse_csc": lambda s, make: s.to_sparse_csc(),
    "to_sparse_bsr": lambda s, make: s.to_sparse_bsr((2, 2)),
    "to_sparse_bsc": lambda s, make: s.to_sparse_bsc((2, 2)),
    "to_sparse_bsr odd": lambda s, make: s.to_sparse_bsr((3, 2)),
    "crow_indices": lambda s, make: s.crow_indices(),
    "ccol_indices": lambda s, make: s.ccol_indices(),
    "clone": lambda s, make: s.clone(),
    "detach": lambda s, make: s.detach(),
    "double": lambda s, make: s.double(),
    "to layout": lambda s, make: s.to(torch.float64, copy=True),
    "empty_like": lambda s, make: torch.empty_like(s),
    "zeros_like": lambda s, make: torch.zeros_like(s),
    "ones_like": lambda s, make: torch.ones_like(s),
    "t": lambda s, make: s.t(),
    "transpose": lambda s, make: s.transpose(0, 1),
    "permute": lambda s, make: s.permute(1, 0),
    "unsqueeze": lambda s, make: s.unsqueeze(0),
    "squeeze": lambda s, make: s.squeeze(0),
    "select": lambda s, make: s.select(0, 1),
    "select out of range": lambda s, make: s.select(0, 2),
    "index": lambda s, make: s[1],
    "unbind": lambda s, make: s.unbind(0),
    "narrow_copy": lambda s, make: s.narrow_copy(1, 1, 2),
    "index_select": lambda s, make: s.index_select(0, make(3, dtype=torch.int64)),
    "index_select dense": lambda s, make: s.index_select(1, make(3, dtype=torch.int64)),
    "cat": lambda s, make: torch.cat([s, s]),
    "cat 1": lambda s, make: torch.cat([s, s], 1),
    "stack": lambda s, make: torch.stack([s, s]),
    "cat dense": lambda s, make: torch.cat([s, make(2, 4, dtype=s.dtype)]),
    "neg": lambda s, make: -s,
    "abs": lambda s, make: s.abs(),
    "sqrt": lambda s, make: s.sqrt(),
    "relu": lambda s, make: s.relu(),
    "isnan": lambda s, make: s.isnan(),
    "cos": lambda s, make: s.cos(),
    "exp": lambda s, make: s.exp(),
    "sin_": lambda s, make: s.coalesce().clone().sin_() if s.is_sparse else s.clone().sin_(),
    "pow": lambda s, make: s**2,
    "pow 0": lambda s, make: s**0,
    "add": lambda s, make: s + s,
    "add other": lambda s, make: s + s.clone() * 2,
    "add alpha": lambda s, make: torch.add(s, s.clone(), alpha=3),
    "add_": lambda s, make: s.clone().add_(s),
    "add to dense": lambda s, make: make(2, 4, dtype=s.dtype) + s,
    "add dense": lambda s, make: s + make(2, 4, dtype=s.dtype),
    "add shape": lambda s, make: s + s.t(),
    "add number": lambda s, make: s + 1,
    "sub": lambda s, make: s - s.clone(),
    "mul": lambda s, make: s * s.clone(),
    "mul number": lambda s, make: s * 2.5,
    "mul_ number": lambda s, make: s.clone().mul_(2),
    "mul dense": lambda s, make: s * make(2, 4, dtype=s.dtype),
    "mul row": lambda s, make: s * make(4, dtype=s.dtype),
    "mul 0-d": lambda s, make: s * make(dtype=torch.float64),
    "mul broadcast": lambda s, make: s * make(3, 2, 4, dtype=s.dtype),
    "div": lambda s, make: s / 2,
    "div floor": lambda s, make: torch.div(s, 2, rounding_mode="floor"),
    "div sparse": lambda s, make: s / s,
    "floor_divide": lambda s, make: s // 2,
    "sum": lambda s, make: s.sum(),
    "sum dtype": lambda s, make: s.sum(dtype=torch.float64),
    "sum dim": lambda s, make: s.sum(0),
    "sum keepdim": lambda s, make: s.sum(1, keepdim=True),
    "sparse.sum": lambda s, make: torch.sparse.sum(s),
    "sparse.sum 0": lambda s, make: torch.sparse.sum(s, 0),
    "sparse.sum 1": lambda s, make: torch.sparse.sum(s, 1),
    "sparse.sum all": lambda s, make: torch.sparse.sum(s, (0, 1)),
    "softmax": lambda s, make: torch.sparse.softmax(s, 1),
    "softmax dtype": lambda s, make: torch.sparse.softmax(s, 0, dtype=torch.float64),
    "log_softmax": lambda s, make: torch.sparse.log_softmax(s, 0),
    "any": lambda s, make: s.any(),
    "norm": lambda s, make: s.norm(),
    "mm": lambda s, make: s @ make(4, 3, dtype=s.dtype),
    "mm shape": lambda s, make: s @ make(3, 3, dtype=s.dtype),
    "mm dtype": lambda s, make: s @ make(4, 3, dtype=torch.complex128),
    "mm left": lambda s, make: make(3, 2, dtype=s.dtype) @ s,
    "mm sparse": lambda s, make: s @ s.t(),
    "sparse.mm": lambda s, make: torch.sparse.mm(s, make(4, 3, dtype=s.dtype)),
    "sparse.mm sparse": lambda s, make: torch.sparse.mm(s, s.t()),
    "sparse.mm mean": lambda s, make: torch.sparse.mm(s, make(4, 3, dtype=s.dtype), "mean"),
    "sparse.mm amax": lambda s, make: torch.sparse.mm(s, make(4, 3, dtype=s.dtype), "amax"),
    "mv": lambda s, make: s @ make(4, dtype=s.dtype),
    "bmm": lambda s, make: torch.stack([s, s]).bmm(make(2, 4, 3, dtype=s.dtype)),
    "addmm": lambda s, make: torch.addmm(make(2, 3, dtype=s.dtype), s, make(4, 3, dtype=s.dtype)),
    "addmm beta": lambda s, make: torch.addmm(make(2, 3, dtype=s.dtype), s, make(4, 3, dtype=s.dtype), beta=0, alpha=2),
    "addmm sparse": lambda s, make: torch.addmm(s, make(2, 3, dtype=s.dtype), make(3, 4, dtype=s.dtype)),
    "addmv": lambda s, make: torch.addmv(make(2, dtype=s.dtype), s, make(4, dtype=s.dtype)),
    "sparse.addmm": lambda s, make: torch.sparse.addmm(make(2, 3, dtype=s.dtype), s, make(4, 3, dtype=s.dtype)),
    "hspmm": lambda s, make: torch.hspmm(s, make(4, 3, dtype=s.dtype)),
    "smm": lambda s, make: torch.smm(s, make(4, 3, dtype=s.dtype)),
    "sspaddmm": lambda s, make: torch.sspaddmm(s, s, make(4, 4, dtype=s.dtype)),
    "sampled_addmm": lambda s, make: torch.sparse.sampled_addmm(s, make(2, 5, dtype=s.dtype), make(5, 4, dtype=s.dtype)),
    "sparse_mask": lambda s, make: make(2, 4, dtype=s.dtype).sparse_mask(s),
    "sparse_mask sparse": lambda s, make: s.sparse_mask(s),
    "uniform_": lambda s, make: s.float().clone().uniform_(),
    "normal_": lambda s, make: s.float().clone().normal_(),
    "threshold": lambda s, make: nn.functional.threshold(s, 0.5, 0),
    "add out": lambda s, make: torch.add(s, s, out=s.clone()),
    "mm out": lambda s, make: torch.mm(s, make(4, 3, dtype=s.dtype), out=make(2, 3, dtype=s.dtype)),
    "addmm_": lambda s, make: make(2, 3, dtype=s.dtype).addmm_(s, make(4, 3, dtype=s.dtype)),
    "chunk": lambda s, make: s.chunk(2),
    "mean": lambda s, make: s.mean(),
    "masked.sum": lambda s, make: torch.masked.sum(s, 1),
    "masked.softmax": lambda s, make: torch.masked.softmax(s, 1),
    "to csr": lambda s, make: s.to_sparse(layout=torch.sparse_csr).to_sparse(layout=torch.sparse_csc),
    "zero_": lambda s, make: s.clone().zero_(),
    "copy_": lambda s, make: s.clone().copy_(s),
    "resize_": lambda s, make: s.clone().resize_(2, 6),
    "sparse_resize_": lambda s, make: s.clone().sparse_resize_((3, 5), 2, 0),
    "clear": lambda s, make: s.clone().sparse_resize_and_clear_((5, 5), 2, 0),
    "eq": lambda s, make: s == s,
    "triangular_solve": lambda s, make: torch.triangular_solve(make(2, 1, dtype=s.dtype), s),
    "conv": lambda s, make: nn.functional.conv1d(s, make(1, 1, 1)),
    "dense to_sparse": lambda s, make: make(2, 4, dtype=s.dtype).to_sparse(layout=s.layout, blocksize=(1, 2) if s.layout in COMPRESSED[2:] else None),
    "dense type_as": lambda s, make: make(2, 4, dtype=torch.float64).type_as(s),
    "dense to other": lambda s, make: make(2, 4, dtype=torch.float64).to(s),
    "empty_like in the layout": lambda s, make: torch.empty_like(make(2, 4), layout=s.layout),
    "zeros_like in strided": lambda s, make: torch.zeros_like(s, layout=torch.strided),
    "new_zeros": lambda s, make: s.new_zeros((2, 3)),
    "dense to_sparse 1": lambda s, make: make(2, 4, dtype=s.dtype).to_sparse(1),
    "make coo": lambda s, make: torch.sparse_coo_tensor(make(2, 3, dtype=torch.int64), make(3, dtype=s.dtype), (2, 4)),
    "make coo shape": lambda s, make: torch.sparse_coo_tensor(make(2, 3, dtype=torch.int64), make(4, dtype=s.dtype), (2, 4)),
    "make empty": lambda s, make: torch.sparse_coo_tensor((2, 4), dtype=s.dtype, device=s.device),
    "empty": lambda s, make: torch.empty(2, 4, dtype=s.dtype, layout=s.layout, device=s.device),
    "zeros": lambda s, make: torch.zeros(2, 4, dtype=s.dtype, layout=s.layout, device=s.device),
}


def functions_of_values():
    """The rows whose sparse kernel is a function of each value."""
    for path in sorted((Path(__file__).parents[3] / "ops").glob("*.toml")):
        for row in tomllib.loads(path.read_text()).get("op", []):
            if row.get("sparse") == "on_values":
                yield row["schema"].partition("(")[0]


for each in functions_of_values():
    CALLS[f"torch.{each}"] = lambda s, make, name=each: getattr(torch, name)(s)
    CALLS[f"torch.{each} out"] = lambda s, make, name=each: getattr(torch, name)(s, out=s.clone())
    CALLS[f"Tensor.{each}_"] = lambda s, make, name=each: getattr(s.clone(), f"{name}_")()
    CALLS[f"Tensor.{each}_ coalesced"] = lambda s, make, name=each: getattr(s.coalesce().clone(), f"{name}_")()
PRODUCTS = ("mm", "mv")


def attempt(call, s, make):
    try:
        return described(call(s, make))
    except Exception as error:
        return type(error)


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype) if dtype != torch.int64 or len(shape) > 1 else torch.zeros(shape, dtype=dtype)


def make_fake(*shape, dtype=torch.float32):
    """In the scope of a mode."""
    return torch.empty(shape, dtype=dtype)


class FakeSparse(unittest.TestCase):
    def setUp(self):
        self.mode = FakeTensorMode()

    def fake(self, s):
        return self.mode.from_tensor(s)

    def compare(self, name, real, other, make, excepted=()):
        """The same as with data, but for calls whose errors depend on data, or come from dtypes that only a kernel of products knows."""
        for call, function in CALLS.items():
            resizes = call == "sparse_resize_" and real.is_sparse and (real.dense_dim() or not real.is_coalesced())
            if resizes or call in excepted or (real.dtype in (torch.bool, torch.complex128) and any(product in call for product in PRODUCTS)):
                continue
            with self.subTest(name, call=call):
                found = attempt(function, other, make)
                with unset_fake_temporarily():
                    self.assertEqual(found, attempt(function, real, ones))

    def test_a_fake_tensor_is_like_the_real_one_and_stores_nothing(self):
        for dtype in DTYPES:
            for name, s in cases(dtype):
                with self.subTest(name, dtype=dtype):
                    f = self.fake(s)
                    self.assertIs(type(f), FakeTensor)
                    self.assertIs(maybe_get_fake_mode(f), self.mode)
                    self.assertIs(self.fake(s), f)
                    self.assertEqual(described(f), described(s))
                    self.assertEqual((f.device, f._nnz()), (s.device, 0))
                    if s.layout is torch.sparse_coo:
                        self.assertEqual((f.is_coalesced(), f._indices().shape), (s.is_coalesced(), (s.sparse_dim(), 0)))
        values = {name: tuple(self.fake(s)._values().shape if s.is_sparse else self.fake(s).values().shape) for name, s in cases()}
        self.assertEqual(values["hybrid"], (0, 4))
        self.assertEqual((values["torch.sparse_csr"], values["torch.sparse_bsr"]), ((0,), (0, 1, 2)))
        batch = self.fake(to(DENSE.expand(3, 2, 4), torch.sparse_csc))
        self.assertEqual([tuple(t.shape) for t in (batch, batch.ccol_indices(), batch.row_indices(), batch.values())], [(3, 2, 4), (3, 5), (3, 0), (3, 0)])

    def test_parameters_leaves_and_gradients(self):
        s = to(DENSE, torch.sparse_csr).requires_grad_()
        f = self.fake(s)
        self.assertTrue(f.requires_grad and f.is_leaf)
        self.assertFalse(self.fake(s * 2).is_leaf)
        self.assertIsInstance(self.fake(nn.Parameter(to(DENSE, torch.sparse_coo))), nn.Parameter)
        weight = nn.Embedding(5, 3, sparse=True).weight
        weight.grad = torch.eye(5, 3).to_sparse()
        self.assertEqual(described(self.fake(weight).grad), described(weight.grad))

    def test_text(self):
        coo = "FakeTensor(indices=tensor(..., size=(2, 0)),\n           values=tensor(..., size=(0,)),\n           size=(2, 4), layout=torch.sparse_coo)"
        self.assertEqual(repr(self.fake(to(DENSE, torch.sparse_coo))), coo)
        self.assertEqual(
            repr(self.fake(to(DENSE.half(), torch.sparse_csc)).requires_grad_()),
            "FakeTensor(ccol_indices=tensor(..., size=(5,)),\n           row_indices=tensor(..., size=(0,)),\n"
            "           values=tensor(..., size=(0,)), size=(2, 4), dtype=torch.float16,\n           layout=torch.sparse_csc, requires_grad=True)",
        )

    def test_calls_are_like_those_with_data(self):
        def make(*shape, dtype=torch.float32):
            with self.mode:
                return torch.empty(shape, dtype=dtype)

        for dtype in (torch.float32, torch.complex128, torch.int64, torch.bool):
            for name, s in cases(dtype):
                self.compare(f"{name} {dtype}", s, self.fake(s), make)

    def test_in_the_scope_too(self):
        for name, s in cases():
            f = self.fake(s)
            with self.mode:
                self.compare(name, s, f, make_fake)

    def test_calls_on_the_meta_device(self):
        def make(*shape, dtype=torch.float32):
            return torch.empty(shape, dtype=dtype, device="meta")

        for dtype in (torch.float32, torch.int64):
            for name, s in cases(dtype):
                if name == "repeated":  # what stores nothing is coalesced
                    continue
                meta = s.to("meta")
                self.assertEqual((described(meta), meta._nnz(), meta.device.type), (described(s), 0, "meta"))
                self.compare(f"{name} {dtype}", s, meta, make)

    def test_elements_that_are_given_are_counted(self):
        real = dict(cases())
        with self.mode:
            positions, values = torch.empty(2, 3, dtype=torch.int64), torch.empty(3)
            coo = torch.sparse_coo_tensor(positions, values, (4, 5))
            self.assertEqual((coo._nnz(), coo.is_coalesced(), coo.coalesce()._nnz(), coo.coalesce().is_coalesced()), (3, False, 0, True))
            self.assertEqual(tuple(coo.to_dense().shape), (4, 5))
            rows, columns = torch.empty(5, dtype=torch.int64), torch.empty(3, dtype=torch.int64)
            csr = torch.sparse_csr_tensor(rows, columns, values, (4, 5))
            self.assertEqual(tuple((csr * 2).values().shape), (3,))
            self.assertEqual(tuple(torch.sparse_compressed_tensor(rows, columns, values, (5, 4), layout=torch.sparse_csc).shape), (5, 4))
            self.assertEqual(tuple(torch.sparse_bsr_tensor(rows, columns, torch.empty(3, 2, 2), (8, 6)).to_dense().shape), (8, 6))
            # Results are like those of tensors whose number of elements is not known.
            for s in (torch.sparse_coo_tensor(positions, values, (2, 4)), torch.sparse_csr_tensor(rows[:3], columns, values, (2, 4))):
                self.compare("three elements", real["repeated" if s.is_sparse else str(s.layout)], s, make_fake)

    def test_errors_of_what_depends_on_data(self):
        for name, s in cases():
            f = self.fake(s)
            with self.subTest(name), self.mode:
                with self.assertRaises(DynamicOutputShapeException):
                    f.nonzero()
                with self.assertRaises(DataDependentOutputException):
                    f.sum().item()
                with self.assertRaises(DataDependentOutputException):
                    torch.equal(f, f)
                with self.assertRaises(DataDependentOutputException):
                    f.tolist()
        with self.mode:
            positions, values = torch.empty(2, 3, dtype=torch.int64), torch.empty(3)
            for make in (
                lambda: torch.sparse_coo_tensor(positions, values),
                lambda: torch.sparse_csr_tensor(torch.empty(5, dtype=torch.int64), positions[0], values),
                lambda: torch.sparse.spdiags(torch.empty(2, 3), torch.tensor([0, 1]), (3, 3)),
                lambda: nn.functional.embedding(positions, torch.empty(5, 3, requires_grad=True), padding_idx=0, sparse=True).sum().backward(),
            ):
                self.assertRaises(UnsupportedFakeTensorException, make)

    def test_real_tensors_beside_fake_ones(self):
        real = to(DENSE, torch.sparse_coo)
        for call in (lambda f: f + real, lambda f: f @ torch.ones(4, 3), lambda f: f + FakeTensorMode().from_tensor(real)):
            with self.assertRaises(AssertionError):
                call(self.fake(real))
        allowing = FakeTensorMode(allow_non_fake_inputs=True)
        self.assertIs((allowing.from_tensor(real) + real).layout, torch.sparse_coo)
        self.assertEqual(tuple((allowing.from_tensor(DENSE) + real).shape), (2, 4))
        with allowing:
            self.assertIsInstance(real @ torch.ones(4, 3), FakeTensor)
            self.assertIs(DENSE.to_sparse_csr().layout, torch.sparse_csr)
        before = real.to_dense()
        with allowing:
            real.mul_(2)
        self.assertTrue(torch.equal(real.to_dense(), before))

    def test_devices_that_are_not_there(self):
        csr = self.fake(to(DENSE, torch.sparse_csr))
        with self.mode:
            s = torch.empty(3, 4, layout=torch.sparse_coo, device="cuda")
            self.assertEqual((s.device, (s @ torch.empty(4, 2, device="cuda")).device), (torch.device("cuda:0"),) * 2)
            self.assertEqual(csr.to("cuda").to_dense().device.type, "cuda")
            self.assertRaises(RuntimeError, lambda: s @ torch.empty(4, 2))
            self.assertEqual(torch.empty(3, 4, device="cuda").to_sparse().device.type, "cuda")
        elem = to(DENSE, torch.sparse_csr).to("meta")
        self.assertEqual((FakeTensor(self.mode, elem, "cpu").layout, FakeTensor(self.mode, elem, "cpu").device.type), (torch.sparse_csr, "cpu"))

    def test_nothing_is_allocated_however_large(self):
        import _cresset

        n = 10**6
        with self.mode:
            s = torch.sparse_coo_tensor((n, n))
            _cresset._reset_cpu_peak()
            before = _cresset._cpu_memory()["peak_allocated_bytes"]
            outs = [
                s.to_dense(),
                s @ torch.empty(n, n),
                s + s,
                s.to_sparse_csr().to_dense(),
                torch.empty(n, n) + s,
                s.to_dense().to_sparse(),
                torch.sparse.sum(s, 0),
            ]
            self.assertLess(_cresset._cpu_memory()["peak_allocated_bytes"] - before, 1 << 20)
        self.assertEqual(tuple(outs[0].shape), (n, n))
        self.assertEqual(self.mode.memory_stats()["peak_allocated_bytes"] >= 4 * n * n, True)

    def test_backward(self):
        def grads(s, make):
            yield torch.autograd.grad((s @ make(4, 3)).sum(), s)
            yield torch.autograd.grad(s.to_dense().sum(), s)
            yield torch.autograd.grad((s * 2).to_dense().sum(), s)
            x, y = make(2, 4).requires_grad_(), make(4, 3).requires_grad_()
            yield torch.autograd.grad(torch.sparse.mm(s, y).sum(), (s, y))
            yield torch.autograd.grad(x.to_sparse(layout=s.layout).to_dense().sum(), x)
            yield torch.autograd.grad(x.sparse_mask(s.detach()).to_dense().sum(), x)
            if s.is_sparse:
                yield torch.autograd.grad(torch.sparse.sum(s), s)
                yield torch.autograd.grad(torch.sparse.softmax(s, 1).to_dense().sum(), s)

        def make(*shape):
            with self.mode:
                return torch.empty(shape)

        for layout in (torch.sparse_coo, torch.sparse_csr):
            s = to(DENSE, layout).requires_grad_()
            self.assertEqual(list(map(described, grads(self.fake(s), make))), list(map(described, grads(s, ones))))
        with self.mode:
            weight = torch.empty(5, 3, requires_grad=True)
            nn.functional.embedding(torch.tensor([0, 1]), weight, sparse=True).sum().backward()
            self.assertIs(weight.grad.layout, torch.sparse_coo)
            before = weight._version
            torch.optim.SparseAdam([weight]).step()
            torch.optim.SGD([weight], lr=0.1).step()
            self.assertGreater(weight._version, before)

    def test_modules(self):
        module = nn.Module()
        module.register_buffer("a", to(DENSE, torch.sparse_coo))
        module.weight = nn.Parameter(to(DENSE, torch.sparse_csr))
        with FakeCopyMode(self.mode):
            fake = copy.deepcopy(module)
        self.assertEqual([described(t) for t in fake.state_dict().values()], [described(t) for t in module.state_dict().values()])
        self.assertIsInstance(fake.weight, nn.Parameter)
        self.assertEqual(described(copy.deepcopy(fake.a)), described(module.a))
        self.assertEqual(described(fake.double().weight), described(copy.deepcopy(module).double().weight))
        self.assertRaises(RuntimeError, fake.a.__reduce_ex__, 2)


class Graphs(unittest.TestCase):
    """Functions that take or make sparse tensors, captured."""

    FUNCTIONS = {
        "to_dense": lambda s: s.to_dense(),
        "mm": lambda s: s @ torch.ones(4, 3),
        "add": lambda s: s + s,
        "mul": lambda s: s * 3,
        "relu": lambda s: s.relu(),
        "t": lambda s: s.t().to_dense(),
        "to_sparse": lambda s: s.to_dense().to_sparse(),
        "to_sparse_csr": lambda s: s.to_dense().to_sparse_csr(),
        "sparse.mm": lambda s: torch.sparse.mm(s, torch.ones(4, 3)),
        "sum": lambda s: s.sum(),
    }

    def same(self, a, b):
        self.assertEqual(described(a), described(b))
        self.assertTrue(torch.equal(a.to_dense(), b.to_dense()))

    def test_every_mode(self):
        for layout in (torch.sparse_coo, torch.sparse_csr):
            for mode in ("real", "fake", "symbolic"):
                for name, function in self.FUNCTIONS.items():
                    with self.subTest(name, layout=layout, mode=mode):
                        s = to(DENSE, layout)
                        graph = make_fx(function, tracing_mode=mode)(s)
                        self.same(graph(s), function(s))
                        other = to(DENSE * 2 + 1, layout)
                        self.same(graph(other), function(other))

    def test_parts_and_making(self):
        def remade(s):
            return torch.sparse_coo_tensor(s._indices(), s._values() * 2, s.shape)

        for mode in ("real", "fake", "symbolic"):
            s = to(DENSE, torch.sparse_coo)
            self.same(make_fx(remade, tracing_mode=mode)(s)(s), remade(s))

    def test_symbolic_sizes_beside_sparse_ones(self):
        mode = FakeTensorMode(shape_env=ShapeEnv())
        s, x = mode.from_tensor(to(DENSE, torch.sparse_csr)), mode.from_tensor(torch.ones(4, 7))
        self.assertEqual([type(n) for n in s.shape], [int, int])
        out = s @ x
        self.assertEqual((out.shape[0], out.shape[1]), (2, x.shape[1]))
        graph = make_fx(lambda s, x: s @ x, tracing_mode="symbolic")(to(DENSE, torch.sparse_csr), torch.ones(4, 7))
        self.same(graph(to(DENSE, torch.sparse_csr), torch.ones(4, 3)), DENSE @ torch.ones(4, 3))

    def test_numbers_of_elements_are_asked_of_the_data(self):
        functions = (
            lambda x: torch.ones(x.to_sparse()._nnz()),
            lambda x: x.to_sparse().values() * torch.arange(x.to_sparse_csr().values().shape[0]),
            lambda x: x.to_sparse().indices().reshape(-1),
            lambda x: x * x.to_sparse_csr().col_indices().numel(),
            lambda x: (x.to_sparse() @ x).sum() * x.to_sparse().narrow_copy(0, 0, 1)._nnz(),
        )
        for function in functions:
            for given in (torch.eye(3), torch.ones(3, 3)):
                expected = function(given)
                for backend in ("eager", "aot_eager"):
                    self.assertTrue(torch.equal(torch.compile(function, backend=backend)(given), expected))
        for function in (functions[0], functions[2], functions[3]):
            graph = make_fx(function, tracing_mode="symbolic")(torch.eye(3))
            self.assertTrue(torch.equal(graph(torch.ones(3, 3)), function(torch.ones(3, 3))))
        with FakeTensorMode._of_capture():
            s = torch.eye(3).to_sparse()
            for asked in (lambda: s._nnz(), lambda: s.values(), lambda: s.indices(), lambda: s.to_sparse_csr().crow_indices()):
                self.assertRaises(DynamicOutputShapeException, asked)
            self.assertEqual(tuple((s @ s.to_dense()).shape), (3, 3))

    def test_exported_programs_and_graphs_of_both_passes(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("a", torch.eye(2, 4).to_sparse())

            def forward(self, s, x):
                return self.a @ x + s @ x, x.to_sparse().to_dense() * 2

        for s in (to(DENSE, torch.sparse_coo), to(DENSE, torch.sparse_csr)):
            model, x = Model(), torch.arange(8.0).view(4, 2)
            program = torch.export.export(model, (s, x))
            for got, expected in zip(program.module()(s, x), model(s, x), strict=True):
                self.same(got, expected)
            given = [x.clone().requires_grad_() for _ in range(2)]

            def call(s, x):
                return s @ x * x.to_sparse().to_dense()[:2]

            graph = aot_function(call, fw_compiler=lambda graph, inputs: graph, bw_compiler=lambda graph, inputs: graph)
            for function, one in zip((graph, call), given, strict=True):
                function(s, one).sum().backward()
            self.same(given[0].grad, given[1].grad)

    def test_elements_that_are_given_are_symbols(self):
        mode = FakeTensorMode(shape_env=ShapeEnv())
        positions, values, x = (mode.from_tensor(t) for t in (torch.zeros(2, 6, dtype=torch.int64), torch.ones(6), torch.ones(5, 9)))
        s = torch.sparse_coo_tensor(positions, values, (4, 5))
        self.assertIsInstance(s._nnz(), torch.SymInt)
        self.assertEqual((str(s._nnz()), (s * 2)._values().shape), (str(values.shape[0]), values.shape))
        self.assertEqual((s @ x).shape, (4, x.shape[1]))
        self.assertEqual(torch.sparse_coo_tensor(positions, values, x.shape).shape, x.shape)
        graph = make_fx(lambda i, v: torch.sparse_coo_tensor(i, v, (4, 5)).to_dense(), tracing_mode="symbolic")(
            torch.zeros(2, 6, dtype=torch.int64), torch.ones(6)
        )
        self.assertEqual(graph(torch.ones(2, 3, dtype=torch.int64), torch.ones(3))[1, 1].item(), 3)

    def test_live_tensors_move_with_the_sizes_that_become_equal(self):
        mode = FakeTensorMode(shape_env=ShapeEnv(duck_shape=False))
        x, y = mode.from_tensor(torch.ones(11, 13)), mode.from_tensor(torch.ones(11, 13))
        s, c = x.to_sparse(), x.to_sparse_csr()
        self.assertEqual([str(n) for n in (y + s).shape], [str(n) for n in s.shape])
        self.assertEqual(str(c.crow_indices().shape[0]), str(y.shape[0] + 1))
        self.assertEqual((s @ torch.sparse.mm(c.t(), x)).shape, y.shape)

    def test_sparse_tensors_of_symbolic_sizes(self):
        def function(x):
            s = x.to_sparse()
            return (s * 2).to_dense().view(x.shape[0], -1), s

        graph = make_fx(function, tracing_mode="symbolic")(torch.ones(5, 7))
        for given in (torch.ones(5, 7), torch.eye(3, 4)):
            for a, b in zip(graph(given), function(given), strict=True):
                self.same(a, b)


if __name__ == "__main__":
    unittest.main()
