#pragma once
// Types of values: those of schemas, and those that TorchScript has besides. Tensors know their dtype, device, layout, sizes and strides, where
// these are known.

#include <string>
#include <vector>

#include "cresset/dispatch/schema.h"
#include "cresset/graph/ir/sym.h"

namespace cresset::graph {

// The values that nodes pass to each other at run time, as boxed calls carry them.
using Datum = dispatch::Value;

// Everything here may be unknown.
struct CRESSET_API TensorFacts {
  std::optional<ScalarType> dtype;
  std::optional<Device> device;
  std::optional<Layout> layout;
  std::optional<std::vector<Sym>> sizes, strides;
  std::optional<bool> requires_grad;

  // All facts of a tensor that is there.
  static TensorFacts of(const Tensor& t);
  std::optional<Sym> numel() const;
  std::optional<Sym> nbytes() const;
  bool operator==(const TensorFacts& o) const;
  bool operator!=(const TensorFacts& o) const { return !(*this == o); }
};

enum class TypeKind : uint8_t {
  Any,
  None,
  Tensor,
  Int,
  Float,
  Bool,
  Complex,
  Number,  // a Scalar of schemas: int, float, bool or complex
  String,
  DType,
  Device,
  Layout,
  MemoryFormat,
  Generator,
  List,      // of elements[0]
  Optional,  // elements[0] or None
  Tuple,     // with names of its fields or without
  Dict,      // from elements[0] to elements[1]
  Union,
  Future,
  Class,  // TorchScript's classes, modules, enums and interfaces, by name
};

class Type;
// "List[int]": the type that a text says. Errors: ValueError.
CRESSET_API Type parse_type(std::string_view text);

class CRESSET_API Type {
 public:
  Type() = default;  // Any
  Type(TypeKind kind) : kind_(kind) {}
  // Other objects for types, which have a `graph_type_of`, or say what annotations would.
  template <class T, class = decltype(std::declval<const T&>().annotation_str())> Type(const T& type) : Type(described(type, 0)) {}
  static Type tensor(TensorFacts facts = {});
  static Type list(Type element) { return Type(TypeKind::List, {std::move(element)}); }
  static Type optional(Type element);
  static Type tuple(std::vector<Type> elements, std::vector<std::string> fields = {}, std::string name = "");
  static Type dict(Type key, Type value) { return Type(TypeKind::Dict, {std::move(key), std::move(value)}); }
  static Type union_of(std::vector<Type> elements) { return Type(TypeKind::Union, std::move(elements)); }
  static Type future(Type element) { return Type(TypeKind::Future, {std::move(element)}); }
  static Type object(std::string name);
  static Type of_schema(const dispatch::Type& type);
  static Type of(const Datum& value);

  TypeKind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == TypeKind::Tensor; }
  const std::vector<Type>& elements() const;
  const std::vector<std::string>& fields() const;
  const std::string& name() const;
  // Empty ones for what is no tensor.
  const TensorFacts& facts() const;
  // The same with nothing known of tensors, also within others.
  Type without_facts() const;

  // Whether a value of this type can be one of `expected`: an int where a float is, anything where Any stands on either side.
  bool fits(const Type& expected) const;
  bool operator==(const Type& o) const;
  bool operator!=(const Type& o) const { return !(*this == o); }
  // "float32[s0, 4]", "List[int]": reads back (text.h).
  std::string text() const;

 private:
  struct Parts {
    std::vector<Type> elements;
    std::vector<std::string> fields;
    std::string name;
    TensorFacts facts;
  };
  Type(TypeKind kind, std::vector<Type> elements);
  template <class T> static auto described(const T& type, int) -> decltype(graph_type_of(type)) { return graph_type_of(type); }
  template <class T> static Type described(const T& type, long) { return parse_type(type.annotation_str()); }

  TypeKind kind_ = TypeKind::Any;
  std::shared_ptr<const Parts> parts_;  // null where there is nothing to say
};

}  // namespace cresset::graph
