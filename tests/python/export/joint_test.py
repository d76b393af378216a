"""Exported programs with the gradients of their loss."""

import io
import unittest

from cresset.export import export, load, save
from cresset.export.experimental import _export_forward_backward

import cresset as torch
from cresset import nn

X, Y = torch.linspace(-1, 1, 12).reshape(4, 3), torch.tensor([0, 1, 0, 1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        self.fixed = nn.Parameter(torch.full((2,), 2.0), requires_grad=False)

    def forward(self, x, y):
        z = self.norm(self.layer(x)) * self.fixed
        return z.detach().argmax(1), nn.functional.cross_entropy(z, y)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (x.sin() * self.w).sum()


def results(joint, *inputs):
    """Values of a joint graph by kind and target."""
    state = {**joint.state_dict, **joint.constants}
    given = [state[s.target].clone() if s.target in state else None for s in joint.graph_signature.input_specs]
    inputs = iter(inputs)
    values = torch.fx.Interpreter(joint.graph_module, graph=joint.graph).run(*(next(inputs) if value is None else value for value in given))
    return {(s.kind.name, s.target): value for s, value in zip(joint.graph_signature.output_specs, values, strict=True)}


class Joint(unittest.TestCase):
    def test_gradients_and_statistics_are_results(self):
        module = Net()
        joint = _export_forward_backward(export(module, (X, Y)), 1)
        found = results(joint, X, Y)
        labels, loss = module(X, Y)
        loss.backward()
        self.assertTrue(torch.equal(found["USER_OUTPUT", None], labels))
        torch.testing.assert_close(found["LOSS_OUTPUT", None], loss.detach())
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                torch.testing.assert_close(found["GRADIENT_TO_PARAMETER", name], parameter.grad)
        for name, buffer in module.named_buffers():
            torch.testing.assert_close(found["BUFFER_MUTATION", name], buffer)
        self.assertNotIn(("GRADIENT_TO_PARAMETER", "fixed"), found)
        self.assertEqual(
            list(joint.graph_signature.backward_signature.gradients_to_parameters.values()), ["layer.weight", "layer.bias", "norm.weight", "norm.bias"]
        )

    def test_inputs_that_require_gradients_get_them(self):
        x = X[0].clone().requires_grad_()
        joint = _export_forward_backward(export(Scaled(), (x,)))
        torch.testing.assert_close(results(joint, x.detach())["GRADIENT_TO_USER_INPUT", "x"], X[0].cos())

    def test_statistics_are_results_in_files(self):
        joint = _export_forward_backward(export(Net(), (X, Y)), 1)
        buffer = io.BytesIO()
        save(joint, buffer)
        torch.testing.assert_close(results(load(buffer), X, Y), results(joint, X, Y))

    def test_joint_programs_are_saved(self):
        joint = _export_forward_backward(export(Scaled(), (X[0],)))
        buffer = io.BytesIO()
        save(joint, buffer)
        loaded = load(buffer)
        self.assertEqual(str(loaded.graph_signature), str(joint.graph_signature))
        torch.testing.assert_close(results(loaded, X[0])["GRADIENT_TO_PARAMETER", "w"], X[0].sin())

    def test_results_that_are_no_loss(self):
        program = export(nn.Linear(3, 2), (X,))
        with self.assertRaisesRegex(RuntimeError, "result 0, the loss, to be one number"):
            _export_forward_backward(program)
        with self.assertRaisesRegex(RuntimeError, "one of 1 results as the loss, got 3"):
            _export_forward_backward(program, 3)

        class Two(Scaled):
            def forward(self, x):
                return super().forward(x), x * self.w

        with self.assertRaisesRegex(RuntimeError, "result 1 requires a gradient, expected that of the loss, 0, alone"):
            _export_forward_backward(export(Two(), (X[0],)))


if __name__ == "__main__":
    unittest.main()
