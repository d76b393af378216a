#pragma once
// Reading and writing the options and states of optimizers. Private to the room.

#include <string>
#include <tuple>

#include "cresset/nn/module/archive.h"

namespace cresset::optim::detail {

inline void write(serialize::OutputArchive& archive, const std::string& key, const Tensor& tensor) {
  if (tensor.defined()) archive.write(key, tensor);
}
template <class T> void write(serialize::OutputArchive& archive, const std::string& key, const T& value) { archive.write(key, serialize::ArchiveValue(value)); }

inline void read(serialize::InputArchive& archive, const std::string& key, Tensor& tensor) {
  Tensor stored;
  // A copy: the archive's tensors may be shared by several readers.
  tensor = archive.try_read(key, stored) ? stored.clone() : Tensor();
}
inline serialize::ArchiveValue read_value(serialize::InputArchive& archive, const std::string& key) {
  serialize::ArchiveValue value;
  archive.read(key, value);
  return value;
}
inline void read(serialize::InputArchive& archive, const std::string& key, bool& value) { value = read_value(archive, key).to_bool(); }
inline void read(serialize::InputArchive& archive, const std::string& key, int64_t& value) { value = read_value(archive, key).to_int(); }
inline void read(serialize::InputArchive& archive, const std::string& key, double& value) { value = read_value(archive, key).to_double(); }

// A choice that LibTorch's files do not have: written only where it is made.
inline void write_choice(serialize::OutputArchive& archive, const std::string& key, bool value) {
  if (value) write(archive, key, value);
}
inline void read_choice(serialize::InputArchive& archive, const std::string& key, bool& value) {
  serialize::ArchiveValue stored;
  value = archive.try_read(key, stored) && stored.to_bool();
}

}  // namespace cresset::optim::detail
