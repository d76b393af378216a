#include "cresset/optim/grad_scaler.h"

#include "cresset/ops/list_functions.h"
#include "cresset/optim/fields.h"

namespace cresset {
namespace amp {

using optim::detail::read;
using optim::detail::write;

GradScaler::GradScaler(double init_scale, double growth_factor, double backoff_factor, int64_t growth_interval, bool enabled)
    : enabled_(enabled),
      scale_(static_cast<float>(init_scale)),
      growth_factor_(growth_factor),
      backoff_factor_(backoff_factor),
      growth_interval_(growth_interval) {
  CRESSET_CHECK_VALUE(!enabled || growth_factor > 1, "GradScaler: the growth factor must be > 1.0, got ", growth_factor);
  CRESSET_CHECK_VALUE(!enabled || backoff_factor < 1, "GradScaler: the backoff factor must be < 1.0, got ", backoff_factor);
}

// As a tensor of single precision, so that losses in lower precision are promoted as PyTorch promotes them.
Tensor GradScaler::scale(const Tensor& output) {
  return enabled_ ? output * cresset::full({}, scale_, TensorOptions().dtype(kFloat).device(output.device())) : output;
}
std::vector<Tensor> GradScaler::scale(TensorList outputs) {
  std::vector<Tensor> scaled;
  for (const Tensor& t : outputs) scaled.push_back(scale(t));
  return scaled;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!enabled_) return;
  PerOptimizer& state = optimizers_[&optimizer];
  CRESSET_CHECK(state.stage != Stage::unscaled, "GradScaler: unscale_: called twice for this optimizer without an update() between");
  CRESSET_CHECK(state.stage != Stage::stepped, "GradScaler: unscale_() is being called after step()");
  NoGradGuard guard;
  std::vector<Tensor> grads;
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      CRESSET_CHECK_VALUE(p.grad().scalar_type() != kHalf, "GradScaler: attempting to unscale float16 gradients");
      grads.push_back(p.grad().layout() == Layout::Sparse ? p.grad()._values() : p.grad());
    }
  }
  Tensor found = cresset::full({}, 0, kFloat);
  cresset::_amp_foreach_non_finite_check_and_unscale_(grads, found, cresset::full({}, 1 / static_cast<double>(scale_), kFloat));
  state.found = found.item<double>() != 0;
  state.checked = !grads.empty();
  state.stage = Stage::unscaled;
}

Tensor GradScaler::step(optim::Optimizer& optimizer) {
  if (!enabled_) return optimizer.step();
  CRESSET_CHECK(optimizers_[&optimizer].stage != Stage::stepped, "GradScaler: step: called twice without an update() between");
  if (optimizers_[&optimizer].stage == Stage::ready) unscale_(optimizer);
  PerOptimizer& state = optimizers_[&optimizer];
  CRESSET_CHECK(state.checked, "GradScaler: no inf checks were recorded for this optimizer");
  const Tensor result = state.found ? Tensor() : optimizer.step();
  state.stage = Stage::stepped;
  return result;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!enabled_) return;
  if (new_scale) {
    scale_ = static_cast<float>(*new_scale);
    optimizers_.clear();
    return;
  }
  bool checked = false, found = false;
  for (const auto& [optimizer, state] : optimizers_) {
    checked = checked || state.checked;
    found = found || state.found;
  }
  CRESSET_CHECK(checked, "GradScaler: no inf checks were recorded prior to update");
  Tensor scale = cresset::full({}, scale_, kFloat), tracker = cresset::full({}, tracker_, kInt);
  cresset::_amp_update_scale_(scale, tracker, cresset::full({}, found ? 1 : 0, kFloat), growth_factor_, backoff_factor_, growth_interval_);
  scale_ = scale.item<float>();
  tracker_ = tracker.item<int64_t>();
  optimizers_.clear();
}

void GradScaler::save(serialize::OutputArchive& archive) const {
  if (!enabled_) return;
  write(archive, "scale", static_cast<double>(scale_));
  write(archive, "growth_factor", growth_factor_);
  write(archive, "backoff_factor", backoff_factor_);
  write(archive, "growth_interval", growth_interval_);
  write(archive, "_growth_tracker", tracker_);
}
void GradScaler::load(serialize::InputArchive& archive) {
  if (!enabled_) return;
  CRESSET_CHECK(!archive.keys().empty(), "GradScaler: expected a state, got an empty one, which a disabled GradScaler saves");
  double scale = 0, growth = 0, backoff = 0;
  int64_t interval = 0, tracker = 0;
  read(archive, "scale", scale);
  read(archive, "growth_factor", growth);
  read(archive, "backoff_factor", backoff);
  read(archive, "growth_interval", interval);
  read(archive, "_growth_tracker", tracker);
  scale_ = static_cast<float>(scale);
  growth_factor_ = growth;
  backoff_factor_ = backoff;
  growth_interval_ = interval;
  tracker_ = tracker;
}

}  // namespace amp
}  // namespace cresset
