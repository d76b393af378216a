#pragma once
// Reference counting inside the object, with weak references.

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "cresset/base/macros.h"

namespace cresset {

// Base of everything held by intrusive_ptr. All strong references together hold one weak reference.
class CRESSET_API RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) : RefCounted() {}
  RefCounted& operator=(const RefCounted&) { return *this; }
  virtual ~RefCounted() = default;

  void retain() const { strong_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    // Nobody else can reach the object: no atomic change is needed. With a weak reference about, one may be made strong meanwhile.
    const bool sole = strong_.load(std::memory_order_acquire) == 1 && weak_.load(std::memory_order_acquire) == 1;
    if (sole || strong_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  void retain_weak() const { weak_.fetch_add(1, std::memory_order_relaxed); }
  void release_weak() const {
    if (weak_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // A strong reference if one still exists elsewhere.
  bool try_retain() const {
    uint32_t n = strong_.load(std::memory_order_relaxed);
    while (n != 0)
      if (strong_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  uint32_t use_count() const { return strong_.load(std::memory_order_relaxed); }
  uint32_t weak_use_count() const { return weak_.load(std::memory_order_relaxed); }

 protected:
  // Drops what the object owns when the last strong reference goes while weak ones remain.
  virtual void release_resources() {}

 private:
  void destroy() const {
    // With no weak reference outside nobody else can reach the object any more.
    if (weak_.load(std::memory_order_acquire) == 1) {
      delete this;
      return;
    }
    strong_.store(0, std::memory_order_release);
    const_cast<RefCounted*>(this)->release_resources();
    release_weak();
  }

  mutable std::atomic<uint32_t> strong_{1};
  mutable std::atomic<uint32_t> weak_{1};
};

template <class T>
class intrusive_ptr {
 public:
  using element_type = T;
  constexpr intrusive_ptr() = default;
  constexpr intrusive_ptr(std::nullptr_t) {}
  intrusive_ptr(const intrusive_ptr& o) : p_(o.p_) { if (p_) p_->retain(); }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  intrusive_ptr(const intrusive_ptr<U>& o) : p_(o.get()) { if (p_) p_->retain(); }
  template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  intrusive_ptr(intrusive_ptr<U>&& o) noexcept : p_(o.release()) {}
  ~intrusive_ptr() { if (p_) p_->release(); }
  intrusive_ptr& operator=(intrusive_ptr o) noexcept { std::swap(p_, o.p_); return *this; }

  // Takes over a reference that the caller owns.
  static intrusive_ptr reclaim(T* p) { intrusive_ptr r; r.p_ = p; return r; }
  // Adds a reference.
  static intrusive_ptr share(T* p) { if (p) p->retain(); return reclaim(p); }
  T* release() noexcept { return std::exchange(p_, nullptr); }
  void reset() { intrusive_ptr().swap(*this); }
  void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }

  T* get() const { return p_; }
  T& operator*() const { return *p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool defined() const { return p_ != nullptr; }
  uint32_t use_count() const { return p_ ? p_->use_count() : 0; }
  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) { return a.p_ == b.p_; }
  friend bool operator!=(const intrusive_ptr& a, const intrusive_ptr& b) { return a.p_ != b.p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
intrusive_ptr<T> make_intrusive(Args&&... args) {
  return intrusive_ptr<T>::reclaim(new T(std::forward<Args>(args)...));
}

template <class T>
class weak_intrusive_ptr {
 public:
  weak_intrusive_ptr() = default;
  weak_intrusive_ptr(const intrusive_ptr<T>& o) : p_(o.get()) { if (p_) p_->retain_weak(); }
  weak_intrusive_ptr(const weak_intrusive_ptr& o) : p_(o.p_) { if (p_) p_->retain_weak(); }
  weak_intrusive_ptr(weak_intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~weak_intrusive_ptr() { if (p_) p_->release_weak(); }
  weak_intrusive_ptr& operator=(weak_intrusive_ptr o) noexcept { std::swap(p_, o.p_); return *this; }
  intrusive_ptr<T> lock() const { return p_ && p_->try_retain() ? intrusive_ptr<T>::reclaim(p_) : intrusive_ptr<T>(); }
  bool expired() const { return !p_ || p_->use_count() == 0; }
  T* unsafe_get() const { return p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace cresset

namespace std {
template <class T> struct hash<cresset::intrusive_ptr<T>> {
  size_t operator()(const cresset::intrusive_ptr<T>& p) const noexcept { return hash<T*>()(p.get()); }
};
}  // namespace std
