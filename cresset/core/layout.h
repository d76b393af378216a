#pragma once
// Memory layouts and formats.

#include <cstdint>
#include <string>

#include "cresset/base/small_vector.h"

namespace cresset {

enum class Layout : int8_t { Strided, Sparse, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Mkldnn };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr;

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

CRESSET_API const char* layout_name(Layout l);
CRESSET_API const char* memory_format_name(MemoryFormat f);

// Strides, in elements, of a dense tensor of these sizes; a size of 0 counts as 1, as in PyTorch.
CRESSET_API DimVector contiguous_strides(IntArrayRef sizes);
// Errors: ChannelsLast wants 4 dimensions, ChannelsLast3d 5.
CRESSET_API DimVector strides_for(IntArrayRef sizes, MemoryFormat format);

inline void append_part(std::string& s, Layout l) { s += layout_name(l); }
inline void append_part(std::string& s, MemoryFormat f) { s += memory_format_name(f); }

}  // namespace cresset
