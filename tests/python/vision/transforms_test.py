"""Transforms: pixels and draws as torchvision 0.29 has them (GOLDEN; bytes are resized as its version 2 does), images of PIL where that is there, mistakes."""

import unittest

import numpy as np
from cresset.vision import transforms as T

import cresset as torch

F = T.functional
X = (torch.arange(3 * 6 * 8) * 37 % 256).to(torch.uint8).reshape(3, 6, 8)
GOLDEN = {
    "resize": ([[91, 149, 93], [163, 101, 115]], [[71, 170, 12], [191, 34, 132]], [[30, 134, 147], [49, 154, 115]]),
    "hue": [[176, 5, 42], [0, 37, 74], [240, 14, 51]],
    "contrast": [[0, 0, 47], [255, 0, 23], [255, 0, 0]],
    "saturation": [[0, 44, 81], [255, 20, 57], [253, 0, 33]],
    "gamma": [[0, 4, 18], [246, 1, 10], [211, 0, 5]],
    "gray": [166, 23, 60, 97],
    "crop": [[89, 126, 163], [129, 166, 203], [0, 0, 0]],
    "resized": [[84, 124, 190], [116, 180, 133], [164, 129, 97]],
    "jitter": [[247, 254, 51], [223, 254, 228], [220, 254, 174]],
    "erased": [[0, 37, 74, 111, 148, 185, 222, 3], [40, 77, 114, 151, 188, 225, 7, 43], [80, 117, 154, 191, 228, 9, 7, 83],
               [120, 157, 194, 231, 12, 49, 7, 123], [160, 197, 234, 15, 52, 89, 126, 163], [200, 237, 18, 55, 92, 129, 166, 203]],
}  # fmt: skip

try:
    from PIL import Image
except ImportError:
    Image = None


def seeded(transform, x=X):
    torch.manual_seed(5)
    return transform(x)


class Pixels(unittest.TestCase):
    def test_sizes(self):
        smooth, plain, cubic = GOLDEN["resize"]
        self.assertEqual(F.resize(X, [2, 3])[0].tolist(), smooth)
        self.assertEqual(F.resize(X, [2, 3], antialias=False)[0].tolist(), plain)
        self.assertEqual(F.resize(X, [9, 3], T.InterpolationMode.BICUBIC)[0][:2].tolist(), cubic)
        for x, size, limit, shape in ((X, 3, None, (3, 4)), (X[:, :3], [2], 4, (1, 4)), (X.mT, 3, None, (4, 3)), (X, (2, 9), None, (2, 9))):
            self.assertEqual(F.resize(x, size, max_size=limit).shape[1:], shape)
        self.assertEqual(F.resize(X, [3, 4], T.InterpolationMode.NEAREST).tolist(), X[:, ::2, ::2].tolist())
        self.assertEqual(F.resize(X[None, None], [3, 4], T.InterpolationMode.NEAREST).shape, (1, 1, 3, 3, 4))
        self.assertIs(F.resize(X, 6), X)

    def test_padding(self):
        x = torch.arange(1, 4).reshape(1, 1, 3)
        for mode, expected in (
            ("constant", [9, 9, 1, 2, 3, 9]),
            ("edge", [1, 1, 1, 2, 3, 3]),
            ("reflect", [3, 2, 1, 2, 3, 2]),
            ("symmetric", [2, 1, 1, 2, 3, 3]),
        ):
            padded = F.pad(x, [2, 0, 1, 0], fill=9 if mode == "constant" else 0, padding_mode=mode)
            self.assertEqual((padded.flatten().tolist(), padded.dtype), (expected, torch.int64))
        self.assertEqual(F.pad(x, [-1, 0, 0, 1]).tolist(), [[[2, 3], [0, 0]]])
        self.assertEqual(F.pad(torch.zeros(2, 1, 1), [1, 0], fill=[5, 6]).tolist(), [[[5, 0, 5]], [[6, 0, 6]]])

    def test_parts(self):
        x = torch.arange(1, 7).reshape(1, 2, 3)
        self.assertEqual(F.crop(x, -1, 1, 2, 3).tolist(), [[[0, 0, 0], [2, 3, 0]]])
        self.assertEqual(F.crop(x, 5, 5, 1, 2).tolist(), [[[0, 0]]])
        self.assertEqual(F.center_crop(x, (4, 1)).flatten().tolist(), [0, 2, 5, 0])
        self.assertEqual([int(part) for part in F.five_crop(x, 1)], [1, 3, 4, 6, 2])
        self.assertEqual(len(F.ten_crop(x, 1)), 10)
        self.assertEqual(F.vflip(F.hflip(x)).flatten().tolist(), [6, 5, 4, 3, 2, 1])

    def test_colours(self):
        self.assertEqual(F.adjust_hue(X, 0.3)[:, 0, :3].tolist(), GOLDEN["hue"])
        self.assertEqual(F.adjust_contrast(X, 1.5)[:, 0, :3].tolist(), GOLDEN["contrast"])
        self.assertEqual(F.adjust_saturation(X, 1.5)[:, 0, :3].tolist(), GOLDEN["saturation"])
        self.assertEqual(F.adjust_gamma(X, 2.2, 1.1)[:, 0, :3].tolist(), GOLDEN["gamma"])
        self.assertEqual(F.rgb_to_grayscale(X)[0, 0, :4].tolist(), GOLDEN["gray"])
        self.assertEqual(F.adjust_brightness(X, 2.0)[0, 0, :4].tolist(), [0, 74, 148, 222])
        self.assertEqual(F.adjust_brightness(X, 3.0).max(), 255)
        for change in (F.adjust_hue, F.adjust_saturation):
            self.assertEqual(change(X[:1], 0.3).tolist(), X[:1].tolist())

    def test_dtypes(self):
        convert = F.convert_image_dtype
        self.assertEqual(convert(torch.tensor([0.0, 0.5, 1.0]), torch.uint8).tolist(), [0, 127, 255])
        self.assertEqual(convert(torch.tensor([0, 127], dtype=torch.int8), torch.uint8).tolist(), [0, 254])
        self.assertEqual(convert(torch.tensor([255], dtype=torch.uint8), torch.int16).tolist(), [255 * 128])
        self.assertEqual(convert(torch.tensor([255 * 128], dtype=torch.int16), torch.uint8).tolist(), [255])
        self.assertRaises(RuntimeError, convert, torch.ones(1), torch.int32)

    def test_arrays(self):
        array = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
        self.assertEqual(F.to_tensor(array).mul(255).round().tolist(), array.transpose(2, 0, 1).tolist())
        self.assertEqual((F.to_tensor(array[:, :, 0]).shape, F.to_tensor(array.astype(np.int32)).dtype), ((1, 2, 4), torch.int32))

    def test_means(self):
        x = torch.ones(2, 3, 2, 2)
        self.assertEqual(T.Normalize([0, 1, 2], [1, 2, 4])(x)[1, :, 0, 0].tolist(), [1, 0, -0.25])
        self.assertEqual(x.min(), 1)
        self.assertIs(T.Normalize([1], [1], inplace=True)(x), x)
        self.assertEqual(x.max(), 0)


class Draws(unittest.TestCase):
    def test_places_and_colours(self):
        self.assertEqual(seeded(T.RandomCrop(3, padding=1))[0].tolist(), GOLDEN["crop"])
        self.assertEqual(seeded(T.RandomResizedCrop(3))[1].tolist(), GOLDEN["resized"])
        self.assertEqual(seeded(T.ColorJitter(0.4, 0.4, 0.4, 0.1))[:, 2, 3:6].tolist(), GOLDEN["jitter"])
        self.assertEqual(seeded(T.RandomErasing(1.0, value=7))[0].tolist(), GOLDEN["erased"])

    def test_probabilities(self):
        self.assertEqual([bool((seeded(T.RandomHorizontalFlip(p)) == X).all()) for p in (0.2, 0.8, 0.9)], [True, True, False])
        torch.manual_seed(0)
        for transform in (T.RandomVerticalFlip(0.25), T.RandomInvert(0.25), T.RandomGrayscale(0.25), T.RandomApply([F.vflip], 0.25)):
            changed = sum(not torch.equal(transform(X), X) for _ in range(400))
            self.assertTrue(70 < changed < 130, f"{transform}: {changed}")

    def test_parts_stay_inside(self):
        torch.manual_seed(0)
        x = torch.ones(1, 9, 5)
        for _ in range(50):
            self.assertEqual(T.RandomResizedCrop(3, scale=(0.5, 1), ratio=(2, 4))(x).min(), 1)
            top, left, height, width = T.RandomCrop.get_params(x, (4, 5))
            self.assertTrue(0 <= top <= 5 and left == 0 and (height, width) == (4, 5))
        self.assertEqual(T.RandomCrop((9, 7), pad_if_needed=True)(x).shape, (1, 9, 7))

    def test_choices(self):
        one, two = T.Lambda(lambda x: x + 1), T.Lambda(lambda x: x * 2)
        self.assertEqual({T.RandomChoice([one, two])(3) for _ in range(50)}, {4, 6})
        self.assertEqual({T.RandomOrder([one, two])(3) for _ in range(50)}, {7, 8})
        self.assertEqual({T.RandomChoice([one, two], p=[0, 1])(3) for _ in range(20)}, {6})


class Shown(unittest.TestCase):
    def test_repr(self):
        shown = repr(T.Compose([T.RandomResizedCrop(8), T.ToTensor(), T.Normalize([0.5], [0.25])]))
        self.assertEqual(shown, "Compose(\n    RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, antialias=True)\n"
                                "    ToTensor()\n    Normalize(mean=[0.5], std=[0.25])\n)")  # fmt: skip
        self.assertEqual(repr(T.ColorJitter(0.5, hue=(-0.1, 0.1))), "ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(-0.1, 0.1))")


class Mistakes(unittest.TestCase):
    def test_they_are_named(self):
        for error, call in (
            (TypeError, lambda: F.resize([1], 3)), (TypeError, lambda: F.resize(X, 3, "bilinear")), (ValueError, lambda: F.resize(X, [1, 2, 3])),
            (ValueError, lambda: F.resize(X, 3, T.InterpolationMode.LANCZOS)), (ValueError, lambda: F.resize(X, 5, max_size=4)),
            (ValueError, lambda: F.resize(X, (5, 5), max_size=9)), (ValueError, lambda: F.pad(X, [1, 2, 3])), (ValueError, lambda: F.pad(X, 1, padding_mode="wrap")),
            (ValueError, lambda: F.pad(X, 1, fill=[1, 2])), (ValueError, lambda: F.five_crop(X, 7)), (TypeError, lambda: F.normalize(X, [0], [1])),
            (ValueError, lambda: F.normalize(torch.ones(1, 1, 1), [0], [0])), (ValueError, lambda: F.normalize(torch.ones(1, 1), [0], [1])),
            (TypeError, lambda: F.to_tensor([3])), (ValueError, lambda: F.to_tensor(np.ones(3))), (ValueError, lambda: F.adjust_hue(X, 0.6)),
            (ValueError, lambda: F.adjust_gamma(X, -1)), (TypeError, lambda: F.adjust_contrast(torch.ones(2, 3, 3), 1)), (ValueError, lambda: T.RandomCrop(9)(X)),
            (ValueError, lambda: T.ColorJitter(brightness=-1)), (ValueError, lambda: T.ColorJitter(hue=0.7)), (TypeError, lambda: T.ColorJitter(hue="x")),
            (ValueError, lambda: T.RandomErasing(p=2)), (ValueError, lambda: T.RandomErasing(1, value=[1, 2])(X)), (ValueError, lambda: T.RandomErasing(value="noise")),
            (TypeError, lambda: T.RandomResizedCrop(3, scale=0.5)), (TypeError, lambda: T.Lambda(3)), (AttributeError, lambda: T.RandomFisheye),
        ):  # fmt: skip
            self.assertRaises(error, call)

    @unittest.skipUnless(Image is None, "PIL is installed")
    def test_images_need_pil(self):
        with self.assertRaisesRegex(ImportError, "pip install pillow"):
            F.to_pil_image(X)


@unittest.skipIf(Image is None, "PIL is not installed")
class Pil(unittest.TestCase):
    def setUp(self):
        self.image = Image.fromarray(X.permute(1, 2, 0).contiguous().numpy())

    def test_places_agree_with_tensors(self):
        for change in (F.hflip, F.vflip, lambda x: F.crop(x, -1, 2, 4, 5), lambda x: F.center_crop(x, 9), lambda x: F.pad(x, [1, 2], 7),
                       lambda x: F.pad(x, 2, padding_mode="reflect"), F.invert):  # fmt: skip
            self.assertEqual(F.pil_to_tensor(change(self.image)).tolist(), change(X).tolist())

    def test_colours_are_near_those_of_tensors(self):
        for change in (
            lambda x: F.adjust_brightness(x, 1.4),
            lambda x: F.adjust_contrast(x, 0.6),
            lambda x: F.adjust_saturation(x, 1.3),
            lambda x: F.resize(x, [3, 3]),
        ):
            self.assertLessEqual((F.pil_to_tensor(change(self.image)).int() - change(X).int()).abs().max(), 2)

    def test_there_and_back(self):
        self.assertEqual(F.pil_to_tensor(F.to_pil_image(F.to_tensor(self.image))).tolist(), X.tolist())
        for mode in ("L", "F", "I", "RGBA"):
            image = self.image.convert(mode)
            self.assertEqual(np.array(F.to_pil_image(F.pil_to_tensor(image), mode)).tolist(), np.array(image).tolist())
            self.assertEqual(F.get_dimensions(image)[1:], [6, 8])


if __name__ == "__main__":
    unittest.main()
