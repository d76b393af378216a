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

std::string joined(const std::vector<std::string>& parts) {
  std::string s;
  for (const std::string& part : parts) s += (s.empty() ? "" : ", ") + part;
  return s;
}
// "Float(2, *, requires_grad=0, device=cpu)"; "FloatTensor" where the sizes are unknown, "Tensor(2, *)" where the dtype is.
std::string tensor_text(const TensorFacts& facts) {
  const auto size = [](const Sym& n) { return n.constant() ? std::to_string(*n.constant()) : std::string("*"); };
  std::vector<std::string> parts, strides;
  for (const Sym& n : facts.sizes.value_or(std::vector<Sym>())) parts.push_back(size(n));
  for (const Sym& n : facts.strides.value_or(std::vector<Sym>()))
    if (n.constant()) strides.push_back(size(n));
  if (!strides.empty() && strides.size() == facts.strides->size()) parts.push_back("strides=[" + joined(strides) + "]");
  if (facts.requires_grad) parts.push_back(std::string("requires_grad=") + (*facts.requires_grad ? "1" : "0"));
  if (facts.device) parts.push_back("device=" + facts.device->str());
  const std::string name = (facts.dtype ? toString(*facts.dtype) : std::string()) + (facts.dtype && facts.sizes ? "" : "Tensor");
  return facts.sizes || !parts.empty() ? name + "(" + joined(parts) + ")" : name;
}

// Nodes whose None nothing reads have no outputs elsewhere.
bool gives_nothing(const Node& n) {
  if (n.kind() != NodeKind::Builtin || n.outputs().size() != 1 || !n.output()->uses().empty()) return false;
  const Schema* const schema = schema_of(*n.builtin());
  return schema ? schema->returns.empty() : is_builtin(n, "prim::SetAttr") || is_builtin(n, "prim::RaiseException") || is_builtin(n, "prim::Print");
}
}  // namespace

std::string graph_type_text(const Type& type) {
  std::vector<std::string> parts;
  for (const Type& t : type.elements()) parts.push_back(graph_type_text(t));
  switch (type.kind()) {
    case TypeKind::Tensor: return tensor_text(type.facts());
    case TypeKind::List: return parts[0] + "[]";
    case TypeKind::Optional: return parts[0] + "?";
    case TypeKind::Future: return "Future[" + parts[0] + "]";
    case TypeKind::Tuple: return type.name().empty() ? "(" + joined(parts) + ")" : schema_type_text(type);
    default: return schema_type_text(type);
  }
}

namespace {

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

// The function whose call a node puts aside, with a graph; null: it is no such node.
Function* forked_function(const Node& n) {
  if (!is_builtin(n, "prim::fork") || !n.input(0)->is_constant()) return nullptr;
  Function* const f = find_function(n.input(0)->constant()->to_string());
  if (f) f->ensure_defined();
  return f && f->graph ? f : nullptr;
}

class GraphPrinter {
 public:
  // With at most so many graphs of forked functions, which may be twice as many at every level.
  explicit GraphPrinter(const Graph& g, int& forks_left) : g_(g), constants_(constant_names(g)), forks_left_(forks_left) {}

  std::string text() {
    out_ = "graph(";
    const auto& parameters = g_.block().parameters();
    for (size_t i = 0; i < parameters.size(); i++) out_ += (i ? ",\n      " : "") + typed(parameters[i].get());
    out_ += "):\n";
    for (const auto& c : g_.constants())
      if (!c->uses().empty() && !is_only_attribute(*c)) constant(*c);
    block(g_.block(), "  ");
    for (size_t i = 0; i < forked_.size(); i++) out_ += "with prim::fork_" + std::to_string(i) + " = " + GraphPrinter(*forked_[i]->graph, forks_left_).text();
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
      NodeView view = view_of(*n);
      std::string inputs, outputs;
      if (Function* const f = forks_left_ > 0 ? forked_function(*n) : nullptr) {
        forks_left_--;
        view.kind += "_" + std::to_string(forked_.size());
        view.attributes.clear();
        forked_.push_back(f);
      }
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
  int& forks_left_;
  std::vector<Function*> forked_;
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

std::string graph_text(const Graph& g) {
  int forks = 64;
  return GraphPrinter(g, forks).text();
}

}  // namespace cresset::graph::script
