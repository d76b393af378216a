#include "cresset/core/memory/allocator.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cresset/core/memory/limit.h"
#include "cresset/core/memory/plan_run.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size)
#define ASAN_UNPOISON_MEMORY_REGION(data, size)
#endif

namespace cresset {

namespace {

// Three tiers by size:
//   <= 1 KiB      thread-local free lists in steps of 64 bytes, refilled from chunks that are never returned
//   <= 1 MiB      shared free lists of size classes (4 per power of two), from malloc
//   above         whole huge-page-advised mappings, cached up to kMaxCachedLarge bytes and reused best-fit
constexpr size_t kStep = 64, kSmallMax = 1024, kBins = kSmallMax / kStep;
constexpr size_t kMediumMax = size_t{1} << 20, kHugePage = size_t{2} << 20;
constexpr size_t kMaxCachedLarge = size_t{1} << 30, kMaxCachedPerClass = size_t{16} << 20;
constexpr int kBinLimit = 256;

struct FreeBlock {
  FreeBlock* next;
};

// Counters of the shared tiers; small blocks are counted by their thread and summed on request.
std::atomic<int64_t> g_allocated{0}, g_peak{0}, g_reserved{0}, g_allocs{0}, g_system{0};

void count_alloc(int64_t n) {
  const int64_t now = g_allocated.fetch_add(n, std::memory_order_relaxed) + n;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
  g_allocs.fetch_add(1, std::memory_order_relaxed);
}

// Of the scope that this thread is in (`limit.h`).
thread_local __attribute__((tls_model("initial-exec"))) MemoryBudget* t_budget = nullptr;

void take_from_budget(size_t n) {
  MemoryBudget& b = *t_budget;
  CRESSET_CHECK_AS(OutOfMemoryError, b.used <= b.max && n <= static_cast<size_t>(b.max - b.used), "cpu allocator: expected at most ", b.max,
                   " bytes, which is the limit of this run; ", b.used, " are in use and ", n, " more are asked for");
  b.used += static_cast<int64_t>(n);
}
void give_to_budget(size_t n) {
  // Blocks from before the scope do not make room for others.
  t_budget->used = std::max<int64_t>(0, t_budget->used - static_cast<int64_t>(n));
}

[[noreturn]] CRESSET_COLD void out_of_memory(size_t n) {
  CRESSET_CHECK_AS(OutOfMemoryError, false, "cpu allocator: you tried to allocate ", n,
                   " bytes and the system has none left; free tensors, or lower the batch size");
  __builtin_unreachable();
}

void* system_alloc(size_t n) {
  g_system.fetch_add(1, std::memory_order_relaxed);
  void* p = nullptr;
  if (n >= static_cast<size_t>(INT64_MAX) || posix_memalign(&p, 64, n) != 0) out_of_memory(n);
  g_reserved.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
  return p;
}

// Overflow of the thread bins, and where a thread that ends leaves its blocks.
struct SharedBins {
  std::mutex mutex;
  FreeBlock* head[kBins + 1] = {};
};
SharedBins& shared_bins() {
  static SharedBins* s = new SharedBins;
  return *s;
}

struct ThreadBins;
struct Registry {
  std::mutex mutex;
  std::vector<ThreadBins*> threads;
  int64_t ended_bytes = 0, ended_allocs = 0;
};
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

// Written by one thread, read by any: plain load and store, no read-modify-write.
struct Counter {
  std::atomic<int64_t> v{0};
  void add(int64_t n) { v.store(v.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  int64_t get() const { return v.load(std::memory_order_relaxed); }
};

struct ThreadBins {
  FreeBlock* head[kBins + 1] = {};
  int count[kBins + 1] = {};
  Counter bytes, allocs;

  ThreadBins() {
    std::lock_guard<std::mutex> lock(registry().mutex);
    registry().threads.push_back(this);
  }
  ~ThreadBins();

  CRESSET_NOINLINE void* refill(size_t bin);
  CRESSET_NOINLINE void spill(size_t bin);
};

// Set while the thread's bins live; blocks freed after their end go to the shared bins.
thread_local __attribute__((tls_model("initial-exec"))) ThreadBins* t_bins = nullptr;
thread_local bool t_bins_ended = false;

CRESSET_NOINLINE ThreadBins* make_bins() {
  if (t_bins_ended) return nullptr;
  thread_local const std::unique_ptr<ThreadBins> bins = std::make_unique<ThreadBins>();
  return t_bins = bins.get();
}

ThreadBins::~ThreadBins() {
  t_bins = nullptr;
  t_bins_ended = true;
  {
    SharedBins& s = shared_bins();
    std::lock_guard<std::mutex> lock(s.mutex);
    for (size_t b = 1; b <= kBins; b++)
      while (FreeBlock* f = head[b]) {
        head[b] = f->next;
        f->next = s.head[b];
        s.head[b] = f;
      }
  }
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.ended_bytes += bytes.get();
  r.ended_allocs += allocs.get();
  for (size_t i = 0; i < r.threads.size(); i++)
    if (r.threads[i] == this) {
      r.threads[i] = r.threads.back();
      r.threads.pop_back();
      break;
    }
}

void* ThreadBins::refill(size_t bin) {
  const size_t size = bin * kStep;
  {
    SharedBins& s = shared_bins();
    std::lock_guard<std::mutex> lock(s.mutex);
    for (int n = 0; n < kBinLimit / 2 && s.head[bin]; n++) {
      FreeBlock* f = s.head[bin];
      s.head[bin] = f->next;
      f->next = head[bin];
      head[bin] = f;
      count[bin]++;
    }
  }
  if (!head[bin]) {
    const size_t blocks = 4096 / size > 4 ? 4096 / size : 4;
    if (CRESSET_UNLIKELY(t_budget != nullptr)) take_from_budget(blocks * size);
    char* chunk = static_cast<char*>(system_alloc(blocks * size));
    for (size_t i = 0; i < blocks; i++) {
      auto* f = reinterpret_cast<FreeBlock*>(chunk + i * size);
      f->next = head[bin];
      head[bin] = f;
    }
    count[bin] += static_cast<int>(blocks);
  }
  FreeBlock* f = head[bin];
  head[bin] = f->next;
  count[bin]--;
  return f;
}

void ThreadBins::spill(size_t bin) {
  SharedBins& s = shared_bins();
  std::lock_guard<std::mutex> lock(s.mutex);
  while (count[bin] > kBinLimit / 2) {
    FreeBlock* f = head[bin];
    head[bin] = f->next;
    f->next = s.head[bin];
    s.head[bin] = f;
    count[bin]--;
  }
}

// Four classes per power of two: at most 25 % of a block is unused.
size_t medium_class(size_t n, size_t* size) {
  const int top = 63 - __builtin_clzll(n - 1);
  const size_t step = size_t{1} << (top - 2);
  const size_t rounded = (n + step - 1) & ~(step - 1);
  *size = rounded;
  return static_cast<size_t>(top) * 4 + ((rounded - 1) >> (top - 2)) % 4;
}

struct Medium {
  std::mutex mutex;
  std::vector<void*> free[32 * 4];
  size_t bytes[32 * 4] = {};
};
Medium& medium() {
  static Medium* m = new Medium;
  return *m;
}

struct Large {
  std::mutex mutex;
  std::multimap<size_t, void*> free;
  size_t cached = 0;
  std::map<void*, size_t> capacity;  // of blocks handed out
};
Large& large() {
  static Large* l = new Large;
  return *l;
}

// Whole huge pages where at most a quarter of the memory stays unused: first touches of small pages cost six times as much.
size_t round_large(size_t n) {
  const size_t whole = (n + kHugePage - 1) / kHugePage * kHugePage, unit = size_t{1} << 18;
  return whole - n <= n / 3 ? whole : (n + unit - 1) / unit * unit;
}

constexpr size_t kBehind = 4096;  // kept mapped behind each block

void* map_large(size_t n) {
  g_system.fetch_add(1, std::memory_order_relaxed);
  if (n >= static_cast<size_t>(INT64_MAX) / 2) out_of_memory(n);
  // Over-map, then trim, so that the block starts on a huge page. A page behind it stays: vector loops of BLAS libraries read past the
  // end of a matrix (OpenBLAS's zgemv), and nothing else takes it up.
  char* raw = static_cast<char*>(mmap(nullptr, n + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (raw == MAP_FAILED) out_of_memory(n);
  const size_t skip = (kHugePage - reinterpret_cast<size_t>(raw) % kHugePage) % kHugePage;
  if (skip) munmap(raw, skip);
  if (kHugePage - skip > kBehind) munmap(raw + skip + n + kBehind, kHugePage - skip - kBehind);
  madvise(raw + skip, n, MADV_HUGEPAGE);
  g_reserved.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
  return raw + skip;
}

void unmap_large(void* p, size_t n) {
  ASAN_UNPOISON_MEMORY_REGION(p, n);
  munmap(p, n + kBehind);
  g_reserved.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
}

void* allocate_large(size_t n) {
  const size_t wanted = round_large(n);
  Large& l = large();
  std::lock_guard<std::mutex> lock(l.mutex);
  // Best fit, and at most a quarter wasted.
  auto it = l.free.lower_bound(wanted);
  void* p;
  size_t size = wanted;
  if (it != l.free.end() && it->first <= wanted + wanted / 4) {
    p = it->second;
    size = it->first;
    l.cached -= size;
    l.free.erase(it);
  } else {
    p = map_large(wanted);
  }
  l.capacity.emplace(p, size);
  return p;
}

void deallocate_large(void* p) {
  Large& l = large();
  std::lock_guard<std::mutex> lock(l.mutex);
  auto it = l.capacity.find(p);
  const size_t size = it->second;
  l.capacity.erase(it);
  // Ahead of its equals: the block freed last is taken first, while caches still hold it.
  l.free.emplace_hint(l.free.lower_bound(size), size, p);
  l.cached += size;
  while (l.cached > kMaxCachedLarge) {
    auto biggest = std::prev(l.free.end());
    l.cached -= biggest->first;
    unmap_large(biggest->second, biggest->first);
    l.free.erase(biggest);
  }
}

void* allocate_medium(size_t n) {
  size_t size;
  const size_t c = medium_class(n, &size);
  Medium& m = medium();
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    if (!m.free[c].empty()) {
      void* p = m.free[c].back();
      m.free[c].pop_back();
      m.bytes[c] -= size;
      return p;
    }
  }
  return system_alloc(size);
}

void deallocate_medium(void* p, size_t n) {
  size_t size;
  const size_t c = medium_class(n, &size);
  Medium& m = medium();
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    if (m.bytes[c] + size <= kMaxCachedPerClass) {
      m.free[c].push_back(p);
      m.bytes[c] += size;
      return;
    }
  }
  std::free(p);
  g_reserved.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
}

CRESSET_NOINLINE void* allocate_big(size_t n) {
  // Rounding up must not overflow.
  if (n > static_cast<size_t>(INT64_MAX) / 2) out_of_memory(n);
  if (CRESSET_UNLIKELY(t_budget != nullptr)) take_from_budget(n);
  MemoryPlan::State* const plan = t_memory_plan;
  if (CRESSET_UNLIKELY(plan != nullptr))
    if (void* p = planned_block(*plan, n)) return p;
  void* p = n <= kMediumMax ? allocate_medium(n) : allocate_large(n);
  count_alloc(static_cast<int64_t>(n));
  if (CRESSET_UNLIKELY(plan != nullptr)) watch_block(*plan, p, n);
  return p;
}

CRESSET_NOINLINE void deallocate_big(void* p, size_t n) {
  if (CRESSET_UNLIKELY(t_budget != nullptr)) give_to_budget(n);
  if (CRESSET_UNLIKELY(t_memory_plan != nullptr)) watch_end_of_block(*t_memory_plan, p);
  if (CRESSET_UNLIKELY(g_memory_arenas.load(std::memory_order_relaxed) != 0) && give_back_planned(p)) return;
  g_allocated.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
  n <= kMediumMax ? deallocate_medium(p, n) : deallocate_large(p);
}

CRESSET_NOINLINE void deallocate_after_thread_end(void* p, size_t bin) {
  SharedBins& s = shared_bins();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto* f = static_cast<FreeBlock*>(p);
  f->next = s.head[bin];
  s.head[bin] = f;
}

class CpuAllocator final : public Allocator {
 public:
  void* allocate(size_t nbytes, Device) override { return cpu_allocate(nbytes); }
  void deallocate(void* data, size_t nbytes, Device) override { cpu_deallocate(data, nbytes); }
};

std::atomic<Allocator*> g_allocators[static_cast<int>(DeviceType::MaxRegistered) + 1];

}  // namespace

namespace {

CRESSET_ALWAYS_INLINE size_t bin_of(size_t nbytes) { return (nbytes + kStep - 1) / kStep; }

CRESSET_ALWAYS_INLINE void* take(ThreadBins* bins, size_t bin) {
  bins->bytes.add(static_cast<int64_t>(bin * kStep));
  bins->allocs.add(1);
  FreeBlock* f = bins->head[bin];
  if (CRESSET_UNLIKELY(!f)) return bins->refill(bin);
  bins->head[bin] = f->next;
  bins->count[bin]--;
  return f;
}
CRESSET_ALWAYS_INLINE void give(ThreadBins* bins, void* data, size_t bin) {
  bins->bytes.add(-static_cast<int64_t>(bin * kStep));
  auto* f = static_cast<FreeBlock*>(data);
  f->next = bins->head[bin];
  bins->head[bin] = f;
  if (CRESSET_UNLIKELY(++bins->count[bin] > kBinLimit)) bins->spill(bin);
}

// Before the first block of a thread, and after its end. Apart, so that the usual way saves no registers.
CRESSET_NOINLINE void* allocate_without_bins(size_t nbytes) {
  ThreadBins* const bins = make_bins();
  return bins ? take(bins, bin_of(nbytes)) : system_alloc(bin_of(nbytes) * kStep);
}
CRESSET_NOINLINE void deallocate_without_bins(void* data, size_t nbytes) {
  if (ThreadBins* const bins = make_bins()) give(bins, data, bin_of(nbytes));
  else deallocate_after_thread_end(data, bin_of(nbytes));
}

CRESSET_ALWAYS_INLINE void* allocate_bytes(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  if (CRESSET_UNLIKELY(nbytes > kSmallMax)) return allocate_big(nbytes);
  ThreadBins* const bins = t_bins;
  if (CRESSET_UNLIKELY(!bins)) return allocate_without_bins(nbytes);
  return take(bins, bin_of(nbytes));
}

}  // namespace

void* cpu_allocate(size_t nbytes) {
  void* data = allocate_bytes(nbytes);
  // Cached blocks look like live memory to the sanitizer unless it is told what is in use. The first word links free blocks.
  ASAN_UNPOISON_MEMORY_REGION(data, data && nbytes < sizeof(FreeBlock) ? sizeof(FreeBlock) : nbytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(data) + (nbytes + 7) / 8 * 8, (kStep - (nbytes + 7) / 8 * 8 % kStep) % kStep);
  return data;
}

void cpu_deallocate(void* data, size_t nbytes) {
  if (!data) return;
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(data) + sizeof(FreeBlock), nbytes > sizeof(FreeBlock) ? nbytes - sizeof(FreeBlock) : 0);
  if (CRESSET_UNLIKELY(nbytes > kSmallMax)) return deallocate_big(data, nbytes);
  ThreadBins* const bins = t_bins;
  if (CRESSET_UNLIKELY(!bins)) return deallocate_without_bins(data, nbytes);
  give(bins, data, bin_of(nbytes));
}

void unpoison_memory([[maybe_unused]] const void* data, [[maybe_unused]] size_t nbytes) { ASAN_UNPOISON_MEMORY_REGION(data, nbytes); }

MemoryBudgetScope::MemoryBudgetScope(MemoryBudget* budget) : outer_(std::exchange(t_budget, budget)) {}
MemoryBudgetScope::~MemoryBudgetScope() { t_budget = outer_; }

Allocator* cpu_allocator() {
  static CpuAllocator* a = new CpuAllocator;
  return a;
}

void Allocator::copy(void*, const void*, size_t nbytes, Device device) {
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "resize: the allocator of ", device, " cannot copy the ", nbytes, " bytes of the storage that grows");
}

namespace {

// Holds the library that defines the object's class: its virtual functions run as long as tensors live.
void keep_library_of(Allocator* allocator) {
  Dl_info info;
  if (!dladdr(*reinterpret_cast<void**>(allocator), &info) || !info.dli_fname) return;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

void set_allocator(DeviceType type, Allocator* allocator) {
  if (allocator) keep_library_of(allocator);
  g_allocators[static_cast<int>(type)].store(allocator);
}

Allocator* get_allocator(DeviceType type) {
  if (type == DeviceType::CPU) return cpu_allocator();
  Allocator* a = g_allocators[static_cast<int>(type)].load();
  CRESSET_CHECK(a, "allocator: no memory can be allocated on device type ", device_type_name(type), ": no backend for it is loaded in this build");
  return a;
}

AllocatorStats cpu_allocator_stats() {
  AllocatorStats s;
  s.allocated_bytes = g_allocated.load();
  s.reserved_bytes = g_reserved.load();
  s.num_allocs = g_allocs.load();
  s.num_system_allocs = g_system.load();
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  s.allocated_bytes += r.ended_bytes;
  s.num_allocs += r.ended_allocs;
  for (const ThreadBins* t : r.threads) {
    s.allocated_bytes += t->bytes.get();
    s.num_allocs += t->allocs.get();
  }
  const int64_t peak = g_peak.load();
  s.peak_allocated_bytes = peak > s.allocated_bytes ? peak : s.allocated_bytes;
  return s;
}

void reset_cpu_allocator_peak() { g_peak.store(g_allocated.load()); }

void empty_cpu_cache() {
  {
    Large& l = large();
    std::lock_guard<std::mutex> lock(l.mutex);
    for (auto& [size, p] : l.free) unmap_large(p, size);
    l.free.clear();
    l.cached = 0;
  }
  Medium& m = medium();
  std::lock_guard<std::mutex> lock(m.mutex);
  for (size_t c = 0; c < 32 * 4; c++) {
    for (void* p : m.free[c]) std::free(p);
    g_reserved.fetch_sub(static_cast<int64_t>(m.bytes[c]), std::memory_order_relaxed);
    m.free[c].clear();
    m.bytes[c] = 0;
  }
}

}  // namespace cresset
