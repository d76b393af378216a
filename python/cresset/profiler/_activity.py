"""Kinds of activity that can be recorded."""

import enum

ProfilerActivity = enum.Enum("ProfilerActivity", "CPU XPU MTIA CUDA HPU PrivateUse1".split(), start=0, module=__name__)
ProfilerActivity.__doc__ = """Kinds of events to record, under PyTorch's numbers.

>>> torch.profiler.ProfilerActivity.CPU.name
'CPU'
"""


def supported_activities():
    """The activities that there are to record.

    >>> [activity.name for activity in torch.profiler.supported_activities()]
    ['CPU']
    """
    return {ProfilerActivity.CPU}


def kineto_available():
    """Whether `profile` records: always.

    >>> torch.profiler.kineto_available()
    True
    """
    return True
