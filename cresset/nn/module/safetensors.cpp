#include "cresset/nn/module/safetensors.h"

#include <algorithm>

namespace cresset::io {

namespace {

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a.numel() > 0 && a.layout() == kStrided && b.layout() == kStrided && !a.is_meta() && !b.is_meta() && a.data_ptr() == b.data_ptr() &&
         a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

NamedTensors state_of(const nn::Module& module) {
  NamedTensors state("Tensor");
  state.update(module.named_parameters());
  state.update(module.named_buffers());
  return state;
}

}  // namespace

void save_safetensors(const nn::Module& module, const std::string& path) {
  Metadata facts = {{"format", "pt"}};
  NamedTensors kept("Tensor");
  for (const auto& item : state_of(module)) {
    const Tensor& t = item.value();
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const auto& other) { return is_same_memory(other.value(), t); });
    if (same == kept.end()) kept.insert(item.key(), t);
    else facts[item.key()] = same->key();
  }
  save_safetensors(kept, path, facts);
}

void load_safetensors(nn::Module& module, const std::string& path, bool strict) {
  const SafetensorsContent content = load_safetensors(path);
  NamedTensors state = state_of(module);
  // Of tensors under several names one is in the file, and the metadata tells which.
  auto stored_as = [&](const std::string& name) {
    const Tensor* stored = content.tensors.find(name);
    const auto other = content.metadata.find(name);
    return stored || other == content.metadata.end() ? stored : content.tensors.find(other->second);
  };
  for (const auto& item : state) {
    const Tensor* stored = stored_as(item.key());
    CRESSET_CHECK(stored || !strict, "load_safetensors: '", path, "' has no tensor '", item.key(), "'");
    if (!stored) continue;
    CRESSET_CHECK(stored->sizes() == item.value().sizes(), "load_safetensors: shape of '", item.key(), "' in '", path, "', got ", stored->sizes(),
                  ", expected ", item.value().sizes());
  }
  for (const auto& item : content.tensors)
    CRESSET_CHECK(!strict || state.contains(item.key()), "load_safetensors: '", path, "' has a tensor '", item.key(), "' that the module has not");
  NoGradGuard guard;
  for (auto& item : state)
    if (const Tensor* stored = stored_as(item.key())) item.value().copy_(*stored);
}

}  // namespace cresset::io
