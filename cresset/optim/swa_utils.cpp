#include "cresset/optim/swa_utils.h"

#include "cresset/core/random/generator_scope.h"
#include "cresset/nn/layers/normalization.h"

namespace cresset::optim {
namespace swa_utils {

namespace {

void check_decay(double decay) { CRESSET_CHECK_VALUE(decay >= 0 && decay <= 1, "get_ema_avg_fn: invalid decay value ", decay, ", expected one in [0, 1]"); }

template <class Weight> MultiAverageFn in_place(Weight weight_of, AverageFn general) {
  return [=](TensorList averages, TensorList values, const Tensor& count) {
    NoGradGuard guard;
    const double weight = weight_of(count.item<double>());
    for (size_t i = 0; i < averages.size(); i++) {
      Tensor average = averages[i];
      if (average.is_floating_point() || average.is_complex()) average.lerp_(values[i].to(average.scalar_type()), weight);
      else average.copy_(general(average, values[i], count));
    }
  };
}

// A copy that leaves the stream of random numbers as it is, as the same class in Python does.
std::shared_ptr<nn::Module> copy_without_draws(const nn::Module& model, const std::optional<Device>& device) {
  const DefaultGeneratorScope unchanged(copy_of_default_generator());
  return model.clone(device);
}

template <class Norm> bool renew(nn::Module& module, std::vector<std::function<void()>>& undo) {
  auto* norm = dynamic_cast<Norm*>(&module);
  if (!norm) return false;
  norm->reset_running_stats();
  undo.push_back([norm, before = norm->options.momentum()] { norm->options.momentum(before); });
  norm->options.momentum(std::nullopt);  // a mean with equal weights
  return true;
}

}  // namespace

AverageFn get_swa_avg_fn() {
  return [](const Tensor& average, const Tensor& value, const Tensor& count) {
    NoGradGuard guard;
    return average + (value - average) / (count + 1);
  };
}
AverageFn get_ema_avg_fn(double decay) {
  check_decay(decay);
  return [decay](const Tensor& average, const Tensor& value, const Tensor&) {
    NoGradGuard guard;
    return decay * average + (1 - decay) * value;
  };
}
MultiAverageFn get_swa_multi_avg_fn() {
  return in_place([](double count) { return 1 / (count + 1); }, get_swa_avg_fn());
}
MultiAverageFn get_ema_multi_avg_fn(double decay) {
  check_decay(decay);
  return in_place([decay](double) { return 1 - decay; }, get_ema_avg_fn(decay));
}

AveragedModel::AveragedModel(const std::shared_ptr<nn::Module>& model, const std::optional<Device>& device, AverageFn avg_fn, bool use_buffers)
    : AveragedModel(model, device, std::move(avg_fn), nullptr, use_buffers) {}
AveragedModel::AveragedModel(const std::shared_ptr<nn::Module>& model, MultiAverageFn multi_avg_fn, bool use_buffers)
    : AveragedModel(model, std::nullopt, nullptr, std::move(multi_avg_fn), use_buffers) {}
AveragedModel::AveragedModel(const std::shared_ptr<nn::Module>& model, const std::optional<Device>& device, AverageFn avg_fn, MultiAverageFn multi_avg_fn,
                             bool use_buffers)
    : nn::Module("AveragedModel"),
      module_(copy_without_draws(*model, device)),
      avg_fn_(std::move(avg_fn)),
      multi_avg_fn_(std::move(multi_avg_fn)),
      use_buffers_(use_buffers) {
  register_module("module", module_);
  n_averaged_ = register_buffer("n_averaged", cresset::zeros({}, TensorOptions().dtype(kLong).device(device.value_or(Device(kCPU)))));
}

std::vector<Tensor> AveragedModel::tensors(const nn::Module& model) const {
  std::vector<Tensor> all = model.parameters();
  if (use_buffers_)
    for (const Tensor& b : model.buffers()) all.push_back(b);
  for (Tensor& t : all) t = t.detach();
  return all;
}

void AveragedModel::update_parameters(const nn::Module& model) {
  NoGradGuard guard;
  const std::vector<Tensor> averages = tensors(*module_), buffers = module_->buffers(), theirs = model.buffers();
  std::vector<Tensor> values = tensors(model);
  CRESSET_CHECK_VALUE(values.size() == averages.size() && buffers.size() == theirs.size(), "AveragedModel: expected a model of the same structure, got ",
                      values.size(), " parameters and ", theirs.size(), " buffers, expected ", averages.size(), " and ", buffers.size());
  for (size_t i = 0; i < values.size(); i++) {
    CRESSET_CHECK_VALUE(values[i].sizes() == averages[i].sizes(), "AveragedModel: expected a model of the same structure, got a parameter of shape ",
                        values[i].sizes(), ", expected ", averages[i].sizes());
    values[i] = values[i].to(averages[i].device(), values[i].scalar_type());
  }
  if (n_averaged() == 0) {
    for (size_t i = 0; i < values.size(); i++) Tensor(averages[i]).copy_(values[i]);
  } else if (avg_fn_) {
    for (size_t i = 0; i < values.size(); i++) Tensor(averages[i]).copy_(avg_fn_(averages[i], values[i], n_averaged_.to(averages[i].device(), kLong)));
  } else {
    (multi_avg_fn_ ? multi_avg_fn_ : get_swa_multi_avg_fn())(averages, values, n_averaged_);
  }
  if (!use_buffers_)
    for (size_t i = 0; i < buffers.size(); i++) buffers[i].detach().copy_(theirs[i].detach());
  n_averaged_ += 1;
}

BatchNormStatistics::BatchNormStatistics(nn::Module& model) : model_(model), was_training_(model.is_training()) {
  for (const auto& module : model.modules())
    renew<nn::BatchNorm1dImpl>(*module, undo_) || renew<nn::BatchNorm2dImpl>(*module, undo_) || renew<nn::BatchNorm3dImpl>(*module, undo_);
  if (any()) model.train();
}
BatchNormStatistics::~BatchNormStatistics() {
  for (const auto& undo : undo_) undo();
  if (any()) model_.train(was_training_);
}

}  // namespace swa_utils
}  // namespace cresset::optim
