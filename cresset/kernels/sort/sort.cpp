// Sorting and selection along a dimension.
#include "cresset/kernels/sort/sort.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/common/sort_key.h"
#include "cresset/kernels/sort/cpu/sort_rows.h"

namespace cresset::kernels {

namespace {

// The rows of an array along dim: all positions in the other dimensions, in row-major order.
class Rows {
 public:
  Rows(const Strided& a, int64_t dim) : a_(a), dim_(static_cast<size_t>(dim)) {}
  int64_t count() const {
    int64_t n = 1;
    for (size_t d = 0; d < a_.sizes.size(); d++)
      if (d != dim_) n *= a_.sizes[d];
    return n;
  }
  int64_t length() const { return a_.sizes[dim_]; }
  int64_t step() const { return a_.strides[dim_]; }
  char* operator[](int64_t row) const {
    int64_t offset = 0;
    for (size_t d = a_.sizes.size(); d-- > 0;) {
      if (d == dim_) continue;
      offset += row % a_.sizes[d] * a_.strides[d];
      row /= a_.sizes[d];
    }
    return static_cast<char*>(a_.data) + offset * a_.item();
  }

 private:
  const Strided& a_;
  size_t dim_;
};

constexpr int64_t kGroup = 16;  // rows gathered together, so that neighbours share cache lines

void check_real(const char* op, const Strided& self, int64_t dim) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(self.dtype), op, ": not implemented for ", self.dtype);
  CRESSET_CHECK_INDEX(dim >= 0 && dim < self.dim(), op, ": dimension out of range, got ", dim, " for self ", self.sizes);
  CRESSET_CHECK(self.sizes[static_cast<size_t>(dim)] < int64_t{1} << 32, op, ": at most 2^32 - 1 elements along dim, got ", self.sizes);
}

template <class T> void load_rows(T* to, const Rows& rows, int64_t first, int64_t count) {
  const int64_t n = rows.length(), step = rows.step();
  const T* from[kGroup];
  for (int64_t g = 0; g < count; g++) from[g] = reinterpret_cast<const T*>(rows[first + g]);
  for (int64_t i = 0; i < n; i++)
    for (int64_t g = 0; g < count; g++) to[g * n + i] = from[g][i * step];
}

template <class T> void store_rows(const Rows& rows, const T* from, int64_t first, int64_t count) {
  const int64_t n = rows.length(), step = rows.step();
  T* to[kGroup];
  for (int64_t g = 0; g < count; g++) to[g] = reinterpret_cast<T*>(rows[first + g]);
  for (int64_t i = 0; i < n; i++)
    for (int64_t g = 0; g < count; g++) to[g][i * step] = from[g * n + i];
}

// Calls kernel(row, values, indices, scratch) with contiguous pointers for every row of self.
void for_each_row(const Strided& values, const Strided& indices, const Strided& self, int64_t dim,
                  FunctionRef<void(const void*, void*, int64_t*, uint64_t*)> kernel) {
  const Rows in(self, dim), out(values.defined() ? values : indices, dim), places(indices, dim);
  const int64_t n = in.length(), k = places.length(), item = self.item();
  const bool packed = in.step() == 1 && places.step() == 1 && out.step() == 1;
  const int64_t group = packed ? 1 : kGroup;
  const int64_t work = std::max<int64_t>(n, 1) * group;
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(0, (in.count() + group - 1) / group, (32768 + work - 1) / work, [&](int64_t begin, int64_t end) {
      std::vector<uint64_t> scratch(static_cast<size_t>(sort_scratch_words(n)) + 16);
      std::vector<uint64_t> rows(packed ? 0 : static_cast<size_t>(n * group * item / 8 + 1));
      std::vector<uint64_t> sorted(packed ? 0 : static_cast<size_t>(k * group * item / 8 + 1));
      std::vector<int64_t> positions(packed ? 0 : static_cast<size_t>(k * group));
      for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * group, count = std::min(group, in.count() - first);
        if (packed) {
          kernel(in[first], values.defined() ? out[first] : nullptr, reinterpret_cast<int64_t*>(places[first]), scratch.data());
          continue;
        }
        T *from = reinterpret_cast<T*>(rows.data()), *to = reinterpret_cast<T*>(sorted.data());
        load_rows(from, in, first, count);
        for (int64_t g = 0; g < count; g++) kernel(from + g * n, values.defined() ? to + g * k : nullptr, positions.data() + g * k, scratch.data());
        if (values.defined()) store_rows(out, to, first, count);
        store_rows(places, positions.data(), first, count);
      }
    });
  });
}

template <class T> bool is_nan(T v) {
  if constexpr (std::is_integral_v<T>) return false;
  else return v != v;
}

template <class T> void write_at(const T* row, void* value, int64_t* index, int64_t at) {
  *index = at;
  if (value) *static_cast<T*>(value) = row[at];
}

// The k-th (from 0) of the stable ascending order; `keys` has n words and is overwritten.
template <class T> int64_t nth_position(const T* row, int64_t n, int64_t k, uint64_t* scratch) {
  struct Entry {
    uint64_t key, index;
    bool operator<(const Entry& o) const { return key != o.key ? key < o.key : index < o.index; }
  };
  if constexpr (sizeof(T) < 8) {
    for (int64_t i = 0; i < n; i++) scratch[i] = static_cast<uint64_t>(KeyCodec<T>::encode(row[i])) << 32 | static_cast<uint64_t>(i);
    std::nth_element(scratch, scratch + k, scratch + n);
    return static_cast<int64_t>(scratch[k] & 0xffffffffu);
  } else {
    Entry* entries = reinterpret_cast<Entry*>(scratch);
    for (int64_t i = 0; i < n; i++) entries[i] = {KeyCodec<T>::encode(row[i]), static_cast<uint64_t>(i)};
    std::nth_element(entries, entries + k, entries + n);
    return static_cast<int64_t>(entries[k].index);
  }
}

// The position of the k-th (from 0) value as partitioning around the median of three finds it (Numerical Recipes, "select"), whose
// choice among equal values is that of PyTorch.
template <class Entry, class Greater> void select_around_medians(Entry* e, int64_t n, int64_t k, Greater greater) {
  const auto order = [&](int64_t low, int64_t high) {
    if (greater(e[low], e[high])) std::swap(e[low], e[high]);
  };
  for (int64_t first = 0, last = n - 1; first < last;) {
    if (last == first + 1) return order(first, last);
    std::swap(e[first + (last - first) / 2], e[first + 1]);
    order(first + 1, last);
    order(first, last);
    order(first + 1, first);
    const Entry pivot = e[first];
    int64_t up = first + 1, down = last;
    for (;;) {
      do up++;
      while (greater(pivot, e[up]));
      do down--;
      while (greater(e[down], pivot));
      if (down < up) break;
      std::swap(e[up], e[down]);
    }
    std::swap(e[first], e[down]);
    if (down <= k) first = up;
    if (down >= k) last = down - 1;
  }
}

template <class T> int64_t kth_position(const T* row, int64_t n, int64_t k, uint64_t* scratch) {
  if constexpr (sizeof(T) < 8) {
    for (int64_t i = 0; i < n; i++) scratch[i] = static_cast<uint64_t>(KeyCodec<T>::encode(row[i])) << 32 | static_cast<uint64_t>(i);
    select_around_medians(scratch, n, k, [](uint64_t a, uint64_t b) { return a >> 32 > b >> 32; });
    return static_cast<int64_t>(scratch[k] & 0xffffffffu);
  } else {
    struct Entry {
      uint64_t key, index;
    };
    Entry* entries = reinterpret_cast<Entry*>(scratch);
    for (int64_t i = 0; i < n; i++) entries[i] = {KeyCodec<T>::encode(row[i]), static_cast<uint64_t>(i)};
    select_around_medians(entries, n, k, [](const Entry& a, const Entry& b) { return a.key > b.key; });
    return static_cast<int64_t>(entries[k].index);
  }
}

template <class T> int64_t median_position(const T* row, int64_t n, bool ignore_nan, uint64_t* scratch) {
  int64_t numbers = 0, first_nan = -1;
  for (int64_t i = 0; i < n; i++) {
    const bool nan = is_nan(row[i]);
    numbers += !nan;
    if (nan && first_nan < 0) first_nan = i;
  }
  if (first_nan >= 0 && (!ignore_nan || numbers == 0)) return first_nan;
  return nth_position(row, n, (numbers - 1) / 2, scratch);
}

template <class T> int64_t mode_position(ScalarType t, const T* row, int64_t n, uint64_t* scratch) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  call(sort_row_stub)(t, row, n, false, nullptr, order.data(), scratch);
  int64_t best = 0, last = 0;
  for (int64_t b = 0; b < n;) {
    int64_t e = b + 1;
    while (e < n && row[order[static_cast<size_t>(e)]] == row[order[static_cast<size_t>(b)]]) e++;
    if (e - b > best) {
      best = e - b;
      last = order[static_cast<size_t>(e - 1)];
    }
    b = e;
  }
  return last;
}

// Runs position(row, n, scratch) on each row, which has at least one element.
template <class F> void pick(const char* op, const Strided& values, const Strided& indices, const Strided& self, int64_t dim, F position) {
  check_real(op, self, dim);
  const int64_t n = self.sizes[static_cast<size_t>(dim)];
  CRESSET_CHECK_INDEX(n > 0, op, ": expected reduction dim ", dim, " to have non-zero size, got ", self.sizes);
  visit_real(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_row(values, indices, self, dim, [&](const void* row, void* value, int64_t* index, uint64_t* scratch) {
      write_at(static_cast<const T*>(row), value, index, position(static_cast<const T*>(row), n, scratch));
    });
  });
}

}  // namespace

void sort(const Strided& values_any, const Strided& indices_any, const Strided& self_any, int64_t dim, bool descending) {
  const AtLeast1d values_1d(values_any), indices_1d(indices_any), self_1d(self_any);
  const Strided &values = values_any.defined() ? values_1d.get() : values_any, &indices = indices_1d.get(), &self = self_1d.get();
  check_real("sort", self, dim);
  if (self.numel() == 0) return;
  const auto kernel = call(sort_row_stub);
  const int64_t n = self.sizes[static_cast<size_t>(dim)];
  for_each_row(values, indices, self, dim,
               [&](const void* row, void* value, int64_t* index, uint64_t* scratch) { kernel(self.dtype, row, n, descending, value, index, scratch); });
}

void argsort(const Strided& indices, const Strided& self, int64_t dim, bool descending) { sort(Strided{}, indices, self, dim, descending); }

void topk(const Strided& values_any, const Strided& indices_any, const Strided& self_any, int64_t k, int64_t dim, bool largest, bool sorted) {
  const AtLeast1d values_1d(values_any), indices_1d(indices_any), self_1d(self_any);
  const Strided &values = values_1d.get(), &indices = indices_1d.get(), &self = self_1d.get();
  check_real("topk", self, dim);
  const int64_t n = self.sizes[static_cast<size_t>(dim)];
  CRESSET_CHECK(k >= 0 && k <= n, "topk: selected index k out of range, got ", k, " for size ", n);
  if (k == 0 || self.numel() == 0) return;
  // Beyond a quarter of the row, sorting it whole is faster than selecting.
  if (k > n / 4 && n > 256) {
    const auto kernel = call(sort_row_stub);
    return for_each_row(values, indices, self, dim, [&](const void* row, void* value, int64_t* index, uint64_t* scratch) {
      std::vector<int64_t> order(static_cast<size_t>(n));
      kernel(self.dtype, row, n, largest, nullptr, order.data(), scratch);
      const int64_t item = self.item();
      for (int64_t i = 0; i < k; i++) {
        index[i] = order[static_cast<size_t>(i)];
        std::memcpy(static_cast<char*>(value) + i * item, static_cast<const char*>(row) + index[i] * item, static_cast<size_t>(item));
      }
    });
  }
  const auto kernel = call(select_row_stub);
  for_each_row(values, indices, self, dim,
               [&](const void* row, void* value, int64_t* index, uint64_t* scratch) { kernel(self.dtype, row, n, k, largest, sorted, value, index, scratch); });
}

void kthvalue(const Strided& values_any, const Strided& indices_any, const Strided& self_any, int64_t k, int64_t dim) {
  const AtLeast1d values(values_any), indices(indices_any), self(self_any);
  pick("kthvalue", values.get(), indices.get(), self.get(), dim, [k](const auto* row, int64_t n, uint64_t* scratch) {
    CRESSET_CHECK(k >= 1 && k <= n, "kthvalue: selected number k out of range for dimension of size ", n, ", got ", k);
    return kth_position(row, n, k - 1, scratch);
  });
}

void median(const Strided& values_any, const Strided& indices_any, const Strided& self_any, int64_t dim, bool ignore_nan) {
  const AtLeast1d values(values_any), indices(indices_any), self(self_any);
  pick("median", values.get(), indices.get(), self.get(), dim,
       [ignore_nan](const auto* row, int64_t n, uint64_t* scratch) { return median_position(row, n, ignore_nan, scratch); });
}

void mode(const Strided& values_any, const Strided& indices_any, const Strided& self_any, int64_t dim) {
  const AtLeast1d values(values_any), indices(indices_any), self(self_any);
  pick("mode", values.get(), indices.get(), self.get(), dim,
       [t = self_any.dtype](const auto* row, int64_t n, uint64_t* scratch) { return mode_position(t, row, n, scratch); });
}

}  // namespace cresset::kernels
