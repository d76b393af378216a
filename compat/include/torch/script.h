#pragma once
// TorchScript in C++: torch::jit::load and compile, modules, methods, over libcresset_graph.

#include <istream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/graph/script/module.h"
#include "torch/torch.h"

namespace torch::jit {

using c10::IValue;
using Stack = std::vector<IValue>;
using cresset::graph::script::CompilationUnit;
using cresset::graph::script::compile;
using cresset::graph::script::export_opnames;
using cresset::graph::script::ExtraFilesMap;
using cresset::graph::script::freeze;
using cresset::graph::script::Function;
using cresset::graph::script::FusionBehavior;
using cresset::graph::script::FusionStrategy;
using cresset::graph::script::getFusionStrategy;
using cresset::graph::script::Kwargs;
using cresset::graph::script::load;
using cresset::graph::script::Method;
using cresset::graph::script::Module;
using cresset::graph::script::Named;
using cresset::graph::script::optimize_for_inference;
using cresset::graph::script::setFusionStrategy;
using ErrorReport = cresset::graph::script::CompileError;
using JITException = cresset::graph::script::ScriptRaise;
using NameModule = Named<Module>;
using NameValue = Named<IValue>;
using NameTensor = Named<at::Tensor>;
template <class T> using slot_list_impl = cresset::graph::script::SlotList<T>;
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

namespace script {
using jit::ExtraFilesMap;
using jit::Module;
}  // namespace script

}  // namespace torch::jit
