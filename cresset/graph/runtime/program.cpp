#include "cresset/graph/runtime/program.h"

#include "cresset/graph/runtime/compile.h"

namespace cresset::graph {

std::unique_ptr<Frame> Program::Code::take_frame() {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      auto frame = std::move(idle.back());
      idle.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>();
  frame->registers.resize(num_registers);
  std::copy(constants.begin(), constants.end(), frame->registers.begin());
  return frame;
}
void Program::Code::give_back(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(frame));
}

namespace {

// A tensor leaves an undefined one behind: the register stays one of tensors.
Datum take(Datum& r) {
  if (auto* t = std::get_if<Tensor>(&r.data())) return Datum(std::exchange(*t, Tensor()));
  return std::exchange(r, Datum());
}

}  // namespace

std::vector<Datum> Program::Code::run(std::vector<Datum> inputs, int64_t& trips, int depth) {
  CRESSET_CHECK_VALUE(inputs.size() == parameters.size(), "graph ", name, ": expected ", parameters.size(), " inputs, got ", inputs.size());
  std::unique_ptr<Frame> frame = take_frame();
  Datum* registers = frame->registers.data();
  for (size_t i = 0; i < inputs.size(); i++) registers[parameters[i]] = std::move(inputs[i]);
  Machine machine{registers, layer_state(), frame->stack, *this, trips, depth};
  const Instruction* code = instructions.data();
  const auto end = static_cast<uint32_t>(instructions.size());
  uint32_t at = 0;
  try {
    while (at < end) at = code[at].step(machine, code[at], at);
  } catch (Error& e) {
    // The frame, in which values are left, is given up.
    e.add_context("graph " + name + ", " + places[at]);
    throw;
  }
  inputs.resize(results.size());
  for (size_t i = 0; i < results.size(); i++) {
    Datum& r = registers[results[i]];
    if (moves_result[i]) inputs[i] = take(r);
    else inputs[i] = r;
  }
  for (const int32_t r : results)
    if (static_cast<size_t>(r) >= constants.size()) drop(registers[r]);
  for (const int32_t r : parameters) drop(registers[r]);  // those that nothing reads
  give_back(std::move(frame));
  return inputs;
}

namespace {

void compile_all(const std::vector<const Graph*>& graphs, std::vector<std::unique_ptr<Program::Code>>& codes, const ProgramOptions& options) {
  std::map<std::string, Program::Code*> by_name;
  for (const Graph* g : graphs) {
    codes.push_back(std::make_unique<Program::Code>());
    codes.back()->options = options;
    by_name[g->name()] = codes.back().get();
  }
  for (size_t i = 0; i < graphs.size(); i++) compile(*graphs[i], *codes[i], by_name);
}

}  // namespace

Program::Program(const Graph& graph, const ProgramOptions& options) : codes_(std::make_shared<std::vector<std::unique_ptr<Code>>>()) {
  graph.verify();
  codes_->push_back(std::make_unique<Code>());
  codes_->back()->options = options;
  compile(graph, *codes_->back(), {});
}
Program::Program(const Module& module, const ProgramOptions& options) : codes_(std::make_shared<std::vector<std::unique_ptr<Code>>>()) {
  CRESSET_CHECK_VALUE(!module.graphs.empty(), "program: expected a module with a graph");
  module.verify();
  std::vector<const Graph*> graphs;
  for (const auto& g : module.graphs) {
    g->verify();
    graphs.push_back(g.get());
  }
  compile_all(graphs, *codes_, options);
}
Program::~Program() = default;

std::vector<Datum> Program::run(std::vector<Datum> inputs) const {
  Code& code = *codes_->front();
  int64_t trips = code.options.max_trips;
  return code.run(std::move(inputs), trips, 0);
}
std::vector<Tensor> Program::run_tensors(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> out;
  for (const Datum& v : run(std::vector<Datum>(inputs.begin(), inputs.end()))) {
    CRESSET_CHECK_TYPE(v.is_tensor(), "graph ", codes_->front()->name, ": expected results that are tensors, got ", v.kind());
    out.push_back(v.to_tensor());
  }
  return out;
}

size_t Program::num_instructions() const { return codes_->front()->instructions.size(); }
size_t Program::num_registers() const { return codes_->front()->num_registers; }
size_t Program::num_typed() const { return codes_->front()->num_typed; }

std::string Program::text() const {
  std::string s;
  for (const auto& code : *codes_) {
    s += "@" + code->name + ": " + std::to_string(code->num_registers) + " registers\n";
    for (size_t k = 0; k < code->instructions.size(); k++) {
      const Instruction& i = code->instructions[k];
      s += "  " + std::to_string(k) + ": " + code->places[k] + ":";
      const auto list = [&](const char* what, const int32_t* numbers, uint32_t count) {
        if (!count) return;
        s += what;
        for (uint32_t n = 0; n < count; n++) s += " r" + std::to_string(numbers[n]);
      };
      list("", i.outputs, i.num_outputs);
      list(" <-", i.inputs, i.num_inputs);
      list(" drop", i.drops, i.num_drops);
      if (i.jump) s += " jump " + std::to_string(i.jump);
      s += "\n";
    }
  }
  return s;
}

}  // namespace cresset::graph
