"""Operators of gradients that PyTorch's table has: computed by the gradients of our rows, under PyTorch's names for modes and graphs."""

import _cresset

from .aten_extra import _operator, _row


def _gradients(function, inputs, grad, wanted=None):
    """Those of function(*inputs) by each input that is wanted, others None; they can be differentiated where that is recorded. Of several results each
    has its own in the tuple `grad`, or None."""
    if wanted is not None and not any(wanted):
        return [None] * len(inputs)
    return _with_gradients(function, inputs, grad, wanted)[1]


def _with_gradients(function, inputs, grad, wanted=None):
    """The results of function(*inputs), as a tuple, and `_gradients`."""
    import cresset as torch

    grads = grad if isinstance(grad, tuple) else (grad,)
    again = torch.is_grad_enabled() and any(t.requires_grad for t in (*inputs, *grads) if t is not None)
    chosen = [i for i in range(len(inputs)) if wanted is None or wanted[i]]

    def run():
        with torch.enable_grad():
            leaves = [t if again and t.requires_grad else t.detach() for t in inputs]
            for i in chosen:
                if not leaves[i].requires_grad:
                    leaves[i].requires_grad_()
            out = function(*leaves)
            out = out if isinstance(out, tuple) else (out,)
            pairs = [(o, g.expand_as(o)) for o, g in zip(out, grads) if g is not None]
            return out, torch.autograd.grad([o for o, _ in pairs], [leaves[i] for i in chosen], [g for _, g in pairs], create_graph=again)

    out, slopes = _cresset._recorded(run)
    found = dict(zip(chosen, slopes))
    return out, tuple(found.get(i) for i in range(len(inputs)))


def _parts(entry):
    """The row; by its parts where its gradient is recorded, since modes open it by steps that are computed here."""
    import cresset as torch

    return _cresset.body(entry) if torch.is_grad_enabled() else _row(entry)


def _of_loss(name, extra=""):
    """`extra`: the argument after the reduction."""

    @_operator(f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, int reduction{extra}) -> Tensor")
    def backward(grad_output, self, target, reduction, *rest):
        row = _parts(name)
        return _gradients(lambda x: row(x, target, reduction, *rest), [self], grad_output)[0]


_of_loss("mse_loss")
_of_loss("soft_margin_loss")


@_operator("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor")
def glu_backward(grad_output, self, dim):
    row = _parts("glu")
    return _gradients(lambda x: row(x, dim), [self], grad_output)[0]


@_operator("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor")
def logit_backward(grad_output, self, eps=None):
    row = _row("logit")
    return _gradients(lambda x: row(x, eps), [self], grad_output)[0]


@_operator("unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor")
def unfold_backward(grad_in, input_sizes, dim, size, step):
    row = _row("unfold")
    return _gradients(lambda x: row(x, dim, size, step), [grad_in.new_zeros(input_sizes)], grad_in)[0]


@_operator("nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)")
def nll_loss2d_forward(self, target, weight, reduction, ignore_index):
    return _row("nll_loss_forward")(self, target, weight, reduction, ignore_index)


@_operator(
    "nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
)
def nll_loss2d_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    return _row("nll_loss_backward")(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@_operator("multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)")
def multilabel_margin_loss_forward(self, target, reduction):
    named = _row("cumprod")(target >= 0, -1) > 0  # the classes before the first negative number
    counts = self.new_zeros(target.shape).scatter_add(-1, target.clamp(min=0), named.to(self.dtype))
    return _row("multilabel_margin_loss")(self, target, reduction), (counts > 0).to(self.dtype)


@_operator("_prelu_kernel(Tensor self, Tensor weight) -> Tensor")
def _prelu_kernel(self, weight):
    return _row("where.self")(self > 0, self, weight * self)


@_operator("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")
def _prelu_kernel_backward(grad_output, self, weight):
    return _gradients(_prelu_kernel, [self, weight.expand_as(self)], grad_output)


def _of_sampler(n):
    @_operator(
        f"grid_sampler_{n}d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
        "bool[2] output_mask) -> (Tensor, Tensor)"
    )
    def backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
        row = _parts(f"grid_sampler_{n}d")

        def sample(x, places):
            return row(x, places, interpolation_mode, padding_mode, align_corners)

        return _gradients(sample, [input, grid], grad_output, output_mask)


_of_sampler(2)
_of_sampler(3)


@_operator("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
def _cdist_forward(x1, x2, p, compute_mode):
    return _row("cdist")(x1, x2, p, compute_mode)


@_operator("_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor")
def _cdist_backward(grad, x1, x2, p, cdist):
    row = _parts("cdist")
    return _gradients(lambda x: row(x, x2, p), [x1], grad)[0]


# ---- sequences --------------------------------------------------------------------------------------------------------------


def _ctc_losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    # Asked here, where sizes are symbols: the body sees numbers alone.
    if log_probs.dim() == 3 and not log_probs.shape[1] == input_lengths.numel() == target_lengths.numel():
        raise RuntimeError(f"ctc_loss: expected {log_probs.shape[1]} lengths, got {input_lengths.numel()} of inputs and {target_lengths.numel()} of targets")
    return _cresset.body("ctc_loss.Tensor")(log_probs, targets, input_lengths, target_lengths, blank, 0, zero_infinity)


@_operator(
    "_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"
)
def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    losses = _ctc_losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    return losses, log_probs.new_zeros([log_probs.shape[1], log_probs.shape[0], 2 * target_lengths.max().item() + 1])


@_operator(
    "_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, "
    "Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"
)
def _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity=False):
    return _gradients(lambda x: _ctc_losses(x, targets, input_lengths, target_lengths, blank, zero_infinity), [log_probs], grad)[0]


def _lstm_layer(has_biases, reverse, mode):
    """The function of (input, weights, biases, hx, cx) that is a layer in one direction: all outputs, the last ones, the last cells."""
    if mode != 2:
        raise NotImplementedError(f"mkldnn_rnn_layer: expected the mode 2 (LSTM), got {mode}")

    def layer(input, w_ih, w_hh, b_ih, b_hh, hx, cx):
        length, batch, size = input.shape
        rows, rest = input.reshape(length * batch, size), (hx, cx, [batch] * length, mode, reverse)
        if input.dtype.itemsize < 4:  # the kernel has float32 and float64
            gates = _row("linear")(rows, w_ih, b_ih if has_biases else None)
            out, h, c = _row("_rnn_layer_by_steps")(gates, w_hh, b_hh if has_biases else None, None, *rest)
        else:
            bias = _row("add.Tensor")(b_ih, b_hh) if has_biases else None  # as the row `lstm` does
            out, h, c, *_ = _row("_rnn_layer")(_row("linear")(rows, w_ih, None), w_hh, bias, *rest)
        return out.view(length, batch, out.shape[1]), h, c

    return layer


@_operator(
    "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, "
    "int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)"
)
def mkldnn_rnn_layer(
    input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, batch_sizes, mode, hidden_size, num_layers, has_biases, bidirectional, batch_first, train
):
    import cresset as torch

    outputs = _lstm_layer(has_biases, reverse, mode)(input, weight0, weight1, weight2, weight3, hx_, cx_)
    return *outputs, input.new_empty(0, dtype=torch.uint8)


@_operator(
    "mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor cx_tmp, Tensor output, "
    "Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, "
    "bool train, bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)
def mkldnn_rnn_layer_backward(
    input, weight1, weight2, weight3, weight4, hx_, cx_tmp, output, hy_, cy_, grad_output, grad_hy, grad_cy, reverse, mode, hidden_size, num_layers,
    has_biases, train, bidirectional, batch_sizes, batch_first, workspace
):  # fmt: skip
    inputs = [input, weight1, weight2, weight3, weight4, hx_, cx_tmp]
    return lstm_layer_and_gradients(inputs, (grad_output, grad_hy, grad_cy), reverse, mode, has_biases)[1]


def lstm_layer_and_gradients(inputs, grads, reverse, mode, has_biases):
    """The three results of `mkldnn_rnn_layer` for its seven tensors, and what `mkldnn_rnn_layer_backward` gives."""
    wanted = [has_biases or i not in (3, 4) for i in range(7)]
    out, found = _with_gradients(_lstm_layer(has_biases, reverse, mode), inputs, grads, wanted)
    weight = inputs[1]
    return out, tuple(weight.new_zeros(weight.shape[0]) if g is None and i in (3, 4) else g for i, g in enumerate(found))


# ---- linear algebra ---------------------------------------------------------------------------------------------------------


@_operator("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
def _linalg_det(A):
    lu, pivots, _ = _row("linalg_lu_factor_ex")(A)
    return _row("linalg_det")(A), lu, pivots


@_operator("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)")
def _linalg_solve_ex(A, B, *, left=True, check_errors=False):
    lu, pivots, _ = _row("linalg_lu_factor_ex")(A)
    result, info = _row("linalg_solve_ex")(A, B, left=left, check_errors=check_errors)
    return result, lu, pivots, info


@_operator("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()")
def _linalg_check_errors(info, api_name, *, is_matrix):
    has_data = not info.is_meta and _cresset._fake_mode_of(info) is None
    if has_data and info.any():
        from ..linalg import LinAlgError

        raise LinAlgError(f"{api_name}: the factorisation failed, info is {info.tolist()}; expected zeros")
