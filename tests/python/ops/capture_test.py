"""Every row captures with make_fx, and its graph computes what the call does, on other values too."""

import collections
import unittest

from cresset.fx.experimental.proxy_tensor import make_fx
from rows import SEED, Seed, leaves, table, tree

import cresset as torch

SUMMARY = []  # lines that conftest.py prints at the end
COUNTS = collections.Counter()


def is_tensor(value):
    return isinstance(value, torch.Tensor)


class Capture(unittest.TestCase):
    def captured(self, row, case):
        """The graph of a call as a function of its tensors, and the function."""
        args, kwargs = case.tensors()
        places = [leaf for leaf in leaves((args, kwargs)) if is_tensor(leaf)]

        def function(*tensors):
            given = iter(tensors)
            args, kwargs = case.tensors()
            args, kwargs = tree(lambda v: next(given) if is_tensor(v) else v, (args, kwargs))
            out = row.function(*args, **kwargs)
            return [t for t in leaves(out) if is_tensor(t)]

        torch.manual_seed(SEED)
        return make_fx(function)(*places), function

    def test_every_row(self):
        rows = [row for row in table()[0] if row.row["kind"] != "composite" or row.row["function"]]
        for row in rows:
            with self.subTest(row=row.name):
                for case in row.cases(row.dtypes[0], 2):
                    if any(isinstance(leaf, Seed) for leaf in leaves((case.args, case.kwargs))):
                        COUNTS["calls with a generator, which graphs do not hold"] += 1
                        continue
                    try:
                        graph, function = self.captured(row, case)
                    except RuntimeError as error:
                        self.assertIn("whose result depends on the values", str(error), case)
                        COUNTS["calls that ask for a value"] += 1
                        continue
                    fresh = [[leaf for leaf in leaves(case.tensors()) if is_tensor(leaf)] for _ in range(2)]
                    torch.manual_seed(SEED)
                    got = graph(*fresh[0])
                    torch.manual_seed(SEED)
                    want = function(*fresh[1])
                    if row.row["name"].endswith("_norm_backward") and len(got) == 2:  # without a weight PyTorch's operator gives no gradient of one
                        want = want[0], want[2]
                    self.assertEqual(len(got), len(want))
                    if not row.test.get("values", True):
                        continue
                    for one, other in zip(got, want, strict=True):
                        torch.testing.assert_close(one.detach(), other.detach(), equal_nan=True, check_layout=False)
                    COUNTS["calls captured"] += 1

    @classmethod
    def tearDownClass(cls):
        SUMMARY.append(f"make_fx of rows: {', '.join(f'{n} {what}' for what, n in sorted(COUNTS.items()))}")


if __name__ == "__main__":
    unittest.main()
