// gather, scatter and its reducing forms.

#include <limits>
#include <type_traits>
#include <vector>

#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/common/index_tables.h"
#include "cresset/kernels/index/index.h"
#include "cresset/kernels/pointwise/pointwise_kernels.h"

namespace cresset::kernels {

namespace {

// self as seen from the index: its strides, but none along dim, where the index decides.
struct Along {
  DimVector strides;
  int64_t step;  // bytes from one index to the next
};

Along along(const Strided& self, int64_t dim) {
  Along a{DimVector(self.strides), self.strides[static_cast<size_t>(dim)] * self.item()};
  a.strides[static_cast<size_t>(dim)] = 0;
  return a;
}

void check_dims(const char* op, const Strided& self, const Strided& index, int64_t dim) {
  CRESSET_CHECK(self.dim() == index.dim(), op, ": expected an index of as many dimensions as self, got ", index.sizes, " for self ", self.sizes);
  CRESSET_CHECK_INDEX(dim >= 0 && dim < self.dim(), op, ": dimension out of range, got ", dim, " for self ", self.sizes);
}

// row = kernel(row, from), both dense.
[[gnu::noinline]] void run_whole(Loop kernel, void* row, const char* from, int64_t item, int64_t n) {
  char* both[] = {static_cast<char*>(row), static_cast<char*>(row), const_cast<char*>(from)};
  const int64_t steps[] = {item, item, item};
  const Scalar one = 1;
  kernel(both, steps, n, &one);
}

// Calls f(target, source) in the walk's order: target is self's element that the index names, source is src's. `whole` does the
// same for dense runs that one index names.
template <class A, class T, class F>
void for_each_target(const Strided& self, int64_t dim, const Strided& index, const Strided& src, F f, Loop whole = nullptr) {
  const Along a = along(self, dim);
  StridedWalk walk(index.sizes);
  walk.add(src);
  walk.add(self.data, a.strides, self.item());
  walk.add(index);
  walk.mark_ordered(dim);
  walk.plan();
  const int64_t step = a.step;
  walk.run([step, f, whole](char* const* p, const int64_t* s, int64_t n) {
    const char *from = p[0], *ix = p[2];
    char* to = p[1];
    if (s[2] == 0 && s[1] == sizeof(A) && s[0] == sizeof(T)) {
      A* row = reinterpret_cast<A*>(to + *reinterpret_cast<const int64_t*>(ix) * step);
      if constexpr (std::is_same_v<A, T>)
        if (whole) return run_whole(whole, row, from, sizeof(T), n);
      for (int64_t i = 0; i < n; i++) f(row[i], reinterpret_cast<const T*>(from)[i]);
      return;
    }
    const int64_t s0 = s[0], s1 = s[1], s2 = s[2];
    for (; n > 0; n--, from += s0, to += s1, ix += s2)
      f(*reinterpret_cast<A*>(to + *reinterpret_cast<const int64_t*>(ix) * step), *reinterpret_cast<const T*>(from));
  });
}

// Compute type of a reduction: float for the low-precision dtypes, so that long sums do not stall.
template <class T> struct Accumulate { using type = T; };
template <> struct Accumulate<Half> { using type = float; };
template <> struct Accumulate<BFloat16> { using type = float; };

template <class T> struct Combine {
  static T add(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
  static T mul(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
  // NaN wins. The larger one is chosen without a branch, which random numbers would have it mispredict.
  static T max(T a, T b) {
    const T larger = b > a ? b : a;
    return b != b ? b : larger;
  }
  static T min(T a, T b) {
    const T smaller = b < a ? b : a;
    return b != b ? b : smaller;
  }
};

template <class A, class T> void apply(const Strided& self, int64_t dim, const Strided& index, const Strided& src, ScatterReduce reduce) {
  using C = Combine<A>;
  const auto whole = [&](const PointwiseKernel& kernel) { return std::is_same_v<A, T> && !is_complex<T>::value ? kernel.loop(self.dtype) : nullptr; };
  switch (reduce) {
    case ScatterReduce::prod:
      return for_each_target<A, T>(
          self, dim, index, src, [](A& a, T b) { a = C::mul(a, static_cast<A>(b)); }, whole(mul_kernel));
    case ScatterReduce::sum:
    case ScatterReduce::mean:
      return for_each_target<A, T>(
          self, dim, index, src, [](A& a, T b) { a = C::add(a, static_cast<A>(b)); }, whole(add_kernel));
    default: break;
  }
  if constexpr (!is_complex<T>::value) {
    if (reduce == ScatterReduce::amax)
      return for_each_target<A, T>(
          self, dim, index, src, [](A& a, T b) { a = C::max(a, static_cast<A>(b)); }, whole(maximum_kernel));
    for_each_target<A, T>(
        self, dim, index, src, [](A& a, T b) { a = C::min(a, static_cast<A>(b)); }, whole(minimum_kernel));
  }
}

template <class A> A identity(ScatterReduce reduce) {
  using L = std::numeric_limits<A>;
  switch (reduce) {
    case ScatterReduce::prod: return A(1);
    case ScatterReduce::amax:
      if constexpr (!is_complex<A>::value) return L::has_infinity ? -L::infinity() : L::lowest();
      break;
    case ScatterReduce::amin:
      if constexpr (!is_complex<A>::value) return L::has_infinity ? L::infinity() : L::max();
      break;
    default: break;
  }
  return A(0);
}

template <class A> A mean_of(A sum, int32_t count) {
  if constexpr (std::is_same_v<A, bool>) {
    return sum;
  } else if constexpr (std::is_integral_v<A>) {
    if constexpr (std::is_signed_v<A>) {
      const int64_t s = sum, q = s / count;
      return static_cast<A>(q - (s % count < 0));
    } else {
      return static_cast<A>(sum / static_cast<uint64_t>(count));
    }
  } else if constexpr (is_complex<A>::value) {
    using V = typename A::value_type;
    return sum / A(static_cast<V>(count));  // rounded as by the operator div
  } else {
    return sum / static_cast<A>(count);
  }
}

template <class A, class T>
void reduce_into(const Strided& self, int64_t dim, const Strided& index, const Strided& src, ScatterReduce reduce, bool include_self) {
  // `src` is only walked along here.
  if (!include_self) for_each_target<A, T>(self, dim, index, src, [v = identity<A>(reduce)](A& a, T) { a = v; });
  if (reduce != ScatterReduce::mean) return apply<A, T>(self, dim, index, src, reduce);
  std::vector<int32_t> counts(static_cast<size_t>(self.numel()), include_self ? 1 : 0);
  const DimVector strides = contiguous_strides(self.sizes);
  const Strided count(counts.data(), ScalarType::Int, self.sizes, strides);
  if (self.is_contiguous()) {
    for_each_target<A, T>(self, dim, index, src, [first = static_cast<const A*>(self.data), c = counts.data()](A& a, T b) {
      a = Combine<A>::add(a, static_cast<A>(b));
      c[&a - first]++;
    });
  } else {
    apply<A, T>(self, dim, index, src, reduce);
    for_each_target<int32_t, T>(count, dim, index, src, [](int32_t& c, T) { c++; });
  }
  StridedWalk walk(self.sizes);
  walk.add(self);
  walk.add(count);
  walk.plan();
  walk.run([](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      const int32_t c = *reinterpret_cast<const int32_t*>(p[1] + i * s[1]);
      A& a = *reinterpret_cast<A*>(p[0] + i * s[0]);
      a = mean_of(a, c > 1 ? c : 1);  // a branch on random counts would cost more than the division
    }
  });
}

template <class To, class From> void convert(const Strided& to, const Strided& from) {
  StridedWalk walk(to.sizes);
  walk.add(to);
  walk.add(from);
  walk.plan();
  walk.run([](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<To*>(p[0] + i * s[0]) = static_cast<To>(*reinterpret_cast<const From*>(p[1] + i * s[1]));
  });
}

void reduce_checked(const Strided& self, int64_t dim, const Strided& index, const Strided& src, ScatterReduce reduce, bool include_self, const char* op) {
  visit_dtype(self.dtype, op, [&](auto tag) {
    using T = decltype(tag);
    using A = typename Accumulate<T>::type;
    if constexpr (std::is_same_v<A, T>) {
      reduce_into<T, T>(self, dim, index, src, reduce, include_self);
    } else {
      std::vector<float> wide(static_cast<size_t>(self.numel()));
      const DimVector strides = contiguous_strides(self.sizes);
      const Strided buffer(wide.data(), ScalarType::Float, self.sizes, strides);
      convert<float, T>(buffer, self);
      reduce_into<float, T>(buffer, dim, index, src, reduce, include_self);
      convert<T, float>(self, buffer);
    }
  });
}

// Runs kernel(table) over index's shape; `dense` may be larger.
template <class F> void for_each_table_along(const Strided& self, int64_t dim, const Strided& index, const Strided& dense, bool ordered, F kernel) {
  DimVector strides(self.strides);
  strides[static_cast<size_t>(dim)] = 0;
  for_each_table(Strided(dense.data, dense.dtype, index.sizes, dense.strides), {self.data, strides, self.strides[static_cast<size_t>(dim)]}, index,
                 index.strides, dim, ordered ? dim + 1 : dim, kernel);
}

void scatter_from(const Strided& self, int64_t dim, const Strided& index, const Strided& src) {
  const auto kernel = call(scatter_table_stub);
  for_each_table_along(self, dim, index, src, true, [&](const IndexTable& table) { kernel(self.item(), index.item(), table); });
}

}  // namespace

void gather(const Strided& out_any, const Strided& self_any, int64_t dim, const Strided& index_any) {
  const AtLeast1d out_1d(out_any), self_1d(self_any), index_1d(index_any);
  const Strided &out = out_1d.get(), &self = self_1d.get(), &index = index_1d.get();
  check_dims("gather", self, index, dim);
  check_index<Error>("gather", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  const auto kernel = call(gather_table_stub);
  for_each_table_along(self, dim, index, out, false, [&](const IndexTable& table) { kernel(out.item(), index.item(), table); });
}

void scatter(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& src_any) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), src_1d(src_any);
  const Strided &self = self_1d.get(), &index = index_1d.get();
  check_dims("scatter", self, index, dim);
  check_index<Error>("scatter", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  scatter_from(self, dim, index, src_1d.get());
}

void scatter_value(const Strided& self_any, int64_t dim, const Strided& index_any, const Scalar& value) {
  const AtLeast1d self_1d(self_any), index_1d(index_any);
  const Strided &self = self_1d.get(), &index = index_1d.get();
  check_dims("scatter", self, index, dim);
  check_index<Error>("scatter", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  const Bytes16 bytes = element_bytes(value, self.dtype);
  const DimVector zeros(index.sizes.size(), 0);
  scatter_from(self, dim, index, Strided(&bytes, self.dtype, index.sizes, zeros));
}

void scatter_add(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& src_any) {
  if (self_any.dtype == ScalarType::Half || self_any.dtype == ScalarType::BFloat16)
    return scatter_reduce(self_any, dim, index_any, src_any, ScatterReduce::sum, true, "scatter_add");
  const AtLeast1d self_1d(self_any), index_1d(index_any), src_1d(src_any);
  const Strided &self = self_1d.get(), &index = index_1d.get();
  check_dims("scatter_add", self, index, dim);
  check_index<Error>("scatter_add", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  const auto kernel = call(scatter_add_table_stub);
  for_each_table_along(self, dim, WideIndex(index, "scatter_add").get(), src_1d.get(), true,
                       [&](const IndexTable& table) { kernel(self.dtype, table, nullptr); });
}

void scatter_reduce(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& src_any, ScatterReduce reduce, bool include_self,
                    const char* op) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), src_1d(src_any);
  const Strided &self = self_1d.get(), &index = index_1d.get();
  check_dims(op, self, index, dim);
  CRESSET_CHECK_NOT_IMPLEMENTED(!(reduce == ScatterReduce::mean && self.dtype == ScalarType::Bool), op, ": mean is not implemented for bool");
  CRESSET_CHECK_NOT_IMPLEMENTED(!((reduce == ScatterReduce::amax || reduce == ScatterReduce::amin) && is_complex_type(self.dtype)), op,
                                ": amax and amin are not implemented for ", self.dtype);
  check_index<Error>(op, index, self.sizes[static_cast<size_t>(dim)], dim, false);
  if (index.numel() == 0) return;
  reduce_checked(self, dim, WideIndex(index, op).get(), src_1d.get(), reduce, include_self, op);
}

}  // namespace cresset::kernels
