"""Programs whose calls have effects, each with what is asked of its graphs, as source text: the same for Cresset and for PyTorch.

python tests/python/export/effect_programs.py   # with PyTorch: writes effects.txt, what PyTorch answers
"""

import io
import sys

_PRELUDE = """
import io
import torch
from torch import nn
from torch.export import export, load, save, unflatten
from torch._functorch.aot_autograd import aot_export_joint_simple, aot_export_module, aot_function, aot_module, aot_module_simplified
from torch._higher_order_ops import effects
from torch._higher_order_ops.effects import handle_effects, has_effects, new_token_tensor, with_effects
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition

ORDERED = effects._EffectType.ORDERED
CALLS = []

@torch.library.custom_op("effect_test::note", mutates_args=())
def note(x: torch.Tensor, text: str, *, level: int = 1) -> None:
    CALLS.append(f"note {text} {level}")

@note.register_fake
def _(x, text, *, level=1):
    pass

@torch.library.custom_op("effect_test::copied", mutates_args=())
def copied(x: torch.Tensor) -> torch.Tensor:
    CALLS.append("copied")
    return x.clone()

@copied.register_fake
def _(x):
    return torch.empty_like(x)

def backward(ctx, grad):
    return torch.ops.effect_test.copied(grad) * 3

copied.register_autograd(backward)

@torch.library.custom_op("effect_test::both", mutates_args=())
def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    CALLS.append("both")
    return x.clone(), x + 1

@both.register_fake
def _(x):
    return torch.empty_like(x), torch.empty_like(x)

@torch.library.custom_op("effect_test::plain", mutates_args=())
def plain(x: torch.Tensor) -> torch.Tensor:
    CALLS.append("plain")
    return x.clone()

@plain.register_fake
def _(x):
    return torch.empty_like(x)

plain.register_autograd(backward)

@torch.library.custom_op("effect_test::grown", mutates_args=("x",))
def grown(x: torch.Tensor) -> None:
    CALLS.append("grown")
    x.add_(1)

for name in ("note", "copied", "both", "grown"):
    torch.library._register_effectful_op(f"effect_test::{name}", ORDERED)
ops = torch.ops.effect_test

def show(graph):
    for node in graph.nodes:
        args = [arg.name() if isinstance(arg, torch._ops.HigherOrderOperator) else arg for arg in node.args]
        say(node.op, node.name, getattr(node.target, "__name__", node.target), args, node.kwargs)

def specs(ep):
    for spec in (*ep.graph_signature.input_specs, *ep.graph_signature.output_specs):
        say(spec.kind.name, type(spec.arg).__name__, getattr(spec.arg, "name", None), spec.target)

class F(nn.Module):
    def __init__(self, f, **state):
        super().__init__()
        self.f = f
        for name, value in state.items():
            if isinstance(value, nn.Parameter):
                setattr(self, name, value)
            else:
                self.register_buffer(name, value)
    def forward(self, *args):
        return self.f(self, *args)

def calls():
    say("calls", list(CALLS))
    CALLS.clear()

def exported(f, *args, saved=True, **state):
    ep = export(F(f, **state), args)
    show(ep.graph)
    core = ep.run_decompositions()
    show(core.graph)
    specs(core)
    calls()
    say(core.module()(*[a.clone() for a in args]))
    calls()
    show(core.run_decompositions().graph)
    if not saved:  # PyTorch cannot
        return core
    buffer = io.BytesIO()
    save(core, buffer)
    buffer.seek(0)
    again = load(buffer)
    specs(again)
    say(again.module()(*[a.clone() for a in args]))
    calls()
    return core

def compiler(kind):
    def compiled(module, inputs):
        say(kind, [tuple(i.shape) if isinstance(i, torch.Tensor) else i for i in inputs])
        show(module.graph)
        return make_boxed_func(module)
    return compiled

def ahead(f, *args, **options):
    y = aot_function(f, compiler("forward"), compiler("backward"), **options)(*args)
    if y.requires_grad:  # PyTorch compiles backward when it first runs
        y.sum().backward()
    say(y.detach(), [a.grad for a in args])
    calls()

X = torch.ones(2)
def leaf():
    return torch.ones(2, requires_grad=True)
"""

PROGRAMS = {
    "a print": "exported(lambda m, x: (torch.ops.aten._print('one'), x + 1)[1], X)",
    "two prints around": "exported(lambda m, x: (torch.ops.aten._print('one'), x.sin(), torch.ops.aten._print('two'))[1], X)",
    "a call without results": "exported(lambda m, x: (ops.note(x, 'a', level=2), x * 2)[1], X)",
    "a call with a result": "exported(lambda m, x: ops.copied(x) * 2, X)",
    "a result that nothing uses": "exported(lambda m, x: (ops.copied(x), x * 2)[1], X)",
    "two results": "exported(lambda m, x: ops.both(x)[0] + ops.both(x)[1], X)",
    "one of two results": "exported(lambda m, x: ops.both(x)[1], X)",
    "calls of several kinds": """
def f(m, x):
    ops.note(x, "a")
    y = ops.copied(x)
    a, b = ops.both(y)
    ops.note(b, "b")
    return a + b + y
exported(f, X)
""",
    "parts of other operators between": """
def f(m, x):
    ops.note(x, "a")
    values, places = x.topk(1)
    y = ops.copied(values)
    small, large = torch.aminmax(x)
    ops.note(large, "b")
    return y + 0, places, small
exported(f, X)
""",
    "no effect": "exported(lambda m, x: torch.ops.effect_test.plain(x) + 1, X)",
    "state that is written": """
def f(m, x):
    m.count.add_(x)
    ops.note(m.count, "count")
    return x * m.weight * m.count
exported(f, X, count=torch.zeros(2), weight=nn.Parameter(torch.ones(2)))
""",
    "an argument that is written": """
def f(m, x, y):
    y.add_(1)
    ops.note(y, "y")
    return x + y, y
exported(f, X, torch.zeros(2))
""",
    "the result is the call's": "exported(lambda m, x: ops.copied(x), X, saved=False)",
    "the tree of modules": """
core = exported(lambda m, x: (ops.note(x, "tree"), ops.copied(x))[1], X, saved=False)
say(unflatten(core)(X))
calls()
""",
    "print as an operator": """
def f(m, x):
    torch.ops.higher_order.print("{} {v}", 3, v=x.sum())
    return x + 1
ep = export(F(f), (X,))
show(ep.graph)
core = ep.run_decompositions()
show(core.graph)
specs(core)
say(core.module()(X))
""",
    "ahead: print": "ahead(lambda x: (torch.ops.aten._print('ahead'), x.sin())[1], X)",
    "ahead: no gradient": "ahead(lambda x: (ops.note(x, 'a', level=4), ops.copied(x) * 2)[1], X)",
    "ahead: gradient": "ahead(lambda x: (ops.note(x, 'a'), x.sin())[1], leaf())",
    "ahead: effect in backward": "ahead(lambda x: ops.plain(x).sin(), leaf())",
    "ahead: effects in both": "ahead(lambda x: ops.copied(x).sin(), leaf())",
    "ahead: effects in both, least memory": "ahead(lambda x: ops.copied(x).sin(), leaf(), partition_fn=min_cut_rematerialization_partition)",
    "ahead: an input that is written": "ahead(lambda x: (ops.note(x, 'a'), x.add_(1), torch.ops.aten._print('q'), x * 2)[3], X.clone())",
    "ahead: an operator that writes": "ahead(lambda x: (lambda y: (ops.grown(y), y)[1])(x.clone()), X)",
    "ahead: a module": """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.zeros(2))
    def forward(self, x):
        self.b.add_(1)
        ops.note(x, "m")
        return (x * self.w * self.b,)
graph, signature = aot_export_module(M(), (X,), trace_joint=False)
show(graph.graph)
say(signature.input_tokens, signature.output_tokens, signature.parameters, signature.user_inputs, signature.buffers_to_mutate, signature.inputs_to_buffers)
m = M()
aot_module(m, compiler("forward"), compiler("backward"))(X)[0].sum().backward()
say(m.w.grad, m.b)
calls()
say(aot_module_simplified(M(), (X,), compiler("forward"), lambda module, inputs: module)(X)[0].detach())
""",
    "ahead: simple": """
show(aot_export_joint_simple(lambda x: [(ops.note(x, "s"), x.sin())[1]], (X,), trace_joint=False).graph)
show(aot_export_joint_simple(lambda x: [(ops.note(x, "s"), x.sin())[1]], (leaf(),), trace_joint=True).graph)
""",
    "the operator": """
say(with_effects(new_token_tensor(), torch.ops.aten.sin.default, torch.zeros(2)))
say(with_effects(new_token_tensor(), ops.copied.default, X), with_effects(new_token_tensor(), ops.note.default, X, "n", level=5))
say([len(with_effects(new_token_tensor(), ops.both.default, X)), str(with_effects), with_effects.name(), with_effects.namespace])
fails(lambda: with_effects(new_token_tensor(), ops.grown.default, X))
calls()
show(make_fx(lambda t, x: with_effects(t, ops.copied.default, x))(new_token_tensor(), X).graph)
""",
    "the mode": """
mode = FunctionalTensorMode()
say(mode._tokens, mode._allow_token_discovery, mode._tokens_forward_output)
def noted():
    with mode:
        torch.ops.aten._print("never")
fails(noted)
mode = FunctionalTensorMode(_allow_token_discovery=True)
with mode:
    torch.ops.aten._print("found")
say(list(mode._tokens), type(mode._tokens[ORDERED]).__name__, tuple(mode._tokens[ORDERED].shape))
tokens = {}
handle_effects(True, tokens, torch.ops.aten._print.default, ("handled",), {})
say(list(tokens))
fails(lambda: handle_effects(False, {}, torch.ops.aten._print.default, ("a",), {}))
fails(lambda: handle_effects(True, {}, torch.ops.aten.sin.default, (X,), {}))
""",
    "what has effects": """
get = effects._get_effect
say([has_effects(op) for op in (torch.ops.aten._print.default, torch.ops.aten.sin.default, torch.ops.aten._assert_async.msg, ops.note.default, with_effects)])
say(get("effect_test::note"), get("effect_test::nothing"), get("aten::_print"), get(note), get(torch.ops.higher_order.print))
fails(lambda: get(3))
handle = effects._register_effectful_op(ops.plain.default, ORDERED)
say(get(ops.plain.default))
handle.destroy()
say(get(ops.plain.default))
""",
}


def answers(torch, names):
    """The lines that programs print, each in the scope of the first lines, which run once."""
    lines = []

    def say(*values):
        lines.append(" ".join(map(str, values)).replace("cresset", "torch"))

    def fails(function):
        try:
            function()
        except Exception as error:  # noqa: BLE001
            say("error", type(error).__name__)
        else:
            say("no error")

    scope, found = {"say": say, "fails": fails}, {}
    exec(_PRELUDE, scope)
    for name in names:
        lines.clear()
        scope["CALLS"].clear()
        torch.manual_seed(0)
        try:
            exec(PROGRAMS[name], scope)
        except Exception as error:  # noqa: BLE001
            say("error", type(error).__name__, error)
        found[name] = list(lines)
    return found


def record(path):
    """Writes PyTorch's answers."""
    import logging
    import warnings

    import torch

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    out = io.StringIO()
    for name, lines in answers(torch, PROGRAMS).items():
        out.write(f"## {name}\n" + "".join(f"{line}\n" for text in lines for line in text.split("\n")))
    with open(path, "w") as file:
        file.write(out.getvalue())


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else __file__.replace("effect_programs.py", "effects.txt"))
