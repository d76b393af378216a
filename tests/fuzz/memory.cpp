// The memory of tensors comes straight from malloc here, in place of the library's allocator, so that the sanitizer sees where a block ends.

#include <cstdlib>
#include <new>

#include "cresset/core/memory/allocator.h"

namespace cresset {

void* cpu_allocate(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, 64, nbytes) != 0) throw std::bad_alloc();
  return block;
}

void cpu_deallocate(void* data, size_t) { std::free(data); }

}  // namespace cresset
