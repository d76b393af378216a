"""The objects behind `torch.ops`: an operator with its overloads, and one overload with its schema.

>>> add = torch.ops.aten.add.Tensor
>>> add.name(), add.overloadpacket, add._schema.arguments[2].name
('aten::add.Tensor', aten.add, 'alpha')
>>> add(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

import contextlib
import functools

import _cresset

from . import operator_schema as _schema

__all__ = ["OpOverload", "OpOverloadPacket"]


class OperatorBase:
    """The base of operators of all kinds."""

    functionalize_rule = None  # what a FunctionalTensorMode calls in place of the operator

    def py_functionalize_impl(self, function):
        """Decorator: a `FunctionalTensorMode` calls `function(api, *args, **kwargs)` in place of the operator, api being a `PythonFunctionalizeAPI`.

        >>> op = torch.ops.aten.frexp.Tensor
        >>> functional = torch._subclasses.functional_tensor
        >>> @op.py_functionalize_impl
        ... def rule(api, x):
        ...     with api.redispatch_to_next():
        ...         return api.wrap_tensors(op(api.unwrap_tensors(x) * 2))
        >>> x = torch.ones(1)
        >>> functional.dispatch_functionalize(op)(x)[0], op(x)[0]
        (tensor([0.5000]), tensor([0.5000]))
        >>> op.functionalize_rule = None
        """
        self.functionalize_rule = function
        return function

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


def _refused(error):
    """Arguments that fit no schema are errors of another type here than in functions of the package."""
    return RuntimeError(str(error)) if "the arguments fit no form of it" in str(error) else error


def _in_rows(schema, args, kwargs):
    """The arguments with every tensor that stands for a list of tensors or None replaced by its rows; None where there is none."""
    named = {**dict(zip((argument.name for argument in schema.arguments), args, strict=False)), **kwargs}
    lists = {argument.name for argument in schema.arguments if str(argument.type) == "List[Optional[Tensor]]"}
    rows = {name: list(value) for name, value in named.items() if name in lists and isinstance(value, _cresset.Tensor) and value.dim() > 0}
    return {**named, **rows} if rows else None


takes_numbers = set()  # operators of libraries that take Python numbers for tensors


class OpOverload(OperatorBase):
    """One overload of an operator: takes what its schema lists, and nothing else."""

    def __init__(self, packet, overload, entry=None, call=None, schema=None):
        self._overloadpacket, self._overloadname, self._entry = packet, overload, entry
        self._namespace, self._opname = packet._namespace, packet.__name__
        self._name = packet._qualified_op_name + ("" if overload == "default" else f".{overload}")
        self.__name__, self.__qualname__ = f"{packet.__name__}.{overload}", self._name
        self.__module__ = packet.__module__
        self._call = call or _cresset.make_op(packet.__name__, [entry], packet.__name__ in takes_numbers)
        self._op = self._call
        self._text = schema
        self.py_kernels = {}

    def __call__(self, /, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        try:
            return self._call(*args, **kwargs)
        except TypeError as error:
            refused = _refused(error)
        if (rows := _in_rows(self._schema, args, kwargs)) is None:
            raise refused from None
        return self(**rows)

    @functools.cached_property
    def _schema(self):
        return _schema.FunctionSchema(self._text or _cresset._entry(self._entry)[0], self._namespace, self._overloadname)

    @functools.cached_property
    def _effect(self):
        """The effect of calls beside their results, as `torch.library` says; graphs keep such calls."""
        from .._library.effects import of_the_table

        return of_the_table(self._name)

    @property
    def overloadpacket(self):
        """The operator with all its overloads."""
        return self._overloadpacket

    @property
    def op(self):
        """The function that computes it."""
        return self._call

    @property
    def namespace(self):
        """`aten` for the operators of the table."""
        return self._namespace

    def name(self):
        """`aten::add.Tensor`."""
        return self._name

    @functools.cached_property
    def is_view(self):
        """Whether a result shares memory with an argument that is not written."""
        schema = self._schema
        return any(r.alias_info is not None and not r.is_write for r in schema.returns) and not schema.is_mutable

    @functools.cached_property
    def tags(self):
        """Its members of `torch.Tag`."""
        from . import operator_tags

        return operator_tags.of(self)

    def _can_decompose(self):
        return self._entry is not None and _cresset._entry(self._entry)[1]

    def decompose(self, /, *args, **kwargs):
        """The composite's own operators in place of it; NotImplemented for one that is none."""
        return self(*args, **kwargs) if self._can_decompose() else NotImplemented

    def has_kernel_for_dispatch_key(self, key):
        """Whether there is a function for a key of `torch._C.DispatchKey`, or its name."""
        name = str(key).rpartition(".")[2]
        if name in ("CompositeImplicitAutograd", "Autograd"):
            return self._can_decompose() or name == "Autograd"
        return key in self.py_kernels or (self._entry is not None and name in ("CPU", "Meta") and not self._can_decompose())

    def has_kernel_for_any_dispatch_key(self, keys):
        """Whether there is a function for one of a set of keys."""
        return any(self.has_kernel_for_dispatch_key(key) for key in keys._keys)

    def py_impl(self, key):
        """Decorator: the function that a mode's class, or a key, calls in place of the operator. AssertionError where a class has one."""
        if isinstance(key, type) and key in self.py_kernels:
            raise AssertionError(f"{self}: {key} has a function already")

        def register(function):
            self.py_kernels[key] = function
            return function

        return register

    def redispatch(self, keyset, /, *args, **kwargs):
        """The call as a set of keys asks for it: past the layer of gradients where that is none of them."""
        if any(key.name.startswith("Autograd") for key in keyset._keys):
            return self._call(*args, **kwargs)
        return _cresset._call_below_autograd(self._call, args, kwargs)

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __repr__(self):
        return f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __reduce__(self):
        return _found, (self._namespace, self._opname, self._overloadname)


class Composed(OpOverload):
    """An overload that is made of calls of others, which modes see in its place."""

    takes_tensors = True

    def __call__(self, /, *args, **kwargs):
        return self._call(*args, **kwargs)

    def _can_decompose(self):
        return True


Composed.__name__ = Composed.__qualname__ = "OpOverload"  # as graphs and programs know the class


def no_overload(packet, name):
    """The text of the error for a name that none of an operator's overloads has."""
    return f"torch.ops.{packet._namespace}.{packet.__name__} has no overload {name!r}, it has {', '.join(packet._overloads) or 'none'}"


class OpOverloadPacket(OperatorBase):
    """All overloads of an operator: a call goes to the first that its arguments fit."""

    _namespace = "aten"

    def __init__(self, name, overloads, made=None, namespace=None):
        self._namespace = namespace or self._namespace
        self.__name__, self.__qualname__, self.__module__ = name, name, f"torch._ops.{self._namespace}"
        self._overloads = {**overloads, **(made or {})}  # name -> entry, or what makes the overload: a function of the packet
        self._entries = [entry for entry in overloads.values() if isinstance(entry, str)]
        self._call = _cresset.make_op(name, self._entries) if self._entries else None
        self._beside = list(made or ()) if self._entries else ()  # overloads that are no rows

    @property
    def _qualified_op_name(self):
        return f"{self._namespace}::{self.__name__}"

    @property
    def op(self):
        """The function that finds the overload."""
        return self._call or self._first_that_fits

    def _first_that_fits(self, /, *args, **kwargs):
        refused = None
        for overload in self._overloads:
            try:
                return getattr(self, overload)._call(*args, **kwargs)
            except TypeError as error:
                refused = refused or error
        raise refused

    def __call__(self, /, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        try:
            return self.op(*args, **kwargs)
        except TypeError as error:
            refused = _refused(error)
        for overload in self._beside:
            with contextlib.suppress(RuntimeError, TypeError):
                return getattr(self, overload)._call(*args, **kwargs)
        for overload in self._overloads:
            if (rows := _in_rows(getattr(self, overload)._schema, args, kwargs)) is not None:
                return self(**rows)
        raise refused from None

    @property
    def _schemas(self):
        return {"" if name == "default" else name: getattr(self, name)._schema for name in self.overloads()}

    def overloads(self):
        """The names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, overload):
        overloads = self.__dict__.get("_overloads", {})
        if overload.startswith("__") or overload not in overloads:
            raise AttributeError(no_overload(self, overload), name=overload, obj=self)
        what = overloads[overload]
        found = self.__dict__[overload] = OpOverload(self, overload, what) if isinstance(what, str) else what(self, overload)
        return found

    def __dir__(self):
        return [*super().__dir__(), *self._overloads]

    def __iter__(self):
        return iter(self.overloads())

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __reduce__(self):
        return _found, (self._namespace, self.__name__)


def _found(namespace, *names):
    from .. import ops

    found = getattr(ops, namespace)
    for name in names:
        found = getattr(found, name)
    return found
