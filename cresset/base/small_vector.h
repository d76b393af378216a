#pragma once
// A vector whose first N elements live inside the object.

#include <algorithm>
#include <initializer_list>
#include <new>
#include <utility>

#include "cresset/base/array_ref.h"

namespace cresset {

template <class T, unsigned N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(size_t n, const T& value) { resize(n, value); }
  SmallVector(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  SmallVector(ArrayRef<T> list) { append(list.begin(), list.end()); }
  template <class It, class = decltype(*std::declval<It>()), class = std::enable_if_t<!std::is_integral<It>::value>>
  SmallVector(It first, It last) { append(first, last); }
  SmallVector(const SmallVector& o) { append(o.begin(), o.end()); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  ~SmallVector() {
    destroy(0);
    if (data_ != inline_data()) ::operator delete(data_);
  }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) { clear(); append(o.begin(), o.end()); }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      destroy(0);
      if (data_ != inline_data()) ::operator delete(data_);
      reset();
      take(o);
    }
    return *this;
  }
  SmallVector& operator=(ArrayRef<T> list) {
    SmallVector copy(list);
    return *this = std::move(copy);
  }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T copy(std::forward<Args>(args)...);
      grow(capacity_ * 2);
      return *new (data_ + size_++) T(std::move(copy));
    }
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() { destroy(0); }
  void reserve(size_t n) { if (n > capacity_) grow(n); }
  void resize(size_t n) { resize(n, T()); }
  void resize(size_t n, const T& value) {
    if (n < size_) return destroy(n);
    reserve(n);
    while (size_ < n) new (data_ + size_++) T(value);
  }
  void assign(size_t n, const T& value) { const T copy = value; clear(); resize(n, copy); }
  template <class It>
  void append(It first, It last) {
    reserve(size_ + static_cast<size_t>(last - first));
    for (; first != last; ++first) new (data_ + size_++) T(*first);
  }
  T* insert(T* where, const T& value) {
    const size_t at = static_cast<size_t>(where - data_);
    emplace_back(value);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(T* where) {
    std::move(where + 1, end(), where);
    pop_back();
    return where;
  }
  friend bool operator==(const SmallVector& a, const SmallVector& b) { return ArrayRef<T>(a).equals(b); }
  friend bool operator!=(const SmallVector& a, const SmallVector& b) { return !(a == b); }

 private:
  T* inline_data() { return reinterpret_cast<T*>(storage_); }
  void reset() { data_ = inline_data(); size_ = 0; capacity_ = N; }
  void destroy(size_t from) {
    while (size_ > from) data_[--size_].~T();
  }
  void take(SmallVector& o) noexcept {
    if (o.data_ != o.inline_data()) {
      data_ = o.data_; size_ = o.size_; capacity_ = o.capacity_;
      o.reset();
      return;
    }
    for (size_t i = 0; i < o.size_; i++) new (data_ + i) T(std::move(o.data_[i]));
    size_ = o.size_;
    o.destroy(0);
  }
  void grow(size_t n) {
    T* fresh = static_cast<T*>(::operator new(n * sizeof(T)));
    for (size_t i = 0; i < size_; i++) { new (fresh + i) T(std::move(data_[i])); data_[i].~T(); }
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(n);
  }

  T* data_ = inline_data();
  uint32_t size_ = 0, capacity_ = N;
  alignas(T) unsigned char storage_[N * sizeof(T)];
};

using DimVector = SmallVector<int64_t, 5>;

}  // namespace cresset
