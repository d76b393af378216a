#include "cresset/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/io/crc.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the readers and writers of files assume little-endian numbers"
#endif

namespace cresset::io {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDescriptor = 0x08074b50, kDirectoryHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30, kDirectorySize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint16_t kZip64Field = 1, kPaddingField = 0x4246;
constexpr uint16_t kFlags = 0x0808;  // sizes follow the data; names are UTF-8
constexpr uint16_t kDate = 0x21;     // 1980-01-01
constexpr size_t kAlignment = 64;
// A part is summed and then written, so that it is still in the cache.
constexpr size_t kPart = size_t{1} << 19;

template <class... Fields> void append(std::string& to, Fields... fields) { (to.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...); }
template <class T> T field(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

void MemorySource::read(uint64_t offset, void* to, size_t size) const {
  CRESSET_CHECK(offset <= size_ && size <= size_ - offset, "load: the data is truncated, got ", size_, " bytes, expected at least ", offset + size);
  if (size) std::memcpy(to, data_ + offset, size);
}

void ZipWriter::put(const void* data, size_t size) {
  if (size) write_(data, size);
  at_ += size;
}

void ZipWriter::add(std::string_view name, const void* data, size_t size, bool checksum) {
  Entry entry{(folder_.empty() ? "" : folder_ + "/") + std::string(name), at_, size, 0};
  CRESSET_CHECK(entry.name.size() < 0x10000, "save: the name of an entry is too long");
  const bool large = size >= limit_;
  std::string header;
  // The padding field is what puts the data where it belongs; its own head takes four bytes.
  size_t extra = large ? 20 : 0;
  const size_t before = static_cast<size_t>(at_ % kAlignment) + kLocalSize + entry.name.size() + extra;
  const size_t padding = (kAlignment - (before + 4) % kAlignment) % kAlignment;
  extra += 4 + padding;
  const uint32_t size32 = large ? 0xffffffff : 0;
  append(header, kLocalHeader, static_cast<uint16_t>(large ? 45 : 20), kFlags, uint16_t{0}, uint16_t{0}, kDate, uint32_t{0}, size32, size32,
         static_cast<uint16_t>(entry.name.size()), static_cast<uint16_t>(extra));
  header += entry.name;
  if (large) append(header, kZip64Field, uint16_t{16}, uint64_t{0}, uint64_t{0});
  append(header, kPaddingField, static_cast<uint16_t>(padding));
  header.append(padding, 'Z');
  put(header);
  for (size_t done = 0; done < size;) {
    const size_t n = std::min(kPart, size - done);
    const char* part = static_cast<const char*>(data) + done;
    if (checksum) entry.crc = add_to_crc(entry.crc, part, n);
    put(part, n);
    done += n;
  }
  std::string descriptor;
  append(descriptor, kDescriptor, entry.crc);
  if (large) append(descriptor, uint64_t{size}, uint64_t{size});
  else append(descriptor, static_cast<uint32_t>(size), static_cast<uint32_t>(size));
  put(descriptor);
  checksum_ = add_to_crc(checksum_, &entry.crc, sizeof entry.crc);
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const uint64_t start = at_;
  for (const Entry& e : entries_) {
    std::string extra;
    if (e.size >= limit_) append(extra, e.size, e.size);
    if (e.offset >= limit_) append(extra, e.offset);
    const uint32_t size = e.size >= limit_ ? 0xffffffff : static_cast<uint32_t>(e.size);
    const uint32_t offset = e.offset >= limit_ ? 0xffffffff : static_cast<uint32_t>(e.offset);
    const uint16_t needs = extra.empty() ? 20 : 45;
    std::string header;
    append(header, kDirectoryHeader, needs, needs, kFlags, uint16_t{0}, uint16_t{0}, kDate, e.crc, size, size, static_cast<uint16_t>(e.name.size()),
           static_cast<uint16_t>(extra.empty() ? 0 : extra.size() + 4), uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, offset);
    header += e.name;
    if (!extra.empty()) append(header, kZip64Field, static_cast<uint16_t>(extra.size()));
    put(header + extra);
  }
  const uint64_t end = at_, size = end - start, count = entries_.size();
  const bool large = count >= 0xffff || start >= limit_ || size >= limit_;
  std::string tail;
  if (large) {
    append(tail, kEnd64, uint64_t{kEnd64Size - 12}, uint16_t{45}, uint16_t{45}, uint32_t{0}, uint32_t{0}, count, count, size, start);
    append(tail, kLocator64, uint32_t{0}, end, uint32_t{1});
  }
  const uint16_t count16 = count >= 0xffff ? 0xffff : static_cast<uint16_t>(count);
  append(tail, kEnd, uint16_t{0}, uint16_t{0}, count16, count16, size >= limit_ ? 0xffffffff : static_cast<uint32_t>(size),
         start >= limit_ ? 0xffffffff : static_cast<uint32_t>(start), uint16_t{0});
  put(tail);
}

namespace {
template <class... Parts> [[noreturn]] void damaged(const std::string& file, const Parts&... parts) {
  cresset::detail::throw_error<Error>(
      cresset::str("load: '", file, "' is a damaged zip archive: ", parts..., "; it may have been written or copied only in part"));
}
}  // namespace

bool ZipReader::looks_like_zip(const ByteSource& source) {
  char start[4];
  if (source.size() < sizeof start) return false;
  source.read(0, start, sizeof start);
  return field<uint32_t>(start) == kLocalHeader;
}

ZipReader::ZipReader(const ByteSource& source, const std::string& file) : source_(source), file_(file) {
  const uint64_t total = source.size();
  if (total < kEndSize) damaged(file, "got ", total, " bytes");
  // The end record is followed by a comment of at most 65535 bytes.
  const size_t tail_size = static_cast<size_t>(std::min<uint64_t>(total, kEndSize + 0xffff));
  std::string tail(tail_size, 0);
  source.read(total - tail_size, tail.data(), tail_size);
  size_t at = tail_size - kEndSize + 1;
  bool found = false;
  while (at-- > 0 && !found) found = field<uint32_t>(&tail[at]) == kEnd;
  if (!found) damaged(file, "it has no central directory");
  at++;
  const char* end = &tail[at];
  uint64_t count = field<uint16_t>(end + 10), size = field<uint32_t>(end + 12), offset = field<uint32_t>(end + 16);
  if (field<uint16_t>(end + 4) != 0 && field<uint16_t>(end + 4) != 0xffff) damaged(file, "it is part of a set of several");
  uint64_t limit = total - tail_size + at;
  if (limit >= kLocator64Size) {
    char locator[kLocator64Size], record[kEnd64Size];
    source.read(limit - kLocator64Size, locator, kLocator64Size);
    if (field<uint32_t>(locator) == kLocator64) {
      const uint64_t where = field<uint64_t>(locator + 8);
      if (limit - kLocator64Size < kEnd64Size || where > limit - kLocator64Size - kEnd64Size) damaged(file, "its zip64 record lies beyond the end");
      source.read(where, record, kEnd64Size);
      if (field<uint32_t>(record) != kEnd64) damaged(file, "its zip64 record is missing");
      count = field<uint64_t>(record + 32);
      size = field<uint64_t>(record + 40);
      offset = field<uint64_t>(record + 48);
      limit = where;
    }
  }
  if (offset > limit || size > limit - offset) damaged(file, "its central directory lies beyond the end");
  if (count > size / kDirectorySize) damaged(file, "its central directory cannot hold ", count, " entries");
  read_directory(offset, size, count);
}

void ZipReader::read_directory(uint64_t offset, uint64_t size, uint64_t count) {
  std::string directory(static_cast<size_t>(size), 0);
  source_.read(offset, directory.data(), directory.size());
  const char *p = directory.data(), *const stop = p + directory.size();
  for (uint64_t i = 0; i < count; i++) {
    if (static_cast<size_t>(stop - p) < kDirectorySize || field<uint32_t>(p) != kDirectoryHeader) damaged(file_, "its central directory is cut short");
    const size_t name = field<uint16_t>(p + 28), extra = field<uint16_t>(p + 30), comment = field<uint16_t>(p + 32);
    if (static_cast<size_t>(stop - p) - kDirectorySize < name + extra + comment) damaged(file_, "its central directory is cut short");
    ZipEntry entry;
    entry.name.assign(p + kDirectorySize, name);
    entry.crc = field<uint32_t>(p + 16);
    uint64_t packed = field<uint32_t>(p + 20);
    entry.size = field<uint32_t>(p + 24);
    entry.data_offset = field<uint32_t>(p + 42);
    const char *more = p + kDirectorySize + name, *const more_end = more + extra;
    while (more_end - more >= 4) {
      const size_t length = field<uint16_t>(more + 2);
      if (static_cast<size_t>(more_end - more) - 4 < length) break;
      if (field<uint16_t>(more) == kZip64Field) {
        const char *value = more + 4, *const value_end = value + length;
        for (uint64_t* wide : {&entry.size, &packed, &entry.data_offset}) {
          if (*wide != 0xffffffff) continue;
          if (value_end - value < 8) damaged(file_, "the sizes of '", entry.name, "' are missing");
          *wide = field<uint64_t>(value);
          value += 8;
        }
        break;
      }
      more += 4 + length;
    }
    const bool plain = field<uint16_t>(p + 10) == 0 && !(field<uint16_t>(p + 8) & 1);
    if (plain && packed != entry.size) damaged(file_, "the sizes of '", entry.name, "' do not agree");
    entry.stored = plain;
    entry.deflated = field<uint16_t>(p + 10) == 8 && !(field<uint16_t>(p + 8) & 1);
    entry.full_size = entry.size;
    if (!plain) entry.size = packed;
    if (!index_.emplace(entry.name, entries_.size()).second) damaged(file_, "'", entry.name, "' appears twice");
    p += kDirectorySize + name + extra + comment;
    entries_.push_back(std::move(entry));
  }
  if (!entries_.empty()) folder_ = entries_[0].name.substr(0, entries_[0].name.find('/'));
  // From headers to data: entries may neither reach into each other nor into the directory.
  std::vector<ZipEntry*> order;
  for (ZipEntry& e : entries_) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->data_offset < b->data_offset; });
  for (size_t i = 0; i < order.size(); i++) {
    ZipEntry& e = *order[i];
    const uint64_t stop_at = i + 1 < order.size() ? order[i + 1]->data_offset : offset;
    char header[kLocalSize];
    if (e.data_offset > stop_at || stop_at - e.data_offset < kLocalSize) damaged(file_, "'", e.name, "' lies beyond the end or in another entry");
    source_.read(e.data_offset, header, kLocalSize);
    const uint64_t skip = kLocalSize + uint64_t{field<uint16_t>(header + 26)} + field<uint16_t>(header + 28);
    if (field<uint32_t>(header) != kLocalHeader || field<uint16_t>(header + 26) != e.name.size()) damaged(file_, "'", e.name, "' has no header");
    if (skip > stop_at - e.data_offset || e.size > stop_at - e.data_offset - skip) damaged(file_, "'", e.name, "' lies beyond the end or in another entry");
    e.data_offset += skip;
  }
}

std::string_view ZipReader::inside(const ZipEntry& entry) const {
  const std::string_view name = entry.name;
  const size_t n = folder_.size();
  return name.size() > n && name.substr(0, n) == folder_ && name[n] == '/' ? name.substr(n + 1) : std::string_view();
}

const ZipEntry* ZipReader::find(const std::string& name) const {
  const auto found = index_.find(folder_ + "/" + name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void ZipReader::check_stored(const ZipEntry& entry) const {
  CRESSET_CHECK(entry.stored, "load: '", entry.name, "' in '", file_, "' is compressed or encrypted; checkpoints hold their data as it is");
}

namespace {
// The output grows with what comes out, so a small entry that claims to be large does not take memory for its claim. Ends early once there
// are `enough` bytes.
std::string inflated(const std::string& packed, uint64_t size, size_t enough, const std::string& file, const std::string& name) {
  std::string bytes;
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  size_t taken = 0;
  int result = Z_OK;
  char chunk[1 << 14];
  while (result == Z_OK && bytes.size() < enough) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
      stream.avail_in = static_cast<uInt>(std::min<size_t>(packed.size() - taken, size_t{1} << 30));
      taken += stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    result = inflate(&stream, Z_NO_FLUSH);
    bytes.append(chunk, sizeof chunk - stream.avail_out);
    if (bytes.size() > size) result = Z_DATA_ERROR;
  }
  if (bytes.size() >= enough && result == Z_OK) return bytes;
  if (result != Z_STREAM_END || bytes.size() != size) damaged(file, "'", name, "' cannot be decompressed");
  return bytes;
}
}  // namespace

std::string ZipReader::head(const ZipEntry& entry, size_t size) const {
  if (!entry.deflated) check_stored(entry);
  // Deflate does not make its input larger than by a few bytes.
  std::string bytes(static_cast<size_t>(std::min<uint64_t>(entry.size, entry.deflated ? size + 1024 : size)), 0);
  source_.read(entry.data_offset, bytes.data(), bytes.size());
  if (!entry.deflated) return bytes;
  bytes = inflated(bytes, entry.full_size, static_cast<size_t>(std::min<uint64_t>(size, entry.full_size)), file_, entry.name);
  bytes.resize(std::min(bytes.size(), size));
  return bytes;
}

std::string ZipReader::read(const ZipEntry& entry, bool inflate) const {
  const bool packed = inflate && entry.deflated;
  if (!packed) check_stored(entry);
  std::string bytes(static_cast<size_t>(entry.size), 0);
  source_.read(entry.data_offset, bytes.data(), bytes.size());
  if (packed) bytes = inflated(bytes, entry.full_size, SIZE_MAX, file_, entry.name);
  if (entry.crc != 0 && add_to_crc(0, bytes.data(), bytes.size()) != entry.crc) damaged(file_, "the checksum of '", entry.name, "' is wrong");
  return bytes;
}

}  // namespace cresset::io
