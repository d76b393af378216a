#include "cresset/kernels/index/cpu/index_scan.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class I> bool any_outside(const I* index, int64_t n, int64_t low, int64_t high) {
  constexpr int64_t kBlock = 1024;
  const uint64_t width = static_cast<uint64_t>(high - low);
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t e = n - b < kBlock ? n : b + kBlock;
    uint64_t bad = 0;
    for (int64_t i = b; i < e; i++) bad |= static_cast<uint64_t>(static_cast<uint64_t>(index[i]) - static_cast<uint64_t>(low) >= width);
    if (bad) return true;
  }
  return false;
}

}  // namespace

bool any_outside_i64(const int64_t* index, int64_t n, int64_t low, int64_t high) { return any_outside(index, n, low, high); }
bool any_outside_i32(const int32_t* index, int64_t n, int64_t low, int64_t high) { return any_outside(index, n, low, high); }

}  // namespace cresset::kernels::CRESSET_ISA
