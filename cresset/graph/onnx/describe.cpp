// Models for people.

#include <functional>

#include "cresset/base/error.h"
#include "cresset/graph/onnx/export.h"

namespace cresset::graph::onnx {

namespace {

std::string text_of_type(const Message* type) {
  if (!type) return "None";
  if (const Message* t = type->message("tensor_type")) {
    std::string s = "Tensor dtype: " + (t->has("elem_type") ? std::to_string(t->integer("elem_type")) : "None.") + ", Tensor dims:";
    const Message* shape = t->message("shape");
    if (!shape) return s + " None.";
    for (const Message* d : shape->messages("dim")) s += d->has("dim_value") ? " " + std::to_string(d->integer("dim_value")) : " ?";
    return shape->has("dim") ? s : s + " ";
  }
  if (const Message* t = type->message("sequence_type")) return "Sequence<" + text_of_type(t->message("elem_type")) + ">";
  if (const Message* t = type->message("optional_type")) return "Optional<" + text_of_type(t->message("elem_type")) + ">";
  return "None";
}

class Describer {
 public:
  std::string model(const Message& m) {
    out_ = "ModelProto {\n  producer_name: \"" + m.text("producer_name") + "\"\n  domain: \"" + m.text("domain") + "\"\n  doc_string: \"" +
           m.text("doc_string") + "\"\n";
    if (const Message* g = m.message("graph")) {
      out_ += "  graph:";
      graph(*g, 4);
    }
    if (m.has("opset_import")) {
      out_ += "  opset_import: [";
      for (const Message* o : m.messages("opset_import"))
        out_ += "OperatorSetIdProto { domain: " + o->text("domain") + ", version: " + std::to_string(o->integer("version")) + "}";
      out_ += "],\n";
    }
    return std::move(out_) + "}\n";
  }

 private:
  static std::string line(size_t indent) { return "\n" + std::string(indent, ' '); }
  static std::string joined(const Message& m, const char* field, const char* between, const std::function<std::string(const Message&)>& text) {
    std::string s;
    for (const Message* each : m.messages(field)) s += (s.empty() ? "" : between) + text(*each);
    return s;
  }
  static std::string names(const Message& n, const char* field) {
    std::string s;
    bool is_first = true;
    for (const auto& v : n.values(field)) {
      s += (is_first ? "" : ",") + std::get<std::string>(v);
      is_first = false;
    }
    return s;
  }
  static std::string value(const Message& v) { return "{name: \"" + v.text("name") + "\", type:" + text_of_type(v.message("type")) + "}"; }
  static std::string tensor(const Message& t) {
    std::string s = "TensorProto shape: [";
    const size_t start = s.size();
    for (const auto& n : t.values("dims")) s += (s.size() == start ? "" : " ") + std::to_string(std::get<int64_t>(n));
    return s + "]";
  }
  static std::string number(float f) {
    char text[40];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(f));
    return text;
  }
  template <class F> static std::string list(const Message& a, const char* field, F text) {
    std::string s = "[";
    for (const auto& v : a.values(field)) s += (s.size() == 1 ? "" : " ") + text(v);
    return s + "]";
  }

  void graph(const Message& g, size_t indent) {
    const std::string inner = line(indent + 2);
    out_ += line(indent) + "GraphProto {" + inner + "name: \"" + g.text("name") + "\"";
    for (const auto& [title, field] : {std::pair("inputs", "input"), std::pair("outputs", "output"), std::pair("value_infos", "value_info")})
      out_ += inner + title + ": [" + joined(g, field, ",", value) + "]";
    out_ += inner + "initializers: [" + joined(g, "initializer", ",", tensor) + "]" + inner + "nodes: [";
    bool is_first = true;
    for (const Message* n : g.messages("node")) {
      out_ += (is_first ? "" : ",") + line(indent + 4);
      is_first = false;
      node(*n, indent + 4);
    }
    out_ += (is_first ? line(indent + 4) : "") + inner + "]" + line(indent) + "}\n";
  }
  void node(const Message& n, size_t indent) {
    out_ += "Node {type: \"" + n.text("op_type") + "\", inputs: [" + names(n, "input") + "], outputs: [" + names(n, "output") + "], attributes: [";
    bool is_first = true;
    for (const Message* a : n.messages("attribute")) {
      out_ += is_first ? "" : ",";
      is_first = false;
      attribute(*a, indent);
    }
    out_ += "]}";
  }
  void attribute(const Message& a, size_t indent) {
    out_ += "{ name: '" + a.text("name") + "', type: ";
    const auto text = [](const Message::Value& v) { return "'" + std::get<std::string>(v) + "'"; };
    if (a.has("f")) out_ += "float, value: " + number(std::get<float>(a.values("f").back()));
    else if (a.has("i")) out_ += "int, value: " + std::to_string(a.integer("i"));
    else if (a.has("s")) out_ += "string, value: '" + a.text("s") + "'";
    else if (a.has("t")) out_ += "tensor, value:" + tensor(*a.message("t"));
    else if (a.has("floats")) out_ += "floats, values: " + list(a, "floats", [](const auto& v) { return number(std::get<float>(v)); });
    else if (a.has("ints")) out_ += "ints, values: " + list(a, "ints", [](const auto& v) { return std::to_string(std::get<int64_t>(v)); });
    else if (a.has("strings")) out_ += "strings, values: " + list(a, "strings", text);
    else if (a.has("tensors")) out_ += "tensors, values: [" + joined(a, "tensors", "", tensor) + "]";
    else if (a.has("g")) graphs({a.message("g")}, "graph, value:", indent);
    else if (a.has("graphs")) graphs(a.messages("graphs"), "graphs, values:", indent);
    else out_ += "UNKNOWN";
    out_ += "}";
  }
  void graphs(const std::vector<const Message*>& all, const char* title, size_t indent) {
    out_ += title;
    for (const Message* g : all) graph(*g, indent + 4);
    out_ += line(indent + 2);
  }

  std::string out_;
};

}  // namespace

std::string describe_model(const Message& model) { return Describer().model(model); }

}  // namespace cresset::graph::onnx
