#pragma once
// A store whose server lives in the process of the master; clients are everywhere.

#include <memory>
#include <optional>

#include "cresset/dist/store/store.h"

namespace cresset::distributed {

struct CRESSET_API TCPStoreOptions {
  static constexpr uint16_t kDefaultPort = 29500;
  uint16_t port = kDefaultPort;  // 0, for a server: one that is free
  bool isServer = false;
  std::optional<size_t> numWorkers = std::nullopt;  // with waitWorkers the server waits for so many clients, itself included
  bool waitWorkers = true;
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  bool multiTenant = false;                          // whether servers of one process at one address are one
  std::optional<int> masterListenFd = std::nullopt;  // a socket of the caller's cannot be taken over: the constructor raises ValueError
  bool useLibUV = true;                              // the server is one event loop either way
};

// A client may be used by several threads; each call that waits has a connection of its own. Both sides show that they know the job's secret.
// Errors of the constructor: DistNetworkError where no server answers in time, or the port is taken; DistStoreError where workers do not come.
class CRESSET_API TCPStore final : public Store {
 public:
  explicit TCPStore(std::string host, const TCPStoreOptions& options = {});
  ~TCPStore() override;
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
  std::string ownHost() override;

  // On the server: until all workers of the options are there. Errors: DistStoreError where they have not come in time.
  void waitForWorkers();

  const std::string& getHost() const noexcept;
  uint16_t getPort() const noexcept;

 private:
  struct State;
  explicit TCPStore(std::shared_ptr<State> state, Timeout timeout);
  std::shared_ptr<State> state_;
};

}  // namespace cresset::distributed
