#pragma once
// save and load of tensors, lists of tensors, modules and optimizers, to files and streams.
//
// An archive is a safetensors file: tensors under their names, nested archives joined with dots (so a module's file has the names of its
// state), and plain values as text in the header's metadata under "value:" and their name.

#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/nn/archive.h"
#include "cresset/nn/module.h"
#include "cresset/nn/pimpl.h"

namespace cresset {

namespace serialize {
CRESSET_API OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor);
CRESSET_API InputArchive& operator>>(InputArchive& archive, Tensor& tensor);
CRESSET_API OutputArchive& operator<<(OutputArchive& archive, const std::vector<Tensor>& tensors);
CRESSET_API InputArchive& operator>>(InputArchive& archive, std::vector<Tensor>& tensors);
}  // namespace serialize

// `where`: a file name, a stream, or a function that takes bytes.
template <class Value, class... Where>
void save(const Value& value, Where&&... where) {
  using serialize::operator<<;
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<Where>(where)...);
}

// Errors: a missing, truncated or malformed file; names or shapes other than those of `value`.
template <class Value, class... Where>
void load(Value& value, Where&&... where) {
  using serialize::operator>>;
  serialize::InputArchive archive;
  archive.load_from(std::forward<Where>(where)...);
  archive >> value;
}

}  // namespace cresset
