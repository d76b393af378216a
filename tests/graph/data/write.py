"""Writes the .pt2 files of this folder, with inputs and results beside them as safetensors. Run with PyTorch 2.13."""

import json
import struct
import zipfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export, save
from torch.export.pt2_archive._package import package_pt2

FOLDER = Path(__file__).parent


def write_tensors(path, tensors):
    """Float and integer tensors in the safetensors format."""
    names = {
        torch.float32: "F32",
        torch.int64: "I64",
        torch.int32: "I32",
        torch.bool: "BOOL",
        torch.float16: "F16",
        torch.bfloat16: "BF16",
        torch.float64: "F64",
    }
    header, data = {}, b""
    for name, t in tensors.items():
        t = t.detach().contiguous()
        raw = t.view(torch.uint8).numpy().tobytes() if t.numel() and t.dim() else t.reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": names[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def forget_places(path):
    """Stack traces name files of this machine: their folders are taken out."""
    with zipfile.ZipFile(path) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            if name.endswith(".json"):
                for folder in (str(Path(torch.__file__).parent.parent) + "/", str(FOLDER.resolve()) + "/"):
                    data = data.replace(folder.encode(), b"")
            archive.writestr(zipfile.ZipInfo(name), data)


class Layers(nn.Module):
    """Dynamic batch, batch norm, split, numbers among the results."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)
        self.register_buffer("shift", torch.arange(3.0))
        self.constant = torch.ones(3)

    def forward(self, x):
        y = self.norm(self.linear(x))
        a, b = torch.cat([y, y + self.shift], 1).split(3, 1)
        return {"out": torch.relu(a) * 2.5 + self.constant, "rest": [b.sum(), torch.topk(b, 2)[0], x.shape[0] * 2, "text", None]}


class Control(nn.Module):
    """A branch, a region without gradients, indices with gaps, shared weights, buffers and inputs that are written."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))
        self.w = nn.Parameter(torch.randn(3, 3))
        self.again = self.w

    def forward(self, x, y):
        self.count.add_(1)
        y.mul_(2)
        i = x.argmax(0)
        z = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
        with torch.no_grad():
            q = z * 2
        q = q.to(torch.bfloat16).to(torch.float32, copy=True)
        filled = torch.empty_like(q).fill_(float("inf"))
        return z, q[:, None, i], torch.clamp(q, max=1.0), filled, torch.zeros(3, dtype=torch.int32), self.w @ self.again, y, self.count, q[q > 0]


class Conv(nn.Module):
    """Convolutions, pooling, channels last."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm, self.out = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, stride=2, bias=False), nn.BatchNorm2d(4), nn.Linear(4, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.b(nn.functional.max_pool2d(torch.relu(self.a(x)), 2))))
        y = nn.functional.adaptive_avg_pool2d(y.contiguous(memory_format=torch.channels_last), 1)
        return self.out(y.flatten(1)).log_softmax(-1)


class Block(nn.Module):
    """One layer of a language model, with dynamic batch and length."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.norm1, self.norm2, self.qkv, self.proj = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(approximate="tanh"), nn.Linear(16, 8))

    def forward(self, tokens):
        b, t = tokens.shape
        x = self.embed(tokens) + self.place(torch.arange(t))
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, 8))
        x = x + self.mlp(self.norm2(x))
        return x @ self.embed.weight.t()


class While(nn.Module):
    """A loop whose number of trips depends on data."""

    def forward(self, x, n):
        go = torch._higher_order_ops.while_loop
        return go(lambda i, y: i < n.sum(), lambda i, y: (i + 1, y * 1.5 + 1), (torch.zeros((), dtype=torch.int64), x))


class Core(nn.Module):
    """Made of core operators: softmax and batch norm in their internal forms, constants."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        y = self.norm(x).softmax(-1) + x.detach().log_softmax(0)
        return y + torch.tensor([1.0, 2.0, 3.0, 4.0]), (y > 0).any()


class Counter(nn.Module):
    """Made functional: the buffer's new value is a result."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.total.add_(x)
        x.neg_()
        return self.total * 2


class Written(nn.Module):
    """Made functional: operators of a program that write a buffer, a part of a tensor, and a list."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        y, z = x.cos(), x.sin()
        a = torch.ops.pt2_test.both(y, self.seen, 2.5)
        wide = torch.cat([z, z])
        torch.ops.pt2_test.both(wide[1:4], x * 2)
        parts = [torch.empty_like(x), torch.empty_like(x)]
        torch.ops.pt2_test.fill(a, parts)
        return a, y, wide, parts[0] + parts[1]


def define_operators():
    """The operators of `Written`: both adds a number to two tensors and returns their sum, fill copies a tensor into others."""
    torch.library.define("pt2_test::both", "(Tensor(a!) x, Tensor(b!) y, float s=5.0) -> Tensor")
    torch.library.define("pt2_test::fill", "(Tensor x, Tensor(a!)[] outs) -> ()")
    torch.library.impl("pt2_test::both", "cpu", lambda x, y, s=5.0: x.add_(s) + y.add_(s))
    torch.library.impl("pt2_test::fill", "cpu", lambda x, outs: [out.copy_(x) for out in outs] and None)
    torch.library.register_fake("pt2_test::both", lambda x, y, s=5.0: torch.empty_like(x))
    torch.library.register_fake("pt2_test::fill", lambda x, outs: None)


class Chains(nn.Module):
    """Pointwise operators in a row, and reductions of rows between them, of sizes that pay for kernels."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64, bias=False)

    def forward(self, x, scale):
        y = self.linear(x)
        y = (y.sigmoid() * y + scale.exp() * 0.5).tanh()
        z = y - y.mean(-1, keepdim=True)
        return z / ((z * z).mean(-1, keepdim=True) + 1e-5).sqrt(), y


class Forms(nn.Module):
    """Operators that are other operators in the library that reads them; with statistics that are written, and calls that stay in order."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))
        self.bag = nn.EmbeddingBag(10, 4, padding_idx=2)
        self.norm = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))

    def forward(self, x, indices):
        y = F.batch_norm(x, self.mean, self.var, training=True)
        padded = F.pad(y, (1, 2, 0, 1), mode="reflect") + F.pad(y, (1, 2, 0, 1), mode="replicate")
        square = y[0, 0, :3, :3] + 4 * torch.eye(3)
        spectrum = torch.view_as_real(torch.stft(y.flatten(), 8, window=torch.hann_window(8), center=False, return_complex=True))
        rounded = torch.fake_quantize_per_tensor_affine(y, 0.1, 3, -20, 20)
        bag = self.bag(indices)
        return (
            padded,
            torch.linalg.inv(square),
            spectrum,
            rounded,
            bag,
            self.norm(bag),
            F.prelu(y, self.var),
            F.logsigmoid(y),
            torch.pdist(square),
            torch.cdist(square, square),
        )


class Internals(nn.Module):
    """Operators that programs reach by decomposition alone."""

    def forward(self, m, i):
        aten = torch.ops.aten
        heads = m.view(2, 2, 3, 3)
        results = [*aten._linalg_det(m), *aten._linalg_slogdet(m), aten._linalg_solve_ex(m, m)[0], aten.linalg_matrix_exp(m), aten._euclidean_dist(m, m + 1)]
        results += [aten._unsafe_index.Tensor(m, [i, None, i]), aten._unsafe_index_put(m, [i], m), *aten.meshgrid.default([m[0, 0], m[0, 1]]), aten.zero(m)]
        results += [aten._reshape_alias(m, [12, 3], [3, 1]), aten._prelu_kernel(heads, torch.tensor([0.2, 0.3]).view(1, 2, 1, 1)), aten.lift(m)]
        results += [*aten._scaled_dot_product_flash_attention_for_cpu(heads, heads, heads, is_causal=True, scale=0.3), aten.replication_pad1d(m, [1, 2])]
        results += [*aten.fake_quantize_per_tensor_affine_cachemask(m, 0.05, 3, -10, 10), *aten._weight_norm_interface(m[0], m[0, :, :1].abs(), 0)]
        results += [aten._embedding_bag(m[0], i % 3, torch.tensor([0, 2]), False, mode)[0] for mode in (0, 1, 2)]
        results.append(F.cross_entropy(heads, i.view(2, 1, 2).expand(2, 3, 2)[:, :, :1].expand(2, 3, 3) % 2))
        return results


class Attention(nn.Module):
    """Heads that lie beside each other: the result is read as if it lay as the query does."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        heads = x.view(5, 2, 2, 4).permute(1, 2, 0, 3)
        y = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return self.attention(x, x, x, need_weights=False)[0], y.permute(2, 0, 1, 3).contiguous().view(5, 2, 8)


class Half(nn.Module):
    """One of two programs in an archive, which use the same weight."""

    def __init__(self, weight, back):
        super().__init__()
        self.weight, self.back = weight, back

    def forward(self, x):
        return x @ (self.weight.t() if self.back else self.weight)


class Printing(nn.Module):
    """Calls that stand in order, by tokens."""

    def forward(self, x):
        torch.ops.aten._print("before")
        y = x.sin()
        torch.ops.aten._print("after")
        return y


def write_several():
    """Two programs and a text in one archive."""
    weight = nn.Parameter(torch.arange(6.0).reshape(2, 3))
    programs = {"encode": export(Half(weight, False), (torch.ones(1, 2),)), "decode/back": export(Half(weight, True), (torch.ones(1, 3),))}
    package_pt2(FOLDER / "several.pt2", exported_programs=programs, extra_files={"note.txt": "two halves"})
    forget_places(FOLDER / "several.pt2")


class Regions(nn.Module):
    """A region of mixed precision with one without in it, a choice by the data, and operators with names of their own."""

    def __init__(self):
        super().__init__()
        self.pair, self.table = nn.Bilinear(3, 3, 2), nn.Embedding(5, 3, max_norm=1.0)
        self.table.weight.requires_grad_(False)

    def forward(self, x, i):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x.t()
            with torch.autocast("cpu", enabled=False):
                z = x @ x.t()
        w = x * (x > 0).any().item()
        parts = torch.ops.aten.tensor_split.tensor_indices_or_sections(x, i[:2])
        steps = torch.ops.aten.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32), 1, 0, 255)
        return y, z, w, parts[0], steps, self.table(i), w.clone().pow_(2).transpose_(0, 1), x.to_sparse().to_dense()


class Numbered(nn.Module):
    """Modules whose names are numbers, and a norm that writes; made of core operators."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.RReLU())
        self.pair = nn.Bilinear(3, 3, 2)

    def forward(self, x):
        y = self.layers(x)
        return y, self.pair(y, y), torch.linalg.inv(y[:3] + 9 * torch.eye(3)), F.interpolate(y[None], scale_factor=2.0, mode="nearest-exact")


class Transforms(nn.Module):
    """Steps of vmap, one within another, and of forward mode."""

    def forward(self, x, y):
        rows = torch.vmap(torch.vmap(lambda a: a * 2 + 1))(x)
        mixed = torch.vmap(lambda a: (a.unsqueeze(1) * a).sum(-1).softmax(-1), in_dims=1)(y)
        return rows, mixed, *torch.func.jvp(lambda v: v.sin() * v, (x,), (x + 1,))


def main():
    write_several()
    torch.manual_seed(0)
    define_operators()
    batch, length = Dim("batch", min=1, max=64), Dim("length", min=2, max=16)
    cases = {
        "layers": (Layers(), (torch.randn(2, 4),), {"x": {0: batch}}, (torch.randn(5, 4),)),
        "control": (Control(), (torch.randn(3, 3), torch.ones(2)), None, (torch.randn(3, 3), torch.randn(2))),
        "conv": (Conv(), (torch.randn(2, 3, 9, 9),), None, (torch.randn(2, 3, 9, 9),)),
        "block": (Block(), (torch.randint(0, 11, (2, 5)),), {"tokens": {0: batch, 1: length}}, (torch.randint(0, 11, (3, 7)),)),
        "while": (While(), (torch.randn(2), torch.tensor([3])), None, (torch.randn(2), torch.tensor([5]))),
        "core": (Core(), (torch.randn(3, 4),), None, (torch.randn(3, 4),)),
        "counter": (Counter(), (torch.randn(2),), None, (torch.randn(2),)),
        "chains": (Chains(), (torch.randn(8, 64), torch.randn(64)), {"x": {0: batch}, "scale": None}, (torch.randn(11, 64), torch.randn(64))),
        "forms": (Forms(), (torch.randn(2, 3, 5, 5), torch.tensor([[1, 2], [9, 1]])), None, (torch.randn(2, 3, 5, 5), torch.tensor([[2, 2], [3, 0]]))),
        "internals": (Internals(), (torch.randn(4, 3, 3), torch.tensor([2, 0, 1, 1])), None, (torch.randn(4, 3, 3), torch.tensor([0, 2, 1, 0]))),
        "attention": (Attention(), (torch.randn(5, 2, 8),), None, (torch.randn(5, 2, 8),)),
        "written": (Written(), (torch.randn(3),), None, (torch.randn(3),)),
        "printing": (Printing(), (torch.ones(2),), None, (torch.ones(2),)),
        "regions": (Regions(), (torch.randn(3, 3), torch.tensor([1, 2, 4])), None, (torch.randn(3, 3), torch.tensor([1, 2, 0]))),
        "numbered": (Numbered(), (torch.randn(5, 4),), None, (torch.randn(5, 4),)),
        "transforms": (Transforms(), (torch.randn(4, 3), torch.randn(2, 2, 3)), None, (torch.randn(4, 3), torch.randn(2, 2, 3))),
    }
    for name, (model, example, shapes, inputs) in cases.items():
        program = export(model.train(name == "numbered"), example, dynamic_shapes=shapes)
        if name in ("core", "counter", "written", "forms", "internals", "printing", "numbered"):
            program = program.run_decompositions()
        elif name == "attention":
            program = program.run_decompositions({})
        save(program, FOLDER / f"{name}.pt2")
        forget_places(FOLDER / f"{name}.pt2")
        tensors = {f"input{i}": t.clone() for i, t in enumerate(inputs)}
        torch.manual_seed(2)
        results = torch.utils._pytree.tree_leaves(program.module()(*inputs))
        tensors |= {f"output{i}": t for i, t in enumerate(results) if isinstance(t, torch.Tensor)}
        tensors |= {f"after{i}": t for i, t in enumerate(inputs)}
        write_tensors(FOLDER / f"{name}.safetensors", tensors)


if __name__ == "__main__":
    main()
