"""Functions of operators of control flow that use open sizes from around them: exported, saved, decomposed and traced programs, and their gradients."""

import io
import unittest

from cresset._dynamo.exc import UncapturedHigherOrderOpError, Unsupported
from cresset._higher_order_ops import map as mapped
from cresset._higher_order_ops import scan, while_loop
from cresset.export import Dim, export, load, save
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn

X, Y = torch.arange(12.0).view(4, 3) / 12 + 0.1, torch.arange(5.0) / 5
OTHERS = torch.arange(18.0).view(6, 3) / 18 + 0.1, torch.arange(7.0) / 7


def count():
    return torch.zeros((), dtype=torch.int64)


PROGRAMS = {
    "cond": lambda x, y: torch.cond(x.sum() > 0, lambda v: v.sin() + y.shape[0], lambda v: v.cos() - y.shape[0], (x,)),
    "cond, one branch": lambda x, y: torch.cond(x.sum() > 0, lambda v: v.sin() * y.shape[0], lambda v: v.cos(), (x,)),
    "cond, own size": lambda x, y: torch.cond(x.sum() > 0, lambda v: v.sin() * v.shape[0], lambda v: v.cos(), (x,)),
    "cond, arithmetic": lambda x, y: torch.cond(x.sum() > 0, lambda v: v.sin() * (y.shape[0] * 2 + x.shape[0]), lambda v: v.cos(), (x,)),
    "cond, factory": lambda x, y: torch.cond(x.sum() > 0, lambda v: v.sum() + torch.ones(y.shape[0]).sum(), lambda v: v.sum() * 2, (x,)),
    "cond, within cond": lambda x, y: torch.cond(
        x.sum() > 0, lambda v: torch.cond(v.sum() > 1, lambda w: w * y.shape[0], lambda w: w + 1, (v,)), lambda v: v.cos(), (x,)
    ),
    "map": lambda x, y: mapped(lambda row: row * y.shape[0] + y.sum(), x),
    "map, argument": lambda x, y: mapped(lambda row, n: row * n, x, y.shape[0]),
    "while_loop, condition": lambda x, y: while_loop(lambda i, v: i < y.shape[0], lambda i, v: (i + 1, v * 2), (count(), x))[1],
    "while_loop, body": lambda x, y: while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + y.shape[0]), (count(), x))[1],
    "scan": lambda x, y: scan(lambda c, row: (c + row * y.shape[0], c + 0), torch.zeros(3), x)[1],
}
SIZES = ({0: Dim("b")}, {0: Dim("n")})


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


def saved(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def gradient(function, x, y):
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(function(leaf, y).sum(), leaf)[0]


class OuterSizes(unittest.TestCase):
    def of_all(self, check):
        for name, function in PROGRAMS.items():
            with self.subTest(name):
                check(function)

    def test_exported(self):
        def check(function):
            program = export(Function(function), (X, Y), dynamic_shapes=SIZES)
            for version in (program, saved(program), program.run_decompositions(), saved(program.run_decompositions())):
                torch.testing.assert_close(version.module()(*OTHERS), function(*OTHERS))

        self.of_all(check)

    def test_gradients_of_exported_programs(self):
        def check(function):
            module = export(Function(function), (X, Y), dynamic_shapes=SIZES).module()
            torch.testing.assert_close(gradient(module, *OTHERS), gradient(function, *OTHERS))

        self.of_all(check)

    def test_traced(self):
        self.of_all(lambda function: torch.testing.assert_close(make_fx(function, tracing_mode="symbolic")(X, Y)(*OTHERS), function(*OTHERS)))

    def test_traced_gradients(self):
        function = PROGRAMS["cond, factory"]
        graph = make_fx(lambda x, y: gradient(function, x, y), tracing_mode="symbolic")(X, Y)
        torch.testing.assert_close(graph(*OTHERS), gradient(function, *OTHERS))

    def test_the_tensor_that_has_the_size_is_an_operand(self):
        program = export(Function(PROGRAMS["cond"]), (X, Y), dynamic_shapes=SIZES)
        (call,) = [n for n in program.graph.nodes if n.name == "cond"]
        self.assertEqual([n.name for n in call.args[3]], ["x", "y"])
        branch = program.graph_module.true_graph_0.graph
        self.assertEqual([str(n.target) for n in branch.nodes if n.op == "call_function"], ["aten.sym_size.int", "aten.sin.default", "aten.add.Tensor"])

    def test_a_number_of_the_data_is_none(self):
        def function(x, y):
            number = y.sum().to(torch.int64).item()
            return torch.cond(x.sum() > 0, lambda v: v * number, lambda v: v + number, (x,))

        with self.assertRaisesRegex(UncapturedHigherOrderOpError, "number u0 from around it, which is no size of a tensor"):
            export(Function(function), (X, Y))


class WithinTransforms(unittest.TestCase):
    """Exported programs hold the operator, on elements and dual tensors; captures that would hold one branch alone are refused, as by PyTorch."""

    @staticmethod
    def choice(v):
        return torch.cond(v.sum() > 0, lambda u: u.sin(), lambda u: u.cos(), (v,))

    def test_on_elements_and_dual_tensors(self):
        programs = (
            lambda x, y: torch.vmap(self.choice)(x),
            lambda x, y: torch.vmap(lambda row: torch.cond(y.sum() > 0, lambda u: u.sin(), lambda u: u.cos(), (row,)))(x),
            lambda x, y: torch.func.jvp(self.choice, (x,), (x,))[1],
            lambda x, y: torch.vmap(lambda row: mapped(lambda e: e.sin() + 1, row))(x),
        )
        for function in programs:
            module = export(Function(function), (X, Y)).module()
            for sign in (1, -1):
                torch.testing.assert_close(module(X * sign, Y * sign), function(X * sign, Y * sign))

    def test_a_predicate_for_each_element_is_traced(self):
        program = export(Function(lambda x, y: torch.vmap(self.choice)(x)), (X, Y)).run_decompositions()
        for module in (program.module(), make_fx(lambda x, y: torch.vmap(self.choice)(x))(X, Y)):
            torch.testing.assert_close(module(X - 0.5, Y), torch.vmap(self.choice)(X - 0.5))

    def test_one_for_all_and_dual_tensors_are_not(self):
        for function in (
            lambda x, y: torch.vmap(lambda row: torch.cond(y.sum() > 0, lambda u: u.sin(), lambda u: u.cos(), (row,)))(x),
            lambda x, y: torch.func.jvp(self.choice, (x,), (x,))[1],
        ):
            self.assertRaisesRegex(Unsupported, "cond: cannot be traced within vmap or jvp", make_fx(function, tracing_mode="fake"), X, Y)
            program = export(Function(function), (X, Y))
            self.assertRaisesRegex(Unsupported, "cond: cannot be traced within vmap or jvp", program.run_decompositions)

    def test_a_gradient_within_an_exported_program_is_refused(self):
        with self.assertRaisesRegex(Unsupported, "a gradient through cond, of which one branch alone"):
            export(Function(lambda x, y: torch.func.grad(lambda v: self.choice(v).sum())(x)), (X, Y))


if __name__ == "__main__":
    unittest.main()
