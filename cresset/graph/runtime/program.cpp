#include "cresset/graph/runtime/program.h"

#include <algorithm>

#include "cresset/graph/runtime/compile.h"
#include "cresset/graph/runtime/limits.h"

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

constexpr size_t kMaxPlans = 4;

uint64_t key_of(const std::vector<Datum>& inputs) {
  uint64_t key = 14695981039346656037u;
  const auto add = [&](int64_t number) { key = (key ^ static_cast<uint64_t>(number)) * 1099511628211u; };
  for (const Datum& v : inputs) {
    if (const auto* t = std::get_if<Tensor>(&v.data())) {
      if (t->defined())
        for (const int64_t size : t->sizes()) add(size);
      add(-1);
    } else if (const auto* number = std::get_if<int64_t>(&v.data())) {
      add(*number);
    }
  }
  return key;
}

MemoryPlan& plan_for(std::vector<SizedPlan>& plans, uint64_t key) {
  for (size_t i = 0; i < plans.size(); i++)
    if (plans[i].key == key) {
      if (i > 0) std::rotate(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(i), plans.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return *plans.front().plan;
    }
  if (plans.size() == kMaxPlans) plans.pop_back();
  plans.insert(plans.begin(), SizedPlan{key, std::make_unique<MemoryPlan>()});
  return *plans.front().plan;
}

}  // namespace

void Program::Code::steps(Frame& frame, int depth) {
  Machine machine{frame.registers.data(), layer_state(), frame.stack, *this, depth};
  const Instruction* const code = instructions.data();
  const auto end = static_cast<uint32_t>(instructions.size());
  uint32_t at = 0;
  try {
    if (Budget* const budget = budget_of_thread(); CRESSET_UNLIKELY(budget != nullptr)) {
      struct Entered {
        Budget& budget;
        Entered(Budget& b, Frame& f) : budget(b) { budget.enter(f); }
        ~Entered() { budget.leave(); }
      } const entered(*budget, frame);
      while (at < end) at = step_counted(*budget, machine, code[at], at);
      return;
    }
    while (at < end) {
      const Instruction& i = code[at];
      at = i.step(machine, i, at);
    }
  } catch (Error& e) {
    // The frame, in which values are left, is given up.
    if (options.script) note_failure(locations[at]);
    else e.add_context("graph " + name + ", " + places[at]);
    throw;
  } catch (...) {
    if (options.script) note_failure(locations[at]);
    throw;
  }
}

std::vector<Datum> Program::Code::run(std::vector<Datum> inputs, int depth) {
  CRESSET_CHECK_VALUE(inputs.size() == parameters.size(), "graph ", name, ": expected ", parameters.size(), " inputs, got ", inputs.size());
  std::unique_ptr<Frame> frame = take_frame();
  Datum* registers = frame->registers.data();
  const uint64_t key = depth == 0 ? key_of(inputs) : 0;
  for (size_t i = 0; i < inputs.size(); i++) registers[parameters[i]] = std::move(inputs[i]);
  if (depth == 0 && options.plan_memory) {
    const MemoryPlan::Run run(plan_for(frame->plans, key));
    steps(*frame, depth);
  } else {
    steps(*frame, depth);
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

std::vector<std::shared_ptr<const Location>>& failure_places() {
  thread_local std::vector<std::shared_ptr<const Location>> places;
  return places;
}
void note_failure(std::shared_ptr<const Location> place) { failure_places().push_back(std::move(place)); }

Program::Program(const Graph& graph, const ProgramOptions& options) : codes_(std::make_shared<std::vector<std::unique_ptr<Code>>>()) {
  if (!options.script) graph.verify();
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
  if (CRESSET_LIKELY(!code.options.limits.are_counted() && !LimitScope::current().are_counted()) || budget_of_thread()) return code.run(std::move(inputs), 0);
  Budget budget(code.options.limits.and_also(LimitScope::current()));
  const BudgetScope scope(budget);
  return code.run(std::move(inputs), 0);
}
std::vector<Tensor> Program::run_tensors(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> out;
  for (const Datum& v : run(std::vector<Datum>(inputs.begin(), inputs.end()))) {
    CRESSET_CHECK_TYPE(v.is_tensor(), "graph ", codes_->front()->name, ": expected results that are tensors, got ", v.kind());
    out.push_back(v.to_tensor());
  }
  return out;
}

ProgramMemory Program::memory() const {
  Code& code = *codes_->front();
  const std::lock_guard lock(code.mutex);
  ProgramMemory most;
  for (const auto& frame : code.idle) {
    if (frame->plans.empty()) continue;
    const MemoryPlan::Facts facts = frame->plans.front().plan->facts();
    if (facts.arena_bytes >= most.arena_bytes) most = {facts.blocks, facts.block_bytes, facts.arena_bytes, frame->plans.front().plan->followed()};
  }
  return most;
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
