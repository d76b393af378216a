#include "cresset/dist/group/work.h"

#include "cresset/dist/errors.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

bool Work::isCompleted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_;
}
bool Work::isSuccess() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !exception_;
}
std::exception_ptr Work::exception() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

bool Work::wait(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto done = [&] { return completed_; };
  if (timeout.count() > 0)
    CRESSET_CHECK_AS(DistBackendError, ended_.wait_until(lock, after(timeout), done), "dist: the operation has not ended after ", timeout.count(), " ms");
  else ended_.wait(lock, done);
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

void Work::abort() { throw NotImplementedError("dist: Work: abort: end the whole group by abort() or destroy_process_group()"); }

void Work::addCallback(std::function<void()> callback) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!completed_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Work::finish(std::exception_ptr error) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (completed_) return;
    exception_ = std::move(error);
    completed_ = true;
    callbacks.swap(callbacks_);
    ended_.notify_all();
  }
  for (const auto& f : callbacks) f();
}

}  // namespace cresset::distributed
