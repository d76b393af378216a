"""Objects of classes written in C, whose state no guard knows: each call reads and changes them as eager mode does, once."""

import datetime
import decimal
import pathlib
import unittest

import numpy as np
from cresset._dynamo.testing import CompileCounter

import cresset as torch


class _Holder:
    pass


def _attribute_that_comes_and_goes(x, o):
    o.temporary = x
    y = o.temporary * 2
    del o.temporary
    return y + hasattr(o, "temporary")


def _array_in_place(x, o):
    o.array += 1
    x = x * 2
    o.array *= x[0].item()
    return x + float(o.array.sum())


def _array_item(x, o):
    o.array[1] += 2
    return x + float(o.array.sum())


def _bytes_that_grow(x, o):
    o.bytes.append(5)
    return x + len(o.bytes)


def _zip_of_an_iterator(x, o):
    for a, b in zip(o.numbers, [1, 2]):
        x = x + a * b
    return x + next(o.numbers)


def _enumerate_of_an_iterator(x, o):
    for i, a in enumerate(o.few):
        x = x + a * i
    return x + len(list(o.few))


CHANGES = [_attribute_that_comes_and_goes, _array_in_place, _array_item, _bytes_that_grow, _zip_of_an_iterator, _enumerate_of_an_iterator]


def _of(make):
    return [make(i) for i in (1, 2, 3, 1)]


VALUES = {
    "float64": (lambda x, v: x * v, _of(np.float64)), "float of float32": (lambda x, v: x + float(v), _of(np.float32)), "int64": (lambda x, v: x[v - 1], _of(np.int64)),
    "comparison": (lambda x, v: x if v > 1.5 else -x, _of(np.float64)), "truth": (lambda x, v: x if v else -x, [np.bool_(True), np.bool_(False), np.bool_(True)]),
    "decimal": (lambda x, v: x * float(v + 1), _of(decimal.Decimal)), "float of a decimal": (lambda x, v: x * float(v), _of(decimal.Decimal)),
    "truth of a decimal": (lambda x, v: x if v else -x, [decimal.Decimal(1), decimal.Decimal(0)]),
    "date": (lambda x, v: x + (v > datetime.date(2002, 1, 1)), _of(lambda i: datetime.date(2000 + i, 1, 1))),
    "path": (lambda x, v: x + len(str(v / "a")), _of(lambda i: pathlib.Path("a" * i))), "memory": (lambda x, v: x + len(v), _of(lambda i: memoryview(b"a" * i))),
    "length of an array": (lambda x, v: x + len(v), _of(np.zeros)), "item in an array": (lambda x, v: x + (1 in v), _of(lambda i: np.array([i]))),
    "negative array": (lambda x, v: x + torch.from_numpy(-v), _of(lambda i: np.array([float(i)]))), "number in an array": (lambda x, v: x + float(v), _of(lambda i: np.array(float(i)))),
}  # fmt: skip


class ForeignState(unittest.TestCase):
    def test_changes(self):
        for function in CHANGES:
            with self.subTest(function.__name__):
                torch._dynamo.reset()
                compiled, states = torch.compile(function, backend="eager"), []
                for run in (compiled, function):
                    o = _Holder()
                    o.array, o.bytes, o.numbers, o.few = np.zeros(3), bytearray(b"abc"), iter(range(100)), iter(range(4))
                    results = [run(torch.full((2,), v), o).tolist() for v in (1.0, 1.0, 2.0)]
                    states.append((results, o.array.tolist(), bytes(o.bytes), next(o.numbers), sorted(vars(o))))
                self.assertEqual(*states)

    def test_values(self):
        for name, (function, values) in VALUES.items():
            with self.subTest(name):
                torch._dynamo.reset()
                compiled = torch.compile(function, backend="eager")
                for v in values:
                    x = torch.arange(1.0, 4.0)
                    torch.testing.assert_close(compiled(x, v), function(x, v))

    def test_numbers_of_numpy_have_a_graph_each(self):
        counter = CompileCounter()
        compiled = torch.compile(lambda x, v: x * v, backend=counter)
        for v, graphs in ((1.0, 1), (2.0, 2), (1.0, 2), (float("nan"), 3), (float("nan"), 3), (0.0, 4), (-0.0, 5), (0.0, 5)):
            compiled(torch.ones(1), np.float64(v))
            self.assertEqual(counter.frame_count, graphs)


if __name__ == "__main__":
    unittest.main()
