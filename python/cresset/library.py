"""torch.library: operators that programs define in Python, called as torch.ops.namespace.name.

>>> @torch.library.custom_op("example::scaled", mutates_args=())
... def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
...     return x * by
>>> torch.ops.example.scaled(torch.ones(2), 3.0)
tensor([3., 3.])
"""

import contextlib
import functools
import re
import sys
import warnings
import weakref

import _cresset

import cresset as torch

from . import ops
from ._core import dispatch_keys as _keys, schema as _schema
from ._core.operator_schema import FunctionSchema as _FunctionSchema
from ._core.operators import OpOverload as _OpOverload
from ._core.tag import Tag as _Tag
from ._library.infer_schema import infer_schema
from .autograd import _function_vmap
from .utils._pytree import tree_flatten

__all__ = ["Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract", "infer_schema",
           "register_autocast", "register_fake", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"]  # fmt: skip

_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS"}
_ALL = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


def fallthrough_kernel():
    """Stands for "nothing to do here" where a function is expected by `Library.impl`. Raises when it is called.

    >>> torch.library.fallthrough_kernel.__name__
    'fallthrough_kernel'
    """
    raise NotImplementedError("fallthrough_kernel is a mark for impl, not to be called.")


# ---- the operator ---------------------------------------------------------------------------------------------------------


def _has_memory(tensor):
    return not tensor._is_batched and tensor.layout is torch.strided and tensor.device.type == "cpu" and tensor.numel() > 0


_NO_CONTAINERS = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})


def _tensors(values):
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif type(value) not in _NO_CONTAINERS:
            found += [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]
    return found


class _Context:
    """Context of a formula: places to keep things, and which arguments want gradients."""

    def __init__(self, ctx, needs):
        self.__dict__.update(_ctx=ctx, needs_input_grad=needs)

    def __getattr__(self, name):
        return getattr(self.__dict__["_ctx"], name)


def _nothing(*args, **kwargs):
    """What an operator that returns nothing does to tensors without data."""


class _Recorded(torch.autograd.Function):
    """A call whose gradient is the operator's formula. Tensors come one by one, so that the graph knows each."""

    @staticmethod
    def forward(ctx, op, values, *tensors):
        out = op._computed(values)
        needs = tuple(any(t.requires_grad for t in _tensors([v])) for v in values)
        ctx.op, ctx.kinds = op, [(len(_tensors([v])), isinstance(v, (list, tuple)) and not isinstance(v, torch.Tensor)) for v in values]
        ctx.seen = _Context(ctx, needs)
        if op._setup is not None:
            plain = [v for v, a in zip(values, op._form.arguments) if not a.keyword]
            named = {a.name: v for v, a in zip(values, op._form.arguments) if a.keyword}
            if named:
                op._setup(ctx=ctx.seen, inputs=tuple(plain), keyword_only_inputs=named, output=out)
            else:
                op._setup(ctx=ctx.seen, inputs=tuple(plain), output=out)
        changed = [v for v, a in zip(values, op._form.arguments) if a.mutated and isinstance(v, torch.Tensor)]
        if changed:
            ctx.mark_dirty(*changed)
        ctx.listed = isinstance(out, list)
        return tuple(out) if ctx.listed else out

    @staticmethod
    def backward(ctx, *grads):
        op = ctx.op
        if op._backward is None:
            raise RuntimeError(f"Trying to backward through {op} but register_autograd gave it no formula.")
        found = op._backward(ctx.seen, list(grads)) if ctx.listed else op._backward(ctx.seen, *grads)
        found = found if isinstance(found, tuple) else (found,)
        kinds = [kind for kind, a in zip(ctx.kinds, op._form.arguments) if not a.keyword]
        if len(found) != len(kinds):
            raise RuntimeError(f"{op}: the formula returned {len(found)} gradients for {len(kinds)} arguments")
        flat = []
        for grad, (count, listed) in zip(found, kinds):
            if listed:
                flat += list(grad) if grad is not None else [None] * count
            elif count:
                flat.append(grad)
        rest = sum(count for (count, _), a in zip(ctx.kinds, op._form.arguments) if a.keyword)
        return (None, None, *flat, *[None] * rest)


class _Defined(_OpOverload):
    """One overload of an operator that a program defined: the functions that compute it, by kind of device, and its formula."""

    is_view = False

    def __init__(self, namespace, schema, tags=(), packet=None):
        self._namespace, self._form, self._overloadpacket, self._entry = namespace, schema, packet, None
        self._opname, self._overloadname, self._kernels, self._given_tags = schema.name, schema.overload, {}, tags

    # Made when they are asked for: programs define operators by the thousand, and most have none of these.
    _fake = _backward = _setup = _autograd = _vmap = _initial = None
    _checks_aliases = False
    _autocast, _torch_dispatch, py_kernels = (functools.cached_property(lambda self: {}) for _ in range(3))
    _disabled = functools.cached_property(lambda self: set())
    _call = _op = property(lambda self: self.__call__)
    __name__ = property(lambda self: f"{self._opname}.{self._overloadname}")

    @functools.cached_property
    def tags(self):
        """Its members of `torch.Tag`."""
        return list(self._given_tags)

    def has_kernel_for_dispatch_key(self, key):
        """Whether there is a function for a key of `torch._C.DispatchKey`, or its name."""
        name = str(key).rpartition(".")[2]
        return name in self._kernels or (name == "Meta" and self._fake is not None) or (name.startswith("Autograd") and self._autograd is not None)

    @functools.cached_property
    def _schema(self):
        return _FunctionSchema(self._form.text, self._namespace)

    def name(self):
        """namespace::name, with the overload where it has one."""
        overload = "" if self._form.overload == "default" else f".{self._form.overload}"
        return f"{self._namespace}::{self._form.name}{overload}"

    @property
    def default(self):
        """This overload, where it is the operator's only one."""
        if self._form.overload != "default":
            raise AttributeError(f"{self} has no overload 'default'", name="default", obj=self)
        return self

    def __call__(self, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        values = self._form.bind(args, kwargs, self.name())
        tensors = _tensors(values)
        if self._autocast and (dtype := self._autocast_dtype(tensors)) is not None:
            with torch.autocast(tensors[0].device.type, enabled=False):
                return self._spread(self, torch.utils._pytree.tree_map(lambda v: _cast(v, dtype), values))
        if self._vmap is not None and any(_cresset.batched_parts(t) for t in tensors):
            return _function_vmap.by_rule(self._vmap, self.name(), values, self._form.arguments)
        if "CompositeImplicitAutograd" in self._kernels and self._kernel(tensors) is None:
            return self._spread(self._kernels["CompositeImplicitAutograd"], values)
        if any(map(_cresset.is_functional, tensors)):
            from ._higher_order_ops.auto_functionalize import functionalized

            return functionalized(self, self._form.arguments, values)
        if (
            self._autograd is not None
            and not _keys.is_below_autograd()
            and (self._sees_all or (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)))
        ):
            return self._spread(self._autograd, values)
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            out = _Recorded.apply(self, values, *tensors)
            return list(out) if self._form.returns == ["Tensor[]"] else out
        return self._computed(values, tensors)

    _sees_all = False

    def _autocast_dtype(self, tensors):
        """The dtype that inputs are cast to now; None where they stay."""
        kind = tensors[0].device.type if tensors else "cpu"
        return self._autocast.get(kind) if kind in self._autocast and torch.is_autocast_enabled(kind) else None

    def _spread(self, function, values):
        plain = [v for v, a in zip(values, self._form.arguments) if not a.keyword]
        return function(*plain, **{a.name: v for v, a in zip(values, self._form.arguments) if a.keyword})

    def _run(self, kernel, tensors, plain, named):
        if kernel is not self._fake:
            return kernel(*plain, **named)
        _fakes.append(_FakeContext(tensors))
        try:
            return kernel(*plain, **named)
        finally:
            _fakes.pop()

    @functools.cached_property
    def _all_given(self):
        return all(not a.keyword and a.default is _schema._NOTHING for a in self._form.arguments)

    def _given(self, values):
        """The arguments of a call by place and by name, without those at the end that have their defaults."""
        if self._all_given:
            return values, {}
        pairs = list(zip(values, self._form.arguments))
        plain = [(v, a) for v, a in pairs if not a.keyword]
        while plain and plain[-1][1].has_default(plain[-1][0]):
            plain.pop()
        return [v for v, _ in plain], {a.name: v for v, a in pairs if a.keyword and not a.has_default(v)}

    def _kernel(self, tensors):
        key = _KEYS.get(tensors[0].device.type, "CPU") if tensors else "CPU"
        if key in self._disabled:
            return self._initial
        if self._checks_aliases and any(map(_cresset._faking, tensors)):
            if self._fake is None and not self._form.returns:
                return _nothing
            if self._fake is None:
                raise RuntimeError(f"{self.name()}: tensors without data need a function that gives the shapes of results; register one by register_fake")
            return self._fake
        if key == "Meta" and self._fake is not None:
            return self._fake
        if any(map(_cresset._faking, tensors)) and (self._fake or "Meta" in self._kernels):
            return self._fake or self._kernels["Meta"]
        return self._kernels.get(key) or (None if key == "Meta" and self._checks_aliases else self._kernels.get("CompositeExplicitAutograd"))

    def _computed(self, values, tensors=None):
        tensors = _tensors(values) if tensors is None else tensors
        if _cresset._is_heard():
            from ._modes.stack import present

            plain, named = self._given(values)
            with torch.no_grad():
                return present(self, *plain, **named)
        if _cresset._hears_subclasses() and any(type(t) is not torch.Tensor for t in tensors):
            from ._modes.stack import _types_of
            from ._modes.subclasses import hear

            plain, named = self._given(values)
            if _types_of(plain, named):
                return hear(self, tuple(plain), named)
        kernel = self._kernel(tensors) or self._kernels.get("CompositeImplicitAutograd")
        if kernel is None:
            kind = tensors[0].device.type.upper() if tensors else "CPU"
            there = [*self._kernels, *(["Meta"] if self._fake else [])]
            kind_of_error = RuntimeError if self._checks_aliases and tensors and tensors[0].is_meta else NotImplementedError
            raise kind_of_error(f"Could not run '{self.name()}' with arguments from the '{kind}' backend: it has functions for {there or 'none'}")
        plain, named = self._given(values)
        before = _cresset._set_grad_enabled(False)
        try:
            out = self._form.results_of(self._run(kernel, tensors, plain, named), self.name())
        finally:
            _cresset._set_grad_enabled(before)
        if self._checks_aliases and not self._form.returns:
            for value, argument in zip(values, self._form.arguments):
                if argument.mutated:
                    for tensor in _tensors([value]):
                        if not tensor.is_inference():
                            torch.autograd.graph.increment_version(tensor)
        if self._checks_aliases and kernel is not self._fake:
            # By the storage itself, as fake tensors have no memory to tell apart.
            given = [t.untyped_storage()._cdata for t in tensors if _has_memory(t)]
            for t in _tensors([out]):
                if any(t is other for other in tensors) or (given and _has_memory(t) and t.untyped_storage()._cdata in given):
                    raise RuntimeError(
                        f"{self.name()}: expected outputs that alias no input and share no memory with one another, got one that does; return a clone"
                    )
        return out


def _cast(value, dtype):
    """A tensor of floating point numbers in another dtype; anything else as it is."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype is not torch.float64
    return value.to(dtype) if is_float else value


_Defined.__name__ = _Defined.__qualname__ = "OpOverload"


class _Packet(ops._Packet):
    """All overloads of an operator that a program defined."""

    def __init__(self, namespace, name):
        self.__name__, self._namespace, self._overloads = name, namespace, {}

    def __call__(self, *args, **kwargs):
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

    def __getattr__(self, overload):
        found = None if overload.startswith("__") else self.__dict__["_overloads"].get(overload)
        if found is None:
            raise AttributeError(f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name '{overload}'", name=overload, obj=self)
        return found

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"


class _Place:
    """A line of a program; its text is made where an error shows it."""

    __slots__ = ("file", "line")

    def __init__(self, file, line):
        self.file, self.line = file, line

    def __str__(self):
        return f"{self.file}:{self.line}"


def _place():
    """Where the program calls this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return _Place(frame.f_code.co_filename, frame.f_lineno)


def _add(namespace, text, tags=()):
    schema = _schema.parse(text, namespace)
    if not schema.name:
        raise RuntimeError(f"schema: an operator needs a name, got {text!r}")
    packet = ops._defined.setdefault(namespace, {}).get(schema.name)
    if packet is None:
        packet = ops._defined[namespace][schema.name] = _Packet(namespace, schema.name)
    if schema.overload in packet._overloads:
        there = packet._overloads[schema.overload]
        raise RuntimeError(
            f"define: expected a new name and overload, got {schema.text} at {_place()}, which is there already as {there._form.text}, defined at {there._where}"
        )
    made = packet._overloads[schema.overload] = _Defined(namespace, schema, (tags,) if isinstance(tags, _Tag) else tags, packet)
    made._where = _place()
    for key, fn, undone in _pending.pop(made.name(), ()):
        _set(made, key, fn, undone)
    return made


def _found(op):
    """The operator of a "namespace::name" or "namespace::name.overload", or of an object that stands for it."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, _Defined):
        return op
    if isinstance(op, _Packet):
        return op.default
    if isinstance(op, _OpOverload) and op._entry is not None:
        return _OfLibrary(op)
    if isinstance(op, ops._Packet):
        return _found(op.default)
    if not isinstance(op, str):
        raise ValueError(f"expected the name of an operator that was defined here, got {op!r}")
    namespace, name = _name(op)
    name, _, overload = name.partition(".")
    packet = ops._defined.get(namespace, {}).get(name)
    if packet is None and (namespace == "aten" or ops._of_libraries(namespace, name)):
        packet = getattr(getattr(ops, namespace), name, None)
        if packet is not None and (overload or "default") in packet.overloads():
            return _found(getattr(packet, overload or "default"))
        packet = None
    if packet is None or (overload or "default") not in packet._overloads:
        raise RuntimeError(f"operator {op} does not exist")
    return packet._overloads[overload or "default"]


def _name(qualified):
    if qualified.startswith("::"):
        raise RuntimeError(f"expected a namespace before '::', got {qualified!r}")
    parts = qualified.split("::")
    if len(parts) != 2 or not all(re.fullmatch(r"[\w.]+", part) for part in parts):
        raise ValueError(f"expected a name of the form 'namespace::name', got {qualified!r}")
    return parts


@contextlib.contextmanager
def _Switched(disabled, key, enabled):
    """The key in, or out of, the set of those that are off, for a scope."""
    before = key in disabled
    (disabled.discard if enabled else disabled.add)(key)
    try:
        yield
    finally:
        (disabled.add if before else disabled.discard)(key)


# ---- custom operators -----------------------------------------------------------------------------------------------------


class CustomOpDef:
    """An operator made by `custom_op`: call it, and register what else it needs.

    >>> op = torch.library.custom_op("example::plus", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> op(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._init_fn = namespace, name, fn
        ops._defined.get(namespace, {}).pop(name.partition(".")[0], None)  # a program may define it anew
        self._schema = schema
        self._op = _add(namespace, f"{namespace}::{name}{schema}", tags or ())
        self._op._checks_aliases, self._op._initial = True, fn
        functools.update_wrapper(self, fn) if hasattr(fn, "__name__") else None

    @property
    def _opoverload(self):
        return self._op

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._op(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """A function for one kind of device or several; None: for all. A decorator where `fn` is left out."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """A function that gives results without values, for tensors on the device "meta"."""
        self._op._fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """The formula of the gradient; see `torch.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """The operator's function for a mode or a tensor class; see `torch.library.register_torch_dispatch`."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_autocast(self, device_type, cast_inputs, /):
        """The dtype of inputs under autocast; see `torch.library.register_autocast`."""
        register_autocast(self, device_type, cast_inputs)

    def set_kernel_enabled(self, device_type, enabled=True):
        """A context in which the function that was registered for a kind of device is off, so that the first one runs, or on."""
        key = _KEYS.get(device_type, device_type)
        return _Switched(self._op._disabled, key, enabled)

    def register_vmap(self, func=None):
        """The operator's rule under vmap; see `torch.library.register_vmap`."""
        return register_vmap(self, func)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a function; a decorator where `fn` is left out. It is opaque: nothing it does is recorded for gradients.

    Args:
        name: "namespace::name".
        mutates_args: names of the tensors that the function changes in place.
        device_types: the kinds of devices it is for: None stands for all.
        schema: of the operator; by default that of the annotations.

    Errors: ValueError for names and annotations that do not fit; when called, RuntimeError for arguments that do not fit, and for results that share
    memory with arguments.

    >>> @torch.library.custom_op("example::add_one_", mutates_args={"x"})
    ... def add_one_(x: torch.Tensor) -> None:
    ...     x.add_(1)
    >>> x = torch.zeros(2)
    >>> add_one_(x)
    >>> x
    tensor([1., 1.])
    """

    def make(function):
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, short = _name(name)
        made = CustomOpDef(namespace, short, text, function, tags)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


# ---- the pieces -----------------------------------------------------------------------------------------------------------


class Library:
    """Definitions of operators in a namespace ("DEF", once; "FRAGMENT"), or functions for operators that are there ("IMPL").

    Errors: ValueError for another kind, RuntimeError for a second "DEF".

    >>> lib = torch.library.Library("example_lib", "FRAGMENT")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: 2 * x, "CPU")
    >>> torch.ops.example_lib.twice(torch.ones(1))
    tensor([2.])
    """

    _owned = {"aten", "prim", "prims"}

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "_"):
            raise ValueError(f"Library: {ns} is a reserved namespace, choose another one")
        if kind == "DEF":
            if ns in Library._owned:
                raise RuntimeError(f"Library: another library defines the namespace {ns}; use the kind FRAGMENT to add to it")
            Library._owned.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._made, self._undone = [], []
        # Definitions of a library go with it.
        self._end = weakref.finalize(self, _undo, ns, kind, self._made, self._undone)
        self._end.atexit = False

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator by its schema; returns its name. Calls stay in graphs of TorchScript, as with PyTorch's alias analysis CONSERVATIVE, which may be
        named.

        Errors: RuntimeError for one that is there, for text that cannot be read, and for another alias analysis than "", FROM_SCHEMA and CONSERVATIVE."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Library.define: expected the alias analysis FROM_SCHEMA or CONSERVATIVE, got {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError("Library.define: a library of the kind IMPL defines nothing")
        owner, named, _ = schema.partition("(")[0].partition("::")
        if named and owner.strip() != self.ns:
            raise RuntimeError(f"Library.define: the schema names the namespace {owner.strip()}, and the library is of {self.ns}")
        made = _add(self.ns, schema, tags)
        self._made.append(made)
        return made._form.name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator for a kind of device: "CPU", "Meta", "CompositeExplicitAutograd" (all of them), "CompositeImplicitAutograd" (all,
        and gradients go through it), or "Autograd". A later function takes the place of an earlier one, whatever `allow_override` is."""
        if not callable(fn):
            raise TypeError(f"impl: expected a callable, got {type(fn)}")
        if dispatch_key and self.dispatch_key and _key_name(dispatch_key) != _key_name(self.dispatch_key):
            raise RuntimeError(f"impl: the key {dispatch_key} of {op_name} is inconsistent with that of the library, {self.dispatch_key}")
        if with_keyset:
            fn = _with_keys(fn)
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        named = op_name if isinstance(op_name, (_OpOverload, ops._Packet)) else op_name if "::" in op_name else f"{self.ns}::{op_name}"
        if isinstance(named, str) and not _is_there(named):  # its definition may come later
            _pending.setdefault(named.removesuffix(".default"), []).append((key, fn, self._undone))
            return
        _set(_found(named), key, fn, self._undone)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """The function of all operators of other libraries for a key. Errors: RuntimeError: layers and devices take fallbacks in C++
        (TORCH_LIBRARY_IMPL(_, key, m)), and operators of this module have none."""
        raise RuntimeError(f"Library.fallback: {dispatch_key or self.dispatch_key or 'the key'}: register fallbacks in C++, by TORCH_LIBRARY_IMPL(_, key, m)")

    def register_symm_mem_args(self, op_name, arg_names):
        """Says which arguments are symmetric memory, which compilers ask. RuntimeError for an operator that is not there, ValueError for other names."""
        op = _found(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        unknown = set(arg_names) - {a.name for a in op._form.arguments}
        if unknown:
            raise ValueError(f"register_symm_mem_args: {op.name()} has no arguments {sorted(unknown)}")
        op.symm_mem_args = frozenset(arg_names)

    def _destroy(self):
        self._end()


def _undo(ns, kind, made, undone):
    for undo in reversed(undone):
        undo()
    for op in made:
        packet = ops._defined.get(ns, {}).get(op._form.name)
        if packet is not None and packet._overloads.get(op._form.overload) is op:
            packet._overloads.pop(op._form.overload)
            if not packet._overloads:
                del ops._defined[ns][op._form.name]
    if kind == "DEF":
        Library._owned.discard(ns)


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A library for a scope: what it defines goes at its end."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _key_name(key):
    return key.name if isinstance(key, _keys.DispatchKey) else key


def _with_keys(fn):
    """The function, which takes the keys of the call first."""

    def call(*args, **kwargs):
        return fn(_keys.keys_of(_tensors([*args, *kwargs.values()])), *args, **kwargs)

    return call


def _set(op, key, fn, undone=None):
    key = _key_name(key)
    if key not in _keys.DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key '{key}': expected one of {', '.join((*_KEYS.values(), *_ALL, 'Autograd'))}")
    if isinstance(op, _OfLibrary):
        number = _cresset._implement(op.entry, key, None if fn is fallthrough_kernel else fn)
        (undone if undone is not None else _kept).append(functools.partial(_cresset._unimplement, number))
    elif fn is fallthrough_kernel:  # of an operator of this module, whose keys without a function are passed by
        return
    elif key.startswith("Autograd"):
        op._autograd, op._sees_all = fn, True
        if undone is not None:
            undone.append(lambda: setattr(op, "_autograd", None))
    else:
        op._kernels[key] = fn
        if undone is not None:
            undone.append(lambda: op._kernels.pop(key, None))


def _notes_of(lib, caller):
    """Where registrations for a library are noted, which take them back at its end; None without one."""
    if lib is None:
        return None
    if not isinstance(lib, Library):
        raise TypeError(f"{caller}: expected a torch.library.Library for lib, got {type(lib).__name__}")
    return lib._undone


def _assign(op, name, value, undone):
    """Sets a rule of an operator until the library ends whose notes these are."""
    before = getattr(op, name, None)
    if isinstance(op, _OfLibrary):  # which notes its functions itself
        op._undone = undone
    setattr(op, name, value)
    if undone is not None and not isinstance(op, _OfLibrary):
        undone.append(functools.partial(setattr, op, name, before))


_pending = {}  # "ns::name" or "ns::name.overload" -> functions that wait for its definition


def _is_there(qualified):
    try:
        _found(qualified)
    except RuntimeError:
        return False
    return True


_kept = []  # what takes back functions that stay


class _OfLibrary:
    """An operator of C++, built in or of a shared library, that gets functions of Python."""

    def __init__(self, overload):
        self.overload, self.entry = overload, overload._entry
        self._form = _schema.parse(str(overload._schema), overload._namespace)

    def name(self):
        return self.overload.name()

    def __call__(self, *args, **kwargs):
        return self.overload(*args, **kwargs)

    _autograd, _kernels, _backward, _undone = True, {}, None, None

    @property
    def _fake(self):
        return None

    @_fake.setter
    def _fake(self, function):
        _set(self, "Meta", function, self._undone)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_setup":  # after _backward
            formula = self._formula()
            _set(self, "Autograd", formula, self._undone)

    def _formula(self):
        """The function for the layer of gradients: the operator below it, with the formula recorded."""
        op = _Defined(self.overload._namespace, self._form)
        op._backward, op._setup = self._backward, self._setup

        def below(*args, **kwargs):
            with _keys.below_autograd():
                return _cresset._call_below_autograd(self.overload, args, kwargs)

        op._kernels["CompositeExplicitAutograd"] = below
        return op


def define(qualname, schema, *, lib=None, tags=(), alias_analysis=""):
    """Defines an operator "namespace::name" by its schema, "(Tensor x) -> Tensor": for good, or for the life of the library `lib`.
    `define(lib, "name(Tensor x) -> Tensor")` is a decorator of its function.

    Errors: ValueError for other names and schemas, and for a library of another namespace; those of `Library.define`.

    >>> torch.library.define("example::half", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example::half", "cpu", lambda x: x / 2)
    >>> torch.ops.example.half(torch.ones(1))
    tensor([0.5000])
    """
    if isinstance(qualname, Library):
        qualname.define(schema, alias_analysis, tags=tags)

        def put(function):
            qualname.impl(schema.partition("(")[0].strip(), function)
            return function

        return put
    if alias_analysis:
        raise TypeError("define: alias_analysis goes with a library as the first argument")
    namespace, name = _name(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(f'define: expected a schema like "(Tensor x) -> Tensor", got "{schema}"')
    if _notes_of(lib, "define") is not None and lib.ns != namespace:
        raise ValueError(f"define: expected a name of the library's namespace {lib.ns!r}, got {qualname!r}")
    made = _add(namespace, f"{namespace}::{name}{schema}", tags)
    if lib is not None:
        lib._made.append(made)
    return None


def impl(qualname, types, func=None, *, lib=None):
    """The function of an operator for kinds of devices: "cpu", "default" (all), or a list of them. A decorator where `func` is left out.
    With `lib` it goes when that library does, as do the rules that the functions below register.

    >>> torch.library.define("example::third", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("example::third", "default")
    ... def third(x):
    ...     return x / 3
    >>> torch.ops.example.third(torch.full((1,), 6.0))
    tensor([2.])
    """
    if isinstance(qualname, Library):  # impl(library, name, key)

        def put(function):
            qualname.impl(types, function, func if isinstance(func, str) else "")
            return function

        return put if func is None or isinstance(func, str) else put(func)
    op, undone = _found(qualname), _notes_of(lib, "impl")

    def register(function):
        for kind in (types,) if isinstance(types, str) else types:
            key = "CompositeExplicitAutograd" if kind == "default" else _KEYS.get(kind, kind)
            _set(op, key, function, undone)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """As `impl`, by an operator or its name; None stands for all kinds of devices. A decorator where `func` is left out.

    >>> op = torch.library.custom_op("example::same", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda")
    >>> _ = torch.library.register_kernel(op, "cpu", lambda x: x * 1)
    >>> op(torch.ones(1))
    tensor([1.])
    """
    found, undone = _found(op) if not isinstance(op, str) or _is_there(op) else None, _notes_of(lib, "register_kernel")

    def register(function):
        if found is None:
            keys = [device_types] if isinstance(device_types, str) else device_types or ["default"]
            _pending.setdefault(op, []).extend(("CompositeExplicitAutograd" if k == "default" else _KEYS.get(k, k), function, undone) for k in keys)
            return function
        kinds = ["default"] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
        for kind in kinds:
            _set(found, "CompositeExplicitAutograd" if kind == "default" else _KEYS.get(kind, kind), function, undone)
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """An operator's rule on the device "meta": results without values. A decorator where `func` is left out.

    >>> op = torch.library.custom_op("example::row", lambda x: x.sum(0), mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> _ = torch.library.register_fake("example::row", lambda x: x.new_empty(x.shape[1:]))
    >>> op(torch.ones(2, 3, device="meta")).shape
    torch.Size([3])
    """
    found, undone = _found(op), _notes_of(lib, "register_fake")

    def register(function):
        _assign(found, "_fake", function, undone)
        return function

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """An old name of `register_fake`."""
    warnings.warn("impl_abstract is deprecated: it is called register_fake now", FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The formula of an operator's gradient.

    Args:
        op: the operator or its name.
        backward: a function (ctx, *gradients of the results) -> a gradient, or None, for each argument that may be given by place.
        setup_context: a function (ctx, inputs, output), with `keyword_only_inputs` where there are such, that keeps what `backward` needs.

    Errors: RuntimeError for operators that are not there.

    >>> op = torch.library.custom_op("example::square", lambda x: x * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> torch.library.register_autograd(op, lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad, setup_context=keep)
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> op(x).backward()
    >>> x.grad
    tensor([6.])
    """
    try:
        found = _found(op)
    except RuntimeError as error:
        raise AttributeError(str(error)) from None
    written = [a.name for a in found._form.arguments if a.mutated]
    if written or any("(" in r and "!" in r for r in found._form.returns):
        raise RuntimeError(f"register_autograd: {found.name()} writes to {', '.join(written)}, and formulas are for operators that write nothing")
    undone = _notes_of(lib, "register_autograd")
    for name, value in (("_backward", backward), ("_setup", setup_context)):
        _assign(found, name, value, undone)


def register_vmap(op, func=None, /, *, lib=None):
    """An operator's rule under `torch.vmap`: a function (info, in_dims, *arguments) -> (results, their batch dimensions). `info` has
    `batch_size` and `randomness`; `in_dims` holds for each argument the dimension of the batch, or None. A decorator where `func` is left out.

    >>> op = torch.library.custom_op("example::total", lambda x: torch.tensor(x.numpy().sum()), mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> @torch.library.register_vmap(op)
    ... def _(info, in_dims, x):
    ...     return torch.tensor(x.movedim(in_dims[0], 0).numpy().sum(1)), 0
    >>> torch.vmap(op)(torch.ones(2, 3))
    tensor([3., 3.])
    """
    found, undone = _found(op), _notes_of(lib, "register_vmap")

    def register(function):
        _assign(found, "_vmap", function, undone)
        return function

    return register if func is None else register(func)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """An operator's function for a `TorchDispatchMode` or a tensor class with `__torch_dispatch__`: a function (mode or class, func, types, args, kwargs).
    A decorator where `func` is left out.

    >>> from cresset.utils._python_dispatch import TorchDispatchMode
    >>> class Mode(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> op = torch.library.custom_op("example::heard", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> _ = torch.library.register_torch_dispatch(op, Mode, lambda mode, func, types, args, kwargs: args[0] * 100)
    >>> with Mode():
    ...     op(torch.ones(1))
    tensor([100.])
    """
    found, undone = _found(op), _notes_of(lib, "register_torch_dispatch")

    def register(function):
        if torch_dispatch_class in found._torch_dispatch:
            raise RuntimeError(f"{torch_dispatch_class} already has a function registered to {found.name()}")
        found._torch_dispatch[torch_dispatch_class] = function
        if undone is not None:
            undone.append(functools.partial(found._torch_dispatch.pop, torch_dispatch_class, None))
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Inputs of floating point numbers are cast to a dtype where autocast is on for their kind of device.

    Errors: ValueError for kinds of devices other than "cpu" and "cuda", and for no dtype.

    >>> op = torch.library.custom_op("example::halved", lambda x: x / 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> torch.library.register_autocast(op, "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     op(torch.ones(1)).dtype
    torch.bfloat16
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"register_autocast: expected the kind of device 'cpu' or 'cuda', got {device_type!r}")
    if not isinstance(cast_inputs, torch.dtype):
        raise ValueError(f"register_autocast: expected a dtype for inputs, got {cast_inputs!r}")
    found, undone = _found(op), _notes_of(lib, "register_autocast")
    found._autocast[device_type] = cast_inputs
    if undone is not None:
        undone.append(functools.partial(found._autocast.pop, device_type, None))


def get_ctx():
    """The context of a rule that `register_fake` names, while it runs: it makes sizes that depend on data, which is an error elsewhere.

    >>> torch.library.get_ctx().new_dynamic_size()
    Traceback (most recent call last):
    RuntimeError: new_dynamic_size: there is no ShapeEnv here, so that sizes cannot depend on data
    """
    return _fakes[-1] if _fakes else _FakeContext([])


_fakes = []  # contexts of the rules that run


class _FakeContext:
    """Context of a rule for fake tensors: makes sizes that depend on data."""

    def __init__(self, tensors):
        mode = next((t.fake_mode for t in tensors if getattr(t, "fake_mode", None) is not None), None)
        self._shape_env = getattr(mode, "shape_env", None)

    def new_dynamic_size(self, *, min=0, max=None):
        """A size between two numbers that only the data tells. RuntimeError where shapes are numbers alone."""
        if self._shape_env is None:
            raise RuntimeError("new_dynamic_size: there is no ShapeEnv here, so that sizes cannot depend on data")
        from .fx.experimental import symbolic_shapes

        size = self._shape_env.create_unbacked_symint()
        symbolic_shapes._constrain_range_for_size(size, min=min, max=max) if hasattr(symbolic_shapes, "_constrain_range_for_size") else None
        return size

    create_unbacked_symint = new_dynamic_size


def get_kernel(op, dispatch_key):
    """The function of an operator for a key, which takes the keys of the call first. RuntimeError where there is none.

    >>> op = torch.library.custom_op("example::kept", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cpu")
    >>> kernel = torch.library.get_kernel(op, "CPU")
    >>> kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1))
    tensor([2.])
    """
    found = _found(op)
    key = dispatch_key.name if isinstance(dispatch_key, _keys.DispatchKey) else dispatch_key
    if key not in _keys.DispatchKey.__members__:
        raise ValueError(f"get_kernel: {key!r} is no dispatch key")
    function = found.overload if isinstance(found, _OfLibrary) and found.overload.has_kernel_for_dispatch_key(key) else None
    if isinstance(found, _Defined):
        function = found._kernels.get(key) or (found._fake if key == "Meta" else None)
    if function is None:
        raise RuntimeError(f"get_kernel: {found.name()} has no function for {key}")
    return _Kernel(function)


class _Kernel:
    """A function of an operator for a key."""

    def __init__(self, function):
        self._function = function

    def call_boxed(self, keyset, *args, **kwargs):
        """Calls it, past all else that the operator has."""
        return self._function(*args, **kwargs)


def wrap_triton(triton_kernel, /):
    """For operators made of Triton kernels. Errors: NotImplementedError: Triton runs on devices that this Cresset has not; write the kernel in C++.

    >>> torch.library.wrap_triton(None)
    Traceback (most recent call last):
    NotImplementedError: wrap_triton: this Cresset has no device that runs Triton kernels; write the operator in C++ (docs/extensions.md)
    """
    raise NotImplementedError("wrap_triton: this Cresset has no device that runs Triton kernels; write the operator in C++ (docs/extensions.md)")


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """An operator of which compilers see the operators that it calls. Triton kernels in it are refused by `wrap_triton`.

    >>> op = torch.library.triton_op("example::twofold", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> op(torch.ones(1))
    tensor([2.])
    """

    def make(function):
        return custom_op(name, function, mutates_args=mutates_args, schema=schema)

    return make if fn is None else make(fn)


def opcheck(
    op,
    args,
    kwargs=None,
    *,
    test_utils=("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
    raise_exception=True,
    rtol=None,
    atol=None,
):
    """Tests an operator with some arguments: whether it changes only what its schema says, whether a gradient has a formula, and whether results on the
    device "meta" have the shapes and dtypes of the real ones.

    Returns {test: "SUCCESS" or what went wrong}. Errors: what went wrong, with `raise_exception`.

    >>> op = torch.library.custom_op("example::cube", lambda x: x**3, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> torch.library.opcheck(op, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    found, kwargs = _found(op), kwargs or {}
    tests = {"test_schema": _test_schema, "test_autograd_registration": _test_formula, "test_faketensor": _test_fake, "test_aot_dispatch_dynamic": _test_traced}
    chosen = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    results = {}
    for name in chosen:
        if name not in tests:
            raise ValueError(f"opcheck: expected tests out of {sorted(tests)}, got {name!r}")
        try:
            tests[name](found, args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


class OpCheckError(Exception):
    """Failure that `opcheck` found."""


def _copied(values):
    return torch.utils._pytree.tree_map(lambda v: v.detach().clone().requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v, values)


def _test_schema(op, args, kwargs):
    args, kwargs = _copied((args, kwargs))
    values = op._form.bind(args, kwargs, op.name())
    before = [t.detach().clone() for t in _tensors(values)]
    with torch.no_grad():
        op(*args, **kwargs)
    numbered = [a for a, v in zip(op._form.arguments, values) for _ in _tensors([v])]
    for argument, tensor, old in zip(numbered, _tensors(values), before):
        if not argument.mutated and not torch.equal(torch.nan_to_num(tensor.detach()), torch.nan_to_num(old)):
            raise RuntimeError(f"Argument {argument.name} was written, which the schema does not say")


def _test_formula(op, args, kwargs):
    args, kwargs = _copied((args, kwargs))
    if not any(t.requires_grad for t in _tensors([args, kwargs])) or op._autograd is not None or "CompositeImplicitAutograd" in op._kernels:
        return
    if op._backward is None:
        raise AssertionError("The operator has inputs that require gradients, but no formula was registered by register_autograd")


def _test_fake(op, args, kwargs):
    with torch.no_grad():
        real = _tensors([op(*_copied(args), **_copied(kwargs))])
        fake = _tensors([op(*torch.utils._pytree.tree_map(_meta, args), **torch.utils._pytree.tree_map(_meta, kwargs))])
    facts = [[(tuple(t.shape), t.dtype) for t in side] for side in (real, fake)]
    if facts[0] != facts[1]:
        raise AssertionError(f"results are {facts[0]}, on the device meta {facts[1]}")


def _test_traced(op, args, kwargs):
    """The operator in a program that was traced on fake tensors gives the same results, and the same gradients."""
    from .fx.experimental.proxy_tensor import make_fx
    from .utils._pytree import tree_flatten, tree_unflatten

    leaves, spec = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(*tensors):
        filled = list(leaves)
        for place, tensor in zip(places, tensors):
            filled[place] = tensor
        plain, named = tree_unflatten(filled, spec)
        return op(*plain, **named)

    given = [leaves[place].detach() for place in places]
    with torch.no_grad():
        traced = make_fx(run, tracing_mode="fake")(*_copied(given))
        for mine, theirs in zip(_tensors([traced(*_copied(given))]), _tensors([run(*_copied(given))])):
            if not torch.allclose(torch.nan_to_num(mine), torch.nan_to_num(theirs)):
                raise AssertionError("the traced program gives other results than the operator")


def _meta(value):
    return value.detach().to("meta") if isinstance(value, torch.Tensor) else value
