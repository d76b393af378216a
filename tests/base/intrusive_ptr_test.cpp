// References that may be taken and dropped on several threads at once.
#include "cresset/base/intrusive_ptr.h"

#include <gtest/gtest.h>

#include <thread>

namespace cresset {
namespace {

struct Counted : RefCounted {
  explicit Counted(std::atomic<int>& n) : alive(n) { alive++; }
  ~Counted() override { alive--; }
  void release_resources() override { released = true; }
  std::atomic<int>& alive;
  std::atomic<bool> released{false};
};

TEST(IntrusivePtrThreads, AWeakReferenceMadeStrongKeepsTheObject) {
  std::atomic<int> alive{0};
  for (int round = 0; round < 2000; round++) {
    auto object = make_intrusive<Counted>(alive);
    weak_intrusive_ptr<Counted> weak(object);
    std::atomic<bool> go{false};
    std::thread other([&] {
      while (!go.load()) {}
      const auto held = weak.lock();
      EXPECT_FALSE(held && held->released.load()) << round;
    });
    go = true;
    object.reset();
    other.join();
    EXPECT_TRUE(weak.expired());
    weak = {};
    ASSERT_EQ(alive.load(), 0) << round;
  }
}

}  // namespace
}  // namespace cresset
