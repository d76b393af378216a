#pragma once
// The events of a recording.

#include <cstdint>
#include <string>
#include <vector>

#include "cresset/base/device.h"
#include "cresset/base/small_vector.h"
#include "cresset/dispatch/op.h"

namespace cresset::profile {

// The kinds of what runs, under PyTorch's numbers.
enum class Scope : uint8_t { Function = 0, BackwardFunction = 1, ScriptFunction = 2, User = 7 };

// An argument of a call, as far as a trace says it.
struct InputFact {
  std::vector<std::vector<int64_t>> sizes, strides;  // of a tensor one, of a list of tensors several
  bool is_list = false;
  std::string type;   // "float", "Scalar", "ScalarList", "TensorList", "" for anything else
  std::string value;  // of numbers, lists of them and flags
};

// An argument or a result of a call, as far as the steps of PyTorch depend on it (steps.h).
struct Fact {
  enum Kind : uint8_t { kNone, kTensor, kNumber, kDtype, kSizes, kTensors, kOther };
  Kind kind = kNone;
  ScalarType dtype = ScalarType::Float;  // of a tensor, of a number, or the argument itself
  bool is_wrapped = false;               // a number among tensors
  bool requires_grad = false;
  double number = 0;
  SmallVector<int64_t, 4> sizes, strides;  // of a tensor; the numbers of a list
  std::vector<Fact> tensors;               // of a list
  std::string text;
};
using Facts = std::vector<Fact>;

struct CRESSET_API Event {
  const dispatch::OpEntry* op = nullptr;  // of a call; null for nodes, named scopes and steps
  std::string name;                       // of nodes, named scopes and steps
  Scope scope = Scope::Function;
  int64_t start_ns = 0, end_ns = 0;  // since the recording began; end_ns is 0 for what has not ended
  int32_t parent = -1;               // of the same log
  int64_t sequence_nr = -1;          // of the graph's node that the call makes, or that runs
  uint64_t forward_thread = 0;
  int64_t flops = 0;
  int64_t memory = 0;  // bytes that were taken, less those given back, by this event itself
  std::vector<InputFact> inputs;
  std::vector<std::string> stack;  // innermost first
  std::string module;              // of the front end, where the call was made
  Facts facts;                     // of calls that have steps, until the recording has ended
  bool is_step = false;            // a call that PyTorch makes within its parent, and our kernel does not (docs/records/0025-profiler.md)

  // "aten::add", "ns::name", or the name of the scope.
  std::string full_name() const;
  std::string overload() const;
};

struct MemoryEvent {
  int64_t time_ns = 0, bytes = 0;
  int64_t total = 0;  // of the recording at that moment, over all threads
  uintptr_t address = 0;
  Device device = Device(kCPU);
  int32_t event = -1;  // during which it happened
};

// Of one thread, in order of time.
struct ThreadLog {
  uint64_t thread = 0;        // small numbers, from 1 on
  int64_t system_thread = 0;  // the operating system's number
  std::vector<Event> events;
  std::vector<MemoryEvent> memory;
};

struct Trace {
  int64_t start_unix_ns = 0;  // when the recording began
  int64_t length_ns = 0;
  bool shapes = false, memory = false, flops = false, stack = false;
  std::vector<ThreadLog> threads;
};

// The calls that recorded the nodes of the graph, for the events in which these run.
class ForwardCalls {
 public:
  struct Call {
    const ThreadLog* log = nullptr;
    const Event* event = nullptr;
  };
  explicit ForwardCalls(const Trace& trace);
  // Of a node's event: the last outermost call under its number before it, on its thread where there is one; none for other events.
  Call of(const ThreadLog& log, const Event& event) const;

 private:
  std::vector<Call> calls_;  // by number
};

}  // namespace cresset::profile
