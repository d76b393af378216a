#pragma once
// The tables of rules; not for users.

#include "cresset/distributions/kl.h"
#include "cresset/distributions/support.h"

namespace cresset::distributions {

struct KlEntry {
  const Kind* p;
  const Kind* q;
  KlRule rule;
};
ArrayRef<KlEntry> kl_rules_of_one_kind();
ArrayRef<KlEntry> kl_rules_of_two_kinds();

// A rule over handles as one over distributions.
template <class P, class Q, Tensor (*rule)(const P&, const Q&)>
Tensor kl_rule(const Distribution& p, const Distribution& q) {
  return rule(p.as<P>(), q.as<Q>());
}
template <class P, class Q, Tensor (*rule)(const P&, const Q&)>
constexpr KlEntry entry() {
  return {&P::kKind, &Q::kKind, kl_rule<P, Q, rule>};
}

inline Tensor infinite_like(const Tensor& t) { return full_like(t, kInfinity); }

}  // namespace cresset::distributions
