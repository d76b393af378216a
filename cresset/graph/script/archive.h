#pragma once
// Archives of PyTorch: `code/`, `constants.pkl`, `data.pkl`, weights and extra files.

#include "cresset/graph/script/unit.h"
#include "cresset/io/zip.h"

namespace cresset::graph::script {

struct LoadOptions {
  std::optional<Device> device;
  Limits limits;
};

// Whether the file holds a program: false for archives of tensors alone, true for files that are none, of which `load_archive` says why.
CRESSET_API bool holds_program(const io::ByteSource& source, const std::string& file);
// The module. `extra`: names of further files, which get their contents. Errors: Error for archives that are damaged or of a later version, with
// operators or classes that are lacking, all named with their lines; CompileError for code that does not compile.
CRESSET_API Datum load_archive(std::shared_ptr<const io::ByteSource> source, const std::string& file, const LoadOptions& options = {},
                               std::map<std::string, std::string>* extra = nullptr);
// Writes what PyTorch 2.13 reads. Errors: functions of Python, values that are no data.
CRESSET_API void save_archive(const Datum& module, const std::map<std::string, std::string>& extra, const std::string& folder, const io::WriteBytes& write);
// A module whose `forward` is the function.
CRESSET_API Datum module_of_function(Function& function);

}  // namespace cresset::graph::script
