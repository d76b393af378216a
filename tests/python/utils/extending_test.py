"""docs/extending.md, followed literally: its programs are run one after the other, in one process for each section."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cresset.utils import cpp_extension

PAGE = Path(__file__).resolve().parents[3] / "docs" / "extending.md"
needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None or not any(os.path.exists(f"{p}/pybind11/pybind11.h") for p in ("/usr/include", *cpp_extension._paths.python_includes())),
    reason="a C++ compiler or pybind11 is not installed",
)
HEAD = "import cresset as torch\nfrom cresset.utils import cpp_extension\n"


def blocks(title, language):
    """The blocks of a section in a language."""
    (section,) = [part for part in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE) if part.startswith(title + "\n")]
    return re.findall(rf"^```{language}\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)


def run(program, folder):
    places = [str(Path(place).absolute()) for place in sys.path if place]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "TORCH_EXTENSIONS_DIR": str(folder / "extensions")}
    done = subprocess.run([sys.executable, "-c", HEAD + program], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_op_in_python(tmp_path):
    run(blocks("Write an op", "python")[0], tmp_path)


@needs_compiler
def test_an_op_in_cpp(tmp_path):
    run(blocks("Write an op", "python")[1], tmp_path)


@needs_compiler
def test_a_device(tmp_path):
    (program,) = blocks("Bring a device", "python")
    run(program, tmp_path)


@needs_compiler
def test_a_language(tmp_path):
    (source,) = blocks("Bind a language", "c")
    (tmp_path / "guide.c").write_text(source)
    headers = [f"-I{folder}" for folder in cpp_extension.include_paths()]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", *headers, "guide.c", "-o", "guide.so"], cwd=tmp_path, check=True)
    assert run("torch.ops.load_library('./guide.so')\nprint(torch.ops.guide_c.squares(3.0, 4.0))\n", tmp_path) == "25.0\n"


def test_a_profile(tmp_path):
    shown = run("\n".join(blocks("Profile a step", "python")), tmp_path)
    assert "forward" in shown
    assert "('aten::t', True), ('aten::addmm', True)" in shown
    assert "aten::cos" in shown
    assert (tmp_path / "trace.json").stat().st_size > 0
    assert "<svg" in (tmp_path / "memory.html").read_text()
