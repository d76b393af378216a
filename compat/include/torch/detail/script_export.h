#pragma once
// Archives of TorchScript written record by record: into files that hold more than one module, or other things besides.

#include <map>

#include "caffe2/serialize/inline_container.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/lite/lite.h"
#include "torch/script.h"

namespace torch::jit {

// How this thread writes bytecode.
class BytecodeEmitMode {
 public:
  // Whether operators find all of their arguments on the stack, also those that are defaults.
  static bool is_default_value_for_unspecified_arg_enabled() { return options().gives_all_arguments; }
  static void set_default_value_for_unspecified_arg_enabled(bool on) { options().gives_all_arguments = on; }
  // Whether defaults before an argument that is written go without saying.
  static bool is_default_args_before_out_args_enabled() { return options().shortens_before_results; }
  static void set_default_args_before_out_args_enabled(bool on) { options().shortens_before_results = on; }
  // Whether some operators are instructions of their own.
  static bool is_emit_promoted_ops_enabled() { return options().has_short_instructions; }
  static void set_default_emit_promoted_ops_enabled(bool on) { options().has_short_instructions = on; }
  static cresset::graph::script::LiteOptions& options() {
    thread_local cresset::graph::script::LiteOptions now;
    return now;
  }
};

// These settings in a scope, and the former ones afterwards.
struct BytecodeEmitModeGuard {
  explicit BytecodeEmitModeGuard(bool enable_default_value_for_unspecified_arg, bool enable_default_args_before_out_args, bool enable_emit_promoted_ops)
      : prev_default_value_for_unspecified_arg_mode(BytecodeEmitMode::is_default_value_for_unspecified_arg_enabled()),
        prev_default_args_before_out_args(BytecodeEmitMode::is_default_args_before_out_args_enabled()),
        prev_default_emit_promoted_ops(BytecodeEmitMode::is_emit_promoted_ops_enabled()) {
    set(enable_default_value_for_unspecified_arg, enable_default_args_before_out_args, enable_emit_promoted_ops);
  }
  ~BytecodeEmitModeGuard() { set(prev_default_value_for_unspecified_arg_mode, prev_default_args_before_out_args, prev_default_emit_promoted_ops); }
  BytecodeEmitModeGuard(const BytecodeEmitModeGuard&) = delete;
  BytecodeEmitModeGuard& operator=(const BytecodeEmitModeGuard&) = delete;
  bool prev_default_value_for_unspecified_arg_mode;
  bool prev_default_args_before_out_args;
  bool prev_default_emit_promoted_ops;

 private:
  static void set(bool all_arguments, bool before_out, bool promoted) {
    BytecodeEmitMode::set_default_value_for_unspecified_arg_enabled(all_arguments);
    BytecodeEmitMode::set_default_args_before_out_args_enabled(before_out);
    BytecodeEmitMode::set_default_emit_promoted_ops_enabled(promoted);
  }
};

// Whether bytecode may call methods of interfaces, which it may from the start.
inline bool getMobileInterfaceCallExport() { return BytecodeEmitMode::options().calls_interfaces; }
inline void enableMobileInterfaceCallExport() { BytecodeEmitMode::options().calls_interfaces = true; }

struct CompilationOptions {
  bool incl_interface_call = false;
  bool enable_default_value_for_unspecified_arg = false;
  bool enable_default_args_before_out_args = true;
  bool enable_emit_promoted_ops = true;
  int model_version = 8;
};
inline CompilationOptions getOptionsFromGlobal() {
  CompilationOptions now;
  now.incl_interface_call = getMobileInterfaceCallExport();
  now.enable_default_value_for_unspecified_arg = BytecodeEmitMode::is_default_value_for_unspecified_arg_enabled();
  now.enable_default_args_before_out_args = BytecodeEmitMode::is_default_args_before_out_args_enabled();
  now.enable_emit_promoted_ops = BytecodeEmitMode::is_emit_promoted_ops_enabled();
  return now;
}

// The storages that the modules of one file share, by number.
class SerializationStorageContext {
 public:
  bool hasStorage(const at::Storage& storage) const { return table_.index.count(storage.impl().get()) != 0; }
  uint64_t getOrAddStorage(const at::Storage& storage) { return table_.enter(storage.impl()); }

 private:
  friend class ScriptModuleSerializer;
  cresset::graph::script::StorageTable table_;
};

// Writes modules into an archive that its owner ends.
class ScriptModuleSerializer {
 public:
  explicit ScriptModuleSerializer(caffe2::serialize::PyTorchStreamWriter& writer)
      : parts_([&writer](const std::string& name, std::string_view bytes) { writer.writeRecord(name, bytes.data(), bytes.size()); }) {
    context_.table_.suffix = ".storage";
  }

  // The texts of the classes of all modules that were written with serialize_unified_format, in a folder whose name ends with a slash.
  void writeFiles(const std::string& code_folder) { parts_.code(code_folder); }
  // The one module of an archive, with bytecode for the lite interpreter where it is asked for. Errors: NotImplementedError where debug information of bytecode
  // is; as Module::save.
  void serialize(const Module& module, const ExtraFilesMap& extra, bool bytecode_format, bool save_mobile_debug_info) {
    TORCH_CHECK_NOT_IMPLEMENTED(!save_mobile_debug_info,
                                "ScriptModuleSerializer: debug information of bytecode is not written, and archives hold the places of their code instead; "
                                "expected save_mobile_debug_info=false");
    const std::map<std::string, std::string> files(extra.begin(), extra.end());
    if (bytecode_format) cresset::graph::script::write_lite(module._ivalue(), files, parts_, BytecodeEmitMode::options());
    else parts_.whole(module._ivalue(), files);
  }
  // A module among others, with a number of its own: its pickles, and the storages that no module before it had. Errors: as Module::save.
  void serialize_unified_format(Module& module, uint64_t script_module_id) {
    const std::string folder = ".data/ts_code/" + std::to_string(script_module_id) + "/";
    parts_.module(module._ivalue(), folder, context_.table_);
    parts_.constants(folder, context_.table_);
    parts_.storages(".data/", context_.table_, written_);
    written_ = context_.table_.list.size();
  }
  SerializationStorageContext& storage_context() { return context_; }

 private:
  cresset::graph::script::ArchiveParts parts_;
  SerializationStorageContext context_;
  size_t written_ = 0;
};

// A pickle as "NAME.pkl", and the bytes of its tensors as "NAME/0", "NAME/1", ..., tensors of one storage with the bytes of that storage.
inline void writeArchiveAndTensors(const std::string& archive_name, const char* pickle_bytes, size_t size, const std::vector<at::Tensor>& tensors,
                                   caffe2::serialize::PyTorchStreamWriter& out) {
  for (size_t i = 0; i < tensors.size(); i++) {
    const at::Tensor t = tensors[i].cpu();
    const at::Storage storage = t.storage();
    out.writeRecord(archive_name + "/" + std::to_string(i), storage.data(), storage.nbytes());
  }
  out.writeRecord(archive_name + ".pkl", pickle_bytes, size);
}

}  // namespace torch::jit

namespace cresset::graph::script {

// Errors: NotImplementedError for debug information and flatbuffers; as save_lite.
inline void libtorch_save_for_mobile(const Module& module, std::ostream& out, const ExtraFilesMap& extra, bool save_mobile_debug_info, bool use_flatbuffer) {
  TORCH_CHECK_NOT_IMPLEMENTED(!save_mobile_debug_info && !use_flatbuffer,
                              "_save_for_mobile: debug information of bytecode and flatbuffers are not written; expected save_mobile_debug_info=false and "
                              "use_flatbuffer=false");
  save_lite(
      module._ivalue(), std::map<std::string, std::string>(extra.begin(), extra.end()), "archive",
      [&](const void* data, size_t n) { out.write(static_cast<const char*>(data), static_cast<std::streamsize>(n)); }, torch::jit::BytecodeEmitMode::options());
}
inline void libtorch_save_for_mobile(const Module& module, const std::string& path, const ExtraFilesMap& extra, bool save_mobile_debug_info,
                                     bool use_flatbuffer) {
  std::ostringstream bytes;
  libtorch_save_for_mobile(module, bytes, extra, save_mobile_debug_info, use_flatbuffer);
  std::ofstream file(path, std::ios::binary);
  const std::string text = bytes.str();
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  TORCH_CHECK(file.flush(), "_save_for_mobile: cannot write the file '", path, "'");
}

}  // namespace cresset::graph::script
