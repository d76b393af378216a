#pragma once
// The one thread pool: workers spin briefly, then sleep; nested calls run inline.

#include <atomic>
#include <cstdint>

#include "cresset/base/function_ref.h"
#include "cresset/base/macros.h"

namespace cresset {

// Threads that parallel_for may use, the caller included. Initially CRESSET_NUM_THREADS, else OMP_NUM_THREADS, else the core count.
CRESSET_API int get_num_threads();
// Errors: n < 1.
CRESSET_API void set_num_threads(int n);
CRESSET_API bool in_parallel_region();

namespace detail {
CRESSET_API void parallel_for_slow(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);
CRESSET_API extern std::atomic<int> g_num_threads;  // one thread may set it while others compute
}  // namespace detail

// Calls body(b, e) on disjoint chunks that cover [begin, end). A chunk holds at least `grain` items, except the last one.
// The first exception thrown by a chunk is rethrown on the calling thread after all chunks have ended.
// Results must not depend on how the range is cut: reductions across chunks use a fixed tree of their own.
template <class F> inline void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& body) {
  if (begin >= end) return;
  if (end - begin <= grain || detail::g_num_threads.load(std::memory_order_relaxed) == 1) {
    body(begin, end);
    return;
  }
  detail::parallel_for_slow(begin, end, grain, body);
}

}  // namespace cresset
