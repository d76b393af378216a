"""Objects travel between processes as data: what arrives equals what left, and no bytes make the receiver call anything."""

import collections
import enum
import pathlib
import random
import unittest

from cresset.distributed._wire import WireError, dumps, loads, register_type

import cresset as torch


class Colour(enum.Enum):
    RED = 1


class Point:
    def __init__(self, x):
        self.x = x
        Point.made = getattr(Point, "made", 0) + 1


class Closes:
    """Its end does something: it does not travel."""

    def __del__(self):
        pass


Pair = collections.namedtuple("Pair", "a b")


class Values(unittest.TestCase):
    def same(self, value):
        again = loads(dumps(value))
        self.assertEqual(again, value)
        self.assertIs(type(again), type(value))

    def test_plain_values(self):
        for value in [None, True, False, 0, -1, 255, 2**70, -(2**70), 1.5, float("inf"), 1 + 2j, "", "größe", b"\x00\xff", bytearray(b"x"), [], [1, [2]],
                      (), (1, "a"), {}, {"a": 1, (1, 2): [3]}, {1, 2}, frozenset("ab"), torch.float32, torch.device("cpu"), torch.Size([2, 3]), range(1, 9, 2),
                      slice(1, None), collections.deque([1], 3), pathlib.PosixPath("/a/b"), Colour.RED, Pair(1, "b")]:  # fmt: skip
            with self.subTest(repr(value)):
                self.same(value)

    def test_tensors(self):
        for tensor in [torch.arange(6.0).view(2, 3).t(), torch.tensor(3.5), torch.empty(0, 2), torch.ones(2, dtype=torch.bfloat16), torch.tensor([True, False]),
                       torch.tensor([1 + 2j]), torch.nn.Parameter(torch.ones(1)), torch.ones(2, requires_grad=True)]:  # fmt: skip
            again = loads(dumps(tensor))
            self.assertEqual((again.tolist(), again.dtype, again.shape, again.requires_grad, type(again)),
                             (tensor.tolist(), tensor.dtype, tensor.shape, tensor.requires_grad, type(tensor)))  # fmt: skip

    def test_a_state_dict_keeps_its_order(self):
        state = torch.nn.Linear(2, 1).state_dict()
        again = loads(dumps(state))
        self.assertEqual(list(again), list(state))
        self.assertTrue(torch.equal(again["weight"], state["weight"]))

    def test_objects_travel_as_their_attributes(self):
        before = Point(3)
        count = Point.made
        self.assertEqual(loads(dumps(before)).x, 3)
        self.assertEqual(Point.made, count)  # no constructor ran

    def test_errors_travel(self):
        again = loads(dumps(KeyError("lost")))
        self.assertIsInstance(again, KeyError)
        self.assertEqual(again.args, ("lost",))

    def test_registered_types(self):
        class Local:
            pass

        register_type(Local, lambda o: 7, lambda f: f + 1, "wire_test.local")
        self.assertEqual(loads(dumps(Local())), 8)


class Refusals(unittest.TestCase):
    def test_values_that_cannot_travel(self):
        for value in [lambda: 1, object(), Closes(), open(__file__).close, iter([])]:
            with self.subTest(repr(value)), self.assertRaises(WireError):
                dumps(value)

    def test_nesting_has_a_limit(self):
        deep = []
        for _ in range(300):
            deep = [deep]
        with self.assertRaises(WireError):
            dumps(deep)

    def test_functions_and_classes_of_the_library_are_not_let_in(self):
        for path in ["os:system", "builtins:eval", "subprocess:Popen", "cresset:load", "cresset.distributed._wire:loads"]:
            text = path.encode()
            for kind in (b"F", b"O", b"E", b"m"):
                data = kind + len(text).to_bytes(8, "little") + text + b"d" + bytes(8)
                with self.subTest(path), self.assertRaises(WireError):
                    loads(data)

    def test_noise_is_an_error(self):
        whole = dumps({"a": [1, 2.5, "x", torch.ones(3)], "b": (None, {1, 2})})
        for length in range(len(whole)):
            with self.assertRaises(WireError):
                loads(whole[:length])
        draw = random.Random(0)
        for _ in range(3000):
            data = bytearray(whole)
            for _ in range(draw.randrange(1, 4)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            try:
                loads(bytes(data))
            except WireError:
                pass
        with self.assertRaises(WireError):
            loads(whole + b"0")


if __name__ == "__main__":
    unittest.main()
