#pragma once
// Whole files in memory, unpacked where they are gzipped. Private to the room.

#include <string>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::data::detail {

struct FileContent {
  std::string path;
  std::vector<unsigned char> bytes;
};

// Reads `path`, or `path`.gz if that is what exists. Errors, which start with `name` and tell the file: missing, unreadable, a damaged or
// truncated archive, more than `limit` bytes.
FileContent read_file(const char* name, const std::string& path, size_t limit);

}  // namespace cresset::data::detail
