"""Spatial functions of integers: refused where PyTorch has no kernel, and the kinds that it has."""

import unittest

import cresset as torch
from cresset.nn import functional as F

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)


def image(dtype, dims=2, device="cpu"):
    return torch.ones((1, 3) + (4,) * dims, dtype=dtype, device=device)


class Integers(unittest.TestCase):
    def refused(self, call, *takes):
        for dtype in INTEGERS:
            with self.subTest(dtype=dtype):
                if dtype in takes:
                    self.assertEqual(call(dtype).dtype, dtype)
                    continue
                with self.assertRaisesRegex(NotImplementedError, "not implemented for dtype"):
                    call(dtype)

    def test_nearest_takes_bytes(self):
        for dims in (1, 2, 3):
            for mode in ("nearest", "nearest-exact"):
                self.refused(lambda t: F.interpolate(image(t, dims), scale_factor=2, mode=mode), torch.uint8)
                with self.assertRaises(NotImplementedError):
                    F.interpolate(image(torch.complex64, dims), scale_factor=2, mode=mode)

    def test_linear_takes_images_of_bytes(self):
        self.refused(lambda t: F.interpolate(image(t), scale_factor=2, mode="bilinear"), torch.uint8)
        self.refused(lambda t: F.interpolate(image(t, 1), scale_factor=2, mode="linear"))
        self.refused(lambda t: F.interpolate(image(t, 3), scale_factor=2, mode="trilinear"))

    def test_pooling(self):
        self.refused(lambda t: F.max_pool1d(image(t, 1), 2))
        self.refused(lambda t: F.max_pool2d(image(t), 2), *INTEGERS[:-1])
        for call in (F.adaptive_max_pool2d, F.adaptive_avg_pool2d):
            self.refused(lambda t: call(image(t), 2))
        for call in (F.adaptive_max_pool3d, F.adaptive_avg_pool3d):
            self.refused(lambda t: call(image(t, 3), 2))
        self.refused(lambda t: F.max_unpool2d(image(t), torch.zeros(1, 3, 4, 4, dtype=torch.int64), 2))

    def test_windows_samples_and_borders(self):
        self.refused(lambda t: F.unfold(image(t), 2), torch.bool)
        self.refused(lambda t: F.grid_sample(image(t), torch.zeros(1, 2, 2, 2).to(t), align_corners=False))
        for mode in ("reflect", "replicate"):
            self.refused(lambda t: F.pad(image(t), (1, 1, 1, 1), mode=mode), *INTEGERS[:-1])
        self.refused(lambda t: F.pad(image(t), (1, 1, 1, 1), mode="circular"), *INTEGERS)

    def test_shapes_need_no_kernel(self):
        self.assertEqual(F.interpolate(image(torch.int64, device="meta"), scale_factor=2).shape, (1, 3, 8, 8))


if __name__ == "__main__":
    unittest.main()
