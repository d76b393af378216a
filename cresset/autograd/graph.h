#pragma once
// The part of Python's torch.autograd.graph that LibTorch lacks: the graph's names, contexts for what it saves, hooks on several gradients.
// Include it by name: <cresset/autograd/graph.h>.

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/autograd/engine.h"
#include "cresset/autograd/saved/saved_variable.h"
#include "cresset/autograd/variable.h"
#include "cresset/tensor.h"

namespace cresset::autograd {

// Whether backward passes that this thread begins in its scope may use a thread for each accelerator.
class set_multithreading_enabled {
 public:
  explicit set_multithreading_enabled(bool enabled) : before_(Engine::set_multithreading_enabled(enabled)) {}
  ~set_multithreading_enabled() { Engine::set_multithreading_enabled(before_); }
  set_multithreading_enabled(const set_multithreading_enabled&) = delete;
  set_multithreading_enabled& operator=(const set_multithreading_enabled&) = delete;

 private:
  const bool before_;
};

namespace graph {

using autograd::Node;
using GradientEdge = Edge;
using saved_tensors_hooks = SavedTensorsHooksGuard;

// The edge that the gradient of `tensor` goes along. Errors: a tensor that does not require grad.
inline GradientEdge get_gradient_edge(const Tensor& tensor) {
  CRESSET_CHECK(tensor.requires_grad(), "get_gradient_edge: it is not possible to get the gradient edge of a tensor that does not require gradients");
  return impl::gradient_edge(tensor);
}

// Counts a change in place that happened behind autograd's back. Errors: an inference tensor.
inline void increment_version(const Tensor& tensor) {
  CRESSET_CHECK(!tensor.is_inference(), "increment_version: inference tensors do not track a version counter");
  tensor.impl()->bump_version();
}
inline void increment_version(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) increment_version(t);
}

// Within its scope operators keep what they save for backward in the memory of the CPU.
class save_on_cpu : public SavedTensorsHooksGuard {
 public:
  save_on_cpu()
      : SavedTensorsHooksGuard([](const Tensor& t) -> PackedTensor { return std::make_shared<Kept>(t.device(), t.cpu()); },
                               [](const PackedTensor& packed) {
                                 const auto& [device, copy] = *static_cast<const Kept*>(packed.get());
                                 return copy.to(device);
                               }) {}

 private:
  using Kept = std::pair<Device, Tensor>;
};

// Within its scope installing hooks on saved tensors raises `message`. Errors: hooks are installed already.
class disable_saved_tensors_hooks {
 public:
  explicit disable_saved_tensors_hooks(std::string message) : before_(SavedTensorDefaultHooks::disabled_message()) {
    SavedTensorDefaultHooks::disable(std::move(message));
  }
  ~disable_saved_tensors_hooks() { before_ ? SavedTensorDefaultHooks::disable(*before_) : SavedTensorDefaultHooks::enable(); }
  disable_saved_tensors_hooks(const disable_saved_tensors_hooks&) = delete;
  disable_saved_tensors_hooks& operator=(const disable_saved_tensors_hooks&) = delete;

 private:
  const std::optional<std::string> before_;
};

// Within its scope tensors that backward needs may be changed in place: operators save copies. Backward runs within it, too.
// Errors: a scope within a scope; in backward, a graph whose scope has ended or was cleared.
class allow_mutation_on_saved_tensors {
 public:
  allow_mutation_on_saved_tensors() : alone_(), hooks_([this](const Tensor& t) { return keep(t); }, &allow_mutation_on_saved_tensors::kept) {}
  ~allow_mutation_on_saved_tensors() { clear(); }
  allow_mutation_on_saved_tensors(const allow_mutation_on_saved_tensors&) = delete;
  allow_mutation_on_saved_tensors& operator=(const allow_mutation_on_saved_tensors&) = delete;

  // Drops the copies: backward through what was recorded so far is not possible any more.
  void clear() {
    for (const auto& copy : copies_)
      if (const auto there = copy.lock()) there->reset();
    copies_.clear();
  }

 private:
  class Alone {
   public:
    Alone() {
      CRESSET_CHECK(!taken(), "allow_mutation_on_saved_tensors: contexts cannot be nested");
      taken() = true;
    }
    ~Alone() { taken() = false; }

   private:
    static bool& taken() {
      static thread_local bool is_taken = false;
      return is_taken;
    }
  };

  PackedTensor keep(const Tensor& t) {
    if (copies_.size() >= limit_) {
      copies_.erase(std::remove_if(copies_.begin(), copies_.end(), [](const auto& copy) { return copy.expired(); }), copies_.end());
      limit_ = 2 * copies_.size() + 64;
    }
    const std::shared_ptr<Tensor> copy(new Tensor(t.clone()));
    copies_.push_back(copy);
    return copy;
  }
  static Tensor kept(const PackedTensor& packed) {
    const Tensor& copy = *static_cast<const Tensor*>(packed.get());
    CRESSET_CHECK(copy.defined(), "allow_mutation_on_saved_tensors: backward ran outside of the context in which the graph was recorded, or after clear()");
    return copy;
  }

  const Alone alone_;
  const SavedTensorsHooksGuard hooks_;
  // The graph owns the copies; these are for `clear`.
  std::vector<std::weak_ptr<Tensor>> copies_;
  size_t limit_ = 64;
};

namespace detail {
inline weak_intrusive_ptr<TensorImpl> weak(const Tensor& t) { return intrusive_ptr<TensorImpl>::share(t.impl()); }
}  // namespace detail

// Hooks on several tensors, to be taken off again.
class MultiGradHandle {
 public:
  void add(const Tensor& tensor, unsigned position) { hooks_.emplace_back(detail::weak(tensor), position); }
  void remove() {
    for (const auto& [tensor, position] : std::exchange(hooks_, {}))
      if (const auto alive = tensor.lock()) Tensor(alive).remove_hook(position);
  }

 private:
  std::vector<std::pair<weak_intrusive_ptr<TensorImpl>, unsigned>> hooks_;
};

enum class MultiGradMode : uint8_t { All, Any };

// Calls `hook` once in each backward pass that computes gradients of `tensors`. All: when the last of those that take part is known, with
// undefined tensors for the others; Any: with the first one alone. Errors: a tensor that does not require grad.
inline MultiGradHandle register_multi_grad_hook(const std::vector<Tensor>& tensors, std::function<void(const variable_list&)> hook,
                                                MultiGradMode mode = MultiGradMode::All) {
  struct Pass {
    variable_list grads;
    size_t missing;
  };
  struct Shared {
    std::function<void(const variable_list&)> hook;
    // A node owns the hook, which therefore does not own the node; that of a leaf is made when it is needed.
    std::vector<std::pair<weak_intrusive_ptr<TensorImpl>, weak_intrusive_ptr<Node>>> places;
    std::mutex mutex;
    std::unordered_map<int64_t, Pass> passes;
    size_t taking_part() const {
      size_t count = 0;
      for (const auto& [tensor, node] : places) {
        const auto alive = tensor.lock();
        const auto function = alive ? impl::grad_accumulator(Tensor(alive)) : node.lock();
        count += function && Engine::will_execute(*function);
      }
      return count;
    }
  };
  const auto shared = std::make_shared<Shared>();
  shared->hook = std::move(hook);
  for (const Tensor& t : tensors) {
    const GradientEdge edge = get_gradient_edge(t);
    if (t.is_leaf()) shared->places.emplace_back(detail::weak(t), weak_intrusive_ptr<Node>());
    else shared->places.emplace_back(weak_intrusive_ptr<TensorImpl>(), weak_intrusive_ptr<Node>(edge.function));
  }
  MultiGradHandle handle;
  for (size_t i = 0; i < tensors.size(); i++) {
    handle.add(tensors[i], tensors[i].register_hook([shared, mode, i](const Tensor& grad) {
      const int64_t number = Engine::current_pass();
      variable_list ready;
      {
        const std::lock_guard<std::mutex> lock(shared->mutex);
        const auto [at, is_first] = shared->passes.try_emplace(number);
        Pass& pass = at->second;
        if (is_first) {
          pass = {variable_list(shared->places.size()), shared->taking_part()};
          Engine::get_default_engine().queue_callback([shared, number] {
            const std::lock_guard<std::mutex> end(shared->mutex);
            shared->passes.erase(number);
          });
        }
        pass.grads[i] = grad;
        pass.missing--;
        if (mode == MultiGradMode::Any && is_first) ready = {grad};
        if (mode == MultiGradMode::All && pass.missing == 0) ready = pass.grads;
      }
      if (!ready.empty()) shared->hook(ready);
    }));
  }
  return handle;
}

}  // namespace graph
}  // namespace cresset::autograd
