#pragma once
// The schemas of script functions as LibTorch programs look at them: through functions, with types as LibTorch has them.

#include <ostream>

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

class SchemaArgumentView {
 public:
  explicit SchemaArgumentView(SchemaArgument argument) : argument_(std::move(argument)) {}
  const std::string& name() const { return argument_.name; }
  // As <ATen/core/jit_type.h> has types.
  template <class A = SchemaArgumentView> auto type() const { return libtorch_type(static_cast<const A&>(*this)); }
  const Type& script_type() const { return argument_.type; }
  const std::optional<Datum>& default_value() const { return argument_.default_value; }
  bool kwarg_only() const { return argument_.keyword_only; }

 private:
  SchemaArgument argument_;
};

class SchemaView {
 public:
  explicit SchemaView(const Schema& schema) : name_(schema.name), overload_name_(schema.overload), text_(schema.text()) {
    for (const SchemaArgument& a : schema.arguments) arguments_.emplace_back(a);
    for (size_t i = 0; i < schema.returns.size(); i++) {
      SchemaArgument result;
      result.name = i < schema.return_names.size() ? schema.return_names[i] : "";
      result.type = schema.returns[i];
      returns_.emplace_back(std::move(result));
    }
  }
  const std::string& name() const { return name_; }
  const std::string& overload_name() const { return overload_name_; }
  // A method's first argument is its module.
  const std::vector<SchemaArgumentView>& arguments() const { return arguments_; }
  const std::vector<SchemaArgumentView>& returns() const { return returns_; }
  std::optional<int> argumentIndexWithName(std::string_view name) const {
    for (size_t i = 0; i < arguments_.size(); i++)
      if (arguments_[i].name() == name) return static_cast<int>(i);
    return std::nullopt;
  }
  friend std::ostream& operator<<(std::ostream& out, const SchemaView& schema) { return out << schema.text_; }

 private:
  std::string name_, overload_name_, text_;
  std::vector<SchemaArgumentView> arguments_, returns_;
};

inline SchemaView Function::getSchema() const { return SchemaView(schema); }

}  // namespace cresset::graph::script
