// Distinct elements, searching and histograms.

#include <algorithm>
#include <cmath>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/dense.h"
#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/common/sort_key.h"
#include "cresset/kernels/sort/sort.h"

namespace cresset::kernels {

namespace {

// Numbers the runs of equal elements in the order that `at` gives.
template <class T, class At> int64_t distinct(T* values, int64_t* inverse, int64_t* counts, const T* x, int64_t n, At at) {
  int64_t runs = 0;
  if (!inverse && !counts) {
    // Written at once and kept if it is new.
    for (int64_t i = 0; i < n; i++) {
      const T here = x[at(i)];
      values[runs] = here;
      runs += i == 0 || !(here == x[at(i - 1)]);
    }
    return runs;
  }
  for (int64_t i = 0, begin = 0; i < n; i++) {
    const int64_t here = at(i);
    if (i == 0 || !(x[here] == x[at(i - 1)])) {
      begin = i;
      values[runs++] = x[here];
    }
    if (inverse) inverse[here] = runs - 1;
    if (counts) counts[runs - 1] = i - begin + 1;
  }
  return runs;
}

// Bools as bytes: a count of comparisons of bools is a sum of their bytes, which uninitialised memory makes larger than the output.
Strided as_bytes(Strided x) {
  if (x.dtype == ScalarType::Bool) x.dtype = ScalarType::Byte;
  return x;
}

// The first place in [0, n) whose element is not before the value; comparisons with NaN count as before.
template <class T, class At> int64_t insertion_point(At at, int64_t n, T value, bool right, bool ordered) {
  auto before = [&](int64_t i) { return right ? !(at(i) > value) : !(at(i) >= value); };
  int64_t low = 0, high = n;
  if (ordered) {
    // Without branches, whose outcomes cannot be predicted.
    for (int64_t count = n; count > 1;) {
      const int64_t half = count / 2;
      low += before(low + half - 1) ? half : 0;
      count -= half;
    }
    return low + before(low);
  }
  // Elements in no order have no place of their own: the halves in their usual succession.
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Whether the elements never fall, if that is known in less time than the searches take.
template <class At> bool is_ordered(At at, int64_t n, int64_t searches) {
  if (searches < n / 16) return false;
  for (int64_t i = 1; i < n; i++)
    if (!(at(i - 1) <= at(i))) return false;
  return at(0) == at(0);
}

}  // namespace

int64_t unique(void* values, int64_t* inverse, int64_t* counts, const Strided& bools_or_numbers) {
  const Strided self = as_bytes(bools_or_numbers);
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(self.dtype), "unique: not implemented for ", self.dtype);
  const DenseInput dense(self);
  const int64_t n = self.numel(), one = 1;
  std::vector<int64_t> order(static_cast<size_t>(n));
  argsort(Strided(order.data(), ScalarType::Long, n, one), Strided(dense.as<void>(), self.dtype, n, one), 0, false);
  int64_t runs = 0;
  visit_real(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    runs = distinct(static_cast<T*>(values), inverse, counts, dense.as<T>(), n, [&](int64_t i) { return order[static_cast<size_t>(i)]; });
  });
  return runs;
}

int64_t unique_consecutive(void* values, int64_t* inverse, int64_t* counts, const Strided& bools_or_numbers) {
  const Strided self = as_bytes(bools_or_numbers);
  const DenseInput dense(self);
  return visit_dtype(self.dtype, "unique_consecutive", [&](auto tag) {
    using T = decltype(tag);
    return distinct(static_cast<T*>(values), inverse, counts, dense.as<T>(), self.numel(), [](int64_t i) { return i; });
  });
}

void searchsorted(const Strided& out, const Strided& sorted, const Strided& values, bool right, const Strided& sorter) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(values.dtype), "searchsorted: not implemented for ", values.dtype);
  CRESSET_CHECK(sorted.dtype == values.dtype, "searchsorted: expected boundaries and values of one dtype, got ", sorted.dtype, " and ", values.dtype);
  const int64_t n = sorted.sizes.back(), per_row = sorted.dim() == 1 ? values.numel() : values.sizes.back();
  if (sorter.defined()) {
    const void* bad = find_outside(sorter, 0, n);
    CRESSET_CHECK(!bad, "searchsorted: sorter index out of range, got ", read_index(sorter, bad), " for ", n, " boundaries");
  }
  const DenseInput rows(sorted), wanted(values), orders(sorter.defined() ? sorter : sorted);
  DimVector strides = contiguous_strides(out.sizes);
  std::vector<int64_t> found(static_cast<size_t>(values.numel()));
  visit_real(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T *row = rows.as<T>(), *value = wanted.as<T>();
    const int64_t* order = sorter.defined() ? orders.as<int64_t>() : nullptr;
    const auto by_order = [&](int64_t start) { return [=](int64_t k) { return row[start + order[start + k]]; }; };
    const auto in_place = [&](int64_t start) { return [=](int64_t k) { return row[start + k]; }; };
    std::vector<char> ordered(static_cast<size_t>(n == 0 ? 0 : sorted.numel() / n));
    for (size_t r = 0; r < ordered.size(); r++) {
      const int64_t start = static_cast<int64_t>(r) * n;
      ordered[r] = order ? is_ordered(by_order(start), n, per_row) : is_ordered(in_place(start), n, per_row);
    }
    parallel_for(0, n == 0 ? 0 : values.numel(), 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t r = sorted.dim() == 1 ? 0 : i / per_row, start = r * n;
        const bool fast = ordered[static_cast<size_t>(r)];
        found[static_cast<size_t>(i)] =
            order ? insertion_point(by_order(start), n, value[i], right, fast) : insertion_point(in_place(start), n, value[i], right, fast);
      }
    });
  });
  if (out.dtype == ScalarType::Long) return copy_strided(out, Strided(found.data(), ScalarType::Long, out.sizes, strides));
  std::vector<int32_t> narrow(found.begin(), found.end());
  copy_strided(out, Strided(narrow.data(), ScalarType::Int, out.sizes, strides));
}

void histc(const Strided& out, const Strided& self, double low, double high) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(self.dtype), "histc: not implemented for ", self.dtype);
  const DenseInput dense(self);
  const int64_t bins = out.sizes[0], n = self.numel();
  std::vector<int64_t> counts(static_cast<size_t>(bins));
  visit_real(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_integral_v<T>) {
      using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const A first = static_cast<A>(low), last = static_cast<A>(high);
      const T* x = dense.as<T>();
      for (int64_t i = 0; i < n; i++) {
        const A v = static_cast<A>(x[i]);
        if (!(v >= first && v <= last)) continue;
        const int64_t bin = static_cast<int64_t>((v - first) * static_cast<A>(bins) / (last - first));
        counts[static_cast<size_t>(std::min(bin, bins - 1))]++;
      }
      T* to = static_cast<T*>(out.data);
      for (int64_t b = 0; b < bins; b++) to[b * out.strides[0]] = static_cast<T>(static_cast<A>(counts[static_cast<size_t>(b)]));
    }
  });
}

void bincount(const Strided& out, const Strided& self, const Strided& weights) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_integral_type(self.dtype, false), "bincount: not implemented for ", self.dtype);
  const DenseInput dense(self), weight(weights.defined() ? weights : self);
  const int64_t n = self.numel(), bins = out.sizes[0];
  visit_real(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* x = dense.as<T>();
    for (int64_t i = 0; i < n; i++) {
      const bool negative = std::is_signed_v<T> && x[i] < T(0);
      CRESSET_CHECK(!negative && static_cast<uint64_t>(x[i]) < static_cast<uint64_t>(bins), "bincount: expected non-negative integers below ", bins, ", got ",
                    static_cast<int64_t>(x[i]));
    }
    fill_strided(out, 0);
    const auto add = [&](auto* to, auto amount) {
      for (int64_t i = 0; i < n; i++) to[static_cast<int64_t>(x[i]) * out.strides[0]] += amount(i);
    };
    if (!weights.defined()) add(static_cast<int64_t*>(out.data), [](int64_t) { return int64_t{1}; });
    else if (weights.dtype == ScalarType::Float) add(static_cast<float*>(out.data), [w = weight.as<float>()](int64_t i) { return w[i]; });
    else add(static_cast<double*>(out.data), [w = weight.as<double>()](int64_t i) { return w[i]; });
  });
}

}  // namespace cresset::kernels
