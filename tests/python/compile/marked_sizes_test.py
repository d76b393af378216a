"""Dimensions that a program marks: one graph for every size, 0 and 1 among them, where nothing depends on it."""

import unittest

from cresset._dynamo.testing import CompileCounterWithBackend
from cresset._dynamo.utils import same

import cresset as torch

_WEIGHT = torch.full((5, 2), 2.0)
ANY_SIZE = {
    "pointwise": lambda x: x * 2, "the size": lambda x: x * 2 + x.shape[0], "sum": lambda x: x.sum(0), "mean": lambda x: x.mean(), "product": lambda x: x @ torch.ones(2, 2),
    "view": lambda x: x.view(-1), "cat": lambda x: torch.cat([x, x]), "softmax": lambda x: torch.softmax(x, 1), "zeros": lambda x: x + torch.zeros(x.shape),
    "size of the result": lambda x: (x.sin(), x.shape[0]), "transposed": lambda x: x.t().reshape(-1), "arange": lambda x: torch.arange(x.shape[0]),
    "cond": lambda x: torch.cond(x.shape[0] > 3, lambda x: x + 1, lambda x: x - 1, (x,)),
}  # fmt: skip
DEPENDS = {
    "branch": lambda x: x + 1 if x.shape[0] > 3 else x - 1, "broadcast": lambda x: x + _WEIGHT, "expand": lambda x: x.expand(5, 2), "squeeze": lambda x: x.squeeze(0),
}  # fmt: skip


def _outcome(function, *args):
    try:
        return function(*args)
    except RuntimeError:
        return "an error"


class Unbacked(unittest.TestCase):
    def found(self, function, backend, sizes, agree):
        torch._dynamo.reset()
        counter = CompileCounterWithBackend(backend)
        compiled = torch.compile(function, backend=counter)
        for n in sizes:
            x = torch.linspace(0, 1, 2 * n).view(n, 2)
            torch._dynamo.mark_unbacked(x, 0)
            agree(_outcome(compiled, x), _outcome(function, x))
        return counter.frame_count

    def test_one_graph_for_all_sizes(self):
        for name, function in ANY_SIZE.items():
            for backend in ("eager", "aot_eager", "inductor"):
                for sizes in ((5, 1, 3, 0), (1, 5, 2)):
                    with self.subTest(name, backend=backend, sizes=sizes):
                        agree = lambda a, b: torch.testing.assert_close(a, b, equal_nan=True)  # noqa: E731
                        self.assertEqual(self.found(function, backend, sizes, agree), 1)

    def test_what_depends_on_the_size_has_eager_results(self):
        for name, function in DEPENDS.items():
            for sizes in ((5, 1, 3, 0), (1, 5, 2)):
                with self.subTest(name, sizes=sizes):
                    self.found(function, "eager", sizes, lambda a, b: self.assertTrue(same(a, b)))

    def test_what_is_not_marked_later(self):
        counter = CompileCounterWithBackend("eager")
        compiled = torch.compile(lambda x: x * 2, backend=counter, dynamic=True)
        x = torch.ones(3, 5)
        torch._dynamo.mark_unbacked(x, 0)
        for each in (x, torch.ones(1, 5), torch.ones(0, 5)):
            torch.testing.assert_close(compiled(each), each * 2)
        self.assertEqual(counter.frame_count, 1)


class Dynamic(unittest.TestCase):
    def test_0_and_1_have_graphs_of_their_own(self):
        torch._dynamo.reset()
        counter = CompileCounterWithBackend("eager")
        compiled = torch.compile(lambda x: x * 2, backend=counter)
        for n, graphs in ((1, 1), (2, 2), (0, 3), (3, 3), (4, 3)):
            x = torch.ones(n)
            torch._dynamo.mark_dynamic(x, 0)
            torch.testing.assert_close(compiled(x), x * 2)
            self.assertEqual(counter.frame_count, graphs)


class Comparison(unittest.TestCase):
    def test_a_tensor_and_a_number(self):
        for tensor, number in ((torch.tensor([5]), 5), (torch.tensor(5), 5), (torch.tensor([5, 5]), 5), (torch.tensor([0.5]), 0.5)):
            self.assertTrue(same(tensor, number))
        self.assertFalse(same(torch.tensor([5]), 6))
        self.assertFalse(same(torch.tensor([5.0]), 5))


if __name__ == "__main__":
    unittest.main()
