#pragma once
// Reference counting inside the object, with weak references.

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <utility>
#include "cresset/base/std_function.h"

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
    // No other thread can reach the object: no atomic change is needed. With a weak reference about, one may be made strong meanwhile.
    const bool sole = strong_.load(std::memory_order_acquire) == 1 && weak_.load(std::memory_order_acquire) == 1;
    if (sole || strong_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  void retain_weak() const { weak_.fetch_add(1, std::memory_order_relaxed); }
  void release_weak() const {
    if (weak_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // A strong reference if one still exists elsewhere. Who learns that there is none sees what the last owners did.
  bool try_retain() const {
    uint32_t n = strong_.load(std::memory_order_acquire);
    while ((n & ~kUnclaimed) != 0)
      if (strong_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  // Who learns that it is the only owner may write where others have read.
  uint32_t use_count() const { return strong_.load(std::memory_order_acquire) & ~kUnclaimed; }
  uint32_t weak_use_count() const { return weak_.load(std::memory_order_acquire); }

  // The object came from `new`, and its first reference has an owner from now on. Others, on the stack say, are never deleted.
  void claim() const { strong_.store(1, std::memory_order_relaxed); }
  // For objects that live elsewhere than in memory of `new`: no number of dropped references deletes them.
  void keep_forever() const { strong_.store(kUnclaimed | (kUnclaimed >> 1), std::memory_order_relaxed); }
  bool is_claimed() const { return (strong_.load(std::memory_order_relaxed) & kUnclaimed) == 0; }

 protected:
  // Drops what the object owns when the last strong reference goes while weak ones remain.
  virtual void release_resources() {}

 private:
  static constexpr uint32_t kUnclaimed = 1u << 31;

  void destroy() const {
    // With no weak reference outside, nothing else can reach the object any more.
    if (weak_.load(std::memory_order_acquire) == 1) {
      delete this;
      return;
    }
    strong_.store(0, std::memory_order_release);
    const_cast<RefCounted*>(this)->release_resources();
    release_weak();
  }

  mutable std::atomic<uint32_t> strong_{kUnclaimed | 1};
  mutable std::atomic<uint32_t> weak_{1};
};

namespace detail {
// The pointer that stands for "no object".
template <class T> struct NullTarget {
  static constexpr T* singleton() noexcept { return nullptr; }
};
[[noreturn]] CRESSET_API void throw_unclaimed();
// Errors, where assertions are on: the object was never owned by an intrusive_ptr.
inline void check_claimed([[maybe_unused]] const RefCounted* object) {
#ifndef NDEBUG
  if (object && !object->is_claimed()) throw_unclaimed();
#endif
}
}  // namespace detail

template <class T, class Null = detail::NullTarget<T>> class intrusive_ptr {
 public:
  using element_type = T;
  constexpr intrusive_ptr() noexcept = default;
  constexpr intrusive_ptr(std::nullptr_t) noexcept {}
  intrusive_ptr(const intrusive_ptr& o) : p_(o.p_) { retain(); }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, Null::singleton())) {}
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> intrusive_ptr(const intrusive_ptr<U, N>& o)
      : p_(o.defined() ? o.get() : Null::singleton()) {
    retain();
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> intrusive_ptr(intrusive_ptr<U, N>&& o) noexcept
      : p_(o.defined() ? o.release() : Null::singleton()) {}
  // Takes over what a std::unique_ptr owns.
  template <class P, class = std::enable_if_t<std::is_convertible<typename P::pointer, T*>::value>, class = typename P::deleter_type>
  explicit intrusive_ptr(P&& unique) : intrusive_ptr(unsafe_steal_from_new(unique.release())) {}
  ~intrusive_ptr() { drop(); }
  intrusive_ptr& operator=(const intrusive_ptr& o) & {
    intrusive_ptr(o).swap(*this);
    return *this;
  }
  intrusive_ptr& operator=(intrusive_ptr&& o) & noexcept {
    intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> intrusive_ptr& operator=(const intrusive_ptr<U, N>& o) & {
    intrusive_ptr(o).swap(*this);
    return *this;
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> intrusive_ptr& operator=(intrusive_ptr<U, N>&& o) & noexcept {
    intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }

  template <class... Args> static intrusive_ptr make(Args&&... args) { return unsafe_steal_from_new(new T(std::forward<Args>(args)...)); }
  // Owns an object that `new` has just made.
  static intrusive_ptr unsafe_steal_from_new(T* p) {
    if (p) p->claim();
    return adopt(p);
  }
  // Takes over a reference that the caller owns, as `release` gave it.
  static intrusive_ptr reclaim(T* p) {
    detail::check_claimed(p == Null::singleton() ? nullptr : p);
    return adopt(p);
  }
  // Adds a reference.
  static intrusive_ptr share(T* p) {
    if (p != Null::singleton()) p->retain();
    return adopt(p);
  }
  static intrusive_ptr reclaim_copy(T* p) { return share(p); }
  // For programs that keep nodes of the graph as LibTorch's did before 2.10: the std::shared_ptr holds one reference.
  template <class U, class = std::enable_if_t<std::is_convertible<T*, U*>::value>> operator std::shared_ptr<U>() const {
    return std::shared_ptr<U>(defined() ? get() : nullptr, [kept = *this](U*) {});
  }
  static intrusive_ptr unsafe_reclaim_from_nonowning(T* p) { return share(p); }
  // A pointer to an object that is never deleted.
  static intrusive_ptr unsafe_adapt_non_heap_allocated(T* p, uint32_t) {
    p->keep_forever();
    return adopt(p);
  }
  T* release() noexcept { return std::exchange(p_, Null::singleton()); }
  void reset() noexcept { intrusive_ptr().swap(*this); }
  void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }

  T* get() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  T* operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return defined(); }
  bool defined() const noexcept { return p_ != Null::singleton(); }
  uint32_t use_count() const noexcept { return defined() ? p_->use_count() : 0; }
  uint32_t weak_use_count() const noexcept { return defined() ? p_->weak_use_count() : 0; }
  bool unique() const noexcept { return use_count() == 1; }
  bool is_uniquely_owned() const noexcept { return unique(); }

 private:
  static intrusive_ptr adopt(T* p) {
    intrusive_ptr r;
    r.p_ = p;
    return r;
  }
  void retain() const {
    if (defined()) p_->retain();
  }
  void drop() const {
    if (defined()) p_->release();
  }

  T* p_ = Null::singleton();
};

template <class T, class Null = detail::NullTarget<T>, class... Args> intrusive_ptr<T, Null> make_intrusive(Args&&... args) {
  return intrusive_ptr<T, Null>::make(std::forward<Args>(args)...);
}

template <class T, class Null = detail::NullTarget<T>> class weak_intrusive_ptr {
 public:
  using element_type = T;
  weak_intrusive_ptr() = default;
  weak_intrusive_ptr(const intrusive_ptr<T, Null>& o) : p_(o.get()) { retain(); }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> weak_intrusive_ptr(const intrusive_ptr<U, N>& o)
      : p_(o.defined() ? o.get() : Null::singleton()) {
    retain();
  }
  weak_intrusive_ptr(const weak_intrusive_ptr& o) : p_(o.p_) { retain(); }
  weak_intrusive_ptr(weak_intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, Null::singleton())) {}
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> weak_intrusive_ptr(const weak_intrusive_ptr<U, N>& o)
      : p_(o.defined() ? o.unsafe_get() : Null::singleton()) {
    retain();
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> weak_intrusive_ptr(weak_intrusive_ptr<U, N>&& o) noexcept
      : p_(o.defined() ? o.release() : Null::singleton()) {}
  ~weak_intrusive_ptr() {
    if (defined()) p_->release_weak();
  }
  weak_intrusive_ptr& operator=(const weak_intrusive_ptr& o) & {
    weak_intrusive_ptr(o).swap(*this);
    return *this;
  }
  weak_intrusive_ptr& operator=(weak_intrusive_ptr&& o) & noexcept {
    weak_intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>> weak_intrusive_ptr& operator=(const weak_intrusive_ptr<U, N>& o) & {
    weak_intrusive_ptr(o).swap(*this);
    return *this;
  }
  template <class U, class N, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  weak_intrusive_ptr& operator=(weak_intrusive_ptr<U, N>&& o) & noexcept {
    weak_intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }

  // Takes over a weak reference that the caller owns, as `release` gave it.
  static weak_intrusive_ptr reclaim(T* p) {
    detail::check_claimed(p == Null::singleton() ? nullptr : p);
    weak_intrusive_ptr r;
    r.p_ = p;
    return r;
  }
  // Adds a weak reference.
  static weak_intrusive_ptr reclaim_copy(T* p) {
    weak_intrusive_ptr r;
    r.p_ = p;
    r.retain();
    return r;
  }
  T* release() noexcept { return std::exchange(p_, Null::singleton()); }
  void reset() noexcept { weak_intrusive_ptr().swap(*this); }
  void swap(weak_intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }

  intrusive_ptr<T, Null> lock() const noexcept { return defined() && p_->try_retain() ? intrusive_ptr<T, Null>::reclaim(p_) : intrusive_ptr<T, Null>(); }
  bool defined() const noexcept { return p_ != Null::singleton(); }
  uint32_t use_count() const noexcept { return defined() ? p_->use_count() : 0; }
  uint32_t weak_use_count() const noexcept { return defined() ? p_->weak_use_count() : 0; }
  bool expired() const noexcept { return use_count() == 0; }
  T* unsafe_get() const noexcept { return p_; }
  T* _unsafe_get_target() const noexcept { return p_; }

 private:
  void retain() const {
    if (defined()) p_->retain_weak();
  }

  T* p_ = Null::singleton();
};

template <class T, class N> void swap(intrusive_ptr<T, N>& a, intrusive_ptr<T, N>& b) noexcept { a.swap(b); }
template <class T, class N> void swap(weak_intrusive_ptr<T, N>& a, weak_intrusive_ptr<T, N>& b) noexcept { a.swap(b); }

template <class T, class N, class U, class M> bool operator==(const intrusive_ptr<T, N>& a, const intrusive_ptr<U, M>& b) noexcept {
  return a.get() == b.get();
}
template <class T, class N, class U, class M> bool operator!=(const intrusive_ptr<T, N>& a, const intrusive_ptr<U, M>& b) noexcept {
  return a.get() != b.get();
}
template <class T, class N, class U, class M> bool operator<(const intrusive_ptr<T, N>& a, const intrusive_ptr<U, M>& b) noexcept { return a.get() < b.get(); }
template <class T, class N> bool operator==(const intrusive_ptr<T, N>& a, std::nullptr_t) noexcept { return a.get() == nullptr; }
template <class T, class N> bool operator==(std::nullptr_t, const intrusive_ptr<T, N>& a) noexcept { return a.get() == nullptr; }
template <class T, class N> bool operator!=(const intrusive_ptr<T, N>& a, std::nullptr_t) noexcept { return a.get() != nullptr; }
template <class T, class N> bool operator!=(std::nullptr_t, const intrusive_ptr<T, N>& a) noexcept { return a.get() != nullptr; }
template <class T, class N, class U, class M> bool operator==(const weak_intrusive_ptr<T, N>& a, const weak_intrusive_ptr<U, M>& b) noexcept {
  return a.unsafe_get() == b.unsafe_get();
}
template <class T, class N, class U, class M> bool operator!=(const weak_intrusive_ptr<T, N>& a, const weak_intrusive_ptr<U, M>& b) noexcept {
  return a.unsafe_get() != b.unsafe_get();
}
template <class T, class N, class U, class M> bool operator<(const weak_intrusive_ptr<T, N>& a, const weak_intrusive_ptr<U, M>& b) noexcept {
  return a.unsafe_get() < b.unsafe_get();
}

// The address.
template <class T, class N> std::ostream& operator<<(std::ostream& out, const intrusive_ptr<T, N>& p) { return out << p.get(); }

}  // namespace cresset

namespace std {
template <class T, class N> struct hash<cresset::intrusive_ptr<T, N>> {
  size_t operator()(const cresset::intrusive_ptr<T, N>& p) const noexcept { return hash<T*>()(p.get()); }
};
template <class T, class N> struct hash<cresset::weak_intrusive_ptr<T, N>> {
  size_t operator()(const cresset::weak_intrusive_ptr<T, N>& p) const noexcept { return hash<T*>()(p.unsafe_get()); }
};
}  // namespace std
