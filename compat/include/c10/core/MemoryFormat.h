#pragma once
#include "cresset/core/memory_format.h"
#include "torch/detail/tensor.h"
namespace c10 {
inline cresset::DimVector get_channels_last_strides_2d(IntArrayRef sizes) { return cresset::strides_for(sizes, MemoryFormat::ChannelsLast); }
inline cresset::DimVector get_channels_last_strides_3d(IntArrayRef sizes) { return cresset::strides_for(sizes, MemoryFormat::ChannelsLast3d); }
inline bool is_channels_last_strides_2d(IntArrayRef sizes, IntArrayRef strides) {
  return cresset::suggested_format(sizes, strides) == MemoryFormat::ChannelsLast;
}
inline bool is_channels_last_strides_3d(IntArrayRef sizes, IntArrayRef strides) {
  return cresset::suggested_format(sizes, strides) == MemoryFormat::ChannelsLast3d;
}
}  // namespace c10
