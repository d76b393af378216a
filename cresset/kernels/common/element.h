#pragma once
// One element of any dtype read or written as a compute type: the slow, general path of kernels.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"

namespace cresset::kernels {

// Conversion as a cast between dtypes does it: complex to real drops the imaginary part, anything to bool is `!= 0`, floating to a
// narrow integer goes through int64.
template <class To, class From> inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (is_complex<From>::value) {
    if constexpr (is_complex<To>::value) return To(v);
    else if constexpr (std::is_same_v<To, bool>) return v.real() != 0 || v.imag() != 0;
    else return convert<To>(v.real());
  } else if constexpr (is_complex<To>::value) {
    return To(convert<typename To::value_type>(v), 0);
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 8) {
    return static_cast<To>(static_cast<int64_t>(v));
  } else {
    return static_cast<To>(v);
  }
}

template <class A> using LoadFn = A (*)(const char*);
template <class A> using StoreFn = void (*)(char*, A);

template <class A, class T> A load_element(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return convert<A>(v);
}

template <class A, class T> void store_element(char* p, A v) {
  const T t = convert<T>(v);
  std::memcpy(p, &t, sizeof t);
}

template <class A> LoadFn<A> load_fn(ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return load_element<A, T>;
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: CRESSET_CHECK_TYPE(false, "load: unsupported dtype ", t);
  }
  return nullptr;
}

template <class A> StoreFn<A> store_fn(ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return store_element<A, T>;
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: CRESSET_CHECK_TYPE(false, "store: unsupported dtype ", t);
  }
  return nullptr;
}

// A contiguous array of any dtype read and written as A. A null pointer reads as `missing`.
template <class A> class AnyInput {
 public:
  AnyInput(const char* data, ScalarType t, A missing = A{})
      : data_(data), load_(load_fn<A>(t)), size_(static_cast<int64_t>(element_size(t))), missing_(missing) {}
  A operator[](int64_t i) const { return data_ ? load_(data_ + i * size_) : missing_; }

 private:
  const char* data_;
  LoadFn<A> load_;
  int64_t size_;
  A missing_;
};
template <class A> class AnyOutput {
 public:
  AnyOutput(char* data, ScalarType t) : data_(data), store_(store_fn<A>(t)), size_(static_cast<int64_t>(element_size(t))) {}
  void set(int64_t i, A v) const {
    if (data_) store_(data_ + i * size_, v);
  }

 private:
  char* data_;
  StoreFn<A> store_;
  int64_t size_;
};

}  // namespace cresset::kernels
