#pragma once
// The instructions that are no typed calls. Private to the room.

#include "cresset/graph/runtime/machine.h"

namespace cresset::graph {

uint32_t step_builtin(Machine& machine, const Instruction& instruction, uint32_t at);
// The step of a builtin of two numbers; null: it has none of its own.
Step find_number_step(const Builtin& builtin);
// The step of a comparison of two numbers that jumps where it does not hold; null: it has none.
Step find_compare_branch(const Builtin& builtin);
uint32_t step_list(Machine& machine, const Instruction& instruction, uint32_t at);
// A list that those who hold it share; `jump` is the kind of its elements.
uint32_t step_shared_list(Machine& machine, const Instruction& instruction, uint32_t at);
// A boxed call whose lists become shared ones.
uint32_t step_boxed_shared(Machine& machine, const Instruction& instruction, uint32_t at);
uint32_t step_tuple(Machine& machine, const Instruction& instruction, uint32_t at);
uint32_t step_dict(Machine& machine, const Instruction& instruction, uint32_t at);
uint32_t step_unpack(Machine& machine, const Instruction& instruction, uint32_t at);
uint32_t step_call(Machine& machine, const Instruction& instruction, uint32_t at);
// Each output becomes the input of its number.
uint32_t step_copy(Machine& machine, const Instruction& instruction, uint32_t at);
// The same for one.
uint32_t step_copy_one(Machine& machine, const Instruction& instruction, uint32_t at);
uint32_t step_jump(Machine& machine, const Instruction& instruction, uint32_t at);
// Jumps if the input is false.
uint32_t step_branch(Machine& machine, const Instruction& instruction, uint32_t at);
// Inputs: counter, trips, condition; jumps to the end of the loop.
uint32_t step_loop(Machine& machine, const Instruction& instruction, uint32_t at);
// Whether a trip of a loop begins with what this instruction does, after which the next one is `next`.
bool begins_trip(const Instruction& instruction, uint32_t at, uint32_t next);
// Adds 1 to the counter, which is an output too, and jumps back, or to `exit` where the loop ends; inputs as those of `step_loop`.
uint32_t step_next(Machine& machine, const Instruction& instruction, uint32_t at);
// The same for loops that go on whatever happens within.
uint32_t step_next_trip(Machine& machine, const Instruction& instruction, uint32_t at);

}  // namespace cresset::graph
