"""Fits a polynomial of degree three to noisy points of a sine, and draws points and curve into a PNG."""

import argparse
import struct
import zlib

import torch


def write_png(path, rows):
    """`rows`: lists of (red, green, blue)."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def plot(path, x, y, fitted, width=480, height=320):
    rows = [[(255, 255, 255)] * width for _ in range(height)]
    low, high = min(y.min().item(), fitted.min().item()), max(y.max().item(), fitted.max().item())

    def draw(xs, ys, colour, size):
        for a, b in zip(xs.tolist(), ys.tolist()):
            column = round((a + 1) / 2 * (width - 11)) + 5
            row = round((high - b) / (high - low) * (height - 11)) + 5
            for i in range(row - size, row + size + 1):
                for j in range(column - size, column + size + 1):
                    rows[i][j] = colour

    order = torch.linspace(-1, 1, 4 * width)
    draw(x, y, (70, 110, 180), 2)
    draw(order, torch.nn.functional.interpolate(fitted[x.argsort()].view(1, 1, -1), order.numel(), mode="linear")[0, 0], (200, 60, 40), 1)
    write_png(path, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (all cores)")
    parser.add_argument("--plot", default="linear_regression.png", help="file to write; empty: none")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step with all digits")
    options = parser.parse_args()

    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    x = torch.linspace(-1, 1, 128)
    y = torch.sin(3 * x) + 0.1 * torch.randn(128)
    features = torch.stack([x, x**2, x**3], 1)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features).squeeze(1), y)
        loss.backward()
        optimizer.step()
        if options.losses:
            print(f"loss {step} {loss.item():.9g}")
    weights = ", ".join(f"{w:.3f}" for w in model.weight[0].tolist())
    print(f"loss {loss.item():.5f}, weights {weights}, bias {model.bias.item():.3f}")
    if options.plot:
        with torch.no_grad():
            plot(options.plot, x, y, model(features).squeeze(1))
        print(f"wrote {options.plot}")


if __name__ == "__main__":
    main()
