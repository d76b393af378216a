"""Networks become `.pt2` files that C++ runs with outputs equal to eager mode's to the bit."""

import importlib.util
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from cresset.export import Dim, export, save
from cresset.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from cresset.utils import _pytree as pytree

import cresset as torch
from cresset import nn, vision
from cresset.graph import load_program

from . import models_test as trained
from .common import DATA, MODELS, needs_models, read_wav
from .onnx_file import Graph


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


class Onnx(nn.Module):
    """A file's graph, walked operator by operator. Where it asks for a rate of samples, that is 16 kHz."""

    rate = torch.tensor(16000)

    def __init__(self, name):
        super().__init__()
        self.graph = Graph(MODELS / name)

    def forward(self, *inputs):
        return tuple(self.graph(*inputs, *[self.rate] * ("sr" in self.graph.inputs)).values())


class Script(nn.Module):
    """A module of an archive within one of Python."""

    def __init__(self, script):
        super().__init__()
        self.script = script

    def forward(self, *args):
        return self.script(*args)


def images(*shape):
    return (torch.randn(1, *shape),)


# File: its example arguments.
ONNX = {
    "dtln/model_1.onnx": lambda: (torch.rand(1, 1, 257), torch.randn(1, 2, 128, 2)),
    "onnx-mnist/mnist.onnx": lambda: images(1, 28, 28),
    "silero-vad/model_micro.onnx": lambda: (read_wav(DATA / "audio/en_num.wav")[None, 512:4512],),
    "silero-vad/silero_vad.onnx": lambda: (read_wav(DATA / "audio/en_num.wav")[None, 5000:5576], torch.randn(2, 1, 128)),
    "ultraface/version-slim-320.onnx": lambda: images(3, 240, 320),
    "yunet/yunet_n_320_320.onnx": lambda: images(3, 320, 320),
}
SCRIPTS = {
    "pytorch-demo/reddit.pt": lambda: (torch.tensor([list(b"how do I train a network?")], dtype=torch.uint8),),
    "silero-vad/silero_vad.jit": lambda: ONNX["silero-vad/silero_vad.onnx"](),
    "torchscript-samples/tch-rs/foo.pt": lambda: (torch.randn(3), torch.randn(3)),
    "torchscript-samples/tch-rs/foo1.pt": lambda: (torch.randn(3), torch.randn(3)),
    "torchscript-samples/tch-rs/foo3.pt": lambda: (torch.randn(4),),
    "torchscript-samples/tch-rs/foo5.pt": lambda: (["ab", "cd"],),
    "torchscript-samples/triton/control_type_int32.pt": lambda: (torch.arange(3, dtype=torch.int32),) * 3,
}
# Methods over objects: a module of Python says which of them the program is.
OBJECTS = "torchscript-samples/tch-rs/foo7.pt"
# Archives that are no programs of tensors: quantised weights whose forward PyTorch 2.13 cannot run, a branch on data.
REST = {"silero-vad/model_micro.jit", "torchscript-samples/triton/implicit_state_model.pt"}


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


@needs_models
class Files(Case):
    """Files that are programs themselves: ONNX, read by the tests' own reader, and TorchScript."""

    def test_all_of_them_are_here(self):
        archives = [p for p in MODELS.rglob("*.pt") if "torchscript-samples" in p.parts or p.name == "reddit.pt"]
        found = {str(p.relative_to(MODELS)) for p in [*MODELS.rglob("*.onnx"), *MODELS.rglob("*.jit"), *archives]}
        self.assertEqual(found, {*ONNX, *SCRIPTS, OBJECTS, *REST})

    def test_onnx(self):
        for name, args in ONNX.items():
            with self.subTest(name):
                self.check(Onnx(name), args())

    def test_torchscript(self):
        for name, args in SCRIPTS.items():
            with self.subTest(name):
                script = torch.jit.load(MODELS / name).eval()
                # The voice detector keeps its state in attributes; the network within takes and returns it.
                self.check(Script(script._model if name.endswith("silero_vad.jit") else script), args())

    def test_methods_over_objects(self):
        class Objects(Script):
            def forward(self, foo, bar):
                return self.script.add_them(self.script.make_input_object(foo, bar))

        script = torch.jit.load(MODELS / OBJECTS)
        self.check(Objects(script), (torch.randn(3), torch.randn(3)), others=[(torch.randn(3), torch.randn(3))])

    def test_a_script_that_keeps_tensors_of_a_call_is_warned_of_and_left_as_it_was(self):
        script = torch.jit.load(MODELS / "silero-vad/silero_vad.jit").eval()
        with self.assertWarnsRegex(UserWarning, "_state.*register them as buffers"):
            export(Script(script), (torch.randn(1, 512), 16000))
        self.assertEqual(script._state.numel(), 0)

    def test_a_script_that_branches_on_data_is_refused_at_its_line(self):
        script = torch.jit.load(MODELS / "torchscript-samples/triton/implicit_state_model.pt")
        with self.assertRaisesRegex(GuardOnDataDependentSymNode, r"(?s)bool\(seq_start\).*HERE.*depends on data; give it"):
            export(Script(script), (torch.ones(1, dtype=torch.int64),) * 4)

    def test_networks_of_both_files_give_the_same(self):
        args = ONNX["silero-vad/silero_vad.onnx"]()
        script = torch.jit.load(MODELS / "silero-vad/silero_vad.jit")._model
        for a, b in zip(script(*args), Onnx("silero-vad/silero_vad.onnx")(*args), strict=True):
            self.assertLess((a - b).abs().max().item(), 1e-5)


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
