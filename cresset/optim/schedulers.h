#pragma once
// Learning rate schedules; call step() once an epoch (or batch), after the optimizer's.

#include <vector>

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

class CRESSET_API LRScheduler {
 public:
  // The optimizer must outlive the scheduler.
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  virtual ~LRScheduler();
  void step();
  // The part that changes while it runs; the optimizer's rates are in the optimizer's own archive.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  // The rate of every group after the next step.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;

  unsigned step_count_ = 0;

 private:
  Optimizer& optimizer_;
};

// Multiplies the rates by gamma every step_size steps.
class CRESSET_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;

  const unsigned step_size_;
  const double gamma_;
};

// Multiplies the rates by factor when a measure has not improved for more than `patience` steps.
class CRESSET_API ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };
  // Errors: factor >= 1; a number of minimal rates that is neither 1 nor that of groups.
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, float factor = 0.1, int patience = 10, double threshold = 1e-4,
                             ThresholdMode threshold_mode = rel, int cooldown = 0, const std::vector<float>& min_lr = std::vector<float>(), double eps = 1e-8,
                             bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler();
  void step(float metric);
  // The part that changes while it runs.
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  CRESSET_LOCAL bool is_better(float metric) const;
  CRESSET_LOCAL void reduce_lr(int epoch);

  Optimizer& optimizer_;
  SchedulerMode mode_;
  float factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_;
  std::vector<float> min_lrs_;
  double eps_;
  bool verbose_;
  float best_;
  int bad_epochs_ = 0, cooldown_left_ = 0, last_epoch_ = 0;
};

}  // namespace cresset::optim
