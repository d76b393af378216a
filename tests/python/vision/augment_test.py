"""The transforms that move pixels, change tones or follow a recipe: pixels and draws of torchvision 0.29 (GOLDEN), and mistakes."""

import importlib.util
import unittest

from cresset.vision import transforms as T

import cresset as torch

F, B = T.functional, T.InterpolationMode.BILINEAR
X = ((torch.arange(3 * 16 * 20) * 37) % 256).to(torch.uint8).reshape(3, 16, 20)
CORNERS, MOVED = [[0, 0], [19, 0], [19, 15], [0, 15]], [[2, 1], [17, 3], [18, 14], [1, 12]]


def displacement():
    torch.manual_seed(3)
    return torch.rand(1, 16, 20, 2) * 0.2 - 0.1


def seeded(transform, seed=5):
    torch.manual_seed(seed)
    return transform(X)


# Shape, sum and six pixels.
GOLDEN = {
    "affine": (lambda: F.affine(X, 30, [2, -3], 1.2, [5, -7]), (3, 16, 20), 106677, [178, 206, 243, 52, 52, 117]),
    "affine smooth": (lambda: F.affine(X, 30, [2, -3], 1.2, [5, -7], B, [7.0]), (3, 16, 20), 105155, [164, 204, 232, 68, 65, 104]),
    "affine around": (lambda: F.affine(X, -20, [0, 1], 0.8, [3], B, center=[2, 5]), (3, 16, 20), 71967, [124, 32, 63, 94, 124, 155]),
    "rotate": (lambda: F.rotate(X, 37), (3, 16, 20), 101316, [137, 174, 183, 192, 229, 201]),
    "rotate whole": (lambda: F.rotate(X, 37, B, True, fill=[9.0]), (3, 26, 26), 127264, [9, 9, 11, 78, 138, 151]),
    "rotate around": (lambda: F.rotate(X, -120, B, center=[3, 4]), (3, 16, 20), 27475, [228, 130, 0, 0, 0, 0]),
    "perspective": (lambda: F.perspective(X, CORNERS, MOVED), (3, 16, 20), 76415, [200, 204, 39, 87, 135, 184]),
    "perspective rough": (lambda: F.perspective(X, CORNERS, MOVED, T.InterpolationMode.NEAREST, [1.0, 2.0, 3.0]), (3, 16, 20), 77015, [207, 244, 25, 99, 136, 201]),
    "elastic": (lambda: F.elastic_transform(X, displacement()), (3, 16, 20), 113821, [54, 50, 65, 168, 111, 201]),
    "blur": (lambda: F.gaussian_blur(X, [5, 3]), (3, 16, 20), 121971, [104, 82, 94, 127, 160, 172]),
    "blur more": (lambda: F.gaussian_blur(X, [3, 7], [0.5, 1.5]), (3, 16, 20), 121998, [111, 93, 94, 127, 160, 161]),
    "sharp": (lambda: F.adjust_sharpness(X, 2), (3, 16, 20), 121962, [0, 33, 90, 127, 164, 221]),
    "soft": (lambda: F.adjust_sharpness(X, 0.25), (3, 16, 20), 121937, [60, 68, 90, 127, 164, 186]),
    "autocontrast": (lambda: F.autocontrast(X // 2 + 20), (3, 16, 20), 121544, [16, 52, 90, 126, 164, 200]),
    "equalize": (lambda: F.equalize(X.repeat(1, 20, 20) // 2), (3, 320, 400), 49009600, [17, 53, 92, 129, 167, 203]),
    "posterize": (lambda: F.posterize(X, 3), (3, 16, 20), 107136, [0, 32, 64, 96, 160, 192]),
    "solarize": (lambda: F.solarize(X, 100), (3, 16, 20), 63948, [16, 53, 90, 128, 91, 54]),
    "RandomRotation": (lambda: seeded(T.RandomRotation(40, interpolation=B, expand=True, fill=3)), (3, 24, 26), 120142, [99, 237, 84, 25, 43, 64]),
    "RandomAffine": (lambda: seeded(T.RandomAffine(30, (0.2, 0.3), (0.7, 1.3), (-10, 10, -5, 5), B)), (3, 16, 20), 95122, [144, 181, 218, 203, 60, 72]),
    "RandomPerspective": (lambda: seeded(T.RandomPerspective(p=1.0)), (3, 16, 20), 73520, [205, 30, 73, 116, 159, 201]),
    "ElasticTransform": (lambda: seeded(T.ElasticTransform(20.0, 2.0)), (3, 16, 20), 110028, [59, 78, 138, 189, 224, 130]),
    "GaussianBlur": (lambda: seeded(T.GaussianBlur(5)), (3, 16, 20), 121916, [121, 106, 110, 127, 144, 148]),
    "RandomPosterize": (lambda: seeded(T.RandomPosterize(3, p=0.9)), (3, 16, 20), 107136, [0, 32, 64, 96, 160, 192]),
    "RandomSolarize": (lambda: seeded(T.RandomSolarize(100, p=0.9)), (3, 16, 20), 63948, [16, 53, 90, 128, 91, 54]),
    "RandomAdjustSharpness": (lambda: seeded(T.RandomAdjustSharpness(2, p=0.9)), (3, 16, 20), 121962, [0, 33, 90, 127, 164, 221]),
    "RandomAutocontrast": (lambda: seeded(T.RandomAutocontrast(p=0.9)), (3, 16, 20), 122016, [16, 53, 90, 127, 164, 201]),
    "RandomEqualize": (lambda: seeded(T.RandomEqualize(p=0.9)), (3, 16, 20), 146726, [21, 67, 114, 161, 207, 253]),
}  # fmt: skip
RECIPES = {
    "AutoAugment": (lambda: T.AutoAugment(), [146726, 146726, 120261, 142632, 103223, 101990, 122016, 102383, 122162, 146726, 146726, 123399, 146728, 146036, 102199, 145302, 122016, 146726, 146311, 146726]),
    "AutoAugment CIFAR10": (lambda: T.AutoAugment(T.AutoAugmentPolicy.CIFAR10), [122016, 111155, 146726, 146726, 118656, 146726, 122016, 146726, 122016, 111155, 122016, 122016, 167485, 122016, 121107, 121771, 122016, 121133, 36174, 111155]),
    "AutoAugment SVHN": (lambda: T.AutoAugment(T.AutoAugmentPolicy.SVHN, fill=[1, 2, 3]), [122784, 55721, 110200, 142866, 115415, 101934, 115744, 122784, 122016, 55535, 110533, 105564, 146728, 104208, 115744, 109012, 101934, 137459, 142866, 79842]),
    "RandAugment": (lambda: T.RandAugment(), [106668, 106583, 66918, 121536, 88252, 117772, 146293, 146128, 106168, 107052, 106441, 70474, 82616, 114636, 167166, 88124, 144832, 121830, 106086, 146726]),
    "TrivialAugmentWide": (lambda: T.TrivialAugmentWide(), [0, 123426, 74817, 122016, 107136, 96427, 74817, 101091, 85948, 0, 121835, 63516, 101875, 122016, 146726, 181389, 121415, 121838, 121685, 146726]),
    "AugMix": (lambda: T.AugMix(), [119910, 117411, 120770, 122008, 120409, 119199, 120589, 94725, 123010, 115778, 118800, 111580, 123779, 119344, 126645, 125322, 129953, 98617, 120248, 119392]),
    "AugMix few": (lambda: T.AugMix(7, 2, 2, 0.5, False), [75884, 120571, 123705, 113623, 121509, 137142, 122785, 118484, 125213, 127473, 123436, 119118, 119009, 116272, 90284, 115167, 107437, 115201, 67299, 125590]),
}  # fmt: skip


class Golden(unittest.TestCase):
    def test_pixels(self):
        for name, (run, shape, total, pixels) in GOLDEN.items():
            with self.subTest(name):
                y = run()
                self.assertEqual((tuple(y.shape), y.dtype), (shape, torch.uint8))
                self.assertLessEqual(abs(int(y.long().sum()) - total), 3)  # ties of rounding
                self.assertLessEqual(max(abs(a - b) for a, b in zip(y[1, 7, 4:10].tolist(), pixels)), 1)

    def test_recipes(self):
        for name, (make, totals) in RECIPES.items():
            transform = make()
            found = [int(seeded(transform, seed).long().sum()) for seed in range(20)]
            with self.subTest(name):
                self.assertLessEqual(sum(abs(a - b) > 300 for a, b in zip(found, totals)), 1, found)

    def test_floats_and_batches(self):
        x = X.float() / 255
        for run in (lambda v: F.rotate(v, 30, B), lambda v: F.affine(v, 10, [1, 2], 1.1, 3.0, B), lambda v: F.perspective(v, CORNERS, MOVED),
                    lambda v: F.gaussian_blur(v, 5), lambda v: F.adjust_sharpness(v, 0.5), F.autocontrast,
                    lambda v: F.elastic_transform(v, displacement())):  # fmt: skip
            single = run(x)
            self.assertLess(float((single * 255 - run(X).float()).abs().max()), 1.01)
            batch = run(torch.stack([x, x.flip(-1)]))
            self.assertEqual(batch.shape, (2, *single.shape))
            self.assertLess(float((batch[0] - single).abs().max()), 1e-5)
        both = F.equalize(torch.stack([X, X.flip(-1)]))
        self.assertTrue(torch.equal(both[1], F.equalize(X.flip(-1))))

    def test_factors_that_are_whole_numbers(self):
        x = torch.full((3, 1, 1), 100, dtype=torch.uint8)
        self.assertEqual(F.adjust_brightness(x, 2)[0].item(), 200)
        self.assertEqual(F.adjust_brightness(x, 3)[0].item(), 255)


class Exact(unittest.TestCase):
    def test_quarter_turns(self):
        self.assertTrue(torch.equal(F.rotate(X, 90, expand=True), torch.rot90(X, 1, (-2, -1))))
        self.assertTrue(torch.equal(F.rotate(X, 180), X.flip(-1, -2)))

    def test_moves(self):
        moved = F.affine(X, 0, [3, -2], 1.0, 0.0, fill=5)
        self.assertTrue(torch.equal(moved[:, :14, 3:], X[:, 2:, :17]))
        self.assertTrue((moved[:, 14:] == 5).all() and (moved[:, :, :3] == 5).all())

    def test_nothing_changes(self):
        self.assertTrue(torch.equal(F.elastic_transform(X, torch.zeros(1, 16, 20, 2)), X))
        self.assertTrue(torch.equal(F.perspective(X, CORNERS, CORNERS), X))
        self.assertTrue(torch.equal(F.adjust_sharpness(X, 1.0), X))
        self.assertTrue(torch.equal(F.posterize(X, 8), X))
        for transform in (T.RandomPerspective(p=0.0), T.RandomPosterize(1, p=0.0), T.RandomSolarize(0, p=0.0), T.RandomAutocontrast(p=0.0), T.RandomEqualize(p=0.0),
                          T.RandomAdjustSharpness(0, p=0.0)):  # fmt: skip
            self.assertIs(transform(X), X)

    def test_whitening(self):
        x = torch.rand(2, 1, 2, 2)
        matrix, mean = torch.arange(16.0).view(4, 4), torch.arange(4.0)
        self.assertTrue(torch.allclose(T.LinearTransformation(matrix, mean)(x).view(2, 4), (x.view(2, 4) - mean) @ matrix))

    def test_tones(self):
        flat = torch.full((1, 3, 3), 7, dtype=torch.uint8)
        self.assertTrue(torch.equal(F.autocontrast(flat), flat))
        self.assertTrue(torch.equal(F.equalize(flat), flat))


class Mistakes(unittest.TestCase):
    def test_refused(self):
        for error, run in (
            (TypeError, lambda: F.affine(X, "1", [0, 0], 1.0, 0.0)), (TypeError, lambda: F.affine(X, 1, 3, 1.0, 0.0)),
            (ValueError, lambda: F.affine(X, 1, [0, 0], 0.0, 0.0)), (ValueError, lambda: F.affine(X, 1, [0, 0], 1.0, [1, 2, 3])),
            (ValueError, lambda: F.affine(X, 1, [0, 0], 1.0, 0.0, fill=[1, 2])), (ValueError, lambda: F.affine(X, 1, [0, 0], 1.0, 0.0, center=[1])),
            (TypeError, lambda: F.rotate(X, [1])), (ValueError, lambda: F.rotate(X, 1, T.InterpolationMode.LANCZOS)), (TypeError, lambda: F.rotate(3, 1)),
            (ValueError, lambda: F.perspective(X, CORNERS[:3], MOVED)), (ValueError, lambda: F.elastic_transform(X, torch.zeros(1, 16, 19, 2))),
            (TypeError, lambda: F.elastic_transform(X, 3)), (ValueError, lambda: F.gaussian_blur(X, 4)), (ValueError, lambda: F.gaussian_blur(X, 3, 0.0)),
            (ValueError, lambda: F.gaussian_blur(X, [3, 3, 3])), (ValueError, lambda: F.adjust_sharpness(X, -1)), (TypeError, lambda: F.posterize(X.float(), 2)),
            (ValueError, lambda: F.posterize(X, 9)), (TypeError, lambda: F.equalize(X.float())), (TypeError, lambda: F.solarize(X, 300)),
            (ValueError, lambda: T.RandomRotation(-1)), (ValueError, lambda: T.RandomRotation((1, 2, 3))), (ValueError, lambda: T.RandomAffine(1, (2, 0))),
            (ValueError, lambda: T.RandomAffine(1, scale=(0, 1))), (ValueError, lambda: T.RandomAffine(1, shear=(1, 2, 3))), (ValueError, lambda: T.GaussianBlur(2)),
            (ValueError, lambda: T.GaussianBlur(3, (2, 1))), (TypeError, lambda: T.ElasticTransform("a")), (ValueError, lambda: T.AutoAugment("imagenet")),
            (ValueError, lambda: T.AugMix(11)), (ValueError, lambda: T.LinearTransformation(torch.eye(3), torch.ones(2))),
            (ValueError, lambda: T.LinearTransformation(torch.eye(3), torch.ones(3))(torch.ones(1, 2, 2))),
        ):  # fmt: skip
            self.assertRaises(error, run)

    def test_shown(self):
        for transform, text in ((T.RandomRotation(5), "RandomRotation(degrees=[-5.0, 5.0], interpolation=nearest, expand=False, fill=0)"),
                                (T.GaussianBlur(3, 1.0), "GaussianBlur(kernel_size=(3, 3), sigma=(1.0, 1.0))"),
                                (T.RandomAffine(1, shear=2, fill=5), "RandomAffine(degrees=[-1.0, 1.0], shear=[-2.0, 2.0], fill=5)"),
                                (T.RandAugment(), "RandAugment(num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)")):  # fmt: skip
            self.assertEqual(repr(transform), text)


@unittest.skipIf(importlib.util.find_spec("PIL") is None, "PIL is not installed")
class Pil(unittest.TestCase):
    def test_images_change_as_tensors_do(self):
        image = F.to_pil_image(X)
        for change, most in ((lambda v: F.rotate(v, 90, expand=True), 0), (lambda v: F.affine(v, 0, [3, -2], 1.0, 0.0, fill=5), 0),
                             (lambda v: F.perspective(v, CORNERS, CORNERS), 1), (lambda v: F.posterize(v, 3), 0), (lambda v: F.solarize(v, 100), 0),
                             (lambda v: F.gaussian_blur(v, 5), 0), (lambda v: F.elastic_transform(v, displacement()), 0), (F.equalize, 0), (F.autocontrast, 1),
                             (lambda v: F.adjust_sharpness(v, 0.5), 2)):  # fmt: skip
            changed = change(image)
            self.assertIn("PIL", type(changed).__module__)
            self.assertLessEqual(int((F.pil_to_tensor(changed).int() - change(X).int()).abs().max()), most)

    def test_recipes(self):
        image = F.to_pil_image(X)
        for transform in (T.AutoAugment(), T.RandAugment(), T.TrivialAugmentWide(), T.AugMix()):
            for seed in range(20):
                torch.manual_seed(seed)
                self.assertEqual(transform(image).size, (20, 16))


if __name__ == "__main__":
    unittest.main()
