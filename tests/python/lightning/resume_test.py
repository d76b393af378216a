"""A run that goes on from a checkpoint gives what the run gives that was not interrupted, to the bit, wherever the checkpoint was written."""

import os
import random
import tempfile
import unittest

import numpy as np
from cresset.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import cresset as torch
from cresset import lightning as L
from cresset import nn, optim
from cresset.nn import functional as F

QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False, "num_sanity_val_steps": 0}


class Noisy(Dataset):
    """Items that draw from all three generators."""

    def __len__(self):
        return 22

    def __getitem__(self, index):
        x = torch.full((4,), float(index)) / 22 + torch.rand(4) * 0.1 + np.random.rand() * 0.1 + random.random() * 0.1
        return x, x.sum(0, keepdim=True)


class Stream(IterableDataset):
    def __iter__(self):
        for index in range(22):
            yield Noisy()[index]


class Model(L.LightningModule):
    def __init__(self, schedule="epoch", optimizer="adam"):
        super().__init__()
        self.save_hyperparameters()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 1))
        self.seen = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self.layers(x), y)
        self.log("loss", loss, on_step=True, on_epoch=True)
        self.seen.append(("loss", loss.item()))
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self.layers(x), y))

    def on_validation_epoch_end(self):
        self.seen.append(("validated", torch.rand(1).item()))

    def on_train_epoch_end(self):
        self.seen.append(("epoch", self.trainer.callback_metrics["loss_epoch"].item(), self.trainer.optimizers[0].param_groups[0]["lr"]))

    def configure_optimizers(self):
        made = optim.Adam(self.parameters(), lr=0.02) if self.hparams.optimizer == "adam" else optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        if self.hparams.schedule == "epoch":
            return [made], [optim.lr_scheduler.StepLR(made, 1, 0.7)]
        if self.hparams.schedule == "step":
            scheduler = optim.lr_scheduler.OneCycleLR(made, 0.05, total_steps=100)
            return {"optimizer": made, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
        plateau = optim.lr_scheduler.ReduceLROnPlateau(made, factor=0.5, patience=0)
        return {"optimizer": made, "lr_scheduler": plateau, "monitor": "val_loss"}


class Saver(L.callbacks.Checkpoint):
    """Writes a checkpoint at every place where one may be written, with what the run had seen by then."""

    def __init__(self, folder):
        self.folder, self.files = folder, []

    def save(self, trainer, module):
        path = os.path.join(self.folder, f"{len(self.files)}.ckpt")
        trainer.save_checkpoint(path)
        self.files.append((path, len(module.seen)))

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.save(trainer, module)

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            self.save(trainer, module)

    def on_train_epoch_end(self, trainer, module):
        self.save(trainer, module)


def loaders(kind):
    if kind == "generator":
        data = TensorDataset(torch.linspace(0, 1, 88).view(22, 4), torch.linspace(0, 1, 22).view(22, 1))
        train = DataLoader(data, 4, shuffle=True, generator=torch.Generator().manual_seed(3))
    elif kind == "stream":
        train = DataLoader(Stream(), 4)
    elif kind == "workers":
        train = DataLoader(Noisy(), 4, shuffle=True, num_workers=2)
    else:
        train = DataLoader(Noisy(), 4, shuffle=True)
    return train, DataLoader(TensorDataset(torch.linspace(-1, 1, 24).view(6, 4), torch.ones(6, 1)), 4)


def finished(model, trainer):
    values = {name: value.tolist() for name, value in model.state_dict().items()}
    states = [[value.tolist() if isinstance(value, torch.Tensor) else value for value in state.values()] for state in trainer.optimizers[0].state.values()]
    callbacks = {callback.state_key: callback.state_dict() for callback in trainer.callbacks if not isinstance(callback, Saver) and callback.state_dict()}
    # Values that are equal have equal texts, also those that are not numbers.
    return repr((values, states, trainer.global_step, trainer.current_epoch, callbacks, torch.rand(2).tolist(), random.random(), np.random.rand()))


class Resumed(unittest.TestCase):
    def check(self, kind="plain", schedule="epoch", optimizer="adam", every=1, **settings):
        settings = {**QUIET, "max_epochs": 3, **settings, "enable_checkpointing": True}
        with tempfile.TemporaryDirectory() as folder:
            L.seed_everything(1, verbose=False)
            model, saver = Model(schedule, optimizer), Saver(folder)
            trainer = L.Trainer(callbacks=[saver, L.callbacks.EarlyStopping("val_loss", patience=50)], **settings)
            trainer.fit(model, *loaders(kind))
            expected = finished(model, trainer)
            self.assertGreater(len(saver.files), 10)
            for path, seen in saver.files[::every]:
                with self.subTest(os.path.basename(path)):
                    L.seed_everything(99, verbose=False)
                    again = Model(schedule, optimizer)
                    resumed = L.Trainer(callbacks=[L.callbacks.EarlyStopping("val_loss", patience=50)], **{**settings, "enable_checkpointing": False})
                    resumed.fit(again, *loaders(kind), ckpt_path=path)
                    self.assertEqual(again.seen, model.seen[seen:])
                    self.assertEqual(finished(again, resumed), expected)

    def test_everywhere(self):
        self.check(max_epochs=2)

    def test_within_an_accumulation(self):
        self.check(optimizer="sgd", accumulate_grad_batches=4, val_check_interval=3, every=7)

    def test_schedules_of_steps_and_plateaus(self):
        self.check(schedule="step", gradient_clip_val=0.1, every=7)
        self.check(schedule="plateau", every=7)

    def test_loaders_with_a_generator(self):
        self.check(kind="generator", every=7)

    def test_streams(self):
        self.check(kind="stream", every=7, num_sanity_val_steps=1)

    def test_workers(self):
        self.check(kind="workers", every=9)

    def test_scaled_losses(self):
        self.check(precision="16-mixed", every=7)
        self.check(precision="bf16-mixed", every=11)

    def test_limits(self):
        self.check(limit_train_batches=4, check_val_every_n_epoch=2, max_epochs=4, every=7)
        self.check(check_val_every_n_epoch=None, val_check_interval=5, every=7)

    def test_between_epochs(self):
        for kind in ("plain", "generator"):
            with tempfile.TemporaryDirectory() as folder:
                L.seed_everything(1, verbose=False)
                model = Model()
                trainer = L.Trainer(**QUIET, max_epochs=4)
                trainer.fit(model, *loaders(kind))
                expected = finished(model, trainer)
                L.seed_everything(1, verbose=False)
                first = L.Trainer(**QUIET, max_epochs=2)
                half = Model()
                first.fit(half, *loaders(kind))
                first.save_checkpoint(os.path.join(folder, "half.ckpt"))
                L.seed_everything(5, verbose=False)
                again, second = Model(), L.Trainer(**QUIET, max_epochs=4)
                second.fit(again, *loaders(kind), ckpt_path=os.path.join(folder, "half.ckpt"))
                self.assertEqual(half.seen + again.seen, model.seen)
                self.assertEqual(finished(again, second), expected)


if __name__ == "__main__":
    unittest.main()
