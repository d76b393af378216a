"""Decompositions of functional programs where PyTorch's have other parts than the rows here."""

import functools

import _cresset

import cresset as torch

from .._decomp.decompositions import FORMULAS
from .._modes import translations


def _by_parts(body):
    """The function, in which rows go by PyTorch's operators."""
    return lambda *args, **kwargs: _cresset._by_parts(functools.partial(body, *args, **kwargs))


def _broadcast_tensors(tensors):
    """Tensors that have the shape already stay as they are."""
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    return [t if t.shape == shape else t.expand(shape) for t in tensors]


def _narrow(self, dim, start, length):
    """A part whose length only the data tells is a slice."""
    return None if type(length) is int or start < 0 else torch.ops.aten.slice.Tensor(self, dim, start, start + length)


@functools.cache
def bodies():
    """Composites by what they are made of: functions that are called above the writes."""
    aten = torch.ops.aten
    return {
        aten.cross_entropy_loss.default: _by_parts(translations.cross_entropy_loss), aten.gru_cell.default: _by_parts(aten.gru_cell.default),
        aten.lstm_cell.default: _by_parts(aten.lstm_cell.default),
        aten.broadcast_tensors.default: _broadcast_tensors, aten.narrow.default: _narrow,
        aten.linalg_eigvals.default: lambda self: aten.linalg_eig.default(self)[0],
    }  # fmt: skip


def _split(self, split_size, dim=0):
    size = self.shape[dim]
    parts = [split_size] * (size // split_size) + ([size % split_size] if size % split_size else []) if split_size else [0]
    return torch.ops.aten.split_with_sizes.default(self, parts, dim)


def _tril(self, diagonal=0):
    rows = torch.ops.aten.arange.start_step(0, self.shape[-2], 1, device=self.device)
    columns = torch.ops.aten.arange.start_step(0, self.shape[-1], 1, device=self.device)
    keeps = columns - rows.unsqueeze(-1) <= diagonal
    return torch.logical_and(keeps, self) if self.dtype == torch.bool else torch.where(keeps, self, 0)


def _filled(number):
    def made(size, dtype=None, **options):
        options.pop("layout", None)
        return torch.ops.aten.full.default(size, number, dtype=dtype or torch.get_default_dtype(), **options)

    return made


def _filled_like(number):
    return lambda self, **options: torch.ops.aten.full_like.default(self, number, **options)


def _eye(n, *, dtype=None, device=None, **options):
    places = [torch.ops.aten.arange.start_step(0, n, 1, device=device) for _ in range(2)]
    return torch.ops.aten.eq.Tensor(places[0].unsqueeze(-1), places[1]).to(dtype or torch.get_default_dtype())


def _layer_by_steps(gates, weight_hh, bias_hh, hx, cx, batch_sizes, kind, reverse):
    """A recurrent layer in the steps that PyTorch has operators for; what the kernel keeps for gradients is empty."""
    results = _cresset.body("_rnn_layer_by_steps")(gates, weight_hh, bias_hh, None, hx, cx, batch_sizes, kind, reverse)
    return (*results, gates.new_empty(0), gates.new_empty(0))


@functools.cache
def table():
    """Operators that are no core ones: functions for the default table."""
    aten = torch.ops.aten
    return {
        aten.split.Tensor: _split, aten.tril.default: _tril, aten.log_sigmoid_forward.default: FORMULAS["log_sigmoid_forward"],
        aten.ones.default: _filled(1), aten.zeros.default: _filled(0), aten.ones_like.default: _filled_like(1), aten.zeros_like.default: _filled_like(0),
        aten.eye.default: _eye, aten._rnn_layer.default: _layer_by_steps,
        aten.fill.Scalar: torch.ops.aten.full_like.default,
        aten.fill.Tensor: lambda self, value: value.to(self.dtype).expand(self.shape).clone(),
    }  # fmt: skip
