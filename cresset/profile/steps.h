#pragma once
// The calls that PyTorch makes within a call where our kernels do all in one. Each operator of the table has a function that says which, from the
// sizes, strides and dtypes of the arguments; steps have steps of their own by the same table.

#include <initializer_list>
#include <string_view>

#include "cresset/profile/recorder.h"

namespace cresset::profile {

// A step and what lies within it.
struct Step {
  std::string name;  // "aten::t"
  Facts inputs;
  std::vector<Step> children;
  bool is_kernel = false;  // computes itself: its steps prepare or look
};

class Steps;
using StepRule = Fact (*)(Steps& steps, const Facts& arguments);

struct StepRow {
  StepRule rule = nullptr;
  bool is_kernel = false;
  const char* shown_as = nullptr;  // PyTorch's name where ours differs
  bool is_spliced = false;         // the steps stand in its place
  const char* before = nullptr;    // a call that comes before it
};

// The object by which functions of the table make calls.
class Steps {
 public:
  explicit Steps(Step& root) : open_(&root) {}
  // A step within the one that is open, under PyTorch's name without "aten::"; gives its result as far as it is known.
  Fact call(const char* name, Facts inputs);

 private:
  Step* open_;
};

// Of facts: the arguments of calls that are no tensors of the recording.
Fact none();
Fact number(double value);
Fact number(int64_t value);
Fact flag(bool value);
Fact sizes_fact(ArrayRef<int64_t> sizes);
Fact dtype_fact(ScalarType dtype);
// A tensor with the strides of a contiguous one.
Fact tensor_fact(ArrayRef<int64_t> sizes, ScalarType dtype);

// The row of an operator, by its name without the overload; null: none.
const StepRow* step_row(std::string_view name);
const StepRow* step_row(const dispatch::OpEntry& op);
InputFact input_of(const Fact& f);

// Puts the steps into a finished log, in place of what our kernels called themselves: one that computes has the time of the call around it, others have none.
void add_steps(ThreadLog& log, const Options& options);

}  // namespace cresset::profile
