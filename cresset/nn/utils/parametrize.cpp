#include "cresset/nn/utils/parametrize.h"

#include <mutex>

#include "cresset/core/random/generator_scope.h"
#include "cresset/nn/module/containers.h"
#include "cresset/nn/module/tables.h"

namespace cresset::nn::utils::parametrize {

using nn::detail::Tables;

namespace {

struct Cache {
  std::mutex mutex;
  int64_t depth = 0;
  std::vector<std::weak_ptr<ParametrizationListImpl>> filled;
};
Cache& cache() {
  static Cache* one = new Cache();
  return *one;
}

constexpr const char* kChild = "parametrizations";

ModuleDictImpl* find_lists(const Module& module) {
  auto* child = Tables::children(const_cast<Module&>(module)).find(kChild);
  return child ? dynamic_cast<ModuleDictImpl*>(child->get()) : nullptr;
}

std::shared_ptr<ParametrizationListImpl> the_list(const Module& module, const std::string& name) {
  auto list = find_list(module, name);
  CRESSET_CHECK_VALUE(list, "parametrize: ", module.name(), " has no parametrization of '", name, "'");
  return list;
}

void check_same(const char* what, const Tensor& got, const Tensor& expected) {
  CRESSET_CHECK_VALUE(got.defined() && got.sizes() == expected.sizes() && got.scalar_type() == expected.scalar_type(), "register_parametrization: ", what,
                      " may not change shape and dtype, got ", got.sizes(), " and ", got.scalar_type(), ", expected ", expected.sizes(), " and ",
                      expected.scalar_type(), "; unsafe = true allows it");
}

// The object stays, so that optimizers still hold it.
void refill(const Tensor& original, const Tensor& value) { original.set_data(value.detach()); }

void add(Module& module, const std::string& name, const Tensor& tensor, bool is_buffer) {
  if (is_buffer) module.register_buffer(name, tensor);
  else module.register_parameter(name, tensor, tensor.requires_grad());
}

// An original of the dtype of `like`, a leaf that owns what it holds.
Tensor fresh(const Tensor& value, const Tensor& like) { return value.detach().set_requires_grad(like.requires_grad()); }

}  // namespace

ParametrizationListImpl::ParametrizationListImpl(std::vector<Step> steps, Tensor original, bool is_buffer, bool unsafe)
    : Module("ParametrizationList"), is_buffer_(is_buffer), unsafe_(unsafe) {
  CRESSET_CHECK_VALUE(!steps.empty(), "ParametrizationList: one or more modules are needed");
  for (Step& step : steps) append(std::move(step));
  const Tensor before = original.detach();
  {
    NoGradGuard guard;
    std::vector<Tensor> values = {original};
    bool several = false;
    for (size_t i = steps_.size(); i-- > 0;) {
      if (!steps_[i].right_inverse) continue;
      CRESSET_CHECK_VALUE(!several, "ParametrizationList: only the first parametrization may start from several tensors");
      try {
        values = steps_[i].right_inverse(*steps_[i].module, values[0]);
        several = steps_[i].several;
      } catch (const NotImplementedError&) {}
    }
    is_tensor_ = !several;
    if (is_tensor_) {
      CRESSET_CHECK_VALUE(values[0].scalar_type() == original.scalar_type(),
                          "ParametrizationList: a right_inverse with one result may not change the dtype, got ", values[0].scalar_type(), ", expected ",
                          original.scalar_type());
      refill(original, values[0]);
      add(*this, "original", original, is_buffer);
    } else {
      for (size_t i = 0; i < values.size(); i++) add(*this, "original" + std::to_string(i), is_buffer ? values[i] : fresh(values[i], original), is_buffer);
    }
  }
  if (!unsafe) check_same("a parametrization", forward(), before);
}

void ParametrizationListImpl::append(Step step) {
  register_module(std::to_string(steps_.size()), step.module);
  steps_.push_back(std::move(step));
}

std::vector<Tensor> ParametrizationListImpl::originals() const { return is_buffer_ ? buffers(false) : parameters(false); }

Tensor ParametrizationListImpl::forward() {
  Tensor value = steps_[0].forward(*steps_[0].module, originals());
  for (size_t i = 1; i < steps_.size(); i++) value = steps_[i].forward(*steps_[i].module, {value});
  return value;
}

void ParametrizationListImpl::right_inverse(const Tensor& value) {
  NoGradGuard guard;
  std::vector<Tensor> values = {value};
  for (size_t i = steps_.size(); i-- > 0;) {
    CRESSET_CHECK(steps_[i].right_inverse, "parametrization ", steps_[i].module->name(), " does not implement right_inverse");
    values = steps_[i].right_inverse(*steps_[i].module, values[0]);
  }
  const std::vector<Tensor> own = originals();
  CRESSET_CHECK_VALUE(values.size() == own.size(), "right_inverse: expected ", own.size(), " tensors, got ", values.size());
  for (size_t i = 0; i < own.size(); i++)
    CRESSET_CHECK_VALUE(values[i].scalar_type() == own[i].scalar_type(), "right_inverse: got ", values[i].scalar_type(), " for an original of ",
                        own[i].scalar_type());
  for (size_t i = 0; i < own.size(); i++) refill(own[i], values[i]);
}

CachedGuard::CachedGuard() {
  const std::lock_guard<std::mutex> guard(cache().mutex);
  cache().depth++;
}
CachedGuard::~CachedGuard() {
  const std::lock_guard<std::mutex> guard(cache().mutex);
  if (--cache().depth) return;
  for (const auto& list : cache().filled)
    if (const auto alive = list.lock()) alive->cached_.reset();
  cache().filled.clear();
}

std::shared_ptr<ParametrizationListImpl> find_list(const Module& module, const std::string& name) {
  ModuleDictImpl* lists = find_lists(module);
  if (!lists || !lists->contains(name)) return nullptr;
  return std::dynamic_pointer_cast<ParametrizationListImpl>((*lists)[name]);
}

bool is_parametrized(const Module& module, const std::optional<std::string>& tensor_name) {
  const ModuleDictImpl* lists = find_lists(module);
  return lists && (tensor_name ? lists->contains(*tensor_name) : !lists->empty());
}

Tensor value(Module& module, const std::string& tensor_name) {
  const auto list = the_list(module, tensor_name);
  {
    const std::lock_guard<std::mutex> guard(cache().mutex);
    if (cache().depth && list->cached_.defined()) return *list->member_ = list->cached_;
  }
  const Tensor computed = list->forward();
  const std::lock_guard<std::mutex> guard(cache().mutex);
  if (cache().depth) {
    list->cached_ = computed;
    cache().filled.push_back(list);
  }
  return *list->member_ = computed;
}

void set_value(Module& module, const std::string& tensor_name, const Tensor& tensor) {
  const auto list = the_list(module, tensor_name);
  list->cached_.reset();
  list->right_inverse(tensor);
  value(module, tensor_name);
}

namespace detail {

void register_step(Module& module, const std::string& name, Tensor* member, Step step, bool unsafe) {
  CRESSET_CHECK_VALUE(member, "register_parametrization: the member '", name, "' of ", module.name(), " is not known: call nn::declare_member(\"", name,
                      "\", &...) for its class");
  step.module->train(module.is_training());
  if (const auto list = find_list(module, name)) {
    if (!unsafe) {
      const Tensor before = list->forward();
      check_same("a parametrization", step.forward(*step.module, {before}), before);
      if (step.right_inverse) {
        NoGradGuard guard;
        const std::vector<Tensor> back = step.right_inverse(*step.module, before);
        check_same("the right_inverse of a further parametrization", back.size() == 1 ? back[0] : Tensor(), before);
      }
    }
    list->append(std::move(step));
    list->unsafe_ = list->unsafe_ || unsafe;
    list->cached_.reset();
    value(module, name);
    return;
  }
  const bool is_buffer = Tables::buffers(module).contains(name);
  Tensor* found = Tables::find(module, name);
  CRESSET_CHECK_VALUE(found && found->defined(), "register_parametrization: ", module.name(), " has no parameter, buffer or parametrized tensor '", name, "'");
  const Tensor original = *found;
  const auto list = std::make_shared<ParametrizationListImpl>(std::vector<Step>{std::move(step)}, original, is_buffer, unsafe);
  if (is_buffer) module.unregister_buffer(name);
  else module.unregister_parameter(name);
  if (!find_lists(module)) module.register_module(kChild, std::make_shared<ModuleDictImpl>());
  find_lists(module)->update(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{name, list}});
  list->member_ = member;
  list->hook_ = module.register_forward_pre_hook([name](Module& m, std::vector<Tensor>&) { value(m, name); });
  value(module, name);
}

void remove_steps(Module& module, const std::string& name, bool leave_parametrized) {
  const auto list = the_list(module, name);
  CRESSET_CHECK_VALUE(leave_parametrized || list->is_tensor_,
                      "remove_parametrizations: a tensor that is computed from several cannot be left as it was (leave_parametrized = false)");
  Tensor original = list->originals()[0];
  if (leave_parametrized) {
    NoGradGuard guard;
    const Tensor now = list->forward().detach();
    if (list->is_tensor_) refill(original, now);
    else original = fresh(now, original);
  }
  list->hook_.remove();
  ModuleDictImpl* lists = find_lists(module);
  lists->pop(name);
  if (lists->empty()) module.unregister_module(kChild);
  add(module, name, original, list->is_buffer_);
  *list->member_ = original;
}

void transfer(Module& from, Module& to, const std::string& name, MemberFinder member) {
  CRESSET_CHECK_VALUE(name.empty() ? is_parametrized(from) : is_parametrized(from, name), "transfer_parametrizations_and_params: ", from.name(),
                      " has no parametrization to transfer");
  const DefaultGeneratorScope unchanged(copy_of_default_generator());  // copies draw; the same call in Python does not
  for (const std::string& tensor : name.empty() ? find_lists(from)->keys() : std::vector<std::string>{name}) {
    const auto source = find_list(from, tensor);
    if (!Tables::find(to, tensor) && !find_list(to, tensor)) add(to, tensor, fresh(source->originals()[0].clone(), source->originals()[0]), source->is_buffer_);
    for (const Step& step : source->steps_) {
      Step copy = step;
      copy.module = step.module->clone();
      register_step(to, tensor, member(to, tensor), std::move(copy), true);
    }
    const auto target = find_list(to, tensor);
    // Right inverses may have set what the copies keep.
    for (size_t i = 0, first = target->steps_.size() - source->steps_.size(); i < source->steps_.size(); i++)
      target->steps_[first + i].module = target->replace_module(std::to_string(first + i), source->steps_[i].module->clone());
    for (auto* table : {&Tables::parameters, &Tables::buffers})
      for (const auto& item : table(*source)) table(*target)[item.key()] = item.value();
    value(to, tensor);
  }
}

void throw_originals(const Module& module, size_t got, size_t expected) {
  cresset::detail::throw_error<TypeError>(cresset::str("parametrization ", module.name(), ": forward takes ", expected, " tensors, got ", got));
}
}  // namespace detail

}  // namespace cresset::nn::utils::parametrize
