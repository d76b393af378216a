#pragma once
// Samplers decide which examples make up the next batch.

#include <optional>
#include <vector>

#include "cresset/nn/module/archive.h"

namespace cresset::data::samplers {

template <class BatchRequest = std::vector<size_t>> class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  // Starts over, perhaps with another size.
  virtual void reset(std::optional<size_t> new_size) = 0;
  // The next request for at most batch_size examples; nothing at the end.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

// 0, 1, 2, …
class CRESSET_API SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t size_, index_ = 0;
};

// A random order, drawn as randperm where it is made and at each reset.
class CRESSET_API RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kLong);
  ~RandomSampler() override;
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return static_cast<size_t>(index_); }

 private:
  Tensor indices_;
  int64_t index_ = 0;
};

// The request of a stream: how many examples.
struct CRESSET_API BatchSize {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept { return size_; }
  operator size_t() const noexcept { return size_; }

 private:
  size_t size_;
};

// A request of an own kind, that says how many examples it asks for.
struct CRESSET_API CustomBatchRequest {
  CustomBatchRequest() = default;
  CustomBatchRequest(const CustomBatchRequest&) = default;
  CustomBatchRequest(CustomBatchRequest&&) noexcept = default;
  CustomBatchRequest& operator=(const CustomBatchRequest&) = default;
  CustomBatchRequest& operator=(CustomBatchRequest&&) noexcept = default;
  virtual ~CustomBatchRequest();
  virtual size_t size() const = 0;
};

// For stream datasets: asks for batch_size examples until epoch_size are used up.
class CRESSET_API StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t examples_retrieved_so_far_ = 0, epoch_size_;
};

// One rank's share of the examples.
template <class BatchRequest = std::vector<size_t>> class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    CRESSET_CHECK_VALUE(rank < num_replicas, "DistributedSampler: rank must be below the number of replicas, got ", rank, " and ", num_replicas);
  }
  // Differs the order from epoch to epoch; the same on all ranks.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  // How many examples this rank gets, the same number for all: rounded up with duplicates, down without.
  size_t local_sample_count() const { return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_; }
  // The order before any shuffling, repeated from the start where the ranks need more than there are.
  std::vector<size_t> consecutive_indices() const {
    std::vector<size_t> indices(local_sample_count() * num_replicas_);
    for (size_t i = 0; i < indices.size(); i++) indices[i] = i % size_;
    return indices;
  }
  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

// The share as a range of an order of all examples, which derived classes choose.
class CRESSET_API DistributedIndexSampler : public DistributedSampler<> {
 public:
  using DistributedSampler<>::DistributedSampler;
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return sample_index_; }

 protected:
  // Puts `indices`, consecutive at first, into the order of this epoch.
  virtual void arrange(std::vector<size_t>&) const {}
  size_t sample_index_ = 0;

 private:
  size_t end_index_ = 0;
  std::vector<size_t> all_indices_;
};

// A random order shared by all ranks, of which each takes its part.
class CRESSET_API DistributedRandomSampler : public DistributedIndexSampler {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  void arrange(std::vector<size_t>& indices) const override;
};

// Consecutive examples of which each rank takes its part.
class CRESSET_API DistributedSequentialSampler : public DistributedIndexSampler {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
};

template <class BatchRequest> serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
template <class BatchRequest> serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
  sampler.load(archive);
  return archive;
}

}  // namespace cresset::data::samplers
