"""Wings of PyTorch that are not there: their modules import, their names are there, and calls raise one error that names the wing."""

import importlib
import re
import subprocess
import sys
import unittest

from cresset._core import absent as _absent

import cresset as torch


def names():
    for wing, modules in _absent.WINGS.items():
        for module, text in modules.items():
            for name in text.split():
                yield wing, importlib.import_module(f"cresset.{module}".rstrip(".")), f"{module}.{name.removesuffix('=class')}".lstrip("."), name


class Absent(unittest.TestCase):
    def test_modules_are_attributes_of_the_modules_around_them(self):
        for modules in _absent.WINGS.values():
            for name in filter(None, modules):
                found, module = torch, importlib.import_module(f"cresset.{name}")
                for part in name.split("."):
                    found = getattr(found, part)
                if name != "ao.quantization.quantize":  # where the function has the name
                    self.assertIs(found, module)

    def test_calls_raise_an_error_that_names_the_wing(self):
        count = 0
        for wing, module, where, name in names():
            thing = getattr(module, name.partition("=")[0].removesuffix("()"))
            if name.endswith("()"):
                self.assertEqual((thing(1, a=2), repr(thing(0))), (thing(1, a=2), f"{thing.__name__}(0)"))
                with self.assertRaisesRegex(AttributeError, f"Cresset has no {wing}"):
                    thing(1).anything
            elif "=" in name and not name.endswith("=class"):
                marked = {"@": lambda: thing(1)(abs), "itself": lambda: thing(abs)}.get(
                    name.partition("=")[2], lambda: thing() in (True, False, None) and abs
                )()
                self.assertIs(marked, abs)
            elif isinstance(thing, type) and issubclass(thing, BaseException):
                self.assertTrue(issubclass(thing, RuntimeError))
            else:
                with self.assertRaisesRegex(NotImplementedError, rf"^torch\.{where}: Cresset has no {re.escape(wing)} \(python -m cresset --absent "):
                    thing(1, a=2)
                count += 1
        self.assertGreater(count, 300)

    def test_classes_can_be_named_derived_from_and_tested_against(self):
        from cresset.distributed.tensor import DTensor

        class Mine(torch.onnx.ONNXProgram):
            pass

        self.assertFalse(isinstance(torch.ones(1), DTensor))
        self.assertTrue(issubclass(Mine, torch.onnx.ONNXProgram))
        self.assertRaises(NotImplementedError, Mine, 1)
        self.assertIs(torch.onnx.ONNXProgram, torch.onnx.ONNXProgram)
        with self.assertRaisesRegex(AttributeError, "AffinityMode.NODE: Cresset has no binding of processes to processors"):
            torch.numa.binding.AffinityMode.NODE

    def test_other_names_are_missing(self):
        with self.assertRaisesRegex(AttributeError, "no_such_thing.*--absent"):
            torch.onnx.no_such_thing
        with self.assertRaisesRegex(ImportError, "no_such_thing"):
            from cresset.onnx import no_such_thing  # noqa: F401
        with self.assertRaises(ModuleNotFoundError):
            importlib.import_module("cresset.onnx.no_such_thing")

    def test_the_table_is_printed(self):
        done = subprocess.run([sys.executable, "-m", "cresset", "--absent"], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (_absent.table(), "", 0))
        self.assertIn("ONNX export: torch.onnx, ", done.stdout)


class Present(unittest.TestCase):
    """Beside them, what holds without the wing."""

    def test_parts_of_a_program_are_named_for_nobody(self):
        for home in (torch.profiler, torch.autograd.profiler):
            with home.record_function("a part"):
                pass
            self.assertEqual(home.record_function("another")(lambda x: x + 1)(1), 2)

    def test_programs_tell_a_compiler(self):
        dynamo, x = torch._dynamo, torch.ones(2)
        for mark in (dynamo.mark_dynamic, dynamo.maybe_mark_dynamic, dynamo.mark_static, dynamo.mark_unbacked):
            self.assertIsNone(mark(x, 0))
        dynamo.mark_static_address(x)
        dynamo.reset()
        dynamo.graph_break()
        dynamo.config.cache_size_limit = 8
        torch._inductor.config.triton.unique_kernel_names = True
        self.assertEqual(dynamo.disable(abs)(-1), 1)
        self.assertFalse(isinstance(torch.nn.Linear(1, 1), dynamo.eval_frame.OptimizedModule))

    def test_devices_that_are_not_there(self):
        for device in (torch.xpu, torch.mps, torch.mtia):
            self.assertEqual((device.is_available(), device.device_count(), device.manual_seed(0), device.empty_cache()), (False, 0, None, None))
            self.assertRaises(RuntimeError, device.synchronize)
            self.assertRaises(RuntimeError, device.Event)

    def test_lists_of_tensors_by_device_and_dtype(self):
        group = torch.utils._foreach_utils._group_tensors_by_device_and_dtype
        a, b, c = torch.ones(1), torch.ones(1).int(), torch.zeros(2)
        cpu = torch.device("cpu")
        self.assertEqual(list(group([[a, b, c], [1, None, 3]], with_indices=True)), [(cpu, torch.float32), (cpu, torch.int32)])
        (lists, places), (other, _) = group([[a, b, c], [1, None, 3]], with_indices=True).values()
        self.assertTrue(lists[0][1] is c and lists[1] == [1, 3] and places == [0, 2] and other[1] == [None])


if __name__ == "__main__":
    unittest.main()
