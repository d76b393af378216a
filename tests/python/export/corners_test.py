"""torch.export in corners: what 297 programs print of their graphs, signatures, results and errors is what they print with PyTorch."""

import logging
import pathlib
import re
import sys
import unittest
import warnings

import pytest

import cresset

from .corner_programs import PROGRAMS, answers

# Programs whose answers differ from PyTorch's, and why; with "/strict" also where they are captured strictly.
DIFFERENT = {
    "modulo": "the range of a multiple begins at 0 here",
    "size result": "numel() of open sizes is their product, and no node of its own",
    "arange": "a slice over everything is no node",
    "none input": "a tensor in place of None is an error here",
    "input view mutated": "the formula of select_scatter has its steps in another order",
    "batch norm": "nodes of the functional form are named otherwise",
    "transformer": "products of attention are named otherwise",
    "in place": "the constant of x[i] = 3 stands behind the select, and fill has another formula",
    "einsum": "einsum has other steps",
    "unique": "the operator has all results as nodes, and knows no upper limit",
    "item": "the range of a float has no infinity of floats",
    "cond on size": "the condition stands behind the branches",
    "cond closure": "captured tensors follow the operands",
    "associative scan": "the scan is captured by its operators on whole batches, without steps of vmap",
    "func grad": "PyTorch's program computes with constants of the capture, not with its inputs",
    "same tensor twice": "a tensor given twice is two inputs",
    "deferred": "conditions on sizes that could wait are no errors here",
    "deferred branch": "conditions on sizes are guards, checked with the arguments",
    "additional inputs ints": "the range of an integer begins at 2",
    "refine from suggested fixes": "PyTorch cannot read its own suggestions here",
    "refine static": "PyTorch cannot read its own suggestions here",
    "int input dynamic": "a slice from the beginning says 0",
    "decompositions composites kept": "attention has another formula",
    "draft plain": "the report has a text of its own",
    "draft constraint": "ranges that a draft takes from the Dims begin at 0",
    "draft missing fake kernel": "dtypes of what it is called with are not asserted, names of conditions",
    "draft wrong fake kernel": "dtypes of what it is called with are not asserted",
    "custom op that writes": "results that nothing uses have no nodes",
    "custom op with unbacked size": "names of conditions",
    "check guards": "without guards a size that the graph cannot take is not found out before the operators run",
    "guards text": "messages are Cresset's",
    "names of 2.13": "names are compared in private_names_test",
    "complex and ints": "shifts are bitwise_left_shift",
    "meta stack": "methods are noted as functions",
    "symbolic arithmetic": "sizes are computed where they are first known",
    "unbacked arithmetic": "places of assertions in the text",
    "two levels": "weights of other modules follow the arguments",
    # strict: PyTorch's analysis of bytecode sees another program
    "buffer assigned/strict": "an assignment is a write in both modes",
    "tensor constant/strict": "constants are no buffers", "inner constant list/strict": "constants are numbered",
    "tied weights/strict": "tied weights stay two inputs", "shared module/strict": "tied weights stay two inputs",
    "unused weights/strict": "unused weights stay inputs", "mask index/strict": "ranges are listed once", "nonzero/strict": "ranges are listed once",
    "item int size/strict": "ranges are listed once", "item check range/strict": "ranges are listed once", "tolist/strict": "tolist is an unbind",
    "assert on data/strict": "assert on a tensor is an error", "checkpoint/strict": "checkpoints are seen through",
    "custom autograd/strict": "classes may be made while a module runs", "error dim not there/strict": "a dimension that is not there is an error",
    "error in forward/strict": "errors of the program are raised as they are", "error raise/strict": "errors of the program are raised as they are",
    "error returns object/strict": "the error is the same in both modes", "derived/strict": "symbols are named by their place",
    "dim/strict": "symbols are named by their place", "linear/strict": "lines of modules of the library are known in both modes",
}  # fmt: skip


def _recorded():
    found, lines = {}, None
    for line in pathlib.Path(__file__).with_name("corners.txt").read_text().splitlines():
        if line.startswith("## "):
            lines = found[line[3:]] = []
        else:
            lines.append(line)
    return {name: found[name.removesuffix("/strict")] if lines == ["same"] else lines for name, lines in found.items()}


_RECORDED = _recorded()


def _is_different(name):
    return name in DIFFERENT or name.removesuffix("/strict") in DIFFERENT


class Corners(unittest.TestCase):
    def setUp(self):
        was_installed = cresset.compat.is_installed()
        cresset.compat.install()
        self.addCleanup(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)
        if not was_installed:
            self.addCleanup(cresset.compat.uninstall)
        self.addCleanup(sys.modules.pop, "corner_program", None)

    def answers(self, name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [re.sub(r"/\S*corner_program", "corner_program", line) for line in answers(cresset, name)]


def _test(name):
    def test(self):
        self.maxDiff = None
        self.assertEqual(self.answers(name), _RECORDED[name])

    return test


for _name in PROGRAMS:
    if not _is_different(_name):
        setattr(Corners, "test_" + re.sub(r"\W", "_", _name), _test(_name))


def test_programs_are_recorded():
    assert list(PROGRAMS) == list(_RECORDED)
    assert not [name for name in DIFFERENT if name not in PROGRAMS]


if __name__ == "__main__":
    pytest.main([__file__])
