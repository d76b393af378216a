"""Tables of models: shapes, parameters, multiply-accumulates and bytes against counts by hand; what a summary leaves as it was."""

import unittest

from cresset.utils import summary

import cresset as torch
from cresset import nn


class Counts(unittest.TestCase):
    def macs(self, module, *sizes, **kwargs):
        return summary(module, list(sizes), **kwargs).total_macs

    def test_layers(self):
        self.assertEqual(self.macs(nn.Linear(5, 7), (3, 4, 5)), 3 * 4 * 5 * 7)
        self.assertEqual(self.macs(nn.Conv2d(6, 8, 3, stride=2, padding=1, groups=2), (2, 6, 9, 9)), 2 * 8 * 5 * 5 * 3 * 9)
        self.assertEqual(self.macs(nn.Conv1d(4, 8, 5), (2, 4, 9)), 2 * 8 * 5 * 4 * 5)
        self.assertEqual(self.macs(nn.ConvTranspose2d(6, 8, 3, groups=2), (2, 6, 5, 5)), 2 * 6 * 25 * 4 * 9)
        self.assertEqual(self.macs(nn.Bilinear(3, 4, 5), (2, 3), (2, 4)), 2 * 5 * 3 * 5)
        self.assertEqual(self.macs(nn.LSTM(3, 5, num_layers=2, bidirectional=True), (7, 2, 3)), 14 * 2 * (20 * 3 + 20 * 5 + 20 * 10 + 20 * 5))
        self.assertEqual(self.macs(nn.GRUCell(3, 5), (2, 3), (2, 5)), 2 * (15 * 3 + 15 * 5))
        self.assertEqual(self.macs(nn.Sequential(nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)), (1, 3, 4, 4)), 0)

    def test_attention(self):
        query, memory = torch.ones(2, 3, 8), torch.ones(2, 5, 8)
        found = summary(nn.MultiheadAttention(8, 2, batch_first=True), input_data=(query, memory, memory))
        self.assertEqual(found.total_macs, 2 * (3 * 64 + 2 * 5 * 64 + 3 * 64 + 2 * 3 * 5 * 8))
        layer = summary(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 3, 8))
        self.assertEqual(layer.total_macs, 2 * (4 * 3 * 64 + 2 * 3 * 3 * 8) + 2 * (2 * 3 * 8 * 16))

    def test_published_figures(self):
        # Billions of multiply-accumulates at 224 x 224, as published with the models.
        for name, billions in (
            ("resnet18", 1.81),
            ("resnet50", 4.09),
            ("vgg16", 15.47),
            ("mobilenet_v2", 0.30),
            ("densenet121", 2.83),
            ("squeezenet1_0", 0.82),
        ):
            with torch.device("meta"):
                model = torch.vision.models.get_model(name)
            self.assertAlmostEqual(summary(model, (1, 3, 224, 224)).total_macs / 1e9, billions, delta=0.006, msg=name)

    def test_bytes(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Sequential(nn.ReLU()))
        found = summary(model, (2, 4))
        self.assertEqual((found.input_bytes, found.output_bytes, found.param_bytes, found.buffer_bytes), (32, 3 * 24, 4 * 21, 2 * 12 + 8))
        self.assertEqual(summary(model.double(), (2, 4), dtypes=[torch.float64]).param_bytes, 8 * 21)


class Rows(unittest.TestCase):
    def test_nesting_and_shapes(self):
        model = nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(6, 4), nn.Tanh()), nn.Linear(4, 2))
        found = summary(model, (5, 2, 3))
        self.assertEqual([(layer.name, layer.kind, layer.depth, layer.input_size, layer.output_size, layer.params, layer.macs) for layer in found.layers], [
            ("", "Sequential", 0, (5, 2, 3), (5, 2), 38, 160), ("0", "Flatten", 1, (5, 2, 3), (5, 6), 0, 0), ("1", "Sequential", 1, (5, 6), (5, 4), 28, 120),
            ("1.0", "Linear", 2, (5, 6), (5, 4), 28, 120), ("1.1", "Tanh", 2, (5, 4), (5, 4), 0, 0), ("2", "Linear", 1, (5, 4), (5, 2), 10, 40),
        ])  # fmt: skip
        self.assertEqual(len(str(summary(model, (5, 2, 3), depth=1)).splitlines()), 2 + 4 + 4)

    def test_modules_that_are_called_again(self):
        shared = nn.Linear(3, 3)
        found = summary(nn.Sequential(shared, nn.ReLU(), shared), (1, 3))
        self.assertEqual((found.total_params, found.total_macs, [layer.params for layer in found.layers]), (12, 18, [12, 12, 0, 0]))
        self.assertIn("(again)", str(found))

    def test_without_an_input(self):
        model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        model[0].bias.requires_grad_(False)
        self.assertEqual(str(summary(model)).splitlines()[2:], [
            "Sequential                    8", "  0: Linear                   8", "  1: ReLU                     -", "-------------------------------",
            "Parameters: 8, trained: 6", "Memory: parameters 32 B, buffers 0 B"])  # fmt: skip

    def test_modules_of_the_program(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.inner = nn.Parameter(torch.ones(3, 3)), nn.Linear(3, 3)

            def forward(self, x, *, times=1):
                return {"y": self.inner(input=x @ self.weight) * times}

        found = summary(Scaled(), input_data={"x": torch.ones(2, 3), "times": 2})
        self.assertEqual((found.uncounted, found.total_macs, found.layers[0].output_size, found.layers[1].input_size), (["Scaled"], 18, (2, 3), (2, 3)))
        self.assertIn("without those of Scaled", str(found))

    def test_keywords_of_attention(self):
        class Looking(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = nn.MultiheadAttention(4, 1)

            def forward(self, x):
                return self.attention(value=x, key=x, query=x[:1])[0]

        self.assertEqual(summary(Looking(), (3, 2, 4)).total_macs, 2 * (16 + 3 * 16 * 2 + 16 + 2 * 3 * 4))


class Devices(unittest.TestCase):
    def test_meta_and_fake_tensors(self):
        with torch.device("meta"):
            model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 998 * 998, 1000))
        self.assertEqual(summary(model, (8, 3, 1000, 1000)).layers[-1].output_size, (8, 1000))
        from cresset._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            model = nn.Linear(10**6, 10**6)
            self.assertEqual(summary(model, (4, 10**6)).total_macs, 4 * 10**12)

    def test_lazy_modules(self):
        self.assertEqual(summary(nn.Sequential(nn.LazyLinear(3)), (2, 5)).total_params, 18)

    def test_indices(self):
        self.assertEqual(summary(nn.Embedding(5, 3), (2, 4), dtypes=[torch.long]).layers[0].output_size, (2, 4, 3))


class Traces(unittest.TestCase):
    def test_the_model_is_as_before(self):
        model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
        model[1].eval()
        state, draws = {key: value.clone() for key, value in model.state_dict().items()}, torch.get_rng_state()
        summary(model, (4, 3))
        self.assertEqual([module.training for module in model.modules()], [True, True, False, True])
        self.assertTrue(all(torch.equal(value, state[key]) for key, value in model.state_dict().items()))
        self.assertTrue(torch.equal(torch.get_rng_state(), draws))
        with self.assertRaises(RuntimeError):
            summary(model, (4, 5))
        self.assertFalse([module for module in model.modules() if module._forward_hooks or module._forward_pre_hooks])
        self.assertEqual([module.training for module in model.modules()], [True, True, False, True])

    def test_modes(self):
        seen = []
        model = nn.Identity()
        model.register_forward_hook(lambda module, *_: seen.append(module.training))
        model.eval()
        for mode in ("train", "eval", None):
            summary(model, (1,), mode=mode)
        self.assertEqual((seen, model.training), ([True, False, False], False))

    def test_mistakes(self):
        for kwargs in (
            {"input_size": (1,), "input_data": torch.ones(1)},
            {"input_size": (1,), "mode": "test"},
            {"input_size": (1,), "dtypes": [torch.long] * 2},
        ):
            self.assertRaises(ValueError, summary, nn.Identity(), **kwargs)


if __name__ == "__main__":
    unittest.main()
