"""The thin binding: overloads, conversions, identity, errors, gradients, data in and out."""

import unittest

import numpy as np

import cresset as torch


class Overloads(unittest.TestCase):
    def test_scalars_and_tensors_choose_their_overload(self):
        x = torch.tensor([1.0, 2.0])
        for got, expected in ((x + 1, [2, 3]), (1 - x, [0, -1]), (x**2, [1, 4]), (2**x, [2, 4]), (torch.add(x, x, alpha=2), [3, 6])):
            self.assertEqual(got.tolist(), expected)

    def test_integers_written_out_are_a_list(self):
        x = torch.zeros(2, 3)
        self.assertEqual(x.shape, (2, 3))
        self.assertEqual(x.permute(1, 0).shape, (3, 2))
        self.assertEqual(x.view(3, -1).shape, (3, 2))
        self.assertEqual(x.sum((0, 1)).shape, ())

    def test_names_of_arguments_are_pytorchs_and_numpys(self):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(torch.sum(input=x, dim=0).tolist(), [4, 6])
        self.assertEqual(x.sum(axis=1, keepdims=True).tolist(), [[3], [7]])

    def test_several_results_have_names(self):
        values, indices = result = torch.max(torch.tensor([[1, 5], [7, 2]]), 1)
        self.assertEqual(result.values.tolist(), [5, 7])
        self.assertEqual((values.tolist(), indices.tolist()), ([5, 7], [1, 0]))

    def test_out_is_filled_and_returned(self):
        out = torch.empty(2)
        self.assertIs(torch.exp(torch.zeros(2), out=out), out)
        self.assertEqual(out.tolist(), [1, 1])
        values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
        torch.max(torch.tensor([[3.0, 1.0]]), 1, out=(values, indices))
        self.assertEqual((values.tolist(), indices.tolist()), ([3], [0]))

    def test_in_place_returns_the_same_object(self):
        x = torch.ones(2)
        self.assertIs(x.add_(1), x)
        y = x
        y *= 3
        self.assertIs(x, y)
        self.assertEqual(x.tolist(), [6, 6])

    def test_arguments_that_fit_no_overload(self):
        for call in (lambda: torch.exp("a"), lambda: torch.exp(), lambda: torch.zeros(2).sum(nothing=1), lambda: torch.maximum(torch.ones(1), 2)):
            with self.assertRaises(TypeError):
                call()


class Data(unittest.TestCase):
    def test_every_dtype_goes_to_numpy_and_back(self):
        for name in "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bool".split():
            array = np.array([[0, 1, 1], [1, 0, 1]]).astype(name)
            tensor = torch.from_numpy(array.T)
            self.assertIs(tensor.dtype, getattr(torch, name))
            self.assertEqual(tensor.stride(), (1, 3))
            np.testing.assert_array_equal(tensor.numpy(), array.T)
            np.testing.assert_array_equal(torch.tensor(array.tolist(), dtype=tensor.dtype).numpy(), array)

    def test_numpy_shares_memory(self):
        x = torch.zeros(3)
        x.numpy()[1] = 5
        self.assertEqual(x.tolist(), [0, 5, 0])

    def test_nested_lists(self):
        self.assertEqual(torch.tensor([[1, 2], [3, 4]]).dtype, torch.int64)
        self.assertEqual(torch.tensor([True, 1.5]).dtype, torch.float32)
        self.assertEqual(torch.tensor(1j).dtype, torch.complex64)
        self.assertEqual(torch.tensor([[], []]).shape, (2, 0))
        with self.assertRaises(ValueError):
            torch.tensor([[1, 2], [3]])

    def test_buffers(self):
        buffer = bytearray(np.arange(4, dtype=np.int32).tobytes())
        x = torch.frombuffer(buffer, dtype=torch.int32, offset=4)
        buffer[4] = 9
        self.assertEqual(x.tolist(), [9, 2, 3])
        with self.assertRaises(ValueError):
            torch.frombuffer(buffer, dtype=torch.int32, offset=1)

    def test_indexing(self):
        array = np.arange(24).reshape(2, 3, 4)
        x = torch.from_numpy(array.copy())
        mask = array % 5 == 0
        for index in (0, (1, 2), (slice(None), 1), (Ellipsis, -1), (None, 1), [0, 1, 0], (slice(None), [2, 0]), (slice(0, 2, 1), slice(1, 3))):
            np.testing.assert_array_equal(x[index].numpy(), array[index])
        np.testing.assert_array_equal(x[torch.from_numpy(mask)].numpy(), array[mask])
        x[:, 1] = -1
        array[:, 1] = -1
        np.testing.assert_array_equal(x.numpy(), array)
        with self.assertRaises(IndexError):
            x[5]


class Autograd(unittest.TestCase):
    def test_backward_and_grad(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4])
        self.assertIs(x.grad, x.grad)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        self.assertEqual(h.tolist(), [6, 12])

    def test_no_grad(self):
        x = torch.ones(1, requires_grad=True)
        with torch.no_grad():
            self.assertFalse((x * 2).requires_grad)
        self.assertTrue((x * 2).requires_grad)

    def test_hook(self):
        x = torch.ones(2, requires_grad=True)
        handle = x.register_hook(lambda g: g * 2)
        x.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])
        handle.remove()
        x.grad = None
        x.sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 1])


class Errors(unittest.TestCase):
    def test_types_are_pytorchs(self):
        x = torch.ones(2, 3)
        for error, call in (
            (RuntimeError, lambda: x + torch.ones(4)),
            (IndexError, lambda: x.sum(5)),
            (RuntimeError, lambda: x.view(5)),
            (RuntimeError, lambda: x.backward()),
            (TypeError, lambda: len(x.sum())),
            (TypeError, lambda: x + "a"),
        ):
            with self.assertRaises(error):
                call()

    def test_seed(self):
        torch.manual_seed(0)
        first = torch.rand(3)
        torch.manual_seed(0)
        self.assertEqual(first.tolist(), torch.rand(3).tolist())
        generator = torch.Generator().manual_seed(0)
        self.assertEqual(first.tolist(), torch.rand(3, generator=generator).tolist())


if __name__ == "__main__":
    unittest.main()
