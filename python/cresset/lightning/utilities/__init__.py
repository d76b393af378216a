"""lightning.pytorch.utilities: small helpers of training programs.

>>> torch.lightning.utilities.grad_norm(nn.Linear(1, 1), 2)
{}
"""

import functools
import logging
import warnings

__all__ = ["grad_norm", "rank_zero_debug", "rank_zero_deprecation", "rank_zero_info", "rank_zero_only", "rank_zero_warn"]

_log = logging.getLogger(__name__)


def _rank():
    import os

    return int(os.environ.get("RANK", "0") or 0)


def rank_zero_only(fn, default=None):
    """`fn`, which does nothing and gives `default` in processes of a rank other than 0.

    >>> torch.lightning.utilities.rank_zero_only(abs)(-1)
    1
    """

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        return fn(*args, **kwargs) if rank_zero_only.rank == 0 else default

    return wrapped


rank_zero_only.rank = _rank()


@rank_zero_only
def rank_zero_info(*args, **kwargs):
    """Logs a message at rank 0.

    >>> torch.lightning.utilities.rank_zero_info("begun")
    """
    _log.info(*args, **kwargs)


@rank_zero_only
def rank_zero_debug(*args, **kwargs):
    """Logs a message for debugging at rank 0.

    >>> torch.lightning.utilities.rank_zero_debug("begun")
    """
    _log.debug(*args, **kwargs)


@rank_zero_only
def rank_zero_warn(message, stacklevel=4, **kwargs):
    """Warns at rank 0.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.lightning.utilities.rank_zero_warn("careful")
    """
    warnings.warn(message, stacklevel=stacklevel, **kwargs)


@rank_zero_only
def rank_zero_deprecation(message, stacklevel=5, **kwargs):
    """Warns of an old use at rank 0.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.lightning.utilities.rank_zero_deprecation("old")
    """
    warnings.warn(message, category=DeprecationWarning, stacklevel=stacklevel, **kwargs)


def grad_norm(module, norm_type, group_separator="/"):
    """The norm of each parameter's gradient by name, and of all together, as values to log.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> net(torch.ones(1)).sum().backward()
    >>> {name: value.item() for name, value in torch.lightning.utilities.grad_norm(net, 2).items()}
    {'grad_2.0_norm/weight': 1.0, 'grad_2.0_norm_total': 1.0}
    """
    import cresset as torch

    norm_type = float(norm_type)
    if norm_type <= 0:
        raise ValueError(f"grad_norm: expected a positive norm_type, got {norm_type}")
    found = {f"grad_{norm_type}_norm{group_separator}{name}": p.grad.detach().norm(norm_type) for name, p in module.named_parameters() if p.grad is not None}
    if found:
        found[f"grad_{norm_type}_norm_total"] = torch.stack(list(found.values())).norm(norm_type)
    return found
