#include "cresset/kernels/common/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace cresset::kernels {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* allocate_work(size_t bytes) {
  // Whole pages where at most a quarter of the memory stays unused.
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const size_t wanted = whole > bytes && whole - bytes <= bytes / 3 ? whole : bytes;
  const bool is_huge = wanted >= kHugePage;
  void* data = nullptr;
  if (posix_memalign(&data, is_huge ? kHugePage : 64, wanted) != 0) throw std::bad_alloc();
  if (is_huge) madvise(data, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}
void free_work(void* data) { std::free(data); }

}  // namespace cresset::kernels
