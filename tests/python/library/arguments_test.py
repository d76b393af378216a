"""Arguments and results of operators of programs: values become what the schema says, as with PyTorch 2.13, or are errors."""

import unittest

import numpy as np

import cresset as torch
from cresset import library

# type of the schema -> values and what the function gets
TAKEN = {
    "int": [(True, 1), (torch.tensor(3), 3), (torch.tensor(3.5), 3), (np.int64(4), 4), (np.bool_(True), 1)],
    "SymInt": [(torch.tensor([3]), 3), (np.int32(2), 2)],
    "float": [(1, 1.0), (True, 1.0), (torch.tensor(2.5), 2.5), (np.float32(1.5), 1.5)],
    "bool": [(1, True), (0, False), (None, False), (2.5, True), (np.bool_(True), True), (torch.tensor(2), True)],
    "str": [("a", "a"), (b"a", "a")],
    "Scalar": [(1, 1), (2.5, 2.5), (True, True), (1j, 1j)],
    "complex": [(1, 1 + 0j), (2.5, 2.5 + 0j)],
    "ScalarType": [(torch.int64, torch.int64), (6, torch.float32)],
    "Device": [("cpu", torch.device("cpu")), ("cuda:0", torch.device("cuda:0"))],
    "int[]": [
        ((1, True), [1, 1]),
        (torch.Size([2, 3]), [2, 3]),
        (torch.tensor([1, 2]), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        (range(2), [0, 1]),
        ([torch.tensor(1)], [1]),
    ],
    "int[2]": [(3, [3, 3]), ([1], [1])],
    "float[]": [([1, 2], [1.0, 2.0]), ((1.5,), [1.5])],
    "float[2]": [(1.5, [1.5, 1.5])],
    "bool[]": [([1, 0], [True, False])],
    "str[]": [(("a",), ["a"])],
    "Tensor?[]": [((None,), [None])],
    "int?": [(None, None), (True, 1)],
}
REFUSED = {
    "int": [2.0, "3", torch.tensor([1, 2]), np.float64(2.5), None, 2**70],
    "float": ["1", 1j, None, torch.tensor([1.0, 2.0])],
    "bool": ["a", [], torch.tensor([1, 2])],
    "str": [1, None],
    "Scalar": [torch.tensor(2), "a", None, np.int64(3)],
    "ScalarType": ["float32", None, float, 2.0],
    "Device": [0, None, "bogus"],
    "int[]": [3, [1.5], "ab", None, iter([1])],
    "float[]": [2.0, torch.tensor([1.0, 2.0])],
    "float[2]": [1],
    "bool[2]": [True],
    "Tensor[]": [torch.ones(2), [None], [1], {}],
    "Tensor": [3, np.ones(2), [1.0]],
}
# type of the schema -> what the function gives and what its caller gets
GIVEN = {
    "float": [(2, 2.0)],
    "bool": [(1, True)],
    "int": [(torch.tensor(2), 2), (True, 1)],
    "Tensor[]": [((), [])],
    "Tensor": [(None, None)],
    "int[]": [((1, 2), [1, 2])],
}
NOT_GIVEN = {"int": [2.5, None], "str": [1], "Tensor": [3, (1,)], "Tensor[]": [3], "()": [1], "(int, int)": [(1, 2, 3)]}


class Values(unittest.TestCase):
    def setUp(self):
        self.lib = library.Library("values_test", "FRAGMENT")
        self.addCleanup(self.lib._destroy)

    def operator(self, schema, function):
        self.lib.define(f"f{schema}")
        self.addCleanup(lambda: torch.ops._defined["values_test"].pop("f", None))
        self.lib.impl("f", function, "CompositeExplicitAutograd")
        return torch.ops.values_test.f

    def test_arguments_become_what_the_schema_says(self):
        for kind, pairs in TAKEN.items():
            seen = []
            op = self.operator(f"({kind} v) -> ()", lambda v, seen=seen: seen.append(v))
            for value, expected in pairs:
                with self.subTest(kind=kind, value=value):
                    op(value)
                    self.assertEqual((seen[-1], type(seen[-1])), (expected, type(expected)))
            self.doCleanups()
            self.setUp()

    def test_other_arguments_are_errors(self):
        for kind, values in REFUSED.items():
            op = self.operator(f"({kind} v) -> ()", lambda v: None)
            for value in values:
                with self.subTest(kind=kind, value=value):
                    self.assertRaises(RuntimeError, op, value)
            self.doCleanups()
            self.setUp()

    def test_results_become_what_the_schema_says(self):
        for kind, pairs in GIVEN.items():
            op = self.operator(f"(Any v) -> {kind}", lambda v: v)
            for value, expected in pairs:
                with self.subTest(kind=kind, value=value):
                    self.assertEqual((op(value), type(op(value))), (expected, type(expected)))
            self.doCleanups()
            self.setUp()
        two = self.operator("() -> (int, float)", lambda: [1, 2])
        self.assertEqual((two(), type(two())), ((1, 2.0), tuple))

    def test_other_results_are_errors(self):
        for kind, values in NOT_GIVEN.items():
            op = self.operator(f"(Any v) -> {kind}", lambda v: v)
            for value in values:
                with self.subTest(kind=kind, value=value):
                    self.assertRaises(RuntimeError, op, value)
            self.doCleanups()
            self.setUp()

    def test_defaults_are_values_of_their_types(self):
        seen = []
        op = self.operator(
            "(Tensor x, int[2] k=1, Device d='cpu', ScalarType t=float, float[] f=[1], *, int n=2) -> ()", lambda *args, **named: seen.append((args[1:], named))
        )
        x = torch.ones(1)
        op(x)
        op(x, 3, n=2)
        op(x, f=[2])
        self.assertEqual(seen, [((), {}), (([3, 3],), {}), (([1, 1], torch.device("cpu"), torch.float32, [2.0]), {})])

    def test_arguments_may_be_called_self(self):
        op = self.operator("(Tensor self, int args=1) -> Tensor", lambda self, args=1: self + args)
        self.assertEqual((op(self=torch.ones(1), args=3).item(), op.default(self=torch.ones(1)).item()), (4, 2))

    def test_conjugates_are_computed_before(self):
        op = self.operator("(Tensor x) -> Tensor", lambda x: torch.from_numpy(x.numpy().copy()))
        self.assertEqual(op(torch.tensor([1j]).conj()).tolist(), [-1j])

    def test_undefined_tensors_are_none(self):
        op = self.operator("(Tensor x, Tensor y) -> bool", lambda x, y: x is None)
        self.assertTrue(op(None, torch.ones(1)))


if __name__ == "__main__":
    unittest.main()
