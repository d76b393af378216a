#pragma once
// Averages of a model's weights over training: PyTorch's torch.optim.swa_utils. Its schedule SWALR is in lr_scheduler.h.

#include "cresset/base/std_function.h"

#include "cresset/nn/module/module.h"

namespace cresset::optim {
namespace swa_utils {

// (average, value, number of values before) -> new average.
using AverageFn = std::function<Tensor(const Tensor& average, const Tensor& value, const Tensor& count)>;
// The same for lists, in place.
using MultiAverageFn = std::function<void(TensorList averages, TensorList values, const Tensor& count)>;

// The mean of all values; decay * average + (1 - decay) * value. Errors: a decay outside [0, 1].
CRESSET_API AverageFn get_swa_avg_fn();
CRESSET_API AverageFn get_ema_avg_fn(double decay = 0.999);
CRESSET_API MultiAverageFn get_swa_multi_avg_fn();
CRESSET_API MultiAverageFn get_ema_multi_avg_fn(double decay = 0.999);

// A copy of a model whose parameters are averages of the model's:
//
//   AveragedModel averaged(net.ptr());
//   ...  averaged.update_parameters(*net);
//   averaged.model_as<NetImpl>().forward(x);
class CRESSET_API AveragedModel : public nn::Module {
 public:
  explicit AveragedModel(const std::shared_ptr<nn::Module>& model, const std::optional<Device>& device = std::nullopt, AverageFn avg_fn = nullptr,
                         bool use_buffers = false);
  AveragedModel(const std::shared_ptr<nn::Module>& model, MultiAverageFn multi_avg_fn, bool use_buffers = false);

  // Takes the parameters of a model of the same structure into the averages; buffers are copied unless they are averaged, too.
  // Errors: another structure; nothing is changed then.
  void update_parameters(const nn::Module& model);
  const std::shared_ptr<nn::Module>& module() const { return module_; }
  // Errors: the model is of another class.
  template <class M> M& model_as() const {
    M* m = dynamic_cast<M*>(module_.get());
    CRESSET_CHECK(m, "AveragedModel: the model is of another class, got ", module_->name());
    return *m;
  }
  int64_t n_averaged() const { return n_averaged_.item<int64_t>(); }

 private:
  AveragedModel(const std::shared_ptr<nn::Module>& model, const std::optional<Device>& device, AverageFn avg_fn, MultiAverageFn multi_avg_fn, bool use_buffers);
  CRESSET_LOCAL std::vector<Tensor> tensors(const nn::Module& model) const;

  std::shared_ptr<nn::Module> module_;
  AverageFn avg_fn_;
  MultiAverageFn multi_avg_fn_;
  bool use_buffers_;
  Tensor n_averaged_;
};

// While it lives the model is in training mode and its batch normalisations compute their statistics anew, as means over all batches.
class CRESSET_API BatchNormStatistics {
 public:
  explicit BatchNormStatistics(nn::Module& model);
  ~BatchNormStatistics();
  BatchNormStatistics(const BatchNormStatistics&) = delete;
  BatchNormStatistics& operator=(const BatchNormStatistics&) = delete;
  bool any() const { return !undo_.empty(); }

 private:
  nn::Module& model_;
  bool was_training_;
  std::vector<std::function<void()>> undo_;
};

// Batches are tensors, or have the input as `data`.
template <class Loader, class Model> void update_bn(Loader&& loader, Model& model) {
  NoGradGuard guard;
  const BatchNormStatistics statistics(*model);
  if (!statistics.any()) return;
  for (auto& batch : loader) {
    if constexpr (std::is_convertible_v<decltype(batch), Tensor>) model->forward(batch);
    else model->forward(batch.data);
  }
}

}  // namespace swa_utils
}  // namespace cresset::optim
