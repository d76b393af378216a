#include "cresset/io/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "cresset/base/parallel.h"
#include "cresset/core/raw_bool.h"
#include "cresset/core/sparse.h"
#include "cresset/io/crc.h"
#include "cresset/tensor.h"

namespace cresset::io {

namespace {

// A piece is summed while it is in the cache.
constexpr uint64_t kPiece = uint64_t{1} << 19;

void reverse_each(char* data, size_t nbytes, size_t element) {
  for (size_t i = 0; i + element <= nbytes; i += element) std::reverse(data + i, data + i + element);
}

}  // namespace

Checkpoint::Checkpoint(std::shared_ptr<const ByteSource> source, CheckpointOptions options) : source_(std::move(source)), options_(std::move(options)) {
  end_ = source_->size();
  if (ZipReader::looks_like_zip(*source_)) read_zip();
  else if (looks_like_tar()) read_tar();
  else read_legacy();
}

void Checkpoint::locate(size_t index, uint64_t offset, uint64_t size) {
  StorageRecord& s = document_.storages[index];
  // Bytes that do not make up a whole element may follow.
  CRESSET_CHECK(size >= s.nbytes && size - s.nbytes < s.class_bytes, "load: storage '", std::string(s.key), "' in '", options_.file, "' has ", size,
                " bytes, expected ", s.nbytes);
  s.offset = offset;
}

void Checkpoint::read_zip() {
  const ZipReader zip(*source_, options_.file);
  const ZipEntry* pickle = zip.find("data.pkl");
  CRESSET_CHECK(pickle, "load: '", options_.file, "' is a zip archive, but no checkpoint: it has no data.pkl");
  CRESSET_CHECK(options_.script || !zip.find("constants.pkl"), "load: '", options_.file,
                "' is a TorchScript archive, which holds code beside its data; in Python torch.io.load_torchscript gives its tensors, for load_state_dict");
  CRESSET_CHECK(pickle->size <= kMaxPickleBytes, "load: the pickle in '", options_.file, "' has ", pickle->size, " bytes, at most ", kMaxPickleBytes,
                " are allowed");
  bool big = options_.big_endian;
  if (const ZipEntry* order = zip.find("byteorder")) {
    const std::string text = order->size <= 16 ? zip.read(*order) : "";
    CRESSET_CHECK(text == "little" || text == "big", "load: '", options_.file, "' has the unknown byte order '", text, "'");
    big = text == "big";
  }
  swap_bytes_ = big;
  pickle_ = zip.read(*pickle);
  std::string_view rest = pickle_;
  root_ = unpickle(document_, rest, options_);
  for (size_t i = 0; i < document_.storages.size(); i++) {
    const std::string key = "data/" + std::string(document_.storages[i].key);
    const ZipEntry* data = zip.find(key);
    CRESSET_CHECK(data, "load: '", options_.file, "' has no entry '", key, "'");
    zip.check_stored(*data);
    locate(i, data->data_offset, data->size);
    if (data->size == document_.storages[i].nbytes) document_.storages[i].crc = data->crc;
  }
}

void Checkpoint::read_bytes(const StorageRecord& s, char* to) const {
  const bool verify = options_.verify && s.crc != 0;
  const int64_t pieces = static_cast<int64_t>((s.nbytes + kPiece - 1) / kPiece);
  std::vector<uint32_t> sums(static_cast<size_t>(pieces));
  auto length = [&](int64_t i) { return static_cast<size_t>(std::min(kPiece, s.nbytes - static_cast<uint64_t>(i) * kPiece)); };
  parallel_for(0, pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const uint64_t at = static_cast<uint64_t>(i) * kPiece;
      source_->read(s.offset + at, to + at, length(i));
      if (verify) sums[static_cast<size_t>(i)] = add_to_crc(0, to + at, length(i));
    }
  });
  if (!verify) return;
  uint32_t sum = 0;
  for (int64_t i = 0; i < pieces; i++) sum = join_crc(sum, sums[static_cast<size_t>(i)], length(i));
  CRESSET_CHECK(sum == s.crc, "load: '", options_.file, "' is damaged: the checksum of storage '", std::string(s.key), "' is wrong");
}

intrusive_ptr<StorageImpl> Checkpoint::read_storage(size_t index) const {
  const StorageRecord& s = document_.storages[index];
  const size_t nbytes = static_cast<size_t>(s.nbytes);
  if (options_.mmap && nbytes > 0 && !swap_bytes_ && s.offset % 16 == 0) {
    if (!mapped_) mapped_ = source_->map(options_.shared);
    if (mapped_) return make_intrusive<StorageImpl>(mapped_.get() + s.offset, nbytes, Device(kCPU), [keep = mapped_](void*) {});
  }
  auto storage = make_intrusive<StorageImpl>(nbytes, Device(kCPU));
  if (nbytes > 0) read_bytes(s, static_cast<char*>(storage->data()));
  if (swap_bytes_ && s.swap_bytes > 1) reverse_each(static_cast<char*>(storage->data()), nbytes, s.swap_bytes);
  return storage;
}

Tensor Checkpoint::make_sparse(const TensorRecord& r, StorageOf storage) const {
  const std::vector<NodeId>& parts = document_.children(r.parts);
  std::vector<Tensor> tensors;
  for (const NodeId id : parts)
    if (document_[id].kind == Kind::Tensor) tensors.push_back(make_tensor(document_.tensors[document_[id].place], storage));
  const std::string_view name = document_[r.layout].text;
  const std::vector<int64_t> sizes = document_.integers(r.sizes);
  Tensor t;
  for (const Layout layout : {Layout::Sparse, Layout::SparseCsr, Layout::SparseCsc, Layout::SparseBsr, Layout::SparseBsc}) {
    if (name != std::string("torch.") + layout_name(layout)) continue;
    if (layout != Layout::Sparse) t = cresset::sparse_compressed_tensor(tensors[0], tensors[1], tensors[2], sizes, TensorOptions().layout(layout));
    else t = cresset::sparse_coo_tensor(tensors[0], tensors[1], sizes, {}, parts.size() > 3 && document_[parts[3]].flag);
  }
  CRESSET_CHECK(t.defined(), "load: '", options_.file, "' has a tensor of the unknown layout ", std::string(name));
  if (r.requires_grad) t.requires_grad_(true);
  return t;
}

Tensor Checkpoint::make_tensor(const TensorRecord& r, StorageOf storage_of) const {
  if (r.layout != kNoNode) return make_sparse(r, storage_of);
  const intrusive_ptr<StorageImpl> storage = r.storage == kNoNode ? intrusive_ptr<StorageImpl>() : storage_of(r.storage);
  const std::vector<int64_t> sizes = document_.integers(r.sizes), strides = document_.integers(r.strides);
  Tensor t;
  if (storage) {
    t = Tensor(make_intrusive<TensorImpl>(storage, r.dtype, storage->device()));
    t.impl()->set_geometry(sizes, strides, r.offset);
  } else {
    t = cresset::empty_strided(sizes, strides, TensorOptions(r.dtype).device(Device(kMeta)));
  }
  t.impl()->set_conj(r.conj);
  t.impl()->set_neg(r.neg);
  mark_if_raw_bool(*t.impl());
  if (r.requires_grad) t.requires_grad_(true);
  return t;
}

void CheckpointWriter::storage(const intrusive_ptr<StorageImpl>& storage, ScalarType dtype) {
  // One without bytes is written once for each dtype that it is seen as: nothing is shared.
  const auto empty = storage->nbytes() == 0 ? index_.find(storage.get()) : index_.end();
  if (empty != index_.end() && dtype != ScalarType::Undefined && dtypes_[empty->second] != ScalarType::Undefined && dtypes_[empty->second] != dtype)
    return this->storage(make_intrusive<StorageImpl>(size_t{0}, storage->device()), dtype);
  const auto [found, fresh] = index_.emplace(storage.get(), storages_.size());
  if (fresh) {
    storages_.push_back(storage);
    dtypes_.push_back(dtype);
  }
  ScalarType& known = dtypes_[found->second];
  if (known == ScalarType::Undefined) known = dtype;
  CRESSET_CHECK(known == dtype || dtype == ScalarType::Undefined, "save: tensors of ", known, " and ", dtype,
                " share the same memory, which the format cannot express; clone() one of them");
  const Device d = storage->device();
  const bool plain = known == ScalarType::Undefined;
  CRESSET_CHECK(!legacy_ || storage_class(known), "save: the format before zip archives cannot hold ", plain ? "storages without a dtype" : "tensors of ",
                plain ? "" : dtype_name(known));
  pickler_.storage(std::to_string(found->second), dtype, storage->nbytes(), location_tag ? location_tag(storage) : d.is_cpu() ? "cpu" : d.str(), legacy_);
}

void CheckpointWriter::tensor_function(const Tensor& t) {
  CRESSET_CHECK(t.defined(), "save: the tensor is undefined");
  pickler_.global("torch._utils", t.layout() != kStrided           ? "_rebuild_sparse_tensor"
                                  : t.is_meta()                    ? "_rebuild_meta_tensor_no_storage"
                                  : storage_class(t.scalar_type()) ? "_rebuild_tensor_v2"
                                                                   : "_rebuild_tensor_v3");
}

void CheckpointWriter::tensor_arguments(const Tensor& t) {
  Pickler& p = pickler_;
  p.mark();
  if (t.layout() != kStrided) {
    const SparseParts& parts = sparse_parts(t);
    p.global("torch.serialization", "_get_layout");
    p.text(std::string("torch.") + layout_name(t.layout()));
    p.op('\x85');
    p.op('R');
    p.mark();
    tensor(parts.indices);
    if (parts.plain.defined()) tensor(parts.plain);
    tensor(parts.values);
    p.global("torch", "Size");
    p.integers(t.sizes().data(), t.sizes().size());
    p.op('\x85');
    p.op('R');
    if (!parts.plain.defined()) p.boolean(parts.coalesced);
    p.op('t');
    p.op('t');
    return;
  }
  if (t.is_meta()) {
    p.dtype(t.scalar_type());
  } else {
    storage(t.impl()->has_storage() ? t.impl()->storage() : make_intrusive<StorageImpl>(0, Device(kCPU)), t.scalar_type());
    p.integer(t.storage_offset());
  }
  p.integers(t.sizes().data(), t.sizes().size());
  p.integers(t.strides().data(), t.strides().size());
  p.boolean(t.requires_grad());
  if (!t.is_meta()) {
    p.ordered_dict();
    if (!storage_class(t.scalar_type())) p.dtype(t.scalar_type());
    if (t.impl()->is_conj() || is_negative_view(*t.impl())) {
      p.op('}');
      for (const char* name : {"conj", "neg"}) {
        if (!(name[0] == 'c' ? t.impl()->is_conj() : is_negative_view(*t.impl()))) continue;
        p.text(name);
        p.boolean(true);
        p.op('s');
      }
    }
  }
  p.op('t');
}

void CheckpointWriter::tensor(const Tensor& t, bool is_parameter) {
  Pickler& p = pickler_;
  if (is_parameter) p.global("torch._utils", "_rebuild_parameter");
  // The tensor within a parameter is detached; the parameter says whether it requires gradients.
  const Tensor inner = is_parameter ? t.detach() : t;
  tensor_function(inner);
  tensor_arguments(inner);
  p.op('R');
  if (!is_parameter) return;
  p.boolean(t.requires_grad());
  p.ordered_dict();
  p.op('\x87');
  p.op('R');
}

void CheckpointWriter::write(const WriteBytes& write, const std::string& folder, ZipOptions options) {
  ZipWriter zip(write, folder);
  const std::string& pickle = pickler_.finish();
  zip.add("data.pkl", pickle.data(), pickle.size(), options.checksums);
  zip.add(".format_version", "1");
  zip.add(".storage_alignment", "64");
  if (options.byte_order) zip.add("byteorder", "little");
  for (size_t i = 0; i < storages_.size(); i++) {
    with_bytes(i, [&](const void* data, size_t size) { zip.add("data/" + std::to_string(i), data, size, options.checksums); });
  }
  zip.add("version", "3\n");
  std::string id = std::to_string(pickle.size()) + std::to_string(zip.checksum());
  id.insert(0, id.size() < 40 ? 40 - id.size() : 0, '0');
  zip.add(".data/serialization_id", id);
  zip.finish();
}

void CheckpointWriter::with_bytes(size_t index, FunctionRef<void(const void*, size_t)> with) const {
  const StorageImpl& s = *storages_[index];
  if (s.device().is_cpu()) return with(s.data(), s.nbytes());
  Tensor bytes(make_intrusive<TensorImpl>(storages_[index], kByte, s.device()));
  bytes.impl()->set_sizes_contiguous(static_cast<int64_t>(s.nbytes()));
  with(bytes.to(Device(kCPU)).data_ptr(), s.nbytes());
}

std::string archive_folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "archive" : name;
}

}  // namespace cresset::io
