// The file holds keys and values, each after its length as eight bytes. Whoever holds the lock reads all and may write all. Queues and leases are values of keys
// with a mark of their own; the ends of leases are moments of the system's clock, which all processes of a host share.

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
constexpr const char *kUsers = "=users", *kLeft = "=left", *kLastLease = "=lease";
constexpr char kQueue = 'q', kLease = 'l';

int64_t system_time() { return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void put_text(std::string& bytes, const std::string& text) {
  const uint64_t size = text.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
}

// The texts of a row. `check_whole(false)` raises.
template <class Check> std::vector<std::string> texts_of(const std::string& bytes, Check&& check_whole) {
  std::vector<std::string> all;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    check_whole(bytes.size() - at >= sizeof size);
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size;
    check_whole(size <= bytes.size() - at);
    all.push_back(bytes.substr(at, size));
    at += size;
  }
  return all;
}

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
    const auto whole = [&](bool is) { check_whole(is); };
    const std::vector<std::string> texts = texts_of(bytes, whole);
    check_whole(texts.size() % 2 == 0);
    auto number = [&](const std::string& text) {
      char* end = nullptr;
      const int64_t n = std::strtoll(text.c_str(), &end, 10);
      check_whole(!text.empty() && *end == '\0');
      return n;
    };
    Table table;
    for (size_t i = 0; i < texts.size(); i += 2) {
      const std::string &key = texts[i], &value = texts[i + 1];
      if (key[0] == kQueue) {
        const std::vector<std::string> entries = texts_of(value, whole);
        table.queues[key.substr(1)] = {entries.begin(), entries.end()};
      } else if (key[0] == kLease) {
        const std::vector<std::string> facts = texts_of(value, whole);
        check_whole(facts.size() == 3);
        table.leases[key.substr(1)] = {facts[0], number(facts[1]), after(std::chrono::milliseconds(number(facts[2]) - system_time()))};
      } else if (key == kLastLease) {
        table.last_lease = number(value);
      } else {
        table.values[key] = value;
      }
    }
    return table;
  }

  // The new content takes the place of the old when it is whole: a full disk or a kill leaves the old one.
  void write(const Table& table) const {
    std::string bytes;
    auto put = [&](const std::string& key, const std::string& value) {
      put_text(bytes, key);
      put_text(bytes, value);
    };
    for (const auto& [key, value] : table.values) put(key, value);
    for (const auto& [name, entries] : table.queues) {
      std::string row;
      for (const std::string& e : entries) put_text(row, e);
      put(kQueue + name, row);
    }
    for (const auto& [name, lease] : table.leases) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(lease.end - Clock::now()).count();
      std::string row;
      put_text(row, lease.owner);
      put_text(row, std::to_string(lease.number));
      put_text(row, std::to_string(system_time() + left));
      put(kLease + name, row);
    }
    if (table.last_lease) put(kLastLease, std::to_string(table.last_lease));
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
void FileStore::append(const std::string& key, const Bytes& value) {
  change([&](Table& t) { return (t.values[marked(key)] += to_text(value)).size(); });
}
std::vector<Bytes> FileStore::multiGet(const std::vector<std::string>& keys) {
  wait(keys, timeout_);
  return read([&](Table& t) {
    std::vector<Bytes> all;
    for (const std::string& key : keys) all.push_back(to_bytes(t.values[marked(key)]));
    return all;
  });
}
void FileStore::multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) {
  CRESSET_CHECK_VALUE(keys.size() == values.size(), "store: multi_set: expected as many values as keys, got ", values.size(), " and ", keys.size());
  change([&](Table& t) {
    for (size_t i = 0; i < keys.size(); i++) t.values[marked(keys[i])] = to_text(values[i]);
    return true;
  });
}
void FileStore::queuePush(const std::string& key, const Bytes& value) {
  change([&](Table& t) {
    t.queues[marked(key)].push_back(to_text(value));
    return true;
  });
}
Bytes FileStore::queuePop(const std::string& key, bool block) {
  const auto end = after(timeout_);
  auto pause = std::chrono::microseconds(200);
  for (std::string value;;) {
    // Looking takes the lock as well, but does not write.
    if (queueLen(key) > 0 && change([&](Table& t) { return t.pop(marked(key), value); })) return to_bytes(value);
    CRESSET_CHECK_AS(DistQueueEmptyError, block && Clock::now() < end, "store: the queue '", key, "' is empty",
                     block ? str(", waited ", timeout_.count(), " ms") : std::string());
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
  }
}
int64_t FileStore::queueLen(const std::string& key) {
  return read([&](Table& t) { return t.length(marked(key)); });
}
int64_t FileStore::acquireLease(const std::string& name, const std::string& owner, Timeout time) {
  return change([&](Table& t) { return t.acquire(name, owner, time); });
}
bool FileStore::releaseLease(const std::string& name, const std::string& owner) {
  return change([&](Table& t) { return t.release(name, owner); });
}
intrusive_ptr<Store> FileStore::clone() { return make_intrusive<FileStore>(path_, num_workers_, timeout_); }

}  // namespace cresset::distributed
