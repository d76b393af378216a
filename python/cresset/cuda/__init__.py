"""The CUDA device. None is built in, which `is_available` tells; programs that ask first run on the CPU.

>>> device = "cuda" if torch.cuda.is_available() else "cpu"
>>> device
'cpu'
"""

import collections as _collections

from .._core.devices import MARK as _MARK
from .._core.devices import QUEUE as _QUEUE
from .._core.devices import refusing as _refusing
from .._core.devices import refusing_class as _refusing_class

_SUBMODULES = ("amp", "nccl")
has_half = has_magma = False
default_generators = ()


def is_available():
    """Whether there is a CUDA device to compute on.

    >>> torch.cuda.is_available()
    False
    """
    return False


def device_count():
    """How many CUDA devices there are.

    >>> torch.cuda.device_count()
    0
    """
    return 0


def is_initialized():
    """Whether CUDA has been started in this process.

    >>> torch.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation=True):
    """Whether the CUDA device computes in bfloat16.

    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


def is_tf32_supported():
    """Whether the CUDA device computes in TensorFloat-32.

    >>> torch.cuda.is_tf32_supported()
    False
    """
    return False


def is_current_stream_capturing():
    """Whether a CUDA graph is being recorded.

    >>> torch.cuda.is_current_stream_capturing()
    False
    """
    return False


def get_arch_list():
    """The CUDA architectures that the library was built for.

    >>> torch.cuda.get_arch_list()
    []
    """
    return []


def get_gencode_flags():
    """The code generation flags that the library was built with.

    >>> torch.cuda.get_gencode_flags()
    ''
    """
    return ""


def manual_seed(seed):
    """Seeds the generator of the current CUDA device, if there is one.

    >>> torch.cuda.manual_seed(0)
    """
    int(seed)


def manual_seed_all(seed):
    """Seeds the generators of all CUDA devices.

    >>> torch.cuda.manual_seed_all(0)
    """
    int(seed)


def seed():
    """Seeds the generator of the current CUDA device, if there is one, with a random number.

    >>> torch.cuda.seed()
    """


def seed_all():
    """Seeds the generators of all CUDA devices with a random number.

    >>> torch.cuda.seed_all()
    """


def get_rng_state_all():
    """The states of the generators of all CUDA devices.

    >>> torch.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states):
    """Sets the generators of all CUDA devices; there must be as many states as devices.

    >>> torch.cuda.set_rng_state_all([])
    """
    for state in new_states:
        set_rng_state(state)  # noqa: F821 (made from the table below)


def empty_cache():
    """Gives cached CUDA memory back to the system; without CUDA there is none.

    >>> torch.cuda.empty_cache()
    """


def memory_stats(device=None):
    """Figures of the CUDA allocator by name; none while CUDA has not been started.

    >>> len(torch.cuda.memory_stats())
    0
    """
    return _collections.OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """Figures of the CUDA allocator; none while CUDA has not been started.

    >>> torch.cuda.memory_stats_as_nested_dict()
    {}
    """
    return {}


def host_memory_stats():
    """Figures of the allocator of pinned memory by name; none while CUDA has not been started.

    >>> len(torch.cuda.host_memory_stats())
    0
    """
    return _collections.OrderedDict()


def host_memory_stats_as_nested_dict():
    """Figures of the allocator of pinned memory; none while CUDA has not been started.

    >>> torch.cuda.host_memory_stats_as_nested_dict()
    {}
    """
    return {}


def get_allocator_backend():
    """The kind of allocator that CUDA would use.

    >>> torch.cuda.get_allocator_backend()
    'native'
    """
    return "native"


class CudaError(RuntimeError):
    """An error of CUDA's runtime, with its code.

    >>> issubclass(torch.cuda.CudaError, RuntimeError)
    True
    """

    def __init__(self, code):
        super().__init__(f"CUDA error {int(code)}")


class DeferredCudaCallError(Exception):
    """A call that waited for CUDA to start and failed then.

    >>> issubclass(torch.cuda.DeferredCudaCallError, RuntimeError)
    False
    """


class cudaStatus:
    """Codes of CUDA's runtime.

    >>> torch.cuda.cudaStatus.SUCCESS
    0
    """

    SUCCESS = 0
    ERROR_NOT_READY = 34


def check_error(res):
    """Does nothing for the code of success. Errors: CudaError for any other.

    >>> torch.cuda.check_error(torch.cuda.cudaStatus.SUCCESS)
    """
    if int(res) != cudaStatus.SUCCESS:
        raise CudaError(res)


def memory_snapshot(mempool_id=None, include_traces=True):
    """The segments that the CUDA allocator holds.

    >>> torch.cuda.memory_snapshot()
    []
    """
    return []


def _no_bytes(name, what):
    def function(device=None):
        return 0

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} in bytes: 0 without a CUDA device.\n\n    >>> torch.cuda.{name}()\n    0\n    "
    return function


for _name, _what in {
    "memory_allocated": "Memory that CUDA tensors use",
    "max_memory_allocated": "The most memory that CUDA tensors used",
    "memory_reserved": "Memory that the CUDA allocator holds",
    "max_memory_reserved": "The most memory that the CUDA allocator held",
    "memory_cached": "The old name of `memory_reserved`: memory that the CUDA allocator holds",
    "max_memory_cached": "The old name of `max_memory_reserved`: the most memory that the CUDA allocator held",
}.items():
    globals()[_name] = _no_bytes(_name, _what)

for _name, _what in {
    "init": "Starts CUDA.",
    "current_device": "The index of the current CUDA device.",
    "set_device": "Makes a CUDA device the current one.",
    "synchronize": "Waits for all work on a CUDA device.",
    "current_stream": "The stream that work is put on.",
    "default_stream": "The stream that a device begins with.",
    "set_stream": "Makes a stream the current one.",
    "get_device_name": "The name of a CUDA device.",
    "get_device_capability": "The compute capability of a CUDA device.",
    "get_device_properties": "The properties of a CUDA device.",
    "get_rng_state": "The state of a CUDA device's generator.",
    "set_rng_state": "Sets the state of a CUDA device's generator.",
    "initial_seed": "The seed of the current CUDA device's generator.",
    "mem_get_info": "Free and total memory of a CUDA device.",
    "memory_summary": "A table of the CUDA allocator's figures.",
    "can_device_access_peer": "Whether one CUDA device can read another's memory.",
    "ipc_collect": "Frees CUDA memory that other processes have given back.",
    "reset_peak_memory_stats": "Begins the peak figures of the CUDA allocator anew.",
    "reset_accumulated_memory_stats": "Begins the sums of the CUDA allocator anew.",
    "reset_max_memory_allocated": "Begins the peak of allocated CUDA memory anew.",
    "reset_max_memory_cached": "Begins the peak of reserved CUDA memory anew.",
    "set_per_process_memory_fraction": "Limits the memory that this process takes of a CUDA device.",
    "utilization": "How busy a CUDA device is.",
    "cudart": "The functions of CUDA's runtime.",
    "graph_pool_handle": "A pool of memory for CUDA graphs.",
    "make_graphed_callables": "Functions that replay CUDA graphs.",
    "caching_allocator_alloc": "Memory of the CUDA allocator.",
    "caching_allocator_delete": "Gives memory back to the CUDA allocator.",
    "caching_allocator_enable": "Lets the CUDA allocator keep memory, or not.",
    "change_current_allocator": "Makes another allocator that of CUDA.",
    "clock_rate": "The clock of a CUDA device.",
    "current_blas_handle": "The handle of cuBLAS on the current stream.",
    "current_solver_handle": "The handle of cuSOLVER on the current stream.",
    "device_memory_used": "Memory that is in use on a CUDA device.",
    "get_per_process_memory_fraction": "The share of a CUDA device's memory that this process may take.",
    "get_stream_from_external": "A stream that another library made.",
    "get_sync_debug_mode": "What is said of calls that wait for a CUDA device.",
    "list_gpu_processes": "The processes that use a CUDA device.",
    "memory_usage": "How busy the memory of a CUDA device is.",
    "power_draw": "The power that a CUDA device takes.",
    "reset_accumulated_host_memory_stats": "Begins the sums of pinned memory anew.",
    "reset_peak_host_memory_stats": "Begins the peak figures of pinned memory anew.",
    "set_sync_debug_mode": "Sets what is said of calls that wait for a CUDA device.",
    "temperature": "The temperature of a CUDA device.",
}.items():
    globals()[_name] = _refusing("CUDA", _name, _what)

for _name, _what in {
    "Stream": ("An ordered queue of work on a CUDA device.", _QUEUE),
    "ExternalStream": ("A CUDA stream that another library made.", _QUEUE),
    "Event": ("A mark in a CUDA stream.", _MARK),
    "CUDAGraph": (
        "Recorded work that a CUDA device repeats.",
        "capture_begin capture_end debug_dump enable_debug_mode get_graph_data instantiate pool raw_cuda_graph raw_cuda_graph_exec replay reset",
    ),
    "graph": ("A context that records a CUDA graph.", "default_capture_stream"),
    "CUDAPluggableAllocator": "An allocator of CUDA memory from a library.",
    "GreenContext": "A part of a CUDA device's processors.",
    "MemPool": "A pool of CUDA memory of its own.",
    "use_mem_pool": "A context that takes CUDA memory from a pool.",
    "caching_allocator_disabled": "A context in which the CUDA allocator keeps no memory.",
    **{
        f"{kind}Storage": "The type of CUDA storages of a dtype."
        for kind in "BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long Short".split()
    },
    **{f"{kind}Tensor": "The type of CUDA tensors of a dtype." for kind in "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()},
    "device": "A context that makes a CUDA device the current one.",
    "device_of": "A context that makes the CUDA device of a tensor the current one.",
    "StreamContext": "A context that makes a stream the current one.",
}.items():
    globals()[_name] = _refusing_class("CUDA", _name, __name__, *([_what] if isinstance(_what, str) else _what))

from _cresset import OutOfMemoryError  # noqa: E402,F401


def stream(stream):
    """A context in which work goes to the CUDA stream; None does nothing.

    >>> with torch.cuda.stream(None):
    ...     pass
    """
    import contextlib

    return contextlib.nullcontext() if stream is None else StreamContext(stream)  # noqa: F821  made above
