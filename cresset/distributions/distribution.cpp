#include "cresset/distributions/distribution.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "cresset/autograd/autograd.h"
#include "cresset/distributions/formulas.h"

namespace cresset::distributions {

namespace {

std::atomic<bool> default_validate{true};
// Guards slots that are filled at their first use: distributions may be shared by threads.
std::mutex slots_mutex;

}  // namespace

const Kind Distribution::kKind{"Distribution", nullptr};
const Kind ExponentialFamily::kKind{"ExponentialFamily", &Distribution::kKind};

DistributionImpl::~DistributionImpl() = default;

void DistributionImpl::missing(const char* what) const { throw NotImplementedError(std::string(kind().name) + " does not implement " + what); }

Constraint DistributionImpl::support() const { missing("support"); }
Tensor DistributionImpl::enumerate_support(bool) const { missing("enumerate_support"); }
Tensor DistributionImpl::lazy(int) const { missing("a parameter that it was not given"); }
Tensor DistributionImpl::derived(const Argument& argument) const { missing(argument.name); }

Shape DistributionImpl::extended(IntArrayRef sample_shape) const { return join(join(sample_shape, batch_shape_), event_shape_); }

bool DistributionImpl::has_slot(int i) const {
  const std::lock_guard<std::mutex> lock(slots_mutex);
  return slots_[static_cast<size_t>(i)].defined();
}

Tensor DistributionImpl::slot(int i) const {
  Tensor& kept = slots_[static_cast<size_t>(i)];
  {
    const std::lock_guard<std::mutex> lock(slots_mutex);
    if (kept.defined()) return kept;
  }
  const AutoGradMode recording(true);
  Tensor fresh = lazy(i);
  const std::lock_guard<std::mutex> lock(slots_mutex);
  if (!kept.defined()) kept = std::move(fresh);
  return kept;
}

const Distribution& DistributionImpl::part(size_t i) const { return parts_[i]; }

void DistributionImpl::expand_to(IntArrayRef batch_shape) {
  const ArrayRef<int8_t> dims = slot_dims();
  for (size_t i = 0; i < slots_.size(); i++)
    if (slots_[i].defined() && dims[i] != kKeep) slots_[i] = slots_[i].expand(join(batch_shape, last(slots_[i].sizes(), static_cast<size_t>(dims[i]))));
  for (Distribution& part : parts_) part = part.expand(batch_shape);
}

std::string DistributionImpl::str() const {
  std::string s = std::string(kind().name) + "(";
  bool first = true;
  for (const Argument& a : arguments()) {
    if (a.slot < 0 || !has_slot(a.slot)) continue;
    const Tensor value = slot(a.slot);
    s += std::string(first ? "" : ", ") + a.name + ": " + (value.numel() == 1 ? format_text(value) : size_text(value.sizes()));
    first = false;
  }
  return s + ")";
}

void DistributionImpl::check_arguments() const {
  for (const Argument& a : arguments()) {
    if (a.slot >= 0 && !has_slot(a.slot)) continue;  // computed from a parameter that is checked
    const Constraint wanted = constraint_of(a);
    if (constraints::is_dependent(wanted)) continue;
    const Tensor value = parameter(a);
    if (all_true(wanted.check(value))) continue;
    throw ValueError(outside_text(*this, std::string("parameter ") + a.name, value) + "expected " + wanted.str() + ", got\n" + format_text(value));
  }
}

void DistributionImpl::check_value(const Tensor& value) const {
  CRESSET_CHECK_VALUE(value.defined(), kind().name, ": expected a tensor as value, got none");
  const IntArrayRef shape = value.sizes();
  // As Python slices: a value with too few dimensions is compared as a whole, from as far back as it goes.
  const size_t dims = event_shape_.size();
  const IntArrayRef end = shape.size() >= dims ? last(shape, dims) : shape.slice(shape.size() - std::min(shape.size(), dims - shape.size()));
  CRESSET_CHECK_VALUE(end == event_shape(), kind().name, ": value does not end in an event, got shape ", size_text(shape), ", expected ",
                      size_text(event_shape_), " at its end");
  const Shape expected = join(batch_shape_, event_shape_);
  CRESSET_CHECK_VALUE(fit(shape, expected), kind().name, ": value does not broadcast against the batch, got shape ", size_text(shape), ", expected ",
                      size_text(expected));
  std::optional<Constraint> found;
  try {
    found = support();
  } catch (const NotImplementedError&) {
    return warn(std::string(kind().name) + " says nothing of its support: values are not checked; define support, or pass " + "validate_args=False");
  }
  const Constraint& wanted = *found;
  if (all_true(wanted.check(value))) return;
  throw ValueError(outside_text(*this, "value", value) + "expected " + wanted.str() + ", got\n" + format_text(value));
}

std::string outside_text(const DistributionImpl& distribution, const std::string& what, const Tensor& value) {
  return std::string(distribution.kind().name) + ": " + what + ", a Tensor of shape " + tuple_text(value.sizes()) + ", is outside its constraint, ";
}

Distribution::Distribution(Fresh fresh, std::optional<bool> validate_args) {
  std::shared_ptr<DistributionImpl> impl(fresh.impl);
  impl->validate_ = validate_args.value_or(default_validate.load(std::memory_order_relaxed));
  if (impl->validate_) impl->check_arguments();
  impl->finish();
  impl_ = std::move(impl);
}

void Distribution::set_default_validate_args(bool value) { default_validate = value; }

std::vector<std::pair<std::string, Constraint>> Distribution::arg_constraints() const {
  std::vector<std::pair<std::string, Constraint>> wanted;
  for (const Argument& a : impl().arguments()) wanted.emplace_back(a.name, impl().constraint_of(a));
  return wanted;
}

Tensor Distribution::sample(IntArrayRef sample_shape) const {
  const NoGradGuard off;
  return impl().sample(sample_shape);
}

Tensor Distribution::perplexity() const { return entropy().exp(); }

Distribution Distribution::expand(IntArrayRef batch_shape) const {
  std::shared_ptr<DistributionImpl> copy;
  {
    const std::lock_guard<std::mutex> lock(slots_mutex);
    copy.reset(impl().copy());
  }
  copy->expand_to(batch_shape);
  copy->batch_shape_ = batch_shape.vec();
  return Distribution(std::move(copy));
}

Tensor Distribution::argument(size_t i) const { return impl().parameter(impl().arguments()[i]); }

void Distribution::throw_empty() { throw Error("distributions: this handle is empty: make a distribution, or assign one, first"); }

void Distribution::check_is(const Kind& wanted) const { CRESSET_CHECK_TYPE(kind().is(wanted), "distributions: a ", kind().name, " is not a ", wanted.name); }

double ExponentialFamilyImpl::mean_carrier_measure() const { missing("entropy"); }

Tensor ExponentialFamilyImpl::normalizer_with_gradients(std::vector<Tensor>& parameters, std::vector<Tensor>& gradients) const {
  for (const Tensor& p : natural_params()) {
    parameters.push_back(p.detach());
    parameters.back().requires_grad_();
  }
  const AutoGradMode recording(true);
  const Tensor normalizer = log_normalizer(parameters);
  gradients = autograd::grad({normalizer.sum()}, parameters, {}, {}, true);
  return normalizer;
}

Tensor ExponentialFamilyImpl::entropy() const {
  if (formula_of(kind(), &Formulas::entropy)) return DistributionImpl::entropy();
  const double carrier = mean_carrier_measure();
  std::vector<Tensor> parameters, gradients;
  Tensor result = normalizer_with_gradients(parameters, gradients) + -carrier;
  for (size_t i = 0; i < parameters.size(); i++) result = result - (parameters[i] * gradients[i]).reshape(join(batch_shape_, {-1})).sum(-1);
  return result;
}

}  // namespace cresset::distributions
