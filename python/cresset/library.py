"""torch.library: operators that programs define in Python, called as torch.ops.namespace.name.

>>> @torch.library.custom_op("example::scaled", mutates_args=())
... def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
...     return x * by
>>> torch.ops.example.scaled(torch.ones(2), 3.0)
tensor([3., 3.])
"""

import functools
import re

import _cresset

import cresset as torch

from . import ops
from ._core import schema as _schema
from ._core.operators import OpOverload as _OpOverload
from .autograd import _function_vmap
from .utils._pytree import tree_flatten

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "impl_abstract", "infer_schema", "opcheck", "register_autograd",
           "register_fake", "register_kernel", "register_vmap"]  # fmt: skip

_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS"}
_ALL = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


def fallthrough_kernel():
    """Stands for "nothing to do here" where a function is expected by `Library.impl`. Raises when it is called.

    >>> torch.library.fallthrough_kernel.__name__
    'fallthrough_kernel'
    """
    raise NotImplementedError("fallthrough_kernel is a mark for impl, not to be called.")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of a function with annotations, as text; `mutates_args` names the tensors it changes, or is "unknown". Of
    the tags "inplace" and "out" say that the function returns the tensors that it changes.

    Errors: ValueError for arguments that do not go with a tag, for parameters without annotations, and for types that schemas have none for.

    >>> def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: ...
    >>> torch.library.infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2) -> Tensor'
    """
    return _schema.inferred(prototype_function, mutates_args, op_name, tags)


# ---- the operator ---------------------------------------------------------------------------------------------------------


def _has_memory(tensor):
    return tensor.layout is torch.strided and tensor.device.type == "cpu" and tensor.numel() > 0


def _tensors(values):
    return [leaf for leaf in tree_flatten(list(values))[0] if isinstance(leaf, torch.Tensor)]


class _Context:
    """Context of a formula: places to keep things, and which arguments want gradients."""

    def __init__(self, ctx, needs):
        self.__dict__.update(_ctx=ctx, needs_input_grad=needs)

    def __getattr__(self, name):
        return getattr(self.__dict__["_ctx"], name)


class _Recorded(torch.autograd.Function):
    """A call whose gradient is the operator's formula. Tensors come one by one, so that the graph knows each."""

    @staticmethod
    def forward(ctx, op, values, *tensors):
        out = op._computed(values)
        needs = tuple(any(t.requires_grad for t in _tensors([v])) for v in values)
        ctx.op, ctx.kinds = op, [(len(_tensors([v])), isinstance(v, (list, tuple)) and not isinstance(v, torch.Tensor)) for v in values]
        ctx.seen = _Context(ctx, needs)
        if op._setup is not None:
            plain = [v for v, a in zip(values, op._schema.arguments) if not a.keyword]
            named = {a.name: v for v, a in zip(values, op._schema.arguments) if a.keyword}
            if named:
                op._setup(ctx=ctx.seen, inputs=tuple(plain), keyword_only_inputs=named, output=out)
            else:
                op._setup(ctx=ctx.seen, inputs=tuple(plain), output=out)
        changed = [v for v, a in zip(values, op._schema.arguments) if a.mutated and isinstance(v, torch.Tensor)]
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
        kinds = [kind for kind, a in zip(ctx.kinds, op._schema.arguments) if not a.keyword]
        if len(found) != len(kinds):
            raise RuntimeError(f"{op}: the formula returned {len(found)} gradients for {len(kinds)} arguments")
        flat = []
        for grad, (count, listed) in zip(found, kinds):
            if listed:
                flat += list(grad) if grad is not None else [None] * count
            elif count:
                flat.append(grad)
        rest = sum(count for (count, _), a in zip(ctx.kinds, op._schema.arguments) if a.keyword)
        return (None, None, *flat, *[None] * rest)


class _Defined(_OpOverload):
    """One overload of an operator that a program defined: the functions that compute it, by kind of device, and its formula."""

    is_view = False

    def __init__(self, namespace, schema, tags=(), packet=None):
        self._namespace, self._schema, self._overloadpacket, self._entry = namespace, schema, packet, None
        self._opname, self._overloadname, self.py_kernels = schema.name, schema.overload, {}
        self.__name__ = f"{schema.name}.{schema.overload}"
        self._call = self._op = self.__call__
        self._kernels, self._fake, self._backward, self._setup, self._autograd, self._vmap = {}, None, None, None, None, None
        self._checks_aliases = False
        self.tags = list(tags)

    def name(self):
        """namespace::name, with the overload where it has one."""
        overload = "" if self._schema.overload == "default" else f".{self._schema.overload}"
        return f"{self._namespace}::{self._schema.name}{overload}"

    @property
    def default(self):
        """This overload, where it is the operator's only one."""
        if self._schema.overload != "default":
            raise AttributeError(f"{self} has no overload 'default'", name="default", obj=self)
        return self

    def __call__(self, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        values = self._schema.bind(args, kwargs, self.name())
        tensors = _tensors(values)
        if self._vmap is not None and any(_cresset.batched_parts(t) for t in tensors):
            return _function_vmap.by_rule(self._vmap, self.name(), values, self._schema.arguments)
        if "CompositeImplicitAutograd" in self._kernels and self._kernel(tensors) is None:
            return self._spread(self._kernels["CompositeImplicitAutograd"], values)
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            if self._autograd is not None:
                return self._spread(self._autograd, values)
            out = _Recorded.apply(self, values, *tensors)
            return list(out) if self._schema.returns == ["Tensor[]"] else out
        return self._computed(values)

    def _spread(self, function, values):
        plain = [v for v, a in zip(values, self._schema.arguments) if not a.keyword]
        return function(*plain, **{a.name: v for v, a in zip(values, self._schema.arguments) if a.keyword})

    def _given(self, values):
        """The arguments of a call by place and by name, without those at the end that have their defaults."""
        pairs = list(zip(values, self._schema.arguments))
        plain = [(v, a) for v, a in pairs if not a.keyword]
        while plain and plain[-1][1].has_default(plain[-1][0]):
            plain.pop()
        return [v for v, _ in plain], {a.name: v for v, a in pairs if a.keyword and not a.has_default(v)}

    def _kernel(self, tensors):
        key = _KEYS.get(tensors[0].device.type, "CPU") if tensors else "CPU"
        if self._checks_aliases and any(map(_cresset._faking, tensors)):
            if self._fake is None:
                raise RuntimeError(f"{self.name()}: tensors without data need a function that gives the shapes of results; register one by register_fake")
            return self._fake
        if key == "Meta" and self._fake is not None:
            return self._fake
        return self._kernels.get(key) or (None if key == "Meta" and self._checks_aliases else self._kernels.get("CompositeExplicitAutograd"))

    def _computed(self, values):
        tensors = _tensors(values)
        if _cresset._is_heard():
            from ._modes.stack import present

            plain, named = self._given(values)
            with torch.no_grad():
                return present(self, *plain, **named)
        kernel = self._kernel(tensors) or self._kernels.get("CompositeImplicitAutograd")
        if kernel is None:
            kind = tensors[0].device.type.upper() if tensors else "CPU"
            there = [*self._kernels, *(["Meta"] if self._fake else [])]
            raise NotImplementedError(f"Could not run '{self.name()}' with arguments from the '{kind}' backend: it has functions for {there or 'none'}")
        with torch.no_grad():
            out = self._spread(kernel, values)
        if self._checks_aliases and kernel is not self._fake:
            # By the storage itself, as fake tensors have no memory to tell apart.
            given = {id(t) for t in tensors} | {t.untyped_storage()._cdata for t in tensors if _has_memory(t)}
            for t in _tensors([out]):
                if id(t) in given or (_has_memory(t) and t.untyped_storage()._cdata in given):
                    raise RuntimeError(f"{self.name()}: expected outputs that share no memory with inputs or one another, got one that does; return a clone")
        return out


_Defined.__name__ = _Defined.__qualname__ = "OpOverload"


class _Packet(ops._Packet):
    """All overloads of an operator that a program defined."""

    def __init__(self, namespace, name):
        self.__name__, self._namespace, self._overloads = name, namespace, {}

    def __call__(self, *args, **kwargs):
        if len(self._overloads) == 1:
            return next(iter(self._overloads.values()))(*args, **kwargs)
        said = []
        for overload in self._overloads.values():
            try:
                overload._schema.bind(args, kwargs, overload.name())
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


def _add(namespace, text, tags=()):
    schema = _schema.parse(text, namespace)
    if not schema.name:
        raise RuntimeError(f"schema: an operator needs a name, got {text!r}")
    packet = ops._defined.setdefault(namespace, {}).get(schema.name)
    if packet is None:
        packet = ops._defined[namespace][schema.name] = _Packet(namespace, schema.name)
    if schema.overload in packet._overloads:
        raise RuntimeError(
            f"define: expected a new name and overload, got {schema.text}, which is there already as {packet._overloads[schema.overload]._schema.text}"
        )
    made = packet._overloads[schema.overload] = _Defined(namespace, schema, (tags,) if isinstance(tags, torch.Tag) else tags, packet)
    return made


def _found(op):
    """The operator of a "namespace::name" or "namespace::name.overload", or of an object that stands for it."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, _Defined):
        return op
    if isinstance(op, _Packet):
        return op.default
    if not isinstance(op, str):
        raise ValueError(f"expected the name of an operator that was defined here, got {op!r}")
    namespace, name = _name(op)
    name, _, overload = name.partition(".")
    packet = ops._defined.get(namespace, {}).get(name)
    if packet is None or (overload or "default") not in packet._overloads:
        raise RuntimeError(f"operator {op} does not exist")
    return packet._overloads[overload or "default"]


def _name(qualified):
    parts = qualified.split("::")
    if len(parts) != 2 or not all(re.fullmatch(r"[\w.]+", part) for part in parts):
        raise ValueError(f"expected a name of the form 'namespace::name', got {qualified!r}")
    return parts


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
        self._op._checks_aliases = True
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
        if kind == "DEF":
            if ns in Library._owned:
                raise RuntimeError(f"Library: another library defines the namespace {ns}; use the kind FRAGMENT to add to it")
            Library._owned.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._made = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator by its schema; returns its name. RuntimeError for one that is there, and for text that cannot be read."""
        if self.kind == "IMPL":
            raise RuntimeError("Library.define: a library of the kind IMPL defines nothing")
        made = _add(self.ns, schema, tags)
        self._made.append(made)
        return made._schema.name + ("" if made._schema.overload == "default" else f".{made._schema.overload}")

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator for a kind of device: "CPU", "Meta", "CompositeExplicitAutograd" (all of them), "CompositeImplicitAutograd" (all,
        and gradients go through it), or "Autograd". A later function takes the place of an earlier one, whatever `allow_override` is."""
        if not callable(fn):
            raise TypeError(f"impl: expected a callable, got {type(fn)}")
        if with_keyset:
            raise RuntimeError("Library.impl: there are no keysets to be given")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        op = _found(op_name if isinstance(op_name, (_Defined, _Packet)) else op_name if "::" in op_name else f"{self.ns}::{op_name}")
        _set(op, key, fn)

    def _destroy(self):
        for made in self._made:
            packet = ops._defined.get(self.ns, {}).get(made._schema.name)
            if packet is not None:
                packet._overloads.pop(made._schema.overload, None)
                if not packet._overloads:
                    del ops._defined[self.ns][made._schema.name]
        if self.kind == "DEF":
            Library._owned.discard(self.ns)


def _set(op, key, fn):
    if fn is fallthrough_kernel:
        return
    if key.startswith("Autograd"):
        op._autograd = fn
        return
    if key not in (*_KEYS.values(), *_ALL):
        raise RuntimeError(f"could not parse dispatch key '{key}': expected one of {', '.join((*_KEYS.values(), *_ALL, 'Autograd'))}")
    op._kernels[key] = fn


def define(qualname, schema, *, lib=None, tags=()):
    """Defines an operator "namespace::name" by its schema, "(Tensor x) -> Tensor". Errors: ValueError for other names and schemas.

    >>> torch.library.define("example::half", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example::half", "cpu", lambda x: x / 2)
    >>> torch.ops.example.half(torch.ones(1))
    tensor([0.5000])
    """
    namespace, name = _name(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(f'define: expected a schema like "(Tensor x) -> Tensor", got "{schema}"')
    _add(namespace, f"{namespace}::{name}{schema}", tags)


def impl(qualname, types, func=None, *, lib=None):
    """The function of an operator for kinds of devices: "cpu", "default" (all), or a list of them. A decorator where `func` is left out.

    >>> torch.library.define("example::third", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("example::third", "default")
    ... def third(x):
    ...     return x / 3
    >>> torch.ops.example.third(torch.full((1,), 6.0))
    tensor([2.])
    """
    op = _found(qualname)

    def register(function):
        for kind in (types,) if isinstance(types, str) else types:
            key = "CompositeExplicitAutograd" if kind == "default" else _KEYS.get(kind, kind)
            _set(op, key, function)
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
    found = _found(op)

    def register(function):
        kinds = ["default"] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
        for kind in kinds:
            _set(found, "CompositeExplicitAutograd" if kind == "default" else _KEYS.get(kind, kind), function)
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """An operator's rule on the device "meta": results without values. A decorator where `func` is left out.

    >>> op = torch.library.custom_op("example::row", lambda x: x.sum(0), mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> _ = torch.library.register_fake("example::row", lambda x: x.new_empty(x.shape[1:]))
    >>> op(torch.ones(2, 3, device="meta")).shape
    torch.Size([3])
    """
    found = _found(op)

    def register(function):
        found._fake = function
        return function

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """An old name of `register_fake`."""
    return register_fake(qualname, func)


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
    found = _found(op)
    found._backward, found._setup = backward, setup_context


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
    found = _found(op)

    def register(function):
        found._vmap = function
        return function

    return register if func is None else register(func)


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration", "test_faketensor"), raise_exception=True, rtol=None, atol=None):
    """Tests an operator with some arguments: whether it changes only what its schema says, whether a gradient has a formula, and whether results on the
    device "meta" have the shapes and dtypes of the real ones.

    Returns {test: "SUCCESS" or what went wrong}. Errors: what went wrong, with `raise_exception`.

    >>> op = torch.library.custom_op("example::cube", lambda x: x**3, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> torch.library.opcheck(op, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    found, kwargs = _found(op), kwargs or {}
    tests = {"test_schema": _test_schema, "test_autograd_registration": _test_formula, "test_faketensor": _test_fake}
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
    values = op._schema.bind(args, kwargs, op.name())
    before = [t.detach().clone() for t in _tensors(values)]
    with torch.no_grad():
        op(*args, **kwargs)
    numbered = [a for a, v in zip(op._schema.arguments, values) for _ in _tensors([v])]
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


def _meta(value):
    return value.detach().to("meta") if isinstance(value, torch.Tensor) else value
