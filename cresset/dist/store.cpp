#include "cresset/dist/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <thread>

#include "cresset/dist/table.h"

namespace cresset::distributed {

namespace {

using Clock = std::chrono::steady_clock;

class HashStore : public Store {
 public:
  using Store::Store;
  void set(const std::string& key, const std::string& value) override {
    change([&] { table_.values[key] = value; });
  }
  std::string get(const std::string& key) override {
    wait({key}, timeout_);
    const std::lock_guard<std::mutex> lock(mutex_);
    return table_.values[key];
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return change([&] { return table_.add(key, amount); });
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    return change([&] { return table_.compare_set(key, expected, desired); });
  }
  bool check(const std::vector<std::string>& keys) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return table_.has(keys);
  }
  bool delete_key(const std::string& key) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return table_.values.erase(key) > 0;
  }
  int64_t num_keys() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(table_.values.size());
  }
  void wait(const std::vector<std::string>& keys, Timeout timeout) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return table_.has(keys); })) throw_missing(keys, table_, timeout.count());
  }

 private:
  template <class F> auto change(F&& f) -> decltype(f()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
    return f();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Table table_;
};

// The file holds keys and values, each after its length as eight bytes. Whoever holds the lock reads all and may write all.
class FileStore : public Store {
 public:
  FileStore(std::string path, int64_t world_size, Timeout timeout) : Store(timeout), path_(std::move(path)), world_size_(world_size) {
    with_table([&](Table& t) { return t.add(kUsers, 1) > 0; });
  }
  ~FileStore() override {
    try {
      bool last = false;
      with_table([&](Table& t) {
        last = t.add(kLeft, 1) == world_size_;
        return true;
      });
      if (last) unlink(path_.c_str());
    } catch (const std::exception&) {}
  }
  void set(const std::string& key, const std::string& value) override {
    with_table([&](Table& t) {
      t.values["+" + key] = value;
      return true;
    });
  }
  std::string get(const std::string& key) override {
    wait({key}, timeout_);
    std::string value;
    with_table([&](Table& t) {
      value = t.values["+" + key];
      return false;
    });
    return value;
  }
  int64_t add(const std::string& key, int64_t amount) override {
    int64_t sum = 0;
    with_table([&](Table& t) {
      sum = t.add("+" + key, amount);
      return true;
    });
    return sum;
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    std::string now;
    with_table([&](Table& t) {
      now = t.compare_set("+" + key, expected, desired);
      return true;
    });
    return now;
  }
  bool check(const std::vector<std::string>& keys) override {
    bool all = false;
    with_table([&](Table& t) {
      all = t.has(marked(keys));
      return false;
    });
    return all;
  }
  bool delete_key(const std::string& key) override {
    bool erased = false;
    with_table([&](Table& t) { return erased = t.values.erase("+" + key) > 0; });
    return erased;
  }
  int64_t num_keys() override {
    int64_t count = 0;
    with_table([&](Table& t) {
      for (const auto& [key, value] : t.values) count += key[0] == '+';
      return false;
    });
    return count;
  }
  void wait(const std::vector<std::string>& keys, Timeout timeout) override {
    const auto end = Clock::now() + timeout;
    while (!check(keys)) {
      if (Clock::now() >= end) throw_missing(keys, Table(), timeout.count());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  // Names of ours, which no key of a user has: those begin with '+'.
  static constexpr const char *kUsers = "=users", *kLeft = "=left";

  static std::vector<std::string> marked(std::vector<std::string> keys) {
    for (std::string& key : keys) key.insert(0, "+");
    return keys;
  }

  // `f` returns whether it has changed the table.
  void with_table(const std::function<bool(Table&)>& f) {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    CRESSET_CHECK(fd >= 0, "store: cannot open the file '", path_, "': ", std::strerror(errno));
    const struct Closed {
      int fd;
      ~Closed() { close(fd); }
    } closed{fd};
    CRESSET_CHECK(flock(fd, LOCK_EX) == 0, "store: cannot lock the file '", path_, "': ", std::strerror(errno));
    Table table = read_table(fd);
    if (f(table)) write_table(fd, table);
  }

  Table read_table(int fd) const {
    struct stat s {};
    CRESSET_CHECK(fstat(fd, &s) == 0, "store: cannot read the file '", path_, "': ", std::strerror(errno));
    std::string bytes(static_cast<size_t>(s.st_size), '\0');
    CRESSET_CHECK(pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "store: cannot read the file '", path_, "'");
    size_t at = 0;
    auto text = [&] {
      uint64_t size = 0;
      CRESSET_CHECK(bytes.size() - at >= sizeof size, "store: the file '", path_, "' is not one of a store, or damaged");
      std::memcpy(&size, bytes.data() + at, sizeof size);
      at += sizeof size;
      CRESSET_CHECK(size <= bytes.size() - at, "store: the file '", path_, "' is not one of a store, or damaged");
      at += size;
      return bytes.substr(at - size, size);
    };
    Table table;
    while (at < bytes.size()) {
      const std::string key = text();
      table.values[key] = text();
    }
    return table;
  }
  void write_table(int fd, const Table& table) const {
    std::string bytes;
    for (const auto& [key, value] : table.values)
      for (const std::string* part : {&key, &value}) {
        const uint64_t size = part->size();
        bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
        bytes += *part;
      }
    const bool written =
        pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) && ftruncate(fd, static_cast<off_t>(bytes.size())) == 0;
    CRESSET_CHECK(written, "store: cannot write the file '", path_, "': ", std::strerror(errno));
  }

  std::string path_;
  int64_t world_size_;
};

class PrefixStore : public Store {
 public:
  PrefixStore(const std::string& prefix, std::shared_ptr<Store> store) : Store(store->timeout()), prefix_(prefix + "/"), store_(std::move(store)) {}
  void set(const std::string& key, const std::string& value) override { store_->set(prefix_ + key, value); }
  std::string get(const std::string& key) override { return store_->get(prefix_ + key); }
  int64_t add(const std::string& key, int64_t amount) override { return store_->add(prefix_ + key, amount); }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    return store_->compare_set(prefix_ + key, expected, desired);
  }
  bool check(const std::vector<std::string>& keys) override { return store_->check(prefixed(keys)); }
  bool delete_key(const std::string& key) override { return store_->delete_key(prefix_ + key); }
  int64_t num_keys() override { return store_->num_keys(); }
  void wait(const std::vector<std::string>& keys, Timeout timeout) override { store_->wait(prefixed(keys), timeout); }
  std::string own_host() override { return store_->own_host(); }
  void set_timeout(Timeout timeout) override {
    Store::set_timeout(timeout);
    store_->set_timeout(timeout);
  }

 private:
  std::vector<std::string> prefixed(std::vector<std::string> keys) const {
    for (std::string& key : keys) key.insert(0, prefix_);
    return keys;
  }
  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_hash_store(Store::Timeout timeout) { return std::make_shared<HashStore>(timeout); }
std::shared_ptr<Store> make_file_store(const std::string& path, int64_t world_size, Store::Timeout timeout) {
  return std::make_shared<FileStore>(path, world_size, timeout);
}
std::shared_ptr<Store> make_prefix_store(const std::string& prefix, std::shared_ptr<Store> store) {
  CRESSET_CHECK(store, "PrefixStore: expected a store, got none");
  return std::make_shared<PrefixStore>(prefix, std::move(store));
}

}  // namespace cresset::distributed
