#pragma once
// The checksum of zip archives. Private to the room.

#include <cstddef>
#include <cstdint>

namespace cresset::io {

// The checksum of what `crc` (0 at the start) is the checksum of, followed by `data`.
uint32_t add_to_crc(uint32_t crc, const void* data, size_t size);
// The checksum of two parts one after the other, the second of `size` bytes.
uint32_t join_crc(uint32_t first, uint32_t second, size_t size);

}  // namespace cresset::io
