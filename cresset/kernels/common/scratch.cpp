#include "cresset/kernels/common/scratch.h"

#include <new>

namespace cresset::kernels {

namespace {

constexpr std::align_val_t kAlignment{64};

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
  ~Block() { ::operator delete(data, kAlignment); }
};

struct Blocks {
  Block of[static_cast<int>(Scratch::count)];
};

}  // namespace

void* thread_scratch(Scratch user, size_t bytes) {
  Block& block = thread_work<Blocks>().of[static_cast<int>(user)];
  if (block.bytes < bytes) {
    ::operator delete(block.data, kAlignment);
    block.data = nullptr;
    block.bytes = 0;
    const size_t rounded = (bytes + bytes / 4 + 4095) & ~size_t{4095};
    block.data = ::operator new(rounded, kAlignment);
    block.bytes = rounded;
  }
  return block.data;
}

}  // namespace cresset::kernels
