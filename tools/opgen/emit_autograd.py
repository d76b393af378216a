"""Emits the autograd layer of an op: its node and the wrapper that records it."""

from __future__ import annotations

import dataclasses
import re

from .model import Argument, Op, Row

STATES = ("non_differentiable", "not_implemented")
# Methods that SavedGeometry answers without the tensor.
GEOMETRY = "sizes|strides|storage_offset|scalar_type|options|dim|numel|size|is_complex|device"
# Owned member type, and how to make it from the argument and back, where they differ from the parameter's type.
OWNED = {
    "IntArrayRef": ("DimVector", "DimVector({})", "const IntArrayRef {0} = {0}_;"),
    "OptionalIntArrayRef": ("std::optional<DimVector>", "owned({})", "const OptionalIntArrayRef {0} = borrowed({0}_);"),
    "ArrayRef<double>": ("std::vector<double>", "{}.vec()", "const ArrayRef<double> {0} = {0}_;"),
    "std::optional<ArrayRef<double>>": ("std::optional<std::vector<double>>", "owned({})", "const std::optional<ArrayRef<double>> {0} = borrowed({0}_);"),
    "std::string_view": ("std::string", "std::string({})", "const std::string_view {0} = {0}_;"),
}


def uses(expression: str, name: str) -> bool:
    return re.search(rf"(?<![\w.:]){name}\b(?!\s*\()", expression) is not None


def without_geometry(expression: str, name: str, instead: str = "") -> str:
    """The expression where what SavedGeometry answers about a tensor no longer mentions it."""
    return re.sub(rf"(?<![\w.:]){name}\.({GEOMETRY})\(", rf"{instead}.\1(" if instead else "(", expression)


def camel(name: str) -> str:
    """As PyTorch spells it: a letter after a digit is a capital too."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
    return re.sub(r"(?<=[0-9])[a-z]", lambda m: m[0].upper(), joined)


def quoted(text: str) -> str:
    return f'"{text}"'


@dataclasses.dataclass(frozen=True)
class Saved:
    """One member of a node and its way in and out."""

    name: str
    type: str
    save: str
    local: str
    is_tensor: bool
    is_output: bool
    edges: tuple[int, ...]  # the gradients that need it, as positions among the differentiable arguments
    has_geometry: bool = False  # other gradients need its sizes or strides only, kept where the tensor itself is not


class AutogradEmitter:
    def __init__(self, row: Row) -> None:
        self.row = row
        self.formulas: dict[tuple[str, ...], str] = {}
        if isinstance(row.grad, dict):
            self.formulas = {tuple(n.strip() for n in key.split(",")): text for key, text in row.grad.items()}
        base = row.ops[0]
        wanted = {n for names, text in self.formulas.items() if text != "non_differentiable" for n in names}
        self.differentiable = [a for a in base.schema.arguments if a.type.is_tensor and (a.name in wanted or row.grad == "not_implemented")]
        self.has_lists = any(a.type.list for a in self.differentiable)
        self.node = f"{base.ident}_node"

    def has_layer(self, op: Op) -> bool:
        return self.row.kind in ("primitive", "fused", "view") and any(p.is_tensor for p in op.params)

    @property
    def records(self) -> bool:
        return bool(self.differentiable)

    # ---- the node ---------------------------------------------------------------------------------------------------

    def output_names(self) -> list[str]:
        returns = self.row.schema.returns
        if self.row.is_mutating or len(returns) == 1:
            return ["result"]
        return [r.name or f"result{i}" for i, r in enumerate(returns)]

    def position(self, name: str) -> int:
        return [a.name for a in self.differentiable].index(name)

    def saved(self) -> list[Saved]:
        result = []
        expressions = {names: text for names, text in self.formulas.items() if text not in STATES}

        def edges_using(name: str, pattern: str | None = None) -> tuple[int, ...]:
            found = []
            for names, text in expressions.items():
                if uses(text, name) if pattern is None else re.search(pattern, text):
                    found += [self.position(n) for n in names]
            return tuple(sorted(found))

        for p in self.row.ops[0].params:
            if p.argument is None:
                continue
            edges = edges_using(p.name)
            if edges:
                result.append(self.saved_argument(p.argument, p.cpp, edges, expressions.values()))
        for i, name in enumerate(self.output_names()):
            for spelled in dict.fromkeys((name, f"result{i}")):
                edges = edges_using(spelled)
                if edges:
                    local = f"const Tensor {spelled} = {spelled}_.unpack(this);"
                    result.append(Saved(spelled, "SavedVariable", str(i), local, True, True, edges))
        return result

    def saved_argument(self, a: Argument, cpp: str, edges: tuple[int, ...], expressions: object) -> Saved:
        name = a.name
        if not a.type.is_tensor:
            plain = cpp.removeprefix("const ").removesuffix("&")
            if plain in OWNED:
                member, save, local = OWNED[plain]
                return Saved(name, member, save.format(name), local.format(name), False, False, edges)
            return Saved(name, plain, name, f"const auto& {name} = {name}_;", False, False, edges)
        text = " ".join(expressions)  # type: ignore[call-overload]
        if not a.type.list and not uses(without_geometry(text, name), name):
            return Saved(name, "SavedGeometry", f"SavedGeometry({name})", f"const SavedGeometry& {name} = {name}_;", False, False, edges)
        if a.type.list and not uses(text.replace(f"sizes_of({name})", ""), name):
            return Saved(name, "std::vector<DimVector>", f"sizes_of({name})", "", False, False, edges)
        if a.type.list:
            unpack = f"unpack_list({name}_, this)"
            unpack = f"optionals_of({unpack})" if a.type.element_optional else unpack
            return Saved(name, "std::vector<SavedVariable>", f"save_list({name}, false)", f"const auto {name} = {unpack};", True, False, edges)
        unpack = f"{name}_.unpack(this)"
        unpack = f"optional_of({unpack})" if a.type.optional else unpack
        kind = "std::optional<Tensor>" if a.type.optional else "Tensor"
        data = edges if a.type.optional or self.has_lists else self.edges_with_data(name)
        return Saved(name, "SavedVariable", f"SavedVariable({name}, false)", f"const {kind} {name} = {unpack};", True, False, data, data != edges)

    def edges_with_data(self, name: str) -> tuple[int, ...]:
        found = [names for names, text in self.formulas.items() if text not in STATES and uses(without_geometry(text, name), name)]
        return tuple(sorted(self.position(n) for names in found for n in names))

    def condition(self, edges: tuple[int, ...], node: str) -> str:
        """Whether any gradient that needs a saved tensor is wanted; empty where that is always so."""
        if self.has_lists or len(set(edges)) == len(self.differentiable):
            return ""
        # While recording, an edge counts even if the run in progress does not need it; while running, the run decides.
        return " || ".join(f"{node}next_edge({i}).is_valid()" if node else f"should_compute_output({i})" for i in edges)

    def nodes(self) -> list[str]:
        if not self.records:
            return []
        saved = self.saved()
        tensors = [s for s in saved if s.is_tensor]
        names = self.row.grad_name or (camel(self.row.schema.name) + "Backward0",)
        lines = ["", f"struct {self.node} final : TraceableFunction {{"]
        if tensors:
            lines.append(f"  {self.node}() {{ lock_apply_ = true; }}")
        lines.append(f"  std::string name() const override {{ return {'name_' if len(names) > 1 or self.row.grad_name_if else quoted(names[0])}; }}")
        if self.row.grad_once and not tensors:
            lines += ["  void release_variables() override { released_ = next_edge(0).is_valid(); }", "  bool released_ = false;"]
        if tensors:
            lines.append("  void release_variables() override {")
            for s in tensors:
                each = s.type.startswith("std::vector")
                lines.append(f"    for (auto& v : {s.name}_) v.reset_data();" if each else f"    {s.name}_.reset_data();")
            lines.append("  }")
        lines.append("  variable_list apply(variable_list&& grads) override;")
        if saved:
            lines += ["  void visit_saved(SavedFields& f) override {", *(f'    f.field("{s.name}", {s.name}_);' for s in saved), "  }"]
        lines += [f"  {s.type} {s.name}_{{}};" for s in saved]
        lines += [f"  SavedGeometry {s.name}_geometry_{{}};" for s in saved if s.has_geometry]
        lines += [f"  size_t {a.name}_count = 0;" for a in self.differentiable if a.type.list]
        if len(names) > 1 or self.row.grad_name_if:
            lines.append(f"  const char* name_ = {quoted(names[0])};")
        return [*lines, "};", "", *self.apply(saved)]

    def apply(self, saved: list[Saved]) -> list[str]:
        lines = [f"variable_list {self.node}::apply(variable_list&& grads) {{"]
        texts = [t for t in self.formulas.values() if t not in STATES]
        if self.row.grad_once and not any(s.is_tensor for s in saved):
            lines.append("  check_not_released(released_);")
        lines.append("  const Tensor& grad = grads[0];" if any(uses(t, "grad") for t in texts) else "  (void)grads;")
        for s in saved:
            condition = self.condition(s.edges, "this->" if s.has_geometry else "") if s.is_tensor else ""
            if s.local and condition:
                kind, _, value = s.local.removeprefix("const ").removesuffix(";").partition(" = ")
                lines += [f"  {kind};", f"  if ({condition}) {s.name} = {value};"]
            elif s.local:
                lines.append("  " + s.local)
            if s.has_geometry:
                lines.append(f"  const SavedGeometry {s.name}_geometry = {s.name}.defined() ? SavedGeometry({s.name}) : {s.name}_geometry_;")
        lines.append("  variable_list result_grads(num_outputs());")
        start: dict[str, str] = {}
        at = "0"
        for a in self.differentiable:
            start[a.name] = at
            at = f"{at} + {a.name}_count" if a.type.list else str(int(at) + 1) if at.isdigit() else f"{at} + 1"
        if self.row.grad == "not_implemented":
            return [*lines, self.missing(), "  return result_grads;", "}"]
        for names, text in sorted(self.formulas.items()):
            if text == "non_differentiable":
                continue
            for s in saved:
                text = text.replace(f"sizes_of({s.name})", f"{s.name}_") if s.type == "std::vector<DimVector>" else text
                text = without_geometry(text, s.name, f"{s.name}_geometry") if s.has_geometry else text
            first = self.differentiable[self.position(names[0])]
            if text == "not_implemented":
                lines += [f"  if (should_compute_output({start[names[0]]})) {{", "  " + self.missing(), "  }"]
            elif len(names) > 1:
                lines += [f"  if ({' || '.join(f'should_compute_output({start[n]})' for n in names)}) {{", f"    auto all = {text};"]
                lines += [f"    if (should_compute_output({start[n]})) result_grads[{start[n]}] = std::get<{i}>(all);" for i, n in enumerate(names)]
                lines.append("  }")
            elif first.type.list:
                lines += [f"  if (should_compute_any({start[names[0]]}, {names[0]}_count)) {{", f"    auto all = {text};",
                          f"    for (size_t i = 0; i < all.size(); i++) result_grads[{start[names[0]]} + i] = std::move(all[i]);", "  }"]  # fmt: skip
            else:
                lines.append(f"  if (should_compute_output({start[names[0]]})) result_grads[{start[names[0]]}] = {text};")
        return [*lines, "  return result_grads;", "}"]

    def missing(self) -> str:
        return f'  CRESSET_CHECK_NOT_IMPLEMENTED(false, "{self.row.schema.name}: the derivative is not implemented");'

    # ---- the wrapper ------------------------------------------------------------------------------------------------

    def wrapper(self, op: Op) -> list[str]:
        body = {"out": self.out_form, "inplace": self.inplace_form}.get(op.form, self.function_form)(op)
        return ["", f"{op.declare(op.ident)} {{", *("  " + line for line in body), "}"]

    def call(self, op: Op) -> str:
        return f"dispatch::call_below_autograd(entry::{op.ident}, dispatch::{op.key}, {op.names})"

    def record(self, op: Op) -> list[str]:
        """Makes the node and saves the inputs; self of an in-place op is saved as it was before."""
        names = ", ".join(a.name for a in self.differentiable)
        lines = [f"node = make_node<{self.node}>();", f"set_next_edges(*node, {names});"]
        lines += [f"node->{a.name}_count = {a.name}.size();" for a in self.differentiable if a.type.list]
        if op.form == "inplace" and len(self.row.grad_name) > 1:
            lines.append(f"node->name_ = {quoted(self.row.grad_name[1])};")
        lines += [f"if ({condition}) node->name_ = {quoted(name)};" for name, condition in self.row.grad_name_if.items()]
        for s in self.saved():
            if s.is_output:
                continue
            save = s.save
            if op.form == "inplace" and s.name == "self" and s.is_tensor:
                save = "SavedVariable(cloned(self), false)"
            condition = self.condition(s.edges, "node->") if s.is_tensor else ""
            lines.append(f"{f'if ({condition}) ' if condition else ''}node->{s.name}_ = {save};")
            if s.has_geometry:
                lines.append(f"else node->{s.name}_geometry_ = SavedGeometry({s.name});")
        return lines

    def save_outputs(self, value: str) -> list[str]:
        lines = []
        flags = self.row.output_differentiability
        for s in self.saved():
            if s.is_output:
                i = int(s.save)
                condition = self.condition(s.edges, "node->")
                is_output = "false" if flags and not flags[i] else "true"
                lines.append(f"{f'if ({condition}) ' if condition else ''}node->{s.name}_ = SavedVariable({value.format(i)}, {is_output});")
        return lines

    def function_form(self, op: Op) -> list[str]:
        below = f"[&] {{ BelowAutograd below; return {self.call(op)}; }}()"
        if not self.records:
            return [f"return {below};"]
        names = ", ".join(a.name for a in self.differentiable)
        lines = [f"intrusive_ptr<{self.node}> node;", f"if (any_requires_grad({names})) {{", *("  " + line for line in self.record(op)), "}",
                 f"auto result = {below};", "if (node) {"]  # fmt: skip
        returns = op.schema.returns
        flags = self.row.output_differentiability or tuple(True for _ in returns)
        if self.row.kind == "view":
            lines.append("  set_view_history(result, node);")
        elif len(returns) == 1:
            lines.append("  set_history(result, node);")
        else:
            outs = ", ".join(f"std::get<{i}>(result)" if flag else "Tensor()" for i, flag in enumerate(flags))
            lines += [f"  const Tensor outputs[] = {{{outs}}};", "  set_history(TensorList(outputs), node);"]
        value = "result" if len(returns) == 1 else "std::get<{}>(result)"
        return [*lines, *("  " + line for line in self.save_outputs(value)), "}", "return result;"]

    def inplace_form(self, op: Op) -> list[str]:
        names = ", ".join(a.name for a in self.differentiable)
        name, call = op.schema.name, f"{{ BelowAutograd below; {self.call(op)}; }}"
        if self.row.writes_lists:
            lists = ", ".join(p.name for p in op.params if p.is_tensor)
            return [f"if (any_requires_grad({lists})) return entry::{op.ident}.decomposition({op.names});", "BelowAutograd below;", f"{self.call(op)};"]
        if not self.records:
            return [f'check_inplace(self, any_requires_grad(self), "{name}");', call, "return self;"]
        saved = [line.replace("SavedVariable(self, true)", "SavedVariable(self, true, self.is_view())") for line in self.save_outputs("self")]
        return [f"const bool record = any_requires_grad({names});", f'check_inplace(self, record, "{name}");', f"intrusive_ptr<{self.node}> node;",
                "if (record) {", *("  " + line for line in self.record(op)), "}", call, "if (node) {", f"  {'set_view_history' if self.row.kind == 'view' else 'rebase_history'}(self, node);",
                *("  " + line for line in saved), "}", "return self;"]  # fmt: skip

    def out_form(self, op: Op) -> list[str]:
        inputs = ", ".join(p.name for p in op.inputs if p.is_tensor)
        given = f"any_requires_grad({inputs})" if inputs else "false"
        lines = [f'check_no_grad_for_out({p.name}, {given}, "{op.schema.name}");' for p in op.outs]
        return [*lines, "BelowAutograd below;", f"return {self.call(op)};"]
