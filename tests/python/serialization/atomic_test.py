"""Writing: a file is replaced whole or not at all, whatever fails; damage to what was written is noticed when it is read."""

import io
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

import cresset as torch

from .checkpoint_test import written

WRITERS = {
    "zip": lambda value, path: torch.save({"a": value}, path),
    "legacy": lambda value, path: torch.save({"a": value}, path, _use_new_zipfile_serialization=False),
    "safetensors": lambda value, path: torch.io.safetensors.save_file({"a": value}, path),
    "npy": lambda value, path: torch.io.save_npy(value, path),
    "npz": lambda value, path: torch.io.save_npz({"a": value}, path),
}
READERS = {
    "zip": lambda path: torch.load(path)["a"],
    "legacy": lambda path: torch.load(path)["a"],
    "safetensors": lambda path: torch.io.safetensors.load_file(path)["a"],
    "npy": lambda path: torch.io.load_npy(path),
    "npz": lambda path: torch.io.load_npz(path)["a"],
}


class Atomic(unittest.TestCase):
    def test_a_disk_that_fills_leaves_the_old_file(self):
        """The limit on the size of files stands for the disk: writes beyond it fail."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        for kind, write in WRITERS.items():
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "a")
                write(torch.arange(3.0), path)
                try:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
                    with self.assertRaisesRegex((RuntimeError, OSError), "too large"):
                        write(torch.ones(100_000), path)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)
                self.assertEqual(os.listdir(folder), ["a"])
                self.assertEqual(READERS[kind](path).tolist(), [0, 1, 2])

    def test_a_full_device_is_an_error(self):
        for kind, write in WRITERS.items():
            with self.subTest(kind), self.assertRaisesRegex(RuntimeError, "No space left"):
                write(torch.ones(10), "/dev/full")

    def test_a_writer_that_is_killed_leaves_the_old_file(self):
        program = """
            import os, signal, sys
            import cresset as torch
            class Last:
                def __reduce__(self):
                    os.kill(os.getpid(), signal.SIGKILL)
            torch.save([torch.ones(100_000), Last()], sys.argv[1])
        """
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            torch.save(1, path)
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), path], check=False)
            self.assertEqual(done.returncode, -9)
            self.assertEqual(torch.load(path), 1)

    def test_a_sink_that_fails(self):
        class Sink:
            def write(self, data):
                raise OSError("no more room")

        for legacy in (False, True):
            with self.assertRaisesRegex(OSError, "no more room"):
                torch.save(torch.ones(3), Sink(), _use_new_zipfile_serialization=not legacy)

    def test_readers_see_the_old_file_or_the_new(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            torch.save(torch.zeros(1000), path)
            with open(path, "rb") as old:
                torch.save(torch.ones(1000), path)
                self.assertEqual(torch.load(old).sum().item(), 0)
            self.assertEqual(torch.load(path).sum().item(), 1000)

    def test_rights_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            torch.save(1, path)
            os.chmod(path, 0o600)
            torch.save(2, path)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)


class Checksums(unittest.TestCase):
    def test_every_entry_has_one(self):
        """Of all sizes, for the sum is taken in parts and by several ways."""
        for size in (0, 1, 127, 128, 129, 1000, 131_071, 131_072, 131_073, 400_000):
            archive = zipfile.ZipFile(io.BytesIO(written(torch.arange(size, dtype=torch.float32))))
            self.assertIsNone(archive.testzip(), size)

    def test_damaged_tensors_are_refused(self):
        content = written({"a": torch.arange(300_000), "b": torch.ones(3)})
        start = next(i for i in range(0, len(content), 64) if content[i : i + 16] == bytes(8) + b"\1" + bytes(7))
        for at in (0, 8, 700_001, 2_399_999):
            damaged = bytearray(content)
            damaged[start + at] ^= 4
            with self.assertRaisesRegex(RuntimeError, "checksum of storage '0'"):
                torch.load(io.BytesIO(bytes(damaged)))
            with self.assertRaisesRegex(RuntimeError, "checksum of storage '0'"):
                torch.load(io.BytesIO(bytes(damaged)), weights_only=False)
        try:
            torch.serialization.set_crc32_options(False)
            self.assertEqual(torch.load(io.BytesIO(bytes(damaged)))["b"].tolist(), [1, 1, 1])
        finally:
            torch.serialization.set_crc32_options(True)

    def test_files_without(self):
        try:
            torch.serialization.set_crc32_options(False)
            content = written(torch.ones(3))
        finally:
            torch.serialization.set_crc32_options(True)
        self.assertEqual(zipfile.ZipFile(io.BytesIO(content)).infolist()[4].CRC, 0)
        self.assertEqual(torch.load(io.BytesIO(content)).tolist(), [1, 1, 1])

    def test_record_of_the_byte_order(self):
        for without in (False, True):
            buffer = io.BytesIO()
            torch.save(torch.ones(2), buffer, _disable_byteorder_record=without)
            self.assertEqual("archive/byteorder" in zipfile.ZipFile(buffer).namelist(), not without)
            self.assertEqual(torch.load(io.BytesIO(buffer.getvalue())).tolist(), [1, 1])


if __name__ == "__main__":
    unittest.main()
