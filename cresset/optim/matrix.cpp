#include "cresset/optim/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cresset/optim/elementwise_frame.h"

namespace cresset::optim {

using detail::check_not_negative;
using detail::zeros_beside;

using Params = std::vector<Tensor>;

static double epsilon_of(ScalarType t) {
  switch (t) {
    case kHalf: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    case kFloat: return std::numeric_limits<float>::epsilon();
    default: return std::numeric_limits<double>::epsilon();
  }
}

// ---- Adafactor ----------------------------------------------------------------------------------------------------------

template <class F> static void fields(AdafactorOptions& o, F&& f) {
  f("lr", o.lr());
  f("beta2_decay", o.beta2_decay());
  f("eps1", o.eps1());
  f("eps2", o.eps2());
  f("d", o.d());
  f("weight_decay", o.weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(AdafactorParamState& s, F&& f) {
  f("step", s.step());
  f("row_var", s.row_var());
  f("col_var", s.col_var());
  f("variance", s.variance());
}
static void check(const AdafactorOptions& o, const Params&) {
  CRESSET_CHECK_VALUE(o.lr() >= 0, "Adafactor: learning rate should be >= 0 but is: ", o.lr());
  CRESSET_CHECK_VALUE(o.beta2_decay() <= 0, "Adafactor: beta2_decay should be <= 0 but is: ", o.beta2_decay());
  CRESSET_CHECK_VALUE(o.eps2() >= 0, "Adafactor: epsilon2 should be >= 0 but is: ", o.eps2());
  CRESSET_CHECK_VALUE(o.d() >= 1, "Adafactor: clipping threshold d should be >= 1 but is: ", o.d());
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, "Adafactor: weight_decay should be >= 0 but is: ", o.weight_decay());
}
static void start(const Tensor& p, AdafactorParamState& s, const AdafactorOptions&) {
  CRESSET_CHECK(!p.is_complex(), "Adafactor does not support complex parameters");
  if (p.dim() < 2) {
    s.variance(zeros_beside(p));
    return;
  }
  DimVector rows(p.sizes().begin(), p.sizes().end()), columns = rows;
  rows[rows.size() - 1] = 1;
  columns[columns.size() - 2] = 1;
  s.row_var(cresset::zeros(rows, p.options())).col_var(cresset::zeros(columns, p.options()));
}
static void update(Tensor& p, const Tensor& grad, AdafactorParamState& s, const AdafactorOptions& o) {
  const double steps = static_cast<double>(s.step()), numel = static_cast<double>(p.numel());
  const double guard = o.eps1() < 0 ? epsilon_of(p.scalar_type()) : o.eps1();
  const double weight = std::pow(steps, o.beta2_decay());
  const double rate = std::max(o.eps2(), p.norm(2).item<double>() / std::pow(numel, 0.5)) * std::min(o.lr(), std::pow(steps, -0.5));
  if (o.weight_decay() != 0) p.mul_(1 - o.lr() * o.weight_decay());
  const Tensor squares = grad.square();
  Tensor average;
  if (p.dim() > 1) {
    s.row_var().lerp_(squares.mean(-1, true), weight);
    s.col_var().lerp_(squares.mean(-2, true), weight);
    average = cresset::matmul(s.row_var(), s.col_var()) / s.row_var().mean(-2, true).clamp_(guard);
  } else {
    average = s.variance().lerp_(squares, weight);
  }
  const Tensor change = grad / average.clamp(guard * guard).sqrt_();
  const double excess = std::max(1.0, change.norm(2).item<double>() / (std::pow(numel, 0.5) * o.d()));
  p.add_(change, -rate / excess);
}

// ---- Muon ---------------------------------------------------------------------------------------------------------------

template <class F> static void fields(MuonOptions& o, F&& f) {
  f("lr", o.lr());
  f("weight_decay", o.weight_decay());
  f("momentum", o.momentum());
  f("nesterov", o.nesterov());
  f("ns_coefficient1", o.ns_coefficients()[0]);
  f("ns_coefficient3", o.ns_coefficients()[1]);
  f("ns_coefficient5", o.ns_coefficients()[2]);
  f("eps", o.eps());
  f("ns_steps", o.ns_steps());
  bool match = o.adjust_lr_fn() == "match_rms_adamw";
  f("match_rms_adamw", match);
  o.adjust_lr_fn(match ? "match_rms_adamw" : "original");
  f("maximize", o.maximize());
}
template <class F> static void fields(MuonParamState& s, F&& f) {
  f("step", s.step());
  f("momentum_buffer", s.momentum_buffer());
}
static void check(const MuonOptions& o, const Params& params) {
  CRESSET_CHECK_VALUE(o.lr() >= 0, "Muon: learning rate should be >= 0 but is: ", o.lr());
  CRESSET_CHECK_VALUE(o.momentum() >= 0, "Muon: momentum should be >= 0 but is: ", o.momentum());
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, "Muon: weight decay should be >= 0 but is: ", o.weight_decay());
  CRESSET_CHECK_VALUE(o.adjust_lr_fn() == "original" || o.adjust_lr_fn() == "match_rms_adamw", "Muon: adjust learning rate function \"",
                      o.adjust_lr_fn(), "\" is not supported, expected \"original\" or \"match_rms_adamw\"");
  CRESSET_CHECK_VALUE(o.ns_steps() < 100, "Muon: number of steps must be less than 100, got ", o.ns_steps());
  for (const Tensor& p : params) CRESSET_CHECK_VALUE(p.dim() == 2, "Muon: only supports 2D parameters, got one of shape ", p.sizes());
}
static void start(const Tensor& p, MuonParamState& s, const MuonOptions&) {
  CRESSET_CHECK(!p.is_complex(), "Muon does not support complex parameters");
  s.momentum_buffer(zeros_beside(p));
}

// Close to U V^T of the matrix's singular value decomposition, by a quintic Newton-Schulz iteration in bfloat16.
static Tensor orthogonalized(const Tensor& matrix, const MuonOptions& o) {
  const auto [a, b, c] = o.ns_coefficients();
  Tensor x = matrix.to(kBFloat16);
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = x.t();
  x = x / x.norm().clamp(o.eps());
  for (int64_t i = 0; i < o.ns_steps(); i++) {
    const Tensor gram = x.matmul(x.t());
    x = cresset::addmm(x, cresset::addmm(gram, gram, gram, b, c), x, a);
  }
  return tall ? x.t() : x;
}
static void update(Tensor& p, const Tensor& grad, MuonParamState& s, const MuonOptions& o) {
  const Tensor average = s.momentum_buffer().lerp_(grad, 1 - o.momentum());
  const Tensor change = o.nesterov() ? grad.lerp(average, o.momentum()) : average;
  const double rows = static_cast<double>(p.size(0)), columns = static_cast<double>(p.size(1));
  const double scale = o.adjust_lr_fn() == "original" ? std::pow(std::max(1.0, rows / columns), 0.5) : 0.2 * std::pow(std::max(rows, columns), 0.5);
  p.mul_(1 - o.lr() * o.weight_decay());
  p.add_(orthogonalized(change, o).to(p.scalar_type()), -o.lr() * scale);
}

CRESSET_ELEMENTWISE_OPTIMIZER(Adafactor)
CRESSET_ELEMENTWISE_OPTIMIZER(Muon)

}  // namespace cresset::optim
