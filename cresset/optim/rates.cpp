#include "cresset/optim/rates.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cresset/base/error.h"

namespace cresset::optim::rates {

namespace {

constexpr double kPi = 3.14159265358979323846;

double half_cosine(double share) { return (1 + std::cos(kPi * share)) / 2; }

double step(const Point& at, const Settings& a) { return at.epoch == 0 || std::fmod(at.epoch, a[0]) != 0 ? at.now : at.now * a[1]; }
double step_closed(const Point& at, const Settings& a) { return at.base * std::pow(a[1], std::floor(at.epoch / a[0])); }

double milestones(const Point& at, const Settings& a) {
  const auto times = std::count(a.begin() + 1, a.end(), at.epoch);
  return times == 0 ? at.now : at.now * std::pow(a[0], times);
}
double milestones_closed(const Point& at, const Settings& a) {
  return at.base * std::pow(a[0], std::count_if(a.begin() + 1, a.end(), [&](double milestone) { return milestone <= at.epoch; }));
}

double constant(const Point& at, const Settings& a) {
  if (at.epoch == 0) return at.now * a[0];
  return at.epoch == a[1] ? at.now * (1.0 / a[0]) : at.now;
}
double constant_closed(const Point& at, const Settings& a) { return at.base * (at.epoch < a[1] ? a[0] : 1); }

double linear(const Point& at, const Settings& a) {
  if (at.epoch == 0) return at.now * a[0];
  if (at.initial || at.epoch > a[2]) return at.now;
  const double rise = a[1] - a[0];
  return at.now * (1.0 + rise / (a[2] * a[0] + (at.epoch - 1) * rise));
}
double linear_closed(const Point& at, const Settings& a) { return at.base * (a[0] + (a[1] - a[0]) * (at.epoch <= 0 ? 0 : std::min(a[2], at.epoch) / a[2])); }

double exponential(const Point& at, const Settings& a) { return at.initial || at.epoch == 0 ? at.now : at.now * a[0]; }
double exponential_closed(const Point& at, const Settings& a) { return at.base * std::pow(a[0], at.epoch); }

double polynomial(const Point& at, const Settings& a) {
  if (at.initial || at.epoch == 0 || at.epoch > a[0]) return at.now;
  return at.now * std::pow((1.0 - at.epoch / a[0]) / (1.0 - (at.epoch - 1) / a[0]), a[1]);
}
double polynomial_closed(const Point& at, const Settings& a) { return at.base * (at.epoch <= 0 ? 1 : std::pow(1.0 - std::min(a[0], at.epoch) / a[0], a[1])); }

double cosine_closed(const Point& at, const Settings& a) { return a[1] + (at.base - a[1]) * half_cosine(at.epoch / a[0]); }
double cosine(const Point& at, const Settings& a) {
  if (at.initial || at.epoch == 0) return at.now;
  if (at.restarted) return cosine_closed(at, a);
  // The rate is eta_min, from which no factor leads away.
  if (std::fmod(at.epoch - 1 - a[0], 2 * a[0]) == 0) return at.now + (at.base - a[1]) * (1 - std::cos(kPi / a[0])) / 2;
  return (1 + std::cos(kPi * at.epoch / a[0])) / (1 + std::cos(kPi * (at.epoch - 1) / a[0])) * (at.now - a[1]) + a[1];
}
double restarts(const Point& at, const Settings& a) { return a[2] + (at.base - a[2]) * half_cosine(a[0] / a[1]); }

double cycle(const Point& at, const Settings& a) {
  const double x = 1.0 + at.epoch / a[0] - std::floor(1 + at.epoch / a[0]);
  return x <= a[1] ? x / a[1] : (x - 1) / (a[1] - 1);
}
double triangular2(const Point&, const Settings& a) { return 1 / std::pow(2.0, a[0] - 1); }
double exp_range(const Point&, const Settings& a) { return std::pow(a[1], a[0]); }
double anneal(const Point&, const Settings& a) { return a[0] != 0 ? (a[2] - a[1]) * a[3] + a[1] : a[2] + (a[1] - a[2]) / 2.0 * (std::cos(kPi * a[3]) + 1); }

double swa_share(double step, const Settings& a) {
  const double t = std::clamp(step / std::max(1.0, a[1]), 0.0, 1.0);
  return a[2] != 0 ? t : (1 - std::cos(kPi * t)) / 2;
}
double swa(const Point& at, const Settings& a) {
  const double steps = a[1] == 0 ? std::max(1.0, a[3]) : a[3];
  const double here = swa_share(steps, a), before = swa_share(steps - 1, a), start = before == 1 ? a[0] : (at.now - before * a[0]) / (1 - before);
  return a[0] * here + start * (1 - here);
}

double plateau(const Point& at, const Settings& a) {
  const double lower = std::max(at.now * a[0], a[1]);
  return at.now - lower > a[2] ? lower : at.now;
}
double better(const Point& at, const Settings& a) {
  const double change = a[0] != 0 ? a[2] : -a[2];
  return a[1] != 0 ? at.now * (1.0 + change) : at.now + change;
}

struct Named {
  std::string_view name;
  size_t settings;  // at least
  Formula chained, closed;
};
constexpr Named kFormulas[] = {{"step", 2, step, step_closed},
                               {"milestones", 1, milestones, milestones_closed},
                               {"constant", 2, constant, constant_closed},
                               {"linear", 3, linear, linear_closed},
                               {"exponential", 1, exponential, exponential_closed},
                               {"polynomial", 2, polynomial, polynomial_closed},
                               {"cosine", 2, cosine, cosine_closed},
                               {"restarts", 3, restarts, restarts},
                               {"cycle", 2, cycle, cycle},
                               {"triangular2", 2, triangular2, triangular2},
                               {"exp_range", 2, exp_range, exp_range},
                               {"anneal", 4, anneal, anneal},
                               {"swa", 4, swa, swa},
                               {"plateau", 3, plateau, plateau},
                               {"better", 3, better, better}};

const Named& named(std::string_view name, const Settings& a) {
  for (const Named& formula : kFormulas) {
    if (formula.name != name) continue;
    CRESSET_CHECK_VALUE(a.size() >= formula.settings, "rates: ", std::string(name), ": expected ", formula.settings, " settings, got ", a.size());
    return formula;
  }
  CRESSET_CHECK_VALUE(false, "rates: expected the name of a formula, got ", std::string(name));
  return kFormulas[0];
}

}  // namespace

double rate(std::string_view name, const Point& at, const Settings& a) { return named(name, a).chained(at, a); }
double closed_rate(std::string_view name, const Point& at, const Settings& a) { return named(name, a).closed(at, a); }

std::pair<double, double> warm_restart(double epoch, double first, double factor) {
  CRESSET_CHECK_VALUE(epoch >= 0, "CosineAnnealingWarmRestarts: expected epoch of at least 0, got ", epoch);
  if (epoch < first) return {epoch, first};
  if (factor == 1) return {std::fmod(epoch, first), first};
  const double longer = std::pow(factor, std::floor(std::log(epoch / first * (factor - 1) + 1) / std::log(factor)));
  return {epoch - first * (longer - 1) / (factor - 1), first * longer};
}
std::pair<double, double> next_restart(double since, double period, double factor) {
  return since + 1 >= period ? std::pair(since + 1 - period, period * factor) : std::pair(since + 1, period);
}

std::pair<size_t, double> one_cycle_phase(double epoch, const Settings& ends) {
  size_t phase = 0;
  while (phase + 1 < ends.size() && epoch > ends[phase]) phase++;
  const double begin = phase == 0 ? 0 : ends[phase - 1];
  return {phase, (epoch - begin) / (ends[phase] - begin)};
}

}  // namespace cresset::optim::rates
