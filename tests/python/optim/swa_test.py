"""Averages of weights, their schedule, and the statistics of normalisations."""

import math
import unittest

import numpy as np

import cresset as torch

swa = torch.optim.swa_utils


class Averages(unittest.TestCase):
    def averaged(self, values, **options):
        model = torch.nn.Linear(2, 2)
        average = swa.AveragedModel(model, **options)
        for value in values:
            with torch.no_grad():
                model.weight.fill_(value)
            average.update_parameters(model)
        return average

    def test_mean_and_exponential(self):
        values = [1.0, 4.0, 7.0, -2.0]
        self.assertAlmostEqual(self.averaged(values).module.weight[0, 0].item(), np.mean(values), places=6)
        expected = 1.0
        for value in values[1:]:
            expected = 0.75 * expected + 0.25 * value
        for options in ({"avg_fn": swa.get_ema_avg_fn(0.75)}, {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.75)}):
            average = self.averaged(values, **options)
            self.assertAlmostEqual(average.module.weight[1, 1].item(), expected, places=6)
            self.assertEqual(average.n_averaged.item(), 4)

    def test_state_and_mistakes(self):
        average = self.averaged([1.0])
        self.assertEqual(list(average.state_dict()), ["n_averaged", "module.weight", "module.bias"])
        with self.assertRaises(AssertionError):
            swa.AveragedModel(torch.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)
        with self.assertRaises(ValueError):
            swa.get_ema_avg_fn(1.5)

    def test_buffers(self):
        for use in (False, True):
            model = torch.nn.BatchNorm1d(1)
            average = swa.AveragedModel(model, use_buffers=use)
            for value in (2.0, 4.0):
                model.running_mean.fill_(value)
                average.update_parameters(model)
            self.assertEqual(average.module.running_mean.item(), 3.0 if use else 4.0)

    def test_statistics_are_means_over_all_batches(self):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(3, momentum=0.3)).eval()
        batches = [torch.randn(8, 3) + i for i in range(4)]
        swa.update_bn([(batch, 0) for batch in batches], model)
        norm = model[0]
        np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([b.numpy().mean(0) for b in batches], 0), rtol=1e-5)
        np.testing.assert_allclose(norm.running_var.numpy(), np.mean([b.numpy().var(0, ddof=1) for b in batches], 0), rtol=1e-5)
        self.assertEqual((norm.momentum, model.training), (0.3, False))

    def test_schedule(self):
        for strategy, share in (("cos", lambda t: (1 - math.cos(math.pi * t)) / 2), ("linear", lambda t: t)):
            optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
            scheduler = swa.SWALR(optimizer, 0.05, 3, strategy)
            for step in range(6):
                self.assertAlmostEqual(scheduler.get_last_lr()[0], 0.1 - 0.05 * share(min(step / 3, 1)), delta=1e-12)
                optimizer.step()
                scheduler.step()
        with self.assertRaises(ValueError):
            swa.SWALR(optimizer, 0.05, anneal_strategy="steep")


if __name__ == "__main__":
    unittest.main()
