"""Refusals of sparse tensors, and their dense dimensions and batches against dense computation."""

import unittest

import cresset as torch

from .compressed_test import LAYOUTS, pattern, to
from .coo_test import Base


class Places(Base):
    def test_assignment(self):
        for layout in (*LAYOUTS, torch.sparse_coo):
            with self.assertRaisesRegex(TypeError, "sparse tensor of layout"):
                to(pattern(4, 4), layout)[0, 0] = 1.0

    def test_sparse_dimension_of_a_batch(self):
        for layout in LAYOUTS:
            batch = to(pattern(4, 4).expand(2, 4, 4), layout)
            self.assertTrue(torch.equal(batch.select(0, 1).to_dense(), pattern(4, 4)))
            with self.assertRaisesRegex(RuntimeError, "dimension 1 of a batch"):
                batch.select(1, 0)

    def test_dense_dimension(self):
        dense = pattern(4, 4).unsqueeze(2) * torch.tensor([1.0, 2.0])
        for layout in LAYOUTS:
            hybrid = dense.to_sparse(layout=layout, blocksize=(2, 2) if layout in LAYOUTS[2:] else None, dense_dim=1)
            self.assertIs(hybrid.select(2, 1).layout, layout)
            self.assertTrue(torch.equal(hybrid.select(2, 1).to_dense(), dense.select(2, 1)))
            self.assertTrue(hybrid.select(1, 1).is_coalesced())
            self.assertTrue(torch.equal(hybrid.select(1, 1).to_dense(), dense.select(1, 1)))


class Like(Base):
    def test_empty_like_keeps_the_layout(self):
        for layout in LAYOUTS:
            for other in (*LAYOUTS, torch.sparse_coo, torch.strided):
                if other is layout:
                    self.assertEqual(torch.empty_like(to(pattern(4, 4), layout), layout=other).values().shape, to(pattern(4, 4), layout).values().shape)
                    continue
                with self.assertRaisesRegex(RuntimeError, "expected the layout of self"):
                    torch.empty_like(to(pattern(4, 4), layout), layout=other)

    def test_zeros_like_stores_nothing(self):
        for layout in LAYOUTS:
            x = to(pattern(4, 6).expand(2, 4, 6), layout)
            for other in LAYOUTS:
                if (layout in LAYOUTS[2:]) == (other in LAYOUTS[2:]):
                    zeros = torch.zeros_like(x, layout=other)
                    self.assertEqual((zeros.layout, zeros._nnz(), zeros.shape), (other, 0, x.shape))
                    self.assertTrue(torch.equal(zeros.to_dense(), torch.zeros(2, 4, 6)))
                else:
                    with self.assertRaisesRegex(RuntimeError, "blocks"):
                        torch.zeros_like(x, layout=other)
            with self.assertRaisesRegex(RuntimeError, "expected a sparse layout"):
                torch.zeros_like(x, layout=torch.strided)

    def test_the_device_that_is_asked_for(self):
        for layout in (*LAYOUTS, torch.sparse_coo):
            x = to(pattern(4, 6), layout)
            for make in (torch.empty_like, torch.zeros_like):
                made = make(x, device="meta")
                self.assertEqual((made.device.type, made.layout, made.shape), ("meta", layout, x.shape))
            self.assertEqual(torch.zeros_like(x, device="meta")._nnz(), 0)

    def test_the_old_constructor_keeps_the_layout(self):
        x = to(pattern(4, 6), torch.sparse_coo)
        for made, shape in ((x.new(), (0,)), (x.new(2, 3), (2, 3)), (x.new(torch.Size([2, 3])), (2, 3))):
            self.assertEqual((made.layout, made.dtype, made.shape, made._nnz()), (torch.sparse_coo, x.dtype, shape, 0))
        for layout in LAYOUTS:
            for sizes in ((), (2, 3)):
                with self.assertRaisesRegex(RuntimeError, "makes no tensors of layout"):
                    to(pattern(4, 6), layout).new(*sizes)


class Products(Base):
    def test_dense_dimensions_broadcast(self):
        a, b = pattern(3, 4, 2, 5), pattern(3, 4, 1, 5) + 1
        product = a.to_sparse(2) * b.to_sparse(2)
        self.assertTrue(torch.equal(product.to_dense(), a * b))
        self.assertEqual((torch.zeros(3, 4, 2).to_sparse(2) * pattern(3, 4, 1).to_sparse(2)).shape, (3, 4, 2))
        with self.assertRaisesRegex(RuntimeError, "differ in shape"):
            a.to_sparse() * b.to_sparse()

    def test_sampled_addmm_of_batches(self):
        a, b = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 5, 6)
        mask = torch.zeros(4, 6)
        mask[1, 2] = mask[3, 5] = 2.0
        expected = (mask != 0) * (0.5 * mask + 3 * (a @ b))
        self.assertTrue(torch.allclose(torch.sparse.sampled_addmm(mask.to_sparse_csr(), a, b, beta=0.5, alpha=3).to_dense(), expected))
        batch = mask.expand(2, 3, 4, 6).to_sparse_csr()
        self.assertTrue(torch.allclose(torch.sparse.sampled_addmm(batch, a, b, beta=0.5, alpha=3).to_dense(), expected))
        with self.assertRaisesRegex(RuntimeError, "batches of one size"):
            torch.sparse.sampled_addmm(batch, a[:1], b[:1])


if __name__ == "__main__":
    unittest.main()
