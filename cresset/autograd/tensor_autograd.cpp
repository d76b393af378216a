// The differentiation methods of Tensor.

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/meta_extras.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/variable.h"
#include "cresset/base/warning.h"
#include "cresset/core/functional.h"
#include "cresset/dispatch/listen.h"

namespace cresset {

using autograd::AutogradMeta;
using autograd::impl::get_autograd_meta;
using autograd::impl::materialize_autograd_meta;

namespace {

const Tensor& no_tensor() {
  static const Tensor none;
  return none;
}

// A tensor under vmap is made again around another value of the same geometry.
Tensor around(const BatchedImpl& like, Tensor value) { return make_batched(std::move(value), like.batch_dim(), like.level()); }

// An entry for listeners to hear of detach(), which is no row: it needs no layer's help.
Tensor plainly_detached(const Tensor& t) { return Tensor(t.checked().alias(true)); }
const dispatch::Op<Tensor(const Tensor&)> kDetach("detach", "detach(Tensor(a) self) -> Tensor(a)", dispatch::kViewOp, nullptr, &plainly_detached,
                                                  &plainly_detached, nullptr, nullptr);

// A class of Python makes its tensors itself, also beneath layers that have no part in detach(); under functionalize it is a view.
Tensor detached_by_entry(const Tensor& t) { return dispatch::call(kDetach, dispatch::key_of(t), t); }

// The same without a part in the versions of `t`.
Tensor data_by_class(const Tensor& t) {
  const Tensor data = detached_by_entry(t);
  if (data.impl() != t.impl()) data.impl()->set_own_version();
  return data;
}

// Another tensor over the memory that a functional one stands for.
Tensor same_memory(FunctionalImpl& f, FunctionalImpl::View view) {
  const ExcludeLayers below(layer_bit(Layer::Functionalize));  // its value is none, but for those that scopes within others wrap
  const Tensor value = view(f.value());
  std::vector<FunctionalImpl::View> views = f.views();
  views.push_back(std::move(view));
  return Tensor(make_intrusive<FunctionalImpl>(f.base(), std::move(views), value));
}

void check_hook_position(size_t position, size_t count, const char* op) {
  CRESSET_CHECK_INDEX(position < count, op, ": Invalid index, no hook at position ", position, ", ", count, " have been registered");
}

}  // namespace

bool Tensor::requires_grad() const {
  const TensorImpl& t = checked();
  if (autograd::impl::requires_grad(t)) return true;
  return CRESSET_UNLIKELY(t.is_inference()) && t.autograd() && get_autograd_meta(t)->requires_grad();
}

const Tensor& Tensor::requires_grad_(bool on) const {
  TensorImpl& t = checked();
  if (BatchedImpl* b = as_batched(*this)) {
    // The argument of the transform stays as it is.
    if (on && !b->value().requires_grad() && !as_batched(b->value())) b->adopt(autograd::without_history(b->value()), b->batch_dim());
    b->value().requires_grad_(on);
    return *this;
  }
  if (FunctionalImpl* f = as_functional(*this)) {
    f->value().requires_grad_(on);
    return *this;
  }
  if (!on) {
    CRESSET_CHECK(is_leaf(), "requires_grad_: only leaf tensors can be told not to require gradients, got the result of ",
                  get_autograd_meta(t)->grad_fn_->name(), "; use detach()");
    if (t.autograd()) get_autograd_meta(t)->requires_grad_ = false;
    return *this;
  }
  CRESSET_CHECK(is_differentiable_type(t.dtype()), "requires_grad_: expected a floating or complex dtype, got ", t.dtype());
  CRESSET_CHECK(!t.is_inference() || layer_state().inference_mode,
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. clone() it first");
  if (is_leaf()) materialize_autograd_meta(t).requires_grad_ = true;
  return *this;
}

// Of a view whose base has changed since, the history as it was last seen.
bool Tensor::is_leaf() const {
  const AutogradMeta* meta = get_autograd_meta(checked());
  if (FunctionalImpl* f = as_functional(*this)) return f->value().is_leaf();
  if (!meta)
    if (const BatchedImpl* b = as_batched(*this)) return b->value().is_leaf();
  return !meta || !meta->grad_fn_;
}

const intrusive_ptr<autograd::Node>& Tensor::grad_fn() const {
  checked();
  const Tensor& t = physical(*this);
  if (FunctionalImpl* f = as_functional(t)) return f->value().grad_fn();
  return autograd::impl::grad_fn(*t.impl());
}

int64_t Tensor::output_nr() const {
  const AutogradMeta* meta = get_autograd_meta(checked());
  return meta ? meta->output_nr_ : 0;
}

const Tensor& Tensor::grad() const {
  const AutogradMeta* meta = get_autograd_meta(checked());
  if (meta && !meta->grad_.defined() && meta->grad_fn_ && !retains_grad())
    warn("grad: the tensor is not a leaf, so that backward() leaves no gradient here; call retain_grad() before it");
  return meta ? meta->grad_ : no_tensor();
}

Tensor& Tensor::mutable_grad() const { return materialize_autograd_meta(checked()).grad_; }

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph, std::optional<TensorList> inputs) const {
  CRESSET_CHECK(!as_batched(*this), "backward: cannot be called inside of a function under vmap; use func.grad or func.vjp there, ",
                "or call backward() outside");
  CRESSET_CHECK(!inputs || !inputs->empty(), "backward: `inputs` cannot be empty");
  autograd::backward({*this}, {gradient}, retain_graph, create_graph, inputs ? inputs->vec() : autograd::variable_list());
}

Tensor Tensor::detach() const {
  if (const BatchedImpl* b = as_batched(*this)) return around(*b, b->value().detach());
  if (CRESSET_UNLIKELY(as_functional(*this) || dispatch::is_subclass(*this))) return detached_by_entry(*this);
  if (CRESSET_UNLIKELY(dispatch::is_listening()) && !(checked().layers() & ~(kAutogradLayer | kLazyMathLayer)))
    return dispatch::call(kDetach, dispatch::key_of(*this), *this);
  return plainly_detached(*this);
}

Tensor& Tensor::detach_() {
  TensorImpl& t = checked();
  if (BatchedImpl* b = as_batched(*this)) {
    b->adopt(b->value().detach(), b->batch_dim());
    return *this;
  }
  if (layer_state().inference_mode && !t.is_inference()) return *this;  // histories are left alone there
  CRESSET_CHECK(!t.is_view(), "detach_: cannot detach a view in place; use detach() instead");
  if (AutogradMeta* meta = get_autograd_meta(t)) {
    autograd::release_node(std::move(meta->grad_fn_));
    meta->requires_grad_ = false;
    meta->output_nr_ = 0;
    if (meta->extras_) meta->extras_->tangents.clear();
  }
  return *this;
}

void Tensor::retain_grad() const {
  CRESSET_CHECK(requires_grad(), "retain_grad: the tensor does not require grad");
  if (is_leaf()) return;
  if (const BatchedImpl* b = as_batched(*this)) return b->value().retain_grad();
  const auto& node = grad_fn();
  AutogradMeta& meta = materialize_autograd_meta(checked());
  if (meta.retains_grad_) return;
  meta.retains_grad_ = true;
  node->hooks().retain_grad.push_back({meta.output_nr_, weak_intrusive_ptr<TensorImpl>(impl_)});
}

bool Tensor::retains_grad() const {
  const AutogradMeta* meta = get_autograd_meta(checked());
  return meta && meta->retains_grad_ && !is_leaf();
}

unsigned Tensor::register_hook_function(std::function<Tensor(const Tensor&)> hook) const {
  CRESSET_CHECK(requires_grad(), "register_hook: cannot register a hook on a tensor that does not require grad");
  if (const BatchedImpl* b = as_batched(*this)) {
    // The hook sees what the function sees.
    return physical(b->value()).register_hook_function([hook = std::move(hook), like = *this](const Tensor& grad) {
      const Tensor changed = hook(autograd::with_levels_of(grad, like));
      return changed.defined() ? autograd::without_levels_of(changed, like) : changed;
    });
  }
  const auto& node = grad_fn();
  AutogradMeta& meta = materialize_autograd_meta(checked());
  auto& list = meta.extras().hooks;
  if (!list) {
    list = std::make_shared<autograd::TensorHooks>();
    if (node) node->hooks().tensor_hooks.push_back({meta.output_nr_, list});
  }
  list->push_back(std::move(hook));
  return static_cast<unsigned>(list->size() - 1);
}

void Tensor::remove_hook(unsigned position) const {
  const auto list = autograd::impl::hooks(*this);
  check_hook_position(position, list ? list->size() : 0, "remove_hook");
  (*list)[position] = nullptr;
}

bool Tensor::is_view() const { return checked().is_view(); }

const Tensor& Tensor::_base() const {
  static_assert(sizeof(Tensor) == sizeof(intrusive_ptr<TensorImpl>), "a Tensor is its one pointer");
  return reinterpret_cast<const Tensor&>(checked().view_base());
}

Tensor Tensor::variable_data() const {
  if (const BatchedImpl* b = as_batched(*this)) return around(*b, b->value().variable_data());
  if (FunctionalImpl* f = as_functional(*this)) return same_memory(*f, [](const Tensor& t) { return t.variable_data(); });
  if (CRESSET_UNLIKELY(dispatch::is_subclass(*this))) return data_by_class(*this);
  return Tensor(checked().alias(false));
}
Tensor Tensor::tensor_data() const {
  if (const BatchedImpl* b = as_batched(*this)) return around(*b, b->value().tensor_data());
  if (FunctionalImpl* f = as_functional(*this)) return same_memory(*f, [](const Tensor& t) { return t.tensor_data(); });
  if (CRESSET_UNLIKELY(dispatch::is_subclass(*this))) return detached_by_entry(*this);
  return Tensor(checked().alias(true));
}

void Tensor::set_data(const Tensor& other) const {
  TensorImpl& t = checked();
  const TensorImpl& from = other.checked();
  CRESSET_CHECK(!as_batched(*this) && !as_batched(other) && !as_functional(*this) && !as_functional(other),
                "set_data: the data of a tensor cannot be exchanged under vmap or functionalize");
  CRESSET_CHECK(t.layout() == from.layout(), "set_data: incompatible tensors, got layout ", from.layout(), ", expected ", t.layout());
  CRESSET_CHECK(!requires_grad() || is_differentiable_type(from.dtype()),
                "set_data: data of a tensor that requires gradients must be of floating point or complex dtype, got ", from.dtype());
  const bool same_kind = t.dtype() == from.dtype() && t.device() == from.device() && t.sizes() == from.sizes();
  const bool of_class = dispatch::is_subclass(*this);
  t.shallow_copy_from(from);
  if (CRESSET_UNLIKELY(of_class)) {  // the object's class still answers for it
    t.set_backend(dispatch::kSubclassBackend);
    t.set_layer(Layer::LazyMath, true);
  }
  // The accumulator describes the old data.
  if (AutogradMeta* meta = get_autograd_meta(t)) {
    if (!same_kind) meta->grad_accumulator_ = weak_intrusive_ptr<autograd::Node>();
  }
}

const std::string& Tensor::name() const {
  static const std::string none;
  const AutogradMeta* meta = get_autograd_meta(checked());
  return meta && meta->extras_ ? meta->extras_->name : none;
}

namespace autograd {

unsigned register_post_accumulate_grad_hook(const Tensor& t, PostAccumulateHook hook) {
  CRESSET_CHECK(t.requires_grad(), "register_post_accumulate_grad_hook: the tensor does not require grad");
  CRESSET_CHECK(t.is_leaf(), "register_post_accumulate_grad_hook: only leaf tensors accumulate, got the result of ", t.grad_fn()->name());
  auto& list = materialize_autograd_meta(*t.impl()).extras().post_accumulate_hooks;
  list.push_back(std::move(hook));
  return static_cast<unsigned>(list.size() - 1);
}

void remove_post_accumulate_grad_hook(const Tensor& t, unsigned position) {
  auto& list = materialize_autograd_meta(*t.impl()).extras().post_accumulate_hooks;
  check_hook_position(position, list.size(), "remove_post_accumulate_grad_hook");
  list[position] = nullptr;
}

Tensor make_variable(const Tensor& data, bool requires_grad) {
  if (!data.defined()) return Tensor();
  Tensor out = data.variable_data();
  if (requires_grad) out.requires_grad_();
  return out;
}

}  // namespace autograd

}  // namespace cresset
