#pragma once
// Classes, objects, futures and enums of scripts by LibTorch's names.

#include "ATen/core/jit_type.h"
#include "cresset/dispatch/custom_class.h"
#include "cresset/graph/script/objects/object_values.h"

namespace torch::jit {
using cresset::graph::script::CompilationUnit;
using cresset::graph::script::Function;
}  // namespace torch::jit

namespace c10 {

using torch::jit::CompilationUnit;
namespace script = cresset::graph::script;

inline Type type_of(const cresset::graph::Type& type);
inline cresset::graph::Type graph_type_of(const Type& type);

// A class of scripts, or one that is made here, without a text.
class ClassType : public std::enable_shared_from_this<ClassType> {
 public:
  static constexpr TypeKind Kind = TypeKind::ClassType;
  virtual ~ClassType() = default;
  ClassType(const ClassType&) = delete;
  ClassType& operator=(const ClassType&) = delete;

  static std::shared_ptr<ClassType> create(const std::optional<QualifiedName>& name, const std::weak_ptr<CompilationUnit>& unit, bool is_module = false,
                                           const std::string& doc = "") {
    auto made = std::shared_ptr<ClassType>(new ClassType(make(name, unit, is_module ? script::ClassKind::Module : script::ClassKind::Class)));
    made->doc_ = doc;
    return made;
  }
  // The class of a module or an object, which its unit owns.
  static std::shared_ptr<ClassType> of(script::ClassType& cls);
  script::ClassType* script_class() const { return cls_.get(); }

  std::optional<QualifiedName> name() const { return cls_->name.empty() ? std::nullopt : std::optional<QualifiedName>(cls_->name); }
  std::string annotation_str() const { return cls_->name; }
  std::string str() const { return kind() == TypeKind::EnumType ? "Enum<" + cls_->name + ">" : cls_->name; }
  std::string repr_str() const { return str(); }
  const std::string& doc_string() const { return cls_->custom ? cls_->custom->doc : doc_; }
  bool is_module() const { return cls_->kind == script::ClassKind::Module || cls_->is_module_interface; }
  CompilationUnit* compilation_unit() const { return cls_->unit; }
  TypeKind kind() const {
    return cls_->kind == script::ClassKind::Enum ? TypeKind::EnumType : cls_->kind == script::ClassKind::Interface ? TypeKind::InterfaceType : Kind;
  }

  size_t numAttributes() const { return cls_->attributes.size(); }
  bool hasAttribute(const std::string& name) const { return cls_->attribute(name) != nullptr; }
  // The place of the attribute. Errors: there is one of this name.
  size_t addAttribute(const std::string& name, const Type& type, bool is_parameter = false, bool is_buffer = false) {
    TORCH_CHECK(!hasAttribute(name) && !hasConstant(name), "class ", cls_->name, " has '", name, "' already");
    return static_cast<size_t>(cls_->add_attribute({name, graph_type_of(type), is_parameter, is_buffer}));
  }
  std::optional<size_t> findAttributeSlot(const std::string& name) const {
    const int slot = cls_->slot_of(name);
    return slot < 0 ? std::nullopt : std::optional<size_t>(static_cast<size_t>(slot));
  }
  // Errors: there is no such attribute.
  size_t getAttributeSlot(const std::string& name) const {
    const auto slot = findAttributeSlot(name);
    TORCH_CHECK(slot.has_value(), "class ", cls_->name, " has no attribute '", name, "'");
    return *slot;
  }
  Type getAttribute(size_t slot) const { return type_of(cls_->attributes.at(slot).type); }
  Type getAttribute(const std::string& name) const { return getAttribute(getAttributeSlot(name)); }
  const std::string& getAttributeName(size_t slot) const { return cls_->attributes.at(slot).name; }
  bool is_parameter(size_t slot) const { return cls_->attributes.at(slot).is_parameter; }
  bool is_buffer(size_t slot) const { return cls_->attributes.at(slot).is_buffer; }
  // Objects of the class keep their places: only for a class that has none. Errors: as getAttributeSlot.
  void unsafeRemoveAttribute(const std::string& name) { cls_->attributes.erase(cls_->attributes.begin() + static_cast<ptrdiff_t>(getAttributeSlot(name))); }

  size_t numConstants() const { return cls_->constants.size(); }
  bool hasConstant(const std::string& name) const { return cls_->constants.count(name) != 0; }
  void addConstant(const std::string& name, const IValue& value) {
    TORCH_CHECK(!hasAttribute(name) && !hasConstant(name), "class ", cls_->name, " has '", name, "' already");
    cls_->constants[name] = value;
  }
  // Errors: there is no such constant.
  IValue getConstant(const std::string& name) const {
    TORCH_CHECK(hasConstant(name), "class ", cls_->name, " has no constant '", name, "'");
    return cls_->constants.at(name);
  }
  void unsafeRemoveConstant(const std::string& name) {
    getConstant(name);
    cls_->constants.erase(name);
  }

  // Null: there is no such method.
  torch::jit::Function* findMethod(const std::string& name) const { return cls_->method(name); }
  bool hasMethod(const std::string& name) const { return findMethod(name) != nullptr; }
  // Errors: there is no such method.
  torch::jit::Function& getMethod(const std::string& name) const {
    torch::jit::Function* const found = findMethod(name);
    TORCH_CHECK(found != nullptr, "class ", cls_->name, " has no method '", name, "'");
    return *found;
  }

  friend std::ostream& operator<<(std::ostream& out, const ClassType& type) { return out << type.str(); }

 protected:
  explicit ClassType(std::shared_ptr<script::ClassType> cls) : cls_(std::move(cls)) {}
  static std::shared_ptr<script::ClassType> make(const std::optional<QualifiedName>& name, const std::weak_ptr<CompilationUnit>& unit, script::ClassKind kind) {
    auto cls = std::make_shared<script::ClassType>();
    if (name) cls->name = name->qualifiedName();
    cls->kind = kind;
    cls->unit = unit.lock().get();
    return cls;
  }

  std::shared_ptr<script::ClassType> cls_;
  std::string doc_;
};
using ClassTypePtr = std::shared_ptr<ClassType>;

class EnumType : public ClassType {
 public:
  static constexpr TypeKind Kind = TypeKind::EnumType;
  static std::shared_ptr<EnumType> create(const QualifiedName& name, const Type& value, std::vector<std::pair<std::string, IValue>> members,
                                          const std::weak_ptr<CompilationUnit>& unit) {
    auto cls = make(name, unit, script::ClassKind::Enum);
    cls->members = std::move(members);
    cls->member_type = graph_type_of(value);
    return std::shared_ptr<EnumType>(new EnumType(std::move(cls), value));
  }
  const std::vector<std::pair<std::string, IValue>>& enumNamesValues() const { return cls_->members; }
  const Type& getValueType() const { return value_; }

  EnumType(std::shared_ptr<script::ClassType> cls, Type value) : ClassType(std::move(cls)), value_(std::move(value)) {}

 private:
  Type value_;
};
using EnumTypePtr = std::shared_ptr<EnumType>;

// The methods that a class or module has to have.
class InterfaceType : public ClassType {
 public:
  static constexpr TypeKind Kind = TypeKind::InterfaceType;
  explicit InterfaceType(std::shared_ptr<script::ClassType> cls) : ClassType(std::move(cls)) {}
};
using InterfaceTypePtr = std::shared_ptr<InterfaceType>;

inline std::shared_ptr<ClassType> ClassType::of(script::ClassType& cls) {
  const std::shared_ptr<void> owner = cls.unit ? cls.unit->weak_from_this().lock() : nullptr;
  const std::shared_ptr<script::ClassType> shared(owner, &cls);
  if (cls.kind == script::ClassKind::Interface) return std::make_shared<InterfaceType>(shared);
  if (cls.kind == script::ClassKind::Enum) return std::make_shared<EnumType>(shared, type_of(cls.member_type));
  return std::shared_ptr<ClassType>(new ClassType(shared));
}

inline std::string Type::class_name() const { return cls_ ? cls_->annotation_str() : text_; }
inline Type::Type(const std::shared_ptr<ClassType>& cls)
    : element_(ElementKind::Any), kind_(cls->kind()), text_(cls->annotation_str()), cls_(cls), identity_(cls->script_class()) {
  if (kind_ != TypeKind::InterfaceType) return;
  // Interfaces with the same methods are the same.
  text_ = script::unmangled(text_);
  identity_ = nullptr;
  for (const script::Schema& method : cls->script_class()->interface) {
    std::string text = method.name + "(";
    for (size_t i = 1; i < method.arguments.size(); i++) text += method.arguments[i].name + ": " + type_of(method.arguments[i].type).annotation_str() + ", ";
    text += ") ->";
    for (const cresset::graph::Type& result : method.returns) text += " " + type_of(result).annotation_str();
    fields_.push_back(std::move(text));
  }
}

inline Type type_of(const cresset::graph::Type& type) {
  using K = cresset::graph::TypeKind;
  std::vector<Type> inside;
  for (const cresset::graph::Type& t : type.elements()) inside.push_back(type_of(t));
  switch (type.kind()) {
    case K::None: return NoneType::get();
    case K::Tensor: return TensorType::of(type.facts());
    case K::Int: return IntType::get();
    case K::Float: return FloatType::get();
    case K::Bool: return BoolType::get();
    case K::Complex: return ComplexType::get();
    case K::Number: return NumberType::get();
    case K::String: return StringType::get();
    case K::DType: return ScalarTypeType::get();
    case K::Device: return DeviceObjType::get();
    case K::Layout: return LayoutType::get();
    case K::Generator: return GeneratorType::get();
    case K::List: return ListType::create(inside.at(0));
    case K::Optional: return OptionalType::create(inside.at(0));
    case K::Tuple:
      return type.fields().empty() ? TupleType::create(std::move(inside))
                                   : TupleType::createNamed(QualifiedName(type.name()), type.fields(), std::move(inside));
    case K::Dict: return DictType::create(inside.at(0), inside.at(1));
    case K::Union: return UnionType::create(std::move(inside));
    case K::Future: return FutureType::create(inside.at(0));
    case K::Class: {
      script::ClassType* const cls = script::find_class(type.name());
      if (cls) return ClassType::of(*cls);
      return {cresset::dispatch::ElementKind::Any, TypeKind::ClassType, type.name()};
    }
    default: return AnyType::get();
  }
}

inline cresset::graph::Type graph_type_of(const Type& type) {
  using G = cresset::graph::Type;
  using K = cresset::graph::TypeKind;
  std::vector<G> inside;
  for (const Type& t : type.containedTypes()) inside.push_back(graph_type_of(t));
  switch (type.kind()) {
    case TypeKind::BoolType: return K::Bool;
    case TypeKind::ClassType:
    case TypeKind::EnumType:
    case TypeKind::InterfaceType: return G::object(type.class_name());
    case TypeKind::ComplexType: return K::Complex;
    case TypeKind::DeviceObjType: return K::Device;
    case TypeKind::DictType: return G::dict(inside[0], inside[1]);
    case TypeKind::FloatType: return K::Float;
    case TypeKind::FutureType: return G::future(inside[0]);
    case TypeKind::GeneratorType: return K::Generator;
    case TypeKind::IntType: return K::Int;
    case TypeKind::LayoutType: return K::Layout;
    case TypeKind::ListType: return G::list(inside[0]);
    case TypeKind::NoneType: return K::None;
    case TypeKind::NumberType: return K::Number;
    case TypeKind::OptionalType: return G::optional(inside[0]);
    case TypeKind::ScalarTypeType: return K::DType;
    case TypeKind::StringType: return K::String;
    case TypeKind::TensorType: return G::tensor(TensorType(type).facts());
    case TypeKind::TupleType: return type.name() ? G::tuple(std::move(inside), type.fieldNames(), type.name()->qualifiedName()) : G::tuple(std::move(inside));
    case TypeKind::UnionType: return G::union_of(std::move(inside));
    default: return K::Any;
  }
}

// A class together with the unit that owns it.
struct StrongTypePtr {
  StrongTypePtr(std::shared_ptr<CompilationUnit> unit, script::ClassType* type) : cu_(std::move(unit)), type_(type) {}
  StrongTypePtr(std::shared_ptr<CompilationUnit> unit, const std::shared_ptr<ClassType>& type)
      : cu_(std::move(unit)), type_(type->script_class()), owner_(type) {}
  std::shared_ptr<CompilationUnit> cu_;
  script::ClassType* type_;
  std::shared_ptr<void> owner_;
};

namespace ivalue {

using EnumHolder = script::EnumObject;
using Future = script::FutureObject;
using Object = script::ScriptObject;

// Text that is held by a pointer; values keep the text itself.
class ConstantString final : public c10::intrusive_ptr_target {
 public:
  explicit ConstantString(std::string text) : text_(std::move(text)) {}
  static intrusive_ptr<ConstantString> create(std::string text) { return make_intrusive<ConstantString>(std::move(text)); }
  const std::string& string() const { return text_; }
  operator const std::string&() const { return text_; }
  friend std::ostream& operator<<(std::ostream& out, const ConstantString& s) { return out << s.text_; }

 private:
  std::string text_;
};

// The values of a tuple, of any number.
class TupleElements {
 public:
  TupleElements() = default;
  explicit TupleElements(std::vector<IValue> values) : values_(std::move(values)) {}
  explicit TupleElements(ArrayRef<IValue> values) : values_(values.begin(), values.end()) {}
  explicit TupleElements(IValue a) : values_{std::move(a)} {}
  TupleElements(IValue a, IValue b) : values_{std::move(a), std::move(b)} {}
  TupleElements(IValue a, IValue b, IValue c) : values_{std::move(a), std::move(b), std::move(c)} {}

  void setContents(std::vector<IValue> values) { values_ = std::move(values); }
  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }
  IValue& operator[](size_t i) { return values_[i]; }
  const IValue& operator[](size_t i) const { return values_[i]; }
  IValue& at(size_t i) { return values_.at(i); }
  const IValue& at(size_t i) const { return values_.at(i); }
  IValue& back() { return values_.back(); }
  const IValue& back() const { return values_.back(); }
  std::vector<IValue>::iterator begin() { return values_.begin(); }
  std::vector<IValue>::iterator end() { return values_.end(); }
  std::vector<IValue>::const_iterator begin() const { return values_.begin(); }
  std::vector<IValue>::const_iterator end() const { return values_.end(); }
  std::vector<IValue> vec() const& { return values_; }
  std::vector<IValue> vec() && { return std::move(values_); }
  operator ArrayRef<IValue>() const { return values_; }
  friend bool operator==(const TupleElements& a, const TupleElements& b) { return a.values_ == b.values_; }

 private:
  std::vector<IValue> values_;
};

// A null pointer is the empty text.
inline std::string boxed_value(const intrusive_ptr<ConstantString>& text) { return text ? text->string() : std::string(); }

}  // namespace ivalue

}  // namespace c10

namespace torch {
// The class of C++ that is registered under the qualified name; null: there is none.
inline c10::ClassTypePtr getCustomClass(const std::string& name) {
  cresset::graph::script::ClassType* const cls = cresset::graph::script::find_class(name);
  return cls && cls->custom ? c10::ClassType::of(*cls) : nullptr;
}
}  // namespace torch
namespace c10 {
// Of a pointer to objects of a class of C++. Errors: the class is not registered.
template <class Pointer> Type getCustomClassType() {
  return torch::getCustomClass(cresset::dispatch::class_of(typeid(typename Pointer::element_type)).qualified_name());
}
}  // namespace c10
namespace torch {
namespace jit {
using c10::AnyType;
using c10::BoolType;
using c10::ClassType;
using c10::ClassTypePtr;
using c10::ComplexType;
using c10::DeviceObjType;
using c10::DictType;
using c10::DictTypePtr;
using c10::EnumType;
using c10::EnumTypePtr;
using c10::FloatType;
using c10::FutureType;
using c10::InterfaceType;
using c10::InterfaceTypePtr;
using c10::IntType;
using c10::ListType;
using c10::ListTypePtr;
using c10::NoneType;
using c10::NoneTypePtr;
using c10::NumberType;
using c10::NumberTypePtr;
using c10::OptionalType;
using c10::OptionalTypePtr;
using c10::StringType;
using c10::StrongTypePtr;
using c10::TensorType;
using c10::TensorTypePtr;
using c10::TupleType;
using c10::TupleTypePtr;
using c10::TypeKind;
using c10::TypePtr;
using c10::UnionType;
using c10::UnionTypePtr;
using torch::getCustomClass;
namespace ivalue = c10::ivalue;
}  // namespace jit
}  // namespace torch

namespace cresset::dispatch {
inline c10::Type type_of_value(const Value& v) {
  if (v.isStream()) return c10::StreamObjType::get();
  if (v.isFuture()) return c10::FutureType::create(c10::type_of(v.toFuture()->elementType()));
  if (v.isEnum()) return c10::ClassType::of(*v.toEnumHolder()->cls);
  if (v.isObject()) return c10::ClassType::of(*v.toObject()->cls);
  return c10::type_of(graph::Type::of(v));
}
}  // namespace cresset::dispatch

namespace cresset::graph::script {

inline std::shared_ptr<c10::ClassType> libtorch_class(const CompilationUnit& unit, const c10::QualifiedName& name) {
  ClassType* const cls = unit.class_named(name.qualifiedName());
  return cls ? c10::ClassType::of(*cls) : nullptr;
}
inline std::shared_ptr<c10::InterfaceType> libtorch_interface(const CompilationUnit& unit, const c10::QualifiedName& name) {
  return std::dynamic_pointer_cast<c10::InterfaceType>(libtorch_class(unit, name));
}
inline c10::QualifiedName libtorch_name(const Function& function) { return c10::QualifiedName(function.name); }
// Errors: the unit has no class of this name.
inline c10::Type libtorch_type(const CompilationUnit& unit, const c10::QualifiedName& name) {
  const auto cls = libtorch_class(unit, name);
  TORCH_CHECK(cls != nullptr, "compilation unit: there is no class ", name.qualifiedName());
  return cls;
}

}  // namespace cresset::graph::script

namespace at {
using c10::ClassType;
using c10::ClassTypePtr;
using c10::EnumType;
using c10::EnumTypePtr;
using c10::StrongTypePtr;
}  // namespace at
