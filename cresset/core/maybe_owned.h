#pragma once
// A tensor or pointer that is owned or only looked at; which one, is decided at run time.

#include <utility>

#include "cresset/core/tensor.h"

namespace cresset {

// How a T is looked at without a reference of its own.
template <class T> struct MaybeOwnedTraits {
  using owned_type = T;
  using borrow_type = const T*;
  static borrow_type createBorrow(const T& from) { return &from; }
  static void assignBorrow(borrow_type& left, borrow_type right) { left = right; }
  static void destroyBorrow(borrow_type&) {}
  static const T& referenceFromBorrow(const borrow_type& b) { return *b; }
  static const T* pointerFromBorrow(const borrow_type& b) { return b; }
  static bool debugBorrowIsValid(const borrow_type& b) { return b != nullptr; }
};

template <class T> class MaybeOwned {
  using Traits = MaybeOwnedTraits<T>;

 public:
  // Looks at nothing.
  MaybeOwned() = default;
  static MaybeOwned borrowed(const T& from) { return MaybeOwned(Traits::createBorrow(from)); }
  static MaybeOwned owned(T&& value) noexcept(std::is_nothrow_move_constructible<T>::value) { return MaybeOwned(std::move(value), 0); }
  template <class... Args> static MaybeOwned owned(std::in_place_t, Args&&... args) { return MaybeOwned(T(std::forward<Args>(args)...), 0); }
  MaybeOwned(const MaybeOwned& o) = default;
  MaybeOwned(MaybeOwned&& o) noexcept : borrow_(std::exchange(o.borrow_, nullptr)), own_(std::move(o.own_)) { o.own_.reset(); }
  MaybeOwned& operator=(const MaybeOwned& o) = default;
  MaybeOwned& operator=(MaybeOwned&& o) noexcept {
    if (this == &o) return *this;
    borrow_ = std::exchange(o.borrow_, nullptr);
    own_ = std::move(o.own_);
    o.own_.reset();
    return *this;
  }

  const T& operator*() const& { return own_ ? *own_ : Traits::referenceFromBorrow(borrow_); }
  const T* operator->() const { return own_ ? &*own_ : Traits::pointerFromBorrow(borrow_); }
  // The owned object, or a copy of what is looked at.
  T operator*() && {
    if (own_) return std::move(*own_);
    return Traits::referenceFromBorrow(borrow_);
  }
  bool unsafeIsBorrowed() const { return !own_; }

 private:
  explicit MaybeOwned(typename Traits::borrow_type borrow) : borrow_(borrow) {}
  MaybeOwned(T&& value, int) : own_(std::move(value)) {}

  typename Traits::borrow_type borrow_ = nullptr;
  std::optional<T> own_;
};

// Owns a tensor that nothing else may hold. Undefined once it has been released.
template <class T> class ExclusivelyOwned {
 public:
  ExclusivelyOwned() = default;
  explicit ExclusivelyOwned(T&& value) : value_(std::move(value)) {}
  template <class... Args> explicit ExclusivelyOwned(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}
  ExclusivelyOwned(const ExclusivelyOwned&) = delete;
  ExclusivelyOwned(ExclusivelyOwned&&) noexcept = default;
  ExclusivelyOwned& operator=(const ExclusivelyOwned&) = delete;
  ExclusivelyOwned& operator=(ExclusivelyOwned&&) noexcept = default;
  ExclusivelyOwned& operator=(T&& value) {
    value_ = std::move(value);
    return *this;
  }
  // The owner must not own more than the object itself from now on.
  T take() && { return std::move(value_); }
  explicit operator bool() const noexcept { return value_.defined(); }
  T* get() { return &value_; }
  const T* get() const { return &value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }

 private:
  T value_;
};

inline MaybeOwned<Tensor> Tensor::expect_contiguous(MemoryFormat format) const& {
  return is_contiguous(format) ? MaybeOwned<Tensor>::borrowed(*this) : MaybeOwned<Tensor>::owned(contiguous(format));
}

}  // namespace cresset
