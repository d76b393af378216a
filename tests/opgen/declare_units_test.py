"""tools/declare_units.py: units get the declarations that they use."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "declare_units.py"
spec = importlib.util.spec_from_file_location("declare_units", TOOL)
declare_units = importlib.util.module_from_spec(spec)
sys.modules["declare_units"] = declare_units
spec.loader.exec_module(declare_units)

FUNCTIONS = """#pragma once
namespace cresset {
CRESSET_API Tensor relu(const Tensor& self);
CRESSET_API Tensor add(const Tensor& self, const Tensor& other);
CRESSET_API Tensor add(const Tensor& self, const Scalar& other);
}  // namespace cresset
"""
METHODS = "// Generated\nTensor relu() const;\nTensor add(const Tensor& other) const;\nTensor& add_(const Tensor& other) const;\n"


class DeclareUnits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.put("generated/cresset/ops/functions.h", FUNCTIONS)
        self.put("generated/cresset/ops/tensor_methods.inc", METHODS)

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def declare(self, *sources):
        listed = self.put("sources.txt", "\n".join(map(str, sources)) + "\n")
        subprocess.run(
            [sys.executable, TOOL, "--root", self.root, "--generated", self.root / "generated", "--sources", listed, "--out", self.root / "units"], check=True
        )

    def read(self, unit, name="functions.h"):
        return (self.root / "units" / unit / "cresset/ops" / name).read_text()

    def test_a_unit_gets_all_overloads_of_the_names_that_it_uses(self):
        self.declare(self.put("cresset/nn/a.cpp", "Tensor f(Tensor x) { return x.add(x); }"))
        self.assertEqual(self.read("cresset_nn_a").count("Tensor add("), 2)
        self.assertNotIn("relu", self.read("cresset_nn_a"))
        self.assertEqual(self.read("cresset_nn_a", "tensor_methods.inc"), "// Generated\nTensor add(const Tensor& other) const;\n")

    def test_names_in_included_headers_count(self):
        self.put("cresset/nn/b.h", "inline Tensor g(Tensor x) { return relu(x); }")
        self.declare(self.put("cresset/nn/b.cpp", '#include "cresset/nn/b.h"\n'))
        self.assertIn("relu", self.read("cresset_nn_b"))

    def test_names_in_comments_and_texts_do_not_count(self):
        self.declare(self.put("cresset/nn/c.cpp", '// relu\nconst char* text = "relu \\" relu";\n/* relu\n relu */\n'))
        self.assertNotIn("relu", self.read("cresset_nn_c"))
        self.assertIn("namespace cresset {", self.read("cresset_nn_c"))

    def test_names_that_a_macro_pastes_count(self):
        self.declare(self.put("cresset/nn/e.cpp", "#define CALL(X, Y) re##X##u(); Y##_(); CALL(l, add)"))
        self.assertIn("relu", self.read("cresset_nn_e"))
        self.assertIn("add_()", self.read("cresset_nn_e", "tensor_methods.inc").replace("const Tensor& other", ""))

    def test_a_declaration_that_no_name_asks_for_leaves_the_files_as_they_are(self):
        source = self.put("cresset/nn/d.cpp", "add();")
        self.declare(source)
        before = (self.root / "units/cresset_nn_d/cresset/ops/functions.h").stat().st_mtime_ns
        self.put("generated/cresset/ops/functions.h", FUNCTIONS.replace("}", "CRESSET_API Tensor tanh(const Tensor& self);\n}"))
        self.declare(source)
        self.assertEqual((self.root / "units/cresset_nn_d/cresset/ops/functions.h").stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
