"""Resizing of bytes: to the bit what PyTorch gives, in every memory format and for every instruction set."""

import os
import subprocess
import sys
import unittest
import zlib

from cresset.vision import transforms
from cresset.vision.transforms import functional as F

import cresset as torch

SHAPES = (((19, 23), (7, 9)), ((19, 23), (40, 61)), ((19, 23), (19, 5)), ((19, 23), (6, 23)), ((3, 100), (3, 11)), ((1, 1), (4, 5)), ((5, 1), (2, 3)))
# Of the results of PyTorch 2.13 for images of 1, 3, 4 and 2 channels.
EXPECTED = 1377225808


def image(channels, height, width):
    n = torch.arange(channels * height * width, dtype=torch.int64)
    return ((n * n * 7 + n * 31) % 257 % 256).to(torch.uint8).view(1, channels, height, width)


def results(modes=("bilinear", "bicubic"), smooth=(False, True)):
    sums = []
    for channels in (1, 3, 4, 2):
        for (height, width), size in SHAPES:
            for mode in modes:
                for antialias in smooth:
                    x = image(channels, height, width)
                    y = torch.nn.functional.interpolate(x, size=size, mode=mode, antialias=antialias)
                    last = torch.nn.functional.interpolate(x.contiguous(memory_format=torch.channels_last), size=size, mode=mode, antialias=antialias)
                    if not torch.equal(y, last):
                        raise AssertionError(f"channels last differ: {channels, height, width, size, mode, antialias}")
                    sums.append(zlib.crc32(y.contiguous().numpy().tobytes()))
    return zlib.crc32(repr(sums).encode())


class Bytes(unittest.TestCase):
    def test_equal_to_pytorch(self):
        self.assertEqual(results(), EXPECTED)

    def test_lanczos_equals_pytorch(self):
        self.assertEqual(results(("lanczos",), (True,)), 680691177)

    def test_on_every_instruction_set(self):
        for isa in ("avx2", "baseline"):
            said = subprocess.run([sys.executable, __file__, "results"], env={**os.environ, "CRESSET_ISA": isa}, capture_output=True, text=True, check=True)
            self.assertEqual(int(said.stdout), EXPECTED, isa)

    def test_channels_last_stay_so(self):
        x = image(3, 8, 8).contiguous(memory_format=torch.channels_last)
        self.assertTrue(torch.nn.functional.interpolate(x, size=4, mode="bilinear", antialias=True).is_contiguous(memory_format=torch.channels_last))

    def test_several_images(self):
        x = torch.cat([image(3, 19, 23), image(3, 19, 23).flip(-1)])
        for y in (x, x.contiguous(memory_format=torch.channels_last)):
            both = F.resize(y, [7, 9])
            self.assertTrue(torch.equal(both, torch.stack([F.resize(x[0], [7, 9]), F.resize(x[1], [7, 9])])))

    def test_transforms_take_bytes_as_they_are(self):
        x = image(3, 19, 23)
        for mode in (transforms.InterpolationMode.BILINEAR, transforms.InterpolationMode.BICUBIC):
            expected = torch.nn.functional.interpolate(x, size=(7, 9), mode=mode.value, antialias=True)[0]
            self.assertTrue(torch.equal(F.resize(x[0], [7, 9], mode), expected))


if __name__ == "__main__":
    if sys.argv[1:] == ["results"]:
        print(results())
    else:
        unittest.main()
