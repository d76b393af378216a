#pragma once
// What the transforms share; not for users.

#include "cresset/distributions/support.h"
#include "cresset/distributions/transforms.h"

namespace cresset::distributions {

template <class Self>
struct TransformOf : TransformImpl {
  TransformImpl* copy(int64_t) const override { return new Self(static_cast<const Self&>(*this)); }
};

// The parts of a composition; null for other transforms.
const std::vector<Transform>* parts_of_composition(const TransformImpl& impl);

}  // namespace cresset::distributions
