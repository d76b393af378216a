#pragma once
// Vocabulary of the rows of ops/distributions/*.toml, and how methods find them; not for users.

#include <cmath>

#include "cresset/dispatch/op.h"
#include "cresset/distributions/multivariate.h"
#include "cresset/distributions/support.h"

namespace cresset::distributions {

using Entry = const dispatch::OpEntry*;

// The rows behind the methods of one kind; null where it has none.
struct Formulas {
  Entry mean, mode, variance, stddev, sample, rsample, log_prob, cdf, icdf, entropy, enumerate_support, natural_params, log_normalizer;
};
using Method = Entry Formulas::*;

// The row of the most derived kind that has one; null: none.
Entry formula_of(const Kind& kind, Method method);

// Where the other arguments of a row come from.
using Lookup = FunctionRef<Tensor(std::string_view name)>;
// Calls a row: `given` are its arguments value, shape, expand, x, y or z in order, all others are looked up by name.
dispatch::Stack call_row(const dispatch::OpEntry& row, Lookup lookup, std::initializer_list<dispatch::Value> given);
Tensor call_row(Entry row, const DistributionImpl& self, std::initializer_list<dispatch::Value> given = {});

// Of |X| for an X that is symmetric around 0 and has the log density `whole` at the value.
Tensor half_log_prob(const Tensor& value, const Tensor& scale, const Tensor& whole);
// The expectation of X^n where X has a Kumaraswamy distribution.
Tensor kumaraswamy_moment(const Tensor& a, const Tensor& b, int64_t n);
// Numbers of a batch as matrices of one element.
Tensor as_matrices(const Tensor& numbers);
// Numbers held within (0, 1), as far as their dtype can tell.
Tensor within_unit(const Tensor& y);
// -E[log q(X)] of a normal distribution q, by the moments of X.
Tensor cross_normal(const Tensor& mean, const Tensor& variance, const Tensor& loc, const Tensor& scale);

}  // namespace cresset::distributions
