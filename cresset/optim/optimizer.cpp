#include "cresset/optim/optimizer.h"

#include <algorithm>
#include <unordered_set>

#include "cresset/base/warning.h"
#include "cresset/core/uninitialized.h"
#include "cresset/nn/module/archive_contents.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

namespace {
[[noreturn]] void not_overridden(const char* what) {
  cresset::detail::throw_error<NotImplementedError>(cresset::str("optimizer: ", what, " is not overridden by this class"));
}
}  // namespace

OptimizerParamState::~OptimizerParamState() = default;
std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const { not_overridden("OptimizerParamState::clone"); }
void OptimizerParamState::serialize(serialize::InputArchive&) { not_overridden("OptimizerParamState::serialize"); }
void OptimizerParamState::serialize(serialize::OutputArchive&) const { not_overridden("OptimizerParamState::serialize"); }

OptimizerOptions::~OptimizerOptions() = default;
std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const { not_overridden("OptimizerOptions::clone"); }
void OptimizerOptions::serialize(serialize::InputArchive&) { not_overridden("OptimizerOptions::serialize"); }
void OptimizerOptions::serialize(serialize::OutputArchive&) const { not_overridden("OptimizerOptions::serialize"); }
double OptimizerOptions::get_lr() const { not_overridden("OptimizerOptions::get_lr"); }
void OptimizerOptions::set_lr(double) { not_overridden("OptimizerOptions::set_lr"); }

namespace detail {

namespace {

template <class Entries> bool same(const Entries& a, const Entries& b) {
  serialize::OutputArchive in_a, in_b;
  a.serialize(in_a);
  b.serialize(in_b);
  const auto& left = in_a.contents();
  const auto& right = in_b.contents();
  const auto equal_values = [](const auto& x, const auto& y) { return x.first == y.first && x.second.text() == y.second.text(); };
  const auto equal_tensors = [](const auto& x, const auto& y) { return x.first == y.first && cresset::equal(x.second, y.second); };
  return std::equal(left.values.begin(), left.values.end(), right.values.begin(), right.values.end(), equal_values) &&
         std::equal(left.tensors.begin(), left.tensors.end(), right.tensors.begin(), right.tensors.end(), equal_tensors);
}

}  // namespace

bool same_entries(const OptimizerParamState& a, const OptimizerParamState& b) { return same(a, b); }
bool same_entries(const OptimizerOptions& a, const OptimizerOptions& b) { return same(a, b); }

}  // namespace detail

OptimizerOptions& OptimizerParamGroup::options() {
  CRESSET_CHECK(options_, "optimizer: the parameter group has no options");
  return *options_;
}
const OptimizerOptions& OptimizerParamGroup::options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults) : defaults_(std::move(defaults)) {
  for (const auto& group : param_groups) add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults) : defaults_(std::move(defaults)) {
  add_param_group(OptimizerParamGroup(std::move(parameters)));
}
Optimizer::~Optimizer() = default;

namespace {

// Errors: tensors that cannot be parameters beside those of the groups.
void check_new(const std::vector<OptimizerParamGroup>& groups, const std::vector<Tensor>& params) {
  std::unordered_set<const void*> taken;
  for (const auto& group : groups)
    for (const Tensor& p : group.params()) taken.insert(p.unsafeGetTensorImpl());
  for (const Tensor& p : params) {
    CRESSET_CHECK_VALUE(p.defined(), "optimizer: a parameter is an undefined tensor");
    CRESSET_CHECK_VALUE(!is_uninitialized(p), "optimizer: a parameter has no shape yet; call the lazy module that owns it once before");
    CRESSET_CHECK_VALUE(p.is_leaf(), "optimizer: cannot optimize a tensor that is not a leaf");
    CRESSET_CHECK_VALUE(taken.insert(p.unsafeGetTensorImpl()).second, "optimizer: some parameters appear in more than one parameter group");
  }
}

}  // namespace

void Optimizer::add_param_group(const OptimizerParamGroup& param_group) {
  check_new(param_groups_, param_group.params());
  OptimizerParamGroup group(param_group);
  if (!group.has_options()) group.set_options(defaults_->clone());
  param_groups_.push_back(std::move(group));
}

namespace {

void warn_deprecated(const char* name, const char* instead) {
  warn(str("optimizer: ", name, "() is deprecated and will be removed; ", instead), WarningKind::deprecation);
}

}  // namespace

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  warn_deprecated("add_parameters", "use add_param_group()");
  check_new(param_groups_, parameters);
  auto& params = param_groups_.front().params();
  params.insert(params.end(), parameters.begin(), parameters.end());
}

void Optimizer::zero_grad(bool set_to_none) {
  for (auto& group : param_groups_) {
    for (const Tensor& p : group.params()) {
      Tensor& grad = p.mutable_grad();
      if (!grad.defined()) continue;
      if (set_to_none) {
        grad.reset();
        continue;
      }
      grad.detach_();
      grad.zero_();
    }
  }
}

const std::vector<Tensor>& Optimizer::parameters() const {
  warn_deprecated("parameters", "use param_groups()[0].params()");
  return param_groups_.front().params();
}
std::vector<Tensor>& Optimizer::parameters() {
  warn_deprecated("parameters", "use param_groups()[0].params()");
  return param_groups_.front().params();
}

size_t Optimizer::size() const {
  warn_deprecated("size", "sum over param_groups()");
  size_t count = 0;
  for (const auto& group : param_groups_) count += group.params().size();
  return count;
}

Tensor Optimizer::call(const LossClosure& closure) {
  if (!closure) return Tensor();
  AutoGradMode with_grad(true);
  return closure();
}

std::unique_ptr<OptimizerParamState> Optimizer::make_state() const { not_overridden("make_state (or load)"); }

void Optimizer::save(serialize::OutputArchive& archive) const {
  serialize::OutputArchive groups, states;
  int64_t number = 0, group_number = 0;
  for (const auto& group : param_groups_) {
    serialize::OutputArchive options;
    group.options().serialize(options);
    options.write("size", serialize::ArchiveValue(static_cast<int64_t>(group.params().size())));
    groups.write(std::to_string(group_number++), options);
    for (const Tensor& p : group.params()) {
      auto found = state_.find(p.unsafeGetTensorImpl());
      if (found != state_.end()) {
        serialize::OutputArchive one;
        found->second->serialize(one);
        states.write(std::to_string(number), one);
      }
      number++;
    }
  }
  archive.write("param_groups", groups);
  archive.write("state", states);
}

namespace {

// Entries that have the shape of their parameter, whichever optimizer keeps them.
constexpr const char* kLikeParameter[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "momentum_buffer", "square_avg", "grad_avg", "acc_delta",
                                          "sum",     "prev",       "step_size",      "ax",      "variance"};

// Errors: the state of another model's parameter.
void check_shapes(const serialize::InputArchive& state, const Tensor& p, int64_t number) {
  for (const auto& [name, value] : state.tensors())
    for (const char* like : kLikeParameter)
      CRESSET_CHECK_VALUE(name != like || !value.defined() || value.sizes() == p.sizes(), "optimizer: the file is not the state of these parameters: ", name,
                          " of parameter ", number, " is ", value.sizes(), ", expected ", p.sizes());
}

}  // namespace

// Files of LibTorch before 1.5: for each entry of the states a list over the parameters, and no options.
namespace legacy {

struct List {
  const char* in_file;
  const char* entry;
};
constexpr List kLists[] = {{"step_buffers", "step"},
                           {"momentum_buffers", "momentum_buffer"},
                           {"sum_buffers", "sum"},
                           {"exp_average_buffers", "exp_avg"},
                           {"exp_average_sq_buffers", "exp_avg_sq"},
                           {"max_exp_average_sq_buffers", "max_exp_avg_sq"},
                           {"square_average_buffers", "square_avg"},
                           {"grad_average_buffers", "grad_avg"}};

std::optional<std::vector<Tensor>> read_list(serialize::InputArchive& archive, const std::string& name) {
  Tensor size;
  if (!archive.try_read(name + "/size", size)) return std::nullopt;
  std::vector<Tensor> list(static_cast<size_t>(size.item<int64_t>()));
  for (size_t i = 0; i < list.size(); i++) archive.read(name + "/" + std::to_string(i), list[i]);
  return list;
}

// L-BFGS has one state for all parameters.
serialize::OutputArchive read_lbfgs(serialize::InputArchive& archive) {
  serialize::OutputArchive state;
  state.write("func_evals", serialize::ArchiveValue(0));
  state.write("n_iter", serialize::ArchiveValue(0));
  for (const char* name : {"d", "t", "H_diag", "prev_flat_grad", "prev_loss"}) {
    Tensor stored;
    if (archive.try_read(name, stored)) state.write(name, stored);
  }
  for (const std::string name : {"old_dirs", "old_stps"}) {
    const auto list = read_list(archive, name);
    if (!list) continue;
    state.write(name + "_size", serialize::ArchiveValue(static_cast<int64_t>(list->size())));
    for (size_t i = 0; i < list->size(); i++) state.write(name + "_" + std::to_string(i), (*list)[i]);
  }
  return state;
}

// The states as today's files hold them, in the order of the parameters; nothing if the file is none of these.
std::optional<std::vector<serialize::OutputArchive>> read_states(serialize::InputArchive& archive) {
  std::vector<serialize::OutputArchive> states;
  if (read_list(archive, "old_dirs")) {
    states.push_back(read_lbfgs(archive));
    return states;
  }
  bool found = false, steps = false;
  for (const List& known : kLists) {
    const auto list = read_list(archive, known.in_file);
    if (!list) continue;
    found = true;
    if (list->size() > states.size()) states.resize(list->size());
    const bool is_step = known.in_file == std::string("step_buffers");
    steps |= is_step;
    for (size_t i = 0; i < list->size(); i++) {
      if (is_step) states[i].write(known.entry, serialize::ArchiveValue((*list)[i].item<int64_t>()));
      else states[i].write(known.entry, (*list)[i]);
    }
  }
  for (auto& state : states)
    if (!steps) state.write("step", serialize::ArchiveValue(0));
  return found ? std::optional(std::move(states)) : std::nullopt;
}

}  // namespace legacy

void Optimizer::load(serialize::InputArchive& archive) {
  if (const auto states = legacy::read_states(archive)) {
    warn("optimizer: the file is of the old serialization format, without options; save it again");
    const std::vector<Tensor>& params = param_groups_.front().params();
    CRESSET_CHECK_VALUE(states->size() <= params.size(), "optimizer: number of states in the file, got ", states->size(), ", expected at most ", params.size());
    State fresh;
    for (size_t i = 0; i < states->size(); i++) {
      serialize::InputArchive one;
      one.assign((*states)[i].contents());
      check_shapes(one, params[i], static_cast<int64_t>(i));
      auto state = make_state();
      state->serialize(one);
      fresh.emplace(params[i].unsafeGetTensorImpl(), std::move(state));
    }
    state_ = std::move(fresh);
    return;
  }
  serialize::InputArchive groups, states;
  archive.read("param_groups", groups);
  archive.read("state", states);
  CRESSET_CHECK_VALUE(groups.keys().size() == param_groups_.size(), "optimizer: number of parameter groups in the file, got ", groups.keys().size(),
                      ", expected ", param_groups_.size());
  // First everything is read, then taken over: a bad file changes nothing.
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  State fresh;
  int64_t number = 0;
  for (size_t g = 0; g < param_groups_.size(); g++) {
    serialize::InputArchive group;
    groups.read(std::to_string(g), group);
    serialize::ArchiveValue size;
    group.read("size", size);
    CRESSET_CHECK_VALUE(size.to_int() == static_cast<int64_t>(param_groups_[g].params().size()), "optimizer: size of parameter group ", g, " in the file, got ",
                        size.to_int(), ", expected ", param_groups_[g].params().size());
    options.push_back(param_groups_[g].options().clone());
    options.back()->serialize(group);
    for (const Tensor& p : param_groups_[g].params()) {
      serialize::InputArchive one;
      if (states.try_read(std::to_string(number++), one)) {
        check_shapes(one, p, number - 1);
        auto state = make_state();
        state->serialize(one);
        fresh.emplace(p.unsafeGetTensorImpl(), std::move(state));
      }
    }
  }
  for (size_t g = 0; g < param_groups_.size(); g++) param_groups_[g].set_options(std::move(options[g]));
  state_ = std::move(fresh);
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}

void detail::check_dense(const std::vector<OptimizerParamGroup>& groups, const char* name) {
  for (const auto& group : groups)
    for (const Tensor& p : group.params())
      CRESSET_CHECK(!p.grad().defined() || p.grad().layout() == Layout::Strided, name, ": this method does not support sparse gradients");
}

}  // namespace cresset::optim
