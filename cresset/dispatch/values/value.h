#pragma once
// Value: an argument or result of any type, as boxed calls carry it. Stack: arguments in schema order; a call replaces them by its results.

#include <string>
#include <variant>
#include <vector>

#include "cresset/core/tensor.h"

namespace cresset {

class Stream;
namespace graph::script {
class EnumObject;
class FutureObject;
class ScriptObject;
}  // namespace graph::script
template <class T> class List;           // cresset/dispatch/values/list.h
template <class K, class V> class Dict;  // cresset/dispatch/values/dict.h

namespace dispatch {

// Tuples, lists and dicts that are shared, storages: cresset/dispatch/values/object.h.
class Object;
class TupleObject;
class Value;
using GenericList = List<Value>;
using GenericDict = Dict<Value, Value>;

class CRESSET_API Value {
 public:
  using Optional = std::optional<Tensor>;
  using Data = std::variant<std::monostate, Tensor, int64_t, double, bool, complex<double>, std::string, ScalarType, Device, Layout, MemoryFormat, Generator,
                            std::vector<int64_t>, std::vector<double>, std::vector<bool>, std::vector<Scalar>, std::vector<Tensor>, std::vector<Optional>,
                            std::vector<std::string>, uint64_t, intrusive_ptr<Object>>;  // uint64_t: beyond int64_t only

  // Out of line, all of them: a variant of this length is dear to compile.
  Value() noexcept;
  Value(const Value& o);
  Value(Value&& o) noexcept;
  Value& operator=(const Value& o);
  Value& operator=(Value&& o) noexcept;
  ~Value();
  Value(std::nullopt_t) noexcept : Value() {}
  Value(Tensor v);
  Value(int64_t v);
  Value(int v) : Value(static_cast<int64_t>(v)) {}
  Value(double v);
  Value(bool v);
  Value(const Scalar& v);
  Value(const char* v);
  Value(std::string v);
  Value(std::string_view v);
  Value(ScalarType v);
  Value(Device v);
  Value(Layout v);
  Value(MemoryFormat v);
  Value(Generator v);
  Value(std::vector<int64_t> v);
  Value(IntArrayRef v);
  Value(std::vector<double> v);
  Value(std::vector<bool> v);
  Value(std::vector<Scalar> v);
  Value(std::vector<Tensor> v);
  Value(std::vector<Optional> v);
  Value(std::vector<std::string> v);
  Value(SymInt v) : Value(v.expect_int()) {}
  Value(complex<double> v);
  Value(Storage v);
  Value(intrusive_ptr<Object> v);
  template <class T> Value(const std::optional<T>& v) : Value() {
    if (v) *this = Value(*v);
  }
  // Shared with whoever holds the list or dict.
  template <class T> Value(List<T> v);
  template <class K, class V> Value(Dict<K, V> v);
  template <class... T> Value(const std::tuple<T...>& v);
  template <class T> Value(const std::vector<T>& v);
  template <class T> Value(ArrayRef<T> v);
  template <class T, size_t N> Value(const std::array<T, N>& v);
  // std::unordered_map, and what looks like it.
  template <class M, class = typename M::mapped_type, class = typename M::hasher> Value(const M& v);
  template <class T, class = std::enable_if_t<std::is_base_of<Object, T>::value>> Value(const intrusive_ptr<T>& v) : Value(intrusive_ptr<Object>(v)) {}
  // Types with a `boxed_value` of their own, such as streams.
  template <class T, class = decltype(boxed_value(std::declval<const T&>()))> Value(const T& v) : Value(boxed_value(v)) {}
  void swap(Value& o) noexcept;

  bool is_none() const { return data_.index() == 0; }
  template <class T> bool is() const { return std::holds_alternative<T>(data_); }
  bool is_tensor() const;
  bool is_number() const;

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

  // LibTorch's names for the same.
  bool isNone() const { return is_none(); }
  bool isTensor() const { return is_tensor(); }
  bool isScalar() const { return is_number(); }
  bool isInt() const;
  bool isDouble() const;
  bool isComplexDouble() const;
  bool isBool() const;
  bool isString() const;
  bool isDevice() const;
  bool isGenerator() const;
  bool isStorage() const;
  bool isTuple() const;
  bool isGenericDict() const;
  // A list of any kind; of integers, ...
  bool isList() const;
  bool isIntList() const;
  bool isDoubleList() const;
  bool isComplexDoubleList() const;
  bool isBoolList() const;
  bool isTensorList() const;
  bool isOptionalTensorList() const;
  const Tensor& toTensor() const& { return to_tensor(); }
  Tensor& toTensor() & { return to_tensor_ref(); }
  Tensor toTensor() && {
    Tensor t = std::move(to_tensor_ref());
    *this = Value();
    return t;
  }
  Scalar toScalar() const { return to_scalar(); }
  int64_t toInt() const { return to_int(); }
  SymInt toSymInt() const { return to_int(); }
  double toDouble() const { return to_double(); }
  complex<double> toComplexDouble() const { return to_scalar().toComplexDouble(); }
  bool toBool() const { return to_bool(); }
  const std::string& toStringRef() const { return to_string(); }
  std::string_view toStringView() const { return to_string(); }
  ScalarType toScalarType() const;
  Layout toLayout() const;
  MemoryFormat toMemoryFormat() const;
  Device toDevice() const { return to_device(); }
  const Generator& toGenerator() const { return to_generator(); }
  Storage toStorage() const;
  const TupleObject& toTupleRef() const;
  intrusive_ptr<TupleObject> toTuple() const;
  std::vector<int64_t> toIntVector() const { return to_int_list(); }
  std::vector<double> toDoubleVector() const { return to_double_list(); }
  std::vector<complex<double>> toComplexDoubleVector() const;
  std::vector<Tensor> toTensorVector() const { return to_tensor_list(); }
  std::vector<Value> toListVector() const;
  DimVector toDimVector() const;
  // The elements where they lie; of a list of numbers or tensors they are made first, and the value then holds a shared list of them.
  ArrayRef<Value> toListRef() const;
  // The list itself where the value holds one, else a new list of the elements. A temporary gives its list away.
  List<Value> toList() const;
  List<int64_t> toIntList() const&;
  List<int64_t> toIntList() &&;
  List<double> toDoubleList() const&;
  List<double> toDoubleList() &&;
  List<complex<double>> toComplexDoubleList() const&;
  List<complex<double>> toComplexDoubleList() &&;
  List<bool> toBoolList() const;
  List<Tensor> toTensorList() const;
  List<std::optional<Tensor>> toOptionalTensorList() const;
  Dict<Value, Value> toGenericDict() const;
  // Streams, and the objects of scripts: cresset/graph/script/objects/object_values.h. Blobs and types: <ATen/core/ivalue.h>.
  bool isBlob() const;
  template <class T = Value> auto type() const { return type_of_value(static_cast<const T&>(*this)); }
  bool isStream() const;
  bool isObject() const;
  bool isFuture() const;
  bool isEnum() const;
  Stream toStream() const;
  intrusive_ptr<graph::script::ScriptObject> toObject() const;
  intrusive_ptr<graph::script::FutureObject> toFuture() const;
  intrusive_ptr<graph::script::EnumObject> toEnumHolder() const;
  // Adds the value, unless it is a number, and all values inside; those that share memory are one.
  class HashAliasedIValues;
  void getSubValues(HashAliasedIValues& values) const;
  // As the C++ type: numbers, tensors, strings, lists, vectors, dicts, tuples and optionals of them.
  template <class T> T to() const;
  // The object of a registered class: cresset/dispatch/custom_class.h. Errors: TypeError.
  template <class T> intrusive_ptr<T> toCustomClass() const { return to<intrusive_ptr<T>>(); }

  // As Python compares: numbers by value, lists and dicts by their elements, tensors elementwise, so that `==` of them raises unless they
  // have one element.
  Value equals(const Value& o) const;
  friend CRESSET_API bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  // Python's `is`: the same object, or the same number.
  bool is(const Value& o) const;
  bool isSameIdentity(const Value& o) const { return is(o); }
  // Sets and maps by identity, as LibTorch names them.
  struct HashIdentityIValue {
    size_t operator()(const Value& v) const { return v.identity_hash(); }
  };
  struct CompIdentityIValues {
    bool operator()(const Value& a, const Value& b) const { return a.is(b); }
  };
  size_t identity_hash() const;
  // Whether LibTorch holds such a value by a pointer, and one to what it is. Errors: it does not.
  bool isPtrType() const { return (isTensor() && to_tensor().defined()) || object() || isString() || isList() || (isGenerator() && to_generator().defined()); }
  void* internalToPointer() const;
  // The impl of a tensor, not owned. Errors: no tensor.
  TensorImpl* unsafeToTensorImpl() const { return to_tensor().unsafeGetTensorImpl(); }
  // Whether both look at some memory together, within lists and dicts too.
  bool isAliasOf(const Value& o) const;
  bool overlaps(const Value& o) const;
  uint32_t use_count() const;
  // Errors: a value that Python could not hash.
  static size_t hash(const Value& v);
  size_t hash() const { return hash(*this); }
  // A copy that shares nothing with this value, tensors included.
  Value deepcopy() const;
  // The value as one of the vectors that boxed kernels read, where it is a shared list of tensors, numbers or strings; else None.
  Value plain() const;
  std::string tagKind() const;

  const Data& data() const { return data_; }
  Data& data() { return data_; }
  const intrusive_ptr<Object>* object() const { return std::get_if<intrusive_ptr<Object>>(&data_); }
  // "a tensor", "int", "list of float": for messages.
  const char* kind() const;

 private:
  mutable Data data_;  // toListRef() puts a list of values in place of a plain one
};

using Stack = std::vector<Value>;

// [1, 2], (3,), "text" without quotes at the top, 2.-3.j: as LibTorch prints.
CRESSET_API std::ostream& operator<<(std::ostream& out, const Value& v);

// Calls `visit` for every defined tensor in the value, lists included.
template <class F> void for_each_tensor(const Value& v, F&& visit) {
  if (auto* t = std::get_if<Tensor>(&v.data())) {
    if (t->defined()) visit(*t);
  } else if (auto* list = std::get_if<std::vector<Tensor>>(&v.data())) {
    for (const Tensor& e : *list)
      if (e.defined()) visit(e);
  } else if (auto* options = std::get_if<std::vector<Value::Optional>>(&v.data())) {
    for (const auto& e : *options)
      if (e && e->defined()) visit(*e);
  } else if (CRESSET_UNLIKELY(v.object() != nullptr)) {
    const Value plain = v.plain();
    if (!plain.is_none()) for_each_tensor(plain, visit);
  }
}

// The same with each tensor replaced by what `map` makes of it.
template <class F> Value map_tensors(const Value& v, F&& map) {
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
  if (CRESSET_UNLIKELY(v.object() != nullptr)) {
    const Value plain = v.plain();
    return plain.is_none() ? v : map_tensors(plain, map);
  }
  return v;
}

}  // namespace dispatch
}  // namespace cresset

namespace std {
template <> struct hash<cresset::dispatch::Value> {
  size_t operator()(const cresset::dispatch::Value& v) const { return v.hash(); }
};
}  // namespace std
