"""The page of small sets of operators has every core operator with its schema, and every primitive."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import operator_sets
from opgen.load import load


class TestOperatorSets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = load(list((ROOT / "ops").glob("*.toml")))
        page = subprocess.run([sys.executable, ROOT / "tools" / "operator_sets.py"], cwd="/", capture_output=True, text=True, check=True).stdout
        cls.core, _, cls.primitives = page.partition("## Primitives")

    def test_core_operators_have_their_schemas(self):
        names = operator_sets.core_names()
        self.assertIn("| `relu` | `relu(Tensor self) -> Tensor` | primitive |", self.core)
        listed = [line.split("`")[1] for line in self.core.splitlines() if line.startswith("| `")]
        for name in names:
            found = [one for one in listed if one == name or (name.endswith(".*") and one.partition(".")[0] == name[:-2])]
            self.assertTrue(found, name)
        self.assertEqual(len(listed), len(set(listed)))

    def test_rows_with_kernels_and_views_are_the_primitives(self):
        listed = [line.split("`")[1] for line in self.primitives.splitlines() if line.startswith("| `")]
        self.assertEqual(sorted(listed), sorted(str(row.schema) for row in self.rows if row.kind in ("primitive", "view")))

    def test_formulas_are_those_of_the_tables(self):
        self.assertIn("`silu(Tensor self) -> Tensor` | pointwise | formula | pointwise | formula |", self.primitives)
        self.assertLessEqual({"silu", "gelu"}, operator_sets.formulas())

    def test_a_core_operator_without_a_row_is_an_error(self):
        rows = [row for row in self.rows if row.schema.full_name != "relu"]
        with self.assertRaisesRegex(SystemExit, "core operator relu has no row"):
            operator_sets.core_table(rows)


if __name__ == "__main__":
    unittest.main()
