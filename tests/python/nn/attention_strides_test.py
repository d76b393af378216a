"""Attention gives its result in the memory order of the query; gradients have the heads of a place beside each other."""

import pytest
from cresset.nn.functional import scaled_dot_product_attention

import cresset as torch


def laid_out(order, length=5):
    sizes = {"B": 2, "H": 4, "L": length, "E": 4}
    return torch.randn([sizes[c] for c in order]).permute([order.index(c) for c in "BHLE"])


@pytest.mark.parametrize("order", ["BHLE", "BLHE", "LBHE", "HBLE"])
@pytest.mark.parametrize("keys", ["BHLE", "BLHE"])
@pytest.mark.parametrize("dtype", [torch.float, torch.double, torch.bfloat16])
def test_the_result_lies_as_the_query(order, keys, dtype):
    q, k, v = (t.to(dtype) for t in (laid_out(order), laid_out(keys, 7), laid_out("BHLE", 7)))
    for mask in (None, torch.zeros(5, 7, dtype=dtype)):
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        assert out.stride() == q.stride()
        torch.testing.assert_close(out, scaled_dot_product_attention(q.contiguous(), k.contiguous(), v, attn_mask=mask), atol=1e-6, rtol=1e-5)


def test_other_results_are_contiguous():
    q = laid_out("BLHE")
    wide = torch.randn(2, 4, 5, 6)
    assert scaled_dot_product_attention(q, q, wide).is_contiguous()
    assert scaled_dot_product_attention(laid_out("BHEL"), q, q).is_contiguous()
    assert scaled_dot_product_attention(q[0], q[0], q[0]).is_contiguous()


def test_gaps_of_the_query_are_closed():
    q = torch.randn(2, 5, 4, 12).transpose(1, 2)[..., :4]
    assert scaled_dot_product_attention(q, q, q).stride() == (80, 4, 16, 1)


@pytest.mark.parametrize("order", ["BHLE", "BLHE", "LBHE"])
def test_gradients_have_the_heads_beside_each_other(order):
    q, k, v = (t.double().requires_grad_() for t in (laid_out(order), laid_out("BHLE", 7), laid_out(order, 7)))
    found = torch.autograd.grad(scaled_dot_product_attention(q, k, v).sin().sum(), (q, k, v))
    assert [g.stride() for g in found] == [(80, 4, 16, 1), (112, 4, 16, 1), (112, 4, 16, 1)]
    weights = (q @ k.mT / 2).softmax(-1) @ v
    for g, expected in zip(found, torch.autograd.grad(weights.sin().sum(), (q, k, v)), strict=True):
        torch.testing.assert_close(g, expected)
