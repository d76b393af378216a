#include "cresset/graph/codegen/machine/stage.h"

#include <algorithm>
#include <cstring>

#include "cresset/graph/codegen/machine/plan.h"
#include "cresset/graph/codegen/machine/trace.h"

namespace cresset::graph::machine {

namespace {

constexpr int64_t kMaxVector = 128;  // bytes

double number_of(const FusedStep::Input& input, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double: return *reinterpret_cast<const double*>(input.cell);
    case ScalarType::BFloat16: return static_cast<float>(*reinterpret_cast<const BFloat16*>(input.cell));
    case ScalarType::Half: return static_cast<float>(*reinterpret_cast<const Half*>(input.cell));
    case ScalarType::Bool: return input.cell[0] != 0;
    default: return *reinterpret_cast<const float*>(input.cell);
  }
}

bool same(const FusedStep::Input& a, const FusedStep::Input& b) { return a.kind == b.kind && a.index == b.index; }

// The order that the library's kernel adds, multiplies or compares in.
std::optional<Fold> fold_of(kernels::ReduceOp op, ScalarType dtype) {
  switch (op) {
    case kernels::ReduceOp::sum:
    case kernels::ReduceOp::mean: return dtype == ScalarType::Float || dtype == ScalarType::Double ? Fold::OrderedSum : Fold::Sum;
    case kernels::ReduceOp::prod: return Fold::Prod;
    case kernels::ReduceOp::max: return Fold::Max;
    case kernels::ReduceOp::min: return Fold::Min;
    default: return std::nullopt;
  }
}

// A stage that grows by a step at a time.
struct Builder {
  const Steps& steps;
  Program program = {};
  Stage stage = {};
  std::vector<int> nodes = {};  // of the steps from stage.first on

  int node_of(const FusedStep::Input& input, ScalarType compute) {
    if (input.kind == FusedStep::Input::Number) return constant(program, compute, number_of(input, compute));
    if (input.kind == FusedStep::Input::Step && input.index >= stage.first) return nodes[static_cast<size_t>(input.index - stage.first)];
    const Array array = steps.array(input);
    if (!is_known(array.dtype)) return -1;
    auto at = std::find_if(stage.inputs.begin(), stage.inputs.end(), [&](const auto& known) { return same(known, input); });
    if (at == stage.inputs.end()) {
      stage.inputs.push_back(input);
      program.inputs.push_back(array);
      at = stage.inputs.end() - 1;
    }
    return program.add({Op::Input, type_of(array.dtype), -1, -1, -1, static_cast<uint64_t>(at - stage.inputs.begin())});
  }

  bool add(int index) {
    const auto i = static_cast<size_t>(index);
    const FusedStep& step = *steps.all[i];
    const bool fold = i < steps.folds.size() && steps.folds[i], of_rows = fold || steps.is_narrow(i);
    if ((of_rows && !steps.columns) || !is_known(step.result) || stage.inputs.size() + step.inputs.size() > kMaxArrays / 2) return false;
    int node = fold ? folded(step, *steps.folds[i]) : computed(step);
    if (node < 0 || program.type(node) != type_of(step.result)) return false;
    if (step.result != ScalarType::Bool) node = rounded(program, node, step.result);
    nodes.push_back(node);
    stage.of_rows = stage.of_rows || of_rows;
    return true;
  }
  int computed(const FusedStep& step) {
    if (!step.loop || !is_known(step.compute)) return -1;
    std::vector<int> in;
    for (const FusedStep::Input& input : step.inputs) {
      in.push_back(node_of(input, step.compute));
      if (in.back() < 0) return -1;
    }
    return trace(program, step.kernel, step.compute, in, step.params);
  }
  int folded(const FusedStep& step, kernels::ReduceOp op) {
    const auto fold = fold_of(op, step.result);
    const int in = fold ? node_of(step.inputs[0], step.result) : -1;
    if (in < 0 || program.type(in) != type_of(step.result) || even_nodes(program)[static_cast<size_t>(in)]) return -1;
    const int node = program.add({Op::Reduce, program.type(in), in, -1, -1, static_cast<uint64_t>(*fold)});
    if (op != kernels::ReduceOp::mean) return node;
    return program.add({Op::Div, program.type(in), node, constant(program, step.result, static_cast<double>(steps.columns))});
  }

  // The code of the steps up to `last`, whose values others need as `stored` tells.
  void finish(int last, const std::function<bool(int)>& stored) {
    stage.last = last;
    for (int i = stage.first; i < last; i++)
      if (stored(i)) {
        stage.outputs.push_back(i);
        program.outputs.push_back({steps.all[static_cast<size_t>(i)]->result, steps.is_narrow(static_cast<size_t>(i))});
        program.results.push_back(nodes[static_cast<size_t>(i - stage.first)]);
      }
    stage.arrays = program.outputs;
    stage.arrays.insert(stage.arrays.end(), program.inputs.begin(), program.inputs.end());
    if (stage.outputs.empty() || stage.arrays.size() > kMaxArrays) return;
    if (!stage.of_rows)
      for (Array& array : program.inputs) array.shared = false;
    if (stage.of_rows) {
      program.columns = steps.columns;
      plan_rows(program);
      stage.memory = kRowsTogether * num_kept(program) * kept_bytes(program);
    }
    stage.lanes = lanes_of(program);
    stage.image = code_of(program);
  }
};

}  // namespace

void Stage::run(char* const* data, int64_t n) const {
  const int64_t vectors = n / lanes, rest = n % lanes, done = vectors * lanes;
  const Code code = image->as<Code>();
  if (vectors) code(data, vectors);
  if (!rest) return;
  // The last elements lie in vectors of their own.
  alignas(kMaxVector) char memory[kMaxArrays][kMaxVector];
  std::memset(memory, 0, arrays.size() * kMaxVector);
  char* ends[kMaxArrays];
  for (size_t i = 0; i < arrays.size(); i++) {
    const auto size = static_cast<int64_t>(element_size(arrays[i].dtype));
    ends[i] = arrays[i].one ? data[i] : memory[i];
    if (i >= outputs.size() && !arrays[i].one) std::memcpy(memory[i], data[i] + done * size, static_cast<size_t>(rest * size));
  }
  code(ends, 1);
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto size = static_cast<int64_t>(element_size(arrays[i].dtype));
    std::memcpy(data[i] + done * size, memory[i], static_cast<size_t>(rest * size));
  }
}

void Stage::run_rows(char* const* data, const int64_t* strides, int64_t rows) const {
  thread_local std::vector<char> space;
  if (static_cast<int64_t>(space.size()) < memory + 64) space.resize(static_cast<size_t>(memory + 64));
  char* const start = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
  image->as<RowCode>()(data, strides, rows, start);
}

std::vector<Stage> stages_of(const Steps& steps) {
  std::vector<Stage> stages;
  const int n = static_cast<int>(steps.all.size());
  const auto read_outside = [&](int step, int last) {
    for (int i = last; i < n; i++)
      for (const FusedStep::Input& input : steps.all[static_cast<size_t>(i)]->inputs)
        if (input.kind == FusedStep::Input::Step && input.index == step) return true;
    return false;
  };
  for (int first = 0; first < n;) {
    Builder builder{steps};
    builder.program.isa = current_isa();
    builder.stage.first = first;
    int last = first;
    while (last < n) {
      const size_t nodes = builder.program.nodes.size(), inputs = builder.stage.inputs.size();
      if (!builder.add(last)) {
        builder.program.shrink(nodes, inputs);
        builder.stage.inputs.resize(inputs);
        break;
      }
      last++;
    }
    if (last - first >= 2) builder.finish(last, [&](int i) { return steps.kept[static_cast<size_t>(i)] || read_outside(i, last); });
    if (builder.stage.image) {
      stages.push_back(std::move(builder.stage));
    } else {
      last = std::max(last, first + 1);
      for (int i = first; i < last; i++) {
        Stage plain;
        plain.first = i;
        plain.last = i + 1;
        stages.push_back(std::move(plain));
      }
    }
    first = last;
  }
  return stages;
}

}  // namespace cresset::graph::machine
