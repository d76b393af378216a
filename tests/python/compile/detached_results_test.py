"""Results of compiled functions with gradients: a detached one beside the tensor itself, and numbers that change between steps of training."""

import unittest

import cresset as torch
from cresset import nn

BACKENDS = ("eager", "aot_eager", "inductor")
W = torch.linspace(0.5, 1.5, 3).requires_grad_()


def _beside(second):
    def program(x):
        h = x * W
        return h, second(h)

    return program


PROGRAMS = {
    "detached": _beside(lambda h: h.detach()), "data": _beside(lambda h: h.data), "a view of it": _beside(lambda h: h.detach().view(3)),
    "computed": _beside(lambda h: h.detach() * 2), "twice": lambda x: (lambda h: (h.detach(), h, h.detach()))(x * W), "itself": _beside(lambda h: h),
}  # fmt: skip


class Results(unittest.TestCase):
    def test_each_has_its_own_history(self):
        for name, program in PROGRAMS.items():
            for backend in BACKENDS:
                with self.subTest(name, backend=backend):
                    torch._dynamo.reset()
                    x = torch.tensor([1.0, -2.0, 3.0])
                    found, wanted = torch.compile(program, backend=backend)(x), program(x)
                    grads = []
                    for results in (found, wanted):
                        grads.append(torch.autograd.grad(sum(r.pow(2).sum() for r in results), W)[0])
                    torch.testing.assert_close(*grads)
                    torch.testing.assert_close(found, wanted)
                    self.assertEqual([r.requires_grad for r in found], [r.requires_grad for r in wanted])

    def test_a_module_keeps_what_it_detaches(self):
        class Keeps(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.last = nn.Linear(3, 3), None

            def forward(self, x):
                h = self.layer(x)
                self.last = h.detach()
                return h

        for backend in BACKENDS:
            torch._dynamo.reset()
            model = Keeps()
            out = torch.compile(model, backend=backend)(torch.ones(2, 3))
            out.sum().backward()
            torch.testing.assert_close(model.layer.bias.grad, torch.full((3,), 2.0))
            self.assertFalse(model.last.requires_grad)


class Numbers(unittest.TestCase):
    def test_an_integer_that_changes_between_steps(self):
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.calls = nn.Linear(3, 3), 0

            def forward(self, x):
                self.calls += 1
                return self.layer(x) * self.calls

        for backend in BACKENDS:
            torch._dynamo.reset()
            model = Counts()
            compiled = torch.compile(model, backend=backend)
            for _ in range(5):
                compiled(torch.ones(2, 3)).sum().backward()
            torch.testing.assert_close(model.layer.bias.grad, torch.full((3,), 2.0 * (1 + 2 + 3 + 4 + 5)))


if __name__ == "__main__":
    unittest.main()
