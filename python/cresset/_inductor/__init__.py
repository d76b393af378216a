"""torch._inductor: the default backend's settings and modes.

>>> sorted(torch._inductor.list_mode_options())
['default', 'lite', 'max-autotune', 'max-autotune-no-cudagraphs', 'reduce-overhead']
"""

from ..compiler import cudagraph_mark_step_begin
from . import config

_MODES = {
    "default": {},
    "lite": {"fallback_by_default": True},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def list_mode_options(mode=None, dynamic=None):
    """The options that each mode stands for, or those of one. On the CPU all modes compile alike.

    >>> torch._inductor.list_mode_options("default")
    {}
    """
    return _MODES[mode] if mode else dict(_MODES)


def list_options():
    """Names of the options that `torch.compile(options=...)` takes.

    >>> "max_autotune" in torch._inductor.list_options()
    True
    """
    return [name for name, value in vars(config).items() if not name.startswith("_") and type(value).__name__ not in ("module", "SimpleNamespace")]


def aoti_compile_and_package(exported_program, _deprecated_unused_args=None, _deprecated_unused_kwargs=None, *, package_path=None, inductor_configs=None):
    """Compiles an exported program ahead of time, and writes it as a `.pt2` file; returns the path.

    Args:
        exported_program: as `torch.export.export` gives it.
        package_path: ends in `.pt2`; by default a file in a new folder for temporary files.
        inductor_configs: `aot_inductor.isas`, the instruction sets to compile for ("avx2", "avx512", "baseline"; by default all that this build can), and
            `aot_inductor.metadata`, texts by name that the package keeps.

    Errors: TypeError for what is no ExportedProgram; ValueError for another ending and instruction sets that there is no code for.

    >>> program = torch.export.export(nn.Sequential(nn.Linear(4, 4), nn.GELU()), (torch.ones(2, 4),))
    >>> path = torch._inductor.aoti_compile_and_package(program)
    >>> torch._inductor.aoti_load_package(path)(torch.zeros(2, 4)).shape
    torch.Size([2, 4])
    """
    from .package import compile_and_package

    return compile_and_package(exported_program, package_path, inductor_configs)


def aoti_load_package(path, run_single_threaded=False, device_index=-1):
    """A program from a package that `aoti_compile_and_package` wrote. It holds machine code: load packages of those you trust.

    Args:
        path: of the file.
        run_single_threaded, device_index: taken for PyTorch's sake: programs run from any number of threads, on the CPU.

    Errors: ValueError for a file that is no package, whose parts are damaged, or that another version of the library wrote; RuntimeError for one that is
    missing, cut or no archive.

    >>> import io, tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
    ...     torch.export.save(torch.export.export(nn.ReLU(), (torch.ones(2),)), file.name)
    ...     try:
    ...         torch._inductor.aoti_load_package(file.name)
    ...     except ValueError as error:
    ...         print("expected a package" in str(error))
    True
    """
    from .package import load_package

    return load_package(path)


def __getattr__(name):
    from .._core import missing

    return missing.found(__name__, name)
