"""`torch.cond` by a condition on sizes in a compiled function: one graph that holds both branches."""

import unittest

import cresset as torch
from cresset import nn


def _graphs(function, *calls, **options):
    """The results of compiled calls, and the graphs that they made."""
    graphs = []

    def backend(module, examples):
        graphs.append(module)
        return module.forward

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True, **options)
    return [compiled(*call) for call in calls], graphs


def _num_conds(module):
    return sum("cond" in str(node.target) and node.op == "call_function" for node in module.graph.nodes)


class SizeConditions(unittest.TestCase):
    def assert_one_graph(self, function, *calls, conds=1, **options):
        found, graphs = _graphs(function, *calls, **({"dynamic": True} | options))
        for one, call in zip(found, calls, strict=True):
            torch.testing.assert_close(one, function(*call))
        self.assertEqual(len(graphs), 1)
        self.assertEqual(_num_conds(graphs[0]), conds)

    def test_one_graph_serves_both_sides(self):
        def program(x):
            return torch.cond(x.shape[0] > 4, lambda x: x.sin().sum(), lambda x: x.cos().sum(), (x,))

        self.assert_one_graph(program, *[(torch.arange(n).float(),) for n in (3, 5, 6, 2)])

    def test_sizes_that_turn_out_to_change(self):
        def program(x):
            return torch.cond(x.shape[0] > 5, lambda x: x + 1, lambda x: x - 1, (x,))

        found, graphs = _graphs(program, *[(torch.zeros(n),) for n in (3, 4, 6, 7)])
        self.assertEqual([one[0].item() for one in found], [-1, -1, 1, 1])
        self.assertEqual(len(graphs), 2)

    def test_conditions_within_conditions(self):
        def program(x):
            def above(x):
                return torch.cond(x.shape[0] > 6, lambda a: a + 1, lambda a: a + 2, (x,))

            return torch.cond(x.shape[0] > 4, above, lambda x: x * 3, (x,))

        self.assert_one_graph(program, *[(torch.ones(n),) for n in (3, 5, 8, 2)])

    def test_branches_use_sizes_from_around_them(self):
        def program(x, y):
            first = torch.cond(x.shape[0] + y.shape[0] > 7, lambda x: x + y.shape[0], lambda x: x - 1, (x,))
            twice = x.shape[0] * 2
            return torch.cond(twice <= 8, lambda a: a * twice, lambda a: a / twice, (first,))

        self.assert_one_graph(program, (torch.ones(3), torch.ones(4)), (torch.ones(4), torch.ones(5)), (torch.ones(6), torch.ones(2)), conds=2)

    def test_a_branch_uses_an_integer_argument(self):
        def program(x, n):
            return torch.cond(n > 4, lambda x: x + n, lambda x: x - n, (x,))

        calls = [(torch.ones(a), n) for a, n in ((3, 4), (4, 5), (6, 2))]
        for one, call in zip(_graphs(program, *calls, dynamic=True)[0], calls, strict=True):
            torch.testing.assert_close(one, program(*call))

    def test_the_predicate_compares_two_sizes(self):
        def program(x, y):
            return torch.cond(pred=x.shape[0] == y.shape[0], true_fn=lambda x: x + 1, false_fn=lambda x: x - 1, operands=(x,))

        self.assert_one_graph(program, *[(torch.ones(a), torch.ones(b)) for a, b in ((3, 4), (5, 5), (6, 7))])

    def test_gradients_reach_operands_and_what_branches_use(self):
        def program(x, w):
            return torch.cond(x.shape[0] > 4, lambda x: (x * w).sin(), lambda x: x.cos() * w, (x,)).sum()

        for backend in ("eager", "aot_eager", "inductor"):
            torch._dynamo.reset()
            compiled = torch.compile(program, backend=backend, dynamic=True, fullgraph=True)
            for n in (3, 5, 6, 2):
                inputs = [(torch.arange(n).float().requires_grad_(), torch.tensor(2.0, requires_grad=True)) for _ in range(2)]
                compiled(*inputs[0]).backward()
                program(*inputs[1]).backward()
                for ours, wanted in zip(*inputs, strict=True):
                    torch.testing.assert_close(ours.grad, wanted.grad)

    def test_modules_are_branches(self):
        class Chosen(nn.Module):
            def __init__(self):
                super().__init__()
                self.few, self.many = nn.Linear(3, 3), nn.Linear(3, 3)

            def forward(self, x):
                return torch.cond(x.size(0) > 5, self.many, lambda x: self.few(x) * 2, (x,))

        self.assert_one_graph(Chosen(), *[(torch.ones(n, 3),) for n in (2, 6, 7, 4)])


if __name__ == "__main__":
    unittest.main()
