#pragma once
// Inside the room: threads that run tasks at once. A task may block, so a thread is added whenever all are busy.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace cresset::distributed::rpc {

class Pool {
 public:
  Pool() : state_(std::make_shared<State>()) {}
  // Threads end when they have nothing to do; none is waited for, since a task may never end.
  ~Pool() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  Pool(const Pool&) = delete;

  void run(std::function<void()> task) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    if (state_->idle >= state_->tasks.size()) return state_->changed.notify_one();
    std::thread([state = state_] { work(*state); }).detach();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    size_t idle = 0;
    bool closing = false;
  };

  static void work(State& s) {
    std::unique_lock<std::mutex> lock(s.mutex);
    for (;;) {
      s.idle++;
      s.changed.wait_for(lock, std::chrono::seconds(10), [&] { return s.closing || !s.tasks.empty(); });
      s.idle--;
      if (s.tasks.empty()) return;
      std::function<void()> task = std::move(s.tasks.front());
      s.tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  const std::shared_ptr<State> state_;
};

}  // namespace cresset::distributed::rpc
