"""Rows are read, checked and emitted as ops/README.md says; a wrong row is reported as file:line: sentence."""

import re
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from census import counts_of
from opgen.emit_files import all_files, write
from opgen.load import FIELDS, load, load_file
from opgen.model import RowError
from opgen.schema import SchemaError, parse_schema

ADD = """
    [[op]]
    schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    kind = "primitive"
    forms = ["function", "method", "inplace", "out"]
    meta = "binary_promote"
    kernel = { cpu = "add" }
    grad = { self = "grad", other = "grad * alpha" }
"""


class TestRows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "rows.toml"

    def tearDown(self):
        self.folder.cleanup()

    def rows(self, text):
        self.path.write_text(textwrap.dedent(text).lstrip())
        return load_file(self.path)

    def assert_error(self, text, line, sentence):
        with self.assertRaises(RowError) as caught:
            self.rows(text)
        self.assertEqual(str(caught.exception), f"{self.path}:{line}: {sentence}")

    def test_each_mistake_names_file_line_and_reason(self):
        cases = [
            (ADD.replace('kind = "primitive"', 'kind = "primitiv"'), 3,
             'unknown kind "primitiv"; the kinds are primitive, view, composite, fused'),
            (ADD.replace('"out"]', '"outt"]'), 4, 'unknown form "outt"; the forms are function, method, inplace, out'),
            (ADD.replace("other =", "othr ="), 7, "`othr` in `grad` is not an argument of the schema"),
            (ADD.replace(', other = "grad * alpha"', ""), 7,
             "the tensor `other` has no gradient; write a formula, non_differentiable or not_implemented"),
            (ADD.replace('    grad = { self = "grad", other = "grad * alpha" }\n', ""), 1,
             "`add.Tensor` has no `grad`; write a formula for each tensor, non_differentiable or not_implemented"),
            (ADD + '    jvp = "unknown"\n', 8,
             '"unknown" is no rule for this row; write linear, multilinear or a function `..._jvp`, or nothing: the rule comes from `grad`'),
            (ADD.replace('{ self = "grad", other = "grad * alpha" }', '"unknown"'), 7,
             '"unknown" is not a gradient; write a table of formulas, non_differentiable or not_implemented'),
            (ADD.replace("Tensor other,", "Tenser other,"), 2,
             "`Tenser other` does not begin with a type; the types are Tensor, Scalar, int, float, bool, str, ScalarType, Layout, "
             "Device, MemoryFormat, Generator"),
            (ADD.replace("Tensor other,", "Tensor self,"), 2, "the argument `self` appears twice"),
            (ADD.replace(") -> Tensor", ")"), 2,
             '"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)" has no `->` after its arguments'),
            (ADD.replace('kernel = { cpu = "add" }', ""), 5,
             'a pointwise row (meta = "binary_promote") needs `kernel = { cpu = "name" }`'),
            (ADD.replace('"binary_promote"', '"ternary"'), 5,
             'meta = "ternary" takes 3 inputs, the schema gives 2; name them in `inputs`'),
            (ADD.replace("meta =", "colour = 'red'\n    meta ="), 5, "unknown field `colour`; the fields are " + ", ".join(FIELDS)),
            (ADD.replace("meta =", "inplace_safe = 3\n    meta ="), 5, "`inplace_safe` has the wrong type (int)"),
            (ADD.replace('"primitive"', '"composite"'), 7,
             "a composite row has no `grad`: it is made of other ops and inherits theirs"),
            (ADD + '    autocast = { cpu = "lowest" }\n', 8, '`autocast` takes none, lower, single, promote, refuse, got "lowest"'),
            (ADD + '    draw = "often"\n', 8, '`draw` takes sized, element, batched, in_place, mask, dropout, composite, rows, got "often"'),
            (ADD + '    float8 = { kernel = "add_stub", unless = "odd" }\n', 8, '`float8` takes empty, alone, coo, got "odd"'),
            (ADD.replace(', "inplace"', "") + '    fast = { inplace = "in_place" }\n', 8, "`fast` names a form that the row does not have: inplace"),
            (ADD.replace('"primitive"', '"fused"'), 3, "a fused row needs `decomposition`, the composite that computes the same"),
        ]  # fmt: skip
        for text, line, sentence in cases:
            with self.subTest(sentence=sentence):
                self.assert_error(text, line, sentence)

    def test_bad_toml_names_the_line(self):
        with self.assertRaises(RowError) as caught:
            self.rows('[[op]]\nschema = "a() -> Tensor"\nkind = composite\n')
        self.assertRegex(str(caught.exception), r"rows\.toml:3: not valid TOML")

    def test_an_op_declared_twice_names_both_places(self):
        self.path.write_text(textwrap.dedent(ADD).lstrip() + textwrap.dedent(ADD))
        with self.assertRaises(RowError) as caught:
            load([self.path])
        self.assertEqual(str(caught.exception), f"{self.path}:9: `add.Tensor` is already declared at ops/rows.toml:1")

    def test_forms_are_derived_with_pytorch_names(self):
        names = [str(op.schema) for op in self.rows(ADD)[0].ops]
        self.assertEqual(names, [
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
            "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        ])  # fmt: skip

    def test_golden_emission_of_one_row(self):
        files = all_files(self.rows(ADD))
        functions, methods, ops, layer = (files[n] for n in ("functions.h", "tensor_methods.inc", "ops_rows_0.cpp", "autograd_rows_0.cpp"))
        for line in ('Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1) __asm__("cresset_add_Tensor");',
                     'Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) __asm__("cresset_add_out_first");',
                     'Tensor& add_outf(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) __asm__("cresset_add_out");'):  # fmt: skip
            self.assertIn(f"CRESSET_API {line}", functions)
        self.assertIn('Tensor add(const Tensor& other, const Scalar& alpha = 1) const __asm__("cresset_add_Tensor");', methods)
        self.assertIn('Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const __asm__("cresset_add__Tensor");', methods)
        self.assertIn('constexpr PointwiseOp add_Tensor_rule{"add", kernels::add_kernel, Promote::common};', ops)
        self.assertIn("  pointwise_inplace(add_Tensor_rule, {self, other}, params, self);", ops)
        self.assertIn("constinit const Op<Tensor(const Tensor&, const Tensor&, const Scalar&)> add_Tensor", ops)
        self.assertIn("struct add_Tensor_node final", layer)
        self.assertIn("= grad * alpha;", layer)

    def test_aliases_and_methods_are_defined_once(self):
        files = all_files(self.rows(ADD + '    aliases = ["plus"]\n'))
        for name in ("functions.h", "tensor_methods.inc"):
            self.assertRegex(files[name], r'Tensor plus\(.*\)[a-z ]*__asm__\("cresset_add_Tensor"\);')
        self.assertRegex(files["functions.h"], r'Tensor& plus_out\(.*\) __asm__\("cresset_add_out_first"\);')
        self.assertEqual(
            re.findall(r"^Tensor&? ([\w:]+)\(.*return dispatch::call\(", files["ops_rows_0.cpp"], re.MULTILINE), ["add", "add_", "add_out", "add_outf"]
        )

    def test_a_method_that_takes_its_object_last_is_defined_apart(self):
        files = all_files(
            self.rows("""
            [[op]]
            schema = "polygamma(int n, Tensor self) -> Tensor"
            kind = "composite"
            forms = ["function", "method"]
        """)
        )
        self.assertIn("Tensor polygamma(int64_t n) const;", files["tensor_methods.inc"])
        self.assertIn("Tensor Tensor::polygamma(int64_t n) const { auto& self", files["ops_rows_0.cpp"])

    def test_columns_become_tables_of_ops(self):
        columns = """    autocast = { other = "promote" }
            sparse = { function = "add", inplace = "add_" }
            coo = { out = "add_out" }
            mkldnn = "on_pairs"
            float8 = { kernel = "add_stub", unless = "empty" }
            draw = "mask"
            fast = { function = "binary", inplace = "in_place" }
            numbers = true
            mixed_devices = true
        """
        files = all_files(self.rows(ADD + columns))
        for line in ("{&ops::entry::add_Tensor, CastPolicy::absent, CastPolicy::promote},",
                     "put(ops::entry::add_Tensor, &sparse::add, true);", "put(ops::entry::add__Tensor, &sparse::add_, true);",
                     "put(ops::entry::add_out, &sparse::add_out, false);", "{&ops::entry::add_Tensor, on_pairs},",
                     '{&ops::entry::add__Tensor, "add_stub", Float8Refusal::empty},', "{&ops::entry::add_Tensor, Draw::mask},",
                     "{&ops::entry::add__Tensor, rules::run_pointwise},", "const size_t kNumMixedDeviceOps = 2;"):  # fmt: skip
            self.assertIn(line, files["tables.cpp"])
        calls = files["python_calls.inc"].splitlines()[1:]
        self.assertEqual(calls, ["CRESSET_FAST(binary, add)", "CRESSET_FAST(in_place, add_)", "CRESSET_TAKES_NUMBERS(add)", "CRESSET_TAKES_NUMBERS(add_)"])

    def test_a_rule_goes_before_that_of_pointwise_rows(self):
        tables = all_files(self.rows(ADD + '    batch = "own"\n'))["tables.cpp"]
        self.assertIn("{&ops::entry::add_Tensor, rules::own},", tables)
        self.assertNotIn("{&ops::entry::add_Tensor, rules::run_pointwise},", tables)

    def test_tensor_options_are_one_parameter(self):
        rows = self.rows("""
            [[op]]
            schema = "zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
            kind = "composite"
            forms = ["function", "out"]
        """)
        functions = all_files(rows)["functions.h"]
        self.assertIn("Tensor zeros(IntArrayRef size, const TensorOptions& options = {}) ", functions)
        self.assertIn("Tensor& zeros_out(Tensor& out, IntArrayRef size) ", functions)

    def test_unchanged_files_keep_their_time(self):
        files = all_files(self.rows(ADD))
        out = Path(self.folder.name) / "out"
        self.assertEqual(write(files, out), len(files))
        self.assertEqual(write(files, out), 0)
        files["functions.h"] += "// more\n"
        self.assertEqual(write(files, out), 1)

    def test_census_counts_kinds_and_gradient_states(self):
        counts = counts_of(self.rows(ADD))
        self.assertEqual((counts["rows"], counts["forms"], counts["primitive pointwise"], counts["gradient formula"]), (1, 3, 1, 2))


class TestSchema(unittest.TestCase):
    def test_schemas_survive_a_round_trip(self):
        for text in (
            "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            "split.Tensor(Tensor(a) self, int split_size, int dim=0) -> Tensor(a)[]",
            "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
            "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
            "f(str mode='a, b', int[2] x=[1, 2], float y=1e-05) -> bool",
            "g() -> ()",
        ):
            with self.subTest(text):
                self.assertEqual(str(parse_schema(text)), text)

    def test_malformed_schemas_are_refused(self):
        for text in ("add", "add(Tensor self -> Tensor", "add(Tensor) -> Tensor", "add(int?[] x) -> Tensor", "add(Tensor x) -> Thing"):
            with self.subTest(text), self.assertRaises(SchemaError):
                parse_schema(text)


LISTS = """
[[op]]
schema = "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"
kind = "composite"
forms = ["function", "method", "inplace"]
foreach = ["Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight)", "Tensor(Tensor[] self, Tensor[] tensors1, Tensor weight)"]
"""


class TestListForms(unittest.TestCase):
    def rows(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.toml")
            path.write_text(text.lstrip())
            return load([path])

    def fails(self, text, pattern):
        with self.assertRaisesRegex(RowError, pattern):
            self.rows(text)

    def test_the_column_gives_the_schemas(self):
        names = [str(op.schema) for row in self.rows(LISTS)[1:] for op in row.ops]
        self.assertEqual(names, [
            "_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]",
            "_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()",
            "_foreach_lerp.Tensor(Tensor[] self, Tensor[] tensors1, Tensor weight) -> Tensor[]",
            "_foreach_lerp_.Tensor(Tensor(a!)[] self, Tensor[] tensors1, Tensor weight) -> ()",
        ])  # fmt: skip

    def test_bodies_call_the_op_on_each_element(self):
        files = all_files(self.rows(LISTS))
        self.assertIn("return self[i].lerp(tensors1[i], weight);", files["ops_foreach_0.cpp"])
        self.assertIn("self[i].lerp_(tensors1[i], numbers[i]);", files["ops_foreach_0.cpp"])

    def test_they_are_declared_apart(self):
        files = all_files(self.rows(LISTS))
        self.assertNotIn("_foreach_lerp", files["functions.h"] + files["names.inc"])
        self.assertIn("_foreach_lerp_(", files["list_functions.h"])
        self.assertIn("using cresset::_foreach_lerp_;", files["list_names.inc"])

    def test_mistakes(self):
        self.fails(
            LISTS.replace("Tensor[] tensors1, Scalar", "Tensors tensors1, Scalar"), r"rows\.toml:1: foreach: `Tensors tensors1` does not begin with a type"
        )


class TestRepository(unittest.TestCase):
    def test_every_row_of_the_tree_has_a_reference_or_a_reason_for_none(self):
        known = {"ref", "samples", "dtypes", "domain", "grad", "fixed", "atol", "name", "peer", "data", "values", "strides"}
        for row in load(list((Path(__file__).parents[2] / "ops").glob("*.toml"))):
            with self.subTest(row=row.schema.full_name):
                if set(row.test) == {"skip"}:
                    self.assertGreater(len(str(row.test["skip"]).split()), 2, "a reason is a sentence")
                    for name in re.findall(r"tests/[\w/.]*\w", row.test["skip"]):
                        self.assertTrue((Path(__file__).parents[2] / name).exists(), f"the reason names {name}, which is not there")
                else:
                    self.assertLessEqual({"ref", "samples"}, set(row.test), 'expected test = { ref, samples, ... } or test = { skip = "reason" }')
                    self.assertLessEqual(set(row.test), known)

    def test_the_rows_of_the_tree_are_within_bounds(self):
        rows = load(list((Path(__file__).parents[2] / "ops").glob("*.toml")))
        counts = counts_of(rows)
        self.assertLessEqual(counts["primitive pointwise"], 160)
        self.assertLessEqual(counts["primitive other"], 200)
        # Without a derivative, as in PyTorch: the different elements, scattering by a product, Bunch and Kaufman's factors, the derivative of a sample by its parameters, and of
        # the special functions Bessel's, Airy's, the orthogonal polynomials.
        self.assertLessEqual(counts_of([row for row in rows if row.family != "special"]).get("gradient not_implemented", 0), 7)

    def test_the_generator_stays_small(self):
        files = (p for p in (Path(__file__).parents[2] / "tools" / "opgen").iterdir() if p.is_file())
        self.assertLessEqual(sum(len(p.read_text().splitlines()) for p in files), 2000)


if __name__ == "__main__":
    unittest.main()
