"""`load(weights_only=False)`: what is made of classes of the process, and gadgets, each of which runs something unless it is refused."""

import collections
import copyreg
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import operator
import os
import pathlib
import pickle
import re
import subprocess
import sys
import types
import unittest
import uuid
import zipfile

import numpy as np

import cresset as torch
from cresset import nn

from .checkpoint_test import replaced, written

ran = []


def act(*arguments):
    ran.append(arguments)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.activation, self.scale = nn.Linear(3, 2), nn.functional.relu, nn.Parameter(torch.ones(2))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        return self.activation(self.first(x)) * self.scale


class Settings(types.SimpleNamespace):
    def __iter__(self):
        return iter(vars(self).items())


class Plain:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Plain and self.value == other.value

    def doubled(self):
        return 2 * self.value

    @classmethod
    def of_text(cls, text):
        return cls(int(text))


class Slots:
    __slots__ = ("a", "b")


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class SlotPoint:
    x: int


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


class Words(dict):
    def __setitem__(self, key, value):
        act("set")
        super().__setitem__(key, value)


class Numbers(list):
    def append(self, value):
        act("append")
        super().append(value)

    def extend(self, values):
        act("extend")
        super().extend(values)


Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024


class Stored(torch.Tensor):
    """A tensor around another one, which pickles as its class and that."""

    @staticmethod
    def __new__(cls, inner, **settings):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __reduce_ex__(self, protocol):
        return type(self), (self.inner,)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Wrapper(torch.Tensor):
    """A tensor around another one, with attributes, which leaves pickling to Tensor."""

    @staticmethod
    def __new__(cls, inner, tag=None, **settings):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype, **settings
        )

    def __init__(self, inner, tag=None, **settings):
        self.inner, self.tag = inner, tag

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].inner.detach(), args[0].tag)
        return NotImplemented


class Slotted(torch.Tensor):
    __slots__ = ("log",)


class Stateful(torch.Tensor):
    def __getstate__(self):
        return {"kept": self.kept}

    def __setstate__(self, state):
        self.kept = state["kept"] + 1


class StatefulParameter(nn.Parameter):
    def __getstate__(self):
        return {"kept": self.kept}


class Failed(ValueError):
    pass


class WithState:
    def __setstate__(self, state):
        act("state")


class Dying:
    def __del__(self):
        act("del")


class Hashed:
    def __hash__(self):
        act("hash")
        return 1


class Sized:
    def __iter__(self):
        act("iter")
        return iter(())

    def __len__(self):
        act("len")
        return 0

    def __index__(self):
        act("index")
        return 0

    __int__ = __index__

    def __str__(self):
        act("str")
        return ""


class Early:
    def __new__(cls, *arguments):
        act("new")
        return super().__new__(cls)


class Watched:
    @property
    def value(self):
        return 0

    @value.setter
    def value(self, value):
        act("property")

    def __setattr__(self, name, value):
        act("setattr")

    def __getattr__(self, name):
        act("getattr")
        raise AttributeError(name)


class Callable:
    def __call__(self, *arguments):
        act("call")

    def __eq__(self, other):
        act("eq")
        return True


class Odd(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        act("missing")
        return cls.ONE


class Reduced:
    """Pickles as what it is told."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def again(value):
    return torch.load(io.BytesIO(written(value)), weights_only=False)


class Objects(unittest.TestCase):
    def setUp(self):
        ran.clear()

    def test_a_whole_module_computes_as_before(self):
        net = Net()
        x = torch.randn(4, 3)
        back = again(net)
        self.assertEqual(back(x).tolist(), net(x).tolist())
        self.assertIsInstance(back.scale, nn.Parameter)
        self.assertEqual(again(torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.1)).param_groups[0]["lr"], 0.5)

    def test_plain_classes_come_by_their_state(self):
        slots = Slots()
        slots.a = [1]
        back = again([Plain({"a": torch.ones(2)}), slots, Point(1, Pair(2, 3)), SlotPoint(4)])
        self.assertEqual(
            (back[0].value["a"].tolist(), back[1].a, hasattr(back[1], "b"), back[2], back[3]), ([1, 1], [1], False, Point(1, Pair(2, 3)), SlotPoint(4))
        )

    def test_namespaces_of_a_program_come_by_their_attributes(self):
        back = again({"plain": types.SimpleNamespace(a=1), "own": Settings(a=1, b=[torch.ones(2)])})
        self.assertEqual((type(back["plain"]), back["plain"].a), (types.SimpleNamespace, 1))
        self.assertEqual((type(back["own"]), dict(back["own"])["b"][0].tolist()), (Settings, [1, 1]))

    def test_containers_of_a_program_get_elements_without_their_methods(self):
        words, numbers = Words(), Numbers()
        dict.__setitem__(words, "a", 1)
        list.append(numbers, 2)
        back = again([words, numbers])
        self.assertEqual((type(back[0]), back[0], type(back[1]), back[1]), (Words, {"a": 1}, Numbers, [2]))
        self.assertEqual(ran, [])

    def test_tensors_of_a_program_may_be_made_by_their_constructor(self):
        stored = Stored(torch.ones(2))
        for back in (again({"w": [stored]})["w"][0], again(Stored(stored)).inner, pickle.loads(pickle.dumps(stored))):
            self.assertEqual((type(back), back.inner.tolist()), (Stored, [1, 1]))

    def test_wrappers_are_their_class_and_attributes(self):
        made = Wrapper(torch.arange(6.0).reshape(2, 3).t(), {"bits": (4, 8)}, requires_grad=True)
        with torch.serialization.safe_globals([Wrapper]):
            safe = torch.load(io.BytesIO(written([made, made])), weights_only=True)
        self.assertIs(safe[0], safe[1])
        for back in (again([made])[0], safe[0], pickle.loads(pickle.dumps(made)), again(Wrapper(made)).inner):
            self.assertEqual((type(back), back.size(), back.stride(), back.requires_grad), (Wrapper, made.size(), made.stride(), True))
            self.assertEqual((back.inner.tolist(), back.tag), (made.inner.tolist(), {"bits": (4, 8)}))
        layer = again(nn.ParameterList([nn.Parameter(Wrapper(torch.ones(2)), requires_grad=False)]))
        self.assertEqual((type(layer[0]), layer[0].inner.tolist(), len(list(layer.parameters()))), (Wrapper, [1, 1], 1))

    def ways(self, value):
        """The value after each way through a pickle."""
        with torch.serialization.safe_globals([type(value)]):
            return [pickle.loads(pickle.dumps(value)), *(torch.load(io.BytesIO(written(value)), weights_only=only) for only in (True, False))]

    def test_tensors_of_a_program_keep_what_is_in_slots(self):
        x = torch.ones(2).as_subclass(Slotted)
        x.log, x.other = ["a"], 3
        for loaded in self.ways(x):
            self.assertEqual((type(loaded), loaded.log, loaded.other), (Slotted, ["a"], 3))

    def test_tensors_of_a_program_tell_their_own_state(self):
        x = torch.ones(2).as_subclass(Stateful)
        x.kept, x.lost = 1, 2
        for loaded in self.ways(x):
            self.assertEqual((type(loaded), vars(loaded)), (Stateful, {"kept": 2}))
        p = StatefulParameter(torch.ones(2))
        p.kept, p.lost = 1, 2
        for loaded in self.ways(p):
            self.assertEqual((loaded.kept, hasattr(loaded, "lost")), (1, False))

    def test_functions_that_rebuild_wrappers_are_not_unsafe(self):
        names = torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(written(Wrapper(torch.ones(2)))))
        self.assertEqual(names, [f"{__name__}.Wrapper"])

    def test_wrappers_that_are_none(self):
        def asked(module, name):
            return f"c{module}\n{name}\n".encode()

        wrapper = asked("torch._utils", "_rebuild_wrapper_subclass")
        tail = b"N" * 7
        for body in (wrapper + b"(tR.", wrapper + b"(N" + tail + b"tR.", wrapper + b"(" + asked("torch", "Tensor") + tail + b"tR.", wrapper + b"(" + wrapper + tail + b"tR.",
                     asked("torch._tensor", "_rebuild_from_type_v2") + b"(" + wrapper + wrapper + b"(t}tR."):  # fmt: skip
            whole, made = io.BytesIO(written(torch.ones(2))), io.BytesIO()
            with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(made, "w") as other:
                for entry in archive.namelist():
                    other.writestr(entry, b"\x80\x02" + body if entry.endswith("/data.pkl") else archive.read(entry))
            for weights_only in (True, False):
                with self.assertRaises(pickle.UnpicklingError):
                    torch.load(io.BytesIO(made.getvalue()), weights_only=weights_only)

    def test_wrappers_of_classes_that_are_not_allowed(self):
        with self.assertRaisesRegex(pickle.UnpicklingError, "Wrapper"):
            torch.load(io.BytesIO(written(Wrapper(torch.ones(2)))), weights_only=True)

    def test_data_of_the_standard_library(self):
        value = [datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), datetime.timedelta(3), decimal.Decimal("1.5"), fractions.Fraction(1, 3), uuid.UUID(int=5),
                 pathlib.PurePosixPath("a/b"), collections.deque([1, 2], 5), collections.defaultdict(list, a=[1]), collections.Counter("aab"), range(3), slice(1, 2),
                 re.compile("a+"), Color.BLUE, Color.RED, {1, 2}, frozenset([3]), 2 + 3j, b"bytes", bytearray(b"x"), 2**100, Failed]  # fmt: skip
        self.assertEqual(again(value), value)

    def test_functions_are_values(self):
        back = again([nn.functional.relu, functools.partial(nn.functional.leaky_relu, negative_slope=0.5), operator.itemgetter(1), act, Net.forward])
        self.assertEqual((back[1](torch.tensor(-2.0)).item(), back[2]([1, 2]), back[3], back[4]), (-1, 2, act, Net.forward))

    def test_methods_of_what_the_file_made_are_values(self):
        net = Net()
        net.hook, net.plain, net.make = net.forward, Plain(3).doubled, Plain.of_text
        back = again(net)
        self.assertEqual(back.make("4"), Plain(4))
        self.assertIs(back.hook.__self__, back)
        self.assertEqual((back.plain(), back.hook(torch.ones(1, 3)).shape), (6, (1, 2)))

    def test_operators_are_values(self):
        values = [torch.relu, nn.functional.gelu, torch.linalg.inv, torch.Tensor.add]
        self.assertTrue(all(a is b for a, b in zip(again(values), values, strict=True)))
        module = nn.TransformerEncoderLayer(4, 1, 4, dropout=0.0, activation=nn.functional.gelu)
        self.assertIs(again(module).activation, nn.functional.gelu)

    def test_operators_by_the_names_that_they_have_in_pytorch(self):
        names = b"ctorch._C._nn\ngelu\nctorch._C._linalg\nlinalg_inv\n"
        members = b"c__builtin__\ngetattr\nctorch._C\n%s\n\x8c%c%s\x86R"
        content = b"\x80\x04](" + names + members % (b"_VariableFunctionsClass", 4, b"relu") + members % (b"TensorBase", 3, b"add") + b"e."
        found = torch.load(io.BytesIO(replaced(written(0), content)), weights_only=False)
        self.assertEqual(found, [nn.functional.gelu, torch.linalg.inv, torch.relu, torch.Tensor.add])

    def test_exceptions_keep_their_arguments(self):
        self.assertEqual(again(Failed("a", 1)).args, ("a", 1))

    def test_arrays_of_numpy(self):
        value = [np.arange(6.0).reshape(2, 3), np.float32(2.5), np.dtype("int16"), np.array(["a", "bc"]), np.array([None, 1], dtype=object)]
        for got, expected in zip(again(value), value, strict=True):
            self.assertEqual(type(got), type(expected))
            self.assertTrue(np.array_equal(got, expected))

    def test_cycles_and_sharing(self):
        one = Plain(None)
        one.value = [one]
        back = again([one, one])
        self.assertIs(back[0], back[1])
        self.assertIs(back[0].value[0], back[0])

    def test_modules_that_nobody_imported_are_named(self):
        sys.modules["made_up"] = module = types.ModuleType("made_up")
        module.Thing = type("Thing", (), {"__module__": "made_up"})
        content = written(module.Thing())
        del sys.modules["made_up"]
        with self.assertRaisesRegex(pickle.UnpicklingError, "import made_up"):
            torch.load(io.BytesIO(content), weights_only=False)

    def test_a_pickle_of_protocol_five(self):
        buffer = io.BytesIO()
        torch.save([Point(1, 2), bytearray(b"x")], buffer, pickle_protocol=5)
        buffer.seek(0)
        self.assertEqual(torch.load(buffer, weights_only=False), [Point(1, 2), bytearray(b"x")])


class Gadgets(unittest.TestCase):
    def setUp(self):
        ran.clear()

    def refused(self, value, named, content=None):
        content = written(value) if content is None else content
        ran.clear()
        with self.assertRaisesRegex((pickle.UnpicklingError, AttributeError, TypeError), named) as caught:
            torch.load(io.BytesIO(content), weights_only=False)
        del value
        self.assertEqual(ran, [], named)
        return str(caught.exception)

    def test_calls(self):
        text = self.refused(Reduced(os.system, ("true",)), r"(posix|os)\.system")
        self.assertIn("add_safe_globals([system])", text)
        for function, arguments in ((eval, ("1",)), (exec, ("1",)), (subprocess.Popen, (["true"],)), (subprocess.run, (["true"],)), (__import__, ("os",)), (act, (1,)),
                                    (Net, ()), (map, (act, [1])), (type, ("T", (), {})), (sorted, ([1],)), (open, ("f",)), (getattr, (os, "system")),
                                    (functools.reduce, (act, [1, 2])), (nn.functional.relu, (torch.ones(1),)), (torch.load, ("f",)), (torch.hub.load, ("a", "b"))):  # fmt: skip
            with self.subTest(function=function):
                if arguments and arguments[0] is os:
                    continue  # modules cannot be written
                self.refused(Reduced(function, arguments), ".")

    def test_methods_are_not_called(self):
        plain, watched = Plain(1), object.__new__(Watched)
        for holder, name in ((plain, "__eq__"), (plain, "value"), (plain, "absent"), (watched, "value"), (watched, "absent"), ([], "append"), ("", "format")):
            with self.subTest(name=name):
                self.refused(Reduced(getattr, (holder, name)), ".")
        self.refused(Reduced(plain.doubled, ()), "call")

    def test_members_of_modules_and_functions_are_out_of_reach(self):
        base = written(1)
        for name in ("cos\nsystem.__call__", "ccollections\nabc.sys.modules", "ctorch\nos.system", "ctorch.serialization\nos", "ctorch.serialization\npickle.loads",
                     "ctorch._utils\n_copyreg._reconstructor", "ccollections\nOrderedDict.__init__", "cfunctools\npartial.__reduce__"):  # fmt: skip
            with self.subTest(name):
                self.refused(None, ".", replaced(base, b"\x80\x02" + name.encode() + b"\n)R."))

    def test_objects_that_are_called(self):
        self.refused(Reduced(Callable(), ()), "call an object of")
        self.refused(Reduced(functools.partial(act, 1), ()), "call an object of")
        self.refused(Reduced(operator.methodcaller("append", 1), ([],)), ".")

    def test_methods_that_making_an_object_would_call(self):
        state = WithState()
        state.a = 1
        self.refused(state, "__setstate__")
        self.refused(Hashed(), "hash")
        self.refused(Reduced(copyreg.__newobj__, (Early,)), "__new__")
        self.refused(Reduced(Odd, (7,)), "7")
        content = written(Reduced(copyreg.__newobj__, (Dying,)))
        self.refused(None, "Dying", content)

    def test_methods_that_constructors_of_data_would_call(self):
        for function in (
            list,
            tuple,
            set,
            dict,
            int,
            str,
            float,
            bytes,
            collections.OrderedDict,
            collections.Counter,
            collections.deque,
            range,
            slice,
            datetime.timedelta,
        ):
            with self.subTest(function=function):
                self.refused(Reduced(function, (Sized(),)), "plain data")
        self.refused(Reduced(dict, ([Sized()],)), "pairs")

    def test_attributes_are_set_past_the_class(self):
        watched = object.__new__(Watched)
        object.__getattribute__(watched, "__dict__")["other"] = 1
        ran.clear()
        content = written(watched)
        ran.clear()
        back = torch.load(io.BytesIO(content), weights_only=False)
        self.assertEqual(ran, [])
        self.assertEqual(object.__getattribute__(back, "__dict__"), {"other": 1})

    def test_classes_and_functions_are_not_changed(self):
        for what in (Net, Plain, nn.Linear, act, Color.RED):
            with self.subTest(what=what):
                self.refused(Reduced(copyreg.__newobj__, (Plain,), None), "x") if what is None else self.refused(None, "did not make", self.changing(what))
        self.assertFalse(hasattr(Plain, "evil"))

    def changing(self, what):
        class Holder:
            def __reduce__(self):
                return "never"

        def name(value):
            return f"c{value.__module__}\n{value.__qualname__}\n".encode()

        made = name(Color) + b"K\x01\x85R" if what is Color.RED else name(what)
        return replaced(written(1), b"\x80\x02" + made + b"N}X\x04\x00\x00\x00evilK\x01s\x86b.")

    def test_tensors_are_not_rebuilt_by_other_functions(self):
        from cresset import _utils

        self.refused(Reduced(_utils._rebuild_from_type_v2, (act, torch.Tensor, (1,), {})), "act")
        self.refused(Reduced(_utils._rebuild_parameter, (Sized(), True, None)), "Sized")
        properties = (torch.float32, (2,), (1,), 0, torch.strided, torch.device("cpu"), False)
        for kind, given in ((Sized, properties), (Wrapper, (*properties[:-1], Sized()))):
            self.refused(Reduced(_utils._rebuild_wrapper_subclass, (kind, *given)), "makes a wrapper of .*(Sized|Wrapper), expected a class of tensors")

    def test_constructors_of_tensors_get_tensors_and_plain_data(self):
        for part in (Sized(), [{"a": (Callable(),)}], {Sized: 1}):
            self.refused(Reduced(Stored, (part,)), "Stored` of a (Sized|Callable|type), expected tensors")

    def test_allowed_names_may_be_called(self):
        with torch.serialization.safe_globals([act]):
            torch.load(io.BytesIO(written(Reduced(act, (5,)))), weights_only=False)
        self.assertEqual(ran, [(5,)])
        with torch.serialization.safe_globals([WithState]):
            again(WithState())

    def test_numbers_that_never_end(self):
        self.refused(Reduced(fractions.Fraction, ("1e1000000000",)), "exponent")
        self.refused(Reduced(bytearray, (10**12,)), "length")


if __name__ == "__main__":
    unittest.main()
