#include "cresset/dispatch/value.h"

namespace cresset::dispatch {

namespace {

[[noreturn]] void wrong_type(const Value& v, const char* expected) {
  CRESSET_CHECK_TYPE(false, "boxed call: expected ", expected, ", got ", v.kind());
  __builtin_unreachable();
}

}  // namespace

Value::Value() noexcept = default;
Value::Value(const Value& o) = default;
Value::Value(Value&& o) noexcept = default;
Value& Value::operator=(const Value& o) = default;
Value& Value::operator=(Value&& o) noexcept = default;
Value::~Value() = default;

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

bool Value::is_tensor() const { return is<Tensor>(); }
bool Value::is_number() const { return isInt() || isDouble() || isBool() || isComplexDouble() || is<uint64_t>(); }
bool Value::isInt() const { return is<int64_t>(); }
bool Value::isDouble() const { return is<double>(); }
bool Value::isComplexDouble() const { return is<complex<double>>(); }
bool Value::isBool() const { return is<bool>(); }
bool Value::isString() const { return is<std::string>(); }
bool Value::isDevice() const { return is<Device>(); }
bool Value::isGenerator() const { return is<Generator>(); }
bool Value::isIntList() const { return is<std::vector<int64_t>>(); }
bool Value::isDoubleList() const { return is<std::vector<double>>(); }
bool Value::isBoolList() const { return is<std::vector<bool>>(); }
bool Value::isTensorList() const { return is<std::vector<Tensor>>(); }

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
  static constexpr const char* kNames[] = {"None", "a tensor", "int", "float", "bool", "complex", "str", "a dtype", "a device", "a layout",
                                           "a memory format", "a generator", "list of int", "list of float", "list of bool",
                                           "list of numbers", "list of tensors", "list of optional tensors", "list of str", "int"};
  static_assert(std::size(kNames) == std::variant_size_v<Data>);
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

#define CRESSET_VALUE_GET(R, T, method, expected)            \
  R Value::method() const {                                  \
    if (auto* v = std::get_if<T>(&data_)) return *v;         \
    wrong_type(*this, expected);                             \
  }
CRESSET_VALUE_GET(const std::string&, std::string, to_string, "str")
CRESSET_VALUE_GET(ScalarType, ScalarType, to_dtype, "a dtype")
CRESSET_VALUE_GET(Device, Device, to_device, "a device")
CRESSET_VALUE_GET(Layout, Layout, to_layout, "a layout")
CRESSET_VALUE_GET(MemoryFormat, MemoryFormat, to_memory_format, "a memory format")
CRESSET_VALUE_GET(const Generator&, Generator, to_generator, "a generator")
#undef CRESSET_VALUE_GET

std::vector<int64_t> Value::to_int_list() const {
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return *v;
  if (is<int64_t>()) return {to_int()};
  wrong_type(*this, "list of int");
}

std::vector<double> Value::to_double_list() const {
  if (auto* v = std::get_if<std::vector<double>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return std::vector<double>(v->begin(), v->end());
  if (is_number()) return {to_double()};
  wrong_type(*this, "list of float");
}

std::vector<bool> Value::to_bool_list() const {
  if (auto* v = std::get_if<std::vector<bool>>(&data_)) return *v;
  wrong_type(*this, "list of bool");
}

std::vector<Scalar> Value::to_scalar_list() const {
  if (auto* v = std::get_if<std::vector<Scalar>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_)) return std::vector<Scalar>(v->begin(), v->end());
  if (auto* v = std::get_if<std::vector<double>>(&data_)) return std::vector<Scalar>(v->begin(), v->end());
  wrong_type(*this, "list of numbers");
}

std::vector<Tensor> Value::to_tensor_list() const {
  if (auto* v = std::get_if<std::vector<Tensor>>(&data_)) return *v;
  if (auto* v = std::get_if<std::vector<int64_t>>(&data_); v && v->empty()) return {};
  wrong_type(*this, "list of tensors");
}

std::vector<Value::Optional> Value::to_optional_tensor_list() const {
  if (auto* v = std::get_if<std::vector<Optional>>(&data_)) return *v;
  std::vector<Optional> out;
  for (const Tensor& t : to_tensor_list()) out.emplace_back(t);
  return out;
}

}  // namespace cresset::dispatch
