"""tools/check_layers.py and tools/check_words.py, on trees of a few files."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import check_layers  # noqa: E402
import check_words  # noqa: E402


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return Path(name)


class PythonLayers(Tree):
    def setUp(self):
        super().setUp()
        for package in ("", "nn/", "nn/modules/", "optim/", "utils/"):
            self.write(f"python/cresset/{package}__init__.py", "")

    def violations(self, **files):
        for name, text in files.items():
            self.write(f"python/cresset/{name.replace('__', '/')}.py", text)
        return check_layers.python_violations(self.root)

    def test_a_lower_tier_may_be_imported(self):
        self.assertEqual(self.violations(optim__adam="from ..nn.modules import conv\n", nn__modules__conv="import cresset as torch\n"), [])

    def test_a_higher_tier_is_refused_with_the_line(self):
        found = self.violations(nn__modules__conv="import math\n\nfrom ...optim import adam\n", optim__adam="")
        self.assertEqual(found, ["python/cresset: nn.modules.conv:3: must not import optim.adam, which is of a higher tier (TIERS)"])

    def test_the_core_is_below_every_tier(self):
        self.assertEqual(len(self.violations(_tensor="import cresset.nn\n")), 1)

    def test_imports_within_functions_are_free(self):
        self.assertEqual(self.violations(nn__modules__conv="def f():\n    from ...optim import adam\n", optim__adam=""), [])

    def test_a_circle_is_refused(self):
        found = self.violations(nn__a="from . import b\n", nn__b="from .c import x\n", nn__c="from . import a\n", nn__d="from . import a\n")
        self.assertEqual(found, ["python/cresset: circle of imports: nn.a, nn.b, nn.c"])


class Words(Tree):
    def found(self, name, text):
        table = check_words.tomllib.loads(check_words.TABLE.read_text())
        return [line for _, line, _, _ in check_words.findings(self.root, [self.write(name, text)], table["words"])]

    def test_sentences_that_begin_with_what(self):
        self.assertEqual(self.found("a.cpp", "// What it holds.\nint x;  // Made here. What follows is old.\n"), [1, 2])
        self.assertEqual(self.found("a.py", '"""What it holds."""\nx = 1  # What for?\n'), [1])

    def test_code_of_cpp_is_not_prose(self):
        self.assertEqual(self.found("a.cpp", 'int nobody = 0;\nconst char* s = "What is it";\n'), [])

    def test_nobody_and_laws(self):
        self.assertEqual(self.found("a.md", "Nobody knows.\nnormal laws\nthe law of total variance\n"), [1, 2])

    def test_pages_name_files_that_are_there(self):
        self.write("cmake/Parts.cmake", "set(made generated/parts.h)")
        page = self.write("docs/page.md", "`core/tensor.h` and\n`core/gone.h`, `generated/parts.h`, `bare.h`\n")
        self.assertEqual(list(check_words.missing_files(self.root, [page], ["cresset/core/tensor.h"])), [("docs/page.md", 2, "core/gone.h")])

    def test_with_respect_to(self):
        self.assertEqual(self.found("a.md", "gradients by the weights\ngradients with respect to the weights\n"), [1])


if __name__ == "__main__":
    unittest.main()
