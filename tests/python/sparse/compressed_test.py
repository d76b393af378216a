"""Sparse tensors in compressed layouts against dense computation, and their text against PyTorch's."""

import copy
import itertools
import pickle
import unittest

import cresset as torch

from .coo_test import A, B, Base

LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def to(x, layout, blocks=(2, 2)):
    return x.to_sparse(layout=layout, blocksize=blocks if layout in LAYOUTS[2:] else None)


def pattern(*shape):
    """Numbers of which about half are 0."""
    n = 1
    for s in shape:
        n *= s
    x = torch.arange(n, dtype=torch.float32).reshape(shape)
    return x * ((x * 7).remainder(5) < 2)


class Making(Base):
    def test_parts(self):
        c = torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0])
        self.same(c, A, torch.sparse_csr)
        self.assertEqual((c._nnz(), c.sparse_dim(), c.dense_dim(), c.is_sparse, c.is_sparse_csr), (3, 2, 0, False, True))
        self.assertEqual((c.crow_indices().tolist(), c.col_indices().tolist(), c.values().tolist()), ([0, 1, 3], [1, 0, 2], [1, 2, 3]))
        d = torch.sparse_csc_tensor([0, 1, 2, 3], [1, 0, 1], [2.0, 1.0, 3.0])
        self.same(d, A, torch.sparse_csc)
        self.assertEqual((d.ccol_indices().tolist(), d.row_indices().tolist()), ([0, 1, 2, 3], [1, 0, 1]))
        e = torch.sparse_bsr_tensor([0, 1, 2], [1, 0], torch.ones(2, 2, 3))
        self.assertEqual(tuple(e.shape), (4, 6))
        self.assertEqual(e.to_dense().sum().item(), 12)
        self.assertEqual(tuple(torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3)).shape), (4, 6))
        self.same(torch.sparse_compressed_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3), layout=torch.sparse_csr), A, torch.sparse_csr)
        for other in (c.ccol_indices, c.row_indices, c.indices, d.crow_indices, A.crow_indices, A.values, A.indices):
            with self.assertRaisesRegex(RuntimeError, "expected (a COO tensor|a sparse|sparse)"):
                other()

    def test_invariants(self):
        i, v = torch.tensor, torch.tensor([1.0, 2.0])
        bad = (
            (i([0, 1, 2]), i([0, 5]), v, (2, 2), "`0 <= col_indices < ncols` is not satisfied."),
            (i([0, 1, 2]), i([0, -1]), v, (2, 2), "`0 <= col_indices < ncols` is not satisfied."),
            (i([1, 1, 2]), i([0, 1]), v, (2, 2), "`crow_indices\\[..., 0\\] == 0` is not satisfied."),
            (i([0, 1, 3]), i([0, 1]), v, (2, 2), "crow_indices\\[..., -1\\] differs from nnz"),
            (i([0, 3, 2]), i([0, 1]), v, (2, 2), "`0 <= crow_indices\\[..., 1:\\] - crow_indices\\[..., :-1\\] <= ncols` is not satisfied."),
            (i([0, 1]), i([0, 1]), v, (2, 2), "crow_indices.shape\\[-1\\] differs from the number of rows \\+ 1 \\(=3\\), but got 2"),
            (i([0, 1, 2]), i([0, 1]), i([1.0, 2.0, 3.0]), (2, 2), "col_indices.shape\\[-1\\] must be equal to nnz \\(=3\\)"),
            (i([0, 2, 2]), i([1, 0]), v, (2, 2), "are unsorted or repeated along the last dimension"),
            (i([0, 1, 2]), i([0, 1]), v, (2, 2, 2), "size has another number of dimensions than batch, base and dense ones together"),
            (i([0, 1, 2]), i([0, 1], dtype=torch.int32), v, (2, 2), "must have the same dtype"),
            (i(0), i([0, 1]), v, (2, 2), "crow_indices: expected at least one dimension, got 0"),
            (i([0, 1, 2]), i([[0, 1]]), v, (2, 2), "differ in their number of dimensions, got 1 and 2"),
            (i([0, 1, 2]), i([0, 1]), i(1.0), (2, 2), "values need more dimensions than batch and blocks together"),
        )
        for *parts, text in bad:
            with self.subTest(text), self.assertRaisesRegex(RuntimeError, text):
                torch.sparse_csr_tensor(*parts, check_invariants=True)
        with self.assertRaisesRegex(RuntimeError, "expected size\\(1\\) to be a multiple of the blocks.* size, which is 2 .* got 5"):
            torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2), (4, 5), check_invariants=True)
        with self.assertRaisesRegex(RuntimeError, "layout must be SparseCsr but got SparseCsc"):
            torch.sparse_csr_tensor([0, 1, 2], [0, 1], v, layout=torch.sparse_csc)
        with self.assertRaisesRegex(RuntimeError, "expected a compressed sparse layout, got"):
            torch.sparse_compressed_tensor([0, 1, 2], [0, 1], v, layout=torch.sparse_coo)
        with self.assertRaisesRegex(RuntimeError, "expected a compressed sparse layout, got none"):
            torch.sparse_compressed_tensor([0, 1, 2], [0, 1], v)

    def test_wrong_pointers_never_reach_memory(self):
        for pointers, plain in (([0, 1, 2], [0, 500]), ([0, 900, 2], [0, 1]), ([0, -5, 2], [0, 1])):
            wrong = torch.sparse_csr_tensor(pointers, plain, [1.0, 2.0], (2, 2))
            for use in (lambda: wrong @ torch.ones(2, 2), lambda: torch.sparse.sampled_addmm(wrong, torch.ones(2, 2), torch.ones(2, 2))):
                with self.assertRaises((RuntimeError, IndexError)):
                    use()
        good = torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2))
        good @ torch.ones(2, 2)
        good.col_indices()[0] = 77
        with self.assertRaises((RuntimeError, IndexError)):
            good @ torch.ones(2, 2)


class Conversions(Base):
    def test_shape_comes_before_the_dtype(self):
        for dtype in (torch.uint16, torch.uint32, torch.uint64):
            with self.assertRaises(IndexError):
                torch.ones(2, dtype=dtype).to_sparse_csr()
            with self.assertRaisesRegex(RuntimeError, "batch"):
                torch.ones(0, 1, 1, dtype=dtype).to_sparse_csr()
            with self.assertRaises(NotImplementedError):
                torch.ones(2, 2, dtype=dtype).to_sparse_csr()
        with self.assertRaisesRegex(RuntimeError, "batch"):
            torch.ones(0, 2, 2).to_sparse_bsr((1, 1))

    def test_all_pairs(self):
        for dtype in (torch.float32, torch.float64, torch.int64, torch.bool):
            x = pattern(4, 6).to(dtype)
            for one, other in itertools.product((torch.sparse_coo, *LAYOUTS), repeat=2):
                with self.subTest(dtype=dtype, one=one, other=other):
                    s = to(x, one)
                    self.same(s, x, one)
                    self.same(to(s, other), x, other)
        for blocks in ((1, 1), (2, 3), (4, 2), (1, 6)):
            for layout in LAYOUTS[2:]:
                s = to(pattern(4, 6), layout, blocks)
                self.same(s, pattern(4, 6), layout)
                self.assertEqual(tuple(s.values().shape[1:]), blocks)
                self.same(to(s, LAYOUTS[2], (2, 2)), pattern(4, 6), LAYOUTS[2])

    def test_batches_and_dense_dimensions(self):
        x = torch.stack([A, A.flip(1), A * 2])
        for layout in LAYOUTS[:2]:
            self.same(x.to_sparse(layout=layout), x, layout)
            self.same(x.to_sparse(layout=layout).to_sparse(), x)
        blocks = torch.zeros(2, 4, 4)
        blocks[:, :2, 2:] = 1
        self.same(to(blocks, torch.sparse_bsr), blocks, torch.sparse_bsr)
        y = pattern(4, 6, 3)
        for layout in LAYOUTS:
            s = y.to_sparse(layout=layout, dense_dim=1, blocksize=(2, 2) if layout in LAYOUTS[2:] else None)
            self.assertEqual(s.dense_dim(), 1)
            self.same(s, y, layout)
        with self.assertRaisesRegex(RuntimeError, "the matrices of the batch differ in their number of elements"):
            torch.stack([A, torch.ones(2, 3)]).to_sparse_csr()

    def test_named_methods(self):
        x = pattern(4, 6)
        self.same(x.to_sparse_csr(), x, torch.sparse_csr)
        self.same(x.to_sparse_csc(), x, torch.sparse_csc)
        self.same(x.to_sparse_bsr((2, 2)), x, torch.sparse_bsr)
        self.same(x.to_sparse_bsc((2, 3)), x, torch.sparse_bsc)
        c = torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([1, 0], dtype=torch.int32), [1.0, 2.0])
        self.assertIs(c.to_sparse_csc().ccol_indices().dtype, torch.int32)
        self.same(torch.zeros(0, 3).to_sparse_csr(), torch.zeros(0, 3), torch.sparse_csr)
        for wrong, text in (
            (lambda: A.to_sparse_bsr((2, 2)), "tensor sparse size \\(2,3\\) is no multiple of blocksize \\(2,2\\)"),
            (lambda: A.to_sparse_bsr((0, 2)), "expected a positive blocksize"),
            (lambda: A.to_sparse_csr(1), "expected dense_dim within \\[0,0\\] range, but 1 is given"),
            (lambda: A.to_sparse(layout=torch.sparse_bsr), "needs a blocksize, got none"),
        ):
            with self.assertRaisesRegex(RuntimeError, text):
                wrong()


class Resizing(unittest.TestCase):
    def test_more_rows_hold_nothing(self):
        for layout, grown, rows in ((torch.sparse_csr, (4, 5), lambda t: t.crow_indices()), (torch.sparse_csc, (5, 4), lambda t: t.ccol_indices())):
            t = torch.tensor([[1.0, 2], [0, 3]]).to_sparse(layout=layout)
            nnz = t._nnz()
            self.assertEqual((t.resize_(grown).shape, t._nnz()), (grown, nnz))
            self.assertEqual(rows(t).tolist()[-1], nnz)
            self.assertEqual(t.to_dense().sum(), 6)

    def test_fewer_rows_and_batches_keep_what_has_room(self):
        t = torch.ones(2, 2, 3).to_sparse_csr()
        self.assertEqual((t.resize_((2, 1, 5)).shape, t._nnz()), ((2, 1, 5), 5))
        self.assertEqual((t.resize_(1, 5).shape, t._nnz()), ((1, 5), 5))

    def test_columns_do_not_become_fewer(self):
        t = torch.ones(2, 3).to_sparse_csr()
        with self.assertRaisesRegex(RuntimeError, "columns"):
            t.resize_(2, 2)
        with self.assertRaisesRegex(RuntimeError, "matrices"):
            t.resize_(1)

    def test_contiguity_is_not_a_question(self):
        with self.assertRaisesRegex(RuntimeError, "strides"):
            torch.eye(2).to_sparse_csr().is_contiguous()


class Text(unittest.TestCase):
    maxDiff = None

    def test_golden(self):
        x = A[:, :2].clone().requires_grad_()
        self.assertEqual(
            repr(x.to_sparse_csr()),
            "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([1, 0]),\n       values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=torch.sparse_csr,\n"
            "       grad_fn=<ToSparseCsrBackward0>)",
        )
        self.assertEqual(
            repr(torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], dtype=torch.float64)),
            "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([0, 1]),\n       values=tensor([1., 2.]), size=(2, 2), nnz=2, dtype=torch.float64,\n"
            "       layout=torch.sparse_csr)",
        )
        self.assertEqual(
            repr(torch.zeros(0, 3).to_sparse_csr()),
            "tensor(crow_indices=tensor([0]),\n       col_indices=tensor([], size=(0,)),\n       values=tensor([], size=(0,)), size=(0, 3), nnz=0,\n"
            "       layout=torch.sparse_csr)",
        )
        self.assertEqual(
            repr(torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2))),
            "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([0, 1]),\n       values=tensor([[[1., 1.],\n                       [1., 1.]],\n\n"
            "                      [[1., 1.],\n                       [1., 1.]]]), size=(4, 4), nnz=2,\n       layout=torch.sparse_bsr)",
        )
        self.assertEqual(
            repr(torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0])),
            "tensor(ccol_indices=tensor([0, 1, 2]),\n       row_indices=tensor([0, 1]),\n       values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=torch.sparse_csc)",
        )


class Arithmetic(Base):
    def test_against_dense(self):
        for layout in LAYOUTS[:2]:
            c, d = to(A, layout), to(B, layout)
            self.same(c + d, A + B, layout)
            self.same(c - d, A - B, layout)
            self.same(c * d, A * B, layout)
            self.same(c * B, A * B, layout)
            self.same(c * 2, A * 2, layout)
            self.same(c / 2, A / 2, layout)
            self.same(-c, -A, layout)
            self.same(c.sin(), A.sin(), layout)
            self.assertTrue(torch.equal(B + c, B + A))
            self.assertTrue(torch.equal(c + B, B + A))
            self.assertEqual(c.sum().item(), A.sum().item())
            self.same(c.sum(0, keepdim=True), A.sum(0, keepdim=True), layout)
            self.same(c.sum(1, keepdim=True), A.sum(1, keepdim=True), layout)
            with self.assertRaisesRegex(RuntimeError, "expected keepdim=True"):
                c.sum(0)
            self.assertEqual(c[1, 2].item(), 3)
            self.assertEqual(c[1].to_dense().tolist(), A[1].tolist())

    def test_turned(self):
        turned = {
            torch.sparse_csr: torch.sparse_csc,
            torch.sparse_csc: torch.sparse_csr,
            torch.sparse_bsr: torch.sparse_bsc,
            torch.sparse_bsc: torch.sparse_bsr,
        }
        x = pattern(4, 6)
        for layout in LAYOUTS:
            self.same(to(x, layout).t(), x.t(), turned[layout])
            self.same(to(x, layout).transpose(0, 1).t(), x, layout)

    def test_copies(self):
        for layout in LAYOUTS:
            x = pattern(4, 6)
            s = to(x, layout)
            self.same(s.clone(), x, layout)
            self.same(s.to(torch.float64), x.double(), layout)
            self.same(torch.zeros_like(s), x * 0, layout)
            self.same(copy.deepcopy(s), x, layout)
            self.same(pickle.loads(pickle.dumps(s)), x, layout)
            torch.testing.assert_close(s, s.clone())
            s.zero_()
            self.same(s, x * 0, layout)
        self.same(torch.zeros(2, 3, layout=torch.sparse_csr), A * 0, torch.sparse_csr)
        with self.assertRaisesRegex(RuntimeError, "do not have strides"):
            A.to_sparse_csr().stride()

    def test_gradients(self):
        weight = pattern(4, 6) + 1
        for layout in LAYOUTS:
            x = pattern(4, 6).requires_grad_()
            (to(x, layout).to_dense() * weight).sum().backward()
            stored = to(x.detach() * 0 + 1, layout) if layout in LAYOUTS[2:] else None
            mask = (x.detach() != 0) if stored is None else (to(x.detach(), layout).detach().to_dense() == x.detach()) & self.blocks_of(x.detach())
            self.assertTrue(torch.equal(x.grad, weight * mask))
            leaf = to(pattern(4, 6), layout).requires_grad_()
            (leaf.to_dense() * weight).sum().backward()
            self.assertIs(leaf.grad.layout, layout)
            values = leaf.detach().values().clone().requires_grad_()
            rows = layout in (torch.sparse_csr, torch.sparse_bsr)
            parts = (leaf.crow_indices(), leaf.col_indices()) if rows else (leaf.ccol_indices(), leaf.row_indices())
            (torch.sparse_compressed_tensor(*parts, values, (4, 6), layout=layout).to_dense() * weight).sum().backward()
            self.assertTrue(torch.equal(values.grad, leaf.grad.values()))

    @staticmethod
    def blocks_of(x):
        """Where the 2 by 2 block of an element has any number."""
        some = (x.reshape(2, 2, 3, 2) != 0).any(3, keepdim=True).any(1, keepdim=True)
        return some.expand(2, 2, 3, 2).reshape(4, 6)


if __name__ == "__main__":
    unittest.main()
