#pragma once
// The library's expressions as programs: each is called on values that note what is done to them, so that machine code has the operations, and the bits,
// of the loops. A condition that an expression branches on is taken both ways, and becomes a choice between the two results.

#include "cresset/base/scalar.h"
#include "cresset/graph/codegen/machine/program.h"

namespace cresset::graph::machine {

// Adds the pointwise kernel `name` on nodes of its compute dtype; masks and results of comparisons are masks. Returns the result's node, or -1 for kernels
// that have no program: those that turn to the C library for some arguments, and integers.
int trace(Program& program, const std::string& name, ScalarType compute, const std::vector<int>& inputs, const std::vector<Scalar>& params);
// A number of the compute dtype.
int constant(Program& program, ScalarType dtype, double value);
// The value as the dtype keeps it: half types round.
int rounded(Program& program, int node, ScalarType dtype);

}  // namespace cresset::graph::machine
