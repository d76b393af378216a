#pragma once
#include "torch/detail/tensor.h"
namespace c10 {
namespace detail {
template <class T> using intrusive_target_default_null_type = cresset::detail::NullTarget<T>;
}

// As another class; the dynamic one points to nothing where the object is of none such.
template <class To, class From> intrusive_ptr<To> static_intrusive_pointer_cast(intrusive_ptr<From> p) noexcept {
  return intrusive_ptr<To>::reclaim(static_cast<To*>(p.release()));
}
template <class To, class From> intrusive_ptr<To> dynamic_intrusive_pointer_cast(intrusive_ptr<From> p) noexcept {
  To* object = dynamic_cast<To*>(p.get());
  if (object) p.release();
  return intrusive_ptr<To>::reclaim(object);
}

// References that a program counts by hand, for objects that pass through C.
namespace raw {
namespace intrusive_ptr {
template <class T> void incref(T* object) {
  if (object) object->retain();
}
template <class T> void decref(T* object) {
  if (object) object->release();
}
template <class T> T* make_weak(T* object) {
  if (object) object->retain_weak();
  return object;
}
template <class T> uint32_t use_count(T* object) { return object ? object->use_count() : 0; }
}  // namespace intrusive_ptr
namespace weak_intrusive_ptr {
template <class T> void incref(T* object) { intrusive_ptr::make_weak(object); }
template <class T> void decref(T* object) {
  if (object) object->release_weak();
}
template <class T> T* lock(T* object) { return object && object->try_retain() ? object : nullptr; }
template <class T> uint32_t use_count(T* object) { return object ? object->weak_use_count() : 0; }
}  // namespace weak_intrusive_ptr
}  // namespace raw
}  // namespace c10
