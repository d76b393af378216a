"""Trains a convolutional network on the bundled MNIST and prints its test accuracy: examples/mnist/mnist.cpp, number for number."""

import argparse
import gzip
import os
import struct
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), 1)


def read_idx(folder, name):
    """The bytes of an IDX file, gzipped or not, in its shape."""
    path = os.path.join(folder, name)
    if not os.path.exists(path) and not os.path.exists(path + ".gz"):
        sys.exit(f"mnist.py: there is no {path}, gzipped or not; --data names the folder of the four MNIST files")
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
        data = bytearray(file.read())
    shape = struct.unpack_from(f">{data[3]}i", data, 4)
    return torch.frombuffer(data, dtype=torch.uint8, offset=4 + 4 * len(shape)).view(shape)


def pixels(images):
    return ((images.unsqueeze(1).float() / 255) - 0.1307) / 0.3081


def accuracy(net, images, labels):
    net.eval()
    with torch.no_grad():
        right = sum((net(pixels(x)).argmax(1) == y).sum().item() for x, y in zip(images.split(50), labels.split(50)))
    net.train()
    return right / len(labels)


def progress(done, total, loss, seconds):
    """A bar that is redrawn in place, and only on a terminal."""
    if sys.stderr.isatty():
        bar = "#" * (30 * done // total)
        end = "\n" if done == total else ""
        print(f"\r[{bar:30}] {done:5}/{total}  loss {loss:.4f}  {done / seconds:.0f} samples/s ", end=end, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2, help="passes over the training set (2)")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: at the end of the epochs)")
    parser.add_argument("--batch", type=int, default=64, help="samples to a step (64)")
    parser.add_argument("--lr", type=float, default=1e-3, help="rate of AdamW: rises for 200 steps, falls to 0 at the end (0.001)")
    parser.add_argument("--seed", type=int, default=1, help="of initialisation and shuffling (1)")
    parser.add_argument("--device", default="cpu", help="where to compute; opencl is that of plugins/opencl (cpu)")
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (all cores)")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=os.path.join(here, "..", "mnist", "data"), help="folder of the four MNIST files, gzipped or not")
    parser.add_argument("--save", default="mnist.pt", help="where the weights go; empty: nowhere (mnist.pt)")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step with all digits")
    options = parser.parse_args()

    if options.device.startswith("opencl"):
        import cresset_opencl  # noqa: F401
    if options.threads:
        torch.set_num_threads(options.threads)
    images, labels = read_idx(options.data, "train-images-idx3-ubyte"), read_idx(options.data, "train-labels-idx1-ubyte").long()
    tests = read_idx(options.data, "t10k-images-idx3-ubyte"), read_idx(options.data, "t10k-labels-idx1-ubyte").long()
    torch.manual_seed(options.seed)
    images, labels, tests = images.to(options.device), labels.to(options.device), tuple(t.to(options.device) for t in tests)
    net = Net().to(options.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.lr)
    steps = options.epochs * -(-len(images) // options.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 200, 1 - step / steps))
    step = 0
    for epoch in range(options.epochs):
        start, loss_sum, done = time.perf_counter(), 0.0, 0
        for rows in torch.randperm(len(images)).split(options.batch):
            optimizer.zero_grad()
            loss = F.nll_loss(net(pixels(images[rows.to(options.device)])), labels[rows.to(options.device)])
            loss.backward()
            optimizer.step()
            schedule.step()
            if options.losses:
                print(f"loss {step} {loss.item():.9g}")
            step, done = step + 1, done + len(rows)
            loss_sum += loss.item() * len(rows)
            progress(done, len(images), loss_sum / done, time.perf_counter() - start)
            if step == options.steps:
                return
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}/{options.epochs}: loss {loss_sum / done:.4f}, test accuracy {100 * accuracy(net, *tests):.2f} %, "
              f"{done / seconds:.0f} samples/s", flush=True)  # fmt: skip
    if options.save:
        torch.save(net.state_dict(), options.save)
        print(f"weights saved to {options.save}")


if __name__ == "__main__":
    main()
