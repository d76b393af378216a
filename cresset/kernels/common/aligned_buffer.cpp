#include "cresset/kernels/common/aligned_buffer.h"

#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace cresset::kernels {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// The large blocks given back last: the system would clear their pages before it hands them out again, which costs as much as writing them.
constexpr size_t kMostKept = size_t{32} << 20;
std::atomic<void*> g_kept[2];

void* take_kept(size_t bytes) {
  for (std::atomic<void*>& slot : g_kept) {
    void* data = slot.exchange(nullptr, std::memory_order_acquire);
    if (!data) continue;
    const size_t size = malloc_usable_size(data);
    if (size >= bytes && size / 4 <= bytes) return data;
    void* none = nullptr;
    if (!slot.compare_exchange_strong(none, data, std::memory_order_release, std::memory_order_relaxed)) std::free(data);
  }
  return nullptr;
}

}  // namespace

void* allocate_work(size_t bytes) {
  // Whole pages where at most a quarter of the memory stays unused.
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const size_t wanted = whole > bytes && whole - bytes <= bytes / 3 ? whole : bytes;
  const bool is_huge = wanted >= kHugePage;
  void* data = is_huge ? take_kept(wanted) : nullptr;
  if (data) return data;
  if (posix_memalign(&data, is_huge ? kHugePage : 64, wanted) != 0) throw std::bad_alloc();
  if (is_huge) madvise(data, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}

void free_work(void* data) {
  if (data && malloc_usable_size(data) >= kHugePage && malloc_usable_size(data) <= kMostKept)
    for (std::atomic<void*>& slot : g_kept) data = slot.exchange(data, std::memory_order_acq_rel);
  std::free(data);
}

}  // namespace cresset::kernels
