"""Cresset under PyTorch's names: tensors and operators, each called through its schema.

Operators come from the table of rows, compiled into the extension; what is written here is what has no row.
"""

import math as _math
import sys as _sys

import _cresset

from ._core import missing as _missing  # first: it looks up names for the modules that load after it
from _cresset import Tensor, bfloat16, complex32, complex64, complex128, float16, float32, float64, int16, int32, int64, uint8

__version__ = _cresset.__version__

# Dtypes, layouts, memory formats and types; of the functions only those that PyTorch has.
_public = (
    "can_cast", "promote_types", "is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype", "get_num_threads", "set_num_threads",
    "get_num_interop_threads", "set_num_interop_threads", "set_flush_denormal",
)  # fmt: skip
globals().update(
    {name: value for name, value in vars(_cresset).items()
     if not name.startswith("_") and (name in _public or not callable(value) or isinstance(value, type))}
)  # fmt: skip

half, bfloat, double, chalf, cfloat, cdouble = float16, bfloat16, float64, complex32, complex64, complex128
short, long = int16, int64
globals().update({"float": float32, "int": int32})

legacy_contiguous_format = contiguous_format  # noqa: F821  taken from the extension above

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
_mkldnn = _cresset._mkldnn
has_lapack, has_mkl, has_openmp, has_spectral = True, False, False, True


_cresset.set_package(_sys.modules[__name__])


def _load_operators():
    overloads, methods, homes = {}, set(), {}
    for name, overload, form, home, aliases, is_method in _cresset.operators():
        entry = f"{name}.{overload}" if overload else name
        names = [name, *(a.removesuffix("_out") if form == "out" else a for a in aliases.split())]
        for known in names:
            overloads.setdefault(known, []).append(entry)
            homes.setdefault(known, home)
            if is_method:
                methods.add(known)
    made = {name: _cresset.add_op(name, entries) for name, entries in overloads.items()}
    functions = {name: function for name, (function, _) in made.items()}
    return functions, {name: method for name, (_, method) in made.items() if name in methods}, homes


_operators, _methods, _homes = _load_operators()
for _name, _op in _operators.items():
    if _homes[_name] == "torch":
        globals().setdefault(_name, _op)
for _name, _op in _methods.items():
    if type(Tensor.__dict__.get(_name)).__name__ != "getset_descriptor":  # a property of the same name: mT, real, ...
        setattr(Tensor, _name, _op)


def _operator(name):
    return _operators[name]


def _operator_method(name):
    return _methods[name]


from . import _tensor, _utils  # noqa: E402
from ._core import (
    creation as _creation,
    functions as _functions,
    modes as _modes,
    overridable as _overridable,
    spellings as _spellings,
    symbolic as _symbolic,
)  # noqa: E402
from ._core import removed as _removed  # noqa: E402  isort: skip

_named = dict(vars(_functions))
_overridable.replace(_named, __name__, but=("broadcast_shapes",))
_overridable.replace_methods()
globals().update(
    {
        name: value
        for home in (vars(_creation), _named, vars(_modes), vars(_symbolic), vars(_spellings))
        for name, value in home.items()
        if not name.startswith("_")
    }
)

_register_device_module = _modes._register_device_module
_construct, _rebuild_storage, _dtype_of_numpy = _creation._construct, _utils._rebuild_storage, _creation._dtype_of_numpy
_as_index, _fresh = _creation._as_index, _creation._fresh
set_printoptions, get_printoptions = _tensor._tensor_str.set_printoptions, _tensor._tensor_str.get_printoptions
_enter_device, _exit_device, _device_decorator = _modes._enter_device, _modes._exit_device, _modes._device_decorator

from ._core.checks import (  # noqa: E402,F401
    _assert,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from . import autograd, fft, linalg, special  # noqa: E402,F401
from . import sparse  # noqa: E402,F401
from . import storage  # noqa: E402,F401
from .sparse import _make as _sparse_make  # noqa: E402

for _name in ("spmm", "dsmm", "hsmm", "saddmm", *(f"sparse_{kind}_tensor" for kind in ("coo", "compressed", "csr", "csc", "bsr", "bsc"))):
    globals()[_name] = _overridable.overridable(getattr(_sparse_make, _name), __name__)

# Submodules that load at first use, and names that live in them.
_lazy = {
    "distributed": None,
    "distributions": None,
    "masked": None,
    "nested": None,
    "signal": None,
    "compat": None,
    "nn": None,
    "optim": None,
    "io": None,
    "utils": None,
    "serialization": None,
    "save": "serialization",
    "load": "serialization",
}

_lazy.update(
    {
        name: None
        for name in (
            "_guards",
            "_subclasses",
            "accelerator",
            "backends",
            "cpu",
            "cuda",
            "func",
            "functorch",
            "ops",
            "overrides",
            "random",
            "return_types",
            "storage",
            "testing",
            "types",
            "version",
            "torch_version",
            "compiler",
            "fx",
            "jit",
            "_C",
            "__config__",
            "_library",
            "_decomp",
            "_dynamo",
            "_functorch",
            "_higher_order_ops",
            "_inductor",
            "_prims",
            "_prims_common",
            "_refs",
            "mps",
            "mtia",
            "profiler",
            "xpu",
        )
    }
)
_lazy.update(amp=None, autocast="amp.autocast_mode", GradScaler="amp.grad_scaler")
_lazy.update(
    {name: "amp._state"
     for name in ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype", "is_autocast_cache_enabled",
                  "set_autocast_cache_enabled", "clear_autocast_cache", "autocast_increment_nesting", "autocast_decrement_nesting",
                  *(f"{verb}_autocast_{device}_{what}" for device in ("cpu", "gpu", "ipu", "xla")
                    for verb, what in (("is", "enabled"), ("set", "enabled"), ("get", "dtype"), ("set", "dtype")) if device != "gpu" or what == "dtype"))}
)  # fmt: skip
_lazy.update(cond="_higher_order_ops", while_loop="_higher_order_ops", vmap="func", Stream="_core.devices", Event="_core.devices")
_lazy.update(
    {
        f"{name}Storage": "storage"
        for name in ("Typed", "Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexFloat", "ComplexDouble")
    }
)
_lazy.update(svd_lowrank="_lowrank", pca_lowrank="_lowrank", lobpcg="_lobpcg")
_lazy.update(quasirandom=None, __future__=None, Storage="storage", monitor=None, thread_safe_generator="random")
_lazy.update(fork="jit", wait="jit", parse_schema="_C", parse_ir="_C", Argument="_C", FunctionSchema="_C")
_lazy.update({f"{name}Type": "_C" for name in "Any Bool Class Complex DeviceObj Dict Float Int List Number Optional String SymInt Tensor".split()})
_lazy.update(
    export=None, futures=None, graph=None, hub=None, library=None, lightning=None, multiprocessing=None, vision=None, compile="_compile", Tag="_core.tag"
)
_lazy.update(classes="_core.script_classes", ScriptObject="_core.script_classes")
_lazy.update({f"_sym_{name}": "_core.symbolic" for name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()})
_lazy.update(
    {f"_{name}": "func._functionalize"
     for name in ("enable_functionalization", "disable_functionalization", "to_functional_tensor", "from_functional_tensor", "is_functional_tensor", "sync")}
)  # fmt: skip
_lazy.update(is_anomaly_enabled="autograd.anomaly_mode", is_anomaly_check_nan_enabled="autograd.anomaly_mode")


def __getattr__(name):
    if name == "torch":  # as torch.torch is torch
        return _sys.modules[__package__]
    if name == "__all__":
        return _public_names()
    if name not in _lazy:
        return _missing.found(__name__, name)
    import importlib

    module = importlib.import_module(f"{__package__}.{_lazy[name] or name}")
    return getattr(module, name) if _lazy[name] else module


def _public_names():
    """Names that `from torch import *` brings: those that are no modules, those of modules that are not loaded yet among them."""
    here = {name for name, value in globals().items() if not isinstance(value, type(_sys))}
    return sorted(name for name in here | {name for name, home in _lazy.items() if home} if not name.startswith("_"))
