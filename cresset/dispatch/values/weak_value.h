#pragma once
// A value that does not keep its tensor or object alive.

#include "cresset/dispatch/values/object.h"

namespace cresset::dispatch {

class WeakValue {
 public:
  WeakValue() = default;
  WeakValue(const Value& v) {
    if (const Tensor* t = std::get_if<Tensor>(&v.data())) tensor_ = t->getIntrusivePtr(), kind_ = Kind::Tensor;
    else if (const auto* o = v.object()) object_ = *o, kind_ = Kind::Object;
    else plain_ = v;
  }
  // None where what it stood for is gone.
  Value lock() const {
    if (kind_ == Kind::Plain) return plain_;
    if (kind_ == Kind::Tensor) {
      auto t = tensor_.lock();
      return t ? Value(Tensor(std::move(t))) : Value();
    }
    auto o = object_.lock();
    return o ? Value(std::move(o)) : Value();
  }
  size_t use_count() const { return kind_ == Kind::Plain ? 1 : kind_ == Kind::Tensor ? tensor_.use_count() : object_.use_count(); }
  size_t weak_use_count() const { return kind_ == Kind::Plain ? 1 : kind_ == Kind::Tensor ? tensor_.weak_use_count() : object_.weak_use_count(); }
  bool isSameIdentity(const WeakValue& o) const {
    return kind_ == o.kind_ && tensor_ == o.tensor_ && object_ == o.object_ && (kind_ != Kind::Plain || plain_.is(o.plain_));
  }
  size_t hash() const {
    return kind_ == Kind::Plain    ? plain_.hash()
           : kind_ == Kind::Tensor ? std::hash<const void*>()(tensor_.unsafe_get())
                                   : std::hash<const void*>()(object_.unsafe_get());
  }

 private:
  enum class Kind : uint8_t { Plain, Tensor, Object };
  weak_intrusive_ptr<TensorImpl> tensor_;
  weak_intrusive_ptr<Object> object_;
  Value plain_;
  Kind kind_ = Kind::Plain;
};

}  // namespace cresset::dispatch
