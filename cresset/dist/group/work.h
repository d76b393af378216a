#pragma once
// An operation of a group that was begun.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "cresset/base/intrusive_ptr.h"
#include "cresset/dist/group/types.h"

namespace cresset::distributed {

class CRESSET_API Work : public RefCounted {
 public:
  virtual bool isCompleted();
  virtual bool isSuccess() const;
  virtual std::exception_ptr exception() const;
  // Waits for the end; true. Errors: those of the operation; it has not ended in time. Without a timeout it ends by the operation's own.
  virtual bool wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0));
  virtual void synchronize() { wait(); }
  virtual void abort();
  // The rank from which a message came.
  virtual int sourceRank() const { return -1; }
  // The tensors that the operation writes.
  virtual std::vector<Tensor> result() { return results_; }
  // Calls `callback` when the operation has ended, on the thread that ends it; at once where it has.
  void addCallback(std::function<void()> callback);

  // For those who run the operation.
  void finish(std::exception_ptr error = nullptr);
  void setResults(std::vector<Tensor> results) { results_ = std::move(results); }

 protected:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool completed_ = false;
  std::exception_ptr exception_;
  std::vector<std::function<void()>> callbacks_;
  std::vector<Tensor> results_;
};

}  // namespace cresset::distributed
