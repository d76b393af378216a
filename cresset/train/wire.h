#pragma once
// Records of event files. For this room and the Python extension.

#include "cresset/base/macros.h"
#include "cresset/io/protobuf.h"

namespace cresset::train {

namespace wire = ::cresset::io::protobuf;

// The checksum of Castagnoli's polynomial, and in the form that records of an event file store.
CRESSET_API uint32_t crc32c(std::string_view data);
CRESSET_API uint32_t masked_crc(std::string_view data);

}  // namespace cresset::train
