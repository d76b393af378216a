#include "cresset/optim/matrix.h"

#include <optional>

#include "cresset/optim/elementwise_frame.h"

namespace cresset::optim {

using detail::check_not_negative;
using detail::zeros_beside;

using Params = std::vector<Tensor>;

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
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, "Adafactor: expected weight_decay of at least 0, got ", o.weight_decay());
}
static void start(const Tensor& p, AdafactorParamState& s, const AdafactorOptions&) {
  CRESSET_CHECK(!p.is_complex(), "Adafactor: expected real parameters, got complex ones");
  if (p.dim() < 2) {
    s.variance(zeros_beside(p));
    return;
  }
  DimVector rows(p.sizes().begin(), p.sizes().end()), columns = rows;
  rows[rows.size() - 1] = 1;
  columns[columns.size() - 2] = 1;
  s.row_var(cresset::zeros(rows, p.options())).col_var(cresset::zeros(columns, p.options()));
}
static void move(const detail::StepLists<AdafactorParamState>& l, const AdafactorOptions& o) {
  detail::StepLists<AdafactorParamState> matrices, vectors;
  for (size_t i = 0; i < l.params.size(); i++) (l.params[i].dim() > 1 ? matrices : vectors).add(l.params[i], l.states[i]);
  const std::optional<double> guard = o.eps1() < 0 ? std::nullopt : std::optional<double>(o.eps1());
  const auto apply = [&](const auto& some, const std::vector<Tensor>& rows, const std::vector<Tensor>& columns, const std::vector<Tensor>& variances) {
    cresset::_fused_adafactor_(some.params, some.grads, rows, columns, variances, some.steps(), o.lr(), o.beta2_decay(), guard, o.eps2(), o.d(),
                               o.weight_decay(), o.maximize());
  };
  if (!matrices.params.empty()) apply(matrices, matrices.list([](auto& s) { return s.row_var(); }), matrices.list([](auto& s) { return s.col_var(); }), {});
  if (!vectors.params.empty()) apply(vectors, {}, {}, vectors.list([](auto& s) { return s.variance(); }));
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
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, "Muon: expected weight_decay of at least 0, got ", o.weight_decay());
  CRESSET_CHECK_VALUE(o.adjust_lr_fn() == "original" || o.adjust_lr_fn() == "match_rms_adamw", "Muon: adjust learning rate function \"", o.adjust_lr_fn(),
                      "\" is not supported, expected \"original\" or \"match_rms_adamw\"");
  CRESSET_CHECK_VALUE(o.ns_steps() < 100, "Muon: number of steps must be less than 100, got ", o.ns_steps());
  for (const Tensor& p : params) CRESSET_CHECK_VALUE(p.dim() == 2, "Muon: only supports 2D parameters, got one of shape ", p.sizes());
}
static void start(const Tensor& p, MuonParamState& s, const MuonOptions&) {
  CRESSET_CHECK(!p.is_complex(), "Muon: expected real parameters, got complex ones");
  s.momentum_buffer(zeros_beside(p));
}

static void move(const detail::StepLists<MuonParamState>& l, const MuonOptions& o) {
  const auto [a, b, c] = o.ns_coefficients();
  const double coefficients[] = {a, b, c};
  cresset::_fused_muon_(l.params, l.grads, l.list([](auto& s) { return s.momentum_buffer(); }), o.lr(), o.weight_decay(), o.momentum(), o.nesterov(),
                        coefficients, o.eps(), o.ns_steps(), o.adjust_lr_fn(), o.maximize());
}

CRESSET_ELEMENTWISE_OPTIMIZER(Adafactor)
CRESSET_ELEMENTWISE_OPTIMIZER(Muon)

}  // namespace cresset::optim
