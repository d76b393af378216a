#include "cresset/distributions/kl.h"

#include <mutex>

#include "cresset/distributions/kl_rules.h"

namespace cresset::distributions {

namespace {

std::mutex rules_mutex;
std::vector<KlEntry>& own_rules() {
  static std::vector<KlEntry> rules;
  return rules;
}

// Whether the pair (a, b) is at least as derived as (c, d): the first differing one decides.
bool more_derived(const Kind* a, const Kind* b, const Kind* c, const Kind* d) {
  if (a != c) return a->is(*c);
  return b->is(*d);
}

}  // namespace

void register_kl(const Kind& p, const Kind& q, KlRule rule) {
  const std::lock_guard<std::mutex> lock(rules_mutex);
  for (KlEntry& e : own_rules())
    if (e.p == &p && e.q == &q) {
      e.rule = rule;
      return;
    }
  own_rules().push_back({&p, &q, rule});
}

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  const KlEntry *left = nullptr, *right = nullptr;  // by the first kind, then the second; and the other way around
  std::vector<KlEntry> own;
  {
    const std::lock_guard<std::mutex> lock(rules_mutex);
    own = own_rules();
  }
  for (const ArrayRef<KlEntry>& table : {ArrayRef<KlEntry>(own), kl_rules_of_one_kind(), kl_rules_of_two_kinds()})
    for (const KlEntry& e : table) {
      if (!p.kind().is(*e.p) || !q.kind().is(*e.q)) continue;
      // Of equal pairs the first stands: a user's own.
      if (!left || (more_derived(e.p, e.q, left->p, left->q) && !(e.p == left->p && e.q == left->q))) left = &e;
      if (!right || (more_derived(e.q, e.p, right->q, right->p) && !(e.p == right->p && e.q == right->q))) right = &e;
    }
  CRESSET_CHECK_NOT_IMPLEMENTED(left, "No KL(p || q) is implemented for p type ", p.kind().name, " and q type ", q.kind().name);
  if (left->rule != right->rule)
    warn(std::string("Ambiguous kl_divergence(") + p.kind().name + ", " + q.kind().name + "). Please register_kl(" + left->p->name +
         ", " + right->q->name + ")");
  return left->rule(p, q);
}

}  // namespace cresset::distributions
