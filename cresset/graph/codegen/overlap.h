#pragma once
// Which tensors share memory: what a program writes through one of them the others see, which programs of separate tensors know nothing of.

#include <vector>

#include "cresset/core/tensor.h"

namespace cresset::graph {

// Two tensors over one storage, by their numbers, and how many bytes the second begins behind the first.
struct SharedMemory {
  size_t first, second;
  int64_t distance;
  bool operator==(const SharedMemory& o) const { return first == o.first && second == o.second && distance == o.distance; }
};

// Whether an element of one tensor lies in the memory of an element of the other. True also where finding out takes too long.
CRESSET_API bool share_memory(const Tensor& a, const Tensor& b);

// The pairs over storages in which a tensor of `written` shares memory with another.
CRESSET_API std::vector<SharedMemory> shared_memory(const std::vector<const Tensor*>& tensors, const std::vector<size_t>& written);

}  // namespace cresset::graph
