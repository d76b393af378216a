"""Names of Lightning beside Trainer, module and callbacks; arguments that concern several processes; Fabric."""

import os
import subprocess
import sys
import tempfile
import unittest

from cresset.utils.data import DataLoader, TensorDataset

import cresset as torch
from cresset import lightning as L
from cresset import nn
from cresset.nn import functional as F

X = torch.linspace(-1, 1, 20).unsqueeze(1)
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}


class Line(L.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.seen = nn.Linear(1, 1), []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch[0][0].item())
        return F.mse_loss(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Names(unittest.TestCase):
    def test_modules(self):
        program = """
import lightning as L, lightning.pytorch as pl, pytorch_lightning
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.utilities import grad_norm, rank_zero_only
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from lightning.pytorch.strategies import DDPStrategy
from lightning.pytorch.tuner import Tuner
from lightning.fabric import Fabric
assert L.pytorch is pl is pytorch_lightning.pytorch and L.pytorch.callbacks is pl.callbacks and L.Fabric is Fabric
try:
    DDPStrategy(find_unused_parameters=True)
except NotImplementedError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-m", "cresset", "-c", program], capture_output=True, text=True)
        self.assertIn("torch.lightning.strategies.DDPStrategy: Cresset has no Lightning's strategies", done.stdout, done.stderr)

    def test_functions_of_rank_zero(self):
        only = L.utilities.rank_zero_only
        self.assertEqual(only(lambda: 3)(), 3)
        only.rank = 1
        try:
            self.assertIsNone(only(lambda: 3)())
            self.assertEqual(only(lambda: 3, default=4)(), 4)
        finally:
            only.rank = 0


class Arguments(unittest.TestCase):
    def test_several_processes_are_refused(self):
        for name, value in (("strategy", "ddp"), ("num_nodes", 2), ("profiler", "simple"), ("plugins", [3])):
            with self.assertRaisesRegex(ValueError, f"(Trainer|Fabric): .*{value}"):
                L.Trainer(**{name: value})
        self.assertRaises(ValueError, L.Fabric, strategy="ddp")
        self.assertRaises(ValueError, L.Fabric, devices=2)
        L.Trainer(strategy="auto", num_nodes=1, use_distributed_sampler=False, sync_batchnorm=True, profiler=None, plugins=[], **QUIET)

    def test_few_batches_again_and_again(self):
        model = Line()
        trainer = L.Trainer(max_epochs=3, overfit_batches=2, **QUIET)
        trainer.fit(model, DataLoader(TensorDataset(X, 3 * X), 4, shuffle=True))
        self.assertEqual(trainer.global_step, 6)
        self.assertEqual(model.seen, [X[0].item(), X[4].item()] * 3)

    def test_bare_bones(self):
        trainer = L.Trainer(max_epochs=1, barebones=True)
        self.assertEqual((trainer.loggers, trainer.callbacks, trainer.num_sanity_val_steps), ([], [], 0))
        before = torch.backends.cudnn.benchmark
        L.Trainer(benchmark=True, **QUIET)
        self.assertTrue(torch.backends.cudnn.benchmark)
        torch.backends.cudnn.benchmark = before


class Fabric(unittest.TestCase):
    def train(self, precision, steps=4):
        fabric = L.Fabric(precision=precision)
        fabric.seed_everything(0)
        net = nn.Linear(1, 1)
        net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
        loader = fabric.setup_dataloaders(DataLoader(TensorDataset(X, 3 * X), 10))
        for _ in range(steps):
            for x, y in loader:
                optimizer.zero_grad()
                loss = F.mse_loss(net(x).float(), y)
                fabric.backward(loss)
                fabric.clip_gradients(net, optimizer, max_norm=1.0, error_if_nonfinite=precision != "16-mixed")
                optimizer.step()
        return fabric, net, optimizer, loss.item()

    def test_a_loop(self):
        torch.manual_seed(0)
        net = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            for x, y in DataLoader(TensorDataset(X, 3 * X), 10):
                optimizer.zero_grad()
                loss = F.mse_loss(net(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
        self.assertEqual(self.train("32-true")[3], loss.item())
        self.assertAlmostEqual(self.train("bf16-mixed")[3], loss.item(), delta=0.05)
        fabric, net, _, found = self.train("16-mixed", 8)  # the first steps find the scale of the loss
        self.assertTrue(found < 3 and net.weight.isfinite().all())

    def test_files(self):
        fabric, net, optimizer, _ = self.train("32-true")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "inner", "a.ckpt")
            fabric.save(path, {"net": net, "optimizer": optimizer, "step": 4, "more": 1})
            other, fresh, stepper, _ = self.train("32-true", 1)
            state = {"net": fresh, "optimizer": stepper, "step": 0}
            self.assertEqual((other.load(path, state), state["step"]), ({"more": 1}, 4))
            self.assertEqual(fresh.weight.item(), net.weight.item())
            with self.assertRaisesRegex(KeyError, "has no 'absent'"):
                other.load(path, {"absent": 0})

    def test_callbacks_and_loggers(self):
        class Told:
            def __init__(self):
                self.said = []

            def on_end(self, value):
                self.said.append(value)

            def log_metrics(self, metrics, step=None):
                self.said.append((metrics, step))

        told = Told()
        fabric = L.Fabric(callbacks=told, loggers=told)
        fabric.call("on_end", 3)
        fabric.call("on_nothing")
        fabric.log("loss", torch.tensor(2.0), step=1)
        self.assertEqual(told.said, [3, ({"loss": 2.0}, 1)])
        self.assertEqual(fabric.launch(lambda f, x: (f is fabric, x), 5), (True, 5))


if __name__ == "__main__":
    unittest.main()
