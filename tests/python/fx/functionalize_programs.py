"""Small programs over views and writes under `functionalize`, made of a number: the same ones for Cresset and for PyTorch.

python tests/python/fx/functionalize_programs.py   # with PyTorch: writes functionalize_streams.txt, the operators of PyTorch's graphs
"""

import random
import sys

VIEWS = ["{}[1]", "{}[:, 1:3]", "{}.view(-1)", "{}.t()", "{}.transpose(0, 1)", "{}.permute(1, 0)", "{}.unsqueeze(0)", "{}.diagonal()", "{}.split(2)[1]",
         "{}.chunk(2, 1)[0]", "{}.unbind(0)[2]", "{}.detach()", "{}.narrow(1, 2, 2)", "{}.as_strided((2, 2), (6, 1), 1)", "{}[::2]", "{}.flatten()",
         "{}.reshape(2, 12)", "{}.view(2, 2, 6)", "{}.T", "{}.select(1, 3)", "{}.tensor_split(2)[0]", "{}.unflatten(1, (2, 3))", "{}.view_as(y)",
         "{}.movedim(0, 1)", "{}[None]", "{}[..., -1]", "{}.squeeze()", "{}.split([1, 3])[1]", "{}.unsqueeze(-1).squeeze(-1)", "{}.expand(4, 6)",
         "{}.swapaxes(0, 1)", "{}[1:3, ::3]", "{}.mT", "{}.unfold(1, 2, 2)", "{}.view(4, 3, 2)[:, 1]", "{}.hsplit(2)[1]", "{}.contiguous()"]  # fmt: skip
INNER = [
    "{}",
    "{}",
    "{}[0]",
    "{}[..., :1]",
    "{}[-1:]",
    "{}.unsqueeze(0)",
    "{}.transpose(0, -1)",
    "{}.flatten()",
    "{}.detach()",
    "{}.view(-1)",
    "{}.expand_as({})",
]
WRITES = ["{}.add_(1)", "{}.mul_(2)", "{}.fill_(3.0)", "{}.zero_()", "{}[0] = 5", "{}[..., :1] += 1", "{}[torch.tensor([0])] = 7.0", "{}.clamp_(max=1)", "{}.sin_()",
          "{}.masked_fill_({} > 0.5, 0.25)", "{}.relu_()", "{}.copy_({} * 2)", "{}.sub_({}.sum())", "{}.exp_()", "{}.neg_()", "{}.div_(2)", "{}.pow_(2)",
          "{}.index_fill_(0, torch.tensor([0]), 2.0)", "{}.index_add_(0, torch.tensor([0]), {}[:1])", "{}.addcmul_({}, {})", "{}.lerp_({}, 0.5)",
          "{}.index_put_((torch.tensor([0]),), torch.tensor(1.5))", "{}.tanh_()", "{}.sigmoid_()", "{}.cumsum_(0)", "{}.masked_fill_({} > 0.5, torch.tensor(2.0))",
          "{}.unsqueeze_(0)", "{}.transpose_(0, -1)", "{}.add_({}, alpha=2)", "{}.copy_(torch.tensor(4.0))", "{}.floor_()", "{}.lt_(0.5)", "{}[{} > 0.5] = 0.0",
          "{}.clamp_min_(0.3)", "{}.addcdiv_({}, {} + 1)", "{}.scatter_(0, torch.zeros_like({}, dtype=torch.long), 2.0)", "torch.add({}, 1, out={})", "{} += 2", "{} *= {}"]  # fmt: skip
STARTS = [
    "x.clone()",
    "x * 2",
    "x",
    "x",
    "torch.zeros_like(x) + x",
    "x.detach()",
    "x.detach().clone()",
    "x + y",
    "torch.cat([x, y])[:4]",
    "x.clone()",
    "torch.empty_like(x).copy_(x)",
    "x.contiguous()",
    "x.t().contiguous().t()",
]
RETURNS = ["a", "(a, b)", "b", "(a, c)", "(a + 1, b.sum())", "b * 2", "(a, x)", "(a, b, c)", "a.sum() + c.sum()", "[a, {'b': b}]", "(c, a)", "x"]
WAYS = ["plain"] * 6 + ["vmap", "pre_dispatch", "nested", "grad", "vmap", "pre_dispatch"]


def source(seed):
    """The lines of a program, how it is called, and what `functionalize` removes."""
    r = random.Random(seed)

    def of(template, name):
        return template.replace("{}", name)

    lines = [f"a = {r.choice(STARTS)}", f"b = {of(r.choice(VIEWS), 'a')}", f"c = {of(r.choice(INNER), 'b')}"]
    lines.append(of(r.choice(WRITES), r.choice("cccba")))
    more = r.random()
    if more < 0.5:
        lines.append(f"d = {of(r.choice(VIEWS), r.choice('ay'))}")
        lines.append(of(r.choice(WRITES), r.choice("dda")))
    if more < 0.15 or more > 0.8:
        lines.append(of(r.choice(WRITES), r.choice("abc")))
    lines.append(f"return {r.choice(RETURNS)}")
    return lines, r.choice(WAYS), r.choice(["mutations", "mutations_and_views"])


def function(torch, seed):
    """The program as a function, how it is called, and what `functionalize` removes."""
    lines, way, remove = source(seed)
    scope = {"torch": torch}
    exec("def f(x, y):\n" + "".join(f"    {line}\n" for line in lines), scope)
    return scope["f"], way, remove


def arguments(torch, way):
    """The two arguments; batches of two under vmap."""
    x, y = (torch.arange(24.0) / 16).sin().view(4, 6), (torch.arange(24.0) / 10).cos().view(4, 6)
    return (torch.stack([x, x + 1]), torch.stack([y, y * 2])) if way == "vmap" else (x, y)


def traced(torch, seed):
    """The make_fx graph of a program, and what it returns: leaves, then the arguments after it."""
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    f, way, remove = function(torch, seed)
    F = torch.func.functionalize
    g = F(f, remove=remove)
    x, y = arguments(torch, way)
    if way == "vmap":
        g = torch.func.vmap(g)
    if way == "nested":
        g = F(g, remove=remove)
    if way == "grad":
        inner = g

        def total(x, y):
            return sum(t.sum() for t in torch.utils._pytree.tree_leaves(inner(x * 1, y * 1)))

        g = torch.func.grad(total)
    gm = make_fx(g, pre_dispatch=way == "pre_dispatch")(x.clone(), y.clone())
    xs = x.clone(), y.clone()
    out = gm(*xs)
    return gm, [*torch.utils._pytree.tree_leaves(out), *xs]


def ops(gm):
    """The operators of a graph in order."""
    return " ".join(str(n.target).removeprefix("aten.").removesuffix(".default") for n in gm.graph.nodes if n.op not in ("placeholder", "output"))


def eager(torch, seed, more=0.0):
    """The results of the program without `functionalize` where the arguments are larger by `more`: leaves, then the arguments after it."""
    f, way, _ = function(torch, seed)
    x, y = (t + more for t in arguments(torch, way))
    out = [torch.utils._pytree.tree_leaves(f(*each)) for each in zip(x, y)] if way == "vmap" else torch.utils._pytree.tree_leaves(f(x, y))
    return [*([torch.stack(leaves) for leaves in zip(*out)] if way == "vmap" else out), x, y]


def replays(torch, seed, gm):
    """Whether a graph computes, for other arguments too, what the program does."""
    way = source(seed)[1]
    if way == "grad":
        return True
    plain, again = eager(torch, seed, 0.25), [t.clone() + 0.25 for t in arguments(torch, way)]
    found = [*torch.utils._pytree.tree_leaves(gm(*again)), *again]
    return len(plain) == len(found) and all(a.shape == b.shape and torch.allclose(a.double(), b.double(), equal_nan=True) for a, b in zip(plain, found))


def record(path, count):
    """Writes a line for each of the first programs whose graph of PyTorch's computes what the program does: its number, and the operators."""
    import torch
    import torch.fx.experimental.proxy_tensor

    lines, seed = [], 0
    while len(lines) < count:
        try:
            gm, _ = traced(torch, seed)
            if replays(torch, seed, gm):
                lines.append(f"{seed}\t{ops(gm)}\n")
        except (RuntimeError, IndexError):
            pass  # writes that PyTorch refuses
        seed += 1
    with open(path, "w") as f:
        f.writelines(lines)


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else __file__.replace("programs.py", "streams.txt"), 420)
