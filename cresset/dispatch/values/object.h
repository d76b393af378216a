#pragma once
// The objects that a Value shares with others: tuples, lists, dicts and storages. List and Dict are typed handles to two of them.

#include <array>
#include <initializer_list>
#include <tuple>
#include <unordered_map>

#include "cresset/base/function_ref.h"
#include "cresset/dispatch/values/value.h"

namespace cresset::dispatch {

// The types of the elements of a list, or of the keys and values of a dict.
enum class ElementKind : uint8_t { Any, Tensor, Int, Double, Bool, Complex, String, OptionalTensor, Device, List, Dict, Tuple, Optional };

class CRESSET_API Object : public RefCounted {
 public:
  enum class Kind : uint8_t { Tuple, List, Dict, Storage, Other };

  Kind kind() const { return kind_; }
  // "tuple", "list", ...: for messages and printing.
  virtual const char* kind_name() const = 0;
  // By value; the other object is of the same kind. Objects that do not say so equal themselves alone.
  virtual Value equals(const Object& o) const { return Value(this == &o); }
  virtual size_t hash() const;
  virtual void print(std::ostream& out) const;
  // Calls `visit` for each value inside.
  virtual void for_each(FunctionRef<void(const Value&)>) const {}
  // Copies of what has been copied already, by tensor and object, so that what occurs twice is copied once.
  using Memo = std::unordered_map<const void*, Value>;
  virtual intrusive_ptr<Object> deepcopy(Memo& memo) const;

 protected:
  explicit Object(Kind kind = Kind::Other) : kind_(kind) {}

 private:
  Kind kind_;
};

class CRESSET_API TupleObject final : public Object {
 public:
  explicit TupleObject(std::vector<Value> elements) : Object(Kind::Tuple), elements_(std::move(elements)) {}
  static intrusive_ptr<TupleObject> create(std::vector<Value> elements) { return make_intrusive<TupleObject>(std::move(elements)); }
  static intrusive_ptr<TupleObject> create(std::initializer_list<Value> elements) { return create(std::vector<Value>(elements)); }
  template <class... T, class = std::enable_if_t<(sizeof...(T) > 1)>> static intrusive_ptr<TupleObject> create(T&&... elements) {
    return create(std::vector<Value>{Value(std::forward<T>(elements))...});
  }

  const std::vector<Value>& elements() const& { return elements_; }
  std::vector<Value> elements() && { return std::move(elements_); }
  size_t size() const { return elements_.size(); }
  void setElements(std::vector<Value> elements) { elements_ = std::move(elements); }
  const char* kind_name() const override { return "tuple"; }
  Value equals(const Object& o) const override;
  size_t hash() const override;
  void print(std::ostream& out) const override;
  void for_each(FunctionRef<void(const Value&)> visit) const override {
    for (const Value& v : elements_) visit(v);
  }
  intrusive_ptr<Object> deepcopy(Memo& memo) const override;

 private:
  std::vector<Value> elements_;
};

class CRESSET_API ListObject final : public Object {
 public:
  explicit ListObject(ElementKind k) : Object(Kind::List), element(k) {}

  ElementKind element;
  std::vector<Value> elements;

  const char* kind_name() const override { return "list"; }
  Value equals(const Object& o) const override;
  size_t hash() const override;
  void print(std::ostream& out) const override;
  void for_each(FunctionRef<void(const Value&)> visit) const override {
    for (const Value& v : elements) visit(v);
  }
  intrusive_ptr<Object> deepcopy(Memo& memo) const override;
};

// Keeps the order of insertion.
class CRESSET_API DictObject final : public Object {
 public:
  DictObject(ElementKind key, ElementKind value) : Object(Kind::Dict), key_kind(key), value_kind(value) {}

  ElementKind key_kind, value_kind;
  struct Entry {
    Value key, value;
  };
  // In order; `at` finds a key's place.
  std::vector<Entry> entries;
  // The place of the key, or entries.size().
  size_t at(const Value& key) const;
  // The place of the entry and whether it is new; an old one keeps its value.
  std::pair<size_t, bool> insert(Value key, Value value);
  void erase(size_t place);
  void reserve(size_t n) {
    entries.reserve(n);
    index_.reserve(n);
  }
  void clear() {
    entries.clear();
    index_.clear();
  }

  const char* kind_name() const override { return "dict"; }
  Value equals(const Object& o) const override;
  size_t hash() const override;
  void print(std::ostream& out) const override;
  void for_each(FunctionRef<void(const Value&)> visit) const override {
    for (const Entry& e : entries) {
      visit(e.key);
      visit(e.value);
    }
  }
  intrusive_ptr<Object> deepcopy(Memo& memo) const override;

 private:
  std::unordered_multimap<size_t, size_t> index_;  // hash of a key -> place
};

class CRESSET_API StorageObject final : public Object {
 public:
  explicit StorageObject(Storage s) : Object(Kind::Storage), storage(std::move(s)) {}
  Storage storage;
  const char* kind_name() const override { return "storage"; }
  Value equals(const Object& o) const override;
};

// The kind of T's values, and the T of a value. Errors: TypeError.
template <class T, class = void> struct ValueAs { static constexpr ElementKind kind = ElementKind::Any; };
#define CRESSET_VALUE_AS(T, Kind, expression)              \
  template <> struct ValueAs<T> {                          \
    static constexpr ElementKind kind = ElementKind::Kind; \
    static T get(const Value& v) { return expression; }    \
  };
CRESSET_VALUE_AS(Tensor, Tensor, v.to_tensor())
CRESSET_VALUE_AS(int64_t, Int, v.to_int())
CRESSET_VALUE_AS(int, Int, static_cast<int>(v.to_int()))
CRESSET_VALUE_AS(double, Double, v.to_double())
CRESSET_VALUE_AS(float, Double, static_cast<float>(v.to_double()))
CRESSET_VALUE_AS(bool, Bool, v.to_bool())
CRESSET_VALUE_AS(complex<double>, Complex, v.toComplexDouble())
CRESSET_VALUE_AS(std::string, String, v.to_string())
CRESSET_VALUE_AS(Device, Device, v.to_device())
CRESSET_VALUE_AS(Value, Any, v)
CRESSET_VALUE_AS(Scalar, Any, v.to_scalar())
CRESSET_VALUE_AS(ScalarType, Any, v.toScalarType())
CRESSET_VALUE_AS(Layout, Any, v.toLayout())
CRESSET_VALUE_AS(MemoryFormat, Any, v.toMemoryFormat())
CRESSET_VALUE_AS(Generator, Any, v.to_generator())
CRESSET_VALUE_AS(Storage, Any, v.toStorage())
CRESSET_VALUE_AS(SymInt, Int, v.to_int())
#undef CRESSET_VALUE_AS
template <> struct ValueAs<std::optional<Tensor>> {
  static constexpr ElementKind kind = ElementKind::OptionalTensor;
  static std::optional<Tensor> get(const Value& v) { return v.is_none() ? std::nullopt : std::optional<Tensor>(v.to_tensor()); }
};
template <class T> struct ValueAs<std::optional<T>> {
  static constexpr ElementKind kind = ElementKind::Optional;
  static std::optional<T> get(const Value& v) { return v.is_none() ? std::nullopt : std::optional<T>(ValueAs<T>::get(v)); }
};
template <class... T> struct ValueAs<std::tuple<T...>> {
  static constexpr ElementKind kind = ElementKind::Tuple;
  static std::tuple<T...> get(const Value& v) { return all(v.toTupleRef().elements(), std::index_sequence_for<T...>()); }

 private:
  template <size_t... I> static std::tuple<T...> all(const std::vector<Value>& elements, std::index_sequence<I...>) {
    CRESSET_CHECK_TYPE(elements.size() == sizeof...(T), "tuple: expected ", sizeof...(T), " elements, got ", elements.size());
    return {ValueAs<T>::get(elements[I])...};
  }
};
template <class T> struct ValueAs<std::vector<T>> {
  static constexpr ElementKind kind = ElementKind::List;
  static std::vector<T> get(const Value& v) {
    std::vector<T> out;
    for (const Value& e : v.toListVector()) out.push_back(ValueAs<T>::get(e));
    return out;
  }
};
template <class T, size_t N> struct ValueAs<std::array<T, N>> {
  static constexpr ElementKind kind = ElementKind::List;
  static std::array<T, N> get(const Value& v) {
    const std::vector<Value> elements = v.toListVector();
    CRESSET_CHECK_TYPE(elements.size() == N, "array: expected a list of ", N, " elements, got ", elements.size());
    std::array<T, N> out;
    for (size_t i = 0; i < N; i++) out[i] = ValueAs<T>::get(elements[i]);
    return out;
  }
};

template <class T> T Value::to() const { return ValueAs<T>::get(*this); }
template <class... T> Value::Value(const std::tuple<T...>& v)
    : Value(std::apply([](const T&... e) { return TupleObject::create(std::vector<Value>{Value(e)...}); }, v)) {}

}  // namespace cresset::dispatch
