"""Masked tensors: numbers and texts are those that PyTorch 2.13 gives."""

import copy
import unittest

from cresset.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

import cresset as torch

DATA = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
MASK = torch.tensor([[True, False, True], [False, True, False]])


def made(requires_grad=False):
    return masked_tensor(torch.tensor(DATA), MASK, requires_grad)


class Masked(unittest.TestCase):
    def holds(self, result, expected):
        """Numbers where the mask is true, None elsewhere."""
        self.assertIsInstance(result, MaskedTensor)
        result = result.to_dense()
        flat = zip(result.get_data().detach().reshape(-1).tolist(), result.get_mask().reshape(-1).tolist(), strict=True)
        for (number, there), wanted in zip(flat, expected, strict=True):
            self.assertEqual(there, wanted is not None)
            if there:
                self.assertAlmostEqual(number, wanted, places=4)

    def test_texts(self):
        self.assertEqual(repr(made()), "MaskedTensor(\n  [\n    [  1.0000,       --,   3.0000],\n    [      --,   5.0000,       --]\n  ]\n)")
        self.assertEqual(str(made().long()[0]), "MaskedTensor(\n  [1,       --, 3]\n)")
        self.assertEqual(repr(made().sum()), "MaskedTensor(  9.0000, True)")
        self.assertEqual(repr(made()[0, 1]), "MaskedTensor(--, False)")

    def test_unary_operators_keep_the_mask(self):
        self.holds(made().exp(), [2.7183, None, 20.0855, None, 148.4132, None])
        self.holds(-made(), [-1, None, -3, None, -5, None])
        self.holds(made().clamp(2, 4), [2, None, 3, None, 4, None])
        x = made()
        self.assertIs(x.sqrt_(), x)
        self.holds(x, [1, None, 1.7321, None, 2.2361, None])
        with self.assertRaisesRegex(ValueError, "takes no keywords"):
            torch.sin(made(), out=torch.ones(2, 3))

    def test_binary_operators_need_the_same_mask(self):
        x = made()
        for result in (x + x, x * 2, 2 * x, x + torch.tensor(DATA)):
            self.holds(result, [2, None, 6, None, 10, None])
        self.holds(x == 3, [0, None, 1, None, 0, None])
        self.holds(x // 2, [0, None, 1, None, 2, None])
        self.holds(3 - x, [2, None, 0, None, -2, None])
        self.holds(2**x, [2, None, 8, None, 32, None])
        self.holds(15 / x, [15, None, 5, None, 3, None])
        self.holds(x**2, [1, None, 9, None, 25, None])
        self.assertEqual((x * torch.ones(2, 2, 3)).get_mask().shape, (2, 2, 3))
        with self.assertRaisesRegex(ValueError, "Input masks must match"):
            x + masked_tensor(torch.tensor(DATA), ~MASK)
        with self.assertRaisesRegex(ValueError, "len.kwargs. must equal 0"):
            torch.add(x, x, alpha=2)
        x.add_(1)
        self.holds(x, [2, None, 4, None, 6, None])

    def test_reductions_look_at_what_counts(self):
        x = masked_tensor(torch.tensor(DATA), torch.tensor([[True, False, True], [False] * 3]))
        cases = {"sum": [4, None], "mean": [2, None], "prod": [3, None], "amax": [3, None], "amin": [1, None], "argmax": [2, None], "argmin": [0, None],
                 "var": [2, None], "std": [1.4142, None], "all": [1, None]}  # fmt: skip
        for name, expected in cases.items():
            with self.subTest(name):
                self.holds(getattr(x, name)(1), expected)
                self.assertEqual(getattr(x, name)(1, keepdim=True).shape, (2, 1))
        self.holds(x.sum(0), [1, None, 3])
        self.holds(torch.mean(x), [2])
        self.assertEqual(x.sum().item(), 4)
        self.assertEqual((x.argmax(1).dtype, x.all(1).dtype), (torch.float32, torch.bool))
        self.holds(made().softmax(1), [0.1192, None, 0.8808, None, 1, None])

    def test_elements_move_with_their_mask(self):
        x = made()
        self.holds(x[:, 1:], [None, 3, 5, None])
        self.holds(x.t(), [1, None, None, 5, 3, None])
        self.holds(x.view(3, 2)[2], [5, None])
        self.holds(torch.cat([x, x])[2], [1, None, 3])
        self.assertEqual(torch.stack([x, x]).get_mask().shape, (2, 2, 3))
        self.holds(x.split(2, 1)[1], [3, None])
        self.holds(x.double().unsqueeze(0).expand(2, 2, 3)[1, 0], [1, None, 3])
        self.assertEqual(x.double().dtype, torch.float64)
        self.holds(list(x)[1], [None, 5, None])
        self.holds(copy.deepcopy(x), [1, None, 3, None, 5, None])
        self.holds(torch.where(MASK, x, 7.0), [1, 7, 3, 7, 5, 7])
        self.assertEqual(x.to_tensor(0).tolist(), [[1, 0, 3], [0, 5, 0]])

    def test_gradients_are_masked(self):
        x = made(True)
        self.assertTrue(x.is_leaf and x.requires_grad and x.grad is None)
        (x.exp() * 2).sum().backward()
        self.holds(x.grad, [5.4366, None, 40.1711, None, 296.8263, None])
        x = made(True)
        x.mean(1).sum().backward()
        self.holds(x.grad, [0.5, None, 0.5, None, 1, None])
        x.grad = None
        self.assertIsNone(x.grad)
        plain = torch.tensor(DATA, requires_grad=True)
        as_masked_tensor(plain, MASK).prod().backward()
        self.assertEqual(plain.grad.tolist(), [[15, 0, 5], [0, 3, 0]])

    def test_masked_places_give_no_nan(self):
        x = torch.tensor([-10.0, 100.0], requires_grad=True)
        mask = x < 0
        y = torch.where(mask, as_masked_tensor(x, mask).exp(), masked_tensor(torch.ones(2), ~mask))
        y.sum().backward()
        self.assertTrue(torch.allclose(x.grad, torch.tensor([-10.0, 0.0]).exp() * mask))

    def test_sparse_parts(self):
        for x, layout in ((made().to_sparse(), torch.sparse_coo), (made().to_sparse_csr(), torch.sparse_csr)):
            self.assertEqual((x.layout, x.sin().layout, x.get_mask().layout), (layout,) * 3)
            self.assertEqual((x.is_sparse_coo(), x.is_sparse_csr()), (layout == torch.sparse_coo, layout == torch.sparse_csr))
            self.holds(x.sin(), [0.8415, None, 0.1411, None, -0.9589, None])
            self.holds(x + x, [2, None, 6, None, 10, None])
            self.holds(x * 2, [2, None, 6, None, 10, None])
            self.holds(x.sum(1), [4, 5])
            with self.assertRaisesRegex(ValueError, "layouts differ"):
                x + made()
        x = made(True)
        x.to_sparse().square().to_dense().sum().backward()
        self.holds(x.grad, [2, None, 6, None, 10, None])

    def test_a_copy_of_data_that_requires_gradients_is_warned_of(self):
        x = torch.ones(2, requires_grad=True)
        with self.assertWarns(UserWarning):
            masked_tensor(x, torch.tensor([True, False]))

    def test_the_operators_are_listed(self):
        from cresset.masked.maskedtensor import binary, creation, reductions, unary

        self.assertEqual((len(unary.NATIVE_UNARY_FNS), len(unary.NATIVE_INPLACE_UNARY_FNS)), (62, 58))
        self.assertEqual((len(binary.NATIVE_BINARY_FNS), len(binary.NATIVE_INPLACE_BINARY_FNS)), (36, 30))
        self.assertEqual((len(reductions.REDUCE_NAMES), "rsub" in binary.BINARY_NAMES, "logit_" in unary.INPLACE_UNARY_NAMES), (11, False, True))
        self.assertIs(creation.masked_tensor, masked_tensor)
        self.holds(torch.ops.aten.add(made(), made()), [2, None, 6, None, 10, None])

    def test_tensors_and_masks_are_compared(self):
        from cresset.masked.maskedtensor.core import _masks_match, _tensors_match

        other = masked_tensor(torch.tensor(DATA), ~MASK)
        self.assertEqual([_masks_match(made(), made()), _masks_match(made(), other), _masks_match(made(), torch.ones(1))], [True, False, True])
        x = torch.tensor([1.0, 2.0])
        self.assertEqual([_tensors_match(x, x + 1e-7, exact) for exact in (True, False)], [False, True])
        self.assertTrue(_tensors_match(x, x.to(torch.int64), exact=False))
        self.assertFalse(_tensors_match(x, x.unsqueeze(1), exact=False))
        for wrong in (made(), x.to_sparse()):
            self.assertRaises(ValueError, _tensors_match, x, wrong, exact=False)

    def test_reductions_are_filled_with_what_changes_nothing(self):
        fill = {op: torch.masked._combine_input_and_mask(op, torch.tensor([3.0, 4.0]), torch.tensor([True, False]))[1].item()
                for op in (torch.sum, torch.prod, torch.amax, torch.argmin)}  # fmt: skip
        self.assertEqual(list(fill.values()), [0, 1, -float("inf"), float("inf")])

    def test_mistakes(self):
        data = torch.tensor(DATA)
        for error, text, arguments in (
            (TypeError, "expected data to be a plain tensor", ([1.0], MASK)), (TypeError, "expected data to be a plain tensor", (made(), MASK)),
            (TypeError, "dtype of mask to be torch.bool", (data, MASK.float())), (TypeError, "layout of mask", (data.to_sparse(), MASK)),
            (TypeError, "got torch.complex64", (data.to(torch.complex64), MASK)), (TypeError, "got torch.uint8", (data.byte(), MASK)),
            (ValueError, "mask of the shape of data", (data, MASK[0])), (ValueError, "mask of the shape of data", (data, MASK.t())),
        ):  # fmt: skip
            for function in (masked_tensor, as_masked_tensor):
                with self.assertRaisesRegex(error, text):
                    function(*arguments)
        for unknown in (torch.Tensor.cumsum, torch.Tensor.sort, torch.relu, torch.Tensor.max):
            self.assertRaises(TypeError, unknown, made(), *([0] if unknown is torch.Tensor.cumsum else []))
        self.assertRaises(TypeError, lambda: made().__setitem__(0, 1.0))
        self.assertRaises(RuntimeError, made().tolist)
        self.assertRaises(RuntimeError, made().numpy)

    def test_kinds(self):
        self.assertTrue(is_masked_tensor(made()))
        self.assertFalse(is_masked_tensor(MASK))
        x = torch.tensor(DATA)
        self.assertEqual(as_masked_tensor(x, MASK).data_ptr(), x.data_ptr())
        self.assertNotEqual(masked_tensor(x, MASK).data_ptr(), x.data_ptr())

    def test_dimensions_of_reductions(self):
        x, mask = torch.tensor(DATA), MASK
        of = torch.masked
        for name in ("sum", "prod", "amax", "amin", "mean", "median", "logsumexp", "var", "std", "softmax", "log_softmax", "softmin", "cumsum", "cumprod"):
            operation = getattr(of, name)
            for dim in (2, -3, (0, 2)):
                with self.assertRaisesRegex(IndexError, "dimension out of range, got"):
                    operation(x, dim, mask=mask)
            with self.assertRaisesRegex(RuntimeError, "expected each dimension once"):
                operation(x, (0, -2), mask=mask)
        self.assertEqual(of.sum(x, (), mask=mask).item(), 9)
        self.assertEqual(of.cumsum(x, [1], mask=mask).tolist(), [[1, 1, 4], [0, 5, 5]])
        self.assertEqual(of.cumsum(x, (0, 1), mask=mask).tolist(), of.cumsum(x, 0, mask=mask).tolist())
        self.assertEqual(of.median(x, (1, 0), mask=mask).tolist(), [1, 5, 3])
        self.assertEqual(of.softmax(x, None).tolist(), torch.softmax(x, 0).tolist())


if __name__ == "__main__":
    unittest.main()
