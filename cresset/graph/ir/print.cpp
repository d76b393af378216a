// The text of graphs, which parse.cpp reads back.

#include <charconv>
#include <cmath>

#include "cresset/core/layout.h"
#include "cresset/graph/ir/names.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

std::string structure_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::If: return "ir::if";
    case NodeKind::Loop: return "ir::loop";
    case NodeKind::List: return "ir::list";
    case NodeKind::Tuple: return "ir::tuple";
    case NodeKind::Dict: return "ir::dict";
    case NodeKind::Unpack: return "ir::unpack";
    case NodeKind::Call: return "ir::call";
    case NodeKind::Return: return "return";
    default: return "";
  }
}
std::string short_name(std::string_view op) {
  const size_t ns = op.rfind("::");
  if (ns != std::string_view::npos) op.remove_prefix(ns + 2);
  return std::string(op.substr(0, op.find('.')));
}
std::optional<ScalarType> find_dtype(std::string_view name) {
  for (int i = 0; i < kNumDTypes; i++)
    if (name == dtype_name(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
  return std::nullopt;
}
std::string quoted(std::string_view text) {
  static const char kHex[] = "0123456789abcdef";
  std::string s = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (s += '\\') += c;
    else if (c == '\n') s += "\\n";
    else if (u < 32 || u == 127) ((s += "\\x") += kHex[u >> 4]) += kHex[u & 15];
    else s += c;
  }
  return s + "\"";
}

namespace {

template <class T> std::string number_text(T v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), v).ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}
std::string scalar_text(const Scalar& v) { return literal_text(Datum(v)); }

template <class L, class F> std::string list_text(const char* kind, const L& list, F&& text) {
  std::string s = std::string(kind) + "[";
  bool first = true;
  for (const auto& v : list) {
    s += (first ? "" : ", ") + text(v);
    first = false;
  }
  return s + "]";
}

std::vector<Sym> contiguous(const std::vector<Sym>& sizes) {
  std::vector<Sym> strides(sizes.size());
  Sym step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    const auto n = sizes[d].constant();
    if (!n || *n > 1) step = step * sizes[d];
  }
  return strides;
}

std::string syms_text(const std::vector<Sym>& list) {
  return list_text("", list, [](const Sym& s) { return s.text(); });
}

std::string tensor_text(const TensorFacts& f) {
  const bool sized = f.sizes.has_value();
  std::vector<std::string> notes;
  std::string s = "Tensor";
  if (sized && f.dtype) s = dtype_name(*f.dtype);
  else if (f.dtype) notes.push_back(std::string("dtype=") + dtype_name(*f.dtype));
  if (sized) s += syms_text(*f.sizes);
  // Of a tensor with known sizes the usual facts are left out, and unknown ones are said.
  const bool is_strided = f.layout && *f.layout == Layout::Strided;
  if (f.strides) {
    if (!sized || *f.strides != contiguous(*f.sizes)) notes.push_back("strides=" + syms_text(*f.strides));
  } else if (sized && is_strided) {
    notes.push_back("strides=?");
  }
  if (f.device ? !sized || !(*f.device == Device(kCPU)) : sized) notes.push_back("device=" + (f.device ? f.device->str() : "?"));
  if (f.layout ? !sized || !is_strided : sized) notes.push_back(std::string("layout=") + (f.layout ? layout_name(*f.layout) : "?"));
  if (f.requires_grad) notes.push_back(*f.requires_grad ? "grad=true" : "grad=false");
  if (notes.empty()) return s;
  s += "{";
  for (size_t i = 0; i < notes.size(); i++) s += (i ? ", " : "") + notes[i];
  return s + "}";
}

}  // namespace

std::string Type::text() const {
  const auto inside = [&](const char* name) { return list_text(name, elements(), [](const Type& t) { return t.text(); }); };
  switch (kind_) {
    case TypeKind::Any: return "Any";
    case TypeKind::None: return "None";
    case TypeKind::Tensor: return tensor_text(facts());
    case TypeKind::Int: return "int";
    case TypeKind::Float: return "float";
    case TypeKind::Bool: return "bool";
    case TypeKind::Complex: return "complex";
    case TypeKind::Number: return "number";
    case TypeKind::String: return "str";
    case TypeKind::DType: return "dtype";
    case TypeKind::Device: return "device";
    case TypeKind::Layout: return "layout";
    case TypeKind::MemoryFormat: return "memory_format";
    case TypeKind::Generator: return "Generator";
    case TypeKind::List: return inside("List");
    case TypeKind::Optional: return inside("Optional");
    case TypeKind::Dict: return inside("Dict");
    case TypeKind::Union: return inside("Union");
    case TypeKind::Future: return inside("Future");
    case TypeKind::Class: return "Class[" + quoted(name()) + "]";
    case TypeKind::Tuple: break;
  }
  if (fields().empty()) return inside("Tuple");
  std::string s = "NamedTuple[" + quoted(name());
  for (size_t i = 0; i < elements().size(); i++) s += ", " + fields()[i] + ": " + elements()[i].text();
  return s + "]";
}

std::string literal_text(const Datum& v) {
  if (v.is_none()) return "none";
  if (v.is<bool>()) return v.to_bool() ? "true" : "false";
  if (v.is<int64_t>()) return std::to_string(v.to_int());
  if (auto* u = std::get_if<uint64_t>(&v.data())) return std::to_string(*u) + "u";
  if (v.is<double>()) return number_text(v.to_double());
  if (auto* c = std::get_if<complex<double>>(&v.data())) return "complex(" + number_text(c->real()) + ", " + number_text(c->imag()) + ")";
  if (v.is<std::string>()) return quoted(v.to_string());
  if (v.is<ScalarType>()) return std::string("dtype.") + dtype_name(v.to_dtype());
  if (v.is<Device>()) return "device " + quoted(v.to_device().str());
  if (v.is<Layout>()) return std::string("layout.") + layout_name(v.to_layout());
  if (v.is<MemoryFormat>()) return std::string("memory_format.") + memory_format_name(v.to_memory_format());
  if (v.is<std::vector<int64_t>>()) return list_text("", v.to_int_list(), [](int64_t i) { return std::to_string(i); });
  if (v.is<std::vector<double>>()) return list_text("float", v.to_double_list(), number_text<double>);
  if (v.is<std::vector<bool>>()) return list_text("bool", v.to_bool_list(), [](bool b) { return std::string(b ? "true" : "false"); });
  if (v.is<std::vector<Scalar>>()) return list_text("number", v.to_scalar_list(), scalar_text);
  if (auto* strings = std::get_if<std::vector<std::string>>(&v.data())) return list_text("str", *strings, [](const std::string& s) { return quoted(s); });
  throw TypeError(str("graph: expected a constant that is a number, a string, a list of them or None, got ", v.kind()));
}

namespace {

constexpr int64_t kMostPrinted = 16;

// The elements of a small tensor of a common dtype, " = [1.0, 2.0]"; empty for others.
std::string elements_text(const Tensor& t) {
  if (!t.defined() || t.lacks_data() || t.layout() != Layout::Strided || !t.device().is_cpu() || t.numel() > kMostPrinted || t.is_conj()) return "";
  const ScalarType dtype = t.scalar_type();
  if (dtype != kFloat && dtype != kDouble && dtype != kLong && dtype != kInt && dtype != kBool) return "";
  const Tensor flat = t.detach().contiguous();
  std::string s = " = [";
  for (int64_t i = 0; i < t.numel(); i++) {
    const auto at = static_cast<size_t>(i);
    s += i ? ", " : "";
    switch (dtype) {
      case kFloat: s += number_text(static_cast<const float*>(flat.const_data_ptr())[at]); break;
      case kDouble: s += number_text(static_cast<const double*>(flat.const_data_ptr())[at]); break;
      case kLong: s += std::to_string(static_cast<const int64_t*>(flat.const_data_ptr())[at]); break;
      case kInt: s += std::to_string(static_cast<const int32_t*>(flat.const_data_ptr())[at]); break;
      default: s += static_cast<const bool*>(flat.const_data_ptr())[at] ? "true" : "false"; break;
    }
  }
  return s + "]";
}

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void graph(const Graph& g) {
    out_ += "graph @" + g.name();
    parameters(g.block());
    out_ += " {\n";
    for (const auto& [name, range] : g.ranges()) {
      out_ += "  dim " + name + " in [" + std::to_string(range.min) + ", ";
      out_ += (range.max == SymRange::kNoBound ? "inf" : std::to_string(range.max)) + "]\n";
    }
    for (const auto& c : g.constants()) {
      if (c->name().empty()) continue;
      out_ += "  tensor @" + c->name() + ": " + c->type().text();
      out_ += elements_text(c->constant()->is_tensor() ? c->constant()->to_tensor() : Tensor()) + "\n";
    }
    nodes(g.block(), "  ");
    out_ += "}\n";
  }

 private:
  void parameters(const Block& b) {
    out_ += "(";
    for (const auto& p : b.parameters()) out_ += (p->index() ? ", %" : "%") + p->name() + ": " + p->type().text();
    out_ += ")";
  }
  void operands(const Node& n) {
    bool first = true;
    for (const Value* v : n.inputs()) {
      out_ += first ? "" : ", ";
      first = false;
      if (!v->is_constant()) out_ += "%" + v->name();
      else if (!v->name().empty()) out_ += "@" + v->name();
      else out_ += literal_text(*v->constant());
    }
  }
  void tail(const Node& n) {
    if (!n.attributes().empty()) {
      const char* before = " <";
      for (const auto& [name, value] : n.attributes()) {
        out_ += before + name + " = " + literal_text(value);
        before = ", ";
      }
      out_ += ">";
    }
    if (const auto& l = n.location()) {
      out_ += " at " + quoted(l->file) + ":" + std::to_string(l->line) + ":" + std::to_string(l->column);
      if (!l->function.empty()) out_ += " in " + quoted(l->function);
    }
  }
  void nodes(const Block& b, const std::string& indent) {
    for (const auto& n : b.nodes()) {
      out_ += indent;
      if (n->kind() == NodeKind::Return) {
        out_ += n->inputs().empty() ? "return" : "return ";
        operands(*n);
        tail(*n);
        out_ += "\n";
        continue;
      }
      for (const auto& o : n->outputs()) out_ += (o->index() ? ", %" : "%") + o->name() + ": " + o->type().text();
      if (!n->outputs().empty()) out_ += " = ";
      if (n->kind() == NodeKind::Foreign) out_ += "foreign " + quoted(n->target());
      else out_ += n->op_name() + (n->kind() == NodeKind::Call ? " @" + n->target() : "");
      out_ += "(";
      operands(*n);
      out_ += ")";
      tail(*n);
      for (const auto& inside : n->blocks()) {
        out_ += " ";
        if (!inside->parameters().empty()) {
          parameters(*inside);
          out_ += " ";
        }
        out_ += "{\n";
        nodes(*inside, indent + "  ");
        out_ += indent + "}";
      }
      out_ += "\n";
    }
  }

  std::string& out_;
};

}  // namespace

std::string Graph::text() const {
  std::string s;
  Printer(s).graph(*this);
  return s;
}
std::string Module::text() const {
  std::string s;
  for (const auto& g : graphs) {
    if (!s.empty()) s += "\n";
    Printer(s).graph(*g);
  }
  return s;
}

}  // namespace cresset::graph
