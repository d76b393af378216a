#include "cresset/transform/control_flow.h"

#include <algorithm>

#include "cresset/core/batched.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/fake.h"
#include "cresset/transform/vmap.h"

namespace cresset::func {

namespace {

// "float32[2, 3]"
std::string facts(const Tensor& t) { return t.defined() ? str(t.scalar_type(), t.sizes()) : "undefined"; }

bool alike(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || (a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device()));
}

void check_alike(const char* who, const char* left, const Tensors& a, const char* right, const Tensors& b) {
  CRESSET_CHECK_AS(ControlFlowError, a.size() == b.size(), who, ": expected ", left, " and ", right, " to be as many tensors, got ", a.size(), " and ",
                   b.size());
  for (size_t i = 0; i < a.size(); i++)
    CRESSET_CHECK_AS(ControlFlowError, alike(a[i], b[i]), who, ": expected ", left, " and ", right, " to have the same sizes, dtype and device, got ",
                     facts(a[i]), " and ", facts(b[i]), " for tensor ", i);
}

bool any_batched(const Tensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return as_batched(t) != nullptr; });
}
// Functions of tensors without data run once each: no predicate is known, nor a number of steps.
bool without_data(const Tensors& tensors) {
  return layer_state().fake_mode || std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return is_fake(t) || (t.defined() && t.is_meta()); });
}

const void* memory_of(const Tensor& t) { return t.defined() && !as_batched(t) && t.has_storage() ? t.impl()->storage().get() : nullptr; }

// Calls a function that must neither write its arguments nor give them back.
Tensors checked_call(const char* who, const char* name, const Function& f, const Tensors& arguments) {
  std::vector<int64_t> versions;
  for (const Tensor& t : arguments) versions.push_back(as_batched(t) ? 0 : t._version());
  Tensors results = f(arguments);
  std::vector<const void*> seen;
  for (size_t i = 0; i < arguments.size(); i++) {
    CRESSET_CHECK_AS(ControlFlowError, as_batched(arguments[i]) || arguments[i]._version() == versions[i], who, ": ", name, " writes its input ", i,
                     "; clone it there, and return what it became");
    seen.push_back(memory_of(arguments[i]));
  }
  for (size_t i = 0; i < results.size(); i++) {
    const void* memory = memory_of(results[i]);
    CRESSET_CHECK_AS(ControlFlowError, !memory || std::find(seen.begin(), seen.end(), memory) == seen.end(), who, ": result ", i, " of ", name,
                     " shares memory with an input or another result; clone it");
    seen.push_back(memory);
  }
  return results;
}

void check_predicate(const char* who, const Tensor& p) {
  CRESSET_CHECK(p.defined() && p.numel() == 1, who, ": expected a predicate of one element, got ", facts(p));
}

// Both branches on tensors without data: what they give has to agree before one of them runs. Branches that ask for values are found out as they run.
void check_branches(const Function& true_fn, const Function& false_fn, const Tensors& operands) {
  if (any_batched(operands)) return;
  const auto mode = make_fake_mode(true);
  const FakeModeScope scope(mode.get());
  Tensors fakes;
  for (const Tensor& t : operands) fakes.push_back(t.layout() == kStrided ? fake_like(*mode, t).detach() : t);
  try {
    const Tensors a = checked_call("cond", "true_fn", true_fn, fakes);
    check_alike("cond", "the results of true_fn", a, "those of false_fn", checked_call("cond", "false_fn", false_fn, fakes));
  } catch (const UnsupportedFakeTensorError&) { return; }
}

Tensors both(const Tensor& predicate, const Function& true_fn, const Function& false_fn, const Tensors& operands) {
  Tensors a = checked_call("cond", "true_fn", true_fn, operands);
  const Tensors b = checked_call("cond", "false_fn", false_fn, operands);
  check_alike("cond", "the results of true_fn", a, "those of false_fn", b);
  if (!as_batched(predicate)) return a;
  const Tensor p = cresset::reshape(predicate, IntArrayRef{}).to(kBool);
  for (size_t i = 0; i < a.size(); i++) a[i] = cresset::where(p, a[i], b[i]);
  return a;
}

int64_t num_slices(const char* who, const Tensors& xs, int64_t dim) {
  CRESSET_CHECK(!xs.empty(), who, ": expected tensors to take slices of, got none");
  for (const Tensor& x : xs) {
    CRESSET_CHECK(x.dim() > 0, who, ": expected tensors with a dimension to take slices along, got ", facts(x));
    const int64_t d = dim < 0 ? dim + x.dim() : dim;
    CRESSET_CHECK_INDEX(d >= 0 && d < x.dim(), who, ": expected a dimension of each tensor, from ", -x.dim(), " to ", x.dim() - 1, ", got ", dim);
  }
  const int64_t n = xs[0].size(dim);
  for (const Tensor& x : xs) {
    CRESSET_CHECK(x.size(dim) == n, who, ": expected as many slices of each tensor, got ", facts(xs[0]), " and ", facts(x), " along dimension ", dim);
  }
  CRESSET_CHECK(n > 0, who, ": expected at least one slice, got ", facts(xs[0]), " along dimension ", dim);
  return n;
}

Tensors slices(const Tensors& xs, int64_t dim, int64_t i) {
  Tensors out;
  for (const Tensor& x : xs) out.push_back(x.select(dim, i));
  return out;
}

Tensors copies(Tensors tensors) {
  for (Tensor& t : tensors) t = t.clone();
  return tensors;
}

Tensors joined(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One row for each of `n` slices; without data the first stands for all.
Tensors stacked(const std::vector<Tensors>& rows, int64_t n) {
  Tensors out;
  if (static_cast<int64_t>(rows.size()) < n) {
    for (const Tensor& row : rows[0]) {
      std::vector<int64_t> sizes = row.sizes().vec();
      sizes.insert(sizes.begin(), n);
      out.push_back(row.unsqueeze(0).expand(sizes).clone(MemoryFormat::Contiguous));
    }
    return out;
  }
  for (size_t k = 0; k < rows[0].size(); k++) {
    Tensors column;
    for (const Tensors& row : rows) column.push_back(row[k]);
    out.push_back(cresset::stack(column));
  }
  return out;
}

// Rows of `even` and `odd` by turns; there are as many of `even`, or one more.
Tensor interleaved(const Tensor& even, const Tensor& odd) {
  const int64_t n = odd.size(0);
  std::vector<int64_t> sizes = even.sizes().vec();
  sizes[0] = 2 * n;
  const Tensor pairs = cresset::stack({even.narrow(0, 0, n), odd}, 1).reshape(sizes);
  return even.size(0) == n ? pairs : cresset::cat({pairs, even.narrow(0, n, 1)});
}

Tensors every_second(const Tensors& xs, int64_t from, int64_t to) {
  Tensors out;
  for (const Tensor& x : xs) out.push_back(x.slice(0, from, to, 2));
  return out;
}

// Pairs are combined, their prefixes found, and those between them made of one more combination each.
Tensors prefixes(const Function& combine, const Tensors& xs) {
  const int64_t n = xs[0].size(0);
  if (n < 2) return xs;
  const Tensors odd = prefixes(combine, combine(joined(every_second(xs, 0, n - 1), every_second(xs, 1, n))));
  Tensors before;
  for (const Tensor& t : odd) before.push_back(t.narrow(0, 0, (n - 1) / 2));
  Tensors even = n > 2 ? combine(joined(before, every_second(xs, 2, n))) : Tensors();
  Tensors out;
  for (size_t k = 0; k < xs.size(); k++) {
    const Tensor first = xs[k].narrow(0, 0, 1);
    out.push_back(interleaved(n > 2 ? cresset::cat({first, even[k]}) : first, odd[k]));
  }
  return out;
}

}  // namespace

Tensors cond(const Tensor& predicate, const Function& true_fn, const Function& false_fn, const Tensors& operands) {
  if (!predicate.defined()) return both(predicate, true_fn, false_fn, operands);
  check_predicate("cond", predicate);
  if (as_batched(predicate) || without_data({predicate}) || without_data(operands)) return both(predicate, true_fn, false_fn, operands);
  check_branches(true_fn, false_fn, operands);
  return predicate.item().toBool() ? true_fn(operands) : false_fn(operands);
}

Tensors while_loop(const Function& condition, const Function& body, Tensors carried) {
  for (bool stepped = false;; stepped = true) {
    const Tensors answer = checked_call("while_loop", "cond_fn", condition, carried);
    CRESSET_CHECK_AS(ControlFlowError, answer.size() == 1 && answer[0].defined() && answer[0].scalar_type() == kBool && answer[0].numel() == 1,
                     "while_loop: expected cond_fn to return one bool, got ", answer.size() == 1 ? facts(answer[0]) : str(answer.size(), " tensors"));
    const Tensor& go_on = answer[0];
    const bool once = without_data({go_on}) || without_data(carried);
    if (!once && !physical(go_on).any().item().toBool()) return stepped ? carried : copies(carried);
    Tensors next = checked_call("while_loop", "body_fn", body, carried);
    check_alike("while_loop", "the results of body_fn", next, "the carried tensors", carried);
    if (as_batched(go_on)) {
      const Tensor p = cresset::reshape(go_on, IntArrayRef{});
      for (size_t i = 0; i < next.size(); i++) next[i] = cresset::where(p, next[i], carried[i]);
    }
    carried = std::move(next);
    if (once) return carried;
  }
}

Tensors map(const Function& f, const Tensors& xs, const Tensors& others) {
  const int64_t n = num_slices("map", xs, 0);
  const int64_t steps = without_data(xs) || without_data(others) ? 1 : n;
  std::vector<Tensors> rows;
  for (int64_t i = 0; i < steps; i++) {
    rows.push_back(checked_call("map", "f", f, joined(slices(xs, 0, i), others)));
    check_alike("map", "the results for each slice", rows.back(), "those for the first", rows[0]);
  }
  return stacked(rows, n);
}

ScanResult scan(const Function& combine, const Tensors& init, const Tensors& xs, int64_t dim, bool reverse) {
  CRESSET_CHECK(!init.empty(), "scan: expected at least one tensor to begin with, got none");
  if (xs.empty()) return {init, {}};
  const int64_t n = num_slices("scan", xs, dim);
  const int64_t steps = without_data(xs) || without_data(init) ? 1 : n;
  Tensors carry = init;
  std::vector<Tensors> rows(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; i++) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const Tensors out = checked_call("scan", "combine_fn", combine, joined(carry, slices(xs, dim, at)));
    CRESSET_CHECK_AS(ControlFlowError, out.size() >= carry.size(), "scan: expected combine_fn to return ", carry.size(), " tensors to carry, got ", out.size());
    const auto end_of_carry = out.begin() + static_cast<std::ptrdiff_t>(carry.size());
    Tensors next(out.begin(), end_of_carry);
    check_alike("scan", "the carry that combine_fn returns", next, "the one that it gets", carry);
    carry = std::move(next);
    rows[static_cast<size_t>(at)].assign(end_of_carry, out.end());
  }
  return {carry, stacked(rows, n)};
}

Tensors associative_scan(const Function& combine, const Tensors& xs, int64_t dim, bool reverse) {
  num_slices("associative_scan", xs, dim);
  Tensors along;
  for (const Tensor& x : xs) along.push_back(reverse ? x.movedim(dim, 0).flip({0}) : x.movedim(dim, 0));
  VmapOptions options;
  options.randomness = Randomness::Different;
  const size_t count = xs.size();
  const Function of_slices = vmap(
      [&](const Tensors& pair) {
        const Tensors out = combine(pair);
        const Tensors left(pair.begin(), pair.begin() + static_cast<std::ptrdiff_t>(count));
        CRESSET_CHECK_AS(ControlFlowError, out.size() == count, "associative_scan: expected combine_fn to return ", count, " tensors, got ", out.size());
        for (size_t k = 0; k < count; k++)
          CRESSET_CHECK_AS(ControlFlowError, out[k].sizes() == left[k].sizes(), "associative_scan: expected combine_fn to keep sizes, got ", facts(left[k]),
                           " and returned ", facts(out[k]));
        return out;
      },
      options);
  Tensors out = prefixes(of_slices, along);
  for (size_t k = 0; k < count; k++) out[k] = (reverse ? out[k].flip({0}) : out[k]).movedim(0, dim);
  return out;
}

}  // namespace cresset::func
