"""Archives of records: what `torch.save` writes is read by names, and what is written is read by `torch.load`."""

import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest

import cresset as torch

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Archives(unittest.TestCase):
    def setUp(self):
        self.buffer = io.BytesIO()

    def test_records_of_a_saved_tensor(self):
        torch.save({"a": torch.arange(5.0)}, self.buffer)
        reader = torch.PyTorchFileReader(self.buffer)
        self.assertLessEqual({"data.pkl", "data/0", "version", "byteorder"}, set(reader.get_all_records()))
        self.assertEqual(reader.get_record("version"), b"3\n")
        self.assertEqual((reader.get_record_size("data/0"), reader.has_record("data/0"), reader.has_record("data/1")), (20, True, False))
        self.assertEqual(reader.get_storage_from_record("data/0", 5, torch.float32).tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(reader.get_storage_from_record("data/0", 20, torch.UntypedStorage).dtype, torch.uint8)
        begins = reader.get_record_offset("data/0")
        self.assertEqual((self.buffer.getvalue()[begins : begins + 20], begins % 64), (reader.get_record("data/0"), 0))
        self.assertLess(reader.get_record_header_offset("data/0"), begins)

    def test_mistakes(self):
        with self.assertRaisesRegex(RuntimeError, "expected an archive"):
            torch.PyTorchFileReader(io.BytesIO(b"text"))
        torch.save(1, self.buffer)
        reader = torch.PyTorchFileReader(self.buffer)
        with self.assertRaisesRegex(RuntimeError, "no record 'x'"):
            reader.get_record("x")
        with self.assertRaisesRegex(RuntimeError, "expected 100 elements"):
            reader.get_storage_from_record("data.pkl", 100, torch.float64)
        writer = torch.PyTorchFileWriter(io.BytesIO())
        writer.write_record("a", b"1", 1)
        with self.assertRaisesRegex(RuntimeError, "written before"):
            writer.write_record("a", b"1", 1)
        with self.assertRaisesRegex(RuntimeError, "expected 5 bytes"):
            writer.write_record("b", b"1", 5)

    def test_what_is_written_is_read(self):
        writer = torch.PyTorchFileWriter(self.buffer)
        writer.write_record("note", "text", 4)
        writer.write_record("numbers", torch.arange(4).untyped_storage(), 32)
        self.assertEqual(writer.get_all_written_records(), {"note", "numbers"})
        writer.write_end_of_file()
        reader = torch.PyTorchFileReader(self.buffer)
        self.assertEqual((reader.get_record("note"), reader.serialization_id()), (b"text", writer.serialization_id()))
        self.assertEqual(reader.get_storage_from_record("numbers", 4, torch.int64).tolist(), [0, 1, 2, 3])
        self.assertEqual(reader.get_record_offset("numbers") % 64, 0)

    def test_torch_load_reads_an_archive_that_is_copied_record_by_record(self):
        torch.save({"a": torch.arange(5.0), "b": [1, "x"]}, self.buffer)
        reader = torch.PyTorchFileReader(self.buffer)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "copy.pt")
            writer = torch.PyTorchFileWriter(path)
            self.assertEqual(writer.archive_name(), "copy")
            for name in reader.get_all_records():
                data = reader.get_record(name)
                writer.write_record(name, data, len(data))
            writer.write_end_of_file()
            loaded = torch.load(path)
            self.assertEqual((loaded["a"].tolist(), loaded["b"]), ([0, 1, 2, 3, 4], [1, "x"]))
            if HAS_TORCH:
                done = subprocess.run([sys.executable, "-c", f"import torch; print(torch.load({path!r})['a'].tolist())"], capture_output=True, text=True)
                self.assertEqual(done.stdout, "[0.0, 1.0, 2.0, 3.0, 4.0]\n")


if __name__ == "__main__":
    unittest.main()
