"""Names of torch.compiler and settings: artifacts of the cache, saved functions, what loggers are left out, functions that are turned off."""

import io
import logging
import os
import random
import subprocess
import sys
import tempfile
import unittest

import _cresset_compile

import cresset as torch
from cresset import nn

LOG = logging.getLogger("cresset.tests.compiler_names")
AVAILABLE = _cresset_compile.machine_code()[0]

MAKES = """
import sys, cresset as torch
f = torch.compile(lambda x: (x.exp() * 2 + x).tanh() * 0.37 - x)
x = torch.linspace(-1, 1, 4096)
if len(sys.argv) > 2:
    info = torch.compiler.load_cache_artifacts(open(sys.argv[2], "rb").read())
    print(len(info.inductor_artifacts))
torch.save(f(x), sys.argv[1])
"""
SAVES = MAKES + "open(sys.argv[1] + '.artifacts', 'wb').write(torch.compiler.save_cache_artifacts()[0])\n"
COUNTS = MAKES + "import _cresset_compile; print(_cresset_compile.machine_code()[1:3])\n"


def ran(program, *args, **environment):
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout.split("\n")


class Artifacts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def saved(self):
        ran(SAVES, self.path("a"), CRESSET_CODE_CACHE=self.path("first"))
        with open(self.path("a.artifacts"), "rb") as file:
            return file.read()

    @unittest.skipUnless(AVAILABLE, "no machine code in this build, or on this CPU")
    def test_another_process_compiles_nothing_and_gives_the_same_bits(self):
        self.saved()
        for cache in (self.path("second"), "0"):  # with a folder of its own, and without any
            loaded, counts, *_ = ran(COUNTS, self.path("b"), self.path("a.artifacts"), CRESSET_CODE_CACHE=cache)
            self.assertGreater(int(loaded), 0)
            self.assertTrue(counts.startswith("(0, "), counts)
            self.assertTrue(torch.equal(torch.load(self.path("a")), torch.load(self.path("b"))))
        counts, *_ = ran(COUNTS, self.path("c"), CRESSET_CODE_CACHE=self.path("second"))  # what was loaded is on disk
        self.assertTrue(counts.startswith("(0, "), counts)

    @unittest.skipUnless(AVAILABLE, "no machine code in this build, or on this CPU")
    def test_damaged_bytes_are_refused_and_nothing_is_taken(self):
        good = self.saved()
        generator = random.Random(0)
        bad = [good[:n] for n in (0, 4, 8, 20, len(good) // 2, len(good) - 1) if n != 8] + [
            good + b"more",
            b"CRSARTF1" + b"\xff" * 40,
            b"\x80\x04cos\nsystem\n",
        ]
        for _ in range(200):
            at, damaged = generator.randrange(len(good)), bytearray(good)
            damaged[at] ^= 1 << generator.randrange(8)
            bad.append(bytes(damaged))
        before = torch.compiler.save_cache_artifacts()
        for content in bad:
            with self.assertRaisesRegex(RuntimeError, "load_cache_artifacts: "):
                torch.compiler.load_cache_artifacts(content)
        self.assertEqual(torch.compiler.save_cache_artifacts(), before)
        with self.assertRaises(TypeError):
            torch.compiler.load_cache_artifacts("text")
        self.assertEqual(torch.compiler.load_cache_artifacts(b"CRSARTF1").artifacts["inductor"], [])

    @unittest.skipUnless(AVAILABLE, "no machine code in this build, or on this CPU")
    def test_info_names_what_there_is(self):
        torch.compile(lambda x: (x.exp() * 3 + x).tanh() * 0.125 - x)(torch.linspace(-1, 1, 4096))
        content, info = torch.compiler.save_cache_artifacts()
        self.assertIsInstance(content, bytes)
        self.assertFalse(info.empty())
        self.assertEqual(torch.compiler.load_cache_artifacts(content).inductor_artifacts, info.inductor_artifacts)
        self.assertEqual([info.autotune_artifacts, info.aot_autograd_artifacts, info.pgo_artifacts, info.precompile_artifacts], [[], [], [], []])

    @unittest.skipUnless(AVAILABLE, "no machine code in this build, or on this CPU")
    def test_caches_that_are_turned_off_or_tagged(self):
        off, tagged = "torch.compiler.config.force_disable_caches = True\n", "torch.compiler.config.cache_key_tag = 'mine'\n"
        with_setting = lambda setting: COUNTS.replace("f = torch", setting + "f = torch", 1)  # noqa: E731
        cache = {"CRESSET_CODE_CACHE": self.path("cache")}
        made = lambda program: not ran(program, self.path("x"), **cache)[0].startswith("(0, ")  # noqa: E731
        self.assertEqual([made(COUNTS), made(COUNTS), made(with_setting(off)), made(with_setting(tagged)), made(with_setting(tagged)), made(COUNTS)],
                         [True, False, True, True, False, False])  # fmt: skip


class Saved(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "f.bin")

    def test_functions_and_modules(self):
        model, scale = nn.Sequential(nn.Linear(4, 3), nn.GELU()).eval(), torch.tensor(3.0)

        def function(x, *, y):
            return {"sum": x * scale + y, "both": (x, y.sin())}

        x, y = torch.linspace(-1, 1, 8).reshape(2, 4), torch.ones(4)
        for call, args, kwargs in ((function, (x,), {"y": y}), (model, (x,), {})):
            compiled = torch.compile(call, fullgraph=True).aot_compile((args, kwargs))
            compiled.save_compiled_function(self.path)
            with open(self.path, "rb") as file:
                loaded = torch.compiler.load_compiled_function(file)
            for one in (compiled, loaded):
                torch.testing.assert_close(one(*args, **kwargs), call(*args, **kwargs))

    def test_other_arguments_and_files(self):
        compiled = torch.compile(lambda x: x.sin() + 1, fullgraph=True).aot_compile(((torch.zeros(3),), {}))
        with self.assertRaises((RuntimeError, ValueError)):
            compiled(torch.zeros(4))
        with self.assertRaisesRegex(RuntimeError, "fullgraph=True"):
            torch.compile(torch.sin).aot_compile(((torch.zeros(3),), {}))
        compiled.save_compiled_function(self.path)
        with open(self.path, "rb") as file:
            good = file.read()
        for bad in (b"", b"no archive", good[: len(good) // 2], good.replace(b"sin", b"cos")):
            with self.assertRaises((RuntimeError, ValueError)):
                torch.compiler.load_compiled_function(io.BytesIO(bad))
        with self.assertRaisesRegex(TypeError, "open for reading bytes"):
            torch.compiler.load_compiled_function(io.StringIO("text"))
        with self.assertRaises(NotImplementedError):
            torch.compiler.load_compiled_function(io.BytesIO(good), external_data={"a": 1})


class Settings(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def test_loggers_that_are_left_out(self):
        def f(x):
            LOG.warning("a number: %s", 3)
            return x + 1

        with self.assertRaises(torch._dynamo.exc.Unsupported):
            torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1))
        settings = [{"ignore_logger_methods": {logging.Logger.warning}}, {"ignore_logger_methods": {LOG.warning}}, {"ignore_logging_functions": {LOG.warning}}]
        for setting in settings:
            torch._dynamo.reset()
            with torch._dynamo.config.patch(setting), self.assertNoLogs(LOG):
                self.assertEqual(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).item(), 2.0)

    def test_functions_that_are_turned_off(self):
        counter = torch._dynamo.testing.CompileCounter()

        def f(x):
            return x.add_(1)

        plain, whole = torch.compile(f, backend=counter), torch.compile(f, backend=counter, fullgraph=True)
        model = torch.compile(nn.ReLU(), backend=counter, fullgraph=True)
        whole(torch.ones(1))
        with torch._dynamo.config.patch(disable=True):
            self.assertEqual(plain(torch.ones(1)).item(), 2.0)
            x = torch.ones(1)
            for call in (whole, model):
                with self.assertRaisesRegex(RuntimeError, "no graph"):
                    call(x)
            self.assertEqual(x.item(), 2.0)  # it has run all the same
            with torch.compiler.set_stance("fail_on_recompile"):
                self.assertEqual(plain(torch.ones(1)).item(), 2.0)
        self.assertEqual(counter.frame_count, 1)
        self.assertEqual(whole(torch.ones(1)).item(), 2.0)
        plain(torch.ones(1))
        self.assertEqual(counter.frame_count, 2)

    def test_sources_whose_sizes_change(self):
        counter = torch._dynamo.testing.CompileCounter()
        with torch.compiler.config.patch(dynamic_sources="L['x'],L['z']"):
            compiled = torch.compile(lambda x, y: x * 2 + y.sum(), backend=counter)
            for n in (3, 4, 5):
                compiled(torch.ones(n), torch.ones(2))
        self.assertEqual(counter.frame_count, 1)

    def test_names(self):
        self.assertEqual([name for name in torch.compiler.__all__ if not hasattr(torch.compiler, name)], [])
        with self.assertRaises(AttributeError):
            torch.compiler.config.no_such_setting = 1
        with self.assertWarns(UserWarning):
            torch.compiler.config.job_id = "a"
        torch.compiler.config.job_id = None


if __name__ == "__main__":
    unittest.main()
