"""Operators that programs define: one overload with the functions that compute it, and all overloads of a name.

A call goes through layers, of which each may take it: autocast, vmap, functionalize, gradients, the modes and classes of programs, and the function for the
kind of device.
"""

import functools
import sys

import _cresset

import cresset as torch

from .. import ops
from .._core import dispatch_keys as _keys, modes as _modes, schema as _schema
from .._core.operator_schema import FunctionSchema as _FunctionSchema
from .._core.operators import OpOverload as _OpOverload, no_overload as _no_overload
from ..autograd import _function_vmap
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten

_LAYOUTS = {
    torch.sparse_coo: "Sparse",
    torch.sparse_csr: "SparseCsr",
    torch.sparse_csc: "SparseCsr",
    torch.sparse_bsr: "SparseCsr",
    torch.sparse_bsc: "SparseCsr",
}
_NO_CONTAINERS = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})


def _has_memory(tensor):
    return not tensor._is_batched and tensor.layout is torch.strided and tensor.device.type == "cpu"


def tensors_of(values):
    """The tensors among values, and within their containers."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_of(value)
        elif type(value) not in _NO_CONTAINERS:
            found += [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]
    return found


def key_of_device(kind):
    """The name of the dispatch key of a kind of device. RuntimeError for a kind that there is not."""
    return _keys.key_of_device(torch.device(kind).type)


def _key_of(tensor):
    key = _keys.key_of_device(tensor.device.type)
    return key if tensor.layout is torch.strided or tensor.layout not in _LAYOUTS else _LAYOUTS[tensor.layout] + key


# ---- gradients ------------------------------------------------------------------------------------------------------------


FALLBACKS = {}  # name of a key -> function of (operator, arguments)


class _Context:
    """Context of a formula: places to keep things, and which arguments want gradients."""

    def __init__(self, ctx, needs):
        self.__dict__.update(_ctx=ctx, needs_input_grad=needs)

    def __getattr__(self, name):
        return getattr(self.__dict__["_ctx"], name)


class _Call:
    """One call that is recorded: which arguments are tensors and want gradients, and the structure of its results."""

    spec = None  # of the results, where they are not one tensor
    seen = {}  # what the function for the context has left there

    def __init__(self, op, values):
        self.op, self.values = op, values

    def describe(self):
        """Notes which arguments are tensors, and lets go of them: True for a tensor, which items are tensors for a list, how many are in other containers."""
        parts, needs = [], []
        for value in self.values:
            if isinstance(value, torch.Tensor):
                parts.append(True)
                needs.append(value.requires_grad)
                continue
            tensors = () if type(value) in _NO_CONTAINERS else tensors_of((value,))
            listed = tensors and isinstance(value, list)
            parts.append([isinstance(v, torch.Tensor) for v in value] if listed else len(tensors))
            needs.append([isinstance(v, torch.Tensor) and v.requires_grad for v in value] if listed else any([t.requires_grad for t in tensors]))
        self.parts, self.needs, self.values = parts, tuple(needs), None

    def setup(self, ctx, values, output):
        """Runs the operator's function that keeps what the formula needs."""
        flat = tuple(n for need in self.needs for n in (need if isinstance(need, list) else (need,)))
        seen, pairs = _Context(ctx, flat), list(zip(values, self.op._form.arguments, strict=True))
        named = {a.name: v for v, a in pairs if a.keyword}
        more = {"keyword_only_inputs": named} if named else {}
        self.op._setup(ctx=seen, inputs=tuple(v for v, a in pairs if not a.keyword), **more, output=output)
        self.seen = {k: v for k, v in seen.__dict__.items() if k not in ("_ctx", "needs_input_grad")}

    def results(self, tensors):
        """The results in their structure, of those of the recorded function."""
        if self.spec is None:
            return tensors
        tensors = iter(tensors)
        return tree_unflatten([next(tensors) if leaf is _PLACE else leaf for leaf in self.leaves], self.spec)

    def gradients(self, ctx, grads):
        """The gradients of the tensors among the arguments, by the operator's formula."""
        op = self.op
        if self.spec is not None:
            given = iter(grads)
            grads = tree_unflatten([next(given) if leaf is _PLACE else None for leaf in self.leaves], self.spec)
        seen = _Context(ctx, self.needs)
        seen.__dict__.update(self.seen)
        found = op._backward(seen, *(grads if isinstance(grads, tuple) else (grads,)))
        found = found if isinstance(found, tuple) else (found,)
        parts = [part for part, a in zip(self.parts, op._form.arguments, strict=True) if not a.keyword]
        if len(found) < len(parts) or any(grad is not None for grad in found[len(parts) :]):
            raise RuntimeError(f"{op}: the formula returned {len(found)} gradients for {len(parts)} arguments")
        flat = []
        for place, (grad, part) in enumerate(zip(found, parts, strict=False)):
            flat += [grad] if part is True else self._of_list(place, grad, part) if isinstance(part, list) else self._of_other(place, grad, part)
        return flat + [None] * sum(part if isinstance(part, int) else sum(part) for part, a in zip(self.parts, op._form.arguments, strict=True) if a.keyword)

    def _of_other(self, place, grad, count):
        if grad is not None and not (isinstance(grad, (list, tuple)) and not tensors_of(grad)):
            raise RuntimeError(f"{self.op}: the formula returned a gradient for argument {place}, which is no tensor; return None there")
        return [None] * count

    def _of_list(self, place, grad, part):
        if grad is None:
            return [None] * sum(part)
        if not isinstance(grad, (list, tuple)) or len(grad) != len(part):
            got = f"a list of {len(grad)}" if isinstance(grad, (list, tuple)) else type(grad).__name__
            raise RuntimeError(f"{self.op}: the formula has to return a list of {len(part)} gradients for argument {place}, a list, got {got}")
        return [g for g, is_tensor in zip(grad, part, strict=True) if is_tensor]


_PLACE = object()  # stands for a tensor among results


class _Recorded(torch.autograd.Function):
    """A call whose gradient is the operator's formula. Tensors come one by one, so that the graph knows each."""

    @staticmethod
    def forward(ctx, call, *tensors):
        values, ctx.call = call.values, call
        out = call.op._computed(values)
        call.describe()
        if call.op._setup is not None:
            call.setup(ctx, values, out)
        if isinstance(out, torch.Tensor):
            return out
        leaves, call.spec = tree_flatten(out)
        call.leaves = [_PLACE if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    @staticmethod
    def backward(ctx, *grads):
        if ctx.call.op._backward is None:
            raise RuntimeError(f"{ctx.call.op}: there is no formula for its gradients; give it one by register_autograd")
        return (None, *ctx.call.gradients(ctx, grads))


# ---- an overload ----------------------------------------------------------------------------------------------------------


class FakeContext:
    """Context of a rule for fake tensors: makes sizes that depend on data."""

    def __init__(self, tensors, op=None):
        mode = next((t.fake_mode for t in tensors if getattr(t, "fake_mode", None) is not None), None)
        self._shape_env, self._op = getattr(mode, "shape_env", None), op

    def new_dynamic_size(self, *, min=0, max=None):
        """A size between two numbers that only the data tells. DynamicOutputShapeException where shapes are numbers alone; ValueError for bounds that are
        symbols, below zero, or in the wrong order."""
        from .._subclasses.fake_tensor import DynamicOutputShapeException

        if self._shape_env is None or not getattr(self._shape_env, "allow_dynamic_output_shape_ops", True):
            raise DynamicOutputShapeException(self._op)
        if isinstance(min, torch.SymInt) or isinstance(max, torch.SymInt):
            raise ValueError(f"new_dynamic_size: expected numbers as bounds, got min={min} and max={max}")
        if min < 0 or (max is not None and max < min):
            raise ValueError(f"new_dynamic_size: expected 0 <= min <= max, got min={min} and max={max}")
        from ..fx.experimental import symbolic_shapes

        size = self._shape_env.create_unbacked_symint()
        symbolic_shapes._constrain_range_for_size(size, min=min, max=max)
        return size

    create_unbacked_symint = new_dynamic_size


fakes = []  # contexts of the rules that run


def _nothing(*args, **kwargs):
    """The results of an operator that has none, without data."""


_LAYERS = frozenset({"AutocastCPU", "AutocastCUDA", "FuncTorchBatched", "ADInplaceOrView", "CompositeImplicitAutograd"})


class Defined(_OpOverload):
    """One overload of an operator that a program defined: the functions that compute it, by kind of device, and its formula."""

    def __init__(self, namespace, schema, tags=(), packet=None):
        self._namespace, self._form, self._overloadpacket, self._entry = namespace, schema, packet, None
        self._opname, self._overloadname, self._kernels, self._given_tags = schema.name, schema.overload, {}, tags
        self.__module__, self.__qualname__ = f"torch._ops.{namespace}", self.name()

    # Made when they are asked for: programs define operators by the thousand, and most have none of these.
    _fake = _backward = _setup = _vmap = _initial = None
    _checks_aliases = False
    _layers = frozenset()  # keys of functions that are of no device
    _has_formula = property(lambda self: self._backward is not None)
    _autocast, _torch_dispatch, py_kernels = (functools.cached_property(lambda self: {}) for _ in range(3))
    _disabled = functools.cached_property(lambda self: set())
    _call = _op = property(lambda self: self.__call__)
    __name__ = property(lambda self: f"{self._opname}.{self._overloadname}")
    _name = property(lambda self: self.name())

    def put(self, key, function):
        """Registers the function for a key, or for None that there is none."""
        if function is None:
            self._kernels.pop(key, None)
        else:
            self._kernels[key] = function
        self._layers = frozenset(k for k in self._kernels if k in _LAYERS or k.startswith("Autograd"))

    @functools.cached_property
    def tags(self):
        """Its members of `torch.Tag`."""
        return list(self._given_tags)

    def has_kernel_for_dispatch_key(self, key):
        """Whether there is a function for a key of `torch._C.DispatchKey`, or its name."""
        name = str(key).rpartition(".")[2]
        if self._checks_aliases:
            opaque = {"Meta", "Autograd"} | ({"ADInplaceOrView"} if self._is_mutable else set())
            return name in self._kernels or name in opaque or (name == "FuncTorchBatched" and self._vmap is not None)
        found = {"Meta": self._fake, "Autograd": self._has_formula or None, "FuncTorchBatched": self._vmap}
        return name in self._kernels or found.get(name) is not None

    def _can_decompose(self):
        return "CompositeImplicitAutograd" in self._kernels

    def decompose(self, /, *args, **kwargs):
        """The result of its composite function; NotImplemented for one that has none."""
        return self._kernels["CompositeImplicitAutograd"](*args, **kwargs) if self._can_decompose() else NotImplemented

    def redispatch(self, keyset, /, *args, **kwargs):
        """The call with these keys alone."""
        skipped = {name for name in _keys.LAYERS if not keyset.has(_keys.DispatchKey[name])}
        if skipped >= _keys.OF_GRADIENTS - {"Autograd"}:
            skipped.add("Autograd")
        else:
            skipped.discard("Autograd")
        values = self._form.bind(args, kwargs, self.__qualname__)
        return self._through(values, tensors_of(values), skipped)

    @functools.cached_property
    def _schema(self):
        return _FunctionSchema(self._form.text, self._namespace)

    @functools.cached_property
    def _is_mutable(self):
        return any(a.mutated for a in self._form.arguments)

    @functools.cached_property
    def _shares(self):
        """Whether a result shares memory, as the schema says."""
        return any("(" in kind for kind in self._form.returns)

    def name(self):
        """namespace::name, with the overload where it has one."""
        overload = "" if self._form.overload == "default" else f".{self._form.overload}"
        return f"{self._namespace}::{self._form.name}{overload}"

    # ---- the layers, from the top -------------------------------------------------------------------------------------

    def __call__(self, /, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        values = self._form.bind(args, kwargs, self.__qualname__)
        profile = sys.modules.get("_cresset_profile")
        if profile is not None or _modes._devices:
            return self._watched(values, profile)
        return self._through(values, tensors_of(values))

    def _watched(self, values, profile):
        """The call as a profiler sees it, and without the default device, which is one of the caller's functions alone."""
        opened = None if profile is None else profile.enter(self.__qualname__)
        if _modes._devices:
            _cresset._set_default_device(None)
        try:
            return self._through(values, tensors_of(values))
        finally:
            if _modes._devices:
                _cresset._set_default_device(_modes._devices[-1])
            if opened is not None:
                profile.leave(opened)

    def _through(self, values, tensors, skipped=frozenset()):
        """The call, past the layers of these keys."""
        if self._autocast and tensors and (dtype := self._autocast_dtype(tensors)) is not None:
            with torch.autocast(tensors[0].device.type, enabled=False):
                return self._spread(self, tree_map(lambda v: cast(v, dtype), values))
        layers = self._layers
        if layers and (taken := self._layer_of_casts(tensors, skipped)) is not None:
            return self._spread(taken, values)
        is_composite = "CompositeImplicitAutograd" in layers and self._kernel(tensors, values) is None
        if not is_composite:
            for t in tensors:
                if t._is_batched and _cresset.batched_parts(t):
                    return self._batched(values, skipped)
                if _cresset.is_functional(t):
                    from .functional import called

                    return called(self, values, tensors)
        if layers and (formula := self._layer_of_gradients(tensors, skipped)) is not None:
            return self._spread(formula, values)
        if is_composite:
            return self._spread(self._kernels["CompositeImplicitAutograd"], values)
        if "ADInplaceOrView" in layers and not self._skips("ADInplaceOrView", skipped):
            return self._spread(self._kernels["ADInplaceOrView"], values)
        if torch.is_grad_enabled() and any([t.requires_grad for t in tensors]) and self._records(skipped):
            if not self._form.returns:
                with torch.no_grad():
                    return self._computed(values, tensors)
            call = _Call(self, values)
            return call.results(_Recorded.apply(call, *tensors))
        return self._computed(values, tensors)

    @staticmethod
    def _skips(name, skipped):
        return name in skipped or _keys.is_excluded(name)

    def _records(self, skipped):
        """Whether gradients are those of a formula; what functions of a library compute is recorded as it comes."""
        return (self._checks_aliases or self._has_formula) and not self._skips("Autograd", skipped)

    def _autocast_dtype(self, tensors):
        """The dtype that inputs are cast to now; None where they stay."""
        kind = tensors[0].device.type
        return self._autocast.get(kind) if kind in self._autocast and torch.is_autocast_enabled(kind) else None

    def _layer_of_casts(self, tensors, skipped):
        """The function of a library for autocast, where that is on."""
        for kind in ("cpu", "cuda"):
            function = self._kernels.get(f"Autocast{kind.upper()}")
            if function is not None and torch.is_autocast_enabled(kind) and not self._skips(f"Autocast{kind.upper()}", skipped):
                return function if any(t.device.type == kind for t in tensors) else None
        return None

    def _layer_of_gradients(self, tensors, skipped):
        """The function of a library for gradients, for these tensors."""
        if not tensors or self._has_formula or self._skips("Autograd", skipped):
            return None
        name = f"Autograd{_key_of(tensors[0])}"
        return self._kernels.get("Autograd") or (None if self._skips(name, skipped) else self._kernels.get(name))

    def _batched(self, values, skipped):
        """The call under vmap: by the operator's rule, or for each element."""
        if "FuncTorchBatched" in self._kernels and not self._skips("FuncTorchBatched", skipped):
            return self._spread(self._kernels["FuncTorchBatched"], values)
        if self._vmap is not None:
            return _function_vmap.by_rule(self._vmap, self.name(), values, self._form.arguments)
        if self._is_mutable:
            raise RuntimeError(f"vmap: {self.name()} writes to its arguments and has no rule; give it one by register_vmap")
        return _function_vmap.by_rule(functools.partial(_function_vmap.each_element, self), self.name(), values, self._form.arguments)

    def _spread(self, function, values):
        plain = [v for v, a in zip(values, self._form.arguments) if not a.keyword]
        return function(*plain, **{a.name: v for v, a in zip(values, self._form.arguments) if a.keyword})

    # ---- the functions ------------------------------------------------------------------------------------------------

    def _run(self, kernel, tensors, plain, named):
        if kernel is not self._fake:
            return kernel(*plain, **named)
        fakes.append(FakeContext(tensors, self))
        try:
            return kernel(*plain, **named)
        finally:
            fakes.pop()

    @functools.cached_property
    def _all_given(self):
        return all(not a.keyword and not a.is_optional_to_give for a in self._form.arguments)

    def _given(self, values):
        """The arguments of a call by place and by name, without those at the end that have their defaults."""
        if self._all_given:
            return values, {}
        pairs = list(zip(values, self._form.arguments))
        plain = [(v, a) for v, a in pairs if not a.keyword]
        while plain and plain[-1][1].has_default(plain[-1][0]):
            plain.pop()
        return [v for v, _ in plain], {a.name: v for v, a in pairs if a.keyword and not a.has_default(v)}

    def _key(self, tensors, values):
        """The name of the key of the device that computes: that of the tensors, of which others go before the CPU."""
        if tensors:
            return _key_of(tensors[0] if len(tensors) == 1 else next((t for t in tensors if t.device.type != "cpu"), tensors[0]))
        device = next((v for v, a in zip(values, self._form.arguments) if a.base == "Device" and a.name == "device"), None)
        return "Undefined" if device is None or not self._checks_aliases else key_of_device(device)

    def _kernel(self, tensors, values):
        key = self._key(tensors, values)
        if key in self._disabled:
            return self._initial
        is_fake = any([_cresset._faking(t) for t in tensors])
        if is_fake or (key == "Meta" and tensors):
            without = self._without_data(is_fake)
            if without is not None or self._checks_aliases:
                return without
        by_device = self._kernels.get("BackendSelect") or self._kernels.get(key) or self._kernels.get("CompositeExplicitAutograd")
        return by_device or (self._fake if key == "Meta" else None)

    def _without_data(self, is_fake):
        """The function for tensors without data, that of a program's rule or of the device "meta"."""
        if self._fake is not None:
            return self._fake
        if "Meta" in self._kernels:
            return self._kernels["Meta"]
        if self._checks_aliases and not self._form.returns:
            return _nothing
        if self._checks_aliases and is_fake:
            raise RuntimeError(f"{self.name()}: tensors without data need a function that gives the shapes of results; register one by register_fake")
        if is_fake and not self._kernels.keys() & {"CompositeExplicitAutograd", "CompositeImplicitAutograd", "BackendSelect"}:
            from .._subclasses.fake_tensor import UnsupportedOperatorException

            raise UnsupportedOperatorException(self)
        return None

    def _computed(self, values, tensors=None):
        tensors = tensors_of(values) if tensors is None else tensors
        if _cresset._is_heard():
            from .._modes.stack import present

            plain, named = self._given(values)
            with torch.no_grad():
                return present(self, *plain, **named)
        if _cresset._hears_subclasses() and any(type(t) is not torch.Tensor for t in tensors):
            from .._modes.stack import _types_of
            from .._modes.subclasses import hear

            plain, named = self._given(values)
            if _types_of(plain, named):
                return hear(self, tuple(plain), named)
        if not self._is_mutable and any([t.is_neg() or (t.is_complex() and t.is_conj()) for t in tensors]):
            values = tree_map(lambda v: v.resolve_conj().resolve_neg() if isinstance(v, torch.Tensor) else v, values)
        kernel = self._kernel(tensors, values) or self._kernels.get("CompositeImplicitAutograd")
        if kernel is None and (fallback := FALLBACKS.get(self._key(tensors, values))) is not None:
            kernel = functools.partial(fallback, self)
        if kernel is None:
            raise self._unsupported(tensors, values)
        plain, named = self._given(values)
        out = self._form.results_of(self._run(kernel, tensors, plain, named), self.__qualname__)
        if self._checks_aliases:
            self._check(out, values, tensors, kernel)
        return out

    def _unsupported(self, tensors, values):
        """The error of a call that no function is for."""
        there = ", ".join(self._kernels) or "none"
        if not tensors and self._key(tensors, values) == "Undefined":
            return NotImplementedError(f"Could not run '{self.name()}' without tensors: it has functions for {there}, and needs a composite one, or a device")
        kind = RuntimeError if self._checks_aliases and tensors and tensors[0].is_meta else NotImplementedError
        return kind(f"Could not run '{self.name()}' with arguments from the '{self._key(tensors, values)}' backend: it has functions for {there}")

    def _check(self, out, values, tensors, kernel):
        """Counts changes of arguments, and refuses results that share memory with an argument or with one another."""
        if self._is_mutable:
            for value, argument in zip(values, self._form.arguments):
                if argument.mutated:
                    torch.autograd.graph.increment_version([t for t in tensors_of([value]) if not t.is_inference() and not t._is_batched])
        if kernel is self._fake or kernel is _nothing or self._shares:
            return
        # By the storage itself, as fake tensors have no memory to tell apart.
        seen = {t.untyped_storage()._cdata for t in tensors if _has_memory(t)}
        for t in (out,) if isinstance(out, torch.Tensor) else tensors_of([out]):
            address = t.untyped_storage()._cdata if _has_memory(t) else None
            if address in seen or any(t is other for other in tensors):
                raise RuntimeError(
                    f"{self.name()}: expected outputs that alias no input and share no memory with one another, got one that does; return a clone"
                )
            if address is not None:
                seen.add(address)


def cast(value, dtype):
    """A tensor of floating point numbers in another dtype; anything else as it is."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype is not torch.float64
    return value.to(dtype) if is_float else value


Defined.__name__ = Defined.__qualname__ = "OpOverload"


class Packet(ops._Packet):
    """All overloads of an operator that a program defined."""

    def __init__(self, namespace, name):
        self.__name__ = self.__qualname__ = name
        self._namespace, self._overloads, self.__module__ = namespace, {}, f"torch._ops.{namespace}"

    def __call__(self, /, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        if len(self._overloads) == 1:
            return next(iter(self._overloads.values()))(*args, **kwargs)
        said = []
        for overload in self._overloads.values():
            try:
                overload._form.bind(args, kwargs, overload.name())
            except RuntimeError as error:
                said.append(str(error))
                continue
            return overload(*args, **kwargs)
        raise RuntimeError("\n".join(said))

    op = _op = property(lambda self: self.__call__)

    def __getattr__(self, overload):
        found = None if overload.startswith("__") else self.__dict__["_overloads"].get(overload)
        if found is None:
            raise AttributeError(_no_overload(self, overload), name=overload, obj=self)
        return found


Packet.__name__ = Packet.__qualname__ = "OpOverloadPacket"


# ---- operators of C++ -----------------------------------------------------------------------------------------------------


class OfLibrary:
    """An operator of C++, built in or of a shared library, that gets functions of Python. `put(self, key, function, undone)` registers one."""

    def __init__(self, overload, put):
        self.overload, self.entry, self._put = overload, overload._entry, put
        self._form = _schema.parse(str(overload._schema), overload._namespace)

    def name(self):
        return self.overload.name()

    def __call__(self, /, *args, **kwargs):
        return self.overload(*args, **kwargs)

    _kernels, _backward, _undone, _has_formula = {}, None, None, True

    @property
    def _torch_dispatch(self):
        return self.overload.__dict__.setdefault("_torch_dispatch", {})

    @property
    def _fake(self):
        return None

    @_fake.setter
    def _fake(self, function):
        self._put(self, "Meta", function, self._undone)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_setup":  # after _backward
            self._put(self, "Autograd", self._formula(), self._undone)

    def _formula(self):
        """The function for the layer of gradients: the operator below it, with the formula recorded."""
        op = Defined(self.overload._namespace, self._form)
        op._backward, op._setup = self._backward, self._setup

        def below(*args, **kwargs):
            with _keys.below_autograd():
                return _cresset._call_below_autograd(self.overload, args, kwargs)

        op._kernels["CompositeExplicitAutograd"] = below
        return op
