"""Programs with function transforms, as source text: the same for Cresset and for PyTorch.

python tests/python/export/transform_programs.py   # with PyTorch: writes transforms.txt, what torch.export makes of them there
"""

import sys
import textwrap

PROGRAMS = {}  # name -> (parameters, body of forward, arguments, lines of __init__, dynamic shapes)


def program(name, body, args="torch.randn(4, 3)", params="x", init="", shapes="None"):
    PROGRAMS[name] = params, body, args, init, shapes


ONE, TWO, VECTOR = "torch.randn(4, 3)", "torch.randn(4, 3), torch.randn(4, 3)", "torch.randn(3)"
program("vmap", "return torch.vmap(lambda r: r.sin() * 2)(x)")
program("func vmap", "return torch.func.vmap(torch.sum)(x)")
program("vmap in_dims 1", "return torch.vmap(lambda r: r.sum(), in_dims=1)(x)")
program("vmap in_dims -1", "return torch.vmap(lambda r: r.sum(), in_dims=-1)(x)")
program("vmap in_dims tuple", "return torch.vmap(torch.mul, in_dims=(0, None))(x, y)", args="torch.randn(4, 3), torch.randn(3)", params="x, y")
program(
    "vmap in_dims dict",
    "return torch.vmap(lambda d: d['a'] + d['b'], in_dims=({'a': 0, 'b': None},))({'a': x, 'b': y})",
    args="torch.randn(4, 3), torch.randn(3)",
    params="x, y",
)
program("vmap out_dims 1", "return torch.vmap(lambda r: r * 2, out_dims=1)(x)")
program("vmap out_dims tuple", "return torch.vmap(lambda r: (r * 2, r.sum()), out_dims=(1, 0))(x)")
program("vmap out_dims None", "return torch.vmap(lambda r: (r + 1, y * 2), out_dims=(0, None))(x)", args="torch.randn(4, 3), torch.randn(3)", params="x, y")
program("vmap out not batched", "return torch.vmap(lambda r: torch.ones(2))(x)")
program("vmap nested", "return torch.vmap(torch.vmap(lambda e: e.sin() + 1))(x)")
program(
    "vmap outer product",
    "return torch.vmap(torch.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))(x, y)",
    args="torch.randn(4), torch.randn(3)",
    params="x, y",
)
program(
    "vmap nested levels mixed",
    "return torch.vmap(lambda a: torch.vmap(lambda b: (a * b).sum())(y))(x)",
    args="torch.randn(4, 3), torch.randn(5, 3)",
    params="x, y",
)
program("vmap chunk", "return torch.vmap(lambda r: r.sin().sum(), chunk_size=2)(x)")
program("vmap chunk uneven", "return torch.vmap(lambda r: r.sin(), chunk_size=3)(x)")
program("vmap random different", "return torch.vmap(lambda r: r + torch.rand(3), randomness='different')(x) * 0")
program("vmap random same", "return torch.vmap(lambda r: r + torch.rand(3), randomness='same')(x) * 0")
program("vmap random error", "return torch.vmap(lambda r: r + torch.rand(3))(x)")
program("vmap dropout", "return torch.vmap(lambda r: torch.nn.functional.dropout(r, 0.5), randomness='different')(x) * 0")
program("vmap closure", "return torch.vmap(lambda r: r @ y)(x)", args="torch.randn(4, 3), torch.randn(3, 2)", params="x, y")
program("vmap module", "return torch.vmap(self.l)(x)", init="self.l = nn.Linear(3, 2)")
program("vmap buffer", "return torch.vmap(lambda r: r * self.b)(x)", init="self.register_buffer('b', torch.ones(3))")
program("vmap constant", "return torch.vmap(lambda r: r * torch.tensor([1.0, 2.0, 3.0]))(x)")
program(
    "vmap ensemble",
    """
params, buffers = {'weight': self.w, 'bias': self.c}, {}
return torch.vmap(lambda p, v: torch.func.functional_call(self.base, p, (v,)), in_dims=(0, None))(params, x)
""",
    init="""
self.base = nn.Linear(3, 2)
self.w = nn.Parameter(torch.randn(5, 2, 3))
self.c = nn.Parameter(torch.randn(5, 2))
""",
)
program(
    "vmap in place on element",
    """
def f(r):
    z = r.clone()
    z.add_(1)
    return z
return torch.vmap(f)(x)
""",
)
program("vmap view of element", "return torch.vmap(lambda r: r.view(3, 1).expand(3, 2).reshape(-1))(x)")
program("vmap index", "return torch.vmap(lambda r, i: r[i])(x, y)", args="torch.randn(4, 3), torch.tensor([0, 1, 2, 0])", params="x, y")
program("vmap where cond", "return torch.vmap(lambda r: torch.where(r > 0, r, -r))(x)")
program("vmap size used", "return torch.vmap(lambda r: r * r.shape[0] + r.dim())(x)")
program("vmap item error", "return torch.vmap(lambda r: r * r.sum().item())(x)")
program("vmap no tensor error", "return torch.vmap(lambda r: 3)(x)")
program("vmap wrong dim error", "return torch.vmap(lambda r: r, in_dims=5)(x)")
program("vmap sizes differ error", "return torch.vmap(lambda a, b: a + b)(x, y)", args="torch.randn(4, 3), torch.randn(5, 3)", params="x, y")
program("vmap kwargs", "return torch.vmap(lambda r, k: r * k)(x, k=y)", args="torch.randn(4, 3), torch.randn(3)", params="x, y")
program("vmap pytree", "return torch.vmap(lambda p: {'s': p[0] + p[1], 'd': p[0] - p[1]})((x, y))", args=TWO, params="x, y")
program(
    "vmap batch norm eval",
    "return torch.vmap(lambda v: torch.nn.functional.batch_norm(v, self.m, self.v))(x)",
    args="torch.randn(2, 4, 3)",
    init="""
self.register_buffer('m', torch.zeros(3))
self.register_buffer('v', torch.ones(3))
""",
)
program(
    "vmap conv", "return torch.vmap(lambda w: torch.nn.functional.conv2d(x, w))(y)", args="torch.randn(1, 2, 5, 5), torch.randn(3, 4, 2, 3, 3)", params="x, y"
)
program("vmap matmul", "return torch.vmap(torch.matmul)(x, y)", args="torch.randn(4, 2, 3), torch.randn(4, 3, 5)", params="x, y")
program("vmap softmax layer_norm", "return torch.vmap(lambda r: torch.softmax(torch.nn.functional.layer_norm(r, (3,)), -1))(x)")
program("vmap attention", "return torch.vmap(torch.nn.functional.scaled_dot_product_attention)(x, x, x)", args="torch.randn(2, 2, 4, 3)")
program("vmap cat stack", "return torch.vmap(lambda a, b: torch.cat([a, b]) + torch.stack([a, b]).view(-1))(x, y)", args=TWO, params="x, y")
program("vmap dynamic", "return torch.vmap(lambda r: r.sum())(x)", shapes="({0: Dim('b')},)")
program("vmap dynamic inner", "return torch.vmap(lambda r: r.sum() * r.shape[0])(x)", shapes="({1: Dim('n')},)")
program(
    "vmap dynamic both",
    "return torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, y)",
    args="torch.randn(4, 3), torch.randn(3, 2)",
    params="x, y",
    shapes="({0: Dim('b'), 1: Dim('n')}, {0: Dim('n')})",
)
program("vmap dynamic nested", "return torch.vmap(torch.vmap(torch.sin))(x)", shapes="({0: Dim('b'), 1: Dim('n')},)")
program("vmap dynamic chunk", "return torch.vmap(lambda r: r.sin(), chunk_size=2)(x)", shapes="({0: Dim('b')},)")
program(
    "vmap then op",
    """
y = torch.vmap(torch.sin)(x)
return y.cos() + x.shape[0]
""",
)
program("vmap twice", "return torch.vmap(torch.sin)(x) + torch.vmap(torch.cos)(x)")
program("grad", "return torch.func.grad(lambda v: v.sin().sum())(x)")
program("grad argnums", "return torch.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, y)", args=TWO, params="x, y")
program("grad has_aux", "return torch.func.grad(lambda v: ((v * v).sum(), v + 1), has_aux=True)(x)")
program("grad and value", "return torch.func.grad_and_value(lambda v: v.exp().sum())(x)")
program("grad of closure", "return torch.func.grad(lambda v: (v * y).sum())(x)", args=TWO, params="x, y")
program("grad nested", "return torch.func.grad(lambda v: torch.func.grad(lambda u: u.sin().sum())(v).sum())(x)")
program("grad constant", "return torch.func.grad(lambda v: (v * torch.tensor([1.0, 2.0, 3.0])).sum())(x)")
program("grad dict", "return torch.func.grad(lambda d: (d['a'] * d['b']).sum())({'a': x, 'b': y})", args=TWO, params="x, y")
program(
    "grad module params",
    """
params = dict(self.l.named_parameters())
return torch.func.grad(lambda p: torch.func.functional_call(self.l, p, (x,)).sum())(params)
""",
    init="self.l = nn.Linear(3, 2)",
)
program(
    "grad per sample",
    """
params = dict(self.l.named_parameters())
f = lambda p, v: torch.func.functional_call(self.l, p, (v,)).pow(2).sum()
return torch.vmap(torch.func.grad(f), in_dims=(None, 0))(params, x)
""",
    init="self.l = nn.Linear(3, 2)",
)
program(
    "grad through grad training",
    """
g = torch.func.grad(lambda v: (v ** 3).sum())(x)
return x - 0.1 * g
""",
)
program("grad not scalar error", "return torch.func.grad(lambda v: v.sin())(x)")
program("grad dynamic", "return torch.func.grad(lambda v: v.sin().sum())(x)", shapes="({0: Dim('b')},)")
program("vmap of grad", "return torch.vmap(torch.func.grad(lambda v: v.sin().sum()))(x)")
program("vmap of grad dynamic", "return torch.vmap(torch.func.grad(lambda v: v.sin().sum()))(x)", shapes="({0: Dim('b')},)")
program("grad of vmap", "return torch.func.grad(lambda v: torch.vmap(torch.sin)(v).sum())(x)")
program(
    "vjp",
    """
out, f = torch.func.vjp(torch.sin, x)
return out, f(torch.ones_like(out))[0]
""",
)
program(
    "vjp two",
    """
out, f = torch.func.vjp(lambda a, b: a * b, x, y)
return f(out)
""",
    args=TWO,
    params="x, y",
)
program(
    "vjp has_aux",
    """
out, f, aux = torch.func.vjp(lambda v: (v.sin(), v * 2), x, has_aux=True)
return f(out)[0] + aux
""",
)
program(
    "vjp twice",
    """
out, f = torch.func.vjp(torch.sin, x)
return f(out)[0] + f(x)[0]
""",
)
program(
    "vjp dynamic",
    """
out, f = torch.func.vjp(torch.sin, x)
return f(out)[0]
""",
    shapes="({0: Dim('b')},)",
)
program("jvp", "return torch.func.jvp(torch.sin, (x,), (y,))", args=TWO, params="x, y")
program("jvp two", "return torch.func.jvp(lambda a, b: a * b, (x, y), (y, x))", args=TWO, params="x, y")
program("jvp nested", "return torch.func.jvp(lambda v: torch.func.jvp(torch.sin, (v,), (y,))[1], (x,), (y,))", args=TWO, params="x, y")
program("jvp has_aux", "return torch.func.jvp(lambda v: (v.sin(), v + 1), (x,), (y,), has_aux=True)", args=TWO, params="x, y")
program("jvp dynamic", "return torch.func.jvp(torch.sin, (x,), (x,))[1]", shapes="({0: Dim('b')},)")
program("jacrev", "return torch.func.jacrev(torch.sin)(x)", args=VECTOR)
program("jacrev matrix", "return torch.func.jacrev(lambda v: v @ y)(x)", args="torch.randn(3), torch.randn(3, 2)", params="x, y")
program("jacrev chunk", "return torch.func.jacrev(torch.sin, chunk_size=2)(x)", args=VECTOR)
program("jacrev argnums", "return torch.func.jacrev(torch.mul, argnums=(0, 1))(x, y)", args="torch.randn(3), torch.randn(3)", params="x, y")
program("jacrev has_aux", "return torch.func.jacrev(lambda v: (v.sin(), v + 1), has_aux=True)(x)", args=VECTOR)
program("jacfwd", "return torch.func.jacfwd(torch.sin)(x)", args=VECTOR)
program("jacfwd matrix", "return torch.func.jacfwd(lambda v: v @ y)(x)", args="torch.randn(3), torch.randn(3, 2)", params="x, y")
program("hessian", "return torch.func.hessian(lambda v: (v ** 3).sum())(x)", args=VECTOR)
program("jacrev dynamic", "return torch.func.jacrev(torch.sin)(x)", args=VECTOR, shapes="({0: Dim('b')},)")
program("jacfwd dynamic", "return torch.func.jacfwd(torch.sin)(x)", args=VECTOR, shapes="({0: Dim('b')},)")
program("vmap of jacrev", "return torch.vmap(torch.func.jacrev(torch.sin))(x)")
program("vmap of hessian", "return torch.vmap(torch.func.hessian(lambda v: v.sin().sum()))(x)")
program(
    "linearize",
    """
out, f = torch.func.linearize(torch.sin, x)
return out, f(y)
""",
    args=TWO,
    params="x, y",
)
program(
    "linearize dynamic",
    """
out, f = torch.func.linearize(torch.sin, x)
return f(x)
""",
    shapes="({0: Dim('b')},)",
)
program(
    "functionalize",
    """
def f(v):
    y = v.clone()
    y.add_(1)
    return y.view(-1)
return torch.func.functionalize(f)(x)
""",
)
program(
    "functionalize views",
    """
def f(v):
    y = v.clone()
    y.view(-1).add_(1)
    return y
return torch.func.functionalize(f, remove='mutations_and_views')(x)
""",
)
program(
    "vmap of functionalize",
    """
def f(v):
    y = torch.zeros(3)
    y.add_(v)
    return y
return torch.vmap(torch.func.functionalize(f))(x)
""",
)
program(
    "autograd grad",
    """
with torch.enable_grad():
    y = x.detach().requires_grad_()
    return torch.autograd.grad(y.sin().sum(), y)[0]
""",
)
program("autograd grad of parameter", "return torch.autograd.grad((self.w * x).sum(), self.w)[0]", init="self.w = nn.Parameter(torch.ones(3))")
program(
    "autograd grad create",
    """
y = x.detach().requires_grad_()
g, = torch.autograd.grad((y ** 3).sum(), y, create_graph=True)
return torch.autograd.grad(g.sum(), y)[0]
""",
)
program("autograd grad leaf input", "return torch.autograd.grad(x.sin().sum(), x)[0]", args="torch.randn(4, 3, requires_grad=True)")
program(
    "autograd grad with outputs",
    """
y = x.detach().requires_grad_()
return torch.autograd.grad(y.sin(), y, torch.ones_like(y))[0]
""",
)
program(
    "backward",
    """
y = x.detach().requires_grad_()
y.sin().sum().backward()
return y.grad
""",
)
program(
    "checkpoint",
    """
from torch.utils.checkpoint import checkpoint
return checkpoint(lambda v: v.sin().cos(), x, use_reentrant=False)
""",
)
program(
    "checkpoint reentrant",
    """
from torch.utils.checkpoint import checkpoint
return checkpoint(lambda v: v.sin().cos(), x, use_reentrant=True)
""",
)
program(
    "checkpoint module",
    """
from torch.utils.checkpoint import checkpoint
return checkpoint(self.l, x, use_reentrant=False)
""",
    init="self.l = nn.Linear(3, 2)",
)
program(
    "checkpoint sequential",
    """
from torch.utils.checkpoint import checkpoint_sequential
return checkpoint_sequential(self.s, 2, x, use_reentrant=False)
""",
    init="self.s = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))",
)
program("functional jacobian", "return torch.autograd.functional.jacobian(torch.sin, x)", args=VECTOR)
program("functional jvp", "return torch.autograd.functional.jvp(torch.sin, x, x)", args=VECTOR)
program(
    "forward ad",
    """
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    d = fwAD.make_dual(x, y)
    return fwAD.unpack_dual(d.sin()).tangent
""",
    args=TWO,
    params="x, y",
)
program(
    "stack_module_state",
    "return torch.vmap(lambda p, b, v: torch.func.functional_call(self.l, (p, b), (v,)), in_dims=(0, 0, None))({'weight': self.w}, {}, x)",
    init="""
self.l = nn.Linear(3, 2, bias=False)
self.w = nn.Parameter(torch.randn(5, 2, 3))
""",
)
program(
    "vmap no_grad",
    """
with torch.no_grad():
    return torch.vmap(torch.sin)(x)
""",
)
program(
    "grad within no_grad",
    """
with torch.no_grad():
    return torch.func.grad(lambda v: v.sin().sum())(x)
""",
)
program("cond within vmap", "return torch.vmap(lambda r: torch.cond(r.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (r,)))(x)")
program("vmap within cond", "return torch.cond(x.sum() > 0, lambda v: torch.vmap(torch.sin)(v), lambda v: torch.vmap(torch.cos)(v), (x,))")
program(
    "custom function in vmap",
    """
class D(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(v):
        return v * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, g):
        return g * 2
return torch.vmap(D.apply)(x)
""",
)
program(
    "custom function in grad",
    """
class D(torch.autograd.Function):
    @staticmethod
    def forward(v):
        return v * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, g):
        return g * 2
return torch.func.grad(lambda v: D.apply(v).sum())(x)
""",
)
program(
    "saved hooks",
    """
y = x.detach().requires_grad_()
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    z = y.sin()
return torch.autograd.grad(z.sum(), y)[0]
""",
)
program(
    "autocast in vmap",
    """
with torch.autocast('cpu', dtype=torch.bfloat16):
    return torch.vmap(lambda r: r @ y)(x)
""",
    args="torch.randn(4, 3), torch.randn(3, 2)",
    params="x, y",
)


class Case:
    """One program: its module, example arguments, others, also of other sizes where those are open, and dynamic shapes."""

    def __init__(self, torch, name):
        params, body, args, init, shapes = PROGRAMS[name]
        torch.manual_seed(0)
        lines = ["class M(nn.Module):", "    def __init__(self):", "        super().__init__()", textwrap.indent(init.strip(), " " * 8)]
        lines += [f"    def forward(self, {params}):", textwrap.indent(body.strip("\n"), " " * 8)]
        names = {"torch": torch, "nn": torch.nn, "Dim": torch.export.Dim}
        exec("\n".join(lines), names)
        self.module = names["M"]()
        self.args = eval(f"({args},)", names)
        self.shapes = eval(shapes, names)
        shapes = self.shapes or [None] * len(self.args)
        self.others = tuple(self._other(torch, *pair) for pair in zip(self.args, shapes))

    @staticmethod
    def _other(torch, tensor, shape):
        for dim in shape or {}:
            tensor = torch.cat([tensor, tensor.narrow(dim, 0, 2)], dim)
        return tensor.flip(0)


def fresh(args):
    """Copies of arguments."""
    return tuple(a.detach().clone().requires_grad_(a.requires_grad) for a in args)


def targets(module):
    """The targets of a graph and of those within it; nodes that nothing uses and that do nothing are left out."""
    needed, found = set(), []
    for node in reversed(module.graph.nodes):
        schema = getattr(node.target, "_schema", None)
        has_effect = getattr(node.target, "__module__", "").endswith("predispatch") or getattr(schema, "is_mutable", False)
        if node.op in ("placeholder", "output") or has_effect or node in needed:
            needed.update(node.all_input_nodes)
            name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
            found.append(node.op[:4] if node.op in ("placeholder", "output") else str(node.target) if schema is not None else name)
    parts = [" ".join(reversed(found))]
    return " | ".join([*parts, *(targets(part) for _, part in module.named_children() if hasattr(part, "graph"))])


def same(torch, found, wanted):
    """Whether two results, in containers, have the same values."""
    found, wanted = torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted)
    return len(found) == len(wanted) and all(a.shape == b.shape and torch.allclose(a, b, atol=1e-4) for a, b in zip(found, wanted))


def answer(torch, name):
    """The fate of a program: "refused" and the error where it does not run, "fails" and the error where it cannot be exported, "broken" where what is exported
    does not give what it should, else "graph" and its targets."""
    case = Case(torch, name)
    try:
        wanted = case.module(*fresh(case.others))
    except Exception as error:
        return f"refused {type(error).__name__}"
    try:
        exported = torch.export.export(case.module, fresh(case.args), dynamic_shapes=case.shapes, strict=False)
    except Exception as error:
        return f"fails {type(error).__name__}"
    try:
        if not same(torch, exported.module()(*fresh(case.others)), wanted):
            return "broken"
    except Exception:
        return "broken"
    return f"graph {targets(exported.graph_module)}"


def answer_of_torch(name):
    """PyTorch's answer."""
    import torch

    return answer(torch, name)


def record(path):
    """Writes PyTorch's answers, each from a process of its own, since failures leave levels open there."""
    import multiprocessing

    answer_of_torch("vmap")  # loads what captures need, once
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        found = pool.map(answer_of_torch, list(PROGRAMS), chunksize=1)
    with open(path, "w") as file:
        file.writelines(f"{name}\t{text}\n" for name, text in zip(PROGRAMS, found))


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else __file__.replace("transform_programs.py", "transforms.txt"))
