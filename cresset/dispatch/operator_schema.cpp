#include "cresset/dispatch/operator_schema.h"

#include <algorithm>
#include <ostream>

namespace cresset::dispatch {

namespace {

std::string public_name(const FunctionSchema& s) { return s.ns.empty() ? s.name : (s.ns == "cresset" ? "aten" : s.ns) + "::" + s.name; }

// Whether a value may stand for an argument of the type.
bool holds(const Type& t, const Value& v) {
  if (v.is_none()) return t.optional || (t.kind == TypeKind::Tensor && !t.list) || is_text_type(t);
  if (t.list) return !v.is_tensor() && (!v.is_number() || t.list_size) && !v.isString();
  switch (t.kind) {
    case TypeKind::Tensor: return v.is_tensor();
    case TypeKind::Int: return v.isInt() || v.isBool();
    case TypeKind::Float: return v.isDouble() || v.isInt();
    case TypeKind::Bool: return v.isBool();
    case TypeKind::String: return v.isString();
    case TypeKind::Scalar: return v.is_number();
    default: return true;
  }
}

}  // namespace

std::set<std::string> SchemaAlias::sets(const std::string& text) {
  std::set<std::string> names;
  std::string name;
  for (const char c : text + "|") {
    if (c == '|') names.insert(std::exchange(name, ""));
    else if (c != '!' && c != ' ') name += c;
  }
  names.erase("");
  return names;
}

std::optional<std::string_view> OperatorName::getNamespace() const {
  const size_t at = name.find("::");
  if (at == std::string::npos) return std::nullopt;
  return std::string_view(name).substr(0, at);
}
bool OperatorName::setNamespaceIfNotSet(const char* ns) {
  if (getNamespace()) return false;
  name = std::string(ns) + "::" + name;
  return true;
}
std::string toString(const OperatorName& n) { return n.overload_name.empty() ? n.name : n.name + "." + n.overload_name; }
std::ostream& operator<<(std::ostream& out, const OperatorName& n) { return out << toString(n); }

OperatorSchema::OperatorSchema(DetailedSchema detailed, AliasAnalysis aliases, bool aliases_given)
    : detailed_(std::move(detailed)), name_(public_name(parts()), parts().overload), aliases_(aliases), aliases_given_(aliases_given) {
  for (size_t i = 0; i < parts().arguments.size(); i++) arguments_.emplace_back(parts().arguments[i], detailed_.arguments[i]);
  for (size_t i = 0; i < parts().returns.size(); i++) returns_.emplace_back(parts().returns[i], detailed_.returns[i]);
}

bool OperatorSchema::is_mutable() const {
  return std::any_of(arguments_.begin(), arguments_.end(), [](const SchemaArgument& a) { return a.parts().writes; });
}
bool OperatorSchema::is_mutable(std::string_view argument) const {
  const std::optional<int> i = argumentIndexWithName(argument);
  CRESSET_CHECK(i, name(), ": it has no argument ", std::string(argument));
  return is_mutable(static_cast<size_t>(*i));
}
std::optional<int> OperatorSchema::argumentIndexWithName(std::string_view wanted) const {
  const int i = parts().argument_index(wanted);
  return i < 0 ? std::nullopt : std::optional<int>(i);
}
bool OperatorSchema::hasAnyAliasInfo() const {
  const auto has = [](const SchemaArgument& a) { return a.alias_info() != nullptr; };
  return std::any_of(arguments_.begin(), arguments_.end(), has) || std::any_of(returns_.begin(), returns_.end(), has);
}
OperatorSchema OperatorSchema::cloneWithName(std::string name, std::string overload) const {
  DetailedSchema renamed = detailed_;
  const FunctionSchema named = read_schema(name + "() -> ()").parts();
  renamed.parts.ns = named.ns;
  renamed.parts.name = named.name;
  renamed.parts.overload = std::move(overload);
  return OperatorSchema(std::move(renamed), aliases_, aliases_given_);
}

void OperatorSchema::checkAndNormalizeInputs(Stack& inputs, const std::vector<std::pair<std::string, Value>>& named) const {
  CRESSET_CHECK(inputs.size() <= arguments_.size() || is_vararg(), name(), "() expected at most ", arguments_.size(), " argument(s) but received ",
                inputs.size(), " argument(s). Declaration: ", toString(*this));
  size_t used = 0;
  for (size_t i = 0; i < arguments_.size(); i++) {
    const SchemaArgument& a = arguments_[i];
    if (i >= inputs.size()) {
      const auto at = std::find_if(named.begin(), named.end(), [&](const auto& n) { return n.first == a.name(); });
      CRESSET_CHECK(at != named.end() || a.default_value(), name(), "() is missing value for argument '", a.name(), "'. Declaration: ", toString(*this));
      used += at != named.end();
      inputs.push_back(at != named.end() ? at->second : *a.default_value());
    }
    CRESSET_CHECK(holds(a.parts().type, inputs[i]), name(), "() Expected a value of type '", a.type()->str(), "' for argument '", a.name(),
                  "' but instead found ", inputs[i].kind(), ". Position: ", i, ". Declaration: ", toString(*this));
  }
  CRESSET_CHECK(used == named.size(), name(), "() got an argument by a name that it does not have, or twice. Declaration: ", toString(*this));
}

std::string toString(const OperatorSchema& schema) { return schema_text(schema.detailed()); }
std::ostream& operator<<(std::ostream& out, const OperatorSchema& schema) { return out << toString(schema); }

OperatorSchema read_schema(const std::string& text) {
  DetailedSchema detailed = parse_detailed(text);
  if (text.find("::") >= text.find('(')) detailed.parts.ns.clear();
  return OperatorSchema(std::move(detailed));
}
OperatorName read_name(const std::string& text) {
  FunctionSchema parts = parse_name(text);
  if (text.find("::") == std::string::npos) parts.ns.clear();
  return OperatorName(public_name(parts), parts.overload);
}

std::optional<std::string> find_differences(const OperatorSchema& a, const OperatorSchema& b) {
  const std::string text = schema_difference(a.parts(), b.parts());
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace cresset::dispatch
