#pragma once
// PyTorch's checkpoint files: a pickle and the storages that it refers to, in a zip archive or in the two formats before it.
// Both front ends go through here, so both write the same file.

#include <memory>
#include <string>

#include "cresset/base/function_ref.h"
#include "cresset/base/std_function.h"
#include "cresset/core/tensor.h"
#include "cresset/io/pickle.h"
#include "cresset/io/zip.h"

namespace cresset::io {

constexpr size_t kMaxPickleBytes = size_t{1} << 31;

struct CheckpointOptions : UnpickleOptions {
  // Storages share pages with the file until they are written to; writing changes the file only if it is `shared`.
  bool mmap = false, shared = false;
  // Bytes of a file without a `byteorder` entry are those of a big-endian machine.
  bool big_endian = false;
  // The checksums of storages are compared, except where they are mapped.
  bool verify = true;
};

class CRESSET_API Checkpoint {
 public:
  // Reads and checks everything but the storages' bytes. Errors: UnpicklingError; Error for damaged files, by name.
  Checkpoint(std::shared_ptr<const ByteSource> source, CheckpointOptions options);

  const Document& document() const { return document_; }
  NodeId root() const { return root_; }
  // The bytes of the object's pickle.
  const std::string& pickle() const { return pickle_; }
  // The objects that numbers in the pickle of a tar archive refer to: storages and tensors.
  const std::unordered_map<std::string, NodeId>& references() const { return references_; }
  // Where the checkpoint ends in its source: others may follow one of the format before zip archives.
  uint64_t end() const { return end_; }
  size_t num_storages() const { return document_.storages.size(); }
  // The bytes in memory of their own, or mapped.
  intrusive_ptr<StorageImpl> read_storage(size_t index) const;
  // A tensor over the storages that `storage` gives by their numbers; null for one: on the meta device.
  // Errors: sparse tensors whose parts do not belong together.
  using StorageOf = FunctionRef<intrusive_ptr<StorageImpl>(uint32_t)>;
  Tensor make_tensor(const TensorRecord& record, StorageOf storage) const;

 private:
  CRESSET_LOCAL void read_zip();
  CRESSET_LOCAL void read_legacy();
  CRESSET_LOCAL bool looks_like_tar() const;
  CRESSET_LOCAL void read_tar();
  CRESSET_LOCAL Tensor make_sparse(const TensorRecord& record, StorageOf storage) const;
  CRESSET_LOCAL void locate(size_t index, uint64_t offset, uint64_t size);
  CRESSET_LOCAL void read_bytes(const StorageRecord& storage, char* to) const;

  std::shared_ptr<const ByteSource> source_;
  CheckpointOptions options_;
  Document document_;
  std::string pickle_;
  NodeId root_ = 0;
  std::unordered_map<std::string, NodeId> references_;
  uint64_t end_ = 0;
  bool swap_bytes_ = false;
  mutable std::shared_ptr<char> mapped_;
};

class CRESSET_API CheckpointWriter {
 public:
  // With `legacy` for the format before zip archives, which `write_legacy` then writes.
  explicit CheckpointWriter(bool legacy = false, int protocol = 2) : legacy_(legacy), protocol_(protocol), pickler_(protocol) {}
  Pickler& pickler() { return pickler_; }
  // Names the place of a storage, for `load` to bring it back to; without it "cpu" and names of devices are written.
  std::function<std::string(const intrusive_ptr<StorageImpl>&)> location_tag;
  // Puts a tensor on top; storages that several tensors share are written once.
  // Errors: an undefined tensor, one without dense memory.
  void tensor(const Tensor& t, bool is_parameter = false);
  // The function of torch._utils that makes the tensor, and its arguments as a tuple: for callers that wrap them.
  void tensor_function(const Tensor& t);
  void tensor_arguments(const Tensor& t);
  void storage(const intrusive_ptr<StorageImpl>& storage, ScalarType dtype);
  // The archive, with what the pickler holds. `folder` is the name that all entries begin with.
  struct ZipOptions {
    bool checksums = true, byte_order = true;
  };
  void write(const WriteBytes& write, const std::string& folder, ZipOptions options);
  void write(const WriteBytes& sink, const std::string& folder) { write(sink, folder, ZipOptions()); }
  void write_legacy(const WriteBytes& write);

 private:
  // Calls `with` with the bytes of a storage, copied to the CPU if they lie elsewhere.
  CRESSET_LOCAL void with_bytes(size_t index, FunctionRef<void(const void*, size_t)> with) const;

  const bool legacy_;
  const int protocol_;
  Pickler pickler_;
  std::vector<intrusive_ptr<StorageImpl>> storages_;
  std::vector<ScalarType> dtypes_;
  std::unordered_map<const StorageImpl*, size_t> index_;
};

// The name of the folder in the archive of a file: the file's without folders and ending.
CRESSET_API std::string archive_folder(const std::string& path);

}  // namespace cresset::io
