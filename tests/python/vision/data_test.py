"""Grids and files of images, and datasets of local files: written here byte by byte, read back; damaged and absent ones."""

import gzip
import importlib.util
import io
import os
import pickle
import struct
import tempfile
import unittest
import zlib

import numpy as np
from cresset.utils.data._utils.gather import gatherer
from cresset.vision import datasets, transforms, utils

import cresset as torch
from cresset import vision


def pixels_of(data):
    """The bytes (H, W, 3) of a PNG whose rows have no filter."""
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert (depth, color) == (8, 2)
    at, packed = 8, b""
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        assert zlib.crc32(data[at + 4 : at + 8 + size]) == struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0]
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


class Pictures(unittest.TestCase):
    def test_grids(self):
        x = torch.arange(1, 6.0).view(5, 1, 1, 1).expand(5, 3, 1, 1)
        self.assertEqual(utils.make_grid(x, nrow=3, padding=1, pad_value=9)[0].tolist(),
                         [[9, 9, 9, 9, 9, 9, 9], [9, 1, 9, 2, 9, 3, 9], [9, 9, 9, 9, 9, 9, 9], [9, 4, 9, 5, 9, 9, 9], [9, 9, 9, 9, 9, 9, 9]])  # fmt: skip
        self.assertEqual(utils.make_grid(list(x), nrow=5, padding=0, normalize=True)[0].tolist(), [[0, 0.25, 0.5, 0.75, 1]])
        self.assertEqual(utils.make_grid(x, nrow=5, padding=0, normalize=True, value_range=(2, 3))[0].tolist(), [[0, 0, 1, 1, 1]])
        self.assertEqual(x.flatten()[0], 1)
        pair = torch.tensor([[[[0.0, 2.0]]], [[[0.0, 4.0]]]])
        self.assertEqual(utils.make_grid(pair, padding=0, normalize=True, scale_each=True)[0].tolist(), [[0, 1, 0, 1]])
        self.assertEqual([utils.make_grid(torch.ones(*shape)).shape for shape in ((4, 5), (1, 4, 5), (3, 4, 5), (1, 2, 4, 5))], [(3, 4, 5)] * 3 + [(2, 4, 5)])
        for error, arguments in ((TypeError, (3,)), (TypeError, ([3],)), (ValueError, (torch.ones(2),))):
            self.assertRaises(error, utils.make_grid, *arguments)

    def test_files(self):
        x = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(0))
        expected = x.mul(255).add(0.5).clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy()
        file = io.BytesIO()
        utils.save_image(x, file)
        self.assertTrue((pixels_of(file.getvalue()) == expected).all())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            utils.save_image([x, x], path, nrow=1, padding=0)
            with open(path, "rb") as file:
                self.assertTrue((pixels_of(file.read()) == np.concatenate([expected] * 2)).all())

    def test_jpegs(self):
        x = torch.full((3, 8, 8), 0.5)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.jpg")
            utils.save_image(x, path)
            self.assertTrue((vision.io.read_image(path) == 128).all())

    def test_range(self):
        file = io.BytesIO()
        utils.save_image(torch.tensor([[[-1.0, 2.0]]]), file)
        self.assertEqual(pixels_of(file.getvalue())[0, :, 0].tolist(), [0, 255])


class Fake(unittest.TestCase):
    def test_images_are_those_of_torchvision(self):
        data = datasets.FakeData(3, (3, 2, 2), 10, transforms.PILToTensor(), random_offset=2)
        state = torch.get_rng_state()
        self.assertEqual(data[1][0].tolist(), [[[204, 44], [22, 100]], [[11, 164], [86, 1]], [[147, 249], [133, 59]]])
        self.assertEqual([data[i][1] for i in (1, 2)], [2, 2])
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertRaises(IndexError, lambda: data[3])
        self.assertEqual(len(list(torch.utils.data.DataLoader(datasets.FakeData(5, (1, 2, 2), transform=transforms.ToTensor()), 2))), 3)


def idx(array, kind=8):
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name

    def write(self, name, data):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path


class Mnist(Folder):
    images = np.random.RandomState(0).randint(0, 256, (3, 28, 28)).astype(np.uint8)

    def test_plain_and_zipped(self):
        labels = idx(np.array([5, 0, 4], np.uint8))
        self.write("MNIST/raw/train-images-idx3-ubyte", idx(self.images))
        self.write("MNIST/raw/train-labels-idx1-ubyte.gz", gzip.compress(labels))
        self.write("t10k-images-idx3-ubyte.gz", gzip.compress(idx(self.images[:1])))
        self.write("t10k-labels-idx1-ubyte", idx(np.array([9], np.uint8)))
        data = datasets.MNIST(self.root, transform=transforms.ToTensor(), target_transform=lambda y: y + 100)
        x, y = data[2]
        self.assertEqual((x.mul(255).round().to(torch.uint8)[0].tolist(), y, len(data)), (self.images[2].tolist(), 104, 3))
        self.assertEqual((data.data.dtype, data.targets.tolist(), data.class_to_idx["4 - four"]), (torch.uint8, [5, 0, 4], 4))
        self.assertIn("Number of datapoints: 3\n    Root location: ", repr(data))
        self.assertIn("Split: Train\n    StandardTransform\n    Transform: ToTensor()", repr(data))
        self.assertEqual(datasets.MNIST(self.root, train=False)[0][1], 9)

    def test_relatives(self):
        for name, kwargs, stem in (("FashionMNIST", {}, "train-{}-idx{}-ubyte"), ("KMNIST", {}, "train-{}-idx{}-ubyte"),
                                   ("EMNIST", {"split": "letters"}, "emnist-letters-train-{}-idx{}-ubyte")):  # fmt: skip
            self.write(f"{name}/raw/{stem.format('images', 3)}", idx(self.images))
            self.write(f"{name}/raw/{stem.format('labels', 1)}", idx(np.array([1, 2, 3], np.uint8)))
            data = getattr(datasets, name)(self.root, download=True, **kwargs)
            self.assertEqual([data[i][1] for i in range(3)], [1, 2, 3])
        self.assertEqual(data.classes[1], "a")
        self.write("QMNIST/raw/qmnist-train-images-idx3-ubyte", idx(self.images))
        self.write("QMNIST/raw/qmnist-train-labels-idx2-int", idx(np.arange(24, dtype=">i4").reshape(3, 8), 12))
        self.assertEqual(datasets.QMNIST(self.root)[1][1], 8)
        self.assertEqual(datasets.QMNIST(self.root, compat=False)[2][1].tolist(), list(range(16, 24)))

    def test_absent(self):
        with self.assertRaisesRegex(RuntimeError, "train-images-idx3-ubyte.*MNIST/raw"):
            datasets.MNIST(os.path.join(self.root, "none"))
        with self.assertRaisesRegex(RuntimeError, "train-images-idx3-ubyte.*downloads no data sets"):
            datasets.MNIST(os.path.join(self.root, "none"), download=True)

    def test_damaged(self):
        good = idx(self.images)
        self.write("train-labels-idx1-ubyte", idx(np.array([5, 0, 4], np.uint8)))
        huge = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)
        for data in (b"", good[:3], good[:9], good[:-1], good + b"x", b"\1" + good, bytes([0, 0, 7, 3]) + good[4:], huge, idx(self.images[:2]),
                     gzip.compress(good)[:-9], gzip.compress(good)[:200] + b"?" * 50, idx(self.images[0])):  # fmt: skip
            self.write("train-images-idx3-ubyte", data)
            with self.assertRaisesRegex(ValueError, "train-images-idx3-ubyte: |MNIST: expected bytes"):
                datasets.MNIST(self.root)


class Cifar(Folder):
    def batch(self, name, **entries):
        self.write(name, pickle.dumps(entries, protocol=2))

    def test_ten(self):
        pixels = np.random.RandomState(1).randint(0, 256, (2, 3072)).astype(np.uint8)
        for i in range(1, 6):
            self.batch(f"cifar-10-batches-py/data_batch_{i}", data=pixels, labels=[i, 0])
        self.batch("cifar-10-batches-py/batches.meta", label_names=["plane", "car"])
        data = datasets.CIFAR10(self.root, transform=transforms.ToTensor())
        self.assertEqual((len(data), data.targets[:4], data.class_to_idx), (10, [1, 0, 2, 0], {"plane": 0, "car": 1}))
        self.assertEqual(data[1][0].mul(255).round().flatten().to(torch.uint8).tolist(), pixels[1].tolist())
        with self.assertRaisesRegex(RuntimeError, "test_batch; Cresset downloads no data sets"):
            datasets.CIFAR10(self.root, train=False)

    def test_hundred(self):
        self.batch("cifar-100-python/test", data=np.zeros((1, 3072), np.uint8), fine_labels=[77], coarse_labels=[3])
        self.batch("cifar-100-python/meta", fine_label_names=["apple"])
        self.assertEqual(datasets.CIFAR100(self.root, train=False)[0][1], 77)

    def test_files_run_no_code(self):
        class Trick:
            def __reduce__(self):
                return os.mkdir, (os.path.join(folder, "made"),)

        folder = self.root
        self.batch("cifar-10-batches-py/test_batch", data=Trick())
        with self.assertRaisesRegex(ValueError, "refused to load posix.mkdir"):
            datasets.CIFAR10(self.root, train=False)
        self.assertFalse(os.path.exists(os.path.join(folder, "made")))

    def test_damaged(self):
        good = pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": [1]}, protocol=2)
        for data in (b"", good[:-5], good[:40], pickle.dumps([1]), pickle.dumps({"data": np.zeros((1, 5), np.uint8), "labels": [1]}),
                     pickle.dumps({"data": np.zeros((2, 3072), np.uint8), "labels": [1]})):  # fmt: skip
            self.write("cifar-10-batches-py/test_batch", data)
            self.assertRaises(ValueError, datasets.CIFAR10, self.root, train=False)


class Folders(Folder):
    def test_files_in_order(self):
        for name in ("b/2.TXT", "b/1.txt", "a/deep/er/3.txt", "a/0.txt", "a/no.bin", "c/x.txt"):
            self.write(name, name.encode())
        data = datasets.DatasetFolder(self.root, lambda path: open(path).read(), ".txt", transform=str.upper, target_transform=lambda y: -y)
        self.assertEqual([data[i] for i in range(len(data))], [("A/0.TXT", 0), ("A/DEEP/ER/3.TXT", 0), ("B/1.TXT", -1), ("B/2.TXT", -1), ("C/X.TXT", -2)])
        self.assertEqual((data.classes, data.targets), (["a", "b", "c"], [0, 0, 1, 1, 2]))
        data = datasets.DatasetFolder(self.root, str, is_valid_file=lambda path: path.endswith("bin"), allow_empty=True)
        self.assertEqual(len(data), 1)

    def test_images(self):
        utils.save_image(torch.ones(3, 4, 4), os.path.join(self.root, "a.png"))
        self.assertRaises(FileNotFoundError, datasets.ImageFolder, self.root)
        os.mkdir(os.path.join(self.root, "empty"))
        with self.assertRaisesRegex(FileNotFoundError, "classes empty"):
            datasets.ImageFolder(self.root)
        self.write("empty/a.jpg", b"none")
        data = datasets.ImageFolder(self.root, loader=lambda path: os.path.basename(path))
        self.assertEqual((data[0], data.imgs), (("a.jpg", 0), data.samples))
        with self.assertRaises(Exception):
            datasets.ImageFolder(self.root)[0]

    def test_images_are_tensors_where_that_is_asked_for(self):
        picture = torch.arange(60, dtype=torch.uint8).view(3, 4, 5)
        for name in ("cat/a.png", "dog/b.PNG"):
            os.makedirs(os.path.join(self.root, os.path.dirname(name)))
            vision.io.write_png(picture, os.path.join(self.root, name))
        self.write("dog/c.jpg", b"none")
        vision.set_image_backend("tensor")
        try:
            data = datasets.ImageFolder(self.root, transforms.Compose([transforms.Resize((4, 5)), transforms.RandomHorizontalFlip(0.0)]))
            self.assertTrue(torch.equal(data[1][0], picture))
            self.assertEqual(data[1][1], 1)
            with self.assertRaisesRegex(RuntimeError, "dog/c.jpg"):
                data[2]
            self.assertEqual(datasets.FakeData(1, (1, 2, 3))[0][0].shape, (1, 2, 3))
            batch, _ = next(iter(torch.utils.data.DataLoader(datasets.FakeData(4, (3, 2, 3)), 4)))
            self.assertEqual((batch.shape, batch.dtype), ((4, 3, 2, 3), torch.uint8))
        finally:
            vision.set_image_backend(None)
        self.assertRaises(ValueError, vision.set_image_backend, "accimage")

    def test_an_image_that_cannot_be_read_is_named_by_loaders(self):
        for i in range(6):
            os.makedirs(os.path.join(self.root, "a"), exist_ok=True)
            vision.io.write_png(torch.zeros(3, 4, 4, dtype=torch.uint8), os.path.join(self.root, f"a/{i}.png"))
        vision.set_image_backend("tensor")
        self.addCleanup(vision.set_image_backend, None)
        data = datasets.ImageFolder(self.root, transforms.ToTensor())
        for content in (b"", b"\x89PNG\r\n\x1a\nrubbish", b"GIF89a"):
            self.write("a/4.png", content)
            for options in ({}, {"num_workers": 2, "multiprocessing_context": "fork"}, {"num_workers": 2, "multiprocessing_context": "thread"}):
                batches = iter(torch.utils.data.DataLoader(data, 3, **options))
                self.assertEqual(next(batches)[0].shape, (3, 3, 4, 4))
                with self.subTest(content=content, **options), self.assertRaisesRegex(RuntimeError, "a/4.png"):
                    next(batches)

    def test_mistakes(self):
        self.assertRaises(FileNotFoundError, datasets.ImageFolder, os.path.join(self.root, "none"))
        self.assertRaises(ValueError, datasets.folder.make_dataset, self.root)
        self.assertRaises(ValueError, datasets.folder.make_dataset, self.root, {}, ".png")
        self.assertRaises(ValueError, datasets.VisionDataset, self.root, transforms=str, transform=str)


class Batches(unittest.TestCase):
    """Loaders read images that lie in memory by the batch where the transforms allow it: no bit may differ."""

    def setUp(self):
        generator = torch.Generator().manual_seed(0)
        self.digits = datasets.MNIST.__new__(datasets.MNIST)
        self.digits.data = torch.randint(0, 256, (50, 28, 28), dtype=torch.uint8, generator=generator)
        self.digits.targets = torch.randint(0, 10, (50,), generator=generator)
        self.photos = datasets.CIFAR10.__new__(datasets.CIFAR10)
        self.photos.data = torch.randint(0, 256, (50, 32, 32, 3), dtype=torch.uint8, generator=generator).numpy()
        self.photos.targets = list(range(50))

    def given(self, dataset, transform, target_transform=None):
        datasets.VisionDataset.__init__(dataset, ".", transform=transform, target_transform=target_transform)
        return dataset

    def test_batches_are_those_of_items(self):
        normal = transforms.Normalize((0.1307,), (0.3081,))
        for transform in (transforms.ToTensor(), transforms.Compose([transforms.ToTensor(), normal, transforms.ConvertImageDtype(torch.float64)])):
            for dataset in (self.digits, self.photos, torch.utils.data.Subset(self.photos, [4, 40, -1, 7])):
                self.given(getattr(dataset, "dataset", dataset), transform)
                self.assertIsNotNone(gatherer(dataset).batch([0, 2, 1], None))
                for backend in ("tensor", "PIL") if importlib.util.find_spec("PIL") else ("tensor",):
                    vision.set_image_backend(backend)
                    self.addCleanup(vision.set_image_backend, None)
                    for workers in (0, 2):
                        for at, (images, classes) in enumerate(torch.utils.data.DataLoader(dataset, 16, num_workers=workers)):
                            wanted = torch.utils.data.default_collate([dataset[i] for i in range(at * 16, min(at * 16 + 16, len(dataset)))])
                            self.assertEqual((images.stride(), images.dtype, classes.dtype), (wanted[0].stride(), wanted[0].dtype, wanted[1].dtype))
                            self.assertTrue(torch.equal(images, wanted[0]) and torch.equal(classes, wanted[1]))

    def test_other_transforms_see_each_image(self):
        class Own(transforms.Normalize):
            def forward(self, image):
                return image.shape[0] + image * 0

        hooked = transforms.Normalize((0.5,), (0.5,))
        hooked.register_forward_hook(lambda module, inputs, output: output + inputs[0].dim())
        to_tensor = transforms.ToTensor()
        own = (
            [to_tensor, Own((0.5,), (0.5,))],
            [to_tensor, hooked],
            [to_tensor, lambda image: image.flatten()],
            [transforms.RandomHorizontalFlip(), to_tensor],
        )
        for steps in own:
            dataset = self.given(self.digits, transforms.Compose(steps))
            self.assertIsNone(gatherer(dataset).batch([0, 1], None))
            # Random steps of threads would draw from one generator.
            self.assertFalse(hasattr(iter(torch.utils.data.DataLoader(dataset, 2, num_workers=1))._pool, "threads"))
        dataset = self.given(self.digits, to_tensor)
        self.assertTrue(hasattr(iter(torch.utils.data.DataLoader(dataset, 2, num_workers=1))._pool, "threads"))
        dataset.transforms = lambda image, target: (torch.zeros(1), target)
        self.assertEqual(next(iter(torch.utils.data.DataLoader(dataset, 2)))[0].tolist(), [[0], [0]])
        dataset = self.given(self.digits, to_tensor, lambda target: -1)
        self.assertEqual(next(iter(torch.utils.data.DataLoader(dataset, 3)))[1].tolist(), [-1, -1, -1])

        class Two(datasets.MNIST):
            def __getitem__(self, index):
                return 2

        dataset.__class__ = Two
        self.assertEqual(next(iter(torch.utils.data.DataLoader(dataset, 3))).tolist(), [2, 2, 2])


if __name__ == "__main__":
    unittest.main()
