#include "cresset/graph/script/lite/operators.h"

#include <map>
#include <set>

namespace cresset::graph::script {

namespace {

// Where other interpreters have an operator for each type of keys and elements, or under another name: {k} is the key of the dict that is the first input, {e} the
// element of the list, {s} the same where it has an order of its own and else any.
const std::map<std::string, LiteName>& names_of_builtins() {
  static const auto* const names = new std::map<std::string, LiteName>{
      {"aten::Delete.Dict", {"aten::Delete", "Dict_{k}"}},
      {"aten::__contains__.Dict", {"aten::__contains__", "{k}"}},
      {"aten::__contains__.list", {"aten::__contains__", "{e}_list"}},
      {"aten::__getitem__.Dict", {"aten::__getitem__", "Dict_{k}"}},
      {"aten::_set_item.Dict", {"aten::_set_item", "{k}"}},
      {"aten::clear.Dict", {"aten::clear", "{k}"}},
      {"aten::copy.Dict", {"aten::copy", "Dict_{k}"}},
      {"aten::count.list", {"aten::count", "{e}"}},
      {"aten::dict.Dict", {"aten::dict", "Dict_{k}"}},
      {"aten::dict.pairs", {"aten::dict", "{k}"}},
      {"aten::div.complex_float", {"aten::div", ""}},
      {"aten::div.float_complex", {"aten::div", ""}},
      {"aten::div.float_int", {"aten::div", ""}},
      {"aten::div.int_float", {"aten::div", ""}},
      {"aten::get.Dict", {"aten::get", "{k}"}},
      {"aten::get.default_Dict", {"aten::get", "default_{k}"}},
      {"aten::index.list", {"aten::index", "list_{e}"}},
      {"aten::items.Dict", {"aten::items", "{k}"}},
      {"aten::keys.Dict", {"aten::keys", "{k}"}},
      {"aten::len.Dict", {"aten::len", "Dict_{k}"}},
      {"aten::list.Dict", {"aten::keys", "{k}"}},
      {"aten::pop.Dict", {"aten::pop", "Dict_{k}"}},
      {"aten::pop.Dict_default", {"aten::pop", "Dict_default_{k}"}},
      {"aten::popitem.Dict", {"aten::popitem", "{k}"}},
      {"aten::remove.t", {"aten::remove", "{e}"}},
      {"aten::sort.any", {"aten::sort", "{s}"}},
      {"aten::sorted.any", {"aten::sorted", "{s}"}},
      {"aten::setdefault.Dict", {"aten::setdefault", "{k}"}},
      {"aten::to.prim_device", {"aten::to", "prim_Device"}},
      {"aten::update.Dict", {"aten::update", "{k}"}},
      {"aten::values.Dict", {"aten::values", "{k}"}},
      {"prim::shape", {"aten::size", ""}},
  };
  return *names;
}

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), by);
}
// The key of a dict or of pairs, the element of a list.
std::string part_name(const Type& t, bool key) {
  const Type& whole = t.kind() == TypeKind::Optional ? t.elements()[0] : t;
  if (whole.elements().empty()) return "";
  const Type& first = whole.elements()[0];
  if (key && whole.kind() == TypeKind::List && first.kind() == TypeKind::Tuple && !first.elements().empty()) return annotation_text(first.elements()[0]);
  return annotation_text(first);
}

}  // namespace

LiteName operator_of(const dispatch::OpEntry& op) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  return {(schema.ns == "cresset" || schema.ns.empty() ? "aten" : schema.ns) + "::" + schema.name, schema.overload};
}

LiteName operator_of_library(const std::string& name) {
  // They take sizes or scales, either of which may be None.
  return {"aten::" + name, name.find("upsample_") == std::string::npos ? "" : "vec"};
}

LiteName operator_of(const Node& n) {
  const Schema* const schema = schema_of(*n.builtin());
  if (!schema) {
    const std::string& full = n.builtin()->name;
    const size_t dot = full.find('.', full.find("::"));
    return {full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1)};
  }
  const std::string full = schema->name + (schema->overload.empty() ? "" : "." + schema->overload);
  const auto found = names_of_builtins().find(full);
  if (found == names_of_builtins().end()) return {schema->name, schema->overload};
  const Type& first = n.input(0)->type();
  const std::string element = part_name(first, false);
  static const std::set<std::string> kOrdered = {"int", "float", "bool", "str", "Tensor"};
  const std::string overload = replaced(replaced(found->second.overload, "{k}", part_name(first, true)), "{e}", element);
  return {found->second.name, replaced(overload, "{s}", kOrdered.count(element) ? element : "any")};
}

}  // namespace cresset::graph::script
