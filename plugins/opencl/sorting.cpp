// Sorting by ranks: each element counts those that go before it in its row. Long rows are left to the CPU.

#include "call.h"

namespace opencl {

namespace {

constexpr int64_t kLongest = 16384;

// NaNs go behind all numbers upwards and before all downwards; equals keep their order.
const char* const kSort = R"cl(
kernel void run(ulong count, long length, long inner, global const T* x, global T* values, global long* places) {
  const ulong n = get_global_id(0);
  if (n >= count) return;
  const long k = n / inner % length, from = n / inner / length * length * inner + n % inner;
  const C v = LOAD(x, n);
  long rank = 0;
  for (long j = 0; j < length; j++) {
    const C o = LOAD(x, from + j * inner);
    const bool same = o == v || (o != o && v != v);
    rank += same ? j < k : BEFORE;
  }
  values[from + rank * inner] = x[n];
  places[from + rank * inner] = k;
}
)cl";

struct Sorted {
  Tensor values, places;
};
bool sort_along(const Tensor& self, int64_t dim, bool descending, Sorted* out) {
  if (!is_real(self.scalar_type()) || self.scalar_type() == ScalarType::Half) return false;
  const Tensor x = dense(self.dim() ? self : self.unsqueeze(0));
  dim = dim < 0 ? dim + x.dim() : dim;
  const int64_t length = x.size(dim);
  if (length > kLongest) return false;
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < x.dim(); d++) inner *= x.size(d);
  out->values = make_like(x);
  out->places = make(x.sizes(), cresset::kLong, x.device().index());
  if (x.numel() > 0)
    Launch(x.device().index(),
           prelude() + names_of(x.scalar_type()) + "#define BEFORE " + (descending ? "(o > v || (o != o))" : "(o < v || (v != v))") + "\n" + kSort)
        .value<uint64_t>(static_cast<uint64_t>(x.numel()))
        .value(length)
        .value(inner)
        .pointer(x.data_ptr())
        .pointer(out->values.data_ptr())
        .pointer(out->places.data_ptr())
        .run(static_cast<size_t>(x.numel()));
  out->values = out->values.reshape(self.sizes());
  out->places = out->places.reshape(self.sizes());
  return true;
}
bool sort(Call& c) {
  const std::vector<Tensor> outs = c.results();
  Sorted s;
  return sort_along(c.tensor(0), c.integer(2), c.flag(3), &s) && deliver(c, outs, {s.values, s.places});
}
bool topk(Call& c) {
  const std::vector<Tensor> outs = c.results();
  const Tensor& x = c.tensor(0);
  Sorted s;
  if (!sort_along(x, c.integer(2), c.flag(3), &s)) return false;
  if (x.dim() == 0) return c.give(s.values, s.places);
  return c.give(s.values.narrow(c.integer(2), 0, c.integer(1)).contiguous(), s.places.narrow(c.integer(2), 0, c.integer(1)).contiguous());
}
// The element at one place of each sorted row.
bool give_place(Call& c, const Sorted& s, int64_t dim, int64_t place, bool keepdim) {
  if (s.values.dim() == 0) return c.give(s.values, s.places);
  const auto at = [&](const Tensor& t) { return keepdim ? t.narrow(dim, place, 1).contiguous() : t.select(dim, place).contiguous(); };
  return c.give(at(s.values), at(s.places));
}
bool kthvalue(Call& c) {
  c.meta_results();
  Sorted s;
  return sort_along(c.tensor(0), c.integer(2), false, &s) && give_place(c, s, c.integer(2), c.integer(1) - 1, c.flag(3));
}
// The place of the median in each sorted row. NaNs stand last: where there are any, the first of them, or the middle of the others.
Tensor median_place(const Sorted& s, int64_t dim, bool ignore_nan) {
  const Tensor nans = s.values.ne(s.values).sum({dim}, true);
  const Tensor others = nans.neg() + s.values.size(dim);
  const Tensor middle = (others - 1).clamp_min(0).floor_divide(2);
  return ignore_nan ? middle : cresset::where(nans.gt(0), others, middle);
}
bool median(Call& c) {
  const Tensor& x = c.tensor(0);
  c.meta_results();
  Sorted s;
  const int64_t dim = c.integer(1);
  if (x.numel() == 0 || !sort_along(x, dim, false, &s)) return false;
  if (x.dim() == 0) return c.give(s.values, s.places);
  const auto keep = [&](const Tensor& t) { return c.flag(2) ? t : t.squeeze(dim); };
  const Tensor place = median_place(s, dim, c.flag(3));
  return c.give(keep(s.values.gather(dim, place)), keep(s.places.gather(dim, place)));
}
bool whole_median(Call& c, bool ignore_nan) {
  const Tensor x = c.tensor(0).reshape({-1});
  Sorted s;
  if (x.numel() == 0 || !sort_along(x, 0, false, &s)) return false;
  return c.give(s.values.gather(0, median_place(s, 0, ignore_nan)).squeeze(0));
}
// The most frequent value, the smallest of several, and the last place that it stands at.
bool mode(Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  Sorted s;
  if (x.numel() == 0 || !sort_along(x, c.integer(1), false, &s)) return false;
  if (x.dim() == 0) return c.give(s.values, s.places);
  const int64_t dim = c.integer(1) < 0 ? c.integer(1) + x.dim() : c.integer(1), length = x.size(dim);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < x.dim(); d++) inner *= x.size(d);
  const Tensor values = dense(s.values), places = dense(s.places);
  const std::string source =
      prelude() + names_of(x.scalar_type()) +
      "kernel void run(ulong rows, long length, long inner, global const T* x, global const long* places, global T* value, global long* place) {\n"
      "  const ulong n = get_global_id(0);\n  if (n >= rows) return;\n  const long from = n / inner * length * inner + n % inner;\n  long best = 0, most = 0, "
      "run_length = 0;\n"
      "  for (long k = 0; k < length; k++) {\n    run_length = k && LOAD(x, from + k * inner) == LOAD(x, from + (k - 1) * inner) ? run_length + 1 : 1;\n"
      "    if (run_length > most) { most = run_length; best = k; }\n  }\n  value[n] = x[from + best * inner];\n  place[n] = places[from + best * inner];\n}\n";
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(x.numel() / length))
      .value(length)
      .value(inner)
      .pointer(values.data_ptr())
      .pointer(places.data_ptr())
      .pointer(writes[0].data_ptr())
      .pointer(writes[1].data_ptr())
      .run(static_cast<size_t>(x.numel() / length));
  return deliver(c, outs, writes);
}
// Extremes so far, the last of equals.
bool cumulative_extreme(Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (!is_real(x.scalar_type()) || x.numel() == 0) return false;
  const Tensor input = dense(x.dim() ? x : x.unsqueeze(0));
  const int64_t dim = c.integer(1) < 0 ? c.integer(1) + input.dim() : c.integer(1), length = input.size(dim);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < input.dim(); d++) inner *= input.size(d);
  const std::string source =
      prelude() + names_of(x.scalar_type()) +
      "kernel void run(ulong rows, long length, long inner, global const T* x, global T* value, global long* place) {\n"
      "  const ulong n = get_global_id(0);\n  if (n >= rows) return;\n  const long from = n / inner * length * inner + n % inner;\n  long best = 0;\n"
      "  for (long k = 0; k < length; k++) {\n    const C v = LOAD(x, from + k * inner), b = LOAD(x, from + best * inner);\n    if (v != v || (b == b && v " +
      std::string(c.flag(2) ? ">=" : "<=") +
      " b)) best = k;\n    value[from + k * inner] = x[from + best * inner];\n    place[from + k * inner] = best;\n  }\n}\n";
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(input.numel() / length))
      .value(length)
      .value(inner)
      .pointer(input.data_ptr())
      .pointer(writes[0].data_ptr())
      .pointer(writes[1].data_ptr())
      .run(static_cast<size_t>(input.numel() / length));
  return deliver(c, outs, writes);
}

}  // namespace

void add_sorting(cresset::dispatch::Library& m) {
  native(m, "sort.stable", sort);
  native(m, "topk", topk);
  native(m, "kthvalue", kthvalue);
  native(m, "_median", median);
  native(m, "median", [](Call& c) { return whole_median(c, false); });
  native(m, "nanmedian", [](Call& c) { return whole_median(c, true); });
  native(m, "mode", mode);
  native(m, "_cumulative_extreme", cumulative_extreme);
}

}  // namespace opencl
