#pragma once
// Schemas as LibTorch programs look at them: through functions, with types as objects.

#include <iosfwd>
#include <memory>
#include <set>

#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/tags.h"

namespace cresset::dispatch {

// Which memory an argument or result is, and whether it is written.
class CRESSET_API SchemaAlias {
 public:
  explicit SchemaAlias(std::string text) : text_(std::move(text)) {}
  bool isWrite() const { return text_.find('!') != std::string::npos; }
  std::set<std::string> beforeSets() const { return sets(text_.substr(0, text_.find(" -> "))); }
  std::set<std::string> afterSets() const { return sets(text_.find(" -> ") == std::string::npos ? text_ : text_.substr(text_.find(" -> ") + 4)); }
  bool operator==(const SchemaAlias& o) const { return text_ == o.text_; }

 private:
  static std::set<std::string> sets(const std::string& text);
  std::string text_;
};

class SchemaType {
 public:
  SchemaType(Type type, std::string text) : type_(type), text_(std::move(text)) {}
  const std::string& str() const { return text_; }
  const std::string& repr_str() const { return text_; }
  const std::string& annotation_str() const { return text_; }
  const Type& parts() const { return type_; }
  bool operator==(const SchemaType& o) const { return type_ == o.type_; }
  bool operator!=(const SchemaType& o) const { return !(*this == o); }

 private:
  Type type_;
  std::string text_;
};
using SchemaTypePtr = std::shared_ptr<const SchemaType>;

class SchemaArgument {
 public:
  SchemaArgument(Argument a, const ArgumentText& text)
      : a_(std::move(a)),
        type_(std::make_shared<const SchemaType>(a_.type, text.base + text.suffix)),
        default_(a_.has_default ? std::optional<Value>(a_.default_value) : std::nullopt),
        alias_(text.alias.empty() ? std::nullopt : std::optional<SchemaAlias>(SchemaAlias(text.alias))) {}
  const std::string& name() const { return a_.name; }
  const SchemaTypePtr& type() const { return type_; }
  const SchemaTypePtr& real_type() const { return type_; }
  const std::optional<Value>& default_value() const { return default_; }
  std::optional<int32_t> N() const { return a_.type.list_size ? std::optional<int32_t>(a_.type.list_size) : std::nullopt; }
  bool kwarg_only() const { return a_.keyword_only; }
  bool is_out() const { return a_.keyword_only && a_.writes; }
  const SchemaAlias* alias_info() const { return alias_ ? &*alias_ : nullptr; }
  const Argument& parts() const { return a_; }
  bool operator==(const SchemaArgument& o) const {
    return a_.name == o.a_.name && a_.type == o.a_.type && a_.keyword_only == o.a_.keyword_only && alias_ == o.alias_ && a_.has_default == o.a_.has_default;
  }

 private:
  Argument a_;
  SchemaTypePtr type_;
  std::optional<Value> default_;
  std::optional<SchemaAlias> alias_;
};

// "ns::name" and "overload".
struct CRESSET_API OperatorName {
  std::string name, overload_name;
  OperatorName(std::string n, std::string o) : name(std::move(n)), overload_name(std::move(o)) {}
  std::optional<std::string_view> getNamespace() const;
  bool setNamespaceIfNotSet(const char* ns);
  bool operator==(const OperatorName& o) const { return name == o.name && overload_name == o.overload_name; }
  bool operator!=(const OperatorName& o) const { return !(*this == o); }
};
CRESSET_API std::string toString(const OperatorName& name);
CRESSET_API std::ostream& operator<<(std::ostream& out, const OperatorName& name);

class CRESSET_API OperatorSchema {
 public:
  explicit OperatorSchema(DetailedSchema detailed, AliasAnalysis aliases = AliasAnalysis::FromSchema, bool aliases_given = false);

  const std::string& name() const { return name_.name; }  // "ns::name"
  const std::string& overload_name() const { return name_.overload_name; }
  const OperatorName& operator_name() const { return name_; }
  std::optional<std::string_view> getNamespace() const { return name_.getNamespace(); }
  const std::vector<SchemaArgument>& arguments() const { return arguments_; }
  const std::vector<SchemaArgument>& returns() const { return returns_; }
  bool is_vararg() const { return detailed_.more_arguments; }
  bool is_varret() const { return detailed_.more_returns; }
  bool is_mutable() const;
  bool is_mutable(size_t argument) const { return arguments_.at(argument).parts().writes; }
  bool is_mutable(std::string_view argument) const;
  bool is_aliasing(size_t argument) const { return arguments_.at(argument).parts().aliases; }
  std::optional<int> argumentIndexWithName(std::string_view name) const;
  AliasAnalysis aliasAnalysis() const { return aliases_given_ ? aliases_ : AliasAnalysis::Conservative; }
  bool isDefaultAliasAnalysisKind() const { return !aliases_given_; }
  void setAliasAnalysis(AliasAnalysis kind) {
    aliases_ = kind;
    aliases_given_ = true;
  }
  bool hasAnyAliasInfo() const;
  OperatorSchema cloneWithName(std::string name, std::string overload) const;
  // Fills in defaults and checks the values of a call. Errors: a value that does not fit, a missing or unknown argument.
  void checkAndNormalizeInputs(Stack& inputs, const std::vector<std::pair<std::string, Value>>& named = {}) const;

  const DetailedSchema& detailed() const { return detailed_; }
  const FunctionSchema& parts() const { return detailed_.parts; }
  bool operator==(const OperatorSchema& o) const {
    return name_ == o.name_ && arguments_ == o.arguments_ && returns_ == o.returns_ && is_vararg() == o.is_vararg() && is_varret() == o.is_varret();
  }
  bool operator!=(const OperatorSchema& o) const { return !(*this == o); }

 private:
  DetailedSchema detailed_;
  OperatorName name_;
  std::vector<SchemaArgument> arguments_, returns_;
  AliasAnalysis aliases_;
  bool aliases_given_;
};
CRESSET_API std::string toString(const OperatorSchema& schema);
CRESSET_API std::ostream& operator<<(std::ostream& out, const OperatorSchema& schema);

// From text; the namespace is that of the text alone, or none.
CRESSET_API OperatorSchema read_schema(const std::string& text);
CRESSET_API OperatorName read_name(const std::string& text);
// In words, empty where there is none.
CRESSET_API std::optional<std::string> find_differences(const OperatorSchema& a, const OperatorSchema& b);

}  // namespace cresset::dispatch

namespace std {
template <> struct hash<cresset::dispatch::OperatorName> {
  size_t operator()(const cresset::dispatch::OperatorName& n) const noexcept { return hash<string>()(n.name) ^ (hash<string>()(n.overload_name) * 31); }
};
}  // namespace std
