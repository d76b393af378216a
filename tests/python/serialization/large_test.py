"""Files of more than four gigabytes, where sizes and offsets go into the wider fields of archives. They are sparse, so they take no disk;
the long tier of the tests (CRESSET_LONG=1) runs this."""

import mmap
import os
import resource
import tempfile
import unittest
import zipfile

import cresset as torch

from .checkpoint_test import HAS_TORCH

SIZE = (4 << 30) + (1 << 20) + 8


class Sparse:
    """A file whose blocks of zeros are holes."""

    def __init__(self, path):
        self.file, self.at = open(path, "wb"), 0

    def write(self, data):
        if data.count(0) != len(data):
            self.file.seek(self.at)
            self.file.write(data)
        self.at += len(data)
        return len(data)

    def close(self):
        self.file.truncate(self.at)
        self.file.close()


@unittest.skipUnless(os.environ.get("CRESSET_LONG"), "runs in the long tier: CRESSET_LONG=1")
class Large(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a.pt")
        # Private pages that were never written are all the one page of zeros.
        memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.large = torch.frombuffer(memory, dtype=torch.uint8)
        self.large[0], self.large[-1] = 1, 2

    def save(self, **options):
        sink = Sparse(self.path)
        torch.save({"large": self.large, "small": torch.arange(5)}, sink, **options)
        sink.close()
        self.assertLess(os.stat(self.path).st_blocks * 512, 100 << 20)

    def check(self, loaded):
        self.assertEqual((loaded["large"].shape, loaded["large"][0].item(), loaded["large"][-1].item()), ((SIZE,), 1, 2))
        self.assertEqual(loaded["small"].tolist(), [0, 1, 2, 3, 4])

    def test_archives(self):
        self.save()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.check(torch.load(self.path, mmap=True))
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 10_000)
        entries = {info.filename: info for info in zipfile.ZipFile(self.path).infolist()}
        self.assertEqual(entries["archive/data/0"].file_size, SIZE)
        self.assertGreater(entries["archive/data/1"].header_offset, SIZE)
        # Bytes read the usual way from behind four gigabytes.
        place = {"cpu": "cpu"}
        with torch.serialization.skip_data():
            self.assertEqual(torch.load(self.path, map_location=place)["large"].shape, (SIZE,))
        if HAS_TORCH:
            import torch as peer

            self.check(peer.load(self.path, mmap=True))

    def test_before_archives(self):
        self.save(_use_new_zipfile_serialization=False)
        with torch.serialization.skip_data():
            self.assertEqual(torch.load(self.path)["large"].shape, (SIZE,))
        self.assertEqual(torch.io.inspect.inspect(self.path)["tensors"][0]["nbytes"], SIZE)

    def test_checksums(self):
        """Python's own reader of archives agrees with the sum over all bytes."""
        self.save()
        with zipfile.ZipFile(self.path) as archive, archive.open("archive/data/0") as entry:
            while entry.read(64 << 20):
                pass


if __name__ == "__main__":
    unittest.main()
