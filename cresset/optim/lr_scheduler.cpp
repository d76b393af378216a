#include "cresset/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cresset/optim/adam.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/matrix.h"
#include "cresset/optim/rates.h"
#include "cresset/optim/rmsprop.h"
#include "cresset/optim/sgd.h"

namespace cresset::optim {
namespace lr_scheduler {

namespace {

template <class Options> double* first_beta(OptimizerOptions& options) {
  auto* o = dynamic_cast<Options*>(&options);
  return o ? &std::get<0>(o->betas()) : nullptr;
}
template <class Options> double* momentum_in(OptimizerOptions& options) {
  auto* o = dynamic_cast<Options*>(&options);
  return o ? &o->momentum() : nullptr;
}
// Of a group, or the first of its betas; null where there is neither.
double* momentum_of(OptimizerOptions& options) {
  for (double* (*find)(OptimizerOptions&) : {first_beta<AdamOptions>, first_beta<AdamWOptions>, first_beta<AdamaxOptions>, first_beta<NAdamOptions>,
                                             first_beta<RAdamOptions>, momentum_in<SGDOptions>, momentum_in<RMSpropOptions>, momentum_in<MuonOptions>})
    if (double* momentum = find(options)) return momentum;
  return nullptr;
}
void check_momentum(const char* name, Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups())
    CRESSET_CHECK_VALUE(momentum_of(group.options()), name, ": cycle_momentum: expected an optimizer with momentum or betas");
}

void check_common(const char* name, const Optimizer& optimizer, const std::vector<std::shared_ptr<EpochScheduler>>& schedulers) {
  CRESSET_CHECK_VALUE(!schedulers.empty(), name, ": expects at least one scheduler, but got no scheduler");
  for (const auto& s : schedulers) CRESSET_CHECK_VALUE(s && &s->optimizer() == &optimizer, name, ": expects all schedulers to belong to the same optimizer");
}

void save_parts(const std::vector<std::shared_ptr<EpochScheduler>>& schedulers, serialize::OutputArchive& archive) {
  for (size_t i = 0; i < schedulers.size(); i++) {
    serialize::OutputArchive part;
    schedulers[i]->save(part);
    archive.write("scheduler" + std::to_string(i), part);
  }
}
void load_parts(const std::vector<std::shared_ptr<EpochScheduler>>& schedulers, serialize::InputArchive& archive) {
  for (size_t i = 0; i < schedulers.size(); i++) {
    serialize::InputArchive part;
    archive.read("scheduler" + std::to_string(i), part);
    schedulers[i]->load(part);
  }
}

}  // namespace

// ---- the frame ----------------------------------------------------------------------------------------------------------

EpochScheduler::EpochScheduler(Optimizer& optimizer) : LRScheduler(optimizer), optimizer_(optimizer) {
  for (auto& group : optimizer.param_groups()) {
    if (!group.initial_lr()) group.initial_lr() = group.options().get_lr();
    base_lrs_.push_back(*group.initial_lr());
  }
}

void EpochScheduler::begin() {
  initial_ = true;
  step();
  initial_ = false;
}

std::vector<double> EpochScheduler::get_lrs() {
  CRESSET_CHECK(optimizer_.param_groups().size() == base_lrs_.size(), "LRScheduler: number of parameter groups, got ", optimizer_.param_groups().size(),
                ", expected ", base_lrs_.size());
  enter(last_epoch_ + 1);
  std::vector<double> rates = get_current_lrs();
  for (size_t i = 0; i < rates.size(); i++) rates[i] = rate(i, rates[i]);
  return rates;
}

void EpochScheduler::restart() {
  enter(0);
  auto& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); i++) groups[i].options().set_lr(first_rate(i, groups[i].options().get_lr()));
}

double FormulaScheduler::rate(size_t group, double now) {
  return rates::rate(formula_, {now, base(group), static_cast<double>(last_epoch_), is_initial(), step_count_ == 0}, settings_);
}
double FormulaScheduler::first_rate(size_t group, double now) { return rates::closed_rate(formula_, {now, base(group)}, settings_); }

std::vector<double> EpochScheduler::one_per_group(const char* name, const std::vector<double>& values) const {
  const size_t groups = base_lrs_.size();
  if (values.size() == 1) return std::vector<double>(groups, values[0]);
  CRESSET_CHECK_VALUE(values.size() == groups, name, " must have the same length as the optimizer's parameter groups, got ", values.size(), ", expected ",
                      groups);
  return values;
}

void EpochScheduler::save(serialize::OutputArchive& archive) const {
  detail::write(archive, "last_epoch", last_epoch_);
  detail::write(archive, "step_count", static_cast<int64_t>(step_count_));
  detail::write(archive, "groups", static_cast<int64_t>(base_lrs_.size()));
  for (size_t i = 0; i < base_lrs_.size(); i++) detail::write(archive, "base_lr" + std::to_string(i), base_lrs_[i]);
}
void EpochScheduler::load(serialize::InputArchive& archive) {
  int64_t groups = 0, epoch = 0, steps = 0;
  detail::read(archive, "groups", groups);
  CRESSET_CHECK_VALUE(groups == static_cast<int64_t>(base_lrs_.size()), "LRScheduler: number of parameter groups in the file, got ", groups, ", expected ",
                      base_lrs_.size());
  std::vector<double> rates(base_lrs_.size());
  for (size_t i = 0; i < rates.size(); i++) detail::read(archive, "base_lr" + std::to_string(i), rates[i]);
  detail::read(archive, "last_epoch", epoch);
  detail::read(archive, "step_count", steps);
  base_lrs_ = std::move(rates);
  last_epoch_ = epoch;
  step_count_ = static_cast<unsigned>(steps);
}

// ---- functions and factors ----------------------------------------------------------------------------------------------

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambdas) : EpochScheduler(optimizer), functions_(std::move(lr_lambdas)) {
  CRESSET_CHECK_VALUE(functions_.size() == base_lrs_.size(), "LambdaLR: expected ", base_lrs_.size(), " lr_lambdas, but got ", functions_.size());
  begin();
}
double LambdaLR::rate(size_t group, double) { return base(group) * functions_[group](last_epoch_); }

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<Function> lr_lambdas) : EpochScheduler(optimizer), functions_(std::move(lr_lambdas)) {
  CRESSET_CHECK_VALUE(functions_.size() == base_lrs_.size(), "MultiplicativeLR: expected ", base_lrs_.size(), " lr_lambdas, but got ", functions_.size());
  begin();
}
double MultiplicativeLR::rate(size_t group, double now) { return is_initial() ? now : now * functions_[group](last_epoch_); }

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma) : FormulaScheduler(optimizer, "step", {static_cast<double>(step_size), gamma}) {
  CRESSET_CHECK_VALUE(step_size > 0, "StepLR: step_size must be positive, got ", step_size);
  begin();
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const std::vector<int64_t>& milestones, double gamma) : FormulaScheduler(optimizer, "milestones", {gamma}) {
  settings_.insert(settings_.end(), milestones.begin(), milestones.end());
  begin();
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : FormulaScheduler(optimizer, "constant", {factor, static_cast<double>(total_iters)}) {
  CRESSET_CHECK_VALUE(factor >= 0 && factor <= 1, "ConstantLR: multiplicative factor expected to be between 0 and 1, got ", factor);
  begin();
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : FormulaScheduler(optimizer, "linear", {start_factor, end_factor, static_cast<double>(total_iters)}) {
  CRESSET_CHECK_VALUE(start_factor > 0 && start_factor <= 1, "LinearLR: starting factor expected to be greater than 0 and at most 1, got ", start_factor);
  CRESSET_CHECK_VALUE(end_factor >= 0 && end_factor <= 1, "LinearLR: ending factor expected to be between 0 and 1, got ", end_factor);
  begin();
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : FormulaScheduler(optimizer, "exponential", {gamma}) { begin(); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : FormulaScheduler(optimizer, "polynomial", {static_cast<double>(total_iters), power}) {
  begin();
}

// ---- cosines ------------------------------------------------------------------------------------------------------------

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : FormulaScheduler(optimizer, "cosine", {static_cast<double>(T_max), eta_min}) {
  begin();
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult, double eta_min)
    : EpochScheduler(optimizer), first_(T_0), factor_(T_mult), eta_min_(eta_min), period_(static_cast<double>(T_0)) {
  CRESSET_CHECK_VALUE(T_0 > 0, "CosineAnnealingWarmRestarts: expected positive integer T_0, but got ", T_0);
  CRESSET_CHECK_VALUE(T_mult >= 1, "CosineAnnealingWarmRestarts: expected integer T_mult >= 1, but got ", T_mult);
  begin();
}
double CosineAnnealingWarmRestarts::rate(size_t group, double now) { return rates::rate("restarts", {now, base(group)}, {since_, period_, eta_min_}); }
void CosineAnnealingWarmRestarts::enter(int64_t epoch) {
  if (epoch <= 0) {
    move_to(static_cast<double>(std::max<int64_t>(epoch, 0)));
    return;
  }
  last_epoch_ = epoch;
  std::tie(since_, period_) = rates::next_restart(since_, period_, static_cast<double>(factor_));
}
void CosineAnnealingWarmRestarts::move_to(double epoch) {
  std::tie(since_, period_) = rates::warm_restart(epoch, static_cast<double>(first_), static_cast<double>(factor_));
  last_epoch_ = static_cast<int64_t>(std::floor(epoch));
}
void CosineAnnealingWarmRestarts::step(double epoch) {
  move_to(epoch);
  auto& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); i++) groups[i].options().set_lr(rate(i, groups[i].options().get_lr()));
}
void CosineAnnealingWarmRestarts::save(serialize::OutputArchive& archive) const {
  EpochScheduler::save(archive);
  detail::write(archive, "since", since_);
  detail::write(archive, "period", period_);
}
void CosineAnnealingWarmRestarts::load(serialize::InputArchive& archive) {
  double since = 0, period = 0;
  detail::read(archive, "since", since);
  detail::read(archive, "period", period);
  EpochScheduler::load(archive);
  since_ = since;
  period_ = period;
}

// ---- cycles -------------------------------------------------------------------------------------------------------------

CyclicLR::CyclicLR(Optimizer& optimizer, std::vector<double> base_lr, std::vector<double> max_lr, CyclicLROptions options)
    : EpochScheduler(optimizer), max_lrs_(one_per_group("CyclicLR: max_lr", max_lr)), options_(std::move(options)) {
  const std::vector<double> lows = one_per_group("CyclicLR: base_lr", base_lr);
  if (options_.cycle_momentum()) check_momentum("CyclicLR", optimizer);
  const double up = static_cast<double>(options_.step_size_up()), down = static_cast<double>(options_.step_size_down().value_or(options_.step_size_up()));
  total_size_ = up + down;
  step_ratio_ = up / (up + down);
  auto& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); i++) groups[i].options().set_lr(lows[i]);
  base_lrs_ = lows;
  begin();
}
double CyclicLR::rate(size_t group, double) {
  const double epoch = static_cast<double>(last_epoch_);
  const double cycle = std::floor(1 + epoch / total_size_);
  double scale = 1.0;
  if (options_.scale_fn()) scale = options_.scale_fn()(options_.scale_by_iterations() ? epoch : cycle);
  else if (options_.mode() == CyclicLROptions::triangular2) scale = rates::rate("triangular2", {}, {cycle, options_.gamma()});
  else if (options_.mode() == CyclicLROptions::exp_range) scale = rates::rate("exp_range", {}, {epoch, options_.gamma()});
  const double height = rates::rate("cycle", {0, 0, epoch}, {total_size_, step_ratio_}) * scale;
  if (options_.cycle_momentum())
    *momentum_of(optimizer_.param_groups()[group].options()) = options_.max_momentum() - (options_.max_momentum() - options_.base_momentum()) * height;
  return base(group) + (max_lrs_[group] - base(group)) * height;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, std::vector<double> max_lr, int64_t total_steps, OneCycleLROptions options)
    : EpochScheduler(optimizer), max_lrs_(one_per_group("OneCycleLR: max_lr", max_lr)), total_steps_(total_steps), options_(std::move(options)) {
  const double share = options_.pct_start(), steps = static_cast<double>(total_steps);
  CRESSET_CHECK_VALUE(total_steps > 0, "OneCycleLR: expected positive integer total_steps, but got ", total_steps);
  CRESSET_CHECK_VALUE(share >= 0 && share <= 1, "OneCycleLR: expected float between 0 and 1 pct_start, but got ", share);
  if (options_.cycle_momentum()) check_momentum("OneCycleLR", optimizer);
  // Rates and momenta by number: 0 initial and high, 1 highest and low, 2 last.
  phases_.push_back({share * steps - 1, 0, 1, 0, 1});
  if (options_.three_phase()) {
    phases_.push_back({2 * share * steps - 2, 1, 0, 1, 0});
    phases_.push_back({steps - 1, 0, 2, 0, 0});
  } else {
    phases_.push_back({steps - 1, 1, 2, 1, 0});
  }
  auto& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); i++) {
    base_lrs_[i] = max_lrs_[i] / options_.div_factor();
    groups[i].initial_lr() = base_lrs_[i];
  }
  begin();
}
double OneCycleLR::anneal(double from, double to, double share) const {
  return rates::rate("anneal", {}, {options_.anneal_strategy() == OneCycleLROptions::linear ? 1.0 : 0.0, from, to, share});
}
double OneCycleLR::rate(size_t group, double) {
  CRESSET_CHECK_VALUE(last_epoch_ <= total_steps_, "OneCycleLR: tried to step ", last_epoch_, " times, the number of total steps is ", total_steps_);
  std::vector<double> ends;
  for (const Phase& p : phases_) ends.push_back(p.end);
  const auto [at, share] = rates::one_cycle_phase(static_cast<double>(last_epoch_), ends);
  const Phase* phase = &phases_[at];
  const double rates[] = {base(group), max_lrs_[group], base(group) / options_.final_div_factor()};
  const double momenta[] = {options_.max_momentum(), options_.base_momentum()};
  if (options_.cycle_momentum())
    *momentum_of(optimizer_.param_groups()[group].options()) = anneal(momenta[phase->momentum_from], momenta[phase->momentum_to], share);
  return anneal(rates[phase->lr_from], rates[phase->lr_to], share);
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, Mode mode, double factor, int64_t patience, double threshold, ThresholdMode threshold_mode,
                                     int64_t cooldown, std::vector<double> min_lr, double eps)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(std::move(min_lr)),
      eps_(eps),
      best_((mode == min ? 1 : -1) * std::numeric_limits<double>::infinity()) {
  CRESSET_CHECK_VALUE(factor < 1, "ReduceLROnPlateau: factor should be < 1.0, got ", factor);
  const size_t groups = optimizer.param_groups().size();
  if (min_lrs_.size() == 1) min_lrs_.assign(groups, min_lrs_.front());
  CRESSET_CHECK_VALUE(min_lrs_.size() == groups, "ReduceLROnPlateau: expected ", groups, " min_lrs, got ", min_lrs_.size());
}
bool ReduceLROnPlateau::is_better(double metric) const {
  const double bound = rates::rate("better", {best_}, {mode_ == max ? 1.0 : 0.0, threshold_mode_ == rel ? 1.0 : 0.0, threshold_});
  return mode_ == max ? metric > bound : metric < bound;
}
void ReduceLROnPlateau::step(double metric) {
  auto& groups = optimizer_.param_groups();
  CRESSET_CHECK(groups.size() == min_lrs_.size(), "ReduceLROnPlateau: number of parameter groups, got ", groups.size(), ", expected ", min_lrs_.size());
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
  if (bad_epochs_ <= patience_) return;
  for (size_t i = 0; i < groups.size(); i++) groups[i].options().set_lr(rates::rate("plateau", {groups[i].options().get_lr()}, {factor_, min_lrs_[i], eps_}));
  cooldown_left_ = cooldown_;
  bad_epochs_ = 0;
}

void ReduceLROnPlateau::save(serialize::OutputArchive& archive) const {
  detail::write(archive, "best", best_);
  detail::write(archive, "num_bad_epochs", bad_epochs_);
  detail::write(archive, "cooldown_counter", cooldown_left_);
}
void ReduceLROnPlateau::load(serialize::InputArchive& archive) {
  double best = 0;
  int64_t bad = 0, cooldown = 0;
  detail::read(archive, "best", best);
  detail::read(archive, "num_bad_epochs", bad);
  detail::read(archive, "cooldown_counter", cooldown);
  best_ = best;
  bad_epochs_ = bad;
  cooldown_left_ = cooldown;
}

SWALR::SWALR(Optimizer& optimizer, std::vector<double> swa_lr, int64_t anneal_epochs, bool linear)
    : EpochScheduler(optimizer), final_lrs_(one_per_group("SWALR: swa_lr", swa_lr)), anneal_epochs_(anneal_epochs), linear_(linear) {
  CRESSET_CHECK_VALUE(anneal_epochs >= 0, "SWALR: SWALR: expected anneal_epochs of at least 0, got ", anneal_epochs);
  begin();
}
double SWALR::rate(size_t group, double now) {
  return rates::rate("swa", {now}, {final_lrs_[group], static_cast<double>(anneal_epochs_), linear_ ? 1.0 : 0.0, static_cast<double>(step_count_)});
}

// ---- several of them ----------------------------------------------------------------------------------------------------

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<EpochScheduler>> schedulers, std::vector<int64_t> milestones)
    : EpochScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  check_common("SequentialLR", optimizer, schedulers_);
  CRESSET_CHECK_VALUE(milestones_.size() == schedulers_.size() - 1, "SequentialLR: expects one milestone less than schedulers, got ", milestones_.size(),
                      " and ", schedulers_.size());
  last_epoch_ = 0;
  // Making the schedulers stepped each of them: back to the beginning, and only the first one goes.
  for (auto& group : optimizer.param_groups()) group.options().set_lr(*group.initial_lr());
  for (const auto& s : schedulers_) s->undo();
  EpochScheduler& first = *schedulers_.front();
  if (dynamic_cast<SequentialLR*>(&first) || dynamic_cast<ChainedScheduler*>(&first)) return;
  first.step_count_ = 0;
  first.begin();
}
std::vector<double> SequentialLR::get_lrs() {
  last_epoch_++;
  const auto after = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_);
  const size_t now = static_cast<size_t>(after - milestones_.begin());
  if (now > 0 && milestones_[now - 1] == last_epoch_) schedulers_[now]->restart();
  else schedulers_[now]->step();
  return get_current_lrs();
}
void SequentialLR::restart() {
  for (const auto& s : schedulers_) s->restart();
}
void SequentialLR::undo() {
  for (const auto& s : schedulers_) s->undo();
  last_epoch_--;
}
void SequentialLR::save(serialize::OutputArchive& archive) const {
  EpochScheduler::save(archive);
  save_parts(schedulers_, archive);
}
void SequentialLR::load(serialize::InputArchive& archive) {
  load_parts(schedulers_, archive);
  EpochScheduler::load(archive);
}

namespace {
Optimizer& optimizer_of(const std::vector<std::shared_ptr<EpochScheduler>>& schedulers) {
  CRESSET_CHECK_VALUE(!schedulers.empty() && schedulers.front(), "ChainedScheduler: expects at least one scheduler, but got no scheduler");
  return schedulers.front()->optimizer();
}
}  // namespace

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<EpochScheduler>> schedulers)
    : EpochScheduler(optimizer_of(schedulers)), schedulers_(std::move(schedulers)) {
  check_common("ChainedScheduler", optimizer_, schedulers_);
}
std::vector<double> ChainedScheduler::get_lrs() {
  for (const auto& s : schedulers_) s->step();
  return get_current_lrs();
}
void ChainedScheduler::restart() {
  for (const auto& s : schedulers_) s->restart();
}
void ChainedScheduler::undo() {
  for (const auto& s : schedulers_) s->undo();
}
void ChainedScheduler::save(serialize::OutputArchive& archive) const {
  EpochScheduler::save(archive);
  save_parts(schedulers_, archive);
}
void ChainedScheduler::load(serialize::InputArchive& archive) {
  load_parts(schedulers_, archive);
  EpochScheduler::load(archive);
}

}  // namespace lr_scheduler
}  // namespace cresset::optim
