#pragma once
// Elements as bytes: the unsigned integer of an element's size stands for every dtype of it.

#include <cstdint>

namespace cresset::kernels::CRESSET_ISA {

struct alignas(16) Sixteen {
  uint64_t part[2];
};

// Calls f with a value of the type for `item` bytes: 1, 2, 4, 8 or 16.
template <class F> void visit_item(int64_t item, F f) {
  switch (item) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Sixteen{});
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
