#pragma once
// Probability distributions: sampling, densities, constraints, transforms and divergences. Link libcresset_distributions too.

#include "cresset/distributions/constraints.h"
#include "cresset/distributions/distribution.h"
#include "cresset/distributions/families.h"
#include "cresset/distributions/kl.h"
#include "cresset/distributions/transforms.h"
