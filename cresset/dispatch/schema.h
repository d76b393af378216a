#pragma once
// Schemas as data: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".

#include <string_view>

#include "cresset/dispatch/values/value.h"

namespace cresset::dispatch {

enum class TypeKind : uint8_t { Tensor, Int, Float, Bool, Scalar, String, DType, Device, Layout, MemoryFormat, Generator };

struct Type {
  TypeKind kind = TypeKind::Tensor;
  bool optional = false;          // T?
  bool list = false;              // T[]
  bool element_optional = false;  // T?[]
  int list_size = 0;              // T[2]; 0: any
  bool operator==(const Type& o) const { return kind == o.kind && optional == o.optional && list == o.list && element_optional == o.element_optional; }
};

struct Argument {
  std::string name;
  Type type;
  bool keyword_only = false;
  bool aliases = false;  // Tensor(a): the result may share its memory
  bool writes = false;   // Tensor(a!)
  bool has_default = false;
  Value default_value;
};

struct CRESSET_API FunctionSchema {
  std::string ns;        // "cresset" unless the text says another one
  std::string name;      // "add"
  std::string overload;  // "Tensor"
  std::vector<Argument> arguments, returns;

  // "add.Tensor", with "ns::" before it for out-of-tree namespaces.
  std::string full_name() const;
  int argument_index(std::string_view name) const;  // -1: none
};

// Errors: text that is not a schema, with the column.
CRESSET_API FunctionSchema parse_schema(std::string_view text);
CRESSET_API std::string type_name(const Type& type);

}  // namespace cresset::dispatch
