#include "cresset/graph/codegen/machine/stage.h"

#include <algorithm>
#include <cstring>

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

// A stage that grows by a step at a time.
struct Builder {
  const std::vector<const FusedStep*>&steps, &readers;
  const std::vector<ScalarType>& arguments;
  const std::function<bool(const FusedStep::Input&)>& one;
  Program program;
  Stage stage;
  std::vector<int> nodes;  // of the steps from stage.first on

  int node_of(const FusedStep::Input& input, ScalarType compute) {
    if (input.kind == FusedStep::Input::Number) return constant(program, compute, number_of(input, compute));
    if (input.kind == FusedStep::Input::Step && input.index >= stage.first) return nodes[static_cast<size_t>(input.index - stage.first)];
    const ScalarType dtype = input.kind == FusedStep::Input::Argument ? arguments[static_cast<size_t>(input.index)] : result_of(input.index);
    if (!is_known(dtype)) return -1;
    auto at = std::find_if(stage.inputs.begin(), stage.inputs.end(), [&](const auto& known) { return same(known, input); });
    if (at == stage.inputs.end()) {
      stage.inputs.push_back(input);
      program.inputs.push_back({dtype, one(input)});
      at = stage.inputs.end() - 1;
    }
    return program.add({Op::Input, type_of(dtype), -1, -1, -1, static_cast<uint64_t>(at - stage.inputs.begin())});
  }
  ScalarType result_of(int step) const { return readers[static_cast<size_t>(step)]->result; }

  bool add(int index) {
    const FusedStep* const step = steps[static_cast<size_t>(index)];
    if (!step || !is_known(step->compute) || !is_known(step->result) || stage.inputs.size() + step->inputs.size() > kMaxArrays / 2) return false;
    std::vector<int> in;
    for (const FusedStep::Input& input : step->inputs) {
      in.push_back(node_of(input, step->compute));
      if (in.back() < 0) return false;
    }
    int node = trace(program, step->kernel, step->compute, in, step->params);
    if (node < 0 || program.type(node) != type_of(step->result)) return false;
    if (step->result != ScalarType::Bool) node = rounded(program, node, step->result);
    nodes.push_back(node);
    return true;
  }
};

}  // namespace

void Stage::run(char* const* data, int64_t n) const {
  const int64_t vectors = n / lanes, rest = n % lanes, done = vectors * lanes;
  const Code code = image->code();
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

std::vector<Stage> stages_of(const std::vector<const FusedStep*>& steps, const std::vector<const FusedStep*>& readers, const std::vector<ScalarType>& arguments,
                             const std::vector<bool>& kept, const std::function<bool(const FusedStep::Input&)>& one) {
  std::vector<Stage> stages;
  const int n = static_cast<int>(steps.size());
  const auto read_outside = [&](int step, int last) {
    for (int i = last; i < n; i++)
      for (const FusedStep::Input& input : readers[static_cast<size_t>(i)]->inputs)
        if (input.kind == FusedStep::Input::Step && input.index == step) return true;
    return false;
  };
  for (int first = 0; first < n;) {
    Builder builder{steps, readers, arguments, one, {}, {}, {}};
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
    Stage& stage = builder.stage;
    stage.last = last;
    if (last - first >= 2) {
      for (int i = first; i < last; i++)
        if (kept[static_cast<size_t>(i)] || read_outside(i, last)) {
          stage.outputs.push_back(i);
          builder.program.outputs.push_back({steps[static_cast<size_t>(i)]->result});
          builder.program.results.push_back(builder.nodes[static_cast<size_t>(i - first)]);
        }
      stage.arrays = builder.program.outputs;
      stage.arrays.insert(stage.arrays.end(), builder.program.inputs.begin(), builder.program.inputs.end());
      stage.lanes = lanes_of(builder.program);
      if (!stage.outputs.empty() && stage.arrays.size() <= kMaxArrays) stage.image = code_of(builder.program);
    }
    if (stage.image) {
      stages.push_back(std::move(stage));
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
