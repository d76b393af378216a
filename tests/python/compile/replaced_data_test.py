"""`x.data = y` within captured functions, and numbers of tensors that the capture knows."""

import unittest

import cresset as torch
from cresset import nn

BACKENDS = ("eager", "aot_eager", "inductor")


def replaced(x, y):
    x.data = y * 2
    return x + 1


def shared(x, y):
    x.data = y
    x.mul_(3)
    return y + 1


class Data(unittest.TestCase):
    def test_one_graph(self):
        for function in (replaced, shared):
            for backend in BACKENDS:
                torch._dynamo.reset()
                results = []
                for call in (function, torch.compile(function, backend=backend, fullgraph=True)):
                    x, y = torch.zeros(3), torch.arange(3.0)
                    results.append((call(x, y).tolist(), x.tolist(), y.tolist(), call(x, torch.ones(3)).tolist()))
                self.assertEqual(results[1], results[0])

    def test_a_parameter_keeps_its_gradients(self):
        for backend in BACKENDS:
            torch._dynamo.reset()
            results = []
            for compiles in (False, True):
                weight = nn.Parameter(torch.ones(3))

                def step(x, weight=weight):
                    weight.data = weight.data * 0.5
                    return (weight * x).sum()

                call = torch.compile(step, backend=backend, fullgraph=True) if compiles else step
                for _ in range(2):
                    call(torch.arange(3.0)).backward()
                results.append((weight.tolist(), weight.grad.tolist(), type(weight)))
            self.assertEqual(results[1], results[0])

    def test_sizes_change_with_it(self):
        def f(x, y):
            x.data = y
            return x.sum(), x.shape[0]

        results = [call(torch.zeros(3), torch.ones(5)) for call in (f, torch.compile(f, fullgraph=True))]
        self.assertEqual(results[1], results[0])


class Numbers(unittest.TestCase):
    def test_known_numbers_of_tensors(self):
        programs = [
            lambda x: x * [1, 2, 3][torch.tensor(2)], lambda x: x * int(torch.tensor(3)), lambda x: x + float(torch.tensor(2.5)), lambda x: x * (4, 5)[torch.tensor([1])[0]],
            lambda x: x + 1 if torch.tensor(True) else x, lambda x: x * sum(range(10)[torch.tensor(2) : torch.tensor(5)]), lambda x: x * torch.tensor([5, 6])[1].item(),
        ]  # fmt: skip
        for function in programs:
            torch._dynamo.reset()
            x = torch.arange(4.0)
            self.assertTrue(torch.equal(torch.compile(function, fullgraph=True)(x), function(x)))

    def test_numbers_that_data_tells(self):
        x = torch.arange(4.0)
        for function in (lambda x: x * float(x.sum()), lambda x: x * int(x.sum())):
            torch._dynamo.reset()
            self.assertTrue(torch.equal(torch.compile(function, fullgraph=True)(x), function(x)))
        with self.assertRaises((torch._dynamo.exc.Unsupported, torch._dynamo.exc.UserError)):
            torch.compile(lambda x: x * [1, 2, 3][x.int().max() - 1], fullgraph=True)(x)


if __name__ == "__main__":
    unittest.main()
