"""Exports a model of cresset.vision to a .pt2 file, with an input and the output that it gives: see README.md.

python -m cresset examples/export/export_model.py --model resnet18 --folder /tmp
"""

import argparse
import os

import torch
from safetensors.torch import save_file
from torch import nn


def tiny():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10))


def model_of(name):
    if name == "tiny":
        return tiny()
    import torchvision

    return getattr(torchvision.models, name)()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny", help="tiny, or a model of torchvision.models")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--size", type=int, default=64, help="of the image")
    options = parser.parse_args()
    torch.manual_seed(0)
    model, image = model_of(options.model).eval(), torch.randn(2, 3, options.size, options.size)
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(model, (image,), dynamic_shapes=({0: batch},))
    path = os.path.join(options.folder, options.model)
    torch.export.save(program, path + ".pt2")
    with torch.no_grad():
        save_file({"input0": image, "output0": program.module()(image)}, path + ".safetensors")
    print(f"{path}.pt2: {sum(n.op == 'call_function' for n in program.graph.nodes)} calls")


if __name__ == "__main__":
    main()
