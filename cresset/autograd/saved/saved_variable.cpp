#include "cresset/autograd/saved/saved_variable.h"

#include "cresset/autograd/saved/unheard.h"

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/saved/keep_hooks.h"
#include "cresset/autograd/variable.h"
#include "cresset/dispatch/listen.h"

namespace cresset {
namespace autograd {

namespace {

struct DefaultHooks {
  std::vector<std::pair<PackHook, UnpackHook>> stack;
  bool disabled = false;
  std::string disabled_message;
};
thread_local DefaultHooks t_hooks;
// Read for every tensor saved, where the vector's lazy initialisation would cost more than all the rest.
thread_local bool t_has_hooks = false;

thread_local bool t_kept_unheard = false;

// The same memory without a history, as it is kept of a result and comes back for backward. Who listens below autograd hears of a detach, as in
// PyTorch.
Tensor without_graph(const Tensor& t) {
  if (CRESSET_LIKELY(!dispatch::is_listening() && !dispatch::is_subclass(t))) return t.tensor_data();
  if (t_kept_unheard && !dispatch::is_subclass(t)) return t.tensor_data();
  if (!dispatch::is_subclass(t) && !dispatch::listener_at(dispatch::ListenPlace::below_autograd)) return t.tensor_data();
  const ExcludeLayers below(layer_bit(Layer::Capture));
  return t.detach();
}

}  // namespace

KeptUnheard::KeptUnheard() : saved_(std::exchange(t_kept_unheard, true)) {}
KeptUnheard::~KeptUnheard() { t_kept_unheard = saved_; }

void SavedTensorDefaultHooks::push_hooks(PackHook pack, UnpackHook unpack) {
  CRESSET_CHECK(!t_hooks.disabled, t_hooks.disabled_message);
  t_hooks.stack.emplace_back(std::move(pack), std::move(unpack));
  t_has_hooks = true;
}

void SavedTensorDefaultHooks::pop_hooks() {
  CRESSET_CHECK(!t_hooks.stack.empty(), "saved tensor hooks: pop without a push");
  t_hooks.stack.pop_back();
  t_has_hooks = !t_hooks.stack.empty();
}

KeepSavedTensorHooks::KeepSavedTensorHooks() {
  if (CRESSET_UNLIKELY(t_has_hooks)) before_ = t_hooks.stack;
}

KeepSavedTensorHooks::~KeepSavedTensorHooks() {
  if (CRESSET_LIKELY(!t_has_hooks && before_.empty())) return;
  t_hooks.stack = std::move(before_);
  t_has_hooks = !t_hooks.stack.empty();
}

bool SavedTensorDefaultHooks::is_enabled() { return !t_hooks.disabled; }

std::optional<std::string> SavedTensorDefaultHooks::disabled_message() {
  return t_hooks.disabled ? std::optional<std::string>(t_hooks.disabled_message) : std::nullopt;
}

void SavedTensorDefaultHooks::disable(std::string message) {
  CRESSET_CHECK(t_hooks.stack.empty(), message);
  t_hooks.disabled = true;
  t_hooks.disabled_message = std::move(message);
}

void SavedTensorDefaultHooks::enable() { t_hooks.disabled = false; }

SavedTensorsHooksGuard::SavedTensorsHooksGuard(PackHook pack, UnpackHook unpack) { SavedTensorDefaultHooks::push_hooks(std::move(pack), std::move(unpack)); }
SavedTensorsHooksGuard::~SavedTensorsHooksGuard() { SavedTensorDefaultHooks::pop_hooks(); }

SavedVariable::SavedVariable(const Tensor& variable, bool is_output, bool is_inplace_on_view) {
  if (!variable.defined()) {
    kind_ = Kind::undefined;
    return;
  }
  const TensorImpl& t = *variable.impl();
  CRESSET_CHECK(!t.is_inference(), "Inference tensors cannot be saved for backward. Got ", variable,
                "; clone() it outside inference mode, or use NoGradGuard instead of InferenceMode");
  saved_version_ = t.version();
  const bool tracked = t.layers() & kAutogradLayer;
  const intrusive_ptr<Node>* grad_fn = tracked ? &variable.grad_fn() : nullptr;
  is_leaf_ = !grad_fn || !*grad_fn;
  if (!is_leaf_) output_nr_ = impl::get_autograd_meta(t)->output_nr_;
  is_output_ = is_output;
  if (!is_output || is_leaf_) {
    kind_ = Kind::original;
    data_ = variable;
  } else {
    kind_ = Kind::detached;
    data_ = CRESSET_UNLIKELY(t_has_hooks) && !dispatch::is_subclass(variable) ? variable.tensor_data() : without_graph(variable);
    requires_grad_ = true;
    inplace_on_view_ = is_inplace_on_view;
    if (is_inplace_on_view) weak_grad_fn_ = weak_intrusive_ptr<Node>(*grad_fn);
  }
  if (CRESSET_UNLIKELY(t_has_hooks)) {
    const auto hooks = t_hooks.stack.back();
    pack(variable, hooks.first, hooks.second);
  }
}

void SavedVariable::pack(const Tensor& variable, const PackHook& pack, UnpackHook unpack) {
  requires_grad_ = variable.requires_grad();
  auto hooks = make_owned<Hooks>();
  {
    // The hook's own work is not part of the graph, and saves nothing through hooks itself.
    AutoGradMode no_grad(false);
    std::vector<std::pair<PackHook, UnpackHook>> outer;
    std::swap(outer, t_hooks.stack);
    t_has_hooks = false;
    struct Restore {
      std::vector<std::pair<PackHook, UnpackHook>>& outer;
      ~Restore() {
        std::swap(outer, t_hooks.stack);
        t_has_hooks = !t_hooks.stack.empty();
      }
    } restore{outer};
    // A listener hears of the detach when the value comes back.
    const bool silent = CRESSET_UNLIKELY(dispatch::is_listening()) && !dispatch::is_subclass(variable);
    hooks->packed = pack(silent ? variable.tensor_data() : variable.detach());
  }
  hooks->unpack = std::move(unpack);
  if (kind_ == Kind::original && !is_leaf_) grad_fn_ = variable.grad_fn();
  // A leaf that requires grad is kept: gradients must find it.
  if (!is_leaf_ || !requires_grad_) data_.reset();
  hooks_ = std::move(hooks);
}

void SavedVariable::register_hooks(PackHook pack_hook, UnpackHook unpack_hook) {
  CRESSET_CHECK(kind_ != Kind::none && kind_ != Kind::undefined, "register_hooks: nothing is saved here");
  CRESSET_CHECK(!hooks_, "register_hooks: the saved tensor has hooks already");
  if (released_) throw_released();
  Tensor variable = data_;
  if (kind_ == Kind::original && saved_version_ != data_.impl()->version()) throw_changed(data_, nullptr);
  pack(variable, pack_hook, std::move(unpack_hook));
}

void SavedVariable::reset_data() {
  if (kind_ == Kind::none || kind_ == Kind::undefined) return;
  released_ = true;
  data_.reset();
  hooks_.reset();
  release_node(std::move(grad_fn_));
}

void SavedVariable::throw_released() const {
  CRESSET_CHECK(false,
                "backward: the graph has been freed by an earlier call, which also freed the tensors it had saved; pass "
                "retain_graph=true to the "
                "first call to go through the graph a second time");
  __builtin_unreachable();
}

void SavedVariable::throw_changed(const Tensor& current, const Node* maker) const {
  const std::string origin = maker ? str(", which is output ", output_nr_, " of ", maker->name(), ",") : std::string();
  CRESSET_CHECK(false, "backward: one of the variables needed for gradient computation has been modified by an inplace operation: ", current, origin,
                " is at version ", current.impl()->version(), ", expected version ", saved_version_,
                "; anomaly mode shows the operation whose gradient needs it");
  __builtin_unreachable();
}

Tensor SavedVariable::with_history(const Tensor& data, intrusive_ptr<Node> grad_fn) const {
  Tensor out = kind_ == Kind::detached || hooks_ ? without_graph(data) : data.tensor_data();
  if (grad_fn) {
    if (CRESSET_UNLIKELY(grad_fn->hooks_or_null())) restore_tangents(out, *grad_fn, output_nr_);
    impl::set_gradient_edge(out, Edge(std::move(grad_fn), output_nr_));
    return out;
  }
  if (!requires_grad_) return out;
  AutogradMeta& meta = impl::materialize_autograd_meta(out);
  meta.requires_grad_ = true;
  // The copy of a leaf accumulates into the leaf itself.
  if (data_.defined()) meta.grad_accumulator_ = weak_intrusive_ptr<Node>(impl::grad_accumulator(data_));
  return out;
}

Tensor SavedVariable::unpack(const intrusive_ptr<Node>& saved_for) const {
  if (kind_ == Kind::undefined || kind_ == Kind::none) return Tensor();
  if (CRESSET_UNLIKELY(released_)) throw_released();
  if (CRESSET_LIKELY(!hooks_ && kind_ == Kind::original)) {
    if (CRESSET_UNLIKELY(saved_version_ != data_.impl()->version())) {
      const AutogradMeta* meta = impl::get_autograd_meta(data_);
      throw_changed(data_, meta ? meta->grad_fn_.get() : nullptr);
    }
    if (CRESSET_UNLIKELY(!is_leaf_ && !impl::get_autograd_meta(data_)->grad_fn_)) {
      CRESSET_CHECK(false, "backward: a saved tensor has been detached in place, with detach_(), which is not supported; use detach(), got ", data_);
    }
    return data_;
  }
  intrusive_ptr<Node> grad_fn = inplace_on_view_ ? weak_grad_fn_.lock() : grad_fn_;
  if (!is_leaf_ && !grad_fn) {
    CRESSET_CHECK(saved_for, "unpack: the saved output needs the node that saved it");
    grad_fn = saved_for;
  }
  if (!hooks_) {
    if (CRESSET_UNLIKELY(saved_version_ != data_.impl()->version())) throw_changed(data_, grad_fn.get());
    return with_history(data_, std::move(grad_fn));
  }
  const Tensor data = hooks_->unpack(hooks_->packed);
  CRESSET_CHECK_TYPE(data.defined(), "saved tensor hooks: the unpack hook returned ", data, ", expected a tensor");
  return with_history(data, std::move(grad_fn));
}

std::vector<SavedVariable> save_list(TensorList tensors, bool is_output) {
  std::vector<SavedVariable> saved;
  saved.reserve(tensors.size());
  for (const Tensor& t : tensors) saved.emplace_back(t, is_output);
  return saved;
}

std::vector<SavedVariable> save_list(ArrayRef<std::optional<Tensor>> tensors, bool is_output) {
  std::vector<SavedVariable> saved;
  saved.reserve(tensors.size());
  for (const auto& t : tensors) saved.emplace_back(t, is_output);
  return saved;
}

variable_list unpack_list(const std::vector<SavedVariable>& saved, const Node* saved_for) {
  variable_list out;
  out.reserve(saved.size());
  for (const SavedVariable& s : saved) out.push_back(s.unpack(saved_for));
  return out;
}

}  // namespace autograd
}  // namespace cresset
