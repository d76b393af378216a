"""The accelerator of this machine, whatever its kind. None is built in, which `is_available` tells.

>>> torch.accelerator.is_available()
False
"""

import collections as _collections

from ._core.devices import NotBuiltError as _NotBuiltError
from ._core.devices import refusing_class as _refusing_class


def is_available():
    """Whether there is an accelerator to compute on.

    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count():
    """How many accelerators there are.

    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available=False):
    """The device of the accelerator, or None.

    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return None


def memory_stats(device_index=None, /):
    """Figures of the accelerator's allocator by name.

    >>> len(torch.accelerator.memory_stats())
    0
    """
    return _collections.OrderedDict()


def _without(name, what, result, example):
    def function(device_index=None, /):
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}\n\n    >>> torch.accelerator.{name}()\n{example}    "
    return function


for _name, _what in {
    "memory_allocated": "Bytes that tensors on the accelerator use.",
    "memory_reserved": "Bytes that the accelerator's allocator holds.",
    "max_memory_allocated": "The most bytes that tensors on the accelerator used.",
    "max_memory_reserved": "The most bytes that the accelerator's allocator held.",
}.items():
    globals()[_name] = _without(_name, _what, 0, "    0\n")
for _name, _what in {
    "empty_cache": "Gives cached memory of the accelerator back.",
    "empty_host_cache": "Gives cached pinned memory back.",
    "reset_peak_memory_stats": "Begins the peak figures anew.",
    "reset_accumulated_memory_stats": "Begins the sums anew.",
}.items():
    globals()[_name] = _without(_name, _what, None, "")


def _refusing(name, what):
    def function(*args):
        raise _NotBuiltError(f"{name}: there is no accelerator here; ask torch.accelerator.is_available() first")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} Raises while there is no accelerator.\n\n    >>> torch.accelerator.is_available()\n    False\n    "
    return function


for _name, _what in {
    "current_device_index": "The index of the current accelerator.",
    "current_device_idx": "The old name of `current_device_index`.",
    "set_device_index": "Makes an accelerator the current one.",
    "set_device_idx": "The old name of `set_device_index`.",
    "current_stream": "The stream that work is put on.",
    "set_stream": "Makes a stream the current one.",
    "synchronize": "Waits for all work on the accelerator.",
    "get_device_capability": "What the accelerator can do.",
    "get_memory_info": "Free and total memory of the accelerator.",
}.items():
    globals()[_name] = _refusing(_name, _what)

device_index = _refusing_class("accelerator", "device_index", __name__, "A context that makes the accelerator of this index the current one.")
Graph = _refusing_class(
    "accelerator", "Graph", __name__, "Recorded work that the accelerator repeats.", "capture_begin capture_end enable_debug_mode debug_dump pool replay reset"
)
