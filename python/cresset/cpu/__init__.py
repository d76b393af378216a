"""The CPU under the interface that accelerators have, so that one program serves both."""

import contextlib as _contextlib

import _cresset

_SUBMODULES = ("amp",)


def is_available():
    """Always True.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized():
    """Always True.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count():
    """Always 1.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device():
    """Always "cpu".

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """Nothing is to be set: there is one CPU.

    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Returns at once: work on the CPU is done when a call returns.

    >>> torch.cpu.synchronize()
    """


def memory_stats(device=None):
    """Figures of the CPU's allocator: `allocated_bytes` now, `peak_allocated_bytes` at most, `reserved_bytes` with what it keeps for later,
    `num_allocs` calls, `num_system_allocs` of them that reached the operating system.

    >>> x = torch.empty(2**20)
    >>> torch.cpu.memory_stats()["allocated_bytes"] >= x.nbytes
    True
    """
    return _cresset._cpu_memory()


def reset_peak_memory_stats(device=None):
    """Starts `peak_allocated_bytes` from what is allocated now.

    >>> torch.cpu.reset_peak_memory_stats()
    """
    _cresset._reset_cpu_peak()


class Stream:
    """The one queue of the CPU. Work on it is done when a call returns.

    >>> torch.cpu.Stream().synchronize()
    """

    def __init__(self, priority=-1):
        self.priority = priority

    def wait_stream(self, stream):
        """Returns at once."""

    def wait_event(self, event):
        """Returns at once."""

    def record_event(self, event=None):
        """An event that has happened."""
        return Event() if event is None else event

    def synchronize(self):
        """Returns at once."""

    def query(self):
        """Whether all work is done: True."""
        return True


class Event:
    """A mark in the CPU's queue: always reached.

    >>> torch.cpu.Event().query()
    True
    """

    def __init__(self, enable_timing=False):
        self.enable_timing = enable_timing

    def query(self):
        """Whether the event has happened: True."""
        return True

    def record(self, stream=None):
        """Returns at once."""

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=None):
        """Returns at once."""


_stream = Stream()


def current_stream(device=None):
    """The one stream of the CPU.

    >>> torch.cpu.current_stream() is torch.cpu.current_stream()
    True
    """
    return _stream


class StreamContext(_contextlib.AbstractContextManager):
    """A context in which work goes to the stream.

    >>> with torch.cpu.StreamContext(torch.cpu.current_stream()):
    ...     pass
    """

    def __init__(self, stream):
        self.stream = stream

    def __exit__(self, *_):
        return None


def stream(stream):
    """A context in which work goes to the stream.

    >>> with torch.cpu.stream(torch.cpu.current_stream()):
    ...     pass
    """
    return StreamContext(stream)


def get_capabilities():
    """Abilities of the processor that the kernels ask for, and under "kernels" the instruction set that was chosen for them.

    >>> sorted(torch.cpu.get_capabilities())
    ['avx2', 'avx512_bf16', 'avx512_f', 'avx512_vnni', 'kernels']
    """
    import types

    return types.MappingProxyType({**_cresset._processor(), "kernels": _cresset.build_info()["isa"]})


def _is_avx2_supported():
    """Whether the processor has AVX2."""
    return get_capabilities()["avx2"]


def _is_avx512_supported():
    """Whether the processor has the foundation of AVX-512."""
    return get_capabilities()["avx512_f"]


def _is_avx512_bf16_supported():
    """Whether the processor multiplies bfloat16 in AVX-512."""
    return get_capabilities()["avx512_bf16"]


def _is_vnni_supported():
    """Whether the processor sums products of bytes in AVX-512."""
    return get_capabilities()["avx512_vnni"]
