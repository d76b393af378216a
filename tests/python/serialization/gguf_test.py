"""GGUF: blocks against what another reader makes of them, facts, and files that lie."""

import io
import os
import struct
import tempfile
import unittest

import cresset as torch

from .checkpoint_test import DATA

QUANTISED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")


def text(value):
    return struct.pack("<Q", len(value)) + value


def row(name, sizes, kind, offset):
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)


def file_of(rows=(), data=b"", facts=(), version=3, counts=None, alignment=32):
    counts = counts or (len(rows), len(facts))
    head = struct.pack("<4sIQQ", b"GGUF", version, *counts) + b"".join(facts) + b"".join(rows)
    return head + bytes(-len(head) % alignment) + data


class Contents(unittest.TestCase):
    def test_blocks(self):
        for source, options in ((DATA / "quantised.gguf", {}), (DATA / "quantised.gguf", {"mmap": True}), ((DATA / "quantised.gguf").read_bytes(), {})):
            tensors = torch.io.load_gguf(source, **options)
            for name in QUANTISED:
                self.assertEqual((tensors[name].dtype, tensors[name].dim()), (torch.float32, 2))
                self.assertTrue(torch.equal(tensors[name], tensors[f"{name} as floats"]), name)
            self.assertEqual((tensors["half"].dtype, tensors["half"].tolist()), (torch.float16, [[0, 1, 2], [3, 4, 5]]))
            self.assertEqual((tensors["bfloat16"].dtype, tensors["bfloat16"].tolist()), (torch.bfloat16, [[1, -2]]))
            self.assertEqual((tensors["int32"].dtype, tensors["int32"].tolist()), (torch.int32, list(range(6))))

    def test_q8_k(self):
        content = file_of([row(b"w", (256,), 15, 0)], struct.pack("<f256b", 0.5, *range(-128, 128)) + bytes(32))
        self.assertEqual(torch.io.load_gguf(content)["w"].tolist(), [i / 2 for i in range(-128, 128)])

    def test_facts(self):
        file = torch.io.gguf.GGUFFile(DATA / "quantised.gguf")
        facts = dict(file.metadata)
        self.assertEqual(facts.pop("numbers").tolist(), [1, -2, 3])
        self.assertEqual(
            facts, {"general.architecture": "test", "general.name": "blocks of noise", "texts": ["a", "", "é"], "rate": 1.5, "truth": True, "large": 2**63}
        )
        info = file.info("Q4_K")
        self.assertEqual((info.shape, info.type, info.nbytes), (torch.Size([2, 256]), "Q4_K", 288))
        with self.assertRaises(KeyError):
            file.get_tensor("nowhere")

    def test_mapped_tensors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.gguf")
            with open(path, "wb") as file:
                file.write(file_of([row(b"w", (2,), 0, 0)], struct.pack("<2f", 1, 2)))
            mapped = torch.io.gguf.GGUFFile(path, mmap=True).get_tensor("w")
            mapped.add_(1)
            self.assertEqual(mapped.tolist(), [2, 3])
            self.assertEqual(torch.io.load_gguf(path)["w"].tolist(), [1, 2])

    def test_other_alignment(self):
        fact = text(b"general.alignment") + struct.pack("<II", 4, 8)
        content = file_of([row(b"w", (1,), 0, 8)], bytes(8) + struct.pack("<f", 3), [fact], alignment=8)
        self.assertEqual(torch.io.load_gguf(content)["w"].tolist(), [3])


class Damage(unittest.TestCase):
    def refused(self, content, message):
        with self.assertRaisesRegex(RuntimeError, message):
            torch.io.load_gguf(content)

    def test_lies(self):
        data = bytes(64)
        self.refused(b"GGML" + bytes(20), "does not start")
        self.refused(file_of(version=1), "version 1")
        self.refused(struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "big-endian")
        self.refused(file_of(counts=(2**60, 0)), "more than fit")
        self.refused(file_of(counts=(0, 2**60)), "more than fit")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<IIQ", 9, 4, 2**61)]), "more than fit")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<IIQ", 9, 8, 2**50)]), "more than fit")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<IIQ", 9, 9, 0)]), "a list holds")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<IQ", 8, 2**40)]), "truncated")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<I", 13) + bytes(9)]), "unknown type 13")
        self.refused(file_of(facts=[text(b"a") + struct.pack("<IB", 7, 1)] * 2), "twice")
        self.refused(file_of([row(b"w", (1,), 0, 0)] * 2, data), "twice")
        self.refused(file_of([row(b"w", (4,), 0, 0), row(b"v", (4,), 0, 0)], data), "over each other")
        self.refused(file_of([row(b"w", (17,), 0, 0)], data), "beyond the end")
        self.refused(file_of([row(b"w", (1,), 0, 64)], data), "beyond the end")
        self.refused(file_of([row(b"w", (1,), 0, 2**63)], data), "beyond the end")
        self.refused(file_of([row(b"w", (1,), 0, 4)], data), "multiple of 32")
        self.refused(file_of([row(b"w", (2**62, 2**62), 0, 0)], data), "too large")
        self.refused(file_of([row(b"w", (2**62,), 0, 0)], data), "too large")
        self.refused(file_of([row(b"w", (33,), 2, 0)], data), "multiples of 32")
        self.refused(file_of([row(b"w", (1,) * 9, 0, 0)], data), "9 dimensions")
        self.refused(file_of([row(b"w", (1,), 4, 0)], data), "unknown type 4")
        self.refused(file_of([row(b"w", (32,), 20, 0)], data), "IQ4_NL, which is not read")
        self.refused(file_of(facts=[text(b"general.alignment") + struct.pack("<II", 4, 24)]), "alignment")

    def test_cut_short(self):
        content = (DATA / "quantised.gguf").read_bytes()
        for size in (*range(0, 2000, 7), len(content) - 64):
            self.refused(content[:size], "truncated|beyond|fit|start")

    def test_flipped_bits(self):
        content = (DATA / "quantised.gguf").read_bytes()
        for at in range(0, 2200):
            damaged = bytearray(content)
            damaged[at] ^= 1 << at % 8
            try:
                torch.io.load_gguf(io.BytesIO(bytes(damaged)))
            except RuntimeError:
                pass


if __name__ == "__main__":
    unittest.main()
