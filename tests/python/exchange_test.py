"""Tensors out of Python data, NumPy arrays, buffers and DLPack, and back. Expected values were taken from PyTorch 2.13."""

import copy
import io
import pickle
import unittest

import numpy as np

import cresset as torch


class Lists(unittest.TestCase):
    def test_numpy_takes_lists_of_tensors_apart(self):
        x = torch.arange(3)
        self.assertEqual(np.array([x, x + 1]).tolist(), [[0, 1, 2], [1, 2, 3]])
        self.assertEqual(np.asarray((x.numpy(), x)).shape, (2, 3))
        self.assertEqual(np.array([torch.tensor(1.0), torch.tensor(2.0)]).tolist(), [1, 2])


class Arrays(unittest.TestCase):
    def test_equality_takes_arrays_on_either_side(self):
        self.assertEqual((torch.tensor([1, 2]) == np.array([1, 3])).tolist(), [True, False])
        self.assertEqual((np.array([1, 3]) == torch.tensor([1, 2])).tolist(), [True, False])
        self.assertEqual((torch.tensor(2.5, dtype=torch.bfloat16) == np.array([1, 2])).tolist(), [False, False])
        with self.assertRaises(TypeError):
            torch.tensor([1, 2]) < np.array([1, 3])

    def test_an_empty_tensor_gives_an_array_without_strides(self):
        self.assertEqual(torch.zeros(2, 0).numpy().strides, (0, 0))
        self.assertEqual(torch.zeros(0, dtype=torch.complex128).numpy().dtype, np.complex128)

    def test_a_copied_array_keeps_the_order_of_the_strides(self):
        self.assertEqual(np.array(torch.zeros(1, 2).expand(2, -1)).strides, (4, 8))

    def test_asarray_of_a_tensor_keeps_its_gradient_unless_told_otherwise(self):
        x = torch.ones(2, requires_grad=True)
        torch.asarray(x, dtype=torch.float64).sum().backward()
        torch.asarray(x, copy=True).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])
        y = x * 2
        self.assertIs(torch.asarray(y), y)
        self.assertFalse(torch.asarray(y, requires_grad=False).requires_grad)
        self.assertFalse(torch.asarray(x, dtype=torch.float64, requires_grad=False).requires_grad)
        self.assertFalse(torch.asarray(torch.ones(2)).requires_grad)
        self.assertIs(torch.asarray(x, requires_grad=False), x)
        self.assertFalse(x.requires_grad)

    def test_asarray_copies_arrays_without_dimensions(self):
        for copied in (None, False):
            n = np.array(1.0)
            torch.asarray(n, copy=copied).add_(1)
            self.assertEqual(n, 1)
        with self.assertRaises(RuntimeError):
            torch.asarray(np.float64(1), copy=False)
        n = np.array(1.0)
        torch.as_tensor(n).add_(1)
        self.assertEqual(n, 2)

    def test_the_old_constructors_share_arrays_of_their_dtype(self):
        n = np.zeros((2, 2), dtype=np.float32)[..., ::2]
        x = torch.Tensor(n)
        x += 1
        self.assertEqual(x.stride(), (2, 2))
        self.assertEqual(n.ravel().tolist(), [1, 1])
        torch.Tensor(np.zeros(2)).add_(1)

    def test_numpy_numbers_that_are_no_integers_do_not_become_truth_values(self):
        for number in (np.float16(0.1), np.float32(1.5), np.complex64(1)):
            with self.assertRaises(TypeError):
                torch.tensor([number], dtype=torch.bool)
        self.assertEqual(torch.tensor([np.uint8(200), np.bool_(False)], dtype=torch.bool).tolist(), [True, False])


class Buffers(unittest.TestCase):
    """The buffer protocol, which PyTorch's tensors lack."""

    def test_a_view_has_the_shape_and_the_memory_of_the_tensor(self):
        for dtype in (
            torch.bool,
            torch.uint8,
            torch.int8,
            torch.int16,
            torch.uint16,
            torch.int32,
            torch.uint32,
            torch.int64,
            torch.uint64,
            torch.float16,
            torch.float32,
            torch.float64,
        ):
            x = torch.arange(6).reshape(2, 3).to(dtype)
            view = memoryview(x)
            self.assertEqual((view.shape, view.itemsize, view.readonly), ((2, 3), x.element_size(), False))
            array = np.asarray(view)
            self.assertEqual((array.tolist(), array.dtype), (x.tolist(), x.numpy().dtype))
            array[1, 2] = 0
            self.assertEqual(x[1, 2], 0)
            self.assertEqual(np.frombuffer(x.T.contiguous(), x.numpy().dtype).tolist(), x.T.reshape(-1).tolist())
        for dtype in (torch.complex64, torch.complex128):
            self.assertEqual(np.asarray(memoryview(torch.tensor([1 + 2j], dtype=dtype))).tolist(), [1 + 2j])

    def test_strides_are_kept(self):
        x = torch.arange(12.0).reshape(3, 4)
        self.assertEqual(memoryview(x.T[::2]).strides, (8, 16))
        self.assertEqual(memoryview(x.T).tolist(), x.T.tolist())
        self.assertEqual(memoryview(x[0, 1]).shape, ())
        self.assertEqual(memoryview(torch.zeros(0, 3)).nbytes, 0)

    def test_readers_of_bytes_take_dense_tensors_only(self):
        x = torch.arange(4, dtype=torch.int16).reshape(2, 2)
        file = io.BytesIO()
        file.write(x)
        self.assertEqual(file.getvalue(), b"\0\0\1\0\2\0\3\0")
        with self.assertRaisesRegex(BufferError, "not contiguous"):
            file.write(x[:, 0])

    def test_what_does_not_lie_in_memory_is_refused(self):
        class Watched(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs or {})

        class Plain(torch.Tensor):
            pass

        x = torch.ones(2)
        refused = {
            "requires grad": x.clone().requires_grad_(),
            "as they are": torch.tensor([1j]).conj(),
            "format": x.bfloat16(),
            "methods of its own": x.as_subclass(Watched),
        }
        refused |= {"as they are ": x.to("meta"), " as they are": x.to_sparse()}
        for text, tensor in refused.items():
            with self.assertRaisesRegex(BufferError, text.strip()):
                memoryview(tensor)
        self.assertEqual(memoryview(x.as_subclass(Plain)).tolist(), [1, 1])
        self.assertEqual(x.as_subclass(Watched).numpy().tolist(), [1, 1])

    def test_wrappers_and_tensors_without_memory_do_not_crash(self):
        @torch.func.functionalize
        def exchanged(x):
            x = x * 2
            self.assertEqual((np.from_dlpack(x).tolist(), x.numpy().tolist()), ([2, 2], [2, 2]))
            self.assertRaises(BufferError, memoryview, x)
            return x

        exchanged(torch.ones(2))
        for tensor in (torch.ones(2, device="meta"), torch.ones(2).to_sparse()):
            for lend in (memoryview, torch.Tensor.__dlpack__):
                self.assertRaises(BufferError, lend, tensor)

        def batched(x):
            for lend in (memoryview, torch.Tensor.__dlpack__):
                self.assertRaises(BufferError, lend, x)
            self.assertRaisesRegex(RuntimeError, "storage", x.numpy)
            return x

        torch.func.vmap(batched)(torch.ones(2, 2))

    def test_bytes_stays_what_pytorch_makes_of_it(self):
        self.assertEqual([bytes(torch.tensor(v)) for v in ([1, 2], 3, [True], [])], [b"\1\2", b"\0\0\0", b"\0", b""])
        for value in (1.5, [1.0, 2.0]):
            with self.assertRaises(TypeError):
                bytes(torch.tensor(value))

    def test_lent_memory_stays_where_it_is(self):
        for lend in (memoryview, torch.Tensor.numpy, np.asarray, np.from_dlpack):
            x = torch.arange(3)
            lent = lend(x)
            with self.assertRaisesRegex(RuntimeError, "storage that is not resizable"):
                x.resize_(1000000)
            with self.assertRaisesRegex(RuntimeError, "storage that is not resizable"):
                x.untyped_storage().resize_(0)
            self.assertEqual((x.tolist(), lent.tolist()), ([0, 1, 2], [0, 1, 2]))
            del lent
            self.assertEqual(x.resize_(4)[:3].tolist(), [0, 1, 2])
        x = torch.arange(3)
        lent = memoryview(x)
        x.data = torch.zeros(1)
        del x
        self.assertEqual(lent.tolist(), [0, 1, 2])


def needs_numpy(version, reason):
    return unittest.skipIf(np.lib.NumpyVersion(np.__version__) < version, f"NumPy before {version} {reason}")


class DLPack(unittest.TestCase):
    def test_capsules_have_a_version_on_request(self):
        x = torch.arange(3)
        self.assertIn('"dltensor"', repr(x.__dlpack__()))
        self.assertIn('"dltensor"', repr(x.__dlpack__(max_version=(0, 8))))
        for version in ((1, 0), (2, 0)):
            capsule = x.__dlpack__(max_version=version)
            self.assertIn('"dltensor_versioned"', repr(capsule))
            y = torch.from_dlpack(capsule)
            self.assertEqual(y.data_ptr(), x.data_ptr())
            with self.assertRaisesRegex(RuntimeError, "can be read once"):
                torch.from_dlpack(capsule)

    @needs_numpy("2.2.5", "takes what it gets by DLPack as read-only")
    def test_numpy_may_write_what_it_gets(self):
        x = torch.zeros(2, 3).t()
        n = np.from_dlpack(x)
        n += 1
        self.assertEqual(x.sum().item(), 6)
        self.assertEqual(n.strides, (4, 12))
        self.assertEqual(np.from_dlpack(torch.zeros(3, 1, 2)).strides, (8, 8, 4))

    def test_arrays_come_in_and_live_on(self):
        x = torch.from_dlpack(np.arange(3.0))
        self.assertEqual(x.add_(1).tolist(), [1, 2, 3])

    @needs_numpy("2.1.0", "does not lend memory by DLPack that is read-only")
    def test_a_warning_is_given_of_memory_that_is_read_only(self):
        n = np.arange(3)
        n.flags.writeable = False
        with self.assertWarns(UserWarning):
            self.assertEqual(torch.from_dlpack(n).tolist(), [0, 1, 2])

    def test_what_cannot_be_exported_is_a_buffer_error(self):
        for x in (torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64).conj(), torch.ones(2, device="meta")):
            with self.assertRaises(BufferError):
                x.__dlpack__()
        with self.assertRaises(BufferError):
            torch.ones(2).__dlpack__(dl_device=(2, 0))
        with self.assertRaises(AssertionError):
            torch.ones(2).__dlpack__(stream=1)


class Unreadable:
    """A sequence whose items cannot be had."""

    def __len__(self):
        return 3

    def __getitem__(self, item):
        raise TypeError


class Numbers(unittest.TestCase):
    def test_sequences_that_cannot_be_read(self):
        with self.assertRaisesRegex(ValueError, "'Unreadable'"):
            torch.tensor(Unreadable())

    def test_arrays_are_divided_by_tensors(self):
        for array in (np.array(5), np.array([5.0, 10.0])):
            result = array / torch.tensor(2.5)
            self.assertEqual((result.dtype, result.tolist()), (torch.float64, (array * np.float64(np.float32(0.4))).tolist()))
        with self.assertRaises(TypeError):
            "a" / torch.ones(1)

    def test_integers_beyond_64_bits_overflow(self):
        for number in (2**64, -(2**63) - 1):
            for use in (lambda v: torch.ones(2) + v, lambda v: torch.full((), v, dtype=torch.float64), lambda v: torch.ones(2).fill_(v)):
                with self.assertRaises(OverflowError):
                    use(number)

    def test_integers_beyond_63_bits_keep_their_value(self):
        self.assertEqual((torch.ones(1, dtype=torch.float64) * 2**63).item(), 2.0**63)
        self.assertEqual(torch.full((1,), 2**64 - 1, dtype=torch.float64).item(), 2.0**64)
        self.assertEqual(torch.ones(1, dtype=torch.uint64).fill_(2**64 - 1).item(), 2**64 - 1)
        with self.assertRaises(RuntimeError):
            torch.full((), 2**63, dtype=torch.int64)

    def test_numbers_that_half_cannot_hold(self):
        for number in (70000, 1e6):
            with self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.full((2,), number, dtype=torch.float16)
            self.assertEqual(torch.full((), number, dtype=torch.float16).item(), float("inf"))

    def test_no_complex_dtype_goes_with_bfloat16(self):
        torch.set_default_dtype(torch.bfloat16)
        try:
            with self.assertRaises(RuntimeError):
                torch.tensor(1j)
        finally:
            torch.set_default_dtype(torch.float32)

    def test_range_computes_every_element_on_its_own(self):
        self.assertEqual(torch.range(-1, 1.1, 1 / 3)[3].item(), 0)
        self.assertEqual(torch.range(0, 1e3, 0.3, dtype=torch.float64).tolist(), [0.3 * i for i in range(3334)])

    def test_truth_values_come_from_numbers_only(self):
        for data in ([None], [{}], [False, None], [1, [2]], [torch.tensor(1.5)], [torch.tensor(1j)], object()):
            with self.assertRaises(TypeError):
                torch.tensor(data, dtype=torch.bool)
        self.assertEqual(torch.tensor([torch.tensor(2), 0.5, np.bool_(False), 1j], dtype=torch.bool).tolist(), [True, True, False, True])

    def test_data_that_is_no_number_is_refused_with_the_right_type(self):
        with self.assertRaises(ValueError):
            torch.tensor([range(3), {}], dtype=torch.float32)  # a dict can be walked through, and has another length
        with self.assertRaises(TypeError):
            torch.tensor([torch.tensor([1, 2])])
        with self.assertRaises(ValueError):
            torch.tensor([torch.tensor([1.0, 2.0])])

    def test_bounds_that_the_dtype_cannot_hold(self):
        for start, end, dtype in (
            (0, 300, torch.uint8),
            (0.5, 1e3, torch.int8),
            (0, 1e20, torch.int64),
            (0, 1e6, torch.float16),
            (0, float("nan"), torch.int8),
        ):
            with self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.linspace(start, end, 3, dtype=dtype)
        self.assertEqual(torch.linspace(0, 1e3, 0, dtype=torch.int8).tolist(), [])
        self.assertEqual(torch.linspace(1, 5, 1, dtype=torch.bool).tolist(), [True])
        for number in (2**63, 2**64 - 1):
            with self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.full((), number)

    def test_grids_are_of_one_dtype(self):
        with self.assertRaisesRegex(RuntimeError, "same dtype"):
            torch.meshgrid(torch.arange(2), torch.arange(2.0), indexing="ij")
        with self.assertRaises(RuntimeError):
            torch.polar(torch.ones(1, dtype=torch.int64), torch.ones(1))

    def test_the_median_of_nothing(self):
        self.assertTrue(torch.ones(0).median().isnan().item())
        self.assertEqual(torch.ones(0, dtype=torch.int64).median().item(), -(2**63))
        self.assertEqual(torch.ones(0, dtype=torch.uint8).median().item(), 0)

    def test_one_row_takes_a_list_of_one_target(self):
        loss = torch.nn.functional.nll_loss
        self.assertEqual(loss(torch.ones(3), torch.tensor([1])).item(), -1)
        with self.assertRaises(ValueError):
            loss(torch.ones(3), torch.tensor([1, 2]))


class Windows(unittest.TestCase):
    def test_are_those_of_pytorch(self):
        self.assertEqual(torch.hann_window(5, dtype=torch.float64).tolist(),
                         [0.0, 0.3454915028125263, 0.9045084971874737, 0.9045084971874737, 0.3454915028125264])  # fmt: skip
        self.assertEqual(torch.hamming_window(3, False).tolist(), [0.08000001311302185, 1.0, 0.08000001311302185])
        self.assertEqual(torch.bartlett_window(5).tolist(), [0.0, 0.4000000059604645, 0.800000011920929, 0.7999999523162842, 0.3999999761581421])
        self.assertTrue(abs(torch.kaiser_window(4, dtype=torch.float64)[1].item() - 0.2156727447589671) < 1e-12)
        self.assertEqual((torch.hann_window(0).shape, torch.hann_window(1).tolist()), ((0,), [1]))
        for length, dtype in ((-1, None), (3, torch.int64)):
            with self.assertRaises(RuntimeError):
                torch.hann_window(length, dtype=dtype)

    def test_powers(self):
        self.assertEqual(torch.vander(torch.tensor([True, False]), 3).tolist(), [[1, 1, 1], [0, 0, 1]])
        self.assertEqual(torch.vander(torch.tensor([2.0, 3.0]), 3, increasing=True).tolist(), [[1, 2, 4], [1, 3, 9]])
        self.assertEqual(torch.vander(torch.ones(2), 0).shape, (2, 0))
        self.assertEqual(torch.vander(torch.arange(3), 1).tolist(), [[1], [1], [1]])
        x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(torch.vander, (x, 4)))
        for wrong, size in ((torch.ones(2, 2), None), (torch.ones(2), -1)):
            with self.assertRaisesRegex(RuntimeError, "vander: "):
                torch.vander(wrong, size)


class Slotted(torch.Tensor):
    __slots__ = ("kept",)


class Copies(unittest.TestCase):
    def test_the_kind_of_device_is_one_class(self):
        self.assertIs(type(torch.ones(1).__dlpack_device__()[0]), torch.utils.dlpack.DLDeviceType)

    def test_results_and_meta_tensors_are_pickled(self):
        y = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True) * 2))
        self.assertEqual((y.tolist(), y.requires_grad, y.is_leaf), ([2, 2], True, True))
        m = pickle.loads(pickle.dumps(torch.ones(2, 3, device="meta").t()))
        self.assertEqual((m.is_meta, m.stride()), (True, (1, 3)))
        with self.assertRaises(RuntimeError):
            copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

    def test_slots_of_subclasses_are_copied(self):
        x = torch.ones(2).as_subclass(Slotted)
        x.kept, x.named = [1], 2
        for same in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            self.assertEqual((type(same), same.kept, same.named), (Slotted, [1], 2))
        self.assertIs(copy.copy(x).kept, x.kept)
        self.assertIsNot(copy.deepcopy(x).kept, x.kept)

    def test_results_with_fields_are_pickled(self):
        result = pickle.loads(pickle.dumps(torch.max(torch.tensor([1.0, 3.0]), 0)))
        self.assertEqual((type(result).__name__, result.values.item(), result.indices.item()), ("max", 3, 1))
        self.assertIsInstance(torch.linalg.slogdet(torch.eye(2)), torch.return_types.linalg_slogdet)
        self.assertIn("torch.return_types.max(", repr(result))
        with self.assertRaises(AttributeError):
            torch.return_types.no_such_result

    def test_lazily_negated_tensors_are_saved(self):
        file = io.BytesIO()
        torch.save(torch.tensor([1 + 2j]).conj().imag, file)
        for options in ({}, {"weights_only": False}):
            file.seek(0)
            self.assertEqual(torch.load(file, **options).tolist(), [-2])

    def test_comparisons_of_numpy_give_bytes(self):
        found = np.greater_equal(torch.tensor([1, 2, 3]), 2)
        self.assertEqual((found.dtype, found.tolist()), (torch.uint8, [0, 1, 1]))

    def test_setstate_takes_memory_over(self):
        x = torch.ones(2)
        x.__setstate__((torch.arange(3.0).untyped_storage(), 1, (2,), (1,)))
        self.assertEqual(x.tolist(), [1, 2])
        x.__setstate__({"named": 3})
        self.assertEqual(x.named, 3)

    def test_contains_takes_numbers_and_tensors(self):
        self.assertIn(np.float32(1), torch.arange(3.0))
        with self.assertRaises(RuntimeError):
            "a" in torch.arange(3.0)


if __name__ == "__main__":
    unittest.main()
