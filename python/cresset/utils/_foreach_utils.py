"""Which devices work on lists of tensors at once, and lists of tensors by device and dtype."""

import cresset as torch


def _get_foreach_kernels_supported_devices():
    return ["cuda", "xpu", "privateuseone"]


def _get_fused_kernels_supported_devices():
    return ["mps", "cuda", "xpu", "hpu", "cpu", "privateuseone"]


def _has_foreach_support(tensors, device):
    return device.type in _get_foreach_kernels_supported_devices() and all(t is None or type(t) in (torch.Tensor, torch.nn.Parameter) for t in tensors)


def _device_has_foreach_support(device):
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of equal length, of which the first has no None, in parts where the tensors of the first list have one device and dtype:
    (device, dtype) -> ([part of each list], places)."""
    groups = {}
    for place, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, places = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in tensorlistlist], []))
        for part, value in zip(lists, row):
            part.append(value)
        places.append(place)
    return {key: (lists, places if with_indices else []) for key, (lists, places) in groups.items()}
