"""Rows of ops/distributions: what a line becomes, and what is reported of a wrong one."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from opgen.formulas import formula_files, load_tables  # noqa: E402
from opgen.model import RowError  # noqa: E402


def files_of(text):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "some.toml").write_text(text)
        return formula_files(Path(folder))


class Rows(unittest.TestCase):
    def test_a_line_is_a_composite_of_tensors(self):
        files = files_of('[Normal]\n"cdf(value, loc)" = "erf(value - loc)"\n')
        self.assertIn("Tensor _normal_cdf(const Tensor& value, const Tensor& loc) {\n  return erf(value - loc);\n}", files["rows_some.cpp"])
        self.assertIn('"_normal_cdf(Tensor value, Tensor loc) -> Tensor"', files["rows_some.cpp"])

    def test_other_types_are_named(self):
        files = files_of('[Normal]\n"sample(int[] shape, float low) -> Tensor[]" = "{}"\n')
        self.assertIn('"_normal_sample(int[] shape, float low) -> Tensor[]"', files["rows_some.cpp"])

    def test_statements_stand_as_they_are(self):
        self.assertIn("{\n  const Tensor y = x; return y;\n}", files_of('[A]\n"mode(x)" = "const Tensor y = x; return y;"\n')["rows_some.cpp"])

    def test_a_body_in_cpp_is_only_declared(self):
        files = files_of('[A]\n"mode(x)" = "c++"\n')
        self.assertIn("namespace composite { Tensor _a_mode(const Tensor& x); }", files["rows.h"])
        self.assertNotIn("Tensor _a_mode(const Tensor& x) {\n", files["rows_some.cpp"].split("namespace entry")[0])

    def test_methods_are_found_by_kind(self):
        self.assertIn("const Formulas a_formulas{nullptr, &ops::entry::_a_mode,", files_of('[A]\n"mode(x)" = "x"\n')["rows_some.cpp"])

    def test_pairs_are_passed_on(self):
        self.assertIn('"A B _kl_a_b(p_x)",', files_of('[pairs]\n"A B" = "_kl_a_b(p_x)"\n[KL]\n"a_b(like)" = "like"\n')["table.cpp"])

    def test_mistakes_name_their_line(self):
        for text, words in (
            ('[A]\n"mode(x)" = 3\n', "some.toml:2: .*no formula"),
            ('[A]\n"mode(x)" = "x"\n"mean" = "x"\n', 'some.toml:3: "mean" is not `name'),
            ('[A]\n"mode(int x" = "x"\n', "some.toml:2: "),
            ("[A\n", "some.toml:1: not valid TOML"),
        ):
            with self.subTest(text), self.assertRaisesRegex(RowError, words):
                files_of(text)


class TestRepository(unittest.TestCase):
    def test_every_pair_has_a_row(self):
        tables, pairs = load_tables(Path(__file__).parents[2] / "ops" / "distributions")
        names = {row.schema.full_name for members in tables.values() for _, row, _ in members}
        for pair in pairs:
            self.assertIn(pair.split(" ", 2)[2].partition("(")[0], names)


if __name__ == "__main__":
    unittest.main()
