// Calls of rows by the names of their arguments.

#include "cresset/distributions/formulas.h"

#include "cresset/distributions/row_table.h"

// Symbols that Python looks for in the library.
extern "C" CRESSET_API const cresset::dispatch::OpTable* const cresset_op_table;
const cresset::dispatch::OpTable* const cresset_op_table = &cresset::distributions::kRowTable;

namespace cresset::distributions {

namespace {

bool is_given(std::string_view name) {
  for (const char* given : {"value", "shape", "expand", "x", "y", "z"})
    if (name == given) return true;
  return false;
}

dispatch::Value as_argument(const dispatch::Type& type, const Tensor& value) {
  if (type.kind == dispatch::TypeKind::Tensor) return value;
  return dispatch::Value(value.item());
}

}  // namespace

Entry formula_of(const Kind& kind, Method method) {
  for (const Kind* k = &kind; k; k = k->base)
    if (k->formulas && k->formulas->*method) return k->formulas->*method;
  return nullptr;
}

dispatch::Stack call_row(const dispatch::OpEntry& row, Lookup lookup, std::initializer_list<dispatch::Value> given) {
  dispatch::Stack stack;
  const auto* next = given.begin();
  for (const dispatch::Argument& a : row.function_schema().arguments) {
    if (is_given(a.name)) {
      stack.push_back(*next++);
    } else {
      stack.push_back(as_argument(a.type, lookup(a.name)));
    }
  }
  dispatch::call_boxed(row, stack);
  return stack;
}

Tensor call_row(Entry row, const DistributionImpl& self, std::initializer_list<dispatch::Value> given) {
  return call_row(
             *row, [&](std::string_view name) { return self.named(name); }, given)[0]
      .to_tensor();
}

Tensor DistributionImpl::named(std::string_view name) const {
  for (const Argument& a : arguments())
    if (name == a.name) return parameter(a);
  if (name == "mean") return mean();
  if (name == "variance") return variance();
  if (name == "entropy") return entropy();
  missing(std::string(name).c_str());
}

Tensor DistributionImpl::from_row(Method method, const char* name, std::initializer_list<dispatch::Value> given) const {
  const Entry row = formula_of(kind(), method);
  if (!row) missing(name);
  return call_row(row, *this, given);
}

Tensor DistributionImpl::mean() const { return from_row(&Formulas::mean, "mean", {}); }
Tensor DistributionImpl::mode() const { return from_row(&Formulas::mode, "mode", {}); }
Tensor DistributionImpl::variance() const { return from_row(&Formulas::variance, "variance", {}); }
Tensor DistributionImpl::stddev() const { return formula_of(kind(), &Formulas::stddev) ? from_row(&Formulas::stddev, "stddev", {}) : variance().sqrt(); }
Tensor DistributionImpl::sample(IntArrayRef sample_shape) const {
  if (!formula_of(kind(), &Formulas::sample)) return rsample(sample_shape);
  return from_row(&Formulas::sample, "sample", {extended(sample_shape)});
}
Tensor DistributionImpl::rsample(IntArrayRef sample_shape) const { return from_row(&Formulas::rsample, "rsample", {extended(sample_shape)}); }
Tensor DistributionImpl::log_prob(const Tensor& value) const {
  if (formula_of(kind(), &Formulas::log_prob)) check(value);
  return from_row(&Formulas::log_prob, "log_prob", {value});
}
Tensor DistributionImpl::cdf(const Tensor& value) const {
  if (formula_of(kind(), &Formulas::cdf)) check(value);
  return from_row(&Formulas::cdf, "cdf", {value});
}
Tensor DistributionImpl::icdf(const Tensor& value) const { return from_row(&Formulas::icdf, "icdf", {value}); }
Tensor DistributionImpl::entropy() const { return from_row(&Formulas::entropy, "entropy", {}); }

std::vector<Tensor> ExponentialFamilyImpl::natural_params() const {
  const Entry row = formula_of(kind(), &Formulas::natural_params);
  if (!row) missing("natural_params");
  return call_row(*row, [&](std::string_view name) { return named(name); }, {})[0].to_tensor_list();
}

Tensor ExponentialFamilyImpl::log_normalizer(const std::vector<Tensor>& n) const {
  const Tensor second = n.size() > 1 ? n[1] : Tensor();
  return from_row(&Formulas::log_normalizer, "log_normalizer", {n[0], second});
}

}  // namespace cresset::distributions
