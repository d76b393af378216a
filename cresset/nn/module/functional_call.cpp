#include "cresset/nn/module/functional_call.h"

#include <map>

#include "cresset/nn/layers/normalization.h"
#include "cresset/nn/layers/rnn.h"
#include "cresset/nn/module/containers.h"
#include "cresset/nn/module/tables.h"
#include "cresset/nn/utils/parametrize.h"

namespace cresset::func {

using nn::detail::Tables;

namespace {

// Modules whose forward reads the table of parameters.
bool reads_table(nn::Module& m) {
  return m.as<nn::RNNImpl>() || m.as<nn::LSTMImpl>() || m.as<nn::GRUImpl>() || m.as<nn::ParameterListImpl>() || m.as<nn::ParameterDictImpl>() ||
         m.as<nn::utils::parametrize::ParametrizationListImpl>();
}

// Whether hooks compute `weight` from this, weight_orig or weight_g say.
bool is_source(nn::Module& m, const std::string& name) {
  const size_t end = name.rfind('_');
  if (end == std::string::npos) return false;
  const std::string computed = name.substr(0, end);
  return !Tables::find(m, computed) && nn::detail::find_member(m, computed);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "[" + text + "]";
}

}  // namespace

namespace detail {

ExchangedTensors::ExchangedTensors(nn::Module& module, MemberFinder root, const std::vector<TensorDict>& tensors, bool tie_weights, bool strict) {
  TensorDict given;
  for (const TensorDict& part : tensors)
    for (const auto& item : part) {
      CRESSET_CHECK_VALUE(!given.contains(item.key()), "functional_call: '", item.key(), "' appears in several dictionaries");
      given.insert(item.key(), item.value());
    }
  // Names that stand for one tensor.
  std::map<const void*, std::vector<std::string>> tied;
  for (const TensorDict& own : {module.named_parameters(), module.named_buffers()})
    for (const auto& item : own) tied[item.value().unsafeGetTensorImpl()].push_back(item.key());
  TensorDict chosen = given;
  std::vector<std::string> missing, unexpected;
  std::map<std::string, bool> known;
  for (const auto& group : tied) {
    const Tensor* first = nullptr;
    bool several = false;
    for (const std::string& name : group.second) {
      known[name] = true;
      const Tensor* value = given.find(name);
      if (!value) continue;
      several = several || (first && !first->is_same(*value));
      first = value;
    }
    for (const std::string& name : group.second) {
      if (given.contains(name)) continue;
      if (first && tie_weights) chosen.insert(name, *first);
      else missing.push_back(name);
      CRESSET_CHECK_VALUE(!first || !tie_weights || !several, "functional_call: got several values for tied names ", listed(group.second));
    }
  }
  for (const auto& item : given)
    if (!known[item.key()]) unexpected.push_back(item.key());
  CRESSET_CHECK(!strict || (missing.empty() && unexpected.empty()), "functional_call of ", module.name(), ": missing keys ", listed(missing),
                ", unexpected keys ", listed(unexpected));
  try {
    for (const auto& item : chosen)
      if (known[item.key()]) put(module, root, item.key(), item.value());
  } catch (...) {
    restore();
    throw;
  }
}
ExchangedTensors::~ExchangedTensors() { restore(); }

void ExchangedTensors::restore() {
  for (size_t i = saved_.size(); i-- > 0;) *saved_[i].place = saved_[i].value;
  saved_.clear();
}

void ExchangedTensors::put(nn::Module& root_module, MemberFinder root, const std::string& path, const Tensor& value) {
  nn::Module* owner = &root_module;
  size_t start = 0;
  for (size_t dot; (dot = path.find('.', start)) != std::string::npos; start = dot + 1) owner = Tables::children(*owner)[path.substr(start, dot - start)].get();
  const std::string name = path.substr(start);
  Tensor* member = start ? nn::detail::find_member(*owner, name) : root(*owner, name);
  CRESSET_CHECK(member || reads_table(*owner) || is_source(*owner, name), "functional_call: the member '", name, "' of ", owner->name(),
                " is not known: call nn::declare_member(\"", name, "\", &...) for its class");
  for (Tensor* place : {Tables::find(*owner, name), member}) {
    if (!place) continue;
    saved_.push_back({place, *place});
    *place = value;
  }
}

std::pair<TensorDict, TensorDict> stack_module_state(const std::vector<const nn::Module*>& models) {
  CRESSET_CHECK(!models.empty(), "stack_module_state: expected at least one model, got 0");
  for (const nn::Module* model : models) {
    CRESSET_CHECK(model->is_training() == models[0]->is_training(), "stack_module_state: expected all models to be in the same mode");
    CRESSET_CHECK(typeid(*model) == typeid(*models[0]), "stack_module_state: expected models of one class, got ", models[0]->name(), " and ", model->name());
  }
  const auto stacked = [&](TensorDict (nn::Module::*named)(bool) const) {
    TensorDict all;
    std::vector<TensorDict> tables;
    for (const nn::Module* model : models) tables.push_back((model->*named)(true));
    for (const auto& item : tables[0]) {
      std::vector<Tensor> column;
      for (const TensorDict& table : tables) {
        column.push_back(table[item.key()]);
        CRESSET_CHECK(column.back().requires_grad() == item.value().requires_grad(), "stack_module_state: expected ", item.key(),
                      " to require grad in all models or in none");
      }
      NoGradGuard guard;
      all.insert(item.key(), stack(column).set_requires_grad(item.value().requires_grad()));
    }
    return all;
  };
  return {stacked(&nn::Module::named_parameters), stacked(&nn::Module::named_buffers)};
}

}  // namespace detail

namespace {
template <class Norm> bool forget_statistics(nn::Module& module) {
  auto* norm = module.as<Norm>();
  if (norm) norm->options.track_running_stats(false);
  return norm;
}
}  // namespace

void replace_all_batch_norm_modules_(nn::Module& root) {
  root.apply(nn::Module::ModuleApplyFunction([](nn::Module& m) {
    if (!forget_statistics<nn::BatchNorm1dImpl>(m) && !forget_statistics<nn::BatchNorm2dImpl>(m) && !forget_statistics<nn::BatchNorm3dImpl>(m)) return;
    for (auto& item : Tables::buffers(m)) {
      item.value().reset();
      nn::detail::find_member(m, item.key())->reset();
    }
  }));
}

}  // namespace cresset::func

namespace cresset::nn::utils::detail {

void give_memory(Module& module) {
  NoGradGuard guard;
  module.apply(Module::ModuleApplyFunction([](Module& m) {
    for (auto* table : {&nn::detail::Tables::parameters(m), &nn::detail::Tables::buffers(m)})
      for (auto& item : *table)
        if (item.value().defined()) item.value().set_data(empty(item.value().sizes(), TensorOptions(item.value().scalar_type()).device(kCPU)));
  }));
}

}  // namespace cresset::nn::utils::detail
