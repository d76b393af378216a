"""Every row under vmap: values, gradients of each element, and several passes backwards at once, against a loop over the elements."""

import collections
import unittest

import numpy as np
from cresset.func import grad, vmap
from rows import floating, leaves, table, to_array, tree

import cresset as torch

COUNTS = collections.Counter()
REFUSED = {
    "the shape of a result depends on the values": ("masked_select", "_masked_select", "nonzero"),
    "an absolute offset means the memory of the whole batch": ("as_strided",),
    "the memory of a batch along another dimension cannot be resized": ("resize_", "resize_as_"),
    "statistics to update must be batched": ("native_batch_norm", "batch_norm", "instance_norm"),
    "what is written must be batched": ("copy_", "fill_.Tensor"),
    "a random operator needs a mode of randomness": ("rrelu",),
}
UNLIKE = {name: reason for reason, names in REFUSED.items() for name in names}
FAMILIES_WITHOUT = ("random",)


def stacked(parts):
    lists = [leaves(p) for p in parts]
    return [torch.stack([one[k] for one in lists]) for k, first in enumerate(lists[0]) if isinstance(first, torch.Tensor)]


class Batch:
    """The arguments of a case, some of their tensors batched along a dimension: with other elements, or equal ones where those do not fit."""

    def __init__(self, row, case, chosen, last, equal):
        self.row = row
        self.args = case.tensors()
        tensors = [t for t in leaves(self.args) if isinstance(t, torch.Tensor)]
        self.fits = bool(tensors) and (chosen is None or chosen < len(tensors))
        self.tensors, self.dims, self.size = [], [], 3
        for k, t in enumerate(tensors):
            if chosen is not None and k != chosen:
                self.tensors.append(t)
                self.dims.append(None)
                continue
            other = t if equal or not t.dim() else t.flip(0)
            self.tensors.append(torch.stack([t, other, t], -1 if last else 0))
            self.dims.append(t.dim() if last else 0)
        self.floating = [k for k, t in enumerate(tensors) if floating(t) and t.dtype in (torch.float64, torch.complex128)]

    def call(self, *tensors):
        rest = iter(tensors)
        args, kwargs = tree(lambda v: next(rest) if isinstance(v, torch.Tensor) else v, self.args)
        if self.row.writes:
            args = (args[0].clone(), *args[1:])
        return [t for t in leaves(self.row.function(*args, **kwargs)) if isinstance(t, torch.Tensor)]

    def element(self, i):
        return [t if d is None else t.select(d, i) for t, d in zip(self.tensors, self.dims, strict=True)]

    def looped(self, function):
        return stacked([function(*self.element(i)) for i in range(self.size)])

    def mapped(self, function):
        return vmap(function, in_dims=tuple(self.dims))(*self.tensors)

    def loss(self, *tensors):
        total = torch.zeros((), dtype=torch.float64)
        for t in self.call(*tensors):
            if floating(t) and t.requires_grad:
                t = torch.view_as_real(t) if t.is_complex() else t
                total = total + (t * torch.arange(t.numel(), dtype=t.dtype).view(t.shape).cos()).sum()
        return total


class Batches(unittest.TestCase):
    def agree(self, row, got, expected, what):
        self.assertEqual(len(got), len(expected), what)
        for one, other in zip(got, expected, strict=True):
            self.assertEqual((one.shape, one.dtype), (other.shape, other.dtype), what)
            if row.test.get("values") is not False:
                np.testing.assert_allclose(to_array(one), to_array(other), 1e-5, 1e-6, err_msg=str(what))
        COUNTS["comparisons"] += 1

    def check(self, row, case):
        for last in (False, True):
            for chosen in (None, 0, 1, 2):
                for equal in (False, True):
                    batch = Batch(row, case, chosen, last, equal)
                    if not batch.fits:
                        break
                    try:
                        expected = batch.looped(batch.call)
                    except Exception:  # the elements are not valid arguments, or their results not of one shape
                        continue
                    if not expected:
                        break
                    self.agree(row, batch.mapped(batch.call), expected, ("values", case, chosen, last))
                    if row.test.get("grad", True) is True and batch.floating:
                        self.differentiate(row, batch, case, chosen, last)
                    break

    def differentiate(self, row, batch, case, chosen, last):
        gradient = grad(batch.loss, argnums=tuple(batch.floating))
        try:
            expected = batch.looped(gradient)
        except Exception:  # it has none here
            return
        self.agree(row, batch.mapped(gradient), expected, ("gradients", case, chosen, last))
        if chosen is not None or last:
            return
        tensors = [t.detach().requires_grad_() if k in batch.floating else t for k, t in enumerate(batch.element(0))]
        inputs = [tensors[k] for k in batch.floating]
        outputs = [t for t in batch.call(*tensors) if floating(t) and t.requires_grad]
        if not outputs:
            return
        vectors = [torch.stack([torch.ones_like(t), t.detach(), t.detach().cos()]) for t in outputs]
        passes = [torch.autograd.grad(outputs, inputs, [v[i] for v in vectors], retain_graph=True, allow_unused=True, materialize_grads=True) for i in range(3)]
        got = torch.autograd.grad(outputs, inputs, vectors, retain_graph=True, allow_unused=True, is_grads_batched=True)
        got = [torch.zeros(3, *x.shape, dtype=x.dtype) if g is None else g for g, x in zip(got, inputs, strict=True)]
        self.agree(row, got, stacked(passes), ("batched gradients", case))

    def test_rows(self):
        for row in table()[0]:
            if row.name in UNLIKE or row.row["family"] in FAMILIES_WITHOUT:
                COUNTS["rows left out"] += 1
                continue
            with self.subTest(row=row.name):
                for case in row.cases("float64" if "float64" in row.dtypes else row.dtypes[-1], 3):
                    self.check(row, case)
        self.assertGreater(COUNTS["comparisons"], 5000)
        self.assertLess(COUNTS["rows left out"], 70)


if __name__ == "__main__":
    unittest.main()
