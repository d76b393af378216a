"""Overloads that write the results of another one to tensors that are given: schemas, values, shapes, against PyTorch where it is installed."""

import importlib.util
import unittest

from cresset._core.aten_written import NAMES
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

aten = torch.ops.aten
X = torch.arange(12.0).reshape(3, 4)


def _overload(title, ops=torch.ops):
    name, _, overload = title.partition("=")[0].partition(".")
    return getattr(getattr(ops.aten, name), overload)


class WrittenResults(unittest.TestCase):
    def test_schemas_are_those_of_pytorch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("PyTorch is not installed")
        import torch as pytorch

        for title in NAMES.split():
            with self.subTest(title):
                self.assertEqual(str(_overload(title)._schema), str(_overload(title, pytorch.ops)._schema))

    def test_tags_are_those_of_pytorch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("PyTorch is not installed")
        import torch as pytorch

        for title in NAMES.split():
            with self.subTest(title):
                expected, found = ({str(tag).rpartition(".")[2] for tag in _overload(title, ops).tags} for ops in (pytorch.ops, torch.ops))
                self.assertEqual(found | {"pointwise"}, expected | {"pointwise"})

    def test_a_result_goes_to_out_which_gets_its_shape(self):
        out = torch.empty(0)
        self.assertIs(aten.masked_fill.Scalar_out(X, X > 5, -1.0, out=out), out)
        self.assertEqual(out.tolist(), X.masked_fill(X > 5, -1.0).tolist())

    def test_out_keeps_its_dtype_and_strides(self):
        out = torch.zeros(4, 3, dtype=torch.float64).t()
        aten.index_fill.int_Scalar_out(X, 0, torch.tensor([1]), 9.0, out=out)
        self.assertEqual((out.dtype, out.stride()), (torch.float64, (1, 3)))
        self.assertEqual(out.tolist(), X.index_fill(0, torch.tensor([1]), 9.0).tolist())

    def test_several_results(self):
        outs = {f"out{i}": torch.empty(0) for i in range(3)}
        found = aten.native_layer_norm.out(X, [4], None, None, 1e-5, **outs)
        self.assertEqual([a is b for a, b in zip(found, outs.values(), strict=True)], [True] * 3)
        for a, b in zip(found, aten.native_layer_norm.default(X, [4], None, None, 1e-5), strict=True):
            self.assertTrue(torch.equal(a, b))

    def test_lists_are_written_item_by_item(self):
        outs = [torch.empty(0), torch.empty(4)]
        self.assertIsNone(aten._foreach_neg.out([X, X[0]], out=outs))
        self.assertEqual([t.tolist() for t in outs], [(-X).tolist(), (-X[0]).tolist()])

    def test_what_makes_tensors_makes_them_as_out_is(self):
        out = torch.ones(2, dtype=torch.int64)
        self.assertEqual(aten.full_like.out(X, 7, out=out).tolist(), [[7] * 4] * 3)
        self.assertEqual(out.dtype, torch.int64)

    def test_names_of_gradients(self):
        out = torch.empty(0)
        aten.reflection_pad1d_backward.grad_input(torch.ones(3, 6), X, [1, 1], grad_input=out)
        self.assertTrue(torch.equal(out, aten.reflection_pad1d_backward(torch.ones(3, 6), X, [1, 1])))

    def test_the_operator_finds_the_overload_by_out(self):
        out = torch.empty(0)
        self.assertIs(aten.reflection_pad1d(X, [1, 1], out=out), out)
        with self.assertRaisesRegex((RuntimeError, TypeError), r"^(?!.*by keyword)"):
            aten.reflection_pad1d(X)

    def test_out_has_to_be_given_and_gets_no_gradients(self):
        with self.assertRaises((RuntimeError, TypeError)):
            aten.masked_fill.Scalar_out(X, X > 5, -1.0)
        with self.assertRaisesRegex(RuntimeError, "gradients"):
            aten.masked_fill.Scalar_out(X.clone().requires_grad_(), X > 5, -1.0, out=torch.empty(3, 4))

    def test_modes_see_the_overload_itself(self):
        seen = []

        class Names(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        with Names():
            aten.masked_fill.Scalar_out(X, X > 5, -1.0, out=torch.empty(3, 4))
        self.assertIn("aten.masked_fill.Scalar_out", seen)


if __name__ == "__main__":
    unittest.main()
