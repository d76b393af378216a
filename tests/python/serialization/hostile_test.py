"""The zoo of hostile pickles: each is refused, and nothing that they ask for happens. Also archives that lie about what they hold."""

import io
import os
import pickle
import resource
import struct
import sys
import tempfile
import unittest
import zipfile

import cresset as torch

from . import legacy_test
from .checkpoint_test import DATA, replaced, written

sys.path.append(str(DATA))
import hostile_pickles  # noqa: E402

sys.path.remove(str(DATA))

REFUSALS = (pickle.UnpicklingError, RuntimeError, TypeError, UnicodeDecodeError)
# Audit events of Python; imports of modules that are there already tell nothing.
EVENTS = {"os.system", "os.mkdir", "os.exec", "os.posix_spawn", "os.fork", "os.kill", "os.remove", "os.rename", "os.putenv", "subprocess.Popen", "exec", "compile",
          "import", "socket.connect", "ctypes.dlopen", "pickle.find_class", "marshal.loads", "shutil.rmtree", "tempfile.mkdtemp", "webbrowser.open", "builtins.input",
          "builtins.breakpoint", "code.__new__", "function.__new__", "urllib.Request", "sqlite3.connect", "open", "pty.spawn"}  # fmt: skip
_seen = None


def _watch(event, arguments):
    if _seen is not None and event in EVENTS:
        _seen.append((event, arguments))


sys.addaudithook(_watch)


class watched:
    """Collects what happens in a `with` block."""

    def __enter__(self):
        global _seen
        _seen = self.events = []
        return self.events

    def __exit__(self, kind, value, traceback):
        global _seen
        _seen = None


class Zoo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zoo = list(hostile_pickles.zoo())
        cls.base = written(torch.arange(4.0))
        torch.load(io.BytesIO(cls.base))  # what is imported on first use

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def refused(self, title, content):
        environment = dict(os.environ)
        with watched() as events:
            try:
                value = torch.load(io.BytesIO(content), weights_only=True)
            except REFUSALS as error:
                message = str(error)
            else:
                self.fail(f"{title}: read as {value!r:.200}")
        self.assertEqual(events, [], title)
        self.assertTrue(message, title)
        self.assertEqual(os.environ, environment, title)

    def test_the_watch_sees(self):
        with watched() as events:
            os.mkdir("made")
            exec("1")
        self.assertEqual([event for event, _ in events], ["os.mkdir", "compile", "exec"])

    def test_in_archives(self):
        for title, code in self.zoo:
            self.refused(title, replaced(self.base, code))
        self.assertEqual(os.listdir("."), [])
        self.assertGreater(len(self.zoo), 800)

    def test_before_archives(self):
        storages = {"0": (4, struct.pack("<4f", *range(4)))}
        head = legacy_test.stream(None, {})
        start = head.index(b"\x80\x02N.")
        tail = legacy_test.pickled(["0"]) + struct.pack("<q", 4) + storages["0"][1]
        for title, code in self.zoo:
            self.refused(title, head[:start] + code + tail)
        self.assertEqual(os.listdir("."), [])

    def test_in_tar_archives(self):
        files = legacy_test.tar_files()
        for title, code in self.zoo:
            if not title.startswith(("reference", "size", "stride", "offset", "view")):
                self.refused(title, legacy_test.tar({**files, "pickle": code}))
        self.assertEqual(os.listdir("."), [])

    def test_the_list_for_cpp_is_of_today(self):
        lines = (DATA / "hostile_pickles.txt").read_text().splitlines()
        found = [(title.encode().decode("unicode_escape"), hostile_pickles.unpacked(code)) for title, code in (line.split("\t") for line in lines)]
        self.assertEqual(found, self.zoo)

    def test_memory_and_time_are_bounded(self):
        """Memory of each is bounded by its size, not by its claims."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for title, code in self.zoo:
            if len(code) < 10_000:
                try:
                    torch.load(io.BytesIO(replaced(self.base, code)))
                except REFUSALS:
                    pass
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 50_000)


class WholeObjects(unittest.TestCase):
    """weights_only=False: the zoo again, of which some may be read now, and nothing happens all the same."""

    setUp = Zoo.setUp

    def test_nothing_in_the_zoo_acts(self):
        base = written(torch.arange(4.0))
        torch.load(io.BytesIO(base), weights_only=False)
        environment, read = dict(os.environ), set()
        for settled in (False, True):  # at first, names of this package bring its modules
            for title, code in hostile_pickles.zoo():
                with watched() as events:
                    try:
                        torch.load(io.BytesIO(replaced(base, code)), weights_only=False)
                        read.add(title)
                    except (*REFUSALS, AttributeError, ValueError, EOFError, IndexError):
                        pass
                self.assertEqual(
                    [
                        e
                        for e, about in events
                        if not (e == "import" and about[0].startswith("cresset."))
                        and (settled or e not in ("import", "open", "compile", "marshal.loads", "exec"))
                    ],
                    [],
                    title,
                )
        self.assertEqual(os.listdir("."), [])
        self.assertEqual(os.environ, environment)
        self.assertEqual(
            [title for title in read if title.startswith(("size", "stride", "offset", "view", "conjugate", "property"))], ["size wraps around beside zero"]
        )
        self.assertLess(len(read), 40)


class Archives(unittest.TestCase):
    """Zip archives that lie. Offsets below are those of the zip format's records."""

    def setUp(self):
        self.content = bytearray(written({"a": torch.arange(10.0), "b": torch.ones(100)}))
        self.directory = self.content.index(b"PK\x01\x02")
        self.entries = [i for i in range(self.directory, len(self.content)) if self.content[i : i + 4] == b"PK\x01\x02"]
        self.end = self.content.rindex(b"PK\x05\x06")

    def refused(self, message):
        with self.assertRaisesRegex((RuntimeError, pickle.UnpicklingError), message):
            torch.load(io.BytesIO(bytes(self.content)))
        with self.assertRaisesRegex((RuntimeError, pickle.UnpicklingError), message):
            torch.load(io.BytesIO(bytes(self.content)), weights_only=False)

    def put(self, at, form, *values):
        struct.pack_into(form, self.content, at, *values)

    def test_encrypted(self):
        for entry in (self.entries[0], self.entries[4]):
            self.setUp()
            self.put(entry + 8, "<H", 0x0809)
            self.refused("encrypted")

    def test_unknown_compression(self):
        self.put(self.entries[4] + 10, "<H", 14)
        self.refused("compressed")

    def test_sizes_beyond_the_end(self):
        for size in (2**31, 2**32 - 2, len(self.content)):
            self.setUp()
            self.put(self.entries[4] + 20, "<II", size, size)
            self.refused("beyond the end")

    def test_sizes_that_differ(self):
        self.put(self.entries[4] + 20, "<I", 8)
        self.refused("do not agree")
        self.setUp()
        self.put(self.entries[4] + 20, "<II", 36, 36)
        self.refused("has 36 bytes, expected 40")

    def test_wide_sizes_without_their_field(self):
        self.put(self.entries[4] + 20, "<II", 2**32 - 1, 2**32 - 1)
        self.refused("damaged|beyond")

    def test_offsets(self):
        for offset in (2**32 - 2, len(self.content) - 1, self.directory, self.entries[4]):
            self.setUp()
            self.put(self.entries[4] + 42, "<I", offset)
            self.refused("damaged")

    def test_entries_over_each_other(self):
        """A quoted bomb: entries whose data hold the headers of others."""
        self.put(self.entries[0] + 20, "<II", self.directory - 64, self.directory - 64)
        self.refused("another entry")

    def test_header_that_says_another_name(self):
        header = struct.unpack_from("<I", self.content, self.entries[4] + 42)[0]
        self.put(header + 26, "<H", 3)
        self.refused("no header")

    def test_counts(self):
        for count in (1, 200, 65_535):
            self.setUp()
            self.put(self.end + 8, "<HH", count, count)
            self.refused("cannot hold|cut short|no data.pkl|no entry|damaged")

    def test_directory_elsewhere(self):
        for size, offset in ((2**32 - 2, self.directory), (10, self.directory), (self.end, 0), (self.end - self.directory, 2**32 - 2)):
            self.setUp()
            self.put(self.end + 12, "<II", size, offset)
            self.refused("damaged")

    def test_several_disks(self):
        self.put(self.end + 4, "<H", 3)
        self.refused("set of several")

    def test_wide_record_that_points_to_itself(self):
        tail = struct.pack("<IIQI", 0x07064B50, 0, len(self.content), 1) + bytes(self.content[self.end :])
        self.content += tail
        self.refused("damaged|zip64")

    def test_an_archive_in_an_archive(self):
        """Entries are never opened as archives, so one that contains itself is data."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("archive/data.pkl", bytes(self.content))
        self.content = bytearray(out.getvalue())
        self.refused("cannot be read")

    def test_a_bomb_of_deflate(self):
        """Compressed entries are not even opened."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data.pkl", b"N" * 100_000_000 + b".")
        self.content = bytearray(out.getvalue())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.refused("compressed")
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 20_000)

    def test_names_that_climb(self):
        for name in ("../data.pkl", "/data.pkl", "archive/../data.pkl"):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                archive.writestr(name, b"N.")
            try:
                torch.load(io.BytesIO(out.getvalue()))
            except RuntimeError:
                pass

    def test_no_regular_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(OSError):
                torch.load(folder)
            circle = os.path.join(folder, "circle")
            os.symlink(circle, circle)
            with self.assertRaises(OSError):
                torch.load(circle)
        with self.assertRaises((RuntimeError, EOFError)):
            torch.load("/dev/zero")


if __name__ == "__main__":
    unittest.main()
