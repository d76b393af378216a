"""Recurrent layers and cells: RNN, LSTM and GRU, over padded batches, single sequences and packed ones."""

import math
import warnings

import cresset as torch

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor, permutation, dim=1):
    """The old name of `tensor.index_select(dim, permutation)`."""
    warnings.warn("apply_permutation is an old name of tensor.index_select(dim, permutation)", FutureWarning, stacklevel=2)
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """Base of the recurrent layers; `mode` is LSTM, GRU, RNN_TANH or RNN_RELU.

    >>> nn.RNNBase("GRU", 3, 4).weight_ih_l0.shape
    torch.Size([12, 3])
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):  # fmt: skip
        super().__init__()
        for name, value, kind in (("input_size", input_size, int), ("hidden_size", hidden_size, int), ("bias", bias, bool),
                                  ("batch_first", batch_first, bool)):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(f"expected dropout to be a probability within [0, 1], got {dropout}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(f"dropout={dropout} acts between layers, and there is but one", stacklevel=3)
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero, got {value}")
        if proj_size < 0 or proj_size >= hidden_size:
            raise ValueError(f"proj_size has to be smaller than hidden_size and not negative, got {proj_size} and {hidden_size}")
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions, rows, out = 2 if bidirectional else 1, _GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else out * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw every weight anew, evenly spread over ±1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """For programs that call it: the weights need no particular place in memory here."""

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [weight for weights in self.all_weights for weight in weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    # ---- arguments --------------------------------------------------------------------------------------------------

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of the hidden state for an input."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape of the cell state for an input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_input(self, input, batch_sizes):
        """ValueError or RuntimeError for an input of another dtype, number of dimensions or size."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                             f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})")  # fmt: skip
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) differs from input_size, expected {self.input_size}, got {input.size(-1)}")

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError for a state of another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Check input and state together."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ---- computing --------------------------------------------------------------------------------------------------

    def _forward(self, input, hx):
        packed = isinstance(input, PackedSequence)
        lone = False
        batch_sizes = sorted_indices = unsorted_indices = None
        if packed:
            input, batch_sizes, sorted_indices, unsorted_indices = input
        else:
            if input.dim() not in (2, 3):
                raise ValueError(f"{self._get_name()}: expected an input of 2 or 3 dimensions, got {input.dim()}D instead")
            lone = input.dim() == 2
            if lone:
                input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            sizes = [self.get_expected_hidden_size(input, batch_sizes)]
            sizes += [self.get_expected_cell_size(input, batch_sizes)] if self.mode == "LSTM" else []
            hx = tuple(torch.zeros(size, dtype=input.dtype, device=input.device) for size in sizes)
            hx = hx if self.mode == "LSTM" else hx[0]
        else:
            hx = self._given_state(hx, packed, lone)
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        function = getattr(torch, self.mode.lower())
        options = self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        state = list(hx) if self.mode == "LSTM" else hx
        if packed:
            output, *finals = function(input, batch_sizes, state, self._flat_weights, *options)
            output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        else:
            output, *finals = function(input, state, self._flat_weights, *options, self.batch_first)
        finals = self.permute_hidden(tuple(finals) if self.mode == "LSTM" else finals[0], unsorted_indices)
        if lone:
            output = output.squeeze(0 if self.batch_first else 1)
            finals = tuple(s.squeeze(1) for s in finals) if self.mode == "LSTM" else finals.squeeze(1)
        return output, finals

    def _given_state(self, hx, packed, lone):
        if not packed:
            if lone and hx.dim() != 2:
                raise RuntimeError(f"an input without a batch goes with an hx of 2 dimensions, got {hx.dim()}-D tensor")
            if not lone and hx.dim() != 3:
                raise RuntimeError(f"an input with a batch goes with an hx of 3 dimensions, got {hx.dim()}-D tensor")
        return hx.unsqueeze(1) if lone else hx

    def forward(self, input, hx=None):
        return self._forward(input, hx)

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"proj_size={self.proj_size}"] if self.proj_size != 0 else []
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += [f"bias={self.bias}"] if self.bias is not True else []
        parts += [f"batch_first={self.batch_first}"] if self.batch_first is not False else []
        parts += [f"dropout={self.dropout}"] if self.dropout != 0 else []
        parts += [f"bidirectional={self.bidirectional}"] if self.bidirectional is not False else []
        return ", ".join(parts)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu: (T, N, input_size) and (layers·directions, N, hidden_size) to the outputs
    (T, N, directions·hidden_size) of the last layer and the last states of all; (N, T, ...) with batch_first, no N for one sequence.

    `nonlinearity` is tanh or relu. ValueError or TypeError for sizes that cannot be, RuntimeError for shapes that do not fit.

    >>> output, h = nn.RNN(3, 5, num_layers=2)(torch.ones(4, 2, 3))
    >>> output.shape, h.shape
    (torch.Size([4, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if kwargs.get("proj_size", 0) != 0:
            raise ValueError("proj_size is an LSTM's, got it for an RNN or a GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", input_size, hidden_size, num_layers, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: shapes as RNN, with a state (h, c). With proj_size, h is projected to that size.

    >>> output, (h, c) = nn.LSTM(3, 5, bidirectional=True, batch_first=True)(torch.ones(2, 4, 3))
    >>> output.shape, h.shape, c.shape
    (torch.Size([2, 4, 10]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx, permutation):
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)

    def _given_state(self, hx, packed, lone):
        h, c = hx[0], hx[1]
        if not packed and not h.dim() == c.dim() == (2 if lone else 3):
            kind, n = ("unbatched 2-D", 2) if lone else ("batched 3-D", 3)
            raise RuntimeError(f"For {kind} input, hx and cx should also be {n}-D but got ({h.dim()}-D, {c.dim()}-D) tensors")
        return (h.unsqueeze(1), c.unsqueeze(1)) if lone else (h, c)


class GRU(RNNBase):
    """Gated recurrent units: shapes as RNN.

    >>> output, h = nn.GRU(3, 5)(torch.ones(4, 3))
    >>> output.shape, h.shape
    (torch.Size([4, 5]), torch.Size([1, 5]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size is an LSTM's, got it for an RNN or a GRU")
        super().__init__("GRU", *args, **kwargs)


# ---- cells ----------------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """Base of the cells: the weights of `num_chunks` gates.

    >>> nn.RNNCellBase(3, 4, bias=True, num_chunks=2).weight_ih.shape
    torch.Size([8, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        for name, shape in (("weight_ih", (rows, input_size)), ("weight_hh", (rows, hidden_size)), ("bias_ih", (rows,)), ("bias_hh", (rows,))):
            wanted = bias or name.startswith("weight")
            self.register_parameter(name, Parameter(torch.empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw every weight anew, evenly spread over ±1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"bias={self.bias}"] if self.bias is not True else []
        parts += [f"nonlinearity={self.nonlinearity}"] if self.__dict__.get("nonlinearity", "tanh") != "tanh" else []
        return ", ".join(parts)

    def _step(self, mode, input, states, names):
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: expected an input of 1 or 2 dimensions, got {input.dim()}D instead")
        for state, name in zip(states or (), names, strict=False):
            if state.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {state.dim()}D instead")
        lone = input.dim() == 1
        x = input.unsqueeze(0) if lone else input
        if x.size(1) != self.input_size:
            raise RuntimeError(f"input has another input_size, got {x.size(1)} expected {self.input_size}")
        if states is None:
            states = (torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device),) * len(names)
        elif lone:
            states = tuple(state.unsqueeze(0) for state in states)
        for number, state in enumerate(states):
            if state.size(0) != x.size(0):
                raise RuntimeError(f"Input batch size {x.size(0)} doesn't match hidden{number} batch size {state.size(0)}")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}")
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        out = getattr(torch, mode)(x, list(states) if mode == "lstm_cell" else states[0], *weights)
        out = out if mode == "lstm_cell" else (out,)
        return tuple(state.squeeze(0) for state in out) if lone else tuple(out)


class RNNCell(RNNCellBase):
    """One step of RNN: (N, input_size) and (N, hidden_size) to (N, hidden_size). RuntimeError for shapes that do not fit.

    >>> nn.RNNCell(3, 5)(torch.ones(2, 3)).shape
    torch.Size([2, 5])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, None if hx is None else (hx,), ("hidden",))[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: (N, input_size) and a pair of (N, hidden_size) to such a pair.

    >>> h, c = nn.LSTMCell(3, 5)(torch.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step("lstm_cell", input, None if hx is None else tuple(hx), ("hx[0]", "hx[1]"))


class GRUCell(RNNCellBase):
    """One step of GRU: (N, input_size) and (N, hidden_size) to (N, hidden_size).

    >>> nn.GRUCell(3, 5)(torch.ones(3), torch.zeros(5)).shape
    torch.Size([5])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step("gru_cell", input, None if hx is None else (hx,), ("hidden",))[0]
