#pragma once
// A limit on the memory that a thread takes from the CPU allocator within a scope: for programs of strangers.

#include <cstddef>
#include <cstdint>

#include "cresset/base/macros.h"

namespace cresset {

struct MemoryBudget {
  int64_t max = INT64_MAX, used = 0;
};

// The thread's budget until the end of the scope; null: none. Blocks that the thread takes count, and those that it gives back are taken off. Errors of
// the allocator then: OutOfMemoryError, before anything is taken.
class CRESSET_API MemoryBudgetScope {
 public:
  explicit MemoryBudgetScope(MemoryBudget* budget);
  ~MemoryBudgetScope();
  MemoryBudgetScope(const MemoryBudgetScope&) = delete;
  MemoryBudgetScope& operator=(const MemoryBudgetScope&) = delete;

 private:
  MemoryBudget* outer_;
};

}  // namespace cresset
