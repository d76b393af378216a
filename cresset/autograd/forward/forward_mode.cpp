// Levels, tangents, and the layer that takes operators through forward mode; docs/records/0005-forward-mode.md has the reasons.

#include "cresset/autograd/forward/forward_mode.h"

#include <map>
#include <mutex>
#include <unordered_set>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/autograd/meta_extras.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/core/functional.h"
#include "cresset/core/hooks.h"
#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

using impl::get_autograd_meta;

namespace {

thread_local uint64_t t_limit = ~uint64_t{0};

struct Levels {
  struct Level {
    std::vector<weak_intrusive_ptr<ForwardTangent>> tangents;
    size_t clean_at = 1024;
  };
  std::mutex mutex;
  uint64_t last = 0;
  std::map<uint64_t, Level> open;
  // Those made since a level was opened.
  std::vector<weak_intrusive_ptr<TensorImpl>> views;
  size_t views_clean_at = 1024;
};

Levels& levels() {
  static Levels* const all = new Levels;
  return *all;
}

template <class T> void drop_expired(std::vector<weak_intrusive_ptr<T>>& list, size_t& clean_at) {
  if (list.size() < clean_at) return;
  list.erase(std::remove_if(list.begin(), list.end(), [](const auto& t) { return t.expired(); }), list.end());
  clean_at = std::max<size_t>(1024, 2 * list.size());
}

void note_view(TensorImpl& view) {
  if (!view.is_view()) return;
  Levels& all = levels();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.open.empty()) return;
  drop_expired(all.views, all.views_clean_at);
  all.views.emplace_back(intrusive_ptr<TensorImpl>::share(&view));
}

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim(); d++)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

// The tangent in the shape, dtype and memory order of its tensor, so that what is a view of one is a view of the other.
Tensor conformed(const Tensor& tangent, const Tensor& like) {
  Tensor t = tangent;
  if (t.sizes() != like.sizes()) t = t.expand(like.sizes());
  if (t.scalar_type() != like.scalar_type()) t = t.to(like.scalar_type());
  if (t.layout() != Layout::Strided || same_strides(t, like) || !like.impl()->is_non_overlapping_and_dense()) return t;
  return cresset::empty_strided(like.sizes(), like.strides(), t.options()).copy_(t);
}

int64_t storage_numel(const Tensor& t) { return static_cast<int64_t>(t.storage().nbytes() / t.element_size()); }

// The tangent as it is where it lies in its storage as the primal does in its own, else a copy that does: views of the dual and
// views of the tangent then mean the same elements.
Tensor laid_out_as(const Tensor& primal, const Tensor& tangent) {
  if (!primal.has_storage() || !tangent.has_storage() || primal.lacks_data()) return tangent;
  for (int64_t d = 0; d < primal.dim(); d++)
    if (primal.stride(d) == 0 && primal.size(d) > 1) return tangent;
  const int64_t numel = storage_numel(primal);
  if (same_strides(primal, tangent) && primal.storage_offset() == tangent.storage_offset() && numel == storage_numel(tangent)) return tangent;
  return cresset::zeros({numel}, tangent.options()).as_strided(primal.sizes(), primal.strides(), primal.storage_offset()).copy_(tangent);
}

intrusive_ptr<ForwardTangent> new_tangent(uint64_t level, Tensor value) {
  auto made = make_intrusive<ForwardTangent>(std::move(value), level);
  Levels& all = levels();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto at = all.open.find(level);
  if (at == all.open.end()) return nullptr;
  auto& list = at->second.tangents;
  drop_expired(list, at->second.clean_at);
  list.emplace_back(made);
  return made;
}

void install(const Tensor& t, intrusive_ptr<ForwardTangent> tangent) {
  auto& list = impl::materialize_autograd_meta(t).extras().tangents;
  list.erase(std::remove_if(list.begin(), list.end(), [&](const auto& old) { return old->level == tangent->level || !old->value.defined(); }), list.end());
  list.push_back(std::move(tangent));
  t.impl()->set_layer(kTransformLayer, true);
}

// Under functionalize the values carry the tangents too: gradients are recorded of values. `on_value` makes the value of the result, again where the base changes.
Tensor functional_over(const Tensor& t, FunctionalImpl::View::Look on_value) {
  FunctionalImpl* const f = as_functional(t);
  FunctionalImpl::View::Look way = [on_value = std::move(on_value)](const Tensor& value) {
    const ExcludeLayers below(layer_bit(Layer::Functionalize));
    return on_value(value);
  };
  Tensor value = way(f ? f->value() : t);
  if (!f) return Tensor(make_intrusive<FunctionalImpl>(make_intrusive<FunctionalBase>(value), std::vector<FunctionalImpl::View>(), value));
  std::vector<FunctionalImpl::View> views = f->views();
  views.emplace_back(std::move(way), [](const Tensor&, const Tensor& part) { return part; });
  return Tensor(make_intrusive<FunctionalImpl>(f->base(), std::move(views), std::move(value)));
}

Tensor value_of(const Tensor& t) {
  FunctionalImpl* const f = as_functional(t);
  return f ? f->value() : t;
}

void check_level(uint64_t level, const char* op) {
  Levels& all = levels();
  const std::lock_guard<std::mutex> lock(all.mutex);
  CRESSET_CHECK(all.open.count(level), op, ": no dual level ", level, " is open; make and unpack duals inside a dual level");
}

}  // namespace

// ---- tangents of a tensor -------------------------------------------------------------------------------------------------

ForwardTangent* find_tangent(const Tensor& t, uint64_t level) {
  if (!t.defined() || !(t.impl()->layers() & layer_bit(kTransformLayer))) return nullptr;
  const AutogradMeta* meta = get_autograd_meta(t);
  if (!meta || !meta->extras_) return nullptr;
  for (const auto& tangent : meta->extras_->tangents)
    if (tangent->level == level && tangent->value.defined()) return tangent.get();
  return nullptr;
}

uint64_t innermost_level(const Tensor& t, uint64_t limit) {
  if (!t.defined() || !(t.impl()->layers() & layer_bit(kTransformLayer))) return 0;
  const AutogradMeta* meta = get_autograd_meta(t);
  limit = std::min(limit, t_limit);
  uint64_t level = 0;
  if (meta && meta->extras_)
    for (const auto& tangent : meta->extras_->tangents)
      if (tangent->value.defined() && tangent->level <= limit) level = std::max(level, tangent->level);
  return level;
}

void set_tangent(const Tensor& t, uint64_t level, const Tensor& value) {
  auto tangent = new_tangent(level, conformed(value, t));
  if (!tangent) return;
  if (t.requires_grad()) {
    if (const auto& node = t.grad_fn()) node->hooks().tangents.push_back({static_cast<uint32_t>(t.output_nr()), tangent});
  }
  install(t, std::move(tangent));
}

variable_list views_without_tangent(const Tensor& base, uint64_t level) {
  Levels& all = levels();
  variable_list found;
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& weak : all.views) {
    const auto view = weak.lock();
    if (view && view->view_base().get() == base.impl() && !find_tangent(Tensor(view), level)) found.emplace_back(view);
  }
  return found;
}

void copy_tangents(const Tensor& from, const Tensor& to) {
  const AutogradMeta* meta = get_autograd_meta(from);
  if (!meta || !meta->extras_) return;
  for (const auto& tangent : meta->extras_->tangents)
    if (tangent->value.defined() && !find_tangent(to, tangent->level)) install(to, tangent);
}

void restore_tangents(const Tensor& t, const Node& node, uint32_t output_nr) {
  for (const auto& saved : node.hooks_or_null()->tangents)
    if (saved.output_nr == output_nr && saved.tangent->value.defined()) install(t, saved.tangent);
}

// ---- levels and duals ---------------------------------------------------------------------------------------------------

uint64_t enter_dual_level() {
  register_transform_layer();
  Levels& all = levels();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.open[++all.last];
  view_note().store(&note_view);
  return all.last;
}

void exit_dual_level(uint64_t level) {
  Levels& all = levels();
  Levels::Level ended;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto at = all.open.find(level);
    CRESSET_CHECK(at != all.open.end(), "exit_dual_level: no dual level ", level, " is open");
    ended = std::move(at->second);
    all.open.erase(at);
    if (all.open.empty()) {
      view_note().store(nullptr);
      all.views.clear();
    }
  }
  for (const auto& weak : ended.tangents)
    if (const auto tangent = weak.lock()) tangent->value.reset();
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level) {
  CRESSET_CHECK(primal.defined() && tangent.defined(), "make_dual: expected a primal and a tangent, got an undefined tensor");
  CRESSET_CHECK_VALUE(is_differentiable_type(primal.scalar_type()), "make_dual: expected a primal of floating point or complex dtype, got ",
                      primal.scalar_type());
  CRESSET_CHECK_VALUE(is_differentiable_type(tangent.scalar_type()), "make_dual: expected a tangent of floating point or complex dtype, got ",
                      tangent.scalar_type());
  CRESSET_CHECK(primal.sizes() == tangent.sizes(), "make_dual: expected a tangent of the primal's shape ", primal.sizes(), ", got ", tangent.sizes());
  CRESSET_CHECK(primal.is_complex() || !tangent.is_complex(), "make_dual: a real primal of dtype ", primal.scalar_type(),
                " cannot have a complex tangent, got ", tangent.scalar_type());
  CRESSET_CHECK(primal.device() == tangent.device(), "make_dual: expected a tangent on the primal's device ", primal.device(), ", got ", tangent.device());
  if (as_batched(primal) || as_batched(tangent)) {
    // Under vmap the values carry the tangents.
    const Tensor like = batched_as(primal, tangent);
    // Each element of the batch has memory of its own, which may be changed in place.
    const Tensor& values = physical(like);
    const Tensor own = values.is_non_overlapping_and_dense() ? values : values.contiguous();
    return with_levels_of(make_dual(own, without_levels_of(tangent, like), level), like);
  }
  check_level(level, "make_dual");
  if (as_functional(primal) || as_functional(tangent))
    return functional_over(primal, [level, along = value_of(tangent)](const Tensor& value) {
      return find_tangent(value, level) ? cresset::alias(value) : make_dual(value, along, level);
    });
  CRESSET_CHECK(!find_tangent(primal, level), "make_dual: the primal has a tangent at this level already; unpack_dual() it first");
  const Tensor dual = cresset::alias(primal);
  set_tangent(dual, level, laid_out_as(primal, tangent));
  return dual;
}

UnpackedDual unpack_dual(const Tensor& t, uint64_t level) {
  if (as_batched(t)) {
    const UnpackedDual dual = unpack_dual(physical(t), level);
    return {with_levels_of(dual.primal, t), dual.tangent.defined() ? with_levels_of(dual.tangent, t) : Tensor()};
  }
  if (as_functional(t)) {
    const Tensor tangent = tangent_of(t, level);
    return {functional_over(t, [level](const Tensor& value) { return unpack_dual(value, level).primal; }), tangent};
  }
  const ForwardTangent* tangent = find_tangent(t, level);
  const HideTangents outer(level - 1);
  return {cresset::alias(t), tangent ? tangent->value : Tensor()};
}

Tensor tangent_of(const Tensor& t, uint64_t level) {
  if (as_batched(t)) return unpack_dual(t, level).tangent;
  if (as_functional(t)) {
    const Tensor tangent = tangent_of(value_of(t), level);
    return tangent.defined() ? functional_over(tangent, [](const Tensor& value) { return value; }) : tangent;
  }
  const ForwardTangent* tangent = find_tangent(t, level);
  return tangent ? tangent->value : Tensor();
}

Tensor without_history(const Tensor& t) {
  if (as_batched(t)) return with_levels_of(without_history(physical(t)), t);
  if (as_functional(t)) return functional_over(t, without_history);
  const Tensor plain = t.detach();
  copy_tangents(t, plain);
  return plain;
}

bool depends_on_others(const variable_list& given, const variable_list& given_own) {
  const auto behind = [](const Tensor& t) {
    FunctionalImpl* f = as_functional(physical(t));
    return f ? physical(f->value()) : physical(t);
  };
  variable_list tensors, own;
  for (const Tensor& t : given) tensors.push_back(behind(t));
  for (const Tensor& t : given_own) own.push_back(behind(t));
  std::unordered_set<const Node*> seen;
  for (const Tensor& t : own)
    if (const auto accumulator = impl::try_get_grad_accumulator(t)) seen.insert(accumulator.get());
  std::vector<const Node*> next;
  auto visit = [&](const Node* node) {
    if (node && seen.insert(node).second) next.push_back(node);
  };
  for (const Tensor& t : tensors)
    if (t.requires_grad()) {
      if (t.is_leaf() && std::none_of(own.begin(), own.end(), [&](const Tensor& o) { return o.is_same(t); })) return true;
      visit(t.grad_fn().get());
    }
  while (!next.empty()) {
    const Node* node = next.back();
    next.pop_back();
    if (node->is_accumulate_grad()) return true;
    for (const Edge& edge : node->next_edges()) visit(edge.function.get());
  }
  return false;
}

bool has_tangent(const Tensor& t) { return innermost_level(value_of(physical(t))) != 0; }

HideTangents::HideTangents(uint64_t limit) : saved_(t_limit) { t_limit = std::min(t_limit, limit); }
HideTangents::~HideTangents() { t_limit = saved_; }

}  // namespace autograd
}  // namespace cresset
