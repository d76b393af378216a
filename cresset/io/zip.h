#pragma once
// The zip archives that checkpoints are: stored entries, tensor data at multiples of 64 bytes, zip64 where sizes ask for it.
// Private to the room and to the Python binding.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/io/file.h"

namespace cresset::io {

// Bytes at random positions: a file, or memory that the caller keeps alive.
class CRESSET_API ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Errors: bytes beyond the end.
  virtual void read(uint64_t offset, void* to, size_t size) const = 0;
  // All bytes in writable memory, which reaches the file only if it is shared; null where there is no file to map.
  virtual std::shared_ptr<char> map(bool /*shared*/ = false) const { return nullptr; }
};

class CRESSET_API FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : file_(path) {}
  // Takes over a descriptor; `path` is for messages.
  FileSource(int descriptor, const std::string& path) : file_(descriptor, path) {}
  uint64_t size() const override { return file_.size(); }
  void read(uint64_t offset, void* to, size_t size) const override { file_.read(offset, to, size); }
  std::shared_ptr<char> map(bool shared = false) const override { return file_.map(shared); }

 private:
  ReadableFile file_;
};

class CRESSET_API MemorySource final : public ByteSource {
 public:
  MemorySource(const void* data, size_t size) : data_(static_cast<const char*>(data)), size_(size) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* to, size_t size) const override;

 private:
  const char* data_;
  size_t size_;
};

class CRESSET_API ZipWriter {
 public:
  // Entries are called `folder`/name, or name without a folder. A size or offset of `limit` and more is written in zip64's fields.
  ZipWriter(WriteBytes write, std::string folder, uint64_t limit = 0xffffffff) : write_(std::move(write)), folder_(std::move(folder)), limit_(limit) {}
  // Without `checksum` the entry's is left zero.
  void add(std::string_view name, const void* data, size_t size, bool checksum = true);
  void add(std::string_view name, std::string_view text) { add(name, text.data(), text.size()); }
  void finish();
  // Of all entries so far.
  uint32_t checksum() const { return checksum_; }

 private:
  struct Entry {
    std::string name;
    uint64_t offset, size;
    uint32_t crc;
  };
  void put(const std::string& bytes) { put(bytes.data(), bytes.size()); }
  void put(const void* data, size_t size);

  WriteBytes write_;
  std::string folder_;
  uint64_t limit_, at_ = 0;
  uint32_t checksum_ = 0;
  std::vector<Entry> entries_;
};

struct ZipEntry {
  std::string name;
  uint64_t data_offset = 0, size = 0;
  uint32_t crc = 0;
  bool stored = true;     // neither compressed nor encrypted
  bool deflated = false;  // compressed by deflate; `size` is the compressed one
  uint64_t full_size = 0;
};

class CRESSET_API ZipReader {
 public:
  // Errors: no archive, damaged tables, entries that overlap or lie beyond the end, names that appear twice.
  ZipReader(const ByteSource& source, const std::string& file);
  // Whether the bytes start as an archive does.
  static bool looks_like_zip(const ByteSource& source);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // The folder that the first entry lies in, without its slash: the one of all entries in the archives that PyTorch and Cresset write.
  const std::string& folder() const { return folder_; }
  // The name of an entry within the folder; empty for one that lies elsewhere.
  std::string_view inside(const ZipEntry& entry) const;
  // `name` within the folder; null if there is none.
  const ZipEntry* find(const std::string& name) const;
  // The content. Errors: it is compressed (with `inflate` only otherwise than by deflate) or its checksum is wrong.
  std::string read(const ZipEntry& entry, bool inflate = false) const;
  void check_stored(const ZipEntry& entry) const;
  // The first bytes of the content, as many as there are up to `size`, without a look at the checksum.
  std::string head(const ZipEntry& entry, size_t size) const;

 private:
  CRESSET_LOCAL void read_directory(uint64_t offset, uint64_t size, uint64_t count);

  const ByteSource& source_;
  std::string file_, folder_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace cresset::io
