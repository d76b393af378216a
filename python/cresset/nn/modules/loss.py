"""Losses. `reduction` is "mean", "sum" or "none" and says what becomes of the single losses; other words raise ValueError."""

import math
import warnings

from .. import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module


class _Loss(Module):
    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = F._reduction_name(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|x - y|.

    >>> nn.L1Loss()(torch.ones(2, 3), torch.zeros(2, 3)).item()
    1.0
    """

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """-x[target] of log-probabilities (N, C, *) for classes (N, *), by `weight` of the class; `ignore_index` counts for nothing.

    >>> nn.NLLLoss()(torch.full((2, 3), -1.0), torch.tensor([0, 2])).item()
    1.0
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss for images.

    >>> nn.NLLLoss2d()(torch.full((1, 2, 2, 2), -1.0), torch.zeros(1, 2, 2, dtype=torch.int64)).item()
    1.0
    """

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        warnings.warn("NLLLoss2d is an old name of NLLLoss", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """exp(x) - y·x, or x - y·log(x + eps) with log_input off; `full` adds Stirling's term.

    >>> nn.PoissonNLLLoss()(torch.zeros(2), torch.ones(2)).item()
    1.0
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input, target):
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """½(log var + (x - y)²/var), var at least eps. ValueError for a negative variance or one that does not fit.

    >>> nn.GaussianNLLLoss()(torch.zeros(2), torch.zeros(2), torch.ones(2)).item()
    0.0
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """y (log y - x) for log-probabilities x; with log_target y is given by its logarithm. "batchmean" divides by the batch.

    >>> nn.KLDivLoss(reduction="batchmean")(torch.zeros(2, 1), torch.ones(2, 1)).item()
    0.0
    """

    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """(x - y)².

    >>> nn.MSELoss()(torch.full((2,), 3.0), torch.ones(2)).item()
    4.0
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """-(y log x + (1 - y) log(1 - x)) for probabilities x; logarithms end at -100. ValueError for different shapes.

    >>> nn.BCELoss()(torch.ones(2), torch.ones(2)).item()
    0.0
    """

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(x), computed stably; `pos_weight` weighs the positive ones.

    >>> nn.BCEWithLogitsLoss()(torch.full((2,), 100.0), torch.ones(2)).round().item()
    0.0
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """x where y = 1, max(0, margin - x) where y = -1.

    >>> nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.5]), torch.tensor([1, -1])).item()
    0.5
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """A hinge loss over every pair of a class that is meant and one that is not; targets are class numbers up to the first -1.

    >>> nn.MultiLabelMarginLoss()(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), torch.tensor([[3, 0, -1, 1]])).item()
    1.0
    """

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """½(x - y)²/beta within beta of the target, |x - y| - ½beta beyond.

    >>> nn.SmoothL1Loss()(torch.tensor([3.0]), torch.tensor([0.0])).item()
    2.5
    """

    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """½(x - y)² within delta of the target, delta(|x - y| - ½delta) beyond.

    >>> nn.HuberLoss(delta=2.0)(torch.tensor([3.0]), torch.tensor([0.0])).item()
    4.0
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-y·x)) for targets of 1 and -1.

    >>> nn.SoftMarginLoss()(torch.zeros(2), torch.ones(2)).exp().round().item()
    2.0
    """

    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The negative log-softmax of scores (N, C, *) at classes (N, *), or against probabilities (N, C, *).

    `weight` per class, `ignore_index` for classes that count for nothing, `label_smoothing` mixes in the even distribution.

    >>> nn.CrossEntropyLoss()(torch.zeros(2, 4), torch.tensor([1, 3])).exp().round().item()
    4.0
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                               label_smoothing=self.label_smoothing)  # fmt: skip


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of BCEWithLogitsLoss: (N, C) twice to (N).

    >>> nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.ones(1, 2)).exp().round().item()
    2.0
    """

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """1 - cos(x1, x2) where y = 1, max(0, cos(x1, x2) - margin) where y = -1.

    >>> nn.CosineEmbeddingLoss()(torch.ones(1, 2), -torch.ones(1, 2), torch.tensor([1])).round().item()
    2.0
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, -y (x1 - x2) + margin): x1 should be the larger where y = 1.

    >>> nn.MarginRankingLoss()(torch.zeros(2), torch.ones(2), torch.ones(2)).item()
    1.0
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over classes of max(0, margin - x[y] + x[i])^p, for p of 1 or 2. ValueError for another p or weights not per class.

    >>> nn.MultiMarginLoss()(torch.zeros(1, 4), torch.tensor([2])).item()
    0.75
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected a weight of one dimension or None, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input, target):
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, |a - p| - |a - n| + margin); `swap` takes the nearer of the anchor and the positive to the negative.

    >>> nn.TripletMarginLoss()(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3)).item()
    1.0
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin above 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of one's own.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3)).item()
    1.0
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin above 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin,
                                                   swap=self.swap, reduction=self.reduction)  # fmt: skip


class CTCLoss(_Loss):
    """The loss of connectionist temporal classification: log-probabilities (T, N, C) against label sequences without alignment.

    `blank` is the label between labels; `zero_infinity` makes sequences that cannot fit count for nothing.

    >>> scores = torch.zeros(3, 1, 2).log_softmax(2)
    >>> nn.CTCLoss(reduction="sum")(scores, torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1])).exp().mul(6).round().item()
    8.0
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through a batch in pieces of `batch_chunk_size` rows; None lets it choose.

    The pieces' scores are computed again in backward and added in the order of the batch, so that `allow_retain_graph` and `acc_policy` change
    nothing. ValueError for a size below one or another policy.

    >>> nn.LinearCrossEntropyOptions(batch_chunk_size=2).batch_chunk_size
    2
    """

    __slots__ = ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy", "acc_dtype")

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto", acc_dtype=None):
        if batch_chunk_size is not None and batch_chunk_size < 1:
            raise ValueError(f"expected batch_chunk_size >= 1, got {batch_chunk_size}")
        if acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"expected acc_policy accurate, balanced, compact or auto, got {acc_policy!r}")
        for name, value in zip(self.__slots__, (allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype), strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to field {name!r}")

    def _values(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        return f"LinearCrossEntropyOptions({', '.join(f'{name}={value!r}' for name, value in zip(self.__slots__, self._values(), strict=True))})"

    def __reduce__(self):
        return type(self), self._values()

    def _rows(self, classes, features):
        """By default the scores of a piece are as large as the weight."""
        return self.batch_chunk_size or max(1, features)


class LinearCrossEntropyLoss(Module):
    """CrossEntropyLoss over a Linear of its own: (N, in_features) for classes (N, *out_features) of `num_classes`, or probabilities.

    RuntimeError for class weights or a label smoothing that do not fit.

    >>> nn.LinearCrossEntropyLoss(3, 4)(torch.zeros(2, 3), torch.tensor([1, 3])).exp().round().item()
    4.0
    """

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean", weight=None,
                 ignore_index=None, label_smoothing=0.0, options=None):  # fmt: skip
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"expected label_smoothing within [0, 1], got {label_smoothing}")
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias=bias, device=device, dtype=dtype)

    def reset_parameters(self):
        """Draw the weights of the Linear anew."""
        self.linear.reset_parameters()

    def forward(self, input, target):
        if not target.is_floating_point() and target.dim() == input.dim() + len(self.out_features):
            raise RuntimeError(f"expected class probabilities of a floating dtype as target, got {target.dtype}")
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(input, self.linear.weight.view(*shape, self.in_features), target, reduction=self.reduction, weight=self.weight,
                                      linear_bias=None if bias is None else bias.view(shape), ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)  # fmt: skip

    def extra_repr(self):
        parts = [f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}"]
        parts += [f"bias={self.linear.bias is not None}"]
        parts += [f"{name}={getattr(self, name)}" for name in ("reduction", "ignore_index", "label_smoothing", "options")]
        return ", ".join(parts)
