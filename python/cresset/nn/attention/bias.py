"""Causal masks that attention recognises without looking at their elements.

>>> from cresset.nn.attention.bias import causal_lower_right
>>> q, k = torch.ones(1, 2, 4), torch.ones(1, 3, 4)
>>> F.scaled_dot_product_attention(q, k, torch.tensor([[[0.0], [3.0], [6.0]]]), causal_lower_right(2, 3))
tensor([[[1.5000],
         [3.0000]]])
"""

import enum
import warnings

import cresset as torch
from cresset import _operators

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask that is not square begins: at the first query and key, or at the last ones.

    >>> torch.nn.attention.bias.CausalVariant.LOWER_RIGHT
    <CausalVariant.LOWER_RIGHT: 2>
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A mask (queries, keys) of bool that is true where a query sees a key; attention takes it by its kind.

    Errors: AssertionError for a variant of another type. Warns where LOWER_RIGHT leaves queries without keys.

    >>> from cresset.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.UPPER_LEFT, 2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """

    @staticmethod
    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"CausalBias: expected a CausalVariant, got {type(variant).__name__}")
        diagonal = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        return torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(diagonal).as_subclass(cls)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("causal_lower_right: rows without a key become NaN, since there are more queries than keys", stacklevel=2)

    def __repr__(self, **_):
        return repr(self.as_subclass(torch.Tensor))

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is _operators["scaled_dot_product_attention"]:
            return _attention(*args, **kwargs)
        with torch.DisableTorchFunctionSubclass():
            return function(*args, **kwargs)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if not isinstance(attn_mask, CausalBias):
        raise TypeError("scaled_dot_product_attention: a CausalBias can only be its attn_mask")
    if is_causal:
        raise ValueError("CausalBias: is_causal=True says the same twice")
    named = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
    square = attn_mask.seq_len_q == attn_mask.seq_len_kv
    with torch.DisableTorchFunctionSubclass():
        if square or attn_mask.variant == CausalVariant.UPPER_LEFT:
            return _operators["scaled_dot_product_attention"](query, key, value, is_causal=True, **named)
        return _operators["scaled_dot_product_attention"](query, key, value, attn_mask=attn_mask.as_subclass(torch.Tensor), **named)


def _made(name, variant, size):
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors, got {len(size)} sizes")
    return CausalBias(variant, *size)


def causal_upper_left(*size):
    """A causal mask of size (queries, keys): query i sees the keys up to i. AssertionError for other than two sizes.

    >>> torch.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _made("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """A causal mask of size (queries, keys): the last query sees all keys, each one before it one less. AssertionError for other than two sizes.

    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _made("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
