#pragma once
// The use that a run makes of its limits. Private to the graph library.

#include "cresset/core/memory/limit.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

struct Frame;
struct Instruction;

// Of one run with limits, which is one thread's; calls within it use the same.
class Budget {
 public:
  explicit Budget(const RunLimits& limits) : limits_(limits) { memory_.max = limits.max_memory; }

  const RunLimits& limits() const { return limits_; }
  MemoryBudget& memory() { return memory_; }
  bool counts_memory() const { return limits_.max_memory != INT64_MAX; }
  // The frames of calls that have not returned; they hold the values of the run.
  void enter(Frame& frame);
  void leave() { frames_.pop_back(); }
  // Errors: the limit of instructions is reached.
  void count_instruction();
  void count_trip();
  // Bytes that lists, dicts and strings have grown by. Errors: OutOfMemoryError.
  void grow(int64_t bytes);
  // Errors: OutOfMemoryError where so many bytes more do not fit.
  void expect(size_t bytes);

 private:
  int64_t held_by_frames() const;
  void look_again(int64_t wanted);

  RunLimits limits_;
  MemoryBudget memory_;  // of the allocator: what tensors take
  int64_t instructions_ = 0, trips_ = 0;
  // Of lists, dicts and strings: those that were there before the run, and an upper bound for those of the run.
  int64_t before_ = 0, held_ = 0;
  std::vector<Frame*> frames_;
};

// Bytes of the value itself, without the values inside: of a list, a dict, a tuple or a string.
int64_t own_bytes(const Datum& value);

// Of this thread's run; null: it has no limits.
Budget* budget_of_thread();
class BudgetScope {
 public:
  explicit BudgetScope(Budget& budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  MemoryBudgetScope memory_;
  Budget* outer_;
};

// Runs an instruction and counts what it does.
uint32_t step_counted(Budget& budget, struct Machine& machine, const Instruction& instruction, uint32_t at);

}  // namespace cresset::graph
