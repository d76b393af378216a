#include "cresset/graph/ir/type.h"

#include "cresset/core/layout.h"
#include "cresset/dispatch/custom_class.h"
#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/values/object.h"

namespace cresset::graph {

namespace {

std::vector<Sym> syms_of(IntArrayRef numbers) { return std::vector<Sym>(numbers.begin(), numbers.end()); }

}  // namespace

TensorFacts TensorFacts::of(const Tensor& t) {
  TensorFacts f;
  if (!t.defined()) return f;
  f.dtype = t.scalar_type();
  f.device = t.device();
  f.layout = t.layout();
  f.sizes = syms_of(t.sizes());
  if (t.layout() == Layout::Strided) f.strides = syms_of(t.strides());
  if (t.requires_grad()) f.requires_grad = true;
  return f;
}

std::optional<Sym> TensorFacts::numel() const {
  if (!sizes) return std::nullopt;
  Sym n = 1;
  for (const Sym& s : *sizes) n = n * s;
  return n.is_known() ? std::optional<Sym>(n) : std::nullopt;
}
std::optional<Sym> TensorFacts::nbytes() const {
  const auto n = numel();
  return n && dtype ? std::optional<Sym>(*n * Sym(static_cast<int64_t>(element_size(*dtype)))) : std::nullopt;
}
bool TensorFacts::operator==(const TensorFacts& o) const {
  return dtype == o.dtype && device == o.device && layout == o.layout && sizes == o.sizes && strides == o.strides && requires_grad == o.requires_grad;
}

Type::Type(TypeKind kind, std::vector<Type> elements) : kind_(kind) {
  auto parts = std::make_shared<Parts>();
  parts->elements = std::move(elements);
  parts_ = std::move(parts);
}

Type Type::tensor(TensorFacts facts) {
  Type t(TypeKind::Tensor);
  if (facts != TensorFacts()) {
    auto parts = std::make_shared<Parts>();
    parts->facts = std::move(facts);
    t.parts_ = std::move(parts);
  }
  return t;
}
Type Type::optional(Type element) {
  if (element.kind() == TypeKind::Optional || element.kind() == TypeKind::None || element.kind() == TypeKind::Any) return element;
  return Type(TypeKind::Optional, {std::move(element)});
}
Type Type::tuple(std::vector<Type> elements, std::vector<std::string> fields, std::string name) {
  CRESSET_CHECK_VALUE(fields.empty() || fields.size() == elements.size(), "tuple type: ", fields.size(), " names for ", elements.size(), " fields");
  Type t(TypeKind::Tuple);
  auto parts = std::make_shared<Parts>();
  *parts = {std::move(elements), std::move(fields), std::move(name), {}};
  t.parts_ = std::move(parts);
  return t;
}
Type Type::object(std::string name) {
  Type t(TypeKind::Class);
  auto parts = std::make_shared<Parts>();
  parts->name = std::move(name);
  t.parts_ = std::move(parts);
  return t;
}

Type Type::of_schema(const dispatch::Type& type) {
  Type t;
  if (!dispatch::is_text_type(type)) {
    switch (type.kind) {
      case dispatch::TypeKind::Tensor: t = TypeKind::Tensor; break;
      case dispatch::TypeKind::Int: t = TypeKind::Int; break;
      case dispatch::TypeKind::Float: t = TypeKind::Float; break;
      case dispatch::TypeKind::Bool: t = TypeKind::Bool; break;
      case dispatch::TypeKind::Scalar: t = TypeKind::Number; break;
      case dispatch::TypeKind::String: t = TypeKind::String; break;
      case dispatch::TypeKind::DType: t = TypeKind::DType; break;
      case dispatch::TypeKind::Device: t = TypeKind::Device; break;
      case dispatch::TypeKind::Layout: t = TypeKind::Layout; break;
      case dispatch::TypeKind::MemoryFormat: t = TypeKind::MemoryFormat; break;
      case dispatch::TypeKind::Generator: t = TypeKind::Generator; break;
      default: return t;  // a type of another library: anything
    }
  }
  if (type.element_optional) t = optional(std::move(t));
  if (type.list) t = list(std::move(t));
  return type.optional ? optional(std::move(t)) : t;
}

namespace {

Type type_of_list(const std::vector<Datum>& values) {
  if (values.empty()) return Type::list(TypeKind::Any);
  Type first = Type::of(values[0]);
  for (const Datum& v : values)
    if (Type::of(v) != first) return Type::list(first.is_tensor() && v.is_tensor() ? Type(TypeKind::Tensor) : Type());
  return Type::list(std::move(first));
}

Type type_of_object(const dispatch::Object& o) {
  std::vector<Type> inside;
  switch (o.kind()) {
    case dispatch::Object::Kind::Tuple: o.for_each([&](const Datum& v) { inside.push_back(Type::of(v)); }); return Type::tuple(std::move(inside));
    case dispatch::Object::Kind::List: {
      std::vector<Datum> values;
      o.for_each([&](const Datum& v) { values.push_back(v); });
      return type_of_list(values);
    }
    case dispatch::Object::Kind::Dict: {
      o.for_each([&](const Datum& v) { inside.push_back(Type::of(v)); });
      return inside.empty() ? Type::dict(TypeKind::Any, TypeKind::Any) : Type::dict(inside[0], inside[1]);
    }
    default: {
      const auto* held = dynamic_cast<const CustomClassHolder*>(&o);
      const dispatch::ClassInfo* info = held ? dispatch::find_class(typeid(*held)) : nullptr;
      return Type::object(info ? info->qualified_name() : o.kind_name());
    }
  }
}

}  // namespace

Type Type::of(const Datum& v) {
  if (v.is_none()) return TypeKind::None;
  if (v.is<Tensor>()) return v.to_tensor().defined() ? tensor(TensorFacts::of(v.to_tensor())) : Type(TypeKind::None);
  if (v.is<bool>()) return TypeKind::Bool;
  if (v.is<int64_t>() || v.is<uint64_t>()) return TypeKind::Int;
  if (v.is<double>()) return TypeKind::Float;
  if (v.is<complex<double>>()) return TypeKind::Complex;
  if (v.is<std::string>()) return TypeKind::String;
  if (v.is<ScalarType>()) return TypeKind::DType;
  if (v.is<cresset::Device>()) return TypeKind::Device;
  if (v.is<cresset::Layout>()) return TypeKind::Layout;
  if (v.is<cresset::MemoryFormat>()) return TypeKind::MemoryFormat;
  if (v.is<cresset::Generator>()) return TypeKind::Generator;
  if (v.is<std::vector<int64_t>>()) return list(TypeKind::Int);
  if (v.is<std::vector<double>>()) return list(TypeKind::Float);
  if (v.is<std::vector<bool>>()) return list(TypeKind::Bool);
  if (v.is<std::vector<Scalar>>()) return list(TypeKind::Number);
  if (v.is<std::vector<Tensor>>()) return list(TypeKind::Tensor);
  if (v.is<std::vector<Datum::Optional>>()) return list(optional(TypeKind::Tensor));
  if (v.is<std::vector<std::string>>()) return list(TypeKind::String);
  if (v.object()) return type_of_object(**v.object());
  return {};
}

const std::vector<Type>& Type::elements() const {
  static const std::vector<Type> none;
  return parts_ ? parts_->elements : none;
}
const std::vector<std::string>& Type::fields() const {
  static const std::vector<std::string> none;
  return parts_ ? parts_->fields : none;
}
const std::string& Type::name() const {
  static const std::string none;
  return parts_ ? parts_->name : none;
}
const TensorFacts& Type::facts() const {
  static const TensorFacts none;
  return parts_ ? parts_->facts : none;
}

Type Type::without_facts() const {
  if (!parts_) return *this;
  auto parts = std::make_shared<Parts>(*parts_);
  parts->facts = {};
  for (Type& t : parts->elements) t = t.without_facts();
  Type out(kind_);
  if (kind_ != TypeKind::Tensor) out.parts_ = std::move(parts);
  return out;
}

bool Type::operator==(const Type& o) const {
  if (kind_ != o.kind_) return false;
  return parts_ == o.parts_ || (elements() == o.elements() && fields() == o.fields() && name() == o.name() && facts() == o.facts());
}

namespace {

bool all_fit(const Type& given, const Type& expected) {
  const auto &a = given.elements(), &b = expected.elements();
  bool fit = a.size() == b.size();
  for (size_t i = 0; fit && i < a.size(); i++) fit = a[i].fits(b[i]);
  return fit;
}

}  // namespace

bool Type::fits(const Type& expected) const {
  if (kind_ == TypeKind::Any || expected.kind_ == TypeKind::Any) return true;
  if (kind_ == TypeKind::Union || (kind_ == TypeKind::Optional && expected.kind_ != TypeKind::Optional)) {
    // Which one it is shows when it runs.
    for (const Type& e : elements())
      if (e.fits(expected)) return true;
    return expected.kind_ == TypeKind::Optional && kind_ == TypeKind::Union;
  }
  switch (expected.kind_) {
    case TypeKind::Optional: return kind_ == TypeKind::None || (kind_ == TypeKind::Optional ? elements()[0] : *this).fits(expected.elements()[0]);
    case TypeKind::Union:
      for (const Type& e : expected.elements())
        if (fits(e)) return true;
      return false;
    case TypeKind::Number:
      return kind_ == TypeKind::Number || kind_ == TypeKind::Int || kind_ == TypeKind::Float || kind_ == TypeKind::Bool || kind_ == TypeKind::Complex;
    case TypeKind::Float: return kind_ == TypeKind::Float || kind_ == TypeKind::Int || kind_ == TypeKind::Number;
    case TypeKind::Int: return kind_ == TypeKind::Int || kind_ == TypeKind::Number;
    case TypeKind::Bool: return kind_ == TypeKind::Bool || kind_ == TypeKind::Number;
    case TypeKind::Complex: return kind_ == TypeKind::Complex || kind_ == TypeKind::Float || kind_ == TypeKind::Int || kind_ == TypeKind::Number;
    // One number stands for a list of them.
    case TypeKind::List:
      if (kind_ == TypeKind::Int || kind_ == TypeKind::Float || kind_ == TypeKind::Number) return fits(expected.elements()[0]);
      return kind_ == TypeKind::List && all_fit(*this, expected);
    case TypeKind::Tuple:
    case TypeKind::Dict:
    case TypeKind::Future: return kind_ == expected.kind_ && all_fit(*this, expected);
    case TypeKind::Class: return kind_ == expected.kind_ && (name() == expected.name() || expected.name().empty());
    default: return kind_ == expected.kind_;
  }
}

}  // namespace cresset::graph
