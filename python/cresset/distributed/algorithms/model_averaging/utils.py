"""Averages of parameters over the processes of a group."""

import cresset as torch
from cresset.distributed import _collectives, _groups

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params, process_group):
    """Sets parameters, any iterable, to their averages over all processes.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.model_averaging.utils import average_parameters
    >>> p = nn.Parameter(torch.ones(1)); average_parameters(iter([p]), dist.group.WORLD); p.item()
    1.0
    """
    group = _groups._world() if process_group is None else process_group
    if _groups._rank_not_in_group(group):
        return
    by_dtype = {}
    for p in params:
        by_dtype.setdefault(p.dtype, []).append(p.detach())
    with torch.no_grad():
        for tensors in by_dtype.values():
            row = torch.cat([t.reshape(-1) for t in tensors]) / group.size()
            _collectives.all_reduce(row, group=group)
            for tensor, part in zip(tensors, row.split([t.numel() for t in tensors])):
                tensor.copy_(part.view_as(tensor))


def get_params_to_average(params):
    """Those of parameters, or of groups of an optimizer, that have a gradient.

    >>> from cresset.distributed.algorithms.model_averaging.utils import get_params_to_average
    >>> get_params_to_average([nn.Parameter(torch.ones(1))])
    []
    """
    found = []
    for entry in params:
        if isinstance(entry, torch.nn.Parameter):
            found += [entry] if entry.grad is not None else []
        elif isinstance(entry, dict):
            found += [p for p in entry["params"] if p.grad is not None]
        else:
            raise NotImplementedError(f"get_params_to_average: expected parameters or groups of an optimizer, got {type(entry).__name__}")
    return found


def average_parameters_or_parameter_groups(params, process_group):
    """`average_parameters` of those that have a gradient.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
    >>> average_parameters_or_parameter_groups([nn.Parameter(torch.ones(1))], None)
    """
    average_parameters(iter(get_params_to_average(params)), process_group)
