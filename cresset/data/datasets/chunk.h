#pragma once
// A dataset that is read in chunks, files for instance, of which some are read ahead by threads: chunks and the examples within come in the
// orders of two samplers.

#include <deque>
#include <memory>
#include <utility>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/base/arg.h"
#include "cresset/data/datasets/stateful.h"
#include "cresset/data/mutex.h"
#include "cresset/data/samplers.h"
#include "cresset/data/worker_pool.h"

namespace cresset::data::datasets {

template <class Single, class Chunk = std::vector<Single>> class ChunkDataReader {
 public:
  using ChunkType = Chunk;
  using BatchType = Chunk;
  using ExampleType = Single;
  virtual ~ChunkDataReader() = default;
  // Called from several threads.
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  virtual void reset() = 0;
};

struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048, size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count), batch_size_(batch_size), cache_size_(cache_size), cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    CRESSET_CHECK_VALUE(preloader_count > 0, "chunk dataset: Preloader count is 0. At least one preloader needs to be specified.");
    CRESSET_CHECK_VALUE(batch_size > 0, "chunk dataset: Batch size is 0. A positive batch size needs to be specified.");
    CRESSET_CHECK_VALUE(cache_size > 0, "chunk dataset: Cache size is 0. A positive cache size needs to be specified.");
    CRESSET_CHECK_VALUE(cache_size >= batch_size,
                        "chunk dataset: Cache size is less than batch size. Cache needs to be large enough to hold at least one batch.");
    CRESSET_CHECK_VALUE(cross_chunk_shuffle_count > 0, "chunk dataset: cross_chunk_shuffle_count needs to be greater than 0.");
  }
  // Threads that read chunks.
  CRESSET_ARG(size_t, preloader_count);
  CRESSET_ARG(size_t, batch_size);
  // Chunks are read ahead until so many examples wait.
  CRESSET_ARG(size_t, cache_size) = 2048;
  // Chunks whose examples are mixed.
  CRESSET_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

template <class ChunkReader, class ChunkSampler = samplers::RandomSampler, class ExampleSampler = samplers::RandomSampler> class ChunkDataset
    : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>, typename ChunkReader::BatchType, size_t> {
 public:
  using BatchType = std::optional<typename ChunkReader::BatchType>;
  using UnwrappedBatchType = typename ChunkReader::BatchType;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;
  using Policy = std::function<void(UnwrappedBatchType&)>;

  // `preprocessing_policy` sees each group of chunks before its examples are drawn.
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler, ChunkDatasetOptions options,
               Policy preprocessing_policy = Policy())
      : state_(
            std::make_unique<State>(std::move(chunk_reader), std::move(chunk_sampler), std::move(example_sampler), options, std::move(preprocessing_policy))) {}

  // The next examples, at most batch_size, which must be the one of the options; nothing at the end. Errors: no reset() before.
  BatchType get_batch(size_t batch_size) override {
    State& s = *state_;
    CRESSET_CHECK(batch_size == s.options.batch_size(),
                  "The requested batch size does not match with the initialized batch size.\n The requested batch size is ", batch_size,
                  ", while the dataset is created with batch size equal to ", s.options.batch_size());
    data::detail::DataLock lock(s.mutex);
    CRESSET_CHECK(s.pool != nullptr, "chunk dataset: call reset() before the first batch");
    UnwrappedBatchType batch;
    while (batch.size() < batch_size && (!s.examples.empty() || s.refill())) {
      batch.push_back(std::move(s.examples.front()));
      s.examples.pop_front();
    }
    s.read_ahead();
    if (batch.empty()) return std::nullopt;
    return batch;
  }
  BatchType get_batch() { return get_batch(state_->options.batch_size()); }

  // Starts an epoch.
  void reset() override {
    State& s = *state_;
    data::detail::DataLock lock(s.mutex);
    if (s.pool) s.pool->drain();
    else s.pool = std::make_unique<data::detail::WorkerPool>(s.options.preloader_count());
    s.reader.reset();
    if (s.loaded) s.loaded = false;
    else s.chunk_sampler.reset(s.reader.chunk_count());
    s.examples.clear();
    s.exhausted = false;
    s.read_ahead();
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  ChunkSamplerType& chunk_sampler() { return state_->chunk_sampler; }

  // Where among the chunks it is; examples of a group that was begun are not repeated.
  void save(serialize::OutputArchive& archive) const override {
    data::detail::DataLock lock(state_->mutex);
    state_->chunk_sampler.save(archive);
  }
  void load(serialize::InputArchive& archive) override {
    data::detail::DataLock lock(state_->mutex);
    state_->chunk_sampler.load(archive);
    state_->loaded = true;
  }

 private:
  struct State {
    State(ChunkReader r, ChunkSampler c, ExampleSampler e, ChunkDatasetOptions o, Policy p)
        : reader(std::move(r)), chunk_sampler(std::move(c)), example_sampler(std::move(e)), options(o), policy(std::move(p)) {}

    // Has threads read the next groups of chunks, as long as there are any and few examples wait.
    void read_ahead() {
      while (!exhausted && examples.size() < options.cache_size() && pool->in_flight() < options.preloader_count()) submit();
    }
    void submit() {
      auto chunks = chunk_sampler.next(options.cross_chunk_shuffle_count());
      exhausted = !chunks || chunks->empty();
      if (exhausted) return;
      pool->submit([this, chunks = std::move(*chunks)](size_t) -> std::shared_ptr<void> {
        auto group = std::make_shared<UnwrappedBatchType>();
        for (size_t index : chunks)
          for (auto& example : reader.read_chunk(index)) group->push_back(std::move(example));
        return group;
      });
    }
    // Takes over the next group that was read. False at the end.
    bool refill() {
      read_ahead();
      while (pool->in_flight() > 0) {
        const auto group = std::static_pointer_cast<UnwrappedBatchType>(pool->next(true, std::nullopt));
        read_ahead();
        if (policy) policy(*group);
        if (group->empty()) continue;
        example_sampler.reset(group->size());
        while (auto order = example_sampler.next(group->size()))
          for (size_t i : *order) examples.push_back((*group)[i]);
        return true;
      }
      return false;
    }

    ChunkReader reader;
    ChunkSampler chunk_sampler;
    ExampleSampler example_sampler;
    ChunkDatasetOptions options;
    Policy policy;
    std::deque<typename UnwrappedBatchType::value_type> examples;
    bool exhausted = false, loaded = false;
    data::detail::DataMutex mutex;
    // Last, so that its threads end before what they read with.
    std::unique_ptr<data::detail::WorkerPool> pool;
  };
  std::unique_ptr<State> state_;
};

}  // namespace cresset::data::datasets
