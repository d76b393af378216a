"""The few names of PyTorch's private module that libraries ask for. Cresset's own extension module is `_cresset`."""

import _cresset

from ..linalg import LinAlgError as _LinAlgError  # noqa: F401

_TensorMeta = type(_cresset.Tensor)
_SUBMODULES = ("_autograd", "_profiler")


@staticmethod
def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """A `__torch_function__` that takes no call over, and leaves results as they are."""
    from .. import DisableTorchFunctionSubclass

    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _set_grad_enabled(enabled):
    """Turns the recording of gradients on or off in this thread; a node of captured graphs."""
    _cresset._set_grad_enabled(enabled)


def _get_tracing_state():
    """The recorder of `torch.jit.trace`; None where nothing is recorded."""
    from ..jit import _trace

    return _trace.state


def _log_api_usage_once(event):
    """Reports a use to PyTorch's operators; here it does nothing."""


def _get_accelerator(check=None):
    """The device of the accelerator: the CPU where there is none."""
    from .. import device

    return device("cpu")


def _get_default_device():
    """Where tensors are made, by name."""
    from .. import get_default_device

    return str(get_default_device())


def _get_privateuse1_backend_name():
    """The name of the device that programs may define."""
    return "privateuseone"


def _are_functorch_transforms_active():
    """Whether `vmap` is running, whose tensors have no values to ask for."""
    return _cresset.in_vmap()


def _cuda_isInBadFork():
    """Whether this is a fork of a process that used CUDA."""
    return False


class _DisableTorchDispatch:
    """In its scope neither modes nor tensor classes take calls over by `__torch_dispatch__`."""

    def __init__(self):
        from .._modes import stack

        self._modes, self._before = stack.without(lambda mode: True), _cresset._hear_subclasses(False)
        self._modes.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._end()

    def _end(self):
        if self._modes is not None:
            modes, self._modes = self._modes, None
            modes.__exit__(None, None, None)
            _cresset._hear_subclasses(self._before)

    def __del__(self):
        self._end()
