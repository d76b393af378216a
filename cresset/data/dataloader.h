#pragma once
// Data loaders: `auto loader = make_data_loader(dataset, 64); for (auto& batch : *loader) …`. Batches may be prepared by worker threads;
// their order and their contents are the same for any number of workers.

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/base/arg.h"
#include "cresset/data/datasets/base.h"
#include "cresset/data/samplers.h"
#include "cresset/data/worker_pool.h"

namespace cresset::data {

struct DataLoaderOptions {
  using timeout_t = std::optional<detail::Milliseconds>;
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  CRESSET_ARG(size_t, batch_size) = 1;
  // 0: batches are made on the calling thread.
  CRESSET_ARG(size_t, workers) = 0;
  // Batches prepared ahead; two per worker if absent.
  CRESSET_ARG(std::optional<size_t>, max_jobs) = std::nullopt;
  // How long to wait for a batch.
  CRESSET_ARG(timeout_t, timeout) = std::nullopt;
  // Batches in the order of the sampler, rather than as they are ready.
  CRESSET_ARG(bool, enforce_ordering) = true;
  // Leaves out the last batch if it is smaller than batch_size.
  CRESSET_ARG(bool, drop_last) = false;
};

struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& o)
      : batch_size(o.batch_size()),
        workers(o.workers()),
        max_jobs(o.max_jobs().value_or(2 * workers)),
        timeout(o.timeout()),
        enforce_ordering(o.enforce_ordering()),
        drop_last(o.drop_last()) {
    CRESSET_CHECK_VALUE(batch_size > 0, "data loader: batch_size must be positive");
    CRESSET_CHECK_VALUE(workers == 0 || max_jobs > 0, "data loader: max_jobs must be positive");
  }
  size_t batch_size, workers, max_jobs;
  DataLoaderOptions::timeout_t timeout;
  bool enforce_ordering, drop_last;
};

// Goes once through the batches of a loader.
template <class Batch> class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;
  using Next = std::function<std::optional<Batch>()>;

  // The end.
  Iterator() = default;
  explicit Iterator(Next next) : state_(std::make_shared<State>()) { state_->next = std::move(next); }
  Iterator& operator++() {
    fill();
    if (!state_ || !state_->batch) detail::throw_end_incremented(!state_);
    state_->batch = state_->next();
    return *this;
  }
  reference operator*() const {
    fill();
    if (!state_ || !state_->batch) detail::throw_end_dereferenced(!state_);
    return *state_->batch;
  }
  pointer operator->() const { return &**this; }
  // Two iterators with batches left are never compared by them: only the end is looked for.
  bool operator==(const Iterator& o) const { return state_ == o.state_ || (!o.state_ && at_end()) || (!state_ && o.at_end()); }
  bool operator!=(const Iterator& o) const { return !(*this == o); }
  // Expires with the last copy of the iterator.
  std::weak_ptr<void> watch() const { return state_; }

 private:
  struct State {
    Next next;
    std::optional<Batch> batch;
    bool started = false;
  };
  // The first batch is fetched when it is first asked for.
  void fill() const {
    if (!state_ || state_->started) return;
    state_->started = true;
    state_->batch = state_->next();
  }
  bool at_end() const {
    fill();
    return !state_ || !state_->batch;
  }
  std::shared_ptr<State> state_;
};

template <class Dataset, class Batch, class BatchRequest> class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  DataLoaderBase(DataLoaderOptions options, std::unique_ptr<Dataset> main_thread_dataset = nullptr)
      : options_(std::move(options)), main_thread_dataset_(std::move(main_thread_dataset)) {}
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  virtual ~DataLoaderBase() { join(); }

  // Starts an epoch; iterators of the one before are no longer good. Errors: workers prepare batches for one that is still there. An epoch
  // that was broken off, whose iterators are gone, is dropped.
  Iterator<Batch> begin() {
    if (pool_ && pool_->in_flight() > 0) {
      if (!current_.expired()) detail::throw_epoch_in_flight();
      pool_->drain();
    }
    reset();
    Iterator<Batch> first([this, epoch = epoch_] {
      if (epoch != epoch_) detail::throw_iterator_stale();
      return next();
    });
    current_ = first.watch();
    return first;
  }
  Iterator<Batch> end() { return Iterator<Batch>(); }
  // Ends the workers. No epoch may be started afterwards.
  void join() { pool_.reset(); }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  using MaybeBatch = std::optional<Batch>;

  virtual std::optional<BatchRequestType> get_batch_request() = 0;
  virtual void reset() {
    epoch_++;
    batch_number_ = 0;
    seed_ = detail::current_default_seed();
    if (!pool_) return;
    for (size_t i = 0; i < options_.max_jobs && prefetch(); i++) {}
  }
  // Called from the constructors of derived classes when all they need is there.
  template <class DatasetOf> void start_workers(DatasetOf dataset_of) {
    dataset_of_ = std::move(dataset_of);
    pool_ = make_owned<detail::WorkerPool>(options_.workers);
  }
  static MaybeBatch get_batch(Dataset& dataset, BatchRequestType&& request) { return dataset.get_batch(std::move(request)); }

  const FullDataLoaderOptions options_;
  std::unique_ptr<Dataset> main_thread_dataset_;

 private:
  bool prefetch() {
    auto request = get_batch_request();
    if (!request) return false;
    auto shared = std::make_shared<BatchRequestType>(std::move(*request));
    pool_->submit([this, shared, seed = seed_, epoch = epoch_, number = batch_number_++](size_t worker) -> std::shared_ptr<void> {
      detail::BatchRandomScope random(seed, epoch, number);
      return std::make_shared<MaybeBatch>(get_batch(*dataset_of_(worker), std::move(*shared)));
    });
    return true;
  }

  MaybeBatch next() {
    if (!pool_) {
      CRESSET_CHECK(main_thread_dataset_, "data loader: it was joined, make another one");
      auto request = get_batch_request();
      if (!request) return std::nullopt;
      detail::BatchRandomScope random(seed_, epoch_, batch_number_++);
      return get_batch(*main_thread_dataset_, std::move(*request));
    }
    while (pool_->in_flight() > 0) {
      const std::optional<int64_t> timeout = options_.timeout ? std::optional<int64_t>(options_.timeout->count) : std::nullopt;
      std::shared_ptr<void> result;
      try {
        result = pool_->next(options_.enforce_ordering, timeout);
      } catch (const WorkerException&) {
        prefetch();
        throw;
      }
      auto& batch = *static_cast<MaybeBatch*>(result.get());
      // An exhausted stateful dataset: wait for the jobs that are still under way, start no others.
      if (!batch) continue;
      prefetch();
      return std::move(batch);
    }
    return std::nullopt;
  }

  std::function<Dataset*(size_t worker)> dataset_of_;
  uint64_t seed_ = 0, epoch_ = 0, batch_number_ = 0;
  std::weak_ptr<void> current_;  // of the iterator of the epoch
  // Last, so that its threads end before anything they use.
  Owned<detail::WorkerPool> pool_;
};

// Batches of examples that a sampler picks; every worker has a copy of the dataset.
template <class Dataset, class Sampler> class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options) : super(std::move(options)), sampler_(std::move(sampler)) {
    if (this->options_.workers == 0) {
      this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
      return;
    }
    for (size_t i = 0; i < this->options_.workers; i++) copies_.push_back(std::make_unique<Dataset>(dataset));
    this->start_workers([this](size_t worker) { return copies_[worker].get(); });
  }
  ~StatelessDataLoader() override { this->join(); }

 private:
  void reset() override {
    sampler_.reset(std::nullopt);
    super::reset();
  }
  std::optional<BatchRequestType> get_batch_request() override {
    auto indices = sampler_.next(this->options_.batch_size);
    if (!indices || (indices->size() < this->options_.batch_size && this->options_.drop_last)) return std::nullopt;
    return indices;
  }

  Sampler sampler_;
  std::vector<std::unique_ptr<Dataset>> copies_;
};

// Batches of a dataset that keeps its own place; the workers share it.
template <class Dataset> class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, DataLoaderOptions options) : super(std::move(options), std::make_unique<Dataset>(std::move(dataset))) {
    if (this->options_.workers > 0) this->start_workers([this](size_t) { return this->main_thread_dataset_.get(); });
  }
  ~StatefulDataLoader() override { this->join(); }

 private:
  void reset() override {
    this->main_thread_dataset_->reset();
    super::reset();
  }
  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

// A loader of a dataset without state. The default sampler is random.
template <class Dataset, class Sampler>
std::enable_if_t<!Dataset::is_stateful, std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                                                                 DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), std::move(options));
}

template <class Sampler = samplers::RandomSampler, class Dataset>
std::enable_if_t<!Dataset::is_stateful && std::is_constructible<Sampler, size_t>::value, std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>>
make_data_loader(Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  const std::optional<size_t> size = dataset.size();
  CRESSET_CHECK(size.has_value(), "data loader: Expected the dataset to be sized in order to construct the Sampler; give a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}

// A loader of a stateful dataset.
template <class Dataset, class = std::enable_if_t<Dataset::is_stateful>>
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), std::move(options));
}

}  // namespace cresset::data
