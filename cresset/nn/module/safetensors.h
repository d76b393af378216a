#pragma once
// Modules in files of the safetensors format.

#include <string>

#include "cresset/io/safetensors.h"
#include "cresset/nn/module/module.h"

namespace cresset::io {

// Parameters and buffers of a module by their full names; of one under several names the first is written, the metadata names the others.
CRESSET_API void save_safetensors(const nn::Module& module, const std::string& path);
// Copies the values into the parameters and buffers. Errors: names or shapes that differ; then the module is unchanged.
CRESSET_API void load_safetensors(nn::Module& module, const std::string& path, bool strict = true);

}  // namespace cresset::io
