#include "cresset/base/util/interop.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "cresset/base/error.h"

namespace cresset {

namespace {

struct Tasks {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  int allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int threads = 0, idle = 0;
  bool fixed = false;
};
// Never destroyed: threads may outlive the program's statics.
Tasks& tasks() {
  static auto* all = new Tasks;
  return *all;
}

// A thread of the pool, which stays for the next task.
void work() {
  Tasks& t = tasks();
  std::unique_lock<std::mutex> lock(t.mutex);
  while (true) {
    t.idle++;
    t.changed.wait(lock, [&] { return !t.waiting.empty(); });
    t.idle--;
    {
      const std::function<void()> task = std::move(t.waiting.front());
      t.waiting.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

}  // namespace

int get_num_interop_threads() {
  const std::lock_guard<std::mutex> lock(tasks().mutex);
  return tasks().allowed;
}

void set_num_interop_threads(int n) {
  CRESSET_CHECK_VALUE(n > 0, "set_num_interop_threads: expected a positive number, got ", n);
  const std::lock_guard<std::mutex> lock(tasks().mutex);
  CRESSET_CHECK(!tasks().fixed, "set_num_interop_threads: the number is set once, before the first task; it is ", tasks().allowed);
  tasks().allowed = n;
  tasks().fixed = true;
}

void launch(std::function<void()> task) {
  Tasks& t = tasks();
  const std::lock_guard<std::mutex> lock(t.mutex);
  t.fixed = true;
  t.waiting.push_back(std::move(task));
  if (t.idle >= static_cast<int>(t.waiting.size()) || t.threads >= t.allowed) {
    t.changed.notify_one();
    return;
  }
  t.threads++;
  std::thread(work).detach();
}

}  // namespace cresset
