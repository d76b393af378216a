"""Damaged `.pt2` files: each is a ValueError that names the place in the document, in Python and in C++."""

import io
import json
import tempfile
import unittest
import zipfile
from pathlib import Path

from cresset.export import Dim, export, load, save

import cresset as torch
from cresset import nn


class Net(nn.Module):
    """A weight, an open size, a branch, several results, a number among the arguments."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x, n):
        y = torch.cond(x.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (self.linear(x),))
        values, places = y.max(1)
        return torch.sub(values, y.sum(1), alpha=n), places, y.var(1)


class Doubled(nn.Module):
    def forward(self, x):
        return x.new_zeros(x.shape[0] * 2)


def document():
    """Entries of the archive, and the program in it."""
    buffer = io.BytesIO()
    save(export(Net(), (torch.ones(4, 3), 2), dynamic_shapes=({0: Dim("batch")}, None)), buffer)
    with zipfile.ZipFile(buffer) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Damage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = document()
        cls.model = next(name for name in cls.entries if name.endswith("models/model.json"))
        cls.weights = next(name for name in cls.entries if name.endswith("model_weights_config.json"))

    def said(self, entry, change):
        """The errors of both readers for the archive with one document changed."""
        content = json.loads(self.entries[entry])
        change(content)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "damaged.pt2"
            with zipfile.ZipFile(file, "w") as archive:
                for name, data in self.entries.items():
                    archive.writestr(name, json.dumps(content) if name == entry else data)
            found = []
            for read in (load, torch.graph.load_program):
                with self.assertRaises(ValueError) as caught:
                    read(file)
                found.append(str(caught.exception))
        return found

    def check(self, entry, change, *parts):
        for said in self.said(entry, change):
            for part in parts:
                self.assertIn(part, said)

    def node(self, content, target):
        return next(n for n in content["graph_module"]["graph"]["nodes"] if n["target"].endswith(target))

    def test_fields_of_another_kind(self):
        for key in ("nodes", "inputs", "outputs"):
            with self.subTest(key):
                self.check(self.model, lambda d: d["graph_module"]["graph"].update({key: 7}), f"graph_module.graph.{key}")
        self.check(self.model, lambda d: d.update(range_constraints={"s0": "x"}), "range_constraints")
        self.check(self.model, lambda d: d["graph_module"]["signature"].update(input_specs=None), "graph_module.signature.input_specs")

    def test_ranges_without_numbers(self):
        def turned(d):
            name = next(iter(d["range_constraints"]))
            d["range_constraints"][name] = {"min_val": 9, "max_val": 3}

        self.check(self.model, turned, "range_constraints", "9")
        self.assertIn("range_constraints", self.said_by_python(lambda d: d.update(range_constraints={"s0": {"min_val": 0, "max_val": 10**30}})))

    def test_operators_of_numbers_take_as_many_as_they_have(self):
        buffer = io.BytesIO()
        save(export(Doubled(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("batch")},)), buffer)
        with zipfile.ZipFile(buffer) as archive:
            self.entries = {name: archive.read(name) for name in archive.namelist()}

        def cut(d):
            del self.node(d, "_operator.mul")["inputs"][0]

        self.check(self.model, cut, "2")

    def test_weights_without_their_facts(self):
        self.check(self.weights, lambda d: d.pop("config"), "model_weights_config.json", "config")
        self.check(self.weights, lambda d: d.update(config=[[]]), "model_weights_config.json.config")
        self.check(self.weights, lambda d: d["config"]["linear.bias"].update(tensor_meta=None), "linear.bias")
        self.check(self.weights, lambda d: d["config"]["linear.bias"]["tensor_meta"].update(layout=1), "linear.bias.tensor_meta.layout")

    def test_names_of_arguments(self):
        def renamed(d):
            self.node(d, "sub.Tensor")["inputs"][0]["name"] = "other"

        self.check(self.model, renamed, "'other' is given twice")

        def unknown(d):
            self.node(d, "sub.Tensor")["inputs"][0]["name"] = "selfx"

        self.check(self.model, unknown, "sub.Tensor has no argument 'selfx'")

        def missing(d):
            del self.node(d, "sub.Tensor")["inputs"][1]

        self.check(self.model, missing, "sub.Tensor needs a value for 'other'")

    def test_arguments_in_another_order_are_told_by_their_names(self):
        content = json.loads(self.entries[self.model])
        self.node(content, "sub.Tensor")["inputs"].reverse()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "turned.pt2"
            with zipfile.ZipFile(file, "w") as archive:
                for name, data in self.entries.items():
                    archive.writestr(name, json.dumps(content) if name == self.model else data)
            x = torch.randn(5, 3)
            expected = torch.graph.load_program(file)(x, 2)
            for a, b in zip(load(file).module()(x, 2), expected, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0)

    def test_results_of_other_names(self):
        def renamed(d):
            d["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "x"

        self.check(self.model, renamed, "signature", "'x'")

    def test_more_inputs_than_the_signature_has(self):
        def doubled(d):
            d["graph_module"]["graph"]["inputs"].append({"as_int": 3})

        self.check(self.model, doubled, "graph_module.signature", "input_specs")

    def test_devices_and_graphs_of_no_name(self):
        def device(d):
            d["graph_module"]["graph"]["tensor_values"]["x"]["device"]["type"] = "cpux"

        self.check(self.model, device, "tensor_values.x.device", "cpux")

        def graph(d):
            self.node(d, "cond")["inputs"][1]["arg"]["as_graph"]["name"] = "a.b"

        self.assertIn("as_graph.name", self.said_by_python(graph))

    def said_by_python(self, change):
        content = json.loads(self.entries[self.model])
        change(content)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in self.entries.items():
                archive.writestr(name, json.dumps(content) if name == self.model else data)
        with self.assertRaises(ValueError) as caught:
            load(buffer)
        return str(caught.exception)

    def test_structures_that_are_none(self):
        def emptied(d):
            d["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = "cpu"

        for said in self.said(self.model, emptied):
            self.assertRegex(said, "load")
        self.assertIn("module_call_graph[0].signature.in_spec", self.said_by_python(emptied))

        def unsigned(d):
            d["graph_module"]["module_call_graph"][0]["signature"] = None

        self.assertIn("module_call_graph", self.said_by_python(unsigned))

    def test_names_that_are_no_text(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in self.entries.items():
                archive.writestr(name, data)
            archive.writestr(self.model.replace("model.json", "b.json"), "{}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "two.pt2"
            file.write_bytes(buffer.getvalue().replace(b"models/b.json", b"models/\xd7.json"))
            with self.assertRaisesRegex(ValueError, "has no model 'other', it has 'model'"):
                torch.graph.load_program(file, model="other")

    def test_cut_files(self):
        buffer = io.BytesIO()
        save(export(nn.Linear(2, 2), (torch.ones(1, 2),)), buffer)
        data = buffer.getvalue()
        for size in range(0, len(data) - 1, 211):
            with self.assertRaisesRegex(ValueError, "load"):
                load(io.BytesIO(data[:size]))


if __name__ == "__main__":
    unittest.main()
