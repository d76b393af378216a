"""Decompositions of functional programs where PyTorch's have other parts than the rows here."""

import functools

import cresset as torch


def _cross_entropy(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """None: in another way than the common one, with classes as numbers and no weights, the row's own parts do."""
    if weight is not None or reduction != 1 or label_smoothing or self.dim() != 2 or target.dim() != 1 or target.is_floating_point():
        return None
    logarithms = torch.log_softmax(self, 1)
    chosen = torch.where(target != ignore_index, target, 0)
    losses = -torch.gather(logarithms, 1, chosen.unsqueeze(1)).squeeze(1)
    losses = torch.where(target != ignore_index, losses, 0)
    return losses.sum() / (target != ignore_index).sum().to(self.dtype)


def _gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    linear = torch.nn.functional.linear
    from_input = linear(input, w_ih, b_ih).chunk(3, 1)
    from_state = linear(hx, w_hh, b_hh).chunk(3, 1)
    reset = (from_state[0] + from_input[0]).sigmoid()
    keep = (from_state[1] + from_input[1]).sigmoid()
    new = (from_input[2] + from_state[2] * reset).tanh()
    return (hx - new) * keep + new


def _lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    linear = torch.nn.functional.linear
    gates = (linear(hx[0], w_hh, b_hh) + linear(input, w_ih, b_ih)).chunk(4, 1)
    state = gates[1].sigmoid() * hx[1] + gates[0].sigmoid() * gates[2].tanh()
    return gates[3].sigmoid() * state.tanh(), state


def _broadcast_tensors(tensors):
    """Tensors that have the shape already stay as they are."""
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    return [t if t.shape == shape else t.expand(shape) for t in tensors]


@functools.cache
def bodies():
    """Composites by what they are made of: functions that are called above the writes."""
    aten = torch.ops.aten
    return {
        aten.cross_entropy_loss.default: _cross_entropy, aten.gru_cell.default: _gru_cell, aten.lstm_cell.default: _lstm_cell,
        aten.broadcast_tensors.default: _broadcast_tensors,
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


def _log_sigmoid(self):
    least = torch.minimum(torch.ops.aten.full.default([], 0, dtype=self.dtype, device=self.device), self)
    return least - torch.log1p(torch.exp(-torch.abs(self))), self.new_empty(0)


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


@functools.cache
def table():
    """Operators that are no core ones: functions for the default table."""
    aten = torch.ops.aten
    return {
        aten.split.Tensor: _split, aten.tril.default: _tril, aten.log_sigmoid_forward.default: _log_sigmoid,
        aten.ones.default: _filled(1), aten.zeros.default: _filled(0), aten.ones_like.default: _filled_like(1), aten.zeros_like.default: _filled_like(0),
        aten.eye.default: _eye,
        aten.fill.Tensor: lambda self, value: value.to(self.dtype).expand(self.shape).clone(),
    }  # fmt: skip
