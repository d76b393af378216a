"""__torch_function__ on classes and modes, as far as calls of operators see it."""

import copy
import doctest
import inspect
import pickle
import unittest

import _cresset

import cresset as torch


class Follows(torch.Tensor):
    """Operators keep the class."""


class Logs(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


class Foreign:
    """No tensor, but takes calls over."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, types, len(args), kwargs


class Declines:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


class Heard(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(torch.overrides.resolve_name(function) or function.__name__)
        return function(*args, **(kwargs or {}))


class HeardCalls(unittest.TestCase):
    def test_gradients_and_their_recording_are_seen(self):
        x = torch.ones(2, requires_grad=True)
        with Heard() as mode:
            with torch.no_grad():
                y = x * 2
                self.assertFalse(torch.is_grad_enabled())
            (x * 2).sum().backward()
        self.assertFalse(y.requires_grad)
        self.assertTrue(torch.is_grad_enabled())
        self.assertEqual(mode.seen, ["_set_grad_enabled", "torch.Tensor.mul", "_set_grad_enabled", "torch.Tensor.mul", "torch.Tensor.sum",
                                     "torch.Tensor.backward"])  # fmt: skip

    def test_starts_of_layers_are_seen_whole_or_as_their_operators(self):
        init, seen = torch.nn.init, []

        class Hears(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                seen.append((getattr(function, "__name__", ""), len(args), sorted(kwargs or {})))
                return super().__torch_function__(function, types, args, kwargs or {})

        def first(function, *args):
            x = torch.ones(3, 4).as_subclass(Hears)
            seen.clear()
            self.assertIs(function(x, *args), x)
            return seen[0]

        self.assertEqual(first(init.uniform_), ("uniform_", 0, ["a", "b", "generator", "tensor"]))
        self.assertEqual(first(init.normal_, 1.0), ("normal_", 0, ["generator", "mean", "std", "tensor"]))
        self.assertEqual(first(init.constant_, 2.0), ("constant_", 0, ["tensor", "val"]))
        self.assertEqual(first(init.kaiming_uniform_), ("kaiming_uniform_", 0, ["a", "generator", "mode", "nonlinearity", "tensor"]))
        self.assertEqual(first(init.ones_), ("fill_", 2, []))
        self.assertEqual(first(init.zeros_), ("zero_", 1, []))
        for other in (init.xavier_normal_, init.kaiming_normal_, init.xavier_uniform_):
            first(other)
            self.assertEqual({name for name, places, _ in seen if not places}, set())
        with Heard() as mode:
            torch.nn.Linear(2, 3)
        self.assertEqual([name for name in mode.seen if name.startswith("torch.nn.init")], ["torch.nn.init.kaiming_uniform_", "torch.nn.init.uniform_"])

    def test_pooling_with_indices_and_padded_sequences_are_functions_of_their_own(self):
        F, x = torch.nn.functional, Foreign()
        self.assertEqual(F.max_pool2d(x, 2)[0], "max_pool2d")
        for call in (lambda: F.max_pool2d(x, 2, return_indices=True), lambda: F.max_pool2d(x, 2, None, 0, 1, False, True)):
            self.assertEqual(
                call(), ("max_pool2d_with_indices", (Foreign,), 2, {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": True})
            )
        self.assertEqual(F.adaptive_max_pool1d(x, 2, True)[0], "adaptive_max_pool1d_with_indices")
        self.assertEqual(F.fractional_max_pool3d(x, 2, 1, return_indices=True)[0], "fractional_max_pool3d_with_indices")
        pad = torch.nn.utils.rnn.pad_sequence([x, x], padding_value=2.0)
        self.assertEqual((pad[0], pad[2], pad[3]), ("pad_sequence", 4, None))

    def test_operators_leave_the_hook_its_own_keywords(self):
        self.assertIsNone(torch.where(Foreign(), 1, 2)[3])
        self.assertEqual(torch.einsum("i", Foreign())[3], {})


class Listed(unittest.TestCase):
    def test_what_a_tensor_lists_it_has(self):
        x = torch.ones(2, 2)
        self.assertEqual([name for name in dir(x) if name != "imag" and not hasattr(x, name)], [])
        x.note = 1
        self.assertTrue({"note", "shape", "T"} <= set(dir(x)))


class Classes(unittest.TestCase):
    def test_results_have_the_class(self):
        x = Follows([1.0, 2.0])
        for got in (x + 1, 1 - x, torch.exp(x), x.sum(), x.detach(), x[0], x.T, torch.ones(2) * x, x.max(0).values, x.split(1)[0], x.requires_grad_()):
            self.assertIs(type(got), Follows)
        self.assertIs(type(x.shape), torch.Size)

    def test_a_constructor_makes_its_class_of_tensors_of_others(self):
        x = Logs([1.0])
        Logs.calls.clear()
        made = [torch.Tensor(x), torch.FloatTensor(x), Follows(x), Logs(x), torch.Tensor(torch.nn.Parameter(x))]
        self.assertEqual([type(t) for t in made], [torch.Tensor, torch.Tensor, Follows, Logs, torch.Tensor])
        self.assertEqual([t.data_ptr() == made[0].data_ptr() for t in made], [True] * 5)

    def test_calls_arrive_with_the_function(self):
        x = Logs([1.0])
        Logs.calls.clear()
        torch.add(x, x)
        x.exp()
        x.shape
        self.assertEqual(Logs.calls, [torch.add, torch.Tensor.exp, torch.Tensor.shape.__get__])

    def test_other_objects_take_calls_over(self):
        self.assertEqual(torch.add(Foreign(), 2, alpha=3), ("add", (Foreign,), 2, {"alpha": 3}))
        self.assertEqual(torch.cat([torch.ones(1), Foreign()])[1], (Foreign,))
        with self.assertRaises(TypeError):
            torch.add(Declines(), 2)


class Modes(unittest.TestCase):
    def test_a_mode_sees_every_call_and_its_own_calls_pass_it_by(self):
        seen = []

        class Mode:
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function.__name__)
                return function(*args, **(kwargs or {}))

        mode = Mode()
        _cresset._push_mode(mode)
        try:
            result = torch.ones(2) + 1
        finally:
            self.assertIs(_cresset._pop_mode(), mode)
        self.assertEqual((result.tolist(), seen), ([2, 2], ["ones", "add"]))


class Names(unittest.TestCase):
    def test_modes_can_name_what_they_see(self):
        names = []

        class Notes(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                names.append(torch.overrides.resolve_name(func))
                return func(*args, **(kwargs or {}))

        with Notes():
            torch.ones(2).new_zeros(1)
            torch.tensor(1.0).grad  # noqa: B018
        self.assertEqual(names, ["torch.ones", "torch.Tensor.new_zeros", "torch.tensor", "torch.Tensor.grad.__get__"])
        self.assertEqual(torch.overrides.resolve_name(torch.ops.aten.add.Tensor), "aten.add.Tensor")
        self.assertIsNone(torch.overrides.resolve_name(3))


class Factories(unittest.TestCase):
    def test_modes_see_tensors_made_of_data(self):
        class Minus(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return -1

        with Minus():
            made = [torch.tensor([1]), torch.as_tensor([1]), torch.ones(2), torch.sparse_coo_tensor(1, 1, 1)]
        self.assertEqual(made, [-1] * 4)


class Hooks(unittest.TestCase):
    """The arguments of `__torch_function__` itself."""

    def test_operators_without_keywords_leave_the_default_of_kwargs(self):
        class Shows:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs="none"):
                return kwargs

        self.assertEqual(torch.add(Shows(), 1, alpha=2), {"alpha": 2})
        self.assertEqual(torch.Tensor.add(torch.ones(1), Shows(), alpha=2), {"alpha": 2})
        self.assertEqual(torch.ones(1) + Shows, "none")  # a class is an argument too

    def test_what_no_argument_takes_over(self):
        ignored = torch.overrides.get_ignored_functions()
        self.assertIn(torch.save, ignored)
        self.assertNotIn(torch.add, ignored)


class Functions(unittest.TestCase):
    """Functions written in Python are taken over as operators are."""

    def test_calls_arrive_with_the_function(self):
        x, f = Logs([1.0]), torch.nn.functional
        Logs.calls.clear()
        f.mse_loss(x, x)
        torch.einsum("i,i", x, x)
        x.to(torch.float64)
        x.norm()
        self.assertEqual(Logs.calls, [f.mse_loss, torch.einsum, torch.Tensor.to, torch.Tensor.norm])

    def test_einsum_arrives_with_its_equation_and_tensors_in_every_form(self):
        f, x = Foreign(), torch.ones(2)
        for given in (("i,i", f, x), ("i,i", [f, x]), ("i,i", (f, x)), (x, [0], f, [0])):
            self.assertEqual(torch.einsum(*given), ("einsum", (Foreign,), 3, {}))
        graph = torch.fx.symbolic_trace(lambda a, b: torch.einsum("ij,jk", [a, b])).graph
        call = next(n for n in graph.nodes if n.op == "call_function")
        self.assertEqual([getattr(a, "name", a) for a in call.args], ["ij,jk", "a", "b"])

    def test_gradients_of_a_class_arrive_with_outputs_and_inputs(self):
        x = Logs([1.0, 2.0]).requires_grad_()
        y = (x * x).sum()
        Logs.calls.clear()
        (g,) = torch.autograd.grad(y, x)
        self.assertEqual([c.__name__ for c in Logs.calls], ["grad"])
        self.assertEqual((type(g), g.tolist()), (Logs, [2, 4]))

    def test_arrays_copies_and_text_arrive_as_one_call(self):
        x = Logs([1.0, 2.0])
        calls = {
            "numpy": x.numpy, "__array__": x.__array__, "__deepcopy__": lambda: copy.deepcopy(x), "__reduce_ex__": lambda: copy.copy(x),
            "stft": lambda: x.stft(2, 1, window=torch.ones(2), center=False, return_complex=True),
        }  # fmt: skip
        for name, call in calls.items():
            Logs.calls.clear()
            with self.subTest(name):
                call()
                self.assertEqual([f.__name__ for f in Logs.calls], [name])
        Logs.calls.clear()
        hash(x)
        self.assertEqual(Logs.calls, [])
        self.assertEqual(copy.deepcopy(x).tolist(), [1, 2])
        self.assertIs(type(copy.copy(x)), Logs)
        given = {"hop_length": None, "win_length": None, "window": None, "center": True, "pad_mode": "reflect", "normalized": False, "onesided": None,
                 "return_complex": True, "align_to_window": None}  # fmt: skip
        self.assertEqual(torch.stft(Foreign(), 4, return_complex=True), ("stft", (Foreign,), 2, given))

    def test_other_objects_take_calls_over(self):
        named = {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "sum", "label_smoothing": 0.0}
        self.assertEqual(torch.nn.functional.cross_entropy(Foreign(), 2, reduction="sum"), ("cross_entropy", (Foreign,), 2, named))
        self.assertEqual(torch.broadcast_tensors(torch.ones(1), Foreign())[1], (Foreign,))
        with self.assertRaisesRegex(TypeError, "no implementation found for 'relu' on types that implement __torch_function__"):
            torch.nn.functional.relu(Declines())

    def test_they_stay_functions(self):
        relu = torch.nn.functional.relu
        self.assertEqual(str(inspect.signature(relu)), "(input, inplace=False)")
        self.assertIs(pickle.loads(pickle.dumps(relu)), relu)
        self.assertIs(pickle.loads(pickle.dumps(torch.einsum)), torch.einsum)


class Operators(unittest.TestCase):
    def test_methods_tell_their_arguments_and_stay_slots(self):
        for name in "floordiv rfloordiv rsub rtruediv rdiv rmod rmatmul rlshift rrshift rpow".split():
            method = getattr(torch.Tensor, f"__{name}__")
            self.assertEqual(list(inspect.signature(method).parameters)[:2], ["self", "other"], name)
            self.assertEqual(type(method).__name__, "wrapper_descriptor")
        self.assertIn("Return other-self.", torch.Tensor.__rsub__.__doc__)
        self.assertEqual((5 - torch.nn.Parameter(torch.tensor(2.0))).item(), 3)

    def test_hooks_know_them_by_the_methods_of_python(self):
        x, n = Logs([8.0, 4.0]), Logs([8.0, 4.0]).long()
        cases = {
            lambda: 1 - x: "__rsub__", lambda: 2**x: "__rpow__", lambda: 1 / x: "__rdiv__", lambda: 9 // x: "__rfloordiv__", lambda: 9 % x: "__rmod__",
            lambda: x // 2: "__floordiv__", lambda: x % 2: "remainder", lambda: x == 1: "__eq__", lambda: x != 1: "ne", lambda: x < 1: "lt",
            lambda: n & 1: "__and__", lambda: 1 & n: "bitwise_and", lambda: n | 1: "__or__", lambda: n ^ 1: "__xor__", lambda: n << 1: "__lshift__",
            lambda: 1 << n: "__rlshift__", lambda: n >> 1: "__rshift__", lambda: 64 >> n: "__rrshift__", lambda: ~n: "__invert__",
            lambda: n.__iand__(12): "__iand__", lambda: n.__ior__(1): "__ior__", lambda: n.__ixor__(2): "__ixor__", lambda: n.__ilshift__(1): "__ilshift__",
            lambda: n.__irshift__(1): "__irshift__", lambda: x - 1: "sub", lambda: 2 * x: "mul", lambda: -x: "neg",
        }  # fmt: skip
        for call, name in cases.items():
            Logs.calls.clear()
            with self.subTest(name):
                self.assertIsInstance(call(), Logs)
                self.assertEqual([f.__name__ for f in Logs.calls], [name])
        self.assertEqual((1 / x).tolist(), [0.125, 0.25])
        self.assertEqual((9 // x).tolist(), [1, 2])

    def test_modes_hear_the_same_names_and_may_call_them(self):
        x = torch.tensor([2.0, 4.0])
        with Heard() as mode:
            results = [1 - x, x // 4, x == 2.0]
        self.assertEqual([r.tolist() for r in results], [[-1, -3], [0, 1], [True, False]])
        self.assertEqual([n.rpartition(".")[2] for n in mode.seen], ["__rsub__", "__floordiv__", "__eq__"])

    def test_other_objects_on_either_side(self):
        x = torch.ones(2)
        for result, name in ((Foreign() - x, "__rsub__"), (Foreign() / x, "__rdiv__"), (x // Foreign(), "__floordiv__"), (Foreign() @ x, "__rmatmul__")):
            self.assertEqual(result, (name, (Foreign,), 2, None))
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            object() - Logs([1.0])

    def test_subclasses_replace_them(self):
        class Shouts(torch.Tensor):
            def __rsub__(self, other):
                return "mine"

        self.assertEqual(1 - torch.ones(1).as_subclass(Shouts), "mine")


class Package(unittest.TestCase):
    """torch.overrides."""

    def test_docstrings(self):
        self.assertEqual(doctest.testmod(torch.overrides, extraglobs={"torch": torch}).failed, 0)

    def test_modes_nest(self):
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append((self.name, torch.overrides.resolve_name(func)))
                return func(*args, **(kwargs or {}))

        with Mode("outer") as outer, Mode("inner") as inner:
            self.assertEqual(torch.overrides._get_current_function_mode_stack(), [outer, inner])
            torch.ones(2).shape
        self.assertIsNone(torch.overrides._get_current_function_mode())
        self.assertEqual(
            seen, [("inner", "torch.ones"), ("outer", "torch.ones"), ("inner", "torch.Tensor.shape.__get__"), ("outer", "torch.Tensor.shape.__get__")]
        )
        with self.assertRaises(NotImplementedError), torch.overrides.TorchFunctionMode():
            torch.ones(1)
        self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])

    def test_redispatch_leaves_out_one_level(self):
        calls = []

        class Notes(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append(func.__name__)
                return torch.overrides.redispatch_function(func, types, args, kwargs)

        def scaled(a, b):
            if torch.overrides.has_torch_function((a, b)):
                return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
            return a * b + 1

        self.assertEqual(scaled(Notes([3.0]), Notes([4.0])).tolist(), [13.0])
        self.assertEqual(calls, ["scaled", "mul"])
        calls.clear()
        self.assertEqual(torch.nn.functional.relu(Notes([-1.0])).tolist(), [0.0])
        self.assertEqual(calls, ["relu", "relu"])  # the function, and the operator within
        self.assertEqual(Notes([3.0]).shape, (1,))

    def test_errors(self):
        overrides = torch.overrides
        with self.assertRaisesRegex(TypeError, "no implementation found for 'add'"):
            overrides.handle_torch_function(torch.add, (Declines(),), 1)
        with self.assertRaises(TypeError):
            overrides.handle_torch_function()
        with self.assertRaisesRegex(TypeError, "expected a sequence"):
            overrides.has_torch_function(3)

    def test_lists(self):
        overrides = torch.overrides
        functions, ignored = overrides.get_overridable_functions(), overrides.get_ignored_functions()
        self.assertIn(torch.Tensor.add_, functions[torch.Tensor])
        self.assertIn(torch.Tensor.grad.__get__, functions[torch.Tensor])
        self.assertIn(torch.nn.functional.mse_loss, functions[torch.nn.functional])
        self.assertIn(torch.tensor, ignored)
        self.assertFalse(ignored & {f for names in functions.values() for f in names})
        for name, function in (("add", torch.add), ("Tensor.add", torch.Tensor.add), ("nn.functional.mse_loss", torch.nn.functional.mse_loss),
                               ("Tensor.grad.__get__", torch.Tensor.grad.__get__)):  # fmt: skip
            self.assertEqual(overrides.resolve_name(function), "torch." + name)
        self.assertIsNone(overrides.resolve_name(print))
        self.assertIsNone(overrides.resolve_name([]))
        self.assertEqual({f(1) for f in [overrides.get_testing_overrides()[torch.Tensor.grad.__get__]]}, {-1})
        self.assertEqual([overrides.is_tensor_like(o) for o in (1, torch.ones(1), Foreign(), Follows([1.0]))], [False, True, True, True])

    def test_every_function_is_handed_over(self):
        """Each function of the list reaches a class that takes calls over, whatever its other arguments are."""

        class Answer(Exception):
            pass

        class Takes:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise Answer

        for space, functions in torch.overrides.get_overridable_functions().items():
            if space is torch.Tensor:
                continue
            for function in functions:
                with self.subTest(torch.overrides.resolve_name(function)), self.assertRaises(Answer):
                    function(Takes())


if __name__ == "__main__":
    unittest.main()


def test_operators_hand_their_arguments_over_as_they_were_given():
    seen = []

    class Hook:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((len(args), kwargs))

    x, y = Hook(), torch.ones(2)
    torch.clone(x)
    torch.where(x, y, y)
    torch.nonzero(x, as_tuple=True)
    torch.nn.functional.conv2d(y, x, None, 1)
    torch.linalg.vector_norm(x, 3)
    assert seen == [(1, None), (3, None), (1, {"as_tuple": True}), (4, None), (2, None)]
    seen.clear()
    torch.nn.functional.dropout(x, 0.1)  # a function of Python in PyTorch too
    assert seen == [(1, {"p": 0.1, "training": True, "inplace": False})]
    seen.clear()
    plain = torch.ones(2, 2).as_subclass(type("Heard", (torch.Tensor,), {"__torch_function__": Hook.__dict__["__torch_function__"]}))
    plain.split(1)
    plain.to(torch.float64)
    plain.tensor_split(2)
    assert seen == [(2, {"dim": 0}), (2, None), (2, None)]
