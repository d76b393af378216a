"""Writes operators down: a mode that sees each call of PyTorch's functions on fake tensors, and makes a node of it."""

import enum
import operator
import sys
import re
import types

import _cresset
from _cresset import Tensor

import cresset as torch

from ... import fx
from ..._core.operators import OperatorBase
from ..._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from ...fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ...overrides import TorchFunctionMode
from ...utils._pytree import tree_flatten
from .. import config
from .shapes import is_symbol
from .signals import Break

_METHOD = type(Tensor.add)
_GETTER = type(Tensor.shape.__get__)
_REFLECTED = {"radd": "add", "rsub": "sub", "rmul": "mul", "rtruediv": "truediv", "rfloordiv": "floordiv", "rmod": "mod", "rpow": "pow", "rmatmul": "matmul",
              "rand": "and_", "ror": "or_", "rxor": "xor", "rlshift": "lshift", "rrshift": "rshift"}  # fmt: skip
_SPELLED = {"and": "and_", "or": "or_", "not": "not_"}
#: Methods that give a number, or a thing outside of graphs.
LEAVES = {
    "item": "Tensor.item()",
    "__bool__": "the truth of a tensor",
    "__int__": "int() of a tensor",
    "__float__": "float() of a tensor",
    "__index__": "a tensor as an index",
    "__complex__": "complex() of a tensor",
    "tolist": "Tensor.tolist()",
    "numpy": "Tensor.numpy()",
    "__array__": "a tensor as an array",
    "backward": "Tensor.backward()",
    "register_hook": "Tensor.register_hook()",
    "register_post_accumulate_grad_hook": "Tensor.register_post_accumulate_grad_hook()",
    "retain_grad": "Tensor.retain_grad()",
    "data_ptr": "Tensor.data_ptr()",
    "__deepcopy__": "a deep copy of a tensor",
    "__reduce_ex__": "a pickled tensor",
    "storage": "Tensor.storage()",
    "untyped_storage": "Tensor.untyped_storage()",
    "__dlpack__": "Tensor.__dlpack__()",
    "share_memory_": "Tensor.share_memory_()",
    "resize_": "Tensor.resize_()",
    "set_": "Tensor.set_()",
    "__repr__": "the text of a tensor",
    "__str__": "the text of a tensor",
    "__format__": "the text of a tensor",
}
_NUMBERS = ("item", "__bool__", "__int__", "__float__", "__index__", "__complex__")
_DATA_HINT = "compute with tensors (torch.where chooses), or set torch._dynamo.config.capture_scalar_outputs"


def _operator_of(name):
    """The function of `operator` behind a special method: "__add__" -> operator.add."""
    plain = name[2:-2]
    plain = _REFLECTED.get(plain, plain)
    return getattr(operator, _SPELLED.get(plain, plain), None)


_PLAIN = (bool, int, float, complex, str, bytes, enum.Enum, range, frozenset, set, torch.dtype, torch.device, torch.layout, torch.memory_format)


class Recorder(TorchFunctionMode):
    """Hands the calls of its scope to a tracer."""

    def __init__(self, tracer):
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.tracer.called(func, args, kwargs or {})


def plain_number(value):
    """A scalar of NumPy as the number that operators on tensors take, one of the graph as its tensor; other values as they are."""
    if is_array(value) and value.scalar:
        return value.tensor
    return value.item() if is_numpy_scalar(value) else value


def is_array_of_numbers(value):
    """Whether a value is an array of NumPy's that graphs take for a tensor."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or not config.trace_numpy:
        return False
    from ..._numpy import takes

    return takes(value)


def is_array(value):
    """Whether a value stands for an array or number of NumPy's within a capture."""
    return type(value).__module__ == "cresset._numpy"


def is_numpy_scalar(value):
    """Whether a value is a number or truth value of NumPy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.number, numpy.bool_))


class Tracer:
    """The graph of a capture: which node stands for which fake tensor."""

    def __init__(self, capture):
        self.capture, self.graph = capture, fx.Graph()
        self.root = torch.nn.Module()
        self.nodes = {}  # id of a fake tensor -> (tensor, node)
        self.inputs = []  # (place, placeholder, fake tensor), in order of first use
        self.num_ops = 0
        self.modes = self.initial_modes = _modes_now()
        self.last_input = None
        self._input_names = set()
        self.constants = 0
        self.symbols = {}  # text of an expression -> node
        self.written = set()  # ids of fakes that are written to
        self.in_region = False  # calls are those of a region, which is captured as a whole

    # ---- nodes ------------------------------------------------------------------------------------------------------------

    def node_of(self, tensor):
        """The node of a fake tensor; an input where it comes from outside."""
        known = self.nodes.get(id(tensor))
        if known is not None:
            return known[1]
        place = self.capture.tensor_places.get(id(tensor))
        if place is None:
            raise Break("a tensor that the capture does not know", "give it to the function as an argument")
        return self._input(tensor, place)

    def _input(self, value, place):
        with self.graph.inserting_after(self.last_input) if self.last_input is not None else self.graph.inserting_before(next(iter(self.graph.nodes), None)):
            node = self.graph.placeholder(self._input_name(place))
        node.meta["example_value"] = node.meta["val"] = value
        self.last_input = node
        self.inputs.append((place, node, value))
        self.nodes[id(value)] = value, node
        return node

    def number_input(self, value, place):
        """The input that a symbol is."""
        return self._input(value, place)

    def _input_name(self, place):
        name = _identifier(self.capture.name_of(place))
        while name in self._input_names:
            name += "_"
        self._input_names.add(name)
        return name

    def argument(self, value):
        """`value` with tensors as their nodes."""
        if isinstance(value, Tensor):
            return self.node_of(value)
        value = plain_number(value)
        kind = type(value)
        if kind is list:
            return [self.argument(item) for item in value]
        if kind is tuple:
            return tuple([self.argument(item) for item in value])
        if isinstance(value, tuple):
            items = [self.argument(item) for item in value]
            if kind is torch.Size:
                return kind(items) if all(type(item) is int for item in items) else tuple(items)
            return type(value)(*items) if hasattr(value, "_fields") else kind(items)
        if kind is dict:
            return {key: self.argument(item) for key, item in value.items()}
        if kind is slice:
            return slice(self.argument(value.start), self.argument(value.stop), self.argument(value.step))
        if is_symbol(value):
            return self.capture.shapes.node(self, value)
        if value is None or value is Ellipsis or isinstance(value, _PLAIN) or callable(value):
            return value
        raise Break(f"an operator gets an object of {kind.__qualname__}")

    def node(self, target, args, kwargs, out, op="call_function"):
        """Adds a node whose result is `out`."""
        self._note_modes()
        args, kwargs = self.argument(tuple(args)), self.argument(dict(kwargs))
        node = self.graph.create_node(op, target, args, kwargs)
        self.capture.note_writes()
        node.stack_trace = self.capture.stack_trace()
        node.meta["source_fn_stack"] = [(node.name, self.capture.layer() or target)]
        self.num_ops += 1
        self._track(out, node)
        return node

    def _track(self, out, node):
        node.meta["example_value"] = node.meta["val"] = out
        if is_symbol(out):
            self.symbols.setdefault(str(out.node.expr), node)
        elif isinstance(out, Tensor):
            if id(out) not in self.nodes and id(out) not in self.capture.tensor_places:
                self.nodes[id(out)] = out, node
        elif isinstance(out, (list, tuple)):
            for i, item in enumerate(out):
                if isinstance(item, Tensor):
                    known = id(item) in self.nodes or id(item) in self.capture.tensor_places
                    if not known:
                        self._track(item, self.graph.call_function(operator.getitem, (node, i)))
                elif isinstance(item, (list, tuple)) and any(isinstance(leaf, Tensor) for leaf in tree_flatten(item)[0]):
                    self._track(item, self.graph.call_function(operator.getitem, (node, i)))
        elif isinstance(out, dict):
            for key, item in out.items():
                self._track(item, self.graph.call_function(operator.getitem, (node, key)))

    def attribute(self, value, name="_constant"):
        """A node of an object that the module keeps."""
        name = f"{name}{self.constants}"
        self.constants += 1
        setattr(self.root, name, value)
        return self.graph.get_attr(name)

    # ---- modes ------------------------------------------------------------------------------------------------------------

    def _note_modes(self):
        """Nodes that set the modes of the thread as they are now."""
        now = _modes_now()
        if now == self.modes:
            return
        before, self.modes = self.modes, now
        self.set_modes(before, now)

    def set_modes(self, before, now):
        """Nodes for the difference of two states."""
        if now.inference != before.inference:
            self.graph.call_function(_set_inference, (now.inference,))
        if now.grad != before.grad:
            self.graph.call_function(torch._C._set_grad_enabled, (now.grad,))
        if (now.autocast, now.autocast_dtype) != (before.autocast, before.autocast_dtype):
            self.graph.call_function(_set_autocast, (now.autocast, now.autocast_dtype))

    def finish_modes(self):
        """Leaves the modes as they were when the graph began."""
        if self.modes != self.initial_modes:
            before, self.modes = self.modes, self.initial_modes
            self.set_modes(before, self.initial_modes)

    # ---- calls ------------------------------------------------------------------------------------------------------------

    def operator(self, function, *args):
        """A function of `operator` on tensors: one node of that name."""
        if self.in_region:
            return function(*args)
        with self.silence():
            return self.called(function, args, {}, target=function)

    def silence(self):
        """A scope in which calls are not written down."""
        return _Silence()

    def called(self, func, args, kwargs, target=None):
        """A call of one of PyTorch's functions, methods or properties; `target` is what its node calls."""
        if target is not None:
            return self._run(func, args, kwargs, target, target.__name__ in _WRITING)
        name = getattr(func, "__name__", "")
        own = getattr(func, "__self__", None)
        if name == "__get__" and own is not None:
            return self._property(func, own.__name__, args)
        if name in ("__set__", "__delete__") and own is not None:
            raise Break(f"Tensor.{own.__name__} is set")
        method = _is_method(func, name)
        if method and name == "item" and self.capture.shapes is not None and self.capture.shapes.env.allow_scalar_outputs:
            return self._run(func, args, kwargs, None, False, name, method)
        if method and name == "tolist" and self.capture.shapes is not None and self.capture.shapes.env.allow_scalar_outputs:
            return self._numbers(args[0])
        if method and name in _NUMBERS:
            return self._number(func, name, args)
        if method and name in LEAVES:
            raise Break(LEAVES[name], _DATA_HINT)
        if func in _REFUSED:
            raise Break(_REFUSED[func])
        return self._run(func, args, kwargs, None, _writes(name, kwargs), name, method)

    def _numbers(self, tensor):
        """The numbers of a tensor in lists, each of them by `item`."""
        if tensor.dim() == 0:
            return self.called(Tensor.item, (tensor,), {})
        return [self._numbers(part) for part in self.called(Tensor.unbind, (tensor,), {})]

    def _number(self, func, name, args):
        """The number of a tensor, where the capture knows it."""
        try:
            return func(*args)
        except (DataDependentOutputException, GuardOnDataDependentSymNode):
            raise Break(LEAVES[name], _DATA_HINT) from None

    def _run(self, func, args, kwargs, target, writes, name="", method=False):
        versions = _versions(args, kwargs)
        try:
            out = func(*args, **kwargs)
        except GuardOnDataDependentSymNode as error:
            raise Break(f"a number that only the data tells decides: {error}", _DATA_HINT) from None
        except DataDependentOutputException as error:
            raise Break(f"{error}: a number that depends on the values of a tensor", _DATA_HINT) from None
        except DynamicOutputShapeException as error:
            raise Break(f"{error}: a shape that depends on the values of a tensor", "set torch._dynamo.config.capture_dynamic_output_shape_ops") from None
        for tensor, version in versions:
            if tensor._version != version:  # also by arguments such as inplace=True
                writes = True
                self.written.add(id(tensor))
        if writes or self._is_new(out) or (out is None and isinstance(func, OperatorBase)):
            if target is not None:
                self.node(target, args, kwargs, out)
            else:
                self._add(func, name, method, args, kwargs, out)
        return out

    def set_data(self, tensor, other):
        """`tensor.data = other`: no functional graph has that."""
        with self.silence():
            tensor.data = other
        self.node(_set_data, (tensor, other), {}, None)
        self.written.add(id(tensor))
        self.capture.stays_whole = True

    def knows(self, tensor):
        """Whether a tensor has a node, or is an input."""
        return id(tensor) in self.nodes or id(tensor) in self.capture.tensor_places

    def _is_new(self, out):
        if is_symbol(out):
            return out.node.expr.is_symbol and str(out.node.expr) not in self.symbols and str(out.node.expr) not in self.capture.shapes.bound
        if isinstance(out, Tensor):
            return id(out) not in self.nodes and id(out) not in self.capture.tensor_places
        if isinstance(out, (list, tuple, dict)):
            return any(isinstance(leaf, Tensor) and self._is_new(leaf) for leaf in tree_flatten(out)[0])
        return False

    def _add(self, func, name, method, args, kwargs, out):
        if method and name.startswith("__") and name.endswith("__"):
            target = _operator_of(name)
            if target is not None:
                if name[2:-2] in _REFLECTED:
                    args = args[::-1]
                return self.node(target, args, kwargs, out)
        if method:
            return self.node(name, args, kwargs, out, op="call_method")
        return self.node(func, args, kwargs, out)

    def _property(self, getter, name, args):
        tensor = args[0]
        if name == "grad":
            return self.capture.grad_of(tensor)
        if name == "grad_fn" and not tensor.requires_grad:
            return None
        if name in ("grad_fn", "_backward_hooks", "_grad"):
            raise Break(f"Tensor.{name}")
        out = getter(*args)
        if isinstance(out, Tensor) and self._is_new(out):
            self.node(getattr, (tensor, name), {}, out)
        return out


_WRITING = frozenset(
    (
        "setitem",
        "delitem",
        *(f"i{name}" for name in ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub", "truediv", "xor")),
    )
)


class _Silence:
    def __enter__(self):
        self._mode = _cresset._pop_mode() if _cresset._modes() else None

    def __exit__(self, *error):
        if self._mode is not None:
            _cresset._push_mode(self._mode)


class _Modes:
    __slots__ = ("autocast", "autocast_dtype", "grad", "inference")

    def __init__(self, grad, inference, autocast, autocast_dtype):
        self.grad, self.inference, self.autocast, self.autocast_dtype = grad, inference, autocast, autocast_dtype

    def __eq__(self, other):
        return (self.grad, self.inference, self.autocast, self.autocast_dtype) == (other.grad, other.inference, other.autocast, other.autocast_dtype)

    __hash__ = None

    def apply(self):
        """Sets the modes of the thread."""
        if torch.is_inference_mode_enabled() != self.inference:
            _cresset._enter_inference_mode(self.inference)
        torch._C._set_grad_enabled(self.grad)
        _set_autocast(self.autocast, self.autocast_dtype)


def _modes_now():
    return _Modes(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))


def _set_autocast(enabled, dtype):
    """Sets autocast on the CPU; a node of graphs."""
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


def _set_inference(enabled):
    """Turns inference mode on or off in this thread; a node of graphs."""
    if torch.is_inference_mode_enabled() != enabled:
        _cresset._enter_inference_mode(enabled)


def _set_data(tensor, other):
    """`tensor.data = other`; a node of graphs."""
    tensor.data = other


def _is_method(func, name):
    return type(func) in (_METHOD, types.MethodDescriptorType, types.WrapperDescriptorType) or Tensor.__dict__.get(name) is func


def _writes(name, kwargs):
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and _operator_of(name) is not None and name not in ("__invert__", "__index__", "__int__"))
    return (name.endswith("_") and not name.endswith("__")) or kwargs.get("out") is not None


def _versions(args, kwargs):
    """(tensor, version) of the tensors of a call, those in lists included."""
    found = []
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and not item.is_inference():
                found.append((item, item._version))
    return found


def _identifier(name):
    plain = re.sub(r"_+", "_", re.sub(r"\W", "_", name)).strip("_")
    return f"L_{plain[-60:].strip('_') or 'value'}_"


_REFUSED = {}


def is_refused(function):
    """Whether a function of the package changes, or reads, what no graph holds: states of the process, files."""
    try:
        return function in _REFUSED
    except TypeError:
        return False


def _refuse(*paths):
    for path in paths:
        owner = torch
        for part in path.split("."):
            owner = getattr(owner, part, None)
        if owner is not None:
            _REFUSED[owner] = f"torch.{path}"


_refuse(
    "manual_seed", "seed", "initial_seed", "set_rng_state", "get_rng_state", "save", "load", "from_numpy", "set_default_dtype", "set_default_device",
    "set_num_threads", "set_num_interop_threads", "get_num_threads", "is_storage", "use_deterministic_algorithms", "set_deterministic_debug_mode",
    "set_printoptions", "set_flush_denormal", "set_warn_always", "autograd.set_detect_anomaly", "set_default_tensor_type", "set_float32_matmul_precision",
)  # fmt: skip
