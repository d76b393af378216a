"""The census counts what the rows say, and its page lists every operator."""

import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from census import ASPECTS, KINDS, MEANING, batching, states
from opgen.load import load


def census(*arguments):
    return subprocess.run([ROOT / "tools" / "op_census", *arguments], cwd="/", capture_output=True, text=True, check=True).stdout


class TestCensus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = load(list((ROOT / "ops").glob("*.toml")))
        cls.lists = [row for row in cls.rows if row.each]
        cls.tables = [table for path in sorted((ROOT / "ops").glob("*.toml")) for table in tomllib.loads(path.read_text())["op"]]

    def test_every_row_is_in_one_state_of_each_aspect(self):
        found = states(self.rows)
        self.assertEqual(tuple(found), ASPECTS)
        for aspect, counts in found.items():
            self.assertEqual(counts.total(), len(self.tables) + len(self.lists), aspect)
            self.assertLessEqual({(aspect, state) for state in counts}, set(MEANING))

    def test_gradients_are_counted_as_the_tables_say(self):
        def state(table):
            if table["kind"] == "composite" or ("grad" not in table and table["kind"] == "fused"):
                return "by its parts"
            texts = list(table["grad"].values()) if isinstance(table.get("grad"), dict) else [table.get("grad", "formula")]
            if "not_implemented" in texts:
                return "not implemented"
            return "formula" if any(text != "non_differentiable" for text in texts) else "non differentiable"

        expected = Counter(map(state, self.tables))
        expected["by its parts"] += len(self.lists)
        self.assertEqual(states(self.rows)["gradient"], expected)

    def test_the_command_prints_from_any_folder(self):
        lines = census().splitlines()
        kinds = Counter(row.kind for row in self.rows)
        self.assertTrue(lines[0].startswith(f"operators     {len(self.rows)} in "))
        self.assertEqual(lines[1], "kinds         " + ", ".join(f"{kinds[k]} {k}" for k in KINDS))
        for aspect in ASPECTS:
            line = next(line for line in lines if line.startswith(aspect + " "))
            self.assertEqual(sum(map(int, re.findall(r"\d+", line))), len(self.rows), line)

    def test_the_page_lists_every_operator_once_and_the_documentation_links_it(self):
        with tempfile.TemporaryDirectory() as folder:
            census("--docs", f"{folder}/ops.md")
            page = Path(folder, "ops.md").read_text()
        listed = Counter(re.findall(r"^\| `([^`]*)` \| (?:%s) \|" % "|".join(KINDS), page, re.MULTILINE))
        self.assertEqual(listed, Counter([table["schema"].replace("|", "\\|") for table in self.tables] + [str(row.schema) for row in self.lists]))
        self.assertIn("\nops\n", (ROOT / "docs" / "index.md").read_text())

    def test_batching_comes_from_the_rows(self):
        by_name = {row.schema.full_name: row for row in self.rows}
        found = {name: batching(by_name[name]) for name in ("cumsum", "histc", "nonzero", "add.Tensor", "relu6", "split.Tensor")}
        self.assertEqual(found, {"cumsum": "rule", "histc": "by slices", "nonzero": "by slices", "add.Tensor": "pointwise", "relu6": "by its parts",
                                 "split.Tensor": "rule"})  # fmt: skip


if __name__ == "__main__":
    unittest.main()
