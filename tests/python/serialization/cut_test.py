"""A small file of every format, cut at every length: each reader refuses it with an error of its documented kind, whatever is missing."""

import gzip
import io
import pickle
import struct
import tempfile
import unittest
import warnings
from pathlib import Path

import cresset.distributed.checkpoint as dcp
import numpy as np
from cresset.jit.mobile import _load_for_lite_interpreter

import cresset as torch
from cresset.io import load_gguf, load_npy, load_npz, load_torchscript, safetensors, save_npy, save_npz

DATA = Path(__file__).resolve().parents[2] / "io" / "data"
REFUSALS = (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError, safetensors.SafetensorError)


def written(save):
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">i", n) for n in array.shape) + array.tobytes()


class Cuts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refused(self, content, read, whole=True, sizes=None):
        """Reads the whole, then what is left of it at every length (or at `sizes`)."""
        if whole:
            read(content)
        taken = []
        for size in sizes or range(len(content)):
            try:
                read(content[:size])
                taken.append(size)
            except REFUSALS:
                pass
        self.assertEqual(taken, [], "lengths that were read")

    def path(self, content, name="file"):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_checkpoints(self):
        tensors = {"a": torch.arange(2.0), "b": [1, "x"]}
        archive, legacy = (written(lambda f, new=new: torch.save(tensors, f, _use_new_zipfile_serialization=new)) for new in (True, False))
        for content in (archive, legacy):
            for weights_only in (True, False):
                with self.subTest(weights_only=weights_only, legacy=content is legacy):
                    self.refused(content, lambda c, w=weights_only: torch.load(io.BytesIO(c), weights_only=w))
        self.refused(archive, lambda c: torch.load(self.path(c), mmap=True))

    def test_whole_modules(self):
        content = written(lambda f: torch.save(torch.nn.Linear(1, 1), f))
        self.refused(content, lambda c: torch.load(io.BytesIO(c), weights_only=False), sizes=[*range(0, len(content), 3), len(content) - 1])

    def test_torchscript(self):
        content = (DATA / "torchscript_shared.pt").read_bytes()
        self.refused(content, lambda c: load_torchscript(io.BytesIO(c)), sizes=[*range(0, len(content), max(1, len(content) // 400)), len(content) - 1])

    def test_safetensors(self):
        content = safetensors.save({"a": torch.arange(3.0), "b": torch.ones(1, 1, dtype=torch.int8)}, {"made": "by"})
        self.refused(content, safetensors.load)
        self.refused(content, lambda c: safetensors.load_file(self.path(c)))

    def test_arrays(self):
        self.refused(written(lambda f: save_npy(torch.arange(3.0), f)), lambda c: load_npy(io.BytesIO(c)))
        self.refused(written(lambda f: save_npz({"a": torch.arange(3)}, f)), lambda c: load_npz(io.BytesIO(c)))

    def test_gguf(self):
        content = (DATA / "quantised.gguf").read_bytes()
        end = len(content) - 32  # the last bytes align what would come next
        self.refused(content, lambda c: load_gguf(self.path(c)), sizes=[*range(0, end, end // 400), end])

    def test_images(self):
        image = torch.arange(48, dtype=torch.uint8).reshape(3, 4, 4)
        vision = torch.vision.io
        if not vision.image.codecs_found():
            self.skipTest("the image codecs are not there")
        png = bytes(vision.encode_png(image).tolist())
        end = png.rindex(b"IEND") - 4  # the last chunk says nothing but that it is the last
        self.refused(
            png, lambda c: vision.decode_image(torch.frombuffer(bytearray(c), dtype=torch.uint8) if c else torch.empty(0, dtype=torch.uint8)), sizes=range(end)
        )
        jpeg = bytes(vision.encode_jpeg(image).tolist())
        start = jpeg.index(b"\xff\xda")  # pixels that are missing behind it are grey, as libjpeg has them
        self.refused(
            jpeg,
            lambda c: vision.decode_image(torch.frombuffer(bytearray(c), dtype=torch.uint8) if c else torch.empty(0, dtype=torch.uint8)),
            sizes=range(start),
        )

    def test_digits(self):
        labels, images = idx(np.array([5, 0], np.uint8)), idx(np.zeros((2, 2, 2), np.uint8))
        raw = self.folder / "MNIST" / "raw"
        raw.mkdir(parents=True)

        def read(c, packed):
            (raw / "train-labels-idx1-ubyte").write_bytes(labels)
            (raw / f"train-images-idx3-ubyte{'.gz' if packed else ''}").write_bytes(c)
            torch.vision.datasets.MNIST(self.folder)

        self.refused(gzip.compress(images), lambda c: read(c, True))
        self.refused(images, lambda c: read(c, False))

    def test_exported_programs(self):
        class Twice(torch.nn.Module):
            def forward(self, x):
                return 2 * x

        content = written(lambda f: torch.export.save(torch.export.export(Twice(), (torch.ones(2),)), f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.refused(content, lambda c: torch.export.load(io.BytesIO(c)), sizes=[*range(0, len(content), max(1, len(content) // 300)), len(content) - 1])

    def test_scripts(self):
        module = torch.jit.script(torch.nn.Linear(1, 1))
        for save, load in (("save", torch.jit.load), ("_save_for_lite_interpreter", _load_for_lite_interpreter)):
            getattr(module, save)(str(self.folder / "script"))
            content = (self.folder / "script").read_bytes()
            self.refused(content, lambda c, load=load: load(io.BytesIO(c)), sizes=[*range(0, len(content), 7), len(content) - 1])

    def test_small_pictures(self):
        pack = self.folder / "cifar-10-batches-py"
        pack.mkdir()
        batch = pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": [0]}, 2)
        names = pickle.dumps({"label_names": ["plane"]}, 2)
        (pack / "batches.meta").write_bytes(names)
        for i in range(1, 6):
            (pack / f"data_batch_{i}").write_bytes(batch)

        def read(c, name):
            (pack / name).write_bytes(c)
            torch.vision.datasets.CIFAR10(self.folder)

        self.refused(names, lambda c: read(c, "batches.meta"))
        (pack / "batches.meta").write_bytes(names)
        self.refused(batch, lambda c: read(c, "data_batch_1"), sizes=[*range(0, len(batch), 11), len(batch) - 1])

    def test_checkpoints_of_folders(self):
        place = self.folder / "checkpoint"
        dcp.save({"a": torch.arange(3.0)}, checkpoint_id=str(place))

        def read(c, file):
            file.write_bytes(c)
            try:
                dcp.load({"a": torch.zeros(3)}, checkpoint_id=str(place))
            except dcp.api.CheckpointException as error:  # no Exception, as in PyTorch
                raise RuntimeError from error

        for file in (place / ".metadata", place / "__0_0.distcp"):
            content = file.read_bytes()
            self.refused(content, lambda c, file=file: read(c, file), sizes=[*range(0, len(content), 9), len(content) - 1])
            file.write_bytes(content)


if __name__ == "__main__":
    unittest.main()
