"""Checkpoints: files that PyTorch wrote, round trips, what is refused, where tensors go. Live comparisons run where PyTorch is importable."""

import collections
import datetime
import importlib.util
import io
import mmap
import os
import pickle
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import cresset as torch

DATA = Path(__file__).resolve().parents[2] / "io" / "data"
HAS_TORCH = importlib.util.find_spec("torch") is not None
DTYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16 uint16 uint32 uint64".split()


def written(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def again(value, **options):
    return torch.load(io.BytesIO(written(value)), **options)


def raw(tensor):
    """The bytes of the elements in order."""
    return bytes(tensor.detach().resolve_conj().contiguous().clone().untyped_storage())


class Config:
    def __init__(self, width):
        self.width = width

    class Inner:
        pass


class Slotted:
    __slots__ = ("a", "b")


class Watched(torch.Tensor):
    """Looks at an attribute of its own in every call."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        seen = [t.mark for t in args if isinstance(t, Watched)]
        assert seen is not None
        return super().__torch_function__(function, types, args, kwargs or {})


class Labelled(torch.Tensor):
    pass


class Golden(unittest.TestCase):
    """everything.pt and the others, as written by PyTorch (write.py beside them)."""

    def check(self, loaded):
        values = [-2, -1, 0, 1, 2]
        for name, tensor in loaded["dtypes"].items():
            self.assertEqual(tensor.dtype, getattr(torch, name))
            expected = values if name not in ("uint8", "uint16", "uint32", "uint64", "bool") else [0, 1, 2, 3, 4]
            self.assertEqual(tensor.tolist(), [bool(v) for v in expected] if name == "bool" else expected, name)
        self.assertEqual(sorted(loaded["dtypes"]), sorted(DTYPES))
        row, matrix = loaded["views"]["row"], loaded["views"]["matrix"]
        self.assertEqual(row.tolist(), [2, 3, 4])
        self.assertEqual((tuple(matrix.shape), tuple(matrix.stride())), ((4, 3), (1, 4)))
        self.assertEqual(row.data_ptr() - matrix.data_ptr(), 8)
        self.assertEqual(loaded["views"]["scalar"].item(), 7)
        self.assertEqual(tuple(loaded["views"]["empty"].shape), (0, 4))
        self.assertTrue(loaded["leaf"].requires_grad and loaded["leaf"].is_leaf)
        self.assertEqual(loaded["lazy"].tolist(), [1 - 2j])
        self.assertTrue(loaded["lazy"].is_conj())
        self.assertEqual((loaded["meta"].device.type, tuple(loaded["meta"].shape)), ("meta", (2, 3)))
        plain = loaded["plain"]
        integers = [0, 255, 256, 65535, 65536, -1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64, -(10**30)]
        self.assertEqual(plain["integers"], integers)
        self.assertEqual(repr(plain["reals"]), "[0.1, inf, -0.0]")
        self.assertEqual((plain["none"], plain["flags"], plain["complex"]), (None, [True, False], 1 - 2j))
        self.assertEqual(plain["text"], ["", "ascii", "h\u00e9 \u2603 \U0001f600"])
        self.assertEqual((plain["bytes"], plain["bytearray"]), (b"\x00\xff a", bytearray(b"abc")))
        self.assertIs(type(plain["bytearray"]), bytearray)
        self.assertEqual((plain["tuple"], plain["set"]), ((1, (2,), ()), {1, 2}))
        self.assertEqual((type(plain["counter"]), plain["counter"]["a"]), (collections.Counter, 2))
        self.assertEqual(list(plain["ordered"].items()), [("b", 1), ("a", 2)])
        self.assertIs(type(plain["ordered"]), collections.OrderedDict)
        self.assertEqual((type(plain["size"]), plain["size"]), (torch.Size, (2, 3)))
        self.assertIs(plain["dtype"], torch.float64)
        self.assertEqual((plain["device"], plain["layout"]), (torch.device("cuda", 1), torch.strided))
        self.assertEqual(plain["int keys"], {3: "c", (1, 2): "t"})
        shared = loaded["shared"]
        self.assertIs(shared[0], shared[1])
        self.assertIs(shared[0][1], shared)
        for name, values, grad in (("parameter", [1.5, -2.0], True), ("frozen", [3.0], False)):
            self.assertIs(type(loaded[name]), torch.nn.Parameter)
            self.assertEqual((loaded[name].tolist(), loaded[name].requires_grad), (values, grad))

    def test_everything(self):
        self.check(torch.load(DATA / "everything.pt"))

    def test_everything_mapped(self):
        self.check(torch.load(str(DATA / "everything.pt"), mmap=True))

    def test_everything_by_pickle(self):
        self.check(torch.load(DATA / "everything.pt", weights_only=False))

    def test_everything_written_again(self):
        self.check(again(torch.load(DATA / "everything.pt")))

    def test_state_dicts(self):
        loaded = torch.load(DATA / "training.pt")
        model, optimizer = loaded["model"], loaded["optimizer"]
        self.assertIs(type(model), collections.OrderedDict)
        self.assertEqual(list(model)[:3], ["0.weight", "0.bias", "1.weight"])
        self.assertEqual(model._metadata["1"], {"version": 2})
        self.assertEqual(optimizer["param_groups"][0]["lr"], 0.01)
        self.assertEqual(optimizer["param_groups"][1]["betas"], (0.9, 0.999))
        self.assertEqual(sorted(optimizer["state"]), [0, 1, 2, 3])
        self.assertEqual(optimizer["state"][0]["step"].item(), 2)
        self.assertEqual(again(loaded)["model"]._metadata, model._metadata)

    def test_whole_module(self):
        with self.assertRaisesRegex(pickle.UnpicklingError, "torch.nn.modules.container.Sequential"):
            torch.load(DATA / "module.pt")
        module = torch.load(DATA / "module.pt", weights_only=False)
        self.assertIs(type(module), torch.nn.Sequential)
        self.assertEqual(tuple(module(torch.ones(2, 3)).shape), (2, 2))

    def test_format_before_zip(self):
        for options in ({}, {"weights_only": False}, {"mmap": True}):
            loaded = torch.load(DATA / "legacy.pt", **options)
            self.assertEqual(loaded["a"].tolist(), [1, 2])
            self.assertEqual(loaded["c"].tolist(), [1, 2])
            self.assertEqual(loaded["a"].data_ptr() - loaded["b"].data_ptr(), 4)

    def test_code_archives_are_refused(self):
        with self.assertRaisesRegex(RuntimeError, "TorchScript"):
            torch.load(DATA / "libtorch_tensor.pt")


class RoundTrip(unittest.TestCase):
    def test_dtypes_and_layouts(self):
        for name in DTYPES:
            dtype = getattr(torch, name)
            base = (torch.arange(24) % 7).to(dtype)
            for tensor in (base, base[3:9:2], base.view(2, 3, 4).permute(2, 0, 1), base.view(24, 1).expand(24, 3), base[5], base[:0]):
                back = again(tensor)
                self.assertEqual((back.dtype, back.shape, back.stride(), back.storage_offset()),
                                 (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()))  # fmt: skip
                self.assertEqual(raw(back), raw(tensor))

    def test_what_is_written_to_a_file_object_is_there_at_once(self):
        for new in (True, False):
            with tempfile.NamedTemporaryFile() as f:
                torch.save(torch.arange(3), f, _use_new_zipfile_serialization=new)
                with open(f.name, "rb") as other:
                    self.assertEqual(torch.load(other).tolist(), [0, 1, 2])

    def test_shared_memory_is_written_once(self):
        base = torch.arange(1000.0)
        content = written([base, base[10:], base.view(10, 100)])
        self.assertLess(len(content), 6000)
        back = torch.load(io.BytesIO(content))
        back[0][10] = -1
        self.assertEqual((back[1][0].item(), back[2][0, 10].item()), (-1, -1))

    def test_the_same_tensor_stays_the_same(self):
        x = torch.ones(2)
        back = again([x, x, {"x": x}])
        self.assertIs(back[0], back[1])
        self.assertIs(back[0], back[2]["x"])

    def test_attributes_are_set_without_calls_of_the_class(self):
        watched, file = torch.ones(2).as_subclass(Watched), io.BytesIO()
        watched.mark = 3
        torch.save(watched, file)
        with torch.serialization.safe_globals([Watched]):
            for weights_only in (True, False):
                file.seek(0)
                loaded = torch.load(file, weights_only=weights_only)
                self.assertEqual((type(loaded), loaded.mark, loaded.tolist()), (Watched, 3, [1, 1]))

    def test_attributes_and_subclasses(self):
        x = torch.ones(2)
        x.note = "kept"
        self.assertEqual(again(x).note, "kept")
        labelled = torch.ones(3).as_subclass(Labelled)
        labelled.label = 5
        with self.assertRaises(pickle.UnpicklingError):
            again(labelled)
        with torch.serialization.safe_globals([Labelled]):
            back = again(labelled)
        self.assertEqual((type(back), back.label, back.tolist()), (Labelled, 5, [1, 1, 1]))

    def test_parameters(self):
        p = torch.nn.Parameter(torch.ones(2))
        p.note = "kept"
        back = again(p)
        self.assertEqual((type(back), back.requires_grad, back.note, back.is_leaf), (torch.nn.Parameter, True, "kept", True))

    def test_results_of_operators(self):
        x = torch.ones(2, requires_grad=True)
        back = again(x * 2)
        self.assertTrue(back.requires_grad and back.is_leaf)

    def test_cycles_and_depth(self):
        ring = [1]
        ring.append((ring, {"ring": ring}))
        back = again(ring)
        self.assertIs(back[1][0], back)
        self.assertIs(back[1][1]["ring"], back)
        deep = []
        for _ in range(100_000):
            deep = [deep]
        back, levels = again(deep), 0
        while back:
            back, levels = back[0], levels + 1
        self.assertEqual(levels, 100_000)
        while deep:
            deep = deep[0]

    def test_dicts(self):
        factory = collections.defaultdict(list, {"a": [1]})
        back = again(factory)
        self.assertEqual((back, back.default_factory), (factory, list))
        self.assertEqual(again(collections.defaultdict(None, {1: 2})), {1: 2})
        self.assertEqual(list(again({"z": 1, "a": 2})), ["z", "a"])
        ordered = collections.OrderedDict([("x", 1), ("y", 2)])
        ordered.move_to_end("x")
        self.assertEqual(list(again(ordered)), ["y", "x"])
        self.assertEqual(again(frozenset([1, (2, 3)])), frozenset([1, (2, 3)]))

    def test_storages(self):
        x = torch.arange(3.0)
        storage, tensor = again([x.untyped_storage(), x])
        self.assertEqual(storage.data_ptr(), tensor.data_ptr())
        self.assertEqual(storage.nbytes(), 12)

    def test_different_dtypes_over_one_memory(self):
        x = torch.ones(4)
        with self.assertRaisesRegex(RuntimeError, "float32 and int32"):
            written([x, x.view(torch.int32)])

    def test_same_bytes_every_time(self):
        value = {"a": torch.arange(5), "b": [1, "x"]}
        self.assertEqual(written(value), written(value))

    def test_layout_of_the_file(self):
        content = written({"a": torch.arange(5), "b": torch.ones(3)})
        archive = zipfile.ZipFile(io.BytesIO(content))
        self.assertIsNone(archive.testzip())
        self.assertEqual(archive.namelist(), [f"archive/{name}" for name in ("data.pkl", ".format_version", ".storage_alignment", "byteorder",
                                                                            "data/0", "data/1", "version", ".data/serialization_id")])  # fmt: skip
        for info in archive.infolist():
            names = content[info.header_offset + 26 : info.header_offset + 30]
            start = info.header_offset + 30 + int.from_bytes(names[:2], "little") + int.from_bytes(names[2:], "little")
            self.assertEqual(start % 64, 0)
        self.assertEqual(archive.read("archive/data/0"), raw(torch.arange(5)))


class Classes(unittest.TestCase):
    def test_checksums_of_large_tensors(self):
        # Sums are made in pieces: of sizes around theirs, the last ones odd.
        for size in ((1 << 19) - 1, 1 << 19, (1 << 22) + 3, (1 << 23) + (1 << 19) + 7):
            with self.subTest(size=size):
                content = written(torch.arange(size, dtype=torch.int64).mul_(2654435761).to(torch.uint8))
                self.assertIsNone(zipfile.ZipFile(io.BytesIO(content)).testzip())

    def test_names_outside_the_list_are_refused(self):
        for value in (datetime.date(2020, 1, 1), Config(3), os.getcwd, print, torch.nn.Sequential(torch.nn.ReLU())):
            content = written(value)
            with self.assertRaisesRegex(pickle.UnpicklingError, "add_safe_globals`; objects of classes that the program has imported"):
                torch.load(io.BytesIO(content))
        with self.assertRaisesRegex(pickle.UnpicklingError, "datetime.date"):
            again([datetime.date(2020, 1, 1)])

    def test_allowed_classes(self):
        with torch.serialization.safe_globals([Config, datetime.date]):
            self.assertEqual(again(Config(3)).width, 3)
            self.assertEqual(again(datetime.date(2020, 1, 1)), datetime.date(2020, 1, 1))
        self.assertEqual(torch.serialization.get_safe_globals(), [])
        with torch.serialization.safe_globals([(Config, f"{__name__}.Config")]):
            value = again({"a": [Config([torch.ones(2)])]})
            self.assertEqual(value["a"][0].width[0].tolist(), [1, 1])

    def test_functions_of_the_system_are_refused_even_where_allowed(self):
        content = written(os.getcwd)
        for allowed in (os.getcwd, (os.getcwd, "posix.getcwd")):
            with torch.serialization.safe_globals([allowed]), self.assertRaises(pickle.UnpicklingError):
                torch.load(io.BytesIO(content))

    def test_objects_in_circles(self):
        config = Config(None)
        config.width = [config, {"again": config}]
        with torch.serialization.safe_globals([Config]):
            back = again(config)
        self.assertIs(back.width[0], back)
        self.assertIs(back.width[1]["again"], back)

    def test_unsafe_names_are_listed(self):
        names = torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(written([Config(1), datetime.date(2020, 1, 1)])))
        self.assertEqual(sorted(names), sorted([f"{__name__}.Config", "datetime.date"]))
        self.assertEqual(torch.serialization.get_unsafe_globals_in_checkpoint(DATA / "everything.pt"), [])

    def test_trusted_files(self):
        slotted = Slotted()
        slotted.a, slotted.b = 1, [2]
        back = again([Config(torch.ones(2)), datetime.date(2020, 1, 1), Config.Inner, slotted], weights_only=False)
        self.assertEqual((back[0].width.tolist(), back[1], back[2]), ([1, 1], datetime.date(2020, 1, 1), Config.Inner))
        self.assertEqual((back[3].a, back[3].b), (1, [2]))
        self.assertEqual(again({"a": torch.ones(2)}, pickle_module=pickle)["a"].tolist(), [1, 1])

    def test_what_cannot_be_written(self):
        with self.assertRaises(AttributeError):
            written(lambda: 1)
        with self.assertRaises(TypeError):
            written(io)
        with self.assertRaises((TypeError, pickle.PicklingError)):
            written((i for i in range(3)))

    def test_other_protocols(self):
        value = {"a": torch.ones(2), "b": [b"bytes", 2**70, "text", (1.5, None)]}
        for protocol in (2, 3, 4, 5, -1):
            for zipped in (True, False):
                buffer = io.BytesIO()
                torch.save(value, buffer, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
                content = zipfile.ZipFile(buffer).read("archive/data.pkl") if zipped else buffer.getvalue()
                self.assertEqual(content[:2], bytes([0x80, protocol % 6]))
                for options in ({}, {"weights_only": False}):
                    loaded = torch.load(io.BytesIO(buffer.getvalue()), **options)
                    self.assertEqual((loaded["a"].tolist(), loaded["b"]), ([1, 1], value["b"]))
        for protocol in (0, 1, 6):
            with self.assertRaises(ValueError):
                torch.save(value, io.BytesIO(), pickle_protocol=protocol)

    def test_other_modules_for_pickling(self):
        """Such as dill, which writes lambdas."""
        import marshal
        import types

        other = types.ModuleType("other_pickle")
        other.dumps = lambda value: marshal.dumps(value.__code__)
        other.loads = loads = lambda code: types.FunctionType(marshal.loads(code), {})
        other.Pickler, other.Unpickler = pickle.Pickler, pickle.Unpickler
        loads.__module__, loads.__qualname__, loads.__name__ = "other_pickle", "loads", "loads"
        sys.modules["other_pickle"] = other
        self.addCleanup(sys.modules.pop, "other_pickle")
        buffer = io.BytesIO()
        torch.save({"double": lambda x: 2 * x, "weight": torch.ones(2)}, buffer, pickle_module=other)
        loaded = torch.load(io.BytesIO(buffer.getvalue()), weights_only=False, pickle_module=other)
        self.assertEqual((loaded["double"](4), loaded["weight"].tolist()), (8, [1, 1]))
        for weights_only in (True, False):
            with self.assertRaises(pickle.UnpicklingError):
                torch.load(io.BytesIO(buffer.getvalue()), weights_only=weights_only)
        with self.assertRaises((AttributeError, pickle.PicklingError)):
            torch.save(lambda x: x, io.BytesIO())

    def test_nothing_runs(self):
        """Calls hidden in every way that pickles know of are refused before anything happens."""

        class Trap:
            def __reduce__(self):
                return os.mkdir, (self.path,)

        with tempfile.TemporaryDirectory() as folder:
            trap = Trap()
            trap.path = os.path.join(folder, "made")
            for value in (trap, [trap], {"a": trap}, (trap,), {1: (2, [trap])}):
                for protocol in (2, 3, 4, 5):
                    buffer = io.BytesIO(written(0))
                    pickled = pickle.dumps(value, protocol=protocol)
                    with self.assertRaises(pickle.UnpicklingError):
                        torch.load(io.BytesIO(replaced(buffer.getvalue(), pickled)))
            for text in (
                b"cos\nmkdir\n(X\x04\x00\x00\x00madet\x52.", b"(S'made'\nios\nmkdir\n.", b"cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
                b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c\x04made\x85R.", b"c__builtin__\ngetattr\n.", b"\x82\x01.", b"P1\n.",
                b"ctorch\nload\n.", b"ctorch._utils\n_rebuild_tensor_v2\n)R.", b"c__main__\nx\n)\x81}b.",
            ):  # fmt: skip
                with self.assertRaises((pickle.UnpicklingError, RuntimeError, TypeError), msg=text):
                    torch.load(io.BytesIO(replaced(written(0), text)))
            self.assertEqual(os.listdir(folder), [])


def replaced(content, pickled):
    """A checkpoint with another pickle in it."""
    old, out = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickled if name.endswith("data.pkl") else old.read(name))
    return out.getvalue()


class Places(unittest.TestCase):
    """map_location and mmap."""

    def test_map_location(self):
        content = written({"a": torch.ones(3), "b": torch.arange(2)})
        for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage, lambda storage, location: None):
            self.assertEqual(torch.load(io.BytesIO(content), map_location=place)["a"].tolist(), [1, 1, 1])
        for place in ("meta", {"cpu": "meta"}, torch.device("meta")):
            self.assertEqual(torch.load(io.BytesIO(content), map_location=place)["a"].device.type, "meta")
        for place in ("cuda", "cuda:0", "nowhere"):
            with self.assertRaises(RuntimeError):
                torch.load(io.BytesIO(content), map_location=place)
        with torch.serialization.skip_data():
            self.assertEqual(torch.load(io.BytesIO(content))["b"].device.type, "meta")
        seen = []
        torch.load(io.BytesIO(content), map_location=lambda storage, location: seen.append(location))
        self.assertEqual(seen, ["cpu", "cpu"])

    def test_other_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            content = zipfile.ZipFile(io.BytesIO(written(torch.ones(3)))).read("archive/data.pkl")
            moved = replaced(written(torch.ones(3)), content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"))
            path = os.path.join(folder, "a.pt")
            Path(path).write_bytes(moved)
            with self.assertRaisesRegex(RuntimeError, "map_location"):
                torch.load(path)
            for place in ("cpu", {"cuda:0": "cpu"}, lambda storage, location: storage):
                self.assertEqual(torch.load(path, map_location=place).tolist(), [1, 1, 1])

    def test_mapped_tensors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            torch.save({"a": torch.arange(1000.0), "empty": torch.empty(0)}, path)
            before = Path(path).read_bytes()
            mapped = torch.load(path, mmap=True)["a"]
            mapped.add_(1)
            self.assertEqual(mapped[:3].tolist(), [1, 2, 3])
            self.assertEqual(Path(path).read_bytes(), before)
            self.assertEqual(torch.load(path, mmap=True, weights_only=False)["a"][5].item(), 5)
            os.remove(path)
            self.assertEqual(mapped[999].item(), 1000)
            with self.assertRaises(ValueError):
                torch.load(io.BytesIO(before), mmap=True)
            with self.assertRaisesRegex(RuntimeError, "BytesIO holds is none"):
                torch.load(io.BytesIO(b""), mmap=True)

    def test_shared_mappings_write_into_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            torch.save({"a": torch.arange(4.0)}, path)
            with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
                for only in (True, False):
                    torch.load(path, mmap=True, weights_only=only)["a"].add_(1)
                self.assertEqual(torch.load(path, mmap=True)["a"].tolist(), [2, 3, 4, 5])
            private = torch.load(path, mmap=True)["a"].zero_()
            self.assertEqual((private.tolist(), torch.load(path, mmap=True)["a"].tolist()), ([0] * 4, [2, 3, 4, 5]))
            with self.assertRaisesRegex(RuntimeError, "checksum"):
                torch.load(path)
            torch.serialization.set_crc32_options(False)
            self.addCleanup(torch.serialization.set_crc32_options, True)
            self.assertEqual(torch.load(path)["a"].tolist(), [2, 3, 4, 5])

    def test_an_encoding_is_asked_for_texts_of_python_2_alone(self):
        saved = io.BytesIO()
        torch.save([torch.ones(1), "text"], saved)
        for encoding in (3, b"utf-8"):
            self.assertEqual(torch.load(io.BytesIO(saved.getvalue()), encoding=encoding)[1], "text")

    def test_other_byte_order(self):
        value = {name: torch.arange(3).to(getattr(torch, name)) for name in DTYPES}
        old, out = zipfile.ZipFile(io.BytesIO(written(value))), io.BytesIO()
        sizes = {str(i): getattr(torch, name).itemsize // (2 if "complex" in name else 1) for i, name in enumerate(DTYPES)}
        with zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if "/data/" in name:
                    n = sizes[name.split("/")[-1]]
                    content = b"".join(content[i : i + n][::-1] for i in range(0, len(content), n))
                new.writestr(name, b"big" if name.endswith("byteorder") else content)
        for name, tensor in torch.load(io.BytesIO(out.getvalue())).items():
            self.assertEqual(raw(tensor), raw(value[name]), name)


class Files(unittest.TestCase):
    def test_paths_and_objects(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.v1.pt"
            torch.save([1, torch.ones(2)], path)
            self.assertEqual(zipfile.ZipFile(path).namelist()[0], "model.v1/data.pkl")
            self.assertEqual(os.listdir(folder), ["model.v1.pt"])
            self.assertEqual(torch.load(str(path))[1].tolist(), [1, 1])
            with open(path, "rb") as file:
                self.assertEqual(torch.load(file)[0], 1)
            with open(path, "wb") as file:
                torch.save("other", file)
            self.assertEqual(torch.load(path), "other")

    def test_a_failed_save_leaves_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.pt"
            torch.save(1, path)
            with self.assertRaises(AttributeError):
                torch.save([torch.ones(2), lambda: 1], path)
            self.assertEqual(torch.load(path), 1)
            self.assertEqual(os.listdir(folder), ["a.pt"])

    def test_links_stay_links(self):
        with tempfile.TemporaryDirectory() as folder:
            real, link = Path(folder) / "real.pt", Path(folder) / "link.pt"
            torch.save(1, real)
            link.symlink_to(real)
            torch.save(2, link)
            self.assertTrue(link.is_symlink())
            self.assertEqual(torch.load(real), 2)
            for to in ("new.pt", str(Path(folder) / "other.pt")):
                coming = Path(folder) / f"to-{Path(to).name}"
                coming.symlink_to(to)
                torch.save(3, coming)
                self.assertTrue(coming.is_symlink())
                self.assertEqual(torch.load(Path(folder) / Path(to).name), 3)

    def test_error_types(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            with self.assertRaises(FileNotFoundError):
                torch.load(path)
            with self.assertRaises(IsADirectoryError):
                torch.load(folder)
            Path(path).write_bytes(b"")
            with self.assertRaises(EOFError):
                torch.load(path)
            Path(path).write_bytes(b"no checkpoint at all, only text")
            with self.assertRaises(pickle.UnpicklingError):
                torch.load(path)
            content = written({"a": torch.ones(100)})
            for size in (len(content) - 1, len(content) // 2, 100, 10):
                Path(path).write_bytes(content[:size])
                with self.assertRaisesRegex((RuntimeError, pickle.UnpicklingError), "a.pt"):
                    torch.load(path)
            with self.assertRaisesRegex(RuntimeError, "does not exist"):
                torch.save(1, os.path.join(folder, "missing", "a.pt"))
        for wrong in (lambda: torch.load(5), lambda: torch.save(1, 5)):
            with self.assertRaises(AttributeError):
                wrong()
        with self.assertRaises(EOFError):
            torch.load(io.BytesIO())
        with self.assertRaises(TypeError):
            torch.load(io.StringIO("text"))
        with self.assertRaises(RuntimeError):
            torch.load(io.BytesIO(content), pickle_module=pickle, weights_only=True)

    def test_options(self):
        self.assertTrue(torch.serialization.get_crc32_options())
        torch.serialization.set_crc32_options(False)
        try:
            self.assertEqual(zipfile.ZipFile(io.BytesIO(written(torch.ones(2)))).getinfo("archive/data/0").CRC, 0)
            self.assertEqual(again(torch.ones(2)).tolist(), [1, 1])
        finally:
            torch.serialization.set_crc32_options(True)
        self.assertIsNone(torch.serialization.get_default_load_endianness())
        with self.assertRaises(TypeError):
            torch.serialization.set_default_load_endianness("big")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithPyTorch(unittest.TestCase):
    """The same values both ways, live."""

    def test_both_ways(self):
        import torch as peer

        for name in DTYPES:
            tensor = (torch.arange(12) % 5).to(getattr(torch, name)).view(3, 4).t()
            theirs = peer.load(io.BytesIO(written({"x": tensor})), weights_only=True)["x"]
            self.assertEqual((str(theirs.dtype), tuple(theirs.stride())), (str(tensor.dtype), tensor.stride()))
            self.assertEqual(bytes(theirs.contiguous().untyped_storage()), raw(tensor))
            buffer = io.BytesIO()
            peer.save(theirs, buffer)
            self.assertEqual(raw(torch.load(io.BytesIO(buffer.getvalue()))), raw(tensor))
        golden = torch.load(DATA / "everything.pt")
        theirs = peer.load(io.BytesIO(written(golden)), weights_only=True)
        self.assertEqual(theirs["plain"]["integers"], golden["plain"]["integers"])
        self.assertEqual(theirs["parameter"].tolist(), [1.5, -2.0])

    def test_training_goes_on_there(self):
        import torch as peer

        def make(t):
            model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU(), t.nn.BatchNorm1d(3))
            return model, t.optim.AdamW(model.parameters(), lr=0.1)

        model, optimizer = make(torch)
        model(torch.ones(2, 2)).sum().backward()
        optimizer.step()
        saved = peer.load(io.BytesIO(written({"model": model.state_dict(), "optimizer": optimizer.state_dict()})), weights_only=True)
        other, theirs = make(peer)
        other.load_state_dict(saved["model"])
        theirs.load_state_dict(saved["optimizer"])
        self.assertEqual(theirs.state_dict()["state"][0]["step"].item(), 1)
        whole = peer.load(io.BytesIO(written(model)), weights_only=False)
        self.assertEqual(str(whole), str(model))
        self.assertEqual(whole[0].weight.tolist(), model[0].weight.tolist())


if __name__ == "__main__":
    unittest.main()
