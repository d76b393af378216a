"""Sparse tensors in coordinate layout against dense computation, and their text against PyTorch's."""

import copy
import pickle
import unittest

import cresset as torch

A = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
B = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])


def uncoalesced(**options):
    return torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [1.0, 2.0, 3.0], (2, 2), **options)


class Base(unittest.TestCase):
    def same(self, sparse, dense, layout=torch.sparse_coo):
        self.assertIs(sparse.layout, layout)
        self.assertEqual(tuple(sparse.shape), tuple(dense.shape))
        self.assertIs(sparse.dtype, dense.dtype)
        self.assertTrue(torch.allclose(sparse.to_dense(), dense, equal_nan=True) if dense.dtype.is_floating_point else torch.equal(sparse.to_dense(), dense),
                        f"{sparse.to_dense()} is not {dense}")  # fmt: skip


class Making(Base):
    def test_parts(self):
        x = uncoalesced()
        self.assertEqual((x._nnz(), x.sparse_dim(), x.dense_dim(), x.is_sparse, x.is_sparse_csr, x.is_coalesced()), (3, 2, 0, True, False, False))
        self.assertEqual(x._indices().tolist(), [[0, 1, 1], [1, 0, 0]])
        self.assertEqual(x.to_dense().tolist(), [[0, 1], [5, 0]])
        y = x.coalesce()
        self.assertEqual((y.indices().tolist(), y.values().tolist(), y.is_coalesced()), ([[0, 1], [1, 0]], [1, 5], True))
        self.assertIs(y.coalesce(), y)
        for part in ("indices", "values"):
            with self.assertRaisesRegex(RuntimeError, f"{part}: the tensor is not coalesced"):
                getattr(x, part)()

    def test_values_share_memory(self):
        values = torch.tensor([1.0, 2.0])
        x = torch.sparse_coo_tensor([[0, 1]], values, (2,), is_coalesced=True)
        x.values().mul_(3)
        self.assertEqual(values.tolist(), [3, 6])
        self.assertEqual(x.detach().to_dense().tolist(), [3, 6])

    def test_old_types(self):
        x = torch.sparse.FloatTensor(torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0]), torch.Size([3]))
        self.same(x, torch.tensor([1.0, 2.0, 0.0]))
        self.assertIsInstance(x, torch.sparse.FloatTensor)
        self.assertNotIsInstance(x, torch.sparse.DoubleTensor)
        self.assertNotIsInstance(A, torch.sparse.FloatTensor)
        self.assertEqual((x.type(), x.double().type()), ("torch.sparse.FloatTensor", "torch.sparse.DoubleTensor"))
        self.assertIs(x.type("torch.sparse.IntTensor").dtype, torch.int32)
        self.assertEqual(tuple(torch.sparse.LongTensor(2, 3).shape), (2, 3))

    def test_sizes_are_counted(self):
        self.assertEqual(tuple(torch.sparse_coo_tensor([[0, 4], [1, 2]], [1, 2]).shape), (5, 3))
        self.assertEqual(tuple(torch.sparse_coo_tensor([[0, 4]], [[1.0, 2.0], [3.0, 4.0]]).shape), (5, 2))
        self.assertEqual(torch.sparse_coo_tensor((2, 3))._nnz(), 0)
        self.assertIs(torch.sparse_coo_tensor((2, 3), dtype=torch.int8).dtype, torch.int8)

    def test_invariants(self):
        bad = {
            "an index lies outside size: at dim 0, size is 2 but found index 5": ([[0, 5], [0, 0]], [1.0, 2.0], (2, 2)),
            "found negative index -1 for dim 0": ([[0, -1], [0, 0]], [1.0, 2.0], (2, 2)),
            "expected values of shape \\[2, 3\\], got \\[2, 2\\]": ([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 3)),
        }
        for text, (indices, values, size) in bad.items():
            with self.subTest(text), self.assertRaisesRegex(RuntimeError, text):
                torch.sparse_coo_tensor(indices, values, size, check_invariants=True)
        with self.assertRaisesRegex(RuntimeError, "differ in nnz, got 2 in indices and 3"):
            torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (2,))
        with self.assertRaisesRegex(RuntimeError, "len\\(size\\) = 2, sparse_dim = 1, dense_dim = 0"):
            torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2))
        with self.assertRaisesRegex(RuntimeError, "is_coalesced=True, got indices"):
            torch.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True)
        with self.assertRaises(TypeError):
            torch.sparse_coo_tensor()

    def test_wrong_positions_never_reach_memory(self):
        wrong = torch.sparse_coo_tensor([[0, 50], [0, 0]], [1.0, 2.0], (2, 2))
        for use in (lambda: wrong.to_dense(), lambda: torch.mm(wrong, torch.ones(2, 2)), lambda: torch.ones(2, 2) + wrong):
            with self.assertRaises((RuntimeError, IndexError)):
                use()

    def test_scope_of_checks(self):
        check = torch.sparse.check_sparse_tensor_invariants
        self.assertFalse(check.is_enabled())
        with check(), self.assertRaises(RuntimeError):
            torch.sparse_coo_tensor([[5]], [1.0], (2,))
        self.assertFalse(check.is_enabled())

        @check(True)
        def inside():
            return check.is_enabled()

        self.assertTrue(inside())
        check.enable()
        try:
            self.assertTrue(check.is_enabled())
        finally:
            check.disable()

    def test_from_dense(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool, torch.complex64):
            self.same(A.to(dtype).to_sparse(), A.to(dtype)) if not dtype.is_complex else self.assertTrue(
                torch.equal(A.to(dtype).to_sparse().to_dense(), A.to(dtype))
            )
        x = torch.arange(24.0).reshape(2, 3, 4)
        for d in (1, 2, 3):
            self.same(x.to_sparse(d), x)
            self.assertEqual((x.to_sparse(d).sparse_dim(), x.to_sparse(d).dense_dim()), (d, 3 - d))
        self.same(torch.tensor(3.0).to_sparse(), torch.tensor(3.0))
        self.same(torch.zeros(0, 3).to_sparse(), torch.zeros(0, 3))
        self.same(A.t().to_sparse(), A.t())
        for d in (0, -1, 4):
            with self.assertRaisesRegex(RuntimeError, "sparse_dim"):
                x.to_sparse(d)
        self.assertIs(A.to_dense(), A)
        odd = torch.tensor([complex(-float("inf"), 14.0), 0.0])
        self.assertEqual(str(odd.to_sparse().to_dense()), str(odd))

    def test_resizing(self):
        x = A.to_sparse().sparse_resize_((4, 5), 2, 0)
        self.assertEqual((tuple(x.shape), x._nnz()), ((4, 5), 3))
        with self.assertRaisesRegex(RuntimeError, "shrinking the size"):
            x.sparse_resize_((1, 5), 2, 0)
        self.assertEqual(x.sparse_resize_and_clear_((1, 5), 1, 1)._nnz(), 0)


class Text(unittest.TestCase):
    maxDiff = None

    def check(self, tensor, text):
        self.assertEqual(repr(tensor), text)

    def test_golden(self):
        self.check(
            uncoalesced(),
            "tensor(indices=tensor([[0, 1, 1],\n                       [1, 0, 0]]),\n       values=tensor([1., 2., 3.]),\n"
            "       size=(2, 2), nnz=3, layout=torch.sparse_coo)",
        )
        self.check(
            uncoalesced(dtype=torch.float64, requires_grad=True),
            "tensor(indices=tensor([[0, 1, 1],\n                       [1, 0, 0]]),\n       values=tensor([1., 2., 3.]),\n"
            "       size=(2, 2), nnz=3, dtype=torch.float64, layout=torch.sparse_coo,\n       requires_grad=True)",
        )
        self.check(
            torch.sparse_coo_tensor((2, 3)),
            "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n       size=(2, 3), nnz=0, layout=torch.sparse_coo)",
        )
        self.check(
            torch.tensor(3.0).to_sparse(),
            "tensor(indices=tensor([], size=(0, 1)),\n       values=tensor([3.]),\n       size=(), nnz=1, layout=torch.sparse_coo)",
        )
        x = A[:, :2].clone().requires_grad_()
        self.check(
            x.to_sparse(),
            "tensor(indices=tensor([[0, 1],\n                       [1, 0]]),\n       values=tensor([1., 2.]),\n"
            "       size=(2, 2), nnz=2, layout=torch.sparse_coo, grad_fn=<ToSparseBackward1>)",
        )
        self.check(x.to_sparse().to_dense(), "tensor([[0., 1.],\n        [2., 0.]], grad_fn=<ToDenseBackward0>)")
        self.check(x.to_sparse().values(), "tensor([1., 2.], grad_fn=<ValuesBackward0>)")

    def test_without_data(self):
        x = A.to_sparse().to("meta")
        self.check(
            x, "tensor(indices=tensor(..., size=(2, 0)),\n       values=tensor(..., size=(0,)),\n       device='meta', size=(2, 3), layout=torch.sparse_coo)"
        )
        self.assertTrue(x.to_dense().is_meta)
        self.assertEqual(repr(A.to("meta").to_sparse()), repr(x))
        for use in (lambda: A.to("meta") @ A.t().to_sparse(), lambda: x @ A.t(), lambda: x.coalesce().indices().tolist()):
            with self.assertRaises(RuntimeError):
                use()
        narrow = A.to(torch.float8_e5m2)
        with self.assertRaisesRegex(NotImplementedError, "index_add_"):
            narrow.to_sparse_csr().to_dense()
        with self.assertRaisesRegex(NotImplementedError, "nonzero_count_cpu"):
            narrow.to_sparse()


class Arithmetic(Base):
    def setUp(self):
        self.x, self.y = A.to_sparse(), B.to_sparse()

    def test_sparse_with_sparse(self):
        x, y = self.x, self.y
        self.same(x + y, A + B)
        self.same(x - y, A - B)
        self.same(torch.add(x, y, alpha=2), A + 2 * B)
        self.same(x * y, A * B)
        self.assertEqual((x - y)._values().tolist(), [-1, 0, 2, 0])
        z = uncoalesced()
        self.same(z + z, 2 * z.to_dense())
        self.same(z * z, z.to_dense() ** 2)
        self.same(z + B[:, :2].to_sparse(), z.to_dense() + B[:, :2])
        self.same(self.x + torch.sparse_coo_tensor((2, 3)), A)
        self.same(self.x * torch.sparse_coo_tensor((2, 3)), A * 0)
        self.assertIs((x + y.to(torch.float64)).dtype, torch.float64)
        wide = torch.arange(12.0).reshape(2, 3, 2)
        self.same(wide.to_sparse(2) + wide.to_sparse(2), 2 * wide)
        self.same(wide.to_sparse(2) * (wide + 1).to_sparse(2), wide * (wide + 1))

    def test_sparse_with_dense_and_numbers(self):
        x = self.x
        self.assertTrue(torch.equal(B + x, B + A))
        self.assertTrue(torch.equal(B - x, B - A))
        self.same(x * B, A * B)
        self.same(B * x, A * B)
        self.same(x * B[0], A * B[0])
        for factor in (2, 2.5, torch.tensor(3.0)):
            self.same(x * factor, A * factor)
            self.same(x / factor, A / factor)
        self.same(3 * x, 3 * A)
        self.same(x // 2, A // 2)
        self.same(x**2, A**2)
        self.same(-x, -A)
        for wrong, text in (
            (lambda: x + A, "call add\\(dense, sparse\\)"),
            (lambda: x + 1, "call add\\(dense, sparse\\)"),
            (lambda: x / A, "Sparse division requires a scalar or zero-dim dense tensor divisor"),
            (lambda: x**0, "to the power 0 would be dense"),
            (lambda: x + torch.eye(2).to_sparse(), "differ in shape"),
        ):
            with self.assertRaisesRegex(RuntimeError, text):
                wrong()

    def test_in_place(self):
        x = self.x.clone()
        self.same(x.add_(self.y, alpha=2), A + 2 * B)
        self.same(x.mul_(2), 2 * (A + 2 * B))
        self.same(x.div_(4), (A + 2 * B) / 2)
        self.same(x.zero_(), A * 0)
        self.same(self.x, A)
        version = x._version
        x.copy_(self.y)
        self.assertGreater(x._version, version)
        self.same(x, B)
        dense = A.clone()
        dense.add_(self.y, alpha=-1)
        self.assertTrue(torch.equal(dense, A - B))
        turned = A.t().clone().t()
        turned += self.y
        self.assertTrue(torch.equal(turned, A + B))
        with self.assertRaisesRegex(RuntimeError, "expected both tensors dense or both sparse"):
            dense.copy_(self.x)

    def test_functions_that_keep_zeros(self):
        z = uncoalesced() * 0.125
        for name in ("abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "erfinv", "expm1", "floor", "frac", "log1p", "neg", "relu", "round", "sgn", "sign", "sin",
                     "sinh", "sqrt", "tan", "tanh", "trunc", "isnan", "isinf", "signbit", "deg2rad", "rad2deg", "positive", "nan_to_num"):  # fmt: skip
            with self.subTest(name):
                self.same(getattr(z, name)(), getattr(z.to_dense(), name)())
        self.same(z.coalesce().sin_(), z.to_dense().sin())
        for name in ("cos", "exp", "log", "cumsum"):
            with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "'SparseCPU' backend"):
                getattr(z, name)(*([0] if name == "cumsum" else []))

    def test_sums(self):
        x = torch.arange(24.0).reshape(2, 3, 4).remainder(5)
        for sparse in (x.to_sparse(), x.to_sparse(2), x.to_sparse(1)):
            self.assertEqual(sparse.sum().item(), x.sum().item())
            for dims in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2)):
                with self.subTest(dims=dims, sparse_dim=sparse.sparse_dim()):
                    for out in (torch.sparse.sum(sparse, dims), sparse.sum(dims)):
                        self.assertTrue(torch.equal(out.to_dense(), x.sum(dims)))
            self.assertEqual(torch.sparse.sum(sparse, (0, 1, 2)).item(), x.sum().item())
        self.assertIs(torch.sparse.sum(self.x, dtype=torch.float64).dtype, torch.float64)
        self.assertAlmostEqual(self.x.norm().item(), A.norm().item(), 5)
        self.assertTrue(self.x.any().item())
        self.assertEqual([torch.tensor(3.0).to_sparse().sum(0).item(), torch.tensor(3.0).to_sparse().sum().item()], [3, 3])

    def test_dtypes_and_copies(self):
        for dtype in (torch.float64, torch.int32, torch.bool, torch.float16):
            self.same(self.x.to(dtype), A.to(dtype))
        self.same(self.x.double(), A.double())
        self.same(self.x.clone(), A)
        self.same(torch.zeros_like(self.x), A * 0)
        self.assertEqual(torch.empty_like(self.x)._nnz(), 0)
        self.same(torch.zeros(2, 3, layout=torch.sparse_coo), A * 0)
        self.same(self.x.new_zeros(2, 3), A * 0)
        self.same(copy.deepcopy(self.x), A)
        self.same(pickle.loads(pickle.dumps(self.x)), A)
        self.assertTrue(torch.equal(torch.zeros_like(self.x, layout=torch.strided), A * 0))
        torch.testing.assert_close(self.x, A.to_sparse())
        with self.assertRaises(AssertionError):
            torch.testing.assert_close(self.x, B.to_sparse())

    def test_what_has_no_memory_of_its_own(self):
        with self.assertRaisesRegex(RuntimeError, "has no storage"):
            self.x.data_ptr()
        with self.assertRaises(NotImplementedError):
            self.x.untyped_storage()
        with self.assertRaisesRegex(TypeError, "can't convert Sparse layout tensor to numpy"):
            self.x.numpy()
        with self.assertRaises(RuntimeError):
            self.x.tolist()
        with self.assertRaises(NotImplementedError):
            self.x.view(6)


class Shapes(Base):
    def test_against_dense(self):
        x = torch.arange(24.0).reshape(2, 3, 4).remainder(3)
        for d in (1, 2, 3):
            s = x.to_sparse(d)
            for dim in range(3):
                for i in (0, -1):
                    out = s.select(dim, i)
                    self.assertTrue(torch.equal(out.to_dense(), x.select(dim, i)))
                index = torch.tensor([1, 0, 1])
                self.same(s.index_select(dim, index), x.index_select(dim, index))
                self.same(s.narrow_copy(dim, 1, 1), x.narrow_copy(dim, 1, 1))
                self.same(torch.cat([s, s * 2], dim), torch.cat([x, x * 2], dim))
            for dim in range(4):
                self.same(s.unsqueeze(dim), x.unsqueeze(dim))
        s = x.to_sparse()
        self.same(s.transpose(0, 2), x.transpose(0, 2))
        self.same(s.permute(2, 0, 1), x.permute(2, 0, 1))
        self.same(A.to_sparse().t(), A.t())
        self.same(torch.stack([A.to_sparse(), B.to_sparse()]), torch.stack([A, B]))
        self.same(torch.stack([A.to_sparse(), B.to_sparse()], 2), torch.stack([A, B], 2))
        self.assertEqual([p.to_dense().tolist() for p in A.to_sparse().unbind(0)], A.tolist())
        self.assertEqual(A.to_sparse()[1, 2].item(), 3)
        self.assertEqual(A.to_sparse()[0].to_dense().tolist(), A[0].tolist())
        with self.assertRaises(IndexError):
            s.select(0, 2)
        with self.assertRaises(IndexError):
            s.index_select(0, torch.tensor([7]))


class Gradients(Base):
    def test_through_layouts(self):
        x = A.clone().requires_grad_()
        (x.to_sparse().to_dense() * B).sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.where(A != 0, B, torch.zeros(()))))
        values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        s = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], values, (2, 2))
        (s.coalesce().to_dense() * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        self.assertEqual(values.grad.tolist(), [2, 3, 3])

    def test_leaves(self):
        s = A.to_sparse().requires_grad_()
        (s.to_dense() * 2).sum().backward()
        self.same(s.grad, 2.0 * (A != 0))
        s.to_dense().sum().backward()
        self.same(s.grad, 3.0 * (A != 0))
        self.same((s.detach() * 2).requires_grad_().detach(), 2 * A)

    def test_arithmetic(self):
        x, y = A.clone().requires_grad_(), B.clone().requires_grad_()

        def f(x, y):
            return ((x.to_sparse() * 2 + y.to_sparse()) * y.to_sparse().abs()).to_dense().sum()

        f(x, y).backward()
        p, q = A.clone().requires_grad_(), B.clone().requires_grad_()
        ((p * 2 + q) * q.abs()).sum().backward()
        self.assertTrue(torch.allclose(x.grad * (A != 0), p.grad * (A != 0)))
        self.assertTrue(torch.allclose(y.grad, q.grad * (B != 0)))

    def test_shapes(self):
        weight = torch.arange(6.0).reshape(2, 3) + 1
        for f in (
            lambda t: t[1], lambda t: t.select(1, 2), lambda t: t[1, 2] * 2, lambda t: t.unbind(0)[1], lambda t: t.unsqueeze(1), lambda t: t.t(),
            lambda t: torch.cat([t, t * 2]), lambda t: torch.stack([t, t]), lambda t: t.index_select(0, torch.tensor([1, 1])), lambda t: t.narrow_copy(1, 1, 2),
            lambda t: t.relu(), lambda t: torch.sparse.sum(t, 1) if t.is_sparse else t.sum(1), lambda t: t.mv(torch.ones(3)), lambda t: t * weight,
        ):  # fmt: skip
            s, x = A.to_sparse().requires_grad_(), A.clone().requires_grad_()
            for t in (s, x):
                out = f(t).to_dense()
                (out * (torch.arange(float(out.numel())).reshape(out.shape) + 1)).sum().backward()
            self.assertTrue(torch.equal(s.grad.to_dense() * (A != 0), x.grad * (A != 0)))

    def test_mask(self):
        x = B.clone().requires_grad_()
        x.sparse_mask(A.to_sparse()).values().pow(2).sum().backward()
        self.assertTrue(torch.equal(x.grad, 2 * B * (A != 0)))

    def test_sum(self):
        s = A.to_sparse().requires_grad_()
        (torch.sparse.sum(s, 0).to_dense() * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
        self.same(s.grad, torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))

    def test_the_gradient_of_a_sum_lies_where_the_values_are(self):
        x = torch.sparse_coo_tensor([[0, 1]], [0.5, 2.0], (3,)).requires_grad_()
        for f, slopes in ((torch.neg, [-1, -1, 0]), (torch.square, [1, 4, 0]), (torch.log1p, [1 / 1.5, 1 / 3, 0])):
            (grad,) = torch.autograd.grad(torch.sparse.sum(f(x)), x)
            self.same(grad, torch.tensor(slopes, dtype=torch.float32))

    def test_check(self):
        check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
        s = A.double().to_sparse().requires_grad_()
        self.assertTrue(check(lambda t: t.to_dense(), s, masked=True))
        self.assertTrue(check(lambda t: torch.sparse.softmax(t, 1), s, masked=True))
        self.assertTrue(check(lambda t: torch.sparse.log_softmax(t, 0), s, masked=True))


class Broadcasting(Base):
    def test_a_product_repeats_the_sparse_factor(self):
        generator = torch.Generator().manual_seed(0)
        for sparse, dense in (
            ((2, 3), (4, 2, 3)),
            ((2, 3), (1, 1, 2, 3)),
            ((1, 3), (2, 3)),
            ((2, 1), (2, 3)),
            ((1, 1), (5, 2, 3)),
            ((2, 3), (0, 2, 3)),
            ((1, 3), (0, 3)),
        ):
            for dense_dim in range(len(sparse)):
                for dtype in (torch.float32, torch.int32, torch.complex64):
                    a = torch.randint(0, 3, sparse, generator=generator).to(dtype)
                    b = torch.randint(1, 9, dense, generator=generator).to(dtype)
                    for made in (a.to_sparse(len(sparse) - dense_dim), uncoalesced_twice(a.to_sparse(len(sparse) - dense_dim))):
                        self.same(made * b, made.to_dense() * b)
                        self.same(b * made, b * made.to_dense())

    def test_gradients_of_a_repeated_factor(self):
        a, b = torch.tensor([[0.0, 2.0, 3.0]]), torch.arange(1.0, 13).reshape(2, 2, 3)
        pairs = [(x.requires_grad_(), y.requires_grad_()) for x, y in ((a.to_sparse(), b.clone()), (a.clone(), b.clone()))]
        for x, y in pairs:
            (x * y).sum().backward()
        self.assertEqual(pairs[0][0].grad.to_dense()[a != 0].tolist(), pairs[1][0].grad[a != 0].tolist())
        self.assertTrue(torch.equal(pairs[0][1].grad.to_dense() if pairs[0][1].grad.is_sparse else pairs[0][1].grad, pairs[1][1].grad))

    def test_a_compressed_factor_does_not_repeat(self):
        with self.assertRaisesRegex(RuntimeError, "only one of layout Sparse"):
            A.to_sparse_csr() * torch.ones(2, 2, 3)

    def test_the_old_types_take_sizes_or_tensors(self):
        self.assertEqual(torch.sparse.FloatTensor(torch.Size([2, 3])).shape, (2, 3))
        self.assertEqual(torch.sparse.FloatTensor(torch.tensor([[1]]), torch.tensor([2.0]), torch.Size([3])).to_dense().tolist(), [0, 2, 0])
        for arguments in (([6],), ([[1]], [2]), (torch.tensor([[1]]), [2.0]), (torch.ones(1),)):
            with self.assertRaisesRegex(TypeError, "expected sizes as ints, or tensors"):
                torch.sparse.FloatTensor(*arguments)


class InPlace(Base):
    def test_a_function_of_the_elements_refuses_indices_that_may_repeat(self):
        x = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], [0.25, 0.5, 0.5], (2, 3))
        for name in ("log1p_", "sqrt_", "relu_", "tanh_", "floor_", "sgn_"):
            with self.assertRaisesRegex(RuntimeError, "coalesced"):
                getattr(x.clone(), name)()
            whole = x.coalesce()
            self.assertTrue(torch.equal(getattr(whole, name)().to_dense(), getattr(x.to_dense(), name)()))
        self.assertEqual(x.clone().neg_().to_dense()[0, 1], -0.75)

    def test_exchanged_dimensions(self):
        x = torch.sparse_coo_tensor([[0, 1], [1, 2]], torch.tensor([[1.0, 2], [3, 4]]), (2, 3, 2))
        y = x.clone()
        self.assertIs(y.transpose_(0, 1), y)
        self.assertEqual(y.shape, (3, 2, 2))
        self.assertTrue(torch.equal(y.to_dense(), x.to_dense().transpose(0, 1)))
        z = torch.eye(3)[:2].to_sparse()
        self.assertTrue(torch.equal(z.clone().t_().to_dense(), z.to_dense().t()))

    def test_resize_as_takes_the_sparse_dimensions_too(self):
        hybrid = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (2, 3))
        x = torch.sparse_coo_tensor((1, 2)).resize_as_(hybrid)
        self.assertEqual((tuple(x.shape), x.sparse_dim(), x.dense_dim()), ((2, 3), 1, 1))

    def test_a_tensor_without_entries_adds_nothing_whatever_its_sparse_dimensions(self):
        x, nothing = torch.sparse_coo_tensor([[0, 0]], torch.ones(2, 3), (2, 3)), torch.sparse_coo_tensor((2, 3))
        for total in (x + nothing, nothing + x):
            self.assertEqual((total.sparse_dim(), total._nnz()), (1, 2))
            self.assertTrue(torch.equal(total.to_dense(), x.to_dense()))
        self.assertTrue(torch.equal((nothing - x).to_dense(), -x.to_dense()))

    def test_a_product_keeps_the_entries_of_the_operand_that_repeats_them(self):
        x, y = torch.sparse_coo_tensor([[0, 0, 1]], [1, 2, 3], (2,)), torch.tensor([1, 2]).to_sparse()
        for product in (x * y, y * x):
            self.assertEqual((product._nnz(), product.is_coalesced(), product.to_dense().tolist()), (3, False, [3, 6]))

    def test_zeros_into_a_sparse_tensor(self):
        out = torch.zeros(2, 3, out=torch.eye(2).to_sparse())
        self.assertIs(out.layout, torch.sparse_coo)
        self.assertEqual((tuple(out.shape), out._nnz()), ((2, 3), 0))


def uncoalesced_twice(x):
    return torch.sparse_coo_tensor(torch.cat([x._indices(), x._indices()], 1), torch.cat([x._values(), x._values()]), x.shape)


if __name__ == "__main__":
    unittest.main()
