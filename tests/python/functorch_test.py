"""functorch, the older name of torch.func: modules as functions of their tensors."""

import unittest
import warnings

from cresset.functorch.experimental import chunk_vmap

import cresset as torch
from cresset import functorch, nn


class Modules(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def test_parameters_are_copies_in_order(self):
        layer = nn.Linear(2, 3)
        function, parameters = functorch.make_functional(layer)
        self.assertTrue(all(torch.equal(p, q) and p is not q for p, q in zip(parameters, layer.parameters(), strict=True)))
        x = torch.ones(4, 2)
        self.assertTrue(torch.equal(function(parameters, x), layer(x)))
        self.assertEqual(function(tuple(torch.zeros_like(p) for p in parameters), x).sum(), 0)
        self.assertFalse(any(p.requires_grad for p in functorch.make_functional(layer, disable_autograd_tracking=True)[1]))

    def test_tied_parameters_come_once(self):
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        net[1].weight = net[0].weight
        function, parameters = functorch.make_functional(net)
        self.assertEqual(len(parameters), 3)
        self.assertTrue(torch.equal(function(parameters, torch.ones(2)), net(torch.ones(2))))

    def test_buffers_ask_for_the_other_function(self):
        with self.assertRaisesRegex(RuntimeError, "make_functional_with_buffers"):
            functorch.make_functional(nn.BatchNorm1d(2))
        function, parameters, buffers = functorch.make_functional_with_buffers(nn.BatchNorm1d(2))
        self.assertEqual((len(parameters), len(buffers)), (2, 3))
        self.assertEqual(function(parameters, buffers, torch.randn(4, 2)).shape, (4, 2))

    def test_ensembles(self):
        models = [nn.Linear(2, 1) for _ in range(3)]
        function, parameters, buffers = functorch.combine_state_for_ensemble(models)
        x = torch.randn(4, 2)
        self.assertTrue(torch.allclose(functorch.vmap(function, (0, 0, None))(parameters, buffers, x), torch.stack([m(x) for m in models])))

    def test_ensembles_of_tied_tensors(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 3)
                self.weight = self.linear.weight
                self.register_buffer("shift", torch.randn(3))
                self.register_buffer("again", self.shift)

            def forward(self, x):
                return nn.functional.linear(self.linear(x) + self.shift, self.weight) + self.again

        models = [Tied() for _ in range(2)]
        function, parameters, buffers = functorch.combine_state_for_ensemble(models)
        self.assertEqual((len(parameters), len(buffers)), (2, 1))
        x = torch.randn(2, 4, 3)
        expected = torch.stack([model(part) for model, part in zip(models, x)])
        torch.testing.assert_close(functorch.vmap(function)(parameters, buffers, x), expected)

    def test_they_say_that_they_are_old(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            functorch.make_functional(nn.Linear(1, 1))
        self.assertEqual([w.category for w in caught], [FutureWarning])


class Chunks(unittest.TestCase):
    def test_parts_of_a_batch(self):
        sizes = []
        x = torch.arange(5.0)
        self.assertTrue(torch.equal(chunk_vmap(lambda v: (sizes.append(0), v * 2)[1], chunks=2)(x), x * 2))
        self.assertEqual(len(sizes), 2)
        with self.assertRaises(ValueError):
            chunk_vmap(torch.sin, chunks=0)(x)
