#pragma once
// Objects, futures and enums of scripts as values hold them, and the values inside a value.

#include <unordered_set>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/stream_value.h"
#include "cresset/graph/script/unit.h"

namespace cresset::dispatch {

namespace detail {
template <class T> T* other_object(const Value& v) {
  return v.object() && (*v.object())->kind() == Object::Kind::Other ? dynamic_cast<T*>(v.object()->get()) : nullptr;
}
template <class T> intrusive_ptr<T> shared_object(const Value& v, const char* expected) {
  T* const object = other_object<T>(v);
  CRESSET_CHECK_TYPE(object != nullptr, "value: expected ", expected, ", got ", v.kind());
  return intrusive_ptr<T>::share(object);
}
}  // namespace detail

inline bool Value::isObject() const { return detail::other_object<graph::script::ScriptObject>(*this); }
inline bool Value::isFuture() const { return detail::other_object<graph::script::FutureObject>(*this); }
inline bool Value::isEnum() const { return detail::other_object<graph::script::EnumObject>(*this); }
inline intrusive_ptr<graph::script::ScriptObject> Value::toObject() const {
  return detail::shared_object<graph::script::ScriptObject>(*this, "an object of a class");
}
inline intrusive_ptr<graph::script::FutureObject> Value::toFuture() const { return detail::shared_object<graph::script::FutureObject>(*this, "a future"); }
inline intrusive_ptr<graph::script::EnumObject> Value::toEnumHolder() const {
  return detail::shared_object<graph::script::EnumObject>(*this, "a member of an enum");
}

// Values by the memory that they share.
struct SharedMemoryHash {
  size_t operator()(const Value& v) const {
    if (!v.isTensor()) return v.identity_hash();
    const Tensor& t = v.to_tensor();
    if (!t.defined()) return 0;
    return t.has_storage() ? std::hash<const void*>()(t.storage().unsafeGetStorageImpl()) : 1;
  }
};
struct SharedMemoryEqual {
  bool operator()(const Value& a, const Value& b) const { return a.is(b) || a.isAliasOf(b); }
};
class Value::HashAliasedIValues : public std::unordered_set<Value, SharedMemoryHash, SharedMemoryEqual> {};

inline void Value::getSubValues(HashAliasedIValues& values) const {
  if (!isPtrType() && !isList()) return;
  if (!values.insert(*this).second) return;
  if (isList()) {
    for (const Value& v : toListVector()) v.getSubValues(values);
  } else if (object()) {
    (*object())->for_each([&](const Value& v) { v.getSubValues(values); });
  }
}

}  // namespace cresset::dispatch
