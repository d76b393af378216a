"""Trained networks of others give the numbers that were published with them, and PyTorch's."""

import gzip
import io
import json
import math
import struct
import tarfile
import unicodedata
import unittest

from cresset.vision.io import ImageReadMode, decode_jpeg, read_image

import cresset as torch
from cresset.io import load_torchscript, safetensors
from cresset.nn import functional as F

from . import nets
from .common import DATA, MODELS, needs_models, needs_torch, peer_nets, read_wav, to_peer
from .onnx_file import Graph, load_tensor

PHOTOS = ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "rocket.jpg")


def without(prefix, state):
    return {name.removeprefix(prefix): value for name, value in state.items()}


def load(name):
    return torch.load(MODELS / name, map_location="cpu")


def photo(name):
    return read_image(str(DATA / "images" / name), ImageReadMode.RGB).float()


def resized(image, *size):
    return F.interpolate(image[None], size, mode="bilinear", antialias=True)


def gunzip(name):
    return bytearray(gzip.open(DATA / name).read())


class Case(unittest.TestCase):
    def setUp(self):
        torch.set_grad_enabled(False)
        self.addCleanup(torch.set_grad_enabled, True)

    def assertNear(self, got, expected, atol):
        self.assertEqual(tuple(got.shape), tuple(expected.shape))
        self.assertLess((got - expected).abs().max().item(), atol)

    def with_peer(self, make, inputs, atol):
        """The same network over PyTorch, with weights written here and read there, gives the same outputs."""
        import torch as peer

        net = make(nets)
        buffer = io.BytesIO()
        torch.save(net.state_dict(), buffer)
        buffer.seek(0)
        theirs = make(peer_nets(), load_weights=False)
        theirs.load_state_dict(peer.load(buffer, weights_only=True))
        with peer.no_grad():
            pairs = zip(flat(net(*inputs)), flat(theirs(*map(to_peer, inputs))))
            for ours, expected in pairs:
                self.assertEqual(tuple(ours.shape), tuple(expected.shape))
                self.assertLess((to_peer(ours) - expected).abs().max().item(), atol)


def flat(value):
    return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else [value]


def resnet20(nets=nets, load_weights=True):
    net = nets.ResNet20().eval()
    if load_weights:
        net.load_state_dict(without("module.", load("resnet-cifar10/resnet20-12fca82f.th")["state_dict"]))
    return net


def normalised(pixels):
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (pixels.float() / 255 - mean) / std


def cifar_test_images():
    classes = (DATA / "cifar10/classes.txt").read_text().split()
    images, labels = [], []
    with tarfile.open(DATA / "cifar10/test_jpeg_0000_0099.tar.gz") as archive:
        for member in archive.getmembers():
            data = torch.frombuffer(bytearray(archive.extractfile(member).read()), dtype=torch.uint8)
            images.append(decode_jpeg(data, ImageReadMode.RGB))
            labels.append(classes.index(member.name.split("/")[1]))
    return torch.stack(images), torch.tensor(labels)


@needs_models
class ResNet20(Case):
    def test_the_checkpoint_says_how_good_it_is(self):
        self.assertAlmostEqual(load("resnet-cifar10/resnet20-12fca82f.th")["best_prec1"], 91.78, places=4)

    def test_test_images(self):
        # Ten classes, a hundred pictures of each, as JPEGs: PyTorch gets 804 of the same pixels right, too.
        images, labels = cifar_test_images()
        answers = resnet20()(normalised(images)).argmax(1)
        self.assertEqual((answers == labels).sum().item(), 804)

    def test_training_images(self):
        data = torch.frombuffer(gunzip("cifar10/data_batch_1_first4000.bin.gz"), dtype=torch.uint8).view(-1, 3073)[:500]
        answers = resnet20()(normalised(data[:, 1:].view(-1, 3, 32, 32))).argmax(1)
        self.assertEqual((answers == data[:, 0]).sum().item(), 500)

    @needs_torch
    def test_with_pytorch(self):
        self.with_peer(resnet20, [normalised(cifar_test_images()[0][::10])], 5e-5)


def mnist_net(nets=nets, load_weights=True):
    net = nets.MnistNet().eval()
    if load_weights:
        net.load_state_dict(load("burn-mnist/mnist.pt"))
    return net


def digits(count):
    images = torch.frombuffer(gunzip("mnist/t10k-images-idx3-ubyte.gz"), dtype=torch.uint8, offset=16).view(-1, 1, 28, 28)[:count]
    labels = torch.frombuffer(gunzip("mnist/t10k-labels-idx1-ubyte.gz"), dtype=torch.uint8, offset=8)[:count]
    return images.float(), labels


@needs_models
class Mnist(Case):
    def test_both_files_know_the_first_digits(self):
        images, labels = digits(25)
        for weights in (load("burn-mnist/mnist.pt"), safetensors.load_file(MODELS / "burn-mnist/mnist.safetensors")):
            net = nets.MnistNet().eval()
            net.load_state_dict(weights)
            self.assertEqual(net((images / 255 - 0.1307) / 0.3081).argmax(1).tolist(), labels.tolist())

    def test_onnx(self):
        graph = Graph(MODELS / "onnx-mnist/mnist.onnx")
        (output,) = graph(load_tensor(MODELS / "onnx-mnist/test_data_set_0/input_0.pb")).values()
        expected = load_tensor(MODELS / "onnx-mnist/test_data_set_0/output_0.pb")
        self.assertNear(output, expected, 1e-6 * expected.abs().max().item())
        images, labels = digits(25)
        self.assertEqual([graph(image[None])["Plus214_Output_0"].argmax().item() for image in images], labels.tolist())

    @needs_torch
    def test_with_pytorch(self):
        self.with_peer(mnist_net, [(digits(25)[0] / 255 - 0.1307) / 0.3081], 2e-5)


# Results of the authors' TorchScript archive for every 25th chunk of the recording, by PyTorch 2.13.
SPEECH = [0.018312, 0.999695, 0.999931, 0.999949, 0.999431, 0.999951, 0.994584, 0.996071, 0.99999, 0.999738, 0.999854, 0.991417, 0.999482, 0.999367, 0.031188]  # fmt: skip


def silero(nets=nets, load_weights=True):
    net = nets.SileroVAD()
    if load_weights:
        names = {"stft.forward_basis_buffer": "stft_conv.weight", "decoder.decoder.2": "final_conv", "decoder.rnn": "lstm_cell"}
        names.update({f"encoder.{i}.reparam_conv": f"conv{i + 1}" for i in range(4)})
        state = without("_model.", {k: v for k, v in load_torchscript(MODELS / "silero-vad/silero_vad.jit").items() if k.startswith("_model.")})
        for name, ours in names.items():
            state = {k.replace(name, ours): v for k, v in state.items()}
        net.load_state_dict({k: v for k, v in state.items() if k in net.state_dict()})
    return net


@needs_models
class Silero(Case):
    def test_speech_in_the_recording(self):
        speech = silero()(read_wav(DATA / "audio/en_num.wav"))
        self.assertEqual(len(speech), 375)
        self.assertNear(speech[::25], torch.tensor(SPEECH), 2e-6)
        self.assertAlmostEqual(speech.mean().item(), 0.8631081581, places=5)
        # Spoken from chunk 8 to 340 with two pauses.
        said = (speech > 0.5).int()
        self.assertEqual((said[1:] != said[:-1]).nonzero().flatten().tolist(), [7, 177, 179, 255, 263, 340])

    def test_other_weights_hear_the_same(self):
        net = nets.SileroVAD()
        net.load_state_dict(safetensors.load_file(MODELS / "silero-vad/silero_vad_16k.safetensors"))
        audio = read_wav(DATA / "audio/en_num.wav")
        same = (net(audio) > 0.5) == (silero()(audio) > 0.5)
        self.assertGreater(same.sum().item(), 355)
        self.assertLess(net(torch.zeros(16000)).max().item(), 0.5)

    @needs_torch
    def test_with_pytorch(self):
        import torch as peer

        audio = read_wav(DATA / "audio/en_num.wav")[: 512 * 60]
        self.with_peer(silero, [audio], 2e-6)
        script = peer.jit.load(MODELS / "silero-vad/silero_vad.jit")
        expected = peer.cat([script(chunk[None], 16000)[0] for chunk in to_peer(audio).view(-1, 512)])
        self.assertLess((to_peer(silero()(audio)) - expected).abs().max().item(), 2e-6)


def ultraface(nets=nets, load_weights=True):
    net = nets.UltraFace().eval()
    if load_weights:
        net.load_state_dict(load("ultraface/version-slim-320.pth"))
    return net


@needs_models
class UltraFace(Case):
    def test_faces_on_the_photos(self):
        found = {}
        for name in PHOTOS:
            scores, boxes = ultraface()(resized((photo(name) - 127) / 128, 240, 320))
            best = scores[0, :, 1].argmax()
            if scores[0, best, 1] > 0.7:
                found[name] = [round(v, 2) for v in boxes[0, best].tolist()]
        self.assertEqual(found, {"astronaut.png": [0.35, 0.12, 0.53, 0.34], "camera.png": [0.39, 0.21, 0.51, 0.38]})

    def test_as_the_exported_graph(self):
        graph = Graph(MODELS / "ultraface/version-slim-320.onnx")
        for name in PHOTOS:
            x = resized((photo(name) - 127) / 128, 240, 320)
            scores, boxes = ultraface()(x)
            expected = graph(x)
            self.assertNear(scores, expected["scores"], 1e-5)
            self.assertNear(boxes, expected["boxes"], 1e-5)

    @needs_torch
    def test_with_pytorch(self):
        self.with_peer(ultraface, [resized((photo("astronaut.png") - 127) / 128, 240, 320)], 1e-5)


def yunet(nets=nets, load_weights=True):
    net = nets.YuNet().eval()
    if load_weights:
        net.load_state_dict(load("yunet/yunet_n.pth")["state_dict"])
    return net


def best_face(outputs, width=320):
    """Score, centre and size of the best face, and its five points, in pixels."""
    best = (0.0,)
    for s in (8, 16, 32):
        scores = (outputs[f"cls_{s}"] * outputs[f"obj_{s}"]).sqrt()[0, :, 0]
        i = scores.argmax().item()
        if scores[i].item() > best[0]:
            cell = torch.tensor([i % (width // s), i // (width // s)])
            x, y, w, h = outputs[f"bbox_{s}"][0, i].tolist()
            points = (outputs[f"kps_{s}"][0, i].view(5, 2) + cell) * s
            best = (scores[i].item(), [*((torch.tensor([x, y]) + cell) * s).tolist(), math.exp(w) * s, math.exp(h) * s], points)
    return best


@needs_models
class YuNet(Case):
    def test_faces_on_the_photos(self):
        faces = {}
        for name in PHOTOS:
            score, box, points = best_face(yunet()(resized(photo(name).flip(0), 320, 320)))
            if score > 0.7:
                faces[name] = [round(v) for v in box]
                left, right, nose, *mouth = points.tolist()
                self.assertLess(left[0], right[0])
                self.assertTrue(all(left[1] < nose[1] < corner[1] for corner in mouth))
        self.assertEqual(faces, {"astronaut.png": [141, 74, 57, 74], "camera.png": [143, 99, 40, 57]})

    def test_as_the_exported_graph(self):
        graph = Graph(MODELS / "yunet/yunet_n_320_320.onnx")
        for name in PHOTOS:
            x = resized(photo(name).flip(0), 320, 320)
            got, expected = yunet()(x), graph(x)
            self.assertEqual(set(got), set(expected))
            for part, value in expected.items():
                self.assertNear(got[part], value, 2e-5)

    @needs_torch
    def test_with_pytorch(self):
        self.with_peer(yunet, [resized(photo("astronaut.png").flip(0), 320, 320)], 2e-5)


def llama(nets=nets, load_weights=True):
    checkpoint = load("tinyllamas/stories260K.pt")
    a = checkpoint["model_args"]
    net = nets.Llama(a["dim"], a["n_layers"], a["n_heads"], a["n_kv_heads"], a["vocab_size"], 172, a["max_seq_len"]).eval()
    if load_weights:
        net.load_state_dict(without("_orig_mod.", checkpoint["model"]))
    return net


def pieces():
    """The tokenizer's pieces of text: after a length, a score, a length and bytes each."""
    data, at, result = (MODELS / "tinyllamas/tok512.bin").read_bytes(), 4, []
    while at < len(data):
        _, size = struct.unpack_from("<fi", data, at)
        result.append(data[at + 8 : at + 8 + size].decode())
        at += 8 + size
    return result


def expected_ids():
    return [int(word) for word in (MODELS / "tinyllamas/expected_greedy_ids.txt").read_text().split()]


@needs_models
class TinyLlama(Case):
    def test_greedy_text(self):
        ids = llama().greedy(1, 256)
        self.assertEqual(ids, expected_ids())
        text = pieces()
        written = "".join(chr(int(p[3:5], 16)) if p.startswith("<0x") else p for p in (text[i] for i in ids))
        self.assertEqual(written.strip(), (MODELS / "tinyllamas/expected_greedy.txt").read_text().strip())

    def test_all_at_once_as_one_by_one(self):
        ids = torch.tensor([[1, *expected_ids()]])
        self.assertEqual(llama()(ids)[0, :-1].argmax(-1).tolist(), expected_ids())

    def test_flat_weights_are_the_same(self):
        data = bytearray((MODELS / "tinyllamas/stories260K.bin").read_bytes())
        flat = torch.frombuffer(data, dtype=torch.float32, offset=28)
        state = llama().state_dict()
        self.assertTrue(torch.equal(flat[: 512 * 64].view(512, 64), state["tok_embeddings.weight"]))
        layers = [state[f"layers.{i}.attention_norm.weight"] for i in range(5)]
        self.assertTrue(torch.equal(flat[512 * 64 :][: 5 * 64].view(5, 64), torch.stack(layers)))

    @needs_torch
    def test_with_pytorch(self):
        self.with_peer(llama, [torch.tensor([[1, *expected_ids()]])], 5e-5)


def words(text):
    """Lower case without accents, split at spaces and around punctuation."""
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return "".join(c if c.isalnum() else f" {c} " for c in text).split()


def tokens(text, vocabulary):
    """Longest pieces first; what continues a word begins with ##."""
    result = []
    for word in words(text):
        at, found = 0, []
        while at < len(word):
            ends = (end for end in range(len(word), at, -1) if ("##" * (at > 0) + word[at:end]) in vocabulary)
            end = next(ends, None)
            if end is None:
                found = []
                break
            found.append(vocabulary["##" * (at > 0) + word[at:end]])
            at = end
        result += found
    return result


@needs_models
class Model2Vec(Case):
    folder = MODELS / "model2vec/test-model-float32"

    def embedding(self, text, most=512):
        vocabulary = json.loads((self.folder / "tokenizer.json").read_text())["model"]["vocab"]
        table = safetensors.load_file(self.folder / "model.safetensors")["embeddings"]
        self.assertTrue(json.loads((self.folder / "config.json").read_text())["normalize"])
        bag = torch.nn.EmbeddingBag.from_pretrained(table, mode="mean")
        return F.normalize(bag(torch.tensor([tokens(text, vocabulary)[:most]])))

    def test_published_embeddings(self):
        for name, text in (("short", "hello world"), ("long", "hello " * 1000)):
            expected = torch.tensor(json.loads((MODELS / f"model2vec/embeddings_{name}.json").read_text()))
            self.assertNear(self.embedding(text), expected, 1e-5)

    def test_pieces_of_words(self):
        vocabulary = json.loads((self.folder / "tokenizer.json").read_text())["model"]["vocab"]
        names = {number: piece for piece, number in vocabulary.items()}
        self.assertEqual([names[t] for t in tokens("Caf\u00e9, unaffable!", vocabulary)], ["cafe", ",", "una", "##ffa", "##ble", "!"])


if __name__ == "__main__":
    unittest.main()
