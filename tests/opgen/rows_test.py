"""A wrong row is reported with its file, its line and a sentence."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from opgen.load import load, load_file
from opgen.model import RowError

ROOT = Path(__file__).resolve().parents[2]


class WrongRows(unittest.TestCase):
    def failure(self, text: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "family.toml"
            path.write_text(text)
            with self.assertRaises(RowError) as caught:
                load_file(path)
            return str(caught.exception)

    def test_unknown_field_names_its_line(self) -> None:
        message = self.failure('[[op]]\nschema = "f(Tensor self) -> Tensor"\nkind = "composite"\ncolour = "red"\n')
        self.assertIn("family.toml:4: unknown field `colour`", message)

    def test_primitive_without_gradient(self) -> None:
        message = self.failure('\n[[op]]\nschema = "f(Tensor self) -> Tensor"\nkind = "primitive"\nmeta = "f"\nkernel = { cpu = "f" }\n')
        self.assertIn("family.toml:2: `f` has no `grad`", message)

    def test_gradient_of_an_unknown_argument(self) -> None:
        text = '[[op]]\nschema = "f(Tensor self) -> Tensor"\nkind = "primitive"\nmeta = "f"\nkernel = { cpu = "f" }\ngrad = { other = "grad" }\n'
        self.assertIn("family.toml:6: `other` in `grad` is not an argument", self.failure(text))

    def test_text_that_is_not_toml(self) -> None:
        self.assertIn("family.toml:2: not valid TOML", self.failure("[[op]]\nschema = \n"))

    def test_unknown_kind(self) -> None:
        self.assertIn('unknown kind "magic"', self.failure('[[op]]\nschema = "f(Tensor self) -> Tensor"\nkind = "magic"\n'))


class Rows(unittest.TestCase):
    def test_all_rows_load(self) -> None:
        self.assertGreater(len(load(list((ROOT / "ops").glob("*.toml")))), 400)


if __name__ == "__main__":
    unittest.main()
