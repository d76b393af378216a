#include "cresset/nn/module/lazy.h"

#include <ostream>
#include <sstream>

#include "cresset/core/uninitialized.h"
#include "cresset/nn/module/archive_contents.h"
#include "cresset/nn/module/tables.h"

namespace cresset::nn {

UninitializedParameter::UninitializedParameter(const TensorOptions& options, bool requires_grad)
    : Tensor(make_uninitialized(options.dtype(), options.device())) {
  set_requires_grad(requires_grad);
}
void UninitializedParameter::materialize(IntArrayRef shape, std::optional<Device> device, std::optional<ScalarType> dtype) {
  CRESSET_CHECK(is_lazy(*this), "materialize: the tensor has a shape already, ", sizes());
  set_data(empty(shape, TensorOptions(dtype.value_or(scalar_type())).device(device.value_or(this->device()))));
}

bool is_lazy(const Tensor& tensor) { return is_uninitialized(tensor); }

namespace detail {

namespace {

// Takes the tensors without shape out of the tables for a scope.
struct WithoutLazy {
  struct Entry {
    std::string name;
    Tensor value;
    bool is_buffer;
  };
  explicit WithoutLazy(Module& m) : module(m) {
    for (bool is_buffer : {false, true})
      for (auto& item : table(is_buffer))
        if (is_lazy(item.value())) {
          entries.push_back({item.key(), item.value(), is_buffer});
          item.value().reset();
        }
  }
  ~WithoutLazy() {
    for (const Entry& e : entries) table(e.is_buffer)[e.name] = e.value;
  }
  OrderedDict<std::string, Tensor>& table(bool is_buffer) { return is_buffer ? Tables::buffers(module) : Tables::parameters(module); }

  Module& module;
  std::vector<Entry> entries;
};

template <class Function> void for_each_tensor(const Module& module, Function function) {
  Module& m = const_cast<Module&>(module);
  for (auto* table : {&Tables::parameters(m), &Tables::buffers(m)})
    for (auto& item : *table)
      if (item.value().defined()) function(item.key(), item.value());
}

}  // namespace

void forget_shapes(Module& module) {
  for_each_tensor(module, [](const std::string&, Tensor& t) {
    t.set_data(is_floating_type(t.scalar_type()) ? make_uninitialized(t.scalar_type(), kCPU) : zeros(t.sizes(), t.scalar_type()));
  });
}

void adopt_shapes(Module& module, const Module& like) {
  for_each_tensor(like, [&](const std::string& name, Tensor& t) {
    Tensor& own = *Tables::find(module, name);
    if (is_lazy(own)) own.set_data(empty(t.sizes(), TensorOptions(own.scalar_type()).device(own.device())));
  });
}

int64_t lazy_channels(const Module& module, const Tensor& input, int64_t spatial) {
  CRESSET_CHECK(input.dim() == spatial + 1 || input.dim() == spatial + 2, module.name(), ": expected an input of ", spatial + 1, " or ", spatial + 2,
                " dimensions, got shape ", input.sizes());
  return input.size(-spatial - 1);
}

void save_lazy(const Module& module, serialize::OutputArchive& archive) {
  const WithoutLazy waiting(const_cast<Module&>(module));
  for (const auto& e : waiting.entries) archive.write(e.name, empty({0}, TensorOptions(e.value.scalar_type())), e.is_buffer);
  module.Module::save(archive);
}

void load_lazy(Module& module, serialize::InputArchive& archive) {
  const WithoutLazy waiting(module);
  std::vector<Tensor> stored(waiting.entries.size());
  for (size_t i = 0; i < stored.size(); i++) archive.read(waiting.entries[i].name, stored[i], waiting.entries[i].is_buffer);
  module.Module::load(archive);
  serialize::LoadProblems problems;
  if (!archive.look_only(&problems)) return;
  archive.look_only(nullptr);
  for (size_t i = 0; i < stored.size(); i++) {
    const Tensor& own = waiting.entries[i].value;
    // One that was saved without a shape has no elements.
    if (stored[i].numel() > 0) own.set_data(stored[i].detach().to(own.device()).clone());
  }
}

void move_lazy(Module& module, std::optional<Device> device, std::optional<ScalarType> dtype, bool non_blocking) {
  const WithoutLazy waiting(module);
  if (device && dtype) module.Module::to(*device, *dtype, non_blocking);
  else if (device) module.Module::to(*device, non_blocking);
  else module.Module::to(*dtype, non_blocking);
  for (const auto& e : waiting.entries) e.value.set_data(make_uninitialized(dtype.value_or(e.value.scalar_type()), device.value_or(e.value.device())));
}

void copy_lazy(const Module& module, Module& copy, const std::optional<Device>& device) {
  if (!has_uninitialized_params(module)) return Tables::copy_state(module, copy, device);
  for_each_tensor(module, [&](const std::string& name, Tensor& t) {
    if (is_lazy(t)) Tables::find(copy, name)->set_data(make_uninitialized(t.scalar_type(), device.value_or(t.device())));
  });
  copy.train(module.is_training());
}

void print_lazy(const Module& module, std::ostream& stream, void (*print_eager)(const Module&, std::ostream&)) {
  if (!has_uninitialized_params(module)) return print_eager(module, stream);
  std::ostringstream text;
  print_eager(module, text);
  const std::string space = "torch::nn::";
  stream << space << "Lazy" << text.str().substr(space.size());
}

}  // namespace detail

bool has_uninitialized_params(const Module& module) {
  bool found = false;
  detail::for_each_tensor(module, [&](const std::string&, const Tensor& t) { found = found || is_lazy(t); });
  return found;
}

}  // namespace cresset::nn
