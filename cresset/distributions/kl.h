#pragma once
// Kullback-Leibler divergences.

#include "cresset/distributions/families.h"

namespace cresset::distributions {

// KL(p || q), the expectation of log p(x) - log q(x) under p, of each distribution of the batch.
// Errors: NotImplementedError where there is no rule for the two classes.
CRESSET_API Tensor kl_divergence(const Distribution& p, const Distribution& q);

using KlRule = Tensor (*)(const Distribution& p, const Distribution& q);
// Makes a function the rule for distributions of kind `p` from distributions of kind `q` and what derives from them; the rule of the most derived
// kinds is taken. Where that is not one rule, `kl_divergence` warns and goes by the first kind: register the pair itself to choose.
CRESSET_API void register_kl(const Kind& p, const Kind& q, KlRule rule);

}  // namespace cresset::distributions
