"""Tracing: a function or module runs once, and the operators that it calls become TorchScript.

Each call of a submodule becomes a method of its own. Sizes that the program asks for (`x.shape[0]`, `len(x)`) stay questions; other numbers that it
takes from tensors become constants, with a warning.
"""

import collections
import functools
import inspect
import itertools
import keyword
import linecache
import math
import re
import sys
import warnings

import _cresset_graph as _graph

import cresset as torch

from .._core.operators import takes_numbers
from .._modes import stack as _stack
from ..futures import Future
from ..nn import Module
from ..overrides import TorchFunctionMode
from . import _builder, _infer, _resolve, _tracing
from ._function import ScriptFunction
from ._module import RecursiveScriptModule, ScriptModule

_UNHEARD = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal")


class TracingCheckError(Exception):
    """A traced function does not do again what it did when it was traced.

    >>> issubclass(torch.jit.TracingCheckError, Exception)
    True
    """

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        self.message = "Tracing failed sanity checks!\n" + "\n".join(m for m in (extra_msg, graph_diff_error, tensor_compare_error) if m)
        super().__init__(self.message)


class TracedModule(ScriptModule):
    """A module within one that `trace` made.

    >>> issubclass(torch.jit.TracedModule, torch.jit.ScriptModule)
    True
    """

    _is_own = True


class TopLevelTracedModule(RecursiveScriptModule):
    """A module that `trace` made.

    >>> torch.jit.trace(nn.ReLU(), (torch.ones(1),))
    TopLevelTracedModule(original_name=ReLU)
    """

    _is_own = True


# ---- numbers of the program -------------------------------------------------------------------------------------------------


class TracedInt(int):
    """A size, or what was computed from sizes: a number that knows how it came about."""

    def __new__(cls, value, tree):
        made = int.__new__(cls, value)
        made.tree = tree
        return made

    def __hash__(self):
        return int.__hash__(self)


class TracedFloat(float):
    """The number of a tensor, which an operator takes in place of one."""

    def __new__(cls, value, tree):
        made = float.__new__(cls, value)
        made.tree = tree
        return made


def _arithmetic(name, op):
    plain = getattr(int, name)

    def forward(self, other):
        result = plain(int(self), int(other) if isinstance(other, int) else other)
        if type(result) is not int or isinstance(other, bool) or not isinstance(other, int):
            return result
        parts = (self, other) if not name.startswith("__r") else (other, self)
        return TracedInt(result, (op, *parts))

    return forward


for _name, _op in (
    ("add", "+"),
    ("radd", "+"),
    ("sub", "-"),
    ("rsub", "-"),
    ("mul", "*"),
    ("rmul", "*"),
    ("floordiv", "//"),
    ("rfloordiv", "//"),
    ("mod", "%"),
    ("rmod", "%"),
):
    setattr(TracedInt, f"__{_name}__", _arithmetic(f"__{_name}__", _op))
TracedInt.__neg__ = lambda self: 0 - self


class _Sizes(TorchFunctionMode):
    """Hears what Python asks of tensors."""

    def __init__(self, tracer):
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.tracer.python_call(func, args, kwargs or {})


def _flatten(value, out, kind=torch.Tensor):
    if isinstance(value, kind):
        out.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _flatten(item, out, kind)
    elif isinstance(value, dict):
        for item in value.values():
            _flatten(item, out, kind)
    return out


class _TracedFuture(Future):
    """The future of a call on the side, which is over; to wait for it is an operator of the trace."""

    def __init__(self, tracer, result, parts):
        super().__init__()
        self._tracer, self._result, self._parts = tracer, result, parts
        self.set_result(result)

    def wait(self):
        if _tracing.tracer is self._tracer:
            self._tracer.write(f"torch.wait({self._tracer.expression(self)})", self._parts)
        return self._result


_FOLLOWED = (torch.Tensor, _TracedFuture)


def _type_text(value):
    return f"Future[{_infer.type_text(value._parts)}]" if isinstance(value, _TracedFuture) else "Tensor"


def _resizing(parts, args):
    """The operator, and its arguments, of all dimensions' `_resize_images(input, size, mode, align_corners, antialias, factors)`."""
    image, size, _, corners, smooth, factors = parts
    n = len(args[1])
    linear = ("linear1d", "bilinear2d", "trilinear3d")[n - 1]
    op = (f"upsample_nearest{n}d", f"_upsample_nearest_exact{n}d", f"upsample_{linear}", "upsample_bicubic2d", "upsample_lanczos2d")[args[2]]
    if args[4]:
        op = f"_{op}_aa"
    wanted = [size, "None"] if args[5] is None else ["None", factors]
    return op, [image, wanted[0], *([corners] if args[2] > 1 else []), wanted[1]]


class _Frame:
    """The text of one method."""

    def __init__(self, outer=None, path=()):
        self.outer, self.path = outer, path  # names of attributes from the root to the module
        self.names, self.kept, self.lines, self.parameters, self.lifted = {}, [], [], [], []
        self.input_types = {}  # name of a parameter -> its type
        self.types = {}  # number of a line of the text -> the types of the tensors that it gave
        self.generators = {}  # name -> the state that its last use left
        self.region = (None, 0)  # the region of mixed precision of the last line, and how many lines there were
        self.counter = 0

    def add(self, line):
        """Appends a line, within the region of mixed precision that it runs in."""
        region = f'with autocast("cpu", {torch.get_autocast_dtype("cpu")}):' if torch.is_autocast_enabled("cpu") else None
        if region is not None and self.region != (region, len(self.lines)):
            self.lines.append(region)
        self.lines.append(line if region is None else f"    {line}")
        self.region = (region, len(self.lines))

    def know(self, tensor, text):
        self.names[id(tensor)] = text
        self.kept.append(tensor)
        if isinstance(tensor, torch.Tensor) and self.parameters and self.parameters[-1][0] == text:
            self.input_types[text] = _graph.script_type_of_tensor(tensor)

    def gave(self, tensors):
        """Notes what the last line gave."""
        self.types[len(self.lines) + 1] = [_graph.script_type_of_tensor(t) for t in tensors]

    def tell_types(self, handle):
        """Gives the values of the compiled text the types of the tensors that they were."""
        _graph.script_type_values(handle, self.input_types, self.types)

    def fresh(self):
        self.counter += 1
        return f"_{self.counter}"


class Tracer:
    """Writes down one run."""

    def __init__(self, root=None, wrapper=None):
        self.root, self.wrapper = root, wrapper
        self.frame, self.constants, self.functions, self.kept = None, [], [], []
        self.pending, self.methods, self.drawn_from = [], [], {}
        self.read, self.reads = [], []  # the tensors of which numbers have been taken since the last operator, and those of the one at hand
        self.places = collections.defaultdict(list)  # identity of a tensor or module of the root -> its paths
        if root is not None:
            self._places_of(root, (), wrapper)
        self.depth = 0
        self.forking = None  # the module whose next call is one on the side; then what stands for it

    def _places_of(self, module, path, wrapper):
        self.places[id(module)].append(path)
        if wrapper is not None:
            self.places[id(wrapper)].append(path)
        if isinstance(module, RecursiveScriptModule):
            tables = (dict(module._parameters.items()), dict(module._buffers.items()))
            parts = module._modules
        else:
            inner = module._script() if isinstance(module, ScriptModule) else None
            if inner is not None:
                self.places[id(inner)].append(path)
                return self._places_of(inner, path, inner)
            tables, parts = (module._parameters, module._buffers), module._modules
        for table in tables:
            for name, tensor in table.items():
                if tensor is not None:
                    self.places[id(tensor)].append((*path, name))
                    self.kept.append(tensor)
        for name, value in module.__dict__.items():
            if isinstance(value, torch.Tensor):
                self.places[id(value)].append((*path, name))
        for name, part in parts.items():
            if part is not None:
                self._places_of(part, (*path, name), wrapper._modules.get(name) if wrapper is not None else None)

    # ---- names ------------------------------------------------------------------------------------------------------------

    def _path(self, thing, frame=None):
        """Where the root has a tensor or module: within the module of the frame, if it has it, too; None: nowhere."""
        paths, home = self.places.get(id(thing), ()), (frame or self.frame).path
        return next((path for path in paths if path[: len(home)] == home), paths[0] if paths else None)

    def expression(self, tensor, frame=None):
        """The text of a tensor, or of the future of a call on the side."""
        frame = frame or self.frame
        if (known := frame.names.get(id(tensor))) is not None:
            return known
        if (path := self._path(tensor, frame)) is not None:
            if path[: len(frame.path)] == frame.path:
                return _attribute("self", path[len(frame.path) :])
            return self._lift(tensor, frame)
        if any(id(tensor) in outer.names for outer in _outers(frame)):
            return self._lift(tensor, frame)
        if not isinstance(tensor, torch.Tensor):
            raise RuntimeError("the future of a call of another trace cannot be part of this one")
        if tensor.requires_grad and tensor.is_leaf:
            raise RuntimeError(
                "a tensor that requires grad would become a constant of the trace; pass it as an input, make it a parameter of the module or detach it"
            )
        self.constants.append(tensor.detach())
        name = f"CONSTANTS.c{len(self.constants) - 1}"
        frame.know(tensor, name)
        return name

    def _lift(self, tensor, frame):
        name = f"argument_{len(frame.parameters) + 1}"
        frame.parameters.append((name, _type_text(tensor)))
        frame.lifted.append(tensor)
        frame.know(tensor, name)
        return name

    def number(self, value):
        """The text of a number that knows how it came about."""
        tree = value.tree
        if tree[0] == "size":
            return f"torch.size({self.expression(tree[1])}, {tree[2]})"
        if tree[0] == "numel":
            return f"torch.numel({self.expression(tree[1])})"
        if tree[0] in ("int", "float"):
            return f"{tree[0]}({self.expression(tree[1])})"
        left, right = (self.number(v) if isinstance(v, TracedInt) else repr(int(v)) for v in tree[1:])
        return f"({left} {tree[0]} {right})"

    def is_known(self, number):
        """Whether a number among the arguments of a call may be one of the operator at hand: that of a tensor where it has been read for it."""
        tree = getattr(number, "tree", ("",))
        return tree[0] not in ("int", "float") or any(tree[1] is t for t in self.reads)

    def literal(self, value):
        if isinstance(value, torch.Tensor):
            return self.expression(value)
        if isinstance(value, TracedInt):
            return self.number(value)
        if isinstance(value, bool) or value is None:
            return repr(value)
        if isinstance(value, int):
            place = next((i for i, given in enumerate(self.pending) if given == value and self.is_known(given)), None)
            given = value if place is None else self.pending.pop(place)
            return self.number(given) if isinstance(given, TracedInt) else repr(int(given))
        if isinstance(value, float):
            given = next((n for n in self.pending if isinstance(n, TracedFloat) and n == value and self.is_known(n)), None)
            if given is not None:
                return self.number(given)
            return "inf" if value == math.inf else "-inf" if value == -math.inf else "nan" if value != value else repr(float(value))
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.literal(v) for v in value) + "]"
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        if isinstance(value, torch.Generator):
            return self.drawn_from[id(value)][1]
        return str(value)

    def tensor_literal(self, args, value):
        """A number is a tensor there, whose dtype is weaker than that of others."""
        text = self.literal(value)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return text
        floats = any(isinstance(a, torch.Tensor) and a.is_floating_point() for a in args)
        dtype = torch.int64 if isinstance(value, int) else torch.float64 if floats else torch.get_default_dtype()
        return f"torch.tensor({text}, dtype={dtype})"

    # ---- what arrives -----------------------------------------------------------------------------------------------------

    def __call__(self, func, args, kwargs):
        """An operator, above all layers."""
        self.drawn_from = {id(v): (v, self._aside(lambda v=v: self.generator(v))) for v in (*args, *kwargs.values()) if isinstance(v, torch.Generator)}
        result = func(*args, **kwargs)
        for generator, known in self.drawn_from.values():
            self.frame.generators[known] = self._aside(generator.get_state)
        name = str(func._schema).partition("(")[0].partition(".")[0]
        if name in _UNHEARD:
            self.read += _flatten(args, [])
            return result
        self.reads, self.read = self.read, []
        ns, op = name.split("::") if "::" in name else ("aten", name)
        literal = functools.partial(self.tensor_literal, args) if op in takes_numbers else self.literal
        parts = [literal(a) for a in args] + [f"{k}={literal(v)}" for k, v in kwargs.items()]
        if op == "_resize_images":
            op, parts = _resizing(parts, args)
        elif op == "embedding_renorm_":
            parts[0] = f"ops.aten.detach({parts[0]})"  # it writes to a leaf
        text = f"ops.{ns}.{op}({', '.join(parts)})"
        if op == "kl_div" and parts[2:3] == ["3"]:  # "batchmean", which no reduction of the operator is elsewhere
            text = f"ops.aten.div(ops.aten.kl_div({', '.join([*parts[:2], '2', *parts[3:]])}), ops.aten.size({parts[0]}, 0))"
        self.write(text, result)
        return result

    def write(self, text, result):
        frame = self.frame
        if isinstance(result, (*_FOLLOWED, tuple, list, dict)):
            name = frame.fresh()
            frame.add(f"{name} = {text}")
            self.know_parts(name, result)
            frame.gave(_flatten(result, []))
        else:
            frame.add(text)

    def know_parts(self, text, value):
        """The tensors of a value of that text, also those within its tuples, lists and dicts."""
        if isinstance(value, _FOLLOWED):
            self.frame.know(value, text)
        elif isinstance(value, (tuple, list)):
            for index, item in enumerate(value):
                self.know_parts(f"{text}[{index}]", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.know_parts(f"{text}[{self.literal(key)}]", item)

    def write_call(self, text, result):
        """A call of what is compiled, whose numbers the trace could only keep as they are in this run."""
        numbers = _flatten(result, [], (int, float, complex, str))
        if numbers:
            raise RuntimeError(
                f"torch.jit.trace: a compiled function returned {type(numbers[0]).__name__} {numbers[0]!r}; a trace follows tensors, and lists, tuples and dicts of them"
            )
        self.write(text, result)

    def generator(self, generator):
        """The name of a generator, which the trace makes of its seed where it has been seeded since the last use."""
        state, seed = generator.get_state(), generator.initial_seed()
        known = next((name for name, left in self.frame.generators.items() if torch.equal(left, state)), None)
        if known is None:
            known = self.frame.fresh()
            self.frame.lines.append(f"{known} = torch.Generator(seed={seed - 2**64 if seed >= 2**63 else seed})")
        return known

    def index(self, index):
        """The text of an index of numbers, slices and tensors."""
        if isinstance(index, tuple):
            return ", ".join(map(self.index, index)) + ("," if len(index) == 1 else "")
        if isinstance(index, slice):
            parts = (self.as_number(part) if isinstance(part, torch.Tensor) else part for part in (index.start, index.stop, index.step))
            text = ":".join("" if part is None else self.literal(part) for part in parts)
            return text if index.step is not None else text.removesuffix(":")
        return "..." if index is ... else self.literal(index)

    def subscript(self, name, func, args):
        """`x[index]` and `x[index] = value` with sizes in the index."""
        self.pending = []
        place = f"{self.expression(args[0])}[{self.index(args[1])}]"
        if name == "__setitem__":
            place += f" = {self.literal(args[2])}"
        result = self._aside(lambda: func(args[0], _plain(args[1]), *args[2:]))
        if name == "__setitem__":
            self.frame.add(place)
        else:
            self.write(place, result)
        return result

    def python_call(self, func, args, kwargs):
        """A call of Python's, of which operators do not tell all."""
        name = getattr(func, "__name__", "")
        owner = getattr(func, "__self__", None)
        if name == "__get__":
            name = getattr(owner, "__name__", "")
            if name == "shape":
                return self.sizes(args[0])
            return func(*args, **kwargs)
        if name == "size" and args and isinstance(args[0], torch.Tensor):
            dim = args[1] if len(args) > 1 else kwargs.get("dim")
            if dim is None:
                return self.sizes(args[0])
            return TracedInt(func(*args, **kwargs), ("size", args[0], int(dim)))
        if name in ("numel", "nelement") and args:
            return TracedInt(func(*args, **kwargs), ("numel", args[0]))
        if name == "__len__" and args:
            self.warn("len() of a tensor is a constant of the trace, which may be wrong for tensors of another shape; tensor.shape[0] is followed")
            return func(*args, **kwargs)
        if name in ("__bool__", "__float__", "__int__", "__index__", "item", "tolist", "__iter__", "__complex__", "numpy", "__contains__"):
            what = {"__bool__": "a Python boolean", "__float__": "a Python float", "__int__": "a Python integer", "__index__": "a Python index", "item": "a Python number",
                    "__iter__": "an iteration over it"}.get(name, "a Python value")  # fmt: skip
            self.warn(f"a tensor became {what}, which the trace cannot follow: it stands in it as a constant, and the trace may be wrong for other inputs")
            return func(*args, **kwargs)
        if name in ("tensor", "as_tensor", "scalar_tensor", "from_numpy") and not _flatten([args, kwargs], []):
            return self._aside(lambda: func(*args, **kwargs))  # a constant
        if name == "unbind" and not self.says("unbind"):
            self.warn("a loop over a tensor is unrolled in the trace, which makes as many trips for tensors of every shape")
        if name in ("detach", "detach_", "contiguous") and args and isinstance(args[0], torch.Tensor):
            before = len(self.frame.lines)
            result = func(*args, **kwargs)
            if len(self.frame.lines) == before and name != "contiguous":
                self.write(f"ops.aten.detach({self.expression(args[0])})", result)
            return result
        if name in ("__getitem__", "__setitem__") and _is_index(args[1]) and any(isinstance(v, (TracedInt, torch.Tensor)) for v in _numbers(args[1])):
            return self.subscript(name, func, args)
        numbers = self.numbers_of(args, kwargs)
        # The plain numbers, too: one of the same value that comes before a size is not the size.
        self.pending, self.read = numbers if any(isinstance(v, (TracedInt, TracedFloat)) for v in numbers) else [], []
        try:
            return func(*_plain(args), **{k: _plain(v) for k, v in kwargs.items()})
        finally:
            self.pending = []

    def as_number(self, tensor):
        kind, made = ("float", TracedFloat) if tensor.is_floating_point() else ("int", TracedInt)
        return made(self._aside(lambda: tensor.item()), (kind, tensor))

    def numbers_of(self, *values):
        """The integers among arguments, in order, and the tensors that an operator may take for a number, which reads them then."""
        out = []
        for value in values:
            if isinstance(value, (list, tuple)):
                out += self.numbers_of(*value)
            elif isinstance(value, dict):
                out += self.numbers_of(*value.values())
            elif isinstance(value, torch.Tensor) and _is_number(value):
                out.append(self.as_number(value))
            else:
                out += _numbers(value)
        return out

    def sizes(self, tensor):
        return torch.Size(TracedInt(n, ("size", tensor, i)) for i, n in enumerate(_cresset_sizes(tensor)))

    def says(self, word):
        """Whether the line of the program that makes the call has a word."""
        frame = sys._getframe(3)
        while frame is not None and "/cresset/" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and word in linecache.getline(frame.f_code.co_filename, frame.f_lineno)

    def warn(self, text):
        warnings.warn(text, _tracer_warning(), stacklevel=4)

    # ---- calls of what is compiled, or a module ------------------------------------------------------------------------------

    def _aside(self, call):
        """The result of a call of which nothing is written down."""
        before, _tracing.tracer = _tracing.tracer, None
        try:
            with _stack.listening_at(_stack.ABOVE_LAYERS, None), _Off():
                return call()
        finally:
            _tracing.tracer = before

    def call_function(self, handle, args, kwargs):
        self.functions.append(handle)
        parts = [self.argument(a) for a in args] + [f"{k}={self.argument(v)}" for k, v in kwargs.items()]
        result = self._aside(lambda: _graph.script_function_run(handle, None, _plain(args), kwargs))
        self.write_call(f"function_{len(self.functions) - 1}({', '.join(parts)})", result)
        return result

    def argument(self, value):
        if isinstance(value, tuple):
            return "(" + "".join(self.argument(v) + ", " for v in value) + ")"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.literal(k)}: {self.argument(v)}" for k, v in value.items()) + "}"
        return self.literal(value)

    def call_module(self, module, args, kwargs):
        path = self._path(module)
        if path is None or path[: len(self.frame.path)] != self.frame.path:
            from ._module import ScriptMethod

            return ScriptMethod(_graph.script_class_method(_graph.script_object_class(module._c), "forward"), module)(*args, **kwargs)
        parts = [self.argument(a) for a in args] + [f"{k}={self.argument(v)}" for k, v in kwargs.items()]
        owner = _attribute("self", path[len(self.frame.path) :])
        result = self._aside(lambda: module(*_plain(args), **kwargs))
        self.write_call(f"{owner}({', '.join(parts)})", result)
        return result

    def call_fork(self, func, args, kwargs):
        if kwargs:
            count, names, inner = len(args), list(kwargs), func
            args, kwargs = (*args, *kwargs.values()), {}

            def func(*given):
                return inner(*given[:count], **dict(zip(names, given[count:], strict=True)))

        if isinstance(func, Module) and self._is_inside(func):
            return self._fork_module(func, args)
        handle = func._handle if isinstance(func, ScriptFunction) else self._aside(lambda: trace(func, _plain(args), check_trace=False))._handle
        self.functions.append(handle)
        given = [self.argument(a) for a in args]
        result = self._aside(lambda: func(*args, **kwargs))
        name = self._write_fork(f"function_{len(self.functions) - 1}", given, result)
        return self._future(name, result, result)

    def _future(self, name, result, parts):
        future = _TracedFuture(self, result, parts)
        self.frame.know(future, name)
        return future

    def _is_inside(self, module):
        """Whether a module is that of the frame, or one within it."""
        path = self._path(module)
        return path is not None and path[: len(self.frame.path)] == self.frame.path

    def _fork_module(self, module, args):
        """The call on the side of a module of the root."""
        if isinstance(module, (ScriptModule, RecursiveScriptModule)):
            given = [self.argument(a) for a in args]
            result = self._aside(lambda: module(*_plain(args)))
            return self._future(self._write_fork(_attribute("self", self._path(module)[len(self.frame.path) :]), given, result), result, result)
        self.forking = module
        result = module(*args)
        name, parts = self.forking
        self.forking = None
        return self._future(name, result, parts)

    def _write_fork(self, callee, arguments, result):
        name = self.frame.fresh()
        self.frame.add(f"{name} = fork({', '.join([callee, *arguments])})")
        self.frame.gave(_flatten(result, []))
        return name

    def submodule(self, module, forward, args, kwargs):
        """A call of a module within the root: a method of its class."""
        if not self._is_inside(module) or isinstance(module, ScriptModule):
            return forward(*args, **kwargs)
        is_fork, self.forking = self.forking is module, None
        method, given, result, found = self._method_of(module, forward, args, kwargs)
        returned = found[0] if len(found) == 1 else tuple(found) if found else None
        if is_fork:
            self.forking = self._write_fork(method, given, returned), returned
        else:
            self.write(f"{method}({', '.join(given)})", returned)
        return result

    def _method_of(self, module, forward, args, kwargs):
        """Makes a method of what a module does: its text, those of its arguments, and the result, with the tensors that the method returns."""
        path, outer = self._path(module), self.frame
        given = []
        for t in _flatten([args, kwargs], [], _FOLLOWED):
            if not any(t is other for other in given):
                given.append(t)
        frame = self.frame = _Frame(outer, path)
        names = _parameter_names(forward, len(given))
        for tensor, name in zip(given, names, strict=True):
            frame.parameters.append((name, _type_text(tensor)))
            frame.know(tensor, name)
        try:
            result = forward(*args, **kwargs)
            found = []
            for t in _flatten(result, [], _FOLLOWED):
                if not any(t is other for other in found):
                    found.append(t)
            texts = [self.expression(t) for t in found]
        finally:
            self.frame = outer
        frame.lines.append("return " + (texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "None"))
        owner = self._owner(path)
        name = "forward" if not any(row[0] == path and row[1] == "forward" for row in self.methods) else f"forward{sum(row[0] == path for row in self.methods)}"
        self.methods.append((path, name, frame, owner))
        parts = [self.expression(t) for t in [*given, *frame.lifted]]
        return f"{_attribute('self', path[len(outer.path) :])}.{name}", parts, result, found

    def _owner(self, path):
        wrapper = self.wrapper
        for name in path:
            wrapper = wrapper._modules[name]
        return wrapper

    # ---- running ----------------------------------------------------------------------------------------------------------

    def run(self, call):
        if _tracing.tracer is not None:
            raise RuntimeError("torch.jit.trace: a trace is being made already")
        patched = []
        if self.root is not None:
            for module in self.root.modules():
                if module is self.root or isinstance(module, ScriptModule) or id(module) not in self.places:
                    continue
                original = module.forward

                def forward(*args, _module=module, _original=original, **kwargs):
                    return self.submodule(_module, _original, args, kwargs) if _tracing.tracer is self else _original(*args, **kwargs)

                had = module.__dict__.get("forward", patched)
                module.__dict__["forward"] = forward
                patched.append((module, had))
        _tracing.tracer = self
        try:
            with _stack.listening_at(_stack.ABOVE_LAYERS, self), _Sizes(self):
                return call()
        finally:
            _tracing.tracer = None
            for module, had in patched:
                if had is patched:
                    del module.__dict__["forward"]
                else:
                    module.__dict__["forward"] = had

    def value(self, name):
        """The names of the text, for the compiler."""
        if name == "torch":
            return ("torch", None)
        if name == "ops":
            return ("ops", None)
        if name == "fork":
            return ("special", "fork")
        if name == "autocast":
            return _resolve.describe(torch.autocast, name)
        if name == "CONSTANTS":
            return ("namespace", _Constants(self.constants), name)
        if (found := re.fullmatch(r"function_(\d+)", name)) is not None:
            return ("function", self.functions[int(found[1])])
        return None

    def type(self, expression):
        return None


class _Off(TorchFunctionMode):
    """Calls go on as they are."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class _Constants:
    def __init__(self, values):
        for index, value in enumerate(values):
            setattr(self, f"c{index}", value)


def _is_number(tensor):
    return tensor.dim() == 0 and tensor.dtype != torch.bool and not tensor.is_complex() and not tensor.is_meta


def _cresset_sizes(tensor):
    return [int(n) for n in torch.Tensor.shape.__get__(tensor)]


def _numbers(*values):
    """The integers among arguments, in order."""
    out = []
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            out.append(value)
        elif isinstance(value, (list, tuple)):
            out += _numbers(*value)
        elif isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            out += [*_numbers(*parts), *(part for part in parts if isinstance(part, torch.Tensor))]
        elif isinstance(value, dict):
            out += _numbers(*value.values())
    return out


def _is_index(index):
    """Whether TorchScript has the index, too: numbers, slices, None, ... and tensors."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is ... or isinstance(part, (int, slice, torch.Tensor)) and not isinstance(part, bool) for part in parts)


def _plain(value):
    if isinstance(value, TracedInt):
        return int(value)
    if isinstance(value, slice):
        return slice(_plain(value.start), _plain(value.stop), _plain(value.step))
    if type(value) in (list, tuple) or isinstance(value, torch.Size):
        return type(value)(_plain(v) for v in value)
    return value


def _outers(frame):
    while (frame := frame.outer) is not None:
        yield frame


def _attribute(owner, path):
    for name in path:
        owner = f"{owner}.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f'getattr({owner}, "{name}")'
    return owner


def _parameter_names(fn, count):
    try:
        names = [n for n, p in inspect.signature(fn).parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names = [n for n in names if n != "self"][:count]
    while len(names) < count:
        names.append(f"argument_{len(names) + 1}")
    return names


# ---- inputs and outputs -----------------------------------------------------------------------------------------------------


def _know_input(frame, value, text):
    if isinstance(value, torch.Tensor):
        frame.know(value, text)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _know_input(frame, item, f"{text}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            _know_input(frame, item, f"{text}[{key!r}]".replace("'", '"'))


def _cloned(value, memo=None):
    """A copy of an input: a tensor that occurs twice is one tensor in it, too."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = value, _copied(value)
        return memo[id(value)][1]
    if isinstance(value, tuple):
        parts = [_cloned(v, memo) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_cloned(v, memo) for v in value]
    return {k: _cloned(v, memo) for k, v in value.items()} if isinstance(value, dict) else value


def _each_cloned(value):
    """A copy of an input, of which each tensor is one of its own."""
    if isinstance(value, torch.Tensor):
        return _copied(value)
    if isinstance(value, tuple):
        parts = map(_each_cloned, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_each_cloned(v) for v in value]
    return {k: _each_cloned(v) for k, v in value.items()} if isinstance(value, dict) else value


def _copied(value):
    return value.detach().clone(memory_format=torch.preserve_format).requires_grad_(value.requires_grad)


def _outputs(tracer, value, strict):
    if value is None:
        raise RuntimeError("the traced function returned nothing: a trace holds what leads to its outputs")
    return _output(tracer, value, strict)


def _output(tracer, value, strict):
    if isinstance(value, torch.Tensor):
        return tracer.expression(value)
    if isinstance(value, TracedInt):
        return f"torch.tensor({tracer.number(value)})"
    if isinstance(value, list) and strict:
        tracer.warn(
            "the traced function returned a list, whose length the trace fixes; return a tuple, or pass strict=False where it is the same for all inputs"
        )
    if isinstance(value, dict) and strict:
        raise RuntimeError(
            "the traced function returned a dict, whose keys the trace fixes; return a NamedTuple, or pass strict=False where they are the same for all inputs"
        )
    if isinstance(value, tuple):
        return "(" + "".join(_output(tracer, v, strict) + ", " for v in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_output(tracer, v, strict) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{tracer.literal(k)}: {_output(tracer, v, strict)}" for k, v in value.items()) + "}"
    if value is None:
        return "None"
    raise RuntimeError(f"a traced function returned {type(value).__name__}; outputs are tensors and lists, dicts and tuples of them")


# ---- trace ------------------------------------------------------------------------------------------------------------------


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, _force_outplace=False,
          _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):  # fmt: skip
    """The compiled form of what `func`, a function or module, does with `example_inputs`: the operators that it calls, whatever decided on them.

    Branches and loops are those of this run. With `check_trace` it is traced once more, also with each of `check_inputs`, and compared within
    `check_tolerance`; where `strict` is false, results may hold lists and dicts. `example_kwarg_inputs` gives the inputs by name instead.

    Errors: RuntimeError for results that are no tensors, and for tensors from elsewhere that require gradients; TracingCheckError. Warnings: TracerWarning
    where a number from a tensor becomes a constant.

    >>> t = torch.jit.trace(lambda x: x * 2, (torch.ones(2),))
    >>> t(torch.ones(3))
    tensor([2., 2., 2.])
    """
    if isinstance(func, (RecursiveScriptModule, ScriptModule)):
        warnings.warn("trace was given a ScriptModule, which is returned as it is", stacklevel=2)
        return func
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and func.__name__ != "forward" and not isinstance(func, Module):
        raise AttributeError(f"torch.jit.trace: {func.__name__} is a method of a module; trace_module traces other methods than forward")
    if isinstance(func, Module) or (isinstance(owner, Module) and func.__name__ == "forward"):
        module = func if isinstance(func, Module) else owner
        given = example_kwarg_inputs if example_kwarg_inputs is not None else example_inputs
        return trace_module(module, {"forward": given}, optimize, check_trace, None if check_inputs is None else [{"forward": i} for i in check_inputs], check_tolerance,
                            strict, example_inputs_is_kwarg=example_kwarg_inputs is not None)  # fmt: skip
    names, args = _given(func, example_inputs, example_kwarg_inputs)
    made, text, tracer, result = _trace_function(func, names, args, strict)
    if check_trace:
        _check(
            lambda a: _trace_function(func, names, a, strict)[1:],
            made,
            text,
            tracer,
            [args, *[_tupled(i) for i in check_inputs or ()]],
            func,
            check_tolerance,
            names,
        )
    return made


def _tupled(inputs):
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _given(func, inputs, kwargs):
    if kwargs is not None:
        return list(kwargs), tuple(kwargs.values())
    if inputs is None:
        raise RuntimeError("torch.jit.trace: example_inputs or example_kwarg_inputs must be given")
    args = (inputs,) if isinstance(inputs, (torch.Tensor, dict)) else tuple(inputs)
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][: len(args)]
    return [*names, *[f"argument_{i + 1}" for i in range(len(names), len(args))]], args


def _begin(tracer, names, args):
    from . import _api  # noqa: F401  whose helpers the compiled trace calls

    frame = tracer.frame = _Frame()
    for name, value in zip(names, args, strict=True):
        frame.parameters.append((name, _infer.type_text(value)))
        _know_input(frame, value, name)
    return frame


def _head(name, frame, own):
    return f"def {name}({', '.join([*(['self'] if own else []), *[f'{n}: {t}' for n, t in frame.parameters]])}):\n    "


def _trace_function(func, names, args, strict):
    args = tuple(map(_each_cloned, args))
    tracer = Tracer()
    frame = _begin(tracer, names, args)
    result = tracer.run(lambda: func(*args))
    frame.lines.append("return " + _outputs(tracer, result, strict))
    own = getattr(func, "__name__", "traced")
    own = own if own.isidentifier() and not keyword.iskeyword(own) else "_lambda"
    text = _head(own, frame, False) + "\n    ".join(frame.lines) + "\n"
    qualified = _resolve.qualified_name(func, None) if hasattr(func, "__qualname__") else "__torch__.traced"
    handle = _graph.script_unit_define(_resolve.unit, qualified, text, "<trace>", 1, tracer, None, {})
    _graph.script_function_compile(handle)
    frame.tell_types(handle)
    return ScriptFunction(handle, func if hasattr(func, "__name__") else None), text, tracer, result


def _tracer_warning():
    from ._api import TracerWarning

    return TracerWarning


def _same(a, b, tolerance):
    a, b = ([torch.as_tensor(v) for v in _flatten(value, [], (torch.Tensor, TracedInt))] for value in (a, b))
    return len(a) == len(b) and all(
        x.shape == y.shape and x.dtype == y.dtype and torch.allclose(x.detach().double() if x.is_floating_point() else x.detach(), y.detach().double() if y.is_floating_point() else y.detach(),
                                                                       rtol=tolerance, atol=tolerance, equal_nan=True) for x, y in zip(a, b, strict=True)
    )  # fmt: skip


def _check(again, made, text, tracer, inputs, func, tolerance, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, args in enumerate(inputs):
            other_text, other, result = again(args)
            which = f"with check_inputs[{index - 1}]" if index else "of a second call"
            if other_text != text:
                lines = [f"- {a}\n+ {b}" for a, b in itertools.zip_longest(text.split("\n"), other_text.split("\n"), fillvalue="") if a != b]
                raise TracingCheckError(f"the trace {which} has another graph\n" + "\n".join(lines), None)
            for a, b in zip(tracer.constants, other.constants, strict=False):
                if a.shape != b.shape or a.dtype != b.dtype or not _same(a, b, tolerance):
                    raise TracingCheckError(
                        f"a tensor that is a constant of the trace has another value in that {which}: code that cannot be traced made it", None
                    )
            try:
                with torch.random.fork_rng(devices=[]):
                    ours = made(*[_cloned(a) for a in args]) if not isinstance(made, tuple) else made[0](*[_cloned(a) for a in args])
            except Exception as error:
                raise TracingCheckError(None, None, f"ERROR: the traced function raised {type(error).__name__}: {error}") from error
            if not _same(ours, result, max(tolerance, 1e-5)):
                warnings.simplefilter("always")
                warnings.warn("the trace and the Python function differ in the first output", _tracer_warning(), stacklevel=4)


def trace_module(mod, inputs, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, _force_outplace=False, _module_class=None,
                 _compilation_unit=None, example_inputs_is_kwarg=False, _store_inputs=True):  # fmt: skip
    """The compiled form of a module, from what each method of `inputs`, a dict, does with its example inputs. See `trace`.

    >>> t = torch.jit.trace_module(nn.ReLU(), {"forward": (torch.ones(2),)})
    >>> t(torch.tensor([-1.0]))
    tensor([0.])
    """
    if not isinstance(mod, Module):
        raise AttributeError("the first argument of trace_module is a module")
    if not isinstance(inputs, dict):
        raise AttributeError("the inputs of trace_module are a dict from names of methods to inputs")
    for name in inputs:
        if not hasattr(mod, name):
            raise AttributeError(f"'{type(mod).__name__}' object has no attribute '{name}'")
    wrapper, texts = _trace_methods(mod, inputs, strict, example_inputs_is_kwarg)
    if check_trace:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.random.fork_rng(devices=[]):
                saved = {k: v.clone() for k, v in mod.state_dict().items()}
                for index, given in enumerate([inputs, *(check_inputs or ())]):
                    if texts != _trace_methods(mod, given, strict, example_inputs_is_kwarg)[1]:
                        raise TracingCheckError(f"the trace {f'with check_inputs[{index - 1}]' if index else 'of a second call'} has another graph", None)
                _restore(mod, saved)
                differs = _first_difference(mod, wrapper, inputs, saved, example_inputs_is_kwarg, max(check_tolerance, 1e-5))
        if differs:
            warnings.warn(f"the trace and the Python module differ in the first output of {differs}", _tracer_warning(), stacklevel=2)
    return wrapper


def _restore(mod, saved):
    with torch.no_grad():
        for k, v in mod.state_dict().items():
            v.copy_(saved[k])


def _first_difference(mod, wrapper, inputs, saved, by_name, tolerance):
    """The method whose trace gives other outputs than Python does, as where numbers are drawn at random; None: there is none."""
    for method, given in inputs.items():
        results = []
        for made in (getattr(mod, method), getattr(wrapper, method)):
            again = _cloned(given)
            results.append(made(**again) if by_name else made(*(again if isinstance(again, tuple) else _given(made, again, None)[1])))
            _restore(mod, saved)
        if not _same(*results, tolerance):
            return method
    return None


def _trace_methods(mod, inputs, strict, by_name):
    _builder.check_sizes(mod)
    for part in mod.modules():
        if part._backward_hooks:
            raise ValueError(f"torch.jit.trace: a trace has no backward hooks, and {type(part).__name__} has one; remove it before")
    plain = _builder._Builder(mod, {}).build(None, True)
    d = TopLevelTracedModule(plain._c, mod)
    texts = []
    for method, given in inputs.items():
        fn = getattr(mod, method)
        names, args = _given(fn, None if by_name else given, given if by_name else None)
        args = _cloned(args) if by_name else tuple(_cloned(a) for a in args)
        tracer = Tracer(mod, d)
        frame = _begin(tracer, names, args)
        call = mod if method == "forward" else fn  # a call of the module runs its hooks, too
        result = tracer.run((lambda: call(**dict(zip(names, args, strict=True)))) if by_name else (lambda: call(*args)))
        frame.lines.append("return " + _outputs(tracer, result, strict))
        for path, name, inner, owner in tracer.methods:
            texts.append(_define(tracer, owner, name, inner))
        texts.append(_define(tracer, d, method, frame))
    for part in d.modules():
        part.__dict__["_is_traced_part"] = part is not d and not isinstance(part._original, ScriptModule)
        part.__dict__["_info"] = _graph.script_class_info(_graph.script_object_class(part._c))
    return d, texts


def _define(tracer, owner, name, frame):
    cls = _graph.script_object_class(owner._c)
    info = _graph.script_class_info(cls)
    existing = set(info["methods"])
    if name in existing:
        return ""
    text = _head(name, frame, True) + "\n    ".join(frame.lines) + "\n"
    handle = _graph.script_unit_define(_resolve.unit, f"{info['name']}.{name}", text, "<trace>", 1, tracer, cls, {})
    _graph.script_class_add(cls, "method", name, handle)
    _graph.script_function_compile(handle)
    frame.tell_types(handle)
    return text
