#pragma once
// One object of any type, owned or not.

#include <memory>
#include <typeinfo>

#include "torch/detail/containers.h"
#include "torch/detail/macros.h"

namespace caffe2 {

class Blob final : public cresset::dispatch::Object {
 public:
  const char* kind_name() const override { return "blob"; }
  template <class T> bool IsType() const { return type_ && *type_ == typeid(T); }
  const char* TypeName() const { return type_ ? type_->name() : "nullptr (uninitialized)"; }
  // Errors: it holds another type, or nothing.
  template <class T> const T& Get() const {
    TORCH_CHECK(IsType<T>(), "blob: expected an object of type ", typeid(T).name(), ", got ", TypeName());
    return *static_cast<const T*>(object_.get());
  }
  // The object, made anew where it is of another type.
  template <class T> T* GetMutable() { return IsType<T>() ? static_cast<T*>(object_.get()) : Reset(new T()); }
  template <class T> T* GetMutableOrNull() { return IsType<T>() ? static_cast<T*>(object_.get()) : nullptr; }
  const void* GetRaw() const { return object_.get(); }
  // Owns the object from now on.
  template <class T> T* Reset(T* object) {
    object_ = std::shared_ptr<T>(object);
    type_ = &typeid(T);
    return object;
  }
  void Reset() {
    object_.reset();
    type_ = nullptr;
  }
  // Without owning it.
  template <class T> T* ShareExternal(T* object) {
    object_ = std::shared_ptr<void>(std::shared_ptr<void>(), object);
    type_ = &typeid(T);
    return object;
  }
  void swap(Blob& o) {
    object_.swap(o.object_);
    std::swap(type_, o.type_);
  }

 private:
  std::shared_ptr<void> object_;
  const std::type_info* type_ = nullptr;
};
inline void swap(Blob& a, Blob& b) { a.swap(b); }

}  // namespace caffe2

namespace cresset::dispatch {
inline bool Value::isBlob() const { return object() && dynamic_cast<const caffe2::Blob*>(object()->get()); }
}  // namespace cresset::dispatch
