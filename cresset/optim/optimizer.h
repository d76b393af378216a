#pragma once
// Optimizer: groups of parameters with options, and a state per parameter.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/base/arg.h"
#include "cresset/nn/module/archive.h"
#include "cresset/tensor.h"

namespace cresset::optim {

// An optimizer's state for one parameter.
class CRESSET_API OptimizerParamState {
 public:
  OptimizerParamState() = default;
  OptimizerParamState(const OptimizerParamState&) = default;
  OptimizerParamState& operator=(const OptimizerParamState&) = default;
  virtual ~OptimizerParamState();
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  virtual void serialize(serialize::InputArchive& archive);
  virtual void serialize(serialize::OutputArchive& archive) const;
};

class OptimizerOptions;

namespace detail {
// Whether two states, or two sets of options, write the same entries: numbers and tensors are compared by value.
CRESSET_API bool same_entries(const OptimizerParamState& a, const OptimizerParamState& b);
CRESSET_API bool same_entries(const OptimizerOptions& a, const OptimizerOptions& b);
}  // namespace detail

template <class Derived> class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override { return std::unique_ptr<OptimizerParamState>(new Derived(static_cast<const Derived&>(*this))); }
};
template <class Derived> bool operator==(const OptimizerCloneableParamState<Derived>& a, const OptimizerCloneableParamState<Derived>& b) {
  return detail::same_entries(a, b);
}
template <class Derived> bool operator!=(const OptimizerCloneableParamState<Derived>& a, const OptimizerCloneableParamState<Derived>& b) { return !(a == b); }

class CRESSET_API OptimizerOptions {
 public:
  OptimizerOptions() = default;
  OptimizerOptions(const OptimizerOptions&) = default;
  OptimizerOptions& operator=(const OptimizerOptions&) = default;
  virtual ~OptimizerOptions();
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  virtual void serialize(serialize::InputArchive& archive);
  virtual void serialize(serialize::OutputArchive& archive) const;
  virtual double get_lr() const;
  virtual void set_lr(double lr);
};

template <class Derived> class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override { return std::unique_ptr<OptimizerOptions>(new Derived(static_cast<const Derived&>(*this))); }
};
template <class Derived> bool operator==(const OptimizerCloneableOptions<Derived>& a, const OptimizerCloneableOptions<Derived>& b) {
  return detail::same_entries(a, b);
}
template <class Derived> bool operator!=(const OptimizerCloneableOptions<Derived>& a, const OptimizerCloneableOptions<Derived>& b) { return !(a == b); }

// Parameters that share options; without options of its own a group takes the optimizer's defaults.
class CRESSET_API OptimizerParamGroup {
 public:
  OptimizerParamGroup(const OptimizerParamGroup& o) : params_(o.params_), options_(o.options_ ? o.options_->clone() : nullptr), initial_lr_(o.initial_lr_) {}
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup& o) { return *this = OptimizerParamGroup(o); }
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options) : params_(std::move(params)), options_(std::move(options)) {}

  bool has_options() const { return options_ != nullptr; }
  // Errors of both: no options.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  // The rate before any schedule: the first scheduler notes it, and all begin with it.
  std::optional<double>& initial_lr() { return initial_lr_; }
  const std::optional<double>& initial_lr() const { return initial_lr_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

class CRESSET_API Optimizer {
 public:
  // Recomputes the loss and its gradients.
  using LossClosure = std::function<Tensor()>;
  using State = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  explicit Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  explicit Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer();

  // Errors: a parameter that is not a leaf, or that is in a group already.
  void add_param_group(const OptimizerParamGroup& param_group);
  // Appends to the first group. Deprecated, as are parameters() and size(), and warns.
  void add_parameters(const std::vector<Tensor>& parameters);
  // Moves all parameters that have a gradient; returns what the closure returns, if there is one.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);

  // Of the first group.
  const std::vector<Tensor>& parameters() const;
  std::vector<Tensor>& parameters();
  size_t size() const;
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  // Keyed by the parameter's TensorImpl.
  State& state() noexcept { return state_; }
  const State& state() const noexcept { return state_; }

  // State by the number of the parameter, options by the number of the group.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  // A fresh state of the optimizer's kind, for load.
  virtual std::unique_ptr<OptimizerParamState> make_state() const;
  static Tensor call(const LossClosure& closure);
  // The state of a parameter, made on first use.
  template <class ParamState> ParamState& state_of(const Tensor& parameter) {
    auto& slot = state_[parameter.unsafeGetTensorImpl()];
    if (!slot) slot = std::make_unique<ParamState>();
    return static_cast<ParamState&>(*slot);
  }

  std::vector<OptimizerParamGroup> param_groups_;
  State state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

CRESSET_API serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer);
CRESSET_API serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer);

}  // namespace cresset::optim
