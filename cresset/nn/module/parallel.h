#pragma once
// One module on several devices, each with its part of the batch.

#include <memory>
#include <optional>
#include <vector>

#include "cresset/nn/module/module.h"
#include "cresset/nn/module/pimpl.h"

namespace cresset::nn {

// Gradients of the replicas' parameters are added to those of the module's.
template <class ModuleType>
void replicate_grad_edges(const std::shared_ptr<Module>& module, const std::vector<std::shared_ptr<ModuleType>>& replicas, const std::vector<Device>& devices) {
  (void)devices;
  const auto originals = module->parameters();
  for (const auto& replica : replicas) {
    const auto copies = replica->parameters();
    for (size_t i = 0; i < copies.size(); i++) {
      if (!copies[i].requires_grad()) continue;
      copies[i].register_hook([original = originals[i]](const Tensor& grad) {
        if (!grad.defined()) return;
        Tensor& sum = original.mutable_grad();
        const Tensor part = grad.detach().to(original.device());
        sum = sum.defined() ? sum + part : part.clone();
      });
    }
  }
}

// `Devices` is no choice: it keeps the types below from being made where they are not used.
namespace parallel {

// A copy of the module for each device.
template <class ModuleType> std::vector<std::shared_ptr<ModuleType>> replicate(const std::shared_ptr<ModuleType>& module, const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<ModuleType>> replicas;
  for (const Device& device : devices) replicas.push_back(std::dynamic_pointer_cast<ModuleType>(module->clone(device)));
  replicate_grad_edges(module, replicas, devices);
  return replicas;
}
template <class ModuleType> std::vector<ModuleHolder<ModuleType>> replicate(const ModuleHolder<ModuleType>& module, const std::vector<Device>& devices) {
  std::vector<ModuleHolder<ModuleType>> holders;
  for (auto& replica : replicate(module.ptr(), devices)) holders.emplace_back(std::move(replica));
  return holders;
}

// The output of each module for its input, on its device where devices are given.
template <class ModuleType, class Devices = std::optional<std::vector<Device>>>
std::vector<Tensor> parallel_apply(std::vector<ModuleType>& modules, const std::vector<Tensor>& inputs,
                                   const std::common_type_t<Devices>& devices = std::nullopt) {
  CRESSET_CHECK(modules.size() == inputs.size(), "parallel_apply: number of inputs, got ", inputs.size(), ", expected ", modules.size());
  CRESSET_CHECK(!devices || devices->size() == modules.size(), "parallel_apply: number of devices, got ", devices->size(), ", expected ", modules.size());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < modules.size(); i++) {
    Tensor output = modules[i]->forward(inputs[i]);
    outputs.push_back(devices ? output.to((*devices)[i]) : output);
  }
  return outputs;
}

// Cuts the input along `dim`, applies a replica of the module to each part, and joins the outputs.
template <class ModuleType, class Devices = std::optional<std::vector<Device>>>
Tensor data_parallel(ModuleType module, Tensor input, std::common_type_t<Devices> devices = std::nullopt, std::optional<Device> output_device = std::nullopt,
                     int64_t dim = 0) {
  if (!devices || devices->size() < 2) {
    const Device device = devices && !devices->empty() ? devices->front() : input.device();
    if (devices && !devices->empty()) module->to(device);
    return module->forward(input.to(device)).to(output_device.value_or(device));
  }
  const Device end = output_device.value_or(devices->front());
  std::vector<Tensor> parts = input.chunk(static_cast<int64_t>(devices->size()), dim);
  const std::vector<Device> used(devices->begin(), devices->begin() + static_cast<std::ptrdiff_t>(parts.size()));
  for (size_t i = 0; i < parts.size(); i++) parts[i] = parts[i].to(used[i]);
  auto replicas = replicate(module, used);
  std::vector<Tensor> outputs = parallel_apply(replicas, parts);
  for (Tensor& output : outputs) output = output.to(end);
  return cat(outputs, dim);
}

}  // namespace parallel
}  // namespace cresset::nn
