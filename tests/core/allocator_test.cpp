// The caching CPU allocator: sizes, reuse, statistics, and many threads that free each other's blocks.

#include "cresset/core/memory/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace cresset {
namespace {

constexpr size_t kSizes[] = {1, 8, 64, 65, 1000, 1024, 1025, 4096, 100000, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{5} << 20};

unsigned char pattern(size_t size, size_t i) { return static_cast<unsigned char>(size * 31 + i * 7 + 3); }
void fill(void* p, size_t n) {
  for (size_t i = 0; i < n; i += 61) static_cast<unsigned char*>(p)[i] = pattern(n, i);
  static_cast<unsigned char*>(p)[n - 1] = 0xa5;
}
bool is_intact(const void* p, size_t n) {
  const auto* bytes = static_cast<const unsigned char*>(p);
  for (size_t i = 0; i < n - 1; i += 61)
    if (bytes[i] != pattern(n, i)) return false;
  return bytes[n - 1] == 0xa5;
}

TEST(CpuAllocator, BlocksAreAlignedWritableAndApart) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (int round = 0; round < 3; round++)
    for (const size_t n : kSizes) {
      void* p = cpu_allocate(n);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u) << n;
      fill(p, n);
      blocks.emplace_back(p, n);
    }
  for (const auto& [p, n] : blocks) EXPECT_TRUE(is_intact(p, n)) << n;
  for (const auto& [p, n] : blocks) cpu_deallocate(p, n);
}

TEST(CpuAllocator, NothingIsNull) {
  EXPECT_EQ(cpu_allocate(0), nullptr);
  cpu_deallocate(nullptr, 0);
  EXPECT_EQ(cpu_allocator()->allocate(0, kCPU), nullptr);
}

TEST(CpuAllocator, AFreedBlockIsUsedAgain) {
  for (const size_t n : kSizes) {
    void* first = cpu_allocate(n);
    cpu_deallocate(first, n);
    const int64_t system = cpu_allocator_stats().num_system_allocs;
    void* second = cpu_allocate(n);
    EXPECT_EQ(cpu_allocator_stats().num_system_allocs, system) << n;
    cpu_deallocate(second, n);
  }
}

// Caches hold the memory written last.
TEST(CpuAllocator, TheBlockFreedLastIsTakenFirst) {
  for (const size_t n : kSizes) {
    void* blocks[] = {cpu_allocate(n), cpu_allocate(n), cpu_allocate(n)};
    for (const int i : {0, 2, 1}) cpu_deallocate(blocks[i], n);
    void* again[3];
    for (void*& p : again) p = cpu_allocate(n);
    EXPECT_EQ(again[0], blocks[1]) << n;
    EXPECT_EQ(again[1], blocks[2]) << n;
    EXPECT_EQ(again[2], blocks[0]) << n;
    for (void* p : again) cpu_deallocate(p, n);
  }
}

TEST(CpuAllocator, CountsWhatIsHandedOut) {
  for (const size_t n : kSizes) {
    const AllocatorStats before = cpu_allocator_stats();
    void* p = cpu_allocate(n);
    const AllocatorStats held = cpu_allocator_stats();
    EXPECT_GE(held.allocated_bytes - before.allocated_bytes, static_cast<int64_t>(n));
    EXPECT_LE(held.allocated_bytes - before.allocated_bytes, static_cast<int64_t>(2 * n + (size_t{2} << 20)));
    EXPECT_EQ(held.num_allocs, before.num_allocs + 1);
    EXPECT_GE(held.peak_allocated_bytes, held.allocated_bytes);
    EXPECT_GE(held.reserved_bytes, static_cast<int64_t>(n));
    cpu_deallocate(p, n);
    EXPECT_EQ(cpu_allocator_stats().allocated_bytes, before.allocated_bytes) << n;
  }
}

TEST(CpuAllocator, ThePeakIsKeptUntilItIsReset) {
  const size_t n = size_t{32} << 20;
  const int64_t base = cpu_allocator_stats().allocated_bytes;
  cpu_deallocate(cpu_allocate(n), n);
  EXPECT_GE(cpu_allocator_stats().peak_allocated_bytes, base + static_cast<int64_t>(n));
  reset_cpu_allocator_peak();
  EXPECT_LT(cpu_allocator_stats().peak_allocated_bytes, base + static_cast<int64_t>(n));
}

TEST(CpuAllocator, EmptyCacheGivesBack) {
  const size_t large = size_t{8} << 20, medium = 200000;
  std::vector<void*> a, b;
  for (int i = 0; i < 4; i++) a.push_back(cpu_allocate(large));
  for (int i = 0; i < 4; i++) b.push_back(cpu_allocate(medium));
  void* held = cpu_allocate(large);
  fill(held, large);
  for (void* p : a) cpu_deallocate(p, large);
  for (void* p : b) cpu_deallocate(p, medium);
  const int64_t cached = cpu_allocator_stats().reserved_bytes;
  empty_cpu_cache();
  EXPECT_LE(cpu_allocator_stats().reserved_bytes, cached - static_cast<int64_t>(4 * large + 4 * medium));
  EXPECT_TRUE(is_intact(held, large));
  cpu_deallocate(held, large);
  empty_cpu_cache();
}

TEST(CpuAllocator, TooMuchIsAnError) {
  for (const size_t n : {size_t{1} << 60, ~size_t{0}, ~size_t{0} - 4096}) {
    try {
      void* p = cpu_allocate(n);
      cpu_deallocate(p, n);
      ADD_FAILURE() << n;
    } catch (const OutOfMemoryError& e) { EXPECT_NE(std::string(e.what()).find("you tried to allocate"), std::string::npos); }
  }
}

// Blocks travel through a shared pool, so that most are freed by another thread than the one that made them.
TEST(CpuAllocator, ThreadsFreeEachOthersBlocks) {
  const int64_t before = cpu_allocator_stats().allocated_bytes;
  std::mutex mutex;
  std::vector<std::pair<void*, size_t>> pool;
  std::atomic<int> broken{0};
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; i++) {
      const size_t n = kSizes[random() % 9] + random() % 50;
      void* p = cpu_allocate(n);
      fill(p, n);
      std::pair<void*, size_t> other{nullptr, 0};
      {
        const std::lock_guard<std::mutex> lock(mutex);
        pool.emplace_back(p, n);
        if (pool.size() > 40) {
          std::swap(pool[random() % pool.size()], pool.back());
          other = pool.back();
          pool.pop_back();
        }
      }
      if (!other.first) continue;
      broken += !is_intact(other.first, other.second);
      cpu_deallocate(other.first, other.second);
    }
  };
  for (int round = 0; round < 2; round++) {  // the second round inherits what ended threads left
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++) threads.emplace_back(work, t + 10 * round);
    // Statistics and emptying in the middle of it.
    for (int i = 0; i < 50; i++) {
      EXPECT_GE(cpu_allocator_stats().reserved_bytes, 0);
      if (i % 10 == 0) empty_cpu_cache();
      std::this_thread::yield();
    }
    for (std::thread& t : threads) t.join();
  }
  for (const auto& [p, n] : pool) cpu_deallocate(p, n);
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(cpu_allocator_stats().allocated_bytes, before);
}

struct CountingAllocator final : Allocator {
  int live = 0;
  void* allocate(size_t n, Device) override {
    live++;
    return ::operator new(n);
  }
  void deallocate(void* p, size_t, Device) override {
    live--;
    ::operator delete(p);
  }
};

TEST(Allocators, BelongToADeviceType) {
  const DeviceType type = register_device_type("counting");
  try {
    get_allocator(type);
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("no memory can be allocated on device type counting"), std::string::npos); }
  static CountingAllocator allocator;
  set_allocator(type, &allocator);
  EXPECT_EQ(get_allocator(type), &allocator);
  void* p = get_allocator(type)->allocate(8, type);
  EXPECT_EQ(allocator.live, 1);
  EXPECT_THROW(get_allocator(type)->copy(p, p, 4, type), NotImplementedError);
  get_allocator(type)->deallocate(p, 8, type);
  EXPECT_EQ(allocator.live, 0);
}

}  // namespace
}  // namespace cresset
