#pragma once
// The schedules of torch.optim.lr_scheduler with Python's names, defaults and numbers. Each sets the rates of its epoch 0 when it is made,
// and those of the next epoch with every step(), which follows the optimizer's. (optim::StepLR and optim::ReduceLROnPlateauScheduler are
// LibTorch's: the first begins a step later, the second computes in single precision.)

#include <string>
#include "cresset/base/std_function.h"

#include "cresset/optim/schedulers.h"

namespace cresset::optim {
namespace lr_scheduler {

class CRESSET_API EpochScheduler : public LRScheduler {
 public:
  int64_t last_epoch() const { return last_epoch_; }
  const std::vector<double>& base_lrs() const { return base_lrs_; }
  std::vector<double> get_last_lr() const { return get_current_lrs(); }
  Optimizer& optimizer() const { return optimizer_; }
  // load: errors for another number of groups.
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;

  explicit EpochScheduler(Optimizer& optimizer);
  // To be called at the end of a constructor: sets the rates of epoch 0.
  void begin();
  std::vector<double> get_lrs() override;
  // The rate of a group at last_epoch(), from the one now set.
  virtual double rate(size_t group, double now) = 0;
  // The same at epoch 0, whatever is set now.
  virtual double first_rate(size_t group, double now) { return rate(group, now); }
  // Called for an epoch before its rates are asked for.
  virtual void enter(int64_t epoch) { last_epoch_ = epoch; }
  virtual void undo() { last_epoch_--; }
  virtual void restart();
  double base(size_t group) const { return base_lrs_[group]; }
  bool is_initial() const { return initial_; }
  std::vector<double> one_per_group(const char* name, const std::vector<double>& values) const;

  Optimizer& optimizer_;
  std::vector<double> base_lrs_;
  int64_t last_epoch_ = -1;
  bool initial_ = false;
};

// A schedule of a formula of cresset/optim/rates.h.
class CRESSET_API FormulaScheduler : public EpochScheduler {
 protected:
  FormulaScheduler(Optimizer& optimizer, const char* formula, std::vector<double> settings)
      : EpochScheduler(optimizer), settings_(std::move(settings)), formula_(formula) {}
  std::vector<double> settings_;

 private:
  double rate(size_t group, double now) override;
  double first_rate(size_t group, double now) override;
  const char* formula_;
};

// The initial rate times a function of the epoch: one function, or one for each group.
class CRESSET_API LambdaLR : public EpochScheduler {
 public:
  using Function = std::function<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Function lr_lambda) : LambdaLR(optimizer, std::vector<Function>(optimizer.param_groups().size(), std::move(lr_lambda))) {}
  // Errors: as many functions as groups are expected.
  LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambdas);

 private:
  double rate(size_t group, double now) override;
  std::vector<Function> functions_;
};

// The last rate times a function of the epoch.
class CRESSET_API MultiplicativeLR : public EpochScheduler {
 public:
  using Function = std::function<double(int64_t)>;
  MultiplicativeLR(Optimizer& optimizer, Function lr_lambda)
      : MultiplicativeLR(optimizer, std::vector<Function>(optimizer.param_groups().size(), std::move(lr_lambda))) {}
  MultiplicativeLR(Optimizer& optimizer, std::vector<Function> lr_lambdas);

 private:
  double rate(size_t group, double now) override;
  std::vector<Function> functions_;
};

// Times gamma every step_size epochs.
class CRESSET_API StepLR : public FormulaScheduler {
 public:
  // Errors: a step_size that is not positive.
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
};

// Times gamma at each of the milestones, once for each time it stands there.
class CRESSET_API MultiStepLR : public FormulaScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const std::vector<int64_t>& milestones, double gamma = 0.1);
};

// Times a factor in [0, 1] for the first total_iters epochs.
class CRESSET_API ConstantLR : public FormulaScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);
};

// Times a factor that goes in a line from start_factor to end_factor.
class CRESSET_API LinearLR : public FormulaScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0, int64_t total_iters = 5);
};

class CRESSET_API ExponentialLR : public FormulaScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);
};

// Falls to 0 as (1 - epoch / total_iters)^power.
class CRESSET_API PolynomialLR : public FormulaScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1.0);
};

// Along half a cosine to eta_min in T_max epochs, and back.
class CRESSET_API CosineAnnealingLR : public FormulaScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0.0);
};

// Along half a cosine to eta_min, again and again: in T_0 epochs, then in T_mult times as many each time.
class CRESSET_API CosineAnnealingWarmRestarts : public EpochScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0.0);
  using LRScheduler::step;
  // Goes to an epoch, which may be a fraction. Errors: a negative one.
  void step(double epoch);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  double rate(size_t group, double now) override;
  void enter(int64_t epoch) override;
  CRESSET_LOCAL void move_to(double epoch);
  int64_t first_, factor_;
  double eta_min_, since_ = -1, period_;
};

struct CRESSET_API CyclicLROptions {
  enum Mode { triangular, triangular2, exp_range };
  CRESSET_ARG(int64_t, step_size_up) = 2000;
  CRESSET_ARG(std::optional<int64_t>, step_size_down) = std::nullopt;  // as many
  CRESSET_ARG(Mode, mode) = triangular;
  CRESSET_ARG(double, gamma) = 1.0;
  // An own height of a cycle, by its number, or by that of steps where scale_by_iterations.
  CRESSET_ARG(std::function<double(double)>, scale_fn) = nullptr;
  CRESSET_ARG(bool, scale_by_iterations) = false;
  // Whether and within which bounds the momentum (or beta1) moves against the rate.
  CRESSET_ARG(bool, cycle_momentum) = true;
  CRESSET_ARG(double, base_momentum) = 0.8;
  CRESSET_ARG(double, max_momentum) = 0.9;
};
// Up and down in lines between two bounds; one for all groups, or one for each.
class CRESSET_API CyclicLR : public EpochScheduler {
 public:
  // Errors: an optimizer without momentum unless cycle_momentum is off.
  CyclicLR(Optimizer& optimizer, std::vector<double> base_lr, std::vector<double> max_lr, CyclicLROptions options = {});

 private:
  double rate(size_t group, double now) override;
  std::vector<double> max_lrs_;
  CyclicLROptions options_;
  double total_size_, step_ratio_;
};

struct CRESSET_API OneCycleLROptions {
  enum Strategy { cos, linear };
  CRESSET_ARG(double, pct_start) = 0.3;
  CRESSET_ARG(Strategy, anneal_strategy) = cos;
  CRESSET_ARG(bool, cycle_momentum) = true;
  CRESSET_ARG(double, base_momentum) = 0.85;
  CRESSET_ARG(double, max_momentum) = 0.95;
  CRESSET_ARG(double, div_factor) = 25.0;
  CRESSET_ARG(double, final_div_factor) = 1e4;
  CRESSET_ARG(bool, three_phase) = false;
};
// One rise to max_lr and a fall far below the initial rate, the momentum against it.
class CRESSET_API OneCycleLR : public EpochScheduler {
 public:
  // Errors: options out of range, an optimizer without momentum; step: more than total_steps.
  OneCycleLR(Optimizer& optimizer, std::vector<double> max_lr, int64_t total_steps, OneCycleLROptions options = {});

 private:
  struct Phase {
    double end;
    int lr_from, lr_to, momentum_from, momentum_to;
  };
  double rate(size_t group, double now) override;
  CRESSET_LOCAL double anneal(double from, double to, double share) const;
  std::vector<double> max_lrs_;
  int64_t total_steps_;
  OneCycleLROptions options_;
  std::vector<Phase> phases_;
};

// Times `factor` when a metric has not become better for more than `patience` epochs.
class CRESSET_API ReduceLROnPlateau {
 public:
  enum Mode { min, max };
  enum ThresholdMode { rel, abs };
  // Errors: a factor of 1 or more; a number of minimal rates that is neither 1 nor that of groups.
  explicit ReduceLROnPlateau(Optimizer& optimizer, Mode mode = min, double factor = 0.1, int64_t patience = 10, double threshold = 1e-4,
                             ThresholdMode threshold_mode = rel, int64_t cooldown = 0, std::vector<double> min_lr = {0}, double eps = 1e-8);
  void step(double metric);
  double best() const { return best_; }
  int64_t num_bad_epochs() const { return bad_epochs_; }
  bool in_cooldown() const { return cooldown_left_ > 0; }
  // The part that changes while it runs.
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  CRESSET_LOCAL bool is_better(double metric) const;

  Optimizer& optimizer_;
  Mode mode_;
  double factor_;
  int64_t patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int64_t cooldown_;
  std::vector<double> min_lrs_;
  double eps_, best_;
  int64_t bad_epochs_ = 0, cooldown_left_ = 0;
};

// To swa_lr within anneal_epochs.
class CRESSET_API SWALR : public EpochScheduler {
 public:
  SWALR(Optimizer& optimizer, std::vector<double> swa_lr, int64_t anneal_epochs = 10, bool linear = false);

 private:
  double rate(size_t group, double now) override;
  std::vector<double> final_lrs_;
  int64_t anneal_epochs_;
  bool linear_;
};

// One after the other: the second begins at the first milestone, and so on.
class CRESSET_API SequentialLR : public EpochScheduler {
 public:
  // Errors: schedulers of another optimizer, another number of milestones than schedulers less one.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<EpochScheduler>> schedulers, std::vector<int64_t> milestones);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override;
  double rate(size_t, double now) override { return now; }
  void restart() override;
  void undo() override;
  std::vector<std::shared_ptr<EpochScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

// Together: each changes what the one before it has set.
class CRESSET_API ChainedScheduler : public EpochScheduler {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<EpochScheduler>> schedulers);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override;
  double rate(size_t, double now) override { return now; }
  void restart() override;
  void undo() override;
  std::vector<std::shared_ptr<EpochScheduler>> schedulers_;
};

}  // namespace lr_scheduler
}  // namespace cresset::optim
