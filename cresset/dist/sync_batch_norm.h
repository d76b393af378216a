#pragma once
// Batch normalisation over the batches of all processes of a group.

#include "cresset/autograd/function.h"
#include "cresset/dist/group/process_group.h"
#include "cresset/nn/layers/normalization.h"
#include "cresset/nn/module/containers.h"
#include "cresset/nn/module/tables.h"

namespace cresset::nn {

namespace detail {

using GroupPtr = intrusive_ptr<distributed::ProcessGroup>;

inline void sum_now(const GroupPtr& group, const Tensor& t) {
  std::vector<Tensor> list = {t};
  distributed::AllreduceOptions options;
  options.asyncOp = false;
  group->allreduce(list, options)->wait();
}

// The gradient of a sum over all ranks is the sum of their gradients.
struct SumNode final : autograd::CustomNode {
  SumNode(GroupPtr g, const Tensor& like) : CustomNode(nullptr, "AllReduce"), group(std::move(g)), sizes(like.sizes().vec()), options(like.options()) {}
  std::string name() const override { return "AllReduceBackward"; }
  const GroupPtr group;
  const std::vector<int64_t> sizes;
  const TensorOptions options;

 protected:
  autograd::variable_list apply(autograd::variable_list&& grads) override {
    Tensor sum = grads[0].defined() ? grads[0].clone(MemoryFormat::Contiguous) : zeros(sizes, options.requires_grad(false));
    sum_now(group, sum);
    return {sum};
  }
};

inline Tensor sum_over_ranks(const GroupPtr& group, const Tensor& t) {
  auto node = make_intrusive<SumNode>(group, t);
  const autograd::variable_list inputs = {t};
  const bool recorded = node->start(inputs, {true});
  autograd::variable_list outputs = {t.detach().clone(MemoryFormat::Contiguous)};
  sum_now(group, outputs[0]);
  node->finish(inputs, outputs, recorded);
  return outputs[0];
}

}  // namespace detail

// Normalises every channel of (N, C, ...) over the batches of all ranks; without a group of several, over its own. The gradients are those
// of one process that has the whole batch. Errors: fewer than two dimensions.
class SyncBatchNormImpl : public BatchNorm2dImpl {
 public:
  explicit SyncBatchNormImpl(const BatchNormOptions& options, intrusive_ptr<distributed::ProcessGroup> process_group = nullptr);
  Tensor forward(const Tensor& input);
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  // The module with every BatchNorm in it replaced by a SyncBatchNorm that has its parameters, buffers and options: itself, or what stands
  // for a BatchNorm. Errors, before anything is replaced: a BatchNorm that a module of your own keeps in a member; make it a SyncBatchNorm there.
  static std::shared_ptr<Module> convert_sync_batchnorm(std::shared_ptr<Module> module,
                                                        const intrusive_ptr<distributed::ProcessGroup>& process_group = nullptr);

  intrusive_ptr<distributed::ProcessGroup> process_group;

 protected:
  void check_input(const Tensor& input) const override;
  const char* class_name() const override;
};
CRESSET_MODULE(SyncBatchNorm);

namespace detail {

template <class Norm> std::shared_ptr<SyncBatchNormImpl> made_of(Module& module, const GroupPtr& group) {
  auto* norm = module.as<Norm>();
  if (!norm) return nullptr;
  auto sync = std::make_shared<SyncBatchNormImpl>(norm->options, group);
  for (auto* table : {&Tables::parameters, &Tables::buffers}) table(*sync) = table(*norm);
  sync->weight = norm->weight;
  sync->bias = norm->bias;
  sync->running_mean = norm->running_mean;
  sync->running_var = norm->running_var;
  sync->num_batches_tracked = norm->num_batches_tracked;
  sync->train(norm->is_training());
  return sync;
}
// Null for what is no BatchNorm, or one of several processes already.
inline std::shared_ptr<SyncBatchNormImpl> synchronised(Module& module, const GroupPtr& group) {
  if (module.as<SyncBatchNormImpl>()) return nullptr;
  auto sync = made_of<BatchNorm1dImpl>(module, group);
  if (!sync) sync = made_of<BatchNorm2dImpl>(module, group);
  if (!sync) sync = made_of<BatchNorm3dImpl>(module, group);
  return sync;
}

inline bool holds_by_name(const Module& m) { return m.as<SequentialImpl>() || m.as<ModuleListImpl>() || m.as<ModuleDictImpl>(); }

inline void check_members(const Module& module) {
  for (const auto& child : module.named_children()) {
    CRESSET_CHECK(holds_by_name(module) || !synchronised(*child.value(), nullptr), "convert_sync_batchnorm: ", module.name(), " keeps the BatchNorm '",
                  child.key(), "' in a member: make it a SyncBatchNorm there");
    check_members(*child.value());
  }
}

inline void convert_children(Module& module, const GroupPtr& group) {
  auto& children = Tables::children(module);
  for (size_t i = 0; i < children.size(); i++) {
    const auto sync = synchronised(*children[i].value(), group);
    if (!sync) {
      convert_children(*children[i].value(), group);
      continue;
    }
    module.replace_module(children[i].key(), sync);
    if (auto* sequential = module.as<SequentialImpl>()) *(sequential->begin() + static_cast<std::ptrdiff_t>(i)) = AnyModule(sync);
    if (auto* list = module.as<ModuleListImpl>()) *(list->begin() + static_cast<std::ptrdiff_t>(i)) = sync;
  }
}

}  // namespace detail

inline SyncBatchNormImpl::SyncBatchNormImpl(const BatchNormOptions& o, detail::GroupPtr group) : BatchNorm2dImpl(o), process_group(std::move(group)) {}

inline Tensor SyncBatchNormImpl::forward(const Tensor& input) {
  const bool of_batch = is_training() || !running_mean.defined();
  if (!process_group || process_group->getSize() == 1 || !of_batch) return BatchNorm2dImpl::forward(input);
  check_input(input);
  const Tensor x = input.to(promote_types(input.scalar_type(), kFloat));
  std::vector<int64_t> dims, shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = -1;
  for (int64_t d = 0; d < x.dim(); d++)
    if (d != 1) dims.push_back(d);
  const TensorOptions plain = x.options().requires_grad(false);
  const Tensor own = full({1}, static_cast<double>(x.numel() / std::max<int64_t>(x.size(1), 1)), plain);
  const Tensor totals = detail::sum_over_ranks(process_group, cat({x.sum(dims), own}));
  const Tensor count = totals.narrow(0, x.size(1), 1).detach(), mean = totals.narrow(0, 0, x.size(1)) / count;
  const Tensor centred = x - mean.view(shape);
  const Tensor var = detail::sum_over_ranks(process_group, (centred * centred).sum(dims)) / count;
  if (is_training() && running_mean.defined()) {
    NoGradGuard guard;
    num_batches_tracked.add_(1);
    const double factor = options.momentum() ? *options.momentum() : 1.0 / static_cast<double>(num_batches_tracked.item<int64_t>());
    running_mean.lerp_(mean.to(running_mean.scalar_type()), factor);
    running_var.lerp_((var * (count / (count - 1))).to(running_var.scalar_type()), factor);
  }
  Tensor out = centred * (var + options.eps()).rsqrt().view(shape);
  if (weight.defined()) out = out * weight.view(shape);
  if (bias.defined()) out = out + bias.view(shape);
  return out.to(input.scalar_type());
}

inline std::shared_ptr<Module> SyncBatchNormImpl::clone(const std::optional<Device>& device) const {
  const auto copy = std::make_shared<SyncBatchNormImpl>(options, process_group);
  detail::Tables::copy_state(*this, *copy, device);
  return copy;
}

inline std::shared_ptr<Module> SyncBatchNormImpl::convert_sync_batchnorm(std::shared_ptr<Module> module, const detail::GroupPtr& group) {
  CRESSET_CHECK(module, "convert_sync_batchnorm: the module is empty");
  if (auto sync = detail::synchronised(*module, group)) return sync;
  detail::check_members(*module);
  detail::convert_children(*module, group);
  return module;
}

inline void SyncBatchNormImpl::check_input(const Tensor& input) const {
  CRESSET_CHECK_VALUE(input.dim() >= 2, "SyncBatchNorm: expected an input of at least two dimensions, got shape ", input.sizes());
}
inline const char* SyncBatchNormImpl::class_name() const { return "SyncBatchNorm"; }

}  // namespace cresset::nn
