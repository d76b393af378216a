#pragma once
// Types of values as values: what a list or dict of elements known only at run time is made with, and what a class says of its attributes.

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/qualified_name.h"
#include "cresset/graph/ir/type.h"
#include "torch/detail/containers.h"

namespace cresset::graph::script {
CRESSET_API std::string graph_type_text(const Type& type);
}

namespace c10 {

enum class TypeKind : uint8_t {
  AnyType,
  BoolType,
  ClassType,
  ComplexType,
  DeviceObjType,
  DictType,
  EnumType,
  FloatType,
  FutureType,
  GeneratorType,
  InterfaceType,
  IntType,
  LayoutType,
  ListType,
  NoneType,
  NumberType,
  OptionalType,
  RRefType,
  ScalarTypeType,
  StorageType,
  StreamObjType,
  StringType,
  TensorType,
  TupleType,
  UnionType
};
inline const char* typeKindToString(TypeKind kind) {
  static constexpr const char* kNames[] = {"AnyType",    "BoolType",   "ClassType",     "ComplexType",   "DeviceObjType",  "DictType",    "EnumType",
                                           "FloatType",  "FutureType", "GeneratorType", "InterfaceType", "IntType",        "LayoutType",  "ListType",
                                           "NoneType",   "NumberType", "OptionalType",  "RRefType",      "ScalarTypeType", "StorageType", "StreamObjType",
                                           "StringType", "TensorType", "TupleType",     "UnionType"};
  return kNames[static_cast<size_t>(kind)];
}

// A size of a tensor's type: a number from 0 on, or a symbol, which is a number below.
class ShapeSymbol {
 public:
  ShapeSymbol() = default;
  static ShapeSymbol fromStaticSize(int64_t size) { return numbered(size); }
  static ShapeSymbol newSymbol() {
    static std::atomic<int64_t> last{0};
    return numbered(--last);
  }
  static ShapeSymbol numbered(int64_t number) {
    ShapeSymbol s;
    s.value_ = number;
    return s;
  }
  bool is_static() const { return value_ >= 0; }
  int64_t static_size() const {
    CRESSET_CHECK(is_static(), "ShapeSymbol: expected a size that is known");
    return value_;
  }
  int64_t value() const { return value_; }
  bool operator==(const ShapeSymbol& o) const { return value_ == o.value_; }
  bool operator<(const ShapeSymbol& o) const { return value_ < o.value_; }

 private:
  int64_t value_ = -1;
};

// Sizes or strides, of which some are known, or none, not even how many there are.
template <class T> class VaryingShape {
 public:
  using ListOfOptionalElements = std::vector<std::optional<T>>;
  VaryingShape() = default;
  VaryingShape(const std::vector<T>& all) : dims_(ListOfOptionalElements(all.begin(), all.end())) {}
  VaryingShape(IntArrayRef all) : dims_(ListOfOptionalElements(all.begin(), all.end())) {}
  VaryingShape(ListOfOptionalElements some) : dims_(std::move(some)) {}
  VaryingShape(std::optional<ListOfOptionalElements> some) : dims_(std::move(some)) {}
  explicit VaryingShape(std::optional<size_t> count) {
    if (count) dims_.emplace(*count);
  }
  std::optional<size_t> size() const { return dims_ ? std::optional<size_t>(dims_->size()) : std::nullopt; }
  const std::optional<ListOfOptionalElements>& sizes() const { return dims_; }
  const std::optional<T>& operator[](size_t i) const {
    TORCH_CHECK(dims_, "VaryingShape: it is not known how many sizes there are");
    return dims_->at(i);
  }
  std::optional<std::vector<T>> concrete_sizes() const {
    if (!isComplete()) return std::nullopt;
    std::vector<T> all;
    for (const std::optional<T>& n : *dims_) all.push_back(*n);
    return all;
  }
  bool isComplete() const {
    if (!dims_) return false;
    for (const std::optional<T>& n : *dims_)
      if (!n) return false;
    return true;
  }
  // The parts that both have in common.
  VaryingShape merge(const VaryingShape& o) const {
    if (!dims_ || !o.dims_ || dims_->size() != o.dims_->size()) return VaryingShape();
    ListOfOptionalElements out;
    for (size_t i = 0; i < dims_->size(); i++) out.push_back((*dims_)[i] == (*o.dims_)[i] ? (*dims_)[i] : std::nullopt);
    return VaryingShape(std::move(out));
  }
  friend bool operator==(const VaryingShape& a, const VaryingShape& b) { return a.dims_ == b.dims_; }
  friend bool operator!=(const VaryingShape& a, const VaryingShape& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const VaryingShape& shape) {
    out << '(';
    for (size_t i = 0; shape.dims_ && i < shape.dims_->size(); i++) {
      out << (i ? ", " : "");
      if (const std::optional<T>& n = (*shape.dims_)[i]) out << *n;
      else out << '*';
    }
    return shape.dims_ ? out << ')' : out << "*)";
  }

 private:
  std::optional<ListOfOptionalElements> dims_;
};

class ClassType;
class Type;
// Another text for a type, also within others; nothing: the usual one.
using TypePrinter = std::function<std::optional<std::string>(const Type&)>;

// A type. Those of one structure are equal; classes and enums only where they are the same. Lists and dicts of values keep its ElementKind alone.
class Type {
 public:
  using ElementKind = cresset::dispatch::ElementKind;
  Type(ElementKind element, TypeKind kind, std::string text, std::vector<Type> contained = {})
      : element_(element), kind_(kind), text_(std::move(text)), contained_(std::move(contained)) {}
  Type(const std::shared_ptr<ClassType>& cls);  // torch/detail/script_objects.h
  operator ElementKind() const { return element_; }
  TypeKind kind() const { return kind_; }

  // "int[]", as in schemas; "List[int]", as in annotations.
  std::string str() const;
  std::string annotation_str(const TypePrinter& printer = nullptr) const;
  std::string repr_str() const { return kind_ == TypeKind::EnumType ? str() : annotation_str(); }
  // Of a class, with the marks that make it the only one of its name.
  std::string class_name() const;

  const std::vector<Type>& containedTypes() const { return contained_; }
  const Type& containedType(size_t i) const { return contained_.at(i); }
  size_t containedTypeSize() const { return contained_.size(); }
  const Type& getElementType() const { return containedType(0); }
  const Type& getKeyType() const { return containedType(0); }
  const Type& getValueType() const { return containedType(1); }
  const std::vector<Type>& elements() const { return contained_; }
  const std::vector<Type>& getTypes() const { return contained_; }
  // Of a named tuple: nothing, no names for others.
  const std::optional<QualifiedName>& name() const { return name_; }
  const std::vector<std::string>& fieldNames() const { return fields_; }

  // Null: it is of another kind.
  template <class T> std::shared_ptr<T> cast() const {
    if (kind_ != T::Kind) return nullptr;
    if constexpr (std::is_base_of<Type, T>::value) return std::make_shared<T>(*this);
    else return std::static_pointer_cast<T>(cls_);
  }
  // Errors: it is of another kind.
  template <class T> std::shared_ptr<T> expect() const {
    auto type = cast<T>();
    TORCH_CHECK(type != nullptr, "type: expected ", typeKindToString(T::Kind), ", got ", annotation_str());
    return type;
  }
  // Whether a value of this type can stand where one of `o` is expected.
  bool isSubtypeOf(const Type& o) const { return fits(o); }

  const Type* operator->() const { return this; }
  const Type& operator*() const { return *this; }
  friend bool operator==(const Type& a, const Type& b) {
    if (a.kind_ == TypeKind::UnionType || b.kind_ == TypeKind::UnionType) return a.fits(b) && b.fits(a);
    return a.kind_ == b.kind_ && a.text_ == b.text_ && a.contained_ == b.contained_ && a.name_ == b.name_ && a.fields_ == b.fields_ &&
           a.identity_ == b.identity_ && a.tells_what(b);
  }
  friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Type& t) { return out << t.str(); }

 protected:
  bool fits(const Type& o) const;
  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
  }

  ElementKind element_;
  TypeKind kind_;
  std::string text_;  // the name of a plain type or a class; "List" and the like
  std::vector<Type> contained_;
  std::optional<QualifiedName> name_;
  std::vector<std::string> fields_;
  std::shared_ptr<ClassType> cls_;
  const void* identity_ = nullptr;  // of a class: which one it is
  // Of tensors: what is known of them, or null.
  std::shared_ptr<const cresset::graph::TensorFacts> facts_;

 private:
  bool tells_what(const Type& o) const { return facts_ == o.facts_ || (facts_ && o.facts_ && str() == o.str()); }
};
using TypePtr = Type;

inline std::string Type::str() const {
  std::vector<std::string> inside;
  for (const Type& t : contained_) inside.push_back(t.str());
  switch (kind_) {
    case TypeKind::TensorType: return facts_ ? cresset::graph::script::graph_type_text(cresset::graph::Type::tensor(*facts_)) : text_;
    case TypeKind::ListType: return inside[0] + "[]";
    case TypeKind::OptionalType: return inside[0] + "?";
    case TypeKind::NumberType: return "Scalar";
    case TypeKind::EnumType: return "Enum<" + text_ + ">";
    case TypeKind::TupleType: return name_ ? name_->qualifiedName() : "(" + joined(inside) + ")";
    default: return inside.empty() ? text_ : text_ + "(" + joined(inside) + ")";
  }
}

inline std::string Type::annotation_str(const TypePrinter& printer) const {
  if (printer)
    if (const std::optional<std::string> text = printer(*this)) return *text;
  if (name_) return name_->qualifiedName();
  if (kind_ == TypeKind::TupleType && contained_.empty()) return "Tuple[()]";
  if (contained_.empty()) return text_;
  std::vector<std::string> inside;
  for (const Type& t : contained_) inside.push_back(t.annotation_str(printer));
  return text_ + "[" + joined(inside) + "]";
}

inline bool Type::fits(const Type& o) const {
  const auto all = [](const std::vector<Type>& types, const auto& holds) {
    for (const Type& t : types)
      if (!holds(t)) return false;
    return true;
  };
  const auto fits_one_of = [&](const std::vector<Type>& types) { return !all(types, [&](const Type& t) { return !fits(t); }); };
  if (o.kind_ == TypeKind::AnyType) return true;
  if (kind_ == TypeKind::UnionType) return all(contained_, [&](const Type& t) { return t.fits(o); });
  if (o.kind_ == TypeKind::UnionType && kind_ == TypeKind::OptionalType)
    return contained_[0].fits(o) && Type(ElementKind::Any, TypeKind::NoneType, "NoneType").fits(o);
  if (o.kind_ == TypeKind::UnionType && kind_ == TypeKind::NumberType) {
    size_t numbers = 0;
    for (const Type& t : o.contained_) numbers += t.kind_ != TypeKind::NumberType && t.fits(*this);
    return numbers == 3 || fits_one_of(o.contained_);
  }
  if (o.kind_ == TypeKind::UnionType) return fits_one_of(o.contained_);
  if (*this == o) return true;
  switch (o.kind_) {
    case TypeKind::TensorType: return kind_ == o.kind_ && !o.facts_;
    case TypeKind::NumberType: return kind_ == TypeKind::IntType || kind_ == TypeKind::FloatType || kind_ == TypeKind::ComplexType;
    case TypeKind::OptionalType: return kind_ == TypeKind::NoneType || (kind_ == o.kind_ ? contained_[0] : *this).fits(o.contained_[0]);
    case TypeKind::TupleType:
      if (kind_ != o.kind_ || contained_.size() != o.contained_.size() || (o.name_ && o.name_ != name_)) return false;
      for (size_t i = 0; i < contained_.size(); i++)
        if (!contained_[i].fits(o.contained_[i])) return false;
      return true;
    case TypeKind::FutureType: return kind_ == o.kind_ && contained_[0].fits(o.contained_[0]);
    default: return false;
  }
}

// The classes of types: each a Type with functions that make one.
#define CRESSET_TYPE_CLASS(Name)                   \
  static constexpr TypeKind Kind = TypeKind::Name; \
  explicit Name(const Type& type) : Type(type) {}  \
  const Name* operator->() const { return this; }  \
  const Name& operator*() const { return *this; }
#define CRESSET_PLAIN_TYPE(Name, Element, text)                                \
  struct Name : Type {                                                         \
    CRESSET_TYPE_CLASS(Name)                                                   \
    static Type get() { return {ElementKind::Element, TypeKind::Name, text}; } \
  };
CRESSET_PLAIN_TYPE(AnyType, Any, "Any")
CRESSET_PLAIN_TYPE(BoolType, Bool, "bool")
CRESSET_PLAIN_TYPE(ComplexType, Complex, "complex")
CRESSET_PLAIN_TYPE(DeviceObjType, Device, "Device")
CRESSET_PLAIN_TYPE(FloatType, Double, "float")
CRESSET_PLAIN_TYPE(GeneratorType, Any, "Generator")
CRESSET_PLAIN_TYPE(IntType, Int, "int")
CRESSET_PLAIN_TYPE(LayoutType, Any, "Layout")
CRESSET_PLAIN_TYPE(NoneType, Any, "NoneType")
CRESSET_PLAIN_TYPE(NumberType, Any, "number")
CRESSET_PLAIN_TYPE(ScalarTypeType, Any, "ScalarType")
CRESSET_PLAIN_TYPE(StorageType, Any, "Storage")
CRESSET_PLAIN_TYPE(StreamObjType, Any, "Stream")
CRESSET_PLAIN_TYPE(StringType, String, "str")
#undef CRESSET_PLAIN_TYPE

// Tensors, with what is known of them.
struct TensorType : Type {
  CRESSET_TYPE_CLASS(TensorType)
  using Facts = cresset::graph::TensorFacts;
  static TensorType get() { return TensorType(Type(ElementKind::Tensor, TypeKind::TensorType, "Tensor")); }
  static TensorType of(Facts facts) {
    TensorType type = get();
    if (facts != Facts()) type.facts_ = std::make_shared<const Facts>(std::move(facts));
    return type;
  }
  static TensorType create(const at::Tensor& t) {
    Facts facts = Facts::of(t);
    if (t.defined()) facts.requires_grad = t.requires_grad();
    return of(std::move(facts));
  }
  static TensorType create(std::optional<at::ScalarType> dtype, std::optional<at::Device> device, const VaryingShape<int64_t>& sizes,
                           const VaryingShape<int64_t>& strides, std::optional<bool> requires_grad, std::optional<bool> /*undefined*/ = false) {
    Facts facts;
    facts.dtype = dtype;
    facts.device = device;
    facts.sizes = symbols(sizes);
    facts.strides = symbols(strides);
    facts.requires_grad = requires_grad;
    return of(std::move(facts));
  }
  static TensorType createContiguous(at::ScalarType dtype, at::Device device, at::IntArrayRef sizes) {
    return create(dtype, device, VaryingShape<int64_t>(sizes), VaryingShape<int64_t>(strides_of(sizes)), std::nullopt);
  }

  const Facts& facts() const {
    static const Facts none;
    return facts_ ? *facts_ : none;
  }
  VaryingShape<int64_t> sizes() const { return numbers(facts().sizes); }
  VaryingShape<int64_t> strides() const { return numbers(facts().strides); }
  const std::optional<at::Device>& device() const { return facts().device; }
  const std::optional<at::ScalarType>& scalarType() const { return facts().dtype; }
  const std::optional<bool>& requiresGrad() const { return facts().requires_grad; }
  // Taken for granted where nothing is known.
  bool requires_grad() const { return requiresGrad().value_or(true); }
  std::optional<size_t> dim() const { return sizes().size(); }
  std::optional<size_t> numel() const {
    const auto all = sizes().concrete_sizes();
    if (!all) return std::nullopt;
    size_t n = 1;
    for (const int64_t size : *all) n *= static_cast<size_t>(size);
    return n;
  }
  bool isComplete() const { return scalarType() && device() && sizes().isComplete() && strides().isComplete(); }

  TensorType withRequiresGrad(std::optional<bool> on) const {
    return with([&](Facts& f) { f.requires_grad = on; });
  }
  TensorType withScalarType(std::optional<at::ScalarType> dtype) const {
    return with([&](Facts& f) { f.dtype = dtype; });
  }
  TensorType withDevice(const std::optional<at::Device>& device) const {
    return with([&](Facts& f) { f.device = device; });
  }
  TensorType withDim(std::optional<size_t> count) const {
    return with([&](Facts& f) {
      f.sizes = symbols(VaryingShape<int64_t>(count));
      f.strides.reset();
    });
  }
  TensorType withStrides(const VaryingShape<int64_t>& strides) const {
    return with([&](Facts& f) { f.strides = symbols(strides); });
  }
  // Contiguous ones.
  TensorType withSizes(at::IntArrayRef sizes) const { return withSizesStrides(sizes, strides_of(sizes)); }
  TensorType withSizesStrides(at::IntArrayRef sizes, at::IntArrayRef strides) const {
    return with([&](Facts& f) {
      f.sizes = symbols(VaryingShape<int64_t>(sizes));
      f.strides = symbols(VaryingShape<int64_t>(strides));
    });
  }
  // The dtype and the number of sizes alone.
  TensorType dimensionedOnly() const {
    return with([&](Facts& f) { f = TensorType::create(f.dtype, f.device, VaryingShape<int64_t>(dim()), VaryingShape<int64_t>(), f.requires_grad).facts(); });
  }
  TensorType contiguous() const {
    const auto all = sizes().concrete_sizes();
    return all ? withSizes(*all) : withStrides(VaryingShape<int64_t>());
  }
  // The parts that both have in common.
  TensorType merge(const TensorType& o, bool merge_sizes = true) const {
    const auto same = [](const auto& a, const auto& b) { return a == b ? a : std::decay_t<decltype(a)>(); };
    return create(same(scalarType(), o.scalarType()), same(device(), o.device()), merge_sizes ? sizes().merge(o.sizes()) : sizes(),
                  strides().merge(o.strides()), same(requiresGrad(), o.requiresGrad()));
  }
  // Whether a tensor is one of the type.
  bool matchTensor(const at::Tensor& t) const {
    const TensorType both = merge(create(t));
    return static_cast<const Type&>(both) == static_cast<const Type&>(*this);
  }

 private:
  template <class F> TensorType with(F&& change) const {
    Facts facts = this->facts();
    change(facts);
    return of(std::move(facts));
  }
  static std::vector<int64_t> strides_of(at::IntArrayRef sizes) {
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * (sizes[d] > 1 ? sizes[d] : 1);
    return strides;
  }
  static VaryingShape<int64_t> numbers(const std::optional<std::vector<cresset::graph::Sym>>& sizes) {
    if (!sizes) return VaryingShape<int64_t>();
    VaryingShape<int64_t>::ListOfOptionalElements out;
    for (const cresset::graph::Sym& n : *sizes) out.push_back(n.constant());
    return VaryingShape<int64_t>(std::move(out));
  }
  static std::optional<std::vector<cresset::graph::Sym>> symbols(const VaryingShape<int64_t>& sizes) {
    if (!sizes.size()) return std::nullopt;
    std::vector<cresset::graph::Sym> out;
    for (const std::optional<int64_t>& n : *sizes.sizes()) out.push_back(n ? cresset::graph::Sym(*n) : cresset::graph::Sym::unknown());
    return out;
  }
};
struct ListType : Type {
  CRESSET_TYPE_CLASS(ListType)
  static Type create(const Type& element) { return {ElementKind::List, TypeKind::ListType, "List", {element}}; }
  static Type ofBools() { return create(BoolType::get()); }
  static Type ofFloats() { return create(FloatType::get()); }
  static Type ofInts() { return create(IntType::get()); }
  static Type ofStrings() { return create(StringType::get()); }
  static Type ofTensors() { return create(TensorType::get()); }
};
struct DictType : Type {
  CRESSET_TYPE_CLASS(DictType)
  static Type create(const Type& key, const Type& value) { return {ElementKind::Dict, TypeKind::DictType, "Dict", {key, value}}; }
};
struct OptionalType : Type {
  CRESSET_TYPE_CLASS(OptionalType)
  static Type create(const Type& element) {
    return {element == TensorType::get() ? ElementKind::OptionalTensor : ElementKind::Optional, TypeKind::OptionalType, "Optional", {element}};
  }
  static Type ofTensor() { return create(TensorType::get()); }
};
struct TupleType : Type {
  CRESSET_TYPE_CLASS(TupleType)
  static Type create(std::vector<Type> elements) { return {ElementKind::Tuple, TypeKind::TupleType, "Tuple", std::move(elements)}; }
  // Errors: not as many names as types.
  static Type createNamed(const std::optional<QualifiedName>& name, const std::vector<std::string>& fields, std::vector<Type> elements) {
    TORCH_CHECK(fields.size() == elements.size(), "TupleType: expected a type for each field, got ", fields.size(), " fields and ", elements.size(), " types");
    TupleType type(create(std::move(elements)));
    type.name_ = name;
    type.fields_ = fields;
    return static_cast<const Type&>(type);
  }
};
// Of the types that are no subtypes of others; an optional stands for its element and None.
struct UnionType : Type {
  CRESSET_TYPE_CLASS(UnionType)
  static Type create(const std::vector<Type>& types) {
    std::vector<Type> all, kept;
    for (const Type& t : types) add(all, t);
    for (const Type& t : all) {
      bool is_covered = false;
      for (const Type& other : kept) is_covered = is_covered || t.isSubtypeOf(other);
      for (const Type& other : all) is_covered = is_covered || (t.isSubtypeOf(other) && !other.isSubtypeOf(t));
      if (!is_covered) kept.push_back(t);
    }
    return {ElementKind::Any, TypeKind::UnionType, "Union", std::move(kept)};
  }

 private:
  static void add(std::vector<Type>& all, const Type& t) {
    if (t.kind() == TypeKind::OptionalType) all.push_back(NoneType::get());
    if (t.kind() != TypeKind::OptionalType && t.kind() != TypeKind::UnionType) return all.push_back(t);
    for (const Type& inside : t.containedTypes()) add(all, inside);
  }
};
struct FutureType : Type {
  CRESSET_TYPE_CLASS(FutureType)
  static Type create(const Type& element) { return {ElementKind::Any, TypeKind::FutureType, "Future", {element}}; }
};
#undef CRESSET_TYPE_CLASS
using AnyTypePtr = Type;
using BoolTypePtr = Type;
using DictTypePtr = Type;
using FloatTypePtr = Type;
using IntTypePtr = Type;
using ListTypePtr = Type;
using NoneTypePtr = Type;
using NumberTypePtr = Type;
using OptionalTypePtr = Type;
using StringTypePtr = Type;
using TensorTypePtr = TensorType;
using TupleTypePtr = Type;
using UnionTypePtr = Type;

}  // namespace c10

namespace at {
using c10::AnyType;
using c10::BoolType;
using c10::ComplexType;
using c10::DeviceObjType;
using c10::DictType;
using c10::FloatType;
using c10::FutureType;
using c10::GeneratorType;
using c10::IntType;
using c10::LayoutType;
using c10::ListType;
using c10::NoneType;
using c10::NumberType;
using c10::OptionalType;
using c10::ScalarTypeType;
using c10::StorageType;
using c10::StreamObjType;
using c10::StringType;
using c10::TensorType;
using c10::TupleType;
using c10::TypeKind;
using c10::TypePrinter;
using c10::TypePtr;
using c10::UnionType;
}  // namespace at
