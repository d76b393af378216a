#pragma once
// How a program of rows walks along them.

#include "cresset/graph/codegen/machine/program.h"

namespace cresset::graph::machine {

// Sets the passes: folds as soon as what they read is there, those of one order and type together; then one that stores the results. A value that passes
// share is computed again in each where that costs a few operations, else kept.
void plan_rows(Program& program);

}  // namespace cresset::graph::machine
