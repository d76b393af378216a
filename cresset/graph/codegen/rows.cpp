#include "cresset/graph/codegen/rows.h"

#include <algorithm>
#include <cstring>

#include "cresset/autograd/grad_mode.h"
#include "cresset/base/parallel.h"
#include "cresset/cresset.h"

namespace cresset::graph {

namespace {

// Of the values of a block. Where reductions are calls of operators it is a part of a second-level cache, else about a first-level one.
constexpr int64_t kBlockBytes = 192 << 10, kSmallBlockBytes = 32 << 10;
// Arguments that do not lie in the second-level cache are read row by row, with the next row on its way: between passes over a block the hardware
// stops fetching ahead.
constexpr int64_t kFarBytes = 4 << 20, kFarBlockBytes = 8 << 10;
// Rows that have code as a whole. The library adds longer ones in another order.
constexpr int64_t kFewestColumns = 64, kMostColumns = 32768;

int64_t bytes_of(ScalarType t) { return static_cast<int64_t>(element_size(t)); }

Tensor rows_at(const void* data, int64_t rows, int64_t columns, ScalarType dtype) {
  return cresset::from_blob(const_cast<void*>(data), {rows, columns}, TensorOptions(dtype));
}
Tensor reduced(const RowStep& step, const Tensor& rows) {
  dispatch::Stack stack{dispatch::Value(rows)};
  stack.insert(stack.end(), step.rest.begin(), step.rest.end());
  dispatch::call_boxed(*step.reduction, stack);
  return stack[0].to_tensor();
}
// Whether the operator is one kernel, by a call on two rows.
std::optional<kernels::ReduceOp> kernel_of(const RowStep& step) {
  constexpr int64_t kColumns = 64;
  const autograd::AutoGradMode off(false);
  alignas(64) const char zeros[2 * kColumns * sizeof(double)] = {};
  const Tensor rows = rows_at(zeros, 2, kColumns, step.loop.result);
  try {
    const Probe watch(ArrayRef<Tensor>(&rows, 1));
    const auto found = watch.reduction(reduced(step, rows));
    double out[2];
    if (found && kernels::reduce_rows(*found, step.loop.result, zeros, 2, kColumns, reinterpret_cast<char*>(out))) return found;
  } catch (const std::exception&) {  // it says so when it runs
  }
  return std::nullopt;
}

}  // namespace

RowKernel::RowKernel(std::vector<ScalarType> dtypes, std::vector<RowArgument> kinds, std::vector<RowStep> steps, std::vector<int> outputs, int64_t columns)
    : dtypes_(std::move(dtypes)),
      kinds_(std::move(kinds)),
      steps_(std::move(steps)),
      outputs_(std::move(outputs)),
      output_of_(steps_.size(), -1),
      columns_(columns) {
  CRESSET_CHECK_VALUE(dtypes_.size() == kinds_.size(), "row kernel: expected a kind for each of ", dtypes_.size(), " arguments, got ", kinds_.size());
  for (size_t i = 0; i < kinds_.size() && first_wide_ < 0; i++)
    if (kinds_[i] == RowArgument::Wide) first_wide_ = static_cast<int>(i);
  CRESSET_CHECK_VALUE(first_wide_ >= 0, "row kernel: no argument has all rows and columns");
  std::vector<int> last_read(kinds_.size(), -1);
  for (size_t i = 0; i < steps_.size(); i++) {
    const RowStep& step = steps_[i];
    CRESSET_CHECK_VALUE((step.reduction || step.loop.loop) && step.loop.inputs.size() < kernels::kMaxOperands, "row kernel: step ", i, " does nothing");
    for (const FusedStep::Input& input : step.loop.inputs) {
      if (input.kind == FusedStep::Input::Argument && input.index >= 0 && input.index < static_cast<int>(kinds_.size()))
        last_read[input.index] = static_cast<int>(i);
      const int limit = input.kind == FusedStep::Input::Argument ? static_cast<int>(kinds_.size()) : static_cast<int>(i);
      CRESSET_CHECK_VALUE(input.kind == FusedStep::Input::Number || (input.index >= 0 && input.index < limit), "row kernel: step ", i, " reads ", input.index);
    }
  }
  for (RowStep& step : steps_) {
    if (!step.reduction) continue;
    step.kernel = kernel_of(step);
    has_operators_ = has_operators_ || !step.kernel;
  }
  std::vector<ScalarType> results;
  for (size_t k = 0; k < outputs_.size(); k++) {
    CRESSET_CHECK_VALUE(outputs_[k] >= 0 && outputs_[k] < static_cast<int>(steps_.size()), "row kernel: there is no step ", outputs_[k]);
    output_of_[static_cast<size_t>(outputs_[k])] = static_cast<int>(k);
    results.push_back(steps_[static_cast<size_t>(outputs_[k])].loop.result);
  }
  heirs_ = heirs_of(dtypes_, last_read, outputs_, results);
}

// In code of elements, which runs over the columns of a row, all but wide values and vectors are single elements.
std::vector<machine::Stage> RowKernel::make_stages() const {
  machine::Steps steps;
  for (size_t i = 0; i < steps_.size(); i++) {
    steps.all.push_back(&steps_[i].loop);
    steps.kept.push_back(output_of_[i] >= 0);
    steps.narrow.push_back(!steps_[i].wide);
    steps.folds.push_back(steps_[i].kernel);
  }
  if (columns_ >= kFewestColumns && columns_ <= kMostColumns) steps.columns = columns_;
  steps.array = [&](const FusedStep::Input& input) -> machine::Array {
    const auto i = static_cast<size_t>(input.index);
    if (input.kind == FusedStep::Input::Step) return {steps_[i].loop.result, !steps_[i].wide};
    return {dtypes_[i], kinds_[i] == RowArgument::Narrow || kinds_[i] == RowArgument::One, kinds_[i] == RowArgument::Vector};
  };
  return machine::stages_of(steps);
}

std::vector<bool> RowKernel::stored(const std::vector<machine::Stage>& stages) const {
  std::vector<bool> found(steps_.size());
  for (const machine::Stage& stage : stages) {
    if (!stage.image) found[static_cast<size_t>(stage.first)] = true;
    for (const int step : stage.outputs) found[static_cast<size_t>(step)] = true;
  }
  return found;
}

void RowKernel::fetch(const std::vector<Operand>& arguments, int64_t begin, int64_t end) {
  for (const Operand& a : arguments)
    if (a.row && a.column)
      for (const char* p = a.data + begin * a.row; p < a.data + end * a.row; p += 64) __builtin_prefetch(p, 0, 2);
}

void RowKernel::run_rows(const std::vector<machine::Stage>& stages, const std::vector<Operand>& arguments, const std::vector<Operand>& results, int64_t columns,
                         int64_t begin, int64_t end, int64_t block, bool far) const {
  const autograd::AutoGradMode off(false);
  std::vector<size_t> places(steps_.size());
  const std::vector<bool> in_memory = stored(stages);
  size_t needed = 64;
  for (size_t i = 0; i < steps_.size(); i++) {
    places[i] = needed;
    if (output_of_[i] < 0 && in_memory[i])
      needed += static_cast<size_t>((block * (steps_[i].wide ? columns : 1) * bytes_of(steps_[i].loop.result) + 63) / 64 * 64);
  }
  thread_local std::vector<char> memory;
  if (memory.size() < needed) memory.resize(needed);
  char* const base = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 - 64;
  std::vector<Operand> values(steps_.size());
  for (int64_t at = begin; at < end; at += block) {
    const int64_t rows = std::min(block, end - at);
    if (far) fetch(arguments, at + rows, std::min(at + 2 * rows, end));
    const auto operand = [&](const FusedStep::Input& input) -> Operand {
      if (input.kind == FusedStep::Input::Step) return values[static_cast<size_t>(input.index)];
      if (input.kind == FusedStep::Input::Number) return {reinterpret_cast<char*>(const_cast<unsigned char*>(input.cell)), 0, 0};
      const Operand& a = arguments[static_cast<size_t>(input.index)];
      return {a.data + at * a.row, a.row, a.column};
    };
    for (size_t i = 0; i < steps_.size(); i++) {
      const RowStep& step = steps_[i];
      const int64_t size = bytes_of(step.loop.result), row = step.wide ? columns * size : size;
      char* const to = output_of_[i] >= 0 ? results[static_cast<size_t>(output_of_[i])].data + at * row : base + places[i];
      values[i] = {to, row, step.wide ? size : 0};
    }
    for (const machine::Stage& stage : stages) {
      if (stage.image) {
        char* data[machine::kMaxArrays];
        int64_t steps[machine::kMaxArrays];
        size_t count = 0;
        bool whole = true;
        const auto add = [&](const Operand& o) {
          whole = whole && o.row == o.column * columns;
          data[count] = o.data;
          steps[count++] = o.row;
        };
        for (const int step : stage.outputs) add(values[static_cast<size_t>(step)]);
        for (const FusedStep::Input& input : stage.inputs) add(operand(input));
        if (stage.of_rows) {
          stage.run_rows(data, steps, rows);
          continue;
        }
        if (whole) {
          stage.run(data, rows * columns);
          continue;
        }
        for (int64_t r = 0; r < rows; r++) {
          stage.run(data, columns);
          for (size_t k = 0; k < count; k++) data[k] += steps[k];
        }
        continue;
      }
      const auto i = static_cast<size_t>(stage.first);
      const RowStep& step = steps_[i];
      const int64_t size = bytes_of(step.loop.result), row = values[i].row;
      char* const to = values[i].data;
      if (step.reduction) {
        const Operand from = operand(step.loop.inputs[0]);
        if (step.kernel && kernels::reduce_rows(*step.kernel, step.loop.result, from.data, rows, columns, to)) continue;
        const Tensor found = reduced(step, rows_at(from.data, rows, columns, step.loop.result)).contiguous();
        CRESSET_CHECK(found.numel() == rows && found.scalar_type() == step.loop.result, "row kernel: a reduction gives ", found.sizes(), " of ", rows, " rows");
        std::memcpy(to, found.data_ptr(), static_cast<size_t>(rows * size));
        continue;
      }
      char* data[kernels::kMaxOperands] = {to};
      int64_t strides[kernels::kMaxOperands] = {size}, steps[kernels::kMaxOperands] = {row};
      bool whole = true;
      for (size_t k = 0; k < step.loop.inputs.size(); k++) {
        const Operand o = operand(step.loop.inputs[k]);
        data[k + 1] = o.data;
        strides[k + 1] = step.wide ? o.column : o.row;
        steps[k + 1] = o.row;
        whole = whole && (!step.wide || o.row == o.column * columns);
      }
      const size_t operands = step.loop.inputs.size() + 1;
      if (whole) {
        step.loop.loop(data, strides, step.wide ? rows * columns : rows, step.loop.params.data());
        continue;
      }
      for (int64_t r = 0; r < rows; r++) {
        char* now[kernels::kMaxOperands];
        for (size_t k = 0; k < operands; k++) now[k] = data[k] + r * steps[k];
        step.loop.loop(now, strides, columns, step.loop.params.data());
      }
    }
  }
}

std::vector<Tensor> RowKernel::compute(ArrayRef<Tensor> arguments, bool owned) const {
  CRESSET_CHECK(arguments.size() == kinds_.size(), "row kernel: expected ", kinds_.size(), " tensors, got ", arguments.size());
  for (size_t k = 0; k < arguments.size(); k++)
    CRESSET_CHECK(arguments[k].defined() && arguments[k].is_cpu() && arguments[k].scalar_type() == dtypes_[k] && arguments[k].layout() == Layout::Strided &&
                      !arguments[k].impl()->is_lazy(),
                  "row kernel: argument ", k, ": expected a plain tensor of ", dtypes_[k], " on the CPU");
  const Tensor& wide = arguments[static_cast<size_t>(first_wide_)];
  CRESSET_CHECK(wide.dim() > 0, "row kernel: expected rows, got a number");
  const int64_t columns = wide.sizes()[wide.dim() - 1], rows = columns ? wide.numel() / columns : 0;
  CRESSET_CHECK(!columns_ || columns == columns_, "row kernel: expected rows of ", columns_, " elements, got ", columns);
  std::vector<Tensor> copies;  // of those that are not dense
  std::vector<Operand> operands;
  for (size_t k = 0; k < arguments.size(); k++) {
    const int64_t wanted[] = {rows * columns, rows, columns, 1};
    CRESSET_CHECK(arguments[k].numel() == wanted[static_cast<int>(kinds_[k])], "row kernel: argument ", k, " of sizes ", arguments[k].sizes(),
                  " does not go with ", rows, " rows of ", columns);
    if (!arguments[k].is_contiguous()) copies.push_back(arguments[k].contiguous());
    const Tensor& dense = arguments[k].is_contiguous() ? arguments[k] : copies.back();
    const int64_t size = bytes_of(dtypes_[k]);
    const int64_t row = kinds_[k] == RowArgument::Wide ? columns * size : kinds_[k] == RowArgument::Narrow ? size : 0;
    operands.push_back({static_cast<char*>(dense.impl()->data()), row, kinds_[k] == RowArgument::Wide || kinds_[k] == RowArgument::Vector ? size : 0});
  }
  std::vector<Tensor> out;
  std::vector<Operand> results;
  DimVector narrow(wide.sizes());
  narrow[narrow.size() - 1] = 1;
  const DimVector whole(wide.sizes());
  std::vector<bool> taken(arguments.size());
  for (size_t k = 0; k < outputs_.size(); k++) {
    const RowStep& s = steps_[static_cast<size_t>(outputs_[k])];
    Tensor result;
    for (size_t h = 0; owned && s.wide && h < heirs_[k].size() && !result.defined(); h++) {
      const auto from = static_cast<size_t>(heirs_[k][h]);
      if (taken[from] || kinds_[from] != RowArgument::Wide) continue;
      result = taken_over(arguments[from], whole, s.loop.result);
      taken[from] = result.defined();
    }
    out.push_back(result.defined() ? std::move(result) : Tensor(make_dense(s.wide ? IntArrayRef(whole) : IntArrayRef(narrow), s.loop.result, Device(kCPU))));
    results.push_back({static_cast<char*>(out.back().impl()->data()), 0, 0});
  }
  if (rows == 0) return out;
  prepare({});
  // Of a row of all that lies in memory between stages.
  int64_t read = 0, bytes = 0;
  for (size_t k = 0; k < kinds_.size(); k++)
    if (kinds_[k] == RowArgument::Wide) read += columns * bytes_of(dtypes_[k]);
  const bool far = !has_operators_ && read * rows > kFarBytes;
  if (!has_operators_) bytes = read;
  const std::vector<bool> in_memory = stored(stages_);
  for (size_t i = 0; i < steps_.size(); i++)
    if (in_memory[i] && steps_[i].wide) bytes += columns * bytes_of(steps_[i].loop.result);
  const int64_t most = has_operators_ ? kBlockBytes : far ? kFarBlockBytes : kSmallBlockBytes;
  // Code of rows keeps nothing between its calls.
  const bool alone = stages_.size() == 1 && stages_[0].of_rows;
  const int64_t block = alone ? rows : std::clamp<int64_t>(most / std::max<int64_t>(bytes, 1), 1, 256);
  parallel_for(0, rows, std::max<int64_t>(alone ? 1 : block, 32768 / columns),
               [&](int64_t begin, int64_t end) { run_rows(stages_, operands, results, columns, begin, end, block, far && !alone); });
  return out;
}

}  // namespace cresset::graph
