#include "cresset/autograd/variable.h"

#include <sched.h>

#include <mutex>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/batched.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/meta_extras.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/core/functional.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

AutogradMeta::AutogradMeta() = default;
AutogradMeta::~AutogradMeta() { release_node(std::move(grad_fn_)); }

bool AutogradMeta::has_hooks() const { return extras_ && (extras_->hooks || !extras_->post_accumulate_hooks.empty()); }
AutogradMeta::Extras& AutogradMeta::extras() {
  if (!extras_) extras_ = make_owned<Extras>();
  return *extras_;
}

void AutogradMeta::lock() {
  while (locked_.exchange(true, std::memory_order_acquire)) sched_yield();
}

namespace impl {

namespace {

class MetaLock {
 public:
  explicit MetaLock(AutogradMeta& meta) : meta_(meta) { meta_.lock(); }
  ~MetaLock() { meta_.unlock(); }

 private:
  AutogradMeta& meta_;
};

const intrusive_ptr<Node>& no_node() {
  static const intrusive_ptr<Node> none;
  return none;
}

// Records although a scope further out hides the autograd layer.
class IncludeAutograd {
 public:
  IncludeAutograd() : saved_(layer_state().hidden) { layer_state().set_hidden(static_cast<uint8_t>(saved_ & ~kAutogradLayer)); }
  ~IncludeAutograd() { layer_state().set_hidden(saved_); }

 private:
  uint8_t saved_;
};

const char* creation_text(ViewCreation c) {
  switch (c) {
    case ViewCreation::NoGrad: return "created in no_grad mode";
    case ViewCreation::Inference: return "created in inference mode";
    default: return "made as one of several outputs of one operator";
  }
}

}  // namespace

AutogradMeta& materialize_autograd_meta(TensorImpl& t) {
  if (!t.autograd()) {
    t.set_autograd(new AutogradMeta);
    if (!(t.layers() & kAutogradLayer)) t.set_layer(Layer::Autograd, true);
  }
  return *get_autograd_meta(t);
}

bool requires_grad_slow(const TensorImpl& t) {
  if (CRESSET_UNLIKELY(t.is_inference())) return false;
  // The base first: another thread may be giving the view its history again.
  if (t.is_view() && requires_grad(*t.view_base())) return true;
  const AutogradMeta* meta = get_autograd_meta(t);
  if (meta && meta->requires_grad()) return true;
  if (t.is_view()) return false;
  // A functional tensor has a meta of its own where it has a tangent; its history is its value's.
  if (t.layers() & layer_bit(Layer::Functionalize)) {
    if (FunctionalImpl* f = as_functional_slow(t)) return requires_grad(*f->value().impl());
  }
  if (meta) return false;
  const BatchedImpl* b = as_batched_slow(t);
  return b && requires_grad(*b->value().impl());
}

namespace {

// The former history of a tensor, and the hooks that were registered for it: their end may run anything, so that no lock is held then.
struct OldHistory {
  intrusive_ptr<Node> node;
  std::shared_ptr<TensorHooks> hooks;
  OldHistory() = default;
  OldHistory(OldHistory&&) = default;
  OldHistory& operator=(OldHistory&&) = default;
  ~OldHistory() { release_node(std::move(node)); }
};

// Hooks that were registered for the old history stay with it; what retains the gradient follows the tensor.
void move_retain_grad(const Tensor& t, AutogradMeta& meta, OldHistory& old, uint32_t old_nr) {
  if (meta.extras_) old.hooks = std::move(meta.extras_->hooks);
  if (!meta.retains_grad_ || !old.node) return;
  auto& old_list = old.node->hooks().retain_grad;
  for (size_t i = 0; i < old_list.size(); i++) {
    if (old_list[i].output_nr != old_nr || old_list[i].tensor.unsafe_get() != t.impl()) continue;
    meta.grad_fn_->hooks().retain_grad.push_back({meta.output_nr_, old_list[i].tensor});
    old_list.erase(old_list.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

OldHistory exchange_history(const Tensor& t, Edge edge) {
  AutogradMeta& meta = materialize_autograd_meta(t);
  OldHistory old;
  old.node = std::move(meta.grad_fn_);
  const uint32_t old_nr = meta.output_nr_;
  meta.grad_fn_ = std::move(edge.function);
  meta.output_nr_ = edge.input_nr;
  if (CRESSET_UNLIKELY(meta.extras_ || meta.retains_grad_)) move_retain_grad(t, meta, old, old_nr);
  // The history is up to date: the next look at a view must not make it again.
  if (t.impl()->is_view()) t.impl()->set_view_version(t.impl()->version());
  return old;
}

// Several threads may ask for the history of one view: who holds this puts it in place, then the view's version says so.
std::mutex& view_history_mutex() {
  static auto* const m = new std::mutex;
  return *m;
}

const intrusive_ptr<Node>& node_of(const TensorImpl& t) {
  const AutogradMeta* meta = get_autograd_meta(t);
  return meta ? meta->grad_fn_ : no_node();
}

Tensor with_history_of_base(TensorImpl& view) {
  TensorImpl& base = *view.view_base();
  // Recorded whatever scope the caller is in.
  InferenceMode normal(false);
  IncludeAutograd include;
  // The history of a view is not the program's call: modes do not see it.
  const dispatch::ListenScope quiet(dispatch::ListenPlace::below_autograd, nullptr);
  const Tensor from(view.view_base());
  const bool detached = !requires_grad(base);
  // The view keeps a history although its base lost its own: one that leads nowhere.
  Tensor again = replay_view(view, base, detached ? from.detach().requires_grad_(true) : from);
  if (detached)
    for (uint32_t i = 0; i < again.grad_fn()->num_outputs(); i++) again.grad_fn()->set_next_edge(i, Edge());
  return again;
}

// A view that is changed through another name after it was made gets its history from its base again.
const intrusive_ptr<Node>& view_grad_fn(TensorImpl& view) {
  const uint32_t version = view.version();
  if (CRESSET_LIKELY(view.view_version() == version)) return node_of(view);
  if (!requires_grad(*view.view_base()) && !get_autograd_meta(view)) return no_node();
  OldHistory old;
  uint32_t old_nr = 0;
  {
    const std::lock_guard<std::mutex> lock(view_history_mutex());
    if (view.view_version() == version) return node_of(view);
    old.node = node_of(view);
    if (old.node) old_nr = get_autograd_meta(view)->output_nr_;
  }
  if (!old.node && !requires_grad(*view.view_base())) return no_node();
  const ViewCreation creation = view.view_creation();
  CRESSET_CHECK(creation == ViewCreation::Default, old.node ? old.node->name() : "view", ": output ", old_nr, ": A view was ", creation_text(creation),
                " and its base or another view of its base has been modified inplace with gradients on; use an operator that returns a new tensor");
  if (const auto* unknown = dynamic_cast<const NotImplementedBackward*>(old.node.get()))
    CRESSET_CHECK(false, unknown->op(), ": the gradient of the view that it made has no formula, and the view or its base has been modified in place since");
  const Tensor again = with_history_of_base(view);
  const AutogradMeta* made = get_autograd_meta(again);
  CRESSET_INTERNAL_ASSERT(made && made->grad_fn_);
  OldHistory replaced;
  const std::lock_guard<std::mutex> lock(view_history_mutex());
  // Another thread may have been first; what it has put in place stays, as its readers hold it.
  if (view.view_version() != version) replaced = exchange_history(Tensor(intrusive_ptr<TensorImpl>::share(&view)), Edge(made->grad_fn_, made->output_nr_));
  return node_of(view);
}

}  // namespace

const intrusive_ptr<Node>& grad_fn(TensorImpl& t) {
  if (!(t.layers() & kAutogradLayer)) return no_node();
  if (CRESSET_UNLIKELY(t.is_view())) return view_grad_fn(t);
  return node_of(t);
}

intrusive_ptr<Node> grad_accumulator(const Tensor& t) {
  AutogradMeta* meta = get_autograd_meta(t);
  if (!meta) return nullptr;
  CRESSET_CHECK(!meta->grad_fn_, "grad_accumulator: only leaf tensors have one, got the result of ", meta->grad_fn_->name());
  if (!meta->requires_grad_) return nullptr;
  MetaLock lock(*meta);
  if (auto existing = meta->grad_accumulator_.lock()) return existing;
  intrusive_ptr<Node> fresh = make_intrusive<AccumulateGrad>(t);
  meta->grad_accumulator_ = weak_intrusive_ptr<Node>(fresh);
  return fresh;
}

intrusive_ptr<Node> try_get_grad_accumulator(const Tensor& t) {
  AutogradMeta* meta = get_autograd_meta(t);
  if (!meta) return nullptr;
  MetaLock lock(*meta);
  return meta->grad_accumulator_.lock();
}

Edge gradient_edge(const Tensor& t) {
  if (!t.defined() || !(t.impl()->layers() & kAutogradLayer)) return Edge();
  if (const intrusive_ptr<Node>& node = grad_fn(*t.impl())) return Edge(node, get_autograd_meta(t)->output_nr_);
  if (const BatchedImpl* b = as_batched(t)) return gradient_edge(b->value());
  if (FunctionalImpl* f = as_functional(t)) return gradient_edge(f->value());
  return Edge(grad_accumulator(t), 0);
}

void set_gradient_edge(const Tensor& t, Edge edge) { exchange_history(t, std::move(edge)); }

void set_name(const Tensor& t, std::string name) { materialize_autograd_meta(t).extras().name = std::move(name); }

std::shared_ptr<TensorHooks> hooks(const Tensor& t) {
  const AutogradMeta* meta = get_autograd_meta(t.checked());
  return meta && meta->extras_ ? meta->extras_->hooks : nullptr;
}

Tensor replay_view(const TensorImpl& view, const TensorImpl& old_base, const Tensor& base) {
  const int64_t from = old_base.storage_offset(), to = base.storage_offset();
  if (view.dtype() == old_base.dtype()) {
    Tensor t = base.as_strided(view.sizes(), view.strides(), view.storage_offset() - from + to);
    if (view.is_conj() != old_base.is_conj()) t = cresset::_conj(t);
    return view.is_neg() != old_base.is_neg() ? cresset::_neg_view(t) : t;
  }
  const bool parts = is_complex_type(old_base.dtype()) && view.dtype() == to_real_type(old_base.dtype());
  const bool pairs = is_complex_type(view.dtype()) && old_base.dtype() == to_real_type(view.dtype());
  CRESSET_CHECK_NOT_IMPLEMENTED(parts || pairs, "view: a view of dtype ", view.dtype(), " on a tensor of dtype ", old_base.dtype(),
                                " cannot be given a new history; modify it before taking the view");
  if (parts) {
    Tensor t = cresset::view_as_real(base.is_conj() ? cresset::_conj(base) : base);
    t = t.as_strided(view.sizes(), view.strides(), view.storage_offset() - 2 * from + 2 * to);
    return view.is_neg() ? cresset::_neg_view(t) : t;
  }
  // Elements of a complex view are pairs of neighbours in the base.
  DimVector sizes(view.sizes()), strides(view.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  const Tensor t = cresset::view_as_complex(base.as_strided(sizes, strides, 2 * view.storage_offset() - from + to));
  return view.is_conj() ? cresset::_conj(t) : t;
}

}  // namespace impl

}  // namespace autograd
}  // namespace cresset
