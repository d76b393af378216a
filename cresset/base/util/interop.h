#pragma once
// Tasks beside each other, on threads of their own: at::launch.

#include "cresset/base/macros.h"
#include "cresset/base/std_function.h"

namespace cresset {

// How many tasks run at a time; the number of cores at first.
CRESSET_API int get_num_interop_threads();
// Errors: n < 1; the number was set before, or a task has been launched.
CRESSET_API void set_num_interop_threads(int n);
// Runs the task on a thread of the pool, when one is free, and returns at once. A task must not throw.
CRESSET_API void launch(std::function<void()> task);

}  // namespace cresset
