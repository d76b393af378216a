#pragma once
// GGUF files: facts about a model by name, and tensors, many of them in blocks of a few bits an element. Read only: data, never code.

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cresset/io/safetensors.h"

namespace cresset::io {

// Numbers in a list are a tensor.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string, Tensor, std::vector<std::string>>;

struct GgufType {
  int id;
  const char* name;
  int64_t block;  // elements that are coded together
  int64_t bytes;  // of a block
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost first
  const GgufType* type;
  uint64_t offset, nbytes;  // within the file
};

class CRESSET_API GgufFile {
 public:
  // Reads and checks everything but the tensors' bytes.
  // Errors: a missing, truncated or malformed file, by name; tensors that overlap or lie beyond the end; names that appear twice.
  GgufFile(std::shared_ptr<const ByteSource> source, const std::string& name);
  explicit GgufFile(const std::string& path);

  const std::vector<std::pair<std::string, GgufValue>>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  // F32, F16, BF16, F64 and integers with their dtype, quantised ones as float32. With `use_mmap` those that are not quantised share pages
  // with the file until they are written to. Errors: a type of which only the size is known.
  Tensor read(const GgufTensor& tensor, bool use_mmap = false) const;

 private:
  std::shared_ptr<const ByteSource> source_;
  std::string name_;
  std::vector<std::pair<std::string, GgufValue>> metadata_;
  std::vector<GgufTensor> tensors_;
  mutable std::shared_ptr<char> mapped_;
};

// All tensors. Errors as above.
CRESSET_API NamedTensors load_gguf(const std::string& path, bool use_mmap = false);

// `count` blocks of a quantised type as floats; false for types that are not known.
bool dequantize(const GgufType& type, const unsigned char* blocks, int64_t count, float* to);

}  // namespace cresset::io
