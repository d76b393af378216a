#include "cresset/base/util/interop.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cresset/base/error.h"

namespace cresset {

namespace {

struct Tasks {
  std::mutex mutex;
  std::condition_variable ended;
  int allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int running = 0;
  bool fixed = false;
};
// Never destroyed: threads may outlive the program's statics.
Tasks& tasks() {
  static auto* all = new Tasks;
  return *all;
}

void run(const std::function<void()>& task) {
  Tasks& t = tasks();
  {
    std::unique_lock<std::mutex> lock(t.mutex);
    t.ended.wait(lock, [&] { return t.running < t.allowed; });
    t.running++;
  }
  task();
  const std::lock_guard<std::mutex> lock(t.mutex);
  t.running--;
  t.ended.notify_one();
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
  {
    const std::lock_guard<std::mutex> lock(tasks().mutex);
    tasks().fixed = true;
  }
  std::thread([task = std::move(task)] { run(task); }).detach();
}

}  // namespace cresset
