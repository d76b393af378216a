"""Damaged checkpoints: every cut and many flipped bits are read or refused, and never more than that."""

import io
import pickle
import random
import resource
import unittest
import warnings
import zipfile

import cresset as torch

from .checkpoint_test import DATA, replaced, written

REFUSALS = (pickle.UnpicklingError, RuntimeError, EOFError, UnicodeDecodeError, TypeError, ValueError, OverflowError, MemoryError)


def outcome(content):
    """Whether the bytes were read; an exception of any other kind fails the test."""
    try:
        torch.load(io.BytesIO(content))
    except REFUSALS:
        return False
    return True


class Damage(unittest.TestCase):
    def setUp(self):
        self.files = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.pt"))}
        if not hasattr(torch.nn, "Parameter"):
            del self.files["everything.pt"]
        self.files["own.pt"] = written({"a": torch.arange(10.0), "b": [1, "x", (2.5, None)], "c": torch.ones(2, dtype=torch.uint16)})
        self.random = random.Random(5)

    def test_cut_short(self):
        for name, content in self.files.items():
            for size in sorted({*range(0, len(content), max(1, len(content) // 150)), len(content) - 1}):
                self.assertFalse(outcome(content[:size]), (name, size))

    def test_flipped_bits(self):
        for content in self.files.values():
            for _ in range(300):
                damaged = bytearray(content)
                for _ in range(self.random.choice((1, 1, 2, 8))):
                    damaged[self.random.randrange(len(damaged))] ^= 1 << self.random.randrange(8)
                outcome(bytes(damaged))

    def test_flipped_bits_of_the_pickle(self):
        """With a new checksum, so that the reader of pickles sees them."""
        for name, content in self.files.items():
            if name == "legacy.pt":
                continue
            archive = zipfile.ZipFile(io.BytesIO(content))
            path = next(entry for entry in archive.namelist() if entry.endswith("data.pkl"))
            pickled = archive.read(path)
            for _ in range(400):
                damaged = bytearray(pickled)
                for _ in range(self.random.choice((1, 1, 2, 5))):
                    damaged[self.random.randrange(len(damaged))] = self.random.choice((self.random.randrange(256), *b"0(.tRbQ2esuahjqr)]}"))
                outcome(replaced(content, bytes(damaged)))

    def test_pickles_of_noise(self):
        for _ in range(2000):
            noise = bytes(self.random.choice(b"\x80\x02]}(tRbQ2esuahjqr)NKMJGX\x8a\x85\x86\x87\x88\x89.01cl\x8f\x90\x91\x93\x94") for _ in range(60))
            outcome(replaced(self.files["own.pt"], noise))

    def test_memory_is_bounded(self):
        """Small files that claim large contents do not fill the memory."""
        double = b"\x80\x02]q\x00" + b"(" + b"K\x01" * 2000 + b"e" + b"c__builtin__\nset\nq\x01(" + b"h\x01h\x00\x85R" * 4000 + b"t."
        huge = b"\x80\x02B\xff\xff\xff\x7f."
        many = b"\x80\x02" + b"X\xff\xff\xff\xffa" + b"."
        numbered = b"\x80\x02Nr\xff\xff\xff\x7f."
        claims = zipfile.ZipFile(io.BytesIO(self.files["own.pt"])).read("archive/data.pkl").replace(b"K\x0a", b"J\xff\xff\xff\x7f")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for pickled in (double, huge, many, numbered, claims):
            self.assertFalse(outcome(replaced(self.files["own.pt"], pickled)))
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 200_000)

    def test_tensors_beyond_their_storage(self):
        content = self.files["own.pt"]
        pickled = zipfile.ZipFile(io.BytesIO(content)).read("archive/data.pkl")
        sizes = pickled.index(b"K\x0a\x85")
        for other in (b"K\x0b\x85", b"J\xff\xff\xff\xff\x85", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"):
            self.assertFalse(outcome(replaced(content, pickled[:sizes] + other + pickled[sizes + 3 :])), other)
        self.assertTrue(outcome(replaced(content, pickled[:sizes] + b"K\x09\x85" + pickled[sizes + 3 :])))


class Archives(unittest.TestCase):
    """Zip archives that lie."""

    def setUp(self):
        self.content = written({"a": torch.arange(10.0)})

    def test_compressed_entries(self):
        out = io.BytesIO()
        old = zipfile.ZipFile(io.BytesIO(self.content))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        with self.assertRaisesRegex(RuntimeError, "compressed"):
            torch.load(io.BytesIO(out.getvalue()))

    def test_missing_and_doubled_entries(self):
        old = zipfile.ZipFile(io.BytesIO(self.content))
        for missing in ("archive/data.pkl", "archive/data/0"):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as new:
                for name in old.namelist():
                    if name != missing:
                        new.writestr(name, old.read(name))
            with self.assertRaisesRegex(RuntimeError, missing.split("/", 1)[1]):
                torch.load(io.BytesIO(out.getvalue()))
        out = io.BytesIO(self.content)
        with warnings.catch_warnings(), zipfile.ZipFile(out, "a") as new:
            warnings.simplefilter("ignore")
            new.writestr("archive/data/0", b"twice")
        with self.assertRaisesRegex(RuntimeError, "twice"):
            torch.load(io.BytesIO(out.getvalue()))

    def test_overlapping_entries(self):
        directory = self.content.index(b"PK\x01\x02")
        second = self.content.index(b"PK\x01\x02", directory + 4)
        damaged = bytearray(self.content)
        damaged[second + 42 : second + 46] = damaged[directory + 42 : directory + 46]
        self.assertFalse(outcome(bytes(damaged)))

    def test_wrong_checksum_of_the_pickle(self):
        at = self.content.index(b"storage")
        damaged = self.content[:at] + b"Storage" + self.content[at + 7 :]
        with self.assertRaisesRegex(RuntimeError, "checksum"):
            torch.load(io.BytesIO(damaged))

    def test_trailing_bytes_and_comments(self):
        self.assertEqual(torch.load(io.BytesIO(self.content + b"x" * 100))["a"][3].item(), 3)


if __name__ == "__main__":
    unittest.main()
