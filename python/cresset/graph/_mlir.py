"""Programs as textual MLIR in the standard dialects: tensors and `linalg` for what runs over elements, `scf` for control flow.

Each operator becomes one or a few `linalg.generic` operations, whose indexing maps say which elements go together. Sizes are static.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import cresset as torch

from .. import fx
from ..export import ExportedProgram
from ..export._paths import get as get_path

Lines = list[str]

_TYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
    torch.int8: "i8", torch.uint8: "i8", torch.bool: "i1",
}  # fmt: skip
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}  # half types compute in single precision


class Value(NamedTuple):
    """A tensor in the text."""

    name: str
    shape: tuple[int, ...]
    dtype: Any

    @property
    def type(self) -> str:
        return type_text(self.shape, self.dtype)


def type_text(shape: tuple[int, ...], dtype: Any) -> str:
    """The type of a tensor, `tensor<2x3xf32>`."""
    if dtype not in _TYPES:
        raise NotImplementedError(f"mlir: there is no type for {dtype}")
    return f"tensor<{''.join(f'{n}x' for n in shape)}{_TYPES[dtype]}>"


def _is_float(dtype: Any) -> bool:
    return dtype.is_floating_point


def _map(dims: int, results: list[str]) -> str:
    return f"affine_map<({', '.join(f'd{i}' for i in range(dims))}) -> ({', '.join(results)})>"


def number_text(value: Any, dtype: Any) -> str:
    """A literal of the dtype."""
    if not _is_float(dtype):
        return ("true" if value else "false") if dtype is torch.bool else str(int(value))
    code, bits = ("d", 64) if dtype is torch.float64 else ("f", 32)
    value = float(value)
    if not math.isfinite(value) or dtype not in (torch.float32, torch.float64):
        return _hex_float(value, dtype, code, bits)
    value = struct.unpack(code, struct.pack(code, value))[0]
    digits = repr(value)
    return digits if "e" not in digits or "." in digits else digits.replace("e", ".0e")


def _hex_float(value: float, dtype: Any, code: str, bits: int) -> str:
    if dtype in _WIDER:
        return f"0x{torch.tensor(value, dtype=dtype).view(torch.int16).item() & 0xFFFF:04X}"
    return f"0x{int.from_bytes(struct.pack('>' + code, value), 'big'):0{bits // 4}X}"


class Scalars:
    """The body of a `linalg.generic`: operations on single elements, whose values are (name, dtype)."""

    def __init__(self, owner: Emitter) -> None:
        self.owner, self.lines = owner, []

    def op(self, text: str, dtype: Any) -> tuple[str, Any]:
        name = self.owner.fresh()
        self.lines.append(f"{name} = {text}")
        return name, dtype

    def number(self, value: Any, dtype: Any) -> tuple[str, Any]:
        return self.op(f"arith.constant {number_text(value, dtype)}{'' if dtype is torch.bool else ' : ' + _TYPES[dtype]}", dtype)

    def index(self, dim: int) -> str:
        return self.op(f"linalg.index {dim} : index", None)[0]

    def fixed_index(self, value: int) -> str:
        return self.op(f"arith.constant {value} : index", None)[0]

    def one(self, operation: str, a: tuple[str, Any]) -> tuple[str, Any]:
        return self.op(f"{operation} {a[0]} : {_TYPES[a[1]]}", a[1])

    def two(self, operation: str, a: tuple[str, Any], b: tuple[str, Any]) -> tuple[str, Any]:
        return self.op(f"{operation} {a[0]}, {b[0]} : {_TYPES[a[1]]}", a[1])

    def arithmetic(self, operation: str, a: Any, b: Any) -> Any:
        """add, sub, mul, div, rem, max, min of two values of one dtype."""
        dtype = a[1]
        if dtype is torch.bool:
            return self.two({"add": "arith.ori", "max": "arith.ori", "mul": "arith.andi", "min": "arith.andi", "sub": "arith.xori"}[operation], a, b)
        if _is_float(dtype):
            return self.two(f"arith.{operation}f", a, b)
        unsigned = "u" if dtype is torch.uint8 else "s"
        return self.two(f"arith.{operation}{unsigned if operation in ('div', 'rem', 'max', 'min') else ''}i", a, b)

    def compare(self, operation: str, a: Any, b: Any) -> Any:
        dtype = a[1]
        if _is_float(dtype):
            return self.op(f"arith.cmpf {'une' if operation == 'ne' else 'o' + operation}, {a[0]}, {b[0]} : {_TYPES[dtype]}", torch.bool)
        sign = "" if operation in ("eq", "ne") else "u" if dtype in (torch.uint8, torch.bool) else "s"
        return self.op(f"arith.cmpi {sign}{operation}, {a[0]}, {b[0]} : {_TYPES[dtype]}", torch.bool)

    def select(self, mask: Any, a: Any, b: Any) -> Any:
        return self.op(f"arith.select {mask[0]}, {a[0]}, {b[0]} : {_TYPES[a[1]]}", a[1])

    def cast(self, a: Any, to: Any) -> Any:
        """A value in another dtype."""
        of = a[1]
        if of is to or (of in (torch.int8, torch.uint8) and to in (torch.int8, torch.uint8)):
            return a[0], to
        if to is torch.bool:
            return self.compare("ne", a, self.number(0, of))
        if _is_float(of) and _is_float(to):
            if of in _WIDER and to in _WIDER:
                return self.cast(self.cast(a, torch.float32), to)
            wider = to.itemsize > of.itemsize
            return self.op(f"arith.{'extf' if wider else 'truncf'} {a[0]} : {_TYPES[of]} to {_TYPES[to]}", to)
        unsigned = of in (torch.bool, torch.uint8)
        if _is_float(to):
            return self.op(f"arith.{'uitofp' if unsigned else 'sitofp'} {a[0]} : {_TYPES[of]} to {_TYPES[to]}", to)
        if _is_float(of):
            return self.op(f"arith.fptosi {a[0]} : {_TYPES[of]} to {_TYPES[to]}", to)
        width = 1 if of is torch.bool else 8 * of.itemsize
        if width == 8 * to.itemsize:
            return a[0], to
        extend = "extui" if unsigned else "extsi"
        return self.op(f"arith.{extend if 8 * to.itemsize > width else 'trunci'} {a[0]} : {_TYPES[of]} to {_TYPES[to]}", to)


Body = Callable[[Scalars, list[Any]], Any]


class Emitter:
    """The text of one function; functions within functions share its names."""

    def __init__(self) -> None:
        self.lines: Lines = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def emit(self, text: str, shape: tuple[int, ...], dtype: Any) -> Value:
        value = Value(self.fresh(), tuple(shape), dtype)
        self.lines.append(f"{value.name} = {text}")
        return value

    # ---- tensors that come from nothing -----------------------------------------------------------------------------------

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Value:
        return self.emit(f"tensor.empty() : {type_text(shape, dtype)}", shape, dtype)

    def scalar(self, value: Any, dtype: Any) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = arith.constant {number_text(value, dtype)}{'' if dtype is torch.bool else ' : ' + _TYPES[dtype]}")
        return name

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Value:
        number, out = self.scalar(value, dtype), self.empty(shape, dtype)
        return self.emit(f"linalg.fill ins({number} : {_TYPES[dtype]}) outs({out.name} : {out.type}) -> {out.type}", shape, dtype)

    def constant(self, tensor: torch.Tensor) -> Value:
        tensor, shape = tensor.detach().contiguous(), tuple(tensor.shape)
        if tensor.dtype is torch.bool:
            body = _nested(tensor.tolist())
        elif not tensor.numel():
            body = ""
        else:
            body = f'"0x{bytes(tensor.reshape(-1).view(torch.uint8).tolist()).hex().upper()}"'
        return self.emit(f"arith.constant dense<{body}> : {type_text(shape, tensor.dtype)}", shape, tensor.dtype)

    # ---- loops ------------------------------------------------------------------------------------------------------------

    def generic(self, inputs: list[tuple[Value, str]], outputs: list[tuple[Value, str]], kinds: list[str], body: Body) -> list[Value]:
        """A `linalg.generic` over as many dimensions as there are kinds. `body` gets the elements of inputs and outputs and gives new ones."""
        scalars = Scalars(self)
        arguments = [(self.fresh(), v.dtype) for v, _ in (*inputs, *outputs)]
        found = body(scalars, arguments)
        found = found if isinstance(found, list) else [found]
        found = [scalars.cast(f, v.dtype) for f, (v, _) in zip(found, outputs, strict=True)]

        def operands(word: str, values: list[Value]) -> str:
            return f"{word}({', '.join(v.name for v in values)} : {', '.join(v.type for v in values)})" if values else ""

        results = [Value(self.fresh(), v.shape, v.dtype) for v, _ in outputs]
        types = ", ".join(v.type for v in results)
        head = ", ".join(m for _, m in (*inputs, *outputs))
        self.lines.append(
            f"{', '.join(v.name for v in results)} = linalg.generic {{indexing_maps = [{head}], "
            f"iterator_types = [{', '.join(f'{chr(34)}{kind}{chr(34)}' for kind in kinds)}]}} "
            f"{operands('ins', [v for v, _ in inputs])} {operands('outs', [v for v, _ in outputs])} {{"
        )
        self.lines.append(f"^bb0({', '.join(f'{name}: {_TYPES[dtype]}' for name, dtype in arguments)}):")
        self.lines += ["  " + line for line in scalars.lines]
        self.lines.append(f"  linalg.yield {', '.join(f[0] for f in found)} : {', '.join(_TYPES[f[1]] for f in found)}")
        self.lines.append(f"}} -> {types if len(results) == 1 else f'({types})'}")
        return results

    def pointwise(self, inputs: list[Value], shape: tuple[int, ...], dtype: Any, body: Body) -> Value:
        """Elements of inputs that broadcast to the shape."""
        dims = len(shape)

        def broadcast(v: Value) -> str:
            lead = dims - len(v.shape)
            return _map(dims, ["0" if size == 1 and shape[lead + i] != 1 else f"d{lead + i}" for i, size in enumerate(v.shape)])

        out = self.empty(shape, dtype)
        identity = _map(dims, [f"d{i}" for i in range(dims)])
        return self.generic([(v, broadcast(v)) for v in inputs], [(out, identity)], ["parallel"] * dims, lambda s, e: body(s, e[:-1]))[0]

    def gather(self, source: Value, indices: list[Value], shape: tuple[int, ...], place: Callable[[Scalars, list[Any]], list[str]]) -> Value:
        """For each element of the shape the element of `source` at a place; `indices` broadcast to the shape, and `place` gets theirs."""

        def body(s: Scalars, elements: list[Any]) -> Any:
            return s.op(f"tensor.extract {source.name}[{', '.join(place(s, elements))}] : {source.type}", source.dtype)

        return self.pointwise(indices, shape, source.dtype, body)

    def cast(self, v: Value, dtype: Any) -> Value:
        return v if v.dtype is dtype else self.pointwise([v], v.shape, dtype, lambda s, e: s.cast(e[0], dtype))

    def reduce(self, v: Value, dims: list[int], dtype: Any, start: Any, step: Callable[[Scalars, Any, Any], Any], keep: bool) -> Value:
        """A reduction of dimensions, in the dtype, from `start`."""
        n = len(v.shape)
        dims = [d % n for d in dims] if dims and n else list(range(n))
        kept = [d for d in range(n) if d not in dims]
        out = self.full(tuple(v.shape[d] for d in kept), start, dtype)
        kinds = ["reduction" if d in dims else "parallel" for d in range(n)]
        maps = _map(n, [f"d{d}" for d in range(n)]), _map(n, [f"d{d}" for d in kept])
        (found,) = self.generic([(v, maps[0])], [(out, maps[1])], kinds, lambda s, e: step(s, s.cast(e[0], dtype), e[1]))
        return self.reshape(found, tuple(1 if d in dims else v.shape[d] for d in range(n))) if keep else found

    # ---- shapes -----------------------------------------------------------------------------------------------------------

    def reshape(self, v: Value, shape: tuple[int, ...]) -> Value:
        shape = tuple(shape)
        if shape == v.shape:
            return v
        if len(v.shape) > 1 or (len(v.shape) == 1 and not shape):
            whole = ", ".join(str(i) for i in range(len(v.shape)))
            groups, flat = ("[]", ()) if not shape else (f"[[{whole}]]", (math.prod(v.shape),))
            v = self.emit(f"tensor.collapse_shape {v.name} {groups} : {v.type} into {type_text(flat, v.dtype)}", flat, v.dtype)
        if shape == v.shape:
            return v
        groups = f"[[{', '.join(str(i) for i in range(len(shape)))}]]" if v.shape else "[]"
        return self.emit(f"tensor.expand_shape {v.name} {groups} : {v.type} into {type_text(shape, v.dtype)}", shape, v.dtype)

    def permute(self, v: Value, order: list[int]) -> Value:
        n = len(v.shape)
        order = [d % n for d in order]
        shape = tuple(v.shape[d] for d in order)
        source = _map(n, [f"d{order.index(d)}" for d in range(n)])
        out = self.empty(shape, v.dtype)
        return self.generic([(v, source)], [(out, _map(n, [f"d{d}" for d in range(n)]))], ["parallel"] * n, lambda s, e: e[0])[0]

    def expand(self, v: Value, shape: tuple[int, ...]) -> Value:
        return v if tuple(shape) == v.shape else self.pointwise([v], tuple(shape), v.dtype, lambda s, e: e[0])

    def slice(self, v: Value, starts: list[int], sizes: list[int], steps: list[int], shape: tuple[int, ...] | None = None) -> Value:
        shape = tuple(sizes) if shape is None else shape
        return self.emit(f"tensor.extract_slice {v.name}{starts}{sizes}{steps} : {v.type} to {type_text(shape, v.dtype)}", shape, v.dtype)

    def insert(self, v: Value, into: Value, starts: list[int]) -> Value:
        ones = [1] * len(into.shape)
        return self.emit(f"tensor.insert_slice {v.name} into {into.name}{starts}{list(v.shape)}{ones} : {v.type} into {into.type}", into.shape, v.dtype)

    def pad(self, v: Value, before: list[int], after: list[int], value: Any) -> Value:
        """Negative amounts take elements away."""
        if any(n < 0 for n in (*before, *after)):
            starts = [max(0, -b) for b in before]
            v = self.slice(v, starts, [n - s - max(0, -a) for n, s, a in zip(v.shape, starts, after, strict=True)], [1] * len(starts))
        before, after = [max(0, b) for b in before], [max(0, a) for a in after]
        if not any((*before, *after)):
            return v
        return self.insert(v, self.full(tuple(n + b + a for n, b, a in zip(v.shape, before, after, strict=True)), value, v.dtype), before)

    # ---- products and windows ---------------------------------------------------------------------------------------------

    def matmul(self, a: Value, b: Value) -> Value:
        """Of two matrices, or of batches of them."""
        batch = len(a.shape) == 3
        shape = (*a.shape[:-1], b.shape[-1])
        out = self.full(shape, 0, a.dtype)
        name = "linalg.batch_matmul" if batch else "linalg.matmul"
        return self.emit(f"{name} ins({a.name}, {b.name} : {a.type}, {b.type}) outs({out.name} : {out.type}) -> {out.type}", shape, a.dtype)

    def convolution(self, x: Value, w: Value, stride: list[int], padding: list[int], dilation: list[int], groups: int) -> Value:
        n = len(w.shape) - 2
        x = self.pad(x, [0, 0, *padding], [0, 0, *padding], 0)
        sizes = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
        filters = w.shape[0] // groups
        x = self.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
        w = self.reshape(w, (groups, filters, *w.shape[1:]))
        # Dimensions: image, group, filter, place in the result; then channel, place in the window.
        dims, channel, window = 4 + 2 * n, 3 + n, 4 + n
        source = ["d0", "d1", f"d{channel}", *(f"d{3 + i} * {stride[i]} + d{window + i} * {dilation[i]}" for i in range(n))]
        weights = ["d1", "d2", f"d{channel}", *(f"d{window + i}" for i in range(n))]
        out = self.full((x.shape[0], groups, filters, *sizes), 0, x.dtype)
        kinds = ["parallel"] * (3 + n) + ["reduction"] * (1 + n)
        (found,) = self.generic(
            [(x, _map(dims, source)), (w, _map(dims, weights))], [(out, _map(dims, [f"d{i}" for i in range(3 + n)]))], kinds,
            lambda s, e: s.arithmetic("add", e[2], s.arithmetic("mul", e[0], e[1])),
        )  # fmt: skip
        return self.reshape(found, (x.shape[0], groups * filters, *sizes))

    def pool(self, x: Value, shape: tuple[int, ...], window: list[int], stride: list[int], padding: list[int], dilation: list[int], start: Any,
             step: str) -> Value:  # fmt: skip
        """Maxima (`step` "max") or sums ("add") of windows of the last dimensions."""
        n, lead = len(window), len(x.shape) - len(window)
        after = [max(padding[i], (shape[lead + i] - 1) * stride[i] + dilation[i] * (window[i] - 1) + 1 - x.shape[lead + i] - padding[i]) for i in range(n)]
        x = self.pad(x, [0] * lead + padding, [0] * lead + after, start)
        dims, out = lead + 2 * n, self.full(shape, start, x.dtype)
        source = [*(f"d{i}" for i in range(lead)), *(f"d{lead + i} * {stride[i]} + d{lead + n + i} * {dilation[i]}" for i in range(n))]
        shaped = self.empty(tuple(window), x.dtype)  # tells how large windows are
        (found,) = self.generic(
            [(x, _map(dims, source)), (shaped, _map(dims, [f"d{lead + n + i}" for i in range(n)]))], [(out, _map(dims, [f"d{i}" for i in range(lead + n)]))],
            ["parallel"] * (lead + n) + ["reduction"] * n, lambda s, e: s.arithmetic(step, e[2], e[0]),
        )  # fmt: skip
        return found


def _nested(value: Any) -> str:
    return f"[{', '.join(_nested(v) for v in value)}]" if isinstance(value, list) else "true" if value else "false"


class Function:
    """A graph of operators as the body of a function, or of a region."""

    def __init__(self, module: fx.GraphModule, emitter: Emitter) -> None:
        self.module, self.emitter = module, emitter
        self.values: dict[fx.Node, Any] = {}

    def run(self, given: dict[fx.Node, Value]) -> list[Any]:
        """Emits the nodes; the results of the graph."""
        from ._mlir_rules import rule_of

        self.values.update(given)
        for node in self.module.graph.nodes:
            if node.op == "get_attr":
                held = get_path(self.module, node.target)
                self.values[node] = held if isinstance(held, fx.GraphModule) else self.emitter.constant(held)
            elif node.op == "call_function":
                arguments = fx.map_arg((node.args, node.kwargs), lambda n: self.values[n])
                self.values[node] = rule_of(node)(self.emitter, node, *arguments[0], **arguments[1])
            elif node.op == "output":
                results = fx.map_arg(node.args[0], lambda n: self.values[n])
                return [results] if isinstance(results, Value) else list(results)
        return []


def region(module: fx.GraphModule, emitter: Emitter, arguments: list[Value]) -> tuple[Lines, list[Value]]:
    """The lines of a graph within another, indented, and its results."""
    outside, emitter.lines = emitter.lines, []
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    results = Function(module, emitter).run(dict(zip(placeholders, arguments, strict=True)))
    lines, emitter.lines = ["  " + line for line in emitter.lines], outside
    return lines, results


def text_of(program: ExportedProgram, name: str = "main") -> str:
    """The text of a program: a function of its inputs; parameters and buffers are constants, and buffers that it writes are further results."""
    from ._mlir_rules import check_rules

    program = program.run_decompositions()
    module, signature = program.graph_module, program.graph_signature
    check_rules(module)
    emitter, given, parameters = Emitter(), {}, []
    held = {**program.state_dict, **program.constants}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for spec, node in zip(signature.input_specs, placeholders, strict=True):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            continue
        if spec.target is not None and spec.target in held:
            given[node] = emitter.constant(held[spec.target])
            continue
        if not all(isinstance(size, int) for size in value.shape):
            raise NotImplementedError(f"mlir: input {node.name} has sizes {tuple(value.shape)} that are not fixed; export the program with fixed sizes")
        given[node] = Value(f"%{node.name}", tuple(value.shape), value.dtype)
        parameters.append(given[node])
    results = [v for v in Function(module, emitter).run(given) if isinstance(v, Value)]
    if any(name in {p.name[1:] for p in parameters} for name in map(str, range(emitter.count + 1))):
        raise ValueError("mlir: an input has a number as its name")
    types = ", ".join(v.type for v in results)
    lines = [
        "module {", f"  func.func @{name}({', '.join(f'{p.name}: {p.type}' for p in parameters)}) -> ({types}) attributes {{llvm.emit_c_interface}} {{",
        *("    " + line for line in emitter.lines), f"    return {', '.join(v.name for v in results)} : {types}", "  }", "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
