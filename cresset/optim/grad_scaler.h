#pragma once
// Scaling of losses, so that gradients that float16 would lose do not vanish: PyTorch's torch.amp.GradScaler.

#include <unordered_map>

#include "cresset/optim/optimizer.h"

namespace cresset {
namespace amp {

// A step is
//
//   optimizer.zero_grad();
//   { autocast region(kCPU, kHalf);  loss = ... }
//   scaler.scale(loss).backward();
//   scaler.step(optimizer);  // left out where a gradient is infinite or NaN
//   scaler.update();
//
// with scaler.unscale_(optimizer) before step where gradients are looked at or clipped.
class CRESSET_API GradScaler {
 public:
  // Errors: growth_factor <= 1, backoff_factor >= 1.
  explicit GradScaler(double init_scale = 65536.0, double growth_factor = 2.0, double backoff_factor = 0.5, int64_t growth_interval = 2000,
                      bool enabled = true);

  Tensor scale(const Tensor& output);
  std::vector<Tensor> scale(TensorList outputs);
  // Once for an optimizer between updates. Errors: a second time, after step; float16 gradients. Nothing is changed then.
  void unscale_(optim::Optimizer& optimizer);
  // The result of the optimizer's step, or an undefined tensor where it was left out. Errors: a second time; no parameter has a gradient.
  Tensor step(optim::Optimizer& optimizer);
  // Moves the scale by what was found, or sets it. Errors: nothing was unscaled since the last update.
  void update(std::optional<double> new_scale = std::nullopt);

  bool is_enabled() const { return enabled_; }
  double get_scale() const { return enabled_ ? scale_ : 1.0; }
  double get_growth_factor() const { return growth_factor_; }
  void set_growth_factor(double factor) { growth_factor_ = factor; }
  double get_backoff_factor() const { return backoff_factor_; }
  void set_backoff_factor(double factor) { backoff_factor_ = factor; }
  int64_t get_growth_interval() const { return growth_interval_; }
  void set_growth_interval(int64_t interval) { growth_interval_ = interval; }

  // Nothing where it is off. load: errors for what a scaler that was off has saved; nothing is changed then.
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  enum class Stage { ready, unscaled, stepped };
  struct PerOptimizer {
    Stage stage = Stage::ready;
    bool checked = false, found = false;  // a gradient; one that is not finite
  };

  bool enabled_;
  float scale_;
  double growth_factor_, backoff_factor_;
  int64_t growth_interval_, tracker_ = 0;
  std::unordered_map<const optim::Optimizer*, PerOptimizer> optimizers_;
};

}  // namespace amp

using amp::GradScaler;

}  // namespace cresset
