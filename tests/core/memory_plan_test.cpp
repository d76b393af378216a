// Plans of memory: blocks of a repeated computation share an arena by when they live, whatever later runs do differently.

#include "cresset/core/memory/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "cresset/core/memory/allocator.h"

namespace cresset {
namespace {

int64_t num_allocs() { return cpu_allocator_stats().num_allocs; }

// A chain of blocks, each of which is given back when two more are there; the last one is returned.
void* chain(size_t nbytes, int length) {
  void *before = nullptr, *last = cpu_allocate(nbytes);
  for (int i = 1; i < length; i++) {
    void* next = cpu_allocate(nbytes);
    std::memset(next, i, nbytes);
    cpu_deallocate(before, nbytes);
    before = std::exchange(last, next);
  }
  cpu_deallocate(before, nbytes);
  return last;
}

TEST(MemoryPlan, BlocksThatDoNotLiveTogetherShareTheirPlace) {
  MemoryPlan plan;
  constexpr size_t kBytes = 10000;
  for (int run = 0; run < 3; run++) {
    const int64_t before = num_allocs();
    void* last;
    {
      const MemoryPlan::Run scope(plan);
      last = chain(kBytes, 20);
    }
    EXPECT_EQ(plan.followed(), run > 0);
    // The block that the run leaves behind is no part of the plan.
    EXPECT_EQ(num_allocs() - before, run == 0 ? 21 : 1);
    cpu_deallocate(last, kBytes);
  }
  const MemoryPlan::Facts facts = plan.facts();
  EXPECT_EQ(facts.blocks, 19u);
  EXPECT_EQ(facts.block_bytes, 19 * kBytes);
  EXPECT_GE(facts.arena_bytes, 3 * kBytes);
  EXPECT_LT(facts.arena_bytes, 4 * kBytes);
}

TEST(MemoryPlan, BlocksThatLiveTogetherAreApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; round++) {
    struct Event {
      size_t nbytes, gives_back;
    };
    std::vector<Event> events;
    for (int i = 0; i < 200; i++) events.push_back({1025 + random() % 50000, random()});
    MemoryPlan plan;
    for (int run = 0; run < 3; run++) {
      const MemoryPlan::Run scope(plan);
      std::vector<std::pair<unsigned char*, size_t>> living;
      for (const Event& e : events) {
        auto* p = static_cast<unsigned char*>(cpu_allocate(e.nbytes));
        std::memset(p, static_cast<int>(e.nbytes % 251), e.nbytes);
        living.emplace_back(p, e.nbytes);
        if (living.size() < 10) continue;
        const size_t k = e.gives_back % living.size();
        const auto [q, n] = living[k];
        for (const size_t at : {size_t{0}, n / 2, n - 1}) ASSERT_EQ(q[at], n % 251);
        cpu_deallocate(q, n);
        living.erase(living.begin() + static_cast<std::ptrdiff_t>(k));
      }
      for (const auto& [q, n] : living) cpu_deallocate(q, n);
    }
    EXPECT_TRUE(plan.followed());
    EXPECT_LT(plan.facts().arena_bytes, plan.facts().block_bytes / 4);
  }
}

TEST(MemoryPlan, AnotherComputationIsWatchedAnew) {
  MemoryPlan plan;
  const auto run = [&](size_t nbytes) {
    const MemoryPlan::Run scope(plan);
    cpu_deallocate(chain(nbytes, 5), nbytes);
  };
  run(5000);
  run(5000);
  EXPECT_TRUE(plan.followed());
  run(7000);
  EXPECT_FALSE(plan.followed());
  EXPECT_EQ(plan.facts().blocks, 0u);
  run(7000);
  run(7000);
  EXPECT_TRUE(plan.followed());
  EXPECT_EQ(plan.facts().blocks, 5u);
}

// The watched run gave the first block back before it asked for the second one, which has its place; this one does not.
TEST(MemoryPlan, ABlockThatLivesLongerIsLeftAlone) {
  MemoryPlan plan;
  constexpr size_t kBytes = 4000;
  const auto run = [&](bool keep) {
    const MemoryPlan::Run scope(plan);
    auto* a = static_cast<unsigned char*>(cpu_allocate(kBytes));
    std::memset(a, 1, kBytes);
    if (!keep) cpu_deallocate(a, kBytes);
    auto* b = static_cast<unsigned char*>(cpu_allocate(kBytes));
    std::memset(b, 2, kBytes);
    cpu_deallocate(b, kBytes);
    return a;
  };
  run(false);
  run(false);
  EXPECT_TRUE(plan.followed());
  unsigned char* kept = run(true);
  EXPECT_FALSE(plan.followed());
  EXPECT_EQ(kept[kBytes - 1], 1);
  run(false);
  run(false);
  EXPECT_TRUE(plan.followed());
  EXPECT_EQ(kept[0], 1);
  cpu_deallocate(kept, kBytes);
}

TEST(MemoryPlan, BlocksOutliveThePlanAndEndInOtherThreads) {
  constexpr size_t kBytes = 1 << 16;
  unsigned char* kept = nullptr;
  const int64_t allocated = cpu_allocator_stats().allocated_bytes;
  {
    MemoryPlan plan;
    for (const bool keep : {false, true}) {
      const MemoryPlan::Run scope(plan);
      kept = static_cast<unsigned char*>(cpu_allocate(kBytes));
      std::memset(kept, 7, kBytes);
      if (!keep) cpu_deallocate(kept, kBytes);
    }
    EXPECT_TRUE(plan.followed());
  }
  EXPECT_EQ(kept[kBytes - 1], 7);
  std::thread([&] { cpu_deallocate(kept, kBytes); }).join();
  EXPECT_EQ(cpu_allocator_stats().allocated_bytes, allocated);
}

TEST(MemoryPlan, OtherThreadsAndInnerScopesTakeNoPart) {
  MemoryPlan plan, inner;
  for (int i = 0; i < 2; i++) {
    const MemoryPlan::Run scope(plan);
    std::thread([] { cpu_deallocate(cpu_allocate(5000), 5000); }).join();
    const MemoryPlan::Run within(inner);
    cpu_deallocate(cpu_allocate(3000), 3000);
  }
  EXPECT_TRUE(plan.followed());
  EXPECT_EQ(plan.facts().block_bytes, 3000u);
  EXPECT_EQ(inner.facts().blocks, 0u);
}

TEST(MemoryPlan, AFailedRunIsForgotten) {
  MemoryPlan plan;
  const auto run = [&](bool fails) {
    const MemoryPlan::Run scope(plan);
    cpu_deallocate(cpu_allocate(5000), 5000);
    if (fails) throw std::runtime_error("stop");
    cpu_deallocate(cpu_allocate(6000), 6000);
  };
  EXPECT_THROW(run(true), std::runtime_error);
  EXPECT_EQ(plan.facts().blocks, 0u);
  run(false);
  EXPECT_THROW(run(true), std::runtime_error);
  EXPECT_FALSE(plan.followed());
  run(false);
  EXPECT_TRUE(plan.followed());
}

}  // namespace
}  // namespace cresset
