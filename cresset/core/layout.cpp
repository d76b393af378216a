#include "cresset/core/layout.h"

#include "cresset/base/error.h"

namespace cresset {

const char* layout_name(Layout l) {
  constexpr const char* kNames[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "mkldnn"};
  return kNames[static_cast<int>(l)];
}

const char* memory_format_name(MemoryFormat f) {
  constexpr const char* kNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  return kNames[static_cast<int>(f)];
}

namespace {

// The step over dimension d, and all that `step` goes over. A shape without elements may have dimensions whose product is too large.
int64_t step_over(int64_t step, IntArrayRef sizes, size_t d) {
  const int64_t size = sizes[d] > 1 ? sizes[d] : 1;
  CRESSET_CHECK(!__builtin_mul_overflow(step, size, &step), "tensor: the strides of shape ", sizes, " do not fit in 64 bits");
  return step;
}

}  // namespace

DimVector contiguous_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (i > 0) step = step_over(step, sizes, i);
  }
  return strides;
}

DimVector strides_for(IntArrayRef sizes, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return contiguous_strides(sizes);
  const size_t wanted = format == MemoryFormat::ChannelsLast ? 4 : 5;
  CRESSET_CHECK(format != MemoryFormat::Preserve, "memory format: preserve_format names no strides of its own");
  CRESSET_CHECK(sizes.size() == wanted, "memory format ", memory_format_name(format), " needs a tensor of ", wanted, " dimensions, got shape ", sizes);
  // Channels innermost, then the spatial dimensions from last to first, then the batch.
  DimVector strides(sizes.size());
  strides[1] = 1;
  size_t inner = 1;
  auto place = [&](size_t d) {
    strides[d] = step_over(strides[inner], sizes, inner);
    inner = d;
  };
  for (size_t d = sizes.size() - 1; d >= 2; d--) place(d);
  place(0);
  return strides;
}

}  // namespace cresset
