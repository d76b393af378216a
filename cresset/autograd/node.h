#pragma once
// A step of the recorded graph: takes gradients of its outputs, gives gradients of its inputs.

#include <memory>
#include <string>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/autograd/edge.h"
#include "cresset/base/owned.h"
#include "cresset/core/tensor.h"

namespace cresset {
namespace autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;

// Facts about an output that a node has seen, for the engine: the gradient for it is brought to this shape and dtype.
class CRESSET_API InputMetadata {
 public:
  InputMetadata() = default;
  explicit InputMetadata(const Tensor& t) : InputMetadata(*t.impl()) {}
  explicit InputMetadata(const TensorImpl& t) : sizes_(t.sizes()), dtype_(t.dtype()), device_(t.device()), layout_(t.layout()), defined_(true) {}
  bool defined() const { return defined_; }
  IntArrayRef sizes() const { return sizes_; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Layout layout() const { return layout_; }
  TensorOptions options() const { return TensorOptions().dtype(dtype_).device(device_).layout(layout_); }
  Tensor zeros_like() const;

 private:
  SmallVector<int64_t, 4> sizes_;
  ScalarType dtype_ = ScalarType::Undefined;
  Device device_ = Device(DeviceType::CPU);
  Layout layout_ = Layout::Strided;
  bool defined_ = false;
};

// Hooks may return an undefined tensor (or an empty list) to leave the gradient as it is.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
using PostAccumulateHook = std::function<void(const Tensor& leaf)>;
using NodePreHook = std::function<variable_list(const variable_list& grad_outputs)>;
using NodePostHook = std::function<variable_list(const variable_list& grad_inputs, const variable_list& grad_outputs)>;

// Removed hooks leave an empty function, so that positions stay valid.
using TensorHooks = std::vector<TensorHook>;

// A derivative that travels with a tensor, at one level of forward mode. Cleared when the level ends, whoever still holds it.
struct ForwardTangent final : RefCounted {
  ForwardTangent(Tensor v, uint64_t l) : value(std::move(v)), level(l) {}
  Tensor value;
  const uint64_t level;

 protected:
  void release_resources() override { value.reset(); }
};

struct NodeHooks;  // cresset/autograd/node_hooks.h
struct NodeTrace;

struct CRESSET_API Node : public RefCounted {
 public:
  // Gets the thread's next sequence number.
  explicit Node(edge_list next_edges = {});
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_deallocate(p, n); }

  // Runs `apply` with the checks and traces of anomaly mode, but without hooks.
  variable_list operator()(variable_list&& grads);

  // As LibTorch prints it: "MulBackward1", "torch::autograd::AccumulateGrad".
  virtual std::string name() const;
  // Drops the saved tensors: their memory is free although a caller may still hold the graph.
  virtual void release_variables() {}

  // The edges go to whoever made the inputs of the operator; an invalid edge stands for an input that needs no gradient.
  const edge_list& next_edges() const { return next_edges_; }
  const Edge& next_edge(size_t i) const { return next_edges_[i]; }
  uint32_t num_outputs() const { return static_cast<uint32_t>(next_edges_.size()); }
  void add_next_edge(Edge edge) {
    if (edge.function && edge.function->topological_nr_ >= topological_nr_) topological_nr_ = edge.function->topological_nr_ + 1;
    next_edges_.push_back(std::move(edge));
  }
  void set_next_edge(size_t i, Edge edge);
  void set_next_edges(edge_list edges);

  // One entry for each output of the operator that has this node as its history.
  uint32_t num_inputs() const { return static_cast<uint32_t>(input_metadata_.size()); }
  const InputMetadata& input_metadata(size_t i) const { return input_metadata_[i]; }
  uint32_t add_input_metadata(const Tensor& output) {
    input_metadata_.emplace_back(*output.impl());
    return num_inputs() - 1;
  }
  uint32_t add_undefined_input_metadata() {
    input_metadata_.emplace_back();
    return num_inputs() - 1;
  }
  // The device whose worker runs the node.
  Device device() const { return input_metadata_.empty() ? Device(DeviceType::CPU) : input_metadata_[0].device(); }

  // Order of recording on its thread; the engine runs high numbers first.
  uint64_t sequence_nr() const { return sequence_nr_; }
  // Longer than the longest path to a leaf.
  uint64_t topological_nr() const { return topological_nr_; }

  // Whether the gradient for next_edge(i) is wanted: `apply` may leave out the others.
  bool should_compute_output(size_t i) const { return next_edges_[i].is_valid() && (CRESSET_LIKELY(!is_restricted()) || restricted_should_compute(i)); }
  bool task_should_compute_output(size_t i) const { return should_compute_output(i); }
  // Whether any of `count` edges from `first` on is wanted.
  bool should_compute_any(size_t first, size_t count) const {
    for (size_t i = first; i < first + count; i++)
      if (should_compute_output(i)) return true;
    return false;
  }

  size_t add_pre_hook(NodePreHook hook);
  size_t add_post_hook(NodePostHook hook);
  void remove_pre_hook(size_t position);
  void remove_post_hook(size_t position);
  NodeHooks& hooks();
  const NodeHooks* hooks_or_null() const { return hooks_.get(); }

  const NodeTrace* trace() const { return trace_.get(); }
  // "Error detected in <this>. forward call: ..." down the chain of parents.
  std::string describe_trace() const;

  bool is_accumulate_grad() const { return accumulates_; }
  bool wants_undefined() const { return wants_undefined_; }
  bool locks_apply() const { return lock_apply_; }

  // Serialises threads that run backward through the same node; held during `apply` of nodes that save tensors.
  void lock() const;
  void unlock() const { locked_.store(false, std::memory_order_release); }

 protected:
  // An undefined gradient stands for zeros; with none defined at all the engine does not call, unless `wants_undefined`.
  virtual variable_list apply(variable_list&& grads) = 0;

  void set_sequence_nr(uint64_t n) { sequence_nr_ = n; }
  void release_resources() override;
  void drop_edges();

  bool accumulates_ = false;
  // Set by nodes that `release_variables` may race with.
  bool lock_apply_ = false;
  // `apply` is called although all gradients are undefined.
  bool wants_undefined_ = false;

 private:
  static bool is_restricted();
  bool restricted_should_compute(size_t i) const;

  mutable std::atomic<bool> locked_{false};
  uint64_t sequence_nr_ = 0, topological_nr_ = 0;
  edge_list next_edges_;
  SmallVector<InputMetadata, 1> input_metadata_;
  Owned<NodeHooks> hooks_;
  Owned<NodeTrace> trace_;
};

class SavedFields;

// Base of the nodes that are generated for operators.
struct CRESSET_API TraceableFunction : public Node {
  using Node::Node;
  // Shows what the node keeps of its operator's arguments and results (`cresset/autograd/saved/saved_fields.h`).
  virtual void visit_saved(SavedFields&) {}
};

// The node whose `apply` this thread is in, if any.
CRESSET_API intrusive_ptr<Node> get_current_node();

// Releases a reference without recursion, however long the chain of nodes behind it is.
CRESSET_API void release_node(intrusive_ptr<Node>&& node) noexcept;

}  // namespace autograd
}  // namespace cresset
