#pragma once
// Files of the lite interpreter (`.ptl`): an archive that has the bytecode of its methods beside their text.

#include "cresset/graph/script/archive.h"

namespace cresset::graph::script {

// How bytecode is written.
struct LiteOptions {
  bool gives_all_arguments = false;     // operators find all arguments on the stack, also those that are defaults
  bool shortens_before_results = true;  // of operators that write into an argument: defaults before it go without saying
  bool has_short_instructions = true;   // `DIM` and its kin in place of the operator
  bool calls_interfaces = true;         // methods of interfaces may be called
};

struct LiteFacts {
  int64_t version = 0;
  std::map<std::string, int64_t> operators;  // "aten::add.Tensor", and the number of arguments that calls give; -1: the file does not say
  std::vector<std::string> types;            // of lists, dicts and tests
};

// Errors: as save_archive; what the lite interpreter lacks: forked calls, with statements, objects of classes that are no modules, enums.
CRESSET_API void save_lite(const Datum& module, const std::map<std::string, std::string>& extra, const std::string& folder, const io::WriteBytes& write,
                           const LiteOptions& options = {});
// The same for those who write a file around the records of an archive: all but the version of the format.
CRESSET_API void write_lite(const Datum& module, const std::map<std::string, std::string>& extra, ArchiveParts& parts, const LiteOptions& options);
// The module, whose methods run their bytecode. Classes have the attributes that the file has values of. Errors: as load_archive; there is no bytecode.
CRESSET_API Datum load_lite(const std::shared_ptr<const io::ByteSource>& source, const std::string& file, const LoadOptions& options = {},
                            std::map<std::string, std::string>* extra = nullptr);
// Errors: as load_lite.
CRESSET_API LiteFacts lite_facts(const io::ByteSource& source, const std::string& file);

}  // namespace cresset::graph::script
