#include "cresset/distributions/kl.h"

#include <deque>
#include <mutex>

#include "cresset/distributions/formulas.h"
#include "cresset/distributions/row_table.h"

namespace cresset::distributions {

namespace {

// A function, or a row with the names of its arguments where they are not the row's own.
struct Rule {
  const Kind* p;
  const Kind* q;
  KlRule function;
  Entry row = nullptr;
  std::vector<std::string> names = {};
};

// The Bregman divergence of the log normalizer.
Tensor family_family(const Distribution& p, const Distribution& q) {
  CRESSET_CHECK_NOT_IMPLEMENTED(&p.kind() == &q.kind(), "kl_divergence: no rule for the families ", p.kind().name, " and ", q.kind().name,
                                ", expected two of one kind");
  const auto &own = static_cast<const ExponentialFamilyImpl&>(p.impl()), &other = static_cast<const ExponentialFamilyImpl&>(q.impl());
  std::vector<Tensor> mine, gradients;
  const Tensor normalizer = own.normalizer_with_gradients(mine, gradients);
  const std::vector<Tensor> theirs = other.natural_params();
  Tensor result = other.log_normalizer(theirs) - normalizer;
  for (size_t i = 0; i < mine.size(); i++) result = result - sum_rightmost((theirs[i] - mine[i]) * gradients[i], static_cast<int64_t>(q.event_shape().size()));
  return result;
}

Tensor transformed_transformed(const Distribution& first, const Distribution& second) {
  const auto p = first.as<TransformedDistribution>(), q = second.as<TransformedDistribution>();
  CRESSET_CHECK_NOT_IMPLEMENTED(p.transforms() == q.transforms() && p.event_shape() == q.event_shape(), "kl_divergence: ", p.kind().name, " and ",
                                q.kind().name, " differ in their transforms or event shapes");
  return kl_divergence(p.base_dist(), q.base_dist());
}

Tensor independent_independent(const Distribution& first, const Distribution& second) {
  const auto p = first.as<Independent>(), q = second.as<Independent>();
  CRESSET_CHECK_NOT_IMPLEMENTED(p.reinterpreted_batch_ndims() == q.reinterpreted_batch_ndims(),
                                "kl_divergence: Independent: expected one reinterpreted_batch_ndims, got ", p.reinterpreted_batch_ndims(), " and ",
                                q.reinterpreted_batch_ndims());
  return sum_rightmost(kl_divergence(p.base_dist(), q.base_dist()), p.reinterpreted_batch_ndims());
}

constexpr const Kind* kKinds[] = {
    &Bernoulli::kKind,
    &Beta::kKind,
    &Binomial::kKind,
    &Categorical::kKind,
    &Cauchy::kKind,
    &Dirichlet::kKind,
    &Exponential::kKind,
    &Gamma::kKind,
    &Geometric::kKind,
    &ContinuousBernoulli::kKind,
    &Gumbel::kKind,
    &HalfNormal::kKind,
    &Laplace::kKind,
    &Normal::kKind,
    &LowRankMultivariateNormal::kKind,
    &Pareto::kKind,
    &Poisson::kKind,
    &Uniform::kKind,
    &MultivariateNormal::kKind,
    &OneHotCategorical::kKind,
};

const Kind* kind_named(std::string_view name) {
  for (const Kind* kind : kKinds)
    if (name == kind->name) return kind;
  throw Error("kl_divergence: ops/distributions/divergences.toml names " + std::string(name) + ", which is not in kKinds");
}

Entry row_named(std::string_view name) {
  for (size_t i = 0; i < kRowTable.count; i++)
    if (name == kRowTable.ops[i]->name) return kRowTable.ops[i];
  throw Error("kl_divergence: ops/distributions/divergences.toml has no row " + std::string(name));
}

// "P Q row" or "P Q row(names)".
Rule parse_rule(std::string_view text) {
  const size_t first = text.find(' '), second = text.find(' ', first + 1), open = text.find('(');
  Rule rule{kind_named(text.substr(0, first)), kind_named(text.substr(first + 1, second - first - 1)), nullptr};
  rule.row = row_named(text.substr(second + 1, open - second - 1));
  for (size_t at = open; at < text.size() && text[at] != ')';) {
    const size_t end = text.find_first_of(",)", at + 1);
    rule.names.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return rule;
}

// A user's own rules come first. Rules stay where they are.
struct Rules {
  Rules() {
    for (const char* const* note = kRowTable.notes; *note; note++) all.push_back(parse_rule(*note));
    all.push_back({&ExponentialFamily::kKind, &ExponentialFamily::kKind, family_family});
    all.push_back({&TransformedDistribution::kKind, &TransformedDistribution::kKind, transformed_transformed});
    all.push_back({&Independent::kKind, &Independent::kKind, independent_independent});
  }
  std::mutex mutex;
  std::deque<Rule> all;
};
Rules& rules() {
  static Rules& known = *new Rules;
  return known;
}

// Whether the pair (a, b) is more derived than (c, d): the first differing one decides.
bool more_derived(const Kind* a, const Kind* b, const Kind* c, const Kind* d) {
  if (a != c) return a->is(*c);
  return b != d && b->is(*d);
}

Tensor apply(const Rule& rule, const Distribution& p, const Distribution& q) {
  if (rule.function) return rule.function(p, q);
  size_t next = 0;
  const auto lookup = [&](std::string_view argument) {
    const std::string_view name = next < rule.names.size() ? std::string_view(rule.names[next++]) : argument;
    return (name[0] == 'p' ? p : q).impl().named(name.substr(2));
  };
  return call_row(*rule.row, lookup, {})[0].to_tensor();
}

}  // namespace

void register_kl(const Kind& p, const Kind& q, KlRule rule) {
  const std::lock_guard<std::mutex> lock(rules().mutex);
  rules().all.push_front({&p, &q, rule});
}

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  const Rule *left = nullptr, *right = nullptr;  // by the first kind, then the second; and the other way around
  {
    const std::lock_guard<std::mutex> lock(rules().mutex);
    for (const Rule& r : rules().all) {
      if (!p.kind().is(*r.p) || !q.kind().is(*r.q)) continue;
      if (!left || more_derived(r.p, r.q, left->p, left->q)) left = &r;  // of equal pairs the first stands: a user's own
      if (!right || more_derived(r.q, r.p, right->q, right->p)) right = &r;
    }
  }
  CRESSET_CHECK_NOT_IMPLEMENTED(left, "kl_divergence: no rule for ", p.kind().name, " and ", q.kind().name);
  if (left != right)
    warn(std::string("kl_divergence: several rules fit ") + p.kind().name + " and " + q.kind().name + "; register_kl for " + left->p->name + " and " +
         right->q->name + " decides");
  return apply(*left, p, q);
}

}  // namespace cresset::distributions
