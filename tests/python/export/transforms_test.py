"""Function transforms in captured programs: 113 programs, exported, decomposed, saved and traced, give what they give in eager mode, and exported graphs are
PyTorch's where its own give that, too."""

import io
import pathlib
import re
import unittest
import warnings

import cresset.nn.functional as F
import pytest
from cresset._dynamo.exc import Unsupported
from cresset._functorch import predispatch
from cresset.export import Dim, export, load, save
from cresset.functorch.compile import aot_function, aot_module, nop
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn

from .transform_programs import PROGRAMS, Case, answer, fresh, same, targets

# Graphs that differ from PyTorch's, and why.
DIFFERENT = {
    "autograd grad create": "a power of 1 is the number itself",
    "backward": "a gradient that something else refers to is copied",
    "checkpoint reentrant": "a custom function runs in the gradient mode around it",
    "functional jacobian": "the result is taken apart once, and detached",
    "functional jvp": "the product is no view of a gradient",
}
# Strict captures are refused, as by PyTorch.
NOT_STRICT = {"functional jacobian", "functional jvp", "autograd grad", "autograd grad of parameter", "autograd grad create", "autograd grad leaf input", "autograd grad with outputs", "backward",
              "saved hooks"}  # fmt: skip
# Under open sizes of all dimensions, by make_fx: operators without a rule for batches run element by element, as many as there are at the point; the last is
# made for the sizes of the example, as by PyTorch.
NOT_SYMBOLIC = {"grad per sample", "hessian", "functional jacobian", "vmap dynamic chunk"}
# Recomputation that goes by backward() of all leaves.
NOT_COMPILED = {"checkpoint reentrant"}
# Tangents that are made by hand are seen below autograd alone.
NOT_WHOLE = {"forward ad"}


def _recorded():
    lines = pathlib.Path(__file__).with_name("transforms.txt").read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines)


_RECORDED = _recorded()


def saved(program):
    """The program, written and read."""
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


class Programs(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not torch.compat.is_installed():  # programs import from torch
            torch.compat.install()
            self.addCleanup(torch.compat.uninstall)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def answers(self, name):
        recorded, found = _RECORDED[name], answer(torch, name)
        self.assertNotEqual(found, "broken")
        if found.startswith("fails") or (recorded.startswith(("graph", "refused")) and name not in DIFFERENT):
            self.assertEqual(found, recorded)
        if found.startswith("graph"):
            self.runs(name, found)

    def runs(self, name, graph):
        case = Case(torch, name)
        wanted = case.module(*fresh(case.others))
        program = export(case.module, fresh(case.args), dynamic_shapes=case.shapes)
        for version in (saved(program), program.run_decompositions(), saved(program.run_decompositions({}))):
            self.assertTrue(same(torch, version.module()(*fresh(case.others)), wanted))
        if name in NOT_STRICT:
            self.assertRaises(Unsupported, export, case.module, fresh(case.args), dynamic_shapes=case.shapes, strict=True)
        else:
            strict = export(case.module, fresh(case.args), dynamic_shapes=case.shapes, strict=True)
            self.assertEqual(f"graph {targets(strict.graph_module)}", graph)

    def traced(self, name):
        case = Case(torch, name)
        for mode in ("real", "fake", *(["symbolic"] if name not in NOT_SYMBOLIC else [])):
            for whole in (False, *([True] if name not in NOT_WHOLE else [])):
                graph = make_fx(lambda *a: case.module(*a), tracing_mode=mode, _allow_non_fake_inputs=True, pre_dispatch=whole)(*fresh(case.args))
                args = fresh(case.others if mode == "symbolic" else tuple(a.flip(0) for a in case.args))
                self.assertTrue(same(torch, graph(*args), case.module(*args)), (mode, whole))

    def compiled(self, name):
        case = Case(torch, name)
        run = aot_module(case.module, nop) if PROGRAMS[name][3] else aot_function(lambda *a: case.module(*a), nop)
        found, wanted = (self.gradients(function, case.args) for function in (run, case.module))
        self.assertTrue(same(torch, found, wanted))

    @staticmethod
    def gradients(function, args):
        """Results, and gradients of their sum."""
        leaves = [a.detach().clone().requires_grad_(a.is_floating_point()) for a in args]
        results = [r for r in torch.utils._pytree.tree_leaves(function(*leaves))]
        roots, inputs = [r.sum() for r in results if r.requires_grad], [leaf for leaf in leaves if leaf.requires_grad]
        found = torch.autograd.grad(sum(roots), inputs, allow_unused=True) if roots else ()
        return [r.detach() for r in results], [g for g in found if g is not None]


def _tests(name):
    title = "test_" + re.sub(r"\W", "_", name)
    setattr(Programs, title, lambda self: self.answers(name))
    if not _RECORDED[name].startswith("refused"):
        setattr(Programs, f"{title}_traced", lambda self: self.traced(name))
    if not _RECORDED[name].startswith("refused") and name not in NOT_COMPILED:
        setattr(Programs, f"{title}_compiled", lambda self: self.compiled(name))


for _name in PROGRAMS:
    _tests(_name)


def test_programs_are_recorded():
    assert list(PROGRAMS) == list(_RECORDED)
    assert not [name for name in (*DIFFERENT, *NOT_STRICT, *NOT_SYMBOLIC, *NOT_COMPILED, *NOT_WHOLE) if name not in PROGRAMS]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


X, Y = torch.arange(12.0).view(4, 3) / 7 - 0.5, torch.arange(6.0).view(3, 2) / 5


class Levels(unittest.TestCase):
    def test_they_are_numbered_by_nesting(self):
        graph = export(Function(torch.vmap(torch.vmap(torch.sin))), (X,)).graph
        self.assertEqual([n.args[2] for n in graph.nodes if n.target is predispatch._add_batch_dim], [1, 2])

    def test_they_end_where_an_operator_fails(self):
        module = export(Function(lambda x, y: torch.vmap(lambda row: row @ y)(x)), (X, Y)).module(check_guards=False)
        self.assertRaises(RuntimeError, module, X, torch.ones(5, 2))
        self.assertEqual(predispatch.depth(), 0)
        torch.testing.assert_close(module(X, Y), X @ Y)

    def test_modules_are_copied_and_saved(self):
        import copy

        module = export(Function(torch.vmap(torch.sin)), (X,)).module()
        file = io.BytesIO()
        torch.save(module, file)
        file.seek(0)
        for other in (copy.deepcopy(module), torch.load(file, weights_only=False)):
            torch.testing.assert_close(other(X), X.sin())

    def test_a_program_runs_within_others(self):
        module = export(Function(torch.vmap(torch.sin)), (X,)).module()
        twice = torch.stack([X, X + 1])
        torch.testing.assert_close(torch.vmap(module)(twice), twice.sin())
        torch.testing.assert_close(torch.func.grad(lambda x: module(x).sum())(X), X.cos())
        torch.testing.assert_close(torch.func.jvp(module, (X,), (X,))[1], X.cos() * X)

    def test_they_stay_though_nothing_uses_them(self):
        program = export(Function(torch.vmap(torch.sin)), (X,))
        before = len(program.graph.nodes)
        self.assertFalse(program.graph.eliminate_dead_code())
        self.assertEqual(len(program.graph.nodes), before)

    def test_programs_are_exported_again(self):
        program = export(Function(torch.vmap(lambda row: row * row.shape[0])), (X,), dynamic_shapes=(({0: Dim("b"), 1: Dim("n")},),))
        again = export(program.module(), (X,), dynamic_shapes=({0: Dim("b"), 1: Dim("n")},))
        self.assertEqual(targets(again.graph_module), targets(program.graph_module))
        torch.testing.assert_close(again.module()(torch.ones(5, 7)), torch.full((5, 7), 7.0))

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(RuntimeError, "innermost level is none, expected one of vmap"):
            predispatch._vmap_decrement_nesting()
        with self.assertRaisesRegex(RuntimeError, "expected a level of vmap that is open, got 1 of 0"):
            predispatch._add_batch_dim(X, 0, 1)
        with self.assertRaisesRegex(RuntimeError, "no level of forward mode is open"):
            predispatch._make_dual(X, X)
        with self.assertRaisesRegex(RuntimeError, "'error', 'different' or 'same', got other"):
            predispatch._vmap_increment_nesting(2, "other")

    def test_weights_get_gradients_through_them(self):
        layer = nn.Linear(3, 2)
        program = export(Function(torch.vmap(layer)), (X,)).module()
        program(X).sum().backward()
        torch.testing.assert_close(program.function.weight.grad if hasattr(program, "function") else next(program.parameters()).grad, X.sum(0).expand(2, 3))


KEPT = {
    "layer_norm": lambda v: F.layer_norm(v, (3,)).pow(2).sum(),
    "cross_entropy": lambda v: F.cross_entropy(v, torch.tensor([0, 1, 2, 0])),
    "softmax": lambda v: F.softmax(v, -1).max(),
    "attention": lambda v: F.scaled_dot_product_attention(v[None], v[None], v[None]).sum(),
    "batch_norm": lambda v: F.batch_norm(v, torch.zeros(3), torch.ones(3)).pow(2).sum(),
    "matmul": lambda v: (v @ Y).exp().sum(),
    "einsum": lambda v: torch.einsum("ij,jk->ik", v, Y).pow(2).sum(),
    "std": lambda v: v.std() + v.var(0).sum(),
    "sort": lambda v: (v.sort(-1)[0] * torch.arange(3.0)).sum() + v.topk(2)[0].sum(),
    "max_pool": lambda v: F.max_pool1d(v[None], 2).sum(),
    "conv": lambda v: F.conv1d(v[None], torch.ones(2, 4, 2)).sigmoid().sum(),
    "logsumexp": lambda v: v.logsumexp(1).sum() + v.prod(),
}


class Kept(unittest.TestCase):
    """Values that autograd keeps are those of the program, also where an operator computed them within itself."""

    def check(self, function):
        program = export(Function(function), (X,))
        for version in (program, saved(program), program.run_decompositions()):
            torch.testing.assert_close(version.module()(X + 0.25), function(X + 0.25))

    def test_by_grad(self):
        for name, function in KEPT.items():
            with self.subTest(name):
                self.check(torch.func.grad(function))

    def test_by_autograd(self):
        for name, function in KEPT.items():
            with self.subTest(name):

                def gradient(x, function=function):
                    v = x.detach().requires_grad_()
                    return torch.autograd.grad(function(v), v)[0]

                self.check(gradient)

    def test_tangents_by_hand_are_refused_above_all_layers(self):
        def function(x):
            with torch.autograd.forward_ad.dual_level():
                return torch.autograd.forward_ad.unpack_dual(torch.autograd.forward_ad.make_dual(x, x).sin()).tangent

        with self.assertRaisesRegex(RuntimeError, "does not see tangents; use torch.func.jvp"):
            make_fx(function, pre_dispatch=True)(X)

    def test_by_derivatives_of_elements(self):
        self.check(torch.vmap(torch.func.grad(lambda v: F.layer_norm(v, (3,)).pow(2).sum())))
        self.check(torch.vmap(torch.func.hessian(lambda v: (v @ Y).tanh().sum())))
        self.check(lambda x: torch.func.hessian(lambda v: F.log_softmax(v, -1).exp().pow(2).sum())(x[0]))

    def test_a_size_that_a_rule_for_batches_checks(self):
        layer = nn.Linear(3, 2)
        graph = make_fx(torch.vmap(layer), tracing_mode="symbolic", _allow_non_fake_inputs=True)(X)
        shape = graph.graph.find_nodes(op="placeholder")[0].meta["val"].shape
        self.assertEqual((type(shape[0]), shape[1]), (torch.SymInt, 3))
        torch.testing.assert_close(graph(torch.ones(7, 3)), layer(torch.ones(7, 3)))

    def test_a_size_that_is_found_to_be_a_number(self):
        from cresset._dynamo.exc import UserError

        with self.assertRaisesRegex(UserError, "b = 4"):
            export(Function(torch.func.grad(KEPT["cross_entropy"])), (X,), dynamic_shapes=(({0: Dim("b")},),))


if __name__ == "__main__":
    pytest.main([__file__])
