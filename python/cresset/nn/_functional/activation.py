"""Activations, softmaxes and dropout. With `inplace` the input is overwritten and returned."""

import warnings

import cresset as torch

from ... import _operators as ops

prelu, glu, softplus, hardshrink, softshrink, tanhshrink = (ops[n] for n in "prelu glu softplus hardshrink softshrink tanhshrink".split())
gelu, softsign, threshold_, relu_, hardtanh_ = (ops[n] for n in "gelu softsign threshold_ relu_ hardtanh_".split())
leaky_relu_, elu_, selu_, celu_ = (ops[n] for n in "leaky_relu_ elu_ selu_ celu_".split())
logsigmoid = ops["log_sigmoid"]
tanh, sigmoid = ops["tanh"], ops["sigmoid"]


def threshold(input, threshold, value, inplace=False):
    """x where x > threshold, `value` elsewhere.

    >>> F.threshold(torch.tensor([0.0, 1.0]), 0.5, 9.0).tolist()
    [9.0, 1.0]
    """
    return ops["threshold_" if inplace else "threshold"](input, threshold, value)


def relu(input, inplace=False):
    """max(0, x).

    >>> F.relu(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return ops["relu_" if inplace else "relu"](input)


def relu6(input, inplace=False):
    """min(max(0, x), 6).

    >>> F.relu6(torch.tensor([-1.0, 9.0])).tolist()
    [0.0, 6.0]
    """
    return ops["relu6_" if inplace else "relu6"](input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x clipped to [min_val, max_val]. ValueError when they are the wrong way round.

    >>> F.hardtanh(torch.tensor([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} is greater than max_val {max_val}")
    return ops["hardtanh_" if inplace else "hardtanh"](input, min_val, max_val)


def hardsigmoid(input, inplace=False):
    """x/6 + 1/2 clipped to [0, 1].

    >>> F.hardsigmoid(torch.tensor([0.0, 4.0])).tolist()
    [0.5, 1.0]
    """
    return ops["hardsigmoid_" if inplace else "hardsigmoid"](input)


def hardswish(input, inplace=False):
    """x · hardsigmoid(x).

    >>> F.hardswish(torch.tensor([3.0])).tolist()
    [3.0]
    """
    return ops["hardswish_" if inplace else "hardswish"](input)


def silu(input, inplace=False):
    """x · sigmoid(x).

    >>> F.silu(torch.zeros(1)).tolist()
    [0.0]
    """
    return ops["silu_" if inplace else "silu"](input)


def mish(input, inplace=False):
    """x · tanh(softplus(x)).

    >>> F.mish(torch.zeros(1)).tolist()
    [0.0]
    """
    return ops["mish_" if inplace else "mish"](input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x for x ≥ 0, else negative_slope · x.

    >>> F.leaky_relu(torch.tensor([-2.0, 2.0]), 0.5).tolist()
    [-1.0, 2.0]
    """
    return ops["leaky_relu_" if inplace else "leaky_relu"](input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """x for x > 0, else alpha (exp(x) - 1).

    >>> F.elu(torch.tensor([2.0])).tolist()
    [2.0]
    """
    return ops["elu_" if inplace else "elu"](input, alpha)


def selu(input, inplace=False):
    """An ELU scaled so that mean 0 and deviation 1 are kept.

    >>> F.selu(torch.zeros(1)).tolist()
    [0.0]
    """
    return ops["selu_" if inplace else "selu"](input)


def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha (exp(x/alpha) - 1)).

    >>> F.celu(torch.tensor([2.0])).tolist()
    [2.0]
    """
    return ops["celu_" if inplace else "celu"](input, alpha)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x for x ≥ 0, else a·x with a drawn from [lower, upper], or their mean when not training.

    >>> F.rrelu(torch.tensor([-10.0]), 0.2, 0.4).round().tolist()
    [-3.0]
    """
    return ops["rrelu_" if inplace else "rrelu"](input, lower, upper, training)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """`rrelu` in place.

    >>> F.rrelu_(torch.tensor([-10.0]), 0.2, 0.4).round().tolist()
    [-3.0]
    """
    return rrelu(input, lower, upper, training, True)


def _implicit(name, input, dim, stacklevel):
    if dim is None:
        warnings.warn(f"{name}: give dim; the implicit choice is an old one", stacklevel=stacklevel)
        return 0 if input.dim() in (0, 1, 3) else 1
    return dim


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) over its sum along `dim`, computed in `dtype` if given.

    >>> F.softmax(torch.zeros(2), dim=0).tolist()
    [0.5, 0.5]
    """
    return ops["softmax"](input, _implicit("softmax", input, dim, _stacklevel), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax of -x along `dim`.

    >>> F.softmin(torch.zeros(2), dim=0).tolist()
    [0.5, 0.5]
    """
    return ops["softmax"](-input, _implicit("softmin", input, dim, _stacklevel), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of the softmax along `dim`, computed stably.

    >>> F.log_softmax(torch.zeros(2), dim=0).exp().tolist()
    [0.5, 0.5]
    """
    return ops["log_softmax"](input, _implicit("log_softmax", input, dim, _stacklevel), dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample near a category drawn by its logits, differentiable; `hard` gives ones and zeros with the soft gradient.

    >>> F.gumbel_softmax(torch.zeros(5, 3), hard=True).sum(1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return ops["_gumbel_softmax"](logits, tau, hard, dim)


# ---- dropout --------------------------------------------------------------------------------------------------------------


def _probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout: expected a probability within [0, 1], got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero with probability `p`, else x/(1-p); x itself when not training. ValueError unless 0 ≤ p ≤ 1.

    >>> F.dropout(torch.ones(3), 0.5, training=False).tolist()
    [1.0, 1.0, 1.0]
    """
    _probability(p)
    return ops["dropout_" if inplace else "dropout"](input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout to the value that SELU saturates at, keeping mean and deviation.

    >>> F.alpha_dropout(torch.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """
    _probability(p)
    return ops["alpha_dropout_" if inplace else "alpha_dropout"](input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels of (N, C, *).

    >>> F.feature_alpha_dropout(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    _probability(p)
    return ops["feature_alpha_dropout_" if inplace else "feature_alpha_dropout"](input, p, training)


def _features(input, p, training, inplace, unbatched):
    _probability(p)
    alone = input.dim() == unbatched
    if alone:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = ops["feature_dropout_" if inplace else "feature_dropout"](input, p, training)
    if alone:
        out = out.squeeze_(0) if inplace else out.squeeze(0)
    return out


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole rows of (N, C, L) or (C, L). RuntimeError for other numbers of dimensions.

    >>> F.dropout1d(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    _probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: expected 2D or 3D input, got {input.dim()}D")
    return _features(input, p, training, inplace, 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole images of (N, C, H, W); of (N, C, L) it drops rows.

    >>> F.dropout2d(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """
    _probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(f"dropout2d: got a {input.dim()}-D input, expected 3-D or 4-D; use dropout1d or dropout3d", stacklevel=3)
    if input.dim() == 3:
        warnings.warn("dropout2d: a 3-D input is taken as (N, C, L), and rows are dropped as by dropout1d", stacklevel=3)
    return _features(input, p, training, inplace, -1)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole volumes of (N, C, D, H, W) or (C, D, H, W).

    >>> F.dropout3d(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """
    _probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(f"dropout3d: got a {input.dim()}-D input, expected 4-D or 5-D", stacklevel=3)
    return _features(input, p, training, inplace, 4)
