"""`.pt2` files: written and read again, damaged ones."""

import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

from cresset.export import Dim, draft_export, export, load, save

import cresset as torch
from cresset import nn
from cresset.graph import load_program

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def again(program, **options):
    buffer = io.BytesIO()
    save(program, buffer)
    buffer.seek(0)
    return load(buffer, **options)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def changed(program, change):
    """The archive of a program with its document changed."""
    buffer, out = io.BytesIO(), io.BytesIO()
    save(program, buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("models/model.json"):
                document = json.loads(data)
                change(document["graph_module"]["graph"], document)
                data = json.dumps(document)
            new.writestr(name, data)
    out.seek(0)
    return out


class RoundTrip(unittest.TestCase):
    def test_a_program_comes_back(self):
        module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        program = export(module, (X,))
        loaded = again(program)
        self.assertEqual(str(loaded.graph_signature), str(program.graph_signature))
        self.assertEqual(loaded.graph_module.code, program.graph_module.code)
        torch.testing.assert_close(loaded.module()(X), module(X), rtol=0, atol=0)

    def test_arguments_of_all_kinds(self):
        def f(x, i, n, s):
            return (
                x[:, i], x.to(torch.float64), nn.functional.pad(x, [1, 2], value=float("inf")), x.clamp(-0.5, None), x.sum([0, 1]), x.chunk(3, 1)[1],
                x.clone(memory_format=torch.contiguous_format), torch.einsum("ij->ji", x), n, None, s, *x.topk(2),
            )  # fmt: skip

        args = (X, torch.tensor([0, 1]), 3, "text")
        loaded = again(export(Function(f), args))
        for got, expected in zip(loaded.module()(*args), f(*args), strict=True):
            if isinstance(expected, torch.Tensor):
                torch.testing.assert_close(got, expected)

    def test_memory_that_is_shared_is_kept_once(self):
        layer = nn.Linear(3, 3)
        module = nn.Sequential(layer, nn.ReLU(), nn.Linear(3, 3))
        module[2].weight = layer.weight
        buffer = io.BytesIO()
        save(export(module, (X,)), buffer)
        with zipfile.ZipFile(buffer) as archive:
            self.assertEqual(len([n for n in archive.namelist() if "weights/weight_" in n]), 3)

    def test_sizes_that_are_symbols(self):
        program = export(nn.Linear(3, 4), (X,), dynamic_shapes=({0: torch.export.Dim("b", min=2, max=64)},))
        loaded = again(program)
        self.assertEqual(loaded.module()(torch.ones(7, 3)).shape, (7, 4))
        self.assertEqual([(int(r.lower), int(r.upper)) for r in loaded.range_constraints.values()], [(2, 64)])
        with self.assertRaisesRegex(AssertionError, "got 65"):
            loaded.module()(torch.ones(65, 3))

    def test_roots_of_sizes(self):
        """Both readers, and the spelling that PyTorch's files have for functions that its algebra does not look into."""
        function = Function(lambda x: x * torch.sym_sqrt(x.shape[0] * 1.5))
        program = export(function, (X,), dynamic_shapes=(({0: Dim("n", max=64)},),))
        path = os.path.join(tempfile.mkdtemp(), "m.pt2")
        save(program, path)
        with zipfile.ZipFile(path) as archive:
            document = archive.read(next(n for n in archive.namelist() if n.endswith("models/model.json"))).decode()
        self.assertIn("OpaqueUnaryFn_sqrt(Mul(ToFloat(Symbol(", document)
        self.assertIn("torch._sym_sqrt", document)
        for rows in (2, 9):
            x = torch.ones(rows, X.shape[1])
            self.assertTrue(torch.equal(load(path).module()(x), function(x)))
            self.assertTrue(torch.equal(load_program(path)(x), function(x)))

    def test_lengths_and_truth_values_of_the_data(self):
        def f(x):
            return x.nonzero(), x[x > 0] * 2

        x = torch.tensor([[1.0, 0.0, 2.0], [-1.0, 3.0, 4.0]])
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            save(export(Function(f), (torch.ones(2, 3),)), file.name)
            for run in (load(file.name).module(), load_program(file.name)):
                for a, b in zip(run(x), f(x), strict=True):
                    self.assertTrue(torch.equal(a, b))
        for x in (torch.ones(3), -torch.ones(3)):
            with self.assertWarns(UserWarning):
                program = draft_export(Function(lambda x: x + 1 if x.sum() > 0 else x - 1), (x,))
            with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
                save(program, file.name)
                for run in (load(file.name).module(), load_program(file.name)):
                    self.assertTrue(torch.equal(run(x), x * 2))
                    with self.assertRaisesRegex(RuntimeError, "relies on (Eq|Ne)|expected Eq"):
                        run(-x)

    def test_sizes_that_a_file_does_not_allow(self):
        def f(x, y, n):
            torch._check(x.shape[0] % 3 == 1)
            torch._check(x.shape[0] < y.shape[0] * 2)
            return x.sum() + y.sum() + n["a"][0].sum() + n["b"].sum()

        half, auto = torch.export.Dim("half", min=3, max=10), torch.export.Dim.AUTO
        dims = (({0: auto}, {0: auto}, {"a": [{0: 2 * half}], "b": {0: auto}}),)
        given = lambda x, y, a, b=5: (torch.ones(x), torch.ones(y), {"a": [torch.ones(a)], "b": torch.ones(b)})  # noqa: E731
        wrong = [
            (5, 7, 8, "0. % 3|Mod"),
            (16, 8, 8, "< .*2|size 16"),
            (4, 7, 9, "2.*dimension 0|2.*size..\\[0\\]"),
            (4, 7, 22, "10|22"),
            (4, 7, 4, "3 to 10|6"),
        ]
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            save(export(Function(f), given(7, 9, 8), dynamic_shapes=dims), file.name)
            for run in (load(file.name).module(), load_program(file.name)):
                self.assertEqual(run(*given(4, 3, 6)).item(), 18)
                for *sizes, text in wrong:
                    with self.assertRaisesRegex((AssertionError, ValueError), text):
                        run(*given(*sizes))

    def test_operators_of_python_on_bits(self):
        def f(a, b):
            return a & b, a | 3, a ^ b, a << b, a >> 1, (a > 2) & (b > 1)

        names = {
            "bitwise_and": "__and__",
            "bitwise_or": "__or__",
            "bitwise_xor": "__xor__",
            "bitwise_left_shift": "__lshift__",
            "bitwise_right_shift": "__rshift__",
        }

        def spell(graph, _):
            for node in graph["nodes"]:
                parts = node["target"].split(".")
                if parts[3] in names:
                    node["target"] = ".".join([*parts[:3], names[parts[3]], parts[4].replace("Tensor_Scalar", "Scalar")])
                    spelled.append(node["target"])

        args, spelled = (torch.tensor([1, 2, 7]), torch.tensor([3, 1, 2])), []
        archive = changed(export(Function(f), args), spell)
        self.assertIn("torch.ops.aten.__rshift__.Scalar", spelled)
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            file.write(archive.getvalue())
            file.flush()
            for run in (load(file.name).module(), load_program(file.name)):
                for a, b in zip(run(*args), f(*args), strict=True):
                    self.assertTrue(torch.equal(a, b))

    def test_other_names_of_operators(self):
        def f(x):
            return x.abs(), x.transpose(0, 1), x.div(3), x.t(), torch.sigmoid(x), x.logsumexp(1)

        names = {
            "abs.default": "absolute.default", "transpose.int": "swapaxes.default", "div.Tensor": "true_divide.Tensor", "t.default": "numpy_T.default",
            "sigmoid.default": "special_expit.default", "logsumexp.default": "special_logsumexp.default",
        }  # fmt: skip

        def spell(graph, _):
            for node in graph["nodes"]:
                name = node["target"].removeprefix("torch.ops.aten.")
                spelled.append(names[name])
                node["target"] = "torch.ops.aten." + names[name]
                for i, dim in enumerate(node["inputs"][1:] if name == "transpose.int" else []):
                    dim["name"] = f"axis{i}"

        spelled = []
        archive = changed(export(Function(f), (X,)), spell)
        self.assertEqual(spelled, list(names.values()))
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            file.write(archive.getvalue())
            file.flush()
            for run in (load(file.name).module(), load_program(file.name)):
                for a, b in zip(run(X), f(X), strict=True):
                    self.assertTrue(torch.equal(a, b))

    def test_dims_that_are_functions_of_others(self):
        d = Dim("d", min=2, max=10)
        program = export(Function(lambda x, y: x + y[1:]), (X, torch.ones(3, 3)), dynamic_shapes={"args": ({0: d}, {0: d + 1})})
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            save(program, file.name)
            for run in (load(file.name).module(), load_program(file.name)):
                self.assertTrue(torch.equal(run(torch.ones(4, 3), torch.ones(5, 3)), torch.full((4, 3), 2.0)))
                with self.assertRaisesRegex((AssertionError, ValueError), "expected (size )?5"):
                    run(torch.ones(4, 3), torch.ones(6, 3))
                with self.assertRaisesRegex((AssertionError, ValueError), "10"):
                    run(torch.ones(11, 3), torch.ones(12, 3))

    def test_graphs_within_graphs(self):
        program = export(Function(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))), (X,))
        module = again(program).module()
        torch.testing.assert_close(module(X + 1), (X + 1).sin())
        torch.testing.assert_close(module(X - 1), (X - 1).cos())

    def test_extra_files(self):
        buffer, extra = io.BytesIO(), {"note.txt": ""}
        save(export(nn.ReLU(), (X,)), buffer, extra_files={"note.txt": "hi"})
        buffer.seek(0)
        load(buffer, extra_files=extra)
        self.assertEqual(extra["note.txt"], "hi")

    def test_the_file_runs_as_a_graph_without_python(self):
        module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        path = os.path.join(tempfile.mkdtemp(), "m.pt2")
        save(export(module, (X,)), path)
        shown = subprocess.run([sys.executable, "-m", "cresset.graph", "show", path], capture_output=True, text=True, check=True)
        self.assertIn("linear", shown.stdout)

    def test_a_list_without_items_is_of_the_type_of_its_argument(self):
        path = os.path.join(tempfile.mkdtemp(), "m.pt2")
        save(export(Function(lambda x: x + x.new_ones(())), (X,)), path)
        self.assertTrue(torch.equal(torch.graph.load_program(path)(X), X + 1))


class Damaged(unittest.TestCase):
    def setUp(self):
        self.program = export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (X,))

    def refused(self, change, words):
        with self.assertRaisesRegex(ValueError, words):
            load(changed(self.program, change))

    def test_truncated(self):
        buffer = io.BytesIO()
        save(self.program, buffer)
        with self.assertRaisesRegex(ValueError, "damaged|expected an archive"):
            load(io.BytesIO(buffer.getvalue()[:-200]))

    def test_newer_version(self):
        self.refused(lambda graph, root: root["schema_version"].update(major=9), "schema_version: expected version 8, got 9")

    def test_unknown_operator(self):
        self.refused(lambda graph, root: graph["nodes"][1].update(target="torch.ops.aten.nothing.default"), r"nodes\[1\].target: this library has no operator")

    def test_code_is_no_operator(self):
        self.refused(lambda graph, root: graph["nodes"][1].update(target="os.system"), r"nodes\[1\].target: 'os.system' names no operator")

    def test_use_before_definition(self):
        self.refused(lambda graph, root: graph["nodes"].reverse(), "'linear' is used before it is defined")

    def test_sizes_that_contradict_the_weights(self):
        self.refused(lambda graph, root: graph["tensor_values"]["p_0_weight"].update(sizes=[{"as_int": 5}, {"as_int": 3}]), "the weight '0.weight' is")

    def test_sizes_that_no_tensor_has(self):
        huge = [{"as_int": 2**62}] * 2
        self.refused(
            lambda graph, root: graph["tensor_values"]["linear"].update(sizes=huge, strides=huge), "tensor_values.linear: has sizes .* which no tensor has"
        )

    def test_a_node_that_uses_its_own_result(self):
        self.refused(lambda graph, root: graph["nodes"][0]["inputs"][0].update(arg={"as_tensor": {"name": "linear"}}), "'linear' is used before it is defined")

    def refused_in_both_languages(self, document, words, **options):
        """A file with this document instead of its own."""
        buffer, other = io.BytesIO(), io.BytesIO()
        save(self.program, buffer)
        with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(other, "w") as out:
            for name in archive.namelist():
                is_document = name.endswith("models/model.json")
                out.writestr(name, document if is_document else archive.read(name), **(options if is_document else {}))
        with self.assertRaisesRegex(ValueError, words):
            load(io.BytesIO(other.getvalue()))
        with self.assertRaisesRegex(ValueError, words), tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            file.write(other.getvalue())
            file.flush()
            load_program(file.name)

    def test_a_document_that_is_nested_without_an_end(self):
        self.refused_in_both_languages("[" * 200_000, "models/model.json: expected JSON")

    def test_a_small_file_with_millions_of_nodes(self):
        self.refused_in_both_languages(
            "[" + "{}," * 3_000_000 + "{}]", "'models/model.json' expands [0-9]+ bytes to 9000004", compress_type=zipfile.ZIP_DEFLATED
        )

    def test_a_missing_field(self):
        self.refused(lambda graph, root: graph["nodes"][0].pop("inputs"), r"nodes\[0\]: expected the field 'inputs'")


if __name__ == "__main__":
    unittest.main()
