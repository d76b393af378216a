"""torch.profiler: what a program spends its time and memory on.

>>> with torch.profiler.profile() as p:
...     with torch.profiler.record_function("a part"):
...         _ = torch.ones(2).cos()
>>> sorted(row.key for row in p.key_averages())
['a part', 'aten::cos', 'aten::ones']
"""

from ..autograd.profiler import KinetoStepTracker, record_function
from ..autograd.profiler_util import DeviceType
from ._activity import ProfilerActivity, kineto_available, supported_activities
from ._execution_trace import ExecutionTraceObserver
from ._why import why
from .profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler

__all__ = ["DeviceType", "ExecutionTraceObserver", "KinetoStepTracker", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile",
           "record_function", "schedule", "supported_activities", "tensorboard_trace_handler", "why"]  # fmt: skip
