#pragma once
// Archives of TorchScript written record by record: into files that hold more than one module, or other things besides.

#include <set>

#include "caffe2/serialize/inline_container.h"
#include "cresset/graph/script/archive.h"
#include "torch/script.h"

namespace torch::jit {

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
  // The one module of an archive. Errors: NotImplementedError where bytecode or its debug information are asked for; as Module::save.
  void serialize(const Module& module, const ExtraFilesMap& extra, bool bytecode_format, bool save_mobile_debug_info) {
    TORCH_CHECK_NOT_IMPLEMENTED(!bytecode_format && !save_mobile_debug_info,
                                "ScriptModuleSerializer: bytecode of the lite interpreter is not written here; expected bytecode_format=false");
    parts_.whole(module._ivalue(), std::map<std::string, std::string>(extra.begin(), extra.end()));
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
