"""python -m cresset and cresset.compat: PyTorch programs run with `torch` bound to Cresset."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest


def cresset(*arguments, cwd=None):
    return subprocess.run([sys.executable, "-m", "cresset", *arguments], capture_output=True, text=True, cwd=cwd)


class Alias(unittest.TestCase):
    def script(self, text, *arguments, name="program.py"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(textwrap.dedent(text))
            with open(os.path.join(folder, "neighbour.py"), "w") as file:
                file.write("import torch\nvalue = torch.ones(3).sum().item()\n")
            return cresset(path, *arguments)

    def test_a_function_stays_where_a_module_of_its_name_is_imported(self):
        done = self.script("""\
            import torch.export
            from torch.export.unflatten import FlatArgsAdapter
            from torch.export import unflatten
            import torch.export.unflatten as named
            assert callable(unflatten) and named is unflatten
            """)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_modules_are_the_same_objects(self):
        done = self.script("""\
            import torch
            import torch.nn.functional as F
            from torch import nn, optim
            from torch.autograd import Function
            import sys, cresset
            assert torch is cresset is torch.torch and F is cresset.nn.functional and nn is cresset.nn and Function is cresset.autograd.Function
            assert sys.modules["torch.nn.functional"] is sys.modules["cresset.nn.functional"]
            assert cresset.nn.functional.__spec__.name == "cresset.nn.functional"
            print(F.relu(torch.tensor([-1.0, 2.0])).tolist())
            """)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("[0.0, 2.0]\n", "", 0))

    def test_libraries_know_tensors_by_the_module_of_their_class(self):
        done = self.script("""\
            import torch, cresset
            kinds = [torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype, torch.device]
            print([f"{k.__module__}.{k.__name__}" for k in kinds])
            cresset.compat.uninstall()
            print([f"{k.__module__}.{k.__name__}" for k in kinds])
            """)
        names = ["Tensor", "nn.parameter.Parameter", "Size", "dtype", "device"]
        self.assertEqual((done.stdout, done.stderr), (f"{['torch.' + n for n in names]}\n{['cresset.' + n for n in names]}\n", ""))

    def test_connections_of_processes_are_loaded(self):
        done = cresset("-c", "import torch, multiprocessing; print(multiprocessing.connection.Connection.__name__)")
        self.assertEqual((done.stdout, done.stderr), ("Connection\n", ""))

    def test_a_plain_entry_has_the_same_modules(self):
        code = """if True:
            import sys, cresset
            sys.modules["torch"] = cresset
            import torch, torch.nn.functional as F
            from torch import nn
            assert F is cresset.nn.functional and torch.nn is nn is cresset.nn and cresset.nn.__spec__.name == "cresset.nn"
            class Program(nn.Module):
                def forward(self, x):
                    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
            print(torch.export.export(Program(), (torch.ones(2),)).module()(-torch.ones(2)).tolist())
            try:
                import torch.nothing_there
            except ModuleNotFoundError as error:
                print(error)
            """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[-2.0, -2.0]\nNo module named 'cresset.nothing_there'\n", ""))

    def test_an_installed_lightning_is_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("lightning", "pytorch_lightning"):
                os.mkdir(os.path.join(folder, name))
                with open(os.path.join(folder, name, "__init__.py"), "w") as file:
                    file.write("import torch\nmark = torch.ones(2).sum().item()\n")
            code = "import cresset.lightning, lightning, pytorch_lightning, torch; print(lightning.mark, pytorch_lightning.mark, torch is not lightning)"
            done = cresset("-c", code, cwd=folder)
            self.assertEqual((done.stdout, done.stderr), ("2.0 2.0 True\n", ""))

    def test_names_that_lightning_asks_for(self):
        done = cresset(
            "-c",
            "import torch; print(torch.ScriptModule is torch.jit.ScriptModule, torch._C._nn._parse_to('cpu', torch.half, True)[:3], torch._C.PyTorchFileReader)",
        )
        self.assertEqual(done.stdout, "True (device(type='cpu'), torch.float16, True) <class 'cresset._core.archive.PyTorchFileReader'>\n")

    def test_torchdata(self):
        done = self.script("""\
            import torchdata.nodes as tn, torch
            from torchdata.stateful_dataloader import StatefulDataLoader
            from torchdata.stateful_dataloader.sampler import RandomSampler
            assert tn is torch.utils.data.nodes
            print(list(tn.Loader(tn.Batcher(tn.IterableWrapper(range(4)), 2))))
            torch.manual_seed(0)
            data = torch.arange(10)
            make = lambda: StatefulDataLoader(data, batch_size=3, sampler=RandomSampler(data), num_workers=2, snapshot_every_n_steps=4)
            loader, seen = make(), []
            for number, batch in enumerate(loader):
                seen.append(batch.tolist())
                if number == 1:
                    state = loader.state_dict()
            again = make()
            again.load_state_dict(state)
            assert [batch.tolist() for batch in again] == seen[2:]
            try:
                StatefulDataLoader(data, snapshot_every_n_steps=0)
            except ValueError as error:
                print(error)
            """)
        self.assertEqual((done.stdout, done.stderr), ("[[0, 1], [2, 3]]\nsnapshot_every_n_steps is at least 1, got 0\n", ""))

    def test_arguments_main_and_neighbours(self):
        done = self.script(
            """\
            import os, sys, neighbour
            print(sys.argv[1:], os.path.basename(sys.argv[0]), os.path.basename(__file__), __name__, neighbour.value)
            assert sys.modules["__main__"].__dict__ is globals() and "USAGE" not in globals()
            """,
            "--epochs",
            "3",
            "-c",
        )
        self.assertEqual((done.stdout, done.stderr), ("['--epochs', '3', '-c'] program.py program.py __main__ 3.0\n", ""))

    def test_exit_codes(self):
        self.assertEqual(self.script("import sys; sys.exit(7)").returncode, 7)
        done = self.script("raise SystemExit('stopped')")
        self.assertEqual((done.returncode, done.stderr), (1, "stopped\n"))

    def test_tracebacks_show_the_script_alone(self):
        done = self.script("def f():\n    raise ValueError('mine')\n\nf()\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 4, in <module>", done.stderr)
        self.assertNotIn("compat.py", done.stderr)
        self.assertNotIn("runpy", done.stderr)
        self.assertTrue(done.stderr.startswith("Traceback (most recent call last):\n") and done.stderr.endswith("ValueError: mine\n"))
        done = self.script("x = (\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SyntaxError", done.stderr)
        self.assertNotIn("compat.py", done.stderr)

    def test_interrupted_programs_end_as_interrupted(self):
        done = self.script("import os, signal, torch\n\ndef f():\n    os.kill(os.getpid(), signal.SIGINT)\n    while True:\n        pass\n\nf()\n")
        self.assertEqual(done.returncode, -2)
        self.assertIn("line 8, in <module>", done.stderr)
        self.assertNotIn("compat.py", done.stderr)
        self.assertTrue(done.stderr.endswith("KeyboardInterrupt\n"))

    def test_excepthooks_of_the_program(self):
        done = self.script(
            "import sys, traceback\nsys.excepthook = lambda kind, value, tb: print(kind.__name__, value, len(traceback.extract_tb(tb)))\nraise KeyError(3)\n"
        )
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("KeyError 3 1\n", "", 1))

    def test_processes_that_start_anew(self):
        for start in ("import torch", "import multiprocessing.spawn, torch"):
            done = self.script(
                start
                + """
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.tensor([i])

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context=method)
        print([batch.tolist() for batch in loader])
"""
            )
            self.assertEqual((done.stdout, done.stderr), ("[[[0], [1]], [[2], [3]]]\n" * 2, ""))

    def test_missing_names_say_where_progress_is_tracked(self):
        for text, error, name in (
            ("import torch.no_such_thing", ModuleNotFoundError, "torch.no_such_thing"),
            ("from torch import no_such_thing", ImportError, "no_such_thing"),
            ("import torch; torch.no_such_thing", AttributeError, "no_such_thing"),
            ("from torch.nn import no_such_thing", ImportError, "no_such_thing"),
            ("import torch.nn.functional as F; F.no_such_thing", AttributeError, "no_such_thing"),
            ("from torch.utils.data import no_such_thing", ImportError, "no_such_thing"),
            ("from torch.optim.lr_scheduler import no_such_thing", ImportError, "no_such_thing"),
            ("import torch.nn.no_such_thing", ModuleNotFoundError, "torch.nn.no_such_thing"),
        ):
            with self.subTest(text):
                last = self.script(text).stderr.splitlines()[-1]
                self.assertIn(error.__name__, last)
                self.assertIn(name, last)
                self.assertIn("python -m cresset --absent", last)
        self.assertEqual(self.script("import torch\nprint(hasattr(torch, 'no'), getattr(torch.nn, 'no', 3))").stdout, "False 3\n")

    def test_modules_and_code(self):
        done = cresset("-c", "import torch, sys; print(torch.arange(3).sum().item(), sys.argv)", "x")
        self.assertEqual((done.stdout, done.stderr), ("3 ['-c', 'x']\n", ""))
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "job.py"), "w") as file:
                file.write("import sys, torch\nprint(__name__, torch.ones(2).tolist(), sys.argv[1:])\n")
            done = cresset("-m", "job", "a", cwd=folder)
        self.assertEqual((done.stdout, done.stderr), ("__main__ [1.0, 1.0] ['a']\n", ""))

    def test_mistakes(self):
        for arguments, text in ((["no_such_file.py"], "no_such_file.py"), (["-m", "no_such_module"], "no_such_module"), (["--what"], "--what"), (["-c"], "-c")):
            with self.subTest(arguments):
                done = cresset(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_uninstall_gives_the_name_back(self):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""\
            import sys, types, cresset
            original = sys.modules["torch"] = types.ModuleType("torch")
            cresset.compat.install(); cresset.compat.install()
            import torch
            import torch.nn
            assert torch is cresset
            cresset.compat.uninstall(); cresset.compat.uninstall()
            assert sys.modules["torch"] is original and "torch.nn" not in sys.modules
            """)], capture_output=True, text=True)  # fmt: skip
        self.assertEqual((done.stderr, done.returncode), ("", 0))


class Package(unittest.TestCase):
    def test_info(self):
        done = cresset("--info")
        self.assertEqual(done.returncode, 0)
        for name in ("cresset:", "build:", "ISA:", "threads:", "oneDNN:"):
            self.assertIn(name, done.stdout)

    def test_version_is_the_projects(self):
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "CMakeLists.txt")) as file:
            self.assertIn(f"VERSION {cresset('--version').stdout.strip()} ", file.read())

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "the memory of a sanitized process says nothing")
    def test_import_stays_light(self):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""\
            import sys
            before = set(sys.modules)
            import cresset
            heavy = {"numpy", "cresset.optim", "cresset.serialization", "zipfile", "multiprocessing", "json", "inspect", "typing"}
            print(*sorted(heavy & (set(sys.modules) - before)))
            # Not the maximum that getrusage gives: a child starts with its parent's.
            print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
            """)], capture_output=True, text=True)  # fmt: skip
        loaded, kilobytes = done.stdout.splitlines()
        self.assertEqual(loaded, "")
        self.assertLess(int(kilobytes), 45 * 1024)


if __name__ == "__main__":
    unittest.main()
