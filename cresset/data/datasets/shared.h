#pragma once
// One dataset shared by all workers of a loader, where each would otherwise get a copy. It must be safe to use from several threads.

#include <memory>

#include "cresset/data/datasets/base.h"

namespace cresset::data::datasets {

template <class Underlying> class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<Underlying>, typename Underlying::BatchType, typename Underlying::BatchRequestType> {
 public:
  using BatchType = typename Underlying::BatchType;
  using BatchRequestType = typename Underlying::BatchRequestType;

  explicit SharedBatchDataset(std::shared_ptr<Underlying> dataset) : dataset_(std::move(dataset)) {}
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }
  void reset() { dataset_->reset(); }
  Underlying& operator*() { return *dataset_; }
  const Underlying& operator*() const { return *dataset_; }
  Underlying* operator->() { return dataset_.get(); }
  const Underlying* operator->() const { return dataset_.get(); }

 private:
  std::shared_ptr<Underlying> dataset_;
};

template <class Underlying, class... Args> SharedBatchDataset<Underlying> make_shared_dataset(Args&&... args) {
  return SharedBatchDataset<Underlying>(std::make_shared<Underlying>(std::forward<Args>(args)...));
}

}  // namespace cresset::data::datasets
