"""Writes the golden files of this folder, with PyTorch: python write.py FOLDER."""

import collections
import sys

import torch

out = sys.argv[1]
torch.manual_seed(0)
base = torch.arange(12.0)
signed = "int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bfloat16".split()
unsigned = "uint8 uint16 uint32 uint64 bool".split()
dtypes = {name: torch.arange(-2, 3).to(getattr(torch, name)) for name in signed}
dtypes.update({name: torch.arange(5).to(getattr(torch, name)) for name in unsigned})
shared = [1]
everything = {
    "dtypes": dtypes,
    "views": {"row": base[2:5], "matrix": base.view(3, 4).t(), "scalar": base[7], "empty": torch.empty(0, 4)},
    "parameter": torch.nn.Parameter(torch.tensor([1.5, -2.0])),
    "frozen": torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False),
    "leaf": torch.tensor([4.0], requires_grad=True),
    "lazy": torch.tensor([1 + 2j]).conj(),
    "meta": torch.empty(2, 3, device="meta"),
    "plain": {
        "none": None,
        "flags": [True, False],
        "integers": [0, 255, 256, 65535, 65536, -1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64, -(10**30)],
        "reals": [0.1, float("inf"), -0.0],
        "complex": 1 - 2j,
        "text": ["", "ascii", "h\u00e9 \u2603 \U0001f600"],
        "bytes": b"\x00\xff a",
        "bytearray": bytearray(b"abc"),
        "tuple": (1, (2,), ()),
        "set": {1, 2},
        "counter": collections.Counter("aab"),
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "size": torch.Size([2, 3]),
        "dtype": torch.float64,
        "device": torch.device("cuda", 1),
        "layout": torch.strided,
        "int keys": {3: "c", (1, 2): "t"},
    },
    "shared": [shared, shared],
}
shared.append(everything["shared"])
torch.save(everything, out + "/everything.pt")

model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
groups = [{"params": model[0].parameters(), "lr": 0.01}, {"params": model[1].parameters()}]
optimizer = torch.optim.Adam(groups, lr=0.1, amsgrad=True)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.arange(12.0).view(4, 3)).square().sum().backward()
    optimizer.step()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 2}, out + "/training.pt")
torch.save(model, out + "/module.pt")
legacy = {"a": base[1:3], "b": base, "c": torch.tensor([1, 2])}
torch.save(legacy, out + "/legacy.pt", _use_new_zipfile_serialization=False)

w = torch.tensor([3.0, -4.0, 0.5], dtype=torch.float64, requires_grad=True)
scale = torch.tensor([1.0, 10.0, 0.3], dtype=torch.float64)
optimizer = torch.optim.LBFGS([w], lr=0.05, max_iter=3, history_size=4)


def closure():
    optimizer.zero_grad()
    loss = (scale * (w - 1) ** 2).sum() + (w**4).sum()
    loss.backward()
    return loss


for _ in range(2):
    optimizer.step(closure)
before, state = w.detach().clone(), optimizer.state_dict()
torch.save(state, out + "/lbfgs.pt")
for _ in range(2):
    optimizer.step(closure)
print("lbfgs:", before.tolist(), "becomes", w.tolist())
