#pragma once
// NumPy's files: .npy with one array, .npz with several by name.

#include <memory>
#include <string>

#include "cresset/io/safetensors.h"

namespace cresset::io {

// Errors of all four: dtypes that NumPy does not have (bfloat16, complex32), tensors without dense data; a disk that is full.
CRESSET_API void save_npy(const Tensor& tensor, const std::string& path);
CRESSET_API void write_npy(const Tensor& tensor, const std::function<void(const void*, size_t)>& write);
CRESSET_API void save_npz(const NamedTensors& tensors, const std::string& path);
CRESSET_API void write_npz(const NamedTensors& tensors, const std::function<void(const void*, size_t)>& write);

// Errors of all: a missing, truncated or malformed file, by name; arrays of objects, text and other dtypes that tensors do not have.
// With `use_mmap` the tensor shares pages with the file until it is written to; writing does not change the file.
CRESSET_API Tensor load_npy(const std::string& path, bool use_mmap = false);
CRESSET_API Tensor read_npy(const ByteSource& source, const std::string& name, bool use_mmap = false);
// Also archives whose entries are compressed.
CRESSET_API NamedTensors load_npz(const std::string& path);
CRESSET_API NamedTensors read_npz(const ByteSource& source, const std::string& name);

// The header of an array.
struct NpyInfo {
  std::string name;  // of an array in an archive
  ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t nbytes;
  bool fortran, big_endian, compressed;
};
CRESSET_API NpyInfo inspect_npy(const ByteSource& source, const std::string& name);
CRESSET_API std::vector<NpyInfo> inspect_npz(const ByteSource& source, const std::string& name);

}  // namespace cresset::io
