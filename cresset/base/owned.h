#pragma once
// Owned: what std::unique_ptr is to its owner, for the members of headers that reach everything: it costs the compiler a thirtieth.

#include <type_traits>
#include <utility>

namespace cresset {

template <class T> class Owned {
 public:
  constexpr Owned() noexcept = default;
  explicit Owned(T* fresh) noexcept : object_(fresh) {}
  template <class U, class = std::enable_if_t<__is_base_of(T, U)>> Owned(Owned<U> o) noexcept : object_(o.release()) {}
  Owned(Owned&& o) noexcept : object_(o.release()) {}
  Owned& operator=(Owned&& o) noexcept {
    T* const old = object_;
    object_ = o.release();
    if (old != object_) delete old;
    return *this;
  }
  ~Owned() { delete object_; }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  T* release() noexcept {
    T* const object = object_;
    object_ = nullptr;
    return object;
  }
  void reset() noexcept { delete release(); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args> Owned<T> make_owned(Args&&... args) { return Owned<T>(new T(std::forward<Args>(args)...)); }

}  // namespace cresset
