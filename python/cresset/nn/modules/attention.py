"""Attention with several heads."""

import cresset as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Softmax(q kᵀ/√d) v in `num_heads` parts of the embedding, between learned projections.

    Queries (L, N, E), keys (S, N, kdim), values (S, N, vdim), batch in front with batch_first, or without N, to (L, N, E) and the
    weights (N, L, S), per head with average_attn_weights off, None with need_weights off. Masks are true, or minus infinity, where
    nothing is looked at. ValueError for sizes that are not positive, AssertionError unless num_heads divides embed_dim.

    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.ones(3, 5, 8)
    >>> out, weights = attention(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):  # fmt: skip
        if min(embed_dim, num_heads) <= 0:
            raise ValueError(f"expected embed_dim and num_heads above 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.kdim, self.vdim = (embed_dim if size is None else size for size in (kdim, vdim))
        together = {self.kdim, self.vdim} == {embed_dim}
        self._qkv_same_embed_dim = together
        self.head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        if not together:
            sizes = zip("qkv", (embed_dim, self.kdim, self.vdim), strict=True)
            shapes = {f"{name}_proj_weight": (embed_dim, size) for name, size in sizes}
        for name, shape in shapes.items():
            setattr(self, name, Parameter(torch.empty(shape, **like)))
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_weight"):
            if name not in shapes:
                self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", Parameter(torch.empty(3 * embed_dim, **like)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **like)
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                setattr(self, name, Parameter(torch.empty((1, 1, embed_dim), **like)))
            else:
                setattr(self, name, None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.constant_(bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        if query.is_nested or key.is_nested or value.is_nested:
            return self._of_nested(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights)
        turned = self.batch_first and query.dim() == 3
        if turned:
            # Each tensor once: the function below looks at which of them are the same.
            once = {place: t.transpose(1, 0) for place, t in {id(t): t for t in (query, key, value)}.items()}
            query, key, value = (once[id(t)] for t in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(1, 0) if turned else out), weights

    def _of_nested(self, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights):
        """Attention of the components of a nested tensor to themselves, without gradients; the weights are padded with zeros."""
        parameters = (self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        refused = {
            "query, key and value that are not one tensor": query is not key or key is not value,
            "another layout than torch.strided": query.layout is not torch.strided,
            "batch_first=False": not self.batch_first,
            "training": self.training,
            "key_padding_mask": key_padding_mask is not None,
            "attn_mask": attn_mask is not None,
            "add_bias_kv": self.bias_k is not None,
            "add_zero_attn": self.add_zero_attn,
            "kdim or vdim other than embed_dim": not self._qkv_same_embed_dim,
            "gradients (use torch.no_grad())": torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (query, *parameters)),
        }
        reasons = [reason for reason, holds in refused.items() if holds]
        if reasons:
            raise AssertionError(f"MultiheadAttention: takes no nested tensor with {', '.join(reasons)}; pad it with torch.nested.to_padded_tensor()")
        padded = torch.nested.to_padded_tensor(query, 0.0)
        lengths = torch.tensor([len(t) for t in query.unbind()], device=padded.device)
        beyond = torch.arange(padded.size(1), device=padded.device) >= lengths.unsqueeze(1)
        out, weights = self(padded, padded, padded, beyond, need_weights, None, average_attn_weights)
        if weights is not None:
            weights = weights.masked_fill(beyond.unsqueeze(-1) if average_attn_weights else beyond[:, None, :, None], 0)
        return torch.nested.as_nested_tensor([row[:n] for row, n in zip(out, lengths.tolist(), strict=True)]), weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """One mask (N, heads, L, S) of both, and which there were: 0 for attn_mask, 1 for key_padding_mask, 2 for both, None."""
        if attn_mask is None:
            return (None, None) if key_padding_mask is None else (key_padding_mask, 1)
        batch, length, _ = query.shape
        merged = attn_mask if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        merged = merged.view(batch, -1, length, length) if attn_mask.dim() == 3 else merged
        if key_padding_mask is None:
            return merged, 2
        return merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2
