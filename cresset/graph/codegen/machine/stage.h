#pragma once
// Runs of steps as machine code, and steps that stay loops of the library.

#include <functional>
#include <memory>

#include "cresset/graph/codegen/machine/machine.h"
#include "cresset/graph/codegen/step.h"

namespace cresset::graph::machine {

constexpr size_t kMaxArrays = 24;

// Steps [first, last): one with its own loop, or several with code.
struct Stage {
  int first = 0, last = 0;
  std::shared_ptr<const Image> image;
  int lanes = 0;
  std::vector<int> outputs;              // steps whose values are stored
  std::vector<FusedStep::Input> inputs;  // what it reads
  std::vector<Array> arrays;             // of outputs and inputs

  // On n elements. `data` are the arrays' starts.
  void run(char* const* data, int64_t n) const;
};

// The stages of steps, some of which are none of code (null); `readers` are all of them. `kept` tells the steps whose values are needed later on, `one` the inputs that are single
// elements for all the code's elements.
std::vector<Stage> stages_of(const std::vector<const FusedStep*>& steps, const std::vector<const FusedStep*>& readers, const std::vector<ScalarType>& arguments,
                             const std::vector<bool>& kept, const std::function<bool(const FusedStep::Input&)>& one);

}  // namespace cresset::graph::machine
