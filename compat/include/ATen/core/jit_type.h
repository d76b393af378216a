#pragma once
// Types of values as values: what a list or dict of elements known only at run time is made with.

#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "torch/detail/containers.h"

namespace c10 {

// "Tensor", "List[int]": a type by its text in annotations. Lists and dicts keep its kind alone.
class Type {
 public:
  Type(cresset::dispatch::ElementKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  operator cresset::dispatch::ElementKind() const { return kind_; }
  const std::string& str() const { return text_; }
  const std::string& annotation_str() const { return text_; }
  const std::string& repr_str() const { return text_; }
  const Type* operator->() const { return this; }
  const Type& operator*() const { return *this; }
  friend bool operator==(const Type& a, const Type& b) { return a.text_ == b.text_; }
  friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Type& t) { return out << t.text_; }

 private:
  cresset::dispatch::ElementKind kind_;
  std::string text_;
};
using TypePtr = Type;

#define CRESSET_PLAIN_TYPE(Name, Kind, text)                                   \
  struct Name {                                                                \
    static Type get() { return {cresset::dispatch::ElementKind::Kind, text}; } \
  };
CRESSET_PLAIN_TYPE(AnyType, Any, "Any")
CRESSET_PLAIN_TYPE(BoolType, Bool, "bool")
CRESSET_PLAIN_TYPE(ComplexType, Complex, "complex")
CRESSET_PLAIN_TYPE(DeviceObjType, Device, "Device")
CRESSET_PLAIN_TYPE(FloatType, Double, "float")
CRESSET_PLAIN_TYPE(IntType, Int, "int")
CRESSET_PLAIN_TYPE(NoneType, Any, "NoneType")
CRESSET_PLAIN_TYPE(NumberType, Any, "number")
CRESSET_PLAIN_TYPE(StringType, String, "str")
CRESSET_PLAIN_TYPE(TensorType, Tensor, "Tensor")
#undef CRESSET_PLAIN_TYPE

struct ListType {
  static Type create(const Type& element) { return {cresset::dispatch::ElementKind::List, "List[" + element.str() + "]"}; }
  static Type ofBools() { return create(BoolType::get()); }
  static Type ofFloats() { return create(FloatType::get()); }
  static Type ofInts() { return create(IntType::get()); }
  static Type ofStrings() { return create(StringType::get()); }
  static Type ofTensors() { return create(TensorType::get()); }
};
struct DictType {
  static Type create(const Type& key, const Type& value) { return {cresset::dispatch::ElementKind::Dict, "Dict[" + key.str() + ", " + value.str() + "]"}; }
};
struct OptionalType {
  static Type create(const Type& element) {
    using cresset::dispatch::ElementKind;
    return {element == TensorType::get() ? ElementKind::OptionalTensor : ElementKind::Optional, "Optional[" + element.str() + "]"};
  }
  static Type ofTensor() { return create(TensorType::get()); }
};
struct TupleType {
  static Type create(const std::vector<Type>& elements) {
    std::string text;
    for (const Type& t : elements) text += (text.empty() ? "" : ", ") + t.str();
    return {cresset::dispatch::ElementKind::Tuple, "Tuple[" + text + "]"};
  }
};

}  // namespace c10

namespace at {
using c10::AnyType;
using c10::BoolType;
using c10::ComplexType;
using c10::DeviceObjType;
using c10::DictType;
using c10::FloatType;
using c10::IntType;
using c10::ListType;
using c10::NoneType;
using c10::NumberType;
using c10::OptionalType;
using c10::StringType;
using c10::TensorType;
using c10::TupleType;
using c10::TypePtr;
}  // namespace at
