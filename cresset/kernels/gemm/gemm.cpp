#include "cresset/kernels/gemm/gemm.h"

#include <algorithm>

#include "cresset/base/parallel.h"
#include "cresset/kernels/gemm/cpu/gemm.h"

namespace cresset::kernels {

namespace {

using SerialGemm = void (*)(const GemmProblem&);

constexpr int64_t kSmallProduct = 32 * 32 * 32, kTiny = 8, kMostQuarters = 64, kTinyOfBatch = 400, kThin = 16, kFewRows = 4, kVeryFewRows = 2, kLong = 64;

SerialGemm serial_gemm(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
    case ScalarType::Char: return call(gemm_int8_stub);
    case ScalarType::Short:
    case ScalarType::UInt16: return call(gemm_int16_stub);
    case ScalarType::Int:
    case ScalarType::UInt32: return call(gemm_int32_stub);
    case ScalarType::Long:
    case ScalarType::UInt64: return call(gemm_int64_stub);
    case ScalarType::Half: return call(gemm_half_stub);
    case ScalarType::BFloat16: return call(gemm_bfloat16_stub);
    case ScalarType::Float: return call(gemm_float_stub);
    case ScalarType::Double: return call(gemm_double_stub);
    case ScalarType::ComplexFloat: return call(gemm_complex_float_stub);
    case ScalarType::ComplexDouble: return call(gemm_complex_double_stub);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "gemm: no matrix product for dtype ", dtype); return nullptr;
  }
}

// The products of a small linear map with few results that PyTorch's library computes as dot products.
bool is_of_quarters(const GemmProblem& p) {
  return p.trans_b && !p.trans_a && p.m >= 2 && p.m <= kMostQuarters && p.n >= 2 && p.n <= kTiny && p.k <= 2 * kTiny && p.k % 4 == 0;
}

// The path of a product. On one core of an AMD Zen 5, float32, GFLOP/s packed -> chosen: 4x4x4: 2 -> 4, 32x32x32: 156 -> 225 (small);
// 1x4096x4096 with B transposed: 6 -> 20, 8x768x768: 48 -> 143, 128x10x512: 75 -> 165 (dot); 1x4096x4096: 5 -> 21 (few rows);
// 1x1x12480: 1.7 as a small product -> 17 (dot); 1x256x64 with B transposed, on Zen 4: 6.4 us as a small product -> 2.0 us (dot).
GemmPath choose_path(ScalarType dtype, const GemmProblem& p, int64_t batch) {
  if (!is_floating_type(dtype)) return GemmPath::packed;
  const bool low_precision = element_size(dtype) == 2;
  const bool few_long_sums = p.k >= kLong && (p.trans_b ? p.m <= kVeryFewRows || (p.n <= kFewRows && p.m <= kThin) : p.n == 1 && !p.trans_a);
  if (dtype == ScalarType::Float && batch == 1 && is_of_quarters(p)) return GemmPath::quarters;
  if (!low_precision && std::max({p.m, p.n, p.k}) <= kTiny) return GemmPath::tiny;
  if (!low_precision && !few_long_sums && p.m * p.n * p.k <= kSmallProduct) {
    // Of a batch PyTorch rounds these, too.
    const bool rounds = batch > 1 && (p.n == 1 || p.m * p.n * p.k < kTinyOfBatch);
    return rounds ? GemmPath::tiny : GemmPath::small;
  }
  if (p.k >= 32) {
    if (p.trans_b && p.m <= kThin) return GemmPath::dot_rows;
    if (!p.trans_a && p.n <= kThin) return GemmPath::dot_columns;
  }
  if (!p.trans_b && p.m <= kFewRows) return GemmPath::few_rows;
  if (p.trans_a && p.n <= kFewRows) return GemmPath::few_columns;
  return GemmPath::packed;
}

const void* advance(const void* p, int64_t elements, size_t size) { return static_cast<const char*>(p) + elements * static_cast<int64_t>(size); }
void* advance(void* p, int64_t elements, size_t size) { return static_cast<char*>(p) + elements * static_cast<int64_t>(size); }

// Rows [i0, i1) and columns [j0, j1) of the result.
GemmProblem sub_problem(GemmProblem p, size_t size, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  p.a = advance(p.a, p.trans_a ? i0 : i0 * p.lda, size);
  p.b = advance(p.b, p.trans_b ? j0 * p.ldb : j0, size);
  p.c = advance(p.c, i0 * p.ldc + j0, size);
  if (p.bias) p.bias = advance(p.bias, j0, size);
  p.m = i1 - i0;
  p.n = j1 - j0;
  return p;
}

// C = beta * C and the epilogue, for k == 0.
template <class T> void scale(const GemmProblem& p) {
  const bool overwrite = p.beta.is(0);
  const T beta = p.beta.as<T>();
  T* c = static_cast<T*>(p.c);
  const T* bias = static_cast<const T*>(p.bias);
  for (int64_t i = 0; i < p.m; i++)
    for (int64_t j = 0; j < p.n; j++) {
      T& x = c[i * p.ldc + j];
      if constexpr (std::is_integral<T>::value) {
        x = overwrite ? T(0) : static_cast<T>(uint64_t{1} * static_cast<uint64_t>(beta) * static_cast<uint64_t>(x));
        if (bias) x = static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(bias[j]));
      } else {
        x = overwrite ? T(0) : beta * x;
        if (bias) x += bias[j];
        if constexpr (!is_complex<T>::value)
          if (p.relu && x < T(0)) x = T(0);
      }
    }
}

void scale(ScalarType dtype, const GemmProblem& p) {
  switch (dtype) {
#define CRESSET_SCALE(T, Name) \
  case ScalarType::Name: return scale<T>(p);
    CRESSET_FOR_EACH_DTYPE(CRESSET_SCALE)
#undef CRESSET_SCALE
    default: return;
  }
}

// Work per chunk below which a second thread does not pay.
constexpr double kGrainFlops = 4e6;

}  // namespace

void gemm(ScalarType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const Scalar& alpha, const void* a, int64_t lda, const void* b,
          int64_t ldb, const Scalar& beta, void* c, int64_t ldc, const GemmEpilogue* epilogue) {
  gemm_batched(dtype, trans_a, trans_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1, epilogue);
}

void gemm_batched(ScalarType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const Scalar& alpha, const void* a, int64_t lda,
                  int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b, const Scalar& beta, void* c, int64_t ldc, int64_t stride_c, int64_t batch,
                  const GemmEpilogue* epilogue) {
  if (m <= 0 || n <= 0 || batch <= 0) return;
  const SerialGemm serial = serial_gemm(dtype);
  const size_t size = element_size(dtype);
  GemmProblem p{trans_a, trans_b, m, n, k, alpha, beta, a, lda, b, ldb, c, ldc, nullptr, false, GemmPath::packed};
  if (epilogue) {
    p.bias = epilogue->bias;
    p.relu = epilogue->relu;
    CRESSET_CHECK(!p.relu || is_floating_type(dtype), "gemm: relu is defined for floating dtypes, got ", dtype);
  }
  p.path = choose_path(dtype, p, batch);
  const auto product = [&](int64_t item) {
    GemmProblem q = p;
    q.a = advance(a, item * stride_a, size);
    q.b = advance(b, item * stride_b, size);
    q.c = advance(c, item * stride_c, size);
    return q;
  };
  if (k <= 0) {
    for (int64_t item = 0; item < batch; item++) scale(dtype, product(item));
    return;
  }
  // Consecutive products, on one thread.
  const auto products = [&](int64_t begin, int64_t end) {
    const GemmBatch together{end - begin, stride_a, stride_b, stride_c};
    if (p.path == GemmPath::tiny) return call(dtype == ScalarType::Float ? gemm_tiny_float_stub : gemm_tiny_double_stub)(product(begin), together);
    if (p.path == GemmPath::quarters) return call(gemm_quarters_float_stub)(product(begin));
    if (p.path == GemmPath::small) return call(dtype == ScalarType::Float ? gemm_small_float_stub : gemm_small_double_stub)(product(begin), together);
    for (int64_t item = begin; item < end; item++) serial(product(item));
  };
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (get_num_threads() == 1 || flops * static_cast<double>(batch) < 2 * kGrainFlops) { return products(0, batch); }
  if (batch >= get_num_threads() * 2) {
    const int64_t grain = static_cast<int64_t>(kGrainFlops / flops) + 1;
    return parallel_for(0, batch, grain, products);
  }
  // The longer side of C is cut; every element is summed over k in the same order however it is cut.
  constexpr int64_t kStep = 32;
  const bool cut_rows = m >= n;
  const int64_t steps = (std::max(m, n) + kStep - 1) / kStep;
  const int64_t grain = static_cast<int64_t>(kGrainFlops / flops * static_cast<double>(steps)) + 1;
  for (int64_t item = 0; item < batch; item++) {
    const GemmProblem q = product(item);
    parallel_for(0, steps, grain, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kStep, last = std::min(end * kStep, std::max(m, n));
      serial(cut_rows ? sub_problem(q, size, first, last, 0, n) : sub_problem(q, size, 0, m, first, last));
    });
  }
}

bool gemm_packs(bool trans_b, int64_t m, int64_t n, int64_t k) {
  const GemmProblem p{false, trans_b, m, n, k, 1, 0, nullptr, k, nullptr, trans_b ? k : n, nullptr, n, nullptr, false, GemmPath::packed};
  return choose_path(ScalarType::Float, p, 1) == GemmPath::packed;
}
int64_t gemm_packed_count(int64_t n, int64_t k) { return call(gemm_columns_size_float_stub)(n, k); }
void gemm_pack(bool trans_b, int64_t n, int64_t k, const float* b, int64_t ldb, float* packed) {
  call(gemm_columns_pack_float_stub)(trans_b, n, k, b, ldb, packed);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* packed, const GemmEpilogue& epilogue, float* c, int64_t ldc) {
  call(gemm_columns_float_stub)(m, n, k, a, lda, packed, 0, c, ldc, static_cast<const float*>(epilogue.bias), epilogue.relu);
}

}  // namespace cresset::kernels
