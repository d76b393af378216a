"""Building at run time: `load` of files and `load_inline` of text."""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import subprocess
import sys

import _cresset

from . import _compiler, _facts, _paths, _precompiled

_loaded = {}  # (folder, name) -> [the key that was loaded last, its version]


def _no_devices(**given):
    for what, value in given.items():
        if value:
            raise NotImplementedError(f"cpp_extension: got {what}, and this Cresset has no compiler for that device; give the C++ sources alone")


def load(name, sources, extra_cflags=None, extra_cuda_cflags=None, extra_sycl_cflags=None, extra_ldflags=None, extra_include_paths=None,
         build_directory=None, verbose=False, with_cuda=None, with_sycl=None, is_python_module=True, is_standalone=False, keep_intermediates=True):  # fmt: skip
    """Compiles sources to an extension and loads it: the module; the path of the library where it is none, after it was opened for its operators; the path
    of the program for a standalone one.

    The header that a source begins with is taken precompiled, where it is one of LibTorch's: a first build makes it in the background for those that follow
    (by flags of your own, the second does). `python -m cresset.utils.cpp_extension` makes it beforehand. GCC only; up to 250 MB of the cache for each, three
    sets of flags at most; CRESSET_PRECOMPILED=0 forbids it.

    Errors: FileNotFoundError for sources that are not there, ValueError for what excludes one another, RuntimeError with the compiler's words.

    >>> torch.utils.cpp_extension.load("mine", ["nowhere.cpp"])
    Traceback (most recent call last):
    FileNotFoundError: cpp_extension: the source 'nowhere.cpp' is not there
    """
    sources = [os.fspath(source) for source in ([sources] if isinstance(sources, (str, os.PathLike)) else sources)]
    _no_devices(with_cuda=with_cuda, with_sycl=with_sycl, **{"CUDA sources": [s for s in sources if s.endswith((".cu", ".cuh"))]})
    if is_python_module and is_standalone:
        is_python_module = False
    extension = _Extension(name, sources, extra_cflags, extra_ldflags, extra_include_paths, build_directory, verbose, is_python_module, is_standalone)
    return extension.load(keep_intermediates)


def load_inline(name, cpp_sources, cuda_sources=None, sycl_sources=None, functions=None, extra_cflags=None, extra_cuda_cflags=None, extra_sycl_cflags=None,
                extra_ldflags=None, extra_include_paths=None, build_directory=None, verbose=False, with_cuda=None, with_sycl=None, is_python_module=True,
                with_pytorch_error_handling=True, keep_intermediates=True, use_pch=False, no_implicit_headers=False):  # fmt: skip
    """As `load`, of sources given as text. `functions` names those that Python is to see: a list, or a dict of their documentation.

    With `use_pch` <torch/extension.h> is precompiled before the first build, and not beside it.

    >>> source = "torch::Tensor twice(torch::Tensor x) { return 2 * x; }"
    >>> torch.utils.cpp_extension.load_inline("doubling", source, functions=3)
    Traceback (most recent call last):
    ValueError: load_inline: functions: expected a name, a list of names or a dict of their documentation, got int
    """
    _no_devices(cuda_sources=cuda_sources, sycl_sources=sycl_sources, with_cuda=with_cuda, with_sycl=with_sycl)
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if functions is not None:
        texts.append(_module_text(functions))
    if not no_implicit_headers:
        texts.insert(0, "#include <torch/extension.h>")
    folder = build_directory or _paths.build_folder(name)
    _need_folder(folder)
    source = os.path.join(folder, "main.cpp")
    _write_if_changed(source, "\n".join(texts) + "\n")
    extension = _Extension(name, [source], extra_cflags, extra_ldflags, extra_include_paths, folder, verbose, is_python_module, False)
    extension.wants_precompiled = use_pch
    return extension.load(keep_intermediates)


def _module_text(functions):
    if isinstance(functions, str):
        functions = [functions]
    if isinstance(functions, (list, tuple)):
        functions = {function: function for function in functions}
    if not isinstance(functions, dict):
        raise ValueError(f"load_inline: functions: expected a name, a list of names or a dict of their documentation, got {type(functions).__name__}")
    lines = [f"  m.def({json.dumps(name)}, torch::wrap_pybind_function({name}), {json.dumps(doc)});" for name, doc in functions.items()]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])


def _write_if_changed(path, text):
    with contextlib.suppress(OSError), open(path) as file:
        if file.read() == text:
            return
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def _need_folder(folder):
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cpp_extension: the build directory {folder!r} is not there")


def remove_extension_h_precompiler_headers():
    """Removes all precompiled headers.

    >>> torch.utils.cpp_extension.remove_extension_h_precompiler_headers()
    """
    _precompiled.remove_all()


def _run(command, name, verbose, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=not verbose, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RuntimeError(f"Error building extension '{name}': {'' if verbose else (done.stdout + done.stderr)[-20000:]}")


class _Extension:
    """One extension: what it is made of, and the library that is made."""

    def __init__(self, name, sources, cflags, ldflags, includes, folder, verbose, is_python_module, is_standalone):
        self.name, self.sources, self.verbose = name, sources, verbose
        self.is_python_module, self.is_standalone = is_python_module, is_standalone
        self.wants_precompiled = False
        if not sources:
            raise ValueError(f"cpp_extension: the extension {name!r} has no sources")
        for source in sources:
            if not os.path.exists(source):
                raise FileNotFoundError(f"cpp_extension: the source {source!r} is not there")
        self.compiler = _compiler.get_cxx_compiler()
        self.about = _compiler.about(self.compiler)
        self.given = (list(cflags or []), list(ldflags or []), list(includes or []))
        self.folder = folder or _paths.build_folder(name)
        _need_folder(self.folder)
        self._name(name)

    def _name(self, name):
        self.module = name
        self.flags = _compiler.Flags(name, *self.given, self.is_standalone)

    def key(self):
        """A digest of all that the library is made of, but the headers: those are known after the first build."""
        parts = [_cresset.__version__, sys.version, self.about, *self.flags.compile, "", *self.flags.link, "", *map(_facts.digest, self.sources)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def target(self):
        """The file that is made."""
        return os.path.join(self.folder, self.module + ("" if self.is_standalone else ".so"))

    def load(self, keep_intermediates):
        with self._lock():
            key = self.key()
            known = _loaded.get((self.folder, self.name))
            if known is not None and not (known[0] == key and self._is_current(known[2])):
                self._name(f"{self.name}_v{known[1] + 1}")  # the interpreter loads a library of one name once
                version = known[1] + 1
            elif known is not None:
                self._name(f"{self.name}_v{known[1]}" if known[1] else self.name)
                version = known[1]
            else:
                version = 0
            final = self.key()
            if not self._is_current(final):
                _compiler.check_abi(self.compiler)
                self._build(final)
                if not keep_intermediates:
                    self._clean()
            _loaded[self.folder, self.name] = [key, version, final]
        return self._open()

    @contextlib.contextmanager
    def _lock(self):
        with open(os.path.join(self.folder, "lock"), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    # ---- what was built

    @property
    def _record(self):
        return f"{self.target}.json"

    def _is_current(self, key):
        """Whether the library of this key is there, and no header that it was made of has changed."""
        try:
            with open(self._record) as file:
                record = json.load(file)
        except (OSError, ValueError):
            return False
        if record.get("key") != key or not os.path.exists(self.target):
            return False
        return _facts.are_current(record["headers"])

    def _build(self, key):
        _precompiled.add_to(self, self.wants_precompiled)
        try:
            self._compile(key)
        except RuntimeError as error:
            if not (self.flags.bodies and "undefined reference" in str(error) and "pybind11" in str(error)):
                raise
            self.flags.precompiled, self.flags.bodies = [], []  # a function of pybind11 that the precompiled header does not have
            self._compile(key)

    def _compile(self, key):
        text, objects = _compiler.ninja_text(self.compiler, self.flags, self.sources, os.path.basename(self.target))
        _write_if_changed(os.path.join(self.folder, "build.ninja"), text)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._record)
        if _compiler.is_ninja_available():
            _run(["ninja", "-v"] if self.verbose else ["ninja"], self.name, self.verbose, self.folder)
        else:
            for command in _compiler.commands(self.compiler, self.flags, self.sources, objects, os.path.basename(self.target)):
                _run(command, self.name, self.verbose, self.folder)
        self._write_record(key, objects)

    def _write_record(self, key, objects):
        headers = _facts.facts_of(path for made in objects for path in self._headers_of(made))
        with open(self._record, "w") as file:
            json.dump({"key": key, "headers": headers}, file)

    def _headers_of(self, made):
        """The files that an object depends on, but those of the system. Ninja takes the list into its own log, and the compiler makes it anew."""
        listed = os.path.join(self.folder, f"{made}.d")
        if os.path.exists(listed):
            with open(listed) as file:
                words = _facts.words_of(file.read())
        else:
            done = subprocess.run(["ninja", "-t", "deps", made], cwd=self.folder, capture_output=True, text=True, check=False)
            words = [line.strip() for line in done.stdout.splitlines() if line.startswith(" ")]
        paths = {os.path.join(self.folder, word) for word in words if not word.endswith(":")}
        sources = {os.path.abspath(source) for source in self.sources}
        return sorted(p for p in _facts.own(paths) if p not in sources)

    def _clean(self):
        for entry in os.listdir(self.folder):
            if entry.endswith((".o", ".d")) or entry.startswith(".ninja"):
                os.remove(os.path.join(self.folder, entry))

    # ---- into the program

    def _open(self):
        if self.is_standalone:
            return self.target
        if not self.is_python_module:
            from ... import ops

            ops.load_library(self.target)
            return self.target
        spec = importlib.util.spec_from_file_location(self.module, self.target)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
