#pragma once
// A graph that runs: compiled once to instructions over registers, then run any number of times, from any number of threads at once.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// Limits of one run with all that it calls, at which it stops with an error; for files of strangers. A run with limits other than that of calls is one
// thread's: what it forks runs at once.
struct CRESSET_API RunLimits {
  int64_t max_trips = INT64_MAX;         // of all loops
  int64_t max_instructions = INT64_MAX;  // nodes of the graph take one or a few
  int64_t max_memory = INT64_MAX;        // bytes that tensors, lists, dicts and strings of the run hold at a time
  int max_calls = 1000;                  // within calls

  bool are_counted() const { return max_trips != INT64_MAX || max_instructions != INT64_MAX || max_memory != INT64_MAX; }
  RunLimits and_also(const RunLimits& other) const;
};

// Limits of all runs that this thread begins in the scope, beside those of the programs.
class CRESSET_API LimitScope {
 public:
  explicit LimitScope(const RunLimits& limits);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;
  static const RunLimits& current();
  // For front ends whose scopes are no scopes of C++: new limits of the thread, and the former ones.
  static RunLimits exchange(const RunLimits& limits);

 private:
  RunLimits outer_;
};
// Before a function of a program makes a value of so many bytes. Errors: OutOfMemoryError, the limits of the run do not let it.
CRESSET_API void expect_memory(size_t bytes);

struct ProgramOptions {
  RunLimits limits;
  // The first run with inputs of new sizes is watched, and its intermediate tensors get places in one arena; later runs of such sizes allocate nothing
  // but what they return. The program keeps an arena for each thread that runs at once. Small values (up to 1 KiB) have bins of the thread.
  bool plan_memory = true;
  // Lists are shared by those who hold them, as in TorchScript; errors keep the places where they came from. The graph is one that the compiler
  // of TorchScript made, and is not verified again.
  bool script = false;
};

// The figures of the plan of the last run.
struct ProgramMemory {
  size_t blocks = 0;       // that are given back before the run ends, and so have places in the arena
  size_t block_bytes = 0;  // that they take together
  size_t arena_bytes = 0;  // that they take in the arena
  bool planned = false;    // whether the run found them all there; the first with inputs of new sizes does not
};

// Where the nodes stand that raised the error in flight, in programs with `script`, innermost first; the one who catches it clears the list.
CRESSET_API std::vector<std::shared_ptr<const Location>>& failure_places();
void note_failure(std::shared_ptr<const Location> place);

// An operator of a number and a list of tensors may have a call of its own for programs: tensors of the list that nothing else holds are the call's, which
// may give their memory to its results.
using OwningCall = std::vector<Tensor> (*)(int64_t number, std::vector<Tensor>& tensors);
CRESSET_API void set_owning_call(const std::string& op, OwningCall call);

class CRESSET_API Program {
 public:
  // The graph may go or change afterwards. Errors: it does not verify; foreign operators and constants that are not bound, all named at once.
  explicit Program(const Graph& graph, const ProgramOptions& options = {});
  // The first graph of a module, whose graphs call each other.
  explicit Program(const Module& module, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Errors: another number of inputs than the graph has parameters; whatever operators raise, with the graph, the node and its source location
  // before the message.
  std::vector<Datum> run(std::vector<Datum> inputs) const;
  // For graphs of tensors. Errors: as above; a result that is no tensor.
  std::vector<Tensor> run_tensors(const std::vector<Tensor>& inputs) const;

  size_t num_instructions() const;
  size_t num_registers() const;
  // How many of the operators are called typed, and not boxed.
  size_t num_typed() const;
  // Of the frame with the largest arena, where threads ran at once.
  ProgramMemory memory() const;
  // The instructions, a line each.
  std::string text() const;

  struct Code;  // the room's own

 private:
  std::shared_ptr<std::vector<std::unique_ptr<Code>>> codes_;
};

}  // namespace cresset::graph
