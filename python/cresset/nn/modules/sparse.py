"""Tables of vectors looked up by number."""

import cresset as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Table(Module):
    def _start(self, num_embeddings, embedding_dim, padding_idx, weight, freeze, device, dtype):
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"padding_idx must be within num_embeddings, got {padding_idx} and {num_embeddings}")
            padding_idx += num_embeddings if padding_idx < 0 else 0
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(f"shape of weight {tuple(weight.shape)} does not match {num_embeddings} vectors of {embedding_dim}")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self):
        """Draw normal numbers; the vector of padding_idx is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """The rows of a table at the given numbers: integers (*) to (*, embedding_dim).

    Row `padding_idx` starts as zero and is not trained; `max_norm` shrinks rows that are used and longer, in place. AssertionError
    for a padding_idx outside of the table.

    >>> nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 9]])).shape
    torch.Size([2, 2, 3])
    """

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"]

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False,
                 _weight=None, _freeze=False, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._start(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        parts += [f"padding_idx={self.padding_idx}"] if self.padding_idx is not None else []
        parts += [f"max_norm={self.max_norm}"] if self.max_norm is not None else []
        parts += [f"norm_type={self.norm_type}"] if self.norm_type != 2 else []
        parts += [f"scale_grad_by_freq={self.scale_grad_by_freq}"] if self.scale_grad_by_freq is not False else []
        parts += ["sparse=True"] if self.sparse is not False else []
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        """An embedding of a given table, not trained unless `freeze` is off.

        >>> nn.Embedding.from_pretrained(torch.ones(2, 3)).weight.requires_grad
        False
        """
        if embeddings.dim() != 2:
            raise AssertionError(f"embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings, _freeze=freeze)


class EmbeddingBag(_Table):
    """Sums, means or maxima of the rows of bags of numbers: (B, N), or (N) with offsets (B), to (B, embedding_dim).

    `per_sample_weights` weigh the rows of a sum. ValueError for bags that do not fit.

    >>> nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])).shape
    torch.Size([2, 3])
    """

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]  # fmt: skip

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._start(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
                               per_sample_weights, self.include_last_offset, self.padding_idx)  # fmt: skip

    def extra_repr(self):
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        parts += [f"max_norm={self.max_norm}"] if self.max_norm is not None else []
        parts += [f"norm_type={self.norm_type}"] if self.norm_type != 2 else []
        parts += [f"scale_grad_by_freq={self.scale_grad_by_freq}"] if self.scale_grad_by_freq is not False else []
        parts += [f"mode={self.mode!r}"]
        parts += [f"padding_idx={self.padding_idx}"] if self.padding_idx is not None else []
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                        include_last_offset=False, padding_idx=None):  # fmt: skip
        """A bag over a given table, not trained unless `freeze` is off."""
        if embeddings.dim() != 2:
            raise AssertionError(f"embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}")
        rows, columns = embeddings.shape
        bag = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bag.weight.requires_grad_(not freeze)
        return bag
