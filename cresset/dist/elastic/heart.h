#pragma once
// Signs of life of a launcher in a store, by which the others see that it is there.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "cresset/dist/store/store.h"

namespace cresset::distributed {

// Another connection to the same values, on which a request waits for its answer about 500 ms at most (2 s over TCP). Errors of its requests:
// DistTimeoutError where the store is there and does not answer in time.
CRESSET_API intrusive_ptr<Store> brief(const intrusive_ptr<Store>& store);

// Adds 1 to a key at once and then every `beat` milliseconds until it is destroyed. It tries again where the store does not answer.
class CRESSET_API Heart final : public RefCounted {
 public:
  Heart(const intrusive_ptr<Store>& store, std::string key, std::chrono::milliseconds beat);
  ~Heart() override;

 private:
  const intrusive_ptr<Store> store_;
  const std::string key_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace cresset::distributed
