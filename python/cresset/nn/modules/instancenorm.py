"""Instance normalisation: every channel of every sample by itself."""

import warnings

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version") is None and not self.track_running_stats:
            old = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if old:
                error_msgs.append(f"unexpected running statistics {', '.join(old)}: {type(self).__name__} does not track them by default; "
                                  "drop them or set track_running_stats=True")  # fmt: skip
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def forward(self, input):
        self._check_input_dim(input)
        dim = self._channel_dim(input)
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}.")
            warnings.warn(f"input's size at dim={dim} does not match num_features, which is not used here", stacklevel=2)
        batched = input if dim == 1 else input.unsqueeze(0)
        of_input = self.training or not self.track_running_stats
        factor = 0.0 if self.momentum is None else self.momentum
        out = F.instance_norm(batched, self.running_mean, self.running_var, self.weight, self.bias, of_input, factor, self.eps)
        return out if dim == 1 else out.squeeze(0)

    def _channel_dim(self, input):
        return 0 if input.dim() == self._dims[0] else 1


class InstanceNorm1d(_InstanceNorm):
    """Normalises every row of (N, C, L) or (C, L); shape kept. ValueError for other numbers of dimensions.

    >>> bool(nn.InstanceNorm1d(3)(torch.rand(2, 3, 8)).mean(-1).abs().max() < 1e-5)
    True
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises every image of (N, C, H, W) or (C, H, W); see InstanceNorm1d.

    >>> nn.InstanceNorm2d(3, affine=True)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises every volume of (N, C, D, H, W) or (C, D, H, W); see InstanceNorm1d.

    >>> nn.InstanceNorm3d(3)(torch.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (4, 5)


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    _channel_dim = _InstanceNorm._channel_dim


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An InstanceNorm1d whose num_features come with the first input.

    >>> nn.LazyInstanceNorm1d(affine=True)(torch.rand(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d
    _dims = InstanceNorm1d._dims


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An InstanceNorm2d whose num_features come with the first input.

    >>> nn.LazyInstanceNorm2d(affine=True)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d
    _dims = InstanceNorm2d._dims


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An InstanceNorm3d whose num_features come with the first input.

    >>> nn.LazyInstanceNorm3d(affine=True)(torch.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
    _dims = InstanceNorm3d._dims
