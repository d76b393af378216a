"""Extensions in a project's `setup.py`: CppExtension, BuildExtension."""

import os

import setuptools
from setuptools.command.build_ext import build_ext

from . import _compiler, _paths


def CppExtension(name, sources, *args, **kwargs):
    """A `setuptools.Extension` with the headers and libraries of Cresset.

    Build it with `BuildExtension` as the command `build_ext`.

    >>> extension = torch.utils.cpp_extension.CppExtension("mine", ["mine.cpp"])
    >>> extension.name, extension.language
    ('mine', 'c++')
    """
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *_paths.include_paths(), *_paths.python_includes()[1:]]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *_paths.library_paths()]
    kwargs["runtime_library_dirs"] = [*kwargs.get("runtime_library_dirs", []), *_paths.library_paths()]
    # LibTorch's names, which projects look for; BuildExtension links ours.
    kwargs["libraries"] = [*kwargs.get("libraries", []), *_compiler.LIBRARIES]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, sources, *args, **kwargs)


def _device_extension(what, endings):
    def make(name, sources, *args, **kwargs):
        for source in sources:
            if os.fspath(source).endswith(endings):
                raise NotImplementedError(f"{what}: this Cresset has no compiler for {source!r}; build the C++ sources alone, by CppExtension")
        return CppExtension(name, sources, *args, **kwargs)

    make.__name__ = make.__qualname__ = what
    make.__doc__ = f"`CppExtension` for sources of C++ alone. Errors: NotImplementedError for sources that end in {', '.join(endings)}."
    return make


def CUDAExtension(name, sources, *args, **kwargs):
    """`CppExtension` for sources of C++ alone. Errors: NotImplementedError for sources of CUDA.

    >>> torch.utils.cpp_extension.CUDAExtension("mine", ["mine.cpp"]).name
    'mine'
    """
    return _device_extension("CUDAExtension", (".cu", ".cuh"))(name, sources, *args, **kwargs)


def SyclExtension(name, sources, *args, **kwargs):
    """`CppExtension` for sources of C++ alone. Errors: NotImplementedError for sources of SYCL.

    >>> torch.utils.cpp_extension.SyclExtension("mine", ["mine.cpp"]).name
    'mine'
    """
    return _device_extension("SyclExtension", (".sycl",))(name, sources, *args, **kwargs)


class BuildExtension(build_ext):
    """The command `build_ext` for extensions of Cresset: flags of the language, and our libraries for LibTorch's names.

    Options, by `with_options`: no_python_abi_suffix (the library is called name.so), use_ninja (several extensions are compiled at once, as by
    setuptools' `parallel`).

    >>> command = torch.utils.cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True)
    >>> issubclass(command, torch.utils.cpp_extension.BuildExtension)
    True
    """

    @classmethod
    def with_options(cls, **options):
        """A class of the command with these options."""

        class WithOptions(cls):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **{**kwargs, **options})

        return WithOptions

    def __init__(self, *args, **kwargs):
        self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
        self.use_ninja = kwargs.pop("use_ninja", True)
        super().__init__(*args, **kwargs)

    def finalize_options(self):
        """Those of setuptools."""
        super().finalize_options()
        self.parallel = self.parallel or (os.cpu_count() if self.use_ninja else None)

    def build_extensions(self):
        """Compiles all extensions. Errors: RuntimeError for a compiler whose code does not fit."""
        _compiler.check_abi(_compiler.get_cxx_compiler())
        for extension in self.extensions:
            self._prepare(extension)
        super().build_extensions()

    def _prepare(self, extension):
        given = extension.extra_compile_args or []
        if isinstance(given, dict):
            given = given.get("cxx", [])
        last = extension.name.rpartition(".")[2]
        standard = [] if any(flag.startswith("-std=") for flag in given) else ["-std=c++20"]
        extension.extra_compile_args = [*standard, "-fvisibility=hidden", *given]
        extension.define_macros = [*(extension.define_macros or []), ("TORCH_EXTENSION_NAME", last), ("TORCH_API_INCLUDE_EXTENSION_H", None)]
        libraries = []
        for library in extension.libraries or []:
            libraries += [ours for ours in _compiler.LIBRARIES.get(library, (library,)) if ours not in libraries]
        extension.libraries = libraries

    def get_ext_filename(self, ext_name):
        """The file of an extension, without the interpreter's suffix where the option says so."""
        name = super().get_ext_filename(ext_name)
        if not self.no_python_abi_suffix:
            return name
        parts = name.split(".")
        return ".".join([*parts[:-2], parts[-1]]) if len(parts) > 2 else name

    def get_export_symbols(self, ext):
        """None beyond those that the sources name."""
        return ext.export_symbols
