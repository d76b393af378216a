#include "cresset/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cresset/base/error.h"

namespace cresset::io {

namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;
constexpr uint64_t kFlushed = uint64_t{8} << 20;

// The temporary file; removed unless it was moved into place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target) {
    struct stat old;
    const bool exists = stat(target.c_str(), &old) == 0;
    // The target of a link is replaced, not the link; it may not be there yet.
    if (char* real = realpath(target.c_str(), nullptr)) {
      target_ = real;
      free(real);
    } else {
      char to[4096];
      const ssize_t n = readlink(target.c_str(), to, sizeof to);
      if (n > 0 && n < static_cast<ssize_t>(sizeof to))
        target_ = (to[0] == '/' ? "" : target.substr(0, target.rfind('/') + 1)) + std::string(to, static_cast<size_t>(n));
    }
    const std::string pattern = target_ + ".XXXXXX";
    name_.assign(pattern.begin(), pattern.end());
    name_.push_back(0);
    direct_ = exists && !S_ISREG(old.st_mode);
    if (!direct_) descriptor_ = mkstemp(name_.data());
    // Pipes and devices, and files in a folder where none may be created, are written as they stand.
    if (direct_ || (descriptor_ < 0 && exists && errno == EACCES)) {
      direct_ = true;
      descriptor_ = open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    }
    CRESSET_CHECK(descriptor_ >= 0, "save: cannot create '", target, "': ", std::strerror(errno));
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!moved_ && !direct_) unlink(name_.data());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const void* data, size_t size) {
    const char* p = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t n = ::write(descriptor_, p, std::min(size, kMaxTransfer));
      if (n < 0 && errno == EINTR) continue;
      CRESSET_CHECK(n > 0, "save: cannot write '", target_, "': ", std::strerror(errno));
      p += n;
      size -= static_cast<size_t>(n);
      written_ += static_cast<uint64_t>(n);
    }
    // The disk starts on what is there while the rest is being made, so that there is little to wait for in the end.
    if (!direct_ && written_ - flushed_ >= kFlushed) {
      sync_file_range(descriptor_, static_cast<off_t>(flushed_), static_cast<off_t>(written_ - flushed_), SYNC_FILE_RANGE_WRITE);
      flushed_ = written_;
    }
  }

  void move_into_place() {
    if (direct_) return;
    // mkstemp made it private: give it the rights that a plain new file gets, or those of the file that it replaces.
    struct stat old;
    const mode_t mask = umask(0);
    umask(mask);
    const mode_t mode = stat(target_.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
    CRESSET_CHECK(fchmod(descriptor_, mode) == 0, "save: cannot set the rights of '", target_, "': ", std::strerror(errno));
    CRESSET_CHECK(fsync(descriptor_) == 0, "save: cannot write '", target_, "' to disk: ", std::strerror(errno));
    const int closed = close(descriptor_);
    descriptor_ = -1;
    CRESSET_CHECK(closed == 0, "save: cannot write '", target_, "': ", std::strerror(errno));
    CRESSET_CHECK(rename(name_.data(), target_.c_str()) == 0, "save: cannot replace '", target_, "': ", std::strerror(errno));
    moved_ = true;
    const size_t slash = target_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
    const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;
    fsync(opened);
    close(opened);
  }

 private:
  std::string target_;
  std::vector<char> name_;
  int descriptor_ = -1;
  uint64_t written_ = 0, flushed_ = 0;
  bool moved_ = false, direct_ = false;
};

}  // namespace

void write_file_atomically(const std::string& path, const std::function<void(const WriteBytes&)>& produce) {
  TemporaryFile file(path);
  produce([&](const void* data, size_t size) { file.write(data, size); });
  file.move_into_place();
}

ReadableFile::ReadableFile(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CRESSET_CHECK(descriptor_ >= 0, "load: cannot open '", path, "': ", std::strerror(errno));
  measure();
}
ReadableFile::ReadableFile(int descriptor, const std::string& path) : path_(path), descriptor_(descriptor) { measure(); }
void ReadableFile::measure() {
  struct stat info;
  const bool regular = fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) {
    close(descriptor_);
    CRESSET_CHECK(false, "load: '", path_, "' is not a regular file");
  }
  size_ = static_cast<uint64_t>(info.st_size);
}
ReadableFile::~ReadableFile() { close(descriptor_); }

void ReadableFile::read(uint64_t offset, void* to, size_t size) const {
  CRESSET_CHECK(offset <= size_ && size <= size_ - offset, "load: '", path_, "' is truncated, got ", size_, " bytes, expected at least ", offset + size);
  char* p = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = pread(descriptor_, p, std::min(size, kMaxTransfer), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    CRESSET_CHECK(n > 0, "load: cannot read '", path_, "': ", n < 0 ? std::strerror(errno) : "it became shorter meanwhile");
    p += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

std::shared_ptr<char> ReadableFile::map(bool shared) const {
  const size_t size = static_cast<size_t>(size_);
  void* p = mmap(nullptr, std::max<size_t>(size, 1), PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, descriptor_, 0);
  CRESSET_CHECK(p != MAP_FAILED, "load: cannot map '", path_, "': ", std::strerror(errno));
  return std::shared_ptr<char>(static_cast<char*>(p), [size](char* q) { munmap(q, std::max<size_t>(size, 1)); });
}

}  // namespace cresset::io
