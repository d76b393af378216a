#include "cresset/nn/utils/prune.h"

#include <cmath>
#include <mutex>

#include "cresset/nn/module/tables.h"

namespace cresset::nn::utils::prune {

using nn::detail::Tables;

namespace {

// How one tensor of a module is pruned; its hook owns it, so that it goes when the module does.
struct Pruned {
  std::shared_ptr<BasePruningMethod> method;
  Tensor* member;
  std::string name;
};
struct Known {
  const Module* module;
  std::weak_ptr<Pruned> pruned;
};
struct Registry {
  std::mutex mutex;
  std::vector<Known> all;
};
Registry& registry() {
  static Registry* one = new Registry();
  return *one;
}

// Null where the tensor was never pruned. One that was, and is no more, has no method.
std::shared_ptr<Pruned> find_pruned(const Module& module, const std::string& name) {
  const std::lock_guard<std::mutex> guard(registry().mutex);
  auto& all = registry().all;
  for (size_t i = all.size(); i-- > 0;) {
    const auto pruned = all[i].pruned.lock();
    if (!pruned) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    else if (all[i].module == &module && (name.empty() ? pruned->method != nullptr : pruned->name == name)) return pruned;
  }
  return nullptr;
}

Tensor as_dtype(const Tensor& mask, const Tensor& like) { return mask.to(like.scalar_type()); }

std::vector<int64_t> other_dims(const Tensor& t, int64_t dim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); d++)
    if (d != dim) dims.push_back(d);
  return dims;
}

Tensor ones_of(const Tensor& t) { return ones(t.sizes(), t.options().requires_grad(false)); }

void check_scores(const Tensor& scores, const Tensor& t) {
  CRESSET_CHECK(scores.sizes() == t.sizes(), "prune: importance_scores should have shape ", t.sizes(), ", got ", scores.sizes());
}

Tensor smallest(const Tensor& scores, int64_t count) { return std::get<1>(scores.topk(count, -1, false)); }

}  // namespace

void Amount::check() const {
  CRESSET_CHECK_VALUE(value_ >= 0 && (!is_share_ || value_ <= 1), "prune: amount should be a share in [0, 1] or a number of elements, got ", value_);
}
int64_t Amount::of(int64_t size) const {
  check();
  // Halves go to the even number, as in Python.
  const int64_t count = static_cast<int64_t>(is_share_ ? std::nearbyint(value_ * static_cast<double>(size)) : value_);
  CRESSET_CHECK_VALUE(count <= size, "prune: amount ", count, " is more than the ", size, " elements to prune");
  return count;
}

BasePruningMethod::~BasePruningMethod() = default;

Tensor BasePruningMethod::prune(const Tensor& t, const Tensor& default_mask, const Tensor& importance_scores) {
  const Tensor& scores = importance_scores.defined() ? importance_scores : t;
  check_scores(scores, t);
  return t * compute_mask(scores, default_mask.defined() ? default_mask : ones_of(t));
}

Tensor BasePruningMethod::apply_mask(Module& module) const {
  const Tensor* original = Tables::parameters(module).find(tensor_name_ + "_orig");
  CRESSET_CHECK(!tensor_name_.empty() && original, "prune: module ", module.name(), " has to be pruned");
  return as_dtype(Tables::buffers(module)[tensor_name_ + "_mask"], *original) * *original;
}

PruningContainer::PruningContainer(std::vector<std::shared_ptr<BasePruningMethod>> methods) {
  for (auto& method : methods) add_pruning_method(std::move(method));
}
void PruningContainer::add_pruning_method(std::shared_ptr<BasePruningMethod> method) {
  CRESSET_CHECK_TYPE(method, "PruningContainer: a method is needed, got null");
  if (methods_.empty() && tensor_name().empty()) set_tensor_name(method->tensor_name());
  CRESSET_CHECK_VALUE(method->tensor_name() == tensor_name(), "PruningContainer: can only add methods acting on the parameter '", tensor_name(), "', got '",
                      method->tensor_name(), "'");
  methods_.push_back(std::move(method));
}
Tensor PruningContainer::compute_mask(const Tensor& t, const Tensor& default_mask) {
  CRESSET_CHECK(!methods_.empty(), "PruningContainer: there is no method");
  BasePruningMethod& method = *methods_.back();
  const Tensor mask = as_dtype(default_mask, t);
  if (method.pruning_type() == PruningType::global) return as_dtype(method.compute_mask(t, mask), mask);
  if (method.pruning_type() == PruningType::unstructured) {
    const Tensor chosen = mask.eq(1);
    return mask.masked_scatter(chosen, as_dtype(method.compute_mask(t.masked_select(chosen), mask.masked_select(chosen)), mask));
  }
  int64_t dim = method.pruned_dim();
  if (dim < 0) dim += t.dim();
  const Tensor rows = mask.sum(other_dims(t, dim)).ne(0).nonzero().squeeze(1);
  return mask.index_copy(dim, rows, method.compute_mask(t.index_select(dim, rows), mask.index_select(dim, rows)));
}

// As in PyTorch the largest draws go.
Tensor RandomUnstructured::scores(const Tensor& t) const { return rand_like(t).neg(); }
Tensor L1Unstructured::scores(const Tensor& t) const { return t.abs(); }
Tensor RandomUnstructured::compute_mask(const Tensor& t, const Tensor& default_mask) {
  const int64_t count = amount_.of(t.numel());
  Tensor mask = default_mask.clone(MemoryFormat::Contiguous);
  if (count) mask.view(-1).index_fill_(0, smallest(scores(t).reshape(-1), count), 0);
  return mask;
}

Tensor RandomStructured::scores(const Tensor& t, int64_t dim) const { return rand({t.size(dim)}); }
Tensor LnStructured::scores(const Tensor& t, int64_t dim) const { return t.norm(n_, other_dims(t, dim), false); }
Tensor RandomStructured::compute_mask(const Tensor& t, const Tensor& default_mask) {
  CRESSET_CHECK_VALUE(t.dim() > 1, "prune: structured pruning needs at least two dimensions, got shape ", t.sizes());
  CRESSET_CHECK_INDEX(dim_ >= -t.dim() && dim_ < t.dim(), "prune: dimension ", dim_, " is out of range for shape ", t.sizes());
  const int64_t dim = dim_ < 0 ? dim_ + t.dim() : dim_, count = amount_.of(t.size(dim));
  if (!count) return default_mask;
  return default_mask.index_fill(dim, smallest(scores(t, dim), count), 0);
}

Tensor CustomFromMask::compute_mask(const Tensor&, const Tensor& default_mask) {
  CRESSET_CHECK(default_mask.sizes() == mask_.sizes(), "prune: expected a mask of shape ", default_mask.sizes(), ", got ", mask_.sizes());
  return default_mask * as_dtype(mask_, default_mask);
}

namespace detail {

std::shared_ptr<BasePruningMethod> apply(Module& module, Tensor* member, const std::string& name, std::shared_ptr<BasePruningMethod> method,
                                         const Tensor& importance_scores) {
  CRESSET_CHECK_VALUE(member, "prune: the member '", name, "' of ", module.name(), " is not known: call nn::declare_member(\"", name,
                      "\", &...) for its class");
  method->set_tensor_name(name);
  auto pruned = find_pruned(module, name);
  const bool again = pruned && pruned->method;
  Tensor* found = Tables::parameters(module).find(again ? name + "_orig" : name);
  CRESSET_CHECK_VALUE(found && found->defined(), "prune: ", module.name(), " has no parameter '", name, "'");
  const Tensor original = *found, scores = importance_scores.defined() ? importance_scores : original;
  check_scores(scores, original);
  // Nothing is changed until the mask is there.
  if (again) {
    auto container = std::make_shared<PruningContainer>();
    container->set_tensor_name(name);
    if (const auto* before = dynamic_cast<PruningContainer*>(pruned->method.get()))
      for (const auto& one : *before) container->add_pruning_method(one);
    else container->add_pruning_method(pruned->method);
    container->add_pruning_method(method);
    method = container;
  }
  const Tensor start = again ? Tables::buffers(module)[name + "_mask"].detach() : ones_of(original);
  const Tensor mask = method->compute_mask(scores.detach(), start);
  if (again) {
    Tables::buffers(module)[name + "_mask"] = mask;
  } else {
    module.unregister_parameter(name);
    module.register_parameter(name + "_orig", original, original.requires_grad());
    module.register_buffer(name + "_mask", mask);
  }
  if (!pruned) {
    pruned = std::make_shared<Pruned>(Pruned{method, member, name});
    {
      const std::lock_guard<std::mutex> guard(registry().mutex);
      registry().all.push_back({&module, pruned});
    }
    module.register_forward_pre_hook([pruned](Module& m, std::vector<Tensor>&) {
      if (pruned->method) *pruned->member = pruned->method->apply_mask(m);
    });
  }
  pruned->method = method;
  *member = method->apply_mask(module);
  return method;
}

void remove(Module& module, const std::string& name) {
  const auto pruned = find_pruned(module, name);
  CRESSET_CHECK_VALUE(!name.empty() && pruned && pruned->method, "prune: parameter '", name, "' of module ", module.name(),
                      " is not pruned, so no pruning can be removed");
  const Tensor value = pruned->method->apply_mask(module).detach(), original = Tables::parameters(module)[name + "_orig"];
  original.set_data(value);
  pruned->method.reset();
  module.unregister_parameter(name + "_orig");
  module.unregister_buffer(name + "_mask");
  *pruned->member = module.register_parameter(name, original, original.requires_grad());
}

}  // namespace detail

void global_unstructured(const std::vector<Target>& parameters, BasePruningMethod&& method, const std::vector<Tensor>& importance_scores) {
  CRESSET_CHECK_TYPE(method.pruning_type() == PruningType::unstructured, "global_unstructured: only unstructured methods are supported");
  CRESSET_CHECK_VALUE(importance_scores.empty() || importance_scores.size() == parameters.size(), "global_unstructured: expected scores for ",
                      parameters.size(), " tensors, got ", importance_scores.size());
  std::vector<Tensor> scores, masks;
  for (size_t i = 0; i < parameters.size(); i++) {
    const Target& p = parameters[i];
    CRESSET_CHECK_VALUE(p.member && p.member->defined(), "global_unstructured: ", p.module->name(), " has no tensor '", p.name, "'");
    const bool given = !importance_scores.empty() && importance_scores[i].defined();
    scores.push_back((given ? importance_scores[i] : *p.member).detach().reshape(-1));
    const Tensor* mask = Tables::buffers(*p.module).find(p.name + "_mask");
    masks.push_back((mask ? *mask : ones_of(*p.member)).reshape(-1));
  }
  // It sees what the masks have left. The container does not own it.
  PruningContainer container({std::shared_ptr<BasePruningMethod>(std::shared_ptr<void>(), &method)});
  const Tensor all = container.compute_mask(cat(scores), cat(masks));
  int64_t start = 0;
  for (const Target& p : parameters) {
    const int64_t n = p.member->numel();
    detail::apply(*p.module, p.member, p.name, std::make_shared<CustomFromMask>(all.narrow(0, start, n).view(p.member->sizes())));
    start += n;
  }
}

bool is_pruned(const Module& module) {
  bool found = false;
  module.apply(Module::ConstModuleApplyFunction([&](const Module& m) { found = found || find_pruned(m, "") != nullptr; }));
  return found;
}

}  // namespace cresset::nn::utils::prune
