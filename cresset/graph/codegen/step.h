#pragma once
// An operator of a fused kernel.

#include <vector>

#include "cresset/kernels/pointwise/pointwise.h"

namespace cresset::graph {

struct FusedStep {
  struct Input {
    enum Kind : uint8_t { Argument, Step, Number } kind;
    int index = 0;                            // of the argument or the step
    alignas(16) unsigned char cell[16] = {};  // a number, as the loop reads it
  };
  kernels::Loop loop = nullptr;
  ScalarType result = ScalarType::Undefined, compute = ScalarType::Undefined;
  const char* kernel = "";  // the name of the pointwise kernel whose loop it is, where that is known
  std::vector<Input> inputs;
  std::vector<Scalar> params;
};

}  // namespace cresset::graph
