#pragma once
// A tensor that a node keeps for backward, with the check that it has not changed in between.

#include <memory>
#include <optional>
#include <string>
#include "cresset/base/std_function.h"

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

// The object that a pack hook made of a tensor; opaque to the engine.
using PackedTensor = std::shared_ptr<void>;
using PackHook = std::function<PackedTensor(const Tensor&)>;
using UnpackHook = std::function<Tensor(const PackedTensor&)>;

// Every tensor saved on this thread within the scope goes through these hooks; scopes nest, the innermost counts.
class CRESSET_API SavedTensorsHooksGuard {
 public:
  SavedTensorsHooksGuard(PackHook pack, UnpackHook unpack);
  ~SavedTensorsHooksGuard();
  SavedTensorsHooksGuard(const SavedTensorsHooksGuard&) = delete;
  SavedTensorsHooksGuard& operator=(const SavedTensorsHooksGuard&) = delete;
};

// The same stack, for callers whose scopes are not C++ scopes.
struct CRESSET_API SavedTensorDefaultHooks {
  static void push_hooks(PackHook pack, UnpackHook unpack);
  static void pop_hooks();
  static bool is_enabled();  // not disabled
  static std::optional<std::string> disabled_message();
  // Until `enable`, pushing hooks on this thread raises `message`. Errors: hooks are pushed already.
  static void disable(std::string message);
  static void enable();
};

class CRESSET_API SavedVariable {
 public:
  SavedVariable() noexcept = default;
  // is_output: the tensor is a result of the node that saves it; its history is given back by `unpack`, so that no cycle arises.
  // Errors: an inference tensor.
  SavedVariable(const Tensor& variable, bool is_output, bool is_inplace_on_view = false);
  SavedVariable(const std::optional<Tensor>& variable, bool is_output, bool is_inplace_on_view = false)
      : SavedVariable(variable ? *variable : Tensor(), is_output, is_inplace_on_view) {}
  ~SavedVariable() {
    if (grad_fn_) release_node(std::move(grad_fn_));
  }
  SavedVariable(SavedVariable&&) noexcept = default;
  SavedVariable& operator=(SavedVariable&&) noexcept = default;

  // The tensor as it was saved. `saved_for` is the node that holds this object.
  // Errors: changed in place since (the message names the operator that made the tensor); released.
  Tensor unpack(const intrusive_ptr<Node>& saved_for = nullptr) const;
  Tensor unpack(const Node* saved_for) const { return unpack(intrusive_ptr<Node>::share(const_cast<Node*>(saved_for))); }
  void reset_data();
  // Sends this one tensor through hooks of its own. Errors: it has hooks already; released.
  void register_hooks(PackHook pack, UnpackHook unpack);
  bool was_default_constructed() const { return kind_ == Kind::none; }

 private:
  struct Hooks {
    PackedTensor packed;
    UnpackHook unpack;
  };
  enum class Kind : uint8_t { none, undefined, original, detached };
  CRESSET_LOCAL void pack(const Tensor& variable, const PackHook& pack, UnpackHook unpack);
  CRESSET_LOCAL Tensor with_history(const Tensor& data, intrusive_ptr<Node> grad_fn) const;
  [[noreturn]] CRESSET_LOCAL void throw_released() const;
  [[noreturn]] CRESSET_LOCAL void throw_changed(const Tensor& current, const Node* maker) const;

  Tensor data_;
  // For an output that was changed in place as a view, whose history is not the node that saved it.
  weak_intrusive_ptr<Node> weak_grad_fn_;
  // The history of a tensor that hooks have packed.
  intrusive_ptr<Node> grad_fn_;
  Owned<Hooks> hooks_;
  uint32_t saved_version_ = 0, output_nr_ = 0;
  Kind kind_ = Kind::none;
  bool is_output_ = false, is_leaf_ = false, requires_grad_ = false, inplace_on_view_ = false, released_ = false;
};

// The same for lists, as `Tensor[]` arguments need it.
CRESSET_API std::vector<SavedVariable> save_list(TensorList tensors, bool is_output);
CRESSET_API std::vector<SavedVariable> save_list(ArrayRef<std::optional<Tensor>> tensors, bool is_output);
CRESSET_API variable_list unpack_list(const std::vector<SavedVariable>& saved, const Node* saved_for);

}  // namespace autograd
}  // namespace cresset
