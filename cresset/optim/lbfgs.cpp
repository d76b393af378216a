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

Tensor LBFGS::step(LossClosure closure) {
  CRESSET_CHECK(closure != nullptr, "LBFGS: step needs a closure that recomputes the loss");
  auto& group = param_groups_.front();
  Tensor first_loss;
  const auto evaluate = [&] {
    const Tensor loss = call(closure);
    if (!first_loss.defined()) first_loss = loss;
    return loss.item<double>();
  };
  // One state for all, kept with the first parameter.
  detail::lbfgs_step(group.params(), state_of<LBFGSParamState>(group.params().front()), static_cast<const LBFGSOptions&>(group.options()), evaluate);
  return first_loss;
}

namespace {

Tensor as_real(const Tensor& t) { return t.is_complex() ? cresset::view_as_real(t) : t; }

using detail::StepNumber;

class Run {
 public:
  Run(const std::vector<Tensor>& params, LBFGSParamState& state, const LBFGSOptions& o, FunctionRef<double()> evaluate, bool& t_is_tensor)
      : params_(params), state_(state), o_(o), evaluate_(evaluate), t_is_tensor_(t_is_tensor) {}

  void run() {
    evaluate();
    if (converged()) return;
    for (int64_t n = 1; n <= o_.max_iter(); n++) {
      state_.n_iter()++;
      turn();
      state_.prev_flat_grad(grad_.clone());
      state_.prev_loss(loss_);
      const StepNumber rate = first_length();
      t_is_tensor_ = rate.kind != StepNumber::Plain;
      const double slope = grad_.dot(state_.d()).item<double>();
      if (slope > -o_.tolerance_change()) return;
      if (o_.line_search_fn()) search(rate, slope);
      else walk(n == o_.max_iter());
      if (evaluations_ >= max_eval() || converged()) return;
      if (state_.d().abs().max().item<double>() * std::abs(state_.t()) <= o_.tolerance_change()) return;
      if (std::abs(loss_ - state_.prev_loss()) < o_.tolerance_change()) return;
    }
  }

 private:
  int64_t max_eval() const { return o_.max_eval().value_or(o_.max_iter() * 5 / 4); }
  bool converged() const { return grad_.abs().max().item<double>() <= o_.tolerance_grad(); }

  void evaluate() {
    loss_ = evaluate_();
    grad_ = flat_grad();
    evaluations_++;
    state_.func_evals()++;
  }

  Tensor flat_grad() const {
    std::vector<Tensor> parts;
    for (const Tensor& p : params_) parts.push_back(as_real(p.grad().defined() ? p.grad().detach() : cresset::zeros_like(p.detach())).reshape({-1}));
    return cresset::cat(parts);
  }

  void move(double step_size) {
    int64_t at = 0;
    for (const Tensor& p : params_) {
      Tensor real = as_real(p);
      real.add_(state_.d().narrow(0, at, real.numel()).view(real.sizes()), step_size);
      at += real.numel();
    }
  }

  // The new direction: down the gradient at first, then -H times it.
  void turn() {
    if (state_.n_iter() == 1) {
      state_.d(grad_.neg());
      state_.old_dirs().clear();
      state_.old_stps().clear();
      state_.ro().clear();
      state_.H_diag(cresset::ones({}, grad_.options()));
      return;
    }
    remember(grad_.sub(state_.prev_flat_grad()), state_.d().mul(state_.t()));
    const auto listed = [](const auto& kept) { return std::vector<Tensor>(kept.begin(), kept.end()); };
    std::vector<Tensor> found =
        cresset::_lbfgs_direction(grad_, listed(state_.old_dirs()), listed(state_.old_stps()), listed(state_.ro()), state_.H_diag().item());
    state_.d(found.front());
    found.erase(found.begin());
    state_.al(std::move(found));
  }

  void remember(const Tensor& y, const Tensor& s) {
    const Tensor ys = y.dot(s);
    if (!(ys.item<double>() > 1e-10)) return;
    const auto keep = [&](std::deque<Tensor>& list, const Tensor& value) {
      if (static_cast<int64_t>(list.size()) == o_.history_size()) list.pop_front();
      list.push_back(value);
    };
    keep(state_.old_dirs(), y);
    keep(state_.old_stps(), s);
    keep(state_.ro(), ys.reciprocal());
    state_.H_diag(ys / y.dot(y));
  }

  StepNumber first_length() {
    state_.t(o_.lr());
    if (state_.n_iter() > 1) return o_.lr();
    const Tensor first = 1.0 / grad_.abs().sum();
    if (first.item<double>() >= 1) return o_.lr();
    state_.t((first * o_.lr()).item<double>());
    return {state_.t(), kind()};
  }

  void search(StepNumber rate, double slope) {
    std::vector<Tensor> start;
    for (const Tensor& p : params_) start.push_back(p.detach().clone());
    const detail::LinePoint origin{0, loss_, grad_, {slope, kind()}};
    const auto at = [&](StepNumber step_size) -> detail::LinePoint {
      move(step_size.value);
      evaluate();
      for (size_t i = 0; i < start.size(); i++) Tensor(params_[i]).copy_(start[i]);
      return {step_size, loss_, grad_, {grad_.dot(state_.d()).item<double>(), kind()}};
    };
    const auto found =
        detail::strong_wolfe(at, origin, rate, {state_.d().abs().max().item<double>(), kind()}, o_.tolerance_change(), max_eval() - evaluations_);
    loss_ = found.best.f.value;
    grad_ = found.best.g;
    state_.t(found.best.t.value);
    t_is_tensor_ = found.best.t.kind != StepNumber::Plain;
    move(state_.t());
  }

  // A step of fixed length; the loss after the last one would not be used.
  void walk(bool last) {
    move(state_.t());
    if (!last) evaluate();
  }

  StepNumber::Kind kind() const { return grad_.scalar_type() == kFloat ? StepNumber::Single : StepNumber::Double; }

  const std::vector<Tensor>& params_;
  LBFGSParamState& state_;
  const LBFGSOptions& o_;
  FunctionRef<double()> evaluate_;
  bool& t_is_tensor_;
  Tensor grad_;
  double loss_ = 0;
  int64_t evaluations_ = 0;
};

}  // namespace

void detail::lbfgs_step(const std::vector<Tensor>& params, LBFGSParamState& state, const LBFGSOptions& options, FunctionRef<double()> evaluate,
                        bool* t_is_tensor) {
  CRESSET_CHECK(!options.line_search_fn() || *options.line_search_fn() == "strong_wolfe", "LBFGS: only 'strong_wolfe' is supported as line search, got '",
                options.line_search_fn().value_or(""), "'");
  const NoGradGuard guard;
  bool ignored = false;
  Run(params, state, options, evaluate, t_is_tensor ? *t_is_tensor : ignored).run();
}

}  // namespace cresset::optim
