"""The programs in examples/python run unchanged, give PyTorch's losses to 4 digits and the C++ programs' bit for bit."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import _cresset

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(ROOT, "tools"))
from compare_losses import agree  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples", "python")
PROGRAMS = os.path.join(os.path.dirname(_cresset.__file__), "..", "examples")  # of the same build
STEPS = 4
ARGUMENTS = {"linear_regression": ["--plot", "x.png"], "mnist": ["--save", ""], "char_gpt": ["--characters", "5"], "vae": ["--plot", "x.png"],
             "names_lstm": ["--names", "ada"]}  # fmt: skip


def run(command, folder):
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def python(name, *arguments, folder=None):
    return run([sys.executable, "-m", "cresset", os.path.join(EXAMPLES, f"{name}.py"), *arguments], folder)


def losses(output):
    return re.findall(r"^loss \d+ (\S+)$", output, re.MULTILINE)


class Examples(unittest.TestCase):
    def test_agreement_is_to_four_digits_of_finite_numbers(self):
        for a, b, same in ((2.3078, 2.3081, True), (2.3078, 2.3089, False), (182.88, 182.97, True), (182.88, 183.0, False), (0.0, 0.0, True),
                           (0.0012345, 0.0012352, True), (0.0012345, 0.0012359, False), (1.0, -1.0, False), (float("nan"), 1.0, False),
                           (float("nan"), float("nan"), False), (float("inf"), 1.0, False)):  # fmt: skip
            with self.subTest(a=a, b=b):
                self.assertEqual(agree(a, b), same)

    def test_losses_are_pytorchs_to_four_digits(self):
        for name, arguments in ARGUMENTS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = python(name, "--steps", str(STEPS), "--losses", *arguments, folder=folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                ours = [float(x) for x in losses(done.stdout)]
                with open(os.path.join(EXAMPLES, "losses", f"{name}.txt")) as file:
                    theirs = [float(x) for x in losses(file.read())[:STEPS]]
                self.assertEqual(len(ours), STEPS)
                for a, b in zip(ours, theirs, strict=True):
                    self.assertTrue(agree(a, b), f"{a} and {b}")
                if "--plot" in arguments:
                    with open(os.path.join(folder, "x.png"), "rb") as file:
                        self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_cpp_and_python_give_the_same_bits_with_one_thread_or_two(self):
        for name in ("mnist", "char_gpt"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                program = os.path.join(PROGRAMS, name)
                if not os.path.exists(program):
                    self.skipTest(f"the C++ example {name} is not built")
                outputs = []
                for threads in ("1", "2"):
                    arguments = ["--steps", str(STEPS), "--losses", "--threads", threads, *ARGUMENTS[name]]
                    outputs += [run([program, *arguments], folder), python(name, *arguments, folder=folder)]
                for done in outputs:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(losses(done.stdout), losses(outputs[0].stdout))
                self.assertEqual(len(losses(outputs[0].stdout)), STEPS)

    def test_gpt_in_bfloat16_learns_as_in_float32_in_both_languages(self):
        plain = [float(x) for x in losses(python("char_gpt", "--steps", "60", "--losses", "--characters", "0").stdout)]
        done = python("char_gpt", "--steps", "60", "--losses", "--bf16", "--characters", "0")
        mixed = [float(x) for x in losses(done.stdout)]
        self.assertEqual(len(mixed), 60)
        self.assertNotEqual(mixed, plain)
        for a, b in zip(mixed, plain, strict=True):
            self.assertLess(abs(a - b), 0.02 * b)
        program = os.path.join(PROGRAMS, "char_gpt")
        if os.path.exists(program):
            self.assertEqual(losses(run([program, "--steps", "60", "--losses", "--bf16", "--characters", "0"], None).stdout), losses(done.stdout))

    def test_help_and_files_that_are_not_there(self):
        for name, flag in (("linear_regression", None), ("mnist", "--data"), ("char_gpt", "--text"), ("vae", "--data"), ("names_lstm", "--data")):
            with self.subTest(name):
                done = python(name, "--help")
                self.assertEqual(done.returncode, 0)
                for option in ("--steps", "--seed", "--threads", "--losses"):
                    self.assertIn(option, done.stdout)
                if flag:
                    done = python(name, flag, "/no/such/place")
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(f"{flag} names", done.stderr)
                    self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
