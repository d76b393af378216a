"""Views and changes in place as programs meet them. Expected values were taken from PyTorch 2.13."""

import unittest

import cresset as torch


class Versions(unittest.TestCase):
    def test_a_tensor_that_takes_over_other_data_counts_on_with_its_views(self):
        a = torch.zeros(3)
        a.add_(1)
        v = a.detach()
        a.data = torch.ones(4)
        a.add_(1)
        self.assertEqual((a._version, v._version), (2, 2))
        v.add_(1)
        self.assertEqual((a._version, v._version), (3, 3))

    def test_so_does_one_that_is_set(self):
        a = torch.zeros(2, 1)
        v = a.view(2)
        a.set_(torch.ones(2))
        v.mul_(2)
        self.assertEqual((a._version, v._version), (2, 2))


class Set(unittest.TestCase):
    def test_has_no_derivative(self):
        b = torch.ones(3, requires_grad=True)
        c = b * 1
        c.set_(torch.zeros(3))
        with self.assertRaisesRegex(RuntimeError, "set_"):
            c.sum().backward()
        with self.assertRaises(RuntimeError):
            b.set_(torch.zeros(3))

    def test_through_a_view_reaches_the_base(self):
        c = torch.ones(3, requires_grad=True) * 1
        v = c[:2]
        v.set_(torch.zeros(2))
        self.assertEqual((type(c.grad_fn).__name__, c.grad_fn.name()), ("CopySlices", "torch::autograd::CopySlices"))
        self.assertIs(v._base, c)


class Bases(unittest.TestCase):
    def test_what_was_copied_has_none(self):
        x = torch.zeros(2, 3)
        for made in (torch.stack([x, x]), x.t().reshape(-1), x.t().flatten(), x.expand(2, 2, 3).reshape(12)):
            self.assertIsNone(made._base)
            self.assertFalse(made._is_view())

    def test_results_that_are_reshaped_on_the_way_out_are_no_views(self):
        a, b = torch.ones(2, 2, requires_grad=True) * 1, torch.ones(2, requires_grad=True) * 1
        for y in (
            torch.nn.functional.linear(a[None], a), a[None] @ a, a[None, None] @ b, a[None] @ a[None], torch.kron(a, a), torch.complex(b, b),
            torch.polar(b, b), torch.quantile(a, 0.5), torch.channel_shuffle(torch.ones(1, 2, 1, requires_grad=True), 2),
        ):  # fmt: skip
            self.assertIsNone(y._base)
            y.detach_()

    def test_unsafe_pieces_share_memory_and_nothing_else(self):
        x = torch.ones(4, requires_grad=True)
        y = x * 1
        y.add_(1)
        a, b = torch.unsafe_chunk(y, 2)
        self.assertEqual((a._base, a._version), (None, 0))
        self.assertEqual(b.data_ptr(), y.data_ptr() + 8)
        b.mul_(3)
        self.assertEqual((y._version, b._version), (1, 1))
        (a.sum() + b.sum()).backward()
        self.assertEqual(x.grad.tolist(), [1, 1, 3, 3])

    def test_and_may_be_changed(self):
        x = torch.ones(2, 3, requires_grad=True)
        y = torch.stack([x, x])
        y[0].mul_(3)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [[4] * 3] * 2)


class Leaves(unittest.TestCase):
    def late(self, recorded=True):
        a, b = torch.zeros(3), torch.ones(3, requires_grad=True)
        with torch.set_grad_enabled(recorded):
            v = a[:2]
        a.mul_(b)
        return v

    def test_a_view_whose_base_has_changed_is_a_leaf_until_it_is_looked_at(self):
        v = self.late()
        v.requires_grad = False
        self.assertTrue(v.requires_grad)
        self.assertFalse(v.is_leaf)
        v = self.late()
        v.retain_grad()
        v.sum().backward()
        self.assertIsNone(v.grad)

    def test_one_made_without_recording_may_be_told_not_to_require_gradients(self):
        self.late(False).requires_grad_(False)
        with self.assertRaises(RuntimeError):
            self.late(False).is_leaf

    def test_only_leaves_can_be_set_to_require_gradients(self):
        y = torch.ones(2, requires_grad=True) * 1
        for on in (True, False):
            with self.assertRaisesRegex(RuntimeError, "leaf"):
                y.requires_grad = on
        self.assertIs(y.requires_grad_(), y)

    def test_views_of_a_detached_base_keep_a_history_that_leads_nowhere(self):
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        v = y[:1]
        y.mul_(2)
        y.detach_()
        self.assertEqual((v.requires_grad, v.is_leaf, y.requires_grad), (True, False, False))
        (v * v).sum().backward()
        self.assertEqual((v.tolist(), x.grad, y.grad), ([2], None, None))
        z = torch.ones(1, 1, requires_grad=True)
        v = z.t()
        z.requires_grad_(False)
        z.detach().add_(1)
        self.assertFalse(v.is_leaf)


class InPlace(unittest.TestCase):
    def test_a_function_that_may_not_change_a_view_leaves_its_base_a_leaf(self):
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, g):
                return g

        class Zero(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x.mul_(0))
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 0

        for view in (Same.apply, lambda x: x[:]):
            x = torch.ones(1, requires_grad=True)
            with self.assertRaises(RuntimeError):
                Zero.apply(view(x))
            self.assertTrue(x.is_leaf)

    def test_composites_keep_the_input_that_their_gradient_needs(self):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 1
        y.square_()
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4, 6])

    def test_overlapping_memory_may_be_filled_but_not_computed_on(self):
        row = torch.arange(3.0)
        x = row.expand(2, 3)
        x.masked_fill_(x > 1, 5)
        self.assertEqual(row.tolist(), [0, 1, 5])
        x[torch.tensor([0])] = 7
        self.assertEqual(row.tolist(), [7, 7, 7])
        x.fill_(2)
        x.zero_()
        self.assertEqual(row.tolist(), [0, 0, 0])
        for change in (lambda: x.mul_(2), lambda: x.fill_(torch.tensor(1.0)), lambda: x.copy_(torch.ones(2, 3)), lambda: x.relu_()):
            with self.assertRaisesRegex(RuntimeError, "shares no memory|memory of their own"):
                change()

    def test_a_tensor_with_a_history_cannot_be_resized(self):
        x = torch.ones(3, requires_grad=True)
        with self.assertRaises(RuntimeError):
            (x * 1).resize_(2)

    def test_products_of_a_view_without_a_history_are_gone_through_twice(self):
        x = torch.tensor([2.0], requires_grad=True).exp()
        with torch.no_grad():
            view = x.reshape(-1)
        total = (view * 0.5).sum()
        total.backward()
        total.backward()
        self.assertIsNone(view.grad)

    def test_rows_of_one_pair_are_complex_whatever_their_stride(self):
        pair = torch.arange(6.0).as_strided((1, 3, 2), (3, 2, 1))
        self.assertEqual((torch.view_as_complex(pair).stride(), torch.view_as_complex(pair).tolist()), ((1, 1), [[1j, 2 + 3j, 4 + 5j]]))
        with self.assertRaisesRegex(RuntimeError, "divisible by 2"):
            torch.view_as_complex(torch.arange(6.0).as_strided((2, 2), (3, 1)))

    def test_a_source_that_is_placed_must_stay_as_it_is(self):
        places = torch.tensor([0, 2])
        for place in (lambda x, s: x.index_add(0, places, s), lambda x, s: x.index_copy(0, places, s), lambda x, s: x.put(places, s)):
            source = torch.ones(2, requires_grad=True) * 2
            result = place(torch.zeros(3), source)
            source.mul_(2)
            with self.assertRaisesRegex(RuntimeError, "inplace"):
                result.sum().backward()

    def test_a_number_expands_without_strides(self):
        self.assertEqual(torch.tensor(1.0).expand(1, 1).stride(), (0, 0))
        self.assertEqual(torch.ones(1).expand(1, 1).stride(), (1, 1))


if __name__ == "__main__":
    unittest.main()
