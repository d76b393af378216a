"""Programs' questions to the machine: devices, switches, storages, forks of the random state; and the assertions of torch.testing."""

import subprocess
import sys
import unittest

import numpy
from cresset.testing import assert_close, make_tensor

import cresset as torch


class DeviceTest(unittest.TestCase):
    def test_programs_that_ask_first_run_on_the_cpu(self):
        self.assertFalse(torch.cuda.is_available())
        self.assertFalse(torch.backends.mps.is_available())
        self.assertFalse(torch.accelerator.is_available())
        self.assertEqual(torch.cuda.device_count(), 0)
        self.assertIsNone(torch.version.cuda)
        self.assertEqual(torch.cuda.memory_allocated(), 0)
        torch.cuda.manual_seed_all(1)
        torch.cuda.empty_cache()

    def test_a_device_that_is_not_there_is_refused_by_name(self):
        for use in (torch.ones(1).cuda, torch.cuda.synchronize, torch.cuda.current_device, torch.cuda.Stream, lambda: torch.nn.Linear(1, 1).cuda()):
            with self.assertRaisesRegex(RuntimeError, "Torch not compiled with CUDA enabled"):
                use()
        with self.assertRaises(RuntimeError):
            torch.ones(1).to("cuda")
        with self.assertRaisesRegex(RuntimeError, "no accelerator"):
            torch.accelerator.synchronize()

    def test_module_of_a_device(self):
        self.assertIs(torch.get_device_module("cuda"), torch.cuda)
        self.assertIs(torch.get_device_module(torch.device("cpu")), torch.cpu)
        with self.assertRaisesRegex(RuntimeError, "meta"):
            torch.get_device_module("meta")
        with self.assertRaises(RuntimeError):
            torch.get_device_module(3)

    def test_abilities_of_the_processor(self):
        found = torch.cpu.get_capabilities()
        with open("/proc/cpuinfo") as file:
            flags = set(next((line for line in file if line.startswith("flags")), ":").partition(":")[2].split())
        for name, flag, asked in (
            ("avx2", "avx2", torch.cpu._is_avx2_supported),
            ("avx512_f", "avx512f", torch.cpu._is_avx512_supported),
            ("avx512_bf16", "avx512_bf16", torch.cpu._is_avx512_bf16_supported),
            ("avx512_vnni", "avx512_vnni", torch.cpu._is_vnni_supported),
        ):
            self.assertEqual((found[name], asked()), (flag in flags, flag in flags), name)
        self.assertEqual(torch._C._cpu._get_cpu_capability(), found)
        with self.assertRaises(TypeError):
            found["avx2"] = True


class SwitchTest(unittest.TestCase):
    def test_flags_keep_values_of_their_type(self):
        with torch.backends.cudnn.flags(benchmark=True, deterministic=True):
            self.assertTrue(torch.backends.cudnn.benchmark and torch.backends.cudnn.deterministic)
        self.assertFalse(torch.backends.cudnn.benchmark or torch.backends.cudnn.deterministic)
        with self.assertRaisesRegex(TypeError, "benchmark: expected bool, got int"):
            torch.backends.cudnn.benchmark = 1
        with self.assertRaisesRegex(TypeError, "no flag speed"):
            torch.backends.cudnn.set_flags(speed=True)
        torch.backends.cuda.matmul.allow_tf32 = True
        self.assertTrue(torch.backends.cuda.matmul.allow_tf32)
        torch.backends.cuda.matmul.allow_tf32 = False

    def test_frozen_flags_are_set_by_contexts_only(self):
        program = """
import cresset as torch
torch.backends.disable_global_flags()
with torch.backends.cudnn.flags(benchmark=True):
    assert torch.backends.cudnn.benchmark
torch.backends.cuda.matmul.allow_tf32 = True  # is not frozen
try:
    torch.backends.cudnn.benchmark = True
except RuntimeError as error:
    print(torch.backends.flags_frozen(), torch.backends.cudnn.benchmark, error)
"""
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"^True False cresset.backends.cudnn.benchmark: flags are frozen")
        self.assertFalse(torch.backends.flags_frozen())

    def test_onednn_is_switched_off_and_on(self):
        image, kernel = torch.rand(1, 16, 12, 12), torch.rand(16, 16, 3, 3)
        expected = torch.nn.functional.conv2d(image, kernel)
        with torch.backends.mkldnn.flags(enabled=False):
            self.assertFalse(torch.backends.mkldnn.enabled)
            self.assertIn("own kernels", torch.__config__.show())
            assert_close(torch.nn.functional.conv2d(image, kernel), expected)
        self.assertTrue(torch.backends.mkldnn.enabled)
        with self.assertRaisesRegex(TypeError, "expected bool"):
            torch.backends.mkldnn.enabled = 1

    def test_threads_between_operators(self):
        with self.assertRaisesRegex(RuntimeError, "positive"):
            torch.set_num_interop_threads(0)
        with self.assertRaisesRegex(RuntimeError, "expected an int"):
            torch.set_num_interop_threads("2")
        # In a process of its own, as the number can be set once.
        program = """
import cresset as torch
torch.set_num_interop_threads(3)
print(torch.get_num_interop_threads())
try:
    torch.set_num_interop_threads(1)
except RuntimeError as e:
    print("is set once" in str(e))
"""
        printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed.split(), ["3", "True"])

    def test_default_tensor_type(self):
        try:
            torch.set_default_tensor_type("torch.DoubleTensor")
            self.assertEqual(torch.zeros(1).dtype, torch.float64)
        finally:
            torch.set_default_tensor_type(torch.FloatTensor)
        self.assertEqual(torch.zeros(1).dtype, torch.float32)
        for wrong in ("torch.Nothing", torch.IntTensor, 3):
            with self.assertRaises(TypeError):
                torch.set_default_tensor_type(wrong)

    def test_forked_random_state(self):
        torch.manual_seed(3)
        expected = torch.rand(2)
        torch.manual_seed(3)
        with self.assertRaises(KeyError), torch.random.fork_rng():
            torch.rand(100)
            raise KeyError
        self.assertTrue(torch.equal(torch.rand(2), expected))
        with torch.random.fork_rng(enabled=False):
            torch.manual_seed(3)
        self.assertTrue(torch.equal(torch.rand(2), expected))
        with self.assertRaisesRegex(RuntimeError, "CUDA"), torch.random.fork_rng(devices=[0]):
            pass


class StorageTest(unittest.TestCase):
    def test_elements_share_the_memory_of_the_tensor(self):
        x = torch.arange(4, dtype=torch.int16)
        s = x[1:].storage()
        self.assertEqual((len(s), s.nbytes(), s.dtype, s.type()), (4, 8, torch.int16, "torch.ShortStorage"))
        s[0] = 9
        self.assertEqual(x.tolist(), [9, 1, 2, 3])
        self.assertEqual(s.float().tolist(), [9.0, 1.0, 2.0, 3.0])
        self.assertEqual(s.clone().fill_(2).tolist(), [2] * 4)
        self.assertEqual(s.tolist(), [9, 1, 2, 3])
        self.assertEqual(repr(s).splitlines()[-1], "[torch.storage.TypedStorage(dtype=torch.int16, device=cpu) of size 4]")
        for wrong, error in ((4, IndexError), (slice(0, 1), RuntimeError), ("a", RuntimeError)):
            with self.assertRaises(error):
                s[wrong]


class AssertCloseTest(unittest.TestCase):
    def refused(self, text, actual, expected, error=AssertionError, **options):
        with self.assertRaises(error) as caught:
            assert_close(actual, expected, **options)
        self.assertEqual(str(caught.exception), text)

    def test_equal_values_pass(self):
        assert_close(torch.tensor([1.0, float("inf")]), torch.tensor([1.0 + 1e-6, float("inf")]))
        assert_close({"a": [1, None, True]}, {"a": (1, None, True)})
        assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)
        assert_close(torch.tensor([1.0]), torch.tensor([1]), check_dtype=False)
        assert_close(torch.tensor([1.0]), torch.nn.Parameter(torch.tensor([1.0])))

    def test_messages_tell_where_and_by_how_much(self):
        self.refused(
            "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
            "Greatest absolute difference: 0.5 at index (0, 0, 1) (up to 0.001 allowed)\n"
            "Greatest relative difference: 0.20000000298023224 at index (0, 0, 1) (up to 0.1 allowed)",
            torch.tensor([[[1.0, 2]]]), torch.tensor([[[1.0, 2.5]]]), rtol=0.1, atol=1e-3,
        )  # fmt: skip
        self.refused(
            "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1 at index (1,)\n"
            "Greatest relative difference: 0.3333333432674408 at index (1,)",
            torch.tensor([1, 2]), torch.tensor([1, 3]),
        )  # fmt: skip
        self.refused(
            "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
            "Relative difference: 0.5 (up to 1.3e-06 allowed)\n\nThe failure occurred for item ['a'][0]",
            {"a": [torch.tensor(1.0)]}, {"a": [torch.tensor(2.0)]},
        )  # fmt: skip
        self.refused("The sequences differ in length: 1 != 2", [1.0], [1.0, 2])
        self.refused("The mappings differ in their keys:\nmissing: ['b']\nunexpected: ['a']",
                     {"a": 1}, {"b": 1})  # fmt: skip
        self.refused("Booleans mismatch: True is not False", True, False)
        self.refused("None mismatch: None is not 1", None, 1)
        self.refused("The (d)types do not match: <class 'float'> != <class 'int'>.", 1.0, 1)
        self.refused("Scalars are not equal!\n\nExpected 1180591620717411303425 but got 1180591620717411303424.\nAbsolute difference: 1\n"
                     "Relative difference: 8.470329472543003e-22", 2**70, 2**70 + 1)  # fmt: skip

    def test_attributes_are_compared(self):
        one = torch.tensor([1.0])
        self.refused("The values for attribute 'dtype' do not match: torch.float32 != torch.float64.", one, one.double())
        self.refused("The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2]).", one, torch.ones(2))
        self.refused("The values for attribute 'device' do not match: meta != cpu.", torch.empty(1, device="meta"), one)
        self.refused("The values for attribute 'stride()' do not match: (2, 1) != (1, 1).", torch.ones(1, 2), torch.ones(2, 1).t(), check_stride=True)

    def test_message_and_wrong_uses(self):
        one, two = torch.tensor([1.0]), torch.tensor([2.0])
        self.refused("hi", one, two, msg="hi")
        with self.assertRaisesRegex(AssertionError, "^X Tensor-likes"):
            assert_close(one, two, msg=lambda text: "X " + text)
        self.refused("assert_close: expected both rtol and atol, or neither, got no atol", one, two, ValueError, rtol=1)
        for actual, expected in (("a", "a"), (one, 1.0), ({1: 2}, [1])):
            with self.assertRaises(TypeError):
                assert_close(actual, expected)
        with self.assertRaises(AssertionError):
            assert_close(numpy.array([1.0]), numpy.array([2.0]))


class MakeTensorTest(unittest.TestCase):
    def test_ranges_layouts_and_flags(self):
        for dtype in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64, torch.complex64):
            x = make_tensor((3, 4), dtype=dtype, device="cpu", noncontiguous=True, exclude_zero=True)
            self.assertEqual((x.dtype, x.shape, x.is_contiguous()), (dtype, (3, 4), False))
            self.assertTrue(bool((x != 0).all()))
        x = make_tensor(100, dtype=torch.int8, device="cpu", low=-2, high=2)
        self.assertEqual(sorted(set(x.tolist())), [-2, -1, 0, 1])
        self.assertTrue(make_tensor(1, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad)
        self.assertTrue(make_tensor(9, dtype=torch.bool, device="cpu", low=0.5, high=2).all())
        self.assertIsNone(make_tensor(3, dtype=torch.complex64, device="cpu")._base)
        torch.manual_seed(0)  # PyTorch's numbers
        assert_close(make_tensor(3, dtype=torch.float32, device="cpu"), torch.tensor([-0.0674, 4.8280, -7.4074]), rtol=0, atol=1e-4)

    def test_wrong_ranges(self):
        for options in ({"low": 3, "high": 1}, {"low": float("nan")}, {"low": 200, "high": 300}):
            with self.assertRaises(ValueError):
                make_tensor(2, dtype=torch.int8, device="cpu", **options)


if __name__ == "__main__":
    unittest.main()
