"""torch.utils.benchmark: how long statements take, and tables that compare them.

>>> from cresset.utils.benchmark import Timer
>>> timer = Timer("x @ x", "x = torch.ones(8, 8)", label="product", num_threads=1)
>>> timer.timeit(10).number_per_run
10
"""

from .common import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from .compare import Colorize, Compare
from .fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .timer import Language, Timer, timer

__all__ = ["Colorize", "Compare", "FuzzedParameter", "FuzzedTensor", "Fuzzer", "Language", "Measurement", "ParameterAlias", "TaskSpec", "Timer",
           "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]  # fmt: skip
