#include "cresset/optim/schedulers.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "cresset/optim/fields.h"

namespace cresset::optim {

LRScheduler::~LRScheduler() = default;

void LRScheduler::step() {
  const std::vector<double> rates = get_lrs();
  auto& groups = optimizer_.param_groups();
  CRESSET_CHECK(rates.size() == groups.size(), "LRScheduler: number of learning rates, got ", rates.size(), ", expected ", groups.size());
  for (size_t i = 0; i < groups.size(); i++) groups[i].options().set_lr(rates[i]);
  step_count_++;
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> rates;
  for (const auto& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

void LRScheduler::save(serialize::OutputArchive& archive) const { detail::write(archive, "step_count", static_cast<int64_t>(step_count_)); }
void LRScheduler::load(serialize::InputArchive& archive) {
  int64_t steps = 0;
  detail::read(archive, "step_count", steps);
  step_count_ = static_cast<unsigned>(steps);
}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma) : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  CRESSET_CHECK_VALUE(step_size > 0, "StepLR: step_size must be positive");
}

std::vector<double> StepLR::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  if (step_count_ == 0 || step_count_ % step_size_ != 0) return rates;
  for (double& rate : rates) rate *= gamma_;
  return rates;
}

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, float factor, int patience, double threshold,
                                                       ThresholdMode threshold_mode, int cooldown, const std::vector<float>& min_lr, double eps, bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<float>::max() : -std::numeric_limits<float>::max()) {
  CRESSET_CHECK_VALUE(factor < 1, "ReduceLROnPlateau: factor must be below 1, got ", factor);
  const size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) min_lrs_.assign(groups, 0);
  if (min_lrs_.size() == 1) min_lrs_.assign(groups, min_lrs_.front());
  CRESSET_CHECK_VALUE(min_lrs_.size() == groups, "ReduceLROnPlateau: number of minimal rates, got ", min_lrs_.size(), ", expected ", groups);
}
ReduceLROnPlateauScheduler::~ReduceLROnPlateauScheduler() = default;

bool ReduceLROnPlateauScheduler::is_better(float metric) const {
  if (threshold_mode_ == rel) { return mode_ == min ? metric < best_ * (1.0 - threshold_) : metric > best_ * (1.0 + threshold_); }
  return mode_ == min ? metric < best_ - threshold_ : metric > best_ + threshold_;
}

void ReduceLROnPlateauScheduler::step(float metric) {
  last_epoch_++;
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    bad_epochs_++;
  }
  if (cooldown_left_ > 0) {
    cooldown_left_--;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ > patience_) {
    reduce_lr(last_epoch_);
    cooldown_left_ = cooldown_;
    bad_epochs_ = 0;
  }
}

void ReduceLROnPlateauScheduler::save(serialize::OutputArchive& archive) const {
  detail::write(archive, "best", static_cast<double>(best_));
  detail::write(archive, "num_bad_epochs", static_cast<int64_t>(bad_epochs_));
  detail::write(archive, "cooldown_counter", static_cast<int64_t>(cooldown_left_));
  detail::write(archive, "last_epoch", static_cast<int64_t>(last_epoch_));
}
void ReduceLROnPlateauScheduler::load(serialize::InputArchive& archive) {
  double best = 0;
  int64_t bad = 0, cooldown = 0, epoch = 0;
  detail::read(archive, "best", best);
  detail::read(archive, "num_bad_epochs", bad);
  detail::read(archive, "cooldown_counter", cooldown);
  detail::read(archive, "last_epoch", epoch);
  best_ = static_cast<float>(best);
  bad_epochs_ = static_cast<int>(bad);
  cooldown_left_ = static_cast<int>(cooldown);
  last_epoch_ = static_cast<int>(epoch);
}

void ReduceLROnPlateauScheduler::reduce_lr(int epoch) {
  auto& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); i++) {
    const double old_rate = groups[i].options().get_lr();
    const double new_rate = std::max(old_rate * factor_, static_cast<double>(min_lrs_[i]));
    if (old_rate - new_rate <= eps_) continue;
    groups[i].options().set_lr(new_rate);
    if (verbose_) std::printf("epoch %d: reducing the learning rate of group %zu to %.4e\n", epoch, i, new_rate);
  }
}

}  // namespace cresset::optim
