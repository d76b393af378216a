"""torch.library: operators that programs define in Python, called as torch.ops.namespace.name.

>>> @torch.library.custom_op("example::scaled", mutates_args=())
... def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
...     return x * by
>>> torch.ops.example.scaled(torch.ones(2), 3.0)
tensor([3., 3.])
"""

import contextlib
import functools
import logging
import re
import sys
import warnings
import weakref

import _cresset

import cresset as torch

from . import ops
from ._core import dispatch_keys as _keys, schema as _schema
from ._core.operators import OpOverload as _OpOverload
from ._core.tag import Tag as _Tag
from ._library.effects import EffectType
from ._library.checks import OpCheckError, opcheck  # noqa: F401
from ._library.infer_schema import infer_schema
from ._library.operators import Defined as _Defined, OfLibrary as _OfLibrary, Packet as _Packet, cast as _cast, fakes as _fakes, key_of_device as _key_of_device
from ._library.operators import FALLBACKS as _FALLBACKS, tensors_of as _tensors

__all__ = ["Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract", "infer_schema",
           "register_autocast", "register_fake", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"]  # fmt: skip


def fallthrough_kernel():
    """Stands for "nothing to do here" where a function is expected by `Library.impl`. Raises when it is called.

    >>> torch.library.fallthrough_kernel.__name__
    'fallthrough_kernel'
    """
    raise NotImplementedError("fallthrough_kernel is a mark for impl, not to be called.")


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
    if ".default" in text.partition("(")[0]:
        raise RuntimeError(f"schema: 'default' is the overload without a name; leave it out, got {text!r}")
    tags = _checked_tags(tags)
    packet = ops._defined.setdefault(namespace, {}).get(schema.name)
    if packet is None:
        packet = ops._defined[namespace][schema.name] = _Packet(namespace, schema.name)
    if schema.overload in packet._overloads:
        there = packet._overloads[schema.overload]
        raise RuntimeError(
            f"define: expected a new name and overload, got {schema.text} at {_place()}, which is there already as {there._form.text}, defined at {there._where}"
        )
    made = packet._overloads[schema.overload] = _Defined(namespace, schema, tags, packet)
    made._where = _place()
    for key, fn, undone in _pending.pop(made.name(), ()):
        _set(made, key, fn, undone)
    return made


def _checked_tags(tags):
    """Tags in a tuple. TypeError for what is none."""
    tags = (tags,) if isinstance(tags, _Tag) else tuple(tags)
    if not all(isinstance(tag, _Tag) for tag in tags):
        raise TypeError(f"tags: expected members of torch.Tag, got {tags}")
    return tags


def _found(op):
    """The operator of a "namespace::name" or "namespace::name.overload", or of an object that stands for it."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, _Defined):
        return op
    if isinstance(op, _Packet):
        return op.default
    if isinstance(op, _OpOverload) and op._entry is not None:
        return _OfLibrary(op, _set)
    if isinstance(op, ops._Packet):
        return _found(op.default)
    if not isinstance(op, str):
        raise ValueError(f"expected the name of an operator that was defined here, got {op!r}")
    namespace, name = _name(op)
    name, _, overload = name.partition(".")
    if overload == "default":
        raise RuntimeError(f"'default' is the overload without a name; leave it out, got {op!r}")
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
    parts = qualified.split("::")
    if len(parts) != 2:
        raise ValueError(f"expected a name of the form 'namespace::name', got {qualified!r}")
    if not all(re.fullmatch(r"[^\W\d]\w*(\.\w+)?", part) for part in parts):
        raise RuntimeError(f"expected a name of the form 'namespace::name' of letters, digits and underscores, got {qualified!r}")
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


_of_functions = {}  # "namespace::name" -> its CustomOpDef


class CustomOpDef:
    """An operator made by `custom_op`: call it, and register what else it needs.

    >>> op = torch.library.custom_op("example::plus", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> op(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._init_fn, self._schema = namespace, name, fn, schema
        before = _of_functions.get(self._qualname)
        if before is None and name.partition(".")[0] in ops._defined.get(namespace, {}):
            raise RuntimeError(f"custom_op: {self._qualname} is there already, defined at {_found(self._qualname)._where}")
        if before is not None:  # a program may define it anew
            ops._defined.get(namespace, {}).pop(name.partition(".")[0], None)
        tags = (_Tag.pt2_compliant_tag, *(tag for tag in _checked_tags(tags or ()) if tag is not _Tag.pt2_compliant_tag))
        self._op = _add(namespace, f"{namespace}::{name}{schema}", tags)
        self._op._checks_aliases, self._op._initial = True, fn
        if before is not None:
            before._op = self._op
        _of_functions[self._qualname] = self
        functools.update_wrapper(self, fn) if hasattr(fn, "__name__") else None

    @property
    def _opoverload(self):
        return self._op

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args, **kwargs):
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
        """A context in which the function that was registered for a kind of device is off, so that the first one runs, or on. A name that is
        no kind of device is logged, and nothing is switched."""
        try:
            key = device_type if device_type in _keys.DispatchKey.__members__ else _key_of_device(device_type)
        except RuntimeError:
            logging.getLogger(__name__).warning("set_kernel_enabled: %s has no function for the kind of device %r", self._qualname, device_type)
            return contextlib.nullcontext()
        return _Switched(self._op._disabled, key, enabled)

    def register_effect(self, effect):
        """Says that calls do something beside their results, so that graphs keep those whose results nothing uses; None: that they do not."""
        _register_effectful_op(self, effect)

    def register_vmap(self, func=None):
        """The operator's rule under vmap; see `torch.library.register_vmap`."""
        return register_vmap(self, func)


def _definition_of(op):
    """The object that `custom_op` made, of itself, an overload or a name; None for other operators."""
    if isinstance(op, CustomOpDef):
        return op
    return _of_functions.get(op if isinstance(op, str) else op._name)


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
        text = infer_schema(function, mutates_args=mutates_args, tags=tags or ()) if schema is None else schema
        namespace, short = _name(name)
        if namespace in _RESERVED:
            raise ValueError(f"custom_op: {namespace} is a reserved namespace, choose another one")
        if not text.lstrip().startswith("("):
            raise RuntimeError(f'custom_op: expected a schema like "(Tensor x) -> Tensor", got {text!r}')
        form = _schema.parse(f"{namespace}::{short}{text}", namespace)
        written = {a.name for a in form.arguments if a.mutated}
        if schema is not None and (mutates_args == "unknown" or set(mutates_args) != written):
            raise ValueError(f"custom_op: the schema {schema!r} writes {written or 'nothing'}, and mutates_args is {mutates_args!r}; they have to agree")
        if any(a.keyword and a.base == "Tensor" and not a.mutated for a in form.arguments):
            raise NotImplementedError(f"custom_op: tensors that are given by keyword alone have no gradients; let them be given by place, got {form.text}")
        _check_device_types(form, device_types)
        made = CustomOpDef(namespace, short, text, function, tags)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


_RESERVED = ("prim", "_")


def _check_device_types(form, device_types):
    """ValueError for functions of some devices alone, of an operator that has neither tensors nor a device to tell them by."""
    if device_types is None or any(a.base == "Tensor" for a in form.arguments):
        return
    if not any(a.name == "device" and a.type == "Device" for a in form.arguments):
        raise ValueError(f"{form.text}: an operator without tensors needs an argument `device: torch.device` to have functions by kinds of devices")


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
        if ns in _RESERVED and (kind != "IMPL" or ns != "_"):
            raise ValueError(f"Library: {ns} is a reserved namespace, choose another one")
        if dispatch_key:
            _keys.parsed(_key_name(dispatch_key))
        if dispatch_key and kind != "IMPL":
            raise RuntimeError(f"Library: a key goes with the kind IMPL, got {dispatch_key} with {kind}")
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
        return f"{self.ns}::{made._form.name}" if named else made._form.name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator for a kind of device: "CPU", "Meta", "CompositeExplicitAutograd" (all of them), "CompositeImplicitAutograd" (all,
        and gradients go through it), or "Autograd". A later function takes the place of an earlier one, whatever `allow_override` is."""
        if not callable(fn):
            raise TypeError(f"impl: expected a callable, got {type(fn)}")
        if not isinstance(op_name, (str, _OpOverload)):
            raise RuntimeError(f"impl: expected the name of an operator, or an OpOverload, got {type(op_name).__name__}")
        if isinstance(op_name, str) and "::" in op_name and self.ns != op_name.partition("::")[0]:
            raise RuntimeError(f"impl: the name {op_name} is of another namespace than the library, {self.ns}")
        if dispatch_key and self.dispatch_key and _key_name(dispatch_key) != _key_name(self.dispatch_key):
            raise RuntimeError(f"impl: the key {dispatch_key} of {op_name} is inconsistent with that of the library, {self.dispatch_key}")
        if with_keyset:
            fn = _with_keys(fn)
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        named = op_name if isinstance(op_name, _OpOverload) or "::" in op_name else f"{self.ns}::{op_name}"
        if isinstance(named, str) and named.endswith(".default"):
            raise RuntimeError(f"impl: 'default' is the overload without a name; leave it out, got {op_name!r}")
        if isinstance(named, str) and not _is_there(named):  # its definition may come later
            if "." in named and named.partition(".")[0].partition("::")[2] in ops._defined.get(self.ns, {}):
                raise RuntimeError(f"impl: operator {named} does not exist")
            _pending.setdefault(named, []).append((key, fn, self._undone))
            return
        _set(_found(named), key, fn, self._undone)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """The function of all operators without one of their own for a key, by a library of the namespace "_", for the life of the library: it is called
        with the keys of the call where `with_keyset` is set, the operator, and the arguments; `fallthrough_kernel` passes the key by.

        Errors: RuntimeError for a library of another namespace, for no key, and for a key that has a fallback; TypeError for what is no function.

        >>> lib = torch.library.Library("_", "IMPL")
        >>> lib.fallback(lambda op, x: op(x.to_dense()), "SparseCPU")
        >>> torch.ops.aten.lgamma(torch.ones(2).to_sparse())
        tensor([0., 0.])
        >>> lib._destroy()
        """
        if self.ns != "_":
            raise RuntimeError(f"Library.fallback: expected a library of the namespace '_', got {self.ns!r}")
        key = _key_name(dispatch_key or self.dispatch_key)
        if not key:
            raise RuntimeError("Library.fallback: expected a key, got none, of the library or of the call")
        _keys.parsed(key)
        if not callable(fn):
            raise TypeError(f"fallback: expected a callable, got {type(fn)}")
        if fn is fallthrough_kernel:
            return

        def call(op, *args, **kwargs):
            return fn(_keys.keys_of(_tensors([*args, *kwargs.values()])), op, *args, **kwargs) if with_keyset else fn(op, *args, **kwargs)

        number = _cresset._implement_fallback(key, lambda entry, *args, **kwargs: call(ops._overload_of(entry), *args, **kwargs))
        _FALLBACKS[key] = call
        self._undone += [functools.partial(_cresset._unimplement, number), functools.partial(_FALLBACKS.pop, key, None)]

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        """`torch.library.register_fake` of an operator of the namespace, for the life of this library."""
        return register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn, lib=self)

    def _register_effectful_op(self, op_name, effect):
        _register_effectful_op(op_name if "::" in op_name else f"{self.ns}::{op_name}", effect, lib=self)

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
        raise RuntimeError(f"could not parse dispatch key '{key}': expected one of torch._C.DispatchKey, as CPU, Meta, CompositeExplicitAutograd or Autograd")
    if isinstance(op, _OfLibrary):
        number = _cresset._implement(op.entry, key, None if fn is fallthrough_kernel else fn)
        (undone if undone is not None else _kept).append(functools.partial(_cresset._unimplement, number))
    elif fn is fallthrough_kernel:  # of an operator of this module, whose keys without a function are passed by
        return
    else:
        before = op._kernels.get(key)
        op.put(key, fn)
        if undone is not None:
            undone.append(functools.partial(op.put, key, before))


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
    if not isinstance(qualname, str):
        raise ValueError(f"define: expected a name of the form 'namespace::name', got {qualname!r}")
    if not isinstance(schema, str):
        raise TypeError(f"define: expected the schema as text, got {type(schema).__name__}")
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
    if isinstance(qualname, str) and not _is_there(qualname):  # its definition may come later
        _name(qualname)
        return _later(qualname, _keys_named(types), func, _notes_of(lib, "impl"))
    op, undone = _found(qualname), _notes_of(lib, "impl")

    def register(function):
        if not callable(function):
            raise TypeError(f"impl: expected a callable, got {type(function)}")
        for key in _keys_named(types):
            _set(op, key, function, undone)
        return function

    if func is None:
        return register
    register(func)
    return None


def _keys_of_kinds(kinds):
    """Names of keys: of kinds of devices, or of None, which stands for all."""
    kinds = () if kinds is None else (kinds,) if isinstance(kinds, str) else kinds
    return [_key_of_device(kind) for kind in kinds] if kinds else ["CompositeExplicitAutograd"]


def _kernel_keys(kinds):
    """Names of keys for an operator of `define`: as of `impl`, where None stands for all."""
    return _keys_named("default" if kinds is None else kinds)


def _keys_named(kinds):
    """Names of keys: as they are, of kinds of devices, or of "default", which stands for all."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    given = [kind for kind in kinds if kind in _keys.DispatchKey.__members__]
    return given or ["CompositeExplicitAutograd" if kind == "default" else _key_of_device(kind) for kind in kinds]


def _later(name, keys, function, undone):
    """Functions that wait for the definition of an operator; a decorator where there is none yet."""

    def register(function):
        _pending.setdefault(name, []).extend((key, function, undone) for key in keys)
        return function

    return register if function is None else register(function)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """As `impl`, by an operator or its name; None stands for all kinds of devices. A decorator where `func` is left out. For an operator of
    `custom_op`, RuntimeError for names that are no kinds of devices.

    >>> op = torch.library.custom_op("example::same", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda")
    >>> _ = torch.library.register_kernel(op, "cpu", lambda x: x * 1)
    >>> op(torch.ones(1))
    tensor([1.])
    """
    undone = _notes_of(lib, "register_kernel")
    if isinstance(op, str) and not _is_there(op):
        _name(op)
        return _later(op, _kernel_keys(device_types), func, undone)
    found = _found(op)
    of_custom_op = isinstance(found, _Defined) and found._checks_aliases
    if of_custom_op:
        _check_device_types(found._form, device_types)

    def register(function):
        for key in _keys_of_kinds(device_types) if of_custom_op else _kernel_keys(device_types):
            _set(found, key, function, undone)
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

    if isinstance(found, _Defined) and found._can_decompose():
        raise RuntimeError(f"register_fake: {found.name()} has a composite function, which is run on tensors without data, too")

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
    if not found._form.returns or any(a.mutated for a in found._form.arguments) or any("(" in r for r in found._form.returns):
        raise RuntimeError(f"register_autograd: formulas are for operators that have results, which share no memory, and write nothing, got {found._form.text}")
    _refuse_keyword_tensors(found, "register_autograd")
    undone = _notes_of(lib, "register_autograd")
    for name, value in (("_backward", backward), ("_setup", setup_context)):
        _assign(found, name, value, undone)


def _refuse_keyword_tensors(op, caller):
    if any(a.keyword and a.base == "Tensor" for a in op._form.arguments):
        raise NotImplementedError(f"{caller}: tensors that are given by keyword alone have no rules; let them be given by place, got {op._form.text}")


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
    _refuse_keyword_tensors(found, "register_vmap")

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
        found._torch_dispatch[torch_dispatch_class] = function
        if undone is not None:
            undone.append(functools.partial(found._torch_dispatch.pop, torch_dispatch_class, None))
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Inputs of floating point numbers are cast to a dtype where autocast is on for their kind of device.

    Errors: ValueError for kinds of devices other than "cpu", "cuda" and "xpu", and for no dtype.

    >>> op = torch.library.custom_op("example::halved", lambda x: x / 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> torch.library.register_autocast(op, "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     op(torch.ones(1)).dtype
    torch.bfloat16
    """
    if device_type not in ("cpu", "cuda", "xpu"):
        raise ValueError(f"register_autocast: expected the kind of device 'cpu', 'cuda' or 'xpu', got {device_type!r}")
    if not isinstance(cast_inputs, torch.dtype):
        raise ValueError(f"register_autocast: expected a dtype for inputs, got {cast_inputs!r}")
    found, undone = _found(op), _notes_of(lib, "register_autocast")
    if isinstance(found, _OfLibrary):
        _set(found, f"Autocast{device_type.upper()}", _casting(found.overload, device_type, cast_inputs), undone)
        return
    found._autocast[device_type] = cast_inputs
    if undone is not None:
        undone.append(functools.partial(found._autocast.pop, device_type, None))


def _register_effectful_op(op, effect, *, lib=None):
    """Says what calls of an operator do beside their results: a member of `EffectType`, or None for nothing.

    Errors: ValueError for another effect.
    """
    if effect is not None and not isinstance(effect, EffectType):
        raise ValueError(f"register_effect: expected a member of EffectType, or None, got {effect!r}")
    found, undone = _found(op), _notes_of(lib, "register_effect")
    overload = found.overload if isinstance(found, _OfLibrary) else found
    before, overload._effect = overload._effect, effect
    if undone is not None:
        undone.append(functools.partial(setattr, overload, "_effect", before))


def _casting(overload, kind, dtype):
    """The function of an operator for autocast: the operator, of inputs in a dtype."""

    def call(*args, **kwargs):
        args, kwargs = torch.utils._pytree.tree_map(lambda v: _cast(v, dtype), (args, kwargs))
        with torch.autocast(kind, enabled=False):
            return overload(*args, **kwargs)

    return call


def get_ctx():
    """The context of a rule that `register_fake` names, while it runs, which makes sizes that depend on data; None elsewhere.

    >>> torch.library.get_ctx() is None
    True
    """
    return _fakes[-1] if _fakes else None


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
        made = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        made.register_fake(function)
        return made

    return make if fn is None else make(fn)
