#include <mutex>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"

namespace cresset::dispatch {

namespace {

[[noreturn]] void wrong_type(const Value& v, const char* expected) {
  CRESSET_CHECK_TYPE(false, "boxed call: expected ", expected, ", got ", v.kind());
  __builtin_unreachable();
}

}  // namespace

Value::Value() noexcept = default;
Value::Value(const Value& o) = default;
Value::Value(Value&& o) noexcept : data_(std::exchange(o.data_, Data())) {}
Value& Value::operator=(const Value& o) = default;
Value& Value::operator=(Value&& o) noexcept {
  data_ = std::exchange(o.data_, Data());
  return *this;
}
Value::~Value() = default;
void Value::swap(Value& o) noexcept { data_.swap(o.data_); }

Value::Value(Tensor v) : data_(std::move(v)) {}
Value::Value(int64_t v) : data_(v) {}
Value::Value(double v) : data_(v) {}
Value::Value(bool v) : data_(v) {}
Value::Value(const char* v) : data_(std::string(v)) {}
Value::Value(std::string v) : data_(std::move(v)) {}
Value::Value(std::string_view v) : data_(std::string(v)) {}
Value::Value(ScalarType v) : data_(v) {}
Value::Value(Device v) : data_(v) {}
Value::Value(Layout v) : data_(v) {}
Value::Value(MemoryFormat v) : data_(v) {}
Value::Value(Generator v) : data_(std::move(v)) {}
Value::Value(std::vector<int64_t> v) : data_(std::move(v)) {}
Value::Value(IntArrayRef v) : data_(v.vec()) {}
Value::Value(std::vector<double> v) : data_(std::move(v)) {}
Value::Value(std::vector<bool> v) : data_(std::move(v)) {}
Value::Value(std::vector<Scalar> v) : data_(std::move(v)) {}
Value::Value(std::vector<Tensor> v) : data_(std::move(v)) {}
Value::Value(std::vector<Optional> v) : data_(std::move(v)) {}
Value::Value(std::vector<std::string> v) : data_(std::move(v)) {}
Value::Value(complex<double> v) : data_(v) {}
Value::Value(Storage v) : data_(intrusive_ptr<Object>(make_intrusive<StorageObject>(std::move(v)))) {}
Value::Value(intrusive_ptr<Object> v) : data_(std::move(v)) {
  if (!std::get<intrusive_ptr<Object>>(data_)) data_ = std::monostate();
}

bool Value::is_tensor() const { return is<Tensor>(); }
bool Value::is_number() const { return isInt() || isDouble() || isBool() || isComplexDouble() || is<uint64_t>(); }
bool Value::isInt() const { return is<int64_t>(); }
bool Value::isDouble() const { return is<double>(); }
bool Value::isComplexDouble() const { return is<complex<double>>(); }
bool Value::isBool() const { return is<bool>(); }
bool Value::isString() const { return is<std::string>(); }
bool Value::isDevice() const { return is<Device>(); }
bool Value::isGenerator() const { return is<Generator>(); }

namespace {

// The object in the value if it is of this kind.
template <class T> const T* object_of(const Value& v, Object::Kind kind) {
  const auto* o = v.object();
  return o && (*o)->kind() == kind ? static_cast<const T*>(o->get()) : nullptr;
}
const ListObject* list_of(const Value& v) { return object_of<ListObject>(v, Object::Kind::List); }

template <class T> std::vector<T> elements_as(const ListObject& list) {
  std::vector<T> out;
  for (const Value& e : list.elements) out.push_back(ValueAs<T>::get(e));
  return out;
}

bool is_list_of(const Value& v, ElementKind k) {
  const ListObject* list = list_of(v);
  return list && list->element == k;
}

}  // namespace

bool Value::isStorage() const { return object_of<StorageObject>(*this, Object::Kind::Storage); }
bool Value::isTuple() const { return object_of<TupleObject>(*this, Object::Kind::Tuple); }
bool Value::isGenericDict() const { return object_of<DictObject>(*this, Object::Kind::Dict); }
bool Value::isList() const {
  return list_of(*this) || isIntList() || isDoubleList() || isBoolList() || isTensorList() || isOptionalTensorList() || is<std::vector<Scalar>>() ||
         is<std::vector<std::string>>();
}
bool Value::isIntList() const { return is<std::vector<int64_t>>() || is_list_of(*this, ElementKind::Int); }
bool Value::isDoubleList() const { return is<std::vector<double>>() || is_list_of(*this, ElementKind::Double); }
bool Value::isComplexDoubleList() const { return is_list_of(*this, ElementKind::Complex); }
bool Value::isBoolList() const { return is<std::vector<bool>>() || is_list_of(*this, ElementKind::Bool); }
bool Value::isTensorList() const { return is<std::vector<Tensor>>() || is_list_of(*this, ElementKind::Tensor); }
bool Value::isOptionalTensorList() const { return is<std::vector<Optional>>() || is_list_of(*this, ElementKind::OptionalTensor); }

ScalarType Value::toScalarType() const { return isInt() ? static_cast<ScalarType>(to_int()) : to_dtype(); }
Layout Value::toLayout() const { return isInt() ? static_cast<Layout>(to_int()) : to_layout(); }
MemoryFormat Value::toMemoryFormat() const { return isInt() ? static_cast<MemoryFormat>(to_int()) : to_memory_format(); }

Storage Value::toStorage() const {
  if (auto* s = object_of<StorageObject>(*this, Object::Kind::Storage)) return s->storage;
  wrong_type(*this, "a storage");
}
const TupleObject& Value::toTupleRef() const {
  if (auto* t = object_of<TupleObject>(*this, Object::Kind::Tuple)) return *t;
  wrong_type(*this, "a tuple");
}
intrusive_ptr<TupleObject> Value::toTuple() const { return intrusive_ptr<TupleObject>::share(const_cast<TupleObject*>(&toTupleRef())); }
GenericDict Value::toGenericDict() const {
  if (auto* d = object_of<DictObject>(*this, Object::Kind::Dict)) return GenericDict(intrusive_ptr<DictObject>::share(const_cast<DictObject*>(d)));
  wrong_type(*this, "a dict");
}

DimVector Value::toDimVector() const {
  const std::vector<int64_t> values = to_int_list();
  return DimVector(values.begin(), values.end());
}
ArrayRef<Value> Value::toListRef() const {
  static std::mutex& one_at_a_time = *new std::mutex;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (!list_of(*this)) data_ = Value(toList()).data_;
  return list_of(*this)->elements;
}
std::vector<Value> Value::toListVector() const {
  if (auto* list = list_of(*this)) return list->elements;
  std::vector<Value> out;
  const auto all = [&](const auto& list) {
    for (const auto& e : list) out.emplace_back(e);
  };
  if (auto* ints = std::get_if<std::vector<int64_t>>(&data_)) all(*ints);
  else if (auto* doubles = std::get_if<std::vector<double>>(&data_)) all(*doubles);
  else if (auto* bools = std::get_if<std::vector<bool>>(&data_))
    for (const bool b : *bools) out.emplace_back(b);
  else if (auto* scalars = std::get_if<std::vector<Scalar>>(&data_)) all(*scalars);
  else if (auto* tensors = std::get_if<std::vector<Tensor>>(&data_)) all(*tensors);
  else if (auto* optionals = std::get_if<std::vector<Optional>>(&data_)) all(*optionals);
  else if (auto* strings = std::get_if<std::vector<std::string>>(&data_)) all(*strings);
  else wrong_type(*this, "a list");
  return out;
}
std::vector<complex<double>> Value::toComplexDoubleVector() const { return to<std::vector<complex<double>>>(); }

GenericList Value::toList() const {
  if (auto* list = list_of(*this)) return GenericList(intrusive_ptr<ListObject>::share(const_cast<ListObject*>(list)));
  GenericList out(isIntList()                      ? ElementKind::Int
                  : isDoubleList()                 ? ElementKind::Double
                  : isBoolList()                   ? ElementKind::Bool
                  : isTensorList()                 ? ElementKind::Tensor
                  : is<std::vector<std::string>>() ? ElementKind::String
                                                   : ElementKind::Any);
  out.impl()->elements = toListVector();
  return out;
}
#define CRESSET_VALUE_LIST(method, T)                      \
  List<T> Value::method() const& { return to<List<T>>(); } \
  List<T> Value::method()&& {                              \
    List<T> list = to<List<T>>();                          \
    *this = Value();                                       \
    return list;                                           \
  }
CRESSET_VALUE_LIST(toIntList, int64_t)
CRESSET_VALUE_LIST(toDoubleList, double)
CRESSET_VALUE_LIST(toComplexDoubleList, complex<double>)
#undef CRESSET_VALUE_LIST
List<bool> Value::toBoolList() const { return to<List<bool>>(); }
List<Tensor> Value::toTensorList() const { return to<List<Tensor>>(); }
List<std::optional<Tensor>> Value::toOptionalTensorList() const { return to<List<std::optional<Tensor>>>(); }

Value Value::plain() const {
  const ListObject* list = list_of(*this);
  if (!list) return {};
  switch (list->element) {
    case ElementKind::Int: return to<std::vector<int64_t>>();
    case ElementKind::Double: return to<std::vector<double>>();
    case ElementKind::Bool: return to<std::vector<bool>>();
    case ElementKind::Tensor: return to<std::vector<Tensor>>();
    case ElementKind::OptionalTensor: return to<std::vector<Optional>>();
    case ElementKind::String: return to<std::vector<std::string>>();
    default: return {};
  }
}

Value::Value(const Scalar& v) {
  switch (v.tag()) {
    case Scalar::Tag::Double: data_ = v.toDouble(); break;
    case Scalar::Tag::Bool: data_ = v.toBool(); break;
    case Scalar::Tag::Complex: data_ = v.toComplexDouble(); break;
    case Scalar::Tag::UInt64: data_ = v.as<uint64_t>(); break;
    case Scalar::Tag::Int: data_ = v.as<int64_t>();
  }
}

const char* Value::kind() const {
  static constexpr const char* kNames[] = {"None",
                                           "a tensor",
                                           "int",
                                           "float",
                                           "bool",
                                           "complex",
                                           "str",
                                           "a dtype",
                                           "a device",
                                           "a layout",
                                           "a memory format",
                                           "a generator",
                                           "list of int",
                                           "list of float",
                                           "list of bool",
                                           "list of numbers",
                                           "list of tensors",
                                           "list of optional tensors",
                                           "list of str",
                                           "int",
                                           ""};
  static_assert(std::size(kNames) == std::variant_size_v<Data>);
  if (const auto* o = object()) return (*o)->kind_name();
  return kNames[data_.index()];
}

const Tensor& Value::to_tensor() const {
  static const Tensor undefined;
  if (auto* t = std::get_if<Tensor>(&data_)) return *t;
  if (is_none()) return undefined;
  wrong_type(*this, "a tensor");
}

Tensor& Value::to_tensor_ref() {
  if (auto* t = std::get_if<Tensor>(&data_)) return *t;
  wrong_type(*this, "a tensor");
}

Scalar Value::to_scalar() const {
  if (auto* i = std::get_if<int64_t>(&data_)) return *i;
  if (auto* d = std::get_if<double>(&data_)) return *d;
  if (auto* b = std::get_if<bool>(&data_)) return *b;
  if (auto* c = std::get_if<complex<double>>(&data_)) return *c;
  if (auto* u = std::get_if<uint64_t>(&data_)) return *u;
  if (auto* t = std::get_if<Tensor>(&data_)) return t->item();
  wrong_type(*this, "a number");
}

int64_t Value::to_int() const {
  if (auto* i = std::get_if<int64_t>(&data_)) return *i;
  if (auto* b = std::get_if<bool>(&data_)) return *b;
  wrong_type(*this, "int");
}

double Value::to_double() const {
  if (auto* d = std::get_if<double>(&data_)) return *d;
  if (auto* i = std::get_if<int64_t>(&data_)) return static_cast<double>(*i);
  if (auto* b = std::get_if<bool>(&data_)) return *b;
  if (auto* u = std::get_if<uint64_t>(&data_)) return static_cast<double>(*u);
  wrong_type(*this, "float");
}

bool Value::to_bool() const {
  if (auto* b = std::get_if<bool>(&data_)) return *b;
  if (auto* i = std::get_if<int64_t>(&data_)) return *i != 0;
  wrong_type(*this, "bool");
}

#define CRESSET_VALUE_GET(R, T, method, expected)    \
  R Value::method() const {                          \
    if (auto* v = std::get_if<T>(&data_)) return *v; \
    wrong_type(*this, expected);                     \
  }
CRESSET_VALUE_GET(const std::string&, std::string, to_string, "str")
CRESSET_VALUE_GET(ScalarType, ScalarType, to_dtype, "a dtype")
CRESSET_VALUE_GET(Device, Device, to_device, "a device")
CRESSET_VALUE_GET(Layout, Layout, to_layout, "a layout")
CRESSET_VALUE_GET(MemoryFormat, MemoryFormat, to_memory_format, "a memory format")
CRESSET_VALUE_GET(const Generator&, Generator, to_generator, "a generator")
#undef CRESSET_VALUE_GET

std::vector<int64_t> Value::to_int_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<int64_t>(*list);
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return *v;
  if (is<int64_t>()) return {to_int()};
  wrong_type(*this, "list of int");
}

std::vector<double> Value::to_double_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<double>(*list);
  if (auto* v = std::get_if<std::vector<double>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return std::vector<double>(v->begin(), v->end());
  if (is_number()) return {to_double()};
  wrong_type(*this, "list of float");
}

std::vector<bool> Value::to_bool_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<bool>(*list);
  if (auto* v = std::get_if<std::vector<bool>>(&data_)) return *v;
  wrong_type(*this, "list of bool");
}

std::vector<Scalar> Value::to_scalar_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<Scalar>(*list);
  if (auto* v = std::get_if<std::vector<Scalar>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return std::vector<Scalar>(v->begin(), v->end());
  if (auto* v = std::get_if<std::vector<double>>(&data_)) return std::vector<Scalar>(v->begin(), v->end());
  wrong_type(*this, "list of numbers");
}

std::vector<Tensor> Value::to_tensor_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<Tensor>(*list);
  if (auto* v = std::get_if<std::vector<Tensor>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_); v && v->empty()) return {};
  wrong_type(*this, "list of tensors");
}

std::vector<Value::Optional> Value::to_optional_tensor_list() const {
  if (const ListObject* list = list_of(*this)) return elements_as<Value::Optional>(*list);
  if (auto* v = std::get_if<std::vector<Optional>>(&data_)) return *v;
  std::vector<Optional> out;
  for (const Tensor& t : to_tensor_list()) out.emplace_back(t);
  return out;
}

}  // namespace cresset::dispatch
