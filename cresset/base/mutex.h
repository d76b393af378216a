#pragma once
// std::mutex and std::lock_guard without <chrono> and the other locks, which <mutex> brings: they cost every program that includes a tensor.

#if __has_include(<bits/std_mutex.h>)
#include <bits/std_mutex.h>
#else
#include <mutex>
#endif
