"""How a Trainer computes: in which dtypes, and with which scale of the loss."""

import contextlib

import cresset as torch

from . import _data

_MIXED = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}
_TRUE = {"32-true": None, "64-true": torch.float64, "16-true": torch.float16, "bf16-true": torch.bfloat16}
_SHORT = {"32": "32-true", "64": "64-true", "16": "16-mixed", "bf16": "bf16-mixed"}


class Precision:
    def __init__(self, name):
        name = _SHORT.get(str(name), str(name))
        if name not in _MIXED and name not in _TRUE:
            raise ValueError(f"Trainer: the precision is one of {', '.join([*_TRUE, *_MIXED])}, got {name!r}")
        self.name, self.cast_to, self.dtype = name, _MIXED.get(name), _TRUE.get(name)
        self.scaler = torch.amp.GradScaler("cpu") if name == "16-mixed" else None

    def prepare(self, model):
        if self.dtype is not None:
            model.to(self.dtype)

    def batch(self, batch):
        if self.dtype is None:
            return batch
        return _data.mapped(batch, lambda t: t.to(self.dtype) if t.is_floating_point() else t)

    @contextlib.contextmanager
    def step(self):
        """Around the steps of a module."""
        if self.cast_to is not None:
            with torch.autocast("cpu", dtype=self.cast_to):
                yield
            return
        before = torch.get_default_dtype()
        if self.dtype is not None:
            torch.set_default_dtype(self.dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)

    def scaled(self, loss):
        return loss if self.scaler is None else self.scaler.scale(loss)

    def unscale(self, optimizer):
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def run_step(self, optimizer):
        if self.scaler is None:
            optimizer.step()
            return
        self.scaler.step(optimizer)
        self.scaler.update()
