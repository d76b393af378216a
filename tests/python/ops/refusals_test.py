"""Bad input is refused with PyTorch's exception types and a sentence that says what was wrong. Live comparison where PyTorch is importable."""

import importlib.util
import io
import pickle
import unittest
import warnings

import numpy as np

import cresset

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Elsewhere:
    """Memory of a GPU."""

    def __init__(self, torch, kind=2):
        self.tensor, self.kind = torch.ones(2), kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__()


class Careless:
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return "no capsule"


class Short:
    """A sequence that lies about its length."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i > 0:
            raise ZeroDivisionError("element 1 is not there")
        return 1.0


def read_only(torch):
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.from_numpy(array)


def careless_module(torch, assign):
    class Forgot(torch.nn.Module):
        def __init__(self):
            assign(self, torch)

    return Forgot()


def called_module(torch):
    class Forgot(torch.nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    return Forgot()(torch.ones(1))


def function_without(torch, name):
    parts = {"forward": staticmethod(lambda ctx, x: x.clone()), "backward": staticmethod(lambda ctx, g: g)}
    parts.pop(name)
    return type("F", (torch.autograd.Function,), parts).apply(torch.ones(2, requires_grad=True)).sum().backward()


def wrong_number_of_gradients(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    F.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()


def saved_after_backward(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    y.sum().backward()


def changed_in_place(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def f(torch, *shape):
    return torch.ones(*shape)


# name: (call, type, what the message holds)
CALLS = {
    # types
    "text for a tensor": (lambda t: t.add(t.ones(2), "a"), TypeError, "add"),
    "None for a tensor": (lambda t: t.add(None, 1), TypeError, "add"),
    "a list for a tensor": (lambda t: t.relu([1.0]), TypeError, "relu"),
    "an array for a tensor": (lambda t: t.nn.functional.relu(np.ones(2)), TypeError, "relu"),
    "a float for a size": (lambda t: t.zeros(2.5), TypeError, "zeros"),
    "text for a size": (lambda t: t.zeros("2"), TypeError, "zeros"),
    "a float for a dimension": (lambda t: t.ones(2).sum(dim=0.5), TypeError, "sum"),
    "text for a dtype": (lambda t: t.zeros(2, dtype="float32"), TypeError, "dtype"),
    "a number for a device": (lambda t: t.zeros(2, device=1.5), TypeError, "device"),
    "a bool for a generator": (lambda t: t.rand(2, generator=True), TypeError, "rand"),
    "text for a seed": (lambda t: t.manual_seed("a"), ValueError, "a"),
    "an integer tensor for gradients": (lambda t: t.ones(2, dtype=t.int64).requires_grad_(), RuntimeError, "floating"),
    "text for requires_grad": (lambda t: t.ones(2).requires_grad_("a"), TypeError, "requires_grad"),
    "a method without a tensor": (lambda t: t.Tensor.add(1, 2), TypeError, "add"),
    "text as an index": (lambda t: t.ones(2)["a"], TypeError, "str"),
    "a float as an index": (lambda t: t.ones(2)[0.5], IndexError, "ind"),
    "a float tensor as an index": (lambda t: t.ones(2)[t.ones(1)], IndexError, "ind"),
    "a dict as data": (lambda t: t.tensor({}), RuntimeError, "dict"),
    "an object as data": (lambda t: t.tensor(object()), RuntimeError, "object"),
    "text as data": (lambda t: t.tensor("text"), TypeError, "str"),
    "text within data": (lambda t: t.tensor([1, "b"]), TypeError, "str"),
    "None within data": (lambda t: t.tensor([None]), RuntimeError, "None"),
    "a set": (lambda t: t.tensor({1, 2}), RuntimeError, "set"),
    "a complex number for a real": (lambda t: t.tensor([1j], dtype=t.float32), (TypeError, RuntimeError), "complex"),
    "operators with text": (lambda t: t.ones(2) + "a", TypeError, "str"),
    "operators with None": (lambda t: t.ones(2) * None, TypeError, "None"),
    "order with None": (lambda t: t.ones(2) < None, TypeError, "None"),
    "a matrix product with a number": (lambda t: t.ones(2) @ 3, TypeError, "int"),
    # counts and names
    "too few": (lambda t: t.add(t.ones(2)), TypeError, "other"),
    "none at all": (lambda t: t.add(), TypeError, "add"),
    "too many": (lambda t: t.ones(2).relu(1), TypeError, "relu"),
    "an unknown name": (lambda t: t.ones(2).sum(dimm=0), TypeError, "dimm"),
    "a name twice": (lambda t: t.add(t.ones(1), t.ones(1), other=t.ones(1)), TypeError, "other"),
    "an unknown method": (lambda t: t.ones(2).no_such_method(), AttributeError, "no_such_method"),
    "an unknown function": (lambda t: t.no_such_function, AttributeError, "no_such_function"),
    "an unknown functional": (lambda t: t.nn.functional.no_such_layer, AttributeError, "no_such_layer"),
    "an unknown device": (lambda t: t.device("nowhere"), RuntimeError, "nowhere"),
    "a layer without its sizes": (lambda t: t.nn.Linear(3), TypeError, "out_features"),
    "a layer with a strange option": (lambda t: t.nn.Linear(3, 2, biass=True), TypeError, "biass"),
    "a padding mode of no name": (lambda t: t.nn.Conv2d(1, 1, 1, padding_mode="none"), ValueError, "none"),
    "an unknown reduction": (lambda t: t.nn.functional.mse_loss(t.ones(1), t.ones(1), reduction="most"), ValueError, "most"),
    # ranges and shapes
    "a dimension out of range": (lambda t: t.ones(2, 3).sum(2), IndexError, r"2"),
    "a dimension twice": (lambda t: t.ones(2, 3).sum((0, 0)), RuntimeError, "dim"),
    "an index out of range": (lambda t: t.ones(2)[2], IndexError, "2"),
    "an index tensor out of range": (lambda t: t.ones(2)[t.tensor([5])], IndexError, "5"),
    "too many indices": (lambda t: t.ones(2)[0, 0], IndexError, "ind"),
    "a mask of another shape": (lambda t: t.ones(2)[t.ones(3, dtype=t.bool)], IndexError, "3"),
    "a step backwards": (lambda t: t.ones(2)[::-1], ValueError, "step"),
    "a value of another shape": (lambda t: t.ones(2).__setitem__(slice(None), t.ones(3)), RuntimeError, "3"),
    "shapes that do not broadcast": (lambda t: t.ones(2) + t.ones(3), RuntimeError, "3"),
    "matrices that do not fit": (lambda t: t.ones(2, 3) @ t.ones(2, 3), RuntimeError, "2x3|2, 3"),
    "a view that does not fit": (lambda t: t.ones(6).view(4, 2), RuntimeError, "4, 2"),
    "two unknown sizes": (lambda t: t.ones(6).view(-1, -1), RuntimeError, "one"),
    "a negative size": (lambda t: t.zeros(-1), RuntimeError, "-1"),
    "memory that cannot be": (lambda t: t.empty(2**62), RuntimeError, ""),
    "a number too large": (lambda t: t.tensor(2**70), ValueError, "long long"),
    "a number too large for its dtype": (lambda t: t.tensor([300], dtype=t.uint8) if t is cresset else t.full((1,), 300, dtype=t.uint8), RuntimeError, "uint8|overflow"),
    "no rows to stack": (lambda t: t.stack([]), RuntimeError, "empty"),
    "a low above the high": (lambda t: t.randint(5, 2, (1,)), RuntimeError, "5"),
    "a probability of two": (lambda t: t.nn.Dropout(2.0), ValueError, "2"),
    "a class out of range": (lambda t: t.nn.functional.cross_entropy(t.ones(1, 2), t.tensor([7])), IndexError, "7"),
    "a word out of range": (lambda t: t.nn.Embedding(2, 2)(t.tensor([2])), IndexError, ""),
    "the truth of two": (lambda t: bool(t.ones(2)), RuntimeError, "ambiguous|neither true nor false"),
    "the item of two": (lambda t: t.ones(2).item(), RuntimeError, "2"),
    "the length of a number": (lambda t: len(t.tensor(1)), TypeError, "0-d"),
    "a number iterated": (lambda t: list(t.tensor(1)), TypeError, "0-d|dimension"),
    "a float as an index of a list": (lambda t: [1, 2][t.tensor(0.5)], TypeError, "integer"),
    # nested data, arrays, buffers, foreign memory
    "ragged lists": (lambda t: t.tensor([[1, 2], [3]]), ValueError, "length 2"),
    "lists of different depth": (lambda t: t.tensor([[1], 2]), (TypeError, ValueError), ""),
    "a sequence that fails": (lambda t: t.tensor(Short()), ZeroDivisionError, "element 1"),
    "an array of objects": (lambda t: t.from_numpy(np.array([None, 1])), TypeError, "object"),
    "an array of text": (lambda t: t.tensor(np.array(["a"])), TypeError, "str|U"),
    "an array of dates": (lambda t: t.as_tensor(np.array(["2020-01-01"], "datetime64[D]")), TypeError, "datetime"),
    "no array": (lambda t: t.from_numpy([1, 2]), TypeError, "list"),
    "an array the other way round": (lambda t: t.from_numpy(np.arange(3)[::-1]), ValueError, "negative|strides"),
    "an array of another byte order": (lambda t: t.from_numpy(np.arange(3, dtype=">i4")), ValueError, "byte order"),
    "a read-only array": (read_only, UserWarning, "writ"),
    "no buffer": (lambda t: t.frombuffer(3, dtype=t.int8), ValueError, "buffer"),
    "an empty buffer": (lambda t: t.frombuffer(b"", dtype=t.int8), ValueError, "0"),
    "a buffer of odd length": (lambda t: t.frombuffer(bytearray(5), dtype=t.int16), ValueError, "5"),
    "a count too large": (lambda t: t.frombuffer(bytearray(4), dtype=t.int16, count=3), ValueError, ""),
    "an offset too large": (lambda t: t.frombuffer(bytearray(4), dtype=t.int16, offset=4), ValueError, "4"),
    "a capsule that is none": (lambda t: t.from_dlpack(Careless()), (TypeError, RuntimeError, ValueError), ""),
    "nothing to exchange": (lambda t: t.from_dlpack(3), RuntimeError, "capsule"),
    "an array of a tensor that requires gradients": (lambda t: t.ones(2, requires_grad=True).numpy(), RuntimeError, "detach"),
    "values without data": (lambda t: t.ones(2, device="meta").numpy(), (TypeError, RuntimeError, NotImplementedError), "meta"),
    "an array of bfloat16": (lambda t: t.ones(2, dtype=t.bfloat16).numpy(), TypeError, "(?i)bfloat16"),
    # autograd
    "no gradient to take": (lambda t: t.ones(2).sum().backward(), RuntimeError, "grad"),
    "a gradient of two": (lambda t: t.ones(2, requires_grad=True).exp().backward(), RuntimeError, "scalar|one element|several elements"),
    "a gradient of another shape": (lambda t: t.ones(2, requires_grad=True).exp().backward(t.ones(3)), RuntimeError, "3"),
    "a graph that is gone": (saved_after_backward, RuntimeError, "second time|retain_graph"),
    "a value that was needed": (changed_in_place, RuntimeError, "in-?place|version"),
    "a leaf in place": (lambda t: t.ones(2, requires_grad=True).add_(1), RuntimeError, "leaf"),
    "a leaf that is none": (lambda t: setattr(t.ones(2, requires_grad=True).exp(), "requires_grad", False), RuntimeError, "leaf"),
    "a source that was not used": (lambda t: t.autograd.grad(t.ones(2, requires_grad=True).sum(), t.ones(1, requires_grad=True)), RuntimeError, "unused|not have been used"),
    "a gradient that is none": (lambda t: setattr(t.ones(2), "grad", 3), TypeError, "grad"),
    "a gradient of another size": (lambda t: setattr(t.ones(2), "grad", t.ones(3)), RuntimeError, "size|shape"),
    "a function without backward": (lambda t: function_without(t, "backward"), NotImplementedError, "backward"),
    "a function without forward": (lambda t: function_without(t, "forward"), NotImplementedError, "forward"),
    "a function made": (lambda t: type("F", (t.autograd.Function,), {})()(1), RuntimeError, ""),
    "too few gradients": (wrong_number_of_gradients, RuntimeError, "2"),
    "a hook after accumulation that returns": (
        lambda t: ((x := t.ones(1, requires_grad=True)).register_post_accumulate_grad_hook(lambda p: 3), x.sum().backward()), TypeError, "",
    ),
    "a flag that is none": (lambda t: setattr(t.ones(1), "requires_grad", 3), RuntimeError, "bool"),
    "a negative eps": (lambda t: t.nn.functional.cosine_similarity(t.ones(2, 2), t.ones(2, 2), eps=-1), RuntimeError, "eps"),
    "a target of another shape": (lambda t: t.nn.functional.nll_loss(t.ones(1, 2, 3), t.zeros(1, 2).long()), RuntimeError, "target"),
    "a weight too few": (lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 3), t.tensor([0, 1]), weight=t.ones(2)), RuntimeError, "weight"),
    "offsets that are no integers": (lambda t: t.sparse.spdiags(t.ones(1, 2), t.tensor([0.0]), (2, 2)), RuntimeError, "Long"),
    "a hook that is none": (lambda t: t.ones(2).register_hook(print), RuntimeError, "require"),
    # modules, optimizers, files
    "a module without its __init__": (lambda t: careless_module(t, lambda m, t: setattr(m, "w", t.nn.Parameter(t.ones(1)))), AttributeError, r"__init__"),
    "a submodule without __init__": (lambda t: careless_module(t, lambda m, t: setattr(m, "w", t.nn.Linear(1, 1))), AttributeError, r"__init__"),
    "a buffer without __init__": (lambda t: careless_module(t, lambda m, t: m.register_buffer("w", t.ones(1))), AttributeError, r"__init__"),
    "a parameter without __init__": (lambda t: careless_module(t, lambda m, t: m.register_parameter("w", None)), AttributeError, r"__init__"),
    "a call without __init__": (called_module, AttributeError, "hook|__init__"),
    "a module without forward": (lambda t: t.nn.Module()(1), NotImplementedError, "forward"),
    "a tensor for a parameter": (lambda t: setattr(t.nn.Linear(1, 1), "weight", t.ones(1, 1)), TypeError, "weight"),
    "text for a module": (lambda t: t.nn.Sequential("a"), TypeError, "str"),
    "a parameter with a dot": (lambda t: t.nn.Module().register_parameter("a.b", None), KeyError, r"\."),
    "an attribute that is not there": (lambda t: t.nn.Linear(1, 1).nothing, AttributeError, "nothing"),
    "the complement of a fraction": (lambda t: ~t.ones(1), TypeError, "integer"),
    "a matrix without an inverse": (lambda t: t.linalg.inv(t.zeros(2, 2)), RuntimeError, "singular"),
    "a state that is no dict": (lambda t: t.nn.Linear(1, 1).load_state_dict([1]), TypeError, "list"),
    "no parameters": (lambda t: t.optim.SGD([], 0.1), ValueError, "empty|got none"),
    "text for parameters": (lambda t: t.optim.SGD("a", 0.1), (TypeError, ValueError), ""),
    "a tensor for parameters": (lambda t: t.optim.SGD(t.ones(1, requires_grad=True), 0.1), TypeError, "Tensor"),
    "a result for a parameter": (lambda t: t.optim.SGD([t.ones(1, requires_grad=True).exp()], 0.1), ValueError, "leaf"),
    "a negative rate": (lambda t: t.optim.Adam([t.ones(1, requires_grad=True)], -1), ValueError, "-1"),
    "a state of another optimizer": (
        lambda t: t.optim.SGD([t.ones(1, requires_grad=True)], 0.1).load_state_dict({"state": {}, "param_groups": []}), ValueError, "group"),
    "a file that is none": (lambda t: t.load(io.BytesIO(b"no file at all")), (RuntimeError, pickle.UnpicklingError), ""),
    "an empty file": (lambda t: t.load(io.BytesIO()), EOFError, ""),
    "a path that is not there": (lambda t: t.load("/no/such/file.pt"), FileNotFoundError, "file.pt"),
    "a folder that is not there": (lambda t: t.save(1, "/no/such/folder/file.pt"), RuntimeError, "folder"),
}  # fmt: skip


class Refusals(unittest.TestCase):
    def setUp(self):
        # Some warnings come once in a process, and other tests may have had them.
        for module in [cresset, *([importlib.import_module("torch")] if HAS_TORCH else [])]:
            self.addCleanup(module.set_warn_always, module.is_warn_always_enabled())
            module.set_warn_always(True)

    def test_types_and_messages(self):
        for name, (call, kinds, words) in CALLS.items():
            with self.subTest(name):
                with self.assertRaisesRegex(kinds, words) as caught:
                    call(cresset)
                self.assertGreater(len(str(caught.exception)), 10)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
    def test_pytorch_has_the_same_types(self):
        import torch

        for name, (call, kinds, _) in CALLS.items():
            with self.subTest(name), self.assertRaises(kinds):
                call(torch)
            with self.subTest(name + ", the very type"):
                self.assertEqual(type(self.raised(call, cresset)).__name__, type(self.raised(call, torch)).__name__)

    def raised(self, call, module):
        try:
            call(module)
        except Exception as error:
            return error

    def test_a_state_dict_that_does_not_fit_is_listed(self):
        nn = cresset.nn
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        state = net.state_dict()
        kept = {name: value.clone() for name, value in state.items()}
        state["extra"] = state.pop("0.bias")
        state["1.weight"] = cresset.ones(5)
        with self.assertRaises(RuntimeError) as caught:
            net.load_state_dict(state)
        text = str(caught.exception)
        for words in ('Missing key(s) in state_dict: "0.bias"', 'Unexpected key(s) in state_dict: "extra"', "size mismatch for 1.weight", "[5]", "[1, 3]"):
            self.assertIn(words, text)
        self.assertTrue(all(cresset.equal(kept[name], value) for name, value in net.state_dict().items() if name != "0.weight"))
        result = net.load_state_dict({"0.weight": kept["0.weight"], "more": 1}, strict=False)
        self.assertEqual((result.missing_keys, result.unexpected_keys), (["0.bias", "1.weight", "1.bias"], ["more"]))

    def test_the_error_of_linear_algebra_has_its_name_and_is_pickled(self):
        kind = cresset.linalg.LinAlgError
        self.assertEqual(kind.__name__, "_LinAlgError")
        self.assertIs(type(pickle.loads(pickle.dumps(kind("a")))), kind)

    def test_memory_beyond_what_64_bits_count(self):
        big, memory = 2**62, cresset.zeros(4)
        for refused in (
            lambda: memory.as_strided([5], [big]),
            lambda: memory.as_strided([3, 2], [big, big]),
            lambda: cresset.zeros(4).as_strided_([5], [big]),
            lambda: memory.as_strided([2], [1], 2 * big - 2),
            lambda: cresset.zeros(4).set_(memory.untyped_storage(), 0, [5], [big]),
            lambda: cresset.empty((), dtype=cresset.float64).resize_([2, 4, 2**29, 2**29]),
            lambda: cresset.empty((), dtype=cresset.float64).resize_([2**61]),
            lambda: cresset.empty_strided([3, 2], [big, big]),
            lambda: cresset.empty_strided([2], [2**61], dtype=cresset.float64),
        ):
            with self.assertRaisesRegex(RuntimeError, "64 bits"):
                refused()
        self.assertEqual(memory.as_strided([0, 5], [big, big]).shape, (0, 5))

    def test_numbers_are_not_written_into_shared_places(self):
        for index in (slice(None), ..., True, (slice(None), None)):
            for value in (2, 2.0, True, cresset.tensor(2.0), cresset.ones(1)):
                t = cresset.zeros(1)
                with self.assertRaisesRegex(RuntimeError, "memory of their own"):
                    t.expand(3)[index] = value
                self.assertEqual(t.item(), 0)
        t = cresset.zeros(2, 1)
        with self.assertRaises(RuntimeError):
            t.expand(2, 3)[0] = 5
        t.expand(2, 3)[1, 2] = 5  # a place alone is shared with nothing that is written
        self.assertEqual(t.tolist(), [[0], [5]])

    def test_factories_make_nothing_but_what_out_is(self):
        for make in (cresset.zeros, cresset.ones, cresset.empty, cresset.rand, cresset.randn):
            for options in ({"layout": cresset.sparse_coo}, {"device": "meta"}, {"dtype": cresset.float64}):
                with self.assertRaisesRegex(RuntimeError, "does not match that of `out`"):
                    make(3, out=cresset.zeros(3), **options)
            out = cresset.zeros(3)
            self.assertIs(make(3, out=out, layout=cresset.strided, device="cpu", dtype=cresset.float32), out)

    def test_the_grid_of_coordinates(self):
        x = cresset.tensor([1])
        with self.assertRaisesRegex(RuntimeError, "indexing"):
            cresset.meshgrid(x, indexing="")
        with self.assertRaisesRegex(RuntimeError, "same device, got cpu and meta"):
            cresset.meshgrid(x, cresset.tensor([2], device="meta"), indexing="ij")

    def test_vectors_without_elements_are_joined_along_any_dimension(self):
        none = cresset.zeros(0)
        for dim in (0, 1, 5, -3):
            self.assertEqual(cresset.cat([none, none], dim).shape, (0,))
        with self.assertRaises(IndexError):
            cresset.cat([none, cresset.ones(2)], 1)

    def test_a_histogram_is_written_in_the_dtype_of_its_input(self):
        x, other = cresset.ones(4), cresset.zeros(0, dtype=cresset.float64)
        for out in ((other, cresset.zeros(0)), (cresset.zeros(0), other)):
            for bins in (2, cresset.tensor([0.0, 1.0, 2.0])):
                with self.assertRaisesRegex(RuntimeError, "float64"):
                    cresset.histogram(x, bins, out=out)

    def test_positions_of_a_split_are_whole_numbers_in_a_row(self):
        x = cresset.ones(4)
        for places in (cresset.tensor([[1]]), cresset.tensor([1.0]), cresset.tensor(1.0), cresset.tensor([1], dtype=cresset.int32)):
            with self.assertRaisesRegex(RuntimeError, "positions of dtype int64"):
                cresset.tensor_split(x, places)
            with self.assertRaises(RuntimeError):
                x.tensor_split(places)
        self.assertEqual([len(part) for part in x.tensor_split(cresset.tensor([1]))], [1, 3])
        for named, lengths in (({"sections": 3}, [2, 1, 1]), ({"indices": (1,)}, [1, 3]), ({"tensor_indices_or_sections": cresset.tensor([3])}, [3, 1])):
            for split in (cresset.tensor_split, cresset.Tensor.tensor_split):
                self.assertEqual([len(part) for part in split(x, **named, dim=0)], lengths)
        for wrong in ({}, {"sections": 2, "indices": [1]}):
            self.assertRaises(TypeError, cresset.tensor_split, x, **wrong)

    def test_a_tensor_of_a_tensor_takes_no_device(self):
        x = cresset.ones(2)
        for made in (lambda: cresset.Tensor(x, device="cpu"), lambda: x.new(x, device="cpu")):
            with self.assertRaisesRegex(RuntimeError, "takes no device"):
                made()
        self.assertEqual(cresset.Tensor(x).data_ptr(), x.data_ptr())

    def test_a_gpu_through_dlpack(self):
        for kind in (2, 10, 14):
            with self.assertRaisesRegex(BufferError, str(kind)):
                cresset.from_dlpack(Elsewhere(cresset, kind))


if __name__ == "__main__":
    unittest.main()
