"""First-class dimensions: functorch.dim, and rearrange under its older name."""

import gc
import unittest

from cresset.functorch import dim as fd
from cresset.functorch.dim import Dim, DimensionBindError, DimList, cat, dimlists, dims, softmax, stack

import cresset as torch


class Names(unittest.TestCase):
    def test_the_names_are_those_of_the_assignment(self):
        rows, columns = dims()
        one = dims()
        self.assertEqual([str(d) for d in (rows, columns, one)], ["rows", "columns", "one"])
        holder = type("Holder", (), {})()
        first, holder.second, third = dims(3)
        self.assertEqual([str(d) for d in (first, holder.second, third)], ["first", "d1", "d2"])
        self.assertEqual([str(d) for d in dims(2)], ["d0", "d1"])

    def test_sizes_are_given_or_bound_once(self):
        a, b = dims(sizes=[None, 3])
        self.assertEqual((a.is_bound, b.size), (False, 3))
        with self.assertRaises(ValueError):
            _ = a.size
        a.size = 2
        with self.assertRaises(DimensionBindError):
            a.size = 3
        with self.assertRaises(ValueError):
            dims(2, [3])
        with self.assertRaises(TypeError):
            dims(sizes=["a"])
        with self.assertRaises(SyntaxError):
            len([dims()])
        self.assertEqual(dims(sizes=[]), ())

    def test_lists_of_dimensions(self):
        some, two = dimlists(sizes=[None, [4, 5]])
        self.assertEqual((some.is_bound, len(two), two[1].size, str(some), str(two)), (False, 2, 5, "*some", "(two0, two1)"))
        with self.assertRaises(DimensionBindError):
            len(some)
        some.bind([2, 3])
        self.assertEqual([d.size for d in some], [2, 3])
        with self.assertRaises(DimensionBindError):
            some.bind_len(3)
        self.assertEqual(len(DimList(2)), 2)


class Indexing(unittest.TestCase):
    def setUp(self):
        self.x = torch.arange(60.0).reshape(3, 4, 5)

    def test_dimensions_bind_and_come_back_in_any_order(self):
        i, j = dims()
        self.assertTrue(torch.equal(self.x[i, :, j].order(j, i), self.x.permute(2, 0, 1)))
        self.assertTrue(torch.equal(self.x[..., j].order(j), self.x.permute(2, 0, 1)))
        self.assertTrue(torch.equal(self.x[i].order(1, i), self.x.permute(2, 0, 1)))
        self.assertEqual(self.x[i].order((i, 0)).shape, (12, 5))
        self.assertEqual((self.x[i].shape, self.x[i].ndim, self.x[i].dims, self.x[i, 0, j].dims), ((4, 5), 2, (i,), (i, j)))

    def test_groups_split_and_join(self):
        i, j, k = dims()
        j.size = 2
        split = self.x[i, [j, k]]
        self.assertEqual(k.size, 2)
        self.assertTrue(torch.equal(split.order(i, (j, k)), self.x))
        a, b = dims()
        with self.assertRaises(DimensionBindError):
            self.x[[a, b],]

    def test_lists_take_the_dimensions_that_are_left(self):
        some = dimlists()
        last = dims()
        self.assertTrue(torch.equal(self.x[some, last].order(last, *some), self.x.permute(2, 0, 1)))
        none = dimlists()
        i, j, k = dims()
        self.assertEqual((self.x[i, j, none, k].dims, len(none)), ((i, j, k), 0))
        with self.assertRaises(DimensionBindError):
            self.x[dimlists(1), ..., i]
        with self.assertRaises(IndexError):
            self.x[i, 0, 0, 0]

    def test_tensors_with_dimensions_gather(self):
        rows = torch.tensor([2, 0])
        i, j = dims()
        self.assertTrue(torch.equal(self.x[rows[i], j].order(i, j), self.x[rows]))
        c = dims(sizes=[2])
        self.assertTrue(torch.equal(self.x[c + 1, c + 0].order(c), self.x[torch.arange(2) + 1, torch.arange(2)]))
        d = dims()
        square = torch.rand(4, 4)
        self.assertTrue(torch.equal(square[d, d].order(d), square.diagonal()))
        k = dims()
        inside = self.x[k]
        self.assertTrue(torch.equal(inside[k].order(k), self.x[torch.arange(3), torch.arange(3)]))
        mask, z = torch.tensor([True, False, True]), dims(1)
        self.assertTrue(torch.equal(self.x[mask, z].order(z), self.x[mask].transpose(0, 1)))

    def test_places_are_written(self):
        y = torch.zeros(3, 4)
        i, j = dims()
        y[i, j] = i
        self.assertTrue(torch.equal(y, torch.arange(3.0)[:, None].expand(3, 4)))
        y[i, 0] = 9
        self.assertTrue(torch.equal(y[:, 0], torch.full((3,), 9.0)))
        k = dims()
        y[torch.tensor([0, 2])[k], 1] = torch.tensor([5.0, 6.0])[k]
        self.assertEqual(y[:, 1].tolist(), [5, 1, 6])
        with self.assertRaises(DimensionBindError):
            y[i] = torch.ones(4)[dims(1)]
        n, f = dims()
        index, values = torch.tensor([1, 2]), torch.rand(2, 4)
        expected = y.clone()
        expected[index] += values
        y[index[n], f] += values[n, f]
        self.assertTrue(torch.equal(y, expected))

    def test_index_reads_dimensions_at_others(self):
        i, j, k, o, p, both = dims(6)
        a = self.x[i, j, k]
        self.assertTrue(torch.equal(a.index((i, k), both).order(both, j), self.x.permute(0, 2, 1).reshape(15, 4)))
        o.size = 2
        self.assertTrue(torch.equal(a.index(j, (o, p)).order(i, o, p, k), self.x.reshape(3, 2, 2, 5)))
        self.assertEqual(self.x.index((0, 2), dims(1)).shape, (4,))
        pick = torch.tensor([3, 1])
        z = dims()
        self.assertTrue(torch.equal(a.index(j, pick[z]).order(i, z, k), self.x[:, pick]))
        with self.assertRaises(ValueError):
            a.index(dims(1), 0)


class Calls(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.rand(3, 4)
        self.i, self.k = dims(2)
        self.a = self.x[self.i, self.k]

    def same(self, got, expected, order=None):
        torch.testing.assert_close(got.order(*(order or (self.i, self.k))), expected)

    def test_operands_are_matched_by_their_dimensions(self):
        i, k, a, x = self.i, self.k, self.a, self.x
        self.same(a + i, x + torch.arange(3)[:, None])
        self.same(1 - a, 1 - x)
        self.same(torch.where(i <= k, a, 0.0), torch.triu(x))
        self.same(x[i] + 1, x + 1, (i,))
        self.same(torch.nn.functional.linear(x[i], torch.ones(2, 4)), x @ torch.ones(4, 2), (i,))
        self.assertEqual((a.sum().dims, a.long().dtype, a.is_floating_point()), ((i, k), torch.int64, True))
        self.assertEqual(a.max().dims, (i, k))
        self.assertEqual(torch.rand_like(a).dims, (i, k))
        self.assertEqual(torch.nn.functional.dropout(a).dims, (i, k))
        self.assertEqual(i.float().order(i).tolist(), [0, 1, 2])

    def test_reductions_take_dimensions(self):
        i, k, a, x = self.i, self.k, self.a, self.x
        self.same(a.sum(k), x.sum(1), (i,))
        self.same(torch.mean(a, dim=(k,)), x.mean(1), (i,))
        torch.testing.assert_close(a.sum((i, k)), x.sum())
        torch.testing.assert_close(x[i].sum((0, i)), x.sum())
        torch.testing.assert_close(x[i].std(i, True), x.std(0, True))
        self.same(a.max(k).values, x.max(1).values, (i,))
        self.same(a.argmax(k), x.argmax(1), (i,))
        with self.assertRaises(ValueError):
            a.sum(k, keepdim=True)
        with self.assertRaises(ValueError):
            a.sum(k, True)
        with self.assertRaises(ValueError):
            a.sum(dims(1))

    def test_dimensions_that_stay_are_bound_again(self):
        i, k, a, x = self.i, self.k, self.a, self.x
        self.same(a.softmax(k), x.softmax(1))
        self.same(softmax(a, dim=i), x.softmax(0))
        self.same(torch.nn.functional.normalize(a, dim=k), torch.nn.functional.normalize(x, dim=1))
        self.same(a.cumsum(k), x.cumsum(1))
        self.same(a.sort(k)[0], x.sort(1)[0])
        with self.assertRaises(DimensionBindError):
            a.topk(2, k)

    def test_products_are_of_the_values_at_the_time_of_the_call(self):
        i, j, k = dims(3)
        for result in (lambda p: p.sum(k).order(i, j).sum(), lambda p: p.order(i, j, k).sum()):
            a, b = torch.ones(2, 3), torch.ones(3, 4)
            product = a[i, k] * b[k, j]
            a.zero_()
            self.assertEqual(result(product), 24)

    def test_products_are_summed_as_matrix_products(self):
        j = dims()
        y = torch.rand(4, 5)
        i, k = self.i, self.k
        b = y[k, j]
        torch.testing.assert_close((self.a * b).sum(k).order(i, j), self.x @ y)
        torch.testing.assert_close((self.a.expand(j) * b.expand(i)).sum(k).order(i, j), self.x @ y)
        torch.testing.assert_close((self.a * b).sum((i, j, k)), (self.x @ y).sum())
        self.x.requires_grad_()
        (self.x[i, k] * b).sum(k).order(i, j).sum().backward()
        torch.testing.assert_close(self.x.grad, y.sum(1).expand(3, 4))

    def test_calls_in_place(self):
        i = self.i
        expected = self.x + torch.arange(3)[:, None]
        self.assertIs(self.a.add_(i), self.a)
        torch.testing.assert_close(self.x, expected)
        with self.assertRaises(DimensionBindError):
            self.x[:, 0][i].add_(self.a)
        self.x[i].mul_(2)
        torch.testing.assert_close(self.x, expected * 2)

    def test_parts_and_joins(self):
        i, k, a, x = self.i, self.k, self.a, self.x
        left, right = dims()
        left.size = 1
        for piece, d, expected in zip(a.split((left, right), k), (left, right), x.split((1, 3), 1), strict=True):
            self.same(piece, expected, (i, d))
        self.same(cat([a, a], i, both := Dim("both")), torch.cat([x, x]), (both, k))
        self.same(cat([x, x], 1, wide := Dim("wide")), torch.cat([x, x], 1), (0, wide))
        self.same(stack([a, a], new := Dim("new"), k), torch.stack([x, x]), (new, i, k))
        with self.assertRaises(TypeError):
            a.split(2, k)
        with self.assertRaises(DimensionBindError):
            a.split((Dim("p", 1), Dim("q", 2)), k)

    def test_order_refuses_what_is_not_there(self):
        i, k, a = self.i, self.k, self.a
        self.assertEqual(a.order([i, k]).shape, (12,))
        self.assertEqual(a.order(k).dims, (i,))
        for error, arguments in ((ValueError, (dims(1),)), (ValueError, (i, i)), (IndexError, (i, k, 0)), (TypeError, ("a",))):
            with self.assertRaises(error):
                a.order(*arguments)
        with self.assertRaises(TypeError):
            a.order(wrong=3)

    def test_modules_run_over_dimensions(self):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4, track_running_stats=False), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 2)
        )
        images = torch.rand(2, 5, 3, 6, 6)
        i = dims()
        got = net(images[i]).order(i)
        torch.testing.assert_close(got, torch.stack([net(image) for image in images]))

    def test_text_names_dimensions(self):
        self.assertTrue(repr(self.x[self.i]).endswith(f"with dims=({self.i}, 0) sizes=(3, 4)"))

    def test_nothing_is_kept_alive(self):
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        count = sum(isinstance(o, (Dim, fd.Tensor)) for o in gc.get_objects())
        (self.a.exp() * self.a).sum(self.k).order(self.i)
        self.assertEqual(sum(isinstance(o, (Dim, fd.Tensor)) for o in gc.get_objects()), count)


class Overrides(unittest.TestCase):
    def test_classes_take_over_subscripts_they_are_part_of(self):
        class Index:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return function.__name__, len(args), types

        x, index = torch.zeros(2, 2), Index()
        for where in (index, (0, index), (0, [index, index]), [index]):
            self.assertEqual(x[where], ("__getitem__", 2, (Index,)))
        x[0] = index
        x[index] = 1
        self.assertEqual(x.tolist(), [[0, 0], [0, 0]])


class Rearrange(unittest.TestCase):
    def test_the_older_name_is_the_same_function(self):
        from cresset.functorch.einops import rearrange

        self.assertIs(rearrange, torch.func.rearrange)


if __name__ == "__main__":
    unittest.main()
