"""Estimates the memory of a model and of one training step before any of it is allocated: parameters, gradients, optimizer state, activations.

The model, the batch and the step are fake tensors: they have shapes, dtypes and devices, and no data. examples/memory_estimator is the same in C++.
"""

import argparse

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F


class Perceptron(nn.Sequential):
    def __init__(self, width=1024, depth=4):
        layers = [nn.Linear(784, width), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Linear(width, width), nn.ReLU()]
        super().__init__(*layers, nn.Linear(width, 10))

    @staticmethod
    def batch(n, device):
        return torch.randn(n, 784, device=device), torch.zeros(n, dtype=torch.int64, device=device)


class ConvNet(nn.Sequential):
    def __init__(self, width=64):
        blocks, channels = [], 3
        for n in (width, 2 * width, 4 * width):
            blocks += [nn.Conv2d(channels, n, 3, padding=1), nn.BatchNorm2d(n), nn.ReLU(), nn.MaxPool2d(2)]
            channels = n
        super().__init__(*blocks, nn.Flatten(), nn.Linear(16 * channels, 10))

    @staticmethod
    def batch(n, device):
        return torch.randn(n, 3, 32, 32, device=device), torch.zeros(n, dtype=torch.int64, device=device)


class Transformer(nn.Module):
    length, words = 128, 4096

    def __init__(self, width=256, depth=4, heads=4):
        super().__init__()
        self.embed = nn.Embedding(self.words, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, self.words)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens))).flatten(0, 1)

    @classmethod
    def batch(cls, n, device):
        tokens = torch.zeros(n, cls.length, dtype=torch.int64, device=device)
        return tokens, tokens.flatten()


MODELS = {"perceptron": Perceptron, "convnet": ConvNet, "transformer": Transformer}
OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, 0.1), "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "adam": torch.optim.Adam}


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def step(model, optimizer, inputs, targets):
    """One training step; returns the bytes that forward left behind for backward."""
    kept = {}

    def keep(t):
        kept[t.untyped_storage()._cdata] = t.untyped_storage().nbytes()
        return t

    own = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers(), inputs, targets)}
    optimizer.zero_grad()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        loss = F.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return sum(n for storage, n in kept.items() if storage not in own)


def estimate(name, batch, optimizer="adam", device="cpu"):
    """Bytes by what they are for, and the most that are in use at one time of a training step."""
    with FakeTensorMode() as mode:
        model = MODELS[name]().to(device)
        stepping = OPTIMIZERS[optimizer](model.parameters())
        inputs, targets = MODELS[name].batch(batch, device)
        step(model, stepping, inputs, targets)  # makes gradients and the optimizer's state
        mode.reset_peak_memory_stats(device)
        activations = step(model, stepping, inputs, targets)
        state = [t for values in stepping.state.values() for t in values.values() if torch.is_tensor(t)]
        return {
            "parameters": size(model.parameters()),
            "buffers": size(model.buffers()),
            "gradients": size(p.grad for p in model.parameters()),
            "optimizer state": size(state),
            "batch": size((inputs, targets)),
            "activations": activations,
            "peak": mode.memory_stats(device)["peak_allocated_bytes"],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="transformer", help="what to train (transformer)")
    parser.add_argument("--batch", type=int, default=32, help="samples to a step (32)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="(adam)")
    parser.add_argument("--device", default="cuda", help="where it is to run; it need not be there (cuda)")
    options = parser.parse_args()
    print(f"{options.model}, {options.batch} samples, {options.optimizer}, on {options.device}")
    for what, n in estimate(options.model, options.batch, options.optimizer, options.device).items():
        print(f"{what:<16}{n / 2**20:12.2f} MiB")


if __name__ == "__main__":
    main()
