#pragma once
// A std::mutex that costs the compiler nothing, with the condition of those who wait under it, and its scope.

#include <functional>
#include <memory>
#include <optional>

#include "cresset/data/worker_pool.h"

namespace cresset::data::detail {

class CRESSET_API DataMutex {
 public:
  DataMutex();
  ~DataMutex();
  void lock();
  void unlock();
  // Both by a thread that holds the lock. `wait` blocks until `ready` after some notify; false: the time is up.
  void notify();
  bool wait(const std::function<bool()>& ready, const std::optional<Milliseconds>& timeout = std::nullopt);

 private:
  struct State;
  Owned<State> state_;
};
class DataLock {
 public:
  explicit DataLock(DataMutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~DataLock() { mutex_.unlock(); }
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

 private:
  DataMutex& mutex_;
};

}  // namespace cresset::data::detail
