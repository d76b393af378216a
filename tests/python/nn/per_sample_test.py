"""Gradients of each sample beside the sum over the batch."""

import unittest

from cresset.nn.utils._per_sample_grad import call_for_per_sample_grads

import cresset as torch
from cresset import nn


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(2, 4, 2, padding="same"), nn.GroupNorm(2, 4), nn.ReLU(), nn.Conv2d(4, 2, 3, stride=2, groups=2),
                                    nn.InstanceNorm2d(2, affine=True), nn.Flatten(), nn.Linear(8, 3), nn.LayerNorm(3))  # fmt: skip

    def forward(self, x):
        return self.layers(x)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(6, 3), nn.Linear(3, 2)

    def forward(self, words, more=None):
        return self.out(self.table(words)) + self.out(self.table(more if more is not None else words))


def one_by_one(module, *inputs):
    """The gradients of each sample, from a batch of its own."""
    out = {name: [] for name, _ in module.named_parameters()}
    for sample in zip(*inputs, strict=True):
        module.zero_grad()
        module(*(x.unsqueeze(0) for x in sample)).square().sum().backward()
        for name, parameter in module.named_parameters():
            out[name].append(parameter.grad.clone())
    module.zero_grad()
    return {name: torch.stack(grads) for name, grads in out.items()}


class PerSample(unittest.TestCase):
    def agree(self, module, *inputs):
        expected = one_by_one(module, *inputs)
        for reduction, factor in (("sum", 1), ("mean", len(inputs[0]))):
            call_for_per_sample_grads(module, loss_reduction=reduction)(*inputs).square().sum().backward()
            for name, parameter in module.named_parameters():
                torch.testing.assert_close(parameter.grad_sample, factor * expected[name], rtol=1e-4, atol=1e-5)
                self.assertIsNone(parameter.grad)
                del parameter.grad_sample

    def test_images(self):
        torch.manual_seed(0)
        self.agree(Images(), torch.randn(4, 2, 6, 6))

    def test_parameters_that_are_used_twice(self):
        torch.manual_seed(0)
        self.agree(Words(), torch.randint(0, 6, (3, 5)), torch.randint(0, 6, (3, 5)))

    def test_the_input_gets_its_gradient(self):
        linear, x = nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
        call_for_per_sample_grads(linear)(x).square().sum().backward()
        found, x.grad = x.grad, None
        linear(x).square().sum().backward()
        torch.testing.assert_close(found, x.grad)

    def test_parameters_without_gradients_get_none(self):
        linear = nn.Linear(3, 2)
        linear.bias.requires_grad_(False)
        call_for_per_sample_grads(linear)(torch.ones(4, 3)).sum().backward()
        self.assertFalse(hasattr(linear.bias, "grad_sample"))
        self.assertEqual(linear.weight.grad_sample.shape, (4, 2, 3))

    def test_the_module_keeps_its_parameters(self):
        linear = nn.Linear(3, 2)
        weight = linear.weight
        call_for_per_sample_grads(linear)(torch.ones(4, 3))
        self.assertIs(linear.weight, weight)

    def test_mistakes(self):
        linear, norm = nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        for wanted, call in (
            ("expected a Module, got a function", lambda: call_for_per_sample_grads(one_by_one)),
            ("as None or an int, got a str", lambda: call_for_per_sample_grads(linear, batch_size="4")),
            ("1 or more, got 0", lambda: call_for_per_sample_grads(linear, batch_size=0)),
            ("got 'max'", lambda: call_for_per_sample_grads(linear, loss_reduction="max")),
            ("batch of 3, got shape", lambda: call_for_per_sample_grads(linear, batch_size=3)(torch.ones(4, 3))),
            (r"batches of \[2, 4\]", lambda: call_for_per_sample_grads(linear)(torch.ones(4, 3), torch.ones(2, 3))),
            ("found no tensor", lambda: call_for_per_sample_grads(linear)(3)),
            ("batch_norm: gradients of each sample", lambda: call_for_per_sample_grads(norm)(torch.ones(4, 3))),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(RuntimeError, wanted):
                call()
        call_for_per_sample_grads(linear)(torch.ones(4, 3)).sum().backward()
        with self.assertRaisesRegex(RuntimeError, "weight has a grad_sample already"):
            call_for_per_sample_grads(linear)
