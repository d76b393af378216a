"""Modules for several devices or processes, where there is one."""

import unittest

import cresset as torch
from cresset import nn


class Parallel(unittest.TestCase):
    def test_data_parallel_calls_its_module(self):
        inner = nn.Linear(3, 2)
        net = nn.DataParallel(inner, device_ids=[0, 1], output_device=1)
        x = torch.rand(4, 3)
        self.assertTrue(torch.equal(net(x), inner(x)))
        self.assertEqual(list(net.state_dict()), ["module.weight", "module.bias"])
        self.assertEqual(net.device_ids, [])
        self.assertIs(net.module, inner)

    def test_parts_and_back(self):
        parts = nn.parallel.scatter((torch.arange(4), [torch.ones(4)], {"a": torch.zeros(4)}, "same"), ["cpu", "cpu"])
        self.assertEqual(
            [(p[0].tolist(), p[1][0].tolist(), p[2]["a"].tolist(), p[3]) for p in parts], [([0, 1], [1, 1], [0, 0], "same"), ([2, 3], [1, 1], [0, 0], "same")]
        )
        whole = nn.parallel.gather([(torch.ones(1), {"a": torch.tensor(1.0)}), (torch.zeros(1), {"a": torch.tensor(2.0)})], "cpu")
        self.assertEqual((whole[0].tolist(), whole[1]["a"].tolist()), ([1, 0], [1, 2]))
        self.assertRaises(ValueError, nn.parallel.gather, [{"a": torch.ones(1)}, {"b": torch.ones(1)}], "cpu")

    def test_replicas_give_their_gradients_back(self):
        net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
        x = torch.rand(4, 3)
        out = nn.parallel.data_parallel(net, x, device_ids=["cpu", "cpu"])
        self.assertTrue(torch.allclose(out, net(x)))
        gradient = torch.autograd.grad(net(x).sum(), net[0].weight)[0]
        out.sum().backward()
        self.assertTrue(torch.allclose(net[0].weight.grad, gradient))
        copies = nn.parallel.replicate(net, ["cpu"], detach=True)
        self.assertFalse(copies[0](x).requires_grad)

    def test_in_threads(self):
        results = nn.parallel.parallel_apply([lambda x, y=0: x + y] * 2, [torch.ones(1), (torch.zeros(1),)], [{}, {"y": 5}])
        self.assertEqual([r.item() for r in results], [1, 5])
        self.assertRaises(ZeroDivisionError, nn.parallel.parallel_apply, [lambda x: 1 // 0] * 2, [1, 2])
        self.assertRaises(AssertionError, nn.parallel.parallel_apply, [torch.sin], [1, 2])
        wrapped = nn.DataParallel(nn.Identity())
        parts, named = wrapped.scatter((torch.arange(2),), {"k": 1}, ["cpu", "cpu"])
        self.assertEqual(([p[0].item() for p in parts], named), ([0, 1], ({"k": 1}, {"k": 1})))
        self.assertEqual(wrapped.gather([torch.ones(1), torch.ones(1)], "cpu").shape, (2,))

    def test_sync_batch_norm_is_batch_norm(self):
        torch.manual_seed(0)
        x = torch.rand(5, 3, 2, 2)
        plain, sync = nn.BatchNorm2d(3, momentum=0.3), nn.SyncBatchNorm(3, momentum=0.3)
        self.assertTrue(torch.equal(plain(x), sync(x)))
        for (name, a), (_, b) in zip(plain.state_dict().items(), sync.state_dict().items(), strict=True):
            self.assertTrue(torch.equal(a, b), name)
        self.assertTrue(torch.equal(plain.eval()(x), sync.eval()(x)))
        self.assertEqual(sync(torch.rand(2, 3)).shape, (2, 3))
        self.assertRaises(ValueError, sync, torch.rand(3))

    def test_converting(self):
        model = nn.Sequential(
            nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3, eps=0.1, momentum=None), nn.BatchNorm2d(4, affine=False)), nn.InstanceNorm1d(3)
        ).eval()
        before = model[1][0]
        made = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        self.assertIs(made, model)
        after, other = made[1]
        self.assertIs(type(after), nn.SyncBatchNorm)
        self.assertIs(type(other), nn.SyncBatchNorm)
        self.assertIs(type(made[2]), nn.InstanceNorm1d)
        self.assertIs(after.weight, before.weight)
        self.assertIs(after.running_mean, before.running_mean)
        self.assertEqual((after.eps, after.momentum, after.training, other.weight), (0.1, None, False, None))

    def test_devices_that_are_not_there(self):
        for move in ("xpu", "ipu", "mtia"):
            self.assertRaises(RuntimeError, getattr(nn.Linear(2, 2), move))


class FactoryKeywords(unittest.TestCase):
    def test_keywords(self):
        self.assertEqual(nn.factory_kwargs(None), {})
        self.assertEqual(nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": 2}}), {"dtype": 1, "device": 2})
        self.assertRaises(TypeError, nn.factory_kwargs, {"bias": True})
        self.assertRaises(TypeError, nn.factory_kwargs, {"dtype": 1, "factory_kwargs": {"dtype": 2}})


if __name__ == "__main__":
    unittest.main()
