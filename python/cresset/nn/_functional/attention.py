"""Attention with several heads, as one function."""

import warnings

import cresset as torch

from ... import _operators as ops


def _canonical_mask(mask, mask_name, other_type=None, other_name="", target_type=torch.float32, check_other=True):
    """A mask to add to scores: minus infinity where a mask of bools is true."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported, got {mask.dtype}")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"support for mismatched {mask_name} and {other_name} is an old one: use the same type for both", stacklevel=3)
    if mask.is_floating_point():
        return mask
    return torch.zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, float("-inf"))


def _none_or_dtype(tensor):
    return None if tensor is None else tensor.dtype


def _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs are batched; AssertionError for dimensions that do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query: expected 2 dimensions, or 3 with a batch, got {query.dim()}-D query tensor")
    dims = query.dim()
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"for a {dims}-D query expected key and value to be {dims}-D, got {key.dim()}-D and {value.dim()}-D")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"for a {dims}-D query expected key_padding_mask to be None or {dims - 1}-D, got {key_padding_mask.dim()}-D")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"attn_mask: expected 2 or 3 dimensions, got {attn_mask.dim()}")
        expected = (num_heads, query.shape[0], key.shape[0])
        if dims == 2 and attn_mask.dim() == 3 and tuple(attn_mask.shape) != expected:
            raise AssertionError(f"expected attn_mask of shape {expected}, got {tuple(attn_mask.shape)}")
    return dims == 3


def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
    out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
    use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
    average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Attention of MultiheadAttention: (L, N, E) or (L, E) queries over (S, N, E) keys and values, and the weights if they are needed.

    AssertionError for shapes that do not go together, RuntimeError for masks that do not fit.

    >>> x, w = torch.ones(3, 1, 4), torch.ones(12, 4)
    >>> out, weights = F.multi_head_attention_forward(x, x, x, 4, 2, w, None, None, None, False, 0.0, torch.eye(4), None)
    >>> out.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key and key is value
        query, key, value = (query.unsqueeze(1),) * 3 if same else (t.unsqueeze(1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    source = key.shape[0]
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward: is_causal says what attn_mask is, and needs attn_mask")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if key_padding_mask is not None:
            is_causal = False
    if embed != embed_dim_to_check:
        raise AssertionError(f"expected an embedding size of {embed_dim_to_check}, but got {embed}")
    head = embed // num_heads
    if head * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    shared = 2 if use_separate_proj_weight else 3  # with weights of their own, the last sizes may differ
    if key.shape[:shared] != value.shape[:shared]:
        raise AssertionError(f"expected key and value of equal sizes in the first {shared} dimensions, got {tuple(key.shape)} and {tuple(value.shape)}")
    if attn_mask is not None:
        expected = (length, source) if attn_mask.dim() == 2 else (batch * num_heads, length, source)
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(f"the shape of the {attn_mask.dim()}D attn_mask is {tuple(attn_mask.shape)}, but should be {expected}")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value")
    elif (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v go together")
    for name, given in (("static_k", static_k), ("static_v", static_v)):
        if given is not None and (given.shape[0] != batch * num_heads or given.shape[2] != head):
            raise AssertionError(f"expecting {name} of {batch * num_heads} × S × {head}, but got {tuple(given.shape)}")
    source = source if static_k is None else static_k.shape[1]
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, source):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, source)}, but got {tuple(key_padding_mask.shape)}")
    if need_weights and is_causal and attn_mask is None:
        raise AssertionError("is_causal with weights needs attn_mask")
    weight = None if use_separate_proj_weight else in_proj_weight
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (None, None, None)
    out, weights = ops["_multi_head_attention"](
        query, key, value, num_heads, weight, in_proj_bias, *separate, bias_k, bias_v, static_k, static_v, add_zero_attn, dropout_p if training else 0.0,
        out_proj_weight, out_proj_bias, key_padding_mask, attn_mask, is_causal, need_weights, average_attn_weights,
    )  # fmt: skip
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)
