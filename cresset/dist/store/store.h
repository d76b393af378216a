#pragma once
// Key-value stores by which processes find each other and agree. Values are bytes; keys are text. Names are LibTorch's.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cresset/base/intrusive_ptr.h"
#include "cresset/dist/errors.h"

namespace cresset::distributed {

using Bytes = std::vector<uint8_t>;
inline Bytes to_bytes(const std::string& text) { return {text.begin(), text.end()}; }
inline std::string to_text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

class CRESSET_API Store : public RefCounted {
 public:
  using Timeout = std::chrono::milliseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::minutes(5);
  static constexpr Timeout kNoTimeout = Timeout::zero();

  Store() : timeout_(kDefaultTimeout) {}
  explicit Store(Timeout timeout) : timeout_(timeout) {}

  virtual void set(const std::string& key, const Bytes& value) = 0;
  void set(const std::string& key, const std::string& value) { set(key, to_bytes(value)); }
  // Waits for the key. Errors: DistStoreError where it has not appeared in time.
  virtual Bytes get(const std::string& key) = 0;
  std::string get_to_str(const std::string& key) { return to_text(get(key)); }
  // Adds to the number that the key holds as text, 0 where there is none; the sum. Errors: ValueError where it holds something else.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  // Sets `desired` where the key holds `expected`, or where `expected` is empty and there is no key; what the key holds then.
  virtual Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) = 0;
  std::string compareSet(const std::string& key, const std::string& expected, const std::string& desired) {
    return to_text(compareSet(key, to_bytes(expected), to_bytes(desired)));
  }
  virtual bool check(const std::vector<std::string>& keys) = 0;
  // Whether there was such a key; true from a FileStore.
  virtual bool deleteKey(const std::string& key) = 0;
  virtual int64_t getNumKeys() = 0;
  // Errors: DistStoreError where not all keys have appeared in time.
  virtual void wait(const std::vector<std::string>& keys, const Timeout& timeout) = 0;
  virtual void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

  // The methods below are those of stores whose hasExtendedApi() is true; others raise NotImplementedError.
  virtual bool hasExtendedApi() const { return false; }
  virtual void append(const std::string& key, const Bytes& value);
  // Waits for all keys.
  virtual std::vector<Bytes> multiGet(const std::vector<std::string>& keys);
  virtual void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values);
  virtual void queuePush(const std::string& key, const Bytes& value);
  // The oldest value; waits for one where `block`. Errors: DistQueueEmptyError where there is none.
  virtual Bytes queuePop(const std::string& key, bool block = true);
  virtual int64_t queueLen(const std::string& key);
  virtual std::vector<std::string> listKeys();

  // A lease on a name: a number, larger than any before, for the owner who holds it for `time` from now on (again, if it holds it already);
  // 0 while another holds it. The clock is that of the store's server. See docs/distributed.md for what holds when a holder stalls.
  virtual int64_t acquireLease(const std::string& name, const std::string& owner, Timeout time);
  // Whether the owner held it.
  virtual bool releaseLease(const std::string& name, const std::string& owner);

  // Another connection to the same values.
  virtual intrusive_ptr<Store> clone() = 0;
  // The address by which other processes of the store reach this one.
  virtual std::string ownHost() { return "127.0.0.1"; }

  const Timeout& getTimeout() const noexcept { return timeout_; }
  virtual void setTimeout(const Timeout& timeout) { timeout_ = timeout; }

 protected:
  Timeout timeout_;
};

struct Table;

// For the threads of one process.
class CRESSET_API HashStore final : public Store {
 public:
  explicit HashStore(Timeout timeout = kDefaultTimeout);
  ~HashStore() override;
  using Store::compareSet;
  using Store::set;
  using Store::wait;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override;
  bool check(const std::vector<std::string>& keys) override;
  bool deleteKey(const std::string& key) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys, const Timeout& timeout) override;
  bool hasExtendedApi() const override { return true; }
  void append(const std::string& key, const Bytes& value) override;
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override;
  void queuePush(const std::string& key, const Bytes& value) override;
  Bytes queuePop(const std::string& key, bool block = true) override;
  int64_t queueLen(const std::string& key) override;
  std::vector<std::string> listKeys() override;
  int64_t acquireLease(const std::string& name, const std::string& owner, Timeout time) override;
  bool releaseLease(const std::string& name, const std::string& owner) override;
  intrusive_ptr<Store> clone() override;

 private:
  struct State;
  explicit HashStore(std::shared_ptr<State> state, Timeout timeout);
  std::shared_ptr<State> state_;
};

// In a file that all processes reach. A negative number of workers is unknown; the last of so many stores to close removes the file.
class CRESSET_API FileStore final : public Store {
 public:
  explicit FileStore(std::string path, int64_t num_workers = -1, Timeout timeout = kDefaultTimeout);
  ~FileStore() override;
  using Store::compareSet;
  using Store::set;
  using Store::wait;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override;
  bool check(const std::vector<std::string>& keys) override;
  bool deleteKey(const std::string& key) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys, const Timeout& timeout) override;
  bool hasExtendedApi() const override { return true; }
  void append(const std::string& key, const Bytes& value) override;
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override;
  void queuePush(const std::string& key, const Bytes& value) override;
  Bytes queuePop(const std::string& key, bool block = true) override;
  int64_t queueLen(const std::string& key) override;
  std::vector<std::string> listKeys() override;
  int64_t acquireLease(const std::string& name, const std::string& owner, Timeout time) override;
  bool releaseLease(const std::string& name, const std::string& owner) override;
  intrusive_ptr<Store> clone() override;
  const std::string& getPath() const noexcept { return path_; }

 private:
  template <class F> auto read(F&& f) -> decltype(f(std::declval<Table&>()));
  template <class F> auto change(F&& f) -> decltype(f(std::declval<Table&>()));
  const std::string path_;
  const int64_t num_workers_;
};

// Another store whose keys all begin with a prefix and a slash.
class CRESSET_API PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, intrusive_ptr<Store> store);
  using Store::compareSet;
  using Store::set;
  void set(const std::string& key, const Bytes& value) override { store_->set(prefix_ + key, value); }
  Bytes get(const std::string& key) override { return store_->get(prefix_ + key); }
  int64_t add(const std::string& key, int64_t amount) override { return store_->add(prefix_ + key, amount); }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    return store_->compareSet(prefix_ + key, expected, desired);
  }
  bool check(const std::vector<std::string>& keys) override { return store_->check(prefixed(keys)); }
  bool deleteKey(const std::string& key) override { return store_->deleteKey(prefix_ + key); }
  int64_t getNumKeys() override { return store_->getNumKeys(); }
  void wait(const std::vector<std::string>& keys) override { store_->wait(prefixed(keys)); }
  void wait(const std::vector<std::string>& keys, const Timeout& timeout) override { store_->wait(prefixed(keys), timeout); }
  bool hasExtendedApi() const override { return store_->hasExtendedApi(); }
  void append(const std::string& key, const Bytes& value) override { store_->append(prefix_ + key, value); }
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override { return store_->multiGet(prefixed(keys)); }
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override { store_->multiSet(prefixed(keys), values); }
  void queuePush(const std::string& key, const Bytes& value) override { store_->queuePush(prefix_ + key, value); }
  Bytes queuePop(const std::string& key, bool block = true) override { return store_->queuePop(prefix_ + key, block); }
  int64_t queueLen(const std::string& key) override { return store_->queueLen(prefix_ + key); }
  std::vector<std::string> listKeys() override;
  int64_t acquireLease(const std::string& name, const std::string& owner, Timeout time) override { return store_->acquireLease(prefix_ + name, owner, time); }
  bool releaseLease(const std::string& name, const std::string& owner) override { return store_->releaseLease(prefix_ + name, owner); }
  intrusive_ptr<Store> clone() override;
  std::string ownHost() override { return store_->ownHost(); }
  void setTimeout(const Timeout& timeout) override;
  const intrusive_ptr<Store>& getUnderlyingStore() const { return store_; }

 private:
  std::vector<std::string> prefixed(std::vector<std::string> keys) const;
  const std::string prefix_;
  const intrusive_ptr<Store> store_;
};

}  // namespace cresset::distributed
