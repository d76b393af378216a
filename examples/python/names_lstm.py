"""An LSTM that tells names of girls from names of boys by their letters: packed sequences of different lengths."""

import argparse
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_sequence

KINDS = ("girl", "boy")


class Classifier(nn.Module):
    def __init__(self, letters=26, width=32, hidden=64):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, hidden, bidirectional=True)
        self.head = nn.Linear(2 * hidden, len(KINDS))

    def forward(self, names):
        """names: a list of tensors of letters, one for each name."""
        packed = pack_sequence(names, enforce_sorted=False)
        _, (last, _) = self.lstm(packed._replace(data=self.letters(packed.data)))
        return self.head(torch.cat([last[0], last[1]], 1))


def numbers(name):
    return torch.tensor([ord(letter) - ord("a") for letter in name])


class Names(torch.utils.data.Dataset):
    def __init__(self, path):
        if not os.path.exists(path):
            sys.exit(f"names_lstm.py: there is no {path}; --data names a file of lines such as `emma girl`")
        with open(path) as file:
            pairs = [line.split() for line in file]
        self.items = [(numbers(name), KINDS.index(kind)) for name, kind in pairs]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    return [name for name, _ in items], torch.tensor([kind for _, kind in items])


def accuracy(model, data):
    model.eval()
    right = 0
    with torch.no_grad():
        for names, kinds in torch.utils.data.DataLoader(data, batch_size=256, collate_fn=collate):
            right += (model(names).argmax(1) == kinds).sum().item()
    model.train()
    return right / len(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (all cores)")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=os.path.join(here, "data", "names.txt"), help="file of names and kinds")
    parser.add_argument("--names", nargs="*", default=["ada", "alan", "grace", "linus"], help="names to classify at the end")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step with all digits")
    options = parser.parse_args()
    for name in options.names:
        if not (name.isascii() and name.isalpha() and name.islower()):
            parser.error(f"argument --names: expected small letters a to z, got {name!r}")

    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    data = Names(options.data)
    train, test = torch.utils.data.random_split(data, [0.9, 0.1])
    loader = torch.utils.data.DataLoader(train, batch_size=options.batch, shuffle=True, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    step, loss = 0, torch.tensor(float("nan"))
    while step < options.steps:
        for names, kinds in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(names), kinds)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if options.losses:
                print(f"loss {step} {loss.item():.9g}")
            step += 1
            if sys.stderr.isatty():
                bar = "#" * (30 * step // options.steps)
                print(f"\r[{bar:30}] step {step}/{options.steps}  loss {loss.item():.3f} ", end="", file=sys.stderr, flush=True)
            if step == options.steps:
                break
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"after {step} steps: loss {loss.item():.3f}, {100 * accuracy(model, test):.1f} % of {len(test)} unseen names right")
    if options.names:
        with torch.no_grad():
            shares = F.softmax(model([numbers(name) for name in options.names]), 1)
        for name, share in zip(options.names, shares.tolist()):
            print(f"{name}: {100 * max(share):.0f} % {KINDS[share.index(max(share))]}")


if __name__ == "__main__":
    main()
