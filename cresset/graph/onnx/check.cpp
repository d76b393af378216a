// Models whose graphs hold together.

#include <algorithm>
#include <set>

#include "cresset/base/error.h"
#include "cresset/graph/onnx/export.h"

namespace cresset::graph::onnx {

namespace {

constexpr int64_t kNewestFormat = 14;
constexpr const char* kDeferred = "__EXTERNAL";

// Bytes of an element by TensorProto.DataType; 0: not a whole number of bytes each, or texts.
int64_t bytes_of_element(int64_t data_type) {
  static constexpr int8_t kBytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1, 0, 0, 0, 1};
  return data_type < 0 || data_type >= static_cast<int64_t>(std::size(kBytes)) ? 0 : kBytes[data_type];
}

class Checker {
 public:
  void model(const Message& m) {
    const int64_t version = m.integer("ir_version");
    require(version >= 1, "the model has no ir_version");
    require(version <= kNewestFormat, "the ir_version is ", version, ", expected one up to ", kNewestFormat);
    require(version < 3 || m.has("opset_import"), "the model imports no opset");
    for (const Message* o : m.messages("opset_import")) {
      const std::string domain = plain(o->text("domain"));
      require(o->integer("version") >= 1, "the opset of the domain '", domain, "' has the version ", o->integer("version"));
      require(opsets_.insert(domain).second, "the domain '", domain, "' is imported twice");
    }
    require(m.has("graph"), "the model has no graph");
    for (const Message* f : m.messages("functions")) {
      require(!f->text("name").empty(), "a function has no name");
      for (const Message* o : f->messages("opset_import")) opsets_.insert(plain(o->text("domain")));
    }
    graph(*m.message("graph"), {});
  }

 private:
  using Names = std::set<std::string>;
  template <class... Parts> static void require(bool holds, const Parts&... parts) {
    if (CRESSET_UNLIKELY(!holds)) throw ValueError(str("ONNX: ", parts...));
  }
  static std::string plain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

  static void value(const Message& v, const std::string& what, bool needs_type) {
    require(!v.text("name").empty(), what, " has no name");
    require(!needs_type || v.has("type"), what, " '", v.text("name"), "' has no type");
  }
  static void tensor(const Message& t, const std::string& what) {
    const int64_t type = t.integer("data_type");
    require(type >= 1, what, " has no data_type");
    if (t.integer("data_location") == 1) {
      bool has_place = false;
      for (const Message* e : t.messages("external_data")) has_place |= e->text("key") == "location" && !e->text("value").empty();
      return require(has_place, what, " is external and has no location");
    }
    int64_t count = 1;
    for (const auto& v : t.values("dims")) {
      const int64_t n = std::get<int64_t>(v);
      require(n >= 0, what, " has the negative size ", n);
      require(!__builtin_mul_overflow(count, n, &count), what, " has more than 2^63 elements");
    }
    size_t given = 0;
    for (const char* field : {"float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data"}) given += t.has(field);
    require(given <= 1 && (given == 1 || count == 0), what, " has its elements in ", given, " fields, expected 1");
    if (!t.has("raw_data") || t.text("raw_data") == kDeferred || !bytes_of_element(type)) return;
    int64_t bytes;
    const bool fits = !__builtin_mul_overflow(count, bytes_of_element(type), &bytes);
    require(fits && static_cast<uint64_t>(bytes) == t.text("raw_data").size(), what, " has ", t.text("raw_data").size(), " bytes, expected ", count,
            " elements of ", bytes_of_element(type));
  }

  void attribute(const Message& a, const std::string& node, const Names& around) {
    static const std::pair<const char*, int64_t> kFields[] = {{"f", 1},
                                                              {"i", 2},
                                                              {"s", 3},
                                                              {"t", 4},
                                                              {"g", 5},
                                                              {"floats", 6},
                                                              {"ints", 7},
                                                              {"strings", 8},
                                                              {"tensors", 9},
                                                              {"graphs", 10},
                                                              {"sparse_tensor", 11},
                                                              {"sparse_tensors", 12},
                                                              {"tp", 13},
                                                              {"type_protos", 14}};
    const std::string what = "the attribute '" + a.text("name") + "' of " + node;
    require(!a.text("name").empty(), "an attribute of ", node, " has no name");
    const int64_t type = a.integer("type");
    require(type >= 1 && type <= 14, what, " has no type");
    for (const auto& [field, number] : kFields) {
      if (a.has(field)) require(number == type, what, " is of the type ", type, " and has a value '", field, "'");
      else if (number == type && number != 6 && number != 7 && number != 8 && number != 9 && number != 10 && number != 12 && number != 14)
        require(a.has("ref_attr_name"), what, " has no value");
    }
    if (a.has("t")) tensor(*a.message("t"), what);
    for (const Message* t : a.messages("tensors")) tensor(*t, what);
    if (a.has("g")) graph(*a.message("g"), around);
    for (const Message* g : a.messages("graphs")) graph(*g, around);
  }
  void graph(const Message& g, const Names& around) {
    require(!g.text("name").empty(), "a graph has no name");
    Names names = around, own;
    const auto define = [&](const std::string& name, const char* what) {
      require(own.insert(name).second, "the ", what, " '", name, "' of the graph '", g.text("name"), "' is defined twice");
      names.insert(name);
    };
    for (const Message* v : g.messages("input")) {
      value(*v, "an input", around.empty());
      define(v->text("name"), "input");
    }
    for (const Message* t : g.messages("initializer")) {
      require(!t->text("name").empty(), "an initializer has no name");
      tensor(*t, "the initializer '" + t->text("name") + "'");
      own.insert(t->text("name"));
      names.insert(t->text("name"));
    }
    for (const Message* t : g.messages("sparse_initializer"))
      if (const Message* values = t->message("values"))
        for (Names* each : {&names, &own}) each->insert(values->text("name"));
    for (const Message* n : g.messages("node")) node(*n, names, define);
    for (const Message* v : g.messages("output")) {
      value(*v, "an output", around.empty());
      require(own.count(v->text("name")), "the output '", v->text("name"), "' of the graph '", g.text("name"), "' is not defined in it");
    }
    for (const Message* v : g.messages("value_info")) value(*v, "a value", true);
  }
  template <class Define> void node(const Message& n, const Names& names, Define& define) {
    const std::string what = "the node '" + n.text("name") + "' (" + n.text("op_type") + ")";
    require(!n.text("op_type").empty(), what, " has no operator");
    const std::string domain = plain(n.text("domain"));
    require(opsets_.count(domain) || opsets_.empty(), what, " is of the domain '", domain, "', of which no opset is imported");
    for (const auto& v : n.values("input")) {
      const std::string& name = std::get<std::string>(v);
      require(name.empty() || names.count(name), what, " has the input '", name, "', which nothing before it defines");
    }
    Names attributes;
    for (const Message* a : n.messages("attribute")) {
      require(attributes.insert(a->text("name")).second, what, " has the attribute '", a->text("name"), "' twice");
      attribute(*a, what, names);
    }
    for (const auto& v : n.values("output"))
      if (const std::string& name = std::get<std::string>(v); !name.empty()) define(name, "value");
  }

  Names opsets_;
};

}  // namespace

void check_model(std::string_view bytes) { Checker().model(read_message(model_info(), bytes)); }

}  // namespace cresset::graph::onnx
