"""Objects as bytes between processes: data and nothing that can call.

A value is one byte of kind and its content. There are numbers, text, bytes, None, lists, tuples, dicts, sets, tensors, dtypes, devices and sizes; NumPy's
arrays and numbers; enumerations and exceptions by the path of their class; and objects of classes that the receiver has loaded and allows, as
their attributes: no constructor, `__reduce__` or `__setstate__` runs. Unknown kinds, lengths beyond the end and nesting beyond 200 are refused.
"""

import collections
import datetime
import enum
import pathlib
import struct
import sys
import threading
import types

import cresset as torch

_DEPTH = 200
_LENGTH = struct.Struct("<Q")
_FLOAT = struct.Struct("<d")
_TENSOR = struct.Struct("<BB")
_DTYPES = {}
_fields = {}  # class -> (name, to_fields, from_fields)
_named = {}
_allowed = set()
graphs = threading.local()  # functions that note tensors of graphs that are sent and received


class WireError(ValueError):
    """Bytes that are no value, or a value that cannot travel."""


class _NoNameError(WireError, AttributeError):
    """A class or function that has no importable name, a lambda say."""


def register_type(cls, to_fields=None, from_fields=None, name=None):
    """Lets objects of a class travel: `to_fields(obj)` gives a value that travels, `from_fields(value)` the object again.

    Without functions the attributes travel. The receiver has registered the class under the same name.

    >>> from cresset.distributed._wire import register_type, dumps, loads
    >>> register_type(complex, lambda c: [c.real, c.imag], lambda f: complex(*f), "example.complex")
    >>> loads(dumps(3 + 4j))
    (3+4j)
    """
    label = name or path_of(cls)
    _fields[cls] = _named[label] = (label, cls, to_fields, from_fields)


def allow(*places):
    """Lets objects of classes, and calls of functions, from these modules in (names or modules, with all below them), beside those of the program.

    >>> from cresset.distributed._wire import allow
    >>> allow("collections")
    """
    for place in places:
        _allowed.add(place if isinstance(place, str) else place.__name__)


def path_of(target):
    """ "module:qualified.name" of a class or function. Errors: WireError for one that has no such name."""
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if not module or not name or "<" in name:
        raise _NoNameError(f"distributed: {target!r} has no importable name; define it in a module")
    return f"{module}:{name}"


def is_program(module):
    """Whether a loaded module is part of the program, and no part of Python's library, an installed package or this one."""
    root = module.partition(".")[0]
    if any(module == place or module.startswith(place + ".") for place in _allowed):
        return True
    if root in sys.stdlib_module_names and root != "__main__":
        return False
    loaded = sys.modules.get(module)
    if loaded is None or root == torch.__name__:
        return False
    file = getattr(loaded, "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


def find(path):
    """Class or function that a path names in the modules that are loaded. Nothing is imported. Errors: WireError."""
    module, _, name = path.partition(":")
    found = sys.modules.get(module)
    for part in name.split("."):
        found = None if part.startswith("__") else getattr(found, part, None)
    if found is None:
        raise WireError(f"distributed: this process has not loaded {path!r}")
    return found


def _class_of(path, base):
    module = path.partition(":")[0]
    cls = find(path)
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise WireError(f"distributed: expected a class derived from {base.__name__}, got {path!r}")
    if base is object and not is_program(module) and not issubclass(cls, torch.nn.Module):
        raise WireError(f"distributed: objects of {path!r} are not let in; distributed.rpc.allow({module!r}) does so")
    return cls


def _plain(cls):
    """Whether attributes are all that an object of a class is, and its end does nothing."""
    bases = cls.__mro__[:-1]
    return not any("__del__" in b.__dict__ or "__slots__" in b.__dict__ or "__new__" in b.__dict__ for b in bases) and cls.__flags__ & (1 << 9)


def _dtype_names():
    if not _DTYPES:
        for name in dir(torch):
            value = getattr(torch, name, None)
            if isinstance(value, torch.dtype):
                _DTYPES.setdefault(str(value).rpartition(".")[2], value)
    return _DTYPES


class _Writer:
    def __init__(self):
        self.parts = []
        self.depth = 0

    def bytes(self, data):
        self.parts.append(_LENGTH.pack(len(data)))
        self.parts.append(data)

    def text(self, text):
        self.bytes(text.encode())

    def many(self, kind, values):
        self.parts.append(kind)
        self.parts.append(_LENGTH.pack(len(values)))
        for value in values:
            self.value(value)

    def value(self, value):
        self.depth += 1
        if self.depth > _DEPTH:
            raise WireError(f"distributed: expected an object nested at most {_DEPTH} deep")
        write = _WRITERS.get(type(value))
        if write is not None and type(value) not in _fields:
            write(self, value)
        else:
            self.other(value)
        self.depth -= 1

    def other(self, value):
        cls = type(value)
        if cls in _fields:
            label, _, to_fields, _ = _fields[cls]
            self.parts.append(b"R")
            self.text(label)
            return self.value(to_fields(value) if to_fields else dict(vars(value)))
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, tuple) and hasattr(cls, "_fields"):
            self.parts.append(b"m")
            self.text(path_of(cls))
            return self.value(tuple(value))
        if isinstance(value, enum.Enum):
            self.parts.append(b"E")
            self.text(path_of(cls))
            return self.text(value.name)
        if isinstance(value, BaseException):
            self.parts.append(b"X")
            self.text(path_of(cls))
            return self.value(tuple(a if isinstance(a, (str, int, float, bool, bytes, type(None))) else str(a) for a in value.args))
        if isinstance(value, torch.dtype):
            self.parts.append(b"y")
            return self.text(str(value).rpartition(".")[2])
        if isinstance(value, torch.device):
            self.parts.append(b"v")
            return self.text(str(value))
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            self.parts.append(b"F")
            return self.text(path_of(value))
        if not self.numpy(value):
            self.object(value)
        return None

    def numpy(self, value):
        module = type(value).__module__
        if module != "numpy" and not module.startswith("numpy."):
            return False
        import numpy

        if not isinstance(value, (numpy.ndarray, numpy.generic)) or value.dtype.hasobject:
            return False
        array = numpy.ascontiguousarray(value)
        self.parts.append(b"N" if isinstance(value, numpy.ndarray) else b"n")
        self.text(array.dtype.str)
        self.value(tuple(numpy.shape(value)))
        self.bytes(array.tobytes())
        return True

    def tensor(self, tensor):
        if tensor.layout is not torch.strided or tensor.device.type != "cpu":
            if tensor.is_sparse:
                tensor = tensor.coalesce()
                self.parts.append(b"S")
                self.value(tuple(tensor.shape))
                self.tensor(tensor.indices())
                return self.tensor(tensor.values())
            tensor = tensor.cpu()
        recorder = getattr(graphs, "sending", None)
        if recorder is not None and tensor.requires_grad:
            self.parts.append(b"G")
            self.parts.append(_LENGTH.pack(recorder(tensor)))
            return self.tensor(tensor.detach())
        self.parts.append(b"T")
        parameter = isinstance(tensor, torch.nn.Parameter)
        self.parts.append(_TENSOR.pack(parameter, bool(tensor.requires_grad)))
        self.text(str(tensor.dtype).rpartition(".")[2])
        self.value(tuple(tensor.shape))
        flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        self.bytes(bytes(memoryview(flat.view(torch.uint8))) if flat.numel() else b"")
        return None

    def object(self, value):
        cls = type(value)
        path = path_of(cls)
        if not _plain(cls) or not hasattr(value, "__dict__"):
            raise WireError(f"distributed: objects of {path!r} are more than their attributes and do not travel; register_type says how they do")
        self.parts.append(b"O")
        self.text(path)
        self.value(dict(vars(value)))


def _put(kind):
    return lambda w, value: w.parts.append(kind)


def _int(w, value):
    w.parts.append(b"i")
    w.bytes(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))


def _float(w, value):
    w.parts.append(b"f" + _FLOAT.pack(value))


def _complex(w, value):
    w.parts.append(b"c" + _FLOAT.pack(value.real) + _FLOAT.pack(value.imag))


def _with(kind, method):
    def write(w, value):
        w.parts.append(kind)
        getattr(w, method)(bytes(value) if method == "bytes" else value)

    return write


def _pairs(w, value):
    w.parts.append(b"d")
    w.parts.append(_LENGTH.pack(len(value)))
    for key, item in value.items():
        w.value(key)
        w.value(item)


_WRITERS = {
    type(None): _put(b"0"), bool: lambda w, v: w.parts.append(b"t" if v else b"u"), int: _int, float: _float, complex: _complex, str: _with(b"s", "text"),
    bytes: _with(b"b", "bytes"), bytearray: _with(b"B", "bytes"), list: lambda w, v: w.many(b"l", v), tuple: lambda w, v: w.many(b"p", v),
    set: lambda w, v: w.many(b"e", v), frozenset: lambda w, v: w.many(b"z", v), dict: _pairs,
}  # fmt: skip


class _Reader:
    def __init__(self, data):
        self.data, self.at, self.depth = memoryview(data), 0, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise WireError("distributed: the bytes of an object end early")
        self.at += count
        return self.data[self.at - count : self.at]

    def length(self):
        return _LENGTH.unpack(self.take(8))[0]

    def bytes(self):
        return self.take(self.length())

    def text(self):
        try:
            return str(self.bytes(), "utf-8")
        except UnicodeDecodeError:
            raise WireError("distributed: a text is no UTF-8") from None

    def many(self):
        count = self.length()
        if count > len(self.data) - self.at:
            raise WireError("distributed: the bytes of an object end early")
        return [self.value() for _ in range(count)]

    def value(self):
        self.depth += 1
        if self.depth > _DEPTH:
            raise WireError(f"distributed: expected an object nested at most {_DEPTH} deep")
        kind = bytes(self.take(1))
        read = _READERS.get(kind)
        if read is None:
            raise WireError(f"distributed: {kind!r} is no kind of value")
        value = read(self)
        self.depth -= 1
        return value

    def pairs(self):
        count = self.length()
        if count > len(self.data) - self.at:
            raise WireError("distributed: the bytes of an object end early")
        found = {}
        for _ in range(count):
            key = self.value()
            found[key] = self.value()
        return found

    def dtype(self):
        name = self.text()
        if name not in _dtype_names():
            raise WireError(f"distributed: {name!r} is no dtype")
        return _DTYPES[name]

    def shape(self):
        shape = self.value()
        if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
            raise WireError("distributed: a shape is no tuple of sizes")
        return shape

    def tensor(self):
        parameter, requires_grad = _TENSOR.unpack(self.take(2))
        dtype, shape, data = self.dtype(), self.shape(), self.bytes()
        count = 1
        for n in shape:
            count *= n
        if count * dtype.itemsize != len(data):
            raise WireError(f"distributed: {len(data)} bytes for a tensor of shape {shape} and {dtype}")
        tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)
        if parameter:
            return torch.nn.Parameter(tensor, requires_grad=bool(requires_grad))
        return tensor.requires_grad_() if requires_grad else tensor

    def in_graph(self):
        number, tensor = self.length(), self.value()
        recorder = getattr(graphs, "receiving", None)
        if recorder is None or not isinstance(tensor, torch.Tensor):
            raise WireError("distributed: a tensor of a graph came outside of one")
        tensor.requires_grad_()
        recorder(number, tensor)
        return tensor

    def sparse(self):
        shape, indices, values = self.shape(), self.value(), self.value()
        return torch.sparse_coo_tensor(indices, values, shape).coalesce()

    def named(self):
        path = self.text()
        found = find(path)
        if not is_program(path.partition(":")[0]) and not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
            raise WireError(f"distributed: {path!r} is not let in; distributed.rpc.allow({path.partition(':')[0]!r}) does so")
        return found

    def registered(self):
        label = self.text()
        if label not in _named:
            raise WireError(f"distributed: no type is registered as {label!r}")
        _, cls, _, from_fields = _named[label]
        fields = self.value()
        return from_fields(fields) if from_fields else _made(cls, fields)

    def named_tuple(self):
        cls, values = _class_of(self.text(), tuple), self.value()
        if not hasattr(cls, "_fields") or not isinstance(values, tuple) or len(values) != len(cls._fields):
            raise WireError(f"distributed: expected the fields of a {cls.__name__}")
        return tuple.__new__(cls, values)

    def enumeration(self):
        cls, name = _class_of(self.text(), enum.Enum), self.text()
        if name not in cls.__members__:
            raise WireError(f"distributed: {cls.__name__} has no {name!r}")
        return cls[name]

    def exception(self):
        path, arguments = self.text(), self.value()
        try:
            cls = _class_of(path, BaseException)
        except WireError:
            cls = RuntimeError
        made = cls.__new__(cls)
        made.args = arguments if isinstance(arguments, tuple) else (arguments,)
        return made

    def object(self):
        cls, fields = _class_of(self.text(), object), self.value()
        if not _plain(cls):
            raise WireError(f"distributed: objects of {cls.__name__} do not travel")
        return _made(cls, fields)

    def array(self, scalar):
        import numpy

        name, shape, data = self.text(), self.shape(), self.bytes()
        dtype = numpy.dtype(name)
        if dtype.hasobject or int(numpy.prod(shape, dtype=object)) * dtype.itemsize != len(data):
            raise WireError("distributed: the bytes of an array do not fit its shape")
        array = numpy.frombuffer(bytearray(data), dtype).reshape(shape)
        return array[()] if scalar else array


def _made(cls, fields):
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        raise WireError(f"distributed: expected the attributes of a {cls.__name__}")
    made = object.__new__(cls)
    made.__dict__.update(fields)
    return made


def _whole(r):
    return int.from_bytes(r.bytes(), "little", signed=True)


_READERS = {
    b"0": lambda r: None, b"t": lambda r: True, b"u": lambda r: False, b"i": _whole, b"f": lambda r: _FLOAT.unpack(r.take(8))[0],
    b"c": lambda r: complex(_FLOAT.unpack(r.take(8))[0], _FLOAT.unpack(r.take(8))[0]), b"s": _Reader.text, b"b": lambda r: bytes(r.bytes()),
    b"B": lambda r: bytearray(r.bytes()), b"l": _Reader.many, b"p": lambda r: tuple(r.many()), b"e": lambda r: set(r.many()),
    b"z": lambda r: frozenset(r.many()), b"d": _Reader.pairs, b"T": _Reader.tensor, b"G": _Reader.in_graph, b"S": _Reader.sparse, b"y": _Reader.dtype,
    b"v": lambda r: torch.device(r.text()), b"R": _Reader.registered, b"F": _Reader.named, b"m": _Reader.named_tuple, b"E": _Reader.enumeration, b"X": _Reader.exception, b"O": _Reader.object,
    b"N": lambda r: r.array(False), b"n": lambda r: r.array(True),
}  # fmt: skip


def dumps(value):
    """The bytes of a value. Errors: WireError for one that cannot travel, a function say.

    >>> from cresset.distributed._wire import dumps, loads
    >>> loads(dumps({"a": [1, 2.5, None], "t": torch.ones(2)}))
    {'a': [1, 2.5, None], 't': tensor([1., 1.])}
    """
    writer = _Writer()
    writer.value(value)
    return b"".join(writer.parts)


def loads(data):
    """The value of bytes. Errors: WireError for bytes that are none.

    >>> from cresset.distributed._wire import loads
    >>> loads(b"t")
    True
    """
    reader = _Reader(data)
    try:
        value = reader.value()
    except (TypeError, OverflowError, RecursionError, RuntimeError) as error:
        raise WireError(f"distributed: the bytes of an object do not fit together: {error}") from None
    if reader.at != len(reader.data):
        raise WireError("distributed: bytes follow the end of an object")
    return value


def _ordered(fields):
    items, attributes = fields
    made = collections.OrderedDict(items)
    made.__dict__.update(attributes)
    return made


register_type(collections.OrderedDict, lambda d: [list(d.items()), dict(vars(d))], _ordered)
register_type(collections.deque, lambda d: [list(d), d.maxlen], lambda f: collections.deque(*f))
register_type(torch.Size, tuple, torch.Size)
register_type(range, lambda r: [r.start, r.stop, r.step], lambda f: range(*f))
register_type(slice, lambda s: [s.start, s.stop, s.step], lambda f: slice(*f))
register_type(datetime.timedelta, lambda t: [t.days, t.seconds, t.microseconds], lambda f: datetime.timedelta(*f))
register_type(datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat)
register_type(pathlib.PosixPath, str, pathlib.PosixPath)
