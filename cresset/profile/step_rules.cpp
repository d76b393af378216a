// The table of steps: what PyTorch 2.13 calls within each operator on a CPU, as its profiler shows it.

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "cresset/profile/steps.h"

namespace cresset::profile {

namespace {

using Ints = SmallVector<int64_t, 4>;

bool is_tensor(const Fact& f) { return f.kind == Fact::kTensor; }
int64_t numel(const Fact& t) { return std::accumulate(t.sizes.begin(), t.sizes.end(), int64_t{1}, std::multiplies<>()); }
int64_t integer(const Fact& f, int64_t otherwise = 0) { return f.kind == Fact::kNumber ? static_cast<int64_t>(f.number) : otherwise; }
const Fact& at(const Facts& a, size_t i) {
  static const Fact missing;
  return i < a.size() ? a[i] : missing;
}
int64_t wrapped(int64_t dim, const Fact& t) { return dim < 0 ? dim + static_cast<int64_t>(t.sizes.size()) : dim; }
bool is_contiguous(const Fact& t) {
  int64_t stride = 1;
  for (size_t d = t.sizes.size(); d-- > 0;) {
    if (t.sizes[d] != 1 && t.strides.size() > d && t.strides[d] != stride) return false;
    stride *= t.sizes[d];
  }
  return true;
}
// The elements fill one block of memory, in any order.
bool is_dense(const Fact& t) {
  if (t.strides.size() != t.sizes.size()) return false;
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t d = 0; d < t.sizes.size(); d++)
    if (t.sizes[d] != 1) steps.emplace_back(t.strides[d], t.sizes[d]);
  std::sort(steps.begin(), steps.end());
  int64_t stride = 1;
  for (const auto& [step, size] : steps) {
    if (step != stride) return false;
    stride *= size;
  }
  return true;
}
Fact strided(const Fact& like, const Ints& sizes, const Ints& strides) {
  Fact f = like;
  f.sizes = sizes;
  f.strides = strides;
  return f;
}
Fact shaped(const Fact& like, ArrayRef<int64_t> sizes) { return tensor_fact(sizes, like.dtype); }
Fact scalar(ScalarType dtype) { return tensor_fact({}, dtype); }

Fact gives_itself(Steps&, const Facts& a) { return at(a, 0); }

// ---- views ----

Fact as_strided(Steps& s, const Fact& x, const Ints& sizes, const Ints& strides) {
  s.call("as_strided", {x, sizes_fact(sizes), sizes_fact(strides), none()});
  return strided(x, sizes, strides);
}
Fact transpose(Steps& s, const Facts& a) {
  Ints sizes = a[0].sizes, strides = a[0].strides;
  const auto i = static_cast<size_t>(wrapped(integer(a[1]), a[0])), j = static_cast<size_t>(wrapped(integer(a[2]), a[0]));
  if (i < sizes.size() && j < sizes.size() && j < strides.size()) {
    std::swap(sizes[i], sizes[j]);
    std::swap(strides[i], strides[j]);
  }
  return as_strided(s, a[0], sizes, strides);
}
Fact t(Steps& s, const Facts& a) { return s.call("transpose", {a[0], number(int64_t{0}), number(int64_t{a[0].sizes.size() < 2 ? 0 : 1})}); }
Fact mT(Steps& s, const Facts& a) { return s.call("transpose", {a[0], number(int64_t{-2}), number(int64_t{-1})}); }
Fact expand(Steps& s, const Facts& a) {
  Ints sizes = a[1].sizes, strides(sizes.size(), 0);
  const size_t added = sizes.size() - std::min(sizes.size(), a[0].sizes.size());
  for (size_t d = added; d < sizes.size(); d++) {
    if (sizes[d] == -1) sizes[d] = a[0].sizes[d - added];
    if (a[0].sizes[d - added] == sizes[d] && d - added < a[0].strides.size()) strides[d] = a[0].strides[d - added];
  }
  return as_strided(s, a[0], sizes, strides);
}
Fact without_dim(Steps& s, const Fact& x, int64_t dim) {
  Ints sizes, strides;
  for (size_t d = 0; d < x.sizes.size(); d++) {
    if (static_cast<int64_t>(d) == wrapped(dim, x)) continue;
    sizes.push_back(x.sizes[d]);
    strides.push_back(d < x.strides.size() ? x.strides[d] : 1);
  }
  return as_strided(s, x, sizes, strides);
}
Fact select(Steps& s, const Facts& a) { return without_dim(s, a[0], integer(a[1])); }
Fact slice(Steps& s, const Facts& a) {
  Fact x = a[0];
  const auto d = static_cast<size_t>(wrapped(integer(at(a, 1)), x));
  if (d >= x.sizes.size()) return as_strided(s, x, x.sizes, x.strides);
  const int64_t size = x.sizes[d], step = std::max<int64_t>(integer(at(a, 4), 1), 1);
  const auto limited = [&](int64_t v) { return std::min(std::max<int64_t>(v < 0 ? v + size : v, 0), size); };
  const int64_t start = limited(integer(at(a, 2), 0)), end = limited(std::min<int64_t>(integer(at(a, 3), size), size));
  Ints sizes = x.sizes, strides = x.strides;
  sizes[d] = (std::max<int64_t>(end - start, 0) + step - 1) / step;
  if (d < strides.size()) strides[d] *= step;
  return as_strided(s, x, sizes, strides);
}
Fact narrow(Steps& s, const Facts& a) {
  const int64_t start = integer(at(a, 2));
  return s.call("slice", {a[0], a[1], at(a, 2), number(start + integer(at(a, 3))), number(int64_t{1})});
}
Fact unsqueeze(Steps& s, const Facts& a) {
  const auto n = static_cast<int64_t>(a[0].sizes.size());
  int64_t dim = integer(a[1]);
  if (dim < 0) dim += n + 1;
  Ints sizes = a[0].sizes, strides = a[0].strides;
  const int64_t step = dim < n && static_cast<size_t>(dim) < strides.size() ? sizes[static_cast<size_t>(dim)] * strides[static_cast<size_t>(dim)] : 1;
  sizes.insert(sizes.begin() + dim, 1);
  strides.insert(strides.begin() + std::min<int64_t>(dim, static_cast<int64_t>(strides.size())), step);
  return as_strided(s, a[0], sizes, strides);
}
Fact squeeze(Steps& s, const Facts& a) {
  const auto asked = [&](size_t d) {
    if (a.size() < 2) return true;
    if (a[1].kind == Fact::kSizes)
      return std::any_of(a[1].sizes.begin(), a[1].sizes.end(), [&](int64_t v) { return wrapped(v, a[0]) == static_cast<int64_t>(d); });
    return wrapped(integer(a[1]), a[0]) == static_cast<int64_t>(d);
  };
  Ints sizes, strides;
  for (size_t d = 0; d < a[0].sizes.size(); d++) {
    if (a[0].sizes[d] == 1 && asked(d)) continue;
    sizes.push_back(a[0].sizes[d]);
    strides.push_back(d < a[0].strides.size() ? a[0].strides[d] : 1);
  }
  return as_strided(s, a[0], sizes, strides);
}
Fact permute(Steps& s, const Facts& a) {
  Ints sizes, strides;
  for (const int64_t d : a[1].sizes) {
    const auto from = static_cast<size_t>(wrapped(d, a[0]));
    if (from >= a[0].sizes.size()) return a[0];
    sizes.push_back(a[0].sizes[from]);
    strides.push_back(from < a[0].strides.size() ? a[0].strides[from] : 1);
  }
  return as_strided(s, a[0], sizes, strides);
}
Fact diagonal(Steps& s, const Facts& a) { return as_strided(s, a[0], a[0].sizes, a[0].strides); }
Fact plain_view(Steps& s, const Facts& a) { return as_strided(s, a[0], a[0].sizes, a[0].strides); }

Ints inferred(const Fact& x, const Ints& asked) {
  Ints sizes = asked;
  int64_t known = 1;
  for (const int64_t v : sizes) known *= v == -1 ? 1 : v;
  for (int64_t& v : sizes)
    if (v == -1) v = known ? numel(x) / known : 0;
  return sizes;
}
Fact view(Steps&, const Facts& a) { return a[1].kind == Fact::kSizes ? shaped(a[0], inferred(a[0], a[1].sizes)) : a[0]; }
Fact reshape(Steps& s, const Facts& a) {
  const Fact &x = a[0], &sizes = a[1];
  if (is_contiguous(x)) return s.call("view", {x, sizes});
  // Dimensions of size 1 come and go without a copy; others are merged only where they lie one after another.
  Ints from, steps, to;
  for (size_t d = 0; d < x.sizes.size(); d++)
    if (x.sizes[d] != 1) from.push_back(x.sizes[d]), steps.push_back(x.strides[d]);
  const Ints asked = inferred(x, sizes.sizes);
  for (const int64_t v : asked)
    if (v != 1) to.push_back(v);
  if (from == to) {
    Ints strides;
    size_t d = 0;
    for (size_t k = 0; k < asked.size(); k++) strides.push_back(asked[k] == 1 ? (d < steps.size() ? steps[d] * from[d] : 1) : steps[d++]);
    s.call("_reshape_alias", {x, sizes_fact(asked), sizes_fact(strides)});
    return strided(x, asked, strides);
  }
  s.call("clone", {x, number(int64_t{0})});
  return s.call("_unsafe_view", {shaped(x, x.sizes), sizes_fact(asked)});
}
Fact view_as(Steps& s, const Facts& a) { return s.call("view", {a[0], sizes_fact(a[1].sizes)}); }
Fact flatten(Steps& s, const Facts& a) {
  if (a[0].sizes.size() == 1) return a[0];
  const auto first = static_cast<size_t>(wrapped(integer(at(a, 1)), a[0])), last = static_cast<size_t>(wrapped(integer(at(a, 2), -1), a[0]));
  Ints sizes;
  int64_t merged = 1;
  for (size_t d = 0; d < a[0].sizes.size(); d++) {
    if (d < first || d > last) {
      sizes.push_back(a[0].sizes[d]);
      continue;
    }
    merged *= a[0].sizes[d];
    if (d == last) sizes.push_back(merged);
  }
  if (a[0].sizes.empty()) sizes.push_back(1);
  return s.call("reshape", {a[0], sizes_fact(sizes)});
}
Fact split(Steps& s, const Facts& a) {
  const int64_t dim = integer(at(a, 2)), step = integer(a[1]);
  const auto d = static_cast<size_t>(wrapped(dim, a[0]));
  for (int64_t start = 0; d < a[0].sizes.size() && step > 0 && start < a[0].sizes[d]; start += step)
    s.call("narrow", {a[0], number(dim), number(start), number(std::min(step, a[0].sizes[d] - start))});
  return none();
}
Fact chunk(Steps& s, const Facts& a) {
  const auto d = static_cast<size_t>(wrapped(integer(at(a, 2)), a[0]));
  const int64_t size = d < a[0].sizes.size() ? a[0].sizes[d] : 1, n = std::max<int64_t>(integer(a[1], 1), 1);
  return s.call("split", {a[0], number((size + n - 1) / n), number(integer(at(a, 2)))});
}
Fact split_with_sizes(Steps& s, const Facts& a) {
  for (const int64_t size : a[1].sizes) {
    (void)size;
    as_strided(s, a[0], a[0].sizes, a[0].strides);
  }
  return none();
}
Fact unbind(Steps& s, const Facts& a) {
  const int64_t dim = integer(at(a, 1));
  const auto d = static_cast<size_t>(wrapped(dim, a[0]));
  for (int64_t i = 0; d < a[0].sizes.size() && i < a[0].sizes[d]; i++) s.call("select", {a[0], number(dim), number(i)});
  return none();
}
Fact detach(Steps& s, const Facts& a) {
  s.call(":detach", {a[0]});
  return a[0];
}
Fact detach_(Steps& s, const Facts& a) {
  s.call(":detach_", {a[0]});
  return a[0];
}

// ---- memory, copies and casts ----

Fact empty(Steps& s, ArrayRef<int64_t> sizes, ScalarType dtype) {
  s.call("empty", {sizes_fact(sizes), dtype_fact(dtype), number(int64_t{0}), none(), none(), none()});
  return tensor_fact(sizes, dtype);
}
Fact empty_strided(Steps& s, const Fact& like, ScalarType dtype) {
  s.call("empty_strided", {sizes_fact(like.sizes), sizes_fact(like.strides), dtype_fact(dtype), number(int64_t{0}), none(), none()});
  Fact f = like;
  f.dtype = dtype;
  return f;
}
ScalarType dtype_in(const Facts& a, ScalarType otherwise) {
  for (const Fact& f : a)
    if (f.kind == Fact::kDtype) return f.dtype;
  return otherwise;
}
Fact empty_like(Steps& s, const Facts& a) {
  const ScalarType dtype = dtype_in(a, a[0].dtype);
  const bool contiguous = a.back().kind == Fact::kNumber && integer(a.back()) == 0;
  return contiguous || !is_dense(a[0]) ? empty(s, a[0].sizes, dtype) : empty_strided(s, a[0], dtype);
}
Fact copy_into(Steps& s, const Fact& to, const Fact& from) {
  s.call("copy_", {to, from, flag(false)});
  return to;
}
Fact clone(Steps& s, const Facts& a) {
  const bool keeps = a.size() < 2 || a[1].kind == Fact::kNone || integer(a[1]) == 1;
  Fact out = keeps && is_dense(a[0]) ? empty_strided(s, a[0], a[0].dtype)
                                     : s.call("empty_like", {a[0], dtype_fact(a[0].dtype), number(int64_t{0}), none(), none(), number(int64_t{0})});
  return copy_into(s, out, a[0]);
}
Fact contiguous(Steps& s, const Facts& a) { return is_contiguous(a[0]) ? a[0] : s.call("clone", {a[0], number(int64_t{0})}); }
Fact to_copy(Steps& s, const Facts& a) {
  const ScalarType dtype = dtype_in(a, a[0].dtype);
  return copy_into(
      s, is_dense(a[0]) ? empty_strided(s, a[0], dtype) : s.call("empty_like", {a[0], dtype_fact(dtype), number(int64_t{0}), none(), none(), none()}), a[0]);
}
Fact cast(Steps& s, const Fact& x, ScalarType dtype) { return s.call("to", {x, dtype_fact(dtype), flag(false), flag(false), none()}); }
Fact to(Steps& s, const Facts& a) {
  const ScalarType dtype = a.size() > 1 && is_tensor(a[1]) ? a[1].dtype : dtype_in(a, a[0].dtype);
  // Of the flags the second one asks for a copy.
  int flags = 0;
  bool copies = false;
  for (const Fact& f : a)
    if (f.kind == Fact::kNumber && f.dtype == ScalarType::Bool && ++flags == 2) copies = f.number != 0;
  if (dtype == a[0].dtype && !copies) return a[0];
  return s.call("_to_copy", {a[0], dtype_fact(dtype), none(), none(), none(), flag(false), none()});
}

// ---- creation ----

ScalarType default_dtype() { return ScalarType::Float; }

template <int fill> Fact filled(Steps& s, const Facts& a) {
  const ScalarType dtype = dtype_in(a, default_dtype());
  const Fact out = empty(s, a[0].sizes, dtype);
  if (fill == 0) s.call("zero_", {out});
  else s.call("fill_", {out, fill == 1 ? number(1.0) : at(a, 1)});
  return out;
}
template <int fill> Fact filled_like(Steps& s, const Facts& a) {
  const Fact out = s.call("empty_like", a);
  if (fill == 0) s.call("zero_", {out});
  else s.call("fill_", {out, fill == 1 ? number(1.0) : at(a, 1)});
  return out;
}
template <int fill> Fact new_filled(Steps& s, const Facts& a) {
  const Fact out = s.call("new_empty", {a[0], a[1], dtype_fact(dtype_in(a, a[0].dtype)), none(), none(), none()});
  if (fill == 0) s.call("zero_", {out});
  else s.call("fill_", {out, fill == 1 ? number(1.0) : at(a, 2)});
  return out;
}
Fact new_empty(Steps& s, const Facts& a) { return empty(s, a[1].sizes, dtype_in(a, a[0].dtype)); }
// By numbers that a generator gives, or by an out= form of the operator itself.
Fact random_filled(Steps& s, const Facts& a, const char* by) {
  const Fact out = empty(s, a[0].sizes, dtype_in(a, default_dtype()));
  s.call(by, {out, number(0.0), number(1.0), none()});
  return out;
}
Fact rand_steps(Steps& s, const Facts& a) { return random_filled(s, a, "uniform_"); }
Fact randn_steps(Steps& s, const Facts& a) { return random_filled(s, a, "normal_"); }
Fact randint_steps(Steps& s, const Facts& a) {
  const Fact* sizes = nullptr;
  for (const Fact& f : a)
    if (f.kind == Fact::kSizes) sizes = &f;
  const Fact out = empty(s, sizes ? sizes->sizes : Ints(), dtype_in(a, ScalarType::Long));
  s.call("random_", {out, number(int64_t{0}), a[0], none()});
  return out;
}
Fact randperm_steps(Steps& s, const Facts& a) {
  const Fact out = empty(s, {integer(a[0])}, dtype_in(a, ScalarType::Long));
  s.call("randperm.out", {a[0], none(), out});
  return out;
}

Fact randperm_out(Steps& s, const Facts& a) {
  s.call("scalar_tensor", {number(integer(a[0]) - 1), dtype_fact(ScalarType::Long), number(int64_t{0}), none(), none()});
  for (int i = 0; i < 2; i++) s.call("resize_", {a[2], sizes_fact({integer(a[0])}), none()});
  return a[2];
}
Fact eye(Steps& s, const Facts& a) {
  const int64_t n = integer(a[0]), m = at(a, 1).kind == Fact::kNumber ? integer(a[1]) : n;
  const Fact out = empty(s, {0}, dtype_in(a, default_dtype()));
  s.call("eye.out", {number(n), number(m), out});
  return tensor_fact({n, m}, out.dtype);
}
Fact eye_out(Steps& s, const Facts& a) {
  const Ints sizes{integer(a[0]), integer(a[1])};
  s.call("resize_", {a[2], sizes_fact(sizes), none()});
  s.call("zero_", {shaped(a[2], sizes)});
  return shaped(a[2], sizes);
}

// ---- pointwise: operands of another dtype than that of the computation are cast first ----

int rank_of(const Fact& f) { return f.is_wrapped || f.kind == Fact::kNumber ? 0 : f.sizes.empty() ? 1 : 2; }
int kind_of(ScalarType t) { return t == ScalarType::Bool ? 0 : is_integral_type(t, false) ? 1 : is_complex_type(t) ? 3 : 2; }
ScalarType computed_in(const Facts& operands) {
  bool any = false;
  ScalarType result = ScalarType::Bool;
  for (int rank = 2; rank >= 0; rank--) {
    bool here = false;
    ScalarType own = ScalarType::Bool;
    for (const Fact& f : operands) {
      if (rank_of(f) != rank) continue;
      own = here ? promote_types(own, f.dtype) : f.dtype;
      here = true;
    }
    if (!here) continue;
    if (rank == 0 && own == ScalarType::Double && kind_of(own) > (any ? kind_of(result) : -1)) own = default_dtype();
    if (!any || kind_of(own) > kind_of(result)) result = any ? promote_types(result, own) : own;
    any = true;
  }
  return result;
}
Facts operands_of(const Facts& a, size_t count) {
  Facts found;
  for (size_t i = 0; i < count && i < a.size(); i++) {
    Fact f = a[i];
    if (f.kind == Fact::kNumber) {
      f = scalar(f.dtype);
      f.is_wrapped = true;
    }
    if (is_tensor(f)) found.push_back(std::move(f));
  }
  return found;
}
Fact computed(Steps& s, const Facts& operands, ScalarType dtype) {
  size_t widest = 0;
  for (size_t i = 0; i < operands.size(); i++)
    if (operands[i].sizes.size() > operands[widest].sizes.size()) widest = i;
  for (const Fact& f : operands)
    if (f.dtype != dtype) cast(s, f, dtype);
  return operands.empty() ? none() : tensor_fact(operands[widest].sizes, dtype);
}
Fact binary(Steps& s, const Facts& a) {
  const Facts operands = operands_of(a, 2);
  return computed(s, operands, computed_in(operands));
}
Fact ternary(Steps& s, const Facts& a) {
  const Facts operands = operands_of(a, 3);
  return computed(s, operands, computed_in(operands));
}
// Of whole numbers floating-point ones become.
Fact binary_float(Steps& s, const Facts& a) {
  const Facts operands = operands_of(a, 2);
  const ScalarType dtype = computed_in(operands);
  return computed(s, operands, kind_of(dtype) < 2 && a.size() < 3 ? default_dtype() : dtype);
}
Fact where(Steps& s, const Facts& a) {
  Facts operands = a.size() > 2 ? Facts{a[1], a[2]} : Facts();
  operands = operands_of(operands, 2);
  return computed(s, operands, computed_in(operands));
}
Fact unary_float(Steps& s, const Facts& a) {
  if (kind_of(a[0].dtype) < 2) cast(s, a[0], default_dtype());
  return a[0];
}
Fact power(Steps& s, const Facts& a) {
  if (!is_tensor(a[0]) || is_tensor(at(a, 1))) return is_tensor(a[0]) && !at(a, 1).is_wrapped ? binary(s, a) : a[0];
  s.call("result_type", {a[0], a[1]});
  s.call("to", {a[0], dtype_fact(a[0].dtype), flag(false), flag(false), none()});
  if (a[1].number == 1.0) copy_into(s, a[0], a[0]);
  return a[0];
}
Fact relu(Steps& s, const Facts& a) { return s.call("clamp_min", {a[0], number(int64_t{0})}); }
Fact relu_(Steps& s, const Facts& a) { return s.call("clamp_min_", {a[0], number(int64_t{0})}); }
Fact dropout(Steps& s, const Facts& a) {
  if (at(a, 2).number == 0 || at(a, 1).number == 0) return a[0];
  const Fact noise = s.call("empty_like", {a[0], none(), none(), none(), none(), none()});
  s.call("bernoulli_", {noise, number(1 - a[1].number), none()});
  s.call("div_", {noise, number(1 - a[1].number)});
  return s.call("mul", {a[0], noise});
}
Fact complex_of(Steps& s, const Facts& a) {
  const ScalarType dtype = a[0].dtype == ScalarType::Double ? ScalarType::ComplexDouble : ScalarType::ComplexFloat;
  const Fact out = empty(s, {0}, dtype);
  s.call("complex.out", {a[0], a[1], out});
  return tensor_fact(a[0].sizes, dtype);
}

// ---- reductions ----

// The sizes after the dimensions are summed; `kept` is where they stay with size 1.
Fact reduced(const Fact& x, const Fact& dims, bool keepdim, Fact* kept) {
  const size_t n = x.sizes.size();
  std::vector<bool> gone(n, dims.kind != Fact::kNumber && dims.sizes.empty());
  const auto mark = [&](int64_t d) {
    const int64_t w = wrapped(d, x);
    if (w >= 0 && w < static_cast<int64_t>(n)) gone[static_cast<size_t>(w)] = true;
  };
  if (dims.kind == Fact::kNumber) mark(integer(dims));
  for (const int64_t d : dims.sizes) mark(d);
  Ints sizes, wide;
  for (size_t d = 0; d < n; d++) {
    wide.push_back(gone[d] ? 1 : x.sizes[d]);
    if (!gone[d] || keepdim) sizes.push_back(wide.back());
  }
  if (kept) {
    *kept = shaped(x, wide);
    for (size_t d = 0; d < n; d++)
      if (gone[d]) kept->strides[d] = 0;
  }
  return shaped(x, sizes);
}
// The kernel writes through a view in which the dimensions are still there.
Fact spread(Steps& s, const Fact& out, const Fact& kept, bool keepdim) { return keepdim ? out : as_strided(s, out, kept.sizes, kept.strides); }
Fact dims_of(const Facts& a) { return a.size() > 2 || at(a, 1).kind == Fact::kSizes || at(a, 1).kind == Fact::kNumber ? at(a, 1) : none(); }
bool keeps_dims(const Facts& a) { return a.size() > 2 && a[2].kind == Fact::kNumber && a[2].number != 0; }

Fact reduction(Steps& s, const Facts& a, const char* starts_with, double value) {
  Fact kept, out = reduced(a[0], dims_of(a), keeps_dims(a), &kept);
  const Fact written = spread(s, out, kept, keeps_dims(a));
  if (starts_with) s.call(starts_with, {written, number(value)});
  return out;
}
Fact sum(Steps& s, const Facts& a) {
  Fact x = a[0];
  if (kind_of(x.dtype) < 2 && dtype_in(a, ScalarType::Long) == ScalarType::Long && x.dtype != ScalarType::Long) x = cast(s, x, ScalarType::Long);
  return reduction(s, a, "fill_", 0.0);
}
Fact mean(Steps& s, const Facts& a) {
  Facts given{a[0], dims_of(a), flag(keeps_dims(a)), dtype_fact(dtype_in(a, a[0].dtype))};
  if (given[1].kind == Fact::kNone) given[1] = sizes_fact({});
  const Fact out = s.call("sum", given);
  s.call("div_", {out, number(numel(out) ? numel(a[0]) / numel(out) : int64_t{1})});
  return out;
}
Fact extreme(Steps& s, const Facts& a) {
  if (a.size() > 1 && is_tensor(a[1])) return binary(s, a);
  if (a.size() > 1) return reduction(s, {a[0], a[1], at(a, 2)}, nullptr, 0);
  const Fact out = empty(s, {}, a[0].dtype);
  s.call("fill_", {out, number(0.0)});
  return out;
}
Fact viewed_reduction(Steps& s, const Facts& a) { return reduction(s, a, nullptr, 0); }
Fact norm_reduction(Steps& s, const Facts& a) { return reduction(s, {a[0], at(a, 2), at(a, 3)}, nullptr, 0); }
Fact all_reduction(Steps& s, const Facts& a) { return reduction(s, a, "fill_", 1.0); }
Fact standard_deviation(Steps& s, const Facts& a) {
  const bool whole = dims_of(a).sizes.empty() && dims_of(a).kind != Fact::kNumber;
  const Fact start = empty(s, {0}, a[0].dtype);
  if (!whole) return reduction(s, {a[0], dims_of(a), at(a, a.size() - 1)}, nullptr, 0);
  const Fact out = reduction(s, {a[0]}, nullptr, 0);
  s.call("mean", {a[0], none()});
  s.call("item", {out});
  s.call("fill_", {out, number(0.0)});
  return out;
}
Fact item(Steps& s, const Facts& a) {
  s.call("_local_scalar_dense", {a[0]});
  return none();
}
Fact is_nonzero(Steps& s, const Facts& a) { return s.call("item", {a[0]}); }

// ---- products ----

Fact conj_resolved(Steps& s, const Fact& f) {
  s.call("resolve_conj", {f});
  return f;
}
// A product of matrices: operands that lie row by row are resolved, those that lie column by column are taken as they are, others are copied.
void operand(Steps& s, const Fact& m) {
  if (m.sizes.size() != 2 || m.strides.size() != 2) return;
  const auto least = [](int64_t v) { return std::max<int64_t>(v, 1); };
  if (m.strides[1] == 1 && m.strides[0] >= least(m.sizes[1])) {
    conj_resolved(s, m);
  } else if (!(m.strides[0] == 1 && m.strides[1] >= least(m.sizes[0]))) {
    s.call("clone", {m, number(int64_t{0})});
  }
}
Fact mm(Steps& s, const Facts& a) {
  if (a[0].sizes.size() != 2 || a[1].sizes.size() != 2) return none();
  const Fact out = shaped(a[0], {a[0].sizes[0], a[1].sizes[1]});
  if (!numel(out)) return out;
  conj_resolved(s, out);
  for (const Fact* m : {&a[1], &a[0]})
    if (m->strides.size() == 2 && m->strides[1] == 1) operand(s, *m);
  for (const Fact* m : {&a[1], &a[0]})
    if (m->strides.size() == 2 && m->strides[1] != 1) operand(s, *m);
  return out;
}
Fact addmm(Steps& s, const Facts& a) {
  if (a.size() < 3 || a[1].sizes.size() != 2 || a[2].sizes.size() != 2) return none();
  const Fact out = shaped(a[0], {a[1].sizes[0], a[2].sizes[1]});
  Fact bias = a[0];
  if (bias.sizes.size() != out.sizes.size() || !std::equal(bias.sizes.begin(), bias.sizes.end(), out.sizes.begin()))
    bias = s.call("expand", {bias, sizes_fact(out.sizes), flag(false)});
  copy_into(s, out, bias);
  conj_resolved(s, out);
  for (const Fact* m : {&a[2], &a[1]}) operand(s, *m);
  return out;
}
Fact bmm(Steps& s, const Facts& a) {
  if (a[0].sizes.size() != 3 || a[1].sizes.size() != 3) return none();
  conj_resolved(s, a[1]);
  conj_resolved(s, a[0]);
  return shaped(a[0], {a[0].sizes[0], a[0].sizes[1], a[1].sizes[2]});
}
Fact matmul(Steps& s, const Facts& a) {
  const Fact &x = a[0], &y = a[1];
  const size_t n = x.sizes.size(), m = y.sizes.size();
  if (n == 1 && m == 1) return s.call("dot", {x, y});
  if (n == 2 && m == 1) return s.call("mv", {x, y});
  if (n == 2 && m == 2) return s.call("mm", {x, y});
  if (n == 1 && m == 2) {
    const Fact row = s.call("unsqueeze", {x, number(int64_t{0})});
    const Fact out = s.call("mm", {row, y});
    return s.call("squeeze_", {out, number(int64_t{0})});
  }
  if (n >= 3 && m == 2) {
    const int64_t last = x.sizes.back();
    const Fact rows = s.call("reshape", {x, sizes_fact({last ? numel(x) / last : 0, last})});
    const Fact out = s.call("mm", {rows, y});
    Ints sizes = x.sizes;
    sizes.back() = y.sizes[1];
    return s.call("_unsafe_view", {out, sizes_fact(sizes)});
  }
  if (n >= 3 && m >= 3) {
    Ints batch;
    const size_t dims = std::max(n, m) - 2;
    for (size_t d = 0; d < dims; d++) {
      const int64_t p = d + n >= dims + 2 ? x.sizes[d + n - dims - 2] : 1, q = d + m >= dims + 2 ? y.sizes[d + m - dims - 2] : 1;
      batch.push_back(std::max(p, q));
    }
    const int64_t count = std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
    const auto flat = [&](const Fact& f) {
      Ints wide = batch;
      const int64_t r = f.sizes[f.sizes.size() - 2], c = f.sizes.back();
      wide.push_back(r);
      wide.push_back(c);
      const Fact e = s.call("expand", {f, sizes_fact(wide), flag(false)});
      return s.call("reshape", {e, sizes_fact({count, r, c})});
    };
    const Fact p = flat(x), q = flat(y);
    const Fact out = s.call("bmm", {p, q});
    batch.push_back(x.sizes[n - 2]);
    batch.push_back(y.sizes[m - 1]);
    return s.call("_unsafe_view", {out, sizes_fact(batch)});
  }
  return none();
}
Fact linear(Steps& s, const Facts& a) {
  const Fact weight = s.call("t", {a[1]});
  const bool bias = is_tensor(at(a, 2));
  if (bias && a[0].sizes.size() == 2) return s.call("addmm", {a[2], a[0], weight, number(int64_t{1}), number(int64_t{1})});
  if (bias && a[0].sizes.size() > 2 && is_contiguous(a[0])) {
    const int64_t last = a[0].sizes.back();
    Ints sizes = a[0].sizes;
    sizes.back() = a[1].sizes.empty() ? 1 : a[1].sizes[0];
    const Fact rows = s.call("view", {a[0], sizes_fact({last ? numel(a[0]) / last : 0, last})});
    const Fact out = s.call("addmm", {a[2], rows, weight, number(int64_t{1}), number(int64_t{1})});
    return s.call("view", {out, sizes_fact(sizes)});
  }
  const Fact out = s.call("matmul", {a[0], weight});
  if (bias) s.call("add_", {out, a[2], number(int64_t{1})});
  return out;
}
Fact stack(Steps& s, const Facts& a) {
  if (a[0].tensors.empty()) return none();
  const int64_t dim = integer(at(a, 1));
  const Fact& first = a[0].tensors[0];
  Ints sizes = first.sizes;
  const auto place = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) + 1 : dim);
  if (place >= sizes.size()) {
    Facts wide;
    for (const Fact& f : a[0].tensors) wide.push_back(s.call("unsqueeze", {f, number(dim)}));
    Fact list = a[0];
    list.tensors = wide;
    s.call("cat", {list, number(dim)});
    return none();
  }
  s.call("cat", {a[0], number(dim)});
  const auto n = static_cast<int64_t>(a[0].tensors.size());
  Ints joined = sizes;
  joined[place] *= n;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(place), n);
  return s.call("view", {shaped(first, joined), sizes_fact(sizes)});
}

// Two operands: both get all labels, in the order of the result and then those summed over, and are multiplied as a batch of matrices.
Fact einsum(Steps& s, const Facts& a) {
  std::string text;
  for (const char c : a[0].text)
    if (c != ' ') text += c;
  const size_t comma = text.find(','), arrow = text.find("->");
  if (a[1].tensors.size() != 2 || comma == std::string::npos || arrow == std::string::npos || text.find('.') != std::string::npos) return none();
  const std::string labels[2] = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1)}, kept = text.substr(arrow + 2);
  std::string all = kept;
  for (const std::string& of : labels)
    for (const char c : of)
      if (all.find(c) == std::string::npos) all += c;
  Fact wide[2];
  for (int k = 0; k < 2; k++) {
    Fact x = a[1].tensors[static_cast<size_t>(k)];
    if (x.sizes.size() != labels[k].size()) return none();
    std::string own = labels[k];
    for (const char c : all)
      if (own.find(c) == std::string::npos) {
        x = s.call("unsqueeze", {x, number(static_cast<int64_t>(own.size()))});
        own += c;
      }
    Ints order;
    for (const char c : all) order.push_back(static_cast<int64_t>(own.find(c)));
    wide[k] = s.call("permute", {x, sizes_fact(order)});
  }
  Ints both, left, right, summed;
  for (size_t d = 0; d < all.size(); d++) {
    const bool in_left = labels[0].find(all[d]) != std::string::npos, in_right = labels[1].find(all[d]) != std::string::npos;
    (d >= kept.size() ? summed : in_left && in_right ? both : in_left ? left : right).push_back(static_cast<int64_t>(d));
  }
  const auto size = [&](const Ints& dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= std::max(wide[0].sizes[static_cast<size_t>(d)], wide[1].sizes[static_cast<size_t>(d)]);
    return n;
  };
  const auto flat = [&](const Fact& x, std::initializer_list<const Ints*> order, const Ints& sizes) {
    Ints dims;
    for (const Ints* part : order)
      for (const int64_t d : *part) dims.push_back(d);
    return s.call("reshape", {s.call("permute", {x, sizes_fact(dims)}), sizes_fact(sizes)});
  };
  const Fact p = flat(wide[0], {&both, &left, &summed, &right}, {size(both), size(left), size(summed)});
  const Fact q = flat(wide[1], {&both, &summed, &right, &left}, {size(both), size(summed), size(right)});
  const Fact product = s.call("bmm", {p, q});
  Ints sizes, order(all.size(), 0);
  int64_t place = 0;
  for (const Ints* part : {&both, &left, &summed, &right})
    for (const int64_t d : *part) {
      sizes.push_back(part == &summed ? 1 : size({d}));
      order[static_cast<size_t>(d)] = place++;
    }
  const Fact out = s.call("permute", {s.call("view", {product, sizes_fact(sizes)}), sizes_fact(order)});
  if (summed.empty()) return out;
  return s.call("view", {out, sizes_fact(ArrayRef<int64_t>(out.sizes.data(), kept.size()))});
}

// ---- indexing, sorting ----

Fact index(Steps& s, const Facts& a) {
  Facts picked;
  for (const Fact& i : a[1].tensors) {
    if (!is_tensor(i)) continue;
    if (i.dtype != ScalarType::Bool && i.dtype != ScalarType::Byte) {
      picked.push_back(i);
      continue;
    }
    const Fact places = s.call("nonzero", {i});
    for (size_t d = 0; d < i.sizes.size(); d++) picked.push_back(s.call("select", {places, number(int64_t{1}), number(static_cast<int64_t>(d))}));
  }
  as_strided(s, a[0], a[0].sizes, a[0].strides);
  for (const Fact& i : picked) s.call("reshape", {i, sizes_fact(i.sizes)});
  return none();
}
Fact nonzero(Steps& s, const Facts& a) {
  empty(s, {0}, ScalarType::Long);
  const auto dims = static_cast<int64_t>(a[0].sizes.size());
  const Fact out = tensor_fact({numel(a[0]), dims}, ScalarType::Long);
  s.call("as_strided_", {out, sizes_fact(out.sizes), sizes_fact(out.strides), none()});
  return out;
}
Fact index_fill_(Steps& s, const Facts& a) {
  as_strided(s, at(a, 2), at(a, 2).sizes, at(a, 2).strides);
  return as_strided(s, a[0], a[0].sizes, a[0].strides);
}
Fact index_select(Steps& s, const Facts& a) {
  empty(s, {0}, a[0].dtype);
  if (a[0].sizes.size() > 1) {
    s.call("select", {a[0], a[1], number(int64_t{0})});
    Ints sizes = a[0].sizes;
    const auto d = static_cast<size_t>(wrapped(integer(a[1]), a[0]));
    if (d < sizes.size()) sizes[d] = numel(a[2]);
    s.call("select", {shaped(a[0], sizes), a[1], number(int64_t{0})});
  }
  return none();
}
Fact embedding(Steps& s, const Facts& a) {
  if (a[1].sizes.size() == 1) return s.call("index_select", {a[0], number(int64_t{0}), a[1]});
  const Fact rows = s.call("reshape", {a[1], sizes_fact({-1})});
  s.call("index_select", {a[0], number(int64_t{0}), rows});
  Ints sizes = a[1].sizes;
  sizes.push_back(a[0].sizes.back());
  return s.call("view", {shaped(a[0], {numel(a[1]), a[0].sizes.back()}), sizes_fact(sizes)});
}
// Indices are counted where a dimension is sorted in place.
void counted(Steps& s, int64_t n) {
  const Facts range{number(int64_t{0}), number(n), dtype_fact(ScalarType::Long), number(int64_t{0}), none(), none()};
  s.call("arange", range);
}
Fact sort(Steps& s, const Facts& a) {
  const Fact &x = a[0], places = tensor_fact(x.sizes, ScalarType::Long);
  copy_into(s, x, x);
  if (!x.sizes.empty()) counted(s, x.sizes.back());
  as_strided(s, places, x.sizes, x.strides);
  copy_into(s, places, places);
  return x;
}
Fact argsort(Steps& s, const Facts& a) { return s.call("sort", {a[0], number(integer(at(a, 1), -1)), flag(integer(at(a, 2)) != 0)}); }
Fact unique2(Steps& s, const Facts& a) {
  for (int i = 0; i < 4; i++) empty(s, {0}, ScalarType::Long);
  s.call("flatten", {a[0], number(int64_t{0}), number(int64_t{-1})});
  s.call("sort", {tensor_fact({numel(a[0])}, a[0].dtype), number(int64_t{-1}), flag(false)});
  s.call("resize_", {tensor_fact({0}, a[0].dtype), sizes_fact({numel(a[0])}), none()});
  return none();
}
Fact arange(Steps& s, const Facts& a) {
  int64_t numbers[3] = {0, 0, 1};
  int given = 0;
  bool whole = true;
  for (const Fact& f : a) {
    if (f.kind != Fact::kNumber || f.dtype == ScalarType::Bool || given == 3) break;
    whole = whole && is_integral_type(f.dtype, false);
    numbers[given++] = integer(f);
  }
  if (given == 1) std::swap(numbers[0], numbers[1]);
  const ScalarType dtype = dtype_in(a, whole ? ScalarType::Long : default_dtype());
  const Fact out = empty(s, {0}, dtype);
  s.call("arange.out", {number(numbers[0]), number(numbers[1]), number(numbers[2]), out});
  return out;
}
Fact arange_out(Steps& s, const Facts& a) {
  const int64_t step = integer(a[2], 1), n = step ? (integer(a[1]) - integer(a[0]) + step - 1) / step : 0;
  s.call("resize_", {a[3], sizes_fact({n}), none()});
  return a[3];
}

// ---- linear algebra ----

Fact check_errors(Steps& s, const Facts&) {
  const Fact info = scalar(ScalarType::Int);
  s.call("any", {info});
  s.call("item", {scalar(ScalarType::Bool)});
  return none();
}
void checked(Steps& s) { s.call("_linalg_check_errors", {scalar(ScalarType::Int), none(), flag(true)}); }
Fact any_of(Steps& s, const Facts& a) {
  if (!a[0].sizes.empty()) return reduction(s, a, "fill_", 0.0);
  s.call("view_as", {a[0], a[0]});
  cast(s, a[0], ScalarType::Bool);
  return copy_into(s, scalar(ScalarType::Bool), a[0]);
}
Fact linalg_inv(Steps& s, const Facts& a) {
  s.call("linalg_inv_ex", {a[0], flag(false)});
  checked(s);
  return a[0];
}
Fact linalg_inv_ex(Steps& s, const Facts& a) {
  s.call("zero_", {a[0]});
  const Fact ones = s.call("diagonal", {a[0], number(int64_t{0}), number(int64_t{-2}), number(int64_t{-1})});
  s.call("fill_", {ones, number(1.0)});
  s.call("linalg_solve_ex", {a[0], a[0], flag(true), flag(false)});
  return a[0];
}
Fact linalg_solve_ex(Steps& s, const Facts& a) {
  s.call("new_empty", {a[0], sizes_fact({0}), none(), none(), none(), none()});
  s.call("new_empty", {a[0], sizes_fact({0}), dtype_fact(ScalarType::Int), none(), none(), none()});
  s.call("_linalg_solve_ex", {a[0], a[1], flag(true), flag(false)});
  return a[1];
}
Fact linalg_solve_kernel(Steps& s, const Facts& a) {
  const int64_t n = a[0].sizes.empty() ? 0 : a[0].sizes.back();
  const Fact pivots = tensor_fact({n}, ScalarType::Int);
  s.call("as_strided_", {a[0], sizes_fact(a[0].sizes), sizes_fact(a[0].strides), none()});
  s.call("as_strided_", {pivots, sizes_fact(pivots.sizes), sizes_fact(pivots.strides), none()});
  s.call("linalg_lu_factor_ex", {a[0], flag(true), flag(false)});
  s.call("linalg_lu_solve", {a[0], pivots, a[1], flag(true), flag(false)});
  return a[1];
}
Fact linalg_lu_factor_ex(Steps& s, const Facts& a) { return copy_into(s, a[0], a[0]); }
Fact linalg_lu_solve(Steps& s, const Facts& a) {
  if (at(a, 3).number != 0) s.call("mT", {a[0]});
  for (const char* compared : {"gt", "le"}) {
    s.call(compared, {a[1], number(int64_t{0})});
    s.call("all", {tensor_fact(a[1].sizes, ScalarType::Bool)});
    s.call("item", {scalar(ScalarType::Bool)});
  }
  return a[2];
}
Fact linalg_svd(Steps& s, const Facts& a) { return s.call("_linalg_svd", {a[0], a[1], flag(true), none()}); }
Fact linalg_svd_kernel(Steps& s, const Facts& a) {
  const Fact& x = a[0];
  s.call("zeros", {sizes_fact(ArrayRef<int64_t>(x.sizes.data(), x.sizes.size() - std::min<size_t>(x.sizes.size(), 2))), dtype_fact(ScalarType::Int)});
  const Fact copied = s.call("clone", {s.call("mT", {x}), number(int64_t{0})});
  s.call("transpose_", {copied, number(int64_t{-2}), number(int64_t{-1})});
  checked(s);
  return none();
}
Fact transpose_(Steps& s, const Facts& a) {
  s.call("as_strided_", {a[0], sizes_fact(a[0].sizes), sizes_fact(a[0].strides), none()});
  return a[0];
}
Fact linalg_qr(Steps& s, const Facts& a) {
  if (a[0].sizes.size() < 2) return none();
  const int64_t rows = a[0].sizes[a[0].sizes.size() - 2], columns = a[0].sizes.back(), k = std::min(rows, columns);
  s.call("new_empty", {a[0], sizes_fact({k}), none(), none(), none(), none()});
  copy_into(s, a[0], a[0]);
  empty(s, {rows}, a[0].dtype);
  const Fact upper = s.call("slice", {a[0], number(int64_t{-2}), number(int64_t{0}), number(k), number(int64_t{1})});
  s.call("triu", {upper, number(int64_t{0}), none()});
  empty(s, {rows}, a[0].dtype);
  return none();
}
Fact linalg_norm(Steps& s, const Facts& a) {
  return s.call("linalg_vector_norm", {a[0], number(a.size() > 1 && a[1].kind == Fact::kNumber ? a[1].number : 2.0), at(a, 2), at(a, 3), none()});
}
Fact fft_c2c_or_r2c(Steps& s, const Facts& a, const char* kernel) {
  const int64_t dim = integer(at(a, 2), -1);
  return s.call(kernel, {a[0], sizes_fact({wrapped(dim, a[0])}), number(int64_t{0}), flag(kernel[5] != 'r')});
}
Fact fft_fft(Steps& s, const Facts& a) { return fft_c2c_or_r2c(s, a, is_complex_type(a[0].dtype) ? "_fft_c2c" : "_fft_r2c"); }
Fact fft_r2c(Steps& s, const Facts& a) {
  const ScalarType dtype = a[0].dtype == ScalarType::Double ? ScalarType::ComplexDouble : ScalarType::ComplexFloat;
  empty(s, a[0].sizes, dtype);
  Ints order(a[0].sizes.size(), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  const Fact turned = s.call("permute", {a[0], sizes_fact(order)});
  const int64_t last = a[0].sizes.empty() ? 1 : a[0].sizes.back();
  const Fact rows = s.call("reshape", {turned, sizes_fact({-1, last})});
  s.call("resize_", {tensor_fact(a[0].sizes, dtype), sizes_fact(rows.sizes), none()});
  s.call("as_strided_", {rows, sizes_fact(a[0].sizes), sizes_fact(a[0].strides), number(int64_t{0})});
  return tensor_fact(a[0].sizes, dtype);
}
Fact absolute(Steps& s, const Facts& a) {
  if (!is_complex_type(a[0].dtype)) return a[0];
  const Fact out = s.call("empty_like",
                          {a[0], dtype_fact(a[0].dtype == ScalarType::ComplexDouble ? ScalarType::Double : ScalarType::Float), none(), none(), none(), none()});
  s.call("abs.out", {a[0], out});
  return out;
}
// Into a complex tensor, whose real part is the result.
Fact absolute_out(Steps& s, const Facts& a) {
  empty(s, {0}, a[0].dtype);
  const Fact part = s.call("real", {a[0]});
  return copy_into(s, a[1], part);
}
Fact real_part(Steps& s, const Facts& a) {
  if (!is_complex_type(a[0].dtype)) return a[0];
  s.call("view_as_real", {a[0]});
  Ints sizes = a[0].sizes;
  sizes.push_back(2);
  return s.call("select", {tensor_fact(sizes, a[0].dtype == ScalarType::ComplexDouble ? ScalarType::Double : ScalarType::Float),
                           number(static_cast<int64_t>(a[0].sizes.size())), number(int64_t{0})});
}

// ---- networks ----

Fact convolution_call(Steps& s, const Facts& a, const char* name) {
  const auto list = [&](size_t i, int64_t otherwise) {
    Ints v = at(a, i).kind == Fact::kSizes ? at(a, i).sizes : Ints();
    const size_t n = a[0].sizes.size() - std::min<size_t>(a[0].sizes.size(), 2);
    if (v.size() == 1) v.resize(n, v[0]);
    if (v.empty()) v.resize(n, otherwise);
    return sizes_fact(v);
  };
  (void)name;
  return s.call("convolution", {a[0], a[1], at(a, 2), list(3, 1), list(4, 0), list(5, 1), flag(false), sizes_fact(Ints(list(3, 1).sizes.size(), 0)),
                                number(integer(at(a, 6), 1))});
}
Fact conv(Steps& s, const Facts& a) { return convolution_call(s, a, "conv2d"); }
Fact convolution(Steps& s, const Facts& a) {
  Facts given = a;
  for (const bool v : {false, false, true, true}) given.push_back(flag(v));
  return s.call("_convolution", given);
}
Fact convolution_kernel(Steps& s, const Facts& a) {
  const Fact &x = a[0], &w = a[1], &bias = at(a, 2), &stride = at(a, 3), &padding = at(a, 4), &dilation = at(a, 5);
  const int64_t groups = integer(at(a, 8), 1);
  const bool transposed = at(a, 6).number != 0, dilated = std::any_of(dilation.sizes.begin(), dilation.sizes.end(), [](int64_t v) { return v != 1; });
  const size_t n = x.sizes.size();
  // Small ones of one group over images are matrix products; others go to oneDNN.
  const bool small = x.dtype == ScalarType::Float && n == 4 && groups == 1 && !dilated && !transposed && x.sizes[0] < 16 && w.sizes[2] <= 3 &&
                     w.sizes[3] <= 3 && numel(x) <= 20480;
  if (n == 4 && !transposed && !dilated && (small || x.dtype == ScalarType::Double)) {
    s.call("_nnpack_available", {});
    const Fact kernel = sizes_fact({w.sizes[2], w.sizes[3]});
    return s.call("thnn_conv2d", {x, w, kernel, bias, stride, padding});
  }
  if (n == 4 && !transposed) s.call("mkldnn_convolution", {x, w, bias, padding, stride, dilation, number(groups)});
  return none();
}
Fact thnn_conv2d(Steps& s, const Facts& a) { return s.call("_slow_conv2d_forward", a); }
Fact slow_conv2d_forward(Steps& s, const Facts& a) {
  const Fact &x = a[0], &w = a[1];
  const auto out_size = [&](size_t d) {
    const int64_t pad = at(a, 5).sizes.size() > d ? at(a, 5).sizes[d] : 0, step = at(a, 4).sizes.size() > d ? at(a, 4).sizes[d] : 1;
    return (x.sizes[d + 2] + 2 * pad - w.sizes[d + 2]) / step + 1;
  };
  const int64_t columns = w.sizes[1] * w.sizes[2] * w.sizes[3], places = out_size(0) * out_size(1);
  const Fact out = empty(s, {0}, x.dtype);
  s.call("view", {w, sizes_fact({w.sizes[0], columns})});
  empty(s, {x.sizes[0], columns, places}, x.dtype);
  s.call("resize_", {out, sizes_fact({x.sizes[0], w.sizes[0], out_size(0), out_size(1)}), number(int64_t{0})});
  if (is_tensor(at(a, 3))) {
    const Fact whole = shaped(x, {x.sizes[0], w.sizes[0], out_size(0), out_size(1)});
    s.call("copy_", {whole, a[3], flag(false)});
  }
  return none();
}
Fact layer_norm(Steps& s, const Facts& a) { return s.call("native_layer_norm", {a[0], a[1], at(a, 2), at(a, 3), at(a, 4)}); }
Fact native_layer_norm(Steps& s, const Facts& a) {
  int64_t inner = 1;
  for (const int64_t v : a[1].sizes) inner *= v;
  const int64_t rows = inner ? numel(a[0]) / inner : 0;
  empty(s, a[0].sizes, a[0].dtype);
  Ints sizes = a[0].sizes;
  for (size_t d = sizes.size() - std::min(sizes.size(), a[1].sizes.size()); d < sizes.size(); d++) sizes[d] = 1;
  for (int i = 0; i < 2; i++) empty(s, {rows}, a[0].dtype);
  for (int i = 0; i < 2; i++) s.call("view", {shaped(a[0], {rows}), sizes_fact(sizes)});
  return a[0];
}
Fact batch_norm(Steps& s, const Facts& a) { return s.call("_batch_norm_impl_index", a); }
Fact batch_norm_impl(Steps& s, const Facts& a) {
  empty(s, {0}, ScalarType::Byte);
  return s.call("native_batch_norm", {a[0], at(a, 1), at(a, 2), at(a, 3), at(a, 4), at(a, 5), at(a, 6), at(a, 7)});
}
Fact native_batch_norm(Steps& s, const Facts& a) {
  const int64_t channels = a[0].sizes.size() > 1 ? a[0].sizes[1] : 1;
  const bool training = at(a, 5).number != 0;
  s.call("empty_like", {a[0], none(), none(), none(), none(), number(int64_t{0})});
  for (int i = 0; i < 2; i++) empty(s, {training ? channels : 0}, a[0].dtype);
  for (int i = 0; i < 2; i++) empty(s, {channels}, a[0].dtype);
  return a[0];
}
Fact group_norm(Steps& s, const Facts& a) {
  const Fact& x = a[0];
  const int64_t n = x.sizes.empty() ? 1 : x.sizes[0], c = x.sizes.size() > 1 ? x.sizes[1] : 1;
  const int64_t rows = n * c, inner = rows != 0 ? numel(x) / rows : 0;
  return s.call("native_group_norm", {x, at(a, 2), at(a, 3), number(n), number(c), number(inner), a[1], at(a, 4)});
}
Fact native_group_norm(Steps& s, const Facts& a) {
  empty(s, a[0].sizes, a[0].dtype);
  for (int i = 0; i < 2; i++) empty(s, {integer(at(a, 3)), integer(at(a, 6), 1)}, a[0].dtype);
  return a[0];
}
// A layer of one direction after the other, each one call of oneDNN.
Fact lstm(Steps& s, const Facts& a) {
  const Fact& x = a[0];
  if (a[1].kind != Fact::kTensors || a[1].tensors.size() != 2 || a[2].kind != Fact::kTensors || x.sizes.size() != 3) return none();
  const int64_t layers = integer(at(a, 4), 1), directions = at(a, 7).number != 0 ? 2 : 1;
  const bool biases = at(a, 3).number != 0;
  const size_t each = biases ? 4 : 2;
  s.call("cudnn_is_acceptable", {x});
  const Fact &h = a[1].tensors[0], &c = a[1].tensors[1];
  std::vector<Fact> states;
  Fact input = x;
  for (int64_t l = 0; l < layers * directions; l++) {
    Facts given{input};
    for (size_t k = 0; k < each && static_cast<size_t>(l) * each + k < a[2].tensors.size(); k++)
      given.push_back(a[2].tensors[static_cast<size_t>(l) * each + k]);
    for (const Fact* state : {&h, &c}) given.push_back(s.call("select", {*state, number(int64_t{0}), number(l)}));
    input = s.call("mkldnn_rnn_layer", given);
    states.push_back(given.back());
  }
  Fact list;
  list.kind = Fact::kTensors;
  list.tensors = states;
  for (int i = 0; i < 2; i++) s.call("stack", {list, number(int64_t{0})});
  return none();
}
Fact rnn_layer(Steps& s, const Facts& a) {
  const Fact &x = a[0], &state = a.back();
  const int64_t width = state.sizes.empty() ? 1 : state.sizes.back();
  const Ints sizes{x.sizes[0], x.sizes.size() > 1 ? x.sizes[1] : 1, width};
  const Fact out = empty(s, sizes, x.dtype);
  for (int i = 0; i < 2; i++) empty(s, state.sizes, x.dtype);
  if (a.size() > 5) s.call("add", {a[3], a[4], number(int64_t{1})});
  empty(s, {0}, ScalarType::Byte);
  return out;
}
Fact rnn_layer_backward(Steps& s, const Facts& a) {
  const Fact grad = at(a, 0);
  const ScalarType dtype = grad.dtype;
  const int64_t width = grad.sizes.empty() ? 1 : grad.sizes.back();
  const Fact state = tensor_fact({1, width}, dtype), bias = tensor_fact({4 * width}, dtype);
  Fact spread_out = grad;
  s.call("contiguous", {spread_out, number(int64_t{0})});
  for (int i = 0; i < 2; i++) s.call("zeros_like", {state, none(), none(), none(), none(), number(int64_t{0})});
  s.call("add", {bias, bias, number(int64_t{1})});
  for (int i = 0; i < 6; i++) empty(s, bias.sizes, dtype);
  s.call("clone", {bias, none()});
  return none();
}
Fact max_pool2d(Steps& s, const Facts& a) { return s.call("max_pool2d_with_indices", a); }
Fact adaptive_avg_pool2d(Steps& s, const Facts& a) {
  const bool whole = a[1].sizes.size() && std::all_of(a[1].sizes.begin(), a[1].sizes.end(), [](int64_t v) { return v == 1; });
  if (whole) return s.call("mean", {a[0], sizes_fact({-1, -2}), flag(true), none()});
  return s.call("_adaptive_avg_pool2d", a);
}
Fact softmax(Steps& s, const Facts& a) {
  if (at(a, 2).kind == Fact::kDtype) s.call("to", {a[0], a[2], number(int64_t{0}), none(), none(), flag(false), flag(false), none()});
  return s.call("_softmax", {a[0], a[1], flag(false)});
}
Fact log_softmax(Steps& s, const Facts& a) {
  if (at(a, 2).kind == Fact::kDtype) s.call("to", {a[0], a[2], number(int64_t{0}), none(), none(), flag(false), flag(false), none()});
  return s.call("_log_softmax", {a[0], a[1], flag(false)});
}
Fact cross_entropy_loss(Steps& s, const Facts& a) {
  const Fact logs = s.call("log_softmax", {a[0], number(int64_t{a[0].sizes.size() == 1 ? 0 : 1}), dtype_fact(a[0].dtype)});
  s.call("nll_loss_nd", {a[0], a[1], at(a, 2), at(a, 3), at(a, 4)});
  return none();
}
Fact nll_loss_nd(Steps& s, const Facts& a) { return s.call(a[0].sizes.size() > 2 ? "nll_loss2d" : "nll_loss", a); }
Fact nll_loss(Steps& s, const Facts& a) { return s.call("nll_loss_forward", a); }
Fact nll_loss2d(Steps& s, const Facts& a) { return s.call("nll_loss2d_forward", a); }
Fact mse_loss(Steps& s, const Facts& a) {
  if (integer(at(a, 2), 1) == 0) return a[0];
  const Fact out = scalar(a[0].dtype);
  empty(s, {0}, a[0].dtype);
  s.call("resize_", {a[0], sizes_fact({}), none()});
  s.call(integer(at(a, 2), 1) == 1 ? "mean" : "sum", {a[0], sizes_fact({}), flag(false), none(), none()});
  return out;
}
Fact attention(Steps& s, const Facts& a) {
  s.call("_scaled_dot_product_flash_attention_for_cpu", {a[0], at(a, 1), at(a, 2), at(a, 4), at(a, 5), at(a, 3), at(a, 6)});
  return a[0];
}
Fact flash_attention(Steps& s, const Facts& a) {
  const Fact &q = a[0], &k = a[1], &v = a[2];
  if (q.sizes.size() != 4) return none();
  const auto swapped = [&](const Fact& f) { return s.call("transpose", {f, number(int64_t{1}), number(int64_t{2})}); };
  s.call("empty_like", {q, dtype_fact(q.dtype), number(int64_t{0}), none(), none(), none()});
  swapped(q);
  empty(s, {q.sizes[0], q.sizes[2], q.sizes[1]}, ScalarType::Float);
  swapped(q);
  swapped(k);
  swapped(v);
  empty(s, {2, 1}, ScalarType::Float);
  empty(s, {2, 1, 0}, q.dtype);
  swapped(shaped(q, {q.sizes[0], q.sizes[2], q.sizes[1], q.sizes[3]}));
  swapped(shaped(q, {q.sizes[0], q.sizes[2], q.sizes[1]}));
  return q;
}

// ---- gradients and optimizers ----

Fact convolution_backward(Steps& s, const Facts& a) {
  const Fact &grad = a[0], &input = a[1], &weight = a[2];
  if (input.sizes.size() != 4 || weight.sizes.size() != 4) return none();
  s.call("_nnpack_available", {});
  return s.call("_slow_conv2d_backward", {grad, input, weight, a[3], a[4], a[5]});
}
Fact slow_conv2d_backward(Steps& s, const Facts& a) {
  const Fact &grad = a[0], &input = a[1], &weight = a[2];
  const bool by_input = a[3].number != 0, by_weight = a[4].number != 0, by_bias = a[5].number != 0;
  for (int i = 0; i < by_input + by_weight + by_bias; i++) empty(s, {0}, grad.dtype);
  if (by_input) {
    s.call("view", {weight, sizes_fact({weight.sizes[0], numel(weight) / std::max<int64_t>(weight.sizes[0], 1)})});
    s.call("contiguous", {grad, number(int64_t{0})});
    s.call("resize_as_", {tensor_fact({0}, grad.dtype), input, number(int64_t{0})});
    s.call("zero_", {input});
  }
  return none();
}
Fact resize_as_(Steps& s, const Facts& a) { return s.call("resize_", {a[0], sizes_fact(a[1].sizes), none()}); }
Fact embedding_dense_backward(Steps& s, const Facts& a) {
  const Fact &grad = a[0], &indices = a[1];
  const int64_t width = grad.sizes.empty() ? 1 : grad.sizes.back();
  s.call("zeros", {sizes_fact({integer(a[2]), width}), dtype_fact(grad.dtype), number(int64_t{0}), none(), none()});
  s.call("contiguous", {grad, number(int64_t{0})});
  return s.call("view", {shaped(grad, grad.sizes), sizes_fact({numel(indices), width})});
}
Fact embedding_backward(Steps& s, const Facts& a) { return s.call("embedding_dense_backward", {a[0], a[1], at(a, 2), at(a, 3), at(a, 4)}); }
Fact nll_loss_backward(Steps& s, const Facts& a) {
  s.call("zero_", {at(a, 1)});
  return at(a, 1);
}
// Each parameter by itself, as PyTorch does it on a CPU.
Fact fused_sgd_(Steps& s, const Facts& a) {
  if (a.size() < 10) return none();
  const double decay = a[3].number, momentum = a[4].number, rate = a[5].number, dampening = a[6].number;
  const bool nesterov = a[7].number != 0, first = a[9].number != 0;
  for (size_t i = 0; i < a[0].tensors.size(); i++) {
    const Fact& p = a[0].tensors[i];
    Fact grad = shaped(p, p.sizes);
    if (decay != 0) grad = s.call("add", {grad, p, number(decay)});
    if (momentum != 0 && first) {
      s.call("clone", {s.call("detach", {grad}), none()});
    } else if (momentum != 0) {
      s.call("mul_", {grad, number(momentum)});
      s.call("add_", {grad, grad, number(1 - dampening)});
    }
    if (momentum != 0 && nesterov) s.call("add", {grad, grad, number(momentum)});
    s.call("add_", {p, grad, number(-rate)});
  }
  return none();
}

// ---- the table ----

const std::unordered_map<std::string_view, StepRow>& rows() {
  constexpr bool kernel = true;
  static const auto& table = *new std::unordered_map<std::string_view, StepRow>{
      // views
      {"transpose", {transpose}},
      {"t", {t}},
      {"mT", {mT}},
      {"expand", {expand}},
      {"select", {select}},
      {"slice", {slice}},
      {"narrow", {narrow}},
      {"unsqueeze", {unsqueeze}},
      {"squeeze", {squeeze}},
      {"permute", {permute}},
      {"diagonal", {diagonal}},
      {"unfold", {plain_view}},
      {"view", {view}},
      {"reshape", {reshape}},
      {"view_as", {view_as}},
      {"flatten", {flatten}},
      {"split", {split}},
      {"chunk", {chunk}},
      {"split_with_sizes", {split_with_sizes}},
      {"unbind", {unbind}},
      {"detach", {detach}},
      {"detach_", {detach_}},
      // memory, copies and casts
      {"empty_like", {empty_like}},
      {"new_empty", {new_empty}},
      {"clone", {clone}},
      {"contiguous", {contiguous}},
      {"to", {to}},
      {"_to_copy", {to_copy}},
      // creation
      {"zeros", {filled<0>}},
      {"ones", {filled<1>}},
      {"full", {filled<2>}},
      {"zeros_like", {filled_like<0>}},
      {"ones_like", {filled_like<1>}},
      {"full_like", {filled_like<2>}},
      {"new_zeros", {new_filled<0>}},
      {"new_ones", {new_filled<1>}},
      {"new_full", {new_filled<2>}},
      {"rand", {rand_steps}},
      {"randn", {randn_steps}},
      {"randint", {randint_steps}},
      {"randperm", {randperm_steps}},
      {"randperm.out", {randperm_out, kernel, "randperm"}},
      {"arange", {arange}},
      {"arange.out", {arange_out, kernel, "arange"}},
      {"eye", {eye}},
      {"eye.out", {eye_out, kernel, "eye"}},
      // pointwise
      {"add", {binary, kernel}},
      {"sub", {binary, kernel}},
      {"mul", {binary, kernel}},
      {"div", {binary_float, kernel}},
      {"add_", {binary, kernel}},
      {"sub_", {binary, kernel}},
      {"mul_", {binary, kernel}},
      {"div_", {binary_float, kernel}},
      {"eq", {binary, kernel}},
      {"ne", {binary, kernel}},
      {"lt", {binary, kernel}},
      {"le", {binary, kernel}},
      {"gt", {binary, kernel}},
      {"ge", {binary, kernel}},
      {"maximum", {binary, kernel}},
      {"minimum", {binary, kernel}},
      {"where", {where, kernel}},
      {"addcmul", {ternary, kernel}},
      {"addcdiv", {ternary, kernel}},
      {"addcmul_", {ternary, kernel}},
      {"addcdiv_", {ternary, kernel}},
      {"sqrt", {unary_float, kernel}},
      {"exp", {unary_float, kernel}},
      {"log", {unary_float, kernel}},
      {"sin", {unary_float, kernel}},
      {"cos", {unary_float, kernel}},
      {"tanh", {unary_float, kernel}},
      {"sigmoid", {unary_float, kernel}},
      {"pow", {power, kernel}},
      {"relu", {relu}},
      {"relu_", {relu_}},
      {"dropout", {dropout}},
      {"complex", {complex_of}},
      {"complex.out", {nullptr, kernel, "complex"}},
      // reductions
      {"sum", {sum, kernel}},
      {"mean", {mean}},
      {"max", {extreme, kernel}},
      {"min", {extreme, kernel}},
      {"argmax", {viewed_reduction, kernel}},
      {"argmin", {viewed_reduction, kernel}},
      {"amax", {viewed_reduction, kernel}},
      {"amin", {viewed_reduction, kernel}},
      {"all", {all_reduction, kernel}},
      {"linalg_vector_norm", {norm_reduction, kernel}},
      {"std", {standard_deviation, kernel}},
      {"item", {item}},
      {"is_nonzero", {is_nonzero}},
      // products
      {"mm", {mm, kernel}},
      {"addmm", {addmm, kernel}},
      {"bmm", {bmm, kernel}},
      {"matmul", {matmul}},
      {"linear", {linear}},
      {"stack", {stack}},
      {"einsum", {einsum}},
      // indexing, sorting
      {"index", {index, kernel}},
      {"nonzero", {nonzero, kernel}},
      {"index_fill_", {index_fill_, kernel}},
      {"index_select", {index_select, kernel}},
      {"sort", {sort, kernel}},
      {"argsort", {argsort}},
      {"_unique2", {unique2, kernel}},
      // linear algebra
      {"_linalg_check_errors", {check_errors}},
      {"any", {any_of, kernel}},
      {"linalg_inv", {linalg_inv}},
      {"linalg_inv_ex", {linalg_inv_ex}},
      {"linalg_solve_ex", {linalg_solve_ex}},
      {"_linalg_solve_ex", {linalg_solve_kernel}},
      {"linalg_lu_factor_ex", {linalg_lu_factor_ex, kernel}},
      {"linalg_lu_solve", {linalg_lu_solve, kernel}},
      {"linalg_svd", {linalg_svd}},
      {"_linalg_svd", {linalg_svd_kernel, kernel}},
      {"transpose_", {transpose_}},
      {"linalg_qr", {linalg_qr, kernel}},
      {"linalg_norm", {linalg_norm}},
      {"fft_fft", {fft_fft}},
      {"_fft_r2c", {fft_r2c, kernel}},
      {"abs", {absolute, kernel}},
      {"abs.out", {absolute_out, kernel, "abs"}},
      {"real", {real_part}},
      {"embedding", {embedding}},
      // networks
      {"conv2d", {conv}},
      {"convolution", {convolution}},
      {"_convolution", {convolution_kernel}},
      {"thnn_conv2d", {thnn_conv2d}},
      {"_slow_conv2d_forward", {slow_conv2d_forward, kernel}},
      {"layer_norm", {layer_norm}},
      {"native_layer_norm", {native_layer_norm, kernel}},
      {"batch_norm", {batch_norm}},
      {"_batch_norm_impl_index", {batch_norm_impl}},
      {"native_batch_norm", {native_batch_norm, kernel}},
      {"group_norm", {group_norm}},
      {"native_group_norm", {native_group_norm, kernel}},
      {"max_pool2d", {max_pool2d}},
      {"adaptive_avg_pool2d", {adaptive_avg_pool2d}},
      {"softmax", {softmax}},
      {"log_softmax", {log_softmax}},
      {"cross_entropy_loss", {cross_entropy_loss}},
      {"nll_loss_nd", {nll_loss_nd}},
      {"nll_loss", {nll_loss}},
      {"nll_loss2d", {nll_loss2d}},
      {"mse_loss", {mse_loss, kernel, nullptr, false, "broadcast_tensors"}},
      {"avg_pool2d", {gives_itself, kernel}},
      {"avg_pool3d", {gives_itself, kernel}},
      {"lstm", {lstm}},
      {"mkldnn_rnn_layer", {rnn_layer, kernel}},
      {"mkldnn_rnn_layer_backward", {rnn_layer_backward, kernel}},
      {"_rnn_layer_backward", {}},
      {"scaled_dot_product_attention", {attention}},
      // gradients and optimizers
      {"conj", {}},
      {"convolution_grad_input", {}},
      {"convolution_grad_weight", {}},
      {"convolution_backward", {convolution_backward}},
      {"_slow_conv2d_backward", {slow_conv2d_backward, kernel}},
      {"resize_as_", {resize_as_}},
      {"embedding_backward", {embedding_backward}},
      {"embedding_dense_backward", {embedding_dense_backward, kernel}},
      {"_cross_entropy_backward", {nll_loss_backward, kernel, "nll_loss_backward"}},
      {"nll_loss_backward", {nll_loss_backward, kernel}},
      {"random_", {gives_itself, kernel}},
      {"_fused_sgd_", {fused_sgd_, false, nullptr, true}},
      {"_scaled_dot_product_flash_attention_for_cpu", {flash_attention, kernel}},
  };
  return table;
}

}  // namespace

const StepRow* step_row(std::string_view name) {
  const auto found = rows().find(name);
  return found == rows().end() ? nullptr : &found->second;
}

}  // namespace cresset::profile
