"""`python -m cresset.graph show`."""

import subprocess
import sys
from pathlib import Path

import pytest

import cresset as torch
from cresset import graph

DATA = Path(__file__).parents[2] / "graph/data"


def show(*arguments):
    return subprocess.run([sys.executable, "-m", "cresset.graph", "show", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_a_program_is_a_table_with_costs():
    done = show(DATA / "block.pt2")
    assert done.returncode == 0, done.stderr
    assert "scaled_dot_product_attention" in done.stdout
    assert "total: " in done.stdout and " MACs, " in done.stdout


def test_an_archive_of_several_programs_is_a_table_for_each():
    done = show(DATA / "several.pt2")
    assert done.returncode == 0, done.stderr
    assert "graph encode\n" in done.stdout and "graph decode_back\n" in done.stdout


def test_a_program_of_several_is_loaded_by_its_name():
    program = graph.load_program(DATA / "several.pt2", model="encode")
    assert program(torch.ones(1, 2)).tolist() == [[3.0, 5.0, 7.0]]
    with pytest.raises(ValueError, match="the models 'encode', 'decode/back'"):
        graph.load_program(DATA / "several.pt2")


def test_the_text_reads_back(tmp_path):
    text = graph.text(DATA / "layers.pt2")
    assert text.startswith("graph @forward(")
    (tmp_path / "layers.txt").write_text(text)
    assert graph.text(tmp_path / "layers.txt") == text


def test_a_drawing_names_every_node():
    drawing = graph.dot(DATA / "counter.pt2")
    assert drawing.startswith("digraph") and '"return"' in drawing


def test_mistakes_are_one_line(tmp_path):
    (tmp_path / "wrong.txt").write_text("graph @f() {\n  return %x\n}\n")
    done = show(tmp_path / "wrong.txt")
    assert done.returncode == 1
    assert done.stderr.strip() == "graph text: line 2, column 10: the value %x is used before it is defined"
    with pytest.raises(RuntimeError, match="no.such"):
        graph.describe(tmp_path / "no.such")
