"""Trainer, module and callbacks: what runs when, what is logged, what ends a training, what is refused."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

from cresset.utils.data import DataLoader, TensorDataset

import cresset as torch
from cresset import lightning as L
from cresset import nn, optim
from cresset.nn import functional as F

QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
X = torch.linspace(-1, 1, 20).unsqueeze(1)
DATA = TensorDataset(X, 3 * X + 1)


def loader(batch_size=4):
    return DataLoader(DATA, batch_size)


class Line(L.LightningModule):
    def __init__(self, lr=0.1, bias=True):
        super().__init__()
        self.save_hyperparameters()
        torch.manual_seed(0)
        self.layer = nn.Linear(1, 1, bias)

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        loss = F.mse_loss(self(batch[0]), batch[1])
        self.log("loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    def test_step(self, batch, batch_idx, dataloader_idx=0):
        self.log_dict({"test_loss": F.mse_loss(self(batch[0]), batch[1]), "most": batch[0].max()}, reduce_fx="max")

    def configure_optimizers(self):
        return optim.SGD(self.parameters(), lr=self.hparams.lr)


class Recorder(L.Callback):
    def __init__(self):
        self.calls = []

    def __getattribute__(self, name):
        if name in ("setup", "teardown") or (name.startswith("on_") and name not in ("on_save_checkpoint", "on_load_checkpoint")):
            return lambda *args, **kwargs: self.calls.append(name)
        return super().__getattribute__(name)


def by_hand(epochs, accumulate=1, clip=None, lr=0.1):
    model = Line(lr)
    optimizer = optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        batches = list(loader())
        for i, (x, y) in enumerate(batches):
            (F.mse_loss(model(x), y) / accumulate).backward()
            if (i + 1) % accumulate == 0 or i + 1 == len(batches):
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                optimizer.zero_grad()
    return [p.tolist() for p in model.parameters()]


class Loops(unittest.TestCase):
    def test_the_same_numbers_as_a_loop_by_hand(self):
        for settings in ({}, {"accumulate_grad_batches": 2}, {"gradient_clip_val": 0.5}, {"accumulate_grad_batches": 3, "gradient_clip_val": 0.5}):
            model = Line()
            L.Trainer(**QUIET, max_epochs=3, **settings).fit(model, loader())
            expected = by_hand(3, settings.get("accumulate_grad_batches", 1), settings.get("gradient_clip_val"))
            self.assertEqual([p.tolist() for p in model.parameters()], expected)

    def test_order_of_hooks(self):
        recorder = Recorder()
        trainer = L.Trainer(**QUIET, max_epochs=1, limit_train_batches=2, limit_val_batches=1, num_sanity_val_steps=1, callbacks=recorder)
        trainer.fit(Line(), loader(), loader())
        validation = ["on_validation_start", "on_validation_epoch_start", "on_validation_batch_start", "on_validation_batch_end", "on_validation_epoch_end",
                      "on_validation_end"]  # fmt: skip
        batch = ["on_train_batch_start", "on_before_zero_grad", "on_before_backward", "on_after_backward", "on_before_optimizer_step", "on_train_batch_end"]
        self.assertEqual(recorder.calls, ["setup", "on_fit_start", "on_sanity_check_start", *validation, "on_sanity_check_end", "on_train_start",
                                          "on_train_epoch_start", *batch, *batch, *validation, "on_train_epoch_end", "on_train_end", "on_fit_end", "teardown"])  # fmt: skip
        recorder.calls.clear()
        trainer.test(Line(), loader(10), verbose=False)
        self.assertEqual(recorder.calls, ["setup", "on_test_start", "on_test_epoch_start", *["on_test_batch_start", "on_test_batch_end"] * 2,
                                          "on_test_epoch_end", "on_test_end", "teardown"])  # fmt: skip

    def test_limits_and_ends(self):
        def run(**settings):
            trainer = L.Trainer(**QUIET, **settings)
            trainer.fit(Line(), loader())
            return trainer.current_epoch, trainer.global_step

        self.assertEqual(run(max_epochs=2), (2, 10))
        self.assertEqual(run(max_epochs=2, limit_train_batches=3), (2, 6))
        self.assertEqual(run(max_epochs=2, limit_train_batches=0.4), (2, 4))
        self.assertEqual(run(max_steps=7)[1], 7)
        self.assertEqual(run(max_epochs=2, accumulate_grad_batches=2), (2, 6))
        self.assertEqual(run(fast_dev_run=True), (1, 1))
        stop = L.callbacks.LambdaCallback(on_train_epoch_end=lambda trainer, module: setattr(trainer, "should_stop", True))
        self.assertEqual(run(max_epochs=9, callbacks=stop), (1, 5))
        self.assertEqual(run(max_epochs=9, min_epochs=3, callbacks=stop), (3, 15))
        self.assertEqual(run(max_epochs=1, callbacks=L.callbacks.GradientAccumulationScheduler({0: 5})), (1, 1))
        self.assertEqual(run(max_epochs=99, callbacks=L.callbacks.Timer({"seconds": 0})), (1, 1))

    def test_when_validations_are(self):
        def steps(**settings):
            found = []
            callback = L.callbacks.LambdaCallback(on_validation_end=lambda trainer, module: found.append(trainer.global_step))
            L.Trainer(**QUIET, max_epochs=2, num_sanity_val_steps=0, callbacks=callback, **settings).fit(Line(), loader(), loader())
            return found

        self.assertEqual(steps(), [5, 10])
        self.assertEqual(steps(val_check_interval=2), [2, 4, 7, 9])
        self.assertEqual(steps(val_check_interval=0.5), [2, 4, 7, 9])
        self.assertEqual(steps(check_val_every_n_epoch=2), [10])
        self.assertEqual(steps(check_val_every_n_epoch=None, val_check_interval=3), [3, 6, 9])
        self.assertEqual(steps(limit_val_batches=0), [])

    def test_modes_and_gradients(self):
        seen = []

        class Watched(Line):
            def training_step(self, batch, batch_idx):
                seen.append(("train", self.training, torch.is_grad_enabled()))
                return super().training_step(batch, batch_idx)

            def validation_step(self, batch, batch_idx):
                seen.append(("val", self.training, torch.is_grad_enabled()))

        L.Trainer(**QUIET, max_epochs=1, limit_train_batches=1, limit_val_batches=1).fit(Watched(), loader(), loader())
        self.assertEqual(seen, [("val", False, False), ("train", True, True), ("val", False, False)])

    def test_steps_by_hand(self):
        class ByHand(Line):
            def __init__(self):
                super().__init__()
                self.automatic_optimization = False

            def training_step(self, batch, batch_idx):
                first, second = self.optimizers()
                loss = F.mse_loss(self(batch[0]), batch[1])
                for optimizer in (first, second):
                    optimizer.zero_grad()
                self.manual_backward(loss)
                first.step()
                second.step()
                self.lr_schedulers().step()

            def configure_optimizers(self):
                a, b = optim.SGD([self.layer.weight], 0.1), optim.SGD([self.layer.bias], 0.1)
                return [a, b], [optim.lr_scheduler.StepLR(a, 100)]

        model, trainer = ByHand(), L.Trainer(**QUIET, max_epochs=2)
        trainer.fit(model, loader())
        self.assertEqual(([p.tolist() for p in model.parameters()], trainer.global_step), (by_hand(2), 20))

    def test_lbfgs(self):
        class Quick(Line):
            def configure_optimizers(self):
                return optim.LBFGS(self.parameters(), lr=1)

        model = Quick()
        L.Trainer(**QUIET, max_epochs=2).fit(model, DataLoader(DATA, 20))
        self.assertAlmostEqual(model.layer.weight.item(), 3, 3)

    def test_schedulers(self):
        class Scheduled(Line):
            def __init__(self, config):
                super().__init__()
                self.config = config

            def configure_optimizers(self):
                optimizer = super().configure_optimizers()
                kind = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
                return {"optimizer": optimizer, "lr_scheduler": {"scheduler": kind, **self.config}}

        for config, rates in (({}, [0.1, 0.05, 0.025]), ({"frequency": 2}, [0.1, 0.1, 0.05]), ({"interval": "step", "frequency": 5}, [0.1, 0.05, 0.025])):
            found = []
            callback = L.callbacks.LambdaCallback(on_train_epoch_start=lambda trainer, module: found.append(trainer.optimizers[0].param_groups[0]["lr"]))
            L.Trainer(**QUIET, max_epochs=3, callbacks=callback).fit(Scheduled(config), loader())
            self.assertEqual(found, rates)

    def test_precision(self):
        for precision, dtype in (("64-true", torch.float64), ("bf16-true", torch.bfloat16), ("bf16-mixed", torch.float32), ("16-mixed", torch.float32)):
            model = Line()
            outputs = []
            hook = model.layer.register_forward_hook(lambda module, args, out: outputs.append(out.dtype))
            L.Trainer(**QUIET, max_epochs=5, precision=precision).fit(model, loader())
            hook.remove()
            self.assertEqual(model.layer.weight.dtype, dtype)
            self.assertEqual(outputs[0], {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}.get(precision, dtype))
            self.assertLess(abs(model.layer.bias.item() - 1), 0.3)

    def test_evaluation_and_prediction(self):
        model = Line()
        trainer = L.Trainer(**QUIET)
        expected = F.mse_loss(model(X), 3 * X + 1).item()
        self.assertAlmostEqual(trainer.validate(model, loader(7), verbose=False)[0]["val_loss"], expected, 5)
        first, second = trainer.test(model, [loader(), loader()], verbose=False)
        self.assertEqual(sorted(first), ["most/dataloader_idx_0", "test_loss/dataloader_idx_0"])
        self.assertEqual(second["most/dataloader_idx_1"], 1.0)
        found = trainer.predict(model, loader(8))
        self.assertTrue(torch.equal(torch.cat(found), model(X)))
        self.assertTrue(model.training)

    def test_datamodules(self):
        calls = []

        class Data(L.LightningDataModule):
            def __init__(self, size=4):
                super().__init__()
                self.save_hyperparameters()

            def prepare_data(self):
                calls.append("prepare")

            def setup(self, stage):
                calls.append(stage)

            def train_dataloader(self):
                return loader(self.hparams.size)

            val_dataloader = predict_dataloader = train_dataloader

        trainer = L.Trainer(**QUIET, max_epochs=1)
        trainer.fit(Line(), datamodule=Data(5))
        self.assertEqual((trainer.global_step, calls), (4, ["prepare", "fit"]))
        self.assertEqual(len(trainer.predict(Line(), datamodule=Data(10))), 2)


class Logged(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name

    def test_metrics(self):
        trainer = L.Trainer(**QUIET, max_epochs=1)
        trainer.fit(Line(lr=0.0), loader(), loader())
        whole = F.mse_loss(Line()(X), 3 * X + 1).item()
        last = F.mse_loss(Line()(X[16:]), 3 * X[16:] + 1).item()
        values = {name: value.item() for name, value in trainer.callback_metrics.items()}
        self.assertAlmostEqual(values["loss_epoch"], whole, 5)
        self.assertAlmostEqual(values["loss_step"], last, 5)
        self.assertAlmostEqual(values["val_loss"], whole, 5)
        self.assertEqual(sorted(trainer.progress_bar_metrics), ["loss_epoch", "loss_step"])

    def test_means_are_weighted_by_the_size_of_batches(self):
        model = Line()
        found = L.Trainer(**QUIET).validate(model, DataLoader(DATA, 19), verbose=False)[0]["val_loss"]
        self.assertAlmostEqual(found, F.mse_loss(model(X), 3 * X + 1).item(), 5)

    def test_csv(self):
        logger = L.loggers.CSVLogger(self.root, "runs")
        trainer = L.Trainer(**{**QUIET, "logger": logger}, max_epochs=2, log_every_n_steps=2, callbacks=L.callbacks.LearningRateMonitor("step"))
        trainer.fit(Line(), loader(), loader())
        self.assertEqual(logger.log_dir, os.path.join(self.root, "runs", "version_0"))
        with open(os.path.join(logger.log_dir, "metrics.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["step"] for row in rows if row["loss_step"]], ["1", "3", "5", "7", "9"])
        self.assertEqual([(row["epoch"], row["step"]) for row in rows if row["loss_epoch"]], [("0.0", "4"), ("1.0", "9")])
        self.assertEqual({row["lr-SGD"] for row in rows} - {""}, {"0.1"})
        with open(os.path.join(logger.log_dir, "hparams.yaml")) as file:
            self.assertEqual([json.loads(line.partition(": ")[2]) for line in file], [True, 0.1])
        self.assertEqual(L.loggers.CSVLogger(self.root, "runs").version, 1)

    def test_tensorboard(self):
        trainer = L.Trainer(max_epochs=1, default_root_dir=self.root, enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1)
        trainer.fit(Line(), loader())
        self.assertEqual(trainer.log_dir, os.path.join(self.root, "lightning_logs", "version_0"))
        events = [name for name in os.listdir(trainer.log_dir) if "tfevents" in name]
        self.assertEqual(len(events), 1)
        with open(os.path.join(trainer.log_dir, events[0]), "rb") as file:
            data = file.read()
        for text in (b"loss_step", b"loss_epoch", b"_hparams_/session_start_info"):
            self.assertIn(text, data)
        self.assertEqual(os.listdir(os.path.join(trainer.log_dir, "checkpoints")), ["epoch=0-step=5.ckpt"])

    def test_what_is_printed(self):
        said = io.StringIO()
        with redirect_stdout(said):
            L.Trainer(logger=False, enable_checkpointing=False, max_epochs=2).fit(Line(), loader())
        lines = said.getvalue().splitlines()
        self.assertIn("2 parameters, 2 of them trained", lines)
        self.assertEqual([line[:38] for line in lines if line.startswith("Epoch")], [f"Epoch {i}: |####################| 5/5 [0" for i in (0, 1)])

    def test_mistakes(self):
        def step(action):
            class Wrong(Line):
                def training_step(self, batch, batch_idx):
                    action(self)
                    return super().training_step(batch, batch_idx)

            L.Trainer(**QUIET, max_epochs=1).fit(Wrong(), loader())

        for action in (lambda m: m.log("a", torch.ones(2)), lambda m: m.log("a", "b"), lambda m: m.log("a", 1.0, on_epoch=True, reduce_fx="median")):
            self.assertRaises(ValueError, step, action)
        self.assertRaisesRegex(RuntimeError, "only in steps and hooks", Line().log, "a", 1.0)


class Checkpoints(Logged):
    def files(self, callback, epochs=4, val=True, **settings):
        trainer = L.Trainer(**{**QUIET, "enable_checkpointing": True}, max_epochs=epochs, callbacks=callback, default_root_dir=self.root, **settings)
        model = Line(0.05)
        trainer.fit(model, loader(), loader() if val else None)
        return sorted(os.listdir(callback.dirpath)), trainer

    def test_the_best(self):
        callback = L.callbacks.ModelCheckpoint(self.root, "{epoch}-{val_loss:.2f}", "val_loss", save_top_k=2, save_last=True)
        names, trainer = self.files(callback)
        self.assertEqual(len(names), 3)
        self.assertEqual([name.partition("-")[0] for name in names], ["epoch=2", "epoch=3", "last.ckpt"])
        self.assertEqual(callback.best_model_path, os.path.join(os.path.realpath(self.root), names[1]))
        self.assertAlmostEqual(callback.best_model_score.item(), trainer.callback_metrics["val_loss"].item())
        worst = L.callbacks.ModelCheckpoint(os.path.join(self.root, "b"), monitor="val_loss", mode="max")
        self.assertEqual(self.files(worst)[0], ["epoch=0-step=5.ckpt"])

    def test_the_newest_and_all(self):
        newest = L.callbacks.ModelCheckpoint(os.path.join(self.root, "a"))
        self.assertEqual(self.files(newest)[0], ["epoch=3-step=20.ckpt"])
        every = L.callbacks.ModelCheckpoint(os.path.join(self.root, "b"), every_n_train_steps=6, save_top_k=-1)
        self.assertEqual(self.files(every)[0], ["epoch=1-step=6.ckpt", "epoch=2-step=12.ckpt", "epoch=3-step=18.ckpt"])
        second = L.callbacks.ModelCheckpoint(os.path.join(self.root, "c"), every_n_epochs=2, save_top_k=-1)
        self.assertEqual(self.files(second, val=False)[0], ["epoch=1-step=10.ckpt", "epoch=3-step=20.ckpt"])

    def test_a_file_of_another_run_is_kept(self):
        for expected in (["epoch=0-step=5.ckpt"], ["epoch=0-step=5-v1.ckpt", "epoch=0-step=5.ckpt"]):
            self.assertEqual(self.files(L.callbacks.ModelCheckpoint(os.path.join(self.root, "a")), epochs=1)[0], expected)

    def test_models_of_files(self):
        callback = L.callbacks.ModelCheckpoint(self.root, "a")
        _, trainer = self.files(callback)
        again = Line.load_from_checkpoint(callback.best_model_path)
        self.assertEqual((again.hparams.lr, again.layer.weight.item()), (0.05, trainer.model.layer.weight.item()))
        self.assertEqual(Line.load_from_checkpoint(callback.best_model_path, lr=7).hparams.lr, 7)
        self.assertAlmostEqual(
            trainer.validate(Line(), loader(), ckpt_path="best", verbose=False)[0]["val_loss"], trainer.validate(again, loader(), verbose=False)[0]["val_loss"]
        )
        checkpoint = torch.load(callback.best_model_path, weights_only=True)
        self.assertEqual((checkpoint["epoch"], checkpoint["global_step"], sorted(checkpoint["state_dict"])), (3, 20, ["layer.bias", "layer.weight"]))
        light = os.path.join(self.root, "light.ckpt")
        trainer.save_checkpoint(light, weights_only=True)
        with self.assertRaisesRegex(RuntimeError, "light.ckpt.*parameters only"):
            L.Trainer(**QUIET).fit(Line(), loader(), ckpt_path=light)
        with self.assertRaisesRegex(ValueError, "has written none"):
            L.Trainer(**QUIET).fit(Line(), loader(), ckpt_path="best")

    def test_early_stopping(self):
        def stopped(values, **settings):
            class Given(Line):
                def validation_step(self, batch, batch_idx):
                    self.log("score", values[self.current_epoch])

            callback = L.callbacks.EarlyStopping("score", **settings)
            trainer = L.Trainer(**QUIET, max_epochs=len(values), limit_val_batches=1, num_sanity_val_steps=0, callbacks=callback)
            trainer.fit(Given(), loader(), loader())
            return trainer.current_epoch

        self.assertEqual(stopped([5.0, 4.0, 4.5, 4.5, 4.5, 3.0]), 5)
        self.assertEqual(stopped([5.0, 4.0, 4.5, 3.0, 4.5, 4.6], patience=2), 6)
        self.assertEqual(stopped([1.0, 2.0, 2.05, 2.09, 5.0], mode="max", min_delta=0.1, patience=2), 4)
        self.assertEqual(stopped([5.0, float("nan"), 1.0]), 2)
        self.assertEqual(stopped([5.0, 2.0, 1.0], stopping_threshold=2.5), 2)
        self.assertEqual(stopped([5.0, 9.0, 1.0], divergence_threshold=8.0), 2)
        with self.assertRaisesRegex(RuntimeError, "'none' is not logged; there is 'loss"):
            L.Trainer(**QUIET, max_epochs=1, callbacks=L.callbacks.EarlyStopping("none")).fit(Line(), loader())


class Refused(unittest.TestCase):
    def test_arguments(self):
        for error, settings in ((ValueError, {"accelerator": "gpu"}), (ValueError, {"devices": 2}), (ValueError, {"precision": "8"}), (ValueError, {"max_epochs": -2}),
                                (ValueError, {"accumulate_grad_batches": 0}), (ValueError, {"gradient_clip_algorithm": "l3"}), (ValueError, {"val_check_interval": 1.5}),
                                (ValueError, {"check_val_every_n_epoch": None}), (ValueError, {"strategy": "ddp"}),
                                (ValueError, {"callbacks": L.callbacks.ModelCheckpoint(), "enable_checkpointing": False})):  # fmt: skip
            self.assertRaises(error, L.Trainer, **settings)
        self.assertRaises(ValueError, L.callbacks.ModelCheckpoint, save_top_k=3)
        self.assertRaises(ValueError, L.callbacks.ModelCheckpoint, every_n_epochs=1, every_n_train_steps=1)
        self.assertRaises(ValueError, L.callbacks.EarlyStopping, "a", mode="best")
        self.assertRaises(ValueError, L.callbacks.LambdaCallback, train_end=print)
        self.assertRaises(ValueError, L.seed_everything, -1)

    def test_models(self):
        class Bare(L.LightningModule):
            pass

        class Twice(Line):
            def configure_optimizers(self):
                return [optim.SGD(self.parameters(), 0.1), optim.SGD(self.parameters(), 0.1)]

        class Blind(Line):
            def configure_optimizers(self):
                optimizer = super().configure_optimizers()
                return [optimizer], [optim.lr_scheduler.ReduceLROnPlateau(optimizer)]

        trainer = L.Trainer(**QUIET, max_epochs=1)
        for model, text in ((Bare(), "has no training_step"), (Twice(), "automatic_optimization = False")):
            with self.assertRaisesRegex(RuntimeError, text):
                trainer.fit(model, loader())
        with self.assertRaisesRegex(ValueError, "'monitor'"):
            trainer.fit(Blind(), loader())
        with self.assertRaisesRegex(RuntimeError, "nothing to train on"):
            trainer.fit(Line())
        with self.assertRaisesRegex(RuntimeError, "not attached"):
            Line().trainer

    def test_exceptions_are_told(self):
        class Broken(Line):
            def training_step(self, batch, batch_idx):
                raise KeyboardInterrupt

        seen = []
        trainer = L.Trainer(**QUIET, max_epochs=1, callbacks=L.callbacks.LambdaCallback(on_exception=lambda *args: seen.append(type(args[2]))))
        self.assertRaises(KeyboardInterrupt, trainer.fit, Broken(), loader())
        self.assertEqual((seen, trainer.interrupted), ([KeyboardInterrupt], True))


PROGRAM = """
import lightning as L
import lightning.pytorch as pl
import pytorch_lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, batch_idx):
        return self.layer(batch).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


trainer = L.Trainer(max_epochs=1, logger=CSVLogger("logs"), callbacks=[ModelCheckpoint("kept")], enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(8, 2), batch_size=4))
print(trainer.global_step, pytorch_lightning.Trainer is L.Trainer is pl.Trainer, L.__name__)
"""


class Alias(unittest.TestCase):
    def test_a_program_of_lightning_runs_unchanged(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "train.py"), "w") as file:
                file.write(PROGRAM)
            done = subprocess.run([sys.executable, "-m", "cresset", "train.py"], cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual((done.stdout, done.stderr), ("2 True cresset.lightning\n", ""))
            self.assertEqual(sorted(os.listdir(folder)), ["kept", "logs", "train.py"])


if __name__ == "__main__":
    unittest.main()
