"""Products of sparse matrices, what is trained through them, and optimizers of sparse gradients."""

import unittest

import cresset as torch

from .compressed_test import LAYOUTS, pattern, to
from .coo_test import A, B, Base


class Products(Base):
    def test_against_dense(self):
        x = pattern(4, 6)
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.complex128):
            d, m = x.to(dtype), torch.arange(42).reshape(6, 7).remainder(5).to(dtype)
            for layout in (torch.sparse_coo, *LAYOUTS):
                s = to(d, layout)
                with self.subTest(dtype=dtype, layout=layout):
                    for out in (s @ m, torch.mm(s, m), torch.sparse.mm(s, m)):
                        self.assertTrue(torch.equal(out, d @ m))
                    self.assertTrue(torch.equal(m.t() @ s.t(), m.t() @ d.t()))
                    self.assertTrue(torch.equal(s.mv(m[:, 0]), d.mv(m[:, 0])))
                    self.assertTrue(torch.equal(s @ m[:, 0], d @ m[:, 0]))
                    c = torch.arange(28).reshape(4, 7).to(dtype)
                    self.assertTrue(torch.equal(torch.addmm(c, s, m, beta=2, alpha=3), torch.addmm(c, d, m, beta=2, alpha=3)))
                    self.assertTrue(torch.equal(torch.sparse.addmm(c, s, m), c + d @ m))
        for columns in (1, 3, 4, 16, 21, 64, 150):
            m = torch.arange(6.0 * columns).reshape(6, columns).remainder(11)
            self.assertTrue(torch.equal(x.to_sparse_csr() @ m, x @ m))
            self.assertTrue(torch.equal(x.to_sparse_csr() @ m.t().contiguous().t(), x @ m))
            self.assertTrue(torch.equal(x.to_sparse_csr() @ torch.cat([m, m], 1)[:, :columns], x @ m))

    def test_sparse_with_sparse(self):
        for layout in (torch.sparse_coo, torch.sparse_csr):
            x, y = to(A, layout), to(B.t(), layout)
            self.same(x @ y, A @ B.t(), layout)
            self.same(torch.sparse.mm(x, y), A @ B.t(), layout)

    def test_batches(self):
        x, m = torch.stack([A, B]), torch.arange(12.0).reshape(2, 3, 2)
        self.assertTrue(torch.equal(torch.bmm(x.to_sparse(), m), torch.bmm(x, m)))

    def test_others(self):
        x = A.to_sparse()
        self.same(torch.smm(x, B.t()), A @ B.t())
        self.same(torch.hspmm(x, B.t()), A @ B.t())
        self.same(torch.hsmm(x, B.t()), A @ B.t())
        for out in (torch.spmm(x, B.t()), torch.dsmm(x, B.t()), torch.saddmm(torch.zeros(2, 2), x, B.t())):
            self.assertTrue(torch.equal(out, A @ B.t()))
        self.same(torch.sspaddmm(torch.eye(2).to_sparse(), x, B.t(), beta=2, alpha=3), 2 * torch.eye(2) + 3 * A @ B.t())
        c, m, n = B.to_sparse_csr(), torch.arange(4.0).reshape(2, 2), torch.arange(6.0).reshape(2, 3)
        self.same(torch.sparse.sampled_addmm(c, m, n, beta=2, alpha=3), (2 * B + 3 * m @ n) * (B != 0), torch.sparse_csr)
        d = A.to_sparse_csr()
        self.assertTrue(torch.equal(torch.sparse.mm(d, B.t(), "mean"), torch.tensor([[1.0, 0.0], [1.0, 4.5]])))
        self.assertTrue(torch.equal(torch.sparse.mm(d, B.t(), "amax"), torch.tensor([[1.0, 0.0], [2.0, 9.0]])))
        self.assertTrue(torch.equal(torch.sparse.mm(d, B.t(), "sum"), A @ B.t()))
        self.assertTrue(torch.equal(torch.sparse.spdiags(torch.arange(6.0).reshape(2, 3), torch.tensor([0, -1]), (3, 3)).to_dense(),
                                    torch.tensor([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 4.0, 2.0]])))  # fmt: skip
        with self.assertRaisesRegex(RuntimeError, "duplicate"):
            torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 1]), (3, 3))

    def test_softmax(self):
        inf = torch.where(A != 0, A, torch.tensor(-float("inf")))
        for d in (0, 1, -1):
            self.assertTrue(torch.allclose(torch.sparse.softmax(A.to_sparse(), d).to_dense(), inf.softmax(d).nan_to_num()))
            dense = torch.sparse.log_softmax(A.to_sparse(), d).to_dense()
            self.assertTrue(torch.allclose(dense, torch.where(A != 0, inf.log_softmax(d), torch.zeros(()))))

    def test_mistakes(self):
        for wrong in (lambda: A.to_sparse() @ A, lambda: torch.sparse.mm(A, B.t()), lambda: torch.mm(A.to_sparse().double(), B.t()),
                      lambda: torch.sparse.softmax(A.to_sparse_csr(), 0), lambda: torch.sparse.mm(A.to_sparse_csr(), B.t(), "median")):  # fmt: skip
            with self.assertRaises(RuntimeError):
                wrong()


class Gradients(Base):
    def test_products(self):
        for layout in (torch.sparse_coo, *LAYOUTS[:2]):
            with self.subTest(layout=layout):
                s, m = to(A, layout).requires_grad_(), B.t().clone().requires_grad_()
                x, n = A.clone().requires_grad_(), B.t().clone().requires_grad_()
                torch.sparse.mm(s, m).pow(2).sum().backward()
                (x @ n).pow(2).sum().backward()
                self.same(s.grad, x.grad * (A != 0), layout)
                self.assertTrue(torch.equal(m.grad, n.grad))
                t = to(A, layout).requires_grad_()
                torch.mm(t, B.t()).pow(2).sum().backward()
                self.assertTrue(torch.equal(t.grad.to_dense(), x.grad))

    def test_sampled(self):
        c = B.to_sparse_csr().requires_grad_()
        m, n = torch.arange(4.0).reshape(2, 2).requires_grad_(), torch.arange(6.0).reshape(2, 3).requires_grad_()
        torch.sparse.sampled_addmm(c, m, n).to_dense().pow(2).sum().backward()
        p, q, r = B.clone().requires_grad_(), m.detach().clone().requires_grad_(), n.detach().clone().requires_grad_()
        ((p + q @ r) * (B != 0)).pow(2).sum().backward()
        self.assertTrue(torch.equal(m.grad, q.grad))
        self.assertTrue(torch.equal(n.grad, r.grad))
        self.assertTrue(torch.equal(c.grad.to_dense(), p.grad))

    def test_checked(self):
        check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
        m = B.t().double().requires_grad_()
        for s in (A.double().to_sparse().requires_grad_(), A.double().to_sparse_csr().requires_grad_()):
            self.assertTrue(check(torch.sparse.mm, (s, m), masked=True))
            self.assertTrue(
                check(lambda c, a, b: torch.sparse.addmm(c, a, b, alpha=2), (torch.ones(2, 2, dtype=torch.float64, requires_grad=True), s, m), masked=True)
            )
        self.assertTrue(check(lambda a, b: torch.sparse.mm(a, b, "amax"), (A.double().to_sparse_csr().requires_grad_(), m), masked=True))


class Embeddings(Base):
    def test_gradient(self):
        index = torch.tensor([[1, 2], [1, 3]])
        for padding in (None, 3):
            sparse = torch.nn.Embedding(5, 2, padding_idx=padding, sparse=True)
            dense = torch.nn.Embedding.from_pretrained(sparse.weight.detach().clone(), freeze=False, padding_idx=padding)
            for _ in range(2):
                sparse(index).pow(2).sum().backward()
                dense(index).pow(2).sum().backward()
            self.same(sparse.weight.grad, dense.weight.grad)
        one = torch.nn.Embedding(4, 2, sparse=True)
        one(torch.tensor([1, 2, 1])).sum().backward()
        self.assertEqual((one.weight.grad._indices().tolist(), one.weight.grad._nnz(), one.weight.grad.is_coalesced()), ([[1, 2, 1]], 3, False))
        with self.assertRaisesRegex(RuntimeError, "cannot be scaled by frequency"):
            torch.nn.functional.embedding(torch.tensor([1]), one.weight, scale_grad_by_freq=True, sparse=True).sum().backward()

    def test_gather(self):
        x, index = A.clone().requires_grad_(), torch.tensor([[2, 0], [1, 1]])
        torch.gather(x, 1, index, sparse_grad=True).sum().backward()
        self.same(x.grad, torch.tensor([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]))

    def test_mixed_gradients_of_one_leaf(self):
        w = torch.ones(4, 2, requires_grad=True)
        (torch.nn.functional.embedding(torch.tensor([1]), w, sparse=True).sum() + (2 * w).sum()).backward()
        self.assertEqual(w.grad.tolist(), [[2, 2], [3, 3], [2, 2], [2, 2]])


class Optimizers(Base):
    def run_both(self, sparse, dense, steps=4):
        table = torch.nn.Embedding.from_pretrained(torch.arange(10.0).reshape(5, 2), freeze=False, sparse=True)
        other = torch.nn.Embedding.from_pretrained(torch.arange(10.0).reshape(5, 2), freeze=False)
        one, two = sparse(table.parameters()), dense(other.parameters())
        for k in range(steps):
            for t, o in ((table, one), (other, two)):
                o.zero_grad()
                t(torch.tensor([k % 5, 2, 2])).pow(2).sum().backward()
                o.step()
        return table.weight, other.weight

    def test_sgd_and_adagrad(self):
        for make in (
            lambda p: torch.optim.SGD(p, lr=0.1),
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
            lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
        ):
            a, b = self.run_both(make, make)
            self.assertTrue(torch.allclose(a, b))

    def test_sparse_adam(self):
        # Where every row has a gradient at every step it is Adam.
        w, v = torch.arange(6.0).reshape(3, 2).requires_grad_(), torch.arange(6.0).reshape(3, 2).requires_grad_()
        one, two = torch.optim.SparseAdam([w], lr=0.1, betas=(0.8, 0.9)), torch.optim.Adam([v], lr=0.1, betas=(0.8, 0.9))
        for _ in range(3):
            for p, o, sparse in ((w, one, True), (v, two, False)):
                o.zero_grad()
                torch.nn.functional.embedding(torch.tensor([0, 1, 2, 1]), p, sparse=sparse).pow(2).sum().backward()
                o.step()
        self.assertTrue(torch.allclose(w, v, atol=1e-6))
        table = torch.nn.Embedding(4, 2, sparse=True)
        before = table.weight.detach().clone()
        optimizer = torch.optim.SparseAdam(table.parameters())
        table(torch.tensor([1, 2, 1])).sum().backward()
        optimizer.step()
        self.assertTrue(torch.equal(table.weight[0], before[0]))
        state = optimizer.state_dict()["state"][0]
        self.assertEqual(state["step"], 1)
        self.assertTrue(torch.allclose(state["exp_avg"][:, 0], torch.tensor([0.0, 0.2, 0.1, 0.0])))
        self.assertTrue(torch.allclose(state["exp_avg_sq"][:, 0], torch.tensor([0.0, 0.004, 0.001, 0.0])))
        again = torch.optim.SparseAdam(table.parameters())
        again.load_state_dict(optimizer.state_dict())
        again.step()

    def test_mistakes(self):
        w = torch.ones(2, requires_grad=True)
        w.sum().backward()
        with self.assertRaisesRegex(RuntimeError, "SparseAdam: got a dense gradient; Adam takes those"):
            torch.optim.SparseAdam([w]).step()
        with self.assertRaisesRegex(ValueError, "SparseAdam: expected dense parameters"):
            torch.optim.SparseAdam([torch.eye(2).to_sparse().requires_grad_()])
        with self.assertRaisesRegex(ValueError, "SparseAdam: expected real parameters, got complex ones"):
            torch.optim.SparseAdam([torch.ones(2, dtype=torch.complex64, requires_grad=True)])
        for options in ({"lr": -1}, {"eps": 0}, {"betas": (1.0, 0.9)}):
            with self.assertRaisesRegex(ValueError, "Invalid"):
                torch.optim.SparseAdam([w], **options)
        v = torch.ones(2, requires_grad=True)
        v.grad = torch.eye(2)[0].to_sparse()
        for name, text in (("Adam", "Adam does not support sparse gradients; SparseAdam takes them"), ("RMSprop", "RMSprop does not support sparse gradients")):
            with self.assertRaisesRegex(RuntimeError, text):
                getattr(torch.optim, name)([v]).step()


if __name__ == "__main__":
    unittest.main()
