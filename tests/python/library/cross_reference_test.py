"""A mode that holds the rules for fake tensors against results with data."""

import unittest

from cresset._subclasses import CrossRefFakeMode
from cresset._subclasses.fake_utils import MetadataMismatchError

import cresset as torch
from cresset import nn


class CrossReference(unittest.TestCase):
    def test_a_training_step(self):
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
        optimizer = torch.optim.Adam(model.parameters())
        with CrossRefFakeMode():
            model(torch.ones(2, 1, 4, 4)).log_softmax(1).sum().backward()
            optimizer.step()

    def test_views_writes_and_results_that_data_tells(self):
        with CrossRefFakeMode():
            x = torch.arange(6.0).view(2, 3)
            x.t()[1:].add_(1)
            self.assertEqual(x.nonzero().shape, (5, 2))
            self.assertEqual(x.sum().item(), 19)
            torch.sparse_coo_tensor([[0]], [1.0], (2,)).to_dense()

    def test_rules_that_differ(self):
        faults = {
            "shape": lambda x: x.new_empty(3), "dtype": lambda x: x.new_empty(2, dtype=torch.int64), "shared": lambda x: x.view(2),
            "number": lambda x: (x.clone(), x.clone()), "strides": lambda x: x.new_empty(2, 2).t(),
        }  # fmt: skip
        results = {"strides": lambda x: x.new_zeros(2, 2)}
        for name, fault in faults.items():
            schema = "(Tensor x) -> (Tensor, Tensor)" if name == "number" else "(Tensor x) -> Tensor"
            result = results.get(name, lambda x: x.clone())
            with torch.library._scoped_library("cross", "DEF") as library:
                library.define(f"{name}{schema}")
                library.impl(name, (lambda x: (x.clone(),) * 2) if name == "number" else result, "CPU")
                library._register_fake(name, fault)
                op = getattr(torch.ops.cross, name).default
                call = lambda op=op, **options: _under(CrossRefFakeMode(**options), op)  # noqa: E731
                with self.subTest(name):
                    self.assertRaisesRegex(MetadataMismatchError, name, call)
                    call(ignore_op_fn=lambda other, op=op: other is op)
                    if name == "shared":
                        call(check_aliasing=False)
                    if name == "strides":
                        call(check_strides=False)

    def test_operators_without_rules_cannot_be_asked_for(self):
        with self.assertRaisesRegex(NotImplementedError, "only_check_ops_with_meta=False"):
            CrossRefFakeMode(only_check_ops_with_meta=False)


def _under(mode, op):
    with mode:
        return op(torch.zeros(2))


if __name__ == "__main__":
    unittest.main()
