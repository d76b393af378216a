"""A softmax over many classes that spends less on the rare ones."""

import itertools
from collections import namedtuple

import cresset as torch

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets among n_classes, which are sorted by frequency and cut into clusters at `cutoffs`.

    (N, in_features) and (N) to the log-probabilities of the targets (N) and their mean loss. ValueError for cutoffs that do not rise.

    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(6, 8, [2, 5])
    >>> layer(torch.ones(3, 6), torch.tensor([0, 3, 7])).output.shape, layer.log_prob(torch.ones(3, 6)).shape
    (torch.Size([3]), torch.Size([3, 8]))
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        ends = [0, *cutoffs, n_classes]
        if len(ends) == 2:
            raise ValueError("expected cutoffs, got an empty sequence")
        if any(int(low) != low or low >= high for low, high in itertools.pairwise(ends)):
            raise ValueError(f"AdaptiveLogSoftmaxWithLoss: expected cutoffs that rise from 1 to at most {n_classes - 1}, got {ends[1:-1]}")
        self.in_features = in_features
        self.n_classes = n_classes
        self.div_value = div_value
        self.head_bias = head_bias
        self.cutoffs = ends[1:]
        sizes = [high - low for low, high in itertools.pairwise(self.cutoffs)]
        self.shortlist_size, self.n_clusters = ends[1], len(sizes)
        self.head_size = ends[1] + len(sizes)
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for power, size in enumerate(sizes, 1):
            hidden = int(in_features // (div_value**power))
            down = Linear(in_features, hidden, bias=False, device=device, dtype=dtype)
            self.tail.append(Sequential(down, Linear(hidden, size, bias=False, device=device, dtype=dtype)))

    def reset_parameters(self):
        """Draw every weight anew."""
        for layer in (self.head, *itertools.chain.from_iterable(self.tail)):
            layer.reset_parameters()

    def forward(self, input_, target_):
        batched = target_.dim() > 0
        if batched and (input_.dim() != 2 or input_.shape[0] != target_.shape[0] or target_.dim() != 1):
            raise RuntimeError(f"input and target differ in their batch, got {tuple(input_.shape)} and {tuple(target_.shape)}")
        if not batched and input_.dim() != 1:
            raise RuntimeError(f"a single target needs an input of one dimension, got {tuple(input_.shape)}")
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(f"target values should be in [0, {self.n_classes - 1}], got {int(target.min())} to {int(target.max())}")
        head = F.log_softmax(self.head(input), dim=1)
        column = target.clamp(max=self.shortlist_size - 1)
        inside = [(target >= low) & (target < high) for low, high in itertools.pairwise(self.cutoffs)]
        for number, mask in enumerate(inside, self.shortlist_size):
            column = torch.where(mask, torch.full_like(target, number), column)
        output = head.gather(1, column.unsqueeze(1)).squeeze(1)
        for mask, tail, low in zip(inside, self.tail, self.cutoffs, strict=False):
            rows = mask.nonzero().squeeze(1)
            if rows.numel():
                within = F.log_softmax(tail(input.index_select(0, rows)), dim=1)
                place = target.index_select(0, rows) - low
                output = output.index_add(0, rows, within.gather(1, place.unsqueeze(1)).squeeze(1))
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """The log-probabilities of every class: (N, in_features) to (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, 1)

    def predict(self, input):
        """The most likely class of each row: (N, in_features) to (N)."""
        return self.log_prob(input).argmax(1)
