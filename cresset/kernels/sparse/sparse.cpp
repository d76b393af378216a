// Positions, pointers and sums of sparse layouts.

#include "cresset/kernels/sparse/sparse.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/sparse/cpu/sparse_rows.h"

namespace cresset::kernels {

bool flatten_positions(int64_t* out, const int64_t* positions, int64_t n, IntArrayRef sizes) {
  std::atomic<bool> in_range{true};
  parallel_for(0, n, 32768, [&](int64_t begin, int64_t end) {
    std::fill(out + begin, out + end, 0);
    for (size_t d = 0; d < sizes.size(); d++) {
      const int64_t* p = positions + static_cast<int64_t>(d) * n;
      const uint64_t size = static_cast<uint64_t>(sizes[d]);
      bool outside = false;
      for (int64_t k = begin; k < end; k++) {
        outside |= static_cast<uint64_t>(p[k]) >= size;
        out[k] = static_cast<int64_t>(static_cast<uint64_t>(out[k]) * size + static_cast<uint64_t>(p[k]));
      }
      if (outside) in_range.store(false, std::memory_order_relaxed);
    }
  });
  return in_range;
}

void unflatten_positions(int64_t* positions, const int64_t* flat, int64_t n, IntArrayRef sizes) {
  parallel_for(0, n, 8192, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      int64_t rest = flat[k];
      for (size_t d = sizes.size(); d-- > 0;) {
        positions[static_cast<int64_t>(d) * n + k] = rest % sizes[d];
        rest /= sizes[d];
      }
    }
  });
}

bool strictly_increasing(const int64_t* x, int64_t n) {
  for (int64_t k = 1; k < n; k++)
    if (x[k] <= x[k - 1]) return false;
  return true;
}

int64_t segment_starts(int64_t* starts, const int64_t* sorted, int64_t n) {
  int64_t count = 0;
  for (int64_t k = 0; k < n; k++)
    if (k == 0 || sorted[k] != sorted[k - 1]) starts[count++] = k;
  starts[count] = n;
  return count;
}

namespace {

template <class T> struct SumOf { using type = T; };
template <> struct SumOf<Half> { using type = float; };
template <> struct SumOf<BFloat16> { using type = float; };

template <class T> void add_to(T& sum, const T& x) {
  if constexpr (std::is_same_v<T, bool>) sum = sum || x;
  else sum = static_cast<T>(sum + x);
}

}  // namespace

void segment_sum(void* out, const void* values, ScalarType dtype, int64_t width, const int64_t* order, const int64_t* starts, int64_t segments) {
  visit_dtype(dtype, "coalesce", [&](auto zero) {
    using T = decltype(zero);
    using Sum = typename SumOf<T>::type;
    const T* in = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    parallel_for(0, segments, std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; s++) {
        T* row = to + s * width;
        if (starts[s + 1] == starts[s] + 1) {
          const T* from = in + order[starts[s]] * width;
          std::copy(from, from + width, row);
          continue;
        }
        for (int64_t c = 0; c < width; c++) {
          Sum sum = static_cast<Sum>(in[order[starts[s]] * width + c]);
          for (int64_t k = starts[s] + 1; k < starts[s + 1]; k++) add_to(sum, static_cast<Sum>(in[order[k] * width + c]));
          row[c] = static_cast<T>(sum);
        }
      }
    });
  });
}

void compress_positions(void* pointers, const void* majors, ScalarType index_dtype, int64_t batches, int64_t n, int64_t nnz) {
  visit_index(index_dtype, "sparse", [&](auto zero) {
    using I = decltype(zero);
    for (int64_t b = 0; b < batches; b++) {
      I* p = static_cast<I*>(pointers) + b * (n + 1);
      const I* m = static_cast<const I*>(majors) + b * nnz;
      int64_t k = 0;
      for (int64_t i = 0; i < n; i++) {
        p[i] = static_cast<I>(k);
        while (k < nnz && m[k] == static_cast<I>(i)) k++;
      }
      p[n] = static_cast<I>(k);
    }
  });
}

void expand_pointers(void* majors, const void* pointers, ScalarType index_dtype, int64_t batches, int64_t n, int64_t nnz) {
  visit_index(index_dtype, "sparse", [&](auto zero) {
    using I = decltype(zero);
    for (int64_t b = 0; b < batches; b++) {
      I* m = static_cast<I*>(majors) + b * nnz;
      const I* p = static_cast<const I*>(pointers) + b * (n + 1);
      for (int64_t i = 0; i < n; i++) {
        // Unchecked pointers may lie anywhere.
        const int64_t from = std::clamp<int64_t>(p[i], 0, nnz), to = std::clamp<int64_t>(p[i + 1], from, nnz);
        std::fill(m + from, m + to, static_cast<I>(i));
      }
      const int64_t first = n > 0 ? std::clamp<int64_t>(p[0], 0, nnz) : 0, last = n > 0 ? std::clamp<int64_t>(p[n], first, nnz) : 0;
      std::fill(m, m + first, I{0});
      std::fill(m + last, m + nnz, I{0});
    }
  });
}

PointerFault check_pointers(const void* pointers, const void* plain, ScalarType index_dtype, int64_t batches, int64_t n_major, int64_t n_minor, int64_t nnz) {
  return visit_index(index_dtype, "sparse", [&](auto zero) {
    using I = decltype(zero);
    for (int64_t b = 0; b < batches; b++) {
      const I* p = static_cast<const I*>(pointers) + b * (n_major + 1);
      const I* q = static_cast<const I*>(plain) + b * nnz;
      if (p[0] != 0) return PointerFault::first;
      if (p[n_major] != nnz) return PointerFault::last;
      bool crowded = false;
      for (int64_t i = 0; i < n_major; i++) {
        if (p[i + 1] < p[i]) return PointerFault::steps;
        crowded |= p[i + 1] - p[i] > n_minor;
      }
      for (int64_t k = 0; k < nnz; k++)
        if (q[k] < 0 || q[k] >= n_minor) return crowded ? PointerFault::steps : PointerFault::range;
      if (crowded) return PointerFault::crowded;
      for (int64_t i = 0; i < n_major; i++)
        for (int64_t k = p[i] + 1; k < p[i + 1]; k++)
          if (q[k] <= q[k - 1]) return PointerFault::order;
    }
    return PointerFault::none;
  });
}

void sparse_times_dense(void* out, const SparseRows& a, const void* dense, int64_t dense_stride, int64_t columns, const Scalar& beta, const Scalar& alpha) {
  if (columns == 0) return;
  parallel_for(0, a.rows, std::max<int64_t>(1, 4096 / columns),
               [&](int64_t begin, int64_t end) { call(sparse_dense_rows_stub)(out, a, dense, dense_stride, columns, beta, alpha, begin, end); });
}

void sampled_product(void* values, const SparseRows& pattern, const void* a, const void* b, int64_t depth, const Scalar& beta, const Scalar& alpha) {
  parallel_for(0, pattern.rows, 64, [&](int64_t begin, int64_t end) { call(sampled_rows_stub)(values, pattern, a, b, depth, beta, alpha, begin, end); });
}

void sparse_product_count(int64_t* pointers, const SparseRows& a, const SparseRows& b, int64_t columns) {
  visit_index(a.index_dtype, "sparse", [&](auto zero) {
    using I = decltype(zero);
    const I *pa = static_cast<const I*>(a.pointers), *ca = static_cast<const I*>(a.plain);
    const I *pb = static_cast<const I*>(b.pointers), *cb = static_cast<const I*>(b.plain);
    pointers[0] = 0;
    parallel_for(0, a.rows, std::max<int64_t>(64, a.rows / 64), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> seen(static_cast<size_t>(columns), -1);
      for (int64_t i = begin; i < end; i++) {
        int64_t count = 0;
        for (int64_t k = pa[i]; k < pa[i + 1]; k++)
          for (int64_t j = pb[ca[k]]; j < pb[ca[k] + 1]; j++) {
            int64_t& mark = seen[static_cast<size_t>(cb[j])];
            if (mark != i) {
              mark = i;
              count++;
            }
          }
        pointers[i + 1] = count;
      }
    });
  });
  for (int64_t i = 0; i < a.rows; i++) pointers[i + 1] += pointers[i];
}

void sparse_product_fill(const int64_t* pointers, int64_t* plain, void* values, const SparseRows& a, const SparseRows& b, int64_t columns) {
  visit_index(a.index_dtype, "sparse", [&](auto izero) {
    using I = decltype(izero);
    const I *pa = static_cast<const I*>(a.pointers), *ca = static_cast<const I*>(a.plain);
    const I *pb = static_cast<const I*>(b.pointers), *cb = static_cast<const I*>(b.plain);
    visit_dtype(a.dtype, "sparse product", [&](auto zero) {
      using T = decltype(zero);
      using Sum = typename SumOf<T>::type;
      const T *va = static_cast<const T*>(a.values), *vb = static_cast<const T*>(b.values);
      T* out = static_cast<T*>(values);
      parallel_for(0, a.rows, std::max<int64_t>(64, a.rows / 64), [&](int64_t begin, int64_t end) {
        std::vector<Sum> sums(static_cast<size_t>(columns));
        std::vector<int64_t> seen(static_cast<size_t>(columns), -1);
        for (int64_t i = begin; i < end; i++) {
          int64_t* mine = plain + pointers[i];
          int64_t count = 0;
          for (int64_t k = pa[i]; k < pa[i + 1]; k++)
            for (int64_t j = pb[ca[k]]; j < pb[ca[k] + 1]; j++) {
              const size_t c = static_cast<size_t>(cb[j]);
              if (seen[c] != i) {
                seen[c] = i;
                sums[c] = Sum{};
                mine[count++] = static_cast<int64_t>(c);
              }
              if constexpr (std::is_same_v<Sum, bool>) sums[c] = sums[c] || (va[k] && vb[j]);
              else sums[c] = static_cast<Sum>(sums[c] + static_cast<Sum>(va[k]) * static_cast<Sum>(vb[j]));
            }
          // A row that is full enough is in order by its marks.
          if (count > columns / 16) {
            count = 0;
            for (int64_t c = 0; c < columns; c++)
              if (seen[static_cast<size_t>(c)] == i) mine[count++] = c;
          } else {
            std::sort(mine, mine + count);
          }
          for (int64_t k = 0; k < count; k++) out[pointers[i] + k] = static_cast<T>(sums[static_cast<size_t>(mine[k])]);
        }
      });
    });
  });
}

}  // namespace cresset::kernels
