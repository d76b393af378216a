#pragma once
// Calls that run beside the one that makes them.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// On the pool of tasks, or by the one who waits for it, whichever is first: so calls that fork calls never wait for a pool that is full. At once where the
// thread has limits or layers that are its own.
intrusive_ptr<FutureObject> fork_call(Function& function, std::vector<Datum> arguments);
// By the one who waits for it.
intrusive_ptr<FutureObject> delay_call(Function& function, std::vector<Datum> arguments);

}  // namespace cresset::graph::script
