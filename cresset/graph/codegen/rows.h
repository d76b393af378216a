#pragma once
// Pointwise operators and reductions of the last dimension that run as one: block after block of rows, each small enough to stay in cache between them.
// Reductions are the library's own operators on the block, so that each row has the bits that it has in the whole tensor.

#include "cresset/dispatch/op.h"
#include "cresset/graph/codegen/fused.h"

namespace cresset::graph {

// A step: a loop, or a reduction of its first input to one column.
struct RowStep {
  FusedStep loop;
  const dispatch::OpEntry* reduction = nullptr;
  std::vector<dispatch::Value> rest;  // arguments of the reduction after the tensor
  bool wide = true;                   // whether its value has all columns, or one
  // The same reduction as a kernel, which needs no tensors; the constructor of a RowKernel finds it.
  std::optional<kernels::ReduceOp> kernel = std::nullopt;
};

enum class RowArgument : uint8_t {
  Wide,    // all rows and columns
  Narrow,  // one column
  Vector,  // one row
  One,     // one element
};

class CRESSET_API RowKernel : public Kernel {
 public:
  // `outputs` are steps. Where all rows have `columns` elements, they have code as a whole. Errors: an input that is not there before its step; no wide
  // argument.
  RowKernel(std::vector<ScalarType> dtypes, std::vector<RowArgument> kinds, std::vector<RowStep> steps, std::vector<int> outputs, int64_t columns = 0);
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override { return compute(arguments, false); }
  std::vector<Tensor> run_owning(ArrayRef<Tensor> arguments) const override { return compute(arguments, true); }
  void prepare(const std::vector<bool>&) const override {
    std::call_once(*once_, [&] { stages_ = make_stages(); });
  }

 private:
  struct Operand {
    char* data;
    int64_t row, column;  // strides in bytes
  };
  std::vector<Tensor> compute(ArrayRef<Tensor> arguments, bool owned) const;
  std::vector<machine::Stage> make_stages() const;
  // Steps whose values lie in memory between stages, or are results.
  std::vector<bool> stored(const std::vector<machine::Stage>& stages) const;
  void run_rows(const std::vector<machine::Stage>& stages, const std::vector<Operand>& arguments, const std::vector<Operand>& results, int64_t columns,
                int64_t begin, int64_t end, int64_t block, bool far) const;
  // Has the wide arguments' rows [begin, end) brought into the cache.
  static void fetch(const std::vector<Operand>& arguments, int64_t begin, int64_t end);

  std::vector<ScalarType> dtypes_;
  std::vector<RowArgument> kinds_;
  std::vector<RowStep> steps_;
  std::vector<int> outputs_, output_of_;
  std::vector<std::vector<int>> heirs_;
  int first_wide_ = -1;
  int64_t columns_;
  bool has_operators_ = false;  // whether a reduction is no kernel
  std::shared_ptr<std::once_flag> once_ = std::make_shared<std::once_flag>();
  mutable std::vector<machine::Stage> stages_;
};

}  // namespace cresset::graph
