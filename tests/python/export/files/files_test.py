"""`.pt2` files both ways between Cresset and PyTorch: each side writes the programs of this folder as captured, made functional and made of core operators;
PyTorch, Cresset's Python and its C++ read them and give equal results.

CRESSET_LONG=1 takes all programs in all forms (minutes); without it a tenth of them, in turn of each form.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SIDE = Path(__file__).with_name("side.py")
HAS_TORCH = importlib.util.find_spec("torch") is not None
LONG = bool(os.environ.get("CRESSET_LONG"))
SUMMARY = []  # printed by conftest.py
MET = set()  # entries of the tables below that have been found to hold

# Files that Cresset cannot write, and files with other answers: "program.form" or "program" -> (how the answer begins, why).
NOT_WRITTEN = {
    "item_of_a_truth_value": ("GuardOnDataDependent", "a truth value of the data as a factor asks for its value"),
    "largest_size": ("AssertionError: Guard", "the larger of two sizes is one of them, by a guard"),
}
DIFFERENT = {
    "custom_operator": ("c++: NotImplementedError", "operators that a program defines in Python are not there in C++"),
    "custom_operator_that_writes": ("c++: NotImplementedError", "operators that a program defines in Python are not there in C++"),
    "embedding_of_unit_length.functional": ("python: RuntimeError: a leaf", "PyTorch writes the weight where gradients are on, in its own programs too"),
    "embedding_of_unit_length.core": ("python: RuntimeError: a leaf", "PyTorch writes the weight where gradients are on, in its own programs too"),
    "text_among_the_results": ("python: RuntimeError", "PyTorch does not read text among the results, of its own files either"),
}


def is_known(table, file, said):
    """Whether the answer for a file is one that a table has."""
    key = file if file in table else file.rpartition(".")[0]
    is_known = key in table and said.startswith(table[key][0])
    if is_known:
        MET.add(key)
    return is_known


def answers(side, what, folder, *choice):
    """The answer of one side for each file of a folder."""
    done = subprocess.run([sys.executable, str(SIDE), side, what, str(folder), *choice], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{side} {what} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


class Own(unittest.TestCase):
    # Programs whose files were wrong once: they could not be written, or ran otherwise when they were read.
    NAMES = (
        "max pool2d indices", "MultiLabelMarginLoss", "BCELoss", "rrelu/training", "random writes", "size of the data", "slice by the data", "named tuples",
        "registered class", "regions of mixed precision", "writes in place", "promotion", "operators by name", "fake quantization", "upsampling", "bilinear",
        "convolutional network/training", "embedding of unit length", "weight norm/training", "dtype complex32", "packed sequence", "lists among the results", "embedding bag of unit length",
    )  # fmt: skip

    def test_what_is_written_here_runs_here(self):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "cresset"
            self.assertEqual(answers("cresset", "write", folder, *self.NAMES), {})
            found = answers("cresset", "read", folder)
            self.assertEqual(len(found), 3 * len(self.NAMES))
            self.assertEqual({file: said for file, said in found.items() if said}, {})


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        folder = Path(cls.place.name)
        cls.refused = {side: answers(side, "write", folder / side, *([] if LONG else ["--quick"])) for side in ("torch", "cresset")}
        cls.files = {side: {file.stem for file in (folder / side).glob("*.pt2")} for side in ("torch", "cresset")}

    def said(self, reader, writer):
        """The answers of a side for the files of a side, without what is known to differ."""
        found = answers(reader, "read", Path(self.place.name) / writer)
        self.assertEqual(found.keys(), self.files[writer])
        wrong = {file: text for file, text in found.items() if text and not is_known(DIFFERENT, file, text)}
        known = sum(map(bool, found.values())) - len(wrong)
        SUMMARY.append(f".pt2 files that {writer} wrote, read by {reader}: {len(found)}, {known} known to differ, {len(wrong)} wrong")
        return wrong

    def test_cresset_writes_what_pytorch_writes(self):
        refused = {file: text for file, text in self.refused["cresset"].items() if not is_known(NOT_WRITTEN, file, text)}
        self.assertEqual({file: text for file, text in refused.items() if file in self.files["torch"]}, {})

    def test_files_of_pytorch_run_here(self):
        self.assertEqual(self.said("cresset", "torch"), {})

    def test_files_of_cresset_run_here(self):
        self.assertEqual(self.said("cresset", "cresset"), {})

    def test_files_of_cresset_run_in_pytorch(self):
        self.assertEqual(self.said("torch", "cresset"), {})

    @unittest.skipUnless(LONG, "CRESSET_LONG=1 takes all programs")
    def test_what_is_known_to_differ_differs(self):
        for writer in ("torch", "cresset"):
            for file, text in self.refused[writer].items():
                is_known(NOT_WRITTEN, file, text)
        self.assertEqual({*NOT_WRITTEN, *DIFFERENT} - MET, set())


if __name__ == "__main__":
    unittest.main()
