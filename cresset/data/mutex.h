#pragma once
// A std::mutex that costs the compiler nothing, and its scope.

#include <memory>

#include "cresset/base/macros.h"

namespace cresset::data::detail {

class CRESSET_API DataMutex {
 public:
  DataMutex();
  ~DataMutex();
  void lock();
  void unlock();

 private:
  struct State;
  std::unique_ptr<State> state_;
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
