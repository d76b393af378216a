#pragma once
// save and load of tensors, lists and dicts of tensors, modules and optimizers, to files and streams.
//
// The files are PyTorch's checkpoints, those that Python's torch.save writes: a tensor is a tensor there, a list a list, a module its
// state_dict, an optimizer the state_dict of the optimizer. Files of LibTorch and Python are read, and so are safetensors files.

#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/nn/module/archive.h"
#include "cresset/nn/module/module.h"
#include "cresset/nn/module/pimpl.h"

namespace cresset {

namespace serialize {
CRESSET_API OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor);
CRESSET_API InputArchive& operator>>(InputArchive& archive, Tensor& tensor);
CRESSET_API OutputArchive& operator<<(OutputArchive& archive, const std::vector<Tensor>& tensors);
CRESSET_API InputArchive& operator>>(InputArchive& archive, std::vector<Tensor>& tensors);
CRESSET_API OutputArchive& operator<<(OutputArchive& archive, const OrderedDict<std::string, Tensor>& tensors);
// Dicts within dicts join their names with dots.
CRESSET_API InputArchive& operator>>(InputArchive& archive, OrderedDict<std::string, Tensor>& tensors);
}  // namespace serialize

// `where`: a file name, a stream, or a function that takes bytes.
template <class Value, class... Where> void save(const Value& value, Where&&... where) {
  using serialize::operator<<;
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<Where>(where)...);
}

// save({a, b}, where)
template <class... Where> void save(std::initializer_list<Tensor> tensors, Where&&... where) {
  save(std::vector<Tensor>(tensors), std::forward<Where>(where)...);
}

// Errors: a missing, truncated or malformed file; names or shapes other than those of `value`.
template <class Value, class... Where> void load(Value& value, Where&&... where) {
  using serialize::operator>>;
  serialize::InputArchive archive;
  archive.load_from(std::forward<Where>(where)...);
  archive >> value;
}

}  // namespace cresset
