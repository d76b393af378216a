"""Names that PyTorch does not document and libraries import: checks, trees with paths, module paths, operators."""

import functools
import importlib
import pickle
import unittest
import warnings

import cresset as torch


class Checks(unittest.TestCase):
    def test_conditions(self):
        for name, error in (
            ("_check", RuntimeError),
            ("_check_index", IndexError),
            ("_check_value", ValueError),
            ("_check_type", TypeError),
            ("_check_not_implemented", NotImplementedError),
        ):
            check = getattr(torch, name)
            self.assertIsNone(check(True))
            with self.assertRaisesRegex(error, "^mine$"):
                check(False, lambda: "mine")
            self.assertRaises(TypeError, check, torch.tensor(True))
            self.assertRaises(TypeError, check, False, "mine")
        self.assertRaises(KeyError, torch._check_with, KeyError, False)

    def test_sizes_and_tensors(self):
        torch._check_is_size(0)
        self.assertRaises(RuntimeError, torch._check_is_size, -1)
        self.assertRaises(RuntimeError, torch._check_is_size, 3, max=2)
        torch._check_tensor_all(torch.ones(2).bool())
        self.assertRaises(RuntimeError, torch._check_tensor_all, torch.tensor([True, False]))
        self.assertRaises(TypeError, torch._check_tensor_all, torch.ones(2))
        self.assertRaises(AssertionError, torch._assert, False, "no")


class Modules(unittest.TestCase):
    def test_attributes_of_dictionaries_and_slots(self):
        class Slotted:
            __slots__ = ("__dict__", "kept")

        made = torch._utils._set_obj_state(Slotted(), ({"a": 1}, {"kept": 2}))
        self.assertEqual((made.a, made.kept), (1, 2))
        self.assertEqual(vars(torch._utils._set_obj_state(made, {"a": 3})), {"a": 3})
        with self.assertRaisesRegex(RuntimeError, "expected a pair .* got 3"):
            torch._utils._set_obj_state(made, (1, 2, 3))

    def test_other_parameters_for_a_while(self):
        layer, weight = torch.nn.Linear(2, 1, bias=False), torch.tensor([[1.0, 2.0]])
        own, swap = layer.weight, torch.nn.utils.stateless._reparametrize_module
        with swap(layer, {"weight": weight}):
            self.assertIs(layer.weight, weight)
            self.assertEqual(layer(torch.tensor([3.0, 4.0])).tolist(), [11.0])
        self.assertIs(layer.weight, own)
        with self.assertRaisesRegex(RuntimeError, "other"), swap(layer, {"other": weight}, strict=True):
            pass
        self.assertIs(layer.weight, own)


class Operators(unittest.TestCase):
    def test_shapes_and_memory(self):
        x = torch.ones(2, 0, 3)
        self.assertEqual(torch._shape_as_tensor(x).tolist(), [2, 0, 3])
        self.assertEqual((torch._shape_as_tensor(torch.ones(())).shape, torch._shape_as_tensor(x).dtype), ((0,), torch.int64))
        y = torch.arange(3)
        self.assertTrue(torch.equal(torch.ops.aten._pin_memory(y), y) and torch.ops.aten._pin_memory(y).data_ptr() != y.data_ptr())

    def test_assertions(self):
        torch._assert_async(torch.tensor(3.0))
        torch._assert_async(torch.tensor([True]), "fine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            torch._assert_async(torch.tensor(0), "mine")
        self.assertRaises(RuntimeError, torch._assert_async, torch.tensor(False))
        self.assertRaises(RuntimeError, torch._assert_async, torch.ones(2))

    def test_rows_and_pointers(self):
        rows, columns = torch.tensor([0, 0, 2, 3, 3]), torch.tensor([1, 2, 0, 0, 3])
        pointers = torch._convert_indices_from_coo_to_csr(rows, 5)
        self.assertEqual(pointers.tolist(), [0, 2, 2, 3, 5, 5])
        self.assertEqual(torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype, torch.int32)
        self.assertEqual(torch._convert_indices_from_csr_to_coo(pointers, columns).tolist(), [rows.tolist(), columns.tolist()])
        self.assertEqual(torch._convert_indices_from_csr_to_coo(pointers, columns, transpose=True).tolist(), [columns.tolist(), rows.tolist()])
        self.assertEqual(torch._convert_indices_from_coo_to_csr(rows[:0], 2).tolist(), [0, 0, 0])
        self.assertRaises(RuntimeError, torch._convert_indices_from_coo_to_csr, rows[None], 5)

    def test_methods_of_aten(self):
        aten, x = torch.ops.aten, torch.ones(2, requires_grad=True)
        self.assertFalse(aten.detach.default(x).requires_grad)
        self.assertEqual((aten._local_scalar_dense(torch.tensor(3)), aten.sym_size.int(x, 0), aten.detach.overloads()), (3, 2, ["default"]))
        self.assertRaises(AttributeError, lambda: aten.detach.no)
        ones = torch.ones(2, 3)
        for dense in (ones, ones.t(), ones[1:], torch.ones(()), torch.ones(0, 3), torch.empty_strided((2, 1), (1, 7))):
            self.assertIs(aten.is_non_overlapping_and_dense.default(dense), True)
        for other in (ones[:, ::2], torch.ones(3).expand(2, 3), torch.empty_strided((2, 2), (1, 1))):
            self.assertIs(aten.is_non_overlapping_and_dense.default(other), False)
        self.assertRaises(OSError, torch.ops.load_library, "/nowhere/lib.so")


class Arrays(unittest.TestCase):
    def test_leaves_become_arrays_where_no_gradients_are_recorded(self):
        x = torch.ones(3, requires_grad=True)
        self.assertRaises(RuntimeError, x.numpy)
        with torch.no_grad():
            self.assertEqual((x.numpy().tolist(), x.view(-1).cpu().numpy().sum()), ([1, 1, 1], 3))


class Transforms(unittest.TestCase):
    def test_vmap_tells_that_it_runs(self):
        active, seen = torch._C._are_functorch_transforms_active, []
        torch.vmap(lambda x: (seen.append(active()), x)[1])(torch.ones(2))
        self.assertEqual((seen, active()), ([True], False))


class Trees(unittest.TestCase):
    def test_paths(self):
        tree = torch.utils._pytree
        self.assertEqual(
            [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path({"a": (1, [2]), "b": 3})],
            [("['a'][0]", 1), ("['a'][1][0]", 2), ("['b']", 3)],
        )
        self.assertEqual(tree.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, [2]], [10, [20]]), [(1, 11), [(2, 22)]])
        self.assertTrue(dict in tree.SUPPORTED_NODES and int not in tree.SUPPORTED_NODES)

        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        tree.register_pytree_node(
            Pair,
            lambda p: ([p.a, p.b], None),
            lambda c, _: Pair(*c),
            flatten_with_keys_fn=lambda p: ([(tree.GetAttrKey("a"), p.a), (tree.GetAttrKey("b"), p.b)], None),
        )
        self.assertEqual([tree.keystr(path) for path, _ in tree.tree_leaves_with_path([Pair(1, 2)])], ["[0].a", "[0].b"])
        path, leaf = tree.tree_leaves_with_path([Pair(1, 2)])[1]
        self.assertEqual(path[1].get(path[0].get([Pair(1, leaf)])), 2)


class Paths(unittest.TestCase):
    def test_classes_are_in_the_modules_that_pytorch_documents(self):
        for module, name in (("nn.modules.activation", "MultiheadAttention"), ("nn.modules.linear", "NonDynamicallyQuantizableLinear"), ("nn.modules.module", "_addindent"),
                             ("nn.modules.linear_cross_entropy_options", "LinearCrossEntropyOptions"), ("nn.parallel.scatter_gather", "gather"),
                             ("utils.benchmark.utils.timer", "Timer"), ("functional", "einsum"), ("_tensor", "Tensor"), ("utils.model_zoo", "load_url"), ("cuda.random", "manual_seed"),
                             ("optim.optimizer", "ParamsT"), ("utils.data.dataloader", "_MultiProcessingDataLoaderIter"), ("_jit_internal", "_copy_to_script_wrapper")):  # fmt: skip
            with self.subTest(f"{module}.{name}"):
                self.assertIsNotNone(getattr(importlib.import_module(f"cresset.{module}"), name))
        self.assertIs(importlib.import_module("cresset.nn.modules.activation").MultiheadAttention, torch.nn.MultiheadAttention)

    def test_indented_text(self):
        self.assertEqual(torch.nn.modules.module._addindent("a\nb\nc", 2), "a\n  b\n  c")

    def test_vectors_of_tensors(self):
        utils, parts = importlib.import_module("cresset._utils"), [torch.ones(2, 2), torch.zeros(3)]
        flat = utils._flatten_dense_tensors(parts)
        self.assertEqual(flat.shape, (7,))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(utils._unflatten_dense_tensors(flat, parts), parts)))
        self.assertEqual(
            (utils._get_device_index("cuda:1"), utils._get_device_index(torch.device("cpu"), allow_cpu=True), utils._element_size(torch.float64)), (1, -1, 8)
        )

    def test_steps_that_are_differentiable(self):
        from cresset.optim.optimizer import Optimizer, _use_grad_for_differentiable

        class Mine(Optimizer):
            @_use_grad_for_differentiable
            def step(self, closure=None):
                return torch.is_grad_enabled()

        p = [torch.ones(1, requires_grad=True)]
        self.assertEqual((Mine(p, {"differentiable": True}).step(), Mine(p, {}).step()), (True, False))


class OfLibraries(unittest.TestCase):
    def test_strides_and_formats(self):
        from cresset._prims_common import make_contiguous_strides_for, suggest_memory_format

        for shape in ((), (3,), (2, 3), (0, 3), (2, 3, 4)):
            self.assertEqual(make_contiguous_strides_for(shape), torch.empty(shape).stride())
            if len(shape) > 1 and 0 not in shape:
                self.assertEqual(make_contiguous_strides_for(shape, row_major=False), torch.empty(shape).mT.contiguous().mT.stride())
        images = torch.ones(2, 3, 4, 4)
        self.assertIs(suggest_memory_format(images), torch.contiguous_format)
        self.assertIs(suggest_memory_format(images.to(memory_format=torch.channels_last)), torch.channels_last)
        self.assertIs(suggest_memory_format(torch.ones(2, 1, 4, 4)), torch.contiguous_format)

    def test_dtypes_of_complex_numbers_and_their_parts(self):
        from cresset._prims_common import corresponding_complex_dtype, corresponding_real_dtype

        for real in (torch.float16, torch.float32, torch.float64):
            self.assertIs(corresponding_complex_dtype(real), real.to_complex())
            self.assertIs(corresponding_real_dtype(real.to_complex()), real)
        self.assertIs(corresponding_complex_dtype(torch.bfloat16), torch.complex64)
        with self.assertRaises(KeyError):
            corresponding_complex_dtype(torch.int64)

    def test_a_subclass_answers_whether_it_takes_memory(self):
        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__

        self.assertEqual(torch._has_compatible_shallow_copy_type(torch.ones(1).as_subclass(Mine), torch.ones(1)), "_has_compatible_shallow_copy_type")
        self.assertIs(torch._has_compatible_shallow_copy_type(torch.eye(2).to_sparse(), torch.eye(3).to_sparse()), True)
        self.assertIs(torch._has_compatible_shallow_copy_type(torch.eye(2).to_sparse(), torch.eye(3)), False)

    def test_warnings_that_are_given_once(self):
        from cresset._dynamo.utils import warn_once

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for text in ("first", "second", "first"):
                warn_once(text)
        self.assertEqual([str(w.message) for w in seen], ["first", "second"])

    def test_values_in_a_dtype(self):
        from cresset._prims_common.wrappers import _maybe_convert_to_dtype as convert

        self.assertEqual((convert(torch.ones(2), torch.int32).dtype, convert(True, torch.float64), convert(None, torch.int32)), (torch.int32, 1.0, None))
        self.assertEqual(convert([2, torch.ones(1)], torch.float64), (2.0, torch.ones(1, dtype=torch.float64)))
        self.assertRaisesRegex(TypeError, "got a str", convert, "a", torch.int32)

    def test_names_that_live_elsewhere(self):
        from cresset._C import Tag
        from cresset._inductor.decomposition import register_decomposition
        from cresset._library.infer_schema import infer_schema

        self.assertIs(Tag, torch.Tag)
        self.assertIs(register_decomposition, torch._decomp.register_decomposition)
        self.assertIs(infer_schema, torch.library.infer_schema)


class Steps(unittest.TestCase):
    """The steps of `vmap`, for containers of tensors with a batch of their own."""

    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    def setUp(self):
        self.steps = importlib.import_module("cresset._functorch.vmap")
        saved = {name: getattr(self.steps, name) for name in ("_process_batched_inputs", "_create_batched_inputs", "_unwrap_batched")}
        self.addCleanup(lambda: [setattr(self.steps, name, function) for name, function in saved.items()])
        self.saved = saved

    def of_pairs(self):
        steps, Pair = self.steps, self.Pair

        def process(in_dims, args, func):
            return len(args[0].first), [0], list(args), None

        def create(dims, leaves, level, spec):
            pair = leaves[0]
            return (Pair(steps._add_batch_dim(pair.first, 0, level), steps._add_batch_dim(pair.second, 0, level)),)

        def unwrap(output, out_dims, level, size, func):
            return Pair(*(steps._maybe_remove_batch_dim("f", t, level, size, out_dims) for t in (output.first, output.second)))

        steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = process, create, unwrap

    def test_a_program_brings_its_own(self):
        self.of_pairs()
        got = torch.vmap(lambda pair: self.Pair(pair.first.sum(), pair.second * 2))(self.Pair(torch.ones(3, 4), torch.arange(3)))
        self.assertEqual((got.first.tolist(), got.second.tolist()), ([4.0] * 3, [0, 2, 4]))

    def test_those_of_here_do_what_vmap_does(self):
        first = self.saved["_unwrap_batched"]
        x, y = torch.arange(12.0).reshape(3, 4), torch.arange(4.0)
        cases = [
            (lambda a, b: (a + b, {"s": a.sum()}), (0, None), (1, {"s": 0}), (x, y)),
            (lambda a, b: a * b, (1, 0), -1, (x, y)),
            (lambda a: a, ((0, None),), (0, None), ((x, 3),)),
        ]
        for chunk in (None, 2):
            for function, in_dims, out_dims, args in cases:

                def call(function=function, in_dims=in_dims, out_dims=out_dims, args=args, chunk=chunk):
                    return torch.vmap(function, in_dims, out_dims, chunk_size=chunk)(*args)

                expected = call()
                self.steps._unwrap_batched = lambda *given: first(*given)
                self.assertTrue(self.steps.are_replaced())
                got = call()
                self.steps._unwrap_batched = first
                for a, b in zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(expected), strict=True):
                    self.assertTrue(torch.equal(torch.as_tensor(a), torch.as_tensor(b)))

    def test_mistakes(self):
        first = self.saved["_unwrap_batched"]
        self.steps._unwrap_batched = lambda *given: first(*given)
        for error, call in (
            (ValueError, lambda: torch.vmap(lambda x, y: x)(torch.ones(2), torch.ones(3))),
            (ValueError, lambda: torch.vmap(lambda x: x, in_dims=None)(torch.ones(2))),
            (ValueError, lambda: torch.vmap(lambda x: 3)(torch.ones(2))),
            (ValueError, lambda: torch.vmap(lambda x: x, out_dims=None)(torch.ones(2))),
            (RuntimeError, lambda: torch.vmap(torch.rand_like)(torch.ones(2))),
        ):
            self.assertRaises(error, call)
        self.assertIsNone(torch._C._functorch.maybe_current_level())


class Elements(unittest.TestCase):
    def test_levels_by_hand(self):
        f = torch._C._functorch
        level = f._vmap_increment_nesting(3, "error")
        try:
            x = f._add_batch_dim(torch.arange(6).reshape(2, 3), 1, level)
            self.assertEqual((tuple(x.shape), f.maybe_get_bdim(x), f.maybe_get_level(x), f.maybe_current_level()), ((2,), 1, level, level))
            self.assertTrue(f.is_batchedtensor(x) and f.is_functorch_wrapped_tensor(x) and not f.is_functionaltensor(x))
            self.assertEqual((f._unwrap_batched(x, level)[1], f.maybe_get_bdim(f._add_batch_dim(torch.ones(2, 3), -1, level))), (1, 1))
            self.assertEqual(f.get_unwrapped(x).tolist(), [[0, 1, 2], [3, 4, 5]])
            self.assertEqual(f._remove_batch_dim(x + 1, level, 3, 0).tolist(), [[1, 4], [2, 5], [3, 6]])
            self.assertEqual(f._remove_batch_dim(torch.ones(2), level, 3, -1).tolist(), [[1.0] * 3] * 2)
        finally:
            self.assertEqual(f._vmap_decrement_nesting(), level)
        plain = torch.ones(1)
        self.assertEqual((f.maybe_get_bdim(plain), f.maybe_get_level(plain), f.is_batchedtensor(plain)), (-1, -1, False))
        self.assertRaises(RuntimeError, f.get_unwrapped, plain)
        self.assertRaises(RuntimeError, f._vmap_decrement_nesting)
        self.assertRaises(RuntimeError, f._vmap_increment_nesting, 2, "none")


class Contexts(unittest.TestCase):
    def test_decorated_functions_enter_contexts_of_their_own(self):
        from cresset.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator

        seen = []

        class Named(_DecoratorContextManager):
            def __init__(self, name):
                self.name = name

            def clone(self):
                return Named(self.name + "'")

            def __enter__(self):
                seen.append("+" + self.name)

            def __exit__(self, *_):
                seen.append("-" + self.name)

        class Plain(_NoParamDecoratorContextManager):
            __enter__, __exit__ = (lambda self: seen.append("in")), (lambda self, *_: seen.append("out"))

        self.assertEqual(Named("a")(lambda x: x + 1)(1), 2)

        @Named("g")
        def numbers():
            got = yield 1
            seen.append(got)

        steps = numbers()
        next(steps)
        seen.append("between")
        self.assertRaises(StopIteration, steps.send, "sent")
        Plain(lambda: seen.append("f"))()
        context_decorator(lambda: Named("c"), lambda: None)()
        self.assertEqual(seen, ["+a'", "-a'", "+g'", "-g'", "between", "+g'", "sent", "-g'", "in", "f", "out", "+c", "-c"])
        self.assertRaises(TypeError, context_decorator, Named("d"), lambda: None)
        self.assertRaises(NotImplementedError, _DecoratorContextManager().__enter__)
        self.assertIs(torch.autograd.grad_mode._DecoratorContextManager, _DecoratorContextManager)


class Members(unittest.TestCase):
    def setUp(self):
        from cresset.nn.utils import _named_member_accessor as members

        self.members, self.layer = members, torch.nn.Linear(2, 1)
        self.layer.register_buffer("count", torch.zeros(1))
        self.access = members.NamedMemberAccessor(torch.nn.Sequential(self.layer))

    def test_tensors_take_the_place_of_others_and_come_back(self):
        weight, other = self.layer.weight, torch.ones(1, 2)
        self.assertIs(self.access.swap_tensor("0.weight", other), weight)
        self.assertIs(self.layer.weight, other)
        self.assertIn("weight", self.layer._parameters)
        before, missing = self.access.swap_tensors_dict({"0.weight": weight, "0.new": other}, allow_missing=True)
        self.assertEqual((before["0.weight"] is other, missing, self.layer.new is other), (True, ["0.new"], True))
        self.access.del_tensors(["0.new", "0.count"])
        self.assertEqual((hasattr(self.layer, "new"), hasattr(self.layer, "count")), (False, False))
        self.assertEqual(self.access.check_keys(["0.weight", "x"]), (["0.bias"], ["x"]))
        self.access.set_tensors_dict({"0.bias": None})
        self.assertIsNone(self.access.get_tensor("0.bias"))
        relu = torch.nn.ReLU()
        self.assertIs(self.access.swap_submodule("0", relu), self.layer)
        self.assertIs(self.access.get_submodule("0"), relu)

    def test_mistakes_change_nothing(self):
        weight = self.layer.weight
        for error, call in (
            (AttributeError, lambda: self.access.get_tensor("1.weight")),
            (AttributeError, lambda: self.members.swap_tensor(self.layer, "absent", weight)),
            (KeyError, lambda: self.members.swap_tensor(self.layer, "a.b", weight)),
            (KeyError, lambda: self.members.swap_tensor(self.layer, "", weight)),
            (TypeError, lambda: self.access.swap_tensor("0.weight", 3)),
            (TypeError, lambda: self.access.swap_tensor("0.in_features", weight)),
            (TypeError, lambda: self.access.get_tensor("0.in_features")),
            (RuntimeError, lambda: self.access.swap_tensors_dict({"0.weight": torch.ones(1, 2), "0.absent": weight})),
            (ValueError, lambda: self.access.swap_tensors(["0.weight"], [])),
        ):
            self.assertRaises(error, call)
        self.assertIs(self.layer.weight, weight)
        self.assertFalse(hasattr(self.layer, "absent"))


class TypesOfScripts(unittest.TestCase):
    def test_they_are_names_of_the_package_too(self):
        for name in ("Type", "TupleType", "FutureType", "RRefType", "ListType"):
            self.assertIs(getattr(torch, name), getattr(torch._C, name))


class ForwardMode(unittest.TestCase):
    def test_the_level_that_is_open(self):
        forward_ad = torch.autograd.forward_ad
        seen = [forward_ad._current_level]
        with forward_ad.dual_level():
            seen.append(forward_ad._current_level)
        self.assertEqual([*seen, forward_ad._current_level], [-1, 0, -1])


class ForLibraries(unittest.TestCase):
    def test_convolutions_with_flags(self):
        x, w, b = torch.randn(1, 2, 5), torch.randn(3, 2, 2), torch.randn(3)
        expected = torch.nn.functional.conv1d(x, w, b, 2, 1)
        geometry = ([2], [1], [1], False, [0], 1)
        self.assertTrue(torch.equal(torch._convolution(x, w, b, *geometry, False, False, True, True), expected))
        self.assertTrue(torch.equal(torch.ops.aten._convolution.deprecated(x, w, b, *geometry, False, False, True), expected))
        out = torch.empty(0)
        self.assertIs(torch.ops.aten._convolution.out(x, w, b, *geometry, False, False, True, True, out=out), out)
        self.assertTrue(torch.equal(out, expected))

    def test_exceptions_from_elsewhere(self):
        class Pair(Exception):
            def __init__(self, first, second):
                super().__init__(first)

        def raised(error):
            try:
                raise error
            except Exception:
                wrapper = torch._utils.ExceptionWrapper(where="in thread 2")
            with self.assertRaises(Exception) as caught:
                pickle.loads(pickle.dumps(wrapper)).reraise() if type(error).__module__ == "builtins" else wrapper.reraise()
            return caught.exception

        for error, kind in ((ZeroDivisionError("no"), ZeroDivisionError), (KeyError("a"), KeyError), (Pair(1, 2), RuntimeError)):
            found = raised(error)
            self.assertIs(type(found), kind)
            self.assertRegex(str(found), rf"^Caught {type(error).__name__} in thread 2\.\nOriginal Traceback")

    def test_modes_of_fake_tensors(self):
        active_fake_mode, detect_fake_mode = torch._guards.active_fake_mode, torch._guards.detect_fake_mode

        modes = [torch._subclasses.FakeTensorMode() for _ in range(2)]
        fakes = []
        for mode in modes:
            with mode:
                fakes.append(torch.ones(1))
                self.assertIs(active_fake_mode(), mode)
        self.assertIsNone(active_fake_mode())
        self.assertIs(detect_fake_mode([{"a": fakes[0]}, 3]), modes[0])
        self.assertIsNone(detect_fake_mode(torch.ones(1)))
        self.assertRaises(AssertionError, detect_fake_mode, fakes)

    def test_casts_and_copies_take_numbers(self):
        self.assertEqual(torch.ops.aten._to_copy.default(2, dtype=torch.float64).dtype, torch.float64)
        self.assertEqual(torch.ops.aten.copy_.default(torch.zeros(2), 3).tolist(), [3, 3])
        with self.assertRaisesRegex(RuntimeError, "expected Tensor, got int"):
            torch.ops.aten.sin.default(2)

    def test_others(self):
        names = {}
        exec("from cresset import *", names)
        for name in ("save", "load", "compile", "autocast", "nonzero", "Tensor", "float32", "no_grad", "manual_seed"):
            self.assertIs(names[name], getattr(torch, name), name)
        self.assertFalse({"nn", "_C", "functional"} & names.keys())
        self.assertIs(importlib.import_module("cresset._functorch.apis").vmap, torch.func.vmap)
        self.assertIs(importlib.import_module("cresset._functorch.eager_transforms").vjp, torch.func.vjp)
        self.assertIs(torch._C.TensorBase, torch.Tensor)
        self.assertIs(torch._disable_dynamo, torch.compiler.disable)
        self.assertIs(type(torch.optim.optimizer.StateDict()), dict)
        self.assertEqual(torch.sparse.SparseSemiStructuredTensor._DEFAULT_ALG_ID, 0)
        self.assertFalse(torch._C._is_tracing())
        found = []
        torch.jit.trace(lambda x: (found.append(torch._C._is_tracing()), x + 1)[1], torch.ones(1), check_trace=False)
        self.assertEqual(found, [True])
        x = torch.ones(3)
        self.assertTrue(torch._C._is_alias_of(x, x[1:]))
        self.assertFalse(torch._C._is_alias_of(x, x.clone()))
        self.assertIsInstance(x.untyped_storage(), torch.StorageBase)
        self.assertIs(type(torch.nn.Parameter), torch.nn.parameter._ParameterMeta)
        self.assertIn((torch.distributions.Normal, torch.distributions.Normal), torch.distributions.kl._KL_REGISTRY)
        self.assertRaises(RuntimeError, torch.distributed.rpc.api._require_initialized(lambda: 1))
        self.assertIs(torch._utils._get_device_module("cpu"), torch.cpu)
        self.assertRaises(RuntimeError, torch._utils._get_device_module, "none")
        self.assertTrue(torch.utils.data._utils.collate.np_str_obj_array_pattern.match("O"))
        # PyTorch 2.13's numbers.
        self.assertEqual(torch.utils.data._utils.worker._generate_state(1234567890123, 3), [911343142, 720453872, 3335628216, 1002736992])

    def test_functions_take_attributes(self):
        for function in (torch.nn.functional.tanh, torch.nn.functional.sigmoid, torch.nn.functional.relu):
            function.__default_init__ = torch.nn.init.xavier_uniform_
            self.assertIs(function.__default_init__, torch.nn.init.xavier_uniform_)
            self.assertIn("__default_init__", vars(function))
            self.assertIs(functools.wraps(function)(lambda x: x).__default_init__, torch.nn.init.xavier_uniform_)
            del function.__default_init__
            self.assertFalse(hasattr(function, "__default_init__"))
        with self.assertRaises(AttributeError):
            torch.Tensor.tanh.note = 1

    def test_texts_of_tensors(self):
        x, text = torch.arange(2), torch._tensor_str
        self.assertEqual(text._tensor_str(x, 6), "[0, 1]")
        self.assertEqual(text._add_suffixes("Index([0, 1]", ["size=2", "sorted"], 6, force_newline=False), "Index([0, 1], size=2, sorted)")
        self.assertEqual(text._add_suffixes("Index([0, 1]", ["size=2"], 6, force_newline=True), "Index([0, 1],\n      size=2)")
        self.assertEqual(text._str_intern(x, tensor_contents="[mine]"), "tensor([mine])")

    def test_profiles_that_are_not_running(self):
        self.assertFalse(torch.autograd._profiler_enabled())
        self.assertIs(torch.profiler.profiler._default_schedule_fn(3), torch.profiler.ProfilerAction.RECORD)
        torch.profiler.profile().start()  # and is forgotten
        self.assertTrue(torch.autograd._profiler_enabled())
        for _ in range(2):
            torch.autograd._disable_profiler()
            self.assertFalse(torch.autograd._profiler_enabled())

    def test_bytes_become_storages(self):
        self.assertEqual(torch.ByteTensor(torch.ByteStorage._from_buffer(b"abc")).tolist(), [97, 98, 99])

    def test_asked_for_by_libraries(self):
        self.assertFalse(torch._C._functorch.is_legacy_batchedtensor(torch.ones(1)))
        self.assertIsNone(torch.jit._recursive.concrete_type_store.type_store.pop(torch.nn.Linear, None))


if __name__ == "__main__":
    unittest.main()
