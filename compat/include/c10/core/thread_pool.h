#pragma once
#include "c10/util/thread_name.h"
namespace c10 {
using cresset::ThreadPool;
class TaskThreadPool : public ThreadPool {
 public:
  explicit TaskThreadPool(int size, int numa_node = -1) : ThreadPool(size, numa_node, [] { setThreadName("CaffeTaskThread"); }) {}
};
}  // namespace c10
