"""Fill pattern of uninitialized memory while deterministic algorithms are on; and other facts of the process."""

import math
import unittest

import cresset as torch


class Fill(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.addCleanup(setattr, torch.utils.deterministic, "fill_uninitialized_memory", True)

    def made(self, dtype):
        like = torch.zeros(2, 3, dtype=dtype)
        return torch.empty(2, 3, dtype=dtype), torch.empty_like(like), like.new_empty(4), torch.empty_strided((2, 3), (1, 2), dtype=dtype)

    def test_floating_dtypes_hold_nan(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128):
            for x in self.made(dtype):
                self.assertTrue(x.isnan().all(), dtype)
        self.assertEqual(torch.empty(1, dtype=torch.complex64).imag.item(), 0)

    def test_others_hold_their_greatest_number(self):
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64):
            for x in self.made(dtype):
                self.assertEqual(set(x.flatten().tolist()), {torch.iinfo(dtype).max}, dtype)
        for x in self.made(torch.bool):
            self.assertTrue(x.all())

    def test_what_resize_adds(self):
        x = torch.ones(2).resize_(2, 2)
        self.assertEqual(x[0].tolist(), [1, 1])
        self.assertTrue(x[1].isnan().all())

    def test_it_can_be_left_out(self):
        torch.utils.deterministic.fill_uninitialized_memory = False
        x = torch.ones(1000)
        address = x.data_ptr()
        del x
        again = torch.empty(1000)
        self.assertFalse(again.data_ptr() == address and math.isnan(again[0].item()))
        self.assertFalse(torch.utils.deterministic.fill_uninitialized_memory)
        with self.assertRaisesRegex(RuntimeError, "expected a bool"):
            torch.utils.deterministic.fill_uninitialized_memory = 3

    def test_nothing_else_changes(self):
        self.assertEqual(torch.zeros(2).tolist(), [0, 0])
        self.assertEqual(torch.empty(0).tolist(), [])
        self.assertTrue(torch.empty(2, device="meta").is_meta)
        self.assertEqual((torch.rand(50, 50) @ torch.eye(50)).isnan().sum().item(), 0)
        layer = torch.nn.Linear(3, 2)
        layer(torch.ones(1, 3)).sum().backward()
        self.assertTrue(layer.weight.grad.isfinite().all())


class Backtrace(unittest.TestCase):
    def test_frames_are_counted(self):
        lines = torch.utils.get_cpp_backtrace(0, 3).splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["frame #0", "frame #1", "frame #2"])
        self.assertIn("cresset", lines[0])
        self.assertEqual(torch.utils.get_cpp_backtrace(1, 2).splitlines()[0].split(": ")[1].split("(")[0], lines[1].split(": ")[1].split("(")[0])
        self.assertRaises(ValueError, torch.utils.get_cpp_backtrace, -1)


if __name__ == "__main__":
    unittest.main()
