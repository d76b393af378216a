#pragma once
// Laws of probability: sampling, densities, constraints, transforms and divergences. Link libcresset_distributions too.

#include "cresset/distributions/constraints.h"
#include "cresset/distributions/distribution.h"
#include "cresset/distributions/kl.h"
#include "cresset/distributions/laws.h"
#include "cresset/distributions/transforms.h"
