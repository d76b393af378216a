"""Settings of a thread or the process: recording of gradients, inference, random numbers, determinism, the default dtype and device."""

import functools as _functools

import _cresset
from _cresset import Tensor as _Tensor

default_generator = _cresset._default_generator()


def _around_generator(context, function):
    """A generator function whose body runs inside `context()`, and whose caller, between its steps, outside."""

    @_functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with context():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as error:
                    with context():
                        response = generator.throw(error)
                else:
                    with context():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return wrapped


def _is_generator(function):
    while isinstance(function, _functools.partial) or hasattr(function, "__func__"):
        function = function.func if isinstance(function, _functools.partial) else function.__func__
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & 0x20)  # inspect.CO_GENERATOR, without the time to load inspect


def _decorated(context, function):
    """A function, or generator function, that runs inside `context()`, which is entered anew for each call."""
    if _is_generator(function):
        return _around_generator(context, function)

    @_functools.wraps(function)
    def wrapped(*args, **kwargs):
        with context():
            return function(*args, **kwargs)

    return wrapped


class _Context:
    """A context manager that is a decorator too, of functions and generator functions."""

    def _again(self):
        return type(self)()

    def clone(self):
        """Another one of the same kind and arguments."""
        return self._again()

    def __call__(self, function):
        if isinstance(function, type):
            import warnings

            warnings.warn(
                f"{type(self).__name__}: decorating a class is deprecated, it wraps the constructor alone; decorate its methods", FutureWarning, stacklevel=2
            )
        return _decorated(self._again, function)


class _Bare(_Context):
    """May decorate without parentheses."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


class no_grad(_Bare):
    """Operators in its scope record no graph; a context and a decorator.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _on = False

    def __enter__(self):
        self._before = _cresset._set_grad_enabled(self._on)

    def __exit__(self, *_):
        _cresset._set_grad_enabled(self._before)


class enable_grad(no_grad):
    """Operators in its scope record the graph, also inside `no_grad`; a context and a decorator.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _on = True


class set_grad_enabled(_Context):
    """Whether operators record the graph. Takes effect at once; as a context it is undone at the end.

    >>> with torch.set_grad_enabled(False):
    ...     print(torch.is_grad_enabled())
    False
    """

    def __init__(self, mode):
        self.mode = mode
        self._before = _cresset._set_grad_enabled(mode)

    def _again(self):
        return type(self)(self.mode)

    def clone(self):
        """Another one of the same mode."""
        return self._again()

    def __call__(self, function):
        _cresset._set_grad_enabled(self._before)
        return super().__call__(function)

    def __enter__(self):
        _cresset._set_grad_enabled(self.mode)

    def __exit__(self, *_):
        _cresset._set_grad_enabled(self._before)

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Context):
    """As `no_grad`, and what is made in its scope can never take part in a recorded computation, which makes it faster.

    >>> with torch.inference_mode():
    ...     y = torch.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.mode = True
        return self(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def _again(self):
        return type(self)(self.mode)

    def clone(self):
        """Another one of the same mode."""
        return self._again()

    def __enter__(self):
        self._before = _cresset._enter_inference_mode(self.mode)

    def __exit__(self, *_):
        _cresset._leave_inference_mode(self._before)


class DisableTorchFunctionSubclass(_Context):
    """In its scope no class takes calls over by `__torch_function__`; modes still do.

    >>> class Mine(torch.Tensor):
    ...     pass
    >>> with torch.DisableTorchFunctionSubclass():
    ...     type(Mine([1.0]) + 1).__name__
    'Tensor'
    """

    _switch = _cresset._set_subclasses_off

    def __enter__(self):
        self._before = type(self)._switch(True)

    def __exit__(self, *_):
        type(self)._switch(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """In its scope neither classes nor modes take calls over by `__torch_function__`.

    >>> with torch.DisableTorchFunction():
    ...     torch.ones(1)
    tensor([1.])
    """

    _switch = _cresset._set_overrides_off


def manual_seed(seed):
    """Seeds the default generator and returns it.

    >>> g = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    _cresset._manual_seed(int(seed))
    return default_generator


def seed():
    """Seeds the default generator from the operating system; returns the seed.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator was last given.

    >>> g = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, a tensor of bytes.

    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Puts the default generator into a state that `get_rng_state` returned.

    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    default_generator.set_state(new_state)


def set_default_dtype(d, /):
    """The dtype of floating-point results whose dtype nothing else says. TypeError for anything but a floating-point dtype.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor([1.5]).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    _cresset._set_default_dtype(d)


_determinism = {"mode": 0, "warn_only": False, "fill": True}


def _set_determinism(**settings):
    _determinism.update(settings)
    _cresset._set_fill_uninitialized(_determinism["mode"] != 0 and _determinism["fill"])


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Every operator on the CPU is deterministic; `empty` and its like hold NaN or the greatest number while this is on.

    The setting is kept for programs that ask for it; `torch.utils.deterministic.fill_uninitialized_memory` leaves memory as it is.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, given in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(given, bool):
            raise TypeError(f"use_deterministic_algorithms: expected {name} to be a bool, got {type(given).__name__}")
    _set_determinism(mode=(1 if warn_only else 2) if mode else 0, warn_only=warn_only)


def are_deterministic_algorithms_enabled():
    """Whether `use_deterministic_algorithms` asked for it.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _determinism["mode"] != 0


def is_deterministic_algorithms_warn_only_enabled():
    """Whether `use_deterministic_algorithms` asked for warnings instead of errors.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _determinism["warn_only"]


def get_deterministic_debug_mode():
    """The setting of `use_deterministic_algorithms` as a number: 0 off, 1 warn, 2 error.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return _determinism["mode"]


def set_deterministic_debug_mode(debug_mode):
    """Sets what `get_deterministic_debug_mode` returns, by number or as "default", "warn" or "error". TypeError or RuntimeError for anything else.

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode("default")
    """
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"set_deterministic_debug_mode: expected a str or an int, got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in names or not isinstance(debug_mode, str) and debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2, `default`, `warn` or `error`, got {debug_mode}")
    mode = names.get(debug_mode, debug_mode)
    _set_determinism(mode=mode, warn_only=mode == 1)


_matmul_precision = ["highest"]


def get_float32_matmul_precision():
    """The value given to `set_float32_matmul_precision`.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _matmul_precision[0]


def set_float32_matmul_precision(precision):
    """Products of float32 matrices are computed in float32 whatever is allowed here. ValueError for anything but "highest", "high" and "medium".

    >>> torch.set_float32_matmul_precision("high")
    >>> torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision: expected 'highest', 'high' or 'medium', got {precision!r}")
    _matmul_precision[0] = precision
    from ..backends import _precision

    _precision.matmul_precision(precision)


def set_warn_always(b, /):
    """Whether warnings that are given once for each process are given every time.

    >>> torch.set_warn_always(True); torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always: expected a bool, got {type(b).__name__}")
    _cresset._warn_always(b)


def is_warn_always_enabled():
    """The value given to `set_warn_always`.

    >>> torch.is_warn_always_enabled()
    False
    """
    return _cresset._warn_always(None)


_warned = set()


def _warn_once(text, stacklevel=3):
    """Warn once for each process, or whenever `set_warn_always` says so."""
    if text in _warned and not _cresset._warn_always(None):
        return
    import warnings

    _warned.add(text)
    warnings.warn(text, UserWarning, stacklevel=stacklevel)


_device_modules = {}  # kind of device -> the module that a program has registered


def _register_device_module(device_type, module):
    """Makes a module `torch.<kind>`, the functions of a kind of device that programs define.

    Errors: RuntimeError for a name that is no kind of device, and for a second module.
    """
    import sys

    kind = _cresset.device(device_type).type
    package = sys.modules["cresset"]
    if kind != device_type or kind in _device_modules or kind in vars(package) or kind in package._lazy:
        raise RuntimeError(f"_register_device_module: expected a kind of device that has no module yet, got {device_type!r}")
    _device_modules[kind] = module
    setattr(package, kind, module)
    sys.modules[f"cresset.{kind}"] = module


def get_device_module(device=None):
    """The module that has the functions of a device's kind, such as `torch.cpu`.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    import importlib

    if isinstance(device, _cresset.device):
        kind = device.type
    elif isinstance(device, str):
        kind = _cresset.device(device).type
    elif device is None:
        kind = "cpu"
    else:
        raise RuntimeError(f"get_device_module: expected a device, a string or None, got {device!r}")
    if kind in _device_modules:
        return _device_modules[kind]
    try:
        return importlib.import_module(f"cresset.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"Device {kind!r} has no module under torch; there are cpu and cuda") from None


def set_default_tensor_type(t, /):
    """Sets the default dtype by a tensor type, such as torch.DoubleTensor, or its name. `set_default_dtype` is the newer way.

    >>> torch.set_default_tensor_type(torch.DoubleTensor)
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    import cresset

    _warn_once("set_default_tensor_type is deprecated; use set_default_dtype and set_default_device")
    chosen = getattr(cresset, t.removeprefix("torch."), None) if isinstance(t, str) else t
    dtype = getattr(chosen, "dtype", None)
    if not isinstance(dtype, _cresset.dtype):
        raise TypeError(f"invalid type object: expected a tensor type such as torch.FloatTensor or its name, got {t!r}")
    if not dtype.is_floating_point:
        raise TypeError(f"set_default_tensor_type: expected a floating type, got {t!r}")
    _cresset._set_default_dtype(dtype)


_devices = []


def _enter_device(device):
    _devices.append(device)
    _cresset._set_default_device(device)
    return device


def _exit_device(device):
    _devices.pop()
    _cresset._set_default_device(_devices[-1] if _devices else None)


def _device_decorator(device, function):
    @_functools.wraps(function)
    def wrapped(*args, **kwargs):
        with device:
            return function(*args, **kwargs)

    return wrapped


def set_default_device(device):
    """The device of factories that are told none; None is the CPU.

    >>> torch.set_default_device("meta")
    >>> torch.ones(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    _devices[:] = [] if device is None else [_cresset.device(device)]
    _cresset._set_default_device(_devices[-1] if _devices else None)


def get_default_device():
    """The device of factories that are told none.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _devices[-1] if _devices else _cresset.device("cpu")


def is_tensor(obj, /):
    """Whether the object is a tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1])
    (True, False)
    """
    return isinstance(obj, _Tensor)


def is_storage(obj, /):
    """Whether the object is a storage.

    >>> torch.is_storage(torch.ones(1).untyped_storage())
    True
    """
    from ..storage import TypedStorage

    return isinstance(obj, (_cresset.UntypedStorage, TypedStorage))


def typename(obj, /):
    """The name of a tensor's type with its dtype, or of an object's class with its module.

    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, _Tensor):
        return obj.type()
    cls = obj if hasattr(obj, "__qualname__") and hasattr(obj, "__module__") else type(obj)
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "", "builtins") else f"{module}.{cls.__qualname__}"


class finfo:
    """The limits of a floating-point dtype.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    __slots__ = ("_dtype", "bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    _FACTS = {"float16": (16, 10, -14, 15), "bfloat16": (16, 7, -126, 127), "float32": (32, 23, -126, 127), "float64": (64, 52, -1022, 1023)}
    # The 8-bit dtypes: machine epsilon, largest, smallest and smallest normal number.
    _NARROW = {
        "float8_e4m3fn": (2.0**-3, 448.0, -448.0, 2.0**-6), "float8_e5m2": (2.0**-2, 57344.0, -57344.0, 2.0**-14),
        "float8_e4m3fnuz": (2.0**-3, 240.0, -240.0, 2.0**-7), "float8_e5m2fnuz": (2.0**-3, 57344.0, -57344.0, 2.0**-15),
        "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 2.0**-127),
    }  # fmt: skip

    def __init__(self, type=None):
        dtype = _cresset.get_default_dtype() if type is None else type
        if not isinstance(dtype, _cresset.dtype):
            raise TypeError(f"finfo: expected a dtype, got {dtype!r}")
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"finfo: expected a floating dtype; torch.iinfo tells of '{dtype}'")
        self._dtype = dtype.to_real()
        self.dtype = str(self._dtype).removeprefix("torch.")
        if self.dtype in self._NARROW:
            self.bits, self.resolution = 8, 1.0
            self.eps, self.max, self.min, self.tiny = self._NARROW[self.dtype]
            self.smallest_normal = self.tiny
            return
        self.bits, mantissa, low, high = self._FACTS[self.dtype]
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**high
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        self.resolution = 10.0 ** -int((mantissa if self.bits != 32 else 22) * 0.30103)
        if self.dtype == "bfloat16":
            self.resolution = 0.01

    def __eq__(self, other):
        return isinstance(other, finfo) and self._dtype == other._dtype

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype. TypeError for others.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type):
        if not isinstance(type, _cresset.dtype):
            raise TypeError(f"iinfo: expected a dtype, got {type!r}")
        if type.is_floating_point or type.is_complex or type is getattr(_cresset, "bool"):
            raise TypeError(f"iinfo: expected an integer dtype; torch.finfo tells of '{type}'")
        self.dtype = str(type).removeprefix("torch.")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
