"""Recurrent networks in PyTorch's operators: one LSTM layer is one of them where oneDNN runs it there, all else goes step by step."""

import _cresset

from .. import ops
from .stack import none_active, present

aten = ops.aten
_LSTM, _GRU = 2, 3  # kinds of `_rnn_layer`, and the mode of mkldnn_rnn_layer


def linear(x, weight, bias):
    from ..nn import functional as F

    return F.linear(x, weight, bias)


def _plain(value):
    if isinstance(value, _cresset.Tensor):
        return value.detach()
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _checked(entry, *args):
    """Runs the row, which says what is wrong with the arguments, if anything is."""
    with none_active():
        _cresset.make_op(entry.partition(".")[0], [entry])(*map(_plain, args))


def _step(kind, of_input, h, c, w_hh, b_hh, w_hr=None):
    """(output, next state of the cells): the row's own step, of which the mode hears the parts."""
    return _cresset.body("_rnn_layer_by_steps")(of_input, w_hh, b_hh, w_hr, h, c, [h.shape[0]], kind, False)[1:]


def _network(x, layer, num_layers, dropout, train, bidirectional, batch_first):
    """The last layer's outputs; `x` begins with the steps, and the outputs with the batch if `batch_first`. `layer(x, i, is_reverse)` gives those of the i-th layer in one direction."""
    import cresset as torch

    ways = 2 if bidirectional else 1
    for at in range(num_layers):
        outputs = [layer(x, at * ways + way, way == 1) for way in range(ways)]
        x = torch.cat(outputs, -1) if ways > 1 else outputs[0]
        if dropout and train and at + 1 < num_layers:
            x = torch.dropout(x, dropout, True)
    return x.transpose(0, 1) if batch_first else x


def _by_steps(x, state, w_ih, b_ih, is_reverse, step):
    """All outputs of a layer, stacked, and its last state; `step(of_input, state)` gives an output and the next state."""
    import cresset as torch

    steps, outputs = list(aten.unbind.int(linear(x, w_ih, b_ih))), []
    for of_input in reversed(steps) if is_reverse else steps:
        output, state = step(of_input, state)
        outputs.append(output)
    return torch.stack(outputs[::-1] if is_reverse else outputs), state


def gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    import cresset as torch

    _checked("gru.input", input, hx, params, has_biases, num_layers, 0.0, False, bidirectional, batch_first)
    x = input.transpose(0, 1) if batch_first else input
    each, states, last = 4 if has_biases else 2, aten.unbind.int(hx), []

    def layer(x, i, is_reverse):
        w_ih, w_hh, b_ih, b_hh = (*params[i * each : (i + 1) * each], None, None)[:4]

        def step(of_input, h):
            h, _ = _step(_GRU, of_input, h, None, w_hh, b_hh)
            return h, h

        outputs, h = _by_steps(x, states[i], w_ih, b_ih, is_reverse, step)
        last.append(h)
        return outputs

    out = _network(x, layer, num_layers, dropout, train, bidirectional, batch_first)
    return out, torch.stack(last)


def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    import cresset as torch

    _checked("lstm.input", input, hx, params, has_biases, num_layers, 0.0, False, bidirectional, batch_first)
    projects = hx[0].shape[-1] != hx[1].shape[-1]
    each = (4 if has_biases else 2) + projects
    is_whole = not projects and input.device.type == "cpu" and input.dtype in (torch.float32, torch.bfloat16) and input.numel() > 0
    x = input.transpose(0, 1) if batch_first else input
    states = None if is_whole else [aten.unbind.int(t) for t in hx]
    hidden, cells = [], []

    def whole(x, i, is_reverse):
        h, c = (aten.select.int(t, 0, i) for t in hx)
        weights = params[i * each : (i + 1) * each]
        if not has_biases:
            empty = [torch.zeros(list(w.shape), dtype=w.dtype, layout=w.layout, device=w.device) for w in weights[::-1]]
            weights = [*weights, *empty[::-1]]
        out, h, c, _ = lstm_layer(x, *weights, h, c, is_reverse, [], _LSTM, c.shape[-1], num_layers, has_biases, bidirectional, batch_first, train)
        hidden.append(h)
        cells.append(c)
        return out

    def by_steps(x, i, is_reverse):
        w_ih, w_hh, *rest = params[i * each : (i + 1) * each]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)

        def step(of_input, state):
            state = _step(_LSTM, of_input, *state, w_hh, b_hh, rest[-1] if projects else None)
            return state[0], state

        outputs, (h, c) = _by_steps(x, (states[0][i], states[1][i]), w_ih, b_ih, is_reverse, step)
        hidden.append(h)
        cells.append(c)
        return outputs

    out = _network(x, whole if is_whole else by_steps, num_layers, dropout, train, bidirectional, batch_first)
    return out, torch.stack(hidden), torch.stack(cells)


lstm_layer = None  # set where functions of autograd are made: layer_of_lstm, whose gradient is slope_of_lstm


def layer_of_lstm(*args):
    return present(aten.mkldnn_rnn_layer.default, *args)


def slope_of_lstm(step):
    """The gradient of a layer by one operator, which `step(operator, *args)` calls."""

    def slope(needs, args, outputs, gradients):
        tensors, (reverse, batch_sizes, mode, hidden_size, num_layers, has_biases, bidirectional, batch_first, train) = args[:7], args[7:]
        options = (reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes, batch_first, outputs[3])
        found = step(aten.mkldnn_rnn_layer_backward.default, *tensors, *outputs[:3], *gradients[:3], *options)
        return [*(g if need else None for need, g in zip(needs, found)), *[None] * (len(args) - 7)]

    return slope
