"""The whole stack once, from bytes to a trained, saved and reloaded model: a first look after a change."""

import io
import unittest

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


class TinyTest(unittest.TestCase):
    def test_tensors_views_and_promotion(self):
        x = torch.arange(6.0).view(2, 3)
        x[1].mul_(10)
        self.assertEqual(x.sum(), 123)
        self.assertEqual((x.int() + 0.5).dtype, torch.float32)
        self.assertEqual(x[:, 1].tolist(), [1, 40])
        self.assertRaises(RuntimeError, x.view, 4)

    def test_derivatives_in_both_modes_and_over_batches(self):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (slope,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        slope.sum().backward()
        self.assertEqual(x.grad.tolist(), [6, 12, 18])
        self.assertEqual(torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))[1].tolist(), [1, 1])
        self.assertEqual(torch.vmap(torch.dot)(torch.eye(2), torch.eye(2)).tolist(), [1, 1])

    def test_training_saving_and_loading(self):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 15)
        inputs = torch.randn(64, 2)
        pairs = torch.utils.data.TensorDataset(inputs, (inputs @ torch.tensor([2.0, -1.0])).unsqueeze(1))
        for _ in range(30):
            for x, y in torch.utils.data.DataLoader(pairs, batch_size=16, shuffle=True):
                optimizer.zero_grad()
                loss = F.mse_loss(net(x), y)
                loss.backward()
                optimizer.step()
            scheduler.step()
        self.assertLess(loss, 0.1)
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        again = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        again.load_state_dict(torch.load(file)["net"])
        self.assertTrue(torch.equal(again(inputs), net(inputs)))

    def test_layouts_distributions_and_fake_tensors(self):
        x = torch.eye(3)
        self.assertTrue(torch.equal(x.to_sparse().to_dense(), x))
        self.assertAlmostEqual(torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0)).item(), -0.9189385, 6)
        self.assertEqual((torch.empty(3, 4, device="meta") @ torch.empty(4, 5, device="meta")).shape, (3, 5))


if __name__ == "__main__":
    unittest.main()
