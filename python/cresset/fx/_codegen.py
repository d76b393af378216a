"""Python code of a graph: a function `forward` with a statement for each node."""

import collections.abc
import enum
import keyword
import re
import types
import typing
from collections import defaultdict
from dataclasses import dataclass

import cresset as torch

from . import _pytree as fx_pytree
from ._naming import Namespace, _custom_builtins, _is_magic
from ..utils import _pytree as pytree
from .node import Node, _get_qualified_name, _is_operator_of_torch, _place, _public, _type_repr

reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}",
    "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}",
    "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}", "imul": "{} *= {}",
    "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip

dtype_abbrs = {
    torch.bfloat16: "bf16", torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.complex32: "c32", torch.complex64: "c64",
    torch.complex128: "c128", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "b8", torch.uint8: "u8",
    **{getattr(torch, name): short for name, short in (
        ("float8_e4m3fn", "f8e4m3fn"), ("float8_e5m2", "f8e5m2"), ("float8_e4m3fnuz", "f8e4m3fnuz"), ("float8_e5m2fnuz", "f8e5m2fnuz"),
        ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"),
    ) if hasattr(torch, name)},
}  # fmt: skip

_typing_names = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}  # noqa: UP006


@dataclass
class PythonCode:
    """The code of a graph.

    `src` is the text of `forward`, `globals` are the values that it names, `_lineno_map` gives the number of the node for a line of the body,
    and `_prologue_start` is the line on which the body begins.

    >>> torch.fx.symbolic_trace(lambda x: x).graph.python_code("self").src.strip().split("\\n")
    ['def forward(self, x):', '    return x']
    """

    src: str
    globals: dict
    _lineno_map: dict | None = None
    _prologue_start: int = 0


def _format_target(base, target):
    """The text that gets an attribute by its path: `self.a.b`, or `getattr(self.a, "0")` where a part is no identifier."""
    for part in target.split("."):
        if part.isidentifier():
            base = f"{base}.{part}"
        else:
            quoted = f'"{part}"' if part.isprintable() and not set(part) & set('"\\') else repr(part)
            base = f"getattr({base}, {quoted})"
    return base


class _ParsedStackTrace(typing.NamedTuple):
    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self):
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


_TRACE_LINE = re.compile(r'^File "(.+)", line (\d+), in (.+)$')


def _parse_stack_trace(stack_trace, filter_fn=None):
    """The innermost entry of a trace that is not of Cresset itself; None where there is none."""
    lines = [line.strip() for line in (stack_trace or "").strip().split("\n")]
    for at in range(len(lines) - 2, -1, -1):
        if match := _TRACE_LINE.match(lines[at]):
            code = lines[at + 1] if not _TRACE_LINE.match(lines[at + 1]) else ""
            if filter_fn is None or filter_fn(match[1], match[3], code):
                return _ParsedStackTrace(match[1], match[2], match[3], code)
    return None


_COLORS = {"yellow": "\033[33m", "cyan": "\033[36m", "green": "\033[32m", "red": "\033[31m", "blue": "\033[34m", "dim": "\033[2m", "dim_blue": "\033[2m\033[34m",
           "dim_green": "\033[2m\033[32m"}  # fmt: skip


class CodeGen:
    """How the code of a graph is written. Subclasses write other heads and ends, and take the arguments apart in `process_inputs`.

    >>> class Listed(torch.fx.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
    ...         return f"def forward(self, args):\\n    {', '.join(free_vars)}, = args"
    ...     def process_inputs(self, args):
    ...         return args
    >>> traced = torch.fx.symbolic_trace(lambda x, y: x + y)
    >>> traced.graph.set_codegen(Listed())
    >>> _ = traced.recompile()
    >>> traced([1, 2])
    3
    """

    _body_transformer = None
    _func_name = "forward"

    def __init__(self):
        self._body_transformer = None

    def _format_multiline_args(self, args):
        return "\n" + "".join(f"    {arg},\n" for arg in args)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The head of the function; `free_vars` are its parameters as text."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        inner = self._format_multiline_args(free_vars) if expanded_def else ", ".join(free_vars)
        return f"def {self._func_name}({inner}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None):
        """The statement that returns the result."""
        return f"return {self._get_repr(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders, of a call's arguments."""
        return args

    def process_outputs(self, outputs):
        """The result of a call, of the value of the graph's output."""
        return outputs

    def additional_globals(self):
        """Pairs of names and values that the code uses besides those of the nodes."""
        return []

    def _get_repr(self, value):
        return repr(value)

    def _gen_python_code(
        self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False,
        record_func=False, additional_meta=None, expand_node_metadata=False,
    ):  # fmt: skip
        writer = _Writer(self, nodes, root_module, namespace)
        writer.shown = _Shown(include_stride, include_device, colored, additional_meta or []) if verbose else None
        return writer.written(expanded_def)


@dataclass
class _Shown:
    """How much `print_readable` tells."""

    strides: bool
    devices: bool
    colored: bool
    meta: list

    def color(self, name, text):
        return f"{_COLORS[name]}{text}\033[0m" if self.colored else text

    def annotation(self, value):
        """Type and shape of a tensor, or a symbolic number, in short; empty for other values."""
        if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
            return f"Sym({value})"
        dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
        if dtype not in dtype_abbrs or shape is None:
            return ""
        stride = getattr(value, "stride", None)
        stride = stride() if callable(stride) else stride
        strides = self.color("dim", str([*stride])) if self.strides and stride is not None else ""
        device = getattr(value, "device", None)
        place = self.color("dim", str(device)) if self.devices and device is not None else ""
        return f"{self.color('dim', dtype_abbrs[dtype])}{self.color('blue', str([*shape]))}{strides}{place}"


class _Writer:
    """Writes the code of one graph once."""

    def __init__(self, codegen, nodes, root_module, namespace):
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root_module, namespace
        self.parameters, self.body, self.globals, self.wrapped = [], [], {}, {}
        self.annotation = ""
        self.names = {}
        self.shown = None
        self.last_trace = object()  # that of no node

    def written(self, expanded_def):
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        for name, builtin in _custom_builtins.items():
            self.globals[name] = builtin.obj
        self.doomed = self._last_uses()
        ends = []
        self.codegen._get_repr = self.text
        try:
            for node in self.nodes:
                if self.shown:
                    self._note_origin(node)
                self.emit(node)
                ends.append(len(self.body))
        finally:
            del self.codegen._get_repr
        return self._assembled(ends, expanded_def)

    def _assembled(self, ends, expanded_def):
        body = self.body or ["pass\n"]
        if self.codegen._body_transformer:
            body = self.codegen._body_transformer(body)
        head = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        prologue = self.codegen.gen_fn_def(self.parameters, self.annotation, expanded_def=expanded_def)
        lines, numbers, start = "".join(body).lstrip("\n"), {}, prologue.count("\n") + head.count("\n") + 4
        if not self.codegen._body_transformer and self.body:
            numbers = self._line_numbers(ends)
        text = "\n".join("    " + line if line or not self.shown else "" for line in lines.split("\n"))
        return PythonCode(f"\n{head}\n\n{prologue}\n{text}", self.globals, numbers, start)

    def _line_numbers(self, ends):
        """{line of the body: number of its node}."""
        numbers, line, done = {}, 0, 0
        for index, end in enumerate(ends):
            line += "".join(self.body[done:end]).count("\n")
            done = end
            numbers[line] = index
        return numbers

    def _last_uses(self):
        """{node: the values that nothing uses after it}."""
        seen, doomed = set(), defaultdict(list)
        for node in reversed(self.nodes):
            for used in node._input_nodes:
                if used not in seen:
                    seen.add(used)
                    doomed[node].append(used)
        return doomed

    # ---- names ----------------------------------------------------------------------------------------------------------

    def name(self, node):
        found = self.names.get(node)
        if found is None:
            found = self.names[node] = self.namespace.create_name(node.name, node)
        return found

    def add_global(self, name_hint, obj):
        """The name that the code has for a value."""
        if obj is torch.device:
            return "device"
        if _is_from_torch(obj):
            return _get_qualified_name(obj)
        name = name_hint.replace(".", "_").replace("<", "_").replace(">", "_")
        if name in self.globals and self.globals[name] is obj:
            return name
        name = self.namespace.create_name(name, obj)
        if name in self.globals and self.globals[name] is not obj:
            raise AssertionError(f"code of a graph: the name {name!r} stands for two values")
        self.globals[name] = obj
        return name

    def type_text(self, hint):
        if isinstance(hint, types.UnionType):
            return "|".join(self.type_text(part) for part in hint.__args__)
        origin = getattr(hint, "__origin__", None)
        if origin is None:
            return self.add_global(_type_repr(hint), hint)
        arguments = getattr(hint, "__args__", ())
        if arguments and not isinstance(hint, types.GenericAlias):
            origin = _typing_names.get(origin, origin)
        title = self.add_global(_type_repr(origin), origin)
        return f"{title}[{','.join(self.type_text(a) for a in arguments)}]" if arguments else title

    # ---- values ---------------------------------------------------------------------------------------------------------

    def text(self, arg):
        if isinstance(arg, Node):
            return self.name(arg)
        kind = type(arg)
        if kind is tuple or (isinstance(arg, tuple) and not hasattr(arg, "_fields")):
            inner = ", ".join([self.text(a) for a in arg])
            return f"({inner},)" if len(arg) == 1 else f"({inner})"
        if isinstance(arg, tuple):
            return f"{self.add_global(_type_repr(kind), kind)}({', '.join(self.text(a) for a in arg)})"
        if isinstance(arg, list):
            return f"[{', '.join([self.text(a) for a in arg])}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(value)}" for key, value in arg.items()) + "}"
        if kind is slice:
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        if _is_operator_of_torch(arg):
            return _get_qualified_name(arg)
        if isinstance(arg, type):
            return self.add_global(_type_repr(arg), arg)
        if kind is types.FunctionType:
            return self.add_global(arg.__name__, arg)
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(kind.__name__, kind)}.{arg.name}"
        return repr(arg)

    def arguments(self, args, kwargs):
        parts = [self.text(a) for a in args]
        words = {key: self.text(value) for key, value in kwargs.items()}
        parts += [f"{key} = {text}" for key, text in words.items() if key.isidentifier() and not keyword.iskeyword(key)]
        others = [f"{key!r}: {text}" for key, text in words.items() if not key.isidentifier() or keyword.iskeyword(key)]
        if others:  # `from` of random_(from=0) is no name in code
            parts.append("**{" + ", ".join(others) + "}")
        return ", ".join(parts)

    # ---- statements -----------------------------------------------------------------------------------------------------

    def emit(self, node):
        kind = "" if node.type is None else f" : {self.type_text(node.type)}"
        if self.shown and not kind:
            value = node.meta.get("val", node.meta.get("example_value", node.meta.get("tensor_meta")))
            told = self.shown.annotation(value)
            kind = f': "{told}"' if told else ""
        if node.op == "placeholder":
            self._emit_placeholder(node, kind)
            return
        if node.op == "output":
            if node.type is not None:
                self.annotation = f" -> {self.type_text(node.type)}"
            self.body.append(self.codegen.generate_output(node.args[0]))
            self.body.append("\n")
            return
        self.body.append(f"{self._statement(node, kind)}{self._deletions(node)}\n")

    def _emit_placeholder(self, node, kind):
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{kind}{default}")
        raw = node.target.replace("*", "")
        if raw != self.name(node):
            self.body.append(f"{self.name(node)} = {raw}\n")

    def _deletions(self, node):
        gone = [*self.doomed.get(node, ()), *([node] if not node.users else [])]
        return f";  {' = '.join([self.name(n) for n in gone])} = None" if gone else ""

    def _statement(self, node, kind):
        head = f"{self.name(node)}{kind} = "
        if node.op == "call_method":
            return f"{head}{_format_target(self.text(node.args[0]), node.target)}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{head}{_format_target(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return f"{head}{_format_target(self.root, node.target)}"
        if node.op == "call_function":
            return self._call(node, head)
        raise NotImplementedError(f"code of a graph: node {node} has the op {node.op!r} (target {node.target!r})")

    def _call(self, node, head):
        target = node.target
        name = getattr(target, "__name__", type(target).__name__)
        if getattr(target, "__module__", None) == "_operator":
            texts = [self.text(a) for a in node.args]
            if name in magic_methods:
                return head + magic_methods[name].format(*texts)
            if name in inplace_methods:
                return f"{inplace_methods[name].format(*texts)};  {head}{texts[0]}"
        title = self.add_global(_get_qualified_name(target), target)
        if title == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{head}{_format_target(self.text(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(title)
        return f"{head}{title}({self.arguments(node.args, node.kwargs)})"

    def _note_origin(self, node):
        """A comment with the line of the program that a node comes from, where it differs from the last one's."""
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace
        if trace == self.last_trace or not trace and self.last_trace == "":
            return
        if trace:
            found = _parse_stack_trace(trace)
            summary = found.get_summary_str() if found else ""
            self.body.append(f"\n{self.shown.color('dim', '# ' + summary)}\n")
        else:
            self.body.append(f"\n{self.shown.color('dim', '# no line of the program is known for these')}\n")
        self.last_trace = trace or ""
        for key in self.shown.meta:
            if key in node.meta:
                self.body.append(f"# {key}: {node.meta[key]}\n")


def _is_from_torch(obj):
    module = getattr(obj, "__module__", None)
    if module is not None:
        base = _public(module).partition(".")[0]
        return (base == "torch" and not module.startswith(("torch.package", "cresset.package"))) or _place(obj) is not None
    return _is_operator_of_torch(obj) or _place(obj) is not None


class _PyTreeInfo(typing.NamedTuple):
    """The parameters of a function and the structures of its arguments and result."""

    orig_args: list
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Code of a function whose arguments and result are trees: the placeholders are the leaves."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args):
        return pytree.arg_tree_leaves(*args)

    def process_outputs(self, out):
        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def _spec_arguments(self):
        """Whether the input's structure is that of (args, kwargs), and how many positional ones it has."""
        spec = self.pytree_info.in_spec
        paired = spec.type is tuple and spec.num_children == 2 and spec.child(0).type is tuple and spec.child(1).type is dict
        return paired, spec.child(0).num_children if paired else 0

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        names = list(self.pytree_info.orig_args)
        own = names and names[0] == "self"
        without_self = names[1:] if own else names
        holds_self = own and self.pytree_info.in_spec.num_children == len(names)  # as where the root's arguments were traced with the root among them
        head = super().gen_fn_def(names, maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        bare = [re.split(r"[:=]", v)[0].strip() for v in free_vars]
        typed = [v.partition("=")[0].strip() for v in free_vars]
        paired, positional = self._spec_arguments()
        given = f"[{', '.join(names if holds_self else without_self)}]"
        if holds_self:
            bare.insert(0, "self")
        elif paired:
            kwargs = self.pytree_info.in_spec.child(1).context
            pairs = ", ".join(f"'{key}':{value}" for key, value in zip(kwargs, without_self[positional:]))
            given = f"([{', '.join(without_self[:positional])}], {{{pairs}}})"
        lines = [f"{', '.join(bare)}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"]
        lines += [f"{text}" for text in typed if ":" in text]
        return head + "".join(f"\n    {line}" for line in lines)

    def generate_output(self, output_args, *, descs=None):
        if self.pytree_info and self.pytree_info.out_spec:
            if isinstance(output_args, (list, tuple)):
                inner = ", ".join(self._get_repr(a) for a in output_args)
                listed = f"[{inner}]" if isinstance(output_args, list) else f"({inner}{',' if len(output_args) == 1 else ''})"
            else:
                listed = f"[{self._get_repr(output_args)}]"
            return f"return pytree.tree_unflatten({listed}, self._out_spec)"
        return super().generate_output(output_args, descs=descs)


PyTreeCodeGen = _PyTreeCodeGen


class _BoxedCodeGen(CodeGen):
    """Code of a function that takes one list of arguments, which it empties, so that they can be freed while it runs."""

    _func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        head = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        bare = [re.split(r"[:=]", v)[0].strip() for v in free_vars if v != "self"]
        if not bare:
            return f"{head}\n    args_list.clear()"
        return f"{head}\n    {', '.join(bare)}, = args_list\n    args_list.clear()"


__all__ = [
    "CodeGen", "PythonCode", "PyTreeCodeGen", "dtype_abbrs", "inplace_methods", "magic_methods", "reflectable_magic_methods", "fx_pytree", "Namespace",
    "_is_magic",
]  # fmt: skip
