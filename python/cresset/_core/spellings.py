"""Functions of `torch` that stand elsewhere under other arguments."""

import _cresset as _extension

import cresset as _torch


class AcceleratorError(RuntimeError):
    """Error of an accelerator while it computes; there is none here that could."""


def view_as_real_copy(input, *, out=None):
    """A copy of `view_as_real`.

    >>> torch.view_as_real_copy(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    made = _torch.view_as_real(input).clone()
    return made if out is None else out.resize_(made.shape).copy_(made)


def view_as_complex_copy(input, *, out=None):
    """A copy of `view_as_complex`.

    >>> torch.view_as_complex_copy(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    made = _torch.view_as_complex(input).clone()
    return made if out is None else out.resize_(made.shape).copy_(made)


def set_anomaly_enabled(enabled, check_nan=True):
    """Turns anomaly mode on or off; see `autograd.detect_anomaly`.

    >>> torch.set_anomaly_enabled(False)
    """
    _extension.set_anomaly(bool(enabled), bool(check_nan))
