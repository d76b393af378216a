"""Questions of libraries about tensors."""

import cresset as torch


def is_contiguous(a):
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def suggest_memory_format(x):
    """The memory format of a tensor: channels last where its strides are in that order and no other, else contiguous.

    >>> suggest_memory_format(torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last))
    torch.channels_last
    """
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return last if last and x.is_contiguous(memory_format=last) and not x.is_contiguous() else torch.contiguous_format


def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a tensor without gaps; with ``row_major=False`` its last two dimensions lie the other way round.

    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), row_major=False)
    ((12, 4, 1), (12, 1, 3))
    """
    steps, step = [], 1
    for size in reversed(shape):
        steps.insert(0, step)
        step *= max(size, 1)
    if not row_major and len(steps) > 1:
        steps[-2:] = 1, max(shape[-2], 1)
    return tuple(steps)
