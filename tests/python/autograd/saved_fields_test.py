"""A node's saved values as its attributes."""

import unittest

import cresset as torch


class Saved(unittest.TestCase):
    def setUp(self):
        self.x = torch.tensor([1.0, 2.0], requires_grad=True)

    def test_tensors_are_those_of_the_operator(self):
        node = (self.x * self.x).grad_fn
        self.assertTrue(node._saved_self is self.x and node._saved_other is self.x)

    def test_results(self):
        y = self.x.exp()
        self.assertTrue(torch.equal(y.grad_fn._saved_result, y))

    def test_numbers_lists_and_sizes(self):
        node = torch.ones(2, 3, requires_grad=True).sum(0).grad_fn
        self.assertEqual((node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes), ((0,), False, (2, 3)))
        self.assertEqual((self.x**3).grad_fn._saved_exponent, 3)

    def test_dir_lists_them(self):
        names = [name for name in dir((self.x * self.x).grad_fn) if "saved" in name]
        self.assertEqual(names, ["_raw_saved_other", "_raw_saved_self", "_saved_other", "_saved_self"])

    def test_what_holds_them_has_a_class(self):
        y = torch.ones(2, requires_grad=True).exp()
        self.assertIsInstance(y.grad_fn._raw_saved_result, torch.autograd.SavedTensor)

    def test_other_names_are_none(self):
        with self.assertRaises(AttributeError):
            (self.x * self.x).grad_fn._saved_nothing

    def test_freed_tensors_cannot_be_read(self):
        y = self.x * self.x
        y.sum().backward()
        with self.assertRaises(RuntimeError):
            y.grad_fn._saved_self

    def test_hooks_on_one_tensor(self):
        y = self.x * self.x
        y.grad_fn._raw_saved_self.register_hooks(lambda t: 2 * t, lambda t: t)
        y.sum().backward()
        self.assertEqual(self.x.grad.tolist(), [3, 6])

    def test_hooks_come_in_pairs_of_functions(self):
        saved = (self.x * self.x).grad_fn._raw_saved_self
        for arguments in ((len,), (1, 2)):
            with self.assertRaises(TypeError):
                saved.register_hooks(*arguments)

    def test_hooks_are_given_once(self):
        saved = (self.x * self.x).grad_fn._raw_saved_self
        saved.register_hooks(lambda t: t, lambda t: t)
        with self.assertRaises(RuntimeError):
            saved.register_hooks(lambda t: t, lambda t: t)

    def test_of_custom_functions(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        y = Square.apply(self.x)
        y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: 10 * t, lambda t: t)
        y.sum().backward()
        self.assertEqual(self.x.grad.tolist(), [20, 40])


if __name__ == "__main__":
    unittest.main()
