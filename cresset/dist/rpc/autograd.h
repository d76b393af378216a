#pragma once
// Distributed autograd: backward through the workers whose calls took part in a pass.
//
//   autograd::Context pass;
//   Tensor loss = rpc::rpc_sync("worker1", "forward", {rpc::Value(x)}).toTensor().sum();
//   autograd::backward(pass.id(), {loss});
//   Tensor of_x = autograd::get_gradient(pass.id(), x);
//
// A tensor that needs a gradient arrives as a leaf. When backward reaches it, its gradient goes to the worker that sent it, which runs its own part of the graph
// from there and passes on what reaches tensors that it got itself. Workers may be of C++ and of Python.

#include "cresset/dist/rpc/rpc.h"

namespace cresset::distributed::autograd {

// A pass of this thread, from here to the end of the scope, where it ends on all workers with its gradients.
class CRESSET_API Context {
 public:
  // Errors: Error where this process is no worker, or the thread is in a context already.
  Context();
  ~Context();
  Context(const Context&) = delete;
  int64_t id() const { return id_; }

 private:
  int64_t id_;
};

// Runs backward from scalars through all workers of a context. Graphs are kept till its end. Errors: Error for other roots or an unknown context, those of the
// workers.
CRESSET_API void backward(int64_t context_id, const std::vector<Tensor>& roots, bool retain_graph = false);
// The gradients of this worker's leaves: (leaf, gradient). Errors: Error for an unknown context.
CRESSET_API std::vector<std::pair<Tensor, Tensor>> get_gradients(int64_t context_id);
// That of one leaf; undefined where none has reached it.
CRESSET_API Tensor get_gradient(int64_t context_id, const Tensor& leaf);

}  // namespace cresset::distributed::autograd
