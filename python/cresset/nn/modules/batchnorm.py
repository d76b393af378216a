"""Batch normalisation: with the statistics of the batch in training, with running ones in evaluation."""

import cresset as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer
from .lazy import _LazyLayer
from .module import Module


_FRESH = {"running_mean": 0, "running_var": 1, "num_batches_tracked": 0}


class _NormBase(Module):
    """Weight, bias and running statistics of a number of channels."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _statistics = (("running_mean", torch.zeros), ("running_var", torch.ones))

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(torch.empty(num_features, device=device, dtype=dtype)) if wanted else None)
        for name, make in self._statistics:
            self.register_buffer(name, make(num_features, device=device, dtype=dtype) if track_running_stats else None)
        count = torch.tensor(0, dtype=torch.int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget the running statistics."""
        for name, start in _FRESH.items() if self.track_running_stats else ():
            getattr(self, name).fill_(start)

    def reset_parameters(self):
        """Forget the running statistics; weight one, bias zero."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            raise ValueError(f"expected {' or '.join(f'{d}D' for d in self._dims)} input (got {input.dim()}D input)")

    def extra_repr(self):
        text = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}"
        return text + f", track_running_stats={self.track_running_stats}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        if local_metadata.get("version") is None or local_metadata["version"] < 2:
            key = prefix + "num_batches_tracked"  # older files do not have it
            if self.track_running_stats and key not in state_dict:
                count = self.num_batches_tracked
                state_dict[key] = count if count is not None and not count.is_meta else torch.tensor(0, dtype=torch.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def _counted(self):
        """Counts a batch; its share of the running statistics."""
        count = self.num_batches_tracked.add_(1)
        return 1.0 / float(count) if self.momentum is None else self.momentum

    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            factor = self._counted()
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        update = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if update else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, of_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises every channel of (N, C) or (N, C, L) over the batch; shape kept. ValueError for other numbers of dimensions.

    Running mean and variance move by `momentum` of what each batch shows; None takes the plain average over all batches.

    >>> bool(nn.BatchNorm1d(3)(torch.rand(8, 3)).mean(0).abs().max() < 1e-5)
    True
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises every channel of (N, C, H, W) over the batch and the image; see BatchNorm1d.

    >>> nn.BatchNorm2d(3)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises every channel of (N, C, D, H, W); see BatchNorm1d.

    >>> nn.BatchNorm3d(3)(torch.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (N, C, ...) over the batches of all processes of a group, by default all; without several, of its batch. See BatchNorm1d.

    Errors: ValueError for fewer than two dimensions.

    >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(3))
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input):
        group = self._several()
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        if group is None or not of_batch:
            return super().forward(input)
        self._check_input_dim(input)
        from cresset.distributed.nn.functional import all_reduce

        work = torch.promote_types(input.dtype, torch.float32)
        x = input.to(work)
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [-1 if d == 1 else 1 for d in range(x.dim())]
        own = x.new_full((1,), float(x.numel() // max(x.shape[1], 1)))
        totals = all_reduce(torch.cat([x.sum(dims), own]), group=group)
        count = totals[-1].detach()
        mean = totals[:-1] / count
        centred = x - mean.view(shape)
        var = all_reduce((centred * centred).sum(dims), group=group) / count
        if self.track_running_stats and self.training:
            self._track(mean.detach(), var.detach() * (count / (count - 1)))
        out = centred * (var + self.eps).rsqrt().view(shape)
        out = out if self.weight is None else out * self.weight.view(shape)
        out = out if self.bias is None else out + self.bias.view(shape)
        return out.to(input.dtype)

    def _several(self):
        """The group whose processes normalise together; None where it has one."""
        dist = torch.distributed
        group = None
        if dist.is_initialized():
            group = dist.group.WORLD if self.process_group is None else self.process_group
        return group if group is not None and dist.get_world_size(group) > 1 else None

    def _track(self, mean, var):
        factor = self._counted()
        with torch.no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_(var.to(self.running_var.dtype), factor)

    def _check_input_dim(self, input):
        if (dims := input.dim()) < 2:
            raise ValueError(f"SyncBatchNorm: expected an input of 2 or more dimensions, got {dims}")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every BatchNorm in it replaced by a SyncBatchNorm that has its parameters, buffers and options."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                         bias=module.bias is not None)  # fmt: skip
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module._modules.items():
            if child is not None:
                result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(_LazyLayer, _NormBase):
    """A normalisation without num_features: the first input brings them."""

    _wanted = "num_features"

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.__dict__.update(affine=affine, track_running_stats=track_running_stats)
        if affine:
            self._start_lazy(bias, device, dtype)
        if track_running_stats:
            for name, _ in self._statistics:
                self._buffers[name] = UninitializedBuffer(device=device, dtype=dtype)
            self._buffers["num_batches_tracked"] = torch.tensor(0, dtype=torch.int64, device=device)

    def _found_in(self, input):
        self._check_input_dim(input)
        return input.shape[self._channel_dim(input)]

    def _shapes(self):
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,))

    def _channel_dim(self, input):
        return 1


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose num_features come with the first input.

    >>> nn.LazyBatchNorm1d()(torch.rand(4, 3)).shape
    torch.Size([4, 3])
    """

    cls_to_become = BatchNorm1d
    _dims = BatchNorm1d._dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose num_features come with the first input.

    >>> nn.LazyBatchNorm2d()(torch.rand(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    cls_to_become = BatchNorm2d
    _dims = BatchNorm2d._dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose num_features come with the first input.

    >>> nn.LazyBatchNorm3d()(torch.rand(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    cls_to_become = BatchNorm3d
    _dims = BatchNorm3d._dims
