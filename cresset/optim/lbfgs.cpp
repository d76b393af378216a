#include "cresset/optim/lbfgs.h"

#include <cmath>

#include "cresset/ops/list_functions.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/lbfgs_state.h"
#include "cresset/optim/line_search.h"

namespace cresset::optim {

void LBFGSOptions::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "lr", lr());
  detail::write(archive, "max_iter", max_iter());
  detail::write(archive, "max_eval", max_eval().value_or(max_iter() * 5 / 4));
  detail::write(archive, "tolerance_grad", tolerance_grad());
  detail::write(archive, "tolerance_change", tolerance_change());
  detail::write(archive, "history_size", history_size());
  archive.write("line_search_fn", line_search_fn() ? serialize::ArchiveValue(*line_search_fn()) : serialize::ArchiveValue());
}
void LBFGSOptions::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "lr", lr());
  detail::read(archive, "max_iter", max_iter());
  detail::read(archive, "tolerance_grad", tolerance_grad());
  detail::read(archive, "tolerance_change", tolerance_change());
  detail::read(archive, "history_size", history_size());
  serialize::ArchiveValue value;
  max_eval(archive.try_read("max_eval", value) && !value.is_none() ? std::optional<int64_t>(value.to_int()) : std::nullopt);
  line_search_fn(archive.try_read("line_search_fn", value) && !value.is_none() ? std::optional<std::string>(value.to_string()) : std::nullopt);
}

namespace {

void write_list(serialize::OutputArchive& archive, const std::string& key, const std::deque<Tensor>& list) {
  detail::write(archive, key + "_size", static_cast<int64_t>(list.size()));
  for (size_t i = 0; i < list.size(); i++) detail::write(archive, key + "_" + std::to_string(i), list[i]);
}
void read_list(serialize::InputArchive& archive, const std::string& key, std::deque<Tensor>& list) {
  serialize::ArchiveValue stored;
  const int64_t size = archive.try_read(key + "_size", stored) ? stored.to_int() : 0;  // Python writes no empty lists
  list.clear();
  for (int64_t i = 0; i < size; i++) {
    list.emplace_back();
    archive.read(key + "_" + std::to_string(i), list.back());
  }
}

// Python keeps some numbers as tensors or the other way round, and leaves out what no step has set yet.
double read_number(serialize::InputArchive& archive, const std::string& key) {
  Tensor tensor;
  if (archive.try_read(key, tensor)) return tensor.item<double>();
  serialize::ArchiveValue value;
  return archive.try_read(key, value) && !value.is_none() ? value.to_double() : 0;
}

}  // namespace

void LBFGSParamState::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "func_evals", func_evals());
  detail::write(archive, "n_iter", n_iter());
  detail::write(archive, "t", t());
  detail::write(archive, "prev_loss", prev_loss());
  detail::write(archive, "d", d());
  detail::write(archive, "H_diag", H_diag());
  detail::write(archive, "prev_flat_grad", prev_flat_grad());
  write_list(archive, "old_dirs", old_dirs());
  write_list(archive, "old_stps", old_stps());
  write_list(archive, "ro", ro());
}
void LBFGSParamState::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "func_evals", func_evals());
  detail::read(archive, "n_iter", n_iter());
  t(read_number(archive, "t"));
  prev_loss(read_number(archive, "prev_loss"));
  detail::read(archive, "d", d());
  detail::read(archive, "H_diag", H_diag());
  if (!H_diag().defined() && d().defined()) H_diag(cresset::full({}, read_number(archive, "H_diag"), d().options()));
  detail::read(archive, "prev_flat_grad", prev_flat_grad());
  read_list(archive, "old_dirs", old_dirs());
  read_list(archive, "old_stps", old_stps());
  read_list(archive, "ro", ro());
}

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults) : Optimizer(param_groups, std::make_unique<LBFGSOptions>(defaults)) {
  CRESSET_CHECK_VALUE(param_groups_.size() == 1, "LBFGS: one parameter group is supported, got ", param_groups_.size());
}

std::unique_ptr<OptimizerParamState> LBFGS::make_state() const { return std::make_unique<LBFGSParamState>(); }

Tensor LBFGS::flat_grad() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : param_groups_.front().params())
    parts.push_back(p.grad().defined() ? p.grad().detach().reshape({-1}) : cresset::zeros({p.numel()}, p.options().requires_grad(false)));
  return cresset::cat(parts);
}

void LBFGS::add_to_params(double step_size, const Tensor& direction) {
  int64_t at = 0;
  for (Tensor& p : param_groups_.front().params()) {
    p.add_(direction.narrow(0, at, p.numel()).view(p.sizes()), step_size);
    at += p.numel();
  }
}

std::vector<Tensor> LBFGS::copy_params() const {
  std::vector<Tensor> copies;
  for (const Tensor& p : param_groups_.front().params()) copies.push_back(p.detach().clone());
  return copies;
}
void LBFGS::restore_params(const std::vector<Tensor>& values) {
  for (size_t i = 0; i < values.size(); i++) param_groups_.front().params()[i].copy_(values[i]);
}

double LBFGS::evaluate_at(const LossClosure& closure, const std::vector<Tensor>& start, double step_size, const Tensor& direction, Tensor* grad) {
  add_to_params(step_size, direction);
  const double loss = call(closure).item<double>();
  *grad = flat_grad();
  restore_params(start);
  return loss;
}

namespace {

// -H * grad, of the remembered pairs.
Tensor direction(LBFGSParamState& state, const Tensor& grad) {
  const auto listed = [](const auto& kept) { return std::vector<Tensor>(kept.begin(), kept.end()); };
  return cresset::_lbfgs_direction(grad, listed(state.old_dirs()), listed(state.old_stps()), listed(state.ro()), state.H_diag().item())[0];
}

}  // namespace

Tensor LBFGS::step(LossClosure closure) {
  NoGradGuard guard;
  CRESSET_CHECK(closure != nullptr, "LBFGS: step needs a closure that recomputes the loss");
  const auto& o = static_cast<const LBFGSOptions&>(param_groups_.front().options());
  CRESSET_CHECK(!o.line_search_fn() || *o.line_search_fn() == "strong_wolfe", "LBFGS: only 'strong_wolfe' is supported as line search, got '",
                o.line_search_fn().value_or(""), "'");
  const int64_t max_eval = o.max_eval().value_or(o.max_iter() * 5 / 4);
  // One state for all, kept with the first parameter.
  auto& state = state_of<LBFGSParamState>(param_groups_.front().params().front());

  const Tensor first_loss = call(closure);
  double loss = first_loss.item<double>();
  int64_t evaluations = 1;
  state.func_evals()++;
  Tensor grad = flat_grad();
  bool converged = grad.abs().max().item<double>() <= o.tolerance_grad();
  if (converged) return first_loss;

  Tensor& d = state.d();
  double& t = state.t();
  for (int64_t n = 1; n <= o.max_iter(); n++) {
    state.n_iter()++;
    if (state.n_iter() == 1) {
      d = grad.neg();
      state.old_dirs().clear();
      state.old_stps().clear();
      state.ro().clear();
      state.H_diag(cresset::ones({}, grad.options()));
    } else {
      const Tensor y = grad.sub(state.prev_flat_grad()), s = d.mul(t), ys = y.dot(s);
      if (ys.item<double>() > 1e-10) {
        if (static_cast<int64_t>(state.old_dirs().size()) == o.history_size()) {
          state.old_dirs().pop_front();
          state.old_stps().pop_front();
          state.ro().pop_front();
        }
        state.old_dirs().push_back(y);
        state.old_stps().push_back(s);
        state.ro().push_back(ys.reciprocal());
        state.H_diag(ys / y.dot(y));
      }
      d = direction(state, grad);
    }
    state.prev_flat_grad(grad.clone());
    state.prev_loss(loss);

    const bool single = grad.scalar_type() == kFloat;
    detail::StepNumber rate = o.lr();
    t = o.lr();
    if (state.n_iter() == 1) {
      const Tensor first = 1.0 / grad.abs().sum();
      if (first.item<double>() < 1) rate = {t = (first * o.lr()).item<double>(), single};
    }
    const double slope = grad.dot(d).item<double>();
    if (slope > -o.tolerance_change()) break;

    int64_t line_evaluations = 0;
    if (o.line_search_fn()) {
      const std::vector<Tensor> start = copy_params();
      auto evaluate = [&](detail::StepNumber step_size) {
        detail::LinePoint p;
        p.t = step_size;
        p.f = evaluate_at(closure, start, step_size.value, d, &p.g);
        p.gtd = {p.g.dot(d).item<double>(), single};
        return p;
      };
      detail::LinePoint origin;
      origin.f = loss;
      origin.g = grad;
      origin.gtd = {slope, single};
      const auto found = detail::strong_wolfe(evaluate, origin, rate, {d.abs().max().item<double>(), single}, o.tolerance_change());
      loss = found.best.f.value;
      grad = found.best.g;
      t = found.best.t.value;
      line_evaluations = found.evaluations;
      add_to_params(t, d);
      converged = grad.abs().max().item<double>() <= o.tolerance_grad();
    } else {
      add_to_params(t, d);
      // The last loss would not be used.
      if (n != o.max_iter()) {
        loss = call(closure).item<double>();
        grad = flat_grad();
        converged = grad.abs().max().item<double>() <= o.tolerance_grad();
        line_evaluations = 1;
      }
    }
    evaluations += line_evaluations;
    state.func_evals() += line_evaluations;
    if (evaluations >= max_eval || converged) break;
    if (d.abs().max().item<double>() * std::abs(t) <= o.tolerance_change()) break;
    if (std::abs(loss - state.prev_loss()) < o.tolerance_change()) break;
  }
  return first_loss;
}

}  // namespace cresset::optim
