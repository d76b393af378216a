#include "cresset/graph/onnx/export.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <optional>

#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/print.h"
#include "cresset/io/file.h"
#include "cresset/ops/build_info.h"

namespace cresset::graph::onnx {

namespace {

constexpr const char* kMark = "__EXTERNAL";
constexpr const char* kNameAttribute = "onnx_name";
constexpr size_t kSmallest = 1024;  // bytes of initializers that become files

// The version of the format that came with an opset (onnx.ai, "Versioning").
int64_t format_of_opset(int64_t opset) {
  static constexpr int8_t kVersions[] = {0, 3, 0, 0, 0, 3, 3, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13};
  const int64_t version = opset < 0 || opset >= static_cast<int64_t>(std::size(kVersions)) ? 0 : kVersions[opset];
  CRESSET_CHECK_VALUE(version, "export_onnx: expected the opset version 1 or one from 5 to ", std::size(kVersions) - 1, ", got ", opset);
  return version;
}

// The number of TensorProto.DataType; 0: it has none.
int64_t data_type_of(ScalarType t) {
  switch (t) {
    case ScalarType::Float: return 1;
    case ScalarType::Byte: return 2;
    case ScalarType::Char: return 3;
    case ScalarType::UInt16: return 4;
    case ScalarType::Short: return 5;
    case ScalarType::Int: return 6;
    case ScalarType::Long: return 7;
    case ScalarType::Bool: return 9;
    case ScalarType::Half: return 10;
    case ScalarType::Double: return 11;
    case ScalarType::UInt32: return 12;
    case ScalarType::UInt64: return 13;
    case ScalarType::ComplexFloat: return 14;
    case ScalarType::ComplexDouble: return 15;
    case ScalarType::BFloat16: return 16;
    case ScalarType::Float8_e4m3fn: return 17;
    case ScalarType::Float8_e4m3fnuz: return 18;
    case ScalarType::Float8_e5m2: return 19;
    case ScalarType::Float8_e5m2fnuz: return 20;
    case ScalarType::Float8_e8m0fnu: return 24;
    default: return 0;
  }
}
int64_t data_type(ScalarType t) {
  const int64_t number = data_type_of(t);
  CRESSET_CHECK_TYPE(number, "export_onnx: the format has no tensors of ", dtype_name(t));
  return number;
}

const GraphObject* graph_in(const Datum& v) { return v.object() ? dynamic_cast<const GraphObject*>(v.object()->get()) : nullptr; }

class Exporter {
 public:
  Exporter(const std::map<std::string, Tensor>& initializers, const ExportOptions& options) : initializers_(initializers), options_(options) {}

  Exported run(const Graph& g) {
    out_.model = std::make_shared<Message>(model_info());
    Message& model = *out_.model;
    model.set("ir_version", format_of_opset(options_.opset));
    model.set("producer_name", "cresset");
    model.set("producer_version", std::string(build_info().version));
    refuse_unknown(g);
    decide_on_files(g);
    try {
      main_graph(g, model.child("graph"), &initializers_);
    } catch (...) {
      for (const std::string& file : written_) unlink(file.c_str());
      throw;
    }
    model.child("opset_import").set("version", options_.opset);
    for (const std::string& domain : domains_) {
      Message& opset = model.child("opset_import");
      opset.set("domain", domain);
      const auto custom = options_.custom_opsets.find(domain);
      opset.set("version", static_cast<int64_t>(custom == options_.custom_opsets.end() ? 1 : custom->second));
    }
    return std::move(out_);
  }

 private:
  static std::pair<std::string, std::string> parts_of(const std::string& kind) {
    const size_t at = kind.find("::");
    return at == std::string::npos ? std::pair(std::string("onnx"), kind) : std::pair(kind.substr(0, at), kind.substr(at + 2));
  }
  bool is_strict() const { return options_.operators == OperatorExportTypes::ONNX; }

  void refuse_unknown(const Graph& g) const {
    if (!is_strict()) return;
    std::string found;
    size_t count = 0;
    const auto refuse = [&](const std::string& what, const std::shared_ptr<const Location>& at) {
      if (++count <= 20) found += "\n  " + what + (at ? " (" + at->file + ":" + std::to_string(at->line) + ")" : "");
    };
    for (const auto& c : g.constants())
      if (!c->uses().empty() && !is_none(*c)) refuse("prim::Constant, a value of type " + c->type().text(), nullptr);
    g.for_each([&](Node& n) {
      if (n.kind() == NodeKind::Return) return;
      const std::string kind = script::kind_of(n);
      const std::string space = parts_of(kind).first;
      if (space == "aten" || space == "prim" || space == "attr") refuse(kind, n.location());
    });
    CRESSET_CHECK(count == 0, "export_onnx: expected nodes of ONNX or of a domain of users alone, and constants as onnx::Constant; the graph has ", count,
                  " others:", found);
  }
  void decide_on_files(const Graph& g) {
    uint64_t total = 0;
    for (const auto& p : g.block().parameters())
      if (const auto found = initializers_.find(p->name()); found != initializers_.end()) total += found->second.nbytes();
    const bool is_large = total > static_cast<uint64_t>(INT_MAX);
    out_.has_external_data = !options_.defer_weights && (options_.external_data || is_large);
    CRESSET_CHECK_VALUE(!out_.has_external_data || !options_.path.empty(), "export_onnx: initializers of ", total,
                        " bytes become files of their own, expected the path of the model");
  }

  static bool is_none(const Value& v) {
    return v.is_constant() && (v.constant()->is_none() || (v.constant()->is_tensor() && !v.constant()->to_tensor().defined()));
  }
  std::string name_of(const Value& v) {
    if (is_none(v)) return "";
    if (!v.is_constant()) return v.name();
    const Graph& g = v.graph();
    if (named_ != &g) {
      named_ = &g;
      constants_ = script::constant_names(g);
    }
    return constants_.at(&v);
  }

  // ---- graphs

  void main_graph(const Graph& g, Message& out, const std::map<std::string, Tensor>* initializers) {
    out.set("name", "main_graph");
    std::unordered_set<const Value*> results(g.block().results().begin(), g.block().results().end());
    const Block& b = g.block();
    for (const auto& p : b.parameters()) {
      const bool is_initializer = initializers && initializers->count(p->name());
      if (!is_initializer || options_.initializers_are_inputs) value_info(*p, "", out.child("input"));
    }
    if (!is_strict())
      for (const auto& c : g.constants())
        if (!c->uses().empty() && !is_none(*c) && !script::is_only_attribute(*c)) constant_node(*c, out, results);
    nodes(b, out, &results);
    outputs(b, out);
    for (const auto& p : b.parameters()) {
      if (!initializers) continue;
      const auto found = initializers->find(p->name());
      if (found != initializers->end()) initializer(found->first, found->second, out.child("initializer"));
    }
  }
  void sub_graph(const Block& b, Message& out) {
    out.set("name", num_graphs_ == 0 ? std::string("sub_graph") : "sub_graph" + std::to_string(num_graphs_));
    num_graphs_++;
    for (const auto& p : b.parameters()) value_info(*p, "", out.child("input"));
    nodes(b, out, nullptr);
    outputs(b, out);
  }
  void outputs(const Block& b, Message& out) {
    for (const Value* v : b.results()) value_info(*v, v->node() ? parts_of(script::kind_of(*v->node())).second : "", out.child("output"));
  }
  void nodes(const Block& b, Message& out, const std::unordered_set<const Value*>* results) {
    for (const auto& n : b.nodes())
      if (n->kind() != NodeKind::Return) node(*n, out, results);
  }

  void node(const Node& n, Message& graph, const std::unordered_set<const Value*>* results) {
    const script::NodeView view = script::view_of(n);
    const auto [space, op] = parts_of(view.kind);
    Message& out = graph.child("node");
    for (const size_t i : view.inputs) out.set("input", name_of(*n.input(i)));
    for (const auto& o : n.outputs()) out.set("output", o->name());
    const auto own = n.attributes().find(kNameAttribute);
    const bool is_named = own != n.attributes().end() && own->second.isString();
    head(out, space, op, is_named ? &own->second.to_string() : nullptr);
    if (options_.names_nodes) out_.node_names[&n] = out.text("name");
    if (!options_.strip_places && n.location()) {
      const Location& at = *n.location();
      out.set("doc_string", at.file + ":" + std::to_string(at.line) + (at.function.empty() ? "" : " in " + at.function));
    }
    const auto outer = options_.attribute_names.find(&n);
    for (const auto& [name, v] : view.attributes) {
      if (name == kNameAttribute) continue;
      Message& a = out.child("attribute");
      a.set("name", name);
      attribute(view.kind, name, v, a);
      if (outer == options_.attribute_names.end()) continue;
      const auto refers = outer->second.find(name);
      if (refers != outer->second.end()) refer(a, refers->second);
    }
    if (!n.blocks().empty()) blocks(n, op, out);
    if (space != "onnx")
      for (const auto& o : n.outputs())
        if (!results || !results->count(o.get())) value_info(*o, op, graph.child("value_info"));
  }
  void constant_node(const Value& c, Message& graph, const std::unordered_set<const Value*>& results) {
    Message& out = graph.child("node");
    out.set("output", name_of(c));
    head(out, "prim", "Constant", nullptr);
    Message& a = out.child("attribute");
    a.set("name", "value");
    attribute("prim::Constant", "value", *c.constant(), a);
    if (!results.count(&c)) value_info(c, "Constant", graph.child("value_info"));
  }
  // The operator, its domain and the node's name.
  void head(Message& out, const std::string& space, const std::string& op, const std::string* name) {
    if (options_.names_nodes) out.set("name", name ? *name : op + "_" + std::to_string(num_nodes_));
    num_nodes_++;
    out.set("op_type", op);
    if (space == "onnx") return;
    const std::string domain = space == "aten" ? "org.pytorch.aten" : space;
    domains_.insert(domain);
    out.set("domain", domain);
  }
  void blocks(const Node& n, const std::string& op, Message& out) {
    static const std::map<std::string, std::vector<const char*>> kNames = {{"If", {"then_branch", "else_branch"}}, {"Loop", {"body"}}, {"Scan", {"body"}}};
    const auto names = kNames.find(op);
    CRESSET_CHECK(names != kNames.end() && names->second.size() == n.blocks().size(), "export_onnx: the node ", n.text_name(), " has ", n.blocks().size(),
                  " blocks; the format has graphs within If (2), Loop and Scan (1)");
    for (size_t i = 0; i < n.blocks().size(); i++) {
      Message& a = out.child("attribute");
      a.set("name", std::string(names->second[i]));
      sub_graph(*n.blocks()[i], a.child("g"));
      a.set("type", int64_t{5});
    }
  }

  // ---- values

  void value_info(const Value& v, const std::string& op, Message& out) {
    const std::string name = name_of(v);
    out.set("name", name);
    type(v.type(), name, op + name, out.child("type"));
  }
  void type(const Type& t, const std::string& name, const std::string& prefix, Message& out) {
    const auto number = [&](ScalarType s) { out.child("tensor_type").set("elem_type", data_type(s)); };
    switch (t.kind()) {
      case TypeKind::Tensor: return tensor_type(t.facts(), name, prefix, out);
      case TypeKind::Int: return number(ScalarType::Long);
      case TypeKind::Float: return number(ScalarType::Float);
      case TypeKind::Bool: return number(ScalarType::Bool);
      case TypeKind::List: return type(t.elements()[0], name, prefix, out.child("sequence_type").child("elem_type"));
      case TypeKind::Optional: {
        Message& element = out.child("optional_type").child("elem_type");
        if (t.elements()[0].is_tensor()) element.child("tensor_type");
        return type(t.elements()[0], name, prefix, element);
      }
      default: return;  // nothing is said of it
    }
  }
  void tensor_type(const TensorFacts& facts, const std::string& name, const std::string& prefix, Message& out) {
    if (!facts.dtype) return;
    Message& tensor = out.child("tensor_type");
    tensor.set("elem_type", data_type(*facts.dtype));
    if (!facts.sizes) return;
    Message& shape = tensor.child("shape");
    const auto axes = options_.dynamic_axes.find(name);
    for (size_t i = 0; i < facts.sizes->size(); i++) {
      Message& dim = shape.child("dim");
      const Sym& size = (*facts.sizes)[i];
      if (axes != options_.dynamic_axes.end())
        if (const auto named = axes->second.find(static_cast<int64_t>(i)); named != axes->second.end()) {
          dim.set("dim_param", named->second);
          continue;
        }
      if (const auto known = size.constant()) dim.set("dim_value", *known);
      else dim.set("dim_param", name_of_size(size, prefix + "_dim_" + std::to_string(i)));
    }
  }
  // Sizes of one symbol have the name of its first occurrence.
  const std::string& name_of_size(const Sym& size, std::string wanted) {
    std::optional<int64_t> number = number_of_size(size);
    if (number) {
      number = -*number;
    } else if (size.is_known()) {
      const auto [found, is_new] = symbols_.emplace(size.text(), 0);
      if (is_new) found->second = fresh_size();
      number = found->second;
    }
    return out_.sizes.emplace(number ? *number : fresh_size(), std::move(wanted)).first->second;
  }
  int64_t fresh_size() { return --last_size_; }

  void initializer(const std::string& name, const Tensor& t, Message& out) {
    if (options_.defer_weights) {
      tensor_head(t, out);
      out.set("name", name);
      out.set("raw_data", std::string(kMark));
      out_.weights[name] = t;
      return;
    }
    if (out_.has_external_data && t.nbytes() >= kSmallest) {
      tensor_head(t, out);
      out.set("name", name);
      external(name, t, out);
      return;
    }
    tensor(t, out);
    out.set("name", name);
  }
  static void tensor_head(const Tensor& t, Message& out) {
    CRESSET_CHECK_VALUE(t.defined() && t.layout() == Layout::Strided, "export_onnx: expected tensors of the layout strided, got another");
    for (const int64_t n : t.sizes()) out.set("dims", n);
    out.set("data_type", data_type(t.dtype()));
  }
  static Tensor plain(const Tensor& t) { return t.detach().to(Device("cpu")).resolve_conj().resolve_neg().contiguous(); }
  static void tensor(const Tensor& t, Message& out) {
    tensor_head(t, out);
    const Tensor bytes = plain(t);
    out.set("raw_data", std::string(static_cast<const char*>(bytes.data_ptr()), bytes.nbytes()));
  }
  // Beside the model, in a file named after the tensor.
  void external(const std::string& name, const Tensor& t, Message& out) {
    const size_t slash = options_.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : options_.path.substr(0, slash + 1);
    std::string file;
    for (const char c : name) file += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ? c : '_';
    while (!files_.insert(file).second) file += "_";
    const Tensor bytes = plain(t);
    io::write_file_atomically(folder + file, [&](const io::WriteBytes& write) { write(bytes.data_ptr(), bytes.nbytes()); });
    written_.push_back(folder + file);
    Message& entry = out.child("external_data");
    entry.set("key", "location");
    entry.set("value", file);
    out.set("data_location", int64_t{1});
  }

  // ---- attributes

  void attribute(const std::string& kind, const std::string& name, const Datum& v, Message& out) {
    const auto typed = [&](int64_t type) { out.set("type", type); };
    if (v.is_tensor() && v.to_tensor().defined()) {
      tensor(v.to_tensor(), out.child("t"));
      return typed(4);
    }
    if (v.isBool() || v.isInt()) {
      out.set("i", v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt());
      return typed(2);
    }
    if (v.is<ScalarType>()) {
      out.set("i", int64_t{script::number_of(v.to_dtype())});
      return typed(2);
    }
    if (v.isDouble()) {
      out.set("f", static_cast<float>(v.toDouble()));
      return typed(1);
    }
    if (v.isString() || v.is<Device>()) {
      out.set("s", v.isString() ? v.to_string() : v.to_device().str());
      return typed(3);
    }
    if (const GraphObject* g = graph_in(v)) {
      main_graph(*g->graph, out.child("g"), nullptr);
      return typed(5);
    }
    CRESSET_CHECK_TYPE(v.isList(), "export_onnx: the attribute '", name, "' of ", kind, " is a value that the format has no place for: ", Type::of(v).text());
    list(kind, name, v, out);
  }
  void list(const std::string& kind, const std::string& name, const Datum& v, Message& out) {
    const std::vector<Datum> elements = v.toListVector();
    const auto all = [&](auto is) { return !elements.empty() && std::all_of(elements.begin(), elements.end(), is); };
    if (all([](const Datum& e) { return e.isString(); })) {
      for (const Datum& e : elements) out.set("strings", e.to_string());
      return out.set("type", int64_t{8});
    }
    if (all([](const Datum& e) { return e.is_tensor() && e.to_tensor().defined(); })) {
      for (const Datum& e : elements) tensor(e.to_tensor(), out.child("tensors"));
      return out.set("type", int64_t{9});
    }
    if (all([](const Datum& e) { return graph_in(e) != nullptr; })) {
      for (const Datum& e : elements) main_graph(*graph_in(e)->graph, out.child("graphs"), nullptr);
      return out.set("type", int64_t{10});
    }
    if (v.isDoubleList() || all([](const Datum& e) { return e.isDouble(); })) {
      for (const Datum& e : elements) out.set("floats", static_cast<float>(e.toDouble()));
      return out.set("type", int64_t{6});
    }
    CRESSET_CHECK_TYPE(elements.empty() || all([](const Datum& e) { return e.isInt() || e.isBool(); }), "export_onnx: the attribute '", name, "' of ", kind,
                       " is a list that the format has no place for; expected integers, floats, strings, tensors or graphs alone");
    for (const Datum& e : elements) out.set("ints", e.isBool() ? static_cast<int64_t>(e.toBool()) : e.toInt());
    out.set("type", int64_t{7});
  }
  // The attribute has the value of that of the function around.
  static void refer(Message& attribute, const std::string& name) {
    Message out(attribute.info());
    out.set("name", attribute.text("name"));
    out.set("type", attribute.integer("type"));
    out.set("ref_attr_name", name);
    attribute = std::move(out);
  }

  const std::map<std::string, Tensor>& initializers_;
  const ExportOptions& options_;
  Exported out_;
  std::set<std::string> domains_, files_;
  std::vector<std::string> written_;
  size_t num_nodes_ = 0, num_graphs_ = 0;
  std::map<std::string, int64_t> symbols_;
  int64_t last_size_ = INT64_MIN / 2;  // beyond those that texts have
  const Graph* named_ = nullptr;
  std::unordered_map<const Value*, std::string> constants_;
};

}  // namespace

Exported export_graph(const Graph& graph, const std::map<std::string, Tensor>& initializers, const ExportOptions& options) {
  return Exporter(initializers, options).run(graph);
}

Sym numbered_size(int64_t number) { return Sym::symbol("SS_" + std::to_string(number)); }
std::optional<int64_t> number_of_size(const Sym& size) {
  const auto name = size.is_known() && !size.constant() ? size.as_symbol() : std::nullopt;
  if (!name || name->compare(0, 3, "SS_") != 0) return std::nullopt;
  char* end;
  const long long number = std::strtoll(name->c_str() + 3, &end, 10);
  return *end || end == name->c_str() + 3 ? std::nullopt : std::optional<int64_t>(number);
}

}  // namespace cresset::graph::onnx
