#pragma once
#include "cresset/base/util/thread_pool.h"
namespace c10 {
inline void setThreadName(std::string name) { cresset::set_thread_name(name); }
inline std::string getThreadName() { return cresset::thread_name(); }
}  // namespace c10
