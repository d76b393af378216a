"""The typed model: types, arguments and schemas of ops, rows of ops/*.toml, and the forms derived from a row."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

KINDS = ("primitive", "view", "composite", "fused")
FORMS = ("function", "method", "inplace", "out")
# Rules of promotion, with the number of inputs.
POINTWISE_META = {"unary": 1, "unary_float": 1, "binary_promote": 2, "binary_float": 2, "compare": 2, "ternary": 3, "pointwise": None,
                  "pointwise_float": None, "pointwise_first": None}  # fmt: skip
CAST_POLICIES = ("none", "lower", "single", "promote", "refuse")
DRAWS = ("sized", "element", "batched", "in_place", "mask", "dropout", "composite", "rows")
FLOAT8_EXCEPTIONS = ("empty", "alone", "coo")
GRAD_STATES = ("non_differentiable", "not_implemented")
JVP_RULES = ("linear", "multilinear")

# C++ parameter types by schema type: plain, optional, list, optional list.
CPP = {
    "Tensor": ("const Tensor&", "const std::optional<Tensor>&", "TensorList", "const std::optional<TensorList>&"),
    "Scalar": ("const Scalar&", "const std::optional<Scalar>&", "ArrayRef<Scalar>", "const std::optional<ArrayRef<Scalar>>&"),
    "int": ("int64_t", "std::optional<int64_t>", "IntArrayRef", "OptionalIntArrayRef"),
    "float": ("double", "std::optional<double>", "ArrayRef<double>", "const std::optional<ArrayRef<double>>&"),
    "bool": ("bool", "std::optional<bool>", "ArrayRef<bool>", ""),
    "str": ("std::string_view", "std::optional<std::string_view>", "", ""),
    "ScalarType": ("ScalarType", "std::optional<ScalarType>", "", ""),
    "Layout": ("Layout", "std::optional<Layout>", "", ""),
    "Device": ("Device", "std::optional<Device>", "", ""),
    "MemoryFormat": ("MemoryFormat", "std::optional<MemoryFormat>", "", ""),
    "Generator": ("const Generator&", "const std::optional<Generator>&", "", ""),
}
CPP_RETURNS = {"Tensor": "Tensor", "Scalar": "Scalar", "int": "int64_t", "float": "double", "bool": "bool", "ScalarType": "ScalarType"}
CPP_DEFAULTS = {
    "None": "{}", "True": "true", "False": "false", "[]": "{}", "contiguous_format": "MemoryFormat::Contiguous", "preserve_format": "MemoryFormat::Preserve",
    "Mean": "1", "Sum": "2", "long": "kLong", "float": "kFloat", "inf": "std::numeric_limits<double>::infinity()",
}  # fmt: skip
OPTIONS = ("dtype", "layout", "device", "pin_memory")


class RowError(Exception):
    """A mistake in a row, with the file and line it stands on."""

    def __init__(self, file: str | Path, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


@dataclasses.dataclass(frozen=True)
class Type:
    base: str
    optional: bool = False
    list: bool = False
    element_optional: bool = False
    size: int | None = None
    symbolic: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.base == "Tensor"

    @property
    def cpp(self) -> str:
        if self.element_optional:
            return "ArrayRef<std::optional<Tensor>>"
        return CPP[self.base][2 * self.list + self.optional]

    def __str__(self) -> str:
        text = ("SymInt" if self.symbolic else self.base) + ("?" if self.element_optional else "")
        if self.list:
            text += f"[{self.size or ''}]"
        return text + ("?" if self.optional else "")


@dataclasses.dataclass(frozen=True)
class Argument:
    type: Type
    name: str
    default: str | None = None
    keyword_only: bool = False
    alias: str | None = None
    writes: bool = False

    def __str__(self) -> str:
        mark = f"({self.alias}{'!' if self.writes else ''})" if self.alias else ""
        text = str(self.type).replace("Tensor", f"Tensor{mark}", 1)
        return f"{text} {self.name}".rstrip() + (f"={self.default}" if self.default is not None else "")


@dataclasses.dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    @property
    def full_name(self) -> str:
        return self.name + (f".{self.overload}" if self.overload else "")

    def __str__(self) -> str:
        parts: list[str] = []
        for a in self.arguments:
            if a.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(a))
        results = [str(r) for r in self.returns]
        text = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.full_name}({', '.join(parts)}) -> {text}"


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One C++ parameter: an argument, or the four that make TensorOptions."""

    cpp: str
    name: str
    default: str | None
    argument: Argument | None

    @property
    def is_options(self) -> bool:
        return self.argument is None

    @property
    def is_tensor(self) -> bool:
        return self.argument is not None and self.argument.type.is_tensor

    @property
    def in_key(self) -> bool:
        return self.is_options or self.is_tensor or self.argument.type.base == "Generator"


def cpp_default(argument: Argument) -> str | None:
    default = argument.default
    if default is None:
        return None
    if default in CPP_DEFAULTS and not (default == "None" and argument.type.base == "int" and argument.type.list):
        return CPP_DEFAULTS[default]
    if default == "None":
        return "std::nullopt"
    if default.startswith("["):
        return "{" + default[1:-1] + "}"
    return default.replace("'", '"')


def parameters(schema: Schema) -> list[Parameter]:
    result: list[Parameter] = []
    names = [a.name for a in schema.arguments]
    i = 0
    while i < len(names):
        a = schema.arguments[i]
        if tuple(names[i : i + 4]) == OPTIONS:
            default = {None: None, "None": "{}", "long": "kLong"}[a.default]
            result.append(Parameter("const TensorOptions&", "options", default, None))
            i += 4
            continue
        cpp = "Tensor&" if a.writes and not a.type.list else a.type.cpp
        result.append(Parameter(cpp, a.name, cpp_default(a), a))
        i += 1
    return result


@dataclasses.dataclass
class Row:
    """One [[op]] table."""

    file: Path
    line: int
    schema: Schema
    kind: str
    forms: tuple[str, ...]
    meta: str | None = None
    kernel: dict[str, str] = dataclasses.field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    check: str | None = None
    mask: str | None = None
    grad: dict[str, str] | str | None = None
    grad_name: tuple[str, ...] = ()
    grad_name_if: dict[str, str] = dataclasses.field(default_factory=dict)
    python_grad_name: str | None = None
    grad_once: bool = False
    cpp_name: str | None = None
    cpp_required: tuple[str, ...] = ()
    decomposition: str | None = None
    out_names: tuple[str, ...] = ()
    out_overload: str | None = None
    contiguous_out: bool = False
    out_dtype: str | None = None
    out_apart: bool | str = False
    out_same: bool = False
    out_overlap: bool = False
    out_body: bool = False
    out_quiet: bool = False
    any_device: bool = False
    any_layout: bool = False
    inplace_safe: bool = False
    inplace_promotes: bool = False
    output_differentiability: tuple[bool, ...] = ()
    aliases: tuple[str, ...] = ()
    python: str = "torch"
    jvp: str | None = None
    autocast: dict[str, str] = dataclasses.field(default_factory=dict)
    batch: str | dict[str, str] = ""
    draw: str | None = None
    sparse: str | dict[str, str] = ""
    coo: str | dict[str, str] = ""
    mkldnn: str | dict[str, str] = ""
    float8: dict[str, str] = dataclasses.field(default_factory=dict)
    mixed_devices: bool = False
    stored_dtypes: bool = False
    role: str | None = None
    fast: str | dict[str, str] = ""
    numbers: bool = False
    foreach: tuple[str, ...] = ()
    each: Row | None = None  # of a list form: the row whose op it calls on each element
    test: dict[str, object] = dataclasses.field(default_factory=dict)
    doc: str = ""
    example: str = ""

    @property
    def family(self) -> str:
        return self.file.stem

    @property
    def is_pointwise(self) -> bool:
        return self.meta in POINTWISE_META

    @property
    def is_direct(self) -> bool:
        return "direct" in self.kernel

    @property
    def exact_out(self) -> bool:
        """Whether `out` must have the result's dtype; otherwise the result is cast to it."""
        return self.out_rule == "exact"

    @property
    def out_rule(self) -> str:
        """The OutDtype of `out`."""
        if self.out_dtype is not None:
            return self.out_dtype
        return "exact" if self.kind in ("primitive", "fused") and not self.is_pointwise and not self.is_direct else "cast"

    @property
    def is_mutating(self) -> bool:
        """The row itself declares an in-place op: fill_, copy_."""
        return bool(self.schema.arguments) and self.schema.arguments[0].writes and self.schema.name.endswith("_")

    @property
    def writes_lists(self) -> bool:
        """An in-place op on lists. Its derivatives are those of its decomposition, which runs where autograd records."""
        return self.is_mutating and self.schema.arguments[0].type.list

    @property
    def where(self) -> str:
        return f"ops/{self.file.name}:{self.line}"

    @functools.cached_property
    def ops(self) -> list[Op]:
        if self.is_mutating:
            return [Op(self, self.schema, "inplace")]
        ops = [Op(self, self.schema, "function")]
        if "inplace" in self.forms:
            ops.append(Op(self, inplace_schema(self.schema), "inplace"))
        if "out" in self.forms:
            ops.append(Op(self, out_schema(self), "out"))
        return ops


@dataclasses.dataclass(frozen=True, eq=False)
class Op:
    """One form of a row: what is dispatched under one name."""

    row: Row
    schema: Schema
    form: str  # function, inplace or out

    @property
    def ident(self) -> str:
        return self.schema.full_name.replace(".", "_")

    @property
    def entry(self) -> str:
        return f"ops::entry::{self.ident}"

    @property
    def symbol(self) -> str:
        """The name by which programs are linked with this form."""
        return f' __asm__("cresset_{self.ident}")'

    def column(self, name: str) -> str:
        """Text of a column that speaks of the row's own op, or of each form by name."""
        value = getattr(self.row, name)
        return value.get(self.form, "") if isinstance(value, dict) else value if self is self.row.ops[0] else ""

    @functools.cached_property
    def params(self) -> list[Parameter]:
        return parameters(self.schema)

    @property
    def returns(self) -> str:
        if self.form in ("inplace", "out"):
            n = len(self.schema.returns)
            return "void" if n == 0 else "Tensor&" if n == 1 else f"std::tuple<{', '.join(['Tensor&'] * n)}>"
        parts = ["std::vector<Tensor>" if r.type.list else CPP_RETURNS[r.type.base] for r in self.schema.returns]
        return "void" if not parts else parts[0] if len(parts) == 1 else f"std::tuple<{', '.join(parts)}>"

    @property
    def type(self) -> str:
        return f"{self.returns}({', '.join(p.cpp for p in self.params)})"

    @property
    def outs(self) -> list[Parameter]:
        return [p for p in self.params if self.form == "out" and p.argument is not None and p.argument.writes]

    @property
    def inputs(self) -> list[Parameter]:
        return [p for p in self.params if p not in self.outs]

    def declare(self, name: str, *, defaults: bool = False, skip_self: bool = False, order: list[Parameter] | None = None) -> str:
        """`Tensor name(const Tensor& self, ...)`."""
        parts = []
        for p in (p for p in (self.params if order is None else order) if not (skip_self and p.name == "self")):
            default = f" = {p.default}" if defaults and p.default is not None and p.name not in self.row.cpp_required else ""
            parts.append(f"{p.cpp} {p.name}{default}")
        return f"{self.returns} {name}({', '.join(parts)})"

    @property
    def names(self) -> str:
        return ", ".join(p.name for p in self.params)

    @property
    def key(self) -> str:
        return f"key_of{'_drawing' * ('Generator?' in str(self.schema))}({', '.join(p.name for p in self.params if p.in_key)})"

    @property
    def is_method(self) -> bool:
        return "method" in self.row.forms and self.form != "out" and any(a.name == "self" for a in self.schema.arguments)

    @property
    def is_like_method(self) -> bool:
        """Whether a function and a method take the arguments in the same order."""
        return self.params[0].name == "self"

    @property
    def is_function(self) -> bool:
        return "function" in self.row.forms or (self.form != "function" and bool(self.row.forms))


def inplace_schema(schema: Schema) -> Schema:
    first = dataclasses.replace(schema.arguments[0], alias="a", writes=True)
    result = Argument(schema.returns[0].type, "", alias="a", writes=True)
    return Schema(schema.name + "_", schema.overload, (first, *schema.arguments[1:]), () if result.type.list else (result,))


def out_schema(row: Row) -> Schema:
    schema = row.schema
    overload = row.out_overload or ("out" if schema.overload in ("", "Tensor") else f"{schema.overload}_out")
    n = len(schema.returns)
    names = row.out_names or (("out",) if n == 1 else tuple(r.name or f"out{i}" for i, r in enumerate(schema.returns)))
    letters = "abcdefgh"
    outs = tuple(Argument(r.type, name, None, True, letters[i], True) for i, (r, name) in enumerate(zip(schema.returns, names, strict=True)))
    returns = tuple(Argument(r.type, r.name if n > 1 else "", None, False, letters[i], True) for i, r in enumerate(schema.returns))
    # dtype, layout, device and pin_memory of a factory are those of out.
    kept = tuple(a for a in schema.arguments if a.name not in OPTIONS) if is_factory(schema) else schema.arguments
    return Schema(schema.name, overload, (*kept, *outs), returns)


def makes_tensor(schema: Schema) -> bool:
    """Whether `options.requires_grad()` says something about the result."""
    return set(OPTIONS) <= {a.name for a in schema.arguments} and schema.name not in ("to", "_to_copy")


def is_factory(schema: Schema) -> bool:
    return set(OPTIONS) <= {a.name for a in schema.arguments} and not any(a.type.is_tensor for a in schema.arguments)


def families(rows: list[Row]) -> dict[str, list[Row]]:
    result: dict[str, list[Row]] = {}
    for row in rows:
        result.setdefault(row.family, []).append(row)
    return result
