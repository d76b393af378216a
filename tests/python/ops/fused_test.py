"""Every fused row computes what its decomposition does: values, what both write, first gradients, in several dtypes."""

import json
import os
import sys
import unittest
from pathlib import Path

import _cresset

import cresset as torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench" / "programs"))

from fused_rows import calls  # noqa: E402

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
# Rows whose kernels are of fewer dtypes.
FEWER = dict.fromkeys(("cdist", "pdist"), DTYPES[:2])
# Rows whose decomposition records nothing, each with its reason.
UNRECORDED = {"_coalesce": "it reads values of a tensor that is not coalesced, which no operator records"}


def fused_rows():
    with open(os.path.join(os.path.dirname(_cresset.__file__), "schemas.json")) as file:
        rows = json.load(file)
    return [row for row in rows if row["kind"] == "fused" and row["form"] == ("inplace" if row["name"].endswith("_") else "function")]


def full(row):
    return row["name"] + ("." + row["overload"] if row["overload"] else "")


def tensors(values):
    """All tensors of arguments or results, lists among them."""
    if isinstance(values, torch.Tensor):
        return [values]
    return [t for v in values for t in tensors(v)] if isinstance(values, (list, tuple)) else []


def parts(t):
    return torch.ops.aten._to_dense(t) if t.layout != torch.strided else t


class Fused(unittest.TestCase):
    def setUp(self):
        self.rows = {full(row): row for row in fused_rows()}
        self.ways = {name: (_cresset.make_op(row["name"], [name]), _cresset.decomposition(name)) for name, row in self.rows.items()}

    def agree(self, got, expected, dtype):
        for one, other in zip(tensors(got), tensors(expected), strict=True):
            self.assertEqual((one.layout, one.dtype, one.shape), (other.layout, other.dtype, other.shape))
            eps = torch.finfo(dtype).eps
            torch.testing.assert_close(parts(one), parts(other), rtol=16 * eps, atol=16 * eps, equal_nan=True)

    def each(self, check):
        for dtype in DTYPES:
            made = calls(torch, 400, dtype)
            for name in self.rows:
                if dtype in FEWER.get(name, DTYPES):
                    with self.subTest(row=name, dtype=dtype):
                        check(name, dtype, made[name])

    def test_every_fused_row_has_a_call(self):
        self.assertEqual(set(calls(torch, 16, torch.float32)), set(self.rows))

    def test_values(self):
        def check(name, dtype, call):
            given, results = [], []
            for function in self.ways[name]:
                args, kwargs = call()
                results.append(function(*args, **kwargs))
                given.append(args)
            self.agree(results[0], results[1], dtype)
            self.agree(given[0], given[1], dtype)

        self.each(check)

    def test_gradients(self):
        def check(name, dtype, call):
            if not isinstance(self.rows[name]["grad"], dict) or name in UNRECORDED:
                return
            sides = []
            for function in self.ways[name]:
                args, kwargs = call()
                leaves = [t.requires_grad_() for t in tensors(args) if t.is_floating_point()]
                dense = function(*args, **kwargs).to_dense()
                torch.manual_seed(1)
                (dense * torch.randn(dense.shape, dtype=torch.float64).to(dtype)).sum().backward()
                sides.append([t.grad for t in leaves])
            self.assertEqual([g is None for g in sides[0]], [g is None for g in sides[1]])
            self.agree(*([g for g in side if g is not None] for side in sides), dtype)

        self.each(check)

    def test_only_fused_rows_have_a_decomposition(self):
        for name in ("add.Tensor", "softmax.int"):
            with self.assertRaisesRegex(ValueError, f"decomposition: expected a fused operator, got {name}"):
                _cresset.decomposition(name)


if __name__ == "__main__":
    unittest.main()
