#include "cresset/kernels/common/scratch.h"

#include "cresset/kernels/common/aligned_buffer.h"

namespace cresset::kernels {

namespace {

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
  ~Block() { free_work(data); }
};

struct Blocks {
  Block of[static_cast<int>(Scratch::count)];
};

}  // namespace

void* thread_scratch(Scratch user, size_t bytes) {
  Block& block = thread_work<Blocks>().of[static_cast<int>(user)];
  if (block.bytes < bytes) {
    free_work(block.data);
    block.data = nullptr;
    block.bytes = 0;
    const size_t rounded = (bytes + bytes / 4 + 4095) & ~size_t{4095};
    block.data = allocate_work(rounded);
    block.bytes = rounded;
  }
  return block.data;
}

}  // namespace cresset::kernels
