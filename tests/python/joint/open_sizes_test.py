"""`aot_function(dynamic=True)`: one pair of graphs serves inputs of other sizes, as far as the conditions on sizes hold."""

import unittest

from cresset.functorch.compile import aot_function, aot_module, default_partition, min_cut_rematerialization_partition, nop
from cresset.utils._pytree import tree_leaves

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

SIZES = ((4, 5), (6, 7), (8, 8), (3, 9))
PROGRAMS = {
    "view": lambda x: (x[1:], x.sin()), "transposed": lambda x: (x.t(), x.cos()), "flat": lambda x: x.view(-1), "half": lambda x: (x[: x.shape[0] // 2], x * 2),
    "strides": lambda x: (x.t() * 2).contiguous().t(), "diagonal": lambda x: x.diagonal(), "numbers": lambda x: (x.mean(0) + x.var(1).sum(), x.shape[0] + 1),
    "product": lambda x: x @ x.t() / x.shape[1], "joined": lambda x: torch.cat([x, x.cos()], 1).softmax(1), "norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "repeated": lambda x: x.sum(0, keepdim=True).expand(x.shape[0], -1).exp(), "written": lambda x: ((x * 1).mul_(2), x[1:]),
}  # fmt: skip


class OpenSizes(unittest.TestCase):
    def compiler(self, graph, inputs):
        self.graphs.append(graph)
        return graph.forward

    def results(self, function, size):
        x = torch.linspace(-1, 1, size[0] * size[1]).view(size).requires_grad_()
        found = tree_leaves(function(x))
        outs = [out for out in found if isinstance(out, torch.Tensor)]
        seeds = [torch.linspace(0, 1, out.numel()).view(out.shape[::-1]).permute(*range(out.dim() - 1, -1, -1)) for out in outs]
        torch.autograd.backward(outs, seeds)
        return [*found, *[out.stride() for out in outs], x.grad]

    def test_sizes_that_forward_computes_are_not_asked_of_gradients(self):
        for sizes in (((2, 3), (3, 2)), ((5,), (5,)), ((2, 2, 2), (2,))):
            a, b = (torch.linspace(-1, 1, torch.Size(size).numel()).view(size).requires_grad_() for size in sizes)
            program = aot_function(torch.kron, nop, partition_fn=min_cut_rematerialization_partition, dynamic=True)
            for found, wanted in zip(
                torch.autograd.grad(program(a, b).square().sum(), (a, b)), torch.autograd.grad(torch.kron(a, b).square().sum(), (a, b)), strict=True
            ):
                torch.testing.assert_close(found, wanted)

    def test_counts_of_elements_in_numbers_of_a_gradient(self):
        for size in ((5,), (5, 6), (5, 5, 5), (3, 3, 4, 5), (2, 3, 4, 5, 6)):
            for correction in (0, 1, 2):
                program = lambda x, correction=correction: torch.var_mean(x, correction=correction)[0]  # noqa: E731
                x = torch.linspace(-1, 1, torch.Size(size).numel()).view(size).requires_grad_()
                wanted, found = (torch.autograd.grad(f(x), x)[0] for f in (program, aot_function(program, nop, dynamic=True)))
                torch.testing.assert_close(found, wanted)

    def check(self, program, captures, partition=default_partition):
        self.graphs = []
        function = aot_function(program, self.compiler, partition_fn=partition, dynamic=True)
        for size in SIZES:
            for a, b in zip(self.results(function, size), self.results(program, size), strict=True):
                torch.testing.assert_close(a, b)
        self.assertEqual(len(self.graphs), 2 * captures)

    def test_programs(self):
        for name, program in PROGRAMS.items():
            for partition in (default_partition, min_cut_rematerialization_partition):
                with self.subTest(name, partition=partition.__name__):
                    self.check(program, 1, partition)

    def test_conditions(self):
        self.check(lambda x: x.sin() if x.shape[0] > 5 else x.cos(), 2)
        self.check(lambda x: x * 2 if x.shape[0] == x.shape[1] else x * 3, 2)

    def test_without_gradients(self):
        self.graphs = []
        function = aot_function(lambda x: (x.add_(1), x.shape[0])[1], self.compiler, dynamic=True)
        for n in (3, 5):
            x = torch.zeros(n)
            self.assertEqual(function(x), n)
            self.assertEqual(x.tolist(), [1.0] * n)
        self.assertEqual(len(self.graphs), 1)

    def test_strides_and_places_in_memory_are_those_of_the_input(self):
        for dynamic in (False, True):
            function = aot_function(lambda x: (x.view(x.shape), x[0], x.t()), nop, dynamic=dynamic)
            base = torch.arange(24.0)
            for x in (base[:6].view(2, 3), base[:12].view(4, 3).t(), base[6:12].view(2, 3), base.view(6, 4)[::2, :3]):
                for found, wanted in zip(function(x), (x.view(x.shape), x[0], x.t()), strict=True):
                    torch.testing.assert_close(found, wanted)
                    self.assertEqual(found.data_ptr(), wanted.data_ptr())

    def test_sizes_0_and_1_have_graphs_of_their_own(self):
        self.graphs = []
        function = aot_function(lambda x: x + torch.ones(4), self.compiler, dynamic=True)
        self.assertEqual(function(torch.zeros(1)).tolist(), [1.0] * 4)
        self.assertEqual(function(torch.zeros(4)).tolist(), [1.0] * 4)
        self.assertRaises(RuntimeError, function, torch.zeros(3))

    def test_modules(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
        compiled = aot_module(model, nop, dynamic=True)
        for n in (2, 5):
            x = torch.linspace(-1, 1, 3 * n).view(n, 3)
            compiled(x).sum().backward()
            found, model[0].weight.grad = model[0].weight.grad, None
            model(x).sum().backward()
            torch.testing.assert_close(found, model[0].weight.grad)
            model.zero_grad()


if __name__ == "__main__":
    unittest.main()
