"""torch.hub: files by URL, and functions of folders."""

import hashlib
import io
import os
import pickle
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

import cresset as torch
from cresset import hub


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name
        self.addCleanup(hub.set_dir, hub.get_dir())
        hub.set_dir(os.path.join(self.folder, "hub"))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path


class Files(Case):
    def test_download(self):
        source, target = self.write("a", "some text"), os.path.join(self.folder, "b")
        digest = hashlib.sha256(b"some text").hexdigest()
        hub.download_url_to_file("file://" + source, target, digest[:8], progress=False)
        with open(target) as file:
            self.assertEqual(file.read(), "some text")
        os.remove(target)
        with self.assertRaisesRegex(RuntimeError, "invalid hash value"):
            hub.download_url_to_file("file://" + source, target, "0000", progress=False)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a"])
        self.assertRaises(OSError, hub.download_url_to_file, f"file://{self.folder}/none", target)

    def test_checkpoints_are_kept(self):
        path = os.path.join(self.folder, "m.pt")
        torch.save({"w": torch.ones(2)}, path)
        with open(path, "rb") as file:
            named = os.path.join(self.folder, f"m-{hashlib.sha256(file.read()).hexdigest()[:8]}.pt")
        os.rename(path, named)
        for _ in range(2):  # the second time without the source
            got = hub.load_state_dict_from_url("file://" + named, progress=False, check_hash=True, weights_only=True)
            self.assertEqual(got["w"].tolist(), [1, 1])
            if os.path.exists(named):
                os.remove(named)
        self.assertEqual(os.listdir(os.path.join(hub.get_dir(), "checkpoints")), [os.path.basename(named)])

    def test_packed_checkpoints(self):
        path, packed = os.path.join(self.folder, "m.pt"), os.path.join(self.folder, "m.zip")
        torch.save({"w": torch.ones(2)}, path)
        with zipfile.ZipFile(packed, "w") as archive:
            archive.write(path, "inner.pt")
        self.assertEqual(hub.load_state_dict_from_url("file://" + packed, progress=False, file_name="x.zip")["w"].tolist(), [1, 1])

    def test_packed_checkpoints_that_are_cut(self):
        path, packed = os.path.join(self.folder, "m.pt"), os.path.join(self.folder, "m.zip")
        torch.save({"w": torch.ones(2)}, path)
        with zipfile.ZipFile(packed, "w") as archive:
            archive.write(path, "inner.pt")
        with open(packed, "rb") as file:
            whole = file.read()
        for size in range(len(whole)):
            with open(os.path.join(self.folder, "cut"), "wb") as file:
                file.write(whole[:size])
            with self.assertRaises((RuntimeError, EOFError, pickle.UnpicklingError), msg=size):
                hub.load_state_dict_from_url(f"file://{self.folder}/cut", model_dir=os.path.join(self.folder, str(size)), progress=False)

    def test_repositories_that_are_cut(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("someone-net-0123/hubconf.py", CONFIG)
            archive.writestr("someone-net-0123/beside.py", "def twice(x): return 2 * x")
        whole = packed.getvalue()

        def load(content):
            def download(url, to, **_):
                with open(to, "wb") as file:
                    file.write(content)

            with mock.patch.object(hub, "download_url_to_file", download):
                return hub.load("someone/net:main", "net", 3, trust_repo=True, force_reload=True, verbose=False)

        self.assertEqual(load(whole), 6)
        kept = os.path.join(hub.get_dir(), "someone_net_main")
        for size in range(len(whole)):
            with self.assertRaisesRegex(RuntimeError, "someone/net:main is damaged", msg=size):
                load(whole[:size])
            self.assertEqual(os.listdir(hub.get_dir()).count("someone_net_main"), 1)
            self.assertEqual(sorted(f for f in os.listdir(kept) if f.endswith(".py")), ["beside.py", "hubconf.py"])
        with self.assertRaisesRegex(RuntimeError, "damaged"):
            load(b"PK\x05\x06" + bytes(18))  # no files

    def test_folders(self):
        with mock.patch.object(hub, "_dir", None), mock.patch.dict(os.environ, {"TORCH_HOME": "/a/b"}):
            self.assertEqual(hub.get_dir(), "/a/b/hub")


CONFIG = """
dependencies = ["math"]
from beside import twice
def net(x, *, more=0):
    "doubles"
    return twice(x) + more
def _hidden():
    pass
"""


class Folders(Case):
    def setUp(self):
        super().setUp()
        self.write("hubconf.py", CONFIG)
        self.write("beside.py", "def twice(x):\n    return 2 * x\n")
        self.addCleanup(sys.modules.pop, "beside", None)

    def test_functions(self):
        self.assertEqual(hub.list(self.folder), ["twice", "net"])
        self.assertEqual(hub.help(self.folder, "net"), "doubles")
        self.assertEqual(hub.load(self.folder, "net", 3, more=1, source="local"), 7)
        self.assertNotIn(self.folder, sys.path)

    def test_refusals(self):
        self.assertRaises(ValueError, hub.load, self.folder, "net", source="elsewhere")
        self.assertRaises(RuntimeError, hub.load, self.folder, "nobody", source="local")
        self.assertRaises(ValueError, hub.load, "no repository", "net")
        self.write("hubconf.py", "dependencies = ['no_such_package']")
        with self.assertRaisesRegex(RuntimeError, "Missing dependencies: no_such_package"):
            hub.list(self.folder)
        os.remove(os.path.join(self.folder, "hubconf.py"))
        self.assertRaises(FileNotFoundError, hub.load, self.folder, "net", source="local")

    def test_code_of_others_runs_only_where_it_is_trusted(self):
        def unpacked(url, dst, **named):
            with zipfile.ZipFile(dst, "w") as archive:
                for name in ("hubconf.py", "beside.py"):
                    archive.write(os.path.join(self.folder, name), f"top/{name}")

        with mock.patch.object(hub, "download_url_to_file", unpacked), mock.patch("builtins.input", return_value="n") as asked:
            self.assertRaises(RuntimeError, hub.load, "owner/repo:v1", "net", 1)
            self.assertEqual(hub.load("owner/repo:v1", "net", 1, trust_repo=True, verbose=False), 2)
            self.assertEqual(hub.load("owner/repo:v1", "net", 1, verbose=False), 2)  # trusted from now on
            self.assertEqual(asked.call_count, 1)
            self.assertRaises(ValueError, hub.load, "other/repo:v1", "net", trust_repo="maybe")


class Throughput(unittest.TestCase):
    def test_calls_are_counted(self):
        calls = []
        bench = torch.utils.ThroughputBenchmark(lambda x, y=0: calls.append((x, y)))
        self.assertRaises(RuntimeError, bench.benchmark)
        bench.add_input(1)
        bench.add_input(2, y=3)
        stats = bench.benchmark(2, 3, 20)
        self.assertEqual((len(calls), set(calls), stats.num_iters), (26, {(1, 0), (2, 3)}, 20))
        self.assertTrue(stats.latency_avg_ms > 0 and stats.iters_per_second > 0 and "Total time" in repr(stats))
        failing = torch.utils.ThroughputBenchmark(lambda: 1 // 0)
        failing.add_input()
        self.assertRaises(ZeroDivisionError, failing.benchmark)


if __name__ == "__main__":
    unittest.main()
