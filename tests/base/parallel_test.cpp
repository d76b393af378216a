// Meant for the thread sanitizer as well.
#include "cresset/base/parallel.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cresset {
namespace {

TEST(Parallel, TheNumberOfThreadsMayChangeWhileOthersCompute) {
  const int before = get_num_threads();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([t] {
      for (int k = 0; k < 100; k++) {
        set_num_threads(1 + (t + k) % 4);
        std::vector<int> seen(1000);
        parallel_for(0, 1000, 10, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++) seen[static_cast<size_t>(i)]++;
        });
        EXPECT_EQ(seen, std::vector<int>(1000, 1));
      }
    });
  for (std::thread& t : threads) t.join();
  set_num_threads(before);
}

}  // namespace
}  // namespace cresset
