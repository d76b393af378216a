#pragma once
// Programs that PyTorch's torch.export.save wrote (.pt2): a graph, its weights and its signature. Nothing in the file can run code: weights are bytes,
// and an archive whose weights are pickles is refused.
//
//   auto program = graph::load_program("m.pt2");
//   Tensor y = program.run({x})[0].to_tensor();

#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

struct Condition;

// An argument that an exported program takes besides its weights; they are in the order of its flat inputs.
struct ExportedInput {
  std::string name;
  Type type;
};

class CRESSET_API ExportedProgram {
 public:
  // Flat inputs and outputs, in the order of the trees below. Mutated buffers and inputs are written. Errors: inputs of another number, dtype or size
  // than the program was exported for, or of sizes outside its ranges and conditions; whatever operators raise.
  std::vector<Datum> run(std::vector<Datum> inputs) const;

  const Graph& graph() const { return *graph_; }
  const std::vector<ExportedInput>& inputs() const { return inputs_; }
  // The weights, buffers and constants by name; those that share memory in the file share it here.
  const std::map<std::string, Tensor>& state() const { return state_; }
  // How the program's arguments and its results are nested: JSON, as the file has it.
  const std::string& input_tree() const { return input_tree_; }
  const std::string& output_tree() const { return output_tree_; }
  // "2.13.0": of the PyTorch that wrote it.
  const std::string& version() const { return version_; }
  const Program& program() const { return *program_; }
  // The same with another graph, of the same parameters and results. Errors: as those of Program.
  ExportedProgram with_graph(std::shared_ptr<const Graph> graph, const ProgramOptions& options = {}) const;

 private:
  friend class Pt2Reader;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Program> program_;
  std::vector<ExportedInput> inputs_;
  std::shared_ptr<const std::vector<Condition>> conditions_;
  std::map<std::string, Tensor> state_;
  std::string input_tree_, output_tree_, version_;
  bool has_regions_ = false;  // of mixed precision, or levels of transforms
};

struct LoadOptions {
  // Reads graphs with operators that this library lacks, to be looked at or changed; they have no program.
  bool allow_foreign = false;
  // The program to read, of an archive that has several; empty: the only one, or that of the name "model".
  std::string model;
  ProgramOptions program;
};
// Errors: no such file; an archive that is damaged, of another version, or has pickled weights; a model that is not there or not told, with those that
// are; a graph that is none, with the node and the field; operators that this library lacks, all named at once.
CRESSET_API ExportedProgram load_program(const std::string& path, const LoadOptions& options = {});
CRESSET_API ExportedProgram load_program_from_memory(const void* data, size_t size, const LoadOptions& options = {});
// The names of the programs in an archive, in its order. Errors: no such file; an archive that is damaged or of another kind.
CRESSET_API std::vector<std::string> models_of(const std::string& path);

}  // namespace cresset::graph
