"""Models: numbers of parameters as published, names and shapes of state dicts as torchvision's files have them, training, other arguments."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

from cresset.vision import models

import cresset as torch
from cresset import nn

# Parameters, and entries of the state dict, of the files that torchvision publishes.
PUBLISHED = {
    "alexnet": (61100840, 16), "densenet121": (7978856, 727), "densenet161": (28681000, 967), "densenet169": (14149480, 1015),
    "densenet201": (20013928, 1207), "mobilenet_v2": (3504872, 314), "mobilenet_v3_large": (5483032, 312), "mobilenet_v3_small": (2542856, 244),
    "resnet18": (11689512, 122), "resnet34": (21797672, 218), "resnet50": (25557032, 320), "resnet101": (44549160, 626), "resnet152": (60192808, 932),
    "resnext50_32x4d": (25028904, 320), "resnext101_32x8d": (88791336, 626), "resnext101_64x4d": (83455272, 626), "squeezenet1_0": (1248424, 52),
    "squeezenet1_1": (1235496, 52), "vgg11": (132863336, 22), "vgg11_bn": (132868840, 62), "vgg13": (133047848, 26), "vgg13_bn": (133053736, 76),
    "vgg16": (138357544, 32), "vgg16_bn": (138365992, 97), "vgg19": (143667240, 38), "vgg19_bn": (143678248, 118), "wide_resnet50_2": (68883240, 320),
    "wide_resnet101_2": (126886696, 626),
}  # fmt: skip
# Entries of those files.
ENTRIES = {
    "alexnet": {"features.0.weight": (64, 3, 11, 11), "features.10.bias": (256,), "classifier.1.weight": (4096, 9216), "classifier.6.bias": (1000,)},
    "densenet121": {"features.conv0.weight": (64, 3, 7, 7), "features.denseblock1.denselayer2.norm1.weight": (96,),
                    "features.denseblock4.denselayer16.conv2.weight": (32, 128, 3, 3), "features.transition3.conv.weight": (512, 1024, 1, 1),
                    "features.norm5.running_var": (1024,), "classifier.weight": (1000, 1024)},
    "mobilenet_v2": {"features.0.0.weight": (32, 3, 3, 3), "features.1.conv.0.0.weight": (32, 1, 3, 3), "features.1.conv.2.running_mean": (16,),
                     "features.2.conv.1.0.weight": (96, 1, 3, 3), "features.17.conv.3.weight": (320,), "features.18.1.bias": (1280,),
                     "classifier.1.weight": (1000, 1280)},
    "mobilenet_v3_large": {"features.1.block.0.0.weight": (16, 1, 3, 3), "features.4.block.2.fc1.weight": (24, 72, 1, 1),
                           "features.15.block.3.1.weight": (160,), "features.16.0.weight": (960, 160, 1, 1), "classifier.3.weight": (1000, 1280)},
    "resnet18": {"conv1.weight": (64, 3, 7, 7), "layer1.0.conv1.weight": (64, 64, 3, 3), "layer2.0.downsample.0.weight": (128, 64, 1, 1),
                 "layer4.1.bn2.running_mean": (512,), "fc.weight": (1000, 512)},
    "resnext50_32x4d": {"layer1.0.conv2.weight": (128, 4, 3, 3), "layer4.2.conv3.weight": (2048, 1024, 1, 1), "fc.bias": (1000,)},
    "squeezenet1_0": {"features.0.weight": (96, 3, 7, 7), "features.12.expand3x3.weight": (256, 64, 3, 3), "classifier.1.weight": (1000, 512, 1, 1)},
    "squeezenet1_1": {"features.0.weight": (64, 3, 3, 3), "features.6.squeeze.weight": (32, 128, 1, 1)},
    "vgg16": {"features.28.weight": (512, 512, 3, 3), "classifier.0.weight": (4096, 25088), "classifier.3.bias": (4096,)},
    "vgg16_bn": {"features.40.weight": (512, 512, 3, 3), "features.41.running_var": (512,)},
    "wide_resnet50_2": {"layer1.0.conv1.weight": (128, 64, 1, 1), "layer4.0.downsample.1.weight": (2048,)},
}  # fmt: skip
# One of each kind, small where they can be.
TRAINED = {
    "resnet18": (lambda: models.resnet18(num_classes=5), 33),
    "resnext": (lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=5, groups=8, width_per_group=4), 33),
    "vgg": (lambda: models.VGG(nn.Sequential(nn.Conv2d(3, 512, 3, 2), nn.BatchNorm2d(512), nn.ReLU(inplace=True)), num_classes=5), 20),
    "alexnet": (lambda: models.alexnet(num_classes=5), 64),
    "squeezenet": (lambda: models.squeezenet1_0(num_classes=5), 48),
    "densenet": (lambda: models.DenseNet(8, (2, 3), 16, num_classes=5, drop_rate=0.1), 32),
    "mobilenet_v2": (lambda: models.mobilenet_v2(num_classes=5, width_mult=0.5), 32),
    "mobilenet_v3": (lambda: models.mobilenet_v3_small(num_classes=5), 32),
}


def on_meta(name, **kwargs):
    with torch.device("meta"):
        return models.get_model(name, **kwargs)


class Published(unittest.TestCase):
    def test_numbers_of_parameters_and_entries(self):
        self.assertEqual(models.list_models(), sorted(PUBLISHED))
        for name in PUBLISHED:
            with self.subTest(name):
                model = on_meta(name)
                self.assertEqual((sum(p.numel() for p in model.parameters()), len(model.state_dict())), PUBLISHED[name])
                self.assertEqual(model.eval()(torch.empty(2, 3, 224, 224, device="meta")).shape, (2, 1000))

    def test_names_and_shapes(self):
        for name, entries in ENTRIES.items():
            with self.subTest(name):
                state = on_meta(name).state_dict()
                self.assertEqual({key: tuple(state[key].shape) for key in entries}, entries)

    def test_order_of_entries(self):
        keys = list(on_meta("resnet50").state_dict())
        self.assertEqual(keys[:2] + keys[-2:], ["conv1.weight", "bn1.weight", "fc.weight", "fc.bias"])
        block = [key.removeprefix("layer1.0.") for key in keys if key.startswith("layer1.0.") and key.endswith("weight")]
        self.assertEqual(
            block, ["conv1.weight", "bn1.weight", "conv2.weight", "bn2.weight", "conv3.weight", "bn3.weight", "downsample.0.weight", "downsample.1.weight"]
        )


class Training(unittest.TestCase):
    def test_a_step_reaches_every_parameter(self):
        for name, (make, size) in TRAINED.items():
            with self.subTest(name):
                torch.manual_seed(0)
                model = make().train()
                x = torch.randn(2, 3, size, size)
                loss = nn.functional.cross_entropy(model(x), torch.tensor([1, 3]))
                loss.backward()
                without = [key for key, p in model.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
                self.assertEqual(without, [])
                self.assertGreater(sum(float(p.grad.abs().sum()) for p in model.parameters()), 0)

    def test_recomputation_of_densenet_changes_nothing(self):
        torch.manual_seed(1)
        plain = models.DenseNet(4, (2, 2), 8, num_classes=3)
        frugal = models.DenseNet(4, (2, 2), 8, num_classes=3, memory_efficient=True)
        frugal.load_state_dict(plain.state_dict())
        x = torch.randn(2, 3, 32, 32)
        for model in (plain, frugal):
            model(x).square().sum().backward()
        for a, b in zip(plain.parameters(), frugal.parameters()):
            torch.testing.assert_close(a.grad, b.grad)

    def test_copies(self):
        model = models.mobilenet_v3_small(num_classes=3).eval()
        x = torch.randn(1, 3, 32, 32)
        self.assertTrue(torch.equal(copy.deepcopy(model)(x), model(x)))


class Starts(unittest.TestCase):
    def test_distributions(self):
        torch.manual_seed(0)
        net = models.resnet18(zero_init_residual=True)
        self.assertAlmostEqual(float(net.layer4[1].conv2.weight.std()), (2 / (512 * 9)) ** 0.5, delta=2e-4)
        self.assertEqual((float(net.bn1.weight.min()), float(net.layer1[0].bn2.weight.abs().max()), float(net.layer1[0].bn1.weight.min())), (1, 0, 1))
        net = models.mobilenet_v2()
        self.assertAlmostEqual(float(net.classifier[1].weight.std()), 0.01, delta=2e-4)
        self.assertEqual(float(net.classifier[1].bias.abs().max()), 0)
        net = models.squeezenet1_1()
        self.assertAlmostEqual(float(net.classifier[1].weight.std()), 0.01, delta=2e-4)

    def test_the_layers_of_a_block(self):
        net = models.mobilenet_v3_large()
        self.assertEqual((net.features[0][1].eps, net.features[0][1].momentum), (0.001, 0.01))
        self.assertIsInstance(net.features[4].block[2].scale_activation, nn.Hardsigmoid)
        self.assertIsInstance(net.features[7].block[0][2], nn.Hardswish)
        self.assertIsInstance(net.features[6].block[0][2], nn.ReLU)


class Arguments(unittest.TestCase):
    def test_weights_come_from_the_cache_alone(self):
        kept = torch.hub.get_dir()
        with tempfile.TemporaryDirectory() as folder:
            torch.hub.set_dir(folder)
            try:
                for kwargs in ({"weights": "DEFAULT"}, {"weights": models.ResNet18_Weights.IMAGENET1K_V1}, {"pretrained": True}):
                    with self.assertRaisesRegex(FileNotFoundError, "ResNet18_Weights.IMAGENET1K_V1.*resnet18-f37072fd.pth.*CRESSET_DOWNLOAD=1"):
                        models.resnet18(**kwargs)
                os.mkdir(os.path.join(folder, "checkpoints"))
                state = {k: torch.full_like(v, 3) for k, v in models.resnet18().state_dict().items()}
                torch.save(state, os.path.join(folder, "checkpoints", "resnet18-f37072fd.pth"))
                for kwargs in ({"weights": "DEFAULT"}, {"weights": models.get_weight("ResNet18_Weights.DEFAULT")}, {"pretrained": True}):
                    self.assertEqual(models.resnet18(**kwargs).fc.weight.unique().tolist(), [3.0])
                # Keys of densenets were called otherwise when their weights were published.
                state = {k.replace("norm1", "norm.1").replace("conv2", "conv.2"): v for k, v in models.densenet121().state_dict().items()}
                torch.save(state, os.path.join(folder, "checkpoints", "densenet121-a639ec97.pth"))
                models.densenet121(weights="DEFAULT")
            finally:
                torch.hub.set_dir(kept)
        models.squeezenet1_1(weights=None, progress=False, pretrained=False)

    def test_wrong_weights(self):
        for error, words, kwargs in ((TypeError, "expected ResNet18_Weights but received VGG11_Weights", {"weights": models.VGG11_Weights.DEFAULT}),
                                     (ValueError, "unknown weights 'best', expected one of IMAGENET1K_V1", {"weights": "best"}),
                                     (ValueError, "num_classes' expected value 1000 but got 3", {"weights": "DEFAULT", "num_classes": 3})):  # fmt: skip
            with self.assertRaisesRegex(error, words):
                models.resnet18(**kwargs)
        for name in ("ResNet18_Weights", "ResNet1_Weights.DEFAULT", "ResNet18_Weights.IMAGENET1K_V9"):
            with self.assertRaisesRegex(ValueError, "unknown weights"):
                models.get_weight(name)

    def test_names_of_weights(self):
        names = {enumeration.__name__ for enumeration in map(models.get_model_weights, models.list_models())}
        self.assertLessEqual({"AlexNet_Weights", "DenseNet121_Weights", "MobileNet_V3_Large_Weights", "ResNeXt50_32X4D_Weights", "SqueezeNet1_0_Weights", "VGG16_BN_Weights",
                              "Wide_ResNet50_2_Weights"}, names)  # fmt: skip
        self.assertEqual(len(names), len(models.list_models()))
        self.assertIs(pickle.loads(pickle.dumps(models.ResNet50_Weights.DEFAULT)), models.ResNet50_Weights.IMAGENET1K_V2)

    def test_preparation_of_images(self):
        image = (torch.arange(3 * 300 * 400) % 251).reshape(3, 300, 400).to(torch.uint8)
        T = torch.vision.transforms
        for weights, size in ((models.ResNet50_Weights.IMAGENET1K_V1, 256), (models.ResNet50_Weights.IMAGENET1K_V2, 232)):
            expected = T.Compose(
                [T.Resize(size), T.CenterCrop(224), T.ConvertImageDtype(torch.float), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
            )(image)
            self.assertTrue(torch.equal(weights.transforms()(image), expected))

    def test_frozen_normalisation(self):
        plain, frozen = nn.BatchNorm2d(3).eval(), torch.vision.ops.FrozenBatchNorm2d(3)
        plain.running_mean.uniform_(), plain.running_var.uniform_(1, 2), nn.init.uniform_(plain.weight)
        frozen.load_state_dict(plain.state_dict())
        x = torch.randn(2, 3, 4, 4)
        torch.testing.assert_close(frozen(x), plain(x).detach())

    def test_dilation_instead_of_stride(self):
        net = on_meta("resnet50", replace_stride_with_dilation=[False, True, True])
        self.assertEqual((net.layer4[0].conv2.dilation, net.layer4[1].conv2.dilation, net.layer4[0].conv2.stride), ((2, 2), (4, 4), (1, 1)))
        x = torch.empty(1, 256, 28, 28, device="meta")
        self.assertEqual(net.layer4(net.layer3(net.layer2(x))).shape[2:], (14, 14))

    def test_reduced_and_dilated_tails(self):
        net = on_meta("mobilenet_v3_large", reduced_tail=True, dilated=True)
        self.assertEqual((net.features[15].out_channels, net.features[14].block[0].out_channels, net.classifier[3].in_features), (80, 480, 640))
        self.assertEqual((net.features[13].block[1][0].dilation, net.features[13].block[1][0].stride), ((2, 2), (1, 1)))

    def test_other_normalisations(self):
        net = models.resnet18(norm_layer=lambda channels: nn.GroupNorm(2, channels), num_classes=4)
        self.assertEqual(net(torch.ones(1, 3, 32, 32)).shape, (1, 4))
        self.assertFalse([module for module in net.modules() if isinstance(module, nn.BatchNorm2d)])

    def test_mistakes(self):
        for error, call in (
            (ValueError, lambda: models.get_model("resnet19")), (ValueError, lambda: models.SqueezeNet("1_2")),
            (ValueError, lambda: models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], groups=2)),
            (NotImplementedError, lambda: models.ResNet(models.resnet.BasicBlock, [1, 1, 2, 1], replace_stride_with_dilation=[True] * 3)),
            (ValueError, lambda: models.resnet18(replace_stride_with_dilation=[True])), (TypeError, lambda: models.resnet18(classes=3)),
            (ValueError, lambda: models.MobileNetV2(inverted_residual_setting=[(1, 2)])), (ValueError, lambda: models.MobileNetV3([], 8)),
            (TypeError, lambda: models.MobileNetV3([1], 8)),
        ):  # fmt: skip
            self.assertRaises(error, call)


class Names(unittest.TestCase):
    def test_torchvision_is_bound(self):
        program = "import torch, torchvision, torchvision.models as models; from torchvision.models.resnet import ResNet; import cresset; " \
                  "assert torchvision is cresset.vision and models is torchvision.models; print(type(torchvision.models.resnet18()) is ResNet)"  # fmt: skip
        done = subprocess.run([sys.executable, "-m", "cresset", "-c", program], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_names_that_are_not_there(self):
        program = "import torchvision.models.video"
        done = subprocess.run([sys.executable, "-m", "cresset", "-c", program], capture_output=True, text=True)
        self.assertIn("ModuleNotFoundError: No module named 'torchvision.models.video' in Cresset yet", done.stderr)
        with self.assertRaisesRegex(AttributeError, "Inception3"):
            models.Inception3

    def test_bindings_go(self):
        torch.compat.install()
        try:
            import torchvision

            self.assertIs(torchvision, torch.vision)
        finally:
            torch.compat.uninstall()
        self.assertNotIn("torchvision", sys.modules)

    def test_blocks_run_their_layers_in_the_order_of_torchvision(self):
        from cresset.vision.models.resnet import BasicBlock, Bottleneck

        for block in (BasicBlock(4, 8, downsample=nn.Conv2d(4, 8, 1)), Bottleneck(4, 2, downsample=nn.Conv2d(4, 8, 1))):
            called = []
            for name, child in block.named_children():
                child.register_forward_hook(lambda *_, name=name: called.append(name))
            block(torch.ones(1, 4, 3, 3))
            self.assertEqual(called[-2:], ["downsample", "relu"])
            self.assertEqual(called[0], "conv1")


if __name__ == "__main__":
    unittest.main()
