#pragma once
// Facts about files of the lite interpreter.

#include "torch/script.h"

namespace torch::jit {

// Errors: as those of _load_for_mobile.
inline uint64_t _get_model_bytecode_version(const std::string& path) {
  return static_cast<uint64_t>(cresset::graph::script::lite_facts(cresset::io::FileSource(path), path).version);
}
inline uint64_t _get_model_bytecode_version(std::istream& in) {
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return static_cast<uint64_t>(cresset::graph::script::lite_facts(cresset::io::MemorySource(bytes.data(), bytes.size()), "<stream>").version);
}

}  // namespace torch::jit
