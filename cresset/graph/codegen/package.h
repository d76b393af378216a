#pragma once
// Programs compiled ahead of time: `.pt2` files whose graphs come with machine code, which start without a compiler.
//
//   graph::write_package("model.pt2", "compiled.pt2");
//   const auto model = graph::load_compiled("compiled.pt2");
//   Tensor y = model.run({x})[0].to_tensor();

#include "cresset/graph/io/pt2.h"

namespace cresset::graph {

struct PackageOptions {
  // The instruction sets that there is code for: "avx2", "avx512", and "baseline", which needs none. CPUs of others run the library's own loops. Empty: all that this
  // build can compile for.
  std::vector<std::string> isas;
  std::map<std::string, std::string> metadata;  // of the user
};
// Compiles the program of a .pt2 file; the package, a .pt2 file too, appears whole or not at all. Errors: those of load_program; an instruction set
// that there is no code for, or no provider of machine code where one is asked for.
CRESSET_API void write_package(const std::string& program, const std::string& package, const PackageOptions& options = {});

struct LoadCompiledOptions {
  ProgramOptions program;
  bool machine_code = true;  // false: the code in the file is not used; kernels get theirs as those of other compiled graphs do
};

class CRESSET_API CompiledProgram {
 public:
  // As ExportedProgram::run, without a history for gradients; any number of threads at once.
  std::vector<Datum> run(std::vector<Datum> inputs) const;
  const ExportedProgram& program() const { return program_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<std::string>& isas() const { return isas_; }
  size_t num_kernels() const;

 private:
  friend CRESSET_API CompiledProgram load_compiled(const std::string& path, const LoadCompiledOptions& options);
  std::shared_ptr<const void> code_;
  std::shared_ptr<const class Kernels> kernels_;  // of the program
  ExportedProgram program_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> isas_;
};
// Reads a package, after all of its checksums. Code is used for the very program that it was made of. It is code all the same: load packages of those you
// trust. Errors: no package, one that is damaged or that a newer version wrote; those of load_program.
CRESSET_API CompiledProgram load_compiled(const std::string& path, const LoadCompiledOptions& options = {});

}  // namespace cresset::graph
