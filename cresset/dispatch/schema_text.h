#pragma once
// Schemas in full: what their text says beyond what calls need, types of any kind, and the canonical text.

#include "cresset/dispatch/schema.h"

namespace cresset::dispatch {

// An argument or result as written: "SymInt[2]?", and what stands in the brackets of an alias, "a!".
struct ArgumentText {
  std::string base, suffix, alias;
};

struct CRESSET_API DetailedSchema {
  FunctionSchema parts;
  std::vector<ArgumentText> arguments, returns;       // as many as in `parts`
  bool more_arguments = false, more_returns = false;  // "..."

  DetailedSchema() = default;
  // Of a schema that comes from C++ types.
  explicit DetailedSchema(FunctionSchema schema);
};

// Errors: text that is not a schema, with the column.
CRESSET_API DetailedSchema parse_detailed(std::string_view text);
// The name of an op alone, "ns::name.overload". Errors: as above.
CRESSET_API FunctionSchema parse_name(std::string_view text);
CRESSET_API Type parse_type(std::string_view text);

// Types beyond the kinds of TypeKind, such as Dict(str, Tensor), (int, Tensor), int[][] or a class, have kinds of their own, one for each text.
CRESSET_API Type type_of_text(const std::string& text);
CRESSET_API bool is_text_type(const Type& type);
constexpr TypeKind kComplexType = static_cast<TypeKind>(32);
// A list of, or an optional of, the type.
CRESSET_API Type list_of(Type element);
CRESSET_API Type optional_of(Type element);

// The whole schema in its canonical form: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
CRESSET_API std::string schema_text(const DetailedSchema& schema);
// The first difference between two schemas in words, ignoring names of arguments; empty: there is none.
CRESSET_API std::string schema_difference(const FunctionSchema& a, const FunctionSchema& b);

}  // namespace cresset::dispatch
