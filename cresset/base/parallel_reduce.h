#pragma once
// Reductions over ranges on several threads, and single tasks.

#include <algorithm>
#include <memory>
#include <vector>

#include "cresset/base/parallel.h"

namespace cresset {

// combine(...combine(identity, body(b0, e0, identity))..., body(bn, en, identity)) over chunks in order, which do not depend on the
// number of threads.
template <class T, class F, class Combine> T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T identity, const F& body, const Combine& combine) {
  if (begin >= end) return identity;
  constexpr int64_t kChunks = 64;
  const int64_t n = end - begin, size = std::max(std::max<int64_t>(grain, 1), (n + kChunks - 1) / kChunks), chunks = (n + size - 1) / size;
  if (chunks == 1 || in_parallel_region()) return body(begin, end, identity);
  std::vector<T> parts(static_cast<size_t>(chunks), identity);
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) parts[static_cast<size_t>(i)] = body(begin + i * size, std::min(end, begin + (i + 1) * size), identity);
  });
  T result = identity;
  for (const T& part : parts) result = combine(result, part);
  return result;
}

// A task that has been launched; one runs on the calling thread, at once.
class LaunchedTask {
 public:
  void wait() const {}
  bool completed() const { return true; }
};
template <class F> void intraop_launch(F&& f) { f(); }
template <class F> std::shared_ptr<LaunchedTask> intraop_launch_future(F&& f) {
  f();
  return std::make_shared<LaunchedTask>();
}
inline int intraop_default_num_threads() { return get_num_threads(); }
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }

}  // namespace cresset
