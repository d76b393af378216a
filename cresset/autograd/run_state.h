#pragma once
// A thread's state of the backward pass that it is in. Private to the autograd room.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct GraphTask;

struct RunState {
  GraphTask* task = nullptr;
  Node* current = nullptr;
  // Nested passes on this thread's stack.
  int depth = 0;
  // The device that this thread is the worker of, or -1.
  int worker = -1;
  // Set between the start of a thread for deep nesting and the pass it was started for.
  bool on_fresh_thread = false;
  // Whether passes may use threads of accelerators.
  bool multithreading = true;
  // Replaces the usual answer of should_compute_output for one node: CopySlices knows better for the node it wraps.
  const Node* mask_node = nullptr;
  const bool* mask = nullptr;
};

extern thread_local RunState t_run __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Whether a restricted pass wants `node` to run.
bool task_wants(const GraphTask& task, const Node* node);
bool task_is_restricted(const GraphTask& task);

}  // namespace autograd
}  // namespace cresset
