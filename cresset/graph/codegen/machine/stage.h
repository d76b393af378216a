#pragma once
// Runs of steps as machine code, and steps that stay loops of the library.

#include <functional>
#include <memory>
#include <optional>

#include "cresset/graph/codegen/machine/machine.h"
#include "cresset/graph/codegen/step.h"
#include "cresset/kernels/reduce/reduce.h"

namespace cresset::graph::machine {

constexpr size_t kMaxArrays = 24;

// Steps [first, last): one with its own loop, or several with code, for elements or for whole rows.
struct Stage {
  int first = 0, last = 0;
  std::shared_ptr<const Image> image;
  int lanes = 0;
  bool of_rows = false;
  int64_t memory = 0;                    // bytes that code of rows works in
  std::vector<int> outputs;              // steps whose values are stored
  std::vector<FusedStep::Input> inputs;  // what it reads
  std::vector<Array> arrays;             // of outputs and inputs

  // On n elements. `data` are the arrays' starts.
  void run(char* const* data, int64_t n) const;
  // On rows; `strides` are the bytes from one to the next.
  void run_rows(char* const* data, const int64_t* strides, int64_t rows) const;
};

// Steps that are to become stages.
struct Steps {
  std::vector<const FusedStep*> all;
  std::vector<bool> kept;                               // whether the values are needed later on
  std::function<Array(const FusedStep::Input&)> array;  // how an argument, or the value of another stage, is read
  // Of rows; 0 where only elements have code, the same for all.
  int64_t columns = 0;
  std::vector<bool> narrow;                             // steps with one value for a row
  std::vector<std::optional<kernels::ReduceOp>> folds;  // of steps that reduce their first input
  bool is_narrow(size_t step) const { return step < narrow.size() && narrow[step]; }
};
std::vector<Stage> stages_of(const Steps& steps);

}  // namespace cresset::graph::machine
