#pragma once
// Value: an argument or result of any type, as boxed calls carry it. Stack: arguments in schema order; a call replaces them by its results.

#include <string>
#include <variant>
#include <vector>

#include "cresset/core/tensor.h"

namespace cresset::dispatch {

class CRESSET_API Value {
 public:
  using Optional = std::optional<Tensor>;
  using Data = std::variant<std::monostate, Tensor, int64_t, double, bool, complex<double>, std::string, ScalarType, Device, Layout, MemoryFormat,
                            Generator, std::vector<int64_t>, std::vector<double>, std::vector<bool>, std::vector<Scalar>, std::vector<Tensor>,
                            std::vector<Optional>, std::vector<std::string>>;

  Value() = default;
  Value(std::nullopt_t) {}
  Value(Tensor t) : data_(std::move(t)) {}
  Value(int64_t v) : data_(v) {}
  Value(int v) : data_(static_cast<int64_t>(v)) {}
  Value(double v) : data_(v) {}
  Value(bool v) : data_(v) {}
  Value(const Scalar& v);
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(ScalarType v) : data_(v) {}
  Value(Device v) : data_(v) {}
  Value(Layout v) : data_(v) {}
  Value(MemoryFormat v) : data_(v) {}
  Value(Generator v) : data_(std::move(v)) {}
  Value(std::vector<int64_t> v) : data_(std::move(v)) {}
  Value(IntArrayRef v) : data_(v.vec()) {}
  Value(std::vector<double> v) : data_(std::move(v)) {}
  Value(std::vector<bool> v) : data_(std::move(v)) {}
  Value(std::vector<Scalar> v) : data_(std::move(v)) {}
  Value(std::vector<Tensor> v) : data_(std::move(v)) {}
  Value(std::vector<Optional> v) : data_(std::move(v)) {}
  Value(std::vector<std::string> v) : data_(std::move(v)) {}
  template <class T> Value(const std::optional<T>& v) { if (v) *this = Value(*v); }

  bool is_none() const { return data_.index() == 0; }
  template <class T> bool is() const { return std::holds_alternative<T>(data_); }
  bool is_tensor() const { return is<Tensor>(); }
  bool is_number() const { return is<int64_t>() || is<double>() || is<bool>() || is<complex<double>>(); }

  // Conversions accept what a caller may mean: an int where a float is expected, one int for a list of one. Errors: TypeError.
  const Tensor& to_tensor() const;  // None gives an undefined tensor
  Tensor& to_tensor_ref();
  Scalar to_scalar() const;
  int64_t to_int() const;
  double to_double() const;
  bool to_bool() const;
  const std::string& to_string() const;
  ScalarType to_dtype() const;
  Device to_device() const;
  Layout to_layout() const;
  MemoryFormat to_memory_format() const;
  const Generator& to_generator() const;
  std::vector<int64_t> to_int_list() const;
  std::vector<double> to_double_list() const;
  std::vector<bool> to_bool_list() const;
  std::vector<Scalar> to_scalar_list() const;
  std::vector<Tensor> to_tensor_list() const;
  std::vector<Optional> to_optional_tensor_list() const;

  const Data& data() const { return data_; }
  Data& data() { return data_; }
  // "a tensor", "int", "list of float": for messages.
  const char* kind() const;

 private:
  Data data_;
};

using Stack = std::vector<Value>;

// Calls `visit` for every defined tensor in the value, lists included.
template <class F>
void for_each_tensor(const Value& v, F&& visit) {
  if (auto* t = std::get_if<Tensor>(&v.data())) {
    if (t->defined()) visit(*t);
  } else if (auto* list = std::get_if<std::vector<Tensor>>(&v.data())) {
    for (const Tensor& e : *list)
      if (e.defined()) visit(e);
  } else if (auto* options = std::get_if<std::vector<Value::Optional>>(&v.data())) {
    for (const auto& e : *options)
      if (e && e->defined()) visit(*e);
  }
}

// The same with each tensor replaced by what `map` makes of it.
template <class F>
Value map_tensors(const Value& v, F&& map) {
  if (auto* t = std::get_if<Tensor>(&v.data())) return t->defined() ? Value(map(*t)) : v;
  if (auto* list = std::get_if<std::vector<Tensor>>(&v.data())) {
    std::vector<Tensor> out;
    for (const Tensor& e : *list) out.push_back(e.defined() ? map(e) : e);
    return out;
  }
  if (auto* options = std::get_if<std::vector<Value::Optional>>(&v.data())) {
    std::vector<Value::Optional> out;
    for (const auto& e : *options) out.push_back(e && e->defined() ? Value::Optional(map(*e)) : e);
    return out;
  }
  return v;
}

}  // namespace cresset::dispatch
