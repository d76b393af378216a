"""safetensors, npy and npz: round trips, NumPy's own files, the bytes by the formats' documentation, what is refused."""

import io
import json
import os
import pickle
import random
import resource
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile
from pathlib import Path

import numpy as np

import cresset as torch
from cresset.io import load_npy, load_npz, save_npy, save_npz
from cresset.io import safetensors as st

NAMES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 complex64 complex128".split()


def npy(tensor):
    buffer = io.BytesIO()
    save_npy(tensor, buffer)
    return buffer.getvalue()


def by_numpy(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version)
    return buffer.getvalue()


class Npy(unittest.TestCase):
    def test_every_dtype_both_ways(self):
        for name in NAMES:
            for shape in ((), (3,), (2, 3), (0, 2), (1, 1, 2)):
                array = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3).astype(name)
                tensor = load_npy(by_numpy(array))
                self.assertEqual((tensor.dtype, tuple(tensor.shape)), (getattr(torch, name), shape))
                self.assertEqual(tensor.tolist(), array.tolist())
                self.assertEqual(npy(tensor), by_numpy(array))

    def test_orders(self):
        array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        for other in (np.asfortranarray(array), array.astype(">f4"), array.astype(">c16"), array.transpose(2, 0, 1)):
            for version in ((1, 0), (2, 0), (3, 0)):
                self.assertEqual(load_npy(by_numpy(other, version)).tolist(), other.tolist())
        self.assertEqual(np.load(io.BytesIO(npy(torch.arange(6).view(2, 3).t()))).tolist(), [[0, 3], [1, 4], [2, 5]])
        self.assertEqual(np.load(io.BytesIO(npy(torch.tensor([1 + 2j]).conj()))).tolist(), [1 - 2j])

    def test_paths_and_mmap(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.npy"
            save_npy(torch.arange(1000.0), path)
            mapped = load_npy(path, mmap=True)
            mapped.add_(1)
            self.assertEqual((mapped[0].item(), load_npy(str(path))[0].item()), (1, 0))
            with self.assertRaises(FileNotFoundError):
                load_npy(Path(folder) / "missing")

    def test_archives(self):
        arrays = {"a": np.arange(5), "b c": np.ones((2, 2), np.float32), "empty": np.zeros(0)}
        for write in (np.savez, np.savez_compressed):
            buffer = io.BytesIO()
            write(buffer, **arrays)
            back = load_npz(buffer.getvalue())
            self.assertEqual({k: v.tolist() for k, v in back.items()}, {k: v.tolist() for k, v in arrays.items()})
        buffer = io.BytesIO()
        save_npz(back, buffer)
        theirs = np.load(io.BytesIO(buffer.getvalue()))
        self.assertEqual({k: theirs[k].tolist() for k in theirs.files}, {k: v.tolist() for k, v in arrays.items()})

    def test_refusals(self):
        for array in (np.array(["text"]), np.array([b"x"]), np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]), np.array([1], "M8[s]")):
            with self.assertRaises(RuntimeError):
                load_npy(by_numpy(array))
        with self.assertRaises(RuntimeError):
            load_npy(pickled_objects())
        with self.assertRaises(TypeError):
            npy(torch.ones(2, dtype=torch.bfloat16))

    def test_bombs(self):
        """Data behind an array is refused before it is unpacked: a thousandfold of its bytes in the file."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", by_numpy(np.arange(3.0)) + bytes(300_000_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with self.assertRaisesRegex(RuntimeError, "a.npy.*there are 300000000 bytes behind the array"):
            load_npz(out.getvalue())
        # A header that claims more than the file holds.
        content = bytearray(out.getvalue())
        entry = content.index(b"PK\1\2")
        content[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFFF0)
        with self.assertRaises(RuntimeError):
            load_npz(bytes(content))
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 50_000)
        for shape in ((0, 2**62, 2**62), (0, 2**62, 3), (2**62, 2**62, 0)):
            with self.assertRaises(RuntimeError):
                load_npy(by_numpy(np.zeros((0,))).replace(b"(0,), }" + b" " * 50, f"{shape}, }}".encode().ljust(57)))

    def test_damage(self):
        chance = random.Random(3)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, a=np.arange(100), b=np.ones(3))
        for content, read in ((by_numpy(np.arange(10.0)), load_npy), (buffer.getvalue(), load_npz)):
            for size in range(len(content)):
                with self.assertRaises(RuntimeError, msg=size):
                    read(content[:size])
            for _ in range(2000):
                damaged = bytearray(content)
                for _ in range(chance.choice((1, 1, 4))):
                    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
                try:
                    read(bytes(damaged))
                except (RuntimeError, UnicodeDecodeError):
                    pass
        head = b"\x93NUMPY\x01\x00"
        for text in (b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                     b"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
                     b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,), }", b"{'descr': '<f8'}", b"{}", b"", b"{'descr': '<f8'",
                     b"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", b"__import__('os')"):  # fmt: skip
            with self.assertRaises(RuntimeError, msg=text):
                load_npy(head + struct.pack("<H", len(text)) + text)


def pickled_objects():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


class Safetensors(unittest.TestCase):
    def test_layout(self):
        content = st.save({"a": torch.tensor([1, 2], dtype=torch.uint8), "b": torch.ones(1)}, {"note": "t\u00ebxt"})
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + length])
        self.assertEqual(header["__metadata__"], {"note": "t\u00ebxt"})
        self.assertEqual(header["a"], {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]})
        self.assertEqual(content[8 + length :], struct.pack("<f", 1) + b"\x01\x02")

    def test_names_may_hold_zeros(self):
        tensors, facts = {"a\0b": torch.ones(1), "a\0c": torch.ones(2), "a": torch.ones(3)}, {"x\0y": "1\x002", "x": "3"}
        content = st.save(tensors, facts)
        self.assertEqual({k: v.tolist() for k, v in st.load(content).items()}, {k: v.tolist() for k, v in tensors.items()})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.safetensors")
            Path(path).write_bytes(content)
            with st.safe_open(path, framework="pt") as file:
                self.assertEqual(file.metadata(), facts)

    def test_files(self):
        tensors = {name: (torch.arange(6) % 3).to(getattr(torch, name)).view(2, 3) for name in [*NAMES[:-1], "bfloat16"]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.safetensors")
            st.save_file(tensors, path, metadata={"format": "pt"})
            back = st.load_file(path)
            self.assertEqual({k: (v.dtype, v.tolist()) for k, v in back.items()}, {k: (v.dtype, v.tolist()) for k, v in tensors.items()})
            before = Path(path).read_bytes()
            back["float32"].add_(1)
            self.assertEqual(Path(path).read_bytes(), before)
            with st.safe_open(path, framework="pt") as file:
                self.assertEqual((file.keys(), file.metadata()), (sorted(tensors), {"format": "pt"}))
                self.assertEqual(file.get_tensor("int64").tolist(), tensors["int64"].tolist())
                self.assertEqual(file.get_slice("int64")[:, 1:].tolist(), tensors["int64"][:, 1:].tolist())
                self.assertEqual(
                    (file.get_slice("int64").get_shape(), file.get_slice("int64").get_dtype(), file.get_slice("bfloat16").get_dtype()), ([2, 3], "I64", "BF16")
                )
                with self.assertRaises(st.SafetensorError):
                    file.get_tensor("missing")
            for backend in ("mmap", "pread"):
                with st.safe_open(path, "pt", backend=backend) as file:
                    self.assertEqual({k: v.tolist() for k, v in file.get_tensors().items()}, {k: v.tolist() for k, v in tensors.items()})
                self.assertEqual(st.load_file(path, backend=backend)["int8"].tolist(), tensors["int8"].tolist())
            self.assertRaises(st.SafetensorError, st.load_file, path, backend="ftp")
            self.assertEqual(st.load(before)["bool"].tolist(), tensors["bool"].tolist())

    def test_refusals(self):
        x = torch.ones(4)
        for tensors, error in (({"a": x, "b": x}, RuntimeError), ({"a": x[:3], "b": x[2:]}, RuntimeError), ({"a": 1}, ValueError), ([x], ValueError),
                               ({"a": torch.ones(2, 3).t()}, ValueError), ({"a": torch.ones(1, dtype=torch.complex128)}, TypeError),
                               ({1: x}, TypeError)):  # fmt: skip
            with self.assertRaises(error, msg=str(tensors)):
                st.save(tensors)
        self.assertEqual(list(st.load(st.save({"a": x[:2], "b": x[2:]}))), ["a", "b"])
        with self.assertRaises(FileNotFoundError):
            st.load_file("/nowhere/a.safetensors")
        content = st.save({"a": x})
        for size in range(len(content)):
            with self.assertRaises(st.SafetensorError):
                st.load(content[:size])

    def test_modules_with_shared_weights(self):
        def make():
            model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
            model[1].weight = model[0].weight
            return model

        first, second = make(), make()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.safetensors")
            st.save_model(first, path)
            self.assertEqual(len(st.load_file(path)), 3)
            self.assertEqual(st.load_model(second, path), (set(), []))
        self.assertEqual(second[1].weight.tolist(), first[0].weight.tolist())

    def test_tensors_that_others_fill_are_not_missing(self):
        model = torch.nn.Module()
        model.whole, model.other = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(2))
        model.tied = model.whole
        model.register_buffer("part", model.whole.detach()[1:])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.safetensors")
            st.save_file({"whole": torch.arange(3.0), "other": torch.ones(2)}, path)
            self.assertEqual(st.load_model(model, path), (set(), []))
            self.assertEqual((model.tied.tolist(), model.part.tolist()), ([0, 1, 2], [1, 2]))
            st.save_file({"part": torch.ones(2), "other": torch.ones(2)}, path)
            self.assertRaisesRegex(RuntimeError, "whole", st.load_model, model, path)
            self.assertEqual(st.load_model(model, path, strict=False)[0], {"whole", "tied"})


class Mistaken(unittest.TestCase):
    def test_load_names_the_reader_of_other_formats(self):
        for content, reader in ((npy(torch.ones(2)), "load_npy"), (st.save({"a": torch.ones(2)}), "safetensors.load_file"), (b"GGUF" + bytes(20), "load_gguf")):
            with self.assertRaisesRegex(pickle.UnpicklingError, f"not a checkpoint.*{reader}"):
                torch.load(io.BytesIO(content))


class Alias(unittest.TestCase):
    def test_programs_of_the_safetensors_package(self):
        program = """
            import torch
            from safetensors import safe_open
            from safetensors.torch import load_file, load_model, save_file, save_model
            model = torch.nn.Linear(2, 1)
            save_model(model, "a.safetensors")
            load_model(model, "a.safetensors")
            with safe_open("a.safetensors", framework="pt", device="cpu") as file:
                print(sorted(file.keys()), tuple(file.get_tensor("weight").shape))
            save_file({"x": torch.ones(2)}, "b.safetensors")
            print(load_file("b.safetensors")["x"], load_file.__module__)
        """
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "cresset", "-c", textwrap.dedent(program)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        self.assertEqual((done.stdout, done.stderr), ("['bias', 'weight'] (1, 2)\ntensor([1., 1.]) cresset.io.safetensors\n", ""))


class Shards(unittest.TestCase):
    """A model in several files with an index."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        st.save_file({"a": torch.ones(2), "b": torch.zeros(1)}, self.folder / "model-1.safetensors", {"format": "pt"})
        st.save_file({"c": torch.arange(3)}, self.folder / "model-2.safetensors")
        self.index = {"a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}

    def write(self, index):
        path = self.folder / "model.safetensors.index.json"
        path.write_text(index if isinstance(index, str) else json.dumps({"metadata": {"total_size": 36}, "weight_map": index}))
        return path

    def test_all_files_are_one(self):
        path = self.write(self.index)
        self.assertEqual({name: tensor.tolist() for name, tensor in st.load_file(path).items()}, {"a": [1, 1], "b": [0], "c": [0, 1, 2]})
        with st.safe_open(path, "pt") as file:
            self.assertEqual((file.keys(), file.metadata(), file.get_tensor("c").tolist()), (["a", "b", "c"], {"format": "pt"}, [0, 1, 2]))
        self.assertEqual(list(st.load_file(self.write({"a": "model-1.safetensors"}))), ["a"])

    def test_lies(self):
        for file in ("../model-1.safetensors", "/etc/passwd", "..", "", "sub/model-1.safetensors", "a\0b"):
            with self.assertRaisesRegex(st.SafetensorError, "beside"):
                st.load_file(self.write({"a": file}))
        with self.assertRaisesRegex(st.SafetensorError, "no tensor 'z'"):
            st.load_file(self.write({"z": "model-1.safetensors"}))
        with self.assertRaises(FileNotFoundError):
            st.load_file(self.write({"a": "nowhere.safetensors"}))
        with self.assertRaisesRegex(st.SafetensorError, "malformed"):
            st.load_file(self.write({"a": "model.safetensors.index.json"}))
        for index in ("", "[]", "{}", '{"weight_map": 1}', '{"weight_map": {"a": 1}}', "[" * 100_000, '{"weight_map": {"a": "x", "a": "y"}}'):
            with self.assertRaisesRegex(st.SafetensorError, "malformed"):
                st.load_file(self.write(index))


if __name__ == "__main__":
    unittest.main()
