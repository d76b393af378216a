#pragma once
// A vector whose first N elements live inside the object. SmallVectorImpl is the same vector with N left out, for references.

#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "cresset/base/array_ref.h"

namespace cresset {

namespace detail {
template <class It> using IfInputIterator =
    std::enable_if_t<std::is_convertible<typename std::iterator_traits<It>::iterator_category, std::input_iterator_tag>::value>;
[[noreturn]] CRESSET_API void throw_out_of_range(const char* what, size_t index, size_t size);
}  // namespace detail

template <class T> class SmallVectorImpl {
 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<T*>;
  using const_reverse_iterator = std::reverse_iterator<const T*>;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;

  SmallVectorImpl(const SmallVectorImpl&) = delete;
  SmallVectorImpl& operator=(const SmallVectorImpl& o) {
    if (this != &o) assign_copies(o.begin(), o.size());
    return *this;
  }
  SmallVectorImpl& operator=(SmallVectorImpl&& o) noexcept(std::is_nothrow_move_constructible<T>::value) {
    if (this == &o) return *this;
    if (!o.is_inline()) {
      destroy(0);
      release();
      data_ = o.data_;
      size_ = o.size_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_data();
      o.size_ = o.capacity_ = 0;
      return *this;
    }
    destroy(0);
    if (o.size_ > capacity_) grow(o.size_);
    for (; size_ < o.size_; size_++) new (data_ + size_) T(std::move(o.data_[size_]));
    o.destroy(0);
    return *this;
  }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* cbegin() const { return data_; }
  const T* cend() const { return data_ + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  size_t max_size() const { return UINT32_MAX; }
  size_t size_in_bytes() const { return size_ * sizeof(T); }
  size_t capacity_in_bytes() const { return capacity_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& at(size_t i) {
    check(i);
    return data_[i];
  }
  const T& at(size_t i) const {
    check(i);
    return data_[i];
  }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  // Arguments may be elements of this vector, here and below.
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Args> T& emplace_back(Args&&... args) {
    if (CRESSET_UNLIKELY(size_ == capacity_)) return grow_with(std::forward<Args>(args)...);
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() { data_[--size_].~T(); }
  void pop_back_n(size_t n) { destroy(size_ - n); }
  T pop_back_val() {
    T value = std::move(back());
    pop_back();
    return value;
  }
  void clear() { destroy(0); }
  void truncate(size_t n) { destroy(n); }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void resize(size_t n) {
    destroy(n);
    reserve(n);
    for (; size_ < n; size_++) new (data_ + size_) T();
  }
  void resize(size_t n, const T& value) {
    destroy(n);
    if (n > size_) append(n - size_, value);
  }
  // New elements of trivial types keep whatever the memory holds.
  void resize_for_overwrite(size_t n) {
    destroy(n);
    reserve(n);
    if constexpr (std::is_trivially_default_constructible<T>::value) size_ = n > size_ ? static_cast<uint32_t>(n) : size_;
    else resize(n);
  }
  void set_size(size_t n) { size_ = static_cast<uint32_t>(n); }

  void assign(size_t n, const T& value) {
    if (n > capacity_) {
      const T copy = value;
      clear();
      grow(n);
      return append(n, copy);
    }
    const size_t shared = n < size_ ? n : size_;
    for (size_t i = 0; i < shared; i++) data_[i] = value;
    for (; size_ < n; size_++) new (data_ + size_) T(value);
    destroy(n);
  }
  template <class It, class = detail::IfInputIterator<It>> void assign(It first, It last) {
    clear();
    append(first, last);
  }
  void assign(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  void assign(const SmallVectorImpl& o) { *this = o; }

  void append(size_t n, const T& value) {
    const T* from = room_for(n, &value);
    for (size_t i = 0; i < n; i++) new (data_ + size_++) T(*from);
  }
  template <class It, class = detail::IfInputIterator<It>> void append(It first, It last) {
    if constexpr (std::is_convertible<It, const T*>::value) {
      append_copies(first, static_cast<size_t>(last - first));
    } else {
      if constexpr (std::is_convertible<typename std::iterator_traits<It>::iterator_category, std::forward_iterator_tag>::value)
        reserve(size_ + static_cast<size_t>(std::distance(first, last)));
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  void append(std::initializer_list<T> list) { append_copies(list.begin(), list.size()); }
  void append(const SmallVectorImpl& o) { append_copies(o.begin(), o.size()); }

  T* insert(const T* where, const T& value) { return insert_one(where, value); }
  T* insert(const T* where, T&& value) { return insert_one(where, std::move(value)); }
  template <class... Args> T* emplace(const T* where, Args&&... args) { return insert_one(where, T(std::forward<Args>(args)...)); }
  T* insert(const T* where, size_t n, const T& value) {
    const size_t at = static_cast<size_t>(where - data_);
    if (at == size_) {
      append(n, value);
      return data_ + at;
    }
    const T* from = room_for(n, &value);
    // The value itself moves along with what stands behind the gap.
    if (from >= data_ + at && from < data_ + size_) from += n;
    const size_t moved = open(at, n);
    for (size_t i = 0; i < n; i++) {
      if (i < moved) data_[at + i] = *from;
      else new (data_ + at + i) T(*from);
    }
    return data_ + at;
  }
  template <class It, class = detail::IfInputIterator<It>> T* insert(const T* where, It first, It last) {
    const size_t at = static_cast<size_t>(where - data_), n = static_cast<size_t>(std::distance(first, last));
    if (at == size_) {
      append(first, last);
      return data_ + at;
    }
    if constexpr (std::is_convertible<It, const T*>::value) {
      const T* from = first;
      if (from >= data_ && from < data_ + size_) {
        const SmallVectorCopy copy(from, n);
        return insert(data_ + at, std::make_move_iterator(copy.begin), std::make_move_iterator(copy.begin + n));
      }
    }
    reserve(size_ + n);
    const size_t moved = open(at, n);
    for (size_t i = 0; i < n; i++, ++first) {
      if (i < moved) data_[at + i] = *first;
      else new (data_ + at + i) T(*first);
    }
    return data_ + at;
  }
  void insert(const T* where, std::initializer_list<T> list) { insert(where, list.begin(), list.end()); }
  T* erase(const T* where) { return erase(where, where + 1); }
  T* erase(const T* first, const T* last) {
    T* to = data_ + (first - data_);
    T* end_of_kept = std::move(to + (last - first), end(), to);
    destroy(static_cast<size_t>(end_of_kept - data_));
    return to;
  }
  void swap(SmallVectorImpl& o) {
    if (this == &o) return;
    if (!is_inline() && !o.is_inline()) {
      std::swap(data_, o.data_);
      std::swap(size_, o.size_);
      std::swap(capacity_, o.capacity_);
      return;
    }
    reserve(o.size_);
    o.reserve(size_);
    const size_t a = size_, b = o.size_, shared = a < b ? a : b;
    for (size_t i = 0; i < shared; i++) std::swap(data_[i], o.data_[i]);
    for (size_t i = shared; i < a; i++) o.emplace_back(std::move(data_[i]));
    for (size_t i = shared; i < b; i++) emplace_back(std::move(o.data_[i]));
    if (a > shared) destroy(shared);
    if (b > shared) o.destroy(shared);
  }

  friend bool operator==(const SmallVectorImpl& a, const SmallVectorImpl& b) { return ArrayRef<T>(a).equals(b); }
  friend bool operator!=(const SmallVectorImpl& a, const SmallVectorImpl& b) { return !(a == b); }
  friend bool operator<(const SmallVectorImpl& a, const SmallVectorImpl& b) { return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end()); }
  friend bool operator>(const SmallVectorImpl& a, const SmallVectorImpl& b) { return b < a; }
  friend bool operator<=(const SmallVectorImpl& a, const SmallVectorImpl& b) { return !(b < a); }
  friend bool operator>=(const SmallVectorImpl& a, const SmallVectorImpl& b) { return !(a < b); }

 protected:
  explicit SmallVectorImpl(uint32_t inline_capacity) : data_(inline_data()), capacity_(inline_capacity) {}
  ~SmallVectorImpl() {
    destroy(0);
    release();
  }

 private:
  // Where the elements inside the object begin: SmallVector puts them right behind this base.
  T* inline_data() const {
    constexpr size_t offset = (sizeof(SmallVectorImpl) + alignof(T) - 1) / alignof(T) * alignof(T);
    return reinterpret_cast<T*>(const_cast<char*>(reinterpret_cast<const char*>(this)) + offset);
  }
  bool is_inline() const { return data_ == inline_data(); }
  static T* allocate(size_t n) {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
    else return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void release() {
    if (is_inline()) return;
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) ::operator delete(data_, std::align_val_t(alignof(T)));
    else ::operator delete(data_);
  }
  void destroy(size_t from) {
    while (size_ > from) data_[--size_].~T();
  }
  size_t larger(size_t n) const { return n > 2 * size_t{capacity_} + 1 ? n : 2 * size_t{capacity_} + 1; }
  // Moves the elements to `fresh` and owns that memory from now on.
  void adopt(T* fresh, size_t n) {
    for (size_t i = 0; i < size_; i++) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    release();
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(n);
  }
  void grow(size_t n) {
    n = larger(n);
    adopt(allocate(n), n);
  }
  // The new element is made before the others move: an argument may be one of them.
  template <class... Args> CRESSET_NOINLINE T& grow_with(Args&&... args) {
    const size_t n = larger(size_ + size_t{1});
    T* fresh = allocate(n);
    new (fresh + size_) T(std::forward<Args>(args)...);
    adopt(fresh, n);
    return data_[size_++];
  }
  // Makes room for n more and returns where `value` is then, which may be an element of this vector.
  const T* room_for(size_t n, const T* value) {
    if (size_ + n <= capacity_) return value;
    const bool own = value >= data_ && value < data_ + size_;
    const size_t at = own ? static_cast<size_t>(value - data_) : 0;
    grow(size_ + n);
    return own ? data_ + at : value;
  }
  void append_copies(const T* from, size_t n) {
    from = room_for(n, from);
    for (size_t i = 0; i < n; i++) new (data_ + size_++) T(from[i]);
  }
  void assign_copies(const T* from, size_t n) {
    if (n > capacity_) {
      clear();
      grow(n);
    }
    if constexpr (std::is_copy_assignable<T>::value) {
      const size_t shared = n < size_ ? n : size_;
      for (size_t i = 0; i < shared; i++) data_[i] = from[i];
    } else {
      clear();
    }
    for (; size_ < n; size_++) new (data_ + size_) T(from[size_]);
    destroy(n);
  }
  template <class V> T* insert_one(const T* where, V&& value) {
    const size_t at = static_cast<size_t>(where - data_);
    if (at == size_) {
      emplace_back(std::forward<V>(value));
      return data_ + at;
    }
    std::remove_reference_t<V>* from = const_cast<std::remove_reference_t<V>*>(room_for(1, &value));
    if (from >= data_ + at && from < data_ + size_) from++;
    open(at, 1);
    data_[at] = static_cast<V&&>(*from);
    return data_ + at;
  }
  // Moves what stands at `at` and behind it up by n; there is room. Returns how many places of the gap still hold an object.
  size_t open(size_t at, size_t n) {
    T* old_end = end();
    const size_t tail = size_ - at;
    const size_t built = tail < n ? tail : n;
    for (size_t i = 0; i < built; i++) new (data_ + at + tail + n - built + i) T(std::move(old_end[i - built]));
    if (tail > n) std::move_backward(data_ + at, old_end - n, old_end);
    size_ += static_cast<uint32_t>(n);
    return built;
  }
  struct SmallVectorCopy {
    SmallVectorCopy(const T* from, size_t n) : begin(allocate(n)), size(n) {
      for (size_t i = 0; i < n; i++) new (begin + i) T(from[i]);
    }
    SmallVectorCopy(const SmallVectorCopy&) = delete;
    ~SmallVectorCopy() {
      for (size_t i = 0; i < size; i++) begin[i].~T();
      if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) ::operator delete(begin, std::align_val_t(alignof(T)));
      else ::operator delete(begin);
    }
    T* begin;
    size_t size;
  };
  void check(size_t i) const {
    if (CRESSET_UNLIKELY(i >= size_)) detail::throw_out_of_range("SmallVector", i, size_);
  }

  T* data_;
  uint32_t size_ = 0, capacity_;
};

namespace detail {
template <class T, unsigned N> struct SmallVectorStorage { alignas(T) unsigned char bytes[N * sizeof(T)]; };
template <class T> struct SmallVectorStorage<T, 0> {};
// As many elements as keep the object within 64 bytes, but one at least.
template <class T> constexpr unsigned default_inline_elements() { return sizeof(T) > 48 ? 1 : static_cast<unsigned>(48 / sizeof(T)); }
}  // namespace detail

template <class T, unsigned N = detail::default_inline_elements<T>()> class SmallVector : public SmallVectorImpl<T>, private detail::SmallVectorStorage<T, N> {
  using Base = SmallVectorImpl<T>;

 public:
  SmallVector() : Base(N) {}
  explicit SmallVector(size_t n) : Base(N) { this->resize(n); }
  SmallVector(size_t n, const T& value) : Base(N) { this->append(n, value); }
  SmallVector(std::initializer_list<T> list) : Base(N) { this->append(list); }
  SmallVector(ArrayRef<T> list) : Base(N) { this->append(list.begin(), list.end()); }
  template <class It, class = detail::IfInputIterator<It>> SmallVector(It first, It last) : Base(N) { this->append(first, last); }
  SmallVector(const SmallVector& o) : Base(N) { this->append(o); }
  SmallVector(SmallVector&& o) noexcept(std::is_nothrow_move_constructible<T>::value) : Base(N) { Base::operator=(std::move(o)); }
  SmallVector(const Base& o) : Base(N) { this->append(o); }
  SmallVector(Base&& o) : Base(N) { Base::operator=(std::move(o)); }
  SmallVector& operator=(const SmallVector& o) {
    Base::operator=(o);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept(std::is_nothrow_move_constructible<T>::value) {
    Base::operator=(std::move(o));
    return *this;
  }
  SmallVector& operator=(const Base& o) {
    Base::operator=(o);
    return *this;
  }
  SmallVector& operator=(Base&& o) {
    Base::operator=(std::move(o));
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> list) {
    this->assign(list);
    return *this;
  }
  SmallVector& operator=(ArrayRef<T> list) {
    SmallVector copy(list);
    return *this = std::move(copy);
  }
};

using DimVector = SmallVector<int64_t, 5>;

}  // namespace cresset

namespace std {
template <class T> void swap(cresset::SmallVectorImpl<T>& a, cresset::SmallVectorImpl<T>& b) { a.swap(b); }
template <class T, unsigned N> void swap(cresset::SmallVector<T, N>& a, cresset::SmallVector<T, N>& b) { a.swap(b); }
}  // namespace std
