#pragma once
// Parameters and results that Values hold as lists, dicts, tuples and other objects.

#include "cresset/dispatch/boxing.h"
#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dispatch/values/object.h"

namespace cresset::dispatch {

template <class T, class Derived> struct UnboxObject {
  using Holder = T;
  static constexpr size_t values = 1;
  static T hold(Value* v) { return v->template to<T>(); }
  static T get(T& h) { return h; }
  static Type type() { return Derived::schema_type(); }
};

namespace detail {
template <class K, class V> Type dict_type() { return type_of_text("Dict(" + type_name(Unbox<K>::type()) + ", " + type_name(Unbox<V>::type()) + ")"); }
}  // namespace detail

template <class T> struct Unbox<List<T>> : UnboxObject<List<T>, Unbox<List<T>>> {
  static Type schema_type() { return list_of(Unbox<T>::type()); }
};
template <class K, class V> struct Unbox<Dict<K, V>> : UnboxObject<Dict<K, V>, Unbox<Dict<K, V>>> {
  static Type schema_type() { return detail::dict_type<K, V>(); }
};
template <class K, class V> struct Unbox<std::unordered_map<K, V>> {
  using Holder = std::unordered_map<K, V>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) {
    Holder map;
    for (const auto& entry : v->to<Dict<K, V>>()) map.emplace(entry.key(), entry.value());
    return map;
  }
  static Holder get(Holder& h) { return h; }
  static Type type() { return detail::dict_type<K, V>(); }
};
template <class T, size_t N> struct Unbox<std::array<T, N>> : UnboxObject<std::array<T, N>, Unbox<std::array<T, N>>> {
  static Type schema_type() {
    Type t = list_of(Unbox<T>::type());
    t.list_size = static_cast<int>(N);
    return t;
  }
};
template <class... T> struct Unbox<std::tuple<T...>> : UnboxObject<std::tuple<T...>, Unbox<std::tuple<T...>>> {
  static Type schema_type() {
    std::string text = "(";
    ((text += (text.size() > 1 ? ", " : "") + type_name(Unbox<T>::type())), ...);
    return type_of_text(text + ")");
  }
};
// Lists of what has no list of its own among the values.
template <class T> struct Unbox<ArrayRef<T>> {
  using Holder = std::vector<T>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return v->template to<std::vector<T>>(); }
  static ArrayRef<T> get(Holder& h) { return h; }
  static Type type() { return list_of(Unbox<T>::type()); }
};
template <> struct Unbox<ArrayRef<SymInt>> {
  using Holder = std::vector<SymInt>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) {
    const std::vector<int64_t> list = v->to_int_list();
    return Holder(list.begin(), list.end());
  }
  static ArrayRef<SymInt> get(Holder& h) { return h; }
  static Type type() { return list_of(Unbox<int64_t>::type()); }
};
template <> struct Unbox<SymInt> : UnboxOne<SymInt, int64_t, TypeKind::Int, &Value::to_int> {};
template <> struct Unbox<complex<double>> {
  using Holder = complex<double>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return v->to_scalar().toComplexDouble(); }
  static Holder get(Holder& h) { return h; }
  static Type type() {
    Type t;
    t.kind = kComplexType;
    return t;
  }
};
template <> struct Unbox<Storage> {
  using Holder = Storage;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return v->toStorage(); }
  static Holder get(Holder& h) { return h; }
  static Type type() { return type_of_text("Storage"); }
};
// Anything.
template <> struct Unbox<Value> {
  using Holder = Value;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return *v; }
  static Value get(Holder& h) { return h; }
  static Type type() { return type_of_text("Any"); }
};

// Each element of the list as a value of its own.
template <class T> void push_list_elements(Stack& stack, const List<T>& elements) {
  for (size_t i = 0; i < elements.size(); i++) stack.emplace_back(elements.get(i));
}
inline void push_value(Stack& stack, ArrayRef<SymInt> v) { stack.emplace_back(std::vector<int64_t>(v.begin(), v.end())); }

}  // namespace cresset::dispatch
