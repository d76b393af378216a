"""Networks become `.pt2` files that C++ runs with outputs equal to eager mode's to the bit."""

import importlib.util
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from cresset.export import Dim, export, save
from cresset.utils import _pytree as pytree

import cresset as torch
from cresset import nn, vision
from cresset.graph import load_program

from . import models_test as trained
from .common import DATA, MODELS, needs_models, read_wav


class CifarNet(nn.Module):
    """The network of executorch's sample checkpoint."""

    def __init__(self):
        super().__init__()
        state = torch.load(MODELS / "executorch/cifar_net.pth")
        shapes = {name: weight.shape for name, weight in state.items() if name.endswith("weight")}
        self.layers = nn.ModuleDict()
        for name, shape in shapes.items():
            layer = nn.Conv2d(shape[1], shape[0], shape[2]) if len(shape) == 4 else nn.Linear(shape[1], shape[0])
            self.layers[name.removesuffix(".weight")] = layer
        self.layers.load_state_dict(state)

    def forward(self, x):
        *features, last = self.layers.values()
        for layer in features:
            if isinstance(layer, nn.Linear):
                x = layer(x.flatten(1)).relu()
            else:
                x = nn.functional.max_pool2d(layer(nn.functional.pad(x, (2, 2, 2, 2))).relu(), 2)
        return last(x.flatten(1))


class Static(nn.Module):
    """The mean of the rows of a table, of unit length, as model2vec's networks have it."""

    def __init__(self):
        super().__init__()
        from cresset.io import safetensors

        self.table = nn.Buffer(safetensors.load_file(MODELS / "model2vec/test-model-float32/model.safetensors")["embeddings"])

    def forward(self, ids):
        return nn.functional.normalize(nn.functional.embedding(ids, self.table).mean(1))


class Case(unittest.TestCase):
    def setUp(self):
        torch.set_grad_enabled(False)
        self.addCleanup(torch.set_grad_enabled, True)
        torch.manual_seed(0)

    def check(self, net, args, kwargs=None, others=(), **options):
        """Exports, and runs the file on these arguments and others, twice: the second time memory is planned."""
        kwargs = kwargs or {}
        with TemporaryDirectory() as folder:
            path = Path(folder) / "m.pt2"
            save(export(net, args, kwargs, **options), path)
            program = load_program(path)
        for given in (args, *others):
            expected = pytree.tree_leaves(net(*given, **kwargs))
            for _ in range(2):
                got = pytree.tree_leaves(program(*given, **kwargs))
                self.assertEqual(len(got), len(expected))
                for a, b in zip(got, expected, strict=True):
                    if isinstance(b, torch.Tensor):
                        self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                        self.assertTrue(torch.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all()))
        return program


@needs_models
class Trained(Case):
    def test_resnet20(self):
        images = trained.normalised(trained.cifar_test_images()[0][:7])
        self.check(trained.resnet20(), (images[:2],), others=[(images,)], dynamic_shapes=({0: Dim("batch", min=1, max=64)},))

    def test_mnist(self):
        self.check(trained.mnist_net(), ((trained.digits(25)[0] / 255 - 0.1307) / 0.3081,))

    def test_silero_vad(self):
        self.check(trained.silero(), (read_wav(DATA / "audio/en_num.wav")[: 512 * 8],))

    def test_ultraface(self):
        x = trained.resized((trained.photo("astronaut.png") - 127) / 128, 240, 320)
        self.check(trained.ultraface(), (x,))

    def test_yunet(self):
        self.check(trained.yunet(), (trained.resized(trained.photo("astronaut.png").flip(0), 320, 320),))

    def test_tiny_llama(self):
        self.check(trained.llama(), (torch.tensor([[1, *trained.expected_ids()]])[:, :40],))

    def test_cifar_net(self):
        self.check(CifarNet(), (trained.normalised(trained.cifar_test_images()[0][:4]),))

    def test_model2vec(self):
        self.check(Static(), (torch.arange(12).reshape(2, 6),))


class Vision(Case):
    def test_every_model_of_the_package(self):
        for name in vision.models.list_models():
            with self.subTest(name):
                self.check(vision.models.get_model(name).eval(), (torch.randn(1, 3, 64, 64),))


LANGUAGE = {
    "GPT2LMHeadModel": "GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100)",
    "LlamaForCausalLM": "LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100)",
    "T5ForConditionalGeneration": "T5Config(d_model=32, num_layers=2, num_heads=2, d_ff=64, d_kv=16, vocab_size=100, decoder_start_token_id=0)",
}


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class Language(Case):
    """Language models of transformers in tiny configurations; they import `torch`, which is Cresset here."""

    @classmethod
    def setUpClass(cls):
        torch.compat.install()
        cls.addClassCleanup(torch.compat.uninstall)
        import transformers

        cls.library = transformers

    def language(self, kind):
        config = eval(f"T.{LANGUAGE[kind]}", {"T": self.library})
        config.use_cache = False
        net = getattr(self.library, kind)(config).eval()
        ids = torch.randint(100, (2, 16))
        more = {"decoder_input_ids": ids[:, :8]} if kind.startswith("T5") else {}
        self.check(net, (), {"input_ids": ids, "return_dict": False, **more})

    def test_gpt2(self):
        self.language("GPT2LMHeadModel")

    def test_llama(self):
        self.language("LlamaForCausalLM")

    def test_t5(self):
        self.language("T5ForConditionalGeneration")


if __name__ == "__main__":
    unittest.main()
