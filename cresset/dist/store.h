#pragma once
// Key-value stores by which processes find each other and agree. Values are bytes.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::distributed {

class CRESSET_API Store {
 public:
  using Timeout = std::chrono::milliseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::minutes(5);

  explicit Store(Timeout timeout) : timeout_(timeout) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits for the key. Errors: it has not appeared in time.
  virtual std::string get(const std::string& key) = 0;
  // Adds to the number that the key holds as text, 0 where there is none; the sum.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  // Sets `desired` where the key holds `expected`, or where `expected` is empty and there is no key; what the key holds then.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;
  virtual bool check(const std::vector<std::string>& keys) = 0;
  // Whether there was such a key.
  virtual bool delete_key(const std::string& key) = 0;
  virtual int64_t num_keys() = 0;
  // Errors: not all keys have appeared in time.
  virtual void wait(const std::vector<std::string>& keys, Timeout timeout) = 0;
  // The address by which other processes of the store reach this one.
  virtual std::string own_host() { return "127.0.0.1"; }

  Timeout timeout() const { return timeout_; }
  virtual void set_timeout(Timeout timeout) { timeout_ = timeout; }

 protected:
  Timeout timeout_;
};

// For the threads of one process.
CRESSET_API std::shared_ptr<Store> make_hash_store(Store::Timeout timeout = Store::kDefaultTimeout);
// In a file that all processes reach. A negative `world_size` is unknown; the last of `world_size` stores to close removes the
// file.
CRESSET_API std::shared_ptr<Store> make_file_store(const std::string& path, int64_t world_size, Store::Timeout timeout = Store::kDefaultTimeout);
// Another store whose keys all begin with `prefix` and a slash.
CRESSET_API std::shared_ptr<Store> make_prefix_store(const std::string& prefix, std::shared_ptr<Store> store);

// A server in the process of the master, clients everywhere.
struct CRESSET_API TCPStoreOptions {
  std::string host;
  uint16_t port = 29500;  // 0, for a master: one that is free
  bool is_master = false;
  int64_t world_size = -1;  // where positive, the master waits for so many clients
  bool wait_for_workers = true;
  Store::Timeout timeout = Store::kDefaultTimeout;
};
class CRESSET_API TCPStore : public Store {
 public:
  explicit TCPStore(const TCPStoreOptions& options);
  ~TCPStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool check(const std::vector<std::string>& keys) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  void wait(const std::vector<std::string>& keys, Timeout timeout) override;
  std::string own_host() override;

  const std::string& host() const;
  uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cresset::distributed
