"""tools/one_formula.py finds functions of the front ends that compute, and lets their number only fall."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from one_formula import Found, Rows, check, kit, of_cpp, of_python

ROWS = Rows(ROOT)


def python(text):
    return [(f.name.partition(":")[2], list(f.steps)) for f in of_python(text, "x.py", ROWS)]


def cpp(text):
    return [(f.name.partition(":")[2], list(f.steps)) for f in of_cpp(text, "x.cpp", ROWS)]


class Python(unittest.TestCase):
    def test_one_call_of_a_row_is_no_formula(self):
        self.assertEqual(python('def f(input):\n    return ops["exp"](input)\n'), [])

    def test_a_call_and_an_operator_are_one(self):
        self.assertEqual(python("def f(input):\n    return torch.exp(-input)\n"), [("f", ["exp", "-"])])

    def test_what_was_computed_is_a_tensor(self):
        self.assertEqual(python("def f(a):\n    b = torch.exp(a)\n    return b + 1\n"), [("f", ["exp", "+"])])

    def test_numbers_are_not(self):
        self.assertEqual(python("def f(momentum, epoch):\n    rate = momentum * epoch\n    return rate / (1 - epoch)\n"), [])

    def test_the_form_in_place_is_another_way_to_call_a_row(self):
        self.assertEqual(python("def f(input, inplace):\n    return ops['relu_'](input) if inplace else ops['relu'](input)\n"), [])

    def test_texts_of_errors_compute_nothing(self):
        self.assertEqual(python("def f(input):\n    raise ValueError(input * 2 + 1)\n"), [])

    def test_methods_are_named_with_their_class(self):
        self.assertEqual(python("class A:\n    def f(self, input):\n        return input * input + 1\n"), [("A.f", ["+", "*"])])


class Cpp(unittest.TestCase):
    def test_one_call_of_a_row_is_no_formula(self):
        self.assertEqual(cpp("Tensor f(const Tensor& x, Options o) { return cresset::softmax(x, o.dim()); }"), [])

    def test_operators_between_tensors_are_steps(self):
        self.assertEqual(cpp("Tensor f(const Tensor& x) { return x / (x.abs() + 1); }"), [("f", ["abs", "/"])])

    def test_conditions_comments_and_texts_are_not(self):
        self.assertEqual(cpp('Tensor f(const Tensor& x) { CRESSET_CHECK((x.exp() - x).sum(), "x - x"); // x * x\n return x.exp(); }'), [])

    def test_bodies_of_rows_are_where_formulas_belong(self):
        self.assertEqual(cpp("namespace cresset::ops::composite { Tensor f(const Tensor& x) { return x * x + x; } }"), [])

    def test_accessors_of_options_compute_nothing(self):
        self.assertEqual(cpp("Tensor f(const Tensor& x) { return cresset::conv1d(x, o.norm(), o.pow()); }"), [])


class Check(unittest.TestCase):
    found = {"cpp": [Found("a.cpp:f", ("*", "+"))], "python": []}

    def says(self, cpp, reasons):
        return check(self.found, {"remaining": {"cpp": cpp, "python": 0}, "reasons": reasons})

    def test_a_function_more_fails(self):
        self.assertIn("1 functions compute", self.says(0, {})[0])

    def test_a_function_less_has_to_be_written_down(self):
        self.assertIn("which says 2", self.says(2, {})[0])

    def test_a_reason_takes_it_off_the_number(self):
        self.assertEqual(self.says(0, {"a.cpp:*": "a hook"}), [])

    def test_a_reason_for_nothing_fails(self):
        self.assertIn("names no function", self.says(1, {"b.cpp:f": "gone"})[0])


class Kit(unittest.TestCase):
    def test_hinge_and_ctc_are_no_formulas_of_the_front_ends(self):
        names = [f.name for functions in kit().values() for f in functions]
        self.assertFalse([n for n in names if "hinge" in n or "ctc" in n or "adam" in n])


if __name__ == "__main__":
    unittest.main()
