#include "cresset/distributions/constraints.h"

#include <algorithm>

#include "cresset/distributions/support.h"

namespace cresset::distributions {

namespace {

// Python's comparisons: a number on either side.
Tensor at_least(const Tensor& value, const TensorOrNumber& bound) { return bound.is_tensor() ? value >= bound.tensor() : value >= bound.number(); }
Tensor above(const Tensor& value, const TensorOrNumber& bound) { return bound.is_tensor() ? value > bound.tensor() : value > bound.number(); }
Tensor at_most(const Tensor& value, const TensorOrNumber& bound) { return bound.is_tensor() ? value <= bound.tensor() : value <= bound.number(); }
Tensor under(const Tensor& value, const TensorOrNumber& bound) { return bound.is_tensor() ? value < bound.tensor() : value < bound.number(); }
Tensor whole(const Tensor& value) { return value % 1 == 0; }
Tensor zero_or_one(const Tensor& value) { return (value == 0) | (value == 1); }
Tensor is_lower(const Tensor& value) { return (value.tril() == value).flatten(-2).all(-1); }
Tensor is_cholesky(const Tensor& value) {
  const Tensor lower = is_lower(value);
  return lower & (value.diagonal(0, -2, -1) > 0).all(-1);
}
Tensor is_square(const Tensor& value) {
  const IntArrayRef s = value.sizes();
  CRESSET_CHECK_INDEX(s.size() >= 2, "square: expected matrices, got a tensor of shape ", s);
  return full(but_last(s, 2), s[s.size() - 2] == s[s.size() - 1], value.options().dtype(ScalarType::Bool));
}
Tensor is_symmetric(const Tensor& value) {
  const Tensor square = is_square(value);
  if (!all_true(square)) return square;
  return isclose(value, value.mT(), 1e-05, 1e-6).all(-2).all(-1);
}

void check_dim(const char* name, int64_t dim, const Tensor& value) {
  CRESSET_CHECK(-value.dim() <= dim && dim < value.dim(), name, ": dim is out of range, got ", dim, " for a value of ", value.dim(), " dimensions");
}

const char* const kNames[] = {"Dependent",
                              "Boolean",
                              "OneHot",
                              "IntegerInterval",
                              "IntegerLessThan",
                              "IntegerGreaterThan",
                              "Real",
                              "GreaterThan",
                              "GreaterThanEq",
                              "LessThan",
                              "Interval",
                              "HalfOpenInterval",
                              "Simplex",
                              "Multinomial",
                              "LowerTriangular",
                              "LowerCholesky",
                              "CorrCholesky",
                              "Square",
                              "Symmetric",
                              "PositiveSemidefinite",
                              "PositiveDefinite",
                              "IndependentConstraint",
                              "MixtureSameFamilyConstraint",
                              "Cat",
                              "Stack",
                              "Constraint"};

std::shared_ptr<ConstraintImpl> fresh(Region region, TensorOrNumber lower = {}, TensorOrNumber upper = {}) {
  auto impl = std::make_shared<ConstraintImpl>(region);
  impl->lower = std::move(lower);
  impl->upper = std::move(upper);
  return impl;
}

}  // namespace

Tensor ConstraintImpl::check(const Tensor& value) const {
  switch (region) {
    case Region::boolean: return zero_or_one(value);
    case Region::one_hot: return zero_or_one(value).all(-1) & (value.sum(-1) == 1);
    case Region::integer_interval: return whole(value) & at_least(value, lower) & at_most(value, upper);
    case Region::integer_less_than: return whole(value) & at_most(value, upper);
    case Region::integer_greater_than: return whole(value) & at_least(value, lower);
    case Region::real: return value == value;  // false for NaN alone
    case Region::greater_than: return above(value, lower);
    case Region::greater_than_eq: return at_least(value, lower);
    case Region::less_than: return under(value, upper);
    case Region::interval: return at_least(value, lower) & at_most(value, upper);
    case Region::half_open_interval: return at_least(value, lower) & under(value, upper);
    case Region::simplex: return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6);
    case Region::multinomial: return (value >= 0).all(-1) & at_most(value.sum(-1), upper);
    case Region::lower_triangular: return is_lower(value);
    case Region::lower_cholesky: return is_cholesky(value);
    case Region::corr_cholesky: {
      const double tolerance = finfo(value.scalar_type()).eps * static_cast<double>(value.size(-1)) * 10;  // as wide as PyTorch takes it
      const Tensor unit = ((value.square().sum(-1).sqrt() - 1).abs() < tolerance).all(-1);
      return unit & is_cholesky(value);
    }
    case Region::square: return is_square(value);
    case Region::symmetric: return is_symmetric(value);
    case Region::positive_semidefinite:
    case Region::positive_definite: {
      const Tensor symmetric = is_symmetric(value);
      if (!all_true(symmetric)) return symmetric;
      if (region == Region::positive_semidefinite) return linalg_eigvalsh(value).ge(0).all(-1);
      return std::get<1>(linalg_cholesky_ex(value)).eq(0);
    }
    case Region::independent: {
      const Tensor inside = parts[0].check(value);
      CRESSET_CHECK_VALUE(inside.dim() >= dim, "constraint: expected at least ", event_dim(), " dimensions, got ", value.dim());
      return all_rightmost(inside, dim);
    }
    case Region::mixture_same_family: {
      const Tensor inside = parts[0].check(value.unsqueeze(-1 - event_dim()));
      CRESSET_CHECK_VALUE(value.dim() >= event_dim(), "constraint: expected at least ", event_dim(), " dimensions, got ", value.dim());
      return all_rightmost(inside, inside.dim() - (value.dim() - event_dim()));
    }
    case Region::cat: {
      check_dim("Cat", dim, value);
      std::vector<Tensor> pieces;
      int64_t start = 0;
      for (size_t i = 0; i < parts.size(); start += lengths[i++]) pieces.push_back(parts[i].check(value.narrow(dim, start, lengths[i])));
      return cresset::cat(pieces, dim);
    }
    case Region::stack: {
      check_dim("Stack", dim, value);
      std::vector<Tensor> slices;
      const size_t count = std::min(parts.size(), static_cast<size_t>(value.size(dim)));
      for (size_t i = 0; i < count; i++) slices.push_back(parts[i].check(value.select(dim, static_cast<int64_t>(i))));
      return cresset::stack(slices, dim);
    }
    default: break;
  }
  CRESSET_CHECK_VALUE(region != Region::dependent, "a dependent constraint cannot be checked: it depends on other values");
  throw NotImplementedError("constraint: a region of one's own must define check");
}

bool ConstraintImpl::is_discrete() const {
  switch (region) {
    case Region::boolean:
    case Region::one_hot:
    case Region::integer_interval:
    case Region::integer_less_than:
    case Region::integer_greater_than:
    case Region::multinomial: return true;
    case Region::dependent:
      CRESSET_CHECK_NOT_IMPLEMENTED(known_discrete, "is_discrete of a dependent constraint is not known before there is a value");
      return *known_discrete;
    default: return std::any_of(parts.begin(), parts.end(), [](const Constraint& c) { return c.is_discrete(); });
  }
}

int64_t ConstraintImpl::event_dim() const {
  switch (region) {
    case Region::one_hot:
    case Region::simplex:
    case Region::multinomial: return 1;
    case Region::lower_triangular:
    case Region::lower_cholesky:
    case Region::corr_cholesky:
    case Region::square:
    case Region::symmetric:
    case Region::positive_semidefinite:
    case Region::positive_definite: return 2;
    case Region::independent: return parts[0].event_dim() + dim;
    case Region::dependent:
      CRESSET_CHECK_NOT_IMPLEMENTED(known_event_dim, "event_dim of a dependent constraint is not known before there is a value");
      return *known_event_dim;
    default: {
      int64_t most = 0;
      for (const Constraint& c : parts) most = std::max(most, c.event_dim());
      return region == Region::stack && dim + most < 0 ? most + 1 : most;
    }
  }
}

std::string ConstraintImpl::str() const {
  std::string inside;
  const bool bounded = region != Region::multinomial;  // Python says nothing of that one's
  if (bounded && lower.is_given()) inside = "lower_bound=" + format_text(lower);
  if (bounded && upper.is_given()) inside += (inside.empty() ? "upper_bound=" : ", upper_bound=") + format_text(upper);
  if (region == Region::independent) inside = parts[0].str() + ", " + std::to_string(dim);
  if (region == Region::mixture_same_family) inside = parts[0].str();
  return std::string(kNames[static_cast<size_t>(region)]) + "(" + inside + ")";
}

const Constraint& Constraint::base_constraint() const {
  CRESSET_CHECK_TYPE(region() == Region::independent || region() == Region::mixture_same_family, "base_constraint: ", str(), " has none");
  return impl_->parts[0];
}

namespace constraints {

Constraint dependent(std::optional<bool> is_discrete, std::optional<int64_t> event_dim) {
  auto impl = fresh(Region::dependent);
  impl->known_discrete = is_discrete;
  impl->known_event_dim = event_dim;
  return Constraint(std::move(impl));
}

Constraint independent(const Constraint& base_constraint, int64_t reinterpreted_batch_ndims) {
  CRESSET_CHECK(reinterpreted_batch_ndims >= 0, "IndependentConstraint: expected reinterpreted_batch_ndims of at least 0, got ", reinterpreted_batch_ndims);
  auto impl = fresh(Region::independent);
  impl->parts = {base_constraint};
  impl->dim = reinterpreted_batch_ndims;
  return Constraint(std::move(impl));
}

Constraint MixtureSameFamilyConstraint(const Constraint& base_constraint) {
  auto impl = fresh(Region::mixture_same_family);
  impl->parts = {base_constraint};
  return Constraint(std::move(impl));
}

Constraint boolean() { return Constraint(fresh(Region::boolean)); }
Constraint one_hot() { return Constraint(fresh(Region::one_hot)); }
Constraint integer_interval(TensorOrNumber lower, TensorOrNumber upper) {
  return Constraint(fresh(Region::integer_interval, std::move(lower), std::move(upper)));
}
Constraint integer_less_than(TensorOrNumber upper) { return Constraint(fresh(Region::integer_less_than, {}, std::move(upper))); }
Constraint integer_greater_than(TensorOrNumber lower) { return Constraint(fresh(Region::integer_greater_than, std::move(lower))); }
Constraint nonnegative_integer() { return integer_greater_than(0); }
Constraint positive_integer() { return integer_greater_than(1); }
Constraint real() { return Constraint(fresh(Region::real)); }
Constraint real_vector() { return independent(real(), 1); }
Constraint positive() { return greater_than(0.0); }
Constraint nonnegative() { return greater_than_eq(0.0); }
Constraint greater_than(TensorOrNumber lower) { return Constraint(fresh(Region::greater_than, std::move(lower))); }
Constraint greater_than_eq(TensorOrNumber lower) { return Constraint(fresh(Region::greater_than_eq, std::move(lower))); }
Constraint less_than(TensorOrNumber upper) { return Constraint(fresh(Region::less_than, {}, std::move(upper))); }
Constraint unit_interval() { return interval(0.0, 1.0); }
Constraint interval(TensorOrNumber lower, TensorOrNumber upper) { return Constraint(fresh(Region::interval, std::move(lower), std::move(upper))); }
Constraint half_open_interval(TensorOrNumber lower, TensorOrNumber upper) {
  return Constraint(fresh(Region::half_open_interval, std::move(lower), std::move(upper)));
}
Constraint simplex() { return Constraint(fresh(Region::simplex)); }
Constraint multinomial(TensorOrNumber upper) { return Constraint(fresh(Region::multinomial, {}, std::move(upper))); }
Constraint lower_triangular() { return Constraint(fresh(Region::lower_triangular)); }
Constraint lower_cholesky() { return Constraint(fresh(Region::lower_cholesky)); }
Constraint corr_cholesky() { return Constraint(fresh(Region::corr_cholesky)); }
Constraint square() { return Constraint(fresh(Region::square)); }
Constraint symmetric() { return Constraint(fresh(Region::symmetric)); }
Constraint positive_semidefinite() { return Constraint(fresh(Region::positive_semidefinite)); }
Constraint positive_definite() { return Constraint(fresh(Region::positive_definite)); }

Constraint cat(std::vector<Constraint> cseq, int64_t dim, std::vector<int64_t> lengths) {
  if (lengths.empty()) lengths.assign(cseq.size(), 1);
  CRESSET_CHECK(lengths.size() == cseq.size(), "Cat: expected a length for each of ", cseq.size(), " constraints, got ", lengths.size());
  auto impl = fresh(Region::cat);
  impl->parts = std::move(cseq);
  impl->dim = dim;
  impl->lengths = std::move(lengths);
  return Constraint(std::move(impl));
}

Constraint stack(std::vector<Constraint> cseq, int64_t dim) {
  auto impl = fresh(Region::stack);
  impl->parts = std::move(cseq);
  impl->dim = dim;
  return Constraint(std::move(impl));
}

}  // namespace constraints

}  // namespace cresset::distributions
