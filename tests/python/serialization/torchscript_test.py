"""Tensors of TorchScript archives, which PyTorch 2.13 wrote: names, values, geometry, shared memory; other files and damaged ones."""

import io
import pickle
import struct
import unittest
import zipfile

import cresset as torch
from cresset.io import load_torchscript

from .checkpoint_test import DATA, written

# PyTorch 2.13: torch.jit.script(M()).save, where M has a submodule under two names, a parameter of it under a third, views of one buffer, an
# empty buffer, and a tensor that is no buffer. Values and strides as torch.jit.load says.
SHARED = DATA / "torchscript_shared.pt"
STATE = {
    "tied": (torch.float32, (1,), 0, [1.5, -2.0]), "view": (torch.int16, (1, 4), 1, [[1, 5, 9], [2, 6, 10]]),
    "whole": (torch.int16, (4, 1), 0, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]), "empty": (torch.float32, (3, 1), 0, []),
    "a.w": (torch.float32, (1,), 0, [1.5, -2.0]), "a.c": (torch.complex64, (2, 1), 0, [[1 + 2j, 3 - 4j]]),
    "b.w": (torch.float32, (1,), 0, [1.5, -2.0]), "b.c": (torch.complex64, (2, 1), 0, [[1 + 2j, 3 - 4j]]), "n": (torch.float64, (), 0, 7.25),
}  # fmt: skip


def described(state):
    return {name: (t.dtype, t.stride(), t.storage_offset(), t.tolist()) for name, t in state.items()}


def changed(change):
    """The archive with its entries as `change(name, bytes)` gives them; None leaves one out."""
    out = io.BytesIO()
    with zipfile.ZipFile(SHARED) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def swapped(name, content):
    if name.endswith("/byteorder"):
        return b"big"
    if "/data/" not in name:
        return content
    code = {16: "f" * 4, 24: "h" * 12, 8: "d" if content == struct.pack("<d", 7.25) else "ff"}.get(len(content), "")
    return struct.pack(">" + code, *struct.unpack("<" + code, content))


class TorchScript(unittest.TestCase):
    def test_every_name_and_value(self):
        for source in (SHARED, str(SHARED), SHARED.read_bytes(), io.BytesIO(SHARED.read_bytes())):
            state = load_torchscript(source)
            self.assertEqual(described(state), STATE)
        self.assertEqual(state["tied"].data_ptr(), state["b.w"].data_ptr())
        state["view"][0, 0] = 100
        self.assertEqual(state["whole"][0, 1], 100)

    def test_modules_of_libtorch(self):
        state = load_torchscript(DATA / "libtorch_module.pt")
        layer = torch.nn.Linear(2, 3)
        layer.load_state_dict({key[3:]: value for key, value in state.items() if key.startswith("fc.")})
        self.assertEqual(layer.bias.tolist(), torch.tensor([-0.014010033570230007, 0.5606575012207031, -0.06275151669979095]).tolist())
        self.assertEqual((state["count"].item(), state["bn.running_var"].tolist(), len(state)), (7, [1, 1, 1], 11))

    def test_the_other_byte_order(self):
        self.assertEqual(described(load_torchscript(changed(swapped))), STATE)

    def test_torch_load_says_what_to_do(self):
        with self.assertRaisesRegex(RuntimeError, "TorchScript archive.*torch.io.load_torchscript"):
            torch.load(SHARED)
        with self.assertWarnsRegex(UserWarning, "torch.jit.load"):
            self.assertIsInstance(torch.load(SHARED, weights_only=False), torch.jit.ScriptModule)

    def test_other_files_and_damaged_ones(self):
        for content in (b"", b"PK\x03\x04", written({"a": torch.ones(2)}), changed(lambda name, content: None if name.endswith("constants.pkl") else content)):
            with self.assertRaises((RuntimeError, pickle.UnpicklingError)):
                load_torchscript(content)
        self.assertRaises(FileNotFoundError, load_torchscript, "/nowhere.pt")
        whole = SHARED.read_bytes()
        for end in range(100, len(whole), 211):
            with self.assertRaises((RuntimeError, pickle.UnpicklingError)):
                load_torchscript(whole[:end])
        for entry in ("/data/0", "/data/1", "/data.pkl"):
            shorter = changed(lambda name, content, entry=entry: content[: len(content) // 2] if name.endswith(entry) else content)
            with self.assertRaises((RuntimeError, pickle.UnpicklingError)):
                load_torchscript(shorter)

    def test_code_is_not_looked_at(self):
        hostile = changed(lambda name, content: b"raise SystemExit" if "/code/" in name else content)
        self.assertEqual(described(load_torchscript(hostile)), STATE)


if __name__ == "__main__":
    unittest.main()
