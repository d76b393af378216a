"""A variational autoencoder (Kingma and Welling, 2013) of MNIST digits; draws the digits that it makes up into a PNG."""

import argparse
import gzip
import os
import struct
import sys
import zlib

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, hidden=400, latent=20):
        super().__init__()
        self.encoder = nn.Linear(784, hidden)
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 784), nn.Sigmoid())

    def forward(self, x):
        h = F.relu(self.encoder(x))
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


def negative_bound(x, made, mean, log_variance):
    """Minus the lower bound of the log likelihood, in nats a digit."""
    error = F.binary_cross_entropy(made, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (error + divergence) / len(x)


def read_images(folder, name="train-images-idx3-ubyte.gz"):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.exit(f"vae.py: there is no {path}; --data names the folder of the MNIST files")
    with gzip.open(path) as file:
        data = bytearray(file.read())
    return torch.frombuffer(data, dtype=torch.uint8, offset=16).view(-1, 784)


def collate(rows):
    return torch.stack(rows).float() / 255


def write_png(path, image):
    """`image`: rows and columns of grey values from 0 to 1."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(row) for row in (image * 255).round().to(torch.uint8).tolist())
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (all cores)")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=os.path.join(here, "..", "mnist", "data"), help="folder of the MNIST files")
    parser.add_argument("--plot", default="vae.png", help="file for 64 digits made up; empty: none")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step with all digits")
    options = parser.parse_args()

    if options.threads:
        torch.set_num_threads(options.threads)
    images = read_images(options.data)
    torch.manual_seed(options.seed)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    loader = torch.utils.data.DataLoader(images, batch_size=options.batch, shuffle=True, collate_fn=collate)
    step, loss = 0, torch.tensor(float("nan"))
    while step < options.steps:
        for x in loader:
            optimizer.zero_grad()
            loss = negative_bound(x, *model(x))
            loss.backward()
            optimizer.step()
            if options.losses:
                print(f"loss {step} {loss.item():.9g}")
            step += 1
            if sys.stderr.isatty():
                bar = "#" * (30 * step // options.steps)
                print(f"\r[{bar:30}] step {step}/{options.steps}  loss {loss.item():.2f} ", end="", file=sys.stderr, flush=True)
            if step == options.steps:
                break
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"after {step} steps: {loss.item():.2f} nats a digit")
    if options.plot:
        with torch.no_grad():
            digits = model.decoder(torch.randn(64, 20)).view(8, 8, 28, 28)
        write_png(options.plot, digits.permute(0, 2, 1, 3).reshape(224, 224))
        print(f"wrote {options.plot}")


if __name__ == "__main__":
    main()
