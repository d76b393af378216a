"""Programs that `torch.export` captures, each with what is asked of the result, as source text: the same for Cresset and for PyTorch.

python tests/python/export/corner_programs.py   # with PyTorch: writes corners.txt, what PyTorch answers
"""

import os
import re
import sys
import tempfile
import types

PRELUDE = """
import io, dataclasses, collections, typing
import torch
from torch import nn
import torch.nn.functional as F
import torch.utils._pytree as pytree
from torch.export import export, Dim, ShapesCollection, AdditionalInputs, unflatten, save, load
torch.manual_seed(0)
"""
PROGRAMS = {}


def program(text, name=None):
    lines = text.strip("\n").split("\n")
    name = lines[0].lstrip("# ").strip()
    assert name not in PROGRAMS, name
    PROGRAMS[name] = "\n".join(lines[1:])


def M(params, *body, init=()):
    """Source of class M with a forward."""
    out = "class M(nn.Module):\n"
    if init:
        out += "    def __init__(self):\n        super().__init__()\n" + "".join(f"        {l}\n" for l in init)
    return out + f"    def forward(self, {params}):\n" + "".join(f"        {l}\n" for l in body)


def simple(name, params, body, args, *after, init=(), **options):
    body = [body] if isinstance(body, str) else body
    opts = "".join(f", {k}={v}" for k, v in options.items())
    for strict in (False, True):
        PROGRAMS[name + ("/strict" if strict else "")] = (
            M(params, *body, init=init) + f"ep = export(M(), {args}{opts}, strict={strict})\nshow(ep)\n" + "\n".join(after)
        )


X = "(torch.ones(4, 3),)"
simple("plain", "x", "return x.sin() + 1", X, "run(ep, torch.full((4, 3), 2.0))", "text(ep)")
simple("two results", "x", "return x.sin(), {'a': x.cos(), 'b': [x + 1]}", X, "run(ep, torch.zeros(4, 3))")
simple(
    "dim",
    "x",
    "return x.sum(0) * x.shape[0]",
    X,
    "run(ep, torch.ones(7, 3))",
    "fails(lambda: ep.module()(torch.ones(7, 4)))",
    "text(ep)",
    dynamic_shapes="{'x': {0: Dim('b')}}",
)
simple(
    "dim range",
    "x",
    "return x.relu()",
    X,
    "run(ep, torch.ones(5, 3))",
    "fails(lambda: ep.module()(torch.ones(9, 3)))",
    "fails(lambda: ep.module()(torch.ones(1, 3)))",
    dynamic_shapes="({0: Dim('b', min=2, max=8)},)",
)
simple("dim auto", "x", "return x.view(-1) + 1", X, "run(ep, torch.ones(5, 3))", dynamic_shapes="{'x': (Dim.AUTO, Dim.AUTO)}")
simple(
    "dim auto specialised",
    "x",
    "return x + torch.ones(4, 3)",
    X,
    "fails(lambda: ep.module()(torch.ones(5, 3)))",
    dynamic_shapes="{'x': (Dim.AUTO, Dim.STATIC)}",
)
simple("dim dynamic", "x", "return x * 2", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': (Dim.DYNAMIC, None)}")
simple("dim static", "x", "return x * 2", X, "fails(lambda: ep.module()(torch.ones(6, 3)))", dynamic_shapes="{'x': (Dim.STATIC, Dim.STATIC)}")
simple(
    "dim auto range",
    "x",
    "return x * 2",
    X,
    "run(ep, torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(20, 3)))",
    dynamic_shapes="{'x': (Dim.AUTO(min=2, max=10), None)}",
)
simple(
    "derived",
    "x, y",
    "return x + y[1:]",
    "(torch.ones(4), torch.ones(5))",
    "run(ep, torch.ones(7), torch.ones(8))",
    "fails(lambda: ep.module()(torch.ones(7), torch.ones(9)))",
    "text(ep)",
    dynamic_shapes="(lambda d: {'x': {0: d}, 'y': {0: d + 1}})(Dim('d'))",
)
simple(
    "derived times",
    "x, y",
    "return x.view(2, -1) + y",
    "(torch.ones(8), torch.ones(4))",
    "run(ep, torch.ones(12), torch.ones(6))",
    dynamic_shapes="(lambda d: {'x': {0: 2 * d}, 'y': {0: d}})(Dim('d'))",
)
simple(
    "shared dim",
    "x, y",
    "return x + y",
    "(torch.ones(4, 3), torch.ones(4, 3))",
    "run(ep, torch.ones(6, 3), torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(6, 3), torch.ones(5, 3)))",
    dynamic_shapes="(lambda d: ({0: d}, {0: d}))(Dim('d'))",
)
simple(
    "modulo",
    "x",
    "return x.view(2, -1)",
    X,
    "run(ep, torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(5, 3)))",
    dynamic_shapes="(lambda d: ({0: 2 * d},))(Dim('d'))",
)
simple("slice", "x", "return x[:2], x[1:], x[-1]", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': {0: Dim('b', min=3)}}")
simple("reshape", "x", "return x.reshape(x.shape[0], -1, 1).flatten()", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': {0: Dim('b')}}")
simple("size result", "x", "return x.shape[0], x.shape[1], x.numel()", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': {0: Dim('b')}}")
simple("arange", "x", "return torch.arange(x.shape[0]) + x[:, 0]", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': {0: Dim('b')}}")
simple(
    "cat",
    "x, y",
    "return torch.cat([x, y], 0)",
    "(torch.ones(4, 3), torch.ones(2, 3))",
    "run(ep, torch.ones(6, 3), torch.ones(5, 3))",
    dynamic_shapes="{'x': {0: Dim('a')}, 'y': {0: Dim('b')}}",
)
simple(
    "matmul",
    "x, y",
    "return x @ y",
    "(torch.ones(4, 3), torch.ones(3, 5))",
    "run(ep, torch.ones(6, 3), torch.ones(3, 5))",
    dynamic_shapes="{'x': {0: Dim('a')}, 'y': None}",
)
simple(
    "branch on size",
    "x",
    ["if x.shape[0] > 3:", "    return x + 1", "return x - 1"],
    X,
    "run(ep, torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(2, 3)))",
    dynamic_shapes="{'x': {0: Dim.AUTO}}",
)
simple(
    "none input",
    "x, y=None, z=None",
    "return x + (1 if y is None else y)",
    "(torch.ones(2), None, torch.ones(2))",
    "run(ep, torch.zeros(2), None, torch.ones(2))",
    "fails(lambda: ep.module()(torch.zeros(2), torch.ones(2), torch.ones(2)))",
    "text(ep)",
)
simple(
    "constants",
    "x, n, f, b, s",
    "return x * n + f if b else x",
    "(torch.ones(2), 3, 2.5, True, 'word')",
    "run(ep, torch.zeros(2), 3, 2.5, True, 'word')",
    "fails(lambda: ep.module()(torch.zeros(2), 4, 2.5, True, 'word'))",
    "text(ep)",
)
simple(
    "kwargs",
    "x, *, y, z=2",
    "return x + y * z",
    "(torch.ones(2),), {'y': torch.ones(2)}",
    "run(ep, torch.zeros(2), y=torch.ones(2))",
    "fails(lambda: ep.module()(torch.zeros(2)))",
    "text(ep)",
)
simple(
    "var args",
    "x, *more, **named",
    "return x + sum(more) + named['k']",
    "(torch.ones(2), torch.ones(2), torch.ones(2)), {'k': torch.ones(2)}",
    "run(ep, torch.zeros(2), torch.ones(2), torch.ones(2), k=torch.ones(2))",
)
simple(
    "nested input",
    "d",
    "return d['a'][0] + d['b'][1]",
    "({'a': [torch.ones(2)], 'b': (torch.ones(2), torch.zeros(2))},)",
    "run(ep, {'a': [torch.ones(2)], 'b': (torch.ones(2), torch.ones(2))})",
    "fails(lambda: ep.module()({'a': torch.ones(2)}))",
    "text(ep)",
)
simple(
    "nested dims",
    "d",
    "return d['a'][0] * 2",
    "({'a': [torch.ones(4)], 'b': torch.ones(3)},)",
    "run(ep, {'a': [torch.ones(9)], 'b': torch.ones(3)})",
    dynamic_shapes="{'d': {'a': [{0: Dim('n')}], 'b': None}}",
)
simple(
    "parameter",
    "x",
    "return F.linear(x, self.w, self.b)",
    "(torch.ones(2, 3),)",
    "run(ep, torch.ones(2, 3))",
    "text(ep)",
    init=["self.w = nn.Parameter(torch.ones(4, 3))", "self.b = nn.Parameter(torch.zeros(4))"],
)
simple(
    "linear",
    "x",
    "return self.l(x)",
    "(torch.ones(2, 3),)",
    "run(ep, torch.ones(2, 3))",
    "text(ep)",
    init=["self.l = nn.Linear(3, 4)", "nn.init.ones_(self.l.weight); nn.init.zeros_(self.l.bias)"],
)
simple("buffer", "x", "return x + self.b", "(torch.ones(3),)", "run(ep, torch.ones(3))", init=["self.register_buffer('b', torch.ones(3))"])
simple(
    "buffer not persistent",
    "x",
    "return x + self.b",
    "(torch.ones(3),)",
    "run(ep, torch.ones(3))",
    "say(sorted(ep.state_dict), sorted(ep.constants))",
    init=["self.register_buffer('b', torch.ones(3), persistent=False)"],
)
simple(
    "buffer mutated",
    "x",
    ["self.n.add_(1)", "return x + self.n"],
    "(torch.ones(3),)",
    "m = ep.module(); say(m(torch.ones(3)), m(torch.ones(3)), dict(m.named_buffers()))",
    "show(ep.run_decompositions())",
    "run(ep.run_decompositions(), torch.ones(3))",
    init=["self.register_buffer('n', torch.zeros(()))"],
)
simple(
    "buffer assigned",
    "x",
    ["self.n = self.n + 1", "return x + self.n"],
    "(torch.ones(3),)",
    "m = ep.module(); say(m(torch.ones(3)), m(torch.ones(3)))",
    "show(ep.run_decompositions())",
    init=["self.register_buffer('n', torch.zeros(()))"],
)
simple("attribute assigned", "x", ["self.k = x + 1", "return x"], "(torch.ones(3),)", init=["self.k = torch.zeros(3)"])
simple(
    "input mutated",
    "x, y",
    ["x.add_(1)", "return x * y"],
    "(torch.ones(3), torch.ones(3))",
    "t = torch.ones(3); say(ep.module()(t, t + 1), t)",
    "show(ep.run_decompositions())",
    "t = torch.ones(3); say(ep.run_decompositions().module()(t, t + 1), t)",
    "text(ep.run_decompositions())",
)
simple(
    "input view mutated",
    "x",
    ["x[0].mul_(5)", "return x.sum()"],
    "(torch.ones(3, 2),)",
    "t = torch.ones(3, 2); say(ep.module()(t), t)",
    "show(ep.run_decompositions())",
)
simple("input mutated and returned", "x", ["x.add_(1)", "return x"], "(torch.ones(3),)", "show(ep.run_decompositions())")
simple(
    "returned input", "x, y", "return x, y + 1, x", "(torch.ones(3), torch.ones(3))", "run(ep, torch.zeros(3), torch.zeros(3))", "show(ep.run_decompositions())"
)
simple(
    "aliasing outputs",
    "x",
    ["y = x + 1", "return y, y, y[0], y.view(-1)"],
    "(torch.ones(3, 2),)",
    "run(ep, torch.zeros(3, 2))",
    "show(ep.run_decompositions())",
)
simple(
    "returned parameter",
    "x",
    "return self.w, x + self.w",
    "(torch.ones(3),)",
    "run(ep, torch.zeros(3))",
    "show(ep.run_decompositions())",
    init=["self.w = nn.Parameter(torch.ones(3))"],
)
simple("returned constants", "x", "return x, 1, None, 'a', 2.5, True", "(torch.ones(3),)", "run(ep, torch.zeros(3))", "text(ep)")
simple(
    "tensor constant",
    "x",
    "return x + self.c + torch.tensor([1.0, 2.0])",
    "(torch.ones(2),)",
    "run(ep, torch.zeros(2))",
    "say(sorted(ep.constants))",
    "show(ep.run_decompositions())",
    init=["self.c = torch.ones(2)"],
)
simple(
    "inner constant list",
    "x",
    "return x + self.cs[0] + self.cs[1]",
    "(torch.ones(2),)",
    "run(ep, torch.zeros(2))",
    "say(sorted(ep.constants))",
    init=["self.cs = [torch.ones(2), torch.zeros(2)]"],
)
simple(
    "tied weights",
    "x",
    "return self.b(self.a(x))",
    "(torch.ones(2, 3),)",
    "run(ep, torch.ones(2, 3))",
    "say(sorted(ep.state_dict), ep.state_dict['a.weight'] is ep.state_dict['b.weight'])",
    init=["self.a = nn.Linear(3, 3, bias=False); self.b = nn.Linear(3, 3, bias=False)", "nn.init.ones_(self.a.weight); self.b.weight = self.a.weight"],
)
simple(
    "shared module",
    "x",
    "return self.a(self.a(x)) + self.b(x)",
    "(torch.ones(2, 3),)",
    "run(ep, torch.ones(2, 3))",
    "u = unflatten(ep); say(u(torch.ones(2, 3)), [n for n, _ in u.named_modules()])",
    init=["self.a = nn.Linear(3, 3, bias=False)", "nn.init.ones_(self.a.weight); self.b = self.a"],
)
simple(
    "unused weights",
    "x",
    "return x + 1",
    "(torch.ones(3),)",
    "say(sorted(ep.state_dict))",
    init=["self.l = nn.Linear(2, 2)", "self.register_buffer('u', torch.ones(1))"],
)
simple("dropout train", "x", "return F.dropout(x, 0.5, True)", "(torch.ones(3),)")
simple("dropout eval", "x", "return F.dropout(x, 0.5, False)", "(torch.ones(3),)")
simple("batch norm", "x", "return self.bn(x)", "(torch.ones(2, 3, 4),)", "show(ep.run_decompositions())", init=["self.bn = nn.BatchNorm1d(3)"])
simple(
    "sequential",
    "x",
    "return self.s(x)",
    "(torch.ones(2, 3),)",
    "show(ep.run_decompositions())",
    "u = unflatten(ep); say([n for n, _ in u.named_modules()])",
    init=["self.s = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.Softmax(-1))"],
)
simple("conv", "x", "return self.c(x).flatten(1)", "(torch.ones(2, 1, 4, 4),)", "show(ep.run_decompositions())", init=["self.c = nn.Conv2d(1, 2, 3)"])
simple("embedding", "x", "return self.e(x).sum(1)", "(torch.ones(2, 3, dtype=torch.long),)", init=["self.e = nn.Embedding(5, 2)"])
simple("attention", "x", "return F.scaled_dot_product_attention(x, x, x)", "(torch.ones(1, 2, 4, 8),)")
simple("layer norm", "x", "return self.n(x)", "(torch.ones(2, 3),)", "show(ep.run_decompositions())", init=["self.n = nn.LayerNorm(3)"])
simple("lstm", "x", "return self.l(x)[0]", "(torch.ones(2, 3, 4),)", init=["self.l = nn.LSTM(4, 5)"])
simple("gru cell", "x, h", "return self.l(x, h)", "(torch.ones(2, 3), torch.ones(2, 4))", init=["self.l = nn.GRUCell(3, 4)"])
simple("transformer", "x", "return self.l(x)", "(torch.ones(2, 3, 8),)", init=["self.l = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)"])
simple("no grad", "x", ["with torch.no_grad():", "    y = x.sin()", "return y + x"], X, "run(ep, torch.ones(4, 3))", "say([n.op for n in ep.graph.nodes])")
simple(
    "no grad decorated",
    "x",
    ["y = self.g(x)", "return y + x", "", "@torch.no_grad()", "def g(self, x):", "    return x.cos()"]
    if False
    else ["with torch.enable_grad():", "    y = x.cos()", "return y"],
    X,
)
simple("autocast", "x", ["with torch.autocast('cpu', dtype=torch.bfloat16):", "    y = x @ x.t()", "return y.float()"], X)
simple(
    "in place",
    "x",
    ["y = x.clone()", "y.add_(1)", "y[0] = 3", "return y"],
    X,
    "run(ep, torch.ones(4, 3))",
    "show(ep.run_decompositions())",
    "run(ep.run_decompositions(), torch.ones(4, 3))",
)
simple("detach", "x", "return x.detach() + 1", X)
simple("requires grad", "x", "return (x * 2).requires_grad_(False)" if False else "return x.sin()", "(torch.ones(3, requires_grad=True),)")
simple("dtype", "x", "return x.double(), x.to(torch.float16), x.long(), x.bool()", X)
simple("device", "x", "return x.to('cpu'), x.cpu(), torch.zeros(2, device=x.device)", X)
simple("creation", "x", "return torch.zeros(2), torch.ones(x.shape[0]), torch.full((2,), 3.0), torch.eye(2), torch.zeros_like(x), x.new_ones(2)", X)
simple("random", "x", "return torch.rand(2) + torch.randn(2), torch.rand_like(x), torch.randint(0, 3, (2,))", X)
simple("einsum", "x", "return torch.einsum('ij,kj->ik', x, x)", X, "show(ep.run_decompositions())")
simple("where", "x", "return torch.where(x > 0, x, torch.zeros(()))", X)
simple("index", "x, i", "return x[i], x[:, 0], x[..., None], x[i, 1]", "(torch.ones(4, 3), torch.tensor([0, 2]))")
simple("mask index", "x", "return x[x > 0].sum()", X)
simple("nonzero", "x", "return x.nonzero()", X, "run(ep, torch.eye(4, 3))")
simple("unique", "x", "return torch.unique(x)", X)
simple("item", "x", ["n = x.item()", "return torch.ones(3) * n"], "(torch.tensor(3.0),)", "run(ep, torch.tensor(2.0))")
simple(
    "item int size",
    "x",
    ["n = x.item()", "torch._check(n >= 0)", "return torch.ones(n)"],
    "(torch.tensor(3),)",
    "run(ep, torch.tensor(2))",
    "fails(lambda: ep.module()(torch.tensor(-2)))",
    "text(ep)",
)
simple(
    "item check range",
    "x, y",
    ["n = x.item()", "torch._check(n >= 2)", "torch._check(n <= 4)", "return y[:n]"],
    "(torch.tensor(3), torch.ones(6))",
    "run(ep, torch.tensor(2), torch.ones(6))",
    "fails(lambda: ep.module()(torch.tensor(5), torch.ones(6)))",
)
simple("item branch", "x", ["if x.item() > 2:", "    return x + 1", "return x"], "(torch.tensor(3),)")
simple("tolist", "x", ["a, b = x.tolist()", "return torch.zeros(2) + a + b"], "(torch.tensor([3, 4]),)", "run(ep, torch.tensor([1, 2]))")
simple("branch on data", "x", ["if x.sum() > 0:", "    return x", "return -x"], X)
simple("assert on data", "x", ["assert x.sum() > 0", "return x"], X)
simple(
    "assert async",
    "x",
    ["torch._assert(x.shape[0] == 4, 'four')", "torch._assert_async(x.sum() > 0, 'positive')", "return x"],
    X,
    "fails(lambda: ep.module()(-torch.ones(4, 3)))",
)
simple(
    "cond",
    "x",
    ["return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))"],
    X,
    "run(ep, torch.ones(4, 3))",
    "run(ep, -torch.ones(4, 3))",
    "show(ep.run_decompositions())",
)
simple(
    "cond on size",
    "x",
    ["return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))"],
    X,
    "run(ep, torch.ones(6, 3))",
    "run(ep, torch.ones(3, 3))",
    dynamic_shapes="{'x': {0: Dim('b')}}",
)
simple(
    "cond closure",
    "x",
    ["y = x + 1", "return torch.cond(x.sum() > 0, lambda x: x + y + self.w, lambda x: x - y, (x,))"],
    "(torch.ones(3),)",
    "run(ep, torch.ones(3))",
    "run(ep, -torch.ones(3))",
    init=["self.w = nn.Parameter(torch.ones(3))"],
)
simple(
    "cond several",
    "x",
    ["return torch.cond(x.sum() > 0, lambda x, y: (x, y + 1), lambda x, y: (y * 2, x * 2), (x * 1, x * 2))"]
    if False
    else ["return torch.cond(x.sum() > 0, lambda x, y: (x + 2, y + 1), lambda x, y: (y * 2, x * 2), (x, x * 2))"],
    "(torch.ones(3),)",
    "run(ep, torch.ones(3))",
)
simple(
    "cond nested",
    "x",
    [
        "def inner(x):",
        "    return torch.cond(x.sum() > 2, lambda x: x + 1, lambda x: x + 2, (x,))",
        "return torch.cond(x.sum() > 0, inner, lambda x: x - 1, (x,))",
    ],
    "(torch.ones(3),)",
    "run(ep, torch.ones(3))",
    "run(ep, -torch.ones(3))",
)
simple(
    "while loop",
    "x",
    ["from torch._higher_order_ops.while_loop import while_loop", "return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))"],
    "(torch.ones(3),)",
    "run(ep, torch.ones(3))",
)
simple(
    "map",
    "x, y",
    ["from torch._higher_order_ops.map import map", "return map(lambda x, y: x + y, x, y)"]
    if False
    else ["from functorch.experimental.control_flow import map", "return map(lambda x, y: x + y, x, y)"],
    "(torch.ones(3, 2), torch.ones(2))",
    "run(ep, torch.ones(3, 2), torch.zeros(2))",
)
simple(
    "scan",
    "x",
    ["from torch._higher_order_ops.scan import scan", "return scan(lambda c, x: (c + x, c * 2), torch.zeros(2), x)"],
    "(torch.ones(3, 2),)",
    "run(ep, torch.ones(3, 2))",
)
simple(
    "associative scan",
    "x",
    ["from torch._higher_order_ops.associative_scan import associative_scan", "return associative_scan(lambda a, b: a + b, x, 0, combine_mode='generic')"],
    "(torch.ones(4, 2),)",
    "run(ep, torch.ones(4, 2))",
)
simple("vmap", "x", "return torch.vmap(lambda r: r.sin() * 2)(x)", X, "run(ep, torch.ones(4, 3))")
simple("vmap dynamic", "x", "return torch.vmap(lambda r: r.sum())(x)", X, "run(ep, torch.ones(6, 3))", dynamic_shapes="{'x': {0: Dim('b')}}")
simple("func grad", "x", "return torch.func.grad(lambda x: x.sin().sum())(x)", X)
simple("checkpoint", "x", ["from torch.utils.checkpoint import checkpoint", "return checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)"], X)
simple(
    "custom autograd",
    "x",
    [
        "class D(torch.autograd.Function):",
        "    @staticmethod",
        "    def forward(ctx, x):",
        "        return x * 2",
        "    @staticmethod",
        "    def backward(ctx, g):",
        "        return g * 2",
        "return D.apply(x)",
    ],
    X,
)
simple(
    "int input dynamic", "x, n", "return x[:n]", "(torch.ones(8), 3)", "run(ep, torch.ones(8), 5)", "text(ep)", dynamic_shapes="{'x': None, 'n': Dim.DYNAMIC}"
)
simple("float input", "x, n", "return x * n", "(torch.ones(8), 3.5)", "fails(lambda: ep.module()(torch.ones(8), 2.5))", dynamic_shapes="{'x': None, 'n': None}")
simple("ones size", "x", "return x + 1", "(torch.ones(1, 3),)", "fails(lambda: ep.module()(torch.ones(2, 3)))", dynamic_shapes="{'x': {0: Dim.AUTO}}")
simple("zero size", "x", "return x + 1", "(torch.ones(0, 3),)")
simple("same tensor twice", "x, y", "return x + y * 2", "(lambda t: (t, t))(torch.ones(2))", "run(ep, torch.ones(2), torch.zeros(2))")
simple(
    "module list",
    "x",
    ["for l in self.ls:", "    x = l(x)", "return x"],
    "(torch.ones(2, 3),)",
    "u = unflatten(ep); say(sorted(n for n, _ in u.named_modules()), list(u.state_dict()))",
    init=["self.ls = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])"],
)
simple(
    "parameter list",
    "x",
    "return x + self.ps[0] + self.ps[1] + self.pd['a']",
    "(torch.ones(3),)",
    init=["self.ps = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(2)])", "self.pd = nn.ParameterDict({'a': nn.Parameter(torch.ones(3))})"],
)
simple(
    "deferred",
    "x, y",
    "return x.view(-1, 3) + y.view(-1, 3)",
    "(torch.ones(4, 3), torch.ones(4, 3))",
    "run(ep, torch.ones(6, 3), torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(6, 3), torch.ones(5, 3)))",
    dynamic_shapes="{'x': {0: Dim('a')}, 'y': {0: Dim('b')}}",
    prefer_deferred_runtime_asserts_over_guards="True",
)
simple(
    "deferred branch",
    "x",
    ["torch._check(x.shape[0] % 2 == 0)", "return x.view(2, -1)"],
    X,
    "run(ep, torch.ones(6, 3))",
    "fails(lambda: ep.module()(torch.ones(5, 3)))",
    dynamic_shapes="{'x': {0: Dim('a')}}",
    prefer_deferred_runtime_asserts_over_guards="True",
)
# errors
simple("error constraint static", "x", "return x + torch.ones(4, 3)", X, dynamic_shapes="{'x': {0: Dim('b')}}")
simple("error constraint equal", "x, y", "return x + y", "(torch.ones(4), torch.ones(4))", dynamic_shapes="{'x': {0: Dim('a')}, 'y': {0: Dim('b')}}")
simple("error constraint modulo", "x", "return x.view(2, -1)", X, dynamic_shapes="{'x': {0: Dim('b')}}")
simple("error dim outside", "x", "return x", X, dynamic_shapes="{'x': {0: Dim('b', min=10)}}")
simple("error wrong name", "x", "return x", X, dynamic_shapes="{'z': {0: Dim('b')}}")
simple("error wrong tree", "x", "return x", X, dynamic_shapes="{'x': [{0: Dim('b')}]}")
simple("error wrong rank", "x", "return x", X, dynamic_shapes="{'x': (None, None, None)}")
simple("error dim not there", "x", "return x", X, dynamic_shapes="{'x': {5: Dim('b')}}")
simple("error too few", "x, y", "return x", X)
simple("error not tuple", "x", "return x", "torch.ones(3)")
simple("error unknown class", "x", "return x", "(object(),)")
simple("error dims on number", "x, n", "return x * n", "(torch.ones(3), 'a')", dynamic_shapes="{'x': None, 'n': {0: Dim('b')}}")
simple("error in forward", "x", "return x @ torch.ones(5, 5)", X)
simple("error raise", "x", "raise ValueError('no')", X)
simple("error returns object", "x", "return object()", X)
simple("error derived mismatch", "x, y", "return x, y", "(torch.ones(4), torch.ones(4))", dynamic_shapes="(lambda d: {'x': {0: d}, 'y': {0: d + 1}})(Dim('d'))")
simple("error dim names", "x", "return x", X, dynamic_shapes="{'x': {0: Dim('b', min=5, max=3)}}")

program("""# error function
show(export(lambda x: x, (torch.ones(2),)))""")
program("""# dataclass
@dataclasses.dataclass
class D:
    a: torch.Tensor
    b: torch.Tensor
torch.export.register_dataclass(D, serialized_type_name="progs.D")
class M(nn.Module):
    def forward(self, d):
        return D(d.a + 1, d.b * 2)
ep = export(M(), (D(torch.ones(2), torch.ones(3)),))
show(ep); text(ep)
out = ep.module()(D(torch.zeros(2), torch.ones(3)))
say(type(out).__name__, out.a, out.b)
fails(lambda: ep.module()((torch.ones(2), torch.ones(3))))
ep = export(M(), (D(torch.ones(2), torch.ones(3)),), dynamic_shapes={"d": [{0: Dim("n")}, None]})
show(ep)
""")
program("""# dataclass with none
@dataclasses.dataclass
class D:
    a: torch.Tensor
    b: typing.Optional[torch.Tensor] = None
torch.export.register_dataclass(D)
class M(nn.Module):
    def forward(self, d):
        return d.a + 1
ep = export(M(), (D(torch.ones(2)),))
show(ep); say(ep.call_spec.in_spec.num_leaves)
fails(lambda: ep.module()(D(torch.ones(2), torch.ones(1))))
fails(lambda: torch.export.register_dataclass(int))
""")
program("""# custom class
class P:
    def __init__(self, a, b): self.a, self.b = a, b
pytree.register_pytree_node(P, lambda p: ([p.a, p.b], None), lambda l, c: P(*l), serialized_type_name="progs.P", flatten_with_keys_fn=lambda p: ([(pytree.GetAttrKey("a"), p.a), (pytree.GetAttrKey("b"), p.b)], None))
class M(nn.Module):
    def forward(self, p):
        return P(p.b, p.a + 1)
ep = export(M(), (P(torch.ones(2), torch.ones(3)),))
show(ep)
out = ep.module()(P(torch.zeros(2), torch.ones(3)))
say(type(out).__name__, out.a, out.b)
""")
program("""# named tuple
T = collections.namedtuple("T", "a b")
class M(nn.Module):
    def forward(self, t):
        return T(t.a + 1, t.b)
ep = export(M(), (T(torch.ones(2), torch.ones(3)),))
show(ep); text(ep)
say(type(ep.module()(T(torch.ones(2), torch.ones(3)))).__name__)
""")
program("""# ordered and default dict
class M(nn.Module):
    def forward(self, d):
        return collections.OrderedDict(z=d["a"] + 1, y=d["b"])
ep = export(M(), (collections.OrderedDict(b=torch.ones(2), a=torch.ones(3)),))
show(ep)
say(list(ep.module()(collections.OrderedDict(b=torch.ones(2), a=torch.ones(3)))))
fails(lambda: ep.module()(dict(b=torch.ones(2), a=torch.ones(3))))
fails(lambda: ep.module()(collections.OrderedDict(a=torch.ones(3), b=torch.ones(2))))
""")
program("""# shapes collection
class M(nn.Module):
    def forward(self, d, y):
        return d["x"] + 1, y * 2
d, y = {"x": torch.ones(4, 2)}, torch.ones(5)
s = ShapesCollection()
s[d["x"]] = {0: Dim("a")}
s[y] = (Dim.AUTO,)
ep = export(M(), (d, y), dynamic_shapes=s)
show(ep)
say(len(s))
run(ep, {"x": torch.ones(7, 2)}, torch.ones(6))
""")
program("""# shapes collection int
class M(nn.Module):
    def forward(self, x, n):
        return x[:n]
s = ShapesCollection()
n = torch.export.dynamic_shapes._IntWrapper(3) if hasattr(torch.export.dynamic_shapes, "_IntWrapper") else 3
args = (torch.ones(8), n)
s[args[0]] = {0: Dim.DYNAMIC}
s[n] = Dim.DYNAMIC
ep = export(M(), args, dynamic_shapes=s)
show(ep)
run(ep, torch.ones(9), 5)
""")
program("""# additional inputs
class M(nn.Module):
    def forward(self, x, y):
        return x.sum() + y.sum()
a = AdditionalInputs()
a.add((torch.ones(6, 2), torch.ones(5)))
a.add((torch.ones(9, 2), torch.ones(5)))
ep = export(M(), (torch.ones(4, 2), torch.ones(5)), dynamic_shapes=a)
show(ep)
run(ep, torch.ones(3, 2), torch.ones(5))
say(a.verify(ep))
""")
program("""# additional inputs wrong
class M(nn.Module):
    def forward(self, x):
        return x
a = AdditionalInputs()
a.add((torch.ones(6, 2),))
ep = export(M(), (torch.ones(4, 2),), dynamic_shapes=a)
b = AdditionalInputs()
b.add((torch.ones(4, 3),))
fails(lambda: b.verify(ep))
fails(lambda: b.add(torch.ones(2)))
""")
program("""# additional inputs ints
class M(nn.Module):
    def forward(self, x, n):
        return x * n
a = AdditionalInputs()
a.add((torch.ones(4, 2), 5))
ep = export(M(), (torch.ones(4, 2), 3), dynamic_shapes=a)
show(ep)
run(ep, torch.ones(4, 2), 9)
""")
program("""# refine from suggested fixes
class M(nn.Module):
    def forward(self, x, y):
        return x + y
a, b = Dim("a"), Dim("b")
try:
    export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes={"x": {0: a}, "y": {0: b}})
except Exception as e:
    say(type(e).__name__, "Suggested fixes" in str(e))
    shapes = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(str(e), {"x": {0: a}, "y": {0: b}})
    say(str(shapes))
    show(export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes=shapes))
""")
program("""# refine static
class M(nn.Module):
    def forward(self, x):
        return x + torch.ones(4)
a = Dim("a")
try:
    export(M(), (torch.ones(4),), dynamic_shapes={"x": {0: a}})
except Exception as e:
    say(type(e).__name__, "Suggested fixes" in str(e))
    shapes = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(str(e), {"x": {0: a}})
    say(str(shapes))
""")
program("""# dims text
d = Dim("d", min=2, max=16)
say(repr(d), d.min, d.max, str(d + 1), str(2 * d), str(2 * d - 1), d.__name__, (2 * d).__name__, repr(Dim.AUTO), repr(Dim.DYNAMIC), repr(Dim.STATIC), repr(Dim.AUTO(min=2)), type(d).__name__, type(2 * d).__name__)
say([x.__name__ for x in torch.export.dims("a", "b", min=3)])
fails(lambda: Dim("1a"))
fails(lambda: Dim("a", min=3, max=2))
fails(lambda: d * 1.5)
fails(lambda: d * -1)
fails(lambda: d + d)
fails(lambda: d - d)
say((2 * d).min, (2 * d).max, (d + 3).min)
""")
program("""# unflatten shared call twice
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("n", torch.zeros(()))
    def forward(self, x, k=1):
        return x * self.w + k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
        self.b = A()
    def forward(self, x):
        return self.a(self.b(self.a(x), k=2))
ep = export(M(), (torch.ones(3),))
show(ep)
u = unflatten(ep)
say([n for n, _ in u.named_modules()], u(torch.ones(3)), sorted(u.state_dict()))
for name, m in u.named_modules():
    say(name, sig_ops(m))
""")
program("""# preserve module call signature
class A(nn.Module):
    def forward(self, x, d, *, k):
        return {"s": x + d["y"], "t": [x * k]}
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
    def forward(self, x):
        r = self.a(x, {"y": x}, k=x)
        return r["s"] + r["t"][0]
ep = export(M(), (torch.ones(3),), preserve_module_call_signature=("a",))
show(ep)
say([(e.fqn, e.signature is not None) for e in ep.module_call_graph])
u = unflatten(ep)
say(u(torch.ones(3)))
say(u.a(torch.ones(3), {"y": torch.ones(3)}, k=torch.ones(3)))
""")
program("""# preserve shared
class A(nn.Module):
    def forward(self, x):
        return x + 1
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
    def forward(self, x):
        return self.a(self.a(x))
ep = export(M(), (torch.ones(3),), preserve_module_call_signature=("a",))
show(ep)
say([(e.fqn, e.signature is not None) for e in ep.module_call_graph])
u = unflatten(ep)
say(u(torch.ones(3)), [n for n, _ in u.named_modules()])
""")
program("""# preserve missing
class M(nn.Module):
    def forward(self, x):
        return x
ep = export(M(), (torch.ones(3),), preserve_module_call_signature=("nothing",))
show(ep)
say([e.fqn for e in ep.module_call_graph])
""")
program("""# swap in unflatten
class A(nn.Module):
    def forward(self, x, y):
        return x + y
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
    def forward(self, x):
        return self.a(x, x * 2)
ep = export(M(), (torch.ones(3),), preserve_module_call_signature=("a",))
u = unflatten(ep)
class B(nn.Module):
    def forward(self, x, y):
        return x - y
u.a = B()
say(u(torch.ones(3)))
""")
program("""# unflatten mutated buffer
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))
    def forward(self, x):
        self.n.add_(1)
        return x + self.n
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
    def forward(self, x):
        return self.a(x) + self.a.n
ep = export(M(), (torch.ones(3),))
for e in (ep, ep.run_decompositions()):
    u = unflatten(e)
    say(u(torch.ones(3)), u(torch.ones(3)), dict(u.named_buffers()))
fails(lambda: u(torch.ones(4)))
fails(lambda: u())
""")
program("""# flat args adapter
class M(nn.Module):
    def forward(self, x):
        return x["a"]
from torch.export.unflatten import FlatArgsAdapter
class Ad(FlatArgsAdapter):
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        return input_args[:1]
ep = export(M(), ({"a": torch.ones(3)},))
u = unflatten(ep, Ad())
say(u({"a": torch.ones(3), "b": torch.ones(2)}))
""")
program("""# decompositions none
class M(nn.Module):
    def forward(self, x):
        return F.silu(F.layer_norm(x, (3,))) + F.gelu(x).addmm(x, torch.ones(3, 3))
ep = export(M(), (torch.ones(2, 3),))
show(ep)
show(ep.run_decompositions())
show(ep.run_decompositions({}))
show(ep.run_decompositions(torch.export.default_decompositions()))
table = torch.export.default_decompositions()
table.pop(torch.ops.aten.silu.default, None)
show(ep.run_decompositions(table))
show(ep.run_decompositions({torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}))
show(ep.run_decompositions({torch.ops.aten.linear.default: lambda x, w, b=None: x}))
""")
program("""# decompositions linear
ep = export(nn.Linear(3, 2), (torch.ones(2, 3),))
show(ep.run_decompositions({}))
show(ep.run_decompositions())
t = torch.export.default_decompositions()
del t[torch.ops.aten.linear.default]
show(ep.run_decompositions(t))
say(torch.ops.aten.linear.default in torch.export.default_decompositions(), type(torch.export.default_decompositions()).__name__)
from torch.export.decomp_utils import CustomDecompTable
say(type(CustomDecompTable().materialize()).__name__)
""")
program("""# decompositions composites kept
class M(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x), torch.stack([x, x]), x.chunk(2), x.flatten(), F.pad(x, (1, 1)), x.expand_as(x), F.interpolate(x, scale_factor=2.0)
ep = export(M(), (torch.ones(1, 2, 4, 8),))
show(ep)
show(ep.run_decompositions({}))
show(ep.run_decompositions())
""")
program("""# decompositions dynamic
class M(nn.Module):
    def forward(self, x):
        return F.layer_norm(x, (3,)).var(1)
ep = export(M(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("b")}})
d = ep.run_decompositions()
show(d); run(d, torch.arange(15.0).view(5, 3))
""")
program("""# draft plain
class M(nn.Module):
    def forward(self, x):
        return x + 1
ep = torch.export.draft_export(M(), (torch.ones(2),))
show(ep)
say(len(ep._report.failures), ep._report.successful())
say(type(ep._report).__name__, str(ep._report).strip().splitlines()[-1][:60])
""")
program("""# draft data branch
class M(nn.Module):
    def forward(self, x, y):
        n = x.item()
        if n > 2:
            return y + n
        return y
ep = torch.export.draft_export(M(), (torch.tensor(3), torch.ones(2)))
show(ep)
say([f.failure_type.name for f in ep._report.failures], ep._report.successful())
""")
program("""# draft constraint
class M(nn.Module):
    def forward(self, x, y):
        return x + y
a, b = Dim("a"), Dim("b")
ep = torch.export.draft_export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes={"x": {0: a}, "y": {0: b}})
show(ep)
say([f.failure_type.name for f in ep._report.failures], ep._report.successful())
""")
program("""# draft static
class M(nn.Module):
    def forward(self, x):
        return x + torch.ones(4)
ep = torch.export.draft_export(M(), (torch.ones(4),), dynamic_shapes={"x": {0: Dim("a")}})
show(ep)
say([f.failure_type.name for f in ep._report.failures], ep._report.successful())
""")
program("""# draft missing fake kernel
with torch.library._scoped_library("progs", "DEF") as lib:
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x + 1, "CPU")
    class M(nn.Module):
        def forward(self, x):
            return torch.ops.progs.foo(x) * 2
    fails(lambda: export(M(), (torch.ones(3),)))
    ep = torch.export.draft_export(M(), (torch.ones(3),))
    show(ep)
    say([f.failure_type.name for f in ep._report.failures], ep._report.successful())
""")
program("""# draft wrong fake kernel
with torch.library._scoped_library("progs", "DEF") as lib:
    lib.define("bar(Tensor x) -> Tensor")
    lib.impl("bar", lambda x: x.double(), "CPU")
    lib.impl("bar", lambda x: torch.empty_like(x), "Meta")
    class M(nn.Module):
        def forward(self, x):
            return torch.ops.progs.bar(x)
    ep = torch.export.draft_export(M(), (torch.ones(3),))
    show(ep)
    say([f.failure_type.name for f in ep._report.failures], ep._report.successful())
""")
program("""# custom op
@torch.library.custom_op("progs::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
@twice.register_fake
def _(x):
    return torch.empty_like(x)
class M(nn.Module):
    def forward(self, x):
        return twice(x) + torch.ops.progs.twice(x)
ep = export(M(), (torch.ones(3),))
show(ep); run(ep, torch.ones(3)); show(ep.run_decompositions())
""")
program("""# custom op that writes
@torch.library.custom_op("progs::bump", mutates_args=("x",))
def bump(x: torch.Tensor) -> None:
    x.add_(1)
@bump.register_fake
def _(x):
    return None
class M(nn.Module):
    def forward(self, x):
        y = x.clone()
        bump(y)
        return y
ep = export(M(), (torch.ones(3),))
show(ep); run(ep, torch.ones(3)); d = ep.run_decompositions(); show(d); run(d, torch.ones(3))
""")
program("""# custom op with unbacked size
@torch.library.custom_op("progs::keep", mutates_args=())
def keep(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()
@keep.register_fake
def _(x):
    n = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty(n)
class M(nn.Module):
    def forward(self, x):
        return keep(x) * 2
ep = export(M(), (torch.ones(3),))
show(ep); run(ep, torch.tensor([1.0, -1.0, 2.0]))
""")
program("""# save and load
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("c", torch.ones(3), persistent=False)
        self.d = torch.ones(3)
    def forward(self, x, *, k):
        self.b.add_(1)
        return x * self.w + self.b + self.c + self.d + k
ep = export(M(), (torch.ones(2, 3),), {"k": torch.ones(3)}, dynamic_shapes={"x": {0: Dim("n", max=50)}, "k": None})
f = io.BytesIO()
save(ep, f, extra_files={"note.txt": "hello", "other": "2"})
f.seek(0)
extra = {"note.txt": "", "other": ""}
back = load(f, extra_files=extra)
say({k: v if isinstance(v, str) else bytes(v).decode() for k, v in extra.items()})
show(back)
m = back.module()
say(m(torch.ones(4, 3), k=torch.ones(3)), m(torch.ones(4, 3), k=torch.ones(3)))
say(sorted(back.state_dict), sorted(back.constants), back.example_inputs[0][0].shape)
fails(lambda: back.module()(torch.ones(60, 3), k=torch.ones(3)))
fails(lambda: load("/no/such/file.pt2"))
fails(lambda: load(io.BytesIO(b"nonsense")))
fails(lambda: save(M(), io.BytesIO()))
fails(lambda: save(ep, "x.other") if False else None)
""")
program("""# save cond
class M(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
ep = export(M(), (torch.ones(3),))
f = io.BytesIO(); save(ep, f); f.seek(0)
back = load(f); show(back); run(back, torch.ones(3)); run(back, -torch.ones(3))
""")
program("""# save unbacked
class M(nn.Module):
    def forward(self, x):
        n = x.item()
        torch._check(n >= 0)
        return torch.zeros(n)
ep = export(M(), (torch.tensor(3),))
f = io.BytesIO(); save(ep, f); f.seek(0)
back = load(f); show(back); run(back, torch.tensor(2)); fails(lambda: back.module()(torch.tensor(-1)))
""")
program("""# save after decompositions
ep = export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (torch.ones(2, 3),)).run_decompositions()
f = io.BytesIO(); save(ep, f); f.seek(0)
back = load(f); show(back); say(back.verifier.dialect, ep.verifier.dialect)
""")
program("""# move to device
from torch.export.passes import move_to_device_pass
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.ones(3))
    def forward(self, x):
        return x + self.w + self.b + torch.zeros(3, device="cpu")
ep = export(M(), (torch.ones(3),))
moved = move_to_device_pass(ep, "meta")
show(moved)
say({k: str(v.device) for k, v in moved.state_dict.items()}, [str(n.kwargs.get("device")) for n in moved.graph.nodes if "device" in n.kwargs])
moved = move_to_device_pass(export(M(), (torch.ones(3),)), {"cpu": "cpu"})
show(moved)
""")
program("""# verifier
class M(nn.Module):
    def forward(self, x):
        return x + 1
ep = export(M(), (torch.ones(3),))
say(ep.verifier.__name__, ep.verifier.dialect, ep.dialect, [v.__name__ for v in ep.verifiers])
d = ep.run_decompositions()
say(d.dialect)
ep.validate()
for n in ep.graph.nodes:
    if n.op == "call_function":
        n.target = torch.sin
fails(lambda: ep.validate())
ep = export(M(), (torch.ones(3),))
del next(iter(ep.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor))).meta["val"]
fails(lambda: ep.validate())
""")
program("""# signature fields
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.zeros(3))
        self.register_buffer("np", torch.zeros(3), persistent=False)
        self.c = torch.ones(3)
    def forward(self, x, y, n):
        y.mul_(2)
        self.b.add_(1)
        return x + self.w + self.b + self.c + self.np, y
ep = export(M(), (torch.ones(3), torch.ones(3), 4))
for e in (ep, ep.run_decompositions()):
    s = e.graph_signature
    for k in ("parameters", "buffers", "non_persistent_buffers", "lifted_tensor_constants", "lifted_custom_objs", "user_inputs", "user_outputs", "inputs_to_parameters", "inputs_to_buffers", "buffers_to_mutate", "user_inputs_to_mutate", "parameters_to_mutate", "inputs_to_lifted_tensor_constants", "inputs_to_lifted_custom_objs", "backward_signature", "assertion_dep_token", "input_tokens", "output_tokens"):
        say(k, str(getattr(s, k)))
    say(str(s))
""")
program("""# signature replace
class M(nn.Module):
    def forward(self, x):
        return x + 1
ep = export(M(), (torch.ones(3),))
s = ep.graph_signature
s.replace_all_uses("add", "sum_of")
say(s.user_outputs)
say(ep.graph_signature.get_replace_hook is not None)
""")
program("""# program fields
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)
        self.register_buffer("b", torch.zeros(2))
    def forward(self, x, *, k=None):
        return self.l(x) + self.b
ep = export(M(), (torch.ones(2, 3),), {"k": None}, dynamic_shapes={"x": {0: Dim("n", max=9)}, "k": None})
say([n for n, _ in ep.named_parameters()], [n for n, _ in ep.named_buffers()], len(list(ep.parameters())), len(list(ep.buffers())))
say(str(ep.range_constraints), str(ep.call_spec.in_spec), str(ep.call_spec.out_spec), [e.fqn for e in ep.module_call_graph], sorted(ep.state_dict), ep.equality_constraints if hasattr(ep, "equality_constraints") else None)
say(ep.tensor_constants, ep.constants, type(ep.graph_module).__name__, ep.graph is ep.graph_module.graph)
fails(lambda: ep(torch.ones(2, 3)))
def assign(name):
    setattr(ep, name, None)
for name in ("graph", "graph_module", "graph_signature", "state_dict", "call_spec", "range_constraints", "verifier", "constants", "module_call_graph", "dialect", "tensor_constants", "example_inputs"):
    fails(lambda: assign(name))
m = ep.module()
say(type(m).__name__, sorted(n for n, _ in m.named_parameters()))
fails(lambda: m.train())
fails(lambda: m.eval())
fails(lambda: m(torch.ones(2, 3), torch.ones(2, 3)))
fails(lambda: m(torch.ones(2, 4)))
fails(lambda: m(torch.ones(10, 3)))
fails(lambda: m(torch.ones(2, 3, dtype=torch.double)))
fails(lambda: m(3))
fails(lambda: m(torch.ones(2, 3), other=None))
fails(lambda: m())
fails(lambda: m(torch.ones(2, 3)).shape)
say(m(torch.ones(2, 3), k=None).shape)
""")
program("""# check guards
class M(nn.Module):
    def forward(self, x):
        return x.view(x.shape[0] // 2, -1) if x.shape[0] > 6 else x
ep = export(M(), (torch.ones(8, 3),), dynamic_shapes={"x": {0: Dim.AUTO}})
show(ep)
fails(lambda: ep.module()(torch.ones(4, 3)))
fails(lambda: ep.module(check_guards=False)(torch.ones(4, 3)))
say([n for n, _ in ep.module().named_children()], [n for n, _ in ep.module(check_guards=False).named_children()])
""")
program("""# guards text
class M(nn.Module):
    def forward(self, x, n, d):
        return x * n + d["k"]
ep = export(M(), (torch.ones(8, 3), 2, {"k": torch.ones(3)}), dynamic_shapes={"x": {0: Dim("b", max=10)}, "n": None, "d": {"k": None}})
m = ep.module()
for bad in ((torch.ones(11, 3), 2, {"k": torch.ones(3)}), (torch.ones(8, 3), 3, {"k": torch.ones(3)}), (torch.ones(8, 3), 2, {"k": torch.ones(4)}), (torch.ones(8, 3), 2, {"j": torch.ones(3)}), (torch.ones(1, 3), 2, {"k": torch.ones(3)}), (torch.ones(8), 2, {"k": torch.ones(3)})):
    try:
        m(*bad); say("fine")
    except Exception as e:
        say(type(e).__name__, str(e).splitlines()[0])
""")
program("""# retrace
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)
    def forward(self, x):
        return self.l(x).relu()
ep = export(M(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("b")}})
again = export(ep.module(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("b")}})
show(again)
""")
program("""# trained
ep = export(nn.Linear(3, 1), (torch.ones(4, 3),))
m = ep.module()
o = torch.optim.SGD(m.parameters(), 0.1)
m(torch.ones(4, 3)).sum().backward()
o.step()
say([p.grad.shape for p in m.parameters()], [n for n, _ in m.named_parameters()])
""")
program("""# names of 2.13
import torch.export as e
say([n for n in ("export", "export_for_training", "export_for_inference", "draft_export", "load", "save", "unflatten", "dims", "Dim", "Constraint", "default_decompositions", "register_dataclass", "ExportedProgram", "ExportGraphSignature", "ExportBackwardSignature", "FlatArgsAdapter", "UnflattenedModule", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "AdditionalInputs", "CustomDecompTable", "decomp_utils", "passes", "pt2_archive", "experimental", "graph_signature", "custom_ops", "custom_obj", "dynamic_shapes", "exported_program", "PassType", "InputSpec") if hasattr(e, n)])
say(sorted(e.__all__))
""")
program("""# package
from torch.export.pt2_archive._package import package_pt2, load_pt2
ep = export(nn.Linear(3, 1), (torch.ones(4, 3),))
f = io.BytesIO()
package_pt2(f, exported_programs={"a": ep, "b": ep}, extra_files={"n": "t"})
f.seek(0)
c = load_pt2(f)
say(sorted(c.exported_programs), c.extra_files, type(c).__name__)
show(c.exported_programs["a"])
""")
program("""# export of script and functional modules
fails(lambda: export(torch.jit.script(nn.ReLU()), (torch.ones(2),)))
class M(nn.Module):
    def forward(self, x):
        return torch.func.functional_call(self.l, {"weight": x, "bias": x[0]}, (x,))
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)
ep = export(M(), (torch.ones(3, 3),)); show(ep)
""")
program("""# lazy and hooks
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ReLU()
        self.a.register_forward_hook(lambda m, i, o: o + 1)
        self.a.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
    def forward(self, x):
        return self.a(x)
ep = export(M(), (torch.ones(3),)); show(ep); run(ep, torch.ones(3))
""")
program("""# complex and ints
class M(nn.Module):
    def forward(self, x, i):
        return x * 1j, x.abs(), i // 2, i % 3, i << 1, i.float() / 2, ~(i > 1)
ep = export(M(), (torch.ones(3, dtype=torch.cfloat), torch.tensor([1, 2, 5]))); show(ep); run(ep, torch.ones(3, dtype=torch.cfloat), torch.tensor([1, 2, 5]))
""")
program("""# meta stack
class A(nn.Module):
    def forward(self, x):
        return x.sin()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()
    def forward(self, x):
        return self.a(x) + 1
ep = export(M(), (torch.ones(3),))
for n in ep.graph.nodes:
    if n.op == "call_function":
        say(n.name, [(p, t if isinstance(t, str) else t.__name__) for p, t in n.meta["nn_module_stack"].values()] and [(p) for p, t in n.meta["nn_module_stack"].values()], n.meta["torch_fn"], n.meta["source_fn_stack"][-1][0] if "source_fn_stack" in n.meta else None)
""")
program("""# symbolic arithmetic
class M(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.zeros(n * 2 + 1), torch.zeros(n // 2), torch.zeros(max(n, 3)), x.new_zeros(n - 1), n / 2
ep = export(M(), (torch.ones(8, 3),), dynamic_shapes={"x": {0: Dim("b", min=4)}})
show(ep); run(ep, torch.ones(10, 3)); text(ep)
""")
program("""# check calls
class M(nn.Module):
    def forward(self, x, i):
        n = i.item()
        torch._check(n < x.shape[0])
        torch._check(n >= 0)
        return x[n], x.narrow(0, n, 1)
ep = export(M(), (torch.ones(8, 3), torch.tensor(2)), dynamic_shapes={"x": {0: Dim("b", min=4)}, "i": None})
show(ep); run(ep, torch.ones(10, 3), torch.tensor(1)); fails(lambda: ep.module()(torch.ones(10, 3), torch.tensor(20)))
""")
program("""# unbacked arithmetic
class M(nn.Module):
    def forward(self, i):
        n, m = i.tolist()
        torch._check(n >= 2); torch._check(m >= 1); torch._check(m < 10)
        return torch.zeros(n, m).sum() + n * m, torch.zeros(n + m)
ep = export(M(), (torch.tensor([3, 4]),))
show(ep); run(ep, torch.tensor([2, 5])); fails(lambda: ep.module()(torch.tensor([1, 5]))); text(ep)
""")
program("""# two levels
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return x * self.w
class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.a1, self.a2 = A(), A()
    def forward(self, x, y):
        return self.a1(x), self.a2(y) + self.a1.w
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = B()
    def forward(self, x):
        p, q = self.b(x, x + 1)
        return p + q
ep = export(M(), (torch.ones(3),)); show(ep)
u = unflatten(ep); say(u(torch.ones(3)), [n for n, _ in u.named_modules()])
for name, m in u.named_modules(): say(name, sig_ops(m))
""")


def _plain(value, torch):
    """A value as text that does not depend on the last digits of numbers."""
    if isinstance(value, torch.Tensor):
        data = value.device if value.device.type != "cpu" else _plain((torch.view_as_real(value) if value.is_complex() else value).tolist(), torch)
        return f"{value.dtype}{list(value.shape)} {data}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(item, torch)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_plain(item, torch) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, (int, str, bool, type(None))) else type(value).__name__


def _node(node):
    target = node.target
    named = hasattr(target, "_schema") or not callable(target)
    return f"{node.op[:4]}:{target if named else getattr(target, '__name__', target)}"


def _specs(specs):
    return " ".join(f"{s.kind.name}:{type(s.arg).__name__}:{getattr(s.arg, 'name', None)}:{s.target}:{getattr(s, 'persistent', None)}" for s in specs)


def _without_wording(line):
    """A line of a printed program without sentences, which each library has of its own: messages of assertions, and notes of nodes without a place."""
    line = re.sub(r"""(_assert_scalar\.default\(\w+, )(["\']).*?\2\)""", r'\1"(condition)")', line)
    return re.sub(r"^( {12})# (?!File:).*", r"\1# (no line)", line)


def answers(torch, name):
    """The answers of a library to a program: lines of text."""
    lines = []

    def say(*values):
        lines.append("say " + " ".join(_plain(value, torch) for value in values))

    def show(ep):
        lines.append("graph " + " ".join(_node(n) + (f"={n.name}" if n.op != "output" else "") for n in ep.graph.nodes))
        for key, sub in ep.graph_module.named_children():
            if hasattr(sub, "graph"):
                lines.append(f"within {key} " + " ".join(map(_node, sub.graph.nodes)))
        lines.append("inputs " + _specs(ep.graph_signature.input_specs))
        lines.append("outputs " + _specs(ep.graph_signature.output_specs))
        lines.append("ranges " + " ".join(sorted(str(r) for r in ep.range_constraints.values())))

    def text(ep):
        shown = [line for line in str(ep).splitlines() if "# File:" not in line or "corner_program" in line]
        lines.extend("text " + _without_wording(re.sub(r"File: \S*corner_program", "File: corner_program", line)) for line in shown)

    def attempt(prefix, function):
        try:
            out = function()
        except Exception as error:
            lines.append(f"{prefix} {type(error).__name__}")
        else:
            lines.append(f"{prefix} fine" if prefix == "fails" else f"{prefix} {_plain(torch.utils._pytree.tree_leaves(out), torch)}")

    def run(ep, *args, **kwargs):
        attempt("run", lambda: ep.module()(*args, **kwargs))

    def fails(function):
        attempt("fails", function)

    def sig_ops(module):
        return [_node(n) for n in module.graph.nodes] if getattr(module, "graph", None) else None

    module = sys.modules["corner_program"] = types.ModuleType("corner_program")
    module.__dict__.update(say=say, show=show, text=text, run=run, fails=fails, sig_ops=sig_ops)
    with tempfile.TemporaryDirectory() as folder:  # a draft reads the lines of its program
        module.__file__ = os.path.join(folder, "corner_program.py")
        with open(module.__file__, "w") as f:
            f.write(PRELUDE + PROGRAMS[name])
        try:
            exec(compile(PRELUDE + PROGRAMS[name], module.__file__, "exec"), module.__dict__)
        except Exception as error:
            lines.append(f"error {type(error).__name__}")
    return "\n".join(lines).split("\n")


def record(path):
    """Writes PyTorch's answers."""
    import logging
    import warnings

    import torch

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with open(path, "w") as f:
        for name in PROGRAMS:
            found = answers(torch, name)
            same = name.endswith("/strict") and found == answers(torch, name.removesuffix("/strict"))
            f.write(f"## {name}\n" + ("same\n" if same else "".join(f"{line}\n" for line in found)))


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else __file__.replace("corner_programs.py", "corners.txt"))
