"""Functions and operators on the meta device: shapes, dtypes and strides without data, and typed errors where those depend on data."""

import unittest

import cresset as torch
from cresset.nn import functional as F


def meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


def whole(*shape):
    return meta(*shape, dtype=torch.int64)


class Meta(unittest.TestCase):
    def assert_like(self, t, shape, dtype=torch.float32, stride=None):
        self.assertEqual((t.device.type, tuple(t.shape), t.dtype), ("meta", shape, dtype))
        if stride is not None:
            self.assertEqual(t.stride(), stride)

    def test_functions_written_in_python(self):
        self.assert_like(F.embedding(whole(2, 3), meta(10, 4), max_norm=1.0), (2, 3, 4))
        for mode in ("sum", "mean", "max"):
            self.assert_like(F.embedding_bag(whole(2, 3), meta(10, 4), mode=mode), (2, 4))
            self.assert_like(F.embedding_bag(whole(6), meta(10, 4), whole(3), mode=mode, padding_idx=1), (3, 4))
        for n, unpool in ((1, F.max_unpool1d), (2, F.max_unpool2d), (3, F.max_unpool3d)):
            self.assert_like(unpool(meta(2, 3, *[4] * n), whole(2, 3, *[4] * n), 2), (2, 3, *[8] * n))
        for n, pool in ((2, F.fractional_max_pool2d), (3, F.fractional_max_pool3d)):
            values, places = pool(meta(2, 3, *[7] * n), 2, output_size=3, return_indices=True)
            self.assert_like(values, (2, 3, *[3] * n))
            self.assert_like(places, (2, 3, *[3] * n), torch.int64)
        self.assert_like(F.multilabel_margin_loss(meta(2, 5), whole(2, 5)), ())
        self.assert_like(F.multilabel_margin_loss(meta(2, 5), whole(2, 5), reduction="none"), (2,))
        scores = meta(6, 2, 5).requires_grad_()
        for reduction, shape in (("none", (2,)), ("mean", ()), ("sum", ())):
            loss = F.ctc_loss(scores, whole(2, 3), [6, 6], [3, 2], reduction=reduction)
            self.assert_like(loss, shape)
            (grad,) = torch.autograd.grad(loss.sum(), scores)
            self.assert_like(grad, (6, 2, 5))

    def test_operators(self):
        x = meta(3, 4)
        self.assert_like(torch.index_put(x.t(), (torch.empty(4, dtype=torch.bool, device="meta"),), meta(3)), (4, 3), stride=(1, 4))
        x[x > 0] = 0.0
        self.assert_like(torch.nonzero_static(x, size=5), (5, 2), torch.int64)
        self.assert_like(torch.pdist(x), (3,))
        self.assert_like(torch.as_strided(meta(10), (2, 2), (1, 2), 10), (2, 2), stride=(1, 2))
        self.assert_like(x.repeat_interleave(whole(3), 0, output_size=7), (7, 4))
        self.assert_like(torch.repeat_interleave(whole(3), output_size=7), (7,), torch.int64)
        channels = [meta(4) for _ in range(4)]
        for training in (True, False):
            out = torch.native_batch_norm(meta(2, 4, 5), *channels, training, 0.1, 1e-5)
            self.assertEqual([tuple(t.shape) for t in out], [(2, 4, 5), (4,), (4,)])

    def test_what_depends_on_data_is_not_implemented(self):
        x = meta(3, 4)
        for call in (x.nonzero, x.unique, lambda: x[x > 0], x.tolist, lambda: torch.bincount(whole(3)), lambda: torch.equal(x, x),
                     x.cpu, lambda: torch.empty(3, 4).copy_(x)):  # fmt: skip
            with self.assertRaises(NotImplementedError):
                call()
        for call in (x.sum().item, lambda: torch.repeat_interleave(whole(3)), lambda: torch.allclose(x, x), lambda: F.one_hot(whole(3))):
            with self.assertRaises(RuntimeError):
                call()

    def test_real_and_meta_tensors_in_one_call(self):
        real, x, places = torch.ones(3, 4), meta(3, 4), torch.zeros(3, 4, dtype=torch.int64)
        for result in (x.gather(1, places), real.gather(1, places.to("meta")), torch.embedding(real, places.to("meta")), real.index_select(0, whole(2))):
            self.assertEqual(result.device.type, "meta")
        for call in (lambda: real.scatter_(1, places.to("meta"), real), lambda: real.index_add_(0, whole(3), real), lambda: real + x):
            with self.assertRaises(RuntimeError):
                call()
        self.assertEqual(real.sum().item(), 12)

    def test_copies_keep_to_the_device(self):
        self.assertEqual(torch.ones(3).to("meta").device.type, "meta")
        self.assert_like(meta(2, 3).t().clone(), (3, 2), stride=(1, 3))
        self.assert_like(torch.linspace(0, 1, 5, device="meta"), (5,))


if __name__ == "__main__":
    unittest.main()
