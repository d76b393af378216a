#pragma once
// A non-owning view of consecutive elements: what most functions take for sizes and tensor lists.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset {

template <class T> class SmallVectorImpl;

namespace detail {
[[noreturn]] CRESSET_API void throw_out_of_range(const char* what, size_t index, size_t size);
}

template <class T> class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<const T*>;
  using size_type = size_t;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  template <class A> ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
    static_assert(!std::is_same<T, bool>::value, "std::vector<bool> has no elements to refer to");
  }
  ArrayRef(const SmallVectorImpl<T>& v) : data_(v.data()), size_(v.size()) {}
  // std::array, spans, strings, containers of programs: whatever has data() that points to T, and size().
  template <class C, class = std::enable_if_t<std::is_same<std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<const C&>().data())>>, T>::value &&
                                              std::is_convertible<decltype(std::declval<const C&>().size()), size_t>::value>>
  constexpr ArrayRef(const C& c) : data_(c.data()), size_(c.size()) {}
  template <size_t N> constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* cbegin() const { return data_; }
  constexpr const T* cend() const { return data_ + size_; }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  // Errors, of at, front and back: no such element.
  constexpr const T& at(size_t i) const { return checked(i, "ArrayRef::at"); }
  constexpr const T& front() const { return checked(0, "ArrayRef::front"); }
  constexpr const T& back() const { return checked(size_ - 1, "ArrayRef::back"); }
  constexpr bool allMatch(bool (*fits)(const T&)) const {
    for (size_t i = 0; i < size_; i++)
      if (!fits(data_[i])) return false;
    return true;
  }
  // Errors: the slice does not lie within.
  constexpr ArrayRef slice(size_t start, size_t count) const {
    if (CRESSET_UNLIKELY(start > size_ || count > size_ - start)) detail::throw_out_of_range("ArrayRef::slice", start + count, size_);
    return ArrayRef(data_ + start, count);
  }
  constexpr ArrayRef slice(size_t start) const {
    if (CRESSET_UNLIKELY(start > size_)) detail::throw_out_of_range("ArrayRef::slice", start, size_);
    return ArrayRef(data_ + start, size_ - start);
  }
  constexpr bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; i++)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return vec(); }
  // With anything that converts to an ArrayRef on either side.
  friend constexpr bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
  friend constexpr bool operator!=(ArrayRef a, ArrayRef b) { return !a.equals(b); }

 private:
  constexpr const T& checked(size_t i, const char* what) const {
    if (CRESSET_UNLIKELY(i >= size_)) detail::throw_out_of_range(what, i, size_);
    return data_[i];
  }

  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T> ArrayRef<T> makeArrayRef(const T& one) { return one; }
template <class T> ArrayRef<T> makeArrayRef(const T* data, size_t size) { return {data, size}; }
template <class T> ArrayRef<T> makeArrayRef(const T* begin, const T* end) { return {begin, end}; }
template <class T> ArrayRef<T> makeArrayRef(const SmallVectorImpl<T>& v) { return v; }
template <class T> ArrayRef<T> makeArrayRef(const std::vector<T>& v) { return v; }
template <class T> ArrayRef<T> makeArrayRef(ArrayRef<T> v) { return v; }
template <class T, size_t N> ArrayRef<T> makeArrayRef(const std::array<T, N>& v) { return v; }
template <class T, size_t N> ArrayRef<T> makeArrayRef(const T (&v)[N]) { return ArrayRef<T>(v); }

// [1, 2]
template <class C, class Traits, class T> std::basic_ostream<C, Traits>& operator<<(std::basic_ostream<C, Traits>& out, ArrayRef<T> list) {
  out << "[";
  for (size_t i = 0; i < list.size(); i++) {
    if (i > 0) out << ", ";
    out << list[i];
  }
  return out << "]";
}

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace cresset
