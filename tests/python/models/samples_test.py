"""Every sample file loads, and what is written from it is read by PyTorch as the same tensors. `samples.txt` has, of each, the number of tensors
and the CRC-32 of their bytes one after the other, from PyTorch 2.13."""

import io
import pickle
import tempfile
import unittest
import zlib
from pathlib import Path

import cresset as torch
from cresset.io import load_npz, load_torchscript, safetensors

from .common import MODELS, needs_models, needs_torch, to_peer


def tensors(value, kind):
    """The tensors in containers, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors(part, kind)


def raw(t):
    return bytes(t.detach().contiguous().clone().untyped_storage())


def checksum(value, kind=torch.Tensor):
    crc, count = 0, 0
    for t in tensors(value, kind):
        crc, count = zlib.crc32(raw(t), crc), count + 1
    return count, f"{crc:08x}"


def listed():
    for line in Path(__file__).with_name("samples.txt").read_text().splitlines():
        name, count, crc = line.split()
        yield name, (int(count), crc)


def files(*endings):
    return [path for ending in endings for path in sorted(MODELS.rglob(f"*.{ending}"))]


def is_script(path):
    return "torchscript" in str(path) or path.name == "reddit.pt"


@needs_models
class Samples(unittest.TestCase):
    def test_the_list_is_complete(self):
        found = {str(path.relative_to(MODELS)) for path in files("pt", "pth", "th") if not is_script(path)}
        self.assertEqual({name for name, _ in listed()}, found)

    def test_every_sample_loads_and_is_written_again(self):
        for name, expected in listed():
            with self.subTest(name):
                value = torch.load(MODELS / name, map_location="cpu")
                self.assertEqual(checksum(value), expected)
                self.assertEqual(checksum(torch.load(MODELS / name, map_location="cpu", mmap=True)), expected)
                buffer = io.BytesIO()
                torch.save(value, buffer)
                buffer.seek(0)
                self.assertEqual(checksum(torch.load(buffer)), expected)

    def test_archives_that_lack_a_part_are_refused(self):
        # The samples of the format before pickled storages have no list of tensors; PyTorch 2.13 does not read them either.
        self.assertEqual(len(files("tar")), 4)
        for path in files("tar"):
            with self.subTest(path.name), self.assertRaisesRegex(pickle.UnpicklingError, path.name):
                torch.load(path)

    def test_scripts_are_refused_and_their_tensors_can_be_read(self):
        counts = {}
        for path in filter(is_script, files("pt")):
            with self.subTest(path.name), self.assertRaisesRegex(RuntimeError, "TorchScript"):
                torch.load(path)
            counts[path.name] = len(load_torchscript(path))
        self.assertEqual((counts["reddit.pt"], counts["foo.pt"], counts["foo1.pt"]), (13, 1, 0))

    def test_other_formats(self):
        arrays = load_npz(MODELS / "pytorch-pickle-samples/candle/test.npz")
        self.assertEqual((arrays["x"] + 1).tolist(), arrays["x_plus_one"].tolist())
        for path in files("safetensors"):
            loaded = safetensors.load_file(path)
            with tempfile.TemporaryDirectory() as folder:
                safetensors.save_file(loaded, Path(folder) / "again.safetensors")
                again = safetensors.load_file(Path(folder) / "again.safetensors")
            self.assertEqual({k: raw(v) for k, v in again.items()}, {k: raw(v) for k, v in loaded.items()}, path)


@needs_models
@needs_torch
class WithPyTorch(unittest.TestCase):
    def test_pytorch_reads_what_is_written(self):
        import torch as peer

        for name, expected in listed():
            value = torch.load(MODELS / name, map_location="cpu")
            for zipped in (True, False):
                with self.subTest(name, zipped=zipped), tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "written.pt"
                    torch.save(value, path, _use_new_zipfile_serialization=zipped)
                    theirs = peer.load(path, weights_only=True)
                    self.assertEqual(checksum(theirs, peer.Tensor), expected)
                    original = peer.load(MODELS / name, map_location="cpu", weights_only=True)
                    pairs = list(zip(tensors(theirs, peer.Tensor), tensors(original, peer.Tensor)))
                    self.assertEqual([(a.dtype, a.shape, a.stride()) for a, _ in pairs], [(b.dtype, b.shape, b.stride()) for _, b in pairs])

    def test_tensors_of_scripts(self):
        import torch as peer

        for name in ("silero-vad/silero_vad.jit", "pytorch-demo/reddit.pt", "torchscript-samples/tch-rs/foo.pt"):
            ours, theirs = load_torchscript(MODELS / name), peer.jit.load(MODELS / name).state_dict()
            for key, tensor in theirs.items():
                self.assertTrue(peer.equal(to_peer(ours[key]), tensor), f"{name}: {key}")


if __name__ == "__main__":
    unittest.main()
