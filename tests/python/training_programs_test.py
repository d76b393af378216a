"""The training programs of tests/programs give the same losses in C++ and in Python, bit for bit, on one thread and on two."""

import os
import subprocess
import sys
import unittest

import _cresset

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "programs", "training.py")
CPP = os.path.join(os.path.dirname(_cresset.__file__), "..", "tests", "training_programs")  # of the same build


def losses(command):
    """The lines of each program's losses."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(_cresset.__file__)}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found = {}
    for line in output.splitlines():
        name, step, loss = line.split()
        found.setdefault(name, []).append(float.fromhex(loss))
        assert len(found[name]) == int(step) + 1
    return found


@unittest.skipUnless(os.path.exists(CPP), "the C++ programs were not built")
class TrainingPrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = {
            (language, threads): losses([*command, "--threads", threads])
            for language, command in (("C++", [CPP]), ("Python", [sys.executable, PYTHON]))
            for threads in ("1", "2")
        }

    def test_twenty_programs_in_both_languages(self):
        for run in self.runs.values():
            self.assertEqual(sorted(run), sorted(self.runs["Python", "1"]))
        self.assertEqual(len(self.runs["C++", "1"]), 20)

    def test_the_same_losses_bit_for_bit(self):
        for name, expected in self.runs["Python", "1"].items():
            for (language, threads), run in self.runs.items():
                with self.subTest(program=name, language=language, threads=threads):
                    self.assertEqual([x.hex() for x in run.get(name, [])], [x.hex() for x in expected])

    def test_the_losses_move_and_are_finite(self):
        for name, run in self.runs["C++", "1"].items():
            with self.subTest(program=name):
                self.assertTrue(all(abs(x) < 1e6 for x in run), run)
                self.assertGreater(len(set(run)), 3, run)


if __name__ == "__main__":
    unittest.main()
