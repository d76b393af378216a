// biject_to and transform_to: PyTorch's rules in one switch, users' own before it.

#include <mutex>

#include "cresset/distributions/support.h"
#include "cresset/distributions/transforms.h"

namespace cresset::distributions {

namespace {

struct OwnRule {
  bool bijective;
  Region region;
  std::string name;  // of a region of one's own
  ConstraintRegistry::Factory factory;
};

std::mutex rules_mutex;
std::vector<OwnRule>& own_rules() {
  static std::vector<OwnRule> rules;
  return rules;
}

std::string name_of(const Constraint& constraint) {
  const std::string text = constraint.str();
  return text.substr(0, text.find('('));
}

bool is_number(const TensorOrNumber& v, double wanted) { return v.is_number() && v.number().as<double>() == wanted; }

Transform after_exp(const TensorOrNumber& loc, int64_t scale) { return ComposeTransform({ExpTransform(), AffineTransform(loc, scale)}); }

TensorOrNumber difference(const TensorOrNumber& a, const TensorOrNumber& b) {
  if (a.is_number() && b.is_number()) return a.number().as<double>() - b.number().as<double>();
  if (a.is_number()) return a.number() - b.tensor();
  return b.is_number() ? a.tensor() - b.number() : a.tensor() - b.tensor();
}

std::vector<Transform> each(const ConstraintRegistry& registry, const std::vector<Constraint>& parts) {
  std::vector<Transform> found;
  for (const Constraint& c : parts) found.push_back(registry(c));
  return found;
}

}  // namespace

const ConstraintRegistry biject_to(true), transform_to(false);

void ConstraintRegistry::register_rule(const Constraint& constraint, Factory factory) const {
  const std::lock_guard<std::mutex> lock(rules_mutex);
  const std::string name = constraint.region() == Region::own ? name_of(constraint) : std::string();
  for (OwnRule& rule : own_rules())
    if (rule.bijective == bijective_ && rule.region == constraint.region() && rule.name == name) {
      rule.factory = std::move(factory);
      return;
    }
  own_rules().push_back({bijective_, constraint.region(), name, std::move(factory)});
}

Transform ConstraintRegistry::operator()(const Constraint& constraint) const {
  Factory own;
  {
    const std::lock_guard<std::mutex> lock(rules_mutex);
    for (const OwnRule& rule : own_rules())
      if (rule.bijective == bijective_ && rule.region == constraint.region() && (rule.region != Region::own || rule.name == name_of(constraint)))
        own = rule.factory;
  }
  if (own) return own(constraint);
  const ConstraintImpl& c = constraint.impl();
  switch (c.region) {
    case Region::real: return identity_transform();
    case Region::independent: return IndependentTransform((*this)(c.parts[0]), c.dim);
    case Region::greater_than:
    case Region::greater_than_eq: return after_exp(c.lower, 1);
    case Region::less_than: return after_exp(c.upper, -1);
    case Region::interval:
    case Region::half_open_interval:
      if (is_number(c.lower, 0) && is_number(c.upper, 1)) return SigmoidTransform();
      return ComposeTransform({SigmoidTransform(), AffineTransform(c.lower, difference(c.upper, c.lower))});
    case Region::simplex:
      if (bijective_) return StickBreakingTransform();
      return SoftmaxTransform();
    case Region::corr_cholesky: return CorrCholeskyTransform();
    case Region::cat: return CatTransform(each(*this, c.parts), c.dim, c.lengths);
    case Region::stack: return StackTransform(each(*this, c.parts), c.dim);
    case Region::lower_cholesky:
      if (!bijective_) return LowerCholeskyTransform();
      break;
    case Region::positive_definite:
    case Region::positive_semidefinite:
      if (!bijective_) return PositiveDefiniteTransform();
      break;
    default: break;
  }
  throw NotImplementedError("no transform leads into a constraint of class " +
                            std::string(c.region == Region::mixture_same_family || c.region == Region::own ? "" : "_") + name_of(constraint));
}

}  // namespace cresset::distributions
