"""The unpickler of `load(weights_only=False)`: objects of classes that the process has, made from their state.

It imports nothing but this package and the modules of the list below, calls nothing but what the list names, and changes nothing but what it made itself.
Classes that `torch.serialization.add_safe_globals` named may do what they like.
"""

from __future__ import annotations

import _compat_pickle
import collections
import copyreg
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import operator
import pathlib
import itertools
import pickle
import re
import sys
import types
import uuid

import cresset as torch
from cresset import _utils
from cresset._core import script_classes as _script_classes
from cresset.serialization import _allowed_wrapper, _layout, _LoadedStorage


class _Identities:
    """A set that asks none of its candidates for a hash or whether it is equal: an object of a file may define both."""

    def __init__(self, members):
        self.members = {id(member): member for member in members}

    def __contains__(self, value):
        return id(value) in self.members


_PLAIN = (int, float, complex, bool, str, bytes, bytearray, type(None), type(Ellipsis), list, tuple, dict, set, frozenset, slice, range,
          collections.OrderedDict)  # fmt: skip
_MAPPINGS = (collections.OrderedDict, collections.defaultdict, collections.Counter, dict)
# Constructors of data. They get plain data alone, so that none of them asks an object of another class for its length, its elements or its number.
_CONSTRUCTORS = _Identities(
    (list, tuple, dict, set, frozenset, int, float, complex, bool, str, bytes, bytearray, slice, range, object, types.SimpleNamespace,
     collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque, datetime.date, datetime.time, datetime.datetime,
     datetime.timedelta, datetime.timezone, decimal.Decimal, fractions.Fraction, re._compile, uuid.UUID, pathlib.PurePosixPath, pathlib.PureWindowsPath,
     pathlib.Path, pathlib.PosixPath, pathlib.WindowsPath, operator.itemgetter, operator.attrgetter, torch.device, torch.Size)
)  # fmt: skip
_REBUILDERS = _Identities([_layout, *(getattr(_utils, name) for name in dir(_utils) if name.startswith("_rebuild_") and name != "_rebuild_from_type_v2")])
# Modules whose names files may use though they have not been imported: those of the constructors above.
_WITH_STATE = _Identities([_utils._rebuild_from_type_v2, _utils._rebuild_parameter_with_state])
_MODULES = frozenset("_codecs builtins collections copyreg datetime decimal fractions functools operator pathlib re types uuid".split())
# Functions that may be values: they are data as long as nothing calls them, and these do no harm when a program does.
_HARMLESS = frozenset("math cmath operator functools itertools statistics".split())


# Modules of C in PyTorch whose functions are operators, and the class whose functions the others are.
_OF_OPERATORS = frozenset(f"torch._C.{name}" for name in ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested"))
_FUNCTIONS = types.SimpleNamespace(__module__="torch._C", __qualname__="_VariableFunctionsClass")


class _Unset:
    """Stands for what a class does not have."""


def _looked_up(kind, name):
    """An attribute of a class, past its metaclass and descriptors."""
    for base in type.__getattribute__(kind, "__mro__"):
        own = type.__getattribute__(base, "__dict__")
        if name in own:
            return own[name]
    return _Unset


def _is_own(kind):
    """Whether a class is one of the shelves of this package whose __setstate__ takes over data and does nothing else."""
    return kind.__module__.startswith(
        ("cresset.nn.", "cresset.optim.", "cresset.amp.", "cresset.utils.hooks", "cresset.distributions.", "cresset._tensor", "cresset.utils._pytree")
    )


def _full_name(value):
    return f"{getattr(value, '__module__', '?')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _codecs_encode(text, encoding):
    if encoding != "latin1" or type(text) is not str:
        raise pickle.UnpicklingError(f"load: _codecs.encode: expected text as latin1, got {type(text).__name__} as {encoding!r}")
    return text.encode("latin1")


def _rebuilt(function, arguments):
    """A tensor, a parameter or a layout from what a file says of it, once that is known to be of the right types and within its storage."""
    if function is _layout:
        if type(arguments[0]) is not str or not isinstance(getattr(torch, arguments[0].removeprefix("torch."), None), torch.layout):
            raise pickle.UnpicklingError(f"load: the file uses {arguments[0]!r} as a layout")
    elif function is _utils._rebuild_parameter:
        if not issubclass(type(arguments[0]), torch.Tensor):
            raise pickle.UnpicklingError(f"load: the file makes a parameter of a {type(arguments[0]).__name__}")
    elif function is _utils._rebuild_sparse_tensor:
        if not isinstance(arguments[0], torch.layout) or not all(
            issubclass(type(part), torch.Tensor) or type(part) in (torch.Size, tuple, bool) for part in arguments[1]
        ):
            raise pickle.UnpicklingError("load: the file makes a sparse tensor of other things than tensors and sizes")
    elif function is _utils._rebuild_njt:
        _check_nested(arguments[0])
    elif function is _utils._rebuild_nested_tensor:
        if len(arguments) != 4 or any(type(part) is not torch.Tensor for part in arguments):
            raise pickle.UnpicklingError("load: the file makes a nested tensor of other things than a buffer, sizes, strides and offsets")
    elif function is _utils._rebuild_wrapper_subclass:
        if _stranger(arguments[1:]) is not None:
            raise pickle.UnpicklingError(f"load: the file makes a wrapper of {_full_name(arguments[0])}, expected a class of tensors and properties of one")
        return _allowed_wrapper(*arguments)
    elif function is not _utils._rebuild_meta_tensor_no_storage:
        _check_geometry(function, *arguments)
    return function(*arguments)


def _check_nested(parts):
    kinds = {"values": (torch.Tensor,), "offsets": (torch.Tensor,), "lengths": (torch.Tensor, type(None)), "_ragged_idx": (int,), "_metadata_cache": (dict,),
             "requires_grad": (bool,)}  # fmt: skip
    if type(parts) is not dict or not {"values", "offsets"} <= set(parts) <= set(kinds) or any(type(value) not in kinds[name] for name, value in parts.items()):
        raise pickle.UnpicklingError("load: the file makes a nested tensor of other things than values, offsets and lengths")
    if any(type(value) is not torch.Tensor for value in (parts.get("_metadata_cache") or {}).values()):
        raise pickle.UnpicklingError("load: the file gives other things than empty tensors as the lengths of a nested tensor")
    values, offsets, lengths, at = parts["values"], parts["offsets"], parts.get("lengths"), parts.get("_ragged_idx", 1)
    if offsets.is_meta or not 1 <= at <= values.dim():  # nothing to look at, or refused by the class
        return
    whole = all(t.dim() == 1 and t.dtype in (torch.int32, torch.int64) for t in (offsets, offsets if lengths is None else lengths))
    starts = offsets.tolist() if whole else []
    counts = [after - start for start, after in itertools.pairwise(starts)] if lengths is None or not whole else lengths.tolist()
    fits = len(counts) == len(starts) - 1 and all(0 <= n and 0 <= start and start + n <= values.shape[at - 1] for start, n in zip(starts, counts, strict=False))
    if not whole or not fits:
        raise pickle.UnpicklingError(f"load: the file makes a nested tensor whose components do not lie within its {values.shape[at - 1]} rows")


def _check_geometry(function, storage, offset, size, stride, *rest):
    if type(storage) is not _LoadedStorage:
        raise pickle.UnpicklingError(f"load: the file makes a tensor over a {type(storage).__name__}, expected a storage")
    numbers = [offset, *size, *stride] if type(size) in (tuple, list, torch.Size) and type(stride) in (tuple, list, torch.Size) else [None]
    if any(type(n) is not int or not 0 <= n < 2**63 for n in numbers) or len(size) != len(stride) or len(size) > 64:
        raise pickle.UnpicklingError(f"load: a tensor of size {size!r:.80} and strides {stride!r:.80} at {offset!r:.40} is impossible")
    dtype = rest[2] if function is _utils._rebuild_tensor_v3 and len(rest) > 2 else storage.dtype
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    elements = 0 if 0 in size else last + 1
    if not isinstance(dtype, torch.dtype) or (elements and (elements + storage._start) * dtype.itemsize > storage._untyped_storage.nbytes()):
        raise pickle.UnpicklingError(
            f"load: a tensor of size {tuple(size)} and strides {tuple(stride)} at {offset} reaches beyond its storage of {storage._untyped_storage.nbytes()} bytes"
        )
    marks = rest[-1] if len(rest) == 3 + (function is _utils._rebuild_tensor_v3) else None
    if marks is not None and (type(marks) is not dict or set(marks) - {"conj", "neg"} or (marks.get("conj") and not dtype.is_complex)):
        raise pickle.UnpicklingError(f"load: a tensor of {dtype} has the unknown properties {marks!r:.80}")


def _stranger(values):
    """The first of some values, or of what lists, tuples and dicts among them hold, that is neither plain data nor a tensor nor a property of one."""
    todo, seen = list(values), set()
    while todo:
        value = todo.pop()
        kind = type(value)
        if id(value) in seen or issubclass(kind, torch.Tensor) or kind in (torch.Size, torch.device, torch.dtype, torch.layout, torch.memory_format):
            continue
        if kind not in _PLAIN:
            return value
        seen.add(id(value))
        if kind in (list, tuple, set, frozenset, dict, collections.OrderedDict):
            todo += value
        if kind in (dict, collections.OrderedDict):
            todo += value.values()
    return None


class Unpickler(pickle._Unpickler):
    """Python's reader of pickles, where each step that calls or changes something asks first. It is the reader in Python, whose steps can be replaced.

    find(module, name): the object of a name that this package gives another home, or None. allowed: names to objects, of `add_safe_globals`.
    """

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, file, find, allowed, **options):
        super().__init__(file, **options)
        self._find = find
        self._allowed = allowed
        self._trusted = {id(value) for value in allowed.values()}
        self._made = {}  # what this pickle made, by identity: only these are changed

    # ---- names

    def find_class(self, module, name):
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        if full in self._allowed:
            return self._allowed[full]
        if (module, name) in (("_codecs", "encode"), ("codecs", "encode")):
            return _codecs_encode
        if module == "torch._C" and name in ("_VariableFunctionsClass", "TensorBase"):
            return torch.Tensor if name == "TensorBase" else _FUNCTIONS
        if module in _OF_OPERATORS and name in torch._operators:
            return torch._operators[name]
        found = self._find(module, name)
        if found is not None:
            return found
        if self.fix_imports:
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
        value = self._in_process(module, name)
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
            self._check_function(value, full)
        elif isinstance(value, types.ModuleType):
            raise pickle.UnpicklingError(f"load: the file uses the module `{full}` as a value")
        return value

    def _in_process(self, module, name):
        here = "cresset" + module[len("torch") :] if module == "torch" or module.startswith("torch.") else module
        holder = sys.modules.get(here)
        if holder is None and (here in _MODULES or (here.startswith("cresset.") and not here.endswith("__main__"))):
            try:
                holder = __import__(here, fromlist=["_"])
            except ImportError:
                raise AttributeError(f"load: the file uses `{module}.{name}`, which Cresset does not have") from None
        if holder is None:
            raise pickle.UnpicklingError(f"load: the file uses `{module}.{name}`, and loading imports no modules; `import {module}` before you load it")
        value = holder
        if any(part.startswith("__") for part in name.split(".")) and (module, name) != ("copyreg", "__newobj__"):
            raise self._refusal(f"{module}.{name}")
        for part in name.split("."):
            own = vars(value) if isinstance(value, types.ModuleType) else None
            if own is not None and part in own:
                value = own[part]
            elif own is not None and here.startswith("cresset"):
                value = getattr(value, part, _Unset)  # names of this package that come at first use
            else:
                value = _looked_up(value, part) if isinstance(value, type) else _Unset
                value = getattr(value, "__func__", value) if isinstance(value, (staticmethod, classmethod)) else value
            if value is _Unset:
                raise AttributeError(f"load: the file uses `{module}.{name}`, which {'Cresset' if here != module else module} does not have")
        return value

    def _check_function(self, function, full):
        home = getattr(function, "__module__", None) or "builtins"
        top = home.partition(".")[0]
        if function in _CONSTRUCTORS or function is getattr or home == "copyreg" or top in _HARMLESS or top in ("cresset", "_cresset", "torch", "numpy"):
            return
        if top in sys.stdlib_module_names or isinstance(function, types.BuiltinFunctionType):
            raise self._refusal(full)

    @staticmethod
    def _refusal(full, what="use"):
        name = full.rpartition(".")[2]
        return pickle.UnpicklingError(
            f"load: the file wants to {what} `{full}`, which is not on the list of what loading may call; if you trust it, allow it by "
            f"torch.serialization.add_safe_globals([{name}])"
        )

    # ---- calls

    def _keep(self, value):
        self._made[id(value)] = value
        return value

    def _called(self, function, arguments):
        if type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"load: a pickle calls `{_full_name(function)}` with a {type(arguments).__name__} instead of a tuple")
        if id(function) in self._trusted:
            return self._keep(function(*arguments))
        if type(function) not in (types.FunctionType, types.BuiltinFunctionType) and not issubclass(type(function), type):
            raise self._refusal(_full_name(type(function)), "call an object of")
        if function in _WITH_STATE:
            return self._rebuilt(function, arguments)
        if function in _REBUILDERS:
            return self._keep(_rebuilt(function, arguments))
        if function is _codecs_encode:
            return function(*arguments)
        if (function is torch._operator or function is torch._operator_method) and len(arguments) == 1 and type(arguments[0]) is str:
            return function(*arguments)
        if function is getattr:
            return self._member(*arguments)
        if function is copyreg._reconstructor:
            return self._reconstructed(*arguments)
        if function is copyreg.__newobj__ and arguments:
            return self._new(arguments[0], arguments[1:])
        if function is functools.partial and len(arguments) == 1:
            return self._keep(functools.partial(*arguments))
        if function in _CONSTRUCTORS:
            self._check_plain(function, arguments)
            return self._keep(function(*arguments))
        if issubclass(type(function), type):
            return self._made_by_call(function, arguments)
        if getattr(function, "__module__", "").partition(".")[0] == "numpy" and function.__name__ in ("_reconstruct", "scalar", "_frombuffer"):
            return self._keep(function(*arguments))
        if function is _script_classes._restored and len(arguments) == 2 and type(arguments[0]) is str:
            return self._keep(function(*arguments))  # a registered class of C++ takes its state by the types of its schema
        graphs = sys.modules.get("cresset.fx.graph_module")
        if graphs is not None and function is graphs.reduce_graph_module:
            return self._keep(function(*arguments))  # makes nodes of data, which it checks
        raise self._refusal(_full_name(function), "call")

    def _check_plain(self, function, arguments):
        if function in (bytes, bytearray) and len(arguments) == 1 and type(arguments[0]) is int:
            raise pickle.UnpicklingError(f"load: the file asks for {function.__name__} of a length, expected their content")
        if function is fractions.Fraction and any(type(a) is str and ("e" in a.lower() or len(a) > 4096) for a in arguments):
            raise pickle.UnpicklingError("load: the file asks for a fraction with an exponent, whose digits may have no end")
        for argument in arguments:
            is_factory = function is collections.defaultdict and issubclass(type(argument), type)
            if type(argument) not in _PLAIN and type(argument) not in (datetime.timedelta, datetime.timezone) and not is_factory:
                raise pickle.UnpicklingError(f"load: the file gives {function.__name__} a {type(argument).__name__}, expected plain data")
            if function in _MAPPINGS and type(argument) in (list, tuple) and any(type(pair) not in (list, tuple) for pair in argument):
                raise pickle.UnpicklingError(f"load: the file gives {function.__name__} elements that are no pairs")

    def _member(self, holder, name, *rest):
        """Nested classes and methods of classes are found by getattr in pickles before protocol 4, operators, their methods and bound methods in all."""
        operators = torch._operators if holder is _FUNCTIONS else torch._methods if holder is torch.Tensor else {}
        if not rest and type(name) is str and name in operators:
            return operators[name]
        is_class = issubclass(type(holder), type)
        if rest or not (is_class or id(holder) in self._made) or type(name) is not str:
            raise self._refusal("builtins.getattr", "call")
        kind = holder if is_class else type(holder)
        value = _Unset if name.startswith("__") else _looked_up(kind, name)
        owner = None if is_class or isinstance(value, staticmethod) else holder
        if isinstance(value, classmethod):
            owner = kind
        value = getattr(value, "__func__", value) if isinstance(value, (staticmethod, classmethod)) else value
        if type(value) is not types.FunctionType and not (is_class and issubclass(type(value), (type, enum.Enum))):
            raise pickle.UnpicklingError(f"load: the file asks `{_full_name(kind)}` for {name!r}, which is neither a class nor a function of it")
        if type(value) is types.FunctionType:
            self._check_function(value, _full_name(value))
        return value if owner is None else types.MethodType(value, owner)  # `_called` refuses it: a program may call it, a file may not

    def _reconstructed(self, kind, base, state):
        if base is object:
            return self._new(kind, ())
        if base not in (int, float, complex, str, bytes, list, tuple, dict, set, frozenset) or type(state) is not base:
            raise self._refusal(_full_name(base), "make an object by")
        return self._new(kind, (state,))

    def _made_by_call(self, kind, arguments):
        if issubclass(kind, enum.Enum) and len(arguments) == 1:
            members = vars(kind).get("_member_map_", {}).values()
            found = [m for m in members if type(m._value_) is type(arguments[0]) and type(m._value_) in _PLAIN and m._value_ == arguments[0]]
            if not found:
                raise pickle.UnpicklingError(f"load: the enumeration `{_full_name(kind)}` has no value {arguments[0]!r}")
            return found[0]
        if issubclass(kind, BaseException):
            return self._new(kind, arguments)
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind is numpy.dtype:
            self._check_plain(kind, arguments)
            return self._keep(kind(*arguments))
        if not arguments and not isinstance(_looked_up(kind, "__init__"), types.FunctionType):
            return self._new(kind, ())
        if issubclass(kind, torch.Tensor) and kind is not torch.Tensor:  # a wrapper knows best how it is made of its parts
            unfit = _stranger(arguments)
            if unfit is None:
                return self._keep(kind(*arguments))
            raise pickle.UnpicklingError(f"load: the file makes a `{_full_name(kind)}` of a {type(unfit).__name__}, expected tensors and plain data")
        raise self._refusal(_full_name(kind), "call")

    def _new(self, kind, arguments, keywords=None):
        """An object of a class without its constructor."""
        if not issubclass(type(kind), type):
            raise pickle.UnpicklingError(f"load: the file makes an object of `{_full_name(kind)}`, which is no class")
        if id(kind) in self._trusted:
            return self._keep(kind.__new__(kind, *arguments, **(keywords or {})))
        if keywords:
            raise self._refusal(_full_name(kind), "call")
        if kind in _CONSTRUCTORS:
            self._check_plain(kind, arguments)
            return self._keep(kind.__new__(kind, *arguments))
        if kind is functools.partial:
            return self._keep(kind.__new__(kind, *arguments))
        is_module = issubclass(kind, torch.nn.Module) or _is_own(kind)
        if not issubclass(kind, torch.nn.Module) and _looked_up(kind, "__del__") is not _Unset:
            raise self._refusal(_full_name(kind), "make an object, which does something when it ends, of")
        if not is_module and not self._hashes_by_value(kind):
            raise self._refusal(_full_name(kind), "make an object, which computes its own hash, of")
        if issubclass(kind, tuple) and isinstance(_looked_up(kind, "_fields"), tuple):
            return self._keep(tuple.__new__(kind, arguments))
        make = _looked_up(kind, "__new__")
        base = next(
            (
                base
                for base in (*_MAPPINGS, list, tuple, set, frozenset, int, float, complex, str, bytes, BaseException, types.SimpleNamespace, object)
                if issubclass(kind, base)
            )
        )
        if isinstance(make, (staticmethod, types.FunctionType)) and not is_module and not self._is_generated(make):
            raise self._refusal(_full_name(kind), "call the __new__ of")
        if base not in (object, BaseException, types.SimpleNamespace):
            self._check_plain(base, arguments)
        elif arguments and base is not BaseException:
            raise self._refusal(_full_name(kind), "call the __new__ of")
        return self._keep(base.__new__(kind, *arguments))

    @staticmethod
    def _is_generated(make):
        function = getattr(make, "__func__", make)
        return function.__module__ in ("typing", "abc", "builtins")

    @staticmethod
    def _hashes_by_value(kind):
        """Whether objects of a class can be keys without a call of Python code of the class, or cannot be keys."""
        found = _looked_up(kind, "__hash__")
        if found is None or not isinstance(found, types.FunctionType):
            return True
        return dataclasses.is_dataclass(kind) and found.__qualname__.rpartition(".")[2] == "__hash__" and found.__code__.co_filename == "<string>"

    def _rebuilt(self, function, arguments):
        if function is _utils._rebuild_parameter_with_state:
            *plain, state = arguments
            parameter = self._keep(_rebuilt(_utils._rebuild_parameter, plain))
            self._set_state(parameter, state)
            return parameter
        inner, kind, inner_arguments, state = arguments
        if inner not in _REBUILDERS or not issubclass(type(kind), type) or not issubclass(kind, torch.Tensor):
            raise self._refusal(_full_name(inner), "call")
        out = _rebuilt(inner, inner_arguments)
        out = self._keep(out if type(out) is kind else torch.Tensor.as_subclass(out, kind))
        self._set_state(out, state)
        return out

    # ---- state

    def _set_state(self, target, state):
        kind = type(target)
        if id(target) not in self._made:
            raise pickle.UnpicklingError(f"load: the file changes `{_full_name(target)}`, which it did not make")
        own = _looked_up(kind, "__setstate__")
        if isinstance(target, torch.Tensor) and own is _looked_up(torch.Tensor, "__setstate__"):
            own = _Unset  # the attributes alone, for the tensor is made already
        numpy = sys.modules.get("numpy")
        builtin = own is not _Unset and not isinstance(own, types.FunctionType)  # of a class in C: data, as its constructor is
        if own is not _Unset:
            generated = isinstance(own, types.FunctionType) and own.__module__ == "dataclasses"
            if not (id(kind) in self._trusted or issubclass(kind, torch.nn.Module) or _is_own(kind) or generated or kind in _CONSTRUCTORS or kind is functools.partial
                    or (builtin and (numpy is not None and issubclass(kind, (numpy.ndarray, numpy.dtype)) or issubclass(kind, BaseException)))):  # fmt: skip
                raise self._refusal(_full_name(kind), "call the __setstate__ of")
            own.__get__(target, kind)(state)
            return
        slots = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        for part in (state, slots):
            if part is not None and type(part) is not dict and type(part) is not collections.OrderedDict:
                raise pickle.UnpicklingError(f"load: the state of a {kind.__name__} is a {type(part).__name__}, expected a dict")
        if state:
            if not isinstance(_looked_up(kind, "__dict__"), (types.GetSetDescriptorType, types.MemberDescriptorType)):
                raise self._refusal(_full_name(kind), "set attributes of")
            object.__getattribute__(target, "__dict__").update({sys.intern(k) if type(k) is str else k: v for k, v in state.items()})
        for name, value in (slots or {}).items():
            slot = _looked_up(kind, name)
            if not isinstance(slot, types.MemberDescriptorType):
                if slot is not _Unset or kind.__dictoffset__ == 0:
                    raise self._refusal(f"{_full_name(kind)}.{name}", "set")
                object.__getattribute__(target, "__dict__")[name] = value
            else:
                slot.__set__(target, value)

    def _store(self, target, method, base_kinds, pairs):
        """Calls a method of a container's built-in base, never one that a class defines."""
        base = next((base for base in base_kinds if issubclass(type(target), base)), None)
        if base is None or (type(target) is not base and id(target) not in self._made):
            raise self._refusal(_full_name(type(target)), f"add elements ({method}) to")
        if id(type(target)) in self._trusted:
            put = getattr(target, method)
            for pair in pairs:
                put(*pair)
            return
        put = getattr(base, method)
        for pair in pairs:
            put(target, *pair)

    # ---- the steps that Python's reader takes by itself

    def load_reduce(self):
        arguments = self.stack.pop()
        self.stack[-1] = self._called(self.stack[-1], arguments)

    def load_newobj(self):
        arguments = self.stack.pop()
        self.stack[-1] = self._new(self.stack[-1], arguments)

    def load_newobj_ex(self):
        keywords, arguments = self.stack.pop(), self.stack.pop()
        self.stack[-1] = self._new(self.stack[-1], arguments, keywords)

    def _instantiate(self, kind, arguments):
        self.append(self._called(kind, tuple(arguments)) if arguments else self._new(kind, ()))

    def load_build(self):
        state = self.stack.pop()
        self._set_state(self.stack[-1], state)

    def load_append(self):
        value = self.stack.pop()
        self._store(self.stack[-1], "append", (list, collections.deque), [(value,)])

    def load_appends(self):
        items = self.pop_mark()
        self._store(self.stack[-1], "append", (list, collections.deque), [(item,) for item in items])

    def load_setitem(self):
        value, key = self.stack.pop(), self.stack.pop()
        self._store(self.stack[-1], "__setitem__", _MAPPINGS, [(key, value)])

    def load_setitems(self):
        items = self.pop_mark()
        self._store(self.stack[-1], "__setitem__", _MAPPINGS, zip(items[::2], items[1::2], strict=True))

    def load_additems(self):
        items = self.pop_mark()
        self._store(self.stack[-1], "add", (set,), [(item,) for item in items])

    for _code, _step in (("REDUCE", load_reduce), ("NEWOBJ", load_newobj), ("NEWOBJ_EX", load_newobj_ex), ("BUILD", load_build), ("APPEND", load_append),
                         ("APPENDS", load_appends), ("SETITEM", load_setitem), ("SETITEMS", load_setitems), ("ADDITEMS", load_additems)):  # fmt: skip
        dispatch[getattr(pickle, _code)[0]] = _step
    del _code, _step
