"""torch.utils: hook handles and data loading; submodules load at first use."""

import importlib as _importlib

import _cresset

_SUBMODULES = ("_foreach_utils", "benchmark", "checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks", "mkldnn", "model_summary", "model_zoo", "tensorboard",
               "throughput_benchmark")  # fmt: skip


def set_module(obj, mod):
    """Says which module a function or class belongs to. TypeError for what is no text.

    >>> def f():
    ...     pass
    >>> torch.utils.set_module(f, "elsewhere")
    >>> f.__module__
    'elsewhere'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """The functions of C and C++ that this thread is in, innermost first, a line each.

    >>> "frame #0" in torch.utils.get_cpp_backtrace(maximum_number_of_frames=2)
    True
    """
    return _cresset._cpp_backtrace(frames_to_skip, maximum_number_of_frames)


def __getattr__(name):
    if name == "ThroughputBenchmark":
        from .throughput_benchmark import ThroughputBenchmark

        return ThroughputBenchmark
    if name == "summary":
        from .model_summary import summary

        return summary
    if name in _SUBMODULES:
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    from cresset import _missing

    return _missing.found(__name__, name)
