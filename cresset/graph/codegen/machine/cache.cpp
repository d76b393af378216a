#include "cresset/graph/codegen/machine/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace cresset::graph::machine {

namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'C', 'R', 'S', 'C', 'O', 'D', 'E', '1'};
constexpr int64_t kLimit = int64_t{256} << 20, kLargest = int64_t{16} << 20;

struct Header {
  char magic[8];
  uint64_t key_size, image_size, checksum;  // of key and image
};

// Fowler, Noll and Vo's, from two starts where 128 bits are needed.
uint64_t hash(const std::string& bytes, uint64_t h = 0xcbf29ce484222325u) {
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h ^ (h >> 31);
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

bool read_all(int fd, char* to, size_t size) {
  while (size) {
    const ssize_t n = ::read(fd, to, size);
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}
bool write_all(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

std::string sealed(const std::string& key, const std::string& image) {
  Header header{{}, key.size(), image.size(), hash(key + image)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + key + image;
}
std::optional<std::pair<std::string, std::string>> opened(const std::string& bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t rest = bytes.size() - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.image_size > rest || header.key_size != rest - header.image_size) return std::nullopt;
  if (hash(bytes.substr(sizeof header)) != header.checksum) return std::nullopt;
  return std::pair(bytes.substr(sizeof header, header.key_size), bytes.substr(sizeof header + header.key_size));
}

const Cache& Cache::of_user() {
  static const Cache* const cache = [] {
    const char *set = std::getenv("CRESSET_CODE_CACHE"), *bytes = std::getenv("CRESSET_CODE_CACHE_BYTES");
    std::string folder = set ? (std::strcmp(set, "0") ? set : "") : "";
    if (!set) {
      const char *cache_home = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
      if (cache_home && *cache_home) folder = std::string(cache_home) + "/cresset/code";
      else if (home && *home) folder = std::string(home) + "/.cache/cresset/code";
    }
    const int64_t limit = bytes ? std::strtoll(bytes, nullptr, 10) : kLimit;
    return new Cache(folder, limit);
  }();
  return *cache;
}

std::string Cache::name_of(const std::string& key) {
  char name[48];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(hash(key)),
                static_cast<unsigned long long>(hash(key, 0x9e3779b97f4a7c15u)));
  return name;
}
std::string Cache::path(const std::string& key) const { return folder_ + "/" + name_of(key) + ".code"; }

std::optional<std::string> Cache::read(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const File file(::open(path(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts;
  if (!file || ::fstat(file.get(), &facts) != 0 || facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH))) return std::nullopt;
  if (!S_ISREG(facts.st_mode) || facts.st_size > kLargest) return std::nullopt;
  std::string bytes(static_cast<size_t>(facts.st_size), '\0');
  if (!read_all(file.get(), bytes.data(), bytes.size())) return std::nullopt;
  auto found = opened(bytes);
  if (!found || found->first != key) return std::nullopt;
  ::futimens(file.get(), nullptr);  // the oldest are removed first
  return std::move(found->second);
}

void Cache::write(const std::string& key, const std::string& image) const {
  if (folder_.empty() || static_cast<int64_t>(key.size() + image.size()) > std::min(limit_, kLargest - int64_t{64})) return;
  std::error_code error;
  // A folder that is there keeps the rights that its owner gave it.
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  // Complete before it has its name, so that other processes see all of it or nothing.
  std::string temporary = folder_ + "/new.XXXXXX";
  const File file(::mkstemp(temporary.data()));
  if (!file) return;
  const bool written = write_all(file.get(), sealed(key, image));
  if (!written || ::rename(temporary.c_str(), path(key).c_str()) != 0) ::unlink(temporary.c_str());
  else shrink();
}

void Cache::shrink() const {
  struct Known {
    fs::file_time_type used;
    int64_t size;
    fs::path path;
  };
  std::vector<Known> files;
  int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const auto used = at->last_write_time(gone);
    // Left by a process that was killed while it wrote.
    if (!gone && at->path().stem() == "new" && used < fs::file_time_type::clock::now() - std::chrono::hours(1)) fs::remove(at->path(), gone);
    if (at->path().extension() != ".code") continue;
    const auto size = static_cast<int64_t>(at->file_size(gone));
    if (gone) continue;
    files.push_back({used, size, at->path()});
    total += size;
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const Known& a, const Known& b) { return a.used < b.used; });
  for (const Known& f : files) {
    if (total <= limit_) return;
    fs::remove(f.path, error);
    total -= f.size;
  }
}

}  // namespace cresset::graph::machine
