// Dense linear algebra behind the table of kernels/providers/lapack.h, by LAPACK's Fortran interface (www.netlib.org/lapack). Part of
// libcresset_lapack.so alone.

#include "cresset/kernels/providers/lapack.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>

namespace {

using C = std::complex<float>;
using Z = std::complex<double>;

}  // namespace

// Every character argument has its length at the end of the list.
#define CRESSET_ALL(F) F(s, float, float) F(d, double, double) F(c, C, float) F(z, Z, double)
#define CRESSET_REAL(F) F(s, float, float) F(d, double, double)
#define CRESSET_COMPLEX(F) F(c, C, float) F(z, Z, double)

extern "C" {
#define DECLARE(p, T, R)                                                                                                                                    \
  void p##potrf_(const char*, const int*, T*, const int*, int*, size_t);                                                                                    \
  void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                                                                                       \
  void p##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*, const int*, T*, const int*, size_t, size_t, \
                size_t, size_t);                                                                                                                            \
  void p##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                                                                         \
  void p##sytrf_(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);                                                              \
  void p##sytrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*, size_t);
CRESSET_ALL(DECLARE)
#undef DECLARE
#define DECLARE(p, T, R)                                                                                                                             \
  void p##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                                                \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*, const int*, int*, int*, size_t);       \
  void p##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*, size_t, size_t);                  \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*, T*, const int*, int*, size_t, size_t); \
  void p##gelsy_(const int*, const int*, const int*, T*, const int*, T*, const int*, int*, const R*, int*, T*, const int*, int*);
CRESSET_REAL(DECLARE)
#undef DECLARE
#define DECLARE(p, T, R)                                                                                                                             \
  void p##ungqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                                                \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*, const int*, T*, const int*, R*, int*, int*, size_t);   \
  void p##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*, const int*, int*, const int*, int*, size_t, size_t);  \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*, const int*, R*, int*, size_t, size_t); \
  void p##gelsy_(const int*, const int*, const int*, T*, const int*, T*, const int*, int*, const R*, int*, T*, const int*, R*, int*);                \
  void p##hetrf_(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);                                                       \
  void p##hetrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*, size_t);
CRESSET_COMPLEX(DECLARE)
#undef DECLARE
// Only in OpenBLAS.
__attribute__((weak)) void openblas_set_num_threads(int);
__attribute__((weak)) char* openblas_get_corename();
}

namespace cresset::kernels {

namespace {

template <class T> struct Routines;
#define ROUTINES(p, T, R, orgqr_name, heevd_name, hetrf_name, hetrs_name) \
  template <> struct Routines<T> {                                        \
    using Real = R;                                                       \
    static constexpr auto potrf = p##potrf_;                              \
    static constexpr auto getrf = p##getrf_;                              \
    static constexpr auto trsm = p##trsm_;                                \
    static constexpr auto geqrf = p##geqrf_;                              \
    static constexpr auto orgqr = p##orgqr_name##_;                       \
    static constexpr auto gesdd = p##gesdd_;                              \
    static constexpr auto heevd = p##heevd_name##_;                       \
    static constexpr auto geev = p##geev_;                                \
    static constexpr auto gelsy = p##gelsy_;                              \
    static constexpr auto sytrf = p##sytrf_;                              \
    static constexpr auto sytrs = p##sytrs_;                              \
    static constexpr auto hetrf = p##hetrf_name##_;                       \
    static constexpr auto hetrs = p##hetrs_name##_;                       \
  };
ROUTINES(s, float, float, orgqr, syevd, sytrf, sytrs)
ROUTINES(d, double, double, orgqr, syevd, sytrf, sytrs)
ROUTINES(c, C, float, ungqr, heevd, hetrf, hetrs)
ROUTINES(z, Z, double, ungqr, heevd, hetrf, hetrs)
#undef ROUTINES

template <class T> constexpr bool kComplex = !std::is_floating_point_v<T>;

// Memory for n numbers, nothing written to it.
template <class T> T* work(LapackWork& kept, int slot, int64_t n) {
  const int64_t bytes = std::max<int64_t>(n, 1) * static_cast<int64_t>(sizeof(T));
  if (kept.bytes[slot] < bytes) {
    kept.memory[slot].reset(new char[static_cast<size_t>(bytes)]);
    kept.bytes[slot] = bytes;
  }
  return reinterpret_cast<T*>(kept.memory[slot].get());
}

// The length that a query answered in its first number; single precision rounds large ones down.
template <class T> int length(const T& answer) { return std::max(1, static_cast<int>(static_cast<double>(std::real(answer)) * (1 + 1e-6)) + 1); }

template <class F> auto by_dtype(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Float: return f(float());
    case ScalarType::Double: return f(double());
    case ScalarType::ComplexFloat: return f(C());
    default: return f(Z());
  }
}

constexpr int kQuery = -1;

// run(memory, size): at first with a query for the size, then with as much.
template <class T, class F> void run_asked(LapackWork& kept, F&& run) {
  int& size = kept.lengths[0];
  if (size == 0) {
    T answer = 0;
    int asked = kQuery;
    run(&answer, asked);
    size = length(answer);
  }
  run(work<T>(kept, 0, size), size);
}

const char* triangle(bool upper) { return upper ? "U" : "L"; }

int potrf(ScalarType dtype, bool upper, int n, void* a, int lda) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    Routines<T>::potrf(triangle(upper), &n, static_cast<T*>(a), &lda, &info, 1);
    return info;
  });
}

int getrf(ScalarType dtype, int m, int n, void* a, int lda, int32_t* pivots) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    Routines<T>::getrf(&m, &n, static_cast<T*>(a), &lda, pivots, &info);
    return info;
  });
}

void trsm(ScalarType dtype, bool left, bool upper, MatrixOp op, bool unit, int m, int n, const void* a, int lda, void* b, int ldb) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T one = 1;
    const char* trans = op == MatrixOp::plain ? "N" : op == MatrixOp::transposed ? "T" : "C";
    Routines<T>::trsm(left ? "L" : "R", triangle(upper), trans, unit ? "U" : "N", &m, &n, &one, static_cast<const T*>(a), &lda, static_cast<T*>(b), &ldb, 1, 1,
                      1, 1);
    return 0;
  });
}

int geqrf(LapackWork& kept, ScalarType dtype, int m, int n, void* a, int lda, void* tau) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    run_asked<T>(kept, [&](T* memory, int& size) { Routines<T>::geqrf(&m, &n, static_cast<T*>(a), &lda, static_cast<T*>(tau), memory, &size, &info); });
    return info;
  });
}

int orgqr(LapackWork& kept, ScalarType dtype, int m, int n, int k, void* a, int lda, const void* tau) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    run_asked<T>(kept,
                 [&](T* memory, int& size) { Routines<T>::orgqr(&m, &n, &k, static_cast<T*>(a), &lda, static_cast<const T*>(tau), memory, &size, &info); });
    return info;
  });
}

int gesdd(LapackWork& kept, ScalarType dtype, char job, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vh, int ldvh) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = typename Routines<T>::Real;
    int info = 0;
    const int64_t least = std::min(m, n), most = std::max(m, n);
    int* integers = work<int>(kept, 1, 8 * least);
    const auto run = [&](T* memory, int& size) {
      if constexpr (kComplex<T>) {
        // LAPACK's bound for all jobs, with that of releases that asked for more where there are no vectors.
        R* reals = work<R>(kept, 2, std::max(least * std::max(5 * least + 7, 2 * most + 2 * least + 1), 7 * least));
        Routines<T>::gesdd(&job, &m, &n, static_cast<T*>(a), &lda, static_cast<R*>(s), static_cast<T*>(u), &ldu, static_cast<T*>(vh), &ldvh, memory, &size,
                           reals, integers, &info, 1);
      } else {
        Routines<T>::gesdd(&job, &m, &n, static_cast<T*>(a), &lda, static_cast<R*>(s), static_cast<T*>(u), &ldu, static_cast<T*>(vh), &ldvh, memory, &size,
                           integers, &info, 1);
      }
    };
    run_asked<T>(kept, run);
    return info;
  });
}

int heevd(LapackWork& kept, ScalarType dtype, bool vectors, bool upper, int n, void* a, int lda, void* w) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = typename Routines<T>::Real;
    const char* job = vectors ? "V" : "N";
    int info = 0;
    int(&sizes)[3] = kept.lengths;
    const auto run = [&](T* memory, int& size, int* integers, int& integer_size, R* reals, int& real_size) {
      if constexpr (kComplex<T>)
        Routines<T>::heevd(job, triangle(upper), &n, static_cast<T*>(a), &lda, static_cast<R*>(w), memory, &size, reals, &real_size, integers, &integer_size,
                           &info, 1, 1);
      else Routines<T>::heevd(job, triangle(upper), &n, static_cast<T*>(a), &lda, static_cast<R*>(w), memory, &size, integers, &integer_size, &info, 1, 1);
    };
    if (sizes[0] == 0) {
      T answer = 0;
      R real_answer = 0;
      int integer_answer = 0, asked[3] = {kQuery, kQuery, kQuery};
      run(&answer, asked[0], &integer_answer, asked[1], &real_answer, asked[2]);
      sizes[0] = length(answer);
      sizes[1] = std::max(1, integer_answer);
      sizes[2] = length(real_answer);
    }
    run(work<T>(kept, 0, sizes[0]), sizes[0], work<int>(kept, 1, sizes[1]), sizes[1], work<R>(kept, 2, sizes[2]), sizes[2]);
    return info;
  });
}

int geev(LapackWork& kept, ScalarType dtype, int n, void* a, int lda, void* w, void* v, int ldv) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = typename Routines<T>::Real;
    using Complex = std::complex<R>;
    const char* job = v ? "V" : "N";
    const int one = 1;
    int info = 0;
    T unused = 0;
    const auto values = static_cast<Complex*>(w);
    const auto vectors = static_cast<Complex*>(v);
    if constexpr (kComplex<T>) {
      R* reals = work<R>(kept, 1, 2 * static_cast<int64_t>(n));
      T* right = v ? vectors : &unused;
      run_asked<T>(kept, [&](T* memory, int& size) {
        Routines<T>::geev("N", job, &n, static_cast<T*>(a), &lda, values, &unused, &one, right, &ldv, memory, &size, reals, &info, 1, 1);
      });
    } else {
      R* re = work<R>(kept, 1, 2 * static_cast<int64_t>(n));
      R* im = re + n;
      R* packed = work<R>(kept, 2, v ? static_cast<int64_t>(n) * n : 1);
      const int ld = v ? std::max(n, 1) : 1;
      run_asked<T>(kept, [&](T* memory, int& size) {
        Routines<T>::geev("N", job, &n, static_cast<T*>(a), &lda, re, im, &unused, &one, packed, &ld, memory, &size, &info, 1, 1);
      });
      for (int j = 0; j < n; j++) values[j] = {re[j], im[j]};
      // A conjugate pair shares two columns: real and imaginary parts.
      for (int64_t j = 0; v && info == 0 && j < n; j++) {
        const R* x = packed + j * n;
        Complex* y = vectors + j * ldv;
        if (im[j] == 0) {
          std::copy_n(x, n, y);
          continue;
        }
        Complex* z = y + ldv;
        for (int64_t i = 0; i < n; i++) {
          y[i] = {x[i], x[i + n]};
          z[i] = std::conj(y[i]);
        }
        j++;
      }
    }
    return info;
  });
}

int sytrf(LapackWork& kept, ScalarType dtype, bool hermitian, int n, void* a, int lda, int32_t* pivots) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    const auto routine = hermitian ? Routines<T>::hetrf : Routines<T>::sytrf;
    run_asked<T>(kept, [&](T* memory, int& size) { routine("L", &n, static_cast<T*>(a), &lda, pivots, memory, &size, &info, 1); });
    return info;
  });
}

int sytrs(ScalarType dtype, bool hermitian, int n, int columns, const void* a, int lda, const int32_t* pivots, void* b, int ldb) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    int info = 0;
    const auto routine = hermitian ? Routines<T>::hetrs : Routines<T>::sytrs;
    routine("L", &n, &columns, static_cast<const T*>(a), &lda, pivots, static_cast<T*>(b), &ldb, &info, 1);
    return info;
  });
}

int gelsy(LapackWork& kept, ScalarType dtype, int m, int n, int columns, void* a, int lda, void* b, int ldb, double rcond, int* rank) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = typename Routines<T>::Real;
    const R least = static_cast<R>(rcond);
    int info = 0;
    int* pivots = work<int>(kept, 1, n);
    std::fill_n(pivots, n, 0);  // any column may come first
    run_asked<T>(kept, [&](T* memory, int& size) {
      if constexpr (kComplex<T>)
        Routines<T>::gelsy(&m, &n, &columns, static_cast<T*>(a), &lda, static_cast<T*>(b), &ldb, pivots, &least, rank, memory, &size,
                           work<R>(kept, 2, 2 * static_cast<int64_t>(n)), &info);
      else Routines<T>::gelsy(&m, &n, &columns, static_cast<T*>(a), &lda, static_cast<T*>(b), &ldb, pivots, &least, rank, memory, &size, &info);
    });
    return info;
  });
}

}  // namespace

}  // namespace cresset::kernels

extern "C" __attribute__((visibility("default"))) const cresset::kernels::LapackTable* cresset_lapack_table() {
  using namespace cresset::kernels;
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  static const LapackTable table{
      kLapackAbi, openblas_get_corename ? openblas_get_corename() : "", potrf, getrf, trsm, geqrf, orgqr, gesdd, heevd, geev, sytrf, sytrs, gelsy};
  return &table;
}
