"""Tracing with tensors that have shapes and no values, so that programs may ask for shapes, dtypes and devices."""

import cresset as torch

from .._symbolic_trace import Tracer, _traced_by
from ..node import map_aggregate
from ..proxy import Attribute, Proxy

__all__ = ["MetaProxy", "MetaTracer", "symbolic_trace"]


_FACTS = frozenset(("shape", "ndim", "dtype", "layout", "requires_grad", "is_sparse"))


class MetaProxy(Proxy):
    """A proxy that may know a tensor on the device meta: it answers questions about shape, dtype and device.

    >>> MetaTracer = torch.fx.experimental.meta_tracer.MetaTracer
    >>> graph = MetaTracer().trace(lambda x: x * x.shape[0], {"x": torch.empty(2, device="meta")})
    >>> list(graph.nodes)[1].args
    (x, 2)
    """

    def install_tensor_meta(self, tensor_meta):
        """Let the proxy know its tensor."""
        vars(self)["_tensor_meta"] = tensor_meta

    def _asked(self, method, *args):
        """The answer of a method of the tensor, or a node where the tensor is not known."""
        known = vars(self).get("_tensor_meta")
        return self.tracer.create_proxy("call_method", method, (self, *args), {}) if known is None else getattr(known, method)(*args)

    def size(self, dim=None):
        """The size, in numbers where the tensor is known."""
        return self._asked("size", *(() if dim is None else (dim,)))

    def dim(self):
        """The number of dimensions, where the tensor is known."""
        return self._asked("dim")

    def __getattr__(self, k):
        if k == "_tensor_meta":
            raise AttributeError(k)
        known = vars(self).get("_tensor_meta")
        return getattr(known, k) if known is not None and k in _FACTS else MetaAttribute(self, k)

    def __len__(self):
        known = vars(self).get("_tensor_meta")
        return super().__len__() if known is None else len(known)


class MetaAttribute(Attribute, MetaProxy):
    """An attribute of a MetaProxy."""

    __getattr__ = MetaProxy.__getattr__


def _metas(tree):
    """Arguments with tensors in the place of proxies; None where one of them is not known."""
    known = True

    def value(a):
        nonlocal known
        if isinstance(a, MetaProxy):
            found = a.__dict__.get("_tensor_meta")
            if found is None and isinstance(a, Attribute):
                found = getattr(a.root.__dict__.get("_tensor_meta"), a.attr, None)
            known = known and found is not None
            return found
        return a.to("meta") if isinstance(a, torch.Tensor) else a

    found = map_aggregate(tree, value)
    return found if known else None


class MetaTracer(Tracer):
    """A tracer that runs every step on the device meta too.

    >>> def f(x):
    ...     return x + 1 if x.shape[0] == 2 else x
    >>> len(torch.fx.experimental.meta_tracer.MetaTracer().trace(f, {"x": torch.empty(2, device="meta")}).nodes)
    3
    """

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Add a node, and find the tensor that stands for its value."""
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        match kind:
            case "placeholder":
                value = self.meta_args.get(target)
            case "output":
                value = None
            case _:
                value = self._result(kind, target, args, kwargs)
        if isinstance(value, torch.Tensor) and isinstance(made, MetaProxy):
            made.install_tensor_meta(value)
        return made

    def _result(self, kind, target, args, kwargs):
        args, kwargs = _metas(args), _metas(kwargs)
        if args is None or kwargs is None:
            return None
        kwargs = {key: torch.device("meta") if key == "device" else value for key, value in kwargs.items()}
        if kind == "call_function":
            return target(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "get_attr":
            value = self._attribute(target)
            return value.to("meta") if isinstance(value, torch.Tensor) else None
        return self._called(self.root.get_submodule(target), args, kwargs)

    def _attribute(self, path):
        """An attribute of the root itself, rather than its proxy."""
        self._outside = True
        try:
            value = self.root
            for part in path.split("."):
                value = getattr(value, part)
            return value
        finally:
            self._outside = False

    def _called(self, module, args, kwargs):
        """The result of a leaf module on the device meta, outside of the trace."""
        held = {name: tensor.to("meta") for name, tensor in (*module.named_parameters(), *module.named_buffers())}
        self._outside = True
        try:
            return torch.func.functional_call(module, held, args, kwargs)
        finally:
            self._outside = False

    def call_module(self, m, forward, args, kwargs):
        """A node for a leaf, else the result of its `forward`."""
        return forward(*args, **kwargs) if self._outside else super().call_module(m, forward, args, kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The value of an attribute of a module, a proxy for a parameter."""
        return attr_val if self._outside else super().getattr(attr, attr_val, parameter_proxy_cache)

    def proxy(self, node):
        """The MetaProxy of a node."""
        return MetaProxy(node, self)

    def trace(self, root, meta_args=None, concrete_args=None):
        """The graph of a function or module; `meta_args` are {name: tensor} on any device, of which shape and dtype are taken.

        Errors: TraceError for control flow that depends on a value.
        """
        self.meta_args = {name: tensor.to("meta") if isinstance(tensor, torch.Tensor) else tensor for name, tensor in (meta_args or {}).items()}
        self._outside = False
        return super().trace(root, concrete_args)


def symbolic_trace(root, meta_args=None, concrete_args=None):
    """`torch.fx.symbolic_trace` by a MetaTracer.

    >>> def f(x):
    ...     return x.reshape(x.shape[0] * x.shape[1])
    >>> traced = torch.fx.experimental.meta_tracer.symbolic_trace(f, meta_args={"x": torch.empty(2, 3)})
    >>> traced(torch.ones(2, 3)).shape
    torch.Size([6])
    """
    return _traced_by(MetaTracer(), root, meta_args, concrete_args)
