// Graphs as PyTorch prints them.

#include <algorithm>

#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

namespace {

bool is_builtin(const Node& n, std::string_view name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
bool names_operator(const Node& n) { return is_builtin(n, "prim::CallNative") && !foreign_operator_name(constant_text(n.input(0))).empty(); }

}  // namespace

bool is_attribute(const Node& n, size_t input) {
  if (n.kind() != NodeKind::Builtin || !n.input(input)->is_constant() || !n.input(input)->constant()->isString()) return false;
  const std::string& b = n.builtin()->name;
  if (b == "prim::GetAttr" || b == "prim::SetAttr" || b == "prim::CallMethod") return input == 1;
  if (b == "prim::CreateObject" || b == "prim::fork" || b == "prim::awaitable") return input == 0;
  if (b == "prim::CallNative") return input == 0;
  return b == "prim::isinstance" && input > 0;
}

namespace {

// Nodes whose None nothing reads have no outputs elsewhere.
bool gives_nothing(const Node& n) {
  if (n.kind() != NodeKind::Builtin || n.outputs().size() != 1 || !n.output()->uses().empty()) return false;
  const Schema* const schema = schema_of(*n.builtin());
  return schema ? schema->returns.empty() : is_builtin(n, "prim::SetAttr") || is_builtin(n, "prim::RaiseException") || is_builtin(n, "prim::Print");
}
std::string tensor_text(const TensorFacts& facts) {
  std::string s;
  const auto add = [&](const std::string& part) { s += (s.empty() ? "" : ", ") + part; };
  const auto size = [](const Sym& n) { return n.constant() ? std::to_string(*n.constant()) : std::string("*"); };
  for (const Sym& n : *facts.sizes) add(size(n));
  if (facts.strides) {
    std::string strides;
    for (const Sym& n : *facts.strides) strides += (strides.empty() ? "" : ", ") + size(n);
    if (!facts.strides->empty()) add("strides=[" + strides + "]");
  }
  if (facts.requires_grad) add(std::string("requires_grad=") + (*facts.requires_grad ? "1" : "0"));
  if (facts.device) add("device=" + facts.device->str());
  return toString(*facts.dtype) + ("(" + s + ")");
}
// As schemas write it but for futures, which stand in brackets, and tensors whose dtype and sizes are known.
std::string graph_type_text(const Type& type) {
  if (type.is_tensor() && type.facts().dtype && type.facts().sizes) return tensor_text(type.facts());
  std::string text = schema_type_text(type);
  const std::string mark = "Future(";
  for (size_t at; (at = text.rfind(mark)) != std::string::npos;) {
    size_t end = at + mark.size();
    for (int depth = 1; end < text.size(); end++) {
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    text.replace(end, 1, "]");
    text.replace(at, mark.size(), "Future[");
  }
  return text;
}
// "int[]" of "List[int]"; words that name kinds of values stay.
std::string schema_text_of(const std::string& annotation) {
  if (annotation == "tuple" || annotation == "list" || annotation == "dict") return annotation;
  return schema_type_text(type_of_text(annotation, nullptr));
}

std::string constant_text(const Datum& v) {
  if (v.isBool()) return v.toBool() ? "1" : "0";
  if (v.is<ScalarType>()) return std::to_string(number_of(v.to_dtype()));
  if (v.is<Layout>()) return std::to_string(number_of(v.to_layout()));
  if (v.is<MemoryFormat>()) return std::to_string(static_cast<int>(v.to_memory_format()));
  if (v.is<Device>()) return "\"" + v.to_device().str() + "\"";
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    const bool is_number = t.defined() && t.dim() == 0 && t.layout() == Layout::Strided && t.device().is_cpu() && !t.lacks_data();
    if (!is_number || t.is_complex()) return "<Tensor>";
    const Scalar number = t.item();
    return "{" + literal_of(t.is_floating_point() ? Datum(number.toDouble()) : Datum(number.toLong())) + "}";
  }
  if (v.object()) {
    if (const auto* e = dynamic_cast<const EnumObject*>(v.object()->get())) return e->cls->name + "." + e->name();
    if (object_of(v)) return "object(" + object_of(v)->cls->name + ")";
  }
  return literal_of(v);
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& g) : g_(g), constants_(constant_names(g)) {}

  std::string text() {
    out_ = "graph(";
    const auto& parameters = g_.block().parameters();
    for (size_t i = 0; i < parameters.size(); i++) out_ += (i ? ",\n      " : "") + typed(parameters[i].get());
    out_ += "):\n";
    for (const auto& c : g_.constants())
      if (!c->uses().empty() && !is_only_attribute(*c)) constant(*c);
    block(g_.block(), "  ");
    return std::move(out_);
  }

 private:
  std::string name(const Value* v) const { return "%" + (v->is_constant() ? constants_.at(v) : v->name()); }
  std::string typed(const Value* v) const { return name(v) + " : " + graph_type_text(v->type()); }
  void constant(const Value& c) {
    const Datum& v = *c.constant();
    const bool is_none = v.is_none() || (v.is_tensor() && !v.to_tensor().defined());
    out_ += "  " + name(&c) + " : " + (is_none ? "NoneType" : graph_type_text(c.type())) + " = prim::Constant";
    out_ += is_none ? "()\n" : "[value=" + constant_text(v) + "]()\n";
  }
  static std::string attributes(const NodeView& view) {
    if (view.attributes.empty()) return "";
    std::string s;
    for (const auto& [name, v] : view.attributes) {
      s += (s.empty() ? "" : ", ") + name + "=";
      if (view.is_foreign || v.isString()) {
        s += constant_text(v);
        continue;
      }
      std::string types;  // which stand without quotes
      for (const Datum& t : v.toListVector()) types += (types.empty() ? "" : ", ") + schema_text_of(t.to_string());
      s += "[" + types + "]";
    }
    return "[" + s + "]";
  }
  void block(const Block& b, const std::string& indent) {
    for (const auto& n : b.nodes()) {
      const NodeView view = view_of(*n);
      std::string inputs, outputs;
      for (const size_t i : view.inputs) inputs += (inputs.empty() ? "" : ", ") + name(n->input(i));
      if (n->kind() == NodeKind::Return) {
        out_ += indent + (b.owner() ? "-> (" : "return (") + inputs + ")\n";
        continue;
      }
      if (!gives_nothing(*n))
        for (const auto& o : n->outputs()) outputs += (outputs.empty() ? "" : ", ") + typed(o.get());
      out_ += indent + outputs + " = " + view.kind + attributes(view) + "(" + inputs + ")";
      if (const auto& l = n->location()) out_ += " # " + l->file + ":" + std::to_string(l->line) + ":" + std::to_string(l->column - 1);
      out_ += "\n";
      for (size_t i = 0; i < n->blocks().size(); i++) {
        const Block& inner = *n->blocks()[i];
        out_ += indent + "  block" + std::to_string(i) + "(";
        for (size_t k = 0; k < inner.parameters().size(); k++) out_ += (k ? ", " : "") + typed(inner.parameter(k));
        out_ += "):\n";
        block(inner, indent + "    ");
      }
    }
  }

  const Graph& g_;
  std::unordered_map<const Value*, std::string> constants_;
  std::string out_;
};

}  // namespace

std::string kind_of(const Node& n) {
  switch (n.kind()) {
    case NodeKind::If: return "prim::If";
    case NodeKind::Loop: return "prim::Loop";
    case NodeKind::List: return "prim::ListConstruct";
    case NodeKind::Tuple: return "prim::TupleConstruct";
    case NodeKind::Dict: return "prim::DictConstruct";
    case NodeKind::Unpack: return n.input(0)->type().kind() == TypeKind::List ? "prim::ListUnpack" : "prim::TupleUnpack";
    case NodeKind::Return: return "prim::Return";
    case NodeKind::Call: {
      Function* f = find_function(n.target());
      return f && f->cls ? "prim::CallMethod" : "prim::CallFunction";
    }
    case NodeKind::Foreign: return n.target();
    default: break;
  }
  if (!is_builtin(n, "prim::CallNative")) return base_name(n);
  return names_operator(n) ? foreign_operator_name(constant_text(n.input(0))) : "prim::PythonOp";
}

NodeView view_of(const Node& n) {
  NodeView view;
  view.kind = kind_of(n);
  std::vector<Datum> types;
  for (size_t i = 0; i < n.inputs().size(); i++) {
    if (!is_attribute(n, i)) {
      view.inputs.push_back(i);
    } else if (is_builtin(n, "prim::isinstance")) {
      types.push_back(*n.input(i)->constant());
    } else if (!is_builtin(n, "prim::CreateObject") && !names_operator(n)) {
      view.attributes.emplace_back("name", *n.input(i)->constant());
    }
  }
  if (!types.empty()) view.attributes.emplace_back("types", make_list(dispatch::ElementKind::String, std::move(types)));
  if (n.kind() == NodeKind::Call) view.attributes.emplace_back("name", Datum(short_name(n.target())));
  view.is_foreign = n.kind() == NodeKind::Foreign;
  if (view.is_foreign)
    for (const auto& [name, v] : n.attributes())
      if (name != kDetachedNote) view.attributes.emplace_back(name, v);
  return view;
}

bool is_only_attribute(const Value& constant) {
  return !constant.uses().empty() && std::all_of(constant.uses().begin(), constant.uses().end(), [](const Use& u) { return is_attribute(*u.node, u.input); });
}

std::unordered_map<const Value*, std::string> constant_names(const Graph& g) {
  std::unordered_map<const Value*, std::string> names;
  size_t next = 1;
  for (const auto& c : g.constants()) {
    std::string name = c->name();
    while (name.empty() || (c->name().empty() && g.has_name(name))) name = std::to_string(next++);
    names[c.get()] = std::move(name);
  }
  return names;
}

std::string graph_text(const Graph& g) { return GraphPrinter(g).text(); }

}  // namespace cresset::graph::script
