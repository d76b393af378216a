#pragma once
// A non-owning view of consecutive elements: what most functions take for sizes and tensor lists.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset {

template <class T, unsigned N> class SmallVector;

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {}
  template <unsigned N>
  ArrayRef(const SmallVector<T, N>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& at(size_t i) const { return data_[i]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr ArrayRef slice(size_t start, size_t count) const { return ArrayRef(data_ + start, count); }
  constexpr ArrayRef slice(size_t start) const { return ArrayRef(data_ + start, size_ - start); }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; i++)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return vec(); }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T> bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <class T> bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <class T> bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !a.equals(b); }
template <class T> bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !ArrayRef<T>(a).equals(b); }

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace cresset
