#pragma once
// Where the CPU allocator meets plans (`plan.h`). Private to the folder.

#include <atomic>

#include "cresset/core/memory/plan.h"

namespace cresset {

// The plan of this thread's run; null outside of one.
extern thread_local __attribute__((tls_model("initial-exec"))) MemoryPlan::State* t_memory_plan;
// Arenas that exist, of all threads.
extern std::atomic<size_t> g_memory_arenas;

// The place of the next block of the run; null where it has none.
void* planned_block(MemoryPlan::State& plan, size_t nbytes);
// The run's next block is at this address of the allocator.
void watch_block(MemoryPlan::State& plan, void* data, size_t nbytes);
void watch_end_of_block(MemoryPlan::State& plan, void* data);
// Whether it was a block of an arena, which has it back now.
bool give_back_planned(void* data);
// For the address sanitizer: memory that is in use from now on.
void unpoison_memory(const void* data, size_t nbytes);

}  // namespace cresset
