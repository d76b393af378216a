#pragma once
// Pointwise operators that run as one: tile after tile, each small enough to stay in cache between them. Every operator is a loop of the library's own
// kernels, so that results have the bits that the operators have one by one.

#include <memory>
#include <mutex>
#include <vector>

#include "cresset/core/tensor.h"
#include "cresset/graph/codegen/machine/stage.h"
#include "cresset/ops/pointwise/watch.h"

namespace cresset::graph {

// Nanoseconds that a step takes for an element whose inputs and output lie in cache, measured once for each loop.
CRESSET_API double cost_of(const FusedStep& step);

// A dense tensor in the memory of another, if that has as many bytes and nothing but this handle holds it; otherwise undefined.
Tensor taken_over(const Tensor& from, IntArrayRef sizes, ScalarType dtype);

// Which arguments an output may take the memory of: those of elements as large that no step reads after its own. `last_read` is of each argument.
std::vector<std::vector<int>> heirs_of(const std::vector<ScalarType>& arguments, const std::vector<int>& last_read, const std::vector<int>& outputs,
                                       const std::vector<ScalarType>& results);

// Operators that run together.
class CRESSET_API Kernel {
 public:
  virtual ~Kernel() = default;
  // New dense tensors. Errors: arguments of other dtypes, devices or shapes.
  virtual std::vector<Tensor> run(ArrayRef<Tensor> arguments) const = 0;
  // The same; arguments that nothing else holds may become results, whose values they have then.
  virtual std::vector<Tensor> run_owning(ArrayRef<Tensor> arguments) const { return run(arguments); }
  // Makes its machine code, which the first run does otherwise; `ones` tells the arguments that are to have a single element.
  virtual void prepare(const std::vector<bool>& ones) const = 0;
};

class CRESSET_API FusedKernel : public Kernel {
 public:
  // `arguments` are the dtypes of the tensors that it takes, `outputs` the steps whose values it gives. Errors: an input of a step that is not there
  // before it, or of no known dtype.
  FusedKernel(std::vector<ScalarType> arguments, std::vector<FusedStep> steps, std::vector<int> outputs);

  // New dense tensors of the shape that the arguments broadcast to. Errors: other dtypes or devices, shapes that do not broadcast.
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override { return compute(arguments, false); }
  std::vector<Tensor> run_owning(ArrayRef<Tensor> arguments) const override { return compute(arguments, true); }
  void prepare(const std::vector<bool>& ones) const override { stages(ones); }

  size_t num_steps() const { return steps_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  // Values between steps that a tile keeps at once.
  int num_temporaries() const { return num_slots_; }
  int64_t tile() const { return tile_; }

 private:
  struct Place {
    bool is_output;
    int index;  // of the output, or of the temporary
  };
  // The stages for arguments of which these are single elements.
  std::shared_ptr<const std::vector<machine::Stage>> stages(const std::vector<bool>& ones) const;
  std::vector<Tensor> compute(ArrayRef<Tensor> arguments, bool owned) const;
  void run_range(const std::vector<machine::Stage>& stages, const std::vector<struct FusedSource>& sources, const std::vector<char*>& results, int64_t begin,
                 int64_t end) const;

  std::vector<ScalarType> arguments_;
  std::vector<FusedStep> steps_;
  std::vector<int> outputs_;
  std::vector<std::vector<int>> heirs_;
  std::vector<Place> places_;  // of each step's value
  int num_slots_ = 0;
  int64_t tile_ = 1024, element_ = 1;
  struct Stages {
    std::mutex mutex;
    std::vector<std::pair<std::vector<bool>, std::shared_ptr<const std::vector<machine::Stage>>>> known;
  };
  std::shared_ptr<Stages> stages_ = std::make_shared<Stages>();
};

// Watches one call of an operator, to learn the loop that it runs. `step` has the loop, numbers and parameters; its tensors are numbered as in `tensors`.
class CRESSET_API Probe : public ops::PointwiseWatch {
 public:
  explicit Probe(ArrayRef<Tensor> tensors) : tensors_(tensors.begin(), tensors.end()), before_(ops::watch_pointwise(this)) {}
  ~Probe() override { ops::watch_pointwise(before_); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  void saw(const ops::PointwiseSight& sight) override;
  void saw(const ops::ReductionSight& sight) override;

  // Whether the operator is one loop on these tensors, whose result is `result`.
  bool is_one_loop(const Tensor& result) const { return count_ == 1 && fits_ && result.defined() && result.impl() == result_; }
  const FusedStep& step() const { return step_; }
  // The reduction of the last dimension of the first tensor that alone has run and gave `result`, of the same dtype.
  std::optional<kernels::ReduceOp> reduction(const Tensor& result) const {
    return count_ == 1 && reduction_ && result.defined() && result.data_ptr() == data_ && result.scalar_type() == tensors_[0].scalar_type() ? reduction_
                                                                                                                                            : std::nullopt;
  }

 private:
  std::vector<Tensor> tensors_;
  ops::PointwiseWatch* before_;
  FusedStep step_;
  int count_ = 0;
  bool fits_ = true;
  const TensorImpl* result_ = nullptr;
  std::optional<kernels::ReduceOp> reduction_;
  const void* data_ = nullptr;
};

// Kernels by number, for the operator cresset_fused::run(int kernel, Tensor[] arguments) -> Tensor[].
CRESSET_API int64_t keep_kernel(std::shared_ptr<const Kernel> kernel);
CRESSET_API void drop_kernel(int64_t number);

}  // namespace cresset::graph
