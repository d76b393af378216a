"""A small GPT over characters, trained on Tiny Shakespeare (the first 100 kB are bundled), then asked for some text."""

import argparse
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, time, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, symbols, width=64, heads=4, layers=2, context=64):
        super().__init__()
        self.context = context
        self.symbol, self.position = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, x):
        x = self.symbol(x) + self.position(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def continue_text(self, x, count):
        for _ in range(count):
            logits = self(x[:, -self.context :])[:, -1]
            x = torch.cat([x, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (all cores)")
    parser.add_argument("--text", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "shakespeare.txt"))
    parser.add_argument("--characters", type=int, default=200, help="length of the text to write at the end")
    parser.add_argument("--bf16", action="store_true", help="mixed precision: products of matrices in bfloat16")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step with all digits")
    options = parser.parse_args()

    if options.threads:
        torch.set_num_threads(options.threads)
    if not os.path.exists(options.text):
        sys.exit(f"char_gpt.py: there is no {options.text}; --text names a file of text")
    with open(options.text) as file:
        text = file.read()
    alphabet = sorted(set(text))
    number = {c: i for i, c in enumerate(alphabet)}
    data = torch.tensor([number[c] for c in text])
    torch.manual_seed(options.seed)
    model = GPT(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    for step in range(options.steps):
        starts = torch.randint(len(data) - model.context - 1, (options.batch,))
        windows = torch.stack([data[i : i + model.context + 1] for i in starts.tolist()])
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            loss = F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if options.losses:
            print(f"loss {step} {loss.item():.9g}")
        if sys.stderr.isatty():
            bar = "#" * (30 * (step + 1) // options.steps)
            print(f"\r[{bar:30}] step {step + 1}/{options.steps}  loss {loss.item():.3f} ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"after {options.steps} steps: loss {loss.item():.3f}")
    if options.characters:
        print("".join(alphabet[i] for i in model.continue_text(data[:1].unsqueeze(0), options.characters)[0].tolist()))


if __name__ == "__main__":
    main()
