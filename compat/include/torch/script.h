#pragma once
// TorchScript in C++: torch::jit::load and compile, modules, methods, over libcresset_graph.

#include <fstream>
#include <functional>
#include <istream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "ATen/core/jit_type.h"
#include "ATen/core/qualified_name.h"
#include "cresset/graph/script/module.h"
#include "cresset/graph/script/schema_view.h"
#include "torch/csrc/jit/frontend/resolver.h"
#include "torch/csrc/jit/runtime/graph_executor.h"
#include "torch/csrc/jit/runtime/operator.h"
#include "torch/csrc/jit/serialization/pickle.h"
#include "torch/detail/script_objects.h"
#include "torch/library.h"
#include "torch/torch.h"

namespace cresset::graph::script {
inline c10::Type libtorch_type(const SchemaArgumentView& argument) { return c10::type_of(argument.script_type()); }
}  // namespace cresset::graph::script

namespace torch::jit {

using c10::Argument;
using c10::FunctionSchema;
using c10::IValue;
using c10::QualifiedName;
using Stack = std::vector<IValue>;
using cresset::graph::script::CompilationUnit;
using cresset::graph::script::compile;
using cresset::graph::script::export_opnames;
using cresset::graph::script::ExportModuleExtraFilesHook;
using cresset::graph::script::ExtraFilesMap;
using cresset::graph::script::freeze;
using cresset::graph::script::Function;
using cresset::graph::script::FusionBehavior;
using cresset::graph::script::FusionStrategy;
using cresset::graph::script::getFusionStrategy;
using cresset::graph::script::getInlineEverythingMode;
using cresset::graph::script::import_ir_module;
using cresset::graph::script::Kwargs;
using cresset::graph::script::load;
using cresset::graph::script::Method;
using cresset::graph::script::Module;
using cresset::graph::script::Named;
using cresset::graph::script::optimize_for_inference;
using cresset::graph::script::parse_and_initialize_jit_module;
using cresset::graph::script::SetExportModuleExtraFilesHook;
using cresset::graph::script::setFusionStrategy;
using ErrorReport = cresset::graph::script::CompileError;
using JITException = cresset::graph::script::ScriptRaise;
using ModulePtr = c10::intrusive_ptr<cresset::dispatch::Object>;
using ModuleLookup = std::function<Module(const std::vector<std::string>&)>;
using NameModule = Named<Module>;
using NameValue = Named<IValue>;
using NameTensor = Named<at::Tensor>;
template <class T> using slot_list_impl = cresset::graph::script::SlotList<T>;
template <class T> using slot_iterator_impl = typename slot_list_impl<T>::const_iterator;
using module_list = slot_list_impl<Module>;
using named_module_list = slot_list_impl<NameModule>;
using parameter_list = slot_list_impl<at::Tensor>;
using named_parameter_list = slot_list_impl<NameTensor>;
using buffer_list = slot_list_impl<at::Tensor>;
using named_buffer_list = slot_list_impl<NameTensor>;
using attribute_list = slot_list_impl<IValue>;
using named_attribute_list = slot_list_impl<NameValue>;

inline void save_jit_module(const Module& module, const std::string& path, const ExtraFilesMap& extra = {}) { module.save(path, extra); }
inline void ExportModule(const Module& module, const std::string& path, const ExtraFilesMap& extra = {}) { module.save(path, extra); }
inline void ExportModule(const Module& module, std::ostream& out, const ExtraFilesMap& extra = {}) { module.save(out, extra); }

inline void ExportModule(const Module& module, const std::function<size_t(const void*, size_t)>& write, const ExtraFilesMap& extra = {}) {
  std::ostringstream out;
  module.save(out, extra);
  const std::string bytes = out.str();
  CRESSET_CHECK(write(bytes.data(), bytes.size()) == bytes.size(), "ExportModule: the function wrote less than ", bytes.size(), " bytes");
}

// Bytes of an archive, and what lets go of them.
class DetachedBuffer {
 public:
  using UniqueDetachedBuffer = std::unique_ptr<DetachedBuffer, std::function<void(DetachedBuffer*)>>;
  explicit DetachedBuffer(std::string bytes) : bytes_(std::move(bytes)) {}
  void* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};
inline DetachedBuffer::UniqueDetachedBuffer save_jit_module_to_bytes(const Module& module, const ExtraFilesMap& extra = {}) {
  std::ostringstream out;
  module.save(out, extra);
  return {new DetachedBuffer(out.str()), [](DetachedBuffer* buffer) { delete buffer; }};
}
// Errors: NotImplementedError where debug information of the lite interpreter is asked for, whose files are not written here.
inline void save_jit_module_to_write_func(const Module& module, const ExtraFilesMap& extra, bool save_mobile_debug_info,
                                          const std::function<size_t(const void*, size_t)>& write) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!save_mobile_debug_info,
                                "save_jit_module_to_write_func: debug information is that of the lite interpreter's flatbuffers, and "
                                "these archives hold the source of their code instead; expected save_mobile_debug_info=false");
  ExportModule(module, write, extra);
}
inline Module load_jit_module_from_file(const std::string& path, ExtraFilesMap& extra, std::optional<at::Device> device = {}) {
  return load(path, device, extra);
}
inline Module load_jit_module_from_stream(std::istream& in, ExtraFilesMap& extra, std::optional<at::Device> device = {}) { return load(in, device, extra); }

inline IValue to_tuple(std::vector<IValue> values) { return IValue(c10::ivalue::Tuple::create(std::move(values))); }
// A tuple of pairs of names and values.
inline IValue Table(const std::vector<std::pair<std::string, IValue>>& rows) {
  std::vector<IValue> pairs;
  for (const auto& [name, value] : rows) pairs.push_back(to_tuple({IValue(name), value}));
  return to_tuple(std::move(pairs));
}

namespace script {
using jit::ExtraFilesMap;
using jit::Module;
}  // namespace script

}  // namespace torch::jit

#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/serialization/import.h"
#include "torch/detail/script_export.h"
