#pragma once
// Objects and modules from the parts that readers of files have.

#include "caffe2/serialize/istream_adapter.h"
#include "cresset/graph/script/archive.h"
#include "torch/detail/script_objects.h"
#include "torch/script.h"

namespace torch::jit {

// Errors: as those of load.
inline Module load(const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& adapter, ExtraFilesMap& extra, std::optional<at::Device> device = {}) {
  std::string bytes(adapter->size(), '\0');
  adapter->read(0, bytes.data(), bytes.size(), "the archive");
  std::istringstream stream(bytes);
  return cresset::graph::script::load(stream, device, extra);
}
inline Module load(const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& adapter, std::optional<at::Device> device = {}) {
  ExtraFilesMap none;
  return load(adapter, none, device);
}

// The object that an unpickler makes of a class and a state: what `__setstate__` makes of it, or else the values of a dict under the names of the
// attributes. Errors: no class; a state that is no dict, or lacks an attribute, or has it of another type.
inline c10::intrusive_ptr<cresset::dispatch::Object> ObjLoaderFunc(const at::StrongTypePtr& type, IValue input) {
  namespace script = cresset::graph::script;
  TORCH_CHECK(type.type_ && type.cu_, "ObjLoaderFunc: expected a class and its unit");
  auto object = c10::make_intrusive<script::ScriptObject>(type.type_, type.cu_);
  const IValue self(c10::intrusive_ptr<cresset::dispatch::Object>::share(object.get()));
  if (Function* const set_state = type.type_->method("__setstate__")) {
    set_state->run({self, std::move(input)});
    return object;
  }
  TORCH_CHECK(input.isGenericDict(), "ObjLoaderFunc: expected the state of ", type.type_->name, " as a dict, got ", input.kind());
  const auto state = input.toGenericDict();
  for (const script::Attribute& attribute : type.type_->attributes) {
    const auto found = state.find(IValue(attribute.name));
    TORCH_CHECK(found != state.end(), "ObjLoaderFunc: the state of ", type.type_->name, " lacks attribute '", attribute.name, "'");
    const IValue value = found->value();
    TORCH_CHECK(script::value_fits(value, attribute.type), "ObjLoaderFunc: attribute '", attribute.name, "' of ", type.type_->name, " does not hold ",
                value.kind());
    object->slot(attribute.name) = value;
  }
  return object;
}

// A module whose classes are compiled from texts ("code/__torch__.py" and the like), with the values of an object, and the constants of the texts.
// Errors: a text does not compile, or has other classes or attributes than the object.
inline Module jitModuleFromSourceAndConstants(const IValue& module, const ExtraFilesMap& source, const std::vector<IValue>& constants, int32_t version) {
  return Module(cresset::graph::script::module_of_source(module, std::map<std::string, std::string>(source.begin(), source.end()), constants, version));
}

}  // namespace torch::jit
