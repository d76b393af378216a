#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> CRESSET_ALWAYS_INLINE bool truth(const char* p) {
  if constexpr (is_complex<T>::value) {
    const T v = read<T, T>(p);
    return v.real() != 0 || v.imag() != 0;
  } else {
    return read<Compute<T>, T>(p) != 0;
  }
}
template <class T> CRESSET_ALWAYS_INLINE bool valid(const char* p) {
  if constexpr (is_complex<T>::value) {
    const T v = read<T, T>(p);
    return v.real() == v.real() && v.imag() == v.imag();
  } else if constexpr (std::is_floating_point_v<Compute<T>>) {
    const auto v = read<Compute<T>, T>(p);
    return v == v;
  } else {
    return true;
  }
}

template <class T, bool is_all> struct Logic {
  static bool run(const char* p, int64_t n, int64_t stride) {
    // Blocks without a branch inside; a decided answer ends the run.
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t m = n - i < 256 ? n - i : 256;
      uint8_t found = 0;
      if (stride == sizeof(T)) {
        for (int64_t j = 0; j < m; j++) found |= static_cast<uint8_t>(truth<T>(p + (i + j) * static_cast<int64_t>(sizeof(T))) != is_all);
      } else {
        for (int64_t j = 0; j < m; j++, keep_scalar()) found |= static_cast<uint8_t>(truth<T>(p + (i + j) * stride) != is_all);
      }
      if (found) return !is_all;
    }
    return is_all;
  }
  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t, double, char* acc) {
    for (int64_t r = 0; r < rows; r++) acc[r] = run(in + r * row_stride, n, stride);
  }
  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t, double, char* acc) {
    uint8_t found[kMaxCols] = {};
    for (int64_t r = 0; r < rows; r++) {
      const char* p = in + r * row_stride;
      if (col_stride == sizeof(T)) {
        for (int64_t c = 0; c < cols; c++) found[c] |= static_cast<uint8_t>(truth<T>(p + c * static_cast<int64_t>(sizeof(T))) != is_all);
      } else {
        for (int64_t c = 0; c < cols; c++, keep_scalar()) found[c] |= static_cast<uint8_t>(truth<T>(p + c * col_stride) != is_all);
      }
    }
    for (int64_t c = 0; c < cols; c++) acc[c] = (found[c] != 0) != is_all;
  }
  static void join(char* acc, const char* other, int64_t n) {
    for (int64_t i = 0; i < n; i++) acc[i] = is_all ? acc[i] & other[i] : acc[i] | other[i];
  }
  static constexpr ReduceKernel kernel{ScalarType::Bool, 1, inner, outer, join};
};

template <class T, bool nonzero> struct Count {
  CRESSET_ALWAYS_INLINE static bool counts(const char* p) { return nonzero ? truth<T>(p) : valid<T>(p); }

  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t, double, char* acc) {
    for (int64_t r = 0; r < rows; r++) {
      const char* p = in + r * row_stride;
      int64_t total = 0;
      for (int64_t i = 0; i < n; i += 128) {
        const int64_t m = n - i < 128 ? n - i : 128;
        uint8_t part = 0;
        if (stride == sizeof(T)) {
          for (int64_t j = 0; j < m; j++) part = static_cast<uint8_t>(part + counts(p + (i + j) * static_cast<int64_t>(sizeof(T))));
        } else {
          for (int64_t j = 0; j < m; j++, keep_scalar()) part = static_cast<uint8_t>(part + counts(p + (i + j) * stride));
        }
        total += part;
      }
      reinterpret_cast<int64_t*>(acc)[r] = total;
    }
  }
  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t, double, char* acc) {
    int64_t* total = reinterpret_cast<int64_t*>(acc);
    for (int64_t c = 0; c < cols; c++) total[c] = 0;
    for (int64_t r0 = 0; r0 < rows; r0 += 128) {
      uint8_t part[kMaxCols] = {};
      for (int64_t r = r0; r < rows && r < r0 + 128; r++) {
        const char* p = in + r * row_stride;
        if (col_stride == sizeof(T)) {
          for (int64_t c = 0; c < cols; c++) part[c] = static_cast<uint8_t>(part[c] + counts(p + c * static_cast<int64_t>(sizeof(T))));
        } else {
          for (int64_t c = 0; c < cols; c++, keep_scalar()) part[c] = static_cast<uint8_t>(part[c] + counts(p + c * col_stride));
        }
      }
      for (int64_t c = 0; c < cols; c++) total[c] += part[c];
    }
  }
  static void join(char* acc, const char* other, int64_t n) {
    for (int64_t i = 0; i < n; i++) reinterpret_cast<int64_t*>(acc)[i] += reinterpret_cast<const int64_t*>(other)[i];
  }
  static constexpr ReduceKernel kernel{ScalarType::Long, 8, inner, outer, join};
};

// Signed integers and bool share the code of the unsigned ones.
template <class T> struct Twin { using type = T; };
template <> struct Twin<bool> { using type = uint8_t; };
template <> struct Twin<int8_t> { using type = uint8_t; };
template <> struct Twin<int16_t> { using type = uint16_t; };
template <> struct Twin<int32_t> { using type = uint32_t; };
template <> struct Twin<int64_t> { using type = uint64_t; };

template <class T> ReduceKernelPtr kernel_for(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::all: return &Logic<T, true>::kernel;
    case ReduceFn::any: return &Logic<T, false>::kernel;
    case ReduceFn::count_nonzero: return &Count<T, true>::kernel;
    case ReduceFn::count_valid: return &Count<T, false>::kernel;
    default: return nullptr;
  }
}

}  // namespace

ReduceKernelPtr logic_kernel_for(ReduceFn fn, ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return kernel_for<Twin<T>::type>(fn);
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
