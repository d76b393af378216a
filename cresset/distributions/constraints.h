#pragma once
// Regions in which the parameters and the values of distributions lie.

#include <memory>

#include "cresset/distributions/value.h"

namespace cresset::distributions {

class Constraint;

enum class Region : uint8_t {
  dependent,
  boolean,
  one_hot,
  integer_interval,
  integer_less_than,
  integer_greater_than,
  real,
  greater_than,
  greater_than_eq,
  less_than,
  interval,
  half_open_interval,
  simplex,
  multinomial,
  lower_triangular,
  lower_cholesky,
  corr_cholesky,
  square,
  symmetric,
  positive_semidefinite,
  positive_definite,
  independent,
  mixture_same_family,
  cat,
  stack,
  own
};

// The object behind a Constraint. A region of one's own derives from it, says Region::own, and overrides all four functions.
struct CRESSET_API ConstraintImpl {
  explicit ConstraintImpl(Region r) : region(r) {}
  virtual ~ConstraintImpl() = default;
  virtual Tensor check(const Tensor& value) const;
  virtual bool is_discrete() const;
  virtual int64_t event_dim() const;
  virtual std::string str() const;

  Region region;
  TensorOrNumber lower, upper;
  std::vector<Constraint> parts;
  // Dimensions that belong to an event (independent), or the dimension that is cut (cat, stack).
  int64_t dim = 0;
  std::vector<int64_t> lengths;
  std::optional<bool> known_discrete;  // of a dependent region
  std::optional<int64_t> known_event_dim;
};

// A handle on a region that nothing changes.
class CRESSET_API Constraint {
 public:
  Constraint(std::shared_ptr<const ConstraintImpl> impl) : impl_(std::move(impl)) {}

  // Of each event in `value` whether it lies inside: of its shape without the last `event_dim` dimensions.
  Tensor check(const Tensor& value) const { return impl_->check(value); }
  bool is_discrete() const { return impl_->is_discrete(); }
  // How many of the last dimensions make up an event.
  int64_t event_dim() const { return impl_->event_dim(); }
  // As Python shows it: `GreaterThan(lower_bound=0.0)`.
  std::string str() const { return impl_->str(); }
  Region region() const { return impl_->region; }
  const TensorOrNumber& lower_bound() const { return impl_->lower; }
  const TensorOrNumber& upper_bound() const { return impl_->upper; }
  // The constraint that `independent` and MixtureSameFamilyConstraint stand on. Errors: there is none.
  const Constraint& base_constraint() const;
  int64_t reinterpreted_batch_ndims() const { return impl_->dim; }
  const ConstraintImpl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const ConstraintImpl> impl_;
};

CRESSET_API std::ostream& operator<<(std::ostream& out, const Constraint& constraint);

namespace constraints {

CRESSET_API Constraint dependent(std::optional<bool> is_discrete = {}, std::optional<int64_t> event_dim = {});
CRESSET_API Constraint independent(const Constraint& base_constraint, int64_t reinterpreted_batch_ndims);
CRESSET_API Constraint MixtureSameFamilyConstraint(const Constraint& base_constraint);
CRESSET_API Constraint boolean();
CRESSET_API Constraint one_hot();
CRESSET_API Constraint integer_interval(TensorOrNumber lower_bound, TensorOrNumber upper_bound);
CRESSET_API Constraint integer_less_than(TensorOrNumber upper_bound);
CRESSET_API Constraint integer_greater_than(TensorOrNumber lower_bound);
CRESSET_API Constraint nonnegative_integer();
CRESSET_API Constraint positive_integer();
CRESSET_API Constraint real();
CRESSET_API Constraint real_vector();
CRESSET_API Constraint positive();
CRESSET_API Constraint nonnegative();
CRESSET_API Constraint greater_than(TensorOrNumber lower_bound);
CRESSET_API Constraint greater_than_eq(TensorOrNumber lower_bound);
CRESSET_API Constraint less_than(TensorOrNumber upper_bound);
CRESSET_API Constraint unit_interval();
CRESSET_API Constraint interval(TensorOrNumber lower_bound, TensorOrNumber upper_bound);
CRESSET_API Constraint half_open_interval(TensorOrNumber lower_bound, TensorOrNumber upper_bound);
CRESSET_API Constraint simplex();
CRESSET_API Constraint multinomial(TensorOrNumber upper_bound);
CRESSET_API Constraint lower_triangular();
CRESSET_API Constraint lower_cholesky();
CRESSET_API Constraint corr_cholesky();
CRESSET_API Constraint square();
CRESSET_API Constraint symmetric();
CRESSET_API Constraint positive_semidefinite();
CRESSET_API Constraint positive_definite();
// Constraints of pieces of the lengths `lengths` (1 each where left out) along `dim`, and of the slices along `dim`.
CRESSET_API Constraint cat(std::vector<Constraint> cseq, int64_t dim = 0, std::vector<int64_t> lengths = {});
CRESSET_API Constraint stack(std::vector<Constraint> cseq, int64_t dim = 0);
inline bool is_dependent(const Constraint& constraint) { return constraint.region() == Region::dependent; }

}  // namespace constraints

}  // namespace cresset::distributions
