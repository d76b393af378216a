#pragma once
// Memory of computations that are repeated: their blocks are watched once, get places in one arena by when they live, and are found there from then on.

#include <memory>

#include "cresset/base/macros.h"

namespace cresset {

// Belongs to one computation whose runs follow each other; runs at the same time have plans of their own. Blocks may outlive a run and the plan, and may be given
// back by any thread.
class CRESSET_API MemoryPlan {
 public:
  MemoryPlan();
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;

  // A run by this thread: its blocks of more than 1 KiB from the CPU allocator are watched, or have places already. A run that asks for other blocks than the
  // one that was watched, or for a place whose block still lives, gets the rest of its memory from the allocator, and the next run is watched anew. A scope within
  // another does nothing.
  class CRESSET_API Run {
   public:
    explicit Run(MemoryPlan& plan);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    MemoryPlan* plan_;
    int exceptions_;
  };

  struct Facts {
    size_t blocks = 0;       // with a place in the arena
    size_t block_bytes = 0;  // that they take together
    size_t arena_bytes = 0;  // that they take in the arena
  };
  // Zeros before the first run has been watched.
  Facts facts() const;
  // Whether the last run found all its blocks where the plan has them.
  bool followed() const;

  struct State;  // the allocator's own

 private:
  std::unique_ptr<State> state_;
};

}  // namespace cresset
