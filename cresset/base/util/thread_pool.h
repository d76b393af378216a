#pragma once
// Threads of a program's own that run its tasks in the order of their arrival. Kernels do not use them.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "cresset/base/error.h"

namespace cresset {

// Names the calling thread, of which the system keeps 15 characters.
inline void set_thread_name(const std::string& name) { pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()); }
inline std::string thread_name() {
  char text[16] = {};
  pthread_getname_np(pthread_self(), text, sizeof text);
  return text;
}

class ThreadPool {
 public:
  // As many threads as processors where `size` is negative. `start` is called first in each.
  explicit ThreadPool(int size, int = -1, const std::function<void()>& start = nullptr)
      : idle_(size < 0 ? std::max(1u, std::thread::hardware_concurrency()) : static_cast<size_t>(size)) {
    const size_t count = idle_;
    for (size_t i = 0; i < count; i++) {
      threads_.emplace_back([this, start] {
        if (start) start();
        work();
      });
    }
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Runs what has been given, then ends the threads.
  virtual ~ThreadPool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    comes_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  size_t size() const { return threads_.size(); }
  size_t numAvailable() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return idle_;
  }
  bool inThreadPool() const {
    for (const std::thread& thread : threads_) {
      if (thread.get_id() == std::this_thread::get_id()) return true;
    }
    return false;
  }
  // Errors: the pool has no threads. An error that the task throws is kept for waitWorkComplete().
  void run(std::function<void()> task) {
    CRESSET_CHECK(!threads_.empty(), "ThreadPool: expected threads to run a task, the pool has none");
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
      unfinished_++;
    }
    comes_.notify_one();
  }
  // Blocks until every task has ended. Errors: the first that a task threw.
  void waitWorkComplete() {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return unfinished_ == 0; });
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      comes_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      idle_--;
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) { error = std::current_exception(); }
      lock.lock();
      idle_++;
      if (error && !error_) error_ = error;
      if (--unfinished_ == 0) done_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable comes_, done_;
  std::deque<std::function<void()>> tasks_;
  std::exception_ptr error_;
  size_t idle_, unfinished_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cresset
