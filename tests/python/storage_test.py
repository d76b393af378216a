"""Storages: bytes under tensors, elements of one dtype, objects with a life of their own, and memory that processes share."""

import copy
import gc
import io
import os
import pickle
import sys
import tempfile
import unittest
import warnings
import weakref

import cresset.multiprocessing as mp

import cresset as torch


class Mine(torch.UntypedStorage):
    pass


class Bytes(unittest.TestCase):
    def test_typed_and_untyped_storages_are_told_by_one_address(self):
        x = torch.ones(2)
        self.assertEqual(x.storage()._cdata, x.untyped_storage()._cdata)

    def test_a_slice_shares_memory(self):
        storage = torch.zeros(4).untyped_storage()
        part = storage[4:8]
        part[0] = 7
        self.assertEqual((len(part), storage[4], storage[-12]), (4, 7, 7))

    def test_a_slice_outlives_its_storage(self):
        part = torch.arange(4, dtype=torch.uint8).untyped_storage()[1:3]
        self.assertEqual(part.tolist(), [1, 2])

    def test_a_slice_is_filled_with_a_byte(self):
        storage = torch.UntypedStorage(4).fill_(1)
        storage[1:3] = 9
        self.assertEqual(storage.tolist(), [1, 9, 9, 1])

    def test_wrong_indices_and_values(self):
        storage = torch.UntypedStorage(4)
        for error, call in (
            (RuntimeError, lambda: storage[::2]), (IndexError, lambda: storage[4]), (TypeError, lambda: storage["a"]),
            (RuntimeError, lambda: storage.__setitem__(slice(1, 3), [1, 2])), (RuntimeError, lambda: torch.UntypedStorage(-1)),
            (RuntimeError, lambda: torch.UntypedStorage("a")), (RuntimeError, lambda: torch.UntypedStorage([1.5])), (TypeError, lambda: torch.UntypedStorage(1, 2, 3)),
        ):  # fmt: skip
            with self.assertRaises(error):
                call()

    def test_bytes_on_the_meta_device_cannot_be_read(self):
        storage = torch.UntypedStorage(4, device="meta")
        self.assertEqual((storage.device.type, len(storage), storage.data_ptr()), ("meta", 4, 0))
        with self.assertRaises(NotImplementedError):
            storage[0]
        with self.assertRaises(NotImplementedError):
            torch.TypedStorage(device="meta")[0]

    def test_its_size_counts_the_bytes(self):
        self.assertGreater(sys.getsizeof(torch.ones(1000).untyped_storage()), 4000)

    def test_text(self):
        self.assertEqual(repr(torch.UntypedStorage([1, 2])), " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]")

    def test_bytes_of_elements_are_turned_around(self):
        storage = torch.UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8])
        storage.byteswap(torch.complex64)
        self.assertEqual(storage.tolist(), [4, 3, 2, 1, 8, 7, 6, 5])

    def test_of_a_buffer_in_another_order(self):
        self.assertEqual(torch.UntypedStorage.from_buffer(b"abcd", byte_order="big", dtype=torch.int16).tolist(), [98, 97, 100, 99])

    def test_of_a_file_it_knows_the_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            with open(path, "wb") as file:
                file.write(b"abcd")
            storage = torch.UntypedStorage.from_file(path, True, 4)
            self.assertEqual((storage.tolist(), storage.filename), ([97, 98, 99, 100], path))
            self.assertIsNone(torch.UntypedStorage.from_file(path, False, 4).filename)


class Objects(unittest.TestCase):
    def test_a_subclass_keeps_its_class(self):
        storage = Mine(4)
        self.assertEqual((type(storage), len(storage)), (Mine, 4))

    def test_attributes_live_as_long_as_the_memory(self):
        tensor = torch.ones(2)
        tensor.untyped_storage().note = "kept"
        gc.collect()
        self.assertEqual(tensor.untyped_storage().note, "kept")

    def test_attributes_live_however_often_the_object_is_dropped(self):
        tensor = torch.ones(2)
        tensor.untyped_storage().note = "kept"
        follows = weakref.ref(tensor.untyped_storage())
        for _ in range(3):
            gc.collect()
            self.assertEqual((tensor.untyped_storage().note, follows() is tensor.untyped_storage()), ("kept", True))

    def test_references_that_do_not_keep_a_storage(self):
        from cresset.multiprocessing.reductions import StorageWeakRef

        tensor = torch.ones(4)
        whole, part, other = (StorageWeakRef(s) for s in (tensor.untyped_storage(), tensor[2:].storage(), torch.ones(4).untyped_storage()))
        self.assertEqual((whole == part, hash(whole) == hash(part), whole == 3), (True, True, False))
        self.assertEqual((whole.expired(), part.expired(), other.expired()), (False, False, True))
        del tensor
        self.assertEqual((whole.expired(), part.expired()), (True, True))

    def test_an_object_of_a_subclass_comes_back_from_the_tensor(self):
        tensor = torch.empty(0).set_(Mine(8))
        gc.collect()
        self.assertIs(type(tensor.untyped_storage()), Mine)

    def test_the_object_ends_with_the_memory(self):
        tensor = torch.ones(2)
        storage = tensor.untyped_storage()
        storage.note = 1
        ends = weakref.ref(storage)
        del storage
        self.assertIsNotNone(ends())
        del tensor
        gc.collect()
        self.assertIsNone(ends())

    def test_cycles_are_collected(self):
        storage = torch.UntypedStorage(4)
        storage.me = storage
        ends = weakref.ref(storage)
        del storage
        gc.collect()
        self.assertIsNone(ends())

    def test_an_object_that_is_held_goes_on_without_the_tensor(self):
        tensor = torch.ones(1)
        storage = tensor.untyped_storage()
        del tensor
        self.assertEqual(storage.tolist(), [0, 0, 128, 63])


class Elements(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_tensors_look_at_their_memory(self):
        storage = torch.arange(4.0).storage()
        self.assertEqual(torch.empty(0).set_(storage, 1, (2,), (1,)).tolist(), [1, 2])
        self.assertEqual(torch.FloatTensor(storage).data_ptr(), storage.data_ptr())
        with self.assertRaises(RuntimeError):
            torch.empty(0).set_(torch.arange(4).storage())

    def test_a_tensor_of_bytes_has_the_elements_of_its_dtype(self):
        self.assertEqual(torch.tensor(torch.ones(2).untyped_storage(), dtype=torch.float32).tolist(), [1, 1])

    def test_on_the_meta_device(self):
        self.assertEqual(torch.TypedStorage([1, 2, 3], device="meta", dtype=torch.float32).device.type, "meta")

    def test_the_old_classes(self):
        storage = torch.FloatStorage([1, 2])
        self.assertIsInstance(storage, torch.FloatStorage)
        self.assertNotIsInstance(storage, torch.LongStorage)
        self.assertIs(torch.Storage, torch.FloatStorage)
        self.assertTrue(issubclass(torch.FloatStorage, torch.TypedStorage))
        self.assertEqual((torch.FloatStorage.dtype, type(storage), torch.is_storage(storage)), (torch.float32, torch.TypedStorage, True))
        for arguments in ({"dtype": torch.int8}, {"device": "cpu"}):
            with self.assertRaises(RuntimeError):
                torch.FloatStorage(3, **arguments)

    def test_wrong_arguments(self):
        bytes_ = torch.UntypedStorage(4)
        for error, args, named in (
            (RuntimeError, (1, 2), {}), (TypeError, ("a",), {}), (TypeError, (torch.ones(3),), {}), (RuntimeError, (), {"wrap_storage": bytes_}),
            (RuntimeError, (3,), {"wrap_storage": bytes_, "dtype": torch.int8}), (TypeError, (), {"wrap_storage": 3, "dtype": torch.int8}),
        ):  # fmt: skip
            with self.assertRaises(error):
                torch.TypedStorage(*args, **named)

    def test_equality_is_identity(self):
        tensor = torch.ones(1)
        self.assertNotEqual(tensor.storage(), tensor.storage())
        self.assertEqual(tensor.untyped_storage(), tensor.untyped_storage())

    def test_copies(self):
        storage = torch.FloatStorage([1, 2])
        self.assertEqual(copy.deepcopy(storage).tolist(), [1, 2])
        self.assertEqual(pickle.loads(pickle.dumps(storage)).tolist(), [1, 2])


def add_one(tensor, done):
    tensor.add_(1)
    done.put(torch.full((2,), 5.0))


def through(tensors, back):
    a, b = tensors.get()
    a.fill_(3)
    back.put(b.tolist())


class Refusals(unittest.TestCase):
    def test_storages_without_data(self):
        storage = torch.empty(3, device="meta").storage()
        for refused in (lambda: storage[0], storage.share_memory_, storage.tolist, storage.cpu):
            with self.assertRaises(NotImplementedError):
                refused()

    def test_bytes_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, "whole elements"):
            torch.FloatStorage.from_buffer(bytearray(7), "native")
        with self.assertRaisesRegex(RuntimeError, "dtype"):
            torch.TypedStorage(dtype="float")

    def test_storages_come_back_from_files(self):
        values = torch.arange(3.0)
        file = io.BytesIO()
        torch.save([values.storage(), values.untyped_storage(), values], file)
        file.seek(0)
        typed, plain, tensor = torch.load(file, weights_only=False)
        self.assertIs(type(typed), torch.TypedStorage)
        self.assertEqual((typed.tolist(), typed.dtype, plain.nbytes()), ([0, 1, 2], torch.float32, 12))
        typed[0] = 7
        self.assertEqual(tensor[0], 7)


class Subclass(torch.Tensor):
    pass


class Files(unittest.TestCase):
    def test_subclasses_keep_their_attributes(self):
        tensor = torch.ones(2).as_subclass(Subclass)
        tensor.note = 3
        file = io.BytesIO()
        torch.save(tensor, file)
        file.seek(0)
        back = torch.load(file, weights_only=False)
        self.assertEqual((type(back), back.note, back.tolist()), (Subclass, 3, [1, 1]))

    def test_storages_stand_in_files_as_those_of_pytorch_do(self):
        for weights_only in (True, False):
            for legacy in (True, False):
                file = io.BytesIO()
                torch.save(torch.tensor([1, 2]).storage(), file, _use_new_zipfile_serialization=not legacy)
                self.assertIn(b"LongStorage", file.getvalue())
                file.seek(0)
                self.assertEqual(torch.load(file, weights_only=weights_only).tolist(), [1, 2])

    def test_settings(self):
        config = torch.utils.serialization.config
        self.assertTrue(config.save.compute_crc32)
        with config.patch({"save.compute_crc32": False, "load.mmap": True}):
            self.assertFalse(torch.serialization.get_crc32_options())
            self.assertTrue(config.load.mmap)
        self.assertTrue(torch.serialization.get_crc32_options())
        with self.assertRaises(AttributeError):
            config.save.nothing = 1


class Shared(unittest.TestCase):
    def test_everything_over_the_memory_moves(self):
        whole = torch.arange(4.0)
        part = whole[1:]
        self.assertFalse(whole.is_shared())
        self.assertIs(part.share_memory_(), part)
        part[0] = 9
        self.assertEqual((whole.is_shared(), whole.tolist()), (True, [0, 9, 2, 3]))

    def test_copies_are_not_shared(self):
        tensor = torch.ones(2).share_memory_()
        self.assertFalse(tensor.clone().is_shared())
        self.assertFalse(copy.deepcopy(tensor).is_shared())

    def test_parameters_of_a_module(self):
        layer = torch.nn.Linear(2, 2)
        weight = layer.weight
        layer.share_memory()
        self.assertTrue(layer.weight is weight and weight.is_shared())

    def test_a_process_writes_to_the_tensor(self):
        for method in ("fork", "spawn"):
            for strategy in ("file_descriptor", "file_system"):
                with self.subTest(method=method, strategy=strategy):
                    mp.set_sharing_strategy(strategy)
                    self.addCleanup(mp.set_sharing_strategy, "file_descriptor")
                    context = mp.get_context(method)
                    tensor, done = torch.zeros(2).share_memory_(), context.Queue()
                    process = context.Process(target=add_one, args=(tensor, done))
                    process.start()
                    self.assertEqual(done.get(timeout=120).tolist(), [5, 5])
                    process.join()
                    self.assertEqual(tensor.tolist(), [1, 1])

    def test_views_that_are_sent_together_stay_together(self):
        context = mp.get_context("fork")
        tensors, back = context.Queue(), context.Queue()
        process = context.Process(target=through, args=(tensors, back))
        process.start()
        whole = torch.zeros(4)
        tensors.put((whole, whole[2:]))
        self.assertEqual(back.get(timeout=120), [3, 3])
        process.join()
        self.assertEqual(whole.tolist(), [3, 3, 3, 3])

    def test_results_of_recorded_computations_are_refused(self):
        with self.assertRaises(RuntimeError):
            mp.reductions.reduce_tensor(torch.ones(1, requires_grad=True) * 2)

    def test_names_go_with_the_last_use(self):
        mp.set_sharing_strategy("file_system")
        self.addCleanup(mp.set_sharing_strategy, "file_descriptor")
        before = set(os.listdir("/dev/shm"))
        tensor = torch.zeros(2).share_memory_()
        self.assertEqual(len(set(os.listdir("/dev/shm")) - before), 1)
        del tensor
        self.assertEqual(set(os.listdir("/dev/shm")) - before, set())


if __name__ == "__main__":
    unittest.main()
