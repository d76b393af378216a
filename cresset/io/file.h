#pragma once
// Files written all at once or not at all, and files mapped or read with every length checked. Private to the room and to
// the Python binding.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cresset/base/macros.h"

namespace cresset::io {

// Receives the next bytes of what is being written.
using WriteBytes = std::function<void(const void* data, size_t size)>;

// Calls `produce` with a sink into a temporary file beside `path`, which then takes the place of `path` in one step: readers see the old
// content or the new one. On an error `path` is as it was.
CRESSET_API void write_file_atomically(const std::string& path, const std::function<void(const WriteBytes&)>& produce);

class CRESSET_API ReadableFile {
 public:
  // Errors: missing, not a regular file, unreadable.
  explicit ReadableFile(const std::string& path);
  // Takes over an open descriptor; `path` is for messages.
  ReadableFile(int descriptor, const std::string& path);
  ~ReadableFile();
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;

  uint64_t size() const { return size_; }
  // Errors: bytes beyond the end, a failing disk.
  void read(uint64_t offset, void* to, size_t size) const;
  // The whole file in memory. Private to this process, where writing does not reach the file, or shared, which wants a descriptor that may write.
  std::shared_ptr<char> map(bool shared = false) const;

 private:
  CRESSET_LOCAL void measure();
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace cresset::io
