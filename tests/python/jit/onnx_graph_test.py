"""Graphs of ONNX nodes: their texts, attributes, and files, whose bytes are those that PyTorch 2.13 writes (with its names of values, and of the producer)."""

import sys
import unittest
from pathlib import Path

import cresset as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

TWO = "graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = onnx::Two(%x)\n  return (%y)\n"
HEAD = b"\x08\x08\x12\x07pytorch\x1a\x062.13.0"


def export(graph, initializers=None, opset=17, **options):
    return graph._export_onnx(initializers or {}, opset, {}, **options)


def body(data):
    """The file behind the version of the format and the producer."""
    at = 2
    for _ in range(2):
        at += 2 + data[at + 1]
    return data[at:]


class OnnxGraphTest(unittest.TestCase):
    def test_attributes_of_all_kinds(self):
        graph = torch._C.parse_ir(TWO)
        (node,) = graph.nodes()
        inner = torch._C.parse_ir("graph(%x : Float(2)):\n  %y : Float(2) = onnx::Relu(%x)\n  return (%y)\n")
        node.i_("a", -1).f_("b", 0.1).s_("c", "é").is_("d", [1, -2]).fs_("e", [1.5, float("inf")]).ss_("f", ["p", "q"]).t_(
            "g", torch.tensor([[1, 2], [3, 4]]).t()
        )
        node.ts_("h", [torch.tensor(1), torch.tensor([True])]).is_("i", []).g_("j", inner)
        self.assertEqual([node.kindOf(name) for name in "abcdefgh"], ["i", "f", "s", "is", "fs", "ss", "t", "ts"])
        self.assertEqual((node.i("a"), node.s("c"), getattr(node, "is")("d"), node.ss("f")), (-1, "é", [1, -2], ["p", "q"]))
        self.assertEqual(node.g("j").findNode("onnx::Relu").kind(), "onnx::Relu")
        data = export(graph)[0]
        for part in (
            b"*\x11\n\x01a\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x02",
            b"*\x0b\n\x01b\x15\xcd\xcc\xcc=\xa0\x01\x01",
            b'*\n\n\x01c"\x02\xc3\xa9\xa0\x01\x03',
            b"*\x13\n\x01d@\x01@\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x07",
            b"*\x10\n\x01e=\x00\x00\xc0?=\x00\x00\x80\x7f\xa0\x01\x06",
            b"*\x0c\n\x01fJ\x01pJ\x01q\xa0\x01\x08",
            b"*\x06\n\x01i\xa0\x01\x07",
            b"R\x0c\x10\x07J\x08\x01\x00\x00\x00\x00\x00\x00\x00R\x07\x08\x01\x10\tJ\x01\x01\xa0\x01\t",
            b"\x08\x02\x08\x02\x10\x07J \x01" + bytes(7) + b"\x03" + bytes(7) + b"\x02" + bytes(7) + b"\x04" + bytes(7) + b"\xa0\x01\x04",
        ):
            self.assertIn(part, data)
        node.removeAttribute("a")
        self.assertFalse(node.hasAttribute("a"))
        with self.assertRaisesRegex(RuntimeError, "takes its attributes as inputs"):
            next(iter(torch._C.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n").nodes())).i_("k", 1)

    def test_bytes_are_those_of_pytorch(self):
        graph = torch._C.parse_ir(TWO.replace("Two", "Relu"))
        whole = HEAD + b':L\n\x14\n\x01x\x12\x011\x1a\x06Relu_0"\x04Relu\x12\nmain_graphZ\x13\n\x01x\x12\x0e\n\x0c\x08\x01\x12\x08\n\x02\x08\x02\n\x02\x08\x03'
        whole += b"b\x13\n\x011\x12\x0e\n\x0c\x08\x01\x12\x08\n\x02\x08\x02\n\x02\x08\x03B\x02\x10\x11"
        made, deferred, has_files, names = export(graph)
        self.assertEqual(body(made).replace(b"\x01y", b"\x011"), body(whole))
        self.assertEqual((deferred, has_files, list(names.values())), ({}, False, ["Relu_0"]))

    def test_weights(self):
        text = "graph(%x : Float(2, 3), %w : Float(3)):\n  %y : Float(2, 3) = onnx::Add(%x, %w)\n  return (%y)\n"
        weight = torch.tensor([1.0, 2.0, 3.0])
        made, deferred, *_ = export(torch._C.parse_ir(text), {"w": weight}, defer_weight_export=True)
        self.assertIn(b"__EXTERNAL", made)
        self.assertEqual(deferred, {"w": b"\x00\x00\x80?\x00\x00\x00@\x00\x00@@"})
        part = torch.tensor([0.0, 1, 2, 3, 4])[1:4]  # of a larger memory, its own bytes alone
        self.assertEqual(export(torch._C.parse_ir(text), {"w": part}, defer_weight_export=True)[1], deferred)
        made, *_ = export(torch._C.parse_ir(text), {"w": weight})
        torch._C._check_onnx_proto(made)

    def test_reader_of_the_tests_runs_the_file(self):
        from tempfile import TemporaryDirectory

        import onnx_file

        text = """graph(%x : Float(2, 3), %w : Float(3), %c : Bool()):
  %y : Float(2, 3) = onnx::Mul(%x, %w)
  %s : Float(2, 3) = onnx::Softmax[axis=1](%y)
  %z : Float(2, 3) = onnx::If(%c)
    block0():
      %a : Float(2, 3) = onnx::Relu(%s)
      -> (%a)
    block1():
      %b : Float(2, 3) = onnx::Neg(%s)
      -> (%b)
  return (%z)
"""
        w, x = torch.tensor([0.5, -1.0, 2.0]), torch.arange(6.0).reshape(2, 3)
        made, *_ = export(torch._C.parse_ir(text), {"w": w})
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(made)
            graph = onnx_file.Graph(path)
            expected = torch.softmax(x * w, 1)
            for condition, sign in ((True, 1), (False, -1)):
                (out,) = graph(x, torch.tensor(condition)).values()
                self.assertTrue(torch.allclose(out, sign * expected))

    def test_operators_of_pytorch(self):
        text = "graph(%x : Float(2)):\n  %y : Float(2) = aten::relu(%x)\n  return (%y)\n"
        with self.assertRaisesRegex(RuntimeError, "aten::relu"):
            export(torch._C.parse_ir(text))
        kinds = torch._C._onnx.OperatorExportTypes
        self.assertIn(b"org.pytorch.aten", export(torch._C.parse_ir(text), operator_export_type=kinds.ONNX_FALLTHROUGH)[0])

    def test_text(self):
        text = torch._C.parse_ir(TWO)._pretty_print_onnx({}, 17)
        self.assertIn('inputs: [{name: "x", type:Tensor dtype: 1, Tensor dims: 2 3}]', text)
        self.assertIn('Node {type: "Two", inputs: [x], outputs: [y], attributes: []}', text)
        self.assertIn("opset_import {\n  version: 17\n}\n", torch._C.parse_ir(TWO)._pretty_print_onnx({}, 17, google_printer=True))

    def test_files_that_are_no_models(self):
        made, *_ = export(torch._C.parse_ir(TWO))
        for data in (b"", b"\xff\xff", made[:10], made[:-1]):
            with self.assertRaisesRegex(ValueError, "ONNX"):
                torch._C._check_onnx_proto(data)


if __name__ == "__main__":
    unittest.main()
