"""The table of the C interface beside the one of the first release, and the names that the libraries export."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import _cresset
import pytest

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "tests/dispatch/extension/kept/x86_64-linux-1/c_abi.abi"
# Our own names, and what the linker and Python ask for.
OWN = re.compile(r"cresset|^PyInit_|^(__bss_start|_edata|_end|_init|_fini)$")


def foreign(names):
    """Those that are neither ours nor of the standard library, whose templates pass on with what they are made for."""
    others = [name for name in names if not OWN.search(name)]
    clear = subprocess.run(["c++filt"], input="\n".join(others), capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name, text in zip(others, clear, strict=True) if name == text or set(re.findall(r"(?<![\w:])(\w+)::", text)) - {"std", "__gnu_cxx"}]


def difference(header_of, tmp_path):
    """The answer of abidiff about the kept table and one that is compiled from a header's text."""
    folder = tmp_path / "cresset/dispatch"
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "cresset/dispatch/c_abi.h").read_text()
    (folder / "c_abi.h").write_text(header_of(text))
    (tmp_path / "table.c").write_text('#include "cresset/dispatch/c_abi.h"\nconst cresset_api* cresset_table;\n')
    subprocess.run(["cc", "-g", "-shared", "-fPIC", f"-I{tmp_path}", f"-I{ROOT}", "table.c", "-o", "table.so"], cwd=tmp_path, check=True)
    return subprocess.run(["abidiff", KEPT, "table.so"], cwd=tmp_path, capture_output=True, text=True)


def breaks(done):
    return done.returncode & ~4 or bool(re.search(r"member changes?:|deletion|[1-9]\d* Removed|entity changed", done.stdout))


@pytest.mark.skipif(shutil.which("abidiff") is None or shutil.which("cc") is None, reason="abidiff (abigail-tools) or a C compiler is not installed")
class TestTheTableOfTheCInterface:
    def test_only_grows_at_its_end(self, tmp_path):
        done = difference(lambda text: text, tmp_path)
        assert not breaks(done), done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ("} cresset_api;", "int (*more)(void);\n} cresset_api;", False),
            ("const char* (*last_error)(void);", "int (*more)(void);\nconst char* (*last_error)(void);", True),
            ("const char* (*last_error)(void);", "const char* (*last_error)(int);", True),
            ("const char* (*last_error)(void);", "", True),
        ],
    )
    def test_changes_are_told_apart(self, old, new, expected, tmp_path):
        assert breaks(difference(lambda text: text.replace(old, new, 1), tmp_path)) == expected


@pytest.mark.skipif(shutil.which("nm") is None or shutil.which("c++filt") is None, reason="nm or c++filt is not installed")
class TestExportedNames:
    def test_are_ours(self):
        package = Path(_cresset.__file__).parent
        libraries = [*package.glob("*.so"), *package.parent.glob("libcresset*.so"), *(package / "cresset_opencl").glob("*.so")]
        assert libraries
        found = []
        for library in libraries:
            lines = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", os.fspath(library)], capture_output=True, text=True, check=True).stdout
            found += [f"{library.name}: {name}" for name in foreign([line.split()[0] for line in lines.splitlines()])]
        assert not found, found[:20]

    def test_copies_that_every_program_has_are_kept_back(self):
        library = Path(_cresset.__file__).parent.parent / "libcresset.so"
        library = library if library.exists() else next(Path(_cresset.__file__).parent.glob("libcresset.so"))
        lines = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", os.fspath(library)], capture_output=True, text=True, check=True).stdout
        names = [line.split()[0] for line in lines.splitlines()]
        # Names that programs link and catch, and functions of the standard library for numbers of ours, which have no bodies in headers.
        linked = {"cresset_add_Tensor", "_ZTIN7cresset5ErrorE", "_ZSt3expIdEN7cresset7complexIT_EERKS3_"}
        assert linked <= set(names)
        assert not [name for name in names if name.startswith(("_ZTS", "_ZNSt", "_ZNKSt", "_ZTVSt"))][:20]

    def test_of_other_libraries_are_told_apart(self):
        others = [
            "_ZN4gloo9broadcastERNS_16BroadcastOptionsE",
            "_ZN4gloo3runESt6vectorIiSaIiEE",
            "png_read_image",
            "_ZNSt6vectorIN4dnnl6memoryESaIS1_EE5clearEv",
        ]
        assert foreign(["_ZNSt6vectorIiSaIiEE5clearEv", "_ZN7cresset3addERKNS_6TensorES2_", *others]) == others
