"""Objects of tensors: identity, life, subclasses, copies; modes; the small types."""

import copy
import gc
import pickle
import unittest
import weakref

import _cresset

import cresset as torch


class Plain(torch.Tensor):
    """A subclass that takes no calls over."""

    __torch_function__ = _cresset._disabled_torch_function_impl


class Follows(torch.Tensor):
    """A subclass that operators keep."""


def plain(data, requires_grad=False):
    return torch.Tensor._make_subclass(Plain, data, requires_grad)


class Life(unittest.TestCase):
    def test_a_tensor_has_one_object(self):
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        self.assertIs(x.grad, x.grad)
        self.assertIs(x[0]._base, x)

    def test_state_outlives_the_last_reference_while_the_graph_holds_the_tensor(self):
        leaf = plain(torch.ones(2), True)
        leaf.mark = "kept"
        ref, loss = weakref.ref(leaf), (leaf * leaf).sum()
        del leaf
        gc.collect()
        self.assertEqual(ref().mark, "kept")
        self.assertIs(type(ref()), Plain)
        del loss
        gc.collect()
        self.assertIsNone(ref())

    def test_an_object_reached_again_outlives_the_graph(self):
        leaf = plain(torch.ones(2), True)
        ref, loss = weakref.ref(leaf), (leaf * leaf).sum()
        del leaf
        again = ref()
        del loss
        gc.collect()
        self.assertEqual(again.tolist(), [1, 1])
        for _ in range(2):  # it may be kept and reached more than once
            loss = (again * again).sum()
        del again, loss
        gc.collect()
        self.assertIsNone(ref())

    def test_cycles_through_attributes_are_collected(self):
        x = torch.ones(2)
        x.self = x
        ref = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(ref())

    def test_objects_do_not_leak(self):
        def run():
            x = plain(torch.ones(3), True)
            x.note = [1]
            y = x.detach().clone().requires_grad_()
            y.other = x
            (x * y).sum().backward()
            return x.grad, copy.deepcopy(y)

        run()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(50):
            run()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 20)


class Subclasses(unittest.TestCase):
    def test_results_of_a_class_that_declines_are_tensors(self):
        self.assertIs(type(plain(torch.ones(2)) * 2), torch.Tensor)

    def test_make_subclass_shares_memory_and_leaves_the_graph(self):
        x = torch.ones(2, requires_grad=True)
        y = plain(x * 2, True)
        self.assertTrue(y.is_leaf and y.requires_grad)
        data = torch.zeros(2)
        plain(data).add_(1)
        self.assertEqual(data.tolist(), [1, 1])

    def test_as_subclass_keeps_the_graph(self):
        x = torch.ones(2, requires_grad=True)
        y = (x * 3).as_subclass(Plain)
        self.assertIs(type(y), Plain)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 3])


class Copies(unittest.TestCase):
    def test_deepcopy_keeps_sharing_class_gradient_and_attributes(self):
        base = torch.zeros(4)
        a, b = copy.deepcopy([base, base[1:]])
        a[1] = 5
        self.assertEqual(b.tolist(), [5, 0, 0])
        x = plain(torch.ones(2), True)
        x.note = {"k": [1]}
        x.grad = torch.ones(2)
        y = copy.deepcopy(x)
        self.assertEqual((type(y), y.note, y.grad.tolist(), y.requires_grad), (Plain, {"k": [1]}, [1, 1], True))
        self.assertIsNot(y.note, x.note)
        with self.assertRaises(RuntimeError):
            copy.deepcopy(x * 2)

    def test_pickle_keeps_strides_sharing_and_requires_grad(self):
        x = torch.arange(6.0).reshape(2, 3).t()
        a, b = pickle.loads(pickle.dumps((x, x[0])))
        self.assertEqual((a.stride(), a.tolist()), (x.stride(), x.tolist()))
        a[0, 1] = 9
        self.assertEqual(b.tolist(), [0, 9])
        self.assertTrue(pickle.loads(pickle.dumps(torch.ones(1, requires_grad=True))).requires_grad)
        for o in (torch.float16, torch.device("cpu"), torch.Size([1, 2]), torch.strided, torch.channels_last):
            self.assertEqual(pickle.loads(pickle.dumps(o)), o)


class Properties(unittest.TestCase):
    def test_grad_is_checked(self):
        x = torch.ones(2, requires_grad=True)
        for wrong, error in ((torch.ones(3), RuntimeError), (torch.ones(2, dtype=torch.float64), RuntimeError), (1, TypeError), (x, RuntimeError)):
            with self.assertRaises(error):
                x.grad = wrong
        x.grad = torch.ones(2)
        x.grad = None
        self.assertIsNone(x.grad)

    def test_data_shares_memory_without_history(self):
        x = torch.ones(2, requires_grad=True)
        version = x._version
        x.data.add_(1)
        self.assertEqual((x.tolist(), x._version, x.data.requires_grad), ([2, 2], version, False))
        x.data = torch.zeros(3)
        self.assertEqual((x.shape, x.requires_grad), ((3,), True))

    def test_set_looks_at_other_memory(self):
        x, source = torch.ones(3), torch.arange(6.0)
        self.assertIs(x.set_(source.untyped_storage(), 1, (2, 2), (2, 1)), x)
        self.assertEqual(x.tolist(), [[1, 2], [3, 4]])
        x.fill_(0)
        self.assertEqual(source.tolist(), [0, 0, 0, 0, 0, 5])

    def test_conversions_and_their_errors(self):
        x = torch.tensor(3)
        self.assertEqual((int(x), float(x), bool(x), [1, 2, 3, 4][x], complex(x)), (3, 3.0, True, 4, 3 + 0j))
        for error, call in (
            (RuntimeError, lambda: bool(torch.ones(2))), (ValueError, lambda: float(torch.ones(2))), (TypeError, lambda: [1][torch.tensor(0.0)]),
            (TypeError, lambda: len(x)), (TypeError, lambda: iter(x)), (RuntimeError, lambda: torch.empty(0).item()),
            (RuntimeError, lambda: setattr(x, "requires_grad", 1)), (RuntimeError, lambda: setattr(x, "requires_grad", True)),
        ):  # fmt: skip
            with self.assertRaises(error):
                call()


class Modes(unittest.TestCase):
    def test_as_contexts_and_decorators(self):
        x = torch.ones(1, requires_grad=True)

        @torch.no_grad
        def bare():
            return (x * 2).requires_grad

        @torch.set_grad_enabled(False)
        def off():
            return (x * 2).requires_grad

        @torch.inference_mode()
        def inference():
            return (x * 2).is_inference()

        self.assertEqual((bare(), off(), inference(), torch.is_grad_enabled()), (False, False, True, True))
        with torch.no_grad(), torch.enable_grad():
            self.assertTrue((x * 2).requires_grad)
        torch.set_grad_enabled(False)
        self.assertFalse(torch.is_grad_enabled())
        torch.set_grad_enabled(True)

    def test_inference_tensors_are_not_changed_outside_inference_mode(self):
        changes = (
            lambda t: t.copy_(torch.ones(1)), lambda t: t.fill_(1), lambda t: t.zero_(), lambda t: t.resize_(2), lambda t: t.unsqueeze_(0),
            lambda t: t.squeeze_(), lambda t: t.t_(), lambda t: t.mul_(2), lambda t: t.uniform_(), lambda t: t.index_fill_(0, torch.tensor([0]), 1),
            lambda t: torch.sum(torch.ones(1, 2), 1, out=t),
        )  # fmt: skip
        for number, change in enumerate(changes):
            with torch.inference_mode():
                tensor = torch.zeros(1)
                change(torch.zeros(1))
            with self.subTest(number), self.assertRaisesRegex(RuntimeError, "inference"):
                change(tensor)
            self.assertEqual((tensor.shape, tensor.item()), ((1,), 0))

    def test_nor_are_those_of_other_layouts_or_with_other_data(self):
        with torch.inference_mode():
            dense = torch.eye(2)
            tensors = dense, dense.to_sparse(), dense.to_sparse_csr(), dense.to_mkldnn()
        dense.data = torch.zeros(2)
        for t in tensors:
            with self.subTest(layout=t.layout), self.assertRaisesRegex(RuntimeError, "inference"):
                t.zero_()

    def test_what_is_detached_from_an_inference_tensor_outside_may_be_changed(self):
        with torch.inference_mode():
            tensor = torch.zeros(2)
            within = tensor.detach(), tensor.data
        for t in within:
            with self.assertRaisesRegex(RuntimeError, "inference"):
                t.fill_(1)
        for number, t in enumerate((tensor.detach(), tensor.data)):
            self.assertTrue(t.is_inference())
            t.add_(1)
            torch.mul(t, 1, out=t)
            self.assertEqual((t.tolist(), tensor.tolist()), ([number + 1] * 2,) * 2)

    def test_generators_switch_at_every_step(self):
        @torch.no_grad()
        def steps():
            got = yield torch.is_grad_enabled()
            try:
                yield got, torch.is_grad_enabled()
            except KeyError:
                yield "caught", torch.is_grad_enabled()

        g = steps()
        self.assertFalse(next(g))
        self.assertTrue(torch.is_grad_enabled())
        self.assertEqual(g.send(7), (7, False))
        self.assertEqual(g.throw(KeyError), ("caught", False))
        self.assertTrue(torch.is_grad_enabled())

    def test_random_state(self):
        state = torch.get_rng_state()
        a = torch.rand(3)
        torch.set_rng_state(state)
        self.assertEqual(torch.rand(3).tolist(), a.tolist())
        g = torch.Generator().manual_seed(5)
        h = g.clone_state()
        self.assertEqual(torch.rand(2, generator=g).tolist(), torch.rand(2, generator=h).tolist())
        with self.assertRaises(TypeError):
            g.set_state(torch.ones(3))


class SmallTypes(unittest.TestCase):
    def test_size(self):
        s = torch.Size([2, 3, 4])
        self.assertEqual((s.numel(), s[1:], repr(s)), (24, (3, 4), "torch.Size([2, 3, 4])"))
        for result in (s[1:], s + (1,), (1,) + s, s * 2, torch.ones(2).shape):
            self.assertIs(type(result), torch.Size)
        with self.assertRaises(TypeError):
            torch.Size([1.5])

    def test_limits(self):
        self.assertEqual(str(torch.finfo(torch.float32)), "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
                         "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)")  # fmt: skip
        self.assertEqual((torch.iinfo(torch.int8).min, torch.iinfo(torch.uint64).max), (-128, 2**64 - 1))
        with self.assertRaises(TypeError):
            torch.finfo(torch.int8)


class Unknown:
    def __rmul__(self, other):
        return "rmul"

    def __rtruediv__(self, other):
        return "rtruediv"


class OtherTypes(unittest.TestCase):
    def test_operators_leave_unknown_types_to_them(self):
        x = torch.ones(1)
        for name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul lt le gt ge eq ne".split():
            self.assertIs(getattr(x, f"__{name}__")(object()), NotImplemented, name)
        self.assertEqual((x * Unknown(), x / Unknown()), ("rmul", "rtruediv"))

    def test_parts_of_complex_numbers_are_set_to_numbers(self):
        x = torch.ones(2, dtype=torch.complex64)
        x.real = 0
        x.imag = 3.5
        self.assertEqual(x.tolist(), [3.5j, 3.5j])

    def test_whole_numbers_are_devices(self):
        x = torch.ones(1)
        for place in (lambda d: x.to(d), lambda d: x.to(device=d), lambda d: torch.ones(1, device=d), lambda d: torch.zeros_like(x, device=d)):
            with self.assertRaisesRegex(RuntimeError, "device cuda"):
                place(0)
            with self.assertRaises(RuntimeError):
                place(-1)
        self.assertRaises(TypeError, lambda: torch.ones(1, device=True))
        self.assertIs(x.to("cpu", True), x)

    def test_objects_that_exchange_their_memory(self):
        class Exchanged:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **named):
                return self.tensor.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        x = torch.ones(2)
        self.assertNotEqual(torch.tensor(Exchanged(x)).data_ptr(), x.data_ptr())
        self.assertEqual(torch.as_tensor(Exchanged(x)).data_ptr(), x.data_ptr())
        with self.assertRaises(TypeError):
            x.__dlpack__(stream=object())

    def test_iteration_keeps_the_class(self):
        class Mine(torch.Tensor):
            pass

        self.assertEqual([type(part) for part in torch.ones(2).as_subclass(Mine)], [Mine, Mine])

    def test_text_of_a_parameter_of_a_class_of_the_users(self):
        class Mine(torch.Tensor):
            pass

        self.assertEqual(repr(torch.nn.Parameter(torch.ones(1).as_subclass(Mine))), "Parameter(Mine([1.], requires_grad=True))")


class Kinds(unittest.TestCase):
    def test_only_fractions_have_a_complex_dtype(self):
        pairs = {torch.float16: torch.complex32, torch.bfloat16: torch.complex64, torch.float64: torch.complex128, torch.complex64: torch.complex64}
        for dtype, expected in pairs.items():
            self.assertIs(dtype.to_complex(), expected)
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int64, torch.uint16, torch.float8_e5m2):
            with self.assertRaisesRegex(RuntimeError, "complex"):
                dtype.to_complex()


class Settings(unittest.TestCase):
    def test_warnings_alone_are_remembered(self):
        self.addCleanup(torch.use_deterministic_algorithms, False)
        torch.use_deterministic_algorithms(False, warn_only=True)
        self.assertTrue(torch.is_deterministic_algorithms_warn_only_enabled())

    def test_none_leaves_a_flag(self):
        with torch.backends.cudnn.flags(enabled=None):
            self.assertTrue(torch.backends.cudnn.enabled)

    def test_a_process_that_is_not_seeded_draws_other_numbers(self):
        import subprocess
        import sys

        run = lambda: subprocess.run(
            [sys.executable, "-c", "import cresset as t; print(t.initial_seed(), t.rand(1).item())"], capture_output=True, check=True
        ).stdout  # noqa: E731
        self.assertNotEqual(run(), run())
        self.assertEqual(torch.Generator().initial_seed(), 67280421310721)

    def test_futures_take_the_type_of_their_value(self):
        future = torch.futures.Future[torch.Tensor]()
        future.set_result(1)
        self.assertEqual(future.wait(), 1)

    def test_copies_of_operators_are_the_operators(self):
        import copy

        self.assertIs(copy.deepcopy(torch.ops.aten.add), torch.ops.aten.add)
        self.assertIs(copy.deepcopy(torch.ops.aten.add.Tensor), torch.ops.aten.add.Tensor)

    def test_results_written_to_out_have_types_of_their_own(self):
        found = torch.max(torch.ones(2, 2), 0, out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))
        self.assertIsInstance(found, torch.return_types.max_out)

    def test_the_old_constructor_takes_sizes_by_name_and_no_other_device(self):
        self.assertEqual(torch.Tensor(size=(2, 3)).shape, (2, 3))
        with self.assertRaises(RuntimeError):
            torch.Tensor(2, device="meta")

    def test_nested_tensors_are_refused(self):
        with self.assertRaises(NotImplementedError):
            torch.empty(2, layout=torch.jagged)


if __name__ == "__main__":
    unittest.main()
