"""Facts of this machine and this build, as text for a report: `python -m cresset -m torch.utils.collect_env`.

>>> print(torch.utils.collect_env.get_pretty_env_info().partition(":")[0])
PyTorch version
"""

import os
import platform
import sys
from collections import namedtuple

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

SystemEnv = namedtuple("SystemEnv", ["torch_version", "is_debug_build", "cuda_compiled_version", "os", "libc_version", "python_version", "python_platform",
                                     "is_cuda_available", "caching_allocator_config", "cpu_info", "build", "pip_packages"])  # fmt: skip
SystemEnv.__doc__ = """The facts by name.

    >>> torch.utils.collect_env.SystemEnv._fields[0]
    'torch_version'
    """

_LABELS = {"torch_version": "PyTorch version", "is_debug_build": "Is debug build", "cuda_compiled_version": "CUDA used to build PyTorch", "os": "OS",
           "libc_version": "Libc version", "python_version": "Python version", "python_platform": "Python platform", "is_cuda_available": "Is CUDA available",
           "caching_allocator_config": "Caching allocator config", "cpu_info": "CPU", "build": "Cresset", "pip_packages": "Versions of relevant libraries"}  # fmt: skip
_RELEVANT = ("torch", "numpy", "triton", "mypy", "flake8", "onnx", "optree", "transformers", "lightning")


def _system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _cpu():
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), platform.machine())
    except OSError:
        model = platform.machine()
    return f"{model}, {os.cpu_count()} logical cores"


def _packages():
    from importlib import metadata

    found = {d.metadata["Name"]: d.version for d in metadata.distributions() if (d.metadata["Name"] or "").lower().startswith(_RELEVANT)}
    return "".join(f"\n[pip3] {name}=={version}" for name, version in sorted(found.items())) or "none"


def get_env_info():
    """The facts by name.

    >>> torch.utils.collect_env.get_env_info().is_cuda_available
    'False'
    """
    import cresset as torch
    from cresset import __main__

    return SystemEnv(str(torch.__version__), "False", "None", f"{_system()} ({platform.machine()})", "-".join(platform.libc_ver()),
                     f"{platform.python_version()} ({sys.maxsize.bit_length() + 1}-bit runtime)", platform.platform(), str(torch.cuda.is_available()), "N/A", _cpu(),
                     "\n" + __main__.info().rstrip("\n"), _packages())  # fmt: skip


def get_pretty_env_info():
    """The facts, a line each.

    >>> "Python version:" in torch.utils.collect_env.get_pretty_env_info()
    True
    """
    return "".join(f"{_LABELS[name]}: {value}\n" for name, value in get_env_info()._asdict().items())


def main():
    """Prints the facts.

    >>> import contextlib, io
    >>> with contextlib.redirect_stdout(io.StringIO()) as text:
    ...     torch.utils.collect_env.main()
    >>> "CPU:" in text.getvalue()
    True
    """
    print(get_pretty_env_info(), end="")


if __name__ == "__main__":
    main()
