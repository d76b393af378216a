"""Batch normalisation with fixed statistics, put into the layer before it."""

import copy

import cresset as torch

from ..parameter import Parameter


def _fused(weight, bias, mean, var, eps, gamma, beta, channel_dim):
    new = torch._fuse_batch_norm(weight, bias, mean, var, eps, gamma, beta, channel_dim)
    bias = new[1] if bias is None else bias
    return tuple(Parameter(t.detach(), p.requires_grad) for t, p in zip(new, (weight, bias), strict=True))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution that does what it and a batch normalisation did.

    >>> w, b = nn.utils.fuse_conv_bn_weights(torch.ones(2, 1, 1), None, torch.zeros(2), torch.ones(2), 0.0, None, None)
    >>> w.flatten().tolist()
    [1.0, 1.0]
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a Linear that does what it and a batch normalisation did.

    >>> w, b = nn.utils.fuse_linear_bn_weights(torch.ones(2, 1), torch.ones(2), torch.ones(2), torch.ones(2), 0.0, torch.ones(2), torch.ones(2))
    >>> b.tolist()
    [1.0, 1.0]
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("fusion is only for eval: call eval() on both modules first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("fusion needs a batch normalisation with running statistics")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what `conv` and then `bn` do, both in evaluation. AssertionError in training.

    >>> fused = nn.utils.fuse_conv_bn_eval(nn.Conv1d(1, 2, 1).eval(), nn.BatchNorm1d(2).eval())
    >>> fused(torch.ones(1, 1, 3)).shape
    torch.Size([1, 2, 3])
    """
    _check(conv, bn)
    out = copy.deepcopy(conv)
    out.weight, out.bias = fuse_conv_bn_weights(out.weight, out.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    return out


def fuse_linear_bn_eval(linear, bn):
    """A Linear that does what `linear` and then `bn` do, both in evaluation. AssertionError in training or for other sizes.

    >>> nn.utils.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(f"fuse: expected bn.num_features of 1 or of linear.out_features, got {linear.out_features} and {bn.num_features}")
    out = copy.deepcopy(linear)
    out.weight, out.bias = fuse_linear_bn_weights(out.weight, out.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return out
