"""Where results are written and what memory holds: `out=` that is a view, bools of any byte, resizing, deterministic filling, overlapping memory."""

import copy
import io
import math
import pickle
import unittest

import cresset as torch


def bools(*numbers):
    """Bools of the bytes that are given."""
    return torch.tensor(numbers, dtype=torch.uint8).view(torch.bool)


class Sequences(unittest.TestCase):
    def test_a_view_of_as_many_elements_is_filled_in_order(self):
        for fill, last in (
            (lambda out: torch.linspace(0, 3, 4, out=out), 3),
            (lambda out: torch.linspace(torch.tensor(0.0), torch.tensor(3.0), 4, out=out), 3),
            (lambda out: torch.arange(4.0, out=out), 3),
            (lambda out: torch.arange(0, 4, 1, out=out), 3),
            (lambda out: torch.range(0, 3, out=out), 3),
            (lambda out: torch.logspace(0, 3, 4, out=out), 1000),
        ):
            x = torch.zeros(2, 3)
            out = x.narrow(1, 1, 2)
            self.assertIs(fill(out), out)
            self.assertEqual(x[:, 0].tolist(), [0, 0])
            self.assertEqual((out.shape, out[1, 1].item()), ((2, 2), last))

    def test_another_count_resizes(self):
        out = torch.zeros(2, 3)
        self.assertEqual(torch.linspace(0, 3, 4, out=out).tolist(), [0, 1, 2, 3])

    def test_bounds_that_are_tensors_write_integers(self):
        out = torch.zeros(4, dtype=torch.int64)
        self.assertEqual(torch.linspace(torch.tensor(0), torch.tensor(3), 4, out=out).tolist(), [0, 1, 2, 3])


class Bools(unittest.TestCase):
    def setUp(self):
        self.raw, self.plain = bools(2, 0, 255, 1), torch.tensor([True, False, True, True])

    def test_unique(self):
        self.assertEqual(torch.unique(self.raw).tolist(), [False, True])
        values, inverse, counts = torch.unique(self.raw, return_inverse=True, return_counts=True)
        self.assertEqual((inverse.tolist(), counts.tolist()), ([1, 0, 1, 1], [1, 3]))
        self.assertEqual(torch.unique_consecutive(self.raw).tolist(), [True, False, True])

    def test_unique_stays_in_its_memory_whatever_bytes_arrive(self):
        t = torch.zeros(256, dtype=torch.bool)
        t.view(torch.uint8).copy_(torch.arange(256).to(torch.uint8))
        self.assertLessEqual(torch.unique(t).numel(), 256)

    def test_reading(self):
        raw, plain = self.raw, self.plain
        for function in (
            lambda b: b == plain, lambda b: plain != b, lambda b: b & plain, lambda b: ~b, lambda b: b ^ plain, lambda b: b.sum(), lambda b: b.to(torch.int64),
            lambda b: b.float(), lambda b: b.cumsum(0), lambda b: b * 3, lambda b: b.sort().values, lambda b: torch.where(b, 1, 2), lambda b: b.any(),
            lambda b: b.all(), lambda b: b.nonzero(), lambda b: torch.arange(4)[b], lambda b: b.max(), lambda b: b.prod(), lambda b: torch.stack([b, plain]).int(),
            lambda b: b.clone().view(torch.uint8), lambda b: b.contiguous().logical_not(), lambda b: b[::2].int(), lambda b: b.view(2, 2).t().int(),
            lambda b: torch.zeros(4).masked_fill(b, 1), lambda b: torch.zeros(4).masked_scatter(b, torch.ones(4)), lambda b: b.expand(2, 4).sum(0),
            lambda b: torch.ones(4).index_put((b,), torch.tensor(5.0)), lambda b: b.flip(0).int(), lambda b: torch.cat([b, b]).long(), lambda b: b.argsort(),
            lambda b: torch.bincount(b.long()), lambda b: b.unsqueeze(0).half(), lambda b: torch.nn.functional.one_hot(b.long(), 2), lambda b: b.count_nonzero(),
            lambda b: b.msort(), lambda b: b.roll(1).int(), lambda b: b.repeat(2).int(), lambda b: torch.tril(b.view(2, 2)).int(), lambda b: b.bool().int(),
        ):  # fmt: skip
            self.assertTrue(torch.equal(function(raw), function(plain)))
        self.assertTrue(torch.equal(raw, plain))
        self.assertTrue(torch.allclose(raw, plain))
        self.assertEqual((raw.tolist(), [bool(b) for b in raw], [int(b) for b in raw], str(raw)), (plain.tolist(), plain.tolist(), [1, 0, 1, 1], str(plain)))
        self.assertEqual([raw[i].item() for i in range(4)], plain.tolist())

    def test_the_bytes_stay_what_they_were(self):
        self.raw.sum()
        self.assertEqual(self.raw.view(torch.uint8).tolist(), [2, 0, 255, 1])
        self.assertEqual(self.raw.numpy().view("uint8").tolist(), [2, 0, 255, 1])
        self.assertFalse(self.raw.is_neg())

    def test_copies_of_the_bytes(self):
        file = io.BytesIO()
        torch.save(self.raw, file)
        file.seek(0)
        for same in (copy.deepcopy(self.raw), pickle.loads(pickle.dumps(self.raw)), torch.load(file), torch.empty(0, dtype=torch.bool).set_(self.raw)):
            self.assertEqual(same.int().tolist(), [1, 0, 1, 1])

    def test_writing(self):
        raw = bools(2, 0, 255, 1)
        raw &= torch.tensor([True, True, True, False])
        self.assertEqual(raw.tolist(), [True, False, True, False])
        raw.logical_not_()
        self.assertEqual(raw.view(torch.uint8).tolist(), [0, 1, 0, 1])
        raw = bools(2, 0, 255, 1)
        raw[raw] = False
        self.assertEqual(raw.any().item(), False)
        out = bools(7, 7)
        torch.logical_and(torch.tensor([True, False]), torch.tensor(True), out=out)
        self.assertEqual(out.tolist(), [True, False])
        half = bools(2, 3, 4, 5)[1:3]
        half.zero_()
        self.assertEqual(half.tolist(), [False, False])


class Resizing(unittest.TestCase):
    def test_a_memory_format_restrides_without_another_shape(self):
        t = torch.arange(24.0).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
        self.assertEqual(t.resize_(t.shape).stride(), (24, 1, 8, 2))
        self.assertEqual(t.resize_(t.shape, memory_format=torch.contiguous_format).stride(), (24, 12, 4, 1))
        self.assertEqual(t.resize_(t.shape, memory_format=torch.channels_last).stride(), (24, 1, 8, 2))

    def test_deterministic_mode_is_a_bool(self):
        for wrong in ({"mode": 1}, {"mode": "warn"}, {"mode": True, "warn_only": 1}):
            with self.assertRaisesRegex(TypeError, "to be a bool, got"):
                torch.use_deterministic_algorithms(**wrong)
        self.assertFalse(torch.are_deterministic_algorithms_enabled())

    def test_places_are_not_set_from_memory_that_is_written(self):
        place = torch.tensor([0, 1])
        for call in (lambda x: x.index_put_((place,), x[1:]), lambda x: x.__setitem__(place, x[1:]), lambda x: x.index_put_((x,), torch.tensor(5))):
            x = torch.arange(3)
            with self.assertRaisesRegex(RuntimeError, "shares no memory"):
                call(x)
            self.assertEqual(x.tolist(), [0, 1, 2])
        x = torch.arange(3)
        x[place] = x[1:].clone()
        self.assertEqual(x.tolist(), [1, 2, 2])

    def test_deterministic_mode_fills_what_was_not_there(self):
        torch.use_deterministic_algorithms(True)
        try:
            self.assertEqual(torch.arange(8.0)[::2].resize_(6).tolist(), [0, 1, 2, 3, 4, 5])
            self.assertEqual(torch.arange(2).resize_(3).tolist(), [0, 1, 2**63 - 1])
            self.assertTrue(math.isnan(torch.arange(3.0)[1:].resize_(4)[3].item()))
            self.assertTrue(torch.empty_strided((10, 9), (1, 5)).isnan().all())
            self.assertTrue(torch.empty_strided((3, 2), (4, 2)).isnan().all())
            self.assertEqual(torch.empty_strided((0, 2), (4, 2)).numel(), 0)
        finally:
            torch.use_deterministic_algorithms(False)


class Overlapping(unittest.TestCase):
    def test_setting_through_a_mask(self):
        v = torch.zeros(1).expand(2)
        with self.assertWarnsRegex(UserWarning, "expanded"):
            v[v != 1.0] = 3.0
        self.assertEqual(v.tolist(), [3, 3])

    def test_sums_into_their_operand_count_its_part_as_zero(self):
        for function, whole in ((torch.sum, [3, 4]), (torch.mean, [1.5, 2])):
            x = torch.arange(1.0, 5.0).view(2, 2)
            function(x, 0, out=x[0])
            self.assertEqual(x.tolist(), [whole, [3, 4]])

    def test_matmul_into_an_operand_is_the_product(self):
        x = torch.arange(1.0, 7.0)
        a = x[:4].view(2, 2)
        torch.matmul(a.t(), a, out=a)
        self.assertEqual(x.tolist(), [10, 14, 14, 20, 5, 6])
        for vector in (x[:2], x[4:]):
            with self.assertRaisesRegex(RuntimeError, "matmul.*memory"):
                torch.matmul(a, vector, out=x[:2])

    def test_setting_places_warns(self):
        for change in (lambda v: v.index_put_((torch.tensor([0]),), torch.ones(1)), lambda v: v.index_fill_(0, torch.tensor([0]), 1.0)):
            v = torch.zeros(1).expand(2)
            with self.assertWarnsRegex(UserWarning, "expanded"):
                change(v)
            self.assertEqual(v.tolist(), [1, 1])

    def test_named_dtypes_must_be_those_of_out(self):
        x = torch.ones(3, 3)
        for function in (torch.sum, torch.nansum, torch.mean, torch.nanmean, torch.prod, torch.cumsum, torch.cumprod):
            with self.assertRaisesRegex(RuntimeError, "dtype float64"):
                function(x, 0, dtype=torch.float64, out=torch.empty(3))
            function(x, 0, dtype=torch.float64, out=torch.empty(3, dtype=torch.float64))
        for function in (torch.mean, torch.nanmean):
            with self.assertRaisesRegex(RuntimeError, "dtype float64"):
                function(x, dtype=torch.float64, out=torch.empty(()))

    def test_norms_are_written_as_what_they_are(self):
        x, double = torch.eye(3), torch.empty((), dtype=torch.float64)
        norms = (torch.linalg.norm, torch.linalg.matrix_norm, torch.linalg.vector_norm)
        for function in (*norms, torch.nuclear_norm, lambda x, out: torch.frobenius_norm(x, [0, 1], out=out)):
            with self.assertRaisesRegex(RuntimeError, "dtype float32"):
                function(x, out=double)
        for function in norms:
            with self.assertRaisesRegex(RuntimeError, "dtype float64"):
                function(x, dtype=torch.float64, out=torch.empty(()))
            self.assertIs(function(x, dtype=torch.float64, out=double), double)

    def test_volumes_without_a_batch_keep_their_format(self):
        x = torch.randn(1, 4, 4, 6, 4).contiguous(memory_format=torch.channels_last_3d)[0]
        self.assertEqual(torch.nn.functional.max_pool3d(x, 2).stride(), (1, 24, 8, 4))


class Linear(unittest.TestCase):
    def test_values_of_long_complex_matrices(self):
        """Matrices that end where their mapping ends, of which vector loops read a little more."""
        for shape in ((131072, 3), (3, 131072)):
            a = torch.zeros(shape, dtype=torch.complex128)
            a.view(-1)[:: 131072 if shape[0] == 3 else 3] = 1
            self.assertEqual(torch.linalg.svdvals(a).shape, (3,))


class Elements(unittest.TestCase):
    def test_equal_promotes(self):
        self.assertTrue(torch.equal(torch.tensor([1.0]), torch.tensor([1])))
        self.assertTrue(torch.equal(torch.tensor([1]), torch.tensor([True])))
        self.assertFalse(torch.equal(torch.tensor([1.5]), torch.tensor([1])))

    def test_different_elements_keep_that_gradients_are_wanted(self):
        x = torch.ones(3, requires_grad=True)
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        self.assertEqual((values.requires_grad, inverse.requires_grad, counts.requires_grad), (True, False, False))
        self.assertTrue(torch.unique_consecutive(x).requires_grad)
        for result in (values, torch.unique(x.view(1, 3), dim=0)):
            with self.assertRaisesRegex(RuntimeError, "not implemented"):
                result.sum().backward()

    def test_the_dimension_that_an_index_leaves(self):
        with self.assertRaisesRegex(IndexError, "dimension 1 with size 5"):
            torch.zeros(2, 5)[0, 5]
        with self.assertRaisesRegex(IndexError, "dimension 2 with size 3"):
            torch.zeros(2, 5, 3)[0, None, :, 7]

    def test_addr_refuses_broken_factors_of_integers(self):
        m, v = torch.ones(2, 2, dtype=torch.int64), torch.ones(2, dtype=torch.int64)
        for factors in ({"alpha": 0.5}, {"beta": 0.5}):
            with self.assertRaisesRegex(RuntimeError, "must not be a floating point number"):
                torch.addr(m, v, v, **factors)


class Spellings(unittest.TestCase):
    def test_numbers_before_tensors(self):
        t, b = torch.ones(2, 2), torch.ones(1, 2, 2)
        with self.assertWarns(UserWarning):
            torch.addmv(2, t[0], 3, t, t[0])
        for got, expected in (
            (t.clone().addbmm_(1, b, b), t.addbmm(b, b)), (torch.addcdiv(t, 2, t, t), torch.addcdiv(t, t, t, value=2)),
            (torch.addcmul(t, 2, t, t), torch.addcmul(t, t, t, value=2)), (torch.addmm(2, t, 3, t, t), torch.addmm(t, t, t, beta=2, alpha=3)),
            (torch.addmm(2, t, t, t), torch.addmm(t, t, t, beta=2)), (t.clone().addmm_(2, 3, t, t), torch.addmm(t, t, t, beta=2, alpha=3)),
            (torch.add(t, 2, t), t + 2 * t), (t.clone().add_(2, t), t + 2 * t), (t.sub(2, t), t - 2 * t), (torch.baddbmm(2, b, b, b), torch.baddbmm(b, b, b, beta=2)),
        ):  # fmt: skip
            self.assertTrue(torch.equal(got, expected))
        with self.assertRaises(TypeError):
            torch.addmm(1, 2, 3, t, t)

    def test_names_of_dimensions(self):
        x = torch.ones(2, 3)
        self.assertEqual(torch.swapaxes(x, axis0=0, axis1=1).shape, (3, 2))
        self.assertEqual(torch.amin(x, dim=None, keepdim=True).shape, (1, 1))
        self.assertEqual(torch.amax(x, dim=None).shape, ())

    def test_einsum_without_tensors(self):
        for equation in ("", "i"):
            with self.assertRaisesRegex(ValueError, "at least one tensor"):
                torch.einsum(equation)
        with self.assertRaisesRegex(ValueError, "at least one operand"):
            torch.einsum("", [])

    def test_einsum_of_lists(self):
        x = torch.arange(6.0).view(2, 3)
        self.assertTrue(torch.equal(torch.einsum(x, [0, 1], [1, 0]), x.t()))
        self.assertTrue(torch.equal(torch.einsum(x, [0, 1], x, [0, 1]), (x * x).sum()))
        self.assertTrue(torch.equal(torch.einsum(x, [..., 51], [...]), x.sum(1)))
        with self.assertRaises(ValueError):
            torch.einsum(x, [0, 52])

    def test_random_tensors_of_narrow_dtypes_and_of_one_value(self):
        self.assertEqual(torch.testing.make_tensor(2, dtype=torch.float8_e5m2, device="cpu").dtype, torch.float8_e5m2)
        with self.assertWarns(FutureWarning):
            self.assertEqual(torch.testing.make_tensor(2, dtype=torch.float32, device="cpu", low=0, high=0).tolist(), [0, 0])


class Sparse(unittest.TestCase):
    def test_masked_reductions(self):
        x, mask = torch.tensor([[1.0, 2, 0], [0, 3, 4]]), torch.tensor([[True, False, True], [False, True, True]])
        for layout in (torch.sparse_coo, torch.sparse_csr):
            for name in ("sum", "prod", "amax", "amin", "mean"):
                function = getattr(torch.masked, name)
                for m in (mask, mask.to_sparse(layout=layout)):
                    got = function(x.to_sparse(layout=layout), 0, keepdim=True, mask=m)
                    self.assertEqual(got.layout, layout)
                    self.assertTrue(torch.equal(got.to_dense(), function(x, 0, keepdim=True, mask=mask)))

    def test_in_place_and_out(self):
        s = torch.tensor([0.0, 1.0, 2.0]).to_sparse()
        self.assertEqual(torch.ones(3).mul_(s).tolist(), [0, 1, 2])
        torch.testing.assert_close(torch.deg2rad(s, out=s.clone()).to_dense(), torch.deg2rad(s.to_dense()))
        self.assertEqual((s * torch.tensor(2.0).to_sparse()).to_dense().tolist(), [0, 2, 4])
        with self.assertRaisesRegex(RuntimeError, "expected an out that takes"):
            torch.tensor([0, 1]).to_sparse().sin_()

    def test_layouts_of_new_tensors(self):
        for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
            for make in (torch.empty, torch.zeros):
                made = make(2, 3, layout=layout)
                self.assertEqual((made.layout, made.shape, made._nnz()), (layout, (2, 3), 0))

    def test_random_values(self):
        for layout in (torch.sparse_coo, torch.sparse_csr):
            self.assertEqual(torch.randn_like(torch.eye(2).to_sparse(layout=layout)).shape, (2, 2))
            self.assertLess(torch.eye(2).to_sparse(layout=layout).uniform_().to_dense().max().item(), 1)


if __name__ == "__main__":
    unittest.main()
