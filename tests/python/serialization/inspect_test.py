"""`python -m cresset.io inspect`: what it lists of every format, and that neither size nor malice of a file troubles it."""

import contextlib
import io
import json
import os
import pickle
import resource
import struct
import tempfile
import unittest
import zipfile

import numpy as np
from cresset.io.__main__ import main
from cresset.io.inspect import inspect, report

import cresset as torch

from . import gguf_test, legacy_test
from .checkpoint_test import DATA, replaced, written


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(arguments))
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


def tensors(content):
    return {t["name"]: (t["dtype"], t["shape"], t["nbytes"]) for t in inspect(content)["tensors"]}


class Formats(unittest.TestCase):
    def test_checkpoints(self):
        model = torch.nn.Linear(2, 3)
        value = {
            "model": model.state_dict(),
            "tied": [model.weight, model.weight],
            "view": model.weight.detach()[0],
            "lr": 0.5,
            "none": (),
            "meta": torch.empty(2, device="meta"),
        }
        for content in (written(value), legacy_test.written(value)):
            listed = inspect(content)
            self.assertEqual(
                [(t["name"], t["dtype"], t["shape"], t["nbytes"]) for t in listed["tensors"]],
                [
                    ("model.weight", "float32", [3, 2], 24),
                    ("model.bias", "float32", [3], 12),
                    ("tied[0]", "float32", [3, 2], 24),
                    ("view", "float32", [2], 8),
                    ("meta", "float32", [2], 8),
                ],
            )
            by_name = {t["name"]: t for t in listed["tensors"]}
            self.assertTrue(by_name["tied[0]"]["parameter"] and by_name["tied[0]"]["requires_grad"] and by_name["meta"]["meta"])
            self.assertEqual(by_name["view"]["shares_with"], "model.weight")
            values = [(v["name"], v["value"]) for v in listed["values"] if v["name"] in ("lr", "none", "tied[1]")]
            self.assertEqual(values, [("tied[1]", "the same as tied[0]"), ("lr", 0.5), ("none", "empty")])
        self.assertEqual(tensors(legacy_test.tar(legacy_test.tar_files()))["part"], ("float32", [2], 8))

    def test_sparse_tensors(self):
        listed = inspect(written(torch.eye(3).to_sparse()))["tensors"]
        self.assertEqual([(t["name"], t["shape"], t["nbytes"]) for t in listed], [("", [3, 3], 0), (".parts[0]", [2, 3], 48), (".parts[1]", [3], 12)])
        self.assertEqual(listed[0]["layout"], "torch.sparse_coo")

    def test_classes_are_text(self):
        listed = inspect(DATA / "module.pt")
        self.assertIn("torch.nn.modules.linear.Linear", listed["names"])
        self.assertIn({"name": "_modules.0", "type": "object", "value": "torch.nn.modules.linear.Linear"}, listed["values"])
        hostile = inspect(replaced(written(1), b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00exit\x85R."))
        self.assertEqual((hostile["names"], hostile["values"][0]["value"]), (["os.system"], "os.system"))
        self.assertEqual(inspect(DATA / "libtorch_module.pt")["format"], "TorchScript archive")

    def test_other_formats(self):
        self.assertEqual(tensors(torch.io.safetensors.save({"a": torch.zeros(2, 1)}, {"x": "y"})), {"a": ("float32", [2, 1], 8)})
        self.assertEqual(tensors(DATA / "quantised.gguf")["Q6_K"], ("Q6_K", [2, 256], 420))
        buffer = io.BytesIO()
        np.save(buffer, np.asfortranarray(np.zeros((2, 3), dtype=">i4")))
        listed = inspect(buffer.getvalue())["tensors"]
        self.assertEqual(listed, [{"name": "", "dtype": "int32", "shape": [2, 3], "nbytes": 24, "fortran_order": True, "big_endian": True}])
        for save in (np.savez, np.savez_compressed):
            buffer = io.BytesIO()
            save(buffer, a=np.zeros((1000, 1000)), b=np.arange(3, dtype=np.int16))
            self.assertEqual(tensors(buffer.getvalue()), {"a": ("float64", [1000, 1000], 8_000_000), "b": ("int16", [3], 6)})

    def test_golden_files(self):
        for path in sorted(DATA.glob("*.pt")):
            self.assertTrue(report(inspect(path)), path)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a.pt")

    def test_text_and_json(self):
        torch.save({"w": torch.ones(2), "n": 1}, self.path)
        status, out, err = run("inspect", self.path)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"a\.pt: checkpoint, [\d,]+ bytes\n  name .*\n  w     float32  \[2\]        8\n  n: int 1\n  1 tensor, 8 bytes in 1 storages")
        status, out, _ = run("inspect", "--json", self.path, self.path)
        first, second = map(json.loads, out.splitlines())
        self.assertEqual((status, first, first["tensors"][0]["name"]), (0, second, "w"))

    def test_errors(self):
        for content, message in (
            (b"", "is empty"),
            (b"hello" * 100, "not a checkpoint"),
            (written(1)[:-30], "damaged"),
            (b"GGUF", "truncated"),
            (b"\x93NUMPY", "got 6 bytes"),
        ):
            with open(self.path, "wb") as file:
                file.write(content)
            status, out, err = run("inspect", self.path)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(message, err)
        self.assertIn("No such file", run("inspect", self.path + "x")[2])
        self.assertIn("directory", run("inspect", os.path.dirname(self.path))[2])
        self.assertEqual(run("inspect")[0], 2)
        self.assertEqual(run()[0], 2)
        status, out, _ = run("inspect", "--help")
        self.assertEqual(status, 0)
        self.assertIn("--json", out)

    def test_nothing_reaches_the_terminal(self):
        torch.save({"\x1b[2J\nname": "\x9b31m\u202e"}, self.path)
        out = run("inspect", self.path)[1]
        self.assertIn("\\x1b[2J\\nname: str \\x9b31m\\u202e", out)
        self.assertFalse(set(out) & set("\x1b\x9b\u202e"))


class Malice(unittest.TestCase):
    def test_cycles_copies_and_depth(self):
        circle = [1]
        circle.append(circle)
        self.assertIn({"name": "[1]", "type": "list", "value": "the same as the whole"}, inspect(written(circle))["values"])
        laughs = ["ha"]
        for _ in range(40):
            laughs = [laughs, laughs]
        self.assertLess(len(inspect(written(laughs))["values"]), 100)
        deep = []
        for _ in range(10_000):
            deep = [deep]
        self.assertEqual(inspect(written(deep))["values"][-1]["value"], "nests deeper than is shown")

    def test_large_files_take_no_memory(self):
        """Six sparse gigabytes in an npy, a safetensors and a GGUF file."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = 6 << 30
        header = json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
        npy = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}".ljust(117) + "\n"
        heads = [struct.pack("<Q", len(header)) + header, b"\x93NUMPY\1\0" + struct.pack("<H", len(npy)) + npy.encode()]
        heads.append(gguf_test.file_of([gguf_test.row(b"a", (size,), 24, 0)]))
        with tempfile.TemporaryDirectory() as folder:
            for head in heads:
                path = os.path.join(folder, "a.safetensors")
                with open(path, "wb") as file:
                    file.write(head)
                    file.truncate(len(head) + size)
                self.assertEqual(inspect(path)["tensors"][0]["nbytes"], size)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 50_000)

    def test_a_bomb_is_not_unpacked(self):
        out = io.BytesIO()
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (100000000,), }".ljust(117) + "\n"
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(100_000_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertEqual(inspect(out.getvalue())["tensors"][0]["nbytes"], 100_000_000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 50_000)

    def test_damage(self):
        for path in (DATA / "everything.pt", DATA / "legacy.pt", DATA / "quantised.gguf"):
            content = path.read_bytes()
            for at in range(0, len(content), 61):
                damaged = bytearray(content)
                damaged[at] ^= 1 << at % 8
                for candidate in (bytes(damaged), content[:at]):
                    try:
                        report(inspect(candidate))
                    except (RuntimeError, pickle.UnpicklingError, torch.io.safetensors.SafetensorError):
                        pass


if __name__ == "__main__":
    unittest.main()
