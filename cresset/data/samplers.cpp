#include "cresset/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace cresset::data::samplers {

namespace {

void write_count(serialize::OutputArchive& archive, const char* key, size_t value) { archive.write(key, serialize::ArchiveValue(static_cast<int64_t>(value))); }
size_t read_count(serialize::InputArchive& archive, const char* key) {
  serialize::ArchiveValue value;
  archive.read(key, value);
  return static_cast<size_t>(value.to_int());
}

}  // namespace

void SequentialSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}
std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (index_ >= size_) return std::nullopt;
  std::vector<size_t> batch(std::min(batch_size, size_ - index_));
  std::iota(batch.begin(), batch.end(), index_);
  index_ += batch.size();
  return batch;
}
void SequentialSampler::save(serialize::OutputArchive& archive) const { write_count(archive, "index", index_); }
void SequentialSampler::load(serialize::InputArchive& archive) { index_ = read_count(archive, "index"); }

RandomSampler::RandomSampler(int64_t size, ScalarType index_dtype) : indices_(cresset::randperm(size, index_dtype)) {}
RandomSampler::~RandomSampler() = default;
void RandomSampler::reset(std::optional<size_t> new_size) {
  const int64_t size = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
  indices_ = cresset::randperm(size, indices_.scalar_type());
  index_ = 0;
}
std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  const int64_t left = indices_.numel() - index_;
  if (left <= 0) return std::nullopt;
  const int64_t count = std::min(static_cast<int64_t>(batch_size), left);
  const Tensor part = indices_.narrow(0, index_, count).to(kLong).contiguous();
  const int64_t* p = part.data_ptr<int64_t>();
  index_ += count;
  return std::vector<size_t>(p, p + count);
}
void RandomSampler::save(serialize::OutputArchive& archive) const {
  archive.write("index", serialize::ArchiveValue(index_));
  archive.write("indices", indices_);
}
void RandomSampler::load(serialize::InputArchive& archive) {
  index_ = static_cast<int64_t>(read_count(archive, "index"));
  Tensor stored;
  archive.read("indices", stored);
  indices_ = stored;
}

CustomBatchRequest::~CustomBatchRequest() = default;

void StreamSampler::reset(std::optional<size_t> new_size) {
  if (new_size) epoch_size_ = *new_size;
  examples_retrieved_so_far_ = 0;
}
std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  if (examples_retrieved_so_far_ >= epoch_size_) return std::nullopt;
  const size_t count = std::min(batch_size, epoch_size_ - examples_retrieved_so_far_);
  examples_retrieved_so_far_ += count;
  return BatchSize(count);
}
void StreamSampler::save(serialize::OutputArchive& archive) const { write_count(archive, "examples_retrieved_so_far", examples_retrieved_so_far_); }
void StreamSampler::load(serialize::InputArchive& archive) { examples_retrieved_so_far_ = read_count(archive, "examples_retrieved_so_far"); }

namespace {

std::optional<std::vector<size_t>> take(const std::vector<size_t>& indices, size_t& at, size_t end, size_t batch_size) {
  if (at >= end) return std::nullopt;
  const size_t stop = std::min(at + batch_size, end);
  std::vector<size_t> batch(indices.begin() + static_cast<std::ptrdiff_t>(at), indices.begin() + static_cast<std::ptrdiff_t>(stop));
  at = stop;
  return batch;
}

}  // namespace

void DistributedIndexSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  all_indices_ = consecutive_indices();
  arrange(all_indices_);
  sample_index_ = rank_ * local_sample_count();
  end_index_ = sample_index_ + local_sample_count();
}
std::optional<std::vector<size_t>> DistributedIndexSampler::next(size_t batch_size) { return take(all_indices_, sample_index_, end_index_, batch_size); }
void DistributedIndexSampler::save(serialize::OutputArchive& archive) const { write_count(archive, "sample_index", sample_index_); }
void DistributedIndexSampler::load(serialize::InputArchive& archive) { sample_index_ = read_count(archive, "sample_index"); }

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates) {
  reset();
}
void DistributedRandomSampler::arrange(std::vector<size_t>& indices) const {
  std::mt19937 engine(static_cast<unsigned>(epoch_));
  std::shuffle(indices.begin(), indices.end(), engine);
}
void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  DistributedIndexSampler::save(archive);
  write_count(archive, "epoch", epoch_);
}
void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  epoch_ = read_count(archive, "epoch");
  reset();
  DistributedIndexSampler::load(archive);
}

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates) {
  reset();
}

}  // namespace cresset::data::samplers
