#pragma once
// Instructions and the state that they run on. Private to the room.

#include <mutex>

#include "cresset/core/layers.h"
#include "cresset/core/memory/plan.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

using dispatch::Stack;

struct Instruction;
struct Machine;
// Does it, and returns the number of the next one.
using Step = uint32_t (*)(Machine& machine, const Instruction& instruction, uint32_t at);

struct Instruction {
  Step step = nullptr;
  const void* target = nullptr;    // an operator's entry, a builtin, the code of a graph
  const void* prepared = nullptr;  // arguments of a typed call
  const int32_t* inputs = nullptr;
  const int32_t* outputs = nullptr;
  const int32_t* drops = nullptr;  // registers whose values are not used any more
  uint32_t num_inputs = 0, num_outputs = 0, num_drops = 0;
  uint32_t jump = 0, exit = 0;
  int32_t first = 0, second = 0, out = 0;  // the first two inputs and the first output, for steps of numbers
};

// The plan of runs whose inputs have these sizes.
struct SizedPlan {
  uint64_t key = 0;
  std::unique_ptr<MemoryPlan> plan;
};

struct Frame {
  std::vector<Datum> registers;
  Stack stack;
  std::vector<SizedPlan> plans;  // the one used last is the first
};

struct Program::Code {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<std::unique_ptr<int32_t[]>> numbers;
  std::vector<std::shared_ptr<void>> prepared;
  std::vector<Datum> constants;              // the first registers
  std::vector<int32_t> parameters, results;  // registers
  std::vector<bool> moves_result;            // whether the register is of no use afterwards
  size_t num_registers = 0, num_typed = 0;
  std::vector<std::string> places;  // of each instruction: its node, and where that comes from
  std::vector<std::shared_ptr<const Location>> locations;
  ProgramOptions options;

  std::mutex mutex;
  std::vector<std::unique_ptr<Frame>> idle;

  std::unique_ptr<Frame> take_frame();
  void give_back(std::unique_ptr<Frame> frame);
  std::vector<Datum> run(std::vector<Datum> inputs, int depth);

 private:
  void steps(Frame& frame, int depth);
};

struct Machine {
  Datum* registers;
  LayerState& layers;
  Stack& stack;
  Program::Code& code;
  int depth;
};

// Lets go of a value, and keeps what the register can use again: the room of a list.
inline void drop(Datum& v) {
  if (auto* t = std::get_if<Tensor>(&v.data())) return t->reset();
  if (auto* list = std::get_if<std::vector<Tensor>>(&v.data())) return list->clear();
  if (CRESSET_UNLIKELY(v.object() != nullptr)) v = Datum();
}
inline uint32_t finish(Machine& m, const Instruction& i, uint32_t at) {
  if (uint32_t left = i.num_drops) {
    const int32_t* number = i.drops;
    do drop(m.registers[*number++]);
    while (--left);
  }
  return at + 1;
}
inline void put(Datum& out, Tensor&& t) {
  if (auto* at = std::get_if<Tensor>(&out.data())) *at = std::move(t);
  else out = Datum(std::move(t));
}

// Calls an operator with its arguments on the stack, through all layers.
uint32_t step_boxed(Machine& machine, const Instruction& instruction, uint32_t at);
// Calls the operator that has an owning call, which gets the tensors of a list as its own.
uint32_t step_owning(Machine& machine, const Instruction& instruction, uint32_t at);

// A typed call of an operator whose C++ signature the room knows, with its arguments; an empty one where it does not.
struct TypedCall {
  Step step = nullptr;
  std::shared_ptr<void> prepared;
};
// The constants among the arguments, null where a register holds one; all have registers.
TypedCall find_typed_call(const dispatch::OpEntry& op, const std::vector<const Datum*>& constants, const std::vector<int32_t>& registers);

}  // namespace cresset::graph
