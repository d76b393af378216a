"""Programs compiled ahead of time run like the modules that they were exported from, without a compiler."""

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

import _cresset
import _cresset_compile
from cresset.io.safetensors import save_file

import cresset as torch
from cresset import nn

PROGRAM = os.path.join(os.path.dirname(_cresset.__file__), "..", "examples", "run_package")  # of the same build


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(64, 128), nn.LayerNorm(128), nn.Linear(128, 10)

    def forward(self, x, *, scale):
        y = self.first(x)
        y = self.norm(y.sigmoid() * y + scale.exp() * 0.5)
        y = y - y.mean(-1, keepdim=True)
        return {"logits": self.last(y / (y * y + 1).sqrt()), "hidden": (y,)}


RUN = """
import sys, _cresset_compile, cresset as torch
model = torch._inductor.aoti_load_package(sys.argv[1])
x = torch.linspace(-1, 1, 5 * 64).reshape(5, 64)
out = model(x, scale=torch.linspace(0, 1, 128))["logits"]
torch.save(out, sys.argv[2])
_, made, read, packaged = _cresset_compile.machine_code()
print(made, read, packaged)
"""


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "net.pt2")
        torch.manual_seed(0)
        self.model = Net().eval()

    def package(self, **configs):
        batch = torch.export.Dim("batch", min=1, max=64)
        program = torch.export.export(self.model, (torch.randn(3, 64),), {"scale": torch.randn(128)}, dynamic_shapes={"x": {0: batch}, "scale": None})
        return torch._inductor.aoti_compile_and_package(program, package_path=self.path, inductor_configs=configs or None)

    def load(self, **configs):
        return torch._inductor.aoti_load_package(self.package(**configs))

    def test_gives_the_bits_of_the_module(self):
        compiled = self.load()
        self.assertEqual(compiled._program.num_kernels(), 2)
        for rows in (3, 64, 1):
            x, scale = torch.randn(rows, 64), torch.randn(128)
            with torch.no_grad():
                expected, found = self.model(x, scale=scale), compiled(x, scale=scale)
            self.assertEqual(list(found), ["logits", "hidden"])
            self.assertTrue(torch.equal(found["logits"], expected["logits"]))
            self.assertTrue(torch.equal(found["hidden"][0], expected["hidden"][0]))

    def test_results_have_no_history(self):
        self.assertFalse(self.load()(torch.randn(3, 64, requires_grad=True), scale=torch.randn(128))["logits"].requires_grad)

    def test_a_new_process_compiles_nothing(self):
        path, out = self.package(), self.path + ".out"
        environment = {**os.environ, "CRESSET_CODE_CACHE": "0"}
        found = subprocess.run([sys.executable, "-c", RUN, path, out], capture_output=True, text=True, env=environment, timeout=120, check=True)
        x = torch.linspace(-1, 1, 5 * 64).reshape(5, 64)
        with torch.no_grad():
            expected = self.model(x, scale=torch.linspace(0, 1, 128))["logits"]
        self.assertTrue(torch.equal(torch.load(out), expected))
        made, read, packaged = map(int, found.stdout.split())
        self.assertEqual((made, read), (0, 0))
        if _cresset_compile.machine_code()[0]:
            self.assertGreater(packaged, 0)

    @unittest.skipUnless(os.path.exists(PROGRAM), "no examples in this build")
    def test_runs_in_a_program_of_c(self):
        program = torch.export.export(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Sigmoid()), (torch.randn(16, 64),))
        plain, tensors = self.path + ".plain.pt2", self.path + ".safetensors"
        torch.export.save(program, plain)
        x = torch.randn(16, 64)
        with torch.no_grad():
            save_file({"input0": x, "output0": program.module()(x)}, tensors)
        found = subprocess.run([PROGRAM, self.path, tensors, "--compile", plain], capture_output=True, text=True, timeout=120, check=True)
        self.assertIn("1 kernels", found.stdout)
        self.assertIn("output 0: as expected", found.stdout)
        with torch.no_grad():
            self.assertTrue(torch.equal(torch._inductor.aoti_load_package(self.path)(x), program.module()(x)))

    def test_refuses_arguments_of_other_sizes_and_trees(self):
        compiled = self.load()
        with self.assertRaisesRegex(ValueError, "a size from 1 to 64"):
            compiled(torch.randn(65, 64), scale=torch.randn(128))
        with self.assertRaisesRegex(ValueError, "nested as"):
            compiled(torch.randn(3, 64))

    def test_metadata_and_constants(self):
        compiled = self.load(**{"aot_inductor.metadata": {"author": "someone"}, "aot_inductor.isas": ["baseline"]})
        self.assertEqual(compiled.get_metadata()["author"], "someone")
        self.assertEqual(compiled.get_metadata()["CRESSET_ISAS"], "baseline")
        self.assertEqual(sorted(compiled.get_constant_fqns()), sorted(self.model.state_dict()))
        other = Net().eval()
        compiled.load_constants(other.state_dict(), check_full_update=True)
        x, scale = torch.randn(3, 64), torch.randn(128)
        with torch.no_grad():
            self.assertTrue(torch.equal(compiled(x, scale=scale)["logits"], other(x, scale=scale)["logits"]))
        with self.assertRaisesRegex(ValueError, "none for"):
            compiled.load_constants({}, check_full_update=True)
        with self.assertRaisesRegex(ValueError, "unknown ones"):
            compiled.load_constants({"nothing": x}, check_full_update=False)

    def test_refuses_what_is_no_package(self):
        torch.export.save(torch.export.export(nn.ReLU(), (torch.ones(2),)), self.path)
        with self.assertRaisesRegex(ValueError, "expected a package"):
            torch._inductor.aoti_load_package(self.path)
        with open(self.path, "wb") as file:
            file.write(b"nothing")
        with self.assertRaisesRegex(RuntimeError, "damaged zip archive"):
            torch._inductor.aoti_load_package(self.path)
        with self.assertRaisesRegex(ValueError, r"ends in \.pt2"):
            torch._inductor.aoti_compile_and_package(torch.export.export(nn.ReLU(), (torch.ones(2),)), package_path=self.path + ".so")
        with self.assertRaisesRegex(TypeError, "ExportedProgram"):
            torch._inductor.aoti_compile_and_package(nn.ReLU())

    def test_refuses_cut_and_damaged_files(self):
        with open(self.package(), "rb") as file:
            whole = file.read()
        for damaged in (whole[: len(whole) // 2], whole[:-30], b"", whole[:5000] + b"\0" * 64 + whole[5064:]):
            with open(self.path, "wb") as file:
                file.write(damaged)
            with self.assertRaises((ValueError, RuntimeError)):
                torch._inductor.aoti_load_package(self.path)

    def test_refuses_unknown_instruction_sets(self):
        with self.assertRaisesRegex(ValueError, "no machine code for 'sse9'"):
            self.package(**{"aot_inductor.isas": ["sse9"]})
        self.assertFalse(os.path.exists(self.path))

    def test_a_package_is_a_program_for_export_too(self):
        program = torch.export.load(self.package())
        x, scale = torch.randn(3, 64), torch.randn(128)
        self.assertTrue(torch.equal(program.module()(x, scale=scale)["logits"], self.model(x, scale=scale)["logits"]))
        with zipfile.ZipFile(self.path) as archive:
            self.assertTrue(any(name.endswith("data/cresset/manifest.json") for name in archive.namelist()))


if __name__ == "__main__":
    unittest.main()
