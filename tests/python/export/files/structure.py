"""Exported programs by their structure: sizes, conditions, state, nested arguments, control flow, regions, custom operators."""

import collections
import dataclasses

import torch
import torch.utils._pytree as pytree
from programs import function, i, layer, program, r
from torch import nn
from torch.export import Dim


def x34():
    return (r(3, 4),)


def of_rows(n):
    """Arguments of so many rows."""
    return lambda: (r(n, 4),)


# ---- sizes ----------------------------------------------------------------------------------------------------------------
function("dim with a range", lambda m, x: x.relu() * x.shape[0], of_rows(3), of_rows(8), shapes=({0: Dim("rows", min=2, max=8)},))
function("dim auto", lambda m, x: x.view(-1) + 1, of_rows(3), of_rows(7), shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
function("dim dynamic", lambda m, x: x.sum(0), of_rows(3), of_rows(7), shapes=({0: Dim.DYNAMIC},))
function("derived dim", lambda m, x, y: x + y[1:], lambda: (r(3), r(4)), lambda: (r(5), r(6)), shapes=({0: Dim("n", min=2)}, {0: Dim("n", min=2) + 1}))
function("double dim", lambda m, x: x.view(2, -1), lambda: (r(6),), lambda: (r(10),), shapes=({0: 2 * Dim("short")},))
function("equal dims", lambda m, x, y: x * y, lambda: (r(3), r(3)), lambda: (r(5), r(5)), shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
function("two dims", lambda m, x, y: torch.cat([x, y]).sum(0), lambda: (r(3, 2), r(4, 2)), lambda: (r(5, 2), r(2, 2)), shapes=({0: Dim("a")}, {0: Dim("b")}))
function("arithmetic of sizes", lambda m, x: [x[: x.shape[0] // 2], x.new_zeros(x.shape[0] * 2 + 1), x.reshape(-1, 2), x.repeat(2, x.shape[0]), x.expand(x.shape[0] + 1, -1, -1), x.shape[0] % 3, (x.shape[0] + 1) // 2, x.shape[0] ** 2, x.shape[0] / 2, -x.shape[0]],
         of_rows(4), of_rows(7), shapes=({0: Dim.AUTO},))  # fmt: skip
function("sizes in branches", lambda m, x: x + 1 if x.shape[0] > 2 else x - 1, of_rows(4), of_rows(7), shapes=({0: Dim.AUTO},))
function("rest of a division", lambda m, x: x.view(-1, 2, 4), of_rows(4), of_rows(8), shapes=({0: Dim.AUTO},))
function("padding by sizes", lambda m, x: torch.nn.functional.pad(x, (0, 0, 0, 8 - x.shape[0])), of_rows(4), of_rows(6), shapes=({0: Dim("n", max=8)},))
function(
    "largest size",
    lambda m, x, y: torch.zeros(torch.sym_max(x.shape[0], y.shape[0])),
    lambda: (r(3), r(4)),
    lambda: (r(6), r(2)),
    shapes=({0: Dim("a")}, {0: Dim("b")}),
)


def checked_rows(m, x, n):
    """A number of the data as a size."""
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 10)
    return torch.zeros(k) + 1, x[0] * k, torch.ones(k, 2).sum(0)


def checked_slice(m, x, n):
    """The first rows, as many as the data say."""
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= x.shape[0])
    return x[:k].sum(0), x.narrow(0, 0, k)


def from_list(m, x, n):
    """Numbers of the data in a list."""
    a, b = n.tolist()
    torch._check(a > 0)
    torch._check(b > 0)
    return torch.ones(a, b), x * a


function("size of the data", checked_rows, lambda: (r(3), torch.tensor(4)), lambda: (r(3), torch.tensor(7)))
function("slice by the data", checked_slice, lambda: (r(5, 2), torch.tensor(3)), lambda: (r(5, 2), torch.tensor(1)))
function("list of the data", from_list, lambda: (r(3), torch.tensor([2, 3])), lambda: (r(3), torch.tensor([4, 2])))
function("rows that are not zero", lambda m, x: (x.nonzero(), x[x > 0] * 2, x.nonzero().shape[0] + 1, x.masked_select(x < 0).sum()), x34, x34)
function("item of a float", lambda m, x: x * x.sum().item(), x34, x34)
function("item of a truth value", lambda m, x: x * (x > 0).any().item(), x34)

# ---- numbers among the arguments ------------------------------------------------------------------------------------------
function("plain arguments", lambda m, x, n, f, b, s, e: (x * n + f if b and s == "text" else x, e), lambda: (r(3), 2, 1.5, True, "text", None))
function("open integer", lambda m, x, n: (x * n, x.new_zeros(n), n + 1), lambda: (r(3), 4), lambda: (r(3), 6), shapes=(None, Dim.DYNAMIC))
function("named arguments", lambda m, x, *, scale, n=2: x * scale + n, lambda: {"args": (r(3),), "kwargs": {"scale": r(3), "n": 5}})
function("named arguments of any size", lambda m, x, scale: x * scale, lambda: {"args": (), "kwargs": {"x": r(3), "scale": r(3)}}, lambda: {"args": (), "kwargs": {"x": r(5), "scale": r(5)}},
         shapes={"x": {0: Dim("n")}, "scale": {0: Dim("n")}})  # fmt: skip
function("many arguments", lambda m, *args, **named: (sum(args), named["a"] * 2), lambda: {"args": (r(2), r(2), r(2)), "kwargs": {"a": r(2)}})

# ---- nested values --------------------------------------------------------------------------------------------------------
Pair = collections.namedtuple("Pair", "first second")
pytree._register_namedtuple(Pair, serialized_type_name="cresset.files.Pair")


@dataclasses.dataclass
class Record:
    """A class that programs take and give."""

    a: object
    b: object


torch.export.register_dataclass(Record, serialized_type_name="cresset.files.Record")
function("nested arguments", lambda m, d, t: {"sum": d["a"] + d["b"][0] * t[1], "list": [t[0], (d["a"],)]}, lambda: ({"a": r(3), "b": [r(3)]}, (r(3), r(3))))
function("nested arguments of any size", lambda m, d: d["a"] + d["b"][0], lambda: ({"a": r(3), "b": [r(3)]},), lambda: ({"a": r(5), "b": [r(5)]},),
         shapes=({"a": {0: Dim.AUTO}, "b": [{0: Dim.AUTO}]},))  # fmt: skip
function("ordered dict", lambda m, d: collections.OrderedDict(z=d["b"], a=d["a"] + 1), lambda: (collections.OrderedDict(b=r(2), a=r(2)),))
function("named tuples", lambda m, p: Pair(p.second * 2, {"x": p.first}), lambda: (Pair(r(2), r(2)),))
function("registered class", lambda m, p: Record(p.a + p.b, 3), lambda: (Record(r(2), r(2)),))
function("empty containers", lambda m, x, l, d: (x, [], {}, ()), lambda: (r(2), [], {}))
function("one result twice", lambda m, x: (y := x + 1, y, x), x34)
function("views as results", lambda m, x: (x.view(-1), x[0], x.t(), x.unsqueeze(0).expand(2, 3, 4)), x34)
function("nothing", lambda m, x: None, x34)
function("a list of results", lambda m, x: [x + k for k in range(3)], x34)

# ---- state ----------------------------------------------------------------------------------------------------------------


@program(x34, x34)
class Counter(nn.Module):
    """Buffers that are written, one of them not kept."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(4), persistent=False)

    def forward(self, x):
        self.steps += 1
        self.total.add_(x.sum(0))
        return self.total * 2, self.steps + 1


@program(x34)
class Constants(nn.Module):
    """Tensors that are no parameters."""

    def __init__(self):
        super().__init__()
        self.plain, self.table = torch.arange(4.0), [torch.ones(4), torch.tensor(2)]
        self.weight = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, x):
        return x + self.plain + self.table[0] * self.table[1] + torch.tensor([1.0, 2.0, 3.0, 4.0]) + self.weight


@program(x34)
class OddWeights(nn.Module):
    """Weights that are views, of many dtypes, empty or without dimensions."""

    def __init__(self):
        super().__init__()
        base = torch.randn(6, 4)
        self.register_buffer("rows", base[1:4])
        self.register_buffer("columns", base.t()[:, ::2])
        self.register_buffer("short", torch.ones(4, dtype=torch.float16))
        self.register_buffer("brain", torch.ones(4, dtype=torch.bfloat16))
        self.register_buffer("truth", torch.tensor([True, False, True, True]))
        self.register_buffer("nothing", torch.zeros(0, 4))
        self.register_buffer("scalar", torch.tensor(3))
        self.register_buffer("wave", torch.ones(4, dtype=torch.complex64) * 1j)
        self.register_buffer("small", torch.ones(4).to(torch.float8_e5m2))

    def forward(self, x):
        y = torch.where(self.truth, x + self.rows, x * self.scalar) + self.short + self.brain + self.small.float()
        return torch.cat([y, self.nothing]), x @ self.columns, self.wave * x


function("input written", lambda m, x: (x.mul_(2).sum(), x[0]), x34, x34)
function("part of an input written", lambda m, x, y: (x[0].fill_(1), x[:, 1].add_(y), x * 1)[2], lambda: (r(3, 4), r(3)))
function("input given back", lambda m, x: (x, x.add_(1)), x34)


@program(x34)
class ParameterWritten(nn.Module):
    """A parameter that is written without gradients."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(0.5)
        return x * self.weight


# ---- regions --------------------------------------------------------------------------------------------------------------


def without_gradients(m, x):
    with torch.no_grad():
        y = x * 2
        z = y.sin()
    with torch.enable_grad():
        w = z + x
    return w, y


def mixed_precision(m, x, w):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ w
    with torch.autocast("cpu", enabled=False):
        return y, x @ w


function("regions without gradients", without_gradients, x34)
function("regions of mixed precision", mixed_precision, lambda: (r(3, 4), r(4, 2)))
function("checkpoint", lambda m, x: torch.utils.checkpoint.checkpoint(lambda y: y.sin() * 2, x, use_reentrant=False), x34)

# ---- control flow ---------------------------------------------------------------------------------------------------------
_ops = torch._higher_order_ops
function("cond", lambda m, x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,)), lambda: (torch.ones(3),), lambda: (-torch.ones(3),))
function(
    "cond of several",
    lambda m, x, y: torch.cond(x.sum() > 0, lambda a, b: (a + b, b * 2), lambda a, b: (a - b, b.sin()), (x, y)),
    lambda: (r(3), r(3)),
    lambda: (-r(3), r(3)),
)
function("cond on a size", lambda m, x: torch.cond(x.shape[0] > 4, lambda y: y * 2, lambda y: y - 1, (x,)), of_rows(3), of_rows(7), shapes=({0: Dim.DYNAMIC},))
function("cond of open sizes", lambda m, x: torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,)), of_rows(3), of_rows(7), shapes=({0: Dim.DYNAMIC},))
function(
    "nested cond",
    lambda m, x: torch.cond(x.sum() > 0, lambda y: torch.cond(y.sum() > 3, lambda z: z * 3, lambda z: z + 3, (y,)), lambda y: y.cos(), (x,)),
    lambda: (torch.ones(3),),
    lambda: (torch.ones(3) * 5,),
)
function("map", lambda m, x, y: torch._higher_order_ops.map(lambda row, z: row * z, x, y), lambda: (r(3, 4), r(4)))
function("scan", lambda m, x: _ops.scan(lambda carry, row: (carry + row, carry * 2), torch.zeros(4), x), x34)
function(
    "while loop",
    lambda m, x, n: _ops.while_loop(lambda k, y: k < n.sum(), lambda k, y: (k + 1, y * 1.5 + 1), (torch.zeros((), dtype=torch.int64), x)),
    lambda: (r(2), torch.tensor([3])),
    lambda: (r(2), torch.tensor([6])),
)
function("associative scan", lambda m, x: _ops.associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic"), x34)

# ---- transforms -----------------------------------------------------------------------------------------------------------

function("vmap", lambda m, x: torch.vmap(lambda row: row.softmax(0) * row.sum())(x), x34)
function("vmap of columns", lambda m, x: torch.vmap(lambda column: torch.nn.functional.gelu(column).cumsum(0), in_dims=1)(x), x34)
function("vmap of vmap", lambda m, x: torch.vmap(torch.vmap(lambda a: a * 2 + a.sin()))(x), x34)
function("jvp", lambda m, x: torch.func.jvp(lambda v: (v.sin() * v).sum(0), (x,), (x + 1,)), x34)
function("gradients", lambda m, x: torch.func.grad(lambda v: v.square().sum().sqrt())(x), x34)


@program(lambda: (torch.ones(2, 4),), lambda: (-torch.ones(2, 4),))
class Branches(nn.Module):
    """Layers in branches."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.up(y), lambda y: self.down(y), (x,))


# ---- operators of programs ------------------------------------------------------------------------------------------------


@torch.library.custom_op("cresset_files::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float, names: list[int]) -> torch.Tensor:
    """x * factor + the sum of numbers."""
    return x * factor + sum(names)


@scaled.register_fake
def _(x, factor, names):
    return torch.empty_like(x)


@torch.library.custom_op("cresset_files::bump", mutates_args=("x",))
def bump(x: torch.Tensor, by: float) -> None:
    """Adds to x in place."""
    x.add_(by)


function("custom operator", lambda m, x: scaled(x, 2.0, [1, 2]) + 1, x34)
function("custom operator that writes", lambda m, x: (y := x.clone(), bump(y, 2.0), y * 2)[2], x34)

# ---- operators by name ----------------------------------------------------------------------------------------------------
function(
    "operators by name",
    lambda m, x: [
        torch.ops.aten.sin.default(x),
        torch.ops.aten.add.Tensor(x, x, alpha=2),
        torch.ops.aten.sum.dim_IntList(x, [0], True),
        *torch.ops.aten.native_layer_norm.default(x, [4], None, None, 1e-5),
        torch.ops.aten._softmax.default(x, 1, False),
    ],
    x34,
)
function("assertions", lambda m, x: (torch._assert(x.shape[1] == 4, "four"), x + 1)[1], x34)


@program(lambda: (i(11, 2, 5),), lambda: (i(11, 3, 7),), shapes=({0: Dim("batch", max=8), 1: Dim("length", min=2, max=16)},))
class LanguageModel(nn.Module):
    """One block of a language model."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, tokens):
        b, t = tokens.shape
        x = self.embed(tokens) + self.place(torch.arange(t))
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return (x + self.out(a.transpose(1, 2).reshape(b, t, 8))) @ self.embed.weight.t()


layer("vision block", lambda: nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.Flatten(2), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)), lambda: (r(2, 3, 16, 16),))
