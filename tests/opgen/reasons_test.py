"""Reasons why a row has no reference (`test = { skip = "..." }`) are true: the tests and the rows that they name exist."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from opgen.load import load  # noqa: E402

ROWS = load(sorted((ROOT / "ops").glob("*.toml")))


class Reasons(unittest.TestCase):
    def reasons(self):
        return [(row, row.test["skip"]) for row in ROWS if row.test and "skip" in row.test]

    def test_files_that_a_reason_names_exist(self):
        absent = {name for _, reason in self.reasons() for name in re.findall(r"tests/[\w/.]*\w", reason) if not (ROOT / name).exists()}
        self.assertEqual(absent, set())

    def test_rows_that_a_reason_names_exist(self):
        known = {name for row in ROWS for name in (row.schema.name, row.schema.full_name)}
        wrong = [f"{row.schema.full_name}: {reason}" for row, reason in self.reasons()
                 for name in re.findall(r"\b(?:_?linalg|adaptive|avg)_\w+(?:\.\w+)?", re.sub(r"tests/\S+", "", reason)) if name not in known]  # fmt: skip
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
