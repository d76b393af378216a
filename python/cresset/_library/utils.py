"""Questions about operators and their schemas, which libraries ask.

>>> torch._library.utils.mutates_and_returns_first_arg(torch.ops.aten.add_.Tensor)
True
>>> torch._library.utils.parse_namespace("aten::add")
('aten', 'add')
"""

from .._core.operator_schema import CLASSES, ListType, OptionalType

_TENSOR = CLASSES["TensorType"].get()


class RegistrationHandle:
    """A registration that can be undone: `destroy` calls a function."""

    def __init__(self, on_destroy):
        self._on_destroy = on_destroy

    def destroy(self):
        """Undoes the registration."""
        self._on_destroy()


def parse_namespace(qualname):
    """The two parts of "namespace::name". ValueError for other texts."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f"expected a name of the form 'namespace::name', got {qualname!r}")
    return tuple(parts)


def lookup_op(qualname):
    """The overload of "namespace::name" or "namespace::name.overload". AttributeError where there is none."""
    from .. import ops

    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(ops, namespace), name), overload or "default")


def is_builtin(op):
    """Whether an overload is one of PyTorch's own namespaces."""
    return op.namespace in ("aten", "prim", "prims")


def is_tensor_like_type(typ):
    """Whether a schema's type is a tensor, or one that may be None."""
    return typ == _TENSOR or typ == OptionalType(_TENSOR)


def is_tensorlist_like_type(typ):
    """Whether a schema's type is a list of tensors, which may be None."""
    tensors = ListType(_TENSOR)
    return typ in (tensors, ListType(OptionalType(_TENSOR)), OptionalType(tensors))


def is_functional_schema(schema):
    """Whether a schema, or its text, has results, writes nothing and has no results that share memory."""
    from .._C import parse_schema

    schema = parse_schema(schema) if isinstance(schema, str) else schema
    return bool(schema.returns) and not schema.is_mutable and all(r.alias_info is None for r in schema.returns)


def mutates_and_returns_first_arg(op):
    """Whether an overload writes its first argument alone, and returns it alone."""
    schema = op._schema
    if len(schema.returns) != 1 or not schema.arguments or not schema.arguments[0].is_write or any(a.is_write for a in schema.arguments[1:]):
        return False
    result = schema.returns[0].alias_info
    return result is not None and result.is_write and schema.arguments[0].alias_info.before_set == result.after_set


def _holds_tensors(argument):
    return is_tensor_like_type(argument.type) or is_tensorlist_like_type(argument.type)


def _by_keyword(schema):
    """The arguments that are given by keyword alone."""
    return [a for a in schema.arguments if a.kwarg_only]


def has_kwarg_only_args(schema):
    """Whether an argument is given by keyword alone."""
    return len(_by_keyword(schema)) > 0


def has_kwarg_only_tensors(schema):
    """Whether a tensor, or a list of them, is given by keyword alone."""
    return any(map(_holds_tensors, _by_keyword(schema)))


def has_tensor_arg(schema):
    """Whether an argument is a tensor, or a list of them."""
    return any(map(_holds_tensors, schema.arguments))


def get_device_arg_index(schema):
    """The place of the argument `device`; None where there is none."""
    return next((i for i, a in enumerate(schema.arguments) if a.name == "device" and str(a.type) == "Device"), None)


def zip_schema(schema, args, kwargs):
    """Pairs of arguments of a schema and their values, of those that are given."""
    count = len(args) + len(kwargs)
    if count > len(schema.arguments):
        raise AssertionError(f"zip_schema: got {count} values for {len(schema.arguments)} arguments of {schema}")
    for place, argument in enumerate(schema.arguments):
        if argument.kwarg_only or place >= len(args):
            if argument.name in kwargs:
                yield argument, kwargs[argument.name]
        else:
            yield argument, args[place]


def fill_defaults(schema, args, kwargs):
    """The arguments of a call, with those that are left out."""
    given, filled, named = dict(kwargs), list(args), {}
    for place, argument in enumerate(schema.arguments):
        if argument.kwarg_only:
            named[argument.name] = given.get(argument.name, argument.default_value)
        elif place >= len(args):
            filled.append(given.get(argument.name, argument.default_value))
    return tuple(filled), named


def mutated_args_kwargs(schema):
    """The places of the arguments that are written, and the names of those that are given by keyword."""
    written = [(i, a) for i, a in enumerate(schema.arguments) if a.is_write]
    return [i for i, a in written if not a.kwarg_only], [a.name for _, a in written if a.kwarg_only]
