#pragma once
// Runs the graph backwards.

#include <functional>
#include <vector>

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

class CRESSET_API Engine {
 public:
  static Engine& get_default_engine();

  // Sends `grads` into `roots` and runs every node that leads to a leaf (or to one of `outputs`, if there are any). With `outputs` it
  // returns the gradients that reached these edges; gradients of leaves are then added to `grad()` only if `accumulate_grad`.
  // A call from within a node runs at once, nested; deep nests continue on further threads.
  variable_list execute(const edge_list& roots, variable_list&& grads, bool keep_graph, bool create_graph, bool accumulate_grad, const edge_list& outputs = {});

  // Runs `callback` when the backward pass that this thread is part of has finished. Errors: called outside of a pass.
  void queue_callback(std::function<void()> callback);

  // The number of the backward pass that this thread is part of, or -1.
  static int64_t current_pass();
  // Whether that pass brings a gradient to `node`. Errors: called outside of a pass.
  static bool will_execute(const Node& node);
  // Whether this thread is in no pass, or in one that ends in the gradients of all leaves and no others: what runs a pass within it to add to them may do so.
  static bool is_checkpoint_valid();
  // Whether passes begun by this thread may use a thread for each accelerator; without, they stay on this one. Returns what was before.
  static bool set_multithreading_enabled(bool enabled);

 private:
  CRESSET_LOCAL variable_list execute_on_fresh_thread(const edge_list& roots, variable_list&& grads, bool keep_graph, bool create_graph, bool accumulate_grad,
                                                      const edge_list& outputs);
};

// Checks a hook's replacement for a gradient, which has the gradient's shape, dtype and device; else an error that names `where`.
CRESSET_API void check_hook_result(const Tensor& before, const Tensor& after, const std::string& where);

}  // namespace autograd
}  // namespace cresset
