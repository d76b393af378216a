// The file holds keys and values, each after its length as eight bytes. Whoever holds the lock reads all and may write all.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "cresset/dist/store/store.h"
#include "cresset/dist/store/table.h"

namespace cresset::distributed {

namespace {

using Clock = std::chrono::steady_clock;

// Names of ours, which no key of a user has: those begin with '+'.
constexpr const char *kUsers = "=users", *kLeft = "=left";

std::string marked(const std::string& key) { return str('+', key); }
std::vector<std::string> marked(std::vector<std::string> keys) {
  for (std::string& key : keys) key = marked(key);
  return keys;
}

// The file, locked. A writer puts a new file in its place, so that one who waited for the lock of an old one opens again.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : path_(path) {
    for (struct stat own{}, named{};;) {
      fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      check(fd_ >= 0, "open");
      check(flock(fd_, LOCK_EX) == 0 && fstat(fd_, &own) == 0, "lock");
      if (stat(path.c_str(), &named) == 0 && own.st_ino == named.st_ino && own.st_dev == named.st_dev) return;
      close(fd_);
    }
  }
  ~LockedFile() { close(fd_); }
  LockedFile(const LockedFile&) = delete;

  Table read() const {
    struct stat s {};
    check(fstat(fd_, &s) == 0, "read");
    std::string bytes(static_cast<size_t>(s.st_size), '\0');
    check(pread(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "read");
    Table table;
    size_t at = 0;
    auto text = [&] {
      uint64_t size = 0;
      check_whole(bytes.size() - at >= sizeof size);
      std::memcpy(&size, bytes.data() + at, sizeof size);
      at += sizeof size;
      check_whole(size <= bytes.size() - at);
      at += size;
      return bytes.substr(at - size, size);
    };
    while (at < bytes.size()) {
      const std::string key = text();
      table.values[key] = text();
    }
    return table;
  }

  // The new content takes the place of the old when it is whole: a full disk or a kill leaves the old one.
  void write(const Table& table) const {
    std::string bytes;
    for (const auto& [key, value] : table.values)
      for (const std::string* part : {&key, &value}) {
        const uint64_t size = part->size();
        bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
        bytes += *part;
      }
    const std::string beside = path_ + ".new";
    const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check(fd >= 0, "write");
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    const int error = written < 0 ? errno : ENOSPC;
    close(fd);
    if (written != static_cast<ssize_t>(bytes.size()) || rename(beside.c_str(), path_.c_str()) != 0) {
      if (written != static_cast<ssize_t>(bytes.size())) errno = error;
      const int reason = errno;
      unlink(beside.c_str());
      errno = reason;
      check(false, "write");
    }
  }

 private:
  void check(bool done, const char* what) const {
    CRESSET_CHECK_AS(DistStoreError, done, "store: cannot ", what, " the file '", path_, "': ", std::strerror(errno));
  }
  void check_whole(bool whole) const { CRESSET_CHECK_AS(DistStoreError, whole, "store: the file '", path_, "' is not one of a store, or damaged"); }

  const std::string& path_;
  int fd_ = -1;
};

}  // namespace

template <class F> auto FileStore::read(F&& f) -> decltype(f(std::declval<Table&>())) {
  Table table = LockedFile(path_).read();
  return f(table);
}
template <class F> auto FileStore::change(F&& f) -> decltype(f(std::declval<Table&>())) {
  const LockedFile file(path_);
  Table table = file.read();
  const auto result = f(table);
  file.write(table);
  return result;
}

FileStore::FileStore(std::string path, int64_t num_workers, Timeout timeout) : Store(timeout), path_(std::move(path)), num_workers_(num_workers) {
  change([](Table& t) { return t.add(kUsers, 1); });
}
FileStore::~FileStore() {
  try {
    const int64_t left = change([](Table& t) { return t.add(kLeft, 1); });
    if (num_workers_ >= 0 ? left == num_workers_ : left == read([](Table& t) { return t.add(kUsers, 0); })) unlink(path_.c_str());
  } catch (const std::exception&) {}
}

void FileStore::set(const std::string& key, const Bytes& value) {
  change([&](Table& t) { return (t.values[marked(key)] = to_text(value)).size(); });
}
Bytes FileStore::get(const std::string& key) {
  wait({key}, timeout_);
  return read([&](Table& t) { return to_bytes(t.values[marked(key)]); });
}
int64_t FileStore::add(const std::string& key, int64_t amount) {
  return change([&](Table& t) { return t.add(marked(key), amount); });
}
Bytes FileStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return change([&](Table& t) { return to_bytes(t.compare_set(marked(key), to_text(expected), to_text(desired))); });
}
bool FileStore::check(const std::vector<std::string>& keys) {
  return read([&](Table& t) { return t.has(marked(keys)); });
}
bool FileStore::deleteKey(const std::string& key) {
  change([&](Table& t) { return t.erase(marked(key)); });
  return true;  // as PyTorch's, whether the key was there or not
}
std::vector<std::string> FileStore::listKeys() {
  return read([&](Table& t) {
    std::vector<std::string> own;
    for (const std::string& key : t.keys())
      if (key[0] == '+') own.push_back(key.substr(1));
    return own;
  });
}
int64_t FileStore::getNumKeys() { return static_cast<int64_t>(listKeys().size()); }
void FileStore::wait(const std::vector<std::string>& keys, const Timeout& timeout) {
  const auto end = after(timeout);
  auto pause = std::chrono::microseconds(200);
  while (!check(keys)) {
    if (Clock::now() >= end) throw_missing(keys, timeout.count(), [&](const std::string& key) { return check({key}); });
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
  }
}
intrusive_ptr<Store> FileStore::clone() { return make_intrusive<FileStore>(path_, num_workers_, timeout_); }

}  // namespace cresset::distributed
