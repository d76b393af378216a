#pragma once
// Files of named tensors in the safetensors format (8 bytes of header length, a JSON header, the bytes of all tensors): data, never code.

#include <optional>
#include <string>
#include <unordered_map>

#include "cresset/base/function_ref.h"
#include "cresset/core/named_tensors.h"
#include "cresset/tensor.h"

namespace cresset::io {

class ByteSource;

using NamedTensors = OrderedDict<std::string, Tensor>;
using Metadata = std::unordered_map<std::string, std::string>;

struct SafetensorsContent {
  NamedTensors tensors{"Tensor"};
  Metadata metadata;
};

// Replaces `path` in one step, after everything has reached the disk.
// Errors: a dtype that the format does not know (complex128), a tensor that is sparse or without data, a disk that is full.
CRESSET_API void save_safetensors(const NamedTensors& tensors, const std::string& path, const Metadata& metadata);
// With the metadata that PyTorch's writers put into files: format = pt.
CRESSET_API void save_safetensors(const NamedTensors& tensors, const std::string& path);
// The same bytes to any sink.
CRESSET_API void write_safetensors(const NamedTensors& tensors, const Metadata& metadata, FunctionRef<void(const void*, size_t)> write);

// With `use_mmap` tensors share pages with the file until they are written to; writing does not change the file.
// A path that ends in ".index.json" names several files of one model, beside it, which are read as one.
// Errors: a missing, truncated or malformed file, by name.
CRESSET_API SafetensorsContent load_safetensors(const std::string& path, bool use_mmap = false);
CRESSET_API SafetensorsContent read_safetensors(const ByteSource& source, const std::string& name, bool use_mmap = false);
// Of an index the file that each tensor is in. Errors: malformed JSON, files elsewhere than beside the index, names that appear twice.
CRESSET_API std::vector<std::pair<std::string, std::string>> read_safetensors_index(const ByteSource& source, const std::string& name);
CRESSET_API SafetensorsContent parse_safetensors(const void* data, size_t size, const std::string& name = "<memory>");

}  // namespace cresset::io
