// Dense linear algebra behind the table of kernels/providers/lapack.h, by LAPACK's Fortran interface (www.netlib.org/lapack). Part of
// libcresset_lapack.so alone.

#include "cresset/kernels/providers/lapack.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
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
#define DECLARE(p, T, R)                                                                                                                                    \
  void p##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                                                       \
  void p##sytrd_(const char*, const int*, T*, const int*, T*, T*, T*, T*, const int*, int*, size_t);                                                        \
  void p##orgtr_(const char*, const int*, T*, const int*, const T*, T*, const int*, int*, size_t);                                                          \
  void p##gebrd_(const int*, const int*, T*, const int*, T*, T*, T*, T*, T*, const int*, int*);                                                             \
  void p##bdsdc_(const char*, const char*, const int*, T*, T*, T*, const int*, T*, const int*, T*, int*, T*, int*, int*, size_t, size_t);                   \
  void p##ormbr_(const char*, const char*, const char*, const int*, const int*, const int*, const T*, const int*, const T*, T*, const int*, T*, const int*, \
                 int*, size_t, size_t, size_t);                                                                                                             \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*, const int*, int*, int*, size_t);              \
  void p##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*, size_t, size_t);                         \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*, T*, const int*, int*, size_t, size_t);        \
  void p##gelsy_(const int*, const int*, const int*, T*, const int*, T*, const int*, int*, const R*, int*, T*, const int*, int*);
CRESSET_REAL(DECLARE)
#undef DECLARE
#define DECLARE(p, T, R)                                                                                                                             \
  void p##ungqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                                                \
  void p##hetrd_(const char*, const int*, T*, const int*, R*, R*, T*, T*, const int*, int*, size_t);                                                 \
  void p##ungtr_(const char*, const int*, T*, const int*, const T*, T*, const int*, int*, size_t);                                                   \
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
#define ROUTINES(p, T, R, orgqr_name, heevd_name, hetrd_name, ungtr_name, hetrf_name, hetrs_name) \
  template <> struct Routines<T> {                                                                \
    using Real = R;                                                                               \
    static constexpr auto potrf = p##potrf_;                                                      \
    static constexpr auto getrf = p##getrf_;                                                      \
    static constexpr auto trsm = p##trsm_;                                                        \
    static constexpr auto geqrf = p##geqrf_;                                                      \
    static constexpr auto orgqr = p##orgqr_name##_;                                               \
    static constexpr auto gesdd = p##gesdd_;                                                      \
    static constexpr auto heevd = p##heevd_name##_;                                               \
    static constexpr auto hetrd = p##hetrd_name##_;                                               \
    static constexpr auto ungtr = p##ungtr_name##_;                                               \
    static constexpr auto geev = p##geev_;                                                        \
    static constexpr auto gelsy = p##gelsy_;                                                      \
    static constexpr auto sytrf = p##sytrf_;                                                      \
    static constexpr auto sytrs = p##sytrs_;                                                      \
    static constexpr auto hetrf = p##hetrf_name##_;                                               \
    static constexpr auto hetrs = p##hetrs_name##_;                                               \
  };
ROUTINES(s, float, float, orgqr, syevd, sytrd, orgtr, sytrf, sytrs)
ROUTINES(d, double, double, orgqr, syevd, sytrd, orgtr, sytrf, sytrs)
ROUTINES(c, C, float, ungqr, heevd, hetrd, ungtr, hetrf, hetrs)
ROUTINES(z, Z, double, ungqr, heevd, hetrd, ungtr, hetrf, hetrs)
#undef ROUTINES

// More of them, for the singular vectors of real matrices.
template <class T> struct RealRoutines;
#define REAL_ROUTINES(p, T, R)               \
  template <> struct RealRoutines<T> {       \
    static constexpr auto gebrd = p##gebrd_; \
    static constexpr auto bdsdc = p##bdsdc_; \
    static constexpr auto ormbr = p##ormbr_; \
  };
CRESSET_REAL(REAL_ROUTINES)
#undef REAL_ROUTINES

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

// run(memory, size): at first with a query for the size, then with as much. A routine that runs several tells them apart by `which`.
template <class T, class F> void run_asked(LapackWork& kept, F&& run, int which = 0) {
  int& size = kept.lengths[which];
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

template <class T> struct Decomposition {
  char job;
  int m, n;
  T* a;
  int lda;
  typename Routines<T>::Real* s;
  T* u;
  int ldu;
  T* vh;
  int ldvh;
  int rows() const { return job == 'A' ? n : std::min(m, n); }     // of vh
  int columns() const { return job == 'A' ? m : std::min(m, n); }  // of u
};

template <class T> int by_gesdd(LapackWork& kept, const Decomposition<T>& of) {
  using R = typename Routines<T>::Real;
  int info = 0;
  const int64_t least = std::min(of.m, of.n), most = std::max(of.m, of.n);
  int* integers = work<int>(kept, 1, 8 * least);
  const auto run = [&](T* memory, int& size) {
    if constexpr (kComplex<T>) {
      // LAPACK's bound for all jobs, with that of releases that asked for more where there are no vectors.
      R* reals = work<R>(kept, 2, std::max(least * std::max(5 * least + 7, 2 * most + 2 * least + 1), 7 * least));
      Routines<T>::gesdd(&of.job, &of.m, &of.n, of.a, &of.lda, of.s, of.u, &of.ldu, of.vh, &of.ldvh, memory, &size, reals, integers, &info, 1);
    } else {
      Routines<T>::gesdd(&of.job, &of.m, &of.n, of.a, &of.lda, of.s, of.u, &of.ldu, of.vh, &of.ldvh, memory, &size, integers, &info, 1);
    }
  };
  run_asked<T>(kept, run);
  return info;
}

// The identity beside the first `known` rows and columns, which stay.
template <class T> void extend(T* matrix, int ld, int rows, int columns, int known) {
  for (int64_t c = 0; c < columns; c++)
    for (int64_t r = c < known ? known : 0; r < rows; r++) matrix[c * ld + r] = T(r == c);
}

template <class T> void transpose(int rows, int columns, const T* from, int ld, T* to, int to_ld) {
  constexpr int kTile = 16;
  for (int64_t c0 = 0; c0 < columns; c0 += kTile)
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c = c0; c < std::min<int64_t>(columns, c0 + kTile); c++)
        for (int64_t r = r0; r < std::min<int64_t>(rows, r0 + kTile); r++) to[r * to_ld + c] = from[c * ld + r];
}

// A matrix with more columns than rows, bidiagonal at once. Its transpose goes through the same reflections with columns where it has rows, in a
// third of the time; its own bidiagonal matrix is the lower one.
template <class T> int by_bidiagonal(LapackWork& kept, const Decomposition<T>& of) {
  using Real = RealRoutines<T>;
  const int m = of.m, n = of.n, rows = of.rows();
  const int64_t size = int64_t{m} * n;
  T* across = work<T>(kept, 2, size + int64_t{n} * rows + int64_t{3} * m);
  T *right = across + size, *beside = right + int64_t{n} * rows, *of_columns = beside + m, *of_rows = of_columns + m;
  transpose(m, n, of.a, of.lda, across, n);
  int info = 0;
  run_asked<T>(kept, [&](T* memory, int& length) { Real::gebrd(&n, &m, across, &n, of.s, beside, of_columns, of_rows, memory, &length, &info); });
  int none = 0;
  Real::bdsdc("L", "I", &m, of.s, beside, of.u, &of.ldu, of.vh, &of.ldvh, nullptr, &none, work<T>(kept, 0, (3 * int64_t{m} + 4) * m),
              work<int>(kept, 1, 8 * int64_t{m}), &info, 1, 1);
  if (info != 0) return info;
  transpose(m, m, of.vh, of.ldvh, right, n);
  extend(right, n, n, rows, m);
  run_asked<T>(
      kept, [&](T* memory, int& length) { Real::ormbr("P", "L", "N", &m, &m, &n, across, &n, of_rows, of.u, &of.ldu, memory, &length, &info, 1, 1, 1); }, 1);
  run_asked<T>(
      kept, [&](T* memory, int& length) { Real::ormbr("Q", "L", "N", &n, &rows, &m, across, &n, of_columns, right, &n, memory, &length, &info, 1, 1, 1); }, 2);
  transpose(n, rows, right, n, of.vh, of.ldvh);
  return info;
}

// First a = QR, then the decomposition of the square R.
template <class T> int by_qr(LapackWork& kept, const Decomposition<T>& of) {
  const int m = of.m, n = of.n, columns = of.columns();
  T* factors = work<T>(kept, 2, n + 2 * int64_t{n} * n);
  T *r = factors + n, *left = r + int64_t{n} * n;
  int info = 0;
  run_asked<T>(
      kept, [&](T* memory, int& size) { Routines<T>::geqrf(&m, &n, of.a, &of.lda, factors, memory, &size, &info); }, 1);
  for (int64_t c = 0; c < n; c++) std::fill(std::copy_n(of.a + c * of.lda, c + 1, r + c * n), r + (c + 1) * n, T(0));
  const int failed = by_gesdd<T>(kept, {'S', n, n, r, n, of.s, left, n, of.vh, of.ldvh});
  for (int64_t c = 0; c < n; c++) std::copy_n(left + c * n, n, of.u + c * of.ldu);
  extend(of.u, of.ldu, m, columns, n);
  run_asked<T>(
      kept,
      [&](T* memory, int& size) {
        RealRoutines<T>::ormbr("Q", "L", "N", &m, &columns, &n, of.a, &of.lda, factors, of.u, &of.ldu, memory, &size, &info, 1, 1, 1);
      },
      2);
  return failed;
}

// Where LAPACK scales a matrix before anything else.
template <class T> bool needs_scaling(const Decomposition<T>& of) {
  const T least = std::sqrt(std::numeric_limits<T>::min()) / std::numeric_limits<T>::epsilon();
  T most = 0;
  for (int64_t c = 0; c < of.n; c++)
    for (int64_t r = 0; r < of.m; r++) most = std::max(most, std::abs(of.a[c * of.lda + r]));
  return most != 0 && !(most >= least && most <= 1 / least);
}

// Which of LAPACK's ways a real matrix takes decides about the signs of its singular vectors. PyTorch's LAPACK, MKL, takes R of a tall one from
// 1.5 times as many rows as columns on and L of a wide one from 20 times as many columns as rows on, where LAPACK's own gesdd, which decides
// between the same ways, has 11/6 for both. Found by comparing all orders up to 14 and some up to 1000; complex matrices agree.
template <class T> int decompose(LapackWork& kept, const Decomposition<T>& of) {
  if constexpr (!kComplex<T>) {
    const int64_t least = std::min(of.m, of.n), from = least * 11 / 6;
    const bool at_once = of.m < of.n && of.n >= from && of.n < 20 * least;
    const bool by_triangle = of.m > of.n && of.m >= 3 * least / 2 && of.m < from;
    if (of.job != 'N' && (at_once || by_triangle)) {
      LapackWork others;
      return needs_scaling(of) ? by_gesdd(others, of) : at_once ? by_bidiagonal(kept, of) : by_qr(kept, of);
    }
  }
  return by_gesdd(kept, of);
}

int gesdd(LapackWork& kept, ScalarType dtype, char job, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vh, int ldvh) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    return decompose<T>(kept,
                        {job, m, n, static_cast<T*>(a), lda, static_cast<typename Routines<T>::Real*>(s), static_cast<T*>(u), ldu, static_cast<T*>(vh), ldvh});
  });
}

int hetrd(LapackWork& kept, ScalarType dtype, bool upper, int n, void* a, int lda, void* d, void* e) {
  return by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = typename Routines<T>::Real;
    int info = 0;
    T *matrix = static_cast<T*>(a), *factors = work<T>(kept, 1, n);
    run_asked<T>(kept, [&](T* memory, int& size) {
      Routines<T>::hetrd(triangle(upper), &n, matrix, &lda, static_cast<R*>(d), static_cast<R*>(e), factors, memory, &size, &info, 1);
    });
    run_asked<T>(
        kept, [&](T* memory, int& size) { Routines<T>::ungtr(triangle(upper), &n, matrix, &lda, factors, memory, &size, &info, 1); }, 1);
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
      kLapackAbi, openblas_get_corename ? openblas_get_corename() : "", potrf, getrf, trsm, geqrf, orgqr, gesdd, heevd, hetrd, geev, sytrf, sytrs, gelsy};
  return &table;
}
