"""The tracer behind `make_fx`: which node stands for which tensor, and the mode that turns operators into nodes."""

import operator

import _cresset

import cresset as torch

from ..._modes import stack as _stack
from ...autograd.profiler import record_function
from .._symbolic_trace import Tracer
from ..graph import Graph
from ..passes.shape_prop import TensorMetadata, _extract_tensor_metadata
from ..proxy import Proxy

CONSTANT_NUMEL_LIMIT = 1
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_plain_types = frozenset((int, float, bool, str, complex, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format))
_getitem = operator.getitem


def is_sym(value):
    """Whether a value is a number of a symbolic shape."""
    return type(value).__name__ in ("SymInt", "SymFloat", "SymBool") and hasattr(value, "node")


class Slot:
    """The node of a tensor, as a proxy, and its value where that is known: few elements that follow from constants."""

    __slots__ = ("constant", "node", "tensor", "tracer")

    def __init__(self, tensor, node, tracer, constant=None):
        self.tensor, self.node, self.tracer, self.constant = tensor, node, tracer, constant

    @property
    def proxy(self):
        """A proxy of the node."""
        return Proxy(self.node, self.tracer)


def geometry(t):
    """Tensors that agree in this are the same values, whatever object they are."""
    if t.layout is not torch.strided:
        return id(t)
    return t.untyped_storage()._cdata, *_cresset._geometry(t), t.dtype, t.is_conj(), t.is_neg()


class PythonKeyTracer(Tracer):
    """Makes nodes of operators on tensors that it knows; tensors that come from elsewhere become constants of the root.

    >>> tracer = torch.fx.experimental.proxy_tensor.PythonKeyTracer()
    >>> tracer.create_arg([torch.ones(1), 2])
    [_tensor_constant0, 2]
    """

    def __init__(self):
        super().__init__(autowrap_modules=())
        self.root = torch.nn.Module()
        self.graph = Graph(tracer_cls=PythonKeyTracer)
        self.slots = {}  # id of a tensor -> Slot, which keeps the tensor
        self.symbols = {}  # expression -> node
        self.constants = {}  # id -> (tensor, node)
        self.parts = {}  # the same for named parts of the program that are open
        self._by_geometry, self._indexed, self._order = {}, 0, []
        self.enable_thunkify, self.record_stack_traces = False, False
        self.fake_mode = None
        self.place = None  # notes for nodes: where in a module they are made

    def create_node(self, *args, **kwargs):
        """A node of the graph, with notes of its place."""
        node = super().create_node(*args, **kwargs)
        if self.place is not None:
            self.place.note(node)
        return node

    def call_module(self, m, forward, args, kwargs):
        """Modules are seen through."""
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The value itself."""
        return attr_val

    # ---- tensors ----------------------------------------------------------------------------------------------------------

    def track(self, tensor, node, constant=None):
        """From now on `node` stands for `tensor`."""
        slot = self.slots.get(id(tensor))
        if slot is None:
            slot = self.slots[id(tensor)] = Slot(tensor, node, self, constant)
            self._order.append(slot)
        else:
            slot.node, slot.constant = node, constant
        return slot

    def slot_of(self, tensor):
        """The slot of a tensor; None for one that comes from elsewhere."""
        slot = self.slots.get(id(tensor))
        if slot is not None or not self.slots:
            return slot
        with _stack.none_active():
            for known in self._order[self._indexed :]:
                self._by_geometry[geometry(known.tensor)] = known
            self._indexed = len(self._order)
            known = self._by_geometry.get(geometry(tensor))
        if known is None:
            return None
        # Another object over the same values, as autograd keeps them: the same node.
        slot = self.slots[id(tensor)] = Slot(tensor, known.node, self, known.constant)
        return slot

    def constant_node(self, tensor):
        """The node of a tensor that is an attribute of the root."""
        found = self.constants.get(id(tensor))
        if found is not None:
            return found[1]
        name = self._parameter_name(tensor) if isinstance(tensor, _Parameter) else None
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, name, tensor)
        node = self.create_node("get_attr", name, (), {})
        set_meta(node, tensor, self, tensor_meta=False)
        self.constants[id(tensor)] = (tensor, node)
        return node

    def _parameter_name(self, parameter):
        for name, known in self.root.named_parameters():
            if known is parameter:
                return name
        name = self.get_fresh_qualname("_param_constant")
        setattr(self.root, name, parameter)
        return name

    # ---- arguments ----------------------------------------------------------------------------------------------------------

    def create_arg(self, a):
        """Tensors are their nodes, those from elsewhere constants; numbers of symbolic shapes are theirs."""
        kind = type(a)
        if kind in _plain_types:
            return a
        if isinstance(a, _Tensor):
            slot = self.slot_of(a)
            return slot.node if slot is not None else self.constant_node(a)
        if kind is list:
            return [self.create_arg(item) for item in a]
        if kind is tuple:
            return tuple([self.create_arg(item) for item in a])
        if is_sym(a):
            return self.symbol_node(a)
        if id(a) in self.parts:
            return self.parts[id(a)][1]
        return super().create_arg(a)

    def symbol_node(self, value):
        """The node of a symbolic number: one that is known, or arithmetic on such."""
        if value.node.is_constant() if hasattr(value.node, "is_constant") else False:
            return value.node.hint
        node = self.symbols.get(value.node.expr)
        if node is None:
            from ._proxy_symbols import build

            node = build(self, value)
        return node

    def number_from_around(self, value):
        """The node of a symbolic number that none of the graph's tensors has; None where there is none."""
        return None

    def tensor_of_size(self, value):
        """A tensor that is known, one of whose sizes a symbolic number is; None where there is none."""
        for slot in self._order:
            if slot.tensor.layout is torch.strided and any(is_sym(size) and size.node.expr == value.node.expr for size in slot.tensor.shape):
                return slot.tensor
        return None

    def unwrap_proxy(self, e):
        """The proxy of a tensor or symbolic number that is known; the value itself for any other."""
        if isinstance(e, _Tensor):
            slot = self.slot_of(e)
            return e if slot is None else slot.proxy
        return Proxy(self.symbol_node(e), self) if is_sym(e) else e

    def record_outputs(self, node, out, constants=None):
        """`node` stands for what an operator returned: a tensor, or a tuple or list, whose items are nodes of their own."""
        self._note_unbacked(node, out)
        if isinstance(out, _Tensor):
            set_meta(node, out, self)
            self.track(out, node, constants)
        elif isinstance(out, record_function):
            self.parts[id(out)] = (out, node)
        elif isinstance(out, (tuple, list)):
            set_meta(node, out, self)
            for i, item in enumerate(out):
                if item is None or isinstance(item, (_Tensor, tuple, list)) or is_sym(item):
                    known = constants[i] if isinstance(constants, (tuple, list)) else None
                    self.record_outputs(self.create_node("call_function", _getitem, (node, i), {}), item, known)
        elif is_sym(out):
            node.meta["val"] = out
            self.symbols.setdefault(out.node.expr, node)
        else:
            set_meta(node, out, self)

    def _note_unbacked(self, node, out):
        env = getattr(self.fake_mode, "shape_env", None)
        if env is not None:
            from .symbolic_shapes import note_unbacked

            note_unbacked(node, env, out)


# ---- facts of nodes -------------------------------------------------------------------------------------------------------


def _fakes(tracer):
    if tracer.fake_mode is None:
        from ..._subclasses.fake_tensor import FakeTensorMode

        tracer.fake_mode = FakeTensorMode(allow_fallback_kernels=True, allow_non_fake_inputs=True)
    return tracer.fake_mode._handle


def snapshot(value, tracer):
    """A value without its data: tensors are fake ones of now."""
    if isinstance(value, _Tensor):
        return _cresset._fake_snapshot(_fakes(tracer), value)
    if isinstance(value, (tuple, list)):
        return (tuple if hasattr(value, "_fields") or isinstance(value, tuple) else list)([snapshot(item, tracer) for item in value])
    return value


def set_meta(node, value, tracer, tensor_meta=True):
    """Notes what a node gives: `meta["val"]`, and for a tensor `meta["tensor_meta"]`."""
    node.meta["val"] = snapshot(value, tracer)
    if tensor_meta and isinstance(value, _Tensor) and (value.layout is torch.strided or node.meta["val"] is not None):
        node.meta["tensor_meta"] = _tensor_meta(value)


_formats = {4: torch.channels_last, 5: torch.channels_last_3d}


def _tensor_meta(t):
    if t.layout is not torch.strided:
        return _extract_tensor_metadata(t)
    form = torch.contiguous_format if t.is_contiguous() else None
    if form is None and t.dim() in _formats and t.is_contiguous(memory_format=_formats[t.dim()]):
        form = _formats[t.dim()]
    return TensorMetadata(t.shape, t.dtype, t.requires_grad, t.stride(), form, False, {})
