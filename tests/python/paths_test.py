"""Paths of kernels and composites that only some shapes take, against NumPy."""

import itertools
import unittest

import numpy as np

import cresset as torch

rng = np.random.default_rng(7)
DTYPES = (np.uint8, np.int16, np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128)


def numbers(shape, dtype=np.float32):
    x = rng.standard_normal(shape) * 9
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.issubdtype(dtype, np.complexfloating) else x.astype(dtype)


def same(test, got, want):
    test.assertEqual(tuple(got.shape), want.shape)
    np.testing.assert_array_equal(got.numpy(), want)


def on_threads(f):
    """The same result on one and on two threads, which is returned."""
    results = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(f())
    torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) or bool((results[0] != results[0]).any())
    return results[0]


class Copies(unittest.TestCase):
    def test_column_spread_over_rows(self):
        for dtype in DTYPES:
            x = numbers(300, dtype)
            same(self, on_threads(lambda: torch.tensor(x)[:, None].expand(300, 257).contiguous()), np.repeat(x[:, None], 257, 1))  # noqa: B023

    def test_pairs_side_by_side(self):
        for dtype in DTYPES:
            x, y = numbers((70, 1000), dtype), numbers((70, 1000), dtype)
            a, b = torch.tensor(x), torch.tensor(y)
            same(self, on_threads(lambda: torch.stack((a, b), -1)), np.stack((x, y), -1))  # noqa: B023
            same(self, torch.stack((a.t(), b.t()), -1), np.stack((x.T, y.T), -1))
            same(self, torch.cat((a.unsqueeze(-1), b.unsqueeze(-1), a.unsqueeze(-1)), -1), np.stack((x, y, x), -1))
            same(self, torch.stack((a[:1, :3], b[:1, :3]), -1), np.stack((x[:1, :3], y[:1, :3]), -1))

    def test_complex_of_parts(self):
        x, y = numbers((33, 1025)), numbers((33, 1025))
        same(self, torch.complex(torch.tensor(x), torch.tensor(y)), x + 1j * y)
        same(self, torch.complex(torch.tensor(x), torch.tensor(y[0])), x + 1j * y[0])


class Kron(unittest.TestCase):
    def test_shapes(self):
        shapes = [
            ((8, 8), (8, 8)),
            ((5, 7, 3), (6, 4)),
            ((9, 4), (4, 5, 300)),
            ((6,), (4, 9)),
            ((5, 1), (6, 3)),
            ((40,), (30,)),
            ((4, 0), (4, 4)),
            ((3, 4, 5, 2), (2, 3, 5, 6)),
            ((8, 3), ()),
        ]
        for a, b in shapes:
            x, y = numbers(a), numbers(b)
            with self.subTest(a=a, b=b):
                got = torch.kron(torch.tensor(x), torch.tensor(y))
                same(self, got, np.kron(x, y).astype(np.float32))
                self.assertTrue(got.is_contiguous())

    def test_gradients_of_spread_sides(self):
        x, y = torch.tensor(numbers((5, 6), np.float64), requires_grad=True), torch.tensor(numbers((7, 4), np.float64), requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(torch.kron, (x, y)))


class Activations(unittest.TestCase):
    def test_hardswish_and_hardsigmoid_at_their_corners(self):
        x = np.array([-np.inf, -4, -3, -0.0, 0, 1, 3, 4, np.inf, np.nan] * 5, np.float32)
        clamped = np.clip(x + np.float32(3), 0, 6)
        with np.errstate(invalid="ignore"):
            same(self, torch.nn.functional.hardswish(torch.tensor(x)), x * clamped / np.float32(6))
        same(self, torch.nn.functional.hardsigmoid(torch.tensor(x)), clamped / np.float32(6))


class Slices(unittest.TestCase):
    def test_index_fill_of_rows_and_columns(self):
        for dtype in DTYPES:
            x = numbers((40, 50, 30), dtype)
            for dim in range(3):
                index = np.array([3, 0, 3, -1, 7])
                want = x.copy()
                np.moveaxis(want, dim, 0)[index] = 5
                same(self, torch.tensor(x).index_fill(dim, torch.tensor(index), 5), want)
                turned = torch.tensor(x).transpose(0, 2)
                want = np.swapaxes(x, 0, 2).copy()
                np.moveaxis(want, dim, 0)[index] = 5
                same(self, turned.clone().index_fill_(dim, torch.tensor(index), 5), want)

    def test_index_reduce_takes_whole_rows(self):
        reductions = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}
        for dtype in DTYPES:
            if np.issubdtype(dtype, np.complexfloating):
                continue
            x, y = numbers((20, 3, 50), dtype), numbers((64, 3, 50), dtype)
            if dtype in (np.float32, np.float64):
                x[3, 1, 4] = y[5, 0, 6] = np.nan
            index = rng.integers(0, 20, 64)
            for name, f in reductions.items():
                want = x.copy()
                with np.errstate(all="ignore"):
                    for k, i in enumerate(index):
                        want[i] = f(want[i], y[k])
                with self.subTest(dtype=dtype, name=name):
                    same(self, on_threads(lambda: torch.tensor(x).index_reduce(0, torch.tensor(index), torch.tensor(y), name)), want)  # noqa: B023

    def test_scatter_reduce_of_scattered_numbers(self):
        for dtype in (np.int32, np.int64, np.float32, np.float64):
            x, y, index = numbers((30, 40), dtype), numbers((30, 40), dtype), rng.integers(0, 30, (30, 40))
            if dtype == np.float32:
                x[2, 3] = y[4, 5] = np.nan
            columns = np.broadcast_to(np.arange(40), (30, 40))
            for include in (True, False):
                sums, counts, most = x.copy(), np.ones((30, 40), np.int64), x.copy()
                if not include:
                    touched = np.zeros((30, 40), bool)
                    touched[index, columns] = True
                    sums[touched], counts[touched] = 0, 0
                    most[touched] = np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else -np.inf
                for r in range(30):
                    for c in range(40):
                        sums[index[r, c], c] += y[r, c]
                        counts[index[r, c], c] += 1
                        most[index[r, c], c] = np.maximum(most[index[r, c], c], y[r, c])
                counts = np.maximum(counts, 1)
                mean = sums // counts if np.issubdtype(dtype, np.integer) else (sums / counts).astype(dtype)
                t, i, s = torch.tensor(x), torch.tensor(index), torch.tensor(y)
                with self.subTest(dtype=dtype, include=include):
                    same(self, t.scatter_reduce(0, i, s, "mean", include_self=include), mean)
                    same(self, t.t().contiguous().t().scatter_reduce_(0, i, s, "mean", include_self=include), mean)
                    same(self, t.scatter_reduce(0, i, s, "amax", include_self=include), most)


class Bags(unittest.TestCase):
    def bags(self, weight, index, offsets, mode, padding=None, scale=None):
        rows = []
        for b, first in enumerate(offsets):
            last = offsets[b + 1] if b + 1 < len(offsets) else len(index)
            kept = [k for k in range(first, last) if index[k] != padding]
            total = sum((weight[index[k]] * (1 if scale is None else scale[k]) for k in kept), np.zeros(weight.shape[1], weight.dtype))
            rows.append(total / max(len(kept), 1) if mode == "mean" else total)
        return np.stack(rows)

    def test_sums_and_means(self):
        weight = numbers((50, 24), np.float64)
        index, offsets = rng.integers(0, 50, 40), [0, 5, 5, 17, 39, 40]
        scale = numbers(40, np.float64)
        for kind in (torch.int64, torch.int32):
            i, o, w = torch.tensor(index, dtype=kind), torch.tensor(offsets, dtype=kind), torch.tensor(weight)
            for padding in (None, int(index[6])):
                for mode in ("sum", "mean"):
                    got = torch.nn.functional.embedding_bag(i, w, o, mode=mode, padding_idx=padding)
                    np.testing.assert_allclose(got.numpy(), self.bags(weight, index, offsets, mode, padding), rtol=1e-13, atol=1e-13)
                got = torch.nn.functional.embedding_bag(i, w, o, mode="sum", padding_idx=padding, per_sample_weights=torch.tensor(scale))
                np.testing.assert_allclose(got.numpy(), self.bags(weight, index, offsets, "sum", padding, scale), rtol=1e-13, atol=1e-13)

    def test_gradients_equal_those_of_picked_rows(self):
        index, offsets = torch.tensor(rng.integers(0, 9, (6, 5))), torch.arange(0, 30, 5)
        w = torch.tensor(numbers((9, 4), np.float64), requires_grad=True)
        for mode in ("sum", "mean"):
            self.assertTrue(torch.autograd.gradcheck(lambda t: torch.nn.functional.embedding_bag(index, t, mode=mode), (w,)))  # noqa: B023
            self.assertTrue(torch.autograd.gradgradcheck(lambda t: torch.nn.functional.embedding_bag(index, t, mode=mode), (w,)))  # noqa: B023
        scale = torch.tensor(numbers(30, np.float64), requires_grad=True)
        bag = lambda t, s: torch.nn.functional.embedding_bag(index.flatten(), t, offsets, mode="sum", per_sample_weights=s)  # noqa: E731
        self.assertTrue(torch.autograd.gradcheck(bag, (w, scale), check_forward_ad=True))
        self.assertTrue(torch.autograd.gradgradcheck(bag, (w, scale)))

    def test_a_bag_longer_than_the_table(self):
        w = torch.tensor(numbers((3, 4), np.float64), requires_grad=True)
        index = torch.tensor([[0, 1, 1, 1, 1, 0, 1], [2, 2, 2, 2, 2, 2, 1]])
        f = lambda t: torch.nn.functional.embedding_bag(index, t, mode="sum")  # noqa: E731
        np.testing.assert_allclose(f(w).detach().numpy(), w.detach().numpy()[index.numpy()].sum(1), rtol=1e-13)
        self.assertTrue(torch.autograd.gradcheck(f, (w,)))

    def test_numbers_out_of_range(self):
        for bad in (9, -1):
            with self.assertRaises((IndexError, RuntimeError)):
                torch.nn.functional.embedding_bag(torch.tensor([[0, bad]]), torch.ones(9, 4))


class MultilabelMargin(unittest.TestCase):
    def test_rows_that_name_few_classes(self):
        x = numbers((6, 12), np.float64)
        target = np.full((6, 12), -1)
        for row, names in enumerate(([3, 0], [], [11, 4, 5], [2], [1, 7], [0])):
            target[row, : len(names)] = names
        target[3, 2] = 8  # after a -1: not meant
        want = []
        for row in range(6):
            meant = target[row][: list(target[row]).index(-1)]
            others = [c for c in range(12) if c not in meant]
            want.append(sum(max(0.0, 1 - x[row, j] + x[row, c]) for j in meant for c in others) / 12)
        got = torch.nn.functional.multilabel_margin_loss(torch.tensor(x), torch.tensor(target), reduction="none")
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-13)


class IncompleteGamma(unittest.TestCase):
    def test_single_precision_rounds_the_double_result(self):
        a = np.exp(rng.uniform(-12, 11, 20000)).astype(np.float32)
        x = (a * np.exp(rng.normal(0, 1, 20000))).astype(np.float32)
        edges = np.array([1e-30, 1e-6, 0.5, 1, 4.999, 5, 5.001, 7, 98.99, 99.99, 100, 100.01, 9999, 10000, 10001, 99999, 1e5, 3e6], np.float32)
        corner = np.array([0, 1e-38, 0.3, 1, 2, 5.5, 5.999, 6, 6.001, 30, 99.5, 101, 1e4, 99999.5, 1e5, 1e6, np.inf, np.nan, -1], np.float32)
        a = np.concatenate((a, np.repeat(edges, corner.size), np.repeat(corner, edges.size)))
        x = np.concatenate((x, np.tile(corner, edges.size), np.tile(edges, corner.size)))
        for f in (torch.igamma, torch.igammac):
            got, want = f(torch.tensor(a), torch.tensor(x)).numpy(), f(torch.tensor(a.astype(np.float64)), torch.tensor(x.astype(np.float64))).numpy()
            known = (want > 1e-35) & (np.minimum(want, 1 - want) > 1e-9)
            self.assertLess(np.max(np.abs(got - want)[known] / np.spacing(want[known].astype(np.float32))), 0.6)
            np.testing.assert_allclose(got, want, rtol=2e-7, atol=1e-12)


class Logaddexp2(unittest.TestCase):
    def test_single_precision(self):
        a, b = (rng.standard_normal((2, 5000)) * 20).astype(np.float32)
        b[::3] = a[::3]
        got, want = torch.logaddexp2(torch.tensor(a), torch.tensor(b)).numpy(), np.logaddexp2(a.astype(np.float64), b.astype(np.float64))
        self.assertLess(np.max(np.abs(got - want) / np.spacing(np.maximum(np.abs(want), 1).astype(np.float32))), 1.5)
        corners = np.array([-np.inf, -1e30, -1, 0, 1, 200, 1e30, np.inf, np.nan], np.float32)
        a, b = np.repeat(corners, corners.size), np.tile(corners, corners.size)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(torch.logaddexp2(torch.tensor(a), torch.tensor(b)).numpy(), np.logaddexp2(a, b), rtol=2e-7)


class Distances(unittest.TestCase):
    def test_gradients_of_rows_alone_and_in_twos(self):
        for p, rows, others, columns in itertools.product((0.0, 1.0, 2.0, 2.5, float("inf")), (1, 2, 5), (1, 3), (2, 37)):
            x, y = numbers((2, rows, columns), np.float64), numbers((2, others, columns), np.float64)
            y[:, 0] = x[:, 0]  # at a distance of 0
            g = numbers((2, rows, others), np.float64)
            d = x[:, :, None] - y[:, None]
            norm = np.linalg.norm(d, p, -1) if p != 2.5 else (np.abs(d) ** p).sum(-1) ** (1 / p)
            safe = np.where(norm == 0, 1, norm)[..., None]
            if p == 0:
                each = 0 * d
            elif p == float("inf"):
                each = np.sign(d) * (np.abs(d) == norm[..., None])
            else:
                each = np.sign(d) * (np.abs(d) / safe) ** (p - 1)
            wanted = [(g[..., None] * each).sum(2), -(g[..., None] * each).sum(1)]
            leaves = [torch.tensor(t, requires_grad=True) for t in (x, y)]
            for got, want in zip(torch.autograd.grad(torch.cdist(*leaves, p), leaves, torch.tensor(g)), wanted, strict=True):
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)


class GridSample(unittest.TestCase):
    def test_many_channels_are_sampled_as_each_alone(self):
        for dtype, mode, padding in itertools.product((np.float32, np.float64), ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")):
            grid = torch.tensor(rng.uniform(-1.3, 1.3, (2, 9, 70, 2)).astype(dtype))
            for channels in (3, 8, 17, 32):
                x = numbers((2, channels, 13, 11), dtype)
                x[0, 1, 2, 3] = np.inf
                sample = lambda t: torch.nn.functional.grid_sample(t, grid, mode=mode, padding_mode=padding, align_corners=False)  # noqa: B023, E731
                each = [sample(torch.tensor(x[:, c : c + 1])).numpy() for c in range(channels)]
                got = on_threads(lambda: sample(torch.tensor(x)))  # noqa: B023
                np.testing.assert_array_equal(got.numpy(), np.concatenate(each, 1))


class SmallMatrices(unittest.TestCase):
    def test_solutions_and_inverses(self):
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            exact = np.complex128 if np.issubdtype(dtype, np.complexfloating) else np.float64
            near = {"rtol": 1e-3, "atol": 1e-3} if np.dtype(dtype).itemsize <= (8 if exact is np.complex128 else 4) else {"rtol": 1e-9, "atol": 1e-9}
            for n in range(7):
                for batch in ((), (5,), (3, 2), (0,)):
                    a = numbers((*batch, n, n), dtype) + 20 * np.eye(n, dtype=dtype)[rng.permutation(n)]
                    t = torch.tensor(a)
                    with self.subTest(dtype=dtype, n=n, batch=batch):
                        np.testing.assert_allclose(torch.linalg.inv(t).numpy(), np.linalg.inv(a.astype(exact)), **near)
                        for columns in (0, 1, n, 9):
                            b = numbers((*batch, columns, n), dtype)
                            for right, want in ((torch.tensor(b).mT, np.swapaxes(b, -1, -2)), (torch.tensor(b).mH, np.swapaxes(b.conj(), -1, -2))):
                                got = torch.linalg.solve(t, right)
                                np.testing.assert_allclose(got.numpy(), np.linalg.solve(a.astype(exact), want.astype(exact)), **near)
                                self.assertTrue(got.mT.is_contiguous())
                        one = numbers((n, 2), dtype)
                        np.testing.assert_allclose(
                            torch.linalg.solve(t, torch.tensor(one)).numpy(),
                            np.linalg.solve(a.astype(exact), np.broadcast_to(one, (*batch, n, 2)).astype(exact)),
                            **near,
                        )

    def test_qr_is_that_of_lapack(self):
        for dtype in (np.float32, np.float64):
            near = {"rtol": 0, "atol": 3e-5 if dtype == np.float32 else 1e-13}
            for m, n in itertools.product(range(9), range(9)):
                a = numbers((3, m, n), dtype)
                if min(m, n) > 2:
                    a[1, :, 1] = a[1, :, 0]
                    a[2] = 0
                for mode in ("reduced", "complete", "r"):
                    with self.subTest(dtype=dtype, m=m, n=n, mode=mode):
                        q, r = torch.linalg.qr(torch.tensor(a), mode=mode)
                        np.testing.assert_array_equal(np.tril(r.numpy(), -1), 0)
                        if mode != "r":
                            np.testing.assert_allclose((q @ r).numpy(), a, **near)
                            np.testing.assert_allclose((q.mT @ q).numpy(), np.broadcast_to(np.eye(q.shape[-1]), (3, q.shape[-1], q.shape[-1])), **near)
                        if n > 0 and m > 0:
                            np.testing.assert_allclose(
                                np.abs(r.numpy()[0]),
                                np.abs(np.linalg.qr(a[0].astype(np.float64), mode="r" if mode == "r" else mode)[-1 if mode != "r" else slice(None)]),
                                **near,
                            )
                            self.assertEqual(float(r[0, 0, 0]) < 0, float(a[0, 0, 0]) > 0 if m > 1 else float(a[0, 0, 0]) < 0)
            for scale in (1e-35, 1e37 / 30, float(np.finfo(dtype).max) / 100):
                a = numbers((5, 4), dtype) * dtype(scale)
                q, r = torch.linalg.qr(torch.tensor(a))
                np.testing.assert_allclose((q.double() @ (r.double() / scale)).numpy(), a.astype(np.float64) / scale, **near)

    def test_symmetric_eigenproblems(self):
        for dtype, n, upper in itertools.product((np.float32, np.float64), range(18), (False, True)):
            a = numbers((6, n, n), np.float64)
            a = (a + np.swapaxes(a, -1, -2)).astype(dtype)
            a[1], a[2] = 0, np.eye(n)
            a[3] *= dtype(1e-30)
            a[4] *= dtype(1e30)
            if n > 1:
                a[5] = a[5, :, :1] * a[5, :, :1].T  # of rank 1
            near = 40 * np.finfo(dtype).eps * (np.abs(a).max((1, 2)) if n else np.zeros(6))
            half = np.triu(a) if upper else np.tril(a)
            values, vectors = (t.numpy().astype(np.float64) for t in torch.linalg.eigh(torch.tensor(half), UPLO="U" if upper else "L"))
            alone = torch.linalg.eigvalsh(torch.tensor(half), UPLO="U" if upper else "L").numpy()
            with self.subTest(dtype=dtype, n=n, upper=upper):
                self.assertTrue(bool((np.diff(values) >= 0).all()))
                want = np.linalg.eigvalsh(a.astype(np.float64)) if n else values
                for i in range(6):
                    np.testing.assert_allclose(values[i], want[i], rtol=0, atol=near[i])
                    np.testing.assert_allclose(alone[i], want[i], rtol=0, atol=near[i])
                    np.testing.assert_allclose((vectors[i] * values[i]) @ vectors[i].T, a[i], rtol=0, atol=near[i])
                    np.testing.assert_allclose(vectors[i].T @ vectors[i], np.eye(n), rtol=0, atol=40 * np.finfo(dtype).eps)

    def test_singular_matrices_are_named(self):
        a = torch.eye(3).repeat(4, 1, 1)
        a[2, 1, 1] = 0
        for f in (torch.linalg.inv, lambda t: torch.linalg.solve(t, t)):
            with self.assertRaisesRegex(torch.linalg.LinAlgError, "Batch element 2.*2"):
                f(a)


class LeastSquares(unittest.TestCase):
    def check(self, a, b, **options):
        got, _, rank, _ = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), **options)
        for i in np.ndindex(a.shape[:-2]):
            want, _, found, _ = np.linalg.lstsq(a[i], b[i], rcond=options.get("rcond", np.finfo(a.dtype).eps * max(a.shape[-2:])))
            np.testing.assert_allclose(got.numpy()[i], want, rtol=1e-8, atol=1e-8)
            self.assertEqual(int(rank[i]), found)

    def test_ranks_and_shapes(self):
        for m, n in ((6, 6), (9, 4), (4, 9), (1, 3), (3, 1)):
            a, b = numbers((3, 2, m, n), np.float64), numbers((3, 2, m, 2), np.float64)
            self.check(a, b)
            if min(m, n) > 1:
                a[1, 1, :, 1:] = a[1, 1, :, :1]  # one of the batch is of rank 1
                self.check(a, b)
        self.check(np.zeros((2, 3, 3)), np.ones((2, 3, 2)))

    def test_small_singular_values_are_cut(self):
        left, right = np.linalg.qr(numbers((5, 5), np.float64))[0], np.linalg.qr(numbers((5, 5), np.float64))[0]
        a, b = left @ np.diag([1, 0.1, 0.01, 0.001, 0.0001]) @ right, numbers((5, 3), np.float64)
        for rcond in (0.00001, 0.00005, 0.0005, 0.05, 0.5):
            self.check(a, b, rcond=rcond, driver="gelsd")

    def test_what_is_not_finite(self):
        a = np.ones((3, 3))
        a[1, 1] = np.nan
        with self.assertRaises(RuntimeError):
            torch.linalg.lstsq(torch.tensor(a), torch.ones(3, 1, dtype=torch.float64))


if __name__ == "__main__":
    unittest.main()
