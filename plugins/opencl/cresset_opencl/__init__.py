"""The device "opencl": `import cresset_opencl` makes `torch.device("opencl")` and `torch.opencl` valid.

>>> import cresset as torch, cresset_opencl  # doctest: +SKIP
>>> torch.ones(2, device="opencl") + 1  # doctest: +SKIP
tensor([2., 2.], device='opencl:0')

`CRESSET_OPENCL_LIBRARY` names the shared library where it does not lie in this folder.
"""

import contextlib
import os
from pathlib import Path

import cresset as torch

_LIBRARY = os.environ.get("CRESSET_OPENCL_LIBRARY", str(Path(__file__).resolve().parent / "libcresset_opencl.so"))
torch.ops.load_library(_LIBRARY)
_ops = torch.ops.opencl

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "default_stream", "device", "device_count", "empty_cache", "fallbacks", "get_amp_supported_dtype",
    "get_device_name", "get_device_properties", "init", "initial_seed", "is_available", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated",
    "memory_reserved", "reset_fallbacks", "reset_peak_memory_stats", "set_device", "set_stream", "stream", "synchronize",
]  # fmt: skip


def _number(device=None):
    """The number of a device that is given as a number, a name or a torch.device; the current one for None."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    found = torch.device(device)
    if found.type != "opencl":
        raise ValueError(f"expected a device of type opencl, got {found}")
    return current_device() if found.index is None else found.index


def device_count():
    """Devices with shared virtual memory, of all platforms.

    >>> torch.opencl.device_count() >= 0  # doctest: +SKIP
    True
    """
    return _ops.device_count()


def is_available():
    """Whether there is a device.

    >>> torch.opencl.is_available()  # doctest: +SKIP
    True
    """
    return device_count() > 0


def is_initialized():
    """Devices are found when the module is imported.

    >>> torch.opencl.is_initialized()  # doctest: +SKIP
    True
    """
    return True


def init():
    """Raises a RuntimeError with the reason where there is no device.

    >>> torch.opencl.init()  # doctest: +SKIP
    """
    if not is_available():
        raise RuntimeError(f"opencl: there is no device to compute on: {_ops.why_none()}")


def _is_in_bad_fork():
    return False


def current_device():
    """The number of the device that new tensors of "opencl" are on.

    >>> torch.opencl.current_device()  # doctest: +SKIP
    0
    """
    return _ops.current_device()


def set_device(device):
    """Makes a device current for this thread.

    >>> torch.opencl.set_device(0)  # doctest: +SKIP
    """
    _ops.set_device(_number(device))


class device(contextlib.ContextDecorator):
    """Makes a device current within a block.

    >>> with torch.opencl.device(0): torch.zeros(1, device="opencl").device  # doctest: +SKIP
    device(type='opencl', index=0)
    """

    def __init__(self, device):
        self.idx = _number(device)

    def __enter__(self):
        self._before = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *error):
        set_device(self._before)


def get_device_name(device=None):
    """The name that OpenCL gives the device.

    >>> torch.opencl.get_device_name()  # doctest: +SKIP
    'pthread-haswell'
    """
    return _ops.device_name(_number(device))


class _Properties:
    def __init__(self, index):
        self.name, self.version = _ops.device_name(index), _ops.device_version(index)
        self.total_memory, self.max_work_group_size, double = _ops.device_numbers(index)
        self.has_fp64 = bool(double)

    def __repr__(self):
        return f"_Properties(name={self.name!r}, version={self.version!r}, total_memory={self.total_memory >> 20}MB, has_fp64={self.has_fp64})"


def get_device_properties(device=None):
    """Name, version, memory and whether there is double precision.

    >>> torch.opencl.get_device_properties(0).has_fp64  # doctest: +SKIP
    True
    """
    return _Properties(_number(device))


def synchronize(device=None):
    """Blocks until all work of the device is done.

    >>> torch.opencl.synchronize()  # doctest: +SKIP
    """
    _ops.synchronize(_number(device))


class Stream:
    """An in-order queue of a device: `Stream()` makes one, `Stream(device, number)` names one that is there.

    >>> torch.opencl.Stream().query()  # doctest: +SKIP
    True
    """

    def __init__(self, device=None, stream_id=None):
        self.device_index = _number(device)
        self.device = torch.device("opencl", self.device_index)
        self.stream_id = _ops.new_stream(self.device_index) if stream_id is None else stream_id

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self):
        return hash((self.device_index, self.stream_id))

    def __repr__(self):
        return f"torch.opencl.Stream(device={self.device}, stream_id={self.stream_id})"

    def query(self):
        return _ops.stream_done(self.device_index, self.stream_id)

    def synchronize(self):
        _ops.synchronize_stream(self.device_index, self.stream_id)

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        event.wait(self)

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())


class Event:
    """A mark in a stream. Times between two are in milliseconds.

    >>> a, b = torch.opencl.Event(), torch.opencl.Event()  # doctest: +SKIP
    >>> a.record(), b.record(), a.elapsed_time(b) >= 0  # doctest: +SKIP
    (None, None, True)
    """

    def __init__(self, enable_timing=True, blocking=False):
        self._event = None

    def record(self, stream=None):
        stream = current_stream() if stream is None else stream
        if self._event is not None:
            _ops.drop_event(self._event)
        self._event = _ops.record_event(stream.device_index, stream.stream_id)

    def _recorded(self):
        if self._event is None:
            raise RuntimeError("the event is not recorded yet")
        return self._event

    def query(self):
        return self._event is None or _ops.event_done(self._event)

    def wait(self, stream=None):
        if self._event is not None:
            stream = current_stream() if stream is None else stream
            _ops.wait_event(self._event, stream.device_index, stream.stream_id)

    def synchronize(self):
        if self._event is not None:
            _ops.synchronize_event(self._event)

    def elapsed_time(self, end):
        return _ops.elapsed_time(self._recorded(), end._recorded())

    def __del__(self):
        if self._event is not None:
            _ops.drop_event(self._event)


def current_stream(device=None):
    """The stream that work of this thread goes to.

    >>> torch.opencl.current_stream().stream_id  # doctest: +SKIP
    0
    """
    index = _number(device)
    return Stream(index, _ops.current_stream(index))


def default_stream(device=None):
    """The device's first stream.

    >>> torch.opencl.default_stream() == torch.opencl.current_stream()  # doctest: +SKIP
    True
    """
    return Stream(_number(device), 0)


def set_stream(stream):
    """Makes a stream current for this thread.

    >>> torch.opencl.set_stream(torch.opencl.default_stream())  # doctest: +SKIP
    """
    _ops.exchange_stream(stream.device_index, stream.stream_id)


class StreamContext:
    """Makes a stream, and its device, current within a block; nothing for None.

    >>> with torch.opencl.StreamContext(torch.opencl.Stream()): pass  # doctest: +SKIP
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._device = current_device()
            set_device(self.stream.device_index)
            self._before = _ops.exchange_stream(self.stream.device_index, self.stream.stream_id)

    def __exit__(self, *error):
        if self.stream is not None:
            _ops.exchange_stream(self.stream.device_index, self._before)
            set_device(self._device)


def stream(stream):
    """The block in which a stream is current.

    >>> with torch.opencl.stream(torch.opencl.Stream()): pass  # doctest: +SKIP
    """
    return StreamContext(stream)


def memory_allocated(device=None):
    """Bytes that tensors hold.

    >>> torch.opencl.memory_allocated() >= 0  # doctest: +SKIP
    True
    """
    return _ops.memory(_number(device))[0]


def max_memory_allocated(device=None):
    """The most bytes that tensors held at once.

    >>> torch.opencl.max_memory_allocated() >= torch.opencl.memory_allocated()  # doctest: +SKIP
    True
    """
    return _ops.memory(_number(device))[1]


def memory_reserved(device=None):
    """Bytes that tensors hold or that are kept for the next ones.

    >>> torch.opencl.memory_reserved() >= torch.opencl.memory_allocated()  # doctest: +SKIP
    True
    """
    return _ops.memory(_number(device))[2]


def reset_peak_memory_stats(device=None):
    """Lets `max_memory_allocated` begin anew.

    >>> torch.opencl.reset_peak_memory_stats()  # doctest: +SKIP
    """
    _ops.reset_peak(_number(device))


def empty_cache():
    """Gives memory that no tensor holds back to OpenCL.

    >>> torch.opencl.empty_cache()  # doctest: +SKIP
    """
    _ops.empty_cache()


_seed = 67280421310721


def manual_seed(seed):
    """Seeds the generators of the devices; random operators of the device then draw the same numbers again.

    >>> torch.opencl.manual_seed(0)  # doctest: +SKIP
    """
    global _seed
    _seed = int(seed)
    _ops.manual_seed(_seed & 0x7FFFFFFFFFFFFFFF)


manual_seed_all = manual_seed


def initial_seed():
    """The seed of the sequence that the devices draw from.

    >>> torch.opencl.initial_seed() > 0  # doctest: +SKIP
    True
    """
    return _seed


def get_amp_supported_dtype():
    """The dtypes that `torch.autocast("opencl")` may compute in.

    >>> torch.opencl.get_amp_supported_dtype()  # doctest: +SKIP
    [torch.float16, torch.bfloat16]
    """
    return [torch.float16, torch.bfloat16]


def fallbacks():
    """Names of operators that ran on the CPU, with the number of their calls.

    >>> torch.opencl.fallbacks()  # doctest: +SKIP
    {'linalg_cholesky_ex': 2}
    """
    return dict(zip(_ops.fallback_names().split(), _ops.fallback_numbers(), strict=True))


def reset_fallbacks():
    """Begins to count fallbacks anew.

    >>> torch.opencl.reset_fallbacks()  # doctest: +SKIP
    """
    _ops.reset_fallbacks()


def _register():
    import sys

    torch._register_device_module("opencl", sys.modules[__name__])
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)


_register()
