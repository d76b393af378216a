#pragma once
// Distribution, the handle on a distribution of probability, and DistributionImpl, which a distribution of one's own derives from.

#include "cresset/distributions/constraints.h"

namespace cresset::dispatch {
struct OpEntry;
class Value;
}  // namespace cresset::dispatch

namespace cresset::distributions {

class Distribution;
struct Formulas;

// The name of a class of distributions, which one it derives from, and what its objects can do unless they say otherwise.
struct Kind {
  const char* name;
  const Kind* base;  // null for Distribution
  bool has_rsample = false;
  bool has_enumerate_support = false;
  const Formulas* formulas = nullptr;  // of the tree's own kinds: the rows of ops/distributions/*.toml behind their methods

  bool is(const Kind& other) const {
    for (const Kind* k = this; k; k = k->base)
      if (k == &other) return true;
    return false;
  }
};

// A parameter as `arg_constraints` lists it. `slot`: where the distribution keeps it; negative: it is derived from other distributions.
struct Argument {
  const char* name;
  int slot;
  Constraint (*constraint)();
};

// The object behind a Distribution. Objects do not change once they are made, but for what is computed at its first use.
class CRESSET_API DistributionImpl {
 public:
  static constexpr int8_t kKeep = -1;  // in slot_dims: not expanded
  virtual ~DistributionImpl();
  virtual const Kind& kind() const = 0;
  // A copy of the object; `expand` works on it.
  virtual DistributionImpl* copy() const = 0;

  IntArrayRef batch_shape() const { return batch_shape_; }
  IntArrayRef event_shape() const { return event_shape_; }
  bool validates() const { return validate_; }

  virtual bool has_rsample() const { return kind().has_rsample; }
  virtual bool has_enumerate_support() const { return kind().has_enumerate_support; }
  // Parameters in the order of their checks.
  virtual ArrayRef<Argument> arguments() const { return {}; }
  // The constraint of an argument.
  virtual Constraint constraint_of(const Argument& argument) const { return argument.constraint(); }
  // Errors of these: NotImplementedError where the distribution does not define them.
  virtual Constraint support() const;
  virtual Tensor mean() const;
  virtual Tensor mode() const;
  virtual Tensor variance() const;
  virtual Tensor stddev() const;
  virtual Tensor sample(IntArrayRef sample_shape) const;
  virtual Tensor rsample(IntArrayRef sample_shape) const;
  virtual Tensor log_prob(const Tensor& value) const;
  virtual Tensor cdf(const Tensor& value) const;
  virtual Tensor icdf(const Tensor& value) const;
  virtual Tensor entropy() const;
  virtual Tensor enumerate_support(bool expand) const;
  virtual std::string str() const;

  // The tensor in a slot, computed by `lazy` where it is not there yet.
  Tensor slot(int i) const;
  bool has_slot(int i) const;
  // As `slot`, of one that the distribution was given.
  const Tensor& kept(int i) const { return slots_[static_cast<size_t>(i)]; }
  // The value of an argument.
  Tensor parameter(const Argument& argument) const { return argument.slot >= 0 ? slot(argument.slot) : derived(argument); }
  // The value that a row calls `name`: an argument, or `mean`, `variance`, `entropy`. Errors: there is no such thing.
  virtual Tensor named(std::string_view name) const;
  const Distribution& part(size_t i) const;
  // Errors: ValueError for what cannot be a value of this distribution. Nothing is looked at unless the distribution validates.
  void check(const Tensor& value) const {
    if (validate_) check_value(value);
  }
  void check_value(const Tensor& value) const;

 protected:
  friend class Distribution;
  // Dimensions of one event of each slot: `expand` expands what comes before, or leaves the slot as it is.
  virtual ArrayRef<int8_t> slot_dims() const { return {}; }
  virtual Tensor lazy(int slot) const;
  virtual Tensor derived(const Argument& argument) const;
  // Expands what a fresh copy keeps to a batch; batch_shape() is still the old one.
  virtual void expand_to(IntArrayRef batch_shape);
  virtual void check_arguments() const;
  // Makes what is made of parameters that have been checked.
  virtual void finish() {}
  // sample_shape + batch_shape + event_shape.
  Shape extended(IntArrayRef sample_shape) const;
  [[noreturn]] void missing(const char* what) const;
  // The result of the row behind a method. Errors: NotImplementedError where there is none.
  Tensor from_row(const dispatch::OpEntry* Formulas::*method, const char* name, std::initializer_list<dispatch::Value> given) const;

  Shape batch_shape_, event_shape_;
  mutable std::vector<Tensor> slots_;  // read through slot()
  std::vector<Distribution> parts_;
  bool validate_ = false;
};

// A batch of independent distributions of one kind: a value that shares what stands behind it. Samples have the shape
// sample_shape + batch_shape + event_shape and follow cresset::manual_seed as Python's do.
class CRESSET_API Distribution {
 public:
  static const Kind kKind;

  Distribution() = default;
  template <class Impl> explicit Distribution(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  // Whether parameters and values of distributions made from now on are checked, where they do not say so themselves; on at first.
  static void set_default_validate_args(bool value);

  IntArrayRef batch_shape() const { return impl().batch_shape(); }
  IntArrayRef event_shape() const { return impl().event_shape(); }
  bool has_rsample() const { return impl().has_rsample(); }
  bool has_enumerate_support() const { return impl().has_enumerate_support(); }
  // The constraints of the parameters, by name.
  std::vector<std::pair<std::string, Constraint>> arg_constraints() const;
  // The constraint of values.
  Constraint support() const { return impl().support(); }
  Tensor mean() const { return impl().mean(); }
  Tensor mode() const { return impl().mode(); }
  Tensor variance() const { return impl().variance(); }
  Tensor stddev() const { return impl().stddev(); }
  // Values without gradients.
  Tensor sample(IntArrayRef sample_shape = {}) const;
  // As `sample`, with gradients with respect to the parameters.
  Tensor rsample(IntArrayRef sample_shape = {}) const { return impl().rsample(sample_shape); }
  // Of each event in `value`. Errors: a value outside the support, where arguments are validated.
  Tensor log_prob(const Tensor& value) const { return impl().log_prob(value); }
  Tensor cdf(const Tensor& value) const { return impl().cdf(value); }
  Tensor icdf(const Tensor& value) const { return impl().icdf(value); }
  Tensor entropy() const { return impl().entropy(); }
  Tensor perplexity() const;
  // All values of a discrete distribution along a new first dimension; with `expand` for each of the batch.
  Tensor enumerate_support(bool expand = true) const { return impl().enumerate_support(expand); }
  // The same distribution with a batch expanded to `batch_shape`; parameters are views, nothing is checked again.
  Distribution expand(IntArrayRef batch_shape) const;
  // As Python shows it.
  std::string str() const { return impl().str(); }

  const Kind& kind() const { return impl().kind(); }
  template <class Family> bool is() const { return kind().is(Family::kKind); }
  // The handle of a more derived class. Errors: TypeError where this is not one.
  template <class Family> Family as() const {
    check_is(Family::kKind);
    return Family(impl_);
  }
  bool defined() const { return impl_ != nullptr; }
  // Errors: an empty handle.
  const DistributionImpl& impl() const {
    if (CRESSET_UNLIKELY(!impl_)) throw_empty();
    return *impl_;
  }

 protected:
  // A pointer to a distribution, which the number 0 is not.
  struct Fresh {
    template <class Impl> Fresh(Impl* fresh) : impl(fresh) {}
    DistributionImpl* impl;
  };
  // Takes a distribution fresh from `new` over and checks its arguments, where asked for.
  Distribution(Fresh fresh, std::optional<bool> validate_args);
  Tensor slot(int i) const { return impl().slot(i); }
  Tensor argument(size_t i) const;

 private:
  [[noreturn]] static void throw_empty();
  void check_is(const Kind& wanted) const;

  std::shared_ptr<const DistributionImpl> impl_;
};

CRESSET_API std::ostream& operator<<(std::ostream& out, const Distribution& distribution);

// A distribution with density exp(<t(x), theta> - F(theta) + k(x)): entropies and divergences follow from F and its gradient.
class CRESSET_API ExponentialFamilyImpl : public DistributionImpl {
 public:
  virtual std::vector<Tensor> natural_params() const;
  virtual Tensor log_normalizer(const std::vector<Tensor>& natural_params) const;
  // The expectation of k(x). Errors: NotImplementedError where it is not known.
  virtual double mean_carrier_measure() const;
  Tensor entropy() const override;
  // F at the natural parameters, which `parameters` receives as leaves, and its gradients; recorded.
  Tensor normalizer_with_gradients(std::vector<Tensor>& parameters, std::vector<Tensor>& gradients) const;
};

class CRESSET_API ExponentialFamily : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
};

}  // namespace cresset::distributions
