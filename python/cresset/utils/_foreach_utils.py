"""Which devices have fused and list kernels, and tensors grouped by device and dtype: names that optimizers of others import."""

from __future__ import annotations

import cresset as torch

__all__: list[str] = []

Indices = list[int]
TensorListList = list[list]
_foreach_supported_types = [torch.Tensor, torch.nn.parameter.Parameter]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The device types besides the CPU whose list ops are faster than loops."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The device types on which an optimizer may be asked for one pass over memory."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


@torch.no_grad()
def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Splits lists of equal length alike, by the device and dtype of the first list's tensors.

    Returns a dictionary from (device, dtype) to the lists and, if asked for, their positions.
    """
    first = tensorlistlist[0]
    if any(len(tensors) != len(first) for tensors in tensorlistlist):
        raise RuntimeError(f"the lists must be of the same length, got {[len(tensors) for tensors in tensorlistlist]}")
    groups = {}
    for i, t in enumerate(first):
        lists, places = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for chosen, tensors in zip(lists, tensorlistlist):
            chosen.append(tensors[i])
        if with_indices:
            places.append(i)
    return groups


def _device_has_foreach_support(device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu") and not torch.jit.is_scripting()


def _has_foreach_support(tensors, device) -> bool:
    return _device_has_foreach_support(device) and all(t is None or type(t) in _foreach_supported_types for t in tensors)
