"""torch.distributed.run: the processes of a job on this machine."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

PROGRAM = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(x)
sys.stdout.write(f"{os.environ['LOCAL_RANK']} {dist.get_world_size()} {x.item()} {sys.argv[1:]}\\n")
sys.stdout.flush()
dist.destroy_process_group()
if "fail" in sys.argv and os.environ["RANK"] == "1":
    sys.exit(3)
if "wait" in sys.argv:
    import time
    time.sleep(60)
"""


class Launcher(unittest.TestCase):
    def launch(self, *arguments, text=PROGRAM):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "train.py")
            with open(path, "w") as file:
                file.write(text)
            arguments = [path if a == "SCRIPT" else folder if a == "FOLDER" else a for a in arguments]
            done = subprocess.run([sys.executable, "-m", "cresset", "-m", "torch.distributed.run", *arguments], capture_output=True, text=True, timeout=120)
            found = {}
            for base, _, files in os.walk(folder):
                for name in files:
                    with open(os.path.join(base, name)) as file:
                        found[os.path.relpath(os.path.join(base, name), folder)] = file.read()
            return done, found

    def test_ranks(self):
        done, _ = self.launch("--standalone", "--nproc_per_node=2", "SCRIPT", "--epochs", "3")
        self.assertEqual((sorted(done.stdout.splitlines()), done.returncode), (["0 2 3.0 ['--epochs', '3']", "1 2 3.0 ['--epochs', '3']"], 0), done.stderr)

    def test_one_failure_ends_all(self):
        done, _ = self.launch("--standalone", "--nproc-per-node", "2", "SCRIPT", "fail", "wait")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"train.py FAILED")
        self.assertRegex(done.stderr, r"rank      : 1 \(local_rank: 1\)\n  exitcode  : 3")

    def test_starts_again(self):
        text = "import os, sys\nprint(os.environ['TORCHELASTIC_RESTART_COUNT'], flush=True)\nsys.exit(0 if os.environ['TORCHELASTIC_RESTART_COUNT'] == '1' else 1)\n"
        done, _ = self.launch("--standalone", "--max-restarts", "2", "SCRIPT", text=text)
        self.assertEqual((done.stdout, done.returncode), ("0\n1\n", 0))

    def test_a_process_that_stands_still_has_failed(self):
        text = "import os, signal, sys, time\ncount, rank = os.environ['TORCHELASTIC_RESTART_COUNT'], os.environ['RANK']\nsys.stdout.write(count + '\\n')\nsys.stdout.flush()\n"
        text += "if (count, rank) == ('0', '1'): os.kill(os.getpid(), signal.SIGSTOP)\nif count == '0': time.sleep(30)\n"
        with mock.patch.dict(os.environ, CRESSET_STOPPED_TIMEOUT="0.5"):
            done, _ = self.launch("--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "SCRIPT", text=text)
            self.assertEqual((done.stdout, done.returncode), ("0\n0\n1\n1\n", 0), done.stderr)
            done, _ = self.launch("--standalone", "--nproc-per-node", "2", "SCRIPT", text=text)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"rank      : 1 \(local_rank: 1\)\n  exitcode  : -19")

    def test_folder_of_what_is_printed(self):
        done, files = self.launch("--standalone", "--rdzv-id", "job", "--log-dir", "FOLDER", "-r", "3", "SCRIPT", text="print('said')\n")
        (path,) = [path for path in files if path.endswith("stdout.log")]
        self.assertRegex(path, r"^job_\w+/attempt_0/0/stdout.log$")
        self.assertEqual((done.stdout, files[path]), ("", "said\n"))

    def test_refusals(self):
        for arguments, text in ((["--nnodes", "1:4"], "a fixed number of nodes"), (["--nproc-per-node", "0"], "at least one process"),
                                (["--rdzv-backend", "pigeon"], "no backend is registered as 'pigeon'")):  # fmt: skip
            done, _ = self.launch(*arguments, "SCRIPT")
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)


class Recorded(unittest.TestCase):
    def test_errors_are_written(self):
        from cresset.distributed.elastic.multiprocessing.errors import record

        def fails():
            raise ValueError("mine")

        with tempfile.TemporaryDirectory() as folder:
            os.environ["TORCHELASTIC_ERROR_FILE"] = path = os.path.join(folder, "error.json")
            try:
                self.assertRaises(ValueError, record(fails))
            finally:
                del os.environ["TORCHELASTIC_ERROR_FILE"]
            with open(path) as file:
                self.assertIn("ValueError: mine", file.read())


if __name__ == "__main__":
    unittest.main()
