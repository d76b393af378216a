#pragma once
// The formulas of learning rate schedules in numbers alone: C++'s schedulers and Python's call them. `Point` says where a schedule stands,
// `a` holds its settings in the order that each formula names. A chained formula makes the rate of an epoch from that of the epoch before,
// a closed one from the first rate, at any epoch.

#include <string_view>
#include <utility>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::optim::rates {

struct Point {
  double now = 0;   // the rate set at present
  double base = 0;  // the first rate of the group
  double epoch = 0;
  bool initial = false;    // while the schedule is made
  bool restarted = false;  // set back to its beginning, as within SequentialLR
};
using Settings = std::vector<double>;
using Formula = double (*)(const Point& at, const Settings& a);

// step: step_size, gamma; milestones: gamma, milestone...; constant: factor, total_iters; linear: start_factor, end_factor, total_iters;
// exponential: gamma; polynomial: total_iters, power; cosine: T_max, eta_min; restarts: epochs since the restart and to the next, eta_min.
// Not rates, but numbers that they are made of: cycle (total_size, step_ratio) is the height of a cycle between 0 and 1; triangular2 and
// exp_range (x, gamma) scale it; anneal (linear or cosine, start, end, share) lies between start and end; swa: swa_lr, anneal_epochs,
// linear, steps taken. plateau: factor, lowest rate, least change; better (largest or smallest, relative, threshold) is the bound that a
// metric must pass to be better than `now`.
// Errors: ValueError for another name, or for another number of settings.
CRESSET_API double rate(std::string_view name, const Point& at, const Settings& a);
CRESSET_API double closed_rate(std::string_view name, const Point& at, const Settings& a);

// Epochs since the last restart, and from it to the next, at an epoch of cosine annealing with warm restarts.
CRESSET_API std::pair<double, double> warm_restart(double epoch, double first, double factor);
// The same one epoch later.
CRESSET_API std::pair<double, double> next_restart(double since, double period, double factor);
// The phase of a one-cycle schedule whose phases end at `ends`, and the share of it that is over.
CRESSET_API std::pair<size_t, double> one_cycle_phase(double epoch, const Settings& ends);

}  // namespace cresset::optim::rates
