"""Results of compiled functions with gradients: a detached one beside the tensor itself, and numbers that change between steps of training."""

import unittest
import warnings

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


class WrittenBuffers(unittest.TestCase):
    """A graph with a write is captured on wrapped tensors, whose detached ones are wrapped once."""

    PROGRAMS = {
        "returned": lambda h: (h.sum(), h.detach()), "beside it": lambda h: (h, h.detach()), "used": lambda h: ((h * h.detach()).sum(),),
        "a view": lambda h: (h.sum(), h.detach().view(-1)), "computed": lambda h: (h.sum(), h.detach() * 2), "detached twice": lambda h: (h.detach().detach(), h),
    }  # fmt: skip

    def test_detached_results_beside_a_batch_norm(self):
        class Normed(nn.Module):
            def __init__(self, program):
                super().__init__()
                self.norm, self.program = nn.BatchNorm1d(3), program

            def forward(self, x):
                return self.program(self.norm(x) * W)

        x = torch.linspace(-1, 2, 12).reshape(4, 3).sin()
        for name, program in self.PROGRAMS.items():
            for backend in BACKENDS:
                with self.subTest(name, backend=backend), warnings.catch_warnings():
                    warnings.simplefilter("error")  # that a graph runs as it was captured
                    torch._dynamo.reset()
                    models = Normed(program), Normed(program)
                    found, wanted = torch.compile(models[0], backend=backend, fullgraph=True)(x), models[1](x)
                    torch.testing.assert_close(found, wanted)
                    self.assertEqual([r.requires_grad for r in found], [r.requires_grad for r in wanted])
                    grads = [
                        torch.autograd.grad(sum(r.pow(2).sum() for r in results), (W, model.norm.weight)) for results, model in zip((found, wanted), models)
                    ]
                    torch.testing.assert_close(grads[0], grads[1])
                    torch.testing.assert_close(models[0].norm.running_mean, models[1].norm.running_mean)


class Cubed(torch.autograd.Function):
    """With a gradient that is none of its operators, so that it shows which of the two ran."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a * a

    @staticmethod
    def backward(ctx, grad):
        return 5 * ctx.saved_tensors[0] * grad


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, grad):
        return 7 * grad


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(a):
        return a[:2] * 2, a[2:] > 0

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return torch.cat([3 * grad, torch.zeros(1)])


class FunctionsOfPrograms(unittest.TestCase):
    """Beside a write their gradients are those of their own, and in place they change what is wrapped."""

    PROGRAMS = {
        "a function": lambda x: Cubed.apply(x).sum(), "twice": lambda x: Cubed.apply(Cubed.apply(x)).sum(), "in place": lambda x: (lambda y: (Doubled.apply(y) * y).sum())(x.clone()),
        "a part in place": lambda x: (lambda y: (Doubled.apply(y[:2]), y)[1].square().sum())(x * 1), "several results": lambda x: (lambda a, b: a.sum() * (1 + b.sum()))(*Halves.apply(x)),
    }  # fmt: skip

    def test_gradients_beside_a_write(self):
        for name, program in self.PROGRAMS.items():
            for backend in BACKENDS:
                with self.subTest(name, backend=backend):
                    torch._dynamo.reset()

                    def step(x, count, program=program):
                        count += 1
                        return program(x) + 0 * count

                    results = []
                    for call in (step, torch.compile(step, backend=backend, fullgraph=True)):
                        x, count = torch.tensor([1.0, -2.0, 3.0], requires_grad=True), torch.zeros(())
                        out = call(x, count)
                        out.backward()
                        results.append((out.item(), x.grad.tolist(), count.item()))
                    self.assertEqual(results[1], results[0])

    def test_without_gradients(self):
        for program in self.PROGRAMS.values():
            for backend in BACKENDS:
                torch._dynamo.reset()
                x = torch.tensor([1.0, -2.0, 3.0])
                self.assertEqual(torch.compile(program, backend=backend, fullgraph=True)(x).item(), program(x).item())


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
