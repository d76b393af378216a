// Meant for ThreadSanitizer as well: several threads, one set of leaves.
#include <cmath>

#include <thread>

#include "cresset/autograd/function.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

void on_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back(f, i);
  for (auto& t : threads) t.join();
}

TEST(Threads, BackwardOverSharedLeavesAddsEverything) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  on_threads(4, [&](int) {
    for (int k = 0; k < 50; k++) (x * w).sum().backward();
  });
  EXPECT_EQ(numbers(x.grad()), (Numbers{600, 800}));
  EXPECT_EQ(numbers(w.grad()), (Numbers{200, 400}));
}

TEST(Threads, FirstGradientsMayRace) {
  for (int round = 0; round < 50; round++) {
    const Tensor x = leaf({1});
    on_threads(4, [&](int i) { (x * static_cast<double>(i + 1)).backward(); });
    EXPECT_EQ(numbers(x.grad()), (Numbers{10}));
  }
}

TEST(Threads, BackwardThroughASharedGraph) {
  const Tensor x = leaf({2});
  const Tensor shared = x.exp() * x;
  on_threads(4, [&](int) {
    for (int k = 0; k < 20; k++) (shared * 2).sum().backward({}, true);
  });
  const double expected = 80 * 2 * (2 * std::exp(2.0) + std::exp(2.0));
  EXPECT_NEAR(x.grad().item<double>(), expected, 1e-9 * expected);
}

TEST(Threads, TheHistoryOfASharedViewIsMadeOnce) {
  for (int round = 0; round < 200; round++) {
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor base = x * 1;
    const Tensor view = base.view({2, 2});
    base.mul_(2);  // the view gets its history again when a thread asks for it
    std::vector<const autograd::Node*> seen(4);
    on_threads(4, [&](int i) {
      const auto node = view.grad_fn();
      seen[static_cast<size_t>(i)] = node.get();
      EXPECT_TRUE(view.requires_grad());
      view.sum().backward({}, true);
    });
    EXPECT_EQ(seen, std::vector<const autograd::Node*>(4, view.grad_fn().get()));
    EXPECT_EQ(numbers(x.grad()), (Numbers{8, 8, 8, 8}));
  }
}

TEST(Threads, GradModeIsTheThreadsOwn) {
  const Tensor x = leaf({1});
  NoGradGuard guard;
  on_threads(1, [&](int) { EXPECT_TRUE((x * 2).requires_grad()); });
}

TEST(Threads, GraphsMayBeFreedElsewhere) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 10000; i++) y = y * 1.0;
  on_threads(1, [&](int) { y.reset(); });
  EXPECT_FALSE(y.defined());
}

}  // namespace
}  // namespace cresset
