"""The formats before zip archives: pickles with raw storages behind them, and before that tar archives. Live comparisons run where PyTorch
is importable."""

import collections
import io
import pickle
import struct
import tarfile
import tempfile
import unittest

import cresset as torch

from .checkpoint_test import DTYPES, HAS_TORCH, raw

LEGACY_DTYPES = [name for name in DTYPES if not name.startswith("uint") or name == "uint8"]
MAGIC = 0x1950A86A20F9469CFC6C


def written(value):
    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def load(content, **options):
    return torch.load(io.BytesIO(content), **options)


class Name:
    """Something that is pickled as a bare name."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Pickler(pickle._Pickler):
    """Writes `Name`s as names and `Reference`s as persistent ids."""

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Name):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        else:
            super().save(value, save_persistent_id)

    def persistent_id(self, value):
        return value.to if isinstance(value, Reference) else None


class Reference:
    def __init__(self, to):
        self.to = to


class Rebuilt:
    """Pickled as a call."""

    def __init__(self, function, *arguments):
        self.parts = (function, arguments)


def pickled(value):
    buffer = io.BytesIO()
    pickler = Pickler(buffer, 2)
    pickler.dispatch = dict(pickler.dispatch)
    pickler.dispatch[Rebuilt] = lambda self, value: (self.save(value.parts[0]), self.save(value.parts[1]), self.write(b"R"))
    pickler.dump(value)
    return buffer.getvalue()


def stream(value, storages, little=True):
    """A file of the format before zip archives: `storages` maps keys to counts and bytes."""
    facts = {"protocol_version": 1001, "little_endian": little, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    parts = [pickled(part) for part in (MAGIC, 1001, facts, value, list(storages))]
    for count, data in storages.values():
        parts += [struct.pack("<q" if little else ">q", count), data]
    return b"".join(parts)


def tensor_of(reference, offset, size, stride):
    return Rebuilt(Name("torch._utils", "_rebuild_tensor_v2"), reference, offset, size, stride, False, collections.OrderedDict())


FLOATS = Name("torch", "FloatStorage")


def tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_files():
    """Six floats as storage 10, a part of them as 11, an integer storage as 20; a matrix, its row, a view of the part, an int tensor."""
    storages = pickled(2)
    storages += pickled((10, "cpu", FLOATS)) + struct.pack("<q6f", 6, *range(6))
    storages += pickled((20, "cpu", Name("torch", "LongStorage"))) + struct.pack("<q2q", 2, 7, -8)
    storages += pickled([(11, 10, 2, 3)])
    tensors = pickled(4)

    def tensor(key, storage, kind, size, stride, offset):
        geometry = struct.pack(f"<i4x{len(size)}q{len(stride)}qq", len(size), *size, *stride, offset)
        return pickled((key, storage, Name("torch", kind))) + geometry

    tensors += tensor(1, 10, "FloatTensor", (2, 3), (3, 1), 0)
    tensors += tensor(2, 10, "FloatTensor", (3,), (1,), 3)
    tensors += tensor(3, 11, "FloatTensor", (2,), (1,), 1)
    tensors += tensor(4, 20, "LongTensor", (2,), (1,), 0)
    value = {"matrix": Reference("1"), "row": Reference("2"), "part": Reference("3"), "integers": Reference("4"), "epoch": 3}
    facts = {"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    return {"sys_info": pickled(facts), "pickle": pickled(value), "tensors": tensors, "storages": storages}


class Writing(unittest.TestCase):
    def test_files_before_archives_are_told_from_them(self):
        archive = io.BytesIO()
        torch.save(1, archive)
        for content, is_archive in ((written(1), False), (archive.getvalue(), True)):
            file = io.BytesIO(b"head" + content)
            file.seek(4)
            self.assertEqual((torch.serialization._is_zipfile(file), file.tell()), (is_archive, 4))

    def test_round_trips(self):
        base = torch.arange(6.0)
        value = {name: (torch.arange(6) % 5).to(getattr(torch, name)).view(2, 3).t() for name in LEGACY_DTYPES}
        value |= {
            "base": base,
            "view": base[2:],
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "conj": torch.tensor([1 + 2j]).conj(),
            "text": ["é", b"\xff", 2**70],
        }
        for options in ({}, {"weights_only": False}):
            loaded = load(written(value), **options)
            for name in LEGACY_DTYPES:
                self.assertEqual(
                    (loaded[name].dtype, loaded[name].stride(), raw(loaded[name])), (value[name].dtype, value[name].stride(), raw(value[name])), name
                )
            loaded["base"][2] = 9
            self.assertEqual(loaded["view"][0].item(), 9)
            self.assertIsInstance(loaded["parameter"], torch.nn.Parameter)
            self.assertEqual((loaded["conj"].tolist(), loaded["text"]), ([1 - 2j], value["text"]))

    def test_modules_and_optimizers(self):
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        loaded = load(written({"model": model.state_dict(), "optimizer": optimizer.state_dict()}))
        self.assertEqual(loaded["model"]["weight"].tolist(), model.weight.tolist())
        self.assertEqual(loaded["optimizer"]["state"][0]["step"].item(), 1)
        self.assertEqual(load(written(model), weights_only=False).weight.tolist(), model.weight.tolist())

    def test_what_the_format_cannot_hold(self):
        for value in (torch.ones(2, dtype=torch.uint16), torch.ones(2).untyped_storage()):
            with self.assertRaisesRegex(RuntimeError, "before zip archives"):
                written(value)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
    def test_both_ways_with_pytorch(self):
        import torch as peer

        for name in LEGACY_DTYPES:
            tensor = (torch.arange(12) % 5).to(getattr(torch, name)).view(3, 4).t()
            theirs = peer.load(io.BytesIO(written({"x": [tensor, tensor[1:]]})), weights_only=True)["x"]
            self.assertEqual((str(theirs[0].dtype), theirs[0].stride(), theirs[1].storage_offset()), (str(tensor.dtype), tensor.stride(), 1))
            self.assertEqual(bytes(theirs[0].contiguous().untyped_storage()), raw(tensor))
            buffer = io.BytesIO()
            peer.save(theirs, buffer, _use_new_zipfile_serialization=False)
            for options in ({}, {"weights_only": False}):
                ours = load(buffer.getvalue(), **options)
                self.assertEqual((raw(ours[0]), ours[1].storage_offset()), (raw(tensor), 1))
        buffer = io.BytesIO()
        peer.save(peer.nn.Sequential(peer.nn.Linear(2, 1)), buffer, _use_new_zipfile_serialization=False)
        self.assertIsInstance(load(buffer.getvalue(), weights_only=False)[0], torch.nn.Linear)


class Streams(unittest.TestCase):
    """Files that PyTorch no longer writes."""

    def setUp(self):
        self.floats = (6, struct.pack("<6f", *range(6)))

    def check(self, value, content, **options):
        self.assertEqual(load(content, **options), value)
        if HAS_TORCH:
            import torch as peer

            self.assertEqual(peer.load(io.BytesIO(content), weights_only=False), value)

    def test_parts_of_storages(self):
        whole = Reference(("storage", FLOATS, "7", "cpu", 6, None))
        part = Reference(("storage", FLOATS, "7", "cpu", 6, ("8", 2, 3)))
        content = stream([tensor_of(whole, 0, (2, 3), (3, 1)), tensor_of(part, 1, (2,), (1,))], {"7": self.floats})
        for options in ({}, {"weights_only": False}):
            matrix, row = load(content, **options)
            self.assertEqual((matrix.tolist(), row.tolist()), ([[0, 1, 2], [3, 4, 5]], [3, 4]))
            matrix[1, 0] = -1
            self.assertEqual(row[0].item(), -1)
        beyond = stream(tensor_of(Reference(("storage", FLOATS, "7", "cpu", 6, ("8", 5, 3))), 1, (2,), (1,)), {"7": self.floats})
        with self.assertRaises(pickle.UnpicklingError):
            load(beyond)

    def test_classes_with_their_source(self):
        content = stream([Reference(("module", Name("collections", "OrderedDict"), "a.py", "class ..."))], {})
        self.assertEqual(load(content, weights_only=False), [collections.OrderedDict])
        self.assertEqual(load(content), [collections.OrderedDict])

    def test_other_byte_order(self):
        content = stream(tensor_of(Reference(("storage", FLOATS, "7", "cpu", 6, None)), 0, (6,), (1,)), {"7": (6, struct.pack(">6f", *range(6)))}, little=False)
        self.assertEqual(load(content).tolist(), [0, 1, 2, 3, 4, 5])

    def test_counts_that_lie(self):
        value = tensor_of(Reference(("storage", FLOATS, "7", "cpu", 6, None)), 0, (6,), (1,))
        for count in (5, 7, -1, 2**62, 2**63 - 1):
            with self.assertRaises(RuntimeError):
                load(stream(value, {"7": (count, self.floats[1])}))
        for keys in ({}, {"8": self.floats}, {"7": self.floats, "8": self.floats}):
            with self.assertRaises(RuntimeError):
                load(stream(value, keys))
        content = stream(value, {"7": self.floats})
        for size in range(1, len(content)):
            with self.assertRaises((RuntimeError, IndexError, pickle.UnpicklingError)):
                load(content[:size])


class Tar(unittest.TestCase):
    def test_contents(self):
        content = tar(tar_files())
        kinds = [load(content), load(content, weights_only=False)]
        if HAS_TORCH:
            import torch as peer

            with tempfile.NamedTemporaryFile() as file:
                file.write(content)
                file.flush()
                kinds.append(peer.load(file.name, weights_only=False))
        for loaded in kinds:
            self.assertEqual(loaded["matrix"].tolist(), [[0, 1, 2], [3, 4, 5]])
            self.assertEqual((loaded["row"].tolist(), loaded["part"].tolist(), loaded["integers"].tolist()), ([3, 4, 5], [3, 4], [7, -8]))
            loaded["matrix"][1, 0] = 9
            self.assertEqual((loaded["row"][0].item(), loaded["part"][0].item(), loaded["epoch"]), (9, 9, 3))

    def test_names_outside_the_list(self):
        files = tar_files()
        files["pickle"] = pickled([Rebuilt(Name("os", "getcwd"))])
        with self.assertRaisesRegex(pickle.UnpicklingError, "os.getcwd"):
            load(tar(files))

    def test_damage(self):
        files = tar_files()
        for name in files:
            with self.assertRaisesRegex(RuntimeError, name):
                load(tar({other: content for other, content in files.items() if other != name}))
            for size in range(0, len(files[name]), 3):
                with self.assertRaises((RuntimeError, IndexError, pickle.UnpicklingError), msg=(name, size)):
                    load(tar({**files, name: files[name][:size]}))
        content = tar(files)
        end = len(content.rstrip(b"\0"))  # blocks of zeros end the archive
        for weights_only in (True, False):
            for size in range(end):
                with self.assertRaises((RuntimeError, IndexError, pickle.UnpicklingError, EOFError), msg=size):
                    load(content[:size], weights_only=weights_only)
        beyond = files["tensors"].replace(struct.pack("<q", 3) + struct.pack("<q", 1), struct.pack("<q", 4) + struct.pack("<q", 1), 1)
        self.assertNotEqual(beyond, files["tensors"])
        with self.assertRaisesRegex(pickle.UnpicklingError, "reaches"):
            load(tar({**files, "tensors": beyond}))


class Several(unittest.TestCase):
    def test_objects_one_after_another_in_a_file(self):
        for weights_only in (True, False):
            with tempfile.TemporaryFile() as file:
                pickle.dump("before", file)
                for value in (torch.arange(5.0), {"a": torch.ones(2, 3), "n": 4}):
                    torch.save(value, file, _use_new_zipfile_serialization=False)
                    pickle.dump("after", file)
                file.seek(0)
                self.assertEqual(pickle.load(file), "before")
                self.assertEqual(torch.load(file, weights_only=weights_only).tolist(), [0, 1, 2, 3, 4])
                self.assertEqual(pickle.load(file), "after")
                self.assertEqual(torch.load(file, weights_only=weights_only)["a"].tolist(), [[1.0] * 3] * 2)
                self.assertEqual(pickle.load(file), "after")


class Called:
    def __init__(self, number):
        self.number = number

    def __reduce_ex__(self, protocol):
        return Called, (self.number,), {"note": "kept"}


class Made:
    def __init__(self):
        raise AssertionError("objects with a plain state are made without __init__")


class Constructors(unittest.TestCase):
    def test_a_class_in_a_reduction_is_called(self):
        made = Made.__new__(Made)
        made.number = 3
        for new_format in (True, False):
            for weights_only in (True, False):
                buffer = io.BytesIO()
                torch.save([Called(2), made], buffer, _use_new_zipfile_serialization=new_format)
                buffer.seek(0)
                with torch.serialization.safe_globals([Called, Made]):
                    called, back = torch.load(buffer, weights_only=weights_only)
                self.assertEqual((vars(called), vars(back)), ({"number": 2, "note": "kept"}, {"number": 3}))


class TextOfPython2(unittest.TestCase):
    def test_encoding(self):
        raw_text = "żółw".encode()
        first, _, rest = written(["text", torch.ones(2)]).partition(b"X\x04\x00\x00\x00text")
        for opcode in (b"U" + bytes([len(raw_text)]), b"T" + struct.pack("<i", len(raw_text))):
            content = first + opcode + raw_text + rest
            for weights_only in (True, False):
                for encoding, expected in (("utf-8", "żółw"), ("bytes", raw_text), ("latin1", raw_text.decode("latin1"))):
                    text, ones = load(content, weights_only=weights_only, encoding=encoding)
                    self.assertEqual((text, ones.tolist()), (expected, [1, 1]))
                self.assertEqual(load(content, weights_only=weights_only)[0], "żółw")
                with self.assertRaises(UnicodeDecodeError):
                    load(content, weights_only=weights_only, encoding="ascii")

    def test_names_of_storages_as_bytes(self):
        content = written(torch.ones(2))
        for text in (b"storage", b"cpu", b"0"):  # in the tuple that names the storage, as Python 2 wrote it
            content = content.replace(b"X" + struct.pack("<i", len(text)) + text, b"U" + bytes([len(text)]) + text)
        for weights_only in (True, False):
            self.assertEqual(load(content, weights_only=weights_only, encoding="bytes").tolist(), [1, 1])


if __name__ == "__main__":
    unittest.main()
