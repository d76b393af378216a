#include "cresset/graph/runtime/limits.h"

#include <unordered_set>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/runtime/steps.h"

namespace cresset::graph {

namespace {

thread_local Budget* t_budget = nullptr;
thread_local RunLimits t_limits;

}  // namespace

int64_t own_bytes(const Datum& v) {
  using Kind = dispatch::Object::Kind;
  if (const auto* s = std::get_if<std::string>(&v.data())) return static_cast<int64_t>(s->size());
  const auto* o = v.object();
  if (!o) return 0;
  constexpr size_t kDatum = sizeof(Datum);
  switch ((*o)->kind()) {
    case Kind::List: return static_cast<int64_t>(static_cast<const dispatch::ListObject&>(**o).elements.size() * kDatum);
    // Beside its entries a dict has an index.
    case Kind::Dict: return static_cast<int64_t>(static_cast<const dispatch::DictObject&>(**o).entries.size() * (2 * kDatum + 48));
    case Kind::Tuple: return static_cast<int64_t>(static_cast<const dispatch::TupleObject&>(**o).size() * kDatum);
    default: return 0;
  }
}

Budget* budget_of_thread() { return t_budget; }
BudgetScope::BudgetScope(Budget& budget) : memory_(budget.counts_memory() ? &budget.memory() : nullptr), outer_(std::exchange(t_budget, &budget)) {}
BudgetScope::~BudgetScope() { t_budget = outer_; }

RunLimits LimitScope::exchange(const RunLimits& limits) { return std::exchange(t_limits, limits); }
LimitScope::LimitScope(const RunLimits& limits) : outer_(exchange(limits.and_also(t_limits))) {}
LimitScope::~LimitScope() { t_limits = outer_; }
const RunLimits& LimitScope::current() { return t_limits; }

RunLimits RunLimits::and_also(const RunLimits& o) const {
  return {std::min(max_trips, o.max_trips), std::min(max_instructions, o.max_instructions), std::min(max_memory, o.max_memory),
          std::min(max_calls, o.max_calls)};
}

void expect_memory(size_t bytes) {
  CRESSET_CHECK_AS(OutOfMemoryError, bytes <= static_cast<size_t>(INT64_MAX), "expected a value of fewer bytes, got ", bytes);
  if (t_budget && t_budget->counts_memory()) t_budget->expect(bytes);
}

void Budget::enter(Frame& frame) {
  frames_.push_back(&frame);
  if (frames_.size() == 1 && counts_memory()) before_ = held_by_frames();
}
void Budget::count_instruction() {
  CRESSET_CHECK(instructions_++ < limits_.max_instructions, "expected at most ", limits_.max_instructions, " instructions, which is the limit of this run");
}
void Budget::count_trip() { CRESSET_CHECK(trips_++ < limits_.max_trips, "ir::loop: expected at most ", limits_.max_trips, " trips of all loops"); }

int64_t Budget::held_by_frames() const {
  std::unordered_set<const dispatch::Object*> seen;
  std::vector<const dispatch::Object*> waiting;
  int64_t bytes = 0;
  const auto visit = [&](const Datum& v) {
    const auto* o = v.object();
    if (!o) {
      bytes += own_bytes(v);
    } else if (seen.insert(o->get()).second) {
      bytes += own_bytes(v);
      waiting.push_back(o->get());
    }
  };
  for (const Frame* f : frames_)
    for (const Datum& v : f->registers) visit(v);
  while (!waiting.empty()) {
    const dispatch::Object* o = waiting.back();
    waiting.pop_back();
    o->for_each(visit);
  }
  return bytes;
}
// The bound counts what is gone, too: it is made exact before it is believed.
void Budget::look_again(int64_t wanted) {
  held_ = std::max<int64_t>(0, held_by_frames() - before_);
  CRESSET_CHECK_AS(OutOfMemoryError, held_ <= limits_.max_memory - memory_.used && wanted <= limits_.max_memory - memory_.used - held_, "expected at most ",
                   limits_.max_memory, " bytes, which is the limit of this run; tensors hold ", memory_.used, ", lists, dicts and strings ", held_, ", and ",
                   wanted, " more are asked for");
}
void Budget::grow(int64_t bytes) {
  held_ = std::max<int64_t>(0, held_ + bytes);
  if (held_ > limits_.max_memory - memory_.used) look_again(0);
  memory_.max = limits_.max_memory - held_;
}
void Budget::expect(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  if (held_ > limits_.max_memory - memory_.used || wanted > limits_.max_memory - memory_.used - held_) look_again(wanted);
}

uint32_t step_counted(Budget& budget, Machine& machine, const Instruction& i, uint32_t at) {
  budget.count_instruction();
  if (!budget.counts_memory()) {
    const uint32_t next = i.step(machine, i, at);
    if (begins_trip(i, at, next)) budget.count_trip();
    return next;
  }
  // Inputs may be let go of by the instruction, and grow by it.
  std::vector<std::pair<Datum, int64_t>> inputs;
  for (uint32_t k = 0; k < i.num_inputs; k++)
    if (const Datum& v = machine.registers[i.inputs[k]]; v.object()) inputs.emplace_back(v, own_bytes(v));
  const uint32_t next = i.step(machine, i, at);
  if (begins_trip(i, at, next)) budget.count_trip();
  int64_t grown = 0;
  for (const auto& [v, before] : inputs) grown += own_bytes(v) - before;
  for (uint32_t k = 0; k < i.num_outputs; k++) {
    const Datum& v = machine.registers[i.outputs[k]];
    // One that others hold, too, was counted when it was made.
    if (!v.object() || v.object()->use_count() == 1) grown += own_bytes(v);
  }
  if (grown != 0) budget.grow(grown);
  return next;
}

}  // namespace cresset::graph
